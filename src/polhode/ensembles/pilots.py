"""A tolerance for many bodies: one method for all, and for each body the steps that it needs.

A few bodies, the pilots, are run first. They show with how many steps all bodies should begin, and how the error falls;
`levels.py` then refines the steps of every body from there.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from polhode.accuracy.answer import answer
from polhode.accuracy.character import Character, character, ignores_spin
from polhode.accuracy.choice import ANY_TORQUE, COLLOCATION, Candidate, candidate, choose, splitting_cost
from polhode.accuracy.estimate import where_errors_grow
from polhode.accuracy.policy import POLICY, ToleranceNotReached, warn_not_reached
from polhode.accuracy.refinement import History
from polhode.accuracy.search import Goal, nodes_compile_together
from polhode.ensembles.batch import LANES, Batch, Survey, efforts
from polhode.ensembles.growth import Growth, PairedBodies, Pairs, may_take, price
from polhode.ensembles.initial import Start, Starts
from polhode.ensembles.levels import Foresight, Levels, ManyBodies, ToleranceTask, speeds
from polhode.ensembles.result import Ensemble, EnsembleInterrupted, of_one
from polhode.kernels.judge import COARSER
from polhode.kernels.steps.despun import WORTH, WORTH_WITH_TURNS, slowed
from polhode.kernels.types import Depends
from polhode.methods import Method
from polhode.methods import find as find_method
from polhode.problem import Problem
from polhode.run.binding import OnCompile
from polhode.run.integration import Progress, SimulationFailed
from polhode.run.step_warnings import levels_of_polhode
from polhode.support.arrays import Floats
from polhode.support.interrupts import keeping

PILOTS = 16
"""The number of bodies that decide with how many steps all begin; every other one of them decides on the method."""
LEFT_BEHIND = 8
"""One in this many pilots need not come to the tolerance."""
MOST_OF_THEM = 0.75
"""The part of the pilots for which the first guess should be enough."""
MOST_DESCENTS = 4
"""The pilots try fewer steps at most this number of times."""
WORTH_A_LOOK = 0.8
"""The pilots try fewer steps if less than this part of the last number seems to be enough."""
REFINED_COST = 2.0
"""The cost of a body whose steps are refined, over the steps that it needs: it is run with too few steps first."""
CROWDED = 0.05
"""The part of bodies that lanes cannot carry on, at five times the price, from which more steps are cheaper."""
SPLITTING = "ABA1064"
"""The splitting that is tried beside collocation."""
SPLITTING_GAIN = 3.0
"""By how much pilots lower the cost of a splitting, over that of its first guess: 3.9 for a symmetric top at 1e-3."""
NODE_COST = 1.8
"""The cost of an evaluation in collocation over one of a splitting, with its flow of a symmetric body: 1.65 to 1.96
were measured, in registers of four floats and of eight."""
SPEED_POWERS = (0.0, 0.5, 1.0)
"""The powers of its speed with which the steps that a body needs may grow."""
MANY_FLOWS = 1e6
"""The flows of all bodies from which on it pays to run them in groups, a millisecond for each group."""
OUTRUN, SOME_FLOWS = 0.1, 3e4
"""The part of the fastest body's speed below which most pilots, and so most bodies, do not pay for exact flows that are
prepared for it, if there are this many flows: each would take some microseconds more."""
GROUPS_COST = 1.02
"""The cost of running bodies in groups of different steps, over running all with the same."""
GUESSED_STEPS = 1000
"""The steps of a body by which batches are made while they are not known."""


class PilotResult(NamedTuple):
    """What the pilots have found: with it all bodies can be run elsewhere, in the same manner."""

    candidate: Candidate
    foresight: Foresight | None
    own_program: bool
    growth: Growth | None = None
    """With it embedded pairs run the bodies, and the candidate those that are left over."""


class ToleranceMisses(NamedTuple):
    """How many bodies have not reached the tolerance, their largest estimate and why, and how many have none."""

    bodies: int = 0
    worst: float = 0.0
    unknown: int = 0
    reason: str = ""
    """Why the search for the body with the largest estimate ended."""

    def joined(self, bodies: int, worst: float, unknown: int, reason: str) -> ToleranceMisses:
        """These misses and those of other bodies."""
        why = reason if worst > self.worst else self.reason
        return ToleranceMisses(self.bodies + bodies, max(worst, self.worst), self.unknown + unknown, why)

    def warn(self, rtol: float, count: int) -> None:
        """Warns if there are any."""
        of_all = f"{count:,}"
        if self.bodies:
            of = f" for {self.bodies:,} of {of_all} bodies"
            warn_not_reached(rtol, self.worst, f"and {self.reason}", of=of, about="the largest error is estimated as")
        if self.unknown:
            warnings.warn(
                f"the errors of {self.unknown:,} of {of_all} bodies are not known, because runs from almost the same "
                "start fail: see where error_estimate is NaN",
                ToleranceNotReached,
                stacklevel=levels_of_polhode(),
            )


class ToleranceRunner:
    """Runs bodies with an error of at most rtol."""

    def __init__(
        self, problem: Problem, starts: Starts, survey: Survey, goal: Goal, threads: int,
        progress: Progress | None, on_compile: OnCompile, found: PilotResult | None = None, *, pairs: bool = True,
    ) -> None:  # fmt: skip
        """Takes what pilots have `found` before, or runs pilots when the first bodies are run.

        Embedded `pairs` are tried, unless events are looked for, along steps of levels.
        """
        self.task = ToleranceTask(problem, starts, survey, goal.rtol, threads, on_compile)
        self.goal, self.progress = goal, progress
        self.t, self.rows, self.steps = self.task.times, self.task.times.size, GUESSED_STEPS
        self.pilots = Pilots(self.task, goal.method)
        self.pairs = Pairs(self.task)
        self._growth: Growth | bool | None = pairs
        """What the pilots have found about a pair; None: no pair suits, True: they have not tried yet."""
        self._levels: Levels | None = None
        if found is not None:
            self._levels = Levels(self.task, found.candidate, found.foresight, own_program=found.own_program)
            self._growth = found.growth
        self.missed = ToleranceMisses()
        self.kinds: list[tuple[int, bool]] = []
        """The levels of the plans of the last bodies, and whether iterations went on to round-off."""

    @property
    def levels(self) -> Levels:
        """The levels of the method that takes bodies which no pair takes."""
        if self._levels is None:
            self._levels = self.pilots.levels() if self.growth is None else self.pilots.for_the_rest()
        return self._levels

    @property
    def growth(self) -> Growth | None:
        """What the pilots have found about a pair; None: no pair suits."""
        if isinstance(self._growth, bool):
            self._growth = self.pilots.growth(self.pairs) if self._growth else None
        return self._growth

    def __call__(self, part: Start) -> Ensemble:
        """Runs some bodies to the end; an exception that stops them has an `ensemble` of what was computed."""
        if self.task.starts.count == 1:
            return self._one(part)
        bodies: ManyBodies | PairedBodies | None = None

        def kept(raised: BaseException) -> Ensemble | None:
            if hasattr(raised, "ensemble"):  # of what it has stopped; also one of the user's `progress`
                return (bodies or ManyBodies(self.pilots.guesses[0], part, None)).ensemble()
            between = isinstance(raised, KeyboardInterrupt) and bodies is not None and bodies.best.begun.any()
            return bodies.ensemble() if bodies is not None and between else None

        with keeping(EnsembleInterrupted, kept):
            if (growth := self.growth) is not None:
                bodies = PairedBodies(self.pairs, growth, part, self.progress)
                left = bodies.refine()
                if left.size:
                    others = ManyBodies(self.levels, part.some(left), self.progress)
                    others.refine()
                    bodies.take(others, left)
            else:
                bodies = ManyBodies(self.levels, part, self.progress)
                bodies.refine()
            bodies.explain_failures()
        made = bodies.ensemble()
        self.kinds = bodies.kinds
        best, error = bodies.best, bodies.best.error
        late = np.flatnonzero(np.isfinite(error) & (error > self.task.rtol))
        unknown = int((made.success & np.isinf(error)).sum())
        worst = late[error[late].argmax()] if late.size else -1
        largest, reason = (float(error[worst]), str(best.reason[worst])) if late.size else (0.0, "")
        self.missed = self.missed.joined(late.size, largest, unknown, reason)
        return made

    def find(self) -> PilotResult | None:
        """Lets the pilots choose, and returns what they found; None for a single body, which is run by itself."""
        if self.task.starts.count == 1:
            return None
        growth, levels = self.growth, self.levels
        return PilotResult(levels.candidate, levels.foresight, levels.own_program, growth)

    def batches(self, made: Ensemble) -> Iterator[tuple[Any, Batch]]:
        """Yields the places of bodies that were run alike, with the batch by which they can be run again."""
        task = self.task
        for k, plan in enumerate(made.plans):
            if task.starts.count == 1:
                batch = Batch(task.problem, plan, task.starts, task.survey, task.threads, task.on_compile)
            else:
                batch = self.levels.batches(*self.kinds[k])[0]
            yield np.flatnonzero(made.plan_number == k), batch

    def mended(self, bodies: int) -> None:
        """Takes note that bodies reach the tolerance after all, up to the terminal event that ends their motion."""
        self.missed = self.missed._replace(bodies=max(0, self.missed.bodies - bodies))

    def _one(self, part: Start) -> Ensemble:
        """What `simulate` returns for a single body, as an ensemble."""
        task = self.task

        def kept(raised: BaseException) -> Ensemble | None:
            return of_one(raised.solution, part, task.times) if hasattr(raised, "solution") else None

        with keeping(EnsembleInterrupted, kept):
            try:
                found = answer(part.problem(0, task.problem), self.goal, self.progress, task.on_compile)
            except SimulationFailed as failure:
                found = failure.solution
        return of_one(found, part, task.times)

    def warn(self) -> None:
        """Warns if some bodies have not reached the tolerance, or if their errors are not known."""
        self.missed.warn(self.task.rtol, self.task.starts.count)


class CandidateResult(NamedTuple):
    """What the pilots have shown about one candidate: its cost, its levels, and their tries."""

    cost: float
    levels: Levels
    history: History


@dataclass(frozen=True)
class Pilots:
    """A few bodies, spread over the ensemble, that show which method and how many steps suit all."""

    task: ToleranceTask
    method: Method | None

    @cached_property
    def start(self) -> Start:
        """The initial states of the pilots."""
        starts = self.task.starts
        return starts.some(np.linspace(0, starts.count - 1, min(PILOTS, starts.count)).round().astype(int))

    @cached_property
    def characters(self) -> list[Character]:
        """The characters of the problems of every other pilot."""
        return [character(self.start.problem(k, self.task.problem)) for k in range(0, self.start.count, 2)]

    @property
    def fewest(self) -> float:
        """The least number of steps of any body: two between jumps of the torque."""
        return max(2.0, 2.0 * self.characters[0].pieces)

    @property
    def gain(self) -> float:
        """What the torque may add to the square of the rate over two radians, as in `exact_flow.needed`."""
        free: list[float] = efforts(self.start)[0][::2].tolist()
        return max(4.0 * max(c.rate**2 - rate2, 0.0) for c, rate2 in zip(self.characters, free, strict=True))

    @cached_property
    def character(self) -> Character:
        """The character of most of them."""
        each, task = self.characters, self.task

        def most_of(sizes: list[float]) -> float:
            return sorted(sizes)[math.ceil(MOST_OF_THEM * len(sizes)) - 1]

        comoving = None
        if all(c.comoving for c in each) and not task.survey.others.many:
            rates, ratios = zip(*(c.comoving for c in each if c.comoving), strict=True)
            comoving = (most_of(list(rates)), most_of(list(ratios)))
        return each[0]._replace(
            rate=most_of([c.rate for c in each]),
            torque_ratio=most_of([c.torque_ratio for c in each]),
            symmetric=all(c.symmetric for c in each),
            harmonic=most_of([c.harmonic for c in each]),
            comoving=comoving,
        )

    @property
    def despun(self) -> bool:
        """Whether the frame that does not spin pays for most of the bodies, which are symmetric."""
        starts, axis = self.start, self.task.problem.body.symmetry_axis
        problems = [starts.problem(k, self.task.problem) for k in range(0, starts.count, 2)]
        rates = [slowed(p.body.moments.tolist(), (p.momentum_start @ p.body.axes).tolist(), axis) for p in problems]
        least = WORTH if ignores_spin(problems[0], axis) else WORTH_WITH_TURNS
        return sorted(turn / seen for turn, seen in rates)[len(rates) // 2] > least

    def growth(self, pairs: Pairs) -> Growth | None:
        """What pilots find about embedded pairs, if these are likely to be the cheapest."""
        c, task = self.character, self.task
        if self.method is not None or not all(may_take(one, task) for one in self.characters):
            return None
        rows = task.times.size
        rivals = [choose(c, task.rtol, rows, many=True).method]
        if c.symmetric and not c.depends & Depends.RATE:
            rivals.append(find_method(SPLITTING))
        cheapest = min(splitting_cost(rival, c, task.rtol, rows) for rival in rivals)
        pairs.despun = c.comoving is not None and self.despun
        return pairs.found() if SPLITTING_GAIN * price(c, task.rtol, rows, despun=pairs.despun) < cheapest else None

    def for_the_rest(self) -> Levels:
        """The levels of compensated collocation, for bodies that embedded pairs leave over: their errors grow.

        So iterations go on to round-off.
        """
        c, task = self.character, self.task
        chosen = self._alternatives_to(candidate(find_method(COLLOCATION), c, task.rtol), c)[0]
        return Levels(task, replace(chosen, growth=math.inf, factors=where_errors_grow(chosen.factors)))

    @cached_property
    def guesses(self) -> list[Levels]:
        """The candidates, with first guesses that suffice for most pilots. If there are two, the pilots try both.

        The character of a problem does not show whether a torque depends on the spin of a symmetric body.
        """
        c, task = self.character, self.task
        if self.method is not None:
            return [Levels(task, candidate(self.method, c, task.rtol))]
        chosen = choose(c, task.rtol, task.times.size, many=task.starts.count >= LANES)
        return [Levels(task, x) for x in self._alternatives_to(chosen, c)]

    def _alternatives_to(self, chosen: Candidate, c: Character) -> list[Candidate]:
        """The candidates to try: collocation may have a rival, or may not compile."""
        task = self.task
        if not chosen.method.collocation:
            return [chosen]
        problem = self.start.problem(0, task.problem)
        method = chosen.plan(problem, self.fewest, task.rtol).method
        if c.evaluation_cost == 0.0 and not nodes_compile_together(problem, method, task.on_compile):
            return [candidate(find_method(ANY_TORQUE), c, task.rtol)]
        if c.symmetric and not c.depends & Depends.RATE and task.starts.count >= LANES:
            return [chosen, candidate(find_method(SPLITTING), c, task.rtol)]
        return [chosen]

    def levels(self) -> Levels:
        """The levels for all bodies; where all bodies are pilots, the first guess is taken as it is."""
        count, guesses = self.task.starts.count, self.guesses
        if self.start.count == count:
            return guesses[0].replace(guesses[0].candidate, own_program=True)
        _, levels, history = min((self._settled(guess) for guess in guesses), key=lambda one: one.cost)
        flows = count * levels.candidate.first * levels.candidate.effort
        if flows >= MANY_FLOWS:
            return self._in_groups(levels, history, SPEED_POWERS)
        if flows >= SOME_FLOWS and np.quantile(speeds(self.start, self.task.survey, self.gain), MOST_OF_THEM) < OUTRUN:
            return self._in_groups(levels, history, (0.0,))
        return levels.replace(levels.candidate, own_program=True)

    def _settled(self, levels: Levels) -> CandidateResult:
        """Lets the pilots show whether the first guess was too careful, and begins with fewer steps if it was."""
        order, method = levels.candidate.order, levels.candidate.method
        history, too_few = History(self.start.count), self.fewest
        for _ in range(MOST_DESCENTS):
            bodies = ManyBodies(levels, self.start, None, history)
            bodies.refine(self.start.count // LEFT_BEHIND)
            before = levels.candidate.first
            if bodies.share_alone is not None and bodies.share_alone > CROWDED:
                too_few = max(too_few, POLICY.finer * before)
            levels = self._suited(levels, history, too_few)
            if levels.candidate.first > WORTH_A_LOOK * before:
                break
        rtol = self.task.rtol
        crossed = (history.error[-2] > rtol) & (history.error[-1] <= rtol)
        if crossed.any():
            seen = float(np.median(history.order(crossed, order)))
            levels = levels.replace(replace(levels.candidate, order=seen))
        rows = bodies.best.rows
        each = float(np.median(rows.evaluations / np.maximum(rows.steps, 1)))
        price = NODE_COST if method.collocation and self.characters[0].evaluation_cost == 0.0 else 1.0
        return CandidateResult(price * each * levels.candidate.first, levels, history)

    def _suited(self, levels: Levels, history: History, too_few: float) -> Levels:
        """Levels that begin with as many steps as cost least if bodies that need more are refined."""
        chosen = levels.candidate
        needed = history.needed(self.task.rtol, chosen.order)
        needed = np.clip(needed[np.isfinite(needed)], too_few, levels.most)
        if chosen.order == 0.0 or needed.size == 0:
            return levels
        return levels.replace(replace(chosen, first=min(needed.tolist(), key=lambda n: _cost(n, needed))))

    def _in_groups(self, levels: Levels, history: History, powers: tuple[float, ...]) -> Levels:
        """Lets each body begin with the steps that it is likely to need, by its speed, as far as the pilots show that.

        Exact flows are prepared for what most of the pilots ask: one program, whatever the steps. Bodies that are too
        fast for it get more of them.
        """
        task, chosen, gain = self.task, levels.candidate, self.gain
        needed, speed = history.needed(task.rtol, chosen.order), speeds(self.start, task.survey, gain)
        known = np.isfinite(needed)
        if chosen.order == 0.0 or chosen.method.adaptive or not known.any():
            return levels.replace(chosen, own_program=True)
        needed, speed = np.clip(needed[known], self.fewest, levels.most), speed[known]
        tried = []
        for power in powers:
            factors = POLICY.finer ** np.round(power * np.log(speed) / math.log(POLICY.finer))
            for first in (needed / factors).tolist():
                steps = first * factors
                tried.append((_cost(steps, needed) * (1.0 if power == 0.0 else GROUPS_COST), power, first, steps))
        _, power, first, steps = min(tried, key=lambda one: one[0])
        longest = None
        a, b, c = self.start.bodies.moments[0].tolist()
        if not chosen.method.ignores_scales and (task.survey.others.many or a != b != c != a):
            longest = float(np.quantile(speed * task.span / (COARSER * steps), MOST_OF_THEM))
        foresight = Foresight(power, float(speed.min()), gain, self.fewest, longest)
        return levels.replace(replace(chosen, first=first), foresight, own_program=True)


def _cost(steps: Any, needed: Floats) -> float:
    """The mean cost of bodies that begin with these steps, if those that need more are refined."""
    return float(np.mean(steps + REFINED_COST * np.where(needed > 1.001 * steps, needed, 0.0)))
