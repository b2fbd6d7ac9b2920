"""simulate and resume: the grid, the output, what goes wrong and what is kept then."""

import math
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.kernels import status as codes
from polhode.kernels.steps.compose import triple_jump
from polhode.methods import compose, find
from polhode.run import integration
from tests.run.common import BODY, START, run


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("method", ["MR2", "RK4", "NMB"])
def test_tilted_body_moves_like_the_aligned_one(method: str) -> None:
    """The same body with the tensor given in other axes: the motion is the same, seen from those axes."""
    turn = Rotation.from_rotvec([0.4, -1.1, 0.7])  # principal axes to the user's axes
    u = turn.as_matrix()
    tensor = u @ np.diag([2.0, 3.0, 4.0]) @ u.T
    tilted = ph.Body((tensor + tensor.T) / 2)
    start = Rotation.from_rotvec([0.1, 0.2, 0.3])
    x, y, z = turn.apply([0.3, 0.2, 1.0]).tolist()
    aligned = run(method=method, attitude=start, torque=ph.HeavyTop(weight=3, point=(0.3, 0.2, 1.0)))
    other = ph.simulate(
        tilted,
        ph.HeavyTop(weight=3, point=(x, y, z)),
        **{**START, "omega": turn.apply(START["omega"]), "attitude": start * turn.inv(), "method": method},
    )
    # The principal axes come back in another order or with other signs, which moves a splitting by its own error only.
    tolerance = 0.02 if method == "MR2" else 1e-12
    np.testing.assert_allclose(turn.inv().apply(other.omega), aligned.omega, atol=tolerance)
    assert (other.attitude * turn * aligned.attitude.inv()).magnitude().max() < tolerance
    np.testing.assert_allclose(other.spatial_momentum[0], aligned.spatial_momentum[0], atol=1e-14)
    assert other.energy_error.max() < 2 * aligned.energy_error.max() + 1e-14


def test_attitude_as_rotation_quaternion_or_matrix() -> None:
    rotation = Rotation.from_rotvec([0.3, 0.2, -0.1])
    quaternion = rotation.as_quat(scalar_first=True)
    one = run(attitude=rotation)
    np.testing.assert_allclose(run(attitude=quaternion).momentum, one.momentum, atol=1e-15)
    np.testing.assert_allclose(run(attitude=1e200 * quaternion).momentum, one.momentum, atol=1e-15)
    np.testing.assert_allclose(run(attitude=1e-200 * quaternion).momentum, one.momentum, atol=1e-15)
    np.testing.assert_allclose(run(attitude=rotation.as_matrix()).momentum, one.momentum, atol=1e-14)
    np.testing.assert_allclose(one.attitude[0].as_matrix(), rotation.as_matrix(), atol=1e-15)


@pytest.mark.usefixtures("plain")
def test_body_at_rest_stays_at_rest() -> None:
    for method in ("MR2", "RK4", "NMB"):
        solution = run(torque=None, omega=[0, 0, 0], method=method)
        assert not solution.momentum.any()
        np.testing.assert_array_equal(solution.quaternion, np.tile([1.0, 0, 0, 0], (21, 1)))
        assert not any(error.any() for error in solution.invariant_errors.values())


def test_an_exception_in_progress_loses_nothing() -> None:
    class Enough(Exception):
        pass

    def progress(done: int, total: int) -> None:
        if done > 3:
            raise Enough

    with pytest.raises(Enough) as caught:
        run(progress=progress)
    part: ph.Solution = caught.value.solution  # type: ignore[attr-defined]
    assert 3 < part.stats.steps < 20
    assert "what was computed is the `solution` of this exception" in caught.value.__notes__[0]
    assert np.array_equal(ph.resume(part, 2).momentum, run().momentum)
    with pytest.raises(Enough) as caught:
        ph.resume(part, 4, progress=progress)
    assert caught.value.solution.stats.steps > part.stats.steps  # type: ignore[attr-defined]
    assert caught.value.solution.t[0] == 0  # type: ignore[attr-defined]


