"""The error of a run, estimated from its distance to a companion: a second run over the whole span.

The steps of the companion are longer by a quarter, and its attitude and momentum at the start and the inverse moments
of its body differ in the last digit. So the distance shows truncation, round-off, what the rounding of the inverse
moments means, and how all of that grows along this motion.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polhode._arrays import Floats, dots
from polhode._check import FEW_NUMBERS
from polhode.core.states import LEAST_SHARE, NO_ERROR
from polhode.integration.nudge import Nudged
from polhode.problem import Plan, Problem
from polhode.solution import Solution

COARSER = 0.8
"""The steps of the companion for one step of the run."""
FIRST_STOP = 0.37
"""The part of the way to its first row at which a companion makes a stop."""
ALIKE = 5
"""After so many steps of the run its companion has made a whole number, too: there the two can be compared for
nothing."""
MANY_ROWS = 500
"""Beyond this number of steps rows of output at steps are compared where both have a step."""
STEPS_WITH_ROWS = 1000
"""The number of steps for which DOP853, whose steps are not known beforehand, is compared in listed rows."""
CHECKS = 100
"""The number of rows up to which all are compared, however few steps there are."""
CLOSE = 0.05
"""Estimates of more than this part of the tolerance are close to it: where errors may grow, a second companion is
asked."""
CHECKING = 0.5
"""A companion that is asked as a second one, because errors may have grown in a direction that the first does not show,
has the steps of its run times `COARSER` to this power: it errs less than the first, whose estimate it checks."""
NOISE = 1e-13
"""Carried numbers that are smaller than this part of the largest one, in a run and its companion, are round-off: the
last digits by which the two begin apart, and what some thousand steps make of them."""
NUDGE = 2.0**-52
"""The relative change of the companion's momentum and inverse moments."""


def _turn(a: float, b: float, c: float) -> Floats:
    """Returns the turn by these half angles about body axes, in ulps, as a matrix for quaternions as rows."""
    a, b, c = (x * 2.0**-53 for x in (a, b, c))
    return np.array([[1.0, a, b, c], [-a, 1.0, -c, b], [-b, c, 1.0, -a], [-c, -b, a, 1.0]])


TURN, SECOND_TURN = _turn(3.0, -2.4, 1.8), _turn(-1.5, 0.9, 3.0)
"""The turns of the attitude of a companion, and of a second one: what the numbers of an attitude are rounded by in some
steps. A body near a rest has no other error that could grow. The directions are not such along which symmetric things
happen; where errors grow in one direction alone, one of them may not show it."""
MAYBE_ROUND_OFF = 100.0
"""Estimates below this times the least error may be made of round-off, in which a run and its companion are alike."""


class Factors(NamedTuple):
    """The factors by which the distance to the companion is multiplied, as measured."""

    truncation: float = 5.0
    rounding: float = 5.0
    """The factor of round-off, a part of which the two runs may share."""


def nudged(
    quaternion: Floats, momentum: Floats, moments: Floats, axes: Floats, inherited: float = 0.0, rate: float = 0.0, *,
    second: bool = False,
) -> Nudged:  # fmt: skip
    """Returns the start of a companion, of one body or of many: numbers that differ in the last digit.

    Where the start has inherited an error, it differs by that; the error of the rate is relative to the rate that the
    body had, or else a body that has come to rest would inherit none.

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
    if inherited > NUDGE:
        along = np.copysign(np.maximum(np.abs(along), moments * (rate / math.sqrt(3.0))), along)
    changes: Floats = axes @ (signs * along)[..., None]
    turn, by = SECOND_TURN if second else TURN, NUDGE
    if inherited > NUDGE:
        turn, by = np.eye(4) + (turn - np.eye(4)) * (inherited / NUDGE), inherited
    return Nudged(quaternion @ turn, momentum + by * changes[..., 0], inverses)


def _changes(moments: Floats) -> tuple[Floats, Floats]:
    """Returns the signs of the changes of the momentum in principal axes, and the changed inverses of the moments."""
    is_greatest = moments == moments.max(axis=-1, keepdims=True)
    between = (moments > moments.min(axis=-1, keepdims=True)) & ~is_greatest
    down = between | (is_greatest & ~between.any(axis=-1, keepdims=True))
    return np.where(is_greatest, -1.0, 1.0), (1.0 + NUDGE * np.where(down, -1.0, 1.0)) / moments


@lru_cache(maxsize=128)
def changes_of_one(a: float, b: float, c: float) -> tuple[Floats, Floats]:
    """Does the same for the moments of one body, which has many companions."""
    return _changes(np.array([a, b, c]))


def estimate(factors: Factors, d: Any, floor: Any, rounding: float = 0.0, left: float = 0.0) -> Any:
    """Returns the error of a run whose companion is at the distance d; for one body or for many."""
    larger, smaller = (max, min) if isinstance(d, float) else (np.maximum, np.minimum)
    floor = floor + rounding
    return larger(factors.truncation * d, smaller(factors.rounding * d, MAYBE_ROUND_OFF * floor)) + floor + left


def least_error(problem: Problem, rate: Any, unequal: Any = 0.0) -> Any:
    """Returns what no companion sees, because it has the same: the rounding of times, and some of that of rates.

    The principal moments of a tilted tensor are known to some ulps of the greatest one only: `unequal` is that over the
    least one. The arguments are numbers for one body, or arrays for many.
    """
    span = abs(problem.span)
    # Times that are greater than the span are rounded that much more coarsely.
    beyond = max(abs(problem.t_start), abs(problem.t_end), span) - span
    return 2.0**-52 * (8.0 + (1.0 + 2.0 * unequal) * rate * span + rate * beyond)


def compared_rows(times: Floats, t_start: float, steps: float) -> NDArray[np.int64] | slice:
    """Returns the rows, of a run with so many steps, in which it is compared with its companion.

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


