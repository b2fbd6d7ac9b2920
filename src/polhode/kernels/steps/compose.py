"""Makes steps of lists of flows, and steps of higher order of steps.

A splitting is data: a list of (flow, fraction). Scaling, concatenating and merging are list algebra in plain Python;
at the end one short text is written, with every fraction in it, and becomes the step (docs/decisions/0002).
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple, Protocol

from polhode.kernels.algebra.quat import normalised, rescaling, tidied
from polhode.kernels.codegen import function
from polhode.kernels.free.exact_flow import added
from polhode.kernels.gyrostat import body_at, veer
from polhode.kernels.states import summed, turned
from polhode.kernels.status import OK
from polhode.kernels.steps import tangent
from polhode.kernels.steps.flows import RANKED, is_prepared, kick, kick_ahead, push, spin1, spin2, spin3
from polhode.kernels.steps.packing import packing
from polhode.kernels.types import BoundStep, Depends, Inertia, Memory, Params, Pull, Quat, Scales, Start, State, Vec3


class Scheme(Protocol):
    """A recipe for a step that has not been given its torque yet."""

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> BoundStep:
        """Binds the scheme to its torque. Without scales, the flows are prepared for steps of any size."""
        ...


def composed(scheme: Scheme, fractions: Sequence[float]) -> Scheme:
    """Steps of these fractions, one after the other, as one step; some schemes have a way of their own."""
    own = getattr(scheme, "composed", None)
    return own(fractions) if own else ComposedStep(scheme, tuple(fractions))


def reads_scales(scheme: Any) -> bool:
    """Whether a scheme, or a part of it, has flows that are prepared for the sizes of a run."""
    parts = [s.flow for s in scheme.stages] if isinstance(scheme, Splitting) else []
    parts += [getattr(scheme, name) for name in ("base", "drift") if hasattr(scheme, name)]
    return is_prepared(scheme) or any(map(reads_scales, parts))


def nothing(body: Inertia, p: Params, t: float, s: State) -> Memory:
    """The empty memory of a method that has none."""
    return ()


@cache
def nothing_of(count: int) -> Start:
    """The start of a method whose memory begins as `count` zeros."""
    zeros = (0.0,) * count

    def start(body: Inertia, p: Params, t: float, s: State) -> Memory:
        return zeros

    return start


class Stage(NamedTuple):
    """One flow for a fraction of the step."""

    flow: Callable[..., Any]
    fraction: float
    ahead: float = 0.0
    """For a kick: the k of `flows.ahead`, over h^2. If it is not zero, the kick takes the torque ahead."""

    @property
    def evaluations(self) -> int:
        """How many times the stage evaluates the torque."""
        return 0 if self.flow is not kick else 2 if self.ahead else 1


SHORT_CHAIN = 7
"""Stages up to which a step is a short chain (docs/decisions/0004)."""


class Splitting(NamedTuple):
    """A step as a list of flows. `kick` stands for the torque, and `veer` for the rotor of a gyrostat.

    Time advances with the drifts (all flows but these two), and each kind of drift advances it by an equal share. So a
    kick sees the time that belongs to its attitude, and a symmetric list gives a symmetric step for torques that depend
    on time as well.
    """

    stages: tuple[Stage, ...]

    def times(self) -> list[float]:
        """The time, in steps, at which each stage begins."""
        drifts = {s.flow for s in self.stages if s.flow not in (kick, veer)}
        clock, out = 0.0, []
        for s in self.stages:
            out.append(clock)
            if s.flow in drifts:
                clock += s.fraction / len(drifts)
        return out

    def without_kicks(self) -> "Splitting":
        """The splitting for a free body."""
        return merged(s for s in self.stages if s.flow is not kick)

    def without_veers(self) -> "Splitting":
        """The splitting for a body without a rotor."""
        return merged(s for s in self.stages if s.flow is not veer)

    def composed(self, fractions: Sequence[float]) -> "Splitting":
        """Steps of these fractions, one after the other, as one step; equal neighbours become one stage."""
        return merged(Stage(s.flow, g * s.fraction, g * g * s.ahead) for g in fractions for s in self.stages)

    def carries(self, depends: Depends) -> bool:
        """Whether the torque at the end of a step is carried as memory to the start of the next.

        It is if the step begins and ends with a kick and the torque ignores the rate. That saves one evaluation.
        """
        first, last = self.stages[0], self.stages[-1]
        return first.flow is last.flow is kick and not first.ahead and not depends & Depends.RATE

    @property
    def has_tangent(self) -> bool:
        """Whether a step can be made with columns (`tangent.py`)."""
        return all(s.flow in tangent.DIFFERENTIABLE or (s.flow is kick and not s.ahead) for s in self.stages)

    @property
    def is_short_chain(self) -> bool:
        """Whether it is a short chain of kicks and rotations about the axes, each waiting for the one before."""
        return len(self.stages) <= SHORT_CHAIN and {s.flow for s in self.stages} <= {kick, spin1, spin2, spin3, *RANKED}

    def prepared_flows(self, depends: Depends, scales: Scales) -> tuple[Any, ...]:
        """The flows that are prepared for these scales: where they are the same, so is the step."""
        flows, longest = _prepared(self, depends is Depends.NOTHING, scales.gyrostat)
        here = scales._replace(step=longest * scales.step)
        return tuple([f(here) for f in flows])

    def used(self, *, is_free: bool, gyrostat: bool) -> "Splitting":
        """The stages that are needed: without a rotor none are by it, and without a torque no kicks."""
        used = self if gyrostat else self.without_veers()
        return used.without_kicks() if is_free else used

    def longest(self) -> float:
        """The longest fraction of a step."""
        return max((abs(s.fraction) for s in self.stages), default=1.0)

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> BoundStep:
        """Writes one step as one function, with its torque in place."""
        used = self.used(is_free=depends is Depends.NOTHING, gyrostat=scales is not None and scales.gyrostat)
        stages, times = used.stages, used.times()
        carried = used.carries(depends)
        flows = list(dict.fromkeys(s.flow for s in stages))
        here = scales and scales._replace(step=used.longest() * scales.step)
        made = [kick(pull) if f is kick else f(here) if is_prepared(f) else f for f in flows]
        names: dict[str, Any] = {f"flow{i}": f for i, f in enumerate(made)}
        names |= {"push": push, "pull": pull, "State": State, "tidied": tidied, "OK": OK}
        if scales is not None and scales.carried:
            return _with_columns(used, pull, scales._replace(step=used.longest() * scales.step), carried=carried)
        if any(s.ahead for s in stages):
            names["kick_ahead"] = kick_ahead(pull)

        lines = []
        for k, (s, c) in enumerate(zip(stages, times, strict=True)):
            time = "t" if abs(c) < 1e-14 else "t + h" if abs(c - 1.0) < 1e-14 else f"t + {c!r} * h"
            last = k == len(stages) - 1
            if carried and k == 0:
                lines += [f"s = push(s, {s.fraction!r} * h, memory)"]
            elif carried and last:
                lines += [f"memory = pull(body, p, {time}, s)", f"s = push(s, {s.fraction!r} * h, memory)"]
            elif s.ahead:
                lines += [f"s = kick_ahead(body, p, {time}, s, {s.fraction!r} * h, {s.ahead!r} * h * h)"]
            else:
                lines += [f"s = flow{flows.index(s.flow)}(body, p, {time}, s, {s.fraction!r} * h)"]
        if scales and scales.packed and _is_alternating(stages):
            lines, names = _loop(stages, times, names)
        lines += ["return State(tidied(s.q), s.m), memory, OK"]
        if scales and scales.changing:  # the flows of the body as it is in the middle of the step
            lines, names = ["body = body_at(body, p, t + 0.5 * h)", *lines], names | {"body_at": body_at}
        step = function("step(body, p, t, s, h, memory)", lines, names)
        start: Start = pull if carried else nothing
        evaluations = sum(s.evaluations for s in stages)
        return BoundStep(start, step, 3 if carried else 0, int(carried), evaluations - int(carried))


def _with_columns(used: Splitting, pull: Any, scales: Scales, *, carried: bool) -> BoundStep:
    """Writes one step with its tangent: the derivative of the discrete map, stage by stage (`tangent.py`)."""
    count = len(scales.carried) // 6
    opened, closed = tangent.spread(count, 6)
    names: dict[str, Any] = {"opened": opened, "closed": closed, "pull": pull, "tidied": tidied, "OK": OK}
    names |= {"State": State, "TangentState": tangent.TangentState}
    stages, times = used.stages, used.times()
    lines = ["z = opened(s.z)", "s = TangentState(s.q, s.m, z[:3], z[3:])"]
    for flow in dict.fromkeys(s.flow for s in stages):
        if flow is kick:
            names["push"] = tangent.push_columns(pull.__columns__)
        else:
            names[f"flow_{flow.__name__}"] = tangent.tangent_of(flow, scales)

    def moved(s: Stage, c: str, fraction: str) -> list[str]:
        """Writes a stage."""
        if s.flow is not kick:
            return [f"s = flow_{s.flow.__name__}(body, p, t + {c} * h, s, {fraction} * h)"]
        kept = "memory" if carried else "n"  # what is not carried may be of another type than the empty memory
        return [f"{kept} = pull(body, p, t + {c} * h, s)", f"s = push(p, s, {fraction} * h, {kept})"]

    clock = [1.0 if abs(c - 1.0) < 1e-14 else c for c in times]
    if stages[0].flow is kick:
        first = moved(stages[0], repr(clock[0]), repr(stages[0].fraction))
        lines, stages, clock = lines + first[int(carried) :], stages[1:], clock[1:]
    if len(stages) > 2 and len({s.flow for s in stages[::2]}) == len({s.flow for s in stages[1::2]}) == 1:
        # one kind of drift and kicks in turn: a loop, since tangents are long
        for k, row in enumerate((stages[::2], (*stages[1::2], Stage(kick, 0.0))[: len(stages[::2])])):
            names |= {f"fractions{k}": tuple(s.fraction for s in row)}
            names |= {f"times{k}": (*clock[k::2], 0.0)[: len(stages[::2])]}
        lines += [f"for k in range({len(stages[::2])}):"]
        lines += [f"    {line}" for line in moved(stages[0], "times0[k]", "fractions0[k]")]
        lines += ["    if fractions1[k] != 0.0:"]
        lines += [f"        {line}" for line in moved(stages[1], "times1[k]", "fractions1[k]")]
    else:
        for s, c in zip(stages, clock, strict=True):
            lines += moved(s, repr(c), repr(s.fraction))
    lines += [f"return State(tidied(s.q), s.m, closed((*s.zeta, *s.dL))), {'memory' if carried else '()'}, OK"]
    step = function("step(body, p, t, s, h, memory)", lines, names)
    evaluations = sum(s.evaluations for s in used.stages)
    start: Start = pull if carried else nothing
    size = pull.__size__ if carried else 0
    return BoundStep(start, step, size, int(carried), evaluations - int(carried), carried=len(scales.carried))


@lru_cache(maxsize=128)
def _prepared(splitting: Splitting, is_free: bool, gyrostat: bool) -> tuple[tuple[Any, ...], float]:
    """The flows of a splitting that are made for the scales of a run, and its longest fraction of a step."""
    used = splitting.used(is_free=is_free, gyrostat=gyrostat)
    return tuple(f for f in dict.fromkeys(s.flow for s in used.stages) if is_prepared(f)), used.longest()


def _is_alternating(stages: Sequence[Stage]) -> bool:
    """Whether drifts of one kind and kicks alternate, and drifts are first and last."""
    drifts, kicks = stages[::2], stages[1::2]
    alike = len({s.flow for s in drifts}) == 1 and all(s.flow is kick and not s.ahead for s in kicks)
    return len(kicks) > 1 and alike


def _loop(stages: Sequence[Stage], times: Sequence[float], names: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Writes alternating drifts and kicks as a loop: in lanes a flow is long, and many copies would not fit a cache."""
    clock = [1.0 if abs(c - 1.0) < 1e-14 else c for c in times]
    lists: dict[str, Any] = {
        "drifts": tuple(s.fraction for s in stages[::2]), "drift_times": tuple(clock[::2]),
        "kicks": (*(s.fraction for s in stages[1::2]), 0.0), "kick_times": (*clock[1::2], 1.0),
    }  # fmt: skip
    lines = [
        f"for k in range({len(stages[::2])}):",
        "    s = flow0(body, p, t + drift_times[k] * h, s, drifts[k] * h)",
        "    if kicks[k] != 0.0:",
        "        s = flow1(body, p, t + kick_times[k] * h, s, kicks[k] * h)",
    ]
    return lines, names | lists


