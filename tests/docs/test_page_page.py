"""The examples of docs/howto/page.md run as they stand."""

import re
from pathlib import Path
from typing import Any

import pytest

from polhode.page import display
from tests.page.page_tools import data_in, products  # noqa: F401

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "page.md").read_text("utf-8")
BLOCKS = re.findall(r"```py\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.usefixtures("products")
def test_the_examples(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def open_browser(address: str) -> bool:
        opened.append(address)
        return True

    monkeypatch.setattr(display, "open_browser", open_browser)
    monkeypatch.setattr("tempfile.tempdir", str(here))
    names: dict[str, Any] = {"__name__": "page"}
    for block in BLOCKS:
        exec(compile(block, "page.md", "exec"), names)
    assert len(opened) == 2
    flips = data_in((here / "flips.html").read_text("utf-8"))
    assert [run["name"] for run in flips["runs"]] == ["exact", "RK4"]
    sail = data_in((here / "sail.html").read_text("utf-8"))["runs"][0]
    assert sail["events"][0]["t"]
    assert len(sail["points"]) == 2
