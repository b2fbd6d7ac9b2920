"""The map: from a torque that hardly matters to one as large as the motion, at four errors, for two bodies.

Every competitor gets the cheapest setting that meets the error, found beforehand; then all take turns. `polhode` is the
method that `simulate(rtol=...)` chooses, with the cheapest step; `polhode, auto` is that call itself, with its search
and its estimate of the error. Both are whole calls from Python.
"""

import argparse
import math
import statistics
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from benchmarks.budget import UNLIMITED, Clock, spread_out
from benchmarks.contenders import (
    Closed,
    Contender,
    Diffrax,
    Heyoka,
    Polhode,
    Rebound,
    Run,
    SciPy,
    automatic,
    candidates,
    rows,
)
from benchmarks.harness import rounds_of
from benchmarks.motions import ANGLE, BODIES, EPS, TARGETS, Floats, Motion, cell, error
from benchmarks.reference import reference
from benchmarks.search import HOPELESS, Search, Tried, repeated, settled

ROUNDS = 7
AUTO = "polhode, auto"
MINE = "polhode"
LONGEST = 1.0
"""Seconds of a run beyond which a competitor is not refined further: hundreds of times what the quickest take."""
CURIOUS, LEAST = 4.0, 0.05
"""Candidates are not refined further beyond this multiple of a peer's time and this number of seconds."""

BEHIND = 10.0
"""Peers that take this multiple of the quickest one's time on the map are given up: they will not be the quickest."""
STRONGEST = 1.0
"""From this eps on motions part so fast that only a tenth of the angle can be followed."""

Record = dict[str, Any]


def chosen(motion: Motion, target: float) -> tuple[Polhode, Record]:
    """Returns the method that `simulate` chooses, without what it sets for this run, and what it achieves by itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solution = automatic(motion, target)
    method = solution.plan.method
    found_by_the_run = {o.name: o.default for o in method.options if o.name in ("tolerance", "rtol")}
    achieved = {
        "method": method.name, "step": solution.plan.step, "error": error(rows(solution), reference(motion)),
        "estimate": solution.error_estimate, "nfev": solution.nfev,
    }  # fmt: skip
    return Polhode(method.replace(**found_by_the_run) if found_by_the_run else method), achieved


def measured(
    motion: Motion, targets: Sequence[float], peers: Sequence[Contender], extra: Sequence[Polhode], rounds: int,
    failed: Callable[[str, str], None], longest: float = LONGEST, hopeless: float = HOPELESS,
) -> list[Record]:  # fmt: skip
    """Returns a record for each target: the time that each competitor needs."""
    truth = reference(motion)
    others = settled(peers, motion, truth, targets, longest, failed, hopeless)
    quickest = [min((found.seconds for _, found in others[target]), default=longest) for target in targets]
    trial = settled(extra, motion, truth, targets, max(LEAST, CURIOUS * max(quickest)), failed)
    others = {target: [*others[target], *trial[target]] for target in targets}
    return [_target(motion, target, others[target], rounds, failed, longest) for target in targets]


def _target(
    motion: Motion, target: float, others: Sequence[tuple[Contender, Tried]], rounds: int,
    failed: Callable[[str, str], None], longest: float,
) -> Record:  # fmt: skip
    runs: dict[str, tuple[Callable[[], object], int]] = {}
    inside = Inside()
    entries: dict[str, Record] = {}
    record: Record = {"problem": motion.name, "target": target, "angle": motion.angle, "entries": entries}
    try:
        named, achieved = chosen(motion, target)
        mine: Contender = Closed() if motion.kind == "free" else named
        record["auto"] = achieved
        entries[AUTO] = {"told": achieved["method"], "error": achieved["error"], "estimate": achieved["estimate"]}
        runs[AUTO] = repeated(lambda: rows(automatic(motion, target)), 0.0, least=0.0)
        variants = (
            [mine, replace(mine, looser=10.0)] if isinstance(mine, Polhode) and mine.depends_on_target else [mine]
        )
        tried = [(m, Search(m, motion, reference(motion), longest).cheapest(target)) for m in variants]
        mine, found = min(tried, key=lambda pair: pair[1].seconds if pair[1] else math.inf)
        if found is None:
            failed(MINE, f"{mine.name} misses {target:g} on {motion.name}")
        else:
            entries[MINE] = _entry(mine, motion, found, target)
            runs[MINE] = repeated(inside.watched(MINE, mine, motion, found.setting, target), found.seconds)
    except Exception as reason:  # keep the measurement of the peers
        failed(MINE, f"{motion.name}, {target:g}: {type(reason).__name__}: {str(reason)[:200]}")
    for contender, found in others:
        entries[contender.name] = _entry(contender, motion, found, target)
        run = inside.watched(contender.name, contender, motion, found.setting, target)
        runs[contender.name] = repeated(run, found.seconds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        times = rounds_of({name: run for name, (run, _) in runs.items()}, rounds)
    for name, seconds in times.items():
        each = [s / runs[name][1] for s in seconds]
        entries[name] |= {"best": min(each), "median": statistics.median(each), "seconds": each}
        if loops := inside.rounds(name, runs[name][1]):
            entries[name] |= {"loop": min(loops), "loop_median": statistics.median(loops), "loop_seconds": loops}
    return record


def _entry(contender: Contender, motion: Motion, found: Tried, target: float) -> Record:
    role = "candidate" if isinstance(contender, Polhode | Closed) else "peer"
    return {
        "role": role, "told": contender.describe(motion, found.setting, target), "setting": found.setting,
        "error": found.error,
    }  # fmt: skip


class Inside:
    """Measures how much of polhode's calls is spent in compiled loops."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {}

    def watched(self, name: str, mine: Contender, motion: Motion, setting: float, target: float) -> Run:
        """Returns a run whose time is recorded, if it is one of polhode's."""
        if not isinstance(mine, Polhode):
            return mine.runner(motion, setting, target)
        simulate, seconds = mine.bound(motion, setting, target), self.seconds.setdefault(name, [])

        def run() -> Floats:
            solution = simulate()
            seconds.append(solution.stats.seconds)
            return rows(solution)

        return run

    def rounds(self, name: str, count: int) -> list[float]:
        """Returns the mean of each round of this number of runs, without the one that warms up."""
        all_of_them = self.seconds.get(name, [])
        return [statistics.fmean(all_of_them[k : k + count]) for k in range(count, len(all_of_them), count)]


