r"""The free rigid body in closed form: constants once per motion, then the state at any time at one price.

The axes are relabelled so that the momentum y circles axis 3 with y3 > 0, through a proper rotation. Then

    y = (A cn u, B sn u, C dn u),    u = u0 + s lam t,    s = +1 if I3 is the greatest moment, -1 if it is the least,

and the attitude is `R(t) = R(0) P(y(0))^T Rz(chi) P(y(t))`, where P(y) is the smallest rotation that takes y to axis 3
and chi is linear in time plus the argument of a theta function. Everything comes from theta series that converge at
once: in the nome q (DIRECT) or, towards the separatrix, in the nome q' of the complementary modulus (DUAL), where the
series are hyperbolic. What has no period left is STEADY. No difference of nearly equal numbers is taken anywhere:
k and k' are computed side by side, and what is multiplied by the time is a two-double, so that 1e12 turns cost no
more digits than the input itself has lost by then.

Moments and rates come scaled: the greatest of each lies between 1/2 and 1. Formulas: docs/understand/free_motion.md.
"""

from math import asinh, atan2, copysign, cos, exp, log, pi, sin, sqrt
from typing import Any, NamedTuple

from polhode.kernels.algebra import dd
from polhode.kernels.algebra.dd import DD
from polhode.kernels.algebra.quat import conjugate, multiply, norm2
from polhode.kernels.algebra.trig import ROUND, sine_versine
from polhode.kernels.algebra.vec import dot
from polhode.kernels.codegen import tuple_of, writer_of
from polhode.kernels.free.elliptic_functions import ALL_DIGITS, agm, rf
from polhode.kernels.ops import fma, scratch, two_product
from polhode.kernels.status import OK
from polhode.kernels.types import Inertia, Quat, Vec3

STEADY, DIRECT, DUAL = 0.0, 1.0, 2.0
"""The kinds of motion, as floats because they stand among the constants."""

LARGEST_NOME = 0.08
"""Up to here the direct series are used: their first neglected terms, q^16 and q^20, are below 1e-17. Beyond, the dual
nome exp(pi^2 / log q) is below 0.02."""

LONGEST_SCALED_TIME = 1e200
"""Greater times are replaced by this one, so that nothing overflows: the phase lost its last digit long before."""

RIGHT_ANGLE = 1.5707963267948963
"""Two units in the last place below pi/2: the greatest angle that is not reduced by pi."""


class Constants(NamedTuple):
    """The constants of a motion. Axes are relabelled, momenta divided by their norm G, rates divided by their scale.

    Letters are those of Landau and Lifshitz, Mechanics, section 37, with G for their M, lam t for their tau, and of
    DLMF 20.2 and 22.2.
    """

    kind: float
    axis1: float  # which principal axis is axis 1, 2, 3
    axis2: float
    axis3: float
    sign1: float  # and in which direction it points
    sign2: float
    sign3: float
    G: float  # |y|
    i1: float  # G / I1: the rate that goes with a unit of y1 / G
    i2: float
    i3: float
    y1: float  # momentum at the start, over G
    y2: float
    y3: float
    A: float  # amplitudes of y, over G
    B: float
    C: float
    s: float  # 1 if I3 is the greatest moment, -1 if it is the least
    lam: float  # du/dt = s lam
    k: float
    kc: float  # k'
    K: float  # DLMF 19.2.8; 0 stands for infinity
    Kc: float  # K'; 0 stands for infinity
    u0: float
    rate_high: float  # s lam / 2K: half periods per unit of time
    rate_low: float
    turn_high: float  # half turns of chi per unit of time, without those of the theta function
    turn_low: float
    q: float  # the nome, DLMF 22.2.1, if DIRECT; q' if DUAL
    q_plus: float  # DIRECT: the two nomes of the third kind, q^2 exp(+-2 beta)
    q_minus: float
    eta: float  # DUAL: the argument of the third kind
    jump: float  # DUAL: the turns that the argument of the theta function makes in a half period
    precession: float  # mean rate at which axis 3 goes round the momentum; |w| if STEADY
    transverse: float  # mean rate at which axis 1 goes round the momentum; |w| if STEADY


CONSTANTS = len(Constants._fields)
_load_constants = tuple_of(CONSTANTS)
_store_constants = writer_of(CONSTANTS)

# --- elliptic integrals --------------------------------------------------------------------------------------------


def quarter_period(complement: DD) -> DD:
    """K = pi / (2 agm(1, k')) for 0 < k' <= 1."""
    return dd.divide(dd.HALF_PI, agm((1.0, 0.0), complement, ALL_DIGITS))


