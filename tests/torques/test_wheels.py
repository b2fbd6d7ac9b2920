"""Reaction wheels and dampers, against equations of textbooks solved by SciPy, and against laws of conservation."""

import math
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.scenario import ScenarioError, load_scenario
from polhode.support.arrays import Floats

ReactionWheels: Any = ph.ReactionWheels  # which take lists and arrays, too
Damper: Any = ph.Damper

WHOLE = np.array([[2.0, 0.1, 0.2], [0.1, 3.0, -0.15], [0.2, -0.15, 4.0]])
"""The tensor of a spacecraft with its wheels locked."""
PYRAMID = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [-1.0, 0.0, 1.0], [0.0, -1.0, 1.0]]) / math.sqrt(2.0)
INERTIAS = np.array([0.02, 0.03, 0.025, 0.04])
SPEEDS = np.array([50.0, -30.0, 20.0, 0.0])
START: dict[str, Any] = {"omega": [0.05, -0.02, 0.03], "attitude": Rotation.from_rotvec([0.9, -0.5, 0.7])}
TIMES = np.linspace(0.0, 40.0, 9)
K, D = 0.08, (0.5, 0.6, 0.7)
LIMIT, TOP, MARGIN, VISCOUS, COULOMB, SLIP = 0.05, 51.0, 0.1, 2e-5, 1e-3, 0.5


def textbook(t: float, y: Floats, *, limited: bool = True, moment: Any = None) -> Floats:
    """The equations of markley2014, section 3.3.6: attitude, rate, and speeds of the wheels.

    They are solved for both accelerations at once, in the relative speeds and with the tensor of the whole spacecraft:
    other variables than polhode's.
    """
    q, w, s = y[:4], y[4:7], y[7:]
    a, jay = PYRAMID, INERTIAS
    error = 2.0 * q[1:] * np.sign(q[0])
    u = -np.linalg.pinv(a.T) @ (-K * error - np.array(D) * w)
    if limited:
        u = np.clip(u, -LIMIT, LIMIT)
        room = np.where(u > 0, (TOP - s) / (MARGIN * TOP), (TOP + s) / (MARGIN * TOP))
        u = u * np.clip(room, 0.0, 1.0)
        u = u - VISCOUS * s - COULOMB * s / np.sqrt(s**2 + SLIP**2)
    outside = np.zeros(3) if moment is None else np.array(moment)
    total = WHOLE @ w + a.T @ (jay * s)
    # I w' + sum a J s' = n - w x H, and J (s' + a . w') = u
    left = np.block([[WHOLE, a.T * jay], [jay[:, None] * a, np.diag(jay)]])
    found = np.linalg.solve(left, np.concatenate([outside - np.cross(w, total), u]))
    dq = 0.5 * np.array([
        -q[1:] @ w, *(q[0] * w + np.cross(q[1:], w)),
    ])  # fmt: skip
    return np.concatenate([dq, found])


def truth(**how: Any) -> Floats:
    q = np.roll(START["attitude"].as_quat(), 1)
    start = np.concatenate([q, START["omega"], SPEEDS])
    settings: dict[str, Any] = {"method": "DOP853", "rtol": 1e-11, "atol": 1e-12, "max_step": 0.5}
    answer = solve_ivp(lambda t, y: textbook(t, y, **how), (0.0, 40.0), start, t_eval=TIMES, **settings)
    return np.asarray(answer.y.T)


def wheels(**more: Any) -> Any:
    """Four wheels with gains."""
    return ReactionWheels(PYRAMID, INERTIAS, SPEEDS, attitude_gain=K, rate_gain=D, **more)


LIMITED: dict[str, Any] = {
    "torque_limit": LIMIT, "speed_limit": TOP, "speed_margin": MARGIN, "viscous": VISCOUS, "coulomb": COULOMB,
    "slip": SLIP,
}  # fmt: skip


@pytest.mark.evidence
def test_limited_wheels_are_those_of_the_textbook() -> None:
    """The tolerance holds, with limits that are met; the kinks of the truth cost it some digits."""
    four = wheels(**LIMITED)
    s = ph.simulate(four.carrier(ph.Body(WHOLE)), four, t_span=(0, 40), t_eval=TIMES, rtol=1e-8, **START)
    there = truth()
    assert s.error_estimate is not None
    assert s.error_estimate <= 1e-8
    speeds = four.speeds_of(s)
    assert np.abs(s.omega - there[:, 4:7]).max() < 2e-8
    assert np.abs(speeds - there[:, 7:]).max() < 2e-8 * np.abs(there[:, 7:]).max()
    assert np.abs(np.abs(s.quaternion) - np.abs(there[:, :4])).max() < 2e-8
    assert speeds.max() < TOP
    assert s.nfev < 30_000
    drift = np.abs(s.total_momentum - s.total_momentum[0]).max()
    assert drift < 1e-8 * np.linalg.norm(s.total_momentum[0])


