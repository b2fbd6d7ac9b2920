"""What is seen: the body where the numbers say, at any time, and in step."""

import io
import math
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.page.content import FreeRun, SolutionRun, page_data
from polhode.page.html import page_html
from tests.browser import PROGRAMS, Tab
from tests.page.conftest import SMALL, Open, opened
from tests.page.shown import (
    MOMENTS,
    OMEGA,
    REFERENCE_TIMES,
    SPAN,
    Files,
    Pixels,
    picture,
    reference,
    set_time,
    small,
)

FIELD_OF_VIEW = math.radians(30.0)
CENTER = -0.06  # the height that the camera looks at
BEYOND = 0.42  # the arrows of the axes end this far beyond the box
AXIS_COLORS = ((0x00, 0x72, 0xB2), (0xE6, 0x9F, 0x00), (0x00, 0x9E, 0x73))


def test_each_panel_shows_something(two: Tab) -> None:
    tab = two
    pixels = picture(tab)
    stage = tab.evaluate("(({x, y}) => [x, y])(document.querySelector('.stage').getBoundingClientRect())")
    cells = tab.evaluate(
        "[...document.querySelectorAll('.cell .labels')].map(e => (({x, y, width, height}) =>"
        " [x, y, width, height])(e.getBoundingClientRect()))"
    )
    assert len(cells) == 4  # two bodies, Poinsot's construction, the sphere
    for x, y, width, height in cells:
        left, top = int(x - stage[0]), int(y - stage[1])
        part = pixels[top : top + int(height), left : left + int(width)]
        assert len(np.unique(part.reshape(-1, 4).round(1), axis=0)) > 20
        assert 0.02 < (part[..., 3] > 0.5).mean() < 0.9


def test_pictures_at_given_times_are_those_of_the_reference(free: Tab) -> None:
    tab = free
    references = [np.asarray(Image.open(reference(t)), dtype=float) / 255.0 for t in REFERENCE_TIMES]
    for t, same in zip(REFERENCE_TIMES, references, strict=True):
        set_time(tab, t)
        seen = small(picture(tab))
        off = [float(np.abs(seen - other).mean()) for other in references]
        assert np.abs(seen - same).mean() < 0.004
        assert sum(x < 0.004 for x in off) == 1  # the other times look different


ONE_FRAME = """(() => {
  const ask = window.requestAnimationFrame.bind(window);
  let asked = 0;
  window.requestAnimationFrame = (f) => (asked++ === 0 ? ask(f) : 0);
})()"""
"""Lets a page draw once, as a frame that is not on the screen does."""


def test_the_first_frame_is_whole(tab: Tab, files: Files) -> None:
    tab.page.emulate_media(color_scheme="light", reduced_motion="reduce")
    tab.page.add_init_script(ONE_FRAME)
    tab.open(files.free)
    tab.wait("window.polhode !== undefined && window.polhode.frames > 0")
    first = tab.page.screenshot()
    assert tab.evaluate("polhode.frames") == 1
    tab.evaluate("polhode.draw()")
    assert tab.page.screenshot() == first  # the words have not taken any of the room of the pictures


def projected(points: Pixels, view: Any, rect: Any) -> Pixels:
    """Where points of the shown space are seen, computed here from the viewpoint alone."""
    azimuth, elevation = view["azimuth"], view["elevation"]
    distance = view["distance"] * max(1.0, rect["height"] / rect["width"])
    out = np.array(
        [math.cos(elevation) * math.cos(azimuth), math.cos(elevation) * math.sin(azimuth), math.sin(elevation)]
    )
    right = np.array([-math.sin(azimuth), math.cos(azimuth), 0.0])
    up = np.cross(out, right)
    away = points - np.array([0.0, 0.0, CENTER]) - distance * out
    scale = rect["height"] / (2.0 * math.tan(FIELD_OF_VIEW / 2.0))
    depth = -(away @ out)
    return np.stack(
        [
            rect["x"] + rect["width"] / 2.0 + scale * (away @ right) / depth,
            rect["y"] + rect["height"] / 2.0 - scale * (away @ up) / depth,
        ],
        axis=-1,
    )


