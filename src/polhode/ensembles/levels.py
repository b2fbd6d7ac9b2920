"""The runs of many bodies on the way to a tolerance: the batches of every level, and the best rows of each body.

The search is the one that serves a single body (`accuracy/refinement.py`); this module makes the runs that it asks for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from polhode.accuracy.character import character
from polhode.accuracy.choice import LONG_RUN_STEPS, Candidate
from polhode.accuracy.estimate import (
    ROUND_OFF_OF_GYROSTATS,
    STEPS_WITH_ROWS,
    apart_between_bends,
    apart_from_start,
    comes_near_separatrix,
    companions,
    compared_rows,
    distance_of_numbers,
    distances,
    estimate,
    least_error,
    nudged,
    rate_rounding,
    unlocated,
    where_errors_grow,
)
from polhode.accuracy.pace import MOST_ADAPTIVE_STEPS, MOST_DRY_STEPS
from polhode.accuracy.policy import POLICY
from polhode.accuracy.refinement import History, Search, TryResults, steps_at
from polhode.ensembles.batch import Batch, BatchRun, Survey, efforts, run_batch
from polhode.ensembles.initial import Start, Starts
from polhode.ensembles.result import MOST_MESSAGES, Ensemble
from polhode.kernels.judge import CHECKING, CLOSE, COARSER
from polhode.kernels.status import Status
from polhode.problem import Plan, Problem, Stats
from polhode.run.binding import OnCompile
from polhode.run.integration import Progress
from polhode.support.arrays import Floats, columns, dots, greatest, least, lengths

SLOWEST_SPEED = 1e-6
"""Bodies that are slower than this part of the fastest one count as no slower."""


@dataclass(frozen=True)
class ToleranceTask:
    """What is asked for all bodies of an ensemble."""

    problem: Problem
    """The problem of one of the bodies; span and output are those of all."""
    starts: Starts
    survey: Survey
    rtol: float
    threads: int
    on_compile: OnCompile

    @property
    def span(self) -> float:
        """The length of the span, in s."""
        return abs(self.problem.span)

    @cached_property
    def most_steps(self) -> float:
        """The number of adaptive steps that a body may take; one that would take more is given up."""
        return MOST_DRY_STEPS if character(self.problem).dry else MOST_ADAPTIVE_STEPS

    @property
    def times(self) -> Floats:
        """The output times."""
        assert self.problem.times is not None
        return self.problem.times

    def rows(self, candidate: Candidate, n: float) -> Any:
        """The rows in which a run of n steps and its companion are compared."""
        steps = STEPS_WITH_ROWS if candidate.method.adaptive else n
        return compared_rows(self.times, self.problem.t_start, steps)


# --- levels --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Foresight:
    """A guess at the steps that each body needs, from its speed."""

    power: float
    """The steps that a body needs grow with this power of its speed."""
    slowest: float
    """The least speed among the pilots."""
    gain: float
    """What the torque may add to the square of the rate."""
    fewest: float
    """The least number of steps of any body."""
    longest: float | None
    """The longest step that exact flows are prepared for, at the speed of the fastest body; slower bodies may make
    longer steps."""

    def levels(self, part: Start, task: ToleranceTask, first: float) -> Any:
        """The levels at which bodies begin, if level 0, that of the fastest, has `first` steps."""
        speed = speeds(part, task.survey, self.gain)
        level = np.round(self.power * np.log(np.maximum(speed, self.slowest)) / math.log(POLICY.finer))
        fewest: Any = self.fewest
        if self.longest is not None:
            fewest = np.maximum(fewest, speed * task.span / (COARSER * self.longest))
        return np.maximum(level, np.ceil(np.log(fewest / first) / math.log(POLICY.finer))).astype(np.int64)


def speeds(part: Start, survey: Survey, gain: float) -> Floats:
    """How fast bodies turn or nutate, with what the torque may add, relative to the fastest body."""
    shares = []
    with np.errstate(all="ignore"):
        for x, most, more in zip(efforts(part), survey.others.effort, (gain, 0.5 * gain), strict=True):
            if most > 0.0:
                shares.append((x + more) / (most + more))
        speed = np.sqrt(greatest(shares)) if shares else np.ones(part.count)
    return np.where(np.isfinite(speed), np.clip(speed, SLOWEST_SPEED, 1.0), 1.0)


class Levels:
    """A candidate for all bodies: the plans of each level, and the batches that carry them out."""

    def __init__(
        self,
        task: ToleranceTask,
        candidate: Candidate,
        foresight: Foresight | None = None,
        *,
        own_program: bool = False,
    ) -> None:
        """Takes a program for level 0 alone if `own_program` is true: it pays where most of many bodies stay there."""
        self.task, self.candidate, self.foresight, self.own_program = task, candidate, foresight, own_program
        self.most = candidate.most(task.problem)
        self.like: Batch | None = None
        self.last: tuple[tuple[int, bool], list[Batch]] | None = None
        self.last_check: tuple[tuple[int, bool], Batch] | None = None

    def replace(
        self, candidate: Candidate, foresight: Foresight | None = None, *, own_program: bool = False
    ) -> Levels:  # fmt: skip
        """Other levels of the same method, which share what its batches have found out."""
        other = Levels(self.task, candidate, foresight, own_program=own_program)
        other.like = self.like
        return other

    def first(self, part: Start) -> Any:
        """The levels at which bodies begin."""
        if self.foresight is None:
            return np.zeros(part.count, dtype=np.int64)
        return self.foresight.levels(part, self.task, self.candidate.first)

    def steps(self, level: int) -> float:
        """The number of steps at a level, or their resolution."""
        return steps_at(level, self.candidate, self.most)

    def rows(self, level: int) -> Any:
        """The rows in which runs of a level and their companions are compared."""
        return self.task.rows(self.candidate, self.steps(level))

    def plan(self, level: int, to_round_off: bool, *, coarser: float = 0) -> Plan:
        """The plan of a level, or of its companions; iterations may go on to round-off."""
        n, task = self.steps(level), self.task
        plan = self.candidate.plan(task.problem, n, 0.0 if to_round_off else task.rtol, coarser=coarser)
        if self.foresight is not None and (longest := self.foresight.longest) is not None:
            # One program for nearly all; bodies that rise far have one for shorter steps.
            longest = min(abs(plan.longest_step or longest), longest)
            return plan.replace(longest_step=math.copysign(longest, plan.step))
        if self.own_program and level == 0 and task.starts.count * n >= LONG_RUN_STEPS:
            return plan.replace(longest_step=None)
        return plan

    def plan_of_one(self, level: int, to_round_off: bool) -> Plan:
        """The plan for one body alone, whose flows need not be prepared for the fastest body."""
        assert self.like is not None
        plan = self.plan(level, to_round_off)
        return plan.replace(longest_step=None, torque_size=self.like.lead.plan.torque_size)

    def batches(self, level: int, to_round_off: bool = False) -> list[Batch]:
        """The batches for runs and for their companions. Only the last ones are kept: new ones cost little."""
        if self.last is None or self.last[0] != (level, to_round_off):
            task, packed = self.task, self.candidate.order > 0.0
            given = (task.starts, task.survey, task.threads, task.on_compile)
            plan = self.plan(level, to_round_off)
            fine = Batch(task.problem, plan, *given, packed=packed, like=self.like)
            fine.most_steps = task.most_steps
            coarser = [
                self._coarser(fine, level, to_round_off, k) for k in range(1, 1 + companions(task.problem, plan.method))
            ]
            self.like, self.last = fine, ((level, to_round_off), [fine, *coarser])
        return self.last[1]

    def checking(self, level: int, to_round_off: bool) -> Batch:
        """The batch for second companions, which check the first where errors may grow."""
        if self.last_check is None or self.last_check[0] != (level, to_round_off):
            fine = self.batches(level, to_round_off)[0]
            self.last_check = (level, to_round_off), self._coarser(fine, level, to_round_off, CHECKING)
        return self.last_check[1]

    def _coarser(self, fine: Batch, level: int, to_round_off: bool, coarser: float) -> Batch:
        task, times = self.task, self.task.times[self.rows(level)]
        plan = apart_from_start(self.plan(level, to_round_off, coarser=coarser), task.problem.t_start, times)
        return self._like(fine, task.problem.replace(times=times), plan)

    def apart_between_bends(self, batch: Batch, run: Ensemble) -> Batch:
        """The batch of companions with other steps than the run, where bends of the torque end both."""
        plan = apart_between_bends(batch.lead.plan, self.task.problem, int(run.steps.max(initial=1)))
        return batch if plan is batch.lead.plan else self._like(batch, batch.lead.problem, plan)

    def _like(self, batch: Batch, problem: Problem, plan: Plan) -> Batch:
        task = self.task
        given = (task.starts, task.survey, task.threads, task.on_compile)
        return Batch(problem, plan, *given, packed=self.candidate.order > 0.0, like=batch)


# --- bodies on them ------------------------------------------------------------------------------------------------


class BestRows:
    """The best rows of some bodies, of all their runs, and what these took."""

    def __init__(self, part: Start) -> None:
        n, self.part = part.count, part
        self.made: Ensemble | None = None
        self.begun = np.zeros(n, dtype=bool)
        self.error: Floats = np.full(n, np.nan)
        """The estimate of each body: NaN if it is not known yet, infinite if the run or its companion failed."""
        self.spent = np.zeros(n, dtype=np.int64)
        """The torque evaluations of each body, in all its runs."""
        self.seconds = 0.0
        self.reason = np.full(n, "", dtype=object)
        """Why the search of each body ended above the tolerance."""

    @property
    def rows(self) -> Ensemble:
        """The best rows of each body that has been run."""
        assert self.made is not None
        return self.made

    def count(self, made: Ensemble, which: Any) -> None:
        """Takes note of what a run took."""
        self.spent[which] += made.evaluations
        self.seconds += made.stats.seconds

    def report(self, batch: Batch, part: Start, progress: Progress | None) -> Callable[[int], None] | None:
        """The function that reports the progress of one run; the number of runs is not known."""
        total = part.count * batch.steps
        return None if progress is None else lambda done: progress(done, total)

    def keep(self, run: Ensemble, which: Any) -> None:
        """Keeps the rows of bodies that have not been run before."""
        if self.made is None:
            self.made = run if which.size == self.part.count else _widened(run, self.part)
        if run is not self.made:
            new = ~self.begun[which]
            _put(self.made, which[new], run, np.flatnonzero(new))
        self.begun[which] = True

    def keep_better(self, run: Ensemble, which: Any, error: Floats) -> Any:
        """Keeps the rows of bodies whose estimate is their first or their least; returns their numbers."""
        known = self.error[which]
        better = ~(error >= known)  # also where nothing is known yet
        better |= np.isinf(error) & np.isinf(known)  # the last failure, with the shortest steps, is the one to explain
        if run is not self.made:
            instead = better & ~np.isnan(known)
            _put(self.rows, which[instead], run, np.flatnonzero(instead))
        self.error[which[better]] = error[better]
        return which[better]

    def take(self, other: BestRows, which: Any) -> Any:
        """Takes the rows of some bodies from their runs elsewhere, if their estimates are lower or the first.

        Returns the numbers of those bodies. Methods remember different things from step to step: nothing is left of it.
        """
        rows = self.rows
        if rows.memory.shape[1] != other.rows.memory.shape[1]:
            self.made = rows = replace(rows, memory=np.empty((rows.memory.shape[0], 0)))
            other.made = replace(other.rows, memory=np.empty((which.size, 0)))
        self.spent[which] += other.spent
        self.seconds += other.seconds
        self.reason[which] = other.reason
        return self.keep_better(other.rows, which, other.error)

    def explain(self, batch: Batch, which: list[int]) -> None:
        """Writes the messages of bodies that have failed for good; most failures are mended by shorter steps."""
        if which:
            again = run_batch(batch, self.part.some(which), None)
            self.rows.messages.update({which[k]: message for k, message in again.messages.items()})

    @property
    def unexplained(self) -> list[int]:
        """The bodies that have failed, without a message."""
        return [k for k in np.flatnonzero(~self.rows.success).tolist() if k not in self.rows.messages]

    def ensemble(self, waiting: Batch, plans: tuple[Plan, ...], place: Any, active: Any, rtol: float) -> Ensemble:
        """Everything known so far; bodies that are still `active` have been interrupted."""
        left = np.flatnonzero(~self.begun)
        if left.size:
            self.keep(BatchRun(waiting, self.part.some(left), None).ensemble(), left)
        self._mark_interrupted(active, rtol)
        rows = self.rows
        return replace(
            rows,
            plan=plans[0],
            stats=Stats(int(rows.steps.sum()), int(self.spent.sum()), self.seconds),
            evaluations=self.spent,
            error_estimate=np.where(np.isfinite(self.error), self.error, np.nan),
            plans=plans,
            plan_number=place,
        )

    def _mark_interrupted(self, active: Any, rtol: float) -> None:
        """Marks bodies whose search was interrupted, even if their rows reach the end."""
        rows = self.rows
        which = np.flatnonzero(active & (rows.status != Status.INTERRUPTED))
        rows.status[which] = Status.INTERRUPTED
        for k in which[:MOST_MESSAGES].tolist():
            error = f"is estimated as {self.error[k]:.1e}" if np.isfinite(self.error[k]) else "is not known"
            rows.messages[k] = (
                f"interrupted on the way to the tolerance {rtol:g}; the rows are the best so far, to "
                f"t = {rows.t_last[k]:.12g} in {rows.steps[k]} steps, and their error {error}"
            )


class ManyBodies:
    """All runs of some bodies on the way to a tolerance, by the steps of levels."""

    def __init__(self, levels: Levels, part: Start, progress: Progress | None, history: History | None = None) -> None:
        """Begins a search, or continues one with the `history` of earlier tries of these bodies."""
        n, task = part.count, levels.task
        self.levels, self.task, self.part, self.progress = levels, task, part, progress
        self.search = Search(task.problem, levels.candidate, task.rtol, n, levels.first(part), history=history)
        self.best = BestRows(part)
        self.level, self.to_round_off = self.search.level.copy(), np.zeros(n, dtype=bool)
        """The level at which the rows of each body were made, and whether its iterations went on to round-off."""
        self.kinds: list[tuple[int, bool]] = []
        """The levels at which the rows of bodies were made, and whether iterations went on to round-off: each once."""
        self.share_alone: float | None = None
        """The share of the bodies that lanes could not carry on in the first runs, or in their companions."""

    def refine(self, few: int = 0) -> None:
        """Refines the steps of every body as long as it helps; stops early when only `few` bodies are left."""
        self.search.run(self._attempt, few)
        self.best.reason = self.search.history.reason

    def _attempt(self, which: Any, level: int, to_round_off: bool) -> TryResults:
        """Runs some bodies and their companions at a level, and keeps the best rows of each body."""
        part = self.part if which.size == self.part.count else self.part.some(which)
        fine, *coarser = self.levels.batches(level, to_round_off)
        try:
            run = run_batch(fine, part, self.best.report(fine, part, self.progress), messages=0)
        except BaseException as problem:
            if hasattr(problem, "ensemble"):
                self.best.keep(problem.ensemble, which)
            raise
        self.best.keep(run, which)
        candidate, n = self.levels.candidate, self.levels.steps(level)
        fastest = np.fmax(most_in_time(lengths(run.omega)), lengths(part.bodies.rates(part.momentum[:, None, :])[:, 0]))
        rate, rows = rates_of(part, fastest), self.levels.rows(level)
        sound, apart = run.success.copy(), np.zeros(part.count)
        stalled = run.status == Status.STALLED
        self.best.count(run, which)

        def compare(batch: Batch, some: Any, *, second: bool) -> None:
            """Runs a companion of some of the bodies, and takes note of how far it is from its run."""
            few = part if some.size == part.count else part.some(some)
            others = nudged(few.quaternion, few.momentum, few.bodies.moments, few.bodies.frames, second=second)
            other = run_batch(batch, few, self.best.report(batch, few, self.progress), others, messages=0)
            self.best.count(other, which[some])
            sound[some] &= other.success
            stalled[some] |= other.status == Status.STALLED
            d = np.where(sound[some], distance_of(run, some, rows, other, fastest[some]), 0.0)
            apart[some] = np.maximum(apart[some], d)

        for k, coarse in enumerate(coarser):
            if sound.any():
                compare(self.levels.apart_between_bends(coarse, run), np.flatnonzero(sound), second=k > 0)
        if self.share_alone is None:
            self.share_alone = max(batch.share_alone for batch in (fine, *coarser))
        rounding, left = candidate.unseen(fine.lead.plan.method, n)
        left = left + unlocated(self.task.problem, fine.lead.plan.method, run.steps)
        if part.bodies.rotors is not None:
            left = left + rate_rounding(part.bodies.rotors, part.bodies.moments, fastest)
        floor, round_off = floors_of(part, self.task.problem, rate)
        near = _may_grow(part, run, rows, apart) if candidate.order > 0.0 else np.zeros(part.count, dtype=bool)
        error = estimate(candidate.factors, apart, floor, rounding, left)
        close = (error > CLOSE * self.task.rtol) & (error <= self.task.rtol)
        doubtful = np.flatnonzero(sound & (near | (close & candidate.grows)))
        if doubtful.size and len(coarser) == 1:
            second = self.levels.checking(level, to_round_off)
            compare(self.levels.apart_between_bends(second, run), doubtful, second=True)
            error = estimate(candidate.factors, apart, floor, rounding, left)
        error = np.where(near, estimate(where_errors_grow(candidate.factors), apart, floor, rounding, left), error)
        error = np.where(sound, error, np.inf)
        better = self.best.keep_better(run, which, error)
        self.level[better], self.to_round_off[better] = level, to_round_off
        follows = self.task.span * rate <= candidate.longest_turn * n
        return TryResults(error, floor + rounding, floor, round_off, follows, stalled)

    # --- what is left of it

    def explain_failures(self) -> None:
        """Writes messages for bodies that have failed for good."""
        silent = self.best.unexplained
        for level, to_round_off in sorted({(int(self.level[k]), bool(self.to_round_off[k])) for k in silent}):
            which = [k for k in silent if (self.level[k], self.to_round_off[k]) == (level, to_round_off)]
            self.best.explain(self.levels.batches(level, to_round_off)[0], which)

    def plans(self) -> tuple[tuple[Plan, ...], Any]:
        """The plans by which the rows of bodies were made, and the number of each body's."""
        kinds, place = np.unique(2 * self.level + self.to_round_off, return_inverse=True)
        self.kinds = [(kind // 2, kind % 2 == 1) for kind in kinds.tolist()]
        if self.levels.like is None:
            self.levels.batches(int(self.level.min()))
        return tuple(self.levels.plan_of_one(*kind) for kind in self.kinds), place.reshape(-1)

    def ensemble(self) -> Ensemble:
        """Everything known so far."""
        waiting = self.levels.batches(int(self.level[~self.best.begun].min(initial=int(self.level.max()))))[0]
        return self.best.ensemble(waiting, *self.plans(), self.search.active, self.task.rtol)


def distance_of(run: Ensemble, some: Any, rows: Any, other: Ensemble, fastest: Floats) -> Floats:
    """The distance of two runs for each of `some` bodies, as `accuracy.estimate.distance`; `other` has these alone."""
    apart = distances(run.quaternion, run.omega, other.quaternion, other.omega, fastest, rows, some)
    return np.asarray(np.fmax(apart, _distance_of_states(run, some, rows, other)) if run.state_names else apart)


def _distance_of_states(run: Ensemble, some: Any, rows: Any, other: Ensemble) -> Floats:
    """The largest difference of carried numbers of some bodies, each relative to its largest size."""
    state = run.state[some]
    sizes = np.maximum(np.fmax.reduce(np.abs(state), axis=1, initial=0.0), np.abs(other.start.state))
    apart = np.fmax.reduce(np.abs(state[:, rows] - other.state), axis=1, initial=0.0)
    return distance_of_numbers(apart, sizes, run.problem.torque.state_sizes)


def rates_of(part: Start, fastest: Floats) -> Floats:
    """The greatest rate of each body, in its free motion or in its rows."""
    m, moments = part.momentum, columns(part.bodies.moments)
    w = part.bodies.rates(m[:, None, :])[:, 0]
    high, low = 1.0 / least(moments), 1.0 / greatest(moments)
    if part.bodies.rotors is not None or part.bodies.changes:  # the motion itself will say more
        return np.asarray(np.fmax(np.sqrt(dots(w, w)), fastest))
    free = (high + low) * dots(w, m) - high * low * dots(m, m)
    return np.asarray(np.fmax(np.sqrt(np.maximum(free, 0.0)), fastest))


def _may_grow(part: Start, run: Ensemble, rows: Any, apart: Floats) -> Any:
    """Whether errors of bodies may grow on their way: near the middle axis, or in gyrostats as far as it is round-off.

    `apart` has the distances of runs and companions.
    """
    if part.bodies.rotors is not None or part.bodies.changes:
        return apart < ROUND_OFF_OF_GYROSTATS
    momenta = np.concatenate([part.momentum[:, None], run.momentum[:, rows]], axis=1)
    return np.broadcast_to(comes_near_separatrix(part.bodies.moments, momenta, part.bodies.frames), part.count)


def floors_of(part: Start, problem: Problem, rate: Floats) -> tuple[Floats, Floats]:
    """The least errors that estimates may state, and those that round-off leaves if the axes are known."""
    moments = columns(part.bodies.moments)
    tilted = np.array([not b.aligned for b in part.bodies.listed] or [False])
    unequal = np.where(tilted, greatest(moments) / least(moments), 0.0)
    return np.asarray(least_error(problem, rate, unequal)), np.asarray(least_error(problem, rate))


def most_in_time(x: Floats) -> Floats:
    """The largest number of every body, from (bodies, times); NaN, after a failure, is left out."""
    return x[:, 0] if x.shape[1] == 1 else np.asarray(np.fmax.reduce(x, axis=1))


PER_BODY = (
    "quaternion", "momentum", "status", "t_last", "steps", "evaluations", "last_quaternion", "last_momentum", "memory",
    "rows", "state", "last_state",
)  # fmt: skip
"""The arrays of an ensemble that have a row for each body."""


def _widened(some: Ensemble, part: Start) -> Ensemble:
    """A copy of an ensemble of some bodies, with room for all."""
    given = {name: getattr(some, name) for name in PER_BODY}
    room: dict[str, Any] = {name: np.empty((part.count, *a.shape[1:]), a.dtype) for name, a in given.items()}
    return replace(some, **room, start=part, messages={})


def _put(into: Ensemble, which: Any, new: Ensemble, places: Any) -> None:
    """Copies the rows at `places` of one ensemble to the bodies `which` of another."""
    for name in PER_BODY:
        getattr(into, name)[which] = getattr(new, name)[places]
    if into.messages or new.messages:
        for k, place in zip(which.tolist(), places.tolist(), strict=True):
            into.messages.pop(k, None)
            if place in new.messages:
                into.messages[k] = new.messages[place]
