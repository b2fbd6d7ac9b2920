"""Events: the zeros, along a motion, of a user's function of time and state."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from polhode._arrays import Floats
from polhode.core.status import Status
from polhode.integration.binding import OnCompile
from polhode.integration.dense import Reach
from polhode.integration.grid import Segment, segments_of
from polhode.integration.loop import Begin, Integration, Progress, SimulationFailed, SimulationInterrupted
from polhode.problem import Plan, Problem, Stats
from polhode.solution import Solution
from polhode.tolerance.character import character

EventFunction = Callable[[float, tuple[float, ...], tuple[float, ...]], float]
"""`g(t, q, w)`: time, unit quaternion (body to space, scalar first) and angular velocity in body axes."""

FINEST_TURN_RADIANS = 0.25
"""Events are evaluated at least once in each turn of the body by this angle, in radians, and after every step."""
BLOCK = 1 << 14
"""The number of evaluations of an event whose rows are in memory at once."""


@dataclass(frozen=True)
class Event:
    """A zero of g(t, q, w), a plain Python function of time, quaternion and angular velocity.

    `direction` 1 means zeros at which g rises along the run, -1 those at which it falls, 0 both. A run stops at the
    first zero of a `terminal` event.
    """

    function: EventFunction
    direction: int = 0
    terminal: bool = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"an event is a function g(t, q, w), not {self.function!r}")
        if self.direction not in (-1, 0, 1):
            raise ValueError(f"the direction of an event is 1 (rising), -1 (falling) or 0 (both), not {self.direction}")

    @property
    def name(self) -> str:
        """The name of the function."""
        return getattr(self.function, "__name__", "event")

    def value(self, t: float, q: Floats, w: Floats) -> float:
        """Returns g(t, q, w), and raises a ValueError if it is no number."""
        unit = q / math.sqrt(float(q @ q))
        try:
            g = float(self.function(t, tuple(unit.tolist()), tuple(w.tolist())))
        except Exception as problem:  # the user's code may raise anything
            raise ValueError(
                f"the event {self.name} raised {type(problem).__name__} at t = {t:g}: {problem}"
            ) from problem
        if math.isnan(g):
            raise ValueError(f"the event {self.name} is not a number at t = {t:g}")
        return g


def listed(events: Any) -> tuple[Event, ...]:
    """Returns the argument `events` as a tuple: it may be one event or several, functions or Events."""
    if events is None:
        return ()
    several = events if isinstance(events, Sequence) else (events,)
    return tuple(e if isinstance(e, Event) else Event(e) for e in several)


class Row(NamedTuple):
    """A time, and the state there in the user's axes."""

    t: float
    q: Floats
    m: Floats


class Hit(NamedTuple):
    """A zero of an event: the number of the event, and the state there."""

    which: int
    row: Row


class _Stretch(NamedTuple):
    """A stretch of the run whose rows are in memory at once: the times at which events are evaluated, and the times
    among them that the user wants."""

    t0: float
    t1: float
    steps: int
    times: Floats
    wanted: Floats


def with_events(
    problem: Problem, plan: Plan, events: tuple[Event, ...], progress: Progress | None, on_compile: OnCompile,
    begin: Begin | None = None, earlier: tuple[Solution, ...] = (),
) -> Solution:  # fmt: skip
    """Runs a plan stretch by stretch, and finds its events; `earlier` has the events before it began."""
    return _WatchedRun(problem, plan, events, progress, on_compile, begin, earlier).solution()


def as_before(old: Sequence[Solution], new: Sequence[Solution | Event]) -> bool:
    """Whether the same events were watched earlier, judged by their names, which is all that a solution keeps."""
    names = [e.name if isinstance(e, Event) else e.metadata.get("event") for e in new]
    return [e.metadata.get("event") for e in old] == names


def joined(whole: Solution, old: Sequence[Solution], new: Sequence[Solution]) -> tuple[Solution, ...]:
    """Returns the events of two stretches of one motion; an event that was watched in both becomes one."""
    parts = list(zip(old, new, strict=True)) if as_before(old, new) else [(e,) for e in (*old, *new)]
    return tuple(
        replace(
            whole,
            t=np.concatenate([e.t for e in part]),
            quaternion=np.concatenate([e.quaternion for e in part]),
            momentum=np.concatenate([e.momentum for e in part]),
            metadata=part[0].metadata,
        )
        for part in parts
    )


