"""The exactly solvable parts of the motion: `(body, p, t, state, h) -> state`.

`kick` is the one flow that needs a torque: `kick(pull)` is the flow.
"""

from collections.abc import Callable
from functools import cache, lru_cache
from math import nan
from typing import Any

from polhode.kernels.algebra.quat import advanced, conjugate, multiply, slight_turn, to_space, turn
from polhode.kernels.algebra.trig import sine_versine_of_step
from polhode.kernels.algebra.vec import combine, placed, times
from polhode.kernels.callback_torques import apart
from polhode.kernels.free.closed_form import leap
from polhode.kernels.free.exact_flow import NOTHING_MOVES, Resolution, cuts, excess, finest, increment, needed
from polhode.kernels.gyrostat import body_at, rate_of
from polhode.kernels.ops import derivatives, fma, internal, lane, marker, triple, where
from polhode.kernels.states import from_each, in_lane
from polhode.kernels.types import Flow, Inertia, Params, Pull, Scales, State, UserTorque, Vec3

prepared = marker("__prepared__")
"""Marks a function that makes a flow for the scales of a run. In lists of flows it stands for what it makes."""


def is_prepared(flow: Any) -> bool:
    """Whether a flow has to be made for the scales of a run."""
    return getattr(flow, "__prepared__", False)


def principal_torque(
    torque: UserTorque, *, tilted: bool, windowed: bool, carried: int = 0, together: bool = False
) -> Pull:  # fmt: skip
    """The user's torque in the form that methods call.

    A tilted body has principal axes that differ from the user's. A windowed torque jumps at breakpoints, and a step
    that ends on one must see the value before it: times are kept strictly between the breakpoints. A torque that
    carries numbers returns their derivatives as well. It is compiled apart from methods, unless both are to be compiled
    `together`.
    """
    if hasattr(torque, "__pull__"):  # a torque with columns, whose numbers are those of the principal axes
        return torque.__pull__(tilted=tilted, windowed=windowed)  # type: ignore[no-any-return]
    # Each is what the program refers to: one that calls a torque by its address must not have the torque as well.
    inside: Any = torque if carried else None
    seen: Any = None if carried else apart(torque, together=together)

    def pull(body: Inertia, p: Params, t: float, s: State) -> Any:
        w = rate_of(body_at(body, p, t), s.m)
        q = s.q
        if windowed:
            t = min(max(t, p.window[0]), p.window[1])
        if tilted:
            q = multiply(s.q, conjugate(p.axes))
            w = to_space(p.axes, w)
        if carried:
            both = inside(t, q, w, p.values, s.z)
            n = to_space(conjugate(p.axes), triple(both[0])) if tilted else triple(both[0])
            return n, derivatives(both[1], carried)
        return to_space(conjugate(p.axes), seen(t, q, w, p.values)) if tilted else seen(t, q, w, p.values)

    return pull


