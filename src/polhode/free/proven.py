"""Proven states of the free body: rates and attitudes as balls that contain the exact values.

The tensor, the rate, the attitude and the times that a motion was given are floats; they are taken at their exact
values. Whatever is rational in them is computed exactly, so that the kind of the motion is decided and not guessed.
Roots, elliptic integrals and theta functions come from Arb (python-flint), which encloses them. The formulas and their
proof are in docs/understand/free_motion.md, "Proven answers".
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import acb, arb, ctx, fmpq, fmpz_mat

from polhode.support.arrays import Floats

if TYPE_CHECKING:
    from polhode.free.free_motion import FreeState

FIRST_BITS = 128
"""The precision of the first attempt, without the bits that the number of radians takes."""

MOST_BITS = 1 << 16
"""The precision at which a proof is given up, without the bits that the number of radians takes."""

GOAL = 2.0**-56
"""The greatest radius of a component's ball: an eighth of a unit in its last place."""

SMALLEST_SHARE = 2.0**-64
"""A component smaller than this part of the greatest is held to the last place of this part."""

MOST_BITS_OF_TIME = 40_000
"""A time with more bits than this above or below its point is refused: it would take minutes."""

Ball = Any
"""A number of Arb, or an exact one: `arb` or `fmpq`."""
Vector = list[Ball]

_lock = threading.Lock()
"""The precision of python-flint is one for all threads: whoever changes it holds this."""


class ProofNotReached(ArithmeticError):
    """The balls are not small enough at the greatest precision."""


class _Undecided(ArithmeticError):
    """At this precision a ball does not tell the sign of a number that has one."""


@dataclass(frozen=True, eq=False)
class Enclosure:
    """Numbers, each with a bound on its distance from the exact value."""

    value: Floats
    """The floats nearest to the centres of the balls; zero where a ball contains zero."""
    radius: Floats
    """The exact values lie within these distances of `value`: the rounding of `value` is included."""
    balls: Any
    """The balls themselves, an array of python-flint's `arb`."""

    def text(self, digits: int = 25) -> Any:
        """Each ball as text, the digits that are certain and the radius, in lists like those of the values."""
        return np.vectorize(lambda ball: ball.str(digits), otypes=[object])(self.balls).tolist()


@dataclass(frozen=True, eq=False)
class ProvenState:
    """The state of one or many free bodies at one or many times, with proven bounds.

    Each component of the rate and of the quaternion lies within `radius` of `value`, which is less than one unit in the
    last place of the component; components below 5e-20 of the greatest lie within 1e-36 of it. Arrays have an axis of
    motions if there are many, then the axes of the times, then components.
    """

    t: Any
    """The times as they were given."""
    quaternion: Enclosure
    """The attitude, body to space, scalar first."""
    omega: Enclosure
    """The angular velocity in body axes, rad/s."""
    bits: int
    """The precision that the proof took."""

    def error(self, state: FreeState) -> Any:
        """A bound on the error of another state at these times, with one number for each motion and time.

        It is the greatest difference of a component: of the quaternion, up to its sign, and of the rate over the
        greatest component of `omega.value`.
        """
        q, w = np.asarray(state.quaternion, dtype=np.float64), np.asarray(state.omega, dtype=np.float64)
        for name, mine, other in (("quaternion", self.quaternion, q), ("omega", self.omega, w)):
            if other.shape != mine.value.shape:
                raise ValueError(f"the {name} has the shape {other.shape}, but it is {mine.value.shape} here")
        sign = np.where((q * self.quaternion.value).sum(axis=-1, keepdims=True) < 0.0, -1.0, 1.0)
        with precision(FIRST_BITS):
            turn = _distances(self.quaternion.balls, sign * q).max(axis=-1)
            rate = _distances(self.omega.balls, w).max(axis=-1)
        size = np.abs(self.omega.value).max(axis=-1)
        error = np.maximum(turn, np.nextafter(rate / np.where(size > 0.0, size, 1.0), np.inf))
        return error.item() if error.ndim == 0 else error


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Sets the precision of python-flint, for one thread at a time, and restores it."""
    with _lock:
        before = ctx.prec
        ctx.prec = bits
        try:
            yield
        finally:
            ctx.prec = before


def proven_states(
    tensors: Sequence[Any], omegas: Floats, quaternions: Floats, t: Any, t0: float, shape: tuple[int, ...]
) -> ProvenState:
    """The states of motions that start at t0 with these tensors, rates and attitudes in user's axes."""
    times, form = exact_times(t)
    elapsed = [x - Fraction(t0) for x in times]
    rows, bits = [], FIRST_BITS
    for i, (omega, quaternion) in enumerate(zip(omegas.tolist(), quaternions.tolist(), strict=True)):
        motion = ExactMotion(tensors[i if len(tensors) > 1 else 0], omega, quaternion)
        for x in elapsed:
            row, used = motion.proven(x)
            rows.append(row)
            bits = max(bits, used)
    balls = np.empty((len(rows), 7), dtype=object)
    for n, row in enumerate(rows):
        balls[n] = row
    whole = (*shape, *form)
    q, w = _enclosure(balls[:, :4].reshape(*whole, 4)), _enclosure(balls[:, 4:].reshape(*whole, 3))
    return ProvenState(t, q, w, bits)


