r"""The free gyrostat in closed form: a body with a constant internal momentum g along a principal axis.

Axis 3 is the rotor's, and axes 1 and 2 are such that I1 <= I2. With i = 1/I and z = m3, the squares of m1 and m2 are
quadratic in z, because energy and momentum are kept, and dz/dt = -(i1 - i2) m1 m2. In place of z stands e, with
z = z(0) + (i1 - i2) e, so that symmetric bodies are no exception:

    m1^2 = P1(e) = m1(0)^2 + 2 b1 e + c1 e^2,    m2^2 = P2(e) = m2(0)^2 + 2 b2 e + c2 e^2,    (de/dt)^2 = P1 P2,

between two neighbouring roots, lo and hi, of the quartic. The other two are real or a complex pair. With the products
of differences of roots, X = -(lo-c)(hi-d) c1 c2 and Y = -(lo-d)(hi-c) c1 c2, and R = sqrt(XY), the real period is
2 pi / agm(sqrt(X + Y + 2R) / 2, sqrt(R)). Both kinds of roots are one: the nome of the theta functions is
the square root of Q, which is positive for real roots, negative for complex ones, and zero where the two meet, where
the motion is trigonometric.

The attitude has Cayley-Klein parameters that are quotients of theta functions, as for tops; Volterra (1899) solved
gyrostats by such quotients, and Elipe and Lanchares (2008) have the quartic:

    alpha = q0 + i q3 = A exp(i mu1 t) theta1(x - x1) / D,    beta = q1 + i q2 = B exp(i mu2 t) theta1(x - x2) / D,

in space axes of which the third is the momentum: x = pi t / period, x1 is the point at which z = -G, x2 that at which
z = G, and D is real. Two complex theta functions and a division by the norm give the whole state. The series are those
of the direct nome (DIRECT) or of the dual one, for real roots (REAL) or complex ones (COMPLEX), which are hyperbolic;
on a separatrix, where the period is infinite, their first terms remain.

What is multiplied by the time is a two-double. Roots are found relative to the start, so that small distances from an
equilibrium keep their digits. Formulas: docs/understand/free_motion.md.
"""

from math import copysign, cos, exp, expm1, inf, pi, sin, sqrt
from typing import Any, NamedTuple

from polhode.kernels.algebra import dd
from polhode.kernels.algebra.dd import DD
from polhode.kernels.algebra.quat import conjugate, multiply, norm2
from polhode.kernels.algebra.trig import sine_cosine
from polhode.kernels.codegen import tuple_of, writer_of
from polhode.kernels.free.closed_form import by_rows, complete_integral, nearest, quarter_period, scaled_time, turns
from polhode.kernels.free.elliptic_functions import ALL_DIGITS, agm, rf
from polhode.kernels.ops import fma, two_product
from polhode.kernels.status import OK
from polhode.kernels.types import Quat, Vec3

STEADY, DIRECT, REAL, COMPLEX = 0.0, 1.0, 2.0, 3.0
"""The kinds of motion, as floats because they stand among the constants."""

LARGEST_NOME = 0.0434
"""The greatest |Q| of the direct series: their first neglected term, |Q|^12.5, is below 1e-16. Beyond, the dual nome of
complex roots is below this number, and that of real ones below its square."""

NOTHING_LEFT = 2.0**-98
"""A difference of two-doubles, relative to them, that is taken for zero."""


class Pole(NamedTuple):
    """The theta function of alpha or beta: where it is zero, and what it is multiplied by."""

    shifted: float  # 1: its zero lies half a period beyond x = 0, 0: it does not
    side: float  # the sign of the imaginary part of its zero
    growth: float  # DIRECT: Q exp(2 eta), with eta the size of that imaginary part
    decay: float  # DIRECT: exp(-2 eta)
    fall: float  # DIRECT: 1 - exp(-2 eta)
    angle: float  # REAL, COMPLEX: pi times the imaginary part over the imaginary period
    jump: float  # REAL, COMPLEX: turns of the phase in a period
    turn_high: float  # mu / 2 pi
    turn_low: float
    real: float  # the constant factor
    imaginary: float


class Gyration(NamedTuple):
    """The constants of a motion. Axes are relabelled; moments, momenta and rates are divided by their scales."""

    kind: float
    flipped: float  # 1: axes 2 and 3 are turned round, 0: they are not
    norm: float  # G
    response1: float  # G / I1; STEADY: the rate
    response2: float
    response3: float
    above: float  # w3 where the momentum is along axis 3: (G - g) / I3
    below: float  # and where it is opposite: (-G - g) / I3
    circles: float  # 1: the momentum goes round axis 3, 0: it does not
    period: float  # of z; infinite on the separatrix
    stretch: float  # REAL, COMPLEX: pi times the period over the imaginary period; on the separatrix pi over the latter
    nome: float  # DIRECT: Q; REAL, COMPLEX: the dual nome
    x0: float  # x / pi at the start
    t0: float  # the time since x = 0
    rate_high: float  # 1 / period
    rate_low: float
    least: float  # G + z at the end lo, where x = 0
    most: float  # G - z at the end hi
    precession: float  # the mean rate at which axis 3 goes round the momentum; |w| if STEADY
    spin: float  # the greatest rate of a phase
    distance: float  # from the separatrix, on which it is 0; at most 1
    stiffness: float  # the rate at which the body leaves the equilibrium of the separatrix
    y1: float  # STEADY: the momentum over G, and the direction of the rate
    y2: float
    y3: float
    axis1: float
    axis2: float
    axis3: float
    turn_high: float  # STEADY: |w| / 4 pi
    turn_low: float