def ratios(record: Record, name: str, to: str = MINE, of: str = "seconds") -> list[float]:
    """Returns one's time over the other's in every round, or over its loop (of="loop_seconds"), least first."""
    entries = record["entries"]
    if name not in entries or to not in entries or "seconds" not in entries[name] or of not in entries[to]:
        return []
    return sorted(a / b for a, b in zip(entries[name]["seconds"], entries[to][of], strict=True))


def ratio(record: Record, name: str, to: str = MINE, of: str = "seconds") -> float:
    """Returns the median over the rounds of the same."""
    found = ratios(record, name, to, of)
    return statistics.median(found) if found else math.nan


def spread(record: Record, name: str, to: str = MINE) -> tuple[float, float]:
    """Returns the quartiles over the rounds of the same: half of the rounds lie between them."""
    found = ratios(record, name, to)
    if len(found) < 2:
        return (math.nan, math.nan)
    low, _, high = statistics.quantiles(found, n=4, method="inclusive")
    return low, high


def peers_of(record: Record) -> list[str]:
    """Returns the peers that met the target, quickest first."""
    entries = record["entries"]
    names = [n for n, e in entries.items() if e.get("role") == "peer" and "median" in e]
    return sorted(names, key=lambda n: float(entries[n]["median"]))


def line(record: Record) -> str:
    """Returns one cell as text for whoever waits."""
    entries = record["entries"]
    best = peers_of(record)[:1]
    parts = [f"{record['problem']:24} {record['target']:.0e}"]
    if best:
        parts.append(f"{best[0]} {entries[best[0]]['median'] * 1e3:.3g} ms ({entries[best[0]]['told']})")
    if MINE in entries and "median" in entries[MINE]:
        e = entries[MINE]
        inside = f", loop {e['loop'] * 1e3:.3g} ms" if "loop" in e else ""
        parts.append(f"polhode {e['median'] * 1e3:.3g} ms{inside} ({e['told']})")
        if best:
            of_loop = ratio(record, best[0], of="loop_seconds")
            parts.append(f"ratio {ratio(record, best[0]):.2f}, of the loop {of_loop:.2f}")
            parts.append(f"auto {ratio(record, best[0], AUTO):.2f}")
    out = [" | ".join(parts)]
    trial = {n: e for n, e in entries.items() if e.get("role") == "candidate" and n != MINE and "loop" in e}
    for name, e in sorted(trial.items(), key=lambda item: float(item[1]["loop_median"])):
        against = f"{ratio(record, best[0], name, 'loop_seconds'):6.2f}" if best else ""
        out.append(f"      {e['loop'] * 1e3:9.4f} ms loop {against}  {e['told']}  error {e['error']:.1e}")
    return "\n".join(out)


