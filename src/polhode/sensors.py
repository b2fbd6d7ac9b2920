"""Sensors that see a motion with their errors: gyros, star trackers, magnetometers, Sun and horizon sensors.

    gyro = ph.sensors.Gyro(period=0.1, noise=1e-5, walk=1e-8, seed=1)
    readings = gyro.measure(run)               # of a Solution, a body of an Ensemble or a FreeMotion, afterwards
    reader = gyro.reader()                     # or one after the other, in a loop with a Stepper
    reading = reader(loop.t, loop.quaternion, loop.omega)

What reading k of body b draws depends on the kind of the sensor, the seed, b and k alone, by the counters of Philox
[salmon2011]: not on how many readings or bodies there are. Both ways give the same numbers. Two sensors of one kind
need two seeds.

Examples
--------
>>> gyro = ph.sensors.Gyro(period=0.1, noise=1e-5, walk=1e-8, seed=1)
>>> motion = ph.FreeMotion(ph.Body([1, 2, 2.8]), omega=[0.1, 1, 0])
>>> callable(gyro.measure)
True
"""

from __future__ import annotations

import math
import zlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from polhode.body import Body
from polhode.kernels.algebra.quat import multiply, to_body
from polhode.support import checks
from polhode.support.arrays import Floats

__all__ = ["Gyro", "HorizonSensor", "Magnetometer", "Reading", "Readings", "StarTracker", "SunSensor"]

ALMOST = 1e-9
"""A delay that is longer by this part of itself has passed: times of readings are rounded."""
SINGULAR = 1e-12
"""The ratio of singular values below which the axes of a sensor lie in a plane but for round-off."""


class Reading(NamedTuple):
    """What a sensor says at one time."""

    t: float
    taken: float
    """The time that it belongs to, earlier by the delay of the sensor."""
    value: Floats
    valid: bool
    """Whether there is a value; without one it is NaN."""


class Readings(NamedTuple):
    """What a sensor says at many times: the fields of `Reading` as arrays with a row for each time."""

    t: Floats
    taken: Floats
    value: Floats
    valid: Any


class Sensor(ABC):
    """The base class of sensors: frozen dataclasses with a `period`, and a `seed`."""

    period: float
    seed: int
    size = 3
    """The numbers of a reading."""

    @abstractmethod
    def reader(self, body: int = 0) -> Callable[..., Reading]:
        """What is called with time, quaternion and rate, once for each reading in turn, and returns it."""

    def measure(self, motion: Any, t: Any = None, body: int = 0) -> Readings:
        """The readings of a motion that has `at(t)`; `body` is the number of the one of many whose errors are drawn.

        Without times there is one every period, from the first row of a solution to the last.
        """
        if not callable(getattr(motion, "at", None)) or isinstance(motion, Body):
            raise TypeError(
                f"sensors see one motion, such as a FreeMotion, a Solution or a body of an Ensemble, many[0], and "
                f"{type(motion).__name__} is none"
            )
        if t is None:
            ends = np.asarray(getattr(motion, "t", ()), dtype=np.float64)
            if ends.size < 2:
                raise ValueError(f"{type(motion).__name__} has no rows from which to take the times: give t")
            count = math.floor((float(ends[-1]) - float(ends[0])) / self.period * (1.0 + ALMOST)) + 1
            t = np.minimum(float(ends[0]) + self.period * np.arange(count), float(ends[-1]))
        times = np.atleast_1d(np.array(checks.row("t", np.atleast_1d(t))))
        if (np.diff(times) <= 0.0).any():
            raise ValueError("readings are taken one after the other: t must rise")
        seen, read = motion.at(times), self.reader(body)
        rows = [read(*state) for state in zip(times.tolist(), seen.quaternion, seen.omega, strict=True)]
        value = np.array([row.value for row in rows]).reshape(len(rows), self.size)
        return Readings(times, np.array([r.taken for r in rows]), value, np.array([r.valid for r in rows], dtype=bool))

    def _settle(self, *positive: str) -> None:
        """Checks the fields that all sensors have, and those that must not be negative."""
        for name in ("period", *positive):
            given = checks.number(name, getattr(self, name))
            if given < 0.0 or (name == "period" and given == 0.0):
                sign = "must be positive" if name == "period" else "must not be negative"
                raise ValueError(f"the {name} of a {type(self).__name__} {sign}, not {given:g}")
        if not isinstance(self.seed, int) or isinstance(self.seed, bool) or not 0 <= self.seed < 2**64:
            raise ValueError(f"seed must be a whole number from 0 on, below 2^64, not {self.seed!r}")

    def _drawn(self, body: int, k: int) -> np.random.Generator:
        """The generator of reading k of a body."""
        kind = zlib.crc32(type(self).__name__.encode())  # sensors whose seeds nobody gave have errors of their own
        key = np.array([self.seed, kind], dtype=np.uint64)
        return np.random.Generator(np.random.Philox(key=key, counter=[0, 0, body, k]))


