"""`view`: what it takes, where it shows it, and what is refused."""

import sys
import webbrowser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.page import display
from polhode.page.display import Page, in_notebook, open_browser
from tests.files.test_meshes import binary
from tests.page.page_tools import data_in, decoded, products  # noqa: F401

BODY = ph.Body([1.0, 2.0, 3.0])
OMEGA = [0.01, 1.0, 0.01]
FLIP = ph.FreeMotion(BODY, OMEGA)

pytestmark = pytest.mark.usefixtures("products")


@pytest.fixture(scope="module")
def rk4() -> ph.Solution:
    return ph.simulate(BODY, omega=OMEGA, t_span=(0, 30), method="rk4", step=0.2)


def shown(*motions: Any, tmp: Path, **kw: Any) -> Any:
    ph.view(*motions, path=tmp / "page.html", **kw)
    return data_in((tmp / "page.html").read_text("utf-8"))


def test_motions_of_every_kind_side_by_side(rk4: ph.Solution, tmp_path: Path) -> None:
    rk4.save(tmp_path / "mine.nc")
    many = ph.ensemble(BODY, omega=np.array([OMEGA, [0.02, 1.0, 0.0]]), t_span=(0, 30), method="rk4", step=0.2)
    page = shown(FLIP, rk4, tmp_path / "mine.nc", many[1], tmp=tmp_path)
    assert [run["name"] for run in page["runs"]] == ["exact", "RK4 (1)", "mine", "RK4 (2)"]
    assert [decoded(run["t"], "<f8")[-1] for run in page["runs"]] == [30.0] * 4  # a free motion has the others' span
    assert len(page["differences"]) == 3
    assert decoded(page["differences"][1]["degrees"]).max() == decoded(page["differences"][0]["degrees"]).max()
    named = shown(rk4, FLIP, tmp=tmp_path, names=["a", "b"], t_span=(5, 20), title="T")
    assert [run["name"] for run in named["runs"]] == ["a", "b"]
    assert named["title"] == "T"
    assert decoded(named["runs"][1]["t"], "<f8")[[0, -1]].tolist() == [5.0, 20.0]


def test_methods_of_solutions_and_free_motions(rk4: ph.Solution, tmp_path: Path) -> None:
    box = binary(tmp_path / "box.stl")
    for motion in (rk4, FLIP):
        motion.view(tmp_path / "one.html", name="N", mesh=box, points=[[0, 0, 1], [1, 0, 0]], t_span=(0, 10))
        (run,) = data_in((tmp_path / "one.html").read_text("utf-8"))["runs"]
        assert run["name"] == "N"
        assert decoded(run["mesh"]["positions"], width=3).max() == 1.0
        assert decoded(run["mesh"]["indices"], "<u4").size == 36
        assert run["points"] == [[0, 0, 1], [1, 0, 0]]
    centred = shown(rk4, tmp=tmp_path, mesh=box, mesh_centre="origin")["runs"][0]["mesh"]
    assert decoded(centred["positions"], width=3).min() == 0.0


def test_what_is_refused(rk4: ph.Solution, tmp_path: Path) -> None:
    many = ph.ensemble(BODY, omega=np.array([OMEGA, OMEGA]), t_span=(0, 2), method="rk4", step=0.2)
    with pytest.raises(TypeError, match=r"an ensemble of 2: take members, as ensemble\[0\]"):
        ph.view(many)
    with pytest.raises(TypeError, match="a page shows solutions and free motions, not 3"):
        ph.view(3)
    with pytest.raises(ValueError, match=r"at most 12 runs.*not 100"):
        ph.view(*[rk4] * 100)
    with pytest.raises(ValueError, match="needs a run to show"):
        ph.view()
    with pytest.raises(ValueError, match="names must be 1 texts"):
        ph.view(rk4, names=["a", "b"])
    with pytest.raises(ValueError, match=r"names must be 1 texts.*not \[5\]"):
        ph.view(rk4, names=[5])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="title must be a text, not 5"):
        ph.view(rk4, title=5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="mesh must be the name of an STL or OBJ file, not 5"):
        ph.view(rk4, mesh=5)
    with pytest.raises(FileNotFoundError):
        ph.view(tmp_path / "none.nc")
    (tmp_path / "other.nc").write_bytes(b"no result at all")
    with pytest.raises(ValueError, match="is not a NetCDF-3 file"):
        ph.view(tmp_path / "other.nc")
    with pytest.raises(ValueError, match="give an STL, an OBJ or a PLY file"):
        rk4.view(mesh=tmp_path / "other.nc")


# --- where it is shown ---------------------------------------------------------------------------------------------


def test_in_a_script_the_browser_opens_a_file(
    rk4: ph.Solution, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(display, "open_browser", lambda address: not opened.append(address))  # type: ignore[func-returns-value]
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    page = rk4.view()
    assert isinstance(page, Page)
    (file,) = tmp_path.glob("polhode-*/page.html")
    assert opened == [file.as_uri()]
    assert file.read_text("utf-8") == page.html
    assert file.parent.stat().st_mode & 0o077 == 0  # nobody else looks in


def test_without_a_browser_the_file_is_named(
    rk4: ph.Solution, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    rk4.view()
    (file,) = tmp_path.glob("polhode-*/page.html")
    assert capsys.readouterr().out == f"no browser could be opened: open {file} yourself\n"


def test_a_browser_that_fails_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(address: str) -> bool:
        raise webbrowser.Error("could not locate runnable browser")

    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("webbrowser.open", fails)
    assert open_browser("file:///page.html") is False


def test_in_a_notebook_it_is_a_widget(rk4: ph.Solution, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not in_notebook()
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert in_notebook()
    monkeypatch.setitem(sys.modules, "anywidget", None)  # not installed: in a frame
    page = rk4.view()
    assert isinstance(page, Page)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace()))
    assert not in_notebook()  # in a terminal
    monkeypatch.setitem(sys.modules, "marimo", SimpleNamespace(running_in_notebook=lambda: True))
    assert in_notebook()


def test_a_widget_has_the_time_as_a_trait(rk4: ph.Solution) -> None:
    pytest.importorskip("anywidget", reason="NOT TESTED: the widget, because anywidget is missing")
    sys.modules.pop("polhode.page.widget", None)
    from polhode.page.widget import PageWidget

    page = display.made_page([page_show_run(rk4)])
    widget = PageWidget(page)
    heard: list[float] = []
    widget.observe(lambda change: heard.append(change["new"]), "time")
    widget.time = 7.5
    assert heard == [7.5]
    assert widget.get_state(["time", "data"])["data"].startswith('{"version":1')
    widget.close()
    sys.modules.pop("polhode.page.widget", None)  # it holds the products of this test


def page_show_run(solution: ph.Solution) -> Any:
    from polhode.page.content import SolutionRun

    return SolutionRun(solution, (5.0, 20.0))
