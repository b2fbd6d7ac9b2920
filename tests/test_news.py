"""The plugin that follows the long tests, in pytest sessions of their own, with and without workers."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = """
from tests import news
news.INTERVAL_S = 0.0
def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(news.News(config))
"""
TESTS = """
import pytest
@pytest.fixture
def broken():
    raise ValueError
def test_good(): pass
def test_bad(): assert False
def test_unprepared(broken): pass
def test_left_out(): pytest.skip("no")
"""


@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["alone", "worker"])
def test_failures_are_named_and_progress_is_counted(tmp_path: Path, workers: list[str]) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_some.py").write_text(TESTS)
    done = subprocess.run(
        [sys.executable, "-c", "import sys, pytest; sys.path.insert(0, sys.argv.pop()); sys.exit(pytest.main())",
         "-q", "-p", "no:cacheprovider", "--tb=no", "--rootdir", str(tmp_path), *workers, str(tmp_path),
         str(Path(__file__).parents[1])],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = [line.strip() for line in done.stdout.splitlines()]
    told = [re.sub(r"^\d+:\d\d  ", "", line) for line in lines if line.startswith("FAILED") or " tests done, " in line]
    assert told == [
        "1 of 4 tests done, 0 failed",
        "FAILED test_some.py::test_bad",
        "2 of 4 tests done, 1 failed",
        "FAILED test_some.py::test_unprepared (setup)",
        "3 of 4 tests done, 2 failed",
        "4 of 4 tests done, 2 failed",
        "FAILED test_some.py::test_bad - assert False",  # the summary
    ], done.stdout + done.stderr
    assert "1 failed, 1 passed, 1 skipped, 1 error" in lines[-1]
    assert not any(set(line) <= set(".FEs") for line in lines if line)
