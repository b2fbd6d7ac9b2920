"""When a body is in the shadow of its planet, which is taken for a cylinder behind a sphere."""

from functools import lru_cache
from typing import Any

import numpy as np

from polhode.environment.orbit import Path
from polhode.environment.sun import Sun, directions, fixed_ray, sun_ray
from polhode.support import checks
from polhode.support.arrays import Floats

HALVINGS = 60
"""Each halves the interval in which a crossing lies: the last digits of the time are reached."""
GOLDEN = 0.6180339887498949
DIP_STEPS = 40
"""Steps of a golden section: they make an interval 2e8 times shorter. Round-off hides anything nearer to a minimum."""


def ray_of(sun: Any) -> tuple[Any, tuple[float, ...]]:
    """The kernel and the parameters of a `Sun`, or of a direction that does not change."""
    return (sun_ray, sun.numbers) if isinstance(sun, Sun) else (fixed_ray, checks.direction("sun", sun))


def eclipses(orbit: Path, sun: Any, t0: float, t1: float) -> Floats:
    """The times between t0 and t1 in which the body is in the shadow of the planet: rows of entry and exit.

    The shadow is a cylinder: there is no penumbra, and the planet is a sphere. `sun` is a `Sun` or a direction in space
    axes. An eclipse that is under way at t0 or t1 begins or ends there.
    """
    orbit = Path.given("orbit", orbit)
    first, last = sorted((checks.number("t0", t0), checks.number("t1", t1)))
    orbit.check_span(first, last)
    sunlike = sun if isinstance(sun, Sun) or not isinstance(sun, dict) else Sun.given("sun", sun)
    times, lit = crossings(orbit, sunlike if isinstance(sunlike, Sun) else checks.vector("sun", sunlike), first, last)
    edges = np.concatenate([[first], times, [last]])
    dark = np.arange(edges.size - 1) % 2 == (1 if lit else 0)
    rows = np.stack([edges[:-1], edges[1:]], axis=1)[dark]
    return np.asarray(rows[rows[:, 0] < rows[:, 1]])


@lru_cache(maxsize=32)
def crossings(orbit: Path, sun: Any, t0: float, t1: float) -> tuple[Floats, bool]:
    """The times between t0 and t1 at which the shadow is entered or left, and whether there is light at t0."""
    ray, numbers = ray_of(sun)
    radius = orbit.planet_radius
    places, at = orbit.course(t0, t1)

    def height(x: Floats) -> Floats:
        """The distance from the shadow, negative inside; in front of the planet that from its surface."""
        times, r = at(x)
        s = directions(ray, numbers, times)
        along = (r * s).sum(axis=-1)
        away = np.linalg.norm(r - along[..., None] * s, axis=-1)
        return np.asarray(np.where(along < 0.0, away, np.linalg.norm(r, axis=-1)) - radius)

    def is_lit(x: Floats) -> Any:
        return height(x) >= 0.0

    seen = height(places)
    places = _with_dips(height, places, seen)
    lit = is_lit(places)
    k = np.flatnonzero(lit[1:] != lit[:-1])
    low, high, side = places[k], places[k + 1], lit[k]
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        same = is_lit(middle) == side
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    times = at(high)[0]
    inside = (times > t0) & (times < t1)
    return times[inside], bool(lit[0]) == (np.count_nonzero(~inside & (times <= t0)) % 2 == 0)


def _with_dips(height: Any, places: Floats, seen: Floats) -> Floats:
    """Adds the lowest place of every dip that lies between two looks, where the body may be in the shadow shortly."""
    middle = np.flatnonzero((seen[1:-1] > 0.0) & (seen[1:-1] <= seen[:-2]) & (seen[1:-1] <= seen[2:])) + 1
    low, high = places[middle - 1], places[middle + 1]
    for _ in range(DIP_STEPS):
        a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        left = height(a) < height(b)
        low, high = np.where(left, low, a), np.where(left, b, high)
    lowest = 0.5 * (low + high)
    return np.union1d(places, lowest[height(lowest) < 0.0])
