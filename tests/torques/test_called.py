"""Torques that are called by their address: Python functions of any kind, and functions of C."""

import ctypes
import functools
import math
import os
import pickle
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.compiler import programs
from polhode.kernels.callback_torques import PotentialOfC, TorqueOfC
from polhode.kernels.status import Status
from polhode.kernels.types import Depends
from polhode.torques import CustomTorque, SumTorque
from polhode.torques._called import address_of

BODY = ph.Body([2.0, 3.0, 4.0])
TILTED = ph.Body([[2.0, 0.3, 0.1], [0.3, 3.0, -0.2], [0.1, -0.2, 4.0]])
Q, W = (0.5, 0.5, 0.5, 0.5), (0.4, -0.2, 0.7)
RUN: dict[str, Any] = {"omega": W, "attitude": Q, "t_span": (0.0, 2.0), "step": 0.1, "method": "RK4"}
EVERYTHING = Depends.POSITION | Depends.TIME | Depends.RATE


def swinging(t: float, q: Any, w: Any, p: Any) -> Any:
    return (p[0] * math.sin(t) + q[1], -p[1] * w[1], q[0] * q[2])


def called(function: Any, **options: Any) -> CustomTorque:
    return ph.torque(compiled=False, **options)(function)


def fails_at(when: float, what: BaseException) -> CustomTorque:
    def fragile(t: float, q: Any, w: Any, p: Any) -> Any:
        if t > when:
            raise what
        return (0.1, 0.0, 0.2)

    return called(fragile)


class Model:
    """Somebody's class with a state, a method and a call."""

    def __init__(self) -> None:
        t = np.linspace(0.0, 2.0, 21)
        self.spline = CubicSpline(t, np.column_stack([np.sin(t), np.cos(2 * t), 0.3 * t]))
        self.calls = 0

    def torque(self, t: float, q: Any, w: Any, p: Any) -> Any:
        self.calls += 1
        return 0.3 * self.spline(t) - 0.1 * np.array(w)

    def __call__(self, t: float, q: Any, w: Any, p: Any) -> list[float]:
        return [0.1 * t, 0.2, 0.3]


# --- the same motion -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [BODY, TILTED], ids=["aligned", "tilted"])
def test_the_bits_are_those_of_the_compiled_function(body: ph.Body) -> None:
    mine = called(swinging, parameters=[0.3, 0.1])
    ours = ph.torque(swinging, parameters=[0.3, 0.1])
    here, there = ph.simulate(body, mine, **RUN), ph.simulate(body, ours, **RUN)
    assert (here.momentum == there.momentum).all()
    assert (here.quaternion == there.quaternion).all()
    assert here.nfev == there.nfev == 80


def test_one_program_serves_all() -> None:
    ph.simulate(BODY, called(swinging, parameters=[0.3, 0.1]), **RUN)
    before = programs.compilations
    for k in range(3):
        ph.simulate(BODY, called(lambda t, q, w, p, k=k: (0.1 * k, w[0], t)), **RUN)
    assert programs.compilations == before


def test_any_callable() -> None:
    model = Model()
    for function in (
        model.torque,
        model,
        functools.partial(lambda k, t, q, w, p: (k * t, 0.0, w[2]), 0.5),
        functools.partial(lambda t, q, w, p, gain: (gain * t, 0.0, w[2]), gain=0.5),
        lambda t, q, w, p: np.array([t, 0.0, w[1]], dtype=np.float32),
        lambda *arguments: (1, 2, np.float64(3.0)),
    ):
        found = ph.simulate(BODY, called(function), **RUN)
        by_hand = ph.simulate(
            BODY, called(lambda t, q, w, p, f=function: tuple(float(x) for x in f(t, q, w, p))), **RUN
        )
        assert (found.momentum == by_hand.momentum).all()
    assert called(model.torque).name == "torque"
    assert called(model).name == "Model"
    assert model.calls > 0


