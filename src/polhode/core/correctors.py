"""Symplectic correctors: leapfrog seen through a change of variables.

Half a kick, the exact flow, half a kick: with a torque of size eps the error is of the order eps h^2, but nearly all of
it only swings to and fro. A change of variables, made once at the start and undone for what is shown, takes away the
swinging up to eps h^(n + 1), and leaves eps^2 h^2. In between, the steps are the same as ever.
[wisdom1996, wisdom2006]

In the first power of the torque, with the drift A and the kick B, a step of leapfrog is the exponential of
h A + g(h ad_A) h B with g(x) = (x/2) coth(x/2), and that of the true motion has one in the place of g. Kicks of
weights +b_k and -b_k at k a h ahead and behind generate 2 h sum_k b_k sinh(k a h ad_A) B, whose commutator with h A is
to be the difference: 2 sum_k b_k sinh(k a x) = (g(x) - 1) / x, power by power of x.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache, lru_cache
from math import ceil, comb, sqrt
from typing import NamedTuple

from polhode.core.compose import Splitting
from polhode.core.flows import free, kick
from polhode.core.polished import PolishedSplitting
from polhode.core.quat import normalised, tidied
from polhode.core.types import Depends, Flow, Params, Pull, Rotor, Scales, State, Stepper

SPACING2 = Fraction(7, 40)
SPACING = sqrt(SPACING2)
"""Between the kicks, in steps: the choice of [wisdom1996]. Closer ones correct a little better and are a lot larger."""


@cache
def weights(order: int) -> tuple[float, ...]:
    """b_1, b_2, ... of the corrector of an odd order.

    With c_k = 2 k a b_k the powers of x ask that sum_k c_k (k^2)^(j - 1) = B_2j / (2 j) a^(2 - 2 j), where B_2j is
    Bernoulli's number. So a linear functional is known on polynomials of k^2, and c_k is its value for Lagrange's.
    """
    if order < 3 or order % 2 == 0:
        raise ValueError(f"the order of a corrector is an odd number from 3 on, such as 17, not {order}")
    count = (order - 1) // 2
    moments = [bernoulli(2 * j) / (2 * j) / SPACING2 ** (j - 1) for j in range(1, count + 1)]
    out = []
    for k in range(1, count + 1):
        polynomial = [Fraction(1)]  # from the constant up: one at k^2, zero at the other squares
        for i in range(1, count + 1):
            if i != k:
                raised, scale = [Fraction(0), *polynomial], k * k - i * i
                polynomial = [(r - i * i * c) / scale for r, c in zip(raised, [*polynomial, Fraction(0)], strict=True)]
        c = sum((p * m for p, m in zip(polynomial, moments, strict=True)), start=Fraction(0))
        out.append(float(c) / (2 * k * SPACING))
    return tuple(out)


def bernoulli(n: int) -> Fraction:
    """Bernoulli's numbers, by their recurrence."""
    known = [Fraction(1)]
    for m in range(1, n + 1):
        known.append(-sum((comb(m + 1, k) * b for k, b in enumerate(known)), start=Fraction(0)) / (m + 1))
    return known[n]


@lru_cache(maxsize=128)
def passage(flow: Flow, kicked: Flow, b: Sequence[float], spacing: float, *, unscaled: bool) -> Flow:
    """The corrector as a walk: back by as many spacings as there are weights, forth to the other side, and back.

    On the way forth there is a kick -b_k or +b_k wherever it comes by, except in the middle. The ways back, without
    kicks, are made in as few flows as are no longer than a step. With the opposite spacing it is the inverse.
    Unscaled quaternions get their norm first.
    """
    n = len(b)
    back = ceil(n * abs(spacing))
    ways = (-n / back,) * back + (1.0,) * (2 * n) + (-n / back,) * back
    kicks = (0.0,) * (back - 1) + (*(-x for x in reversed(b)), 0.0, *b) + (0.0,) * back
    places = (0.0,) * (back - 1) + tuple(float(k) for k in range(-n, n + 1)) + (0.0,) * back
    count = len(ways)

    def passed(body: Rotor, p: Params, t: float, s: State, h: float) -> State:
        x = spacing * h
        if unscaled:
            s = State(normalised(s.q), s.m)
        for k in range(count):
            s = flow(body, p, t, s, ways[k] * x)
            if kicks[k] != 0.0:
                s = kicked(body, p, t + places[k] * x, s, kicks[k] * h)
        return State(tidied(s.q), s.m)

    return passed


class Corrected(NamedTuple):
    """Leapfrog, half a kick at either end, with the corrector of an odd order."""

    leapfrog: Splitting | PolishedSplitting
    order: int

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> Stepper:
        """Leapfrog with its torque in place, and the way to its variables and back; a free body needs none."""
        base = self.leapfrog.bind(pull, depends, scales)
        if depends is Depends.NOTHING:
            return base
        flow = free(scales)
        b = weights(self.order)
        # No flow here is longer than a step: in lanes, where it gives up on a body that has become too fast, it goes on
        # for longer than that of the steps.
        unscaled = isinstance(self.leapfrog, PolishedSplitting)
        enter, leave = (passage(flow, kick(pull), b, a, unscaled=unscaled) for a in (SPACING, -SPACING))
        each = 2 * len(b)
        return base._replace(
            memory=7 + base.memory, evaluations_at_start=base.evaluations_at_start + each,
            enter=enter, leave=leave, evaluations_per_passage=each,
        )  # fmt: skip

    def composed(self, fractions: Sequence[float]) -> Splitting | PolishedSplitting:
        """Steps of these fractions in a row, as one step: of leapfrog, since a corrector belongs to one length."""
        return self.leapfrog.composed(fractions)
