"""Rewrites a torque so that the decisions between its branches can be held, and seen coming.

`locatable(f)` takes the source of a user's function and of the helpers that it calls, and makes from it the same
function with a board: comparisons, `max`, `abs` and their like go through the functions of `kernels/steps/branches.py`.
What the rewriter does not know, such as a comparison in a loop of unknown length, has no such form: then the answer is
None. The source is believed only if it compiles to the very code that the function has. Functions whose names f has in
`__smooth__` are left as they are: the parts of a sum of torques that jump at breakpoints only.
"""

import ast
import builtins
import copy
import math
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from polhode.compiler.digest import builtins_of, captured, digest, is_foreign, is_record, name_now, plain
from polhode.compiler.smoothness import may_bend
from polhode.compiler.source import bare, compiled, definition
from polhode.kernels.algebra.vec import clip
from polhode.kernels.ops import apart, where
from polhode.kernels.steps import branches
from polhode.kernels.types import UserTorque
from polhode.support.interrupts import is_from_handler

MOST_DECISIONS = 64
"""The most decisions of a torque that is rewritten: each takes four numbers in every step. A torque with more is a
table, and runs better as it is."""
BOARD, CELL = "board__", "cell__"
"""The names of the arguments that a rewritten function has in front of its own."""
TORQUE_ARGUMENTS = 4
"""The arguments t, q, w and p of a torque; one that carries numbers has them as a fifth."""


class Locatable(NamedTuple):
    """A torque whose bends can be located."""

    kernel: UserTorque
    """The torque, with a pair in place of its parameters: the parameters and the board."""
    decisions: int
    """The number of cells on the board."""


class _Guard(NamedTuple):
    """How a call becomes a decision: the function in its place, its arguments and cells, and the type of its result."""

    function: Callable[..., Any]
    arguments: int
    cells: int = 1
    whole: bool = False


_GUARDS: dict[Any, _Guard] = {
    builtins.abs: _Guard(branches.size, 1), math.fabs: _Guard(branches.size, 1), np.abs: _Guard(branches.size, 1),
    np.fabs: _Guard(branches.size, 1), math.copysign: _Guard(branches.with_sign, 2, 2),
    np.copysign: _Guard(branches.with_sign, 2, 2), np.sign: _Guard(branches.sign, 1, 2),
    np.heaviside: _Guard(branches.heaviside, 2, 2), np.clip: _Guard(branches.clipped, 3, 2),
    np.maximum: _Guard(branches.larger, 2), np.minimum: _Guard(branches.smaller, 2),
    np.fmax: _Guard(branches.larger, 2), np.fmin: _Guard(branches.smaller, 2),
    math.floor: _Guard(branches.floor, 1, 1, whole=True), math.ceil: _Guard(branches.ceil, 1, 1, whole=True),
    math.trunc: _Guard(branches.trunc, 1, 1, whole=True), builtins.int: _Guard(branches.trunc, 1, 1, whole=True),
    builtins.round: _Guard(branches.rounded, 1, 1, whole=True), np.floor: _Guard(branches.floor, 1),
    np.ceil: _Guard(branches.ceil, 1), np.trunc: _Guard(branches.trunc, 1), np.rint: _Guard(branches.rounded, 1),
    np.mod: _Guard(branches.modulo, 2), math.fmod: _Guard(branches.fmod, 2), np.fmod: _Guard(branches.fmod, 2),
    math.remainder: _Guard(branches.remainder, 2), np.floor_divide: _Guard(branches.floor_divide, 2),
}  # fmt: skip
_FOLDED: dict[Any, Callable[..., Any]] = {builtins.max: branches.larger, builtins.min: branches.smaller}
"""Functions of any number of arguments, taken two at a time."""
_COMPARISONS: dict[type[ast.cmpop], Callable[..., Any]] = {
    ast.Lt: branches.less, ast.LtE: branches.less_equal, ast.Gt: branches.greater, ast.GtE: branches.greater_equal,
}  # fmt: skip
_OPERATIONS: dict[type[ast.operator], Callable[..., Any]] = {
    ast.Mod: branches.modulo, ast.FloorDiv: branches.floor_divide,
}  # fmt: skip
_SMOOTH = frozenset({
    where, np.where, builtins.float, builtins.bool, builtins.len, builtins.range, builtins.tuple, builtins.list,
    builtins.pow, builtins.sum, builtins.zip, builtins.enumerate, operator.add, operator.sub, operator.mul,
    operator.truediv, math.isnan, math.isinf, math.isfinite, np.isnan, np.isinf, np.isfinite, math.erf, math.erfc,
    math.gamma, math.lgamma, math.degrees, math.radians, math.pow, math.exp, math.expm1, math.hypot, math.log,
    math.log10, math.log1p, math.log2, math.sqrt, math.sin, math.cos, math.tan, math.asin, math.acos, math.atan,
    math.atan2, math.sinh, math.cosh, math.tanh, math.asinh, math.acosh, math.atanh, math.dist, np.array, np.asarray,
    np.zeros, np.ones, np.empty, np.full, np.float64, np.dot, np.cross, np.sum, np.exp, np.expm1, np.hypot, np.log,
    np.log10, np.log1p, np.log2, np.sqrt, np.square, np.power, np.sin, np.cos, np.tan, np.arcsin, np.arccos,
    np.arctan, np.arctan2, np.sinh, np.cosh, np.tanh, np.arcsinh, np.arccosh, np.arctanh, np.radians, np.degrees,
    np.deg2rad, np.rad2deg, np.linalg.norm, np.linalg.solve, np.linalg.inv, np.outer, np.eye, np.zeros_like,
    np.ones_like, np.empty_like, np.add, np.subtract, np.multiply, np.divide, np.sinc, np.cbrt, np.reciprocal,
})  # fmt: skip
"""Functions that have no bends of their own, or whose bends are those of their arguments."""
_NUMBERS = (ast.BinOp, ast.UnaryOp, ast.Subscript)
"""Expressions that are numbers where a number or a tuple of three is wanted: to clip a number takes two decisions, to
clip whatever it may be takes six."""
_SMOOTH_METHODS = frozenset({"append", "copy", "dot", "flatten", "ravel", "reshape", "sum", "transpose"})


