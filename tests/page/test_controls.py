"""Controls: mouse, keys, names for those who do not see, and nothing that needs a mouse."""

import re

import pytest

from tests.browser import Tab
from tests.page.shown import set_time


def time_of(tab: Tab) -> float:
    return float(tab.evaluate("polhode.time"))


def test_the_slider_and_the_field_set_the_time(free: Tab) -> None:
    tab = free
    slider = tab.page.get_by_role("slider", name="Time", exact=True)
    box = slider.bounding_box()
    assert box is not None
    tab.page.mouse.click(box["x"] + box["width"] / 2.0, box["y"] + box["height"] / 2.0)
    assert abs(time_of(tab) - 20.0) < 0.5
    tab.wait("document.querySelector('.time').getAttribute('aria-valuetext').endsWith(' s')")
    field = tab.page.get_by_role("textbox", name="Time, as a number")
    field.fill("12.5")
    field.press("Enter")
    assert time_of(tab) == 12.5
    field.fill("1e9")
    field.press("Enter")
    assert time_of(tab) == 40.0  # the end
    field.fill("soon")
    field.press("Enter")
    assert time_of(tab) == 40.0
    tab.wait("document.querySelector('.clock').value === '40.00'")


def test_keys(two: Tab) -> None:
    tab = two
    press = tab.page.keyboard.press
    rows = 201  # of RK4; the first run has rows of its own
    press("End")
    assert time_of(tab) == 40.0
    press("Home")
    assert time_of(tab) == 0.0
    press("ArrowRight")
    one = time_of(tab)
    assert 0.0 < one < 40.0 * 5 / rows
    press("Shift+ArrowRight")
    assert time_of(tab) > 5 * one
    press("Shift+ArrowLeft")
    press("ArrowLeft")
    assert time_of(tab) == 0.0
    press("Space")
    assert tab.evaluate("polhode.playing")
    press("Space")
    assert not tab.evaluate("polhode.playing")
    press("ArrowUp")
    assert abs(tab.evaluate("Math.log10(polhode.speed)") - 0.25) < 1e-9
    tab.evaluate("() => { polhode.speed = 0.0015 }")
    for _ in range(3):
        press("ArrowDown")
    assert abs(tab.evaluate("polhode.speed") - 1e-3) < 1e-12  # the slowest
    tab.evaluate("() => { polhode.speed = 700 }")
    for _ in range(3):
        press("ArrowUp")
    assert abs(tab.evaluate("polhode.speed") - 1e3) < 1e-6  # the fastest
    view = tab.evaluate("polhode.view")
    for key in "adws+-":
        press(key)
        assert tab.evaluate("polhode.view") != view
        view = tab.evaluate("polhode.view")
    press("r")
    dark = "document.querySelector('.polhode').dataset.theme"
    before = tab.evaluate(dark)
    press("t")
    assert tab.evaluate(dark) != before
    press("t")
    press("o")
    assert tab.evaluate("document.querySelectorAll('.cell.body').length") == 1
    press("o")
    press("?")
    assert tab.page.get_by_role("dialog", name="Help").is_visible()
    press("Escape")
    assert not tab.page.get_by_role("dialog", name="Help").is_visible()


def test_events_are_reached(two: Tab) -> None:
    tab = two
    set_time(tab, 0.0)
    tab.page.get_by_role("button", name="Next event").click()
    first = time_of(tab)
    assert abs(tab.evaluate("polhode.state(1).omega[1]")) < 0.02
    assert re.match(r"flip \(RK4\)", tab.page.locator(".event").inner_text())
    tab.page.keyboard.press("n")
    assert time_of(tab) > first + 5.0
    tab.page.keyboard.press("p")
    assert time_of(tab) == first


def test_a_click_on_a_curve_sets_the_time(free: Tab) -> None:
    tab = free
    box = tab.page.locator(".u-over").first.bounding_box()
    assert box is not None
    tab.page.mouse.click(box["x"] + 0.25 * box["width"], box["y"] + 20.0)
    assert abs(time_of(tab) - 10.0) < 0.5
    marks = tab.evaluate("[...document.querySelectorAll('.now')].map(e => getComputedStyle(e).transform)")
    tab.wait("document.querySelector('.now').getBoundingClientRect().x > 0")
    assert len(marks) == tab.evaluate("document.querySelectorAll('.chart').length") >= 1