def exact_times(t: Any) -> tuple[list[Fraction], tuple[int, ...]]:
    """Times at their exact values, and the shape in which they were given."""
    if isinstance(t, list | tuple | np.ndarray) and np.ndim(t) > 0:
        listed = np.asarray(t, dtype=object)
        return [_exact_time(x, f"t[{', '.join(map(str, i))}]") for i, x in np.ndenumerate(listed)], listed.shape
    return [_exact_time(t.item() if isinstance(t, np.ndarray) else t, "t")], ()


def _exact_time(t: Any, name: str) -> Fraction:
    given = t.item() if isinstance(t, np.generic) else t
    try:
        if isinstance(given, bool) or not isinstance(given, int | float | str | Fraction | Decimal):
            raise TypeError
        if isinstance(given, str):
            given = Fraction(given) if "/" in given else Decimal(given)
    except (InvalidOperation, TypeError, ValueError, ZeroDivisionError):
        raise TypeError(f"{name} must be a number, a Fraction or a decimal text, not {t!r}") from None
    is_long = False
    if isinstance(given, float | Decimal):
        if not (math.isfinite(given) if isinstance(given, float) else given.is_finite()):
            raise ValueError(f"{name} must be finite, but it is {t}")
        # The exponent of a decimal number is looked at before it becomes a whole number.
        is_long = isinstance(given, Decimal) and given != 0 and abs(given.adjusted()) > MOST_BITS_OF_TIME // 4
    exact = Fraction(0) if is_long else Fraction(given)
    if is_long or max(exact.numerator.bit_length(), exact.denominator.bit_length()) > MOST_BITS_OF_TIME:
        raise ValueError(
            f"{name} has more than {MOST_BITS_OF_TIME:,} bits, and a proof would take minutes: give a shorter time"
        )
    return exact


# --- one motion ----------------------------------------------------------------------------------------------------


