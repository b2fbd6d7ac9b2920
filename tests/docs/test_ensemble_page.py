"""The example of docs/howto/ensemble.md runs as it stands."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "ensemble.md").read_text("utf-8")


@pytest.mark.evidence
def test_the_example() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {"__name__": "ensemble"}
    exec(compile(block, "ensemble.md", "exec"), names)
    assert names["many"].omega.shape == (100, 11, 3)
    found = names["found"]
    table = found.to_xarray()
    assert table["spread"].dims == ("quantile", "time")
    assert table["at the end"].dims == ("component", "other_component")
    assert found["largest lean"].shape == (2000,)
    assert 0 < found["energy"] < 1e-3
    assert (np.diff(found["spread"], axis=0) > 0).all()
    assert found["at the end"][2, 2] > 0.5  # the rate about the axis hardly changes: a variance of one
    assert names["sure"].error_estimate.max() <= 1e-6
