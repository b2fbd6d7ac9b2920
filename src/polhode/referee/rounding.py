"""How many digits the numbers of a log have, so that rounding in a file is not taken for an error."""

import math
from typing import NamedTuple

import numpy as np

from polhode.referee.reading import Raw
from polhode.support.arrays import Floats

EPSILON = 2.0**-52

FLOAT_ERROR = 8 * EPSILON
"""Numbers with all their digits are taken to be this uncertain, relative to the largest: simulators round, too."""
LEAST_DIFFERENT = 8
"""Least count of different numbers from which digits are inferred: few may be round by chance."""
SAMPLED_ROWS = 2000
"""Digits are counted in this many rows."""
_UNITS = ((1.0, ""), (math.pi / 180.0, " (as radians)"), (180.0 / math.pi, " (as degrees)"))
"""Numbers may have been rounded before they were converted."""


class Rounding(NamedTuple):
    """How far a number in a log may be from the one that was computed."""

    absolute: float
    relative: float
    words: str
    digits: int = 0
    """If not 0: numbers have this many digits, and are off by half of the last one at most."""
    factor: float = 1.0
    """The unit in which they have these digits."""

    def of(self, values: Floats) -> Floats:
        """The largest error of each number by rounding."""
        size = np.abs(values)
        if not self.digits:
            return np.asarray(self.absolute + self.relative * size)
        exponent = np.floor(np.log10(np.maximum(size * self.factor, 1e-300)))
        return np.asarray(self.absolute + 0.5 * 10.0 ** (exponent + 1 - self.digits) / self.factor)


def rounding_of(values: Floats) -> Rounding | None:
    """How the numbers of some columns were rounded; None if too few of them differ to tell."""
    some = values
    if len(values) > SAMPLED_ROWS:  # at random, since every hundredth number may be rounder than the others
        some = values[np.random.default_rng(0).integers(0, len(values), SAMPLED_ROWS)]
    shown = some.ravel()
    x = np.unique(np.abs(shown[shown != 0.0]))
    if x.size < LEAST_DIFFERENT:
        return None
    largest = float(x.max())
    found = [Rounding(FLOAT_ERROR * largest, 0.0, "all digits of a double")]
    with np.errstate(over="ignore"):
        if (x == x.astype(np.float32)).all():
            found.append(Rounding(0.0, 2.0**-24, "single precision"))
    for factor, unit in _UNITS:
        y = x * factor
        tolerance = 6 * EPSILON * y
        for decimals in range(16):
            step = 10.0**-decimals
            if step < 200 * EPSILON * y.max():
                break
            if (np.abs(y - np.round(y * 10.0**decimals) / 10.0**decimals) <= tolerance).all():
                found.append(Rounding(0.5 * step / factor, 0.0, f"{decimals} decimals{unit}"))
                break
        exponent = np.floor(np.log10(y))
        for digits in range(2, 14):
            scale = 10.0 ** (digits - 1 - exponent)
            if (np.abs(y - np.round(y * scale) / scale) <= tolerance).all():
                found.append(Rounding(0.0, 0.0, f"{digits} digits{unit}", digits, factor))
                break
    middle = np.median(x)
    return max(found, key=lambda r: float(r.of(middle)))


class Precision(NamedTuple):
    """Rounding of a log, from its digits."""

    attitude: float
    """The largest angle by which rounding may turn an attitude, in rad."""
    rate: Rounding
    """In the unit of the log."""
    time: float
    """The largest error of a time, in s."""
    words: str


def precision(t: Floats, attitude: Raw | None, omega: Raw | None) -> Precision:
    """The precision of a log: of columns that hardly change it is that of the others."""
    exact = Rounding(FLOAT_ERROR, 0.0, "all digits of a double")
    rates = rounding_of(omega.values) if omega is not None else None
    turns = rounding_of(attitude.values) if attitude is not None else None
    other = rates or turns or exact
    if rates is None:
        size = float(np.abs(omega.values).max()) if omega is not None else 1.0
        # Steady rates are taken for exact, but for the last digit of the format in which the attitudes are printed.
        rates = other._replace(absolute=max(other.absolute if turns else 0.0, FLOAT_ERROR * size))
    if turns is None:
        turns = other if attitude is not None else exact
    angle = 0.0
    if attitude is not None:
        error = turns.of(np.abs(attitude.values).max(axis=0))
        in_rad = math.pi / 180.0 if attitude.unit == "deg" else 1.0
        angle = {
            "quaternion": 2.0 * float(np.sqrt((error**2).sum())),
            "matrix": float(np.sqrt((error**2).sum() / 2.0)),
            "mrp": 4.0 * float(np.sqrt((error**2).sum())),
            "euler": float(error.sum()) * in_rad,
        }[attitude.kind]
    said = []
    if attitude is not None:
        said.append(f"attitudes with {turns.words}")
    if omega is not None:
        said.append(f"rates with {rates.words}")
    return Precision(angle + 4 * EPSILON, rates, time_rounding(t), ", ".join(said))


def time_rounding(t: Floats) -> float:
    """The largest error of the times: how far they are from evenly spaced ones, or half their last digit."""
    span, typical = float(t[-1] - t[0]), float(np.median(np.diff(t)))
    count = round(span / typical) if typical else 0
    if count:
        step = span / count
        off = float(np.abs(t - (t[0] + np.round((t - t[0]) / step) * step)).max())
        if off <= 0.02 * abs(step):
            return off if off > 16 * EPSILON * float(np.abs(t).max()) else 0.0
    found = rounding_of(t[:, None])
    return 0.0 if found is None else float(found.of(np.abs(t).max()))
