"""A tolerance for many bodies by embedded pairs: each body's error is the sum of its local errors times their growth.

Pilots, whose errors are known from much tighter runs, show which tolerance of a step leads to the error that is asked
for. All bodies are run with it. A companion of each, much looser and therefore cheap, shows how much further its errors
grow than those of the pilots. Bodies whose estimates are too large are run again with tolerances of their own.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from polhode.accuracy.character import FLOW_SECONDS, Character
from polhode.accuracy.estimate import rate_rounding
from polhode.ensembles.batch import LANES, Batch, run_batch
from polhode.ensembles.initial import Start
from polhode.ensembles.levels import BestRows, ManyBodies, ToleranceTask, distance_of, floors_of, rates_of
from polhode.ensembles.result import Ensemble
from polhode.kernels.embedded import FASTEST, SUM_OF_ERRORS, TSITOURAS_PAPAKOSTAS_86, VERNER_98
from polhode.kernels.judge import LEAST_UNCOMPENSATED_RTOL
from polhode.kernels.types import Depends
from polhode.methods import Method
from polhode.methods import find as find_method
from polhode.problem import Plan
from polhode.run.integration import Progress
from polhode.support.arrays import Floats

LOOSE, TIGHT = "TsitPap86", "Verner98"
PAIRS = {LOOSE: TSITOURAS_PAPAKOSTAS_86, TIGHT: VERNER_98}
DESPUN = "(despun=true)"
"""What the names of methods end with in the frame that does not spin."""
TIGHT_BELOW = 3e-8
"""The tolerance below which the pair of higher order is the cheaper one (docs/decisions/0027)."""
FIRST = {LOOSE: 2.0, TIGHT: 0.2}
"""The first guess at the tolerance of a step, over that of the answer."""
STEADY_RATE = 1e-3
"""The rounding of a torque may change the rate at the start by this part of the tolerance."""
LARGEST = 0.1
"""The loosest tolerance of a step."""
PAIR_PILOTS, MORE_PILOTS = 24, 48
"""The number of pilots; the second where they do not agree."""
TIGHTER = 300.0
"""The tolerance of the pilots' steps over that of the runs that are taken for the truth."""
AIM = 0.8
"""The part of the tolerance that estimates should have."""
NEARLY_ALL, MOST_OF_THEM = 0.98, 0.85
"""The part of the pilots that should have it, where they agree and where they do not: others are run again."""
SETTLED = 2.5
"""Pilots try again if the tolerance of a step is to change by more than this."""
MOST_TRIES = 4
STEADY = 2.0
"""Pilots agree if their errors over local ones are at most this many times the median."""
ALIKE = 5.0
"""Other methods take the ensemble where errors of pilots over local ones exceed this multiple of their median: with
pairs, 2 of 200 estimates were too low where rates differ by e^4."""
FORESEEN = 2.5
"""One companion is enough where errors of pilots are at most this many times what their companions foresee."""
LEAST_KAPPA, KAPPA_APART = 3.0, 4.0
"""The least factor of safety of an estimate, where pilots agree and where they do not."""
KAPPA = 3.0
"""The factor of safety over the worst error of a pilot but one, in units of what its companions foresee."""
WATCHING = 1e-2
"""The error of the companions where pilots agree: it shows bodies whose errors grow as no pilot's do."""
LOOSER = (100.0, 10.0)
"""The tolerances of the companions' steps over that of the runs, where pilots do not agree. Where a single companion
errs little by chance, the other shows that errors grow."""
LOST = 0.3
"""A companion that is this far from its run, in radians, says nothing of the growth of small errors."""
FINER = 3.0
"""Tolerances of bodies that are run again are lower by powers of this."""
MOST_RUNS = 3
LEAST_STEP_TOLERANCE = 1e-15
"""The tightest tolerance of a step: below it what a step estimates is round-off, and steps shrink without end."""
LEAST_OF_PILOTS = 30.0
"""The least tolerance of the pilots' steps, in units of the tightest: at lower ones their errors are not known."""
STEPS, STEPS_OF_TIGHT, STEPS_OF_COMPANION = 16.0, 24.0, 12.0
"""The least numbers of steps over the span, of runs, of the pilots' tight runs and of companions: so all evaluate the
torque over the whole span, and at different times."""
ROUNDING = 4.0 * 2.0**-52
"""The rounding of a step, in the rate."""
ROUNDED = 0.1
"""Bodies whose round-off may be more than this part of the tolerance go to compensated collocation."""

