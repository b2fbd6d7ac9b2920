r"""How the free motion changes with what it is given: its Jacobian in closed form, at any time.

Axes are relabelled as in `kernels/free/closed_form.py`; y = I w is the momentum in body axes, L = R y, G = |L|. A
variation of the start is (dw, dI, dO): of the rates, the principal moments, and the elements 23, 31, 12 of the tensor.
With S = d(I^-1), zeta the rotation vector of the change in space axes (R -> exp(zeta) R), and R(0) unchanged,

    zeta = [L x (R(0) dy(0) - R dy) + L a] / G^2,    a = t (w . dy + y . S y / 2)(0) + 1/2 int_0^t y . S y:

the turn about L is the time times the change of the energy, so that no integral of the third kind is differentiated.
What is left is dy. It is a Taylor series for short times, hyperbolic for a steady rotation about the intermediate axis,
and else made of elliptic functions and one integral, D2(u) = int_0^u sn^2 / dn^2. Derivation and measurements:
docs/understand/derivatives.md.
"""

from math import cos, exp, inf, pi, sin, sqrt
from typing import Any, NamedTuple

from polhode.kernels.algebra.quat import conjugate, multiply, norm2, to_space
from polhode.kernels.algebra.trig import sine_versine
from polhode.kernels.algebra.vec import combine, cross, dot, placed, times
from polhode.kernels.codegen import function, tuple_of, writer_of
from polhode.kernels.free import closed_form as form
from polhode.kernels.free.closed_form import CONSTANTS, DIRECT, FRAME, GIVEN, MOTION, STEADY, Constants, scaled_time
from polhode.kernels.free.elliptic_functions import cel
from polhode.kernels.ops import scratch
from polhode.kernels.status import OK
from polhode.kernels.types import Quat, Vec3

VARIATION = 9
"""The numbers of a variation: dw, dI, dO."""

SHORT = 0.5
"""The Taylor series of y is used up to this product of its greatest frequency and the time."""

TERMS = 40
"""The greatest number of terms: the nearest pole of y is at pi times the time or beyond, and pi^-40 is 1e-20."""

LARGEST_EXPONENT = 709.0
"""The exponential of a greater number overflows."""

SMALLEST_NOME = 1e-280
"""A dual nome below this is computed from its logarithm: the motion passes the intermediate axis at 1e-140 rad."""


class JacobianStart(NamedTuple):
    """A motion at its start, in relabelled axes and scaled units."""

    inertia: Vec3
    inverse: Vec3
    w: Vec3
    y: Vec3
    a: Vec3  # dy1/dt = a1 y2 y3, and so on in turn
    G: float


class Elliptic(NamedTuple):
    """Constants of dy in the elliptic case."""

    A: float
    C: float
    e: float  # -a1 / a2
    g: float  # 1 - e = -a3 / a2
    root_e: float
    rate: float  # du/dt
    m: float
    mc: float
    sn: float  # at the start
    cn: float
    dn: float
    B_K: float  # DIRECT: B / K and D / K; DUAL: B' / K' and E' / K'
    D_K: float
    twice_B: float  # DUAL: the growth of D2 and of int sn^2 over a half period
    twice_D: float
    over: float  # q / m, or q' / m' if DUAL
    D2: float  # dn(u0) D2(u0)
    sn2: float  # the integral of sn^2 to u0


class Change(NamedTuple):
    """A variation: what it changes at the start, and what that makes of the constants in the elliptic case."""

    dw1: float
    dw2: float
    dw3: float
    dy1: float
    dy2: float
    dy3: float
    s1: float  # S = d(I^-1)
    s2: float
    s3: float
    s23: float
    s31: float
    s12: float
    energy: float  # w . dy + y . S y / 2 at the start: the change of the kinetic energy
    begin1: float  # dy at the start, in space axes
    begin2: float
    begin3: float
    dA: float
    dC: float
    dm: float
    phase: float  # A times the change of the argument u: at the start, per unit of time, per unit of `Now.D2`
    phase_t: float
    phase_D2: float
    half_e: float  # de / 2e
    turn1: float  # s23 / a1, s31 / a2, s12 / a2
    turn2: float
    turn3: float


class Now(NamedTuple):
    """What all variations share at one time."""

    t: float
    y: Vec3
    sn: float
    cn: float
    dn: float
    over: float  # 1 / dn
    D2: float  # dn(u0) dn(u) (D2(u) - D2(u0)), which does not overflow where D2 does
    squares: Vec3  # int y1^2, y2^2, y3^2
    products: Vec3  # int y2 y3, y3 y1, y1 y2
    twist: Vec3  # dy by an element 12 of I^-1, times a2