def complete_integral(complement: DD, p: DD, a: DD, b: DD) -> DD:
    """Bulirsch's cel: the integral of (a cos^2 + b sin^2) / (cos^2 + p sin^2) / sqrt(cos^2 + k'^2 sin^2) to pi/2.

    DLMF 19.2.11. It is computed in two-doubles; `elliptic.cel` does it in doubles, with half the passes.
    """
    kc, e, m = complement, complement, (1.0, 0.0)
    p = dd.root(p)
    b = dd.divide(b, p)
    for _ in range(60):
        f, g = a, dd.divide(e, p)
        a = dd.add(a, dd.divide(b, p))
        b = dd.scaled(dd.add(b, dd.multiply(f, g)), 2.0)
        p = dd.add(p, g)
        g, m = m, dd.add(m, kc)
        if abs(g[0] - kc[0]) <= 1e-15 * g[0]:
            break
        kc = dd.scaled(dd.root(e), 2.0)
        e = dd.multiply(kc, m)
    return dd.multiply(dd.HALF_PI, dd.divide(dd.add(dd.multiply(a, m), b), dd.multiply(m, dd.add(m, p))))


# --- set-up --------------------------------------------------------------------------------------------------------


def set_up(inertia: Vec3, omega: Vec3) -> Constants:
    """The constants of the motion that starts with these rates about the principal axes."""
    y = (two_product(inertia[0], omega[0]), two_product(inertia[1], omega[1]), two_product(inertia[2], omega[2]))
    i, j, k = _ascending(inertia)
    if (omega[k] == 0.0 or inertia[k] == inertia[j]) and (omega[i] == 0.0 or inertia[i] == inertia[j]):
        return _steady(inertia, omega, y)
    # The rate about an axis whose moment is also that of axis 2 has no part in the distance from the separatrix.
    w1, w3 = 0.0 if inertia[i] == inertia[j] else omega[i], 0.0 if inertia[k] == inertia[j] else omega[k]
    lift = 1.0  # keeps the products of small rates from underflow
    while max(abs(w1), abs(w3)) * lift < 2.0**-250:
        lift = lift * 2.0**250
    distance = _beyond_separatrix(inertia[i], inertia[j], inertia[k], lift * w1, lift * w3)
    s = 1.0
    if distance[0] < 0.0:
        i, k, s, distance = k, i, -1.0, dd.negative(distance)

    parity = 1.0 if (j - i) % 3 == 1 else -1.0
    sign1, sign3 = copysign(1.0, y[i][0]), copysign(1.0, y[k][0])
    sign2 = parity * sign1 * sign3
    y1, y2, y3 = dd.scaled(y[i], sign1), dd.scaled(y[j], sign2), dd.scaled(y[k], sign3)
    I1, I2, I3 = dd.single(inertia[i]), dd.single(inertia[j]), dd.single(inertia[k])
    d31 = dd.scaled(dd.two_sum(I3[0], -I1[0]), s)
    d32 = dd.scaled(dd.two_sum(I3[0], -I2[0]), s)
    d21 = dd.scaled(dd.two_sum(I2[0], -I1[0]), s)

    # y = (A cn, B sn, C dn): Landau and Lifshitz, Mechanics, section 37, with sums in place of their differences.
    flatness = dd.root(dd.multiply(dd.divide(I1, I2), dd.divide(d32, d31)))  # A / B
    A = dd.hypotenuse(y1, dd.multiply(flatness, y2))
    B = dd.divide(A, flatness)
    C = dd.hypotenuse(y3, dd.multiply(y2, dd.root(dd.multiply(dd.divide(I3, I2), dd.divide(d21, d31)))))
    G = dd.hypotenuse(dd.hypotenuse(y1, y2), y3)
    kappa = dd.root(dd.multiply(dd.divide(I3, I1), dd.divide(d21, d32)))
    k_ = dd.divide(dd.multiply(kappa, A), C)
    # k'^2 = I3 (G^2 - 2T I2) / (C^2 d32): the lift is taken out after the root, so that k' = 1e-300 is not lost.
    kc = dd.scaled(dd.divide(dd.root(dd.multiply(distance, dd.divide(I3, d32))), C), 1.0 / lift)
    lam = dd.multiply(dd.divide(C, I3), dd.multiply(dd.root(dd.divide(d32, I1)), dd.root(dd.divide(d31, I2))))
    sn, cn = (y2[0] / B[0], y1[0] / A[0]) if A[0] > 0.0 else (0.0, 1.0)
    dn = y3[0] / C[0]

    K, rate, turning, axis3, axis1 = (0.0, 0.0), (0.0, 0.0), (0.0, 0.0), 0.0, 0.0
    if kc[0] > 0.0:
        K = quarter_period(kc)
        u0 = _phase(sn, cn, dn, kc[0], K[0])
        rate = dd.divide(dd.scaled(lam, s), dd.scaled(K, 2.0))
        third = complete_integral(
            kc, dd.divide((1.0, 0.0), dd.multiply(flatness, flatness)), (1.0, 0.0), dd.divide(d31, d32)
        )
        turn = dd.multiply(dd.divide(dd.scaled(G, 2.0), dd.multiply(lam, I1)), third)  # of axis 3 in a half period
        chi = dd.add(turn, dd.scaled(dd.PI, -s))
        turning = dd.multiply(dd.divide(chi, dd.FOUR_PI), dd.scaled(rate, s))
        axis3, axis1 = turn[0] * abs(rate[0]), chi[0] * abs(rate[0])
    else:
        t = abs(sn) / cn
        u0 = copysign(asinh(t) if t < 1.0 else log(1.0 + abs(sn)) - log(cn), sn)
    Kc = quarter_period(k_)[0] if k_[0] > 0.0 else 0.0

    kind, q, q_plus, q_minus, eta, jump = DIRECT, 0.0, 0.0, 0.0, 0.0, 0.0
    if K[0] > 0.0 and Kc > 0.0:
        q = exp(-pi * Kc / K[0])  # DLMF 22.2.1
    if K[0] > 0.0 and q <= LARGEST_NOME:
        if q > 0.0:
            q_plus, q_minus = _nomes_of_third_kind(kappa[0], k_[0], K[0], Kc)
    else:
        kind = DUAL
        q = exp(-pi * K[0] / Kc) if K[0] > 0.0 else 0.0
        eta = 0.25 * pi * _from_tangent(1.0 / kappa[0], k_[0]) / Kc
        if K[0] > 0.0:
            w = _third_kind(angles(eta), q, sqrt(q), 1.0)
            jump = atan2(w[1], w[0]) / pi
        else:
            energy = dd.add(_square_over(y1, I1), dd.add(_square_over(y2, I2), _square_over(y3, I3)))  # 2T
            spin = dd.divide(energy, G)
            turning = dd.divide(spin, dd.FOUR_PI)
            axis3, axis1 = spin[0], spin[0]
    return Constants(
        kind, float(i), float(j), float(k), sign1, sign2, sign3,
        G[0], dd.divide(G, I1)[0], dd.divide(G, I2)[0], dd.divide(G, I3)[0],
        dd.divide(y1, G)[0], dd.divide(y2, G)[0], dd.divide(y3, G)[0],
        dd.divide(A, G)[0], dd.divide(B, G)[0], dd.divide(C, G)[0],
        s, lam[0], k_[0], kc[0], K[0], Kc, u0, rate[0], rate[1], turning[0], turning[1],
        q, q_plus, q_minus, eta, jump, axis3, axis1,
    )  # fmt: skip


