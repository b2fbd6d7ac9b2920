"""The compiled forms of the primitives of `kernels/ops.py`. Imported on a cache miss only."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, attr-defined, call-arg"
# Numba compares the signatures of an overload and of what it returns, annotations included: so overloads have none.

import inspect
import math
import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload

from polhode.compiler import lanes
from polhode.kernels import callback_torques, ops
from polhode.kernels.algebra import vector_table
from polhode.kernels.codegen import function
from polhode.kernels.elementary import replacements as names
from polhode.kernels.status import OK

fma: Any = lanes.fma
select: Any = lanes.select
broken: Any = lanes.broken
extracted: Any = lanes.extracted


SMALLEST_NORMAL = 1 << 52
"""The bits of the smallest float with all its digits, as an integer: handles of tables are below."""
MOST_NUMBERS = 1 << 47
"""The length of the array that a table is seen as: its own length is not known there, and not needed."""


def _refuse_rows(*kinds: Any) -> None:
    """Raises an error for rows over nodes: their numbers do not lie side by side."""
    if any(isinstance(kind, lanes.Rows | lanes.Lanes) for kind in kinds):
        raise TypingError(ONE_NODE_AT_A_TIME)


ONE_NODE_AT_A_TIME = "a function of arrays is called for one node at a time"
"""Why such forces are not computed in lanes."""


@intrinsic
def _view(typing_context: Any, x: Any, n: Any) -> Any:
    _refuse_rows(x)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes.align_stack(builder)  # only the outermost function reads the caller's arrays
        return lanes.view_of(context, builder, *args)

    return lanes.PARAMETERS(x, n), emit


MATRIX = types.Array(types.float64, 2, "C", readonly=True)


@intrinsic
def _matrix(typing_context: Any, x: Any, n: Any, k: Any) -> Any:
    _refuse_rows(x)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer, rows, width = args
        lanes.align_stack(builder)
        return lanes.array_of(context, builder, MATRIX, pointer, [rows, width])

    return MATRIX(x, types.intp, types.intp), emit


@intrinsic
def _beginning_at(typing_context: Any, x: Any, k: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer, offset = args
        lanes.align_stack(builder)
        if isinstance(x, lanes.Rows):
            offset = builder.mul(offset, context.get_constant(types.intp, x.count))
        return builder.gep(pointer, [offset])

    return x(x, k), emit


@intrinsic(prefer_literal=True)
def _section(typing_context: Any, x: Any, k: Any, n: Any) -> Any:
    if not isinstance(k, types.IntegerLiteral) or not isinstance(n, types.IntegerLiteral):
        return None
    first, length = k.literal_value, n.literal_value
    if isinstance(x, types.BaseTuple):
        kind = types.Tuple(x.types[first : first + length])

        def take(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return context.make_tuple(builder, kind, cgutils.unpack_tuple(builder, args[0])[first : first + length])

        return kind(x, k, n), take

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = lanes.field(context, builder, x, args[0], "data")
        begin = builder.gep(data, [context.get_constant(types.intp, first)])
        return lanes.view_of(context, builder, begin, context.get_constant(types.intp, length))

    return lanes.PARAMETERS(x, k, n), emit


@intrinsic(prefer_literal=True)
def _scratch(typing_context: Any, n: Any) -> Any:
    if not isinstance(n, types.IntegerLiteral):
        return None

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        room = cgutils.alloca_once(builder, lanes.DOUBLE, size=n.literal_value)
        return lanes.view_of(context, builder, room, context.get_constant(types.intp, n.literal_value))

    return types.Array(types.float64, 1, "C")(n), emit


@intrinsic(prefer_literal=True)
def _new_counters(typing_context: Any, count: Any, n: Any) -> Any:
    if not isinstance(n, types.IntegerLiteral):
        return None

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return cgutils.alloca_once(builder, ir.IntType(64), size=n.literal_value)

    return count(count, n), emit


@intrinsic
def _numbers_at(typing_context: Any, handle: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address = builder.bitcast(args[0], ir.IntType(64))
        pointer = builder.inttoptr(address, lanes.DOUBLE.as_pointer())
        return lanes.view_of(context, builder, pointer, context.get_constant(types.intp, MOST_NUMBERS))

    return (lanes.PARAMETERS(handle), emit) if handle == types.float64 else None


@overload(vector_table.is_handle)
def _overload_is_handle(handle):
    # By its bits: a processor may be set to take such small numbers for zero.
    return lambda handle: 0 < _bits(handle) < SMALLEST_NORMAL


@intrinsic
def _bits(typing_context: Any, x: Any) -> Any:
    return types.int64(x), lambda context, builder, signature, args: builder.bitcast(args[0], ir.IntType(64))


@overload(vector_table.no_table)
def _overload_no_table(handle):
    return lambda handle: (handle * math.nan, handle * math.nan, handle * math.nan)


# --- functions outside of the program (`kernels/callback_torques.py`)

ONE_AT_A_TIME = "a function outside of the program is called for one body at a time"
"""Why such a torque is not computed in lanes."""


def _function_at(context: Any, builder: Any, data: Any, k: int, kind: Any) -> Any:
    """Returns the function whose address is the k-th number and the one after it."""
    word = ir.IntType(64)
    high, low = (
        builder.fptoui(builder.load(builder.gep(data, [context.get_constant(types.intp, i)])), word) for i in (k, k + 1)
    )
    address = builder.or_(builder.shl(high, word(callback_torques.HALF_BITS)), low)
    return builder.inttoptr(address, kind.as_pointer())


def _refuse_lanes(*kinds: Any) -> None:
    for kind in kinds:
        numbers = kind.types if isinstance(kind, types.BaseTuple) else (kind,)
        if not all(isinstance(x, lanes.NUMBER) for x in numbers):
            raise TypingError(ONE_AT_A_TIME)


def _call(context: Any, builder: Any, p: Any, k: int, result: Any, t: Any, numbers: list[Any], results: int) -> Any:
    """Emits the call of a function at t: returns what it returns, and the address of `results` numbers, NaN before.

    These follow the numbers that the function reads, four of the attitude first.
    """
    room = cgutils.alloca_once(builder, lanes.DOUBLE, size=len(numbers) + results)

    def place(pointer: Any, i: int) -> Any:
        return builder.gep(pointer, [context.get_constant(types.intp, i)])

    for i, number in enumerate([*numbers, *[lanes.DOUBLE(float("nan"))] * results]):
        builder.store(number, place(room, i))
    data = lanes.field(context, builder, lanes.PARAMETERS, p, "data")
    pointers = [place(room, 0), *([place(room, 4)] if len(numbers) > 4 else []), place(data, callback_torques.HEAD)]
    pointers += [place(room, len(numbers))] if results else []
    kind = ir.FunctionType(result, [lanes.DOUBLE, *(x.type for x in pointers)])
    return builder.call(_function_at(context, builder, data, k, kind), [t, *pointers]), pointers[-1]


def _floats(context: Any, builder: Any, value: Any, kind: Any) -> list[Any]:
    items = zip(cgutils.unpack_tuple(builder, value), kind, strict=True)
    return [context.cast(builder, x, k, types.float64) for x, k in items]


@intrinsic
def _called_torque(typing_context: Any, t: Any, q: Any, w: Any, p: Any) -> Any:
    _refuse_lanes(t, q, w)
    if p != lanes.PARAMETERS:
        raise TypingError(ONE_AT_A_TIME)
    kind = types.UniTuple(types.float64, 3)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        numbers = [*_floats(context, builder, args[1], q), *_floats(context, builder, args[2], w)]
        when = context.cast(builder, args[0], t, types.float64)
        _, out = _call(context, builder, args[3], 0, ir.VoidType(), when, numbers, 3)
        found = [builder.load(builder.gep(out, [context.get_constant(types.intp, i)])) for i in range(3)]
        return context.make_tuple(builder, kind, found)

    return kind(t, q, w, p), emit


@intrinsic
def _called_potential(typing_context: Any, t: Any, q: Any, p: Any) -> Any:
    _refuse_lanes(t, q)
    if p != lanes.PARAMETERS:
        raise TypingError(ONE_AT_A_TIME)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        when, numbers = context.cast(builder, args[0], t, types.float64), _floats(context, builder, args[1], q)
        return _call(context, builder, args[2], 2, lanes.DOUBLE, when, numbers, 0)[0]

    return types.float64(t, q, p), emit


@intrinsic
def _call_forces(typing_context: Any, t: Any, n: Any, x: Any, q: Any, p: Any, out: Any) -> Any:
    _refuse_rows(t, x, q, out)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        time, count, positions, attitudes, numbers, result = args
        pointer = lanes.DOUBLE.as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [lanes.DOUBLE, ir.IntType(64), *[pointer] * 5])
        called = _function_at(context, builder, numbers, 0, kind)
        lanes.align_stack(builder)
        user = builder.gep(numbers, [context.get_constant(types.intp, callback_torques.FORCES_HEAD)])
        torque = builder.gep(result, [builder.mul(context.get_constant(types.intp, 3), count)])
        builder.call(called, [time, count, positions, attitudes, user, result, torque])
        return context.get_dummy_value()

    return types.void(t, types.int64, x, q, p, out), emit


@overload(ops.two_product)
def _overload_two_product(a, b):
    def product(a, b):
        p = a * b
        return p, fma(a, b, -p)

    return product


def _refuse_unless_real(kind: Any, where: str) -> None:
    """Raises an error that says what a torque should have returned, unless it was a real number."""
    if isinstance(kind, (types.Float, types.Integer, lanes.Lanes)):
        return
    if isinstance(kind, types.Boolean | lanes.Mask):
        raise TypingError(f"a torque returns numbers, but {where} is a bool: write 1.0 if ... else 0.0")
    if isinstance(kind, types.Complex):
        raise TypingError(f"a torque returns real numbers, but {where} is complex: write .real, or what was meant")
    if isinstance(kind, types.NoneType | types.Optional):
        raise TypingError(f"a torque returns numbers, but {where} may be None: give it a value in every branch")
    if isinstance(kind, types.Array):
        raise TypingError(f"a torque returns numbers, but {where} is an array: write one of its items, as in x[0]")
    kinds = {types.UnicodeType: "a string", types.BaseTuple: "a tuple", types.List: "a list"}
    said = next((text for base, text in kinds.items() if isinstance(kind, base)), str(kind))
    raise TypingError(f"a torque returns numbers, but {where} is {said}")


@overload(ops.triple)
def _overload_triple(x):
    if isinstance(x, types.BaseTuple):
        if len(x) != 3:
            raise TypingError(f"a torque returns three numbers, not a tuple of {len(x)}")
        for k, kind in enumerate(x.types):
            _refuse_unless_real(kind, f"item {k}")
        return lambda x: (float(x[0]), float(x[1]), float(x[2]))
    if isinstance(x, types.List) or (isinstance(x, types.Array) and x.ndim == 1):
        _refuse_unless_real(x.dtype, "every item")

        def from_sequence(x):
            if len(x) != 3:
                raise ValueError("a torque returns three numbers")
            return (float(x[0]), float(x[1]), float(x[2]))

        return from_sequence
    if isinstance(x, types.Array):
        raise TypingError(f"a torque returns three numbers in a row, not an array of {x.ndim} dimensions")
    if isinstance(x, types.Optional):
        raise TypingError("a torque returns three numbers in every branch, never None")
    said = "None: does it end without return?" if isinstance(x, types.NoneType) else str(x)
    raise TypingError(f"a torque returns three numbers, as a tuple, list or array, not {said}")


@overload(ops.derivatives, prefer_literal=True)
def _overload_derivatives(x, n):
    if not isinstance(n, types.IntegerLiteral):
        return None
    count = n.literal_value
    items = "".join(f"float(x[{i}]), " for i in range(count))
    wrong = f"derivatives of {count} carried numbers are returned by this torque"
    if isinstance(x, types.BaseTuple):
        if len(x) != count:
            raise TypingError(f"{wrong}, not a tuple of {len(x)}")
        for k, kind in enumerate(x.types):
            _refuse_unless_real(kind, f"derivative {k}")
        return function("of_tuple(x, n)", [f"return ({items})"], {})
    if isinstance(x, types.List) or (isinstance(x, types.Array) and x.ndim == 1):
        _refuse_unless_real(x.dtype, "every derivative")
        check = [f"if len(x) != {count}:", f"    raise ValueError('{wrong}')"]
        return function("of_sequence(x, n)", [*check, f"return ({items})"], {})
    if count == 1:
        _refuse_unless_real(x, "the derivative")
        return lambda x, n: (float(x),)
    raise TypingError(f"{wrong}, as a tuple, list or array, not {x}")


@overload(ops.each_of_three)
def _overload_each_of_three(x):
    if isinstance(x, types.Float | types.Integer | lanes.Lanes):
        return lambda x: (x, x, x)
    if isinstance(x, types.BaseTuple) and len(x) != 3:
        raise TypingError(f"a vector has three numbers, not {len(x)}")
    if isinstance(x, types.Array) and x.ndim != 1:
        raise TypingError(f"a vector has three numbers in a row, not an array of {x.ndim} dimensions")
    return lambda x: (x[0], x[1], x[2])


@overload(ops.shaped_like)
def _overload_shaped_like(x, v):
    if isinstance(x, types.Float | types.Integer | lanes.Lanes):
        return lambda x, v: v[0]
    return lambda x, v: v


@overload(ops.where)
def _overload_where(condition, a, b):
    if lanes.lanes_among((condition, a, b)):
        return lambda condition, a, b: select(condition, a, b)
    return lambda condition, a, b: a if condition else b


@overload(names.of_numbers, inline="always")
def _overload_of_numbers(kernel, usual, arguments):
    takes = len(inspect.signature(kernel.dispatcher.py_func).parameters)
    numbers = [isinstance(x, (types.Float, lanes.Lanes)) for x in arguments]
    whole = [isinstance(x, types.Integer) for x in arguments]
    if len(numbers) == takes and any(numbers) and all(map(operator.or_, numbers, whole)):
        return lambda kernel, usual, arguments: kernel(*arguments)
    return lambda kernel, usual, arguments: usual(*arguments)


@overload(ops.is_between)
def _overload_is_between(t, start, end):
    return lambda t, start, end: extracted(start, 0) <= extracted(t, 0) < extracted(end, 0)


@overload(ops.at_each_time, prefer_literal=True)
def _overload_at_each_time(f, x, t, n):
    if not isinstance(t, lanes.Lanes):
        return lambda f, x, t, n: f(x, t)
    each = [f"n{i} = f(x, extracted(t, {i}))" for i in range(t.count)]
    parts = [f"collected(({', '.join(f'n{i}[{k}]' for i in range(t.count))},))" for k in range(n.literal_value)]
    names = {"extracted": extracted, "collected": lanes.collected}
    return function("of_lanes(f, x, t, n)", [*each, f"return ({', '.join(parts)})"], names)


@overload(ops.verdict)
def _overload_verdict(status, good):
    if isinstance(good, lanes.Mask):
        everyone = 2**good.count - 1

        def blamed(status, good):
            bits = broken(good)
            return 0 if status == OK else bits if bits != 0 else everyone

        return blamed
    return lambda status, good: status


def _has_rotor(body: Any) -> bool:
    return isinstance(body, types.BaseNamedTuple) and len(body.fields) >= 3


def _is_full(body: Any) -> bool:
    return isinstance(body, types.BaseNamedTuple) and len(body.fields) == 5


@overload(ops.across)
def _overload_across(body):
    return (lambda body: body[3]) if _is_full(body) else (lambda body: (0.0, 0.0, 0.0))


@overload(ops.is_full)
def _overload_is_full(body):
    return (lambda body: True) if _is_full(body) else (lambda body: False)


@overload(ops.if_it_changes)
def _overload_if_it_changes(f, body, p, t):
    if isinstance(body, types.BaseNamedTuple) and len(body.fields) == 4:
        return lambda f, body, p, t: f(body, p, t)
    return lambda f, body, p, t: body


@overload(ops.is_gyrostat)
def _overload_is_gyrostat(body):
    return (lambda body: True) if _has_rotor(body) else (lambda body: False)


@overload(ops.internal)
def _overload_internal(body):
    return (lambda body: body[2]) if _has_rotor(body) else (lambda body: (0.0, 0.0, 0.0))


COMPILED: dict[Any, Any] = {
    ops.fma: fma,
    ops.power_of_two: lanes.power_of_two,
    ops.fraction_exponent: lanes.fraction_exponent,
    ops.nearest_whole: lanes.nearest_whole,
    ops.view: _view,
    ops.matrix: _matrix,
    ops.beginning_at: _beginning_at,
    ops.section: _section,
    ops.scratch: _scratch,
    ops.scratch_rows: lanes.scratch_rows,
    ops.new_counters: _new_counters,
    vector_table.numbers_at: _numbers_at,
    ops.columns: lanes.columns,
    ops.rows_of: lanes.rows_of,
    ops.row_of: lanes.collected,
    ops.row_maximum: lanes.row_maximum,
    ops.largest_in: lanes.largest_in,
    ops.sum_of_row: lanes.sum_of_row,
    ops.views: lanes.views,
    ops.lane: lanes.extracted,
    ops.from_lanes: lanes.collected,
    ops.all_of: lanes.holds,
    ops.halves: lanes.halves,
    ops.joined: lanes.joined,
    callback_torques.called_torque: _called_torque,
    callback_torques.called_potential: _called_potential,
    callback_torques.call_forces: _call_forces,
    ops.exchanged: lanes.exchanged,
    **{f: f for f in (ops.two_product, ops.triple, ops.derivatives, ops.where, ops.is_between, ops.verdict)},
    **{f: f for f in (ops.at_each_time, vector_table.is_handle, vector_table.no_table, names.of_numbers)},
    **{f: f for f in (ops.each_of_three, ops.shaped_like, ops.is_gyrostat, ops.internal)},
    **{f: f for f in (ops.across, ops.is_full, ops.if_it_changes)},
}
"""The functions that the linker puts in place of primitives. An overload alone would not do for all of them: it may not
return an array that it was not given."""
