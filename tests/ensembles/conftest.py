"""Fixtures of the tests of ensembles."""

import pytest


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are as small as they can be: 256 bodies."""
    monkeypatch.setattr("polhode.api.ensemble.BATCH_BYTES", 1)
