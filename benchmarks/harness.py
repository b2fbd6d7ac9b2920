"""Side-by-side timing: candidates take turns in one process, so that a busy machine slows all of them alike.

Claims are ratios to the first candidate, from the medians of the per-round ratios; absolute times are only context.
"""

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Timing(NamedTuple):
    name: str
    best: float
    """Seconds of the quickest round."""
    ratio: float
    """Median over the rounds of this candidate's time over the first candidate's in the same round."""
    ratio_of_best: float
    median: float = 0.0
    """Median of the rounds, in seconds."""


def rounds_of(
    candidates: dict[str, Callable[[], object]], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, list[float]]:
    """Returns the seconds of every candidate in every round: once a round, in turn, after one round to warm up."""
    for run in candidates.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in candidates}
    gc.disable()
    try:
        for k in range(rounds):
            order = list(candidates.items())
            for name, run in order if k % 2 == 0 else reversed(order):
                start = clock()
                run()
                times[name].append(clock() - start)
    finally:
        gc.enable()
    return times


def interleave(
    candidates: dict[str, Callable[[], object]], rounds: int = 11, clock: Callable[[], float] = time.perf_counter
) -> list[Timing]:
    """Times every candidate once a round, in turn."""
    times = rounds_of(candidates, rounds, clock)
    reference = next(iter(times.values()))
    return [
        Timing(
            name,
            min(mine),
            statistics.median(a / b for a, b in zip(mine, reference, strict=True)),
            min(mine) / min(reference),
            statistics.median(mine),
        )
        for name, mine in times.items()
    ]


def table(title: str, rows: Sequence[Timing], per: int = 1, unit: str = "step") -> str:
    """Returns a plain table; `per` divides the absolute times."""
    width = max(len(r.name) for r in rows)
    lines = [title, f"  {'':{width}}  ratio  (of best)   best, ns/{unit}"]
    lines += [f"  {r.name:{width}}  {r.ratio:5.2f}   {r.ratio_of_best:5.2f}   {r.best / per * 1e9:10.1f}" for r in rows]
    return "\n".join(lines)