def _steady(inertia: Vec3, omega: Vec3, y: tuple[DD, DD, DD]) -> Constants:
    """The constants of rest, spheres, the intermediate axis, a symmetric body's equator: the rate stays as it is."""
    w = dd.hypotenuse(dd.hypotenuse(dd.single(omega[0]), dd.single(omega[1])), dd.single(omega[2]))
    G = dd.hypotenuse(dd.hypotenuse(y[0], y[1]), y[2])
    turn = dd.divide(w, dd.FOUR_PI)
    unit = 1.0 / G[0] if G[0] > 0.0 else 0.0
    return Constants(
        STEADY, 0.0, 1.0, 2.0, 1.0, 1.0, 1.0,
        G[0], G[0] / inertia[0], G[0] / inertia[1], G[0] / inertia[2],
        y[0][0] * unit, y[1][0] * unit, y[2][0] * unit, 0.0, 0.0, 0.0,
        1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, turn[0], turn[1],
        0.0, 0.0, 0.0, 0.0, 0.0, w[0], w[0],
    )  # fmt: skip


def _ascending(x: Vec3) -> tuple[int, int, int]:
    """The indices of the numbers in ascending order."""
    i, j, k = 0, 1, 2
    if x[i] > x[j]:
        i, j = j, i
    if x[j] > x[k]:
        j, k = k, j
    if x[i] > x[j]:
        i, j = j, i
    return i, j, k


