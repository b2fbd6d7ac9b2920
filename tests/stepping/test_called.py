"""Steppers under torques that are called by their address, and under several torques of one kind."""

import ctypes
import pickle
from typing import Any

import numpy as np
import pytest

import polhode as ph

BODY = ph.Body([1.0, 2.0, 2.5])
OMEGA = [1.0, 2.0, 0.3]
MANY = [[0.1 * k, 1.0, 0.2] for k in range(5)]


class Brake:
    """A torque that counts its calls, and raises when it was called often enough."""

    def __init__(self, most: float = np.inf) -> None:
        self.calls, self.most = 0, most

    def __call__(self, t: float, q: Any, w: Any, p: Any) -> Any:
        """Brakes."""
        self.calls += 1
        if self.calls > self.most:
            raise RuntimeError("enough")
        return (-p[0] * w[0], 0.1 * p[1], 0.0)


def brake(values: Any = (0.2, 0.3), **more: Any) -> ph.torques.CustomTorque:
    return ph.torque(Brake(**more), compiled=False, parameters=values)


def stepper(torque: Any = None, omega: Any = OMEGA, method: str = "RK4", step: float = 0.01) -> ph.Stepper:
    return ph.Stepper(BODY, torque, omega=omega, method=method, step=step)


def after(torque: Any, steps: int, omega: Any = OMEGA) -> Any:
    s = stepper(torque, omega)
    s.step(steps)
    return s.momentum.copy()


@pytest.mark.parametrize("omega", [OMEGA, MANY])
def test_other_parameters(omega: Any) -> None:
    """They stand behind the address of the function, which stays as it is."""
    s = stepper(brake(), omega)
    s.step(3, parameters=[0.5, 0.6])
    np.testing.assert_array_equal(s.momentum, after(brake([0.5, 0.6]), 3, omega))
    found = first_of(s.solution())
    assert found.problem.torque.values == (0.5, 0.6)
    s.step(2)
    np.testing.assert_array_equal(ph.resume(found, 0.05).last_momentum, s.momentum.reshape(-1)[:3])


def first_of(found: Any) -> Any:
    return found if isinstance(found, ph.Solution) else found[0]


def test_a_solution_has_the_torque_of_the_stepper() -> None:
    """Without the address, and without the numbers of the body, which are made again."""

    def push(t: float, q: Any, w: Any, p: Any) -> Any:
        return (p[0], p[1], p[2])

    for compiled in (False, True):
        acting = ph.torque(push, compiled=compiled, parameters=[0.1], from_body=lambda body: body.moments)
        s = stepper(acting)
        s.step(2)
        found = s.solution()
        assert found.problem.torque.values == (0.1,)
        s.step(2)
        np.testing.assert_array_equal(ph.resume(found, 0.04).last_momentum, s.momentum)


@pytest.mark.parametrize("omega", [OMEGA, MANY])
def test_a_solution_has_the_present_parameters_of_parts(omega: Any) -> None:
    s = stepper(ph.HeavyTop(1.0) + brake() + brake([0.1, 0.1]), omega)
    s.step(2, parameters={"Brake": [5.0, 6.0]})
    one = first_of(s.solution())
    s.step(2)
    np.testing.assert_array_equal(ph.resume(one, 0.04).last_momentum, s.momentum.reshape(-1)[:3])
    s.step(2, parameters={"Brake_2": [7.0, 8.0]})
    both = first_of(s.solution())
    s.step(2)
    np.testing.assert_array_equal(ph.resume(both, 0.08).last_momentum, s.momentum.reshape(-1)[:3])


def test_pickled_steppers_call_their_own_function() -> None:
    """An address is good for one process, and as long as its function lives."""
    old, given = brake(), brake([0.4, 0.5])
    s = stepper(old)
    s.step(2, parameters=[0.3, 0.3])
    s.step(2, torque=given)
    s.kick(given, 0.1)
    new = pickle.loads(pickle.dumps(s))
    calls = old.function.calls, given.function.calls  # type: ignore[attr-defined]
    new.step(3)
    again = brake([0.4, 0.5])
    new.step(3, torque=again)
    new.kick(again, 0.1)
    assert (old.function.calls, given.function.calls) == calls  # type: ignore[attr-defined]
    assert new.torque.function.calls > 0
    s.step(3)
    s.step(3, torque=given)
    s.kick(given, 0.1)
    np.testing.assert_array_equal(new.momentum, s.momentum)


