"""Hyperion: the moon that tumbles. A long moon on an eccentric orbit keeps neither its spin nor its axis."""

import math
from typing import Any

import numpy as np

import polhode as ph

ECCENTRIC, CIRCULAR = (ph.environment.Orbit(1.481e9, eccentricity=e, mu=3.7931e16) for e in (0.1, 0.0))
A2, B2, C2 = 190.0**2, 145.0**2, 114.0**2
LONG, ROUND = ph.Body([B2 + C2, A2 + C2, A2 + B2]), ph.Body([1.0, 1.0, 1.0])
ORBITS = 25


def pole(body: ph.Body, orbit: Any, more: float = 0.0) -> Any:
    """Where the shortest axis points, over time; it starts a hundredth of a radian off the normal of the orbit."""
    turn = 0.5 + more
    q = (math.cos(turn / 2), 0.0, 0.0, math.sin(turn / 2))
    tilted = ph.quaternion_product(q, (math.cos(0.005), math.sin(0.005), 0.0, 0.0))
    t = np.linspace(0.0, ORBITS * orbit.period, 20 * ORBITS + 1)
    run = ph.simulate(
        body, ph.GravityGradient(orbit=orbit), omega=[0, 0, 1.1 * orbit.mean_motion], attitude=tilted,
        t_span=(0, t[-1]), t_eval=t, method="G8", step=orbit.period / 100,
    )  # fmt: skip
    return run.attitude.apply([0, 0, 1])


def test_the_long_moon_falls_over_and_a_round_one_does_not() -> None:
    assert pole(LONG, ECCENTRIC)[:, 2].min() < -0.5  # upside down
    assert pole(ROUND, ECCENTRIC)[:, 2].min() > 0.9999


def test_starts_that_none_can_tell_apart_part() -> None:
    """Wisdom, Peale and Mignard (1984): nearby motions part by a factor e in about two orbits."""
    apart = [
        np.linalg.norm(pole(LONG, orbit, 1e-9) - pole(LONG, orbit), axis=1).max() for orbit in (ECCENTRIC, CIRCULAR)
    ]
    assert apart[0] > 1e-6
    assert apart[1] < 1e-6
