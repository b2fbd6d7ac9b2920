"""Two runs at a time: the same answers, and no thread is left behind whatever happens."""

import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import polhode as ph
from polhode.accuracy import search
from polhode.accuracy.companion import both
from polhode.api.simulate import checked_arguments
from polhode.methods import find
from polhode.problem import Plan, Problem
from polhode.run.integration import Cancelled, Integration

FAR_TOO_LONG = 600.0
"""Seconds after which a test gives up waiting, and fails: what it waits for takes milliseconds, on an idle machine."""


class Run:
    """Stands for a run: looks up after every chunk, as runs do."""

    def __init__(self, chunks: int, end: Callable[[], Any]) -> None:
        self.chunks, self.end, self.done = chunks, end, 0
        self.progress: Callable[[int, int], None] | None = None
        self.cancelled = self.stopped = False
        self.nfev, self.seconds = 0, 0.0

    def compiled(self) -> None:
        pass

    def attempt(self) -> Any:
        for k in range(self.chunks):
            self.done = k
            time.sleep(0.001)
            if self.progress:
                self.progress(self.done, self.chunks)
            if self.cancelled:
                self.stopped = True
                raise Cancelled
        return self.end()


def endless() -> Run:
    """A run that ends only because it is not wanted."""
    return Run(int(FAR_TOO_LONG / 0.001), lambda: "other")


def wait_until(condition: Callable[[], bool]) -> None:
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < FAR_TOO_LONG
        time.sleep(0.001)


def pair(first: Run, second: Run) -> Any:
    return both(cast(Integration, first), cast(Integration, second))


def raising(problem: BaseException) -> Callable[[], Any]:
    def end() -> Any:
        raise problem

    return end


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Any:
    before = _thread._count()
    yield
    wait_until(lambda: _thread._count() == before)  # a thread speaks its last word a moment before it ends


def test_both() -> None:
    assert pair(Run(3, lambda: "main"), Run(9, lambda: "other")) == ("main", "other")
    assert pair(Run(9, lambda: "main"), Run(3, lambda: "other")) == ("main", "other")


def test_if_the_first_fails_the_second_is_stopped() -> None:
    second = endless()
    with pytest.raises(ArithmeticError, match="first"):
        pair(Run(3, raising(ArithmeticError("first"))), second)
    assert second.stopped


def test_a_second_that_turns_out_to_be_long_is_stopped_as_well() -> None:
    """Ctrl-C is not to wait for a run that began as a short one."""
    problem = Problem.given(ph.Body([1, 2, 2.8]), omega=[0.1, 2, 0], t_span=(0, 1e6), every=10**9)
    plan, not_short = Plan(find("MR2"), 0.01), cast(Any, SimpleNamespace(solution=lambda *_: None, call=None))
    whole = Integration(problem, plan)  # which would take ten seconds
    second = Integration.at_once(not_short, problem, plan, np.empty(0), None, lambda: whole)

    def end() -> Any:
        wait_until(lambda: whole.done > 0)
        raise ArithmeticError("first")

    with pytest.raises(ArithmeticError, match="first"):
        pair(Run(1, end), cast(Run, second))
    assert second.cancelled
    assert 0 < second.done == whole.done < 10**8


def test_if_the_second_fails_it_is_told() -> None:
    main, problem = pair(Run(20, lambda: "main"), Run(3, raising(ArithmeticError("second"))))
    assert (main, str(problem)) == ("main", "second")
    with pytest.raises(ArithmeticError, match="first"):
        pair(Run(20, raising(ArithmeticError("first"))), Run(3, raising(ArithmeticError("second"))))


@pytest.fixture
def heard() -> Any:
    """Set when the key has interrupted the main thread, which it does once, however often it is pressed."""
    event = threading.Event()

    def interrupt(*_: Any) -> None:
        if not event.is_set():
            event.set()
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    yield event
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_while_waiting_loses_nothing(heard: threading.Event) -> None:
    solution = ph.simulate(ph.Body([1, 2, 2.5]), omega=[1, 0, 0.1], t_span=(0, 1), step=1, method="Exact")
    main = threading.main_thread().ident
    assert main is not None

    ended = threading.Event()

    def interrupt() -> None:
        ended.wait()
        # After its own run `both` calls nothing but the lock of the other one: that is where it is.
        wait_until(lambda: sys._current_frames()[main].f_code is both.__code__)
        while not heard.wait(0.01):  # one that comes just before the lock begins to wait does not wake it up
            signal.pthread_kill(main, signal.SIGINT)

    def end() -> Any:
        ended.set()
        return solution

    second = endless()
    presser = threading.Thread(target=interrupt)
    presser.start()
    with pytest.raises(ph.SimulationInterrupted) as stopped:
        pair(Run(3, end), second)
    presser.join()
    assert stopped.value.solution is solution
    assert second.stopped


def test_progress_is_told_of_the_first_only() -> None:
    told, first, second = list[str](), Run(3, lambda: "main"), Run(3, lambda: "other")
    first.progress, second.progress = (lambda *_: told.append("main")), (lambda *_: told.append("other"))
    pair(first, second)
    assert told == ["main"] * 3


def test_a_run_that_is_not_wanted_ends() -> None:
    problem, plan = checked_arguments(
        ph.Body([1, 2, 2.5]), omega=[1, 0, 0.1], t_span=(0, 1), step=0.1, method="MR2", t_eval=[1.0]
    )
    assert isinstance(plan, Plan)
    begun = Integration(problem, plan)
    begun.cancelled = True
    with pytest.raises(Cancelled):
        begun.attempt()


@pytest.mark.parametrize("rtol", [1e-3, 1e-9])
def test_answers_do_not_depend_on_it(rtol: float, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for at_once in (True, False):
        monkeypatch.setattr(search, "WORTH_A_THREAD_FLOWS", 1 if at_once else 10**9)
        monkeypatch.setattr(search, "available_cores", lambda: 2)
        found.append(
            ph.simulate(
                ph.Body([1.0, 1.75, 2.5]), ph.HeavyTop(0.05), omega=[0.9, -0.7, 1.1], t_span=(0.0, 100.0), rtol=rtol,
                t_eval=[10.0, 50.0, 100.0],
            )
        )  # fmt: skip
    a, b = found
    assert np.array_equal(a.quaternion, b.quaternion)
    assert (a.error_estimate, a.nfev, a.method) == (b.error_estimate, b.nfev, b.method)
