"""The papers' own routes to the momentum of a free body, by Jacobi's elliptic functions.

Axes are relabelled through a proper rotation, so that the momentum circles axis 3 with y1, y3 >= 0: one set of formulas
then serves both regimes, every order of the axes and every sign. I1, I2, I3 ascend, or descend where the papers say
"similar formulas hold"; time then runs the other way. So

    y = (A cn u, B sn u, C dn u),   u = nu +- rate t,   sn = sin phi, cn = cos phi, dn = sqrt(1 - k^2 sin^2 phi),

with phi = am(u, k). The routes differ in how they compute the constants, and so in what round-off does to energy and
momentum. An error of u or phi is an error of the time: it changes no invariant.

Unlike those of `kernels/free/exact_flow.py`, the formulas divide by numbers that are zero for some motions, and take
differences that may lose all their digits; then the status is UNCOVERED.
"""

from collections.abc import Callable
from math import atan2, copysign, cos, sin, sqrt
from typing import NamedTuple

from polhode.kernels.algebra import dd
from polhode.kernels.algebra.dd import DD
from polhode.kernels.free.elliptic_functions import amplitude, ellipf
from polhode.kernels.free.exact_flow import differences
from polhode.kernels.status import OK, UNCOVERED
from polhode.kernels.types import Inertia, Vec3

LEAST_DIFFERENCE = 2.0**-26
"""The status is UNCOVERED if a difference is smaller than this relative to its terms. It then has half of its digits
left, and the momentum is good to about 1e-12."""

LEAST_DIFFERENCE_EXTENDED = 2.0**-80
"""This bound for two-doubles, with which the momentum is still good to its last digit."""


class Labels(NamedTuple):
    """Which principal axes are called 1, 2, 3, the signs of their directions, and the direction of time."""

    axis1: int
    axis2: int
    axis3: int
    sign1: float
    sign2: float
    sign3: float
    sense: float


def labels(i: Vec3, m: Vec3) -> Labels:
    """Chooses as axis 3 the one that the momentum circles: that of the greatest moment of inertia or that of the least.

    The papers distinguish the regimes by (I2 - I1) a1^2 <= (I3 - I2) a3^2 and c2 d1^2 <= c1 d3^2; both are equivalent
    to the products here, in which nothing cancels.
    """
    low = 0 if i[0] <= i[1] and i[0] <= i[2] else 1 if i[1] <= i[2] else 2
    high = 2 if i[2] >= i[1] and i[2] >= i[0] else 1 if i[1] >= i[0] else 0
    middle = 3 - low - high
    about_greatest = m[high] * m[high] * i[low] * (i[high] - i[middle])
    about_least = m[low] * m[low] * i[high] * (i[middle] - i[low])
    first, third, sense = (low, high, 1.0) if about_greatest >= about_least else (high, low, -1.0)
    sign1, sign3 = copysign(1.0, m[first]), copysign(1.0, m[third])
    even = middle == (first + 1) % 3
    return Labels(first, middle, third, sign1, sign1 * sign3 if even else -(sign1 * sign3), sign3, sense)


def relabelled(a: Labels, m: Vec3) -> Vec3:
    """Takes a vector from principal to relabelled axes."""
    return (a.sign1 * m[a.axis1], a.sign2 * m[a.axis2], a.sign3 * m[a.axis3])


def restored(a: Labels, y: Vec3) -> Vec3:
    """Takes a vector from relabelled to principal axes."""
    y = (a.sign1 * y[0], a.sign2 * y[1], a.sign3 * y[2])
    k1 = 0 if a.axis1 == 0 else 1 if a.axis2 == 0 else 2
    k2 = 0 if a.axis1 == 1 else 1 if a.axis2 == 1 else 2
    return (y[k1], y[k2], y[3 - k1 - k2])


def is_steady(body: Inertia, m: Vec3) -> bool:
    """Whether the momentum is constant in the body (rest, a sphere, a turn about a principal axis) and has no phase."""
    a = differences(body.inertia, body.inverse)
    return a[0] * m[1] * m[2] == 0.0 and a[1] * m[2] * m[0] == 0.0 and a[2] * m[0] * m[1] == 0.0


# --- celledoni2006, section 3, and Algorithm 3.1 of vilmart2008 ------------------------------------------------------


class MotionConstants(NamedTuple):
    """The constants of a motion in the relabelled axes."""

    A: float
    B: float
    C: float
    k2: float
    rate: float
    phase: float


