"""Sine, cosine, tangent and their inverses.

An angle becomes a multiple of pi/2 and a remainder of two floats: below 2^28 by three parts of pi/2 (Cody and Waite
[cody1980]), beyond by those bits of 2/pi that matter (Payne and Hanek [payne1983]). So sines of huge angles are as
accurate as others, and those next to a multiple of pi have all their digits.
"""

import math

from polhode.kernels.algebra.dd import quick_two_sum, two_sum
from polhode.kernels.elementary._parts import LEAST_NORMAL, ROUND
from polhode.kernels.ops import (
    all_of,
    apart,
    fma,
    fraction_exponent,
    nearest_whole,
    power_of_two,
    shared,
    two_product,
    where,
)

TWO_OVER_PI = 0.6366197723675814
HALF_PI, HALF_PI_2, HALF_PI_3 = 1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33
QUARTER_PI, QUARTER_PI_2 = 0.7853981633974483, 3.061616997868383e-17
EIGHTH_TURN = 0.41421356237309503
"""tan(pi/8)."""
LARGE = 2.0**28
"""Up to this angle three parts of pi/2 are enough."""
BITS = (
    0.636619772367581, 0.33068755952925155, 0.32540679297213604, 0.39964395111064555, 0.31792711437062326,
    0.5268031193200251, 0.8639831777135729, 0.5095885114856431, 0.9184065558140402, 0.6329474348412312,
    0.28244935139302374, 0.09325506128194228, 0.22466011204652325, 0.06833165695263954, 0.6953054368476623,
    0.3984982845762586, 0.35172159211398313, 0.9813937647621636, 0.9546503075161983, 0.5443922240974457,
    0.8982159637446108, 0.8678175387119031, 0.7108622772701114, 0.08399653847947786,
)  # fmt: skip
"""The bits of 2/pi, fifty in each number: the k-th stands for itself times 2^(-50 k)."""

# errors: 2^-56, 2^-59, 2^-58, 2^-59
S0, S1, S2 = -0.1666666666666663, 0.008333333333322111, -0.00019841269829583443
S3, S4, S5 = 2.755731361915524e-06, -2.5050747402051315e-08, 1.5896208766672694e-10
C0, C1, C2 = 0.041666666666666595, -0.001388888888887305, 2.4801587288846825e-05
C3, C4, C5 = -2.7557314177836836e-07, 2.0875700637171093e-09, -1.1358525608136264e-11
T0, T1, T2, T3 = -0.33333333333333326, 0.19999999999997692, -0.142857142853908, 0.11111111088351791
T4, T5, T6, T7 = -0.0909090815081081, 0.076922829008277, -0.06666228858632882, 0.058770423941479015
T8, T9, T10, T11 = -0.05218537106302473, 0.04504089673463038, -0.03348704896744477, 0.015207957636988241
A0, A1, A2, A3 = 0.16666666666666763, 0.07499999999970089, 0.04464285717529587, 0.03038194267478649
A4, A5, A6, A7 = 0.02237221592022025, 0.017351595238572413, 0.013981021694488527, 0.01139726715919984
A8, A9, A10, A11 = 0.010789465985738657, 0.003671640196897021, 0.021791965826809562, -0.02111857377080904
A12 = 0.03270331374233297

Remainder = tuple[float, float, float]
"""The quarter turns of an angle, from -2 to 2 or any whole number that means the same, and the rest in two floats."""


@apart
def huge_remainder(x: float) -> Remainder:
    """The remainder of any finite angle; NaN for others.

    x / (pi/2) is the sum of the products of x with the parts of 2/pi. Those before the five that are taken make
    multiples of four, which are whole turns; those after them make less than 2^-118.
    """
    finite = abs(x) < math.inf
    y = where(finite, x, 1.0)
    size = abs(y)
    _, e = fraction_exponent(where(size < LEAST_NORMAL, LEAST_NORMAL, size))
    first = nearest_whole((e - 78.5) * 0.02)  # the greatest whole number up to (e - 54) / 50
    first = where(first > 0.0, first, 0.0)
    y = y * power_of_two(-50.0 * first)
    high = low = rest = 0.0 * y
    for j in range(5):
        bits = 0.0 * y
        for k in range(20):
            bits = where(first == float(k), BITS[j + k], bits)
        product, lost = two_product(y, bits)
        high, low, rest = added(high, low, rest, without_turns(product))
        high, low, rest = added(high, low, rest, without_turns(lost))
        y = y * 2.0**-50
    turns = nearest_whole(high)
    high, low = two_sum(high - turns, low)
    high, low = quick_two_sum(high, low + rest)
    r = high * HALF_PI
    r, low = quick_two_sum(r, fma(high, HALF_PI, -r) + fma(high, HALF_PI_2, low * HALF_PI))
    return turns, where(finite, r, math.nan), low


