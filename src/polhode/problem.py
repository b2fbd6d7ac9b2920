"""What is asked, what will be done, and what it took: `Problem`, `Plan` and `Stats`."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np

from polhode.body import Body
from polhode.compiler import compiles
from polhode.methods import Method
from polhode.support import checks
from polhode.support.arrays import Floats, columns, greatest, least
from polhode.torques import Torque, checked
from polhode.torques.no_torque import Free

HARMLESS = 1e50
"""Sixth powers of numbers between this and its inverse are floats. All methods were right within this range; some are
wrong without a word from 1e60 on, and most below 1e-150."""


NO_STATE: Floats = np.empty(0)
"""The carried state of a torque that carries nothing."""
NO_STATE.flags.writeable = False


T = TypeVar("T")


def frozen(kind: type[T], fields: dict[str, Any]) -> T:
    """Makes a frozen dataclass of all its fields that have no plain default; its own way takes them one by one."""
    one = object.__new__(kind)
    object.__setattr__(one, "__dict__", fields)
    return one


@dataclass(frozen=True, eq=False)
class Problem:
    """The problem to solve: a body, the torque on it, its initial state, the time span, and the output."""

    body: Body
    torque: Torque
    quaternion_start: Floats
    """The attitude at the start, from body to space, scalar first."""
    momentum_start: Floats
    """The angular momentum at the start, in the user's body axes, kg m^2/s."""
    t_start: float
    t_end: float
    """The end of the span, which may lie before its start."""
    times: Floats | None = None
    """The output times, in the order of the run; None: there is output at steps."""
    every: int | None = None
    """The number of steps from one row of output to the next; None: there is output at listed times."""
    omega_given: Floats | None = None
    """The angular velocity at the start as the user gave it: the momentum is rounded. None: only that is known."""
    state_start: Floats = field(default_factory=lambda: NO_STATE)
    """The numbers that the torque carries, at the start."""

    @classmethod
    def given(
        cls, body: Body, torque: Torque | None = None, *, omega: Any, attitude: Any = None,
        t_span: tuple[float, float], t_eval: Any = None, every: int | None = None, state: Any = None,
    ) -> Problem:  # fmt: skip
        """Checks what a user gave, as `simulate` takes it."""
        t_start, t_end = checked_span(t_span)
        acting = Free() if torque is None else checked(torque)
        if not isinstance(body, Body):
            raise TypeError(
                f"body must be a polhode.Body, not {body!r}: "
                f"write Body{'.named' if isinstance(body, str) else ''}({body!r})"
            )
        body.check_span(t_start, t_end)
        acting.check_span(t_start, t_end)
        acting = acting.for_span(t_start, t_end)
        times, stride = checked_output(t_eval, every, t_start, t_end)
        q, m, w, z = _start(body, acting, omega, attitude, state, t_start)
        acting.check_body(body)
        if acting.sample_kernel is not None and t_end < t_start:
            raise ValueError(f"{acting.name} is sampled, and cannot run backward from {t_start:g} to {t_end:g}")
        return frozen(cls, {
            "body": body, "torque": acting, "quaternion_start": q, "momentum_start": m, "t_start": t_start,
            "t_end": t_end, "times": times, "every": stride, "omega_given": w, "state_start": z,
        })  # fmt: skip

    @property
    def span(self) -> float:
        """The signed length of the span, in s."""
        return self.t_end - self.t_start

    @property
    def direction(self) -> float:
        """The direction of time: 1 forward, -1 backward."""
        return 1.0 if self.t_end > self.t_start else -1.0

    @property
    def omega_start(self) -> Floats:
        """The angular velocity at the start, in the user's body axes, rad/s."""
        return self.body.rate(self.momentum_start, self.t_start)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """The times at which the torque jumps, or the tensor of the body."""
        own, acting = self.body.breakpoints, self.torque.breakpoints
        return tuple(sorted({*own, *acting})) if own else acting

    def replace(self, **changed: Any) -> Problem:
        """A copy with changed fields; faster than `dataclasses.replace`."""
        if "momentum_start" in changed or "body" in changed:  # another start, of which nothing was given
            changed.setdefault("omega_given", None)
        return frozen(Problem, self.__dict__ | changed)

    def starting(self, omega: Any, attitude: Any = None, state: Any = None, torque: Torque | None = None) -> Problem:
        """A copy with another initial state, which is checked, and another torque if one is given."""
        acting = self.torque if torque is None else torque
        q, m, w, z = _start(self.body, acting, omega, attitude, state, self.t_start)
        return self.replace(
            torque=acting, quaternion_start=q, momentum_start=m, omega_given=w, state_start=z
        )  # fmt: skip

    def beginning_with(self, start: StartNumbers) -> Problem:
        """A copy with another initial state, which was checked, and output times of its own."""
        q, m, w = start
        times = None if self.times is None else self.times.copy()
        return self.replace(
            quaternion_start=np.array(q), momentum_start=np.array(m), omega_given=np.array(w), times=times
        )

    def until(self, t_end: float, *, t_eval: Any = None, every: int | None = None) -> Problem:
        """A copy with another end and other output, which are checked."""
        start, end = checked_span((self.t_start, t_end))
        self.body.check_span(start, end)
        self.torque.check_span(start, end)
        times, stride = checked_output(t_eval, every, start, end)
        return self.replace(t_end=end, times=times, every=stride, torque=self.torque.for_span(start, end))