CHANGE = len(Change._fields)
_load_change = tuple_of(CHANGE)
_store_change = writer_of(CHANGE)
_load_variation = tuple_of(VARIATION)
_load_given = tuple_of(GIVEN)
_load_constants = tuple_of(CONSTANTS)
_load_frame = tuple_of(FRAME)

BLOCK = 32
"""The times that are computed together: what they share stays in the processor's fastest memory."""
SHARED = 27
"""The numbers of `Now`, and a matrix."""
_lines = [f"x[{BLOCK * k} + r] = v[{k}]" for k in range(SHARED)]
_store_shared: Any = function("store(x, r, v)", _lines, {})
_store_six: Any = function("store(x, r, v)", _lines[:6], {})
_load_shared: Any = function("load(x, r)", [f"return ({', '.join(f'x[{BLOCK * k} + r]' for k in range(SHARED))})"], {})
_store_column: Any = function(
    "store(out, k, stride, x, r)", [f"out[k + {i} * stride] = number(x[{BLOCK * i} + r])" for i in range(6)],
    {"number": lambda x: inf if x != x else x},
)  # fmt: skip
_store_turn: Any = function(
    "store(out, k, stride)", [f"out[k + {i} * stride + {j}] = {float(i == j)}" for i in range(6) for j in range(3)], {}
)


def jacobian_rows(
    motions: Any, given: Any, variations: Any, t: Any, columns: Any, work: Any, out: Any, t0: float, count: int,
    times: int, width: int, stride: int, attitude: int,
) -> int:  # fmt: skip
    """Computes the change of rotation vectors (space axes) and rates (user's axes) with each of `width` variations.

    `work` has room for the changes of one motion. `out` has the shape (motions, times, 6, stride), and `columns` says
    which of its columns belong to the variations. From column `attitude` on, unless it is negative, are those of a turn
    of the start in space, which do not change.
    """
    for i in range(count):
        c = Constants(*_load_constants(motions, MOTION * i))
        frame = _load_frame(motions, MOTION * i + CONSTANTS)
        x = _start(c, _load_given(given, GIVEN * i))
        moves = c.kind != STEADY
        series = _series(c)
        e = _elliptic(c, x) if moves else _no_elliptic()
        shared, found = scratch(SHARED * BLOCK), scratch(6 * BLOCK)
        frequency, rate = _frequency(x, moves), sqrt(dot(x.w, x.w))
        left, right = (frame[1], frame[2], frame[3], frame[4]), (frame[5], frame[6], frame[7], frame[8])
        begin = _unit(multiply(left, _turn(c, series, x, 0.0)[0]))
        to_user = _columns(_unit(conjugate(right)), frame[0])
        L = to_space(begin, x.y)
        for k in range(width):
            variation = _load_variation(variations, VARIATION * (width * i + k))
            _store_change(work, CHANGE * k, _change(e, x, begin, moves, variation))
        for first in range(0, times, BLOCK):
            size, at = min(BLOCK, times - first), (i * times + first) * 6 * stride
            if moves:  # in loops over times, of which a processor makes several at once
                if c.kind == DIRECT:
                    for r in range(size):
                        s = scaled_time(t[first + r] - t0, frame)
                        _keep(shared, r, c, e, x, L, left, s, _turn(c, series, x, s), True)
                else:
                    for r in range(size):
                        s = scaled_time(t[first + r] - t0, frame)
                        _keep(shared, r, c, e, x, L, left, s, _turn(c, series, x, s), False)
                for k in range(width):
                    v = Change(*_load_change(work, CHANGE * k))
                    if max(abs(v.s1), abs(v.s2), abs(v.s3), abs(v.s23), abs(v.s31), abs(v.s12)) > 0.0:
                        for r in range(size):
                            _store_six(found, r, _moved(e, v, x, L, to_user, shared, r, True))
                    else:
                        for r in range(size):
                            _store_six(found, r, _moved(e, v, x, L, to_user, shared, r, False))
                    for r in range(size):
                        _store_column(out, at + r * 6 * stride + int(columns[k]), stride, found, r)
            if attitude >= 0:
                for r in range(size):
                    _store_turn(out, at + r * 6 * stride + attitude, stride)
            for r in range(size):
                s = scaled_time(t[first + r] - t0, frame)
                if not moves or frequency * abs(s) <= SHORT:
                    turn, _ = _turn(c, series, x, s)
                    q = _unit(multiply(left, turn))
                    for k in range(width):
                        v = Change(*_load_change(work, CHANGE * k))
                        _store_six(found, 0, _moved_otherwise(x, v, s, q, L, to_user, frequency, rate))
                        _store_column(out, at + r * 6 * stride + int(columns[k]), stride, found, 0)
    return OK


# --- blocks of times -----------------------------------------------------------------------------------------------


