"""The free gyrostat to as many digits as wanted, by Taylor series of the equations of motion in Arb (python-flint).

m' = m x w and q' = q w / 2 with w = I^-1 (m - g), for a rotor in any direction. Nothing is shared with polhode's
kernels, which use theta functions. Steps are so short that the last term of the series is below the last digit.
"""

import math
from collections.abc import Sequence
from typing import Any

import flint

ORDER = 48
Numbers = Sequence[Any]


class Gyrostat:
    """A motion from given moments, rates and rotor, in principal axes, all taken at their exact values."""

    def __init__(self, inertia: Numbers, omega: Numbers, rotor: Numbers, digits: int = 40) -> None:
        self.bits = int(3.33 * digits) + 40
        flint.ctx.prec = self.bits
        self.g = [flint.arb(x) for x in rotor]
        moments = [flint.arb(x) for x in inertia]
        self.inverse = [1 / x for x in moments]
        self.m = [(a * flint.arb(w) + g).mid() for a, w, g in zip(moments, omega, self.g, strict=True)]
        self.q = [flint.arb(x) for x in (1, 0, 0, 0)]
        self.digits = digits

    def advance(self, t: Any) -> "Gyrostat":
        """Goes on by a time, in steps that the last coefficients choose."""
        flint.ctx.prec = self.bits
        left = flint.arb(t)
        while left != 0:
            m, q = self._series()
            last = max(float(abs(x[ORDER])) ** (1 / ORDER) for x in (*m, *q))
            longest = 10.0 ** (-self.digits / ORDER) / max(last, 1e-300)
            h = left if float(abs(left)) <= longest else flint.arb(math.copysign(longest, float(left)))
            self.m, self.q = [_sum(x, h) for x in m], [_sum(x, h) for x in q]
            left = (left - h).mid()
        return self

    def _series(self) -> tuple[list[list[Any]], list[list[Any]]]:
        m, q = [[x] for x in self.m], [[x] for x in self.q]
        w: list[list[Any]] = [[], [], []]
        for k in range(ORDER):
            for i in range(3):
                w[i].append((m[i][k] - self.g[i] if k == 0 else m[i][k]) * self.inverse[i])
            slope = [_at(m[i - 2], w[i - 1], k) - _at(m[i - 1], w[i - 2], k) for i in range(3)]
            turn = [
                -_at(q[1], w[0], k) - _at(q[2], w[1], k) - _at(q[3], w[2], k),
                _at(q[0], w[0], k) + _at(q[2], w[2], k) - _at(q[3], w[1], k),
                _at(q[0], w[1], k) + _at(q[3], w[0], k) - _at(q[1], w[2], k),
                _at(q[0], w[2], k) + _at(q[1], w[1], k) - _at(q[2], w[0], k),
            ]
            for x, d in zip(m, slope, strict=True):
                x.append((d / (k + 1)).mid())
            for x, d in zip(q, turn, strict=True):
                x.append((d / (2 * (k + 1))).mid())
        return m, q

    @property
    def omega(self) -> list[Any]:
        """The rate."""
        return [(m - g) * i for m, g, i in zip(self.m, self.g, self.inverse, strict=True)]


def _at(a: list[Any], b: list[Any], k: int) -> Any:
    """The coefficient k of a product of series."""
    total = flint.arb(0)
    for i in range(k + 1):
        total += a[i] * b[k - i]
    return total.mid()


def _sum(x: list[Any], h: Any) -> Any:
    total = flint.arb(0)
    for c in reversed(x):
        total = (total * h + c).mid()
    return total
