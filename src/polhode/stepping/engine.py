"""The compiled steps of one method under one torque, on arrays that a `Stepper` keeps.

An engine is an `Integration`, or a `Batch` of many bodies, that is never run to an end: its compiled loop is called for
a few steps at a time, with the addresses of its arrays looked up once.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np

from polhode.body import Frame
from polhode.compiler import on_arrays
from polhode.ensembles.batch import Batch, BatchRun, Survey, is_of_torque
from polhode.ensembles.initial import Start as InitialStates
from polhode.ensembles.initial import Starts
from polhode.kernels.free.exact_flow import MODERATE_TURN_RAD
from polhode.kernels.loop.drive import AT
from polhode.kernels.states import STATE
from polhode.kernels.status import OK, Status
from polhode.kernels.steps.compose import Routine, nothing
from polhode.kernels.steps.flows import kick
from polhode.kernels.types import Depends, Inertia, Params, Pull, Start, State
from polhode.methods import Keeps, Method
from polhode.problem import NO_STATE, Plan, Problem
from polhode.run.binding import OnCompile
from polhode.run.grid import Segment
from polhode.run.integration import Integration
from polhode.support.arrays import Floats
from polhode.torques import Torque
from polhode.torques.prescribed import ConstantBodyTorque, ConstantSpaceTorque

MANY_STEPS = 2**62
"""The steps of a segment that never ends."""
DONE = AT.done
CHUNK_STEPS = 2**16
"""Steps, of all bodies together, in one call of compiled code, which Ctrl-C cannot stop: some milliseconds."""


def _kicking(pull: Pull) -> tuple[Start, Any]:
    """The start and the step of a kick alone."""
    kicked = kick(pull)

    def step(body: Inertia, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[State, Any, int]:
        return kicked(body, p, t, s, h), memory, OK

    return nothing, step


KICK = Method(
    "kick",
    Routine(_kicking),
    summary="the torque alone: the momentum moves by h times the torque while the attitude waits",
    cite="celledoni2006",
    order=None,
    attitude_order=None,
    accepts=Depends.POSITION | Depends.TIME | Depends.RATE,
    keeps=Keeps.NOTHING,
    keeps_when_free=Keeps.NOTHING,
    accepts_rotor=True,
)
"""The kick as a method, for those who write their own splitting. It is not in the list of methods."""


@dataclass(frozen=True, eq=False)
class SteppedBodies:
    """The bodies of a stepper, and where they start."""

    starts: Starts
    start: InitialStates
    problem: Problem
    """The problem of the first body, over one step."""
    survey: Survey | None
    """What all bodies have in common; None for a single body."""

    @property
    def count(self) -> int:
        """The number of bodies."""
        return self.start.count

    @property
    def fastest(self) -> int:
        """The number of the body that stands for all when a method is prepared."""
        return 0 if self.survey is None else self.survey.fastest[0]


class EngineRecipe(NamedTuple):
    """What an engine is made of: enough to make it again, in another process."""

    method: Method
    step: float
    torque: Torque
    """All that acts, with the parameters of the body that stands for all."""
    acts: str
    """Whose torque that is: the stepper's "own", one given to a call "alone", or "both"."""
    numbers: int
    """How many parameters a torque given to a call has."""

    @property
    def key(self) -> Any:
        """What engines differ in; values of parameters are not among it."""
        torque = self.torque
        kind = (torque.torque_kernel, torque.depends, torque.breakpoints, torque.calls_python)
        return self.method.name, self.step, *kind, self.acts, self.numbers


class Failure(Exception):
    """Steps of some bodies could not be made: status and words for each. It never leaves a stepper."""

    def __init__(self, failures: dict[int, Status], raised: dict[int, str]) -> None:
        super().__init__()
        self.failures, self.raised = failures, raised

    def joined(self, later: Failure) -> Failure:
        """Both failures as one."""
        return Failure({**later.failures, **self.failures}, {**later.raised, **self.raised})