def test_against_scipy() -> None:
    """A bound method that holds an interpolator."""
    model = Model()

    def slope(t: float, y: Any) -> Any:
        w = y[4:]
        m = np.diag([2.0, 3.0, 4.0]) @ w
        a, b, c, d = y[:4]
        x, y_, z = w
        turned = 0.5 * np.array(
            [-b * x - c * y_ - d * z, a * x + c * z - d * y_, a * y_ - b * z + d * x, a * z + b * y_ - c * x]
        )
        return np.concatenate([turned, (model.torque(t, y[:4], w, ()) - np.cross(w, m)) / [2.0, 3.0, 4.0]])

    truth = solve_ivp(slope, (0.0, 2.0), [*Q, *W], method="DOP853", rtol=1e-13, atol=1e-13, max_step=0.1).y[:, -1]
    found = ph.simulate(BODY, called(model.torque), **RUN | {"step": 0.002})
    assert np.abs(found.omega[-1] - truth[4:]).max() < 1e-8
    apart = Rotation.from_quat(truth[[1, 2, 3, 0]]).inv() * Rotation.from_quat(found.quaternion[-1, [1, 2, 3, 0]])
    assert apart.magnitude() < 1e-8


def test_parameters_stay_what_they_were() -> None:
    """An array that the function keeps does not change with the memory of a later run, and cannot be written to."""
    kept = []

    def keeping(t: float, q: Any, w: Any, p: Any) -> Any:
        kept.append(p)
        return (p[0], 0.0, 0.0)

    mine = called(keeping, parameters=[1.5])
    ph.simulate(BODY, mine, **RUN)
    ph.simulate(BODY, mine.with_parameters([2.5]), **RUN)
    assert {float(p[0]) for p in kept} == {1.5, 2.5}
    assert not any(p.flags.writeable for p in kept)


@pytest.mark.usefixtures("plain")
def test_in_plain_python() -> None:
    mine = ph.simulate(BODY, called(swinging, parameters=[0.3, 0.1]), **RUN)
    assert (mine.momentum == ph.simulate(BODY, ph.torque(swinging, parameters=[0.3, 0.1]), **RUN).momentum).all()
    boom = KeyError("boom")
    with pytest.raises(KeyError) as caught:
        ph.simulate(BODY, fails_at(1.0, boom), **RUN)
    assert caught.value is boom
    assert boom.solution.t_last == pytest.approx(1.0)  # type: ignore[attr-defined]
    assert boom.solution.t.size == 11  # type: ignore[attr-defined]


# --- what it depends on ----------------------------------------------------------------------------------------------


class OfTime:
    def method(self, time: float, q: Any, w: Any, p: Any) -> Any:
        return (time, 0.0, 0.0)


@pytest.mark.parametrize(
    ("function", "reads"),
    [
        (lambda t, q, w, p: (q[0], 0.0, 0.0), Depends.POSITION),
        (lambda t, q, w, p: (t, 0.0, 0.0), Depends.POSITION | Depends.TIME),
        (lambda t, q, w, p, gain=2.0: (gain * w[0], 0.0, 0.0), Depends.POSITION | Depends.RATE),
        (OfTime().method, Depends.POSITION | Depends.TIME),
        (functools.partial(lambda k, t, q, w, p: (k * w[0], 0.0, 0.0), 2.0), Depends.POSITION | Depends.RATE),
        (functools.partial(lambda t, q, w, p, gain: (gain, 0.0, 0.0), gain=0.5), EVERYTHING),
        (lambda *arguments: (0.0, 0.0, 0.0), EVERYTHING),
        (max, EVERYTHING),
    ],
)
def test_what_it_depends_on_is_read_where_it_can_be(function: Any, reads: Depends) -> None:
    assert called(function).depends == reads
    assert called(function, depends="time").depends == Depends.POSITION | Depends.TIME


@pytest.mark.usefixtures("plain")
def test_splittings_take_what_does_not_read_the_rate() -> None:
    found = ph.simulate(BODY, called(lambda t, q, w, p: (q[1], 0.0, 0.0)), **RUN | {"method": "MR2"})
    assert found.success
    with pytest.raises(ValueError, match="rate"):
        ph.simulate(BODY, called(swinging, parameters=[1.0, 1.0]), **RUN | {"method": "MR2"})


