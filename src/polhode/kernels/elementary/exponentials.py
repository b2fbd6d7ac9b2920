"""Exponentials, logarithms, powers and hyperbolic functions and their inverses, with e^x and log x in two floats."""

import math

from polhode.kernels.algebra.dd import DD, quick_two_sum, two_sum
from polhode.kernels.elementary._parts import (
    LN2_REST,
    LN2_SHORT,
    TWO_THIRDS_HIGH,
    TWO_THIRDS_LOW,
    log_of_dd,
    log_of_sum,
    log_polynomial,
    normal_parts,
    power_less_one,
    reduced_power,
    scaled_twice,
)
from polhode.kernels.ops import apart, fma, nearest_whole, power_of_two, where

INVERSE_LN10, INVERSE_LN10_LOW = 0.4342944819032518, 1.098319650216765e-17
INVERSE_LN2, INVERSE_LN2_LOW = 1.4426950408889634, 2.0355273740931033e-17
LN2, LN2_LOW = 0.6931471805599453, 2.3190468138462996e-17

H0, H1, H2, H3 = 0.16666666666666669, 0.008333333333333137, 0.00019841269841438524, 2.7557319155059997e-06
H4, H5, H6 = 2.5052123444049867e-08, 1.6057236692525358e-10, 7.759425893818998e-13


def between(low: float, x: float, high: float) -> float:
    """Returns x, or the nearer of the two limits; the lower one for NaN."""
    above = where(x > low, x, low)
    return where(above < high, above, high)  # type: ignore[no-any-return]


def power(x: float, low: float) -> float:
    """Returns e^(x + low), for x from -800 to 800."""
    k, r, r_low = reduced_power(x, low)
    p, p_low = power_less_one(r, r_low)
    high, lost = quick_two_sum(1.0, p)
    return scaled_twice(high + (lost + p_low), k)


@apart
def exponential(x: float) -> float:
    """e^x."""
    x = float(x)
    return where(x == x, power(between(-800.0, x, 800.0), 0.0), x)  # type: ignore[no-any-return]


@apart
def exponential_of_two(x: float) -> float:
    """2^x."""
    x = float(x)
    y = between(-1100.0, x, 1100.0)
    k = nearest_whole(y)
    r = y - k
    high = r * LN2
    p, p_low = power_less_one(high, fma(r, LN2, -high) + r * LN2_LOW)
    high, lost = quick_two_sum(1.0, p)
    return where(x == x, scaled_twice(high + (lost + p_low), k), x)  # type: ignore[no-any-return]


@apart
def exponential_less_one(x: float) -> float:
    """e^x - 1."""
    x = float(x)
    k, r, low = reduced_power(between(-45.0, x, 710.0), 0.0)
    p, p_low = power_less_one(r, low)
    half = power_of_two(k - 1.0)  # half of the result, or 2^1024 would be too large
    rest = half - 0.5
    high, lost = quick_two_sum(rest, half * p)
    found = 2.0 * (high + (((half - rest) - 0.5) + fma(half, p_low, lost)))
    return where((abs(x) < 1e-17) | (x != x), x, found)  # type: ignore[no-any-return]


def power_and_inverse(size: float) -> tuple[DD, float]:
    """A quarter of e^size, in two floats, and of e^-size, from 0 to 710.6."""
    k, r, low = reduced_power(size, 0.0)
    p, p_low = power_less_one(r, low)
    high, lost = quick_two_sum(1.0, p)
    scale = power_of_two(k - 2.0)
    return (scale * high, scale * (lost + p_low)), power_of_two(where(k < 500.0, -k, -500.0) - 2.0) / high


@apart
def hyperbolic_sine(x: float) -> float:
    """sinh x."""
    x = float(x)
    size = abs(x)
    (high, low), inverse = power_and_inverse(between(0.0, size, 710.6))
    total, lost = quick_two_sum(high, -inverse)
    found = 2.0 * (total + (lost + low))
    y = where(size < 1.0, x, 1.0)
    z = y * y
    z2 = z * z
    polynomial = fma(z2 * z2, fma(fma(H6, z, H5), z, H4), fma(fma(H3, z, H2), z2, fma(H1, z, H0)))
    return where(size < 1.0, fma(y * z, polynomial, y), where(x == x, math.copysign(found, x), x))  # type: ignore[no-any-return]


