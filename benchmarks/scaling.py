"""How the cost grows with bodies, steps, threads and digits; the memory of a body; and what a million bodies take."""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any

import numpy as np

import polhode as ph
from benchmarks.budget import UNLIMITED, Clock
from benchmarks.harness import rounds_of
from benchmarks.motions import Floats, cell

BODY, TOP = ph.Body([1.0, 2.0, 2.7]), ph.HeavyTop(1.0)
H = 0.05
METHODS = ("MR2", "Strang")
BODIES = (1, 8, 64, 512, 4096, 32768)
STEPS = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
WORK = 2**22
"""Steps of all bodies together, where the number of bodies is varied."""
THREADED = (4096, 4_000)
"""Bodies and steps with which threads are compared."""
CALLS = 100
"""Calls of the loop that is nothing but arithmetic: about as long as the ensembles take."""
MANY = (1_000_000, 1_000)
ROUNDS = 7
TOLERANCES = tuple(10.0**-k for k in range(2, 11))
STRENGTHS = (1e-6, 1e-3, 0.1)
"""The torques of the map for which digits are counted: the largest over twice the kinetic energy."""
MEMORY_BODIES, MEMORY_ROWS = (100_000, 400_000), (1, 11)
PEAK = """
import resource, sys
from benchmarks.scaling import BODY, H, TOP, starts
import numpy as np, polhode as ph
bodies, rows = map(int, sys.argv[1:])
rates, attitudes = starts(bodies)
times = 10 * H * np.arange(1, rows + 1) / rows
ph.ensemble(BODY, TOP, omega=rates, attitude=attitudes, t_span=(0.0, 10 * H), t_eval=times, step=H, method="MR2")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
"""A process that runs an ensemble and prints the most memory that it had, in kB."""


@cache
def starts(bodies: int) -> tuple[Floats, Floats]:
    """Returns rates and attitudes, all different."""
    draw = np.random.default_rng(1)
    rates, attitudes = draw.normal(size=(bodies, 3)), draw.normal(size=(bodies, 4))
    return rates, attitudes / np.linalg.norm(attitudes, axis=1)[:, None]


def fleet(method: str, bodies: int, steps: int, threads: int) -> ph.Ensemble:
    """Runs tops with different starts; output at the end."""
    rates, attitudes = starts(bodies)
    return ph.ensemble(
        BODY, TOP, omega=rates, attitude=attitudes,
        t_span=(0.0, steps * H), step=H, method=method, threads=threads,
    )  # fmt: skip


def one(method: str, steps: int) -> ph.Solution:
    """Runs one top through `simulate`, with output at the end."""
    return ph.simulate(
        BODY, TOP, omega=[0.3, 0.9, 0.4], t_span=(0.0, steps * H), step=H, method=method, t_eval=[steps * H]
    )


def arithmetic(threads: int) -> Callable[[], object]:
    """Runs the same amount of pure arithmetic on these threads: what a second one can gain on this machine, now."""
    from benchmarks.bound import Mix, runner

    runs = [runner(Mix(fma=200, mul=120, add=60, div=0, sqrt=0, instructions=380, width=4)) for _ in range(threads)]

    def share(run: Callable[[], object]) -> None:
        for _ in range(CALLS // threads):
            run()

    def all_shares() -> object:
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(share, runs))

    return all_shares


def by_tolerance(eps: float, rtol: float) -> ph.Solution:
    """Runs the asymmetric top of the map through `simulate` with a tolerance, with output at eight times."""
    motion = cell("asymmetric", eps)
    attitude, omega = motion.start[:4], motion.start[4:]
    return ph.simulate(
        motion.body, motion.torque, omega=omega, attitude=attitude, t_span=(0.0, motion.times[-1]), t_eval=motion.times,
        rtol=rtol,
    )  # fmt: skip


def memory() -> list[dict[str, Any]]:
    """Returns the bytes that a body takes in an ensemble, the arrays of its start among them, with one row and more."""
    found = []
    for rows in MEMORY_ROWS:
        peaks = []
        for bodies in MEMORY_BODIES:
            done = subprocess.run(
                [sys.executable, "-c", PEAK, str(bodies), str(rows)], stdout=subprocess.PIPE, text=True, check=True
            )
            peaks.append(1024 * int(done.stdout))
        found.append({"rows": rows, "bytes": (peaks[1] - peaks[0]) / (MEMORY_BODIES[1] - MEMORY_BODIES[0])})
    return found


def measured(quick: bool = False, log: Callable[[str], None] = print, clock: Clock = UNLIMITED) -> dict[str, Any]:
    """Returns seconds a step of a body against bodies, steps and threads."""
    rounds = 3 if quick else ROUNDS
    found: dict[str, Any] = {"bodies": [], "steps": [], "threads": []}
    for method in METHODS:
        for bodies in clock.within(BODIES, f"{method}, bodies"):
            steps = max(1, WORK // bodies // (4 if quick else 1))
            times = rounds_of({"1": partial(fleet, method, bodies, steps, 1)}, rounds)["1"]
            row: dict[str, Any] = _row(times, bodies * steps) | {"method": method, "bodies": bodies, "steps": steps}
            found["bodies"].append(row)
            log(f"{method}, {bodies} bodies: {row['best'] * 1e9:.1f} ns a step")
        for steps in clock.within(STEPS[:-1] if quick else STEPS, f"{method}, steps"):
            times = rounds_of({"1": partial(one, method, steps)}, rounds)["1"]
            loop = min(one(method, steps).stats.seconds for _ in range(rounds))
            row = _row(times, steps) | {"method": method, "steps": steps, "loop": loop / steps}
            found["steps"].append(row)
            log(f"{method}, {steps} steps: {row['best'] * 1e9:.1f} ns a step, {row['loop'] * 1e9:.1f} in the loop")
        bodies, steps = THREADED
        candidates: dict[str, Callable[[], object]] = {}
        for n in (1, 2):
            candidates |= {f"fleet {n}": partial(fleet, method, bodies, steps, n), f"arithmetic {n}": arithmetic(n)}
        both = rounds_of(candidates, rounds)
        ratio, ratio_of_best = _gain(both, "fleet")
        of_arithmetic, best_of_arithmetic = _gain(both, "arithmetic")
        row = {
            "method": method, "bodies": bodies, "steps": steps, "ratio": ratio, "ratio_of_best": ratio_of_best,
            "of_arithmetic": of_arithmetic, "best_of_arithmetic": best_of_arithmetic,
            "one": min(both["fleet 1"]), "two": min(both["fleet 2"]),
        }  # fmt: skip
        found["threads"].append(row)
        log(f"{method}, two threads: {ratio:.2f} times one, {ratio_of_best:.2f} of the quickest")
        log(f"  nothing but arithmetic: {of_arithmetic:.2f} and {best_of_arithmetic:.2f}")
    found["tolerance"] = []
    for rtol in clock.within(TOLERANCES[::3] if quick else TOLERANCES, "tolerances"):
        for eps in STRENGTHS:
            by_tolerance(eps, rtol)  # compiles
            times = rounds_of({"1": partial(by_tolerance, eps, rtol)}, rounds)["1"]
            run = by_tolerance(eps, rtol)
            row = {"eps": eps, "rtol": rtol, "method": run.plan.method.name, "steps": run.stats.steps}
            found["tolerance"].append(row | {"best": min(times), "median": statistics.median(times)})
            log(
                f"eps {eps:.0e}, rtol {rtol:.0e}: {1e3 * min(times):.3g} ms, {run.stats.steps} steps of {row['method']}"
            )
    found["memory"] = memory()
    for row in found["memory"]:
        log(f"memory: {row['bytes']:.0f} bytes a body with {row['rows']} rows")
    bodies, steps = (MANY[0] // 10, MANY[1]) if quick else MANY
    fleet("MR2", 64, 10, 2)
    starts(bodies)
    begun, threads = time.perf_counter(), 2
    fleet("MR2", bodies, steps, threads)
    seconds = time.perf_counter() - begun
    found["many"] = {"bodies": bodies, "steps": steps, "threads": threads, "seconds": seconds, "method": "MR2"}
    log(f"{bodies:,} bodies, {steps:,} steps of MR2 on two threads: {seconds:.1f} s")
    return found


def _gain(times: dict[str, list[float]], name: str) -> tuple[float, float]:
    """Returns how many times as fast two threads are as one: the median of the rounds, and of the quickest."""
    one, two = times[f"{name} 1"], times[f"{name} 2"]
    return statistics.median(a / b for a, b in zip(one, two, strict=True)), min(one) / min(two)


def _row(times: list[float], work: int) -> dict[str, Any]:
    return {"best": min(times) / work, "median": statistics.median(times) / work}