class _Unknown(Exception):
    """There is something that the rewriter does not know how to hold."""


_answers: WeakKeyDictionary[types.FunctionType, tuple[str, Locatable | None]] = WeakKeyDictionary()
"""Earlier answers, with the names of the functions by all that they read: with another name an answer is not valid."""


def locatable(f: Any, p: Sequence[float] = (), carried: int = 0) -> Locatable | None:
    """Returns f in the form whose bends can be located; None if there is none, with these parameters."""
    answer = _known(f)
    return answer if answer is None or _decides_on_numbers(answer, p, carried) else None


def _decides_on_numbers(torque: Locatable, p: Sequence[float], carried: int) -> bool:
    """Whether its decisions are between numbers, not arrays, at some place at least; the compiler sees them all."""
    board = [0.0] * branches.board_size(torque.decisions)
    branches.forget(board, torque.decisions)
    try:
        z = ((0.5,) * carried,) if carried else ()
        torque.kernel(0.0, (0.8, 0.0, 0.6, 0.0), (0.1, 0.2, 0.3), (np.array(p), board), *z)
    except TypeError as problem:
        if is_from_handler(problem):
            raise
        return False
    except Exception as problem:  # at that place the torque may have no value
        if is_from_handler(problem):
            raise
        return True
    return True


def _known(f: Any) -> Locatable | None:
    """The form of f whose bends can be located, found now or before."""
    function = plain(f)
    if not isinstance(function, types.FunctionType):
        return None
    name = name_now(function) or digest(function).name
    known = _answers.get(function)
    if known is None or known[0] != name:
        known = _answers[function] = (name, _found(function))
    return known[1]


