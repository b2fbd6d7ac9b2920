"""Everything that is decided once for a plan: the survey of all bodies, what pilots find, the parts, the canary."""

import math
import os
import pickle
import time
from concurrent.futures import Executor
from typing import Any

import numpy as np

from polhode.api.ensemble import EnsembleRequest
from polhode.cluster.manifest import Manifest, PlanError, found_record, survey_record, versions
from polhode.cluster.pack import packed
from polhode.cluster.store import Store
from polhode.cluster.worker import CANARY_BODIES, PartEngine, table_of, windowed
from polhode.ensembles.batch import Batch, Sight, Survey
from polhode.ensembles.events import WatchedRunner
from polhode.ensembles.initial import Starts
from polhode.ensembles.pilots import ToleranceRunner
from polhode.ensembles.record import plan_record
from polhode.ensembles.reduce import Reductions
from polhode.samples import BLOCK
from polhode.support import checks

PART_SECONDS = 10.0
"""The least work of a part, on one core: beside it, what an executor and a store cost is small."""
PART_BYTES = 2**28
"""The largest chunks of a part together, which a worker holds in memory."""
TIMED_BODIES = 1024
"""The bodies by which it is measured how long one takes."""
TRIES = 3
"""Measurements of the time of a few bodies, of which the least counts: threads of this process may work beside them."""
SURVEYED_BODIES = 2**18
"""The bodies that are surveyed in one call of an executor, about a tenth of a second of work."""


def decided(
    asked: EnsembleRequest, question: dict[str, Any], store: Store, part_bodies: int | None, executor: Executor | None
) -> tuple[Manifest, PartEngine]:
    """Decides everything, and returns the manifest, with what can run any bodies."""
    _check_store_is_new(store)
    given_bodies = None if part_bodies is None else _checked_part(part_bodies)
    _check_joinable(asked)
    count = asked.starts.count
    survey = _surveyed(asked, executor)
    turned = asked.turned(survey, 1)
    steps: Any = turned.turned if isinstance(turned, WatchedRunner) else turned
    found = steps.find() if isinstance(steps, ToleranceRunner) else None
    if isinstance(steps, ToleranceRunner):
        batch = None if steps.levels is None else steps.levels.batches(0)[0]
    else:
        batch = steps.batch
    lead = survey.fastest[0] if batch is None else _lead(asked.starts, survey, batch)
    engine = PartEngine(asked, turned)
    canary = range(min(CANARY_BODIES, count))
    first = engine.run(canary)  # compiles
    seconds = _seconds_a_body(engine, count)
    each = sum(data[:1].nbytes for _, data, _ in first.arrays.values())
    size = given_bodies or _part_bodies(seconds, each)
    manifest = Manifest.made(
        question=question,
        versions=versions(),
        survey=survey_record(survey, lead),
        search=found_record(found),
        plan=None if batch is None else plan_record(batch.lead.plan),
        program=engine.program,
        parts={"count": -(-count // size), "bodies": size, "expected_seconds": seconds * min(size, count)},
        canary={"bodies": len(canary), "sha256": first.fingerprint},
        arrays={name: list(dims) for name, (dims, _, _) in first.arrays.items()},
    )
    return manifest, engine


def create_arrays(store: Store, manifest: Manifest, engine: PartEngine) -> None:
    """Makes the arrays of a plan; the attribute `plan` of the store is written last."""
    attributes = {"polhode": "a plan: see polhode/manifest.json", "plan": manifest.digest, "finished": False}
    canary = range(int(manifest["canary"]["bodies"]))
    store.create(_template(engine, canary), manifest.count, manifest.part_bodies, attributes)


def _check_store_is_new(store: Store) -> None:
    if store.read("zarr.json") is not None and store.read("polhode/zarr.json") is None:
        raise PlanError(f"{store.path} is a Zarr store that polhode has not made: choose another name")
    if not store.is_remote and os.path.isdir(store.path) and os.listdir(store.path) and store.read("zarr.json") is None:
        raise PlanError(f"the directory {store.path} is not empty: choose another name for the store")


def _checked_part(bodies: Any) -> int:
    size = checks.count("part_bodies", bodies)
    if size % BLOCK or (size // BLOCK) & (size // BLOCK - 1):
        raise ValueError(
            f"part_bodies must be {BLOCK} times a power of two, such as {BLOCK} or {64 * BLOCK}, not {size}: so "
            "results do not depend on it"
        )
    return size


def _check_joinable(asked: EnsembleRequest) -> None:
    for name, wanted in (asked.reductions or {}).items():
        step = wanted.over_bodies
        if step is not None and step.kind == "own" and step.argument[2] is None:
            raise ValueError(
                f"reduce[{name!r}] is a fold without join=: parts are folded apart, so give the function that joins "
                "two totals, as in fold(function, start, join=operator.add)"
            )


def _surveyed(asked: EnsembleRequest, executor: Executor | None) -> Survey:
    """Looks at all bodies, in this process or by an executor."""
    starts = asked.starts
    if executor is None or starts.count <= SURVEYED_BODIES:
        return Survey.of(starts)
    stretches = [range(k, min(starts.count, k + SURVEYED_BODIES)) for k in range(0, starts.count, SURVEYED_BODIES)]
    waiting = [executor.submit(look_at, packed(windowed(starts, (r,)), asked), r.start, r.stop) for r in stretches]
    return Survey.joined((future.result() for future in waiting), starts.count)


def look_at(sent: bytes, first: int, beyond: int) -> Sight:
    """Looks at some bodies, as a worker of any executor does."""
    starts: Starts = pickle.loads(sent)
    return Sight.of(starts.part(first, beyond))


def _lead(starts: Starts, survey: Survey, batch: Batch) -> int:
    """The number of the body that stands for all: the fastest that can start."""
    chosen = batch.lead.problem
    for k in survey.fastest:
        one = starts.part(k, k + 1)
        if np.array_equal(one.momentum[0], chosen.momentum_start) and np.array_equal(
            one.quaternion[0], chosen.quaternion_start
        ):
            return k
    return survey.fastest[0]


def _seconds_a_body(engine: PartEngine, count: int) -> float:
    """Measures the processor time of one body, without compilation."""
    seconds = _least_seconds(engine, min(CANARY_BODIES, count))
    if count >= TIMED_BODIES and seconds * TIMED_BODIES < PART_SECONDS:
        seconds = _least_seconds(engine, TIMED_BODIES)
    return seconds


def _least_seconds(engine: PartEngine, bodies: int) -> float:
    least = math.inf
    for _ in range(TRIES):
        began = time.process_time()
        engine.run(range(bodies))
        least = min(least, (time.process_time() - began) / bodies)
    return least


def _part_bodies(seconds: float, bytes_each: int) -> int:
    """The bodies of a part: ten seconds of work, but no more than fits into the memory of a worker."""
    size = BLOCK
    while size * seconds < PART_SECONDS and 2 * size * bytes_each <= PART_BYTES:
        size *= 2
    return size


def _template(engine: PartEngine, canary: range) -> dict[str, Any]:
    """The arrays of the store, with the rows of a few bodies; reductions over bodies are added at the end."""
    asked = engine.asked
    made = engine.turned(asked.starts.part(canary.start, canary.stop))
    if asked.reductions is None:
        return table_of(made, asked.starts)
    each = {name: wanted for name, wanted in asked.reductions.items() if wanted.over_bodies is None}
    if not each:
        return {}
    total = Reductions(each, len(canary), asked.starts.seed)
    total.add(made)
    return dict(total.result(asked.problem, engine.t).table())