def _keep(
    shared: Any, r: int, c: Constants, e: Elliptic, x: JacobianStart, L: Vec3, left: Quat, s: float,
    turned: tuple[Quat, Vec3], direct: bool,
) -> None:  # fmt: skip
    """Keeps what all variations share at time r of a block, and [L x] R / G^2."""
    turn, y = turned
    now = _now(c, e, x, s, y, direct)
    R = _columns(_unit(multiply(left, turn)), 1.0 / (x.G * x.G))
    _store_shared(
        shared, r, (now.t, *now.y, now.sn, now.cn, now.dn, now.over, now.D2, *now.squares, *now.products, *now.twist,
                    *cross(L, R[0]), *cross(L, R[1]), *cross(L, R[2])),
    )  # fmt: skip


def _moved(
    e: Elliptic, v: Change, x: JacobianStart, L: Vec3, to_user: tuple[Vec3, Vec3, Vec3], shared: Any, r: int,
    of_body: bool,
) -> tuple[float, ...]:  # fmt: skip
    """The change of rotation vector and rate at time r of a block; unless `of_body`, the variation is of rates only."""
    k = _load_shared(shared, r)
    now = Now(k[0], (k[1], k[2], k[3]), k[4], k[5], k[6], k[7], k[8], (k[9], k[10], k[11]), (k[12], k[13], k[14]),
              (k[15], k[16], k[17]))  # fmt: skip
    dy, g = _by_elliptic(e, v, now, of_body), 1.0 / (x.G * x.G)
    begin = cross(L, (g * v.begin1, g * v.begin2, g * v.begin3))
    along, dw = now.t * v.energy, times(dy, x.inverse)
    if of_body:
        along, dw = along + _area(v, now), _rate_change(x, v, dy, now.y)
    along = g * along
    z = combine(begin, along, L)
    a, b, d = dy
    return (
        z[0] - (a * k[18] + b * k[21] + d * k[24]), z[1] - (a * k[19] + b * k[22] + d * k[25]),
        z[2] - (a * k[20] + b * k[23] + d * k[26]), *_applied(to_user, dw),
    )  # fmt: skip


def _moved_otherwise(
    x: JacobianStart, v: Change, s: float, q: Quat, L: Vec3, to_user: tuple[Vec3, Vec3, Vec3],
    frequency: float, rate: float,
) -> tuple[float, ...]:  # fmt: skip
    """The same without elliptic functions: for short times, and of steady rotations."""
    now = _steady_now(x, s)
    is_slight = rate * abs(s) <= SHORT
    if frequency * abs(s) <= SHORT:
        dy, dw, area, eta = _by_series(x, v, s, frequency, rate if is_slight else 0.0)
        if is_slight:
            return (*to_space(q, eta), *_applied(to_user, dw))
    else:
        dy = _by_hyperbolic(x, v, s)
        dw, area = _rate_change(x, v, dy, now.y), _area(v, now)
    end, along, g = to_space(q, dy), s * v.energy + area, 1.0 / (x.G * x.G)
    z = cross(L, (v.begin1 - end[0], v.begin2 - end[1], v.begin3 - end[2]))
    return (*times(combine(z, along, L), (g, g, g)), *_applied(to_user, dw))


def _columns(q: Quat, size: float) -> tuple[Vec3, Vec3, Vec3]:
    """The matrix of a rotation times a number, column by column."""
    return (to_space(q, (size, 0.0, 0.0)), to_space(q, (0.0, size, 0.0)), to_space(q, (0.0, 0.0, size)))


def _applied(columns: tuple[Vec3, Vec3, Vec3], v: Vec3) -> Vec3:
    a, b, c = columns
    return combine(combine(times(a, (v[0], v[0], v[0])), v[1], b), v[2], c)


# --- the motion ----------------------------------------------------------------------------------------------------


def _start(c: Constants, g: Any) -> JacobianStart:
    """Takes moments and rates from principal axes in their own order to relabelled ones."""
    i, j, k = int(c.axis1), int(c.axis2), int(c.axis3)
    I1, I2, I3 = g[i], g[j], g[k]
    w = (c.sign1 * g[3 + i], c.sign2 * g[3 + j], c.sign3 * g[3 + k])
    a = ((I2 - I3) / (I2 * I3), (I3 - I1) / (I3 * I1), (I1 - I2) / (I1 * I2))
    y = (I1 * w[0], I2 * w[1], I3 * w[2])
    return JacobianStart((I1, I2, I3), (1.0 / I1, 1.0 / I2, 1.0 / I3), w, y, a, c.G)


