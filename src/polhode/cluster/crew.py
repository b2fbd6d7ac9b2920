"""The run of a plan: parts are given to workers, tried again where they fail, and counted."""

from __future__ import annotations

import secrets
import time
import warnings
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import replace
from typing import Any, NamedTuple

from polhode.cluster.manifest import Manifest, PlanError
from polhode.cluster.pack import has_rows, packed
from polhode.cluster.store import FULL, Store
from polhode.cluster.worker import CannotUnpack, Task, WorkerRefused, run_packed, run_part, windowed
from polhode.ensembles.initial import Starts
from polhode.text.terminal import clock

MOST_ATTEMPTS = 3
"""A part that has failed this number of times is reported, and left."""
MOST_REFUSALS = 20
"""A part that was given to refused workers this number of times is reported, and left."""
MOST_SUBMITTED = 4096
"""The parts that an executor has at a time."""
LISTED = 8
"""More parts than this are not listed in a message."""
LOOK_SECONDS = 0.5
"""How often the driver looks up from waiting: for Ctrl-C, and to report."""


class PlanProgress(NamedTuple):
    """How far a plan has come, over all workers."""

    parts_done: int
    parts: int
    bodies_done: int
    bodies: int
    rate: float
    """Bodies a second; 0 as long as it is not known."""
    seconds_left: float
    """The remaining time in seconds; infinite as long as it is not known."""
    failed_parts: int = 0

    @classmethod
    def of(cls, manifest: Manifest, parts: int, bodies: int, rate: float, failed: int = 0) -> PlanProgress:
        """How far a plan is with so much done, at this rate in bodies a second."""
        left = (manifest.count - bodies) / rate if rate > 0.0 else float("inf")
        return cls(parts, manifest.parts, bodies, manifest.count, rate, left, failed)

    def __str__(self) -> str:
        text = f"{self.parts_done:,} of {self.parts:,} parts, {self.bodies_done:,} of {self.bodies:,} bodies"
        if self.failed_parts:
            text += f", {self.failed_parts:,} parts failed"
        if self.rate > 0.0 and self.parts_done < self.parts:
            text += f"; {self.rate:,.0f} bodies/s, {clock(self.seconds_left)} left"
        return text


class PartsFailed(RuntimeError):
    """Some parts could not be run; all others are in the store. `parts` has the reason for each, by its number."""

    def __init__(self, message: str, parts: dict[int, str]) -> None:
        super().__init__(message)
        self.parts = parts

    def __reduce__(self) -> Any:
        """For pickle, which would leave out the parts."""
        return type(self), (str(self), self.parts)


class WorkersLost(RuntimeError):
    """The executor has lost its workers, or its scheduler: parts that were finished are in the store."""


ProgressOfPlan = Callable[[PlanProgress], None]


def few_of(parts: list[int]) -> str:
    """Writes the numbers of parts for a message; of many, the first ones."""
    return ", ".join(map(str, parts[:LISTED])) + (", ..." if len(parts) > LISTED else "")


