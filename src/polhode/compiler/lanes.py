"""Several floats as one value, in the vector registers of the processor. Imported on a cache miss only.

A kernel is compiled for lanes by giving it such values in place of floats: nothing in its source changes. Every
operation here gives, in each lane, the bits that Numba gives for one float. What has no meaning for all lanes at once,
above all an `if` on a comparison of lanes, is not defined here: it is a typing error.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, call-arg, no-any-return, untyped-decorator"
# Numba compares the signatures of an overload and of what it returns, annotations included: so overloads have none.

import math
import operator
from collections.abc import Callable, Iterable
from functools import reduce
from itertools import product
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.imputils import lower_cast
from numba.core.typeconv.castgraph import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, overload, register_model

BRANCH = "several bodies at once cannot take different branches: in place of if, polhode.where can choose for each"
"""The error message for an `if` on lanes."""
PARAMETERS = types.Array(types.float64, 1, "C", readonly=True)
"""The type of a torque's parameters: a torque that writes to them is a typing error."""
DOUBLE, BIT, INT32 = ir.DoubleType(), ir.IntType(1), ir.IntType(32)


# --- types -----------------------------------------------------------------------------------------------------------


class Lanes(types.Type):
    """One float64 for each lane."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(name=f"f64x{count}")

    def can_convert_from(self, typing_context: Any, other: Any) -> Any:
        """Allows a float, which is the same in all lanes."""
        return Conversion.safe if isinstance(other, NUMBER) else None

    def unify(self, typing_context: Any, other: Any) -> Any:
        """Makes lanes of a variable that is lanes in one branch and a float in another."""
        return self if isinstance(other, NUMBER) else None


class Mask(types.Type):
    """One truth value for each lane."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(name=f"mask{count}")


class Columns(types.Type):
    """The numbers of several bodies: one address and an offset for each; x[k] holds the k-th number of each body."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(name=f"columns{count}")


class Rows(types.Type):
    """Rows of as many numbers as there are lanes, one after the other in memory; x[k] is the k-th row, as one value."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(name=f"rows{count}")


NUMBER = (types.Float, types.Integer)


class _VectorModel(models.PrimitiveModel):
    """A vector in registers, and a packed structure in memory, which Numba's runtime does not always align for vectors.

    To store the items one by one would not do: where two branches need the items, LLVM extracts them before the branch,
    at every step.
    """

    item: Any = DOUBLE

    def __init__(self, manager: Any, kind: Any) -> None:
        self.count = kind.count
        super().__init__(manager, kind, ir.VectorType(self.item, kind.count))

    def get_data_type(self) -> Any:
        return ir.LiteralStructType([self.get_value_type()], packed=True)

    def as_data(self, builder: Any, value: Any) -> Any:
        return builder.insert_value(ir.Constant(self.get_data_type(), ir.Undefined), value, 0)

    def from_data(self, builder: Any, data: Any) -> Any:
        return builder.extract_value(data, 0)


@register_model(Lanes)
class _LanesModel(_VectorModel):
    pass


@register_model(Mask)
class _MaskModel(_VectorModel):
    item = BIT


@register_model(Columns)
class _ColumnsModel(models.StructModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        members = [("data", types.CPointer(types.float64)), ("offsets", types.UniTuple(types.intp, kind.count))]
        super().__init__(manager, kind, members)


@register_model(Rows)
class _RowsModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, DOUBLE.as_pointer())


def lanes_among(kinds: Iterable[Any]) -> int:
    """Returns the number of lanes of these types; 0 if all are plain numbers."""
    return next((k.count for k in kinds if isinstance(k, Lanes | Mask)), 0)


def _packed(builder: Any, items: list[Any]) -> Any:
    vector = ir.Constant(ir.VectorType(items[0].type, len(items)), ir.Undefined)
    for i, item in enumerate(items):
        vector = builder.insert_element(vector, item, INT32(i))
    return vector


def widened(context: Any, builder: Any, value: Any, kind: Any, count: int) -> Any:
    """Spreads a number to all lanes; returns lanes unchanged."""
    if isinstance(kind, Lanes | Mask):
        return value
    to = types.boolean if isinstance(kind, types.Boolean) else types.float64
    item = context.cast(builder, value, kind, to)
    one = builder.insert_element(ir.Constant(ir.VectorType(item.type, count), ir.Undefined), item, INT32(0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(INT32, count), [0] * count))


