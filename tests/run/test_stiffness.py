"""How stiff a torque is, and steps that stability limits."""

import math
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.kernels.status import Status
from polhode.kernels.types import Quat, Vec3
from polhode.methods import find
from polhode.problem import Plan
from polhode.run import stiffness
from polhode.run.integration import Integration
from polhode.run.stiffness import are_limited, fastest_decay, is_stiff
from tests.contract._measure import interpreted

BODY = ph.Body([1.0, 1.2, 1.5])
TILTED = ph.Body([[1.5, 0.2, 0.1], [0.2, 1.2, 0.0], [0.1, 0.0, 1.0]])
START = np.array([1.0, 0.0, 0.0, 0.0])
RATE = np.array([1.0, 0.4, 0.7])


@pytest.mark.parametrize("body", [BODY, TILTED])
def test_decay_of_damping(body: ph.Body) -> None:
    found = fastest_decay(body, ph.LinearDamping(1e5), 0.0, START, RATE, 10.0)
    assert found == pytest.approx(1e5 / body.moments.min(), rel=1e-3)
    assert is_stiff(found, 1.3, 10.0)


def test_decay_of_a_controller() -> None:
    """Overdamped, its fast mode decays a little more slowly than the damping alone; else its frequency counts."""

    @ph.torque(parameters=[1e6, 1e4])
    def held(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
        return (-2 * p[0] * q[1] - p[1] * w[0], -2 * p[0] * q[2] - p[1] * w[1], -2 * p[0] * q[3] - p[1] * w[2])

    slow = fastest_decay(BODY, held, 0.0, START, RATE, 10.0)
    assert slow == pytest.approx(0.5e4 + math.sqrt(0.25e8 - 1e6), rel=1e-3)
    fast = fastest_decay(BODY, held.with_parameters([1e8, 1e4]), 0.0, START, RATE, 10.0)
    assert fast == pytest.approx(1e4, rel=1e-3)


def test_what_is_not_stiff() -> None:
    asked: list[float] = []

    @ph.torque
    def asking(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
        asked.append(t)
        return (-1e-6 * w[0], 0.0, 0.0)

    weight = ph.HeavyTop(1e6)
    assert fastest_decay(BODY, weight, 0.0, START, RATE, 1e6) == 0.0  # it does not depend on the rate
    assert fastest_decay(BODY, ph.LinearDamping(0.1), 0.0, START, RATE, 100.0) == 0.0
    assert fastest_decay(BODY, ph.LinearDamping(1e5), 0.0, START, RATE, -10.0) == 0.0  # backward it grows
    assert fastest_decay(BODY, asking, 0.0, START, RATE, 1e3) == 0.0
    assert len(asked) == 4  # the base, and one for each component of the rate
    assert not is_stiff(1e5, 1e4, 1.0)
    assert not is_stiff(1e3, 1.0, 1.0)
    assert are_limited(5e-5, 1e5, 6.1)
    assert not are_limited(1e-7, 1e5, 6.1)


def test_a_torque_that_raises_is_not_judged() -> None:
    @ph.torque
    def raising(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
        raise ValueError("no torque here")

    assert fastest_decay(BODY, raising, 0.0, START, RATE, 1e6) == 0.0


@ph.torque
def thickening(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """A weight, and from t = 0.5 on a thick fluid."""
    k = 0.5e5 * (1.0 + math.tanh(40.0 * (t - 0.5)))
    u = ph.to_body(q, (0.0, 0.0, 1.0))
    return (3.0 * u[1] - k * w[0], -3.0 * u[0] - k * w[1], -k * w[2])


def test_steps_that_stability_limits_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stiffness, "LOOK_STEPS", 100)
    given: dict[str, Any] = {"omega": RATE, "t_span": (0.0, 20.0), "attitude": [0.8, 0.6, 0.0, 0.0]}
    with interpreted():
        problem = ph.simulate(BODY, thickening, method="RK4", step=1e-4, **{**given, "t_span": (0.0, 1e-4)}).problem
        run = Integration(problem.until(20.0), Plan(find("DOP853(rtol=1e-6)"), 1.0))
        run.stops_if_stiff = True
        assert run._run() == Status.STIFF
    found = run.assembled(Status.STIFF)
    assert 0.4 < found.t_last < 1.5
    assert "the torque thickening is stiff: the steps of DOP853(rtol=1e-06) are limited by stability" in found.message
