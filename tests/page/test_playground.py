"""The playground: the exact free motion in the browser, against the library, and its sliders."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polhode as ph
from tests.browser import Tab
from tests.page.conftest import SMALL, Open
from tests.page.shown import Files, picture, set_time

Problem = tuple[list[float], list[float]]
Generator = np.random.Generator


def physical(rng: Generator) -> Any:
    """Moments of three point masses' worth of extent along the axes: no one is more than the sum of the others."""
    x, y, z = rng.uniform(0.05, 1.0, 3)
    return rng.permutation([y + z, z + x, x + y])


def near_separatrix(rng: Generator) -> Problem:
    moments = physical(rng)
    i, j, k = np.argsort(moments)
    momentum = 10.0 ** rng.uniform(-6.0, 0.0)
    ratio = math.sqrt(moments[i] * (moments[k] - moments[j]) / (moments[k] * (moments[j] - moments[i])))
    omega = np.zeros(3)
    omega[j] = rng.choice([-1.0, 1.0])
    omega[k] = momentum / moments[k]
    omega[i] = momentum * ratio / moments[i] * (1.0 + rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-17.0, -1.0))
    return moments.tolist(), omega.tolist()


def generic(rng: Generator) -> Problem:
    return physical(rng).tolist(), rng.normal(size=3).tolist()


def symmetric(rng: Generator) -> Problem:
    a = rng.uniform(0.2, 1.0)
    return rng.permutation([a, a, rng.uniform(0.05, 2.0) * a]).tolist(), rng.normal(size=3).tolist()


def nearly_symmetric(rng: Generator) -> Problem:
    a = rng.uniform(0.2, 1.0)
    moments = [a, a * (1.0 + 10.0 ** rng.uniform(-15.5, -3.0)), rng.uniform(0.05, 2.0) * a]
    return rng.permutation(moments).tolist(), rng.normal(size=3).tolist()


def sphere(rng: Generator) -> Problem:
    return [float(rng.uniform(0.1, 3.0))] * 3, rng.normal(size=3).tolist()


def needle(rng: Generator) -> Problem:
    a, thin = rng.uniform(0.2, 1.0), 10.0 ** rng.uniform(-8.0, -1.0)
    moments = [a * thin, a, a * (1.0 + thin * rng.uniform(-1.0, 1.0))]
    return rng.permutation(moments).tolist(), rng.normal(size=3).tolist()


def disc(rng: Generator) -> Problem:
    a, b = rng.uniform(0.2, 1.0, 2)
    return rng.permutation([a, b, a + b]).tolist(), rng.normal(size=3).tolist()


def near_axis(rng: Generator) -> Problem:
    omega = 10.0 ** rng.uniform(-12.0, -3.0) * rng.normal(size=3)
    omega[rng.integers(3)] = rng.choice([-1.0, 1.0])
    return physical(rng).tolist(), omega.tolist()


def on_axis(rng: Generator) -> Problem:
    omega = np.zeros(3)
    omega[rng.integers(3)] = rng.choice([-1.0, 1.0])
    return physical(rng).tolist(), omega.tolist()


def in_a_plane(rng: Generator) -> Problem:
    omega = rng.normal(size=3)
    omega[rng.integers(3)] = 0.0
    return physical(rng).tolist(), omega.tolist()


def any_size(rng: Generator) -> Problem:
    return (physical(rng) * 10.0 ** rng.uniform(-40.0, 20.0)).tolist(), (
        rng.normal(size=3) * 10.0 ** rng.uniform(-12.0, 13.0)
    ).tolist()


KINDS = (
    generic, near_separatrix, symmetric, nearly_symmetric, sphere, needle, disc, near_axis, on_axis, in_a_plane,
    any_size,
)  # fmt: skip