def test_bends() -> None:
    spline = CubicSpline([0.0, 1.0, 2.0], [0.0, 1.0, 0.0])
    assert not called(swinging).may_bend
    assert not called(OfTime().method).may_bend
    assert called(lambda t, q, w, p: (abs(w[0]), 0.0, 0.0)).may_bend
    assert called(lambda t, q, w, p: (float(spline(t)), 0.0, 0.0)).may_bend  # what it calls cannot be read
    assert called(Model().torque).may_bend
    assert called(max).may_bend
    assert not called(Model().torque, smooth=True).may_bend
    assert called(swinging, smooth=False).may_bend
    assert not called(max, breakpoints=[1.0]).may_bend
    assert not called(max).bends_known
    assert not (ph.ConstantBodyTorque((0.0, 0.0, 1.0)) + called(max)).bends_known
    with pytest.raises(TypeError, match="compiled=False"):
        ph.torque(swinging, smooth=True)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (3.0, "is called with"),
        (Model, "is called with"),
        (lambda t, q, w: (0, 0, 0), r"called with \(t, q, w, p\), unlike <lambda>\(t, q, w\)"),
        (functools.partial(swinging, 0.0), "unlike swinging"),
    ],
)
def test_what_cannot_be_called(function: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        called(function)


def test_what_would_return_no_numbers() -> None:
    async def later(t: float, q: Any, w: Any, p: Any) -> Any:
        return (0.0, 0.0, 0.0)

    with pytest.raises(TypeError, match="async"):
        called(later)
    with pytest.raises(TypeError, match="potential is called with"):
        called(swinging, potential=lambda t, q: 0.0)


# --- exceptions ------------------------------------------------------------------------------------------------------


def test_an_exception_comes_out_as_it_was_raised() -> None:
    whole = ph.simulate(BODY, called(lambda t, q, w, p: (0.1, 0.0, 0.2)), **RUN)
    boom = KeyError("boom")
    with pytest.raises(KeyError) as caught:
        ph.simulate(BODY, fails_at(1.0, boom), **RUN)
    assert caught.value is boom
    assert any(entry.name == "fragile" for entry in caught.traceback)
    assert "raised by the torque fragile at t = 1.05" in boom.__notes__
    assert "what was computed is the `solution` of this exception" in boom.__notes__
    partial: ph.Solution = boom.solution  # type: ignore[attr-defined]
    assert partial.status == Status.RAISED
    assert "the torque fragile raised KeyError: 'boom' after 10 of 20 steps" in partial.message
    assert (partial.t == whole.t[:11]).all()
    assert (partial.momentum == whole.momentum[:11]).all()


@pytest.mark.parametrize("method", ["DOP853", "G8", "Adams", "SABA4", "Strang(corrector=17)"])
@pytest.mark.usefixtures("plain")
def test_whatever_the_method(method: str) -> None:
    boom = RuntimeError("no more")

    def fragile(t: float, q: Any, w: Any, p: Any) -> Any:
        if t > 1.05:
            raise boom
        return (0.1 * q[0], 0.0, 0.2)

    with pytest.raises(RuntimeError) as caught:
        ph.simulate(BODY, called(fragile, depends="attitude"), **RUN | {"method": method})
    assert caught.value is boom
    assert 0.0 <= boom.solution.t_last <= 1.05  # type: ignore[attr-defined]


def test_with_steps_of_their_own_length() -> None:
    boom = RuntimeError("no more")
    with pytest.raises(RuntimeError) as caught:
        ph.simulate(BODY, fails_at(1.0, boom), **RUN | {"method": "DOP853"})
    assert caught.value is boom
    assert 0.5 < boom.solution.t_last <= 1.0  # type: ignore[attr-defined]
    assert boom.solution.t[-1] == boom.solution.t_last  # type: ignore[attr-defined]


def test_with_a_tolerance() -> None:
    boom = ZeroDivisionError("no more")
    with pytest.raises(ZeroDivisionError) as caught:
        ph.simulate(BODY, fails_at(1.0, boom), omega=W, t_span=(0.0, 2.0), t_eval=[0.5, 1.0, 1.5], rtol=1e-6)
    assert caught.value is boom
    assert boom.solution.t[0] == 0.5  # type: ignore[attr-defined]


def test_at_the_very_start() -> None:
    boom = OSError("no table")
    with pytest.raises(OSError, match="no table") as caught:
        ph.simulate(BODY, fails_at(-1.0, boom), **RUN)
    assert caught.value is boom
    assert boom.solution.t.tolist() == [0.0]  # type: ignore[attr-defined]
    assert "at the very start" in boom.solution.message  # type: ignore[attr-defined]


def test_ctrl_c_in_the_function() -> None:
    with pytest.raises(ph.SimulationInterrupted) as caught:
        ph.simulate(BODY, fails_at(1.0, KeyboardInterrupt()), **RUN)
    assert caught.value.solution.t_last == pytest.approx(1.0)
    leaving = SystemExit(3)
    with pytest.raises(SystemExit) as left:
        ph.simulate(BODY, fails_at(1.0, leaving), **RUN)
    assert left.value is leaving
    assert leaving.solution.t_last == pytest.approx(1.0)  # type: ignore[attr-defined]


@pytest.mark.usefixtures("ctrl_c")
def test_signals_are_not_lost_at_the_border() -> None:
    """Python looks for signals at the beginning of a function: before a `try` in it."""
    for k in range(5):
        timer = threading.Timer(0.01 + 0.003 * k, os.kill, (os.getpid(), signal.SIGINT))

        def endless(t: float, q: Any, w: Any, p: Any, timer: Any = timer) -> Any:
            if t > 1.0 and timer.ident is None:  # the signal comes within the run, however long it takes to begin
                timer.start()
            return (0.0, 0.0, 0.0)  # the body keeps its rate: a faster one would end the run by itself

        with pytest.raises(ph.SimulationInterrupted) as caught:
            ph.simulate(BODY, called(endless), **RUN | {"t_span": (0.0, 1e6), "every": 1_000_000})
        timer.join()
        assert caught.value.solution.t_last > 0.9  # the step in which the timer began may be the last


def test_a_run_within_a_run() -> None:
    """What the inner run raises comes out of the inner one, and through the outer one."""
    boom = LookupError("inside")
    inner = fails_at(0.5, boom)

    def outer(t: float, q: Any, w: Any, p: Any) -> Any:
        if t > 1.0:
            ph.simulate(BODY, inner, **RUN)
        return (0.1, 0.0, 0.0)

    with pytest.raises(LookupError) as caught:
        ph.simulate(BODY, called(outer), **RUN)
    assert caught.value is boom


# --- results that are no torques -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, r"must return three numbers, not None: does it end without return\? \(at t = 1.05\)"),
        ((1.0, 2.0), r"must return three numbers, not \(1.0, 2.0\) \(at t = 1.05\)"),
        (7.0, r"must return three numbers, as a tuple, list or array, not 7.0 \(at t = 1.05\)"),
        ((1.0, 2j, 3.0), r"returned \(1.0, 2j, 3.0\) at t = 1.05: 2j is complex"),
        ((1.0, None, 3.0), "None is no number"),
        ((1.0, "2", 3.0), "'2' is no number"),
        (np.zeros((3, 2)), "is no number"),
    ],
)
def test_wrong_results(result: Any, message: str) -> None:
    wrong = called(lambda t, q, w, p: result if t > 1.0 else (0.1, 0.0, 0.2))
    with pytest.raises(ValueError, match=message) as caught:
        ph.simulate(BODY, wrong, **RUN)
    assert caught.value.solution.t_last == pytest.approx(1.0)  # type: ignore[attr-defined]


