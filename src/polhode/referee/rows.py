"""Rows beside each other: where a log leaves its own motion, and whether its rates are those of its attitudes."""

import itertools
import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from polhode.referee.causes import EXPLAINED, FAIR, LogBesideTruth
from polhode.referee.conventions import (
    MOST_STEPS,
    STEP_ANGLE,
    Convention,
    ahead,
    differentiated,
    find_convention,
    turn_vectors,
)  # fmt: skip
from polhode.referee.truth import thinned
from polhode.support.arrays import Floats, lengths, to_space

JUMP = 30.0
"""A row that is this many times farther than usual from where the one before leads has jumped."""
LEAST_DEFECT = 1e-5
"""Smaller differences from the prediction of the row before, relative to the motion between the rows, are ignored."""
LEAST_DAMAGE = 1e-4
"""Rates that differ less than this from those of the attitudes, relative to the largest, are not held against a log."""
LONGEST_EXCURSION = 3
"""Rows that leave the motion and come back are at most this many."""
BESIDE = 5
"""Rows before and after a change that are compared."""
LEAST_PART = 12
"""A part of a log has a convention of its own if it has this many rows at least."""
MAPPED_ROWS = 150
"""Rates are compared with those of the attitudes in about this many rows."""
MOST_TORQUED_ROWS = 20_000
"""Most rows that are compared under a torque, which is called in plain Python."""
LINEAR = 0.05
"""Errors of attitudes up to this many radians are the integral of those of rates."""
SUDDEN, WHOLE = 0.3, 0.9
"""The share of an error that appears from one row to the next, if it is no error of integration; in the first rows a
multistep method that begins with Euler's method may have more."""
APART = 10.0
"""Rates are wrong if they lead to errors of attitudes that are this many times those of the log."""


def defects(trial: LogBesideTruth, begin: Any, end: Any) -> Floats:
    """How far rows are from where others lead: attitudes in rad and relative rates, root of the sum of squares."""
    assert trial.w is not None
    begin, end = np.atleast_1d(begin), np.atleast_1d(end)
    q, t, model = trial.true.q if trial.q is None else trial.q, trial.t, trial.model
    gaps = t[end] - t[begin]
    steps = min(MOST_STEPS, max(1, math.ceil(trial.size * float(np.median(np.abs(gaps))) / STEP_ANGLE)))
    q1, w1 = ahead(model.body, model.torque, t[begin], q[begin], trial.w[begin], gaps, steps, trial.carried)
    off = lengths(w1 - trial.w[end]) / trial.size
    if trial.q is not None:
        off = np.hypot(off, lengths(turn_vectors(q1, trial.q[end])))
    return np.where(np.isfinite(off), off, np.pi)


class Break(NamedTuple):
    """A place where a log leaves its own motion."""

    row: int
    """The first row after it."""
    rows: Any
    """The rows that are wrong, as a slice; None: only the place itself is."""
    size: float
    """How far that row is from where the one before leads, in rad or relative to the largest rate."""
    places: int = 1
    back: int | None = None
    """The row with which the log is back on its motion; None: it does not come back soon."""
    is_clean: bool = False
    """Whether all other rows follow from those before them."""