def _frequency(x: JacobianStart, moves: bool) -> float:
    """The frequency lam of y; of a steady rotation, the rate at which deviations from it grow."""
    a1, a2, a3 = x.a
    s1, s2, s3 = x.y[0] * x.y[0], x.y[1] * x.y[1], x.y[2] * x.y[2]
    if moves:
        return sqrt(max(a1 * (a3 * s2 - a2 * s3), a3 * (a1 * s2 - a2 * s1), 0.0))
    return sqrt(max(a2 * a3 * s1, a3 * a1 * s2, a1 * a2 * s3, 0.0))


def _unit(q: Quat) -> Quat:
    r = 1.0 / sqrt(norm2(q))
    return (q[0] * r, q[1] * r, q[2] * r, q[3] * r)


class Series(NamedTuple):
    """The series of both kinds, of which a motion uses one, and its theta function of the third kind at the start."""

    direct: form.DirectSeries
    dual: form.DualSeries
    start: tuple[float, float]


def _series(c: Constants) -> Series:
    direct = form.direct_series(c)
    dual = form.DualSeries(0.0, 0.0, 0.0, 0.0, form.angles(0.0))
    start = (1.0, 0.0)
    if c.kind == DIRECT:
        angle = pi * c.u0 / c.K
        start = form.direct_third_kind(direct, cos(angle), sin(angle))
    elif c.kind != STEADY:
        dual = form.dual_series(c)
        start = form.dual_start(c, dual)
    return Series(direct, dual, start)


def _turn(c: Constants, series: Series, x: JacobianStart, s: float) -> tuple[Quat, Vec3]:
    """The quaternion that follows the left one of the frame, up to a factor, and y / G."""
    if c.kind == STEADY:
        _, f = form.turns(s, c.turn_high, c.turn_low)
        sine, cosine = form.sine_cosine(f)
        r = sine / max(c.precession, 1e-300)
        return (cosine, r * x.w[0], r * x.w[1], r * x.w[2]), (c.y1, c.y2, c.y3)
    if c.kind == DIRECT:
        zc, zs, y = form.direct(c, series.direct, series.start, s)
    else:
        zc, zs, y = form.dual(c, series.dual, series.start, s)
    return form.now(zc, zs, y), y


# --- variations of the start ---------------------------------------------------------------------------------------


def _change(e: Elliptic, x: JacobianStart, begin: Quat, moves: bool, v: Any) -> Change:
    """What a variation changes."""
    i1, i2, i3 = x.inverse
    w1, w2, w3 = x.w
    y1, y2, y3 = x.y
    dI1, dI2, dI3, O23, O31, O12 = v[3], v[4], v[5], v[6], v[7], v[8]
    dy1 = x.inertia[0] * v[0] + dI1 * w1 + O12 * w2 + O31 * w3
    dy2 = x.inertia[1] * v[1] + dI2 * w2 + O23 * w3 + O12 * w1
    dy3 = x.inertia[2] * v[2] + dI3 * w3 + O31 * w1 + O23 * w2
    s1, s2, s3 = -i1 * i1 * dI1, -i2 * i2 * dI2, -i3 * i3 * dI3
    s23, s31, s12 = -i2 * i3 * O23, -i3 * i1 * O31, -i1 * i2 * O12
    squares = 0.5 * (s1 * y1 * y1 + s2 * y2 * y2 + s3 * y3 * y3)
    energy = w1 * dy1 + w2 * dy2 + w3 * dy3 + squares + s23 * y2 * y3 + s31 * y3 * y1 + s12 * y1 * y2
    b = to_space(begin, (dy1, dy2, dy3))
    dA, dC, dm, phase, phase_t, phase_D2, half_e, turn1, turn2, turn3 = (0.0,) * 10
    if moves:
        a1, a2, _ = x.a
        A, C, g = e.A, e.C, e.g
        # An element 23 or 31 turns the principal axes about n by -s / a_n: dy = M (dy + s n x y / a_n) - s n x y / a_n.
        turn1, turn2, turn3 = s23 / a1, s31 / a2, s12 / a2
        v1, v2, v3 = dy1 + turn2 * y3, dy2 - turn1 * y3, dy3 + turn1 * y2 - turn2 * y1
        de = (e.e * i1 * i1 * dI1 - i2 * i2 * dI2 + g * i3 * i3 * dI3) / a2
        half_e = 0.5 * de / e.e
        dA = e.cn * v1 + e.sn * e.root_e * v2 + A * e.sn * e.sn * half_e
        dC = e.dn * v3 + g * y2 / C * v2 - 0.5 * y2 * y2 / C * de
        phase = (e.cn * e.root_e * v2 - e.sn * v1 + A * e.cn * e.sn * half_e) / e.dn
        mg = A * A / (e.e * C * C)  # m / g
        if g * mg < 0.5:
            dm = -mg / e.e * de + 2.0 * g / e.e * A / (C * C) * dA - 2.0 * g * mg / C * dC
        else:  # from 1 - m = (y3^2 - (g / e) y1^2) / C^2, which does not cancel here
            dm = -2.0 * (y3 * v3 - g / e.e * y1 * v1) / (C * C) + 2.0 * e.mc * dC / C - (y1 / (e.e * C)) ** 2 * de
        phase_t = A * e.rate * ((i3 * i3 * dI3 - i1 * i1 * dI1) / a2 + half_e + dC / C)
        phase_D2 = 0.5 * A * dm / e.dn
    return Change(
        v[0], v[1], v[2], dy1, dy2, dy3, s1, s2, s3, s23, s31, s12, energy, b[0], b[1], b[2],
        dA, dC, dm, phase, phase_t, phase_D2, half_e, turn1, turn2, turn3,
    )  # fmt: skip