RECT = "(({x, y, width, height}) => ({x, y, width, height}))(document.querySelector('%s').getBoundingClientRect())"


@pytest.mark.parametrize("turned", [False, pytest.param(True, marks=pytest.mark.evidence)])
def test_axes_are_where_the_numbers_say(free: Tab, turned: bool) -> None:
    tab = free
    if turned:
        tab.evaluate("() => { polhode.view = { azimuth: 2.3, elevation: 0.7, distance: 7 }; }")
    motion = ph.FreeMotion(ph.Body(MOMENTS), OMEGA)
    upright = page_data([FreeRun(motion, SPAN)])["runs"][0]["upright"]
    edges = np.sqrt(sum(MOMENTS) - 2.0 * np.array(MOMENTS))
    tips = np.diag(edges / edges.max() + BEYOND)
    rect, stage = tab.evaluate(RECT % ".body .labels"), tab.evaluate(RECT % ".stage")
    view = tab.evaluate("polhode.view")
    flat = math.cos(view["elevation"])
    toward = np.array([flat * math.cos(view["azimuth"]), flat * math.sin(view["azimuth"]), math.sin(view["elevation"])])
    matches = []
    for t in (5.0, 6.3, 7.1, 18.2, 20.4, 31.0):
        set_time(tab, t)
        turn = Rotation.from_quat(upright, scalar_first=True) * motion.at(t).attitude
        space = turn.apply(tips)
        expected = projected(space, view, rect)
        for axis in range(3):
            told = tab.evaluate("p => polhode.project(p, 0)", tips[axis].tolist())
            # rows are interpolated to 0.05 degrees, which is a third of a pixel here
            assert np.hypot(*(expected[axis] - [told["x"], told["y"]])) < 0.5
        pixels = picture(tab)
        for axis in range(3):
            if space[axis] @ toward < 0.3 or space[axis][2] > 1.0:
                continue  # the box hides it, or the arrow of the momentum
            x, y = projected(space[axis] * 0.96, view, rect) - [stage["x"], stage["y"]]
            near = pixels[int(y) - 2 : int(y) + 3, int(x) - 2 : int(x) + 3, :3].reshape(-1, 3)
            matches.append(np.abs(near - np.array(AXIS_COLORS[axis]) / 255.0).max(axis=1).min() < 0.06)
    assert len(matches) >= 6
    assert sum(matches) >= len(matches) - 1  # one may be behind the arrow of the rate


def test_play_moves_the_picture_and_pause_stops_it(shown: Open, files: Files) -> None:
    tab = shown(files.free, size=SMALL, still=False)
    assert tab.evaluate("polhode.playing")  # starts by itself
    tab.evaluate("() => { polhode.time = 6 }")
    before = picture(tab)
    tab.wait("polhode.time > 6.3")
    tab.evaluate("polhode.pause()")
    after, t = picture(tab), tab.evaluate("polhode.time")
    assert np.abs(before - after).max() > 0.5
    tab.settle()
    assert tab.evaluate("polhode.time") == t
    drawn = tab.evaluate("polhode.frames")
    tab.settle()
    assert tab.evaluate("polhode.frames") == drawn  # nothing is drawn while nothing changes


def test_readers_who_want_less_motion_start_it_themselves(free: Tab) -> None:
    tab = free
    tab.settle()
    assert not tab.evaluate("polhode.playing")
    assert tab.evaluate("polhode.time") == 0.0


