"""The first example of docs/howto/cluster.md runs as it stands, and its commands are those of polhode."""

import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from polhode.cli import app

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "cluster.md").read_text("utf-8")


def test_the_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first, *others = re.findall(r"```py(?:thon)?\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {"__name__": "cluster"}
    exec(compile(first, "cluster.md", "exec"), names)
    assert names["found"]["lean"].shape == (20_000,)
    assert names["found"]["rate"].shape == (3, 3)
    for other in others:
        compile(other, "cluster.md", "exec")


def test_options_exist() -> None:
    said = CliRunner().invoke(app, ["ensemble", "--help"]).output
    commands = "\n".join(re.findall(r"polhode ensemble job\.toml[^`\n]*", PAGE))
    for option in set(re.findall(r"--[a-z]+", commands)):
        assert option in said
