"""The data of a page: what it holds, and what is refused."""

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.page.content import MOST_RUNS, FreeRun, SolutionRun, page_data, playground_data
from polhode.page.html import as_json
from polhode.support.thinning import FLOOR
from tests.page.page_tools import curve_of, decoded

BODY = ph.Body([1.0, 2.0, 3.0])
OMEGA = [0.01, 1.0, 0.01]


@pytest.fixture(scope="module")
def rk4() -> ph.Solution:
    return ph.simulate(BODY, omega=OMEGA, t_span=(0, 60), method="rk4", step=0.2)


@pytest.fixture(scope="module")
def top() -> ph.Solution:
    top = ph.Body([2.0, 2.0, 1.0])
    torque = ph.HeavyTop(1.0, down=(0.0, -1.0, 0.0))
    return ph.simulate(top, torque, omega=[0.5, 0.0, 3.0], t_span=(0, 10), method="rk4", step=0.02)


def run_of(*runs: Any, **kw: Any) -> Any:
    return page_data(list(runs), **kw)["runs"][0]


def test_rows_are_the_motion(rk4: ph.Solution) -> None:
    run = SolutionRun(rk4)
    got = run_of(run)
    t, q, w = decoded(got["t"], "<f8"), decoded(got["q"], width=4), decoded(got["omega"], width=3)
    true = rk4.at(t)
    turned = np.abs((true.quaternion * q).sum(axis=1))
    assert np.abs(1.0 - turned).max() < 1e-6
    assert np.abs(w - true.omega).max() < 1e-6  # float32
    assert got["moments"] == [1.0, 2.0, 3.0]
    assert (got["principal"], got["rotor"], got["free"], got["torque"]) == ([1.0, 0.0, 0.0, 0.0], None, True, None)
    assert curve_of(got, "omega")["values"] is None  # which the page has as `omega`


def rotated(q: Any, v: Any) -> np.ndarray:
    w, u = q[0], np.asarray(q[1:])
    v = np.asarray(v)
    return np.asarray(v + 2 * np.cross(u, np.cross(u, v) + w * v))


@pytest.mark.parametrize("attitude", [[1, 0, 0, 0], [0.5, 0.5, 0.5, 0.5], [0.1, -0.7, 0.7, 0.1]])
def test_the_angular_momentum_is_upright(attitude: list[float]) -> None:
    motion = ph.FreeMotion(BODY, [0.3, 1.0, -0.2], attitude)
    up = rotated(run_of(FreeRun(motion))["upright"], motion.angular_momentum)
    assert up[2] == pytest.approx(math.hypot(*up), rel=1e-14)


