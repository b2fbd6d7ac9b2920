"""How something drifts: whether it stays within bounds, grows in proportion to time, walks at random, or explodes."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from polhode.support.arrays import Floats

CLEAR = 0.3
"""A curve explains a drift if it leaves less than this share of it."""
FOLDS = 3.0
"""Least growth, in powers of e, that distinguishes an exponential from a parabola."""


@dataclass(frozen=True, eq=False)
class Drift:
    """How a conserved quantity changes in a log, beyond what the true motion does."""

    name: str
    t: Floats
    values: Floats
    """The change at some rows, relative to the size of the quantity at the start."""
    kind: str
    """"none" above the rounding, "bounded", "linear", "quadratic", "exponential", "random walk" or "irregular"."""
    slope: float
    """The mean change in a second; of a vector the mean growth of its deviation."""
    noise: float
    """The change that rounding in the log can make."""
    rate: float = math.nan
    """Of an exponential growth: the rate in 1/s."""

    @property
    def largest(self) -> float:
        """The largest change."""
        return float(np.abs(self.values).max())

    def __str__(self) -> str:
        if self.kind == "none":
            return f"kept: changes by at most {self.largest:.1e}, which rounding explains (up to {self.noise:.0e})"
        said = {
            "bounded": "stays within bounds",
            "linear": f"drifts linearly, by {self.slope:+.2e} a second",
            "quadratic": "grows as the square of time",
            "exponential": f"grows exponentially, by a factor of e in {1 / self.rate if self.rate else math.inf:.3g} s",
            "random walk": "walks at random",
            "irregular": "changes irregularly",
        }[self.kind]
        return f"{said}; changes by at most {self.largest:.1e}"


def drift_of(name: str, t: Floats, values: Floats, noise: float) -> Drift:
    """A drift with its kind."""
    kind, slope, rate = growth(t, values, noise)
    return Drift(name, t, values, kind, slope, noise, rate)


def growth(t: Floats, values: Floats, noise: float) -> tuple[str, float, float]:
    """The kind of a drift that begins at zero, its slope, and the rate of an exponential one."""
    size = float(np.abs(values).max())
    span = float(t[-1] - t[0])
    if size <= noise or not math.isfinite(size) or values.size < 4:
        return ("none" if size <= noise else "irregular"), 0.0, math.nan
    x = (t - t[0]) / span
    y = values / size
    line = _fit(y, np.stack([np.ones_like(x), x], axis=1))
    through = _fit(y, x[:, None])
    curve = _fit(y, np.stack([x, x * x], axis=1))
    slope = float(line.coefficients[1]) * size / span
    total = float(np.sqrt(np.mean(y * y)))
    folds, exponential = _exponential(x, y)
    if folds >= FOLDS and exponential < 0.5 * curve.left and exponential < CLEAR * total:
        return "exponential", slope, folds / abs(span)
    bent = abs(curve.coefficients[1]) > 2 * abs(curve.coefficients[0])
    if bent and curve.left < 0.5 * through.left and curve.left < CLEAR * total:
        return "quadratic", slope, math.nan
    around = y - line.model
    if abs(line.coefficients[1]) > 1.5 * float(np.ptp(around)) or (
        through.left < CLEAR * total and abs(line.coefficients[1]) > 0.5 * float(np.ptp(around))
    ):
        return "linear", slope, math.nan
    if _walks(y):
        return "random walk", slope, math.nan
    half = y.size // 2
    early, late = float(np.ptp(y[:half])), float(np.ptp(y[half:]))
    return ("bounded" if late < 2.0 * early + 0.1 else "irregular"), slope, math.nan


class _Fit(NamedTuple):
    """A curve through values."""

    coefficients: Floats
    model: Floats
    left: float
    """The root mean square of what the curve leaves."""


def _fit(y: Floats, basis: Floats) -> _Fit:
    coefficients = np.asarray(np.linalg.lstsq(basis, y, rcond=None)[0], dtype=np.float64)
    model: Floats = basis @ coefficients
    return _Fit(coefficients, model, float(np.sqrt(np.mean((y - model) ** 2))))


def _exponential(x: Floats, y: Floats) -> tuple[float, float]:
    """The number of e-foldings of the best a (exp(k x) - 1), and what it leaves."""
    tried = np.geomspace(1.0, 200.0, 60)
    left = [_fit(y, (np.expm1(k * (x - 1.0)) - math.expm1(-k))[:, None]).left for k in tried]
    best = int(np.argmin(left))
    return float(tried[best]), left[best]


def _walks(y: Floats) -> bool:
    """Whether the increments are independent, and the spread grows as the root of the time between two rows."""
    if y.size < 32:
        return False
    d = np.diff(y)
    d = d - d.mean()
    power = float(d @ d)
    if power == 0.0:
        return False
    alike = float(d[1:] @ d[:-1]) / power
    lags = [max(1, y.size // 64), max(2, y.size // 6)]
    spread = [float(np.mean((y[lag:] - y[:-lag]) ** 2)) for lag in lags]
    exponent = 0.5 * math.log(max(spread[1], 1e-300) / max(spread[0], 1e-300)) / math.log(lags[1] / lags[0])
    return abs(alike) < 0.25 and 0.2 < exponent < 0.85
