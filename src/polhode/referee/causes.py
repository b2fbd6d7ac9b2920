"""Causes of errors, each with a few parameters, which are fitted to a log.

A free motion is computed for each trial, from the first row to the last. Under a torque the rows are compared
with what the rows before them lead to, which takes no run.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from polhode.kernels.types import Depends
from polhode.referee.conventions import STEP_ANGLE, Meaning, ahead, turn_vectors
from polhode.referee.reading import Log
from polhode.referee.truth import Limits, MotionModel, States, fitted, thinned
from polhode.support.arrays import Floats, angles, inverse, lengths, product, turn_of

FIT_ROWS = 150
"""Causes are fitted to about this many rows."""
EXPLAINED = 0.03
"""A cause explains an error if it leaves less than this share of it, or no more than rounding can make."""
FIRST_ROW_LEFT = 0.1
"""Rates of another time explain the first row if they leave less than this share of its error."""
NEARLY_ALL = 1e-3
"""A cause that leaves less than this share of an error leaves next to nothing: no error of integration does that."""
FAR_BEYOND = 30.0
"""An error is far beyond rounding if it is this many times what rounding can make."""
LOCAL_TURN = 0.2
"""Rows are compared with rows before them over about this angle, in rad."""


class LogBesideTruth(NamedTuple):
    """A log under its convention, beside the truth."""

    log: Log
    model: MotionModel
    t: Floats
    q: Floats | None
    w: Floats | None
    true: States
    limits: Limits
    meaning: Meaning
    carried: Any = ()

    @property
    def size(self) -> float:
        """The largest rate."""
        return float(lengths(self.true.w).max()) or 1.0

    @property
    def row_angle(self) -> float:
        """The angle by which the body turns from one row to the next, in rad."""
        return self.size * float(np.median(np.abs(np.diff(self.t))))

    def errors(self) -> tuple[Floats, Floats]:
        """The errors of attitude in rad and of rate relative to the largest; zeros where there is none."""
        none = np.zeros(self.t.size)
        attitude = none if self.q is None else angles(self.true.q, self.q)
        rate = none if self.w is None else lengths(self.w - self.true.w) / self.size
        return attitude, rate


class Cause(NamedTuple):
    """A cause that was fitted."""

    kind: str
    p: Floats
    left: float
    """Remaining error as a fraction of the error; 0: rounding explains it."""
    rate_left: float
    """Remaining error of the rates as a fraction of theirs."""
    is_local: bool = False
    """Whether the error is that from some rows to others, not from the start."""
    is_exact: bool = False
    """Whether it leaves next to nothing of an error that is far beyond rounding."""


FAIR = 1.5
"""An error is beyond rounding if it is this many times what rounding can make."""


def beyond(trial: LogBesideTruth) -> Any:
    """The rows whose errors rounding cannot explain."""
    attitude, rate = trial.errors()
    return (attitude > FAIR * trial.limits.attitude) | (rate > FAIR * trial.limits.rate)


def explanation(trial: LogBesideTruth) -> Cause | None:
    """The cause that explains the error, the simplest if several do."""
    found = [*_from_the_start(trial)]
    if not trial.model.is_free:
        found += _from_row_to_row(trial)
    found.sort(key=lambda c: (round(c.left, 3), _COMPLEXITY[c.kind]))
    good = [c for c in found if c.left < EXPLAINED]
    if good:
        return good[0]
    return next((c for c in found if c.kind in ("lag", "shift") and c.rate_left < EXPLAINED), None)


def _from_the_start(trial: LogBesideTruth) -> Iterator[Cause]:
    """Yields causes fitted to the whole motion."""
    attitude, rate = trial.errors()
    rows = thinned(trial.t.size, FIT_ROWS)
    raw = np.hypot(attitude[rows], rate[rows])
    close = np.flatnonzero(raw > 0.5)
    first = int(close[0]) if close.size else rows.size
    windows = sorted({max(8, min(first, rows.size)), max(8, min(2 * first, rows.size)), rows.size})
    size = float(np.sqrt(np.mean(raw**2)))
    rate_size = float(np.sqrt(np.mean(rate[rows] ** 2)))
    allowed = 2.0 * float(np.hypot(trial.limits.attitude[rows], trial.limits.rate[rows]).max())
    allowed_rate = 2.0 * float(trial.limits.rate[rows].max())
    for kind, scales, model in _causes(trial, rows):
        begin = 1 if kind == "start" else 0  # a first row that is off stays off

        def residual(p: Floats, count: int, model: Any = model, begin: int = begin) -> Floats:
            q, w = model(p)
            return _difference(trial, rows, q, w)[begin:count].ravel()

        try:
            p = fitted(residual, scales, windows)
            left = _difference(trial, rows, *model(p))[begin:]
        except (ValueError, np.linalg.LinAlgError):
            continue  # no such body
        if kind == "lag" and not _explains_first_row(trial, p, left[0]):
            continue
        rms, rates = (float(np.sqrt(np.mean((x**2).sum(axis=1)))) for x in (left, left[:, 3:]))
        share = 0.0 if rms <= allowed else rms / size
        shown = rate_size > allowed_rate
        rate_share = (0.0 if rates <= allowed_rate else rates / rate_size) if shown else 1.0
        yield Cause(kind, p, share, rate_share, is_exact=share < NEARLY_ALL and size > FAR_BEYOND * allowed)


def _explains_first_row(trial: LogBesideTruth, p: Floats, left: Floats) -> bool:
    """Whether rates of another time lead to the rate of the first row, which is then another one than at the start."""
    changed = lengths(p[None, 1:])[0] / trial.size
    return bool(lengths(left[None, 3:])[0] <= FIRST_ROW_LEFT * changed + 2.0 * trial.limits.rate[0])


_COMPLEXITY = {
    "axes": 1, "offset": 1, "shift": 1, "torque": 2, "clock": 2, "moments": 3, "lag": 3, "start": 4, "rates": 4,
    "turned": 4,
}  # fmt: skip
"""Of causes that explain an error as well, the simplest is named."""


def _difference(trial: LogBesideTruth, rows: Any, q: Floats, w: Floats) -> Floats:
    """How far the log is from a motion at some rows: turns in rad, rates relative to the largest."""
    none = np.zeros((rows.size, 3))
    turned = none if trial.q is None else turn_vectors(q, trial.q[rows])
    rates = none if trial.w is None else (trial.w[rows] - w) / trial.size
    return np.concatenate([turned, rates], axis=1)


Attempt = tuple[str, Floats, Callable[[Floats], tuple[Floats, Floats]]]


def _causes(trial: LogBesideTruth, rows: Any) -> Iterator[Attempt]:
    """Yields causes: a name, the scales of their parameters, and the motion with these."""
    model = trial.model
    t, q0, w0 = trial.t[rows], trial.true.q[0], trial.true.w[0]
    span = float(t[-1] - t[0])
    size, step = trial.size, span / max(1, trial.t.size - 1)
    base = States(trial.true.q[rows], trial.true.w[rows], 0.0)

    def turning_axes(p: Floats) -> tuple[Floats, Floats]:
        return product(turn_of((t - t[0])[:, None] * p), base.q), base.w

    def lagging(p: Floats) -> tuple[Floats, Floats]:
        m = model.motion(t, q0, w0 + p[1:])
        return m.q, ahead(model.body, model.torque, t, m.q, m.w, np.full(t.size, p[0]), 2, trial.carried)[1]

    def shifted(p: Floats) -> tuple[Floats, Floats]:
        # Attitudes that follow rates of a time p later: R(t) = R(0) R*(p)^-1 R*(t + p), with R* the true motion.
        q, w = ahead(model.body, model.torque, t, base.q, base.w, np.full(t.size, p[0]), 2, trial.carried)
        back = product(base.q[:1], inverse(q[:1]))
        q, w = product(np.broadcast_to(back, q.shape), q), w.copy()
        q[0], w[0] = base.q[0], base.w[0]
        return q, w

    def turned(p: Floats) -> tuple[Floats, Floats]:
        q = product(product(turn_of(p[None, :3]), base.q), turn_of(p[None, 3:]))
        q[0] = base.q[0]
        return q, base.w

    def changed_rates(p: Floats) -> tuple[Floats, Floats]:
        w = base.w * (1.0 + p[:3]) + size * p[3:]
        w[0] = base.w[0]
        return base.q, w

    if trial.q is not None:
        yield "axes", np.full(3, 1.0 / abs(span)), turning_axes
    if trial.w is not None:
        yield "shift", np.array([step]), shifted
        yield "rates", np.ones(6), changed_rates
    if trial.q is not None:
        yield "turned", np.ones(6), turned
    if not model.is_free:
        return
    if trial.w is not None:
        yield "lag", np.array([step, *([size] * 3)]), lagging

    def started(p: Floats) -> tuple[Floats, Floats]:
        turned = product(q0[None, :], turn_of(p[None, :3]))[0]
        return model.motion(t, turned, w0 + p[3:])[:2]

    def heavier(p: Floats) -> tuple[Floats, Floats]:
        factors = np.exp(np.append(p, 0.0) if p.size == 2 else p)
        return model.with_moments(factors).motion(t, q0, w0)[:2]

    yield "start", np.array([1.0, 1.0, 1.0, size, size, size]), started
    yield "moments", np.ones(3 if model.body.has_rotor else 2), heavier
    yield "clock", np.ones(1), lambda p: model.motion(t[0] + (t - t[0]) * (1.0 + p[0]), q0, w0)[:2]


def _from_row_to_row(trial: LogBesideTruth) -> Iterator[Cause]:
    """Yields causes fitted to how rows follow from rows a little before them."""
    if trial.q is None or trial.w is None:
        return
    model, n = trial.model, trial.t.size
    lag = int(np.clip(round(LOCAL_TURN / max(trial.row_angle, 1e-300)), 1, max(1, n // 4)))
    begin = thinned(n - lag, FIT_ROWS)
    end, steps = begin + lag, min(16, max(2, math.ceil(2 * lag * trial.row_angle / STEP_ANGLE)))
    t, q, w = trial.t[begin], trial.q[begin], trial.w[begin]
    dt, goal_q, goal_w = trial.t[end] - t, trial.q[end], trial.w[end]

    def led(model: MotionModel, q: Floats, w: Floats, offset: float = 0.0, scale: float = 1.0) -> tuple[Floats, Floats]:
        return ahead(model.body, model.torque, t + offset, q, w, dt, steps, trial.carried, scale)

    def lagging(p: Floats) -> tuple[Floats, Floats]:
        back = np.full(t.size, -p[0])
        earlier = ahead(model.body, model.torque, t, q, w, back, 2, trial.carried)[1]
        q1, w1 = led(model, q, earlier)
        return q1, ahead(model.body, model.torque, trial.t[end], q1, w1, -back, 2, trial.carried)[1]

    def difference(made: tuple[Floats, Floats]) -> Floats:
        return np.concatenate([turn_vectors(made[0], goal_q), (goal_w - made[1]) / trial.size], axis=1)

    span = abs(float(trial.t[-1] - trial.t[0]))
    step = span / (n - 1)
    listed: list[tuple[str, Floats, Any, list[float]]] = [
        ("moments", np.ones(3), lambda p: led(model.with_moments(np.exp(p)), q, w), [0.0]),
        ("torque", np.ones(1), lambda p: led(model, q, w, scale=1.0 + float(p[0])), [0.0, -2.0]),
        ("lag", np.array([step]), lagging, [0.0]),
    ]
    if Depends.TIME in model.torque.depends:
        later = [0.0, span / 30, -span / 30, span / 8, -span / 8]
        listed.append(("offset", np.array([span / 10]), lambda p: led(model, q, w, offset=float(p[0])), later))
    size = float(np.sqrt(np.mean(difference(led(model, q, w)) ** 2)))
    allowed = trial.limits.attitude[0] + 2.0 * trial.limits.rate[0] * (1.0 + lag * trial.row_angle) + 1e-9
    if size <= allowed:
        return  # from row to row there is nothing to be explained
    for kind, scales, cause, starts in listed:
        best: Cause | None = None
        for start in starts:
            try:
                p = fitted(lambda p, _, f=cause: difference(f(p)).ravel(), scales, [1], np.full(scales.size, start))  # type: ignore[misc]
                rms = float(np.sqrt(np.mean(difference(cause(p)) ** 2)))
            except (ValueError, np.linalg.LinAlgError):
                continue  # no such body
            left = 0.0 if rms <= allowed else rms / size
            if best is None or left < best.left:
                best = Cause(kind, p, left, 1.0, is_local=True)
        if best is not None:
            yield best