def without_turns(x: float) -> float:
    """Returns x less a multiple of four."""
    return fma(nearest_whole(0.25 * x), -4.0, x)


def added(high: float, low: float, rest: float, x: float) -> Remainder:
    """Adds x to a sum of three floats."""
    high, lost = two_sum(high, x)
    low, lost = two_sum(low, lost)
    return high, low, rest + lost


def remainder(x: float) -> Remainder:
    """The quarter turns of an angle, and the rest, from -pi/4 to pi/4, in two floats."""
    k = fma(x, TWO_OVER_PI, ROUND) - ROUND
    exact = fma(k, -HALF_PI, x)
    w = k * HALF_PI_2
    r, low = two_sum(exact, -w)
    low = fma(k, -HALF_PI_3, low - fma(k, HALF_PI_2, -w))
    near = abs(x) <= LARGE
    if not all_of(near):
        k_far, r_far, low_far = huge_remainder(x)
        k, r, low = where(near, k, k_far), where(near, r, r_far), where(near, low, low_far)
    return k - 4.0 * (fma(k, 0.25, ROUND) - ROUND), r, low


def sine_polynomial(z: float) -> float:
    """(sin r - r) / r^3, where z is the square of r, from 0 to (pi/4)^2."""
    z2 = z * z
    return fma(z2 * z2, fma(S5, z, S4), fma(fma(S3, z, S2), z2, fma(S1, z, S0)))


def cosine_polynomial(z: float) -> float:
    """(cos r - 1 + r^2 / 2) / r^4, where z is the square of r, from 0 to (pi/4)^2."""
    z2 = z * z
    return fma(z2 * z2, fma(C5, z, C4), fma(fma(C3, z, C2), z2, fma(C1, z, C0)))


@shared
def sine_cosine(x: float) -> tuple[float, float]:
    """Returns sin x and cos x."""
    k, r, low = remainder(x)
    z = r * r
    half = 0.5 * z
    s = r + fma(r * z, sine_polynomial(z), fma(low, -half, low))
    whole = 1.0 - half
    c = whole + (((1.0 - whole) - half) + fma(z * z, cosine_polynomial(z), -(r * low)))
    odd, opposite = abs(k) == 1.0, abs(k) == 2.0
    sine, cosine = where(odd, c, s), where(odd, s, c)
    sine = where((k == -1.0) | opposite, -sine, sine)
    return where(x == 0.0, x, sine), where((k == 1.0) | opposite, -cosine, cosine)


def sine(x: float) -> float:
    """sin x."""
    return sine_cosine(float(x))[0]


def cosine(x: float) -> float:
    """cos x."""
    return sine_cosine(float(x))[1]


@apart
def tangent(x: float) -> float:
    """tan x: the quotient of sine and cosine, both in two floats."""
    x = float(x)
    k, r, low = remainder(x)
    z = r * r
    s, s_low = quick_two_sum(r, fma(r * z, sine_polynomial(z), fma(low, -0.5 * z, low)))
    c, c_low = quick_two_sum(1.0, -0.5 * z)
    z_low = fma(r, r, -z)
    c, c_low = quick_two_sum(c, c_low + fma(z * z, cosine_polynomial(z), fma(-0.5, z_low, -(r * low))))
    odd = abs(k) == 1.0
    n, n_low, d, d_low = where(odd, -c, s), where(odd, -c_low, s_low), where(odd, s, c), where(odd, s_low, c_low)
    inverse = 1.0 / where(d == 0.0, 1.0, d)  # the sine of an angle that is no zero is none either
    q = n * inverse
    return where(abs(x) < 1e-9, x, q + (fma(-q, d, n) + fma(-q, d_low, n_low)) * inverse)  # type: ignore[no-any-return]


def arc_polynomial(z: float) -> float:
    """(atan t - t) / t^3, where z is the square of t, from 0 to tan(pi/8)^2."""
    z2 = z * z
    z4 = z2 * z2
    return fma(
        z4,
        fma(z4, fma(fma(T11, z, T10), z2, fma(T9, z, T8)), fma(fma(T7, z, T6), z2, fma(T5, z, T4))),
        fma(fma(T3, z, T2), z2, fma(T1, z, T0)),
    )


