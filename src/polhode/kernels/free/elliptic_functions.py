"""Elliptic functions and integrals of the complementary parameter: no digits are lost at the separatrix.

Everywhere mc = 1 - m = k'^2 and nc = 1 - n, with m and n as in DLMF 19.2 and 22.2. Within a part in 10^16 of m = 1,
the float m has one digit of 1 - m left and mc has all of them; near its separatrix the motion of a body depends on it.

Jacobi's functions are ratios of theta functions in the smaller of the two nomes, which is at most exp(-pi), after the
argument has been reduced by a period to two doubles; incomplete integrals are Carlson's, complete ones come from the
arithmetic-geometric mean and from Bulirsch's extension of it. Every form is chosen so that it adds numbers of one sign.

Each function runs unchanged in plain Python and compiled. It never raises; where there is no real value it returns NaN.
"""

from math import atan2, cos, exp, expm1, inf, log1p, nan, pi, sin, sqrt

from polhode.kernels.algebra.dd import (
    DD,
    HALF_PI,
    add,
    divide,
    multiply,
    quick_two_sum,
    root,
    scaled,
    single,
    subtract,
    two_sum,
)
from polhode.kernels.algebra.trig import INVERSE_PI, PI_HIGH, PI_LOW, ROUND
from polhode.kernels.ops import two_product
from polhode.kernels.types import Vec3

MOST_HALF_TURNS = 2.0**51
"""Beyond, neighbouring floats are about a quarter turn apart: the phase is lost, the number of turns is not."""

EPSILON = 2.0**-52

MOST_PASSES = 40
"""More than any loop here needs: the longest, from the largest to the smallest float, takes 14."""

DIGITS_24, ALL_DIGITS = 1e-4, 1e-8
"""The difference of two means, over twice their size, from which on a correction in doubles gives these digits."""


def jacobi(u: float, mc: float) -> Vec3:
    """sn, cn, dn of argument u; for every real mc.

    Parameters outside [0, 1] are reduced by the reciprocal and imaginary transformations, DLMF 22.17.
    """
    s, c, d, _ = _reduced_jacobi(u, mc)
    return s, c, d


def amplitude(u: float, mc: float) -> float:
    """am(u), continuous: it grows by pi with every 2 K. For mc < 0 it oscillates between limits."""
    s, c, _, turns = _reduced_jacobi(u, mc)
    if turns == 0.0 or mc < 0.0:
        return atan2(s, c)
    if abs(turns) >= MOST_HALF_TURNS:
        return turns * pi
    odd = turns - 2.0 * _nearest(0.5 * turns) != 0.0
    rest = atan2(-s, -c) if odd else atan2(s, c)
    p, e = two_product(turns, PI_HIGH)
    h, f = two_sum(p, rest)
    return h + (f + (e + turns * PI_LOW))


def ellipk(mc: float) -> float:
    """K, the complete integral of the first kind."""
    if not mc >= 0.0:
        return nan
    if mc == 0.0:
        return inf
    if mc == inf:
        return 0.0
    return divide(HALF_PI, agm(single(1.0), _root(mc), DIGITS_24))[0]


def ellipe(mc: float) -> float:
    """E, the complete integral of the second kind."""
    if not mc >= 0.0:
        return nan
    if mc == 0.0:
        return 1.0
    if mc == inf:
        return inf
    if mc > 1.0:  # imaginary modulus, DLMF 19.7(ii)
        return sqrt(mc) * _second_kind(1.0 / mc)
    return _second_kind(mc)


