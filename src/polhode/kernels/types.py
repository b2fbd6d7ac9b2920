"""The types of the values that kernels pass to each other."""

import enum
from collections.abc import Callable
from typing import Any, NamedTuple

Vec3 = tuple[float, float, float]
Quat = tuple[float, float, float, float]
Memory = tuple[float, ...]


class Depends(enum.Flag):
    """What a torque depends on. NOTHING means that there is no torque: the body is free."""

    NOTHING = 0
    POSITION = enum.auto()
    """The attitude at most: a constant torque has this flag, too."""
    TIME = enum.auto()
    RATE = enum.auto()


class State(NamedTuple):
    """Attitude quaternion (principal axes to space, scalar first) and angular momentum in principal axes."""

    q: Quat
    m: Vec3
    z: tuple[float, ...] = ()
    """Numbers that a torque carries along, which obey differential equations of their own."""


class Inertia(NamedTuple):
    """The body as kernels see it: its principal moments and their inverses."""

    inertia: Vec3
    inverse: Vec3


class Gyrostat(NamedTuple):
    """A body with a rotor as kernels see it: a type of its own, so that bodies without one pay nothing for it."""

    inertia: Vec3
    inverse: Vec3
    internal: Vec3
    """The constant internal angular momentum, in principal axes."""


class Changing(NamedTuple):
    """A body that changes with time, as kernels see it; `momentary` in `kernels/gyrostat.py` has it at one time."""

    inertia: Vec3
    inverse: Vec3
    internal: Vec3
    table: tuple[Any, ...]
    """The handle of the table of its tensor, and the piece of it that holds for all of the window, or -1; then 1.0 if
    anything is beside its diagonal."""


class Momentary(NamedTuple):
    """A body that changes and has a full tensor, at one time."""

    inertia: Vec3
    inverse: Vec3
    """The diagonal of the inverse tensor."""
    internal: Vec3
    across: Vec3
    """The elements 23, 13 and 12 of the inverse tensor."""
    t: float


class Params(NamedTuple):
    """Numbers that only the torque reads, and two numbers for the method.

    `values` is the torque's own parameter array; `axes` turns principal axes into the user's; `window` is the open
    interval between two breakpoints in which the torque is evaluated. `tuning` holds numbers of the method, such as its
    tolerance, that change without a new compilation.
    """

    values: Any
    axes: Quat
    window: tuple[float, float]
    tuning: tuple[float, float] = (0.0, 0.0)


UserTorque = Callable[..., Any]
"""`(t, q, w, p) -> three numbers`: the torque as users write it, in their body axes. One that carries numbers z is
called as `(t, q, w, p, z)` and returns two things: the torque, and the time derivatives of these numbers."""

Pull = Callable[[Inertia, Params, float, State], Vec3]
"""`(body, p, t, state) -> torque`: the torque as methods call it, in principal axes. One that carries numbers returns
the torque and the derivatives of these."""

Flow = Callable[[Inertia, Params, float, State, float], State]
Start = Callable[[Inertia, Params, float, State], Memory]
Step = Callable[[Inertia, Params, float, State, float, Any], tuple[State, Any, int]]


class Scales(NamedTuple):
    """The sizes of a run at its start, from which flows choose their resolution once."""

    inertia: Vec3
    momentum: Vec3
    step: float
    torque: float = 0.0
    """The size of the torque at the start, from which a body at rest may gain speed."""
    may_quicken: bool = False
    """Whether the torque changes with time or rate, so that its size at the start says little."""
    conserves: bool = False
    """Whether the torque has a potential, so that a body gains no more speed than that can give."""
    many: bool = False
    """Whether these are the scales of one body among many; then its symmetry must not be used."""
    effort: tuple[float, float] = (0.0, 0.0)
    """The greatest `exact_flow.effort` among many bodies."""
    packed: bool = False
    """Whether a number stands for several bodies: then flows cannot branch, and return NaN where they would have to."""
    axis: int = 0
    """The principal axis, from 1 to 3, about which the body is symmetric, for schemes that use it; 0: none."""
    gyrostat: bool = False
    """Whether the body has a rotor, a constant internal angular momentum."""
    changing: int = 0
    """The elements of its tensor that change with time: none, 3 or 6."""
    form: int | None = None
    """The index of the form of a scheme that computes the points of a step together; None: the plain form."""
    carried: tuple[float, ...] = ()
    """The sizes below which the numbers that the torque carries count as zero, one for each; 0.0: not known."""
    shared: bool = False
    """Whether flows take one of few resolutions, so that runs of other bodies need no other program."""


class Packing(NamedTuple):
    """How a memory that is not a tuple of floats inside the loop is loaded from floats and stored as floats.

    `load(x, k)` and `store(x, k, memory)` find its floats at x[k] and after. A count of evaluations is the last part.
    """

    parts: int
    load: Callable[[Any, int], Any]
    store: Callable[[Any, int, Any], None]


class BoundStep(NamedTuple):
    """A method bound to a torque, as a driver calls it."""

    start: Start
    step: Step
    memory: int
    """The number of floats that the method carries from step to step."""
    evaluations_at_start: int
    evaluations_per_step: int | None
    """None if it varies: then the last number of the memory counts all evaluations, those of the start included."""
    exactly: Step | None = None
    """For a stepper that chooses the length of its steps: a step of exactly the length h. In its `step`, h is the
    length to choose from, and the first number of the memory is the length that was made."""
    again: Callable[[Inertia, Params, float, State, Any], Memory] | None = None
    """For such a stepper: returns the memory with which it restarts beyond a jump of the torque."""
    limited: bool = False
    """For such a stepper: whether no step is longer than h. Then h may be shortened to end at the right time."""
    enter: Flow | None = None
    leave: Flow | None = None
    """For a stepper with a corrector: `enter` goes from the true state to the state that steps of length h are made on,
    and `leave` goes back. The latter state is kept in the first seven numbers of the memory, in front of those that
    `start` and `step` see."""
    evaluations_per_passage: int = 0
    """Torque evaluations of one `enter` or `leave`. Those of the first `enter` count as evaluations at the start."""
    packing: Packing | None = None
    carried: int = 0
    """The number of numbers in a state that belong to the torque."""
    gyrostat: bool = False
    """Whether the body is a `Gyrostat`."""
    changing: int = 0
    """The elements of the tensor of the body that change with time: none, 3 or 6."""
    sample: "Callable[[Inertia, Params, float, Any], Any] | None" = None
    """For a torque that is sampled: returns the state with what is held from a time on, where a piece begins."""
