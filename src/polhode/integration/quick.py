"""Short runs with one program and nothing but that: for whoever makes many, each from another start."""

import time
from typing import final

import numpy as np
from numpy.typing import NDArray

from polhode._arrays import Floats
from polhode.compiled import KernelRaised, address_of, at_addresses, compiles
from polhode.core.drive import AT
from polhode.core.states import STATE
from polhode.core.status import OK, Status
from polhode.integration.binding import Binding, OnCompile
from polhode.integration.buffers import Buffers, check_room
from polhode.integration.fixed import FixedSteps
from polhode.integration.frame import Frame
from polhode.integration.loop import CHUNK_SECONDS, as_kernels_see, first_chunk, setting_of
from polhode.integration.variable import Steps, steps_of
from polhode.problem import Plan, Problem, Stats
from polhode.solution import Solution


def can_be_quick(problem: Problem, steps: Steps) -> bool:
    """Whether runs of this kind can be made by one call of compiled code or two, whatever their start."""
    torque = problem.torque
    listed = isinstance(steps, FixedSteps) and len(steps.segments) == 1 and steps.pieces is None
    return compiles() and listed and torque.sample_kernel is None and not torque.calls_python


@final
class QuickRuns:
    """Runs of one body by one program over one grid. Each has arrays of its own, so that threads can share this."""

    def __init__(self, problem: Problem, plan: Plan, binding: Binding, on_compile: OnCompile = None) -> None:
        """Takes any of the problems, and the step that serves for all of them."""
        steps = steps_of(problem, plan)
        assert isinstance(steps, FixedSteps)
        self.plan, self.steps, self.stepper = plan, steps, binding.stepper
        self.segment, self.frame = steps.segments[0], Frame.of(problem.body)
        self.width = STATE + len(problem.torque.state_names)
        self.rows = steps.rows + steps.ragged
        check_room(self.rows, self.width)
        body = as_kernels_see(problem.body, gyrostat=problem.body.has_rotor)
        self.setting = setting_of(body, self.frame, self.segment, plan)
        self.carried = max(1, self.stepper.memory)
        values = np.array(problem.torque.parameters(problem.body), dtype=np.float64)
        self.values = values if values.size else np.zeros(1)
        arrays = Buffers(np.zeros(self.width), steps.clock, values.size)
        arrays.count[AT.rows] = steps.rows
        self.index, self.offset = steps.begin(self.segment, 0, arrays)
        self.count = arrays.count
        self.addresses = [address_of(a) for a in (self.setting, self.values, self.offset, self.index)]
        self.call = at_addresses(binding.loop(on_compile))
        self.first = first_chunk(self.stepper)
        self.t = steps.times.copy() if steps.times is not None else steps.times_of_rows(steps.total, self.rows)
        self.message = Status.OK.sentence.format(place=f"t = {self.segment.t1:.12g} in {steps.total} steps")

    def solution(self, problem: Problem, plan: Plan, values: Floats | None = None) -> Solution | None:
        """Returns the run from the start of a problem; None if it has to be made in another way.

        That is so if it takes long, and is to show its progress to Ctrl-C, or if it fails, and is to say why.
        `values` are the parameters of the torque, if they are not those of the first problem.
        """
        width, carried, segment = self.width, self.carried, self.segment
        head = width + carried
        numbers, count = np.zeros(head + self.rows * width), self.count.copy()
        numbers[:width] = self.frame.inward(problem.quaternion_start, problem.momentum_start, problem.state_start)
        at, counters = address_of(numbers), address_of(count)
        setting, parameters, offset, index = self.addresses
        if values is not None:
            parameters = address_of(values)
        given = (setting, parameters, at, at + 8 * width, offset, at + 8 * head, index, counters)
        total, stop = segment.steps, min(segment.steps, self.first)
        begun = time.perf_counter()
        try:
            status = self.call(*given, segment.t0, segment.h, segment.last, stop)
            seconds = time.perf_counter() - begun
            if status == OK and stop < total:
                if seconds * (total - stop) > CHUNK_SECONDS * stop:
                    return None
                status = self.call(*given, segment.t0, segment.h, segment.last, total)
                seconds = time.perf_counter() - begun
        except KernelRaised:
            return None
        if status != OK:
            return None
        state, memory = numbers[:width], numbers[width:head]
        out, row = numbers[head:].reshape(self.rows, width), int(count[AT.row])
        if self.steps.ragged:
            out[row] = state
        q, m, z = self.frame.outward(out, scaled=plan.method.unscaled)
        last_q, last_m = self.frame.outward_one(state)
        kept = tuple(memory[: self.stepper.memory].tolist())
        stats = Stats(total, self._evaluations(count, memory), seconds)
        return Solution(
            problem, plan, stats, self.t.copy(), q, m, Status.OK, self.message, segment.t1, last_q, last_m, kept,
            state=z, last_state=state[STATE:].copy(),
        )  # fmt: skip

    def _evaluations(self, count: NDArray[np.int64], memory: Floats) -> int:
        """Returns the number of evaluations of the torque in a whole run."""
        each = self.stepper.evaluations_per_step
        if each is None:
            return int(memory[-1]) + int(count[AT.counted])
        steps = self.segment.steps + int(count[AT.asides])
        return self.stepper.evaluations_at_start + each * steps + int(count[AT.others])
