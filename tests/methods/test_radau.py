"""Radau: its numbers, its order, stiff torques, output, failures."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.kernels.steps.flows import principal_torque
from polhode.kernels.steps.radau_collocation import Radau
from polhode.kernels.steps.radau_tableau import radau_tableau
from polhode.kernels.types import Depends, Inertia, Params, Quat, State, Vec3
from polhode.methods import find
from tests.contract._measure import interpreted

BALL = ph.Body([2.0, 2.0, 2.0])
BODY = ph.Body([1.0, 1.2, 1.5])


def run(body: ph.Body, torque: Any, method: str, t_end: float = 10.0, **given: Any) -> ph.Solution:
    with interpreted():
        given = {"omega": [1.0, 0.4, 0.7], "t_span": (0.0, t_end), "step": t_end / 10, **given}
        return ph.simulate(body, torque, method=method, **given)


@pytest.mark.parametrize("s", [3, 5, 7])
def test_numbers(s: int) -> None:
    tableau = radau_tableau(s)
    c = np.array(tableau.nodes)
    matrix = np.array([c ** (k + 1) / (k + 1) for k in range(s)]).T @ np.linalg.inv(
        np.array([c**k for k in range(s)]).T
    )
    blocks = np.zeros((s, s))
    blocks[0, 0] = tableau.real
    for k, (a, b) in enumerate(tableau.pairs):
        blocks[2 * k + 1 : 2 * k + 3, 2 * k + 1 : 2 * k + 3] = [[a, b], [-b, a]]
    forth, back = (np.array(x).reshape(s, s) for x in (tableau.forth, tableau.back))
    # the inverse of a matrix of powers loses digits: four of them for seven nodes
    assert np.abs(forth @ blocks @ back @ matrix - np.eye(s)).max() < 1e-10
    assert np.abs(forth @ back - np.eye(s)).max() < 1e-12
    assert c[-1] == 1.0
    # quadrature of order 2 s - 1: the last row of the matrix
    assert matrix[-1] @ c ** (2 * s - 2) == pytest.approx(1 / (2 * s - 1), abs=1e-12)


def test_numbers_of_order_five() -> None:
    """As printed: [hairer1996, (5.30), (8.17)]."""
    tableau, root = radau_tableau(3), math.sqrt(6.0)
    assert tableau.nodes == pytest.approx([(4 - root) / 10, (4 + root) / 10, 1.0], rel=1e-15)
    gamma = 1.0 / tableau.real
    expected = [gamma / 3 * x for x in (-13 - 7 * root, -13 + 7 * root, -1.0)]
    assert tableau.error == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(("nodes", "counts", "least"), [(3, (24, 48), 4.7), (5, (6, 12), 8.3), (7, (4, 5), 9.7)])
def test_order(nodes: int, counts: tuple[int, int], least: float) -> None:
    """Steps of equal length, under a torque that depends on everything.

    With seven nodes round-off is reached before the order, 13, shows in full.
    """

    def torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
        return (math.sin(t) - 0.3 * w[0], q[1] - q[2] * q[3], 0.2 * w[0] * w[2])

    pull = principal_torque(torque, tilted=False, windowed=False)
    stepper = Radau(nodes).bind(pull, Depends.POSITION | Depends.TIME | Depends.RATE)
    body, p = Inertia((1.0, 1.5, 2.0), (1.0, 1 / 1.5, 0.5)), Params((), (1.0, 0.0, 0.0, 0.0), (-1e9, 1e9), (1e-9, 0.0))

    def end(count: int) -> Any:
        assert stepper.exactly is not None
        s, t, h = State((1.0, 0.0, 0.0, 0.0), (0.5, -0.4, 0.9)), 0.0, 4.0 / count
        for _ in range(count):
            s, _, status = stepper.exactly(body, p, t, s, h, stepper.start(body, p, t, s))
            assert status == 0
            t += h
        return np.array([*s.q, *s.m])

    true = end(128 if nodes == 3 else 32)
    errors = [float(np.abs(end(count) - true).max()) for count in counts]
    order = math.log(errors[0] / errors[1]) / math.log(counts[1] / counts[0])
    assert least < order < 2 * nodes  # seen: 5.0, 8.6, 10.2


@pytest.mark.parametrize("order", [5, 9, 13])
@pytest.mark.parametrize("decay", [1e3, 1e7])
def test_steps_pass_over_what_has_died_out(order: int, decay: float) -> None:
    """A ball in a thick fluid stops after the angle w / decay, however thick the fluid: few steps do."""
    solution = run(BALL, ph.LinearDamping(2.0 * decay), f"Radau(order={order}, rtol=1e-8)")
    assert solution.stats.steps < 120  # 19 to 81 were seen, and explicit ones would be 10 times the decay over six
    angle = float(solution.attitude[-1].magnitude())
    assert angle == pytest.approx(math.hypot(1.0, 0.4, 0.7) / decay, abs=1e-8)
    assert np.linalg.norm(solution.omega[-1]) < 1e-8
    assert np.abs(np.linalg.norm(solution.quaternion, axis=1) - 1.0).max() < 1e-15


@ph.torque
def held(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """A controller with the gains 1e6 and 1e4."""
    k = 2e6 if q[0] >= 0.0 else -2e6
    return (-k * q[1] - 1e4 * w[0], -k * q[2] - 1e4 * w[1], -k * q[3] - 1e4 * w[2])


def test_a_stiff_controller() -> None:
    solution = run(BODY, held, "Radau", 1.0, attitude=[0.9, 0.3, 0.2, 0.1])
    assert solution.stats.steps < 100  # 42 were seen
    assert float(solution.attitude[-1].magnitude()) < 1e-12


def test_output_does_not_change_the_run() -> None:
    torque = ph.LinearDamping(1e4)
    every, listed = run(BODY, torque, "Radau"), run(BODY, torque, "Radau", t_eval=[0.0, 1e-5, 0.3, 9.9, 10.0])
    assert np.array_equal(every.quaternion[-1], listed.quaternion[-1])
    assert listed.stats.steps == every.stats.steps
    assert listed.omega[1] == pytest.approx(np.array([1.0, 0.4, 0.7]) * np.exp(-0.1 / BODY.moments), rel=1e-2)


def test_states_between_rows_of_a_body_at_rest() -> None:
    """Errors are relative to the largest momentum of the run: the little that is left is not followed."""
    solution = run(BODY, ph.LinearDamping(1e4), "Radau")
    with interpreted():
        between = solution.at([2.0, 5.0, 7.5])
    assert np.linalg.norm(between.omega, axis=1).max() < 1e-9
    assert float((between.attitude[-1].inv() * solution.attitude[-1]).magnitude()) < 1e-9


def test_continued_run() -> None:
    torque = ph.LinearDamping((1e4, 1.0, 1e-2))
    whole, part = run(BODY, torque, "Radau(rtol=1e-10)"), run(BODY, torque, "Radau(rtol=1e-10)", 4.0)
    with interpreted():
        both = ph.resume(part, 10.0)
    assert float((whole.attitude[-1].inv() * both.attitude[-1]).magnitude()) < 1e-8
    assert abs(both.stats.steps - whole.stats.steps) < 12


@pytest.mark.parametrize("good", [0.0, 1.0])
def test_a_torque_that_fails_ends_the_run(good: float) -> None:
    """After a bounded number of attempts, with everything up to there."""

    @ph.torque
    def broken(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
        return (-10.0 * w[0], 0.0, math.nan if t > good else 0.0)

    with pytest.raises(ph.SimulationFailed, match="nan") as caught:
        run(BODY, broken, "Radau", 3.0)
    assert good - 0.1 <= caught.value.solution.t_last <= good
    assert np.isfinite(caught.value.solution.momentum).all()


def test_a_singular_torque_stalls() -> None:
    @ph.torque
    def exploding(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
        return (1.0 / (2.0 - t) ** 2, 0.0, 0.0)

    with pytest.raises(ph.SimulationFailed, match="too short") as caught:
        run(BODY, exploding, "Radau(rtol=1e-4)", 3.0)
    assert 1.9 < caught.value.solution.t_last < 2.0


def test_fast_spin_is_not_stepped_over() -> None:
    """A rotation vector cannot be longer than a turn: steps end before that, in both directions of time."""
    for span in ((0.0, 10.0), (0.0, -10.0)):
        spun = run(BALL, ph.LinearDamping(1e-9), "Radau(rtol=1e-6)", omega=[0.0, 0.0, 20.0], t_span=span, step=span[1])
        assert spun.stats.steps >= 80
        angle = 20.0 * span[1] % (2 * math.pi)
        assert float((spun.attitude[-1].inv() * about_third_axis(angle)).magnitude()) < 1e-4


def about_third_axis(angle: float) -> Rotation:
    """The rotation about the third axis."""
    return Rotation.from_rotvec([0.0, 0.0, angle])


def test_options_are_checked() -> None:
    with pytest.raises(ValueError, match="Radau needs rtol > 0 and atol >= 0"):
        find("Radau(rtol=-1)")
    with pytest.raises(ValueError, match="Radau needs rtol < 1"):
        find("Radau(rtol=2)")
    with pytest.raises(ValueError, match="order"):
        find("Radau(order=7)")
    assert find("Radau(order=5)").order == 5


def test_many_bodies_and_events() -> None:
    rates = [[1.0, 0.4, 0.7], [0.2, 0.0, -0.3]]
    torque = ph.LinearDamping(1e4)

    def slow(t: float, q: Any, w: Any) -> float:
        return float(np.linalg.norm(w)) - 0.1

    with interpreted():
        many = ph.ensemble(BODY, torque, omega=rates, t_span=(0.0, 10.0), step=1.0, method="Radau")
        alone = [run(BODY, torque, "Radau", omega=w, step=1.0) for w in rates]
    for k, one in enumerate(alone):
        assert np.array_equal(many.quaternion[k, -1], one.quaternion[-1])
    (found,) = run(BALL, torque, "Radau", events=[slow]).events
    assert found.t == pytest.approx([2e-4 * math.log(math.hypot(1.0, 0.4, 0.7) / 0.1)], rel=1e-6)