@pytest.mark.parametrize("omega", [[0.0, 0.0, -1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
def test_upright_has_no_exceptions(omega: list[float]) -> None:
    got = run_of(FreeRun(ph.FreeMotion(BODY, omega)))
    assert rotated(got["upright"], omega)[2] == abs(omega[2])


def test_the_vertical_of_a_top_is_upright(top: ph.Solution) -> None:
    got = run_of(SolutionRun(top))
    assert rotated(got["upright"], [0.0, 1.0, 0.0]) == pytest.approx([0.0, 0.0, 1.0], abs=1e-15)
    t = decoded(got["t"], "<f8")
    assert decoded(got["torque"], width=3) == pytest.approx(top.at(t).torque_of(), abs=1e-6)
    assert curve_of(got, "pointing")["title"].endswith("the vertical")
    assert not got["free"]


def test_curves_keep_their_extremes(rk4: ph.Solution) -> None:
    many = ph.simulate(BODY, omega=OMEGA, t_span=(0, 60), method="rk4", step=0.005)
    got = run_of(SolutionRun(many))
    for key, error in (("energy_error", many.energy_error), ("momentum_error", many.momentum_error)):
        found = curve_of(got, key)
        (values,) = (decoded(v) for v in found["values"])
        assert found["log"]
        assert values.size < 1500 < many.t.size
        assert values.max() == pytest.approx(error.max(), rel=1e-6)
        assert values.min() == pytest.approx(max(error.min(), FLOOR), rel=1e-6)
    short = curve_of(run_of(SolutionRun(rk4)), "energy_error")
    assert (decoded(short["values"][0]) >= FLOOR * (1 - 1e-6)).all()  # zero has no logarithm


def test_differences_follow_both_true_motions(rk4: ph.Solution) -> None:
    exact = ph.FreeMotion(BODY, OMEGA)
    page = page_data([FreeRun(exact, (0.0, 60.0)), SolutionRun(rk4)])
    (difference,) = page["differences"]
    t, degrees = decoded(difference["t"], "<f8"), decoded(difference["degrees"])
    turn = exact.at(t).attitude.inv() * rk4.at(t).attitude
    assert (difference["a"], difference["b"]) == (0, 1)
    assert degrees == pytest.approx(np.degrees(turn.magnitude()), rel=1e-5, abs=1e-6)
    assert degrees[-1] > 3 * degrees[t.size // 4] > 0


def test_pointing_can_be_chosen(rk4: ph.Solution) -> None:
    found = curve_of(run_of(SolutionRun(rk4), pointing=("x", [0, 1, 0])), "pointing")
    t = decoded(found["t"], "<f8")
    assert decoded(found["values"][0]) == pytest.approx(
        rk4.at(t).pointing_angle("x", [0, 1, 0], degrees=True), abs=1e-4
    )
    assert found["unit"] == "°"


def test_events_are_those_of_the_solution() -> None:
    def flip(t, q, w):  # type: ignore[no-untyped-def]
        return w[1]

    flip.__name__ = "flip <b>"
    event = ph.Event(flip)
    s = ph.simulate(BODY, omega=OMEGA, t_span=(0, 60), method="rk4", step=0.2, events=[event])
    got = run_of(SolutionRun(s))
    assert got["events"] == [{"name": "flip <b>", "t": s.events[0].t.tolist()}]
    assert len(got["events"][0]["t"]) == 3
    part = run_of(SolutionRun(s, (20.0, 60.0)))
    assert len(part["events"][0]["t"]) == sum(s.events[0].t > 20)


def test_captions_are_plain_words(rk4: ph.Solution) -> None:
    titled = dataclasses.replace(rk4, metadata={"title": "A <b>flip</b>\x1b[2J"})
    lines = run_of(SolutionRun(titled))["caption"]
    assert lines[0] == "A <b>flip</b>\\x1b[2J"  # text for the page, without commands to a terminal
    assert "method RK4, step 0.2 s, 300 steps, 301 rows" in lines
    assert "no stated error: the step was given" in lines
    stated = ph.simulate(BODY, omega=OMEGA, t_span=(0, 60), rtol=1e-9)
    assert any("stated error: at most" in line for line in run_of(SolutionRun(stated))["caption"])


def test_a_tilted_body_and_a_rotor() -> None:
    tensor = [[2.0, 0.3, 0.0], [0.3, 3.0, 0.1], [0.0, 0.1, 4.0]]
    body = ph.Body(tensor, rotor=[0.1, 0.0, 0.2])
    s = ph.simulate(body, omega=[0.1, 1.0, 0.2], t_span=(0, 10), method="rk4", step=0.02)
    got = run_of(SolutionRun(s))
    assert not got["free"]
    assert got["rotor"] == [0.1, 0.0, 0.2]
    w, m = decoded(got["omega"], width=3), s.at(decoded(got["t"], "<f8")).momentum
    principal = np.array([rotated(got["principal"], e) for e in np.eye(3)]).T
    found = (w @ principal * got["moments"]) @ principal.T + got["rotor"]
    assert found == pytest.approx(m, abs=1e-5)


def test_names_and_titles(rk4: ph.Solution) -> None:
    page = page_data([SolutionRun(rk4), SolutionRun(rk4), FreeRun(ph.FreeMotion(BODY, OMEGA))])
    assert [run["name"] for run in page["runs"]] == ["RK4 (1)", "RK4 (2)", "exact"]
    assert page["title"] == "RK4 (1) and RK4 (2) and exact"
    assert page_data([SolutionRun(rk4)], title="</script>")["title"] == "</script>"
    assert [d["b"] for d in page["differences"]] == [1, 2]


def test_other_bodies_have_a_space_of_their_own(rk4: ph.Solution, top: ph.Solution) -> None:
    page = page_data([SolutionRun(rk4), SolutionRun(top), SolutionRun(rk4)])
    assert [d["b"] for d in page["differences"]] == [2]
    assert page["runs"][0]["upright"] == page["runs"][2]["upright"] != page["runs"][1]["upright"]


def test_the_default_trail_is_that_of_the_main_axis(rk4: ph.Solution) -> None:
    """Half edges are in proportion to sqrt(4), sqrt(2), 0, and the arrow of axis 2 goes 0.42 beyond the box."""
    assert run_of(SolutionRun(rk4))["points"][0] == pytest.approx([0.0, math.sqrt(0.5) + 0.42, 0.0])


def test_everything_is_json(rk4: ph.Solution) -> None:
    assert json.loads(as_json(page_data([SolutionRun(rk4)])))["version"] == 1
    assert json.loads(as_json(playground_data()))["playground"] is True


def test_the_size_of_two_long_runs_leaves_room_for_the_code() -> None:
    motion = ph.FreeMotion(BODY, OMEGA)
    s = ph.simulate(BODY, omega=OMEGA, t_span=(0, 1000), method="rk4", step=0.05)
    page = page_data([FreeRun(motion, (0, 1000.0)), SolutionRun(s)])
    assert min(len(decoded(run["t"], "<f8")) for run in page["runs"]) > 4000
    assert len(as_json(page)) < 640_000


# --- what is refused -----------------------------------------------------------------------------------------------


def test_no_rows_and_no_function(tmp_path: Path) -> None:
    """A file keeps no function of the user's, so that nothing can be had between its rows."""

    @ph.torque
    def mine(t, q, w, p):  # type: ignore[no-untyped-def]
        return (0.1, 0.0, 0.0)

    s = ph.simulate(BODY, mine, omega=OMEGA, t_span=(0, 2), method="rk4", step=0.05, t_eval=[1.0])
    assert SolutionRun(s).shown_span == (0.0, 2.0)
    s.save(tmp_path / "mine.nc")
    kept = ph.load(tmp_path / "mine.nc")
    run = SolutionRun(kept)  # start and end are known
    assert run.shown_span == (0.0, 2.0)
    assert any("states between rows cannot be had" in line for line in run_of(run)["caption"])
    for span, words in (((0.5, 0.9), "no row"), ((0.5, 1.5), "one row, at t = 1 s")):
        with pytest.raises(ValueError, match=f"has {words}.*cannot be had.*two rows or more"):
            SolutionRun(kept, span)


def test_nan_rows_are_named(rk4: ph.Solution) -> None:
    m = rk4.momentum.copy()
    m[10, 1] = math.nan
    broken = dataclasses.replace(rk4, momentum=m)
    with pytest.raises(ValueError, match=r"the run 'RK4' holds a state at t = 2 s that is none.*t_span"):
        SolutionRun(broken)
    assert SolutionRun(broken, (0.0, 1.8)).shown_span == (0.0, 1.8)
    q = rk4.quaternion.copy()
    q[10] = 0.0
    with pytest.raises(ValueError, match="at t = 2 s that is none"):
        SolutionRun(dataclasses.replace(rk4, quaternion=q))


@pytest.mark.parametrize(
    ("span", "words"),
    [((0, 61), "not within the run"), ((5, 5), "must have a length"), ((0, math.nan), "finite"), ((0,), "shape")],
)
def test_spans_that_are_none(rk4: ph.Solution, span: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        SolutionRun(rk4, span)


def test_numbers_of_runs_and_points(rk4: ph.Solution) -> None:
    run = SolutionRun(rk4)
    with pytest.raises(ValueError, match=f"at most {MOST_RUNS} runs.*not 100"):
        page_data([run] * 100)
    with pytest.raises(ValueError, match="needs a run"):
        page_data([])
    with pytest.raises(ValueError, match="points must be 1 to 20 points"):
        page_data([run], points=np.zeros((21, 3)))
    with pytest.raises(ValueError, match=r"points must have the shape \(2, 3\)"):
        page_data([run], points=np.zeros((2, 2)))
    with pytest.raises(ValueError, match="pointing must be a body axis and a direction"):
        page_data([run], pointing="z")
    with pytest.raises(ValueError, match="body_axis must be x, y, z"):
        page_data([run], pointing=("q", [0, 0, 1]))
    assert run_of(run, points=[0, 0, 1])["points"] == [[0.0, 0.0, 1.0]]


def test_many_motions_are_refused() -> None:
    with pytest.raises(ValueError, match=r"these are 2: take one with motion\[i\]"):
        FreeRun(ph.FreeMotion(BODY, [OMEGA, OMEGA]))
