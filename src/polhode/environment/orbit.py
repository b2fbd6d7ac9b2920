"""Orbits: Kepler ellipses, and tables of positions."""

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from polhode.environment.model import Model, rows_of_three
from polhode.environment.planet import EARTH_MU, EARTH_RADIUS
from polhode.kernels.algebra.kepler import NUMBERS, State6, eccentric_anomaly, kepler_state, position, reduced
from polhode.kernels.algebra.vec import cross
from polhode.kernels.algebra.vector_table import handle_of, made_once, packed, table_at
from polhode.kernels.types import Vec3
from polhode.support import checks
from polhode.support.arrays import Floats

SAME_PLANET = 0.01
"""A gravitational parameter within this share of the Earth's is taken for the Earth's."""


def kepler_position(t: float, p: Any) -> Vec3:
    """The position on a Kepler ellipse."""
    return position(kepler_state(t, p))


def table_position(t: float, p: Any) -> Vec3:
    """The position from a table."""
    return table_at(p[0], t)


def table_state(t: float, p: Any) -> State6:
    """Position and velocity from two tables."""
    x, y, z = table_at(p[0], t)
    u, v, w = table_at(p[1], t)
    return (x, y, z, u, v, w)


class Path(Model):
    """Base class of the path of a body around a planet at the origin of space: an orbit or a table of positions."""

    mu: float
    radius: float | None

    position_kernel: ClassVar[Any]
    """The position in space axes as a function (t, p) of the time and of the orbit's parameters, which is compiled."""
    state_kernel: ClassVar[Any]
    """Position and velocity in space axes as such a function."""

    @property
    @abstractmethod
    def numbers(self) -> tuple[float, ...]:
        """The parameters that the kernels find in p."""

    @property
    @abstractmethod
    def span(self) -> tuple[float, float]:
        """The first and the last time for which the orbit is known, in s."""

    @property
    @abstractmethod
    def period(self) -> float:
        """The period in s; of a table, that of a circular orbit at the median distance."""

    breakpoints: ClassVar[tuple[float, ...]] = ()
    """The times at which the position jumps: none."""

    @property
    def knots(self) -> tuple[float, ...]:
        """The times at which a high derivative of the position jumps."""
        return ()

    @property
    def roughness(self) -> float:
        """The sum of all jumps of its third derivative, over the largest distance; in 1/s^3."""
        return 0.0

    @abstractmethod
    def course(self, t0: float, t1: float) -> tuple[Floats, Callable[[Floats], tuple[Floats, Floats]]]:
        """A parameter that rises along the orbit from t0 to t1, and a function of it: times and positions."""

    @classmethod
    def _model_of(cls, table: dict[str, Any]) -> Any:
        return table.get("model", "OrbitTable" if "t" in table else "Orbit")

    def position(self, t: Any) -> Floats:
        """The position in m, in space axes: three numbers, or a row for each time."""
        return self._states(t)[..., :3]

    def velocity(self, t: Any) -> Floats:
        """The velocity in m/s, in space axes: three numbers, or a row for each time."""
        return self._states(t)[..., 3:]

    def _states(self, t: Any) -> Floats:
        times = checks.floats("t", t, "hold times")
        if times.size:
            self.check_span(float(times.min()), float(times.max()))
        p, kernel = np.array(self.numbers), self.state_kernel
        rows = np.array([kernel(x, p) for x in times.reshape(-1).tolist()])
        return rows.reshape((*times.shape, 6))

    def check_span(self, t0: float, t1: float) -> None:
        """Raises ValueError unless the orbit is known between these times."""
        first, last = self.span
        if not (first <= min(t0, t1) and max(t0, t1) <= last):
            raise ValueError(
                f"the orbit is known from t = {first!r} to {last!r} s, but it is needed from {min(t0, t1)!r} to "
                f"{max(t0, t1)!r} s: give positions that cover the run, or let the torque act for a time only, with "
                f".during({first!r}, {last!r})"
            )

    @property
    def planet_radius(self) -> float:
        """The radius of the planet in m: the one that was given, or the Earth's."""
        if self.radius is not None:
            return self.radius
        if abs(self.mu / EARTH_MU - 1.0) > SAME_PLANET:
            raise ValueError(f"the planet is not the Earth (mu is {self.mu:g} m^3/s^2): give its radius in m")
        return EARTH_RADIUS

    def _settle_planet(self) -> None:
        self._settle_model()
        radius = None if self.radius is None else checks.number("radius", self.radius, positive=True)
        self._settle(mu=checks.number("mu", self.mu, positive=True), radius=radius)

    def _warn_if_below(self, least: float) -> None:
        """Warns if the orbit goes through the planet."""
        if self.radius is None and abs(self.mu / EARTH_MU - 1.0) > SAME_PLANET:
            return
        if least < self.planet_radius:
            warnings.warn(
                f"the orbit comes as near as {least / 1e3:.6g} km to the centre of the planet, whose radius is "
                f"{self.planet_radius / 1e3:.6g} km: lengths are in m",
                stacklevel=checks.levels_of_polhode(),
            )


