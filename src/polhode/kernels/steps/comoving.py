"""Gauss collocation of what a torque adds to the free motion of a symmetric body.

Let two moments be equal, with the inverse c, and the third have the inverse j. Free, such a body turns about its
momentum at the rate c |m| and about its axis at the rate (j - c) m3, both constant: q(t) = q(0) B(t) Z(t), with B
about the momentum m(0) and Z about the axis. Under a torque n let q = p B Z, and let e be the difference between the
momentum, seen from a frame that does not turn with Z, and m(0). Then

    p' = p B (c e1, c e2, j e3) B^-1 / 2,    e' = (m(0) + e) x (0, 0, (j - c) e3) + Z n,

in which everything is proportional to the torque. So is the error of the collocation, and so is, per length of the
step, the factor by which an iteration reduces the error; the best first guess is that nothing changes, and it needs no
memory. If a torque does not depend on the turn of the body about its axis, then Z n changes slowly: steps are as long
as the turn about the momentum allows, however fast the body spins.
"""

from collections.abc import Callable
from functools import cache
from math import sqrt
from typing import Any

from polhode.kernels.algebra.dd import DD, two_sum
from polhode.kernels.algebra.quat import multiply, norm2
from polhode.kernels.algebra.trig import sine_cosine, sine_versine
from polhode.kernels.algebra.vec import dot, placed
from polhode.kernels.codegen import function
from polhode.kernels.free.exact_flow import added
from polhode.kernels.ops import fma, two_product
from polhode.kernels.steps.compose import Increments, InLanes
from polhode.kernels.steps.flows import rotated_steadily
from polhode.kernels.steps.gauss_collocation import (
    NORM_TOLERANCE,
    SLOPES,
    Collocation,
    Dialect,
    collocation,
    iterated,
    names_of,
    one_by_one,
    together,
    torque_of,
)
from polhode.kernels.types import Inertia, Params, Pull, Quat, Start, State, Vec3


@cache
def comoving(count: int, axis: int, *, compensated: bool = False) -> Increments:
    """The scheme with `count` nodes, for bodies that are symmetric about this principal axis, from 1 to 3.

    The memory holds the number of iterations whose changes need not be measured, and the evaluations.
    """
    c = collocation(count)

    def made(dialect: Dialect) -> Callable[[Pull], tuple[Start, Any]]:
        return collocated(c, dialect, axis, compensated=compensated)

    wide = (InLanes(made(together(c, compensated=compensated, torque_too=too)), 0, count, 2) for too in (True, False))
    return Increments(
        made(one_by_one(c, compensated=compensated)), 2, 0, None, compensated, in_lanes=tuple(wide), keeps_norm=True,
        in_halves=compensated,
    )  # fmt: skip


PRODUCT = (
    "fma(-y3, b3, fma(-y2, b2, fma(-y1, b1, y0 * b0)))",
    "fma(-y3, b2, fma(y2, b3, fma(y1, b0, y0 * b1)))",
    "fma(y3, b1, fma(y2, b0, fma(-y1, b3, y0 * b2)))",
    "fma(y3, b0, fma(-y2, b1, fma(y1, b2, y0 * b3)))",
)
"""The quaternion p B Z."""


