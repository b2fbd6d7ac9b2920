"""What the handlers of signals raise comes out of every call, with what was computed."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.support.interrupts import (
    ProcessEnds,
    faults_ignored,
    is_from_handler,
    keeping,
    stop_if_ending,
    uninterrupted,
)

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no alarms here")


class Late(Exception):
    """What a user's own timeout may raise."""


class Alarm:
    """A handler that raises; its frame is known whatever it is: a function, a method, with any arguments."""

    def __init__(self, kind: type[BaseException]) -> None:
        self.kind = kind

    def method(self, number: int, frame: Any) -> None:
        raise self.kind("time is up")

    def any_arguments(self, *given: Any) -> None:
        raise self.kind("time is up")

    def through_another(self, number: int, frame: Any) -> None:
        self._raise()

    def _raise(self) -> None:
        raise self.kind("time is up")


@pytest.fixture
def after() -> Iterator[Callable[..., None]]:
    """Returns the function `after(seconds, handler)`, which sets the alarm.

    Seconds of the processor count, which a busy machine does not shorten; of the clock where something is `asleep`.
    """
    clocks = {signal.ITIMER_PROF: signal.SIGPROF, signal.ITIMER_REAL: signal.SIGALRM}
    usual = {number: signal.getsignal(number) for number in clocks.values()}

    def set_alarm(seconds: float, handler: Any, *, asleep: bool = False) -> None:
        clock = signal.ITIMER_REAL if asleep else signal.ITIMER_PROF
        signal.signal(clocks[clock], handler)
        signal.setitimer(clock, seconds)

    yield set_alarm
    for clock, number in clocks.items():
        signal.setitimer(clock, 0.0)
        signal.signal(number, usual[number])


BODY, TOP, LONG = ph.Body([1.0, 2.0, 2.5]), ph.HeavyTop(1.0), 1e5
"""Seconds of steps of 0.01."""


def one(end: float = LONG, **more: Any) -> Any:
    return ph.simulate(BODY, TOP, omega=[1, 2, 3], t_span=(0.0, end), every=10**6, step=0.01, method="RK4", **more)


def many(end: float = LONG, **more: Any) -> Any:
    omega = np.tile([1.0, 2.0, 3.0], (20, 1))
    return ph.ensemble(BODY, TOP, omega=omega, t_span=(0.0, end), step=0.01, method="RK4", **more)


def tolerant(end: float) -> Any:
    return ph.simulate(BODY, TOP, omega=[1, 2, 3], t_span=(0, end), t_eval=[end], rtol=1e-9, method="RK4")


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """Has everything compiled and imported, so that alarms come while it runs."""
    one(0.1)
    many(0.1)
    tolerant(10.0)


@pytest.mark.parametrize(
    ("kind", "handler"), [(Late, "method"), (TimeoutError, "any_arguments"), (SystemExit, "through_another")]
)
def test_a_run_is_stopped_by_an_alarm(after: Callable[..., None], kind: type[BaseException], handler: str) -> None:
    after(0.15, getattr(Alarm(kind), handler))
    with pytest.raises(kind) as caught:
        one()
    solution: Any = caught.value.solution  # type: ignore[attr-defined]
    assert "interrupted after" in solution.message
    assert 0 < solution.stats.steps < 1e9
    assert "handler of a signal" in caught.value.__notes__[0]


@pytest.mark.parametrize(("kind", "threads"), [(Late, 1), (TimeoutError, 2), (SystemExit, 2)])
def test_an_ensemble_is_stopped_by_an_alarm(
    after: Callable[..., None], kind: type[BaseException], threads: int
) -> None:
    after(0.2, Alarm(kind).method)
    with pytest.raises(kind) as caught:
        many(threads=threads)
    made: Any = caught.value.ensemble  # type: ignore[attr-defined]
    assert len(made) == 20
    assert not made.success.any()


def test_a_tolerance_is_stopped_by_an_alarm(after: Callable[..., None]) -> None:
    after(0.3, Alarm(TimeoutError).method)
    with pytest.raises(TimeoutError) as caught:
        tolerant(1e4)
    assert hasattr(caught.value, "solution")


