"""Properties are tried on the same examples every time, without a deadline: what passes here passes elsewhere."""

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("fixed", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("fixed")
os.environ.setdefault("POLHODE_QUIET", "1")  # what is compiled depends on the cache, and output is compared


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, obj: Any) -> list[pytest.Item] | None:
    """Functions of which every case is evidence are not collected for `make test`: they are half of all cases.

    One that is named on the command line is collected, and deselected as its mark says.
    """
    if collector.config.option.markexpr != "not evidence" or any("::" in given for given in collector.config.args):
        return None
    marks = getattr(obj, "pytestmark", ())
    return [] if isinstance(marks, list) and any(mark.name == "evidence" for mark in marks) else None


def pytest_collection_finish() -> None:
    """Tests and what they import stay: the collector, which every compilation calls often, need not look at them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def no_open_figures() -> Iterator[None]:
    """Closes what a test has drawn: Matplotlib warns of more than twenty open figures, whichever tests drew them."""
    yield
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close("all")


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same kernels in plain Python: for short runs, which would not repay the seconds of a compilation."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C is heard, which a job in the background ignores."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def call(here: Path, plain: None) -> Callable[..., tuple[int, str, str]]:
    """A command in this process, whose runs are in plain Python."""
    from typer.testing import CliRunner

    from polhode.cli import app

    def called(*arguments: object) -> tuple[int, str, str]:
        result = CliRunner().invoke(app, [str(a) for a in arguments])
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.stdout, result.stderr

    return called
