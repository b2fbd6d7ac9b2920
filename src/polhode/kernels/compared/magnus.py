"""Free motion with the exact momentum and an attitude by Magnus's series: the flow of celledoni2006.

The momentum of a free body does not depend on its attitude, so the rate is known exactly throughout a step, and
R' = R hat(w(t)) is a linear equation. Its solution is approximated by one turn, from the rates at the nodes of Gauss's
quadrature. The paper computes the momentum by elliptic functions, which do not cover some motions;
`kernels/free/exact_flow.py` covers all.
"""

from collections.abc import Callable
from functools import cache
from math import nan, sqrt
from typing import NamedTuple

from polhode.kernels.algebra.quat import tidied, turn
from polhode.kernels.algebra.vec import combine, cross, times
from polhode.kernels.free.exact_flow import SERIES, Resolution, effort, finest, momentum_increment, needed
from polhode.kernels.status import OK
from polhode.kernels.steps.compose import nothing
from polhode.kernels.steps.flows import HEADROOM, TOO_MANY_PIECES, prepared
from polhode.kernels.types import BoundStep, Depends, Flow, Inertia, Memory, Params, Pull, Scales, State, Vec3

NODES = {2: 0.0, 4: 1.0 / sqrt(3.0)}
"""For each order of the attitude, the positive node of Gauss's quadrature on [-1, 1]; the other is its negative."""


def _mean(a: Vec3, sign: float, b: Vec3) -> Vec3:
    """(a + sign b) / 2."""
    return (0.5 * (a[0] + sign * b[0]), 0.5 * (a[1] + sign * b[1]), 0.5 * (a[2] + sign * b[2]))


def advance(fine: Resolution, node: float) -> Callable[[Inertia, Vec3, float], tuple[Vec3, Vec3]]:
    """Returns `f(body, m, h) -> v, m`: the turn of the step as a rotation vector, and the momentum at its end."""
    move, longest = momentum_increment(fine.terms, node), SERIES[fine.terms]

    def after(body: Inertia, m: Vec3, h: float, excess: float) -> Vec3:
        """The momentum after a step that is too long for the series, made in pieces."""
        count = int(sqrt(excess)) + 1
        for _ in range(count):
            m = combine(m, 1.0, move(body, m, h / count)[2])
        return m

    def turned(body: Inertia, even: Vec3, odd: Vec3, h: float) -> Vec3:
        w = times(even, body.inverse)
        if node == 0.0:  # (9)
            return (h * w[0], h * w[1], h * w[2])
        # h (w1 + w2) / 2 + sqrt(3) / 12 h^2 w1 x w2: the fourth order, which the paper does not print
        c = cross(w, times(odd, body.inverse))
        k = 0.5 * node * h * h
        return combine((k * c[0], k * c[1], k * c[2]), h, w)

    def in_pieces(body: Inertia, m: Vec3, h: float, excess: float) -> tuple[Vec3, Vec3]:
        if excess > TOO_MANY_PIECES**2:
            return (0.0, 0.0, 0.0), (nan, nan, nan)
        before = after(body, m, 0.5 * (1.0 - node) * h, excess)
        behind = after(body, before, node * h, excess)
        end = after(body, behind, 0.5 * (1.0 - node) * h, excess)
        return turned(body, _mean(behind, 1.0, before), _mean(behind, -1.0, before), h), end

    def advanced(body: Inertia, m: Vec3, h: float) -> tuple[Vec3, Vec3]:
        excess = h * h * effort(body, m)[1] * (1.0 / longest)
        if excess > 1.0:  # false for NaN, which the caller of the step will see
            return in_pieces(body, m, h, excess)
        even, odd, delta = move(body, m, h)
        return turned(body, even, odd, h), combine(m, 1.0, delta)

    return advanced


@cache
def flow(order: int) -> Flow:
    """The step of a free body of any shape as a flow, for systems."""
    advanced = advance(finest(), NODES[order])

    def flown(body: Inertia, p: Params, t: float, s: State, h: float) -> State:
        v, m = advanced(body, s.m, h)
        return State(turn(s.q, v), m)

    return flown


@prepared
class Magnus(NamedTuple):
    """The scheme, for free bodies of any shape, at rest or turning."""

    order: int
    """The order of the attitude, 2 or 4."""
    tidy: bool = True
    """Whether the norm of the quaternion is corrected after a step."""

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> BoundStep:
        """The step for runs of these scales."""
        fine = finest() if scales is None else needed(scales, HEADROOM)[0]
        advanced, tidy = advance(fine, NODES[self.order]), self.tidy

        def step(body: Inertia, p: Params, t: float, s: State, h: float, memory: Memory) -> tuple[State, Memory, int]:
            v, m = advanced(body, s.m, h)
            q = turn(s.q, v)
            return State(tidied(q) if tidy else q, m), memory, OK

        return BoundStep(nothing, step, 0, 0, 0)
