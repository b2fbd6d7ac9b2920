"""One run: the compiled loop is called in chunks, or once if it is short; a solution is made of its arrays."""

import math
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from copy import copy
from functools import lru_cache
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from polhode.body import Body, Frame
from polhode.compiler import KernelRaised, address_of, at_addresses, is_from_callback
from polhode.kernels.gyrostat import body_at, body_of, rate_of
from polhode.kernels.loop.drive import AT, SETTING
from polhode.kernels.ops import internal, is_gyrostat, read_only
from polhode.kernels.states import STATE, form_of
from polhode.kernels.status import OK, Status
from polhode.kernels.types import BoundStep, Changing, Inertia, Params, Quat, State, Vec3
from polhode.problem import HARMLESS, NO_STATE, PerturbedStart, Plan, Problem, Stats, may_be_quick
from polhode.run import step_warnings, stiffness
from polhode.run.binding import NO_OTHERS, Binding, ById, OnCompile, SpreadOfBodies, triple
from polhode.run.grid import Grid, Segment, grid_of, has_pieces, segments
from polhode.run.rows import Buffers, FixedSteps, check_room, driver_of, steps_of
from polhode.run.step_warnings import ShortSteps, about_short_steps, are_absurdly_short, good_steps, levels_of_polhode
from polhode.run.stiffness import are_limited, fastest_decay, is_stiff
from polhode.run.trial import DIVIDES, Fault, fault_of_torque, size_at_start, size_where_it_begins, what_torque_does
from polhode.solution import Solution, assemble
from polhode.support import checks
from polhode.support.arrays import Floats
from polhode.support.interrupts import faults_ignored, is_from_handler, keeping

CHUNK_SECONDS = 0.05
"""Compiled code returns about this often, for progress and Ctrl-C."""
FIRST_EVALUATIONS = 1000
"""Torque evaluations in the first chunk when no progress is shown: many runs have no more."""
GROWTH, SHOWN_GROWTH = 64.0, 4.0
"""The largest factor from the steps of one chunk to those of the next. `SHOWN_GROWTH` holds where progress is shown,
whose first chunk is one step."""
UNKNOWN_EVALUATIONS = 64
"""Torque evaluations in a step that makes as many as it needs: eight iterations at eight nodes."""

KEPT = "what was computed is the `solution` of this exception"

Progress = Callable[[int, int], None]
"""Called with the steps done and the steps in all."""


class Result(Protocol):
    """What an exception keeps of a run: a solution of one body or of a system."""

    @property
    def message(self) -> str:
        """How the run ended."""


R = TypeVar("R", bound=Result)


class WithSolution(BaseException, Generic[R]):
    """What exceptions that end a run share: `solution` holds everything computed before."""

    def __init__(self, solution: R) -> None:
        super().__init__(solution.message)
        self.solution = solution

    def __str__(self) -> str:
        return f"{self.solution.message}; {KEPT}"

    def __reduce__(self) -> tuple[type[Self], tuple[R]]:
        """For pickle, which would call the class with the message: failures travel between processes."""
        return type(self), (self.solution,)


class SimulationFailed(WithSolution[R], ArithmeticError):
    """The run could not go on. `solution` holds everything up to the last good state.

    Examples
    --------
    >>> import math
    >>> def broken(t, q, w, p):
    ...     return 0.0, 0.0, math.nan if t > 1.0 else 0.0
    ...
    >>> acting = ph.torque(broken)
    >>> try:
    ...     ph.simulate(ph.Body([1, 2, 2.8]), acting, omega=[0.1, 2, 0], t_span=(0, 10), method="RK4", step=0.1)
    ... except ph.SimulationFailed as failed:
    ...     print(failed.solution.t_last < 1.2)
    ...
    True
    """


def reason_of(failure: Exception) -> str:
    """The reason of a failure, for a message about something else: its reader does not see the exception."""
    return failure.solution.message if isinstance(failure, SimulationFailed) else str(failure)


class SimulationInterrupted(WithSolution[R], KeyboardInterrupt):
    """The user stopped the run. `solution` holds everything up to the last step.

    Examples
    --------
    >>> def impatient(done, steps):
    ...     raise KeyboardInterrupt  # as Ctrl-C does
    ...
    >>> start = {"omega": [0.1, 2, 0], "t_span": (0, 10), "method": "RK4", "step": 0.01}
    >>> try:
    ...     run = ph.simulate(ph.Body([1, 2, 2.8]), **start, progress=impatient)
    ... except ph.SimulationInterrupted as stopped:
    ...     run = ph.resume(stopped.solution, t_end=10)
    ...
    >>> run.t_last
    10.0
    """

    keeps = "solution"


