"""Runs of one body that are watched for events."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from polhode.events.find import (
    FINEST_TURN_RADIANS,
    Evaluator,
    EventRow,
    Hit,
    Looks,
    Watch,
    warn_of_unresolved,
)
from polhode.events.find import Earlier as Earlier
from polhode.events.find import Event as Event
from polhode.events.find import listed as listed
from polhode.kernels.status import Status
from polhode.problem import Plan, Problem, Stats
from polhode.run.binding import OnCompile
from polhode.run.grid import Segment, segments_of
from polhode.run.integration import Begin, Integration, Progress, SimulationFailed, SimulationInterrupted
from polhode.run.interpolate import Reach
from polhode.solution import Solution
from polhode.support.arrays import Floats
from polhode.support.interrupts import keeping

LEAST_LOOKS = 64
"""A run is looked at at least this number of times, however slowly the body turns."""
PROBE_EVERY = 16
"""One in this number of intervals is looked into once more, at an irregular place: a function that repeats itself from
step to step shows itself there."""
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
"""The part of its length by which the places of probes follow each other: multiples of it are spread evenly."""
BLOCK = 1 << 14
"""The number of looks whose rows are in memory at once."""


def looks_in(grid: Floats, finer: int, first: int) -> Floats:
    """The times of looks: the points of a grid, `finer` - 1 others in each step, and now and then a probe.

    `first` is the number of intervals between looks before, by which the places of probes are chosen.
    """
    between = (grid[:-1, None] + np.diff(grid)[:, None] * (np.arange(finer) / finer)).reshape(-1)
    times = np.append(between, grid[-1])
    k = np.arange(-first % PROBE_EVERY, times.size - 1, PROBE_EVERY)
    place = 0.2 + 0.6 * np.modf((first + k) // PROBE_EVERY * GOLDEN)[0]
    return np.concatenate([times, times[k] + place * (times[k + 1] - times[k])])


class RunStretch(NamedTuple):
    """A stretch of a run whose rows are in memory at once."""

    before: int
    """The steps before it."""
    grid: Floats
    """The grid points, its ends included."""
    looks: Floats
    """The times at which events are evaluated; there may be equal ones."""

    @property
    def ends(self) -> tuple[float, float]:
        """The times of its ends."""
        return float(self.grid[0]), float(self.grid[-1])


def stretches(pieces: list[Segment], rate: Callable[[], float], most: int) -> Iterator[RunStretch]:
    """Yields the stretches of a run with at most so many looks each, one when that before it has been looked at.

    `rate` returns the rate at which bodies turn there: a first guess at how many looks there must be.
    """
    total, before = sum(piece.steps for piece in pieces), 0
    for piece in pieces:
        first = 0
        while first < piece.steps:
            finer = max(1, math.ceil(abs(piece.h) * rate() / FINEST_TURN_RADIANS), math.ceil(LEAST_LOOKS / total))
            finer = min(finer, most)
            beyond = min(piece.steps, first + max(1, most // finer))
            grid = piece.t0 + np.arange(first, beyond + 1, dtype=np.float64) * piece.h
            if beyond == piece.steps:
                grid[-1] = piece.t1
            yield RunStretch(before + first, grid, looks_in(grid, finer, before + first))
            first = beyond
        before += piece.steps


def with_events(
    problem: Problem, plan: Plan, events: tuple[Event, ...], progress: Progress | None, on_compile: OnCompile,
    begin: Begin | None = None, earlier: Earlier | None = None,
) -> Solution:  # fmt: skip
    """Runs a plan stretch by stretch, and finds its events; `earlier` is what is known of them beforehand."""
    return _WatchedRun(problem, plan, events, progress, on_compile, begin, earlier).solution()


def as_before(old: Sequence[Solution], new: Sequence[Solution | Event]) -> bool:
    """Whether the same events were watched earlier, judged by their names, which is all that a solution keeps."""
    names = [e.name if isinstance(e, Event) else e.metadata.get("event") for e in new]
    return [e.metadata.get("event") for e in old] == names


def going_on(solution: Solution, events: tuple[Event, ...]) -> Earlier:
    """What is known where a solution goes on: what has happened there is not to happen again."""
    if not as_before(solution.events, events):
        return Earlier()
    return Earlier([k for k, e in enumerate(solution.events) if e.t.size and e.t[-1] == solution.t_last])


def anew(solution: Solution, events: tuple[Event, ...]) -> Earlier:
    """What is known where a solution is made again and goes on: where it was not stopped it is not stopped now.

    Events that were not watched before are watched from its end on.
    """
    if not as_before(solution.events, events):
        return Earlier(since=solution.t_last)
    return Earlier(passed={k: e.t.size for k, e in enumerate(solution.events)})


def joined(whole: Solution, old: Sequence[Solution], new: Sequence[Solution]) -> tuple[Solution, ...]:
    """The events of two stretches of one motion; an event that was watched in both becomes one."""
    parts = list(zip(old, new, strict=True)) if as_before(old, new) else [(e,) for e in (*old, *new)]

    def one(part: Sequence[Solution]) -> Solution:
        kept = ("t", "quaternion", "momentum", *(["state"] if whole.state_names else []))
        rows: dict[str, Any] = {name: np.concatenate([getattr(e, name) for e in part]) for name in kept}
        return replace(whole, **{"state": whole.state[:0], **rows}, metadata=part[0].metadata)

    return tuple(map(one, parts))


class _WatchedRun:
    """A run that is watched for events."""

    def __init__(
        self, problem: Problem, plan: Plan, events: tuple[Event, ...], progress: Progress | None,
        on_compile: OnCompile, begin: Begin | None, earlier: Earlier | None,
    ) -> None:  # fmt: skip
        self.problem, self.plan, self.events = problem, plan, events
        self.progress, self.on_compile = progress, on_compile
        self.sign = problem.direction
        self.rows: list[tuple[Floats, ...]] = []
        self.reach: Reach | None = None
        self.reached = -math.inf * self.sign
        self.begin = begin or Begin(
            problem.t_start, problem.quaternion_start, problem.momentum_start, state=problem.state_start
        )  # fmt: skip
        start = EventRow(*self.begin[:3], self.begin.state)
        evaluators = [Evaluator(e) for e in events]
        self.watch = Watch(events, evaluators, problem.body, start, self.sign, earlier)

    def _rate(self) -> float:
        """The rate at the last look."""
        w = self.problem.body.rate(self.watch.last.m, self.watch.last.t)
        return math.sqrt(float(w @ w))

    def _wanted(self, stretch: RunStretch, total: int) -> Floats:
        """The output times in a stretch of a run of so many steps."""
        listed, (t0, t1) = self.problem.times, stretch.ends
        if listed is not None:
            return listed[(self.sign * listed >= self.sign * t0) & (self.sign * listed <= self.sign * t1)]
        done = stretch.before + np.arange(stretch.grid.size)
        return np.asarray(stretch.grid[(done % (self.problem.every or 1) == 0) | (done == total)])

    # --- the run

    def solution(self) -> Solution:
        """Runs to the end, or to a terminal event."""
        problem, plan, begin = self.problem, self.plan, self.begin
        part, stop, stats = None, None, Stats()
        failure: BaseException | None = None
        pieces = segments_of(problem, plan, begin.t)
        total = later = sum(piece.steps for piece in pieces)
        for stretch in stretches(pieces, self._rate, BLOCK):
            (t0, t1), wanted = stretch.ends, self._wanted(stretch, total)
            times = self.sign * np.unique(self.sign * np.concatenate([stretch.looks, wanted]))
            only_here = problem.replace(t_end=t1, times=times, every=None)
            later -= stretch.grid.size - 1
            try:
                run = Integration(only_here, plan, begin._replace(t=t0), self.progress, self.on_compile)
                plan = run.plan
                run.steps_before, run.steps_after = stats.steps, later
                part = run.solution()
            except BaseException as raised:  # also by the user's `progress`
                if not isinstance(found := getattr(raised, "solution", None), Solution):
                    raise
                part, failure = found, raised
            memory = () if t1 in problem.breakpoints else part.memory
            begin = Begin(t1, part.last_quaternion, part.last_momentum, memory, part.last_state)
            stats = stats + part.stats
            try:
                looks = Looks(part.t, part.quaternion, part.momentum, part.state)
                if part.status != Status.OK:  # the last state may lie behind the last look
                    last = part.last_quaternion, part.last_momentum, part.last_state
                    looks = looks.and_then(part.t_last, *last, self.sign)
                stop = self.watch.look(looks, self._between)
            except BaseException as raised:  # by the user's function, or by Ctrl-C
                failure = raised
            self._keep(part, wanted, stop)
            if stop is not None or failure is not None:
                break
        assert part is not None
        t, quaternion, momentum, state = (np.concatenate(x) for x in zip(*self.rows, strict=True))
        whole = replace(part, problem=problem, stats=stats, t=t, quaternion=quaternion, momentum=momentum, state=state)
        if failure is None:
            whole = replace(whole, message=f"reached t = {whole.t_last:.12g} in {stats.steps} steps")
        if stop is not None:
            whole = self._stopped(whole, stop, t0, part.stats.steps)
        whole = replace(whole, events=tuple(self._of(whole, k) for k in range(len(self.events))))
        self._warn()
        stopped_before = stop is not None and isinstance(failure, SimulationFailed | SimulationInterrupted)
        if failure is not None and not stopped_before:
            self._raise(failure, whole)
        return whole

    def _between(self, t: float, q: Floats, m: Floats, z: Floats, times: Floats) -> tuple[Floats, Floats, Floats]:
        """States at times behind a look, by steps aside."""
        if self.reach is None:
            self.reach = Reach(self.problem, self.plan, self.on_compile)
        return self.reach.states(t, q, m, z, times)

    def _warn(self) -> None:
        """Warns of functions that could not be followed."""
        warn_of_unresolved([(self.events[k].name, t) for k, t in self.watch.unresolved.items()])

    def _stopped(self, whole: Solution, stop: Hit, t0: float, made: int) -> Solution:
        """The solution up to a terminal event in its last stretch, which began at t0 and made some steps."""
        name, (when, q, m, z) = self.events[stop.which].name, stop.row
        stats = whole.stats
        if not self.plan.method.variable_steps:  # the stretch went on behind the event
            wanted = (when - t0) / (self.plan.step * self.plan.method.advance)
            stats = replace(stats, steps=stats.steps - made + math.ceil(wanted * (1.0 - 1e-12)))
        message = f"stopped by the event {name} at t = {when:.12g}, in {stats.steps} steps"
        return replace(
            whole, stats=stats, status=Status.OK, message=message, t_last=when, memory=(), last_quaternion=q,
            last_momentum=m, last_state=z,
        )  # fmt: skip

    def _raise(self, failure: BaseException, whole: Solution) -> None:
        """Raises what stopped the run, with everything that was computed."""
        if isinstance(failure, SimulationFailed) and whole.status == Status.OK:  # of a step aside, between two looks
            aside = failure.solution
            whole = replace(whole, status=aside.status, message=aside.message)
        if isinstance(failure, KeyboardInterrupt) and not isinstance(failure, SimulationInterrupted):
            message = f"interrupted at t = {whole.t_last:.12g} after {whole.stats.steps} steps"
            whole = replace(whole, status=Status.INTERRUPTED, message=message)
        note = "raised while events were looked for; what was computed is its `solution`"
        with keeping(SimulationInterrupted, lambda _: whole, note):
            raise failure

    def _keep(self, part: Solution, wanted: Floats, stop: Hit | None) -> None:
        """Keeps the rows that the user wants; the first row of a stretch was the last of the one before."""
        mask = np.isin(part.t, wanted)
        if part.t.size and self.sign * part.t[0] <= self.sign * self.reached:
            mask[0] = False
        if stop is not None:
            mask &= self.sign * part.t <= self.sign * stop.row.t
        kept = Looks(part.t, part.quaternion, part.momentum, part.state).part(mask)
        if stop is not None and self.problem.times is None:
            kept = kept.and_then(*stop.row, self.sign)
        self.rows.append(kept)
        self.reached = part.t_last

    def _of(self, whole: Solution, k: int) -> Solution:
        rows = [hit.row for hit in self.watch.hits if hit.which == k]
        return replace(
            whole,
            t=np.array([row.t for row in rows]),
            quaternion=np.array([row.q for row in rows]).reshape(-1, 4),
            momentum=np.array([row.m for row in rows]).reshape(-1, 3),
            state=np.array([row.z for row in rows]).reshape(len(rows), len(self.problem.torque.state_names)),
            metadata={"event": self.events[k].name},
        )
