"""Events of many bodies: the same as of each alone, whatever threads and stretches."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xarray import open_dataset

import polhode as ph
from polhode.ensembles import events

BODY = ph.Body([1.0, 1.75, 2.5])
TOP = ph.HeavyTop(1.5, point=(0.375, -0.25, 0.875))
DRAW = np.random.default_rng(5)
RATES, QUATERNIONS = DRAW.normal(size=(9, 3)), DRAW.normal(size=(9, 4))
MOTIONS: dict[str, Any] = {"omega": RATES, "attitude": QUATERNIONS, "t_span": (0.0, 6.0)}


def second_rate(t: float, q: Any, w: Any) -> float:
    return float(w[1])


def sideways(t: float, q: Any, w: Any) -> float:
    return float(ph.to_space(q, (1.0, 0.0, 0.0))[0])


WATCHED = [sideways, ph.Event(second_rate, direction=1, terminal=True)]


def one_by_one(**given: Any) -> list[ph.Solution]:
    return [ph.simulate(BODY, TOP, **(MOTIONS | {"omega": w, "attitude": q} | given))
            for w, q in zip(RATES, QUATERNIONS, strict=True)]  # fmt: skip


def check_same(many: ph.Ensemble, alone: list[ph.Solution], most: float) -> None:
    for k, one in enumerate(alone):
        same = many[k]
        assert [e.metadata["event"] for e in same.events] == [e.metadata["event"] for e in one.events]
        for a, b in zip(one.events, same.events, strict=True):
            assert a.t.size == b.t.size
            assert np.abs(a.t - b.t).max(initial=0.0) <= most
            assert np.abs(a.quaternion - b.quaternion).max(initial=0.0) <= most
            assert np.abs(a.momentum - b.momentum).max(initial=0.0) <= most
        assert abs(one.t_last - same.t_last) <= most
        assert np.abs(one.last_momentum - same.last_momentum).max() <= most


@pytest.mark.parametrize("method", ["MR2", "DOP853(rtol=1e-9)", "NMB"])
def test_the_same_as_one_by_one(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with steps of their own length and with methods that remember; in stretches that are shorter or longer."""
    given: dict[str, Any] = {"step": 0.05, "method": method, "events": WATCHED, "t_eval": [0.0, 1.0, 2.0, 6.0]}
    many, alone = ph.ensemble(BODY, TOP, **MOTIONS, **given), one_by_one(**given)
    check_same(many, alone, 1e-12)
    assert (many.stopped_by >= 0).sum() >= 3
    assert many.success.all()
    for k, one in enumerate(alone):
        assert np.array_equal(many[k].t, one.t)
        assert np.isnan(many.quaternion[k, one.t.size :]).all()
        assert many[k].message == one.message
    monkeypatch.setattr(events, "BODIES_TOGETHER", 2)
    monkeypatch.setattr(events, "LOOKS_TOGETHER", 30)
    check_same(ph.ensemble(BODY, TOP, **MOTIONS, **given, threads=1), alone, 1e-6 if "DOP" in method else 1e-12)


def test_the_rows_are_those_without_events() -> None:
    given: dict[str, Any] = {"step": 0.05, "method": "MR2", "every": 10}
    plain = ph.ensemble(BODY, TOP, **MOTIONS, **given)
    seen = ph.ensemble(BODY, TOP, **MOTIONS, **given, events=sideways)
    assert np.array_equal(plain.quaternion, seen.quaternion)
    assert np.array_equal(plain.momentum, seen.momentum)
    assert plain.events == ()
    (event,) = seen.events
    assert event.name == "sideways"
    assert event.count.sum() == event.t.size == event.body.size
    assert np.array_equal(np.isnan(event.first), event.count == 0)
    assert "event   sideways," in repr(seen)


def test_with_a_tolerance() -> None:
    given: dict[str, Any] = {"rtol": 1e-8, "method": "DOP853", "events": WATCHED}
    many = ph.ensemble(BODY, TOP, **MOTIONS, **given)
    check_same(many, one_by_one(**given), 1e-7)
    assert many.error_estimate is not None
    assert (many.error_estimate <= 1e-8).all()


