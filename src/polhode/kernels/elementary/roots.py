"""Cube roots, and lengths of pairs."""

import math

from polhode.kernels.algebra.dd import quick_two_sum
from polhode.kernels.elementary._parts import LEAST_NORMAL
from polhode.kernels.ops import apart, fma, fraction_exponent, nearest_whole, power_of_two, where

# the error is 2^-19
R0, R1, R2 = 0.4733315236120546, 0.838156877773219, -0.4692241056317882
R3, R4, R5 = 0.20277392907000225, -0.05038538281848671, 0.00534838863462735
CUBE_ROOT_2, CUBE_ROOT_4 = 1.2599210498948732, 1.5874010519681996


@apart
def cube_root(x: float) -> float:
    """The cube root of x: a polynomial, a step of Halley's, and a step of Newton's with the exact residual."""
    x = float(x)
    size = abs(x)
    usual = (size > 0.0) & (size < math.inf)
    y = where(usual, size, 1.0)
    small = y < LEAST_NORMAL
    m, e = fraction_exponent(where(small, y * 2.0**54, y))
    e = where(small, e - 54.0, e)
    third = nearest_whole((e - 1.0) * 0.3333333333333333)
    left = e - 3.0 * third  # 0, 1 or 2
    z = m * m
    guess = fma(z * z, fma(R5, m, R4), fma(fma(R3, m, R2), z, fma(R1, m, R0)))
    guess = guess * where(left == 1.0, CUBE_ROOT_2, where(left == 2.0, CUBE_ROOT_4, 1.0))
    v = m * where(left == 1.0, 2.0, where(left == 2.0, 4.0, 1.0))
    cube = guess * guess * guess
    guess = guess * (fma(2.0, v, cube) / fma(2.0, cube, v))
    square = guess * guess
    off = fma(-square, guess, v) - fma(guess, guess, -square) * guess
    root = (guess + off / (3.0 * square)) * power_of_two(third)
    return where(usual, math.copysign(root, x), x)  # type: ignore[no-any-return]


@apart
def length(x: float, y: float) -> float:
    """sqrt(x^2 + y^2)  (Borges [borges2020])."""
    x, y = abs(float(x)), abs(float(y))
    a, b = where(x > y, x, y), where(x > y, y, x)
    usual = a < math.inf
    a, b = where(usual, a, 1.0), where(usual, b, 1.0)
    _, e = fraction_exponent(where(a > LEAST_NORMAL, a, LEAST_NORMAL))
    e = where(e > 1022.0, 1022.0, e)
    scale = power_of_two(-e)
    a, b = a * scale, b * scale
    high, low = a * a, b * b
    total, lost = quick_two_sum(high, low)
    rest = lost + (fma(a, a, -high) + fma(b, b, -low))
    root = math.sqrt(total)
    found = root + (fma(-root, root, total) + rest) * (0.5 / where(root > 0.0, root, 1.0))
    endless = (x == math.inf) | (y == math.inf)
    return where(endless, math.inf, where(usual, found * power_of_two(e), math.nan))  # type: ignore[no-any-return]
