"""The examples of docs/howto/stepper.md, and the two in examples/, run as they stand."""

import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "howto" / "stepper.md").read_text("utf-8")

pytestmark = pytest.mark.usefixtures("plain")


def example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page() -> None:
    names: dict[str, Any] = {"__name__": "stepper"}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 8
    for block in blocks:
        exec(compile(block, "stepper.md", "exec"), names)
    s, there, crowd = names["s"], names["there"], names["crowd"]
    assert s.t == there.t == 60 * 0.01
    assert not (s.momentum == there.momentum).all()
    assert crowd.omega.shape == (50, 3)
    assert s.solution().t.size == 13


def test_two_dipoles() -> None:
    """Half the step has a quarter of the error, and the momentum along the line is kept: the torques are right."""
    dipoles = example("two_dipoles")
    (coarse, drift), (fine, _) = dipoles.main(0.08, 60), dipoles.main(0.04, 120)
    assert 3.0 < coarse / fine < 5.0
    assert fine < 2e-3
    assert drift < 1e-13


def test_the_controller() -> None:
    """It brings a tumbling satellite to the target; the rows are those of a tenth of a second."""
    control = example("controller_1khz")
    control.PERIOD = 0.02  # the same law with fewer periods, for the time that plain Python takes
    s = control.main(40.0)
    motion = s.solution()
    angle = motion.attitude.magnitude()
    assert angle[0] > 2.0
    assert angle[-1] < 0.02
    assert np.linalg.norm(s.omega) < 2e-3
    np.testing.assert_allclose(np.diff(motion.t), 0.1, rtol=1e-9)
