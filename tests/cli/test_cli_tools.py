"""The commands that need no file: free, new, cache, doctor."""

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from polhode import Body, FreeMotion
from polhode.cli import doctor
from polhode.cli._terminal import BAD_INPUT, FAILED
from polhode.page.html import is_built
from polhode.scenario import load_scenario
from polhode.torques import catalogue
from tests.cli.test_cli import POLHODE, Call

SPIN = ["free", "--moments", "1", "2", "2.8", "--omega", "0.005", "5", "-0.001"]


def test_free_has_the_digits_of_the_library(call: Call) -> None:
    code, out, err = call(*SPIN, "--at", "10", "--at", "3.2e9", "--flips", "3", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    motion = FreeMotion(Body([1, 2, 2.8]), omega=[0.005, 5, -0.001])
    states = motion.at([10, 3.2e9])
    assert [s["t"] for s in found["states"]] == [10, 3.2e9]
    np.testing.assert_array_equal([s["omega"] for s in found["states"]], states.omega)
    np.testing.assert_array_equal([s["quaternion"] for s in found["states"]], states.quaternion)
    np.testing.assert_array_equal(found["flip_times"], motion.flip_times(3))
    assert found["period"] == motion.period


def test_free_in_degrees(call: Call) -> None:
    radians = json.loads(call("free", "--body", "book", "--omega", "1", "2", "3", "--at", "5", "--json")[1])
    rate = np.rad2deg([1, 2, 3])
    degrees = call("free", "--body", "book", "--degrees", "--omega", *map(repr, rate.tolist()), "--at", "5")[1]
    shown = [float(x) for x in degrees.splitlines()[-2].split()]
    np.testing.assert_allclose(shown[1:4], np.rad2deg(radians["states"][0]["omega"]), rtol=1e-11)  # 12 digits printed
    assert re.search(r"omega   \(.*\) deg/s at t = 0 s", degrees)
    assert "rad/s" not in degrees
    given = ("free", "--body", "book", "--degrees", "--json", "--omega", *map(repr, rate.tolist()), "--at", "5")
    as_json = json.loads(call(*given)[1])
    np.testing.assert_allclose(as_json["states"][0]["omega"], np.rad2deg(radians["states"][0]["omega"]), rtol=1e-13)


def test_a_sphere_has_no_period(call: Call) -> None:
    found = json.loads(call("free", "--moments", "2", "2", "2", "--omega", "0", "0", "0", "--json")[1])
    assert found["period"] is None
    assert found["precession_period"] is None


def test_free_draws(call: Call, here: Path) -> None:
    assert call(*SPIN, "--plot", "nut.png")[0] == 0
    assert Path("nut.png").stat().st_size > 10_000
    code, _, err = call(*SPIN, "--plot", "nut.png")
    assert code == BAD_INPUT
    assert "nut.png exists already: use --force" in err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--omega", "1", "2", "3"], "give the body by --moments A B C, or by --body NAME"),
        (["--omega", "1", "2", "3", "--moments", "1", "2", "5"], "set allow_unphysical: an argument of Body, a key"),
        (["--omega", "1", "2", "3", "--body", "book", "--flips", "100000000"], "--flips 100000000 is more than"),
        (["--omega", "1", "2", "3", "--body", "boook"], "did you mean 'book'?"),
        (["--omega", "nan", "2", "3", "--body", "book"], "nan"),
        (["--omega", "1", "2", "3", "--body", "book", "--at", "inf"], "inf"),
    ],
)
def test_free_refuses(call: Call, arguments: list[str], complaint: str) -> None:
    code, out, err = call("free", *arguments)
    assert (code, out) == (BAD_INPUT, "")
    assert complaint in err


def test_moments_that_no_body_has_can_be_allowed(call: Call, here: Path) -> None:
    spin = ("--omega", "1", "2", "3", "--moments", "1", "2", "5", "--json")
    assert json.loads(call("free", *spin, "--allow-unphysical")[1])["moments"] == [1, 2, 5]
    assert call("new", "mine.toml", "--body", "1 2 5", "--allow-unphysical")[0] == 0
    assert load_scenario("mine.toml").body.moments.tolist() == [1, 2, 5]


@pytest.mark.parametrize("name", sorted(set(catalogue()) - {"Free"}))
def test_new_writes_what_can_be_loaded(call: Call, here: Path, name: str) -> None:
    code, out, err = call("new", "mine.toml", "--torque", name)
    assert (code, err) == (0, "")
    assert out == "wrote mine.toml; now: polhode run mine.toml --plot\n"
    scenario = load_scenario("mine.toml")
    assert scenario.torque.name == name
    assert scenario.omega == (0.005, 5.0, 0.0)


def test_new_asks(here: Path) -> None:
    answers = "top\n0 0 50\nHeavyTop\n\n1e-7\n"
    done = subprocess.run(
        [*POLHODE, "new", "top.toml", "--ask"], input=answers, capture_output=True, text=True, check=True
    )
    assert "Which error is wanted, in rad [1e-9]: wrote top.toml" in done.stdout
    scenario = load_scenario("top.toml")
    assert (scenario.body.name, scenario.t_span, scenario.rtol) == ("top", (0.0, 20.0), 1e-7)
    cut = subprocess.run(
        [*POLHODE, "new", "cut.toml", "--ask"], input="top\n", capture_output=True, text=True, check=False
    )
    assert cut.returncode == 130
    assert not Path("cut.toml").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["mine.txt"], "mine.txt does not end in .toml"),
        (["mine.toml", "--body", "1 2"], "the body must be three numbers, such as 1 2 2.8, not '1,2'"),
        (["mine.toml", "--body", "1 2 5"], "no body has the moments 1, 2, 5"),
        (["mine.toml", "--torque", "HeavyTap"], "there is no torque 'HeavyTap': did you mean 'HeavyTop'?"),
        (["mine.toml", "--rtol", "3"], "rtol"),
        (["mine.toml", "--until", "nan"], "t_span"),
    ],
)
def test_new_refuses(call: Call, here: Path, arguments: list[str], complaint: str) -> None:
    code, _, err = call("new", *arguments)
    assert code == BAD_INPUT
    assert complaint in err
    assert not any(here.iterdir())


