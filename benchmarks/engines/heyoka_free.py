"""heyoka: Euler's equations and a quaternion by Taylor series, at its default tolerance and at 1e-6."""

from typing import Any

import heyoka as hy
import numpy as np
from _case import Case, main

VARIANTS: dict[str, dict[str, Any]] = {"default": {}, "tol 1e-6": {"tol": 1e-6}}


def run(case: Case, options: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    w, x, y, z, p, q, r = hy.make_vars("w", "x", "y", "z", "p", "q", "r")
    a, b, c = case.moments
    system = [
        (w, 0.5 * (-x * p - y * q - z * r)),
        (x, 0.5 * (w * p + y * r - z * q)),
        (y, 0.5 * (w * q + z * p - x * r)),
        (z, 0.5 * (w * r + x * q - y * p)),
        (p, (b - c) / a * q * r),
        (q, (c - a) / b * r * p),
        (r, (a - b) / c * p * q),
    ]
    run = hy.taylor_adaptive(system, [*case.attitude, *case.omega], **options)
    rows = run.propagate_grid(np.array(case.t))[-1]
    attitudes = rows[:, :4] / np.linalg.norm(rows[:, :4], axis=1)[:, None]
    return list(attitudes), list(rows[:, 4:])


if __name__ == "__main__":
    main(run, VARIANTS)
