"""What Python writes, in a real browser: the file, the page of the server, and the widget."""

import threading
from pathlib import Path
from typing import Any

import pytest

import polhode as ph
from polhode.page.content import FreeRun
from polhode.page.display import Page, made_page
from polhode.page.server import PageServer
from tests.browser import Tab
from tests.page.shown import Files

EVIL = "</script><script>window.caught = 1</script><img src=x onerror='window.caught = 1'>"


@pytest.fixture(scope="module")
def page() -> Page:
    body = ph.Body([1.0, 2.0, 3.0], name=EVIL)
    runs = [FreeRun(ph.FreeMotion(body, [0.01, 1.0, 0.01]), (2.0, 50.0), name) for name in (EVIL, "other")]
    return made_page(runs, title=EVIL)


@pytest.fixture(autouse=True)
def still(tab: Tab) -> None:
    """Nothing plays by itself, and little is drawn: that costs more than what is tested."""
    tab.page.set_viewport_size({"width": 480, "height": 360})
    tab.page.emulate_media(reduced_motion="reduce")


def is_shown(tab: Tab) -> None:
    """The page has drawn what it was given, and has complained of nothing."""
    tab.wait("window.polhode !== undefined && window.polhode.runs.length === 2 && window.polhode.frames > 0")
    assert tab.complaints == []
    assert tab.evaluate("window.caught") is None
    assert tab.evaluate("document.querySelectorAll('img').length") == 0
    assert EVIL in tab.evaluate("document.body.innerText")


def test_the_file_opens_from_disk_and_can_ask_for_nothing(tab: Tab, page: Page, tmp_path: Path) -> None:
    file = page.save(tmp_path / "page.html")
    tab.open(file)
    is_shown(tab)
    assert tab.page.title() == EVIL
    assert tab.requests == [file.as_uri()]
    assert tab.evaluate("[window.polhode.start, window.polhode.end]") == [2.0, 50.0]
    # and its policy would not let anything else happen
    tab.evaluate("() => { const s = document.createElement('script'); s.textContent = 'window.caught = 1';"
                 " document.body.append(s); }")  # fmt: skip
    refused = tab.evaluate("() => fetch('http://127.0.0.1:9/').then(() => 'went', () => 'refused')")
    assert tab.evaluate("window.caught") is None
    assert refused == "refused"
    assert len(tab.requests) == 1
    assert all("Content Security Policy" in c or "violates" in c for c in tab.complaints)
    assert tab.complaints != []


def test_the_page_of_the_server(tab: Tab, page: Page) -> None:
    with PageServer(page.html) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            home = f"http://127.0.0.1:{server.server_port}/"
            tab.open(server.address)
            tab.page.wait_for_url(home)  # without the token
            is_shown(tab)
            assert tab.evaluate("document.cookie") == ""  # which no script can read
            assert tab.requests == [server.address, home]
            tab.page.reload()
            is_shown(tab)
        finally:
            server.shutdown()
            thread.join()


HARNESS = """async (state) => {
  document.head.appendChild(document.createElement("style")).textContent = state._css;
  const made = await import(URL.createObjectURL(new Blob([state._esm], { type: "text/javascript" })));
  const heard = {}, sent = [];
  window.sent = sent;
  const model = {
    get: (name) => state[name],
    set: (name, value) => { state[name] = value; },
    save_changes: () => sent.push(state.time),
    on: (name, f) => { heard[name] = f; },
    off: (name) => { delete heard[name]; },
  };
  window.fromPython = (time) => { state.time = time; heard["change:time"](); };
  const el = document.body.appendChild(document.createElement("div"));
  el.style.width = "480px";
  window.end = await made.default.render({ model, el });
}"""
"""What a notebook does with a widget: the model is in Python, its state is sent, and goes back and forth."""


def test_the_widget_renders_and_its_time_goes_both_ways(tab: Tab, page: Page) -> None:
    pytest.importorskip("anywidget", reason="NOT TESTED: the widget, because anywidget is missing")
    from polhode.page.widget import PageWidget

    widget = PageWidget(page)
    state: dict[str, Any] = {k: v for k, v in widget.get_state().items() if k in ("data", "time", "_esm", "_css")}
    assert state["time"] == 2.0
    tab.open("about:blank")
    tab.evaluate(HARNESS, state)
    tab.wait("document.querySelectorAll('canvas').length > 0")
    canvases = tab.page.locator("canvas")
    assert canvases.count() >= 2
    assert tab.evaluate("window.caught") is None
    before = tab.page.screenshot()
    tab.evaluate("window.fromPython(12.5)")
    tab.settle()
    assert tab.page.screenshot() != before  # it has moved
    slider = tab.page.locator("input[type=range]").first
    slider.focus()
    slider.press("ArrowRight")
    tab.wait("window.sent.length > 0")
    assert tab.evaluate("window.sent.at(-1)") > 12.5
    widget.time = tab.evaluate("window.sent.at(-1)")  # as the kernel does with what is sent
    assert widget.get_state()["time"] == widget.time
    for _ in range(2):  # also when it is there already
        tab.evaluate("window.fromPython(1e9)")
        tab.wait("window.sent.at(-1) === 50")  # the end
        tab.evaluate("() => { window.sent.length = 0 }")
    # keys of the page are no commands of the notebook
    tab.evaluate("() => { window.heard = []; addEventListener('keydown', e => heard.push(e.key)); }")
    tab.page.locator(".cell").first.focus()
    for key in ("d", "d", "z"):
        tab.page.keyboard.press(key)
    assert tab.evaluate("window.heard") == ["z"]
    assert tab.evaluate("document.activeElement.closest('[data-lm-suppress-shortcuts]') !== null")
    tab.evaluate("window.end()")
    assert tab.complaints == []
    assert all(r.startswith(("about:", "blob:")) for r in tab.requests)
    widget.close()


def test_in_a_frame_it_plays_where_that_asks_for_it(browser: Any, files: Files, tmp_path: Path) -> None:
    for mark, playing in (("", False), ("#play", True)):
        around = tmp_path / f"around{playing}.html"
        around.write_text(f'<iframe src="{files.free.as_uri()}{mark}" width="700" height="600"></iframe>', "utf-8")
        tab = Tab(browser)
        tab.page.emulate_media(reduced_motion="no-preference")
        tab.open(around)
        frame = tab.page.frames[1]
        frame.wait_for_selector(".polhode canvas", state="attached")
        assert frame.evaluate("polhode.playing") is playing
        tab.page.close()
