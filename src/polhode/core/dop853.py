"""One step of the pair of order 8 of Dormand and Prince, with an estimate of its error.

The estimate is that of Hairer's DOP853: differences from steps of orders 5 and 3, combined so that it is proportional
to h^8.  [hairer1993, sec. II.10]
"""

from collections.abc import Callable
from math import sqrt

from polhode.core.quat import norm2, normalised
from polhode.core.runge_kutta import Slope, moved, scaled, slope_of, stage_lines, weighted
from polhode.core.tableaux import DORMAND_PRINCE, DORMAND_PRINCE_ERROR5, DORMAND_PRINCE_THIRD
from polhode.core.text import function
from polhode.core.types import Params, Pull, Rotor, State
from polhode.core.vec import dot

Attempt = Callable[[Rotor, Params, float, State, float, State, float, float], tuple[State, float]]

EVALUATIONS = 11
"""Torque evaluations in an attempt, without that of the slope at its start, which the next attempt uses again."""


def pair(pull: Pull) -> tuple[Slope, Attempt]:
    """Returns the slope, and `attempt(body, p, t, s, h, slope at s, rtol, atol) -> (new state, error)`.

    An error of at most one is within the tolerances. It grows like h^8: the next step may be longer by the factor
    error^(-1/8). It is the root mean square of the error of the attitude, in units of rtol, and of that of the
    momentum, in units of rtol |m| + atol. So it depends neither on the frame nor on the units. An error that is not
    finite belongs to a step that is far too long. The new quaternion is normalised.
    """
    slope = slope_of(pull)
    lead, mix = weighted(DORMAND_PRINCE.step, "k", "moved")
    lead5, mix5 = weighted(DORMAND_PRINCE_ERROR5, "k", "moved")
    third = tuple(b - c for b, c in zip(DORMAND_PRINCE.step, DORMAND_PRINCE_THIRD, strict=True))
    lead3, mix3 = weighted(third, "k", "moved")
    lines = [
        *stage_lines(DORMAND_PRINCE),
        f"new = moved(s, {lead!r} * h, {mix})",
        f"error = error_norm(s, new, scaled({lead5!r} * h, {mix5}), scaled({lead3!r} * h, {mix3}), rtol, atol)",
        "return State(normalised(new.q), new.m), error",
    ]
    names = {
        "State": State, "error_norm": error_norm, "moved": moved, "normalised": normalised, "scaled": scaled,
        "slope": slope,
    }  # fmt: skip
    return slope, function("attempt(body, p, t, s, h, k0, rtol, atol)", lines, names)


def error_norm(s: State, new: State, d5: State, d3: State, rtol: float, atol: float) -> float:
    """Returns d5^2 / sqrt(d5^2 + d3^2 / 100), in units of the tolerances, from the differences of orders 5 and 3."""
    size = sqrt(max(dot(s.m, s.m), dot(new.m, new.m)))
    a, m = 1.0 / max(rtol, 1e-300), max(rtol * size + atol, 1e-300)
    five = _mean_square(a * sqrt(norm2(d5.q)), sqrt(dot(d5.m, d5.m)) / m)
    three = _mean_square(a * sqrt(norm2(d3.q)), sqrt(dot(d3.m, d3.m)) / m)
    return five / sqrt(max(five + 0.01 * three, 1e-300))


def _mean_square(x: float, y: float) -> float:
    return 0.5 * (x * x + y * y)
