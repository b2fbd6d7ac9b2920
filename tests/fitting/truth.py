"""Motions by SciPy's DOP853 on Euler's equations, without any code of the package, and noise."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

Floats = NDArray[np.float64]


def motion(
    tensor: Any, omega: Any, t: Floats, attitude: Rotation | None = None, torque: Callable[..., Any] | None = None
) -> tuple[Floats, Rotation]:
    """Rates and attitudes; `torque(t, R, w)` is in body axes."""
    I = np.diag(tensor) if np.ndim(tensor) == 1 else np.asarray(tensor)  # noqa: E741
    start = Rotation.identity() if attitude is None else attitude

    def slope(time: float, y: Floats) -> Floats:
        q, w = y[:4], y[4:]
        acting = np.zeros(3) if torque is None else torque(time, Rotation.from_quat(q / np.linalg.norm(q)), w)
        turning = 0.5 * np.array([
            q[3] * w[0] + q[1] * w[2] - q[2] * w[1],
            q[3] * w[1] + q[2] * w[0] - q[0] * w[2],
            q[3] * w[2] + q[0] * w[1] - q[1] * w[0],
            -q[0] * w[0] - q[1] * w[1] - q[2] * w[2],
        ])  # fmt: skip
        return np.concatenate([turning, np.linalg.solve(I, np.cross(I @ w, w) + acting)])

    begin = np.concatenate([start.as_quat(), omega])
    found = solve_ivp(slope, (t[0], t[-1]), begin, method="DOP853", t_eval=t, rtol=1e-10, atol=1e-12)
    return found.y[4:].T, Rotation.from_quat(found.y[:4].T)


def noisy(
    rates: Floats, turns: Rotation, rng: np.random.Generator, sigma: float
) -> tuple[Floats, Rotation]:  # fmt: skip
    """The same with noise of this standard deviation, in rad/s and rad."""
    shape = rates.shape
    return rates + sigma * rng.normal(size=shape), turns * Rotation.from_rotvec(sigma * rng.normal(size=shape))
