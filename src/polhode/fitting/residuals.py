"""What the data differ by from a motion, in standard deviations, and how this changes with the parameters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from polhode.fitting.data import Measurements
from polhode.fitting.parameters import Change, NaturalSizes, Parameters, Trial, with_turned
from polhode.fitting.trial_motions import ExactMotions, Motion, SteppedMotions
from polhode.support.arrays import Floats, inverse, lengths, product, to_space, turn_of, vector_of

CHANGE = 1e-5
"""Differences are taken over changes of this size, of attitudes in rad and of rates relative to the largest: they err
by a sixth of its square, and by the round-off of a motion over it (docs/decisions/0019)."""
CHANGE_RANGE = (1e-6, 5e-5)
"""Changes outside of this range are computed again with other steps."""
MOST_ROUNDS = 8
"""How often steps of differences are chosen again."""
LARGEST_STEP = 0.5
"""The largest step of a difference, in natural sizes: what changes nothing over it is taken to have no influence."""


Observe = Callable[[Floats, Any, Floats, Floats], Any]


@dataclass(eq=False)
class Residuals:
    """Residuals of some data as a function of the parameters x, which change an origin."""

    data: Measurements
    """With all standard deviations."""
    parameters: Parameters
    origin: Trial
    sizes: NaturalSizes
    motions: ExactMotions | SteppedMotions
    steps: Floats
    """The steps of the differences, which are adapted as they are used."""
    observe: Observe | None = None
    """The function of times, attitudes, rates and numbers that should be y."""
    prior: Sequence[tuple[int, float, float]] = ()
    """What was known before: the number of a parameter, its value and its standard deviation."""
    evaluations: int = field(default=0)
    """How many motions were computed."""

    def __post_init__(self) -> None:
        data = self.data
        assert data.sigma_omega is not None
        assert data.sigma_attitude is not None
        self._sigma_omega = data.sigma_omega
        self._times, self._rows = np.unique(data.t, return_inverse=True)
        self._rates = data.has_omega
        self._seen = np.flatnonzero(data.has_attitude)
        self._measured = inverse(data.quaternion[self._seen])
        self._sigma = data.sigma_attitude[self._seen]
        self._watched = np.flatnonzero(data.has_y.any(axis=1))
        self._y, self._sigma_y = data.y[self._watched], data.sigma_y[self._watched]
        self._turned = np.union1d(self._seen, self._watched)
        """The rows in which the attitude matters."""

    @cached_property
    def places(self) -> dict[str, slice]:
        """Where the residuals of rates, attitudes, y and what was known before stand."""
        rates, turns = int(np.count_nonzero(self._rates)), 3 * self._seen.size
        counts = {"omega": rates, "attitude": turns, "y": int(self.data.has_y.sum()), "prior": len(self.prior)}
        ends = np.cumsum([0, *counts.values()]).tolist()
        return {name: slice(*ends[k : k + 2]) for k, name in enumerate(counts)}

    @property
    def count(self) -> int:
        """The number of residuals."""
        return int(self.places["prior"].stop)

    def moved(self, xs: Sequence[Floats]) -> Motion:
        """The motions with these parameters, with a row for each row of the data."""
        return self._motions_of([self._trial(x) for x in xs])

    def _motions_of(self, trials: Sequence[Trial | None]) -> Motion:
        good = [k for k, trial in enumerate(trials) if trial is not None]
        q, w = np.full((len(trials), self._rows.size, 4), np.nan), np.full((len(trials), self._rows.size, 3), np.nan)
        if good:
            self.evaluations += len(good)
            turns, rates = self.motions([trials[k] for k in good], self._times)  # type: ignore[misc]
            q[good], w[good] = turns[:, self._rows], rates[:, self._rows]
        return q, w

    def _trial(self, x: Floats) -> Trial | None:
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                return self.parameters.at(self.origin, x)
        except (ValueError, FloatingPointError, np.linalg.LinAlgError):
            return None  # no body or torque has such numbers

    def __call__(self, x: Floats) -> Floats:
        """The residuals, model minus data, in standard deviations; NaN if there is no such motion."""
        trial = self._trial(x)
        (q,), (w,) = self._motions_of([trial])
        if trial is None or not np.isfinite(w[0]).all():
            return np.full(self.count, np.nan)
        rates = (w * (1.0 + trial.scale) + trial.bias - self.data.omega) / self._sigma_omega
        parts = [rates[self._rates], (self._apart(q) / self._sigma).reshape(-1)]
        if self._watched.size:
            seen = (self._observed(trial, q[self._watched], w[self._watched]) - self._y) / self._sigma_y
            parts.append(seen[np.isfinite(self._y)])
        return np.concatenate([*parts, self._from_prior(trial)])

    def costs(self, trials: Sequence[Trial]) -> Floats:
        """Sums over the residuals of many motions, of which outliers decide nothing; infinite without a motion."""
        q, w = self._motions_of(trials)
        rates = (w - self.data.omega) / self._sigma_omega
        parts = [rates[:, self._rates]]
        apart = vector_of(
            product(np.broadcast_to(self._measured, (len(trials), *self._measured.shape)), q[:, self._seen])
        )
        parts.append((apart / self._sigma).reshape(len(trials), -1))
        if self._watched.size:
            assert self.observe is not None
            turns, rates_there = (np.nan_to_num(x[:, self._watched], nan=1.0) for x in (q, w))
            t = np.tile(self.data.t[self._watched], len(trials))
            flat = turns.reshape(-1, 4), rates_there.reshape(-1, 3)
            seen = observed(self.observe, t, flat[0], flat[1], trials[0].p, self._y.shape[1])
            y = seen.reshape(len(trials), *self._y.shape)
            parts.append(((y - self._y) / self._sigma_y)[:, np.isfinite(self._y)])
        r = np.concatenate(parts, axis=1)
        sums = np.log1p(r * r).sum(axis=1)
        return np.where(np.isfinite(sums) & np.isfinite(w[:, 0, 0]), sums, np.inf)

    def _observed(self, trial: Trial, q: Floats, w: Floats) -> Floats:
        """What the user's function makes of a motion, at the rows with y."""
        assert self.observe is not None
        return observed(self.observe, self.data.t[self._watched], q, w, trial.p, self._y.shape[1])

    def _from_prior(self, trial: Trial) -> Floats:
        values = self.parameters.values(trial) if self.prior else np.empty(0)
        return np.array([(values[k] - mean) / sd for k, mean, sd in self.prior])

    def _apart(self, q: Floats) -> Floats:
        """The turns from measured attitudes to those of a motion, about the body axes of the latter."""
        return vector_of(product(self._measured, q[self._seen]))

    def jacobian(self, x: Floats) -> Floats:
        """The derivatives of the residuals: of free motions in closed form, else central differences in one call."""
        trial = self._trial(x)
        tangent = self.parameters.tangent(self.origin, x) if isinstance(self.motions, ExactMotions) else None
        found = None if trial is None else self._differences(x) if tangent is None else self._exact(trial, tangent)
        if trial is None or found is None:
            return np.zeros((self.count, x.size))
        q, w, turns, rates = found
        scaled = rates * (1.0 + trial.scale)[:, None]
        for block, place in self.parameters.slices():
            if block.kind == "gyro.bias":
                scaled[:, :, place] = np.eye(3)
            elif block.kind == "gyro.scale":
                scaled[:, :, place] = w[..., None] * np.eye(3)
        made = [(scaled / self._sigma_omega[..., None])[self._rates]]
        if self._seen.size:
            own = np.swapaxes(turns[np.searchsorted(self._turned, self._seen)], 1, 2)
            apart = np.swapaxes(with_turned(self._apart(q)[:, None], own), 1, 2)
            made.append((apart / self._sigma[..., None]).reshape(-1, x.size))
        if self._watched.size:
            own = turns[np.searchsorted(self._turned, self._watched)]
            slopes = self._slopes_of_observed(trial, q[self._watched], w[self._watched], own, rates[self._watched])
            made.append((slopes / self._sigma_y[..., None])[np.isfinite(self._y)])
        if self.prior:
            steps = CHANGE * np.nan_to_num(self.parameters.scales(self.origin, self.sizes), nan=1.0)
            ends = [
                self._from_prior(self.parameters.at(self.origin, x + s * e)) for e in np.diag(steps) for s in (1, -1)
            ]
            made.append(((np.array(ends[::2]) - np.array(ends[1::2])) / (2.0 * steps[:, None])).T)
        whole = np.concatenate(made)
        whole[:, ~np.isfinite(whole).all(axis=0)] = 0.0
        return whole

    def _slopes_of_observed(self, trial: Trial, q: Floats, w: Floats, turns: Floats, rates: Floats) -> Floats:
        """The derivatives of y, (rows, numbers, parameters): by differences of the user's function, not of motions."""

        def between(step: float, change: Callable[[float], Trial]) -> Floats:
            return (self._observed(change(step), q, w) - self._observed(change(-step), q, w)) / (2.0 * step)

        # All changes of attitude and rate in one call, after each other: short calls cost what they begin with.
        pace = CHANGE * (self.sizes.rate or 1.0)
        sides = [sign * e for e in np.eye(3) for sign in (1.0, -1.0)]
        qs = [product(q, turn_of(CHANGE * e)[None]) for e in sides] + 6 * [q]
        ws = 6 * [w] + [w + pace * e for e in sides]
        assert self.observe is not None
        t, width = np.tile(self.data.t[self._watched], 12), self._y.shape[1]
        seen = observed(self.observe, t, np.concatenate(qs), np.concatenate(ws), trial.p, width).reshape(
            6, 2, -1, width
        )
        slopes = (seen[:, 0] - seen[:, 1]) / 2.0
        made = np.einsum("krm,rkn->rmn", slopes[:3] / CHANGE, turns) + np.einsum(
            "krm,rkn->rmn", slopes[3:] / pace, rates
        )
        for block, place in self.parameters.slices():
            for k in range(place.start, place.stop) if block.kind == "p" else ():
                e = np.zeros(block.size)
                e[k - place.start] = 1.0
                size = block.scales(trial, self.sizes)[k - place.start]
                step = CHANGE * (float(size) if np.isfinite(size) else 1.0)
                made[..., k] = between(step, lambda h, e=e, b=block: b.moved(trial, h * e))  # type: ignore[misc]
        return np.asarray(made)

    def _exact(self, trial: Trial, tangent: Change) -> tuple[Floats, Floats, Floats, Floats] | None:
        """Attitudes and rates, and how they change: turns in body axes, where attitudes matter, and rates."""
        assert isinstance(self.motions, ExactMotions)
        if (found := self.motions.derivatives(trial, tangent, self._times)) is None:
            return None
        self.evaluations += 1
        q, w, J = (values[self._rows] for values in found)
        turns = np.swapaxes(J[self._turned, :3], 1, 2)
        turns = to_space(inverse(q[self._turned])[:, None], turns)
        return q, w, np.swapaxes(turns, 1, 2), J[:, 3:]

    def _differences(self, x: Floats) -> tuple[Floats, Floats, Floats, Floats] | None:
        """The same by central differences, all motions in one call."""
        n = x.size
        turned, rated = np.zeros((self._turned.size, 3, n)), np.zeros((self._rows.size, 3, n))
        still = [place for block, place in self.parameters.slices() if block.moves_nothing]
        left = [k for k in range(n) if not any(place.start <= k < place.stop for place in still)]
        q, w = self.moved([x])
        for _ in range(MOST_ROUNDS):
            if not left:
                break
            shifts = [sign * self.steps[k] * np.eye(n)[k] for k in left for sign in (1.0, -1.0)]
            q, w = self.moved([x, *(x + shift for shift in shifts)])
            if not np.isfinite(w[0]).all():
                return None
            again = []
            for place, k in enumerate(left):
                ahead, behind = 1 + 2 * place, 2 + 2 * place
                rates = w[ahead] - w[behind]
                turns = vector_of(product(inverse(q[behind][self._turned]), q[ahead][self._turned]))
                change = self._change(rates, turns)
                if not CHANGE_RANGE[0] < change < CHANGE_RANGE[1] and self._adapt(k, change):
                    again.append(k)
                    continue
                turned[..., k], rated[..., k] = turns / (2.0 * self.steps[k]), rates / (2.0 * self.steps[k])
            left = again
        return q[0], w[0], turned, rated

    def _change(self, rates: Floats, turns: Floats) -> float:
        """The size of a difference of motions; NaN if one of the two does not exist."""
        sizes = [lengths(np.where(self._rates, rates, 0.0)) / max(self.sizes.rate, 1e-300), lengths(turns)]
        return float(max((size.max() for size in sizes if size.size), default=0.0))

    def _adapt(self, k: int, change: float) -> bool:
        """Chooses another step; returns False if it is as long as it may be."""
        before = self.steps[k]
        if not np.isfinite(change):
            factor = 1e-3
        elif change == 0.0:
            factor = 1e3
        else:
            factor = float(np.clip(CHANGE / change, 1e-3, 1e3))
        self.steps[k] = min(before * factor, LARGEST_STEP * self._scale(k))
        return bool(self.steps[k] != before)

    def _scale(self, k: int) -> float:
        scale = float(self.parameters.scales(self.origin, self.sizes)[k])
        return scale if np.isfinite(scale) else 1e30


