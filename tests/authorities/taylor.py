"""Torqued motions to as many digits as wanted, by Taylor series of the equations of motion in Arb (python-flint).

The state is a quaternion, the momentum in body axes, and numbers that a torque carries. The series of a step is found
by Picard's iteration, each pass of which has one right term more; its length follows from the last terms. A torque is
written here once more, from its formula: nothing is shared with polhode's kernels.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Self

import flint

Series = Any
"""A power series in the time since the start of a step: `flint.arb_series`."""
Vector = list[Series]


def cross(a: Sequence[Series], b: Sequence[Series]) -> Vector:
    return [a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)]


def dot(a: Sequence[Series], b: Sequence[Series]) -> Series:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def seen_from_body(q: Sequence[Series], v: Sequence[Any]) -> Vector:
    """R^T v, for a quaternion of any length near one: divided by its square."""
    u = q[1:]
    k, along, across = q[0] * q[0] - dot(u, u), 2 * dot(u, v), cross(v, u)
    norm = 1 / (q[0] * q[0] + dot(u, u))
    return [norm * (k * v[i] + along * u[i] + 2 * q[0] * across[i]) for i in range(3)]


def turned(q: Sequence[Series], w: Sequence[Series]) -> Vector:
    """The slope of a quaternion at a rate in body axes."""
    return [
        (q[1] * w[0] + q[2] * w[1] + q[3] * w[2]) / -2,
        (q[0] * w[0] + q[2] * w[2] - q[3] * w[1]) / 2,
        (q[0] * w[1] + q[3] * w[0] - q[1] * w[2]) / 2,
        (q[0] * w[2] + q[1] * w[1] - q[2] * w[0]) / 2,
    ]


def exact(x: float) -> Any:
    """A float as an exact ball."""
    value = Fraction(x)
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


Torque = Callable[[Series, Vector, Vector, Vector], tuple[Sequence[Series], Sequence[Series]]]
"""`(t, q, w, z) -> (torque in body axes, derivatives of the carried numbers z)`."""


class Stepped:
    """A motion of numbers whose slopes `_slopes(t, y)` has, by steps of Taylor series."""

    bits: int
    digits: int
    order: int
    t: Any
    state: list[Any]

    def _slopes(self, t: Series, y: Vector) -> Vector:
        raise NotImplementedError

    def _reach(self, left: Any) -> Any:
        """How far a step may go at most, of what is left."""
        return left

    def advance(self, t: float) -> Self:
        """Goes on to a time, exactly."""
        flint.ctx.prec = self.bits
        while (left := (exact(t) - self.t).mid()) != 0:
            left = self._reach(left)
            y = [flint.arb_series([x]) for x in self.state]
            for k in range(self.order):
                flint.ctx.cap = k + 1
                slopes = self._slopes(flint.arb_series([self.t, 1]), y)
                flint.ctx.cap = k + 2
                y = [
                    flint.arb_series([x]) + flint.arb_series(s).integral()
                    for x, s in zip(self.state, slopes, strict=True)
                ]
            sizes = [max(float(abs(s[0])), 1e-3) for s in y]
            ends = [
                (float(abs(s[k])) / size) ** (1 / k)
                for s, size in zip(y, sizes, strict=True)
                for k in range(self.order - 3, self.order + 1)
            ]
            longest = 10.0 ** (-(self.digits + 1) / self.order) / max(*ends, 1e-300)
            h = left if float(abs(left)) <= longest else exact(longest if left > 0 else -longest)
            self.state = [_value(s, h, self.order) for s in y]
            self.t = (self.t + h).mid()
        return self


class Taylor(Stepped):
    """A motion from a tensor, a rate and a quaternion at their exact values; the quaternion is normalised.

    With `times`, the tensor is one for each time, joined by straight lines; a time that is there twice is a jump.
    """

    def __init__(
        self,
        tensor: Sequence[Any],
        omega: Sequence[float],
        attitude: Sequence[float],
        torque: Torque,
        carried: Sequence[Any] = (),
        rotor: Sequence[float] = (0.0, 0.0, 0.0),
        digits: int = 40,
        order: int = 44,
        times: Sequence[float] = (0.0,),
    ) -> None:
        self.bits, self.digits, self.order, self.torque = int(3.33 * digits) + 60, digits, order, torque
        flint.ctx.prec = self.bits
        tensors = tensor if len(times) > 1 else [tensor]
        self.times = [exact(x) for x in times]
        self.tensors = [flint.arb_mat([[exact(x) for x in row] for row in one]) for one in tensors]
        self.piece, inertia = 0, self.tensors[0]
        inverse = inertia.inv()
        self.inverse = [[inverse[i, j].mid() for j in range(3)] for i in range(3)]
        w = [exact(x) for x in omega]
        self.rotor = [exact(x) for x in rotor]
        momentum = [sum((inertia[i, j] * w[j] for j in range(3)), self.rotor[i]) for i in range(3)]
        q = [exact(x) for x in attitude]
        norm = sum((x * x for x in q), flint.arb(0)).sqrt()
        self.state = [(x / norm).mid() for x in q] + [x.mid() for x in momentum]
        self.state += [x.mid() if isinstance(x, flint.arb) else exact(x) for x in carried]
        self.t = flint.arb(0)

    def _changing(self, t: Series) -> list[list[Series]]:
        """The inverse of the tensor at a time in the present piece, by cofactors."""
        first, last = self.tensors[self.piece : self.piece + 2]
        s = (t - self.times[self.piece]) / (self.times[self.piece + 1] - self.times[self.piece])
        rows = [[first[i, j] + s * (last[i, j] - first[i, j]) for j in range(3)] for i in range(3)]
        cofactors = [cross(rows[i - 2], rows[i - 1]) for i in range(3)]
        determinant = dot(rows[0], cofactors[0])
        return [[cofactors[j][i] / determinant for j in range(3)] for i in range(3)]

    def _rate(self, t: Series, m: Sequence[Any]) -> list[Any]:
        own = [m[i] - self.rotor[i] for i in range(3)]
        rows = self.inverse if len(self.times) == 1 else self._changing(t)
        return [
            sum((own[j] * rows[i][j] for j in range(3) if j != i and rows[i][j] != 0), own[i] * rows[i][i])
            for i in range(3)
        ]

    def _slopes(self, t: Series, y: Vector) -> Vector:
        q, m, z = y[:4], y[4:7], y[7:]
        w = self._rate(t, m)
        n, carried = self.torque(t, q, w, z)
        return [*turned(q, w), *(x + y for x, y in zip(cross(m, w), n, strict=True)), *carried]

    def _reach(self, left: Any) -> Any:
        """No step leads over a time at which the tensor has a kink or a jump."""
        while self.piece < len(self.times) - 2 and not self.t < self.times[self.piece + 1]:
            self.piece += 1  # past a jump, whose piece has no length, too
        if len(self.times) > 1 and self.times[self.piece + 1] - self.t < left:
            return (self.times[self.piece + 1] - self.t).mid()
        return left

    @property
    def attitude(self) -> list[Any]:
        """The quaternion, of unit length."""
        norm = sum((x * x for x in self.state[:4]), flint.arb(0)).sqrt()
        return [x / norm for x in self.state[:4]]

    @property
    def omega(self) -> list[Any]:
        """The rate in body axes."""
        return self._rate(self.t, self.state[4:7])


class Springs(Stepped):
    """Bodies with principal axes along body axes, in space, joined by springs between points of two of them.

    The numbers of a body are its position, velocity, quaternion and momentum in body axes.
    """

    def __init__(
        self, bodies: Sequence[Any], springs: Sequence[Any], start: Sequence[Any], digits: int = 40, order: int = 44
    ) -> None:
        self.bits, self.digits, self.order, self.t = int(3.33 * digits) + 60, digits, order, flint.arb(0)
        flint.ctx.prec = self.bits
        self.moments = [[exact(x) for x in body["moments"]] for body in bodies]
        self.mass = [exact(body["mass"]) for body in bodies]
        self.springs = [
            (s["first"], s["second"], *([exact(x) for x in p] for p in s["points"]), exact(s["stiffness"]),
             exact(s["length"]))
            for s in springs
        ]  # fmt: skip
        self.state = []
        for moments, (position, velocity, attitude, omega) in zip(self.moments, start, strict=True):
            q = [exact(x) for x in attitude]
            norm = sum((x * x for x in q), flint.arb(0)).sqrt()
            self.state += [exact(x) for x in (*position, *velocity)] + [(x / norm).mid() for x in q]
            self.state += [(i * exact(w)).mid() for i, w in zip(moments, omega, strict=True)]

    def _slopes(self, t: Series, y: Vector) -> Vector:
        each = [(y[k : k + 3], y[k + 3 : k + 6], y[k + 6 : k + 10], y[k + 10 : k + 13]) for k in range(0, len(y), 13)]
        force = [[0 * y[0] for _ in range(3)] for _ in each]
        torque = [[0 * y[0] for _ in range(3)] for _ in each]
        for i, j, p, r, stiffness, length in self.springs:
            ends = []
            for k, point in ((i, p), (j, r)):
                x, q = each[k][0], each[k][2]
                arm = seen_from_body([q[0], -q[1], -q[2], -q[3]], point)
                ends.append([x[n] + arm[n] for n in range(3)])
            d = [ends[0][n] - ends[1][n] for n in range(3)]
            pull = stiffness if length == 0 else stiffness * (1 - length / dot(d, d).sqrt())
            for k, point, sign in ((i, p, -1), (j, r, 1)):
                f = [sign * pull * x for x in d]
                n = cross(point, seen_from_body(each[k][2], f))
                force[k], torque[k] = (
                    [a + b for a, b in zip(u, v, strict=True)] for u, v in ((force[k], f), (torque[k], n))
                )
        slopes: Vector = []
        for k, (_, v, q, m) in enumerate(each):
            w = [m[n] / self.moments[k][n] for n in range(3)]
            slopes += [*v, *(f / self.mass[k] for f in force[k]), *turned(q, w)]
            slopes += [a + b for a, b in zip(cross(m, w), torque[k], strict=True)]
        return slopes

    def numbers(self) -> list[list[Any]]:
        """For each body its position, velocity, quaternion of unit length, and rate in body axes."""
        found = []
        for k, moments in enumerate(self.moments):
            y = self.state[13 * k : 13 * k + 13]
            norm = sum((x * x for x in y[6:10]), flint.arb(0)).sqrt()
            found.append([*y[:6], *(x / norm for x in y[6:10]), *(m / i for m, i in zip(y[10:], moments, strict=True))])
        return found


def _value(s: Series, h: Any, order: int) -> Any:
    total = flint.arb(0)
    for k in range(order, -1, -1):
        total = (total * h + s[k]).mid()
    return total