def _nothing(t: float, size: int) -> Reading:
    return Reading(t, t, np.full(size, math.nan), False)


def _row(name: str, given: Any, size: int) -> Floats:
    """The quaternion or rate of the one body that a reader sees."""
    found = np.asarray(given, dtype=np.float64)
    if found.shape != (size,):
        raise ValueError(
            f"a reader sees one body, whose {name} has the shape ({size},), not {found.shape}: of many bodies, give "
            "each a reader of its own, sensor.reader(body), and its row"
        )
    return found


def _turned(q: Any, turn: Floats) -> Floats:
    """The quaternion q followed by a turn about body axes, given as a rotation vector."""
    angle = float(np.linalg.norm(turn))
    x, y, z = (0.5 * np.sinc(angle / (2.0 * np.pi)) * turn).tolist()
    a, b, c, d = (float(item) for item in q)
    return np.array([*multiply((a, b, c, d), (math.cos(0.5 * angle), x, y, z))])


def _matrix(name: str, given: Any) -> Floats:
    """Small turns as a matrix, from three angles in rad, or a matrix as it is."""
    if checks.shape_of(name, given) == (3, 3):
        matrix = np.asarray(checks.array(name, given, (3, 3)))
        sizes = np.linalg.svd(matrix, compute_uv=False)
        if sizes[2] <= SINGULAR * sizes[0]:
            raise ValueError(
                f"{name} is singular, with the singular values {', '.join(f'{x:.3g}' for x in sizes)}: the axes of the "
                "sensor lie in a plane, across which it sees nothing. Give three rows that span space"
            )
        return matrix
    x, y, z = checks.vector(name, given)
    return np.array([[1.0, z, -y], [-z, 1.0, x], [y, -x, 1.0]])


def _read_out(value: Floats, resolution: float, limit: float) -> Floats:
    """What is shown of a value: kept within the limit, and rounded to the resolution."""
    kept = np.clip(value, -limit, limit)
    return np.asarray(resolution * np.round(kept / resolution) if resolution > 0.0 else kept)


@dataclass(frozen=True)
class Gyro(Sensor):
    """Three gyros: M (1 + scale) w + bias + noise, in body axes, kept within the limit and rounded.

    The bias walks: it grows by `walk` sqrt(period) n in a period, with normal n. A reading is the rate at its time with
    the mean of the bias over the period before, and white noise of the variance noise^2 / period + walk^2 period / 12,
    the model of Farrenkopf.  [markley2014, sec. 4.7]

    Examples
    --------
    >>> motion = ph.FreeMotion(ph.Body([1, 2, 2.8]), omega=[0.1, 0.5, 0])
    >>> ideal = ph.sensors.Gyro(period=1.0, seed=1, resolution=0.01)
    >>> ideal.measure(motion, t=[0, 1]).value[0]
    array([0.1, 0.5, 0. ])
    """

    period: float
    """The time from one reading to the next, s."""
    seed: int = 0
    noise: float = 0.0
    """Angle random walk, rad/s^(1/2)."""
    walk: float = 0.0
    """Rate random walk, rad/s^(3/2)."""
    bias: Any = (0.0, 0.0, 0.0)
    """The bias at the start, rad/s."""
    scale: Any = (0.0, 0.0, 0.0)
    """Errors of the scale factors, as 1e-4 for 100 ppm."""
    misalignment: Any = (0.0, 0.0, 0.0)
    """Small turns of the sensor axes about the body axes, rad, or the matrix M from body to sensor axes."""
    resolution: float = 0.0
    """The least step of a reading, rad/s; 0: none."""
    limit: float = math.inf
    """The largest rate that can be read, rad/s."""

    def __post_init__(self) -> None:
        self._settle("noise", "walk", "resolution")
        if not self.limit > 0.0:
            raise ValueError(f"the limit of a Gyro must be positive, not {self.limit!r}")
        checks.vector("bias", self.bias)
        if (least := min(checks.vector("scale", self.scale))) <= -1.0:
            raise ValueError(f"scale is what factors are off by, as 1e-4 for 100 ppm, and above -1, not {least:g}")
        _matrix("misalignment", self.misalignment)

    def reader(self, body: int = 0) -> Callable[..., Reading]:
        """What is called with time, quaternion and rate, once a period, and returns a `Reading`.

        Its attribute `bias` is the true bias at the last reading, for tests of filters.
        """
        return cast("Callable[..., Reading]", GyroReader(self, body))


