"""The magnetic field of a planet along an orbit."""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np

from polhode.environment._tables import OrbitPolynomials, check_table_span, on_earth
from polhode.environment.model import Model, Spanned
from polhode.environment.orbit import Path
from polhode.environment.planet import EARTH_RATE, checked_date, date_of, days_since_2000, sidereal_angle
from polhode.kernels.algebra.trig import sine_cosine
from polhode.kernels.algebra.vec import combine, dot
from polhode.kernels.algebra.vector_table import LookedUp, table_at
from polhode.kernels.codegen import function
from polhode.kernels.ops import section
from polhode.kernels.types import Vec3
from polhode.support import checks
from polhode.support.arrays import Floats
from polhode.support.extras import needed

VectorKernel = Callable[[float, Any], Vec3]
"""`(t, p) -> vector in space axes`."""
MAGNETIC_RADIUS = 6371200.0
"""The radius of the sphere to which the coefficients of IGRF belong, m.  [igrf14]"""
EARTH_DIPOLE = (-29350.0e-9, -1410.3e-9, 4545.5e-9)
"""The coefficients g10, g11 and h11 of IGRF-14 for 2025.0, T.  [igrf14]"""
EQUATORIAL_FIELD = math.hypot(*EARTH_DIPOLE)
FIRST_YEAR, LAST_YEAR = 1900, 2030
"""IGRF-14 is defined between the beginnings of these years.  [igrf14]"""
POLE_LATITUDE_DEG = math.degrees(math.asin(-EARTH_DIPOLE[0] / EQUATORIAL_FIELD))
POLE_LONGITUDE_DEG = math.degrees(math.atan2(-EARTH_DIPOLE[2], -EARTH_DIPOLE[1]))


def dipole_field(t: float, p: Any, r: Vec3) -> Vec3:
    """(k / r^3) (n - 3 (n . u) u), with u the direction of r and n that of the dipole's northern end, which turns."""
    s, c = sine_cosine(p[2] * t + p[1])
    n = (p[3] * c, p[3] * s, p[4])
    r2 = dot(r, r)
    k = p[0] / (r2 * math.sqrt(r2))
    b = combine(n, -3.0 * dot(n, r) / r2, r)
    return (k * b[0], k * b[1], k * b[2])


DIPOLE_NUMBERS = 5


def tabled_field(t: float, p: Any) -> Vec3:
    """The field from a table."""
    return table_at(p[0], t)


@lru_cache(maxsize=32)
def _dipole_along(position: Callable[[float, Any], Vec3], count: int) -> VectorKernel:
    """The field of a dipole along an orbit, whose parameters are behind those of the dipole."""
    place = f"position(t, section(p, {DIPOLE_NUMBERS}, {count}))"
    lines = [f"return dipole_field(t, section(p, 0, {DIPOLE_NUMBERS}), {place})"]
    names = {"dipole_field": dipole_field, "section": section, "position": position}
    made: VectorKernel = function("dipole_along(t, p)", lines, names)
    return made


