"""What a call costs besides its loop: `python -m benchmarks.calls [--before FOLDER]`.

Short runs as a user makes them, warm, each with another start, so that nothing can be kept from the call before but
what belongs to the body and the torque. A call costs what it takes less the time inside of compiled loops, which a
solution tells (`stats.seconds`). With `--before` the `src` of another copy of the library is measured in turn with this
one, each in a process of its own: the ratio is the median of those of the rounds.
"""

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import polhode as ph

CALLS = 60
"""Calls of a case in a round."""
ROUNDS = 15


@ph.torque(depends=["attitude", "rate"], parameters=[0.3, 0.05])
def attitude_control(t, q, w, p):  # type: ignore[no-untyped-def]
    """Brings the body to rest at the attitude of the space axes."""
    s = 2.0 * p[0] * q[0]
    return (-s * q[1] - p[1] * w[0], -s * q[2] - p[1] * w[1], -s * q[3] - p[1] * w[2])


def cases() -> dict[str, Callable[[float], Any]]:
    """Returns the calls, as functions of a factor by which the rate at the start is changed."""
    body, rate = ph.Body([1.0, 1.7, 2.4]), np.array([0.3, 0.4, 0.9])
    twice_kinetic = float(rate @ (body.moments * rate))
    times = {"t_span": (0.0, 40.0), "t_eval": np.linspace(5.0, 40.0, 8)}
    weight = ph.HeavyTop(0.5 * twice_kinetic)

    def call(torque: Any, **how: Any) -> Callable[[float], ph.Solution]:
        return lambda factor: ph.simulate(body, torque, omega=rate * factor, **how)

    def started(prepared: Any) -> Callable[[float], ph.Solution]:
        return lambda factor: prepared(rate * factor)

    found: dict[str, Callable[[float], Any]] = {
        "step, RK4, 10 steps": call(weight, t_span=(0.0, 1.0), step=0.1, method="RK4"),
        "step, Strang, 10 steps": call(weight, t_span=(0.0, 1.0), step=0.1, method="Strang"),
    }
    for rtol in (1e-4, 1e-7, 1e-10):
        found[f"weight, {rtol:g}"] = call(weight, rtol=rtol, **times)
    hundred = {"t_span": (0.0, 100.0), "t_eval": np.linspace(12.5, 100.0, 8)}
    for rtol in (1e-4, 1e-7, 1e-10):
        found[f"control, {rtol:g}"] = call(attitude_control, rtol=rtol, **hundred)
    found["free, 1e-07"] = call(None, rtol=1e-7, **times)
    if hasattr(ph, "prepare"):
        for method in ("RK4", "Strang"):
            prepared = ph.prepare(body, weight, t_span=(0.0, 1.0), step=0.1, method=method)
            found[f"prepared, {method}, 10 steps"] = started(prepared)
    motion_times = np.linspace(5.0, 40.0, 8)
    found["FreeMotion(...).at(t)"] = lambda factor: ph.FreeMotion(body, rate * factor).at(motion_times)
    return found


def round_of(call: Callable[[float], Any], first: int) -> tuple[float, float]:
    """Returns the lower quartiles of the seconds of a call, and of those besides its loops."""
    whole, besides = [], []
    for k in range(first, first + CALLS):
        factor = 1.0 + 1e-9 * k
        start = time.perf_counter()
        found = call(factor)
        spent = time.perf_counter() - start
        whole.append(spent)
        besides.append(spent - (found.stats.seconds if isinstance(found, ph.Solution) else 0.0))
    return sorted(whole)[CALLS // 4], sorted(besides)[CALLS // 4]


def work() -> None:
    """Answers, line by line, requests for rounds of calls."""
    known = cases()
    for call in known.values():
        round_of(call, 0)
    print(json.dumps(list(known)), flush=True)
    gc.disable()
    for number, line in enumerate(sys.stdin):
        gc.collect()
        print(json.dumps(round_of(known[json.loads(line)], CALLS * (number + 1))), flush=True)


class Worker:
    """A process that makes calls of the library in one folder."""

    def __init__(self, source: str) -> None:
        here = str(Path(__file__).parents[1])
        path = os.pathsep.join([source, here])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.calls", "--work"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env={**os.environ, "PYTHONPATH": path}, cwd=here,
        )  # fmt: skip
        self.names: list[str] = self.answer()

    def answer(self) -> Any:
        """Returns the next answer."""
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def round_of(self, name: str) -> tuple[float, float]:
        """Has a round of calls made."""
        assert self.process.stdin is not None
        print(json.dumps(name), file=self.process.stdin, flush=True)
        whole, besides = self.answer()
        return whole, besides

    def end(self) -> None:
        """Ends the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def main() -> None:
    """Measures, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", help="the src folder of another copy of the library")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    if given.work:
        work()
        return
    sources = [str(Path(__file__).parents[1] / "src"), *([given.before] if given.before else [])]
    workers = [Worker(s) for s in sources]
    print(f"{'':24}  call, us  besides, us" + ("   before: call  besides   ratio" if given.before else ""))
    for name in workers[0].names:
        able = [worker for worker in workers if name in worker.names]
        rounds = [[worker.round_of(name) for worker in able] for _ in range(given.rounds)]
        medians = [[statistics.median(r[k][part] for r in rounds) * 1e6 for part in (0, 1)] for k in range(len(able))]
        line = f"{name:24}  {medians[0][0]:8.1f}  {medians[0][1]:11.1f}"
        if len(able) > 1:
            ratio = statistics.median(r[1][0] / r[0][0] for r in rounds)
            line += f"   {medians[1][0]:12.1f}  {medians[1][1]:7.1f}  {ratio:6.2f}"
        print(line, flush=True)
    for worker in workers:
        worker.end()


if __name__ == "__main__":
    main()
