"""Steps that their user chose too long: a warning says so, and only then."""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import polhode as ph
from polhode.cli import app
from polhode.methods import catalogue

BODY = ph.Body([1.0, 2.0, 2.8])
FAST = np.array([0.3, 1.0, 0.4]) * 1e9


def said(**given: Any) -> list[str]:
    """Returns what is said about long steps."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        ph.simulate(given.pop("body", BODY), given.pop("torque", None), **given)
    return [str(w.message) for w in found if w.category is ph.LongSteps]


@pytest.mark.parametrize("method", ["MR2", "LS"])
def test_turns_that_a_method_cannot_take_are_named(plain: None, method: str) -> None:
    (message,) = said(omega=FAST, t_span=(0, 0.01), step=1e-3, method=method)
    assert re.match(rf"steps of 0\.001 s are too long for {method}: one turns the body by 1\.\d+e\+06 rad", message)
    assert "take steps of 3e-10 s or less, a method whose free bodies turn exactly, such as Strang, or rtol" in message


@pytest.mark.parametrize("method", ["Strang", "TakahashiImada", "SABA", "Exact", "JE"])
def test_methods_that_turn_free_bodies_exactly_take_any_turn(plain: None, method: str) -> None:
    assert said(omega=FAST, t_span=(0, 0.01), step=1e-3, method=method) == []


def test_methods_are_exact_when_free_if_they_may_turn_by_any_angle(plain: None) -> None:
    omega = np.array([0.3, 1.0, 0.4])
    true = ph.FreeMotion(BODY, omega).at(16.0).quaternion
    warnings.simplefilter("ignore")
    for method in catalogue().values():
        if method.variable_steps:
            continue
        try:
            last = ph.simulate(BODY, omega=omega, t_span=(0, 16), step=4.0, method=method).quaternion[-1]
            error = float(min(np.linalg.norm(last - true), np.linalg.norm(last + true)))
        except ph.SimulationFailed:
            error = 1.0
        assert (error < 1e-12) == (method.longest_turn == np.inf), method.name


def test_what_is_not_conserved_is_named(plain: None) -> None:
    (message,) = said(omega=[0.3, 1.0, 0.4], t_span=(0, 30), step=0.6, method="Catto")
    assert (
        "the energy, which is conserved, is off by" in message or "momentum, which is conserved, is off by" in message
    )
    assert "take steps of 0.3 s or less or rtol, which chooses them" in message


def test_good_steps_and_bodies_that_begin_at_rest_are_silent(plain: None) -> None:
    assert said(omega=[0.3, 1.0, 0.4], t_span=(0, 10), step=0.05, method="MR2") == []
    lying = [np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0]  # a pendulum with no energy at all
    for omega in ([0.0, 0.0, 0.0], [1e-6, 0.0, 0.0]):
        given = {"torque": ph.HeavyTop(1.0), "omega": omega, "attitude": lying}
        assert said(**given, t_span=(0, 3), step=0.1, method="MR2") == []
    brake = ph.LinearDamping(5.0)  # nothing is conserved
    assert said(torque=brake, omega=[0.3, 1.0, 0.4], t_span=(0, 10), step=0.3, method="RK4") == []


def test_potential_that_fails_says_nothing(plain: None) -> None:
    def wrong(t: float, q: Any, p: Any) -> float:
        if t > 1.0:
            raise ArithmeticError("no such number")
        return 0.0

    torque = ph.torque(lambda t, q, w, p: (0.0, 0.0, 0.0), potential=wrong, compiled=False)
    assert said(torque=torque, omega=[0.3, 1.0, 0.4], t_span=(0, 3), step=0.3, method="MR2") == []


def test_going_on_says_it_too(plain: None) -> None:
    with pytest.warns(ph.LongSteps):
        run = ph.simulate(BODY, omega=[0.3, 1.0, 0.4], t_span=(0, 6), step=2.0, method="MR2")
    with pytest.warns(ph.LongSteps, match="2.* rad"):
        ph.resume(run, 12.0)


def test_fastest_body_of_an_ensemble_is_named(plain: None) -> None:
    omega = np.array([[0.3, 1.0, 0.4]] * 4) * np.array([[0.1], [0.2], [30.0], [0.3]])
    with pytest.warns(ph.LongSteps, match="one turns the fastest body .number 2. by 3.35 rad"):
        ph.ensemble(BODY, omega=omega, t_span=(0, 1), step=0.1, method="MR2")
    with pytest.warns(ph.LongSteps, match="number 2"):
        ph.ensemble(
            BODY, omega=omega, t_span=(0, 1), step=0.1, method="MR2", reduce={"mean": ph.quantity("omega").mean("body")}
        )


def test_fastest_body_of_a_system_is_named(plain: None) -> None:
    def system(rate: float) -> ph.System:
        return ph.System(BODY, mass=1.0, position=[[0, 0, 0], [3, 0, 0]], omega=[[0, 0.1, 0], [0, rate, 0.1]])

    with pytest.warns(ph.LongSteps, match="one turns the fastest body by 30 rad"):
        ph.simulate_system(system(300.0), t_span=(0, 0.5), step=0.1, method="NMB")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ph.simulate_system(system(300.0), t_span=(0, 0.5), step=0.1)


def test_the_command_says_it(plain: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("fast.toml").write_text(
        "[body]\nmoments = [1, 2, 3]\n[initial]\nomega = [1e9, 1e8, 1e7]\n"
        '[run]\nt_span = [0, 0.1]\nmethod = "MR2"\nstep = 1e-3\n'
    )
    with pytest.warns(ph.LongSteps, match="one turns the body by"):  # which the command prints
        assert CliRunner().invoke(app, ["run", "fast.toml"]).exit_code == 0


@pytest.mark.parametrize("torque", [ph.Free(), ph.HeavyTop(1.0), ph.GravityGradient(0.3)], ids=lambda t: t.name)
def test_drift_is_the_largest_error_in_the_last_row(plain: None, torque: Any) -> None:
    run = ph.simulate(BODY, torque, omega=[0.3, 1.0, 0.4], t_span=(0, 6), step=0.3, method="RK4")
    errors = {name: float(e[-1]) for name, e in run.invariant_errors.items() if "norm" not in name}
    name, change = run.drift()
    grown = float(np.linalg.norm(run.momentum[-1]) / np.linalg.norm(run.problem.momentum_start))
    assert name == max(errors, key=lambda name: errors[name])
    assert change <= errors[name] * (1 + 1e-9)
    assert change >= errors[name] / max(1.0, grown) ** 2 * (1 - 1e-9)
    assert change > 1e-9
