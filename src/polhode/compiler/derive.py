"""Derivatives of users' potentials and torques: a function is run once on symbols, and its gradient is written as text.

What it does to the symbols makes a graph of arithmetic operations, in which equal operations are one node. Going
through the graph backward adds the nodes of all derivatives, at a few times the cost of the function [griewank2008]. A
function that takes branches by what it computes cannot be run on symbols; it may use `polhode.where` instead.
"""

import math
import operator
import types
from collections import Counter
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from polhode.compiler.digest import builtins_of, captured, is_foreign, is_ours, plain
from polhode.kernels.algebra.vector_table import is_handle
from polhode.kernels.codegen import function
from polhode.kernels.ops import fma, is_between, lane, section, triple, where

MOST_NODES = 100_000
"""A graph of more operations is no potential, but a loop that was unrolled."""
LARGEST_POWER = 64
"""Whole powers up to this one are written as products."""


class CannotDerive(TypeError):
    """The function cannot be differentiated; the message says why."""


class Graph:
    """The operations of a function, each once."""

    def __init__(self) -> None:
        self.known: dict[tuple[Any, ...], SymbolicOperation] = {}
        self.called: dict[str, Any] = {}
        """Functions that the text calls as they are, by their names in it."""
        self.chosen: list[bool] = []
        """Which way to go where a torque is switched on or off, one after the other; there may be more."""
        self.switches: list[SymbolicCondition] = []
        """The conditions that were met on the way."""

    def node(self, op: str, *args: Any) -> "SymbolicOperation":
        """The node of an operation."""
        key = (op, *(("node", a.number) if isinstance(a, SymbolicOperation) else ("value", repr(a)) for a in args))
        if key not in self.known:
            if len(self.known) > MOST_NODES:
                raise CannotDerive(f"it has more than {MOST_NODES} operations")
            self.known[key] = SymbolicOperation(self, len(self.known), op, args)
        return self.known[key]

    def of(self, x: Any) -> "SymbolicOperation":
        """The node of a value."""
        if isinstance(x, SymbolicOperation):
            return x
        if isinstance(x, bool | complex | str) or not isinstance(x, int | float | np.integer | np.floating):
            raise CannotDerive(f"it computes with {x!r}, which is no real number")
        return self.node("const", float(x))


