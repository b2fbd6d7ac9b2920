"""How drifts are told apart."""

import numpy as np
import pytest

from polhode.referee.growth import drift_of, growth
from polhode.support.arrays import Floats

T = np.linspace(0.0, 50.0, 1001)
WOBBLE = np.sin(3.0 * T)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (1e-6 * T, "linear"),
        (-1e-6 * T + 5e-6 * WOBBLE, "linear"),
        (1e-6 * T**2, "quadratic"),
        (1e-9 * np.expm1(0.3 * T), "exponential"),
        (1e-6 * WOBBLE, "bounded"),
        (1e-6 * (1 - np.cos(0.2 * T)), "bounded"),
        (1e-12 * WOBBLE, "none"),
    ],
)
def test_kinds(values: Floats, kind: str) -> None:
    assert growth(T, values, 1e-10)[0] == kind


def test_random_walks() -> None:
    """Of forty walks most are seen to be walks; a few look like a line, as short walks do."""
    rng = np.random.default_rng(4)
    found = [growth(T, 1e-6 * np.cumsum(rng.normal(size=T.size)), 1e-10)[0] for _ in range(40)]
    assert found.count("random walk") >= 28
    assert "exponential" not in found
    assert "none" not in found


def test_slopes() -> None:
    drift = drift_of("energy", T, 3e-6 * T + 1e-5 * WOBBLE, 1e-10)
    assert drift.kind == "linear"
    assert abs(drift.slope / 3e-6 - 1) < 0.02
    assert "drifts linearly, by +2.99e-06 a second" in str(drift)
    assert abs(drift_of("energy", T, 1e-9 * np.expm1(0.3 * T), 1e-12).rate / 0.3 - 1) < 0.1
