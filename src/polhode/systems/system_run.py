"""One run of a system: the compiled loop is called in chunks, and a solution is made of its arrays.

Steps have one length, or adapt to the motion by Gauss collocation with all nodes at once; where forces jump, a run has
several stretches.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from polhode.body import Frame
from polhode.compiler import CompilationFailed, compiles, is_from_callback, program
from polhode.kernels.judge import grid, located
from polhode.kernels.status import Status
from polhode.kernels.systems import bodies, collocation
from polhode.kernels.systems.bodies import AT, COUNTERS, MODES, ROW, SETTING
from polhode.methods import Method
from polhode.problem import NO_STATE, Stats
from polhode.run.binding import OnCompile
from polhode.run.grid import check_steps
from polhode.run.integration import SHOWN_GROWTH, Chunks, Progress, SimulationFailed, keeping_run
from polhode.run.rows import check_room
from polhode.support.arrays import Floats, lengths
from polhode.support.interrupts import is_from_handler
from polhode.systems.forces import Forces, Pairs
from polhode.systems.solution import SystemSolution
from polhode.systems.steps import Langevin, compiled_method
from polhode.systems.system import System

SIGNATURE, SIGNATURE_ADAPTIVE = "pppppppppnndddii", "ppppppppppnndddi"
"""The arguments of the loops over equal steps and over those that adapt."""
FIRST_TURN = 1.0
"""The turn of the fastest body in the first step that adapts, in radians, for an error of one; with others it is
shorter in proportion to all steps. Later steps are as long as their polynomials allow."""
FIRST_PART = 1 / 16
"""The largest part of the span that the first adaptive step covers, for an error of one; it is shorter with smaller
errors, as `FIRST_TURN` is."""
STEP_ERROR, ITERATION_ERROR = 0.5, 0.01
"""The errors that a step may have and that its iteration may leave, over the error that is aimed at."""
REPORTED_PARTS = 1000
"""Progress of steps that adapt is reported in parts of the span."""
FIRST_PAIRS = 4096
"""Pairs of bodies that act on each other in the steps of the first chunk."""
ONE_PLACE = 1e-12
"""Sites that are nearer than this part of the largest coordinate are at one place."""
STRETCH_STEPS = 128
"""The number of steps in one call of the loop, where events or a user read every step."""
UNCOMPILED = (
    "What cannot be compiled can be called as it is: polhode.forces(f, compiled=False) takes any Python function, and "
    "polhode.systems.forces_from_pointer the address of a function in C or Fortran."
)


class SystemPlan(NamedTuple):
    """What is done: a method, its step, where the grid begins and ends, and the output."""

    method: Method
    step: float
    t_start: float
    """Where the grid begins: step i begins at t_start + i step."""
    t_end: float
    first: int = 0
    """The number of the first step."""
    every: int | None = 1
    times: Floats | None = None
    heat: Langevin | None = None
    any_turn: bool = False
    """Whether exact flows are prepared for steps of any length."""
    step_error: float | None = None
    """Where steps adapt: the error that each may have, as its polynomial suggests
    (`kernels/systems/collocation.py`).
    """
    before: int = 0
    """The steps in the stretches before this one, up to jumps of the forces."""
    after: int = 0
    """The steps in those after it."""
    whole: tuple[float, float] | None = None
    """The span of all stretches; None: there is one only."""

    @property
    def t_begin(self) -> float:
        """Where the first step begins."""
        return self.t_start + self.first * self.step

    def stretches(self, jumps: Iterable[float]) -> list["SystemPlan"]:
        """The plans between jumps; each has a grid of its own, and rows are counted through all of them."""
        sign, begin = math.copysign(1.0, self.t_end - self.t_start), self.t_begin
        inside = sorted((t for t in jumps if sign * begin < sign * t < sign * self.t_end), key=lambda t: sign * t)
        if not inside:
            return [self]
        plans, made = list[SystemPlan](), 0
        for t0, t1 in pairwise([begin, *inside, self.t_end]):
            one = self._replace(t_end=t1, before=made, whole=(begin, self.t_end))
            if plans:  # random numbers go on where they were
                first = self.first + made if self.heat is not None else 0
                one = one._replace(t_start=t0 - first * self.step, first=first)
            if self.times is not None:
                later = sign * self.times > sign * t0 if plans else True
                one = one._replace(times=self.times[later & (sign * self.times <= sign * t1)])
            made += 0 if self.step_error is not None else grid(one.t_start, t1, self.step)[0] - one.first
            plans.append(one)
        return [one._replace(after=made - next_.before) for one, next_ in pairwise(plans)] + plans[-1:]


def is_at(t: float, point: float, t_start: float) -> bool:
    """Whether a time is that of a point of a grid that begins at t_start."""
    return abs(t - point) <= 4 * math.ulp(max(abs(t), abs(t_start)))


class AsideFailed(Exception):
    """A step aside, between two looks, could not be made."""

    def __init__(self, status: Status) -> None:
        super().__init__()
        self.status = status


class SystemStep(NamedTuple):
    """A step that was made: where it began and ended."""

    t: float
    before: Floats
    t_new: float
    after: Floats
    number: int
    """Steps made before it."""
    status: Status = Status.OK
    """Why it could not be made, if that is so; then it ends where it began."""
    inside: tuple[tuple[float, Floats], ...] = ()
    """Times after its begin and states there, about as the motion passes them: for looks at a long step."""


equal_driver_of = lru_cache(maxsize=64)(bodies.system_driver)
adaptive_driver_of = lru_cache(maxsize=64)(collocation.adaptive_driver)

_COUNTS = [AT.done, AT.row, AT.evaluations, AT.iterations, AT.rejected, AT.every]
_NO_NUMBERS, _NO_KINDS = np.zeros(2), np.zeros(1, dtype=np.int64)


def _aligned_zeros(count: int) -> Floats:
    """Zeros that begin at a cache line: rows in lanes are not cut by one then."""
    whole = np.zeros(count + 8)
    first = -(whole.ctypes.data // 8) % 8
    return whole[first : first + count]


def setting_of(system: System) -> Floats:
    """The fixed numbers of all bodies, as the loop takes them."""
    out = np.empty((len(system), SETTING))
    for i, (b, mass) in enumerate(zip(system.bodies, system.mass.tolist(), strict=True)):
        out[i] = [*b.moments, *(1.0 / b.moments), *Frame.of(b).axes, *b.principal_rotor, 1.0 / mass]
    return out


def inward(system: System, x: Floats, q: Floats, v: Floats, m: Floats) -> Floats:
    """A state as the loop takes it: one row, in principal axes."""
    q, m = np.array(q), np.array(m)
    if system.is_tilted:
        for i, b in enumerate(system.bodies):
            if not b.aligned:
                state = Frame.of(b).inward(q[i], m[i], NO_STATE)
                q[i], m[i] = state[:4], state[4:7]
    return np.concatenate([x.ravel(), q.ravel(), v.ravel(), m.ravel()])


def at_start(system: System) -> Floats:
    """The state at the start as the loop takes it."""
    return inward(system, system.position, system.quaternion, system.velocity, system.momentum)


def outward(system: System, rows: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Positions, attitudes, velocities and angular momenta of states in rows, in the user's axes."""
    n, count = len(system), len(rows)
    x, q, v, m = (
        np.array(rows[:, a * n : b * n]).reshape(count, n, b - a) for a, b in ((0, 3), (3, 7), (7, 10), (10, 13))
    )
    if system.is_tilted:
        for i, b in enumerate(system.bodies):
            if not b.aligned:
                q[:, i], m[:, i], _ = Frame.of(b).outward(np.concatenate([q[:, i], m[:, i]], axis=1), scaled=False)
    return x, q, v, m


