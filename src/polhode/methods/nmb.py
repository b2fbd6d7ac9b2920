"""NMB: explicit Newmark (Verlet) in the body frame.

The body turns by h w + h^2 a / 2; the new acceleration solves Euler's equation together with the trapezoidal rule for
the rate, by Newton's iteration on three unknowns. Keeps time reversal. Costs one torque evaluation a step, and starts
by itself: a run can be continued from its last state.

krysl2004, eqs. (30), (36), (42), (43), with the tangent's factor corrected to (h/2)^2. The paper conjectures that the
method is symplectic; the measured defect is O(h^3), so it is not.
"""

from typing import Any

from polhode.core.compose import Routine
from polhode.core.quat import turn
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
    a, b = h2 * k[0] * w[2], h2 * k[0] * w[1]
    c, d = h2 * k[1] * w[2], h2 * k[1] * w[0]
    e, g = h2 * k[2] * w[1], h2 * k[2] * w[0]
    u, v, z = 1.0 - d * g, c - d * e, c * g - e
    r = 1.0 / (u - a * v + b * z)
    return (
        r * (u * f[0] + (b * g - a) * f[1] + (a * d - b) * f[2]),
        r * (-v * f[0] + (1.0 - b * e) * f[1] + (b * c - d) * f[2]),
        r * (z * f[0] + (a * e - g) * f[1] + (1.0 - a * c) * f[2]),
    )


def newmark(pull: Pull) -> tuple[Start, Any]:
    """Start and step with their torque in place. The memory is the acceleration."""

    def start(body: Rotor, p: Params, t: float, s: State) -> Memory:
        n, g = pull(body, p, t, s), cross(s.m, times(s.m, body.inverse))
        return times((n[0] + g[0], n[1] + g[1], n[2] + g[2]), body.inverse)

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
            f = (x[0] + k[0] * w[1] * w[2] - n[0], x[1] + k[1] * w[2] * w[0] - n[1], x[2] + k[2] * w[0] * w[1] - n[2])
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
        return State(q, times(w, i)), x, status

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