CONSTANTS = len(Gyration._fields)
POLE = len(Pole._fields)
NO_POLE = Pole(0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

# --- the interval of the motion ------------------------------------------------------------------------------------


class Quadratic(NamedTuple):
    """P(e) = m^2 + 2 b e + c e^2 with its roots; P is positive at e = 0, or zero there."""

    m2: DD
    b: DD
    c: DD
    root: DD  # sqrt(b^2 - c m^2)
    complex: bool
    lower: DD  # the root below 0 that bounds the motion
    upper: DD
    is_lower: bool  # whether there is one
    is_upper: bool


def _quadratic(m2: DD, b: DD, c: DD) -> Quadratic:
    """Finds the roots without a difference of nearly equal numbers, other than that of the discriminant."""
    square, product = dd.multiply(b, b), dd.multiply(c, m2)
    discriminant = dd.subtract(square, product)
    if abs(discriminant[0]) < NOTHING_LEFT * (square[0] + abs(product[0])):
        discriminant = (0.0, 0.0)
    root = dd.root(discriminant)
    none = (0.0, 0.0)
    if discriminant[0] < 0.0 or (b[0] == 0.0 and root[0] == 0.0):
        absolute = dd.root(dd.negative(discriminant))
        return Quadratic(m2, b, c, absolute, discriminant[0] < 0.0, none, none, False, False)
    near = dd.add(b, root) if b[0] >= 0.0 else dd.subtract(b, root)
    first = dd.negative(dd.divide(m2, near))
    second = dd.negative(dd.divide(near, c)) if c[0] < 0.0 else none
    if b[0] >= 0.0:
        return Quadratic(m2, b, c, root, False, first, second, True, c[0] < 0.0)
    return Quadratic(m2, b, c, root, False, second, first, c[0] < 0.0, True)


def _value(p: Quadratic, e: DD) -> DD:
    """P(e); zero if no digit is left."""
    linear, square = dd.scaled(dd.multiply(p.b, e), 2.0), dd.multiply(dd.multiply(p.c, e), e)
    total = dd.add(dd.add(p.m2, linear), square)
    return total if total[0] > NOTHING_LEFT * (p.m2[0] + abs(linear[0]) + abs(square[0])) else (0.0, 0.0)


class Interval(NamedTuple):
    """The ends between which e oscillates, and the differences of the roots of the quartic."""

    lo: DD
    hi: DD
    first: float  # 1 or 2: which component of the momentum is zero at lo
    mixed: bool  # whether the other one is zero at hi
    at_lo: DD  # -c1 c2 (lo-c)(lo-d)
    at_hi: DD  # -c1 c2 (hi-c)(hi-d)
    R: DD
    sum: DD  # 2R + X + Y
    gap: DD  # 2R - X - Y, negative if the roots are real
    difference: DD  # |X - Y|
    largest: DD  # the greater of X and Y
    complex: bool
    polar_lo: bool  # whether both components are zero at lo, so that it is an equilibrium on the rotor's axis
    polar_hi: bool


def _interval(p1: Quadratic, p2: Quadratic) -> Interval:
    """The interval about e = 0 in which both quadratics are positive."""
    low_is_1 = p1.is_lower and (not p2.is_lower or dd.subtract(p1.lower, p2.lower)[0] >= 0.0)
    high_is_1 = p1.is_upper and (not p2.is_upper or dd.subtract(p1.upper, p2.upper)[0] <= 0.0)
    i = p1 if low_is_1 else p2
    j = p2 if low_is_1 else p1
    lo = i.lower
    if low_is_1 == high_is_1:
        hi = i.upper
        a, b = dd.multiply(dd.negative(i.c), _value(j, lo)), dd.multiply(dd.negative(i.c), _value(j, hi))
        polar_lo, polar_hi = a[0] == 0.0, b[0] == 0.0
        first = 1.0 if low_is_1 else 2.0
        R = dd.root(dd.multiply(a, b))
        # -(2 m2^2 c1 - 4 b1 b2 + 2 m1^2 c2) is X + Y
        W = dd.subtract(
            dd.scaled(dd.multiply(p1.b, p2.b), 4.0),
            dd.scaled(dd.add(dd.multiply(p2.m2, p1.c), dd.multiply(p1.m2, p2.c)), 2.0),
        )
        V = dd.scaled(dd.multiply(i.root, j.root), 4.0)
        VV, RR = dd.multiply(V, V), dd.scaled(R, 2.0)
        if j.complex:
            if W[0] > 0.0:
                total = dd.add(RR, W)
                gap = dd.divide(VV, total)
            else:
                gap = dd.subtract(RR, W)
                total = dd.divide(VV, gap)
            return Interval(lo, hi, first, False, a, b, R, total, gap, V, R, True, polar_lo, polar_hi)
        total = dd.add(RR, W)
        gap = dd.negative(dd.divide(VV, total)) if total[0] > 0.0 else (0.0, 0.0)
        largest = dd.scaled(dd.add(W, V), 0.5)
        return Interval(lo, hi, first, False, a, b, R, total, gap, V, largest, False, polar_lo, polar_hi)
    hi = j.upper
    length = dd.subtract(hi, lo)
    # h = c (end - other root of the same quadratic); the other root of j is below lo, or beyond infinity
    h_j, h_i = _beyond(j, length, lo, j.lower, j.is_lower), _beyond(i, length, hi, i.upper, i.is_upper)
    twice_i, twice_j = dd.scaled(i.root, 2.0), dd.scaled(j.root, 2.0)
    a, b = dd.multiply(twice_i, h_j), dd.multiply(twice_j, h_i)
    X, Y = dd.multiply(twice_i, twice_j), dd.multiply(h_i, h_j)
    R = dd.multiply(dd.root(X), dd.root(Y))
    bracket = dd.add(dd.multiply(twice_i, j.c), dd.multiply(i.c, dd.add(twice_j, dd.multiply(j.c, length))))
    difference = dd.multiply(length, bracket)
    if difference[0] < 0.0:
        difference = dd.negative(difference)
    total = dd.add(dd.scaled(R, 2.0), dd.add(X, Y))
    gap = (0.0, 0.0)
    if total[0] > 0.0:
        gap = dd.negative(dd.divide(dd.multiply(difference, difference), total))
    largest = X if X[0] > Y[0] else Y
    polar_lo, polar_hi, first = h_j[0] == 0.0, h_i[0] == 0.0, 1.0 if low_is_1 else 2.0
    return Interval(lo, hi, first, True, a, b, R, total, gap, difference, largest, False, polar_lo, polar_hi)


def _beyond(p: Quadratic, length: DD, end: DD, other: DD, bounded: bool) -> DD:
    """2 sqrt(b^2 - c m^2) + c (hi - lo), which is |c (end - other root)|; zero if no digit is left."""
    twice, rest = dd.scaled(p.root, 2.0), dd.multiply(p.c, length)
    if not bounded or -2.0 * rest[0] < twice[0]:
        return dd.add(twice, rest)
    between = dd.subtract(end, other)
    if abs(between[0]) < NOTHING_LEFT * (abs(end[0]) + abs(other[0])):
        return 0.0, 0.0
    h = dd.multiply(p.c, between)
    return h if h[0] > 0.0 else dd.negative(h)


def _turned(v: Interval) -> Interval:
    """An interval with e in the opposite direction."""
    second = 3.0 - v.first if v.mixed else v.first
    return Interval(
        dd.negative(v.hi), dd.negative(v.lo), second, v.mixed, v.at_hi, v.at_lo, v.R, v.sum, v.gap, v.difference,
        v.largest, v.complex, v.polar_hi, v.polar_lo,
    )  # fmt: skip


# --- set-up --------------------------------------------------------------------------------------------------------


def set_up(inertia: Vec3, omega: Vec3, rotor: float) -> tuple[Gyration, Pole, Pole]:
    """The constants of the motion that starts with these rates; the rotor is along axis 3, and I1 <= I2."""
    w1, w2, w3, g = omega[0], omega[1], omega[2], dd.single(rotor)
    I1, I2, I3 = dd.single(inertia[0]), dd.single(inertia[1]), dd.single(inertia[2])
    m1, m2 = two_product(I1[0], w1), two_product(I2[0], w2)
    own = two_product(I3[0], w3)
    z = dd.add(own, g)
    d21, d32, d31 = dd.two_sum(I2[0], -I1[0]), dd.two_sum(I3[0], -I2[0]), dd.two_sum(I3[0], -I1[0])
    kappa = dd.divide(dd.divide(d21, I1), I2)  # 1/I1 - 1/I2
    b1 = dd.divide(dd.add(dd.multiply(d32, dd.single(w3)), g), I2)
    b2 = dd.negative(dd.divide(dd.add(dd.multiply(d31, dd.single(w3)), g), I1))
    flat1 = dd.divide(dd.divide(d32, I2), I3)  # 1/I2 - 1/I3
    G = dd.hypotenuse(dd.hypotenuse(m1, m2), z)
    if (m2[0] == 0.0 or b1[0] == 0.0) and (m1[0] == 0.0 or b2[0] == 0.0) and kappa[0] * m1[0] * m2[0] == 0.0:
        return _steady(inertia, omega, rotor, (m1[0], m2[0], z[0]), G)
    M1, M2 = dd.multiply(m1, m1), dd.multiply(m2, m2)
    p1 = _quadratic(M1, b1, dd.multiply(kappa, flat1))
    p2 = _quadratic(M2, b2, dd.negative(dd.multiply(kappa, dd.divide(dd.divide(d31, I1), I3))))
    v = _interval(p1, p2)

    # Where the series have their origin: away from the equilibrium of the separatrix, or near the start.
    scale_lo, scale_hi = (v.hi[0], v.lo[0]) if v.complex else (1.0, 1.0)
    flip = v.at_lo[0] * scale_lo * scale_lo < v.at_hi[0] * scale_hi * scale_hi
    if flip:
        v, b1, b2 = _turned(v), dd.negative(b1), dd.negative(b2)
        m2, z, g = dd.negative(m2), dd.negative(z), dd.negative(g)

    across = dd.add(M1, M2)
    above, below = dd.subtract(G, z), dd.add(G, z)
    if z[0] > 0.0:
        above = dd.divide(across, below)
    else:
        below = dd.divide(across, above)
    least, lowest = dd.add(below, dd.multiply(kappa, v.lo)), dd.subtract(above, dd.multiply(kappa, v.lo))
    highest, most = dd.add(below, dd.multiply(kappa, v.hi)), dd.subtract(above, dd.multiply(kappa, v.hi))

    half_sum, root_R = dd.scaled(dd.root(v.sum), 0.5), dd.root(v.R)
    frequency = (0.0, 0.0)
    period, dual_period = inf, inf
    if root_R[0] > 0.0:
        frequency = dd.divide(agm(half_sum, root_R, ALL_DIGITS), TWO_PI)
        period = 1.0 / frequency[0]
    if v.complex:
        dual_period = 2.0 * pi / agm(root_R, dd.scaled(dd.root(v.gap), 0.5), ALL_DIGITS)[0]
    elif v.difference[0] > 0.0:
        dual_period = 2.0 * pi / agm(dd.root(v.largest), dd.root(v.difference), ALL_DIGITS)[0]
    elif root_R[0] == 0.0:  # three roots are one, and the motion is rational: so near to it that there is no difference
        dual_period = 1e25 / sqrt(v.at_lo[0]) / max(abs(v.hi[0] - v.lo[0]), 1e-100)

    # The time since the end lo.
    t0 = 0.0
    if v.lo[0] < 0.0:
        if v.hi[0] > 0.0:
            ratio = dd.divide(v.hi, dd.negative(v.lo))
            p, q = dd.multiply(v.at_lo, ratio), dd.divide(v.at_hi, ratio)
            t0 = _time(p, q, v.sum, v.R)
            if q[0] > p[0]:
                t0 = 0.5 * period - t0
        else:
            t0 = 0.5 * period
    # The component that is not zero at lo keeps its sign from there to the start.
    direction = -m1[0] * m2[0]
    if v.first == 1.0:
        sign1, sign2 = 0.0, copysign(1.0, m2[0] if m2[0] != 0.0 else m1[0] * b2[0])
    else:
        sign1, sign2 = copysign(1.0, m1[0] if m1[0] != 0.0 else m2[0] * b1[0]), 0.0
    if direction < 0.0:
        t0 = -t0

    kind, nome = DIRECT, 0.0
    if period < inf and dual_period < inf:
        nome = -exp(-pi * dual_period / period) if v.complex else exp(-2.0 * pi * dual_period / period)
    if period == inf or abs(nome) > LARGEST_NOME:
        kind = COMPLEX if v.complex else REAL
        nome = exp(-pi * period / dual_period) if period < inf else 0.0
    # E = 2 T - (G -+ g)^2 / I3, from the start: P1 at z = -G and at z = G, times kappa
    start = dd.multiply(kappa, M1)
    energy1 = dd.subtract(start, dd.multiply(below, dd.subtract(dd.scaled(b1, 2.0), dd.multiply(flat1, below))))
    energy2 = dd.add(start, dd.multiply(above, dd.add(dd.scaled(b1, 2.0), dd.multiply(flat1, above))))
    up, down = dd.divide(dd.add(G, g), I3), dd.divide(dd.subtract(G, g), I3)
    pole1, rate1 = _pole(kind, v, least, highest, energy1, up, 1.0, period, dual_period, frequency, nome)
    if v.polar_hi:  # beta falls to nothing towards hi, and its phase becomes that of alpha
        pole2 = Pole(1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, pole1.turn_high, pole1.turn_low, 1.0, 0.0)
        rate2, most = rate1, (0.0, 0.0)
    else:
        pole2, rate2 = _pole(kind, v, lowest, most, energy2, down, -1.0, period, dual_period, frequency, nome)
    # At lo, alpha is real, and so is beta or i beta.
    alpha, beta = sqrt(0.5 * least[0] / G[0]), sqrt(0.5 * lowest[0] / G[0])
    pole1 = _multiplied(pole1, alpha, 0.0, _at_origin(pole1, kind, nome))
    if v.first == 1.0:
        pole2 = _multiplied(pole2, sign2 * beta, 0.0, _at_origin(pole2, kind, nome))
    else:
        pole2 = _multiplied(pole2, 0.0, -sign1 * beta, _at_origin(pole2, kind, nome))
    # A turn of the axes in space is free: so at the time t0 alpha has the phase that it has without exp(i mu1 t0).
    stretch = 0.0
    if kind != DIRECT:
        stretch = pi * period / dual_period if period < inf else pi / dual_period
    if min(above[0], below[0]) > NEAR_ROTOR_AXIS * G[0] or max(abs(rate1), abs(rate2)) * abs(t0) > MOST_RADIANS:
        f, u = (t0 / period, stretch * (t0 / period)) if period < inf else (0.0, stretch * t0)
        real, imaginary = _phase_at_start(pole1, pole2, kind, nome, f, u, (m2[0], -m1[0]))
    else:
        turn = dd.subtract((pole2.turn_high, pole2.turn_low), (pole1.turn_high, pole1.turn_low))
        _, f = turns(t0, turn[0], turn[1])
        real, imaginary = cos(2.0 * pi * f), sin(2.0 * pi * f)
    pole2 = _multiplied(pole2, real, imaginary, (1.0, 0.0))
    if v.complex:
        distance = 0.25 * v.sum[0] / v.R[0]
    else:
        distance = v.R[0] * v.R[0] / (v.largest[0] * v.largest[0]) if v.largest[0] > 0.0 else 0.0
    constants = Gyration(
        kind, 1.0 if flip else 0.0, G[0], dd.divide(G, I1)[0], dd.divide(G, I2)[0], dd.divide(G, I3)[0],
        down[0], -up[0], 1.0 if v.mixed else 0.0, period, stretch, nome, t0 / period, t0, frequency[0], frequency[1],
        least[0], most[0], rate1 + rate2, max(abs(rate1), abs(rate2)) + pi * frequency[0], distance, pi / dual_period,
        0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
    )  # fmt: skip
    return constants, pole1, pole2


def _phase_at_start(
    alpha: Pole, beta: Pole, kind: float, nome: float, f: float, u: float, y: tuple[float, float]
) -> tuple[float, float]:
    """The factor of length 1 with which beta over alpha has the phase of the complex number y at the start."""
    if kind == DIRECT:
        sine, cosine = sin(pi * f), cos(pi * f)
        a, b = _direct(direct_series(alpha, nome), sine, cosine), _direct(direct_series(beta, nome), sine, cosine)
    else:
        a, b = _dual(dual_series(alpha), kind, nome, u), _dual(dual_series(beta), kind, nome, u)
    a, b = _beginning(alpha, f, a), _beginning(beta, f, b)
    c = (a[0] * b[0] + a[1] * b[1], a[1] * b[0] - a[0] * b[1])  # alpha times the conjugate of beta
    size = max(abs(y[0]), abs(y[1]))
    u, v = y[0] / size, y[1] / size
    real, imaginary = c[0] * u - c[1] * v, c[0] * v + c[1] * u
    r = 1.0 / sqrt(real * real + imaginary * imaginary)
    return real * r, imaginary * r


NEAR_ROTOR_AXIS = 1e-3
"""If z is nearer to G or -G at the start than this part of G, the phase of alpha or beta is badly determined there, and
is computed from x = 0 instead."""

MOST_RADIANS = 1e13
"""But not if the phases have grown by more than this since then: a weak rotor may take so long for a period."""

TWO_PI = (6.283185307179586, 2.4492935982947064e-16)


def _steady(inertia: Vec3, omega: Vec3, rotor: float, m: Vec3, G: DD) -> tuple[Gyration, Pole, Pole]:
    """The constants of a motion whose rate stays as it is."""
    w = dd.hypotenuse(dd.hypotenuse(dd.single(omega[0]), dd.single(omega[1])), dd.single(omega[2]))
    turn = dd.divide(w, dd.FOUR_PI)
    per_G = 1.0 / G[0] if G[0] > 0.0 else 0.0
    per_w = 1.0 / w[0] if w[0] > 0.0 else 0.0
    constants = Gyration(
        STEADY, 0.0, G[0], omega[0], omega[1], omega[2], (G[0] - rotor) / inertia[2], (-G[0] - rotor) / inertia[2],
        0.0, inf, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, G[0] + m[2], G[0] - m[2], w[0], w[0], 1.0, 0.0,
        m[0] * per_G, m[1] * per_G, m[2] * per_G, omega[0] * per_w, omega[1] * per_w, omega[2] * per_w,
        turn[0], turn[1],
    )  # fmt: skip
    return constants, NO_POLE, NO_POLE


def _time(p: DD, q: DD, step: DD, R: DD) -> float:
    """2 RF((sqrt p - sqrt q)^2, the same plus step, the same plus 4 R): a time, or an imaginary one."""
    between = dd.subtract(dd.root(p), dd.root(q))
    least = dd.multiply(between, between)
    y, w = dd.add(least, step)[0], dd.add(least, dd.scaled(R, 4.0))[0]
    return 2.0 * rf(least[0], max(y, 0.0), w)


def _pole(
    kind: float, v: Interval, near: DD, far: DD, energy: DD, spin: DD, sense: float, period: float, dual_period: float,
    frequency: DD, nome: float,
) -> tuple[Pole, float]:  # fmt: skip
    """The theta function that is zero at z = -+G, and the mean rate of its phase.

    `near` and `far` are the distances of z from there at lo and hi, `energy` is 2T - (G +- g)^2 / I3 and `spin` is
    (G +- g) / I3.
    """
    ratio = dd.divide(near, far)
    p, q = dd.divide(v.at_lo, ratio), dd.multiply(v.at_hi, ratio)
    depth = _time(p, q, v.gap, v.R)  # as an imaginary time, from lo or from hi
    shifted = q[0] > p[0]
    side = sense * copysign(1.0, energy[0])
    if kind == COMPLEX:  # from lo in any case
        if shifted:
            depth = 0.5 * dual_period - depth
        shifted = False
    elif shifted:
        side = -side
    # The mean of 1 / |z -+ G|, by Bulirsch's integral with parameters of one sign.
    one = (1.0, 0.0)
    if frequency[0] > 0.0:
        r = dd.multiply(ratio, dd.root(dd.divide(v.at_hi, v.at_lo)))
        k = dd.divide(dd.scaled(dd.root(v.R), 2.0), dd.root(v.sum))
        r1 = dd.add(one, r)
        twice = dd.divide(dd.scaled(r, 2.0), dd.multiply(r1, r1))
        integral = complete_integral(
            k, dd.scaled(twice, 2.0), dd.divide(dd.add(r, ratio), r1), dd.multiply(twice, dd.add(one, ratio))
        )
        mean = dd.divide(dd.divide(integral, quarter_period(k)), near)
    else:
        mean = dd.divide(one, far)
    rate = dd.scaled(dd.add(spin, dd.multiply(energy, mean)), 0.5)
    turn = dd.subtract(dd.divide(rate, TWO_PI), dd.scaled(frequency, 0.5 * side))
    growth, decay, fall, angle, jump = 0.0, 0.0, 1.0, 0.0, 0.0
    if kind == DIRECT:
        eta = pi * depth / period
        if eta < 1e4:
            decay, fall = exp(-2.0 * eta), -expm1(-2.0 * eta)
            if nome != 0.0:
                log_nome = -pi * dual_period / period * (1.0 if v.complex else 2.0)
                growth = copysign(exp(log_nome + 2.0 * eta), nome)
    else:
        angle = pi * depth / dual_period
        if period < inf:
            jump = side * angle / pi * (2.0 if kind == COMPLEX else 1.0)
    half = 1.0 if shifted else 0.0
    return Pole(half, side, growth, decay, fall, angle, jump, turn[0], turn[1], 1.0, 0.0), rate[0]


def _at_origin(p: Pole, kind: float, nome: float) -> tuple[float, float]:
    """The theta function at x = 0."""
    if kind == DIRECT:
        return _direct(direct_series(p, nome), 0.0, 1.0)
    return _dual(dual_series(p), kind, nome, 0.0)


def _multiplied(p: Pole, real: float, imaginary: float, over: tuple[float, float]) -> Pole:
    """The function multiplied by a complex number and divided by another."""
    a, b = over
    r = 1.0 / (a * a + b * b)
    x, y = (real * a + imaginary * b) * r, (imaginary * a - real * b) * r
    return Pole(
        p.shifted, p.side, p.growth, p.decay, p.fall, p.angle, p.jump, p.turn_high, p.turn_low,
        x * p.real - y * p.imaginary, x * p.imaginary + y * p.real,
    )  # fmt: skip


# --- the series ----------------------------------------------------------------------------------------------------


class GyrostatDirectSeries(NamedTuple):
    """Coefficients of sin((2n+1) x) and cos((2n+1) x), n = 0..4; those of the real part first."""

    shifted: float
    a0: float
    a1: float
    a2: float
    a3: float
    a4: float
    b0: float
    b1: float
    b2: float
    b3: float
    b4: float


def direct_series(p: Pole, nome: float) -> GyrostatDirectSeries:
    """The coefficients of theta1(x - x1), up to a factor: q^(n(n+1)) cosh and sinh of (2n+1) eta."""
    w, x, q = p.decay, p.growth, nome
    w2 = w * w
    w3, w5, w7, w9 = w2 * w, w2 * w2 * w, w2 * w2 * w2 * w, w2 * w2 * w2 * w2 * w
    q3 = q * q * q
    k1, k2, k3, k4 = x, x * x * q, x * x * x * q3, x * x * x * x * q3 * q3
    b0 = p.side * p.fall
    b1, b2 = k1 * b0 * (1.0 + w + w2), k2 * b0 * (1.0 + w + w2 + w3 + w2 * w2)
    b3, b4 = k3 * p.side * (1.0 - w7), k4 * p.side * (1.0 - w9)
    a0, a1, a2, a3, a4 = 1.0 + w, k1 * (1.0 + w3), k2 * (1.0 + w5), k3 * (1.0 + w7), k4 * (1.0 + w9)
    if p.shifted != 0.0:
        return GyrostatDirectSeries(1.0, a0, a1, a2, a3, a4, b0, b1, b2, b3, b4)
    return GyrostatDirectSeries(0.0, a0, -a1, a2, -a3, a4, -b0, b1, -b2, b3, -b4)


def _direct(d: GyrostatDirectSeries, sine: float, cosine: float) -> tuple[float, float]:
    """Returns theta1(x - x1), up to the factor, from sin x and cos x."""
    twice = 2.0 * (cosine - sine) * (cosine + sine)  # 2 cos 2x
    s1, c1 = sine * (twice + 1.0), cosine * (twice - 1.0)
    s2, c2 = twice * s1 - sine, twice * c1 - cosine
    s3, c3 = twice * s2 - s1, twice * c2 - c1
    s4, c4 = twice * s3 - s2, twice * c3 - c2
    if d.shifted != 0.0:
        return (
            d.a0 * cosine + (d.a1 * c1 + (d.a2 * c2 + (d.a3 * c3 + d.a4 * c4))),
            d.b0 * sine + (d.b1 * s1 + (d.b2 * s2 + (d.b3 * s3 + d.b4 * s4))),
        )
    return (
        d.a0 * sine + (d.a1 * s1 + (d.a2 * s2 + (d.a3 * s3 + d.a4 * s4))),
        d.b0 * cosine + (d.b1 * c1 + (d.b2 * c2 + (d.b3 * c3 + d.b4 * c4))),
    )


class GyrostatDualSeries(NamedTuple):
    """cos and sin of n A, n odd from 1 to 11; where the zero is half a period away, n even from 0 to 6."""

    shifted: float
    side: float
    c0: float
    c1: float
    c2: float
    c3: float
    c4: float
    c5: float
    s0: float
    s1: float
    s2: float
    s3: float
    s4: float
    s5: float


def dual_series(p: Pole) -> GyrostatDualSeries:
    """The cosines and sines of this angle."""
    A, first = p.angle, 0.0 if p.shifted != 0.0 else 1.0
    return GyrostatDualSeries(
        p.shifted, p.side,
        cos(first * A), cos((first + 2.0) * A), cos((first + 4.0) * A),
        cos((first + 6.0) * A), cos((first + 8.0) * A), cos((first + 10.0) * A),
        sin(first * A), sin((first + 2.0) * A), sin((first + 4.0) * A),
        sin((first + 6.0) * A), sin((first + 8.0) * A), sin((first + 10.0) * A),
    )  # fmt: skip


def _dual(d: GyrostatDualSeries, kind: float, h: float, u: float) -> tuple[float, float]:
    """Returns theta1(x - x1) times 2 exp(-|u|), up to a factor, at u = pi t / T', with T' the imaginary period."""
    now, E = (1.0 if u >= 0.0 else -1.0), exp(-abs(u))
    E2 = E * E
    E4 = E2 * E2
    F = h / max(E2, 1e-300) if h > 0.0 else 0.0  # at most 1, but for round-off
    h2 = h * h
    if d.shifted != 0.0:  # theta4 of the dual nome
        E8 = E4 * E4
        k1, k2, k3 = -2.0 * F, 2.0 * F * F * h2, -2.0 * F * F * F * h2 * h2 * h2
        real = 1.0 + 0.5 * (k1 * (1.0 + E4) * d.c1 + k2 * (1.0 + E8) * d.c2 + k3 * (1.0 + E8 * E4) * d.c3)
        half = k1 * (1.0 - E4) * d.s1 + k2 * (1.0 - E8) * d.s2 + k3 * (1.0 - E8 * E4) * d.s3
        return 2.0 * E * real, -d.side * now * E * half
    E6, E10, E14 = E4 * E2, E4 * E4 * E2, E4 * E4 * E4 * E2
    E18 = E14 * E4
    h3 = h2 * h
    if kind == COMPLEX:
        k1, k2, k3 = F, -F * F * h, -F * F * F * h3
        k4, k5 = F * F * F * F * h3 * h3, F * F * F * F * F * h3 * h3 * h3 * h
    else:
        k1, k2, k3 = -F * h, F * F * h2 * h2, -F * F * F * h3 * h3 * h3
        k4, k5 = 0.0, 0.0
    fall = -expm1(-2.0 * abs(u))
    real = fall * d.c0 + (
        k1 * (1.0 - E6) * d.c1 + k2 * (1.0 - E10) * d.c2 + k3 * (1.0 - E14) * d.c3 + k4 * (1.0 - E18) * d.c4 + k5 * d.c5
    )
    half = (1.0 + E2) * d.s0 + (
        k1 * (1.0 + E6) * d.s1 + k2 * (1.0 + E10) * d.s2 + k3 * (1.0 + E14) * d.s3 + k4 * (1.0 + E18) * d.s4 + k5 * d.s5
    )
    return now * real, -d.side * half


# --- the state -----------------------------------------------------------------------------------------------------


def _phase(c: Gyration, t: float) -> tuple[float, float]:
    """Returns x / pi without its whole number, and u; on the separatrix the first is 0."""
    if c.rate_high == 0.0:
        return 0.0, c.stretch * (c.t0 + t)
    _, f = turns(t, c.rate_high, c.rate_low)
    v = f + c.x0
    v -= nearest(v)
    return v, c.stretch * v


def _beginning(p: Pole, f: float, theta: tuple[float, float]) -> tuple[float, float]:
    """Does what `_factor` does, at the start. Functions of `math` have the same bits in plain Python and compiled."""
    turn = p.jump * f
    return _turned_by(p, sin(2.0 * pi * turn), cos(2.0 * pi * turn), theta)


def _factor(p: Pole, t: float, f: float, theta: tuple[float, float]) -> tuple[float, float]:
    """Multiplies a theta function by its phase and by its constant factor."""
    _, turn = turns(t, p.turn_high, p.turn_low)
    turn += p.jump * f
    sine, cosine = sine_cosine(2.0 * pi * (turn - nearest(turn)))
    return _turned_by(p, sine, cosine, theta)


def _turned_by(p: Pole, sine: float, cosine: float, theta: tuple[float, float]) -> tuple[float, float]:
    """Multiplies a theta function by a phase and by its constant factor."""
    a, b = theta
    x, y = p.real * a - p.imaginary * b, p.real * b + p.imaginary * a
    return cosine * x - sine * y, sine * x + cosine * y


def state(alpha: tuple[float, float], beta: tuple[float, float], c: Gyration) -> tuple[Quat, Vec3, Vec3]:
    """The turn from relabelled axes to those of the momentum, the rate, and the momentum over G."""
    x, y = alpha[0] * alpha[0] + alpha[1] * alpha[1], beta[0] * beta[0] + beta[1] * beta[1]
    over = 1.0 / (x + y)
    x, y = x * over, y * over
    r = sqrt(over)
    y1 = -2.0 * over * (beta[1] * alpha[0] - beta[0] * alpha[1])
    y2 = 2.0 * over * (beta[0] * alpha[0] + beta[1] * alpha[1])
    w3 = fma(-2.0 * c.response3, y, c.above) if x > y else fma(2.0 * c.response3, x, c.below)
    q = (alpha[0] * r, beta[0] * r, beta[1] * r, alpha[1] * r)
    return q, (c.response1 * y1, c.response2 * y2, w3), (y1, y2, x - y)


def steadily(c: Gyration, t: float) -> Quat:
    """The turn since the start of a body whose rate stays as it is."""
    _, f = turns(t, c.turn_high, c.turn_low)
    sine, cosine = sine_cosine(2.0 * pi * f)
    return (cosine, sine * c.axis1, sine * c.axis2, sine * c.axis3)


# --- programs ------------------------------------------------------------------------------------------------------

FRAME = 19
"""The length of a frame: the scales of rates and of momenta (2); the quaternions to the left and to the right of the
turn (8); the matrix from relabelled to the user's axes (9)."""

MOTION = CONSTANTS + 2 * POLE + FRAME

GIVEN = 26
"""The numbers that a motion is set up from: scaled moments (3), rates (3) and rotor (1) in axes of which the third is
the rotor's and the first has a moment not greater than the second's; the scales of rates and of momenta (2); the
attitude of the user's axes at the start (4); the turn from those axes to the user's (4) and its matrix (9)."""

_load_given = tuple_of(GIVEN)
_load_constants, _load_pole, _load_frame = tuple_of(CONSTANTS), tuple_of(POLE), tuple_of(FRAME)
_store_constants, _store_pole, _store_frame = writer_of(CONSTANTS), writer_of(POLE), writer_of(FRAME)


def set_up_rows(given: Any, motions: Any, count: int) -> int:
    """Computes the constants and frames of many motions."""
    for i in range(count):
        g = _load_given(given, GIVEN * i)
        c, alpha, beta = set_up((g[0], g[1], g[2]), (g[3], g[4], g[5]), g[6])
        at = MOTION * i
        _store_constants(motions, at, c)
        _store_pole(motions, at + CONSTANTS, alpha)
        _store_pole(motions, at + CONSTANTS + POLE, beta)
        _store_frame(motions, at + CONSTANTS + 2 * POLE, _frame(c, alpha, beta, g))
    return OK


def _frame(c: Gyration, alpha: Pole, beta: Pole, g: Any) -> Any:
    """The frame of a motion from its constants and from the numbers that it was set up from."""
    turn, sign = (g[13], g[14], g[15], g[16]), 1.0
    if c.flipped != 0.0:
        turn, sign = multiply(turn, (0.0, 1.0, 0.0, 0.0)), -1.0
    left = multiply((g[9], g[10], g[11], g[12]), turn)
    if c.kind != STEADY:
        left = multiply(left, conjugate(_first(c, alpha, beta)))
    right = conjugate(turn)
    return (
        g[7], g[8], *left, *right,
        g[17], sign * g[18], sign * g[19], g[20], sign * g[21], sign * g[22], g[23], sign * g[24], sign * g[25],
    )  # fmt: skip


def _first(c: Gyration, alpha: Pole, beta: Pole) -> Quat:
    """The turn at the start."""
    f, u = _phase(c, 0.0)
    if c.kind == DIRECT:
        sine, cosine = sin(pi * f), cos(pi * f)
        a, b = _direct(direct_series(alpha, c.nome), sine, cosine), _direct(direct_series(beta, c.nome), sine, cosine)
    else:
        a, b = _dual(dual_series(alpha), c.kind, c.nome, u), _dual(dual_series(beta), c.kind, c.nome, u)
    q, _, _ = state(_beginning(alpha, f, a), _beginning(beta, f, b), c)
    return q


def evaluate_rows(
    motions: Any, t: Any, quaternion: Any, omega: Any, momentum: Any, t0: float, count: int, times: int
) -> int:
    """Computes attitudes, rates and momenta of many motions, each at all times, in the user's axes."""
    for i in range(count):
        at = MOTION * i
        c = Gyration(*_load_constants(motions, at))
        alpha = Pole(*_load_pole(motions, at + CONSTANTS))
        beta = Pole(*_load_pole(motions, at + CONSTANTS + POLE))
        frame = _load_frame(motions, at + CONSTANTS + 2 * POLE)
        first = i * times
        if c.kind == STEADY:
            y = (c.y1, c.y2, c.y3)
            w = (c.response1, c.response2, c.response3)
            for j in range(times):
                q = steadily(c, scaled_time(t[j] - t0, frame))
                _store(quaternion, omega, momentum, first + j, frame, c.norm, q, w, y)
        elif c.kind == DIRECT:
            d1, d2 = direct_series(alpha, c.nome), direct_series(beta, c.nome)
            for j in range(times):
                s = scaled_time(t[j] - t0, frame)
                f, _ = _phase(c, s)
                sine, cosine = sine_cosine(pi * f)
                a, b = _direct(d1, sine, cosine), _direct(d2, sine, cosine)
                q, w, y = state(_factor(alpha, s, f, a), _factor(beta, s, f, b), c)
                _store(quaternion, omega, momentum, first + j, frame, c.norm, q, w, y)
        else:
            e1, e2 = dual_series(alpha), dual_series(beta)
            for j in range(times):
                s = scaled_time(t[j] - t0, frame)
                f, u = _phase(c, s)
                a, b = _dual(e1, c.kind, c.nome, u), _dual(e2, c.kind, c.nome, u)
                q, w, y = state(_factor(alpha, s, f, a), _factor(beta, s, f, b), c)
                _store(quaternion, omega, momentum, first + j, frame, c.norm, q, w, y)
    return OK


def _store(
    quaternion: Any, omega: Any, momentum: Any, row: int, frame: Any, norm: float, turn: Quat, w: Vec3, y: Vec3
) -> None:
    """Writes one state in the user's axes."""
    left, right = (frame[2], frame[3], frame[4], frame[5]), (frame[6], frame[7], frame[8], frame[9])
    q = multiply(multiply(left, turn), right)
    r = 1.0 / sqrt(norm2(q))
    at = 4 * row
    quaternion[at], quaternion[at + 1], quaternion[at + 2], quaternion[at + 3] = q[0] * r, q[1] * r, q[2] * r, q[3] * r
    at = 3 * row
    s, g, u, v = frame[0], frame[1] * norm, by_rows(frame, 10, w), by_rows(frame, 10, y)
    omega[at], omega[at + 1], omega[at + 2] = s * u[0], s * u[1], s * u[2]
    momentum[at], momentum[at + 1], momentum[at + 2] = g * v[0], g * v[1], g * v[2]
