"""The values that kernels pass round."""

import enum
from collections.abc import Callable
from typing import Any, NamedTuple

Vec3 = tuple[float, float, float]
Quat = tuple[float, float, float, float]
Memory = tuple[float, ...]


class Depends(enum.Flag):
    """What a torque reads. Nothing at all: there is no torque, the body is free."""

    NOTHING = 0
    POSITION = enum.auto()
    """The attitude, or no more than that: a constant torque counts here."""
    TIME = enum.auto()
    RATE = enum.auto()


class State(NamedTuple):
    """Attitude quaternion (principal axes to space, scalar first) and angular momentum in principal axes."""

    q: Quat
    m: Vec3


class Rotor(NamedTuple):
    """What kernels know of a body: principal moments and their inverses."""

    inertia: Vec3
    inverse: Vec3


class Params(NamedTuple):
    """What the torque needs and nothing else reads, and two numbers for the method.

    `values` is the torque's own parameter array; `axes` turns principal axes into the user's; `window` is the
    open interval between two breakpoints in which times are seen. `tuning` are numbers of the method, such as its
    tolerance, that are not worth a program of their own.
    """

    values: Any
    axes: Quat
    window: tuple[float, float]
    tuning: tuple[float, float] = (0.0, 0.0)


UserTorque = Callable[[float, Quat, Vec3, Any], Any]
"""`(t, q, w, p) -> three numbers`, everything in the user's body axes."""

Pull = Callable[[Rotor, Params, float, State], Vec3]
"""The torque as methods see it: in principal axes, of a state."""

Flow = Callable[[Rotor, Params, float, State, float], State]
Start = Callable[[Rotor, Params, float, State], Memory]
Step = Callable[[Rotor, Params, float, State, float, Any], tuple[State, Any, int]]


class Scales(NamedTuple):
    """The sizes that a run starts with, for flows that choose once how finely they work."""

    inertia: Vec3
    momentum: Vec3
    step: float
    torque: float = 0.0
    """Its size at the start: from it a body at rest may gain speed."""
    may_quicken: bool = False
    """Whether the torque changes with time or rate, so that its size at the start says little."""
    conserves: bool = False
    """Whether the torque has a potential, so that a body gains no more speed than that can give."""
    many: bool = False
    """Whether these are the scales of one body among many: its symmetry is not theirs."""
    effort: tuple[float, float] = (0.0, 0.0)
    """Of the most demanding among many bodies, as `exact.effort` has it."""
    packed: bool = False
    """Whether a number stands for several bodies: then flows cannot branch, and give up what needs it (as NaN)."""
    axis: int = 0
    """The principal axis, from 1 to 3, about which the body is symmetric, for schemes to which that matters."""
    form: int | None = None
    """Which of the forms of a scheme that compute the points of a step together is meant, if any."""


class Packing(NamedTuple):
    """A memory that is no tuple of floats while the loop goes: how many parts it has, and how it is read and written.

    `load(x, k)` and `store(x, k, memory)` find its floats at x[k] and after. A count of evaluations is the last part.
    """

    parts: int
    load: Callable[[Any, int], Any]
    store: Callable[[Any, int, Any], None]


class Stepper(NamedTuple):
    """A method bound to a torque: everything that a driver needs."""

    start: Start
    step: Step
    memory: int
    """How many floats the method carries from step to step."""
    evaluations_at_start: int
    evaluations_per_step: int | None
    """None: the last number of the memory counts all evaluations since the start, and those of the start."""
    exactly: Step | None = None
    """Of a stepper that chooses the length of its steps: a step of just this length. Then h is the length that its
    `step` may choose from, and the first number of the memory says how far it went."""
    again: Callable[[Rotor, Params, float, State, Any], Memory] | None = None
    """Of such a stepper: the memory with which it starts anew beyond a jump of the torque."""
    limited: bool = False
    """Of such a stepper: whether no step is longer than h, which then may be shortened to end at the right time."""
    enter: Flow | None = None
    leave: Flow | None = None
    """Of a stepper with a corrector: from the state that is seen to the one that steps of length h are made on, and
    back. The latter stands in the first seven numbers of the memory, which neither `start` nor `step` sees."""
    evaluations_per_passage: int = 0
    """Of the torque, by one of the two. Those of the first `enter` are among the evaluations at the start."""
    packing: Packing | None = None
