"""A free body to a tolerance: its exact motion at the output times, and the error of that from the condition.

No run and no companion is needed. `FreeMotion` errs by a few units in the last place if the numbers given are taken as
exact, however long the motion is. What enlarges that is known: the phase near the separatrix, the rounding of the
constants, which are two-doubles, and that of times which do not begin at zero. The principal axes of a tilted tensor
are rounded when they are found; what that does is seen in the motions of six tensors beside the one given.
docs/decisions/notes/tolerance.md has the measurements.
"""

import math
import time
from typing import NamedTuple

import numpy as np

from polhode.accuracy.choice import free_candidate
from polhode.accuracy.estimate import distances
from polhode.accuracy.policy import warn_not_reached
from polhode.body import Body
from polhode.free.free_motion import FreeMotion, has_closed_form
from polhode.free.gyrostat_motion import GyrostatMotion
from polhode.kernels.free.closed_form import Constants
from polhode.kernels.judge import NUDGE as EPSILON
from polhode.kernels.status import Status
from polhode.kernels.types import Depends
from polhode.problem import NO_STATE, Problem, Stats
from polhode.run.grid import segments_of
from polhode.run.integration import Progress
from polhode.run.interpolate import states_of
from polhode.run.rows import FixedSteps
from polhode.solution import Solution, assemble
from polhode.support.arrays import Floats, dots, lengths

ROUNDING = 8.0
"""The error of a state in units of `EPSILON`, where nothing enlarges it: less than that and K, the phase, was
seen in all of 1,600 motions."""
LOW_HALF = 2.0**-105
"""The relative error of the constants of the motion: up to a third of this was seen near the separatrix."""
GYROSTAT_ROUNDING = 16.0
"""What is added to `ROUNDING` for a body with a rotor: its state is a quotient of sums of more terms."""
RATE_ROUNDING = 6.0
"""The error of a momentum with a rotor in units of `EPSILON`: up to 2.6 was seen in 1,400 motions."""
TURNED_ROUNDING = 2.0
"""The error of a momentum, in units of `EPSILON`, with a rotor between two equal moments: axes are turned to it."""
POINTS_OF_CURVE = 65
"""Points of the curve of the rate at which its greatest size is looked for."""
MOST_RADIANS = 2.0**50
"""Beyond this angle half turns are not counted any more (`kernels/free/closed_form.py`), and nothing is known of the
phase.
"""
TILTED_ROUNDING = 2.0
"""The relative changes in units of `EPSILON` that a tilted tensor and its rate are tried with."""
TILTED_FACTOR = 3.0
"""The factor of the greatest distance to the motions of the changed tensors."""


MOST_ROWS = 100
"""The most rows at which they are compared: what is rounded at the start grows evenly over all of them."""
BESIDE_SEPARATRIX = 0.1
"""Where the distances of these motions from the separatrix differ by more than this part of them, errors do not grow in
proportion to the changes."""


def _changes(count: int = 6) -> tuple[Floats, Floats]:
    """The signs of the changes of tensors, which are symmetric, and of rates: at random, always the same."""
    signs = np.random.default_rng(17).choice([-1.0, 1.0], (count, 3, 4))
    upper = np.triu(signs[:, :, :3])
    return upper + np.triu(upper, 1).transpose(0, 2, 1), signs[:, :, 3]


TENSOR_CHANGES, RATE_CHANGES = _changes()


def closed_form(problem: Problem, rtol: float, progress: Progress | None) -> Solution | None:
    """The exact motion with its error; None if a torque acts, or where its error is not known."""
    solution = _exact(problem, rtol) if problem.torque.depends is Depends.NOTHING else None
    if solution is None:
        return None
    if progress is not None:
        progress(solution.stats.steps, solution.stats.steps)
    assert solution.error_estimate is not None
    if solution.error_estimate > rtol:
        remedy = f"take it, or ask for rtol={2.0 * solution.error_estimate:.0e} or more"
        why = f"from the last digits of the numbers given; {remedy}"
        warn_not_reached(rtol, solution.error_estimate, why, about="the error of the closed form is")
    return solution


