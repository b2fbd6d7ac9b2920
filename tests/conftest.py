"""Properties are tried on the same examples every time: what passes here passes elsewhere."""

import gc

import pytest
from hypothesis import settings

settings.register_profile("fixed", derandomize=True)
settings.load_profile("fixed")


def pytest_collection_finish() -> None:
    """Tests and what they import stay: the collector, which every compilation calls often, need not look at them."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same kernels in plain Python: for short runs, which would not repay the seconds of a compilation."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