def test_torques_of_a_call_with_other_numbers_of_parameters() -> None:
    """They share a kernel, but not the places of their parameters."""
    none = ph.torque(lambda t, q, w, p: (0.1, 0.0, 0.2), compiled=False)
    s = stepper()
    s.step(1, torque=none)
    s.kick(none, 0.1)
    other = s.copy()
    s.kick(brake(), 0.1)
    s.step(2, torque=brake())
    x, y, _ = brake()(0.0, other.quaternion, other.omega, [0.2, 0.3])
    other.kick((x, y, 0.0), 0.1)
    other = ph.Stepper(BODY, brake(), omega=other.omega, attitude=other.quaternion, method="RK4", step=0.01)
    other.step(2)
    np.testing.assert_allclose(s.momentum, other.momentum, rtol=0, atol=1e-14)  # the rate is rounded on the way


def test_c_and_then_python_for_many() -> None:
    """A function of C may be called for several bodies together, one of Python for one at a time."""
    numbers = ctypes.POINTER(ctypes.c_double)

    @ctypes.CFUNCTYPE(None, ctypes.c_double, *[numbers] * 4)  # type: ignore[untyped-decorator]
    def of_c(t: float, q: Any, w: Any, p: Any, out: Any) -> None:
        out[0], out[1], out[2] = -p[0] * w[0], 0.1 * p[1], 0.0

    s = stepper(omega=MANY)
    s.step(2, torque=ph.torque_from_pointer(of_c, parameters=[0.2, 0.3]))
    s.step(2, torque=brake())
    np.testing.assert_array_equal(s.momentum, after(brake(), 4, MANY))


def test_tables_of_a_call() -> None:
    """Each is asked at which times it is known, not the first."""
    short, long = (ph.Table(np.linspace(0.0, end, 11), np.full((11, 3), 0.1)) for end in (0.1, 1.0))
    s = stepper(method="Strang")
    s.step(1, torque=short)
    s.step(20, torque=long)
    with pytest.raises(ValueError, match=r"known from t = 0\.0 to 0\.1 s"):
        s.step(1, torque=short)
    assert s.t == 21 * 0.01


@pytest.mark.parametrize("method", ["RK4", "DOP853", "Adams"])
def test_an_exception_with_many_bodies_undoes_the_step(method: str) -> None:
    """Some bodies may have made it already: all are where they were before it, and go on together."""
    acting = brake()
    s, free = stepper(acting, MANY, method), stepper(brake(), MANY, method)
    s.step(4)
    acting.function.most = acting.function.calls + 30  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError, match="enough"):
        s.step(4)
    made = s.steps
    assert 4 <= made < 8
    free.step(made)
    np.testing.assert_array_equal(s.momentum, free.momentum)
    assert s.t == free.t
    acting.function.most = np.inf  # type: ignore[attr-defined]
    s.step(8 - made)
    free.step(8 - made)
    np.testing.assert_allclose(s.momentum, free.momentum, rtol=0, atol=1e-9)  # a method may begin anew
    s.step(2, h=0.02)
    free.step(2, h=0.02)
    np.testing.assert_allclose(s.momentum, free.momentum, rtol=0, atol=1e-9)
    assert not s.status.any()


def test_an_exception_in_a_kick_of_many_bodies_undoes_it() -> None:
    s = stepper(omega=MANY)
    before = s.momentum.copy()
    with pytest.raises(RuntimeError, match="enough"):
        s.kick(brake(most=2), 0.1)
    np.testing.assert_array_equal(s.momentum, before)


@pytest.mark.evidence
@pytest.mark.parametrize("omega", [OMEGA, MANY])
def test_radau_leaves_no_round_off_over(omega: Any) -> None:
    """From 0.2 to 3 * 0.1 is a bit more than 0.1: the bit was a step, and the next one was as short."""
    s = stepper(brake(), omega, "Radau", 0.1)
    s.step(12)
    assert s.t == 12 * 0.1
    run = ph.simulate(BODY, brake(), omega=np.atleast_2d(omega)[0], t_span=(0, 1.2), rtol=1e-9)
    np.testing.assert_allclose(np.atleast_2d(s.momentum)[0], run.last_momentum, rtol=0, atol=1e-6)
