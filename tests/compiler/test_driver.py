"""The compiled loop: the same bits however it is cut, nothing written outside its arrays, and exact failure reports."""

import threading
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.compiler import KernelRaised, program
from polhode.kernels import status as codes
from polhode.kernels.loop.drive import AT, SETTING, Counters, driver
from polhode.kernels.states import STATE
from polhode.kernels.steps.flows import principal_torque
from polhode.kernels.types import Depends, Scales
from polhode.methods import find
from polhode.run import integration
from polhode.run.binding import SIGNATURE
from polhode.solution import Solution
from tests.compiler.fresh import Fresh


def top(**how: Any) -> Solution:
    """2500 steps: more than two chunks of the first size."""
    settings: dict[str, Any] = {"t_span": (0.0, 25.0), "step": 0.01, "method": "MR2", "omega": [0.3, 0.1, 2.0], **how}
    return ph.simulate(ph.Body([1.0, 2.0, 2.5]), ph.HeavyTop(0.7), **settings)


def last(solution: Solution) -> bytes:
    return solution.last_quaternion.tobytes() + solution.last_momentum.tobytes()


# --- bits ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def grid() -> Solution:
    return top()


def test_output_does_not_change_the_run(grid: Solution) -> None:
    sparse = top(every=7)
    assert last(sparse) == last(grid)
    np.testing.assert_array_equal(sparse.quaternion[:-1], grid.quaternion[::7])
    aside = np.array([0.0, 0.004, 0.01, 0.0101, 9.9999, 10.0, 24.996, 25.0])
    listed = top(t_eval=aside)
    assert last(listed) == last(grid)
    np.testing.assert_array_equal(listed.momentum[[0, 2, 5, 7]], grid.momentum[[0, 1, 1000, 2500]])
    assert last(top(every=100_000)) == last(grid)


