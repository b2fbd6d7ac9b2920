"""Two-double arithmetic: a number as the unevaluated sum of two floats, about 32 digits.

It serves for constants that are computed once and then multiplied by long times. Sums and products follow Dekker (1971)
and Knuth. Errors stay below 4 ulp of the second float, which is 1e-31 relative. Arguments must not be so large (1e300)
or so small (1e-280) that products leave the range of floats.
"""

from math import sqrt
from typing import Any

from polhode.kernels.ops import two_product

DD = tuple[float, float]

PI: DD = (3.141592653589793, 1.2246467991473532e-16)
HALF_PI: DD = (1.5707963267948966, 6.123233995736766e-17)
FOUR_PI: DD = (12.566370614359172, 4.898587196589413e-16)


def two_sum(a: float, b: float) -> DD:
    """a + b exactly."""
    s = a + b
    v = s - a
    return s, (a - (s - v)) + (b - v)


def quick_two_sum(a: float, b: float) -> DD:
    """a + b exactly, if |a| >= |b|."""
    s = a + b
    return s, b - (s - a)


def single(a: float) -> DD:
    """A float as a two-double."""
    return a, 0.0


def negative(a: DD) -> DD:
    """-a."""
    return -a[0], -a[1]


def scaled(a: DD, power_of_two: float) -> DD:
    """a times a power of two, exactly."""
    return a[0] * power_of_two, a[1] * power_of_two


def add(a: DD, b: DD) -> DD:
    """a + b, also under cancellation."""
    s, e = two_sum(a[0], b[0])
    t, f = two_sum(a[1], b[1])
    s, e = quick_two_sum(s, e + t)
    return quick_two_sum(s, e + f)


def subtract(a: DD, b: DD) -> DD:
    """a - b, also under cancellation."""
    return add(a, negative(b))


def multiply(a: DD, b: DD) -> DD:
    """a b."""
    p, e = two_product(a[0], b[0])
    return quick_two_sum(p, e + (a[0] * b[1] + a[1] * b[0]))


def divide(a: DD, b: DD) -> DD:
    """a / b."""
    q = a[0] / b[0]
    p, e = two_product(q, b[0])
    return quick_two_sum(q, (((a[0] - p) - e) + (a[1] - q * b[1])) / b[0])


def root(a: DD) -> DD:
    """The square root of a; zero if a is not positive."""
    if a[0] <= 0.0:
        return 0.0, 0.0
    s = sqrt(a[0])
    p, e = two_product(s, s)
    return quick_two_sum(s, (((a[0] - p) - e) + a[1]) / (2.0 * s))


def hypotenuse(a: DD, b: DD) -> DD:
    """sqrt(a^2 + b^2), without overflow or underflow on the way."""
    largest = single(max(abs(a[0]), abs(b[0])))
    if largest[0] == 0.0:
        return 0.0, 0.0
    x, y = divide(a, largest), divide(b, largest)
    return multiply(root(add(multiply(x, x), multiply(y, y))), largest)


def total(terms: Any, count: int) -> DD:
    """The sum of floats, right to two doubles however much of it cancels; the floats are overwritten.

    Each pass carries what rounding leaves over to the float below: Ogita, Rump, Oishi (2005), algorithm 4.3. Passes
    are repeated until what lies below the first two floats is no longer seen.
    """
    for _ in range(count):
        rest, low = 0.0, 0.0
        for i in range(1, count):
            rest += abs(low)
            terms[i], low = two_sum(terms[i], terms[i - 1])
            terms[i - 1] = low
        if rest <= 2.0**-108 * abs(terms[count - 1]):
            break
    return quick_two_sum(terms[count - 1], terms[count - 2])
