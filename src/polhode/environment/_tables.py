"""Tables of vectors along an orbit, filled from functions that are too slow to be evaluated at every step."""

import math
from collections.abc import Hashable
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from polhode.environment.orbit import Path
from polhode.environment.planet import EARTH_FLATTENING, EARTH_RADIUS, EARTH_RATE, sidereal_angle
from polhode.kernels.algebra.vector_table import handle_of, packed
from polhode.support.arrays import Floats

POINTS = 8
"""The values through which each polynomial goes: four on each side of its interval."""
BEYOND = 3
"""Intervals in front of the span and behind it: some methods look further than the end."""
FIRST_PER_TURN, MOST_HALVINGS = 32, 14
"""The intervals in a turn that are tried first, and how often they are halved at most."""
NODES = np.arange(POINTS) - (POINTS // 2 - 1)
POWERS = np.linalg.inv(np.vander(NODES.astype(float), POINTS))
"""From the values at the nodes to the coefficients, highest powers first."""


class Source(Hashable, Protocol):
    """Source of the values of a table."""

    tolerance: float

    def rows(self, orbit: Path, times: Floats) -> Floats:
        """Three numbers for each time."""


class OrbitPolynomials:
    """Polynomials of degree 7 through values at multiples of an interval, whatever the span of the run."""

    def __init__(self, source: Source, orbit: Path, t0: float, t1: float) -> None:
        self.step, self.error = _interval(source, orbit)
        knots, coefficients = _pieces(source, orbit, self.step, t0, t1)
        self.numbers = packed(knots, coefficients)
        """The table as kernels take it."""

    @classmethod
    def of(cls, source: Source, orbit: Path, span: tuple[float, float] | None) -> "OrbitPolynomials":
        """The table for a span, computed now or kept from an earlier call."""
        name = type(source).__name__
        if span is None:
            raise ValueError(f"{name} makes a table along the orbit, and must know for how long: give t_span to {name}")
        return _made(source, orbit, min(span), max(span))

    @property
    def handle(self) -> float:
        """The parameter by which kernels find the table, as long as this object lives."""
        return handle_of(self.numbers)


def check_table_span(name: str, t_span: tuple[float, float] | None, t0: float, t1: float) -> None:
    """Raises ValueError unless `t_span`, if the user gave it, contains t0 and t1."""
    if t_span is not None and not (min(t_span) <= min(t0, t1) and max(t0, t1) <= max(t_span)):
        raise ValueError(
            f"{name} has a table from t = {min(t_span)!r} to {max(t_span)!r} s (t_span), but it is needed from "
            f"{min(t0, t1)!r} to {max(t0, t1)!r} s: leave t_span out, or widen it"
        )


@lru_cache(maxsize=8)
def _made(source: Source, orbit: Path, t0: float, t1: float) -> OrbitPolynomials:
    return OrbitPolynomials(source, orbit, t0, t1)


@lru_cache(maxsize=32)
def _interval(source: Source, orbit: Path) -> tuple[float, float]:
    """The interval with which the error is below the tolerance along one revolution, and that error."""
    first, last = orbit.span
    begin = first if math.isfinite(first) else 0.0
    length = min(orbit.period, last - begin)
    step = orbit.period / FIRST_PER_TURN
    for _ in range(MOST_HALVINGS):
        knots, coefficients = _pieces(source, orbit, step, begin, begin + length)
        error, size = 0.0, 0.0
        for part in (0.5, 0.21):
            times = knots[:-1] + part * step
            known = (times >= first) & (times <= last)
            found = np.zeros((len(coefficients), 3))
            for k in range(POINTS):
                found = found * (part * step) + coefficients[:, k]
            truth = source.rows(orbit, times[known])
            error = max(error, float(np.abs(found[known] - truth).max(initial=0.0)))
            size = max(size, float(np.abs(truth).max(initial=0.0)))
        if error <= source.tolerance * size:
            break
        step *= 0.5
    return step, error


def _pieces(source: Source, orbit: Path, step: float, t0: float, t1: float) -> tuple[Floats, Floats]:
    """Knots and the coefficients (pieces, terms, 3) of the polynomials between them."""
    low, high = math.floor(t0 / step) - BEYOND, math.ceil(t1 / step) + BEYOND
    nodes = np.arange(low + NODES[0], high + NODES[-1], dtype=np.float64) * step
    first, last = orbit.span
    known = (nodes >= first) & (nodes <= last)  # a table of positions ends: times beyond it are ignored
    rows = source.rows(orbit, nodes[known])
    rows = _extended(known, rows)
    windows = np.lib.stride_tricks.sliding_window_view(rows, POINTS, axis=0)  # (pieces, 3, points)
    scale = step ** -np.arange(POINTS - 1.0, -1.0, -1.0)
    coefficients = np.einsum("kp,icp->ikc", POWERS, windows) * scale[:, None]
    knots = np.arange(low, low + len(coefficients) + 1, dtype=np.float64) * step
    return knots, np.ascontiguousarray(coefficients)


def _extended(known: Any, rows: Floats) -> Floats:
    """Continues the values beyond the ends of the orbit by the polynomial through the last ones."""
    before, after = int(np.argmax(known)), int(np.argmax(known[::-1]))
    for count, turned in ((after, False), (before, True)):
        values = rows[::-1] if turned else rows
        order = min(POINTS, len(values))
        signs = np.array([(-1) ** (k + 1) * math.comb(order, k) for k in range(1, order + 1)], dtype=float)
        for _ in range(count):  # the next value, for which the highest difference is zero
            values = np.concatenate([values, (signs[:, None] * values[: -order - 1 : -1]).sum(axis=0)[None]])
        rows = values[::-1] if turned else values
    return np.ascontiguousarray(rows)


# --- places of the Earth


class Place(NamedTuple):
    """Places of the Earth: radians and metres above the ellipsoid WGS 84."""

    longitude: Floats
    latitude: Floats
    altitude: Floats


def on_earth(vectors: Floats, times: Floats, date: str, *, back: bool = False) -> Floats:
    """Vectors of space in axes that turn with the Earth; `back`: from those axes in space axes."""
    angle = sidereal_angle(date) + EARTH_RATE * times
    c, s = np.cos(angle), -np.sin(angle) if back else np.sin(angle)
    x, y, z = vectors.T
    return np.stack([c * x + s * y, c * y - s * x, z], axis=1)


def ground_place(positions: Floats, times: Floats, date: str) -> Place:
    """Longitude, geodetic latitude and altitude of positions in space."""
    x, y, z = on_earth(positions, times, date).T
    across = np.hypot(x, y)
    e2 = EARTH_FLATTENING * (2.0 - EARTH_FLATTENING)
    latitude = np.arctan2(z, across * (1.0 - e2))
    for _ in range(6):  # each makes the error at least a hundred times smaller
        curvature = EARTH_RADIUS / np.sqrt(1.0 - e2 * np.sin(latitude) ** 2)
        latitude = np.arctan2(z + e2 * curvature * np.sin(latitude), across)
    curvature = EARTH_RADIUS / np.sqrt(1.0 - e2 * np.sin(latitude) ** 2)
    c, s = np.cos(latitude), np.sin(latitude)
    altitude = across * c + z * s - EARTH_RADIUS**2 / curvature
    return Place(np.arctan2(y, x), latitude, altitude)
