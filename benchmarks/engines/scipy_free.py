"""SciPy: Euler's equations and a quaternion, by solve_ivp with its defaults (RK45, 1e-3), and by DOP853 at 1e-12."""

from typing import Any

import numpy as np
from _case import Case, main
from scipy.integrate import solve_ivp

VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "DOP853, 1e-12": {"method": "DOP853", "rtol": 1e-12, "atol": 1e-12},
}


def run(case: Case, options: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    a, b, c = case.moments

    def slope(t: float, y: Any) -> list[float]:
        w, x, y_, z, p, q, r = y
        return [
            0.5 * (-x * p - y_ * q - z * r),
            0.5 * (w * p + y_ * r - z * q),
            0.5 * (w * q + z * p - x * r),
            0.5 * (w * r + x * q - y_ * p),
            (b - c) * q * r / a,
            (c - a) * r * p / b,
            (a - b) * p * q / c,
        ]

    found = solve_ivp(slope, (case.t[0], case.t[-1]), [*case.attitude, *case.omega], t_eval=case.t, **options)
    q = found.y[:4].T
    return list(q / np.linalg.norm(q, axis=1)[:, None]), list(found.y[4:].T)


if __name__ == "__main__":
    main(run, VARIANTS)
