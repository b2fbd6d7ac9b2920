"""The blocks of docs/howto/sensors.md run as they stand; those of docs/howto/changing_bodies.md in plain Python."""

import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs" / "howto"


def blocks(page: str) -> list[str]:
    """The Python of a page."""
    return re.findall(r"```python\n(.*?)```", (DOCS / f"{page}.md").read_text("utf-8"), re.DOTALL)


def executed(page: str) -> dict[str, Any]:
    """The names that the blocks of a page leave behind."""
    names: dict[str, Any] = {"__name__": page}
    for block in blocks(page):
        exec(compile(block, f"{page}.md", "exec"), names)
    return names


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("page", ["changing_bodies", "sensors", "shapes", "small_bodies"])
def test_blocks_run(page: str) -> None:
    executed(page)
