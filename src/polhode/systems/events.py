"""Events of systems: zeros of functions of all bodies, such as contacts and closest approaches."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from polhode.events import find
from polhode.events.find import (
    ROUND_OFF,
    Between,
    Earlier,
    Evaluator,
    EventRow,
    EventValues,
    Hit,
    Looks,
    warn_of_unresolved,
)
from polhode.kernels.status import Status
from polhode.kernels.systems.bodies import AT, ROW
from polhode.run.binding import OnCompile
from polhode.run.integration import Progress, SimulationInterrupted
from polhode.support import checks
from polhode.support.arrays import Floats, lengths
from polhode.support.interrupts import keeping
from polhode.systems.forces import Forces, box_of
from polhode.systems.solution import SystemSolution
from polhode.systems.system import System
from polhode.systems.system_run import AdaptiveSteps, AsideFailed, SystemPlan, SystemRun, SystemStep, is_at, outward

WIDER = 1e-3
"""The part of a long step by which the bracket of a zero inside it is widened."""
EPSILON, NOISE_DRAWS = 2.0**-52, 4
"""By what part all numbers of a state are changed, with signs that are drawn so many times, to see what round-off does
to a function."""
NOTHING = np.zeros((1, 0))

EventFunction = Callable[[float, Floats, Floats, Floats, Floats], float]
"""`g(t, x, q, v, w)`: positions, quaternions, velocities and rates of all bodies, one row for each."""


@dataclass(frozen=True)
class SystemEvent:
    """A zero of a function `g(t, x, q, v, w)` along a run.

    The function takes the time and arrays with a row for each body: positions, quaternions (scalar first), velocities
    in space and rates in body axes. It is looked at after every step, and with `rtol`, where steps are long, at eight
    times within each; then more often, where its curve suggests zeros between looks. Under a heat bath it is not.
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
        """The vector at these positions of all bodies."""
        d = x[self.second] - x[self.first]
        return d if self.box is None else np.asarray(d - np.array(self.box) * np.round(d / np.array(self.box)))


@dataclass(frozen=True)
class Approach:
    """How fast half the squared distance of two bodies grows."""

    apart: Separation

    def __call__(self, t: float, x: Floats, q: Floats, v: Floats, w: Floats) -> float:
        """Half the rate at which the squared distance grows: zero where they are nearest."""
        return float(self.apart(x) @ (v[self.apart.second] - v[self.apart.first]))


@dataclass(frozen=True)
class Gap:
    """By how much two bodies are farther apart than a distance."""

    apart: Separation
    reach: float

    def __call__(self, t: float, x: Floats, q: Floats, v: Floats, w: Floats) -> float:
        """The distance of the bodies, less the reach."""
        return float(np.linalg.norm(self.apart(x))) - self.reach


def closest_approach(first: int, second: int) -> SystemEvent:
    """The event that the centres of two bodies are nearest to each other.

    Where forces have a periodic box, that is the nearest image.
    """
    return SystemEvent(Approach(Separation(first, second)), f"closest approach of {first} and {second}", direction=1)


def contact(first: int, second: int, distance: float, *, terminal: bool = True) -> SystemEvent:
    """The event that the centres of two bodies come as near as this distance.

    Where forces have a periodic box, that is the distance to the nearest image.
    """
    reach = checks.number("distance", distance, positive=True)
    return SystemEvent(Gap(Separation(first, second), reach), f"contact of {first} and {second}", terminal, -1)


def listed_events(events: Any, bodies: int, forces: Forces) -> tuple[SystemEvent, ...]:
    """The events that a user means, between bodies in the box that the forces have."""
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
    """The function of an event between two bodies, in the box of the forces."""
    apart = function.apart
    for i in (apart.first, apart.second):
        if isinstance(i, bool) or not isinstance(i, int | np.integer) or not 0 <= i < bodies:
            raise IndexError(f"the event {event.name}: {i!r} is no body; there are bodies 0 to {bodies - 1}")
    if apart.first == apart.second:
        raise ValueError(f"the event {event.name}: these are the same body")
    try:
        return replace(function, apart=replace(apart, box=box_of(forces)))
    except ValueError as problem:
        raise ValueError(f"the event {event.name}: {problem}") from None


