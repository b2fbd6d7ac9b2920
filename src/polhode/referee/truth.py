"""The true motion from the first row of a log, and how much of it the digits of that row determine."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from polhode.accuracy.policy import ToleranceNotReached
from polhode.api.simulate import simulate
from polhode.body import Body
from polhode.free.free_motion import EPSILON, FreeMotion, has_closed_form
from polhode.kernels.types import Depends
from polhode.support.arrays import Floats, angles, lengths, product
from polhode.torques import Torque

FEW_ROWS = 400
"""Sensitivities are computed at about this many rows, and drawn straight between them."""
FREE_NUDGE, TORQUED_NUDGE = 1e-6, 1e-4
"""Relative changes of the start by which sensitivities are measured: that of simulated motions is above their error."""


class States(NamedTuple):
    """A motion at some times."""

    q: Floats
    w: Floats
    error: Any
    """Its own error: of attitudes in rad, and of rates relative to the largest."""


@dataclass(frozen=True)
class MotionModel:
    """Body, torque, and the tolerance of the true motion."""

    body: Body
    torque: Torque
    state: Any = None
    """The numbers that the torque carries, at the start."""
    rtol: float = 1e-11

    @property
    def is_free(self) -> bool:
        """Whether the motion has a closed form."""
        return self.torque.depends is Depends.NOTHING and not self.torque.state_names and has_closed_form(self.body)

    @property
    def words(self) -> str:
        """The name of the reference."""
        return "the closed form" if self.is_free else f"an integration with rtol {self.rtol:.0e}"

    def motion(self, t: Floats, q0: Floats, w0: Floats) -> States:
        """The motion at times of which the first is that of the start."""
        if self.is_free:
            motion = FreeMotion(self.body, w0, q0, float(t[0]))
            found = motion.at_checked(t)
            error = 4 * EPSILON * (1.0 + np.ravel(motion.sensitivity(t - t[0]))) if not self.body.has_rotor else 1e-13
            return States(found.quaternion, found.omega, np.fmin(error, 3.2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ToleranceNotReached)  # the error that was reached is stated
            solution = simulate(
                self.body, self.torque, omega=w0, attitude=q0, t_span=(float(t[0]), float(t[-1])), t_eval=t,
                rtol=self.rtol, state=self.state,
            )  # fmt: skip
        q = solution.quaternion / lengths(solution.quaternion)[:, None]
        return States(q, solution.omega, solution.error_estimate or self.rtol)

    def with_moments(self, factors: Floats) -> MotionModel:
        """Copy with principal moments multiplied by these factors."""
        axes = self.body.axes
        tensor = axes @ np.diag(self.body.moments * factors) @ axes.T
        body = Body((tensor + tensor.T) / 2, allow_unphysical=True, rotor=self.body.rotor)
        return MotionModel(body, self.torque, self.state, self.rtol)


def thinned(rows: int, most: int = FEW_ROWS) -> Any:
    """The numbers of some rows, the first and the last among them."""
    return np.unique(np.linspace(0, rows - 1, min(rows, most)).round().astype(int))


class Limits(NamedTuple):
    """The errors that the digits of a log can hide, at each row."""

    attitude: Floats
    rate: Floats


def limits(
    model: MotionModel, t: Floats, true: States, attitude: float, rate: Floats, time: float, *, start_rate: Floats
) -> Limits:  # fmt: skip
    """The largest errors that can come from rounding: in the row itself, and in the first one.

    `attitude` is that of attitudes in rad, `rate` and `start_rate` those of the components of a rate in rad/s, and
    `time` that of times in s.
    """
    rows = thinned(t.size)
    size = float(lengths(true.w).max()) or 1.0
    nudge = (FREE_NUDGE if model.is_free else TORQUED_NUDGE) * size
    at, base = t[rows], States(true.q[rows], true.w[rows], 0.0)
    by_attitude, by_rate = np.full(rows.size, attitude), np.zeros(rows.size)

    def add(changed: States, factor: float) -> None:
        by_attitude[:] += factor * angles(base.q, changed.q)
        by_rate[:] += factor * lengths(changed.w - base.w)

    if not model.is_free:
        base = model.motion(at, true.q[0], true.w[0])
    for k in range(3):
        shift = np.zeros(3)
        shift[k] = nudge
        add(model.motion(at, base.q[0], base.w[0] + shift), float(start_rate[k]) / nudge)
    if not model.is_free and attitude > 0.0 and Depends.POSITION in model.torque.depends:
        by_attitude[:] -= attitude
        for k in range(3):
            turn = np.zeros(4)
            turn[0], turn[k + 1] = 1.0, 0.5 * TORQUED_NUDGE
            turned = product(base.q[:1], (turn / np.sqrt((turn**2).sum()))[None, :])[0]
            add(model.motion(at, turned, base.w[0]), attitude / TORQUED_NUDGE)

    def everywhere(values: Floats) -> Floats:
        order = slice(None) if t[-1] >= t[0] else slice(None, None, -1)
        return np.asarray(np.interp(t, at[order], values[order]))

    speed = lengths(true.w)
    change = np.abs(np.gradient(speed, t)) if t.size > 1 else np.zeros_like(speed)
    own = np.broadcast_to(true.error, t.shape)
    return Limits(
        np.fmin(everywhere(by_attitude) + attitude + 2.0 * time * speed + own, np.pi),
        everywhere(by_rate) / size + (np.sqrt(3.0) * rate + 2.0 * time * (change + speed * speed)) / size + own,
    )


def fitted(
    residual: Callable[[Floats, int], Floats], scales: Floats, windows: list[int], start: Floats | None = None
) -> Floats:  # fmt: skip
    """The parameters that make residuals least: by damped Gauss-Newton steps, in windows that grow."""
    p = np.zeros(scales.size) if start is None else np.array(start, dtype=np.float64)
    for rows in windows:
        r = residual(p, rows)
        cost, damping = float(r @ r), 1e-6
        for _ in range(12):
            step = 1e-5 * scales
            columns = [(residual(p + step * unit, rows) - r) / 1e-5 for unit in np.eye(scales.size)]
            J = np.stack(columns, axis=1)
            if not np.isfinite(J).all():
                break
            unit = np.sqrt(np.maximum((J * J).sum(axis=0), 1e-300))  # of columns of different size, as of noise and not
            J = J / unit
            A = J.T @ J
            moved = False
            for _ in range(6):
                delta = np.linalg.lstsq(A + damping * np.eye(scales.size), -J.T @ r, rcond=1e-13)[0] / unit
                with np.errstate(over="ignore", invalid="ignore"):  # a step much too far
                    tried = residual(p + delta * scales, rows)
                    better = np.isfinite(tried).all() and float(tried @ tried) < cost
                if better:
                    moved = True
                    break
                damping *= 10.0
            if not moved:
                break
            p, r, before = p + delta * scales, tried, cost
            cost, damping = float(r @ r), damping * 0.1
            if cost > 0.999 * before or np.abs(delta).max() < 1e-9:
                break
    return p
