"""A tolerance for systems of bodies: runs in pairs, whose distance estimates the error."""

import math
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

from polhode.accuracy.estimate import distances, nudged
from polhode.accuracy.policy import (
    POLICY,
    SYSTEMS,
    Enough,
    Floor,
    GiveUp,
    Refine,
    Tries,
    Try,
    next_try,
    warn_not_reached,
)
from polhode.kernels.judge import COARSER, estimate, floor
from polhode.kernels.status import Status
from polhode.kernels.systems.collocation import ORDER
from polhode.methods import Method
from polhode.methods import find as find_method
from polhode.problem import Stats
from polhode.run.binding import OnCompile
from polhode.run.integration import Progress, SimulationFailed, SimulationInterrupted
from polhode.support.arrays import Floats, lengths
from polhode.support.interrupts import keeping
from polhode.systems.events import StretchedRun, SystemEvent
from polhode.systems.forces import Forces
from polhode.systems.solution import SystemSolution
from polhode.systems.system import System
from polhode.systems.system_run import STEP_ERROR, SystemPlan, at_start, setting_of

COMPARED_ROWS = 40
"""The least number of output times at which two runs are compared, if there are as many: at even distances, and always
the last."""
DEFAULT_ROWS = 101
"""Output times, at even distances, if none are asked for."""

# Steps that adapt.

FIRST_AIM = 0.3
"""The first run aims at this times the tolerance."""
RADIANS = 300.0
"""Turns of the fastest body after which errors have grown: the first run aims at less where a run is longer."""
SHARE = 0.6
"""The estimate of the error of the second of two runs, over their distance, which is mostly the error of the first. In
the median the second errs by a fiftieth of that, but with few long steps it can be a half."""
ALIKE = 0.1
"""Two runs whose steps do not suggest that errors fall at least by this factor are too much alike: then the estimate is
ALIKE_SHARE times their distance."""
ALIKE_SHARE = 3.0
NUDGE = 15.0 * 2.0**-53
"""Every other run starts this far off, times the root of its radians over ten: so the distance of two runs also shows
how much round-off has grown, even that which both share."""
LEAST_AIM, LAST_AIM = 1e-17, 1e-19
"""Aims below the first leave round-off only, and are taken as that. The search ends beyond the second: the distance of
two runs is the error of the first, and another run shows that of the finest."""

SHARPER: Refine | Enough | GiveUp = Refine(SYSTEMS.least_factor, 0.0)
"""How much more accurate the second run is: its steps are shorter by a quarter, which takes a tenth more evaluations of
the forces."""

# Steps of equal length, by a method that was given.

SAFETY, LEAST_SAFETY = 5.0, 1.5
"""The estimate is the first number times the error that the order and the distance to the companion suggest, and no
more than the distance, unless the second number times that error is more. The companion's own error is larger than that
of the run by 1 / 0.8^order: 3.8 for SRKN11, whose distance is mostly that, and 1.6 for Strang, whose distance is about
half of the error."""
ROUND_OFF = 2e-11
"""A distance up to this may be round-off, which does not fall with the step: the estimate is then all of it or
more. For an orbit of eccentricity 0.88 round-off in the velocities was 1e-11."""
FIRST_TURN = 0.3
"""The turn of the fastest body in a first step, in radians."""
LEAST_STEPS = 8
MOST_STEPS = 1e9


FIRST: Refine | Enough | GiveUp = Refine(1.0, 0.0)
"""What a search begins with."""