def collocated(
    c: Collocation, dialect: Dialect, axis: int, *, compensated: bool
) -> Callable[[Pull], tuple[Start, Any]]:
    """Returns `make(pull)` of the scheme, with rows in this dialect: p is y0 to y3, and e is y4 to y6."""
    each, row = dialect.each, dialect.row
    k, u, v = axis - 1, axis % 3, (axis + 1) % 3  # the axis, and the equatorial ones
    lines = [
        "size, w = size_and_direction(s.m)",
        f"c, j = body.inverse[{u}], body.inverse[{k}]",
        "half_c, half_j, spin = 0.5 * c, 0.5 * j, j - c",
        f"about, along = h * half_c * size, 0.5 * h * spin * s.m[{k}]",
        f"w0, w1, w2 = w[{u}], w[{v}], w[{k}]",
        f"{row('x0')} = {dialect.numbers(c.nodes)}",
        # sine and cosine of half the turn about the momentum, and of half the turn about the axis
        *(each(f"x{n}", f"sine_of({x} * x0)") for n, x in ((1, "about"), (3, "along"))),
        *(each(f"x{n}", f"cosine_of({x} * x0)") for n, x in ((2, "about"), (4, "along"))),
        each("b0", "fma(x2, x4, -(w2 * x1) * x3)"),
        each(f"b{k + 1}", "fma(x2, x3, (w2 * x1) * x4)"),
        each(f"b{u + 1}", "x1 * fma(w0, x4, w1 * x3)"),
        each(f"b{v + 1}", "x1 * fma(w1, x4, -w0 * x3)"),
        each("z0", "fma(-2.0 * x3, x3, 1.0)"),  # cosine and sine of the turn about the axis
        each("z1", "2.0 * x3 * x4"),
        # the turn about the momentum, as a matrix, times half of the inverse moments
        each("x5", "2.0 * x1 * x1"),
        each("x6", "2.0 * x1 * x2"),
        *(
            each(f"g{3 * a + b}", f"{'half_j' if b == 2 else 'half_c'} * {_turned(a, b)}")
            for a in range(3)
            for b in range(3)
        ),
    ]  # fmt: skip
    lines += [
        *(f"low{a} = ({dialect.same(f'low[{a}]') if compensated else 0.0})" for a in range(7)),
        *(each(f"y{a}", f"s.q[{a}] + 0.0 * x0") for a in range(4)),
        *(each(f"y{a}", "0.0 * x0") for a in range(4, 7)),
    ]
    e0, e1, e2 = f"y{4 + u}", f"y{4 + v}", f"y{4 + k}"
    sweep = [
        *(each(f"x{a}", PRODUCT[a]) for a in range(4)),
        # the momentum in the body; the compiler drops it if the torque does not read it
        each(f"x{4 + u}", f"fma(z1, s.m[{v}] + {e1}, z0 * (s.m[{u}] + {e0}))"),
        each(f"x{4 + v}", f"fma(-z1, s.m[{u}] + {e0}, z0 * (s.m[{v}] + {e1}))"),
        each(f"x{4 + k}", f"s.m[{k}] + {e2}"),
        torque_of(dialect, "x"),
        each("v0", f"spin * {e2}"),
        each(f"f{4 + u}", f"fma(z0, n{u}, fma(-z1, n{v}, (s.m[{v}] + {e1}) * v0))"),
        each(f"f{4 + v}", f"fma(z0, n{v}, fma(z1, n{u}, -(s.m[{u}] + {e0}) * v0))"),
        each(f"f{4 + k}", f"fma(0.0, z0, n{k})"),  # this makes a row of a torque that is one number for all nodes
        *(f"{row(f'y{a}')} = integrate(h, 0.0, low{a}, {row(f'f{a}')})" for a in range(4, 7)),
        *(
            each(f"v{(u, v, k)[a]}", f"fma(g{3 * a}, {e0}, fma(g{3 * a + 1}, {e1}, g{3 * a + 2} * {e2}))")
            for a in range(3)
        ),
        *(each(f"f{a}", SLOPES[a]) for a in range(4)),
        *(f"{row(f'y{a}')} = integrate(h, s.q[{a}], low{a}, {row(f'f{a}')})" for a in range(4)),
    ]  # fmt: skip
    lines += iterated(dialect, sweep, from_nothing=True)
    lines += ["keep = (max(0.0, k - LEEWAY), spent)"]
    lines += [f"d{a} = h * d{a}" for a in range(7)]
    arguments = "(d0, d1, d2, d3), (d4, d5, d6), about, along, w"
    if compensated:
        lines += [f"d, rest = change_of_state(s, low, {arguments})", "return d, rest, keep, status"]
    else:
        lines += [f"return change_of_state(s, {arguments}), keep, status"]
    names = names_of(dialect, compensated=compensated) | {
        "size_and_direction": size_and_direction, "sine_of": sine_of, "cosine_of": cosine_of,
        "change_of_state": _change_with_low_halves(axis) if compensated else _change_of_state(axis),
    }  # fmt: skip
    head = f"change(body, p, t, s, {'low, ' if compensated else ''}h, memory)"

    def start(body: Inertia, p: Params, t: float, s: State) -> tuple[float, float]:
        return 0.0, 0.0

    def make(pull: Pull) -> tuple[Start, Any]:
        return start, function(head, lines, names | {"torque": dialect.torque(pull, 0)})

    return make


@cache
def _change_of_state(axis: int) -> Callable[..., State]:
    """The function that adds the changes of p and e to a state and then makes the turns of the free motion."""
    k, u, v = axis - 1, axis % 3, (axis + 1) % 3

    def change(s: State, dp: Quat, dm: Vec3, about: float, along: float, w: Vec3) -> State:
        q, m = s.q, s.m
        sine, cosine = sine_cosine(about)
        p = (q[0] + dp[0], q[1] + dp[1], q[2] + dp[2], q[3] + dp[3])
        p = multiply(p, (cosine, sine * w[0], sine * w[1], sine * w[2]))
        sine, cosine = sine_cosine(along)
        a, b = rotated_steadily(m[u] + dm[u], m[v] + dm[v], sine, 1.0 - cosine)
        n, d = placed(k, sine, 0.0, 0.0), placed(k, dm[k], a - m[u], b - m[v])
        p = multiply(p, (cosine, n[0], n[1], n[2]))
        return State((p[0] - q[0], p[1] - q[1], p[2] - q[2], p[3] - q[3]), d)

    return change


