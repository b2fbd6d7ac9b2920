"""Drifts of many bodies, on all cores."""

from __future__ import annotations

import multiprocessing
import os
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from polhode.accuracy.policy import ToleranceNotReached
from polhode.averages.course import DriftImpossible
from polhode.averages.result import Drift
from polhode.run.integration import SimulationInterrupted
from polhode.support import checks
from polhode.support.arrays import Floats
from polhode.support.interrupts import keeping

One = Callable[[Any, Any, Any], Drift]
NOT_YET = "interrupted before this body: resume() goes on"
KEPT = "the drifts of other bodies are the `solution` of this exception"


@dataclass(frozen=True, eq=False)
class Drifts(Sequence[Drift]):
    """The drifts of many bodies: a sequence of `Drift`, and arrays over all.

    Bodies for which averages do not hold have a message in `failed`, and NaN in arrays; to ask for their drift raises
    it.
    """

    found: tuple[Drift | str, ...]
    work: tuple[_Task, ...]
    """How the drift of each body is made."""
    workers: int

    @property
    def failed(self) -> dict[int, str]:
        """Why there is no drift, by the number of the body."""
        return {k: one for k, one in enumerate(self.found) if isinstance(one, str)}

    @property
    def error(self) -> Floats:
        """The stated error of each body."""
        return np.array([np.nan if isinstance(one, str) else one.error for one in self.found])

    @property
    def t_last(self) -> Floats:
        """The end of each drift, which an event may have set, s."""
        return np.array([np.nan if isinstance(one, str) else one.t_last for one in self.found])

    @property
    def message(self) -> str:
        """What happened, in a sentence."""
        good = [one for one in self.found if not isinstance(one, str)]
        ended, left = sum(one.path.ended for one in good), self.found.count(NOT_YET)
        worst = f", error {max(one.error for one in good):.1e} at most" if good else ""
        interrupted = f", {left} not yet made: resume() goes on" if left else ""
        return f"{len(self):,} bodies: {len(self.failed) - left} refused, {ended} ended early{worst}{interrupted}"

    def at(self, t: float) -> tuple[Floats, Floats]:
        """The mean momenta and energies at a time; NaN for bodies whose drift has ended before."""
        rows = np.full((len(self.found), 4), np.nan)
        for k, one in enumerate(self.found):
            if not isinstance(one, str) and (t - one.path.t[0]) * (one.t_last - t) >= 0.0:
                rows[k] = one.path.at(t)
        return rows[:, :3], rows[:, 3]

    def resume(self, t_end: float | None = None) -> Drifts:
        """Makes what an interruption has left; with `t_end`, all drifts that have not ended go on to there."""
        work = list(self.work)
        if t_end is not None:
            for k, one in enumerate(self.found):
                if not isinstance(one, str):
                    work[k] = replace(work[k], make=partial(_resumed, one, t_end))
        return _made(work, self.found, self.workers, again=t_end is not None)

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Drifts(self.found[index], self.work[index], self.workers)
        one = self.found[index]
        if isinstance(one, str):
            raise DriftImpossible(f"body {index}: {one}")
        return one

    def __iter__(self) -> Iterator[Drift]:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        return f"Drifts\n  {self.message}"


@dataclass(frozen=True, eq=False)
class _Task:
    """How the drift of a body is made, and what of it does not travel between processes."""

    make: Callable[[], Drift]
    body: Any
    torque: Any


def drifts(one: One, torque: Any, body: Any, omega: Any, attitude: Any, workers: int | None = None) -> Drifts:
    """Makes the drift of each body: the first here, which compiles what all need, and the others on all cores.

    Worker processes are copies of this one, where the system can make these; elsewhere there are none.
    """
    alone = attitude is None or np.shape(attitude) in ((4,), (3, 3)) or hasattr(attitude, "as_quat")
    rates = np.asarray(omega, dtype=np.float64)
    lists = {
        "body": list(body) if isinstance(body, Sequence | np.ndarray) else None,
        "omega": list(rates) if rates.ndim == 2 else None,
        "attitude": None if alone else list(attitude),
    }
    lengths = {name: len(x) for name, x in lists.items() if x is not None}
    if len(set(lengths.values())) != 1 or 0 in lengths.values():
        listed = ", ".join(f"{name} {n}" for name, n in lengths.items())
        raise ValueError(f"body, omega and attitude must be single or stacks of one length, but are: {listed}")
    count = next(iter(lengths.values()))
    given = [
        tuple(whole if x is None else x[k] for x, whole in zip(lists.values(), (body, rates, attitude), strict=True))
        for k in range(count)
    ]
    wanted = os.cpu_count() or 1 if workers is None else checks.count("workers", workers)
    return _made([_Task(partial(one, *x), x[0], torque) for x in given], (NOT_YET,) * count, wanted)


def _made(work: list[_Task], found: Sequence[Drift | str], workers: int, *, again: bool = False) -> Drifts:
    """Makes the drifts that are not there yet, or `again` those that are; what an exception leaves is kept."""
    made = list(found)
    todo = [k for k, x in enumerate(found) if x == NOT_YET or (again and not isinstance(x, str))]
    with keeping(SimulationInterrupted, lambda _: Drifts(tuple(made), tuple(work), workers), KEPT):
        here = 1 if workers > 1 and len(todo) > 2 and "fork" in multiprocessing.get_all_start_methods() else len(todo)
        for k in todo[:here]:
            made[k] = _tried(work[k])
        if there := todo[here:]:
            _work.append([work[k] for k in there])
            try:
                context = multiprocessing.get_context("fork")
                with ProcessPoolExecutor(min(workers, len(there)), context, _leave_to_parent) as pool:
                    for k, answer in zip(there, pool.map(_in_worker, range(len(there))), strict=True):
                        task = work[k]
                        made[k] = answer if isinstance(answer, str) else _with_torque(answer, task.torque, task.body)
            finally:
                _work.pop()
    return Drifts(tuple(made), tuple(work), workers)


_work: list[list[_Task]] = []
"""What workers do: they are copies of the process that has put it here."""


def _leave_to_parent() -> None:
    """Ctrl-C reaches workers, too: their parent decides."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _in_worker(k: int) -> Drift | str:
    """The drift of a body without what the parent has: its body and torque, of which functions do not travel."""
    made = _tried(_work[-1][k])
    return made if isinstance(made, str) else _with_torque(made, None, None)


def _with_torque(d: Drift, torque: Any, body: Any) -> Drift:
    asked = replace(d.asked, torque=torque, body=body, on_compile=None)
    branches = tuple(b._replace(drift=_with_torque(b.drift, torque, body)) for b in d.branches)
    return replace(d, asked=asked, branches=branches)


def _resumed(d: Drift, t_end: float) -> Drift:
    """A drift to another end, or as it is if it has ended."""
    return d if d.path.ended else d.resume(t_end)


def _tried(task: _Task) -> Drift | str:
    """The drift of a body, or why there is none; its stated error says what a warning would."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToleranceNotReached)
        try:
            return task.make()
        except DriftImpossible as why:
            return str(why)