DESPUN_COST = 1.4
"""What a radian costs in the frame that does not spin, over one elsewhere: by this, whole calls of tops and discs take
as long by pairs as by splittings where prices are alike (docs/decisions/0027)."""
EVALUATION_SECONDS = 4.5e-9
"""What an evaluation takes in a lane."""


class Companion(NamedTuple):
    """A looser run of every body."""

    method: str
    step_tolerance: float
    scale: float
    """The growth of errors of its run over that of its own, each as the error over the sum of local errors."""


class Growth(NamedTuple):
    """What the pilots have found: with it all bodies can be run elsewhere, in the same manner."""

    method: str
    step_tolerance: float
    usual: float
    """The error over the sum of local errors that every body is taken to have at least."""
    kappa: float
    """The factor of safety of all estimates."""
    companions: tuple[Companion, ...]


def price(c: Character, rtol: float, rows: int, *, despun: bool) -> float:
    """The cost of a body by an embedded pair, in exact flows of one body: evaluations that fill lanes."""
    a_radian = 6.0 * math.pow(2.0, -1.0 - math.log10(rtol) / 3.0)
    rate = min(c.rate, DESPUN_COST * c.comoving[0]) if despun and c.comoving else c.rate
    evaluations = rate * c.span * a_radian + 12.0 * LANES * max(0, rows - 2)
    return evaluations * EVALUATION_SECONDS / FLOW_SECONDS


def may_take(c: Character, task: ToleranceTask) -> bool:
    """Whether embedded pairs can run the bodies.

    Other paths take: free bodies, which have a closed form; torques that carry numbers, bend, jump, are stiff or
    expensive, which need steps made for that; tolerances near round-off, which need compensated sums; bodies that
    are nearly at rest at the start, where the rounding of the torque is large beside the rate.
    """
    torque = task.problem.torque
    special = c.stiff or c.may_bend or c.uneven or c.dry or c.carries or c.evaluation_cost > 0.0 or c.pieces > 1.0
    if special or c.depends is Depends.NOTHING or torque.calls_out or torque.sample_kernel is not None:
        return False
    if c.free_rate * STEADY_RATE * task.rtol < 2.0**-52 * c.rate:
        return False
    return task.rtol >= LEAST_UNCOMPENSATED_RTOL and c.knot_error == 0.0 and task.starts.count >= LANES


