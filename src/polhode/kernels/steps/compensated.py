"""Steps of the exact flow whose round-off does not accumulate: momentum and attitude in two-doubles.

The memory holds the low halves: three of the momentum, four of the quaternion. The quaternion is left unscaled but for
powers of two.
"""

from collections.abc import Callable, Sequence
from functools import cache
from math import sqrt
from typing import Any, NamedTuple

from polhode.kernels.algebra.dd import DD, add, divide, two_sum
from polhode.kernels.algebra.quat import rescaling
from polhode.kernels.algebra.trig import sine_versine
from polhode.kernels.algebra.vec import dot, placed
from polhode.kernels.codegen import function
from polhode.kernels.free.exact_flow import (
    Resolution,
    added,
    effort,
    fine_differences,
    finest,
    increment,
    needed,
    pieces,
    polish,
    polished_turn,
)
from polhode.kernels.ops import fma, two_product
from polhode.kernels.status import OK, UNSOUND
from polhode.kernels.steps.compose import Splitting, nothing_of, of_any_norm
from polhode.kernels.steps.flows import HEADROOM, TOO_MANY_PIECES, ahead, kick, prepared
from polhode.kernels.types import BoundStep, Depends, Inertia, Params, Pull, Quat, Scales, State, Vec3

Low = tuple[float, float, float, float, float, float, float]
LONGEST_TURN = 2.0
"""The greatest |w| h, in radians: a step (1, v) must not more than double the norm of the quaternion, because it is
rescaled by one power of two a step. So cos(turn / 2) > 1/2."""
PASSES = ((2e-4, 2), (0.0108, 4), (0.0471, 6), (0.125, 8), (0.2228, 12), (0.347, 14), (0.485, 24), (0.69, 32))
"""Pairs of the greatest 2 max|Qi - Qj| (h/2)^2, and the passes that suffice up to there: for any body they leave
relative errors of energy and norm below 3e-20."""


def _sum_of_three_products(a: float, x: DD, b: float, y: DD, c: float, z: DD, da: float, db: float, dc: float) -> DD:
    """(a + da) x + (b + db) y + (c + dc) z."""
    p, e = two_product(a, x[0])
    q, f = two_product(b, y[0])
    r, g = two_product(c, z[0])
    s = p + q
    t = s - p
    low = (p - (s - t)) + (q - t)
    u = s + r
    t = u - s
    low = low + ((s - (u - t)) + (r - t))
    return u, low + (e + f + g) + (a * x[1] + da * x[0] + b * y[1] + db * y[0] + c * z[1] + dc * z[0])


def _attitude(q: Quat, low: Quat, v: tuple[DD, DD, DD]) -> tuple[Quat, Quat]:
    """q (1, v) in two-doubles."""
    x, y, z = v
    minus = ((-x[0], -x[1]), (-y[0], -y[1]), (-z[0], -z[1]))
    d0 = _sum_of_three_products(q[1], minus[0], q[2], minus[1], q[3], minus[2], low[1], low[2], low[3])
    d1 = _sum_of_three_products(q[0], x, q[2], z, q[3], minus[1], low[0], low[2], low[3])
    d2 = _sum_of_three_products(q[0], y, q[1], minus[2], q[3], x, low[0], low[1], low[3])
    d3 = _sum_of_three_products(q[0], z, q[1], y, q[2], minus[0], low[0], low[1], low[2])
    a, b, c, d = (
        added(q[0], low[0], d0[0], d0[1]),
        added(q[1], low[1], d1[0], d1[1]),
        added(q[2], low[2], d2[0], d2[1]),
        added(q[3], low[3], d3[0], d3[1]),
    )
    k = rescaling((a[0], b[0], c[0], d[0]))
    return (k * a[0], k * b[0], k * c[0], k * d[0]), (k * a[1], k * b[1], k * c[1], k * d[1])


@prepared
class CompensatedFlow(NamedTuple):
    """The scheme, for free bodies of any shape, at rest or turning."""

    def composed(self, fractions: Sequence[float]) -> "CompensatedFlow":
        """The scheme itself: exact steps, one after the other, are an exact step."""
        return self

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> BoundStep:
        """The step for runs of these scales."""
        glide = gliding(scales, 1.0)

        def step(body: Inertia, p: Params, t: float, s: State, h: float, low: Low) -> tuple[State, Low, int]:
            return glide(body, s, h, low)

        return BoundStep(nothing_of(LOW), step, LOW, 0, 0)


LOW = 7
"""The number of low halves: three of the momentum, then four of the quaternion."""


Glide = Callable[[Inertia, State, float, Low], tuple[State, Low, int]]
"""The exact flow of the free body for a state with its low halves."""


def gliding(scales: Scales | None, headroom: float) -> Glide:
    """The exact flow with low halves, for runs of these scales."""
    if scales is not None and not scales.many:
        i1, i2, i3 = scales.inertia
        if i1 == i2 or i2 == i3 or i3 == i1:
            return _symmetric(3 if i1 == i2 else 1 if i2 == i3 else 2)
    return _triaxial(finest() if scales is None else needed(scales, headroom)[0])


