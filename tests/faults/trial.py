"""A trial does something bad many times, and counts what was tried and what was lost."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tests.compiler.fresh import Fresh

MOST_NOTES = 20
"""The losses that are described; the others are counted."""


@dataclass
class Tally:
    """What was tried and what was lost."""

    tried: int = 0
    lost: int = 0
    notes: list[str] = field(default_factory=list)
    """How the first of them were lost."""

    def add(self, held: bool, note: object = "") -> None:
        """Counts one attempt."""
        self.tried += 1
        if not held:
            self.lost += 1
            if len(self.notes) < MOST_NOTES:
                self.notes.append(str(note))

    def add_all(self, found: dict[str, list[str]], tried: int) -> None:
        """Counts attempts of another process, which describes those that were lost."""
        for k in range(tried):
            self.add(k >= len(found["lost"]), found["lost"][k] if k < len(found["lost"]) else "")


class Bench(NamedTuple):
    """Where a trial works, and by which chance."""

    folder: Path
    fresh: Fresh
    chance: random.Random


class Trial(NamedTuple):
    """Something bad, how often it is done, and what must hold."""

    name: str
    fault: str
    """What is done, for the table."""
    promise: str
    """What must hold, for the table."""
    short: int
    """The number of attempts in `make test`; 0: none."""
    full: int
    """The number of attempts in `make faults`."""
    run: Callable[[Bench, int, Tally], None]


TRIALS: dict[str, Trial] = {}


def attempt(wanted: Trial, size: int, seed: int, folder: Path) -> Tally:
    """Runs a trial in an empty folder, and returns what was counted."""
    fresh = Fresh(folder, folder)
    del fresh.environment["PYTHONPYCACHEPREFIX"]  # the usual bytecode: Numba's import is slow without it
    fresh.environment["POLHODE_QUIET"] = "1"
    tally = Tally()
    try:
        wanted.run(Bench(folder, fresh, random.Random(seed)), size, tally)
    except Exception as problem:  # of a process that has ended badly
        tally.add(False, problem)
    return tally


def trial(fault: str, promise: str, *, short: int, full: int) -> Callable[[Callable[[Bench, int, Tally], None]], Trial]:
    """Makes a trial of a function."""

    def named(f: Callable[[Bench, int, Tally], None]) -> Trial:
        made = TRIALS[f.__name__] = Trial(f.__name__, fault, promise, short, full, f)
        return made

    return named
