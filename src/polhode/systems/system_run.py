"""One run of a system: the compiled loop is called in chunks, and a solution is made of its arrays."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from polhode.compiler import CompilationFailed, compiles, is_from_callback, program
from polhode.kernels.judge import grid, located
from polhode.kernels.status import Status
from polhode.kernels.systems import bodies
from polhode.kernels.systems.bodies import AT, COUNTERS, ROW, SETTING
from polhode.kernels.systems.collocation import KNOWN
from polhode.methods import Method
from polhode.problem import NO_STATE, Stats
from polhode.run.binding import OnCompile
from polhode.run.buffers import check_room
from polhode.run.frame import Frame
from polhode.run.grid import check_steps
from polhode.run.integration import SHOWN_GROWTH, Chunks, Progress, SimulationFailed, keeping_run
from polhode.support.arrays import Floats, lengths
from polhode.support.interrupts import is_from_handler
from polhode.systems.forces import Forces, Pairs
from polhode.systems.solution import SystemSolution
from polhode.systems.steps import Langevin, compiled_method
from polhode.systems.system import System

SIGNATURE = "pppppppppnndddii"
FIRST_PAIRS = 4096
"""Pairs of bodies that act on each other in the steps of the first chunk."""
ONE_PLACE = 1e-12
"""Sites that are nearer than this part of the largest coordinate are at one place."""
STRETCH_STEPS = 128
"""Steps that are made before they are looked at, where someone looks at every step."""
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


@lru_cache(maxsize=64)
def _driver(step: Callable[..., int]) -> Callable[..., int]:
    return bodies.system_driver(step)


def _aligned_zeros(count: int) -> Floats:
    """Returns zeros that begin at a cache line: rows in lanes are not cut by one then."""
    whole = np.zeros(count + 8)
    first = -(whole.ctypes.data // 8) % 8
    return whole[first : first + count]


def setting_of(system: System) -> Floats:
    """Returns the fixed numbers of all bodies, as the loop takes them."""
    out = np.empty((len(system), SETTING))
    for i, (b, mass) in enumerate(zip(system.bodies, system.mass.tolist(), strict=True)):
        out[i] = [*b.moments, *(1.0 / b.moments), *Frame.of(b).axes, *b.principal_rotor, 1.0 / mass]
    return out


def inward(system: System, x: Floats, q: Floats, v: Floats, m: Floats) -> Floats:
    """Returns a state as the loop takes it: one row, in principal axes."""
    q, m = np.array(q), np.array(m)
    if system.is_tilted:
        for i, b in enumerate(system.bodies):
            if not b.aligned:
                state = Frame.of(b).inward(q[i], m[i], NO_STATE)
                q[i], m[i] = state[:4], state[4:7]
    return np.concatenate([x.ravel(), q.ravel(), v.ravel(), m.ravel()])


def outward(system: System, rows: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Returns positions, attitudes, velocities and angular momenta of states in rows, in the user's axes."""
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
    """One run. Whatever changes lives in arrays that the compiled loop fills, so a solution can be made any time."""

    def __init__(
        self, system: System, forces: Forces, plan: SystemPlan, state: Floats | None = None,
        progress: Progress | None = None, on_compile: OnCompile = None,
    ) -> None:  # fmt: skip
        self.system, self.forces, self.progress, self.on_compile = system, forces, progress, on_compile
        self.n = len(system)
        self.values = np.array([*forces.numbers(system), 0.0])
        if not np.isfinite(self.values[np.abs(self.values) < math.inf]).all():
            raise ValueError(f"the numbers of {forces.name} must not be NaN")
        self.setting = setting_of(system).reshape(-1)
        start = inward(system, system.position, system.quaternion, system.velocity, system.momentum)
        self.y = np.array(start if state is None else state)
        self.g = np.zeros(6 * self.n)
        self.before = np.concatenate([self.y, self.g])
        self.work = np.zeros(4 * self.n + forces.room(system) + 1)
        self.count = np.zeros(COUNTERS, dtype=np.int64)
        self.count[AT.bodies] = self.n
        self.seconds = 0.0
        self.plan = plan
        self.raised = "an exception"
        self.stopped: float | None = None
        self.t_begin, self.first = plan.t_start + plan.first * plan.step, plan.first
        check_steps(plan.t_start, plan.t_end, plan.step)
        steps, self.last = grid(plan.t_start, plan.t_end, plan.step)
        self.steps = steps - self.first
        self._bind(plan)
        self._make_rows(plan)

    def _bind(self, plan: SystemPlan) -> None:
        room = self.forces.room(self.system)
        made = compiled_method(
            plan.method, self.system, self.forces.kernel, plan.step, plan.heat, any_turn=plan.any_turn, force_room=room
        )
        self.made = made
        self.memory = _aligned_zeros(max(made.room, 4))
        """What the steps of the method keep: numbers of a heat bath, or the last polynomials and the step control."""
        self.count[AT.room] = room
        if plan.heat is not None:
            self.memory[:3] = plan.heat.numbers
            self.count[AT.seed], self.count[AT.seed_high] = plan.heat.seed & 0xFFFFFFFF, plan.heat.seed >> 32

    def _make_rows(self, plan: SystemPlan) -> None:
        if plan.times is None:
            every = plan.every or 1
            rows = 1 + -(-self.steps // every) if self.steps else 1
            check_room(rows, ROW * self.n)
            self.t = np.empty(rows)
            self.out = np.empty((rows, ROW * self.n))
            self.t[0], self.out[0] = self.t_begin, self.y
            self.count[AT.row], self.count[AT.every] = 1, every
        else:
            check_room(plan.times.size, ROW * self.n)
            self.t, self.out = np.array(plan.times), np.empty((plan.times.size, ROW * self.n))
        self.count[AT.rows] = len(self.t)
        self.count[AT.steps], self.count[AT.operations] = self.steps, self.made.kinds.size

    # --- the run

    def loop(self) -> Callable[..., int]:
        """Returns the compiled loop over steps."""
        return self.compiled_loop(_driver, SIGNATURE)

    def compiled_loop(self, driver: Callable[..., Any], signature: str) -> Callable[..., int]:
        """Returns a loop over the steps of the method: in lanes, if there is such a step and it can be compiled."""
        what, made = f"{self.plan.method.name} with {self.forces.name}", self.made
        if made.in_lanes is not None and self.forces.suits_lanes and compiles():
            with suppress(CompilationFailed):
                return program(driver(made.in_lanes), signature, self.on_compile, tentative=True, what=what)
        try:
            return program(driver(made.step), signature, self.on_compile, what=what)
        except CompilationFailed as problem:
            raise CompilationFailed(f"{what} cannot be compiled:\n{problem}\n{UNCOMPILED}") from None

    def solution(self) -> SystemSolution:
        """Runs to the end, or raises with what there is."""
        return self.guarded(self._run, self.assembled)

    def guarded(self, run: Callable[[], Status], assembled: Callable[[Status], SystemSolution]) -> SystemSolution:
        """Returns the solution of a run; whatever ends it before has what was computed as its `solution`."""
        with keeping_run(self, assembled):
            status = run()
        if status != Status.OK:
            raise SimulationFailed(assembled(status))
        return assembled(Status.OK)

    def _run(self) -> Status:
        drive = self.loop()
        if self.plan.times is None:
            return self.advance(drive, self.steps)
        for k, t in enumerate(self.t.tolist()):
            i, offset = self._place(t)
            status = self.advance(drive, i)
            if status != Status.OK:
                return status
            if offset == 0.0:
                self.out[k] = self.y
            else:
                found = self._aside(drive, offset)
                if isinstance(found, Status):
                    return found
                self.out[k] = found
            self.count[AT.row] = k + 1
        return self.advance(drive, self.steps)

    def _place(self, t: float) -> tuple[int, float]:
        """Returns the grid point at or before a time, and how far the time lies beyond it."""
        plan = self.plan
        i, offset = located(plan.t_start, plan.step, self.last, self.first + self.steps, t)
        return i - self.first, offset

    def _aside(self, drive: Callable[..., int], offset: float) -> Floats | Status:
        """Returns the state after a step aside, which changes nothing."""
        done = int(self.count[AT.done])
        with self.unchanged():
            self.count[AT.every], self.count[AT.steps] = 0, done + 1
            status = self._call(drive, done + 1, last=offset)
            return np.array(self.y) if status == 0 else Status(status)

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Lets others make steps meanwhile, and goes back to where the run was, unless they end it."""
        arrays = (self.y, self.g, self.memory, self.count)
        kept = [np.array(a) for a in arrays]
        yield
        kept[-1][AT.evaluations] = self.count[AT.evaluations]
        for a, b in zip(arrays, kept, strict=True):
            a[:] = b

    def each_steps(self) -> Iterator[list[SystemStep]]:
        """Makes steps, some at a time, and yields where each of these begins and ends.

        What ends the run, a status or an exception, comes after the steps before it.
        """
        drive = self.loop()
        self.out = np.empty((STRETCH_STEPS, ROW * self.n))
        state, i = np.array(self.y), 0
        while i < self.steps:
            self.count[AT.row], self.count[AT.every] = 0, 1
            stop = min(i + STRETCH_STEPS, self.steps)
            status, raised = Status.OK, None
            try:
                status = self.advance(drive, stop)
            except BaseException as problem:
                raised = problem
            states = np.array(self.out[: int(self.count[AT.done]) - i])
            made = list[SystemStep]()
            for k, after in enumerate(states, start=i):
                made.append(SystemStep(self.time_of(k), state, self.time_of(k + 1), after, k))
                state = after
            if status != Status.OK:
                t, done = self.t_reached, int(self.count[AT.done])
                made.append(SystemStep(t, state, t, state, done, status))
            with self.unchanged():
                yield made
            if raised is not None:
                raise raised
            if status != Status.OK:
                return
            i = stop

    def time_of(self, i: int) -> float:
        """Returns the time of grid point i."""
        return self.plan.t_end if i == self.steps else self.plan.t_start + (self.first + i) * self.plan.step

    def within(self, step: SystemStep, length: float) -> Floats:
        """Returns the state after a part of a step, which changes nothing else that the run needs."""
        self.y[:] = step.before
        if self.made.evaluations is None:  # of collocation, whose last polynomial is not that of this step
            self.memory[KNOWN] = 0.0
        self.count[AT.done], self.count[AT.known] = step.number, 0
        found = self._aside(self.loop(), length)
        if isinstance(found, Status):
            raise self.failed(found)
        return found

    def failed(self, status: Status) -> SimulationFailed[SystemSolution]:
        """Returns the exception of a run that cannot go on, with what there is."""
        return SimulationFailed(self.assembled(status))

    def is_at(self, t: float, point: float) -> bool:
        """Whether a time is that of a grid point."""
        return abs(t - point) <= 4 * math.ulp(max(abs(t), abs(self.plan.t_start)))

    def _call(self, drive: Callable[..., int], stop: int, last: float | None = None) -> int:
        plan = self.plan
        return drive(
            self.setting, self.values, self.made.ops, self.memory, self.y, self.g, self.before, self.work,
            self.out.reshape(-1), self.made.kinds, self.count, plan.t_start, plan.step,
            self.last if last is None else last, self.first, stop,
        )  # fmt: skip

    def advance(self, drive: Callable[..., int], target: int) -> Status:
        """Makes steps up to this number, in chunks, or up to the end."""
        chunks = Chunks(1 if self.progress else max(1, FIRST_PAIRS // self.n**2), SHOWN_GROWTH)
        while (done := int(self.count[AT.done])) < target and not self.is_at_end:
            chunks.begin()
            try:
                status = self._call(drive, min(target, done + chunks.steps))
            except Exception as problem:
                self._undo_step()
                if is_from_handler(problem) or is_from_callback(problem):
                    raise
                self.raised = str(problem) or type(problem).__name__
                return Status.RAISED
            self.seconds += chunks.made(int(self.count[AT.done]) - done)
            if status != Status.OK:
                return Status(status)
            if self.progress:
                self.progress(*self._passed)
        return Status.OK

    @property
    def is_at_end(self) -> bool:
        """Whether no step is left."""
        return int(self.count[AT.done]) >= self.steps

    @property
    def _passed(self) -> tuple[int, int]:
        """The steps made, and the steps in all, for progress."""
        return int(self.count[AT.done]), self.steps

    def _undo_step(self) -> None:
        """Goes back to before the step in which an exception came; arrays hold all steps before it."""
        self.y[:] = self.before[: ROW * self.n]
        self.count[AT.known] = 0

    # --- what there is

    @property
    def t_reached(self) -> float:
        """The time that was reached."""
        done = int(self.count[AT.done])
        if self.stopped is not None:
            return self.stopped
        if done >= self.steps:
            return self.plan.t_end
        return self.plan.t_start + (self.first + done) * self.plan.step

    def assembled(self, status: Status) -> SystemSolution:
        """Returns a solution of what there is."""
        rows, plan = int(self.count[AT.row]), self.plan
        if plan.times is None:
            every = int(self.count[AT.every])
            index = np.minimum(np.arange(rows) * every, self.steps)
            self.t[:rows] = plan.t_start + (self.first + index) * plan.step
            if rows and index[-1] == self.steps and self.steps:
                self.t[rows - 1] = plan.t_end
        return self.solution_of(status, np.array(self.t[:rows]), self.out[:rows])

    def solution_of(self, status: Status, t: Floats, rows: Floats) -> SystemSolution:
        """Returns a solution with these rows, given as times and states."""
        x, q, v, m = outward(self.system, rows)
        plan, done = self.plan, int(self.count[AT.done])
        grid = (plan.t_start, self.first + done)
        if self.stopped is not None or (done >= self.steps and self.last != plan.step):
            grid = (self.t_reached, 0)
            if plan.heat is not None:  # steps are counted on, so that no random number comes twice
                grid = (self.t_reached - (self.first + done) * plan.step, self.first + done)
        return SystemSolution(
            system=self.system, forces=self.forces, method=plan.method.name, step=plan.step,
            stats=Stats(done, int(self.count[AT.evaluations]), self.seconds), t=t, position=x, quaternion=q,
            velocity=v, momentum=m, status=status, message=self._message(status), t_span=(self.t_begin, plan.t_end),
            t_last=self.t_reached, last=np.array(self.y),
            grid=grid, heat=plan.heat,
        )  # fmt: skip

    _remedy = "take shorter steps"

    def _where(self) -> str:
        """Says how far the run has come."""
        return f"after {int(self.count[AT.done]):,} of {self.steps:,} steps, at t = {self.t_reached:.12g}"

    def _message(self, status: Status) -> str:
        t, body, place = self.t_reached, int(self.count[AT.body]), self._where()
        if status in (Status.UNSOUND, Status.RAISED, Status.STALLED) and (near := self._at_one_place()):
            return f"{near} {place}"
        if status == Status.UNSOUND:
            return f"{self._blame(body)} {place}"
        words = {
            "method": self.plan.method.name, "step": self.plan.step, "place": place, "remedy": self._remedy,
            "torque": self.forces.name, "raised": self.raised,
        }  # fmt: skip
        if status == Status.RAISED:
            return f"the forces {self.forces.name} raised {self.raised} {place}"
        if status == Status.OK:
            return f"reached t = {t:.12g} in {int(self.count[AT.done]):,} steps"
        return status.sentence.format(**words)

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

    def _blame(self, body: int) -> str:
        """Says which body could not go on."""
        if np.isfinite(self.g).all():
            return f"the forces of {self.forces.name} on body {body} are NaN or infinite, or its state is,"
        return f"the forces of {self.forces.name} on body {body} are NaN or infinite"


def nearest_sites(system: System, forces: Forces, x: Floats, q: Floats) -> tuple[int, int, float, str] | None:
    """Returns the two bodies whose sites are nearest to each other under a pair potential, and their distance."""
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
