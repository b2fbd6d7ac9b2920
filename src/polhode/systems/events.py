"""Events of systems: zeros of functions of all bodies, such as contacts and closest approaches."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from polhode import _check
from polhode._arrays import Floats
from polhode.core.bodies import ROW
from polhode.core.status import Status
from polhode.systems.forces import Forces, Pairs
from polhode.systems.run import Step, SystemRun, outward
from polhode.systems.solution import SystemSolution

WIDER = 1e-3
"""The part of a long step by which the bracket of a zero inside it is widened."""
MOST_LOOKS = 60
"""Looks at an event function for one zero: bisection alone would need as many."""

EventFunction = Callable[[float, Floats, Floats, Floats, Floats], float]
"""`g(t, x, q, v, w)`: positions, quaternions, velocities and rates of all bodies, one row for each."""


@dataclass(frozen=True)
class SystemEvent:
    """A zero of a function `g(t, x, q, v, w)` along a run.

    The function takes the time and arrays with a row for each body: positions, quaternions (scalar first), velocities
    in space and rates in body axes. It is looked at after every step, and with `rtol`, where steps are long, at eight
    times within each; a sign that changes twice between two looks is not seen.
    """

    function: EventFunction
    name: str = "event"
    terminal: bool = False
    """Whether it ends the run."""
    direction: int = 0
    """1: only zeros at which the function rises, -1: only those at which it falls, 0: all."""

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"an event is a function g(t, x, q, v, w), not {self.function!r}")
        if self.direction not in (-1, 0, 1):
            raise ValueError(f"the direction of an event must be -1, 0 or 1, not {self.direction!r}")


@dataclass(frozen=True)
class Separation:
    """The vector from one body to another; in a periodic box, to its nearest image."""

    first: int
    second: int
    box: tuple[float, float, float] | None = None

    def __call__(self, x: Floats) -> Floats:
        """Returns it for these positions."""
        d = x[self.second] - x[self.first]
        return d if self.box is None else np.asarray(d - np.array(self.box) * np.round(d / np.array(self.box)))


@dataclass(frozen=True)
class Approach:
    """How fast half the squared distance of two bodies grows."""

    apart: Separation

    def __call__(self, t: float, x: Floats, q: Floats, v: Floats, w: Floats) -> float:
        """Returns it: zero where they are nearest."""
        return float(self.apart(x) @ (v[self.apart.second] - v[self.apart.first]))


@dataclass(frozen=True)
class Gap:
    """By how much two bodies are farther apart than a distance."""

    apart: Separation
    reach: float

    def __call__(self, t: float, x: Floats, q: Floats, v: Floats, w: Floats) -> float:
        """Returns it."""
        return float(np.linalg.norm(self.apart(x))) - self.reach


def closest_approach(first: int, second: int) -> SystemEvent:
    """Returns the event that the centres of two bodies are nearest to each other.

    Where forces have a periodic box, that is the nearest image.
    """
    return SystemEvent(Approach(Separation(first, second)), f"closest approach of {first} and {second}", direction=1)


def contact(first: int, second: int, distance: float, *, terminal: bool = True) -> SystemEvent:
    """Returns the event that the centres of two bodies come as near as this distance.

    Where forces have a periodic box, that is the distance to the nearest image.
    """
    reach = _check.number("distance", distance, positive=True)
    return SystemEvent(Gap(Separation(first, second), reach), f"contact of {first} and {second}", terminal, -1)


def listed_events(events: Any, bodies: int, forces: Forces) -> tuple[SystemEvent, ...]:
    """Returns the events that a user means, between bodies in the box that the forces have."""
    if events is None:
        return ()
    given = list(events) if isinstance(events, list | tuple) else [events]
    out = []
    for e in given:
        if not isinstance(e, SystemEvent) and not callable(e):
            raise TypeError(f"events are polhode.systems.SystemEvent or functions g(t, x, q, v, w), not {e!r}")
        made = e if isinstance(e, SystemEvent) else SystemEvent(e, getattr(e, "__name__", "event"))
        if isinstance(made.function, Approach | Gap):
            made = replace(made, function=_in_box(made, made.function, bodies, forces))
        out.append(made)
    return tuple(out)


def _in_box(event: SystemEvent, function: Approach | Gap, bodies: int, forces: Forces) -> EventFunction:
    """Returns the function of an event between two bodies, in the box of the forces."""
    apart = function.apart
    for i in (apart.first, apart.second):
        if isinstance(i, bool) or not isinstance(i, int | np.integer) or not 0 <= i < bodies:
            raise IndexError(f"the event {event.name}: {i!r} is no body; there are bodies 0 to {bodies - 1}")
    if apart.first == apart.second:
        raise ValueError(f"the event {event.name}: these are the same body")
    boxes = {p.box for p in forces.parts if isinstance(p, Pairs) and p.box is not None}
    if len(boxes) > 1:
        raise ValueError(f"the event {event.name}: the forces have boxes of different sides, {sorted(boxes)}")
    return replace(function, apart=replace(apart, box=next(iter(boxes), None)))


class Watch:
    """A run that looks for events after every step."""

    def __init__(self, run: SystemRun, events: tuple[SystemEvent, ...]) -> None:
        self.run, self.events = run, events
        self.found: list[list[tuple[float, Floats]]] = [[] for _ in events]
        self.rows: list[tuple[float, Floats]] = []
        self.due = [] if run.plan.times is None else run.plan.times.tolist()

    def solution(self) -> SystemSolution:
        """Runs to the end or to a terminal event."""
        return self.run.guarded(self._run, self._assembled)

    def _run(self) -> Status:
        begin, start = self.run.t_begin, np.array(self.run.y)
        self._note(begin, start, 0)
        values = self._look(begin, start)
        for step in self.run.each_step():
            if step.status != Status.OK:
                return step.status
            new = self._look(step.t_new, step.after)
            if (end := self._look_between(step, values, new)) is not None:
                self._end_at(*end)
                return Status.OK
            values = new
            self._note(step.t_new, step.after, step.number + 1)
        return Status.OK

    def _look(self, t: float, state: Floats) -> list[float]:
        system = self.run.system
        x, q, v, m = (a[0] for a in outward(system, state[None, :]))
        w = np.array([b.rate(m[k]) for k, b in enumerate(system.bodies)])
        out = []
        for e in self.events:
            try:
                value = float(e.function(t, x, q, v, w))
            except IndexError as problem:
                last = len(system) - 1
                raise IndexError(f"the event {e.name}: {problem}; there are bodies 0 to {last}") from problem
            if not np.isfinite(value):
                raise ValueError(f"the event {e.name} is {value} at t = {t:.12g}")
            out.append(value)
        return out

    def _look_between(self, step: Step, values: list[float], new: list[float]) -> tuple[float, Floats] | None:
        """Notes the zeros within a step, and output times before a terminal one; returns where the run ends."""
        looks = [(0.0, values), *((at, self._look(step.t + at, y)) for at, y in step.inside)]
        looks.append((step.t_new - step.t, new))
        zeros = []
        for (low, before), (high, after) in pairwise(looks):
            for k, (e, a, b) in enumerate(zip(self.events, before, after, strict=True)):
                rises = a < 0.0 <= b
                falls = a > 0.0 >= b
                if (rises and e.direction >= 0) or (falls and e.direction <= 0):
                    zeros.append((*self._zero(step, k, low, high, a, b), k))
        zeros.sort(key=lambda z: abs(z[0] - step.t))
        for t, state, k in zeros:
            self.found[k].append((t, state))
            if self.events[k].terminal:
                self._note_times(step, t)
                return t, state
        self._note_times(step, step.t_new, open_end=True)
        return None

    def _zero(self, step: Step, k: int, low: float, high: float, a: float, b: float) -> tuple[float, Floats]:
        """Returns time and state of a zero within a part of a step, by secants kept within a shrinking bracket."""
        h, t0, state = step.t_new - step.t, step.t, step.after
        if step.inside:  # states inside a step are not quite those of the motion: the bracket is widened, and looked at
            margin = WIDER * h
            x, y = (min(max(z / h, 0.0), 1.0) * h for z in (low - margin, high + margin))
            u, v = (self._look(t0 + z, self.run.within(step, z))[k] if z else a for z in (x, y))
            if (u < 0.0) != (v < 0.0):
                low, high, a, b = x, y, u, v
        resolution, last = 4e-16 * max(abs(t0), abs(h)), math.inf
        for _ in range(MOST_LOOKS):
            x = high - b * (high - low) / (b - a) if b != a else 0.5 * (low + high)
            if not min(low, high) < x < max(low, high):
                x = 0.5 * (low + high)
            state = self.run.within(step, x)
            value = self._look(t0 + x, state)[k]
            if value == 0.0 or min(abs(high - low), abs(x - last)) <= resolution:
                return t0 + x, state
            last = x
            if (value < 0.0) == (a < 0.0):
                low, a, b = x, value, 0.5 * b  # Illinois: the other end counts half
            else:
                high, b, a = x, value, 0.5 * a
        return t0 + x, state

    def _note(self, t: float, state: Floats, i: int) -> None:
        """Keeps a row of output at the end of a step."""
        plan = self.run.plan
        if plan.times is None:
            if i % (plan.every or 1) == 0 or i == self.run.steps:
                self.rows.append((t, np.array(state)))
            return
        while self.due and self.run.is_at(self.due[0], t):
            self.rows.append((self.due.pop(0), np.array(state)))

    def _note_times(self, step: Step, end: float, *, open_end: bool = False) -> None:
        """Keeps rows at output times within a step."""
        forward = 1.0 if self.run.plan.step > 0 else -1.0
        while self.due and forward * self.due[0] <= forward * end:
            if open_end and self.run.is_at(self.due[0], end):
                return
            t = self.due.pop(0)
            self.rows.append((t, self.run.within(step, t - step.t) if t != step.t else np.array(step.before)))

    def _end_at(self, t: float, state: Floats) -> None:
        """Ends the run at a terminal event, which has a row."""
        run = self.run
        run.y[:], run.stopped = state, t
        if not self.rows or self.rows[-1][0] != t:
            self.rows.append((t, np.array(state)))

    def _assembled(self, status: Status) -> SystemSolution:
        run = self.run
        times = np.array([t for t, _ in self.rows])
        states = np.array([y for _, y in self.rows]).reshape(-1, ROW * run.n)
        whole = run.solution_of(status, times, states)
        events = []
        for e, found in zip(self.events, self.found, strict=True):
            rows = np.array([y for _, y in found]).reshape(-1, ROW * run.n)
            at = run.solution_of(status, np.array([t for t, _ in found]), rows)
            events.append(at.having(metadata={"event": e.name}))
        return whole.having(events=tuple(events))