@pytest.mark.parametrize("seconds", [0.0, 1e-5, 1e9])
def test_chunks_do_not_change_the_run(grid: Solution, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(integration, "CHUNK_SECONDS", seconds)
    chunks: list[int] = []
    again = top(progress=lambda done, total: chunks.append(done))
    assert again.quaternion.tobytes() == grid.quaternion.tobytes()
    assert again.momentum.tobytes() == grid.momentum.tobytes()
    assert chunks == sorted(set(chunks))
    assert chunks[-1] == 2500
    if seconds == 0.0:
        assert len(chunks) == 2500  # never less than a step, however slow
    if seconds == 1e9:
        assert chunks == [1, 5, 21, 85, 341, 1365, 2500]


def test_threads_do_not_change_the_run(grid: Solution) -> None:
    found: list[bytes] = []

    def one(every: int) -> None:
        found.append(last(top(every=every)))

    threads = [threading.Thread(target=one, args=(k + 1,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [last(grid)] * 6


# --- the driver by hand ----------------------------------------------------------------------------------------------

GUARD = -12345.0
GUARD_INTEGER = -987654321


def weight(t: float, q: Any, w: Any, p: Any) -> Any:
    return (p[0] * q[1], p[1] * q[2], p[2] * t)


class Arrays:
    """Everything that a driver is given, each array with guards before and after it."""

    def __init__(self, rows: int, memory: int, plan: list[tuple[int, float]], steps: int, every: int) -> None:
        self.whole: list[Any] = []
        self.setting = self.floats([1.0, 2.0, 2.5, 1.0, 0.5, 0.4, 1.0, 0.0, 0.0, 0.0, -1e9, 1e9, *[0.0] * 6])
        assert self.setting.size == SETTING
        self.values = self.floats([0.1, 0.2, 0.3])
        self.state = self.floats([1.0, 0.0, 0.0, 0.0, 0.3, 0.2, 5.0])
        self.carried = self.floats([0.0] * memory)
        self.offset = self.floats([offset for _, offset in plan])
        self.out = self.floats([np.nan] * (STATE * rows))
        self.index = self.integers([index for index, _ in plan])
        due = plan[0][0] if plan else (0 if every else steps + 1)
        count = Counters(
            done=0, steps=steps, row=0, rows=rows, due=due, every=every, next=0, times=len(plan), asides=0, values=3
        )
        self.count = self.integers(count)

    def floats(self, content: Any) -> Any:
        return self.guarded(np.array(content, dtype=np.float64), GUARD)

    def integers(self, content: Any) -> Any:
        return self.guarded(np.array(content, dtype=np.int64), GUARD_INTEGER)

    def guarded(self, content: Any, guard: Any) -> Any:
        whole = np.concatenate([np.full(8, guard), content, np.full(8, guard)]).astype(content.dtype)
        self.whole.append((whole, guard))
        return whole[8 : 8 + content.size]

    def intact(self) -> bool:
        return all((w[:8] == guard).all() and (w[-8:] == guard).all() for w, guard in self.whole)

    def arguments(self) -> tuple[Any, ...]:
        return (
            self.setting, self.values, self.state, self.carried, self.offset, self.out, self.index, self.count,
        )  # fmt: skip


@pytest.mark.parametrize("method", ["MR2", "RK4", "NMB"])
def test_nothing_is_written_out_of_bounds(method: str) -> None:
    pull = principal_torque(weight, tilted=False, windowed=False)
    scales = Scales((1.0, 2.0, 2.5), (0.3, 0.2, 5.0), 0.01)
    stepper = find(method).scheme.bind(pull, Depends.POSITION | Depends.TIME, scales)
    drive = program(driver(stepper), SIGNATURE)
    ends = []
    plans: list[list[tuple[int, float]]] = [
        [],
        [(0, 0.0), (0, 0.004), (3, 0.0), (9, 0.009), (10, 0.0)],
        [(10, 0.0)],
        [(9, 0.005)],
    ]
    for plan, every in [*((plan, 0) for plan in plans), ([], 1), ([], 3), ([], 10), ([], 99)]:
        rows = len(plan) if not every else 10 // every + 1
        for room in {rows, max(rows - 1, 0)}:  # also with less room than there is to say
            arrays = Arrays(room, stepper.memory, plan, 10, every)
            for stop in (1, 4, 9, 10):
                assert drive(*arrays.arguments(), 0.5, 0.01, 0.007, stop) == codes.OK
                assert arrays.count[AT.done] == stop
            assert arrays.intact()
            assert arrays.count[AT.row] == room
            assert not np.isnan(arrays.out).any()
            ends.append(arrays.state.tobytes())
    assert len(set(ends)) == 1


# --- torques that raise ----------------------------------------------------------------------------------------------


def picky(t: float, q: Any, w: Any, p: Any) -> Any:
    if t > p[0]:
        raise ValueError("late")
    return (0.0, 0.0, 0.1)


def test_a_kernel_that_raises_leaves_everything_as_it_was() -> None:
    pull = principal_torque(picky, tilted=False, windowed=False)
    scales = Scales((1.0, 2.0, 2.5), (0.3, 0.2, 5.0), 0.01)
    stepper = find("RK4").scheme.bind(pull, Depends.POSITION | Depends.TIME, scales)
    drive = program(driver(stepper), SIGNATURE)
    arrays = Arrays(11, stepper.memory, [], 10, 1)
    arrays.values[0] = 0.555
    assert drive(*arrays.arguments(), 0.5, 0.01, 0.01, 4) == codes.OK
    before = [(a.copy(), a) for a in (arrays.setting, arrays.values, arrays.state, arrays.carried, arrays.count)]
    rows = arrays.out[: 5 * STATE].copy()
    with pytest.raises(KernelRaised):
        drive(*arrays.arguments(), 0.5, 0.01, 0.01, 10)
    for old, now in before:
        np.testing.assert_array_equal(old, now)
    np.testing.assert_array_equal(rows, arrays.out[: 5 * STATE])
    assert arrays.intact()
    assert drive(*arrays.arguments(), 0.5, 0.01, 0.01, 5) == codes.OK  # the step before it happens


@pytest.mark.parametrize("guilty", [0, 1, 999, 1000, 1001, 1777, 2499])
def test_the_guilty_step_is_found(guilty: int) -> None:
    """RK4 looks at the torque half-way through a step: there it raises for the first time."""
    settings: dict[str, Any] = {"omega": [0.3, 0.1, 2.0], "step": 0.01, "method": "RK4"}
    torque, body = ph.torque(picky, parameters=[1e9]), ph.Body([1.0, 2.0, 2.5])
    message = rf"picky raised ValueError: late after {guilty} of 2500 steps"
    with pytest.raises(ph.SimulationFailed, match=message) as told:
        ph.simulate(body, torque.with_parameters([(guilty + 0.25) * 0.01]), t_span=(0.0, 25.0), **settings)
    failed = told.value.solution
    assert failed.status == codes.RAISED
    assert failed.t_last == guilty * 0.01
    if guilty:
        good = ph.simulate(body, torque, t_span=(0.0, guilty * 0.01), **settings)
        assert last(failed) == last(good)
        np.testing.assert_array_equal(failed.momentum, good.momentum)


# --- in plain Python -------------------------------------------------------------------------------------------------

PLAIN = """
import numpy as np
import polhode as ph

def jumping(t, q, w, p):
    return (p[0] * q[1], p[1] * (1.0 if t < 0.333 else -1.0), 0.0)
torque = ph.torque(jumping, parameters=[0.5, 0.3], breakpoints=[0.333, 0.7])
outputs = [{}, {"every": 3}, {"t_eval": [0.0, 0.05, 0.1234, 0.333, 0.5, 0.777, 1.0]}, {"t_eval": [0.9999]}]
ends = []
for method in ("MR2", "RK4", "NMB"):
    for output in outputs:
        how = {"t_span": (0, 1), "step": 0.05, "method": method, **output}
        s = ph.simulate(ph.Body([1, 2, 2.5]), torque, omega=[1, 2, 3], **how)
        assert s.success
        ends.append(np.concatenate([s.quaternion, s.momentum], axis=1).ravel().tolist())
report(ends=ends)
"""


def test_plain_python_with_checked_arrays(fresh: Fresh) -> None:
    """An index out of bounds, which compiled code would not notice, is an error here."""
    plain = fresh.code(PLAIN, NUMBA_DISABLE_JIT="1")
    assert plain["compilations"] == 0
    compiled: dict[str, Any] = {}
    exec(PLAIN, {"report": compiled.update})
    for one, other in zip(plain["ends"], compiled["ends"], strict=True):
        # Twenty steps of numbers of size ten; fused operations are rounded twice in Python.
        np.testing.assert_allclose(one, other, rtol=0, atol=2e-14)
