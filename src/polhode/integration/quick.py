"""Short runs with one program and nothing but that: for whoever makes many, each from another start."""

import math
import time
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, TypeGuard, final

import numpy as np
from numpy.typing import NDArray

from polhode import _check
from polhode._arrays import Floats
from polhode.compiled import KernelRaised, address_of, at_addresses, compiles
from polhode.core.drive import AT
from polhode.core.gyrostat import body_of
from polhode.core.ops import internal, is_gyrostat
from polhode.core.states import STATE
from polhode.core.status import OK, Status
from polhode.integration.binding import NO_OTHERS, Beside, Binding, ById, OnCompile, triple
from polhode.integration.buffers import Buffers, check_room
from polhode.integration.fixed import FixedSteps, driver_of
from polhode.integration.frame import Frame
from polhode.integration.grid import Segment
from polhode.integration.loop import CHUNK_SECONDS, Integration, as_kernels_see, first_chunk, setting_of
from polhode.integration.nudge import Nudged
from polhode.integration.trial import size_where_it_begins
from polhode.integration.variable import Steps, steps_of
from polhode.problem import Plan, Problem, Stats
from polhode.solution import Solution


def may_be_quick(problem: Problem) -> bool:
    """Whether runs under this torque may be made by one call of compiled code or two."""
    torque = problem.torque
    return compiles() and torque.sample_kernel is None and not torque.calls_python


def are_equal(steps: Steps) -> TypeGuard[FixedSteps]:
    """Whether the grid of a run is known beforehand, in one stretch or a few, whatever its start."""
    return isinstance(steps, FixedSteps) and steps.pieces is None


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
    """Those of setting, offset and index."""


BEGUN = [AT.done, AT.steps, AT.due, AT.every, AT.next, AT.times]
"""The counters that are written where a segment begins."""


SURE = 0.2
"""Runs that are foreseen to take less than this part of a chunk are made by one call."""


@final
class QuickRuns:
    """Runs of one body by one program over one grid. Each has arrays of its own, so that threads can share this."""

    def __init__(
        self, problem: Problem, plan: Plan, steps: FixedSteps, binding: Binding, on_compile: OnCompile = None,
        inverses: Floats | None = None,
    ) -> None:  # fmt: skip
        """Takes any of the problems, and the step that serves for all of them.

        Companions, which judge other runs, have slightly other inverse moments.
        """
        self.plan, self.steps, self.stepper = plan, steps, binding.stepper
        self.frame = Frame.of(problem.body)
        self.width = STATE + len(problem.torque.state_names)
        self.rows = steps.rows + steps.ragged
        check_room(self.rows, self.width)
        body = as_kernels_see(problem.body, gyrostat=problem.body.has_rotor)
        if inverses is not None:
            body = body_of(body.inertia, triple(inverses), internal(body) if is_gyrostat(body) else None)
        self.carried = max(1, self.stepper.memory)
        values = np.array(problem.torque.parameters(problem.body), dtype=np.float64)
        self.values = values if values.size else np.zeros(1)
        arrays = Buffers(np.zeros(self.width), steps.clock, values.size)
        arrays.count[AT.rows] = steps.rows
        self.stretches, before = list[Stretch](), 0
        for segment in steps.segments:
            setting, (index, offset) = setting_of(body, self.frame, segment, plan), steps.begin(segment, before, arrays)
            at = (address_of(setting), address_of(offset), address_of(index))
            self.stretches.append(Stretch(segment, setting, index, offset, arrays.count.copy(), at))
            before += segment.steps
        self.call = at_addresses(binding.loop(on_compile))
        self.first = first_chunk(self.stepper)
        self.pace = math.inf
        """The seconds that a step took in the last run; other starts take about as long."""
        self.t = steps.times.copy() if steps.times is not None else steps.times_of_rows(steps.total, self.rows)
        self.t_last = steps.segments[-1].t1
        self.message = Status.OK.sentence.format(place=f"t = {self.t_last:.12g} in {steps.total} steps")

    def solution(
        self, problem: Problem, plan: Plan, values: Floats | None = None, nudged: Nudged | None = None
    ) -> Solution | None:
        """Returns the run from the start of a problem; None if it has to be made in another way.

        That is so if it takes long, and is to show its progress to Ctrl-C, or if it fails, and is to say why.
        `values` are the parameters of the torque, if they are not those of the first problem. A companion begins from
        slightly different numbers.
        """
        width, head = self.width, self.width + self.carried
        numbers, count = np.zeros(head + self.rows * width), self.stretches[0].counters.copy()
        q, m = problem.quaternion_start, problem.momentum_start
        if nudged is not None:
            q, m = nudged.quaternion, nudged.momentum
        numbers[:width] = self.frame.inward(q, m, problem.state_start)
        parameters = address_of(self.values if values is None or not values.size else values)
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
        q, m, z = self.frame.outward(out, scaled=plan.method.unscaled)
        last_q, last_m = self.frame.outward_one(state)
        kept = tuple(memory[: self.stepper.memory].tolist())
        stats = Stats(total, self._evaluations(count, evaluations), seconds)
        return Solution(
            problem, plan, stats, self.t.copy(), q, m, Status.OK, self.message, self.t_last, last_q, last_m, kept,
            state=z, last_state=state[STATE:].copy(),
        )  # fmt: skip

    def _evaluations(self, count: NDArray[np.int64], counted: int) -> int:
        """Returns the number of evaluations of the torque in a whole run; of some steppers they were counted."""
        each = self.stepper.evaluations_per_step
        if each is None:
            return counted
        steps = self.steps.total + int(count[AT.asides])
        return len(self.stretches) * self.stepper.evaluations_at_start + each * steps + int(count[AT.others])