class Field(Spanned, Model, LookedUp):
    """Base class of models of the magnetic field along an orbit.

    Among the parameters of a torque it is a table: `table_at(p[k], t)` is the flux density at a time, in space axes.
    """

    orbit: Path
    tolerance = 1e-10
    """The largest error of a table, relative to the flux density."""
    breakpoints: ClassVar[tuple[float, ...]] = ()
    """The times at which it jumps: none."""

    @property
    @abstractmethod
    def vector_kernel(self) -> VectorKernel:
        """The flux density in space axes as a function of time and parameters, which is compiled."""

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of its parameters."""

    @abstractmethod
    def numbers(self, table: OrbitPolynomials | None) -> tuple[float, ...]:
        """The parameters that the kernel finds in p; the table must live as long as they are used."""

    def table(self, span: tuple[float, float] | None) -> OrbitPolynomials | None:
        """The table for a run between two times, if the model has one."""
        return None

    @property
    def handle(self) -> float:
        """The parameter by which kernels find its table, as long as this object lives; 0.0 before `for_span`."""
        if self.span is None:
            return 0.0
        return self._kept(lambda: OrbitPolynomials.of(self, self.orbit, self.span)).handle

    @property
    def knots(self) -> tuple[float, ...]:
        """The knots of a table of positions, in s; a Kepler ellipse has none."""
        return self.orbit.knots

    @property
    def roughness(self) -> float:
        """The roughness of a table of positions; a Kepler ellipse has none."""
        return self.orbit.roughness

    def check_span(self, t0: float, t1: float) -> None:
        """Raises ValueError unless the field is known between these times."""
        self.orbit.check_span(t0, t1)

    def vectors(self, t: Any) -> Floats:
        """The flux density in T, in space axes, at these times: three numbers, or a row for each time."""
        times = checks.floats("t", t, "hold times")
        flat = np.atleast_1d(times).reshape(-1)
        if flat.size == 0:
            return np.zeros((*times.shape, 3))
        self.check_span(float(flat.min()), float(flat.max()))
        return self.rows(self.orbit, flat).reshape((*times.shape, 3))

    @abstractmethod
    def rows(self, orbit: Path, times: Floats) -> Floats:
        """The flux density in T, in space axes, at these times."""


@dataclass(frozen=True)
class DipoleField(Field):
    """The field of a magnetic dipole at the centre of the planet.

    With a date it is tilted and turns with the Earth; without one it lies along the third axis of space. Its strength
    and its pole are by default those of IGRF-14 for 2025.0.
    """

    orbit: Path
    """Where the body is."""
    date: str | None = None
    """The date and time at t = 0, in UTC, such as 2026-03-20T14:46:00; None: the dipole is not tilted."""
    equatorial_field: float = EQUATORIAL_FIELD
    """The flux density at the equator of the dipole, at the distance `reference_radius`, in T."""
    reference_radius: float = MAGNETIC_RADIUS
    """The distance from the centre at which the flux density is `equatorial_field`, in m."""
    pole_latitude_deg: float = POLE_LATITUDE_DEG
    """The latitude of the northern pole of the dipole, in degrees, if there is a date."""
    pole_longitude_deg: float = POLE_LONGITUDE_DEG
    """The longitude of the northern pole of the dipole, in degrees, if there is a date."""
    model: Literal["DipoleField"] = field(default="DipoleField", repr=False)
    """The kind of model, as scenario files name it."""

    def __post_init__(self) -> None:
        self._settle_model()
        names = ("equatorial_field", "pole_latitude_deg", "pole_longitude_deg")
        self._settle(
            orbit=Path.given("orbit", self.orbit),
            date=None if self.date is None else checked_date("date", self.date),
            reference_radius=checks.number("reference_radius", self.reference_radius, positive=True),
            **{name: checks.number(name, getattr(self, name)) for name in names},
        )

    @property
    def vector_kernel(self) -> VectorKernel:
        """The field of the dipole where the body is."""
        return _dipole_along(self.orbit.position_kernel, len(self.orbit.numbers))

    @property
    def count(self) -> int:
        """The numbers of the dipole and of the orbit."""
        return DIPOLE_NUMBERS + len(self.orbit.numbers)

    def numbers(self, table: OrbitPolynomials | None) -> tuple[float, ...]:
        """Parameters of `dipole_field`, and the orbit."""
        k = self.equatorial_field * self.reference_radius**3
        if self.date is None:
            return (k, 0.0, 0.0, 0.0, 1.0, *self.orbit.numbers)
        latitude, longitude = math.radians(self.pole_latitude_deg), math.radians(self.pole_longitude_deg)
        angle = sidereal_angle(self.date) + longitude
        return (k, angle, EARTH_RATE, math.cos(latitude), math.sin(latitude), *self.orbit.numbers)

    def rows(self, orbit: Path, times: Floats) -> Floats:
        """The flux density in T, in space axes, at these times."""
        p, kernel = np.array(self.numbers(None)), self.vector_kernel
        return np.array([kernel(t, p) for t in times.tolist()])


@dataclass(frozen=True)
class IGRF(Field):
    """The magnetic field of the Earth, IGRF-14, by the package ppigrf, in a table along the orbit.  [igrf14]

    The table is made when a run begins, of polynomials of degree 7. Its interval is chosen so that it differs from the
    model by 1e-10 of the field at most, along one turn.
    """

    orbit: Path
    """Where the body is."""
    date: str
    """The date and time at t = 0, in UTC, such as 2026-03-20T14:46:00."""
    t_span: tuple[float, float] | None = None
    """The times for which the table is made, in s; None: those of the run."""
    model: Literal["IGRF"] = field(default="IGRF", repr=False)
    """The kind of model, as scenario files name it."""

    def __post_init__(self) -> None:
        self._settle_model()
        span = None if self.t_span is None else checks.numbers("t_span", self.t_span, 2)
        self._settle(orbit=Path.given("orbit", self.orbit), date=checked_date("date", self.date), t_span=span)
        self._check_year(0.0)

    @property
    def vector_kernel(self) -> VectorKernel:
        """The field from the table."""
        return tabled_field

    @property
    def count(self) -> int:
        """One: the handle of the table."""
        return 1

    def table(self, span: tuple[float, float] | None) -> OrbitPolynomials:
        """The table for a run between two times."""
        return OrbitPolynomials.of(self, self.orbit, self.t_span or span)

    def numbers(self, table: OrbitPolynomials | None) -> tuple[float, ...]:
        """The handle of the table."""
        assert table is not None
        return (table.handle,)

    def check_span(self, t0: float, t1: float) -> None:
        """Raises ValueError unless orbit and model are known between these times."""
        super().check_span(t0, t1)
        check_table_span("IGRF", self.t_span, t0, t1)
        self._check_year(t0)
        self._check_year(t1)

    def _check_year(self, t: float) -> None:
        try:
            year = (date_of(self.date) + timedelta(seconds=t)).year
        except OverflowError:
            year = 9999 if t > 0.0 else 1
        if not FIRST_YEAR <= year < LAST_YEAR:
            raise ValueError(
                f"IGRF-14 is defined from {FIRST_YEAR} to {LAST_YEAR}, but t = {t:g} s is in the year {year}: "
                f"t = 0 is {self.date}"
            )

    def rows(self, orbit: Path, times: Floats) -> Floats:
        """The flux density in T, in space axes, at these times."""
        fixed = on_earth(orbit.position(times), times, self.date)
        days = days_since_2000(self.date) + times / 86400.0
        found = np.empty_like(fixed)
        whole = np.floor(days)
        for day in np.unique(whole):
            some = whole == day
            found[some] = self._on_day(float(day), days[some] - day, fixed[some])
        return on_earth(found, times, self.date, back=True)

    def _on_day(self, day: float, part: Floats, places: Floats) -> Floats:
        """The field within a day at these places, both in axes of the Earth."""
        ppigrf = needed("ppigrf", "the magnetic field IGRF needs")
        x, y, z = places.T
        r = np.linalg.norm(places, axis=1)
        theta = np.clip(np.arccos(z / r), LEAST_COLATITUDE, math.pi - LEAST_COLATITUDE)
        phi = np.arctan2(y, x)
        noon = NOON + timedelta(days=day)
        fields = ppigrf.igrf_gc(r / 1e3, np.degrees(theta), np.degrees(phi), [noon, noon + timedelta(days=1)])
        up, south, east = ((1.0 - part) * b[0] + part * b[1] for b in fields)  # coefficients change linearly
        s, c, sp, cp = np.sin(theta), np.cos(theta), np.sin(phi), np.cos(phi)
        outward = up * s + south * c
        return 1e-9 * np.stack([outward * cp - east * sp, outward * sp + east * cp, up * c - south * s], axis=1)


LEAST_COLATITUDE = 1e-9
"""The angle from the poles in rad at which the field is taken where a body is nearer: east is not defined there."""
NOON = date_of("2000-01-01T12:00:00").replace(tzinfo=None)
