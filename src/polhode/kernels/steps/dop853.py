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
from polhode.kernels.states import Slope, form_of, sizes_of
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
    form = form_of(len(carried))
    slope = form.slope_of(pull)
    lead, mix = weighted(DORMAND_PRINCE.step, "k", "moved")
    lead5, mix5 = weighted(DORMAND_PRINCE_ERROR5, "k", "moved")
    third = tuple(b - c for b, c in zip(DORMAND_PRINCE.step, DORMAND_PRINCE_THIRD, strict=True))
    lead3, mix3 = weighted(third, "k", "moved")
    sizes = ", sizes" if carried else ""
    lines = [
        *stage_lines(DORMAND_PRINCE),
        f"new = moved(s, {lead!r} * h, {mix})",
        f"error = error_norm(s, new, scaled({lead5!r} * h, {mix5}), scaled({lead3!r} * h, {mix3}), rtol, atol{sizes})",
        "return turned(new, normalised(new.q)), error",
    ]
    names = {
        "bodies_at": bodies_at, "error_norm": _norm_with(carried) if carried else error_norm, "moved": form.moved,
        "normalised": normalised, "scaled": form.scaled, "slope": slope, "turned": form.turned,
    }  # fmt: skip
    return slope, function("attempt(body, p, t, s, h, k0, rtol, atol, sizes)", lines, names)


def error_norm(s: State, new: State, d5: State, d3: State, rtol: float, atol: float) -> float:
    """Returns d5^2 / sqrt(d5^2 + d3^2 / 100), in units of the tolerances, from the differences of orders 5 and 3."""
    five, three = mean_squares(s, new, d5, d3, rtol, atol)
    return five / sqrt(max(five + 0.01 * three, 1e-300))


def mean_squares(s: State, new: State, d5: State, d3: State, rtol: float, atol: float) -> tuple[float, float]:
    """The mean squares of both differences, in units of the tolerances."""
    size = sqrt(max(dot(s.m, s.m), dot(new.m, new.m)))
    a, m = 1.0 / max(rtol, 1e-300), max(rtol * size + atol, 1e-300)
    five = _mean_square(a * sqrt(norm2(d5.q)), sqrt(dot(d5.m, d5.m)) / m)
    three = _mean_square(a * sqrt(norm2(d3.q)), sqrt(dot(d3.m, d3.m)) / m)
    return five, three


def _norm_with(carried: tuple[float, ...]) -> Any:
    """The norm of the error, for states that carry numbers of a torque."""
    error = sizes_of(carried).error

    def norm(s: Any, new: Any, d5: Any, d3: Any, rtol: float, atol: float, sizes: Any) -> float:
        five, three = mean_squares(s, new, d5, d3, rtol, atol)
        five, three = max(five, error(d5, new, sizes, rtol) ** 2), max(three, error(d3, new, sizes, rtol) ** 2)
        return float(five / sqrt(max(five + 0.01 * three, 1e-300)))

    return norm


def _mean_square(x: float, y: float) -> float:
    return 0.5 * (x * x + y * y)