def test_progress_and_announcement() -> None:
    seen: list[tuple[int, int]] = []
    run(t_span=(0, 500), every=5000, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (5000, 5000)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("method", ["MR2", "RK4", "NMB"])
def test_continued_run_equals_the_whole(method: str) -> None:
    whole = run(method=method, step=0.125)
    half = run(method=method, step=0.125, t_span=(0, 1))
    joined = ph.resume(half, 2)
    np.testing.assert_array_equal(joined.t, whole.t)
    # Every method starts by itself from a state; Newmark's acceleration is found again to round-off.
    tolerance = 0 if method != "NMB" else 1e-14
    np.testing.assert_allclose(joined.momentum, whole.momentum, rtol=0, atol=tolerance)
    np.testing.assert_allclose(joined.quaternion, whole.quaternion, rtol=0, atol=tolerance)
    assert joined.stats.steps == whole.stats.steps
    assert joined.problem.t_start == 0
    assert joined.t_last == 2
    np.testing.assert_allclose(joined.energy_error, whole.energy_error, rtol=0, atol=1e-15)


def test_a_resumed_tolerance_holds_for_the_whole_motion() -> None:
    """The estimate of the whole counts what the error of the first part has become."""
    whole: dict[str, Any] = {"omega": (0.3, 0.1, 4.0), "t_span": (0.0, 30.0)}
    body, torque = ph.Body([2.0, 1.5, 0.9]), ph.HeavyTop(1.0)
    truth = ph.simulate(body, torque, **whole, t_eval=[10.0, 20.0, 30.0], rtol=1e-12)
    first = ph.simulate(body, torque, omega=whole["omega"], t_span=(0.0, 10.0), t_eval=[10.0], rtol=1e-7)
    for rtol in (None, 1e-5, 1e-10):
        resumed = ph.resume(first, 30.0, t_eval=[20.0, 30.0], rtol=rtol)
        assert resumed.rtol == (rtol or 1e-7)
        assert np.array_equal(resumed.t, truth.t)
        assert resumed.problem.t_start == 0.0
        assert resumed.problem.t_end == 30.0
        assert resumed.error_estimate is not None
        assert resumed.error_estimate <= resumed.rtol
        assert apart(resumed, truth) <= resumed.error_estimate
        # Only a stricter tolerance than that of the first part asks for another first part.
        assert np.array_equal(resumed.quaternion[0], first.quaternion[0]) == (rtol != 1e-10)


def apart(a: ph.Solution, b: ph.Solution) -> float:
    """The largest angle between attitudes, and the largest difference of rates over the largest one."""
    rates = np.linalg.norm(a.omega - b.omega, axis=1).max() / np.linalg.norm(b.omega, axis=1).max()
    return max(float((a.attitude * b.attitude.inv()).magnitude().max()), float(rates))


def test_the_estimate_of_a_part_is_not_that_of_the_whole() -> None:
    """A first part with a given step has an unknown error, which another torque does not make known."""
    body = ph.Body([2.0, 1.5, 0.9])
    first = ph.simulate(body, ph.HeavyTop(1.0), omega=(0.3, 0.1, 4.0), t_span=(0.0, 1.0), step=0.1, method="MR2")
    whole = ph.resume(first, 2.0, torque=ph.HeavyTop(2.0), rtol=1e-6)
    assert whole.error_estimate is None
    assert "of what follows t = 1; before, it is not known" in whole.message


def test_an_error_that_grows_is_computed_anew() -> None:
    """A top that falls from upright makes the error of its first part grow: then the first part is made again."""
    body, torque = ph.Body([2.0, 1.5, 0.9]), ph.HeavyTop(1.0)
    start: dict[str, Any] = {"omega": (1e-4, 2e-4, 0.0), "attitude": [1.0, 0.0, 0.0, 0.0]}
    first = ph.simulate(body, torque, **start, t_span=(0.0, 5.0), t_eval=[5.0], rtol=1e-6, method="RK4")
    resumed = ph.resume(first, 20.0, t_eval=[20.0], method="auto")
    assert resumed.error_estimate is not None
    assert resumed.error_estimate <= 1e-6
    truth = ph.simulate(body, torque, **start, t_span=(0.0, 20.0), t_eval=[5.0, 20.0], rtol=1e-10)
    assert apart(resumed, truth) <= resumed.error_estimate


def test_the_end_of_a_first_part_may_lie_behind_its_rows() -> None:
    """Then its estimate says nothing of the state from which the run goes on."""
    body, torque, omega = ph.Body([2.0, 1.5, 0.9]), ph.HeavyTop(1.0), (0.02, 2.0, 0.0)
    truth = ph.simulate(body, torque, omega=omega, t_span=(0.0, 31.0), t_eval=[0.0, 30.0, 31.0], rtol=1e-10)
    first = ph.simulate(body, torque, omega=omega, t_span=(0.0, 30.0), t_eval=[0.0], rtol=1e-3)
    for changed in (None, ph.HeavyTop(1.0 + 1e-14)):
        resumed = ph.resume(first, 31.0, t_eval=[30.0, 31.0], torque=changed)
        assert resumed.error_estimate is not None
        assert apart(resumed, truth) <= resumed.error_estimate <= 1e-3
    assert ph.resume(first, 31.0, t_eval=[30.0, 31.0], rtol=1e-9).t.tolist() == [0.0, 30.0, 31.0]


def test_a_body_that_has_come_to_rest_drifts_by_what_is_left_of_its_rate() -> None:
    """The error of the rate is one of the rate that the body had, also where it is at rest and goes on."""
    rest = (0.0, 0.0, 1e-6)  # what a run to the end of a slew may have left of a rate of one
    first = ph.simulate(ph.Body([1, 1.3, 1.7]), omega=(0, 0, 1), t_span=(0.0, 1.0), t_eval=[1.0], rtol=1e-6)
    slewed = replace(first, last_momentum=np.array(rest) * 1.7, error_estimate=1e-6)
    drifts = ph.resume(slewed, 1001.0, t_eval=[1001.0], torque=ph.HeavyTop(0.0), rtol=0.1)
    assert drifts.error_estimate is not None
    assert 0.5e-3 < drifts.error_estimate < 0.1


def test_what_stops_a_resumed_tolerance_has_the_whole_motion() -> None:
    body, torque, omega = ph.Body([2.0, 1.5, 0.9]), ph.HeavyTop(1.0), (0.3, 0.1, 4.0)
    first = ph.simulate(body, torque, omega=omega, t_span=(0.0, 10.0), rtol=1e-6)

    def interrupt(done: int, steps: int) -> None:
        raise KeyboardInterrupt

    for rtol in (1e-6, 1e-9):  # goes on, and would begin anew
        with pytest.raises(ph.SimulationInterrupted) as stopped:
            ph.resume(first, 2000.0, rtol=rtol, progress=interrupt)
        solution = stopped.value.solution
        assert solution.t_last >= 10.0
        assert np.array_equal(solution.t[: first.t.size], first.t)
        assert solution.problem.t_start == 0.0
        assert "interrupted" in solution.message


def test_what_was_inherited_is_not_searched_for_shorter_steps() -> None:
    """One run shows that it grows above the tolerance; all evaluations are counted."""
    body, torque, omega = ph.Body([1.0, 1.4, 2.1]), ph.HeavyTop(0.5), (0.3, 0.2, 2.0)
    times: list[tuple[int, float]] = []
    first = ph.simulate(body, torque, omega=omega, t_span=(0.0, 300.0), t_eval=[300.0], rtol=1e-4)
    whole = ph.simulate(body, torque, omega=omega, t_span=(0.0, 600.0), t_eval=[600.0], rtol=1e-4)
    resumed = ph.resume(first, 600.0, t_eval=[600.0], progress=lambda done, steps: times.append((steps, done)))
    assert resumed.error_estimate is not None
    assert resumed.error_estimate <= 1e-4
    assert first.nfev + whole.nfev < resumed.nfev < 2.5 * whole.nfev
    assert max(steps for steps, _ in times) < 1.5 * whole.stats.steps  # it was up to 30 times as many


def test_a_failure_says_what_the_torque_does() -> None:
    """No step follows a body whose rate becomes infinite; a stiff torque wants other steps."""

    @ph.torque
    def driving(t: float, q: Any, w: Any, p: Any) -> Any:
        e = 0.5 * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
        return (e * w[0], e * w[1], e * w[2])

    body = ph.Body([2.0, 1.5, 0.9])
    with pytest.raises(ph.SimulationFailed, match="drives the body ever faster") as failed:
        ph.simulate(body, driving, omega=(1.0, 0.2, 0.1), t_span=(0.0, 20.0), step=0.01, method="RK4")
    assert "shorter step" not in str(failed.value)
    with pytest.raises(ph.SimulationFailed, match=r"stops the body within .* s \(it is stiff\)"):
        ph.simulate(body, ph.LinearDamping(1e6), omega=(1.0, 0.2, 0.1), t_span=(0.0, 9.0), step=0.01, method="RK4")


def test_a_resumed_tolerance_keeps_the_method_that_was_asked_for(tmp_path: Path) -> None:
    run: dict[str, Any] = {"omega": [0.1, 1.0, 0.2], "t_span": (0, 2), "rtol": 1e-6}
    s = ph.simulate(ph.Body([2, 3, 4]), ph.HeavyTop(weight=0.5), **run, method="RK4")
    assert ph.resume(s, 4.0).method == "RK4"
    s.save(tmp_path / "s.nc")
    again = ph.resume(ph.load(tmp_path / "s.nc"), 4.0)
    assert again.method == "RK4"
    assert again.error_estimate is not None
    assert again.error_estimate <= 1e-6
    assert ph.resume(again, 5.0).method == "RK4"
    other = ph.resume(again, 5.0, method="auto")
    assert other.method != "RK4"
    assert other.method_asked is None
    assert ph.simulate(ph.Body([2, 3, 4]), ph.HeavyTop(weight=0.5), **run).method_asked is None


def test_resume_with_another_step() -> None:
    body, torque = ph.Body([2.0, 1.5, 0.9]), ph.HeavyTop(1.0)
    first = ph.simulate(body, torque, omega=(0.3, 0.1, 4.0), t_span=(0.0, 1.0), step=0.1, method="MR2")
    second = ph.resume(first, 2.0, step=0.05)
    assert second.t.tolist() == pytest.approx([*np.arange(0, 1.01, 0.1), *np.arange(1.05, 2.01, 0.05)])
    with pytest.raises(ValueError, match="either rtol"):
        ph.resume(first, 2.0, step=0.05, rtol=1e-6)
    with pytest.raises(ValueError, match="leads away"):
        ph.resume(first, 2.0, step=-0.05)


def test_resume_needs_a_later_time() -> None:
    with pytest.raises(ValueError, match=r"beyond the last time 2, not at 1\.5"):
        ph.resume(run(), 1.5)
    with pytest.raises(ValueError, match="give t_eval"):
        ph.resume(run(t_eval=[2.0]), 3)
    more = ph.resume(run(t_eval=[1.0]), 3, t_eval=[2.5, 3])
    np.testing.assert_array_equal(more.t, [1, 2.5, 3])


def test_a_failed_run_can_be_resumed_with_a_mended_torque() -> None:
    broken = ph.torque(parameters=[1.0])(fails_late)
    with pytest.raises(ph.SimulationFailed) as caught:
        run(torque=broken, method="RK4")
    mended = ph.resume(caught.value.solution, 2, torque=broken.with_parameters([100.0]))
    assert mended.success
    assert mended.t[-1] == 2


def test_nothing_is_conserved_over_a_change_of_the_torque() -> None:
    half = run(torque=ph.HeavyTop(3.0), t_span=(0, 1))
    joined = ph.resume(half, 2, torque=ph.HeavyTop(30.0))
    assert list(joined.invariant_errors) == ["quaternion norm"]
    with pytest.raises(AttributeError, match="the torque was changed on the way"):
        _ = joined.energy_error
    again = ph.resume(half, 2, torque=ph.HeavyTop(3.0))  # the same torque
    assert again.energy_error.max() < 1e-2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"omega": [1, float("nan"), 0]}, r"omega\[1\] is nan"),
        ({"omega": [1, 2]}, r"omega must have the shape \(3,\), not \(2,\)"),
        ({"omega": [float("inf"), 0, 0]}, r"omega\[0\] is inf"),
        ({"omega": "fast"}, "omega must hold numbers"),
        ({"step": 0}, "step must not be zero"),
        ({"step": float("nan")}, "step must be finite, not nan"),
        ({"step": math.inf}, "step must be finite, not inf"),
        ({"step": -0.1}, "step -0.1 leads away from 2: from 0 it must be positive"),
        ({"step": 1e-20, "t_span": (1, 2)}, "lost in the round-off.*longer step"),
        ({"step": "0.1s"}, "step must be a number, not '0.1s'"),
        ({"t_span": (0, float("nan"))}, r"t_span\[1\] is nan"),
        ({"t_span": (0, math.inf)}, r"t_span\[1\] is inf"),
        ({"t_span": (3, 3)}, "starts and ends at 3"),
        ({"t_span": (1, 2, 3)}, r"t_span must have the shape \(2,\)"),
        ({"attitude": [0, 0, 0, 0]}, "quaternion is zero"),
        ({"attitude": [1, 0, float("nan"), 0]}, r"attitude\[2\] is nan"),
        ({"attitude": [1, 0, 0]}, r"a quaternion \(scalar first\) or a 3x3 matrix, not of shape \(3,\)"),
        ({"attitude": np.eye(3) * 1.1}, r"R R\^T differs from 1 by 0.21"),
        ({"attitude": np.diag([1, 1, -1])}, "determinant is -1"),
        ({"attitude": Rotation.random(2, rng=1)}, "single Rotation"),
        ({"t_eval": [0, 2, 1]}, "2 is followed by 1: sort it"),
        ({"t_eval": [0, 1, 1, 2]}, "1 is followed by 1.*duplicates"),
        ({"t_eval": [0, float("nan")]}, r"t_eval\[1\] is nan"),
        ({"t_eval": [0, 1, 2.5]}, r"t_eval\[2\] = .*2.5.* outside t_span"),
        ({"t_eval": [-0.5, 1]}, r"t_eval\[0\] = .*-0.5.* outside t_span"),
        ({"t_eval": []}, "t_eval must be a list of times"),
        ({"t_eval": [1], "every": 2}, "either t_eval or every"),
        ({"every": 0}, "every must be a positive whole number of steps, not 0"),
        ({"every": math.inf}, "every must be a positive whole number of steps, not inf"),
        ({"every": math.nan}, "every must be a positive whole number of steps, not nan"),
        ({"every": [2, 3]}, r"every must be a positive whole number of steps, not \[2, 3\]"),
        ({"step": "0.1"}, "step must be a number, not '0.1'"),
        ({"step": True}, "step must be a number, not True"),
        ({"omega": np.array([1j, 0, 0])}, "omega must hold numbers"),
        ({"omega": ["1", "2", "3"]}, "omega must hold numbers"),
        ({"attitude": [1, [0, 0], 0, 0]}, "attitude must hold rows of one length"),
        ({"t_eval": [0, [1, 2]]}, "t_eval must hold rows of one length"),
        ({"t_eval": np.array([1j])}, "t_eval must hold numbers"),
        ({"t_eval": ["1"]}, "t_eval must hold numbers"),
        ({"torque": ph.HeavyTop}, r"not the class HeavyTop: write HeavyTop\(...\) with its parameters"),
        ({"every": 1.5}, "every must be a positive whole number of steps, not 1.5"),
        ({"method": "MR22"}, "no method 'MR22': did you mean 'MR2'"),
        ({"method": "Zaphod"}, "no method 'Zaphod': .*`polhode methods --all` lists"),
        ({"step": 1e-6, "t_span": (0, 1e7)}, "GiB: ask for fewer with every= or t_eval="),
    ],
)
def test_bad_input(changes: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError, MemoryError), match=message):
        run(**changes)


