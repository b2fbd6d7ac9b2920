"""Steps that choose their length: tolerances, reversibility, output, ends, failures."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.kernels.types import Inertia, Quat, State, Vec3
from polhode.methods import find
from polhode.methods.variable import variable_steps
from polhode.run import step_warnings
from tests.contract._measure import interpreted

TOP = ph.Body([5.0, 5.0, 1.0])
START: dict[str, Any] = {"omega": [0.0, 0.0, 5.0], "attitude": [math.cos(0.15), math.sin(0.15), 0.0, 0.0]}
"""krysl2004's slow top: it falls and swings."""


def top(method: str, step: float, t_span: tuple[float, float] = (0.0, 10.0), **kwargs: Any) -> ph.Solution:
    with interpreted():
        return ph.simulate(TOP, ph.HeavyTop(20.0), t_span=t_span, step=step, method=method, **START, **kwargs)


def apart(a: ph.Solution, b: ph.Solution) -> float:
    """Attitudes at the end, in rad."""
    return float((a.attitude[-1].inv() * b.attitude[-1]).magnitude())


def test_error_follows_the_tolerance() -> None:
    tight = top("DOP853(rtol=1e-14)", 0.5)
    errors = [apart(top(f"DOP853(rtol={rtol})", 0.5), tight) for rtol in (1e-6, 1e-8, 1e-10)]
    for error, rtol in zip(errors, (1e-6, 1e-8, 1e-10), strict=True):
        assert rtol / 10 < error < 300 * rtol  # some sixty steps each; measured: 10 to 40 times the tolerance
    assert errors[0] > 10 * errors[1] > 100 * errors[2]


def test_no_step_is_longer_than_allowed() -> None:
    solution = top("DOP853(rtol=1e-3)", 0.05)
    assert np.diff(solution.t).max() <= 0.05 * (1 + 1e-12)
    assert solution.stats.steps == 200


def test_output_does_not_change_the_run() -> None:
    for method, step in (("DOP853", 0.5), ("HLR", 0.02)):
        every, listed = top(method, step), top(method, step, t_eval=[0.0, 0.123, 5.0, 5.001, 9.9, 10.0])
        sparse = top(method, step, every=7)
        assert np.array_equal(every.quaternion[-1], listed.quaternion[-1])
        assert np.array_equal(every.t[::7], sparse.t[: every.t[::7].size])
        assert sparse.t[-1] == every.t[-1] == 10.0
        assert np.array_equal(sparse.quaternion[-1], every.quaternion[-1])
        assert listed.stats.steps == every.stats.steps
        assert listed.nfev > every.nfev  # the steps aside are counted


def test_listed_times_are_met() -> None:
    times = [0.0, 0.123, 5.0, 9.9]
    solution = top("DOP853(rtol=1e-12)", 0.5, t_eval=times)
    assert np.array_equal(solution.t, times)
    for k, t in enumerate(times[1:], 1):
        alone = top("DOP853(rtol=1e-13)", 0.5, (0.0, t))
        assert abs(solution.quaternion[k] - alone.quaternion[-1]).max() < 1e-10


def test_many_rows_of_output() -> None:
    solution = top("HLR", 0.001, (0.0, 6.0))
    assert solution.t.size == solution.stats.steps + 1 > 4096 + 1000  # more than one portion
    assert (np.diff(solution.t) > 0).all()


def test_backward_in_time() -> None:
    forth = top("DOP853(rtol=1e-12)", 0.5)
    with interpreted():
        back = ph.simulate(
            TOP, ph.HeavyTop(20.0), omega=forth.omega[-1], attitude=forth.attitude[-1],
            t_span=(10.0, 0.0), step=-0.5, method="DOP853(rtol=1e-12)",
        )  # fmt: skip
    assert (back.attitude[-1].inv() * forth.attitude[0]).magnitude() < 1e-9
    assert back.t[-1] == 0.0


def test_continued_run_goes_on_with_its_densities() -> None:
    for method, step, close in (("DOP853(rtol=1e-11)", 0.5, 1e-8), ("HLR", 0.01, 1e-3)):
        whole, part = top(method, step), top(method, step, (0.0, 4.0))
        with interpreted():
            both = ph.resume(part, 10.0)
        assert apart(whole, both) < close  # the step that ends at 4 is shorter
        assert both.stats.steps - whole.stats.steps in (0, 1)
        assert abs(both.nfev - whole.nfev) < 30