class SystemEvaluator(Evaluator):
    """The function of an event of a system. States are rows of all numbers, as the loop has them, in `z`."""

    event: SystemEvent  # type: ignore[assignment]

    def check(self, start: EventRow) -> None:
        """Takes all functions."""

    def values(self, looks: Looks, body: System) -> EventValues:
        """The values at states given by rows."""
        x, q, v, m = outward(body, looks.z)
        w = np.stack([b.rate(m[:, i]) for i, b in enumerate(body.bodies)], axis=1)
        g = np.empty(looks.t.size)
        for k, t in enumerate(looks.t.tolist()):
            try:
                g[k] = float(self.event.function(t, x[k], q[k], v[k], w[k]))
                if not math.isfinite(g[k]):
                    raise ValueError(f"the event {self.event.name} is {g[k]} at t = {t:.12g}")
            except IndexError as problem:
                last = len(body) - 1
                return EventValues(
                    g[:k], IndexError(f"the event {self.event.name}: {problem}; there are bodies 0 to {last}")
                )
            except BaseException as problem:  # by the user's function, or by Ctrl-C
                return EventValues(g[:k], problem)
        return EventValues(g)

    def value(self, row: EventRow, body: System) -> float:
        """The value at one state."""
        found = self.values(Looks(np.array([row.t]), row.q[None], row.m[None], row.z[None]), body)
        if found.problem is not None:
            raise found.problem
        return float(found.g[0])

    def noise(self, row: EventRow, body: System, g: Floats) -> float:
        """What changes of the last digits of time and state, or of values like these, do to the function."""
        here, most = self.value(row, body), EPSILON * float(np.abs(g).max())
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(NOISE_DRAWS, row.z.size))
        for sign in signs:
            near = row._replace(t=row.t + math.ulp(row.t), z=row.z * (1.0 + EPSILON * sign))
            most = max(most, abs(self.value(near, body) - here))
        return ROUND_OFF * most


class Finder(find.Watch):
    """The events of a system: the finder of one body, with states of all bodies."""

    def __init__(self, run: SystemRun, events: tuple[SystemEvent, ...], earlier: Earlier | None) -> None:
        self.run, self.steps = run, list[SystemStep]()
        start = EventRow(run.t_begin, NOTHING[0], NOTHING[0], np.array(run.y))
        evaluators = [SystemEvaluator(e) for e in events]  # type: ignore[arg-type]
        super().__init__(
            events, evaluators, run.system, start, math.copysign(1.0, run.plan.t_end - run.t_begin), earlier
        )

    def look_at(self, steps: list[SystemStep]) -> Hit | None:
        """Notes the events along steps that were made; returns the terminal one, if there was one."""
        self.steps = steps
        looks = [look for s in steps for look in (*((s.t + at, y) for at, y in s.inside), (s.t_new, s.after))]
        none = np.zeros((len(looks), 0))
        return self.look(
            Looks(np.array([t for t, _ in looks]), none, none, np.array([y for _, y in looks])), self.between
        )

    def step_at(self, t: float) -> SystemStep:
        """The step within which a time lies, or at whose end."""
        ends = [self.sign * s.t_new for s in self.steps]
        return self.steps[min(int(np.searchsorted(ends, self.sign * t)), len(ends) - 1)]

    def between(self, t: float, q: Floats, m: Floats, z: Floats, times: Floats) -> tuple[Floats, Floats, Floats]:
        """The states at times within the last steps, by steps aside."""
        none = np.zeros((times.size, 0))
        return none, none, np.array([self.state_at(at) for at in times.tolist()])

    def state_at(self, t: float) -> Floats:
        """The state at a time within the last steps."""
        step = self.step_at(t)
        if t in (step.t, step.t_new):
            return np.array(step.before if t == step.t else step.after)
        return self.run.steps.within(step, t - step.t)

    def _parts(self, looks: Looks) -> Any:
        """The number of parts into which intervals are to be cut, by the turn of the fastest body.

        Steps that adapt are looked at at their nodes, which are as near to each other as the motion asks for.
        """
        if any(s.inside for s in self.steps):
            return np.ones(looks.t.size - 1, dtype=np.int64)
        n, setting = self.run.n, self.run.setting.reshape(self.run.n, -1)
        w = (looks.z[:, 10 * n :].reshape(-1, n, 3) - setting[:, 10:13]) * setting[:, 3:6]
        rate = lengths(w).max(axis=1)
        return self._parts_of(looks.t, np.abs(np.diff(looks.t)) * np.maximum(rate[1:], rate[:-1]))

    def _followed(
        self, which: int, before_t: Floats, before_g: Floats, looks: Looks, g: Floats, between: Between
    ) -> tuple[Looks, Floats]:
        """Looks and values as they are where a heat bath makes the motion rough: no curve describes it."""
        if self.run.plan.heat is not None:
            return looks, g
        return super()._followed(which, before_t, before_g, looks, g, between)

    def _located(self, which: int, a: EventRow, b: EventRow, ga: float, gb: float, between: Between) -> EventRow:
        """The zero between two rows. States at nodes are not quite those of the motion: others are taken."""
        step = self.step_at(b.t)
        if step.inside:
            margin, rows = WIDER * (step.t_new - step.t), list[EventRow]()
            for t in (a.t - margin, b.t + margin):
                t = self.sign * min(max(self.sign * t, self.sign * step.t), self.sign * step.t_new)
                rows.append(a._replace(t=t, z=self.state_at(t)))
            u, v = (self.evaluators[which].value(row, self.body) for row in rows)
            if (u < 0.0) != (v < 0.0):
                a, b, ga, gb = rows[0], rows[1], u, v
        return super()._located(which, a, b, ga, gb, between)