def companions(problem: Problem) -> int:
    """Returns the number of companions of a run: two where it may err by where in a step the torque bends.

    One could err alike by chance. Where bends are located no step has one inside.
    """
    torque = problem.torque
    return 2 if torque.may_bend and not torque.bends_known else 1


def apart_from_start(plan: Plan, t_start: float, times: Floats) -> Plan:
    """Returns the plan of a companion that reaches none of the times by one step from the start, as the run might."""
    ahead = float(times[0]) - t_start
    if abs(ahead) >= 0.999 * abs(plan.step) or abs(ahead) < 1e-6 * abs(plan.step):
        return plan
    return plan.replace(first_stop=t_start + FIRST_STOP * ahead)


def largest_rate(rate: Floats, start: Floats) -> float:
    """Returns the largest rate in the rows and at the start: a body that comes to rest has this scale."""
    if rate.shape[0] <= FEW_NUMBERS:
        return math.sqrt(max([x * x + y * y + z * z for x, y, z in (*rate.tolist(), start.tolist())]))
    return math.sqrt(max(dots(rate, rate).max(initial=0.0), float(start @ start)))


def distance(
    run: Solution, rows: NDArray[np.int64] | slice, other: Solution, before: float = 0.0, largest: float | None = None
) -> float:
    """Returns the largest difference in the attitude, in radians, and in the rate, relative to the largest one.

    `before` is the largest rate of the same motion before the run began, `largest` that in the rows of the run and at
    its start, if it is known. Numbers that the torque carries count as well, each relative to its largest size.
    """
    q, p, rate = run.quaternion[rows], other.quaternion, run.omega
    rates = rate[rows] - run.body.rate(other.momentum)
    if q.shape[0] <= FEW_NUMBERS:  # for these the calls of NumPy take longer
        apart2 = max(map(_apart2, q.tolist(), p.tolist()))
        faster2 = max([x * x + y * y + z * z for x, y, z in rates.tolist()])
    else:
        differences, sums = q - p, q + p
        apart2 = np.minimum(dots(differences, differences), dots(sums, sums)).max()
        faster2 = dots(rates, rates).max()
    angle = 4.0 * math.asin(min(1.0, 0.5 * math.sqrt(apart2)))
    largest = max(largest_rate(rate, run.problem.omega_start) if largest is None else largest, before)
    carried = _distance_of_states(run, rows, other) if run.state_names else 0.0
    return max(angle, math.sqrt(faster2) / largest if largest > 0 else 0.0, carried)


def _apart2(q: Sequence[float], p: Sequence[float]) -> float:
    """Returns the square of the distance of two quaternions, whatever their signs."""
    a, b, c, d = q
    e, f, g, h = p
    if a * e + b * f + c * g + d * h < 0.0:
        e, f, g, h = -e, -f, -g, -h
    a, b, c, d = a - e, b - f, c - g, d - h
    return a * a + b * b + c * c + d * d


def _distance_of_states(run: Solution, rows: NDArray[np.int64] | slice, other: Solution) -> float:
    """Returns the largest difference of carried numbers, each relative to its largest size along the run."""
    largest = np.abs(np.vstack([run.problem.state_start, run.state])).max(axis=0)
    apart = np.abs(run.state[rows] - other.state).max(axis=0)
    return float(distance_of_numbers(apart, largest, run.torque.state_sizes))


def distance_of_numbers(apart: Floats, largest: Floats, least: tuple[float, ...]) -> Floats:
    """Returns the largest difference of carried numbers, from all differences and from the largest sizes along a run.

    The arrays are those of one body, or have a row for each. Sizes `least` of 0.0 were not given. A number that is
    zero but for round-off, because of a symmetry, has no size to which its error could be relative: it does not count.
    """
    given = np.array(least)
    sizes = np.maximum(largest, given)
    most = np.where(given == NO_ERROR, 0.0, sizes).max(axis=-1, keepdims=True)
    units = np.where(given > 0.0, sizes, np.maximum(sizes, LEAST_SHARE * most))
    noise = (given == 0.0) & ((np.maximum(largest, apart) <= NOISE * most) | (most == 0.0))
    return np.asarray(np.where(noise, 0.0, apart / np.maximum(units, 1e-300)).max(axis=-1))