class Crew:
    """The parts of one run, with those who work on them."""

    def __init__(self, task: Task, parts: set[int], progress: ProgressOfPlan | None) -> None:
        """Takes the parts that are wanted; those that are in the store already are left out."""
        self.task, self.manifest, self.store, self.progress = task, task.manifest, task.store, progress
        there = {part for part in self.store.done() if part < self.manifest.parts}
        self.left, self.began = sorted(parts - there, reverse=True), time.monotonic()
        self.done = len(there)
        self.bodies_before = self.bodies = sum(len(self.manifest.bodies(part)) for part in there)
        self.attempts: dict[int, int] = {}
        self.refusals: dict[int, int] = {}
        self.failed: dict[int, str] = {}
        self.refused: dict[str, None] = {}
        """What refused workers say, each once."""

    # --- in this process

    def run_here(self) -> None:
        """Runs all parts in this process, one after the other."""
        self.report()
        while self.left:
            part = self.left.pop()
            try:
                run_part(self.task, part)
            except WorkerRefused:  # there is no other worker
                raise
            except Exception as problem:
                self.note(part, problem)
            else:
                self.note_done(part)

    # --- by others

    def run_by(self, executor: Executor) -> None:
        """Has all parts run by the workers of an executor."""
        sent = packed(self._task_without_rows, self.task.asked)
        mark = secrets.token_hex(4)  # Dask takes equal calls for one
        pending: dict[Future[Any], int] = {}
        self.report()
        try:
            while self.left or pending:
                while self.left and len(pending) < MOST_SUBMITTED:
                    part = self.left.pop()
                    attempt = f"{mark} {self.attempts.get(part, 0)} {self.refusals.get(part, 0)}"
                    pending[self._submitted(executor, sent, part, attempt)] = part
                finished, _ = wait(pending, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
                for future in finished:
                    self._hear(future, pending.pop(future))
                if not finished:
                    self.report()
        except (BrokenExecutor, CancelledError) as lost:
            there = len(self.store.done())
            raise WorkersLost(
                f"the executor has lost its workers or its scheduler ({type(lost).__name__}: {lost}); "
                f"{there:,} of {self.manifest.parts:,} parts are in {self.store.path}: run the plan "
                "again, with a new executor, to go on"
            ) from lost
        finally:
            for future in pending:
                future.cancel()

    def _submitted(self, executor: Executor, sent: bytes, part: int, attempt: str) -> Future[Any]:
        try:
            return executor.submit(run_packed, sent, self._rows(part), part, attempt)
        except BrokenExecutor:
            raise
        except Exception as problem:  # it was shut down, or its scheduler is gone: each executor has a class for that
            raise BrokenExecutor(f"{type(problem).__name__}: {problem}") from None

    @property
    def _task_without_rows(self) -> Task:
        """The task for workers: rows of bodies travel with each part."""
        asked = self.task.asked
        if not has_rows(asked.starts):
            return self.task
        return replace(self.task, asked=replace(asked, starts=windowed(asked.starts, ())))

    def _rows(self, part: int) -> Starts | None:
        """The initial states that a part needs, where they are given as rows: its own, and the lead's."""
        starts, manifest = self.task.asked.starts, self.manifest
        if not has_rows(starts):
            return None
        lead = int(manifest["survey"]["lead"])
        canary = range(int(manifest["canary"]["bodies"]))
        return windowed(starts, (manifest.bodies(part), canary, range(lead, lead + 1)))

    def _hear(self, future: Future[Any], part: int) -> None:
        try:
            future.result()
        except (BrokenExecutor, CancelledError):
            raise
        except Exception as problem:
            self.note(part, problem)
        else:
            self.note_done(part)

    # --- what became of parts

    def note_done(self, part: int) -> None:
        """Takes note of a part that is in the store."""
        self.done += 1
        self.bodies += len(self.manifest.bodies(part))
        self.report()

    def note(self, part: int, problem: Exception) -> None:
        """Takes note of an attempt that failed; raises it if no other attempt can help."""
        if isinstance(problem, CannotUnpack) or (isinstance(problem, OSError) and problem.errno in FULL):
            raise problem
        if isinstance(problem, PlanError):
            self._check_arrays()  # a worker may see less of the store than there is, for a moment
        if isinstance(problem, WorkerRefused):
            said = str(problem)
            if said not in self.refused:
                self.refused[said] = None
                warnings.warn(said, UserWarning, stacklevel=2)
            self.refusals[part] = self.refusals.get(part, 0) + 1
            over = self.refusals[part] >= MOST_REFUSALS
        else:
            self.attempts[part] = self.attempts.get(part, 0) + 1
            over = self.attempts[part] >= MOST_ATTEMPTS
        if over:
            notes = "; ".join([str(problem), *getattr(problem, "__notes__", [])])
            self.failed[part] = f"{type(problem).__name__}: {notes}"
            self.report()
        else:
            self.left.insert(0, part)  # the others come first

    def _check_arrays(self) -> None:
        """Raises PlanError if arrays of the store are missing or damaged for this process, too."""
        store = Store(self.store.path, self.store.options)
        for name in self.manifest["arrays"]:
            store.array(name)

    def report(self) -> None:
        """Reports how far all parts are."""
        if self.progress is None:
            return
        spent = time.monotonic() - self.began
        rate = (self.bodies - self.bodies_before) / spent if spent > 0.0 else 0.0
        self.progress(PlanProgress.of(self.manifest, self.done, self.bodies, rate, len(self.failed)))

    def report_failures(self) -> None:
        """Raises PartsFailed if some parts could not be run."""
        if not self.failed:
            return
        lines = [
            f"  part {part}, bodies {(b := self.manifest.bodies(part)).start} to {b.stop - 1}: {why}"
            for part, why in sorted(self.failed.items())[:LISTED]
        ]
        more = len(self.failed) - len(lines)
        raise PartsFailed(
            f"{len(self.failed):,} of {self.manifest.parts:,} parts failed three times; all others are in "
            f"{self.store.path}, and the next run tries these again:\n"
            + "\n".join([*lines, *([f"  and {more:,} more"] if more else [])]),
            dict(self.failed),
        )
