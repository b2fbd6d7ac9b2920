"""The numbers behind the pictures of docs/start/molecular_simulator.md."""

import re
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "start" / "molecular_simulator.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_last_picture_shows_the_orders_of_its_methods() -> None:
    """Errors fall with the step as their methods promise: they are not as large as they can be, nor round-off."""
    names: dict[str, Any] = {}
    for block in BLOCKS:
        exec(compile(block.split("plt.figure")[0].replace("done.plot()", ""), "page", "exec"), names)
    done = names["done"]
    for method, order in (("MR2", 2), ("Strang", 2), ("RK4", 4)):
        entries = done.methods[method]
        assert max(e.worst[0] for e in entries) < 1.0  # rad
        assert [done.orders(e)[0] for e in entries[1:]] == pytest.approx([order] * 3, abs=0.35)
    at = {m: e[1].worst[0] for m, e in done.methods.items()}
    assert at["RK4"] < at["Strang"] < at["MR2"]


@pytest.mark.evidence
def test_the_first_picture_shows_a_quarter_of_the_error_at_half_the_step() -> None:
    names: dict[str, Any] = {}
    with matplotlib.rc_context({"backend": "agg"}):
        for block in BLOCKS[:3]:
            exec(compile(block.split("plt.figure")[0], "page", "exec"), names)
    errors = [np.ptp(names["run"](h, round(4 / h))) for h in (0.004, 0.002)]
    assert 3.0 < errors[0] / errors[1] < 5.0