@contextmanager
def kept_on_interrupt(log: Callable[[str], None]) -> Iterator[None]:
    """Keeps the results so far when the user interrupts."""
    try:
        yield
    except KeyboardInterrupt:
        log("interrupted: what was measured is kept")


def motions(bodies: Sequence[str], eps: Sequence[float], angle: float) -> list[tuple[str, float, Motion]]:
    """Returns the cells."""
    order = spread_out(sorted(eps))
    return [(body, x, cell(body, x, angle / 10 if x >= STRONGEST else angle)) for x in order for body in bodies]


def run(
    *, bodies: Sequence[str] = tuple(BODIES), eps: Sequence[float] = EPS, targets: Sequence[float] = TARGETS,
    peers: Sequence[Contender] = (), extra: Sequence[Polhode] = (), rounds: int = ROUNDS, angle: float = ANGLE,
    log: Callable[[str], None] = print, clock: Clock = UNLIMITED,
) -> Record:  # fmt: skip
    """Measures all cells that there is time for."""
    failures: list[tuple[str, str]] = []

    def failed(name: str, reason: str) -> None:
        if (name, reason) not in failures:
            failures.append((name, reason))
            log(f"  {name}: {reason}")

    records: list[Record] = []
    with kept_on_interrupt(log):
        for body, x, motion in clock.within(motions(bodies, eps, angle), "map", lambda cell: cell[:2]):
            for record in measured(motion, targets, peers, extra, rounds, failed, hopeless=BEHIND):
                record |= {"body": body, "eps": x}
                records.append(record)
                log(line(record))
    return {"records": records, "failures": failures, "rounds": rounds, "angle": angle}


def main(arguments: Sequence[str] | None = None, clock: Clock = UNLIMITED) -> Record:
    """Runs from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks map", description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="four eps, seven rounds, heyoka only")
    parser.add_argument("--eps", type=float, nargs="+")
    parser.add_argument("--bodies", nargs="+", choices=tuple(BODIES), default=tuple(BODIES))
    parser.add_argument("--targets", type=float, nargs="+", default=TARGETS)
    parser.add_argument("--angle", type=float, default=ANGLE, help="|w| T, in radians")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--peers", nargs="*", help="of heyoka, rebound, scipy, diffrax; default: all")
    parser.add_argument("--candidates", nargs="*", metavar="METHOD", help="methods of polhode to try with hindsight")
    asked = parser.parse_args(arguments)
    known = {"heyoka": Heyoka, "rebound": Rebound, "scipy": SciPy, "diffrax": Diffrax}
    names = asked.peers if asked.peers is not None else ["heyoka"] if asked.quick else list(known)
    extra = [] if asked.candidates is None else candidates(asked.candidates) if asked.candidates else candidates()
    return run(
        bodies=asked.bodies,
        eps=asked.eps or ((1e-6, 1e-4, 1e-2, 1.0) if asked.quick else EPS),
        targets=asked.targets,
        peers=[known[n]() for n in names],
        extra=extra,
        rounds=asked.rounds or (7 if asked.quick else ROUNDS),
        angle=asked.angle,
        log=lambda text: print(text, flush=True),
        clock=clock,
    )
