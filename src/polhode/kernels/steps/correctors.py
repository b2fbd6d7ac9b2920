"""Symplectic correctors: leapfrog in other variables.

Half a kick, the exact flow, half a kick: with a torque of size eps the error is of the order eps h^2, but nearly all of
it oscillates. A change of variables, made once at the start and undone for every output, removes the oscillation up to
eps h^(n + 1), and leaves eps^2 h^2. In between, the steps are those of leapfrog.
[wisdom1996, wisdom2006]

In the first power of the torque, with the drift A and the kick B, a step of leapfrog is the exponential of
h A + g(h ad_A) h B with g(x) = (x/2) coth(x/2); for the true motion g is one. Kicks of
weights +b_k and -b_k at k a h ahead and behind generate 2 h sum_k b_k sinh(k a h ad_A) B, whose commutator with h A is
to be the difference: 2 sum_k b_k sinh(k a x) = (g(x) - 1) / x, power by power of x.

In the second power, the error of the steps is h^3 / 24 [B, [B, A]]: the kick of the squared torque. Kicks that take
the torque a little ahead (`flows.ahead`) cancel it, and leave eps^2 h^4. [takahashi1984, wisdom1996]
But then the change of variables must be right in the second power, too, or the motion starts with an energy that is off
by eps^2 h^3, and the error of its angles grows with time. Its kicks do not commute; two of them take the torque ahead
to compensate for that (`second`).
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache, lru_cache
from math import ceil, comb, copysign, sqrt
from typing import Any, NamedTuple

from polhode.kernels.algebra.quat import normalised, tidied
from polhode.kernels.codegen import function
from polhode.kernels.gyrostat import veer
from polhode.kernels.steps.coefficients import lagrange
from polhode.kernels.steps.compensated import CompensatedSplitting
from polhode.kernels.steps.compose import Splitting, Stage, of_any_norm
from polhode.kernels.steps.flows import KickAhead, free, kick, kick_ahead, prepared
from polhode.kernels.types import BoundStep, Depends, Flow, Inertia, Params, Pull, Scales, State

SPACING2 = Fraction(7, 40)
SPACING = sqrt(SPACING2)
"""The time between the kicks, in steps: that of [wisdom1996]. Closer kicks correct a little better, but are larger."""


@cache
def weights(order: int) -> tuple[float, ...]:
    """Returns b_1, b_2, ... of the corrector of an odd order.

    With c_k = 2 k a b_k the powers of x ask that sum_k c_k (k^2)^(j - 1) = B_2j / (2 j) a^(2 - 2 j), where B_2j is
    Bernoulli's number. This gives a linear functional on polynomials of k^2, and c_k is its value on the k-th of
    Lagrange's polynomials.
    """
    if order < 3 or order % 2 == 0:
        raise ValueError(f"the order of a corrector is an odd number from 3 on, such as 17, not {order}")
    count = (order - 1) // 2
    moments = [bernoulli(2 * j) / (2 * j) / SPACING2 ** (j - 1) for j in range(1, count + 1)]
    out, squares = [], [Fraction(k * k) for k in range(1, count + 1)]
    for k in range(1, count + 1):
        c = sum((p * m for p, m in zip(lagrange(squares, k - 1), moments, strict=True)), start=Fraction(0))
        out.append(float(c) / (2 * k * SPACING))
    return tuple(out)


AHEAD = 1 / 12
"""The k of `flows.ahead` for a whole kick, over h^2: it cancels the squared torque in the error of the steps."""


@cache
def second(order: int) -> float:
    """The k of `flows.ahead`, over h^2, for the first kick on either side, so that the squares of all cancel.

    Kicks b and c in a row, a time d h apart, make b c d h^3 / 2 [B, [A, B]] beside their sum. A kick b whose torque is
    k h^2 ahead makes b k h^3 / 2 of the same.
    """
    b = weights(order)
    kicks = [(-k, -x) for k, x in enumerate(b, 1)] + list(enumerate(b, 1))
    pairs = sum(x * y * (j - i) * SPACING for i, x in kicks for j, y in kicks if i < j)
    return -pairs / (2 * b[0])


def bernoulli(n: int) -> Fraction:
    """Returns Bernoulli's number B_n, by the recurrence."""
    known = [Fraction(1)]
    for m in range(1, n + 1):
        known.append(-sum((comb(m + 1, k) * b for k, b in enumerate(known)), start=Fraction(0)) / (m + 1))
    return known[n]