class GyroReader:
    """The readings of a gyro, one after the other."""

    def __init__(self, gyro: Gyro, body: int) -> None:
        self.gyro, self.body, self.k = gyro, body, 0
        self.bias = np.array(checks.vector("bias", gyro.bias))
        """The true bias at the last reading."""
        scale = 1.0 + np.array(checks.vector("scale", gyro.scale))
        self.matrix = scale[:, None] * _matrix("misalignment", gyro.misalignment)

    def __call__(self, t: float, quaternion: Any, omega: Any) -> Reading:
        """The next reading."""
        gyro, h = self.gyro, self.gyro.period
        n = gyro._drawn(self.body, self.k).standard_normal((2, 3))
        before = self.bias
        if self.k > 0:
            self.bias = before + gyro.walk * math.sqrt(h) * n[0]
        self.k += 1
        white = math.sqrt(gyro.noise**2 / h + gyro.walk**2 * h / 12.0)
        value = self.matrix @ _row("rate", omega, 3) + 0.5 * (before + self.bias) + white * n[1]
        return Reading(t, t, _read_out(value, gyro.resolution, gyro.limit), True)


@dataclass(frozen=True)
class StarTracker(Sensor):
    """A star tracker: the attitude as a quaternion from body to space, with noise across and about its boresight.

    Examples
    --------
    >>> motion = ph.FreeMotion(ph.Body([1, 2, 2.8]), omega=[0, 0, 0.1])
    >>> tracker = ph.sensors.StarTracker(period=1.0, across=1e-5, about=1e-4, delay=1.0, seed=3)
    >>> tracker.measure(motion, t=[0, 1, 2]).valid
    array([False,  True,  True])
    """

    period: float
    seed: int = 0
    across: float = 0.0
    """The standard deviation of turns about each of two axes across the boresight, rad."""
    about: float = 0.0
    """That about the boresight, rad."""
    boresight: Any = (0.0, 0.0, 1.0)
    """The direction in which it looks, in body axes."""
    delay: float = 0.0
    """The age of what it says: the last attitude it was shown that is so old, s."""
    drop_out: float = 0.0
    """The probability that a reading is missing."""
    rate_limit: float = math.inf
    """The rate from which on it sees no stars, rad/s."""

    size = 4

    def __post_init__(self) -> None:
        self._settle("across", "about", "delay", "drop_out")
        if self.drop_out > 1.0:
            raise ValueError(f"drop_out is a probability, at most 1, not {self.drop_out:g}")
        checks.direction("boresight", self.boresight)

    def reader(self, body: int = 0) -> Callable[..., Reading]:
        """What is called with time, quaternion and rate, once a period, and returns a `Reading`."""
        axis = np.array(checks.direction("boresight", self.boresight))
        shown: deque[tuple[float, Floats, float]] = deque()
        k = 0

        def read(t: float, quaternion: Any, omega: Any) -> Reading:
            nonlocal k
            rng = self._drawn(body, k)
            lost, n = rng.random() < self.drop_out, rng.standard_normal(3)
            k += 1
            shown.append((t, _row("quaternion", quaternion, 4).copy(), float(np.linalg.norm(_row("rate", omega, 3)))))
            old = t - self.delay * (1.0 - ALMOST)
            while len(shown) > 1 and shown[1][0] <= old:
                shown.popleft()
            taken, q, rate = shown[0]
            if lost or taken > old or rate > self.rate_limit:
                return Reading(t, taken, np.full(4, math.nan), False)
            along = float(axis @ n) * axis
            return Reading(t, taken, _turned(q, self.across * (n - along) + self.about * along), True)

        return read


