"""Events and states between the rows."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from typer.testing import CliRunner
from xarray import open_dataset

import polhode as ph
from polhode.cli import app
from polhode.events import single as _events
from polhode.events.find import Evaluator, Looks, Watch, crosses
from tests.contract._measure import EPS, interpreted, matrices

BODY = ph.Body([1.0, 1.75, 2.5])
TOP = ph.HeavyTop(1.5, point=(0.375, -0.25, 0.875))
MOTION: dict[str, Any] = {"omega": [0.9, -0.7, 1.1], "attitude": [5, 1, -3, 2]}


def run(t_end: float = 20.0, step: float = 0.01, method: str = "MR2", **others: Any) -> ph.Solution:
    arguments = MOTION | {"t_span": (0.0, t_end), "step": step, "method": method}
    return ph.simulate(BODY, TOP, **(arguments | others))


def second_rate(t: float, q: Any, w: Any) -> float:
    return float(w[1])


def at_seven(t: float, q: Any, w: Any) -> float:
    return t - 7.123456789


# --- where events are


@pytest.mark.usefixtures("plain")
def test_zeros_of_a_free_motion() -> None:
    """Against the closed form: the middle rate of a book vanishes once in every half period."""
    book, omega = ph.Body([1.0, 2.0, 3.0]), [1.0, 0.1, 0.2]
    period = ph.FreeMotion(book, omega).period
    solution = ph.simulate(book, omega=omega, t_span=(0, 10 * period), step=0.05, method="Exact", events=second_rate)
    (zeros,) = solution.events
    assert zeros.t.size == 20
    assert np.diff(zeros.t) == pytest.approx(period / 2, rel=1e-13)
    # To round-off: of the state, and of the time by which it is asked for.
    assert np.abs(zeros.omega[:, 1]).max() < 64 * EPS


def test_times_are_exact_to_the_last_digits() -> None:
    """g is a function of time alone."""
    (hit,) = run(events=at_seven).events
    assert abs(hit.t[0] - 7.123456789) <= 2 * math.ulp(7.0)


def test_an_event_does_not_change_the_run() -> None:
    for output in ({}, {"every": 7}, {"t_eval": np.linspace(0.3, 19.7, 57)}):
        plain, watched = run(**output), run(**output, events=second_rate)
        assert np.array_equal(plain.t, watched.t)
        assert np.array_equal(plain.quaternion, watched.quaternion)
        assert np.array_equal(plain.momentum, watched.momentum)
        assert plain.stats.steps == watched.stats.steps
        assert plain.t_last == watched.t_last


def test_direction() -> None:
    both, up, down = run(
        events=[second_rate, ph.Event(second_rate, direction=1), ph.Event(second_rate, direction=-1)]
    ).events
    assert np.array_equal(np.sort(np.concatenate([up.t, down.t])), both.t)
    assert both.t.size >= 5
    for k, sign in ((up, 1.0), (down, -1.0)):
        later = run(t_eval=k.t + 1e-6).omega[:, 1]
        assert (sign * later > 0).all()


@pytest.mark.parametrize(
    ("before", "after", "direction", "told"),
    [
        (-1, 1, 0, True), (-1, 1, 1, True), (-1, 1, -1, False), (1, -1, 1, False), (1, -1, -1, True),
        (-1, 0, 0, True), (0, 1, 0, False), (0, 0, 0, False), (1, 2, 0, False),
    ],
)  # fmt: skip
def test_crossing(before: float, after: float, direction: int, told: bool) -> None:
    """A zero that is hit exactly counts once: when it is reached, not when it is left."""
    assert crosses(before, after, direction) is told


def test_time_may_run_backward() -> None:
    arguments: dict[str, Any] = {"step": 0.02, "method": "KL8(of=Strang)"}
    forth, end = run(events=second_rate, **arguments).events[0], run(every=10_000, **arguments)
    back = ph.simulate(
        BODY, TOP, omega=end.omega[-1], attitude=end.quaternion[-1], t_span=(20, 0), events=second_rate,
        **(arguments | {"step": -0.02}),
    ).events[0]  # fmt: skip
    assert back.t[::-1] == pytest.approx(forth.t, abs=1e-10)


@pytest.mark.usefixtures("plain")
def test_zeros_within_one_long_step() -> None:
    """A step of several radians is looked into."""
    spin = ph.Body([1.0, 1.0, 2.0])

    def side(t: float, q: Any, w: Any) -> float:
        return float(w[0])

    whole = ph.simulate(spin, omega=[1, 0, 3], t_span=(0, 20), step=20.0, method="Exact", events=side).events[0]
    # The transverse rate turns at (I3 - I1) / I1 w3 = 3.
    assert whole.t == pytest.approx((np.arange(whole.t.size) + 0.5) * np.pi / 3, abs=1e-13)
    assert whole.t.size == 19


def test_long_runs_are_watched_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    from polhode.events import single as _events

    whole = run(events=second_rate, every=3)
    monkeypatch.setattr(_events, "BLOCK", 100)
    parts = run(events=second_rate, every=3)
    assert np.array_equal(whole.t, parts.t)
    assert np.abs(whole.quaternion - parts.quaternion).max() < 64 * EPS
    assert whole.events[0].t == pytest.approx(parts.events[0].t, abs=1e-13)


@pytest.mark.parametrize("method", ["DOP853(rtol=1e-12)", "G8", "HLR"])
def test_every_kind_of_method(method: str) -> None:
    """Steps that choose their length, steps that remember the last one."""
    fine = run(events=second_rate, step=0.02, method="KL8(of=Strang)").events[0]
    step, tolerance = (0.005, 2e-3) if method == "HLR" else (0.1, 1e-9)  # of order 2
    assert run(events=second_rate, step=step, method=method).events[0].t == pytest.approx(fine.t, abs=tolerance)


def test_torque_that_jumps() -> None:
    jump = ph.PiecewiseTorque(((3.0, (0.5, 0.0, 0.0)), (20.0, (0.0, -0.5, 0.2))))
    arguments: dict[str, Any] = MOTION | {"t_span": (0, 15), "step": 0.01, "method": "RK4"}
    plain, seen = ph.simulate(BODY, jump, **arguments), ph.simulate(BODY, jump, **arguments, events=second_rate)
    assert np.array_equal(plain.t, seen.t)
    assert np.abs(plain.quaternion - seen.quaternion).max() < 64 * EPS
    assert np.abs(seen.events[0].omega[:, 1]).max() < 64 * EPS


# --- terminal


def test_terminal() -> None:
    plain, stopped = run(), run(events=[second_rate, ph.Event(at_seven, terminal=True)])
    assert stopped.success
    assert "stopped by the event at_seven" in stopped.message
    rows = stopped.t.size
    assert stopped.t[-1] == stopped.t_last == stopped.events[1].t[0] == pytest.approx(7.123456789)
    assert np.array_equal(stopped.quaternion[:-1], plain.quaternion[: rows - 1])
    assert (stopped.events[0].t < 7.2).all()
    assert run(t_eval=[1.0, 7.0, 8.0], events=ph.Event(at_seven, terminal=True)).t.tolist() == [1.0, 7.0]


def test_a_stopped_run_can_be_resumed() -> None:
    stopped = run(method="KL8(of=Strang)", events=ph.Event(at_seven, terminal=True))
    both, plain = ph.resume(stopped, 20.0), run(method="KL8(of=Strang)")
    assert np.abs(matrices(both.quaternion[-1:]) - matrices(plain.quaternion[-1:])).max() < 1e-12
    assert both.events[0].t.tolist() == stopped.events[0].t.tolist()
    assert both.events[0].t_last == 20.0


@pytest.mark.parametrize("block", [100, 1 << 14])
def test_events_go_on_with_the_run(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from polhode.events import single as _events

    monkeypatch.setattr(_events, "BLOCK", block)
    watched = [second_rate, ph.Event(at_seven, terminal=True), ph.Event(second_rate, terminal=True)]
    whole = run(method="KL8(of=Strang)", events=second_rate)
    part, stops = run(1.0, method="KL8(of=Strang)", events=watched), 0
    part.save(tmp_path / "part.nc")
    part = ph.load(tmp_path / "part.nc")
    while part.t_last < 20.0 and stops < 100:  # a zero at which it stopped does not stop it again
        part = ph.resume(part, 20.0, events=watched)
        stops += 1
    assert stops == whole.events[0].t.size + 2
    assert part.events[0].t == pytest.approx(whole.events[0].t, abs=1e-9)
    assert part.events[0].t.tolist() == part.events[2].t.tolist()
    assert part.events[1].t.tolist() == pytest.approx([7.123456789])
    assert part.events[2].energy_error.max() < 1e-9
    assert part.problem.t_start == 0.0
    other = ph.resume(run(1.0, events=at_seven), 20.0, events=second_rate)
    assert [e.metadata["event"] for e in other.events] == ["at_seven", "second_rate"]
    assert other.events[0].t.size == 0
    assert (other.events[1].t > 1.0).all()


def test_with_a_tolerance() -> None:
    solution = ph.simulate(BODY, TOP, **MOTION, t_span=(0, 20), rtol=1e-10, events=second_rate)
    fine = run(events=second_rate, step=0.02, method="KL8(of=Strang)").events[0]
    assert solution.error_estimate is not None
    assert solution.error_estimate < 1e-10
    assert solution.events[0].t == pytest.approx(fine.t, abs=1e-9)


@ph.torque
def until_five(t: float, q: Any, w: Any, p: Any) -> Any:
    return (0.1 * math.sqrt(5.0 - t), 0.0, 0.1)


def at_three(t: float, q: Any, w: Any) -> float:
    return t - 3.0


def test_a_stop_before_what_cannot_be_done() -> None:
    """What lies behind a terminal event is not run through, and does not count."""
    stop = ph.Event(at_three, terminal=True)
    found = ph.simulate(BODY, until_five, **MOTION, t_span=(0.0, 10.0), rtol=1e-8, events=stop)
    assert found.t_last == pytest.approx(3.0, abs=1e-14)
    assert found.problem.t_end == 10.0

    def euler(t: float, m: Any) -> Any:
        return np.cross(m, m / BODY.moments) + np.array([0.1 * math.sqrt(5.0 - t), 0.0, 0.1])

    known = solve_ivp(euler, (0.0, 3.0), BODY.moments * MOTION["omega"], "DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    assert np.abs(found.momentum[-1] - known).max() < 1e-8
    assert found.error_estimate is not None
    assert found.error_estimate < 1e-8
    assert found.plan.step < 3.3  # the longest that a step may be: the accurate run was not made to the end
    chaotic = {**MOTION, "t_span": (0.0, -300.0), "rtol": 1e-9}
    early = ph.simulate(BODY, ph.HeavyTop(30.0), **chaotic, events=ph.Event(second_rate, terminal=True))
    assert early.error_estimate is not None
    assert early.error_estimate < 1e-9


@ph.torque(parameters=[0.0])
def above(t: float, q: Any, w: Any, p: Any) -> Any:
    z = ph.to_body(q, (0.0, 0.0, 1.0))
    return (math.nan if z[2] < p[0] else z[1], -z[0], 0.0)


def height(t: float, q: Any, w: Any) -> float:
    return float(ph.to_space(q, (0.0, 0.0, 1.0))[2]) - 0.3


@pytest.mark.parametrize("fails_at", [pytest.param(0.2, marks=pytest.mark.evidence), 0.28, 0.299])
def test_a_stop_shortly_before_what_cannot_be_done(fails_at: float) -> None:
    """It is found between the last look and the failure, for one body and for many."""
    body, torque, stop = ph.Body([1.0, 1.4, 2.1]), replace(above, values=(fails_at,)), ph.Event(height, terminal=True)
    start: dict[str, Any] = {"omega": (0.8, 0.2, 0.3), "t_span": (0.0, 20.0)}
    known = 1.238447655110163  # the same with a torque that does not fail
    found = ph.simulate(body, torque, **start, rtol=1e-7, events=stop)
    assert found.t_last == pytest.approx(known, abs=1e-7)
    assert found.error_estimate is not None
    assert found.error_estimate < 1e-7
    stepped = ph.simulate(body, torque, **start, step=0.05, method="DOP853", events=stop)
    assert stepped.t_last == pytest.approx(known, abs=1e-5)
    many = ph.ensemble(
        body, torque, omega=[(0.8, 0.2, 0.3), (0.9, 0.1, 0.3), (0, 0, 0.3)], t_span=(0.0, 20.0), t_eval=[1.0, 20.0],
        rtol=1e-7, events=stop,
    )  # fmt: skip
    assert many.stopped_by.tolist() == [0, 0, -1]
    assert many.t_last.tolist() == pytest.approx([known, 1.158243675, 20.0], abs=1e-7)
    assert many.success.all()


def test_a_stop_that_a_first_run_sees_too_early() -> None:
    """It was no stop: the whole span is run."""
    starts: list[float] = []

    def deceived(t: float, q: Any, w: Any) -> float:
        if t == 0.0:
            starts.append(t)
        return t - 3.0 if len(starts) == 1 else -1.0

    found = ph.simulate(BODY, TOP, **MOTION, t_span=(0.0, 20.0), rtol=1e-6, events=ph.Event(deceived, terminal=True))
    assert len(starts) == 3
    assert found.t_last == 20.0


def test_the_tolerance_holds_for_events_beyond_listed_times() -> None:
    """Motions part under a strong torque, but not before the one time that is listed."""
    chaotic = {**MOTION, "t_span": (0.0, 100.0), "rtol": 1e-9, "t_eval": [0.1]}
    with pytest.warns(ph.ToleranceNotReached):
        ph.simulate(BODY, ph.HeavyTop(30.0), **chaotic, events=second_rate)
    found = ph.simulate(BODY, TOP, **MOTION, t_span=(0.0, 20.0), rtol=1e-9, t_eval=[0.1], events=second_rate)
    assert found.t.tolist() == [0.1]
    assert found.events[0].t.size > 2
    stop = ph.Event(at_three, terminal=True)
    none = ph.simulate(BODY, TOP, **MOTION, t_span=(0.0, 20.0), rtol=1e-9, t_eval=[5.0], events=stop)
    assert none.t.size == 0
    assert "none, without rows" in str(none)


# --- files


def test_saved(tmp_path: Path) -> None:
    @ph.torque(potential=lambda t, q, p: 2.0 * q[1] ** 2)
    def own(t: float, q: Any, w: Any, p: Any) -> Any:
        return (0.0, 0.1 * w[0], 0.0)

    file, events = tmp_path / "seen.nc", [at_seven, second_rate, lambda t, q, w: 1.0]
    with interpreted():
        solution = ph.simulate(BODY, own, **MOTION, t_span=(0, 9), step=0.1, method="RK4", events=events)
        solution.save(file)
    loaded = ph.load(file)
    assert [e.metadata["event"] for e in loaded.events] == ["at_seven", "second_rate", "<lambda>"]
    assert [e.t.size for e in loaded.events] == [1, solution.events[1].t.size, 0]
    for old, new in zip(solution.events, loaded.events, strict=True):
        for what in ("t", "quaternion", "momentum", "energy"):
            assert np.array_equal(getattr(old, what), getattr(new, what))
    with open_dataset(file, engine="scipy") as seen:
        assert seen.event_time.values.tolist() == [t for e in solution.events for t in e.t.tolist()]
    shown = CliRunner().invoke(app, ["show", str(file)]).output
    assert "event     at_seven, at t = 7.12345679 s" in shown
    assert f"event     second_rate, {solution.events[1].t.size} times, at t = " in shown
    assert "event     <lambda>, never" in shown


def test_nothing_happened(tmp_path: Path) -> None:
    """An array without rows would be one of unlimited length, of which a file can have only one."""
    with interpreted():
        run(1.0, events=at_seven).save(tmp_path / "none.nc")
    (event,) = ph.load(tmp_path / "none.nc").events
    assert (event.t.shape, event.quaternion.shape, event.metadata) == ((0,), (0, 4), {"event": "at_seven"})


# --- what is refused


def test_bad_events() -> None:
    def raises(t: float, q: Any, w: Any) -> float:
        raise KeyError("gone")

    def nothing(t: float, q: Any, w: Any) -> float:
        return math.nan if t > 1 else 1.0

    with pytest.raises(TypeError, match="an event is a function"):
        run(events=3.0)
    with pytest.raises(ValueError, match="the event raises raised KeyError at t = 0"):
        run(events=raises)
    with pytest.raises(ValueError, match="the event nothing is not a number at t = 1"):
        run(events=nothing)
    with pytest.raises(ValueError, match="direction of an event"):
        ph.Event(second_rate, direction=2)


def test_a_failure_keeps_what_was_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from polhode.events import single as _events

    @ph.torque
    def breaking(t: float, q: Any, w: Any, p: Any) -> Any:
        return (math.sqrt(3.0 - t), 0.0, 0.0)

    monkeypatch.setattr(_events, "BLOCK", 50)
    arguments: dict[str, Any] = MOTION | {"t_span": (0, 5), "step": 0.01, "method": "RK4"}
    with pytest.raises(ph.SimulationFailed, match="breaking") as caught:
        ph.simulate(BODY, breaking, **arguments, events=second_rate)
    seen = caught.value.solution
    with pytest.raises(ph.SimulationFailed) as caught:
        ph.simulate(BODY, breaking, **arguments)
    plain = caught.value.solution
    assert np.array_equal(seen.t, plain.t)
    assert np.abs(seen.quaternion - plain.quaternion).max() < 64 * EPS
    assert seen.events[0].t.size > 0
    assert (seen.status, seen.message) == (plain.status, plain.message)
    stopped = ph.simulate(BODY, breaking, **arguments, events=ph.Event(lambda t, q, w: t - 2.0, terminal=True))
    assert stopped.t_last == 2.0

    def impatient(done: int, total: int) -> None:
        assert total == 500
        calls.append(done)
        if len(calls) > 5:
            raise TimeoutError("enough")

    calls = list[int]()
    with pytest.raises(TimeoutError) as ended:
        ph.simulate(BODY, breaking, **arguments, events=second_rate, progress=impatient)
    assert calls == sorted(calls)
    assert ended.value.solution.t.tolist() == seen.t[: ended.value.solution.t.size].tolist()  # type: ignore[attr-defined]


# --- between the rows

TIMES = np.array([0.0, 0.005, 1.0, 3.14159, 3.14159, 19.999, 20.0, 2.0])


@pytest.mark.parametrize("output", [{}, {"every": 25}, {"t_eval": [5.0, 5.005, 20.0]}], ids=["steps", "some", "few"])
@pytest.mark.parametrize("method", ["KL8(of=Strang)", "G8", "DOP853(rtol=1e-13)", "NMB"])
def test_states_between_the_rows(method: str, output: dict[str, Any]) -> None:
    step = {"NMB": 0.001, "KL8(of=Strang)": 0.02}.get(method, 0.1)
    solution = run(step=step, method=method, **output)
    between = solution.at(TIMES)
    order = np.argsort(TIMES)
    distinct, back = np.unique(TIMES, return_inverse=True)
    direct = run(step=step, method=method, t_eval=distinct)
    allowed = 1e-5 if method == "NMB" else 1e-10  # the error of the run
    assert np.array_equal(between.t, TIMES)
    assert order.size == back.size
    assert np.abs(matrices(between.quaternion) - matrices(direct.quaternion[back])).max() < allowed
    assert np.abs(between.omega - direct.omega[back]).max() < allowed


def test_rows_are_returned_as_they_are() -> None:
    solution = run()
    assert np.array_equal(solution.at(solution.t).quaternion, solution.quaternion)
    single = solution.at(1.234)
    assert single.t.tolist() == [1.234]
    assert single.energy.shape == (1,)


@pytest.mark.usefixtures("plain")
def test_states_of_a_free_body() -> None:
    free = ph.FreeMotion(BODY, MOTION["omega"], MOTION["attitude"])
    solution = ph.simulate(BODY, **MOTION, t_span=(0, 1000), rtol=1e-9)
    times = np.linspace(0, 1000, 37)
    assert np.abs(solution.at(times).omega - free.at(times).omega).max() < 1e-11


def test_states_across_a_jump() -> None:
    jump = ph.PiecewiseTorque(((3.0, (0.5, 0.0, 0.0)), (20.0, (0.0, -0.5, 0.2))))
    arguments: dict[str, Any] = MOTION | {"t_span": (0, 15), "step": 0.01, "method": "RK4"}
    few, all_ = ph.simulate(BODY, jump, **arguments, t_eval=[2.5, 15.0]), ph.simulate(BODY, jump, **arguments)
    assert np.abs(few.at([3.0, 4.0, 7.5]).omega - all_.at([3.0, 4.0, 7.5]).omega).max() < 1e-9


def test_no_states_across_a_change_of_torque() -> None:
    changed = ph.resume(run(5.0), 10.0, torque=ph.HeavyTop(0.5))
    with pytest.raises(ValueError, match="torque was changed"):
        changed.at(7.0)


@pytest.mark.parametrize("bad", [-0.1, 20.1])
def test_times_outside(bad: float) -> None:
    with pytest.raises(ValueError, match="lies outside"):
        run().at([1.0, bad])


@pytest.mark.parametrize("bad", [math.nan, "soon", [[1.0]]])
def test_bad_times(bad: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="t must"):
        run().at(bad)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("problem", [ValueError("no such height"), KeyboardInterrupt()], ids=["raises", "Ctrl-C"])
def test_what_stops_the_looks_loses_nothing(problem: BaseException) -> None:
    """Rows and events so far are in the exception."""

    def height(t: float, q: Any, w: Any) -> float:
        if t > 3.0:
            raise problem
        return float(ph.to_space(q, (1.0, 0.0, 0.0))[2])

    with pytest.raises((ValueError, ph.SimulationInterrupted)) as caught:
        ph.simulate(
            ph.Body([1.0, 1.4, 2.1]), ph.HeavyTop(0.1), omega=[0.3, 2.0, 0.2], t_span=(0.0, 1e4), step=0.1,
            method="MR2", every=1, events=height,
        )  # fmt: skip
    found = caught.value.solution  # type: ignore[attr-defined]
    assert 3.0 <= found.t[-1] < 5e3
    assert found.events[0].t.size > 0
    assert isinstance(caught.value, ph.SimulationInterrupted) == isinstance(problem, KeyboardInterrupt)


@pytest.mark.usefixtures("plain")
def test_a_long_span_is_not_prepared_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stretches beyond a terminal event are never made."""
    made, looks_in = [0], _events.looks_in

    def counted(*given: Any) -> Any:
        made[0] += 1
        return looks_in(*given)

    monkeypatch.setattr(_events, "looks_in", counted)
    monkeypatch.setattr(_events, "BLOCK", 10)
    early = ph.Event(lambda t, q, w: t - 0.05, terminal=True)
    found = ph.simulate(
        ph.Body([1, 2, 2.5]), omega=[0.1, 2, 0.3], t_span=(0, 1e3), step=0.01, method="MR2", every=10, events=early
    )
    assert found.t_last == pytest.approx(0.05)
    assert made[0] == 1