def find_break(trial: LogBesideTruth) -> Break | None:
    """The first place at which rows stop to follow from each other, or begin to."""
    if trial.w is None or (not trial.model.is_free and trial.t.size > MOST_TORQUED_ROWS):
        return None
    rows = np.arange(trial.t.size)
    off = defects(trial, rows[:-1], rows[1:])
    noise = 4.0 * (trial.limits.attitude[0] + trial.limits.rate[0])
    usual = float(np.median(off))
    bad = np.flatnonzero((off > JUMP * usual) & (off > noise) & (off > 1e-3 * trial.row_angle))
    if bad.size and bad[0] == 0 and off[0] < trial.row_angle**2:
        bad = bad[1:]  # the first step of a multistep method may be one by Euler's method
    jump = int(bad[0]) if bad.size and bad.size <= max(3, 0.02 * off.size) else None
    level = _change_of_level(off, noise + LEAST_DEFECT * trial.row_angle)
    if level is not None and (jump is None or level[0] <= jump + 2):
        k, rises = level
        part = np.s_[k + 1 :] if rises else np.s_[: k + 1]
        return Break(k + 1, part, float(off[max(0, k - 1) : k + 2].max()))
    if jump is None:
        return _onset(trial, noise)
    size, back = float(off[jump]), None
    for row in range(jump + 2, min(jump + 2 + LONGEST_EXCURSION, trial.t.size)):
        if defects(trial, jump, row)[0] < max(noise, size / APART):
            back = row
            break
    return Break(jump + 1, None, size, bad.size, back, usual <= noise + LEAST_DEFECT * trial.row_angle)


def _onset(trial: LogBesideTruth, noise: float) -> Break | None:
    """The row at which the error of the attitude appears at once, and then stays: no integrator does that."""
    attitude = trial.errors()[0]
    if trial.q is None or trial.t.size < LEAST_PART or attitude.max() > LINEAR:
        return None
    turned = turn_vectors(trial.true.q, trial.q)
    # The error stays in body axes or in space axes.
    grown = np.minimum(*(lengths(np.diff(v, axis=0)) for v in (turned, to_space(trial.true.q, turned))))
    k = int(np.argmax(grown))
    share = (WHOLE if k == 0 else SUDDEN) * attitude.max()
    if grown[k] < max(share, JUMP * float(np.median(grown)), 2.0 * noise):
        return None
    return Break(k + 1, None, float(grown[k]), is_clean=True)


