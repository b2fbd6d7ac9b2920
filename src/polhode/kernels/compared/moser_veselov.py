"""The discrete Moser-Veselov map: one step, and the corrections that raise its order above two.

A step turns the body by E, R becomes R E and m becomes E^T m, where E D - D E^T = h hat(m) and D_j + D_k = I_i. With
the quaternion of E proportional to (1, c) and rho = 1 + c.c that reads, for i, j, k cyclic,

    I_i c_i - (I_j - I_k) c_j c_k = (h/2) rho m_i,        m_i += (4 / (h rho)) (I_j - I_k) c_j c_k.

The momentum moves on its exact orbit, but at another pace. Another step corrects the pace (mclachlan2005); other
moments correct pace and attitude together (hairer2006). Both corrections depend on the motion only through its energy H
and C = m.m / 2, by the series of `dmv_series`.
"""

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any, NamedTuple

from polhode.kernels.algebra.quat import derivative, normalised
from polhode.kernels.algebra.vec import combine, cross, dot, times
from polhode.kernels.codegen import function
from polhode.kernels.compared.moser_veselov_series import SIGMA, D, S, Table
from polhode.kernels.ops import fma
from polhode.kernels.status import NO_CONVERGENCE, OK
from polhode.kernels.steps.compose import ComposedStep, Increments
from polhode.kernels.steps.flows import push
from polhode.kernels.types import BoundStep, Depends, Inertia, Memory, Params, Pull, Quat, Scales, State, Vec3

MOST_ITERATIONS = 50
NEWTON_TOLERANCE = 1e-9
"""The iteration ends after a correction this small relative to the solution. The error left is its square over the
distance to the nearest other solution; rounding the equation does more, eps over the same distance."""
MOST_FIXED_POINTS = 500
ROUND_OFF_CHANGE = 1e-9
"""Changes of a fixed point that grow are round-off if they are as small as this relative to it."""


def solved(i: Vec3, m: Vec3, h: float) -> tuple[Vec3, Vec3, int]:
    """The vector c of a step of length h with the moments i, then (I_j - I_k) c_j c_k, and a status.

    There are several solutions; this is the one that grows from c = 0 with h. It ends where the tangent becomes
    singular, at h |w| = 1 for a sphere and not far from there for any body.
    """
    d = (i[1] - i[2], i[2] - i[0], i[0] - i[1])
    g = (0.5 * h * m[0], 0.5 * h * m[1], 0.5 * h * m[2])
    g2 = (-2.0 * g[0], -2.0 * g[1], -2.0 * g[2])
    inverse = (1.0 / i[0], 1.0 / i[1], 1.0 / i[2])
    c, status = times(g, inverse), NO_CONVERGENCE
    c = times(combine(_products(d, c), 1.0 + dot(c, c), g), inverse)  # a first correction, in place of Newton's
    for _ in range(MOST_ITERATIONS):
        b = _products(d, c)
        f = combine((fma(i[0], c[0], -b[0]), fma(i[1], c[1], -b[1]), fma(i[2], c[2], -b[2])), -1.0 - dot(c, c), g)
        tangent = (
            (fma(g2[0], c[0], i[0]), fma(g2[0], c[1], -d[0] * c[2]), fma(g2[0], c[2], -d[0] * c[1])),
            (fma(g2[1], c[0], -d[1] * c[2]), fma(g2[1], c[1], i[1]), fma(g2[1], c[2], -d[1] * c[0])),
            (fma(g2[2], c[0], -d[2] * c[1]), fma(g2[2], c[1], -d[2] * c[0]), fma(g2[2], c[2], i[2])),
        )
        x, y, z = cross(tangent[1], tangent[2]), cross(tangent[2], tangent[0]), cross(tangent[0], tangent[1])
        determinant = dot(tangent[0], x)
        if not determinant > 0.0:  # it is positive at c = 0; where it vanishes the solution ends
            break
        k = -1.0 / determinant
        change = (
            k * fma(f[2], z[0], fma(f[1], y[0], f[0] * x[0])),
            k * fma(f[2], z[1], fma(f[1], y[1], f[0] * x[1])),
            k * fma(f[2], z[2], fma(f[1], y[2], f[0] * x[2])),
        )
        c = combine(c, 1.0, change)
        if _largest(change) <= NEWTON_TOLERANCE * _largest(c):
            status = OK
            break
    return c, _products(d, c), status