# --- nothing is missed


def sideways(t: float, q: Any, w: Any) -> Any:
    return ph.to_space(q, (1.0, 0.0, 0.0))[0]


def spun_up(t_end: float, **others: Any) -> tuple[ph.Solution, Any]:
    """A body that is spun up from rest about its third axis, and the zeros of `sideways`: its angle is 0.005 t^2."""
    zeros = np.sqrt((np.arange(2000) + 0.5) * np.pi / 0.005)
    torque = ph.ConstantBodyTorque((0.0, 0.0, 0.01))
    arguments: dict[str, Any] = {"omega": [0.0, 0.0, 0.0], "t_span": (0.0, t_end), "events": sideways} | others
    return ph.simulate(ph.Body([1.0, 1.2, 1.0]), torque, **arguments), zeros[zeros < t_end]


@pytest.mark.usefixtures("plain")
def test_a_body_that_is_spun_up() -> None:
    """The rate at the start says nothing; at the end a step turns the body by radians."""
    for arguments in ({"step": 2.5, "method": "MR2"}, {"step": 5.0, "method": "DOP853(rtol=1e-6)"}):
        found, zeros = spun_up(150.0, every=1000, **arguments)
        assert found.events[0].t.size == zeros.size == 36
        assert np.abs(found.events[0].t - zeros).max() < (1e-9 if arguments["method"] == "MR2" else 1e-4)


