"""The referee on what other simulators wrote: logs of MuJoCo, REBOUND and Basilisk, and NASA's tumbling brick."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import polhode as ph
from polhode.cli import app
from tests.page.page_tools import check_policy

LOGS = Path(__file__).parent / "logs"
SHARED = Path(os.environ.get("POLHODE_AUTHORITIES", Path(__file__).parents[3] / "shared" / "data"))
NESC = SHARED / "nesc"
needs_nesc = pytest.mark.skipif(not NESC.is_dir(), reason=f"the simulations of NESC are not there ({NESC})")

BODY = ph.Body([2.0, 3.0, 4.0])
BRICK = ph.Body([0.001894220, 0.006211019, 0.007194665])


def said(verdict: ph.Verdict) -> str:
    return " ".join(str(verdict).split())


@pytest.mark.parametrize(
    ("name", "steps", "order", "worst"),
    [
        ("mujoco_euler_{}ms", (10, 5), 1, 4e-2),
        ("mujoco_implicit_{}ms", (10, 5), 1, 4e-2),
        ("mujoco_rk4_{}ms", (40, 20), 4, 2e-8),
        ("basilisk_rk4_{}ms", (100, 50), 4, 1e-6),
    ],
)
def test_orders_of_others(name: str, steps: tuple[int, int], order: int, worst: float) -> None:
    paths = [LOGS / f"{name.format(h)}.csv" for h in steps]
    verdict = ph.check(*paths, body=BODY, steps=[h / 1000 for h in steps])
    assert verdict.outcome == ("inaccurate" if order == 1 else "right"), str(verdict)
    assert ("it is that of the integration" in said(verdict)) == (order == 1)
    assert not verdict.faults
    assert verdict.convention.certainty == "certain"
    assert verdict.convention.meaning.direction == "body to space"
    assert verdict.convention.meaning.axes == "body"
    assert 0.1 * worst < verdict.error.worst < worst
    assert verdict.order is not None
    assert abs(verdict.order.attitude - order) < 0.1


def test_drifts_of_others() -> None:
    """MuJoCo's Euler gains energy, its implicit method loses it; its Runge-Kutta method keeps it."""
    euler, implicit = (
        ph.check(LOGS / f"mujoco_{k}_10ms.csv", body=BODY).drift["energy"] for k in ("euler", "implicit")
    )
    assert (euler.kind, implicit.kind) == ("linear", "linear")
    assert euler.slope > 4e-4
    assert implicit.slope < -4e-4
    assert ph.check(LOGS / "mujoco_rk4_40ms.csv", body=BODY).drift["energy"].largest < 1e-9


def test_rebound_has_its_scalar_last() -> None:
    verdict = ph.check(LOGS / "rebound_bs.csv", body=BODY)
    assert verdict.agrees
    assert verdict.convention.meaning.order == "scalar last"
    assert verdict.error.worst < 2e-12


@needs_nesc
def test_the_tumbling_brick_of_others() -> None:
    """Which of NASA's simulators are right, to which digit, and what is wrong with the others."""
    found = {k: ph.check(NESC / f"tumbling_brick_sim_{k}.csv", body=BRICK) for k in ("01", "02", "04", "06")}
    for right in ("01", "04"):
        verdict = found[right]
        assert verdict.agrees
        assert verdict.convention.meaning.frame == "ned"
        assert verdict.convention.certainty == "certain"
        assert verdict.error.worst < 1e-10  # rad: 5.3e-9 degrees
        assert not verdict.error.is_rounding
    assert "rates with 12 digits" in said(found["04"])
    assert "rates with all digits" in said(found["01"])
    assert not found["02"].agrees
    assert "Euler's method of first order" in said(found["02"])
    assert "steps of 0.02 s" in said(found["02"])
    assert not found["06"].agrees
    assert "those of 0.0005 s later than the times beside them, but in the first row" in said(found["06"])
    assert "falls to" in said(found["06"])


@needs_nesc
def test_axes_of_the_brick_turn_with_the_earth() -> None:
    """Without the Earth's rotation the referee finds it: within 0.03 %, which is the change of longitude."""
    verdict = ph.check(NESC / "tumbling_brick_sim_01.csv", body=BRICK, convention="inertial")
    assert [f.kind for f in verdict.faults] == ["axes"]
    rate = float(re.findall(r"at (\S+) rad/s", said(verdict))[0])
    assert abs(rate / 7.292115e-5 - 1) < 5e-4
    assert "as the Earth does" in said(verdict)


# --- the command, the picture and the page -------------------------------------------------------------------------


