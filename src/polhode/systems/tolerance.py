"""A tolerance in, a method and its steps out: runs of a system in pairs, whose distance estimates the error."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from polhode._arrays import Floats, lengths
from polhode.compiled import program
from polhode.core.bodies import ROW
from polhode.core.nodes import largest_difference
from polhode.core.status import Status
from polhode.integration.binding import OnCompile
from polhode.integration.loop import Progress, SimulationFailed, SimulationInterrupted
from polhode.methods import Method
from polhode.methods import find as find_method
from polhode.problem import Stats
from polhode.solution import Solution
from polhode.systems.adaptive import AdaptiveRun, Level
from polhode.systems.events import SystemEvent, Watch
from polhode.systems.forces import Forces
from polhode.systems.run import SystemPlan, SystemRun, inward, setting_of
from polhode.systems.solution import SystemSolution
from polhode.systems.system import System
from polhode.tolerance.policy import POLICY, next_factor, warn_not_reached

MOST_RUNS = 14
"""Pairs of runs before the search gives up."""
COMPARED_ROWS = 40
"""Output times at which the two runs of a pair are compared: these, at even distances, and always the last."""
DEFAULT_ROWS = 101
"""Output times, at even distances, if none are asked for."""

# Steps that adapt.

FIRST_AIM = 0.3
"""The first run aims at this times the tolerance."""
RADIANS = 300.0
"""Turns of the fastest body after which errors have grown: the first run aims at less where a run is longer."""
SHARPER = 100.0
"""The second run aims at an error smaller by this factor. That takes steps shorter by a quarter, and a tenth more
evaluations of the forces."""
SHARE = 0.6
"""The estimate is this part of the distance of two runs, which is most of the error of the first. In the median the
error of the second is a fiftieth of that, but with few long steps it can be a half."""
ALIKE = 0.1
"""Two runs whose steps do not suggest that errors fall at least by this factor are too much alike: then the estimate is
ALIKE_SHARE times their distance."""
ALIKE_SHARE = 3.0
IN_VAIN = 2
"""Distances in turn that have hardly fallen, after which more accurate steps are not expected to help. One is chance:
the first two runs through a close encounter are so coarse that they may be near each other, and far from the truth."""
NUDGE = 15.0 * 2.0**-53
"""Every other run starts this far off, times the root of its radians over ten: so the distance of two runs also shows
how much round-off has grown, even that which both share."""

# Steps of equal length, by a method that was given.

COARSER = 0.8
"""The companion of a run makes this part of its steps. Its own error, which is most of the distance of the two, is
larger than that of the run by 1 / 0.8^order: 3.8 for SRKN11."""
SAFETY = 5.0
"""The estimate is this times the error that the order and the distance to the companion suggest, and no more than the
distance."""
ROUND_OFF = 2e-11
"""Distances up to this may be round-off, which does not fall with the step: of them nothing is taken off. For an orbit
of eccentricity 0.88 round-off in the velocities was 1e-11."""
FIRST_TURN = 0.3
"""The turn of the fastest body in a first step, in radians."""
LEAST_STEPS = 8
MOST_STEPS = 10**9


def compared_rows(count: int) -> Any:
    """Returns the rows at which two runs are compared."""
    stride = max(1, count // COMPARED_ROWS)
    return np.arange(count - 1, -1, -stride)[::-1]


def distance(a: SystemSolution, b: SystemSolution) -> float:
    """Returns the largest difference of two motions, over the times that both have.

    If both were ended by an event, their ends count, too.
    """
    _, i, j = np.intersect1d(a.t, b.t, return_indices=True)
    if a.t_last != a.t_span[1] and b.t_last != b.t_span[1] and a.t.size and b.t.size:
        i, j = np.append(i, a.t.size - 1), np.append(j, b.t.size - 1)
    first, second = (
        [inward(s.system, s.position[r], s.quaternion[r], s.velocity[r], s.momentum[r]) for r in k]
        for s, k in ((a, i), (b, j))
    )
    if not first:
        return 0.0
    system = a.system
    start = inward(system, system.position, system.quaternion, system.velocity, system.momentum)
    centre = centre_of(system, a.forces)
    return difference(system, setting_of(system).reshape(-1), start, centre, np.array(first), np.array(second))


def centre_of(system: System, forces: Forces) -> Floats:
    """Returns the place from which distances are measured: that of a central body, or the centre of mass."""
    if forces.keeps_angular_momentum and not forces.keeps_momentum:
        return np.array(forces.centre)
    return np.asarray((system.mass @ system.position) / system.mass.sum())


def difference(
    system: System, setting: Floats, start: Floats, centre: Floats, first: Floats, second: Floats
) -> float:  # fmt: skip
    """Returns the largest difference of two motions in rows of states, as the compiled loop has them.

    `core/nodes.py` says what differences are relative to.
    """
    measure = program(largest_difference, "ppppppii", what="the comparison of two motions")
    out = np.zeros(1)
    measure(first.reshape(-1), second.reshape(-1), start, setting, centre, out, len(system), len(first))
    return float(out[0])


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
    def is_ended_by_events(self) -> bool:
        """Whether an event may end the run: then no run may go on beyond it."""
        return any(e.terminal for e in self.events)

    def run(self, method: Method, steps: int, times: Floats, *, watched: bool) -> SystemSolution:
        """Makes one run in equal steps; that which is watched looks for events and reports progress."""
        h = self.span / steps
        made = self.plan._replace(method=method, step=h, times=times, every=None, any_turn=True)
        one = SystemRun(self.system, self.forces, made, None, self.progress if watched else None, self.on_compile)
        looks = self.events if watched or self.is_ended_by_events else ()
        return Watch(one, looks).solution() if looks else one.solution()


@contextmanager
def keeping(best: SystemSolution | Callable[[], SystemSolution] | None) -> Iterator[None]:
    """Sees to it that whatever ends a search has the best whole run so far as its `solution`, if there is one."""
    try:
        yield
    except BaseException as problem:
        if hasattr(problem, "solution") and best is not None:
            whole = best if isinstance(best, SystemSolution) else best()
            how = "interrupted" if isinstance(problem, KeyboardInterrupt) else "ended by an exception"
            known = "is not known" if whole.error_estimate is None else f"is estimated as {whole.error_estimate:.2g}"
            kept = whole.having(
                status=Status.INTERRUPTED,
                message=f"{how} while a more accurate run was made: this is the whole run before, whose error {known}",
            )
            if isinstance(problem, SimulationInterrupted):  # its message is that of its solution
                raise SimulationInterrupted(cast(Solution, kept)) from None
            problem.solution = kept
        raise


# --- steps that adapt


def first_aim(question: Question) -> float:
    """Returns the error that the first run aims at."""
    return FIRST_AIM * question.rtol / (1.0 + question.turn / RADIANS)


def nudged(run: AdaptiveRun, turn: float) -> Floats:
    """Returns a start that is off by some round-off, in all directions."""
    n, y = run.n, run.start
    off = NUDGE * math.sqrt(1.0 + turn / 10.0)
    sizes = np.maximum.reduceat(np.abs(y), (0, 3 * n, 7 * n, 10 * n))
    sizes[1] = 0.5  # of quaternions: half the angle
    directions = np.cos(np.arange(1.0, ROW * n + 1.0) ** 2)  # neither equal nor even nor odd
    return np.asarray(y + off * np.repeat(sizes, (3 * n, 4 * n, 3 * n, 3 * n)) * directions)


class Pursuit:
    """Runs in steps that adapt, each more accurate than the one before, until the estimate is below the tolerance."""

    def __init__(self, question: Question, times: Floats) -> None:
        plan = question.plan._replace(method=find_method("G8"), times=times, every=None)
        self.question = question
        self.run = AdaptiveRun(question.system, question.forces, plan, None, None, question.on_compile)
        self.spent = Stats()

    def answer(self) -> SystemSolution:
        """Returns the best run.

        Every other run starts a little off: of two runs in turn one does, and their distance shows what has become of
        round-off. The distance is most of the error of the first; what the second has of it, their steps say.
        """
        question, run = self.question, self.run
        aim, off = first_aim(question), nudged(run, question.turn)
        before, hinted = self.attempt(aim, off), run.suggested
        run.progress = question.progress
        best: tuple[float, Any] | None = None
        apart, in_vain, was_finest = math.inf, 0, False
        for k in range(MOST_RUNS):
            aim = max(aim / SHARPER, LEAST_AIM)
            known = best or (None, before)
            with keeping(partial(self.solution, *known)):
                fine = self.attempt(aim, off if k % 2 else None)
            share = ALIKE_SHARE if run.suggested > ALIKE * hinted else 1.5 if k % 2 else SHARE
            earlier, apart = apart, self.distance(fine, before)
            estimate = max(share * apart, 4e-16)
            before, hinted = fine, run.suggested
            if best is None or estimate < best[0]:
                best = estimate, fine
            in_vain = in_vain + 1 if apart > 0.5 * earlier else 0
            if estimate <= question.rtol or was_finest or in_vain == IN_VAIN:
                break  # it is reached, or more accurate steps no longer help
            was_finest = aim <= LEAST_AIM  # the distance is the error of the run before: another shows that of this one
            aim *= max(min(1.0, 30.0 * question.rtol / estimate), 1e-6)
        assert best is not None
        return self.solution(*best)

    def attempt(self, aim: float, start: Floats | None = None) -> Any:
        """Makes a run."""
        made = self.run.make(Level.aiming_at(aim), start)
        self.spent = self.spent + Stats(made.steps, made.evaluations, self.run.seconds)
        return made

    def distance(self, first: Any, second: Any) -> float:
        """Returns the largest difference of two runs."""
        system, run = self.question.system, self.run
        centre = centre_of(system, self.question.forces)
        return difference(system, run.setting, run.start, centre, first.rows, second.rows)

    def solution(self, estimate: float | None, made: Any) -> SystemSolution:
        """Returns a run as a solution."""
        return self.run.solution_as(
            made, Status.OK, error_estimate=estimate, stats=self.spent, rtol=self.question.rtol
        )  # fmt: skip


class WatchedPursuit(Pursuit):
    """The same with events, which end runs or are found in the best of them."""

    def attempt(self, aim: float, start: Floats | None = None) -> Any:
        """Makes a run that looks for events."""
        self.run.begin(Level.aiming_at(aim), start)
        made = Watch(self.run, self.question.events).solution()
        self.spent = self.spent + made.stats
        return made

    def distance(self, first: Any, second: Any) -> float:
        """Returns the largest difference of two solutions."""
        return distance(first, second)

    def solution(self, estimate: float | None, made: Any) -> SystemSolution:
        """Returns the solution with what is known of it."""
        found: SystemSolution = made.having(error_estimate=estimate, stats=self.spent, rtol=self.question.rtol)
        return found


LEAST_AIM = 1e-17
"""Aims below this leave round-off only."""


# --- steps of equal length


def estimate_of(distance: float, order: float) -> float:
    """Returns the estimate of the error of a run from the distance to its companion."""
    ratio = COARSER**order
    by_order = min(1.0, SAFETY * ratio / (1.0 - ratio)) * distance
    return max(float(by_order), min(distance, ROUND_OFF), 4e-16)


def searched(question: Question, method: Method, times: Floats) -> SystemSolution:
    """Makes pairs of runs with more and more equal steps, until the estimate is below the tolerance."""
    rtol, order = question.rtol, float(method.order or 2)
    rows = compared_rows(times.size)
    steps = max(LEAST_STEPS, math.ceil(question.turn / FIRST_TURN))
    best: SystemSolution | None = None
    failure: SimulationFailed[SystemSolution] | None = None
    before, spent, tried = math.inf, Stats(), (math.inf, 0)
    for _ in range(MOST_RUNS):
        try:
            with keeping(best):
                coarse = question.run(method, max(1, math.floor(COARSER * steps)), times[rows], watched=False)
                fine = question.run(method, steps, times, watched=True)
        except SimulationFailed as problem:
            failure, steps = problem, 2 * steps
            if steps > MOST_STEPS:
                break
            continue
        spent = spent + fine.stats + coarse.stats
        estimate = estimate_of(distance(fine, coarse), order)
        if best is None or estimate < (best.error_estimate or math.inf):
            best = fine.having(error_estimate=estimate)
        if estimate <= rtol:
            break
        stuck = estimate > 0.3 * before and estimate < 1e-6
        before = estimate
        more = math.ceil(steps * next_factor(POLICY, order, rtol, estimate, steps, *tried, False))
        tried = (estimate, steps)
        if more > MOST_STEPS or (stuck and steps > 4 * LEAST_STEPS):
            break
        steps = more
    if best is None:
        assert failure is not None
        raise failure
    return best.having(stats=spent, rtol=rtol)


def accurate(question: Question, method: Method | None) -> SystemSolution:
    """Returns the motion with an error of at most rtol, as estimated by another run."""
    plan, rtol = question.plan, question.rtol
    times = np.linspace(plan.t_start, plan.t_end, DEFAULT_ROWS) if plan.times is None else plan.times
    if method is None or method.bare_name == "G8":
        best = (WatchedPursuit if question.events else Pursuit)(question, times).answer()
    else:
        best = searched(question, method, times)
    reached = best.error_estimate or 0.0
    if reached > rtol:
        warn_not_reached(
            rtol, reached, "shorter steps do not lower it; the motion may be chaotic, or the tolerance below round-off"
        )
    return best