@pytest.mark.evidence
def test_all_zeros_of_a_long_spin_up() -> None:
    found, zeros = spun_up(1000.0, rtol=1e-6)
    assert found.events[0].t.size == zeros.size == 1592
    assert np.abs(found.events[0].t - zeros).max() < 1e-6


def free(function: Any, t_end: float = 100.0, step: float = 0.5, **others: Any) -> ph.Solution:
    """A free body that turns about its third axis, by a radian in a second: splittings are exact there."""
    arguments: dict[str, Any] = {
        "omega": [0.0, 0.0, 1.0],
        "t_span": (0.0, t_end),
        "step": step,
        "method": "MR2",
    } | others
    return ph.simulate(ph.Body([1.0, 1.2, 1.0]), **arguments, events=function)


@pytest.mark.parametrize("step", [0.5, 0.05])
@pytest.mark.parametrize("frequency", [20.0, 2.0 * math.pi / 0.05, 4.0 * math.pi / 0.05])
def test_a_function_that_is_faster_than_the_body(frequency: float, step: float) -> None:
    """Also one whose period is a step, which looks constant after every step."""
    found = free(lambda t, q, w: np.sin(frequency * t + 0.1), 4.0, step).events[0].t
    zeros = (np.arange(1, 1000) * np.pi - 0.1) / frequency
    zeros = zeros[zeros < 4.0]
    assert found == pytest.approx(zeros, abs=1e-12)