def fixed_point(i: Vec3, m: Vec3, h: float, as_printed: bool = False) -> tuple[Vec3, float, int]:
    """The vector c of `solved` by iteration of I c = (h/2) rho m + b, the number of iterations, and a status.

    It ends as vilmart2008 says: where a change is zero, or longer than the one before. One that is as long ends it too,
    but for `as_printed`: where iterates alternate for ever, the printed rule is never met.
    """
    d, g = (i[1] - i[2], i[2] - i[0], i[0] - i[1]), (0.5 * h * m[0], 0.5 * h * m[1], 0.5 * h * m[2])
    inverse = (1.0 / i[0], 1.0 / i[1], 1.0 / i[2])
    c, before, count, status = times(g, inverse), 1e300, 0.0, NO_CONVERGENCE
    for _ in range(MOST_FIXED_POINTS):
        new = times(combine(_products(d, c), 1.0 + dot(c, c), g), inverse)
        change, count = _largest(combine(new, -1.0, c)), count + 1.0
        if not change < 1e100:  # neither infinite nor NaN can be iterated away
            break
        c = new
        grows = change > before or (change == before and not as_printed)
        if change == 0.0 or (grows and change <= ROUND_OFF_CHANGE * _largest(c)):
            status = OK
            break
        before = change
    return c, count, status


def iterated(i: Vec3, m: Vec3, h: float) -> tuple[Vec3, Vec3, int]:
    """What `solved` returns, by `fixed_point`."""
    c, _, status = fixed_point(i, m, h)
    return c, _products((i[1] - i[2], i[2] - i[0], i[0] - i[1]), c), status


def _largest(v: Vec3) -> float:
    """max |v_i|."""
    return max(abs(v[0]), abs(v[1]), abs(v[2]))


def _products(d: Vec3, c: Vec3) -> Vec3:
    """(I_j - I_k) c_j c_k."""
    return (d[0] * (c[1] * c[2]), d[1] * (c[2] * c[0]), d[2] * (c[0] * c[1]))


def turning(q: Quat, c: Vec3) -> Quat:
    """The increment of q for the turn (1, c) / sqrt(rho)."""
    n = dot(c, c)
    root = sqrt(1.0 + n)
    r, e = 2.0 / root, -n / (1.0 + n + root)  # e = 1 / root - 1
    a = derivative(q, (r * c[0], r * c[1], r * c[2]))
    return (fma(e, q[0], a[0]), fma(e, q[1], a[1]), fma(e, q[2], a[2]), fma(e, q[3], a[3]))


def stretching(q: Quat, c: Vec3) -> Quat:
    """The increment of q for the product with (1, c): the same turn, without the rounding of a division."""
    return derivative(q, (2.0 * c[0], 2.0 * c[1], 2.0 * c[2]))


# --- the series: `adapt(body, H, C, h)` gives moments and step of the map that stands for a step h, and a status

LARGEST_CORRECTION = 0.5
"""A step or moment corrected by more than this factor fails: wherever the equation has a solution the correction is
smaller; a steady turn by a right angle needs 1 - 2 / pi."""

Adapt = Callable[[Inertia, float, float, float], tuple[Vec3, float, int]]


def invariants(body: Inertia, m: Vec3) -> tuple[float, float]:
    """H and C."""
    return 0.5 * dot(m, times(m, body.inverse)), 0.5 * dot(m, m)


def unchanged(body: Inertia, H: float, C: float, h: float) -> tuple[Vec3, float, int]:
    """The moments and the step themselves: the map as it is."""
    return body.inertia, h, OK


def other_step(order: int) -> Adapt:
    """The correction of the step that makes the momentum of order 4 or 6: the inverse of h (1 + SIGMA)."""
    first, second, six = _sum(SIGMA[:1]), _sum(SIGMA[1:]), order == 6

    def adapt(body: Inertia, H: float, C: float, h: float) -> tuple[Vec3, float, int]:
        x = _scaled(body, H, C, h)
        s = first(x)
        change = fma(3.0 * s, s, -second(x)) - s if six else -s
        return body.inertia, fma(h, change, h), OK if abs(change) < LARGEST_CORRECTION else NO_CONVERGENCE

    return adapt


def other_moments(order: int) -> Adapt:
    """The correction of the moments that makes the method of order 4 to 10: 1 / ((1 + S) / I + D)."""
    terms = order // 2 - 1
    stretch, shift = _sum(S[:terms]), _sum(D[:terms])

    def adapt(body: Inertia, H: float, C: float, h: float) -> tuple[Vec3, float, int]:
        i, x = body.inertia, _scaled(body, H, C, h)
        s, d = stretch(x), x[5] * shift(x)
        y = (fma(d, i[0], s), fma(d, i[1], s), fma(d, i[2], s))  # inverse moments grow by the factor 1 + y
        moments = (_over(i[0], y[0]), _over(i[1], y[1]), _over(i[2], y[2]))
        return moments, h, OK if _largest(y) < LARGEST_CORRECTION else NO_CONVERGENCE

    return adapt