@pytest.mark.parametrize("result", [None, (1.0, 2.0), (1.0, 2j, 3.0), (math.nan, 0.0, 0.0)])
def test_wrong_results_at_the_start(result: Any) -> None:
    with pytest.raises(ValueError, match=r"the torque <lambda> (must return|returned)"):
        ph.simulate(BODY, called(lambda t, q, w, p: result), **RUN)


def test_nan_on_the_way() -> None:
    wrong = called(lambda t, q, w, p: (math.nan if t > 1.0 else 0.1, 0.0, 0.2))
    with pytest.raises(ph.SimulationFailed, match=r"the torque <lambda> returned \(nan, 0, 0.2\) after 10 of 20 steps"):
        ph.simulate(BODY, wrong, **RUN)


# --- everything else as with other torques ---------------------------------------------------------------------------


def test_events_at_and_resume() -> None:
    mine = called(swinging, parameters=[0.3, 0.1])
    ours = ph.torque(swinging, parameters=[0.3, 0.1])

    def slow(t: float, q: Any, w: Any) -> float:
        return float(w[0] - 0.41)

    seen, wanted = (ph.simulate(BODY, one, **RUN, events=slow) for one in (mine, ours))
    assert seen.events[0].t.size
    np.testing.assert_array_equal(seen.events[0].t, wanted.events[0].t)
    np.testing.assert_array_equal(seen.at([0.33, 1.77]).momentum, wanted.at([0.33, 1.77]).momentum)
    half = ph.simulate(BODY, mine, **RUN | {"t_span": (0.0, 1.0)})
    assert (ph.resume(half, 2.0).last_momentum == wanted.last_momentum).all()
    np.testing.assert_allclose(seen.torque_of(), wanted.torque_of(), rtol=0, atol=1e-15)