@ph.torque
def until_five(t: float, q: Any, w: Any, p: Any) -> Any:
    return (0.1 * math.sqrt(5.0 - t), 0.0, 0.1)


@pytest.mark.usefixtures("plain")
def test_a_stop_before_what_cannot_be_done() -> None:
    stop = ph.Event(lambda t, q, w: t - 3.0, terminal=True)
    many = ph.ensemble(BODY, until_five, **MOTIONS, step=0.1, method="RK4", events=stop)
    assert many.success.all()
    assert many.t_last == pytest.approx(np.full(9, 3.0), abs=1e-13)


@pytest.mark.evidence
def test_a_stop_before_what_cannot_be_done_with_a_tolerance() -> None:
    """The runs to the end fail or miss the tolerance; up to the event there is nothing wrong."""
    stop = ph.Event(lambda t, q, w: t - 3.0, terminal=True)
    few = ph.ensemble(BODY, until_five, omega=RATES[:3], t_span=(0.0, 10.0), rtol=1e-5, method="DOP853", events=stop)
    assert few.success.all()
    assert few.error_estimate is not None
    assert (few.error_estimate <= 1e-5).all()


def test_reductions_and_files(tmp_path: Path) -> None:
    given: dict[str, Any] = {"step": 0.05, "method": "MR2", "events": WATCHED}
    many = ph.ensemble(BODY, TOP, **MOTIONS, **given)
    wanted = {
        "times": ph.quantity(lambda bodies: bodies.events[0].count.astype(float)).mean("body"),
        "end": ph.quantity("t_last").max("body"),
    }
    reduced = ph.ensemble(BODY, TOP, **MOTIONS, **given, reduce=wanted)
    assert reduced["times"] == pytest.approx(many.events[0].count.mean())
    assert reduced["end"] == many.t_last.max()
    many.save(tmp_path / "many.nc")
    table = many.to_xarray()
    with open_dataset(tmp_path / "many.nc", engine="scipy") as kept:
        for name in ("event_number", "event_body", "event_time", "event_momentum"):
            assert np.array_equal(kept[name].values, table[name].values)
        assert kept.attrs["events"] == '["sideways", "second_rate"]'
    assert table.event_time.size == sum(e.t.size for e in many.events)
    never = ph.ensemble(BODY, TOP, **MOTIONS, **(given | {"events": lambda t, q, w: 1.0}))
    assert "event_time" not in never.to_xarray()


@pytest.mark.parametrize("problem", [KeyError("gone"), KeyboardInterrupt()], ids=["raises", "Ctrl-C"])
def test_what_stops_the_looks_loses_nothing(problem: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "BODIES_TOGETHER", 2)
    calls = [0]

    def height(t: float, q: Any, w: Any) -> float:
        calls[0] += 1
        if calls[0] > 600:
            raise problem
        return float(w[1])

    with pytest.raises((ValueError, ph.EnsembleInterrupted)) as caught:
        ph.ensemble(BODY, TOP, **MOTIONS, step=0.05, method="MR2", events=height)
    kept: ph.Ensemble = caught.value.ensemble  # type: ignore[attr-defined]
    assert not np.isnan(kept.quaternion).any()
    assert kept.events[0].t.size > 0
    assert 0 < kept.success.sum() < 9
    if isinstance(caught.value, ValueError):
        assert any("of body" in note for note in caught.value.__notes__)


def test_a_single_body_and_bad_events() -> None:
    given: dict[str, Any] = {"omega": RATES[:1], "t_span": (0.0, 6.0)}
    both: list[dict[str, Any]] = [{"step": 0.05, "method": "MR2"}, {"rtol": 1e-8, "method": "DOP853"}]
    for how in both:
        many = ph.ensemble(BODY, TOP, **given, **how, events=sideways)
        alone = ph.simulate(BODY, TOP, **(given | {"omega": RATES[0]}), **how, events=sideways)
        assert many.events[0].t == pytest.approx(alone.events[0].t, abs=1e-7)
    with pytest.raises(TypeError, match="an event is a function"):
        ph.ensemble(BODY, TOP, **MOTIONS, step=0.05, method="MR2", events=3.0)
