"""The search for one body: runs beside companions until the estimated error is small enough.

The error of a run is the largest, over its output times, of the error of the attitude in radians and of the error of
the rate relative to the largest rate. It is estimated from the distance to a second run over the whole span
(`estimate.py`). docs/decisions/notes/tolerance.md has the measurements behind the numbers.
"""

import math
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polhode.accuracy.character import Character, TorqueTrial, character
from polhode.accuracy.choice import ANY_TORQUE, MOST_STEPS, STIFF, Candidate, candidate, choose
from polhode.accuracy.companion import available_cores, both
from polhode.accuracy.estimate import (
    ALIKE,
    MANY_ROWS,
    ROUND_OFF_OF_GYROSTATS,
    STEPS_WITH_ROWS,
    apart_between_bends,
    apart_from_start,
    comes_near_separatrix,
    companions,
    compared_rows,
    distance,
    estimate,
    largest_rate,
    least_error,
    locates_bends,
    nudged,
    rate_rounding,
    unlocated,
    where_errors_grow,
)
from polhode.accuracy.pace import DRY, MOST_ADAPTIVE_STEPS, MOST_DRY_STEPS, Endless, Pace, given_up
from polhode.accuracy.policy import (
    POLICY,
    STALLED,
    AtRoundOff,
    Floor,
    GiveUp,
    Refine,
    Try,
    next_try,
    warn_not_reached,
)
from polhode.accuracy.refinement import first_tries
from polhode.compiler import compiles, is_from_callback, name_now
from polhode.kernels.judge import CHECKING, CLOSE
from polhode.kernels.status import Status
from polhode.kernels.types import Depends
from polhode.methods import Method
from polhode.methods import find as find_method
from polhode.problem import PerturbedStart, Plan, Problem, Stats
from polhode.run.binding import NO_OTHERS, Binding, ById, OnCompile
from polhode.run.integration import (
    Integration,
    Progress,
    SimulationFailed,
    SimulationInterrupted,
    StepFailed,
    ready_loop,
)
from polhode.run.rows import driver_of
from polhode.run.step_warnings import announce
from polhode.solution import Solution
from polhode.support.arrays import Floats
from polhode.support.interrupts import is_from_handler, keeping

WORTH_A_THREAD_FLOWS = 6000
"""The number of flows, half a millisecond to one, from which on a thread for the companion pays."""
MANY_MORE = 8
"""If there are more than this many listed times for one at which runs are compared, tries leave the others out."""
OUT_OF_REACH = 10.0
"""A first guess of this many times the most steps that a run makes is not begun."""
HOPELESS = 0.1
"""Errors above this remain where motions part exponentially: less rounding would not help."""
MOSTLY = 0.5
"""Shorter steps are not tried where more than this part of the error is inherited from the start."""
GROWN = 0.05
"""A change of the last digit at the start that grows above the tolerance, and to this part of the error, shows that
round-off is what is left: the steps add more of it on the way."""
KEPT_ANSWERS = 1000
"""The number of torques for which it is remembered whether their nodes compile together."""


class Goal(NamedTuple):
    """What a user asked for in place of a plan: an error, and maybe a method."""

    rtol: float
    method: Method | None = None
    """The method to be used; None: it is chosen."""


class InheritedError(NamedTuple):
    """The error that the start of a problem has from what was before."""

    error: float = 0.0
    """Its estimate."""
    rate: float = 0.0
    """The largest rate before, to which it is relative, in rad/s."""


NOTHING_INHERITED = InheritedError()


class InheritedTooMuch(Exception):
    """What the start has inherited grows above the tolerance: shorter steps would not lower that."""


class RoundOffGrows(Exception):
    """The motion makes a change of the last digit grow above the tolerance: shorter steps would not lower that."""


class Stalled(Exception):
    """Steps that adapt fell below the resolution of the time: tighter tolerances only come there by more steps."""


class Stiff(Exception):
    """The problem turned out to be stiff on the way."""


