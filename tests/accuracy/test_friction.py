"""Torques that bring a body to rest without falling to zero, and motions that no number of steps leads to the end."""

import math
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.accuracy.pace import MOST_ADAPTIVE_STEPS, Endless, Pace
from polhode.kernels.status import Status
from polhode.run.step_warnings import PACE_STEPS
from polhode.run.stiffness import is_dry


def coulomb(t: float, q: Any, w: Any, p: Any) -> Any:
    """Dry friction of one size against the rate."""
    n = math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    return -p[0] * w[0] / n, -p[0] * w[1] / n, -p[0] * w[2] / n


def by_axes(t: float, q: Any, w: Any, p: Any) -> Any:
    """Dry friction about each axis, and a drive."""
    return 0.01 - p[0] * math.copysign(1.0, w[0]), -p[0] * math.copysign(1.0, w[1]), -p[0] * w[2]


def saturated(t: float, q: Any, w: Any, p: Any) -> Any:
    """Friction that falls to zero within a small rate."""
    return -p[0] * math.tanh(1e3 * w[0]), -p[0] * math.tanh(1e3 * w[1]), -p[0] * math.tanh(1e3 * w[2])


def rooted(t: float, q: Any, w: Any, p: Any) -> Any:
    """Friction as the root of the rate: it brings the body to rest at some time."""
    n = (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]) ** 0.25
    return (-p[0] * w[0] / n, -p[0] * w[1] / n, -p[0] * w[2] / n) if n > 0.0 else (0.0, 0.0, 0.0)


def explosive(t: float, q: Any, w: Any, p: Any) -> Any:
    """A torque that makes the body turn by ten billion radians within four seconds."""
    return 0.01 * math.exp(8.0 * t), 0.0, 0.0


def test_dry_friction_is_seen() -> None:
    q, values = np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.2])
    for w in (np.array([0.3, 0.5, -0.4]), np.zeros(3)):
        found = [
            is_dry(ph.torque(f, parameters=[0.2]), values, 0.0, q, w) for f in (coulomb, by_axes, rooted, saturated)
        ]
        assert found == [True, True, True, False]
        assert not is_dry(ph.LinearDamping(0.2), values, 0.0, q, w)
    weak = ph.torque(lambda t, q, w, p: (1.0 - 1e-9 * w[0], 0.0, 0.0))
    assert not is_dry(weak, values, 0.0, q, np.ones(3))  # what is left there is rounding
    assert not is_dry(ph.HeavyTop(1.0), values, 0.0, q, np.ones(3))
    driven = ph.torque(lambda t, q, w, p: (math.copysign(1.0, w[0]), 0.0, 0.0))
    assert not is_dry(driven, values, 0.0, q, np.ones(3))  # this one does not brake


@pytest.mark.filterwarnings("ignore::polhode.ShortSteps")
def test_dry_friction_brings_a_sphere_to_rest() -> None:
    """At 1 rad/s under 0.2 of its moment it is at rest after 5 s and 2.5 rad."""
    friction = ph.torque(coulomb, parameters=[0.2])
    run = ph.simulate(ph.Body([1, 1, 1]), friction, omega=[0, 0, 1], t_span=(0, 20), t_eval=[4, 20], rtol=1e-4)
    assert run.error_estimate is not None
    turns = 2.0 * np.arctan2(run.quaternion[:, 3], run.quaternion[:, 0])
    assert np.abs(turns - [4 - 0.1 * 16, 2.5]).max() <= run.error_estimate <= 1e-4


@pytest.mark.filterwarnings("ignore::polhode.ShortSteps")
@pytest.mark.parametrize("rtol", [1e-4, 1e-6])
def test_a_root_of_the_rate_brings_a_sphere_to_rest(rtol: float) -> None:
    """Its rate is (1 - t/10)^2 rad/s until it has turned by 10/3 rad; implicit steps would find no end there."""
    friction = ph.torque(rooted, parameters=[0.2])
    run = ph.simulate(ph.Body([1, 1, 1]), friction, omega=[0, 0, 1], t_span=(0, 20), t_eval=[4, 20], rtol=rtol)
    assert run.error_estimate is not None
    turns = 2.0 * np.arctan2(run.quaternion[:, 3], run.quaternion[:, 0])
    assert np.abs(turns - 10 / 3 * np.array([1 - 0.6**3, 1.0])).max() <= run.error_estimate <= rtol


@pytest.mark.filterwarnings("ignore::polhode.ShortSteps")
def test_what_dry_friction_leaves_is_told() -> None:
    """Steps to and fro hold the body at rest only so well: a search for better ones ends soon, and says why."""
    friction = ph.torque(coulomb, parameters=[0.2])
    with pytest.warns(ph.ToleranceNotReached, match="dry friction"):
        run = ph.simulate(ph.Body([1, 1.5, 2]), friction, omega=[0.3, 0.5, -0.4], t_span=(0, 20), rtol=1e-4)
    assert math.hypot(*run.omega[-1]) < 1e-5
    assert run.stats.nfev < 5e7


def test_a_motion_that_would_not_end_is_given_up() -> None:
    with pytest.raises(ph.SimulationFailed, match=r"given up after .* rad/s under the torque explosive") as failed:
        ph.simulate(ph.Body([1, 1.5, 2]), ph.torque(explosive), omega=[0.3, 0.5, -0.4], t_span=(0, 4), rtol=1e-6)
    assert 2.0 < failed.value.solution.t_last < 4.0
    assert failed.value.solution.status == Status.STALLED


@pytest.mark.filterwarnings("ignore::polhode.ShortSteps")
@pytest.mark.parametrize("threads", [1, 2])
def test_bodies_of_an_ensemble_that_would_not_end_are_given_up(threads: int) -> None:
    """Each where it is alone, whatever the clock says."""
    body, torque = ph.Body([1, 1.5, 2]), ph.torque(explosive)
    given: dict[str, Any] = {"t_span": (0, 4), "t_eval": [1.0, 4.0], "rtol": 1e-6}
    omega = np.random.default_rng(1).normal(size=(2, 3))
    made = ph.ensemble(body, torque, omega=omega, threads=threads, **given)
    assert (made.status == Status.STALLED).all()
    assert np.isfinite(made.quaternion[:, 0]).all()
    assert (made.steps % PACE_STEPS == 0).all()
    for k, w in enumerate(omega):
        with pytest.raises(ph.SimulationFailed) as failed:
            ph.simulate(body, torque, omega=w, **given)
        alone = failed.value.solution
        assert (made.steps[k], made.t_last[k]) == (alone.stats.steps, alone.t_last)
        assert made.messages[k] == alone.message


def test_pace() -> None:
    """Steps that would be too many at this pace, or that become shorter and shorter, are seen; others go on."""
    told = list[int]()
    steady = Pace(lambda done, total: told.append(done))
    for k in range(1, 20):
        steady(k * PACE_STEPS, 20 * PACE_STEPS)
    steady(10, 2000)  # another run
    assert told[-1] == 10
    with pytest.raises(Endless) as seen:
        Pace(None)(PACE_STEPS, int(2 * MOST_ADAPTIVE_STEPS))
    assert seen.value.steps == pytest.approx(2 * MOST_ADAPTIVE_STEPS)
    shrinking, seen_at = Pace(None), 0
    for k in range(2, 100):  # the k-th million of steps leads to log(k) / 20 of the span
        try:
            shrinking(k * 1_000_000, int(k * 1_000_000 / (math.log(k) / 20)))
        except Endless:
            seen_at = k
            break
    assert 3 < seen_at < 20