def ellippi_complete(nc: float, mc: float) -> float:
    """Pi, the complete integral of the third kind; for nc < 0 its Cauchy principal value.

    Exchanging sine and cosine turns nc and mc into 1/nc and 1/mc, with a factor 1 / (nc sqrt(mc)): so mc <= 1 is
    enough. The scales keep Bulirsch's sums within the range of floats.
    """
    if not (mc >= 0.0 and abs(nc) < inf and mc < inf):
        return nan
    if nc == 0.0:
        return inf
    if mc == 0.0:
        return inf if nc > 0.0 else -inf
    kc, n = sqrt(mc), 1.0 - nc
    if nc > 0.0:
        scale = min(nc, 1.0)
        if mc > 1.0:
            return cel(1.0 / kc, 1.0 / sqrt(nc), scale / nc, scale / nc) / scale / kc
        return cel(kc, sqrt(nc), scale, scale) / scale
    # DLMF 19.6.5 carries the pole to a positive parameter: Pi(n) = K - Pi(m/n)
    if mc > 1.0:
        return cel(1.0 / kc, sqrt((1.0 - nc / mc) / n), 0.0, (1.0 - 1.0 / mc) / n) / kc
    p = sqrt((mc - nc) / n)
    return cel(kc, p, 0.0, -(1.0 - mc) / n * p) / p


def ellipf(phi: float, mc: float) -> float:
    """F(phi), the incomplete integral of the first kind; NaN beyond sin(phi)^2 = 1/m."""
    turns, s, c, delta2 = _split_angle(phi, mc)
    if not delta2 >= 0.0:
        return nan
    if mc == 0.0 and (turns != 0.0 or c == 0.0):
        return inf if phi > 0.0 else -inf
    rest = s * rf(c * c, delta2, 1.0)  # DLMF 19.25.5
    if turns == 0.0:
        return rest
    return 2.0 * turns * ellipk(mc) + rest


def ellipe_inc(phi: float, mc: float) -> float:
    """E(phi), the incomplete integral of the second kind; NaN beyond sin(phi)^2 = 1/m."""
    turns, s, c, delta2 = _split_angle(phi, mc)
    if not delta2 >= 0.0:
        return nan
    m, s2, c2 = 1.0 - mc, s * s, c * c
    if mc > 1.0:  # DLMF 19.25.9
        rest = s * (rf(c2, delta2, 1.0) - m * s2 * _rd(c2, delta2, 1.0) / 3.0)
    elif mc < 0.0:  # DLMF 19.25.10 after the reciprocal modulus transformation, 19.7(ii)
        rest = s * (sqrt(delta2) / c - mc * s2 * _rd(delta2, 1.0, c2) / 3.0)
    elif mc == 0.0:
        rest = s
    else:  # DLMF 19.25.10
        rest = s * (mc * (rf(c2, delta2, 1.0) + m * s2 * _rd(c2, 1.0, delta2) / 3.0) + m * c / sqrt(delta2))
    if turns == 0.0:
        return rest
    return 2.0 * turns * ellipe(mc) + rest


def ellippi(nc: float, phi: float, mc: float) -> float:
    """Pi(n; phi), the incomplete integral of the third kind; NaN beyond sin(phi)^2 = 1/m.

    Beyond the pole at sin(phi)^2 = 1/n, where there is one, it is Cauchy's principal value.
    """
    turns, s, c, delta2 = _split_angle(phi, mc)
    if not (delta2 >= 0.0 and abs(nc) < inf):
        return nan
    sign = 1.0 if phi > 0.0 else -1.0
    past = turns != 0.0 or c == 0.0
    if past and nc == 0.0:
        return sign * inf
    if past and mc == 0.0:
        return sign * inf if nc > 0.0 else -sign * inf
    n, m, s2, c2 = 1.0 - nc, 1.0 - mc, s * s, c * c
    p = c2 + nc * s * s
    if p == 0.0:  # no float is exactly at the pole: this one is as close as a cosine can resolve
        p = -EPSILON * c2
    if n >= 0.0 and p > 0.0:  # DLMF 19.25.14
        rest = s * (rf(c2, delta2, 1.0) + _rj(n * s * s, c2, delta2, 1.0, p) / 3.0)
    elif p < 0.0 or m >= 0.0:  # the same with its RJ exchanged by DLMF 19.21.12, (p-1)(q-1) = m s^4
        r = m * s * s / n
        q = 1.0 - r if n < 0.0 else c2 + (mc / n - nc / n) * s * s
        rest = s * (_rc(c2 * delta2, p * q) - _rj(r, c2, delta2, 1.0, q) / 3.0)
    else:  # its RF exchanged by DLMF 19.21.12, (p-c^2)(q-c^2) = mc s^4
        r = mc / nc
        q = c2 + r * s2
        rest = s * (c * _rc(delta2, p * q) + (_rj(s2, c2, delta2, 1.0, p) + _rj(r * s2, c2, delta2, 1.0, q)) / 3.0)
    if turns == 0.0:
        return rest
    return 2.0 * turns * ellippi_complete(nc, mc) + rest