def test_body_must_be_a_body() -> None:
    with pytest.raises(TypeError, match=r"write Body\(\[1, 2, 2\]\)"):
        ph.simulate([1, 2, 2], **START)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"write Body.named\('water'\)"):
        ph.simulate("water", **START)  # type: ignore[arg-type]


def damped(t: float, q: Any, w: Any, p: Any) -> Any:
    return (-w[0], -w[1], -w[2])


def test_method_that_does_not_accept_the_torque() -> None:
    with pytest.raises(ValueError, match=r"MR2 does not accept damped, a torque that depends on the rate: use .*RK4"):
        run(torque=ph.torque(damped))


@pytest.mark.parametrize("method", ["Strang", "RK4", "DOP853"])
def test_numbers_near_the_ends_of_the_range(method: str) -> None:
    """A shorter step would not help."""
    with pytest.raises(ValueError, match=r"choose a unit of time .* nearer to one, here 1e-200 s"):
        run(torque=None, omega=[1e200, 1e199, 0.0], t_span=(0, 1e-200), step=1e-201, method=method)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("rate", [1e12, 1e40])
def test_more_radians_than_any_run_makes(rate: float) -> None:
    """At once, and not by the rows that nobody asked for."""
    told = r"asks for some .* steps of .*, as the body turns by 1e\+(12|40) rad, and no run makes more than 2e\+09: end"
    start: dict[str, Any] = {"omega": [rate, 0.0, 1.0], "t_span": (0, 1), "rtol": 1e-6}
    with pytest.raises(ValueError, match=told):
        ph.simulate(BODY, ph.HeavyTop(1.0), method="Strang", **start)


