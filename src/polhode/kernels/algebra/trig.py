"""Our own sine and versine: they give the same bits inlined or not, for one body or for eight.

The polynomials are minimax, computed by the Remez exchange at 50 digits. Their relative errors before rounding are, on
|r| <= pi/2, 3e-19 for the sine and 1.5e-17 for the versine; for the short ones, on |r| <= 0.45, 8e-18 and 2e-18.
"""

from math import sqrt

from polhode.kernels.ops import all_of, fma, where

ROUND = 6755399441055744.0  # 1.5 * 2**52: adding and subtracting it rounds to the nearest integer
INVERSE_PI = 0.3183098861837907
PI_HIGH, PI_LOW = 3.141592653589793, 1.2246467991473532e-16

S0, S1, S2, S3 = -0.16666666666666666, 0.008333333333333194, -0.00019841269841209183, 2.7557319211130728e-06
S4, S5, S6, S7 = -2.5052106872187955e-08, 1.605893967429625e-10, -7.642990648842924e-13, 2.7211659293144538e-15
V0, V1, V2, V3 = 0.5, -0.04166666666666631, 0.0013888888888858983, -2.48015872920289e-05
V4, V5, V6, V7 = 2.7557317719227363e-07, -2.0876628019244016e-09, 1.146460617867843e-11, -4.6267089188997954e-14

SHORT = 0.45**2
"""The square of the longest angle for which the short polynomials are accurate."""
A0, A1, A2 = -0.1666666666666653, 0.008333333333238444, -0.00019841269626124717
A3, A4 = 2.7557106188084653e-06, -2.495628261470752e-08
B0, B1, B2 = 0.5, -0.04166666666666657, 0.0013888888888821354
B3, B4, B5 = -2.4801587148261053e-05, 2.755716724482027e-07, -2.08083421257255e-09


def sine_versine(x: float) -> tuple[float, float]:
    """Returns sin r and 1 - cos r, where r is x minus a multiple of pi.

    Sine and cosine then have a common sign, which does not change the rotation of a quaternion. The versine keeps the
    digits of small angles, which the cosine would lose, so that a rotation can be written as an increment.
    """
    k = fma(x, INVERSE_PI, ROUND) - ROUND
    r = fma(k, -PI_LOW, fma(k, -PI_HIGH, x))
    z = r * r
    z2 = z * z
    z4 = z2 * z2
    sine = fma(
        z4,
        fma(fma(S7, z, S6), z2, fma(S5, z, S4)),
        fma(fma(S3, z, S2), z2, fma(S1, z, S0)),
    )
    versine = fma(
        z4,
        fma(fma(V7, z, V6), z2, fma(V5, z, V4)),
        fma(fma(V3, z, V2), z2, fma(V1, z, V0)),
    )
    return fma(r * z, sine, r), z * versine


def sine_cosine(x: float) -> tuple[float, float]:
    """Returns sin x and cos x, with their own signs."""
    sine, versine = sine_versine(x)
    sign = common_sign(x)
    return sign * sine, sign * (1.0 - versine)


def common_sign(x: float) -> float:
    """Returns 1.0 if `sine_versine` takes an even multiple of pi from x, else -1.0."""
    k = fma(x, INVERSE_PI, ROUND) - ROUND
    odd = k - 2.0 * (fma(k, 0.5, ROUND) - ROUND)
    return 1.0 - 2.0 * odd * odd


def sine_versine_of_step(x: float) -> tuple[float, float]:
    """sin r and 1 - cos r as `sine_versine` has them; faster for the small angles of steps, slower for others.

    Each rotation of a step waits for the one before, and finding the multiple of pi would be a third of that time.
    Nearly always the multiple is zero: the processor predicts the branch and does not wait. If the angle of one lane is
    long, all lanes compute both forms, and the short ones keep the short form's bits.
    """
    z = x * x
    z2 = z * z
    sine = fma(z2, fma(z2, A4, fma(A3, z, A2)), fma(A1, z, A0))
    versine = fma(z2, fma(z2, fma(B5, z, B4), fma(B3, z, B2)), fma(B1, z, B0))
    s, e, short = fma(x * z, sine, x), z * versine, z < SHORT
    if not all_of(short):
        s_long, e_long = sine_versine(x)
        s, e = where(short, s, s_long), where(short, e, e_long)
    return s, e


def half_turn(z: float) -> tuple[float, float]:
    """Returns sin x / x and 1 - cos x, where z is the square of x: without a root or a division if the angle is small.

    Both are even functions of the angle, so a turn whose squared angle is known needs neither. For longer angles, x
    minus a multiple of pi takes the place of x in sine and cosine, which does not change the rotation of a quaternion.
    """
    z2 = z * z
    sine = fma(z2, fma(z2, A4, fma(A3, z, A2)), fma(A1, z, A0))
    versine = fma(z2, fma(z2, fma(B5, z, B4), fma(B3, z, B2)), fma(B1, z, B0))
    s, e, short = fma(z, sine, 1.0), z * versine, z < SHORT
    if not all_of(short):
        x = sqrt(z)
        s_long, e_long = sine_versine(x)
        s, e = where(short, s, s_long / max(x, 1e-300)), where(short, e, e_long)
    return s, e