@dataclass(frozen=True)
class Orbit(Path):
    """A Kepler ellipse about a planet at the origin of space. It is prescribed: the attitude does not change it.

    The third axis of space is the axis of the planet, the first points to the equinox. Nothing disturbs the ellipse:
    for an orbit that precesses, or that was measured, see `OrbitTable`.
    """

    semi_major_axis: float
    """The semi-major axis in m."""
    eccentricity: float = 0.0
    """The eccentricity, at least 0 and less than 1."""
    inclination_deg: float = 0.0
    """The angle from the equator to the plane of the orbit, in degrees."""
    raan_deg: float = 0.0
    """The right ascension of the ascending node, in degrees."""
    perigee_deg: float = 0.0
    """The argument of the perigee: the angle from the node to it, in degrees."""
    mean_anomaly_deg: float | None = None
    """The mean anomaly at the epoch, in degrees; 0 if no anomaly is given."""
    true_anomaly_deg: float | None = None
    """The true anomaly at the epoch, in degrees, instead of the mean one."""
    epoch: float = 0.0
    """The time of the run at which the body has that anomaly, in s."""
    mu: float = EARTH_MU
    """The gravitational parameter of the planet, in m^3/s^2."""
    radius: float | None = None
    """The radius of the planet in m; None: the Earth's, at the equator."""
    model: Literal["Orbit"] = field(default="Orbit", repr=False)
    """The kind of model, as scenario files name it."""

    position_kernel, state_kernel = staticmethod(kepler_position), staticmethod(kepler_state)

    def __post_init__(self) -> None:
        a = checks.number("semi_major_axis", self.semi_major_axis, positive=True)
        e = checks.number("eccentricity", self.eccentricity)
        if not 0.0 <= e < 1.0:
            raise ValueError(
                f"eccentricity must be at least 0 and less than 1, not {e:g}: only ellipses are orbits; for a flyby "
                "give positions, as OrbitTable(t, positions)"
            )
        if self.mean_anomaly_deg is not None and self.true_anomaly_deg is not None:
            raise ValueError("give either mean_anomaly_deg or true_anomaly_deg, not both")
        optional = ("mean_anomaly_deg", "true_anomaly_deg")
        angles = {n: getattr(self, n) for n in ("inclination_deg", "raan_deg", "perigee_deg", *optional)}
        numbers = {n: checks.number(n, x) for n, x in angles.items() if x is not None}
        self._settle(semi_major_axis=a, eccentricity=e, epoch=checks.number("epoch", self.epoch), **numbers)
        self._settle_planet()
        self._warn_if_below(a * (1.0 - e))

    @classmethod
    def from_state(
        cls, position: Any, velocity: Any, *, epoch: float = 0.0, mu: float = EARTH_MU, radius: float | None = None
    ) -> "Orbit":
        """The orbit of a body with this position (m) and velocity (m/s), in space axes, at the time `epoch`."""
        r, v = np.array(checks.vector("position", position)), np.array(checks.vector("velocity", velocity))
        mu = checks.number("mu", mu, positive=True)
        distance, h = float(np.linalg.norm(r)), np.cross(r, v)
        if distance == 0.0 or float(np.linalg.norm(h)) == 0.0:
            raise ValueError("position and velocity must not be zero, nor parallel: the body falls straight down")
        energy = 0.5 * float(v @ v) - mu / distance
        if energy >= 0.0:
            escape = math.sqrt(2.0 * mu / distance)
            raise ValueError(
                f"the body leaves the planet: its speed is {float(np.linalg.norm(v)):.6g} m/s, and from {escape:.6g} "
                "on no orbit is closed"
            )
        a = -0.5 * mu / energy
        vector = np.cross(v, h) / mu - r / distance
        e = float(np.linalg.norm(vector))
        node = np.array([-h[1], h[0], 0.0])
        if float(np.linalg.norm(node)) <= 1e-14 * float(np.linalg.norm(h)):
            node = np.array([1.0, 0.0, 0.0])
        side = np.cross(h, node)
        raan = math.atan2(node[1], node[0])
        inclination = math.atan2(math.hypot(h[0], h[1]), h[2])

        side, node = side / np.linalg.norm(side), node / np.linalg.norm(node)

        def angle(x: Floats) -> float:
            return math.atan2(float(x @ side), float(x @ node))

        perigee = angle(vector) if e > 1e-14 else 0.0
        anomaly = angle(r) - perigee
        i, o, w = (math.degrees(x) for x in (inclination, raan, perigee))
        true = math.degrees(reduced(anomaly))
        return cls(a, e, i, o, w, true_anomaly_deg=true, epoch=epoch, mu=mu, radius=radius)

    @staticmethod
    def from_arrays(
        t: Any, position: Any, velocity: Any = None, *, mu: float = EARTH_MU, radius: float | None = None
    ) -> "OrbitTable":
        """The orbit through these positions (m) at these times (s), in space axes: an `OrbitTable`."""
        return OrbitTable(t, position, velocity, mu, radius)

    @property
    def mean_motion(self) -> float:
        """The mean angular rate n, in rad/s."""
        return math.sqrt(self.mu / self.semi_major_axis) / self.semi_major_axis

    @property
    def period(self) -> float:
        """The period in s."""
        return 2.0 * math.pi / self.mean_motion

    @property
    def span(self) -> tuple[float, float]:
        """All times: an ellipse has no end."""
        return -math.inf, math.inf

    @property
    def perigee(self) -> Vec3:
        """The direction from the planet to the perigee, in space axes."""
        return self._axes[0]

    @property
    def normal(self) -> Vec3:
        """The direction about which the body goes around, in space axes."""
        return cross(*self._axes)

    @cached_property
    def _axes(self) -> tuple[Vec3, Vec3]:
        """The directions to the perigee, and of the motion there."""
        c, s = np.cos, np.sin
        i, o, w = np.radians([self.inclination_deg, self.raan_deg, self.perigee_deg])
        p = (c(o) * c(w) - s(o) * s(w) * c(i), s(o) * c(w) + c(o) * s(w) * c(i), s(w) * s(i))
        q = (-c(o) * s(w) - s(o) * c(w) * c(i), -s(o) * s(w) + c(o) * c(w) * c(i), c(w) * s(i))
        return tuple(map(float, p)), tuple(map(float, q))  # type: ignore[return-value]

    @property
    def _mean_anomaly(self) -> float:
        """The mean anomaly at the epoch, in rad."""
        if self.true_anomaly_deg is None:
            return reduced(math.radians(math.fmod(self.mean_anomaly_deg or 0.0, 360.0)))
        e, half = self.eccentricity, 0.5 * reduced(math.radians(math.fmod(self.true_anomaly_deg, 360.0)))
        x = 2.0 * math.atan2(math.sqrt(1.0 - e) * math.sin(half), math.sqrt(1.0 + e) * math.cos(half))
        return x - e * math.sin(x)

    @cached_property
    def numbers(self) -> tuple[float, ...]:
        """Parameters of `kepler_state`."""
        a, e = self.semi_major_axis, self.eccentricity
        b = a * math.sqrt((1.0 - e) * (1.0 + e))
        p, q = self._axes
        found = (self.mean_motion, self.epoch, self._mean_anomaly, e, a, b, *p, *q)
        assert len(found) == NUMBERS
        return found

    def course(self, t0: float, t1: float) -> tuple[Floats, Callable[[Floats], tuple[Floats, Floats]]]:
        """Eccentric anomalies along the way, and a function of them: times and positions."""
        n, epoch, m, e, a, b, *axes = self.numbers
        p, q = np.array(axes[:3]), np.array(axes[3:])

        def at(x: Floats) -> tuple[Floats, Floats]:
            places = (a * (np.cos(x) - e))[..., None] * p + (b * np.sin(x))[..., None] * q
            return epoch + (x - e * np.sin(x) - m) / n, places

        def anomaly(t: float) -> float:
            mean = n * (t - epoch) + m
            return mean - reduced(mean) + eccentric_anomaly(reduced(mean), e)

        first, last = anomaly(t0), anomaly(t1)
        count = max(2, math.ceil((last - first) / (2.0 * math.pi) * LOOKS_PER_TURN) + 1)
        return np.linspace(first, last, count), at