def test_an_exception_while_events_are_watched() -> None:
    boom = KeyError("boom")
    with pytest.raises(KeyError) as caught:
        ph.simulate(BODY, fails_at(1.0, boom), **RUN, events=lambda t, q, w: t - 0.5)
    assert caught.value is boom
    assert boom.solution.events[0].t == pytest.approx([0.5])  # type: ignore[attr-defined]
    assert boom.solution.t_last == pytest.approx(1.0)  # type: ignore[attr-defined]


@pytest.mark.usefixtures("plain")
def test_numbers_of_the_body_and_tables() -> None:
    table = ph.Table([0.0, 1.0, 2.0], [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])

    def both(t: float, q: Any, w: Any, p: Any) -> Any:
        x, y, z = ph.table_at(p[1], t)
        return (x + p[0] * p[2] * w[0], y + p[3], z - p[4] * w[2])

    given: dict[str, Any] = {"parameters": [0.1, table], "from_body": lambda body: body.moments}
    mine, ours = called(both, **given), ph.torque(both, **given)
    assert (ph.simulate(BODY, mine, **RUN).momentum == ph.simulate(BODY, ours, **RUN).momentum).all()
    assert mine.breakpoints == ours.breakpoints
    bodies, rates = [[2.0, 3.0, 4.0], [1.0, 1.5, 2.0]], [W, W]
    many: dict[str, Any] = {"omega": rates, "t_span": (0.0, 2.0), "step": 0.1, "method": "RK4"}
    here, there = (ph.ensemble(np.array(bodies), one, **many) for one in (mine, ours))
    assert (here.momentum == there.momentum).all()
    with pytest.raises(TypeError, match="state= needs compiled=True"):
        called(lambda t, q, w, p, z: ((0.0, 0.0, 0.0), (0.0,)), state=["z"])


def test_sums() -> None:
    gravity, burn = ph.GravityGradient(0.2), called(swinging, parameters=[0.3, 0.1])
    total = gravity + 0.5 * burn.during(0.5, 1.5)
    ours = gravity + 0.5 * ph.torque(swinging, parameters=[0.3, 0.1]).during(0.5, 1.5)
    found, wanted = ph.simulate(BODY, total, **RUN), ph.simulate(BODY, ours, **RUN)
    assert (found.momentum == wanted.momentum).all()
    assert total.name == "GravityGradient + swinging"
    assert total.calls_python
    np.testing.assert_array_equal(found.torque_of("swinging"), wanted.torque_of("swinging"))
    boom = KeyError("boom")
    with pytest.raises(KeyError):
        ph.simulate(BODY, gravity + 0.5 * fails_at(1.0, boom).during(0.0, 3.0), **RUN)
    assert "raised by the torque fragile at t = 1.05" in boom.__notes__


@pytest.mark.usefixtures("plain")
def test_sums_of_two() -> None:
    burn = called(swinging, parameters=[0.3, 0.1])
    twice = called(lambda t, q, w, p: (p[0], 0.0, 0.0), parameters=[1.0]) + burn  # two addresses in one p
    again = ph.torque(lambda t, q, w, p: (p[0], 0.0, 0.0), parameters=[1.0]).function
    other = ph.torque(again, parameters=[1.0]) + ph.torque(swinging, parameters=[0.3, 0.1])
    assert (ph.simulate(BODY, twice, **RUN).momentum == ph.simulate(BODY, other, **RUN).momentum).all()
    assert isinstance(twice, SumTorque)
    assert twice.with_parameters("swinging", [7.0, 8.0]).kept_parameters(BODY) == [1.0, 7.0, 8.0]


def test_a_potential() -> None:
    def pull(t: float, q: Any, w: Any, p: Any) -> Any:
        up = ph.to_body(q, (0.0, 0.0, 1.0))
        return (p[0] * up[1], -p[0] * up[0], 0.0)

    def height(t: float, q: Any, p: Any) -> float:
        up = ph.to_body(q, (0.0, 0.0, 1.0))
        return float(p[0] * up[2])

    top = called(pull, parameters=[0.7], potential=height)
    found = ph.simulate(BODY, top, **RUN | {"step": 0.001})
    assert top.conserves_energy
    up = Rotation.from_quat(found.quaternion[:, [1, 2, 3, 0]]).as_matrix()[:, 2, 2]
    np.testing.assert_allclose(found.potential_energy, 0.7 * up, rtol=0, atol=1e-14)
    assert np.abs(found.energy_error).max() < 1e-11
    boom = KeyError("no height")

    def lost(t: float, q: Any, p: Any) -> float:
        if t > 1.0:
            raise boom
        return 0.0

    there = ph.simulate(BODY, called(pull, parameters=[0.7], potential=lost), **RUN | {"step": 0.001})
    with pytest.raises(KeyError) as caught:
        _ = there.potential_energy
    assert caught.value is boom


