"""The frame that does not spin: exact for free bodies, right under every torque, and worth it for fast ones."""

import math
from typing import Any

import numpy as np
import pytest

import polhode as ph

PAIRS = ["TsitPap86(rtol=1e-8{})", "Verner98(rtol=1e-9{})"]
METHODS = [*PAIRS, "GBS(rtol=1e-10{})"]
FAST: dict[str, Any] = {
    "omega": [0.1, 0.3, 50.0],
    "attitude": [0.96, 0.28, 0.0, 0.0],
    "t_span": (0.0, 4.0),
    "step": 4.0,
}
PEN = ph.Body([5.0, 5.0, 1.0])


@ph.torque
def thruster(t: float, q: Any, w: Any, p: Any) -> Any:
    """A force that turns with the body, and is weaker where that turns fast."""
    return (0.3 + 0.1 * q[1], -0.02 * w[1], 0.02 - 0.01 * w[2])


@ph.torque(parameters=[0.0, 0.0, 1.0])
def weight(t: float, q: Any, w: Any, p: Any) -> Any:
    """A weight on an axis of the body."""
    up = ph.to_body(q, (0.0, 0.0, 1.0))
    return (
        20.0 * (p[1] * up[2] - p[2] * up[1]),
        20.0 * (p[2] * up[0] - p[0] * up[2]),
        20.0 * (p[0] * up[1] - p[1] * up[0]),
    )


@ph.torque
def late(t: float, q: Any, w: Any, p: Any) -> Any:
    """A weight, and a thruster that is off at first."""
    on = 0.5 + 0.5 * math.tanh(8.0 * (t - 2.0))
    return (0.3 * on + 2.0 * (q[2] * q[3] + q[0] * q[1]), -2.0 * (q[1] * q[3] - q[0] * q[2]), 0.0)


def error(a: ph.Solution, b: ph.Solution) -> float:
    """The errors of attitude and rate at the end."""
    p, q = a.quaternion[-1], b.quaternion[-1]
    chord = min(np.linalg.norm(p - q), np.linalg.norm(p + q))
    return max(2.0 * float(chord), float(np.linalg.norm(a.omega[-1] - b.omega[-1]) / np.linalg.norm(b.omega[-1])))


def both(body: ph.Body, torque: Any, method: str, **given: Any) -> tuple[ph.Solution, ph.Solution]:
    """The run in the frame that does not spin, and the plain one."""
    made, plain = (ph.simulate(body, torque, method=method.format(x), **given) for x in (",despun=true", ""))
    return made, plain


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_any_axis_of_symmetry(method: str, axis: int) -> None:
    """Moments that are not in order, principal axes that are not the user's, and a rotor on the axis: beside G8."""
    moments, rate = np.roll([1.0, 5.0, 5.0], axis), np.roll([50.0, 0.1, 0.3], axis)
    turn = np.linalg.qr(np.random.default_rng(axis).normal(size=(3, 3)))[0]
    rotor = np.roll([7.0, 0.0, 0.0], axis)
    for body in (ph.Body(moments), ph.Body(turn @ np.diag(moments) @ turn.T), ph.Body(moments, rotor=rotor)):
        along = np.roll([1.0, 0.0, 0.0], axis)
        given = FAST | {"omega": rate if body.aligned else turn @ rate}
        torque = ph.torque(parameters=along if body.aligned else turn @ along)(weight.function)
        made, plain = both(body, torque, method, **given)
        assert error(made, plain) < 2e-9
        if body.symmetry_axis:  # a full tensor is diagonalised to round-off: its moments are not equal
            assert made.nfev < 0.3 * plain.nfev


@pytest.mark.parametrize("method", METHODS)
def test_a_body_that_spins_and_nothing_else(method: str) -> None:
    """Its momentum keeps every bit."""
    made = ph.simulate(PEN, None, method=method.format(",despun=true"), **FAST | {"omega": [0.0, 0.0, 50.0]})
    motion = ph.FreeMotion(PEN, [0.0, 0.0, 50.0], FAST["attitude"]).at([4.0])
    assert abs(abs(np.dot(made.quaternion[-1], motion.quaternion[0])) - 1.0) < 1e-14
    assert np.array_equal(made.momentum[-1], made.momentum[0])