@cache
def _change_with_low_halves(axis: int) -> Callable[..., tuple[State, tuple[float, ...]]]:
    """`change` for states with low halves: the increment, and what rounding left out of it.

    The momentum is turned in two-doubles: rounding would change its norm and with it the rate, and the error of the
    angles would grow with time.
    """
    k, u, v = axis - 1, axis % 3, (axis + 1) % 3

    def change(
        s: State, low: Any, dp: Quat, dm: Vec3, about: float, along: float, w: Vec3
    ) -> tuple[State, tuple[float, ...]]:  # fmt: skip
        q, m = s.q, s.m
        p = (q[0] + (low[0] + dp[0]), q[1] + (low[1] + dp[1]), q[2] + (low[2] + dp[2]), q[3] + (low[3] + dp[3]))
        sine, cosine = sine_cosine(about)
        p = multiply(p, (cosine, sine * w[0], sine * w[1], sine * w[2]))
        sine, cosine = sine_cosine(along)
        n = placed(k, sine, 0.0, 0.0)
        p = multiply(p, (cosine, n[0], n[1], n[2]))
        excess = norm2(p) - 1.0
        scale = fma(-0.5, excess, 1.0) if abs(excess) > NORM_TOLERANCE else 1.0
        a0, r0 = two_sum(scale * p[0], -q[0])
        a1, r1 = two_sum(scale * p[1], -q[1])
        a2, r2 = two_sum(scale * p[2], -q[2])
        a3, r3 = two_sum(scale * p[3], -q[3])
        x, y = added(m[u], low[4 + u], dm[u], 0.0), added(m[v], low[4 + v], dm[v], 0.0)
        sine, cosine = 2.0 * sine * cosine, fma(-2.0 * sine, sine, 1.0)
        short = -0.5 * _excess(cosine, sine)
        x, y = _sum_of_products(cosine, x, sine, y, short), _sum_of_products(cosine, y, -sine, x, short)
        b0, l0 = two_sum(x[0], -m[u])
        b1, l1 = two_sum(y[0], -m[v])
        d = placed(k, dm[k], b0, b1)
        e = placed(k, 0.0, l0 + x[1] - low[4 + u], l1 + y[1] - low[4 + v])
        return State((a0, a1, a2, a3), d), (
            r0 - low[0], r1 - low[1], r2 - low[2], r3 - low[3], e[0], e[1], e[2]
        )  # fmt: skip

    return change


def _excess(a: float, b: float) -> float:
    """a^2 + b^2 - 1 to full accuracy, where that is of the size of round-off."""
    x, x_low = two_product(a, a)
    y, y_low = two_product(b, b)
    s, e = two_sum(x, y)
    return (s - 1.0) + (e + x_low + y_low)


def _sum_of_products(a: float, x: DD, b: float, y: DD, more: float) -> DD:
    """(a x + b y) (1 + more), where more is small."""
    p, e = two_product(a, x[0])
    q, f = two_product(b, y[0])
    s, g = two_sum(p, q)
    return s, fma(more, s, g + (e + f) + fma(a, x[1], b * y[1]))


def _turned(a: int, b: int) -> str:
    """Writes an entry of the matrix of a turn about w, with sine x6 and versine x5: 1 + x6 [w]x + x5 (w wT - 1)."""
    if a == b:
        return f"fma(x5, fma(w{a}, w{a}, -1.0), 1.0)"
    other, sign = 3 - a - b, "" if (b - a) % 3 == 2 else "-"
    return f"fma(x5, w{a} * w{b}, {sign}x6 * w{other})"


def size_and_direction(m: Vec3) -> tuple[float, Vec3]:
    """The norm of a vector, and the vector over its norm; both are zero for the zero vector."""
    size2, scale = dot(m, m), 1.0
    if not 1e-250 < size2 < 1e250:  # the squares may have left the range of floats
        largest = max(abs(m[0]), abs(m[1]), abs(m[2]))
        if not 0.0 < largest < 1e300:
            return 0.0 * largest, (0.0, 0.0, 0.0)
        scale = 1.0 / largest
        size2 = dot((scale * m[0], scale * m[1], scale * m[2]), (scale * m[0], scale * m[1], scale * m[2]))
    size = sqrt(size2)
    inverse = scale / size
    return size / scale, (inverse * m[0], inverse * m[1], inverse * m[2])


def sine_of(x: float) -> float:
    """The sine of x less a multiple of pi."""
    return sine_versine(x)[0]


def cosine_of(x: float) -> float:
    """The cosine of x less the same multiple of pi as in `sine_of`."""
    return 1.0 - sine_versine(x)[1]