def test_run_continued_after_a_whole_step_is_the_run_in_one_go() -> None:
    """The last step of a run is made to its length, here the length that is due but for a hair."""
    hair = 1e-13
    for method in ("HLR", "HLR(of=AKW, monitor=rate)"):
        whole = top(method, 0.05, (0.0, 4.0))
        part = top(method, 0.05, (0.0, float(whole.t[40]) - hair))
        with interpreted():
            both = ph.resume(part, 4.0)
        assert both.t.size == whole.t.size
        assert np.abs(both.t - whole.t).max() < 100 * hair  # 6e-5 and more if the density is that of the step before
        assert apart(whole, both) < 1000 * hair


def test_jumps_of_the_torque_end_a_step() -> None:
    torque = ph.PiecewiseTorque(((2.0, (20.0, 1.0, 0.0)), (2.5, (0.0, 4.0, 3.0))))
    with interpreted():
        solution = ph.simulate(
            TOP, torque, omega=[0.0, 0.1, 0.0], t_span=(0.0, 5.0), step=1.0, method="DOP853(rtol=1e-12)"
        )
        tight = ph.simulate(
            TOP, torque, omega=[0.0, 0.1, 0.0], t_span=(0.0, 5.0), step=0.0025, method="RK4", every=2000
        )
    assert 2.0 in solution.t
    assert 2.5 in solution.t
    assert apart(solution, tight) < 1e-8  # of RK4, measured: 4e-9


def test_steps_are_shorter_where_the_torque_is_strong() -> None:
    solution = top("HLR", 0.01)
    with interpreted():
        free = ph.simulate(TOP, omega=[1.0, 0.0, 5.0], t_span=(0.0, 10.0), step=0.01, method="HLR(of=Strang)")
    lengths = np.diff(solution.t)[:-1]
    assert lengths.min() < 0.85 * lengths[0]
    assert np.diff(free.t)[:-1] == pytest.approx(0.01, rel=1e-12)  # a symmetric free body turns at a constant rate


def test_reversible_steps_do_not_drift() -> None:
    """The energy error in the second half of a run is no larger than in the first; that of a plain pair grows."""
    wall = ph.CoulombSoftWall()
    body, w = ph.Body([2.0, 2.0, 3.0]), [1.0, 1.0, 2.0 / 3.0]
    solution = ph.simulate(body, wall, omega=w, t_span=(0.0, 400.0), step=0.02, method="HLR", every=10)
    error = np.abs(solution.energy_error)
    half = error.size // 2
    assert error[half:].max() < 1.5 * error[:half].max()


def fast(body: Inertia, torque: Vec3, s: State) -> float:
    """A monitor of one's own."""
    return 1.0 + abs(torque[0]) + abs(torque[1])


def test_a_monitor_of_ones_own() -> None:
    own = variable_steps(find("Strang"), fast, name="mine")
    with interpreted():
        solution = ph.simulate(TOP, ph.HeavyTop(20.0), t_span=(0.0, 4.0), step=0.01, method=own, **START)
    n = np.array([fast(None, tuple(np.cross([0, 0, 1.0], -20 * R[2])), None) for R in solution.attitude.as_matrix()])  # type: ignore[arg-type]
    lengths = np.diff(solution.t)[:-1]
    density = 1 / lengths
    assert density * lengths[0] * n[0] == pytest.approx((n[1:-1] + n[:-2]) / 2, rel=0.05)


def test_density_that_falls_too_fast_is_reported() -> None:
    def jumpy(body: Inertia, torque: Vec3, s: State) -> float:
        return 1.0 if s.m[0] < 0.0 else 10.0

    with interpreted(), pytest.raises(ph.SimulationFailed, match="mine could not solve its step equation") as caught:
        ph.simulate(
            ph.Body([1.0, 2.0, 3.0]), omega=[1.0, 0.4, 2.0], t_span=(0.0, 50.0), step=0.1,
            method=variable_steps(find("MR2"), jumpy, name="mine"),
        )  # fmt: skip
    assert 0 < caught.value.solution.t.size == caught.value.solution.stats.steps + 1