@pytest.mark.parametrize("threads", [1, 2])
def test_an_ensemble(threads: int) -> None:
    rates = np.random.default_rng(3).normal(size=(9, 3))
    rows = np.column_stack([np.linspace(0.1, 0.9, 9), np.linspace(0.3, 0.2, 9)])
    mine = called(swinging, parameters=[0.0, 0.0])
    made = ph.ensemble(
        BODY, mine, omega=rates, parameters=rows, t_span=(0.0, 2.0), step=0.1, method="RK4", threads=threads
    )
    assert made.lanes == 1
    assert "Python function" in made.why_not_packed
    for k in (0, 4, 8):
        alone = ph.simulate(BODY, mine.with_parameters(rows[k]), **RUN | {"omega": rates[k], "attitude": None})
        assert (made.momentum[k, -1] == alone.last_momentum).all()
    listed = [called(lambda t, q, w, p, k=k: (k, 0.0, 0.0)) for k in range(9)]  # each another function
    each = ph.ensemble(BODY, listed, omega=rates, t_span=(0.0, 2.0), step=0.1, method="RK4", threads=threads)
    one = ph.simulate(BODY, listed[5], **RUN | {"omega": rates[5], "attitude": None})
    assert (each.momentum[5, -1] == one.last_momentum).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_an_exception_in_an_ensemble(threads: int) -> None:
    boom = KeyError("boom")

    def fragile(t: float, q: Any, w: Any, p: Any) -> Any:
        if p[0] == 5.0 and t > 1.0:
            raise boom
        return (0.1, 0.0, 0.0)

    rows = np.arange(8.0)[:, None]
    with pytest.raises(KeyError) as caught:
        ph.ensemble(
            BODY, called(fragile, parameters=[0.0]), omega=W, parameters=rows, t_span=(0.0, 2.0), step=0.1,
            method="RK4", threads=threads,
        )  # fmt: skip
    assert caught.value is boom
    assert any(entry.name == "fragile" for entry in caught.traceback)
    made: ph.Ensemble = boom.ensemble  # type: ignore[attr-defined]
    assert made.status[5] == Status.RAISED
    assert made.t_last[5] == pytest.approx(1.0)
    assert "raised KeyError: 'boom' after 10 of 20 steps" in made[5].message
    assert set(made.status.tolist()) <= {Status.OK, Status.RAISED, Status.INTERRUPTED}
    assert (made.status == Status.RAISED).sum() == 1
    if threads == 1:
        assert made.success[:5].all()


@pytest.mark.usefixtures("plain")
def test_an_ensemble_with_a_tolerance() -> None:
    rates = np.random.default_rng(3).normal(size=(3, 3))
    made = ph.ensemble(BODY, called(lambda t, q, w, p: (0.1 * t, 0.0, 0.0)), omega=rates, t_span=(0.0, 2.0), rtol=1e-6)
    assert made.success.all()
    boom = KeyError("boom")
    with pytest.raises(KeyError) as caught:
        ph.ensemble(BODY, fails_at(1.0, boom), omega=rates, t_span=(0.0, 2.0), rtol=1e-6)
    assert caught.value is boom
    assert len(boom.ensemble) == 3  # type: ignore[attr-defined]


@pytest.mark.usefixtures("plain")
def test_files(tmp_path: Path) -> None:
    mine = called(swinging, parameters=[0.3, 0.1])
    for torque in (mine, ph.GravityGradient(0.1) + mine):
        found = ph.simulate(BODY, torque, **RUN)
        found.save(tmp_path / "run.nc", overwrite=True)
        back = ph.load(tmp_path / "run.nc", torque=torque)
        assert (ph.resume(back, 3.0).last_momentum == ph.resume(found, 3.0).last_momentum).all()
        with pytest.raises(ValueError, match="but not its function"):
            ph.resume(ph.load(tmp_path / "run.nc"), 3.0)


