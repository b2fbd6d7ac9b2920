"""Programs that no one holds are freed."""

import gc
import inspect
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polhode.compiler import program, programs
from polhode.compiler.recently_used import Recent

from .fresh import Fresh


def kernel(offset: float) -> Any:
    def shifted(x: Any, n: int) -> int:
        for k in range(n):
            x[k] += offset
        return n

    return shifted


def result(f: Any) -> float:
    x = np.zeros(2)
    f(x, 2)
    return float(x[1])


@pytest.fixture
def two(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that keeps two programs."""
    forget = programs._programs.on_drop if isinstance(programs._programs, Recent) else id
    monkeypatch.setattr(programs, "_programs", Recent(2, forget))


def test_the_last_used_are_kept() -> None:
    dropped: list[str] = []
    recent: Recent[str, int] = Recent(2, dropped.append)
    recent["a"], recent["b"] = 1, 2
    assert recent["a"] == 1
    recent["c"] = 3
    assert (list(recent), dropped) == (["a", "c"], ["b"])
    assert recent.get("a") == 1
    assert recent.get("b") is None
    recent["d"] = 4
    assert (list(recent), dropped) == (["a", "d"], ["b", "c"])


@pytest.mark.usefixtures("two")
def test_a_program_lives_as_long_as_someone_holds_it() -> None:
    held = program(kernel(1.0), "pi")
    other: Any = program(kernel(2.0), "pi")
    left, engine = (
        weakref.ref(other),
        weakref.ref(inspect.getclosurevars(other.at_addresses).nonlocals["call"].alive[0]),
    )
    del other
    for offset in (3.0, 4.0):
        program(kernel(offset), "pi")
    gc.collect()
    assert (left(), engine()) == (None, None)
    assert result(held) == 1.0
    again = programs.compilations
    assert result(program(kernel(2.0), "pi")) == 2.0  # from its file
    assert programs.compilations == again


@pytest.mark.usefixtures("two")
def test_a_program_in_use_by_another_thread_is_not_freed() -> None:
    started, results = threading.Event(), list[float]()

    def work(f: Any) -> None:
        x = np.zeros(1_000_000)
        for _ in range(200):
            f(x, x.size)
            started.set()
        results.append(float(x[-1]))

    thread = threading.Thread(target=work, args=(program(kernel(1.0), "pi"),))
    thread.start()
    started.wait()
    for offset in (3.0, 4.0, 5.0):
        program(kernel(offset), "pi")
    gc.collect()
    thread.join()
    assert results == [200.0]


@pytest.mark.usefixtures("two")
@pytest.mark.filterwarnings("ignore:compiled for this process only")
def test_a_large_array_lives_as_long_as_the_program_that_reads_it() -> None:
    large = np.full(200_000, 2.0)

    def reads(x: Any, n: int) -> int:
        x[0] = x[1] = large[n]
        return n

    held = program(reads, "pi")
    for offset in (3.0, 4.0):
        program(kernel(offset), "pi")
    gc.collect()
    assert result(held) == 2.0


GROWTH = """
import gc
import polhode as ph

def resident():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS"))

def compiled(k):
    scope = {}
    exec(f"def f(t, q, w, p):\\n    return (p[0] * q[{k % 4}] + 0.{k}5, w[0] * 0.{k}25, 0.125)", scope)
    torque = ph.torque(scope["f"], parameters=[0.1])
    ph.simulate(ph.Body([1, 2, 3]), torque, omega=[0.1, 0.2, 0.3], t_span=(0, 1), step=0.1, method="RK4")

for k in range(20):
    compiled(k)
gc.collect()
before = resident()
for k in range(20, 60):
    compiled(k)
gc.collect()
report(each=(resident() - before) / 40)
"""


@pytest.mark.evidence
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the memory of the process from there")
def test_torques_that_are_not_used_again_leave_little_behind(fresh: Fresh) -> None:
    """They leave 0.9 MB each, most of it in Numba's engine and in passes that llvmlite does not free."""
    assert fresh.code(GROWTH)["each"] < 1.8  # twice what was measured: pages are counted, not bytes