class SystemWatch:
    """A run that looks for events after every step."""

    def __init__(self, run: SystemRun, events: tuple[SystemEvent, ...], earlier: Earlier | None = None) -> None:
        self.run, self.events, self.earlier = run, events, earlier
        self.finder: Finder | None = None
        self.rows: list[tuple[float, Floats]] = []
        self.due = [] if run.plan.times is None else run.plan.times.tolist()

    def solution(self) -> SystemSolution:
        """Runs to the end or to a terminal event."""
        return self.run.guarded(self._run, self._assembled)

    def _run(self) -> Status:
        try:
            return self._watched()
        except AsideFailed as problem:
            return problem.status

    def _watched(self) -> Status:
        self._note(self.run.t_begin, np.array(self.run.y), 0)
        finder = self.finder = Finder(self.run, self.events, self.earlier)
        for steps in self.run.steps.each():
            made = [s for s in steps if s.status == Status.OK]
            if made:
                hit = None
                try:
                    hit = finder.look_at(made)
                finally:
                    self._keep(made, finder.last.t if hit is None else hit.row.t, finder)
                if hit is not None:
                    self._end_at(finder.step_at(hit.row.t), hit.row)
                    return Status.OK
            if len(made) < len(steps):
                return steps[-1].status
        return Status.OK

    def _keep(self, steps: list[SystemStep], end: float, finder: Finder) -> None:
        """Keeps rows of output in steps up to a time."""
        sign = finder.sign
        for step in steps:
            while self.due and sign * self.due[0] <= sign * min(end, step.t_new, key=lambda t: sign * t):
                if is_at(self.due[0], step.t_new, self.run.plan.t_start):
                    break
                t = self.due.pop(0)
                self.rows.append((t, finder.state_at(t)))
            if sign * step.t_new > sign * end:
                return
            self._note(step.t_new, step.after, step.number + 1)

    def _note(self, t: float, state: Floats, i: int) -> None:
        """Keeps a row of output at the end of a step."""
        if self.run.plan.times is None:
            if not isinstance(self.run.steps, AdaptiveSteps) and self.run.steps.is_row(i):
                self.rows.append((t, np.array(state)))
            return
        while self.due and is_at(self.due[0], t, self.run.plan.t_start):
            self.rows.append((self.due.pop(0), np.array(state)))

    def _end_at(self, step: SystemStep, row: EventRow) -> None:
        """Ends the run at a terminal event, which has a row."""
        run = self.run
        run.y[:], run.stopped, run.count[AT.done] = row.z, row.t, step.number + 1
        if not self.rows or self.rows[-1][0] != row.t:
            self.rows.append((row.t, np.array(row.z)))

    def _assembled(self, status: Status) -> SystemSolution:
        finder = self.finder
        whole = self._solution_of(status, self.rows)
        events = []
        for k, e in enumerate(self.events):
            found = [(hit.row.t, hit.row.z) for hit in (finder.hits if finder else ()) if hit.which == k]
            events.append(self._solution_of(status, found).having(metadata={"event": e.name}))
        if finder is not None:
            warn_of_unresolved([(self.events[k].name, t) for k, t in finder.unresolved.items()])
        return whole.having(events=tuple(events))

    def _solution_of(self, status: Status, rows: list[tuple[float, Floats]]) -> SystemSolution:
        states = np.array([y for _, y in rows]).reshape(-1, ROW * self.run.n)
        return self.run.solution_of(status, np.array([t for t, _ in rows]), states)