class StepFailed(Exception):
    """A run has stopped. The cause is looked for only if a user is to read it: that takes longer than many a run."""

    def __init__(self, stopped: "Integration", status: Status) -> None:
        super().__init__()
        self.stopped, self.status = stopped, status

    def failure(self) -> SimulationFailed[Solution]:
        """The failure with its cause and with what was computed."""
        return SimulationFailed(self.stopped.assembled(self.status))

    def __reduce__(self) -> tuple[type["StepFailed"], tuple[None, Status]]:
        """Leaves the run behind: Dask has an exception pickled together with the one that it follows."""
        return StepFailed, (None, self.status)


class RunWithCause(Protocol):
    """A run that says what was raised in it."""

    raised: str


def keeping_run(run: RunWithCause, assembled: Callable[[Status], Any]) -> AbstractContextManager[None]:
    """Keeps what a run has computed: whatever ends it before has it as its `solution`."""

    def kept(raised: BaseException) -> Any:
        if isinstance(raised, KeyboardInterrupt):
            return assembled(Status.INTERRUPTED)
        if hasattr(raised, "solution"):
            return None
        if is_from_handler(raised):
            raised.add_note("raised by the handler of a signal")
            return assembled(Status.INTERRUPTED)
        if is_from_callback(raised):
            run.raised = f"{type(raised).__name__}: {raised}"
            return assembled(Status.RAISED)
        return None

    return keeping(SimulationInterrupted, kept, KEPT)


class Chunks:
    """The number of steps in the next call of compiled code, so that it returns about every `CHUNK_SECONDS`."""

    def __init__(self, first: int, growth: float) -> None:
        self.steps, self.growth, self.clock = first, growth, 0.0

    def begin(self) -> None:
        """Begins a call."""
        self.clock = time.perf_counter()

    def made(self, steps: int) -> float:
        """Takes note of the steps that a call has made, and returns the seconds that it took."""
        spent = time.perf_counter() - self.clock
        self.steps = max(1, int(steps * min(self.growth, CHUNK_SECONDS / max(spent, 1e-6))))
        return spent


class Cancelled(Exception):
    """The run was ended because its result is not wanted any more."""


class Begin(NamedTuple):
    """The place where a run begins, if that is not the start of its problem: in the middle of a motion."""

    t: float
    quaternion: Floats
    momentum: Floats
    memory: tuple[float, ...] = ()
    """What the method carries from step to step."""
    state: Floats = NO_STATE
    """What the torque carries along."""


