"""Pages for the tests of what is seen: three that all tests of a worker share, and others of their own."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import Tab, browser, tab
from tests.page.shown import Files, write_pages

__all__ = ["browser", "tab"]

Open = Callable[..., Tab]

SIZE = (960, 600)
"""Small, because each pixel is drawn by software, but as wide as the layout of a desk."""

SMALL = (480, 360)
"""For pages that play or whose pixels are not looked at: each frame costs as much as it has pixels."""

RESET = """() => {
  const p = window.polhode;
  p.pause();
  p.time = 0;
  p.speed = 1;
  p.view = { azimuth: 0.62, elevation: 0.28, distance: 8 };
  // a test that failed between two presses must not fail those after it
  const isLight = document.querySelector(".polhode").dataset.theme === "light";
  if (!isLight) document.querySelector("[aria-label='Dark or light']").click();
  document.querySelector("dialog[open]")?.close();
  document.activeElement?.blur();
  p.draw();
}"""


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Files:
    """The pages as files; without a browser they are not written."""
    return write_pages(tmp_path_factory.mktemp("pages"))


def opened(browser: Any, file: Path, *, size: tuple[int, int] = SIZE, still: bool = True, link: str = "") -> Tab:
    """Opens a file and waits until it is drawn. Unless it is still, it starts by itself."""
    made = Tab(browser, *size)
    made.page.emulate_media(color_scheme="light", reduced_motion="reduce" if still else "no-preference")
    made.open(file.as_uri() + link)
    made.wait("window.polhode !== undefined && window.polhode.frames > 0")
    return made


def close(made: Tab) -> None:
    """Closes a page that has complained of nothing and has asked for nothing but itself."""
    assert made.complaints == []
    assert {request.split("#")[0] for request in made.requests} == {made.page.url.split("#")[0]}
    made.page.close()


@pytest.fixture(scope="session")
def shared(browser: Any, files: Files) -> Iterator[Callable[..., Tab]]:
    """Pages that are opened once."""
    tabs: dict[Path, Tab] = {}

    def one(file: Path, width: int = SIZE[0], height: int = SIZE[1]) -> Tab:
        if file not in tabs:
            tabs[file] = opened(browser, file, size=(width, height))
        page = tabs[file].page
        if page.viewport_size != {"width": width, "height": height}:
            page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        tabs[file].evaluate(RESET)
        return tabs[file]

    yield one
    for made in tabs.values():
        close(made)


@pytest.fixture
def free(shared: Callable[..., Tab], files: Files) -> Tab:
    """A page with one free run, at its start."""
    return shared(files.free)


@pytest.fixture
def two(shared: Callable[..., Tab], files: Files) -> Tab:
    """A page with the same run beside RK4, at its start."""
    return shared(files.two)


@pytest.fixture
def playground(shared: Callable[..., Tab], files: Files) -> Tab:
    """The playground, with the settings that the test before left."""
    return shared(files.playground, *SMALL)


@pytest.fixture
def shown(browser: Any) -> Iterator[Open]:
    """Opens pages for one test alone."""
    tabs: list[Tab] = []

    def one(file: Path, **options: Any) -> Tab:
        tabs.append(opened(browser, file, **options))
        return tabs[-1]

    yield one
    for made in tabs:
        close(made)