def test_cache_is_shown_and_cleared(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLHODE_CACHE_DIR", str(tmp_path))
    (tmp_path / "a.code").write_bytes(b"x" * 1_500_000)
    (tmp_path / "notes.txt").write_text("not a program")
    assert call("cache") == (0, f"folder    {tmp_path}\nprograms  1, 1.5 MB\n", "")
    assert call("cache", "--clear") == (0, f"1 programs removed from {tmp_path}\n", "")
    assert [f.name for f in tmp_path.iterdir()] == ["notes.txt"]
    monkeypatch.setenv("POLHODE_CACHE_DIR", str(tmp_path / "not there"))
    assert call("cache")[1].endswith("programs  0, 0.0 MB\n")


def test_doctor(tmp_path: Path) -> None:
    well = subprocess.run([*POLHODE, "doctor"], capture_output=True, text=True, check=True)
    assert well.stdout.endswith("Everything that polhode needs works.\n")
    assert "trial     compiled and ran in" in well.stdout
    assert f"page      {'there' if is_built() else 'not built'}" in well.stdout
    file = tmp_path / "file"
    file.write_text("in the place of a folder")
    setting = {**os.environ, "POLHODE_CACHE_DIR": str(file)}
    ill = subprocess.run([*POLHODE, "doctor"], env=setting, capture_output=True, text=True, check=False)
    assert ill.returncode == FAILED
    assert f"PROBLEM: compiled programs cannot be kept in {file}: File exists" in ill.stdout


def test_doctor_names_a_numba_that_was_not_tried(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "last one tried" not in call("doctor")[1]
    monkeypatch.setattr(doctor, "NUMBA_TRIED", (0, 60))
    assert "newer than 0.60, the last one tried" in call("doctor")[1]


# --- numbers, names and help -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "usual"),
    [
        ("free --moments 1,2,2.8 --omega -0.1,5,0 --at 1,2", "free --moments 1 2 2.8 --omega -0.1 5 0 --at 1 --at 2"),
        ("free --moments=1,2,2.8 --omega 0.1 5 0 --at 1 2", "free --moments 1 2 2.8 --omega 0.1 5 0 --at 1,2"),
        ("new a.toml --body 1 2 2.8 --omega -1 2 3 --force", "new a.toml --body 1,2,2.8 --omega -1,2,3 --force"),
    ],
)  # fmt: skip
def test_numbers_by_commas_or_blanks(call: Call, given: str, usual: str) -> None:
    first, second = call(*given.split()), call(*usual.split())
    assert first == second
    assert first[0] == 0


def test_numbers_before_a_file(call: Call) -> None:
    Path("their.csv").write_text("t,wx,wy,wz\n" + "".join(f"{k / 10},0,0,1\n" for k in range(20)))
    assert call("check", "--body", "1", "2", "2.8", "their.csv") == call("check", "their.csv", "--body", "1,2,2.8")
    code, _, err = call("free", "--moments", "1", "2", "--omega", "1,2,3")
    assert code == 2
    assert "--moments takes 3 numbers, not 2: 1 2" in err


NAMED = ["--epoch", "2026-01-31T12:00:00", "--object-name", "SAT", "--object-id", "2026-001A"]


@pytest.mark.parametrize("command", [["view"], ["show"], ["export", *NAMED]])
def test_a_scenario_is_no_result(call: Call, command: list[str]) -> None:
    assert call("new", "a.toml", "--no-ask")[0] == 0
    code, _, err = call(*command, "a.toml", *(["out.aem"] if command[0] == "export" else []))
    assert code == 2
    assert "a.toml is a scenario: run it first, polhode run a.toml" in err


def test_the_epoch_is_asked_for_by_its_option(call: Call) -> None:
    call("new", "a.toml", "--no-ask")
    assert call("run", "a.toml", "--quiet")[0] == 0
    code, _, err = call("export", "a.nc", "a.aem", "--object-name", "A", "--object-id", "2026-001A")
    assert code == 2
    assert "give --epoch 2026-01-31T12:00:00" in err
    assert "epoch=" not in err


def test_unknown_bodies_are_listed(call: Call) -> None:
    err = call("check", "x.csv", "--body", "bennu")[2]
    assert "did you mean" not in err
    assert "satellite" in err


def test_help_is_in_words(call: Call) -> None:
    from polhode.cli import COMMANDS

    for command in {*COMMANDS, "methods", "torques", "bodies"} - {"lists"}:
        text = call(command, "--help")[1]
        assert not re.search(r"list\[|<str>|float|<int", text), command
        assert not re.search(r"[{}]|\[\[|\.\.\.\]?\.\.\.", text.partition("\n\n")[0]), command


def test_tables_fit_a_pipe(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    for command in ("methods", "torques", "bodies", "examples"):
        assert max(map(len, call(command)[1].splitlines())) <= 120, command
    printed = call("free", "--moments", "1,2,2.8", "--omega", "0.005,5,0", "--at", "1e9")[1]
    assert printed.splitlines()[-2].split()[0] == "1000000000"
    assert len(printed.splitlines()[-2].split()) == 8  # no number is folded
