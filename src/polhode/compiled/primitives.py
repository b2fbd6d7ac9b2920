"""What the primitives of `core/ops.py` become when they are compiled. Imported on a cache miss only."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, attr-defined, call-arg"
# Numba compares the signatures of an overload and of what it returns, annotations included: so there are none.

from typing import Any

from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array, populate_array

from polhode.core import ops


@intrinsic
def _fma(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        numbers = [context.cast(builder, x, t, types.float64) for x, t in zip(args, signature.args, strict=True)]
        return builder.fma(*numbers)

    return types.float64(a, b, c), emit


@intrinsic
def _view(typing_context: Any, x: Any, n: Any) -> Any:
    """Numba's own `carray` needs its runtime library, which a warm start does not load."""
    kind = types.Array(types.float64, 1, "C")

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer, length = args
        array = make_array(kind)(context, builder)
        item = context.get_constant(types.intp, 8)
        populate_array(array, data=pointer, shape=(length,), strides=(item,), itemsize=item, meminfo=None)
        return array._getvalue()

    return kind(x, n), emit


@intrinsic
def _beginning_at(typing_context: Any, x: Any, k: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer, offset = args
        return builder.gep(pointer, [offset])

    return x(x, k), emit


@overload(ops.two_product)
def _overload_two_product(a, b):
    def product(a, b):
        p = a * b
        return p, _fma(a, b, -p)

    return product


@overload(ops.triple)
def _overload_triple(x):
    if isinstance(x, types.BaseTuple):
        if len(x) != 3:
            raise TypingError(f"a torque returns three numbers, not a tuple of {len(x)}")
        return lambda x: (float(x[0]), float(x[1]), float(x[2]))
    if isinstance(x, types.List) or (isinstance(x, types.Array) and x.ndim == 1):

        def from_sequence(x):
            if len(x) != 3:
                raise ValueError("a torque returns three numbers")
            return (float(x[0]), float(x[1]), float(x[2]))

        return from_sequence
    raise TypingError(f"a torque returns three numbers, as a tuple, list or array, not {x}")


COMPILED: dict[Any, Any] = {
    ops.fma: _fma,
    ops.view: _view,
    ops.beginning_at: _beginning_at,
    ops.two_product: ops.two_product,
    ops.triple: ops.triple,
}
"""What the linker puts in the place of a primitive. (An overload may not return an array it was not given.)"""