@ph.torque
def braked(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """It holds the rate at the border of its two parts."""
    return (0.05, 0.0, -2.0) if w[2] > 0.8 else (0.05, 0.0, 0.3)


def test_steps_that_are_absurdly_short_are_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_warnings, "LOOK_STEPS", 200)
    here: dict[str, Any] = {"omega": [0.3, 0.2, 0.8], "method": "DOP853(rtol=1e-10)"}
    told = "the torque braked jumps where the motion is"
    with interpreted(), pytest.warns(ph.ShortSteps, match=told) as warned:
        solution = ph.simulate(TOP, braked, t_span=(0.0, 1e-5), step=1.0, **here)
    assert len(warned) == 1
    assert warned[0].filename == __file__
    assert told in solution.message
    with interpreted(), pytest.raises(ph.ShortSteps) as caught:  # warnings are errors here
        ph.simulate(TOP, braked, t_span=(0.0, 1e-5), step=1.0, **here)
    assert caught.value.solution.t_last > 0.0  # type: ignore[attr-defined]


def test_steps_of_some_bodies_that_are_absurdly_short_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_warnings, "LOOK_STEPS", 200)
    rates = [[0.3, 0.2, 0.1], [0.3, 0.2, 0.8]]  # the second is where the torque jumps
    given: dict[str, Any] = {"t_span": (0.0, 1e-5), "step": 1.0, "method": "DOP853(rtol=1e-10)"}
    with interpreted(), pytest.warns(ph.ShortSteps, match="of some bodies, steps of DOP853") as warned:
        many = ph.ensemble(TOP, braked, omega=rates, **given)
    assert many.success.all()
    assert len(warned) == 1
    assert warned[0].filename == __file__
    with interpreted(), pytest.raises(ph.ShortSteps) as caught:  # warnings are errors here
        ph.ensemble(TOP, braked, omega=rates, **given)
    assert caught.value.ensemble.t_last[1] > 0.0  # type: ignore[attr-defined]
    with interpreted():
        ph.ensemble(TOP, braked, omega=rates[:1] * 2, **given)  # those that are elsewhere give no cause


def test_steps_as_short_as_they_were_asked_for_are_no_surprise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_warnings, "LOOK_STEPS", 200)
    assert top("DOP853", 1e-6, (0.0, 3e-4)).stats.steps == 300