def test_a_function_of_time_alone_and_a_body_at_rest() -> None:
    at_rest = free(lambda t, q, w: math.sin(t), omega=[0.0, 0.0, 0.0], step=100.0)
    assert at_rest.events[0].t == pytest.approx(np.arange(1, 32) * np.pi, abs=1e-12)


def test_zeros_that_are_touched() -> None:
    touched = (2 * np.arange(16) + 1) * np.pi

    def level(t: float, q: Any, w: Any) -> Any:
        return 1.0 + sideways(t, q, w)

    for step in (0.5, 0.05):
        assert free(level, step=step).events[0].t == pytest.approx(touched, abs=1e-7)  # the square root of round-off
        assert free(ph.Event(level, direction=-1), step=step).events[0].t.size == 16  # it falls to zero
        assert free(ph.Event(level, direction=1), step=step).events[0].t.size == 0
    assert free(ph.Event(level, terminal=True)).t_last == pytest.approx(np.pi, abs=1e-7)
    assert free(lambda t, q, w: (t - 7.3) ** 2).events[0].t == pytest.approx([7.3], abs=1e-7)
    assert free(lambda t, q, w: (t - 7.3) ** 2 + 1e-9).events[0].t.size == 0
    pair = free(lambda t, q, w: (t - 7.3) * (t - 7.30001)).events[0].t
    assert pair == pytest.approx([7.3, 7.30001], abs=1e-13)


