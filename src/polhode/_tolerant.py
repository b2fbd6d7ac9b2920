"""A tolerance for many bodies: one method for all, and steps by the need of each, from a pilot on a few.

As for one body (`_auto.py`) the error of each is estimated from the distance to a companion over the whole span. The
pilots set up a ladder of numbers of steps, on which every body climbs by its own estimates alone: its result does not
depend on the others, but for the method, for where the ladder begins, and for how the error is expected to fall on it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from polhode import _auto
from polhode._check import Floats
from polhode._columns import columns, dots, greatest, least, lengths
from polhode._fleet import LANES, Fleet, Flight, Leaders, efforts, flown
from polhode._integration import Itself, Progress, SimulationFailed, SimulationInterrupted, of_any_size
from polhode._many import Ensemble, EnsembleInterrupted, of_one
from polhode._own_clock import levels_of_polhode
from polhode._starts import Start, Starts
from polhode.core.types import Depends
from polhode.core.variable import Adaptive
from polhode.methods import Method
from polhode.methods import find as find_method
from polhode.solution import Run

FINER = math.sqrt(1.25)
"""From one level to the next there are so many more steps; a companion has those of two levels below."""
CLIMB = 2
"""Levels that a body climbs at least."""
PILOTS = 16
"""Bodies that decide on the steps with which all begin; every other one of them, on the method."""
ENOUGH = 0.75
"""The part of them that should need no more than the first guess."""
WANTED = 0.6
"""What estimates should be of the tolerance, so that bodies need not be quite like the pilots."""
FEW_MESSAGES = 10
"""Of bodies that failed: most will be tried again."""
MOST_FAILURES = 8
LONGEST_CLIMB = 16
"""Levels at a time: a factor of 6."""
MOST_DESCENTS = 4
WORTH_A_LOOK = 0.8
"""Where fewer steps than this part of the first guess seem to do, the pilots show whether they do."""
CLIMBING = 2.0
"""What a body costs that has to climb, in as many steps as it needs: it is tried with too few and with too many."""
ROUNDED = 10.0
"""Estimates below so many times what they could be at least may be made of round-off."""
LONGEST_DESCENT = 0.4
"""The part of the steps below which nothing is foreseen."""
CROWDED = 0.05
"""The part of bodies that lanes cannot carry on, at five times the price, from which more steps are cheaper."""
SPLITTING = "ABA1064"
"""What is tried beside collocation."""
IN_POINTS = 1.4
"""The price of an evaluation in collocation, where one of a splitting, with its flow of a symmetric body, has 1."""
FACTORS = {"SABA8": 5.0, "ABA1064": 2.5, "TakahashiImada": 1.5}
"""Where another than that of one body was measured, on random ensembles (docs/ensemble.md)."""
CLAIMED = 0.05
"""The part of the tolerance below which no error is said to be, of methods for weak torques: where terms of different
orders in the steps just cancel, a run and its companion agree by accident."""
POWERS = (0.0, 0.5, 1.0)
"""Of its speed, with which the steps that a body needs may grow."""
MANY_FLOWS = 1e6
"""Of all bodies, from which on it pays to run them in groups, a millisecond for each."""
GROUPS = 1.02
"""What it costs to run bodies in groups of different steps, where all could have the same."""
SLOWEST = 1e-6
"""Bodies that are slower than this part of the fastest one count as no slower."""


class Foresight(NamedTuple):
    """What the pilots say of all bodies."""

    power: float
    """The steps that a body needs grow with this power of its speed."""
    slowest: float
    """The least speed that was seen."""
    longest: float | None
    """What exact flows are made ready for: the longest step of the fastest body. Slower ones may make longer ones."""


@dataclass
class Best:
    """What is known of some bodies so far."""

    part: Start
    begun: Any
    rows: Ensemble | None
    """Of those that have begun."""
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
        self.span = abs(run.t_end - run.t_start)
        self.missed, self.worst, self.unknown = 0, 0.0, 0
        self.like: Fleet | None = None
        spread = np.linspace(0, starts.count - 1, min(PILOTS, starts.count)).round().astype(int)
        self.pilots: Start | None = starts.some(spread)
        self.ladders = [
            replace(ladder, factor=FACTORS.get(ladder.method.name, ladder.factor))
            for ladder in self._ladders(self.pilots, method)
        ]
        self.ladder = self.ladders[0]
        self._take(self.ladder)

    def _take(self, ladder: _auto.Ladder) -> None:
        if ladder.method is not self.ladder.method:
            self.like = None
        self.ladder, self.most = ladder, ladder.most(self.run)
        self.fleets: dict[int, tuple[Fleet, Fleet]] = {}
        self.foresight: Foresight | None = None

    def _ladders(self, pilots: Start, method: Method | None) -> list[_auto.Ladder]:
        """For what most of the pilots need at most: those that need more will get it. If there are two, they decide.

        What the spin of a symmetric body about its axis means to a torque, maybe nothing, their sizes do not tell.
        """
        each = [_auto.character(pilots.run(k, self.run)) for k in range(0, pilots.count, 2)]

        def most_of(sizes: list[float]) -> float:
            return sorted(sizes)[math.ceil(ENOUGH * len(sizes)) - 1]

        c = each[0]._replace(
            rate=most_of([c.rate for c in each]),
            weakness=most_of([c.weakness for c in each]),
            symmetric=all(c.symmetric for c in each),
            harmony=most_of([c.harmony for c in each]),
            parts=_auto.equal_parts(self.run, self.times),
        )
        self.least = max(2.0, 2.0 * c.pieces)
        rates2 = efforts(pilots)[0][::2]
        # As in `exact.needed`, of the square of the rate, if the torque works over two radians.
        self.gain = max([4.0 * max(c.rate**2 - free, 0.0) for c, free in zip(each, rates2.tolist(), strict=True)])
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
        """Find the steps that suit the pilots; if these are all, there is nothing to be spared."""
        if self.pilots is not None and self.pilots.count < self.starts.count:
            tried = [self._settled(ladder, self.pilots) for ladder in self.ladders]
            _, ladder, tries = min(tried, key=lambda one: one[0])
            self._take(ladder)
            if self.starts.count * ladder.first * ladder.effort >= MANY_FLOWS:
                self._foresee(tries, self.pilots)
        self.pilots = None

    def _settled(self, ladder: _auto.Ladder, pilots: Start) -> tuple[float, _auto.Ladder, Tries]:
        """A ladder as the pilots have found it, beginning where it is best for them, and what that costs.

        The first guess may have been too careful: then they go down, and show whether it was.
        """
        self._take(ladder)
        tries, too_few = Tries(pilots.count), self.least
        for _ in range(MOST_DESCENTS):
            best = self._new(pilots)
            self._climb(pilots, best, tries, None, pilots.count // 8)
            before = self.ladder.first
            if max(fleet.left for fleet in self._fleet(0)) > CROWDED:
                too_few = max(too_few, FINER * before)
            self._take(self._suited(tries, too_few))
            if self.ladder.first > WORTH_A_LOOK * before:
                break
        crossed = (tries.error[-2] > self.rtol) & (tries.error[-1] <= self.rtol)
        if crossed.any():
            order = float(np.median(tries.order(crossed, ladder.order)))
            self._take(replace(self.ladder, order=order))
        assert best.rows is not None
        each = float(np.median(best.rows.evaluations / np.maximum(best.rows.steps, 1)))
        price = IN_POINTS if ladder.method.name.startswith(_auto.COLLOCATION.partition("(")[0]) else 1.0
        return price * each * self.ladder.first, self.ladder, tries

    def _foresee(self, tries: Tries, pilots: Start) -> None:
        """Let each body begin with as many steps as it is likely to need, by its speed, as far as the pilots' tells.

        Exact flows are made ready for what most of the pilots ask: one program, whatever the steps. Bodies that are too
        fast for it get more of them.
        """
        needed, speed = tries.needed(self.rtol, self.ladder.order), self._speed(pilots)
        known = np.isfinite(needed)
        scheme = self.ladder.method.scheme
        if self.ladder.order == 0.0 or isinstance(scheme, Adaptive) or not known.any():
            return
        needed, speed = np.clip(needed[known], self.least, self.most), speed[known]
        tried = []
        for power in POWERS:
            rungs = FINER ** np.round(power * np.log(speed) / math.log(FINER))
            for first in (needed / rungs).tolist():
                steps = first * rungs
                tried.append((_cost(steps, needed) * (1.0 if power == 0.0 else GROUPS), power, first, steps))
        _, power, first, steps = min(tried, key=lambda one: one[0])
        self._take(replace(self.ladder, first=first))
        longest = None
        a, b, c = pilots.bodies.moments[0].tolist()
        if not of_any_size(Itself(scheme)) and (self.leaders.many or a != b != c != a):
            longest = float(np.quantile(speed * self.span / (_auto.COARSER * steps), ENOUGH))
        self.foresight = Foresight(power, float(speed.min()), longest)

    def _speed(self, part: Start) -> Floats:
        """Of the turn or of the nutation, with what the torque may add, relative to the fastest body."""
        shares = []
        with np.errstate(all="ignore"):
            for x, most, gain in zip(efforts(part), self.leaders.effort, (self.gain, 0.5 * self.gain), strict=True):
                if most > 0.0:
                    shares.append((x + gain) / (most + gain))
            speed = np.sqrt(greatest(shares)) if shares else np.ones(part.count)
        return np.where(np.isfinite(speed), np.clip(speed, SLOWEST, 1.0), 1.0)

    def _foreseen(self, part: Start) -> Any:
        """The levels at which bodies begin."""
        if self.foresight is None:
            return np.zeros(part.count, dtype=np.int64)
        power, slowest, longest = self.foresight
        speed = self._speed(part)
        level = np.round(power * np.log(np.maximum(speed, slowest)) / math.log(FINER))
        fewest: Any = self.least
        if longest is not None:
            fewest = np.maximum(fewest, speed * self.span / (_auto.COARSER * longest))
        return np.maximum(level, np.ceil(np.log(fewest / self.ladder.first) / math.log(FINER))).astype(np.int64)

    def _suited(self, tries: Tries, too_few: float) -> _auto.Ladder:
        """The ladder, to begin with as many steps as cost least if bodies that need more have to climb."""
        ladder = self.ladder
        needed = tries.needed(self.rtol, ladder.order)
        needed = np.clip(needed[np.isfinite(needed)], too_few, self.most)
        if ladder.order == 0.0 or needed.size == 0:
            return ladder
        return replace(ladder, first=min(needed.tolist(), key=lambda n: _cost(n, needed)))

    def __call__(self, part: Start) -> Ensemble:
        """Some bodies to the end; what stops them has what was computed as its `ensemble`."""
        if self.starts.count == 1:
            return self._one(part)
        best: Best | None = None
        try:
            self._begin()
            best = self._new(part)
            self._climb(part, best, Tries(part.count), self.progress)
            self._say_why(part, best)
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
            warnings.warn(message, _auto.ToleranceNotReached, stacklevel=levels_of_polhode())

    # --- the ladder

    def _new(self, part: Start) -> Best:
        n = part.count
        return Best(
            part, np.zeros(n, dtype=bool), None, np.full(n, np.nan), self._foreseen(part), np.zeros(n, dtype=np.int64)
        )

    def _steps(self, level: Any) -> Any:
        return np.minimum(self.ladder.first * FINER ** np.asarray(level, dtype=np.float64), self.most)

    def _climb(self, part: Start, best: Best, tries: Tries, progress: Progress | None, few: int = 0) -> None:
        """Refine the steps of every body until its estimate is below the tolerance, or does not fall any more.

        Where only most of them count, a few are left behind.
        """
        level, active = best.level.copy(), np.arange(part.count)
        while active.size > few:
            j = int(level[active].min())  # the lowest first: whoever comes to a level is there with all others
            here = level[active] == j
            which = active[here]
            some = part if which.size == part.count else part.some(which)
            error, least = self._pair(some, j, which, best, progress)
            tries.add(which, float(self._steps(j)), error, least)
            late = which[~(error <= self.rtol)]
            if self.ladder.order == 0.0 or self._steps(j) >= self.most:
                late = late[:0]
            late = late[~tries.hopeless(late)]
            level[late] = self._higher(j, tries, late)
            active = np.concatenate([active[~here], late])
            active.sort()

    def _higher(self, level: int, tries: Tries, which: Any) -> Any:
        """The next level of bodies, by the order of the method or by the one that was seen, if that is lower.

        Runs that failed tell nothing: twice as far each time. Few climb further than to the next group, and of the
        levels there they have every fourth.
        """
        error, failures = tries.error[-1, which], tries.failures[which]
        known = np.where(np.isfinite(error), error, 1.0)
        small, order = known < _auto.NEAR_ROUND_OFF, max(self.ladder.order, 1.0)
        seen = np.where(small | (known > 0.1), order, np.clip(tries.order(which, order), 0.25 * order, order))
        factor = 1.1 * np.maximum(known / (0.5 * self.rtol), 1e-300) ** (1 / seen)
        climb = CLIMB * np.ceil(np.log(np.maximum(factor, 1.0)) / (CLIMB * math.log(FINER)))
        climb = np.clip(climb, np.where(small | (known > 0.1), 2, 1) * CLIMB, np.where(small, 3 * CLIMB, LONGEST_CLIMB))
        blindly = np.minimum(CLIMB * 2**failures, LONGEST_CLIMB)
        new = level + np.where(np.isfinite(error), climb, blindly).astype(np.int64)
        return np.where(new > level + CLIMB, new + -new % (2 * CLIMB), new)

    def _say_why(self, part: Start, best: Best) -> None:
        """Messages for bodies that have failed for good: while they climbed there was no time for all of them."""
        assert best.rows is not None
        silent = [k for k in np.flatnonzero(~best.rows.success).tolist() if k not in best.rows.messages]
        for j in np.unique(best.level[silent]).tolist() if silent else []:
            which = [k for k in silent if best.level[k] == j]
            again = flown(self._fleet(j)[0], part.some(which), None)
            best.rows.messages.update({which[k]: told for k, told in again.messages.items()})

    def _pair(self, part: Start, j: int, which: Any, best: Best, progress: Progress | None) -> tuple[Floats, Floats]:
        """Estimated errors of runs of some bodies, and the least that they could be. What is best of them is kept."""
        fine, coarse = self._fleet(j)
        try:
            run = flown(fine, part, _passed(fine, part, progress), messages=FEW_MESSAGES)
        except (KeyboardInterrupt, Exception) as problem:
            if hasattr(problem, "ensemble"):
                self._keep(problem.ensemble, which, best)
            raise
        self._keep(run, which, best)
        nudged = _auto.nudge(part.momentum, part.bodies.moments, part.bodies.frames)
        other = flown(coarse, part, _passed(coarse, part, progress), nudged, messages=0)
        best.spent[which] += run.evaluations + other.evaluations
        best.seconds += run.run.seconds + other.run.seconds
        sound = run.success & other.success
        fastest = most_in_time(lengths(run.omega))
        apart = np.where(sound, self._distance(run, other, fastest), 0.0)
        unseen = self.ladder.unseen(fine.lead.run.method, float(self._steps(j)))
        floor = self._floor(part, run, fastest)
        error = np.where(sound, _auto.estimate(self.ladder.factor, apart, floor, *unseen), np.inf)
        known = best.error[which]
        better = ~(error >= known)  # also where nothing is known yet
        if best.rows is not None and run is not best.rows:
            kept = better & ~np.isnan(known)
            _put(best.rows, which[kept], run, np.flatnonzero(kept))
        best.error[which[better]], best.level[which[better]] = error[better], j
        return error, floor + unseen[0]

    def _keep(self, run: Ensemble, which: Any, best: Best) -> None:
        """The rows of bodies of which nothing is known yet."""
        if best.rows is None:
            best.rows = run if which.size == best.part.count else _widened(run, best.part)
        if run is not best.rows:
            new = ~best.begun[which]
            _put(best.rows, which[new], run, np.flatnonzero(new))
        best.begun[which] = True

    def _fleet(self, j: int) -> tuple[Fleet, Fleet]:
        """Of a level: for the runs, and for their companions."""
        if j not in self.fleets:
            n = float(self._steps(j))
            made = [replace(self.ladder.made(self.run, n, self.rtol, coarser=c), every=None) for c in (False, True)]
            if self.foresight is not None and (longest := self.foresight.longest) is not None:
                # One program for nearly all; bodies that climb far have one for shorter steps.
                made = [
                    replace(run, longest_step=math.copysign(min(abs(run.longest_step or longest), longest), run.step))
                    for run in made
                ]
            elif j == 0 and self.pilots is None and self.starts.count * n >= _auto.LONG_RUN:
                # Most bodies make no other steps: they are worth programs of their own.
                made = [replace(run, longest_step=None) for run in made]
            packed = self.ladder.order > 0.0
            given = (self.starts, self.leaders, self.threads, self.announce)
            fine = Fleet(made[0], self.times, *given, packed=packed, like=self.like)
            coarse = Fleet(made[1], self.checks, *given, packed=packed, like=fine)
            self.like, self.fleets[j] = fine, (fine, coarse)
        return self.fleets[j]

    def _distance(self, run: Ensemble, other: Ensemble, fastest: Floats) -> Floats:
        """As in `_auto.distance`, for every body."""
        rows = self.check_rows if self.check_rows.size < self.times.size else slice(None)
        q, p = run.quaternion[:, rows], other.quaternion
        apart = most_in_time(np.minimum(lengths(q - p), lengths(q + p)))
        angle = 4.0 * np.arcsin(np.minimum(1.0, 0.5 * apart))
        rates = most_in_time(lengths(run.omega[:, rows] - other.omega))
        relative = np.where(fastest > 0, rates / np.where(fastest > 0, fastest, 1.0), 0.0)
        return np.asarray(np.maximum(angle, relative))

    def _floor(self, part: Start, run: Ensemble, fastest: Floats) -> Floats:
        """As in `_auto.least_error`, for every body, with the greatest rate of the free motion or of the rows."""
        m, moments = part.momentum, columns(part.bodies.moments)
        w = m / part.bodies.moments if part.bodies.axes is None else run._rates(m[:, None, :])[:, 0]
        high, low = 1.0 / least(moments), 1.0 / greatest(moments)
        free = (high + low) * dots(w, m) - high * low * dots(m, m)
        rate = np.fmax(np.sqrt(np.maximum(free, 0.0)), fastest)
        turn = self.span * rate
        tilted = np.array([not b.aligned for b in part.bodies.listed] or [False])
        each = 3.0 + np.where(tilted, 2.0 * greatest(moments) / least(moments), 0.0)
        floor: Floats = 2.0**-52 * (8.0 + each * turn + rate * _auto.far_from_zero(self.run))
        return floor

    def _assembled(self, part: Start, best: Best | None) -> Ensemble:
        """Everything known so far."""
        best = best or self._new(part)
        waiting = np.flatnonzero(~best.begun)
        if waiting.size:
            self._keep(Flight(self._fleet(0)[0], part.some(waiting), None).ensemble(), waiting, best)
        rows = best.rows
        assert rows is not None
        levels, place = np.unique(best.level, return_inverse=True)
        # Alone, a body is not to be made ready for steps that only the fastest would make.
        runs = tuple(replace(self._fleet(int(j))[0].lead.run, longest_step=None) for j in levels)
        longest = replace(runs[0], steps=int(rows.steps.sum()), nfev=int(best.spent.sum()), seconds=best.seconds)
        least = CLAIMED * self.rtol if self.ladder.method.generalised_order else 0.0
        error = np.where(np.isfinite(best.error), np.maximum(best.error, least), np.nan)
        return replace(
            rows, run=longest, evaluations=best.spent, error_estimate=error, runs=runs, level=place.reshape(-1)
        )


class Tries:
    """The last four tries of every body: numbers of steps and estimates."""

    def __init__(self, n: int) -> None:
        self.steps, self.error = np.full((4, n), np.nan), np.full((4, n), np.nan)
        self.failures = np.zeros(n, dtype=np.int64)
        self.rounded = np.zeros(n, dtype=bool)  # whether the last estimate may be made of round-off

    def add(self, which: Any, steps: float, error: Floats, least: Floats) -> None:
        """One more, with the least that the estimate could have been."""
        self.rounded[which] = error < ROUNDED * least
        for kept, new in ((self.steps, np.full(which.size, steps)), (self.error, error)):
            kept[:-1, which] = kept[1:, which]
            kept[-1, which] = new
        self.failures[which] += ~np.isfinite(error)

    def order(self, which: Any, otherwise: float) -> Floats:
        """By which power of the steps the error fell from the last but one to the last; `otherwise` if not known."""
        (n, more), (error, less) = self.steps[-2:, which], self.error[-2:, which]
        with np.errstate(divide="ignore", invalid="ignore"):
            seen = np.log(error / less) / np.log(more / n)
        return np.maximum(np.where(np.isfinite(seen), seen, otherwise), 1.0)

    def needed(self, rtol: float, order: float) -> Floats:
        """Steps that would do, as far as the tries tell; NaN where nothing is known.

        Where the tolerance lies between the last two, they do. Else both errors may have been round-off, and nothing is
        foreseen but what the order of the method allows; from round-off itself nothing at all.
        """
        last = np.where(np.isfinite(self.error[-1]), self.error[-1], np.nan)
        seen = self.order(slice(None), order)
        seen = np.where(self.error[-2] > rtol, seen, np.maximum(seen, 0.5 * order))
        needed = self.steps[-1] * (last / (WANTED * rtol)) ** (1 / seen)
        failed = np.where(self.error > rtol, self.steps, 0.0)
        most = failed.max(axis=0)
        above = np.take_along_axis(self.error, failed.argmax(axis=0)[None], axis=0)[0]
        with np.errstate(invalid="ignore"):
            from_below = np.where(above < 0.1, most * (above / (WANTED * rtol)) ** (1 / max(order, 1.0)), np.inf)
        needed = np.where(self.rounded, np.minimum(needed, np.where(most > 0.0, from_below, 0.0)), needed)
        return np.asarray(np.maximum(needed, np.maximum(LONGEST_DESCENT * self.steps[-1], 1.05 * most)))

    def hopeless(self, which: Any) -> Any:
        """Whether the last refinements, which should have told, have not: round-off is reached, or nothing helps."""
        n, e = self.steps[:, which], self.error[:, which]
        with np.errstate(invalid="ignore"):
            round_off = (e[3] < _auto.NEAR_ROUND_OFF) & (n[3] > 1.3 * n[2]) & (e[3] * n[3] > e[2] * n[2])
            grown = (e[2] < 1e-2) & (n[3] > 4.0 * n[2]) & (e[3] * n[3] > e[2] * n[2])  # round-off, by the motion
            flat = (n[3] > 3.0 * n[0]) & (e[3] > 0.5 * e[0]) & np.isfinite(e[3])
        return round_off | grown | flat | (self.failures[which] > MOST_FAILURES)


def _passed(fleet: Fleet, part: Start, progress: Progress | None) -> Callable[[int], None] | None:
    """Every pass reports by itself: how many there will be is not known."""
    total = part.count * fleet.steps
    return None if progress is None else lambda done: progress(done, total)


PER_BODY = (
    "quaternion", "momentum", "status", "t_last", "steps", "evaluations", "last_quaternion", "last_momentum", "memory",
    "rows",
)  # fmt: skip


def _cost(steps: Any, needed: Floats) -> float:
    """Of bodies that begin with these steps, in the mean: those that need more of them have to climb."""
    return float(np.mean(steps + CLIMBING * np.where(needed > 1.001 * steps, needed, 0.0)))


def _widened(some: Ensemble, part: Start) -> Ensemble:
    """Like this, with room for all bodies."""
    given = {name: getattr(some, name) for name in PER_BODY}
    room: dict[str, Any] = {name: np.empty((part.count, *a.shape[1:]), a.dtype) for name, a in given.items()}
    return replace(some, **room, start=part, messages={})


def _put(into: Ensemble, which: Any, new: Ensemble, places: Any) -> None:
    """Rows of some bodies in the place of others."""
    for name in PER_BODY:
        getattr(into, name)[which] = getattr(new, name)[places]
    if into.messages or new.messages:
        for k, place in zip(which.tolist(), places.tolist(), strict=True):
            into.messages.pop(k, None)
            if place in new.messages:
                into.messages[k] = new.messages[place]


def most_in_time(x: Floats) -> Floats:
    """The largest of every body, (bodies, times); of those that failed, up to there."""
    return x[:, 0] if x.shape[1] == 1 else np.asarray(np.fmax.reduce(x, axis=1))