@lower_cast(types.Float, Lanes)
@lower_cast(types.Integer, Lanes)
def _cast(context: Any, builder: Any, before: Any, after: Any, value: Any) -> Any:
    return widened(context, builder, value, before, after.count)


# --- operators and functions -----------------------------------------------------------------------------------------


Emit = Callable[..., Any]
"""`emit(context, builder, function, *vectors)` writes the code of a function for vectors of equal length."""


def _define(functions: Iterable[Any], arity: int, emit: Emit, result: Callable[[int], Any] = Lanes) -> None:
    """Defines Python operators or functions for lanes; some of the arguments may be plain numbers."""
    for function in functions:
        infer_global(function)(type(f"Typing_{function.__name__}", (_Typing,), {"arity": arity, "result": result}))
        for kinds in _mixtures(arity):
            lower_builtin(function, *kinds)(_lowering(function, emit))


class _Typing(AbstractTemplate):
    arity: int
    result: Callable[[int], Any]

    def generic(self, args: Any, kws: Any) -> Any:
        count = lanes_among(args)
        if count and len(args) == self.arity and not kws and all(isinstance(a, (Lanes, *NUMBER)) for a in args):
            return signature(self.result(count), *args)
        return None


def _lowering(function: Any, emit: Emit) -> Callable[..., Any]:
    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        count = lanes_among(sig.args)
        vectors = (widened(context, builder, a, k, count) for a, k in zip(args, sig.args, strict=True))
        return emit(context, builder, function, *vectors)

    return lower


def _mixtures(arity: int) -> list[tuple[Any, ...]]:
    """Returns all combinations of lanes and numbers for `arity` arguments that have lanes among them."""
    return [m for m in product((Lanes, *NUMBER), repeat=arity) if Lanes in m]


def _instruction(name: str) -> Emit:
    return lambda context, builder, function, *args: getattr(builder, name)(*args)


def _llvm(name: str) -> Emit:
    """Emits a call of one of LLVM's own functions."""

    def emit(context: Any, builder: Any, function: Any, *args: Any) -> Any:
        kind = args[0].type
        declared = ir.FunctionType(kind, [kind] * len(args))
        called = cgutils.get_or_insert_function(builder.module, declared, f"llvm.{name}.v{kind.count}f64")
        return builder.call(called, args)

    return emit


def _comparison(sign: str) -> Emit:
    def emit(context: Any, builder: Any, function: Any, x: Any, y: Any) -> Any:
        compare = builder.fcmp_unordered if sign == "!=" else builder.fcmp_ordered  # NaN is unlike everything
        return compare(sign, x, y)

    return emit


def _extreme(sign: str) -> Emit:
    """Emits min or max as Python has them: the first of equals, and NaN only if it comes first."""

    def emit(context: Any, builder: Any, function: Any, *args: Any) -> Any:
        return reduce(lambda x, y: builder.select(builder.fcmp_ordered(sign, y, x), y, x), args)

    return emit


def _lane_by_lane(context: Any, builder: Any, function: Any, *args: Any) -> Any:
    """Calls a function of the C library for each lane."""
    alone = context.get_function(function, signature(types.float64, *[types.float64] * len(args)))
    each = ([builder.extract_element(v, INT32(i)) for v in args] for i in range(args[0].type.count))
    return _packed(builder, [alone(builder, one) for one in each])


_define((operator.add, operator.iadd), 2, _instruction("fadd"))
_define((operator.sub, operator.isub), 2, _instruction("fsub"))
_define((operator.mul, operator.imul), 2, _instruction("fmul"))
_define((operator.truediv, operator.itruediv), 2, _instruction("fdiv"))
_define((operator.neg,), 1, _instruction("fneg"))
_define((operator.pos, float), 1, lambda context, builder, function, x: x)
_define((math.sqrt, np.sqrt), 1, _llvm("sqrt"))
_define((math.fabs, abs, np.abs), 1, _llvm("fabs"))
for _sign, _operator in {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}.items():  # fmt: skip
    _define((_operator,), 2, _comparison(_sign), Mask)
for _arity in (2, 3, 4):
    _define((min,), _arity, _extreme("<"))
    _define((max,), _arity, _extreme(">"))
