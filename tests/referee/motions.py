"""Motions as simulators would write them: right ones with few digits, and ones with a fault that is known."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import polhode as ph
from polhode.support.arrays import Floats


class Made(NamedTuple):
    """A motion, and the body that makes it."""

    body: ph.Body
    t: Floats
    q: Floats
    w: Floats
    spatial: Floats
    """The rates in space axes."""

    def log(self, **changed: Any) -> dict[str, Any]:
        return {"t": self.t, "quaternion": self.q, "omega": self.w} | changed


def free_motion(seed: int, rows: int = 300) -> Made:
    """Returns a free motion that tumbles: of a body, a start and a span that are drawn."""
    rng = np.random.default_rng(seed)
    while True:
        moments = np.exp(rng.uniform(-1, 1, 3))
        apart = np.abs(np.diff(np.sort(moments))).min() / moments.max()
        if 2 * moments.max() < 0.97 * moments.sum() and apart > 0.03:
            break
    body, w0, q0 = ph.Body(moments), rng.normal(size=3), rng.normal(size=4)
    t = np.linspace(0.0, rng.uniform(10, 60) / np.sqrt((w0**2).sum()), rows)
    state = ph.FreeMotion(body, w0, q0 / np.sqrt((q0**2).sum())).at(t)
    return Made(body, t, state.quaternion, state.omega, state.spatial_omega)


def digits(x: Floats, form: str) -> Floats:
    """Returns numbers as they come back from a text: "6f" with six decimals, "9g" with nine digits, "f4" as floats."""
    if form == "f4":
        return x.astype(np.float32).astype(np.float64)
    if form == "all":
        return x
    return np.array([float(f"{v:.{form[:-1]}{form[-1]}}") for v in x.ravel()]).reshape(x.shape)


def runge_kutta(
    order: int, body: ph.Body, w: Floats, step: float, count: int, *, scaled: bool = True
) -> dict[str, Any]:
    """Returns what a plain integrator of first, second or fourth order makes of a free body, from the identity."""
    moments, q = body.moments, np.array([1.0, 0.0, 0.0, 0.0])

    def slope(q: Floats, w: Floats) -> tuple[Floats, Floats]:
        turn = np.concatenate([[-q[1:] @ w], q[0] * w + np.cross(q[1:], w)])
        return 0.5 * turn, np.cross(moments * w, w) / moments

    rows = [(q, w)]
    for _ in range(count):
        a, b = slope(q, w)
        if order >= 2:
            a2, b2 = slope(q + step / 2 * a, w + step / 2 * b)
        if order == 2:
            a, b = a2, b2
        if order == 4:
            a3, b3 = slope(q + step / 2 * a2, w + step / 2 * b2)
            a4, b4 = slope(q + step * a3, w + step * b3)
            a, b = (a + 2 * a2 + 2 * a3 + a4) / 6, (b + 2 * b2 + 2 * b3 + b4) / 6
        q, w = q + step * a, w + step * b
        if scaled:
            q = q / np.sqrt((q**2).sum())
        rows.append((q, w))
    return {
        "t": np.arange(count + 1) * step,
        "quaternion": np.array([r[0] for r in rows]),
        "omega": np.array([r[1] for r in rows]),
    }
