"""Many processes and threads at once, and processes that are made while others compile."""

import json
import sys

from polhode.compiler import programs
from tests.compiler.fresh import REPORT
from tests.faults.signals import WARM
from tests.faults.trial import Bench, Tally, trial

SIMULATE = """
import polhode as ph
s = ph.simulate(ph.Body([1, 2, 2.5]), ph.HeavyTop(2.0), omega=[1, 2, 3], t_span=(0, 1), step=0.1, method="RK4")
report(end=s.momentum[-1].tobytes().hex())
"""


@trial("eight processes at once, with an empty cache", "all have the same bits, and whole programs are kept, each once",
       short=0, full=3)  # fmt: skip
def eight_at_once(bench: Bench, size: int, tally: Tally) -> None:
    for k in range(size):
        cache = bench.folder / f"cold-{k}"
        text = ("-c", REPORT + SIMULATE)
        alone = bench.folder / f"alone-{k}"
        ends = {bench.fresh.finish(bench.fresh.start(*text, POLHODE_CACHE_DIR=str(alone)))["end"]}
        started = [bench.fresh.start(*text, POLHODE_CACHE_DIR=str(cache)) for _ in range(8)]
        ends |= {bench.fresh.finish(process)["end"] for process in started}
        files = sorted(cache.iterdir())
        same = [f.name for f in files] == sorted(f.name for f in alone.iterdir())
        held = len(ends) == 1 and same and all(programs._read(f) is not None for f in files)
        tally.add(held, f"{ends}, {files}")


THREADS = """
import random, sys, threading
import numpy as np
from polhode.compiler import program
chance, lost = random.Random(int(sys.argv[2])), []
def made(c):
    def kernel(x, n):
        for i in range(n):
            x[i] = c * x[i] + 1.0
        return n
    return kernel
def one(c):
    try:
        x = np.arange(4.0)
        program(made(c), "pi")(x, 4)
        if x.tolist() != [c * k + 1.0 for k in range(4)]:
            lost.append(f"{c}: {x}")
    except BaseException as problem:
        lost.append(f"{c}: {problem!r}")
for _ in range(int(sys.argv[1])):
    few = [chance.random() for _ in range(3)]
    threads = [threading.Thread(target=one, args=(chance.choice(few),)) for _ in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
report(lost=lost)
"""


@trial("eight threads that compile at once, the same and others", "each has its own program", short=0, full=30)
def threads_at_once(bench: Bench, size: int, tally: Tally) -> None:
    bench.fresh.write("threads.py", REPORT + THREADS)
    found = bench.fresh.script("threads.py", str(size), str(bench.chance.getrandbits(30)))
    tally.add_all(found, size)


FORKS = """
import os, random, signal, sys, threading, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, which is what is tried here
import numpy as np
from polhode.compiler import program
chance, lost = random.Random(int(sys.argv[2])), []
def made(c):
    def kernel(x, n):
        for i in range(n):
            x[i] = c * x[i] + 1.0
        return n
    return kernel
def right(c):
    x = np.arange(4.0)
    program(made(c), "pi")(x, 4)
    return x.tolist() == [c * k + 1.0 for k in range(4)]
def ended(child, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if (found := os.waitpid(child, os.WNOHANG)) != (0, 0):
            return found[1] == 0
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False
for k in range(int(sys.argv[1])):
    c, d = chance.random(), chance.random()
    others = [threading.Thread(target=right, args=(x,)) for x in (c, d)]
    for other in others: other.start()
    time.sleep(0.3 * chance.random() ** 2)
    child = os.fork()
    if child == 0:
        done = False
        try:
            done = right(c) and right(chance.random())
        finally:
            os._exit(0 if done else 1)
    if not ended(child, 120.0):
        lost.append(f"fork {k}")
    for other in others: other.join()
report(lost=lost)
"""


@trial("a fork while other threads compile", "the child compiles, and is right", short=2, full=60)
def forks(bench: Bench, size: int, tally: Tally) -> None:
    bench.fresh.write("forks.py", REPORT + FORKS)
    for _ in range(0, size, 2):  # the first forks of a process come while much is imported
        found = bench.fresh.script("forks.py", "2", str(bench.chance.getrandbits(30)))
        tally.add_all(found, 2)


