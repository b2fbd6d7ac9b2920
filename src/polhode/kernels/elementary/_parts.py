"""What the elementary functions share: e^r and logarithms in two floats.

All polynomials are minimax (`benchmarks/minimax.py`). The errors that are stated here are theirs, before rounding.
"""

from polhode.kernels.algebra.dd import DD, quick_two_sum
from polhode.kernels.ops import fma, fraction_exponent, power_of_two, where

ROUND = 6755399441055744.0  # 1.5 * 2**52: adding and subtracting it rounds to the nearest integer
LEAST_NORMAL = 2.0**-1022
INVERSE_LN2 = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.6931471805599453, 2.3190468138462996e-17
LN2_SHORT, LN2_REST = 0.6931471805598903, 5.497923018708371e-14
"""ln 2 with eleven zero bits at the end, so that its product with an exponent is exact, and the rest of it."""
TWO_THIRDS_HIGH, TWO_THIRDS_LOW = 0.6666666666666666, 3.700743415417188e-17

E0, E1, E2, E3, E4, E5 = (
    0.5, 0.16666666666666685, 0.04166666666666671, 0.008333333333316723, 0.0013888888888861316,
    0.00019841269897095834,
)  # fmt: skip
"""The coefficients of (e^r - 1 - r) / r^2, from r^0 on; E6 to E10 go on."""
E6, E7, E8, E9, E10 = (
    2.4801587369525246e-05, 2.755723420204389e-06, 2.7557236223871153e-07, 2.5112251151952513e-08,
    2.092620615082494e-09,
)  # fmt: skip
L0, L1, L2, L3 = 0.3999999999999998, 0.2857142857144511, 0.22222222217536666, 0.18181818870292596
L4, L5, L6, L7 = 0.15384556872355976, 0.13336317371427542, 0.11674819394136292, 0.11989006343093712
"""The coefficients of (2 atanh(s) - 2 s - 2 s^3/3) / s^5 by powers of s^2, for logarithms."""


def reduced_power(x: float, low: float) -> tuple[float, float, float]:
    """Returns k, r and a correction c of r: x + low = k ln 2 + r + c, with |r| <= 0.35, for |x| below 1100."""
    k = fma(x, INVERSE_LN2, ROUND) - ROUND
    exact = fma(k, -LN2_HIGH, x)
    r = fma(k, -LN2_LOW, exact)
    return k, r, fma(k, -LN2_LOW, exact - r) + low


def power_less_one(r: float, low: float) -> DD:
    """Returns e^(r + low) - 1 in two floats, for |r| <= 0.35; the error is 2^-60."""
    z = r * r
    z2 = z * z
    polynomial = fma(
        z2 * z2,
        fma(E10, z, fma(E9, r, E8)),
        fma(fma(fma(E7, r, E6), z, fma(E5, r, E4)), z2, fma(fma(E3, r, E2), z, fma(E1, r, E0))),
    )
    high, rest = quick_two_sum(r, z * polynomial)
    return high, fma(low, high, low) + rest


def scaled_twice(x: float, k: float) -> float:
    """Returns x 2^k for a whole k between -2000 and 2000, rounded once where that is below the normal numbers."""
    half = fma(k, 0.5, ROUND) - ROUND
    return x * power_of_two(half) * power_of_two(k - half)


def normal_parts(x: float) -> tuple[float, float]:
    """Returns m and e, so that x = m 2^e, m from sqrt(1/2) to sqrt(2), for a positive number below infinity."""
    small = x < LEAST_NORMAL
    m, e = fraction_exponent(where(small, x * 2.0**54, x))
    large = m > 1.4142135623730951
    e = where(large, e + 1.0, e)
    return where(large, 0.5 * m, m), where(small, e - 54.0, e)


def log_of_sum(e: float, f: float, low: float) -> DD:
    """Returns e ln 2 + log(1 + f + low) in two floats, with an error of 2^-60, for f from -0.3 to 0.42."""
    d, d_low = quick_two_sum(2.0, f)
    inverse = 1.0 / d
    s = f * inverse
    s_low = (fma(-s, d, f) + fma(-s, d_low + low, low)) * inverse
    z = s * s
    rest = fma(s * z, fma(z, log_polynomial(z), TWO_THIRDS_HIGH), 2.0 * s_low)
    high, lost = quick_two_sum(e * LN2_SHORT, 2.0 * s)
    return quick_two_sum(high, lost + fma(e, LN2_REST, rest))


def log_polynomial(z: float) -> float:
    """(2 atanh s - 2 s - 2 s^3 / 3) / s^5, where z is the square of s, below 0.0295; the error is 2^-66."""
    z2 = z * z
    return fma(z2 * z2, fma(fma(L7, z, L6), z2, fma(L5, z, L4)), fma(fma(L3, z, L2), z2, fma(L1, z, L0)))


def log_of_dd(x: float, low: float) -> DD:
    """Returns log(x + low) in two floats, for a positive x below infinity; low is a rounding error of x."""
    m, e = normal_parts(x)
    f, rest = quick_two_sum(m - 1.0, low * power_of_two(where(e > 1000.0, -1000.0, where(e < -1000.0, 1000.0, -e))))
    return log_of_sum(e, f, rest)
