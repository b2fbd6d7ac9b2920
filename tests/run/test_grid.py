"""The grid of a run and its output: steps, listed times, jumps of the torque."""

from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.kernels import status as codes
from polhode.run.grid import located, segments
from polhode.support.checks import FEW_NUMBERS
from tests.run.common import run


def test_every_step_by_default() -> None:
    solution = run()
    np.testing.assert_array_equal(solution.t, 0.1 * np.arange(21))
    assert solution.success
    assert solution.status == codes.OK
    assert solution.stats.steps == 20
    assert solution.message == "reached t = 2 in 20 steps"
    assert solution.t_last == 2


def test_every_k_steps_and_the_end() -> None:
    full, some = run(), run(every=6)
    np.testing.assert_array_equal(some.t, full.t[[0, 6, 12, 18, 20]])
    np.testing.assert_array_equal(some.quaternion, full.quaternion[[0, 6, 12, 18, 20]])
    np.testing.assert_array_equal(some.momentum, full.momentum[[0, 6, 12, 18, 20]])


def test_last_step_is_adapted() -> None:
    solution = run(t_span=(0, 1.05))
    assert solution.stats.steps == 11
    assert solution.t[-1] == 1.05
    np.testing.assert_array_equal(solution.t[:-1], 0.1 * np.arange(11))
    single = run(t_span=(0, 0.04))
    assert single.stats.steps == 1
    np.testing.assert_array_equal(single.t, [0, 0.04])


@pytest.mark.parametrize(("span", "h"), [((0.0, 7.0), 0.1), ((1e6, 1e6 - 3.05), -0.25), ((-2.0, 5.3), 0.7)])
def test_times_are_placed_alike_one_by_one_and_together(span: tuple[float, float], h: float) -> None:
    """On the grid, an ulp or ten beside it, anywhere else, and at the ends."""
    (piece,), (low, high) = segments(*span, h, ()), sorted(span)
    grid = np.append(piece.t0 + h * np.arange(piece.steps), piece.t1)
    beside = [grid + k * np.spacing(grid) for k in (-10, -1, 1, 10)]
    anywhere = np.random.default_rng(5).uniform(low, high, 100)
    times = np.clip(np.concatenate([grid, *beside, anywhere]), low, high)
    assert times.size > FEW_NUMBERS
    index, offset = located(piece, times)
    alone = [located(piece, times[k : k + 1]) for k in range(times.size)]
    np.testing.assert_array_equal(index, [k[0] for k, _ in alone])
    np.testing.assert_array_equal(offset, [x[0] for _, x in alone])
    assert (offset[: grid.size] == 0.0).all()


def test_span_that_misses_the_grid_by_round_off() -> None:
    (piece,) = segments(0.0, 3 * 0.1, 0.1, ())  # 0.30000000000000004
    assert piece.steps == 3
    assert piece.last == 0.1
    (piece,) = segments(1e6, 1e6 + 1, 1e-3, ())
    assert piece.steps == 1000
    assert piece.last == 1e-3


def test_output_off_the_grid_does_not_change_the_run() -> None:
    times = [0.0, 0.033, 0.034, 0.1, 0.2, 1.2345, 1.99, 2.0]
    plain, aside = run(), run(t_eval=times)
    np.testing.assert_array_equal(aside.t, times)
    on_grid = [0, 3, 4, 7]
    np.testing.assert_array_equal(aside.momentum[on_grid], plain.momentum[[0, 1, 2, 20]])
    np.testing.assert_array_equal(aside.last_quaternion, plain.last_quaternion)
    fine = run(t_eval=times, step=1e-3)
    assert np.abs(aside.momentum - fine.momentum).max() < 0.02  # second order at the coarse step
    assert aside.nfev == plain.nfev + 4  # four steps aside, one evaluation each


def test_times_on_the_grid_up_to_round_off_need_no_step_aside() -> None:
    solution = run(t_eval=np.linspace(0, 2, 21))
    assert solution.nfev == run().nfev
    np.testing.assert_array_equal(solution.momentum, run().momentum)


