"""A tolerance for many bodies: one method and one step for all, from a pilot on a few; shorter steps where needed.

As for one body (`_auto.py`) the error of each is estimated from the distance to a companion over the whole span. The
pilots set up a ladder of numbers of steps, on which every body climbs by its own estimates alone: its result does not
depend on the others, but for the method and for where the ladder begins.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polhode import _auto
from polhode._check import Floats
from polhode._fleet import LANES, Fleet, Flight, Leaders, flown
from polhode._integration import Progress, SimulationFailed, SimulationInterrupted
from polhode._many import Ensemble, EnsembleInterrupted, of_one
from polhode._starts import Start, Starts
from polhode.core.types import Depends
from polhode.methods import Method
from polhode.methods import find as find_method
from polhode.solution import Run

FINER = 1.25
"""From one level to the next there are so many more steps."""
PILOTS = 8
"""Bodies that decide on the method and on the level at which all begin."""
ENOUGH = 0.75
"""The part of them that should need no more."""
MOST_FAILURES = 8
LONGEST_CLIMB = 12
"""Levels at a time: a factor of 15."""
MOST_DESCENTS = 4
SPLITTING = "ABA1064"
"""What is tried beside collocation."""
IN_POINTS = 0.5
"""The price of an evaluation in collocation, where one of a splitting, with its flow of a symmetric body, has 1."""


@dataclass
class Best:
    """What is known of some bodies so far."""

    rows: Ensemble | None
    error: Floats
    """NaN: not known yet; infinite: the run or its companion failed."""
    level: Any
    spent: Any
    """Evaluations of the torque, by all runs."""
    seconds: float = 0.0


class Tolerant:
    """Bodies turned with an error of at most rtol."""

    def __init__(
        self, run: Run, times: Floats, starts: Starts, leaders: Leaders, rtol: float, method: Method | None,
        threads: int, progress: Progress | None, announce: Callable[[], None] | None,
    ) -> None:  # fmt: skip
        self.run, self.times, self.starts, self.leaders, self.rtol = run, times, starts, leaders, rtol
        self.method, self.threads, self.progress, self.announce = method, threads, progress, announce
        self.t, self.rows, self.steps = times, times.size, 1000  # a guess: they are not known yet
        after = times[1:] if times.size > 1 and times[0] == run.t_start else times
        self.checks = _auto.spread(after)
        sign = math.copysign(1.0, run.t_end - run.t_start)
        self.check_rows = np.searchsorted(sign * times, sign * self.checks)
        self.missed, self.worst, self.unknown = 0, 0.0, 0
        spread = np.linspace(0, starts.count - 1, min(PILOTS - 1, starts.count)).round().astype(int)
        self.pilots: Start | None = starts.some(np.unique([leaders.numbers[0], *spread]))
        self.ladders = self._ladders(self.pilots, method)
        self._take(self.ladders[0])

    def _take(self, ladder: _auto.Ladder) -> None:
        self.ladder, self.most, self.first = ladder, ladder.most(self.run), 0
        self.fleets: dict[int, tuple[Fleet, Fleet]] = {}

    def _ladders(self, pilots: Start, method: Method | None) -> list[_auto.Ladder]:
        """For what most of the pilots need at most: those that need more will get it. If there are two, they decide.

        What the spin of a symmetric body about its axis means to a torque, maybe nothing, their sizes do not tell.
        """
        each = [_auto.character(pilots.run(k, self.run)) for k in range(pilots.count)]

        def most_of(sizes: list[float]) -> float:
            return sorted(sizes)[math.ceil(ENOUGH * len(sizes)) - 1]

        c = each[0]._replace(
            rate=most_of([c.rate for c in each]),
            weakness=most_of([c.weakness for c in each]),
            symmetric=all(c.symmetric for c in each),
        )
        self.least = max(2.0, 2.0 * c.pieces)
        if method is not None:
            return [_auto.ladder(method, c, self.rtol)]
        rungs = _auto.chosen(c, self.rtol, self.times.size, many=self.starts.count >= LANES)
        if rungs.method.name == _auto.COLLOCATION:
            run = rungs.made(pilots.run(0, self.run), self.least, self.rtol)
            if not _auto.computed_together(run, self.announce):
                rungs = _auto.ladder(find_method(_auto.ANY), c, self.rtol)
            elif c.symmetric and not c.depends & Depends.RATE and self.starts.count >= LANES:
                return [rungs, _auto.ladder(find_method(SPLITTING), c, self.rtol)]
        return [rungs]

    def _begin(self) -> None:
        """Find the level that is enough for most of the pilots; if these are all, there is nothing to be spared."""
        if self.pilots is not None and self.pilots.count < self.starts.count:
            tried = []
            for ladder in self.ladders:
                self._take(ladder)
                tried.append((self._settle(self.pilots), self.first, self.fleets))
            costs = [cost for cost, _, _ in tried]
            best = costs.index(min(costs))
            self._take(self.ladders[best])
            _, self.first, self.fleets = tried[best]
        self.pilots = None

    def _settle(self, pilots: Start) -> float:
        """Begin at the level that is enough for most of the pilots. Returns what that costs, in evaluations.

        The first guess may have been too careful: then they go down, and show whether it was.
        """
        for _ in range(MOST_DESCENTS):
            best = self._new(pilots)
            self._climb(pilots, best, None)
            enough = self._enough(best)
            if enough >= self.first:
                break
            self.first = enough
        self.first = max(enough, self.first)
        assert best.rows is not None
        price = IN_POINTS if self.ladder.method.name.startswith(_auto.COLLOCATION.partition("(")[0]) else 1.0
        return price * float(np.median(best.rows.evaluations))

    def _enough(self, best: Best) -> int:
        """The level at which most of the pilots could have ended."""
        known = np.isfinite(best.error)
        levels, order = best.level[known], self.ladder.order
        if levels.size == 0:
            return self.first
        if order > 0.0:
            spared = (0.5 * self.rtol / best.error[known]) ** (1 / order) / 1.1
            down = np.floor(np.log(np.maximum(spared, 1.0)) / math.log(FINER)).astype(int)
            room = math.floor(math.log(max(self.ladder.first / self.least, 1.0)) / math.log(FINER))
            levels = np.maximum(levels - np.minimum(down, LONGEST_CLIMB), min(-room, 0))
        return int(np.quantile(levels, ENOUGH, method="higher"))

    def __call__(self, part: Start) -> Ensemble:
        """Some bodies to the end; what stops them has what was computed as its `ensemble`."""
        if self.starts.count == 1:
            return self._one(part)
        best: Best | None = None
        try:
            self._begin()
            best = self._new(part)
            self._climb(part, best, self.progress)
        except EnsembleInterrupted as stopped:
            stopped.ensemble = self._assembled(part, best)
            raise
        except Exception as problem:  # of the user's `progress`
            if hasattr(problem, "ensemble"):
                problem.ensemble = self._assembled(part, best)
            raise
        late = np.isfinite(best.error) & (best.error > self.rtol)
        if late.any():
            self.missed, self.worst = self.missed + int(late.sum()), max(self.worst, float(best.error[late].max()))
        made = self._assembled(part, best)
        self.unknown += int((made.success & np.isinf(best.error)).sum())
        return made

    def _one(self, part: Start) -> Ensemble:
        """One body is what `simulate` makes of it."""
        run = part.run(0, self.run)
        try:
            found = _auto.answer(run, self.times, self.rtol, self.method, self.progress, self.announce)
        except SimulationFailed as failure:
            return of_one(failure.solution, part, self.times)
        except SimulationInterrupted as stopped:
            raise EnsembleInterrupted(of_one(stopped.solution, part, self.times)) from None
        except Exception as problem:  # of the user's `progress`
            if hasattr(problem, "solution"):
                problem.ensemble = of_one(problem.solution, part, self.times)  # type: ignore[attr-defined]
            raise
        return of_one(found, part, self.times)

    def tell(self) -> None:
        """Warn if the tolerance was out of reach for some, or if nothing is known of it."""
        count, told = f"{self.starts.count:,}", []
        if self.missed:
            told.append(
                f"the tolerance {self.rtol:g} was not reached for {self.missed:,} of {count} bodies: the errors are "
                f"estimated as up to {self.worst:.1e}, and shorter steps do not lower them"
            )
        if self.unknown:
            told.append(
                f"the errors of {self.unknown:,} of {count} bodies are not known, because runs from almost the same "
                "start fail: see where error_estimate is NaN"
            )
        for message in told:
            warnings.warn(message, _auto.ToleranceNotReached, stacklevel=3)

    # --- the ladder

    def _new(self, part: Start) -> Best:
        n = part.count
        return Best(None, np.full(n, np.nan), np.full(n, self.first), np.zeros(n, dtype=np.int64))

    def _steps(self, level: Any) -> Any:
        return np.minimum(self.ladder.first * FINER ** np.asarray(level, dtype=np.float64), self.most)

    def _climb(self, part: Start, best: Best, progress: Progress | None) -> None:
        """Refine the steps of every body until its estimate is below the tolerance, or does not fall any more."""
        level, active, going = best.level.copy(), np.arange(part.count), np.ones(part.count, dtype=bool)
        tries = Tries(part.count)
        while active.size:
            for j in np.unique(level[active]).tolist():
                which = active[level[active] == j]
                error = self._pair(part if which.size == part.count else part.some(which), j, which, best, progress)
                tries.add(which, float(self._steps(j)), error)
                ended = (error <= self.rtol) | (self._steps(j) >= self.most) | tries.hopeless(which)
                if self.ladder.order == 0.0:
                    ended[:] = True
                level[which[~ended]] += self._higher(error[~ended], tries.failures[which[~ended]])
                going[which[ended]] = False
            active = active[going[active]]

    def _higher(self, error: Floats, failures: Any) -> Any:
        """By how many levels, from the order of the method. Runs that failed tell nothing: twice as many each time."""
        order = max(self.ladder.order, 1.0)
        known = np.where(np.isfinite(error), error, 1.0)
        small = known < _auto.NEAR_ROUND_OFF
        factor = 1.1 * np.maximum(known / (0.5 * self.rtol), 1e-300) ** (1 / order)
        climb = np.ceil(np.log(np.maximum(factor, 1.0)) / math.log(FINER))
        climb = np.clip(climb, np.where(small | (known > 0.1), 2, 1), np.where(small, 3, LONGEST_CLIMB))
        return np.where(np.isfinite(error), climb, np.minimum(2**failures, LONGEST_CLIMB)).astype(np.int64)

    def _pair(self, part: Start, j: int, which: Any, best: Best, progress: Progress | None) -> Floats:
        """Runs of some bodies, their estimated errors, and what is best kept of it."""
        fine, coarse = self._fleet(j)
        try:
            run = flown(fine, part, _passed(fine, part, progress))
        except (KeyboardInterrupt, Exception) as problem:
            if best.rows is None:
                best.rows = getattr(problem, "ensemble", None)
            raise
        if best.rows is None:
            best.rows = run
        nudged = part.momentum * (1.0 + _auto.NUDGE * np.array([1.0, -1.0, 1.0]))
        other = flown(coarse, part, _passed(coarse, part, progress), nudged)
        best.spent[which] += run.evaluations + other.evaluations
        best.seconds += run.run.seconds + other.run.seconds
        sound = run.success & other.success
        apart = np.where(sound, self._distance(run, other), 0.0)
        error = np.where(sound, _auto.estimate(self.ladder.factor, apart, self._floor(part, run)), np.inf)
        known = best.error[which]
        better = ~(error >= known)  # also where nothing is known yet
        if run is not best.rows:
            _put(best.rows, which[better], run, np.flatnonzero(better))
        best.error[which[better]], best.level[which[better]] = error[better], j
        return error

    def _fleet(self, j: int) -> tuple[Fleet, Fleet]:
        """Of a level: for the runs, and for their companions."""
        if j not in self.fleets:
            n = float(self._steps(j))
            made = [
                Fleet(
                    replace(self.ladder.made(self.run, n, self.rtol, coarser=coarser), every=None), times,
                    self.starts, self.leaders, self.threads, self.announce, packed=self.ladder.order > 0.0,
                )
                for coarser, times in ((False, self.times), (True, self.checks))
            ]  # fmt: skip
            self.fleets[j] = (made[0], made[1])
        return self.fleets[j]

    def _distance(self, run: Ensemble, other: Ensemble) -> Floats:
        """As in `_auto.distance`, for every body."""
        q, p = run.quaternion[:, self.check_rows], other.quaternion
        apart = np.minimum(lengths(q - p), lengths(q + p))
        angle = 4.0 * np.arcsin(np.minimum(1.0, 0.5 * apart))
        largest = lengths(run.omega).max(axis=1)
        rates = lengths(run.omega[:, self.check_rows] - other.omega).max(axis=1)
        relative = np.where(largest > 0, rates / np.where(largest > 0, largest, 1.0), 0.0)
        return np.asarray(np.maximum(angle.max(axis=1), relative))

    def _floor(self, part: Start, run: Ensemble) -> Floats:
        """As in `_auto.least_error`, for every body, with the greatest rate of the free motion or of the rows."""
        m, w = part.momentum, part.momentum / part.moments
        if part.bodies.axes is not None:
            w = run._rates(m[:, None, :])[:, 0]
        j = 1.0 / part.moments
        high, low = j.max(axis=1), j.min(axis=1)
        free = (high + low) * (w * m).sum(axis=1) - high * low * (m * m).sum(axis=1)
        rate = np.fmax(np.sqrt(np.maximum(free, 0.0)), np.fmax.reduce(lengths(run.omega), axis=1))
        turn = abs(self.run.t_end - self.run.t_start) * rate
        tilted = np.array([not b.aligned for b in part.bodies.listed] or [False])
        each = 3.0 + np.where(tilted, 2.0 * part.moments.max(axis=1) / part.moments.min(axis=1), 0.0)
        floor: Floats = 2.0**-52 * (4.0 + each * turn + rate * _auto.far_from_zero(self.run))
        return floor

    def _assembled(self, part: Start, best: Best | None) -> Ensemble:
        """Everything known so far."""
        if best is None or best.rows is None:  # they have not even begun
            best = self._new(part)
            best.rows = Flight(self._fleet(self.first)[0], part, None).ensemble()
        rows = best.rows
        levels, place = np.unique(best.level, return_inverse=True)
        runs = tuple(self._fleet(int(j))[0].lead.run for j in levels)
        longest = replace(runs[0], steps=int(rows.steps.sum()), nfev=int(best.spent.sum()), seconds=best.seconds)
        error = np.where(np.isfinite(best.error), best.error, np.nan)
        return replace(
            rows, run=longest, evaluations=best.spent, error_estimate=error, runs=runs, level=place.reshape(-1)
        )


class Tries:
    """The last four tries of every body: numbers of steps and estimates."""

    def __init__(self, n: int) -> None:
        self.steps, self.error = np.full((4, n), np.nan), np.full((4, n), np.nan)
        self.failures = np.zeros(n, dtype=np.int64)

    def add(self, which: Any, steps: float, error: Floats) -> None:
        """One more."""
        for kept, new in ((self.steps, np.full(which.size, steps)), (self.error, error)):
            kept[:-1, which] = kept[1:, which]
            kept[-1, which] = new
        self.failures[which] += ~np.isfinite(error)

    def hopeless(self, which: Any) -> Any:
        """Whether the last refinements, which should have told, have not: round-off is reached, or nothing helps."""
        n, e = self.steps[:, which], self.error[:, which]
        with np.errstate(invalid="ignore"):
            round_off = (e[3] < _auto.NEAR_ROUND_OFF) & (n[3] > 1.3 * n[2]) & (e[3] * n[3] > e[2] * n[2])
            flat = (n[3] > 3.0 * n[0]) & (e[3] > 0.5 * e[0]) & np.isfinite(e[3])
        return round_off | flat | (self.failures[which] > MOST_FAILURES)


def _passed(fleet: Fleet, part: Start, progress: Progress | None) -> Callable[[int], None] | None:
    """Every pass reports by itself: how many there will be is not known."""
    total = part.count * fleet.steps
    return None if progress is None else lambda done: progress(done, total)


PER_BODY = (
    "quaternion", "momentum", "status", "t_last", "steps", "evaluations", "last_quaternion", "last_momentum", "memory",
    "rows",
)  # fmt: skip


def _put(into: Ensemble, which: Any, new: Ensemble, places: Any) -> None:
    """Rows of some bodies in the place of others."""
    for name in PER_BODY:
        getattr(into, name)[which] = getattr(new, name)[places]
    for k, place in zip(which.tolist(), places.tolist(), strict=True):
        into.messages.pop(k, None)
        if place in new.messages:
            into.messages[k] = new.messages[place]


def lengths(x: Floats) -> Floats:
    """Along the last axis, component by component: to the same bits wherever a row stands."""
    total = x[..., 0] * x[..., 0]
    for k in range(1, x.shape[-1]):
        total = total + x[..., k] * x[..., k]
    return np.asarray(np.sqrt(total))