LOOKS_PER_TURN = 180
"""The places in each turn at which events along an orbit are looked for; dips between two of them are found as well."""


@dataclass(frozen=True, repr=False)
class OrbitTable(Path):
    """An orbit through given positions: cubic splines in between, or cubic polynomials that have the given velocities.

    The error of such an interpolation falls with the fourth power of the time between the rows: on a low orbit with a
    row each minute it is about 0.3 m.
    """

    t: tuple[float, ...]
    """Times in s, rising."""
    positions: tuple[Vec3, ...]
    """Positions in m, in space axes, a row for each time."""
    velocities: tuple[Vec3, ...] | None = None
    """Velocities in m/s, in space axes, a row for each time; None: they follow from the positions."""
    mu: float = EARTH_MU
    """The gravitational parameter of the planet, in m^3/s^2."""
    radius: float | None = None
    """The radius of the planet in m; None: the Earth's, at the equator."""
    model: Literal["OrbitTable"] = "OrbitTable"
    """The kind of model, as scenario files name it."""

    position_kernel, state_kernel = staticmethod(table_position), staticmethod(table_state)

    def __post_init__(self) -> None:
        t = checks.row("t", self.t)
        if t.size < 2:
            raise ValueError(f"an orbit needs positions at two times at least, not {t.size}")
        rises = np.diff(t) > 0.0
        if not rises.all():
            bad = int(np.argmin(rises))
            raise ValueError(
                f"the times of an orbit must rise, but t[{bad}] = {float(t[bad])!r} is followed by "
                f"{float(t[bad + 1])!r}"
            )
        rows = {"positions": self.positions, "velocities": self.velocities}
        for name, values in rows.items():
            if values is not None:
                checked = rows_of_three(name, values)
                if len(checked) != t.size:
                    raise ValueError(f"{name} must have a row for each of the {t.size} times, not {len(checked)}")
                self._settle(**{name: checked})
        self._settle(t=tuple(t.tolist()))
        self._settle_planet()
        self._warn_if_below(float(np.linalg.norm(self.positions, axis=1).min()))

    @property
    def span(self) -> tuple[float, float]:
        """The first and the last time, in s."""
        return self.t[0], self.t[-1]

    @property
    def period(self) -> float:
        """The period of a circular orbit at the median distance, in s."""
        r = float(np.median(np.linalg.norm(self.positions, axis=1)))
        return 2.0 * math.pi * r * math.sqrt(r / self.mu)

    @property
    def knots(self) -> tuple[float, ...]:
        """The times between the first and the last one."""
        return self.t[1:-1]

    @cached_property
    def roughness(self) -> float:
        """The sum of all jumps of the third derivative, over the largest distance; in 1/s^3."""
        third = 6.0 * self._spline.c[0]
        second = 2.0 * self._spline.c[1]
        lengths = np.diff(self.t)
        of_second = second[1:] - second[:-1] - third[:-1] * lengths[:-1, None]  # zero but for given velocities
        jumps = np.linalg.norm(np.diff(third, axis=0), axis=1)
        jumps += np.linalg.norm(of_second, axis=1) / np.minimum(lengths[1:], lengths[:-1])
        return float(jumps.sum()) / float(np.linalg.norm(self.positions, axis=1).max())

    @cached_property
    def _spline(self) -> Any:
        from scipy.interpolate import CubicHermiteSpline, CubicSpline

        if self.velocities is None:
            return CubicSpline(self.t, self.positions)
        return CubicHermiteSpline(self.t, self.positions, self.velocities)

    def _tables(self) -> tuple[Floats, Floats]:
        """The positions and the velocities as the numbers that kernels read."""
        knots = np.array(self.t)
        pieces = (s.c.transpose(1, 0, 2) for s in (self._spline, self._spline.derivative()))
        first, second = (packed(knots, np.ascontiguousarray(c)) for c in pieces)
        return first, second

    @property
    def numbers(self) -> tuple[float, ...]:
        """The handles of both tables."""
        return tuple(map(handle_of, made_once(self, "_made_tables", self._tables)))

    def course(self, t0: float, t1: float) -> tuple[Floats, Callable[[Floats], tuple[Floats, Floats]]]:
        """Times along the way, and a function of them: times and positions."""

        def at(t: Floats) -> tuple[Floats, Floats]:
            return t, self._spline(t)

        count = max(2, math.ceil((t1 - t0) / self.period * LOOKS_PER_TURN) + 1)
        return np.linspace(t0, t1, count), at

    def __repr__(self) -> str:
        return f"OrbitTable of {len(self.t)} positions from {self.t[0]:g} to {self.t[-1]:g} s"

    def __reduce__(self) -> Any:
        """Pickles the fields: tables in memory have addresses, which are valid in one process only."""
        return OrbitTable, (self.t, self.positions, self.velocities, self.mu, self.radius)