def _beyond_separatrix(I1: float, I2: float, I3: float, w1: float, w3: float) -> DD:
    """G^2 - 2T I2 = I3 (I3 - I2) w3^2 - I1 (I2 - I1) w1^2, right to two doubles: zero only on the separatrix."""
    terms = scratch(32)
    _store_products(terms, 0, I3, dd.two_sum(I3, -I2), w3)
    _store_products(terms, 16, -I1, dd.two_sum(I2, -I1), w1)
    return dd.total(terms, 32)


def _store_products(terms: Any, at: int, inertia: float, difference: DD, w: float) -> None:
    """Writes 16 floats whose sum is inertia * difference * w^2 exactly."""
    square = two_product(w, w)
    for i in range(2):
        product = two_product(square[i], inertia)
        for j in range(2):
            for k in range(2):
                terms[at], terms[at + 1] = two_product(product[j], difference[k])
                at += 2


def _square_over(y: DD, inertia: DD) -> DD:
    """y^2 / I."""
    return dd.multiply(y, dd.divide(y, inertia))


def _phase(sn: float, cn: float, dn: float, kc: float, K: float) -> float:
    """Returns u with the given sn, cn, dn, DLMF 19.25.5, measured from 0 or from K, whichever is nearer."""
    co_cn = kc * abs(sn) / dn  # cn(K - u)
    if cn >= co_cn:
        return sn * rf(cn * cn, dn * dn, 1.0)
    co_sn, co_dn = cn / dn, kc / dn
    return copysign(K - co_sn * rf(co_cn * co_cn, co_dn * co_dn, 1.0), sn)


def _from_tangent(tangent: float, k: float) -> float:
    """F(phi | k'^2) for a given tan phi, computed from k: DLMF 19.25.5, with its arguments over cos^2."""
    t = min(tangent, 1e150)
    return t * rf(1.0, 1.0 + (k * t) * (k * t), 1.0 + t * t)


def _nomes_of_third_kind(kappa: float, k: float, K: float, dual_K: float) -> tuple[float, float]:
    """exp(-pi (2K' - b) / K) and exp(-pi (2K' + b) / K), computed from b or from K' - b, whichever is smaller."""
    b, rest = _from_tangent(1.0 / kappa, k), _from_tangent(kappa / k, k)
    if b < rest:
        return exp(-pi * (2.0 * dual_K - b) / K), exp(-pi * (2.0 * dual_K + b) / K)
    return exp(-pi * (dual_K + rest) / K), exp(-pi * (3.0 * dual_K - rest) / K)


# --- the direct series ---------------------------------------------------------------------------------------------


class DirectSeries(NamedTuple):
    """Coefficients of the theta series, DLMF 20.2, as polynomials in cos 2 pi v, split into even and odd parts.

    The scales are amplitudes times the theta constants of sn, cn, dn: DLMF 22.2.4 to 22.2.6.
    """

    scale1: float
    scale2: float
    scale3: float
    even0: float  # theta4 = even + odd, theta3 = even - odd
    even2: float
    odd1: float
    odd3: float
    side0: float  # theta1 / sin = even + odd, theta2 / cos = even - odd, both over 2 q^(1/4)
    side1: float
    side2: float
    side3: float
    real0: float  # theta4(pi v + i beta, q^2)
    real1: float
    real2: float
    real3: float
    imaginary0: float
    imaginary1: float
    imaginary2: float


def direct_series(c: Constants) -> DirectSeries:
    """The coefficients for these nomes."""
    q = c.q
    q2 = q * q
    q4, q6 = q2 * q2, q2 * q2 * q2
    q9, q12 = q4 * q4 * q, q6 * q6
    theta2, theta3, theta4 = 1.0 + q2 + q6 + q12, 1.0 + 2.0 * (q + q4 + q9), 1.0 - 2.0 * (q - q4 + q9)
    a, b = c.q_plus, c.q_minus
    sum1, sum2, sum3 = a + b, q4 * (a * a + b * b), q12 * (a * a * a + b * b * b)
    gap1, gap2, gap3 = a - b, q4 * (a * a - b * b), q12 * (a * a * a - b * b * b)
    return DirectSeries(
        c.A * theta4 / theta2, c.B * theta3 / theta2, c.C * theta4 / theta3,
        1.0 - 2.0 * q4, 4.0 * q4, 6.0 * q9 - 2.0 * q, -8.0 * q9,
        1.0 - q2 - q6 + q12, -2.0 * q2 + 2.0 * q6 + 4.0 * q12, 4.0 * q6 - 4.0 * q12, -8.0 * q12,
        1.0 - sum2, 3.0 * sum3 - sum1, 2.0 * sum2, -4.0 * sum3, gap1 - gap3, -2.0 * gap2, 4.0 * gap3,
    )  # fmt: skip


