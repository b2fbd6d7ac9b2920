"""Events: the zeros, along a motion, of a user's function of time and state."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from polhode._arrays import Floats
from polhode.core import status as codes
from polhode.integration.dense import Reach
from polhode.integration.fixed import Progress, Segment, SimulationFailed, SimulationInterrupted, segments
from polhode.integration.variable import integration
from polhode.solution import Run, Solution
from polhode.tolerance.character import character

EventFunction = Callable[[float, tuple[float, ...], tuple[float, ...]], float]
"""`g(t, q, w)`: time, unit quaternion (body to space, scalar first) and angular velocity in body axes."""

FINEST_TURN = 0.25
"""The function is looked at whenever the body has turned by this angle, or once a step."""
BLOCK = 1 << 14
"""Looks that are kept in memory at once."""


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
        """Of the function."""
        return getattr(self.function, "__name__", "event")

    def value(self, t: float, q: Floats, w: Floats) -> float:
        """g, checked."""
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
    """One event or several, functions or Events."""
    if events is None:
        return ()
    several = events if isinstance(events, Sequence) else (events,)
    return tuple(e if isinstance(e, Event) else Event(e) for e in several)


class Row(NamedTuple):
    """A state, in the user's axes."""

    t: float
    q: Floats
    m: Floats


class Hit(NamedTuple):
    """An event that happened."""

    which: int
    row: Row


class Earlier(NamedTuple):
    """What a run that goes on has from the one before."""

    state: tuple[Floats, Floats]
    memory: tuple[float, ...]
    events: tuple[Solution, ...]


class _Look(NamedTuple):
    """A stretch of the run that is kept at once: the times to look at, and which of them are wanted by the user."""

    t0: float
    t1: float
    steps: int
    times: Floats
    wanted: Floats


def with_events(
    run: Run, times: Floats | None, events: tuple[Event, ...],
    progress: Progress | None, announce: Callable[[], None] | None, earlier: Earlier | None = None,
) -> Solution:  # fmt: skip
    """The run, stretch by stretch, with a look at the events between."""
    return _Watch(run, times, events, progress, announce, earlier).solution()


def as_before(old: Sequence[Solution], new: Sequence[Solution | Event]) -> bool:
    """Whether the same events were watched earlier, as far as can be told: solutions keep their names."""
    names = [e.name if isinstance(e, Event) else e.metadata.get("event") for e in new]
    return [e.metadata.get("event") for e in old] == names


def joined(whole: Solution, old: Sequence[Solution], new: Sequence[Solution]) -> tuple[Solution, ...]:
    """The events of two stretches of one motion: those that were watched on as one, others one after the other."""
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