def may_be_quick(problem: Problem) -> bool:
    """Whether runs under this torque may be made by one call of compiled code or two."""
    torque = problem.torque
    return compiles() and torque.sample_kernel is None and not torque.calls_python


class StartNumbers(NamedTuple):
    """Attitude, momentum and rate at a start, in the user's axes."""

    quaternion: Sequence[float]
    momentum: Sequence[float]
    omega: Sequence[float]


def start_numbers(problem: Problem) -> StartNumbers:
    """The start of a problem."""
    w = problem.omega_start if problem.omega_given is None else problem.omega_given
    return StartNumbers(problem.quaternion_start.tolist(), problem.momentum_start.tolist(), w.tolist())


class PerturbedStart(NamedTuple):
    """The start of a companion, of one body or of many."""

    quaternion: Floats
    momentum: Floats
    inverses: Floats
    """The inverse principal moments."""


@dataclass(frozen=True, eq=False)
class Plan:
    """The run to make: a method, and the length of its steps."""

    method: Method
    step: float
    """The length of a step in s, negative where time runs backward; of variable steps the first or the longest."""
    longest_step: float | None = None
    """The longest step that exact flows are prepared for; None: it is `step`."""
    torque_size: float | None = None
    """The size of the torque at the very start, from which flows choose how finely they work; None: not tried yet."""
    first_stop: float | None = None
    """An extra end of a step, off the grid: a companion run must reach no row by the same step as the run it judges."""
    at_knots: bool = False
    """Whether steps end at the knots of the torque, too, where a high derivative of it jumps."""
    in_pieces: tuple[float, float] | None = None
    """How the pieces between many breakpoints are divided for a tolerance: each into equal steps, two at least, that
    are not longer than the first number; a companion makes fewer, by the second. None: steps have the given length, and
    the last of each piece is shorter."""

    def replace(self, **changed: Any) -> Plan:
        """A copy with changed fields."""
        return frozen(Plan, self.__dict__ | changed)

    def steps_in_words(self, length: float, steps: int) -> str:
        """How long steps are: as given, or on average where the motion decides it."""
        if steps and (self.method.variable_steps or self.in_pieces is not None):
            return f"steps of {abs(length) / steps:.3g} s on average"
        return f"step {self.step:.6g} s"


@dataclass(frozen=True)
class Stats:
    """The cost of a run."""

    steps: int = 0
    nfev: int = 0
    """Evaluations of the torque."""
    seconds: float = 0.0
    """Wall time in compiled code."""

    def __add__(self, other: Stats) -> Stats:
        return Stats(self.steps + other.steps, self.nfev + other.nfev, self.seconds + other.seconds)


# --- what the user gave, checked -----------------------------------------------------------------------------------


def check_sizes(moments: Floats, momentum: Floats, rates: Floats, first: int | None = None) -> None:
    """Refuses moments, momenta and rates with which methods cannot compute; of many bodies the first has a number.

    The arrays are those of one body, or have a row for each. A body at rest has neither momentum nor rate.
    """
    for name, values in (("moment", moments), ("momentum", momentum), ("rate", rates)):
        sizes = columns(np.abs(np.atleast_2d(values)))
        largest = greatest(sizes)
        smallest = least(sizes) if name == "moment" else largest
        bad = ((smallest <= 1.0 / HARMLESS) & (largest > 0.0)) | (largest >= HARMLESS)
        if bad.any():
            k = int(np.argmax(bad))
            size = float(largest[k] if largest[k] >= HARMLESS else smallest[k])
            speed = np.abs(np.atleast_2d(rates))[k % len(np.atleast_2d(rates))].max()
            power = round(math.log10(size)) if name == "moment" else -round(math.log10(speed))
            unit = f"mass in which moments are nearer to one, here 1e{power} kg (for torques, too)"
            if name != "moment":
                unit = f"time in which the {name} is nearer to one, here 1e{power} s"
            whose = "" if first is None else f" of body {first + k}"
            raise ValueError(
                f"the {name}{whose} is {size:.2g}, and methods compute with sizes from {1.0 / HARMLESS:g} to "
                f"{HARMLESS:g}: choose a unit of {unit}"
            )


def start_of(body: Body, omega: Any, attitude: Any, t: float) -> StartNumbers:
    """Attitude, momentum and rate at a start that a user gave, checked."""
    q = checks.unit_quaternion("attitude", attitude)
    rate = checks.vector("omega", omega)
    momentum, numbers = body.momentum_of_one(rate, t), body.numbers
    small, large = 2.0 / HARMLESS, HARMLESS  # a length is less than twice its greatest component
    if not (
        small < numbers.least and numbers.greatest < large and small < (math.hypot(*momentum) or 1.0) < large
        and small < (math.hypot(*rate) or 1.0) < large
    ):  # fmt: skip
        check_sizes(body.moments, np.array(momentum), np.array(rate))
    return StartNumbers(q, momentum, rate)