def _reduced_jacobi(u: float, mc: float) -> tuple[float, float, float, float]:
    """Returns sn, cn, dn and the number of half periods that were subtracted from u.

    With S, C, D for the functions of a parameter between 0 and 1 and g^2 for the largest of 1, mc and m:

        0 <= mc <= 1    g = 1           sn = S          cn = C      dn = D        parameter m
        mc > 1          g = sqrt(mc)    sn = S / D g    cn = C / D  dn = 1 / D    parameter 1 - 1/mc
        mc < 0          g = sqrt(m)     sn = S / g      cn = D      dn = C        parameter 1/m

    all of argument g u.
    """
    if not (abs(u) < inf and abs(mc) < inf):
        return nan, nan, nan, nan
    if mc == 0.0:
        e = exp(-abs(u))
        t = -expm1(-2.0 * abs(u)) / (1.0 + e * e)
        h = 2.0 * e / (1.0 + e * e)
        return (t if u > 0.0 else -t if u < 0.0 else u), h, h, 0.0
    # g, g k' and the parameters k^2, k'^2 of the functions between 0 and 1
    if mc < 0.0:
        m, error = two_sum(1.0, -mc)
        g, gkc = _root(m), _root(-mc)
        g = quick_two_sum(g[0], g[1] + 0.5 * error / g[0])
        k2, kc2 = 1.0 / m, -mc / m
    elif mc > 1.0:
        g, gkc = _root(mc), single(1.0)
        k2, kc2 = (mc - 1.0) / mc, 1.0 / mc
    else:
        g, gkc = single(1.0), _root(mc)
        k2, kc2 = 1.0 - mc, mc
    # reduction by the half period 2 K / g, with everything in two doubles
    rate = agm(g, gkc, DIGITS_24)  # pi g / (2 K)
    period = scaled(divide(HALF_PI, rate), 2.0)
    turns = u * (rate[0] * INVERSE_PI)
    if abs(turns) < 0.5:
        turns, r = 0.0, single(u)
    elif abs(turns) < MOST_HALF_TURNS:
        turns = _nearest(turns)
        p, e = two_product(turns, period[0])
        r = two_sum(u - p, -(e + turns * period[1]))
    else:
        r = single(0.0)
    if kc2 >= 0.5:
        s, c, d = _direct(multiply(r, rate), k2, kc2)
    else:
        s, c, d = _dual(r, scaled(period, 0.5), g, kc2)
    if abs(s) < 0.5:  # from the squares they are more accurate: never above 1, and 1 at zero
        c, d = sqrt((1.0 - s) * (1.0 + s)), sqrt(1.0 - k2 * s * s)
    if turns - 2.0 * _nearest(0.5 * turns) != 0.0:
        s, c = -s, -c
    if mc > 1.0:
        return s / (d * g[0]), c / d, 1.0 / d, turns
    if mc < 0.0:
        return s / g[0], d, c, turns
    return s, c, d, turns