POOLS = """
import json, multiprocessing, sys
import polhode as ph

def one(weight):
    body, top = ph.Body([1, 2, 2.5]), ph.HeavyTop(weight)
    return ph.simulate(body, top, omega=[1, 2, 3], t_span=(0, 1), step=0.1, method="RK4")

if __name__ == "__main__":
    lost = []
    weights = [1.0 + k for k in range(int(sys.argv[1]))]
    with multiprocessing.get_context(sys.argv[2]).Pool(2) as pool:
        alone = [one(w) for w in weights]
        for s, a in zip(pool.map(one, weights), alone):
            if s.momentum.tobytes() != a.momentum.tobytes():
                lost.append(f"{a.torque}: other bits")
        for _ in range(2):
            try:
                pool.apply_async(one, (1e308,)).get(120)
                lost.append("no failure")
            except ph.SimulationFailed as failure:
                if failure.solution.success:
                    lost.append("a failure that has succeeded")
    print("REPORT" + json.dumps({"lost": lost}))
"""


@trial("pools of forked and of spawned processes", "results and failures come back, with the bits of a run alone",
       short=0, full=80)  # fmt: skip
def pools(bench: Bench, size: int, tally: Tally) -> None:
    bench.fresh.write("pools.py", POOLS)
    kinds = ["spawn", "forkserver", *(["fork"] if sys.platform != "darwin" else [])]
    each = max(1, size // len(kinds))
    for kind in kinds:
        found = bench.fresh.script("pools.py", str(each), kind, PYTHONWARNINGS="default")
        tally.add_all(found, each)


TIMEOUTS = """
import random, signal, sys, time
import numpy as np
import polhode as ph
chance, lost = random.Random(int(sys.argv[2])), []
class Late(Exception): pass
KINDS = (Late, TimeoutError, OSError, ValueError, RuntimeError, ZeroDivisionError, KeyError, SystemExit, StopIteration)
def handler(number, frame):
    raise kind("late")
signal.signal(signal.SIGALRM, handler)
body, top, omega = ph.Body([1, 2, 2.5]), ph.HeavyTop(2.0), np.random.default_rng(1).normal(size=(24, 3))
how = {"step": 0.01, "method": "RK4"}
calls = [
    lambda end: ph.simulate(body, top, omega=[1, 2, 3], t_span=(0, end), every=10**6, **how),
    lambda end: ph.ensemble(body, top, omega=omega, t_span=(0, end), threads=1, **how),
    lambda end: ph.ensemble(body, top, omega=omega, t_span=(0, end), threads=2, **how),
    lambda end: ph.simulate(body, top, omega=[1, 2, 3], t_span=(0, end / 20), every=10**6, rtol=1e-9, method="RK4"),
]
for call in calls:
    call(20.0)
for k in range(int(sys.argv[1])):
    kind, call = chance.choice(KINDS), calls[k % len(calls)]
    signal.setitimer(signal.ITIMER_REAL, 0.001 + 0.1 * chance.random())
    try:
        call(2e5)
        lost.append(f"{k}, {kind.__name__}: nothing was raised")
    except kind as raised:
        if str(raised).strip("'") != "late":
            lost.append(f"{k}: {raised!r}")
    except BaseException as raised:
        lost.append(f"{k}, {kind.__name__}: {raised!r}")
    signal.setitimer(signal.ITIMER_REAL, 0)
report(lost=lost)
"""


@trial("a timeout of the user's, an alarm whose handler raises", "what it raises comes out of the call",
       short=8, full=400)  # fmt: skip
def timeouts(bench: Bench, size: int, tally: Tally) -> None:
    bench.fresh.write("timeouts.py", REPORT + TIMEOUTS)
    found = bench.fresh.script("timeouts.py", str(size), str(bench.chance.getrandbits(30)), **WARM)
    tally.add_all(found, size)


DEEP = """
import json, sys
import polhode as ph
body, top = ph.Body([1, 2, 2.5]), ph.HeavyTop(2.0)
def deep(n):
    if n:
        return deep(n - 1)
    return ph.ensemble(body, top, omega=[[1, 2, 3]] * 64, t_span=(0, 1), step=0.1, method="MR2")
try:
    deep(sys.getrecursionlimit() - int(sys.argv[1]))
    ended = "done"
except RecursionError:
    ended = "refused"
lanes = ph.ensemble(body, top, omega=[[1, 2, 3]] * 64, t_span=(0, 1), step=0.1, method="MR2").lanes
report(ended=ended, lanes=lanes)
"""


@trial("a stack that is nearly full at a first compilation", "the run or a RecursionError; later runs have all lanes",
       short=0, full=4)  # fmt: skip
def deep_stacks(bench: Bench, size: int, tally: Tally) -> None:
    bench.fresh.write("deep.py", REPORT + DEEP)
    for k in range(size):
        room = 20 + 60 * k
        found = bench.fresh.script("deep.py", str(room), POLHODE_CACHE_DIR=str(bench.folder / f"cold-{k}"))
        tally.add(found["lanes"] == 16, json.dumps(found))
