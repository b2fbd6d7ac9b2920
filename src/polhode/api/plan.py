"""plan_ensemble(...) -> EnsemblePlan: an ensemble in parts, which any processes run in any order, to the same bits."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, Unpack

from polhode.accuracy.companion import available_cores
from polhode.accuracy.search import Goal
from polhode.api.ensemble import EnsembleArguments, EnsembleRequest, asking
from polhode.cluster.crew import Crew, PlanProgress, ProgressOfPlan, few_of
from polhode.cluster.decide import create_arrays, decided
from polhode.cluster.manifest import Manifest, PlanError, question_of
from polhode.cluster.store import MANIFEST, REMEDY, Store
from polhode.cluster.worker import PartEngine, Task
from polhode.compiler import announced_once
from polhode.ensembles.pilots import ToleranceMisses
from polhode.ensembles.reduce import Quantity, Reductions
from polhode.ensembles.result import seed_attribute
from polhode.problem import Stats
from polhode.support import checks
from polhode.torques import Torque

if TYPE_CHECKING:
    from xarray import Dataset

ARRAYS_SECONDS = 30.0
"""How long a process that takes up a plan waits for its arrays, which another one makes within a second."""
LATE_RECEIPTS = 200
"""The receipts from which `status` makes the rate."""


class PlanInterrupted(KeyboardInterrupt):
    """The user stopped the run of a plan. Parts that were finished are in the store: run the plan again to go on."""


@asking
@announced_once
def plan_ensemble(
    body: Any, torque: Torque | Sequence[Torque] | None = None, *, store: str | os.PathLike[str],
    reduce: Mapping[str, Quantity] | None = None, part_bodies: int | None = None, executor: Executor | None = None,
    storage_options: Mapping[str, Any] | None = None, **asked: Unpack[EnsembleArguments],
) -> EnsemblePlan:  # fmt: skip
    """Plans an ensemble in parts, which `plan.run` or other processes run; everything is decided here, once.

    The arguments are those of `ensemble`, and so are the results, to the bit, whatever runs the parts: this process,
    several, or many machines. If the store has a plan already, it must be a plan for the same question, and is taken
    up: what is finished is not run again.

    Parameters
    ----------
    store
        The place of the results, a Zarr group: a directory such as "runs/x.zarr", or any path that fsspec knows, such
        as "s3://bucket/x.zarr". It must be reached by all workers under this name.
    part_bodies
        The number of bodies of a part: 1,024 times a power of two. By default parts take at least ten seconds on one
        core. The results do not depend on it.
    executor
        Looks at all bodies once, which takes half a second for a million of them; default: this process.
    storage_options
        What fsspec needs to know about a remote store, such as `{"endpoint_url": ...}`.

    Examples
    --------
    >>> plan = ph.plan_ensemble(
    ...     ph.Body([1, 2, 2.8]), omega=ph.samples.Normal([0, 2, 0], 0.1), count=3, seed=1,
    ...     t_span=(0, 1), method="MR2", step=0.1, store="runs.zarr",
    ... )
    >>> plan.run().omega.shape
    (3, 2, 3)
    """
    request = EnsembleRequest.given(body, torque, reduce=reduce, **asked)
    request.problem.body.check_constant("a plan for many machines")
    place = Store(store, storage_options)
    question = question_of(request)
    if (raw := place.read(MANIFEST)) is None:
        manifest, engine = decided(request, question, place, part_bodies, executor)
        try:
            place.write(MANIFEST, manifest.text().encode(), new=True)
        except FileExistsError:  # another process was faster: its plan holds
            raw = place.read(MANIFEST)
            assert raw is not None
        else:
            create_arrays(place, manifest, engine)  # by the one process whose plan it is
            return EnsemblePlan(request, manifest, place)
    manifest = Manifest.read(raw, place.path)
    manifest.check_question(question, place.path)
    manifest.check_versions(place.path)
    if part_bodies is not None and part_bodies != manifest.part_bodies:
        raise PlanError(
            f"part_bodies is {part_bodies}, but {place.path} was planned with {manifest.part_bodies}: leave it out, or "
            "choose another store"
        )
    _wait_for_arrays(request, manifest, place)
    return EnsemblePlan(request, manifest, place)


def _wait_for_arrays(asked: EnsembleRequest, manifest: Manifest, store: Store) -> None:
    """Waits until the process that made the plan has made its arrays, or makes those that are missing or damaged."""
    began = time.monotonic()
    while True:
        try:
            if store.attributes().get("plan") == manifest.digest:
                return
            waits = time.monotonic() - began <= ARRAYS_SECONDS
        except PlanError:  # a damaged file; unfinished ones do not appear
            waits = False
        if waits:
            time.sleep(0.1)
        else:
            create_arrays(store, manifest, PartEngine.of(asked, manifest, 1))


# --- the plan ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class EnsemblePlan:
    """An ensemble in parts: what was decided, and where the results are collected.

    Examples
    --------
    >>> plan = ph.plan_ensemble(
    ...     ph.Body([1, 2, 2.8]), omega=ph.samples.Normal([0, 2, 0], 0.1), count=3, seed=1,
    ...     t_span=(0, 1), method="MR2", step=0.1, store="three.zarr",
    ... )
    >>> plan.parts
    1
    >>> plan.run().omega.shape
    (3, 2, 3)
    >>> plan.missing
    []
    """

    asked: EnsembleRequest
    manifest: Manifest
    store: Store

    def __repr__(self) -> str:
        m = self.manifest
        steps = m["plan"] or {"method": "one body alone", "step": 0.0}
        return "\n".join(
            [
                "EnsemblePlan",
                f"  store   {self.store.path}",
                f"  bodies  {m.count:,} in {m.parts:,} part{'s' * (m.parts > 1)} of {min(m.count, m.part_bodies):,}",
                f"  torque  {self.asked.problem.torque.name}",
                f"  method  {steps['method']}, step {steps['step']:.6g} s",
                f"  part    about {m['parts']['expected_seconds']:.3g} s on one core",
                f"  digest  {m.digest}",
            ]
        )

    @property
    def parts(self) -> int:
        """The number of parts."""
        return self.manifest.parts

    def bodies(self, part: int) -> range:
        """The numbers of the bodies of a part; parts are counted from 0."""
        return self.manifest.bodies(self._checked(part))

    def _checked(self, part: Any) -> int:
        is_number = isinstance(part, Integral) and not isinstance(part, bool)
        if not is_number or not 0 <= int(part) < self.parts:
            raise ValueError(
                f"there is no part {part!r}: the parts of this plan are numbered from 0 to {self.parts - 1}"
            )
        return int(part)

    @property
    def missing(self) -> list[int]:
        """The numbers of the parts that are not in the store yet."""
        done = self.store.done()
        return [part for part in range(self.parts) if part not in done]

    def share(self, number: int, of: int) -> list[int]:
        """The parts of one job among many: of job `number`, counted from 1, of `of` jobs."""
        if of < 1 or not 1 <= number <= of:
            raise ValueError(f"there is no share {number} of {of}: shares are numbered from 1 to {max(of, 1)}")
        return list(range(number - 1, self.parts, of))

    def status(self) -> PlanProgress:
        """How far the plan is, by the receipts in the store, whoever works on it; the rate is that of late."""
        receipts = [self._receipt(part) for part in sorted(self.store.done())]
        bodies = sum(r["beyond"] - r["first"] for r in receipts)
        rate = 0.0
        if len(receipts) > 1:
            late = sorted(receipts, key=lambda r: float(r["finished"]))[-LATE_RECEIPTS:]
            spent = late[-1]["finished"] - late[0]["finished"]
            rate = sum(r["beyond"] - r["first"] for r in late[1:]) / spent if spent > 0.0 else 0.0
        return PlanProgress.of(self.manifest, len(receipts), bodies, rate)

    # --- running

    def run(
        self, executor: Any = None, *, parts: Sequence[int] | None = None, threads: int | None = None,
        progress: ProgressOfPlan | None = None,
    ) -> Dataset | None:  # fmt: skip
        """Runs the parts that are missing, and returns the results as an xarray Dataset that is read when needed.

        Parameters
        ----------
        executor
            Any `concurrent.futures.Executor`: a `ProcessPoolExecutor`, one of loky or `mpi4py.futures`, or that of a
            Dask client, `client.get_executor()`. Default: this process.
        parts
            Runs these parts only, and returns None if others are still missing then.
        threads
            The threads of each part. Default: one for each core in this process, and one with an executor.
        progress
            Called with a `PlanProgress`, which prints as a line, when a part is finished and twice a second.

        A part that fails is tried three times, and reported by `PartsFailed` when all others are done. Ctrl-C raises
        `PlanInterrupted`; what is finished stays in the store, and the next `run` goes on.
        """
        if executor is not None and not isinstance(executor, Executor):
            hint = ": write client.get_executor()" if hasattr(executor, "get_executor") else ""
            raise TypeError(f"executor must be a concurrent.futures.Executor, not {executor!r}{hint}")
        default = available_cores() if executor is None else 1
        task = Task(
            self.asked, self.manifest, self.store, default if threads is None else checks.count("threads", threads)
        )
        wanted = set(range(self.parts) if parts is None else map(self._checked, parts))
        crew = Crew(task, wanted, progress)
        try:
            if executor is None:
                crew.run_here()
            else:
                crew.run_by(executor)
        except KeyboardInterrupt:
            left = len(self.missing)
            raise PlanInterrupted(
                f"interrupted: {self.parts - left:,} of {self.parts:,} parts are in {self.store.path}; run the plan "
                "again to go on"
            ) from None
        crew.report_failures()
        return None if self.missing else self.result()

    def result(self) -> Dataset:
        """Joins the partial results of all parts, in their order, and returns everything as an xarray Dataset."""
        if missing := self.missing:
            raise PlanError(
                f"{len(missing):,} of {self.parts:,} parts of {self.store.path} are missing ({few_of(missing)}): run "
                "the plan again"
            )
        attributes = self.store.attributes()
        if not attributes.get("finished") or attributes.get("plan") != self.manifest.digest:
            self._join()
        return self.store.dataset(self.manifest)

    def _join(self) -> None:
        """Joins what all parts add to reductions, and writes it, with a digest of all bits."""
        asked, total = self.asked, hashlib.sha256()
        over_bodies = {
            name: wanted for name, wanted in (asked.reductions or {}).items() if wanted.over_bodies is not None
        }
        joined = Reductions(over_bodies, self.manifest.count, asked.starts.seed)
        failed, steps, missed = 0, 0, ToleranceMisses()
        for part in range(self.parts):
            receipt = self._receipt(part)
            total.update(bytes.fromhex(receipt["sha256"]))
            stats = Stats(receipt["steps"], receipt["nfev"], receipt["seconds"])
            if over_bodies:
                dims = {name: tuple(receipt["dims"][name]) for name in over_bodies}
                count = receipt["beyond"] - receipt["first"]
                joined.join(self.store.states(part, receipt), dims, count, receipt["failed"], stats)
            failed, steps = failed + receipt["failed"], steps + receipt["steps"]
            missed = missed.joined(*receipt["missed"])
        table = dict(joined.result(asked.problem, self._times()).table()) if over_bodies else {}
        plan = self.manifest["plan"]
        self.store.finish(
            table, self.manifest.count, self.manifest.part_bodies,
            {
                **({} if plan is None else {"method": plan["method"], "step": plan["step"]}),
                "torque": asked.problem.torque.name, "bodies": self.manifest.count, "failed": failed,
                "steps_of_all": steps, **seed_attribute(asked.starts.seed), "plan": self.manifest.digest,
                "sha256": total.hexdigest(), "finished": True,
            },
        )  # fmt: skip
        if isinstance(asked.goal, Goal):
            missed.warn(asked.goal.rtol, self.manifest.count)

    def _times(self) -> Any:
        """The output times; those after every few steps are known when the run is prepared."""
        times = self.asked.problem.times
        return PartEngine.of(self.asked, self.manifest, 1).t if times is None else times

    def _receipt(self, part: int) -> dict[str, Any]:
        return self.store.receipt(part, self.manifest.digest)

    @property
    def sha256(self) -> str:
        """The SHA-256 of all results: equal whatever has run the parts."""
        total = hashlib.sha256()
        for part in range(self.parts):
            total.update(bytes.fromhex(self._receipt(part)["sha256"]))
        return total.hexdigest()

    def messages(self) -> dict[int, str]:
        """Why bodies failed, by their numbers; of each part, the first thousand."""
        found: dict[int, str] = {}
        for part in sorted(self.store.done()):
            found |= {int(k): text for k, text in self._receipt(part)["messages"].items()}
        return found

    def verify(self) -> list[int]:
        """Compares all bits in the store with the receipts; returns the damaged parts, which `run` makes again.

        What has no receipt, arrays that all bodies share and what parts add up to, is made and written again.
        """
        try:
            was_finished = self.store.attributes().get("finished")
        except PlanError:
            was_finished = False
        damaged = self.missing if was_finished else []
        create_arrays(self.store, self.manifest, PartEngine.of(self.asked, self.manifest, 1))
        for part in sorted(self.store.done()):
            try:
                receipt = self._receipt(part)
                for name in self.manifest["arrays"]:
                    self.store.rows(name, part, self.manifest.bodies(part), receipt)
                if receipt["digests"]["states"]:
                    self.store.states(part, receipt)
            except PlanError:
                damaged.append(part)
                self.store.forget(part)
        if not self.missing:
            self._join()
        return sorted(damaged)


def load_store(path: str | os.PathLike[str], options: Mapping[str, Any] | None = None) -> Dataset:
    """Opens a finished store as an xarray Dataset, whose arrays are read when they are needed."""
    store = Store(path, options)
    raw = store.read(MANIFEST)
    if raw is None:
        raise PlanError(
            f"{store.path} is no store of polhode: there is no {MANIFEST} in it; give the store of a plan, or a file"
        )
    manifest = Manifest.read(raw, store.path)
    done = store.done()
    missing = [part for part in range(manifest.parts) if part not in done]
    see = "xarray.open_zarr shows what is there, with NaN or -1 for the rest"
    if missing:
        raise PlanError(
            f"{len(missing):,} of {manifest.parts:,} parts of {store.path} are missing ({few_of(missing)}): run the "
            f"plan again, or the job; {see}"
        )
    attributes = store.attributes()
    if attributes.get("plan", manifest.digest) != manifest.digest:
        raise PlanError(f"the arrays of {store.path} belong to another plan than {MANIFEST}: {REMEDY}")
    if not attributes.get("finished"):
        raise PlanError(
            f"all parts of {store.path} are there, but they are not joined yet: run the plan or the job once more; "
            f"{see}"
        )
    return store.dataset(manifest)