def _rate_change(x: JacobianStart, v: Change, dy: Vec3, y: Vec3) -> Vec3:
    """dw = I^-1 dy + S y."""
    return (
        x.inverse[0] * dy[0] + v.s1 * y[0] + v.s12 * y[1] + v.s31 * y[2],
        x.inverse[1] * dy[1] + v.s12 * y[0] + v.s2 * y[1] + v.s23 * y[2],
        x.inverse[2] * dy[2] + v.s31 * y[0] + v.s23 * y[1] + v.s3 * y[2],
    )


def _area(v: Change, now: Now) -> float:
    """The integral of y . S y / 2."""
    squares = 0.5 * (v.s1 * now.squares[0] + v.s2 * now.squares[1] + v.s3 * now.squares[2])
    return squares + v.s23 * now.products[0] + v.s31 * now.products[1] + v.s12 * now.products[2]


# --- elliptic ------------------------------------------------------------------------------------------------------


def _no_elliptic() -> Elliptic:
    return Elliptic(*(0.0,) * 18)


def _elliptic(c: Constants, x: JacobianStart) -> Elliptic:
    """The constants; B and D are the integrals of cos^2 and sin^2 over sqrt(1 - m sin^2) to pi/2."""
    a1, a2, a3 = x.a
    A, C, e, g = c.A * c.G, c.C * c.G, -a1 / a2, -a3 / a2
    root_e = sqrt(e)
    cn, sn, dn = (x.y[0] / A, root_e * x.y[1] / A, x.y[2] / C) if A > 0.0 else (1.0, 0.0, 1.0)
    m, mc = c.k * c.k, c.kc * c.kc
    B, D = (cel(c.kc, 1.0, 1.0, 0.0), cel(c.kc, 1.0, 0.0, 1.0)) if c.kc > 0.0 else (0.0, 0.0)
    if c.kind == DIRECT:
        B_K, D_K, over = B / c.K, D / c.K, _nome_over_parameter(m, c.kc)
    else:
        B_K, D_K = cel(c.k, 1.0, 1.0, 0.0) / c.Kc, 1.0 - mc * cel(c.k, 1.0, 0.0, 1.0) / c.Kc
        over = _nome_over_parameter(mc, c.k)
    made = Elliptic(A, C, e, g, root_e, c.s * c.lam, m, mc, sn, cn, dn, B_K, D_K, 2.0 * B, 2.0 * D, over, 0.0, 0.0)
    D2, sn2 = _integrals(c, made, c.u0, dn, True) if c.kind == DIRECT else _integrals(c, made, c.u0, dn, False)
    return Elliptic(A, C, e, g, root_e, c.s * c.lam, m, mc, sn, cn, dn, B_K, D_K, 2.0 * B, 2.0 * D, over, D2, sn2)


def _nome_over_parameter(m: float, kc: float) -> float:
    """q / m without cancellation, DLMF 22.2(i) and 19.5.5: 1/16 at m = 0."""
    r = 1.0 + sqrt(kc)
    e = 0.5 / ((1.0 + kc) * r * r)
    e4 = (e * m) ** 4
    return e * (1.0 + e4 * (2.0 + e4 * (15.0 + e4 * 150.0)))


