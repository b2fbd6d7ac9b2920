"""Gauss collocation on quaternion and momentum, solved by fixed-point iteration.

The solution within a step is the polynomial whose slope is right at the nodes of Gauss's quadrature; with s nodes the
step has order 2 s, is time-symmetric and keeps quadratic invariants. [hairer2006b, sec. II.1.3 and VIII.6; hairer2008]

The data of a step stand component by component, each a row over the nodes. Compiled, a row can be one value, in the
lanes of the vector registers: then one call of the torque serves all nodes. The nodes are symmetric about the middle,
so the slopes are split into even and odd parts, which halves the matrix product; a row has the nodes of the second half
of the step first, from the inside, and then their mirror images.
"""

import re
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from typing import Any, NamedTuple

from polhode.core.coefficients import legendre_point
from polhode.core.compose import Increments, InLanes
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
SETTLED = 2.0**-44
"""Changes that no longer shrink are round-off, if they are as small as this."""

Row = tuple[float, ...]


class Collocation(NamedTuple):
    """Nodes and integrals of a step of unit length, in units of it."""

    nodes: Row
    """In the order of a row."""
    weights: Row
    """Of the quadrature, for the second half."""
    later: tuple[Row, ...]
    earlier: tuple[Row, ...]
    odd: tuple[Row, ...]
    """For each node of the second half: the integral from the start to it is `later` times the sums of mirrored slopes,
    to its mirror image `earlier` times them; both plus `odd` times the differences."""
    ahead: tuple[Row, ...]
    """The integrals of the polynomial continued, from the end of the step to the nodes of the next one."""


