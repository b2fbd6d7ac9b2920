"""Orders of operations in which Algorithm 3.1 may be computed: the paper does not tell its own."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from math import atan2, cos, sin, sqrt
from typing import Any

import numpy as np

from polhode.compiler import program
from polhode.kernels.compared.jacobi_momentum import Route, by_rates, restarting
from polhode.kernels.free.elliptic_functions import amplitude, ellipf
from polhode.kernels.status import OK, UNCOVERED
from polhode.kernels.types import Inertia, Vec3
from polhode.papers.vilmart2008._common import EPS, WATER, H
from polhode.support.arrays import Floats


def arranged(roots_first: bool, squares_kept: bool, constants_first: bool) -> Route:
    """Algorithm 3.1 with sqrt(a) / sqrt(b) or sqrt(a / b), a1^2 as a difference or a square, b (a cn) or (b a) cn."""

    def route(i: Vec3, y: Vec3, t: float) -> tuple[Vec3, int]:
        i31, i32, i21 = abs(i[2] - i[0]), abs(i[2] - i[1]), abs(i[1] - i[0])
        if roots_first:
            b1, b2, b3 = sqrt(i[0]) / sqrt(i31), sqrt(i[1]) / sqrt(i32), sqrt(i[2]) / sqrt(i31)
        else:
            b1, b2, b3 = sqrt(i[0] / i31), sqrt(i[1] / i32), sqrt(i[2] / i31)
        s1, s2, s3 = y[0] * y[0], y[1] * y[1], y[2] * y[2]
        twice_h, twice_c = s1 / i[0] + s2 / i[1] + s3 / i[2], s1 + s2 + s3
        first, third = abs(twice_h * i[2] - twice_c), abs(twice_c - twice_h * i[0])
        a1, a3 = sqrt(first), sqrt(third)
        k2 = i21 / i32 * first / third if squares_kept else i21 / i32 * (a1 * a1) / (a3 * a3)
        k2 = min(k2, 1.0)
        rate = sqrt(i32 / (i[0] * i[1] * i[2])) * a3
        phi = amplitude(ellipf(atan2(y[1] / (b2 * a1), y[0] / (b1 * a1)), 1.0 - k2) + rate * t, 1.0 - k2)
        sn = sin(phi)
        cn, dn = cos(phi), sqrt(1.0 - k2 * (sn * sn))
        if constants_first:
            return (b1 * a1 * cn, b2 * a1 * sn, b3 * a3 * dn), OK if dn > 0.0 else UNCOVERED
        return (b1 * (a1 * cn), b2 * (a1 * sn), b3 * (a3 * dn)), OK if dn > 0.0 else UNCOVERED

    return route


def _said(roots_first: bool, squares_kept: bool, constants_first: bool) -> str:
    return ", ".join([
        "√a/√b" if roots_first else "√(a/b)",
        "a²" if squares_kept else "a·a",
        "(b a) cn" if constants_first else "b (a cn)",
    ])  # fmt: skip


ARRANGEMENTS: dict[str, Route] = {
    **{_said(*ways): arranged(*ways) for ways in product((False, True), repeat=3)},
    "rates, (12) to (17)": by_rates,
}
"""The last is celledoni2006's, in rates in place of momenta."""


def _loop(route: Route) -> Callable[..., int]:
    """A loop over many steps, to be compiled: x holds momentum and moments; it returns a status."""
    advance = restarting(route)

    def run(x: Any, h: float, count: int) -> int:
        i = (x[3], x[4], x[5])
        body = Inertia(i, (1.0 / i[0], 1.0 / i[1], 1.0 / i[2]))
        m, status = (x[0], x[1], x[2]), OK
        for _ in range(count):
            if status != OK:
                return status
            m, status = advance(body, m, h)
        x[0], x[1], x[2] = m
        return status

    return run


def drifts(route: Route, momenta: Floats, steps: int) -> Floats:
    """The change of the energy a step, from each of these momenta, in units of eps."""
    x = np.hstack([momenta, np.broadcast_to(np.array(WATER.moments), momenta.shape)])
    before, compiled = _energy(x), program(_loop(route), "pdi")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        if any(pool.map(lambda row: compiled(row, H, steps), x)):
            raise RuntimeError("Algorithm 3.1 does not cover a motion")
    return np.asarray((_energy(x) - before) / EPS / steps, dtype=np.float64)


def _energy(x: Floats) -> Any:
    """The energy in extended precision."""
    wide = x.astype(np.longdouble)
    return (wide[:, :3] ** 2 / wide[:, 3:]).sum(axis=1) / 2
