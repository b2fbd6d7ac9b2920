"""Steps that see a symmetric body from a frame which does not take part in its spin.

Let two moments be equal, with the inverse c, and let a be the third axis. In a frame that turns with the body but for
sigma a, attitude p and momentum M obey

    p' = p (w - sigma a) / 2,    M' = M x (w - sigma a) + n.

With sigma = w.a - k c M.a, taken at the start of a step, the part of M across the axis turns at the rate (1 - k) c M.a,
and p at about k c M.a, of which a quaternion feels half. Both are slowest together for k = 2/3: then everything changes
at a third of the rate at which the free body turns about its momentum, however fast it spins. The torque n is asked
for at the attitude of the body, which is turned about its axis by sigma times the time since the start of the step; so
is the body at the end of the step.

Many torques are the same, seen from the frame, whatever the turn about the axis. Then it is left out, but for one stage
of each step: if the torque depends on it after all, the error of the step shows it.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import hypot
from typing import Any, NamedTuple

from polhode.kernels.algebra.quat import derivative, multiply, to_body
from polhode.kernels.algebra.trig import common_sign, sine_versine
from polhode.kernels.algebra.vec import combine, cross, dot
from polhode.kernels.gyrostat import rate_of
from polhode.kernels.ops import all_of, fma, internal, where
from polhode.kernels.states import slope_of
from polhode.kernels.types import Inertia, Params, Pull, State, Vec3


class Frame(NamedTuple):
    """How a body turns for an observer in a frame."""

    spin: Any
    axis: Vec3
    sees: Any
    """1.0 if the torque depends on the turn about the axis, 0.0 if it seems not to."""


class View(NamedTuple):
    """From where steps see a body."""

    asked: Callable[[Inertia, Params, Any, State], Any]
    """`asked(body, p, t, s)`: for how many steps the turn about the axis may be left out; -1.0: the torque sees it."""
    evaluations: float
    """The evaluations by which that is found."""
    begun: Callable[[Inertia, State, Any], Frame]
    """`begun(body, s, blind)`: the frame of a step that begins in this state, with what was found."""
    slope: Callable[..., State]
    """`slope(body, p, t, s, frame, since, check)`: the time derivatives of a state in the frame, at a time since the
    start of the step; if `check` is 1.0, the turn about the axis is not left out."""
    ended: Callable[[State, Frame, Any], State]
    """`ended(s, frame, h)`: the state of the body at the end of a step of length h."""


SEEN_SHARE = 2.0 / 3.0
"""k: evaluations of tops, satellites and discs to an error are fewest between 0.5 and 0.7 (docs/decisions/0027)."""
WORTH, WORTH_WITH_TURNS = 1.2, 3.0
"""The frame pays where everything is slower in it by these factors: the second where the torque sees the turn about the
axis, which then takes as long as a cheap torque."""
BLIND = 16.0
"""The number of steps after which a torque that seemed not to see the spin is asked again."""
LEAST_DIFFERENCE = 1e-12
"""Torques that differ by less, relatively, are the same."""
ELSEWHERE = ((0.5, 0.1, -0.7, 0.5), (0.1, 0.7, 0.5, 0.5))
"""Turns that lead from the start to attitudes and rates like no other."""


@lru_cache(maxsize=128)
def view_of(pull: Pull, *, despun: bool) -> View:
    """The view from a frame that does not spin, or from the body itself."""
    plain = slope_of(pull)

    def in_body(body: Inertia, p: Params, t: Any, s: State, frame: Frame, since: Any, check: float) -> State:
        return plain(body, p, t, s)

    def in_frame(body: Inertia, p: Params, t: Any, s: State, frame: Frame, since: Any, check: float) -> State:
        spin, there, half = frame.spin * max(frame.sees, check), s, (0.0 * since, 0.0 * since, 0.0 * since)
        truly = not all_of(spin == 0.0)
        if truly:
            half = half_turn_by(spin * since)
            there = spun(s, frame.axis, half)
        n = pull(body, p, t, there)
        if truly:
            n = turned(n, frame.axis, -half[0], half[1])
        w = combine(rate_of(body, s.m), -frame.spin, frame.axis)
        return State(derivative(s.q, w), combine(cross(s.m, w), 1.0, n))

    def ended(s: State, frame: Frame, h: Any) -> State:
        return s if all_of(frame.spin == 0.0) else spun(s, frame.axis, half_turn_by(frame.spin * h))

    def asked(body: Inertia, p: Params, t: Any, s: State) -> Any:
        axis, half, alike = _frame_of(body, s, t).axis, half_turn_by(1.0), True
        for turn in ELSEWHERE:
            there = State(multiply(s.q, turn), to_body(turn, s.m))
            n, other = pull(body, p, t, there), pull(body, p, t, spun(there, axis, half))
            other = turned(other, axis, -half[0], half[1])
            off, most = combine(n, -1.0, other), LEAST_DIFFERENCE * LEAST_DIFFERENCE * dot(n, n)
            alike = alike & (dot(off, off) <= most) & (most > 0.0)
        return where(alike, BLIND, -1.0)

    if despun:
        return View(asked, 2.0 * len(ELSEWHERE), _frame_of, in_frame, ended)
    return View(_never, 0.0, _no_frame, in_body, _same)


def slowed(moments: Sequence[float], m: Sequence[float], axis: int) -> tuple[float, float]:
    """The rates at which a body turns, plainly and in the frame; it is symmetric about an axis, 1 to 3."""
    k, u, v = axis - 1, axis % 3, (axis + 1) % 3
    x, y, z = m[u] / moments[u], m[v] / moments[u], SEEN_SHARE * m[k] / moments[u]
    return hypot(x, y, m[k] / moments[k]), hypot(x, y, z)


def left(blind: Any, again: Any) -> Any:
    """Returns for how many steps more the turn may be left out after a step, or 0.0: the torque is asked `again`."""
    return where(blind > 0.0, where(again, 0.0, blind - 1.0), blind)


def _never(body: Inertia, p: Params, t: Any, s: State) -> float:
    return -1.0


def _no_frame(body: Inertia, s: State, blind: Any) -> Frame:
    return Frame(0.0, (0.0, 0.0, 0.0), 0.0)


def _same(s: State, frame: Frame, h: Any) -> State:
    return s


def _frame_of(body: Inertia, s: State, blind: Any) -> Frame:
    """The frame for a body that may be symmetric about any axis, with a rotor on it; for others it is the body."""
    i, g, w, m = body.inverse, internal(body), rate_of(body, s.m), s.m
    z = where(abs(i[0] - i[1]) + abs(g[0]) + abs(g[1]) == 0.0, 1.0 + 0.0 * i[0], 0.0)
    x = where(abs(i[1] - i[2]) + abs(g[1]) + abs(g[2]) == 0.0, 1.0 - z, 0.0)
    y = where(abs(i[2] - i[0]) + abs(g[2]) + abs(g[0]) == 0.0, 1.0 - z - x, 0.0)
    c = (SEEN_SHARE * i[1], SEEN_SHARE * i[2], SEEN_SHARE * i[0])
    spin = fma(x, fma(-c[0], m[0], w[0]), fma(y, fma(-c[1], m[1], w[1]), z * fma(-c[2], m[2], w[2])))
    return Frame(spin, (x, y, z), where(blind < 0.0, 1.0, 0.0))


def half_turn_by(angle: Any) -> Vec3:
    """Returns sine and versine of half the angle, and the sign that both are to have."""
    sine, versine = sine_versine(0.5 * angle)
    return sine, versine, common_sign(0.5 * angle)


def turned(v: Vec3, a: Vec3, s: Any, e: Any) -> Vec3:
    """Takes a vector into a frame that is turned about an axis by an angle: s and e are sine and versine of half."""
    x = combine(v, -dot(a, v), a)
    y, s2 = cross(x, a), s + s
    return (
        fma(s2, y[0] - fma(e, y[0], s * x[0]), v[0]),
        fma(s2, y[1] - fma(e, y[1], s * x[1]), v[1]),
        fma(s2, y[2] - fma(e, y[2], s * x[2]), v[2]),
    )


def spun(s: State, a: Vec3, half: Vec3) -> State:
    """Turns the body about an axis of its own, while its momentum stays fixed in space."""
    sine, versine, sign = half
    k = sign * sine
    return State(
        multiply(s.q, (sign * (1.0 - versine), k * a[0], k * a[1], k * a[2])), turned(s.m, a, sine, versine)
    )  # fmt: skip