@lru_cache(maxsize=128)
def passage(
    flow: Flow, kicked: Flow, kicked_ahead: KickAhead | None, order: int, spacing: float, *, unscaled: bool
) -> Flow:
    """The corrector as one flow: n spacings back, 2 n forward, n back, with n the number of weights.

    On the way forward there is a kick -b_k or +b_k at every spacing, except in the middle. The flows back have no kicks
    between them, and are as few as possible, none longer than a step. The opposite spacing gives the inverse. If
    `kicked_ahead` is given, the first kicks to either side use it. Unscaled quaternions are normalised first.
    """
    b = weights(order)
    n = len(b)
    back = ceil(n * abs(spacing))
    lengths = (-n / back,) * back + (1.0,) * (2 * n) + (-n / back,) * back
    kicks = (0.0,) * (back - 1) + (*(-x for x in reversed(b)), 0.0, *b) + (0.0,) * back
    places = (0.0,) * (back - 1) + tuple(float(k) for k in range(-n, n + 1)) + (0.0,) * back
    aheads = tuple(copysign(second(order), x * spacing) if abs(x) == 1.0 else 0.0 for x in places)
    count = len(lengths)

    def passed(body: Inertia, p: Params, t: float, s: State, h: float) -> State:
        x = spacing * h
        if unscaled:
            s = State(normalised(s.q), s.m)
        for k in range(count):
            s = flow(body, p, t, s, lengths[k] * x)
            if kicked_ahead is not None and aheads[k] != 0.0:
                s = kicked_ahead(body, p, t + places[k] * x, s, kicks[k] * h, aheads[k] * h * h)
            elif kicks[k] != 0.0:
                s = kicked(body, p, t + places[k] * x, s, kicks[k] * h)
        return State(tidied(s.q), s.m)

    return passed


@lru_cache(maxsize=128)
def part_of_kick(pull: Pull, part: float, ahead: float) -> Flow:
    """The flow of a kick for `part` of the step, by a torque with k = `ahead` h^2 (`flows.ahead`)."""
    kicked, kicked_ahead = kick(pull), kick_ahead(pull)

    def plain(body: Inertia, p: Params, t: float, s: State, h: float) -> State:
        return kicked(body, p, t, s, part * h)

    def modified(body: Inertia, p: Params, t: float, s: State, h: float) -> State:
        return kicked_ahead(body, p, t, s, part * h, ahead * h * h)

    return modified if ahead else plain


@lru_cache(maxsize=128)
def in_turn(first: Flow, then: Flow) -> Flow:
    """Two flows, one after the other, as one."""

    def both(body: Inertia, p: Params, t: float, s: State, h: float) -> State:
        return then(body, p, t, first(body, p, t, s, h), h)

    return both


@lru_cache(maxsize=128)
def in_parts(flows: tuple[tuple[Flow, float], ...]) -> Flow:
    """Returns flows for parts of the step, one after the other, as one flow."""
    lines = [f"s = flow{i}(body, p, t, s, {part!r} * h)" for i, (_, part) in enumerate(flows)]
    made: Flow = function(
        "flow(body, p, t, s, h)", [*lines, "return s"], {f"flow{i}": flow for i, (flow, _) in enumerate(flows)}
    )
    return made