def orbit_of_rates(i: Vec3, y: Vec3) -> tuple[MotionConstants, int]:
    """The constants by celledoni2006, (12)-(17), from the angular velocity.

    Here b1^2 = I2 (I3 - I2), and E is the kinetic energy.
    """
    w1, w2, w3 = y[0] / i[0], y[1] / i[1], y[2] / i[2]
    twice_energy = i[0] * w1 * w1 + i[1] * w2 * w2 + i[2] * w3 * w3
    norm2 = i[0] * i[0] * w1 * w1 + i[1] * i[1] * w2 * w2 + i[2] * i[2] * w3 * w3
    first, third = abs(twice_energy * i[2] - norm2), abs(norm2 - twice_energy * i[0])
    if not (first > LEAST_DIFFERENCE * norm2 and third > LEAST_DIFFERENCE * norm2):
        return MotionConstants(0.0, 0.0, 0.0, 0.0, 0.0, 0.0), UNCOVERED
    a1, a3 = sqrt(first), sqrt(third)
    b1, b3 = sqrt(i[1] * abs(i[2] - i[1])), sqrt(i[1] * abs(i[1] - i[0]))
    k = b3 * a1 / (b1 * a3)
    k2 = min(k * k, 1.0)
    across, up, along = a1 / sqrt(i[0] * abs(i[2] - i[0])), a1 / b1, a3 / sqrt(i[2] * abs(i[2] - i[0]))  # (13)
    rate = b1 * a3 / (i[1] * sqrt(i[0] * i[2]))
    phase = ellipf(atan2(w2 / up, w1 / across), 1.0 - k2)  # (16), (17)
    return MotionConstants(i[0] * across, i[1] * up, i[2] * along, k2, rate, phase), OK


def orbit_of_momenta(i: Vec3, y: Vec3) -> tuple[MotionConstants, int]:
    """The constants by Algorithm 3.1 of vilmart2008, from the momentum."""
    s1, s2, s3 = y[0] * y[0], y[1] * y[1], y[2] * y[2]
    twice_h, twice_c = s1 / i[0] + s2 / i[1] + s3 / i[2], s1 + s2 + s3
    first, third = abs(twice_h * i[2] - twice_c), abs(twice_c - twice_h * i[0])
    if not (first > LEAST_DIFFERENCE * twice_c and third > LEAST_DIFFERENCE * twice_c):
        return MotionConstants(0.0, 0.0, 0.0, 0.0, 0.0, 0.0), UNCOVERED
    a1, a3 = sqrt(first), sqrt(third)
    b1, b3 = sqrt(i[0] / abs(i[2] - i[0])), sqrt(i[2] / abs(i[2] - i[0]))
    b0, b2 = abs(i[1] - i[0]) / abs(i[2] - i[1]), sqrt(i[1] / abs(i[2] - i[1]))
    k2 = min(b0 * (a1 * a1) / (a3 * a3), 1.0)
    rate = sqrt(abs(i[2] - i[1]) / (i[0] * i[1] * i[2])) * a3
    A, B = b1 * a1, b2 * a1
    return MotionConstants(A, B, b3 * a3, k2, rate, ellipf(atan2(y[1] / B, y[0] / A), 1.0 - k2)), OK


def evaluated(o: MotionConstants, t: float) -> tuple[Vec3, int]:
    """The momentum after a time t, by (13) and (14) of celledoni2006."""
    phi = amplitude(o.phase + o.rate * t, 1.0 - o.k2)
    sn = sin(phi)
    dn = sqrt(1.0 - o.k2 * (sn * sn))
    return (o.A * cos(phi), o.B * sn, o.C * dn), OK if dn > 0.0 else UNCOVERED


def by_rates(i: Vec3, y: Vec3, t: float) -> tuple[Vec3, int]:
    """Makes one step by celledoni2006."""
    o, status = orbit_of_rates(i, y)
    return (y, status) if status != OK else evaluated(o, t)


def by_momenta(i: Vec3, y: Vec3, t: float) -> tuple[Vec3, int]:
    """Makes one step by Algorithm 3.1."""
    o, status = orbit_of_momenta(i, y)
    return (y, status) if status != OK else evaluated(o, t)


# --- the same with the constants in two-doubles ----------------------------------------------------------------------


def by_extended_momenta(i: Vec3, y: Vec3, t: float) -> tuple[Vec3, int]:
    """Makes one step by Algorithm 3.1, with its constants and the products with them in two-doubles."""
    i1, i2, i3 = dd.single(i[0]), dd.single(i[1]), dd.single(i[2])
    s1, s2, s3 = _square(y[0]), _square(y[1]), _square(y[2])
    twice_h = dd.add(dd.add(dd.divide(s1, i1), dd.divide(s2, i2)), dd.divide(s3, i3))
    twice_c = dd.add(dd.add(s1, s2), s3)
    first = _size(dd.subtract(dd.multiply(twice_h, i3), twice_c))
    third = _size(dd.subtract(twice_c, dd.multiply(twice_h, i1)))
    if not (first[0] > LEAST_DIFFERENCE_EXTENDED * twice_c[0] and third[0] > LEAST_DIFFERENCE_EXTENDED * twice_c[0]):
        return y, UNCOVERED
    i31, i32, i21 = _size(dd.subtract(i3, i1)), _size(dd.subtract(i3, i2)), _size(dd.subtract(i2, i1))
    A = dd.root(dd.multiply(dd.divide(i1, i31), first))
    B = dd.root(dd.multiply(dd.divide(i2, i32), first))
    C = dd.root(dd.multiply(dd.divide(i3, i31), third))
    k2 = dd.divide(dd.multiply(dd.divide(i21, i32), first), third)
    mc = max(dd.subtract(dd.single(1.0), k2)[0], 0.0)
    rate = dd.root(dd.divide(dd.multiply(i32, third), dd.multiply(i1, dd.multiply(i2, i3))))[0]
    phi = amplitude(ellipf(atan2(y[1] / B[0], y[0] / A[0]), mc) + rate * t, mc)
    sn = sin(phi)
    dn = dd.root(dd.subtract(dd.single(1.0), dd.multiply(k2, _square(sn))))
    new = (_product(A, cos(phi)), _product(B, sn), dd.multiply(C, dn)[0])
    return new, OK if dn[0] > 0.0 else UNCOVERED


