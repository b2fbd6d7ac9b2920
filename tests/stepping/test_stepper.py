"""Steps in a loop of the user's: the bits of `simulate`, torques given to a call, failures, copies."""

import contextlib
import copy
import math
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.api.stepper import MOST_ENGINES
from polhode.kernels.status import Status
from polhode.stepping.engine import StepEngine
from tests.ensembles.test_ensemble import BODY as MANY_BODY
from tests.ensembles.test_ensemble import QUATERNIONS, RATES
from tests.ensembles.test_ensemble import TOP as MANY_TOP

BODY = ph.Body([1.0, 2.0, 2.5])
TILTED = ph.Body([[2.0, 0.3, 0.1], [0.3, 3.0, 0.2], [0.1, 0.2, 4.0]])
OMEGA = [1.0, 2.0, 0.3]
TOP = ph.HeavyTop(1.0)
BURN = ph.ConstantBodyTorque((1.0, 0.0, 0.0)).during(0.03, 0.08)
VALUE = (0.1, 0.2, -0.3)


@ph.torque(parameters=[0.3, 0.1])
def swing(t: float, q: Any, w: Any, p: Any) -> Any:
    """Depends on time and attitude, and has parameters."""
    return (p[0] * q[1], math.sin(3.0 * t) * p[1], 0.2 * q[2])


@ph.torque(parameters=[1.0])
def fails_late(t: float, q: Any, w: Any, p: Any) -> Any:
    """Is no number from t = p[0] on."""
    return (0.0, 0.0, 1.0 if t < p[0] else math.nan)


@ph.torque(parameters=[1.0])
def raises_late(t: float, q: Any, w: Any, p: Any) -> Any:
    """Divides by zero from t = p[0] on, where Python raises."""
    return (0.0, 0.0, 1.0 / (1.0 if t < p[0] else 0.0))


def same(s: ph.Stepper, t: float, q: Any, m: Any) -> bool:
    return s.t == t and bool((s.quaternion == q).all() and (s.momentum == m).all())


def ends_as(s: ph.Stepper, run: ph.Solution) -> bool:
    return same(s, run.t_last, run.last_quaternion, run.last_momentum)


# --- the bits of simulate


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    "method",
    ["Strang", "Strang(corrector=3)", "Strang(compensated=true)", "MR2", "RK4", "RK4(compensated=true)", "Adams", "G8",
     "NMB", "SABA4"],
)  # fmt: skip
def test_steps_have_the_bits_of_simulate(method: str) -> None:
    """Methods with and without a memory, by single steps and by several at once, and with rows."""
    s = ph.Stepper(BODY, swing, omega=OMEGA, method=method, step=0.01, t=2.0, every=3)
    run = ph.simulate(BODY, swing, omega=OMEGA, method=method, step=0.01, t_span=(2.0, 2.2), every=3)
    for n in (1, 1, 5, 13):
        s.step(n)
    assert s.t == 2.0 + 20 * 0.01
    found = s.solution()
    np.testing.assert_array_equal(found.last_momentum, run.last_momentum)
    np.testing.assert_array_equal(found.last_quaternion, run.last_quaternion)
    np.testing.assert_array_equal(found.t, run.t[:-1])  # `simulate` has the end as a row in any case
    np.testing.assert_array_equal(found.quaternion, run.quaternion[:-1])
    np.testing.assert_array_equal(found.momentum, run.momentum[:-1])
    assert found.memory == run.memory
    further, expected = ph.resume(found, 2.3), ph.resume(run, 2.3)
    np.testing.assert_array_equal(further.last_momentum, expected.last_momentum)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("body", [BODY, TILTED], ids=["aligned", "tilted"])
@pytest.mark.parametrize("frame", ["body", "space"])
def test_a_value_is_a_constant_torque(body: ph.Body, frame: Any) -> None:
    model = {"body": ph.ConstantBodyTorque, "space": ph.ConstantSpaceTorque}[frame](VALUE)
    start: dict[str, Any] = {"omega": OMEGA, "attitude": [0.5, 0.5, -0.5, 0.5], "method": "Strang", "step": 0.01}
    for own, acting in ((None, model), (TOP, TOP + model)):
        s = ph.Stepper(body, own, **start)
        for _ in range(5):
            s.step(torque=VALUE, frame=frame)
        s.step(5, torque=np.array(VALUE), frame=frame)
        run = ph.simulate(body, acting, t_span=(0.0, 0.1), **start)
        assert ends_as(s, run)
        np.testing.assert_array_equal(s.omega, body.rate(run.last_momentum))
        given = ph.Stepper(body, own, **start)
        given.step(10, torque=model)
        assert ends_as(given, run)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("method", ["Strang", "RK4", "Adams", "DOP853"])