def test_looks_are_not_wasted() -> None:
    """A function that is followed easily is looked at little more often than it must be, and noise is no curve."""
    looks = [0]

    def counted(function: Any) -> Any:
        def g(t: Any, q: Any, w: Any) -> Any:
            looks[0] += np.size(t)
            return function(t, q, w)

        return g

    for function, most in (
        (sideways, 900),
        (lambda t, q, w: w[0], 900),
        (lambda t, q, w: (w[2] + q[0]) - q[0] - 1.0, 6000),
        (lambda t, q, w: 0.0, 900),
        (lambda t, q, w: 1.0 if t > 5.0 else -1.0, 1000),
    ):
        looks[0] = 0
        found = free(counted(function), 100.0)
        assert looks[0] <= most
        assert found.stats.steps == 200


def test_too_fast_to_be_followed() -> None:
    with pytest.warns(ph.EventsUnresolved, match="the event <lambda> changes too fast to be followed, from t = 0 on"):
        free(lambda t, q, w: np.sin(1e6 * t), 2.0)


def test_functions_may_be_called_with_arrays() -> None:
    """Where that gives the same; functions that mean something else then are called with numbers."""

    def norm(t: Any, q: Any, w: Any) -> Any:
        return np.array(w)[2] / np.linalg.norm(w) - 2.0 + 0.1 * t  # with arrays, the norm of all rows together

    def branches(t: float, q: Any, w: Any) -> float:
        return float(q[0] if t < 50.0 else -q[0])

    def first(t: Any, q: Any, w: Any) -> Any:
        return q[0]

    both, single = free(first).events[0].t, free(lambda t, q, w: float(q[0])).events[0].t
    assert np.array_equal(both, single)
    assert free(norm).events[0].t == pytest.approx([10.0], abs=1e-13)
    assert free(branches).events[0].t.size == both.size + 1  # it jumps over zero


