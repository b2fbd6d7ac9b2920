"""Check cases: what the file says is what the generator makes, and what polhode computes by other ways."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import polhode as ph
from docs import make_cases as make_page
from polhode import cases
from tests.authorities import make_cases

ALL = cases.all_cases()
FREE = [c for c in ALL if c.definition["proof"] == "theorem"]
OTHERS = [c for c in ALL if c.definition["proof"] != "theorem"]


def name(c: cases.Case) -> str:
    return c.name


def test_the_file_is_whole() -> None:
    written = json.loads(cases.FILE.read_text("utf-8"))
    assert written["sha256"] == cases.checksum()
    assert written["version"] == cases.VERSION
    assert len({c.name for c in ALL}) == len(ALL) >= 194
    assert {c.group for c in ALL} == set(cases.GROUPS)
    properties = cases.SCHEMA["properties"]["cases"]["items"]
    for d in written["cases"]:
        assert set(properties["required"]) == set(d) == set(properties["properties"])
        assert all(len(q) == 4 and len(w) == 3 for q, w in zip(d["quaternion"], d["rate"], strict=True))
        assert len(d["t"]) == len(d["quaternion"]) == len(d["rate"])


@pytest.mark.parametrize(
    "remade",
    ["free-tensor-1", "free-one-ulp-from-separatrix-2", "damped-spring", "gyrostat-tensor", "wheels-pyramid"],
)
def test_a_case_is_made_again_to_the_last_digit(remade: str) -> None:
    d = dict(cases.case(remade).definition)
    assert make_cases.rows_of(d) == (d["quaternion"], d["rate"])
    assert make_cases.tolerance(d) == d["tolerance"]


@pytest.mark.evidence
@pytest.mark.parametrize("case", ALL, ids=name)
def test_every_case_is_made_again_to_the_last_digit(case: cases.Case) -> None:
    d = dict(case.definition)
    assert make_cases.rows_of(d) == (d["quaternion"], d["rate"])


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=() if c.name == "damped-spring" else pytest.mark.evidence) for c in OTHERS],
    ids=name,
)
def test_digits_do_not_depend_on_the_series(case: cases.Case) -> None:
    d = dict(case.definition)
    for rows, others in zip(make_cases.rows_of(d, 46, 52), (d["quaternion"], d["rate"]), strict=True):
        with mp.workdps(40):
            differences = [
                mp.mpf(x) - mp.mpf(y) for a, b in zip(rows, others, strict=True) for x, y in zip(a, b, strict=True)
            ]
            size = max(abs(mp.mpf(x)) for row in rows for x in row)
            assert max(map(abs, differences)) < 3e-30 * size


def test_the_closed_form_is_within_a_thousandth_of_every_tolerance() -> None:
    """1e-9 is the least tolerance; where it is greater for a long motion, it is a thousand times this error."""
    for case in FREE:
        s = ph.FreeMotion(case.body, case.omega, case.attitude).at(case.t)
        errors = case.error_of(s.quaternion, s.omega)
        assert max(a / b for a, b in zip(errors, case.tolerance, strict=True)) < 1.1e-3, (case.name, errors)


def check_by_rtol(case: cases.Case, rtol: float) -> None:
    span = (0.0, case.duration)
    run = ph.simulate(
        case.body, case.torque, omega=case.omega, attitude=case.attitude, t_span=span, t_eval=case.t, rtol=rtol
    )
    errors = case.error_of(run.quaternion, run.omega)
    assert max(errors) < rtol, errors
    assert case.accepts(run.quaternion, run.omega)


@pytest.mark.parametrize("which", ["top-asymmetric", "wheels-slew-loaded", "orbit-tensor", "changing-tilt"])
def test_polhode_meets_cases(which: str) -> None:
    check_by_rtol(cases.case(which), 1e-9)


@pytest.mark.evidence
@pytest.mark.parametrize("case", OTHERS, ids=name)
def test_polhode_meets_every_case(case: cases.Case) -> None:
    check_by_rtol(case, 1e-9)


@pytest.mark.parametrize(
    "pair",
    [pytest.param(c, marks=() if c.name == "pair-centres" else pytest.mark.evidence) for c in cases.pairs()],
    ids=lambda pair: str(pair.name),
)
def test_pairs_are_what_polhode_computes(pair: cases.Pair) -> None:
    run = ph.simulate_system(pair.system, pair.forces, t_span=(0, pair.t[-1]), t_eval=pair.t, rtol=1e-9)
    errors = pair.error_of(run.position, run.quaternion, run.omega)
    assert max(errors) < 1e-9, errors
    assert pair.accepts(run.position, run.quaternion, run.omega)
    assert not pair.accepts(run.position * 1.01, run.quaternion, run.omega)
    with pytest.raises(ValueError, match=r"must be \(11, 2, 3\), \(11, 2, 4\) and"):
        pair.error_of(run.position[1:], run.quaternion, run.omega)


def test_a_pair_does_not_depend_on_the_series() -> None:
    d = dict(cases.pairs()[0].definition)
    made = make_cases.rows_of_pair({**d, "t": d["t"][:2]}, 20, 24)
    apart = np.array(made, dtype=float) - np.array(d["states"][:2], dtype=float)
    assert np.abs(apart).max() < 1e-16


@pytest.mark.evidence
@pytest.mark.parametrize("pair", cases.pairs(), ids=lambda pair: str(pair.name))
def test_every_pair_is_made_again_to_the_last_digit(pair: cases.Pair) -> None:
    d = dict(pair.definition)
    assert make_cases.rows_of_pair(d) == d["states"]
    assert make_cases.tolerance_of_pair(d) == d["tolerance"]


def test_another_motion_is_not_accepted() -> None:
    case = cases.case("free-wing-nut")
    s = ph.FreeMotion(case.body, 1.0001 * case.omega, case.attitude).at(case.t)
    assert not case.accepts(s.quaternion, s.omega)
    assert case.accepts(-case.quaternion, case.rate)
    with pytest.raises(ValueError, match=r"must be \(11, 4\) and \(11, 3\), a row for each"):
        case.error_of(s.quaternion[:5], s.omega)


def test_the_page_has_every_case_and_who_does_not_meet_it() -> None:
    missed, formulas = make_page.on_the_board(), make_page.formulas_of_torques()
    assert {c.definition["torque"]["model"] for c in ALL if c.definition["torque"]} <= set(formulas)
    assert formulas["HeavyTop"].startswith("N = r x R^T (weight down)")
    assert "MuJoCo 4.0 (0.002 s, Euler)" in missed["free-wing-nut"]
    assert not any("DOP853" in who or "LAMMPS" in who for who in missed["free-racket"])  # LAMMPS refuses a plate
    assert not any("Orekit" in who for who in missed["free-wing-nut"])
    assert "rotor (0.3, -0.4, 0.5)" in make_page.numbers(cases.case("gyrostat-oblique").definition)


def test_bad_names() -> None:
    with pytest.raises(ValueError, match="no group 'tops' of cases: choose one of free, top"):
        cases.all_cases("tops")
    with pytest.raises(ValueError, match="no case 'nut': `polhode cases` lists them"):
        cases.case("nut")


def test_written_files(here: Path, call: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = call("cases", "truth")
    assert code == 0
    assert cases.checksum() in out
    text = (here / "truth" / "top-fast.csv").read_text()
    rows: list[dict[str, Any]] = list(csv.DictReader(text.splitlines()))
    case = cases.case("top-fast")
    assert [float(r["wx"]) for r in rows] == case.rate[:, 0].tolist()
    assert np.array_equal([float(r["t"]) for r in rows], case.t)
    assert len(rows[3]["qw"].lstrip("-0.")) >= 28
    assert json.loads((here / "truth" / "schema.json").read_text())["title"] == "Check cases of rotation"
    assert "sideways" in (here / "truth" / "README.md").read_text()
    code, _, err = call("cases", "truth")
    assert (code, "--force" in err, "--out" in err) == (2, True, False)
    head = (here / "truth" / "pair-hinge.csv").read_text().partition("\n")[0].split(",")
    assert (head[0], head[1], head[14], len(head)) == ("t", "x1", "x2", 27)
    code, out, _ = call("cases", "--group", "damped")
    assert (code, "damped-ring" in out, "top-fast" in out) == (0, True, False)
    code, _, err = call("cases", "--group", "dampers")
    assert (code, "choose one of" in err) == (2, True)