def test_adaptive_steps_are_not_called_short_where_the_body_turns_fast() -> None:
    with pytest.raises(ph.SimulationFailed, match=r"turns at 1e\+12 rad/s, and the run would take .* units of omega"):
        run(torque=None, omega=[1e12, 0.0, 1.0], t_span=(0, 1), rtol=1e-6, method="DOP853", step=None)


def test_a_step_of_many_turns_that_fails_names_the_step_that_would_not() -> None:
    with pytest.raises(
        ph.SimulationFailed,
        match=r"take a shorter step: it turns the body by 1e\+09 rad; steps of 3e-13 s",
    ):
        run(torque=None, omega=[1e12, 3e11, 1.0], t_span=(0, 1), step=1e-3, method="RK4")


@pytest.mark.parametrize("power", [-70, 60])
def test_moments_near_the_ends_of_the_range(power: int) -> None:
    """Nor here: the exact flow makes sixth powers of them."""
    with pytest.raises(ValueError, match=f"choose a unit of mass .* nearer to one, here 1e{power} kg"):
        ph.simulate(ph.Body(10.0**power * np.array([1.0, 1.4, 2.1])), **(START | {"method": "Strang"}))


def fails_at_once(t: float, q: Any, w: Any, p: Any) -> Any:
    return (float("nan"), 0.0, 0.0)