def as_kernels_see(body: Body, *, gyrostat: bool) -> Inertia:
    """The body as kernels take it: with a rotor, which may be zero, or without one."""
    a, b, c = triple(body.moments)
    rotor = triple(body.principal_rotor) if gyrostat or body.changes else None
    if body.changes:
        table = (body.handles[0], -1, 1.0)[: body.elements_that_change // 3 + 1]
        return Changing((a, b, c), (1.0 / a, 1.0 / b, 1.0 / c), rotor or (0.0, 0.0, 0.0), table)  # type: ignore[return-value]
    return body_of((a, b, c), (1.0 / a, 1.0 / b, 1.0 / c), rotor)


def setting_of(body: Inertia, frame: Frame, segment: Segment, tuning: tuple[float, float]) -> Floats:
    """The fixed numbers of a segment and of the method, as the loop takes them."""
    shared, handle = (*segment.window, *tuning), body.table[0] if isinstance(body, Changing) else 0.0
    setting = np.array([*body.inertia, *body.inverse, *frame.axes, *shared, *internal(body), handle])
    assert setting.size == SETTING
    return setting


def first_chunk(stepper: BoundStep) -> int:
    """The number of steps in the first chunk of a run whose progress is not shown."""
    each = stepper.evaluations_per_step
    return max(1, FIRST_EVALUATIONS // max(1, UNKNOWN_EVALUATIONS if each is None else each))


class Stretch(NamedTuple):
    """A segment of a grid, with its numbers as the loop takes them."""

    segment: Segment
    setting: Floats
    points: NDArray[np.int64]
    """The grid points before listed times."""
    beyond: Floats
    """The times from there to listed ones."""
    counters: NDArray[np.int64]
    """The counters at its start, as far as they are those of the segment."""
    addresses: tuple[int, int, int]
    """The addresses of setting, offset and index."""


BEGUN = [AT.done, AT.steps, AT.due, AT.every, AT.next, AT.times]
"""The counters that are written where a segment begins."""


SURE = 0.2
"""Runs that are foreseen to take less than this part of a chunk are made by one call."""


class Kind(NamedTuple):
    """All that is the same in runs that differ in their start and in the parameters of their torque alone.

    Runs are kept by this, and made of nothing else: so none is taken for another.
    """

    loop: Callable[..., int]
    """The compiled loop."""
    stepper: BoundStep
    body: ById
    grid: Grid
    listed: bytes | None
    """The output times; None: there is output at steps."""
    every: int | None
    tuning: tuple[float, float]
    """The numbers of the method."""
    carried: int
    """How many numbers the torque carries."""
    values: int
    """How many parameters the torque has."""
    inverses: Vec3 | None
    """The inverse moments of a companion, which judges another run; None: they are those of the body."""

    @classmethod
    def of(
        cls, problem: Problem, plan: Plan, binding: Binding, values: int, nudged: PerturbedStart | None = None,
        on_compile: OnCompile = None,
    ) -> Self:  # fmt: skip
        """The kind of the run of a problem whose torque has a number of parameters."""
        listed = None if problem.times is None else problem.times.tobytes()
        inverses = None if nudged is None else triple(nudged.inverses)
        return cls(
            binding.loop(on_compile), binding.stepper, ById(problem.body), grid_of(problem, plan), listed,
            problem.every, plan.method.tuning, len(problem.torque.state_names), values, inverses,
        )  # fmt: skip


@final
class ReadyLoop:
    """A compiled loop with the numbers of one body and one grid in place, ready for any start.

    Each run has arrays of its own, so that threads can share this.
    """

    def __init__(self, kind: Kind) -> None:
        times = None if kind.listed is None else np.frombuffer(kind.listed)
        steps = self.steps = FixedSteps(segments(*kind.grid), times, kind.every)
        self.stepper, body = kind.stepper, kind.body.value
        self.frame = Frame.of(body)
        self.width = STATE + kind.carried
        self.rows = steps.rows + steps.ragged
        check_room(self.rows, self.width)
        kernels = as_kernels_see(body, gyrostat=body.has_rotor)
        if kind.inverses is not None:
            kernels = kernels._replace(inverse=kind.inverses)
        self.carried = max(1, self.stepper.memory)
        self.no_values = np.zeros(1)
        arrays = Buffers(np.zeros(self.width), steps.clock, kind.values)
        arrays.count[AT.rows] = steps.rows
        self.stretches, before = list[Stretch](), 0
        for segment in steps.segments:
            setting = setting_of(kernels, self.frame, segment, kind.tuning)
            index, offset = steps.begin(segment, before, arrays)
            at = (address_of(setting), address_of(offset), address_of(index))
            self.stretches.append(Stretch(segment, setting, index, offset, arrays.count.copy(), at))
            before += segment.steps
        self.call = at_addresses(kind.loop)
        self.first = first_chunk(self.stepper)
        self.pace = math.inf
        """The seconds that a step took in the last run; other starts take about as long."""
        self.t = steps.times_of_rows(steps.total, self.rows) if times is None else times.copy()
        self.t_last = steps.segments[-1].t1
        self.message = Status.OK.sentence.format(place=f"t = {self.t_last:.12g} in {steps.total} steps")

    def solution(
        self, problem: Problem, plan: Plan, values: Floats, nudged: PerturbedStart | None = None
    ) -> Solution | None:
        """The run from the start of a problem; None if it has to be made in another way.

        That is so if it takes long, and is to show its progress to Ctrl-C, or if it fails, and is to say why.
        `values` are the parameters of the torque. A companion begins from slightly different numbers.
        """
        width, head = self.width, self.width + self.carried
        numbers, count = np.zeros(head + self.rows * width), self.stretches[0].counters.copy()
        q, m = problem.quaternion_start, problem.momentum_start
        if nudged is not None:
            q, m = nudged.quaternion, nudged.momentum
        numbers[:width] = self.frame.inward(q, m, problem.state_start)
        parameters = address_of(values if values.size else self.no_values)
        at, counters = address_of(numbers), address_of(count)
        total, begun, evaluations, seconds = self.steps.total, time.perf_counter(), 0, 0.0
        sure = self.pace * total < SURE * CHUNK_SECONDS
        try:
            for number, stretch in enumerate(self.stretches):
                (t0, _, h, last, steps), (setting, offset, index) = stretch.segment, stretch.addresses
                if number:
                    count[BEGUN] = stretch.counters[BEGUN]
                given = (setting, parameters, at, at + 8 * width, offset, at + 8 * head, index, counters, t0, h, last)
                stop = steps if sure else min(steps, self.first)
                status = self.call(*given, stop)
                seconds = time.perf_counter() - begun
                if status == OK and stop < steps:
                    if seconds * (total - stop) > CHUNK_SECONDS * stop:
                        return None
                    status = self.call(*given, steps)
                    seconds = time.perf_counter() - begun
                if status != OK:
                    return None
                if self.stepper.evaluations_per_step is None:  # it counts in its memory
                    evaluations += int(numbers[head - 1])
        except KernelRaised:
            return None
        self.pace = seconds / total
        state, memory = numbers[:width], numbers[width:head]
        out, row = numbers[head:].reshape(self.rows, width), int(count[AT.row])
        if self.steps.ragged:
            out[row] = state
        rows = (self.t.copy(), *self.frame.outward(out, scaled=plan.method.unscaled))
        end = (self.t_last, *self.frame.outward_one(state), state[STATE:].copy())
        kept = tuple(memory[: self.stepper.memory].tolist())
        stats = Stats(total, self._evaluations(count, evaluations), seconds)
        return assemble(problem, plan, stats, rows, end, Status.OK, self.message, kept)

    def _evaluations(self, count: NDArray[np.int64], counted: int) -> int:
        """The number of evaluations of the torque in a whole run; of some steppers they were counted."""
        each = self.stepper.evaluations_per_step
        if each is None:
            return counted
        steps = self.steps.total + int(count[AT.asides])
        return len(self.stretches) * self.stepper.evaluations_at_start + each * steps + int(count[AT.others])


KEPT_LOOPS = 64
"""The number of loops that are kept, for calls that differ in their start."""
MOST_KEPT_ROWS = 10_000
"""Grids with more rows are not kept: 64 of them would fill the memory, and next to their rows the rest is quick."""


def ready_loop(
    problem: Problem, plan: Plan, binding: Binding, values: int, nudged: PerturbedStart | None = None,
    on_compile: OnCompile = None,
) -> ReadyLoop | None:  # fmt: skip
    """The runs of this kind, which may have been made for another start; None: there are none."""
    step, times = plan.step * plan.method.advance, problem.times
    rows = problem.span / (step * (problem.every or 1)) if times is None else times.size
    if rows > MOST_KEPT_ROWS or has_pieces(problem, plan):
        return None
    return _ready_loops(Kind.of(problem, plan, binding, values, nudged, on_compile))


_ready_loops = lru_cache(maxsize=KEPT_LOOPS)(ReadyLoop)


@final
class Integration:
    """One run. Whatever changes lives in arrays that the compiled loop fills, so a solution can be made any time."""

    steps_before = steps_after = 0
    """Steps made before and to be made after it, if it is a stretch of a longer run: for progress and messages."""
    warns_of_short_steps = True
    """Whether a warning says that steps have become absurdly short; of several runs in a call one does."""
    stops_if_stiff = False
    """Whether the run ends where its steps are limited by stability: another method is to take its place."""
    is_limited = False
    """Whether steps were found to be limited by stability."""
    cancelled = False
    """Whether the run is to end after the current chunk; another thread sets it."""
    ready: "ReadyLoop | None" = None
    """The loop that may make the whole run by one call or two; None: there is none, or it was not enough."""
    made: Solution | None = None
    """The solution that `ready` has made; None: there is none."""
    nudged: PerturbedStart | None
    """Where it begins, if not at the start of its problem."""
    otherwise: Callable[[], "Integration"]
    """Makes the run in chunks that takes its place if it turns out to be long."""
    steps_are_chosen = False
    """Whether a tolerance has chosen the steps, so that advice about them is of no use."""
    raised = "an exception"
    """What compiled code has raised, where plain Python does not: an integer that is too large, for one."""

    def __init__(
        self, problem: Problem, plan: Plan, begin: Begin | None = None,
        progress: Progress | None = None, on_compile: OnCompile = None, *, others: SpreadOfBodies = NO_OTHERS,
    ) -> None:  # fmt: skip
        """Tries the torque at the start, and binds the method to it; `others` are bodies that this one stands for."""
        self.progress, self.on_compile, self.others = progress, on_compile, others
        self.body = as_kernels_see(problem.body, gyrostat=problem.body.has_rotor or others.gyrostats)
        self.frame = Frame.of(problem.body)
        values = list(problem.torque.parameters(problem.body))
        self.values = np.array(checks.numbers("parameters", values, len(values)))
        self.restart(problem, plan, begin)
        with keeping(SimulationInterrupted, self._nothing_done):
            size = self._try_torque()
        if plan.torque_size is None:  # else the run goes on from another, and keeps its scales
            self.plan = plan.replace(torque_size=size)
        self._bind()
        memory = begin.memory if begin is not None else ()
        if len(memory) == self.stepper.memory > 0:
            self.arrays.carried[:] = memory
            if self.t_begin not in problem.breakpoints:
                self.arrays.count[AT.resumed] = 1
                self.evaluations = -self._counted()

    @classmethod
    def at_once(
        cls, ready: ReadyLoop, problem: Problem, plan: Plan, values: Floats, nudged: PerturbedStart | None,
        otherwise: Callable[[], "Integration"],
    ) -> "Integration":  # fmt: skip
        """A run that is made by one call of compiled code or two; where that is not enough, as `otherwise`."""
        run = object.__new__(cls)
        run.problem, run.plan, run.values, run.nudged, run.otherwise = problem, plan, values, nudged, otherwise
        run.ready, run.progress, run.seconds, run.short = ready, None, 0.0, 0.0
        return run

    def beside(self, problem: Problem, plan: Plan, nudged: PerturbedStart | None = None) -> "Integration":
        """Another run of the same body under the same torque, which need not be tried again."""
        other, begin = copy(self), None
        if nudged is not None:
            begin = Begin(problem.t_start, nudged.quaternion, nudged.momentum, state=problem.state_start)
            other.body = self.body._replace(inverse=triple(nudged.inverses))
        other.restart(problem, plan.replace(torque_size=self.plan.torque_size), begin)
        if (other.steps.pieces is None) == (self.steps.pieces is None) and self.binding.serves(problem, other.plan):
            other.arrays.carried = np.zeros(self.arrays.carried.size)
        else:
            other._bind()
        return other

    def with_body(self, problem: Problem, values: Floats) -> "Integration":
        """A run of another body, for which this one stands, under a torque with other parameters."""
        other = copy(self)
        other.body = as_kernels_see(problem.body, gyrostat=is_gyrostat(self.body))
        other.frame, other.values = Frame.of(problem.body), np.array(values)
        carried = np.zeros(self.arrays.carried.size)
        other.restart(problem, self.plan)
        other.arrays.carried = carried
        return other

    def restart(self, problem: Problem, plan: Plan, begin: Begin | None = None) -> None:
        """Goes back to the start of the problem, or to where the run begins."""
        self.problem, self.plan = problem, plan
        if begin is None:
            begin = Begin(problem.t_start, problem.quaternion_start, problem.momentum_start, (), problem.state_start)
        self.t_begin = begin.t
        self.steps = steps_of(problem, plan, self.t_begin)
        self.segment = self.steps.segments[0]
        self.arrays = Buffers(
            self.frame.inward(begin.quaternion, begin.momentum, begin.state), self.steps.clock, self.values.size
        )
        self.steps.reserve(self.arrays)
        self.before = 0  # steps in the segments that are finished
        self.evaluations = 0  # in them, of a stepper that counts its own
        self.starts = 0
        self.seconds = 0.0
        self.checked_lengths, self.short = (0, self.t_begin), 0.0
        self.measured, self.is_limited = (0, self.t_begin), False
        self.paced = (0, self.t_begin, math.nan)

    def _bind(self) -> None:
        """Binds the method to the torque, with nothing to remember yet."""
        self.binding = Binding(self.problem, self.plan, self.others, self.steps.driver)
        self.stepper = self.binding.stepper
        self.arrays.carried = np.zeros(max(1, self.stepper.memory))

    # --- the run

    def solution(self) -> Solution:
        """Runs to the end, or raises with what there is."""
        try:
            return self.attempt()
        except StepFailed as problem:
            raise problem.failure() from None

    def attempt(self) -> Solution:
        """Runs to the end, or raises without looking for the cause."""
        if self.ready is not None:
            self.made = self.ready.solution(self.problem, self.plan, self.values, self.nudged)
            if self.made is not None:
                self.seconds = self.made.stats.seconds
                return self.made
            whole = self.otherwise().__dict__  # another thread may have cancelled this one meanwhile
            self.__dict__.update({name: value for name, value in whole.items() if name != "cancelled"}, ready=None)
        with keeping_run(self, self.assembled):
            status = self._run()
        if status != Status.OK:
            raise StepFailed(self, status)
        return self.assembled(status)

    def compiled(self) -> Callable[..., int]:
        """The compiled loop, ready to run."""
        return self.binding.loop(self.on_compile) if self.ready is None else self.ready.call

    def _run(self) -> Status:
        drive = self.compiled()
        for segment in self.steps.segments:
            status = self.run_segment(segment, drive)
            if status != Status.OK:
                return status
        return Status.OK

    def run_segment(self, segment: Segment, drive: Callable[..., int]) -> Status:
        """Makes the steps of one segment, in chunks."""
        self.segment = segment
        steps, arrays = self.steps, self.arrays
        if not self.problem.torque.samples_compiled:
            self._sample(segment.t0)
        index, offset = steps.begin(segment, self.before, arrays)
        setting = self.setting(segment)
        end = steps.end(segment)

        def to(stop: int) -> int:
            return drive(
                setting, self.values, arrays.state, arrays.carried, offset, arrays.out.reshape(-1), index,
                arrays.count, segment.t0, segment.h, end, stop,
            )  # fmt: skip

        unseen = self.binding.native and not self.progress
        chunks = Chunks(first_chunk(self.stepper), GROWTH) if unseen else Chunks(1, SHOWN_GROWTH)
        count = arrays.count
        self.starts += 1 - int(count[AT.resumed])
        while not steps.is_finished(segment, arrays):
            done = int(count[AT.done])
            stop = steps.stop(segment, done + self._until_check(chunks.steps))
            chunks.begin()
            try:
                status = to(stop)
            except Exception as problem:  # compiled code says KernelRaised, plain Python what the torque has raised
                if is_from_handler(problem):
                    raise
                if is_from_callback(problem) and self.binding.native:  # all steps before are made
                    self.seconds += chunks.made(0)
                    steps.collect(arrays)
                    raise
                if stop - done > 1:
                    chunks.steps = (stop - done) // 2  # nothing has changed: find the guilty step by halving
                    continue
                if is_from_callback(problem):
                    self._save_rows_before_failure(to, done)
                    raise
                if not isinstance(problem, KernelRaised) and not self._fault(self._time()):
                    raise
                self.raised = str(problem)
                self._save_rows_before_failure(to, done)
                return Status.RAISED
            # Which may be fewer than asked for, if the output had no more room.
            self.seconds += chunks.made(int(count[AT.done]) - done)
            steps.collect(arrays)
            if self.plan.method.adaptive:
                self._check_stability()
                if not self.short:
                    self._check_lengths()
            if status != Status.OK:
                return Status(status)
            if self.plan.method.adaptive and self._leads_nowhere():
                return Status.STALLED
            if self.is_limited and self.stops_if_stiff:
                return Status.STIFF
            if self.progress:
                self._report(self.progress)
            if self.cancelled:
                raise Cancelled
        self.before += int(count[AT.done])
        count[AT.done] = count[AT.resumed] = 0
        self.evaluations += self._counted()
        return Status.OK

    def _params(self) -> Params:
        window = self.steps.here(self.segment, self.arrays).window
        return Params(read_only(self.values), self.frame.axes, window, self.plan.method.tuning)

    def _given_to_torque(self, t: float, s: State) -> tuple[Quat, Vec3, Any, tuple[float, ...]]:
        """What a torque is given besides the time: attitude, rate, both in the user's axes, p and z."""
        q, w = self.frame.seen_by_torque(s, rate_of(body_at(self.body, self._params(), t), s.m))
        return q, w, read_only(self.values), tuple(self._carried().tolist())

    def _sample(self, t: float) -> None:
        """Has laws of Python sample the body, where a segment begins."""
        kernel = self.problem.torque.sample_kernel
        assert kernel is not None
        given = self._given_to_torque(t, self._state())
        with self._keeping(f"raised by a sampled law at t = {t:.12g}; {KEPT}"):
            self.arrays.state[STATE : STATE + self.stepper.carried] = kernel(t, *given)

    def _keeping(self, note: str) -> AbstractContextManager[None]:
        """Keeps what was computed before a call of the user's code."""
        return keeping(SimulationInterrupted, lambda _: self.assembled(Status.INTERRUPTED), note)

    def _save_rows_before_failure(self, to: Callable[[int], int], done: int) -> None:
        """Saves, row by row, what is due before the step or the step aside that raises."""
        count = self.arrays.count
        rows = int(count[AT.rows])
        with faults_ignored():
            while (row := int(count[AT.row])) < rows:
                count[AT.rows] = row + 1
                to(done)
                if count[AT.row] == row:
                    break
        count[AT.rows] = rows

    def _report(self, progress: Progress) -> None:
        """Calls the user's function; an exception in it ends the run, but loses nothing."""
        with self._keeping(f"raised by `progress`; {KEPT}"):
            done = self.steps_before + self.done
            progress(done, self.steps_before + self._steps_in_all() + self.steps_after)

    def _steps_in_all(self) -> int:
        share = (self._time() - self.t_begin) / (self.problem.t_end - self.t_begin)
        return self.steps.steps_in_all(self.done, share)

    def _check_stability(self) -> None:
        """Notes whether the steps of an explicit method are as long as its stability allows, and many are to come."""
        stable, done, passed = self.plan.method.stable_decay, self.done, self._time()
        made, length = done - self.measured[0], abs(passed - self.measured[1])
        if self.is_limited or not math.isfinite(stable) or made < stiffness.LOOK_STEPS:
            return
        self.measured = (done, passed)
        rest = self.problem.t_end - passed
        if length == 0.0 or abs(rest) * made < stiffness.LOOK_STEPS * length:
            return
        decay, rate = self.decay_here(rest)
        self.is_limited = is_stiff(decay, rate, rest) and are_limited(length / made, decay, stable)

    def decay_here(self, span: float) -> tuple[float, float]:
        """The fastest decay at the last state, over a span from there, and the rate."""
        problem = self.problem
        q, m = self.frame.outward_one(self.arrays.state)
        w = problem.body.rate(m, self._time())
        z = self._carried()
        return fastest_decay(problem.body, problem.torque, self._time(), q, w, span, z), math.hypot(*w.tolist())

    def is_stiff_here(self) -> bool:
        """Whether the rest of the motion is stiff: for a run that has failed."""
        rest = self.problem.t_end - self._time()
        decay, rate = self.decay_here(rest)
        return is_stiff(decay, rate, rest)

    def _check_lengths(self) -> None:
        """Warns while the run goes on, if its steps have become so short that it may never end."""
        done, passed = self.done, self._time()
        made, length = done - self.checked_lengths[0], abs(passed - self.checked_lengths[1])
        if made < step_warnings.LOOK_STEPS:
            return
        self.checked_lengths = (done, passed)
        # The rate, and the one at which the torque could make the body swing.
        inverse = 1.0 / self.problem.body.moments
        swing = math.sqrt((self.plan.torque_size or 0.0) * inverse.max())
        rate = math.hypot(*((self.arrays.state[4:STATE] - self.problem.body.principal_rotor) * inverse), swing)
        if are_absurdly_short(self.plan, made, length, rate):
            self.short = length / made
            if not self.warns_of_short_steps:
                return
            with self._keeping(KEPT):  # where warnings are errors
                warnings.warn(self._about_lengths(), ShortSteps, stacklevel=levels_of_polhode())

    def _until_check(self, chunk: int) -> int:
        """The number of steps in the next chunk: where a run gets stuck must not depend on the clock."""
        rest = self.paced[0] + step_warnings.PACE_STEPS - self.done
        return min(chunk, rest) if self.plan.method.adaptive else chunk

    def _leads_nowhere(self) -> bool:
        """Whether steps lead nowhere, as before a time at which the torque is infinite."""
        done, passed = self.done, self._time()
        if done - self.paced[0] < step_warnings.PACE_STEPS:
            return False
        advance, before = abs(passed - self.paced[1]), self.paced[2]
        self.paced = (done, passed, advance)
        return step_warnings.leads_nowhere(advance, before, self.problem.span)

    def _about_lengths(self) -> str:
        return about_short_steps(self.problem, self.plan, self.short, stiff=self.is_limited)

    def setting(self, segment: Segment) -> Floats:
        """The fixed numbers of a segment, as the loop takes them."""
        return setting_of(self.body, self.frame, segment, self.plan.method.tuning)

    # --- the result

    def assembled(self, status: Status) -> Solution:
        """Everything computed so far."""
        done, arrays, plan = self.done, self.arrays, self.plan
        t_last = self._time()
        t, states = self.steps.output(arrays, done, self.problem.t_end, ended=status == Status.OK)
        rows = (t, *self.frame.outward(states, scaled=plan.method.unscaled))
        end = (t_last, *self.frame.outward_one(arrays.state), self._carried())
        memory = tuple(arrays.carried[: self.stepper.memory].tolist()) if done else ()
        stats = Stats(done, self.nfev, self.seconds)
        message = self.message(status, t_last, done)
        return assemble(self.problem, plan, stats, rows, end, status, message, memory)

    @property
    def done(self) -> int:
        """The number of steps so far."""
        return self.before + int(self.arrays.count[AT.done])

    @property
    def nfev(self) -> int:
        """The number of evaluations of the torque so far, in all steps and steps aside."""
        if self.ready is not None:
            return 0 if self.made is None else self.made.nfev
        count, each = self.arrays.count, self.stepper.evaluations_per_step
        if each is None:
            return self.evaluations + (self._counted() if count[AT.done] else 0)
        steps = self.done + int(count[AT.asides])
        starts = self.starts + self.steps.restarts(self.arrays)
        return starts * self.stepper.evaluations_at_start + each * steps + int(count[AT.others])

    def _counted(self) -> int:
        """The number of evaluations that a counting stepper keeps in its memory."""
        if self.stepper.evaluations_per_step is not None:
            return 0
        return int(self.arrays.carried[-1]) + int(self.arrays.count[AT.counted])

    def _time(self) -> float:
        """The time that was reached."""
        return self.steps.time(self.segment, self.arrays, self.before)

    def message(self, status: Status, t: float, done: int) -> str:
        """How the run ended, in a sentence."""
        message = self._sentence(status, t, done)
        return f"{message}; {self._about_lengths()}" if self.short else message

    def _nothing_done(self, problem: BaseException) -> Solution | None:
        """The solution of a run that could not begin because of a callback: the state at its start."""
        if not is_from_callback(problem):
            return None
        q, m = self.frame.outward_one(self.arrays.state)
        place = f"at the very start, at t = {self.t_begin:.12g}"
        message = f"the torque {self.problem.torque.name} raised {type(problem).__name__}: {problem} {place}"
        end = (self.t_begin, q, m, z := self._carried())
        rows = (np.array([self.t_begin]), q[None], m[None], z[None])
        return assemble(self.problem, self.plan, Stats(), rows, end, Status.RAISED, message)

    def _sentence(self, status: Status, t: float, done: int) -> str:
        if status == Status.OK:
            return status.sentence.format(place=f"t = {t:.12g} in {done} steps")
        made = str(self.steps_before + done)
        if not self.plan.method.variable_steps:
            made += f" of {self.steps_before + self._steps_in_all() + self.steps_after}"
        place = f"after {made} steps, at t = {t:.12g}"
        torque, method = self.problem.torque.name, self.plan.method.name
        known = status == Status.RAISED and self.problem.torque.calls_python
        if status != Status.INTERRUPTED and not known and (fault := self._fault(t)):
            return f"the torque {torque} {fault.what} after {made} steps, at t = {fault.t:.12g}{fault.remedy}"
        usual = "take a shorter step"
        if self.steps_are_chosen:
            usual = "name another method beside rtol (DOP853; Radau for a stiff torque), or end the run before it"
        if status == Status.STALLED:
            usual = "the torque may be infinite there: end the run before it, or try a wider tolerance or other method"
        at_fault = status not in (Status.INTERRUPTED, Status.RAISED)
        remedy = (self._seen(t) if at_fault else None) or self._remedy(usual)
        return status.sentence.format(
            method=method, torque=torque, raised=self.raised, step=self.plan.step, place=place, remedy=remedy
        )

    def _seen(self, t: float) -> str | None:
        """What the torque was doing in the step that failed, if it changes the momentum within that time."""
        s = self._state()
        q, w, p, z = self._given_to_torque(t, s)
        steps = self.plan.step if not self.plan.method.variable_steps else 1e-3 * (t - self.t_begin)
        remedy = "take steps shorter than that, or give rtol instead of step"
        if self.steps_are_chosen:
            remedy = "name method='Radau' beside rtol"
        return what_torque_does(self.problem.torque, p, t, q, w, z, math.hypot(*s.m), abs(steps), remedy)

    def _remedy(self, usual: str) -> str:
        """What to try, unless products of the numbers given leave the range of floats whatever the step."""
        moments, momentum = self.problem.body.moments, float(np.abs(self.problem.momentum_start).max())
        if not 1.0 / HARMLESS < float(moments.min()) <= float(moments.max()) < HARMLESS:
            power = round(math.log10(moments.max()))
            return f"choose a unit of mass in which moments are nearer to one, here 1e{power} kg (for torques, too)"
        if not (momentum == 0.0 or 1.0 / HARMLESS < momentum < HARMLESS):
            power = round(math.log10(moments.max()) - math.log10(momentum))
            return f"choose a unit of time in which the momentum is nearer to one, here 1e{power} s"
        strongest = float(np.abs(np.asarray(self.values, dtype=np.float64)).max(initial=0.0))
        if strongest > HARMLESS:
            return f"check the numbers of the torque {self.problem.torque.name} and their units: one is {strongest:.3g}"
        rate = math.hypot(*self.problem.omega_start)
        turn = 0.0 if self.plan.method.variable_steps else rate * abs(self.plan.step)
        if turn <= 1.0 or self.steps_are_chosen:
            return usual
        return f"take a shorter step: it turns the body by {turn:.2g} rad; {good_steps(rate)} suit its rate"

    def _fault(self, t: float) -> Fault | None:
        """What the torque did wrong in the step that failed, if it did."""
        if (wrong := self._fault_of_sample(t)) is not None:
            return wrong
        lengths = self.steps.lengths_from_here(self.segment, self.arrays)
        return fault_of_torque(
            self.problem.torque, self.plan.method, self.binding.scales, self.body, self._params(), t, self._state(),
            lengths, (self.t_begin, self.problem.t_end), tilted=self.binding.tilted,
        )  # fmt: skip

    def _fault_of_sample(self, t: float) -> Fault | None:
        """What a law returned in a sample that is due here, if these are not all finite numbers."""
        kernel = self.problem.torque.sample_kernel
        if kernel is None:
            return None
        given = self._given_to_torque(t, self._state())
        with faults_ignored(), np.errstate(all="ignore"):
            taken = kernel(t, *given)
            if not all(map(math.isfinite, taken)):
                wrong = dict(zip(self.problem.torque.state_names, taken, strict=True))
                listed = ", ".join(f"{name} = {x:g}" for name, x in wrong.items() if not math.isfinite(x))
                return Fault(f"returned {listed} in a sample", t, DIVIDES)
        return None

    def _state(self) -> State:
        return form_of(len(self.problem.torque.state_names)).load(self.arrays.state.tolist(), 0)

    def _carried(self) -> Floats:
        """The numbers that the torque carries, as they are now."""
        return self.arrays.state[STATE : STATE + len(self.problem.torque.state_names)].copy()

    def _try_torque(self) -> float:
        """Calls the torque once in plain Python, before anything is compiled; returns its size."""
        t_seen = t = self.t_begin
        q, w, p, z = self._given_to_torque(t, self._state())
        if self.problem.breakpoints:
            low, high = self.steps.here(self.segment, self.arrays).window
            t_seen = min(max(t, low), high)
        return size_at_start(self.problem.torque, p, t, t_seen, q, w, z)


def solve(
    problem: Problem, plan: Plan, begin: Begin | None = None, progress: Progress | None = None,
    on_compile: OnCompile = None,
) -> Solution:  # fmt: skip
    """Runs a plan to the end, or raises with what there is."""
    torque = problem.torque
    plain = begin is None and progress is None and not plan.method.variable_steps and not problem.breakpoints
    if plain and may_be_quick(problem):
        given = list(torque.parameters(problem.body))
        values = np.array(checks.numbers("parameters", given, len(given)))
        sized = plan.replace(torque_size=size_where_it_begins(problem, values)) if plan.torque_size is None else plan
        binding = Binding(problem, sized, NO_OTHERS, driver_of)
        if (ready := ready_loop(problem, sized, binding, values.size, None, on_compile)) is not None:
            found = ready.solution(problem, sized, values)
            if found is not None:
                return found
    return Integration(problem, plan, begin, progress, on_compile).solution()
