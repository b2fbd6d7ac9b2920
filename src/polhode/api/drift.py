"""drift(...) -> Drift: a body under a weak torque over long times, by averages with a stated error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from polhode.accuracy.policy import checked_tolerance
from polhode.averages.course import DriftImpossible, DriftProgress, Question, checked_start, first_mean, start_of
from polhode.averages.many import drifts
from polhode.averages.result import KEPT, Drift, drift_along
from polhode.body import Body
from polhode.compiler import announced_once
from polhode.free.free_motion import FreeMotion
from polhode.kernels.types import Depends
from polhode.problem import Problem
from polhode.run.binding import OnCompile
from polhode.run.integration import SimulationInterrupted
from polhode.support import checks
from polhode.support.interrupts import keeping
from polhode.torques import Torque, checked, terms_of
from polhode.torques.no_torque import Free

OVER = ("rotation", "orbit")
IN_FULL = "run it in full with simulate(..., rtol=)"


@announced_once
def drift(
    body: Body | Sequence[Body],
    torque: Torque,
    *,
    omega: Any,
    attitude: Any = None,
    t_span: tuple[float, float],
    rtol: float = 1e-6,
    over: Sequence[str | float] = ("rotation",),
    t_eval: Any = None,
    beyond: str = "stop",
    workers: int | None = None,
    on_compile: OnCompile = None,
) -> Any:
    """Follows the mean angular momentum and energy of a body under a weak torque, at a cost that no span increases.

    The torque is averaged over the exact free motion. Stretches of the span are also run in full: they say where the
    mean motion begins, state the `error` of the answer, and correct it to second order if that is above `rtol`.

    Many bodies (a list of bodies, a stack of rates or of attitudes, or several of these of one length) give `Drifts`,
    in which a body has a message if averages do not hold for it.

    Parameters
    ----------
    body
        The rigid body, or a list of bodies.
    torque
        A torque that changes the angular momentum by less than 10 % in a period of the rotation: a model, a function,
        a table, a sum, along an orbit or not. Torques with state variables, sampled torques, and torques that jump
        within the span are refused.
    omega
        Angular velocity at the start: three components in body axes, rad/s, or a row for each of many bodies.
    attitude
        Rotation from body to space axes at the start, as in `simulate`, or a stack for many bodies.
    t_span
        Start time and end time, s. The end may lie before the start.
    rtol
        Bound of the error of momentum and energy, relative to their values at the start.
    over
        Angles to average over. `("rotation",)` keeps the time in the torque, which must be slow beside the rotation;
        `("rotation", "orbit")` averages over the orbit of the torque as well. A number in place of "orbit" is a
        period, s.
    t_eval
        Times of the rows, s. Default: the ends of the steps of the mean motion. `Drift.at` computes any others.
    beyond
        What to do at the separatrix, where the unknown phase decides on the side: "stop", or "both" to follow every
        continuation as one of the `branches`, with its probability.
    workers
        Number of processes for many bodies. Default: one for each core.
    on_compile
        As in `simulate`.

    Raises
    ------
    DriftImpossible
        If averages do not hold for this problem; the message says why, and what to do instead.
    SimulationInterrupted
        After Ctrl-C. Its `solution` is the drift so far, and `resume()` of that goes on.

    Examples
    --------
    >>> tumbling = ph.drift(
    ...     ph.Body([1, 1.4, 2.1]), ph.LinearDamping((1e-7, 2e-7, 0.5e-7)), omega=[0.2, 0.25, 0.9], t_span=(0, 3e6)
    ... )
    >>> bool(tumbling.error < 1e-7)
    True
    >>> round(float(tumbling.kinetic_energy[-1] / tumbling.kinetic_energy[0]), 7)
    0.8397324
    """
    rtol = checked_tolerance(rtol)
    checks.choice("value of beyond", beyond, ("stop", "both"))
    many = not isinstance(body, Body) and isinstance(body, Sequence | np.ndarray)
    stacked = np.ndim(omega) == 2 or (not hasattr(attitude, "as_quat") and np.ndim(attitude) in (2, 3))
    stacked = stacked and not (np.ndim(omega) < 2 and np.shape(attitude) == (3, 3))

    def one(body: Any, omega: Any, attitude: Any) -> Drift:
        return _drift(body, torque, omega, attitude, t_span, rtol, over, t_eval, beyond, on_compile)

    return drifts(one, torque, body, omega, attitude, workers) if many or stacked else one(body, omega, attitude)


def _drift(
    body: Body, torque: Torque, omega: Any, attitude: Any, t_span: tuple[float, float], rtol: float,
    over: Sequence[str | float], t_eval: Any, beyond: str, on_compile: OnCompile,
) -> Drift:  # fmt: skip
    """The drift of one body."""
    acting = Free() if torque is None else checked(torque)
    _refuse_memory(acting)
    problem = Problem.given(body, acting, omega=omega, attitude=attitude, t_span=t_span, t_eval=t_eval)
    _refuse(problem, acting)
    period, over_orbit = _period(acting, over)
    w = problem.omega_start
    L = FreeMotion(body, w, problem.quaternion_start).angular_momentum
    G, T = math.sqrt(L @ L), 0.5 * float(w @ body.tensor @ w)
    scale = np.array([G, G, G, T])
    asked = Question(body, acting, problem.t_end, rtol, period, over_orbit, scale, problem.t_start, on_compile)
    z = np.append(L, T)
    order = np.argsort(body.moments, kind="stable")
    circled = order[2] if 2.0 * T * body.moments[order[1]] < G * G else order[0]
    side = math.copysign(1.0, float((w @ body.axes)[circled]))
    rates = asked.rates(side)
    seen = checked_start(asked, rates, problem.t_start, z, problem.span)
    start = FreeMotion(body, w, problem.quaternion_start, t0=problem.t_start)
    window = first_mean(asked, rates, start, seen)
    begun = DriftProgress(start_of(rates, problem.t_start, window))
    found = drift_along(asked, rates, window, begun, problem.times)
    if beyond == "both" and found.events and found.events[-1].kind == "separatrix":
        with keeping(SimulationInterrupted, lambda _: found, KEPT):
            found = replace(found, branches=found.continued())
    return found


def _refuse_memory(torque: Torque) -> None:
    """Raises DriftImpossible for torques that are no function of time and state, whatever they start with."""
    if torque.sample_kernel is not None:
        raise DriftImpossible(f"{torque.name} is sampled, and its samples depend on the phase: {IN_FULL}")
    if torque.state_names:
        listed = ", ".join(torque.state_names)
        raise DriftImpossible(f"{torque.name} carries numbers of its own ({listed}), which averages lose: {IN_FULL}")


def _refuse(problem: Problem, torque: Torque) -> None:
    """Raises DriftImpossible for what averages cannot do."""
    body = problem.body
    low, high = sorted((problem.t_start, problem.t_end))
    moments = np.sort(body.moments)
    if torque.depends is Depends.NOTHING:
        raise DriftImpossible("nothing drifts without a torque: FreeMotion(body, omega).at(t) has the state at any t")
    if body.has_rotor:
        raise DriftImpossible(f"averages are over the motion of bodies without a rotor: {IN_FULL}")
    if moments[2] - moments[0] <= 1e-9 * moments[2]:
        raise DriftImpossible(f"a body with three equal moments keeps its axis, which is no fast angle: {IN_FULL}")
    if not np.any(problem.omega_start):
        raise DriftImpossible(f"the body is at rest, and there is no rotation to average over: {IN_FULL}")
    inside = [t for t in torque.breakpoints if low < t < high]  # shadows are no jumps before the span is known
    if inside:
        raise DriftImpossible(
            f"{torque.name} jumps at t = {inside[0]:.6g} s: drift up to there, and begin again behind it with "
            "d.motion(t), whose state is that of the mean motion"
        )


def _period(torque: Torque, over: Sequence[str | float]) -> tuple[float | None, bool]:
    """The period of the orbit, and whether it is averaged over."""
    wanted = [over] if isinstance(over, str | float | int) else list(over)
    acting = [term.torque for term in terms_of(torque)]
    orbits = [getattr(x, "orbit", None) for part in acting for x in (part, getattr(part, "field", None))]
    periods = {orbit.period for orbit in orbits if orbit is not None}
    periods |= {2.0 * math.pi / rate for part in acting if (rate := getattr(part, "orbital_rate", None)) is not None}
    for item in wanted:
        if isinstance(item, str):
            checks.choice("average, given in over,", item, OVER)
    if "rotation" not in wanted:
        raise ValueError(f"over must contain 'rotation', and may contain 'orbit' or a period in s, not {over!r}")
    numbers = [checks.number("the period in over", x, positive=True) for x in wanted if not isinstance(x, str)]
    if numbers:
        return numbers[0], True
    if "orbit" in wanted and len(periods) != 1:
        count = "no orbit" if not periods else f"{len(periods)} orbits of different periods"
        raise ValueError(f"{torque.name} has {count}: give the period in s in place of 'orbit', as in ('rotation', T)")
    return (next(iter(periods)) if len(periods) == 1 else None), "orbit" in wanted