LONGEST_HALF_ANGLE_RAD = 0.7
"""Longer steps of a symmetric body are cut, so that the tangents of its half angles stay below one."""


@cache
def _symmetric(axis: int) -> Glide:
    """The flow if two moments are equal: a turn about the momentum, then one about the axis of symmetry.

    The first leaves the momentum in place whatever its tangent is; the second uses one tangent for momentum and
    attitude. So the tangents may be doubles.
    """
    k, a, b = axis - 1, axis % 3, (axis + 1) % 3  # the axis, and the equatorial ones

    def glide(body: Inertia, s: State, h: float, low: Low) -> tuple[State, Low, int]:
        i, j, m = body.inertia, body.inverse, s.m
        largest = max(abs(m[0]), abs(m[1]), abs(m[2]))
        if largest == 0.0:
            return s, low, OK
        r = 1.0 / largest  # squares of very small momenta would vanish
        unit = (r * m[0], r * m[1], r * m[2])
        size = largest * sqrt(dot(unit, unit))
        precession, spin = 0.5 * h * j[a] * size, m[k] * (0.5 * h * (i[a] - i[k]) * j[a] * j[k])
        cuts = max(abs(precession), abs(spin)) * (1.0 / LONGEST_HALF_ANGLE_RAD)
        if not cuts < TOO_MANY_PIECES:
            return s, low, UNSOUND
        count = int(cuts) + 1
        about, tangent = _tangent(precession / count) / size, _tangent(spin / count)
        sine = _sine_of_double(tangent)
        q, ql, ml = s.q, (low[3], low[4], low[5], low[6]), (low[0], low[1], low[2])
        for _ in range(count):
            q, ql = _attitude(
                q, ql, (_product(about, m[0], ml[0]), _product(about, m[1], ml[1]), _product(about, m[2], ml[2]))
            )
            q, ql = _spun(k, q, ql, tangent)
            d, d_low = _across(sine, tangent, m[a], ml[a], m[b], ml[b])
            e, e_low = _across(sine, tangent, m[b], ml[b], -m[a], -ml[a])
            x, y = added(m[a], ml[a], d, d_low), added(m[b], ml[b], e, e_low)
            m, ml = placed(k, m[k], x[0], y[0]), placed(k, ml[k], x[1], y[1])
        return State(q, m), (ml[0], ml[1], ml[2], ql[0], ql[1], ql[2], ql[3]), OK

    glide.__variant__ = f"symmetry about axis {axis}"  # type: ignore[attr-defined]
    return glide


def _tangent(x: float) -> float:
    """tan x."""
    sine, versine = sine_versine(x)
    return sine / (1.0 - versine)


def _sine_of_double(t: float) -> DD:
    """2 t / (1 + t^2), the sine of the double angle."""
    return divide((2.0 * t, 0.0), add((1.0, 0.0), two_product(t, t)))


def _product(k: float, x: float, low: float) -> DD:
    """k (x + low)."""
    p, e = two_product(k, x)
    return p, fma(k, low, e)


def _across(sine: DD, t: float, x: float, dx: float, y: float, dy: float) -> DD:
    """The change of x when (x, y) turns clockwise by an angle, from its sine and the tangent t of its half."""
    p, e = two_product(t, x)
    u, f = two_sum(y, -p)
    rest = f - e + fma(-t, dx, dy)
    g, g_low = two_product(sine[0], u)
    return g, g_low + fma(sine[0], rest, sine[1] * u)


def _spun(k: int, q: Quat, low: Quat, t: float) -> tuple[Quat, Quat]:
    """q (1, t e) with the unit vector e of axis k."""
    u, v = (k + 1) % 3 + 1, (k + 2) % 3 + 1
    d = _product(-t, q[k + 1], low[k + 1])
    real = added(q[0], low[0], d[0], d[1])
    d = _product(t, q[0], low[0])
    along = added(q[k + 1], low[k + 1], d[0], d[1])
    d = _product(t, q[v], low[v])
    x = added(q[u], low[u], d[0], d[1])
    d = _product(-t, q[u], low[u])
    y = added(q[v], low[v], d[0], d[1])
    n, n_low = placed(k, along[0], x[0], y[0]), placed(k, along[1], x[1], y[1])
    c = rescaling((real[0], n[0], n[1], n[2]))
    return (c * real[0], c * n[0], c * n[1], c * n[2]), (c * real[1], c * n_low[0], c * n_low[1], c * n_low[2])


def _passes(extent: float) -> int:
    """The number of passes for this 2 max|Qi - Qj| (h/2)^2."""
    for longest, passes in PASSES:
        if extent <= longest:
            return passes
    return PASSES[-1][1]