def _integrals(c: Constants, e: Elliptic, u: float, dn: float, direct: bool) -> tuple[float, float]:
    """dn times the integral of sn^2 / dn^2, and that of sn^2, from 0 to u, |u| <= K; if direct their periodic parts.

    Logarithmic derivatives of theta functions, DLMF 22.16(ii), with q / m (q' / m' if DUAL) taken out as one number.
    """
    q = c.q
    q2 = q * q
    q3, q8, q15 = q2 * q, q2 * q2 * q2 * q2, q2 * q2 * q2 * q2 * q2 * q2 * q2 * q
    if direct:
        h = 0.5 * pi / c.K
        sine, versine = sine_versine(min(max(h * u, -form.RIGHT_ANGLE), form.RIGHT_ANGLE))
        s1, c1 = 2.0 * sine * (1.0 - versine), 1.0 - 2.0 * sine * sine
        s2, c2 = 2.0 * s1 * c1, 1.0 - 2.0 * s1 * s1
        s3, c3 = s2 * c1 + c2 * s1, c2 * c1 - s2 * s1
        s4, c4 = 2.0 * s2 * c2, 1.0 - 2.0 * s2 * s2
        even, odd = 1.0 + 2.0 * (q3 * c2 + q15 * c4) * q, 2.0 * (c1 + q8 * c3) * q
        even_slope, odd_slope = 2.0 * q3 * s2 + 4.0 * q15 * s4, s1 + 3.0 * q8 * s3
        factor = 4.0 * e.over * h
        third, fourth = (even_slope + odd_slope) / (even + odd), (even_slope - odd_slope) / (even - odd)
        return -dn * factor * third / e.mc, factor * fourth
    h = 0.5 * pi / c.Kc
    side, z = (1.0, h * u) if u >= 0.0 else (-1.0, -h * u)
    E = exp(-2.0 * z) if z < 350.0 else 0.0
    F = min(q / max(E, 1e-300), 1.0) if q > SMALLEST_NOME else _far_nome(c, u)  # q' e^(2z)
    F2, F3, F4 = F * F, F * F * F, F * F * F * F
    E2, E3, E4 = E * E, E * E * E, E * E * E * E
    q4, q6, q9, q12, q16 = q2 * q2, q3 * q3, q8 * q, q3 * q3 * q3 * q3, q8 * q8
    # Theta = 1 + sum q^(n^2) (e^(2nz) + e^(-2nz)), its slope over q' / m' and, as one factor, e^(2z)
    theta = 1.0 + F + q * E + q2 * F2 + q4 * E2 + q6 * F3 + q9 * E3 + q12 * F4 + q16 * E4
    slope = 1.0 - E2 + 2.0 * (q2 * F - q3 * E3) + 3.0 * (q6 * F2 - q8 * E4) + 4.0 * (q12 * F3 - q15 * E4 * E)
    grown = dn * exp(z) * exp(z) if z < LARGEST_EXPONENT else inf
    D2 = (2.0 * e.over * h * slope / theta * grown - e.B_K * (side * u) * dn) / e.m
    num = (1.0 - E) + 3.0 * (F * q - q2 * E2) + 5.0 * (F2 * q4 - q6 * E3) + 7.0 * (F3 * q9 - q12 * E4) + 9.0 * F4 * q16
    den = (1.0 + E) + (F * q + q2 * E2) + (F2 * q4 + q6 * E3) + (F3 * q9 + q12 * E4) + F4 * q16
    return side * D2, side * ((side * u) * e.D_K - h * num / den) / e.m


def _far_nome(c: Constants, u: float) -> float:
    """q' e^(2z) where q' is below the range of floats: it matters next to the quarter period only."""
    return exp(max(pi / c.Kc * (abs(u) - c.K), -700.0)) if c.K > 0.0 else 0.0


def _steady_now(x: JacobianStart, s: float) -> Now:
    """A steady rotation: y does not change."""
    y1, y2, y3 = x.y
    squares, products = (y1 * y1 * s, y2 * y2 * s, y3 * y3 * s), (y2 * y3 * s, y3 * y1 * s, y1 * y2 * s)
    return Now(s, x.y, 0.0, 1.0, 1.0, 1.0, 0.0, squares, products, (0.0, 0.0, 0.0))


