"""The search for steps: each body's steps are refined until its estimate is below the tolerance, or falls no more.

It works on arrays with one number for each body. Numbers of steps lie on levels, each level with `finer` times the
steps of the one below, so that many bodies at one level can run together; one body alone may stand between two levels.
Every body is judged by its own tries alone: its result does not depend on the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from polhode._arrays import Floats
from polhode.core.judge import MAYBE_ROUND_OFF
from polhode.core.types import Depends
from polhode.problem import Problem
from polhode.tolerance.choice import Candidate
from polhode.tolerance.policy import POLICY, next_factor, seen_order


class Tried(NamedTuple):
    """The results of a try of some bodies, with one number for each body."""

    error: Floats
    """The estimate; infinite where the run or its companion failed."""
    least: Floats
    """The least that the estimate could have been."""
    floor: Floats
    """The least error that is believed."""
    round_off: Floats
    """The error that round-off leaves, if the axes of the body are known."""
    follows: Any
    """Whether the steps are so short that the method follows the motion; else errors are chance."""
    stalled: Any = False
    """Whether steps that adapt fell below the resolution of the time: tighter tolerances only come there by more."""


Attempt = Callable[[Any, Any, bool], Tried]
"""`(bodies, level, to_round_off)`: runs some bodies and their companions."""


def steps_at(level: float, candidate: Candidate, most: float) -> float:
    """Returns the number of steps at a level; for DOP853, rtol**(-1/8)."""
    n = float(min(candidate.first * POLICY.finer**level, most))
    return n if candidate.method.adaptive else float(math.ceil(n))  # of few steps a fraction counts


class Search:
    """The search of some bodies for the steps of one candidate: the level of each body, and what its tries showed."""

    def __init__(
        self, problem: Problem, candidate: Candidate, rtol: float, count: int = 1, levels: Any = None, *,
        history: History | None = None, alone: bool = False,
    ) -> None:  # fmt: skip
        """Begins at level 0, or at these levels, and with what earlier tries have shown.

        A body `alone` need not meet others at a level.
        """
        self.candidate, self.rtol, self.alone = candidate, rtol, alone
        self.patience = 2 if problem.torque.depends & Depends.TIME else 1
        """The number of refinements that may be in vain: a torque may change too fast in time for the first steps."""
        self.most = candidate.most(problem)
        self.history = history or History(count)
        self.level = np.zeros(count, dtype=np.float64 if alone else np.int64) if levels is None else levels
        self.to_round_off = np.zeros(count, dtype=bool)
        """Whether iterations go on to round-off."""
        self.active = np.ones(count, dtype=bool)

    def steps(self, level: float) -> float:
        """Returns the number of steps at a level; for DOP853, rtol**(-1/8)."""
        return steps_at(level, self.candidate, self.most)

    def is_last(self, level: float) -> bool:
        """Whether no level above could bring anything."""
        return self.candidate.order == 0.0 or self.steps(level) >= self.most

    def run(self, attempt: Attempt, few: int = 0) -> None:
        """Refines the steps of every body; stops early when only `few` bodies are left."""
        while (active := np.flatnonzero(self.active)).size > few:
            level = self.level[active].min().item()  # the lowest first: so bodies that meet at a level run together
            here = active[self.level[active] == level]
            to_round_off = bool(self.to_round_off[here].all())
            which = here[self.to_round_off[here] == to_round_off]
            self._judge(which, level, to_round_off, attempt(which, level, to_round_off))

    def _judge(self, which: Any, level: float, to_round_off: bool, tried: Tried) -> None:
        """Decides for each of the bodies that were tried whether it goes on, and at which level."""
        history = self.history
        # No steps would do for bodies whose floor is above the tolerance: they need not be followed to the end.
        follows = tried.follows | (POLICY.attained * tried.floor > self.rtol)
        history.add(which, self.steps(level), tried._replace(follows=follows))
        late = which[~(self._enough(which, tried) | tried.stalled)]
        history.given_up[which] = False
        history.given_up[late] = True
        if late.size:
            late = self._go_on(late, level, to_round_off)
            history.given_up[late] = False
        self.active[which] = False  # not before: an interruption must not make them look finished
        self.active[late] = True

    def _go_on(self, late: Any, level: float, to_round_off: bool) -> Any:
        """Chooses the next level of bodies that are above the tolerance; returns those for which there is one."""
        history = self.history
        stuck = history.is_stuck(late, self.patience)
        if self.candidate.method.collocation and not to_round_off:  # it may be what the iterations have left
            error = history.error[-1, late]
            self.to_round_off[late] |= stuck | (np.isfinite(error) & (error > POLICY.far * self.rtol))
            stuck[:] = False
        most_failures = POLICY.most_failures if self.alone else POLICY.most_grouped_failures
        stuck |= (history.failures[late] > most_failures) | (history.tries[late] >= POLICY.most_tries)
        late = late[:0] if self.is_last(level) else late[~stuck]
        self.level[late] = self._next_level(level, late)
        return late

    def _enough(self, which: Any, tried: Tried) -> Any:
        """Whether estimates are below the tolerance, or made of round-off, which shorter steps would not lower."""
        error = tried.error
        enough = error <= self.rtol
        if enough.all():
            return enough
        out_of_reach = self.rtol <= POLICY.attained * np.maximum(tried.floor, 2.0 * tried.round_off)
        again = self.history.tries[which] > 1
        at_round_off = np.where(
            out_of_reach,
            error <= POLICY.attainable * tried.floor,
            again & (error <= POLICY.attainable * tried.round_off),
        )
        return enough | at_round_off

    def _next_level(self, level: float, which: Any) -> Any:
        """Returns the next levels of bodies, by the order of the method or by the one that was seen, if that is lower.

        A run that failed says nothing of how many more steps it wants.
        """
        history = self.history
        error, order = history.error[-1, which], max(self.candidate.order, 1.0)
        rounding = error < np.maximum(POLICY.near_round_off, MAYBE_ROUND_OFF * history.least[which])
        last, tried = history.error[-2:, which], history.steps[-2:, which]
        factor = np.array([
            next_factor(POLICY, order, self.rtol, now if math.isfinite(now) else 1.0, n, before, fewer, doubt)
            for now, n, before, fewer, doubt in np.stack([last[1], tried[1], last[0], tried[0], rounding], -1).tolist()
        ])  # fmt: skip
        blind = np.full(error.size, POLICY.rise_after_failure)
        blind[(history.failures[which] > 2) & (not self.alone)] *= 2
        new = level + np.where(np.isfinite(error), np.log(factor) / math.log(POLICY.finer), blind)
        if self.alone:
            return new
        grouped = level + POLICY.grouped_rise * np.ceil((new - level) / POLICY.grouped_rise).astype(np.int64)
        return np.where(grouped > level + POLICY.grouped_rise, grouped + -grouped % (2 * POLICY.grouped_rise), grouped)


class History:
    """The last tries of every body: numbers of steps and estimates, the latest last."""

    def __init__(self, count: int) -> None:
        self.steps, self.error = (
            np.full((POLICY.kept_tries, count), np.nan),
            np.full((POLICY.kept_tries, count), np.nan),
        )
        self.follows = np.zeros((POLICY.kept_tries, count), dtype=bool)
        self.tries, self.failures = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        self.least = np.zeros(count)
        """The least that the last estimate could have been."""
        self.rounded = np.zeros(count, dtype=bool)
        """Whether the last estimate may be made of round-off."""
        self.given_up = np.zeros(count, dtype=bool)
        """Whether more steps were in vain."""

    def add(self, which: Any, steps: float, tried: Tried) -> None:
        """Adds one more try of some bodies."""
        self.least[which] = tried.least
        self.rounded[which] = tried.error < POLICY.rounded * tried.least
        for kept, new in ((self.steps, steps), (self.error, tried.error), (self.follows, tried.follows)):
            kept[:-1, which] = kept[1:, which]
            kept[-1, which] = new
        self.tries[which] += 1
        self.failures[which] += ~np.isfinite(tried.error)

    def order(self, which: Any, otherwise: float) -> Floats:
        """Returns by which power of the steps the error fell in the last try; `otherwise` if that is not known."""
        pairs = np.concatenate([self.error[-2:, which], self.steps[-2:, which]]).T.reshape(-1, 4).tolist()
        return np.array([seen_order(POLICY, otherwise, less, more, error, n) for error, less, n, more in pairs])

    def is_stuck(self, which: Any, patience: int) -> Any:
        """Whether the last refinements should have lowered the error and have not: round-off is reached.

        Errors of steps that do not follow the motion show nothing, unless they are as small as they can be. For a
        torque that changes fast in time the first refinements may be in vain, as long as steps are longer than that.
        """
        telling = self.follows[:, which] | self.rounded[which]
        n, e = self.steps[:, which], np.where(telling, self.error[:, which], np.nan)
        with np.errstate(invalid="ignore"):
            slow = e[1:] * n[1:] > e[:-1] * n[:-1]
            telling_rise = slow & (n[1:] > POLICY.telling_near_round_off * n[:-1])
            # Far above the least error the motion must have made round-off grow: once may be chance.
            near = (e[-1] < POLICY.far_from_round_off * self.least[which]) | telling_rise[-2]
            round_off = telling_rise[-1] & near & (e[-1] < POLICY.near_round_off)
            grown = (slow & (n[1:] > POLICY.telling * n[:-1]) & (e[:-1] < POLICY.follows_its_order))[-patience:].all(
                axis=0
            )
            first = -4 * patience
            flat = (n[-1] > POLICY.long_flat * n[first]) & (e[-1] > POLICY.flat * e[first]) & np.isfinite(e[-1])
        return round_off | grown | flat

    def needed(self, rtol: float, order: float) -> Floats:
        """Returns the steps that would do, as far as the tries show; NaN where nothing is known.

        Where the tolerance lies between the last two, they do. Else both errors may have been round-off, and nothing is
        foreseen but what the order of the method allows; from round-off itself nothing at all. A body that was given up
        needs no more than the steps of its best try.
        """
        last = np.where(np.isfinite(self.error[-1]), self.error[-1], np.nan)
        seen = self.order(slice(None), order)
        seen = np.where(self.error[-2] > rtol, seen, np.maximum(seen, 0.5 * order))
        needed = self.steps[-1] * (last / (POLICY.wanted * rtol)) ** (1 / seen)
        failed = np.where(self.error > rtol, self.steps, 0.0)
        most = failed.max(axis=0)
        above = np.take_along_axis(self.error, failed.argmax(axis=0)[None], axis=0)[0]
        with np.errstate(invalid="ignore"):
            from_below = np.where(above < 0.1, most * (above / (POLICY.wanted * rtol)) ** (1 / max(order, 1.0)), np.inf)
        needed = np.where(self.rounded, np.minimum(needed, np.where(most > 0.0, from_below, 0.0)), needed)
        needed = np.maximum(needed, np.maximum(POLICY.longest_descent * self.steps[-1], 1.05 * most))
        return np.asarray(np.where(self.given_up, self._best_steps(), needed))

    def _best_steps(self) -> Floats:
        """Returns the steps of the best try of each body; NaN if all have failed."""
        error = np.where(np.isfinite(self.error), self.error, np.inf)
        best = error.argmin(axis=0)[None]
        found, steps = (np.take_along_axis(x, best, axis=0)[0] for x in (error, self.steps))
        return np.where(np.isfinite(found), steps, np.nan)