def test_jumps_of_the_torque_are_met(method: str) -> None:
    """Jumps on the grid: the method begins anew behind them, and steps that end there see the value before."""
    s = ph.Stepper(BODY, TOP + BURN, omega=OMEGA, method=method, step=0.01)
    run = ph.simulate(BODY, TOP + BURN, omega=OMEGA, method=method, step=0.01, t_span=(0.0, 0.12))
    if method == "DOP853":
        for _ in range(12):
            s.step()
        np.testing.assert_allclose(s.momentum, run.last_momentum, rtol=0, atol=1e-9)
    else:
        s.step(4)
        s.step(8)
        np.testing.assert_array_equal(s.momentum, run.last_momentum)
        np.testing.assert_array_equal(s.quaternion, run.last_quaternion)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("kind", ["linear", "steps", "cubic"])
def test_tables(kind: Any) -> None:
    """A table whose knots lie on the grid, as the torque of the stepper and as that of a call; also pickled."""
    t = np.linspace(0.0, 1.0, 11)
    table = ph.Table(t, np.stack([np.sin(5.0 * t), np.cos(3.0 * t), 0.1 * t], axis=1), kind=kind)
    run = ph.simulate(BODY, table, omega=OMEGA, method="Strang", step=0.05, t_span=(0.0, 1.0))
    s, given = (ph.Stepper(BODY, own, omega=OMEGA, step=0.05) for own in (table, None))
    s.step(3)
    other = pickle.loads(pickle.dumps(s))
    for one in (s, other):
        one.step(17)
        np.testing.assert_allclose(one.momentum, run.last_momentum, rtol=0, atol=1e-14)
    for _ in range(20):
        given.step(torque=table)
    np.testing.assert_allclose(given.momentum, run.last_momentum, rtol=0, atol=1e-14)
    with pytest.raises(ValueError, match=r"is known from t = 0\.0 to 1\.0 s"):
        s.step()
    assert s.t == 20 * 0.05


@pytest.mark.usefixtures("plain")
def test_a_jump_inside_a_step_divides_it() -> None:
    """Steps of 0.02 with jumps at 0.03 and 0.08: the second order is kept, and the clock."""
    errors = []
    truth = ph.simulate(BODY, TOP + BURN, omega=OMEGA, t_span=(0.0, 0.16), rtol=1e-11).last_momentum
    for n in (1, 2):
        s = ph.Stepper(BODY, TOP + BURN, omega=OMEGA, step=0.032 / n)
        s.step(5 * n)
        assert s.t == 5 * n * (0.032 / n)
        errors.append(np.abs(s.momentum - truth).max())
    assert 3.0 < errors[0] / errors[1] < 5.5  # 4 for order 2; 2 if the jump were smeared over a step
    s.step(5 * n, h=-0.032 / n)  # and the same way back
    np.testing.assert_allclose(s.omega, OMEGA, rtol=0, atol=1e-14)
    assert s.t == 0.0


@pytest.mark.usefixtures("plain")
def test_variable_steps_cross_a_step_as_resume_does() -> None:
    s = ph.Stepper(BODY, swing, omega=OMEGA, method="DOP853", step=0.1)
    run = ph.simulate(BODY, swing, omega=OMEGA, method="DOP853", step=0.1, t_span=(0.0, 0.1))
    for k in (2, 3, 4):
        run = ph.resume(run, 0.1 * k)
    s.step(4)
    assert ends_as(s, run)
    assert s.steps == 4


def test_compiled_steps_have_the_same_bits_in_lanes_and_alone() -> None:
    """Nine bodies, of which lanes take eight; one is a sleeping top at rest, which lanes cannot compute.

    The programs are those of tests/ensembles/test_ensemble.py, but for the one of bodies alone.
    """
    grid: dict[str, Any] = {"method": "Strang", "step": 0.05}
    rates, attitudes = np.array([RATES[2]] * 9), np.array([QUATERNIONS[2]] * 9)
    rates[5], attitudes[5] = 0.0, [1.0, 0.0, 0.0, 0.0]
    s = ph.Stepper(MANY_BODY, MANY_TOP, omega=rates, attitude=attitudes, every=4, **grid)
    s.step(2)
    for _ in range(6):
        s.step()
    s.step(8)
    many = ph.ensemble(MANY_BODY, MANY_TOP, omega=rates, attitude=attitudes, t_span=(0.0, 0.8), every=4, **grid)
    assert many.lanes == 8
    found = s.solution()
    assert isinstance(found, ph.Ensemble)
    np.testing.assert_array_equal(found.t, many.t)
    np.testing.assert_array_equal(found.quaternion, many.quaternion)
    np.testing.assert_array_equal(found.momentum, many.momentum)
    np.testing.assert_array_equal(s.omega, many.omega[:, -1])
    assert s.momentum[5].tolist() == [0.0, 0.0, 0.0]
    one = ph.Stepper(MANY_BODY, MANY_TOP, omega=RATES[2], attitude=QUATERNIONS[2], **grid)
    for _ in range(16):
        one.step()
    run = ph.simulate(MANY_BODY, MANY_TOP, omega=RATES[2], attitude=QUATERNIONS[2], t_span=(0.0, 0.8), **grid)
    assert ends_as(one, run)
    np.testing.assert_array_equal(one.momentum, s.momentum[3])
    np.testing.assert_array_equal(one.quaternion, s.quaternion[3])