class StretchedRun:
    """A run from its start to its end, or to a terminal event: stretch by stretch between the jumps of the forces."""

    def __init__(
        self, system: System, forces: Forces, plan: SystemPlan, state: Floats | None = None,
        progress: Progress | None = None, on_compile: OnCompile = None, events: tuple[SystemEvent, ...] = (),
        earlier: Earlier | None = None,
    ) -> None:  # fmt: skip
        self.system, self.forces, self.state, self.events, self.earlier = system, forces, state, events, earlier
        self.progress, self.on_compile = progress, on_compile
        self.plans = plan.stretches(forces.breakpoints)
        self.runs = list[SystemRun]()
        """The runs of the stretches so far; where steps adapt, these can be made again."""
        self.suggested = 0.0
        """The sum of the errors that the polynomials of all steps that adapt suggest."""

    def again(self, step_error: float, state: Floats, progress: Progress | None) -> SystemSolution:
        """Runs with steps that may have this error, from this state at the start; runs that were made serve again."""
        self.plans = [plan._replace(step_error=step_error) for plan in self.plans]
        self.state, self.progress, self.suggested = state, progress, 0.0
        return self.solution()

    def _run(self, k: int, state: Floats | None, before: int) -> SystemRun:
        """The run of a stretch, which begins at this state, after so many steps."""
        plan = self.plans[k]
        if plan.step_error is not None:
            plan = plan._replace(before=before)
        if k == len(self.runs):
            begin = self.plans[k - 1].t_end if k else plan.t_begin  # exactly, where steps are counted on
            forces = self.forces.between(begin, plan.t_end)
            self.runs.append(SystemRun(self.system, forces, plan, state, self.progress, self.on_compile))
        else:
            steps = self.runs[k].steps
            assert isinstance(steps, AdaptiveSteps)
            assert plan.step_error is not None
            self.runs[k].plan, self.runs[k].progress = plan, self.progress
            steps.begin(plan.step_error, state)
        return self.runs[k]

    def solution(self) -> SystemSolution:
        """Runs to the end, or raises with what there is."""
        whole: SystemSolution | None = None
        state, earlier = self.state, self.earlier
        for k, plan in enumerate(self.plans):
            run = self._run(k, state, 0 if whole is None else whole.stats.steps)
            with keeping(SimulationInterrupted, partial(self._joined, whole)):
                watch = SystemWatch(run, self.events, earlier) if self.events else run
                part = watch.solution()
            whole = self._joined(whole, part)
            assert whole is not None
            if isinstance(run.steps, AdaptiveSteps):
                self.suggested += run.steps.suggested
            if part.t_last != plan.t_end:
                break
            state, earlier = run.y, happened_at_end(part)
        assert whole is not None
        return whole

    def _joined(self, whole: SystemSolution | None, made: Any) -> SystemSolution | None:
        """The solution so far, followed by another stretch: a solution, or an exception that may have one."""
        made = made if isinstance(made, SystemSolution) else getattr(made, "solution", None)
        if not isinstance(made, SystemSolution):
            return whole
        part = made
        if made.forces is not self.forces:
            all_of_it: dict[str, Any] = {"forces": self.forces, "t_span": (made.t_span[0], self.plans[-1].t_end)}
            part = made.having(**all_of_it, events=tuple(e.having(**all_of_it) for e in made.events))
        if whole is None:
            return part
        both: SystemSolution = whole.followed_by(part, 0, same_events=True)
        return both if part.step_error is None else both.having(step=(both.t_last - both.t_span[0]) / both.stats.steps)


def happened_at_end(solution: SystemSolution) -> Earlier:
    """The events that happened where a solution ends: they are not to happen there again."""
    events = enumerate(solution.events)
    return Earlier([k for k, e in events if e.t.size and e.t[-1] == solution.t_last])
