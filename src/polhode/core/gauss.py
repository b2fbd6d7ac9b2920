"""Gauss collocation on quaternion and momentum, solved by fixed-point iteration.

The solution within a step is the polynomial whose slope is right at the nodes of Gauss's quadrature; with s nodes the
step has order 2 s, is time-symmetric and keeps quadratic invariants. [hairer2006b, sec. II.1.3 and VIII.6; hairer2008]

The data of a step stand component by component, each a row over the nodes. Compiled, a row can be one value, in the
lanes of the vector registers: then one call of the torque serves all nodes.

Compensated, energy and norm do not drift: the matrix is as exact as if it had twice the digits, the increment of a step
is summed with its rounding errors, and the iteration goes on for as long as it brings anything.
"""

import re
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from itertools import zip_longest
from typing import Any, NamedTuple

from polhode.core.coefficients import legendre_point
from polhode.core.compose import Increments, InLanes
from polhode.core.dd import two_sum
from polhode.core.flows import pull_lane_by_lane
from polhode.core.ops import exchanged, fma, from_lanes, halves, joined, lane
from polhode.core.quat import norm2
from polhode.core.runge_kutta import slope_of
from polhode.core.status import NO_CONVERGENCE, OK, UNSOUND
from polhode.core.text import function
from polhode.core.types import Pull, Start, State, Vec3
from polhode.core.vec import combine, dot

MOST_ITERATIONS = 60
"""A step that is a third shorter converges faster than a slow iteration."""
LEFT_OUT = 2.0**-55
"""What is left for want of one more iteration, relative to the state: an eighth of an ulp."""
LEFT_OUT_COMPENSATED = 2.0**-60
"""The same where sums are compensated: what is left has a direction, and would be a drift."""
SETTLED = 2.0**-44
"""Changes that no longer shrink are round-off, if they are as small as this."""
LEEWAY = 4.0
"""So many iterations before the last one of the step before, the changes begin to be looked at. A step needs three of
them; so it can be done with one iteration less than the last."""
COMPLETED = 1
"""After this iteration the slopes are good for what rounding left out of the matrix: two digits are enough."""
UNTIDY = 2.0**-49
"""A norm off by less is left alone: what its computation rounds away would be a bias of the energy."""

Row = tuple[float, ...]


class Collocation(NamedTuple):
    """Nodes and integrals of a step of unit length, in units of it."""

    nodes: Row
    weights: Row
    """Of the quadrature."""
    weights_low: Row
    """What rounding left out of them."""
    inside: tuple[Row, ...]
    """The integrals from the start of the step to each node."""
    inside_low: tuple[Row, ...]
    ahead: tuple[Row, ...]
    """The integrals of the polynomial continued, from the end of the step to the nodes of the next one."""


