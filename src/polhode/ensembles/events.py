"""Events of many bodies: their motions are run once more, stretch by stretch, and looked at."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from polhode.api.simulate import simulate
from polhode.ensembles.batch import Batch, BatchRun, Midway
from polhode.ensembles.initial import Start
from polhode.ensembles.result import MOST_MESSAGES, Ensemble, EnsembleInterrupted, EventRows
from polhode.events.find import (
    Between,
    Evaluator,
    Event,
    EventRow,
    Hit,
    Looks,
    Watch,
    warn_of_unresolved,
)
from polhode.events.single import stretches
from polhode.kernels.status import Status
from polhode.run.grid import segments_of
from polhode.run.integration import SimulationFailed
from polhode.run.interpolate import Reach
from polhode.solution import Solution
from polhode.support.arrays import Floats
from polhode.support.interrupts import keeping

BODIES_TOGETHER = 64
"""The number of bodies that are looked at in one go: enough for the lanes and some threads."""
LOOKS_TOGETHER = 4096
"""The number of looks at each of them in one go: some 50 MB for all."""
USUAL_RATE = 0.75
"""Looks are placed for the rate below which this part of the bodies turns; faster ones get others in between."""


class BatchRunner(Protocol):
    """Runs bodies of an ensemble to the end, some at a time."""

    rows: int
    steps: int

    @property
    def t(self) -> Floats:
        """The output times."""

    def __call__(self, part: Start) -> Ensemble:
        """Runs some bodies."""

    def warn(self) -> None:
        """Warns of what was found."""


class LevelledRunner(BatchRunner, Protocol):
    """Runs bodies as a `BatchRunner` does, and reports which of them were run alike."""

    def batches(self, made: Ensemble) -> Iterator[tuple[Any, Batch]]:
        """Yields the places of bodies that were run alike, with the batch by which they can be run again."""

    def mended(self, bodies: int) -> None:
        """Takes note that bodies reach the tolerance after all."""


class WatchedRunner:
    """Runs bodies as another does, and then looks for events along their motions.

    The rows are those of the first runs, so that watching does not change them.
    """

    def __init__(
        self,
        turned: LevelledRunner,
        events: tuple[Event, ...],
        progress: Callable[[], None] | None,
        simple: dict[str, Any],
    ) -> None:
        """Takes the runner of the bodies, and arguments of `simulate` for bodies that need a run of their own."""
        self.turned, self.events, self.progress, self.simple = turned, events, progress, simple
        self.rows, self.steps = turned.rows, turned.steps
        self.evaluators = [Evaluator(event) for event in events]
        self.unresolved = dict[int, float]()

    @property
    def t(self) -> Floats:
        """The output times."""
        return self.turned.t

    def warn(self) -> None:
        """Warns of bodies that did not reach their tolerance, and of functions that could not be followed."""
        self.turned.warn()
        warn_of_unresolved([(self.events[k].name, t) for k, t in self.unresolved.items()])

    def __call__(self, part: Start) -> Ensemble:
        """Runs some bodies and finds their events; an exception has an `ensemble` of what was computed and found."""

        def not_looked_at(raised: BaseException) -> Ensemble | None:
            found = getattr(raised, "ensemble", None)
            return _Findings(found, self.events).ensemble() if isinstance(found, Ensemble) else None

        with keeping(EnsembleInterrupted, not_looked_at):
            made = self.turned(part)
        findings = _Findings(made, self.events)
        note = "raised while events were looked for; what was computed is its `ensemble`"
        with keeping(EnsembleInterrupted, lambda _: findings.ensemble(interrupted=True), note):
            for places, batch in self.turned.batches(made):
                for first in range(0, places.size, BODIES_TOGETHER):
                    self._look(findings, batch, places[first : first + BODIES_TOGETHER])
                    if self.progress is not None:
                        self.progress()
            self._save_stopped(findings)
        return findings.ensemble()

    # --- looks at some bodies

    def _look(self, findings: _Findings, batch: Batch, places: Any) -> None:
        """Looks at some bodies, from the start to the end of each, and notes what is found."""
        start, problem = findings.made.start.some(places), batch.lead.problem
        bodies = [self._body(findings, batch, start, k, int(place)) for k, place in enumerate(places.tolist())]
        midway = Midway(start.quaternion, start.momentum, None, start.state)
        pieces, sign = segments_of(problem, batch.lead.plan), problem.direction

        def usual() -> float:
            return float(np.quantile([body.rate for body in bodies], USUAL_RATE))

        for stretch in stretches(pieces, usual, LOOKS_TOGETHER):
            t0, t1 = stretch.ends
            run = BatchRun(batch.over(t0, t1, sign * np.unique(sign * stretch.looks)), start, None, begin=midway)
            run.run()
            part = run.ensemble(0)
            going = np.ones(len(bodies), dtype=bool)
            for k, body in enumerate(bodies):
                rows = int(part.rows[k])
                looks = Looks(part.t[:rows], part.quaternion[k, :rows], part.momentum[k, :rows], part.state[k, :rows])
                if part.status[k] != Status.OK:  # the last state may lie behind the last look
                    last = part.last_quaternion[k], part.last_momentum[k], part.last_state[k]
                    looks = looks.and_then(float(part.t_last[k]), *last, problem.direction)
                ended = body.look(looks)
                going[k] = not ended and part.status[k] == Status.OK
                if not going[k]:
                    findings.seen(body.place)
            left = np.flatnonzero(going)
            if not left.size:
                break
            bodies, start = [bodies[k] for k in left.tolist()], start.some(left)
            memory = None if t1 in problem.breakpoints else part.memory[left]
            last_states = part.last_quaternion[left], part.last_momentum[left]
            midway = Midway(*last_states, memory, part.last_state[left])
        for body in bodies:
            findings.seen(body.place)

    def _body(self, findings: _Findings, batch: Batch, start: Start, k: int, place: int) -> _WatchedBody:
        problem = start.problem(k, batch.lead.problem)
        row = EventRow(problem.t_start, problem.quaternion_start, problem.momentum_start, problem.state_start)
        reach: list[Reach] = []

        def between(t: float, q: Floats, m: Floats, z: Floats, times: Floats) -> tuple[Floats, Floats, Floats]:
            if not reach:
                reach.append(Reach(problem, batch.lead.plan, run=batch.lead.with_body(problem, start.parameters[k])))
            return reach[0].states(t, q, m, z, times)

        try:
            watch = Watch(self.events, self.evaluators, problem.body, row, problem.direction)
        except ValueError as raised:
            raised.add_note(f"of body {place + findings.made.start.first}")
            raise
        return _WatchedBody(place, watch, between, findings, self.unresolved)

    def _save_stopped(self, findings: _Findings) -> None:
        """Runs bodies alone that have not reached the tolerance, maybe because of what lies behind a terminal event."""
        made = findings.made
        if made.error_estimate is None or not any(event.terminal for event in self.events):
            return
        rtol = self.simple["rtol"]
        late = ~(made.error_estimate <= rtol) | (made.status != Status.OK)
        mended = 0
        for place in np.flatnonzero(late & (findings.stopped_by >= 0)).tolist():
            start = made.start
            problem = start.problem(place, made.problem)
            try:
                alone = simulate(
                    problem.body, problem.torque, omega=problem.omega_start, attitude=problem.quaternion_start,
                    t_span=(problem.t_start, problem.t_end), t_eval=made.t, events=self.events,
                    state=problem.state_start if problem.state_start.size else None, **self.simple,
                )  # fmt: skip
            except SimulationFailed:  # what the body has is left to it, without an estimate
                continue
            findings.replace_by(place, alone)
            mended += alone.error_estimate is not None and alone.error_estimate <= rtol
        self.turned.mended(mended)


class _WatchedBody(NamedTuple):
    """A body that is looked at."""

    place: int
    watch: Watch
    between: Between
    findings: _Findings
    unresolved: dict[int, float]

    @property
    def rate(self) -> float:
        """The rate at the last look."""
        w = self.watch.body.rate(self.watch.last.m, self.watch.last.t)
        return math.sqrt(float(w @ w))

    def look(self, looks: Looks) -> bool:
        """Looks at a stretch of the motion; returns whether a terminal event has ended it."""
        try:
            stop = self.watch.look(looks, self.between)
        except Exception as problem:
            problem.add_note(f"of body {self.place + self.findings.made.start.first}")
            raise
        finally:
            self.findings.note(self.place, self.watch.hits)
            self.watch.hits.clear()
            for k, t in self.watch.unresolved.items():
                self.unresolved.setdefault(k, t)
        return stop is not None


# --- what was found ------------------------------------------------------------------------------------------------


class _Findings:
    """The events of the bodies of an ensemble, as they are found."""

    def __init__(self, made: Ensemble, events: tuple[Event, ...]) -> None:
        self.made, self.events = made, events
        self.hits: list[list[Hit]] = [[] for _ in range(len(made))]
        self.stopped_by = np.full(len(made), -1)
        self.whole = np.zeros(len(made), dtype=bool)
        """Whether a body was looked at to its end."""

    def note(self, place: int, hits: list[Hit]) -> None:
        """Notes events of a body; a terminal one is the last."""
        self.hits[place] += hits
        if hits and self.events[hits[-1].which].terminal:
            self.stopped_by[place] = hits[-1].which

    def seen(self, place: int) -> None:
        """Notes that a body was looked at to its end."""
        self.whole[place] = True

    def replace_by(self, place: int, alone: Solution) -> None:
        """Takes rows and events of a body from a run of its own."""
        made, rows = self.made, alone.t.size
        for name in ("quaternion", "momentum", "state"):
            getattr(made, name)[place] = np.nan
            getattr(made, name)[place, :rows] = getattr(alone, name)
        made.rows[place], made.status[place], made.t_last[place] = rows, alone.status, alone.t_last
        made.steps[place] = alone.stats.steps
        made.evaluations[place] += alone.stats.nfev
        for name in ("last_quaternion", "last_momentum", "last_state"):
            getattr(made, name)[place] = getattr(alone, name)
        made.messages.pop(place, None)
        assert made.error_estimate is not None
        made.error_estimate[place] = math.nan if alone.error_estimate is None else alone.error_estimate
        found = [
            Hit(k, EventRow(float(t), q, m, z))
            for k, event in enumerate(alone.events)
            for t, q, m, z in zip(event.t, event.quaternion, event.momentum, event.state, strict=True)
        ]
        found.sort(key=lambda hit: made.problem.direction * hit.row.t)
        self.hits[place], self.stopped_by[place] = [], -1
        self.note(place, found)

    def ensemble(self, *, interrupted: bool = False) -> Ensemble:
        """The ensemble with its events; motions end at terminal ones."""
        made = self.made
        for place in np.flatnonzero(self.stopped_by >= 0).tolist():
            self._end(place, self.hits[place][-1].row)
        if interrupted:
            which = np.flatnonzero(~self.whole & (made.status == Status.OK))
            made.status[which] = Status.INTERRUPTED
            for place in which[:MOST_MESSAGES].tolist():
                made.messages[place] = "interrupted while events were looked for; the rows are whole"
        return replace(made, events=tuple(map(self._rows, range(len(self.events)))), stopped_by=self.stopped_by)

    def _end(self, place: int, row: EventRow) -> None:
        """Lets the motion of a body end at an event."""
        made, sign = self.made, self.made.problem.direction
        rows = int(np.count_nonzero(sign * made.t[: int(made.rows[place])] <= sign * row.t))
        made.quaternion[place, rows:] = made.momentum[place, rows:] = made.state[place, rows:] = np.nan
        made.rows[place], made.status[place], made.t_last[place] = rows, Status.OK, row.t
        made.last_quaternion[place], made.last_momentum[place], made.last_state[place] = row.q, row.m, row.z
        made.messages.pop(place, None)
        plan = made.plans[int(made.plan_number[place])] if made.plans else made.plan
        if not plan.method.variable_steps:  # the run went on behind the event
            wanted = (row.t - made.problem.t_start) / (plan.step * plan.method.advance)
            made.steps[place] = min(int(made.steps[place]), math.ceil(wanted * (1.0 - 1e-12)))

    def _rows(self, which: int) -> EventRows:
        """Where one event happened, body after body."""
        found = [(place, hit.row) for place, hits in enumerate(self.hits) for hit in hits if hit.which == which]
        return EventRows(
            self.events[which].name,
            np.array([place for place, _ in found], dtype=np.int64),
            np.array([row.t for _, row in found], dtype=np.float64),
            np.array([row.q for _, row in found], dtype=np.float64).reshape(-1, 4),
            np.array([row.m for _, row in found], dtype=np.float64).reshape(-1, 3),
            len(self.made),
            np.array([row.z for _, row in found], dtype=np.float64).reshape(len(found), len(self.made.state_names)),
        )