@ph.torque
def exploding(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    return (1.0 / (2.0 - t) ** 2, 0.0, 0.0)


def test_a_singular_torque_stalls() -> None:
    with interpreted(), pytest.raises(ph.SimulationFailed) as caught:
        ph.simulate(TOP, exploding, omega=[0.0, 0.0, 1.0], t_span=(0.0, 3.0), step=0.5, method="DOP853")
    solution = caught.value.solution
    assert 1.9 < solution.t_last < 2.0
    assert "too short" in str(caught.value)


@ph.torque
def raising(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    if t > 1.0:
        raise ValueError("no torque here")
    return (1.0, 0.0, 0.0)


def test_a_torque_that_raises_loses_nothing() -> None:
    with pytest.raises(ph.SimulationFailed, match="no torque here") as caught:
        ph.simulate(TOP, raising, omega=[0.0, 0.0, 1.0], t_span=(0.0, 3.0), step=0.07, method="DOP853")
    assert 0.9 < caught.value.solution.t_last <= 1.0
    assert caught.value.solution.t.size > 10


def test_body_at_rest() -> None:
    """A monitor of zero leaves nothing to do if it stays so; else there is no unit for the density."""
    body = ph.Body([1.0, 2.0, 2.5])
    with interpreted():
        still = ph.simulate(body, omega=[0.0, 0.0, 0.0], t_span=(0.0, 1.0), step=0.1, method="HLR")
        assert still.stats.steps == 10
        assert (still.momentum == 0.0).all()
        torque = ph.ConstantBodyTorque((0.1, 0.2, 0.3))
        with pytest.raises(ph.SimulationFailed, match="could not solve its step equation") as caught:
            ph.simulate(body, torque, omega=[0, 0, 0], t_span=(0.0, 1.0), step=0.1, method="HLR(monitor=rate)")
        assert caught.value.solution.stats.steps == 1
        assert ph.simulate(body, torque, omega=[0, 0, 0], t_span=(0.0, 1.0), step=0.1, method="HLR").t[-1] == 1.0


@ph.torque
def until_one(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    if t > 1.0:
        raise ValueError("the table ends at 1")
    return (math.sin(10.0 * t), 0.0, 0.0)


@pytest.mark.usefixtures("plain")
def test_a_tolerance_looks_at_no_torque_beyond_the_end() -> None:
    solution = ph.simulate(TOP, until_one, omega=[0.0, 0.1, 1.0], t_span=(0.0, 1.0), step=0.3, method="DOP853")
    assert solution.t[-1] == 1.0
    with interpreted():
        alone = ph.simulate(TOP, omega=[0.0, 0.1, 1.0], t_span=(0.0, 1e-3), step=0.3, method="DOP853")
    assert alone.nfev == 12  # one step, made once


def test_densities_go_on_beyond_a_jump() -> None:
    """The torque becomes a hundred times as strong: the steps become as much shorter as the monitor says."""
    torque = ph.PiecewiseTorque(((0.5, (1.0, 0.0, 0.0)), (1.0, (100.0, 0.0, 0.0))), frame="body")
    body = ph.Body([1.0, 2.0, 2.7])
    problem: dict[str, Any] = {"omega": [0.0, 0.0, 0.01], "step": 0.05, "method": "HLR"}
    with interpreted():
        whole = ph.simulate(body, torque, t_span=(0.0, 1.0), **problem)
        part = ph.simulate(body, torque, t_span=(0.0, 0.5), **problem)
        both = ph.resume(part, 1.0)
    lengths = np.diff(whole.t)
    jump = int(np.flatnonzero(whole.t == 0.5)[0])
    monitor = math.hypot(whole.omega[jump, 0], math.sqrt(100.0))
    assert lengths[jump] == pytest.approx(0.05 / monitor, rel=0.01)  # the monitor was 1 at the start
    assert np.array_equal(both.t, whole.t)
    assert np.array_equal(both.quaternion, whole.quaternion)
    assert both.nfev == whole.nfev


@pytest.mark.parametrize(("method", "torque"), [("HLR", "pushed"), ("NMB", "pushed"), ("DOP853", "rubbed")])
def test_a_run_from_a_file_goes_on_with_its_memory(method: str, torque: str, tmp_path: Path) -> None:
    own = {"pushed": pushed, "rubbed": rubbed}[torque]
    with interpreted():
        part = ph.simulate(TOP, own, omega=[0.0, 0.1, 1.0], t_span=(0.0, 1.0), step=0.05, method=method)
        part.save(tmp_path / "part.nc")
        whole, again = ph.resume(part, 2.0), ph.resume(ph.load(tmp_path / "part.nc"), 2.0, torque=own)
    assert np.array_equal(whole.t, again.t)
    assert np.array_equal(whole.momentum, again.momentum)
    assert (whole.nfev, whole.plan.torque_size) == (again.nfev, again.plan.torque_size)


@ph.torque(parameters=[2.0])
def pushed(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    return (3.0 * math.sin(p[0] * t), 0.5, 0.0)


@ph.torque(parameters=[2.0])
def rubbed(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    return (math.sin(p[0] * t), -0.1 * w[1], 0.0)


def test_runs_of_very_many_rows() -> None:
    """Output returns to Python again and again for lack of room: what a chunk is must not grow for that."""
    seen: list[int] = []
    ph.simulate(
        TOP, omega=[0.1, 0.2, 5.0], t_span=(0.0, 4e3), step=0.001, method="HLR",
        progress=lambda done, total: seen.append(done),
    )  # fmt: skip
    assert len(seen) > 600
    assert seen[-1] == 4_000_000


def test_a_tolerance_is_less_than_one() -> None:
    with pytest.raises(ValueError, match="allows any answer: DOP853 needs rtol < 1"):
        find("DOP853(rtol=2)")