@dataclass(frozen=True)
class VectorSensor(Sensor):
    """A sensor that sees a vector of space, in body axes: the base of magnetometers, Sun and horizon sensors."""

    vector: Any
    """The vector in space axes: three numbers, a `Table` of frame="space", a model of `polhode.environment`, or a
    function of time."""
    period: float
    seed: int = 0
    noise: float = 0.0
    """The standard deviation of each component, in the unit of the vector; of directions in rad."""
    bias: Any = (0.0, 0.0, 0.0)
    """A constant that is added, in body axes."""
    misalignment: Any = (0.0, 0.0, 0.0)
    """Small turns of the sensor axes about the body axes, rad, or a matrix from body to sensor axes."""
    resolution: float = 0.0
    """The least step of a reading; 0: none."""
    limit: float = math.inf
    """The largest component that can be read."""
    boresight: Any = None
    """The direction in which it looks, in body axes; None: it sees all around."""
    field_of_view: float = math.pi
    """How far from the boresight the vector may be, rad."""
    seen: Callable[[float], bool] | None = None
    """A function of time that says whether there is anything to see: no Sun in the shadow."""

    is_direction = True

    def __post_init__(self) -> None:
        self._settle("noise", "resolution", "field_of_view")
        if self.field_of_view > math.pi:
            raise ValueError(
                f"field_of_view is an angle from the boresight in rad, at most pi, not {self.field_of_view:g}: of "
                f"degrees take np.radians({self.field_of_view:g})"
            )
        if getattr(self.vector, "frame", "space") != "space":
            raise ValueError(
                f"the table of a {type(self).__name__} is in {self.vector.frame} axes, and it sees a vector of space: "
                "make the table with frame='space'"
            )
        if not self.limit > 0.0:
            raise ValueError(f"the limit of a {type(self).__name__} must be positive, not {self.limit!r}")
        checks.vector("bias", self.bias)
        _matrix("misalignment", self.misalignment)
        if self.boresight is not None:
            checks.direction("boresight", self.boresight)
        if not callable(self.vector) and not hasattr(self.vector, "vectors"):
            checks.vector("vector", self.vector)

    def vector_at(self, t: float) -> Floats:
        """The true vector in space axes."""
        if hasattr(self.vector, "vectors"):
            return np.asarray(self.vector.vectors(np.array([t])), dtype=np.float64).reshape(3)
        found = np.array(self.vector(t) if callable(self.vector) else self.vector, dtype=np.float64)
        if found.shape != (3,) or not np.isfinite(found).all():
            raise ValueError(f"the vector of a {type(self).__name__} must be three numbers at t = {t:g}, not {found}")
        return found

    def reader(self, body: int = 0) -> Callable[..., Reading]:
        """What is called with time, quaternion and rate, once a period, and returns a `Reading`."""
        matrix = _matrix("misalignment", self.misalignment)
        axis = None if self.boresight is None else np.array(checks.direction("boresight", self.boresight))
        k = 0

        def read(t: float, quaternion: Any, omega: Any) -> Reading:
            nonlocal k
            n = self._drawn(body, k).standard_normal(3)
            k += 1
            a, b, c, d = _row("quaternion", quaternion, 4).tolist()
            x, y, z = self.vector_at(t).tolist()
            inside = np.array(to_body((a, b, c, d), (x, y, z)))
            length = float(np.linalg.norm(inside))
            if axis is not None and float(axis @ inside) < math.cos(self.field_of_view) * length:
                return _nothing(t, 3)
            if (self.is_direction and length == 0.0) or (self.seen is not None and not self.seen(t)):
                return _nothing(t, 3)
            value = matrix @ (inside / length if self.is_direction else inside) + np.array(self.bias) + self.noise * n
            value = _read_out(value, self.resolution, self.limit)
            return Reading(t, t, value / np.linalg.norm(value) if self.is_direction else value, True)

        return read


class Magnetometer(VectorSensor):
    """A magnetometer: the field in body axes, in T.

    Examples
    --------
    >>> ph.sensors.Magnetometer([0, 0, 3e-5], period=1.0).measure(
    ...     ph.FreeMotion(ph.Body([1, 2, 2.8]), omega=[0, 0, 0.1]), t=[5]
    ... ).value
    array([[0.e+00, 0.e+00, 3.e-05]])
    """

    is_direction = False


class SunSensor(VectorSensor):
    """A Sun sensor: the direction to the Sun in body axes, a unit vector; not seen beyond its field of view."""


class HorizonSensor(VectorSensor):
    """A horizon sensor: the direction to the centre of the planet in body axes, a unit vector."""
