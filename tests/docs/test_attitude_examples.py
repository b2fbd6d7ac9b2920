"""The examples of docs/understand/conventions.md and docs/understand/free_motion.md run as they stand."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

DOCS = Path(__file__).parents[2] / "docs"


def run(page: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": page}
    for block in re.findall(r"```python\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL):
        exec(compile(block, page, "exec"), names)
    return names


def test_attitudes() -> None:
    names = run("understand/conventions.md")
    table, s = names["table"], names["s"]
    np.testing.assert_allclose(table["euler_deg(ZYX)"][0], [30.0, -10.0, 5.0], atol=1e-12)
    assert np.array_equal(table["pointing_angle_deg(z, [0, 0, 1])"], s.pointing_angle("z", "z", degrees=True))


def test_tumbling_bodies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = run("understand/free_motion.md")
    least, _, greatest = np.degrees(names["toutatis"].nutation("long"))
    assert 37.5 < least < greatest < 39.5
    apophis = names["apophis"]
    energy = 2 * apophis.kinetic_energy / (apophis.angular_momentum @ apophis.angular_momentum)
    assert f"# {energy:.4f}: published" in (DOCS / "understand" / "free_motion.md").read_text("utf-8")