def compared_rows(count: int) -> Any:
    """The rows at which two runs are compared."""
    stride = max(1, count // COMPARED_ROWS)
    return np.arange(count - 1, -1, -stride)[::-1]


def distance(a: SystemSolution, b: SystemSolution) -> float:
    """The largest difference of two motions, over the times that both have.

    If both were ended by an event, their ends count, too. Differences of positions are over the largest distance from
    the centre, those of velocities over the largest speed, those of rates over the largest rate of the first motion or
    at the start; those of attitudes are angles.
    """
    _, i, j = np.intersect1d(a.t, b.t, return_indices=True)
    if a.t_last != a.t_span[1] and b.t_last != b.t_span[1] and a.t.size and b.t.size:
        i, j = np.append(i, a.t.size - 1), np.append(j, b.t.size - 1)
    if i.size == 0:
        return 0.0
    system, centre = a.system, centre_of(a.system, a.forces)
    start = np.stack([system.omega, system.position - centre, system.velocity], axis=1)
    w, u = (np.stack([s.omega, s.position - centre, s.velocity], axis=2)[k] for s, k in ((a, i), (b, j)))
    scale = lengths(np.concatenate([start[None], w])).max(axis=(0, 1))
    scales = np.tile(np.where(scale > 0.0, scale, 1.0), (len(system), 1))
    q, w, p, u = (x.swapaxes(0, 1) for x in (a.quaternion[i], w, b.quaternion[j], u))
    return float(distances(q, w, p, u, scales).max())


def centre_of(system: System, forces: Forces) -> Floats:
    """The place from which distances are measured: that of a central body, or the centre of mass."""
    if forces.keeps_angular_momentum and not forces.keeps_momentum:
        return np.array(forces.centre)
    return np.asarray((system.mass @ system.position) / system.mass.sum())


class Question(NamedTuple):
    """What is asked: a system under forces, a span with output, a tolerance."""

    system: System
    forces: Forces
    plan: SystemPlan
    rtol: float
    events: tuple[SystemEvent, ...] = ()
    progress: Progress | None = None
    on_compile: OnCompile = None

    @property
    def span(self) -> float:
        """The length of the span, with its sign."""
        return self.plan.t_end - self.plan.t_start

    @property
    def turn(self) -> float:
        """The turn of the fastest body at the start, over the whole span, in radians."""
        return abs(self.span) * float(lengths(self.system.omega).max(initial=0.0))

    @property
    def floor(self) -> float:
        """The error that all runs share: the rounding of times, and a part of the rounding of states."""
        rate = float(lengths(self.system.omega).max(initial=0.0))
        return float(floor(self.plan.t_start, self.plan.t_end, rate, 0.0))

    @property
    def is_ended_by_events(self) -> bool:
        """Whether an event may end the run: then no run may go on beyond it."""
        return any(e.terminal for e in self.events)

    def run(self, method: Method, steps: int, times: Floats, *, watched: bool) -> SystemSolution:
        """Makes one run in equal steps; that which is watched looks for events and reports progress."""
        h = self.span / steps
        made = self.plan._replace(method=method, step=h, times=times, every=None, any_turn=True)
        looks, shown = self.events if watched or self.is_ended_by_events else (), self.progress if watched else None
        return StretchedRun(self.system, self.forces, made, None, shown, self.on_compile, looks).solution()


def keeping_best(best: SystemSolution | None) -> AbstractContextManager[None]:
    """Sees to it that whatever ends a search has the best whole run so far as its `solution`, if there is one."""

    def kept(raised: BaseException) -> SystemSolution | None:
        if best is None or not hasattr(raised, "solution"):
            return None
        how = "interrupted" if isinstance(raised, KeyboardInterrupt) else "ended by an exception"
        known = "is not known" if best.error_estimate is None else f"is estimated as {best.error_estimate:.2g}"
        message = f"{how} while a more accurate run was made: this is the whole run before, whose error {known}"
        return best.having(status=Status.INTERRUPTED, message=message)

    return keeping(SimulationInterrupted, kept)


# --- steps that adapt


def first_aim(question: Question) -> float:
    """The error that the first run aims at."""
    return max(FIRST_AIM * question.rtol / (1.0 + question.turn / RADIANS), LEAST_AIM)


def begun_beside(system: System, turn: float) -> Floats:
    """A start that is off by some round-off: attitudes and momenta as those of companions of single bodies.

    Bodies are moved in directions that are neither equal nor even nor odd.
    """
    n, off, setting = len(system), NUDGE * math.sqrt(1.0 + turn / 10.0), setting_of(system)
    x, q, v, m = np.split(at_start(system), (3 * n, 7 * n, 10 * n))
    axes = np.broadcast_to(np.eye(3), (n, 3, 3))
    rate = float(lengths((m.reshape(n, 3) - setting[:, 10:13]) * setting[:, 3:6]).max())
    other = nudged(q.reshape(n, 4), m.reshape(n, 3), setting[:, :3], axes, off, rate)
    directions = np.cos(np.arange(1.0, 6 * n + 1.0) ** 2)
    x, v = (y + off * np.abs(y).max() * d for y, d in zip((x, v), np.split(directions, 2), strict=True))
    return np.concatenate([x, other.quaternion.ravel(), v, other.momentum.ravel()])


class SystemSearch:
    """Runs in steps that adapt, each more accurate than the one before, until the estimate is below the tolerance."""

    def __init__(self, question: Question, times: Floats) -> None:
        plan = question.plan._replace(method=find_method("G8"), times=times, every=None, step_error=1.0)
        self.question, self.spent = question, Stats()
        self.start = at_start(question.system)
        self.run = StretchedRun(
            question.system, question.forces, plan, self.start, None, question.on_compile, question.events
        )

    def answer(self) -> tuple[SystemSolution, Enough | GiveUp]:
        """The best run, and how the search ended.

        Every other run starts a little off: of two runs in turn one does, and their distance shows what has become of
        round-off. The distance is most of the error of the first; what the second has of it, their steps say.

        For the search, the power of the aim with which the steps shorten stands for their number.
        """
        question, floor = self.question, self.question.floor
        aim, off = first_aim(question), begun_beside(question.system, question.turn)
        before, hinted = self.attempt(aim, off, None), self.run.suggested
        best: SystemSolution | None = None
        tries, step = Tries(question.rtol, patience=2, most=LAST_AIM ** (-1.0 / ORDER)), SHARPER
        while isinstance(step, Refine):
            aim *= step.factor**-ORDER
            started_off = tries.made % 2 == 1
            with keeping_best(best or before):
                fine = self.attempt(max(aim, LEAST_AIM), off if started_off else None, question.progress)
            share = ALIKE_SHARE if self.run.suggested > ALIKE * hinted else 1.5 if started_off else SHARE
            error = estimate(share, share, distance(fine, before), floor, 0.0)
            before, hinted = fine, self.run.suggested
            if best is None or error < (best.error_estimate or 0.0):
                best = fine.having(error_estimate=error)
            tries = tries.adding(Try(aim ** (-1.0 / ORDER), error))
            step = next_try(SYSTEMS, tries, ORDER, Floor(floor, floor, floor))
        assert best is not None
        return best.having(stats=self.spent, rtol=question.rtol), step

    def attempt(self, aim: float, start: Floats | None, progress: Progress | None) -> SystemSolution:
        """Makes a run that aims at this error; it looks for events."""
        made = self.run.again(STEP_ERROR * aim, self.start if start is None else start, progress)
        self.spent = self.spent + made.stats
        return made


# --- steps of equal length


def share_of(distance: float, order: float) -> float:
    """The part of its distance to the companion that the error of a run is at most."""
    ratio = float(COARSER**order)
    error = ratio / (1.0 - ratio)
    return max(min(1.0, SAFETY * error), LEAST_SAFETY * error, min(1.0, ROUND_OFF / max(distance, 1e-300)))


def searched(question: Question, method: Method, times: Floats) -> tuple[SystemSolution, Enough | GiveUp]:
    """Makes pairs of runs with more and more equal steps, until the estimate is below the tolerance.

    Returns the best run, and how the search ended.
    """
    order, floor, rows = float(method.order or 2), question.floor, compared_rows(times.size)
    best: SystemSolution | None = None
    failure: SimulationFailed[SystemSolution] | None = None
    spent, tries = Stats(), Tries(question.rtol, most=MOST_STEPS)
    steps, step = max(LEAST_STEPS, math.ceil(question.turn / FIRST_TURN)), FIRST
    while isinstance(step, Refine):
        error = math.inf
        try:
            with keeping_best(best):
                coarse = question.run(method, max(1, math.floor(COARSER * steps)), times[rows], watched=False)
                fine = question.run(method, steps, times, watched=True)
        except SimulationFailed as problem:
            failure = problem
        else:
            spent = spent + fine.stats + coarse.stats
            apart = distance(fine, coarse)
            error = estimate(share_of(apart, order), 1.0, apart, floor, 0.0)
            if best is None or error < (best.error_estimate or math.inf):
                best = fine.having(error_estimate=error)
        tries = tries.adding(Try(steps, error))
        step = next_try(POLICY, tries, order, Floor(floor, floor, floor))
        steps = math.ceil(steps * step.factor) if isinstance(step, Refine) else steps
    if best is None:
        assert failure is not None
        raise failure
    return best.having(stats=spent, rtol=question.rtol), step


def accurate(question: Question, method: Method | None) -> SystemSolution:
    """The motion with an error of at most rtol, as estimated by another run."""
    plan, rtol = question.plan, question.rtol
    times = np.linspace(plan.t_start, plan.t_end, DEFAULT_ROWS) if plan.times is None else plan.times
    if method is None or method.bare_name == "G8":
        best, ended = SystemSearch(question, times).answer()
    else:
        best, ended = searched(question, method, times)
    reached = best.error_estimate or 0.0
    if reached > rtol:
        assert isinstance(ended, GiveUp)
        warn_not_reached(rtol, reached, f"and {ended.reason}")
    return best
