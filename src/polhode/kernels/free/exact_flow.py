"""The exact flow of the free rigid body over a short step, without elliptic functions, phases or regimes.

It is Jacobi's addition theorem with the phase eliminated: the momentum itself is (cn, sn, dn) of its phase, so a step
needs only p(h) = sn(sqrt(A) h) / sqrt(A), a power series symmetric in A and B. One formula then serves both sides of
the separatrix, the separatrix, symmetric bodies and spheres. The flow goes to the middle of the step and from there
writes the whole step as an increment, which has no cancellation.

The attitude follows from the momentum except for a turn psi about it, the integral of a smooth function. It is computed
by Lobatto's quadrature: its outermost nodes are the ends of the step, where everything is known, and the nodes at +-x
share their elliptic functions. The number of terms and of nodes is chosen once for a run.

With a1 = 1/I3 - 1/I2 (and cyclic), dm1/dt = a1 m2 m3. Any order of the axes will do.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import factorial, fsum, inf, sqrt
from typing import Any, NamedTuple

from polhode.kernels.algebra.dd import divide, quick_two_sum, two_sum
from polhode.kernels.algebra.vec import cross, dot, times
from polhode.kernels.codegen import function
from polhode.kernels.ops import fma, two_product
from polhode.kernels.types import Inertia, Scales, Vec3


class Resolution(NamedTuple):
    """How finely a step is computed, and how long it may be while its error is round-off.

    A flow that is made for one has it as its `__variant__`, by which the line on its compilation differs from others.
    """

    nodes: int
    terms: int
    longest_turn: float
    """Bound on |w| h."""
    longest_series: float
    """Bound on 2 max|Qi - Qj| (h/2)^2."""

    def __str__(self) -> str:
        return f"steps of up to {self.longest_turn:g} rad, {self.nodes} nodes, {self.terms} terms"


# The greatest 2 max|Qi - Qj| (h/2)^2 for each number of nodes and of terms: the frequency of the nutation limits both,
# for bodies of any shape. They were measured on the worst bodies, needles of any thinness: the error of psi is below
# 1.1e-16, that of the series below 2^-54.
NODES = {3: 8.4e-6, 5: 0.0108, 7: 0.166, 9: 0.69}
SERIES = {
    5: 0.0029,
    6: 0.0100,
    7: 0.0242,
    8: 0.0471,
    9: 0.0791,
    10: 0.1196,
    11: 0.1679,
    12: 0.2228,
    14: 0.347,
    16: 0.485,
    18: 0.624,
    20: 0.767,
}
TURNS = (0.15, 0.6, 1.2, 2.2, 3.2)
"""Steps that turn by up to one of these angles, in radians, share polynomials for sine and cosine of the half angle.
The greatest is well below a whole turn, where e would be 0 / 0."""


def resolution(turn: float, series: float) -> Resolution:
    """The coarsest resolution that is fine enough; the finest if none is (the step is then cut)."""
    nodes = next((n for n, longest in NODES.items() if series <= longest), max(NODES))
    terms = next((n for n, longest in SERIES.items() if series <= longest), max(SERIES))
    longest_turn = next((longest for longest in TURNS if turn <= longest), max(TURNS))
    return Resolution(nodes, terms, longest_turn, min(NODES[nodes], SERIES[terms]))


SHARED = ((5, 7), (7, 8), (7, 11), (9, 14), (9, 20))
"""The nodes and terms that runs of many bodies share, where each would else have a program of its own: they cost a step
up to 6 % of its time, and its longest turn 1 % (docs/decisions/0006)."""


def shared_resolution(fine: Resolution) -> Resolution:
    """The coarsest of the shared resolutions that is as fine as this one."""
    nodes, terms = next(
        (n, k) for n, k in SHARED if min(NODES[n], SERIES[k]) >= fine.longest_series or (n, k) == SHARED[-1]
    )
    return Resolution(nodes, terms, max(TURNS), min(NODES[nodes], SERIES[terms]))


@cache
def finest() -> Resolution:
    """The resolution for the longest steps."""
    return resolution(max(TURNS), max(NODES.values()))


@cache
def series_coefficients(terms: int) -> list[dict[tuple[int, int], Fraction]]:
    """p(h) = h sum_n c_n h^(2n) with c_n = sum b[i, j] S^i q^j, from p'' = -S p + 2 q p^3, p(0) = 0, p'(0) = 1."""
    c: list[dict[tuple[int, int], Fraction]] = [{(0, 0): Fraction(1)}]
    squares: list[dict[tuple[int, int], Fraction]] = []  # of the sum of c_n x^n

    def product(n: int, a: Any, b: Any) -> dict[tuple[int, int], Fraction]:
        """The coefficient at x^n of the product of two series."""
        out: dict[tuple[int, int], Fraction] = {}
        for k in range(n + 1):
            for (i, j), x in a[k].items():
                for (u, v), y in b[n - k].items():
                    out[i + u, j + v] = out.get((i + u, j + v), Fraction(0)) + x * y
        return out

    for n in range(terms - 1):
        new = {(i + 1, j): -x for (i, j), x in c[n].items()}
        if n > 0:  # the cube at x^(n - 1)
            squares.append(product(n - 1, c, c))
            for (i, j), x in product(n - 1, squares, c).items():
                new[i, j + 1] = new.get((i, j + 1), Fraction(0)) + 2 * x
        c.append({key: x / ((2 * n + 3) * (2 * n + 2)) for key, x in new.items() if x})
    return c