class _Watch:
    def __init__(
        self, run: Run, times: Floats | None, events: tuple[Event, ...],
        progress: Progress | None, announce: Callable[[], None] | None, earlier: Earlier | None,
    ) -> None:  # fmt: skip
        self.run, self.times, self.events, self.announce, self.progress = run, times, events, announce, progress
        self.sign = math.copysign(1.0, run.step)
        self.hits: list[Hit] = []
        self.rows: list[tuple[Floats, Floats, Floats]] = []
        self.reach: Reach | None = None
        self.reached = -math.inf * self.sign
        self.earlier = earlier or Earlier((run.quaternion_start, run.momentum_start), (), ())
        self.last = start = Row(run.t_start, *self.earlier.state)
        self.values = [self._value(e, start) for e in events]
        if as_before(self.earlier.events, events):  # what has happened here is not to happen again
            for k, event in enumerate(self.earlier.events):
                if event.t.size and event.t[-1] == start.t:
                    self.values[k] = 0.0

    def _value(self, event: Event, row: Row) -> float:
        return event.value(row.t, row.q, self.run.body.rate(row.m))

    # --- where to look

    def _looks(self) -> list[_Look]:
        run = self.run
        pieces = segments(run.t_start, run.t_end, run.step * run.method.advance, run.torque.breakpoints)
        rate = character(run).rate
        total, out, before = sum(p.steps for p in pieces), list[_Look](), 0
        for piece in pieces:
            finer = max(1, math.ceil(abs(piece.h) * rate / FINEST_TURN))
            for first in range(0, piece.steps, max(1, BLOCK // finer)):
                beyond = min(piece.steps, first + max(1, BLOCK // finer))
                out.append(self._look(piece, first, beyond, finer, before, total))
            before += piece.steps
        return out

    def _look(self, piece: Segment, first: int, beyond: int, finer: int, before: int, total: int) -> _Look:
        k = np.arange(first, beyond + 1)
        grid = piece.t0 + k * piece.h
        if beyond == piece.steps:
            grid[-1] = piece.t1
        between = (grid[:-1, None] + np.diff(grid)[:, None] * (np.arange(finer) / finer)).reshape(-1)
        times = np.append(between, grid[-1])
        t0, t1 = float(grid[0]), float(grid[-1])
        if self.times is None:
            every, done = self.run.every or 1, before + k
            wanted = grid[(done % every == 0) | (done == total)]
        else:
            wanted = self.times[(self.sign * self.times >= self.sign * t0) & (self.sign * self.times <= self.sign * t1)]
        times = self.sign * np.unique(self.sign * np.concatenate([times, wanted]))
        return _Look(t0, t1, beyond - first, times, wanted)

    # --- the run

    def solution(self) -> Solution:
        """To the end, or to a terminal event."""
        part, steps, nfev, seconds, stop = None, 0, 0, 0.0, None
        failure: BaseException | None = None
        (q, m), memory, _ = self.earlier
        looks = self._looks()
        later = sum(look.steps for look in looks)
        for look in looks:
            run = replace(self.run, t_start=look.t0, t_end=look.t1, every=None)
            if run.torque_size is None and part is not None:
                run = replace(run, torque_size=part.run.torque_size)
            stretch = integration(run)(run, q, m, look.times, self.progress, self.announce, memory)
            later -= look.steps
            stretch.earlier, stretch.later = steps, later
            try:
                part = stretch.solution()
            except BaseException as problem:  # also of the user's `progress`
                if not isinstance(found := getattr(problem, "solution", None), Solution):
                    raise
                part, failure = found, problem
            q, m, memory = part.last_quaternion, part.last_momentum, part.memory
            if look.t1 in run.torque.breakpoints:
                memory = ()
            steps, nfev, seconds = steps + part.run.steps, nfev + part.run.nfev, seconds + part.run.seconds
            try:
                stop = self._watched(part)
            except BaseException as problem:  # of the user's function, or the user does not wait for it
                failure = problem
            self._keep(part, look.wanted, stop)
            if stop is not None or failure is not None:
                break
        assert part is not None
        t, quaternion, momentum = (np.concatenate(x) for x in zip(*self.rows, strict=True))
        run = replace(
            part.run, t_start=self.run.t_start, t_end=self.run.t_end, every=self.run.every,
            steps=steps, nfev=nfev, seconds=seconds,
        )  # fmt: skip
        whole = replace(part, run=run, t=t, quaternion=quaternion, momentum=momentum)
        if failure is None:
            whole = replace(whole, message=f"reached t = {whole.t_last:.12g} in {steps} steps")
        if stop is not None:
            name, (when, q, m) = self.events[stop.which].name, stop.row
            if not whole.run.method.own_clock:  # the stretch went on behind it
                made = (when - look.t0) / (self.run.step * self.run.method.advance)
                steps -= part.run.steps - math.ceil(made * (1.0 - 1e-12))
                whole = replace(whole, run=whole.run.having(steps=steps))
            told = f"stopped by the event {name} at t = {when:.12g}, in {steps} steps"
            whole = replace(whole, status=codes.OK, message=told, t_last=when, memory=())
            whole = replace(whole, last_quaternion=q, last_momentum=m)
        whole = replace(whole, events=tuple(self._of(whole, k) for k in range(len(self.events))))
        if isinstance(failure, SimulationFailed | SimulationInterrupted):
            if stop is None:
                raise type(failure)(whole) from None
        elif isinstance(failure, KeyboardInterrupt):
            told = f"interrupted at t = {whole.t_last:.12g} after {steps} steps"
            raise SimulationInterrupted(replace(whole, status=codes.INTERRUPTED, message=told)) from None
        elif failure is not None:
            if not hasattr(failure, "solution"):
                failure.add_note("raised while events were looked for; what was computed is its `solution`")
            failure.solution = whole  # type: ignore[attr-defined]
            raise failure
        return whole

    def _keep(self, part: Solution, wanted: Floats, stop: Hit | None) -> None:
        """The rows that the user wants; those of the start of a stretch were the end of the one before."""
        mask = np.isin(part.t, wanted)
        if part.t.size and self.sign * part.t[0] <= self.sign * self.reached:
            mask[0] = False
        if stop is not None:
            mask &= self.sign * part.t <= self.sign * stop.row.t
        t, q, m = part.t[mask], part.quaternion[mask], part.momentum[mask]
        if stop is not None and self.times is None and not (t.size and t[-1] == stop.row.t):
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
        """Note the events of a stretch; returns the terminal one, if there was one."""
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
        """The zero between two rows, by steps aside from the first."""
        if gb == 0.0:
            return b
        from scipy.optimize import brentq

        if self.reach is None:
            self.reach = Reach(self.run, self.announce)
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
    """Whether a function that had one value and has another has passed zero in this direction."""
    rises, falls = before < 0 <= after, before > 0 >= after
    return (rises and direction >= 0) or (falls and direction <= 0)
