"""The error of a run, estimated from its distance to a companion: a second run over the whole span.

The steps of the companion are longer by a quarter, and its attitude and momentum at the start and the inverse moments
of its body differ in the last digit. So the distance shows truncation, round-off, what the rounding of the inverse
moments means, and how all of that grows along this motion.
"""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polhode.compiler import program
from polhode.kernels import judge
from polhode.kernels.judge import (
    FACTOR_WHERE_ERRORS_GROW,
    FIRST_TURN,
    NUDGE,
    SECOND_TURN,
    nears_separatrix,
    turned,
)
from polhode.kernels.states import LEAST_SHARE, NO_ERROR
from polhode.kernels.steps.branch_steps import NEGLIGIBLE
from polhode.methods import Method
from polhode.problem import PerturbedStart, Plan, Problem
from polhode.solution import Solution
from polhode.support.arrays import Floats, dots
from polhode.support.checks import FEW_NUMBERS

SHORTER_THAN_MEAN = 0.7
"""The longest step of a companion over the mean step of its run, where steps end at bends of the torque."""
ALIKE = 5
"""The number of steps of a run in which its companion makes a whole number of steps: there the two are compared without
steps aside."""
MANY_ROWS = 500
"""A run of more steps, with output at steps, is compared with its companion only where both end a step."""
STEPS_WITH_ROWS = 1000
"""The number of steps for which DOP853, whose steps are not known beforehand, is compared in listed rows."""
CHECKS = 100
"""The number of rows up to which all are compared, however few steps there are."""
ALL = slice(None)
NOISE = 1e-13
"""Carried numbers that are smaller than this part of the largest one, in a run and its companion, are round-off: the
last digits by which the two begin apart, and what some thousand steps make of them."""


class Factors(NamedTuple):
    """The factors by which the distance to the companion is multiplied, as measured."""

    truncation: float = 5.0
    rounding: float = 5.0
    """The factor of round-off, a part of which the two runs may share."""


ROUND_OFF_OF_GYROSTATS = 1e-10
"""Runs of a gyrostat that are less than this from their companions may differ by round-off alone, of which both may
have the same: where its unstable turns are is not looked for."""


ROTOR_RATE_ROUNDING = 6.0
"""The error of the rate of a gyrostat in units of `NUDGE`, times the rate that its rotor alone would give the body: the
rate is a difference of momenta. Up to 4.6 was seen in 1,400 motions."""


def where_errors_grow(factors: Factors) -> Factors:
    """The factors for a motion that makes all errors grow."""
    return Factors(*(max(x, FACTOR_WHERE_ERRORS_GROW) for x in factors))


def comes_near_separatrix(moments: Floats, momentum: Floats, axes: Floats) -> Any:
    """Whether a free motion through one of these momenta passes near its middle axis: for one body, or for each.

    The arrays have a row of three for one body, and rows of momenta in the user's axes; or one for each of many.
    """
    along = momentum @ axes
    order = np.argsort(moments, axis=-1)
    a, b, c = np.moveaxis(np.take_along_axis(moments, order, axis=-1)[..., None], -2, 0)
    x, y, z = np.moveaxis(np.take_along_axis(along, order[..., None, :], axis=-1), -1, 0)
    with np.errstate(all="ignore"):
        return nears_separatrix(a, b, c, x, y, z).any(axis=-1)


def nudged(
    quaternion: Floats, momentum: Floats, moments: Floats, axes: Floats, inherited: float = 0.0, rate: float = 0.0, *,
    second: bool = False,
) -> PerturbedStart:  # fmt: skip
    """The start of a companion, of one body or of many: numbers that differ in the last digit.

    Where the start has inherited an error, it differs by that; the error of the rate is relative to the rate that the
    body had, or else a body that has come to rest would inherit none. The rate of a tilted body is rounded where it is
    turned to the principal axes: there each of its components differs by the last digit of the whole.

    The component of the momentum on the axis of the greatest moment changes the other way: if all changed alike, or the
    two outer ones did, the distance to the separatrix would keep its relative size, and what grows with its inverse
    would not be seen. Inverses go up and down by turns, from the least moment to the greatest, and equal ones alike: a
    needle feels the difference of its greatest two, and a disc that of its least.
    """
    if momentum.ndim == 1:
        signs, inverses = changes_of_one(*moments.tolist())
        along = momentum @ axes
    else:
        signs, inverses = _changes(moments)
        along = (momentum[..., None, :] @ axes)[..., 0, :]
    tilted = np.count_nonzero(axes, axis=(-2, -1))[..., None] > 3
    size = np.sqrt(((along / moments) ** 2).sum(axis=-1, keepdims=True)) * tilted
    size = np.maximum(size, rate if inherited > NUDGE else 0.0)
    along = np.copysign(np.maximum(np.abs(along), moments * (size / math.sqrt(3.0))), along)
    changes: Floats = axes @ (signs * along)[..., None]
    by = max(inherited, NUDGE)
    attitude = turned(np.moveaxis(quaternion, -1, 0), SECOND_TURN if second else FIRST_TURN, by)
    return PerturbedStart(np.stack(attitude, axis=-1), momentum + by * changes[..., 0], inverses)


