"""One step of the pair of order 8 of Dormand and Prince, with an estimate of its error.

The estimate is that of Hairer's DOP853: differences from steps of orders 5 and 3, combined so that it is proportional
to h^8.  [hairer1993, sec. II.10]
"""

from collections.abc import Callable
from math import sqrt
from typing import Any

from polhode.kernels.algebra.quat import norm2, normalised
from polhode.kernels.algebra.vec import dot
from polhode.kernels.codegen import function
from polhode.kernels.gyrostat import bodies_at
from polhode.kernels.states import Slope, moved, scaled, sizes_of, slope_of, turned
from polhode.kernels.steps.explicit_runge_kutta import stage_lines, weighted
from polhode.kernels.steps.tableaux import DORMAND_PRINCE, DORMAND_PRINCE_ERROR5, DORMAND_PRINCE_THIRD
from polhode.kernels.types import Pull, State

Attempt = Callable[..., tuple[Any, float]]

EVALUATIONS = 11
"""Torque evaluations in an attempt, without that of the slope at its start, which the next attempt uses again."""


def pair(pull: Pull, carried: tuple[float, ...] = ()) -> tuple[Slope, Attempt]:
    """The slope, and `attempt(body, p, t, s, h, slope at s, rtol, atol, sizes) -> (new state, error)`.

    An error of at most one is within the tolerances. It grows like h^8: the next step may be longer by the factor
    error^(-1/8). It is the root mean square of the error of the attitude, in units of rtol, and of that of the
    momentum, in units of rtol |m| + atol. So it depends neither on the frame nor on the units. If the torque carries
    numbers, it is at least the error of each of them, in units of rtol times the size so far. An error that is not
    finite belongs to a step that is far too long. The new quaternion is normalised.
    """
    slope = slope_of(pull, carries=bool(carried))
    lead, mix = weighted(DORMAND_PRINCE.step, "k", "moved")
    lead5, mix5 = weighted(DORMAND_PRINCE_ERROR5, "k", "moved")
    third = tuple(b - c for b, c in zip(DORMAND_PRINCE.step, DORMAND_PRINCE_THIRD, strict=True))
    lead3, mix3 = weighted(third, "k", "moved")
    lines = [
        *stage_lines(DORMAND_PRINCE),
        f"new = moved(s, {lead!r} * h, {mix})",
        f"d5, d3 = scaled({lead5!r} * h, {mix5}), scaled({lead3!r} * h, {mix3})",
        "z5, z3 = error_of_numbers(d5, new, sizes, rtol), error_of_numbers(d3, new, sizes, rtol)",
        "return turned(new, normalised(new.q)), error_norm(s, new, d5, d3, rtol, atol, z5, z3)",
    ]
    names = {
        "bodies_at": bodies_at, "error_norm": error_norm, "error_of_numbers": sizes_of(carried).error, "moved": moved,
        "normalised": normalised, "scaled": scaled, "slope": slope, "turned": turned,
    }  # fmt: skip
    return slope, function("attempt(body, p, t, s, h, k0, rtol, atol, sizes)", lines, names)


def error_norm(
    s: State, new: State, d5: State, d3: State, rtol: float, atol: float, z5: float = 0.0, z3: float = 0.0
) -> float:
    """Returns d5^2 / sqrt(d5^2 + d3^2 / 100), in units of the tolerances, from the differences of orders 5 and 3.

    These are at least z5 and z3, those of carried numbers.
    """
    size = sqrt(max(dot(s.m, s.m), dot(new.m, new.m)))
    a, m = 1.0 / max(rtol, 1e-300), max(rtol * size + atol, 1e-300)
    five = max(_mean_square(a * sqrt(norm2(d5.q)), sqrt(dot(d5.m, d5.m)) / m), z5 * z5)
    three = max(_mean_square(a * sqrt(norm2(d3.q)), sqrt(dot(d3.m, d3.m)) / m), z3 * z3)
    return five / sqrt(max(five + 0.01 * three, 1e-300))


def _mean_square(x: float, y: float) -> float:
    return 0.5 * (x * x + y * y)
