"""Torques that are sampled: at some times a law looks at the body, and what it returns is held until the next sample.

What is held are carried numbers of the state. At the start of each piece of the span (`kernels/loop/pieces.py`) they
may change; within a step they do not. So every method can integrate such a torque: `holding` makes a stepper of states
without carried numbers into one that takes them along.
"""

from math import floor
from typing import Any

from polhode.kernels.algebra.quat import conjugate, multiply, to_space
from polhode.kernels.gyrostat import body_at, rate_of
from polhode.kernels.ops import lane
from polhode.kernels.states import from_each, in_lane
from polhode.kernels.types import BoundStep, Inertia, Params, State, UserTorque

ALMOST = 1e-9
"""A time that misses a sample by less than this part of the period is that of the sample: times are rounded."""


def sample_number(t: float, period: float, phase: float) -> int:
    """The number of the last sample at or before a time."""
    return floor((t - phase) / period + ALMOST)


def is_due(t: float, period: float, phase: float, last: float) -> bool:
    """Whether a sample is due that was not taken. Lanes agree on that: the first decides."""
    return sample_number(t, lane(period, 0), lane(phase, 0)) > lane(last, 0)


def principal_sample(sample: UserTorque, *, tilted: bool) -> Any:
    """Returns `(body, p, t, state) -> state`, which has the carried numbers that the law returns."""

    def taken(body: Inertia, p: Params, t: float, s: State) -> State:
        q, w = s.q, rate_of(body_at(body, p, t), s.m)
        if tilted:
            q = multiply(s.q, conjugate(p.axes))
            w = to_space(p.axes, w)
        return State(s.q, s.m, sample(t, q, w, p.values, s.z))

    return taken


def sample_lane_by_lane(sample: UserTorque, lanes: int, carried: int) -> UserTorque:
    """The samples of several bodies at once, taken body by body: for laws that cannot be vectorised."""

    def each(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
        found = [sample(t, in_lane(q, i), in_lane(w, i), p[i], in_lane(z, i)) for i in range(lanes)]
        return from_each(found, carried)

    return each


def held_torque(kernel: UserTorque) -> UserTorque:
    """A torque whose carried numbers only wait, for methods without them: they stand beside its parameters."""

    def torque(t: float, q: Any, w: Any, p: Any) -> Any:
        return kernel(t, q, w, p[0], p[1])[0]

    return torque


def holding(stepper: BoundStep, carried: int) -> BoundStep:
    """A stepper that takes carried numbers along unchanged."""
    begin, move, exact, again = stepper.start, stepper.step, stepper.exactly, stepper.again
    plain: Any = stepper

    def seen(p: Params, z: Any) -> Params:
        return Params((p.values, z), p.axes, p.window, p.tuning)

    def start(body: Inertia, p: Params, t: float, s: State) -> Any:
        return begin(body, seen(p, s.z), t, State(s.q, s.m))

    def step(body: Inertia, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[Any, Any, int]:
        new, fresh, status = move(body, seen(p, s.z), t, State(s.q, s.m), h, memory)
        return State(new.q, new.m, s.z), fresh, status

    made: Any = plain._replace(start=start, step=step, carried=carried)
    if exact is None or again is None:
        return made  # type: ignore[no-any-return]

    def exactly(body: Inertia, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[Any, Any, int]:
        new, fresh, status = exact(body, seen(p, s.z), t, State(s.q, s.m), h, memory)
        return State(new.q, new.m, s.z), fresh, status

    def once_more(body: Inertia, p: Params, t: float, s: State, memory: Any) -> Any:
        return again(body, seen(p, s.z), t, State(s.q, s.m), memory)

    return made._replace(exactly=exactly, again=once_more)  # type: ignore[no-any-return]