_define((math.copysign,), 2, _llvm("copysign"))
_define((math.erf, math.erfc), 1, _lane_by_lane)  # `kernels/elementary` has all others that torques may call


def _define_on_masks(functions: Iterable[Any], arity: int, emit: Callable[..., Any]) -> None:
    """Defines operators of masks; one of two may be a plain truth value."""

    class Typing(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            if len(args) == arity and all(isinstance(a, Mask | types.Boolean) for a in args) and lanes_among(args):
                return signature(Mask(lanes_among(args)), *args)
            return None

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        count = lanes_among(sig.args)
        return emit(builder, *(widened(context, builder, a, k, count) for a, k in zip(args, sig.args, strict=True)))

    for function in functions:
        infer_global(function)(type(f"Typing_{function.__name__}", (Typing,), {}))
        for kinds in product((Mask, types.Boolean), repeat=arity):
            if Mask in kinds:
                lower_builtin(function, *kinds)(lower)


_define_on_masks((operator.and_, operator.iand), 2, lambda builder, x, y: builder.and_(x, y))
_define_on_masks((operator.or_, operator.ior), 2, lambda builder, x, y: builder.or_(x, y))
_define_on_masks((operator.invert,), 1, lambda builder, x: builder.not_(x))


@infer_global(bool)
class _NoBranch(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], Mask | Lanes):
            raise TypingError(BRANCH)
        return None


