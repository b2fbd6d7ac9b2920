"""Steps of DOP853 that end where the torque bends: errors as small as the tolerance says, at a third of the cost.

Most runs are made in plain Python: nothing here depends on the compiler, and compiling takes longer than running.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.compiler import compiles
from polhode.kernels.steps.branch_steps import padded
from polhode.kernels.steps.variable_steps import Adaptive
from polhode.methods import find
from polhode.torques import Torque

BODY = ph.Body([1.0, 1.2, 1.5])
START = np.array([0.6, 0.4, -0.5, 0.3]) / math.sqrt(0.86)


@ph.torque(parameters=[3.0, 5.5])
def thruster(t: float, q: Any, w: Any, p: Any) -> Any:
    """Is on for a while."""
    return (0.1, 0.0, 0.02) if p[0] < t < p[1] else (0.0, 0.0, 0.0)


@ph.torque(parameters=[0.01])
def sunlight(t: float, q: Any, w: Any, p: Any) -> Any:
    """Acts on a facet that is turned to the sun."""
    s = ph.to_body(q, (1.0, 0.0, 0.0))
    light = p[0] * max(s[0], 0.0)
    return (0.3 * light, light * s[2], (0.2 - s[1]) * light)


@ph.torque(parameters=[0.02])
def friction(t: float, q: Any, w: Any, p: Any) -> Any:
    """Holds the rate at a jump once it is zero."""
    return (-p[0] * np.sign(w[0]), 0.0, -p[0] * np.sign(w[2]))


@ph.torque(parameters=[0.3])
def from_the_bend(t: float, q: Any, w: Any, p: Any) -> Any:
    """Bends where bodies start."""
    return (p[0] * q[1], 0.0, 0.0) if q[1] > 0.0 else (0.0, 0.0, 0.0)


@ph.torque(parameters=[0.05])
def without_value(t: float, q: Any, w: Any, p: Any) -> Any:
    """Has a branch that cannot be computed beyond its bend."""
    s = ph.to_body(q, (1.0, 0.0, 0.0))
    return (p[0] * math.sqrt(s[0]) if s[0] > 0.0 else 0.0, 0.0, 0.0)


def run(
    torque: Torque, rtol: float, t: Any, *, locate: bool = True, omega: Any = (0.3, 1.0, 0.2), attitude: Any = START
) -> ph.Solution:
    """Runs DOP853 up to t."""
    method = replace(find(f"DOP853(rtol={rtol!r})"), locates_bends=locate)
    t_eval = np.atleast_1d(t)
    span = (0.0, float(t_eval[-1]))
    return ph.simulate(
        BODY, torque, omega=omega, attitude=attitude, t_span=span, method=method, step=span[1], t_eval=t_eval
    )


def error(a: ph.Solution, b: ph.Solution) -> float:
    """Returns the greatest difference of two motions."""
    return float(max(np.abs(a.quaternion - b.quaternion).max(), np.abs(a.omega - b.omega).max()))


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets all kernels run in plain Python."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert not compiles()


@pytest.mark.usefixtures("interpreted")
def test_a_jump_in_time_costs_no_accuracy() -> None:
    declared = ph.torque(breakpoints=[3.0, 5.5], parameters=[3.0, 5.5])(thruster.function)
    truth = run(declared, 1e-15, 10.0)
    for rtol in (1e-6, 1e-10, 1e-13):
        found, before, told = (
            run(thruster, rtol, 10.0),
            run(thruster, rtol, 10.0, locate=False),
            run(declared, rtol, 10.0),
        )
        assert error(found, truth) < 2.0 * error(told, truth) + 1e-14  # round-off of ten units of time
        assert error(found, truth) < 2.0 * rtol < error(before, truth)
        assert found.nfev < told.nfev + 100  # for two jumps
        assert 3 * found.nfev < before.nfev


@pytest.mark.usefixtures("interpreted")
def test_a_kink_is_located_where_it_matters() -> None:
    truth = run(sunlight, 1e-14, 20.0)
    for rtol in (1e-6, 1e-10):
        found, before = run(sunlight, rtol, 20.0), run(sunlight, rtol, 20.0, locate=False)
        # The motion is about the middle axis: an error grows some hundred times in this span.
        assert error(found, truth) < min(100.0 * rtol, 0.2 * error(before, truth))
        assert found.nfev < 0.7 * before.nfev
    weak = sunlight.with_parameters([1e-9])
    found, before = run(weak, 1e-6, 20.0), run(weak, 1e-6, 20.0, locate=False)
    assert found.stats.steps == before.stats.steps
    assert found.nfev < 1.2 * before.nfev


@pytest.mark.usefixtures("interpreted")
def test_a_torque_far_from_its_bends_costs_what_it_did() -> None:
    never = thruster.with_parameters([1e9, 2e9])
    found, before = run(never, 1e-9, 10.0), run(never, 1e-9, 10.0, locate=False)
    assert found.nfev == before.nfev + 1  # the slope at the end of a step is that at the start of the next
    assert np.array_equal(found.quaternion, before.quaternion)


@pytest.mark.usefixtures("interpreted")
def test_rows_within_a_step_are_on_its_side() -> None:
    t = np.linspace(0.1, 10.0, 34)
    assert error(run(thruster, 1e-12, t), run(thruster, 1e-14, t)) < 1e-11


@pytest.mark.usefixtures("interpreted")
def test_a_run_back_in_time_returns() -> None:
    there = run(thruster, 1e-12, 10.0)
    back = ph.simulate(
        BODY, thruster, omega=there.omega[-1], attitude=there.quaternion[-1], t_span=(10.0, 0.0),
        method="DOP853(rtol=1e-12)", step=-10.0, t_eval=[0.0],
    )  # fmt: skip
    assert np.abs(back.omega[-1] - (0.3, 1.0, 0.2)).max() < 1e-10
    assert np.abs(back.quaternion[-1] - START).max() < 1e-10


@pytest.mark.usefixtures("interpreted")
def test_a_start_on_a_bend() -> None:
    for rtol in (1e-6, 1e-9):
        found, truth = (
            run(from_the_bend, tolerance, 2.0, omega=(1.0, 2.0, 3.0), attitude=(1.0, 0.0, 0.0, 0.0))
            for tolerance in (rtol, 1e-14)
        )
        assert error(found, truth) < 10.0 * rtol


@pytest.mark.usefixtures("interpreted")
def test_a_branch_that_has_no_value_beyond_its_bend() -> None:
    found, truth = (run(without_value, rtol, 10.0, locate=rtol > 1e-9) for rtol in (1e-8, 1e-13))
    assert error(found, truth) < 1e-6


@pytest.mark.usefixtures("interpreted")
def test_a_motion_that_is_held_at_a_jump_ends_as_before() -> None:
    found, before = (run(friction, 1e-3, 14.0, locate=locate) for locate in (True, False))
    assert error(found, before) < 0.01
    assert found.nfev < 5 * before.nfev


@pytest.mark.usefixtures("interpreted")
def test_a_continued_run_remembers_its_side() -> None:
    whole, half = run(thruster, 1e-10, [4.0, 10.0]), run(thruster, 1e-10, 4.0)
    assert error(ph.resume(half, 10.0, t_eval=[10.0]), whole) < 1e-9


@pytest.mark.usefixtures("interpreted")
def test_a_padded_memory_changes_nothing() -> None:
    stepper = Adaptive().bind(lambda body, p, t, s: (0.1, 0.0, 0.0), thruster.depends)
    longer = padded(stepper, 14)
    from polhode.kernels.types import Inertia, Params, State

    body, p = (
        Inertia((1.0, 1.2, 1.5), (1.0, 1 / 1.2, 1 / 1.5)),
        Params((), (1.0, 0.0, 0.0, 0.0), (0.0, 1.0), (1e-9, 0.0)),
    )
    s = State((1.0, 0.0, 0.0, 0.0), (0.1, 0.2, 0.3))
    one, many = stepper.start(body, p, 0.0, s), longer.start(body, p, 0.0, s)
    assert len(many) == 14
    for _ in range(3):
        a, one, _ = stepper.step(body, p, 0.0, s, 1.0, one)
        b, many, _ = longer.step(body, p, 0.0, s, 1.0, many)
        assert a == b
        assert one == (*many[:3], many[-1])
        s = a


@pytest.mark.evidence
def test_compiled_steps_are_those_of_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    t = [2.0, 5.0, 20.0]
    compiled = run(sunlight, 1e-9, t)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    plain = run(sunlight, 1e-9, t)
    assert compiled.stats.steps == plain.stats.steps
    assert error(compiled, plain) < 1e-11
