"""Two runs at a time: the same answers, and no thread is left behind whatever happens."""

import threading
import time
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import polhode as ph
from polhode import _auto
from polhode._aside import both
from polhode._integration import Integration


class Run:
    """Stands for a run: looks up after every chunk, as runs do."""

    def __init__(self, chunks: int, end: Callable[[], Any]) -> None:
        self.chunks, self.end, self.done = chunks, end, 0
        self.progress: Callable[[int, int], None] | None = None

    def compiled(self) -> None:
        pass

    def attempt(self) -> Any:
        for k in range(self.chunks):
            self.done = k
            time.sleep(0.001)
            if self.progress:
                self.progress(self.done, self.chunks)
        return self.end()


def pair(first: Run, second: Run) -> Any:
    return both(cast(Integration, first), cast(Integration, second))


def raising(problem: BaseException) -> Callable[[], Any]:
    def end() -> Any:
        raise problem

    return end


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Any:
    before = threading.active_count()
    yield
    assert threading.active_count() == before


def test_both() -> None:
    assert pair(Run(3, lambda: "main"), Run(9, lambda: "other")) == ("main", "other")
    assert pair(Run(9, lambda: "main"), Run(3, lambda: "other")) == ("main", "other")


def test_if_the_first_fails_the_second_is_stopped() -> None:
    second = Run(100_000, lambda: "other")
    with pytest.raises(ArithmeticError, match="first"):
        pair(Run(3, raising(ArithmeticError("first"))), second)
    assert second.done < 90_000


def test_if_the_second_fails_it_is_told() -> None:
    main, problem = pair(Run(20, lambda: "main"), Run(3, raising(ArithmeticError("second"))))
    assert (main, str(problem)) == ("main", "second")
    with pytest.raises(ArithmeticError, match="first"):
        pair(Run(20, raising(ArithmeticError("first"))), Run(3, raising(ArithmeticError("second"))))


def test_ctrl_c_while_waiting_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    join, calls = threading.Thread.join, []

    def interrupted(self: threading.Thread, timeout: float | None = None) -> None:
        calls.append(self)
        if len(calls) == 1:
            raise KeyboardInterrupt
        join(self, timeout)

    solution = ph.simulate(ph.Body([1, 2, 2.5]), omega=[1, 0, 0.1], t_span=(0, 1), step=1, method="Exact")
    monkeypatch.setattr(threading.Thread, "join", interrupted)
    second = Run(100_000, lambda: "other")
    with pytest.raises(ph.SimulationInterrupted) as stopped:
        pair(Run(3, lambda: solution), second)
    assert stopped.value.solution is solution
    assert second.done < 90_000


@pytest.mark.parametrize("rtol", [1e-3, 1e-9])
def test_answers_do_not_depend_on_it(rtol: float, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for at_once in (True, False):
        monkeypatch.setattr(_auto, "LONG_ENOUGH", 1 if at_once else 10**9)
        monkeypatch.setattr(_auto, "cores", lambda: 2)
        found.append(
            ph.simulate(
                ph.Body([1.0, 1.75, 2.5]), ph.HeavyTop(0.05), omega=[0.9, -0.7, 1.1], t_span=(0.0, 100.0), rtol=rtol,
                t_eval=[10.0, 50.0, 100.0],
            )
        )  # fmt: skip
    a, b = found
    assert np.array_equal(a.quaternion, b.quaternion)
    assert (a.error_estimate, a.nfev, a.method) == (b.error_estimate, b.nfev, b.method)