def _direct(x: DD, k2: float, kc2: float) -> Vec3:
    """sn, cn, dn at x = pi u / (2 K), |x| <= pi/2: theta functions in the nome of k^2 <= 1/2, DLMF 20.2 and 22.2."""
    q = _nome(k2, sqrt(kc2))
    q2 = q * q
    q4 = q2 * q2
    q6, q9, q12 = q2 * q4, q4 * q4 * q, q4 * q4 * q4
    s, c = sin(x[0]), cos(x[0])
    s, c = s + x[1] * c, c - x[1] * s
    # cosines of 2 x, 4 x, 6 x
    c2 = (c - s) * (c + s)
    c4 = 2.0 * c2 * c2 - 1.0
    c6 = c2 * (2.0 * c4 - 1.0)
    even, odd = 2.0 * q4 * c4, 2.0 * (q * c2 + q9 * c6)
    theta3, theta4 = 1.0 + (even + odd), 1.0 + (even - odd)
    theta1 = s * (1.0 - (q2 * (1.0 + 2.0 * c2) - q6 * (1.0 + 2.0 * (c2 + c4)) + q12 * (1.0 + 2.0 * (c2 + c4 + c6))))
    theta2 = c * (1.0 - (q2 * (1.0 - 2.0 * c2) - q6 * (1.0 - 2.0 * (c2 - c4)) + q12 * (1.0 - 2.0 * (c2 - c4 + c6))))
    zero2 = 1.0 + (q2 + q6 + q12)
    zero3 = 1.0 + 2.0 * (q + q4 + q9)
    zero4 = 1.0 - 2.0 * (q - q4 + q9)
    return (
        zero3 * theta1 / (zero2 * theta4),
        zero4 * theta2 / (zero2 * theta4),
        zero4 * theta3 / (zero3 * theta4),
    )


def _dual(u: DD, quarter: DD, g: DD, kc2: float) -> Vec3:
    """sn, cn, dn at g u, |u| <= quarter = K/g: theta functions of imaginary argument in the nome of k'^2 <= 1/2.

    By Jacobi's imaginary transformation, DLMF 20.7(viii), these are hyperbolic functions with corrections. With
    z = pi g u / (2 K'), e = exp(-z) and f = q / e^2, which is 1 at the quarter period.
    """
    sign = 1.0 if u[0] >= 0.0 else -1.0
    u = (sign * u[0], sign * u[1])
    q = _nome(kc2, sqrt(1.0 - kc2))
    q2 = q * q
    q4 = q2 * q2
    q6, q9, q12 = q2 * q4, q4 * q4 * q, q4 * q4 * q4
    t = 2.0 * (q + q4 + q9)
    zero3 = 1.0 + t
    zero4 = 1.0 - 2.0 * (q - q4 + q9)
    zero2 = 1.0 + (q2 + q6 + q12)
    less = t * (2.0 + t) / (zero3 * zero3)  # pi / (2 K') = 1 - less: DLMF 20.9(i)
    z = multiply(u, g)
    z = two_sum(z[0], z[1] - less * z[0])
    to_quarter = (quarter[0] - u[0]) + (quarter[1] - u[1])
    y = to_quarter * g[0]
    y = y - less * y
    e = exp(-z[0]) * (1.0 - z[1])
    e2, f = e * e, exp(-2.0 * y)
    e4, f2 = e2 * e2, f * f
    fall = -expm1(-2.0 * z[0])  # 1 - e^2
    if z[0] < 1.0:
        fall = fall + 2.0 * z[1] * e2
    qf, q4f2, q9f3 = q * f, q4 * f2, q9 * f2 * f
    theta1 = fall * (1.0 - qf * (1.0 + e2 + e4) + q4f2 * (1.0 + (e2 + e4) * (1.0 + e4)) - q9f3 * (1.0 + e2 + e4))
    theta2 = 1.0 + e2 + qf * (1.0 + e2 * e4) + q4f2 * (1.0 + e2 * e4 * e4) + q9f3
    even = q2 * (f2 + q2 * e4) + q12 * f2 * f2
    odd = q * e2 + (q6 * f2 * f + q9 * e2 * e4)
    theta3 = 1.0 + f + (odd + even)
    theta4 = -expm1(-2.0 * y) + (even - odd)
    return (
        sign * (zero3 * theta1 / (zero4 * theta2)),
        2.0 * e * (zero2 * theta4 / (zero4 * theta2)),
        2.0 * e * (zero2 * theta3 / (zero3 * theta2)),
    )