@given(
    omega=st.tuples(*[st.floats(-2.0, 2.0)] * 3).filter(lambda w: max(map(abs, w)) > 0.3),
    axis=st.tuples(*[st.floats(-1.0, 1.0)] * 3).filter(lambda v: max(map(abs, v)) > 0.3),
    level=st.floats(-0.5, 0.5),
    frequency=st.floats(0.1, 30.0),
    step=st.floats(0.05, 0.3),
    backward=st.booleans(),
)
@settings(max_examples=8)
def test_against_a_search_on_a_fine_grid(
    omega: Any, axis: Any, level: float, frequency: float, step: float, backward: bool
) -> None:
    """Free motions, whose truth is the closed form, at times some hundred times as close as looks are."""

    def g(t: Any, q: Any, w: Any) -> Any:
        return ph.to_space(q, axis)[2] - level + 0.3 * np.sin(frequency * t)

    sign = -1.0 if backward else 1.0
    span = (0.0, 10.0 * sign)
    found = ph.simulate(BODY, omega=omega, t_span=span, step=sign * step, method="KL8", events=g).events[0].t
    t = np.linspace(0.0, 10.0 * sign, 10_001)
    exact = ph.FreeMotion(BODY, omega).at(t)
    values = g(t, tuple(exact.quaternion.T), tuple(exact.omega.T))
    changes = np.flatnonzero((values[:-1] < 0) != (values[1:] < 0))
    deepest = np.abs(values[1:-1][(np.diff(values)[:-1] * np.diff(values)[1:]) < 0]).min(initial=1.0)
    if abs(values[0]) > 1e-6 and deepest > 1e-5:  # where the fine grid can be trusted
        assert found == pytest.approx(t[changes], abs=1e-3)  # of the grid, and of steps of up to a radian


