"""Orbits: Kepler's equation, ellipses, tables of positions."""

import math
import pickle
from dataclasses import asdict
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import polhode as ph
from polhode import environment
from polhode.environment import EARTH_MU, Orbit, OrbitTable, Path
from polhode.kernels.algebra.kepler import eccentric_anomaly

LONG = Orbit(2.6e7, 0.74, 63.4, 200.0, 270.0, true_anomaly_deg=-130.0, epoch=50.0)

loose: Any = environment
"""For arrays in the place of tuples, and for mistakes, which a type checker would find."""


def test_keplers_equation_has_all_digits() -> None:
    """To two units in the last place, for any eccentricity and anomaly, tiny and near to parabolas included."""
    rng = np.random.default_rng(1995)
    eccentricities = [0.0, 0.3, 0.9, 1 - 1e-3, 1 - 1e-9, 1 - 2.0**-53]
    with mpmath.workdps(40):
        for e in eccentricities:
            for m in [*rng.uniform(-3.1, 3.1, 15).tolist(), *(10.0 ** rng.uniform(-17, 0, 15)).tolist(), math.pi]:
                found = eccentric_anomaly(m, e)
                f = found - mpmath.mpf(e) * mpmath.sin(mpmath.mpf(found)) - mpmath.mpf(m)
                slope = 1 - mpmath.mpf(e) * mpmath.cos(mpmath.mpf(found))
                assert abs(f / slope) <= 4.5e-16 * abs(found)
    assert eccentric_anomaly(0.0, 0.999) == 0.0


def test_an_orbit_is_the_motion_of_two_bodies() -> None:
    start = np.concatenate([LONG.position(0.0), LONG.velocity(0.0)])
    times = np.linspace(0.0, 1.3 * LONG.period, 25)

    def pull(t: float, x: Any) -> Any:
        return np.concatenate([x[3:], -EARTH_MU * x[:3] / np.linalg.norm(x[:3]) ** 3])

    truth = solve_ivp(pull, (0.0, times[-1]), start, "DOP853", times, rtol=1e-13, atol=1e-6).y.T
    np.testing.assert_allclose(LONG.position(times), truth[:, :3], rtol=0, atol=1e-2)  # of 4.5e7 m
    np.testing.assert_allclose(LONG.velocity(times), truth[:, 3:], rtol=0, atol=1e-5)  # of 1e4 m/s


def test_elements_are_where_they_belong() -> None:
    node, perigee, tilt = math.radians(200.0), math.radians(270.0), math.radians(63.4)
    orbit = Orbit(1e7, 0.2, 63.4, 200.0, 270.0)
    r, v = orbit.position(0.0), orbit.velocity(0.0)
    assert np.linalg.norm(r) == pytest.approx(0.8e7, rel=1e-15)
    normal = np.cross(r, v) / np.linalg.norm(np.cross(r, v))
    np.testing.assert_allclose(
        normal, [math.sin(tilt) * math.sin(node), -math.sin(tilt) * math.cos(node), math.cos(tilt)], atol=1e-15
    )
    np.testing.assert_allclose(orbit.normal, normal, atol=1e-15)
    up = np.array([math.cos(node), math.sin(node), 0.0])
    assert float(r @ up) / 0.8e7 == pytest.approx(math.cos(perigee), abs=1e-15)
    assert r[2] < 0  # the perigee lies a quarter turn before the node that rises
    later = Orbit(1e7, 0.2, 63.4, 200.0, 270.0, true_anomaly_deg=90.0, epoch=7.0).position(7.0)
    assert float(later @ r) == pytest.approx(0.0, abs=1.0)
    assert np.linalg.norm(later) == pytest.approx(1e7 * (1 - 0.2**2), rel=1e-14)
    assert orbit.period == pytest.approx(2 * math.pi * math.sqrt(1e21 / EARTH_MU), rel=1e-15)


@pytest.mark.parametrize(
    "orbit",
    [LONG, Orbit(7e6), Orbit(7e6, 0.0, 98.0, 30.0, mean_anomaly_deg=300.0), Orbit(9e6, 0.1), Orbit(9e6, 0.2, 180.0)],
)
def test_elements_from_a_state(orbit: Orbit) -> None:
    again = Orbit.from_state(orbit.position(20.0), orbit.velocity(20.0), epoch=20.0)
    times = np.linspace(-9000.0, 9000.0, 7)
    np.testing.assert_allclose(again.position(times), orbit.position(times), rtol=0, atol=1e-5)
    assert again.eccentricity == pytest.approx(orbit.eccentricity, abs=1e-14)


