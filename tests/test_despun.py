"""Collocation on slender bodies without their spin: the same motion, in fewer steps."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode._simulate import checked_arguments
from polhode.core.despun import spun
from polhode.core.types import Params, Rotor, State
from tests.contract._measure import interpreted

MOMENTS = {1: (1.0, 5.0, 5.0), 2: (5.0, 1.0, 5.0), 3: (5.0, 5.0, 1.0)}
RATES = {1: (50.0, 0.3, -0.2), 2: (0.3, 50.0, -0.2), 3: (0.3, -0.2, 50.0)}
POINTS = {1: (0.7, 0.0, 0.0), 2: (0.0, -0.7, 0.0), 3: (0.0, 0.0, 0.7)}
TIMES = [0.0, 0.5, 0.77, 2.0]
START: dict[str, Any] = {"attitude": [0.9, 0.1, 0.3, 0.2], "t_span": (0.0, 2.0)}
TOP = ph.HeavyTop(20.0, point=POINTS[3])
LONG = 0.2
"""A step in which the body turns by ten radians."""


def torques(axis: int) -> list[ph.torques.Torque]:
    wall = [ph.CoulombSoftWall()] if axis == 3 else []
    return [ph.HeavyTop(20.0, POINTS[axis]), ph.GravityGradient(3.0), ph.OrbitalGravityGradient(1.0), *wall]


def distance(a: ph.Solution, b: ph.Solution) -> float:
    same = np.sign((a.quaternion * b.quaternion).sum(axis=1))[:, None]
    return float(max(np.abs(a.quaternion - same * b.quaternion).max(), np.abs(a.omega - b.omega).max() / 50.0))


@pytest.mark.parametrize("axis", [1, 2, 3])
def test_the_motion_is_the_same(axis: int) -> None:
    """Against steps of a method that knows nothing of symmetry, with a truth that is no better than 1e-13."""
    body = ph.Body(MOMENTS[axis])
    given: dict[str, Any] = {"omega": RATES[axis], "t_eval": TIMES, **START}
    for torque in torques(axis):
        with interpreted():
            truth = ph.simulate(body, torque, method="DOP853(rtol=1e-14)", step=0.1, **given)
            found = ph.simulate(body, torque, method="G8", step=LONG, **given)
        assert found.run.axis == axis
        assert distance(found, truth) < 1e-11
        if torque.conserves_energy:
            assert np.abs(found.energy_error).max() < 1e-14


def test_where_the_spin_matters_it_is_kept() -> None:
    def axis(moments: Any, torque: ph.torques.Torque | None, t_span: Any = (0.0, 1.0)) -> int:
        return checked_arguments(ph.Body(moments), torque, omega=[0, 0, 1], t_span=t_span, rtol=1e-6)[0].axis

    assert axis([5, 5, 1], TOP) == 3
    assert axis([5, 5, 1], TOP, (15.0, 16.0)) == 3
    assert axis([5, 5, 1], TOP, (1e6, 1e6 + 1)) == 0  # where a rounding of the time is a turn of 1e-9
    assert axis([5e-160, 5e-160, 1e-160], TOP) == 0  # whose products are no floats
    assert axis([5, 5, 9], TOP) == 0  # without spin it would turn faster
    assert axis([5, 5.1, 1], TOP) == 0
    assert axis([5, 5, 5], TOP) == 0
    assert axis([1, 5, 5], TOP) == 0  # the weight is not on this axis
    assert axis([5, 5, 1], ph.HeavyTop(20.0, point=(0.1, 0.0, 0.7))) == 0
    assert axis([5, 5, 1], ph.ConstantSpaceTorque((1.0, 2.0, 3.0))) == 0
    assert axis([5, 5, 1], ph.LinearDamping(0.1)) == 0
    assert axis([1, 5, 5], ph.CoulombSoftWall()) == 0
    tilted = [[5.0, 0.0, 0.0], [0.0, 3.0, 2.0], [0.0, 2.0, 3.0]]  # moments 5, 5, 1
    assert axis(tilted, ph.GravityGradient(3.0)) == 0
    given: dict[str, Any] = {"omega": RATES[3], "step": 0.01, **START}
    with interpreted():
        for method in ("RK4", "Strang"):
            whole = ph.simulate(ph.Body(MOMENTS[3]), TOP, method=method, **given)
            assert whole.run.axis == 3
            assert len(whole.memory) < 7  # other methods leave the body as it is


@dataclass(frozen=True)
class Damped(ph.HeavyTop):
    """A torque of its own in the place of the inherited one."""

    @property
    def torque_kernel(self) -> Any:
        def kernel(t: float, q: Any, w: Any, p: Any) -> Any:
            return (0.0, 0.0, -0.1 * w[2])

        return kernel


def test_what_a_class_says_of_its_spin_is_said_of_its_own_torque() -> None:
    assert TOP.may_lose_spin(3)
    assert not TOP.may_lose_spin(0)
    assert Damped(1.0).ignores_spin(3)  # inherited
    assert not Damped(1.0).may_lose_spin(3)


def test_another_torque_that_ignores_the_spin_goes_on_without_it() -> None:
    body, other = ph.Body(MOMENTS[3]), ph.HeavyTop(19.0, point=POINTS[3])
    with interpreted():
        first = ph.simulate(body, TOP, omega=RATES[3], method="G8", step=LONG, **START)
        assert ph.resume(first, 2.4, torque=other).run.axis == 3


def test_spin_over_many_turns_is_exact() -> None:
    """To a rounding of what is shown, against 40 digits, after 1e9 turns."""
    mpmath = pytest.importorskip("mpmath")
    body, m = Rotor((5.0, 5.0, 0.7), (0.2, 0.2, 1 / 0.7)), (0.3, -0.2, 41.0)
    p = Params((), (1.0, 0.0, 0.0, 0.0), (-np.inf, np.inf))
    for t in (0.1, 123.456, 1.3e8, -7.7e7):
        s = spun(3, 1.0)(body, p, t, State((1.0, 0.0, 0.0, 0.0), m), 0.0)
        with mpmath.workdps(60):
            half = (1 / mpmath.mpf(0.7) - 1 / mpmath.mpf(5)) * 41 * mpmath.mpf(t) / 2
            exact = [float(mpmath.cos(half)), 0.0, 0.0, float(mpmath.sin(half))]
        assert np.abs(np.array(s.q) - exact).max() < 4e-16
        back = spun(3, -1.0)(body, p, t, s, 0.0)
        assert np.abs(np.array(back.m) - m).max() < 1e-14
        assert s.m[2] == 41.0


def test_parts_of_a_run_go_on_without_spin(tmp_path: Path) -> None:
    """Stopped, saved, continued, asked for times between: the run in one go, but for a rounding of the times."""
    body = ph.Body(MOMENTS[3])
    given: dict[str, Any] = {"omega": RATES[3], "attitude": START["attitude"], "step": LONG, "method": "G8"}
    with interpreted():
        whole = ph.simulate(body, TOP, t_span=(0.0, 4.0), **given)
        half = ph.simulate(body, TOP, t_span=(0.0, 2.0), **given)
        half.save(tmp_path / "half.nc")
        for part in (half, ph.load(tmp_path / "half.nc")):
            joined = ph.resume(part, 4.0)
            assert distance(joined, whole) < 1e-13
            assert joined.nfev == whole.nfev
        listed = ph.simulate(body, TOP, t_span=(0.0, 4.0), t_eval=[0.33, 1.0, 3.3], **given)
        between = whole.at([0.33, 1.0, 3.3])
        assert np.abs(listed.quaternion - between.quaternion).max() < 1e-12
        watched = ph.simulate(body, TOP, t_span=(0.0, 4.0), events=lambda t, q, w: q[1], **given)
        assert distance(watched, whole) < 1e-13
        t = watched.events[0].t
        assert t.size > 0
        assert np.abs(whole.at(t).quaternion[:, 1]).max() < 1e-11


def test_many_of_them() -> None:
    """As one by one, if all may leave out their spin, and like any others if one may not."""
    rates = np.array(RATES[3]) + np.arange(9)[:, None] * [0.1, -0.2, 0.3]
    given: dict[str, Any] = {"method": "G8", "t_eval": TIMES, **START}
    body = ph.Body(MOMENTS[3])
    with interpreted():
        many = ph.ensemble(body, TOP, omega=rates, step=LONG, **given)
        for k in (0, 8):
            one = ph.simulate(body, TOP, omega=rates[k], step=LONG, **given)
            assert np.array_equal(many[k].quaternion, one.quaternion)
            assert np.array_equal(many[k].momentum, one.momentum)
        mixed = ph.ensemble([body, ph.Body([5.0, 5.2, 1.0])], TOP, omega=rates[:2], step=0.02, **given)
        assert mixed[0].run.axis == 0
        one = ph.simulate(body, TOP, omega=rates[0], step=0.02, **given)
        assert distance(mixed[0], one) < 1e-11


def test_a_tolerance_finds_the_long_steps() -> None:
    body = ph.Body(MOMENTS[3])
    found = ph.simulate(body, TOP, omega=RATES[3], rtol=1e-9, t_eval=[10.0, 20.0], t_span=(0.0, 20.0))
    assert found.run.method.name.startswith("G8")
    assert abs(found.run.step) * 50.0 > 4.0  # a body with its spin does with no more than two radians
    truth = ph.simulate(
        body, TOP, omega=RATES[3], method="G8(compensated=true)", step=0.02, t_eval=[10.0, 20.0], t_span=(0.0, 20.0)
    )
    assert found.error_estimate is not None
    assert distance(found, truth) < found.error_estimate < 1e-9