@apart
def hyperbolic_cosine(x: float) -> float:
    """cosh x."""
    x = float(x)
    (high, low), inverse = power_and_inverse(between(0.0, abs(x), 710.6))
    total, lost = quick_two_sum(high, inverse)
    return where(x == x, 2.0 * (total + (lost + low)), x)  # type: ignore[no-any-return]


@apart
def hyperbolic_tangent(x: float) -> float:
    """tanh x: u / (u + 2), where u = e^(2 x) - 1 in two floats."""
    x = float(x)
    size = between(0.0, abs(x), 22.0)
    k, r, low = reduced_power(2.0 * size, 0.0)
    p, p_low = power_less_one(r, low)
    scale = power_of_two(k)
    less, more = scale - 1.0, scale + 1.0
    n, n_lost = quick_two_sum(less, scale * p)
    d, d_lost = quick_two_sum(more, scale * p)
    inverse = 1.0 / d
    q = n * inverse
    n_low = fma(scale, p_low, ((scale - less) - 1.0) + n_lost)
    d_low = fma(scale, p_low, ((scale - more) + 1.0) + d_lost)
    found = q + (fma(-q, d, n) + fma(-q, d_low, n_low)) * inverse
    return where((abs(x) < 1e-9) | (x != x), x, math.copysign(found, x))  # type: ignore[no-any-return]


def log_or_limit(x: float, found: float) -> float:
    """What was found as a logarithm of x, or what it is where x has none: -inf, inf or NaN."""
    outside = where(x == 0.0, -math.inf, where(x == math.inf, x, math.nan))
    return where((x > 0.0) & (x < math.inf), found, outside)  # type: ignore[no-any-return]


def logarithm_parts(x: float) -> DD:
    """Returns log x in two floats, for a positive x below infinity; anything for others."""
    m, e = normal_parts(x)
    return log_of_sum(e, m - 1.0, 0.0)


@apart
def logarithm(x: float) -> float:
    """log x, to the base e."""
    x = float(x)
    return log_or_limit(x, logarithm_parts(abs(x))[0])


def in_base(parts: DD, inverse: float, inverse_low: float) -> float:
    """A logarithm in another base."""
    high = parts[0] * inverse
    return high + (fma(parts[0], inverse, -high) + fma(parts[0], inverse_low, parts[1] * inverse))


@apart
def logarithm_of_ten(x: float) -> float:
    """log x, to the base 10."""
    x = float(x)
    return log_or_limit(x, in_base(logarithm_parts(abs(x)), INVERSE_LN10, INVERSE_LN10_LOW))


@apart
def logarithm_of_two(x: float) -> float:
    """log x, to the base 2."""
    x = float(x)
    return log_or_limit(x, in_base(logarithm_parts(abs(x)), INVERSE_LN2, INVERSE_LN2_LOW))


@apart
def logarithm_plus_one(x: float) -> float:
    """log(1 + x)."""
    x = float(x)
    y = where((x > -1.0) & (x < math.inf), x, 0.0)
    found = log_or_limit(x + 1.0, log_of_dd(*two_sum(1.0, y))[0])
    return where(abs(x) < 1e-17, x, found)  # type: ignore[no-any-return]


def precise_logarithm(x: float) -> DD:
    """Returns log x in two floats with an error of 2^-66, for a positive x below infinity: powers need that.

    The first three terms of the series 2 s + 2 s^3 / 3 + ..., where s = (m - 1) / (m + 1), are in two floats.
    """
    m, e = normal_parts(x)
    f = m - 1.0
    d, d_low = quick_two_sum(2.0, f)
    inverse = 1.0 / d
    s = f * inverse
    s_low = fma(-s, d_low, fma(-s, d, f)) * inverse
    z = s * s
    z_low = fma(2.0 * s, s_low, fma(s, s, -z))
    c, c_low = quick_two_sum(TWO_THIRDS_HIGH, z * log_polynomial(z))
    c_low = c_low + TWO_THIRDS_LOW
    cube = s * z
    cube_low = fma(s, z, -cube) + fma(s, z_low, s_low * z)
    third = cube * c
    third_low = fma(cube, c, -third) + fma(cube, c_low, cube_low * c)
    high, low = quick_two_sum(2.0 * s, third)
    low = low + fma(2.0, s_low, third_low)
    total, lost = quick_two_sum(e * LN2_SHORT, high)
    return quick_two_sum(total, lost + fma(e, LN2_REST, low))