def _nome(k2: float, kc: float) -> float:
    """The nome q of the parameter k2 <= 1/2, by DLMF 20.9(i) inverted."""
    r = 1.0 + sqrt(kc)
    e = 0.5 * k2 / ((1.0 + kc) * r * r)
    e4 = e * e * e * e
    return e * (1.0 + e4 * (2.0 + e4 * (15.0 + e4 * 150.0)))


def agm(a: DD, b: DD, near: float) -> DD:
    """The arithmetic-geometric mean, to about 24 digits with near = DIGITS_24, to about 32 with ALL_DIGITS.

    A series replaces the last steps: agm(1 + x, 1 - x) = 1 / F(1/2, 1/2; 1; x^2), DLMF 19.8(i) with 19.5.
    """
    for _ in range(MOST_PASSES):
        if abs(a[0] - b[0]) < near * (a[0] + b[0]):
            break
        a, b = scaled(add(a, b), 0.5), root(multiply(a, b))
    difference = (a[0] - b[0]) + (a[1] - b[1])
    mean = scaled(add(a, b), 0.5)
    x = 0.5 * difference / mean[0]
    x2 = x * x
    return add(mean, single(-mean[0] * x2 * (0.25 + x2 * (5.0 / 64.0 + x2 * (11.0 / 256.0)))))


def _second_kind(mc: float) -> float:
    """E for 0 < mc <= 1 by the arithmetic-geometric mean, DLMF 19.8(i).

    As m tends to 1, E/K = 1 - m/2 - sum of 2^(n-1) c_n^2 becomes smaller than its terms by a factor of at most 400:
    two doubles have enough digits for that.
    """
    a, b = single(1.0), _root(mc)
    total = scaled(two_sum(1.0, mc), 0.5)
    power = 1.0
    for _ in range(MOST_PASSES):
        c = scaled(subtract(a, b), 0.5)
        total = subtract(total, scaled(multiply(c, c), power))
        a, b = scaled(add(a, b), 0.5), root(multiply(a, b))
        power = 2.0 * power
        if abs(c[0]) < 1e-10 * a[0]:
            break
    return multiply(total, divide(HALF_PI, a))[0]


def cel(kc: float, p: float, a: float, b: float) -> float:
    """Bulirsch's complete integral of (a cos^2 + b sin^2) / (cos^2 + p^2 sin^2) / sqrt(cos^2 + kc^2 sin^2).

    It is DLMF 19.2(iii) with p^2 for its p; kc, p > 0. The method is that of Bulirsch (1969): descending Landen steps
    that only add.
    """
    m, e = 1.0, kc
    b = b / p
    for _ in range(MOST_PASSES):
        f = a
        a = a + b / p
        g = e / p
        b = 2.0 * (b + f * g)
        p = p + g
        g = m
        m = m + kc
        if abs(g - kc) <= 1e-8 * g:  # the convergence is quadratic
            break
        kc = 2.0 * sqrt(e)
        e = kc * m
    return 0.5 * pi * ((a * m + b) / m) / (m + p)