def _exact(problem: Problem, rtol: float) -> Solution | None:
    """The exact motion with its error; None where `FreeMotion` does not hold, or its rate is not known."""
    body, omega, begun = problem.body, problem.omega_given, time.perf_counter()
    if omega is None or not has_closed_form(body):
        return None
    if body.has_rotor and not body.aligned:  # nothing is known of what the rounding of the rotor's axis does
        return None
    motion = FreeMotion(body, omega, problem.quaternion_start, problem.t_start)
    outputs = None if problem.times is None else problem.times.size
    c = condition_of(motion, problem.span)
    if not math.isfinite(c.turn):
        return None
    candidate = free_candidate(c.turn, outputs)
    plan = candidate.plan(problem, candidate.first, rtol).replace(torque_size=0.0)
    grid = segments_of(problem, plan)
    t = problem.times
    if t is None:
        rows = FixedSteps(grid, None, problem.every)
        t = rows.times_of_rows(rows.total, rows.rows + rows.ragged)
    q, m = states_of(motion, problem, np.append(t, problem.t_end))
    error = _estimate(motion, c, problem, t, q[:-1], m[:-1])
    if math.isnan(error):
        return None
    steps = sum(segment.steps for segment in grid)
    message = Status.OK.sentence.format(place=f"t = {problem.t_end:.12g} in {steps} steps")
    return assemble(
        problem, plan, Stats(steps, 0, time.perf_counter() - begun), (t.copy(), q[:-1], m[:-1], np.empty((t.size, 0))),
        (problem.t_end, q[-1], m[-1], NO_STATE), Status.OK, f"{message}; the error is estimated as {error:.1e}",
        error_estimate=error, rtol=rtol,
    )  # fmt: skip


# --- the error -----------------------------------------------------------------------------------------------------


class FreeMotionSizes(NamedTuple):
    """The sizes of a free motion that its error depends on."""

    turn: float
    """The angle through which the body turns, more or less."""
    phase: float
    """The greatest phase of the elliptic functions, K; near the separatrix it grows like a logarithm."""
    sensitivity: float
    """The change of the state per relative change of a number given, more or less."""
    frequency: float
    """The greatest rate at which the phase changes, in rad/s."""
    peak: float
    """The greatest rate of the motion at any time, in rad/s."""


def condition_of(motion: FreeMotion, span: float) -> FreeMotionSizes:
    """The condition of a single motion over a time since its start."""
    if isinstance(motion, GyrostatMotion):
        return _condition_of_gyrostat(motion, span)
    k, scale = Constants(*(float(x[0]) for x in motion._c)), float(motion._scale[0])
    spin = max(k.precession, k.transverse)
    # The rate is greatest where the momentum crosses a plane of two axes: cn = 1 or sn = 1.
    ends = (
        math.hypot(k.A * k.i1, k.C * k.i3),
        math.hypot(k.B * k.i2, k.C * k.kc * k.i3),
    )
    return FreeMotionSizes(
        turn=spin * scale * abs(span),
        phase=k.K or abs(k.u0) + 1.0,
        sensitivity=float(motion.sensitivity(np.array([span]))[0, 0]),
        frequency=k.lam * scale,
        peak=max(ends) * scale,
    )


