"""Nothing is lost: a few attempts of each kind in `make test`, all of them in `make evidence` and `make faults`."""

import importlib.util
import secrets
from pathlib import Path

import pytest

from docs import make_reliability
from tests.faults import crowds, disk, fuzz, properties, signals
from tests.faults.trial import TRIALS, Trial, attempt

PARTS = (signals, disk, crowds, fuzz, properties)
"""They fill the list of trials."""


def nothing_is_lost(wanted: Trial, size: int, seed: int, folder: Path) -> None:
    if wanted.name == "damaged_results" and importlib.util.find_spec("polhode.files.checksum") is None:
        pytest.skip("results have no checksum yet")
    tally = attempt(wanted, size, seed, folder)
    assert tally.tried > 0
    assert not tally.lost, f"{tally.lost} of {tally.tried} with seed {seed}:\n" + "\n".join(tally.notes)


@pytest.mark.parametrize("name", [t.name for t in TRIALS.values() if t.short])
def test_short(name: str, tmp_path: Path) -> None:
    nothing_is_lost(TRIALS[name], TRIALS[name].short, 1, tmp_path)


@pytest.mark.evidence
@pytest.mark.parametrize("name", TRIALS)
def test_full(name: str, tmp_path: Path) -> None:
    nothing_is_lost(TRIALS[name], TRIALS[name].full, secrets.randbits(32), tmp_path)


def test_the_page_shows_the_counts() -> None:
    assert make_reliability.PAGE.read_text("utf-8") == make_reliability.page(), "run: python -m docs.make_reliability"
    counted = make_reliability.kept()["trials"]
    assert {row["name"] for row in counted} <= set(TRIALS)
    assert not sum(row["lost"] for row in counted)
