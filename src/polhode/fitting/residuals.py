"""What the data differ by from a motion, in standard deviations, and how this changes with the parameters."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polhode.fitting.data import Measurements
from polhode.fitting.parameters import NaturalSizes, Parameters, Trial, with_turned
from polhode.fitting.trial_motions import ExactMotions, Motion, SteppedMotions
from polhode.support.arrays import Floats, inverse, lengths, product, to_space, vector_of

CHANGE = 1e-5
"""Differences are taken over changes of this size, of attitudes in rad and of rates relative to the largest: they err
by a sixth of its square, and by the round-off of a motion over it (docs/decisions/0019)."""
CHANGE_RANGE = (1e-6, 5e-5)
"""Changes outside of this range are made anew with other steps."""
MOST_ROUNDS = 8
"""How often steps of differences are chosen anew."""
LARGEST_STEP = 0.5
"""The largest step of a difference, in natural sizes: what changes nothing over it is taken to have no influence."""


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

    @property
    def count(self) -> int:
        """The number of residuals."""
        return int(np.count_nonzero(self._rates)) + 3 * self._seen.size

    @property
    def of_rates(self) -> slice:
        """Where those of the rates stand; those of the attitudes follow."""
        return slice(0, int(np.count_nonzero(self._rates)))

    def moved(self, xs: Sequence[Floats]) -> Motion:
        """The motions with these parameters, with a row for each row of the data."""
        trials = [self._trial(x) for x in xs]
        good = [k for k, trial in enumerate(trials) if trial is not None]
        q, w = np.full((len(xs), self._rows.size, 4), np.nan), np.full((len(xs), self._rows.size, 3), np.nan)
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
        q, w = self.moved([x])
        return self._compared(q[0], w[0])

    def _compared(self, q: Floats, w: Floats) -> Floats:
        rates = (w - self.data.omega) / self._sigma_omega
        return np.concatenate([rates[self._rates], (self._apart(q) / self._sigma).reshape(-1)])

    def _apart(self, q: Floats) -> Floats:
        """The turns from measured attitudes to those of a motion, about the body axes of the latter."""
        return vector_of(product(self._measured, q[self._seen]))

    def jacobian(self, x: Floats) -> Floats:
        """The derivatives of the residuals: of free bodies in closed form, else central differences in one call."""
        tangent = self.parameters.tangent(self.origin, x) if isinstance(self.motions, ExactMotions) else None
        if tangent is None:
            return self._differences(x)
        trial = self._trial(x)
        found = None if trial is None else self.motions.derivatives(trial, tangent, self._times)  # type: ignore[union-attr]
        if found is None:
            return np.zeros((self.count, x.size))
        self.evaluations += 1
        q, J = (values[self._rows] for values in found)
        made = (J[:, 3:] / self._sigma_omega[..., None])[self._rates]
        if self._seen.size:
            apart, turns = self._apart(q)[:, None], np.swapaxes(J[self._seen, :3], 1, 2)
            back = np.broadcast_to(inverse(q[self._seen])[:, None], (*turns.shape[:2], 4))
            turns = to_space(back.reshape(-1, 4), turns.reshape(-1, 3)).reshape(turns.shape)  # in body axes
            seen = np.swapaxes(with_turned(apart, turns), 1, 2) / self._sigma[..., None]
            made = np.concatenate([made, seen.reshape(-1, x.size)])
        made[:, ~np.isfinite(made).all(axis=0)] = 0.0
        return made

    def _differences(self, x: Floats) -> Floats:
        n = x.size
        made = np.full((self.count, n), np.nan)
        left = list(range(n))
        for _ in range(MOST_ROUNDS):
            if not left:
                break
            shifts = [sign * self.steps[k] * np.eye(n)[k] for k in left for sign in (1.0, -1.0)]
            q, w = self.moved([x, *(x + shift for shift in shifts)])
            if not np.isfinite(w[0]).all():
                break
            apart = self._apart(q[0])
            again = []
            for place, k in enumerate(left):
                ahead, behind = 1 + 2 * place, 2 + 2 * place
                rates = w[ahead] - w[behind]
                turns = vector_of(product(inverse(q[behind][self._seen]), q[ahead][self._seen]))
                change = self._change(rates, turns)
                if not CHANGE_RANGE[0] < change < CHANGE_RANGE[1] and self._adapt(k, change):
                    again.append(k)
                    continue
                scaled = rates / self._sigma_omega
                seen = with_turned(apart, turns) / self._sigma
                made[:, k] = np.concatenate([scaled[self._rates], seen.reshape(-1)]) / (2.0 * self.steps[k])
            left = again
        made[:, np.isnan(made).any(axis=0)] = 0.0
        return made

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


def split(residuals: Residuals, values: Any) -> tuple[Floats, Floats]:
    """The residuals of the rates and those of the attitudes."""
    place = residuals.of_rates
    return values[place], values[place.stop :]