def _changes(moments: Floats) -> tuple[Floats, Floats]:
    """The signs of the changes of the momentum in principal axes, and the changed inverses of the moments."""
    is_greatest = moments == moments.max(axis=-1, keepdims=True)
    between = (moments > moments.min(axis=-1, keepdims=True)) & ~is_greatest
    down = between | (is_greatest & ~between.any(axis=-1, keepdims=True))
    return np.where(is_greatest, -1.0, 1.0), (1.0 + NUDGE * np.where(down, -1.0, 1.0)) / moments


@lru_cache(maxsize=128)
def changes_of_one(a: float, b: float, c: float) -> tuple[Floats, Floats]:
    """`_changes` for the moments of one body, which has many companions."""
    return _changes(np.array([a, b, c]))


def estimate(factors: Factors, d: Any, floor: Any, rounding: float = 0.0, left: Any = 0.0) -> Any:
    """The error of a run whose companion is at the distance d; for one body or for many."""
    judged = judge.estimate if isinstance(d, float) else _estimate_many
    return judged(factors.truncation, factors.rounding, d, floor + rounding, left)


_estimate_many = judge.estimator(np.maximum, np.minimum)


def least_error(problem: Problem, rate: Any, unequal: Any = 0.0) -> Any:
    """The error that runs share with their companions (`kernels.judge.floor`), for one body or for many."""
    return judge.floor(problem.t_start, problem.t_end, rate, unequal)


def rate_rounding(rotor: Floats, moments: Floats, fastest: Any) -> Any:
    """What the rounding of momenta leaves in rates, relative to the largest; for one gyrostat or for many.

    A fast rotor in a slow body takes digits away from the rate.
    """
    spin = np.sqrt((rotor * rotor).sum(axis=-1)) / moments.min(axis=-1)
    return (
        ROTOR_RATE_ROUNDING * NUDGE * np.divide(spin, fastest, out=np.zeros_like(spin * fastest), where=fastest > 0.0)
    )


def compared_rows(times: Floats, t_start: float, steps: float) -> NDArray[np.int64] | slice:
    """The rows, of a run with so many steps, in which it is compared with its companion.

    At the start nothing can differ. Of more rows than steps, one for each step is taken, and as many evenly among all:
    so nothing that lasts for a step is passed over, even if rows are not spread evenly.
    """
    first = 1 if times.size > 1 and times[0] == t_start else 0
    count = max(CHECKS, math.ceil(steps))
    if times.size - first <= count:
        return slice(first, None)
    x = np.abs(times[first:] - t_start)
    bins = np.floor(x * (count / x[-1]))
    last = np.append(bins[1:] != bins[:-1], True)
    last[np.linspace(0, last.size - 1, CHECKS).round().astype(int)] = True
    return np.flatnonzero(last) + first


def locates_bends(problem: Problem, method: Method) -> bool:
    """Whether steps of a method end where the torque bends: no step has a bend inside."""
    return method.locates_bends and problem.torque.may_bend and problem.torque.bends_known


def companions(problem: Problem, method: Method) -> int:
    """The number of companions of a run: two where it may err by where in a step the torque bends.

    One could err alike by chance.
    """
    return 2 if problem.torque.may_bend and not locates_bends(problem, method) else 1


def unlocated(problem: Problem, method: Method, steps: Any) -> Any:
    """What a run and its companion may both leave to every bend without locating it, at every other step.

    The part of the tolerance is one of the momentum in the step, and one of the largest momentum.
    """
    if not locates_bends(problem, method):
        return 0.0
    return NEGLIGIBLE * float(dict(method.settings)["rtol"]) * steps


