"""A tolerance for many bodies: one method for all, and steps by the need of each, from a pilot on a few.

The pilots find a ladder of numbers of steps, on which every body then climbs by itself (`_climb.py`): where the ladder
begins, and how the error is expected to fall on it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from polhode._arrays import Floats
from polhode.core.types import Depends
from polhode.core.variable import Adaptive
from polhode.ensembles.batch import LANES, Leaders, efforts
from polhode.ensembles.initial import Start, Starts
from polhode.ensembles.refine import FINER, Climb, Foresight, Levels, Task, Tries, speeds
from polhode.ensembles.result import Ensemble, EnsembleInterrupted, of_one
from polhode.integration.fixed import Itself, Progress, SimulationFailed, SimulationInterrupted, of_any_size
from polhode.integration.variable import levels_of_polhode
from polhode.methods import Method
from polhode.methods import find as find_method
from polhode.solution import Run
from polhode.tolerance import character, choice, search
from polhode.tolerance.estimate import COARSER, Factors

PILOTS = 16
"""Bodies that decide on the steps with which all begin; every other one of them, on the method."""
LEFT_BEHIND = 8
"""One in so many of them need not come to the tolerance."""
ENOUGH = 0.75
"""The part of them that should need no more than the first guess."""
MOST_DESCENTS = 4
WORTH_A_LOOK = 0.8
"""Where fewer steps than this part of the first guess seem to do, the pilots show whether they do."""
CLIMBING = 2.0
"""What a body costs that has to climb, in as many steps as it needs: it is tried with too few and with too many."""
CROWDED = 0.05
"""The part of bodies that lanes cannot carry on, at five times the price, from which more steps are cheaper."""
SPLITTING = "ABA1064"
"""What is tried beside collocation."""
IN_POINTS = 1.4
"""The price of an evaluation in collocation, where one of a splitting, with its flow of a symmetric body, has 1."""
FACTORS = {"SABA": Factors(5.0), "ABA1064": Factors(2.5), "TakahashiImada": Factors(1.5)}
"""Where others than those of one body were measured, on random ensembles (docs/ensemble.md)."""
POWERS = (0.0, 0.5, 1.0)
"""Of its speed, with which the steps that a body needs may grow."""
MANY_FLOWS = 1e6
"""Of all bodies, from which on it pays to run them in groups, a millisecond for each."""
OUTRUN, SOME_FLOWS = 0.1, 3e4
"""The part of the fastest body's speed below which most pilots, and so most bodies, do not pay for exact flows that are
ready for it, if there are so many: each would take some microseconds more."""
GROUPS = 1.02
"""What it costs to run bodies in groups of different steps, where all could have the same."""
GUESSED_STEPS = 1000
"""Of a body, to make batches by, while they are not known."""


class Tolerant:
    """Bodies turned with an error of at most rtol."""

    def __init__(
        self, run: Run, times: Floats, starts: Starts, leaders: Leaders, rtol: float, method: Method | None,
        threads: int, progress: Progress | None, announce: Callable[[], None] | None,
    ) -> None:  # fmt: skip
        self.task = Task(run, times, starts, leaders, rtol, threads, announce)
        self.method, self.progress = method, progress
        self.t, self.rows, self.steps = times, times.size, GUESSED_STEPS
        self.pilots = Pilots(self.task, method)
        self.levels: Levels | None = None
        self.missed, self.worst, self.unknown = 0, 0.0, 0

    def __call__(self, part: Start) -> Ensemble:
        """Some bodies to the end; what stops them has what was computed as its `ensemble`."""
        if self.task.starts.count == 1:
            return self._one(part)
        climb: Climb | None = None
        try:
            self.levels = self.levels or self.pilots.levels()
            climb = Climb(self.levels, part, self.progress)
            climb.run()
            climb.say_why()
        except (KeyboardInterrupt, Exception) as problem:
            if hasattr(problem, "ensemble"):  # of what it has stopped; also one of the user's `progress`
                climb = climb or Climb(self.pilots.guesses[0], part, None)
                problem.ensemble = climb.ensemble()
            elif isinstance(problem, KeyboardInterrupt) and climb is not None and climb.begun.any():  # between two runs
                raise EnsembleInterrupted(climb.ensemble()) from None
            raise
        made = climb.ensemble()
        late = climb.error[np.isfinite(climb.error) & (climb.error > self.task.rtol)]
        self.missed, self.worst = self.missed + late.size, float(late.max(initial=self.worst))
        self.unknown += int((made.success & np.isinf(climb.error)).sum())
        return made

    def _one(self, part: Start) -> Ensemble:
        """One body is what `simulate` makes of it."""
        task = self.task
        run = part.run(0, task.run)
        try:
            found = search.answer(run, task.times, task.rtol, self.method, self.progress, task.announce)
        except SimulationFailed as failure:
            return of_one(failure.solution, part, task.times)
        except SimulationInterrupted as stopped:
            raise EnsembleInterrupted(of_one(stopped.solution, part, task.times)) from None
        except Exception as problem:  # of the user's `progress`
            if hasattr(problem, "solution"):
                problem.ensemble = of_one(problem.solution, part, task.times)  # type: ignore[attr-defined]
            raise
        return of_one(found, part, task.times)

    def tell(self) -> None:
        """Warn if the tolerance was out of reach for some, or if nothing is known of it."""
        count, told = f"{self.task.starts.count:,}", []
        if self.missed:
            told.append(
                f"the tolerance {self.task.rtol:g} was not reached for {self.missed:,} of {count} bodies: the errors "
                f"are estimated as up to {self.worst:.1e}, and shorter steps do not lower them"
            )
        if self.unknown:
            told.append(
                f"the errors of {self.unknown:,} of {count} bodies are not known, because runs from almost the same "
                "start fail: see where error_estimate is NaN"
            )
        for message in told:
            warnings.warn(message, search.ToleranceNotReached, stacklevel=levels_of_polhode())


class Settled(NamedTuple):
    """Levels that begin where it is best for the pilots."""

    price: float
    levels: Levels
    tries: Tries


@dataclass(frozen=True)
class Pilots:
    """A few bodies, spread over the ensemble, that find out how all are best turned."""

    task: Task
    method: Method | None

    @cached_property
    def start(self) -> Start:
        """How they start."""
        starts = self.task.starts
        return starts.some(np.linspace(0, starts.count - 1, min(PILOTS, starts.count)).round().astype(int))

    @cached_property
    def characters(self) -> list[character.Character]:
        """Of every other one."""
        return [character.character(self.start.run(k, self.task.run)) for k in range(0, self.start.count, 2)]

    @property
    def fewest(self) -> float:
        """Steps that any body gets: two between jumps."""
        return max(2.0, 2.0 * self.characters[0].pieces)

    @property
    def gain(self) -> float:
        """What the torque may add to the square of the rate: as in `exact.needed`, if it works over two radians."""
        free: list[float] = efforts(self.start)[0][::2].tolist()
        return max(4.0 * max(c.rate**2 - rate2, 0.0) for c, rate2 in zip(self.characters, free, strict=True))

    @cached_property
    def guesses(self) -> list[Levels]:
        """For what most of the pilots need at most: those that need more will get it. If there are two, they decide.

        What the spin of a symmetric body about its axis means to a torque, maybe nothing, their sizes do not tell.
        """
        each, task = self.characters, self.task

        def most_of(sizes: list[float]) -> float:
            return sorted(sizes)[math.ceil(ENOUGH * len(sizes)) - 1]

        comoving = None
        if all(c.comoving for c in each) and not task.leaders.many:
            rates, weaknesses = zip(*(c.comoving for c in each if c.comoving), strict=True)
            comoving = (most_of(list(rates)), most_of(list(weaknesses)))
        c = each[0]._replace(
            rate=most_of([c.rate for c in each]),
            weakness=most_of([c.weakness for c in each]),
            symmetric=all(c.symmetric for c in each),
            harmony=most_of([c.harmony for c in each]),
            comoving=comoving,
            parts=character.equal_parts(task.run, task.times),
        )
        if self.method is not None:
            ladders = [choice.ladder(self.method, c, task.rtol)]
        else:
            ladders = [choice.chosen(c, task.rtol, task.times.size, many=task.starts.count >= LANES)]
            if choice.is_collocation(ladders[0].method):
                ladders = self._instead_of(ladders[0], c)
        return [Levels(task, replace(x, factors=FACTORS.get(x.method.name, x.factors))) for x in ladders]

    def _instead_of(self, collocation: choice.Ladder, c: character.Character) -> list[choice.Ladder]:
        """Or beside it."""
        task = self.task
        run = collocation.made(self.start.run(0, task.run), self.fewest, task.rtol)
        if not search.computed_together(run, task.announce):
            return [choice.ladder(find_method(choice.ANY), c, task.rtol)]
        if c.symmetric and not c.depends & Depends.RATE and task.starts.count >= LANES:
            return [collocation, choice.ladder(find_method(SPLITTING), c, task.rtol)]
        return [collocation]

    def levels(self) -> Levels:
        """On which all bodies climb. If there are none but the pilots, there is nothing to be spared."""
        count, guesses = self.task.starts.count, self.guesses
        if self.start.count == count:
            return guesses[0].having(guesses[0].ladder, own_program=True)
        _, levels, tries = min((self._settled(guess) for guess in guesses), key=lambda one: one.price)
        flows = count * levels.ladder.first * levels.ladder.effort
        if flows >= MANY_FLOWS:
            return self._in_groups(levels, tries, POWERS)
        if flows >= SOME_FLOWS and np.quantile(speeds(self.start, self.task.leaders, self.gain), ENOUGH) < OUTRUN:
            return self._in_groups(levels, tries, (0.0,))
        return levels.having(levels.ladder, own_program=True)

    def _settled(self, levels: Levels) -> Settled:
        """The first guess may have been too careful: then the pilots go down, and show whether it was."""
        order, method = levels.ladder.order, levels.ladder.method
        tries, too_few = Tries(self.start.count), self.fewest
        for _ in range(MOST_DESCENTS):
            climb = Climb(levels, self.start, None, tries)
            climb.run(self.start.count // LEFT_BEHIND)
            before = levels.ladder.first
            if climb.left is not None and climb.left > CROWDED:
                too_few = max(too_few, FINER * before)
            levels = self._suited(levels, tries, too_few)
            if levels.ladder.first > WORTH_A_LOOK * before:
                break
        rtol = self.task.rtol
        crossed = (tries.error[-2] > rtol) & (tries.error[-1] <= rtol)
        if crossed.any():
            seen = float(np.median(tries.order(crossed, order)))
            levels = levels.having(replace(levels.ladder, order=seen))
        assert climb.rows is not None
        each = float(np.median(climb.rows.evaluations / np.maximum(climb.rows.steps, 1)))
        price = IN_POINTS if choice.is_collocation(method) else 1.0
        return Settled(price * each * levels.ladder.first, levels, tries)

    def _suited(self, levels: Levels, tries: Tries, too_few: float) -> Levels:
        """Those that begin with as many steps as cost least if bodies that need more have to climb."""
        ladder = levels.ladder
        needed = tries.needed(self.task.rtol, ladder.order)
        needed = np.clip(needed[np.isfinite(needed)], too_few, levels.most)
        if ladder.order == 0.0 or needed.size == 0:
            return levels
        return levels.having(replace(ladder, first=min(needed.tolist(), key=lambda n: _cost(n, needed))))

    def _in_groups(self, levels: Levels, tries: Tries, powers: tuple[float, ...]) -> Levels:
        """Let each body begin with as many steps as it is likely to need, by its speed, as far as the pilots' tells.

        Exact flows are made ready for what most of the pilots ask: one program, whatever the steps. Bodies that are too
        fast for it get more of them.
        """
        task, ladder, gain = self.task, levels.ladder, self.gain
        needed, speed = tries.needed(task.rtol, ladder.order), speeds(self.start, task.leaders, gain)
        known = np.isfinite(needed)
        scheme = ladder.method.scheme
        if ladder.order == 0.0 or isinstance(scheme, Adaptive) or not known.any():
            return levels.having(ladder, own_program=True)
        needed, speed = np.clip(needed[known], self.fewest, levels.most), speed[known]
        tried = []
        for power in powers:
            rungs = FINER ** np.round(power * np.log(speed) / math.log(FINER))
            for first in (needed / rungs).tolist():
                steps = first * rungs
                tried.append((_cost(steps, needed) * (1.0 if power == 0.0 else GROUPS), power, first, steps))
        _, power, first, steps = min(tried, key=lambda one: one[0])
        longest = None
        a, b, c = self.start.bodies.moments[0].tolist()
        if not of_any_size(Itself(scheme)) and (task.leaders.many or a != b != c != a):
            longest = float(np.quantile(speed * task.span / (COARSER * steps), ENOUGH))
        foresight = Foresight(power, float(speed.min()), gain, self.fewest, longest)
        return levels.having(replace(ladder, first=first), foresight, own_program=True)


def _cost(steps: Any, needed: Floats) -> float:
    """Of bodies that begin with these steps, in the mean: those that need more of them have to climb."""
    return float(np.mean(steps + CLIMBING * np.where(needed > 1.001 * steps, needed, 0.0)))
