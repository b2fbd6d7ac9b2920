"""The map of Hyperion: a few of its pixels, computed by SciPy from Euler's equations and Kepler's."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

FILE = Path(__file__).parents[2] / "examples" / "hyperion_map.py"


def example() -> Any:
    spec = importlib.util.spec_from_file_location("hyperion_map", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def largest_lean(omega: Any, q: Any, moments: Any, orbits: int, rows: int) -> float:
    """Integrates attitude, rate, position and velocity; units are 1 / n of time, and the semi-major axis."""
    eccentricity = 0.1
    r0, v0 = 1.0 - eccentricity, np.sqrt((1.0 + eccentricity) / (1.0 - eccentricity))

    def rate(_: float, y: Any) -> Any:
        (w, x, yy, z), omega, r, v = y[:4], y[4:7], y[7:10], y[10:13]
        turn = np.array(
            [
                [1 - 2 * (yy * yy + z * z), 2 * (x * yy - w * z), 2 * (x * z + w * yy)],
                [2 * (x * yy + w * z), 1 - 2 * (x * x + z * z), 2 * (yy * z - w * x)],
                [2 * (x * z - w * yy), 2 * (yy * z + w * x), 1 - 2 * (x * x + yy * yy)],
            ]
        )
        distance = np.linalg.norm(r)
        u = turn.T @ r / distance
        pull = 3.0 / distance**3 * np.cross(u, moments * u)
        a, b, c = omega
        q_rate = 0.5 * np.array(
            [-x * a - yy * b - z * c, w * a + yy * c - z * b, w * b + z * a - x * c, w * c + x * b - yy * a]
        )
        return np.concatenate([q_rate, (pull - np.cross(omega, moments * omega)) / moments, v, -r / distance**3])

    start = np.concatenate([q, omega, [r0, 0.0, 0.0], [0.0, v0, 0.0]])
    times = np.linspace(0.0, 2.0 * np.pi * orbits, rows * orbits + 1)
    y = solve_ivp(rate, (0.0, times[-1]), start, "DOP853", times, rtol=1e-10, atol=1e-11).y
    upright = 1.0 - 2.0 * (y[1] ** 2 + y[2] ** 2) / (y[:4] ** 2).sum(axis=0)
    return float(np.rad2deg(np.arccos(np.clip(upright, -1.0, 1.0))).max())


@pytest.mark.evidence
def test_pixels_of_the_map(tmp_path: Path) -> None:
    map_, side, orbits = example(), 8, 5
    found = map_.plan(tmp_path / "x.zarr", side, orbits).run()["lean"].values
    omega, attitude = map_.states(side)
    moments = map_.moon().moments
    n = map_.ORBIT.mean_motion
    which = range(1, side * side, 5)
    expected = np.array([largest_lean(omega[k] / n, attitude[k], moments, orbits, map_.ROWS) for k in which])
    here = found[list(which)]
    regular = expected < 30.0
    assert regular.sum() >= 6
    assert (expected > 90.0).any()
    assert np.abs(here - expected)[regular] == pytest.approx(0.0, abs=0.5)
    assert ((here > 90.0) == (expected > 90.0)).all()
    map_.draw(found, tmp_path / "map.png", orbits)
