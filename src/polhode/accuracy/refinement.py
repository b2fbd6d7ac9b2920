"""The search of many bodies for their steps: which bodies are tried next, and what their tries have shown.

It works on arrays with one number for each body. Numbers of steps lie on levels, each level with `finer` times the
steps of the one below, so that many bodies at one level can run together. Every body is judged by its own tries alone
(`policy.next_try`): its result does not depend on the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from polhode.accuracy.choice import Candidate
from polhode.accuracy.policy import (
    GROUPED,
    GROUPED_RISE,
    STALLED,
    AtRoundOff,
    Floor,
    GiveUp,
    Refine,
    Tries,
    Try,
    next_try,
    seen_order,
)
from polhode.kernels.types import Depends
from polhode.problem import Problem
from polhode.support.arrays import Floats


class TryResults(NamedTuple):
    """The results of a try of some bodies, with one number for each body."""

    error: Floats
    """The estimate; infinite where the run or its companion failed."""
    least: Floats
    """The least that the estimate could have been."""
    floor: Floats
    """The least error that an estimate may state."""
    round_off: Floats
    """The error that round-off leaves, if the axes of the body are known."""
    follows: Any
    """Whether the steps are so short that the method follows the motion; else errors are chance."""
    stalled: Any = False
    """Whether steps that adapt fell below the resolution of the time: tighter tolerances only come there by more."""


Attempt = Callable[[Any, Any, bool], TryResults]
"""`(bodies, level, to_round_off)`: runs some bodies and their companions."""


def steps_at(level: float, candidate: Candidate, most: float) -> float:
    """The number of steps at a level, or their resolution."""
    return candidate.whole(min(candidate.first * GROUPED.finer**level, most))


def first_tries(problem: Problem, candidate: Candidate, rtol: float) -> Tries:
    """What is known of a search before its first try."""
    patience = 2 if problem.torque.depends & Depends.TIME else 1  # it may change too fast in time for the first steps
    residual = 1.0 if candidate.method.collocation else 0.0
    return Tries(rtol, residual=residual, patience=patience, most=candidate.most(problem))


class Search:
    """The search of some bodies for the steps of one candidate: the level of each body, and what its tries showed."""

    def __init__(
        self, problem: Problem, candidate: Candidate, rtol: float, count: int, levels: Any = None, *,
        history: History | None = None,
    ) -> None:  # fmt: skip
        """Begins at level 0, or at these levels, and with what earlier tries have shown."""
        self.candidate, self.begun = candidate, first_tries(problem, candidate, rtol)
        self.history = history or History(count)
        self.level = np.zeros(count, dtype=np.int64) if levels is None else levels
        self.to_round_off = np.zeros(count, dtype=bool)
        """Whether iterations go on to round-off."""
        self.active = np.ones(count, dtype=bool)

    def steps(self, level: float) -> float:
        """The number of steps at a level, or their resolution."""
        return steps_at(level, self.candidate, self.begun.most)

    def run(self, attempt: Attempt, few: int = 0) -> None:
        """Refines the steps of every body; stops early when only `few` bodies are left."""
        while (active := np.flatnonzero(self.active)).size > few:
            level = self.level[active].min().item()  # the lowest first: so bodies that meet at a level run together
            here = active[self.level[active] == level]
            to_round_off = bool(self.to_round_off[here].all())
            which = here[self.to_round_off[here] == to_round_off]
            self._judge(which, level, to_round_off, attempt(which, level, to_round_off))

    def _judge(self, which: Any, level: int, to_round_off: bool, tried: TryResults) -> None:
        """Decides for each of the bodies that were tried whether it goes on, and at which level."""
        history, order, going = self.history, self.candidate.order, np.zeros(which.size, dtype=bool)
        history.add(which, self.steps(level), tried)
        history.given_up[which], history.reason[which] = False, STALLED.reason
        known = self.begun._replace(residual=0.0) if to_round_off else self.begun
        late = np.flatnonzero(~((tried.error <= known.rtol) | tried.stalled))
        floors = np.stack([np.broadcast_to(x, which.shape)[late] for x in tried[1:4]], -1).tolist()
        bodies = which[late]
        for k, place, tries, floor in zip(
            bodies.tolist(), late.tolist(), history.tries_of(bodies, known), floors, strict=True
        ):
            step = next_try(GROUPED, tries, order, Floor(*floor))
            history.given_up[k] = isinstance(step, GiveUp) and not isinstance(step, AtRoundOff)
            history.reason[k] = step.reason if isinstance(step, GiveUp) else ""
            if isinstance(step, Refine):
                going[place] = True
                self.level[k] = _group(level, step.factor)
                self.to_round_off[k] = self.begun.residual > 0.0 == step.residual
        self.active[which] = going  # not before: an interruption must not make them look finished


def _group(level: int, factor: float) -> int:
    """The level of the group that a body goes on with, with at least this factor of steps."""
    rise = GROUPED_RISE * math.ceil(math.log(factor) / math.log(GROUPED.finer) / GROUPED_RISE)
    new = level + rise
    return new + -new % (2 * GROUPED_RISE) if rise > GROUPED_RISE else new


class History:
    """The last tries of every body: numbers of steps and estimates, the latest last."""

    def __init__(self, count: int) -> None:
        self.steps, self.error = (
            np.full((GROUPED.kept_tries, count), np.nan),
            np.full((GROUPED.kept_tries, count), np.nan),
        )
        self.follows = np.zeros((GROUPED.kept_tries, count), dtype=bool)
        self.tries, self.failures = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        self.least = np.zeros(count)
        """The least that the last estimate could have been."""
        self.rounded = np.zeros(count, dtype=bool)
        """Whether the last estimate may be made of round-off."""
        self.given_up = np.zeros(count, dtype=bool)
        """Whether more steps were in vain."""
        self.reason = np.full(count, "", dtype=object)
        """Why the search of a body ended above the tolerance."""

    def add(self, which: Any, steps: float, tried: TryResults) -> None:
        """Adds one more try of some bodies."""
        self.least[which] = tried.least
        self.rounded[which] = tried.error < GROUPED.rounded * tried.least
        for kept, new in ((self.steps, steps), (self.error, tried.error), (self.follows, tried.follows)):
            kept[:-1, which] = kept[1:, which]
            kept[-1, which] = new
        self.tries[which] += 1
        self.failures[which] += ~np.isfinite(tried.error)

    def order(self, which: Any, otherwise: float) -> Floats:
        """By which power of the steps the error fell in the last try; `otherwise` if that is not known."""
        pairs = np.concatenate([self.error[-2:, which], self.steps[-2:, which]]).T.reshape(-1, 4).tolist()
        return np.array([seen_order(GROUPED, otherwise, less, more, error, n) for error, less, n, more in pairs])

    def tries_of(self, which: Any, known: Tries) -> list[Tries]:
        """The tries of some bodies."""
        kept = [x[:, which].T.tolist() for x in (self.steps, self.error, self.follows)]
        counts = (self.tries[which].tolist(), self.failures[which].tolist())
        return [
            known._replace(last=tuple(map(Try, n, e, f))[-made:], made=made, failures=failures)
            for n, e, f, made, failures in zip(*kept, *counts, strict=True)
        ]

    def needed(self, rtol: float, order: float) -> Floats:
        """The steps that would do, as far as the tries show; NaN where nothing is known.

        Where the tolerance lies between the last two, they do. Else both errors may have been round-off, and nothing is
        foreseen but what the order of the method allows; from round-off itself nothing at all. A body that was given up
        needs no more than the steps of its best try.
        """
        last = np.where(np.isfinite(self.error[-1]), self.error[-1], np.nan)
        seen = self.order(slice(None), order)
        seen = np.where(self.error[-2] > rtol, seen, np.maximum(seen, 0.5 * order))
        needed = self.steps[-1] * (last / (GROUPED.wanted * rtol)) ** (1 / seen)
        failed = np.where(self.error > rtol, self.steps, 0.0)
        most = failed.max(axis=0)
        above = np.take_along_axis(self.error, failed.argmax(axis=0)[None], axis=0)[0]
        with np.errstate(invalid="ignore"):
            more = (above / (GROUPED.wanted * rtol)) ** (1 / max(order, 1.0))
            from_below = np.where(above < 0.1, most * more, np.inf)
        needed = np.where(self.rounded, np.minimum(needed, np.where(most > 0.0, from_below, 0.0)), needed)
        needed = np.maximum(needed, np.maximum(GROUPED.longest_descent * self.steps[-1], 1.05 * most))
        return np.asarray(np.where(self.given_up, self._best_steps(), needed))

    def _best_steps(self) -> Floats:
        """The steps of the best try of each body; NaN if all have failed."""
        error = np.where(np.isfinite(self.error), self.error, np.inf)
        best = error.argmin(axis=0)[None]
        found, steps = (np.take_along_axis(x, best, axis=0)[0] for x in (error, self.steps))
        return np.where(np.isfinite(found), steps, np.nan)