class _WatchedRun:
    """A run that is watched for events."""

    def __init__(
        self, problem: Problem, plan: Plan, events: tuple[Event, ...], progress: Progress | None,
        on_compile: OnCompile, begin: Begin | None, earlier: tuple[Solution, ...],
    ) -> None:  # fmt: skip
        self.problem, self.plan, self.events = problem, plan, events
        self.progress, self.on_compile = progress, on_compile
        self.sign = problem.direction
        self.hits: list[Hit] = []
        self.rows: list[tuple[Floats, Floats, Floats]] = []
        self.reach: Reach | None = None
        self.reached = -math.inf * self.sign
        self.begin = begin or Begin(problem.t_start, problem.quaternion_start, problem.momentum_start)
        self.last = start = Row(*self.begin[:3])
        self.values = [self._value(e, start) for e in events]
        if as_before(earlier, events):  # what has happened here is not to happen again
            for k, event in enumerate(earlier):
                if event.t.size and event.t[-1] == start.t:
                    self.values[k] = 0.0

    def _value(self, event: Event, row: Row) -> float:
        return event.value(row.t, row.q, self.problem.body.rate(row.m))

    # --- where events are evaluated

    def _stretches(self, pieces: list[Segment]) -> Iterator[_Stretch]:
        """Yields the stretches of the run, each with the times at which events are evaluated, as they are wanted."""
        rate = character(self.problem.replace(t_start=self.begin.t)).rate
        total, before = sum(p.steps for p in pieces), 0
        for piece in pieces:
            finer = max(1, math.ceil(abs(piece.h) * rate / FINEST_TURN_RADIANS))
            for first in range(0, piece.steps, max(1, BLOCK // finer)):
                beyond = min(piece.steps, first + max(1, BLOCK // finer))
                yield self._stretch(piece, first, beyond, finer, before, total)
            before += piece.steps

    def _stretch(self, piece: Segment, first: int, beyond: int, finer: int, before: int, total: int) -> _Stretch:
        k = np.arange(first, beyond + 1)
        grid = piece.t0 + k * piece.h
        if beyond == piece.steps:
            grid[-1] = piece.t1
        between = (grid[:-1, None] + np.diff(grid)[:, None] * (np.arange(finer) / finer)).reshape(-1)
        times = np.append(between, grid[-1])
        t0, t1, listed = float(grid[0]), float(grid[-1]), self.problem.times
        if listed is None:
            every, done = self.problem.every or 1, before + k
            wanted = grid[(done % every == 0) | (done == total)]
        else:
            wanted = listed[(self.sign * listed >= self.sign * t0) & (self.sign * listed <= self.sign * t1)]
        times = self.sign * np.unique(self.sign * np.concatenate([times, wanted]))
        return _Stretch(t0, t1, beyond - first, times, wanted)

    # --- the run

    def solution(self) -> Solution:
        """Runs to the end, or to a terminal event."""
        problem, plan, begin = self.problem, self.plan, self.begin
        part, stop, stats = None, None, Stats()
        failure: BaseException | None = None
        pieces = segments_of(problem, plan, begin.t)
        later = sum(piece.steps for piece in pieces)
        for stretch in self._stretches(pieces):
            only_here = problem.replace(t_end=stretch.t1, times=stretch.times, every=None)
            run = Integration(only_here, plan, begin._replace(t=stretch.t0), self.progress, self.on_compile)
            plan = run.plan
            later -= stretch.steps
            run.steps_before, run.steps_after = stats.steps, later
            try:
                part = run.solution()
            except BaseException as raised:  # also by the user's `progress`
                if not isinstance(found := getattr(raised, "solution", None), Solution):
                    raise
                part, failure = found, raised
            memory = () if stretch.t1 in problem.torque.breakpoints else part.memory
            begin = Begin(stretch.t1, part.last_quaternion, part.last_momentum, memory)
            stats = stats + part.stats
            try:
                stop = self._watched(part)
            except BaseException as raised:  # by the user's function, or by Ctrl-C
                failure = raised
            self._keep(part, stretch.wanted, stop)
            if stop is not None or failure is not None:
                break
        assert part is not None
        t, quaternion, momentum = (np.concatenate(x) for x in zip(*self.rows, strict=True))
        whole = replace(part, problem=problem, stats=stats, t=t, quaternion=quaternion, momentum=momentum)
        if failure is None:
            whole = replace(whole, message=f"reached t = {whole.t_last:.12g} in {stats.steps} steps")
        if stop is not None:
            whole = self._stopped(whole, stop, stretch.t0, part.stats.steps)
        whole = replace(whole, events=tuple(self._of(whole, k) for k in range(len(self.events))))
        stopped_before = stop is not None and isinstance(failure, SimulationFailed | SimulationInterrupted)
        if failure is not None and not stopped_before:
            self._raise(failure, whole)
        return whole

    def _stopped(self, whole: Solution, stop: Hit, t0: float, made: int) -> Solution:
        """Returns the solution up to a terminal event in its last stretch, which began at t0 and made some steps."""
        name, (when, q, m) = self.events[stop.which].name, stop.row
        stats = whole.stats
        if not self.plan.method.variable_steps:  # the stretch went on behind the event
            wanted = (when - t0) / (self.plan.step * self.plan.method.advance)
            stats = replace(stats, steps=stats.steps - made + math.ceil(wanted * (1.0 - 1e-12)))
        message = f"stopped by the event {name} at t = {when:.12g}, in {stats.steps} steps"
        return replace(
            whole, stats=stats, status=Status.OK, message=message, t_last=when, memory=(), last_quaternion=q,
            last_momentum=m,
        )  # fmt: skip

    def _raise(self, failure: BaseException, whole: Solution) -> None:
        """Raises what stopped the run, with everything that was computed."""
        if isinstance(failure, SimulationFailed | SimulationInterrupted):
            raise type(failure)(whole) from None
        if isinstance(failure, KeyboardInterrupt):
            message = f"interrupted at t = {whole.t_last:.12g} after {whole.stats.steps} steps"
            raise SimulationInterrupted(replace(whole, status=Status.INTERRUPTED, message=message)) from None
        if not hasattr(failure, "solution"):
            failure.add_note("raised while events were looked for; what was computed is its `solution`")
        failure.solution = whole  # type: ignore[attr-defined]
        raise failure

    def _keep(self, part: Solution, wanted: Floats, stop: Hit | None) -> None:
        """Keeps the rows that the user wants; the first row of a stretch was the last of the one before."""
        mask = np.isin(part.t, wanted)
        if part.t.size and self.sign * part.t[0] <= self.sign * self.reached:
            mask[0] = False
        if stop is not None:
            mask &= self.sign * part.t <= self.sign * stop.row.t
        t, q, m = part.t[mask], part.quaternion[mask], part.momentum[mask]
        if stop is not None and self.problem.times is None and not (t.size and t[-1] == stop.row.t):
            t, q, m = np.append(t, stop.row.t), np.vstack([q, stop.row.q]), np.vstack([m, stop.row.m])
        self.rows.append((t, q, m))
        self.reached = part.t_last

    def _of(self, whole: Solution, k: int) -> Solution:
        rows = [hit.row for hit in self.hits if hit.which == k]
        return replace(
            whole,
            t=np.array([row.t for row in rows]),
            quaternion=np.array([row.q for row in rows]).reshape(-1, 4),
            momentum=np.array([row.m for row in rows]).reshape(-1, 3),
            metadata={"event": self.events[k].name},
        )

    # --- what happened

    def _watched(self, part: Solution) -> Hit | None:
        """Notes the events of a stretch; returns the terminal one, if there was one."""
        for row in map(Row, part.t.tolist(), part.quaternion, part.momentum):
            if row.t == self.last.t:
                continue
            new = [self._value(e, row) for e in self.events]
            found = [
                Hit(k, self._located(e, self.last, row, self.values[k], new[k]))
                for k, e in enumerate(self.events)
                if crosses(self.values[k], new[k], e.direction)
            ]
            found.sort(key=lambda hit: self.sign * hit.row.t)
            for hit in found:
                self.hits.append(hit)
                if self.events[hit.which].terminal:
                    return hit
            self.last, self.values = row, new
        return None

    def _located(self, event: Event, a: Row, b: Row, ga: float, gb: float) -> Row:
        """Returns the state at the zero between two rows, found by steps aside from the first."""
        if gb == 0.0:
            return b
        from scipy.optimize import brentq

        if self.reach is None:
            self.reach = Reach(self.problem, self.plan, self.on_compile)
        reach, seen = self.reach, {a.t: (a, ga), b.t: (b, gb)}

        def value(t: float) -> float:
            if t not in seen:
                q, m = reach.states(a.t, a.q, a.m, np.array([t]))
                row = Row(t, q[0], m[0])
                seen[t] = (row, self._value(event, row))
            return seen[t][1]

        tiny = math.ulp(max(abs(a.t), abs(b.t)))
        t = float(brentq(value, a.t, b.t, xtol=2 * tiny, rtol=4 * 2.0**-52, maxiter=200))
        value(t)
        return seen[t][0]


def crosses(before: float, after: float, direction: int) -> bool:
    """Whether a function passes zero in this direction between two values."""
    rises, falls = before < 0 <= after, before > 0 >= after
    return (rises and direction >= 0) or (falls and direction <= 0)
