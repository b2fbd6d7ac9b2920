"""`polhode examples`: the list, and copies."""

from collections.abc import Callable
from pathlib import Path

from polhode.cli.examples import catalogue, folder, summary

Call = Callable[..., tuple[int, str, str]]


def test_all_are_listed_with_a_sentence(call: Call) -> None:
    code, out, _ = call("examples")
    assert code == 0
    found = catalogue(folder())
    assert {"demo", "heavy_top", "student", "ten_minutes"} <= set(found)
    for name, files in found.items():
        assert name in out
        assert len(summary(files).split()) >= 2, name


def test_files_of_one_name_come_together(call: Call, here: Path) -> None:
    code, out, _ = call("examples", "eddy_currents", "student.ipynb", "--to", "mine")
    assert code == 0
    assert {p.name for p in (here / "mine").iterdir()} == {"eddy_currents.py", "eddy_currents.toml", "student.ipynb"}
    assert out.split() == [f"mine/{name}" for name in ("eddy_currents.py", "eddy_currents.toml", "student.ipynb")]
    assert (here / "mine" / "student.ipynb").read_bytes() == (folder() / "notebooks" / "student.ipynb").read_bytes()


def test_what_can_go_wrong(call: Call, here: Path) -> None:
    code, _, err = call("examples", "no_such")
    assert code == 2
    assert "no example is called no_such" in err
    (here / "heavy_top.toml").write_text("mine")
    code, _, err = call("examples", "heavy_top", "book_toss")
    assert code == 2
    assert "exists already" in err
    assert not (here / "book_toss.toml").exists()  # nothing is copied if not all can be
    assert call("examples", "heavy_top", "--force")[0] == 0
    assert (here / "heavy_top.toml").read_text("utf-8") != "mine"


def test_what_a_page_of_the_shell_does(call: Call) -> None:
    assert call("examples", "all", "--to", "all")[0] == 0
    code, out, _ = call("run", "all/damped_satellite.toml", "--out", "out")
    assert (code, "damped" in out) == (0, True)