def arc_of_ratio(y: float, x: float, backwards: float) -> float:
    """The angle whose tangent is y / x, for y and x that are not negative, and x + y that is positive.

    If `backwards` is 1 and not 0, it is pi less that angle.
    """
    steep = y > x
    small, large = where(steep, x, y), where(steep, y, x)
    far = small > EIGHTH_TURN * large
    gap, gap_low = quick_two_sum(large, -small)  # atan(u) = pi/4 - atan((1 - u) / (1 + u))
    total, total_low = quick_two_sum(large, small)
    n, n_low = where(far, -gap, small), where(far, -gap_low, 0.0)
    d, d_low = where(far, total, large), where(far, total_low, 0.0)
    inverse = 1.0 / d
    t = n * inverse
    t_low = (fma(-t, d, n) + fma(-t, d_low, n_low)) * inverse
    z = t * t
    rest = fma(t * z, arc_polynomial(z), fma(-z, t_low, t_low))
    sign = where(steep, -1.0, 1.0)
    eighths = where(far, 1.0, where(steep, 2.0, 0.0))
    eighths, sign = fma(backwards, fma(-2.0, eighths, 4.0), eighths), fma(-2.0 * backwards, sign, sign)
    base = eighths * QUARTER_PI
    base_low = fma(eighths, QUARTER_PI_2, fma(eighths, QUARTER_PI, -base))
    high, lost = quick_two_sum(base, sign * t)
    return high + (lost + fma(sign, rest, base_low))


@apart
def arctangent(x: float) -> float:
    """atan x."""
    x = float(x)
    size = abs(x)
    finite = size < math.inf
    found = arc_of_ratio(where(finite, size, 1.0), where(finite, 1.0, 0.0), 0.0)
    found = where(size < 1e-9, x, math.copysign(found, x))
    return where(x == x, found, x)  # type: ignore[no-any-return]


@apart
def angle(y: float, x: float) -> float:
    """atan2(y, x): the angle from the axis of x to the point, from -pi to pi."""
    y, x = float(y), float(x)
    tall, wide = abs(y), abs(x)
    endless = (tall == math.inf) | (wide == math.inf)
    up, along = where(endless, where(tall == math.inf, 1.0, 0.0), tall), where(wide == math.inf, 1.0, wide)
    along = where(endless & (wide < math.inf), 0.0, along)
    nowhere = (up == 0.0) & (along == 0.0)
    up, along = where(nowhere, 0.0, up), where(nowhere, 1.0, along)
    larger = where(up > along, up, along)
    _, e = fraction_exponent(where(larger > LEAST_NORMAL, larger, LEAST_NORMAL))
    scale = power_of_two(where(e > 1022.0, -1022.0, -e))
    backwards = where(math.copysign(1.0, x) < 0.0, 1.0, 0.0)
    unordered = (x != x) | (y != y)
    up, along = where(unordered, 1.0, up * scale), where(unordered, 1.0, along * scale)
    found = math.copysign(arc_of_ratio(up, along, backwards), y)
    return where(unordered, math.nan, found)  # type: ignore[no-any-return]


def arcsine_polynomial(z: float) -> float:
    """(asin s - s) / s^3, where z is the square of s, from 0 to 1/4."""
    z2 = z * z
    z4 = z2 * z2
    return fma(
        z4,
        fma(
            z4,
            fma(z4, A12, fma(fma(A11, z, A10), z2, fma(A9, z, A8))),
            fma(fma(A7, z, A6), z2, fma(A5, z, A4)),
        ),
        fma(fma(A3, z, A2), z2, fma(A1, z, A0)),
    )


def arc_of_half(size: float) -> tuple[bool, float, float]:
    """Whether size > 1/2, and in two floats: asin(size) if not, asin(sqrt((1 - size) / 2)) if so."""
    wide = size > 0.5
    z = where(wide, fma(-0.5, size, 0.5), size * size)
    z = where(z > 0.0, z, 0.0)
    root = math.sqrt(z)
    s = where(wide, root, size)
    low = where(wide, fma(-root, root, z) * (0.5 / where(root > 0.0, root, 1.0)), 0.0)
    return wide, s, fma(s * z, arcsine_polynomial(z), low)


@apart
def arcsine(x: float) -> float:
    """asin x."""
    x = float(x)
    size = abs(x)
    wide, s, rest = arc_of_half(size)
    high, lost = quick_two_sum(HALF_PI, -2.0 * s)
    found = where(wide, high + (lost + fma(-2.0, rest, HALF_PI_2)), s + rest)
    return where(size <= 1.0, math.copysign(found, x), math.nan)  # type: ignore[no-any-return]


@apart
def arccosine(x: float) -> float:
    """acos x."""
    x = float(x)
    size = abs(x)
    wide, s, rest = arc_of_half(size)
    backwards = x < 0.0
    # acos x is pi/2 - asin x; for a large x it is 2 asin(sqrt((1 - x) / 2)), and pi less that of -x
    base = where(wide, where(backwards, 2.0, 0.0), 1.0)
    factor = where(wide, where(backwards, -2.0, 2.0), where(backwards, 1.0, -1.0))
    high, lost = quick_two_sum(base * HALF_PI, factor * s)
    found = high + (lost + fma(factor, rest, base * HALF_PI_2))
    return where(size <= 1.0, found, math.nan)  # type: ignore[no-any-return]
