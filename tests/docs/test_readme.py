"""The README's lines run as they stand."""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from polhode.methods import catalogue
from polhode.methods._method import Keeps

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def test_the_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    first, *others = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(first.split("\n\n")[1].splitlines()) == 2
    names: dict[str, Any] = {"__name__": "readme"}
    for block in (first, *others):
        exec(compile(block, "README.md", "exec"), names)
    assert "error at most" in capsys.readouterr().out
    assert names["top"].error_estimate < 1e-9
    assert (tmp_path / "top.png").stat().st_size > 10_000
    assert names["ph"].load(tmp_path / "top.nc").t[-1] == 10
    assert names["tops"].success.all()


def test_the_number_of_methods_without_drift() -> None:
    methods = catalogue().values()
    kept = sum(bool(m.keeps & (Keeps.ENERGY | Keeps.SYMPLECTIC)) for m in methods)
    assert f"| {kept} of {len(methods)} |" in README, f"write {kept} of {len(methods)} into README.md"


def test_the_page_fits_an_editor() -> None:
    assert max(map(len, README.splitlines())) <= 88


def test_paths_become_addresses_when_a_release_is_built() -> None:
    hook = runpy.run_path(str(ROOT / "packaging" / "readme.py"))
    absolute, urls = hook["absolute"], hook["urls"]
    assert (absolute(README, ""), urls("")) == (README, {})
    made = absolute(README, "https://example.org/polhode")
    assert "](https://example.org/polhode/raw/main/docs/figures/flip.gif)" in made
    assert "](https://example.org/polhode/blob/main/docs/start/ten_minutes.md)" in made
    assert not re.search(r"\]\((?!https://)", made)
    assert set(urls("https://example.org/polhode")) == {"Source", "Issues", "Changelog"}


MADE_BY_THE_SITE = (*(f"reference/{page}.md" for page in ("api", "cases", "commands", "torques")), "pictures/index.rst")


def test_links_lead_somewhere() -> None:
    """In the README and in all pages: what is read as plain Markdown has no dead links."""
    wrong = []
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            path = (page.parent / target).resolve()
            if "://" not in target and not path.exists() and not str(path).endswith(MADE_BY_THE_SITE):
                wrong.append(f"{page.relative_to(ROOT)}: {target}")
    assert not wrong