def raises_at_once(t: float, q: Any, w: Any, p: Any) -> Any:
    raise ValueError("no torque today")


def too_short(t: float, q: Any, w: Any, p: Any) -> Any:
    return (1.0, 2.0)


def fails_late(t: float, q: Any, w: Any, p: Any) -> Any:
    return (0.1 if t < p[0] else math.nan, 0.0, 0.0)


def raises_late(t: float, q: Any, w: Any, p: Any) -> Any:
    if t > 1.0:
        raise ValueError("enough")
    return (0.1, 0.0, 0.0)


def no_kernel(t: float, q: Any, w: Any, p: Any) -> Any:
    angle = Rotation.from_quat(q).magnitude()
    return (angle, 0.0, 0.0)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (fails_at_once, r"torque fails_at_once returned \(nan, 0.0, 0.0\) at t = 0, at the very start"),
        (raises_at_once, "torque raises_at_once raised ValueError at t = 0: no torque today"),
        (too_short, r"torque too_short must return three numbers, not \(1.0, 2.0\)"),
    ],
)
def test_torque_that_fails_at_once(function: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(torque=ph.torque(function))


@pytest.mark.parametrize("method", ["MR2", "RK4", "NMB"])
@pytest.mark.usefixtures("plain")
def test_torque_that_turns_nan_midway(method: str) -> None:
    turns_nan_midway(method)


def test_compiled_torque_that_turns_nan_midway() -> None:
    turns_nan_midway("RK4")


def turns_nan_midway(method: str) -> None:
    torque = ph.torque(parameters=[1.05])(fails_late)
    with pytest.raises(
        ph.SimulationFailed,
        match=r"returned \(nan, 0, 0\) after 10 of 20 steps, at t = 1\.\d+: look at what it divides",
    ) as caught:
        run(torque=torque, method=method)
    solution = caught.value.solution
    assert solution.status != codes.OK
    assert not solution.success
    good = run(torque=torque, method=method, t_span=(0, 1))
    np.testing.assert_array_equal(solution.t, good.t)
    np.testing.assert_array_equal(solution.momentum, good.momentum)
    assert solution.t_last == 1
    np.testing.assert_array_equal(solution.last_momentum, good.momentum[-1])


def test_torque_that_raises_midway() -> None:
    with pytest.raises(
        ph.SimulationFailed, match="raises_late raised ValueError: enough after 10 of 20 steps"
    ) as caught:
        run(torque=ph.torque(raises_late))
    solution = caught.value.solution
    assert solution.status == codes.RAISED
    assert solution.t_last == 1
    np.testing.assert_array_equal(solution.momentum, run(torque=ph.torque(raises_late), t_span=(0, 1)).momentum)


def raises_soon(t: float, q: Any, w: Any, p: Any) -> Any:
    if t > 0.001:
        raise ValueError("enough")
    return (0.1, 0.0, 0.0)


def test_torque_that_raises_in_the_first_step() -> None:
    with pytest.raises(
        ph.SimulationFailed, match="raises_soon raised ValueError: enough after 0 of 20 steps"
    ) as caught:
        run(torque=ph.torque(raises_soon), method="RK4")
    np.testing.assert_array_equal(caught.value.solution.t, [0])


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(("method", "done"), [("RK4", "0 of 20"), ("DOP853", "0"), ("MR2", "0 of 20")])
def test_torque_that_raises_in_plain_python(method: str, done: str) -> None:
    """As compiled code has it; what is raised by anything but the torque is shown as it is."""
    with pytest.raises(ph.SimulationFailed, match=f"raises_soon raised ValueError: enough after {done} steps"):
        run(torque=ph.torque(raises_soon), method=method)

    def nothing_soon(t: float, q: Any, w: Any, p: Any) -> Any:
        return None if t > 0.5 else (0.1, 0.0, 0.0)

    with pytest.raises(TypeError, match="NoneType"):
        run(torque=ph.torque(nothing_soon), method=method)


@ph.torque(parameters=[0.1])
def base(t: float, q: Any, w: Any, p: Any) -> Any:
    return (p[0], 0.0, 0.0)


def doubled(t: float, q: Any, w: Any, p: Any) -> Any:
    a, b, c = base(t, q, w, p)
    return (2 * a, 2 * b, 2 * c)


def test_torque_that_calls_another_torque() -> None:
    twice = run(torque=ph.torque(doubled, parameters=[0.1]), method="RK4")  # it passes w on, so it may depend on it
    once = run(torque=base.with_parameters([0.2]), method="RK4")
    np.testing.assert_array_equal(twice.momentum, once.momentum)


def test_listed_output_does_not_move_the_failure() -> None:
    """The step aside that raises is found by itself; what lies before it is kept."""
    times = [0.1, 0.95, 1.0, 1.05, 1.15, 1.5]
    with pytest.raises(ph.SimulationFailed, match="raised ValueError: enough after 10 of 20 steps") as caught:
        run(torque=ph.torque(raises_late), t_eval=times)
    assert caught.value.solution.t_last == 1
    np.testing.assert_array_equal(caught.value.solution.t, [0.1, 0.95, 1.0])


def hopeless(t: float, q: Any, p: Any) -> Any:
    return 1.0 / (q[1] - q[1]) if t > 0.5 else 0.0


def test_potential_is_tried_first_and_never_costs_the_states(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="potential of base raised ZeroDivisionError at t = 1"):
        run(torque=ph.torque(base.function, parameters=[0.1], potential=hopeless), t_span=(1, 2))
    solution = run(torque=ph.torque(base.function, parameters=[0.1], potential=hopeless))
    with pytest.warns(UserWarning, match="saved as NaN"):
        solution.save(tmp_path / "a.nc")
    back = ph.load(tmp_path / "a.nc")
    np.testing.assert_array_equal(back.momentum, solution.momentum)
    assert np.isnan(back.potential_energy).all()


def swelling(t: float, q: Any, w: Any, p: Any) -> Any:
    return (5 * math.sin(t), 3 * math.sin(t), math.sin(t))


@pytest.mark.usefixtures("plain")
def test_resumed_flow_keeps_its_resolution() -> None:
    options: dict[str, Any] = {"torque": ph.torque(swelling), "omega": [0, 0, 0], "step": 1 / 64, "method": "Strang"}
    whole, half = run(**options), run(**options, t_span=(0, 1))
    half.metadata["title"] = "swell"
    joined = ph.resume(half, 2)
    np.testing.assert_allclose(joined.quaternion, whole.quaternion, rtol=0, atol=1e-15)
    np.testing.assert_allclose(joined.momentum, whole.momentum, rtol=0, atol=1e-15)
    assert joined.metadata == {"title": "swell"}
    with pytest.raises(ValueError, match="no method 'MR22'"):
        ph.resume(half, 2, method="MR22")
    with pytest.raises(TypeError, match="torque must be a torque, not 3: take a model that"):
        ph.resume(half, 2, torque=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("torque", "said"),
    [
        (lambda t, q, w, p: (0, 0, 0), "not <function .*: decorate it with @ph.torque"),
        (ph.HeavyTop, r"not the class HeavyTop: write HeavyTop\(...\)"),
        ("heavy_top", r"not 'heavy_top': there is ph.HeavyTop: write ph.HeavyTop\(...\)"),
        ("no such thing", "not 'no such thing': take a model that `polhode torques` lists"),
        (np.zeros((5, 4)), r"not an array of shape \(5, 4\): a table of torques is ph.Table\(t, values\)"),
        ([[0.0, 0.0, 1.0]] * 3000, r"not a list of 3,000 entries: a table of torques is ph.Table\(t, values\)"),
    ],
)
def test_what_is_no_torque_is_named_with_a_remedy(torque: Any, said: str) -> None:
    body, motion = ph.Body([1, 2, 2.8]), dict[str, Any](omega=[0, 0, 1], t_span=(0, 1), rtol=1e-6)
    with pytest.raises(TypeError, match=f"^torque must be a torque, {said}"):
        ph.simulate(body, torque, **motion)
    with pytest.raises(TypeError, match=f"^a torque is added to torques, {said}"):
        ph.HeavyTop(1.0) + torque
    if isinstance(torque, str):
        with pytest.raises(TypeError, match=f"^torque must be a torque, {said}"):
            ph.ensemble(body, torque, **motion)  # type: ignore[arg-type]


def test_progress_that_is_no_function_is_refused_at_the_border() -> None:
    said, wrong = r"progress must be a function of \(done, steps\), not True", dict[str, Any](progress=True)
    body, motion = ph.Body([1, 2, 2.8]), dict[str, Any](omega=[0, 0, 1], t_span=(0, 1))
    with pytest.raises(TypeError, match=said):
        ph.simulate(body, **motion, rtol=1e-6, **wrong)
    with pytest.raises(TypeError, match=said):
        ph.resume(ph.simulate(body, **motion, rtol=1e-6), 2, **wrong)
    with pytest.raises(TypeError, match=said):
        ph.ensemble(body, **motion, rtol=1e-6, **wrong)
    with pytest.raises(TypeError, match=said):
        ph.simulate_system(ph.System(body, mass=1, position=[[0, 0, 0]]), t_span=(0, 1), step=0.1, **wrong)


def divides(t: float, q: Any, w: Any, p: Any) -> Any:
    return (1.0 / (0.5 - t) if t > 0.3 else 0.0, 0.0, 0.0)


def test_torque_that_divides_by_zero() -> None:
    """Compiled code goes on with infinity; the message says what Python says."""
    with pytest.raises(ph.SimulationFailed, match=r"divides raised ZeroDivisionError: .* at t = 0\.5"):
        run(torque=ph.torque(divides), method="RK4", step=0.125)


def test_torque_that_cannot_be_compiled_shows_the_line() -> None:
    with pytest.raises(TypeError, match="no_kernel") as caught:
        run(torque=ph.torque(no_kernel))
    assert "angle = Rotation.from_quat(q).magnitude()" in str(caught.value)
    assert "test_simulate.py" in str(caught.value)


@pytest.mark.usefixtures("plain")
def test_newton_that_cannot_converge() -> None:
    """With steps of many turns the implicit equation has no solution near by: a status, not garbage."""
    with pytest.raises(ph.SimulationFailed, match=r"NMB (could not solve|left).* shorter step") as caught:
        ph.simulate(BODY, omega=[3, 2, 1], t_span=(0, 1e4), step=40.0, method="NMB")
    assert np.isfinite(caught.value.solution.momentum).all()


def test_step_so_large_that_numbers_overflow() -> None:
    with pytest.raises(
        ph.SimulationFailed, match=r"RK4 produced NaN or infinity with step 100 .*shorter step"
    ) as caught:
        ph.simulate(BODY, omega=[3, 2, 1], t_span=(0, 1e5), step=100.0, method="RK4")
    assert np.isfinite(caught.value.solution.momentum).all()
    assert caught.value.solution.t.size >= 1


def test_torque_is_not_blamed_for_what_it_was_given() -> None:
    """RK4 leaves the finite numbers within a step, and the torque is asked at an attitude that is none."""
    with pytest.raises(ph.SimulationFailed, match="RK4 produced NaN or infinity with step 1e\\+60"):
        run(step=1e60, t_span=(0, 1e62), method="RK4")


def test_interrupt_keeps_what_was_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integration, "CHUNK_SECONDS", 1e-4)  # a quick machine would make the second half in one chunk

    def stop(done: int, total: int) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="interrupted after") as caught:
        run(t_span=(0, 300_000), every=100, progress=stop)
    assert isinstance(caught.value, ph.SimulationInterrupted)
    solution = caught.value.solution
    assert solution.status == codes.INTERRUPTED
    assert 150_000 < solution.t_last < 300_000
    assert solution.t_last - 10 < solution.t[-1] <= solution.t_last
    whole = run(t_span=(0, 300_000), every=100)
    np.testing.assert_array_equal(solution.momentum, whole.momentum[: solution.t.size])
    np.testing.assert_array_equal(ph.resume(solution, 300_000).last_momentum, whole.last_momentum)


