"""The examples of docs/howto/systems.md run as they stand."""

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "systems.md").read_text("utf-8")


@pytest.mark.evidence
def test_the_page() -> None:
    names: dict[str, Any] = {"__name__": "systems"}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(block, "systems.md", "exec"), names)
    assert names["s"].energy_error.max() < 1e-2
    assert names["accurate"].error_estimate <= 1e-9
    assert names["warm"].temperature[500:].mean() == pytest.approx(0.5, rel=0.2)
    assert names["longer"].t_last == pytest.approx(names["met"].t_last + 1.0)
