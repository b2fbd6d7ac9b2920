"""How a program calls a function that is compiled apart (`separate.py`). Imported on a cache miss only."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, attr-defined, call-arg, untyped-decorator"
# mypy: disable-error-code="var-annotated, unreachable"

from functools import lru_cache
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from polhode.compiler.lanes import NUMBER, PARAMETERS, Lanes, field, widened
from polhode.compiler.separate import NOT_APART, CallForm
from polhode.kernels.status import OK

WORD = ir.IntType(64)


@lru_cache(maxsize=128)
def called(place: int, **options: Any) -> Any:
    """Returns what stands in a program for its function of this number that is compiled apart."""

    @intrinsic
    def call(typing_context: Any, t: Any, q: Any, w: Any, p: Any) -> Any:
        form = _form(place, t, q, w, p)
        kind = result_of(form.lanes)

        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            arguments = _arguments(context, builder, form, (t, q, w, p), args)
            return builder.call(_function(context, builder, form, kind, arguments), arguments)

        return kind(t, q, w, p), emit

    def apart(t, q, w, p):
        n, status = call(t, q, w, p)
        if status != OK:
            raise ArithmeticError("raised by a function that is compiled apart")
        return n

    return numba.njit(**options)(apart)


def _form(place: int, t: Any, q: Any, w: Any, p: Any) -> CallForm:
    given = [t, *_items(q, 4), *_items(w, 3)]
    own = list(p.types) if isinstance(p, types.BaseTuple) else []
    if p != PARAMETERS and not isinstance(p, types.BaseTuple):
        raise TypingError(NOT_APART)
    counts = {k.count for k in (*given, *own) if isinstance(k, Lanes)}
    if len(counts) > 1 or not all(isinstance(k, (Lanes, *NUMBER)) for k in (*given, *own)):
        raise TypingError(NOT_APART)
    lanes = counts.pop() if counts else 0
    if lanes == 0 and p != PARAMETERS:
        raise TypingError(NOT_APART)
    return CallForm(place, lanes, not isinstance(t, Lanes), None if p == PARAMETERS else len(own))


def _items(kind: Any, count: int) -> Any:
    if not isinstance(kind, types.BaseTuple) or len(kind) != count:
        raise TypingError(NOT_APART)
    return kind.types


def result_of(lanes: int) -> Any:
    """Returns the type of what a function that is compiled apart returns: the torque, and a status."""
    return types.Tuple((types.UniTuple(Lanes(lanes) if lanes else types.float64, 3), types.int64))


def _arguments(context: Any, builder: Any, form: CallForm, kinds: Any, args: Any) -> list[Any]:
    """Returns the arguments of the call: numbers in registers, as far as there are any, and addresses."""

    def number(value: Any, kind: Any) -> Any:
        if form.lanes:
            return widened(context, builder, value, kind, form.lanes)
        return context.cast(builder, value, kind, types.float64)

    def numbers(value: Any, kind: Any) -> list[Any]:
        return [number(x, k) for x, k in zip(cgutils.unpack_tuple(builder, value), kind.types, strict=True)]

    (time, *values, p), (when, *tuples, own) = args, kinds
    first = context.cast(builder, time, when, types.float64) if form.common else time
    found = [first, *(x for both in zip(values, tuples, strict=True) for x in numbers(*both))]
    if form.parameters is not None:
        return [*found, *numbers(p, own)]
    return [*found, *(field(context, builder, own, p, name) for name in ("data", "nitems"))]


def _function(context: Any, builder: Any, form: CallForm, kind: Any, arguments: list[Any]) -> Any:
    """Returns the function whose address is in the variable of this form."""
    module = builder.module
    if form.variable in module.globals:
        variable = module.globals[form.variable]
    else:
        variable = cgutils.add_global_variable(module, WORD, form.variable)
        variable.linkage, variable.initializer = "common", WORD(0)
    called = ir.FunctionType(context.get_value_type(kind), [x.type for x in arguments])
    return builder.inttoptr(builder.load(variable), called.as_pointer())