def _condition_of_gyrostat(motion: GyrostatMotion, span: float) -> FreeMotionSizes:
    """The condition of a motion with a rotor."""
    k, scale = motion.constants(), float(motion._scale[0])
    # Without a period, or near that, the phase is counted in units in which the body leaves the equilibrium.
    phase = 0.5 * k.stretch if k.period < math.inf else k.stretch * abs(k.t0)
    curve = motion.polhode(POINTS_OF_CURVE)
    peak = math.sqrt(dots(curve, curve).max())
    if peak > 0.0:  # momenta are rounded relative to the whole, so that rates about the least moment have more error
        momentum = motion.angular_momentum
        phase += RATE_ROUNDING * math.sqrt(float(momentum @ momentum)) / (float(motion._moments.min()) * peak)
    sensitivity = float(motion.sensitivity(np.array([span]))[0, 0])
    if np.count_nonzero(motion._bodies[0].principal_rotor) > 1:
        phase += TURNED_ROUNDING * sensitivity
    return FreeMotionSizes(
        turn=k.spin * scale * abs(span),
        phase=GYROSTAT_ROUNDING + phase,
        sensitivity=sensitivity,
        frequency=max(k.spin, k.stiffness) * scale,
        peak=peak,
    )


def _estimate(motion: FreeMotion, c: FreeMotionSizes, problem: Problem, t: Floats, q: Floats, m: Floats) -> float:
    """The error of the rows: of the attitude in radians, and of the rate relative to the largest one."""
    elapsed = t - problem.t_start
    back = elapsed - t  # the rounding of the difference, exactly, by Knuth's sum
    lost = (t - (elapsed - back)) + (-problem.t_start - back)
    rates = problem.body.rate(m)
    largest = math.sqrt(dots(rates, rates).max(initial=0.0))
    enlarged = max(1.0, c.peak / largest if largest > 0.0 else 1.0)  # where a slow row is part of a fast motion
    error = EPSILON * (ROUNDING + c.phase) * enlarged + LOW_HALF * c.sensitivity
    if lost.any() and largest > 0.0:  # by how much the rows change in the time that is lost
        change = problem.body.rate(np.cross(m, rates) + problem.body.rotor)  # I^-1 of the product
        changes = lengths(rates) + lengths(change) / largest
        error += 2.0 * float((changes * np.abs(lost)).max())
    if not problem.body.aligned:
        error += _error_of_axes(motion, c, problem, t, q, rates, largest)
    most = math.pi if largest == 0.0 else max(math.pi, 2.0 * c.peak / largest)  # no two states are farther apart
    countable = max(c.turn, c.frequency * abs(problem.span)) < MOST_RADIANS
    return min(error, most) if countable else most


def _error_of_axes(
    motion: FreeMotion, c: FreeMotionSizes, problem: Problem, t: Floats, q: Floats, rates: Floats, largest: float
) -> float:
    """What the rounding of principal axes may do, from motions of tensors that differ in the last digits."""
    body = problem.body
    assert problem.omega_given is not None
    rows = np.unique(np.linspace(0, t.size - 1, min(t.size, MOST_ROWS)).round().astype(int))
    change = TILTED_ROUNDING * EPSILON
    try:
        bodies = [
            Body(body.tensor + change * float(body.moments.max()) * signs, allow_unphysical=True)
            for signs in TENSOR_CHANGES
        ]
    except ValueError:  # a moment is as small as the rounding of the others
        return math.nan
    if not all(has_closed_form(b) for b in bodies):
        return math.nan
    omegas = problem.omega_given * (1.0 + change * RATE_CHANGES)
    others = FreeMotion(bodies, omegas, problem.quaternion_start, problem.t_start)
    other = others.at_checked(t[rows])
    given = q[None], rates[None], other.quaternion, other.omega, np.full(len(bodies), largest)
    error = TILTED_FACTOR * float(distances(*given, rows, np.zeros(len(bodies), dtype=np.int64)).max())
    from_separatrix = np.append(others.separatrix_distance, motion.separatrix_distance)
    if np.ptp(from_separatrix) > BESIDE_SEPARATRIX * np.abs(from_separatrix).min():
        # The separatrix is as near as they are: the body may stay at the intermediate axis longer than in any of them.
        error += EPSILON * c.sensitivity
        # Before the first flip, what is rounded away from that axis grows exponentially.
        error += change * math.exp(min(c.frequency * abs(problem.span), 700.0))
    least, *_, most = sorted(body.moments.tolist())
    return float(error + 4.0 * EPSILON * most / least)