def test_pickles() -> None:
    again = pickle.loads(pickle.dumps(called(Model().torque, parameters=[1.0], depends="time", smooth=True)))
    assert (again.name, again.values, again.smooth) == ("torque", (1.0,), True)
    assert ph.simulate(BODY, again, **RUN).success
    assert pickle.loads(pickle.dumps(decorated)).function is decorated.function
    with pytest.raises(pickle.PicklingError, match="good for this process only"):
        pickle.dumps(ph.torque_from_pointer(sine))


@ph.torque(compiled=False)
def decorated(t: float, q: Any, w: Any, p: Any) -> Any:
    return (t, 0.0, 0.0)


@pytest.mark.usefixtures("plain")
def test_a_compiled_function_cannot_call_it() -> None:
    assert decorated(2.0, Q, W, ()) == (2.0, 0.0, 0.0)
    assert not hasattr(decorated, "py_func")
    assert repr(decorated) == "<torque decorated(): depends on attitude, time>"


# --- functions of C --------------------------------------------------------------------------------------------------


@TorqueOfC  # type: ignore[untyped-decorator]
def sine(t: float, q: Any, w: Any, p: Any, out: Any) -> None:
    """As a function of C would be: Python only makes its machine code."""
    out[0], out[1], out[2] = 0.3 * math.sin(t) + q[1], -0.1 * w[1], q[0] * q[2]


@PotentialOfC  # type: ignore[untyped-decorator]
def tilt(t: float, q: Any, p: Any) -> float:
    return float(p[0] * q[0])


def test_a_function_of_ctypes() -> None:
    wanted = ph.simulate(BODY, ph.torque(swinging, parameters=[0.3, 0.1]), **RUN)
    for address in (sine, ctypes.cast(sine, ctypes.c_void_p), address_of("address", sine)):
        torque = ph.torque_from_pointer(address)
        found = ph.simulate(BODY, torque, **RUN)
        assert (found.momentum == wanted.momentum).all()
        assert torque.depends == EVERYTHING
        assert torque.may_bend
    assert ph.torque_from_pointer(sine, name="wind").name == "wind"
    assert ph.torque_from_pointer(sine).name == "sine" if hasattr(sine, "__name__") else "pointer"
    both = ph.torque_from_pointer(sine, potential=tilt, parameters=[2.0], depends="attitude", smooth=True)
    assert both.potential_kernel is not None
    assert both.potential_kernel(0.0, Q, both.parameters(BODY)) == 1.0
    assert (both.depends, both.may_bend) == (Depends.POSITION, False)


@pytest.mark.usefixtures("plain")
def test_a_function_of_ctypes_in_plain_python() -> None:
    wanted = ph.simulate(BODY, ph.torque(swinging, parameters=[0.3, 0.1]), **RUN)
    assert (ph.simulate(BODY, ph.torque_from_pointer(sine), **RUN).momentum == wanted.momentum).all()


def test_a_numba_cfunc() -> None:
    numbers = numba.types.CPointer(numba.types.float64)  # type: ignore[no-untyped-call]

    @numba.cfunc(numba.types.void(numba.types.float64, numbers, numbers, numbers, numbers))
    def swing(t: float, q: Any, w: Any, p: Any, out: Any) -> None:
        out[0], out[1], out[2] = p[0] * math.sin(t) + q[1], -p[1] * w[1], q[0] * q[2]

    found = ph.simulate(BODY, ph.torque_from_pointer(swing, parameters=[0.3, 0.1]), **RUN)
    wanted = ph.simulate(BODY, ph.torque(swinging, parameters=[0.3, 0.1]), **RUN)
    np.testing.assert_allclose(found.momentum, wanted.momentum, rtol=0, atol=1e-15)


SOURCE = """
#include <math.h>
void swing(double t, const double *q, const double *w, const double *p, double *torque) {
    torque[0] = p[0] * sin(t) + q[1];
    torque[1] = -p[1] * w[1];
    torque[2] = q[0] * q[2];
}
void idle(double t, const double *q, const double *w, const double *p, double *torque) {
    if (t <= 1.0) torque[0] = torque[1] = torque[2] = 0.0;
}
"""


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no compiler of C")
    folder = tmp_path_factory.mktemp("c")
    (folder / "swing.c").write_text(SOURCE, "utf-8")
    made = folder / "libswing.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(made), str(folder / "swing.c"), "-lm"], check=True)
    return ctypes.CDLL(str(made))


