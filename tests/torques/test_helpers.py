"""Vector helpers and numbers of the body, in torques: against SciPy's DOP853 with NumPy's vectors."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.torques import SumTorque

TARGET = Rotation.from_rotvec([0.4, -0.2, 0.9])
X, Y, Z, W = TARGET.as_quat()
MOMENTS = np.array([2.0, 3.0, 4.0])
START: dict[str, Any] = {"omega": [0.5, -0.3, 0.8], "attitude": [0.5, 0.5, 0.5, 0.5], "t_span": (0.0, 6.0)}


@ph.torque(parameters=[2.0, 0.5, 0.3, W, X, Y, Z], from_body=lambda body: body.moments)
def control(t, q, w, p):  # type: ignore[no-untyped-def]
    """Turns the body to an attitude with limited torques, and takes its gyroscopic torque away."""
    error = ph.quaternion_product(ph.quaternion_conjugate((p[3], p[4], p[5], p[6])), q)
    u = (-p[0] * error[1] - p[1] * w[0], -p[0] * error[2] - p[1] * w[1], -p[0] * error[3] - p[1] * w[2])
    u = ph.clip(u, -p[2], (p[2], 0.5 * p[2], 0.2 * p[2]))
    gyroscopic = ph.cross(w, (p[7] * w[0], p[8] * w[1], p[9] * w[2]))
    brake = ph.clip(1 - ph.dot(w, w), 0, 1)
    return (
        u[0] + gyroscopic[0] - 0.1 * brake * w[0],
        u[1] + gyroscopic[1] - 0.1 * brake * w[1],
        u[2] + gyroscopic[2] - 0.1 * brake * w[2],
    )


def truth(t: Any, moments: Any = MOMENTS, limit: float = 0.3) -> Any:
    """States at these times, with np.cross and np.clip, in short steps of another program."""

    def slope(t: float, y: Any) -> Any:
        q, w = y[:4] / np.linalg.norm(y[:4]), y[4:]
        error = W * q[1:] - q[0] * np.array([X, Y, Z]) - np.cross([X, Y, Z], q[1:])  # of conjugate(target) q
        u = np.clip(-2.0 * error - 0.5 * w, -limit, limit * np.array([1.0, 0.5, 0.2]))
        torque = u + np.cross(w, moments * w) - 0.1 * np.clip(1 - w @ w, 0, 1) * w
        turned = 0.5 * np.array([-q[1:] @ w, *(q[0] * w + np.cross(q[1:], w))])
        return [*turned, *((torque - np.cross(w, moments * w)) / moments)]

    y = [*START["attitude"], *START["omega"]]
    return solve_ivp(slope, (0.0, 6.0), y, "DOP853", t, rtol=1e-12, atol=1e-13, max_step=0.1).y.T


@pytest.mark.evidence
def test_against_scipy_with_bends_located() -> None:
    assert control.may_bend
    assert control.bends_known
    s = ph.simulate(ph.Body(MOMENTS), control, **START, method="DOP853(rtol=1e-10)", step=0.1, t_eval=[1, 3, 6])
    expected = truth(s.t)
    assert np.abs(s.omega - expected[:, 4:]).max() < 2e-9
    assert np.abs(np.abs(np.sum(s.quaternion * expected[:, :4], axis=1)) - 1).max() < 2e-9
    assert np.abs(ph.cross(s.omega, s.momentum) + s.torque_of()).max() > 0.1  # there is more than the gyroscopic torque
    blind = ph.simulate(ph.Body(MOMENTS), control, **START, method="RK4", step=0.01, t_eval=[6])
    assert 1e-12 < np.abs(blind.omega[-1] - expected[-1, 4:]).max() < 1e-5  # RK4 steps over the bends


def test_many_bodies_in_lanes_have_their_own_moments() -> None:
    rng = np.random.default_rng(5)
    moments = rng.uniform(2.0, 3.0, (9, 3))
    bodies = [ph.Body(m) for m in moments]
    rows = np.tile(control.values, (9, 1))
    rows[:, 2] = rng.uniform(0.2, 0.4, 9)
    run: dict[str, Any] = {**START, "method": "RK4", "step": 0.01, "t_eval": [3.0, 6.0]}
    shared = ph.ensemble(bodies, control, **run)
    assert shared.lanes > 1
    assert not shared.why_not_packed
    many = ph.ensemble(bodies, control, parameters=rows, **run)
    assert many.start.parameters.shape == (9, 10)
    assert (many.start.parameters[:, 7:] == moments).all()
    for k in (0, 8):
        one = ph.simulate(bodies[k], control.with_parameters(rows[k]), **run)
        assert (one.momentum == many.momentum[k]).all()
        assert (ph.simulate(bodies[k], control, **run).momentum == shared.momentum[k]).all()
    assert np.abs(shared.omega[4, 1] - truth([6.0], moments[4])[0, 4:]).max() < 1e-5  # RK4 steps over the bends
    drawn = ph.ensemble(moments, control, parameters=rows[0], **run)  # an array of moments in place of bodies
    listed = [control.with_parameters(row) for row in rows]
    assert (drawn.start.parameters[:, 7:] == moments).all()
    assert (ph.ensemble(bodies, listed, **run).momentum == many.momentum).all()


def test_sums_keep_the_numbers_of_the_body() -> None:
    body = ph.Body([2.5, 3.5, 3.0])
    total = 0.5 * control + ph.ConstantBodyTorque((0.0, 0.0, 0.1))
    assert isinstance(total, SumTorque)
    assert list(total.parameters(body)) == [0.5, *control.values, 2.5, 3.5, 3.0, 0.0, 0.0, 0.1]
    assert total.reads_body
    rows = np.tile(control.values, (2, 1)) * [[1.0], [2.0]]
    made = ph.ensemble(
        [body, ph.Body([2.0, 2.0, 2.0])], total, parameters={"control": rows}, **START, method="RK4", step=3.0
    )
    assert made.start.parameters[1].tolist() == [0.5, *(2 * x for x in control.values), 2, 2, 2, 0, 0, 0.1]
    assert list(made.start.torque(1).parameters(ph.Body([2.0, 2.0, 2.0]))) == made.start.parameters[1].tolist()


def test_pickles_copies_and_files(tmp_path: Path) -> None:
    body = ph.Body(MOMENTS)
    for made in (pickle.loads(pickle.dumps(control)), copy.deepcopy(control), control.with_parameters([1.0] * 7)):
        assert list(made.parameters(body))[7:] == [2.0, 3.0, 4.0]
    assert "reads the body" in repr(control)
    s = ph.simulate(body, control, **START, method="RK4", step=1.0)
    assert "numbers of the body" in repr(s)
    s.save(tmp_path / "s.nc")
    assert ph.load(tmp_path / "s.nc", torque=control).torque is control
    with pytest.raises(ValueError, match="was made with the torque control"):
        ph.load(tmp_path / "s.nc", torque=control.with_parameters([1.0] * 7))


def test_bad_numbers_of_the_body() -> None:
    def nothing(t, q, w, p):  # type: ignore[no-untyped-def]
        return (p[0], 0.0, 0.0)

    with pytest.raises(TypeError, match="write from_body=lambda body"):
        ph.torque(parameters=lambda body: body.moments)(nothing)
    with pytest.raises(TypeError, match="from_body must be a function of the body"):
        ph.torque(from_body=[1.0])(nothing)  # type: ignore[call-overload]
    for wrong, problem in (
        (lambda body: ["a"], "from_body of nothing must"),
        (lambda body: [np.nan], r"from_body of nothing must be finite, but from_body of nothing\[0\] is nan"),
        (lambda body: np.eye(3), "from_body of nothing must be a list of numbers"),
    ):
        with pytest.raises((TypeError, ValueError), match=problem):
            ph.simulate(ph.Body(MOMENTS), ph.torque(from_body=wrong)(nothing), **START, method="RK4", step=1.0)
    with pytest.raises(ZeroDivisionError) as raised:
        ph.torque(from_body=lambda body: [1 / 0])(nothing).parameters(ph.Body(MOMENTS))
    assert "raised by from_body of the torque nothing" in raised.value.__notes__[0]
    uneven = ph.torque(from_body=lambda body: body.moments[: 1 + (body.moments[0] > 1)])(nothing)
    with pytest.raises(ValueError, match="returns 2 numbers for body 1, but 1 for body 0"):
        ph.ensemble([ph.Body([1, 1, 1]), ph.Body([2, 2, 2])], uneven, **START, method="RK4", step=1.0)
    with pytest.raises(ValueError, match="has 0 parameters, but a row of parameters has 2"):
        ph.ensemble(
            ph.Body(MOMENTS), ph.torque(from_body=lambda body: body.moments)(nothing), parameters=[[1.0, 2.0]] * 2,
            **START, method="RK4", step=1.0,
        )  # fmt: skip


# --- the same functions in plain Python ----------------------------------------------------------------------------


def test_single_vectors_and_stacks() -> None:
    rng = np.random.default_rng(8)
    a, b = rng.normal(size=(2, 7, 5, 3))
    p, q = rng.normal(size=(2, 7, 5, 4))
    p /= np.linalg.norm(p, axis=-1)[..., None]
    q /= np.linalg.norm(q, axis=-1)[..., None]
    turns = Rotation.from_quat(q.reshape(-1, 4), scalar_first=True)
    product = Rotation.from_quat(p.reshape(-1, 4), scalar_first=True) * turns
    flat = a.reshape(-1, 3)
    np.testing.assert_allclose(ph.cross(a, b), np.cross(a, b), atol=1e-15)
    np.testing.assert_allclose(ph.dot(a, b), np.sum(a * b, axis=-1), atol=1e-14)
    np.testing.assert_allclose(ph.to_space(q, a).reshape(-1, 3), turns.apply(flat), atol=1e-14)
    np.testing.assert_allclose(ph.to_body(q, a).reshape(-1, 3), turns.inv().apply(flat), atol=1e-14)
    made = ph.quaternion_product(p, q).reshape(-1, 4)
    np.testing.assert_allclose(np.abs(np.sum(made * product.as_quat(scalar_first=True), axis=-1)), 1.0, atol=1e-14)
    np.testing.assert_allclose(ph.quaternion_product(q, ph.quaternion_conjugate(q)) - [1, 0, 0, 0], 0, atol=1e-15)
    for one, many in (
        (ph.cross(a[0, 0], tuple(b[0, 0])), ph.cross(a, b)),
        (ph.to_body(q[0, 0], a[0, 0]), ph.to_body(q, a)),
    ):
        assert isinstance(one, tuple)
        assert np.array_equal(one, many[0, 0])
    assert ph.cross([1, 0, 0], (0, 1, 0)) == (0, 0, 1)
    assert np.array_equal(ph.to_space(q, (0.0, 0.0, 1.0)), ph.to_space(q, np.broadcast_to([0.0, 0.0, 1.0], a.shape)))
    with pytest.raises(ValueError, match=r"the last axis must have 4 components, not the shape \(7, 5, 3\)"):
        ph.to_space(a, b)


def test_lists_of_lists_are_stacks() -> None:
    rows = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    np.testing.assert_array_equal(ph.dot(rows, (1, 2, 3)), [14, 32, 50])
    np.testing.assert_array_equal(ph.cross(rows, (1, 0, 0)), np.cross(rows, [1, 0, 0]))
    np.testing.assert_array_equal(ph.to_space((1, 0, 0, 0), rows), rows)
    np.testing.assert_array_equal(ph.clip(rows, 2, (4, 5, 6)), np.clip(rows, 2, [4, 5, 6]))


def test_clip_in_plain_python() -> None:
    assert ph.clip(5, -1, 1) == 1
    assert ph.clip(-0.5, -1.0, 1.0) == -0.5
    assert ph.clip((5.0, 0.2, -7.0), -1.0, (1.0, 2.0, 3.0)) == (1.0, 0.2, -1.0)
    assert ph.clip([5.0, 5.0, 5.0], (-1.0, -1.0, 9.0), (1.0, 2.0, 3.0)) == (1.0, 2.0, 3.0)
    assert ph.clip([-5.0, -5.0, -5.0], (-1.0, -2.0, -3.0), 9.0) == (-1.0, -2.0, -3.0)
    assert ph.clip(np.array([5.0, 0.2, -7.0]), -1, 1) == (1.0, 0.2, -1.0)
    assert np.isnan(ph.clip(float("nan"), -1.0, 1.0))
    x = np.random.default_rng(2).normal(size=(20, 3))
    assert np.array_equal(ph.clip(x, -0.5, [0.1, 0.2, 0.3]), np.clip(x, -0.5, [0.1, 0.2, 0.3]))
    with pytest.raises(ValueError, match="low must be a number, because x is one"):
        ph.clip(1.0, (0.0, 0.0, 0.0), 1.0)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_rotor_is_among_the_numbers_of_the_body(compiled: bool) -> None:
    """An ensemble and a stepper make their bodies again, and did so without their rotors."""

    def along(t: float, q: Any, w: Any, p: Any) -> Any:
        return (p[0] * p[1], p[0] * p[2], p[0] * p[3])

    torque = ph.torque(along, compiled=compiled, parameters=[0.5], from_body=lambda body: body.rotor)
    bodies = [ph.Body([1.0, 2.0, 2.8], rotor=[0.1 * k, 1.2, 0.3]) for k in range(3)]
    given: Any = {"omega": [0.1, 1.0, 0.2], "method": "RK4", "step": 0.05}
    runs = [ph.simulate(body, torque, t_span=(0, 0.1), **given).last_momentum for body in bodies]
    many = [ph.ensemble(bodies, acting, t_span=(0, 0.1), **given) for acting in (torque, [torque] * 3)]
    many.append(ph.ensemble(bodies, torque, t_span=(0, 0.1), parameters=[[0.5]] * 3, **given))
    many.append(
        ph.ensemble(ph.Body([1.0, 2.0, 2.8]), torque, t_span=(0, 0.1), rotor=[b.rotor for b in bodies], **given)
    )
    for found in many:
        np.testing.assert_allclose(found.last_momentum, runs, rtol=0, atol=1e-14)
    for s, extra in ((ph.Stepper(bodies, torque, **given), None), (ph.Stepper(bodies, **given), torque)):
        s.step(2, torque=extra)
        np.testing.assert_allclose(s.momentum, runs, rtol=0, atol=1e-14)


def brake(rate: float) -> float:
    return 0.3 * rate


def brake_with_a_branch(rate: float) -> float:
    return 0.3 * rate if rate > 0.1 else 0.0


@ph.torque
def braked(t: float, q: Any, w: Any, p: Any) -> Any:
    return (0.0, 0.0, -brake(w[2]))


def test_a_helper_that_branches_meanwhile_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = [braked.may_bend]
    monkeypatch.setitem(globals(), "brake", brake_with_a_branch)
    seen.append(braked.may_bend)
    monkeypatch.undo()
    assert [*seen, braked.may_bend] == [False, True, False]