KEPT_RUNS = 64
"""The number of grids that are kept with their program, for calls that differ in their start."""
MOST_KEPT_ROWS = 10_000
"""Grids with more rows are not kept: 64 of them would fill the memory, and next to their rows the rest is quick."""


def quick_runs(
    problem: Problem, plan: Plan, binding: Binding, nudged: Nudged | None = None, on_compile: OnCompile = None
) -> QuickRuns | None:
    """Returns the runs of this kind, which may have been made for another start; None: there are none."""
    rows = problem.span / plan.step / (problem.every or 1) if problem.times is None else problem.times.size
    if rows > MOST_KEPT_ROWS:
        return None
    listed = None if problem.times is None else problem.times.tobytes()
    grid = (problem.t_start, problem.t_end, listed, problem.every, plan.step, plan.first_stop, plan.at_knots)
    kind = (ById(binding.loop(on_compile)), ById(problem.body), plan.method.tuning, nudged is not None)
    return _quick_runs((grid, kind), Beside((problem, plan, binding, nudged)))


@lru_cache(maxsize=KEPT_RUNS)
def _quick_runs(deciding: object, beside: Beside) -> QuickRuns | None:
    problem, plan, binding, nudged = beside.value
    steps = steps_of(problem, plan)
    if not are_equal(steps):
        return None
    return QuickRuns(problem, plan, steps, binding, None, None if nudged is None else nudged.inverses)


def made_at_once(problem: Problem, plan: Plan, on_compile: OnCompile = None) -> Solution | None:
    """Returns the run of a plan, if it is short and all goes well; None: it has to be made as an `Integration`."""
    torque = problem.torque
    if plan.method.variable_steps or torque.breakpoints or not may_be_quick(problem):
        return None
    given = list(torque.parameters(problem.body))
    values = np.array(_check.numbers("parameters", given, len(given)))
    plan = plan.replace(torque_size=size_where_it_begins(problem, values))
    runs = quick_runs(problem, plan, Binding(problem, plan, NO_OTHERS, driver_of), None, on_compile)
    return None if runs is None else runs.solution(problem, plan, values)


@final
class ShortRun:
    """A run that is made by one call of compiled code or two; where that is not enough, as an `Integration`."""

    short = 0.0
    """The length of absurdly short steps: equal steps are as short as was asked."""

    def __init__(
        self, runs: QuickRuns, problem: Problem, plan: Plan, values: Floats, nudged: Nudged | None,
        otherwise: Callable[[], Integration],
    ) -> None:  # fmt: skip
        self.runs, self.given, self.otherwise = runs, (problem, plan, values, nudged), otherwise
        self.progress = None
        self.nfev, self.seconds = 0, 0.0
        self.whole: Integration | None = None
        self._cancelled = False

    @property
    def cancelled(self) -> bool:
        """Whether the run is to end because nobody wants it any more; another thread may say so at any time."""
        return self._cancelled

    @cancelled.setter
    def cancelled(self, value: bool) -> None:
        self._cancelled = value
        if self.whole is not None:
            self.whole.cancelled = value

    def compiled(self) -> object:
        """Returns the compiled loop, ready to run."""
        return self.runs.call

    def attempt(self) -> Solution:
        """Runs to the end, or raises without looking for the cause."""
        found = self.runs.solution(*self.given)
        if found is not None:
            self.nfev, self.seconds = found.stats.nfev, found.stats.seconds
            return found
        whole = self.whole = self.otherwise()
        if self.cancelled:  # before the run could be told
            whole.cancelled = True
        try:
            return whole.attempt()
        finally:
            self.nfev, self.seconds = whole.nfev, whole.seconds