def rf(x: float, y: float, z: float) -> float:
    """Carlson's R_F of non-negative arguments, at most one of them zero: DLMF 19.36(i)."""
    if x + y == 0.0 or y + z == 0.0 or z + x == 0.0:
        return inf
    for _ in range(MOST_PASSES):
        a = (x + y + z) / 3.0
        if max(abs(x - a), abs(y - a), abs(z - a)) < 0.008 * a:
            break
        lam = _pairs(sqrt(x), sqrt(y), sqrt(z))
        x, y, z = 0.25 * (x + lam), 0.25 * (y + lam), 0.25 * (z + lam)
    dx, dy = 1.0 - x / a, 1.0 - y / a
    dz = -(dx + dy)
    e2, e3 = dx * dy - dz * dz, dx * dy * dz
    # DLMF 19.36.1, through the seventh degree
    series = e2 * (-1.0 / 10.0 + e2 / 24.0 - 3.0 / 44.0 * e3 - 5.0 / 208.0 * e2 * e2 + e2 * e3 / 16.0) + e3 * (
        1.0 / 14.0 + 3.0 / 104.0 * e3
    )
    return (1.0 + series) / sqrt(a)


def _rd(x: float, y: float, z: float) -> float:
    """Carlson's R_D, symmetric in x and y, of which one may be zero; z > 0: DLMF 19.36(i)."""
    if z == 0.0 or x + y == 0.0:
        return inf
    total, power = 0.0, 1.0
    for _ in range(MOST_PASSES):
        a = (x + y + 3.0 * z) / 5.0
        if max(abs(x - a), abs(y - a), abs(z - a)) < 0.004 * a:
            break
        root_z = sqrt(z)
        lam = _pairs(sqrt(x), sqrt(y), root_z)
        total = total + power / (root_z * (z + lam))
        power = 0.25 * power
        x, y, z = 0.25 * (x + lam), 0.25 * (y + lam), 0.25 * (z + lam)
    dx, dy = 1.0 - x / a, 1.0 - y / a
    dz = -(dx + dy) / 3.0
    return 3.0 * total + power * _third_kind_series(dx, dy, dz, dz) / (a * sqrt(a))


def _rj(factor: float, x: float, y: float, z: float, p: float) -> float:
    """The factor times Carlson's R_J of non-negative x, y, z, at most one of them zero, and p > 0.

    Homogeneity, of degree -3/2, is used to keep large arguments, and factors of their size, in the range of floats.
    """
    largest = max(x, y, z, p)
    if largest > 1e50:
        scale = sqrt(largest)
        factor, x, y, z, p = factor / scale / sqrt(scale), x / scale, y / scale, z / scale, p / scale
    x, y, z = (y, x, z) if x < y else (x, y, z)
    x, z = (z, x) if x < z else (x, z)
    if p < 100.0 * x:
        return factor * _rj_by_duplication(x, y, z, p)
    # duplication would take one step for every factor 4 in p; the first term of DLMF 19.21.12 is by far the largest
    more = (x - y) * ((x - z) / (p - x))
    q = x + more
    rest = 3.0 * _rc(y * (z / x), p * (q / x)) + more * _rj_by_duplication(x, y, z, q)
    return factor * (3.0 * rf(x, y, z) - rest) / (p - x)


def _rj_by_duplication(x: float, y: float, z: float, p: float) -> float:
    """R_J by DLMF 19.36(i)."""
    if p == 0.0 or x + y == 0.0 or y + z == 0.0 or z + x == 0.0:
        return inf
    total, power = 0.0, 1.0
    for _ in range(MOST_PASSES):
        a = (x + y + z + 2.0 * p) / 5.0
        if max(abs(x - a), abs(y - a), abs(z - a), abs(p - a)) < 0.004 * a:
            break
        root_x, root_y, root_z = sqrt(x), sqrt(y), sqrt(z)
        lam = _pairs(root_x, root_y, root_z)
        # R_C(alpha, beta) of Carlson 1979, by its homogeneity
        alpha = p * (root_x + root_y + root_z) + root_x * root_y * root_z
        beta = sqrt(p) * (p + lam)
        ratio = beta / alpha
        total = total + power * _rc(1.0, ratio * ratio) / alpha
        power = 0.25 * power
        x, y, z, p = 0.25 * (x + lam), 0.25 * (y + lam), 0.25 * (z + lam), 0.25 * (p + lam)
    dx, dy, dz = 1.0 - x / a, 1.0 - y / a, 1.0 - z / a
    return 3.0 * total + power * _third_kind_series(dx, dy, dz, -0.5 * (dx + dy + dz)) / (a * sqrt(a))


