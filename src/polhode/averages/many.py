"""Drifts of many bodies, on all cores."""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polhode.accuracy.policy import ToleranceNotReached
from polhode.averages.course import DriftImpossible
from polhode.averages.result import Drift
from polhode.support import checks
from polhode.support.arrays import Floats

One = Callable[[Any, Any, Any], Drift]
CHUNKS_A_WORKER = 8


@dataclass(frozen=True, eq=False)
class Drifts(Sequence[Drift]):
    """The drifts of many bodies: a sequence of `Drift`, and arrays over all.

    Bodies for which averages do not hold have a message in `failed`, and NaN in arrays; to ask for their drift raises
    it.
    """

    found: tuple[Drift | str, ...]

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

    def at(self, t: float) -> tuple[Floats, Floats]:
        """The mean momenta and energies at a time; NaN for bodies whose drift has ended before."""
        rows = np.full((len(self.found), 4), np.nan)
        for k, one in enumerate(self.found):
            if not isinstance(one, str) and (t - one.path.t[0]) * (one.t_last - t) >= 0.0:
                rows[k] = one.path.at(t)
        return rows[:, :3], rows[:, 3]

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Drifts(self.found[index])
        one = self.found[index]
        if isinstance(one, str):
            raise DriftImpossible(f"body {index}: {one}")
        return one

    def __iter__(self) -> Iterator[Drift]:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        good = [one for one in self.found if not isinstance(one, str)]
        ended = sum(one.path.ended for one in good)
        worst = f", error {max(one.error for one in good):.1e} at most" if good else ""
        return f"Drifts\n  {len(self):,} bodies: {len(self.failed)} refused, {ended} ended early{worst}"


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
    here = [_tried(one, given[0])]
    rest = given[1:]
    if wanted < 2 or len(rest) < 2 or "fork" not in multiprocessing.get_all_start_methods():
        return Drifts((*here, *(_tried(one, x) for x in rest)))
    _work.append((one, rest))
    try:
        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(min(wanted, len(rest)), mp_context=context) as pool:
            chunk = max(1, len(rest) // (CHUNKS_A_WORKER * wanted))
            answers = list(pool.map(_in_worker, range(len(rest)), chunksize=chunk))
    finally:
        _work.pop()
    made = (x if isinstance(x, str) else _with_torque(x, torque, y[0]) for x, y in zip(answers, rest, strict=True))
    return Drifts((*here, *made))


_work: list[tuple[One, list[Any]]] = []
"""What workers do: they are copies of the process that has put it here."""


def _in_worker(k: int) -> Drift | str:
    """The drift of a body without what the parent has: its body and torque, of which functions do not travel."""
    one, rest = _work[-1]
    made = _tried(one, rest[k])
    return made if isinstance(made, str) else _with_torque(made, None, None)


def _with_torque(d: Drift, torque: Any, body: Any) -> Drift:
    asked = replace(d.asked, torque=torque, body=body, on_compile=None)
    branches = tuple(b._replace(drift=_with_torque(b.drift, torque, body)) for b in d.branches)
    return replace(d, asked=asked, branches=branches)


def _tried(one: One, given: Any) -> Drift | str:
    """The drift of a body, or why there is none; its stated error says what a warning would."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToleranceNotReached)
        try:
            return one(*given)
        except DriftImpossible as why:
            return str(why)
