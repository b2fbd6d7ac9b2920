"""Noise, as measurements have it: rows that scatter at random about one motion of the body."""

import math
from typing import NamedTuple

import numpy as np

from polhode.referee.causes import LogBesideTruth
from polhode.referee.conventions import turn_vectors
from polhode.referee.truth import fitted, thinned
from polhode.support.arrays import Floats, dots, lengths, product, turn_of

LEAST_ROWS = 32
"""Noise is looked for in logs with this many rows at least."""
FIT_ROWS = 200
"""The motion behind the noise is fitted to about this many rows."""
BLOCKS = 8
"""Noise has the same size in this many parts of the log."""
LARGEST_DEVIATION = 6.0
"""No row deviates by more standard deviations than this."""
MOST_SIGMAS = 5.0
"""How many standard deviations a mean, a correlation or a variance may be from that of white noise."""
NEGLIGIBLE = 0.01
"""Errors of attitudes (in rad) or of rates (relative) below this share of the other's noise need not be noise."""
ALONG_MOTION = 0.2
"""Times scatter if deviations across the rotation are below this share of those along it."""


class Noise(NamedTuple):
    """White noise: its standard deviation in one component."""

    attitude: float
    """In rad; 0: there is none to be seen."""
    rate: float
    """Relative to the largest rate."""
    time: float = 0.0
    """In s. If not 0: times scatter, and attitudes and rates belong to other times than those beside them."""

    def __str__(self) -> str:
        parts = [f"attitudes by {math.degrees(self.attitude):.2g} degrees"] if self.attitude else []
        parts += [f"rates by {100 * self.rate:.2g} % of the largest"] if self.rate else []
        return " and ".join(parts)


def find_noise(trial: LogBesideTruth) -> Noise | None:
    """The noise of a log, if white noise about a motion from nearly the first row explains all errors."""
    if trial.t.size < LEAST_ROWS:
        return None
    q0, w0, size = trial.true.q[0], trial.true.w[0], trial.size
    parts = [name for name, values in (("attitude", trial.q), ("rate", trial.w)) if values is not None]
    floors = {"attitude": float(trial.limits.attitude[0]), "rate": float(trial.limits.rate[0])}

    def deviations(p: Floats, rows: slice | Floats = np.s_[:]) -> dict[str, Floats]:
        start = product(q0[None, :], turn_of(p[None, :3]))[0]
        true = trial.model.motion(trial.t[rows], start, w0 + size * p[3:])
        found = {}
        if trial.q is not None:
            found["attitude"] = turn_vectors(true.q, trial.q[rows])
        if trial.w is not None:
            found["rate"] = (trial.w[rows] - true.w) / size
        return found

    early = deviations(np.zeros(6), np.s_[: max(LEAST_ROWS, trial.t.size // 8)])
    sigma = {name: _scatter(early[name]) for name in parts}
    if all(sigma[name] <= 2.0 * floors[name] for name in parts):
        return None
    rows, p = thinned(trial.t.size, FIT_ROWS), np.zeros(6)
    for _ in range(2):
        weight = {name: 1.0 / max(sigma[name], floors[name], 1e-15) for name in parts}

        def residual(p: Floats, count: int, weight: dict[str, float] = weight) -> Floats:
            found = deviations(p, rows[:count])
            return np.concatenate([(weight[name] * found[name]).ravel() for name in parts])

        windows = sorted({min(16, rows.size), min(50, rows.size), rows.size})
        try:
            p = fitted(residual, np.full(6, 1e-2), windows, p)
            left = deviations(p)
        except (ValueError, np.linalg.LinAlgError):
            return None  # no such motion
        sigma = {name: float(np.sqrt(np.mean(left[name] ** 2))) for name in parts}
    largest = max(sigma.values())
    noisy = [name for name in parts if sigma[name] > max(2.0 * floors[name], NEGLIGIBLE * largest)]
    if not noisy:
        return None
    if trial.q is not None and (time := _scatter_of_times(trial, left["attitude"])):
        return Noise(sigma["attitude"], sigma.get("rate", 0.0), time)
    if not all(_is_white(left[name]) for name in noisy):
        return None
    for name in set(parts) - {*noisy}:
        if lengths(left[name]).max() > max(4.0 * floors[name] + 1e-12, LARGEST_DEVIATION * NEGLIGIBLE * largest):
            return None
    return Noise(*(sigma[name] if name in noisy else 0.0 for name in ("attitude", "rate")))


def _scatter(values: Floats) -> float:
    """The deviation of white noise in smooth values, by the median of third differences: jumps do not count."""
    d = np.diff(values, 3, axis=0)
    return float(np.median(np.abs(d))) / (0.6745 * math.sqrt(20.0))


def _scatter_of_times(trial: LogBesideTruth, turned: Floats) -> float:
    """The standard deviation of times, if the attitudes scatter along the rotation only; else 0."""
    speed = lengths(trial.true.w)
    along = dots(turned, trial.true.w) / np.maximum(speed, 1e-300)
    across = lengths(turned - along[:, None] * trial.true.w / np.maximum(speed, 1e-300)[:, None])
    size = float(np.sqrt(np.mean(along**2)))
    if float(np.sqrt(np.mean(across**2))) > ALONG_MOTION * size or not _is_uncorrelated(along[:, None]):
        return 0.0
    return float(np.sqrt(np.mean((along / np.maximum(speed, 1e-300)) ** 2)))


def _is_uncorrelated(values: Floats) -> bool:
    power = float((values**2).sum())
    return abs(float((values[1:] * values[:-1]).sum())) < MOST_SIGMAS * power / math.sqrt(values.size)


def _is_white(values: Floats) -> bool:
    """Whether values have no mean, no correlation from row to row, no outliers, and the same size all along."""
    n = len(values)
    sigma = np.sqrt(np.mean(values**2, axis=0))
    used = values[:, sigma > 1e-3 * sigma.max()]  # noise of one axis only is noise, too
    z = used / np.sqrt(np.mean(used**2, axis=0))
    if not _is_uncorrelated(z) or np.abs(z).max() > LARGEST_DEVIATION:
        return False
    if (np.abs(z.mean(axis=0)) > MOST_SIGMAS / math.sqrt(n)).any():
        return False
    for block in np.array_split(z, BLOCKS):
        if (np.abs(np.mean(block**2, axis=0) - 1.0) > MOST_SIGMAS * math.sqrt(2.0 / len(block)) + 0.2).any():
            return False
    return True
