"""RK4: the classical Runge-Kutta method on quaternion and momentum.

The quaternion is normalised once a step. Keeps nothing: energy and momentum drift, which is why it is here, as the
baseline that everybody knows. Costs four torque evaluations a step, and takes any torque.
"""

from typing import Any

from polhode.core.compose import Routine, nothing
from polhode.core.ops import fma
from polhode.core.quat import derivative, normalised
from polhode.core.status import OK
from polhode.core.types import Depends, Params, Pull, Rotor, Start, State
from polhode.core.vec import combine, cross, times
from polhode.methods._method import Keeps, Method


def moved(s: State, h: float, d: State) -> State:
    """s + h d."""
    q, a = s.q, d.q
    return State((fma(h, a[0], q[0]), fma(h, a[1], q[1]), fma(h, a[2], q[2]), fma(h, a[3], q[3])), combine(s.m, h, d.m))


def classical(pull: Pull) -> tuple[Start, Any]:
    """The step with its torque in place."""

    def slope(body: Rotor, p: Params, t: float, s: State) -> State:
        w = times(s.m, body.inverse)
        return State(derivative(s.q, w), combine(cross(s.m, w), 1.0, pull(body, p, t, s)))

    def step(body: Rotor, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[State, Any, int]:
        k1 = slope(body, p, t, s)
        k2 = slope(body, p, t + 0.5 * h, moved(s, 0.5 * h, k1))
        k3 = slope(body, p, t + 0.5 * h, moved(s, 0.5 * h, k2))
        k4 = slope(body, p, t + h, moved(s, h, k3))
        mean = moved(moved(moved(k1, 2.0, k2), 2.0, k3), 1.0, k4)
        new = moved(s, h / 6.0, mean)
        return State(normalised(new.q), new.m), memory, OK

    return nothing, step


RK4 = Method(
    "RK4",
    Routine(classical, evaluations_per_step=4),
    summary="classical Runge-Kutta on quaternion and momentum; the baseline",
    cite="kutta1901",
    order=4,
    attitude_order=4,
    accepts=Depends.POSITION | Depends.TIME | Depends.RATE,
    keeps=Keeps.NOTHING,
    keeps_when_free=Keeps.NOTHING,
)
