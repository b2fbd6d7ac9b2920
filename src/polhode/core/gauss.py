"""Gauss collocation on quaternion and momentum, solved by fixed-point iteration.

The solution within a step is the polynomial whose slope is right at the nodes of Gauss's quadrature; with s nodes the
step has order 2 s, is time-symmetric and keeps quadratic invariants. [hairer2006b, sec. II.1.3 and VIII.6; hairer2008]

The data of a step stand component by component, each a row over the nodes, and everything but the slope is done row
by row: rows are what vector registers hold. The nodes are symmetric about the middle, so the slopes are split into
even and odd parts, which halves the matrix product.
"""

from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from math import sqrt
from typing import Any, NamedTuple

from polhode.core.coefficients import legendre_point
from polhode.core.ops import fma
from polhode.core.quat import norm2
from polhode.core.runge_kutta import slope_of
from polhode.core.status import NO_CONVERGENCE, OK, UNSOUND
from polhode.core.text import function
from polhode.core.types import Pull, Start, State
from polhode.core.vec import dot

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
    weights: Row
    """Of the quadrature."""
    even: tuple[Row, ...]
    odd: tuple[Row, ...]
    """For each node of the second half, from the inside: the integral from the start to it and to its mirror image is
    half the whole integral, plus and minus `even` times the sums, plus `odd` times the differences of mirrored slopes.
    """
    ahead: tuple[Row, ...]
    """The integrals, from the end of the step to the nodes of the next one and to its end, of the polynomial continued.
    """


