"""The examples of docs/howto/torques.md run as they stand."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.scenario import load_scenario

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "torques.md").read_text("utf-8")


@pytest.mark.usefixtures("plain")
def test_the_examples() -> None:
    names: dict[str, Any] = {"__name__": "torques"}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(block, "torques.md", "exec"), names)
    total, found = names["total"], names["s"]
    assert f"{total.name!r}" in PAGE
    assert list(total.parts) == total.name.split(" + ")
    parts = sum(found.torque_of(name) for name in total.parts)
    np.testing.assert_allclose(parts, found.torque_of(), rtol=0, atol=1e-16)
    assert {1.0, 1.5} <= set(found.t.tolist())


def test_the_tables(tmp_path: Path) -> None:
    from_file, block = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    rest = "[body]\nmoments = [2, 3, 4]\n[initial]\nomega = [1, 0, 0]\n[run]\nt_span = [0, 1]\nrtol = 1e-6\n"
    (tmp_path / "sum.toml").write_text(rest + block, "utf-8")
    burn = ph.ConstantBodyTorque((0.0, 0.0, 0.5))
    assert load_scenario(tmp_path / "sum.toml").torque == ph.GravityGradient(0.02) + 2.0 * burn.during(1.0, 1.5)
    (tmp_path / "torque.csv").write_text("0, 0, 0, 1\n2, 0, 1, 0\n", "utf-8")
    (tmp_path / "table.toml").write_text(rest + from_file, "utf-8")
    table = ph.Table([0, 2], [[0, 0, 1], [0, 1, 0]], kind="linear", frame="space")
    assert load_scenario(tmp_path / "table.toml").torque == table