class ExactMotion:
    """A free motion whose numbers are exact: the state at any exact time as balls."""

    def __init__(self, tensor: Any, omega: Sequence[Any], quaternion: Sequence[Any]) -> None:
        self._tensor = [[_rational(x) for x in row] for row in np.asarray(tensor).tolist()]
        self._omega = [_rational(x) for x in omega]
        self._attitude = [_rational(x) for x in quaternion]
        w, y = self._omega, [_dot(row, self._omega) for row in self._tensor]
        self._momentum = y
        self._G2, self._2T = _dot(y, y), _dot(w, y)  # |y|^2 and twice the energy
        self._steady = all(c == 0 for c in _cross(w, y))
        self._fastest = math.frexp(max(abs(float(x)) for x in omega))[1]  # the rate is below this power of two
        self._common = math.lcm(*(int(x.q) for row in self._tensor for x in row))
        whole = fmpz_mat([[(x * self._common).p for x in row] for row in self._tensor])
        self._factors: list[tuple[Any, int]] = whole.charpoly().factor()[1]

    def proven(self, t: Fraction) -> tuple[list[Ball], int]:
        """The balls of the quaternion and of the rate after the time t, and the precision that they took."""
        more = max(0, self._fastest + t.numerator.bit_length() - t.denominator.bit_length())  # of the radians
        bits = FIRST_BITS + more
        while bits <= MOST_BITS + 2 * more:
            with precision(bits):
                try:
                    quaternion, rate = self.enclosed(_rational(t))
                    if _is_small(quaternion) and _is_small(rate):
                        return [*quaternion, *rate], bits
                except _Undecided:
                    pass
            bits *= 2
        raise ProofNotReached(
            f"at {bits // 2:,} bits the balls of the state are still too wide: the motion is nearer to another kind of "
            "motion than these bits tell"
        )

    def enclosed(self, t: Ball) -> tuple[Vector, Vector]:
        """The quaternion and the rate after the time t, at the precision that is set."""
        start = _unit([arb(x) for x in self._attitude])
        if self._steady:
            turn, rate = self._steadily(t)
        else:
            turn, rate = self._moving(t)
        return _product(start, turn), rate

    def _steadily(self, t: Ball) -> tuple[Vector, Vector]:
        """The rate w is constant because w x I w = 0: the turn is exp(w t / 2)."""
        w = [arb(x) for x in self._omega]
        if all(x == 0 for x in self._omega):
            return [arb(1), arb(0), arb(0), arb(0)], w
        size = arb(_dot(self._omega, self._omega)).sqrt()
        sine, cosine = (size * t / 2).sin_cos()
        return [cosine, *(sine * x / size for x in w)], w

    def _moving(self, t: Ball) -> tuple[Vector, Vector]:
        """y = I w circles axis 3 of the relabelled axes e1, e2, e3, or tends to axis 2 on the separatrix."""
        G2, T2, pi = self._G2, self._2T, arb.pi()
        (I1, e1), (I2, _), (I3, e3) = self._axes()
        s = 1
        if _less(G2, T2 * I2):
            (I1, e1), (I3, e3), s = (I3, e3), (I1, e1), -1
        on_separatrix = not _is_ball(I2) and G2 == T2 * I2
        e1, e3 = _towards(e1, self._momentum), _towards(e3, self._momentum)
        e2 = _cross(e3, e1)
        y1, y2, y3 = (_dot(e, self._momentum) for e in (e1, e2, e3))
        if not arb(y3) > 0:
            raise _Undecided
        X = T2 - G2 / I3
        A2, B2, C2 = I1 * I3 * X / (I3 - I1), I2 * I3 * X / (I3 - I2), I3 * (G2 - T2 * I1) / (I3 - I1)
        A, B, C, G = (arb(x).sqrt() for x in (A2, B2, C2, G2))
        lam = s * (arb((I3 - I2) * (I3 - I1) / (I1 * I2)).sqrt() * C / I3)
        if not _is_ball(I2) and I1 == I2:  # symmetric about axis 3: m = 0
            sine, cosine = (lam * t).sin_cos()
            Y1, Y2, Y3 = y1 * cosine - y2 * sine, y2 * cosine + y1 * sine, C
            zs, zc = ((G / I3 + X / (G + C)) * t / 2).sin_cos()
        elif on_separatrix:  # m = 1: hyperbolic functions
            u0 = (y2 / B * A / y1).asinh()
            u = u0 + lam * t
            Y1, Y2, Y3 = A * u.sech(), B * u.tanh(), C * u.sech()
            slope = ((G - C) / (G + C)).sqrt()
            bend = (slope * (u / 2).tanh()).atan() - (slope * (u0 / 2).tanh()).atan()
            zs, zc = ((G * t / I3 + X / G * t - X / lam * 2 * C / (G * A) * bend) / 2).sin_cos()
        else:
            kappa2 = I3 * (I2 - I1) / (I1 * (I3 - I2))
            m, mc = kappa2 * A2 / C2, I3 * (G2 - T2 * I2) / (C2 * (I3 - I2))
            K, dual_K = (pi / (2 * arb(1).agm(arb(x).sqrt())) for x in (mc, m))
            u0 = _phase(y2 / B, y1 / A, y3 / C, arb(mc), K)
            tau = acb(0, dual_K / K)
            z0, z = acb(u0 / (2 * K)), acb((u0 + lam * t) / (2 * K))
            t1, t2, t3, t4 = _thetas(z, tau)
            _, c2, c3, c4 = _thetas(acb(0), tau)
            Y1, Y2, Y3 = (
                A * (c4 * t2 / (c2 * t4)).real,
                B * (c3 * t1 / (c2 * t4)).real,
                C * (c4 * t3 / (c3 * t4)).real,
            )
            tangent2 = 1 / kappa2
            b = arb(tangent2).sqrt() * acb.elliptic_rf(acb(1), acb(1 + m * tangent2), acb(1 + tangent2)).real
            ib = acb(0, b / (2 * K))
            logarithmic = _thetas(ib, 2 * tau, 1)[3] / _thetas(ib, 2 * tau)[3]
            mu = G / I3 + X / (G + C) + lam / K * logarithmic.imag
            start, now = _thetas(z0 + ib, 2 * tau)[3], _thetas(z + ib, 2 * tau)[3]
            phasor = acb(0, mu * t / 2).exp() * start * now.conjugate()
            zc, zs = phasor.real, phasor.imag
        before, after = [G + y3, -y2, y1, arb(0)], [G + Y3, Y2, -Y1, arb(0)]
        a, *v = _unit(_product(before, _product([zc, arb(0), arb(0), zs], after)))
        rate = _combined((Y1 / I1, Y2 / I2, Y3 / I3), (e1, e2, e3))
        return [a, *_combined(v, (e1, e2, e3))], rate

    def _axes(self) -> list[tuple[Ball, Vector]]:
        """Returns moments, exact where they are rational, in ascending order, each with its principal axis."""
        moments: list[Ball] = []
        for factor, times in self._factors:  # of the characteristic polynomial
            if factor.degree() == 1:
                moments += [fmpq(-factor[0], factor[1] * self._common)] * times
            else:
                moments += [root.real / self._common for root, _ in factor.complex_roots()]
        moments.sort(key=lambda x: arb(x).mid())
        single = [x for x in moments if sum(x is y for y in moments) == 1]
        axes = [_eigenvector(self._tensor, x) for x in single]
        if len(single) == 3:
            return list(zip(moments, axes, strict=True))
        third = axes[0]
        smallest = min(range(3), key=lambda i: abs(third[i].mid()))
        across = _unit(_cross(third, [arb(i == smallest) for i in range(3)]))
        equal = [across, _cross(third, across)]
        return list(zip(moments, [third, *equal] if moments[0] is single[0] else [*equal, third], strict=True))


