"""The Sun, the turning Earth, and eclipses."""

import math
from typing import Any

import numpy as np
import pytest

from polhode import environment
from polhode.environment import EARTH_RADIUS, Orbit, Sun, eclipses, sidereal_angle
from polhode.environment.sun import sun_ray

loose: Any = environment
"""For arrays in the place of tuples, and for mistakes, which a type checker would find."""


def test_the_sun_of_a_textbook() -> None:
    """Meeus (1998), example 25.a: 1992 October 13 at 0h, true longitude 199.90988 and obliquity 23.44023 degrees."""
    sun = Sun("1992-10-13")
    longitude, obliquity = math.radians(199.90988), math.radians(23.44023)
    truth = (math.cos(longitude), math.sin(longitude) * math.cos(obliquity), math.sin(longitude) * math.sin(obliquity))
    assert math.degrees(math.acos(min(1.0, float(sun.direction(0.0) @ truth)))) < 0.011
    assert sun_ray(0.0, sun.numbers)[3] == pytest.approx(0.99766**-2, rel=1e-4)


def test_the_sun_stands_on_the_equator_at_equinoxes() -> None:
    """2026 March 20 at 14:46, and 186.4 days later, September 23 at 00:05 UTC (US Naval Observatory)."""
    sun = Sun("2026-03-20T14:46:00")
    later = (186 * 24 + 9 + 19 / 60) * 3600.0
    found = sun.direction([0.0, later])
    np.testing.assert_allclose(found, [[1, 0, 0], [-1, 0, 0]], atol=3e-4)  # 0.01 degrees, and a minute of time
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, rtol=1e-14)


def test_sidereal_time_of_a_textbook() -> None:
    """Meeus (1998), examples 12.a and 12.b: 1987 April 10 at 0h and at 19h 21m."""
    assert math.degrees(sidereal_angle("1987-04-10")) == pytest.approx(197.693195, abs=2e-6)
    assert math.degrees(sidereal_angle("1987-04-10T19:21:00")) == pytest.approx(128.7378734, abs=2e-6)
    assert sidereal_angle("1987-04-10T21:21:00+02:00") == sidereal_angle("1987-04-10T19:21:00")


@pytest.mark.parametrize("beta_deg", [0.0, 40.0, 65.0])
def test_eclipses_of_a_circular_orbit(beta_deg: float) -> None:
    """Half of the arc in the shadow has the cosine sqrt(1 - (R/r)^2) / cos beta; the Sun is beta above the orbit."""
    r, beta = 7e6, math.radians(beta_deg)
    orbit = Orbit(r, mean_anomaly_deg=90.0)
    sun = (2 * math.cos(beta), 0.0, 2 * math.sin(beta))
    half = math.acos(math.sqrt(1 - (EARTH_RADIUS / r) ** 2) / math.cos(beta))
    middle = 0.25 * orbit.period + orbit.period * np.arange(5)
    truth = np.stack([middle - half / orbit.mean_motion, middle + half / orbit.mean_motion], axis=1)
    found = eclipses(orbit, sun, 0.0, 5 * orbit.period)
    np.testing.assert_allclose(found, truth, rtol=0, atol=1e-7 * orbit.period)
    inside = eclipses(orbit, sun, truth[0].mean(), truth[1].mean())  # from night to night
    np.testing.assert_allclose(inside, [[truth[0].mean(), truth[0][1]], [truth[1][0], truth[1].mean()]], atol=1e-3)
    assert eclipses(orbit, sun, truth[0][1] + 1.0, truth[1][0] - 1.0).shape == (0, 2)


def test_an_eclipse_that_is_shorter_than_the_looks() -> None:
    orbit = Orbit(7e6, mean_anomaly_deg=91.0)
    beta = math.asin(EARTH_RADIUS / 7e6) - 1e-6
    found = eclipses(orbit, (math.cos(beta), 0.0, math.sin(beta)), 0.0, orbit.period)
    half = math.acos(math.sqrt(1 - (EARTH_RADIUS / 7e6) ** 2) / math.cos(beta))
    assert len(found) == 1
    assert half < math.radians(0.2)  # and 2 degrees are between two looks
    assert found[0, 1] - found[0, 0] == pytest.approx(2 * half / orbit.mean_motion, rel=1e-6)


def test_eclipses_of_a_long_orbit_and_of_a_table() -> None:
    """Every entry and exit lies on the cylinder, and the distance from it changes its sign there and nowhere else."""
    orbit, sun = Orbit(2.6e7, 0.7, 30.0, 20.0, 60.0), Sun("2026-03-20")
    end = 3 * orbit.period

    def height(t: Any) -> Any:
        r, s = orbit.position(t), sun.direction(t)
        along = (r * s).sum(axis=1)
        away = np.linalg.norm(np.cross(r, s), axis=1)
        return np.where(along < 0, away, np.linalg.norm(r, axis=1)) - EARTH_RADIUS

    found = eclipses(orbit, sun, 0.0, end)
    assert len(found) == 3
    assert np.abs(height(found.ravel())).max() < 1e-3
    times = np.linspace(0.0, end, 4001)
    dark = ((times[:, None] > found[:, 0]) & (times[:, None] < found[:, 1])).any(axis=1)
    np.testing.assert_array_equal(dark, height(times) < 0)
    rows = np.arange(0.0, end + 30.0, 30.0)
    table = loose.OrbitTable(rows, orbit.position(rows), orbit.velocity(rows))
    np.testing.assert_allclose(eclipses(table, sun, 0.0, end), found, rtol=0, atol=0.05)


def test_what_is_no_sun() -> None:
    with pytest.raises(ValueError, match="date must be a date in UTC such as '2026"):
        Sun("yesterday")
    with pytest.raises(TypeError, match="must be a date"):
        Sun(2026)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must point somewhere"):
        eclipses(Orbit(7e6), (0, 0, 0), 0.0, 1.0)