def lane_by_lane(torque: UserTorque, lanes: int, carried: int = 0) -> UserTorque:
    """The torque of several bodies at once, computed body by body: for torques that cannot be vectorised."""
    seen: Callable[..., Vec3] = torque if carried else apart(torque)

    def each(t: float, q: Any, w: Any, p: Any) -> Any:
        return from_each([seen(t, in_lane(q, i), in_lane(w, i), p[i]) for i in range(lanes)], 3)

    def each_with_numbers(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
        found = [torque(t, in_lane(q, i), in_lane(w, i), p[i], in_lane(z, i)) for i in range(lanes)]
        derived = [derivatives(x[1], carried) for x in found]
        return from_each([triple(x[0]) for x in found], 3), from_each(derived, carried)

    if not carried:
        each.__together__ = True  # type: ignore[attr-defined]
    return each_with_numbers if carried else each


def pull_lane_by_lane(pull: Pull, lanes: int, carried: int = 0) -> Pull:
    """The torque at several states of one body, computed state by state."""

    def each(body: Inertia, p: Params, t: float, s: State) -> Any:
        found: Any = [
            pull(body, p, lane(t, i), State(in_lane(s.q, i), in_lane(s.m, i), in_lane(s.z, i)))  # type: ignore[arg-type]
            for i in range(lanes)
        ]
        if carried:
            return from_each([x[0] for x in found], 3), from_each([x[1] for x in found], carried)
        return from_each(found, 3)

    if not carried:
        each.__together__ = True  # type: ignore[attr-defined]
    return each


def push(s: State, h: float, n: Vec3) -> State:
    """Lets the torque n act on the momentum for a time h."""
    return State(s.q, combine(s.m, h, n))


@lru_cache(maxsize=128)
def kick(pull: Pull) -> Flow:
    """The flow of the potential: the momentum moves by h times the torque while the attitude waits."""

    def kicked(body: Inertia, p: Params, t: float, s: State, h: float) -> State:
        return push(s, h, pull(body, p, t, s))

    return kicked


Ahead = Callable[[Inertia, Params, float, State, float], Vec3]


@lru_cache(maxsize=128)
def ahead(pull: Pull) -> Ahead:
    """Returns `torque(body, p, t, s, k)`: the torque on the body after it has turned by k times M n.

    n is the torque at s and M the inverse inertia. As a vector in space this is n + k times half the gradient of
    n . M n: the kick of a modified potential without derivatives. It is returned in the body axes of s, where it acts;
    so the component of the momentum along an axis of symmetry is kept. [wisdom1996, rein2019]
    """

    def torque(body: Inertia, p: Params, t: float, s: State, k: float) -> Vec3:
        n = pull(body, p, t, s)
        w, half = times(n, body.inverse), 0.5 * k
        further = slight_turn((half * w[0], half * w[1], half * w[2]))
        return to_space(further, pull(body, p, t, State(multiply(s.q, further), s.m)))

    return torque


KickAhead = Callable[[Inertia, Params, float, State, float, float], State]


@lru_cache(maxsize=128)
def kick_ahead(pull: Pull) -> KickAhead:
    """Returns `kicked(body, p, t, s, h, k)`: a kick by the torque `ahead` with the same k."""
    torque = ahead(pull)

    def kicked(body: Inertia, p: Params, t: float, s: State, h: float, k: float) -> State:
        return push(s, h, torque(body, p, t, s, k))

    return kicked


# The flow of m_i^2 / (2 I_i), of a gyrostat that of (m_i - g_i)^2 / (2 I_i), turns the body about axis i at a constant
# rate. The other two components of m, seen from the body, turn the other way. Both updates are increments: their
# rounding error shrinks with the angle.


Rotation = Callable[[float, float, float, float], tuple[float, float]]
"""`(a, b, s, e)` returns (a, b) turned clockwise by twice the angle whose sine is s and versine e."""


def _rotated(a: float, b: float, s: float, e: float) -> tuple[float, float]:
    """Returns (a, b) turned clockwise by twice the angle whose sine is s and versine e."""
    c, s2 = 1.0 - e, s + s
    return fma(s2, fma(c, b, -(s * a)), a), fma(-s2, fma(c, a, s * b), b)


def rotated_steadily(a: float, b: float, s: float, e: float) -> tuple[float, float]:
    """Turns (a, b) as `rotated` does; for an angle equal in all steps, where a rounded cosine lets the norm drift."""
    s2 = s + s
    return fma(s2, b - fma(e, b, s * a), a), fma(-s2, a + fma(-e, a, s * b), b)


def _mixed(a: float, b: float, s: float, e: float) -> float:
    """(1 - e) a + s b: cosine times a plus sine times b."""
    return a + fma(s, b, -(e * a))


def turning(axis: int, rotated: Rotation = _rotated) -> Callable[[State, float], State]:
    """Returns `turned(s, half)`: the body turns about an axis by twice `half`, while its momentum is fixed in space."""
    k, u, v = axis - 1, axis % 3, (axis + 1) % 3

    def turned(s: State, half: float) -> State:
        q, m = s.q, s.m
        n, e = sine_versine_of_step(half)
        x, y = rotated(m[u], m[v], n, e)
        a, b = _mixed(q[u + 1], q[v + 1], n, e), _mixed(q[v + 1], -q[u + 1], n, e)
        along = placed(k, _mixed(q[k + 1], q[0], n, e), a, b)
        return State((_mixed(q[0], -q[k + 1], n, e), along[0], along[1], along[2]), placed(k, m[k], x, y))

    return turned


turned1, turned2, turned3 = turning(1), turning(2), turning(3)


def spin1(body: Inertia, p: Params, t: float, s: State, h: float) -> State:
    """The flow of m1^2 / (2 I1)."""
    return turned1(s, (s.m[0] - internal(body)[0]) * (0.5 * h * body.inverse[0]))


def spin2(body: Inertia, p: Params, t: float, s: State, h: float) -> State:
    """The flow of m2^2 / (2 I2)."""
    return turned2(s, (s.m[1] - internal(body)[1]) * (0.5 * h * body.inverse[1]))


def spin3(body: Inertia, p: Params, t: float, s: State, h: float) -> State:
    """The flow of m3^2 / (2 I3)."""
    return turned3(s, (s.m[2] - internal(body)[2]) * (0.5 * h * body.inverse[2]))


def _ranked(rank: int) -> Callable[[Scales | None], Flow]:
    @prepared
    def spin(scales: Scales | None) -> Flow:
        """One of the three flows above, chosen by the moments of the body."""
        moments = (1.0, 2.0, 3.0) if scales is None else scales.inertia
        return (spin1, spin2, spin3)[sorted(range(3), key=moments.__getitem__)[rank]]

    spin.__name__ = f"ranked{rank}"
    return spin


RANKED = (_ranked(0), _ranked(1), _ranked(2))
"""The rotations about the axes of the smallest, the middle and the largest moment."""


# The flow of the whole kinetic energy. The body and the length of the step decide which code it is.

HEADROOM = 1.25
"""A torque may make the body faster by this factor before steps of the exact flow are cut in two."""

MOST_PIECES = 16
"""A step that would be cut into more pieces is made by the closed form, which costs about as much as this many."""

TOO_MANY_PIECES = 100_000
"""A step that would be cut into more pieces, because a torque has made the body turn so fast, fails: it would take long
and have no digit right."""


@prepared
def free(scales: Scales | None) -> Flow:
    """The exact flow of a free body for runs of these scales; it cuts steps that turn out too long."""
    if scales is None:
        return triaxial(finest())
    i1, i2, i3 = scales.inertia
    if i1 == i2 == i3 and not scales.many:
        return spherical
    if (i1 == i2 or i2 == i3 or i3 == i1) and not scales.many:
        return symmetric(3 if i1 == i2 else 1 if i2 == i3 else 2)
    free_of_torque = scales.torque == 0.0 and not scales.may_quicken
    fine, count = needed(scales, 1.0 if free_of_torque else HEADROOM)
    if count > MOST_PIECES:
        return leaping
    return (_packed_triaxial if scales.packed else triaxial)(fine)


def spherical(body: Inertia, p: Params, t: float, s: State, h: float) -> State:
    """The flow if all moments are equal: a turn at a constant rate."""
    k = h * body.inverse[0]
    return State(turn(s.q, (k * s.m[0], k * s.m[1], k * s.m[2])), s.m)


@cache
def symmetric(axis: int) -> Flow:
    """The flow if two moments are equal: a turn about the momentum, then one about the axis of symmetry."""
    turned = turning(axis, rotated_steadily)
    k, e = axis - 1, axis % 3  # the axis and an equatorial one

    def flow(body: Inertia, p: Params, t: float, s: State, h: float) -> State:
        i, j = body.inertia, body.inverse
        c = h * j[e]
        precessed = State(turn(s.q, (c * s.m[0], c * s.m[1], c * s.m[2])), s.m)
        return turned(precessed, s.m[k] * (0.5 * h * (i[e] - i[k]) * j[e] * j[k]))

    flow.__variant__ = f"symmetry about axis {axis}"  # type: ignore[attr-defined]
    return flow


def leaping(body: Inertia, p: Params, t: float, s: State, h: float) -> State:
    """The flow if the moments differ and steps are long: the closed form."""
    turned, m = leap(body, s.m, h)
    return State(multiply(s.q, turned), m)


@cache
def triaxial(fine: Resolution) -> Flow:
    """The flow if the moments differ; it cuts a step that is too long for the resolution."""
    move = increment(fine.nodes, fine.terms, fine.longest_turn)

    def flow(body: Inertia, p: Params, t: float, s: State, h: float) -> State:
        left, length = 1, h
        while left > 0:
            # The excess is computed here because the step begins with the same numbers: the compiler shares them.
            size = excess(fine, body, s.m, length)
            if not NOTHING_MOVES < size <= 1.0:
                count = cuts(size)
                if count == 0:
                    break
                left, length = left * count, length / count
                if left > TOO_MANY_PIECES:
                    return State(s.q, (nan, nan, nan))
            delta, e, v, _k, _mu = move(body, s.m, length)
            s = State(advanced(s.q, e, v), combine(s.m, 1.0, delta))
            left -= 1
        return s

    flow.__variant__ = str(fine)  # type: ignore[attr-defined]
    return flow


@cache
def _packed_triaxial(fine: Resolution) -> Flow:
    """The flow for several bodies at once. It gives NaN for a body that is at rest or needs its step cut."""
    move = increment(fine.nodes, fine.terms, fine.longest_turn)

    def flow(body: Inertia, p: Params, t: float, s: State, h: float) -> State:
        size = excess(fine, body, s.m, h)
        delta, e, v, _k, _mu = move(body, s.m, h)
        one = where((size > NOTHING_MOVES) & (size <= 1.0), 1.0, nan)
        q = advanced(s.q, e, v)
        return State((one * q[0], q[1], q[2], q[3]), combine(s.m, 1.0, delta))

    flow.__variant__ = str(fine)  # type: ignore[attr-defined]
    return flow
