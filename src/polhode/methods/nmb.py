"""NMB: explicit Newmark (Verlet) in the body frame.

The body turns by h w + h^2 a / 2; the new acceleration solves Euler's equation together with the trapezoidal rule for
the rate, by Newton's iteration on three unknowns. Keeps time reversal. Costs one torque evaluation a step, and starts
by itself: a run can be continued from its last state.

krysl2004, eqs. (30), (36), (42), (43), with the tangent's factor corrected to (h/2)^2. The paper conjectures that the
method is symplectic; the measured defect is O(h^3), so it is not.
"""

from typing import Any

from polhode.core.compose import Routine
from polhode.core.ops import fma
from polhode.core.quat import tidied, turn
from polhode.core.status import NO_CONVERGENCE, OK, UNSOUND
from polhode.core.types import Depends, Memory, Params, Pull, Rotor, Start, State, Vec3
from polhode.core.vec import combine, cross, times
from polhode.methods._method import Keeps, Method

MOST_ITERATIONS = 25
CLOSE = 1e-9
"""A Newton correction this small, relative to the rate, leaves an error of its square: far below round-off."""


def newton_correction(k: Vec3, f: Vec3, h2: float, w: Vec3) -> Vec3:
    """The solution d of the tangent equation (43), divided by the moments.

    Row i of Euler's equation over I_i is x_i + k_i w_j w_l = torque_i / I_i, with w = wp + (h/2) x.
    """
    g = (h2 * k[0], h2 * k[1], h2 * k[2])
    a, b = g[0] * w[2], g[0] * w[1]
    c, d = g[1] * w[2], g[1] * w[0]
    e, o = g[2] * w[1], g[2] * w[0]
    u, v, z = fma(-d, o, 1.0), fma(-d, e, c), fma(c, o, -e)
    r = 1.0 / fma(b, z, fma(-a, v, u))
    return (
        r * fma(u, f[0], fma(fma(b, o, -a), f[1], fma(a, d, -b) * f[2])),
        r * fma(-v, f[0], fma(fma(-b, e, 1.0), f[1], fma(b, c, -d) * f[2])),
        r * fma(z, f[0], fma(fma(a, e, -o), f[1], fma(-a, c, 1.0) * f[2])),
    )


def newmark(pull: Pull) -> tuple[Start, Any]:
    """Start and step with their torque in place. The memory is the acceleration."""

    def start(body: Rotor, p: Params, t: float, s: State) -> Memory:
        euler = combine(cross(s.m, times(s.m, body.inverse)), 1.0, pull(body, p, t, s))
        return times(euler, body.inverse)

    def step(body: Rotor, p: Params, t: float, s: State, h: float, a: Vec3) -> tuple[State, Vec3, int]:
        i, j = body.inertia, body.inverse
        h2 = 0.5 * h
        wp = combine(times(s.m, j), h2, a)
        q = turn(s.q, (h * wp[0], h * wp[1], h * wp[2]))  # (30)
        n = times(pull(body, p, t + h, State(q, times(wp, i))), j)
        k = ((i[2] - i[1]) * j[0], (i[0] - i[2]) * j[1], (i[1] - i[0]) * j[2])
        x, status = a, NO_CONVERGENCE
        w = combine(wp, h2, x)
        for _ in range(MOST_ITERATIONS):
            f = combine(combine(x, 1.0, times(k, (w[1] * w[2], w[2] * w[0], w[0] * w[1]))), -1.0, n)
            d = newton_correction(k, f, h2, w)
            x = combine(x, -1.0, d)
            w = combine(wp, h2, x)  # (36)
            change = max(abs(d[0]), abs(d[1]), abs(d[2]))
            if not change < 1e300:  # neither infinite nor NaN can be iterated away
                status = UNSOUND
                break
            if abs(h2) * change <= CLOSE * max(abs(w[0]), abs(w[1]), abs(w[2])):
                status = OK
                break
        return State(tidied(q), times(w, i)), x, status

    return start, step


NMB = Method(
    "NMB",
    Routine(newmark, memory=3, evaluations_at_start=1, evaluations_per_step=1),
    summary="explicit Newmark (Verlet) in the body frame",
    cite="krysl2004",
    order=2,
    attitude_order=2,
    accepts=Depends.POSITION | Depends.TIME,
    keeps=Keeps.REVERSIBLE,
    keeps_when_free=Keeps.REVERSIBLE,
)