def _now(c: Constants, e: Elliptic, x: JacobianStart, s: float, y: Vec3, direct: bool) -> Now:
    """What all variations share at the time s, at which the momentum is G y."""
    A, C, g, a2 = e.A, e.C, e.g, x.a[1]
    halves, u = 0.0, c.u0 + s * e.rate
    if c.K > 0.0:
        n, f = form.turns(s, c.rate_high, c.rate_low)
        m = form.nearest(f + 0.5 * c.u0 / c.K)
        halves, u = n + m, c.u0 + (f - m) * (2.0 * c.K)
    dn = y[2] / c.C
    if A > 0.0:
        cn, sn = y[0] / c.A, y[1] / c.B
    else:
        sine, versine = sine_versine(min(max(u, -form.RIGHT_ANGLE), form.RIGHT_ANGLE))
        cn, sn = form.parity(halves) * (1.0 - versine), form.parity(halves) * sine
    if not direct and c.q <= SMALLEST_NOME and abs(u) > 20.0:
        F, E = _far_nome(c, u), exp(-min(abs(u) * 0.5 * pi / c.Kc, 740.0))
        cn, dn = form.parity(halves) * 2.0 * E * (1.0 - F), 2.0 * E * (1.0 + F)
    D2, sn2 = _integrals(c, e, u, dn, direct)
    D2, sn2 = e.dn * D2 - dn * e.D2, sn2 - e.sn2
    if direct:
        D2, sn2 = D2 + e.dn * dn * e.B_K * e.rate * s / e.mc, sn2 + e.D_K * e.rate * s
    elif halves != 0.0:
        if abs(s * c.rate_high) >= 2.0**51:  # `turns` does not count so far
            halves = s * c.rate_high
        D2, sn2 = D2 + e.dn / c.kc * (dn / c.kc) * halves * e.twice_B, sn2 + halves * e.twice_D
    y1, y2, y3 = c.G * y[0], c.G * y[1], c.G * y[2]
    square2 = A * A / (e.e * e.rate) * sn2
    squares = (A * A * s - e.e * square2, square2, C * C * s - g * square2)
    mg = A * A / (e.e * C * C)  # m / g
    gap, over_sum = (sn - e.sn, (sn + e.sn) / (dn + e.dn))  # whose product is (sn^2 - sn(u0)^2) / (dn + dn(u0))
    if sn * sn + e.sn * e.sn >= 1.0:
        gap, over_sum = (e.cn - cn, (e.cn + cn) / (dn + e.dn))
    products = ((y1 - x.y[0]) / x.a[0], (y2 - x.y[1]) / a2, C * mg * gap * over_sum / a2)
    # The element 12 of I^-1 turns the principal axes about axis 3, with g divided out by hand: g may be zero.
    y12 = x.y[0] * x.y[1] / (C * C)
    if g * mg < 0.5:
        dm = -2.0 * g / e.e * (A / C) * (A / C) * (e.cn * e.sn / e.root_e + y12)
    else:
        dm = (2.0 * e.mc - 2.0 / e.e) * y12
    slip = dn * s * e.rate * y12 - 0.5 * D2 * (dm / e.dn)
    fall = mg * (gap / e.dn) * over_sum + e.cn * (e.cn / e.dn) * dn
    phase = dn * A / e.root_e * (1.0 - g * e.cn * e.cn) / e.dn + g * A * slip
    over = 1.0 / max(dn, 1e-300)
    twist = (
        A / e.root_e * (e.cn * e.sn * cn - sn * fall) + sn * A * slip,
        A / e.e * (cn * (fall - 1.0) + e.cn * e.sn * sn) - cn * A * slip / e.root_e,
        0.5 * C * sn * sn * dm * over - dn * C * y12 + A * sn * (cn * over) * phase / (e.e * C),
    )
    return Now(s, (y1, y2, y3), sn, cn, dn, over, D2, squares, products, twist)


def _by_elliptic(e: Elliptic, v: Change, now: Now, of_body: bool) -> Vec3:
    """dy from the changes of amplitudes, modulus and argument of the elliptic functions, and of axes, if `of_body`."""
    sn, cn, dn, over, (y1, y2, y3) = now.sn, now.cn, now.dn, now.over, now.y
    inverse, ratio = 1.0 / e.root_e, e.g * e.A / (e.e * e.C)
    phase = dn * (v.phase + now.t * v.phase_t) - v.phase_D2 * now.D2  # dn A du
    d1, d2 = cn * v.dA - sn * phase, inverse * (sn * v.dA + cn * phase)
    d3 = dn * v.dC - sn * over * (0.5 * e.C * v.dm * sn + ratio * cn * phase)
    if of_body:
        d1 += v.turn3 * now.twist[0] - v.turn2 * y3
        d2 += v.turn3 * now.twist[1] - y2 * v.half_e + v.turn1 * y3
        d3 += v.turn3 * now.twist[2] - v.turn1 * y2 + v.turn2 * y1
    return d1, d2, d3


# --- without elliptic functions ------------------------------------------------------------------------------------


def _by_hyperbolic(x: JacobianStart, v: Change, s: float) -> Vec3:
    """dy of a steady rotation about the intermediate axis j: dy_k' = a_k y_j dy_l + r_k, with r = y x S y."""
    y = (abs(x.y[0]), abs(x.y[1]), abs(x.y[2]))
    j = 0 if y[0] > max(y[1], y[2]) else 1 if y[1] > y[2] else 2
    k, m = (j + 1) % 3, (j + 2) % 3
    r = cross(x.y, _rate_change(x, v, (0.0, 0.0, 0.0), x.y))
    dy = (v.dy1, v.dy2, v.dy3)
    ak, am = x.a[k] * x.y[j], x.a[m] * x.y[j]
    growth = sqrt(ak * am)
    z = growth * abs(s)
    ch, sh = 0.5 * (exp(z) + exp(-z)) if z < LARGEST_EXPONENT else inf, inf
    if z < LARGEST_EXPONENT:
        sh = 0.5 * (exp(z) - exp(-z)) / growth * (1.0 if s > 0.0 else -1.0)
    versed = sh * (sh / (1.0 + ch)) if z < LARGEST_EXPONENT else inf  # (cosh - 1) / growth^2
    return placed(
        j,
        dy[j] + s * r[j],
        ch * dy[k] + ak * sh * dy[m] + sh * r[k] + ak * versed * r[m],
        ch * dy[m] + am * sh * dy[k] + sh * r[m] + am * versed * r[k],
    )


