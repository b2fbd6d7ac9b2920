"""Torqued motions to as many digits as wanted, by Taylor series of the equations of motion in Arb (python-flint).

The state is a quaternion, the momentum in body axes, and numbers that a torque carries. The series of a step is found
by Picard's iteration, each pass of which has one right term more; its length follows from the last terms. A torque is
written here once more, from its formula: nothing is shared with polhode's kernels.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

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


def exact(x: float) -> Any:
    """A float as an exact ball."""
    value = Fraction(x)
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


Torque = Callable[[Series, Vector, Vector, Vector], tuple[Sequence[Series], Sequence[Series]]]
"""`(t, q, w, z) -> (torque in body axes, derivatives of the carried numbers z)`."""


class Taylor:
    """A motion from a tensor, a rate and a quaternion at their exact values; the quaternion is normalised."""

    def __init__(
        self,
        tensor: Sequence[Sequence[float]],
        omega: Sequence[float],
        attitude: Sequence[float],
        torque: Torque,
        carried: Sequence[Any] = (),
        rotor: Sequence[float] = (0.0, 0.0, 0.0),
        digits: int = 40,
        order: int = 44,
    ) -> None:
        self.bits, self.digits, self.order, self.torque = int(3.33 * digits) + 60, digits, order, torque
        flint.ctx.prec = self.bits
        inertia = flint.arb_mat([[exact(x) for x in row] for row in tensor])
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

    def _rate(self, m: Sequence[Any]) -> list[Any]:
        own = [m[i] - self.rotor[i] for i in range(3)]
        rows = self.inverse
        return [
            sum((own[j] * rows[i][j] for j in range(3) if j != i and rows[i][j] != 0), own[i] * rows[i][i])
            for i in range(3)
        ]

    def _slopes(self, t: Series, y: Vector) -> Vector:
        q, m, z = y[:4], y[4:7], y[7:]
        w = self._rate(m)
        n, carried = self.torque(t, q, w, z)
        turning = cross(m, w)
        return [
            (q[1] * w[0] + q[2] * w[1] + q[3] * w[2]) / -2,
            (q[0] * w[0] + q[2] * w[2] - q[3] * w[1]) / 2,
            (q[0] * w[1] + q[3] * w[0] - q[1] * w[2]) / 2,
            (q[0] * w[2] + q[1] * w[1] - q[2] * w[0]) / 2,
            *(turning[i] + n[i] for i in range(3)),
            *carried,
        ]

    def advance(self, t: float) -> "Taylor":
        """Goes on to a time, exactly."""
        flint.ctx.prec = self.bits
        while (left := (exact(t) - self.t).mid()) != 0:
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

    @property
    def attitude(self) -> list[Any]:
        """The quaternion, of unit length."""
        norm = sum((x * x for x in self.state[:4]), flint.arb(0)).sqrt()
        return [x / norm for x in self.state[:4]]

    @property
    def omega(self) -> list[Any]:
        """The rate in body axes."""
        return self._rate(self.state[4:7])


def _value(s: Series, h: Any, order: int) -> Any:
    total = flint.arb(0)
    for k in range(order, -1, -1):
        total = (total * h + s[k]).mid()
    return total
