"""Ctrl-C and kill -9 at random moments: while compiling, running, saving."""

import json
import signal
import time

from polhode.compiler import programs
from tests.compiler.fresh import REPORT
from tests.faults.trial import Bench, Tally, trial

KERNEL = """
import numpy as np
from polhode.compiler import program
def kernel(x, n):
    for i in range(n):
        x[i] = 2.0 * x[i] + 1.0
    return n
def right():
    x = np.arange(4.0)
    return program(kernel, "pi")(x, 4) == 4 and x.tolist() == [1.0, 3.0, 5.0, 7.0]
"""

FIRST = """
import os, signal, sys, threading, time
def interrupt():
    time.sleep(float(sys.argv[1]))
    os.kill(os.getpid(), signal.SIGINT)
arrived = 0
begun = time.perf_counter()
try:
    threading.Thread(target=interrupt, daemon=True).start()
    import polhode as ph
    CODE
    assert right()
    took = time.perf_counter() - begun
    time.sleep(600)
except KeyboardInterrupt:
    arrived, took = 1, time.perf_counter() - begun
CODE
report(arrived=arrived, right=right(), took=took)
"""


WARM = {"POLHODE_CACHE_DIR": str(programs.cache_directory())}
"""The environment of a process that is to have all programs at once: the cache of this one."""


def indented(text: str) -> str:
    return FIRST.replace("    CODE", "\n".join(f"    {line}" for line in text.splitlines())).replace("CODE", text)


@trial(
    "Ctrl-C in a first compilation, the import of Numba included",
    "it arrives, and the next attempt in the same process is right",
    short=1, full=40,
)  # fmt: skip
def interrupted_compilations(bench: Bench, size: int, tally: Tally) -> None:
    bench.fresh.write("first.py", REPORT + indented(KERNEL))
    longest = 2.0
    for k in range(size):
        delay = longest * (0.1 + 1.0 * bench.chance.random())
        found = bench.fresh.script("first.py", str(delay), POLHODE_CACHE_DIR=str(bench.folder / f"cold-{k}"))
        tally.add(found["arrived"] == 1 and found["right"], f"after {delay:.3f} s: {found}")


REAL = """
import polhode as ph
def right():
    s = ph.simulate(ph.Body([1, 2, 2.5]), ph.HeavyTop(2.0), omega=[1, 2, 3], t_span=(0, 1), step=0.1, method="RK4")
    return bool(abs(s.energy[-1] / s.energy[0] - 1.0) < 1e-3)
"""


@trial(
    "Ctrl-C in the first simulation, which compiles for seconds",
    "it arrives, and the next attempt in the same process is right",
    short=0, full=20,
)  # fmt: skip
def interrupted_first_simulations(bench: Bench, size: int, tally: Tally) -> None:
    bench.fresh.write("real.py", REPORT + indented(REAL))
    for k in range(size):
        delay = 0.1 + 5.0 * bench.chance.random()
        found = bench.fresh.script("real.py", str(delay), POLHODE_CACHE_DIR=str(bench.folder / f"cold-{k}"))
        tally.add(found["arrived"] == 1 and found["right"], f"after {delay:.3f} s: {found}")


AGAIN = """
import _thread, os, random, signal, sys, time
import numpy as np
import polhode as ph
chance, lost = random.Random(int(sys.argv[2])), []

def interrupted(delay, f):
    "Returns what f returns, or the exception by which Ctrl-C arrived; adds to lost if it did not arrive once."
    def interrupt():
        time.sleep(delay)
        os.kill(os.getpid(), signal.SIGINT)
        sent.append(1)
    made, arrived, sent = None, 0, []
    try:
        try:
            _thread.start_new_thread(interrupt, ())  # when a threading.Thread is freed, Python ignores exceptions
            made = f()
        except KeyboardInterrupt as stopped:
            made, arrived = stopped, 1
        while not sent:
            time.sleep(0.001)
        time.sleep(0.001)
    except KeyboardInterrupt:
        arrived += 1
    if arrived != 1:
        lost.append(f"arrived {arrived} times after {delay}")
    return made
def check(held, note):
    if not held:
        lost.append(str(note))
def seconds(f):
    begun = time.perf_counter(); f(); return time.perf_counter() - begun
"""

RUNS = """
body, top = ph.Body([1, 2, 2.5]), ph.HeavyTop(2.0)
def run():
    return ph.simulate(body, top, omega=[1, 2, 3], t_span=(0, 2000), step=0.01, method="RK4", every=1000)
run()
took, whole = seconds(run), run()
for _ in range(int(sys.argv[1])):
    made = interrupted(1.1 * took * chance.random(), run)
    if isinstance(made, ph.SimulationInterrupted):
        made = made.solution if made.solution.t_last == 2000.0 else ph.resume(made.solution, 2000.0)
        check(made.last_momentum.tobytes() == whole.last_momentum.tobytes(), made)
        check(made.last_quaternion.tobytes() == whole.last_quaternion.tobytes(), made)
    elif isinstance(made, ph.Solution):
        check(made.momentum.tobytes() == whole.momentum.tobytes(), made)
report(lost=lost)
"""