def worst(tab: Tab, problems: list[Problem], radians: list[float]) -> tuple[float, float]:
    """The greatest differences to the library: of the attitude in rad, of the rate relative to its size."""
    sizes = [math.hypot(*omega) for _, omega in problems]
    times = [[x / size for x in radians] for size in sizes]
    asked = [[moments, omega, t] for (moments, omega), t in zip(problems, times, strict=True)]
    found = tab.evaluate("list => list.map(([I, w, t]) => polhode.exact(I, w, t))", asked)
    attitude, rate = 0.0, 0.0
    for (moments, omega), size, t, rows in zip(problems, sizes, times, found, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # at long times few digits are determined, if the input were not exact
            truth = ph.FreeMotion(ph.Body(moments), omega).at(np.array(t))
        seen, known = np.array(rows), truth.attitude.as_quat(scalar_first=True)
        assert np.isfinite(seen).all(), (moments, omega)
        side = np.where((seen[:, :4] * known).sum(axis=1) < 0.0, -1.0, 1.0)
        gap = np.linalg.norm(side[:, None] * seen[:, :4] - known, axis=1)
        attitude = max(attitude, float(4.0 * np.arcsin(np.minimum(gap / 2.0, 1.0)).max()))
        rate = max(rate, float(np.abs(seen[:, 4:] - truth.omega).max()) / max(size, float(np.abs(truth.omega).max())))
    return attitude, rate


TIMES = [0.0, 0.4, -1.7, 25.0, 1234.5]
LONG = [1e6, -3e8, 1e12]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_motion_is_that_of_the_library(playground: Tab, kind: Callable[[Generator], Problem]) -> None:
    rng = np.random.default_rng(sum(map(ord, kind.__name__)))
    problems = [kind(rng) for _ in range(20)]
    assert max(worst(playground, problems, TIMES)) < 1e-9
    assert max(worst(playground, problems, LONG)) < 1e-9  # errors do not grow


@pytest.mark.evidence
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_so_are_many_more(playground: Tab, kind: Callable[[Generator], Problem]) -> None:
    rng = np.random.default_rng(7)
    problems = [kind(rng) for _ in range(2000)]
    assert max(worst(playground, problems, TIMES + LONG)) < 1e-12


@pytest.mark.evidence
def test_presets_are_what_they_say(playground: Tab) -> None:
    def facts() -> dict[str, str]:
        playground.evaluate("polhode.draw()")  # what was clicked is seen with the next frame
        names = playground.page.locator(".facts dt").all_inner_texts()
        return dict(zip(names, playground.page.locator(".facts dd").all_inner_texts(), strict=True))

    modes = {}
    for name in ("Flip", "Needle", "Disc", "Sphere", "Toutatis", "Water"):
        playground.page.get_by_role("button", name=name).click()
        assert playground.page.get_by_role("button", name=name).get_attribute("aria-pressed") == "true"
        modes[name] = facts()["Mode"]
        set_time(playground, 3.0)
        assert np.isfinite(playground.evaluate("polhode.state().q")).all()
    assert (picture(playground)[..., 3] > 0.5).mean() > 0.05
    assert modes["Sphere"] == "steady rotation"
    assert modes["Toutatis"] == "long-axis mode"
    playground.page.get_by_role("button", name="Toutatis").click()
    assert abs(float(facts()["Period in the body"].split()[0]) - 5.41) < 0.01  # days: P_psi
    playground.page.get_by_role("button", name="Water").click()
    assert "ps" in facts()["Rate |ω| at the start"]


def test_moments_stay_those_of_a_body(playground: Tab) -> None:
    playground.page.get_by_role("button", name="Flip").click()
    number = playground.page.get_by_role("spinbutton", name="Moment about axis 3, as a number")
    number.fill("9")
    number.press("Enter")
    assert number.input_value() == "3"
    assert "no moment can be more than the sum of the others" in playground.page.locator(".note").inner_text()
    number.fill("0.2")
    number.press("Enter")
    assert number.input_value() == "1"  # the difference of the others


def test_a_link_carries_the_settings(shown: Open, files: Files) -> None:
    tab = shown(files.playground, size=SMALL, link="#I=0.7,0.5,0.9&w=0.3,-1.1,0.2&u=ps")
    motion = ph.FreeMotion(ph.Body([0.7, 0.5, 0.9]), [0.3, -1.1, 0.2])
    set_time(tab, 123456.75)
    state = tab.evaluate("polhode.state()")
    truth = motion.at(123456.75)
    assert np.abs(np.array(state["omega"]) - truth.omega).max() < 1e-12
    assert tab.evaluate("[polhode.start, polhode.end].map(t => t - polhode.time)")[0] <= 0.0  # the curves go along
    assert tab.page.locator(".now-at").inner_text().endswith("ps")
    tab.page.get_by_role("slider", name="Rate about axis 3").press("ArrowRight")
    assert "#I=0.7,0.5,0.9&w=0.3,-1.1,0.22&u=ps" in tab.evaluate("location.href").replace("0.22000000000000003", "0.22")
    for link in ("#I=1,2,9&w=1,1,1", "#I=1,2&w=1,1,1", "#w=1", "#I=-1,1,1&w=1,1,1", "#I=a,b,c&w=1,1,1", "#"):
        tab.evaluate("link => { location.hash = link }", link)  # none of them is a body
        tab.settle()  # the page hears of a new link after this
        tab.evaluate("() => { polhode.time = 0 }")
        assert np.abs(np.array(tab.evaluate("polhode.state().omega")) - [0.3, -1.1, 0.22]).max() < 1e-12
    moment_unit = tab.page.locator("legend small").first
    tab.page.get_by_role("button", name="Water").click()
    assert moment_unit.inner_text() == "10⁻⁴⁷ kg m²"
    tab.evaluate("() => { location.hash = '#I=1,2,2.5&w=0,0,0&u=s' }")  # a body at rest
    tab.wait("polhode.state().omega[1] === 0")
    assert moment_unit.inner_text() == "kg m²"
    tab.evaluate("() => { polhode.play() }")
    tab.wait("polhode.time > 0.1")
    assert tab.evaluate("polhode.state()") == {"q": [1, 0, 0, 0], "omega": [0, 0, 0]}