class _PowerTyping(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if len(args) != 2 or not isinstance(args[0], Lanes) or not isinstance(args[1], types.IntegerLiteral):
            return None
        if args[1].literal_value < 0:  # Numba's negative powers of zero raise an exception
            return None
        return signature(args[0], *args)


def _power(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """Emits x to a constant whole power, by the same products as Numba."""
    left, square = sig.args[1].literal_value, args[0]
    result = ir.Constant(square.type, [DOUBLE(1.0)] * sig.args[0].count)
    while left:
        result = builder.fmul(result, square) if left & 1 else result
        left >>= 1
        square = builder.fmul(square, square)
    return result


for _function in (operator.pow, operator.ipow):
    infer_global(_function)(type(f"Typing_{_function.__name__}", (_PowerTyping,), {"prefer_literal": True}))
    lower_builtin(_function, Lanes, types.IntegerLiteral)(_power)


# --- what kernels and drivers do with lanes (`kernels/ops.py`) --------------------------------------------------------


@intrinsic
def fma(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """a b + c, rounded once, for lanes and numbers."""
    count = lanes_among((a, b, c))

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        given = list(zip(args, sig.args, strict=True))
        if count == 0:
            return builder.fma(*(context.cast(builder, x, k, types.float64) for x, k in given))
        return _llvm("fma")(context, builder, None, *(widened(context, builder, x, k, count) for x, k in given))

    return (Lanes(count) if count else types.float64)(a, b, c), emit


def _words(kind: Any) -> tuple[Any, Callable[[int], Any]]:
    """Returns the type of integers in the place of floats, and a function that makes constants of it."""
    word, count = ir.IntType(64), getattr(kind, "count", 0)
    if not count:
        return word, word
    vector = ir.VectorType(word, count)
    return vector, lambda n: ir.Constant(vector, [word(n)] * count)


ONE_AND_A_HALF = 0x4338 << 48
"""The bits of 1.5 * 2**52, whose last bits are those of a whole number that is added to it."""
EXPONENT = 52
"""The place of the exponent in a float, and 1023 is that of 1."""


@intrinsic
def power_of_two(typing_context: Any, k: Any) -> Any:
    """2^k, for lanes and floats."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        words, constant = _words(args[0].type)
        magic = builder.bitcast(constant(ONE_AND_A_HALF + 1023), args[0].type)
        bits = builder.bitcast(builder.fadd(args[0], magic), words)
        return builder.bitcast(builder.shl(bits, constant(EXPONENT)), args[0].type)

    return (k(k), emit) if isinstance(k, Lanes | types.Float) else None


@intrinsic
def fraction_exponent(typing_context: Any, x: Any) -> Any:
    """m and e, for lanes and floats: x = m 2^e, 1 <= m < 2."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        float_type = args[0].type
        words, constant = _words(float_type)
        bits = builder.bitcast(args[0], words)
        m = builder.or_(builder.and_(bits, constant((1 << EXPONENT) - 1)), constant(1023 << EXPONENT))
        e = builder.or_(builder.lshr(bits, constant(EXPONENT)), constant(ONE_AND_A_HALF))
        zero = builder.bitcast(constant(ONE_AND_A_HALF + 1023), float_type)
        parts = [builder.bitcast(m, float_type), builder.fsub(builder.bitcast(e, float_type), zero)]
        return context.make_tuple(builder, sig.return_type, parts)

    return (types.UniTuple(x, 2)(x), emit) if isinstance(x, Lanes | types.Float) else None


@intrinsic
def nearest_whole(typing_context: Any, x: Any) -> Any:
    """The nearest whole number, for lanes and floats."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = args[0].type
        name = f"v{kind.count}f64" if isinstance(x, Lanes) else "f64"
        declared = ir.FunctionType(kind, [kind])
        return builder.call(cgutils.get_or_insert_function(builder.module, declared, f"llvm.rint.{name}"), args)

    return (x(x), emit) if isinstance(x, Lanes | types.Float) else None


@intrinsic
def select(typing_context: Any, condition: Any, a: Any, b: Any) -> Any:
    """Chooses lane by lane: a where the condition holds, else b."""
    count = lanes_among((condition, a, b))
    if not isinstance(condition, Mask | types.Boolean) or not all(isinstance(x, (Lanes, *NUMBER)) for x in (a, b)):
        return None

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        given = zip(args, sig.args, strict=True)
        return builder.select(*(widened(context, builder, x, k, count) for x, k in given))

    return Lanes(count)(condition, a, b), emit


@intrinsic
def broken(typing_context: Any, mask: Any) -> Any:
    """Returns the lanes in which the mask does not hold, as the bits of an integer."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.zext(builder.bitcast(builder.not_(args[0]), ir.IntType(mask.count)), ir.IntType(64))

    return (types.int64(mask), emit) if isinstance(mask, Mask) else None


@intrinsic
def holds(typing_context: Any, condition: Any) -> Any:
    """Whether the condition holds in all lanes. LLVM is to expect that it nearly always does."""
    if not isinstance(condition, Mask | types.Boolean):
        return None

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        (whole,) = args
        if isinstance(condition, Mask):
            name = f"llvm.vector.reduce.and.v{condition.count}i1"
            declared = ir.FunctionType(BIT, [whole.type])
            whole = builder.call(cgutils.get_or_insert_function(builder.module, declared, name), [whole])
        declared = ir.FunctionType(BIT, [BIT, BIT])
        expect = cgutils.get_or_insert_function(builder.module, declared, "llvm.expect.i1")
        return builder.call(expect, [whole, BIT(1)])

    return types.boolean(condition), emit


@intrinsic
def extracted(typing_context: Any, x: Any, i: Any) -> Any:
    """Returns the float in lane i."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if not isinstance(x, Lanes):
            return context.cast(builder, args[0], x, types.float64)
        return builder.extract_element(args[0], context.cast(builder, args[1], i, types.int32))

    return types.float64(x, i), emit


@intrinsic
def collected(typing_context: Any, numbers: Any) -> Any:
    """Returns lanes from a tuple of numbers."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        items = zip(cgutils.unpack_tuple(builder, args[0]), numbers, strict=True)
        return _packed(builder, [context.cast(builder, x, k, types.float64) for x, k in items])

    return Lanes(len(numbers))(numbers), emit


def _chosen(builder: Any, x: Any, y: Any, indices: Iterable[int]) -> Any:
    """Returns these lanes of x and, counted after them, of y."""
    mask = [INT32(i) for i in indices]
    return builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(INT32, len(mask)), mask))


@intrinsic
def halves(typing_context: Any, x: Any) -> Any:
    """Returns the first and the second half of the lanes."""
    if not isinstance(x, Lanes) or x.count % 2:
        return None
    kind, half = types.UniTuple(Lanes(x.count // 2), 2), x.count // 2

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        parts = [_chosen(builder, args[0], args[0], range(k, k + half)) for k in (0, half)]
        return context.make_tuple(builder, kind, parts)

    return kind(x), emit


@intrinsic(prefer_literal=True)
def exchanged(typing_context: Any, x: Any, k: Any) -> Any:
    """Returns x with its lanes exchanged: lane i is lane i ^ k of x."""
    if not isinstance(x, Lanes) or not isinstance(k, types.IntegerLiteral):
        return None

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _chosen(builder, args[0], args[0], [i ^ k.literal_value for i in range(x.count)])

    return x(x, k), emit


@intrinsic
def joined(typing_context: Any, a: Any, b: Any) -> Any:
    """Returns two halves as one."""
    if not isinstance(a, Lanes) or a != b:
        return None

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _chosen(builder, *args, range(2 * a.count))

    return Lanes(2 * a.count)(a, b), emit


@intrinsic
def columns(typing_context: Any, x: Any, offsets: Any) -> Any:
    """Returns the numbers of several bodies, which begin at these offsets from x."""
    kind = Columns(len(offsets))

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return structure(context, builder, kind, data=args[0], offsets=args[1])

    return kind(x, offsets), emit


def _places(context: Any, builder: Any, kind: Any, value: Any, k: Any) -> list[Any]:
    """Returns the addresses of the k-th number of each body."""
    data, offsets = (field(context, builder, kind, value, name) for name in ("data", "offsets"))
    return [builder.gep(data, [builder.add(start, k)]) for start in cgutils.unpack_tuple(builder, offsets)]


@intrinsic
def _gathered(typing_context: Any, x: Any, k: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        at = context.cast(builder, args[1], k, types.intp)
        return _packed(builder, [builder.load(place) for place in _places(context, builder, x, args[0], at)])

    return Lanes(x.count)(x, k), emit


@intrinsic
def _scattered(typing_context: Any, x: Any, k: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        at = context.cast(builder, args[1], k, types.intp)
        vector = widened(context, builder, args[2], value, x.count)
        for i, place in enumerate(_places(context, builder, x, args[0], at)):
            builder.store(builder.extract_element(vector, INT32(i)), place)
        return context.get_dummy_value()

    return types.void(x, k, value), emit


@intrinsic(prefer_literal=True)
def rows_of(typing_context: Any, x: Any, k: Any, n: Any) -> Any:
    """Returns the numbers from x[k] on as rows."""
    if not isinstance(n, types.IntegerLiteral):
        return None
    kind = Rows(n.literal_value)

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        align_stack(builder)
        return builder.gep(args[0], [context.cast(builder, args[1], sig.args[1], types.intp)])

    return kind(x, types.unliteral(k), n), emit


@intrinsic(prefer_literal=True)
def scratch_rows(typing_context: Any, n: Any, count: Any) -> Any:
    """Returns rows on the stack."""
    if not isinstance(n, types.IntegerLiteral) or not isinstance(count, types.IntegerLiteral):
        return None
    kind = Rows(count.literal_value)

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        align_stack(builder)
        rows = cgutils.alloca_once(builder, ir.VectorType(DOUBLE, kind.count), size=n.literal_value)
        rows.align = CACHE_LINE_BYTES
        return builder.bitcast(rows, DOUBLE.as_pointer())

    return kind(n, count), emit


def _row_place(context: Any, builder: Any, kind: Any, value: Any, k: Any, index: Any) -> Any:
    """Returns the address of the k-th row, as that of a vector."""
    at = builder.mul(context.cast(builder, k, index, types.intp), context.get_constant(types.intp, kind.count))
    return builder.bitcast(builder.gep(value, [at]), ir.VectorType(DOUBLE, kind.count).as_pointer())


@intrinsic
def _row_read(typing_context: Any, x: Any, k: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.load(_row_place(context, builder, x, args[0], args[1], k), align=8)

    return Lanes(x.count)(x, k), emit


@intrinsic
def _row_written(typing_context: Any, x: Any, k: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vector = widened(context, builder, args[2], value, x.count)
        builder.store(vector, _row_place(context, builder, x, args[0], args[1], k), align=8)
        return context.get_dummy_value()

    return types.void(x, k, value), emit


@intrinsic
def row_maximum(typing_context: Any, a: Any, b: Any) -> Any:
    """Returns the larger of two numbers in each lane."""
    count = lanes_among((a, b))

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        x, y = (widened(context, builder, v, k, count) for v, k in zip(args, sig.args, strict=True))
        return builder.select(builder.fcmp_ordered(">", y, x), y, x)

    return (Lanes(count)(a, b), emit) if count else None


@intrinsic
def largest_in(typing_context: Any, row: Any) -> Any:
    """Returns the largest number of all lanes."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        def larger(x: Any, y: Any) -> Any:
            return builder.select(builder.fcmp_ordered(">", y, x), y, x)

        return _folded(builder, args[0], larger)

    return (types.float64(row), emit) if isinstance(row, Lanes) else None


@intrinsic
def sum_of_row(typing_context: Any, row: Any) -> Any:
    """Returns the sum of all lanes, in pairs of halves."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _folded(builder, args[0], builder.fadd)

    return (types.float64(row), emit) if isinstance(row, Lanes) else None


def _folded(builder: Any, vector: Any, join: Callable[[Any, Any], Any]) -> Any:
    """Joins the two halves of a vector until one number is left; the number of lanes is a power of two."""
    half = vector.type.count // 2
    while half:
        vector = join(*(_chosen(builder, vector, vector, range(k, k + half)) for k in (0, half)))
        half //= 2
    return builder.extract_element(vector, INT32(0))


@overload(operator.getitem)
def _overload_getitem(x, k):
    if isinstance(x, Rows) and isinstance(k, types.Integer):
        return lambda x, k: _row_read(x, k)
    if isinstance(x, Columns) and isinstance(k, types.Integer):
        return lambda x, k: _gathered(x, k)
    return None


@overload(operator.setitem)
def _overload_setitem(x, k, value):
    if isinstance(x, Rows) and isinstance(k, types.Integer):
        return lambda x, k, value: _row_written(x, k, value)
    if isinstance(x, Columns) and isinstance(k, types.Integer):
        return lambda x, k, value: _scattered(x, k, value)
    return None


@intrinsic
def views(typing_context: Any, x: Any, n: Any) -> Any:
    """Returns the first n numbers of each body as arrays."""
    kind = types.UniTuple(PARAMETERS, x.count)

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        zero = context.get_constant(types.intp, 0)
        places = _places(context, builder, x, args[0], zero)
        return context.make_tuple(builder, kind, [view_of(context, builder, place, args[1]) for place in places])

    return kind(x, n), emit


CACHE_LINE_BYTES = 64


def align_stack(builder: Any) -> None:
    """Aligns the stack of the outermost function to cache lines, for vectors that do not fit into registers.

    LLVM finds out about such vectors too late to align them. Without this, the caller's stack decides whether half of
    them lie across two cache lines: that took a third more time (docs/decisions/0004).
    """
    attributes = builder.function.attributes
    attributes.add("nounwind")  # an alignment that is the only attribute is left out by llvmlite
    attributes.alignstack = CACHE_LINE_BYTES
    if "alwaysinline" not in attributes:  # a function that is inlined has no stack of its own
        attributes.add("noinline")


def view_of(context: Any, builder: Any, pointer: Any, length: Any) -> Any:
    """Returns numbers in memory as a read-only array. Numba's `carray` can be written to."""
    return array_of(context, builder, PARAMETERS, pointer, [length])


def array_of(context: Any, builder: Any, kind: Any, pointer: Any, shape: list[Any]) -> Any:
    """Returns numbers in memory, row after row, as an array of this shape that Numba need not free."""
    item = context.get_constant(types.intp, 8)
    strides = [reduce(builder.mul, shape[k + 1 :], item) for k in range(len(shape))]
    items = reduce(builder.mul, shape)
    lengths, steps = (cgutils.pack_array(builder, x) for x in (shape, strides))
    return structure(
        context, builder, kind, nitems=items, itemsize=item, data=pointer, shape=lengths, strides=steps
    )  # fmt: skip


def structure(context: Any, builder: Any, kind: Any, **fields: Any) -> Any:
    """Returns a value of a type with these fields, the others zero."""
    model = context.data_model_manager[kind]
    value = ir.Constant(model.get_value_type(), None)
    for name, content in fields.items():
        value = builder.insert_value(value, content, model.get_field_position(name))
    return value


def field(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    """Returns a field of such a value."""
    return builder.extract_value(value, context.data_model_manager[kind].get_field_position(name))