def direct_third_kind(d: DirectSeries, c2: float, s2: float) -> tuple[float, float]:
    """theta4(pi v + i beta, q^2), whose argument is the periodic part of chi / 2."""
    real = d.real0 + c2 * (d.real1 + c2 * (d.real2 + c2 * d.real3))
    return real, s2 * (d.imaginary0 + c2 * (d.imaginary1 + c2 * d.imaginary2))


def direct(c: Constants, d: DirectSeries, start: tuple[float, float], t: float) -> tuple[float, float, Vec3]:
    """cos and sin of chi / 2 up to a common factor, and y, at the scaled time t."""
    n, f = turns(t, c.rate_high, c.rate_low)
    v = f + 0.5 * c.u0 / c.K
    m = nearest(v)
    sine, versine = sine_versine(min(max(pi * (v - m), -RIGHT_ANGLE), RIGHT_ANGLE))
    cosine = 1.0 - versine
    c2, s2 = (cosine - sine) * (cosine + sine), 2.0 * sine * cosine
    square = c2 * c2
    even, odd = d.even0 + square * d.even2, c2 * (d.odd1 + square * d.odd3)
    side_even, side_odd = d.side0 + square * d.side2, c2 * (d.side1 + square * d.side3)
    over = 1.0 / (even + odd)
    flipped = over * parity(n + m)
    y = (
        d.scale1 * cosine * (side_even - side_odd) * flipped,
        d.scale2 * sine * (side_even + side_odd) * flipped,
        d.scale3 * (even - odd) * over,
    )
    _, f = turns(t, c.turn_high, c.turn_low)
    zc, zs = _phasor(f, start, direct_third_kind(d, c2, s2))
    return zc, zs, y


# --- the dual series -----------------------------------------------------------------------------------------------


class Angles(NamedTuple):
    """cos and sin of (2n+1) eta, n = 0..4."""

    c0: float
    c1: float
    c2: float
    c3: float
    c4: float
    s0: float
    s1: float
    s2: float
    s3: float
    s4: float


def angles(eta: float) -> Angles:
    """The cosines and sines of the odd multiples of eta."""
    return Angles(
        cos(eta), cos(3.0 * eta), cos(5.0 * eta), cos(7.0 * eta), cos(9.0 * eta),
        sin(eta), sin(3.0 * eta), sin(5.0 * eta), sin(7.0 * eta), sin(9.0 * eta),
    )  # fmt: skip


def _third_kind(a: Angles, q: float, E: float, side: float) -> tuple[float, float]:
    """The sum of q^(n(n+1)/2) cosh((2n+1)(zeta + i eta)) times 2 exp(-zeta), for E = exp(-2 zeta)."""
    X = q / max(E, 1e-200)  # at most sqrt(q), and 0 for q = 0 however small E is
    p2 = X * X * q
    p3 = p2 * X * (q * q)
    p4 = p3 * X * (q * q * q)
    E2 = E * E
    E3, E5, E7 = E2 * E, E2 * E2 * E, E2 * E2 * E2 * E
    real = (1.0 + E) * a.c0 + X * (1.0 + E3) * a.c1 + p2 * (1.0 + E5) * a.c2 + p3 * (1.0 + E7) * a.c3 + p4 * a.c4
    half = (1.0 - E) * a.s0 + X * (1.0 - E3) * a.s1 + p2 * (1.0 - E5) * a.s2 + p3 * (1.0 - E7) * a.s3 + p4 * a.s4
    return real, side * half


class DualSeries(NamedTuple):
    """Amplitudes with the theta constants in them, and the angles of the third kind.

    The series are those of Jacobi's imaginary transformation, DLMF 20.7.30 to 20.7.33.
    """

    scale1: float
    scale2: float
    scale3: float
    decay: float  # pi / 2K'
    angles: Angles


def dual_series(c: Constants) -> DualSeries:
    """The coefficients for this dual nome."""
    q = c.q
    q2 = q * q
    q4, q6 = q2 * q2, q2 * q2 * q2
    q9, q12, q16 = q4 * q4 * q, q6 * q6, q4 * q4 * q4 * q4
    theta2 = 1.0 + q2 + q6 + q12
    theta3, theta4 = 1.0 + 2.0 * (q + q4 + q9 + q16), 1.0 - 2.0 * (q - q4 + q9 - q16)
    return DualSeries(
        2.0 * c.A * theta2 / theta4,
        c.B * theta3 / theta4,
        2.0 * c.C * theta2 / theta3,
        0.5 * pi / c.Kc,
        angles(c.eta),
    )


