"""`polhode reproduce`: discovery, verdicts, files, the report, and what the documentation keeps of it."""

import html
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from docs.make_reproduction import CLAIMS, PAGE, README, counts, judged, page, plain
from typer.testing import CliRunner

import polhode
from polhode.cli import app
from polhode.files import netcdf
from polhode.papers import study as _study
from polhode.papers._reproduce import reproduce
from polhode.papers.study import ClaimVerdict, Data, Size, Study, chosen, claim, named, studies
from tests.page.page_tools import check_policy, data_in, products  # noqa: F401

FIGURES = {"celledoni2006": 8, "khlistunova2003": 10, "krysl2004": 13, "vilmart2008": 2}


def test_every_figure_has_its_file() -> None:
    known = studies()
    for paper, count in FIGURES.items():
        assert all(f"{paper}/fig{k}" in known for k in range(1, count + 1))
    assert all(f"handout/task{k}" in known for k in (1, 2, 3))


def test_choices() -> None:
    assert [s.id for s in chosen(["KRYSL2004/fig10", "krysl2004/fig2"])] == ["krysl2004/fig10", "krysl2004/fig2"]
    assert {s.paper for s in chosen(["handout"])} == {"handout"}
    assert [s.name for s in chosen(["khlistunova2003"]) if s.name.startswith("fig")][-1] == "fig10"
    with pytest.raises(ValueError, match="no paper 'krysl2005': did you mean 'krysl2004'"):
        chosen(["krysl2005"])
    with pytest.raises(ValueError, match="no figure 'krysl2004/fig99'"):
        chosen(["krysl2004/fig99"])


def test_verdicts_follow_from_measurements() -> None:
    said: dict[str, Any] = {"source": "here", "paper": "1", "measured": "2", "test": "less than 3"}
    assert claim("x", holds=True, **said).verdict is ClaimVerdict.REPRODUCED
    read = claim("x", holds=False, reading="as half", holds_when_read_so=True, **said)
    assert (read.verdict, read.reason) == (ClaimVerdict.UNDER_A_READING, "as half")
    assert claim("x", holds=False, reading="as half", **said).verdict is ClaimVerdict.NOT
    assert claim("x", holds=False, **said).reason == "fails: less than 3"


def test_arrays_agree_on_their_sizes() -> None:
    with pytest.raises(ValueError, match="b has 3 along x"):
        Data(a=named("x", [1, 2], "a"), b=named("x", [1, 2, 3], "b"))
    with pytest.raises(ValueError, match="must be an array"):
        named("x", 1.0, "a")


def broken(size: Size) -> Data:
    raise ArithmeticError("no such number")


def test_files_and_report(tmp_path: Path) -> None:
    """One study that works, one that fails: the report has both."""
    bad = ModuleType("bad")
    bad.__doc__, bad.run = "A figure <that> fails\n\nNone.", broken  # type: ignore[attr-defined]
    told: list[str] = []
    listed = [*chosen(["khlistunova2003/fig2"]), Study("khlistunova2003", "bad", bad)]
    good, failed = reproduce(listed, tmp_path, Size.QUICK, lambda o, k, n: told.append(f"{o.study.id} {k}/{n}"))
    assert told == ["khlistunova2003/fig2 1/2", "khlistunova2003/bad 2/2"]
    assert "no such number" in failed.problem
    contents = netcdf.read(tmp_path / "khlistunova2003" / "fig2.nc")
    assert contents.attributes["size"] == "quick"
    assert all(np.isfinite(v.data).all() for v in contents.variables.values() if v.data.dtype.kind == "f")
    for kind in ("png", "svg"):
        assert (tmp_path / "khlistunova2003" / f"fig2.{kind}").stat().st_size > 5000
    page = (tmp_path / "report.html").read_text("utf-8")
    assert page.index("<table>") < page.index("<figure>")
    assert '<meta name="viewport"' in page  # and wide tables scroll by themselves on a phone
    assert '<div class="wide"><table>' in page
    assert "papers/khlistunova2003/fig2.py" in page
    assert "A figure &lt;that&gt; fails" in page
    check_policy(page)
    assert 'src="http' not in page
    kept = json.loads((tmp_path / "claims.json").read_text("utf-8"))
    assert len(kept["studies"]["khlistunova2003/fig2"]["claims"]) == len(good.claims)