def test_a_function_of_c(library: ctypes.CDLL) -> None:
    wanted = ph.simulate(BODY, ph.torque(swinging, parameters=[0.3, 0.1]), **RUN)
    torque = ph.torque_from_pointer(library.swing, parameters=[0.3, 0.1])
    found = ph.simulate(BODY, torque, **RUN)
    np.testing.assert_allclose(found.momentum, wanted.momentum, rtol=0, atol=1e-15)
    assert torque.name == "swing"
    rates = np.random.default_rng(3).normal(size=(9, 3))
    rows = np.column_stack([np.linspace(0.1, 0.9, 9), np.linspace(0.3, 0.2, 9)])
    made = ph.ensemble(BODY, torque, omega=rates, parameters=rows, t_span=(0.0, 2.0), step=0.1, method="RK4")
    assert made.lanes == 8  # the steps are, the torques are called one after the other
    for k in (0, 8):
        alone = ph.simulate(BODY, torque.with_parameters(rows[k]), **RUN | {"omega": rates[k], "attitude": None})
        assert (made.momentum[k, -1] == alone.last_momentum).all()


def test_a_function_that_writes_nothing(library: ctypes.CDLL) -> None:
    with pytest.raises(ph.SimulationFailed, match=r"the torque idle returned \(nan, nan, nan\) after 10 of 20 steps"):
        ph.simulate(BODY, ph.torque_from_pointer(library.idle), **RUN)


def test_cffi() -> None:
    cffi = pytest.importorskip("cffi")
    ffi = cffi.FFI()

    @ffi.callback("void(double, const double *, const double *, const double *, double *)")  # type: ignore[untyped-decorator]
    def swing(t: float, q: Any, w: Any, p: Any, out: Any) -> None:
        out[0], out[1], out[2] = 0.3 * math.sin(t) + q[1], -0.1 * w[1], q[0] * q[2]

    wanted = ph.simulate(BODY, ph.torque(swinging, parameters=[0.3, 0.1]), **RUN)
    assert (ph.simulate(BODY, ph.torque_from_pointer(swing), **RUN).momentum == wanted.momentum).all()


@pytest.mark.parametrize(
    ("address", "kind", "message"),
    [
        (0, ValueError, "null pointer"),
        (None, ValueError, "null pointer"),
        (ctypes.c_void_p(None), ValueError, "null pointer"),
        (TorqueOfC(0), ValueError, "null pointer"),
        (-5, ValueError, "positive"),
        (2**64, ValueError, "positive"),
        (True, TypeError, "must be an address"),
        (swinging, TypeError, r"take @torque\(compiled=False\)"),
        (tilt, TypeError, "a function of 5 arguments"),
        ("sin", TypeError, "must be an address"),
    ],
)
def test_addresses_that_are_none(address: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        ph.torque_from_pointer(address)


def test_a_null_potential() -> None:
    with pytest.raises(ValueError, match="potential is a null pointer"):
        ph.torque_from_pointer(sine, potential=0)


# --- the ways out are named ------------------------------------------------------------------------------------------


def test_what_is_no_function_names_the_way_out() -> None:
    """Messages of what cannot be compiled do so too: see `test_safety.py` and `compiled/test_guard.py`."""
    with pytest.raises(TypeError, match=r"@torque\(compiled=False\), which calls anything"):
        ph.torque(functools.partial(swinging, 0.0))


def test_scenarios(call: Callable[..., tuple[int, str, str]], here: Path) -> None:
    (here / "mine.py").write_text(
        "calls = []\n"
        "def fragile(t, q, w, p):\n"
        "    calls.append(t)\n"
        "    if t > p[0]:\n"
        "        raise KeyError('boom')\n"
        "    return [0.1, 0.0, 0.0]\n",
        "utf-8",
    )
    text = (
        "[body]\nmoments = [2, 3, 4]\n[torque]\nmodel = 'mine.py:fragile'\nparameters = [{}]\ncompiled = {}\n"
        "[initial]\nomega = [1, 0, 0]\n[run]\nt_span = [0, 1]\nstep = 0.1\nmethod = 'RK4'\n"
    )
    (here / "good.toml").write_text(text.format("2.0", "false"), "utf-8")
    assert call("run", "good.toml")[0] == 0
    (here / "bad.toml").write_text(text.format("0.5", "false"), "utf-8")
    code, _, problem = call("run", "bad.toml")
    assert code == 1
    assert "raised KeyError: 'boom' after 5 of 10 steps" in problem
    assert ph.load(here / "bad.nc").t_last == pytest.approx(0.5)
    (here / "odd.toml").write_text(text.format("0.5", "7"), "utf-8")
    assert "compiled" in call("run", "odd.toml")[2]
