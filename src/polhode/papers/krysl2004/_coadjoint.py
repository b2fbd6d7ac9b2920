"""Crouch and Grossman's method as DiffMan runs it: the heavy top as a motion on the dual of se(3).

DiffMan's example 9, the work to which section 3.3 refers, advances momentum m and vertical g, both seen from the body,
by the coadjoint action of the group of rigid motions: with the slope (w, v) held fixed, w = I^-1 m and v = M l g chi,

    m' = m x w + g x v,    g' = g x w.

The method is the `CG` of this library, but for what it acts on; m . g and |g| are kept.
"""

from collections.abc import Callable
from math import cos, sin, sqrt
from typing import Any

import numpy as np

from polhode.compiler import program
from polhode.kernels.algebra.vec import combine, cross, dot, times
from polhode.kernels.types import Vec3
from polhode.papers.krysl2004._tops import MOMENTS, SPIN, TILT, WEIGHT
from polhode.support.arrays import Floats

Pair = tuple[Vec3, Vec3]
CHI = (0.0, 0.0, 1.0)


def moved(y: Pair, w: Vec3, v: Vec3, h: float) -> Pair:
    """The momentum and the vertical after a time h with the slope (w, v)."""
    w, v = (h * w[0], h * w[1], h * w[2]), (h * v[0], h * v[1], h * v[2])
    n = dot(w, w)
    x = sqrt(n)
    if x > 1e-3:
        a, b, c = sin(x) / x, (1.0 - cos(x)) / n, (x - sin(x)) / (x * n)
    else:
        a, b, c = 1.0 - n / 6.0, 0.5 - n / 24.0, 1.0 / 6.0 - n / 120.0
    wv = cross(w, v)
    mean = combine(combine(v, b, wv), c, cross(w, wv))  # of v, as it turns
    m, g = combine(y[0], 1.0, cross(y[1], mean)), y[1]
    wm, wg = cross(w, m), cross(w, g)
    return combine(combine(m, -a, wm), b, cross(w, wm)), combine(combine(g, -a, wg), b, cross(w, wg))


def repeated() -> Callable[..., int]:
    """A loop over steps, to be compiled: x holds momentum, vertical and inverse moments."""

    def run(x: Any, h: float, count: int) -> int:
        inverse, v = (x[6], x[7], x[8]), (0.0, 0.0, WEIGHT)
        y = ((x[0], x[1], x[2]), (x[3], x[4], x[5]))
        for _ in range(count):
            k1 = times(y[0], inverse)
            k2 = times(moved(y, k1, v, h / 2)[0], inverse)
            k3 = times(moved(y, k2, v, h / 2)[0], inverse)
            k4 = times(moved(y, k3, v, h)[0], inverse)
            y = moved(moved(moved(moved(y, k1, v, h / 6), k2, v, h / 3), k3, v, h / 3), k4, v, h / 6)
        x[0], x[1], x[2] = y[0]
        x[3], x[4], x[5] = y[1]
        return 0

    return run


def followed(h: float, rows: int, stride: int = 1, spin: float = SPIN, tilt: float = TILT) -> Floats:
    """Momentum and vertical at the start and after each of so many stretches of steps: rows of six."""
    vertical = (0.0, np.sin(tilt), np.cos(tilt))
    x = np.array([0.0, 0.0, MOMENTS[2] * spin, *vertical, *(1.0 / i for i in MOMENTS)])
    step, out = program(repeated(), "pdi"), [x[:6].copy()]
    for _ in range(rows):
        step(x, h, stride)
        out.append(x[:6].copy())
    return np.array(out)


def hamiltonian(rows: Floats) -> Floats:
    """The energy of each row."""
    return np.asarray((rows[:, :3] ** 2 / MOMENTS).sum(axis=1) / 2 + WEIGHT * rows[:, 5])