def collocation(count: int) -> Collocation:
    """The numbers for an even number of nodes."""
    with localcontext(prec=60):
        points = [legendre_point(count, k) for k in range(count // 2, 0, -1)]  # the second half of (-1, 1), rising
        half = count // 2
        x = [p for p, _ in points] + [-p for p, _ in points]
        w = [p for _, p in points] * 2
        basis = [_lagrange(x, j) for j in range(count)]
        later, earlier, odd = [], [], []
        for i in range(half):
            to = [_integral(b, Decimal(-1), x[i]) / 2 for b in basis]
            back = [_integral(b, Decimal(-1), -x[i]) / 2 for b in basis]
            pairs = [(j, half + j) for j in range(half)]
            later.append(tuple(float((to[j] + to[k]) / 2) for j, k in pairs))
            earlier.append(tuple(float((back[j] + back[k]) / 2) for j, k in pairs))
            odd.append(tuple(float((to[j] - to[k]) / 2) for j, k in pairs))
        ahead = [tuple(float(_integral(b, Decimal(1), 2 + a) / 2) for b in basis) for a in x]
        return Collocation(
            tuple(float((1 + a) / 2) for a in x), tuple(float(a / 2) for a in w[:half]),
            tuple(later), tuple(earlier), tuple(odd), tuple(ahead),
        )  # fmt: skip


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


def _sum(weights: Sequence[object], names: Sequence[str]) -> str:
    """A weighted sum as text: in pairs, which wait for each other less than a chain does."""
    if len(names) == 1:
        return f"{weights[0]} * {names[0]}"
    if len(names) == 2:
        return f"fma({weights[1]}, {names[1]}, {weights[0]} * {names[0]})"
    half = len(names) // 2
    return f"({_sum(weights[:half], names[:half])} + {_sum(weights[half:], names[half:])})"


def _diagonals(matrix: Sequence[Row]) -> list[Row]:
    """Of a square matrix, for each k: the factors of item i ^ k of a row in item i of the product.

    In lanes these partners are exchanged by cheap moves between and within registers. One number for all lanes, the
    other way to multiply by a matrix, takes the processor longer to spread.
    """
    size = range(len(matrix))
    return [tuple(matrix[i][i ^ k] for i in size) for k in size]


class Dialect(NamedTuple):
    """How rows are written: as tuples of numbers, or as lanes. The operations on numbers are the same, and the bits."""

    nodes: int
    integrate: Callable[[float, float, Any], tuple[Any, float]]
    """`integrate(h, s, f)`: of the slopes f of one component, its values at the nodes and its mean slope."""
    ahead: Callable[[float, float, Any], Any]
    """`ahead(h, s, f)`: the values at the nodes, guessed from the slopes f of the last step."""
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
    begin: Callable[[str], str]
    """A row of equal numbers, for the memory."""


STATE = ("q[0]", "q[1]", "q[2]", "q[3]", "m[0]", "m[1]", "m[2]")
"""The parts of a state, each of which has a row."""
VALUES = [f"y{a}" for a in range(len(STATE))]


def one_by_one(c: Collocation) -> Dialect:
    """Rows as tuples."""
    count, half = len(c.nodes), len(c.nodes) // 2

    def product(matrix: Sequence[Row], i: int, of: str) -> str:
        factors = [diagonal[i] for diagonal in _diagonals(matrix)]
        return _sum(factors, [of.format(i ^ k) for k in range(len(matrix))])

    lines = [f"e{j}, o{j} = f[{j}] + f[{half + j}], f[{j}] - f[{half + j}]" for j in range(half)]
    lines += [f"o{i}_ = {product(c.odd, i, 'o{}')}" for i in range(half)]
    rows = [f"fma(h, {product(m, i, 'e{}')} + o{i}_, s)" for m in (c.later, c.earlier) for i in range(half)]
    mean = [f"{w!r} * e{j}" for j, w in enumerate(c.weights)]
    while len(mean) > 1:
        mean = [f"({a} + {b})" for a, b in zip(mean[: len(mean) // 2], mean[len(mean) // 2 :], strict=True)]
    integrate = function("integrate(h, s, f)", [*lines, f"return ({', '.join(rows)}), {mean[0]}"], {"fma": fma})

    rows = [f"fma(h, {product(c.ahead, i, 'f[{}]')}, s)" for i in range(count)]
    ahead = function("ahead(h, s, f)", [f"return ({', '.join(rows)})"], {"fma": fma})

    def row(name: str) -> str:
        return f"({', '.join(f'{name}_{i}' for i in range(count))})"

    def each(name: str, formula: str) -> str:
        at = (re.sub(r"\b([ynv]\d)\b", rf"\1_{i}", formula) for i in range(count))
        return f"{row(name)} = {', '.join(at)}"

    def torque(pull: Pull) -> Any:
        lines = []
        for i, node in enumerate(c.nodes):
            at = [f"y{a}[{i}]" for a in range(len(STATE))]
            state = f"State(({', '.join(at[:4])}), ({', '.join(at[4:])}))"
            lines.append(f"n{i} = pull(body, p, t + {node!r} * h, {state})")
        rows = (", ".join(f"n{i}[{k}]" for i in range(count)) for k in range(3))
        lines.append(f"return {', '.join(f'({row})' for row in rows)}")
        return function(f"torque(body, p, t, h, {', '.join(VALUES)})", lines, {"pull": pull, "State": State})

    def kept(a: int) -> str:
        return f"({', '.join(f'memory[{a * count + i}]' for i in range(count))})"

    return Dialect(
        count, integrate, ahead, row, each, torque, kept, lambda name: row(name)[1:-1], lambda x: ", ".join([x] * count)
    )


def together(c: Collocation, *, torque_too: bool = True) -> Dialect:
    """Rows as lanes; the torque too, or node by node."""
    count, half = len(c.nodes), len(c.nodes) // 2

    def lanes(numbers: Sequence[float]) -> str:
        return f"from_lanes(({', '.join(repr(x) for x in numbers)}))"

    def product(matrix: Sequence[Row], of: str) -> str:
        partners = [of if k == 0 else f"exchanged({of}, {k})" for k in range(len(matrix))]
        return _sum([lanes(diagonal) for diagonal in _diagonals(matrix)], partners)

    names = {"fma": fma, "from_lanes": from_lanes, "lane": lane, "halves": halves, "joined": joined}
    names |= {"exchanged": exchanged}
    lines = [
        "a, b = halves(f)",
        "e, o = a + b, a - b",
        f"odd = {product(c.odd, 'o')}",
        f"values = fma(h, joined({product(c.later, 'e')} + odd, {product(c.earlier, 'e')} + odd), s)",
        f"w = {lanes(c.weights)} * e",
        *(f"w = w + exchanged(w, {2**k})" for k in reversed(range((half - 1).bit_length()))),
        "return values, lane(w, 0)",
    ]
    integrate = function("integrate(h, s, f)", lines, names)

    ahead = function("ahead(h, s, f)", [f"return fma(h, {product(c.ahead, 'f')}, s)"], names)

    def torque(pull: Pull) -> Any:
        state = f"State(({', '.join(VALUES[:4])}), ({', '.join(VALUES[4:])}))"
        lines = [f"return pull(body, p, t + {lanes(c.nodes)} * h, {state})"]
        here = pull if torque_too else pull_lane_by_lane(pull, count)
        return function(f"torque(body, p, t, h, {', '.join(VALUES)})", lines, {"pull": here, "State": State, **names})

    def begin(number: str) -> str:
        return f"from_lanes(({', '.join([number] * count)}))"

    return Dialect(count, integrate, ahead, str, "{} = {}".format, torque, "memory[{}]".format, str, begin)


# --- the step --------------------------------------------------------------------------------------------------------


SLOPES = {
    4: "fma(k0 * y5, y6, n0)",
    5: "fma(k1 * y6, y4, n1)",
    6: "fma(k2 * y4, y5, n2)",
    0: "-fma(y3, v2, fma(y2, v1, y1 * v0))",
    1: "fma(-y3, v1, fma(y2, v2, y0 * v0))",
    2: "fma(y3, v0, fma(-y1, v2, y0 * v1))",
    3: "fma(-y2, v0, fma(y1, v1, y0 * v2))",
}
"""Euler's equations with the torque n, and the quaternion at the half rate v."""
GROUPS = ((4,), (5,), (6,), (0, 1), (2, 3))
"""An iteration goes from one group to the next, each with what is new of those before it: a fifth fewer iterations are
needed than with all at once, and what they leave is smaller. One component after the other would take a third fewer,
but then each waits for the last (docs/decisions/0005)."""


def gauss(count: int, *, compensated: bool = False) -> Increments:
    """The scheme with so many nodes.

    The memory is the slopes of the last step, whose polynomial continued is the first guess, and the evaluations.
    """
    c = collocation(count)
    wide = (InLanes(collocated(d), len(STATE), count, 1) for d in (together(c), together(c, torque_too=False)))
    return Increments(
        collocated(one_by_one(c)), len(STATE) * count + 1, 1, None, compensated, in_lanes=tuple(wide), keeps_norm=True
    )


def collocated(dialect: Dialect) -> Callable[[Pull], tuple[Start, Any]]:
    """`make(pull)` of the scheme, with rows in this dialect.

    `Params.tuning[0]` is the error of the iteration that is allowed in a step, relative to the state; zero: round-off.
    The norm of the quaternion is kept by the method; what rounding does to it is undone with the next increment.
    """
    parts, row = range(len(STATE)), dialect.row
    sweep = [f"{', '.join(row(f'n{k}') for k in range(3))} = torque(body, p, t, h, {', '.join(map(row, VALUES))})"]
    for group in GROUPS:
        if group[0] == 0:
            sweep += [dialect.each(f"v{k}", f"half{k} * y{4 + k}") for k in range(3)]
        sweep += [dialect.each(f"f{a}", SLOPES[a]) for a in group]
        sweep += [f"{row(f'y{a}')}, e{a} = integrate(h, s.{STATE[a]}, {row(f'f{a}')})" for a in group]
    lines = [
        *(f"k{k} = body.inverse[{(k + 2) % 3}] - body.inverse[{(k + 1) % 3}]" for k in range(3)),
        *(f"half{k} = 0.5 * body.inverse[{k}]" for k in range(3)),
        *(f"{row(f'y{a}')} = ahead(h, s.{STATE[a]}, {dialect.kept(a)})" for a in parts),
        "d0 = d1 = d2 = d3 = d4 = d5 = d6 = 0.0",
        "spent, before, status = memory[-1], 0.0, NO_CONVERGENCE",
        "enough, scale = enough2(p.tuning[0]), 0.0",
        "for k in range(MOST_ITERATIONS):",
        *(f"    {line}" for line in sweep),
        f"    spent += {dialect.nodes}.0",
        "    dq, dm = (e0 - d0, e1 - d1, e2 - d2, e3 - d3), (e4 - d4, e5 - d5, e6 - d6)",
        "    if k == 0:",
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
        "    before = moved if k > 0 else 0.0",  # the first was no change by an iteration
        "n = 0.5 * (1.0 - norm2(s.q))",
        f"keep = ({', '.join(dialect.keep(f'f{a}') for a in parts)}, spent)",
        f"dq = ({', '.join(f'fma(h, d{a}, n * s.q[{a}])' for a in range(4))})",
        "return State(dq, (h * d4, h * d5, h * d6)), keep, status",
    ]  # fmt: skip
    names = {
        "State": State, "ahead": dialect.ahead, "integrate": dialect.integrate, "fma": fma, "norm2": norm2, "dot": dot,
        "inverse_size2": inverse_size2, "enough2": enough2, "SETTLED2": SETTLED**2, "MOST_ITERATIONS": MOST_ITERATIONS,
        "OK": OK, "UNSOUND": UNSOUND, "NO_CONVERGENCE": NO_CONVERGENCE,
    }  # fmt: skip
    begin = ["d = slope(body, p, t, s)", f"return ({', '.join(dialect.begin(f'd.{part}') for part in STATE)}, 1.0)"]

    def make(pull: Pull) -> tuple[Start, Any]:
        start: Start = function("start(body, p, t, s)", begin, {"slope": slope_of(pull), "from_lanes": from_lanes})
        torque = {"torque": dialect.torque(pull)}
        return start, function("change(body, p, t, s, h, memory)", lines, names | torque)

    return make


def inverse_size2(m: Vec3, h: float, mean: Vec3) -> float:
    """By what the squares of changes of the momentum are judged: its greater square, at the start or the end."""
    end = combine(m, h, mean)
    size = max(dot(m, m), dot(end, end))
    return 1.0 / size if size > 1e-300 else 0.0


def enough2(allowed: float) -> float:
    """When to end an iteration whose changes shrink by half or more each time.

    The next change would be smaller by the same factor, and the sum of all that is left is a geometric one: at most
    twice moved^2 / before, which is to be below what is allowed. In squares, moved2^2 <= (allowed / 2)^2 before2.
    """
    half = 0.5 * max(allowed, LEFT_OUT)
    return half * half