def test_two_runs_stay_in_step(two: Tab) -> None:
    tab = two
    motion = ph.FreeMotion(ph.Body(MOMENTS), OMEGA)
    for t in (3.0, 17.0, 39.9):
        set_time(tab, t)
        tab.evaluate("polhode.draw()")
        exact, rough = (tab.evaluate("n => polhode.state(n)", n) for n in (0, 1))
        truth = motion.at(t)
        assert np.abs(np.array(exact["omega"]) - truth.omega).max() < 2e-3
        assert 1e-6 < np.abs(np.array(rough["omega"]) - truth.omega).max() < 0.05
        one, other = (Rotation.from_quat(s["q"], scalar_first=True) for s in (exact, rough))
        degrees = math.degrees((one.inv() * other).magnitude())
        told = float(tab.page.locator(".difference").inner_text().split()[1].rstrip("°"))
        assert abs(told - degrees) < 0.1
    # the same viewpoint for both
    tab.page.locator(".cell.body").first.hover()
    tab.page.mouse.down()
    tab.page.mouse.move(500, 300, steps=4)
    tab.page.mouse.up()
    tip = [0.0, 0.0, 1.0]
    rects = tab.evaluate("[...document.querySelectorAll('.body .labels')].map(e => e.getBoundingClientRect().x)")
    set_time(tab, 0.0)
    one, other = (tab.evaluate("([p, n]) => polhode.project(p, n)", [tip, n]) for n in (0, 1))
    assert abs((one["x"] - rects[0]) - (other["x"] - rects[1])) < 0.5
    assert abs(one["y"] - other["y"]) < 0.5


@pytest.mark.evidence
def test_runs_on_top_of_each_other(two: Tab) -> None:
    beside, button = picture(two), two.page.get_by_role("button", name="Overlay")
    button.click()
    assert two.evaluate("document.querySelectorAll('.cell.body').length") == 1
    assert button.get_attribute("aria-pressed") == "true"
    assert np.abs(beside - picture(two)).max() > 0.5
    button.click()
    assert two.evaluate("document.querySelectorAll('.cell.body').length") == 2


@pytest.mark.evidence
def test_it_fits_into_windows_of_all_sizes_dark_and_light(two: Tab, playground: Tab) -> None:
    for tab in (two, playground):
        for width, height, dark in ((1280, 800, True), (768, 1024, False), (390, 844, True), (390, 844, False)):
            tab.page.set_viewport_size({"width": width, "height": height})
            tab.page.emulate_media(color_scheme="dark" if dark else "light")
            tab.wait(f"document.querySelector('.polhode').dataset.theme === '{'dark' if dark else 'light'}'")
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
            ground = tab.evaluate("getComputedStyle(document.querySelector('.polhode')).backgroundColor")
            assert (max(int(x) for x in ground[4:-1].split(",")) < 64) == dark
            cells = tab.evaluate("[...document.querySelectorAll('.cell .labels')].map(e => e.clientHeight)")
            assert min(cells) > 120


def test_in_a_frame_of_a_text_all_pictures_are_seen(shared: Callable[..., Tab], files: Files) -> None:
    """One body has its panels beside it, several have them below, in a frame as wide as a text."""
    cells = "[...document.querySelectorAll('.cell')].map(e => (({x, y, right, bottom}) => [x, y, right, bottom])("
    cells += "e.getBoundingClientRect()))"
    body, poinsot, sphere = shared(files.free, 740, 700).evaluate(cells)
    assert poinsot[0] > body[2]
    assert sphere[0] > body[2]
    assert max(body[3], sphere[3]) < 700
    one, other, poinsot, sphere = shared(files.two, 740, 700).evaluate(cells)
    assert other[0] > one[2]
    assert min(poinsot[1], sphere[1]) > one[3]


def test_broken_data_are_told(tab: Any, files: Files, tmp_path: Any) -> None:
    broken = tmp_path / "broken.html"
    broken.write_text(files.free.read_text("utf-8").replace('"version":1', '"version":7'), "utf-8")
    tab.open(broken)
    tab.wait("document.querySelector('.broken') !== null")
    assert "version 7" in tab.page.inner_text("#polhode")


