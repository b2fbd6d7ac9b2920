"""Steps of the exact flow whose round-off does not accumulate: momentum and attitude in two-doubles.

The memory holds the low halves: three of the momentum, four of the quaternion. The quaternion is left unscaled but for
powers of two.
"""

from collections.abc import Sequence
from typing import NamedTuple

from polhode.core.compose import nothing_of
from polhode.core.exact import added, fine_differences, finest, increment, needed, pieces, polish, polished_turn
from polhode.core.flows import TOO_MANY_PIECES
from polhode.core.ops import two_product
from polhode.core.quat import rescaling
from polhode.core.status import OK, UNSOUND
from polhode.core.types import Depends, Params, Pull, Quat, Rotor, Scales, State, Stepper, Vec3

DD = tuple[float, float]
Low = tuple[float, float, float, float, float, float, float]
PASSES = {0.02: 2, 0.2: 4, 0.5: 6, 1.3: 9}
"""Up to which |w| h how many passes reach the last bit of the low half."""


def _three(a: float, x: DD, b: float, y: DD, c: float, z: DD, da: float, db: float, dc: float) -> DD:
    """(a + da) x + (b + db) y + (c + dc) z."""
    p, e = two_product(a, x[0])
    q, f = two_product(b, y[0])
    r, g = two_product(c, z[0])
    s = p + q
    t = s - p
    low = (p - (s - t)) + (q - t)
    u = s + r
    t = u - s
    low = low + ((s - (u - t)) + (r - t))
    return u, low + (e + f + g) + (a * x[1] + da * x[0] + b * y[1] + db * y[0] + c * z[1] + dc * z[0])


def _attitude(q: Quat, low: Quat, v: tuple[DD, DD, DD]) -> tuple[Quat, Quat]:
    """q (1, v) with its low half."""
    x, y, z = v
    minus = ((-x[0], -x[1]), (-y[0], -y[1]), (-z[0], -z[1]))
    d0 = _three(q[1], minus[0], q[2], minus[1], q[3], minus[2], low[1], low[2], low[3])
    d1 = _three(q[0], x, q[2], z, q[3], minus[1], low[0], low[2], low[3])
    d2 = _three(q[0], y, q[1], minus[2], q[3], x, low[0], low[1], low[3])
    d3 = _three(q[0], z, q[1], y, q[2], minus[0], low[0], low[1], low[2])
    a, b, c, d = (
        added(q[0], low[0], d0[0], d0[1]),
        added(q[1], low[1], d1[0], d1[1]),
        added(q[2], low[2], d2[0], d2[1]),
        added(q[3], low[3], d3[0], d3[1]),
    )
    k = rescaling((a[0], b[0], c[0], d[0]))
    return (k * a[0], k * b[0], k * c[0], k * d[0]), (k * a[1], k * b[1], k * c[1], k * d[1])


class Polished(NamedTuple):
    """The scheme: free bodies only, at rest or turning, of any shape."""

    def composed(self, fractions: Sequence[float]) -> "Polished":
        """Exact steps in a row are an exact step."""
        return self

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> Stepper:
        """The step, prepared for runs of these scales."""
        fine, unphysical = (finest(), True) if scales is None else needed(scales, 1.0)[:2]
        move = increment(fine.nodes, fine.terms)
        passes = next(n for turn, n in PASSES.items() if fine.longest_turn <= turn or turn == 1.3)

        def step(body: Rotor, p: Params, t: float, s: State, h: float, low: Low) -> tuple[State, Low, int]:
            q, m = s.q, s.m
            ql: Quat = (low[3], low[4], low[5], low[6])
            ml: Vec3 = (low[0], low[1], low[2])
            count = pieces(fine, unphysical, body, m, h)
            if count > TOO_MANY_PIECES:
                return s, low, UNSOUND
            length = h / max(count, 1)
            a, a_low = fine_differences(body.inertia)
            for _ in range(count):
                delta, _e, _v, k, mu = move(body, m, length)
                delta, rest = polish(a, a_low, mu, m, ml, delta, passes)
                q, ql = _attitude(q, ql, polished_turn(k, m, ml, delta, rest))
                x = added(m[0], ml[0], delta[0], rest[0])
                y = added(m[1], ml[1], delta[1], rest[1])
                z = added(m[2], ml[2], delta[2], rest[2])
                m, ml = (x[0], y[0], z[0]), (x[1], y[1], z[1])
            return State(q, m), (ml[0], ml[1], ml[2], ql[0], ql[1], ql[2], ql[3]), OK

        return Stepper(nothing_of(7), step, 7, 0, 0)