@pytest.mark.usefixtures("products")
def test_the_report_has_motions_to_look_at(tmp_path: Path) -> None:
    (outcome,) = reproduce(chosen(["khlistunova2003/fig1"]), tmp_path, Size.QUICK)
    assert not outcome.problem
    inner = (tmp_path / "khlistunova2003" / "fig1.html").read_text("utf-8")
    assert [run["name"] for run in data_in(inner)["runs"]] == ["exact", "leapfrog"]
    report = (tmp_path / "report.html").read_text("utf-8")
    assert html.escape(inner) in report
    allowed, within = check_policy(report), check_policy(inner)  # what is shown in a frame is bound by both
    assert all(set(within[name].split()) < set(allowed[name].split()) for name in ("script-src", "style-src"))
    (again,) = reproduce(chosen(["khlistunova2003/fig1"]), tmp_path, Size.QUICK, go_on=True)
    assert again.files == outcome.files
    assert html.escape(inner) in (tmp_path / "report.html").read_text("utf-8")


def test_going_on_runs_only_what_is_missing(tmp_path: Path) -> None:
    (first,) = reproduce(chosen(["khlistunova2003/fig2"]), tmp_path, Size.QUICK)
    made = (tmp_path / "khlistunova2003" / "fig2.nc").stat().st_mtime_ns
    both = chosen(["khlistunova2003/fig1", "khlistunova2003/fig2"])
    _, again = reproduce(both, tmp_path, Size.QUICK, go_on=True)
    assert again.claims == first.claims
    assert (tmp_path / "khlistunova2003" / "fig2.nc").stat().st_mtime_ns == made
    assert "khlistunova2003/fig1" in (tmp_path / "report.html").read_text("utf-8")
    reproduce(both[1:], tmp_path, Size.QUICK)
    assert (tmp_path / "khlistunova2003" / "fig2.nc").stat().st_mtime_ns != made


def test_command_line(tmp_path: Path) -> None:
    run = CliRunner().invoke(app, ["reproduce", "--list"])
    assert run.exit_code == 0
    assert "krysl2004/fig13" in run.output
    assert CliRunner().invoke(app, ["reproduce", "krysl1999", "--out", str(tmp_path)]).exit_code == 2
    run = CliRunner().invoke(app, ["reproduce", "khlistunova2003/fig1", "--quick", "--out", str(tmp_path / "out")])
    assert run.exit_code == 0, run.output
    assert "1/1" in run.output
    assert (tmp_path / "out" / "report.html").exists()


def test_the_documentation_keeps_a_full_run() -> None:
    kept = json.loads(CLAIMS.read_text("utf-8"))
    assert {outcome["polhode"] for outcome in kept["studies"].values()} == {polhode.__version__}
    assert set(kept["studies"]) == set(_study.studies())
    assert not any(s["problem"] for s in kept["studies"].values())
    assert counts() in README.read_text("utf-8")
    assert PAGE.read_text("utf-8") == page()


def test_a_method_that_does_what_a_paper_says_of_another_reproduces_nothing() -> None:
    """SW does not drift as printed; that HSTAGM blows up is no reading of a claim about SW."""
    (about_sw,) = (j.claim for j in judged() if "SW is symmetric and drifts" in j.claim.says)
    assert about_sw.verdict is ClaimVerdict.NOT


def test_the_page_has_every_claim_and_the_refuted_ones_first() -> None:
    text = page()
    places = [text.index(f"## {title}") for title in ("Does not reproduce", *FIGURES)]
    assert places == sorted(places)
    for study, made in judged():
        (row,) = (line for line in text.splitlines() if f"/{study}.py)" in line and plain(made.says) in line)
        assert plain(made.measured) in row
        assert (made.verdict is ClaimVerdict.REPRODUCED) or plain(made.reason) in row
        assert (text.index(row) < places[1]) is (made.verdict is ClaimVerdict.NOT)