def test_nothing_is_lost_or_found_twice_where_a_run_is_resumed() -> None:
    whole = run(events=second_rate).events[0].t
    for seam in (3.0, 7.77, float(whole[2]), float(np.nextafter(whole[3], 0.0)), float(whole[4]) + 1e-9):
        part = run(seam, events=second_rate)
        both = ph.resume(part, 20.0, events=second_rate).events[0].t
        assert both.size == whole.size
        assert both == pytest.approx(whole, abs=1e-3)  # other steps from the seam on, of order two


@pytest.mark.parametrize("rtol", [None, 1e-6, 1e-10])
def test_a_stop_within_a_tolerance_is_passed_when_a_run_is_resumed(rtol: float | None) -> None:
    """Also if the tolerance is a stricter one, for which the motion is computed anew."""
    watched, arguments = ph.Event(second_rate, terminal=True), MOTION | {"t_span": (0.0, 20.0)}
    whole = ph.simulate(BODY, TOP, **arguments, rtol=1e-10, events=second_rate).events[0].t
    part = first = ph.simulate(BODY, TOP, **arguments, rtol=1e-6, events=watched)
    for stops in (2, 3, 4):
        part = ph.resume(part, 20.0, rtol=rtol, events=watched)
        assert part.events[0].t == pytest.approx(whole[:stops], abs=1e-5)
        assert part.t_last == part.events[0].t[-1]
    kept = ph.resume(first, 9.0, rtol=rtol).events[0]
    assert kept.t.tolist() == first.events[0].t.tolist()
    assert kept.t_last == 9.0
    other = ph.resume(first, 9.0, rtol=rtol, events=ph.Event(at_seven, terminal=True))
    assert [e.t.tolist() for e in other.events] == [first.events[0].t.tolist(), pytest.approx([7.123456789])]


