"""What a worker does: it shows that it makes the right bits, and runs parts."""

from __future__ import annotations

import os
import pickle
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from polhode.accuracy.search import Goal
from polhode.api.ensemble import EnsembleRequest, batch_size
from polhode.cluster.manifest import Manifest, PlanError, json_digest, read_found, read_survey
from polhode.cluster.memory import keep_freed_memory
from polhode.cluster.store import Store, Table, digests, flattened, stored
from polhode.ensembles.events import BatchRunner, WatchedRunner
from polhode.ensembles.initial import Bodies, Starts
from polhode.ensembles.pilots import ToleranceMisses, ToleranceRunner
from polhode.ensembles.reduce import Reductions
from polhode.ensembles.result import MOST_MESSAGES, Ensemble
from polhode.kernels.status import Status
from polhode.problem import Stats
from polhode.support.arrays import Floats

CANARY_BODIES = 64
"""The bodies that every worker runs first: more than lanes take at a time, and few beside a part."""
REFUSED_SECONDS = 5.0
"""A worker that was refused says so again no sooner than this: else it would take all parts from the others."""


class WorkerRefused(RuntimeError):
    """A worker has other versions than the plan, or makes other bits, and may not contribute."""


class CannotUnpack(ImportError):
    """A worker cannot find the functions that a plan is made of: no other attempt would help."""


def worker_name() -> str:
    """The name of this process: computer and number."""
    return f"{socket.gethostname()}:{os.getpid()}"


# --- some rows of many ---------------------------------------------------------------------------------------------


class Window:
    """Some stretches of rows of an array that stays elsewhere; other rows cannot be asked for."""

    def __init__(self, rows: Any, ranges: tuple[range, ...]) -> None:
        self.count = len(rows)
        self.kept = {(r.start, r.stop): np.array(rows[r.start : r.stop]) for r in ranges}

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, wanted: slice) -> Any:
        for (first, beyond), rows in self.kept.items():
            if first <= wanted.start and wanted.stop <= beyond:
                return rows[wanted.start - first : wanted.stop - first]
        raise IndexError(f"the rows from {wanted.start} to {wanted.stop} stayed elsewhere")


def windowed(starts: Starts, ranges: tuple[range, ...]) -> Starts:
    """Starts that hold these rows only, of arrays with a row for each body; what is drawn takes no room."""

    def some(rows: Any) -> Any:
        return Window(rows, ranges) if isinstance(rows, np.ndarray) and len(rows) > 1 else rows

    bodies = starts.bodies
    if isinstance(bodies, Bodies) and not bodies.listed:
        bodies = replace(bodies, moments=some(bodies.moments))
    return replace(
        starts, bodies=bodies, rates=some(starts.rates), quaternions=some(starts.quaternions),
        custom_parameters=some(starts.custom_parameters), carried=some(starts.carried), rotors=some(starts.rotors),
    )  # fmt: skip


# --- parts ---------------------------------------------------------------------------------------------------------


