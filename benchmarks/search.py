"""The cheapest setting of every competitor whose error is below a target: the same hindsight for all."""

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from benchmarks.contenders import Contender, Run, Unable
from benchmarks.motions import Floats, Motion, error

REFINEMENTS = 2
"""Halvings, on a logarithmic scale, of the ratio between a setting that meets a target and the next coarser one."""
PATIENCE = 6
"""Refinements without a better error after which round-off is believed to be reached."""

HOPELESS = 300.0
"""Competitors that take this multiple of the quickest time are given up."""


class Tried(NamedTuple):
    """Holds a run with a setting."""

    setting: float
    error: float
    seconds: float


@dataclass
class Search:
    """Makes all runs of one competitor on one motion."""

    contender: Contender
    motion: Motion
    truth: Floats
    longest: float = 1.0
    """Seconds of a run beyond which nothing finer is tried."""
    runs: dict[tuple[float, float], Tried] = field(default_factory=dict)

    def tried(self, setting: float, target: float) -> Tried:
        """Returns error and time of a run, which is made once."""
        key = (setting, target if self.contender.depends_on_target else 0.0)
        if key not in self.runs:
            self.runs[key] = self._made(setting, target)
        return self.runs[key]

    def _made(self, setting: float, target: float) -> Tried:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                run = self.contender.runner(self.motion, setting, target)
                found = run()  # compiles, where something is left to be compiled
                seconds = _seconds(run)
                if seconds > 0.3 * self.longest:  # the result matters: run again, since other programs may disturb
                    seconds = min(seconds, _seconds(run))
                return Tried(setting, error(found, self.truth), seconds)
            except ArithmeticError:  # a step that cannot be made
                return Tried(setting, math.inf, 0.0)

    def cheapest(self, target: float) -> Tried | None:
        """Returns the coarsest setting that meets the target together with the next finer ones up to the grid."""
        limits = self.contender.settings(self.motion)
        setting, coarser, best, stale = limits.coarsest, None, math.inf, 0
        while setting <= limits.finest * (1 + 1e-9):
            found = self.tried(setting, target)
            if found.error <= target:
                return self._refined(coarser, found, target)
            if found.seconds > self.longest:
                return None
            stale = 0 if found.error < 0.9 * best else stale + 1
            best = min(best, found.error)
            if best < 1e-6 and stale >= PATIENCE:
                return None
            coarser, setting = setting, setting * limits.ratio
            if coarser < limits.finest < setting:
                setting = limits.finest
        return None

    def _refined(self, coarser: float | None, found: Tried, target: float) -> Tried:
        if coarser is None:
            return found
        for _ in range(REFINEMENTS):
            middle = self.tried(math.sqrt(coarser * found.setting), target)
            if middle.error <= target:
                found = middle
            else:
                coarser = middle.setting
        return found


def _seconds(run: Run) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def settled(
    contenders: Sequence[Contender], motion: Motion, truth: Floats, targets: Sequence[float], longest: float,
    failed: Callable[[str, str], None], hopeless: float = HOPELESS,
) -> dict[float, list[tuple[Contender, Tried]]]:  # fmt: skip
    """Returns for each target the competitors that meet it, with their settings; calls `failed` with those that failed.

    A competitor that takes longer than `longest`, or many times as long as the quickest so far, is not refined further.
    """
    out: dict[float, list[tuple[Contender, Tried]]] = {target: [] for target in targets}
    for contender in contenders:
        search = Search(contender, motion, truth)
        try:
            for target in targets:
                quickest = min((found.seconds for _, found in out[target]), default=longest)
                search.longest = min(longest, hopeless * quickest)
                if (found := search.cheapest(target)) is not None:
                    out[target].append((contender, found))
        except Unable as reason:
            failed(contender.name, str(reason))
        except Exception as reason:  # a competitor that breaks must not end the measurement
            failed(contender.name, f"{type(reason).__name__}: {str(reason)[:200]}")
    return out


def repeated(run: Run, seconds: float, least: float = 2e-3) -> tuple[Callable[[], object], int]:
    """Returns a function that makes enough runs in a row to be timed."""
    count = max(1, min(1000, math.ceil(least / max(seconds, 1e-6))))
    if count == 1:
        return run, 1

    def several() -> None:
        for _ in range(count):
            run()

    return several, count
