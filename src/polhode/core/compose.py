"""Lists of flows into steps, and steps into steps of higher order.

A splitting is data: a list of (flow, fraction). Scaling, concatenating and merging are list algebra in plain Python;
at the end one short text is written, with every fraction in it, and becomes the step (docs/decisions/0002).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from polhode.core.flows import free, kick, push
from polhode.core.quat import tidied
from polhode.core.status import OK
from polhode.core.text import function
from polhode.core.types import Depends, Memory, Params, Pull, Rotor, Scales, Start, State, Stepper


class Scheme(Protocol):
    """How a step is made, waiting for its torque."""

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> Stepper:
        """The scheme with its torque in place. Without scales, flows are prepared for anything."""
        ...

    def composed(self, fractions: Sequence[float]) -> "Scheme":
        """Steps of these fractions in a row, as one step."""
        ...


def nothing(body: Rotor, p: Params, t: float, s: State) -> Memory:
    """The memory of a method that has none."""
    return ()


def nothing_of(count: int) -> Start:
    """The memory of a method that starts with so many zeros."""
    zeros = (0.0,) * count

    def start(body: Rotor, p: Params, t: float, s: State) -> Memory:
        return zeros

    return start


class Stage(NamedTuple):
    """One flow for a fraction of the step."""

    flow: Callable[..., Any]
    fraction: float


class Splitting(NamedTuple):
    """A step as a list of flows. `kick` stands for the torque.

    Time advances with the drifts (all flows but the kick), each kind carrying an equal share of the clock: a kick sees
    the time of its position, and a symmetric list gives a symmetric step for torques that depend on time as well.
    """

    stages: tuple[Stage, ...]

    def times(self) -> list[float]:
        """The time, in steps, at which each stage begins."""
        drifts = {s.flow for s in self.stages if s.flow is not kick}
        clock, out = 0.0, []
        for s in self.stages:
            out.append(clock)
            if s.flow in drifts:
                clock += s.fraction / len(drifts)
        return out

    def without_kicks(self) -> "Splitting":
        """The free motion of the same method."""
        return merged(s for s in self.stages if s.flow is not kick)

    def composed(self, fractions: Sequence[float]) -> "Splitting":
        """Steps of these fractions in a row, as one step; neighbours of one kind become one stage."""
        return merged(Stage(s.flow, g * s.fraction) for g in fractions for s in self.stages)

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> Stepper:
        """One step as one function.

        If the step begins and ends with a kick and the torque ignores the rate, the torque at the end of a step is
        the torque at the start of the next: it is carried as memory and one evaluation is saved.
        """
        used = self.without_kicks() if depends is Depends.NOTHING else self
        stages, times = used.stages, used.times()
        carried = stages[0].flow is kick and stages[-1].flow is kick and not depends & Depends.RATE
        kicks = sum(s.flow is kick for s in stages)
        flows = list(dict.fromkeys(s.flow for s in stages))
        longest = max((abs(s.fraction) for s in stages), default=1.0)
        made: dict[Any, Any] = {kick: kick(pull)}
        if free in flows:
            made[free] = free(scales and scales._replace(step=longest * scales.step))
        names: dict[str, Any] = {f"flow{i}": made.get(f, f) for i, f in enumerate(flows)}
        names |= {"push": push, "pull": pull, "State": State, "tidied": tidied, "OK": OK}

        lines = []
        for k, (s, c) in enumerate(zip(stages, times, strict=True)):
            time = "t" if c == 0.0 else "t + h" if abs(c - 1.0) < 1e-14 else f"t + {c!r} * h"
            last = k == len(stages) - 1
            if carried and k == 0:
                lines += [f"s = push(s, {s.fraction!r} * h, memory)"]
            elif carried and last:
                lines += ["memory = pull(body, p, t + h, s)", f"s = push(s, {s.fraction!r} * h, memory)"]
            else:
                lines += [f"s = flow{flows.index(s.flow)}(body, p, {time}, s, {s.fraction!r} * h)"]
        lines += ["return State(tidied(s.q), s.m), memory, OK"]
        step = function("step(body, p, t, s, h, memory)", lines, names)
        start: Start = pull if carried else nothing
        return Stepper(start, step, 3 if carried else 0, int(carried), kicks - int(carried))


class Routine(NamedTuple):
    """A scheme written as a function of its torque: Runge-Kutta, Newmark and whatever else is no splitting."""

    make: Callable[[Pull], tuple[Start, Any]]
    memory: int = 0
    evaluations_at_start: int = 0
    evaluations_per_step: int = 1

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> Stepper:
        """The routine with its torque in place."""
        return Stepper(*self.make(pull), self.memory, self.evaluations_at_start, self.evaluations_per_step)

    def composed(self, fractions: Sequence[float]) -> "Composed":
        """Steps of these fractions in a row, as one step."""
        return Composed(self, tuple(fractions))


class Composed(NamedTuple):
    """Steps of the given fractions in a row; the memory passes from one to the next."""

    base: Routine
    fractions: tuple[float, ...]

    def composed(self, fractions: Sequence[float]) -> "Composed":
        """Compositions of compositions are compositions."""
        return Composed(self.base, tuple(g * f for g in fractions for f in self.fractions))

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> Stepper:
        """One step as one function."""
        base = self.base.bind(pull, depends, scales)
        lines, clock = [], 0.0
        for f in self.fractions:
            lines += [f"s, memory, status = base(body, p, t + {clock!r} * h, s, {f!r} * h, memory)"]
            lines += ["if status != OK:", "    return s, memory, status"]
            clock += f
        step = function(
            "step(body, p, t, s, h, memory)", [*lines, "return s, memory, OK"], {"base": base.step, "OK": OK}
        )
        return base._replace(step=step, evaluations_per_step=len(self.fractions) * base.evaluations_per_step)


def merged(stages: Iterable[Stage]) -> Splitting:
    """Neighbours of one kind as one stage: a flow composed with itself is the flow of the sum of the times."""
    out: list[Stage] = []
    for s in stages:
        if out and out[-1].flow is s.flow:
            out[-1] = Stage(s.flow, out[-1].fraction + s.fraction)
        else:
            out.append(s)
    return Splitting(tuple(out))


def triple_jump(order: int) -> tuple[float, float, float]:
    """Fractions that raise a symmetric method of this (even) order by two.  [yoshida1990, creutz1989]"""
    a = 1 / (2 - 2 ** (1 / (order + 1)))
    return (a, 1 - 2 * a, a)


def suzuki(order: int) -> tuple[float, float, float, float, float]:
    """Five fractions that raise a symmetric method of this (even) order by two, with smaller errors.  [suzuki1990]"""
    a = 1 / (4 - 4 ** (1 / (order + 1)))
    return (a, a, 1 - 4 * a, a, a)
