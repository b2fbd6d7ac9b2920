"""The motion of a rigid body to as many digits as mpmath is set to.

Extrapolation of Gragg's modified midpoint rule in the rotation matrix and the body momentum. Nothing is shared with
polhode's kernels: no quaternions, no splitting, no principal axes, no fixed precision.
"""

from collections.abc import Callable, Sequence
from typing import Any

import mpmath as mp

Vector = list[Any]
MpTorque = Callable[[Any, list[Vector], Vector], Vector]
"""`(t, R, w) -> body torque`, R as three rows."""


def cross(a: Sequence[Any], b: Sequence[Any]) -> Vector:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def seen_from_body(R: list[Vector], v: Sequence[Any]) -> Vector:
    """R^T v."""
    return [R[0][i] * v[0] + R[1][i] * v[1] + R[2][i] * v[2] for i in range(3)]


def rotation(q: Sequence[Any]) -> list[Vector]:
    """The matrix of a quaternion, scalar first, of any length."""
    w, x, y, z = (mp.mpf(c) for c in q)
    n = w * w + x * x + y * y + z * z
    return [
        [(w * w + x * x - y * y - z * z) / n, 2 * (x * y - w * z) / n, 2 * (x * z + w * y) / n],
        [2 * (x * y + w * z) / n, (w * w - x * x + y * y - z * z) / n, 2 * (y * z - w * x) / n],
        [2 * (x * z - w * y) / n, 2 * (y * z + w * x) / n, (w * w - x * x - y * y + z * z) / n],
    ]


def end_state(
    tensor: Sequence[Sequence[float]],
    torque: MpTorque,
    R: list[Vector],
    omega: Sequence[Any],
    t_end: float,
    steps: int,
    columns: int = 12,
) -> tuple[list[Vector], Vector]:
    """R and w at `t_end`, from time 0, in steps of order 2 `columns`."""
    inertia = mp.matrix([[mp.mpf(x) for x in row] for row in tensor])
    inverse = inertia**-1
    y = [c for row in R for c in row] + list(inertia * mp.matrix([mp.mpf(x) for x in omega]))

    def slope(t: Any, y: Vector) -> Vector:
        R, m = [y[0:3], y[3:6], y[6:9]], y[9:12]
        w = [inverse[i, 0] * m[0] + inverse[i, 1] * m[1] + inverse[i, 2] * m[2] for i in range(3)]
        turning = [c for row in R for c in cross(row, w)]  # R hat(w)
        return turning + [a + b for a, b in zip(torque(t, R, w), cross(m, w), strict=True)]

    h = mp.mpf(t_end) / steps
    for k in range(steps):
        y = _extrapolated(slope, k * h, y, h, columns)
    return [y[0:3], y[3:6], y[6:9]], list(inverse * mp.matrix(y[9:12]))


def _extrapolated(slope: Callable[[Any, Vector], Vector], t: Any, y: Vector, h: Any, columns: int) -> Vector:
    """One step: midpoint rules with 2, 4, 6, ... substeps, extrapolated to infinitely many."""
    first = slope(t, y)
    table: list[Vector] = []
    for j in range(1, columns + 1):
        row = _midpoint(slope, t, y, h, 2 * j, first)
        fresh = [row]
        for i in range(1, j):
            factor = mp.mpf(j) ** 2 / mp.mpf(j - i) ** 2 - 1
            fresh.append([a + (a - b) / factor for a, b in zip(fresh[i - 1], table[i - 1], strict=True)])
        table = fresh
    return table[-1]


def _midpoint(
    slope: Callable[[Any, Vector], Vector], t: Any, y: Vector, h: Any, substeps: int, first: Vector
) -> Vector:
    s = h / substeps
    before, now = y, [a + s * b for a, b in zip(y, first, strict=True)]
    for k in range(1, substeps):
        before, now = now, [a + 2 * s * b for a, b in zip(before, slope(t + k * s, now), strict=True)]
    last = slope(t + h, now)
    return [(a + b + s * c) / 2 for a, b, c in zip(now, before, last, strict=True)]
