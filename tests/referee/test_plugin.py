"""The plug-in of pytest: its cases, its assertion, and the recipe of the page as a user runs it."""

import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest

import polhode as ph
from polhode import cases
from polhode.cases import Case
from polhode.pytest import FREE, agrees

ROOT = Path(__file__).parents[2]


def true_log(case: Case) -> dict[str, np.ndarray]:
    t = case.times()
    state = ph.FreeMotion(case.body, case.omega, case.attitude).at(t)
    return {"t": t, "quaternion": state.quaternion, "omega": state.omega}


@pytest.mark.parametrize("case", [cases.case(name) for name in FREE], ids=lambda case: case.name)
def test_the_true_motion_agrees_and_another_does_not(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    log = true_log(case)
    assert agrees(log, case)
    assert "EXACT TO ITS DIGITS" in capsys.readouterr().out
    assert not agrees(log | {"omega": np.concatenate([log["omega"][:100], 1.02 * log["omega"][100:]])}, case)
    assert "WRONG" in capsys.readouterr().out
    shorter = {k: v[:100] for k, v in log.items()}
    assert not agrees(shorter, case)
    assert f"s of {case.duration:.6g} s" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name", ["wheels-slew-oblique", "wheels-slew-loaded", "gyrostat-dual-spin", "damped-ring-oblique", "changing-saw"]
)
def test_motions_with_numbers_or_bodies_that_change(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A slew from rest, whose convention only the wheels tell; a rotor far faster than the body."""
    case = cases.case(name)
    run = ph.simulate(
        case.body, case.torque, omega=case.omega, attitude=case.attitude, t_span=(0, case.duration),
        t_eval=case.times(), rtol=1e-10,
    )  # fmt: skip
    log = {"t": run.t, "quaternion": run.quaternion, "omega": run.omega}
    assert agrees(log, case), capsys.readouterr().out
    assert not agrees(log | {"omega": np.concatenate([log["omega"][:100], 1.02 * log["omega"][100:]])}, case)
    if case.body.changes:
        with pytest.raises(ValueError, match="the log must have attitudes and rates"):
            agrees({"t": run.t, "quaternion": run.quaternion}, case)
        assert not agrees({k: v[1::3] for k, v in log.items()}, case)
        assert "no rows at the times of the case" in capsys.readouterr().out


def test_another_start_is_another_case(capsys: pytest.CaptureFixture[str]) -> None:
    case = cases.case("free-generic-1")
    state = ph.FreeMotion(case.body, 1.1 * case.omega, case.attitude).at(case.times())
    assert not agrees({"t": case.times(), "quaternion": state.quaternion, "omega": state.omega}, case)
    assert "But it is not the case 'free-generic-1': it begins" in capsys.readouterr().out


def test_the_recipe_of_the_page(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "howto" / "referee.md").read_text("utf-8")
    (recipe,) = (x for x in re.findall(r"```text\n(.*?)```", page, re.DOTALL) if "free_motion_case" in x)
    (tmp_path / "test_mine.py").write_text(recipe, "utf-8")
    (tmp_path / "mine.py").write_text(
        "import polhode as ph\n\n\ndef simulate(moments, omega, attitude, t):\n"
        "    made = ph.FreeMotion(ph.Body(moments), omega, attitude).at(t)\n"
        "    return made.quaternion, made.omega * (1.1 if omega[1] == 5.0 else 1.0)\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"]
    if not any(one.value == "polhode.pytest" for one in entry_points(group="pytest11")):
        command += ["-p", "polhode.pytest"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(tmp_path)])}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment, check=False)
    assert f"1 failed, {len(FREE) - 1} passed" in done.stdout, done.stdout + done.stderr
    assert "INACCURATE" in done.stdout or "WRONG" in done.stdout
