"""Gauss collocation on quaternion and momentum, solved by fixed-point iteration.

The solution within a step is the polynomial whose slope is right at the nodes of Gauss's quadrature; with s nodes the
step has order 2 s, is time-symmetric and keeps quadratic invariants. [hairer2006b, sec. II.1.3 and VIII.6; hairer2008]

The data of a step are stored component by component; each component is a row over the nodes. Compiled, a row can be one
value, in the lanes of the vector registers: then one call of the torque serves all nodes.

With compensation, energy and norm do not drift: the matrix has twice the digits of a double, the increment of a step is
summed with its rounding errors, and the iteration goes on until it no longer reduces the error.
"""

import re
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from functools import lru_cache
from itertools import zip_longest
from typing import Any, NamedTuple

from polhode.kernels.algebra.dd import two_sum
from polhode.kernels.algebra.quat import norm2
from polhode.kernels.algebra.vec import combine, cross, dot, times
from polhode.kernels.codegen import function
from polhode.kernels.gyrostat import body_at
from polhode.kernels.ops import across, exchanged, fma, from_lanes, halves, internal, is_gyrostat, joined, lane
from polhode.kernels.states import paired, sizes_of, slope_of
from polhode.kernels.status import NO_CONVERGENCE, OK, UNSOUND
from polhode.kernels.steps.coefficients import lagrange, legendre_point
from polhode.kernels.steps.compose import Increments, InLanes, Make
from polhode.kernels.steps.flows import pull_lane_by_lane
from polhode.kernels.steps.tangent import Columns, column_slopes
from polhode.kernels.types import Inertia, Params, Pull, Start, State, Vec3

MOST_ITERATIONS = 60
"""Iterations before a step counts as failed; a step a third shorter converges in less time."""
ITERATION_ERROR = 2.0**-55
"""The error that the iteration may leave, relative to the state: an eighth of an ulp."""
ITERATION_ERROR_COMPENSATED = 2.0**-60
"""The error that the iteration may leave if sums are compensated. It has a direction: more would be a drift."""
ROUND_OFF_CHANGE = 2.0**-44
"""Changes below this that no longer shrink are round-off; above it the iteration diverges."""
LEEWAY = 4.0
"""The changes are measured from this many iterations before the last one of the preceding step. Three measurements are
needed to end; so a step can end one iteration earlier than the preceding one."""
COMPLETED = 1
"""After this iteration the slopes are good enough to compute what rounding left out of the matrix: that takes only two
digits of them."""
NORM_TOLERANCE = 2.0**-49
"""A squared norm of the quaternion that is off by less is not corrected: the rounding of the correction would be a bias
of the energy."""

Row = tuple[float, ...]


class Collocation(NamedTuple):
    """The nodes and the matrices of integrals for a step of unit length."""

    nodes: Row
    weights: Row
    """The weights of the quadrature."""
    weights_low: Row
    """What rounding left out of the weights."""
    inside: tuple[Row, ...]
    """The integrals from the start of the step to each node."""
    inside_low: tuple[Row, ...]
    """What rounding left out of the integrals to the nodes."""
    ahead: tuple[Row, ...]
    """The integrals of the polynomial continued, from the end of the step to the nodes of the next one."""