def _change_of_level(off: Floats, floor: float) -> tuple[int, bool] | None:
    """The first place where the differences rise or fall suddenly and stay so, and whether they rise."""
    beside = min(BESIDE, off.size // 3)
    if beside < 3:
        return None
    x = np.log(np.maximum(off, floor))
    level = np.median(sliding_window_view(x, beside), axis=1)
    change = level[beside:] - level[:-beside]
    if not (np.abs(change) > math.log(JUMP)).any():
        return None
    k = int(np.argmax(np.abs(change) > math.log(JUMP)))
    while k + 1 < change.size and abs(change[k + 1]) > abs(change[k]):
        k += 1
    rises, middle = bool(change[k] > 0), 0.5 * (level[k] + level[k + beside])
    if np.count_nonzero(np.diff(level > middle)) > 2:
        return None  # rows between the steps of an integration rise and fall again and again
    high = np.flatnonzero(x[k : k + 2 * beside] > middle)
    return k + int(high[0] if rises else high[-1]), rises


def conventions_of_parts(trial: LogBesideTruth, row: int, words: str | None) -> tuple[Convention, Convention] | None:
    """The conventions before and after a row, if they are certain and differ."""
    n = trial.t.size
    if min(row, n - row) < LEAST_PART:
        return None
    found = []
    for part in (slice(0, row), slice(row, n)):
        log = trial.log
        cut = replace(
            log, t=log.t[part], place=None if log.place is None else log.place[part],
            attitude=None if log.attitude is None else replace(log.attitude, values=log.attitude.values[part]),
            omega=None if log.omega is None else replace(log.omega, values=log.omega.values[part]),
        )  # fmt: skip
        rough = float(trial.limits.attitude[0] + trial.limits.rate[0])
        found.append(find_convention(cut, trial.model.body, trial.model.torque, words, rough, trial.carried))
    before, after = found
    good = all(c.certainty in ("certain", "likely") and c.unexplained < EXPLAINED for c in found)
    return (before, after) if good and before.meaning != after.meaning else None


# --- rates beside attitudes ----------------------------------------------------------------------------------------


class RateMap(NamedTuple):
    """The rates as made from those with which the attitudes turn."""

    words: str
    """As in: "1.1 times"."""
    change: float
    """The root mean square of the difference, relative to the largest rate."""


def find_rate_map(trial: LogBesideTruth, rows: Any = np.s_[:]) -> RateMap | None:
    """By what simple rule the rates follow from the derivative of the attitudes, if they differ from it.

    This needs neither the body nor the torque: attitudes and rates obey q' = q w / 2 whatever the dynamics are.
    """
    if trial.q is None or trial.w is None:
        return None
    inside = np.arange(trial.t.size)[rows][3:-3]
    if inside.size < 8:
        return None
    at = inside[thinned(inside.size, MAPPED_ROWS)]
    true, w = differentiated(trial.t, trial.q, at), trial.w[at]
    off = w - true
    uncertain = lengths(true - differentiated(trial.t, trial.q, at, 5)) + 4.0 * (
        trial.limits.rate[0] * trial.size + trial.limits.attitude[0] * trial.size / max(trial.row_angle, 1e-300)
    )
    size, floor = _rms(off), _rms(uncertain[:, None])
    if size < max(3.0 * floor, LEAST_DAMAGE * trial.size):
        return None
    for words, made in _maps(true, w):
        if _rms(w - made) < EXPLAINED * size + floor:
            return RateMap(words, size / trial.size)
    return None


def _maps(true: Floats, w: Floats) -> Any:
    """Yields rules for rates, the simplest first: what it does in words, and the rates that it makes."""
    scale = float((w * true).sum()) / max(float((true * true).sum()), 1e-300)
    yield f"{scale:.5g} times those", scale * true
    shift = (w - true).mean(axis=0)
    shown = ", ".join(f"{x:.4g}" for x in shift)
    yield f"those plus a constant ({shown}) rad/s", true + shift
    axes = np.array(["x", "y", "z"])
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((1.0, -1.0), repeat=3):
            if order != (0, 1, 2) or min(signs) < 0:
                named = ", ".join(f"{'-' if s < 0 else ''}{a}" for s, a in zip(signs, axes[list(order)], strict=True))
                yield f"those about other axes, in the order ({named})", true[:, order] * signs
    gains = (w * true).sum(axis=0) / np.maximum((true * true).sum(axis=0), 1e-300)
    shown = ", ".join(f"{x:.5g}" for x in gains)
    yield f"those times ({shown}) about the three axes", true * gains
    u, _, v = np.linalg.svd(w.T @ true)
    turn = u @ np.diag([1.0, 1.0, np.linalg.det(u @ v)]) @ v
    angle = math.degrees(math.acos(min(1.0, max(-1.0, (np.trace(turn) - 1.0) / 2.0))))
    yield f"those in body axes that are turned by {angle:.3g} degrees", true @ turn.T


def _rms(values: Floats) -> float:
    return float(np.sqrt(np.mean((values**2).sum(axis=1))))


def rates_wrong_since(trial: LogBesideTruth) -> int | None:
    """The row since which rates are wrong, if attitudes have far smaller errors than the rates lead to.

    An error of the rate turns the attitude: in space axes its error is the integral of that of the rate.
    """
    if trial.q is None or trial.w is None:
        return None
    attitude, rate = trial.errors()
    turned = to_space(trial.true.q, trial.w - trial.true.w)
    gaps = np.diff(trial.t)[:, None]
    led = np.concatenate([np.zeros((1, 3)), np.cumsum(0.5 * gaps * (turned[1:] + turned[:-1]), axis=0)])
    allowed = np.concatenate([[0.0], np.cumsum(np.abs(gaps[:, 0]) * FAIR * trial.limits.rate[1:] * trial.size)])
    by_rates = np.maximum(lengths(led) - allowed, 0.0)
    by_attitudes = np.maximum(attitude - FAIR * trial.limits.attitude, 0.0)
    if attitude.max() < LINEAR and by_rates.max() > APART * by_attitudes.max() and rate.max() > LEAST_DAMAGE:
        return int(np.argmax(rate > FAIR * trial.limits.rate))
    return None