@final
class StepEngine:
    """One method under one torque, bound to the states of a stepper."""

    def __init__(
        self, bodies: SteppedBodies, recipe: EngineRecipe, states: Floats | None, on_compile: OnCompile
    ) -> None:
        """Prepares the method; without `states` the arrays are those of the start."""
        self.bodies, self.recipe, self.on_compile = bodies, recipe, on_compile
        method, step, acting, *_ = recipe
        plan = Plan(method, step, torque_size=_assumed_size(bodies, recipe))
        self.batch: Batch | None = None
        self.run: BatchRun | None = None
        starts, problem = bodies.starts, bodies.problem
        if not acting.state_names:  # a kick or a drift, while the torque of the stepper carries numbers
            starts, problem = replace(starts, carried=np.empty((1, 0))), problem.replace(state_start=NO_STATE)
        self.width = STATE + len(acting.state_names)
        if bodies.survey is None:
            self.lead = Integration(problem.replace(torque=acting), plan, None, None, on_compile)
        else:
            starts = replace(starts, torques=(acting,), custom_parameters=None, summand=None)
            self.batch = Batch(problem, plan, starts, bodies.survey, 1, on_compile)
            self.lead = self.batch.lead
        if self.lead.steps.pieces is not None:  # the stepper itself divides steps in which the torque jumps
            whole = Segment(problem.t_start, problem.t_end, step, step, 1)
            self.lead.steps = type(self.lead.steps)([whole], self.lead.steps.times, self.lead.steps.every)
            self.lead.binding.driver = self.lead.steps.driver
        if self.batch is not None:
            self.run = BatchRun(self.batch, self.batch.starts.whole, None)
        self.memory = self.lead.stepper.memory
        self.counts_evaluations = self.lead.stepper.evaluations_per_step is None
        self.is_variable = method.variable_steps
        self.remembers = self.memory > 0 or self.is_variable
        self.breakpoints = self.lead.problem.breakpoints
        self.is_known_always = _is_known_always(acting) and not problem.body.changes
        self.is_undone = bodies.count > 1 and acting.calls_python
        """Whether a step in which something was raised is undone: some bodies may have made it."""
        self.segment = self.lead.steps.segments[0]
        if self.run is None:
            arrays = self.lead.arrays
            self.states, self.carried, self.count = arrays.state[None, :], arrays.carried[None, :], arrays.count[None]
        else:
            self.states, self.carried, self.count = self.run.states, self.run.carried, self.run.count
        if states is not None:
            self.states = states
        self.values = np.zeros((bodies.count, self.lead.values.size))
        self.set_window(-math.inf, math.inf)
        self.t0 = self.h = 0.0
        self.done = 0
        self.may_have_failed = False
        self.failed = 0  # bodies that failed in an earlier call, and stay where they are
        self.starts = self.evaluations = self.steps_before = 0
        self.own_version = -1  # of the parameters of the stepper's own torque
        self.extra: Any = None  # the parameters of a torque given to a call
        count = self.count
        count[:, AT.steps], count[:, AT.due] = MANY_STEPS, -1
        count[:, AT.rows] = count[:, AT.every] = count[:, AT.row] = 0
        count[:, AT.values] = self.values.shape[1]
        self._bind()

    def take(self, recipe: EngineRecipe) -> None:
        """Takes a recipe of the same key, whose torque may be known at other times."""
        if recipe.torque is not self.recipe.torque:
            self.recipe, self.is_known_always = recipe, _is_known_always(recipe.torque)

    def stop(self, failed: dict[int, Status]) -> None:
        """Lets these bodies stay where they are, and all others go on."""
        self.count[:, AT.status], self.failed = 0, len(failed)
        for k, status in failed.items():
            self.count[k, AT.status] = status

    def copy(self, states: Floats) -> StepEngine:
        """The same engine with arrays of its own, for other states."""
        other = object.__new__(StepEngine)
        other.__dict__.update(self.__dict__)
        other.states = states
        for name in ("carried", "count", "values", "setting"):
            setattr(other, name, getattr(self, name).copy())
        other._bind()
        return other

    def saved(self) -> dict[str, Any]:
        """All numbers that change, for pickle."""
        names = ("carried", "count", "values", "t0", "h", "done", "failed", "starts", "evaluations", "steps_before")
        return {name: getattr(self, name) for name in (*names, "own_version", "extra", "window")}

    def restore(self, numbers: dict[str, Any]) -> None:
        """Takes the numbers of another engine of the same recipe."""
        self.set_window(*numbers.pop("window"))
        self.__dict__.update(numbers)
        self._bind()

    def _bind(self, out: Floats | None = None) -> None:
        """Looks up the addresses of all arrays."""
        self.out = np.zeros(1) if out is None else out
        arrays = (
            self.setting.reshape(-1), self.values.reshape(-1) if self.values.size else np.zeros(1),
            self.states.reshape(-1), self.carried.reshape(-1), np.zeros(1), self.out.reshape(-1),
            np.zeros(1, dtype=np.int64), self.count.reshape(-1),
        )  # fmt: skip
        self.counters, self.numbers = memoryview(_any(arrays[-1])), memoryview(_any(arrays[1]))
        if self.batch is None:
            self.call = on_arrays(self.lead.compiled(), *arrays)
        else:
            batch = self.batch
            self.call = on_arrays(batch.ready(), *arrays)
            self.is_packed = batch.lanes > 1  # then a body that fails is first tried alone
            self.call_alone: Callable[[], Any] = lambda: on_arrays(batch.alone(), *arrays)

    def set_window(self, low: float, high: float) -> None:
        """Sets the interval between two jumps of the torque, in which it is evaluated."""
        setting = self.lead.setting(Segment(low, high, self.segment.h, self.segment.last, 1))
        rows = setting[None, :] if self.run is None else self.run.settings(setting, slice(0, self.bodies.count))
        if not hasattr(self, "setting"):
            self.setting = np.ascontiguousarray(rows)
        self.setting[:] = rows
        self.window = (low, high)

    # --- steps

    def restart(self, t: float, h: float) -> None:
        """Restarts the method at the time t with steps of length h: nothing that it remembers is used."""
        if self.counts_evaluations and self.starts:  # the memory, which has their number, is set back
            self.evaluations += int(self.carried[:, -1].sum())
        self.steps_before += self.done
        self.t0, self.h, self.done = t, h, 0
        self.starts += 1
        if self.batch is None:
            self.counters[DONE] = 0
        else:
            self.count[:, DONE] = 0
        if self.is_variable:
            self.carried[:] = 0.0

    def set_extra(self, values: Any) -> bool:
        """Sets the parameters of a torque that was given to a call; returns whether they are others than before."""
        if type(values) is tuple:  # of a single body: this is quicker than with NumPy
            if values == self.extra:
                return False
            numbers, place = self.numbers, self.values.shape[1] - len(values)
            for value in values:
                numbers[place] = value
                place += 1
        else:
            if self.extra is not None and np.array_equal(self.extra, values):
                return False
            self.values[:, self.values.shape[1] - values.shape[1] :] = values
        self.extra = values
        return True

    @property
    def nfev(self) -> int:
        """The evaluations of the torque so far, of all bodies."""
        stepper, bodies = self.lead.stepper, self.bodies.count
        each = stepper.evaluations_per_step
        if each is None:
            return self.evaluations + (int(self.carried[:, -1].sum()) if self.starts else 0)
        fixed = self.starts * stepper.evaluations_at_start + each * (self.steps_before + self.done)
        return fixed * bodies + int(self.count[:, AT.others].sum())

    def made(self) -> int:
        """The steps since the method began, as compiled code has counted them; `done` becomes that number."""
        self.done = int(self.count[:, AT.done].max())
        return self.done

    def advance(self, steps: int) -> None:
        """Makes this number of steps of length h; raises `Failure` if some cannot be made."""
        stop = self.done + steps
        try:
            if self.batch is None and steps <= CHUNK_STEPS:
                status = self.call(self.t0, self.h, self.h, stop)
                self.done = stop
                if status != OK:
                    self.done = int(self.count[0, AT.done])
                    raise Failure({0: Status(status)}, {})
                return
            self._advance_in_chunks(stop)
        except Failure:
            raise
        except BaseException as problem:
            self.made()
            if not is_of_torque(problem):
                raise
            self._find_step(stop)

    def _advance_in_chunks(self, stop: int) -> None:
        bodies = self.bodies.count
        self.may_have_failed = False
        chunk = 1 if self.is_undone else max(1, CHUNK_STEPS // bodies)
        while self.done < stop:
            upto = min(stop, self.done + chunk)
            if self.batch is None:
                status = self.call(self.t0, self.h, self.h, upto)
                if status != OK:
                    self.done = int(self.count[0, AT.done])
                    raise Failure({0: Status(status)}, {})
            elif self.is_undone:
                self._all_or_none_to(upto)
            else:
                self._all_to(upto, 0, bodies)
            self.done = upto
        if self.may_have_failed:
            self._raise_new_failures({})

    def _raise_new_failures(self, raised: dict[int, str]) -> None:
        """Raises `Failure` if bodies have failed that had not before."""
        status = self.count[:, AT.status]
        if np.count_nonzero(status) > self.failed:
            raise Failure({int(k): Status(int(status[k])) for k in np.flatnonzero(status)}, raised)

    def _all_to(self, stop: int, first: int, beyond: int) -> None:
        """Brings some of many bodies to a step, in lanes and those that cannot go in lanes alone."""
        numbers = (self.t0, self.h, self.h, stop, first, beyond, self.states.shape[1], self.width)
        status = self.count[:, AT.status]
        some_alone = True
        try:
            some_alone = self.call(*numbers) > 0
        finally:
            if some_alone:
                status[status == Status.ALONE] = OK
        if some_alone:
            self.call_alone()(*numbers)
        self.may_have_failed = self.may_have_failed or some_alone or not self.is_packed

    def _all_or_none_to(self, stop: int) -> None:
        """Brings all bodies to a step; none, if a Python function raises something meanwhile."""
        arrays = (self.states, self.carried, self.count)
        before = [array.copy() for array in arrays]
        try:
            self._all_to(stop, 0, self.bodies.count)
        except BaseException:
            for array, old in zip(arrays, before, strict=True):
                array[:] = old
            raise

    def _find_step(self, stop: int) -> None:
        """Brings bodies whose torque raises to the step before; raises `Failure` with what was raised."""
        raised: dict[int, str] = {}
        for k in range(self.bodies.count):
            own = self.count[k]
            reach = stop
            while own[AT.status] == OK and own[AT.done] < stop:
                done = int(own[AT.done])
                reach = min(reach, stop)
                try:
                    if self.batch is None:
                        own[AT.status] = self.call(self.t0, self.h, self.h, reach)
                    else:
                        self._all_to(reach, k, k + 1)
                    reach = stop if own[AT.done] > done else reach
                except Exception as problem:
                    if not is_of_torque(problem):
                        raise
                    if reach - done == 1:
                        own[AT.status], raised[k] = Status.RAISED, str(problem)
                    reach = done + max(1, (reach - done) // 2)
        self.done = int(self.count[:, AT.done].max())
        try:
            self._raise_new_failures(raised)
        finally:
            if self.batch is None:
                self.count[0, AT.status] = OK

    def cross(self, t: float, h: float) -> None:
        """Makes steps of any length from t over exactly h, each body its own; raises `Failure`."""
        count, bodies = self.count, self.bodies.count
        count[:, AT.resumed] = self.done > 0
        count[:, AT.done] = count[:, AT.finished] = 0
        self.states[:, self.width :] = 0.0
        first = math.copysign(self.recipe.step, h)
        raised: dict[int, str] = {}
        stop = 0
        while True:
            stop += max(1, CHUNK_STEPS // bodies)
            try:
                if self.batch is None:
                    count[0, AT.status] = self.call(t, first, h, stop)
                else:
                    self.call(t, first, h, stop, 0, bodies, self.states.shape[1], self.width + 1)
            except Exception as problem:
                if not is_of_torque(problem):
                    raise
                raised = self._find_crossing(t, first, h)
            if not ((count[:, AT.status] == OK) & (count[:, AT.finished] == 0)).any():
                break
        self.done += 1
        try:
            self._raise_new_failures(raised)
        finally:
            if self.batch is None:
                count[0, AT.status] = OK

    def _find_crossing(self, t: float, first: float, h: float) -> dict[int, str]:
        """Makes steps that choose their length one by one, up to those that raise; returns what was raised."""
        raised: dict[int, str] = {}
        for k in range(self.bodies.count):
            own = self.count[k]
            while own[AT.status] == OK and not own[AT.finished]:
                try:
                    if self.batch is None:
                        own[AT.status] = self.call(t, first, h, int(own[AT.done]) + 1)
                    else:
                        self.call(t, first, h, int(own[AT.done]) + 1, k, k + 1, self.states.shape[1], self.width + 1)
                except Exception as problem:
                    if not is_of_torque(problem):
                        raise
                    own[AT.status], raised[k] = Status.RAISED, str(problem)
        return raised

    # --- rows

    def record_into(self, rows: int, every: int, first: int) -> Floats:
        """Lets the next steps leave rows, after every `every` of them, the first after `first`; returns their array."""
        out = np.full((self.bodies.count, rows, self.width), np.nan)
        count = self.count
        count[:, AT.rows], count[:, AT.row], count[:, AT.every] = rows, 0, every
        count[:, AT.due] = self.done + first
        self._bind(out)
        return out

    def stop_recording(self) -> None:
        """Lets the next steps leave no rows."""
        count = self.count
        count[:, AT.rows] = count[:, AT.row] = count[:, AT.every] = 0
        count[:, AT.due] = -1
        self._bind()

    # --- failures

    def message(self, k: int, status: Status, t: float, steps: int, raised: str | None) -> str:
        """What happened to a body that stopped at the time t, after this number of steps."""
        own = self.bodies.start.problem(k, self.bodies.problem)
        q, m = Frame.of(own.body).outward_one(self.states[k, :STATE])
        problem = own.replace(
            torque=self.recipe.torque, t_start=t, t_end=t + self.h, quaternion_start=q, momentum_start=m,
            state_start=self.states[k, STATE : self.width].copy(),
        )  # fmt: skip
        alone = self.lead.with_body(problem, self.values[k])
        alone.steps_before = steps
        alone.raised = raised or alone.raised
        return alone.message(status, t, 0)


def _is_known_always(torque: Torque) -> bool:
    """Whether the torque is known at all times, unlike a table."""
    try:
        torque.check_span(-sys.float_info.max, sys.float_info.max)
    except ValueError:
        return False
    return True


def _any(x: Any) -> Any:
    """Returns x; NumPy's types do not say that arrays are buffers."""
    return x


def _assumed_size(bodies: SteppedBodies, recipe: EngineRecipe) -> float | None:
    """The size of the torque to prepare for, where it is zero now and may be anything later; else None.

    Exact flows are then prepared for a moderate turn in a step. They cut longer ones, whatever they are prepared for.
    """
    held = recipe.torque
    if not isinstance(held, ConstantBodyTorque | ConstantSpaceTorque) or any(held.vector):
        return None
    rate = MODERATE_TURN_RAD / abs(recipe.step)
    return 0.25 * rate * rate * float(bodies.problem.body.moments.min())