@apart
def raised(x: float, y: float) -> float:
    """x to the power y."""
    x, y = float(x), float(y)
    size, exponent = abs(x), abs(y)
    high, low = precise_logarithm(where(size < math.inf, size, 1.0))
    product = y * high
    usual = abs(product) < 800.0
    rest = where(usual, fma(y, high, -where(usual, product, 0.0)) + y * low, 0.0)
    found = power(between(-800.0, product, 800.0), rest)
    vanishing = (size == 0.0) | (size == math.inf) | (exponent == math.inf)
    limit = where(y > 0.0, where(size > 1.0, math.inf, 0.0), where(size > 1.0, 0.0, math.inf))
    limit = where(size == 1.0, 1.0, limit)
    found = where(vanishing, limit, found)
    odd = (nearest_whole(y) == y) & (nearest_whole(0.5 * y) != 0.5 * y)
    found = where((math.copysign(1.0, x) < 0.0) & odd & (exponent < math.inf), -found, found)
    nothing = ((x < 0.0) & (x > -math.inf) & (nearest_whole(y) != y)) | (x != x) | (y != y)
    return where((x == 1.0) | (y == 0.0), 1.0, where(nothing, math.nan, found))  # type: ignore[no-any-return]


def to_whole_power(x: float, n: int) -> float:
    """x to a whole power, by products."""
    found, square, left = 1.0, x, abs(n)
    while left:
        if left & 1:
            found = found * square
        left >>= 1
        square = square * square
    return found if n >= 0 else 1.0 / found


def root_of_sum(z: float, low: float) -> DD:
    """The square root of a positive sum, in two floats."""
    root = math.sqrt(z)
    return quick_two_sum(root, (fma(-root, root, z) + low) * (0.5 / root))


def doubled_log(x: float, low: float, times: float) -> float:
    """Returns log(x + low) and so many times log 2: once for a large x, whose double would be too large."""
    high, rest = log_of_dd(x, low)
    total, lost = quick_two_sum(high, times * LN2)
    return total + (lost + fma(times, LN2_LOW, rest))


@apart
def area_sine(x: float) -> float:
    """asinh x: log(1 + t), where t = u + u^2 / (1 + sqrt(1 + u^2)), u = |x|."""
    x = float(x)
    size = abs(x)
    large = size >= 1e100
    u = where(large, 1.0, size)
    z = u * u
    z_low = fma(u, u, -z)
    total, lost = two_sum(1.0, z)
    root, root_low = root_of_sum(total, lost + z_low)
    d, lost = quick_two_sum(root, 1.0)
    d_low = lost + root_low
    q = z / d
    t, lost = two_sum(u, q)
    t_low = lost + (fma(-q, d, z) + fma(-q, d_low, z_low)) / d
    total, lost = two_sum(1.0, t)
    found = doubled_log(where(large, size, total), where(large, 0.0, lost + t_low), where(large, 1.0, 0.0))
    return where((size < 1e-9) | (size == math.inf) | (x != x), x, math.copysign(found, x))  # type: ignore[no-any-return]


@apart
def area_cosine(x: float) -> float:
    """acosh x: log(1 + t), where t = v + sqrt(v (v + 2)), v = x - 1."""
    x = float(x)
    large = x > 1e100
    v = where((x > 1.0) & (x <= 1e100), x - 1.0, 1.0)
    z = v * v
    product, lost = two_sum(2.0 * v, z)
    root, root_low = root_of_sum(product, lost + fma(v, v, -z))
    t, lost = two_sum(v, root)
    total, more = two_sum(1.0, t)
    rest = more + (lost + root_low)
    found = doubled_log(where(large, x, total), where(large, 0.0, rest), where(large, 1.0, 0.0))
    found = where(x == math.inf, x, where(x == 1.0, 0.0, found))
    return where(x >= 1.0, found, math.nan)  # type: ignore[no-any-return]


@apart
def area_tangent(x: float) -> float:
    """atanh x: half of log(1 + t), where t = 2 u / (1 - u), u = |x|."""
    x = float(x)
    size = abs(x)
    u = where(size < 1.0, size, 0.0)
    d, d_low = quick_two_sum(1.0, -u)
    t = 2.0 * u / d
    t_low = (fma(-t, d, 2.0 * u) - t * d_low) / d
    total, lost = two_sum(1.0, t)
    found = 0.5 * log_of_dd(total, lost + t_low)[0]
    found = where(size < 1.0, found, where(size == 1.0, math.inf, math.nan))
    return where(size < 1e-9, x, math.copysign(found, x))  # type: ignore[no-any-return]