def _rc(x: float, y: float) -> float:
    """Carlson's R_C, x >= 0; for y < 0 its principal value: DLMF 19.2(iv)."""
    if y == 0.0:
        return inf
    factor = 1.0
    if y < 0.0:
        factor = sqrt(x / (x - y))
        x, y = x - y, -y
    if x == y:
        return factor / sqrt(x)
    if x < y:
        d = sqrt(y - x)
        return factor * atan2(d, sqrt(x)) / d
    d, root_x, root_y = sqrt(x - y), sqrt(x), sqrt(y)
    return factor * log1p((d + d * d / (root_x + root_y)) / root_y) / d


def _pairs(x: float, y: float, z: float) -> float:
    """x y + y z + z x."""
    return x * (y + z) + y * z


def _third_kind_series(dx: float, dy: float, dz: float, dp: float) -> float:
    """DLMF 19.36.2, through the seventh degree."""
    xyz, p2 = dx * dy * dz, dp * dp
    e2 = dx * dy + dx * dz + dy * dz - 3.0 * p2
    e3 = xyz + 2.0 * e2 * dp + 4.0 * p2 * dp
    e4 = (2.0 * xyz + e2 * dp + 3.0 * p2 * dp) * dp
    e5 = xyz * p2
    return 1.0 + (
        e2
        * (-3.0 / 14.0 + 9.0 / 88.0 * e2 - 9.0 / 52.0 * e3 - e2 * e2 / 16.0 + 3.0 / 20.0 * e4 + 45.0 / 272.0 * e2 * e3)
        + e3 * (1.0 / 6.0 + 3.0 / 40.0 * e3)
        - 3.0 / 22.0 * e4
        + 3.0 / 26.0 * e5
        - 9.0 / 68.0 * (e3 * e4 + e2 * e5)
    )


def _split_angle(phi: float, mc: float) -> tuple[float, float, float, float]:
    """Splits phi into half turns and a rest, and returns the half turns, sine and cosine of the rest, and 1 - m sin^2.

    The last is NaN where there is no real value. The rest lies within a right angle of zero and is computed in two
    doubles, so that a cosine near zero has all its digits.
    """
    if not (abs(phi) < inf and abs(mc) < inf):
        return nan, nan, nan, nan
    turns = phi * INVERSE_PI
    s, c = 0.0, 1.0
    if abs(turns) < MOST_HALF_TURNS:
        turns = _nearest(turns)
        p, e = two_product(turns, PI_HIGH)
        r, low = two_sum(phi - p, -(e + turns * PI_LOW))
        s, c = sin(r), cos(r)
        s, c = s + low * c, c - low * s
        if c < 0.0:
            turns, s, c = (turns + 1.0 if r > 0.0 else turns - 1.0), -s, -c
    delta2 = c * c + mc * s * s
    if mc < 0.0 and delta2 < 4.0 * EPSILON * c * c:  # beyond the end of the domain, or as near to it as rounding
        delta2 = 0.0 if delta2 > -4.0 * EPSILON * c * c else nan
    return turns, s, c, nan if mc < 0.0 and turns != 0.0 else delta2


def _root(x: float) -> DD:
    """The square root of a float in two doubles, also of the largest and the smallest floats."""
    if x < 1e-200:
        return scaled(root(single(x * 2.0**600)), 2.0**-300)
    if x > 1e200:
        return scaled(root(single(x * 2.0**-600)), 2.0**300)
    return root(single(x))


def _nearest(x: float) -> float:
    """Rounds to the nearest integer; returns x where all floats are integers."""
    return (x + ROUND) - ROUND if abs(x) < MOST_HALF_TURNS else x