@pytest.mark.evidence
def test_total_momentum_is_kept_to_round_off() -> None:
    """By collocation, which integrates in axes that turn with the body; each wheel exchanges fifty times its error."""
    four = wheels()
    s = ph.simulate(four.carrier(ph.Body(WHOLE)), four, t_span=(0, 40), t_eval=TIMES, method="G8", step=0.5, **START)
    size = float(np.linalg.norm(s.total_momentum[0]))
    assert np.abs(s.total_momentum - s.total_momentum[0]).max() < 3e-15 * max(size, np.abs(s.state).max())
    assert np.abs(s.state[-1] - s.state[0]).max() > 0.1
    there = truth(limited=False)
    assert np.abs(s.omega - there[:, 4:7]).max() < 1e-9
    # the same in space from the speeds that users know
    whole = s.attitude.apply(s.omega @ WHOLE + four.speeds_of(s) * INERTIAS @ PYRAMID)
    np.testing.assert_allclose(s.total_momentum, whole, rtol=0, atol=1e-14)


def unload(t: float, q: Any, w: Any, p: Any, speeds: Any) -> Any:
    """Slows all wheels down."""
    return (-p[0] * speeds[0], -p[0] * speeds[1], -p[0] * speeds[2], -p[0] * speeds[3])


def test_a_law_in_a_sum_and_in_a_file(tmp_path: Path) -> None:
    """With a torque from outside, which the equations of the whole spacecraft feel through all accelerations."""
    four = ReactionWheels(PYRAMID, INERTIAS, SPEEDS, law=unload, parameters_of_law=[1e-3])
    push = ph.ConstantBodyTorque((0.01, 0.0, -0.02))
    total = push + four
    s = ph.simulate(
        total.carrier(ph.Body(WHOLE)), total, t_span=(0, 40), t_eval=TIMES, method="RK4", step=0.02, **START
    )

    def f(t: float, y: Floats) -> Floats:
        w, speeds = y[4:7], y[7:]
        left = np.block([[WHOLE, PYRAMID.T * INERTIAS], [INERTIAS[:, None] * PYRAMID, np.diag(INERTIAS)]])
        momentum = WHOLE @ w + PYRAMID.T @ (INERTIAS * speeds)
        right = np.concatenate([np.array([0.01, 0.0, -0.02]) - np.cross(w, momentum), -1e-3 * speeds])
        return np.concatenate([textbook(t, y)[:4], np.linalg.solve(left, right)])

    start = np.concatenate([np.roll(START["attitude"].as_quat(), 1), START["omega"], SPEEDS])
    there = solve_ivp(f, (0.0, 40.0), start, t_eval=TIMES, method="DOP853", rtol=1e-12, atol=1e-13).y.T
    assert np.abs(s.omega - there[:, 4:7]).max() < 1e-9
    assert np.abs(four.speeds_of(s) - there[:, 7:]).max() < 1e-7
    assert s.torque.state_of("ReactionWheels") == slice(0, 4)
    np.testing.assert_allclose(s.torque_of("ConstantBodyTorque")[3], [0.01, 0.0, -0.02])
    s.save(tmp_path / "run.nc")
    again = ph.load(tmp_path / "run.nc", torque=total)
    np.testing.assert_array_equal(again.total_momentum, s.total_momentum)
    with pytest.raises(ValueError, match="not known here: add it to"):
        _ = ph.load(tmp_path / "run.nc").total_momentum


def test_wheels_that_stand_still_turn_with_a_rigid_body() -> None:
    """Strong friction locks them: the motion is that of the whole, and it creeps by no more than round-off."""
    locked = ReactionWheels([[0.0, 0.0, 2.0]], 0.5, viscous=50.0)
    whole = ph.Body([2.0, 3.0, 4.0])
    s = ph.simulate(locked.carrier(whole), locked, omega=[0.3, 0.1, 0.2], t_span=(0, 10), t_eval=[0, 5, 10], rtol=1e-8)
    free = ph.FreeMotion(whole, omega=[0.3, 0.1, 0.2])
    assert np.abs(s.omega - free.at([0, 5, 10]).omega).max() < 5e-4  # the lag: J / c = 0.01 s
    assert np.abs(locked.speeds_of(s)).max() < 1e-2