def _square(x: float) -> DD:
    return dd.multiply(dd.single(x), dd.single(x))


def _size(a: DD) -> DD:
    return a if a[0] >= 0.0 else dd.negative(a)


def _product(a: DD, x: float) -> float:
    return dd.multiply(a, dd.single(x))[0]


# --- Algorithm 4.1 of vilmart2008 ------------------------------------------------------------------------------------


def by_two_constants(i: Vec3, y: Vec3, t: float) -> tuple[Vec3, int]:
    """Makes one step by Algorithm 4.1: c1 and lambda are the only constants, and c1 + c2 = 1 exactly."""
    c1 = i[0] * (i[2] - i[1]) / (i[1] * (i[2] - i[0]))  # (5)
    c2 = 1.0 - c1
    c1 = 1.0 - c2
    s1, s2, s3 = y[0] * y[0], y[1] * y[1], y[2] * y[2]
    first, third = s1 + c1 * s2, c2 * s2 + s3
    if not (c1 > 0.0 and first > 0.0 and third > 0.0):
        return y, UNCOVERED
    d1, d2, d3 = sqrt(first), sqrt(s1 / c1 + s2), sqrt(third)
    mc = max((c1 * s3 - c2 * s1) / (c1 * third), 0.0)  # 1 - k^2; only u and phi depend on it
    rate = sqrt(abs(i[2] - i[1]) * abs(i[2] - i[0]) / (i[0] * i[1])) / i[2] * d3
    phi = amplitude(ellipf(atan2(y[1] / d2, y[0] / d1), mc) + rate * t, mc)
    y2 = d2 * sin(phi)
    rest = third - c2 * (y2 * y2)
    return (d1 * cos(phi), y2, sqrt(max(rest, 0.0))), OK if rest > 0.0 else UNCOVERED


# --- steps in any axes -----------------------------------------------------------------------------------------------

Route = Callable[[Vec3, Vec3, float], tuple[Vec3, int]]
"""`(moments, momentum, time) -> momentum, status` in relabelled axes."""


def restarting(route: Route) -> Callable[[Inertia, Vec3, float], tuple[Vec3, int]]:
    """Returns `advance(body, m, h) -> m, status`, which computes constants and phase from the momentum."""

    def advance(body: Inertia, m: Vec3, h: float) -> tuple[Vec3, int]:
        if is_steady(body, m):
            return m, OK
        a, i = labels(body.inertia, m), body.inertia
        y, status = route((i[a.axis1], i[a.axis2], i[a.axis3]), relabelled(a, m), a.sense * h)
        return restored(a, y), status

    return advance


Kept = tuple[float, float, float, float, float, float, float, float, float, float, float, float, float]
"""The memory of a motion that is evaluated from its start. All of it is floats, because a memory is."""
KEPT = 13
"""The length of that memory."""
STEADY, MOVING = 0.0, 1.0


def from_rates(body: Inertia, m: Vec3, t: float) -> Kept:
    """The constants of celledoni2006 for the motion that has the momentum m at time t."""
    a, i = labels(body.inertia, m), body.inertia
    if is_steady(body, m):
        return (STEADY, t, m[0], m[1], m[2], 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    o, status = orbit_of_rates((i[a.axis1], i[a.axis2], i[a.axis3]), relabelled(a, m))
    kind = MOVING if status == OK else -1.0
    return (kind, t, a.axis1, a.axis3, a.sign1, a.sign2, a.sign3, a.sense * o.rate, o.phase, o.A, o.B, o.C, o.k2)


def recalled(c: Kept, t: float) -> tuple[Vec3, int]:
    """The momentum at time t from the constants in the memory."""
    if c[0] == STEADY:
        return (c[2], c[3], c[4]), OK
    if c[0] != MOVING:
        return (0.0, 0.0, 0.0), UNCOVERED
    axis1, axis3 = int(c[2]), int(c[3])
    y, status = evaluated(MotionConstants(c[9], c[10], c[11], c[12], c[7], c[8]), t - c[1])
    return restored(Labels(axis1, 3 - axis1 - axis3, axis3, c[4], c[5], c[6], 1.0), y), status
