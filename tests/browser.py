"""A real browser for tests: Chromium without a window, by playwright."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from polhode.page import html

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")

OPTIONS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
"""In a container there is no sandbox, and the pictures of software are the same everywhere."""


def _missing() -> str:
    """Why there can be no tests in a browser; empty: there can."""
    try:
        import playwright.sync_api as _  # noqa: F401
    except ImportError:
        return "NOT TESTED in a browser: playwright is missing, `pip install playwright` brings it"
    if not any(map(shutil.which, PROGRAMS)):
        return "NOT TESTED in a browser: none is installed; on Debian `apt install chromium-headless-shell` brings one"
    if not (html.PRODUCTS / "widget.js").exists():
        return "NOT TESTED in a browser: the page is not built, `make viewer` builds it"
    return ""


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A browser, which all tests of a worker share."""
    if why := _missing():
        pytest.skip(why)
    from playwright.sync_api import sync_playwright

    program = next(found for name in PROGRAMS if (found := shutil.which(name)))
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=OPTIONS)
        yield opened
        opened.close()


class Tab:
    """A page in the browser, with everything that it asked for and complained of."""

    def __init__(self, browser: Any, width: int = 1000, height: int = 700) -> None:
        self.page = browser.new_page(viewport={"width": width, "height": height})
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self._hear(message.type, message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _hear(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and "GPU stall" not in text:  # of software rendering, when pixels are read
            self.complaints.append(text)

    def open(self, address: str | Path) -> None:
        self.page.goto(address.as_uri() if isinstance(address, Path) else address)

    def evaluate(self, expression: str, argument: Any = None) -> Any:
        return self.page.evaluate(expression, argument)

    def wait(self, expression: str, seconds: float = 120.0) -> None:
        """Waits until an expression is true; a page with a policy cannot do this by itself."""
        for _ in range(int(seconds / 0.05)):
            if self.evaluate(expression):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"after {seconds} s this is still not true: {expression}; {self.complaints}")

    def settle(self) -> None:
        """Waits until everything that was asked for is drawn, however slow the machine is: three frames."""
        self.evaluate("async () => { for (let n = 0; n < 3; n++) await new Promise(requestAnimationFrame) }")


@pytest.fixture
def tab(browser: Any) -> Iterator[Tab]:
    """An empty page in the browser."""
    made = Tab(browser)
    yield made
    made.page.close()