class Pairs:
    """Runs of bodies by embedded pairs, whatever their tolerances."""

    def __init__(self, task: ToleranceTask) -> None:
        self.task = task
        self.despun = False
        """Whether they are seen from a frame that does not spin."""
        self.like: dict[str, Batch] = {}

    def batch(self, name: str, step_tolerance: float, least: float = STEPS) -> Batch:
        """The batch by which bodies are run with one tolerance of a step."""
        task = self.task
        plan = Plan(_with(name, step_tolerance), task.problem.span / least)
        given = (task.starts, task.survey, task.threads, task.on_compile)
        made = self.like[name] = Batch(task.problem, plan, *given, like=self.like.get(name))
        made.most_steps = task.most_steps
        return made

    def seen(self, name: str) -> str:
        """The name of a method in the frame that suits the bodies."""
        return name + DESPUN if self.despun else name

    def found(self) -> Growth | None:
        """Lets pilots find the tolerance of a step; None: pairs do not suit, and others are to try."""
        rtol = self.task.rtol
        name = LOOSE if rtol > TIGHT_BELOW else TIGHT
        first = FIRST[name] * rtol
        name = self.seen(name)
        pilots = _Pilots(self, PAIR_PILOTS, name, _rounded(first))
        if pilots.tight is None:
            return None
        for tries in range(1, MOST_TRIES + 1):
            if not pilots.run():
                return None
            g, total = pilots.growth, _sums(pilots.made)
            goal = LEAST_KAPPA * g.max() * total.max()
            if not pilots.steady:
                goal = 1.5 * KAPPA_APART * float(np.quantile(g * total, MOST_OF_THEM))
            new = min(pilots.step_tolerance * math.pow(AIM * rtol / max(goal, 1e-300), _power(name)), LARGEST)
            if new < LEAST_OF_PILOTS * LEAST_STEP_TOLERANCE:
                return None
            near = pilots.step_tolerance / SETTLED < new < SETTLED * pilots.step_tolerance
            pilots.step_tolerance = _rounded(min(max(new, 1e-4 * pilots.step_tolerance), 1e3 * pilots.step_tolerance))
            if near or tries == MOST_TRIES:
                break
        if not pilots.steady:
            pilots = _Pilots(self, MORE_PILOTS, name, pilots.step_tolerance)
        return pilots.found(rtol) if pilots.run() and pilots.alike else None