def _found(f: types.FunctionType) -> Locatable | None:
    try:
        inside, count = _rewritten(f, ())
    except (_Unknown, OSError, SyntaxError, TypeError, ValueError, RecursionError):
        return None
    if not 0 < count <= MOST_DECISIONS:
        return None
    first, counted = branches.FIRST, branches.counted

    def kernel(t: float, q: Any, w: Any, p: Any) -> Any:
        n = inside(p[1], first, t, q, w, p[0])
        counted(p[1], count)
        return n

    def kernel_with_state(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
        n = inside(p[1], first, t, q, w, p[0], z)
        counted(p[1], count)
        return n

    if f.__code__.co_argcount > TORQUE_ARGUMENTS:
        return Locatable(kernel_with_state, count)
    return Locatable(kernel, count)


# --- the rewriting


def _rewritten(f: types.FunctionType, callers: tuple[types.FunctionType, ...]) -> tuple[Any, int]:
    """Returns f with the board and the index of its first cell in front of its arguments, and its number of cells."""
    if f in callers:
        raise _Unknown("recursion")
    node = bare(definition(f))
    rewriter = _Rewriter(f, callers)
    node.body = [rewriter.visit(statement) for statement in node.body]
    extra = [ast.arg(BOARD), ast.arg(CELL)]
    if node.args.posonlyargs:
        node.args.posonlyargs[:0] = extra
    else:
        node.args.args[:0] = extra
    free = (*f.__code__.co_freevars, *rewriter.functions)
    code = compiled(node, f, free)
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    cells |= {name: types.CellType(value) for name, value in rewriter.functions.items()}
    made = types.FunctionType(
        code, f.__globals__, f.__name__, f.__defaults__, tuple(cells[name] for name in code.co_freevars)
    )
    made.__kwdefaults__ = f.__kwdefaults__
    made.__tree__ = code, node  # type: ignore[attr-defined]
    if hasattr(f, "__apart__"):  # it is as large with its decisions
        apart(made)
    return made, rewriter.count


class _Rewriter(ast.NodeTransformer):
    """Puts decisions in the place of comparisons and of functions that bend."""

    def __init__(self, f: types.FunctionType, callers: tuple[types.FunctionType, ...]) -> None:
        self.f, self.callers = f, (*callers, f)
        self.values = dict(captured(f))
        self.functions: dict[str, Any] = {}
        self.count = 0
        self.origin = CELL
        self.repeated = 0  # loops around, of which the number of rounds is not known
        self.loops = 0

    # --- cells

    def cells(self, count: int) -> ast.expr:
        """Writes the index of the first of some new cells."""
        if self.repeated:
            raise _Unknown("a decision in a loop")
        offset = branches.CELL * self.count
        self.count += count
        origin = ast.Name(self.origin, ast.Load())
        return ast.BinOp(origin, ast.Add(), ast.Constant(offset)) if offset else origin

    def call(self, function: Callable[..., Any], cells: int, *arguments: ast.expr) -> ast.expr:
        """Writes the call of a function that decides."""
        name = f"{function.__name__}_{len(self.functions)}__"
        for known, value in self.functions.items():
            if value is function:
                name = known
        self.functions[name] = function
        where_it_is = [ast.Name(BOARD, ast.Load()), self.cells(cells)]
        return ast.Call(ast.Name(name, ast.Load()), [*where_it_is, *arguments], [])

    # --- names

    def resolved(self, node: ast.expr) -> Any:
        """What a dotted name stands for; None if it is not known before the function runs."""
        if isinstance(node, ast.Name):
            code = self.f.__code__
            if node.id in code.co_varnames or node.id in code.co_cellvars or node.id not in self.values:
                return None
            return plain(self.values[node.id])
        if isinstance(node, ast.Attribute) and isinstance(module := self.resolved(node.value), types.ModuleType):
            return plain(getattr(module, node.attr, None))
        return None

    # --- expressions

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        terms: list[ast.expr] = [self.visit(node.left), *map(self.visit, node.comparators)]
        parts: list[ast.expr] = []
        for i, operation in enumerate(node.ops):
            # A middle term is evaluated twice: without side effects, that is the same.
            left, right = copy.deepcopy(terms[i]), terms[i + 1]
            decides = _COMPARISONS.get(type(operation))
            plainly = ast.Compare(left, [operation], [right])  # two numbers are equal for an instant only
            parts.append(plainly if decides is None else self.call(decides, 1, left, right))
        return parts[0] if len(parts) == 1 else ast.BoolOp(ast.And(), parts)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        decides = _OPERATIONS.get(type(node.op))
        left, right = self.visit(node.left), self.visit(node.right)
        return ast.BinOp(left, node.op, right) if decides is None else self.call(decides, 1, left, right)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        if type(node.op) in _OPERATIONS:
            raise _Unknown("a jump in an assignment")
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function = self.resolved(node.func)
        arguments: list[ast.expr] = [self.visit(a) for a in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        plainly = ast.Call(node.func, arguments, node.keywords)
        if function is None:
            if isinstance(node.func, ast.Attribute) and node.func.attr in _SMOOTH_METHODS:
                plainly.func = ast.Attribute(self.visit(node.func.value), node.func.attr, ast.Load())
                return plainly
            raise _Unknown("a function that is not known")
        special = bool(node.keywords) or any(isinstance(a, ast.Starred) for a in arguments)
        if _is_in(function, _FOLDED) and not special:
            return self.folded(_FOLDED[function], arguments)
        if _is_in(function, _GUARDS) and not special:
            guard = _GUARDS[function]
            if len(arguments) == guard.arguments and not any(map(_is_none, arguments)):
                made = self.call(guard.function, guard.cells, *arguments)
                return ast.Call(self.known("int"), [made], []) if guard.whole else made
        elif function is clip and not special and len(arguments) == 3 and isinstance(node.args[0], _NUMBERS):
            return self.call(branches.clipped, 2, *arguments)
        elif _is_in(function, _SMOOTH) or is_record(function):
            return plainly
        elif isinstance(function, types.FunctionType) and not is_foreign(function):
            return self.helper(function, plainly)
        raise _Unknown(f"{function!r}")

    def known(self, name: str) -> ast.expr:
        """Writes a builtin function under a name that no function of the user's has."""
        self.functions[f"{name}__"] = builtins_of(self.f)[name]
        return ast.Name(f"{name}__", ast.Load())

    def folded(self, function: Callable[..., Any], arguments: list[ast.expr]) -> ast.expr:
        if len(arguments) == 1 and isinstance(arguments[0], ast.Tuple | ast.List):
            arguments = arguments[0].elts
        if len(arguments) < 2 or any(isinstance(a, ast.Starred) for a in arguments):
            raise _Unknown("the greatest of an unknown number of things")
        found = arguments[0]
        for other in arguments[1:]:
            found = self.call(function, 1, found, other)
        return found

    def helper(self, function: types.FunctionType, call: ast.Call) -> ast.expr:
        """Writes the call of a helper, which is rewritten too if it may bend."""
        smooth = isinstance(call.func, ast.Name) and call.func.id in getattr(self.f, "__smooth__", ())
        if smooth or not may_bend(function):
            return call
        inside, count = _rewritten(function, self.callers)
        if count == 0:
            return call
        name = f"{function.__name__ if function.__name__.isidentifier() else 'f'}_{len(self.functions)}__"
        self.functions[name] = inside
        where_it_is = [ast.Name(BOARD, ast.Load()), self.cells(count)]
        return ast.Call(ast.Name(name, ast.Load()), [*where_it_is, *call.args], call.keywords)

    # --- loops, and functions inside

    def visit_For(self, node: ast.For) -> ast.stmt:
        node.iter = self.visit(node.iter)
        rounds = self.rounds(node)
        if rounds is None:
            self.again_and_again(node)
            return node
        # Each round has cells of its own: they follow those of the round before.
        self.loops += 1
        outside, before = self.origin, self.count
        self.origin, self.count = f"{CELL}{self.loops}", 0
        node.body = [self.visit(s) for s in node.body]
        first, stride = rounds.start, branches.CELL * self.count
        assert isinstance(node.target, ast.Name)
        text = f"{self.origin} = {outside} + {branches.CELL * before} + {stride} * ({node.target.id} - {first})"
        used, self.origin = self.count, outside
        self.count = before + used * len(rounds)
        if used:
            node.body[:0] = ast.parse(text).body
        if node.orelse:
            raise _Unknown("else after a loop")
        return node

    def rounds(self, node: ast.For) -> range | None:
        """The numbers that a loop counts through, if they are written there."""
        call = node.iter
        if not (isinstance(call, ast.Call) and self.resolved(call.func) is range and isinstance(node.target, ast.Name)):
            return None
        numbers = [a.value for a in call.args if isinstance(a, ast.Constant) and type(a.value) is int]
        if len(numbers) != len(call.args) or len(numbers) > 2 or call.keywords:
            return None
        inside = (n for s in node.body for n in ast.walk(s))
        stored = {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        return None if node.target.id in stored else range(*numbers)

    def again_and_again(self, node: Any) -> Any:
        """Visits what is evaluated an unknown number of times, where no decision may be."""
        self.repeated += 1
        self.generic_visit(node)
        self.repeated -= 1
        return node

    visit_While = visit_FunctionDef = visit_Lambda = visit_ListComp = visit_GeneratorExp = again_and_again
    visit_SetComp = visit_DictComp = again_and_again

    def refused(self, node: ast.AST) -> ast.AST:
        """Raises: what cannot be compiled either, or decides in another way."""
        raise _Unknown(type(node).__name__)

    visit_Match = visit_Try = visit_TryStar = visit_With = visit_NamedExpr = visit_ClassDef = refused
    visit_Global = visit_Nonlocal = visit_Yield = visit_YieldFrom = visit_Await = visit_AsyncFor = refused


def _is_in(value: Any, known: Any) -> bool:
    return callable(value) and any(value is other for other in known)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
