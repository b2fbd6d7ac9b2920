"""Drifts beside what is published of bodies under sunlight: end states of YORP, and the life of a dead satellite."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import polhode as ph
from polhode.support.arrays import Floats

pytestmark = pytest.mark.evidence
YEAR, HOUR = 365.25 * 86400.0, 3600.0
CORNERS = 0.3 * np.array(
    [[1.1, 0.1, 0.05], [0.15, 0.95, -0.1], [-0.95, 0.05, 0.12], [0.05, -1, 0.1], [0.1, -0.1, 0.6], [-0.05, 0.15, -0.65]]
)  # km
FACES = [(1, 2, 5), (2, 3, 5), (3, 4, 5), (4, 1, 5), (2, 1, 6), (3, 2, 6), (4, 3, 6), (1, 4, 6)]
SUNS = [(float(np.cos(a)), float(np.sin(a)), 0.0) for a in 2 * np.pi * (np.arange(8) + 0.5) / 8]
"""A year as eight directions to the Sun: their mean is that over a circular orbit."""


def over_a_year(facets: Any) -> Any:
    """The mean of the torque of facets over a year; `facets` makes them for a direction and a pressure."""
    total = None
    for sun in SUNS:
        one = facets(sun=sun, pressure=ph.environment.SOLAR_PRESSURE / len(SUNS))
        total = one if total is None else total + one
    return total


def spun(facets: ph.Facets, axis: Floats, pole: Floats, phases: int = 360) -> Floats:
    """The torque in space on black plates that give their heat back, over a turn about a body axis along the pole."""
    n, c, A = np.array(facets.normals), np.array(facets.centres), np.array(facets.areas)
    n = n / np.linalg.norm(n, axis=1)[:, None]

    def frame(e: Floats) -> Floats:
        x = np.linalg.svd(e[None])[2][1]
        return np.stack([x, np.cross(e, x), e], axis=1)

    a = 2 * np.pi * (np.arange(phases) + 0.5) / phases
    turn = np.zeros((phases, 3, 3))
    turn[:, 0, 0], turn[:, 0, 1], turn[:, 1, 0], turn[:, 1, 1] = np.cos(a), -np.sin(a), np.sin(a), np.cos(a)
    turn[:, 2, 2] = 1.0
    R = frame(pole / np.linalg.norm(pole)) @ turn @ frame(axis).T
    total = np.zeros(3)
    for sun in SUNS:
        s = np.einsum("kji,j->ki", R, np.array(sun))
        lit = A * np.maximum(s @ n.T, 0.0)  # of each plate, at each phase
        force = -lit[:, :, None] * (s[:, None] + 2.0 / 3.0 * n) * ph.environment.SOLAR_PRESSURE / len(SUNS)
        total += np.einsum("kij,kj->i", R, np.cross(c, force).sum(axis=1)) / phases
    return total


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_yorp_turns_an_asteroid_up(here: Path) -> None:
    # Of the shapes of [rubincam2000] and later ones, those without thermal lag end upright or on their side; this one
    # ends upright: at every obliquity below 90 degrees the torque lowers it, and there the rate falls.
    lines = [f"v {a} {b} {c}" for a, b, c in CORNERS] + [f"f {a} {b} {c}" for a, b, c in FACES]
    Path("body.obj").write_text("\n".join(lines))
    body = ph.Body.from_mesh("body.obj", density=2000.0, scale=1e3)

    def facets(**light: Any) -> Any:
        return ph.Facets.from_mesh("body.obj", centre=body.centre, scale=1e3, diffuse=1.0, **light)

    one = facets(sun=SUNS[0])
    axis, C, w = body.axes[:, np.argmax(body.moments)], float(body.moments.max()), 2 * np.pi / (6 * HOUR)
    tilts = np.radians([5, 20, 40, 60, 80])
    lowered = [
        spun(one, axis, np.array([np.sin(o), 0, np.cos(o)])) @ np.array([np.cos(o), 0, -np.sin(o)]) for o in tilts
    ]
    assert max(lowered) < 0.0
    pole = np.array([np.sin(tilts[1]), 0.0, np.cos(tilts[1])])
    between = np.append(1.0 + axis @ pole, np.cross(axis, pole))  # the shortest turn from one to the other
    d = ph.drift(
        body, over_a_year(facets), omega=w * axis, attitude=between / np.linalg.norm(between), t_span=(0, 2e4 * YEAR),
        rtol=1e-3,
    )  # fmt: skip
    mean = solve_ivp(
        lambda t, L: spun(one, axis, L), (0, d.t_last), C * w * pole, method="DOP853", rtol=1e-4, atol=1e-6 * C * w
    )
    L = mean.y[:, -1]
    assert np.abs(d.momentum[-1] - L).max() < (d.error + 1e-3) * C * w  # SciPy's own error
    obliquity = np.degrees(np.arccos(d.pole[:, 2]))
    assert obliquity[-1] < 18.0 < 19.9 < obliquity[0]
    assert np.linalg.norm(d.momentum[-1]) < 0.97 * C * w
