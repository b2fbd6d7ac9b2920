"""A body on a Kepler ellipse: where it is, and how it moves, at a given time.

Kepler's equation is solved by Markley's formula, which is good to three parts in ten thousand everywhere, and two
corrections of the fifth order [markley1995]. There are no branches and no iterations of unknown number, so that bodies
share registers. Sums that cancel near the perigee of a long ellipse are written with half of the eccentric anomaly and
with E - sin E.
"""

import math
from typing import Any

from polhode.kernels.algebra.trig import ROUND, sine_versine
from polhode.kernels.elementary.roots import cube_root
from polhode.kernels.ops import fma, where
from polhode.kernels.types import Vec3

PI = math.pi
INVERSE_TURN = 1.0 / (2.0 * math.pi)
TURN_HIGH, TURN_LOW = 6.283185307179586, 2.4492935982947064e-16
MARKLEY = PI * PI - 6.0
NUMBERS = 12
"""The numbers of an orbit: mean motion, epoch, mean anomaly at the epoch, eccentricity, the two semi-axes, and the
directions to the perigee and, at right angles, along the motion there."""

State6 = tuple[float, float, float, float, float, float]


def reduced(x: float) -> float:
    """An angle without its full turns, from -pi to pi."""
    k = fma(x, INVERSE_TURN, ROUND) - ROUND
    return fma(k, -TURN_LOW, fma(k, -TURN_HIGH, x))


def arc_excess(x: float, sine: float) -> float:
    """Returns x - sin x with all its digits, given sin x."""
    z = x * x
    f = fma(z, -1.0 / 342.0, 1.0)  # (2k)(2k + 1) for k = 9, 8, ...
    f = fma(z * f, -1.0 / 272.0, 1.0)
    f = fma(z * f, -1.0 / 210.0, 1.0)
    f = fma(z * f, -1.0 / 156.0, 1.0)
    f = fma(z * f, -1.0 / 110.0, 1.0)
    f = fma(z * f, -1.0 / 72.0, 1.0)
    f = fma(z * f, -1.0 / 42.0, 1.0)
    f = fma(z * f, -1.0 / 20.0, 1.0)
    found: float = where(z < 1.0, x * z * f / 6.0, x - sine)
    return found


def first_anomaly(m: float, e: float) -> float:
    """The eccentric anomaly to 3e-4 of itself, for -pi <= m <= pi and 0 <= e < 1.  [markley1995]"""
    gap, size = 1.0 - e, abs(m)
    alpha = (3.0 * PI * PI + 1.6 * PI * (PI - size) / (1.0 + e)) / MARKLEY
    d = 3.0 * gap + alpha * e
    r = 3.0 * alpha * d * (d - gap) * m + m * m * m
    q = 2.0 * alpha * d * gap - m * m
    root = cube_root(abs(r) + math.sqrt(abs(q * q * q + r * r)))
    w = root * root
    return (2.0 * r * w / (w * w + w * q + q * q) + m) / d


def corrected(x: float, m: float, e: float) -> float:
    """A better eccentric anomaly: one correction of the fifth order.  [markley1995]"""
    s, v = sine_versine(0.5 * x)
    c = 1.0 - v
    sine, versine = 2.0 * s * c, 2.0 * s * s
    f = fma(1.0 - e, x, e * arc_excess(x, sine)) - m
    f1 = fma(e, versine, 1.0 - e)
    f2 = e * sine
    f3 = e * (1.0 - versine)
    d = -f / (f1 - 0.5 * f * f2 / f1)
    d = -f / (f1 + d * (0.5 * f2 + d * f3 / 6.0))
    d = -f / (f1 + d * (0.5 * f2 + d * (f3 / 6.0 - d * f2 / 24.0)))
    return x + d


def eccentric_anomaly(m: float, e: float) -> float:
    """Solves E - e sin E = m, for -pi <= m <= pi and 0 <= e < 1."""
    return corrected(corrected(first_anomaly(m, e), m, e), m, e)


def kepler_state(t: float, p: Any) -> State6:
    """Returns position and velocity at the time t, in the axes of the two directions in p."""
    n, e, a, b = p[0], p[3], p[4], p[5]
    x = eccentric_anomaly(reduced(fma(n, t - p[1], p[2])), e)
    s, v = sine_versine(0.5 * x)
    c = 1.0 - v
    sine, versine = 2.0 * s * c, 2.0 * s * s
    along, across = a * (1.0 - e - versine), b * sine
    rate = n / fma(e, versine, 1.0 - e)
    u, w = -a * rate * sine, b * rate * (1.0 - versine)
    return (
        fma(across, p[9], along * p[6]), fma(across, p[10], along * p[7]), fma(across, p[11], along * p[8]),
        fma(w, p[9], u * p[6]), fma(w, p[10], u * p[7]), fma(w, p[11], u * p[8]),
    )  # fmt: skip


def position(s: State6) -> Vec3:
    """The first three of the six numbers."""
    return (s[0], s[1], s[2])


def velocity(s: State6) -> Vec3:
    """The last three of the six numbers."""
    return (s[3], s[4], s[5])
