"""A tolerance in, an answer out: the choice of a method and of its step, with an estimate of the error.

The error of a run is the largest, over its output times, of the error of the attitude in radians and of the error of
the rate relative to the largest rate. It is estimated from the distance to a second run over the whole span
(`_estimate.py`). docs/auto.md has the measurements behind the numbers in this file.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from polhode._arrays import Floats
from polhode.compiled import compiles
from polhode.core import status as codes
from polhode.core.types import Depends
from polhode.integration.fixed import CannotGoOn, Integration, Itself, Progress, SimulationInterrupted
from polhode.integration.variable import integration, levels_of_polhode
from polhode.methods import Method
from polhode.methods import find as find_method
from polhode.solution import Run, Solution
from polhode.tolerance.character import Character, character, equal_parts
from polhode.tolerance.choice import ANY, Ladder, _factors, chosen, is_collocation, ladder
from polhode.tolerance.estimate import CHECKS, MAYBE_ROUND_OFF, distance, estimate, least_error, nudged, spread
from polhode.tolerance.pair import both, cores

MOST_LEVELS = 24
AFTER_FAILURE = 2.5
"""So many times more steps. Before a soft wall, where first guesses fail, 1.6 takes 17 % longer in the mean."""
MOST_FAILURES = 6
"""Nearly 250 times as many steps as at first: the torque itself may be at fault."""
LONG_ENOUGH = 6000
"""Flows, half a millisecond to one, from which on a thread for the companion pays."""
HOPELESS = 0.1
"""Errors that are left where motions part: less rounding would not help."""
NEAR_ROUND_OFF = 1e-9
"""Errors that may be round-off, over many turns."""


class ToleranceNotReached(UserWarning):
    """The estimate of the error is above the tolerance, and shorter steps would not help."""


ATTAINABLE = 24.0
"""Estimates of so many times the least error are round-off: shorter steps would not lower them."""
ATTAINED = 3.0
"""Estimates of so many times the least error are as good as they get."""


# --- the runs --------------------------------------------------------------------------------------------------------


@dataclass
class Search:
    """All runs of one question, and what they cost."""

    run: Run
    times: Floats | None
    rtol: float
    floor: float
    """The least error that is believed."""
    round_off: float
    """What is to be expected of it, if the axes of the body are known."""
    progress: Progress | None
    announce: Callable[[], None] | None
    nfev: int = 0
    seconds: float = 0.0
    solved: float = math.inf
    """The tolerance to which iterations are solved, if it is less than that of the answer."""
    tried: list[tuple[float, float]] = field(default_factory=list)
    """Numbers of steps and estimates."""
    begun: Integration | None = None
    """The first run of all."""
    best: tuple[Solution, float] | None = None
    """Of the solutions so far, with its estimate."""
    unjudged: Solution | None = None
    """The last run that came to the end, whose companion may not have."""

    def _begin(self, run: Run, times: Floats | None) -> Integration:
        if times is not None and run.every is not None:
            run = run.having(every=None)
        if self.begun is not None:
            return self.begun.beside(run, times)
        start = (run.quaternion_start, run.momentum_start)
        self.begun = integration(run)(run, *start, times, self.progress, self.announce)
        return self.begun

    def _companion(self, run: Run, times: Floats) -> Integration:
        assert self.begun is not None
        others = nudged(run.momentum_start, run.body.moments, run.body.axes)
        return self.begun.beside(run.having(every=None), times, others)

    def _made(self, begun: Integration) -> Solution:
        try:
            return begun.attempt()
        finally:
            self._count(begun)

    def _count(self, begun: Integration) -> None:
        self.nfev += begun.nfev
        self.seconds += begun.seconds

    def pair(self, ladder: Ladder, n: float) -> tuple[Solution, float]:
        """A run and its estimated error."""
        few = self.times if self.times is None else spread(self.times)
        solved = min(self.rtol, self.solved)
        main = self._begin(ladder.made(self.run, n, solved), few)
        coarser = ladder.made(self.run, n, solved, coarser=True)
        if few is not None and n * ladder.effort >= LONG_ENOUGH and compiles() and cores() > 1:
            rows = self._checks(few)
            run, other = self._both(main, self._companion(coarser, few[rows]))
        else:
            run = self.unjudged = self._made(main)
            rows = self._checks(run.t)
            other = self._made(self._companion(coarser, run.t[rows]))
        unseen = ladder.unseen(run.run.method, n)
        return run, estimate(ladder.factors, distance(run, rows, other), self.floor, *unseen)

    def _checks(self, t: Floats) -> NDArray[np.int64] | slice:
        """Rows in which the two are compared, of those of the run: the start is what it is."""
        first = 1 if t.size > 1 and t[0] == self.run.t_start else 0
        return slice(first, None) if t.size - first <= CHECKS else spread(np.arange(first, t.size))

    def _both(self, main: Integration, companion: Integration) -> tuple[Solution, Solution]:
        try:
            run, other = both(main, companion)
        finally:
            self._count(main)
        self._count(companion)  # not if it was stopped somewhere because the first run has failed
        if isinstance(other, BaseException):
            raise other
        return run, other

    def answer(self, ladder: Ladder) -> Solution:
        """The best solution; also where the user does not wait for a better one."""
        try:
            self._refine(ladder)
            assert self.best is not None
            if self.rtol < self.best[1] < HOPELESS and ladder.spare is not None:
                most = max(n for n, _ in self.tried)
                self.tried.clear()
                self._refine(
                    replace(ladder, method=ladder.spare, factors=_factors(ladder.spare), first=most, rounding=0.0)
                )
            return self._finished(*self.best)
        except CannotGoOn as problem:
            raise problem.failure() from None
        except SimulationInterrupted as stopped:
            if self.best is not None:
                raise SimulationInterrupted(self._unfinished(*self.best)) from None
            whole = self.unjudged or stopped.solution
            if whole.status != codes.OK:
                raise
            raise SimulationInterrupted(self._unfinished(whole, None)) from None

    def _refine(self, ladder: Ladder) -> None:
        """Until the estimate is below the tolerance, or does not fall any more."""
        n, failures = ladder.first, 0
        most = ladder.most(self.run)
        for _ in range(MOST_LEVELS):
            n = min(n, most)
            try:
                solution, error = self.pair(ladder, n)
            except CannotGoOn:
                failures += 1
                if n >= most or failures > MOST_FAILURES:
                    if self.best is None:
                        raise
                    return
                n *= AFTER_FAILURE
                continue
            self.tried.append((n, error))
            if self.best is None or error < self.best[1]:
                self.best = (solution, error)
            if self._enough(error) or n >= most or self._stuck() or ladder.order == 0.0:
                return
            self.solved = min(self.solved, self.rtol * self.rtol / error)
            n = self._next(ladder, n, error)

    def _enough(self, error: float) -> bool:
        """Whether an estimate is below the tolerance, or made of round-off: then shorter steps would not lower it."""
        if error <= self.rtol:
            return True
        if self.rtol <= ATTAINED * max(self.floor, 2.0 * self.round_off):
            return error <= ATTAINABLE * self.floor
        return len(self.tried) > 1 and error <= ATTAINABLE * self.round_off

    def _next(self, ladder: Ladder, n: float, error: float) -> float:
        """By the order of the method, or by the one that was seen, if that is lower."""
        order = ladder.order
        if len(self.tried) > 1:
            (a, x), (b, y) = self.tried[-2:]
            seen = math.log(x / y) / math.log(b / a)
            order = max(seen, 1.0) if x < 0.1 and seen < order else order
        factor = 1.1 * math.pow(error / (0.5 * self.rtol), 1 / order)
        rounding, _ = ladder.unseen(ladder.method, n)
        maybe_rounding = error < max(NEAR_ROUND_OFF, MAYBE_ROUND_OFF * (self.floor + rounding))
        least = 1.5 if error > 0.1 or maybe_rounding else 1.15  # there a small change says little
        return n * min(max(factor, least), 2.0 if maybe_rounding else 6.0)

    def _stuck(self) -> bool:
        """Whether the last refinements, which should have told, have not: round-off is reached."""
        if len(self.tried) > 1:
            (a, x), (b, y) = self.tried[-2:]
            if y < NEAR_ROUND_OFF and b > 1.3 * a and y * b > x * a:
                return True
        # Round-off that the motion makes grow; or steps that are still longer than a torque takes to change in time.
        patience = 2 if self.run.torque.depends & Depends.TIME else 1
        last = list(pairwise(self.tried[-1 - patience :]))
        if len(last) == patience and all(x < 1e-2 and b > 4.0 * a and y * b > x * a for (a, x), (b, y) in last):
            return True
        if len(self.tried) < 4 * patience:
            return False
        (a, x), *_, (c, z) = self.tried[-4 * patience :]
        return c > 3.0 * a and z > 0.5 * x

    def _unfinished(self, solution: Solution, error: float | None) -> Solution:
        """A whole solution, but a coarse one, and maybe not at all of the listed times."""
        known = "not known" if error is None else f"estimated as {error:.1e}"
        return replace(
            solution,
            run=solution.run.having(nfev=self.nfev, seconds=self.seconds),
            status=codes.INTERRUPTED,
            error_estimate=error,
            message=f"interrupted on the way to the tolerance {self.rtol:g}; the solution is the best of those that "
            f"were finished, with {solution.t.size} rows, and its error is {known}",
        )

    def _finished(self, solution: Solution, error: float) -> Solution:
        if self.times is not None and solution.t.size < self.times.size:
            solution = self._made(self._begin(solution.run, self.times))
        solution = replace(
            solution,
            run=solution.run.having(nfev=self.nfev, seconds=self.seconds),
            error_estimate=error,
            message=f"{solution.message}; the error is estimated as {error:.1e}",
        )
        if error > self.rtol:
            warnings.warn(
                f"the tolerance {self.rtol:g} was not reached: the error is estimated as {error:.1e}, and shorter steps"
                " do not lower it; the solution is the best of those that were tried",
                ToleranceNotReached,
                stacklevel=levels_of_polhode(),
            )
        return solution


def answer(
    run: Run, times: Floats | None, rtol: float, method: Method | None,
    progress: Progress | None, announce: Callable[[], None] | None,
) -> Solution:  # fmt: skip
    """The motion with an error below rtol, by this method or by the one that suits best."""
    c, rungs = _begun(run, times, rtol, method, announce)
    least, *_, most = sorted(run.body.moments.tolist())
    floors = (least_error(run, c.rate, 0.0 if run.body.aligned else most / least), least_error(run, c.rate))
    return Search(run, times, rtol, *floors, progress, announce).answer(rungs)


def first_run(
    run: Run, times: Floats | None, rtol: float, method: Method | None, announce: Callable[[], None] | None
) -> Run:
    """The one with which `answer` would begin."""
    _, rungs = _begun(run, times, rtol, method, announce)
    return rungs.made(run, rungs.first, rtol)


def _begun(
    run: Run, times: Floats | None, rtol: float, method: Method | None, announce: Callable[[], None] | None
) -> tuple[Character, Ladder]:
    """What kind of problem it is, and what to begin with."""
    c = character(run)._replace(parts=equal_parts(run, times))
    if not math.isfinite(c.turn):
        raise ValueError(
            f"the body turns at {c.rate:g} rad/s for {c.span:g} s, which cannot be computed with: choose units in which"
            " moments and momentum are nearer to one"
        )
    rungs = ladder(method, c, rtol) if method else chosen(c, rtol, None if times is None else times.size)
    if (
        method is None
        and is_collocation(rungs.method)
        and not computed_together(run.having(method=rungs.method), announce)
    ):
        rungs = ladder(find_method(ANY), c, rtol)
    return c, rungs


_together: dict[tuple[object, ...], bool] = {}
"""Of torques that were asked about before: short runs are not to wait for the answer again."""


def computed_together(run: Run, announce: Callable[[], None] | None) -> bool:
    """Whether the torque can be had at all nodes of a step at once. If not, Runge-Kutta needs fewer evaluations."""
    kernel, scheme = Itself(run.torque.torque_kernel), Itself(run.method.scheme)
    axis = run.body.symmetry_axis if run.method.comoves else 0
    known = (kernel, scheme, run.torque.depends, len(run.torque.breakpoints) > 0, run.body.aligned, axis, compiles())
    found = _together.get(known)
    if found is None:
        if len(_together) >= 1000:  # each keeps a function of the user's alive
            _together.clear()
        start = (run.quaternion_start, run.momentum_start, np.array([run.t_end]))
        found = _together[known] = Integration(run, *start, None, announce).in_lanes()
    return found
