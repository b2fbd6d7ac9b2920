"""The Sun: where it stands, and how strong its light is."""

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from polhode.environment.model import Model
from polhode.environment.planet import DAY_SECONDS, checked_date, days_since_2000
from polhode.kernels.algebra.trig import sine_cosine
from polhode.kernels.ops import fma
from polhode.support import checks
from polhode.support.arrays import Floats

SOLAR_PRESSURE = 1361.0 / 299792458.0
"""The pressure of sunlight at the mean distance of the Earth on a black plate that faces it, N/m^2: the solar
irradiance over the speed of light.  [kopp2011]"""
Ray = tuple[float, float, float, float]
"""The direction to the Sun in space axes, and the strength of its light as a multiple of that at the mean distance."""
DEGREE = math.pi / 180.0
CENTRE, TWICE = 1.915 * DEGREE, 0.020 * DEGREE
OBLIQUITY, OBLIQUITY_PER_DAY = 23.439 * DEGREE, -0.0000004 * DEGREE


def sun_ray(t: float, p: Any) -> Ray:
    """The ray from the almanac's formulas: p has longitude, anomaly and obliquity at t = 0, and their rates."""
    g = fma(p[3], t, p[2])
    s, c = sine_cosine(g)
    s2, c2 = 2.0 * s * c, 1.0 - 2.0 * s * s
    sl, cl = sine_cosine(fma(p[1], t, p[0]) + CENTRE * s + TWICE * s2)
    se, ce = sine_cosine(p[4])
    r = 1.00014 - 0.01671 * c - 0.00014 * c2
    return (cl, ce * sl, se * sl, 1.0 / (r * r))


def fixed_ray(t: float, p: Any) -> Ray:
    """A ray that does not change."""
    return (p[0], p[1], p[2], 1.0)


@dataclass(frozen=True)
class Sun(Model):
    """The Sun as it moves over the year, by the low-precision formulas of the Astronomical Almanac (page C5).

    Good to 0.01 degrees from 1950 to 2050, in axes of the mean equator and equinox of the date; the strength of the
    light changes with the distance. The direction is that from the centre of the Earth.  [almanac2012]
    """

    date: str
    """The date and time at t = 0, in UTC, such as 2026-03-20T14:46:00."""
    model: Literal["Sun"] = field(default="Sun", repr=False)
    """The kind of model, as scenario files name it."""

    def __post_init__(self) -> None:
        self._settle_model()
        self._settle(date=checked_date("date", self.date))

    @property
    def numbers(self) -> tuple[float, ...]:
        """Parameters of `sun_ray`."""
        days = days_since_2000(self.date)
        return (
            math.radians((280.460 + 0.9856474 * days) % 360.0), math.radians(0.9856474) / DAY_SECONDS,
            math.radians((357.528 + 0.9856003 * days) % 360.0), math.radians(0.9856003) / DAY_SECONDS,
            OBLIQUITY + OBLIQUITY_PER_DAY * days,
        )  # fmt: skip

    def direction(self, t: Any) -> Floats:
        """The direction to the Sun in space axes at these times: three numbers, or a row for each time."""
        return directions(sun_ray, self.numbers, checks.floats("t", t, "hold times"))


def directions(ray: Any, numbers: tuple[float, ...], times: Floats) -> Floats:
    """The directions of a ray at many times."""
    x, y, z, _ = ray(times, numbers)
    return np.stack([np.broadcast_to(a, times.shape) for a in (x, y, z)], axis=-1)