def _over(i: float, y: float) -> float:
    """i / (1 + y), rounded once for small y. An impossible y is replaced, so that it cannot divide by zero."""
    y = max(y, -LARGEST_CORRECTION)
    return fma(-i, y / (1.0 + y), i)


Scaled = tuple[float, float, float, float, float, float]


def _scaled(body: Inertia, H: float, C: float, h: float) -> Scaled:
    """Returns e1, e2, e3, H, C in units of the largest inverse moment and of the step, and that inverse moment."""
    largest = max(body.inverse[0], body.inverse[1], body.inverse[2])
    a, b, c = body.inverse[0] / largest, body.inverse[1] / largest, body.inverse[2] / largest
    hw = h * largest
    return a + b + c, fma(a, b, fma(b, c, c * a)), a * b * c, h * hw * H, hw * hw * C, largest


def _sum(table: Table) -> Callable[[Scaled], float]:
    """The function that sums all terms of a table."""
    lines = ["e1, e2, e3, H, C, _ = x", "C1 = C"]
    lines += [f"C{k} = C{k - 1} * C" for k in range(2, max(map(len, table)))]
    total = ""
    for rows in reversed(table):  # the smallest first
        n = len(rows) - 1
        text = f"({rows[n]})"
        for j in range(n - 1, -1, -1):  # Horner in H, homogeneous
            text = f"fma({text}, H, ({rows[j]}) * C{n - j})"
        total = f"({total}) + {text}" if total else text
    made: Callable[[Scaled], float] = function("total(x)", [*lines, f"return {total}"], {"fma": fma})
    return made


# --- the scheme


class MoserVeselov(NamedTuple):
    """The scheme: steps of the map, between half kicks if there is a torque.

    A free body keeps H and C, so they are computed once, which saves a third of the time. Computing them at every step
    would leave the same round-off (docs/understand/round_off.md).
    """

    adapt: Adapt
    compensated: bool = False
    solve: Callable[[Vec3, Vec3, float], tuple[Vec3, Vec3, int]] = solved

    @property
    def ignores_scales(self) -> bool:
        """Whether it is bound alike whatever the sizes of a run."""
        return True

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> BoundStep:
        """Binds the step to its torque."""
        if depends is Depends.NOTHING:
            scheme = Increments(self._free, memory=2, evaluations_per_step=0, compensated=self.compensated)
        else:
            scheme = Increments(self._kicked, 3, 1, 1, compensated=self.compensated)
        return scheme.bind(pull, depends, scales)

    def composed(self, fractions: Sequence[float]) -> ComposedStep:
        """Returns steps of these fractions, one after the other, as one step."""
        return ComposedStep(self, tuple(fractions))

    def _drift(self) -> Callable[[Inertia, State, float, float, float], tuple[State, int]]:
        """The function that computes the increment of a free body from its H and C."""
        adapt, solve, attitude = self.adapt, self.solve, stretching if self.compensated else turning

        def drift(body: Inertia, s: State, h: float, H: float, C: float) -> tuple[State, int]:
            moments, length, status = adapt(body, H, C, h)
            if status != OK:
                return State((0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0)), status
            c, b, status = solve(moments, s.m, length)
            k = 4.0 / (length * (1.0 + dot(c, c)))
            return State(attitude(s.q, c), (k * b[0], k * b[1], k * b[2])), status

        return drift

    def _free(self, pull: Pull) -> tuple[Any, Any]:
        drift = self._drift()

        def start(body: Inertia, p: Params, t: float, s: State) -> Memory:
            return invariants(body, s.m)

        def change(body: Inertia, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[State, Any, int]:
            d, status = drift(body, s, h, memory[0], memory[1])
            return d, memory, status

        return start, change

    def _kicked(self, pull: Pull) -> tuple[Any, Any]:
        """Returns start and change with half kicks as increments, so that compensated summation includes them.

        The memory is the torque at the end of the last step.
        """
        drift = self._drift()

        def change(body: Inertia, p: Params, t: float, s: State, h: float, n: Vec3) -> tuple[State, Vec3, int]:
            first = push(s, 0.5 * h, n)
            H, C = invariants(body, first.m)
            d, status = drift(body, first, h, H, C)
            q, a = s.q, d.q
            q = normalised((q[0] + a[0], q[1] + a[1], q[2] + a[2], q[3] + a[3]))
            new = pull(body, p, t + h, State(q, combine(first.m, 1.0, d.m)))
            return State(a, combine(combine(d.m, 0.5 * h, n), 0.5 * h, new)), new, status

        return pull, change