@pytest.mark.parametrize("spring", [0.0, 0.3])
def test_a_damper_takes_energy_and_no_momentum(spring: float) -> None:
    """What it takes is c s^2, integrated here by Simpson's rule over the rows."""
    ring = Damper([1.0, 0.2, 0.0], 0.05, viscous=0.02, spring=spring)
    body = ring.carrier(ph.Body(WHOLE))
    s = ph.simulate(body, ring, omega=[0.1, 0.2, 1.5], t_span=(0, 60), method="G8", step=0.1)
    total = s.total_momentum
    assert np.abs(total - total[0]).max() < 1e-13
    energy = s.kinetic_energy + ring.carried_energy(s.state)
    axis = np.array([1.0, 0.2, 0.0]) / math.hypot(1.0, 0.2)
    speed = s.state[:, 0] / 0.05 - s.omega @ axis
    power = 0.02 * speed**2
    lost = 0.1 / 3.0 * (power[:-2:2] + 4.0 * power[1:-1:2] + power[2::2]).sum()
    assert lost > 0.002
    assert energy[0] - energy[-1] == pytest.approx(lost, rel=1e-6)
    assert (np.diff(energy) < 1e-15).all()
    if spring:
        turned = 0.1 / 3.0 * (speed[:-2:2] + 4.0 * speed[1:-1:2] + speed[2::2])
        np.testing.assert_allclose(np.diff(s.state[::2, 1]), turned, rtol=0, atol=1e-5 * np.abs(speed).max())


def test_flat_spin() -> None:
    """A long body that spins about its least axis ends about its greatest, with the energy |H|^2 / 2 I."""
    whole, ring = ph.Body([3.0, 3.1, 1.0]), Damper([1.0, 0.0, 0.0], 0.15, viscous=0.3)
    s = ph.simulate(
        ring.carrier(whole), ring, omega=[0.02, 0.0, 2.0], t_span=(0, 1500), t_eval=[0, 750, 1500], rtol=1e-7
    )  # fmt: skip
    energy = s.kinetic_energy + ring.carried_energy(s.state)
    h = float(np.linalg.norm(s.total_momentum[-1]))
    assert energy[-1] == pytest.approx(h * h / (2 * 3.1), rel=1e-4)
    assert abs(s.omega[-1, 1]) == pytest.approx(h / 3.1, rel=1e-3)


@pytest.mark.evidence
def test_explorer_1() -> None:
    """The energy falls from row to row, to the least for the momentum."""
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "explorer_1.py"))
    s = example["flat_spin"]()
    energy = s.kinetic_energy + example["ANTENNAS"].carried_energy(s.state)
    size = np.linalg.norm(s.total_momentum[0])
    assert (np.diff(energy)[:500] < 0.0).all()
    assert (np.diff(energy) < 1e-9 * energy[0]).all()
    assert energy[0] > 100 * energy[-1]
    assert energy[-1] == pytest.approx(size**2 / (2 * example["ACROSS"]), rel=1e-3)
    assert np.abs(s.total_momentum - s.total_momentum[0]).max() < 1e-10 * size


@pytest.mark.evidence
def test_ensembles_of_wheels_start_with_their_own_momenta() -> None:
    rates = np.array([[0.01, 0.02, -0.03]]) * np.arange(1, 9)[:, None]
    three = ReactionWheels(np.eye(3), 0.01, speeds=[1.0, 2.0, 3.0], attitude_gain=0.1, rate_gain=0.5)
    how: dict[str, Any] = {"method": "RK4", "step": 0.05, "t_span": (0, 5)}
    body = three.carrier(ph.Body([2.0, 3.0, 4.0]))
    many = ph.ensemble(body, three, omega=rates, every=100, **how)
    np.testing.assert_allclose(many.state[:, 0], 0.01 * (np.array([1.0, 2.0, 3.0]) + rates), rtol=1e-15)
    one = ph.simulate(body, three, omega=rates[4], every=100, **how)
    np.testing.assert_allclose(many.state[4], one.state, rtol=0, atol=1e-16)


SCENARIO = """
[body]
moments = [2.0, 3.0, 4.0]
wheels_locked = true

[initial]
omega = [0.0, 0.0, 0.1]
{state}

[torque]
model = "ReactionWheels"
axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
inertias = 0.01
speeds = [5.0, 0.0, 0.0]
attitude_gain = 0.1
rate_gain = [0.5, 0.5, 0.6]

[run]
t_span = [0.0, 5.0]
step = 0.05
method = "RK4"
{more}
"""