class OneBody:
    """All runs of one body on the way to a tolerance, and what they took."""

    def __init__(
        self, problem: Problem, rtol: float, c: Character, trial: TorqueTrial, progress: Progress | None,
        on_compile: OnCompile, inherited: InheritedError = NOTHING_INHERITED,
    ) -> None:  # fmt: skip
        self.problem, self.rtol, self.progress, self.on_compile = problem, rtol, progress, on_compile
        self.inherited = inherited
        """The error that the start of the problem has from what was before."""
        least, *_, most = sorted(problem.body.moments.tolist())
        self.unequal = 0.0 if problem.body.aligned else most / least
        self.free_rate = c.free_rate
        self._lower_bounds(c.free_rate)
        self.turn = c.turn
        self.method_asked: Method | None = None
        """The method that the user asked for; None: it was chosen."""
        self.spent = Stats()
        self.may_be_stiff = False
        """Whether a run that turns out to be stiff is given up, so that another method takes its place."""
        self.first: Integration | None = None
        """The first run of all that was no short one, beside which others are made."""
        self.binding: Binding | None = None
        """The step of the last short run, bound to the torque."""
        self.trial = trial
        """The torque at the start."""
        self.is_dry = c.dry
        """Whether the torque brakes the body with a size that does not fall to zero as fast as the rate."""
        self.may_be_short = progress is None and trial.can_be_made
        """Whether runs may be made by one call of compiled code."""
        self.best: tuple[Solution, float] | None = None
        """The best of the solutions so far, with its estimate."""
        self.best_steps = math.nan
        """The number of steps of the best solution."""
        self.unjudged: Solution | None = None
        """The last run that came to the end, whose companion may not have."""
        self.tried: tuple[float, float] | None = None
        """The steps and the estimate of the last try of the same candidate."""
        self.ended: GiveUp | None = None
        """Why the last search ended above the tolerance."""
        self.warned_of_short_steps = False
        self.made: list[float] = []
        """The numbers of steps that were tried."""
        self.failed: StepFailed | None = None
        """The failure of the last run that failed."""
        self.endless: Endless | None = None
        """What was seen of the last run that would not have ended."""

    def _refine(self, candidate: Candidate) -> None:
        """Refines the steps of a candidate until that has helped, or is seen to be in vain."""
        with suppress(RoundOffGrows, Stalled):
            self.refine(candidate)

    def refine(self, candidate: Candidate) -> None:
        """Refines the steps of a candidate as far as it helps."""
        tries, self.tried = first_tries(self.problem, candidate, self.rtol), None
        if not candidate.method.adaptive and candidate.first > OUT_OF_REACH * MOST_STEPS:
            raise ValueError(
                f"the tolerance {self.rtol:g} asks for some {candidate.first:.0e} steps of {candidate.method.name}, as "
                f"the body turns by {self.turn:.2g} rad, and no run makes more than {MOST_STEPS:.0e}: end the run "
                "sooner, or check the units of omega and time"
            )
        n = min(candidate.first, tries.most)
        while True:
            error, rounding = self._try(candidate, n, tries.residual)
            if error <= self.rtol:  # mostly: then nothing has to be searched for
                return
            tries = tries.adding(Try(n, error, self.turn <= candidate.longest_turn * n))
            floor = Floor(self.floor + rounding, self.floor, self.round_off)
            step = next_try(POLICY, tries, candidate.order, floor)
            if not isinstance(step, Refine):
                self.ended = step if isinstance(step, GiveUp) else None
                return
            n = candidate.whole(min(n * step.factor, tries.most))
            tries = tries._replace(residual=step.residual)

    def _try(self, candidate: Candidate, n: float, residual: float) -> tuple[float, float]:
        """The error of a run with n steps, infinite where it fails, and the rounding in it."""
        self.made.append(n)
        try:
            return self._pair(candidate, n, residual)
        except Endless as failure:
            self.endless, self.ended = failure, STALLED
            raise Stalled from None
        except StepFailed as failure:
            self.failed = failure
            if self.may_be_stiff and (failure.status == Status.STIFF or failure.stopped.is_stiff_here()):
                raise Stiff from None
            if failure.status == Status.STALLED:
                self.ended = STALLED
                raise Stalled from None
            return math.inf, 0.0

    def _pair(self, candidate: Candidate, n: float, residual: float) -> tuple[float, float]:
        """Makes a run and its companions, and keeps the best run; returns its error and the rounding in it."""
        solved, asked = residual * self.rtol, self.problem
        count = companions(asked, candidate.method)
        plan, *coarser = (candidate.plan(asked, n, solved, coarser=k) for k in range(1 + count))
        shown, rows = asked, None
        if asked.times is not None:
            steps = STEPS_WITH_ROWS if candidate.method.adaptive else n
            rows = compared_rows(asked.times, asked.t_start, steps)
            compared = asked.times[rows]
            if asked.times.size > MANY_MORE * compared.size:  # what is tried need not be shown as a whole
                shown, rows = asked.replace(times=compared), slice(None)
        if self.best is None and self.progress is None:
            announce(n * candidate.effort, hint="choose a wider tolerance or a shorter span")
        main = self._begin(shown, plan)
        worth = rows is not None and n * candidate.effort >= WORTH_A_THREAD_FLOWS
        worth = worth and not locates_bends(asked, candidate.method)  # then the companion's steps depend on the run's
        others = list[Solution]()
        if worth and compiles() and available_cores() > 1:
            assert rows is not None
            assert shown.times is not None
            run, other = self._both(main, self._companion(candidate, coarser.pop(0), shown.times[rows]))
            others.append(other)
        else:
            run = self.unjudged = self._made(main)
            if rows is None:
                rows = self._rows_at_steps(candidate, run)
        for coarse in coarser:
            other_plan = apart_between_bends(coarse, asked, run.stats.steps)
            others.append(self._made(self._companion(candidate, other_plan, run.t[rows], second=bool(others))))
        rounding, left = candidate.unseen(run.plan.method, n)
        left += unlocated(asked, run.plan.method, run.stats.steps)
        before, fastest = self.inherited.rate, largest_rate(run.omega, run.problem.omega_start)
        if run.body.has_rotor:
            left += float(rate_rounding(run.body.rotor, run.body.moments, np.float64(fastest)))
        apart = max([distance(run, rows, other, before, fastest) for other in others])
        self._lower_bounds(max(self.free_rate, fastest))
        near = candidate.order > 0.0 and self._may_grow(run, rows, apart)
        factors = where_errors_grow(candidate.factors) if near else candidate.factors
        error = max(estimate(factors, apart, self.floor, rounding, left), self.inherited.error)
        if len(others) == 1 and (near or (candidate.grows and CLOSE * self.rtol < error <= self.rtol)):
            again = candidate.plan(asked, n, solved, coarser=CHECKING)
            again = apart_between_bends(again, asked, run.stats.steps)
            second = self._made(self._companion(candidate, again, run.t[rows], second=True))
            apart = max(apart, distance(run, rows, second, before, fastest))
            error = max(error, estimate(factors, apart, self.floor, rounding, left))
        if self.best is None or error < self.best[1]:
            self.best, self.best_steps = (run, error), n
        if error > self.rtol and (self.inherited.error > 0.0 or self._is_suspect(candidate, n, error)):
            alike = self._made(self._companion(candidate, plan, run.t[rows]))  # it differs in its start alone
            grown = candidate.factors.truncation * distance(run, rows, alike, before, fastest)
            if self.inherited.error > 0.0 and max(grown, self.inherited.error) > max(self.rtol, MOSTLY * error):
                self.ended = GiveUp(
                    f"the error of {self.inherited.error:.1e} that the start has from the motion before it grows: "
                    "begin again with a smaller rtol there"
                )
                raise InheritedTooMuch
            if self.inherited.error == 0.0 and grown > max(self.rtol, GROWN * error):
                self.ended = GiveUp(
                    f"this motion makes a change of the last digit at the start grow to {grown:.1e}: ask for a larger "
                    "rtol, or for a shorter span"
                )
                raise RoundOffGrows
        self.tried = (n, error)
        return error, rounding

    def _is_suspect(self, candidate: Candidate, n: float, error: float) -> bool:
        """Whether an error may be grown round-off: more steps have hardly lowered it, or have left it huge."""
        if self.tried is None or self.tried[0] >= n:
            return False
        fewer, before = self.tried
        return error > HOPELESS or error > before * math.pow(
            fewer / n, POLICY.least_share_of_order * max(candidate.order, 1.0)
        )

    def _may_grow(self, run: Solution, rows: Any, apart: float) -> bool:
        """Whether errors may grow on the way: near the middle axis, or in a gyrostat as far as that is round-off."""
        if run.body.has_rotor or run.body.changes:
            return apart < ROUND_OFF_OF_GYROSTATS
        momenta = np.vstack([run.problem.momentum_start, run.momentum[rows]])
        return bool(comes_near_separatrix(run.body.moments, momenta, run.body.axes))

    def _lower_bounds(self, rate: float) -> None:
        """Finds the least error that is believed at such a rate, and what round-off leaves if the axes are known."""
        self.floor = float(least_error(self.problem, rate, self.unequal))
        self.round_off = float(least_error(self.problem, rate))

    def _begin(self, problem: Problem, plan: Plan, nudged: PerturbedStart | None = None) -> Integration:
        """A run that can begin, or the companion of one."""
        if self.may_be_short and not plan.method.variable_steps:
            plan = plan.replace(torque_size=self.trial.size)
            if self.binding is None or not self.binding.serves(problem, plan):
                self.binding = Binding(problem, plan, NO_OTHERS, driver_of)
            values = self.trial.values
            if (ready := ready_loop(problem, plan, self.binding, values.size, nudged, self.on_compile)) is not None:
                return Integration.at_once(
                    ready, problem, plan, values, nudged, lambda: self._whole(problem, plan, nudged)
                )
        return self._whole(problem, plan, nudged)

    def _whole(self, problem: Problem, plan: Plan, nudged: PerturbedStart | None) -> Integration:
        """A run that may take long, can be stopped on the way, and says why it fails."""
        first = self.first
        if first is None:  # a run and its companion may come here at the same time: each returns its own
            progress = self.progress
            if plan.method.variable_steps:
                progress = Pace(progress, MOST_DRY_STEPS if self.is_dry else MOST_ADAPTIVE_STEPS)
            first = self.first = Integration(problem, plan, None, progress, self.on_compile)
            first.stops_if_stiff = self.may_be_stiff
            if nudged is None:
                return first
        other = first.beside(problem, plan, nudged)
        other.warns_of_short_steps = nudged is None and not self.warned_of_short_steps
        return other

    def _companion(self, candidate: Candidate, plan: Plan, times: Floats, *, second: bool = False) -> Integration:
        body, inherited = self.problem.body, self.inherited.error / candidate.factors.truncation
        others = nudged(
            self.problem.quaternion_start, self.problem.momentum_start, body.moments, body.axes, inherited,
            self.inherited.rate, second=second,
        )  # fmt: skip
        plan = apart_from_start(plan, self.problem.t_start, times)
        return self._begin(self.problem.replace(times=times, every=None), plan, others)

    def _rows_at_steps(self, candidate: Candidate, run: Solution) -> NDArray[np.int64] | slice:
        """The rows in which a run with output at steps is compared."""
        if candidate.method.adaptive:
            return compared_rows(run.t, self.problem.t_start, run.t.size / 3)
        if run.stats.steps <= MANY_ROWS or run.problem.breakpoints:
            return compared_rows(run.t, self.problem.t_start, run.t.size / ALIKE)
        stride = ALIKE // math.gcd(ALIKE, self.problem.every or 1)
        rows = np.arange(stride, run.t.size, stride)
        return rows if rows.size and rows[-1] == run.t.size - 1 else np.append(rows, run.t.size - 1)

    def _both(self, main: Integration, companion: Integration) -> tuple[Solution, Solution]:
        try:
            run, other = both(main, companion)
        finally:
            self._count(main)
        self._count(companion)  # not if it was stopped somewhere because the first run has failed
        if isinstance(other, BaseException):
            self.unjudged = run
            raise other
        return run, other

    def _made(self, run: Integration) -> Solution:
        try:
            return run.attempt()
        finally:
            self._count(run)

    def _count(self, run: Integration) -> None:
        self.warned_of_short_steps |= run.short > 0.0
        self.spent += Stats(0, run.nfev, run.seconds)

    # --- the answer

    def answer(self, candidate: Candidate) -> Solution:
        """The best solution; where the user does not wait for it, raises with the best so far."""
        with keeping(SimulationInterrupted, self._best_so_far):
            with suppress(InheritedTooMuch):  # then there is a best solution
                self._refine(candidate)
                if self.best is None:
                    self._raise_if_endless()
                    assert self.failed is not None
                    reads_rate = bool(self.problem.torque.depends & Depends.RATE)
                    if self.may_be_stiff and reads_rate and self.failed.status == Status.NO_CONVERGENCE:
                        raise Stiff  # within the step that cannot be solved, if not at its start
                    self.failed.stopped.steps_are_chosen = True
                    raise self._none_came_to_the_end(self.failed.failure()) from None
                spare = candidate.compensated(self.best_steps)
                if self.rtol < self.best[1] < HOPELESS and spare is not None:
                    self._refine(spare)
            assert self.best is not None
            return self._finished(*self.best)

    def _none_came_to_the_end(self, last: SimulationFailed[Solution]) -> SimulationFailed[Solution]:
        """The failure of the last run, which says of several that all have failed."""
        solution, made, by = last.solution, self.made, last.solution.plan.method
        if len(made) == 1:
            return last
        steps = "" if by.adaptive else f", with {min(made):.0f} to {max(made):.0f} steps of {by.bare_name}"
        ended = f"no run came to the end on the way to rtol={self.rtol:g}: {len(made)} were tried{steps}; the last: "
        return SimulationFailed(replace(solution, message=f"{ended}{solution.message}"))

    def _best_so_far(self, raised: BaseException) -> Solution | None:
        """The best of the whole runs before a user, a handler or a torque has ended the search."""
        stopped = isinstance(raised, KeyboardInterrupt)
        if not (stopped or is_from_handler(raised) or is_from_callback(raised)):
            return None
        if self.best is not None:
            return self._unfinished(*self.best)
        whole = self.unjudged if stopped or is_from_callback(raised) else None
        if whole is None and isinstance(raised, SimulationInterrupted) and raised.solution.status == Status.OK:
            whole = raised.solution
        return None if whole is None else self._unfinished(whole, None)

    def _raise_if_endless(self) -> None:
        """Raises with the reason, if it is one that shorter steps do not mend."""
        name, failed = self.problem.torque.name, self.failed
        if self.endless is None and not (self.is_dry and failed is not None and failed.status == Status.STALLED):
            return
        if self.endless is not None:
            far: Solution = self.endless.solution  # type: ignore[attr-defined]
            wanted = self.endless.steps
        else:
            assert failed is not None
            far, wanted = failed.stopped.assembled(Status.STALLED), 0.0
        at_end = far.body.rate(far.last_momentum, far.t_last)
        rate, begun = (math.hypot(*w.tolist()) for w in (at_end, self.problem.omega_start))
        made, method, rates = far.stats.steps, far.plan.method.name, (rate, begun)
        length = abs(far.t_last - self.problem.t_start)
        message = given_up(name, method, made, far.t_last, length, rates, wanted, dry=self.is_dry)
        raise SimulationFailed(replace(far, status=Status.STALLED, message=message))

    def _unfinished(self, solution: Solution, error: float | None) -> Solution:
        """A whole solution, but a coarse one, and maybe not at all of the listed times."""
        known = "not known" if error is None else f"estimated as {error:.1e}"
        return replace(
            solution,
            stats=self._stats(solution),
            status=Status.INTERRUPTED,
            error_estimate=error,
            message=f"interrupted on the way to the tolerance {self.rtol:g}; the solution is the best of those that "
            f"were finished, with {solution.t.size} rows, and its error is {known}",
        )

    def _stats(self, solution: Solution) -> Stats:
        return Stats(solution.stats.steps, self.spent.nfev, self.spent.seconds)

    def _finished(self, solution: Solution, error: float) -> Solution:
        if solution.problem.times is not self.problem.times:
            solution = self._made(self._begin(self.problem, solution.plan))
        solution = solution.having(
            stats=self._stats(solution),
            error_estimate=error,
            rtol=self.rtol,
            method_asked=self.method_asked,
            message=f"{solution.message}; the error is estimated as {error:.1e}",
        )
        if error > self.rtol:
            assert self.ended is not None
            about = f"; {DRY}" if self.is_dry and not isinstance(self.ended, AtRoundOff) else ""
            warn_not_reached(self.rtol, error, f"and {self.ended.reason}{about}")
        return solution