@cache
def _triaxial(fine: Resolution) -> Glide:
    """The flow if the moments differ; it cuts a step that is too long for the resolution."""
    move = increment(fine.nodes, fine.terms, fine.longest_turn)
    fine = fine._replace(longest_turn=min(fine.longest_turn, LONGEST_TURN))

    def glide(body: Inertia, s: State, h: float, low: Low) -> tuple[State, Low, int]:
        q, m = s.q, s.m
        ql: Quat = (low[3], low[4], low[5], low[6])
        ml: Vec3 = (low[0], low[1], low[2])
        count = pieces(fine, body, m, h)
        if count > TOO_MANY_PIECES:
            return s, low, UNSOUND
        length = h / max(count, 1)
        a, a_low = fine_differences(body.inertia)
        passes = _passes(effort(body, m)[1] * length * length)
        for _ in range(count):
            delta, _e, _v, k, mu = move(body, m, length)
            delta, rest = polish(a, a_low, mu, m, ml, delta, passes)
            q, ql = _attitude(q, ql, polished_turn(k, m, ml, delta, rest))
            x = added(m[0], ml[0], delta[0], rest[0])
            y = added(m[1], ml[1], delta[1], rest[1])
            z = added(m[2], ml[2], delta[2], rest[2])
            m, ml = (x[0], y[0], z[0]), (x[1], y[1], z[1])
        return State(q, m), (ml[0], ml[1], ml[2], ql[0], ql[1], ql[2], ql[3]), OK

    glide.__variant__ = str(fine)  # type: ignore[attr-defined]
    return glide


def pushed(s: State, low: Low, h: float, n: Vec3) -> tuple[State, Low]:
    """Lets the torque n act on the momentum for a time h."""
    m = s.m
    x = added(m[0], low[0], h * n[0], 0.0)
    y = added(m[1], low[1], h * n[1], 0.0)
    z = added(m[2], low[2], h * n[2], 0.0)
    return State(s.q, (x[0], y[0], z[0])), (x[1], y[1], z[1], low[3], low[4], low[5], low[6])


@prepared
class CompensatedSplitting(NamedTuple):
    """The scheme: kicks alternate with the exact flow, both with low halves, so that round-off does not accumulate.

    In doubles the energy makes a random walk, and the error of the angles that depend on it grows like the power 3/2 of
    the number of steps. Quaternions are left unscaled. It is for bodies without a rotor.
    """

    splitting: Splitting

    def composed(self, fractions: Sequence[float]) -> "CompensatedSplitting":
        """Steps of these fractions, one after the other, as one step."""
        return CompensatedSplitting(self.splitting.composed(fractions))

    def prepared_flows(self, depends: Depends, scales: Scales) -> tuple[Any, ...]:
        """The flow that is prepared for these scales."""
        if depends is Depends.NOTHING:
            return (gliding(scales, 1.0),)
        longest = max(abs(s.fraction) for s in self.splitting.without_veers().stages if s.flow is not kick)
        return (gliding(scales._replace(step=longest * scales.step), HEADROOM),)

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> BoundStep:
        """Writes one step as one function. The torque of a last kick is carried to the next step, as in `Splitting`."""
        if depends is Depends.NOTHING:
            return CompensatedFlow().bind(pull, depends, scales)
        splitting = self.splitting.without_veers()
        stages, times, carried = splitting.stages, splitting.times(), splitting.carries(depends)
        longest = max(abs(s.fraction) for s in stages if s.flow is not kick)
        torque = of_any_norm(pull)
        names: dict[str, Any] = {"glide": gliding(scales and scales._replace(step=longest * scales.step), HEADROOM)}
        names |= {"pushed": pushed, "pull": torque, "OK": OK}
        if any(s.ahead for s in stages):
            names["ahead"] = ahead(torque)

        lines = [f"low = ({', '.join(f'memory[{k}]' for k in range(LOW))})"]
        for k, (s, c) in enumerate(zip(stages, times, strict=True)):
            if s.flow is not kick:
                lines += [f"s, low, status = glide(body, s, {s.fraction!r} * h, low)"]
                lines += ["if status != OK:", "    return s, memory, status"]
                continue
            here = f"pull(body, p, t + {c!r} * h, s)"
            if s.ahead:
                here = f"ahead(body, p, t + {c!r} * h, s, {s.ahead!r} * h * h)"
            n = f"(memory[{LOW}], memory[{LOW + 1}], memory[{LOW + 2}])" if carried and k == 0 else here
            lines += [f"n = {n}", f"s, low = pushed(s, low, {s.fraction!r} * h, n)"]
        kept = ", ".join(f"low[{k}]" for k in range(LOW)) + (", n[0], n[1], n[2]" if carried else "")
        step = function("step(body, p, t, s, h, memory)", [*lines, f"return s, ({kept}), OK"], names)
        kicks = sum(s.evaluations for s in stages) - int(carried)
        if not carried:
            return BoundStep(nothing_of(LOW), step, LOW, 0, kicks)
        begin = ["n = pull(body, p, t, s)", f"return ({'0.0, ' * LOW}n[0], n[1], n[2])"]
        return BoundStep(function("begin(body, p, t, s)", begin, names), step, LOW + 3, 1, kicks)