def apart_between_bends(plan: Plan, problem: Problem, steps: int) -> Plan:
    """The plan of a companion whose steps differ from those of the run even where bends end the steps of both.

    From one bend to the next a run may make a single step, and so may a companion with longer ones: then both would err
    alike. So its longest step is shorter than the mean step of the run.
    """
    if not locates_bends(problem, plan.method):
        return plan
    longest = SHORTER_THAN_MEAN * problem.span / max(steps, 1)
    return plan.replace(step=longest) if abs(longest) < abs(plan.step) else plan


def apart_from_start(plan: Plan, t_start: float, times: Floats) -> Plan:
    """The plan of a companion that reaches none of the times by one step from the start, as the run might."""
    stop = judge.first_stop(t_start, math.inf, plan.step, float(times[0]))
    return plan if stop == math.inf else plan.replace(first_stop=stop)


def largest_rate(rate: Floats, start: Floats) -> float:
    """The largest rate in the rows and at the start: a body that comes to rest has this scale."""
    if rate.shape[0] <= FEW_NUMBERS:
        return math.sqrt(max([x * x + y * y + z * z for x, y, z in (*rate.tolist(), start.tolist())]))
    return math.sqrt(max(dots(rate, rate).max(initial=0.0), float(start @ start)))


def distance(
    run: Solution, rows: NDArray[np.int64] | slice, other: Solution, before: float = 0.0, largest: float | None = None
) -> float:
    """The largest difference in the attitude, in radians, and in the rate, relative to the largest one.

    `before` is the largest rate of the same motion before the run began, `largest` that in the rows of the run and at
    its start, if it is known. Numbers that the torque carries count as well, each relative to its largest size.
    """
    largest = max(largest_rate(run.omega, run.problem.omega_start) if largest is None else largest, before)
    given = run.quaternion[None], run.omega[None], other.quaternion[None], run.body.rate(other.momentum, other.t)[None]
    carried = _distance_of_states(run, rows, other) if run.state_names else 0.0
    return max(float(distances(*given, np.array([largest]), rows)[0]), carried)


def distances(
    q: Floats, w: Floats, p: Floats, u: Floats, scale: Floats, rows: NDArray[np.int64] | slice = ALL, places: Any = None
) -> Floats:  # fmt: skip
    """The largest difference of two motions of each body (`kernels.judge.judge_rows`).

    The arrays are (bodies, rows, ...) with attitudes q and vectors w of the first motion and p, u of the second, which
    has these `rows` of the first and the bodies in these `places`. `scale` has the sizes of the vectors of each body.
    """
    bodies, count = p.shape[:2]
    which = np.arange(bodies) if places is None else np.asarray(places)
    found, kept = np.empty(bodies), np.arange(q.shape[1])[rows].copy()
    compare = program(judge.judge_rows, "ppppppnniiii", what="the comparison of two motions")
    listed = [np.ascontiguousarray(x).reshape(-1) for x in (q, w, p, u, scale)]
    compare(*listed, found, kept, which.astype(np.int64), bodies, count, q.shape[1], scale.size // bodies)
    return found


def _distance_of_states(run: Solution, rows: NDArray[np.int64] | slice, other: Solution) -> float:
    """The largest difference of carried numbers, each relative to its largest size along the run."""
    largest = np.abs(np.vstack([run.problem.state_start, run.state])).max(axis=0)
    apart = np.abs(run.state[rows] - other.state).max(axis=0)
    return float(distance_of_numbers(apart, largest, run.torque.state_sizes))


def distance_of_numbers(apart: Floats, largest: Floats, least: tuple[float, ...]) -> Floats:
    """The largest difference of carried numbers, from all differences and from the largest sizes along a run.

    The arrays are those of one body, or have a row for each. Sizes `least` of 0.0 were not given. A number that is
    zero but for round-off, because of a symmetry, has no size to which its error could be relative: it does not count.
    """
    given = np.array(least)
    sizes = np.maximum(largest, given)
    most = np.where(given == NO_ERROR, 0.0, sizes).max(axis=-1, keepdims=True)
    units = np.where(given > 0.0, sizes, np.maximum(sizes, LEAST_SHARE * most))
    noise = (given == 0.0) & ((np.maximum(largest, apart) <= NOISE * most) | (most == 0.0))
    return np.asarray(np.where(noise, 0.0, apart / np.maximum(units, 1e-300)).max(axis=-1))