@pytest.mark.usefixtures("plain")
def test_a_method_of_ones_own() -> None:
    """Composition gives a Method that simulate takes like any other."""
    mr4 = compose(find("MR2"), triple_jump(2), name="MR4", order=4)
    assert run(method=mr4).energy_error.max() < run().energy_error.max() / 10
    assert run(method=mr4).method == "MR4"


@pytest.mark.usefixtures("plain")
def test_a_torque_of_complex_numbers_is_blamed() -> None:
    def root(t: float, q: Any, w: Any, p: Any) -> Any:
        return ((0.5 - t) ** 0.5, 0.0, 0.0)

    with pytest.raises(ph.SimulationFailed, match=r"returned .* which are not all real numbers"):
        ph.simulate(ph.Body([1, 2, 2.5]), ph.torque(root), omega=[1, 0, 0], t_span=(0, 1), step=0.1, method="RK4")


@pytest.mark.usefixtures("plain")
def test_failures_travel_between_processes() -> None:
    """With everything that was computed: a pool of processes would wait for ever for one that cannot be unpickled."""
    with pytest.raises(ph.SimulationFailed) as caught:
        run(torque=ph.torque(parameters=[0.55])(fails_late))
    many = ph.ensemble(BODY, omega=[[1.0, 0.5, -0.3]] * 2, t_span=(0, 1), step=0.1, method="MR2")
    for stopped in (caught.value, ph.SimulationInterrupted(caught.value.solution), ph.EnsembleInterrupted(many)):
        again = pickle.loads(pickle.dumps(stopped))
        assert type(again) is type(stopped)
        assert str(again) == str(stopped)
        what = "ensemble" if isinstance(stopped, ph.EnsembleInterrupted) else "solution"
        kept, given = getattr(again, what), getattr(stopped, what)
        assert np.array_equal(kept.quaternion, given.quaternion)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy speaks of the overflow in plain Python
def test_messages_name_what_was_given(plain: None) -> None:
    body = ph.Body([1, 2, 2.8])
    for rtol, taken in ((1e-20, "is taken as 1e-17"), (1e-17, "cannot be reached")):
        with pytest.warns(ph.ToleranceNotReached, match=f"rtol={rtol:g} {taken}: floats have 16 digits") as said:
            ph.simulate(body, omega=[0.1, 2, 0], t_span=(0, 1), rtol=rtol)
        assert len(said) == 1
    with pytest.raises(ph.SimulationFailed, match=r"check the numbers of the torque HeavyTop .*: one is 1e\+60"):
        ph.simulate(body, ph.HeavyTop(1e60), omega=[0.1, 2, 0], t_span=(0, 1), step=0.01, method="RK4")
    with pytest.raises(ValueError, match=r"step 0\.01 is lost in .* 1000000000000000\.0 to 1000000000000001\.0"):
        ph.simulate(body, omega=[0.1, 2, 0], t_span=(1e15, 1e15 + 1), step=0.01, method="MR2")
