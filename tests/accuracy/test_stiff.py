"""Stiff torques with a tolerance: the choice, the estimate, and stiffness that comes later."""

from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.accuracy.character import character
from polhode.accuracy.choice import choose
from polhode.run import stiffness
from tests.contract._measure import interpreted
from tests.run.test_stiffness import thickening

BALL = ph.Body([2.0, 2.0, 2.0])
GIVEN: dict[str, Any] = {"omega": [1.0, 0.4, 0.7], "t_span": (0.0, 10.0)}


@pytest.mark.parametrize("decay", [1e4, 1e7])
@pytest.mark.parametrize("rtol", [1e-4, 1e-8])
def test_strong_damping(decay: float, rtol: float) -> None:
    with interpreted():
        solution = ph.simulate(BALL, ph.LinearDamping(2.0 * decay), rtol=rtol, **GIVEN)
    assert solution.method.startswith("Radau")
    assert solution.nfev < 5000  # explicit steps would take 2e5 and 2e8
    w = np.array([1.0, 0.4, 0.7])
    fallen = np.exp(-decay * solution.t)
    rate = np.abs(solution.omega - fallen[:, None] * w).max() / np.linalg.norm(w)
    angle = np.abs(solution.attitude.as_rotvec() - ((1.0 - fallen) / decay)[:, None] * w).max()
    assert solution.error_estimate is not None
    assert max(rate, angle) <= solution.error_estimate <= rtol


def test_what_is_not_stiff_is_as_before() -> None:
    with interpreted():
        weak = ph.simulate(BALL, ph.LinearDamping(0.1), rtol=1e-6, **GIVEN).problem
        assert not character(weak).stiff
        assert not choose(character(weak), 1e-6, None).method.name.startswith("Radau")


def test_stiffness_that_comes_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The explicit run is given up where stability limits its steps, and the implicit method answers."""
    monkeypatch.setattr(stiffness, "LOOK_STEPS", 100)
    body = ph.Body([1.0, 1.2, 1.5])
    given = {**GIVEN, "attitude": [0.8, 0.6, 0.0, 0.0], "t_eval": [0.4, 1.0, 10.0]}
    with interpreted():
        solution = ph.simulate(body, thickening, rtol=1e-6, **given)
        tight = ph.simulate(body, thickening, method="Radau(order=13, rtol=1e-12)", step=1.0, **given)
    assert solution.method.startswith("Radau")
    assert solution.error_estimate is not None
    apart = float((solution.attitude.inv() * tight.attitude).magnitude().max())
    assert apart <= solution.error_estimate <= 1e-6
