"""The density of the air along an orbit."""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from polhode.environment._tables import OrbitPolynomials, check_table_span, ground_place
from polhode.environment.model import Model
from polhode.environment.orbit import Path
from polhode.environment.planet import checked_date, date_of
from polhode.kernels.algebra.kepler import State6
from polhode.kernels.algebra.vector_table import table_at
from polhode.kernels.ops import fma
from polhode.support import checks
from polhode.support.arrays import Floats
from polhode.support.extras import needed

DensityKernel = Callable[[float, Any, State6], float]
"""`(t, p, state) -> kg/m^3`, with the body's position and velocity."""


def constant_density(t: float, p: Any, s: State6) -> float:
    """A density that does not change."""
    rho: float = p[0]
    return rho


def exponential_density(t: float, p: Any, s: State6) -> float:
    """rho exp((r0 - r) / H)."""
    r = math.sqrt(fma(s[2], s[2], fma(s[1], s[1], s[0] * s[0])))
    rho: float = p[0] * math.exp((p[1] - r) * p[2])
    return rho


def tabled_density(t: float, p: Any, s: State6) -> float:
    """The density from a table of its logarithms."""
    return math.exp(table_at(p[0], t)[0])


class Air(Model):
    """Base class of models of the air density along an orbit."""

    density_kernel: ClassVar[Any]
    """The density as a plain function (`DensityKernel`), which is compiled."""
    count: ClassVar[int]
    """The number of its parameters."""

    @abstractmethod
    def numbers(self, orbit: Path, table: OrbitPolynomials | None) -> tuple[float, ...]:
        """The parameters of the density along an orbit; the table must live as long as they are used."""

    def table(self, orbit: Path, span: tuple[float, float] | None) -> OrbitPolynomials | None:
        """The table for a run between two times, if the model has one."""
        return None

    def check_span(self, t0: float, t1: float) -> None:
        """Raises ValueError unless the density is known between these times."""


@dataclass(frozen=True)
class ExponentialAir(Air):
    """Air whose density falls exponentially with the height above a sphere."""

    density: float
    """The density at `altitude`, in kg/m^3."""
    altitude: float
    """The height above the planet's radius at which the density is `density`, in m."""
    scale_height: float
    """The scale height H, over which the density falls to 1/e, in m."""
    model: Literal["ExponentialAir"] = field(default="ExponentialAir", repr=False)
    """The kind of model, as scenario files name it."""

    density_kernel, count = staticmethod(exponential_density), 3

    def __post_init__(self) -> None:
        self._settle_model()
        density = checks.number("density", self.density, negative=False)
        height = checks.number("scale_height", self.scale_height, positive=True)
        self._settle(density=density, altitude=checks.number("altitude", self.altitude), scale_height=height)

    def numbers(self, orbit: Path, table: OrbitPolynomials | None) -> tuple[float, ...]:
        """The density, the distance from the centre at which it holds, and 1 / H."""
        return (self.density, orbit.planet_radius + self.altitude, 1.0 / self.scale_height)


@dataclass(frozen=True)
class MSIS(Air):
    """The atmosphere NRLMSIS 2.1 of the Earth, by the package pymsis, in a table along the orbit.

    The indices of solar and geomagnetic activity are given here and passed to pymsis, which then downloads none.
    """

    date: str
    """The date and time at t = 0, in UTC, such as 2026-03-20T14:46:00."""
    f107: float
    """The solar radio flux F10.7 of the day before, in solar flux units (1e-22 W m^-2 Hz^-1)."""
    f107a: float
    """Its mean over 81 days around the date."""
    ap: float
    """The daily geomagnetic index Ap."""
    t_span: tuple[float, float] | None = None
    """The times for which the table is made, in s; None: those of the run."""
    model: Literal["MSIS"] = field(default="MSIS", repr=False)
    """The kind of model, as scenario files name it."""

    density_kernel, count = staticmethod(tabled_density), 1

    def __post_init__(self) -> None:
        self._settle_model()
        indices = {name: checks.number(name, getattr(self, name), negative=False) for name in ("f107", "f107a", "ap")}
        span = None if self.t_span is None else checks.numbers("t_span", self.t_span, 2)
        self._settle(date=checked_date("date", self.date), t_span=span, **indices)

    def table(self, orbit: Path, span: tuple[float, float] | None) -> OrbitPolynomials:
        """The table for a run between two times."""
        return OrbitPolynomials.of(self, orbit, self.t_span or span)

    def numbers(self, orbit: Path, table: OrbitPolynomials | None) -> tuple[float, ...]:
        """The handle of the table."""
        assert table is not None
        return (table.handle,)

    def check_span(self, t0: float, t1: float) -> None:
        """Raises ValueError unless the density is known between these times."""
        check_table_span("MSIS", self.t_span, t0, t1)

    def rows(self, orbit: Path, times: Floats) -> Floats:
        """The logarithm of the density at these times, in the first of three columns."""
        places = ground_place(orbit.position(times), times, self.date)
        found = np.zeros((times.size, 3))
        found[:, 0] = np.log(self.densities(places, times))
        return found

    def densities(self, places: Any, times: Floats) -> Floats:
        """The density in kg/m^3 at these places of the Earth and times."""
        pymsis = needed("pymsis", "the atmosphere MSIS needs")
        begin = np.datetime64(date_of(self.date).replace(tzinfo=None), "us")
        dates = begin + (times * 1e6).astype("timedelta64[us]")
        count = times.size
        indices = (np.full(count, self.f107), np.full(count, self.f107a), np.full((count, 7), self.ap))
        out = pymsis.calculate(
            dates, np.degrees(places.longitude), np.degrees(places.latitude), places.altitude / 1e3, *indices,
            version=2.1,
        )  # fmt: skip
        return np.asarray(out, dtype=np.float64).reshape(count, -1)[:, 0]

    tolerance = 3e-5
    """The error that the logarithm of the density in the table may have, as a share of its size, which is about 30. The
    model computes with single precision, which leaves a noise of 1e-5, and jumps at midnight by 4e-4."""