_BINARY = {"add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "div": "{} / {}"}
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_UNARY = ("sqrt", "exp", "log", "sin", "cos", "tan", "atan", "tanh", "sinh", "cosh", "erf", "erfc", "fabs")


class SymbolicCondition:
    """The outcome of a comparison of symbols; that of the time with the ends of a span may decide a branch."""

    def __init__(self, node: "SymbolicOperation", of_time: bool = False) -> None:
        self.node, self.of_time = node, of_time

    def __bool__(self) -> bool:
        if self.of_time:
            graph = self.node.graph
            graph.switches.append(self)
            k = len(graph.switches)
            return graph.chosen[k - 1] if k <= len(graph.chosen) else True
        raise CannotDerive(
            "it takes a branch by what it computes: write polhode.where(condition, a, b), which has both, or give the "
            "derivative"
        )


def _arithmetic(op: str) -> Any:
    """The methods of an operation with a symbol on the left, and on the right."""
    return lambda a, b: a._with(op, a, b), lambda b, a: b._with(op, a, b)


def _comparison(sign: str) -> Any:
    """The method of a comparison."""
    return lambda a, b: SymbolicCondition(a.graph.node(sign, a, a.graph.of(b)))


class SymbolicOperation:
    """One operation; what Python does to it makes further ones."""

    __array_ufunc__ = None
    """NumPy leaves arithmetic with its own numbers to this class."""

    def __init__(self, graph: Graph, number: int, op: str, args: tuple[Any, ...]) -> None:
        self.graph, self.number, self.op, self.args = graph, number, op, args

    def _is(self, value: float) -> bool:
        return self.op == "const" and self.args[0] == value

    def _with(self, op: str, a: Any, b: Any) -> "SymbolicOperation":
        x, y = self.graph.of(a), self.graph.of(b)
        if x.op == y.op == "const" and not (op == "div" and y.args[0] == 0.0):
            u, v = x.args[0], y.args[0]
            return self.graph.of({"add": u + v, "sub": u - v, "mul": u * v, "div": u / (v or 1.0)}[op])
        if op == "add" and (x._is(0.0) or y._is(0.0)):
            return y if x._is(0.0) else x
        if op == "mul" and (x._is(0.0) or y._is(0.0)):
            return self.graph.of(0.0)
        if op == "mul" and (x._is(1.0) or y._is(1.0)):
            return y if x._is(1.0) else x
        if (op == "sub" and y._is(0.0)) or (op == "div" and y._is(1.0)):
            return x
        if op in ("add", "mul") and x.number > y.number:
            x, y = y, x
        return self.graph.node(op, x, y)

    __add__, __radd__ = _arithmetic("add")
    __sub__, __rsub__ = _arithmetic("sub")
    __mul__, __rmul__ = _arithmetic("mul")
    __truediv__, __rtruediv__ = _arithmetic("div")

    def __neg__(self) -> "SymbolicOperation":
        return self._with("mul", -1.0, self)

    def __pos__(self) -> "SymbolicOperation":
        return self

    def __abs__(self) -> "SymbolicOperation":
        return self.graph.node("fabs", self)

    def __pow__(self, power: Any) -> "SymbolicOperation":
        if isinstance(power, SymbolicOperation):
            return self.graph.node("exp", power * self.graph.node("log", self))
        number = float(power)
        if number == 0.5:
            return self.graph.node("sqrt", self)
        if number.is_integer() and abs(number) <= LARGEST_POWER:
            out, base, left = self.graph.of(1.0), self, abs(int(number))
            while left:
                out, base, left = (out * base if left % 2 else out), base * base if left > 1 else base, left // 2
            return out if number >= 0 else 1.0 / out
        return self.graph.node("pow", self, number)

    def __rpow__(self, base: Any) -> "SymbolicOperation":
        return self.graph.node("exp", self * math.log(base))

    __lt__, __le__, __gt__, __ge__ = map(_comparison, ("<", "<=", ">", ">="))
    __eq__, __ne__ = map(_comparison, ("==", "!="))

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        return bool(SymbolicCondition(self))

    def __float__(self) -> float:
        raise CannotDerive("it calls a function that is not known here: use those of math, or give the derivative")

    __index__ = __int__ = __float__


def _chosen(condition: Any, a: Any, b: Any) -> Any:
    """`where` on symbols."""
    if not isinstance(condition, SymbolicCondition):
        return where(condition, a, b)
    graph = condition.node.graph
    return graph.node("where", condition.node, graph.of(a), graph.of(b))


def _extreme(is_better: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Returns `max` or `min` on symbols."""
    return lambda *values: reduce(lambda a, b: _chosen(is_better(a, b), a, b), values if len(values) > 1 else values[0])


_greater, _smaller = _extreme(operator.gt), _extreme(operator.lt)


def _between(t: Any, start: Any, end: Any) -> Any:
    """`is_between` on symbols."""
    if not any(isinstance(x, SymbolicOperation) for x in (t, start, end)):
        return is_between(t, start, end)
    graph = next(x.graph for x in (t, start, end) if isinstance(x, SymbolicOperation))
    zero = graph.of(0.0)
    begun = graph.node("where", graph.node("<=", graph.of(start), graph.of(t)), graph.of(1.0), zero)
    inside = graph.node("where", graph.node("<", graph.of(t), graph.of(end)), begun, zero)
    return SymbolicCondition(graph.node("<", zero, inside), of_time=True)


_STAND_INS = (
    (where, _chosen), (max, _greater), (min, _smaller), (triple, tuple), (fma, lambda a, b, c: a * b + c),
    (is_between, _between), (lane, lambda x, i: x), (is_handle, lambda x: False),
)  # fmt: skip
"""Functions, and what they are on symbols: one body, whose tensor does not change with time."""


def _on_symbols(name: str) -> Callable[[Any], Any]:
    plainly = getattr(math, name)

    def called(x: Any) -> Any:
        return x.graph.node(name, x) if isinstance(x, SymbolicOperation) else plainly(x)

    return called


_SHIMS: dict[str, Any] = {name: _on_symbols(name) for name in _UNARY}
_SHIMS |= {"pow": lambda a, b: a**b, "abs": abs, "absolute": abs, "arctan": _SHIMS["atan"], "where": _chosen}
_SHIMS |= {"hypot": lambda *x: _SHIMS["sqrt"](sum(a * a for a in x)), "maximum": _greater, "minimum": _smaller}
_SHIMS |= {"dot": lambda a, b: sum(x * y for x, y in zip(a, b, strict=True))}


class _Shim:
    """A module for symbols: `math` and `numpy` have functions that take them, other modules what works on them."""

    def __init__(self, module: types.ModuleType, made: dict[Any, Any]) -> None:
        self._module, self._made = module, made

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        return _SHIMS[name] if self._module in (math, np) and name in _SHIMS else _value(found, self._made)


def _for_symbols(f: Any, made: dict[Any, Any]) -> Any:
    """A copy of a user's function in which names stand for what works on symbols."""
    f = plain(f)
    if f in made:
        return made[f]
    values = {name: _value(value, made, of_kernel=is_ours(f)) for name, value in captured(f)}
    cells = tuple(types.CellType(values.pop(k)) for k in f.__code__.co_freevars)
    scope = {**values, "__builtins__": builtins_of(f)}
    copy = types.FunctionType(f.__code__, scope, f.__name__, f.__defaults__, cells)
    copy.__kwdefaults__ = f.__kwdefaults__
    made[f] = copy
    return copy


def _value(value: Any, made: dict[Any, Any], *, of_kernel: bool = False) -> Any:
    value = plain(value)
    for known, shim in _STAND_INS:
        if value is known:
            return shim
    if isinstance(value, types.ModuleType):
        return _Shim(value, made)
    if callable(value) and is_foreign(value) and getattr(value, "__name__", "") in _SHIMS:
        return _SHIMS[value.__name__]
    if isinstance(value, types.FunctionType) and not is_foreign(value):
        copy = value if value is plain(section) else _for_symbols(value, made)
        return _or_as_it_is(copy, value) if of_kernel and copy is not value else copy
    return value


def _or_as_it_is(copy: Any, f: Any) -> Any:
    """A function on symbols that a model calls; if it cannot be differentiated, the text calls it as it is.

    It must be a vector of the time and of parameters. What users' functions call may return anything.
    """

    def on_symbols(*args: Any, **named: Any) -> Any:
        try:
            return copy(*args, **named)
        except CannotDerive:
            if named or (text := _time_and_parameters(args)) is None:
                raise
        graph = args[0].graph
        name = f"f{len(graph.called)}"
        name = next((known for known, g in graph.called.items() if g is f), name)
        graph.called[name] = f
        return _Called(graph.node("call", name, *text))

    return on_symbols


def _time_and_parameters(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The arguments (t, p) of a function, where p may be a section of all parameters, as the text has them."""
    if len(args) != 2 or not isinstance(args[0], SymbolicOperation) or args[0].op != "var" or args[0].args != ("t",):
        return None
    names = [x.args[0] if isinstance(x, SymbolicOperation) and x.op == "var" else "" for x in args[1]]
    first = names[0].removeprefix("p[").removesuffix("]") if names else ""
    if not first.isdigit() or names != [f"p[{int(first) + k}]" for k in range(len(names))]:
        return None
    return int(first), len(names)


class _Called:
    """What a function returned that the text calls: a vector."""

    def __init__(self, node: SymbolicOperation) -> None:
        self.items = [node.graph.node("item", node, k) for k in range(3)]

    def __getitem__(self, k: int) -> SymbolicOperation:
        return self.items[k]

    def __len__(self) -> int:
        return 3


class _Numbers:
    """The numbers of a site as symbols."""

    def __init__(self, graph: Graph, name: str, count: int) -> None:
        self.items = [graph.node("var", f"p[{name} + {k}]") for k in range(count)]

    def __getitem__(self, k: int) -> SymbolicOperation:
        return self.items[k]

    def __len__(self) -> int:
        return len(self.items)


def _slopes(node: SymbolicOperation, adjoint: Any, *, chooses: bool) -> list[tuple[SymbolicOperation, Any]]:
    """The arguments of an operation with the derivatives of its result by them.

    Where the adjoint is zero, nothing is multiplied by an infinite slope: a root of zero is times zero in a drag at
    rest, and the side that `where` does not choose may not be finite (`chooses`: the function has one).
    """
    g, op = node.graph, node.op

    def safe(z: SymbolicOperation, always: bool = True) -> SymbolicOperation:
        if adjoint.op == "const" or not (always or chooses):
            return z
        return g.node("where", g.node("<", g.of(0.0), g.node("fabs", adjoint)), z, g.of(1.0))

    if op in ("const", "var", "call", "item", *_COMPARISONS):
        return []
    if op == "where":
        zero, one = g.of(0.0), g.of(1.0)
        c, a, b = node.args
        return [(a, g.node("where", c, one, zero)), (b, g.node("where", c, zero, one))]
    x = node.args[0]
    if op in _BINARY:
        y = node.args[1]
        if op in ("add", "sub"):
            return [(x, 1.0), (y, 1.0 if op == "add" else -1.0)]
        if op == "mul":
            return [(x, safe(y, always=False)), (y, safe(x, always=False))]
        below = safe(y, always=False)
        return [(x, 1.0 / below), (y, -safe(node, always=False) / below)]
    if op == "pow":
        return [(x, node.args[1] * g.node("pow", safe(x), node.args[1] - 1.0))]
    bell = 2.0 / math.sqrt(math.pi)
    slope: dict[str, Callable[[], Any]] = {
        "sqrt": lambda: 0.5 / safe(node), "exp": lambda: node, "log": lambda: 1.0 / safe(x),
        "sin": lambda: g.node("cos", x),
        "cos": lambda: -g.node("sin", x), "tan": lambda: 1.0 + node * node, "atan": lambda: 1.0 / (1.0 + x * x),
        "tanh": lambda: 1.0 - node * node, "sinh": lambda: g.node("cosh", x), "cosh": lambda: g.node("sinh", x),
        "erf": lambda: bell * g.node("exp", -(x * x)), "erfc": lambda: -bell * g.node("exp", -(x * x)),
        "fabs": lambda: g.node("where", g.node("<", x, g.of(0.0)), g.of(-1.0), g.of(1.0)),
    }  # fmt: skip
    return [(x, slope[op]())]


def _gradient(value: SymbolicOperation, variables: Sequence[SymbolicOperation]) -> list[SymbolicOperation]:
    """The derivatives of a value by variables, in reverse."""
    graph = value.graph
    order = _order([value])
    chooses = any(node.op == "where" for node in order)
    adjoint: dict[int, Any] = {value.number: graph.of(1.0)}
    for node in reversed(order):
        if node.number in adjoint:
            for argument, slope in _slopes(node, adjoint[node.number], chooses=chooses):
                term = adjoint[node.number] * slope
                known = adjoint.get(argument.number)
                adjoint[argument.number] = term if known is None else known + term
    return [graph.of(adjoint.get(v.number, 0.0)) for v in variables]


def _order(outputs: Sequence[SymbolicOperation]) -> list[SymbolicOperation]:
    """All nodes behind the outputs, each after those that it needs."""
    seen: set[int] = set()
    order: list[SymbolicOperation] = []
    stack = [(node, False) for node in outputs]
    while stack:
        node, ready = stack.pop()
        if ready:
            order.append(node)
        elif node.number not in seen:
            seen.add(node.number)
            stack.append((node, True))
            stack += [(a, False) for a in node.args if isinstance(a, SymbolicOperation) and a.number not in seen]
    return order


def _text(node: SymbolicOperation, names: dict[int, str]) -> str:
    args = [names[a.number] if isinstance(a, SymbolicOperation) else repr(a) for a in node.args]
    if node.op == "const":
        return f"({args[0]})"
    if node.op == "var":
        return str(node.args[0])
    if node.op == "call":
        return f"{node.args[0]}(t, section(p, {node.args[1]}, {node.args[2]}))"
    if node.op == "item":
        return f"{args[0]}[{node.args[1]}]"
    if node.op in _BINARY:
        return _BINARY[node.op].format(*args)
    if node.op == "pow":
        return f"{args[0]} ** {args[1]}"
    if node.op == "where":
        return f"where({args[0]}, {args[1]}, {args[2]})"  # which chooses lane by lane, too
    return f"{args[0]} {node.op} {args[1]}" if node.op in _COMPARISONS else f"{node.op}({args[0]})"


def gradient_of(potential: Callable[..., Any], vectors: Sequence[str], count: int, *, scalar: bool) -> tuple[Any, Any]:
    """A potential, and the potential with its gradient, as kernels.

    The user's function takes vectors (a number, if `scalar`) and the numbers of two sites, a and b. The kernels take
    these vectors and then `(p, a, b)`: an array, and where the numbers of each site begin in it.
    """
    graph = Graph()
    shown: list[Any] = []
    variables: list[SymbolicOperation] = []
    for name in vectors:
        made = [graph.node("var", name if scalar else f"{name}[{k}]") for k in range(1 if scalar else 3)]
        variables += made
        shown.append(made[0] if scalar else tuple(made))
    try:
        value = graph.of(_for_symbols(potential, {})(*shown, _Numbers(graph, "a", count), _Numbers(graph, "b", count)))
    except IndexError:
        raise CannotDerive(f"it reads more numbers of a site than there are: every site has {count}") from None
    gradient = _gradient(value, variables)
    head = ", ".join([*vectors, "p", "a", "b"])
    slopes = "{}" if scalar else ", ".join(["({}, {}, {})"] * len(vectors))
    return (
        _written(f"value({head})", [value], "{}"),
        _written(f"value_and_slope({head})", [value, *gradient], f"{{}}, {slopes}"),
    )


def torque_slopes(torque: Callable[..., Any], count: int, by: Sequence[int], *, by_rate: bool) -> Any:
    """The derivatives of a torque as a kernel `(t, q, w, p) -> numbers`, one row after the other.

    They are those by a small rotation vector in space axes (nine numbers), by the rate (nine), and by each of the
    parameters `by` (three numbers each). The torque has `count` parameters.
    """
    graph = Graph()
    t, q, w, p = (
        tuple(graph.node("var", text.format(k)) for k in range(n))
        for text, n in (("t", 1), ("q[{}]", 4), ("w[{}]", 3), ("p[{}]", count))
    )
    try:
        acting = _for_symbols(torque, {})
        n = _both_ways(graph, lambda: [graph.of(x) for x in acting(t[0], q, w, p)])
    except IndexError:
        raise CannotDerive(f"it reads more parameters than there are, which is {count}") from None
    except (TypeError, ValueError, AttributeError) as problem:
        raise (
            problem if isinstance(problem, CannotDerive) else CannotDerive(f"on symbols it raises: {problem}")
        ) from None
    for called in (node for node in graph.known.values() if node.op == "call"):
        if any(called.args[1] <= k < called.args[1] + called.args[2] for k in by):
            name = graph.called[called.args[0]].__name__
            raise CannotDerive(f"it calls {name}, which is not known by its parameters")
    slopes = [_gradient(x, [*q, *w, *(p[k] for k in by)]) for x in n]
    # a turn by the vector v in space changes q by (0, v) q / 2
    turns = ((-q[1], q[0], -q[3], q[2]), (-q[2], q[3], q[0], -q[1]), (-q[3], -q[2], q[1], q[0]))
    out = [0.5 * sum(a * b for a, b in zip(row[:4], turn, strict=True)) for row in slopes for turn in turns]
    out += [x for row in slopes for x in row[4:7]] if by_rate else []
    out += [row[7 + k] for k in range(len(by)) for row in slopes]
    return _written("slopes(t, q, w, p)", [graph.of(x) for x in out], "({})")


MOST_SWITCHES = 6
"""The largest number of spans of time that may switch one torque on or off."""


def _both_ways(graph: Graph, run: Callable[[], list[SymbolicOperation]]) -> list[SymbolicOperation]:
    """The outputs of a function that is run for every way past its switches in time."""
    before = len(graph.chosen)
    if before > MOST_SWITCHES:
        raise CannotDerive(f"it is switched by more than {MOST_SWITCHES} spans of time")
    graph.switches = []
    outputs, switches = run(), graph.switches
    if len(switches) == before:
        return outputs
    ways = []
    for way in (True, False):
        graph.chosen.append(way)
        ways.append(_both_ways(graph, run))
        graph.chosen.pop()
    return [graph.node("where", switches[before].node, yes, no) for yes, no in zip(*ways, strict=True)]


def _written(head: str, outputs: Sequence[SymbolicOperation], template: str) -> Any:
    """Writes the function that computes these outputs. What several numbers are divided by is inverted once."""
    names: dict[int, str] = {}
    lines, order = [], _order(outputs)
    divisors = Counter(node.args[1].number for node in order if node.op == "div")
    inverse: dict[int, str] = {}
    for node in order:
        if node.op in ("const", "var"):
            names[node.number] = _text(node, names)
            continue
        names[node.number] = f"x{node.number}"
        text = _text(node, names)
        if node.op == "div" and divisors[(by := node.args[1].number)] > 1:
            if by not in inverse:
                inverse[by] = f"r{by}"
                lines.append(f"r{by} = 1.0 / {names[by]}")
            text = f"{names[node.args[0].number]} * {inverse[by]}"
        lines.append(f"x{node.number} = {text}")
    if template == "({})":  # all of them as one tuple
        template = f"({'{}, ' * len(outputs)})"
    used = {name: getattr(math, name) for name in _UNARY if any(f"{name}(" in line for line in lines)}
    used |= {f.__name__: f for f in (where, section) if any(f"{f.__name__}(" in line for line in lines)}
    used |= outputs[0].graph.called
    return function(head, [*lines, f"return {template.format(*(names[o.number] for o in outputs))}"], used)
