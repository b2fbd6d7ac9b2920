"""The examples of docs/howto/ccsds.md run as they stand."""

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "ccsds.md").read_text("utf-8")


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "ccsds"}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(block, "ccsds.md", "exec"), names)
    rows, epoch = capsys.readouterr().out.splitlines()
    assert f"# {rows.split()[0]} rows" in PAGE
    assert float(rows.split()[1]) <= 1e-7
    assert f"# {epoch}" in PAGE
    assert names["again"].success
