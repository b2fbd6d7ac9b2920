"""A tolerance in, a method and its steps out: runs of a system in pairs, whose distance estimates the error."""

import math
import warnings
from typing import Any, NamedTuple

import numpy as np

from polhode._arrays import Floats, lengths
from polhode.integration.binding import OnCompile
from polhode.integration.loop import Progress, SimulationFailed
from polhode.integration.short_steps import levels_of_polhode
from polhode.methods import Method
from polhode.methods import find as find_method
from polhode.problem import Stats
from polhode.systems.events import SystemEvent, Watch
from polhode.systems.forces import Forces
from polhode.systems.run import SystemPlan, SystemRun
from polhode.systems.solution import SystemSolution
from polhode.systems.system import System
from polhode.tolerance.search import ToleranceNotReached

COARSER = 0.8
"""The companion of a run makes this part of its steps. Its own error, which is most of the distance of the two, is
larger than that of the run by 1 / 0.8^order: 3.8 for SRKN11, 35 for G8."""
SAFETY = 5.0
"""The estimate is this times the error that the order and the distance to the companion suggest, and no more than the
distance: 0.15 of it for G8, all of it for the others."""
ROUND_OFF = 2e-11
"""Distances up to this may be round-off, which does not fall with the step: of them nothing is taken off. For an orbit
of eccentricity 0.88 round-off in the velocities was 1e-11."""
CANDIDATES = {"G8": 2.0, "SRKN11": 1.0, "ABA1064": 2.5}
"""The methods that are tried, with the turn of the fastest body in a first step, in radians."""
PILOT_PART = 1 / 16
"""The part of the span on which candidates are tried; the one with the fewest evaluations of the forces is taken."""
LEAST_STEPS = 8
PILOT_RADIANS = 10.0
"""The least turn of the fastest body on that part. Where the whole span is shorter than four times that, nothing is
tried: G8 is taken for tolerances below 1e-8, and SRKN11 for others."""
MOST_STEPS = 10**9
MOST_RUNS = 14
"""Pairs of runs before the search gives up."""
COMPARED_ROWS = 40
"""Output times at which the two runs of a pair are compared: these, at even distances, and always the last."""
DEFAULT_ROWS = 101
"""Output times, at even distances, if none are asked for."""


class Sizes(NamedTuple):
    """What errors are relative to."""

    position: float
    velocity: float
    rate: float


def sizes_of(s: SystemSolution) -> Sizes:
    """Returns the largest distance from the centre of mass at the start, the largest speed, and the largest rate."""
    system = s.system
    centre = np.average(system.position, axis=0, weights=system.mass)
    apart = lengths(np.concatenate([s.position, system.position[None]]) - centre).max(initial=0.0)
    speed = lengths(np.concatenate([s.velocity, system.velocity[None]])).max(initial=0.0)
    rate = lengths(np.concatenate([s.omega, system.omega[None]])).max(initial=0.0)
    return Sizes(*(float(x) or 1.0 for x in (apart, speed, rate)))


def distance(a: SystemSolution, b: SystemSolution, rows: Any, sizes: Sizes) -> float:
    """Returns the largest difference of two motions, over those rows of the first that the second has."""
    turn = _angles(a.quaternion[rows], b.quaternion)
    return max(
        float(turn.max(initial=0.0)),
        float(lengths(a.position[rows] - b.position).max(initial=0.0)) / sizes.position,
        float(lengths(a.velocity[rows] - b.velocity).max(initial=0.0)) / sizes.velocity,
        float(lengths(a.omega[rows] - b.omega).max(initial=0.0)) / sizes.rate,
    )


def _angles(p: Floats, q: Floats) -> Floats:
    """Returns the angles between attitudes, without cancellation."""
    sign = np.where((p * q).sum(axis=-1) < 0, -1.0, 1.0)[..., None]
    return np.asarray(4.0 * np.arctan2(lengths(p - sign * q), lengths(p + sign * q)))


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

    def run(self, method: Method, steps: int, times: Floats, *, watched: bool) -> SystemSolution:
        """Makes one run; that which is watched looks for events and reports progress."""
        h = self.span / steps
        made = self.plan._replace(method=method, step=h, times=times, every=None, any_turn=True)
        one = SystemRun(self.system, self.forces, made, None, self.progress if watched else None, self.on_compile)
        if one.made.evaluations is None:
            one.heat[2] = 0.01 * self.rtol / math.sqrt(steps)  # what the iteration of a step may leave
        return Watch(one, self.events).solution() if self.events and watched else one.solution()


def estimate_of(distance: float, order: float) -> float:
    """Returns the estimate of the error of a run from the distance to its companion."""
    ratio = COARSER**order
    by_order = min(1.0, SAFETY * ratio / (1.0 - ratio)) * distance
    return max(float(by_order), min(distance, ROUND_OFF), 4e-16)