def searched(
    problem: Problem, goal: Goal, progress: Progress | None, on_compile: OnCompile,
    inherited: InheritedError = NOTHING_INHERITED,
) -> Solution:  # fmt: skip
    """The best of the runs that are made until the estimate of one is below the tolerance."""
    trial = TorqueTrial(problem)
    c, chosen = _begun(problem, goal, trial, on_compile)
    body = OneBody(problem, goal.rtol, c, trial, progress, on_compile, inherited)
    body.method_asked = goal.method
    body.may_be_stiff = goal.method is None and chosen.method.bare_name != STIFF and not c.dry
    try:
        return body.answer(chosen)
    except Stiff:
        body.may_be_stiff, body.first, body.binding, body.made = False, None, None, []
        return body.answer(candidate(find_method(STIFF), c, goal.rtol))


def first_plan(problem: Problem, goal: Goal, on_compile: OnCompile) -> Plan:
    """The plan with which `searched` would begin."""
    _, chosen = _begun(problem, goal, TorqueTrial(problem), on_compile)
    return chosen.plan(problem, chosen.first, goal.rtol)


def _begun(problem: Problem, goal: Goal, trial: TorqueTrial, on_compile: OnCompile) -> tuple[Character, Candidate]:
    """The character of a problem, and the candidate with which its search begins."""
    if trial.can_be_made:
        trial.make()
    c = character(problem, trial)
    if not math.isfinite(c.turn):
        raise ValueError(
            f"the body turns at {c.rate:g} rad/s for {c.span:g} s, which cannot be computed with: choose units in which"
            " moments and momentum are nearer to one"
        )
    if goal.method is not None:
        return c, candidate(goal.method, c, goal.rtol)
    chosen = choose(c, goal.rtol, None if problem.times is None else problem.times.size)
    # A settled choice does not depend on whether the nodes of a step are computed together.
    settled = c.changing or c.evaluation_cost > 0.0 or not chosen.method.collocation
    if not (settled or nodes_compile_together(problem, chosen.method, on_compile)):
        chosen = candidate(find_method(ANY_TORQUE), c, goal.rtol)
    return c, chosen


_together: dict[tuple[object, ...], bool] = {}
"""The answers for torques that were asked about before: short runs are not to wait for them again."""


def nodes_compile_together(problem: Problem, method: Method, on_compile: OnCompile) -> bool:
    """Whether the torque can be computed at all nodes of a step at once; else Runge-Kutta needs fewer evaluations."""
    torque, body = problem.torque, problem.body
    axis = body.symmetry_axis if method.comoves else 0
    kind = (ById(torque.torque_kernel), ById(method.scheme), torque.depends, len(problem.breakpoints) > 0)
    known = (*kind, name_now(torque.torque_kernel), body.aligned, body.has_rotor, axis, compiles())
    found = _together.get(known)
    if found is None:
        if len(_together) >= KEPT_ANSWERS:  # each keeps a function of the user's alive
            _together.clear()
        only_end = problem.replace(times=np.array([problem.t_end]), every=None)
        run = Integration(only_end, Plan(method, problem.span), None, None, on_compile)
        found = _together[known] = run.binding.compiles_in_lanes(on_compile)
    return found