class SystemRun:
    """One run, or a stretch of one between jumps of the forces: a solution can be made of its arrays at any time.

    Whatever changes lives in arrays that the compiled loop fills. How long steps are, and which rows are due, is the
    matter of its `steps`.
    """

    def __init__(
        self, system: System, forces: Forces, plan: SystemPlan, state: Floats | None = None,
        progress: Progress | None = None, on_compile: OnCompile = None,
    ) -> None:  # fmt: skip
        self.system, self.forces, self.progress, self.on_compile = system, forces, progress, on_compile
        self.n = len(system)
        self.values = np.array([*forces.numbers(system), 0.0])
        if np.isnan(self.values).any():
            raise ValueError(f"the numbers of {forces.name} must not be NaN")
        self.setting = setting_of(system).reshape(-1)
        self.y = np.array(at_start(system) if state is None else state)
        self.g = np.zeros(6 * self.n)
        self.before = np.concatenate([self.y, self.g])
        self.work = np.zeros(4 * self.n + forces.room(system) + 1)
        self.count = np.zeros(COUNTERS, dtype=np.int64)
        self.seconds = 0.0
        self.plan = plan
        self.raised = "an exception"
        self.stopped: float | None = None
        self.t_begin = plan.t_begin
        room = forces.room(system)
        self.made = compiled_method(
            plan.method, system, forces.kernel, plan.step, plan.heat, any_turn=plan.any_turn, force_room=room
        )
        self.memory = _aligned_zeros(max(self.made.room, 4))
        """What the steps of the method keep: numbers of a heat bath, or the last polynomials and the step control."""
        self.count[AT.bodies], self.count[AT.room], self.count[AT.operations] = self.n, room, self.made.kinds.size
        if plan.heat is not None:
            self.memory[:3] = plan.heat.numbers
            if plan.heat.resistance is not None:
                self.memory[4 : 4 + MODES * self.n] = plan.heat.modes(system).ravel()
            self.count[AT.seed], self.count[AT.seed_high] = plan.heat.seed & 0xFFFFFFFF, plan.heat.seed >> 32
        self.steps: EqualSteps | AdaptiveSteps = (EqualSteps if plan.step_error is None else AdaptiveSteps)(self)
        self._loop: Callable[..., int] | None = None

    # --- the run

    def loop(self) -> Callable[..., int]:
        """The compiled loop over steps: in lanes, if there is such a step and it can be compiled."""
        if self._loop is None:
            self._loop = self._compiled()
        return self._loop

    def _compiled(self) -> Callable[..., int]:
        what, made = f"{self.plan.method.name} with {self.forces.name}", self.made
        driver, signature = self.steps.driver, self.steps.signature
        if made.in_lanes is not None and self.forces.suits_lanes and compiles():
            with suppress(CompilationFailed):
                return program(driver(made.in_lanes), signature, self.on_compile, tentative=True, what=what)
        try:
            return program(driver(made.step), signature, self.on_compile, what=what)
        except CompilationFailed as problem:
            raise CompilationFailed(f"{what} cannot be compiled:\n{problem}\n{UNCOMPILED}") from None

    def solution(self) -> SystemSolution:
        """Runs to the end, or raises with what there is."""
        return self.guarded(self.steps.to_the_end, self.assembled)

    def guarded(self, run: Callable[[], Status], assembled: Callable[[Status], SystemSolution]) -> SystemSolution:
        """The solution of a run; whatever ends it before has what was computed as its `solution`."""
        with keeping_run(self, assembled):
            status = run()
        if status != Status.OK:
            raise SimulationFailed(assembled(status))
        return assembled(Status.OK)

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Lets others make steps meanwhile, and goes back to where the run was, unless they end it."""
        arrays = (self.y, self.g, self.memory, self.count)
        kept = [np.array(a) for a in arrays]
        yield
        kept[-1][AT.evaluations] = self.count[AT.evaluations]
        for a, b in zip(arrays, kept, strict=True):
            a[:] = b

    def advance(self, target: int) -> Status:
        """Makes steps up to this number, in chunks, or up to the end."""
        steps, chunks = self.steps, Chunks(1 if self.progress else max(1, FIRST_PAIRS // self.n**2), SHOWN_GROWTH)
        while (done := self.done) < target and not steps.is_at_end:
            chunks.begin()
            try:
                status = steps.call(min(target, done + chunks.steps))
            except Exception as problem:
                # Arrays hold all steps before the one in which it came.
                self.y[:] = self.before[: ROW * self.n]
                steps.forget()
                if is_from_handler(problem) or is_from_callback(problem):
                    raise
                self.raised = str(problem) or type(problem).__name__
                return Status.RAISED
            self.seconds += chunks.made(self.done - done)
            if status != Status.OK:
                return Status(status)
            if self.progress:
                self.progress(*steps.passed)
        return Status.OK

    @property
    def done(self) -> int:
        """The steps made."""
        return int(self.count[AT.done])

    # --- what there is

    @property
    def t_reached(self) -> float:
        """The time that was reached."""
        return self.steps.t_reached if self.stopped is None else self.stopped

    def assembled(self, status: Status) -> SystemSolution:
        """A solution of what there is."""
        rows = int(self.count[AT.row])
        return self.solution_of(status, np.array(self.steps.times_of(rows)), self.steps.out[:rows])

    def solution_of(self, status: Status, t: Floats, rows: Floats) -> SystemSolution:
        """A solution with these rows, given as times and states."""
        x, q, v, m = outward(self.system, rows)
        plan, (step, grid, step_error) = self.plan, self.steps.described
        return SystemSolution(
            system=self.system, forces=self.forces, method=plan.method.name, step=step,
            stats=Stats(self.done, int(self.count[AT.evaluations]), self.seconds), t=t, position=x, quaternion=q,
            velocity=v, momentum=m, status=status, message=self._message(status), t_span=(self.t_begin, plan.t_end),
            t_last=self.t_reached, last=np.array(self.y), grid=grid, heat=plan.heat, step_error=step_error,
        )  # fmt: skip

    def _message(self, status: Status) -> str:
        t, body, steps, forces = self.t_reached, int(self.count[AT.body]), self.steps, self.forces.name
        made, of = self.plan.before + self.done, f" of {steps.total:,}" if steps.total else ""
        place = f"after {made:,}{of} steps, at t = {t:.12g}"
        if steps.total is None and status == Status.NO_CONVERGENCE:  # nothing was left of steps made ever shorter
            status = Status.STALLED
        if status in (Status.UNSOUND, Status.RAISED, Status.STALLED) and (near := self._at_one_place()):
            return f"{near} {place}"
        if status == Status.UNSOUND:
            more = ", or its state is," if np.isfinite(self.g).all() else ""
            return f"the forces of {forces} on body {body} are NaN or infinite{more} {place}"
        if status == Status.RAISED:
            return f"the forces {forces} raised {self.raised} {place}"
        if status == Status.OK:
            return f"reached t = {t:.12g} in {made:,} steps"
        remedy = "take shorter steps" if steps.total else "the forces may be infinite or jump there"
        return status.sentence.format(
            method=self.plan.method.name, step=self.plan.step, place=place, remedy=remedy, torque=forces,
            raised=self.raised,
        )  # fmt: skip

    def _at_one_place(self) -> str:
        """Says which bodies have sites at one place, where a potential may be infinite; empty: none have."""
        x, q, _, _ = outward(self.system, self.y[None, :])
        near = nearest_sites(self.system, self.forces, x[0], q[0])
        if near is None or near[2] > ONE_PLACE * max(1.0, float(np.abs(x).max())):
            return ""
        return (
            f"the forces of {near[3]} are infinite: bodies {near[0]} and {near[1]} have sites at one place, "
            f"{near[2]:.3g} apart, move one of them;"
        )


# --- how long steps are --------------------------------------------------------------------------------------------


class EqualSteps:
    """Steps of one length on a grid; output after every few of them, or at times that are reached by steps aside."""

    driver, signature = staticmethod(equal_driver_of), SIGNATURE

    def __init__(self, run: SystemRun) -> None:
        self.run, plan, count = run, run.plan, run.count
        check_steps(plan.t_start, plan.t_end, plan.step)
        steps, self.last = grid(plan.t_start, plan.t_end, plan.step)
        self.count = steps - plan.first
        self.total = plan.before + self.count + plan.after
        self.due = np.zeros(0, dtype=np.int64)
        """After how many steps there are rows, without listed times."""
        if plan.times is None:
            every = plan.every or 1
            check_room(self.count // every + 2, ROW * run.n)
            self.due = np.arange(0 if plan.before == 0 else every - plan.before % every, self.count + 1, every)
            if self.count and not plan.after and (self.due.size == 0 or self.due[-1] != self.count):
                self.due = np.append(self.due, self.count)
            self.out = np.empty((self.due.size, ROW * run.n))
            if plan.before == 0:
                self.out[0], count[AT.row] = run.y, 1
            count[AT.every], count[AT.before], count[AT.ends] = every, plan.before, plan.after == 0
        else:
            check_room(plan.times.size, ROW * run.n)
            self.out = np.empty((plan.times.size, ROW * run.n))
        count[AT.rows], count[AT.steps] = len(self.out), self.count

    def times_of(self, rows: int) -> Floats:
        """The times of the first rows."""
        plan = self.run.plan
        if plan.times is not None:
            return plan.times[:rows]
        t = np.asarray(plan.t_start + (plan.first + self.due[:rows]) * plan.step, dtype=np.float64)
        t[self.due[:rows] == self.count] = plan.t_end
        return t

    def is_row(self, i: int) -> bool:
        """Whether there is a row after i steps."""
        plan, k = self.run.plan, self.run.plan.before + i
        if i == 0 and plan.before:  # it is that at the end of the stretch before
            return False
        return k % (plan.every or 1) == 0 or (i == self.count and not plan.after)

    def call(self, stop: int, last: float | None = None) -> int:
        """Makes steps up to this number; with `last` the last one has that length."""
        run, plan = self.run, self.run.plan
        return run.loop()(
            run.setting, run.values, run.made.ops, run.memory, run.y, run.g, run.before, run.work,
            self.out.reshape(-1), run.made.kinds, run.count, plan.t_start, plan.step,
            self.last if last is None else last, plan.first, stop,
        )  # fmt: skip

    def to_the_end(self) -> Status:
        """Makes all steps, and steps aside to listed times."""
        run, plan = self.run, self.run.plan
        for k, t in enumerate([] if plan.times is None else plan.times.tolist()):
            i, offset = located(plan.t_start, plan.step, self.last, plan.first + self.count, t)
            status = run.advance(i - plan.first)
            if status != Status.OK:
                return status
            found = run.y if offset == 0.0 else self._aside(offset)
            if isinstance(found, Status):
                return found
            self.out[k] = found
            run.count[AT.row] = k + 1
        return run.advance(self.count)

    def _aside(self, offset: float) -> Floats | Status:
        """The state after a step aside, which changes nothing."""
        run, done = self.run, self.run.done
        with run.unchanged():
            run.count[AT.every], run.count[AT.steps] = 0, done + 1
            status = self.call(done + 1, last=offset)
            return np.array(run.y) if status == 0 else Status(status)

    def each(self) -> Iterator[list[SystemStep]]:
        """Makes steps, some at a time, and yields where each of these begins and ends.

        What ends the run, a status or an exception, comes after the steps before it.
        """
        run, count = self.run, self.run.count
        self.out = np.empty((STRETCH_STEPS, ROW * run.n))
        state, i = np.array(run.y), 0
        while i < self.count:
            count[AT.row], count[AT.every] = 0, 1
            stop = min(i + STRETCH_STEPS, self.count)
            status, raised = Status.OK, None
            try:
                status = run.advance(stop)
            except BaseException as problem:
                raised = problem
            states = np.array(self.out[: run.done - i])
            made = list[SystemStep]()
            for k, after in enumerate(states, start=i):
                made.append(SystemStep(self._time_of(k), state, self._time_of(k + 1), after, k))
                state = after
            if status != Status.OK:
                t = self.t_reached
                made.append(SystemStep(t, state, t, state, run.done, status))
            with run.unchanged():
                yield made
            if raised is not None:
                raise raised
            if status != Status.OK:
                return
            i = stop

    def _time_of(self, i: int) -> float:
        plan = self.run.plan
        return plan.t_end if i == self.count else plan.t_start + (plan.first + i) * plan.step

    def within(self, step: SystemStep, length: float) -> Floats:
        """The state after a part of a step, which changes nothing else that the run needs."""
        run = self.run
        run.y[:] = step.before
        if run.made.evaluations is None:  # of collocation, whose last polynomial is not that of this step
            run.memory[collocation.KNOWN] = 0.0
        run.count[AT.done], run.count[AT.known] = step.number, 0
        found = self._aside(length)
        if isinstance(found, Status):
            raise AsideFailed(found)
        return found

    def forget(self) -> None:
        """Goes back to before a step in which an exception came, whose forces are not those of the state."""
        self.run.count[AT.known] = 0

    @property
    def is_at_end(self) -> bool:
        """Whether no step is left."""
        return self.run.done >= self.count

    @property
    def passed(self) -> tuple[int, int]:
        """The steps made, and the steps in all, for progress."""
        return self.run.plan.before + self.run.done, self.total

    @property
    def t_reached(self) -> float:
        """The time that was reached."""
        return self._time_of(min(self.run.done, self.count))

    @property
    def described(self) -> tuple[float, tuple[float, int], float | None]:
        """The length of a step, the grid from where the run goes on, and no goal."""
        run, plan = self.run, self.run.plan
        done = plan.first + run.done
        anew = self.last != plan.step or plan.t_end in run.forces.breakpoints
        if run.stopped is None and not (self.is_at_end and anew):
            return plan.step, (plan.t_start, done), None
        if plan.heat is not None:  # steps are counted on, so that no random number comes twice
            return plan.step, (run.t_reached - done * plan.step, done), None
        return plan.step, (run.t_reached, 0), None


class AdaptiveSteps:
    """Steps that adapt to the motion, so that their polynomials suggest errors that are allowed. Output is listed."""

    driver, signature = staticmethod(adaptive_driver_of), SIGNATURE_ADAPTIVE
    total: None = None
    """How many steps there will be is not known."""

    def __init__(self, run: SystemRun) -> None:
        plan = run.plan
        assert plan.times is not None
        assert plan.step_error is not None
        self.run, self.times = run, plan.times
        check_room(self.times.size, ROW * run.n)
        self.out = np.empty((self.times.size, ROW * run.n))
        self.span = plan.t_end - plan.t_start
        setting = run.setting.reshape(run.n, -1)
        rates = np.abs(run.y[10 * run.n :].reshape(run.n, 3) * setting[:, 3:6]).max()
        most = abs(self.span) * FIRST_PART
        first = most if rates * most <= FIRST_TURN else FIRST_TURN / float(rates)
        self.first_step = math.copysign(first, self.span)
        self.begin(plan.step_error)

    def begin(self, step_error: float, state: Floats | None = None) -> None:
        """Goes back to the start, for steps that may have this error; the run may begin at another state."""
        run, memory, self.step_error = self.run, self.run.memory, step_error
        if state is not None:
            run.y[:] = state
        memory[: collocation.HEAD] = 0.0
        memory[collocation.LEFT], memory[collocation.RATE] = ITERATION_ERROR / STEP_ERROR * step_error, 1.0
        memory[collocation.TIME] = run.plan.t_start
        memory[collocation.NEXT] = self.first_step * step_error ** (1 / collocation.ORDER)
        run.count[_COUNTS], run.count[AT.rows] = 0, self.times.size
        run.seconds, run.stopped = 0.0, None

    def times_of(self, rows: int) -> Floats:
        """The times of the first rows."""
        return self.times[:rows]

    @property
    def suggested(self) -> float:
        """The sum of the errors that the polynomials of all steps suggest."""
        return float(self.run.memory[collocation.SUGGESTED])

    def call(self, stop: int) -> int:
        """Makes steps up to this number, or to the end."""
        run = self.run
        return run.loop()(
            run.setting, run.values, _NO_NUMBERS, run.memory, run.y, run.g, run.before, run.work,
            self.out.reshape(-1), self.times, _NO_KINDS, run.count, run.plan.t_end, self.span, self.step_error, stop,
        )  # fmt: skip

    def to_the_end(self) -> Status:
        """Makes all steps."""
        return self.run.advance(np.iinfo(np.int64).max)

    def each(self) -> Iterator[list[SystemStep]]:
        """Makes one step after the other, and yields where each begins and ends."""
        run = self.run
        run.count[AT.rows] = 0  # who looks at every step also keeps the rows
        while not self.is_at_end:
            t, state, done = self.t_reached, np.array(run.y), run.done
            status = run.advance(done + 1)
            if status != Status.OK:
                yield [SystemStep(t, state, t, state, done, status)]
                return
            new = self.t_reached
            yield [SystemStep(t, state, new, np.array(run.y), done, inside=self._at_nodes(new - t))]

    def _at_nodes(self, h: float) -> tuple[tuple[float, Floats], ...]:
        """The nodes of the last step, and the states there."""
        n, nodes = self.run.n, collocation.NODES
        rows = self.run.memory[collocation.HEAD : collocation.HEAD + nodes * collocation.ROWS * n].reshape(-1, nodes)
        order = np.r_[13 * n : 20 * n, 10 * n : 13 * n, 20 * n : 23 * n]  # positions, attitudes, velocities, momenta
        return tuple((c * h, np.array(y)) for c, y in zip(collocation.PLACES, rows[order].T, strict=True))

    def within(self, step: SystemStep, length: float) -> Floats:
        """The state after a part of the step that was made last, which changes nothing else."""
        run, memory, count = self.run, self.run.memory, self.run.count
        self.times, t, self.out, out = np.array([step.t + length]), self.times, np.empty((1, run.y.size)), self.out
        # The step is made again with an output time in it: the loop then makes a step aside, by the same polynomial.
        with run.unchanged():
            run.y[:] = step.before
            memory[collocation.TIME], memory[collocation.NEXT] = step.t, step.t_new - step.t
            count[AT.rows], count[AT.row] = 1, 0
            status = self.call(run.done + 1)
        found, self.times, self.out = np.array(self.out[0]), t, out
        if status != 0:
            raise AsideFailed(Status(status))
        return found

    def forget(self) -> None:
        """Goes back to before a step in which an exception came, which has no polynomial."""
        self.run.memory[collocation.KNOWN] = 0.0

    @property
    def is_at_end(self) -> bool:
        """Whether no step is left."""
        return bool(self.run.memory[collocation.TIME] == self.run.plan.t_end)

    @property
    def passed(self) -> tuple[int, int]:
        """The parts of the span that were passed, of all of them."""
        first, last = self.run.plan.whole or (self.run.plan.t_start, self.run.plan.t_end)
        return int((self.t_reached - first) / (last - first) * REPORTED_PARTS), REPORTED_PARTS

    @property
    def t_reached(self) -> float:
        """The time that was reached."""
        return float(self.run.memory[collocation.TIME])

    @property
    def described(self) -> tuple[float, tuple[float, int], float | None]:
        """The mean length of a step, the time from which the run goes on, and the error that each step may have."""
        run, reached = self.run, self.run.t_reached
        mean = (reached - run.t_begin) / run.done if run.done else float(run.memory[collocation.NEXT])
        return mean, (reached, 0), self.step_error


def nearest_sites(system: System, forces: Forces, x: Floats, q: Floats) -> tuple[int, int, float, str] | None:
    """The two bodies whose sites are nearest to each other under a pair potential, and their distance."""
    best: tuple[int, int, float, str] | None = None
    for part in forces.parts:
        if isinstance(part, Pairs):
            places = part.positions(system, x, q)
            points, owner = np.array([p[2] for p in places]), np.array([p[0] for p in places])
            for k in range(len(points) - 1):
                d = points[k + 1 :] - points[k]
                if part.box is not None:
                    d = d - np.array(part.box) * np.round(d / np.array(part.box))
                r = np.where(owner[k + 1 :] == owner[k], np.inf, lengths(d))
                j = int(np.argmin(r))
                if best is None or r[j] < best[2]:
                    best = (int(owner[k]), int(owner[k + 1 + j]), float(r[j]), part.name)
    return best
