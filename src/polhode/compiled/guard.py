"""Checks in users' functions of what would go wrong in silence. Imported on a cache miss only.

Numba computes with integers of 64 bits, which wrap where Python's grow, and reads and writes arrays without a look at
their ends. Here a pass over the typed code of a user's function puts checked operations in their place: where Python
has another result, the compiled function raises an exception instead. Polhode's own kernels are compiled without it.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, no-any-return, attr-defined"
# Numba compares the signatures of an overload and of what it returns, annotations included: so overloads have none.

import ctypes
import operator
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core import ir, types
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.dispatcher import Dispatcher
from numba.core.errors import TypingError
from numba.core.ir_utils import guard
from numba.core.typed_passes import NopythonTypeInference
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.core.untyped_passes import MakeFunctionToJitFunction
from numba.extending import intrinsic, lower_builtin

from polhode.compiled.assemble import Compiler
from polhode.compiled.explain import SMALLER, WRITES

TOO_LARGE = f"an integer is {SMALLER}"
GREATEST = 2**63 - 1
"""The greatest integer of compiled code."""
WRITTEN: dict[Any, int] = {np.dot: 2, np.fill_diagonal: 0, np.nditer: 0}
"""Functions that write to an argument, or let it be written to, without a look at whether they may: which one it is."""
UNBOUNDED: frozenset[Any] = frozenset({np.lib.stride_tricks.as_strided, numba.carray, numba.farray})
"""Functions that make arrays which end where their caller says."""


# --- checked operations on integers ----------------------------------------------------------------------------------


def _raise_if(context: Any, builder: Any, condition: Any, kind: type[Exception], message: str) -> None:
    with builder.if_then(condition, likely=False):
        context.call_conv.return_user_exc(builder, kind, (message,))


def _overflowing(name: str) -> Callable[..., Any]:
    """Returns the code of an operation of LLVM that reports whether it has overflowed."""

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        a, b = (context.cast(builder, x, k, sig.return_type) for x, k in zip(args, sig.args, strict=True))
        both = getattr(builder, f"{name}_with_overflow")(a, b)
        _raise_if(context, builder, builder.extract_value(both, 1), OverflowError, TOO_LARGE)
        return builder.extract_value(both, 0)

    return lower


def _dividing(function: Any, sign: str) -> Callable[..., Any]:
    """Returns the code of a division: Numba's own, which gives 0 for a division by 0, after a look at the divisor."""

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        a, b = (context.cast(builder, x, k, sig.return_type) for x, k in zip(args, sig.args, strict=True))
        zero, one = b.type(0), b.type(-1)
        _raise_if(context, builder, builder.icmp_signed("==", b, zero), ZeroDivisionError, f"integer {sign} by zero")
        least = builder.icmp_signed("==", a, a.type(-(2 ** (a.type.width - 1))))
        worst = builder.and_(least, builder.icmp_signed("==", b, one))
        _raise_if(context, builder, worst, OverflowError, TOO_LARGE)
        kind = sig.return_type
        return context.get_function(function, signature(kind, kind, kind))(builder, (a, b))

    return lower


def _shifting(sign: str) -> Callable[..., Any]:
    """Returns the code of a shift, which has no meaning for a count that is negative or as large as the number."""

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        a, b = (context.cast(builder, x, k, sig.return_type) for x, k in zip(args, sig.args, strict=True))
        bad = builder.icmp_unsigned(">=", b, b.type(b.type.width))
        _raise_if(context, builder, bad, OverflowError, f"the count of an integer {sign} is not between 0 and 63")
        shifted = builder.shl(a, b) if sign == "<<" else builder.ashr(a, b)
        if sign == "<<":
            lost = builder.icmp_signed("!=", builder.ashr(shifted, b), a)
            _raise_if(context, builder, lost, OverflowError, TOO_LARGE)
        return shifted

    return lower


def _power(base, exponent):
    if exponent < 0:
        raise ValueError("an integer to a negative power is no integer: write a float, as in 2.0 ** -1")
    result = 1
    while True:
        if exponent & 1:
            result = multiplied(result, base)
        exponent >>= 1
        if exponent == 0:
            return result
        base = multiplied(base, base)