class _Pilots:
    """Some bodies, spread over the ensemble, whose errors are known."""

    def __init__(self, pairs: Pairs, count: int, name: str, step_tolerance: float) -> None:
        starts = pairs.task.starts
        self.start = starts.some(np.linspace(0, starts.count - 1, min(count, starts.count)).round().astype(int))
        self.pairs, self.name, self.step_tolerance, self.tight_at = pairs, name, step_tolerance, 0.0
        self.tight: Ensemble | None = None
        pairs.batch(name, step_tolerance).ready()
        if pairs.like[name].lanes > 1:
            self._run_tight()

    def _run_tight(self) -> None:
        self.tight_at = self.step_tolerance
        self.tight = self._run(self.name, max(self.tight_at / TIGHTER, LEAST_STEP_TOLERANCE), STEPS_OF_TIGHT)

    def _run(self, name: str, step_tolerance: float, least: float) -> Ensemble:
        return run_batch(self.pairs.batch(name, step_tolerance, least), self.start, None, messages=0)

    def run(self) -> bool:
        """Runs the pilots with the tolerance of a step; returns whether all came to the end."""
        if not 0.1 < self.step_tolerance / self.tight_at < 10.0:
            self._run_tight()
        self.made = self._run(self.name, self.step_tolerance, STEPS)
        assert self.tight is not None
        self.growth = _seen(self.made, self.tight, self.made)
        """Errors over sums of local errors."""
        spread = self.growth.max() / max(float(np.median(self.growth)), 1e-300)
        self.steady, self.alike = spread <= STEADY, spread <= ALIKE
        return bool(self.made.success.all() and self.tight.success.all())

    def found(self, rtol: float) -> Growth | None:
        """What is found about all bodies: the least growth, and what companions foresee."""
        looser = [(self.name, more * self.step_tolerance) for more in LOOSER]
        if self.steady:
            first = FIRST[self.name.removesuffix(DESPUN)]
            watching = FIRST[LOOSE] * max(WATCHING, 8.0 * rtol) * self.step_tolerance / (first * rtol)
            looser = [(self.pairs.seen(LOOSE), watching)]
        usual, companions = float(np.median(self.growth)), list[Companion]()
        foreseen = np.full(self.start.count, self.growth.max() if self.steady else usual)
        known = np.zeros(self.start.count, dtype=bool)
        for name, step_tolerance in looser:
            step_tolerance = _rounded(min(step_tolerance, LARGEST))
            other = self._run(name, step_tolerance, STEPS_OF_COMPANION)
            seen = _seen(self.made, other, other)
            told = other.success & (seen * _sums(other) < LOST)
            if not told.any():
                continue
            scale = float(np.median(self.growth[told] / np.maximum(seen[told], 1e-300)))
            companions.append(Companion(name, step_tolerance, scale))
            foreseen[told] = np.maximum(foreseen[told], scale * seen[told])
            known |= told
            worst = (self.growth / foreseen)[known]  # others are run by another method
            if worst.max() <= FORESEEN:
                break
        if known.sum() < max(2, self.start.count // 2):
            return None
        kappa = max(LEAST_KAPPA if self.steady else KAPPA_APART, KAPPA * float(np.sort(worst)[-2]))
        errors = kappa * (foreseen * _sums(self.made))[known]
        high = float(np.quantile(errors, NEARLY_ALL if self.steady else MOST_OF_THEM))
        step_tolerance = self.step_tolerance * min(1.0, math.pow(0.95 * rtol / high, _power(self.name)))
        least = self.growth.max() if self.steady else usual
        return Growth(self.name, _rounded(step_tolerance), float(least), kappa, tuple(companions))


def _seen(made: Ensemble, other: Ensemble, summed: Ensemble) -> Floats:
    """The distances of two runs over the sums of the local errors of one of them."""
    d = distance_of(made, np.arange(len(made)), slice(None), other, _fastest(made))
    return np.asarray(d / np.maximum(_sums(summed), 1e-300))


class PairedBodies:
    """All runs of some bodies by a pair: the best rows of each, and those that others are to run."""

    def __init__(self, pairs: Pairs, growth: Growth, part: Start, progress: Progress | None) -> None:
        self.pairs, self.growth, self.part, self.progress = pairs, growth, part, progress
        self.best = BestRows(part)
        self.level = np.zeros(part.count, dtype=np.int64)
        """By which power of `FINER` the tolerance of the rows of each body is lower than that of the pilots."""
        self.other = np.full(part.count, -1)
        """The plan of each body whose rows another method has made, among those."""
        self.more: tuple[Plan, ...] = ()
        self.kinds: list[tuple[int, bool]] = []

    def refine(self) -> Any:
        """Runs all bodies, and some again; returns the numbers of those that are to be run by another method."""
        task, growth, best = self.pairs.task, self.growth, self.best
        everyone = np.arange(self.part.count)
        made = self._run(everyone, self.level)
        each, lost = self._grown(made)
        turn = task.span * _fastest(made)
        floor = floors_of(self.part, task.problem, rates_of(self.part, _fastest(made)))[0]
        floor = floor + ROUNDING * np.sqrt(made.steps) * (1.0 + turn) * (each / growth.usual)

        if (rotors := self.part.bodies.rotors) is not None:
            floor = floor + rate_rounding(rotors, self.part.bodies.moments, _fastest(made))

        def estimate(made: Ensemble, which: Any) -> Floats:
            found = growth.kappa * each[which] * _sums(made) + floor[which]
            return np.where(made.success & ~lost[which], found, np.inf)

        best.keep_better(made, everyone, estimate(made, everyone))
        elsewhere = (lost | (floor > ROUNDED * task.rtol)) & made.success
        for _ in range(MOST_RUNS):
            again = np.flatnonzero((best.error > task.rtol) & np.isfinite(best.error) & ~elsewhere)
            lower = np.log(best.error[again] / (AIM * task.rtol)) * (_power(growth.method) / math.log(FINER))
            level = self.level[again] + np.maximum(1, np.ceil(lower)).astype(np.int64)
            again, level = (x[growth.step_tolerance > LEAST_STEP_TOLERANCE * FINER**level] for x in (again, level))
            if again.size == 0:
                break
            made = self._run(again, level)
            better = best.keep_better(made, again, estimate(made, again))
            self.level[better] = level[np.isin(again, better)]
        return np.flatnonzero((elsewhere | (best.error > task.rtol)) & best.rows.success)

    def _run(self, which: Any, level: Any) -> Ensemble:
        """Runs some bodies with tolerances of their own."""
        part = self.part if which.size == self.part.count else self.part.some(which)
        batch, best = self.pairs.batch(self.growth.method, self.growth.step_tolerance), self.best
        levels, place = np.unique(level, return_inverse=True)
        tolerances = np.array([self._step_tolerance(k) for k in levels.tolist()])[place]
        try:
            made = run_batch(batch, part, best.report(batch, part, self.progress), messages=0, tolerances=tolerances)
        except BaseException as problem:
            if hasattr(problem, "ensemble"):
                best.keep(problem.ensemble, which)
            raise
        best.keep(made, which)
        best.count(made, which)
        return made

    def _step_tolerance(self, level: int) -> float:
        return _rounded(self.growth.step_tolerance / FINER**level)

    def _grown(self, made: Ensemble) -> tuple[Floats, Any]:
        """The errors over local ones that companions foresee for each body, and where none can tell."""
        part, best, everyone = self.part, self.best, np.arange(self.part.count)
        each, lost = np.full(part.count, self.growth.usual), np.ones(part.count, dtype=bool)
        for name, step_tolerance, scale in self.growth.companions:
            batch = self.pairs.batch(name, step_tolerance, STEPS_OF_COMPANION)
            other = run_batch(batch, part, best.report(batch, part, self.progress), messages=0)
            best.count(other, everyone)
            seen = _seen(made, other, other)
            told = other.success & (seen * _sums(other) < LOST)
            each[told] = np.maximum(each[told], scale * seen[told])
            lost &= ~told
        return each, lost

    def take(self, others: ManyBodies, which: Any) -> None:
        """Takes the rows of bodies that were run by another method."""
        better = self.best.take(others.best, which)
        more, place = others.plans()
        self.more, self.kinds = more, others.kinds
        self.other[better] = place[np.isin(which, better)]

    def explain_failures(self) -> None:
        """Writes messages for bodies that have failed for good."""
        silent = self.best.unexplained
        for level in np.unique(self.level[silent]).tolist():
            which = [k for k in silent if self.level[k] == level]
            self.best.explain(self.pairs.batch(self.growth.method, self._step_tolerance(level)), which)

    def ensemble(self) -> Ensemble:
        """Everything known so far."""
        batch = self.pairs.batch(self.growth.method, self.growth.step_tolerance)
        active = np.isnan(self.best.error) if self.best.made is not None else np.ones(self.part.count, dtype=bool)
        return self.best.ensemble(batch, *self.plans(), active, self.pairs.task.rtol)

    def plans(self) -> tuple[tuple[Plan, ...], Any]:
        """The plans by which the rows of bodies were made, and the number of each body's."""
        levels, place = np.unique(self.level, return_inverse=True)
        growth, span = self.growth, self.pairs.task.problem.span
        made = tuple(Plan(_with(growth.method, self._step_tolerance(k)), span / STEPS) for k in levels.tolist())
        return (*made, *self.more), np.where(self.other >= 0, len(made) + self.other, place.reshape(-1))


def _with(name: str, step_tolerance: float) -> Method:
    return find_method(name).replace(rtol=step_tolerance)


def _rounded(step_tolerance: float) -> float:
    """A tolerance with few digits, so that a person can repeat a run."""
    return float(f"{step_tolerance:.3g}")


def _sums(made: Ensemble) -> Floats:
    """The sum of the local errors of each body."""
    return np.asarray(made.memory[:, SUM_OF_ERRORS])


def _fastest(made: Ensemble) -> Floats:
    return np.sqrt(made.memory[:, FASTEST])


def _power(name: str) -> float:
    """Returns by which power of the error the tolerance of a step is to fall."""
    order: int = PAIRS[name.removesuffix(DESPUN)].order
    return (order + 1.0) / (order + 2.0)