def test_an_orbit_through_positions() -> None:
    """The error falls by 16 with half the time between the rows; with a row a minute it is what the page says."""
    orbit = Orbit(6.8e6, 0.001, 51.6)
    between = np.linspace(1000.0, 5000.0, 331)
    for velocities in (False, True):
        errors = []
        for step in (120.0, 60.0, 30.0):
            t = np.arange(0.0, 6001.0, step)
            table = Orbit.from_arrays(t, orbit.position(t), orbit.velocity(t) if velocities else None)
            assert isinstance(table, OrbitTable)
            errors.append(np.linalg.norm(table.position(between) - orbit.position(between), axis=1).max())
            speeds = np.linalg.norm(table.velocity(between) - orbit.velocity(between), axis=1).max()
            assert speeds < 0.2 * errors[-1]
        assert 0.2 < errors[1] < 0.5
        assert errors[0] / errors[1] == pytest.approx(16, rel=0.1)
        assert errors[1] / errors[2] == pytest.approx(16, rel=0.1)
    assert table.span == (0.0, 6000.0)
    assert table.period == pytest.approx(orbit.period, rel=1e-3)
    assert pickle.loads(pickle.dumps(table)) == table
    assert Path.given("orbit", asdict(table)) == table
    with pytest.raises(ValueError, match=r"known from t = 0\.0 to 6000\.0 s, but it is needed from 6001\.0"):
        table.position(6001.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Orbit(7e6, 1.0), "eccentricity must be at least 0 and less than 1, not 1"),
        (lambda: Orbit(7e6, -0.1), "not -0.1"),
        (lambda: Orbit(-7e6), "semi_major_axis must be positive"),
        (lambda: Orbit(7e6, mu=0.0), "mu must be positive"),
        (lambda: Orbit(7e6, mean_anomaly_deg=1.0, true_anomaly_deg=2.0), "not both"),
        (lambda: Orbit(7e6, inclination_deg=math.nan), "inclination_deg must be finite"),
        (lambda: Orbit.from_state((7e6, 0, 0), (0, 12e3, 0)), "leaves the planet"),
        (lambda: Orbit.from_state((7e6, 0, 0), (1e3, 0, 0)), "parallel"),
        (lambda: loose.OrbitTable([0, 1, 1], np.full((3, 3), 7e6)), r"must rise, but t\[1\] = 1.0 is followed by 1.0"),
        (lambda: loose.OrbitTable([0], np.full((1, 3), 7e6)), "two times at least"),
        (lambda: loose.OrbitTable([0, 1], np.full((3, 3), 7e6)), "row for each of the 2 times, not 3"),
        (lambda: loose.OrbitTable([0, 1], np.full((3, 2), 7e6)), "rows of three numbers"),
        (lambda: loose.OrbitTable([0, 1], np.full((2, 3), 7e6), np.full((3, 3), 1.0)), "velocities must have a row"),
        (lambda: Orbit(2e6, mu=4.9e12).planet_radius, "not the Earth"),
        (lambda: Path.given("orbit", {"semi_major_axis": 7e6, "exentricity": 0.1}), "did you mean 'eccentricity'"),
        (lambda: Path.given("orbit", {"eccentricity": 0.1}), "lacks 'semi_major_axis'"),
        (lambda: Path.given("orbit", {"model": "Orbital", "semi_major_axis": 7e6}), "there is no model 'Orbital'"),
        (lambda: Path.given("orbit", 7e6), "must be polhode.environment.Orbit"),
    ],
)
def test_what_is_no_orbit(make: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_an_orbit_through_the_planet() -> None:
    with pytest.warns(UserWarning, match="as near as 6300 km"):
        Orbit(7e6, 0.1)
    with pytest.warns(UserWarning, match="as near as 6.8 km"):
        Orbit(6800.0)
    Orbit(1.9e6, mu=4.9e12, radius=1.7374e6)  # about the Moon


def test_orbits_are_values() -> None:
    assert Path.given("orbit", asdict(LONG)) == LONG
    assert hash(pickle.loads(pickle.dumps(LONG))) == hash(LONG)
    assert eval(repr(LONG), {"Orbit": Orbit}) == LONG
    assert ph.environment.Orbit is Orbit
