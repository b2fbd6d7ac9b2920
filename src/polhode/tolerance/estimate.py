"""The error of a run, estimated from its distance to a companion: a second run over the whole span.

The steps of the companion are longer by a quarter, and its momentum at the start and the inverse moments of its body
differ in the last digit. So the distance shows truncation, round-off, what the rounding of the inverse moments means,
and how all of that grows along this motion.
"""

import math
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from polhode._arrays import Floats, dots
from polhode.integration.nudge import Nudged
from polhode.problem import Problem
from polhode.solution import Solution

Number = TypeVar("Number", np.float64, np.int64)

COARSER = 0.8
"""The steps of the companion for one step of the run."""
CHECKS = 100
"""The most rows at which the two are compared; more would be steps aside that show little."""
NUDGE = 2.0**-52
"""The relative change of the companion's momentum and inverse moments."""
MAYBE_ROUND_OFF = 100.0
"""Estimates below this times the least error may be made of round-off, in which a run and its companion are alike."""


class Factors(NamedTuple):
    """The factors by which the distance to the companion is multiplied, as measured."""

    truncation: float = 5.0
    rounding: float = 5.0
    """The factor of round-off, a part of which the two runs may share."""


def nudged(momentum: Floats, moments: Floats, axes: Floats) -> Nudged:
    """Returns the start of a companion: numbers that differ in the last digit.

    The component of the momentum on the axis of the greatest moment changes the other way: if all changed alike, or the
    two outer ones did, the distance to the separatrix would keep its relative size, and what grows with its inverse
    would not be seen. Inverses go up and down by turns, from the least moment to the greatest, and equal ones alike: a
    needle feels the difference of its greatest two, and a disc that of its least.
    """
    is_greatest = moments == moments.max(axis=-1, keepdims=True)
    between = (moments > moments.min(axis=-1, keepdims=True)) & ~is_greatest
    down = between | (is_greatest & ~between.any(axis=-1, keepdims=True))
    signs = np.where(is_greatest, -1.0, 1.0)
    changes: Floats = axes @ (signs * (momentum[..., None, :] @ axes)[..., 0, :])[..., None]
    return Nudged(momentum + NUDGE * changes[..., 0], (1.0 + NUDGE * np.where(down, -1.0, 1.0)) / moments)


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


def spread(values: NDArray[Number]) -> NDArray[Number]:
    """Returns at most `CHECKS` of the times, or rows, the last among them."""
    if values.size <= CHECKS:
        return values
    some: NDArray[Number] = values[np.unique(np.linspace(0, values.size - 1, CHECKS).round().astype(int))]
    return some


def distance(run: Solution, rows: NDArray[np.int64] | slice, other: Solution) -> float:
    """Returns the largest difference in the attitude, in radians, and in the rate, relative to the largest one."""
    q, p, rate = run.quaternion[rows], other.quaternion, run.body.rate(run.momentum)
    differences, sums, rates = q - p, q + p, rate[rows] - run.body.rate(other.momentum)
    apart2 = np.minimum(dots(differences, differences), dots(sums, sums)).max()
    angle = 4.0 * math.asin(min(1.0, 0.5 * math.sqrt(apart2)))
    largest = math.sqrt(dots(rate, rate).max())
    return max(angle, math.sqrt(dots(rates, rates).max()) / largest if largest > 0 else 0.0)
