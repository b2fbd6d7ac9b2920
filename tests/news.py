"""A pytest plugin for long runs: it names a failed test at once, and says now and then how many tests are done."""

import time
from collections.abc import Callable, Generator
from typing import Any

import pytest

INTERVAL_S = 30.0
"""The least time between two lines about progress."""


class News:
    """Writes lines in the place of dots. With several workers it belongs to the process that hears of all of them."""

    def __init__(self, config: pytest.Config, clock: Callable[[], float] = time.monotonic) -> None:
        self.config, self.clock = config, clock
        self.session: Any = None
        self.done = self.failed = 0
        self.begun = self.last = clock()

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """The session knows how many tests there are, once they are collected."""
        self.session = session

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(self) -> Generator[None, tuple[str, Any, Any], tuple[str, Any, Any]]:
        """Results are counted and summed up as ever, but not shown as dots."""
        category, _, word = yield
        return category, "", word

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test has a report on its preparation, on itself, and, last and always, on what it cleans up."""
        if report.failed:
            self.failed += 1
            where = "" if report.when == "call" else f" ({report.when})"
            self.write(f"FAILED {report.nodeid}{where}")
        if report.when == "teardown":
            self.done += 1
            if self.clock() - self.last >= INTERVAL_S:
                self.last = self.clock()
                minutes, seconds = divmod(round(self.last - self.begun), 60)
                total = self.session.testscollected
                self.write(f"{minutes:3d}:{seconds:02d}  {self.done} of {total} tests done, {self.failed} failed")

    def write(self, line: str) -> None:
        """A line at once, whatever the terminal holds back."""
        reporter = self.config.pluginmanager.getplugin("terminalreporter")
        reporter.ensure_newline()
        reporter.write_line(line)
        reporter.flush()
