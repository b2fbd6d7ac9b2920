"""The README's lines run as they stand."""

import re
from pathlib import Path
from typing import Any

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")


def test_the_ten_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict[str, Any] = {"__name__": "readme"}
    exec(compile(block, "README.md", "exec"), names)
    assert "MR2" in capsys.readouterr().out
    assert (tmp_path / "top.png").stat().st_size > 10_000
    assert names["ph"].load(tmp_path / "top.nc").t[-1] == 10
    assert names["longer"].t[-1] == 20
    assert names["slowed"].kinetic_energy[-1] < names["slowed"].kinetic_energy[0]


def test_links_lead_somewhere() -> None:
    root = Path(__file__).parents[2]
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (root / target).exists(), target
