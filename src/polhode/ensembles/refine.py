"""A ladder of numbers of steps, on which bodies climb until their errors are below a tolerance.

As for one body (`search.py`) an error is estimated from the distance to a companion over the whole span. Every body
climbs by its own estimates alone: its result does not depend on the others, but for the ladder that all of them have.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from polhode._arrays import Floats, columns, dots, greatest, least, lengths
from polhode.core import status as codes
from polhode.core.variable import Adaptive
from polhode.ensembles.batch import MOST_MESSAGES, Fleet, Flight, Leaders, efforts, flown
from polhode.ensembles.initial import Start, Starts
from polhode.ensembles.result import Ensemble
from polhode.integration.fixed import Progress
from polhode.solution import Run
from polhode.tolerance import choice, search
from polhode.tolerance.estimate import COARSER, estimate, least_error, nudged, spread

FINER = math.sqrt(1.25)
"""From one level to the next there are so many more steps; a companion has those of two levels below."""
CLIMB = 2
"""Levels that a body climbs at least."""
LONGEST_CLIMB = 16
"""Levels at a time: a factor of 6."""
MOST_FAILURES = 8
"""Of the runs of a body, with steps that are ever shorter: in the end by five powers of ten."""
FAR = 30.0
"""Times the tolerance: from there on iterations are solved to round-off at the next try, because a motion that makes
the error grow so far does the same to what they leave."""
CLAIMED = 0.05
"""The part of the tolerance below which no error is said to be, of methods for weak torques: where terms of different
orders in the steps just cancel, a run and its companion agree by accident."""
SLOWEST = 1e-6
"""Bodies that are slower than this part of the fastest one count as no slower."""
FOLLOWED = 1.0
"""Radians in a step, if nothing else is known of a method, in which it can follow the motion."""

WANTED = 0.6
"""What estimates should be of the tolerance, so that bodies need not be quite like the pilots."""
ROUNDED = 30.0
"""Estimates below so many times what they could be at least may be made of round-off."""
LONGEST_DESCENT = 0.4
"""The part of the steps below which nothing is foreseen."""

# Truncation errors fall at least with the first power of the steps. When one that does not is taken for round-off:
TELLING_NEAR_ROUND_OFF = 1.3
"""Times as many steps, where it is as small as round-off may be: from 1.25, the least climb, chance would hide the
power; climbs there have 1.56 at least."""
TELLING = 4.0
"""Times as many steps, where the motion would have to make round-off grow: up to there the chances of a phase, and
terms that cancel, may do the same."""
FOLLOWS_ITS_ORDER = 1e-2
"""Radians; greater errors are as great by the phase of the motion, and may rise before they fall."""
FLAT, LONG_FLAT = 0.5, 3.0
"""Errors that are still above this part of what they were, four tries and so many times as many steps ago, whatever
they are made of: by the first power they would be a third."""


@dataclass(frozen=True)
class Task:
    """What is asked of all bodies."""

    run: Run
    times: Floats
    starts: Starts
    leaders: Leaders
    rtol: float
    threads: int
    announce: Callable[[], None] | None

    @property
    def span(self) -> float:
        """The length of time, in s."""
        return abs(self.run.t_end - self.run.t_start)

    @cached_property
    def checks(self) -> Floats:
        """Times at which a run and its companion are compared: the start is what it is."""
        times = self.times
        return spread(times[1:] if times.size > 1 and times[0] == self.run.t_start else times)

    @cached_property
    def check_rows(self) -> Any:
        """Where they are among all times."""
        sign = math.copysign(1.0, self.run.t_end - self.run.t_start)
        return (
            np.searchsorted(sign * self.times, sign * self.checks)
            if self.checks.size < self.times.size
            else slice(None)
        )


# --- the ladder ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Foresight:
    """What each body is likely to need, by its speed."""

    power: float
    """The steps that a body needs grow with this power of its speed."""
    slowest: float
    """The least speed that was seen."""
    gain: float
    """What the torque may add to the square of the rate."""
    fewest: float
    """Steps that any body gets."""
    longest: float | None
    """What exact flows are made ready for: the longest step of the fastest body. Slower ones may make longer ones."""

    def levels(self, part: Start, task: Task, first: float) -> Any:
        """At which bodies begin, on a ladder with so many steps at the level of the fastest."""
        speed = speeds(part, task.leaders, self.gain)
        level = np.round(self.power * np.log(np.maximum(speed, self.slowest)) / math.log(FINER))
        fewest: Any = self.fewest
        if self.longest is not None:
            fewest = np.maximum(fewest, speed * task.span / (COARSER * self.longest))
        return np.maximum(level, np.ceil(np.log(fewest / first) / math.log(FINER))).astype(np.int64)


def speeds(part: Start, leaders: Leaders, gain: float) -> Floats:
    """Of the turn or of the nutation, with what the torque may add, relative to the fastest body."""
    shares = []
    with np.errstate(all="ignore"):
        for x, most, more in zip(efforts(part), leaders.effort, (gain, 0.5 * gain), strict=True):
            if most > 0.0:
                shares.append((x + more) / (most + more))
        speed = np.sqrt(greatest(shares)) if shares else np.ones(part.count)
    return np.where(np.isfinite(speed), np.clip(speed, SLOWEST, 1.0), 1.0)


class Levels:
    """The ladder of a method for all bodies: the steps of each level, and the fleets that make them."""

    def __init__(
        self, task: Task, ladder: choice.Ladder, foresight: Foresight | None = None, *, own_program: bool = False
    ) -> None:
        """The first level may have a program of its own, if most of many bodies will make no other steps."""
        self.task, self.ladder, self.foresight, self.own_program = task, ladder, foresight, own_program
        self.most = ladder.most(task.run)
        self.like: Fleet | None = None
        self.last: tuple[tuple[int, bool], tuple[Fleet, Fleet]] | None = None

    def having(
        self, ladder: choice.Ladder, foresight: Foresight | None = None, *, own_program: bool = False
    ) -> Levels:  # fmt: skip
        """Others of the same method: what is known of its fleets holds for theirs."""
        other = Levels(self.task, ladder, foresight, own_program=own_program)
        other.like = self.like
        return other

    def first(self, part: Start) -> Any:
        """The levels at which bodies begin."""
        if self.foresight is None:
            return np.zeros(part.count, dtype=np.int64)
        return self.foresight.levels(part, self.task, self.ladder.first)

    def steps(self, level: int) -> float:
        """Or what takes their place."""
        return min(self.ladder.first * FINER**level, self.most)

    def is_last(self, level: int) -> bool:
        """Whether there is nothing above."""
        return self.ladder.order == 0.0 or self.steps(level) >= self.most

    @cached_property
    def iterates(self) -> bool:
        """Whether its equations are solved by iterations, which end where it suits the tolerance."""
        return any(option.name == "tolerance" for option in self.ladder.method.options)

    def follows(self, level: int, turn: Floats) -> Any:
        """Whether the steps are so short that a method can follow bodies that turn so far, in radians.

        Where they are not, errors are what the phases at the ends of steps happen to make them.
        """
        method = self.ladder.method
        if (method.comoves and not self.task.leaders.many) or isinstance(method.scheme, Adaptive):
            return np.ones(turn.size, dtype=bool)
        model = choice.model_of(method, symmetric=False)
        return turn <= (FOLLOWED if model is None else model.longest) * self.steps(level)

    def run(self, level: int, utmost: bool, *, coarser: bool = False) -> Run:
        """Of a level, or of its companions; iterations may go on to round-off, at the utmost."""
        n, task = self.steps(level), self.task
        run = replace(self.ladder.made(task.run, n, 0.0 if utmost else task.rtol, coarser=coarser), every=None)
        if self.foresight is not None and (longest := self.foresight.longest) is not None:
            # One program for nearly all; bodies that climb far have one for shorter steps.
            longest = min(abs(run.longest_step or longest), longest)
            return replace(run, longest_step=math.copysign(longest, run.step))
        if self.own_program and level == 0 and task.starts.count * n >= choice.LONG_RUN:
            return replace(run, longest_step=None)
        return run

    def run_of_one(self, level: int, utmost: bool) -> Run:
        """As it was begun. Alone, a body is not to be made ready for steps that only the fastest would make."""
        assert self.like is not None
        run = self.run(level, utmost)
        return self.like.lead.run.having(method=run.method, step=run.step, longest_step=None)

    def fleets(self, level: int, utmost: bool = False) -> tuple[Fleet, Fleet]:
        """For the runs and for their companions. Only the last ones are kept: others are soon made again."""
        if self.last is None or self.last[0] != (level, utmost):
            task, packed = self.task, self.ladder.order > 0.0
            given = (task.starts, task.leaders, task.threads, task.announce)
            fine = Fleet(self.run(level, utmost), task.times, *given, packed=packed, like=self.like)
            coarse = Fleet(self.run(level, utmost, coarser=True), task.checks, *given, packed=packed, like=fine)
            self.like, self.last = fine, ((level, utmost), (fine, coarse))
        return self.last[1]


# --- bodies on it --------------------------------------------------------------------------------------------------


class Climb:
    """Some bodies on the ladder, and what is known of each so far."""

    def __init__(self, levels: Levels, part: Start, progress: Progress | None, tries: Tries | None = None) -> None:
        """They may go on from what was learned of them before."""
        n = part.count
        self.levels, self.task, self.part, self.progress = levels, levels.task, part, progress
        self.tries = tries or Tries(n)
        self.rows: Ensemble | None = None
        """The best of each, of those that have begun."""
        self.begun = np.zeros(n, dtype=bool)
        self.climbing = np.ones(n, dtype=bool)
        self.level, self.utmost = levels.first(part), np.zeros(n, dtype=bool)
        """Those of the rows."""
        self.error: Floats = np.full(n, np.nan)
        """NaN: not known yet; infinite: the run or its companion failed."""
        self.spent = np.zeros(n, dtype=np.int64)
        """Evaluations of the torque, by all runs."""
        self.seconds = 0.0
        self.left: float | None = None
        """The part of the bodies that lanes could not carry on in the first runs, or in their companions."""

    def run(self, few: int = 0) -> None:
        """Refine the steps of every body until its estimate is below the tolerance, or does not fall any more.

        Where only most of them count, a few are left behind.
        """
        level, utmost = self.level.copy(), self.utmost.copy()
        while (active := np.flatnonzero(self.climbing)).size > few:
            j = int(level[active].min())  # the lowest first: whoever comes to a level is there with all others
            here = active[level[active] == j]
            best = bool(utmost[here].all())
            which = here[utmost[here] == best]
            error = self._tried(which, j, best)
            late = which[~(error <= self.task.rtol)]
            stuck = self.tries.hopeless(late)
            if self.levels.iterates and not best:  # it may be what the iterations have left
                utmost[late] = stuck | (self.tries.error[-1, late] > FAR * self.task.rtol)
                stuck[:] = False
            late = late[:0] if self.levels.is_last(j) else late[~stuck]
            level[late] = self._higher(j, late)
            self.climbing[which] = False
            self.climbing[late] = True

    def _tried(self, which: Any, j: int, utmost: bool) -> Floats:
        """The estimated errors of some bodies at a level. What is best of them is kept."""
        part = self.part if which.size == self.part.count else self.part.some(which)
        fine, coarse = self.levels.fleets(j, utmost)
        try:
            run = flown(fine, part, self._passed(fine, part), messages=0)
        except (KeyboardInterrupt, Exception) as problem:
            if hasattr(problem, "ensemble"):
                self._keep(problem.ensemble, which)
            raise
        self._keep(run, which)
        others = nudged(part.momentum, part.bodies.moments, part.bodies.frames)
        other = flown(coarse, part, self._passed(coarse, part), others, messages=0)
        self.left = max(fine.left, coarse.left) if self.left is None else self.left
        self.spent[which] += run.evaluations + other.evaluations
        self.seconds += run.run.seconds + other.run.seconds
        sound = run.success & other.success
        fastest = most_in_time(lengths(run.omega))
        rate = _rates(part, run, fastest)
        apart = np.where(sound, self._distance(run, other, fastest), 0.0)
        rounding, left = self.levels.ladder.unseen(fine.lead.run.method, self.levels.steps(j))
        floor = _floors(part, self.task, rate)
        error = np.where(sound, estimate(self.levels.ladder.factors, apart, floor, rounding, left), np.inf)
        better = self._keep_better(run, which, error)
        self.level[better], self.utmost[better] = j, utmost
        # No steps would do for bodies whose floor is above the tolerance: they need not be followed to the end.
        follows = self.levels.follows(j, self.task.span * rate) | (search.ATTAINED * floor > self.task.rtol)
        self.tries.add(which, self.levels.steps(j), error, floor + rounding, follows)
        return error

    def _passed(self, fleet: Fleet, part: Start) -> Callable[[int], None] | None:
        """Every pass reports by itself: how many there will be is not known."""
        progress, total = self.progress, part.count * fleet.steps
        return None if progress is None else lambda done: progress(done, total)

    def _keep(self, run: Ensemble, which: Any) -> None:
        """The rows of bodies of which nothing is known yet."""
        if self.rows is None:
            self.rows = run if which.size == self.part.count else _widened(run, self.part)
        if run is not self.rows:
            new = ~self.begun[which]
            _put(self.rows, which[new], run, np.flatnonzero(new))
        self.begun[which] = True

    def _keep_better(self, run: Ensemble, which: Any, error: Floats) -> Any:
        """The rows of bodies whose estimate is less than before, or the first. Which they are."""
        known = self.error[which]
        better = ~(error >= known)  # also where nothing is known yet
        if run is not self.rows:
            assert self.rows is not None
            instead = better & ~np.isnan(known)
            _put(self.rows, which[instead], run, np.flatnonzero(instead))
        self.error[which[better]] = error[better]
        return which[better]

    def _distance(self, run: Ensemble, other: Ensemble, fastest: Floats) -> Floats:
        """As `_estimate.distance`, for every body."""
        rows = self.task.check_rows
        q, p = run.quaternion[:, rows], other.quaternion
        apart = most_in_time(np.minimum(lengths(q - p), lengths(q + p)))
        angle = 4.0 * np.arcsin(np.minimum(1.0, 0.5 * apart))
        rates = most_in_time(lengths(run.omega[:, rows] - other.omega))
        relative = np.where(fastest > 0, rates / np.where(fastest > 0, fastest, 1.0), 0.0)
        return np.asarray(np.maximum(angle, relative))

    def _higher(self, level: int, which: Any) -> Any:
        """The next level of bodies, by the order of the method or by the one that was seen, if that is lower.

        Runs that failed tell nothing: twice as far each time. Few climb further than to the next group, and of the
        levels there they have every fourth.
        """
        error, failures = self.tries.error[-1, which], self.tries.failures[which]
        known = np.where(np.isfinite(error), error, 1.0)
        small, order = known < search.NEAR_ROUND_OFF, max(self.levels.ladder.order, 1.0)
        seen = np.where(small | (known > 0.1), order, np.clip(self.tries.order(which, order), 0.25 * order, order))
        factor = 1.1 * np.maximum(known / (0.5 * self.task.rtol), 1e-300) ** (1 / seen)
        climb = CLIMB * np.ceil(np.log(np.maximum(factor, 1.0)) / (CLIMB * math.log(FINER)))
        climb = np.clip(climb, np.where(small | (known > 0.1), 2, 1) * CLIMB, np.where(small, 3 * CLIMB, LONGEST_CLIMB))
        blindly = np.minimum(CLIMB * 2**failures, LONGEST_CLIMB)
        new = level + np.where(np.isfinite(error), climb, blindly).astype(np.int64)
        return np.where(new > level + CLIMB, new + -new % (2 * CLIMB), new)

    # --- what is left of it

    def say_why(self) -> None:
        """Messages for bodies that have failed for good: they take long, and most that fail do so on their way only."""
        assert self.rows is not None
        silent = [k for k in np.flatnonzero(~self.rows.success).tolist() if k not in self.rows.messages]
        for j, utmost in sorted({(int(self.level[k]), bool(self.utmost[k])) for k in silent}):
            which = [k for k in silent if (self.level[k], self.utmost[k]) == (j, utmost)]
            again = flown(self.levels.fleets(j, utmost)[0], self.part.some(which), None)
            self.rows.messages.update({which[k]: told for k, told in again.messages.items()})

    def ensemble(self) -> Ensemble:
        """Everything known so far."""
        waiting = np.flatnonzero(~self.begun)
        if waiting.size:
            fleet = self.levels.fleets(int(self.level[waiting].min()))[0]
            self._keep(Flight(fleet, self.part.some(waiting), None).ensemble(), waiting)
        assert self.rows is not None
        self._say_who_was_interrupted()
        rows, ladder = self.rows, self.levels.ladder
        kinds, place = np.unique(2 * self.level + self.utmost, return_inverse=True)
        runs = tuple(self.levels.run_of_one(kind // 2, kind % 2 == 1) for kind in kinds.tolist())
        longest = replace(runs[0], steps=int(rows.steps.sum()), nfev=int(self.spent.sum()), seconds=self.seconds)
        least = CLAIMED * self.task.rtol if ladder.method.generalised_order else 0.0
        error = np.where(np.isfinite(self.error), np.maximum(self.error, least), np.nan)
        return replace(
            rows, run=longest, evaluations=self.spent, error_estimate=error, runs=runs, level=place.reshape(-1)
        )

    def _say_who_was_interrupted(self) -> None:
        """Bodies may have come to the end, and yet not to the tolerance; and no failure was final."""
        assert self.rows is not None
        which = np.flatnonzero(self.climbing & (self.rows.status != codes.INTERRUPTED))
        self.rows.status[which] = codes.INTERRUPTED
        for k in which[:MOST_MESSAGES].tolist():
            error = f"is estimated as {self.error[k]:.1e}" if np.isfinite(self.error[k]) else "is not known"
            self.rows.messages[k] = (
                f"interrupted on the way to the tolerance {self.task.rtol:g}; the rows are the best so far, to "
                f"t = {self.rows.t_last[k]:.12g} in {self.rows.steps[k]} steps, and their error {error}"
            )


def _rates(part: Start, run: Ensemble, fastest: Floats) -> Floats:
    """The greatest rate of the free motion or of the rows."""
    m, moments = part.momentum, columns(part.bodies.moments)
    w = m / part.bodies.moments if part.bodies.axes is None else run._rates(m[:, None, :])[:, 0]
    high, low = 1.0 / least(moments), 1.0 / greatest(moments)
    free = (high + low) * dots(w, m) - high * low * dots(m, m)
    return np.asarray(np.fmax(np.sqrt(np.maximum(free, 0.0)), fastest))


def _floors(part: Start, task: Task, rate: Floats) -> Floats:
    """The least errors that can be believed."""
    moments = columns(part.bodies.moments)
    tilted = np.array([not b.aligned for b in part.bodies.listed] or [False])
    return np.asarray(least_error(task.run, rate, np.where(tilted, greatest(moments) / least(moments), 0.0)))


def most_in_time(x: Floats) -> Floats:
    """The largest of every body, (bodies, times); of those that failed, up to there."""
    return x[:, 0] if x.shape[1] == 1 else np.asarray(np.fmax.reduce(x, axis=1))


PER_BODY = (
    "quaternion", "momentum", "status", "t_last", "steps", "evaluations", "last_quaternion", "last_momentum", "memory",
    "rows",
)  # fmt: skip


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


# --- what was learned ----------------------------------------------------------------------------------------------


class Tries:
    """The last four tries of every body: numbers of steps and estimates."""

    def __init__(self, n: int) -> None:
        self.steps, self.error = np.full((4, n), np.nan), np.full((4, n), np.nan)
        self.follows = np.zeros((4, n), dtype=bool)  # whether the steps are short enough for errors to tell something
        self.failures = np.zeros(n, dtype=np.int64)
        self.rounded = np.zeros(n, dtype=bool)  # whether the last estimate may be made of round-off

    def add(self, which: Any, steps: float, error: Floats, least: Floats, follows: Any = True) -> None:
        """One more, with the least that the estimate could have been."""
        self.rounded[which] = error < ROUNDED * least
        for kept, new in ((self.steps, steps), (self.error, error), (self.follows, follows)):
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
        """Whether the last refinements, which should have told, have not: round-off is reached, or nothing helps.

        Errors of steps that do not follow the motion tell nothing, unless they are as small as they can be.
        """
        telling = self.follows[:, which] | self.rounded[which]
        n, e = self.steps[:, which], np.where(telling, self.error[:, which], np.nan)
        with np.errstate(invalid="ignore"):
            slow = e[3] * n[3] > e[2] * n[2]
            round_off = slow & (n[3] > TELLING_NEAR_ROUND_OFF * n[2]) & (e[3] < search.NEAR_ROUND_OFF)
            grown = slow & (n[3] > TELLING * n[2]) & (e[2] < FOLLOWS_ITS_ORDER)
            flat = (n[3] > LONG_FLAT * n[0]) & (e[3] > FLAT * e[0]) & np.isfinite(e[3])
        return round_off | grown | flat | (self.failures[which] > MOST_FAILURES)