def dual_start(c: Constants, d: DualSeries) -> tuple[float, float]:
    """The theta function of the third kind at the start."""
    return _third_kind(d.angles, c.q, exp(-d.decay * abs(c.u0)), copysign(1.0, c.u0))


def dual(c: Constants, d: DualSeries, start: tuple[float, float], t: float) -> tuple[float, float, Vec3]:
    """cos and sin of chi / 2 up to a common factor, and y, at the scaled time t."""
    if c.K > 0.0:
        n, f = turns(t, c.rate_high, c.rate_low)
        m = nearest(f + 0.5 * c.u0 / c.K)
        n, v = n + m, f - m
        u = c.u0 + v * (2.0 * c.K)
    else:
        n, v, u = 0.0, 0.0, c.u0 + t * (c.s * c.lam)
    flip, side, q = parity(n), copysign(1.0, u), c.q
    E = exp(-d.decay * abs(u))
    E2 = E * E
    F2 = q / max(E, 1e-200) / max(E, 1e-200)  # at most 1
    qF, qE, q2 = q * F2, q * E2, q * q
    q4, E6, E10 = q2 * q2, E2 * E2 * E2, E2 * E2 * E2 * E2 * E2
    a2 = qF * qF * q2
    a3 = a2 * qF * q4
    theta2 = (1.0 + E2) + qF * (1.0 + E6) + a2 * (1.0 + E10) + a3
    theta1 = (1.0 - E2) - qF * (1.0 - E6) + a2 * (1.0 - E10) - a3
    b2, b3, b4 = (F2 * F2 + qE * qE) * q2, F2 * F2 * F2 * (q4 * q2), F2 * F2 * F2 * F2 * (q4 * q4 * q4)
    theta3 = 1.0 + F2 + qE + b2 + b3 + b4
    theta4 = (1.0 - F2) - qE + b2 - b3 + b4
    over = 1.0 / theta2
    decayed = E * over
    y = (flip * d.scale1 * theta4 * decayed, flip * side * d.scale2 * theta1 * over, d.scale3 * theta3 * decayed)
    _, f = turns(t, c.turn_high, c.turn_low)
    zc, zs = _phasor(f + c.jump * v, start, _third_kind(d.angles, q, E, side))
    return zc, zs, y


# --- what both share -----------------------------------------------------------------------------------------------


def nearest(x: float) -> float:
    """Rounds to the nearest integer for |x| < 2**51; beyond, the result is finite and has no meaning."""
    return (x + ROUND) - ROUND


def turns(t: float, high: float, low: float) -> tuple[float, float]:
    """Splits t (high + low) into an integer and a fraction, for less than 2^76 turns.

    Beyond 2^51 turns the integer lacks a multiple of 2^26, which no caller sees: it is even.
    """
    x, e = two_product(t, high)
    if abs(x) < 2.0**51:
        n = nearest(x)
        return n, (x - n) + (e + t * low)
    x = x - 2.0**26 * nearest(2.0**-26 * x)
    y, d = two_product(t, low)
    y, r = dd.two_sum(e, y)
    n, m = nearest(x), nearest(y)
    return n + m, (x - n) + ((y - m) + (r + d))


def sine_cosine(turns: float) -> tuple[float, float]:
    """sin and cos of 2 pi turns, up to a common sign, which a quaternion does not see."""
    sine, versine = sine_versine(2.0 * pi * (turns - nearest(turns)))
    return sine, 1.0 - versine


def parity(n: float) -> float:
    """(-1)^n."""
    return 1.0 - 2.0 * abs(n - 2.0 * nearest(0.5 * n))


def _phasor(turns: float, start: tuple[float, float], now: tuple[float, float]) -> tuple[float, float]:
    """exp(2 pi i turns) start conj(now)."""
    sa, ca = sine_cosine(turns)
    re, im = now[0] * start[0] + now[1] * start[1], now[0] * start[1] - now[1] * start[0]
    return ca * re - sa * im, sa * re + ca * im


def _before(c: Constants) -> Quat:
    """conj(p(y0)), with p(y) = (1 + y3, y2, -y1, 0)."""
    return (1.0 + c.y3, -c.y2, c.y1, 0.0)


def now(zc: float, zs: float, y: Vec3) -> Quat:
    """(zc, 0, 0, zs) p(y). With conj(p(y0)) in front it is the turn since the start, up to a factor."""
    top = 1.0 + y[2]
    return (zc * top, fma(zs, y[0], zc * y[1]), fma(zs, y[1], -(zc * y[0])), zs * top)


# --- programs ------------------------------------------------------------------------------------------------------

