"""docs/reference/scenario.md is current, and says what is so."""

import re
from pathlib import Path

import pytest

from docs import make_scenario
from polhode import torques
from polhode.scenario import _KEYS, ScenarioError, load_scenario

TEXT = make_scenario.PAGE.read_text("utf-8")


def test_the_page_is_current() -> None:
    assert make_scenario.page() == TEXT, "run: python -m docs.make_scenario"


def test_every_key_and_every_model_is_there() -> None:
    listed = set(re.findall(r"^\| `(\w+)`", TEXT, re.MULTILINE))
    for model in _KEYS.values():
        assert set(model.model_fields) <= listed
    assert {name for name, kind in torques.catalogue().items() if kind.__module__.startswith("polhode.")} <= listed


def test_keys_that_are_required_are_missed(tmp_path: Path) -> None:
    path = tmp_path / "empty.toml"
    path.write_text("[body]\n[initial]\n[run]\n[[torque]]\n[ensemble]\n")
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    for key in ("torque[0].model", "run.t_span", "ensemble.count", "ensemble.seed"):
        assert f"{key}: missing" in str(caught.value)