# --- torques that carry numbers


@ph.torque(parameters=[0.8, 0.5], state=["wheel", "charge"])
def wheel(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
    """A damped wheel about the third axis, and a number that only grows."""
    torque = p[0] * (z[0] - w[2])
    return (0.0, p[1] * q[1], torque), (-torque, 1.0)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("method", ["RK4", "G8", "DOP853"])
@pytest.mark.parametrize("body", [BODY, TILTED], ids=["aligned", "tilted"])
def test_carried_numbers(method: str, body: ph.Body) -> None:
    given: dict[str, Any] = {"omega": OMEGA, "state": [0.5, 0.0], "method": method, "step": 0.1}
    s = ph.Stepper(body, wheel, **given)
    run = ph.simulate(body, wheel, t_span=(0.0, 0.1 if method == "DOP853" else 0.5), **given)
    for k in range(2, 6 if method == "DOP853" else 0):
        run = ph.resume(run, 0.1 * k)
    s.step(2)
    for _ in range(3):
        s.step()
    if method == "DOP853" and body is TILTED:  # `resume` turns the axes to and fro
        np.testing.assert_allclose(s.momentum, run.last_momentum, rtol=0, atol=1e-13)
        np.testing.assert_allclose(s.state, run.last_state, rtol=0, atol=1e-14)
    else:
        assert ends_as(s, run)
        np.testing.assert_array_equal(s.state, run.last_state)
    assert s.state_names == ("wheel", "charge")
    assert np.shares_memory(s.state, s._states)
    found, other = s.solution(), pickle.loads(pickle.dumps(s))
    np.testing.assert_array_equal(found.state[-1], s.state)
    np.testing.assert_allclose(ph.resume(found, 0.7).last_state, ph.resume(run, 0.7).last_state, rtol=0, atol=1e-14)
    for one in (s, other):
        one.step(torque=VALUE)
        one.kick(VALUE, 0.1)
        one.drift(0.1)
        one.step()
    np.testing.assert_array_equal(s.state, other.state)
    assert s.state[1] == pytest.approx(0.7, rel=1e-12)  # not in the drift
    s.set(state={"wheel": 1.0, "charge": 3.0})
    assert s.state.tolist() == [1.0, 3.0]
    s.reset(state=[0.5, 0.0])
    s.step(5)
    np.testing.assert_allclose(s.state, run.state[-1], rtol=0, atol=1e-15)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("method", ["RK4", "DOP853"])
def test_carried_numbers_of_many(method: str) -> None:
    states = [[0.1 * k, 0.0] for k in range(3)]
    given: dict[str, Any] = {"omega": OMEGA, "state": states, "method": method, "step": 0.1}
    s = ph.Stepper(TILTED, wheel, every=1, **given)
    s.step(4)
    for k in range(3):
        one = ph.Stepper(TILTED, wheel, **{**given, "state": states[k]})
        one.step(4)
        np.testing.assert_allclose(one.state, s.state[k], rtol=0, atol=1e-15)
        np.testing.assert_allclose(one.momentum, s.momentum[k], rtol=0, atol=1e-14)
    found = s.solution()
    assert found.state.shape == (3, 5, 2)
    np.testing.assert_array_equal(found[2].state[-1], s.state[2])
    for call, message in (
        (lambda: s.kick(None, 0.1), "cannot carry the numbers of wheel"),
        (lambda: s.step(torque=wheel), "which a torque of one call cannot"),
        (lambda: ph.Stepper(BODY, wheel, omega=OMEGA, method="RK4", step=0.1), "give their values at the start"),
        (lambda: ph.Stepper(BODY, wheel, omega=OMEGA, state=[0, 0], step=0.1), "Strang"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


# --- truth from elsewhere


def scipy_end(value: Callable[[float], Any], t_end: float, period: float) -> tuple[Any, Any]:
    """The motion of BODY under a torque that is held for a period each, by SciPy with tight tolerances."""
    moments = BODY.moments

    def right_side(t: float, y: Any, n: Any) -> Any:
        q, w = y[:4], y[4:]
        turn = np.array([
            -q[1] * w[0] - q[2] * w[1] - q[3] * w[2], q[0] * w[0] + q[2] * w[2] - q[3] * w[1],
            q[0] * w[1] + q[3] * w[0] - q[1] * w[2], q[0] * w[2] + q[1] * w[1] - q[2] * w[0],
        ])  # fmt: skip
        return np.concatenate([0.5 * turn, (n - np.cross(w, moments * w)) / moments])

    y = np.array([1.0, 0.0, 0.0, 0.0, *OMEGA])
    for k in range(round(t_end / period)):
        n = np.array(value(k * period))
        y = solve_ivp(right_side, (0.0, period), y, "DOP853", rtol=1e-12, atol=1e-13, args=(n,)).y[:, -1]
    return y[:4], y[4:]


@pytest.mark.usefixtures("plain")
def test_held_values_against_scipy() -> None:
    """A torque that changes every 0.1 s, held by a value, by a function and by short steps: order 2 of Strang."""

    def value(t: float) -> Any:
        return (math.cos(5.0 * t), 0.5, -t)

    q, w = scipy_end(value, 1.0, 0.1)
    exact = ph.Stepper(BODY, omega=OMEGA, method="DOP853(rtol=1e-12)", step=0.1)
    for k in range(10):
        exact.step(torque=value(k * 0.1))
    np.testing.assert_allclose(exact.omega, w, rtol=0, atol=2e-10)  # SciPy's own error is some 1e-11
    np.testing.assert_allclose(exact.quaternion, q, rtol=0, atol=2e-10)
    asked = ph.Stepper(BODY, omega=OMEGA, method="DOP853(rtol=1e-12)", step=0.1)
    seen = []

    def law(t: float, q: Any, w: Any) -> Any:
        assert (q.shape, w.shape) == ((4,), (3,))
        seen.append(t)
        return value(t)

    asked.step(10, torque=law)
    np.testing.assert_allclose(asked.omega, w, rtol=0, atol=2e-10)
    assert seen == [k * 0.1 for k in range(10)]
    errors = []
    for n in (5, 10):
        s = ph.Stepper(BODY, omega=OMEGA, step=0.1 / n)
        for k in range(10):
            s.step(n, torque=value(k * 0.1))
        errors.append(np.abs(s.omega - w).max())
    assert 3.6 < errors[0] / errors[1] < 4.4


@pytest.mark.usefixtures("plain")
def test_kicks_and_drifts_make_a_splitting() -> None:
    """Half kick, drift, half kick is Strang; a kick moves the momentum alone, a drift keeps it in space."""
    s, own = (ph.Stepper(TILTED, TOP, omega=OMEGA, step=0.02) for _ in range(2))
    for _ in range(10):
        s.step()
        own.kick(None, 0.01)
        own.drift(0.02)
        own.kick(TOP, 0.01)
    np.testing.assert_array_equal(own.momentum, s.momentum)
    np.testing.assert_array_equal(own.quaternion, s.quaternion)
    assert own.t == s.t == 10 * 0.02
    before, attitude, spatial = own.momentum.copy(), own.quaternion.copy(), own.spatial_momentum
    own.kick(VALUE, 0.5)
    np.testing.assert_allclose(own.momentum - before, 0.5 * np.array(VALUE), rtol=0, atol=1e-15)
    np.testing.assert_array_equal(own.quaternion, attitude)
    own.kick(VALUE, -0.5)
    own.kick(VALUE, 0.5, frame="space")
    np.testing.assert_allclose(own.spatial_momentum - spatial, 0.5 * np.array(VALUE), rtol=0, atol=1e-14)
    own.kick(lambda t, q, w: [-3.0 * x for x in w], 0.1)
    spatial, energy = own.spatial_momentum, own.kinetic_energy
    own.drift(7.0)  # 350 steps
    np.testing.assert_allclose(own.spatial_momentum, spatial, rtol=0, atol=1e-13)
    assert own.kinetic_energy == pytest.approx(energy, rel=1e-13)
    free = ph.FreeMotion(TILTED, omega=OMEGA)
    drifting = ph.Stepper(TILTED, omega=OMEGA, step=0.02)
    drifting.drift(7.0)
    np.testing.assert_allclose(drifting.omega, free.at(7.0).omega, rtol=0, atol=1e-12)


# --- what can be read and set


@pytest.mark.usefixtures("plain")
def test_views_are_live_and_read_only() -> None:
    s = ph.Stepper(BODY, TOP, omega=OMEGA, step=0.01)
    q, m = s.quaternion, s.momentum
    before = m.copy()
    s.step()
    assert q is s.quaternion
    assert np.shares_memory(q, s.quaternion)
    assert (m == s.momentum).all()
    assert not (m == before).all()
    for view in (q, m):
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 1.0
    s.reset()
    assert (m == before).all()  # also of a stepper that begins anew
    np.testing.assert_allclose(s.attitude.as_matrix(), np.eye(3), atol=1e-15)
    many = ph.Stepper(BODY, TOP, omega=[OMEGA, OMEGA], step=0.01)
    assert many.quaternion.shape == (2, 4)
    assert many.omega.shape == (2, 3)
    assert many.kinetic_energy.shape == (2,)
    assert len(many) == 2
    assert "2 bodies" in repr(many)
    loose = ph.Stepper(BODY, TOP, omega=OMEGA, step=0.01, method="Strang(compensated=true)")
    loose.step(50)
    assert abs(np.linalg.norm(loose.quaternion) - 1.0) < 1e-15


def called_law(t: float, q: Any, w: Any, p: Any) -> Any:
    return (p[0] * w[1], p[1], 0.1 * p[0])


@pytest.mark.usefixtures("plain")
def test_parameters_of_a_function_that_is_called() -> None:
    """They stand behind its address in p, which they must not overwrite."""
    law = ph.torque(called_law, compiled=False, parameters=[0.1, 0.2], depends=["rate"], smooth=True)
    how: dict[str, Any] = {"omega": OMEGA, "step": 0.01, "method": "RK4"}
    other = ph.Stepper(BODY, law.with_parameters([0.3, 0.4]), **how)
    other.step(3)
    for torque, parameters in ((law, [0.3, 0.4]), (law + TOP, {"called_law": [0.3, 0.4]})):
        s = ph.Stepper(BODY, torque, **how)
        s.set_parameters(parameters)
        s.step(3)
        if torque is law:
            np.testing.assert_array_equal(s.quaternion, other.quaternion)
        last = s.solution()
        y = float(last.omega[-1, 1])
        np.testing.assert_allclose(last.torque_of("called_law")[-1], [0.3 * y, 0.4, 0.03], rtol=1e-15)
        # In another process the function is elsewhere.
        again = pickle.loads(pickle.dumps(s))
        np.testing.assert_array_equal(again._own_values[0], again.solution().torque.parameters(BODY))
        assert not np.array_equal(again._own_values, s._own_values)


@pytest.mark.usefixtures("plain")
def test_bodies_keep_tables_of_their_own() -> None:
    t = np.linspace(0.0, 1.0, 5)
    tables = [ph.Table(t, np.outer(np.cos(t + k), VALUE)) for k in range(2)]

    def pushed(t: float, q: Any, w: Any, p: Any) -> Any:
        x, y, z = ph.table_at(p[0], t)
        return (p[1] * x, p[1] * y, p[1] * z)

    laws = [ph.torque(pushed, parameters=[table, 1.0]) for table in tables]
    how: dict[str, Any] = {"omega": OMEGA, "step": 0.01, "method": "RK4"}
    s = ph.Stepper(BODY, laws, **how)
    s.set_parameters([0.0, 2.0])
    assert s._own_values.tolist() == [[table.handle, 2.0] for table in tables]


@pytest.mark.usefixtures("plain")
def test_parameters_change_without_a_new_program() -> None:
    s = ph.Stepper(BODY, swing + TOP, omega=OMEGA, method="RK4", step=0.01)
    s.step(5)
    programs = len(s._engines)
    s.step(5, parameters={"swing": [0.7, 0.4]})
    s.step(5)  # they stay
    run = ph.simulate(BODY, swing + TOP, omega=OMEGA, method="RK4", step=0.01, t_span=(0.0, 0.05))
    run = ph.resume(run, 0.15, torque=swing.with_parameters([0.7, 0.4]) + TOP)
    np.testing.assert_array_equal(s.momentum, run.last_momentum)
    assert len(s._engines) == programs
    assert s.solution().torque_changed
    read = ph.torque(parameters=[0.5], from_body=lambda body: body.moments)(lambda t, q, w, p: (p[0] * p[3], 0.0, 0.0))
    one = ph.Stepper(BODY, read, omega=[0.0, 0.0, 0.0], method="RK4", step=0.01)
    one.step(parameters=[2.0])
    assert one.momentum[0] == pytest.approx(2.0 * 2.5 * 0.01, rel=1e-12)
    alone = ph.Stepper(BODY, swing, omega=[OMEGA, OMEGA], method="RK4", step=0.01)
    alone.step(parameters=[[0.1, 0.2], [0.3, 0.4]])
    assert not (alone.momentum[0] == alone.momentum[1]).all()
    for bad, message in (
        ([1.0], r"parameters must have the shape \(2,\)"), ({"sway": [1.0, 2.0]}, "the part 'sway'"),
        ([1.0, math.nan], "must be finite"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            alone.step(parameters=bad)
    with pytest.raises(ValueError, match="name it"):
        s.step(parameters=[1.0, 2.0])
    with pytest.raises(ValueError, match="a torque of your own"):
        ph.Stepper(BODY, TOP, omega=OMEGA, step=0.01).step(parameters=[1.0])


@pytest.mark.usefixtures("plain")
def test_the_state_can_be_set_and_begun_anew() -> None:
    s = ph.Stepper(TILTED, TOP, omega=OMEGA, step=0.01, every=2)
    s.step(3)
    s.set(omega=[0.1, 0.2, 0.3], attitude=Rotation.from_rotvec([0.0, 0.0, 1.0]))
    np.testing.assert_allclose(s.omega, [0.1, 0.2, 0.3], rtol=1e-14)
    np.testing.assert_allclose(s.attitude.as_rotvec(), [0.0, 0.0, 1.0], atol=1e-15)
    assert s.t == 3 * 0.01
    s.set(momentum=[1.0, 2.0, 3.0])
    np.testing.assert_allclose(s.momentum, [1.0, 2.0, 3.0], rtol=1e-14)
    np.testing.assert_allclose(s.attitude.as_rotvec(), [0.0, 0.0, 1.0], atol=1e-15)
    assert s.solution().torque_changed
    s.reset(omega=[0.4, 0.2, 0.1], t=5.0)
    assert s.solution().t.tolist() == [5.0]
    assert not s.solution().torque_changed
    fresh = ph.Stepper(TILTED, TOP, omega=[0.4, 0.2, 0.1], step=0.01, t=5.0)
    s.step(4)
    fresh.step(4)
    assert same(s, fresh.t, fresh.quaternion, fresh.momentum)
    with pytest.raises(ValueError, match="omega or momentum, not both"):
        s.set(omega=OMEGA, momentum=OMEGA)
    with pytest.raises(ValueError, match="what is to be changed"):
        s.set()


@pytest.mark.usefixtures("plain")
def test_rows() -> None:
    """Without `every` the present state is the only row, and `record` keeps others."""
    s = ph.Stepper(BODY, TOP, omega=OMEGA, step=0.01)
    s.step(2)
    assert s.solution().t.tolist() == [s.t]
    s.record()
    s.drift(0.005)
    s.record()
    found = s.solution()
    assert s.steps == found.stats.steps == 2  # a drift is none
    assert found.t.tolist() == [2 * 0.01, 2 * 0.01 + 0.005]
    np.testing.assert_array_equal(found.momentum[-1], s.momentum)
    whole = ph.Stepper(BODY, TOP, omega=OMEGA, step=0.01, every=1)
    whole.step(3)
    whole.step(torque=lambda t, q, w: VALUE)
    whole.step(2, h=-0.01)
    np.testing.assert_allclose(whole.solution().t, [0.0, 0.01, 0.02, 0.03, 0.04, 0.03, 0.02], atol=1e-17)
    kept = ph.Stepper(BODY, TOP, omega=OMEGA, step=0.01, every=1)
    kept.step(30)
    assert kept.solution().energy_error.max() < 1e-4  # and it has all that a solution has
    assert set(kept.solution().invariant_errors) == {"energy", "axial momentum", "quaternion norm"}


@pytest.mark.usefixtures("plain")
def test_rows_can_be_saved(tmp_path: Path) -> None:
    s = ph.Stepper(BODY, TOP, omega=OMEGA, step=0.01, every=1)
    assert "0 steps" in repr(s.solution())
    s.step(4)
    s.step(4, torque=VALUE)
    s.solution().save(tmp_path / "rows.nc")
    again = ph.load(tmp_path / "rows.nc")
    np.testing.assert_array_equal(again.momentum, s.solution().momentum)
    assert again.torque_changed
    further = ph.resume(again, 0.1)
    s.step(2)
    np.testing.assert_array_equal(further.last_momentum, s.momentum)
    many = ph.Stepper(BODY, TOP, omega=[OMEGA, OMEGA], step=0.01, every=1)
    many.step(3)
    assert many.solution().to_xarray().sizes["time"] == 4
    np.testing.assert_array_equal(many.solution()[1].momentum, s.solution().momentum[:4])


@pytest.mark.usefixtures("plain")
def test_steps_back_undo_steps() -> None:
    s = ph.Stepper(BODY, TOP, omega=OMEGA, step=0.01)
    s.step(20)
    s.step(20, h=-0.01)
    assert s.t == 0.0
    np.testing.assert_allclose(s.omega, OMEGA, rtol=0, atol=1e-14)
    back = ph.Stepper(BODY, TOP, omega=OMEGA, step=-0.01)
    back.step(5)
    run = ph.simulate(BODY, TOP, omega=OMEGA, method="Strang", step=-0.01, t_span=(0.0, -0.05))
    assert ends_as(back, run)


# --- copies


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("copied", [ph.Stepper.copy, copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_copies_go_on_by_themselves(copied: Callable[[ph.Stepper], ph.Stepper]) -> None:
    """Adams remembers four steps: a copy that had forgotten them would have other bits."""
    s = ph.Stepper(BODY, swing, omega=OMEGA, method="Adams", step=0.02, every=2)
    s.step(3)
    s.step(4, torque=VALUE)
    s.kick(VALUE, 0.1)
    s.step(5)
    other = copied(s)
    assert not np.shares_memory(other.momentum, s.momentum)
    before = s.momentum.copy()
    other.step(3)
    np.testing.assert_array_equal(s.momentum, before)
    s.step(3)
    for one in (s, other):
        one.step(2, torque=VALUE)
        one.kick(VALUE, 0.1)
    assert same(other, s.t, s.quaternion, s.momentum)
    np.testing.assert_array_equal(other.solution().t, s.solution().t)
    assert other.solution().stats.nfev == s.solution().stats.nfev


def test_steppers_in_threads() -> None:
    """Each thread has a stepper of its own; compiled code runs at the same time."""
    ends: dict[int, Any] = {}

    def work(k: int) -> None:
        s = ph.Stepper(BODY, omega=[1.0, 2.0, 0.1 * k], method="MR2", step=0.01)
        for i in range(200):
            s.step(torque=(0.01 * i, 0.0, 0.001 * k))
        ends[k] = s.momentum.tolist()

    threads = [threading.Thread(target=work, args=(k,)) for k in (1, 2, 1)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    first = ends.copy()
    for k in (1, 2):
        work(k)
    assert ends == first
    constant = ph.Stepper(BODY, omega=[1.0, 2.0, 0.1], method="MR2", step=0.01)
    constant.step(10, torque=VALUE)
    run = ph.simulate(
        BODY, ph.ConstantBodyTorque(VALUE), omega=[1.0, 2.0, 0.1], method="MR2", step=0.01, t_span=(0.0, 0.1)
    )
    assert ends_as(constant, run)
    assert ends[1] != ends[2]


# --- failures and mistakes


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("method", ["RK4", "DOP853"])
@pytest.mark.parametrize("torque", [fails_late, raises_late])
def test_a_failed_step_leaves_the_last_good_state(torque: Any, method: str) -> None:
    acting = torque.with_parameters([0.055])
    s = ph.Stepper(BODY, acting, omega=OMEGA, method=method, step=0.01, every=1)
    with pytest.raises(ph.SimulationFailed, match=r"the torque .* (returned|raised)") as failed:
        s.step(20)
    assert 0.04 < s.t < 0.056
    found = failed.value.solution
    assert not found.success
    assert found.t_last == s.t
    np.testing.assert_array_equal(found.last_momentum, s.momentum)
    np.testing.assert_allclose(found.t, [0.01 * k for k in range(6)], atol=1e-16)
    good = s.momentum.copy()
    with pytest.raises(ph.SimulationFailed):
        s.step()
    np.testing.assert_allclose(s.momentum, good, rtol=0, atol=1e-3)
    s.step(3, parameters=[1.0])  # with other parameters it goes on
    assert s.t > 0.07


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("torque", [fails_late, raises_late])
def test_of_many_bodies_the_others_go_on(torque: Any) -> None:
    """Body 1 fails at 0.055, body 2 later: each stays where it was, and is reported once."""
    rows = [[9.0], [0.055], [0.085]]
    s = ph.Stepper(BODY, torque, omega=OMEGA, parameters=rows, method="RK4", step=0.01, every=1)
    with pytest.raises(ph.SimulationFailed, match=r"body 1: the torque .* after 5 of 6 steps, at t = 0.05"):
        s.step(7)
    assert s.status.tolist() == [0, s.status[1], 0]
    assert s.t == 7 * 0.01
    there = s.momentum[1].copy()
    s.step()
    with pytest.raises(ph.SimulationFailed, match=r"body 2: .* at t = 0.08"):
        s.step(4)
    assert set(s.messages) == {1, 2}
    np.testing.assert_array_equal(s.momentum[1], there)
    found = s.solution()
    assert found.t_last.tolist() == [s.t, 5 * 0.01, 8 * 0.01]
    assert found.rows.tolist() == [13, 6, 9]
    assert np.isnan(found.momentum[1, 6:]).all()
    run = ph.simulate(BODY, torque.with_parameters([9.0]), omega=OMEGA, method="RK4", step=0.01, t_span=(0.0, 0.12))
    np.testing.assert_array_equal(found.momentum[0], run.momentum)
    with pytest.raises(ph.SimulationFailed, match="body 0"):
        s.step(5, parameters=[0.0])
    with pytest.raises(ph.SimulationFailed, match="all bodies have failed"):
        s.step()
    s.set_parameters([9.0])
    s.set(omega=OMEGA)  # now they go on
    s.step()
    assert not s.status.any()


@pytest.mark.usefixtures("plain")
def test_values_of_the_wrong_kind() -> None:
    s = ph.Stepper(BODY, TOP, omega=OMEGA, step=0.01)
    many = ph.Stepper(BODY, omega=[OMEGA] * 3, step=0.01)

    def lost(t: float, q: Any, w: Any) -> Any:
        raise LookupError("lost")

    cases: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: s.step(torque=(0.1, math.nan, 0.0)), ValueError, "torque must be finite"),
        (lambda: s.step(torque=(0.1, 0.2)), ValueError, "torque"),
        (lambda: s.step(torque="up"), TypeError, "torque"),
        (lambda: s.step(torque=ph.HeavyTop), TypeError, "HeavyTop"),
        (lambda: s.step(torque=lambda t, q, w: None), TypeError, "what the torque returned"),
        (lambda: s.step(torque=VALUE, frame="orbit"), ValueError, "frame"),  # type: ignore[arg-type]
        (lambda: s.step(torque=ph.LinearDamping(1.0)), ValueError, "Strang does not accept"),
        (lambda: s.step(0), ValueError, "n must be a positive whole number of steps, not 0"),
        (lambda: s.step(h=0.0), ValueError, "h must not be zero"),
        (lambda: s.drift(0.0), ValueError, "h must not be zero"),
        (lambda: s.kick(VALUE, math.inf), ValueError, "h must be finite"),
        (lambda: many.step(torque=[VALUE, VALUE]), ValueError, r"torque must have the shape \(3,\) or \(3, 3\)"),
        (lambda: many.step(torque=[VALUE, VALUE, (0.0, math.inf, 0.0)]), ValueError, r"torque\[2, 1\] is inf"),
        (lambda: many.set(omega=[OMEGA, OMEGA]), ValueError, "omega must have the shape"),
        (lambda: many.reset(omega=[OMEGA, OMEGA]), ValueError, "a row for each of the 3 bodies"),
        (lambda: ph.Stepper(BODY, omega=OMEGA, step=0.0), ValueError, "step must not be zero"),
        (lambda: ph.Stepper(BODY, omega=OMEGA, step=1e-20, t=1.0), ValueError, "lost in the round-off"),
        (lambda: ph.Stepper([BODY, BODY], omega=[OMEGA] * 3, step=0.1), ValueError, "do not agree on the number"),
        (lambda: ph.Stepper(BODY, ph.LinearDamping(1.0), omega=OMEGA, step=0.1), ValueError, "does not accept"),
        (lambda: ph.Stepper(BODY, omega=OMEGA, step=0.1, every=0), ValueError, "every must be"),
    ]  # fmt: skip
    for call, kind, message in cases:
        before = s.momentum.copy()
        with pytest.raises(kind, match=message):
            call()
        with pytest.raises(LookupError, match="lost"):  # what a function raises comes out as it is
            s.step(3, torque=lost)
        assert s.t == many.t == 0.0
        np.testing.assert_array_equal(s.momentum, before)


@pytest.mark.usefixtures("plain")
def test_interrupted_steps_keep_clock_and_state_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle of many steps: what was made is there, and the next steps go on from it."""
    monkeypatch.setattr("polhode.stepping.engine.CHUNK_STEPS", 4)
    s = ph.Stepper(BODY, TOP, omega=OMEGA, step=0.01)
    call, calls = s._plain.call, [0]

    def interrupted(*numbers: Any) -> int:
        calls[0] += 1
        made = call(*numbers)
        if calls[0] == 3:
            raise KeyboardInterrupt
        return made

    s._plain.call = interrupted
    with pytest.raises(KeyboardInterrupt):
        s.step(20)
    assert s.t == 12 * 0.01
    s.step(8)
    crossing = ph.Stepper(BODY, swing, omega=[OMEGA, OMEGA], method="DOP853", step=5.0)
    crossing.step()
    before, call, calls = crossing.momentum.copy(), crossing._plain.call, [0]
    crossing._plain.call = interrupted
    with pytest.raises(KeyboardInterrupt):
        crossing.step()
    assert calls[0] == 3
    assert crossing.t == 5.0
    np.testing.assert_array_equal(crossing.momentum, before)
    run = ph.simulate(BODY, TOP, omega=OMEGA, method="Strang", step=0.01, t_span=(0.0, 0.2))
    assert ends_as(s, run)
    assert s.status == Status.OK


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("place", ["_tick", "_record_if_due", "stop_recording", "restart"])
@pytest.mark.parametrize(("method", "every"), [("RK4", None), ("RK4", 2), ("RK4", 3), ("DOP853", 2)])
def test_ctrl_c_between_state_and_clock(
    monkeypatch: pytest.MonkeyPatch, place: str, before: bool, method: str, every: int | None
) -> None:
    """Wherever it comes, time, state, number of steps and rows are those of the same steps without it."""
    s = ph.Stepper(BODY, swing, omega=OMEGA, method=method, step=0.01, every=every)
    s.step(3)
    other = s.copy()
    owner: Any = ph.Stepper if hasattr(ph.Stepper, place) else StepEngine
    usual = getattr(owner, place)
    struck: list[bool] = []

    def strike(self: Any, *arguments: Any, **named: Any) -> Any:
        if struck:
            return usual(self, *arguments, **named)
        struck.append(True)
        if not before:
            usual(self, *arguments, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(owner, place, strike)
    for h in (0.01, 0.02):
        with contextlib.suppress(KeyboardInterrupt):
            s.step(3, h=h)
        made = s.steps - other.steps
        if made:
            other.step(made, h=h)
        np.testing.assert_allclose(s.momentum, other.momentum, rtol=0, atol=1e-13)  # DOP853 may begin anew
        assert s.t == other.t
        np.testing.assert_array_equal(s.solution().t, other.solution().t)


@pytest.mark.usefixtures("plain")
def test_engines_do_not_pile_up() -> None:
    """Each burn jumps at other times, and needs an engine of its own for a while."""
    s = ph.Stepper(BODY, omega=OMEGA, method="RK4", step=0.01)
    s.step(torque=VALUE)
    for k in range(2 * MOST_ENGINES):
        s.step(torque=ph.ConstantBodyTorque(VALUE).during(-1.0 - k, 10.0))
    assert len(s._engines) <= MOST_ENGINES
    assert s.solution().stats.nfev == 4 * (1 + 2 * MOST_ENGINES)
    other = ph.Stepper(BODY, ph.ConstantBodyTorque(VALUE), omega=OMEGA, method="RK4", step=0.01)
    other.step(1 + 2 * MOST_ENGINES)
    np.testing.assert_allclose(s.momentum, other.momentum, rtol=0, atol=1e-13)
    s.step(torque=VALUE)
    pickle.loads(pickle.dumps(s)).copy().step()