FRAME = 27
"""The length of a frame: the scale of rates (1); two quaternions that, multiplied from the left and from the right to
that of `now`, give the attitude of the user's axes up to a factor (8); two matrices that take y to the rate and to the
momentum in the user's axes (18)."""

MOTION = CONSTANTS + FRAME


def set_up_rows(given: Any, motions: Any, count: int) -> int:
    """Computes constants and frames of many motions. The caller multiplies the momentum's matrix by the momentum."""
    for i in range(count):
        g = _load_given(given, GIVEN * i)
        c = set_up((g[0], g[1], g[2]), (g[3], g[4], g[5]))
        _store_constants(motions, MOTION * i, c)
        _store_frame(motions, MOTION * i + CONSTANTS, _frame(c, g))
    return OK


GIVEN = 24
"""The numbers that a motion is set up from: scaled moments (3) and rates (3) about the principal axes, the scale of the
rates (1), the attitude of the user's axes at the start (4), the turn from principal to user's axes as a quaternion (4)
and as a matrix (9)."""
_load_given = tuple_of(GIVEN)
_load_frame = tuple_of(FRAME)
_store_frame = writer_of(FRAME)


def _frame(c: Constants, g: Any) -> Any:
    """The frame of a motion from its constants and from the numbers that it was set up from."""
    e1, e2, e3 = _unlabelled(c, (1.0, 0.0, 0.0)), _unlabelled(c, (0.0, 1.0, 0.0)), _unlabelled(c, (0.0, 0.0, 1.0))
    tilt, labels = (g[11], g[12], g[13], g[14]), quaternion_of_axes(e1, e2, e3)
    y0 = (1.0, 0.0, 0.0, 0.0) if c.kind == STEADY else _before(c)
    left = multiply(multiply(multiply((g[7], g[8], g[9], g[10]), tilt), labels), y0)
    right = multiply(conjugate(labels), conjugate(tilt))
    x, y, z = (g[15], g[16], g[17]), (g[18], g[19], g[20]), (g[21], g[22], g[23])
    r1, r2, r3 = g[6] * c.i1, g[6] * c.i2, g[6] * c.i3
    return (
        g[6], *left, *right,
        r1 * dot(x, e1), r2 * dot(x, e2), r3 * dot(x, e3), r1 * dot(y, e1), r2 * dot(y, e2), r3 * dot(y, e3),
        r1 * dot(z, e1), r2 * dot(z, e2), r3 * dot(z, e3),
        dot(x, e1), dot(x, e2), dot(x, e3), dot(y, e1), dot(y, e2), dot(y, e3), dot(z, e1), dot(z, e2), dot(z, e3),
    )  # fmt: skip


def quaternion_of_axes(x: Vec3, y: Vec3, z: Vec3) -> Quat:
    """A multiple, in whole numbers, of the quaternion of a rotation that only exchanges axes."""
    a, b, c = y[2] - z[1], z[0] - x[2], x[1] - y[0]
    if 1.0 + x[0] + y[1] + z[2] > 0.0:
        return (1.0 + x[0] + y[1] + z[2], a, b, c)
    if 1.0 + x[0] - y[1] - z[2] > 0.0:
        return (a, 1.0 + x[0] - y[1] - z[2], x[1] + y[0], z[0] + x[2])
    if 1.0 - x[0] + y[1] - z[2] > 0.0:
        return (b, x[1] + y[0], 1.0 - x[0] + y[1] - z[2], y[2] + z[1])
    return (c, z[0] + x[2], y[2] + z[1], 1.0 - x[0] - y[1] + z[2])


def evaluate_rows(
    motions: Any, t: Any, quaternion: Any, omega: Any, momentum: Any, t0: float, count: int, times: int
) -> int:
    """Computes attitudes, rates and momenta of many motions, each at all times, in the user's axes."""
    for i in range(count):
        c = Constants(*_load_constants(motions, MOTION * i))
        frame = _load_frame(motions, MOTION * i + CONSTANTS)
        first = i * times
        if c.kind == DIRECT:
            d = direct_series(c)
            angle = pi * c.u0 / c.K
            start = direct_third_kind(d, cos(angle), sin(angle))
            for j in range(times):
                zc, zs, y = direct(c, d, start, scaled_time(t[j] - t0, frame))
                _store(quaternion, omega, momentum, first + j, frame, now(zc, zs, y), y)
        elif c.kind == DUAL:
            e = dual_series(c)
            start = dual_start(c, e)
            for j in range(times):
                zc, zs, y = dual(c, e, start, scaled_time(t[j] - t0, frame))
                _store(quaternion, omega, momentum, first + j, frame, now(zc, zs, y), y)
        else:
            y = (c.y1, c.y2, c.y3)
            w = max(c.precession, 1e-300)
            axis = (y[0] * c.i1 / w, y[1] * c.i2 / w, y[2] * c.i3 / w)
            for j in range(times):
                _, f = turns(scaled_time(t[j] - t0, frame), c.turn_high, c.turn_low)
                s, a = sine_cosine(f)
                _store(quaternion, omega, momentum, first + j, frame, (a, s * axis[0], s * axis[1], s * axis[2]), y)
    return OK