def collocation(count: int) -> Collocation:
    """The numbers for an even number of nodes."""
    with localcontext(prec=60):
        points = [legendre_point(count, k) for k in range(1, count // 2 + 1)]  # the second half of (-1, 1), falling
        x = [-p for p, _ in points] + [p for p, _ in reversed(points)]
        w = [p / 2 for _, p in points] + [p / 2 for _, p in reversed(points)]
        basis = [_lagrange(x, j) for j in range(count)]
        inside = [[_integral(b, Decimal(-1), a) / 2 for b in basis] for a in x]
        ahead = [[_integral(b, Decimal(1), 2 + a) / 2 for b in basis] for a in x]
        return Collocation(
            _rounded([(1 + a) / 2 for a in x]), _rounded(w), _left_out(w),
            tuple(map(_rounded, inside)), tuple(map(_left_out, inside)), tuple(map(_rounded, ahead)),
        )  # fmt: skip


def _rounded(exact: Sequence[Decimal]) -> Row:
    return tuple(map(float, exact))


def _left_out(exact: Sequence[Decimal]) -> Row:
    """By rounding."""
    return tuple(float(x - Decimal(float(x))) for x in exact)


def _lagrange(x: Sequence[Decimal], j: int) -> list[Decimal]:
    """The coefficients of the polynomial that is one at x[j] and zero at the others, from the constant up."""
    out = [Decimal(1)]
    for m, a in enumerate(x):
        if m != j:
            shifted, scale = [Decimal(0), *out], x[j] - a
            out = [(s - a * c) / scale for s, c in zip(shifted, [*out, Decimal(0)], strict=True)]
    return out


def _integral(polynomial: Sequence[Decimal], a: Decimal, b: Decimal) -> Decimal:
    return sum(
        (c * (b ** (k + 1) - a ** (k + 1)) / (k + 1) for k, c in enumerate(polynomial)), start=Decimal(0)
    )  # fmt: skip


# --- rows over the nodes ---------------------------------------------------------------------------------------------


def _sum(factors: Sequence[str], names: Sequence[str], first: str = "", later: str = "") -> str:
    """A weighted sum as text: in pairs, which wait for each other less than a chain does.

    What else is to be added goes into the first product, or into that of the second half, fused with it.
    """
    if len(names) == 1:
        return f"fma({factors[0]}, {names[0]}, {first})" if first else f"{factors[0]} * {names[0]}"
    if len(names) == 2:
        return f"fma({factors[1]}, {names[1]}, {_sum(factors[:1], names[:1], first)})"
    half = len(names) // 2
    return f"({_sum(factors[:half], names[:half], first)} + {_sum(factors[half:], names[half:], later)})"


class Partner(NamedTuple):
    """For each node another one, whose slope is multiplied for it: further on by so many pairs, and in them the other.

    In lanes these are cheap moves. By an even number of pairs whole registers take each other's place; by an odd one
    their halves, which takes longer. One slope spread to all lanes, the other way to multiply by a matrix, would take
    longer still.
    """

    pairs: int
    other: int

    def of(self, i: int, count: int) -> int:
        """The partner of node i."""
        return (i + 2 * self.pairs) % count ^ self.other


def partners(count: int) -> list[Partner]:
    """In the order of the sums: each node meets all others.

    Sums begin with pairs: one product that can be made at once, and fused with it one that has to wait for a move, the
    longer wait with the earlier of the others.
    """
    at_once = [Partner(k, other) for other in (0, 1) for k in range(0, count // 2, 2)]
    after_a_move = [Partner(k, other) for other in (1, 0) for k in range(1, count // 2, 2)]
    pairs = zip_longest(at_once, after_a_move)  # of two nodes neither moves
    return [partner for pair in pairs for partner in pair if partner is not None]


def missed(h: float, a: float, a_low: float) -> float:
    """What rounding leaves out of h times a + a_low."""
    return fma(h, a, -(h * a)) + h * a_low


class Dialect(NamedTuple):
    """How rows are written: as tuples of numbers, or as lanes. The operations on numbers are the same, and the bits."""

    nodes: int
    ahead: Callable[[float, float, Any], Any]
    """`ahead(h, s, f)`: the values of one component at the nodes, guessed from its slopes f in the last step."""
    integrate: Callable[[float, float, Any, Any], Any]
    """`integrate(h, s, low, f)`: its values at the nodes, of its slopes; `low` is a row, if sums are compensated."""
    completed: Callable[[float, float, Any], Any]
    """`completed(h, low, f)`: what belongs to the values besides, for rounding of the start and of the matrix."""
    mean: Callable[[Any], float]
    """Of the slopes of one component."""
    increment: Callable[[float, Any], tuple[float, float]]
    """`increment(h, f)`: h times the mean slope, with what rounding leaves out of it."""
    numbers: Callable[[Sequence[float]], str]
    """A row of these numbers, in text."""
    row: Callable[[str], str]
    """A row in text."""
    each: Callable[[str, str], str]
    """`each(name, formula)`: the row of this name from a formula of other rows, in text."""
    torque: Callable[[Pull], Any]
    """`torque(body, p, t, h, y0, ..., y6)`: its three rows."""
    kept: Callable[[int], str]
    """Row a of the memory, in text."""
    keep: Callable[[str], str]
    """A row for the memory, in text."""
    same: Callable[[str], str]
    """A row of equal numbers, for the memory."""


STATE = ("q[0]", "q[1]", "q[2]", "q[3]", "m[0]", "m[1]", "m[2]")
"""The parts of a state, each of which has a row."""
VALUES = [f"y{a}" for a in range(len(STATE))]


ROWS = "bgnvxyz"
"""Names of rows in a formula: one of these letters, and a digit."""


NAMES = {"fma": fma, "missed": missed, "two_sum": two_sum}


def one_by_one(c: Collocation, *, compensated: bool) -> Dialect:
    """Rows as tuples."""
    count, half = len(c.nodes), len(c.nodes) // 2

    def products(factor: str, i: int, *matrices: Sequence[Row], first: str = "", later: str = "") -> str:
        others = [partner.of(i, count) for partner in partners(count)]
        factors = [factor.format(*(repr(m[i][j]) for m in matrices)) for j in others]
        return _sum(factors, [f"f[{j}]" for j in others], first, later)

    def rows(head: str, item: Callable[[int], str]) -> Any:
        return function(head, [f"return ({', '.join(item(i) for i in range(count))})"], NAMES)

    def low(i: int) -> str:
        return f"low[{i}]" if compensated else ""

    ahead = rows("ahead(h, s, f)", lambda i: products("(h * {})", i, c.ahead, first="s"))
    integrate = rows(
        "integrate(h, s, low, f)", lambda i: products("(h * {})", i, c.inside, first="s", later=low(i))
    )  # fmt: skip
    completed = rows(
        "completed(h, low, f)", lambda i: "low + " + products("missed(h, {}, {})", i, c.inside, c.inside_low)
    )

    def weighted(w: Row) -> Any:
        pairs = [f"fma({w[half + j]!r}, f[{half + j}], {w[j]!r} * f[{j}])" for j in range(half)]
        while len(pairs) > 1:
            pairs = [f"({a} + {b})" for a, b in zip(pairs[: len(pairs) // 2], pairs[len(pairs) // 2 :], strict=True)]
        return function("weighted(f)", [f"return {pairs[0]}"], NAMES)

    lines = []
    for j in range(count):
        lines.append(f"p{j} = (h * {c.weights[j]!r}) * f[{j}]")
        rest = f"fma(h * {c.weights[j]!r}, f[{j}], -p{j})"
        lines.append(f"r{j} = fma(missed(h, {c.weights[j]!r}, {c.weights_low[j]!r}), f[{j}], {rest})")
    width = count
    while width > 1:
        width //= 2
        for j in range(width):
            lines += [f"p{j}, e = two_sum(p{j}, p{width + j})", f"r{j} = r{j} + r{width + j} + e"]
    increment = function("increment(h, f)", [*lines, "return p0, r0"], NAMES)

    def row(name: str) -> str:
        return f"({', '.join(f'{name}_{i}' for i in range(count))})"

    def each(name: str, formula: str) -> str:
        at = (re.sub(rf"\b([{ROWS}]\d)\b", rf"\1_{i}", formula) for i in range(count))
        return f"{row(name)} = {', '.join(at)}"

    def torque(pull: Pull) -> Any:
        lines = []
        for i, node in enumerate(c.nodes):
            at = [f"y{a}[{i}]" for a in range(len(STATE))]
            state = f"State(({', '.join(at[:4])}), ({', '.join(at[4:])}))"
            lines.append(f"n{i} = pull(body, p, t + {node!r} * h, {state})")
        parts = (", ".join(f"n{i}[{k}]" for i in range(count)) for k in range(3))
        lines.append(f"return {', '.join(f'({part})' for part in parts)}")
        return function(f"torque(body, p, t, h, {', '.join(VALUES)})", lines, {"pull": pull, "State": State})

    def kept(a: int) -> str:
        return f"({', '.join(f'memory[{a * count + i}]' for i in range(count))})"

    return Dialect(
        count, ahead, integrate, completed, weighted(c.weights), increment,
        lambda numbers: repr(tuple(numbers)), row, each, torque, kept,
        keep=lambda name: row(name)[1:-1], same=lambda x: ", ".join([x] * count),
    )  # fmt: skip


def together(c: Collocation, *, compensated: bool, torque_too: bool = True) -> Dialect:
    """Rows as lanes; the torque too, or node by node."""
    count, half = len(c.nodes), len(c.nodes) // 2
    names = NAMES | {"from_lanes": from_lanes, "lane": lane, "halves": halves, "joined": joined, "exchanged": exchanged}

    def lanes(numbers: Sequence[float]) -> str:
        return f"from_lanes(({', '.join(repr(x) for x in numbers)},))"

    slopes = _moved("f", count)
    moved = [f"exchanged(f{p.pairs}, 1)" if p.other else f"f{p.pairs}" for p in partners(count)]

    def products(factor: str, *matrices: Sequence[Row], first: str = "", later: str = "") -> str:
        diagonals = (
            [lanes([m[i][partner.of(i, count)] for i in range(count)]) for m in matrices] for partner in partners(count)
        )
        return _sum([factor.format(*d) for d in diagonals], moved, first, later)

    ahead = function("ahead(h, s, f)", [*slopes, "return " + products("(h * {})", c.ahead, first="s")], names)
    whole = products("(h * {})", c.inside, first="s", later="low" if compensated else "")
    integrate = function("integrate(h, s, low, f)", [*slopes, "return " + whole], names)
    rest = products("missed(h, {}, {})", c.inside, c.inside_low)
    completed = function("completed(h, low, f)", [*slopes, "return low + " + rest], names)

    exchanges = [2**k for k in reversed(range((half - 1).bit_length()))]

    def weighted(w: Row) -> Any:
        lines = [
            "a, b = halves(f)",
            f"w = fma({lanes(w[half:])}, b, {lanes(w[:half])} * a)",
            *(f"w = w + exchanged(w, {k})" for k in exchanges),
            "return lane(w, 0)",
        ]
        return function("weighted(f)", lines, names)

    lines = [
        f"w = {lanes(c.weights)}",
        "x = (h * w) * f",
        f"r = fma(missed(h, w, {lanes(c.weights_low)}), f, fma(h * w, f, -x))",
        "a, b = halves(x)",
        "u, v = halves(r)",
        "x, e = two_sum(a, b)",
        "r = u + v + e",
    ]
    for k in exchanges:
        lines += [f"x, e = two_sum(x, exchanged(x, {k}))", f"r = r + exchanged(r, {k}) + e"]
    increment = function("increment(h, f)", [*lines, "return lane(x, 0), lane(r, 0)"], names)

    def torque(pull: Pull) -> Any:
        state = f"State(({', '.join(VALUES[:4])}), ({', '.join(VALUES[4:])}))"
        lines = [f"return pull(body, p, t + {lanes(c.nodes)} * h, {state})"]
        here = pull if torque_too else pull_lane_by_lane(pull, count)
        return function(f"torque(body, p, t, h, {', '.join(VALUES)})", lines, {"pull": here, "State": State, **names})

    def same(number: str) -> str:
        return f"from_lanes(({', '.join([number] * count)},))"

    return Dialect(
        count, ahead, integrate, completed, weighted(c.weights), increment, lanes, str,
        "{} = {}".format, torque, "memory[{}]".format, str, same,
    )  # fmt: skip


def _moved(name: str, count: int) -> list[str]:
    """Lines that make a row further on by k pairs of lanes: name0, name1, ..."""

    def joined_up(parts: list[str]) -> str:
        half = len(parts) // 2
        return f"joined({joined_up(parts[:half])}, {joined_up(parts[half:])})" if half else parts[0]

    lines, parts = [], [name]
    while 2 * len(parts) < count:
        halved = [f"{part}{side}" for part in parts for side in "lr"]
        lines += [f"{part}l, {part}r = halves({part})" for part in parts]
        parts = halved
    return lines + [f"{name}{k} = {joined_up(parts[k:] + parts[:k])}" for k in range(len(parts))]


# --- the step --------------------------------------------------------------------------------------------------------


SLOPES = {
    4: "fma(k0 * y5, y6, n0)",
    5: "fma(k1 * y6, y4, n1)",
    6: "fma(k2 * y5, y4, n2)",
    0: "fma(-y3, v2, fma(-y2, v1, -y1 * v0))",
    1: "fma(y2, v2, fma(-y3, v1, y0 * v0))",
    2: "fma(-y1, v2, fma(y0, v1, y3 * v0))",
    3: "fma(y1, v1, fma(y0, v2, -y2 * v0))",
}
"""Euler's equations with the torque n, and the quaternion at the half rate v; what is known last comes last."""
GROUPS = ((4,), (5, 6), (0, 1), (2, 3))
"""An iteration goes from one group to the next, each with what is new of those before it: a fifth fewer iterations are
needed than with all at once. One component after the other would take fewer still, but each waits for the last
(docs/decisions/0005)."""


def gauss(count: int, *, compensated: bool = False, symmetric: Callable[[int], Increments] | None = None) -> Increments:
    """The scheme with so many nodes; `symmetric` takes its place for bodies that are symmetric about an axis.

    The memory is the slopes of the last step, whose polynomial continued is the first guess, the iterations that need
    not be looked at, and the evaluations.
    """
    c = collocation(count)

    def made(dialect: Dialect) -> Callable[[Pull], tuple[Start, Any]]:
        return collocated(dialect, compensated=compensated)

    wide = (
        InLanes(made(together(c, compensated=compensated, torque_too=too)), len(STATE), count, 2)
        for too in (True, False)
    )
    return Increments(
        made(one_by_one(c, compensated=compensated)), len(STATE) * count + 2, 1, None, compensated,
        in_lanes=tuple(wide), keeps_norm=True, symmetric=symmetric, in_halves=compensated,
    )  # fmt: skip


def collocated(dialect: Dialect, *, compensated: bool) -> Callable[[Pull], tuple[Start, Any]]:
    """`make(pull)` of the scheme, with rows in this dialect.

    `Params.tuning[0]` is the error of the iteration that is allowed in a step, relative to the state; zero: round-off.
    The norm of the quaternion is kept by the method; what rounding does to it is undone where it is needed.
    """
    parts, row = range(len(STATE)), dialect.row
    sweep = [torque_of(dialect, "y")]
    for group in GROUPS:
        if group[0] == 0:
            sweep += [dialect.each(f"v{k}", f"half{k} * y{4 + k}") for k in range(3)]
        sweep += [dialect.each(f"f{a}", SLOPES[a]) for a in group]
        sweep += [f"{row(f'y{a}')} = integrate(h, s.{STATE[a]}, low{a}, {row(f'f{a}')})" for a in group]
    if compensated:
        sweep += ["if k == COMPLETED and exact:"]
        sweep += [f"    low{a} = completed(h, low[{a}], {row(f'f{a}')})" for a in parts]
    lines = [
        *(f"k{k} = body.inverse[{(k + 2) % 3}] - body.inverse[{(k + 1) % 3}]" for k in range(3)),
        *(f"half{k} = 0.5 * body.inverse[{k}]" for k in range(3)),
        *(f"{row(f'y{a}')} = ahead(h, s.{STATE[a]}, {dialect.kept(a)})" for a in parts),
        *(f"low{a} = ({dialect.same(f'low[{a}]') if compensated else 0.0})" for a in parts),
        "exact = p.tuning[0] == 0.0",
        *iterated(dialect, sweep, from_nothing=False),
        f"keep = ({', '.join(dialect.keep(f'f{a}') for a in parts)}, max(0.0, k - LEEWAY), spent)",
    ]  # fmt: skip
    lines += [f"d{a}, r{a} = h * d{a}, 0.0" for a in parts]
    if compensated:
        lines += [
            "if exact:",
            *(f"    d{a}, r{a} = increment(h, {row(f'f{a}')})" for a in parts),
            "excess = norm2(s.q) - 1.0",
            "n = -0.5 * excess if abs(excess) > UNTIDY else 0.0",
            f"rest = ({', '.join(f'fma(n, s.q[{a}], r{a})' for a in range(4))}, r4, r5, r6)",
        ]
    rest = "rest, " if compensated else ""
    lines += [f"return State((d0, d1, d2, d3), (d4, d5, d6)), {rest}keep, status"]
    names = names_of(dialect, compensated=compensated) | {
        "State": State, "ahead": dialect.ahead, "completed": dialect.completed,
        "increment": dialect.increment, "UNTIDY": UNTIDY, "COMPLETED": COMPLETED,
    }  # fmt: skip
    head = f"change(body, p, t, s, {'low, ' if compensated else ''}h, memory)"
    begin = ["d = slope(body, p, t, s)", f"return ({', '.join(dialect.same(f'd.{part}') for part in STATE)}, 0.0, 1.0)"]

    def make(pull: Pull) -> tuple[Start, Any]:
        start: Start = function("start(body, p, t, s)", begin, {"slope": slope_of(pull), "from_lanes": from_lanes})
        return start, function(head, lines, names | {"torque": dialect.torque(pull)})

    return make


def torque_of(dialect: Dialect, name: str) -> str:
    """The rows n0, n1 and n2 of the torque, from those of a state with this name."""
    rows = (dialect.row(f"{name}{a}") for a in range(len(STATE)))
    return f"{', '.join(dialect.row(f'n{k}') for k in range(3))} = torque(body, p, t, h, {', '.join(rows)})"


def iterated(dialect: Dialect, sweep: Sequence[str], *, from_nothing: bool) -> list[str]:
    """Lines that repeat those of a sweep, which make slopes f0, f1, ... of values y0, y1, ..., until they are solved.

    They leave the mean slopes d0, d1, ..., a `status`, the number `k` of the last iteration, and the evaluations
    `spent`. What the first look shows is no change by an iteration, except after a first guess `from_nothing`: that
    nothing changes in the step.
    """
    parts = range(len(STATE))
    first = "moved if k == 0 else 0.0" if from_nothing else "0.0"
    return [
        "d0 = d1 = d2 = d3 = d4 = d5 = d6 = 0.0",
        "sure, spent, before, status, k = memory[-2], memory[-1], 0.0, NO_CONVERGENCE, 0",
        "enough, scale = enough2(p.tuning[0], LEFT_OUT), 0.0",
        "for k in range(MOST_ITERATIONS):",
        *(f"    {line}" for line in sweep),
        f"    spent += {dialect.nodes}.0",
        "    if k < sure:",
        "        continue",
        *(f"    e{a} = mean({dialect.row(f'f{a}')})" for a in parts),
        "    dq, dm = (e0 - d0, e1 - d1, e2 - d2, e3 - d3), (e4 - d4, e5 - d5, e6 - d6)",
        "    if k == sure:",
        "        scale = inverse_size2(s.m, h, (e4, e5, e6))",
        "    moved = h * h * max(norm2(dq), scale * dot(dm, dm))",
        *(f"    d{a} = e{a}" for a in parts),
        "    shrinks = moved <= 0.25 * before and moved * moved <= enough * before",
        "    if shrinks or (moved <= SETTLED2 and 0.0 < before <= moved):",
        "        status = OK",
        "        break",
        "    if not moved < 1e300:",  # neither infinite nor NaN can be iterated away
        "        status = UNSOUND",
        "        break",
        f"    before = moved if k > sure else ({first})",
    ]


def names_of(dialect: Dialect, *, compensated: bool) -> dict[str, Any]:
    """What such lines read."""
    return {
        "integrate": dialect.integrate, "mean": dialect.mean, "from_lanes": from_lanes, "fma": fma, "norm2": norm2,
        "dot": dot, "inverse_size2": inverse_size2, "enough2": enough2, "SETTLED2": SETTLED**2,
        "LEFT_OUT": LEFT_OUT_COMPENSATED if compensated else LEFT_OUT, "LEEWAY": LEEWAY,
        "MOST_ITERATIONS": MOST_ITERATIONS, "OK": OK, "UNSOUND": UNSOUND, "NO_CONVERGENCE": NO_CONVERGENCE,
    }  # fmt: skip


def inverse_size2(m: Vec3, h: float, mean: Vec3) -> float:
    """By what the squares of changes of the momentum are judged: its greater square, at the start or the end."""
    end = combine(m, h, mean)
    size = max(dot(m, m), dot(end, end))
    return 1.0 / size if size > 1e-300 else 0.0


def enough2(allowed: float, least: float) -> float:
    """When to end an iteration whose changes shrink by half or more each time.

    The next change would be smaller by the same factor, and the sum of all that is left is a geometric one: at most
    twice moved^2 / before, which is to be below what is allowed. In squares, moved2^2 <= (allowed / 2)^2 before2.
    """
    half = 0.5 * max(allowed, least)
    return half * half