class Found(NamedTuple):
    """What a search has come to: the best run, all that was spent, and the steps of the last run."""

    best: SystemSolution
    spent: Stats
    steps: int


def search(question: Question, method: Method, steps: int, times: Floats, most: float = math.inf) -> Found:
    """Makes pairs of runs with more and more steps, until the estimate is below the tolerance.

    It gives up where a run would take more than `most` evaluations of the forces.
    """
    rtol, order = question.rtol, float(method.order or 2)
    stride = max(1, times.size // COMPARED_ROWS)
    rows = np.unique(np.append(np.arange(times.size - 1, -1, -stride), times.size - 1))
    best: SystemSolution | None = None
    failure: SimulationFailed | None = None
    before, spent = math.inf, Stats()
    for _ in range(MOST_RUNS):
        try:
            coarse = question.run(method, max(1, math.floor(COARSER * steps)), times[rows], watched=False)
            fine = question.run(method, steps, times, watched=True)
        except SimulationFailed as problem:
            failure, steps = problem, 2 * steps
            if steps > MOST_STEPS:
                break
            continue
        spent = spent + fine.stats + coarse.stats
        seen = rows[rows < fine.t.size]
        shorter = coarse.having(**{k: getattr(coarse, k)[: seen.size] for k in _ROWS})
        estimate = estimate_of(distance(fine, shorter, seen, sizes_of(fine)), order)
        if best is None or estimate < (best.error_estimate or math.inf):
            best = fine.having(error_estimate=estimate)
        if estimate <= rtol:
            break
        stuck = estimate > 0.3 * before and estimate < 1e-6
        before = estimate
        more = math.ceil(steps * min(max((2.0 * estimate / rtol) ** (1.0 / order), 1.2), 4.0))
        if more > MOST_STEPS or (stuck and steps > 4 * LEAST_STEPS) or fine.nfev * more / steps > most:
            break
        steps = more
    if best is None:
        assert failure is not None
        raise failure
    return Found(best, spent, steps)


_ROWS = ("t", "position", "quaternion", "velocity", "momentum")


def first_steps(question: Question, turn: float) -> int:
    """Returns a first number of steps: by the fastest rotation."""
    fastest = float(lengths(question.system.omega).max(initial=0.0))
    return max(LEAST_STEPS, math.ceil(abs(question.span) * fastest / turn))


def choose(question: Question) -> tuple[Method, int, Stats]:
    """Returns the method with the fewest evaluations on the first part of the span, with steps to begin with."""
    plan, span = question.plan, question.span
    turn = abs(span) * float(lengths(question.system.omega).max(initial=0.0))
    if turn < 4 * PILOT_RADIANS or question.system.has_rotors:  # the others have no lists for rotors
        name = "G8" if question.rtol < 1e-8 or question.system.has_rotors else "SRKN11"
        return find_method(name), first_steps(question, CANDIDATES[name]), Stats()
    part = max(PILOT_PART, PILOT_RADIANS / turn)
    end = plan.t_start + part * span
    pilot = question._replace(plan=plan._replace(t_end=end, times=None), events=(), progress=None)
    best: tuple[int, Method, int] | None = None
    spent = Stats()
    failure: SimulationFailed | None = None
    for name, first in CANDIDATES.items():
        method = find_method(name)
        try:
            most = math.inf if best is None else best[0]
            found = search(pilot, method, first_steps(pilot, first), np.array([end]), most)
        except SimulationFailed as problem:
            failure = problem
            continue
        spent = spent + found.spent
        reached = (found.best.error_estimate or 0.0) <= question.rtol
        cost = found.best.nfev if reached else 10**18
        if best is None or cost < best[0]:
            best = cost, method, found.steps
    if best is None:
        assert failure is not None
        raise failure
    return best[1], max(LEAST_STEPS, math.ceil(best[2] / part)), spent


def accurate(question: Question, method: Method | None) -> SystemSolution:
    """Returns the motion with an error of at most rtol, as estimated by a companion run."""
    plan, rtol, spent = question.plan, question.rtol, Stats()
    times = np.linspace(plan.t_start, plan.t_end, DEFAULT_ROWS) if plan.times is None else plan.times
    if method is None:
        method, steps, spent = choose(question)
    else:
        steps = first_steps(question, CANDIDATES.get(method.bare_name, 0.3))
    found = search(question, method, steps, times)
    best, reached = found.best, found.best.error_estimate or 0.0
    if reached > rtol:
        warnings.warn(
            f"the tolerance {rtol:g} was not reached: the error is estimated as {reached:.2g}, and more steps do not "
            "reduce it; the motion may be chaotic, or the tolerance below round-off",
            ToleranceNotReached,
            stacklevel=levels_of_polhode(),
        )
    return best.having(rtol=rtol, stats=spent + found.spent)