class PartResult(NamedTuple):
    """What was made of some bodies: rows for each of them, and what they add to reductions over all."""

    arrays: Table
    states: Mapping[str, Any]
    dims: Mapping[str, tuple[str, ...]]
    failed: int
    messages: dict[int, str]
    stats: Stats

    @property
    def digests(self) -> dict[str, dict[str, str]]:
        """The SHA-256 of each array, and of what each reduction adds."""
        arrays = {name: data for name, (_, data, _) in self.arrays.items()}
        return {"arrays": digests(arrays), "states": digests(dict(flattened(self.states)))}

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of all bits."""
        return json_digest(self.digests)


class PartEngine:
    """Runs any bodies of a plan, as its manifest says."""

    def __init__(self, asked: EnsembleRequest, turned: BatchRunner) -> None:
        self.asked, self.turned = asked, turned

    @classmethod
    def of(cls, asked: EnsembleRequest, manifest: Manifest, threads: int) -> PartEngine:
        """Prepares everything as the manifest says, without looking at any bodies but the lead."""
        given = asked.goal.method if isinstance(asked.goal, Goal) else None
        found = read_found(manifest["search"], given)
        return cls(asked, asked.turned(read_survey(manifest["survey"]), threads, found=found))

    @property
    def _steps(self) -> Any:
        return self.turned.turned if isinstance(self.turned, WatchedRunner) else self.turned

    @property
    def program(self) -> str | None:
        """The digest of the program; None if it has none that holds in other processes."""
        steps = self._steps
        if not isinstance(steps, ToleranceRunner):
            return steps.batch.program_name  # type: ignore[no-any-return]
        return None if steps.levels is None else steps.levels.batches(0)[0].program_name

    @property
    def missed(self) -> ToleranceMisses:
        """How many bodies have not reached their tolerance so far."""
        steps = self._steps
        return steps.missed if isinstance(steps, ToleranceRunner) else ToleranceMisses()

    @property
    def t(self) -> Floats:
        """The output times."""
        return self.turned.t

    def run(self, bodies: range, starts: Starts | None = None) -> PartResult:
        """Runs some bodies, batch by batch; their initial states are among `starts`."""
        starts = self.asked.starts if starts is None else starts
        total: _Rows | _Reduced = (_Rows if self.asked.reductions is None else _Reduced)(self.asked, bodies)
        size = batch_size(self.turned.rows, self.turned.steps)
        failed, messages, stats = 0, dict[int, str](), Stats()
        for first in range(bodies.start, bodies.stop, size):
            made = self.turned(starts.part(first, min(bodies.stop, first + size)))
            total.add(made)
            failed, stats = failed + int((made.status != Status.OK).sum()), stats + made.stats
            for k, message in made.messages.items():
                if len(messages) < MOST_MESSAGES:
                    messages[first + k] = message
        return PartResult(*total.result(self.asked, self.t), failed, messages, stats)


class _Reduced:
    """Reductions of the bodies of a part; what they keep for each body becomes rows."""

    def __init__(self, asked: EnsembleRequest, bodies: range) -> None:
        assert asked.reductions is not None
        self.total = Reductions(asked.reductions, asked.starts.count, asked.starts.seed, bodies)

    def add(self, made: Ensemble) -> None:
        """Adds the next bodies."""
        self.total.add(made)

    def result(
        self, asked: EnsembleRequest, t: Floats
    ) -> tuple[Table, Mapping[str, Any], Mapping[str, tuple[str, ...]]]:
        """Arrays, states and the dimensions of each."""
        wanted = self.total.wanted
        each = {name for name in wanted if wanted[name].over_bodies is None}
        table = self.total.result(asked.problem, t).table() if each else {}
        arrays = {name: (dims, stored(data), about) for name, (dims, data, about) in table.items() if name in each}
        states = {name: state for name, state in self.total.states().items() if name not in each}
        return arrays, states, self.total.dims


class _Rows:
    """The rows of the bodies of a part, as `Ensemble.to_xarray` has them; what all bodies share is left out."""

    def __init__(self, asked: EnsembleRequest, bodies: range) -> None:
        self.bodies, self.starts = bodies, asked.starts
        self.arrays: dict[str, tuple[tuple[str, ...], Any, Mapping[str, Any]]] = {}
        self.filled = 0

    def add(self, made: Ensemble) -> None:
        """Adds the next bodies."""
        n = len(made)
        for name, (dims, data, about) in table_of(made, self.starts).items():
            if dims[:1] != ("body",):
                continue
            data = stored(data)
            if name not in self.arrays:
                room = np.empty((len(self.bodies), *data.shape[1:]), data.dtype)
                self.arrays[name] = (dims, room, about)
            self.arrays[name][1][self.filled : self.filled + n] = data
        self.filled += n

    def result(
        self, asked: EnsembleRequest, t: Floats
    ) -> tuple[Table, Mapping[str, Any], Mapping[str, tuple[str, ...]]]:
        """Arrays, no states, and the dimensions of each."""
        return self.arrays, {}, {name: dims for name, (dims, _, _) in self.arrays.items()}


def table_of(made: Ensemble, starts: Starts) -> dict[str, tuple[tuple[str, ...], Any, Mapping[str, Any]]]:
    """The arrays of an ensemble as a store has them; what is the same for all bodies stands there once."""
    shared = _shared(starts)
    found: dict[str, tuple[tuple[str, ...], Any, Mapping[str, Any]]] = {}
    for name, (dims, data, about) in made.table().items():
        if "event" in dims:  # whose number differs from part to part: below is what each body has
            continue
        found[name] = (dims[1:], data[0], about) if name in shared else (dims, data, about)
    found["steps"] = (("body",), made.steps, {"long_name": "number of steps"})
    for event in made.events:
        found[f"{event.name}_count"] = (("body",), event.count, {"long_name": f"how often {event.name} happened"})
        found[f"{event.name}_first"] = (
            ("body",), event.first, {"long_name": f"when {event.name} first happened", "units": "s"},
        )  # fmt: skip
    return found


def _shared(starts: Starts) -> set[str]:
    """The names of the arrays of initial states that have one row for all bodies."""
    if starts.count == 1:
        return set()
    bodies = starts.bodies
    given = {
        "quaternion_start": starts.quaternions, "omega_start": starts.rates, "rotor": starts.rotors,
        "parameters": starts.custom_parameters, "state_start": starts.carried,
    }  # fmt: skip
    shared = {name for name, rows in given.items() if isinstance(rows, np.ndarray) and len(rows) == 1}
    if isinstance(bodies, Bodies) and bodies.count == 1:
        shared |= {"inertia", "moments"} | ({"rotor"} if starts.rotors is None else set())
    return shared


# --- in a process of its own ---------------------------------------------------------------------------------------


@dataclass
class Task:
    """All that a worker needs for the parts of a plan."""

    asked: EnsembleRequest
    manifest: Manifest
    store: Store
    threads: int


_mine = threading.local()
"""What this thread has prepared: the engine of the plan that it worked for last, or why it was refused."""


def run_packed(packed: bytes, starts: Starts | None, part: int, attempt: str) -> dict[str, Any]:
    """Runs a part as a worker of any executor does, and returns its receipt; `attempt` makes calls differ."""
    keep_freed_memory()
    try:
        task: Task = pickle.loads(packed)
    except (AttributeError, ImportError) as problem:
        raise CannotUnpack(
            f"the worker {worker_name()} cannot find what the plan is made of ({problem}): functions of your own must "
            "be in a module that workers can import, a file on their PYTHONPATH"
        ) from None
    return run_part(task, part, starts)


def run_part(task: Task, part: int, starts: Starts | None = None) -> dict[str, Any]:
    """Runs a part, writes it to the store, and returns its receipt."""
    engine, before = _admitted(task, starts), time.time()
    bodies, missed = task.manifest.bodies(part), engine.missed
    made = engine.run(bodies, starts)
    now, found = engine.missed, made.digests
    receipt = {
        "part": part,
        "plan": task.manifest.digest,
        "first": bodies.start,
        "beyond": bodies.stop,
        "sha256": json_digest(found),
        "digests": found,
        "dims": {name: list(dims) for name, dims in made.dims.items()},
        "failed": made.failed,
        "messages": {str(k): text for k, text in made.messages.items()},
        "steps": made.stats.steps,
        "nfev": made.stats.nfev,
        "missed": [now.bodies - missed.bodies, now.worst, now.unknown - missed.unknown, now.reason],
        "worker": worker_name(),
        "seconds": time.time() - before,
        "finished": time.time(),
    }
    task.store.write_part(part, bodies, made.arrays, made.states, receipt)
    return receipt


def _admitted(task: Task, starts: Starts | None) -> PartEngine:
    """The engine of this thread, if it makes the bits of the manifest."""
    known = getattr(_mine, "known", None)
    key = (task.manifest.digest, task.store.path, task.threads)
    if known is None or known[0] != key:
        try:
            asked = task.asked if starts is None else replace(task.asked, starts=starts)
            _mine.known = known = (key, admitted(asked, task.manifest, task.store.path, task.threads))
        except WorkerRefused as refusal:
            _mine.known = known = (key, refusal)
            raise
    if isinstance(known[1], WorkerRefused):
        time.sleep(REFUSED_SECONDS)
        raise known[1]
    engine: PartEngine = known[1]
    return engine


def admitted(asked: EnsembleRequest, manifest: Manifest, where: str, threads: int) -> PartEngine:
    """An engine that has run the first bodies, with the bits of the manifest; raises WorkerRefused if not."""
    try:
        manifest.check_versions(where, f"the worker {worker_name()}")
    except PlanError as problem:
        raise WorkerRefused(str(problem)) from None
    engine = PartEngine.of(asked, manifest, threads)
    if (program := engine.program) != manifest["program"] and program is not None and manifest["program"] is not None:
        raise WorkerRefused(
            f"the worker {worker_name()} has another program than the plan ({program[:12]} instead of "
            f"{manifest['program'][:12]}): its Python, its polhode or a function of yours differs; install the same"
        )
    canary = manifest["canary"]
    if engine.run(range(int(canary["bodies"]))).fingerprint != canary["sha256"]:
        raise WorkerRefused(
            f"the worker {worker_name()} makes other bits than the plan for the first {canary['bodies']} bodies: its "
            "processor or its libraries differ; leave it out, or begin a new store on machines of its kind"
        )
    return engine