def scaled_time(t: float, frame: Any) -> float:
    """The time in the units of the constants."""
    scaled: float = min(max(t * frame[0], -LONGEST_SCALED_TIME), LONGEST_SCALED_TIME)
    return scaled


def _store(quaternion: Any, omega: Any, momentum: Any, row: int, frame: Any, turn: Quat, y: Vec3) -> None:
    """Writes one state in the user's axes, from the quaternion of `now` and y."""
    left, right = (frame[1], frame[2], frame[3], frame[4]), (frame[5], frame[6], frame[7], frame[8])
    q = multiply(multiply(left, turn), right)
    r = 1.0 / sqrt(norm2(q))
    at = 4 * row
    quaternion[at], quaternion[at + 1], quaternion[at + 2], quaternion[at + 3] = q[0] * r, q[1] * r, q[2] * r, q[3] * r
    at = 3 * row
    omega[at], omega[at + 1], omega[at + 2] = by_rows(frame, 9, y)
    momentum[at], momentum[at + 1], momentum[at + 2] = by_rows(frame, 18, y)


def by_rows(x: Any, k: int, v: Vec3) -> Vec3:
    """The product of a vector with the matrix whose rows follow each other from x[k] on."""
    return (
        fma(x[k + 2], v[2], fma(x[k + 1], v[1], x[k] * v[0])),
        fma(x[k + 5], v[2], fma(x[k + 4], v[1], x[k + 3] * v[0])),
        fma(x[k + 8], v[2], fma(x[k + 7], v[1], x[k + 6] * v[0])),
    )


# --- as a step -----------------------------------------------------------------------------------------------------


def leap(body: Inertia, m: Vec3, h: float) -> tuple[Quat, Vec3]:
    """The turn and the momentum after a time h, in principal axes, for steps too long for short pieces."""
    w = (m[0] * body.inverse[0], m[1] * body.inverse[1], m[2] * body.inverse[2])
    size = max(body.inertia[0], body.inertia[1], body.inertia[2])
    rate = max(abs(w[0]), abs(w[1]), abs(w[2]))
    if rate == 0.0:
        return (1.0, 0.0, 0.0, 0.0), m
    i = (body.inertia[0] / size, body.inertia[1] / size, body.inertia[2] / size)
    c = set_up(i, (w[0] / rate, w[1] / rate, w[2] / rate))
    t = min(max(h * rate, -LONGEST_SCALED_TIME), LONGEST_SCALED_TIME)
    y = (c.y1, c.y2, c.y3)
    if c.kind == STEADY:
        _, f = turns(t, c.turn_high, c.turn_low)
        s, a = sine_cosine(f)
        k = s / max(c.precession, 1e-300)
        turn = (a, k * y[0] * c.i1, k * y[1] * c.i2, k * y[2] * c.i3)
    elif c.kind == DIRECT:
        d = direct_series(c)
        angle = pi * c.u0 / c.K
        zc, zs, y = direct(c, d, direct_third_kind(d, cos(angle), sin(angle)), t)
        turn = multiply(_before(c), now(zc, zs, y))
    else:
        e = dual_series(c)
        zc, zs, y = dual(c, e, dual_start(c, e), t)
        turn = multiply(_before(c), now(zc, zs, y))
    v, u = _unlabelled(c, (turn[1], turn[2], turn[3])), _unlabelled(c, y)
    r, g = 1.0 / sqrt(norm2(turn)), c.G * size * rate
    return (turn[0] * r, v[0] * r, v[1] * r, v[2] * r), (g * u[0], g * u[1], g * u[2])


def _unlabelled(c: Constants, v: Vec3) -> Vec3:
    """Takes a vector from relabelled axes back to the principal axes in their own order."""
    x, y, z = c.sign1 * v[0], c.sign2 * v[1], c.sign3 * v[2]
    return (
        x if c.axis1 == 0.0 else y if c.axis2 == 0.0 else z,
        x if c.axis1 == 1.0 else y if c.axis2 == 1.0 else z,
        x if c.axis1 == 2.0 else y if c.axis2 == 2.0 else z,
    )