@pytest.mark.evidence
def test_what_is_drawn_anew_leaves_nothing_behind(shown: Open, tmp_path: Any) -> None:
    """Under a torque the polhode changes all the time: a page that plays for hours does not grow."""
    body = ph.Body(MOMENTS)
    run = ph.simulate(
        body, ph.ConstantBodyTorque((0.1, 0.0, 0.2)), omega=(0.1, 1.0, 0.2), t_span=(0, 20), method="RK4", step=0.05
    )
    file = tmp_path / "torque.html"
    file.write_text(page_html(page_data([SolutionRun(run)])), "utf-8")
    tab = shown(file)
    grown = tab.evaluate("""() => {
      let alive = 0;
      const kind = WebGL2RenderingContext.prototype;
      for (const [name, change] of [["createBuffer", 1], ["deleteBuffer", -1]]) {
        const original = kind[name];
        kind[name] = function (...given) { alive += change; return original.apply(this, given); };
      }
      for (let n = 1; n <= 40; n++) { polhode.time = n / 2; polhode.draw(); }
      return alive;
    }""")
    assert abs(grown) <= 8


@pytest.fixture
def without_graphics(browser: Any) -> Iterator[Any]:
    """A browser that composes what it shows without a graphics card."""
    program = next(found for name in PROGRAMS if (found := shutil.which(name)))
    other = browser.browser_type.launch(executable_path=program, args=["--no-sandbox"])
    yield other
    other.close()


@pytest.mark.parametrize("page", ["two", "playground"])
def test_small_and_low_windows_show_the_first_body(without_graphics: Any, files: Files, page: str) -> None:
    """Seen as composed by the browser: without a graphics card it leaves out canvases that something opaque covers."""
    tab = opened(without_graphics, getattr(files, page), size=(390, 844))
    for width, height in ((390, 844), (390, 740), (390, 667), (844, 390)):
        tab.page.set_viewport_size({"width": width, "height": height})
        tab.settle()
        cell = tab.page.locator(".cell.body .labels").first.bounding_box()
        assert cell is not None
        left, top, width_seen = (round(cell[k]) for k in ("x", "y", "width"))
        bottom = min(top + round(cell["height"]), height - 110)  # above the bar of the time
        shot = np.asarray(Image.open(io.BytesIO(tab.page.screenshot())).convert("RGB"), dtype=int)
        coloured = (np.ptp(shot[top:bottom, left : left + width_seen], axis=2) > 40).sum()
        assert coloured > 1500, (width, height, coloured)  # labels alone: 200 to 450
    tab.page.close()


@pytest.mark.parametrize("width", [390, 960])
def test_words_stand_apart_where_arrows_coincide(shared: Callable[..., Tab], files: Files, width: int) -> None:
    """At the start of a flip momentum, rate, body axis 2 and space axis Y point the same way."""
    tab = shared(files.free, width, 700)
    words = tab.evaluate("""[...document.querySelectorAll('.body .labels span')].map(e => {
      const {x, y, width, height} = e.getBoundingClientRect(); return [x + width / 2, y + height / 2] })""")
    assert len(words) == 8
    apart = [math.dist(a, b) for n, a in enumerate(words) for b in words[:n]]
    assert min(apart) > 14


@pytest.mark.parametrize("page", ["two", "playground"])
def test_nothing_is_wider_than_the_window(shared: Callable[..., Tab], files: Files, page: str) -> None:
    for width, height in ((360, 640), (621, 375), (667, 375), (740, 360), (820, 1180)):
        tab = shared(getattr(files, page), width, height)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.evaluate("document.querySelector('.track').clientWidth") > 100


def test_four_charts_fill_their_rows(shared: Callable[..., Tab], files: Files) -> None:
    for width, in_a_row in ((1440, 4), (820, 2), (390, 1)):
        tops = shared(files.free, width, 900).evaluate(
            "[...document.querySelectorAll('.chart')].map(e => e.getBoundingClientRect().top)"
        )
        assert [tops.count(top) for top in sorted(set(tops))] == [in_a_row] * (4 // in_a_row)
