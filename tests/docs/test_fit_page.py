"""The examples of docs/howto/fit.md run as they stand, and give what the page says."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "fit.md").read_text("utf-8")


def test_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": "fit"}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(block, "fit.md", "exec"), names)
    printed = capsys.readouterr().out
    shown = re.search(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert shown is not None

    def rows(text: str) -> list[list[str]]:
        return [line.split() for line in text.splitlines() if line.startswith("  ")]

    for there, here in zip(rows(shown[1]), rows(printed), strict=True):
        assert there[0] == here[0]
        for a, b in zip(there[1:3], here[1:3], strict=True):
            assert a == b or float(a) == pytest.approx(float(b), rel=1e-4)
    assert abs(names["coefficient"] - 0.02) < 4 * names["error"]
    assert names["error"] < 5e-5
    assert np.abs(names["both"].values[:2] - [0.4, 0.8]).max() < 2e-4
    assert names["periods_found"] == pytest.approx(names["truth"].observed_periods(), rel=0.01)
    phi, psi = names["periods"]
    day = names["day"]
    assert phi / day == pytest.approx(7.35, rel=0.02)
    assert psi / day == pytest.approx(5.41, rel=0.02)
