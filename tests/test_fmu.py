"""Co-simulation units of scenarios, run by FMPy as another program would."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.scenario import load_scenario

pytest.importorskip("pythonfmu")
fmpy = pytest.importorskip("fmpy")
pytestmark = [pytest.mark.usefixtures("plain"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]

TOP = """
title = "A top in the hands of another program"
[body]
moments = [5.0, 5.0, 1.0]
[initial]
omega = [0.0, 0.0, 3.0]
[run]
t_span = [0.0, 1.0]
step = 0.01
method = "Strang"
"""
GRAVITY = '[torque]\nmodel = "HeavyTop"\nweight = 20.0\n'
OWN = '[torque]\nmodel = "own/laws.py:spring"\nparameters = [0.4]\n'
LAWS = "def spring(t, q, w, p):\n    return (-p[0] * q[1], -p[0] * q[2], 0.0)\n"


@pytest.fixture
def made(call: Callable[..., tuple[int, str, str]], here: Path) -> Callable[..., Path]:
    def written(text: str) -> Path:
        Path("top.toml").write_text(text, "utf-8")
        code, out, err = call("fmu", "top.toml", "--force")
        assert (code, out, err) == (0, "wrote top.fmu\n", "")
        return here / "top.fmu"

    return written


def run(unit: Path, stop: float, interval: float, **given: Any) -> Any:
    return fmpy.simulate_fmu(str(unit), stop_time=stop, output_interval=interval, **given)


def test_a_unit_has_the_bits_of_its_scenario(made: Callable[..., Path]) -> None:
    """Without a torque at its inputs; with a torque of the scenario's, from a file in a folder below it."""
    Path("own").mkdir()
    Path("own/laws.py").write_text(LAWS, "utf-8")
    for table in (GRAVITY, OWN):
        unit = made(TOP + table)
        rows = run(unit, 0.2, 0.05)
        scenario = load_scenario("top.toml")
        motion = ph.simulate(**{**scenario.arguments(), "t_span": (0.0, 0.2), "every": 5})
        np.testing.assert_allclose(rows["t"], motion.t, rtol=0, atol=1e-15)
        for k, part in enumerate("wxyz"):
            np.testing.assert_array_equal(rows[f"quaternion_{part}"], motion.quaternion[:, k])
        for k, axis in enumerate("xyz"):
            np.testing.assert_array_equal(rows[f"omega_{axis}"], motion.omega[:, k])
    from fmpy.validation import validate_fmu

    assert validate_fmu(str(unit)) == []


def test_a_torque_at_the_inputs_and_parameters(made: Callable[..., Path]) -> None:
    """About the axis of a symmetric body a torque T for a time t adds T t / I to the rate, whatever the steps."""
    unit = made(TOP)
    signal = np.array([(0.0, 0.5), (1.0, 0.5)], dtype=[("time", float), ("torque_z", float)])
    rows = run(unit, 1.0, 0.03, input=signal)  # no multiple of the scenario's steps
    np.testing.assert_allclose(rows["omega_z"], 3.0 + 0.5 * rows["t"], rtol=0, atol=1e-13)
    assert np.abs(rows["omega_x"]).max() < 1e-14
    other = run(unit, 1.0, 0.1, input=signal, start_values={"moment_z": 2.0, "omega_start_z": 1.0}, start_time=0.5)
    np.testing.assert_allclose(other["t"], other["time"], rtol=0, atol=1e-15)
    np.testing.assert_allclose(other["omega_z"], 1.0 + 0.25 * (other["t"] - 0.5), rtol=0, atol=1e-13)


def test_a_tolerance(made: Callable[..., Path]) -> None:
    unit = made((TOP + GRAVITY).replace('step = 0.01\nmethod = "Strang"', "rtol = 1e-10"))
    rows = run(unit, 0.4, 0.2)
    motion = ph.simulate(**{**load_scenario("top.toml").arguments(), "t_span": (0.0, 0.4), "rtol": 1e-12})
    np.testing.assert_allclose(rows["omega_x"][-1], motion.omega[-1, 0], rtol=0, atol=1e-8)


def test_an_exception_in_a_python_torque_is_not_fatal(
    made: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Out of the unit it would be: other programs could not even ask where the body was."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")  # compiled steps let it out as it is
    Path("own").mkdir()
    late = "def spring(t, q, w, p):\n    if t > 0.15:\n        raise KeyError('late')\n    return (0.1, 0.0, 0.0)\n"
    Path("own/laws.py").write_text(late, "utf-8")
    table = '[torque]\nmodel = "own/laws.py:spring"\ncompiled = false\n'
    unit = made(TOP.replace('"Strang"', '"RK4"') + table)
    rows = run(unit, 0.4, 0.1)
    assert 0.1 <= rows["t"][-1] <= 0.15


def test_another_program_can_go_back(made: Callable[..., Path], here: Path) -> None:
    """A step that was made with the wrong torque is undone and made again."""
    unit = made(TOP + GRAVITY)
    about = fmpy.read_model_description(str(unit))
    folder = fmpy.extract(str(unit), unzipdir=str(here / "unzipped"))
    place = {v.name: v.valueReference for v in about.modelVariables}
    slave = fmpy.fmi2.FMU2Slave(
        guid=about.guid, unzipDirectory=folder, modelIdentifier=about.coSimulation.modelIdentifier, instanceName="top"
    )
    slave.instantiate()
    slave.setupExperiment(startTime=0.0)
    slave.enterInitializationMode()
    slave.exitInitializationMode()
    slave.doStep(0.0, 0.1)
    kept = slave.getFMUstate()
    outputs = [place[name] for name in ("omega_x", "omega_y", "quaternion_w", "t")]

    def step(torque: float) -> list[float]:
        slave.setReal([place["torque_x"]], [torque])
        slave.doStep(0.1, 0.1)
        return list(slave.getReal(outputs))

    first = step(2.0)
    slave.setFMUstate(kept)
    assert step(-2.0) != first
    slave.setFMUstate(kept)
    assert step(2.0) == first
    slave.freeFMUstate(kept)
    slave.terminate()
    slave.freeInstance()


def test_scenarios_that_cannot_become_units(call: Callable[..., tuple[int, str, str]], here: Path) -> None:
    cases = (
        (TOP + "[ensemble]\ncount = 3\nseed = 1\nomega = {kind = 'Normal', sd = 0.1}\n", "a unit is one body"),
        (TOP.replace("[0.0, 1.0]", "[1.0, 0.0]").replace("0.01", "-0.01"), "goes forward in time"),
        (TOP.replace('"Strang"', '"Exact"'), "Exact does not accept ConstantBodyTorque"),
        (TOP.replace("step = 0.01", "rtol = 1e-6"), "give run.step"),
        (TOP.replace("moments", "moment"), "body"),
    )
    for text, message in cases:
        Path("case.toml").write_text(text, "utf-8")
        code, _, err = call("fmu", "case.toml")
        assert code == 2, text
        assert message in err
        assert not Path("case.fmu").exists()
    Path("2 tops.toml").write_text(TOP, "utf-8")
    assert call("fmu", "2 tops.toml", "--out", "units")[1].strip() == f"wrote {Path('units') / 'unit_2_tops.fmu'}"
    assert "exists already" in call("fmu", "2 tops.toml", "--out", "units")[2]


def test_without_pythonfmu(call: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("pythonfmu", "pythonfmu.builder"):
        monkeypatch.setitem(sys.modules, module, None)
    Path("top.toml").write_text(TOP, "utf-8")
    code, _, err = call("fmu", "top.toml")
    assert code == 2
    assert "pip install 'polhode[fmu]'" in err