@pytest.mark.parametrize("method", METHODS)
def test_torques_that_see_the_spin_are_right(method: str) -> None:
    true = ph.simulate(PEN, thruster, method="G8(compensated=true)", **FAST | {"step": 0.004})
    made, plain = both(PEN, thruster, method, **FAST)
    assert error(made, true) < 1e-7
    assert made.nfev < 0.5 * plain.nfev


@pytest.mark.parametrize("method", METHODS)
def test_a_torque_that_comes_to_see_the_spin_is_noticed(method: str) -> None:
    true = ph.simulate(PEN, late, method="G8(compensated=true)", **FAST | {"step": 0.004})
    made, plain = both(PEN, late, method, **FAST)
    assert error(made, true) < 1e-6
    assert made.nfev < plain.nfev


@pytest.mark.parametrize("method", PAIRS)
@pytest.mark.parametrize("torque", [ph.HeavyTop(20.0), thruster], ids=["weight", "thruster"])
def test_a_body_in_a_lane_has_the_bits_of_one_alone(method: str, torque: Any) -> None:
    """Neighbours may be symmetric about another axis, or not at all."""
    bodies = [
        ph.Body(np.roll([5.0, 5.0, 1.0 + k % 2], k % 3) + (0.1 if k == 4 else 0.0) * np.arange(3)) for k in range(11)
    ]
    rates = np.random.default_rng(1).normal(size=(11, 3)) * [1.0, 1.0, 9.0]
    given: dict[str, Any] = {"t_span": (0.0, 3.0), "step": 3.0, "t_eval": [0.0, 0.01, 1.0, 3.0]}
    given["method"] = method.format(",despun=true")
    many = ph.ensemble(bodies, torque, omega=rates, **given)
    assert many.lanes == 8
    for k in (0, 1, 2, 4, 10):
        one = ph.simulate(bodies[k], torque, omega=rates[k], **given)
        assert np.array_equal(one.quaternion, many.quaternion[k])
        assert np.array_equal(one.momentum, many.momentum[k])
        assert (one.stats.steps, one.nfev) == (many.steps[k], many.evaluations[k])


def test_a_tolerance_takes_it_for_symmetric_bodies() -> None:
    rates = np.array(FAST["omega"]) * (1.0 + 0.02 * np.random.default_rng(2).normal(size=(64, 3)))
    given = {"omega": rates, "attitude": FAST["attitude"], "t_span": (0.0, 4.0)}
    made = ph.ensemble(PEN, thruster, rtol=1e-9, **given)
    true = ph.ensemble(PEN, thruster, method="G8(compensated=true)", step=0.004, **given)
    assert all("despun=true" in plan.method.name for plan in made.plans)
    off = np.minimum(*(np.linalg.norm(made.quaternion + s * true.quaternion, axis=2)[:, -1] for s in (1, -1)))
    assert made.error_estimate is not None
    assert (2.0 * off <= made.error_estimate).all()
    assert made.error_estimate.max() <= 1e-9


@pytest.mark.parametrize("rows", [[0.7, 4.0], None])
@pytest.mark.parametrize(
    ("torque", "spin", "despun"), [(ph.HeavyTop(20.0), 50.0, True), (thruster, 50.0, True), (thruster, 1.0, False)]
)
def test_short_runs_can_be_repeated(torque: Any, spin: float, despun: bool, rows: Any) -> None:
    """They take the frame where it pays, and the method that they name makes the same bits."""
    given: dict[str, Any] = {"omega": [0.4, 0.9, spin], "t_span": (0.0, 4.0), "t_eval": rows}
    made = ph.simulate(PEN, torque, rtol=1e-6, **given)
    assert made.plan.method.bare_name == "GBS"
    assert ("despun=true" in made.plan.method.name) == despun
    again = ph.simulate(PEN, torque, method=made.plan.method.name, step=made.plan.step, **given)
    assert np.array_equal(made.quaternion, again.quaternion)
    assert np.array_equal(made.momentum, again.momentum)
    true = ph.simulate(PEN, torque, method="G8(compensated=true)", step=0.004, **given | {"t_eval": [4.0]})
    assert made.error_estimate is not None
    assert error(made, true) <= made.error_estimate