def test_backward_in_time() -> None:
    there = run()
    back = run(
        omega=there.omega[-1], attitude=there.attitude[-1], t_span=(2, 0), step=-0.1, t_eval=[2, 1.95, 1.0, 0.55, 0]
    )
    np.testing.assert_array_equal(back.t, [2, 1.95, 1.0, 0.55, 0])
    np.testing.assert_allclose(back.momentum[-1], there.momentum[0], atol=1e-14)
    np.testing.assert_allclose(back.momentum[2], there.momentum[10], atol=1e-14)


def test_one_far_time_only() -> None:
    solution = run(t_eval=2.0)
    assert solution.t.shape == (1,)
    np.testing.assert_array_equal(solution.momentum[0], run().momentum[-1])
    assert solution.energy_error[0] == run().energy_error[-1]  # measured from the start, not from the first row


def on_and_off(t: float, q: Any, w: Any, p: Any) -> Any:
    return (1.0, 0.0, 0.0) if t < 0.23 else (0.0, 0.0, 0.0)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("method", ["MR2", "RK4", "NMB"])
@pytest.mark.parametrize("step", [0.1, -0.1])
def test_jump_is_met_exactly(method: str, step: float) -> None:
    """A torque about a principal axis of a body at rest: the momentum is the impulse, whatever the step."""
    torque = ph.torque(breakpoints=[0.23])(on_and_off)
    span = (0, 1) if step > 0 else (1, 0)
    solution = run(torque=torque, omega=[0, 0, 0], t_span=span, step=step, method=method, every=3)
    impulse = 0.23 if step > 0 else -0.23
    np.testing.assert_allclose(solution.momentum[-1], [impulse, 0, 0], atol=1e-15)
    assert solution.stats.steps == 3 + 8
    assert solution.t[-1] == span[1]
    assert solution.t.size == 11 // 3 + 2
    # without the declaration the step across the jump errs at first order
    blind = run(torque=ph.torque(on_and_off), omega=[0, 0, 0], t_span=span, step=step, method=method)
    assert abs(blind.momentum[-1, 0] - impulse) > 1e-3


@pytest.mark.usefixtures("plain")
def test_output_times_across_breakpoints() -> None:
    torque = ph.torque(breakpoints=[0.23, 0.5])(on_and_off)
    times = [0, 0.1, 0.23, 0.26, 0.35, 0.5, 0.51, 1]
    solution = run(torque=torque, omega=[0, 0, 0], t_span=(0, 1), t_eval=times)
    np.testing.assert_array_equal(solution.t, times)
    expected = np.minimum(times, 0.23)
    np.testing.assert_allclose(solution.momentum[:, 0], expected, atol=1e-15)
    grid = run(torque=torque, omega=[0, 0, 0], t_span=(0, 1))
    np.testing.assert_allclose(grid.t, [0, 0.1, 0.2, 0.23, 0.33, 0.43, 0.5, *np.arange(0.6, 1.05, 0.1)], atol=1e-15)
    np.testing.assert_allclose(grid.momentum[:, 0], np.minimum(grid.t, 0.23), atol=1e-15)


@pytest.mark.usefixtures("plain")
def test_breakpoints_outside_the_span_are_ignored() -> None:
    torque = ph.torque(breakpoints=[-1.0, 0.0, 2.0, 7.0])(on_and_off)
    assert run(torque=torque).stats.steps == 20


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("span", [(0.0, 772.447942880569), (772.447942880569, 0.0), (-1.0, 0.1)])
def test_listed_times_may_be_rounded_out_of_the_span(span: tuple[float, float]) -> None:
    a, b = span
    times = a + (b - a) * np.arange(1, 4) / 3
    times[-1] = np.nextafter(b, b + (b - a))
    given: dict[str, Any] = {"omega": [0.1, 0.2, 0.3], "t_span": span, "step": (b - a) / 9, "method": "MR2"}
    assert ph.simulate(ph.Body([1, 2, 2.5]), None, t_eval=times, **given).t[-1] == b
    times[-1] += 1e-9 * (b - a)
    with pytest.raises(ValueError, match="lies outside t_span"):
        ph.simulate(ph.Body([1, 2, 2.5]), None, t_eval=times, **given)