@pytest.mark.usefixtures("plain")
def test_plain_python_is_stopped_by_an_alarm(after: Callable[..., None]) -> None:
    """There the exception may come out of the torque's own lines, and the torque is not to blame."""
    left = [4000]

    @ph.torque
    def slow(t: float, q: Any, w: Any, p: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:  # the run is under way, however slow the machine is
            signal.setitimer(signal.ITIMER_PROF, 0.001)
        return (0.0, 0.0, 0.1)

    after(600.0, Alarm(Late).method)
    with pytest.raises(Late) as caught:
        ph.simulate(BODY, slow, omega=[1, 2, 3], t_span=(0, 100), step=0.01, method="RK4")
    assert caught.value.solution.stats.steps > 0  # type: ignore[attr-defined]
    left[0] = 4000
    with pytest.raises(Late):
        ph.ensemble(BODY, slow, omega=np.ones((3, 3)), t_span=(0, 100), step=0.01, method="RK4", threads=1)

    @ph.torque
    def asleep(t: float, q: Any, w: Any, p: Any) -> Any:
        time.sleep(600.0)
        return (0.0, 0.0, 0.1)

    after(2.0, Alarm(TimeoutError).method, asleep=True)
    with pytest.raises(TimeoutError, match="time is up"):  # while the torque is tried
        ph.simulate(BODY, asleep, omega=[1, 2, 3], t_span=(0, 100), step=0.01, method="RK4")


def test_a_reduction_before_the_first_batch(after: Callable[..., None]) -> None:
    after(0.2, signal.default_int_handler)
    with pytest.raises(ph.EnsembleInterrupted, match="before the first batch") as caught:
        many(reduce={"rate": ph.quantity("omega").mean("body")})
    nothing = caught.value.ensemble
    assert nothing.count == 0
    with pytest.raises(KeyError, match="stopped before the first batch of bodies was reduced"):
        nothing["rate"]


def test_whose_exception_it_is() -> None:
    def caught(f: Callable[..., None], *given: Any) -> BaseException:
        with pytest.raises(Late) as found:
            f(*given)
        return found.value

    def in_line() -> None:
        raise Late

    def innocent(number: int, frame: Any) -> None:
        raise Late

    assert not is_from_handler(caught(in_line))
    assert not is_from_handler(caught(innocent, 3, None))
    assert not is_from_handler(caught(innocent, 3, sys._getframe().f_back))

    usual = signal.signal(signal.SIGUSR1, partial(Alarm.method, Alarm(Late)))
    try:
        with faults_ignored():
            raise Late
        with pytest.raises(Late) as found, faults_ignored():
            signal.raise_signal(signal.SIGUSR1)
        assert is_from_handler(found.value)
    finally:
        signal.signal(signal.SIGUSR1, usual)


def test_work_that_cannot_be_interrupted(after: Callable[..., None]) -> None:
    done, go_on, waited = threading.Event(), threading.Event(), list[int]()

    def work() -> int:
        assert go_on.wait(600.0)
        done.set()
        return 7

    def on_wait() -> None:
        waited.append(1)
        go_on.set()

    assert uninterrupted(lambda: 3) == 3
    assert uninterrupted(work, 0.05, on_wait) == 7
    assert waited == [1]
    assert uninterrupted(work, 600.0, on_wait) == 7
    assert waited == [1]
    done.clear()
    go_on.clear()
    after(2.0, Alarm(Late).method, asleep=True)
    with pytest.raises(Late):
        uninterrupted(work)
    assert not done.is_set()
    go_on.set()
    assert done.wait(600.0)
    with pytest.raises(ZeroDivisionError):
        uninterrupted(lambda: 1 // 0)
    stop_if_ending()  # it is not
    assert not issubclass(ProcessEnds, Exception)


def test_whatever_ends_a_block_keeps_what_was_computed() -> None:
    made = ph.simulate(ph.Body([1, 2, 2.5]), omega=[1, 0, 0.1], t_span=(0, 1), step=1, method="Exact")
    with pytest.raises(ph.SimulationInterrupted) as stopped, keeping(ph.SimulationInterrupted, lambda _: made):
        raise KeyboardInterrupt
    assert stopped.value.solution is made
    with pytest.raises(LookupError) as noted, keeping(ph.SimulationInterrupted, lambda _: made, "look there"):
        raise LookupError
    assert (noted.value.solution, noted.value.__notes__) == (made, ["look there"])  # type: ignore[attr-defined]
    with pytest.raises(LookupError) as alone, keeping(ph.SimulationInterrupted, lambda _: None, "look there"):
        raise LookupError
    assert not hasattr(alone.value, "solution")
    whole = made.having(message="all of it")
    with pytest.raises(ph.SimulationFailed, match="all of it"), keeping(ph.SimulationInterrupted, lambda _: whole):
        raise ph.SimulationFailed(made)