def collocation(count: int) -> Collocation:
    """The numbers for an even number of nodes, in the order from start to end."""
    with localcontext(prec=60):
        points = [legendre_point(count, k) for k in range(1, count // 2 + 1)]  # from the greatest down
        x = [-p for p, _ in points] + [p for p, _ in reversed(points)]  # on (-1, 1), rising
        w = [p for _, p in points] + [p for _, p in reversed(points)]
        basis = [_lagrange(x, j) for j in range(count)]
        half = count // 2
        even, odd = [], []
        for i in range(half, count):
            to = [(_integral(b, Decimal(-1), x[i]) - w[j] / 2) / 2 for j, b in enumerate(basis)]
            pairs = [(to[half + j], to[half - 1 - j]) for j in range(half)]
            even.append(tuple(float((a + b) / 2) for a, b in pairs))
            odd.append(tuple(float((a - b) / 2) for a, b in pairs))
        ends = [*(2 + a for a in x), Decimal(3)]
        ahead = [tuple(float(_integral(b, Decimal(1), end) / 2) for b in basis) for end in ends]
        return Collocation(
            tuple(float((1 + a) / 2) for a in x), tuple(float(a / 2) for a in w),
            tuple(even), tuple(odd), tuple(ahead),
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


def _sum(weights: Sequence[float], names: Sequence[str]) -> str:
    text = f"{weights[0]!r} * {names[0]}"
    for w, name in zip(weights[1:], names[1:], strict=True):
        text = f"fma({w!r}, {name}, {text})"
    return text


def integrals(c: Collocation) -> Callable[[float, Row], tuple[Row, float]]:
    """`integrate(h, f)`: of the slopes f of one component, the increments at the nodes and that of the whole step."""
    count, half = len(c.nodes), len(c.nodes) // 2
    e, o = [f"e{j}" for j in range(half)], [f"o{j}" for j in range(half)]
    lines = []
    for j in range(half):
        lines += [f"e{j} = f[{half + j}] + f[{half - 1 - j}]", f"o{j} = f[{half + j}] - f[{half - 1 - j}]"]
    lines.append(f"whole = {_sum(c.weights[half:], e)}")
    for i in range(half):
        lines.append(f"x{i} = {_sum(c.even[i], e)}")
        lines.append(f"y{i} = fma(0.5, whole, {_sum(c.odd[i], o)})")
    rows = [f"h * (y{half - 1 - i} - x{half - 1 - i})" for i in range(half)]
    rows += [f"h * (y{i} + x{i})" for i in range(half)]
    assert len(rows) == count
    lines.append(f"return ({', '.join(rows)}), h * whole")
    made: Callable[[float, Row], tuple[Row, float]] = function("integrate(h, f)", lines, {"fma": fma})
    return made


def extrapolations(c: Collocation) -> Callable[[float, Row], tuple[Row, float]]:
    """`ahead(h, f)`: of the slopes f of the last step, the increments at the nodes of this one and at its end."""
    names = [f"f[{j}]" for j in range(len(c.nodes))]
    *rows, end = [f"h * ({_sum(row, names)})" for row in c.ahead]
    lines = [f"return ({', '.join(rows)}), {end}"]
    made: Callable[[float, Row], tuple[Row, float]] = function("ahead(h, f)", lines, {"fma": fma})
    return made


PARTS = 7
"""Of a state: four of the quaternion, three of the momentum."""


def collocated(count: int) -> tuple[Callable[[Pull], tuple[Start, Any]], int]:
    """`make(pull)` of a scheme of increments with so many nodes, and the size of its memory.

    The memory is the slopes of the last step, component by component, whose polynomial continued is the first guess;
    and the number of evaluations. `Params.tuning[0]` is the error of the iteration that is allowed in a step, relative
    to the state; zero: round-off.
    """
    c = collocation(count)
    kept = PARTS * count

    def make(pull: Pull) -> tuple[Start, Any]:
        slope = slope_of(pull)
        parts = range(PARTS)

        def row(k: str) -> str:
            return ", ".join(f"s{i}.{k}" for i in range(count))

        def last(a: int) -> str:
            return ", ".join(f"memory[{a * count + i}]" for i in range(count))

        at = [f"q[{a}]" for a in range(4)] + [f"m[{a}]" for a in range(3)]
        slopes = []
        for i, node in enumerate(c.nodes):
            here = [f"s.{at[a]} + z{a}[{i}]" for a in parts]
            state = f"State(({', '.join(here[:4])}), ({', '.join(here[4:])}))"
            slopes.append(f"s{i} = slope(body, p, t + {node!r} * h, {state})")
        lines = [
            *(f"z{a}, d{a} = ahead(h, ({last(a)}))" for a in parts),
            f"spent, before, status = memory[{kept}], 0.0, NO_CONVERGENCE",
            "allowed = max(p.tuning[0], LEFT_OUT)",
            "for _ in range(MOST_ITERATIONS):",
            *(f"    {line}" for line in slopes),
            f"    spent += {float(count)!r}",
            *(f"    f{a} = ({row(at[a])})" for a in parts),
            *(f"    z{a}, n{a} = integrate(h, f{a})" for a in parts),
            "    moved = distance(s, (n0 - d0, n1 - d1, n2 - d2, n3 - d3), (n4 - d4, n5 - d5, n6 - d6), (n4, n5, n6))",
            *(f"    d{a} = n{a}" for a in parts),
            "    if not moved < 1e300:",  # neither infinite nor NaN can be iterated away
            "        status = UNSOUND",
            "        break",
            # The next change would be smaller by the same factor, and the sum of all that is left is a geometric one.
            "    if moved * moved <= allowed * (before - moved) or (moved <= SETTLED and 0.0 < before <= moved):",
            "        status = OK",
            "        break",
            "    before = moved",
            f"keep = ({', '.join(f'f{a}[{i}]' for a in parts for i in range(count))}, spent)",
            "return State((d0, d1, d2, d3), (d4, d5, d6)), keep, status",
        ]
        names = {
            "State": State, "slope": slope, "ahead": extrapolations(c), "integrate": integrals(c), "OK": OK,
            "distance": distance, "UNSOUND": UNSOUND, "NO_CONVERGENCE": NO_CONVERGENCE, "SETTLED": SETTLED,
            "LEFT_OUT": LEFT_OUT, "MOST_ITERATIONS": MOST_ITERATIONS,
        }  # fmt: skip
        first = ", ".join(f"d.{at[a]}" for a in parts for _ in range(count))
        begin = ["d = slope(body, p, t, s)", f"return ({first}, 1.0)"]
        start: Start = function("start(body, p, t, s)", begin, {"slope": slope})
        return start, function("change(body, p, t, s, h, memory)", lines, names)

    return make, kept + 1


def distance(s: State, dq: Any, dm: Any, gained: Any) -> float:
    """How far an iteration has moved the end of the step, relative to the state there or at the start."""
    m = (s.m[0] + gained[0], s.m[1] + gained[1], s.m[2] + gained[2])
    size = max(dot(s.m, s.m), dot(m, m))
    turned = sqrt(norm2(dq))
    return turned if size == 0.0 else max(turned, sqrt(dot(dm, dm) / size))