@trial(
    "Ctrl-C in a run",
    "it arrives, and the rest of the run gives the bits of the run in one go",
    short=10, full=400,
)  # fmt: skip
def interrupted_runs(bench: Bench, size: int, tally: Tally) -> None:
    _in_one_process(bench, RUNS, size, tally)


ENSEMBLES = """
body, top, omega = ph.Body([1, 2, 2.5]), ph.HeavyTop(2.0), np.random.default_rng(1).normal(size=(24, 3))
def run():
    how = {"step": 0.01, "method": "RK4", "t_eval": [0, 150, 300], "threads": 2}
    return ph.ensemble(body, top, omega=omega, t_span=(0, 300), **how)
run()
took, whole = seconds(run), run()
for _ in range(int(sys.argv[1])):
    made = interrupted(1.1 * took * chance.random(), run)
    if isinstance(made, ph.EnsembleInterrupted):
        made = made.ensemble
    if isinstance(made, ph.Ensemble):
        known = ~np.isnan(made.momentum)
        check(np.array_equal(made.momentum[known], whole.momentum[known]), made)
        check(known[made.success].all(), made)
report(lost=lost)
"""


@trial("Ctrl-C in an ensemble", "it arrives, and the rows that are there are right", short=5, full=200)
def interrupted_ensembles(bench: Bench, size: int, tally: Tally) -> None:
    _in_one_process(bench, ENSEMBLES, size, tally)


SAVES = """
body = ph.Body([1, 2, 2.5])
made = [ph.simulate(body, omega=[w, 2, 3], t_span=(0, 100), step=0.01, method="Exact") for w in (1, 2)]
known = {s.momentum.tobytes() for s in made}
made[0].save("saved.nc")
took = seconds(lambda: made[0].save("saved.nc", overwrite=True))
ph.load("saved.nc")
for k in range(int(sys.argv[1])):
    interrupted(1.1 * took * chance.random(), lambda: made[k % 2].save("saved.nc", overwrite=True))
    check(ph.load("saved.nc").momentum.tobytes() in known, f"another content, {k}")
report(lost=lost)
"""


@trial("Ctrl-C while a result is saved over another", "the file holds the old result or the new", short=10, full=400)
def interrupted_saves(bench: Bench, size: int, tally: Tally) -> None:
    _in_one_process(bench, SAVES, size, tally)


def _in_one_process(bench: Bench, text: str, size: int, tally: Tally) -> None:
    bench.fresh.write("again.py", REPORT + AGAIN + text)
    found = bench.fresh.script("again.py", str(size), str(bench.chance.getrandbits(30)), **WARM)
    tally.add_all(found, size)


# --- kill -9 ---------------------------------------------------------------------------------------------------------


def _kill(bench: Bench, script: str, delay: float, *arguments: str) -> None:
    process = bench.fresh.start(script, *arguments)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)


@trial(
    "kill -9 while programs are compiled and kept",
    "the next process is right, with the same cache",
    short=0, full=30,
)  # fmt: skip
def killed_compilations(bench: Bench, size: int, tally: Tally) -> None:
    bench.fresh.write("compile.py", REPORT + KERNEL + "report(right=right())")
    for _ in range(size):
        for left in bench.fresh.programs():
            left.unlink()
        _kill(bench, "compile.py", 0.3 + 1.5 * bench.chance.random())
        found = bench.fresh.script("compile.py")
        tally.add(found["right"] and len(bench.fresh.programs()) == 1, found)


SAVE_ON = """
import sys
import polhode as ph
body = ph.Body([1, 2, 2.5])
made = [ph.simulate(body, omega=[w, 2, 3], t_span=(0, 20), step=0.01, method="Exact") for w in (1, 2)]
print("REPORT" + _json.dumps([s.momentum.tobytes().hex()[:64] for s in made]), flush=True)
while len(sys.argv) > 1:
    for s in made:
        s.save("kept.nc", overwrite=True)
"""


@trial("kill -9 while results are saved over each other", "the file holds one of them", short=1, full=60)
def killed_saves(bench: Bench, size: int, tally: Tally) -> None:
    import polhode as ph

    bench.fresh.write("save.py", REPORT + SAVE_ON)
    for _ in range(size):
        process = bench.fresh.start("save.py", "on", **WARM)
        assert process.stdout is not None
        known = json.loads(process.stdout.readline().removeprefix("REPORT"))
        time.sleep(0.02 + 0.1 * bench.chance.random())
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        held, file = True, bench.folder / "kept.nc"
        if file.exists():
            held = ph.load(file).momentum.tobytes().hex()[:64] in known
        tally.add(held, "neither the old nor the new")
