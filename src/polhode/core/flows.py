"""The exactly solvable parts of the motion: `(body, p, t, state, h) -> state`.

`kick` is the one flow that needs a torque: it becomes a flow when it meets one.
"""

from polhode.core.ops import fma, triple
from polhode.core.quat import conjugate, multiply, to_space
from polhode.core.trig import sine_versine
from polhode.core.types import Flow, Params, Pull, Quat, Rotor, State, UserTorque, Vec3
from polhode.core.vec import combine, times


def principal_torque(torque: UserTorque, *, tilted: bool, windowed: bool) -> Pull:
    """The user's torque as methods see it.

    A tilted body has principal axes that differ from the user's; a windowed torque jumps at breakpoints, and a step
    that ends on one must see the value before it: times are kept strictly between the breakpoints.
    """

    def pull(body: Rotor, p: Params, t: float, s: State) -> Vec3:
        w = times(s.m, body.inverse)
        q = s.q
        if windowed:
            t = min(max(t, p.window[0]), p.window[1])
        if tilted:
            q = multiply(s.q, conjugate(p.axes))
            w = to_space(p.axes, w)
            return to_space(conjugate(p.axes), triple(torque(t, q, w, p.values)))
        return triple(torque(t, q, w, p.values))

    return pull


def push(s: State, h: float, n: Vec3) -> State:
    """The torque n acts on the momentum for a time h."""
    return State(s.q, combine(s.m, h, n))


def kick(pull: Pull) -> Flow:
    """The flow of the potential: the momentum moves by h times the torque while the attitude waits."""

    def kicked(body: Rotor, p: Params, t: float, s: State, h: float) -> State:
        return push(s, h, pull(body, p, t, s))

    return kicked


# The flow of m_i^2 / (2 I_i) turns the body about axis i at a constant rate. The other two components of m, seen from
# the body, turn the other way. Both updates are increments: their rounding error shrinks with the angle.


def _rotated(a: float, b: float, s: float, e: float) -> tuple[float, float]:
    """(a, b) turned clockwise by twice the angle whose sine is s and versine e."""
    c, s2 = 1.0 - e, s + s
    return a + s2 * fma(c, b, -s * a), b - s2 * fma(c, a, s * b)


def _mixed(a: float, b: float, s: float, e: float) -> float:
    """Cosine times a plus sine times b."""
    return a + fma(s, b, -e * a)


def spin1(body: Rotor, p: Params, t: float, s: State, h: float) -> State:
    """The flow of m1^2 / (2 I1)."""
    q, m = s.q, s.m
    n, e = sine_versine(0.5 * h * m[0] * body.inverse[0])
    m2, m3 = _rotated(m[1], m[2], n, e)
    turned: Quat = (
        _mixed(q[0], -q[1], n, e),
        _mixed(q[1], q[0], n, e),
        _mixed(q[2], q[3], n, e),
        _mixed(q[3], -q[2], n, e),
    )
    return State(turned, (m[0], m2, m3))


def spin2(body: Rotor, p: Params, t: float, s: State, h: float) -> State:
    """The flow of m2^2 / (2 I2)."""
    q, m = s.q, s.m
    n, e = sine_versine(0.5 * h * m[1] * body.inverse[1])
    m3, m1 = _rotated(m[2], m[0], n, e)
    turned: Quat = (
        _mixed(q[0], -q[2], n, e),
        _mixed(q[1], -q[3], n, e),
        _mixed(q[2], q[0], n, e),
        _mixed(q[3], q[1], n, e),
    )
    return State(turned, (m1, m[1], m3))


def spin3(body: Rotor, p: Params, t: float, s: State, h: float) -> State:
    """The flow of m3^2 / (2 I3)."""
    q, m = s.q, s.m
    n, e = sine_versine(0.5 * h * m[2] * body.inverse[2])
    m1, m2 = _rotated(m[0], m[1], n, e)
    turned: Quat = (
        _mixed(q[0], -q[3], n, e),
        _mixed(q[1], q[2], n, e),
        _mixed(q[2], -q[1], n, e),
        _mixed(q[3], q[0], n, e),
    )
    return State(turned, (m1, m2, m[2]))