def _powering(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kind = sig.return_type
    cast = [context.cast(builder, x, k, kind) for x, k in zip(args, sig.args, strict=True)]
    return context.compile_internal(builder, _power, signature(kind, kind, kind), cast)


# These exist compiled only: the pass below puts them in the place of operators.


def added(a: int, b: int) -> int:
    """Returns a + b, or raises an exception where that is no integer of 64 bits."""
    raise NotImplementedError


def subtracted(a: int, b: int) -> int:
    """Returns a - b, or raises an exception where that is no integer of 64 bits."""
    raise NotImplementedError


def multiplied(a: int, b: int) -> int:
    """Returns a * b, or raises an exception where that is no integer of 64 bits."""
    raise NotImplementedError


def divided(a: int, b: int) -> int:
    """Returns a // b, or raises an exception where that is no integer of 64 bits."""
    raise NotImplementedError


def remainder(a: int, b: int) -> int:
    """Returns a % b, or raises an exception where that is no integer of 64 bits."""
    raise NotImplementedError


def raised(a: int, b: int) -> int:
    """Returns a ** b, or raises an exception where that is no integer of 64 bits."""
    raise NotImplementedError


def shifted_left(a: int, b: int) -> int:
    """Returns a << b, or raises an exception where that is no integer of 64 bits."""
    raise NotImplementedError


def shifted_right(a: int, b: int) -> int:
    """Returns a >> b, or raises an exception where that is no integer of 64 bits."""
    raise NotImplementedError


class _Typing(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if len(args) == 2 and all(isinstance(a, types.Integer) for a in args):
            return signature(types.int64, types.int64, types.int64)
        return None


def _define(function: Any, lower: Callable[..., Any]) -> Any:
    infer_global(function)(type(f"Typing_{function.__name__}", (_Typing,), {}))
    lower_builtin(function, types.Integer, types.Integer)(lower)
    return function


CHECKED: dict[Any, Any] = {
    operator.add: _define(added, _overflowing("sadd")),
    operator.sub: _define(subtracted, _overflowing("ssub")),
    operator.mul: _define(multiplied, _overflowing("smul")),
    operator.floordiv: _define(divided, _dividing(operator.floordiv, "//")),
    operator.mod: _define(remainder, _dividing(operator.mod, "%")),
    operator.pow: _define(raised, _powering),
    operator.lshift: _define(shifted_left, _shifting("<<")),
    operator.rshift: _define(shifted_right, _shifting(">>")),
}
"""The checked forms of the operators on signed integers. Those of bits and comparisons are Python's."""


@intrinsic
def fits(typing_context: Any, x: Any) -> Any:
    """Raises an exception unless the float can become an integer: else the processor makes any number of it."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        value = context.cast(builder, args[0], sig.args[0], types.float64)
        edge = value.type(2.0**63)
        inside = builder.and_(
            builder.fcmp_ordered("<", value, edge), builder.fcmp_ordered(">=", value, value.type(-(2.0**63)))
        )
        message = f"a float that becomes an integer is NaN, or {SMALLER}"
        _raise_if(context, builder, builder.not_(inside), OverflowError, message)
        return context.get_dummy_value()

    return types.void(x), emit


# --- calls by address ------------------------------------------------------------------------------------------------


POINTER = (
    "it calls a Python function, or code made in this process, through a pointer: an exception there would be lost; "
    "write it as a plain function, which is compiled with the torque, make a torque of the Python function with "
    "@torque(compiled=False), or of the address with torque_from_pointer"
)
"""Why a call by address is refused."""


class _Symbol(ctypes.Structure):
    """What the loader knows of an address."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("file", "base", "name", "address"))


def is_in_library(address: int) -> bool:
    """Whether the address lies in a shared library or in the program itself: Python's callbacks do not."""
    return bool(ctypes.CDLL(None).dladdr(ctypes.c_void_p(address), ctypes.byref(_Symbol())))


# --- the pass --------------------------------------------------------------------------------------------------------


@register_pass(mutates_CFG=False, analysis_only=False)
class Adoption(FunctionPass):
    """Compiles functions that are defined inside a user's function, and not inlined, like those outside."""

    _name = "polhode_adoption"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Gives every such function the options of the function around it."""
        changed = False
        for block in state.func_ir.blocks.values():
            for statement in block.find_insts(ir.Assign):
                value = statement.value
                found = isinstance(value, ir.Global) and value.value
                if isinstance(found, Dispatcher) and not issubclass(found._compiler.pipeline_class, Compiler):
                    options = {"error_model": state.flags.error_model, "_nrt": state.flags.nrt, "boundscheck": True}
                    value.value = numba.njit(**options, pipeline_class=GuardedCompiler)(found.py_func)
                    changed = True
        return changed


@register_pass(mutates_CFG=False, analysis_only=False)
class Guard(FunctionPass):
    """Puts checked operations in the place of those that go wrong in silence."""

    _name = "polhode_guard"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Looks at operations on integers, floats that become integers, and calls that escape all checks."""
        changed = False
        for block in state.func_ir.blocks.values():
            body = []
            for statement in block.body:
                if isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Expr):
                    expression = statement.value
                    if expression.op in ("binop", "inplace_binop"):
                        changed |= self._operation(state, expression)
                    elif expression.op == "call":
                        self._refuse_unsafe(state, expression)
                        if self._becomes_integer(state, expression):
                            body.extend(self._looked_at(state, block.scope, expression))
                            changed = True
                elif isinstance(statement, ir.SetItem | ir.StaticSetItem):
                    self._refuse_writing(state, state.typemap[statement.target.name], statement.loc)
                body.append(statement)
            block.body = self._farthest_first(state, block.scope, body)
        return changed

    def _farthest_first(self, state: Any, scope: Any, body: list[Any]) -> list[Any]:
        """Returns the statements of a block with a look at the farthest of the constant indices before the nearest.

        LLVM then finds that the others are within bounds. A check between two operations would keep it from computing
        them together: seven parameters took 4 % more time.
        """
        read: dict[str, dict[int, int]] = {}  # the constant indices of each array, and where they are
        for place, statement in enumerate(body):
            value = statement.value if isinstance(statement, ir.Assign) else None
            if isinstance(value, ir.Expr) and value.op == "static_getitem" and type(value.index) is int:
                kind = state.typemap[value.value.name]
                if isinstance(kind, types.Array) and kind.ndim == 1:
                    read.setdefault(value.value.name, {}).setdefault(value.index, place)
        looks: dict[int, list[Any]] = {}
        for indices in read.values():
            for farthest in {max(indices), min(indices)}:
                first = min(indices.values())
                if (indices[farthest] > first) and (farthest > 0 or farthest < -1):
                    looks.setdefault(first, []).extend(self._copied(state, scope, body[indices[farthest]]))
        return [s for place, statement in enumerate(body) for s in (*looks.get(place, ()), statement)]

    def _copied(self, state: Any, scope: Any, statement: Any) -> list[Any]:
        """Returns the statements that read an item as this one does, for nothing but the check."""
        value, loc = statement.value, statement.loc
        index, item = scope.redefine("$index", loc), scope.redefine("$item", loc)
        copy = ir.Expr.static_getitem(value.value, value.index, index, loc)
        state.typemap[index.name] = state.typemap[value.index_var.name]
        state.typemap[item.name] = state.typemap[statement.target.name]
        state.calltypes[copy] = state.calltypes[value]
        return [ir.Assign(ir.Const(value.index, loc), index, loc), ir.Assign(copy, item, loc)]

    def _operation(self, state: Any, expression: Any) -> bool:
        sig = state.calltypes[expression]
        if expression.op == "inplace_binop":
            self._refuse_writing(state, state.typemap[expression.lhs.name], expression.loc)
        if sig is None:  # an operation on arrays
            return False
        self._refuse_large_constants(state, expression, sig)
        if not all(isinstance(k, types.Integer) and k.signed for k in (*sig.args, sig.return_type)):
            return False
        field = "fn" if expression.op == "binop" else "immutable_fn"
        if (checked := CHECKED.get(getattr(expression, field))) is None:
            return False
        for name in {"fn", field}:
            setattr(expression, name, checked)
        return True

    def _refuse_large_constants(self, state: Any, expression: Any, sig: Any) -> None:
        if not all(isinstance(k, types.Integer) for k in sig.args):
            return
        for operand in (expression.lhs, expression.rhs):
            defined = guard(state.func_ir.get_definition, operand)
            value = defined.value if isinstance(defined, ir.Const | ir.Global | ir.FreeVar) else None
            if type(value) is int and value > GREATEST:
                raise TypingError(f"the integer {value} is {SMALLER}", loc=expression.loc)

    def _refuse_writing(self, state: Any, kind: Any, loc: Any) -> None:
        """Refuses to write to an array that is read-only, also by way of its `flat`."""
        if isinstance(kind, types.NumpyFlatType):
            kind = kind.array_type
        if isinstance(kind, types.Array) and not kind.mutable:
            raise TypingError(WRITES, loc=loc)

    def _refuse_unsafe(self, state: Any, expression: Any) -> None:
        kind = state.typemap[expression.func.name]
        if isinstance(kind, types.ExternalFunctionPointer):
            value = guard(state.func_ir.infer_constant, expression.func.name)
            if kind.requires_gil or value is None or not is_in_library(kind.get_pointer(value)):
                raise TypingError(POINTER, loc=expression.loc)
        function: Any = getattr(kind, "typing_key", None)
        if function in UNBOUNDED:
            raise TypingError(f"{function.__name__} makes arrays that may end anywhere: use slices", loc=expression.loc)
        place = WRITTEN.get(function)
        arguments = state.calltypes[expression].args if place is not None else ()
        if place is not None and len(arguments) > place:
            self._refuse_writing(state, arguments[place], expression.loc)

    def _becomes_integer(self, state: Any, expression: Any) -> bool:
        sig = state.calltypes[expression]
        kinds = sig.args
        return isinstance(sig.return_type, types.Integer) and len(kinds) == 1 and isinstance(kinds[0], types.Float)

    def _looked_at(self, state: Any, scope: Any, expression: Any) -> list[Any]:
        """Returns the statements that call `fits` for the argument of a conversion."""
        loc, (argument,) = expression.loc, expression.args
        function, nothing = scope.redefine("$fits", loc), scope.redefine("$fitted", loc)
        kind = state.typingctx.resolve_value_type(fits)
        call = ir.Expr.call(function, [argument], (), loc)
        sig = kind.get_call_type(state.typingctx, (state.typemap[argument.name],), {})
        state.typemap[function.name], state.typemap[nothing.name] = kind, sig.return_type
        state.calltypes[call] = sig
        return [ir.Assign(ir.Global("fits", fits, loc), function, loc), ir.Assign(call, nothing, loc)]


class GuardedCompiler(Compiler):
    """Numba's compiler for users' functions."""

    def look_closer(self, passes: Any) -> None:
        """Adds the passes of this file."""
        passes.add_pass_after(Adoption, MakeFunctionToJitFunction)
        passes.add_pass_after(Guard, NopythonTypeInference)