class Routine(NamedTuple):
    """A scheme written as a function of its torque, whose step returns the new state.

    The steps of `Increments` return the change of the state.

    If the number of evaluations differs from step to step, the last number of the memory counts them.
    """

    make: Callable[[Pull], tuple[Start, Any]]
    memory: int = 0
    evaluations_at_start: int = 0
    evaluations_per_step: int | None = 1

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> BoundStep:
        """Binds the routine to its torque."""
        return BoundStep(*self.make(pull), self.memory, self.evaluations_at_start, self.evaluations_per_step)


Make = Callable[..., tuple[Start, Any]]
"""`make(pull)` returns `start` and `change` of a scheme of increments; where the scheme `takes_state`,
`make(pull, sizes)` does so for a torque that carries numbers, with the sizes below which they count as zero."""


class InLanes(NamedTuple):
    """A form of a scheme of increments whose memory holds vectors and, after them, numbers."""

    make: Make
    vectors: int
    width: int
    numbers: int
    lanes: int = 0
    """The lanes of the register that holds a vector, if more than its width; 0: as many as its width."""


class Increments(NamedTuple):
    """A routine whose step is an increment of the state, which is added plainly or with compensated summation.

    Compensated, the low halves of quaternion and momentum stand in the memory before the routine's own, and the
    quaternion is left unscaled but for powers of two.
    """

    make: Make
    """`make(pull)` returns `start` and `change(body, p, t, s, h, memory) -> (increment of state, memory, status)`."""
    memory: int = 0
    evaluations_at_start: int = 0
    evaluations_per_step: int | None = 1
    compensated: bool = False
    tidy: Callable[[Quat], Quat] = tidied
    """How the quaternion is normalised after a plain sum."""
    in_lanes: tuple[InLanes, ...] = ()
    """Other forms that compute the same bits and are tried first: they compute the points of a step together, in the
    lanes of vector registers. Not every torque can be computed so."""
    keeps_norm: bool = False
    """Whether the increments keep the norm of the quaternion at one by themselves, also compensated."""
    symmetric: "Callable[[int], Increments] | None" = None
    """The scheme to use for a body that is symmetric about this principal axis, from 1 to 3; None: this one."""
    in_halves: bool = False
    """Whether, compensated, `change` takes and returns low halves: `change(body, p, t, s, low, h, memory) -> (increment
    of the state, what rounding left out of it, memory, status)`."""
    takes_state: bool = False
    """Whether a torque may carry numbers of its own along."""
    memory_of_each: int = 0
    """The numbers in the memory that belong to each carried number."""
    changing: "Increments | None" = None
    """The scheme for bodies that change with time; None: this one."""

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> BoundStep:
        """Binds the step to its torque."""
        if scales is not None and scales.changing and self.changing is not None:
            return self.changing.bind(pull, depends, scales)
        if scales is not None and scales.carried:
            return self._bound_to_carried(pull, scales)
        if scales is not None and scales.axis and self.symmetric is not None:
            return self.symmetric(scales.axis).bind(pull, depends, scales._replace(axis=0))
        if scales is not None and scales.form is not None:
            return self._bound_in_lanes(self.in_lanes[scales.form], pull, depends)
        start, change = self.make(of_any_norm(pull) if self.compensated and not self.keeps_norm else pull)
        costs = (self.evaluations_at_start, self.evaluations_per_step)
        if self.compensated:
            made = _compensated(start, change, self.memory, in_halves=self.in_halves)
            return BoundStep(*made, LOW + self.memory, *costs)
        return BoundStep(start, self._adding(change), self.memory, *costs)

    def _adding(self, change: Any) -> Any:
        """The step that adds increments plainly."""
        tidy = self.tidy

        def step(body: Inertia, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[State, Any, int]:
            d, fresh, status = change(body, p, t, s, h, memory)
            new = summed(s, d)
            return turned(new, tidy(new.q)), fresh, status

        return step

    def _bound_to_carried(self, pull: Pull, scales: Scales) -> BoundStep:
        """Binds the step to a torque that carries numbers."""
        count = len(scales.carried)
        make, memory, kept = self.make, self.memory + self.memory_of_each * count, None
        if scales.form is not None:
            form = self.in_lanes[scales.form]
            vectors = form.vectors + count
            make = form.make
            kept = packing(0, vectors, form.width, form.numbers, lanes=form.lanes or form.width)
        columns = None if self.memory_of_each else getattr(pull, "__columns__", None)
        start, change = make(pull.__rows__ if columns else pull, scales.carried)  # type: ignore[attr-defined]
        costs = (self.evaluations_at_start, self.evaluations_per_step)
        step = tangent.in_rows(self._adding(change), columns) if columns else self._adding(change)
        return BoundStep(start, step, memory, *costs, packing=kept, carried=count)

    def _bound_in_lanes(self, form: InLanes, pull: Pull, depends: Depends) -> BoundStep:
        before = LOW if self.compensated else 0
        kept = packing(before, form.vectors, form.width, form.numbers, lanes=form.lanes or form.width)
        stepper = self._replace(make=form.make, memory=kept.parts - before).bind(pull, depends)
        return stepper._replace(memory=before + form.vectors * form.width + form.numbers, packing=kept)


@lru_cache(maxsize=128)
def of_any_norm(pull: Pull) -> Pull:
    """The torque for states whose quaternion has any norm."""

    def torque(body: Inertia, p: Params, t: float, s: State) -> Vec3:
        return pull(body, p, t, State(normalised(s.q), s.m))

    return torque


LOW = 7
"""The number of low halves: four of the quaternion, then three of the momentum."""


def _compensated(start: Start, change: Any, count: int, *, in_halves: bool) -> tuple[Start, Any]:
    """The start and the step that carry the low halves of the state in front of the routine's memory."""

    def begin(body: Inertia, p: Params, t: float, s: State) -> Memory:
        return (*(0.0,) * LOW, *start(body, p, t, s)[:count])

    def added_up(s: State, d: State, low: Any, rest: Any) -> tuple[State, Any]:
        q, m, a, b = s.q, s.m, d.q, d.m
        q0, r0 = added(q[0], low[0], a[0], rest[0])
        q1, r1 = added(q[1], low[1], a[1], rest[1])
        q2, r2 = added(q[2], low[2], a[2], rest[2])
        q3, r3 = added(q[3], low[3], a[3], rest[3])
        m0, l0 = added(m[0], low[4], b[0], rest[4])
        m1, l1 = added(m[1], low[5], b[1], rest[5])
        m2, l2 = added(m[2], low[6], b[2], rest[6])
        k = rescaling((q0, q1, q2, q3))
        return State((k * q0, k * q1, k * q2, k * q3), (m0, m1, m2)), (k * r0, k * r1, k * r2, k * r3, l0, l1, l2)

    def step(body: Inertia, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[State, Any, int]:
        own, rest = memory[LOW : LOW + count], (0.0,) * LOW
        if in_halves:
            d, rest, fresh, status = change(body, p, t, s, memory, h, own)
        else:
            d, fresh, status = change(body, p, t, s, h, own)
        new, low = added_up(s, d, memory, rest)
        return new, (*low, *fresh[:count]), status

    return begin, step


class KickedFreeStep(NamedTuple):
    """Half kicks around a step of the free body (Strang splitting). The memory begins with the carried torque."""

    drift: Scheme
    tidy: Callable[[Quat], Quat] | None = None
    """How the quaternion is normalised at the end, if the drift does not do it: the torque need not wait for it."""

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> BoundStep:
        """Binds the step to its torque; without a torque the step is the drift alone."""
        base = self.drift.bind(pull, Depends.NOTHING, scales)
        if depends is Depends.NOTHING:
            return base if self.tidy is None else base._replace(step=_tidying(base.step, self.tidy))
        start, drift, kept, tidy = base.start, base.step, base.memory, self.tidy

        def begin(body: Inertia, p: Params, t: float, s: State) -> Memory:
            fresh, n = start(body, p, t, s), pull(body, p, t, s)
            return (*n, *fresh[:kept])

        def step(body: Inertia, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[State, Any, int]:
            drifted, fresh, status = drift(body, p, t, push(s, 0.5 * h, memory), h, memory[3 : 3 + kept])
            n = pull(body, p, t + h, drifted)
            if tidy is not None:
                drifted = State(tidy(drifted.q), drifted.m)
            return push(drifted, 0.5 * h, n), (*n, *fresh[:kept]), status

        return BoundStep(begin, step, 3 + kept, 1, 1)


def _tidying(step: Any, tidy: Callable[[Quat], Quat]) -> Any:
    """The step with its quaternion normalised by `tidy`."""

    def tidied_step(body: Inertia, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[State, Any, int]:
        new, fresh, status = step(body, p, t, s, h, memory)
        return State(tidy(new.q), new.m), fresh, status

    return tidied_step


class ComposedStep(NamedTuple):
    """Steps of the given fractions, one after the other; the memory passes from one to the next."""

    base: Scheme
    fractions: tuple[float, ...]

    def composed(self, fractions: Sequence[float]) -> "ComposedStep":
        """The composition of this composition, which is again one of the base."""
        return ComposedStep(self.base, tuple(g * f for g in fractions for f in self.fractions))

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> BoundStep:
        """Writes one step as one function, with its torque in place."""
        base = self.base.bind(pull, depends, scales)
        lines, clock = [], 0.0
        for f in self.fractions:
            lines += [f"s, memory, status = base(body, p, t + {clock!r} * h, s, {f!r} * h, memory)"]
            lines += ["if status != OK:", "    return s, memory, status"]
            clock += f
        step = function(
            "step(body, p, t, s, h, memory)", [*lines, "return s, memory, OK"], {"base": base.step, "OK": OK}
        )
        each = base.evaluations_per_step
        return base._replace(step=step, evaluations_per_step=None if each is None else len(self.fractions) * each)


def merged(stages: Iterable[Stage]) -> Splitting:
    """Merges neighbours of one kind into one stage: a flow composed with itself is the flow of the sum of the times."""
    out: list[Stage] = []
    for s in stages:
        if out and (out[-1].flow, out[-1].ahead) == (s.flow, s.ahead):
            out[-1] = s._replace(fraction=out[-1].fraction + s.fraction)
        else:
            out.append(s)
    return Splitting(tuple(out))


def triple_jump(order: int) -> tuple[float, float, float]:
    """Three fractions that raise a symmetric method of even order by two.  [yoshida1990, creutz1989]"""
    a = 1 / (2 - 2 ** (1 / (order + 1)))
    return (a, 1 - 2 * a, a)


def suzuki(order: int) -> tuple[float, float, float, float, float]:
    """Five fractions that raise the order by two, with smaller errors than `triple_jump`.  [suzuki1990]"""
    a = 1 / (4 - 4 ** (1 / (order + 1)))
    return (a, a, 1 - 4 * a, a, a)