def test_the_command(tmp_path: Path) -> None:
    path, picture, page = str(LOGS / "basilisk_rk4_100ms.csv"), tmp_path / "v.png", tmp_path / "v.html"
    run = CliRunner().invoke
    done = run(app, ["check", path, "--body", "2,3,4", "--plot", str(picture), "--report", str(page)])
    assert done.exit_code == 0, done.output
    assert "RIGHT WITHIN THE INTEGRATOR'S ERROR" in done.output
    assert picture.read_bytes()[:4] == b"\x89PNG"
    text = page.read_text("utf-8")
    assert "RIGHT WITHIN THE INTEGRATOR" in text
    assert "data:image/png;base64," in text
    again = run(app, ["check", path, "--body", "2,3,4", "--report", str(page)])
    assert again.exit_code == 2
    assert "exists already: use --force" in again.output
    strict = run(app, ["check", path, "--body", "2,3,4", "--tolerance", "1e-9"])
    assert strict.exit_code == 1
    assert "more than the tolerance of 1e-09" in " ".join(strict.output.split())
    wrong = run(app, ["check", path, "--body", "2,3,4.4,0,0,0"])
    assert wrong.exit_code == 1
    assert "The body is another one" in wrong.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--body", "1,2"], "--body 1,2 has 2 numbers: give three moments, or Ixx"),
        ([], "give the body: --body 1,2,3"),
        (["--body", "nobody"], "there is no body 'nobody'"),
        (["--body", "2,3,4", "--torque", "HeavyTop(wight=1)"], "`polhode torques HeavyTop` lists its fields"),
        (["--body", "2,3,4", "--torque", "__import__('os')"], "there is no torque '__import__'"),
        (["--body", "2,3,4", "--torque", "1 +"], "must be written like 'HeavyTop(weight=9.81)'"),
        (["--body", "2,3,4", "--columns", "omega"], "must be written like omega=wx,wy,wz"),
        (["--body", "2,3,4", "--report", str(LOGS / "rebound_bs.csv" / "v.html")], "cannot write"),
        (["--body", "2,3,4", "--scenario", "x.toml"], "give either --scenario or --body"),
    ],
)
def test_bad_arguments(arguments: list[str], words: str) -> None:
    done = CliRunner().invoke(app, ["check", str(LOGS / "rebound_bs.csv"), *arguments])
    assert done.exit_code == 2, done.output
    assert words in done.output


def test_a_scenario_gives_body_and_torque(tmp_path: Path) -> None:
    scenario = tmp_path / "free.toml"
    scenario.write_text(
        'title = "free"\n[body]\nmoments = [2.0, 3.0, 4.0]\n[initial]\nomega = [0.2, 1.0, 0.1]\n'
        "[run]\nt_span = [0.0, 20.0]\nrtol = 1e-9\n",
        "utf-8",
    )
    done = CliRunner().invoke(app, ["check", str(LOGS / "rebound_bs.csv"), "--scenario", str(scenario)])
    assert done.exit_code == 0, done.output


def test_a_page_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    verdict = ph.check(LOGS / "rebound_bs.csv", body=BODY)
    verdict.report(tmp_path / "a.html")
    assert check_policy((tmp_path / "a.html").read_text("utf-8"))["script-src"] == "'none'"
    with pytest.raises(FileExistsError, match="exists already"):
        verdict.report(tmp_path / "a.html")
    with pytest.raises(FileNotFoundError, match="there is no directory"):
        verdict.report(tmp_path / "none" / "a.html")
    assert [p.name for p in tmp_path.iterdir()] == ["a.html"]


def test_the_result_has_few_names() -> None:
    verdict = ph.check(LOGS / "rebound_bs.csv", body=BODY)
    assert verdict.error.attitude is not None
    assert verdict.error.attitude.shape == verdict.error.t.shape == (101,)
    assert set(verdict.drift) == {"energy", "momentum", "|q|"}
    assert verdict.order is None
    assert np.isfinite(verdict.convention.ratio)
    assert repr(verdict) == str(verdict)


def test_junit_xml_for_servers(tmp_path: Path) -> None:
    """A verdict is a test: one that passes, one that fails, and one that could not run."""
    from xml.etree import ElementTree

    log, bad = LOGS / "rebound_bs.csv", tmp_path / "bad\x01.csv"
    bad.write_text("time,wx,wy,wz\n0,1,2,3\n1,nan,2,3\n2,1,2,3\n3,1,2,3\n4,1,2,3\n", "utf-8")
    for path, body, code, tag in ((log, "2,3,4", 0, None), (log, "2,3,4.4", 1, "failure"), (bad, "2,3,4", 2, "error")):
        out = tmp_path / "out.xml"
        done = CliRunner().invoke(app, ["check", str(path), "--body", body, "--junit", str(out), "--force"])
        assert done.exit_code == code, done.output
        suite = ElementTree.fromstring(out.read_bytes())
        assert suite.get("tests") == "1"
        assert [int(suite.get(key, "")) for key in ("failures", "errors")] == [tag == "failure", tag == "error"]
        found = suite.find("testcase")
        assert found is not None
        if tag is None:
            assert "RIGHT WITHIN THE INTEGRATOR'S ERROR" in " ".join((found.findtext("system-out") or "").split())
        else:
            words = {"failure": "The body is another one", "error": "column 2 has nan"}[tag]
            assert any(words in one.get("message", "") for one in found.iter(tag))