def _eigenvector(tensor: list[Vector], moment: Ball) -> Vector:
    """The unit vector that spans the kernel of I - moment: a row of its adjugate, the longest one."""
    rows = [[x - moment if i == j else x for j, x in enumerate(row)] for i, row in enumerate(tensor)]
    products = [_cross(rows[i], rows[(i + 1) % 3]) for i in range(3)]
    return _unit(max(products, key=lambda v: abs(arb(_dot(v, v)).mid())))


def _thetas(z: Any, tau: Any, derivative: int = 0) -> Any:
    """The four theta functions of pi z, or their derivatives by z."""
    return z.modular_theta(tau, derivative)


def _phase(sn: Ball, cn: Ball, dn: Ball, mc: Ball, K: Ball) -> Ball:
    """Returns u with these sn, cn, dn, measured from 0 or, where cn may be zero, from K."""
    if cn > 0.5:
        return sn * acb.elliptic_rf(acb(cn * cn), acb(dn * dn), acb(1)).real
    rest = cn / dn * acb.elliptic_rf(acb(mc * (sn / dn) ** 2), acb(mc / (dn * dn)), acb(1)).real
    if sn > 0:
        return K - rest
    if sn < 0:
        return rest - K
    raise _Undecided


# --- exact numbers, balls and vectors of them ----------------------------------------------------------------------


def _rational(x: Any) -> Ball:
    """A float, an integer or a Fraction as an exact number."""
    exact = Fraction(x)
    return fmpq(exact.numerator, exact.denominator)


def _is_ball(x: Ball) -> bool:
    return isinstance(x, arb)


def _less(x: Ball, y: Ball) -> bool:
    """Whether x < y, if that is decided. An irrational moment is never equal to a rational number."""
    if not (_is_ball(x) or _is_ball(y)):
        return bool(x < y)
    if not (x < y or x > y):
        raise _Undecided
    return bool(x < y)


def _dot(a: Vector, b: Vector) -> Ball:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a: Vector, b: Vector) -> Vector:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def _combined(coefficients: Sequence[Ball], vectors: Sequence[Vector]) -> Vector:
    return [sum((c * v[i] for c, v in zip(coefficients, vectors, strict=True)), arb(0)) for i in range(3)]


def _towards(axis: Vector, y: Vector) -> Vector:
    """The axis, or its opposite, so that y has a component along it that is not negative, or may be zero."""
    return [-x for x in axis] if arb(_dot(axis, y)).mid() < 0 else axis


def _unit(v: Vector) -> Vector:
    size = arb(sum(x * x for x in v)).sqrt()
    return [x / size for x in v]


def _product(p: Vector, q: Vector) -> Vector:
    """The product of two quaternions."""
    a, b, c, d = p
    e, f, g, h = q
    return [
        a * e - b * f - c * g - d * h, a * f + b * e + c * h - d * g,
        a * g - b * h + c * e + d * f, a * h + b * g - c * f + d * e,
    ]  # fmt: skip


def _is_small(balls: Vector) -> bool:
    """Whether each radius is below the goal."""
    if not all(x.is_finite() for x in balls):
        return False
    centres = [abs(x.mid()) for x in balls]
    least = max(centres) * SMALLEST_SHARE
    return all(x.rad() <= max(c, least) * GOAL for x, c in zip(balls, centres, strict=True))


def _enclosure(balls: Any) -> Enclosure:
    """The floats nearest to balls, and bounds on their distances from all numbers in them."""
    with precision(FIRST_BITS):
        value = np.vectorize(lambda x: 0.0 if x.contains(0) else float(x.mid()), otypes=[np.float64])(balls)
        return Enclosure(value, _distances(balls, value), balls)


def _distances(balls: Any, values: Floats) -> Floats:
    """Returns bounds on the distances of values from all numbers in balls, as floats that are rounded up."""

    def distance(ball: Ball, value: float) -> float:
        bound = (ball - value).abs_upper()
        return 0.0 if bound == 0 else math.nextafter(float(bound), math.inf)

    distances: Floats = np.vectorize(distance, otypes=[np.float64])(balls, values)
    return distances
