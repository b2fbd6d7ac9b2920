"""A slender body without its spin.

Let a body have two equal moments, and a torque that stays the same however the body is turned about its third axis, as
that of a weight on the axis does. Then the spin about the axis is a free choice: in a frame that turns about the axis
at another rate than the body, attitude and momentum obey the same equations with another third moment, and with the
same as the other two they are those of a sphere. There the momentum of a free body stands still, and the attitude turns
at |m| / I, which for a slender body is slower than |w|, by up to the ratio of its moments: so are the torque and all
that a step has to follow. The momentum along the axis is constant, and the angle between the two frames is known.
"""

from functools import lru_cache

from polhode.core.dd import PI
from polhode.core.drive import STATE
from polhode.core.exact import fine_difference
from polhode.core.flows import turning
from polhode.core.ops import fma, two_product
from polhode.core.trig import INVERSE_PI, ROUND
from polhode.core.types import Flow, Memory, Params, Rotor, State, Stepper


def without_spin(stepper: Stepper, axis: int) -> Stepper:
    """The steps of a body that is symmetric about this principal axis, from 1 to 3, made on the sphere."""
    start, step = stepper.start, stepper.step
    e = axis % 3

    def sphere(body: Rotor) -> Rotor:
        i, j = body.inertia[e], body.inverse[e]
        return Rotor((i, i, i), (j, j, j))

    def start_inside(body: Rotor, p: Params, t: float, s: State) -> Memory:
        return start(sphere(body), p, t, s)

    def step_inside(body: Rotor, p: Params, t: float, s: State, h: float, memory: Memory) -> tuple[State, Memory, int]:
        return step(sphere(body), p, t, s, h, memory)

    return stepper._replace(
        start=start_inside, step=step_inside, enter=spun(axis, -1.0), leave=spun(axis, 1.0), any_length=True,
        memory=STATE + stepper.memory,
    )  # fmt: skip


@lru_cache(maxsize=6)
def spun(axis: int, way: float) -> Flow:
    """From the frame without spin, which at the time zero is that of the body, to the body, or the other way."""
    turned, k, e = turning(axis), axis - 1, axis % 3

    def flow(body: Rotor, p: Params, t: float, s: State, h: float) -> State:
        rate, rate_low = fine_difference(body.inertia[e], body.inertia[k])
        spin, spin_low = two_product(rate, way * s.m[k])
        half, low = two_product(spin, 0.5 * t)
        low += 0.5 * t * fma(rate_low, way * s.m[k], spin_low)
        turns = fma(half, INVERSE_PI, ROUND) - ROUND
        whole, rest = two_product(turns, PI[0])
        there = turned(s, ((half - whole) - rest) + fma(-turns, PI[1], low))
        odd = turns - 2.0 * (fma(turns, 0.5, ROUND) - ROUND)  # then sine and cosine have the other sign
        sign, q = 1.0 - 2.0 * odd * odd, there.q
        return State((sign * q[0], sign * q[1], sign * q[2], sign * q[3]), there.m)

    return flow