@prepared
class CorrectedSplitting(NamedTuple):
    """The scheme: leapfrog, with half a kick at either end, and the corrector of an odd order."""

    leapfrog: Splitting | CompensatedSplitting
    order: int

    @property
    def has_corrector(self) -> bool:
        """Whether steps are made in other variables."""
        return True

    def prepared_flows(self, depends: Depends, scales: Scales) -> tuple[Any, ...]:
        """The flows that are prepared for these scales: those of the steps and that of the corrector."""
        return (*self.leapfrog.prepared_flows(depends, scales), free(scales))

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> BoundStep:
        """A step of one drift and one kick, with the changes of variables `enter` and `leave`.

        Half a kick of leapfrog is part of the change of variables: n steps of leapfrog are half a kick, n times a drift
        and a kick, and half a kick back. A free body needs no corrector.
        """
        if scales is not None and scales.gyrostat:
            return self._bound_to_gyrostat(pull, depends, scales)
        if depends is Depends.NOTHING:
            return self.leapfrog.bind(pull, depends, scales)
        unscaled = isinstance(self.leapfrog, CompensatedSplitting)
        splitting = self.leapfrog.splitting if isinstance(self.leapfrog, CompensatedSplitting) else self.leapfrog
        half, drift, _ = splitting.without_veers().stages
        steps = Splitting((drift, half._replace(fraction=1.0)))
        base = (CompensatedSplitting(steps) if unscaled else steps).bind(pull, depends, scales)
        # No flow of the corrector is longer than a step: in lanes, where a flow gives up on a body that has become too
        # fast, those of the steps give up first.
        flows = (free(scales), kick(pull), kick_ahead(pull) if half.ahead else None)
        there, back = (passage(*flows, self.order, a, unscaled=unscaled) for a in (SPACING, -SPACING))
        torque = of_any_norm(pull) if unscaled else pull
        after, before = (part_of_kick(torque, part, half.ahead) for part in (0.5, -0.5))
        each = 2 * len(weights(self.order)) + 1 + (3 if half.ahead else 0)
        return base._replace(
            memory=7 + base.memory, evaluations_at_start=base.evaluations_at_start + each,
            enter=in_turn(there, after), leave=in_turn(before, back), evaluations_per_passage=each,
        )  # fmt: skip

    def _bound_to_gyrostat(self, pull: Pull, depends: Depends, scales: Scales) -> BoundStep:
        """The corrector for gyrostats, whose turns by the rotor go with the kicks: both perturb the free motion.

        Without a torque they are all of the perturbation.
        """
        assert isinstance(self.leapfrog, Splitting)
        is_free = depends is Depends.NOTHING
        drift, turn, push = Stage(free, 1.0), Stage(veer, 0.5), Stage(kick, 1.0)
        steps = Splitting((drift, Stage(veer, 1.0)) if is_free else (drift, turn, push, turn))
        base = steps.bind(pull, depends, scales)
        turned: Flow = veer
        perturbed = turned if is_free else in_parts(((turned, 0.5), (kick(pull), 1.0), (turned, 0.5)))
        halves = ((turned, 0.5),) if is_free else ((kick(pull), 0.5), (turned, 0.5))
        there, back = (
            passage(free(scales), perturbed, None, self.order, a, unscaled=False) for a in (SPACING, -SPACING)
        )
        each = 0 if is_free else 2 * len(weights(self.order)) + 1
        return base._replace(
            memory=7 + base.memory, evaluations_at_start=base.evaluations_at_start + each,
            enter=in_turn(there, in_parts(halves)),
            leave=in_turn(in_parts(tuple((flow, -part) for flow, part in reversed(halves))), back),
            evaluations_per_passage=each,
        )  # fmt: skip

    def composed(self, fractions: Sequence[float]) -> Splitting | CompensatedSplitting:
        """The composition of leapfrog without its corrector, which belongs to one length of the steps."""
        return self.leapfrog.composed(fractions)


@prepared
class ProcessedComposition(NamedTuple):
    """A composition in other variables: steps of the fractions of the kernel, entered by those of the processor.

    The processor goes nowhere in all; the opposite fractions in the opposite order lead back. Of the errors of the
    kernel, those that are commutators with the motion vanish. [blanes2024]
    """

    base: Splitting
    kernel: tuple[float, ...]
    processor: tuple[float, ...]

    @property
    def has_corrector(self) -> bool:
        """Whether steps are made in other variables."""
        return True

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The flows of a step."""
        return self.base.composed(self.kernel).stages

    def prepared_flows(self, depends: Depends, scales: Scales) -> tuple[Any, ...]:
        """The flows that are prepared for these scales: those of the steps and those of the processor."""
        rows = (self.kernel, self.processor)
        return tuple(f for row in rows for f in self.base.composed(row).prepared_flows(depends, scales))

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> BoundStep:
        """A step of the kernel, with the changes of variables `enter` and `leave`."""
        rows = (self.kernel, self.processor, tuple(-x for x in reversed(self.processor)))
        steps, there, back = (self.base.composed(row).bind(pull, depends, scales) for row in rows)
        each = there.evaluations_at_start + (there.evaluations_per_step or 0)
        return steps._replace(
            memory=7 + steps.memory, evaluations_at_start=steps.evaluations_at_start + each,
            enter=as_flow(there), leave=as_flow(back), evaluations_per_passage=each,
        )  # fmt: skip


def as_flow(bound: BoundStep) -> Flow:
    """One step from the start, as a flow."""
    start, step = bound.start, bound.step

    def flow(body: Inertia, p: Params, t: float, s: State, h: float) -> State:
        return step(body, p, t, s, h, start(body, p, t, s))[0]

    return flow