def collocation(count: int) -> Collocation:
    """The numbers for an even number of nodes."""
    with localcontext(prec=60):
        points = [legendre_point(count, k) for k in range(1, count // 2 + 1)]  # the second half of (-1, 1), falling
        x = [-p for p, _ in points] + [p for p, _ in reversed(points)]
        w = [p / 2 for _, p in points] + [p / 2 for _, p in reversed(points)]
        basis = [lagrange(x, j) for j in range(count)]
        inside = [[_integral(b, Decimal(-1), a) / 2 for b in basis] for a in x]
        ahead = [[_integral(b, Decimal(1), 2 + a) / 2 for b in basis] for a in x]
        return Collocation(
            _rounded([(1 + a) / 2 for a in x]), _rounded(w), _left_out(w),
            tuple(map(_rounded, inside)), tuple(map(_left_out, inside)), tuple(map(_rounded, ahead)),
        )  # fmt: skip


def _rounded(exact: Sequence[Decimal]) -> Row:
    return tuple(map(float, exact))


def _left_out(exact: Sequence[Decimal]) -> Row:
    """What rounding to doubles leaves out."""
    return tuple(float(x - Decimal(float(x))) for x in exact)


def _integral(polynomial: Sequence[Decimal], a: Decimal, b: Decimal) -> Decimal:
    return sum(
        (c * (b ** (k + 1) - a ** (k + 1)) / (k + 1) for k, c in enumerate(polynomial)), start=Decimal(0)
    )  # fmt: skip


# --- rows over the nodes ---------------------------------------------------------------------------------------------


def _sum(factors: Sequence[str], names: Sequence[str], first: str = "", later: str = "") -> str:
    """Writes a weighted sum in pairs, which the processor computes faster than a chain.

    `first` is added to the first product, fused with it, and `later` to the first product of the second half.
    """
    if len(names) == 1:
        return f"fma({factors[0]}, {names[0]}, {first})" if first else f"{factors[0]} * {names[0]}"
    if len(names) == 2:
        return f"fma({factors[1]}, {names[1]}, {_sum(factors[:1], names[:1], first)})"
    half = len(names) // 2
    return f"({_sum(factors[:half], names[:half], first)} + {_sum(factors[half:], names[half:], later)})"


class Partner(NamedTuple):
    """A diagonal of the matrix: each node takes the slope of the node `pairs` pairs further on, or of its neighbour.

    In lanes these are cheap moves. A move by an even number of pairs exchanges whole registers; one by an odd number
    exchanges their halves, which takes longer. To spread each slope to all lanes, the usual product with a matrix,
    would take longer still.
    """

    pairs: int
    other: int
    """1: the other node of the pair; 0: the same one."""

    def of(self, i: int, count: int) -> int:
        """The node whose slope node i takes."""
        return (i + 2 * self.pairs) % count ^ self.other


def partners(count: int) -> list[Partner]:
    """All diagonals of the matrix, in the order in which their products are summed.

    Sums begin with pairs: a product that needs no long move, and fused with it one that has to wait for its move. The
    moves that take longest are paired with the products that are there first.
    """
    at_once = [Partner(k, other) for other in (0, 1) for k in range(0, count // 2, 2)]
    after_a_move = [Partner(k, other) for other in (1, 0) for k in range(1, count // 2, 2)]
    pairs = zip_longest(at_once, after_a_move)  # with two nodes there is no move between pairs
    return [partner for pair in pairs for partner in pair if partner is not None]


def missed(h: float, a: float, a_low: float) -> float:
    """What the rounded product h a leaves out of h (a + a_low)."""
    return fma(h, a, -(h * a)) + h * a_low


class Dialect(NamedTuple):
    """How rows are written: as tuples of numbers, or as lanes. Both make the same operations and the same bits."""

    nodes: int
    ahead: Callable[[float, float, Any], Any]
    """`ahead(h, s, f)` guesses the values of one component at the nodes from its slopes f in the last step."""
    integrate: Callable[[float, float, Any, Any], Any]
    """`integrate(h, s, low, f)` computes its values at the nodes from its slopes; compensated, `low` is a row."""
    completed: Callable[[float, float, Any], Any]
    """`completed(h, low, f)` computes what rounding of the start and of the matrix left out of the values."""
    mean: Callable[[Any], float]
    """`mean(f)` computes the mean of the slopes of one component."""
    increment: Callable[[float, Any], tuple[float, float]]
    """`increment(h, f)` computes h times the mean slope, and what rounding leaves out of it."""
    numbers: Callable[[Sequence[float]], str]
    """Writes a row of these numbers."""
    row: Callable[[str], str]
    """Writes the row of this name."""
    each: Callable[[str, str], str]
    """`each(name, formula)` writes the line that computes the row of this name from a formula of other rows."""
    torque: Callable[..., Any]
    """Returns `torque(body, p, t, h, y0, ..., y6)`, which computes the three rows of the torque; if the torque carries
    numbers, it takes their rows as well, and computes those of the derivatives, or of other numbers that it finds."""
    kept: Callable[[int], str]
    """Writes row a of the memory."""
    keep: Callable[[str], str]
    """Writes a row as part of the next memory."""
    same: Callable[[str], str]
    """Writes a row of equal numbers."""
    bodies: Sequence[str]
    """The lines that find a body that changes at the nodes, as `bodies`, and its inverse tensor as rows b0 to b5."""


STATE = ("q[0]", "q[1]", "q[2]", "q[3]", "m[0]", "m[1]", "m[2]")
"""The parts of a state, each of which has a row."""


def parts_of(carried: int) -> tuple[str, ...]:
    """The parts of a state that carries numbers."""
    return (*STATE, *(f"z[{i}]" for i in range(carried)))


def values(carried: int) -> list[str]:
    """The names of the rows of a state."""
    return [f"y{a}" for a in range(len(STATE) + carried)]


def _state_text(items: Sequence[str]) -> str:
    """Writes a state of these numbers."""
    q, m, z = ", ".join(items[:4]), ", ".join(items[4 : len(STATE)]), "".join(f"{x}, " for x in items[len(STATE) :])
    return f"State(({q}), ({m}), ({z}))"


ROWS = "bgnvxyz"
"""Names of rows in a formula: one of these letters, and digits."""


NAMES = {"fma": fma, "missed": missed, "two_sum": two_sum}


def one_by_one(c: Collocation, *, compensated: bool, changing: bool = False) -> Dialect:
    """The dialect in which rows are tuples; of a body that changes, torques get one for each node."""
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
        at = (re.sub(rf"\b([{ROWS}]\d+)\b", rf"\1_{i}", formula) for i in range(count))
        return f"{row(name)} = {', '.join(at)}"

    def torque(pull: Pull, carried: int, found: int = 0) -> Any:
        lines, found = [], found or carried
        for i, node in enumerate(c.nodes):
            state = _state_text([f"y{a}[{i}]" for a in range(len(STATE) + carried)])
            into = f"n{i}, d{i}" if found else f"n{i}"
            lines.append(f"{into} = pull({f'body[{i}]' if changing else 'body'}, p, t + {node!r} * h, {state})")
        parts = [", ".join(f"n{i}[{k}]" for i in range(count)) for k in range(3)]
        parts += [", ".join(f"d{i}[{k}]" for i in range(count)) for k in range(found)]
        lines.append(f"return {', '.join(f'({part})' for part in parts)}")
        return function(f"torque(body, p, t, h, {', '.join(values(carried))})", lines, {"pull": pull, "State": State})

    def kept(a: int) -> str:
        return f"({', '.join(f'memory[{a * count + i}]' for i in range(count))})"

    bodies = [f"x{i} = body_at(body, p, t + {node!r} * h)" for i, node in enumerate(c.nodes)]
    for k, part in enumerate(("x{0}.inverse", "across(x{0})")):
        found = [part.format(i) for i in range(count)]
        bodies += [f"{row(f'b{3 * k + j}')} = {', '.join(f'{x}[{j}]' for x in found)}" for j in range(3)]
    bodies += [f"bodies = ({', '.join(f'x{i}' for i in range(count))})"]
    return Dialect(
        count, ahead, integrate, completed, weighted(c.weights), increment,
        lambda numbers: repr(tuple(numbers)), row, each, torque, kept,
        keep=lambda name: row(name)[1:-1], same=lambda x: ", ".join([x] * count), bodies=bodies,
    )  # fmt: skip


def together(c: Collocation, *, compensated: bool, torque_too: bool = True) -> Dialect:
    """The dialect in which rows are lanes; the torque is computed in lanes too, or node by node."""
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

    def torque(pull: Pull, carried: int, found: int = 0) -> Any:
        rows, found = values(carried), found or carried
        lines = [f"return pull(body, p, t + {lanes(c.nodes)} * h, {_state_text(rows)})"]
        if found:
            parts = [f"n[{k}]" for k in range(3)] + [f"d[{k}]" for k in range(found)]
            lines = [f"n, d = {lines[0].removeprefix('return ')}", f"return {', '.join(parts)}"]
        here = pull if torque_too else pull_lane_by_lane(pull, count, found)
        return function(f"torque(body, p, t, h, {', '.join(rows)})", lines, {"pull": here, "State": State, **names})

    def same(number: str) -> str:
        return f"from_lanes(({', '.join([number] * count)},))"

    return Dialect(
        count, ahead, integrate, completed, weighted(c.weights), increment, lanes, str,
        "{} = {}".format, torque, "memory[{}]".format, str, same,
        (
            f"bodies = body_at(body, p, t + {lanes(c.nodes)} * h)",
            "b0, b1, b2 = bodies.inverse",
            "b3, b4, b5 = across(bodies)",
        ),
    )  # fmt: skip


def _moved(name: str, count: int) -> list[str]:
    """Writes the lines that make name0, name1, ...: the row moved by k pairs of lanes."""

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
"""Euler's equations with the torque n, and the quaternion at the half rate v. What is computed last is used last."""
HALF_RATES = [
    "0.5 * " + "(" + " + ".join(f"b{part} * (y{4 + j} - g[{j}])" for j, part in enumerate(parts)) + ")"
    for parts in ((0, 5, 4), (5, 1, 3), (4, 3, 2))
]
"""The half rates v of a body that changes: b0 to b5 are its inverse tensor at the nodes, as 11, 22, 33, 23, 13, 12."""
SLOPES_OF_CHANGING = {
    4 + k: f"fma(2.0 * y{4 + i}, v{j}, fma(-2.0 * y{4 + j}, v{i}, n{k}))"
    for k, i, j in ((0, 1, 2), (1, 2, 0), (2, 0, 1))
}
"""m x w + n with w = 2 v."""
GROUPS = ((4,), (5, 6), (0, 1), (2, 3))
"""An iteration updates one group of components after the other, each with the new values of the groups before it: that
takes a fifth fewer iterations than all components at once. One component after the other would take fewer still, but
each would have to wait for the one before (docs/decisions/0005)."""


def gauss(
    count: int, *, compensated: bool = False, symmetric: Callable[[int], Increments] | None = None,
    changing: bool = False,
) -> Increments:  # fmt: skip
    """The scheme with `count` nodes; `symmetric` replaces it for bodies that are symmetric about an axis.

    The memory holds the slopes of the last step, whose continued polynomial is the first guess, the number of
    iterations whose changes need not be measured, and the evaluations. For bodies that are `changing` there is another.
    """
    c = collocation(count)

    def made(dialect: Dialect) -> Make:
        return collocated(dialect, compensated=compensated, changing=changing)

    wide = (
        InLanes(made(together(c, compensated=compensated, torque_too=too)), len(STATE), count, 2)
        for too in ((True,) if changing else (True, False))
    )
    return Increments(
        made(one_by_one(c, compensated=compensated, changing=changing)), len(STATE) * count + 2, 1, None, compensated,
        in_lanes=tuple(wide), keeps_norm=True, symmetric=symmetric, in_halves=compensated,
        takes_state=not compensated, memory_of_each=count,
        changing=None if changing else gauss(count, compensated=compensated, changing=True),
    )  # fmt: skip


def collocated(dialect: Dialect, *, compensated: bool, changing: bool = False) -> Make:
    """Returns `make(pull)` of the scheme, with rows in this dialect, for constant bodies or for those that change.

    `Params.tuning[0]` is the error that the iteration may leave in a step, relative to the state; zero: round-off.
    The method keeps the norm of the quaternion; what rounding does to it is corrected where it exceeds a tolerance.
    Numbers that the torque carries are further components; their slopes come with the torque.
    """

    def make(pull: Pull, carried: tuple[float, ...] = ()) -> tuple[Start, Any]:
        count, known = len(carried), getattr(pull, "__columns__", None)
        begin, head, lines, names = _collocation_text(dialect, compensated, count, known, changing=changing)
        slope = slope_of(pull, carries=count > 0)
        start: Start = function("start(body, p, t, s)", begin, {"slope": slope, "from_lanes": from_lanes})
        if count:
            names |= {"units": sizes_of(carried).units, "larger": larger}
        if known is not None:
            slopes: Any = pull.__slopes__  # type: ignore[attr-defined]
            names |= {"slopes": dialect.torque(slopes, 0, known.matrices)}
            pull, count = pull.__alone__, 0  # type: ignore[attr-defined]
        torque = dialect.torque(pull if changing else veering(pull, count > 0), count)
        return start, function(head, lines, names | {"torque": torque})

    return make


def _collocation_text(
    dialect: Dialect, compensated: bool, carried: int, columns: Columns | None, *, changing: bool
) -> tuple[list[str], str, list[str], dict[str, Any]]:
    """The lines of `start`, the head and the lines of `change`, and the names that these read."""
    state, row = parts_of(carried), dialect.row
    parts = range(len(state))
    iterates = 0 if columns else carried
    sweep = [torque_of(dialect, "y", iterates)]
    groups: tuple[tuple[int, ...], ...] = GROUPS
    rates = [f"half{k} * (y{4 + k} - g[{k}])" for k in range(3)]
    slopes, heads = SLOPES, [
        *(f"k{k} = body.inverse[{(k + 2) % 3}] - body.inverse[{(k + 1) % 3}]" for k in range(3)),
        *(f"half{k} = 0.5 * body.inverse[{k}]" for k in range(3)),
        "g = internal(body)",
    ]  # fmt: skip
    if changing:
        sweep = [sweep[0].replace("torque(body,", "torque(bodies,")]
        rates, groups, slopes = HALF_RATES, ((4, 5, 6), *GROUPS[2:]), SLOPES | SLOPES_OF_CHANGING
        heads = [*dialect.bodies, "g = internal(body)"]
    for group in (*groups, *((a,) for a in range(len(STATE), len(STATE) + iterates))):
        if group[0] == 0 or group == (4, 5, 6):
            sweep += [dialect.each(f"v{k}", rate) for k, rate in enumerate(rates)]
        sweep += [dialect.each(f"f{a}", slopes[a] if a in slopes else f"n{a - 4}") for a in group]
        sweep += [f"{row(f'y{a}')} = integrate(h, s.{state[a]}, low{a}, {row(f'f{a}')})" for a in group]
    if compensated:
        sweep += ["if k == COMPLETED and exact:"]
        sweep += [f"    low{a} = completed(h, low[{a}], {row(f'f{a}')})" for a in parts]
    lines = [
        *heads,
        *(f"{row(f'y{a}')} = ahead(h, s.{state[a]}, {dialect.kept(a)})" for a in parts),
        *(f"low{a} = ({dialect.same(f'low[{a}]') if compensated else 0.0})" for a in parts),
        "exact = p.tuning[0] == 0.0",
        *iterated(dialect, sweep, from_nothing=False, carried=iterates),
        *(_columns_solved(dialect, columns) if columns else []),
        f"keep = ({', '.join(dialect.keep(f'f{a}') for a in parts)}, max(0.0, k - LEEWAY), spent)",
    ]  # fmt: skip
    lines += [f"d{a}, r{a} = h * d{a}, 0.0" for a in parts]
    if compensated:
        lines += [
            "if exact:",
            *(f"    d{a}, r{a} = increment(h, {row(f'f{a}')})" for a in parts),
            "excess = norm2(s.q) - 1.0",
            "n = -0.5 * excess if abs(excess) > NORM_TOLERANCE else 0.0",
            f"rest = ({', '.join(f'fma(n, s.q[{a}], r{a})' for a in range(4))}, r4, r5, r6)",
        ]
    rest = "rest, " if compensated else ""
    lines += [f"return {_state_text([f'd{a}' for a in parts])}, {rest}keep, status"]
    names = names_of(dialect, compensated=compensated) | {
        "State": State, "internal": internal, "ahead": dialect.ahead, "completed": dialect.completed,
        "increment": dialect.increment, "NORM_TOLERANCE": NORM_TOLERANCE, "COMPLETED": COMPLETED,
    }  # fmt: skip
    names |= {"across": across, "body_at": body_at} if changing else {}
    head = f"change(body, p, t, s, {'low, ' if compensated else ''}h, memory)"
    begin = ["d = slope(body, p, t, s)", f"return ({', '.join(dialect.same(f'd.{part}') for part in state)}, 0.0, 1.0)"]
    return begin, head, lines, names


def _columns_solved(dialect: Dialect, columns: Columns) -> list[str]:
    """Writes the lines that solve the equations of columns, which are linear, once the nodes of the motion are known.

    They leave the mean slopes of columns. The iteration converges about as that of the motion did; one component is
    updated after the other, since the next columns are there to be computed while one waits.
    """
    K, row, at = columns.width, dialect.row, len(STATE)
    numbers, own = range(at, at + 7 * K), range(columns.matrices)
    rows = ", ".join([*(row(f"n{k}") for k in range(3)), *(row(f"x{k}") for k in own)])
    sweep = []
    for i in (4, 5, 6, 0, 1, 2, 3):
        for j in range(K):
            text = column_slopes(
                columns, [f"y{at + K * k + j}" for k in range(7)],
                lambda k, j=j: f"p.values[{columns.parameters + K * k + j}]",  # type: ignore[misc]
            )[i]  # fmt: skip
            a = at + K * i + j
            sweep += [dialect.each(f"f{a}", text)]
            sweep += [f"{row(f'y{a}')} = integrate(h, s.z[{a - at}], 0.0, {row(f'f{a}')})"]
    nodes = ", ".join(row(f"y{a}") for a in range(at))
    sizes = "".join(f"larger(s.z[{a - at}], h * e{a}), " for a in numbers)
    changes = ", ".join(f"abs(e{a} - d{a})" for a in numbers)
    return [
        f"{rows} = slopes(body, p, t, h, {nodes})",
        f"{' = '.join(f'd{a}' for a in numbers)} = 0.0",
        f"spent += {dialect.nodes}.0",
        "sure, before, scale, last = k - 2, 0.0, 0.0, MOST_ITERATIONS if status == OK else 0",
        "status = NO_CONVERGENCE if last > 0 else status",
        "for i in range(last):",
        *(f"    {line}" for line in sweep),
        "    if i < sure:",
        "        continue",
        *(f"    e{a} = mean({row(f'f{a}')})" for a in numbers),
        "    if i <= sure or i == 0:",
        f"        scale = h / max({sizes}1e-300)",
        f"    most = scale * max({changes})",  # squares of columns may exceed 1e308
        "    moved = most * most",
        *(f"    d{a} = e{a}" for a in numbers),
        *_settled("i"),
    ]


@lru_cache(maxsize=128)
def veering(pull: Any, carries: bool) -> Any:
    """The torque with what a rotor adds to Euler's equation for the whole momentum: I^-1 g x m."""

    both = paired(pull, carries=carries)

    def torque(body: Inertia, p: Params, t: float, s: State) -> Any:
        n, dz = both(body, p, t, s)
        if is_gyrostat(body):
            n = combine(n, 1.0, cross(times(internal(body), body.inverse), s.m))
        return (n, dz) if carries else n

    return torque


def torque_of(dialect: Dialect, name: str, carried: int = 0) -> str:
    """Writes the line that computes the rows n0, n1, n2 of the torque from the rows of a state with this name.

    Derivatives of carried numbers are n3, n4, ...
    """
    rows = (dialect.row(f"{name}{a}") for a in range(len(STATE) + carried))
    return f"{', '.join(dialect.row(f'n{k}') for k in range(3 + carried))} = torque(body, p, t, h, {', '.join(rows)})"


def iterated(dialect: Dialect, sweep: Sequence[str], *, from_nothing: bool, carried: int = 0) -> list[str]:
    """Writes the lines that repeat a sweep, which computes slopes f0, f1, ... of values y0, y1, ..., until they agree.

    They leave the mean slopes d0, d1, ..., a `status`, the number `k` of the last iteration, and the evaluations
    `spent`. The first measurement does not show the change by an iteration, unless the first guess is that nothing
    changes in the step (`from_nothing`).
    """
    parts, numbers = range(len(STATE) + carried), range(len(STATE), len(STATE) + carried)
    first = "moved if k == 0 else 0.0" if from_nothing else "0.0"
    sizes = "".join(f"larger(s.z[{a - len(STATE)}], h * e{a}), " for a in numbers)
    changes = "".join(f", scale{a} * ((e{a} - d{a}) * (e{a} - d{a}))" for a in numbers)
    return [
        f"{' = '.join(f'd{a}' for a in parts)} = 0.0",
        *(f"scale{a} = 0.0" for a in numbers),
        "sure, spent, before, status, k = memory[-2], memory[-1], 0.0, NO_CONVERGENCE, 0",
        "enough, scale = enough2(p.tuning[0], ITERATION_ERROR), 0.0",
        "for k in range(MOST_ITERATIONS):",
        *(f"    {line}" for line in sweep),
        f"    spent += {dialect.nodes}.0",
        "    if k < sure:",
        "        continue",
        *(f"    e{a} = mean({dialect.row(f'f{a}')})" for a in parts),
        "    dq, dm = (e0 - d0, e1 - d1, e2 - d2, e3 - d3), (e4 - d4, e5 - d5, e6 - d6)",
        "    if k == sure:",
        "        scale = inverse_size2(s.m, h, (e4, e5, e6))",
        *([f"        u = units(({sizes}))"] if carried else []),
        *(f"        scale{a} = inverse2(u[{a - len(STATE)}])" for a in numbers),
        f"    moved = h * h * max(norm2(dq), scale * dot(dm, dm){changes})",
        *(f"    d{a} = e{a}" for a in parts),
        *_settled("k", first),
    ]


def _settled(k: str, first: str = "0.0") -> list[str]:
    """Writes the end of an iteration: whether another is needed, by how far this one moved."""
    return [
        "    shrinks = moved <= 0.25 * before and moved * moved <= enough * before",
        "    if shrinks or (moved <= ROUND_OFF_CHANGE2 and 0.0 < before <= moved):",
        "        status = OK",
        "        break",
        "    if not moved < 1e300:",  # neither infinite nor NaN can be iterated away
        "        status = UNSOUND",
        "        break",
        f"    before = moved if {k} > sure else ({first})",
    ]


def larger(z: float, change: float) -> float:
    """The greater size of a carried number, at the start or the end of a step."""
    return max(abs(z), abs(z + change))


def inverse2(size: float) -> float:
    """The unit for squared changes of a carried number: one over the square of its size."""
    return 1.0 / (size * size) if size > 1e-150 else 0.0


def names_of(dialect: Dialect, *, compensated: bool) -> dict[str, Any]:
    """The names that the lines of `iterated` read."""
    return {
        "integrate": dialect.integrate, "mean": dialect.mean, "from_lanes": from_lanes, "fma": fma, "norm2": norm2,
        "dot": dot, "inverse_size2": inverse_size2, "inverse2": inverse2, "enough2": enough2,
        "ROUND_OFF_CHANGE2": ROUND_OFF_CHANGE**2,
        "ITERATION_ERROR": ITERATION_ERROR_COMPENSATED if compensated else ITERATION_ERROR, "LEEWAY": LEEWAY,
        "MOST_ITERATIONS": MOST_ITERATIONS, "OK": OK, "UNSOUND": UNSOUND, "NO_CONVERGENCE": NO_CONVERGENCE,
    }  # fmt: skip


def inverse_size2(m: Vec3, h: float, mean: Vec3) -> float:
    """The unit for squared changes of the momentum: one over its greater square, at the start or the end."""
    end = combine(m, h, mean)
    size = max(dot(m, m), dot(end, end))
    return 1.0 / size if size > 1e-300 else 0.0


def enough2(allowed: float, least: float) -> float:
    """The bound at which an iteration ends whose changes shrink by half or more each time.

    The next change would be smaller by the same factor. So the sum of all that would follow is at most
    twice moved^2 / before, which must be below what is allowed. In squares, moved2^2 <= (allowed / 2)^2 before2.
    """
    half = 0.5 * max(allowed, least)
    return half * half