def first_steps(parameters: Parameters, origin: Trial, sizes: NaturalSizes, t: Floats) -> Floats:
    """Steps of differences to begin with: a motion turns by its rate times the time."""
    scales = parameters.scales(origin, sizes)
    turned = 1.0 + sizes.rate * float(t[-1] - t[0])
    return np.asarray(np.where(np.isfinite(scales), scales, 1e-3) * CHANGE / turned)


def observed(observe: Observe, t: Floats, q: Floats, w: Floats, p: Floats, width: int) -> Floats:
    """What a function of the user's returns, (rows, width)."""
    from scipy.spatial.transform import Rotation

    returned = observe(t, Rotation.from_quat(q, scalar_first=True), w, p)
    if np.iscomplexobj(returned):
        raise TypeError("observe must return real numbers, not complex ones: return what is measured, as their np.abs")
    values = np.asarray(returned, dtype=np.float64)
    if values.shape != (t.size, width) and (values.shape != (t.size,) or width != 1):
        raise TypeError(
            f"observe returned an array of the shape {values.shape} for {t.size} times, and the data have "
            f"({t.size}, {width}): it gets arrays with a row for each time, and returns one"
        )
    return values.reshape(t.size, width)


def check_observed(residuals: Floats, rows: slice) -> None:
    """Raises a ValueError if the function that is observed has no value for the best motion that was found."""
    if (missing := ~np.isfinite(residuals[rows])).any():
        raise ValueError(
            f"observe is not finite in {np.count_nonzero(missing)} of {missing.size} numbers, also for the best motion "
            "that was found: it must return numbers, or the data must leave these rows out"
        )