def test_what_lies_behind_a_terminal_event_is_not_looked_at() -> None:
    def until_three(t: float, q: Any, w: Any) -> float:
        if t > 3.5:
            raise ValueError("too late")
        return t - 3.0

    found = free([sideways, ph.Event(until_three, terminal=True)])
    assert found.t_last == 3.0
    assert found.events[0].t == pytest.approx([np.pi / 2])


@pytest.mark.parametrize("momentum", [1e12, 1e60, 1e300, np.inf, np.nan])
def test_a_motion_that_blows_up_is_not_looked_into(momentum: float) -> None:
    """Neither a warning of NumPy nor terabytes of looks come of a step in which a body turns by 1e50 rad."""
    event, q, m = ph.Event(lambda t, q, w: w[0] - 2.0), np.array([[1.0, 0.0, 0.0, 0.0]] * 3), np.ones((3, 3))
    m[2] = momentum
    looks = Looks(np.array([0.0, 0.1, 0.2]), q, m, np.zeros((3, 0)))
    watch = Watch((event,), [Evaluator(event)], ph.Body([1.0, 2.0, 2.7]), looks.row(0), 1.0, None)

    def between(*_: Any) -> Any:
        raise AssertionError("no state between these two can be had")

    with np.errstate(over="ignore"):
        found = watch._fine_enough(looks, between)
    assert found.t.tolist() == looks.t.tolist()
    assert watch.unresolved == {0: 0.1}
