"""The search for the parameters: least squares over a span that grows as the motion becomes known.

Over many turns the sum of squares has a minimum for every turn that a motion can be ahead or behind. A short span has
one. Its covariance says how far ahead the motion is known to a fraction of a turn, and so far the next span may reach.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from polhode.body import Body
from polhode.fitting.data import Measurements
from polhode.fitting.determined import Split, split_directions
from polhode.fitting.parameters import NaturalSizes, Parameters, Trial, _like
from polhode.fitting.residuals import Observe, Residuals, first_steps
from polhode.fitting.start import moments_of_free_motion, turned_attitudes
from polhode.fitting.trial_motions import ExactMotions, SteppedMotions
from polhode.support.arrays import Floats, inverse, lengths, product, vector_of

FIRST_TURN_RAD = 2.0
"""The first span is that over which the body turns by about this angle."""
KNOWN_RAD = 0.3
"""A span may reach as far as the motion is known to this angle, or its rates to this fraction: one standard error."""
LEAST_GROWTH, MOST_GROWTH = 1.3, 4.0
"""A span becomes at least and at most this many times as long."""
GOOD_MISFIT = 2.0
"""Residuals of this typical size, in standard deviations, are still taken for noise."""
GOOD_FRACTION = 0.1
"""Where no standard deviation is known, residuals up to this fraction of the rates, or rad, are taken for noise."""
FIRST_SIGMA = 0.02
"""A standard deviation that is not known is first taken to be this fraction of the rates, or rad."""
LEAST_SIGMA = 1e-14
"""The least standard deviation that residuals are taken to show: round-off, relative to the rates, or rad."""
DRAWN_BODIES, DRAWN_MOMENTS = 300, 0.2
"""Bodies among the starts of a search from nothing, and by how much the logarithms of their moments differ."""
OTHER_STARTS = 3
"""Where no good fit was found, the search begins again from this many other bodies."""
MOST_DRAWS = 3
"""How often a search from nothing draws its starts, at most."""
ENOUGH_NOISE, MOST_NOISE = 1.0, 3.0
"""A search from nothing looks at all starts of a draw unless chi-square is beyond its mean by fewer standard deviations
than the first, for motions that look nearly alike have more; beyond the second it draws again."""
SAME_COST = 1e-3
"""Two searches whose costs differ by less, relatively, have ended in the same place."""
TRIED_BODIES, TRIED_CHANGE, TRIED_EVALUATIONS = 3, 0.3, 8
"""Whether the data know the inertia is tried with other bodies: how many, by how much they differ, and how many steps
of least squares the other parameters get."""
LEAST_APART = 0.1
"""Bodies whose ratios of moments differ by less than this fraction are the same body in this test."""
NOISE_CHI2 = 20.0
"""If chi-square is greater by less than this with most of them, the inertia was fitted to noise: the deepest of the
hundred or so dips that noise has in it lies about ten below the others."""
ROUNDS, STACK, REFINED_STEPS = ((10.0, 0.0075), (20.0, 0.003), (40.0, 0.0006)), 2000, 25
"""The rounds of a search from nothing: about what angle they look at, and which share of the best goes on. Motions
that were drawn are compared so many at a time, and those that are left are refined in so many steps."""
MOST_STAGES = 100
"""The growth of the span ends here in any case."""
STAGE_EVALUATIONS, MOST_SCALES = 25, 4
"""The most steps of least squares for a span that is not the last, with each scale of its loss, and of such scales."""
MOST_EVALUATIONS = 60
"""The most steps of least squares for all data."""
MOST_ROUNDS = 6
"""How often parameters, standard deviations and what is determined are found from each other, at most."""


@dataclass(eq=False)
class BestFit:
    """Parameters that fit the data, and how well."""

    trial: Trial
    data: Measurements
    """With standard deviations."""
    residuals: Floats
    jacobian: Floats
    directions: Split
    cost: float
    """What is compared between searches: the sum of losses, or a size of residuals without known deviations."""
    converged: bool
    message: str
    evaluations: int = 0
    spans: list[float] = field(default_factory=list)
    """The ends of the spans that were fitted, one after the other, in s."""
    places: dict[str, slice] = field(default_factory=dict)
    """Where the residuals of each kind of data stand."""


class SearchEnd(NamedTuple):
    """Where a search ended."""

    x: Floats
    converged: bool
    message: str


@dataclass(eq=False)
class ParameterSearch:
    """Everything that the search knows besides the place where it begins."""

    data: Measurements
    parameters: Parameters
    sizes: NaturalSizes
    motions: ExactMotions | SteppedMotions
    loss: str
    loss_scale: float
    grow: bool
    observe: Observe | None = None
    prior: Sequence[tuple[int, float, float]] = ()
    _evaluations: int = 0

    def from_anywhere(self, draw: Callable[[], Sequence[Trial]]) -> BestFit:
        """The best fit from motions that are drawn, and drawn again where the first ones lead to no good fit."""
        best: BestFit | None = None
        for _ in range(MOST_DRAWS):
            for trial in self._best_over_turns(draw()):
                made = self._from(trial)
                best = made if best is None or made.cost < best.cost else best
                if self._is_noise(best, ENOUGH_NOISE):
                    break
            if best is not None and self._is_noise(best, MOST_NOISE):
                break
        if best is None:
            raise ValueError(
                "none of the starts that were drawn has a motion of which observe is finite: give a smaller range of "
                "rates"
            )
        return replace(best, evaluations=self._evaluations)

    def _best_over_turns(self, trials: Sequence[Trial]) -> list[Trial]:
        """Some of many starts: those go on that are best over a few turns, then over more."""
        left = list(trials)
        for turn, share in ROUNDS:
            kept = math.ceil(share * len(trials))
            data = self._with_sigma(self.data.until(self._first_rows(turn)), None)
            self.motions.prepare(left[0], data.t)
            if left[0] is trials[0]:
                stacks = [left[k : k + STACK] for k in range(0, len(left), STACK)]
                costs = np.concatenate([self._residuals(data, left[0]).costs(stack) for stack in stacks])
                left = [left[k] for k in np.argsort(costs)[:kept].tolist() if np.isfinite(costs[k])]
            found = list[tuple[float, Trial]]()
            for trial in left:
                work, sizes = self._residuals(data, trial), self.parameters.scales(trial, self.sizes)
                natural = np.diag(np.where(np.isfinite(sizes), sizes, 1.0))
                x = self._reduced(work, np.zeros(self.parameters.count), natural, REFINED_STEPS).x
                found.append((self._total(work(x)), self.parameters.at(trial, x)))
            found.sort(key=lambda one: one[0])
            ends = [-math.inf, *(cost for cost, _ in found)]  # searches of one cost have ended in the same place
            left = [one for k, (cost, one) in enumerate(found) if cost - ends[k] > SAME_COST * cost][:kept]
        return left

    def __call__(self, starts: Sequence[Trial], bodies: Sequence[Body]) -> BestFit:
        """The best fit from these starts, among which the first span decides; if none is good, from other bodies."""
        best = self._from(self._best_start(starts))
        if self._is_good(best) or not self._has_inertia:
            return replace(best, evaluations=self._evaluations)
        for body in bodies:
            found = self._from(self._best_start([replace(one, body=body) for one in starts]))
            agree = abs(found.cost - best.cost) < SAME_COST * best.cost
            if found.cost < best.cost:
                best = found
            if agree or self._is_good(best):  # where two searches end, the data lie, not the search
                break
        return replace(best, evaluations=self._evaluations)

    @property
    def _has_inertia(self) -> bool:
        return self.parameters.has("moments", "ratios", "inertia")

    def _is_good(self, found: BestFit) -> bool:
        """Whether residuals are of the size of noise."""
        rates, attitudes, y = (found.residuals[found.places[name]] for name in ("omega", "attitude", "y"))
        if y.size and typical(y) > GOOD_MISFIT:
            return False
        for values, known, sigma, size in (
            (rates, self.data.sigma_omega, found.data.sigma_omega, self.sizes.rate),
            (attitudes, self.data.sigma_attitude, found.data.sigma_attitude, 1.0),
        ):
            if not values.size:
                continue
            if known is not None and typical(values) > GOOD_MISFIT:
                return False
            assert sigma is not None
            if known is None and typical(values) * float(np.nanmedian(sigma)) > GOOD_FRACTION * size:
                return False
        return True

    def _is_noise(self, found: BestFit, most: float) -> bool:
        """Whether residuals are noise, with a chi-square above its mean by fewer standard deviations than `most`."""
        y = found.residuals[found.places["y"]]
        freedom = max(y.size - self.parameters.count, 1)
        few = self.loss != "linear" or float(y @ y) < freedom + most * math.sqrt(2.0 * freedom)
        return few and self._is_good(found)

    # --- one search

    def _best_start(self, starts: Sequence[Trial]) -> Trial:
        """The start whose motion is nearest to the first data."""
        if len(starts) == 1:
            return starts[0]
        rows = self._first_rows()
        data = self._with_sigma(self.data.until(rows), None)
        costs = []
        for trial in starts:
            try:
                self.motions.prepare(trial, data.t)
                r = self._residuals(data, trial)(np.zeros(self.parameters.count))
            except ValueError:
                r = np.full(1, np.nan)
            cost = float(np.sum(np.log1p(r * r)))  # outliers decide nothing
            costs.append(cost if np.isfinite(cost) else np.inf)
        return starts[int(np.argmin(costs))]

    def _from(self, start: Trial) -> BestFit:
        """The fit from one start: over spans that grow, and then over all data."""
        x, spans = np.zeros(self.parameters.count), list[float]()
        known: tuple[float, float] | None = None
        total, rows = self.data.t.size, self._first_rows() if self.grow else self.data.t.size
        prior = self._prior(start)
        behind, tries = 0, 0
        for _ in range(MOST_STAGES):
            if rows >= total:
                break
            data = self._with_sigma(self.data.until(rows), known)
            self.motions.prepare(self.parameters.at(start, x), data.t)
            work = self._residuals(data, start)
            fitted, ok = self._least_squares(work, x, prior)
            r = work(fitted)
            good = ok and (self._estimated() or typical(r) < 2.0 * GOOD_MISFIT)
            if not good and behind and tries < 3 and rows > behind + 1:
                rows, tries = (rows + behind) // 2, tries + 1  # a shorter extension of what fitted
                continue
            x, tries, behind = fitted, 0, rows
            spans.append(float(data.t[-1]))
            known = self._shown_sigma(work, r, known)
            rows = self._next_rows(work, x, prior, rows, known)
        found = self._whole(self.parameters.at(start, self._as_in_guess(start, x, known)), known)
        if not self._is_good(found):  # what looked undetermined from here was not
            unheld = self._whole(self.parameters.at(start, x), known)
            found = unheld if unheld.cost < found.cost else found
        found = self._without_noise(found, start)
        return replace(found, spans=[*spans, float(self.data.t[-1])], evaluations=self._evaluations)

    def _as_in_guess(self, start: Trial, x: Floats, known: tuple[float, float] | None) -> Floats:
        """X without its part along directions that the data do not determine, which shorter spans moved."""
        data = self._with_sigma(self.data, known)
        self.motions.prepare(self.parameters.at(start, x), data.t)
        work = self._residuals(data, start)
        directions = split_directions(work.jacobian(x), self.parameters.scales(start, self.sizes))
        self._evaluations += work.evaluations
        natural = x / directions.scales
        return np.asarray(x - directions.scales * (directions.null @ (directions.null.T @ natural)))

    def _without_noise(self, found: BestFit, guess: Trial) -> BestFit:
        """The fit with the inertia of the guess, if others would do as well: then it was fitted to noise.

        A body that turns about a principal axis shows nothing of its moments. Its noise has a wobble of any frequency,
        and the Jacobian at the moments that fit one of them best looks as if they were known.
        """
        frozen = np.zeros(self.parameters.count, dtype=bool)
        for block, place in self.parameters.slices():
            frozen[place] = block.is_inertia or block.kind == "axes"
        if not frozen.any():
            return found
        work, least = self._residuals(found.data, found.trial), self._total(found.residuals)
        others = self._split(np.where(frozen, 0.0, found.jacobian), found.trial, None).basis
        # The guess is one of the other bodies, unless it is the same.
        other = replace(found.trial, body=guess.body, axes_turn=guess.axes_turn)
        if (
            _apart(found.trial.body, guess.body) > LEAST_APART
            and self._total(self._refitted(self._residuals(found.data, other), np.zeros(frozen.size), others)) - least
            < NOISE_CHI2
        ):
            return self._whole(other, self._as_known(found.data) if self._estimated() else None, frozen)
        rng = np.random.default_rng(2013)
        unlike = 0
        for _ in range(TRIED_BODIES):
            step = np.where(frozen, rng.standard_normal(frozen.size), 0.0)
            step *= TRIED_CHANGE / np.linalg.norm(step - step.mean(where=frozen) * frozen)
            unlike += self._total(self._refitted(work, step, others)) - least >= NOISE_CHI2
            if 2 * unlike > TRIED_BODIES:
                return found
        return self._whole(other, self._as_known(found.data) if self._estimated() else None, frozen)

    def _refitted(self, work: Residuals, x: Floats, others: Floats) -> Floats:
        """The residuals after some steps of least squares along the directions of the other parameters."""
        return work(self._reduced(work, x, others, TRIED_EVALUATIONS).x)

    def _total(self, r: Floats) -> float:
        return float(np.sum(_losses(r, self.loss, self.loss_scale))) if np.isfinite(r).all() else np.inf

    def _whole(self, trial: Trial, known: tuple[float, float] | None, frozen: Any = None) -> BestFit:
        """The fit to all data, in the directions that they determine; frozen parameters stay."""
        estimated, x = self._estimated(), np.zeros(self.parameters.count)
        for _ in range(MOST_ROUNDS):
            data = self._with_sigma(self.data, known)
            self.motions.prepare(trial, data.t)
            work = self._residuals(data, trial)
            directions = self._split(work.jacobian(x), trial, frozen)
            made = self._reduced(work, x, directions.basis)
            trial = self.parameters.at(trial, made.x)
            rank = directions.basis.shape[1]
            before, known = known, self._shown_sigma(work, work(made.x), known, rank) if estimated else known
            data = self._with_sigma(self.data, known)
            work = self._residuals(data, trial)
            jacobian, r = work.jacobian(x), work(x)
            self._evaluations += work.evaluations
            directions = self._split(jacobian, trial, frozen)
            settled = not estimated or (before is not None and np.allclose(before, known or 0.0, rtol=1e-3))
            if settled and directions.basis.shape[1] == rank:
                break
        cost = self._size_of_misfit(work, r) if estimated else self._total(r)
        return BestFit(trial, data, r, jacobian, directions, cost, made.converged, made.message, places=work.places)

    def _split(self, jacobian: Floats, trial: Trial, frozen: Any) -> Split:
        moving = jacobian if frozen is None else np.where(frozen, 0.0, jacobian)
        return split_directions(moving, self.parameters.scales(trial, self.sizes))

    def _as_known(self, data: Measurements) -> tuple[float, float]:
        """Standard deviations of data as they are estimated: relative to the rates, and in rad."""
        assert data.sigma_omega is not None
        assert data.sigma_attitude is not None
        rate, angle = (float(np.nanmedian(sigma)) for sigma in (data.sigma_omega, data.sigma_attitude))
        return rate / (self.sizes.rate or 1.0), angle

    def _size_of_misfit(self, work: Residuals, r: Floats) -> float:
        """A size of residuals that does not depend on standard deviations which were made from them."""
        rates, attitudes, y = (r[work.places[name]] for name in ("omega", "attitude", "y"))
        assert work.data.sigma_omega is not None
        assert work.data.sigma_attitude is not None
        total = typical(y)
        if rates.size:
            total += typical(rates) * float(np.nanmedian(work.data.sigma_omega)) / max(self.sizes.rate, 1e-300)
        if attitudes.size:
            total += typical(attitudes) * float(np.nanmedian(work.data.sigma_attitude))
        return total

    # --- least squares

    def _residuals(self, data: Measurements, origin: Trial) -> Residuals:
        steps = first_steps(self.parameters, origin, self.sizes, data.t)
        return Residuals(
            data, self.parameters, origin, self.sizes, self.motions, steps, self.observe, self.prior
        )  # fmt: skip

    def _prior(self, start: Trial) -> Floats:
        """How much is known of x before any data, as standard deviations; infinite where nothing is."""
        scales = self.parameters.scales(start, self.sizes)
        return np.where(np.isfinite(scales) & (scales > 0.0), scales, np.inf)

    def _least_squares(self, work: Residuals, x: Floats, prior: Floats) -> tuple[Floats, bool]:
        """The best x of a span, held in place by what was known before, and whether it was found.

        Outliers weigh more in a short span than in the whole, so that a robust loss is used in any case: one with a
        single minimum, on the scale of the residuals at first.
        """
        from scipy.optimize import least_squares

        weights = np.diag(1.0 / prior)

        def both(y: Floats) -> Floats:
            return np.concatenate([work(y), y / prior])

        def slopes(y: Floats) -> Floats:
            return np.concatenate([work.jacobian(y), weights])

        if not np.isfinite(both(x)).all():
            return x, False
        ended = False
        for _ in range(MOST_SCALES):
            scale = max(self.loss_scale, typical(work(x)))
            made = least_squares(
                both, x, jac=slopes, x_scale="jac", loss="soft_l1", f_scale=scale, max_nfev=STAGE_EVALUATIONS,
                xtol=1e-6, ftol=1e-5,
            )  # fmt: skip
            x, ended = made.x, made.status > 0
            if typical(work(x)) > 0.5 * scale or scale == self.loss_scale:
                break
        self._evaluations += work.evaluations
        return x, ended

    def _reduced(self, work: Residuals, x: Floats, basis: Floats, most: int = MOST_EVALUATIONS) -> SearchEnd:
        """The best x along the directions of a basis."""
        from scipy.optimize import least_squares

        if basis.shape[1] == 0:
            return SearchEnd(x, True, "the data determine none of the parameters")
        if not np.isfinite(work(x)).all():
            return SearchEnd(x, False, "there is no motion with these parameters")

        def along(z: Floats) -> Floats:
            return work(x + basis @ z)

        def slopes(z: Floats) -> Floats:
            return np.asarray(work.jacobian(x + basis @ z) @ basis)

        made = least_squares(
            along, np.zeros(basis.shape[1]), jac=slopes, x_scale="jac", loss=self.loss, f_scale=self.loss_scale,  # type: ignore[arg-type]
            max_nfev=most, xtol=1e-12, ftol=1e-12, gtol=1e-12,
        )  # fmt: skip
        self._evaluations += work.evaluations
        return SearchEnd(x + basis @ made.x, bool(made.status > 0), str(made.message))

    # --- spans

    def _first_rows(self, turn: float = FIRST_TURN_RAD) -> int:
        """The number of rows of the first span, over which the body turns by about this angle."""
        t = self.data.t
        near = int(np.searchsorted(t, t[0] + turn / max(self.sizes.rate, 1e-300), side="right"))
        data = self.data
        measured = np.cumsum(data.has_omega.sum(axis=1) + 3 * data.has_attitude + data.has_y.sum(axis=1))
        each = 2 if self.loss == "linear" else 4  # where there are outliers, one must not be half of the data
        enough = int(np.searchsorted(measured, each * self.parameters.count + 1)) + 1
        return int(min(t.size, max(near, enough, 2)))

    def _next_rows(
        self, work: Residuals, x: Floats, prior: Floats, rows: int, known: tuple[float, float] | None
    ) -> int:
        """The number of rows of the next span: as far as the motion is known."""
        t, total = self.data.t, self.data.t.size
        span = float(t[rows - 1] - t[0])

        def row_after(factor: float) -> int:
            return int(np.searchsorted(t, t[0] + factor * span, side="right"))

        least = min(total, max(rows + 1, row_after(LEAST_GROWTH)))
        most = min(total, max(least, row_after(MOST_GROWTH)))
        if least == most:
            return least
        information = work.jacobian(x)
        precision = information.T @ information + np.diag(prior**-2.0)
        size = np.where(np.isfinite(prior), prior, 1.0 / np.sqrt(np.maximum(np.diag(precision), 1e-300)))
        values, vectors = np.linalg.eigh(precision * np.outer(size, size))
        errors = (vectors / np.sqrt(np.maximum(values, 1e-14 * values.max()))).T * size
        # What the motion would do with parameters that are one standard error off, along each principal direction.
        far = self._with_sigma(self.data.until(most), known)
        ahead = self._residuals(far, work.origin)
        self.motions.prepare(self.parameters.at(work.origin, x), far.t)
        small = 1e-3
        q, w = ahead.moved([x, *(x + small * error for error in errors)])
        self._evaluations += ahead.evaluations
        turns = vector_of(product(inverse(q[:1]), q[1:])) / small
        rates = (w[1:] - w[:1]) / small / max(self.sizes.rate, 1e-300)
        has_rates = self.data.has_omega[:most].any(axis=1)
        has_turns = (self.data.has_attitude | self.data.has_y.any(axis=1))[:most]
        spread = np.zeros(most)
        with np.errstate(invalid="ignore"):
            spread[has_rates] = np.sqrt((rates**2).sum(axis=(0, 2)))[has_rates]
            of_turns = np.sqrt((turns**2).sum(axis=(0, 2)))
            spread[has_turns] = np.maximum(spread, of_turns)[has_turns]
        beyond = np.flatnonzero(~(spread <= KNOWN_RAD))
        return int(np.clip(beyond[0] if beyond.size else most, least, most))

    # --- standard deviations

    def _estimated(self) -> bool:
        """Whether a standard deviation that is needed is not known."""
        rates = bool(self.data.has_omega.any()) and self.data.sigma_omega is None
        return rates or (bool(self.data.has_attitude.any()) and self.data.sigma_attitude is None)

    def _with_sigma(self, data: Measurements, known: tuple[float, float] | None) -> Measurements:
        rate, angle = (FIRST_SIGMA, FIRST_SIGMA) if known is None else known
        return data.with_sigma(np.array(rate * (self.sizes.rate or 1.0)), np.array(angle))

    def _shown_sigma(
        self, work: Residuals, r: Floats, known: tuple[float, float] | None, fitted: int | None = None
    ) -> tuple[float, float]:
        """The standard deviations that residuals show, relative to the rates and in rad."""
        rate, angle = (FIRST_SIGMA, FIRST_SIGMA) if known is None else known
        used = (self.parameters.count if fitted is None else fitted) / max(1, r.size)
        free = max(1.0 - used, 1.0 / max(2, r.size))
        rates, attitudes = r[work.places["omega"]], r[work.places["attitude"]]

        def factor(values: Floats) -> float:
            if self.loss == "linear" and fitted is not None:
                return float(np.sqrt(np.mean(values**2) / free))
            return float(typical(values) / np.sqrt(free))

        if rates.size:
            rate = max(LEAST_SIGMA, rate * factor(rates))
        if attitudes.size:
            angle = max(LEAST_SIGMA, angle * factor(attitudes))
        return rate, angle


def _apart(a: Body, b: Body) -> float:
    """By what fraction two bodies differ, but for their scale."""
    factors = np.log(np.abs(np.linalg.eigvals(np.linalg.solve(a.tensor, b.tensor))))
    return float(np.linalg.norm(factors - factors.mean()))


def _losses(r: Floats, loss: str, scale: float) -> Floats:
    """The loss of each residual."""
    z = (r / scale) ** 2
    root = np.sqrt(1.0 + z)
    losses = {
        "linear": z,
        "soft_l1": 2.0 * (root - 1.0),
        "huber": np.where(z <= 1.0, z, 2.0 * np.sqrt(z) - 1.0),
        "cauchy": np.log1p(z),
        "arctan": np.arctan(z),
    }
    return np.asarray(losses[loss] * scale**2)


def typical(r: Floats) -> float:
    """The size of most residuals: one standard deviation, if they are normally distributed."""
    return float(np.median(np.abs(r)) / 0.6745) if r.size else 0.0


def starts_of(
    guess: Trial, omegas: Sequence[Floats], parameters: Parameters, *, omega_given: bool, attitude_known: bool,
    observes: bool,
) -> list[Trial]:  # fmt: skip
    """The starts that the first span decides between."""
    trials = [guess] if omega_given or not parameters.has("omega") else []
    if parameters.has("omega"):
        trials += [replace(guess, omega=omega) for omega in omegas]
    trials = trials or [guess]
    acts = guess.torque is not None and bool(guess.torque.depends)
    reads_attitude = observes or (acts and guess.torque is not None and guess.torque.reads_attitude)
    if parameters.has("attitude") and not attitude_known and reads_attitude:
        trials += [replace(one, quaternion=q) for one in trials[:1] for q in turned_attitudes()[1:]]
    return trials


def anywhere(
    guess: Trial, parameters: Parameters, rates: tuple[float, float], count: int, rng: np.random.Generator
) -> list[Trial]:
    """Starts drawn at random: rates between two, in all directions, all attitudes, and moments near the guess."""
    size = np.exp(rng.uniform(np.log(rates[0]), np.log(rates[1]), (count, 1)))
    omegas, turns = (x / lengths(x)[:, None] for x in (rng.normal(size=(count, 3)), rng.normal(size=(count, 4))))
    bodies = [guess.body]
    if parameters.has("moments", "ratios", "inertia"):
        moments = guess.body.moments * np.exp(DRAWN_MOMENTS * rng.standard_normal((DRAWN_BODIES, 3)))
        bodies += [_like(guess.body, (guess.body.axes * m) @ guess.body.axes.T) for m in moments]
        bodies = [body for body in bodies if body.physical]
    return [
        replace(guess, body=bodies[k % len(bodies)], omega=w, quaternion=q)
        for k, (w, q) in enumerate(zip(size * omegas, turns, strict=True))
    ]


def other_bodies(data: Measurements, guess: Trial, parameters: Parameters, *, is_free: bool) -> list[Body]:
    """Bodies from which a search begins again if that from the guess found no good fit."""
    found = []
    if is_free and not guess.body.has_rotor and (body := moments_of_free_motion(data, guess.body, parameters)):
        found.append(body)
    rng = np.random.default_rng(2001)
    for _ in range(OTHER_STARTS):
        moments = guess.body.moments * np.exp(0.3 * rng.standard_normal(3))
        found.append(_like(guess.body, (guess.body.axes * moments) @ guess.body.axes.T))
    return found