def test_the_mark_of_the_time_stays_where_the_axis_has_it(free: Tab) -> None:
    """When colours change or a stretch is enlarged while nothing plays."""
    tab = free
    share = """() => {
      const [over, now] = [".u-over", ".now"].map(c => document.querySelector(c).getBoundingClientRect());
      return (now.x + now.width / 2 - over.x) / over.width;
    }"""
    set_time(tab, 10.0)
    for _ in range(2):
        tab.page.keyboard.press("t")
        tab.settle()
        assert abs(tab.evaluate(share) - 0.25) < 0.02
    box = tab.page.locator(".u-over").first.bounding_box()
    assert box is not None
    tab.page.mouse.move(box["x"] + 1.0, box["y"] + 20.0)
    tab.page.mouse.down()
    tab.page.mouse.move(box["x"] + box["width"] / 2.0, box["y"] + 20.0, steps=3)
    tab.page.mouse.up()
    tab.settle()
    assert abs(tab.evaluate(share) - 0.5) < 0.03
    tab.page.mouse.dblclick(box["x"] + box["width"] / 2.0, box["y"] + 20.0)


def test_every_control_has_a_name(two: Tab, playground: Tab) -> None:
    for tab in (two, playground):
        nameless = tab.evaluate(
            """[...document.querySelectorAll("button, input, summary, [role], dialog")].filter(e =>
              !(e.getAttribute("aria-label") || e.labels?.[0]?.textContent.trim() || e.textContent.trim()) &&
              e.getAttribute("aria-hidden") !== "true" && e.getAttribute("role") !== "status").map(e => e.outerHTML)"""
        )
        assert nameless == []
        names = tab.evaluate(
            "[...document.querySelectorAll('button, input')].map(e => e.getAttribute('aria-label') ?? '')"
        )
        unique = [name for name in names if name]
        assert len(unique) == len(set(unique))


@pytest.mark.evidence
def test_the_keyboard_alone_suffices(playground: Tab) -> None:
    """All that can be clicked can be reached by Tab, and is seen to be reached."""
    tab = playground
    wanted = tab.evaluate(
        """[...document.querySelectorAll("button, input, summary, .cell")].filter(e =>
          e.getClientRects().length > 0 && !e.disabled && !e.closest("dialog") && !e.closest(".menu")).length"""
    )
    reached = set()
    for _ in range(wanted + 5):
        tab.page.keyboard.press("Tab")
        element, outline = tab.evaluate(
            "[document.activeElement.outerHTML, getComputedStyle(document.activeElement).outlineStyle]"
        )
        if not element.startswith("<body"):
            assert outline != "none"
            reached.add(element)
    assert len(reached) == wanted
    # a preset, a slider and play, with nothing but keys
    tab.page.get_by_role("button", name="Disc").focus()
    tab.page.keyboard.press("Enter")
    assert "I=1.2,1.2,2.4" in tab.evaluate("location.href")
    tab.page.get_by_role("slider", name="Rate about axis 1").focus()
    tab.page.keyboard.press("ArrowRight")
    assert "w=0.37,0,2" in tab.evaluate("location.href")
    tab.page.get_by_role("button", name="Play").focus()
    tab.page.keyboard.press("Space")
    assert tab.evaluate("polhode.playing")
    tab.evaluate("polhode.pause()")


@pytest.mark.evidence
def test_what_is_shown_can_be_chosen(free: Tab) -> None:
    tab = free
    labels = "document.querySelectorAll('.body .labels span').length"
    before = tab.evaluate(labels)
    tab.page.locator("summary").click()
    tab.page.get_by_label("Space axes X Y Z").uncheck()
    assert tab.evaluate(labels) == before - 3
    tab.page.get_by_label("Rate ω").uncheck()
    assert tab.evaluate(labels) == before - 4
    tab.page.get_by_label("Space axes X Y Z").check()
    tab.page.get_by_label("Rate ω").check()
    tab.page.locator("summary").click()
    assert tab.evaluate(labels) == before


def test_fingers_turn_and_pinch(free: Tab) -> None:
    tab = free
    before = tab.evaluate("polhode.view")
    tab.evaluate(
        """() => {
          const cell = document.querySelector(".cell.body");
          cell.setPointerCapture = () => {};
          const send = (type, pointerId, clientX, clientY) =>
            cell.dispatchEvent(new PointerEvent(type, { pointerId, clientX, clientY, bubbles: true }));
          send("pointerdown", 1, 200, 200); send("pointermove", 1, 260, 220);
          send("pointerdown", 2, 300, 220); send("pointermove", 2, 400, 220);
          send("pointerup", 2, 400, 220); send("pointerup", 1, 260, 220);
        }"""
    )
    after = tab.evaluate("polhode.view")
    assert after["azimuth"] != before["azimuth"]
    assert after["elevation"] > before["elevation"]
    assert after["distance"] < 0.5 * before["distance"]