def _start(
    body: Body, torque: Torque, omega: Any, attitude: Any, state: Any, t: float
) -> tuple[Floats, Floats, Floats, Floats]:  # fmt: skip
    """The same as arrays, and the numbers that the torque carries at the start."""
    q, m, w = map(np.array, start_of(body, omega, attitude, t))
    return q, m, w, NO_STATE if state is None and not torque.state_names else checked_state(torque, state, w)


def checked_state(torque: Torque, state: Any, omega: Floats) -> Floats:
    """The numbers that a torque carries at the start, as a user gave them: a row, or a dictionary by name.

    Where none are given, a torque may know them from the rate.
    """
    names = torque.state_names
    if not names:
        raise ValueError(
            f"state={state!r} was given, but {torque.name} carries no numbers: make a torque that does, with "
            '@polhode.torque(state=["name", ...])'
        )
    listed = ", ".join(names)
    wanted = [name for name, x in zip(names, torque.known_state, strict=True) if x is None]
    if state is None:
        if (known := torque.state_at_start(omega)) is not None:
            return np.array(known)
        example = dict.fromkeys(wanted, 0.0) if len(wanted) < len(names) else [0.0] * len(names)
        raise ValueError(
            f"{torque.name} carries {', '.join(wanted)}: give their values at the start, as in state={example}"
        )
    if isinstance(state, Mapping):
        if unknown := [str(name) for name in state if name not in names]:
            raise ValueError(f"state has {', '.join(unknown)}, but {torque.name} carries {listed}")
        if missing := [name for name in wanted if name not in state]:
            raise ValueError(f"state has no {', '.join(missing)}: {torque.name} carries {listed}")
        state = [state.get(name, x) for name, x in zip(names, torque.known_state, strict=True)]
    row = checks.row("state", [state] if isinstance(state, int | float) else state)
    if row.size != len(names):
        raise ValueError(f"state must have {len(names)} numbers ({listed}), not {row.size}")
    return np.array(row)


def checked_span(t_span: Any) -> tuple[float, float]:
    """Start and end, if they are two finite numbers that differ."""
    t0, t1 = checks.numbers("t_span", t_span, 2)
    if t0 == t1:
        raise ValueError(f"t_span must have a length: it starts and ends at {t0:g}")
    return t0 + 0.0, t1 + 0.0  # without the sign of a zero, by which equal spans would differ


def checked_output(t_eval: Any, every: int | None, t0: float, t1: float) -> tuple[Floats | None, int | None]:
    """The listed times, or the number of steps between rows."""
    if t_eval is None:
        return None, checks.count("every", 1 if every is None else every, " of steps")
    if every is not None:
        raise ValueError("give either t_eval or every, not both")
    return checked_times(t_eval, t0, t1), None


def checked_times(t_eval: Any, t0: float, t1: float) -> Floats:
    """Output times as an array, if they lie in the span and follow each other."""
    if (listed := checks.plain(t_eval)) is not None and _follow_each_other(listed, t0, t1):
        return t_eval.copy() if isinstance(t_eval, np.ndarray) else np.array(listed)
    times = checks.row("t_eval", t_eval)
    if times.size == 0:
        raise ValueError("t_eval must be a list of times, not empty")
    if not _follow_each_other(times, t0, t1):
        inside = np.clip(times, min(t0, t1), max(t0, t1))
        by_rounding = np.abs(inside - times).max() <= 4 * math.ulp(max(abs(t0), abs(t1)))
        if by_rounding and _follow_each_other(inside, t0, t1):
            return inside
        sign = 1.0 if t1 > t0 else -1.0
        forward = sign * times
        rises = forward[1:] > forward[:-1]
        if not rises.all():
            bad = int(np.argmin(rises))
            raise ValueError(
                f"t_eval must run from t_span[0] to t_span[1] without repetition, but {times[bad]:g} is followed by "
                f"{times[bad + 1]:g}: sort it, and remove duplicates with numpy.unique"
            )
        bad = int(np.argmax((forward < sign * t0) | (forward > sign * t1)))
        raise ValueError(f"t_eval[{bad}] = {float(times[bad])!r} lies outside t_span ({t0!r}, {t1!r})")
    return times


def _follow_each_other(times: Floats | list[float], t0: float, t1: float) -> bool:
    """Whether the times lie on the way from t0 to t1, each beyond the one before."""
    before = operator.lt if t1 > t0 else operator.gt
    if isinstance(times, list):
        ordered = all(map(before, times, times[1:]))
    else:
        ordered = bool(before(times[:-1], times[1:]).all())
    return ordered and not before(times[0], t0) and not before(t1, times[-1])