def _series_lines(terms: int) -> list[str]:
    """Writes the lines that compute c1, c2, ... from S and q (made dimensionless by the half step)."""
    lines = ["S2 = S * S"]
    lines += [f"S{2 * k} = S{2 * k - 2} * S2" for k in range(2, (terms - 1) // 2 + 1)]
    for n, polynomial in enumerate(series_coefficients(terms)[1:], start=1):
        text = ""
        for j in range(n // 2, -1, -1):  # Horner in q, homogeneous in S^2
            power = n // 2 - j
            term = repr(float(polynomial[n - 2 * j, j])) + ("" if power == 0 else f" * S{2 * power}" if power else "")
            text = term if not text else f"fma({text}, q, {term})"
        lines.append(f"c{n} = S * ({text})" if n % 2 else f"c{n} = {text}")
    return lines


def _p(terms: int, square: float) -> str:
    """Writes p / argument for the node with this square, as a tree: it is on the critical path of the step."""
    pairs = [
        f"fma(c{n + 1}, {square ** (n + 1)!r}, c{n} * {square**n!r})" if n + 1 < terms else f"c{n} * {square**n!r}"
        for n in range(2, terms, 2)
    ]
    return f"1.0 + fma(c1, {square!r}, {_tree(pairs, lambda level, a, b: f'({a} + {b})')})"


def _taylor(turn: float, odd: int) -> str:
    """Writes sin(psi) / psi or cos(psi) by Estrin's scheme in x = psi^2, to 2^-56 for turns up to this one."""
    largest = (0.6 * turn) ** 2  # psi is half a turn of hardly more than |w| h
    count = next(k for k in range(2, 20) if largest**k / factorial(2 * k + odd) < 2.0**-56)
    coefficients = [repr((-1) ** k / factorial(2 * k + odd)) for k in range(count)]
    return _tree(coefficients, lambda level, a, b: f"fma({b}, {('x', 'x2', 'x4', 'x8')[level]}, {a})")


def _tree(items: list[str], join: Callable[[int, str, str], str]) -> str:
    """Joins neighbours, then the results, until one is left."""
    level = 0
    while len(items) > 1:
        pairs = [join(level, a, b) for a, b in zip(items[::2], items[1::2], strict=False)]
        items, level = pairs + items[2 * len(pairs) :], level + 1
    return items[0]


def _momentum_lines(terms: int) -> list[str]:
    """Writes the lines that compute b, the momentum at the middle of the step, and delta, its increment over the step.

    Most of the time is spent waiting for the preceding result. So b is left multiplied by the denominator of the
    addition theorem, r, which cancels later; and delta is a product z k, whose factors are computed at the same time.
    """
    return [
        "i, j = body.inertia, body.inverse",
        "a = differences(i, j)",
        "f = times(a, j)",
        "g = 0.5 * h",
        "s = times(m, m)",
        "A, B, Q2 = constants(a, s)",
        "g2 = g * g",
        "S, q = (A + B) * g2, (A * g2) * (B * g2)",
        *_series_lines(terms),
        # to the middle of the step, times r
        f"P = g * ({_p(terms, 1.0)})",
        "X = P * P",
        "c, d, r = sqrt(fma(-A, X, 1.0)), sqrt(fma(-B, X, 1.0)), fma(-Q2, X, 1.0)",
        "b = (fma(m[0], c, P * (a[0] * m[1] * m[2]) * d), fma(m[1], c * d, P * (a[1] * m[0] * m[2])),"
        " fma(m[2], d, P * (a[2] * m[0] * m[1]) * c))",
        # from there over all of it: delta = z k
        "t, r2 = times(b, b), r * r",
        "R2 = a[2] * a[0] * t[1]",
        "D = fma(-R2, X, r2)",
        "z = 2.0 * P / D",
        "k = (a[0] * b[1] * b[2] * d, a[1] * b[2] * b[0], a[2] * b[0] * b[1] * c)",
        "delta = (z * k[0], z * k[1], z * k[2])",
    ]


@cache
def momentum_increment(terms: int, node: float) -> Callable[[Inertia, Vec3, float], tuple[Vec3, Vec3, Vec3]]:
    """Returns `move(body, m, h) -> even, odd, delta`: the momentum at two points of the step and its whole increment.

    The momentum is even - odd and even + odd at the middle of the step minus and plus node times half the step.
    """
    lines = [
        *_momentum_lines(terms),
        f"P = {node!r} * g * ({_p(terms, node * node)})",
        "X = P * P",
        "c, d = sqrt(fma(-A, X, 1.0)), sqrt(fma(-B, X, 1.0))",
        "z = 1.0 / fma(-R2, X, r2)",
        "r, z = z * r, z * P",
        "even = (r * b[0] * c, r * b[1] * c * d, r * b[2] * d)",
        "odd = (z * a[0] * b[1] * b[2] * d, z * a[1] * b[2] * b[0], z * a[2] * b[0] * b[1] * c)",
        "return even, odd, delta",
    ]
    if node == 0.0:
        lines = [
            *_momentum_lines(terms),
            "z = 1.0 / r",
            "return (z * b[0], z * b[1], z * b[2]), (0.0, 0.0, 0.0), delta",
        ]
    names = {"sqrt": sqrt, "fma": fma, "times": times, "differences": differences, "constants": constants_of_motion}
    move: Callable[[Inertia, Vec3, float], tuple[Vec3, Vec3, Vec3]] = function("move(body, m, h)", lines, names)
    return move


Increment = Callable[[Inertia, Vec3, float], tuple[Vec3, float, Vec3, float, float]]


LOBATTO = {
    3: {1.0: 1 / 3},
    5: {0.6546536707079772: 49 / 90, 1.0: 1 / 10},
    7: {0.46884879347071423: 0.4317453812098626, 0.830223896278567: 0.27682604736156596, 1.0: 1 / 21},
    9: {
        0.36311746382617816: 0.34642851097304633,
        0.6771862795107377: 0.2745387125001617,
        0.8997579954114602: 0.16549536156080552,
        1.0: 1 / 36,
    },
}
"""Lobatto's rules on [-1, 1]: the positive nodes and their weights. The weight in the middle makes the sum 2."""


@cache
def increment(nodes: int, terms: int, turn: float) -> Increment:
    """Returns `move(body, m, h) -> delta, e, v, k, mu`: the momentum becomes m + delta, the attitude q (1 - e, v).

    Two more numbers are for `polish`: v / (1 - e) = (delta x m) / (2 G^2 - delta^2 / 2) + k (2 m + delta), and
    delta_i = mu a_i y_j y_k with y = m + delta / 2.
    """
    *inner, (_, end) = LOBATTO[nodes].items()
    middle = 2.0 - 2.0 * fsum(LOBATTO[nodes].values())
    # In the middle and at the ends the momenta are known. The two nodes of any other pair share all that is computed.
    fractions = [(f"{0.5 * end!r} * n0", "v0"), (f"{0.5 * end!r} * n1", "v1"), (f"{0.5 * middle!r} * T2", "G2")]
    pairs = []
    for i, (x, weight) in enumerate(inner):
        pairs += [
            f"p = {x!r} * g * ({_p(terms, x * x)})",
            "y = p * p",
            "cn, dn, D = sqrt(fma(-A, y, 1.0)), sqrt(fma(-B, y, 1.0)), fma(-R2, y, r2)",
            "e = cn * dn",
            "N = fma(T2, D, fma(u[2], dn, fma(u[1], e, u[0] * cn)))",
            "V = fma(G2, D, fma(t[2], dn, fma(t[1], e, t[0] * cn)))",
            "F, K = fma(f[2], cn, fma(f[0], dn, f[1])), fma(a[2], cn, fma(a[0], dn, a[1]))",
            "W, Z = r2 * V, Y2 * y * K",
            f"top{i}, low{i} = {weight!r} * fma(N, W, -(Z * F)), fma(V, W, -(Z * K))",
        ]
        fractions.append((f"top{i}", f"low{i}"))
    quotients = []
    for one, other in zip(fractions[::2], fractions[1::2], strict=False):  # two fractions, one division
        quotients.append(f"fma({one[0]}, {other[1]}, {other[0]} * {one[1]}) / ({one[1]} * {other[1]})")
    if len(fractions) % 2:
        quotients.append(f"{fractions[-1][0]} / {fractions[-1][1]}")
    lines = [
        *_momentum_lines(terms),
        "mu = 2.0 * P * D / (r2 * c * d)",
        # the turn about the momentum: half of psi, over G
        "G2, T2, Y = dot(m, m), dot(s, j), b[0] * b[1] * b[2]",
        "u, l, Y2 = times(t, j), times(b, j), Y * Y",
        "mb, db = dot(m, b), z * dot(k, b)",
        "v0, n0 = fma(G2, r, mb), fma(T2, r, dot(m, l))",
        "v1, n1 = v0 + db, fma(z, dot(k, l), n0)",
        *pairs,
        f"turn = g * ({' + '.join(quotients)})",
        "x = turn * turn * G2",
        "x2 = x * x",
        "x4 = x2 * x2",
        "x8 = x4 * x4",
        f"sine, cosine = turn * ({_taylor(turn, 1)}), {_taylor(turn, 0)}",
        # The smallest rotation from m + delta to m, and the turn, as a unit quaternion (1 - e, v). The triangle of the
        # directions of m, b and m + delta has the solid angle 2 atan(area / (G den)), whose square sum is a product.
        "n, dd = cross(k, m), z * z * dot(k, k)",
        "square = fma(-0.5, dd, 2.0 * G2)",
        "area, den = -(z * dot(n, b)), fma(square, r, fma(2.0, mb, db))",
        "scale = 0.5 / (square * sqrt(v0 * v1))",
        "along, across = scale * fma(G2 * sine, den, area * cosine), scale * fma(cosine, den, -(sine * area))",
        "w, o = across * square, across * z",
        "v = (fma(along, fma(2.0, m[0], delta[0]), o * n[0]), fma(along, fma(2.0, m[1], delta[1]), o * n[1]),"
        " fma(along, fma(2.0, m[2], delta[2]), o * n[2]))",
        # n is normal to 2 m + delta, whose square is twice `square`
        "e = square * fma(2.0 * along, along, 0.5 * dd * across * across) / (1.0 + w)",
        "return delta, e, v, along / w, mu",
    ]
    names = {"sqrt": sqrt, "fma": fma, "times": times, "dot": dot, "cross": cross, "differences": differences}
    names["constants"] = constants_of_motion
    move: Increment = function("move(body, m, h)", lines, names)
    return move


# --- round-off below one unit ----------------------------------------------------------------------------------------


def polish(a: Vec3, a_low: Vec3, mu: float, m: Vec3, low: Vec3, delta: Vec3, passes: int) -> tuple[Vec3, Vec3]:
    """The increment in two-doubles, from the increment in doubles.

    delta_i = mu a_i y_j y_k with y = m + delta / 2 holds for the exact step, and whatever mu is, such a delta keeps
    both quadratic invariants. So mu may be a double, and delta is iterated; each pass reduces the error by a factor of
    about |w| h / 2. But a must be a two-double: energy and norm are kept because the a_i / I_i and the a_i add up to
    zero.
    """
    rest = (0.0, 0.0, 0.0)
    for _ in range(passes):
        y1, e1 = two_sum(m[0], 0.5 * delta[0])
        y2, e2 = two_sum(m[1], 0.5 * delta[1])
        y3, e3 = two_sum(m[2], 0.5 * delta[2])
        e1, e2, e3 = e1 + low[0] + 0.5 * rest[0], e2 + low[1] + 0.5 * rest[1], e3 + low[2] + 0.5 * rest[2]
        d1, f1 = _product_of_four(a[0], a_low[0], mu, y2, y3, e2, e3)
        d2, f2 = _product_of_four(a[1], a_low[1], mu, y3, y1, e3, e1)
        d3, f3 = _product_of_four(a[2], a_low[2], mu, y1, y2, e1, e2)
        delta, rest = (d1, d2, d3), (f1, f2, f3)
    return delta, rest


def _product_of_four(a: float, da: float, mu: float, x: float, y: float, dx: float, dy: float) -> tuple[float, float]:
    """(a + da) mu (x + dx) (y + dy) as a two-double."""
    g, g_low = two_product(a, mu)
    g_low = fma(da, mu, g_low)
    u, u_low = two_product(x, y)
    u_low = u_low + (x * dy + dx * y)
    p, p_low = two_product(g, u)
    return p, p_low + (g * u_low + g_low * u)


def added(x: float, low: float, d: float, d_low: float) -> tuple[float, float]:
    """(x + low) + (d + d_low) as a two-double."""
    s, e = two_sum(x, d)
    return quick_two_sum(s, e + (low + d_low))


def _minor(x: float, y: float, z: float, w: float, dx: float, dy: float, dz: float, dw: float) -> tuple[float, float]:
    """(x + dx) (y + dy) - (z + dz) (w + dw) as a two-double."""
    p, e = two_product(x, y)
    r, f = two_product(z, w)
    s, g = two_sum(p, -r)
    return s, g + (e - f) + (x * dy + dx * y - z * dw - dz * w)


def polished_turn(
    k: float, m: Vec3, low: Vec3, delta: Vec3, rest: Vec3
) -> tuple[tuple[float, float], tuple[float, float], tuple[float, float]]:
    """Returns v of the unscaled increment q (1, v) in two-doubles. An error of k does not move the spatial momentum."""
    n1 = _minor(delta[1], m[2], delta[2], m[1], rest[1], low[2], rest[2], low[1])
    n2 = _minor(delta[2], m[0], delta[0], m[2], rest[2], low[0], rest[0], low[2])
    n3 = _minor(delta[0], m[1], delta[1], m[0], rest[0], low[1], rest[1], low[0])
    r = 1.0 / fma(-0.5, dot(delta, delta), 2.0 * dot(m, m))
    return (
        _mixture(r, n1, k, m[0], low[0], delta[0], rest[0]),
        _mixture(r, n2, k, m[1], low[1], delta[1], rest[1]),
        _mixture(r, n3, k, m[2], low[2], delta[2], rest[2]),
    )


def _mixture(
    r: float, n: tuple[float, float], k: float, m: float, low: float, delta: float, rest: float
) -> tuple[float, float]:
    """r n + k (2 m + delta) as a two-double."""
    p, e = two_product(r, n[0])
    s, f = two_sum(2.0 * m, delta)
    u, g = two_product(k, s)
    v, h = two_sum(p, u)
    return v, h + (e + r * n[1]) + (g + k * (f + 2.0 * low + rest))


# --- how long a step may be ------------------------------------------------------------------------------------------


def constants_of_motion(a: Vec3, s: Vec3) -> tuple[float, float, float]:
    """A = Q2 - Q3 and B = Q2 - Q1 with Q1 = a2 a3 m1^2 (and cyclic), and Q2; s holds the squares of m."""
    Q2 = a[2] * a[0] * s[1]
    return fma(-(a[0] * a[1]), s[2], Q2), fma(-(a[1] * a[2]), s[0], Q2), Q2


def greatest_rate2(j: Vec3, m: Vec3, s: Vec3) -> float:
    """The square of the greatest rate of the motion, reached where the momentum has no intermediate component."""
    high, low = max(j[0], j[1], j[2]), min(j[0], j[1], j[2])
    return fma(high + low, dot(s, j), -(high * low) * dot(m, m))


def differences(i: Vec3, j: Vec3) -> Vec3:
    """1/I3 - 1/I2 and cyclic, without cancellation."""
    return ((i[1] - i[2]) * j[1] * j[2], (i[2] - i[0]) * j[2] * j[0], (i[0] - i[1]) * j[0] * j[1])


def fine_differences(i: Vec3) -> tuple[Vec3, Vec3]:
    """The differences in two-doubles: high halves, and low halves."""
    a = _fine_difference(i[1], i[2])
    b = _fine_difference(i[2], i[0])
    c = _fine_difference(i[0], i[1])
    return (a[0], b[0], c[0]), (a[1], b[1], c[1])


def _fine_difference(x: float, y: float) -> tuple[float, float]:
    """1/y - 1/x."""
    return divide(two_sum(x, -y), two_product(x, y))


def effort(body: Inertia, m: Vec3) -> tuple[float, float]:
    """Two measures of a motion: with h^2 they are (|w| h)^2, at its greatest, and 2 max|Qi - Qj| (h/2)^2."""
    s = times(m, m)
    A, B, _ = constants_of_motion(differences(body.inertia, body.inverse), s)
    extent = 2.0 * max(abs(A), abs(B), abs(A - B))  # constant along the motion
    return greatest_rate2(body.inverse, m, s), 0.25 * extent


MODERATE_TURN_RAD = 0.15
"""If the torque may make the body faster, steps are prepared for at least this turn, however slow the start is."""


def needed(scales: Scales, headroom: float) -> tuple[Resolution, int]:
    """The resolution for runs of these scales, and the number of pieces of a step."""
    i1, i2, i3 = scales.inertia
    body = Inertia(scales.inertia, (1.0 / i1, 1.0 / i2, 1.0 / i3))
    rate2, series = map(max, effort(body, scales.momentum), scales.effort)
    gain = 4.0 * scales.torque / min(scales.inertia)  # growth of |w|^2 if the torque does work over two radians
    rate2, series = rate2 + gain, series + 0.5 * gain
    if scales.conserves and rate2 > 0.0:  # elsewhere the torque may be stronger, but hardly a hundred times
        headroom = min(headroom, 1.0 + 100.0 * gain / rate2)
    h = headroom * abs(scales.step)
    if scales.may_quicken:  # whatever the start is, the body may become as fast as a step of this length can follow
        moderate = (MODERATE_TURN_RAD / h) ** 2
        rate2, series = max(rate2, moderate), max(series, 0.25 * moderate)
    fine = resolution(sqrt(max(rate2, 0.0)) * h, series * h * h)
    fine = shared_resolution(fine) if scales.shared else fine
    return fine, pieces(fine, body, scales.momentum, h)


def excess(fine: Resolution, body: Inertia, m: Vec3, h: float) -> float:
    """The square of the step over the longest one that the resolution allows; 0 if nothing moves."""
    rate2, series = effort(body, m)
    return h * h * max(rate2 * (1.0 / fine.longest_turn**2), series * (1.0 / fine.longest_series))


NOTHING_MOVES = 1e-80
"""An `excess` below this is a turn by less than 1e-40 radians, as that of a body that a controller has brought to rest:
powers of its momentum may be too small for floats."""


def cuts(excess: float) -> int:
    """Returns into how many pieces a step with this `excess` must be cut: nearly always one; none if nothing moves."""
    if 1.0 < excess < inf:  # false for NaN, which the caller of the step will see
        return int(min(sqrt(excess), 1e9)) + 1
    return 0 if excess <= NOTHING_MOVES else 1


def pieces(fine: Resolution, body: Inertia, m: Vec3, h: float) -> int:
    """Returns into how many pieces a step must be cut to stay within the resolution."""
    return cuts(excess(fine, body, m, h))