def test_scenario_files(tmp_path: Path) -> None:
    path = tmp_path / "wheels.toml"

    def written(state: str = "", more: str = "") -> Any:
        path.write_text(SCENARIO.format(state=state, more=more))
        return load_scenario(path)

    s = written().simulate()
    np.testing.assert_allclose(s.body.moments, [1.99, 2.99, 3.99])
    np.testing.assert_allclose(s.state[0], [0.05, 0.0, 0.001])
    s.save(tmp_path / "run.nc")
    assert ph.load(tmp_path / "run.nc").torque == s.torque
    s = written("state = {wheel_1 = 0.1, wheel_3 = 0.3, wheel_2 = 0.2}").simulate()
    np.testing.assert_array_equal(s.state[0], [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(written("state = [0.1, 0.2, 0.3]").simulate().state, s.state)
    many = written(more='[ensemble]\ncount = 3\nseed = 1\nstate = {kind = "Normal", sd = 0.01}').ensemble()
    assert np.abs(many.state[:, 0] - [0.05, 0.0, 0.001]).max() < 0.05
    assert len(set(many.state[:, 0, 0].tolist())) == 3
    with pytest.raises(ScenarioError, match=r"state must have 3 numbers \(wheel_1, wheel_2, wheel_3\), not 1"):
        written("state = [0.1]")


def three_torques(t: float, q: Any, w: Any, p: Any, speeds: Any) -> Any:
    """Returns too few torques for four wheels, and too many for two."""
    return (0.0, 0.0, 0.0)


X = [[1.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ReactionWheels([[1, 0, 0], [0, 0, 0]], 0.1), r"axes\[1\] must point somewhere, not be zero"),
        (lambda: ReactionWheels(np.ones((9, 3)), 0.1), r"1 to 8 wheels, not the shape \(9, 3\)"),
        (lambda: ReactionWheels([[1, 0]], 0.1), r"not the shape \(1, 2\)"),
        (lambda: ReactionWheels(X, -0.1), "inertias must be positive, not -0.1"),
        (lambda: ReactionWheels(X, [0.1, 0.2]), "one for each of the 1 wheels, not 2 numbers"),
        (lambda: ReactionWheels(X, 0.1, torque_limit=0.0), "torque_limit must be positive, not 0"),
        (lambda: ReactionWheels(X, 0.1, speed_limit=-1.0), "speed_limit must be positive, not -1"),
        (lambda: ReactionWheels(X, 0.1, viscous=-1.0), "viscous must be positive or zero"),
        (lambda: ReactionWheels(X, 0.1, slip=0.0), "slip must be positive"),
        (lambda: ReactionWheels(X, 0.1, speed_margin=2.0), "at most 1, not 2"),
        (lambda: ReactionWheels(X, 0.1, names=["a", "b"]), "1 wheels, but 2 names: a, b"),
        (lambda: ReactionWheels(np.eye(3)[:2], 0.1, names=["a", "a"]), "'a' is there 2 times"),
        (lambda: ReactionWheels(X, 0.1, attitude_gain=[1.0, 2.0]), "three numbers or a 3x3 matrix"),
        (lambda: ReactionWheels(PYRAMID, 0.1, law=three_torques), r"torques of 4 motors, not \(0.0, 0.0, 0.0\)"),
        (lambda: ReactionWheels(X, 0.1, law=lambda t, q: 0.0), r"\(t, q, w, p, speeds\)"),
        (lambda: ReactionWheels(X, 0.1, law=unload, attitude_gain=1.0), "returns|must return|either a law"),
        (lambda: ReactionWheels(X, 0.1, parameters_of_law=[1.0]), "no law that reads them"),
        (lambda: ReactionWheels(X, 5.0).carrier(ph.Body([2.0, 3.0, 4.0])), "not below the moment 2 kg"),
        (lambda: ReactionWheels(X * 3, 1.0).carrier(ph.Body([2.0, 3.0, 4.0])), "with its wheels locked"),
        (lambda: run(ReactionWheels(X, 50.0)), "too large for this body.*Are they in kg"),
        (lambda: ReactionWheels(X, 0.1).speeds_of(run(Damper(X[0], 0.1, 0.1))), "is no part of Damper"),
        (lambda: Damper([0, 0, 0], 0.1, 0.1), "spin_axis must point somewhere"),
        (lambda: Damper(X[0], 0.0, 0.1), "inertia must be positive, not 0"),
        (lambda: Damper(X[0], 0.1, -0.1), "viscous must be positive or zero, not -0.1"),
        (lambda: Damper(X[0], 0.1, 0.1, angle=0.1), "give spring"),
        (lambda: run(Damper(X[0], 20.0, 0.1)), "too large for this body"),
    ],
)  # fmt: skip
def test_bad_input(make: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        make()


def run(torque: Any) -> Any:
    """Runs for a moment."""
    return ph.simulate(
        ph.Body([2.0, 3.0, 4.0]), torque, omega=[0.1, 0.2, 0.3], t_span=(0, 1), method="RK4", step=0.05
    )  # fmt: skip


def test_pictures_show_carried_numbers() -> None:
    figure = run(Damper(X[0], 0.1, 0.1)).plot()
    assert len(figure.axes) == 3  # nothing is conserved, so there are no errors to draw
    assert [text.get_text() for text in figure.axes[2].get_legend().get_texts()] == ["ring"]