def _by_series(
    x: JacobianStart, v: Change, s: float, frequency: float, rate: float
) -> tuple[Vec3, Vec3, float, Vec3]:  # fmt: skip
    """dy, dw, the integral of y . S y / 2, and the rotation vector in body axes, by Taylor series in the time.

    The last is computed if `rate`, the size of w, is given. A term of order n is kept with its power of the time in it.
    """
    size = max(frequency, rate) * abs(s)
    terms = TERMS if size > 0.25 else 28 if size > 0.05 else 14 if size > 1e-3 else 8
    a1, a2, a3 = x.a
    i1, i2, i3 = x.inverse
    Y, D, H = scratch(120), scratch(120), scratch(120)  # 3 TERMS
    Y[0], Y[1], Y[2] = x.y
    D[0], D[1], D[2] = v.dy1, v.dy2, v.dy3
    H[0], H[1], H[2] = 0.0, 0.0, 0.0
    rises, steps, eta, area = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0
    for n in range(terms - 1):
        p11, p22, p33, p23, p31, p12 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        d1, d2, d3, h1, h2, h3 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(n + 1):
            m = 3 * (n - k)
            f1, f2, f3 = Y[3 * k], Y[3 * k + 1], Y[3 * k + 2]
            g1, g2, g3 = Y[m], Y[m + 1], Y[m + 2]
            p11, p22, p33 = p11 + f1 * g1, p22 + f2 * g2, p33 + f3 * g3
            p23, p31, p12 = p23 + f2 * g3, p31 + f3 * g1, p12 + f1 * g2
            b1, b2, b3 = D[3 * k], D[3 * k + 1], D[3 * k + 2]
            d1, d2, d3 = d1 + b2 * g3 + b3 * g2, d2 + b3 * g1 + b1 * g3, d3 + b1 * g2 + b2 * g1
            if rate > 0.0:
                turn = cross((i1 * f1, i2 * f2, i3 * f3), (H[m], H[m + 1], H[m + 2]))
                h1, h2, h3 = h1 + turn[0], h2 + turn[1], h3 + turn[2]
        r = s / (n + 1.0)
        area += r * (0.5 * (v.s1 * p11 + v.s2 * p22 + v.s3 * p33) + v.s23 * p23 + v.s31 * p31 + v.s12 * p12)
        # y x S y
        d1 = a1 * d1 + (v.s3 - v.s2) * p23 + v.s23 * (p22 - p33) + v.s31 * p12 - v.s12 * p31
        d2 = a2 * d2 + (v.s1 - v.s3) * p31 + v.s31 * (p33 - p11) + v.s12 * p23 - v.s23 * p12
        d3 = a3 * d3 + (v.s2 - v.s1) * p12 + v.s12 * (p11 - p22) + v.s23 * p31 - v.s31 * p23
        dw = (v.dw1, v.dw2, v.dw3)
        if n > 0:
            m = 3 * n
            dw = _rate_change(x, v, (D[m], D[m + 1], D[m + 2]), (Y[m], Y[m + 1], Y[m + 2]))
        m = 3 * (n + 1)
        Y[m], Y[m + 1], Y[m + 2] = r * a1 * p23, r * a2 * p31, r * a3 * p12
        D[m], D[m + 1], D[m + 2] = r * d1, r * d2, r * d3
        H[m], H[m + 1], H[m + 2] = r * (dw[0] - h1), r * (dw[1] - h2), r * (dw[2] - h3)
        rises = (rises[0] + Y[m], rises[1] + Y[m + 1], rises[2] + Y[m + 2])
        steps = (steps[0] + D[m], steps[1] + D[m + 1], steps[2] + D[m + 2])
        eta = (eta[0] + H[m], eta[1] + H[m + 1], eta[2] + H[m + 2])
    gained = _rate_change(x, v, steps, rises)
    dy = (v.dy1 + steps[0], v.dy2 + steps[1], v.dy3 + steps[2])
    return dy, (v.dw1 + gained[0], v.dw2 + gained[1], v.dw3 + gained[2]), area, eta
