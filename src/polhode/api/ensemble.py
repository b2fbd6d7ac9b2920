"""ensemble(...) -> Ensemble: many bodies at once, on all cores, by the same compiled steps as one body."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Any, Required, TypedDict, TypeVar, Unpack, cast, overload

import numpy as np

from polhode.accuracy.companion import available_cores
from polhode.accuracy.search import Goal
from polhode.api.simulate import check_accepted, checked_goal
from polhode.compiler import announced_once
from polhode.ensembles.batch import Batch, Survey, run_batch
from polhode.ensembles.derivatives import differentiated
from polhode.ensembles.events import BatchRunner, WatchedRunner
from polhode.ensembles.initial import Start, Starts
from polhode.ensembles.pilots import PilotResult, ToleranceRunner
from polhode.ensembles.reduce import BLOCK, Quantity, Reduced, Reductions, checked
from polhode.ensembles.result import Ensemble, EnsembleInterrupted
from polhode.events.find import Event, listed
from polhode.kernels.states import STATE
from polhode.methods import Method
from polhode.problem import Plan, Problem
from polhode.run.binding import OnCompile
from polhode.run.integration import Progress
from polhode.run.rows import check_room
from polhode.run.step_warnings import announce, warn_of_long_steps
from polhode.run.tangents import check_names, names_of
from polhode.solution import Solution
from polhode.support import checks
from polhode.support.arrays import Floats
from polhode.support.interrupts import Work, keeping
from polhode.torques import Torque

BATCH_BYTES = 2**26
"""The memory for the bodies of a batch, where only reductions are kept."""
BODY_BYTES = 600
"""The memory of one body during a run, without its rows."""
ROW_BYTES = 2 * 56
"""The memory of one row of a body: the state, and what is computed from it."""
LARGEST_BATCH = 2**15
"""The largest number of bodies in a batch."""
BATCH_STEPS = 2**26
"""Steps of all bodies of a batch, about a second of work: an interruption loses at most a batch."""

F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["Ensemble", "EnsembleInterrupted", "ensemble"]


class EnsembleArguments(TypedDict, total=False):
    """What is asked of an ensemble: arguments of `ensemble` and of `plan_ensemble`; `ensemble` says what they are."""

    omega: Required[Any]
    attitude: Any
    rotor: Any
    parameters: Any
    count: int | None
    seed: int | None
    t_span: Required[tuple[float, float]]
    rtol: float | None
    step: float | None
    method: str | Method | None
    t_eval: Any
    every: int | None
    events: Any
    state: Any


@dataclass(frozen=True, eq=False)
class EnsembleRequest:
    """What is asked of an ensemble, checked; nothing has been drawn or run yet but the first body."""

    problem: Problem
    """The problem of the first body; span and output are those of all."""
    starts: Starts
    goal: Plan | Goal
    reductions: dict[str, Quantity] | None
    events: tuple[Event, ...]
    alone: dict[str, Any]
    """Arguments of `simulate` for bodies that only a run of their own can save."""

    @classmethod
    def given(
        cls, body: Any, torque: Torque | Sequence[Torque] | None = None, *, omega: Any, attitude: Any = None,
        rotor: Any = None, parameters: Any = None, count: int | None = None, seed: int | None = None,
        t_span: tuple[float, float], rtol: float | None = None, step: float | None = None,
        method: str | Method | None = None, t_eval: Any = None, every: int | None = None, events: Any = None,
        state: Any = None, reduce: Mapping[str, Quantity] | None = None,
    ) -> EnsembleRequest:  # fmt: skip
        """Checks the arguments of `ensemble`."""
        starts = Starts.given(body, torque, omega, attitude, parameters, count, seed, state, rotor)
        starts = starts.beginning_at(float(t_span[0]) if np.size(t_span) == 2 else 0.0)
        if not all(one.samples_compiled for one in starts.torques):
            raise ValueError(
                f"{starts.torques[0].name} has a law that is called in Python: for many bodies it is compiled"
            )
        one = starts.part(0, 1)
        problem = Problem.given(
            one.bodies[0], one.torque(0), omega=one.rates[0], attitude=one.quaternions[0], t_span=t_span,
            t_eval=t_eval, every=every, state=one.state[0] if one.torque(0).state_names else None,
        )  # fmt: skip
        for other in starts.torques[1:]:
            other.check_span(problem.t_start, problem.t_end)
        starts = starts.for_span(problem.t_start, problem.t_end)
        goal = checked_goal(problem, rtol, step, method)
        variable = (
            "with rtol" if isinstance(goal, Goal) else f"of {goal.method.name}" if goal.method.variable_steps else ""
        )
        if variable and every is not None:
            raise ValueError(f"the steps {variable} differ from body to body: give t_eval instead of every")
        if t_eval is None and every is None:
            problem = problem.replace(times=np.array([problem.t_start, problem.t_end]), every=None)
        wanted = None if reduce is None else checked(reduce, problem.torque, estimated=isinstance(goal, Goal))
        return cls(problem, starts, goal, wanted, listed(events), {"rtol": rtol, "method": method})

    def turned(
        self, survey: Survey, threads: int, progress: Progress | None = None, on_compile: OnCompile = None,
        found: PilotResult | None = None,
    ) -> BatchRunner:  # fmt: skip
        """What runs the bodies; with `found`, as pilots have shown before that it is best done."""
        problem, starts, goal = self.problem, self.starts, self.goal
        if survey.others.gyrostats and goal.method is not None:  # the first body may have none
            check_accepted(goal.method, problem.torque, rotor=True, body=problem.body)
        heard = None if progress is None else _RepeatableProgress(progress)
        steps: _StepRunner | ToleranceRunner
        if isinstance(goal, Goal):
            steps = ToleranceRunner(
                problem, starts, survey, goal, threads, heard, on_compile, found, pairs=not self.events
            )
        else:
            steps = _StepRunner(problem, goal, starts, survey, threads, heard, on_compile)
        if not self.events:
            return steps
        alone = {**self.alone, "on_compile": on_compile}
        return WatchedRunner(steps, self.events, None if heard is None else heard.again, alone)


def asking(function: F) -> F:
    """Shows the arguments of an ensemble as those of a function that takes them together, and checks their names."""
    made, given = inspect.signature(function), inspect.signature(EnsembleRequest.given)
    own = {name: p for name, p in made.parameters.items() if p.kind is not p.VAR_KEYWORD}
    shown = made.replace(parameters=list((dict(given.parameters) | own).values()))

    @wraps(function)
    def call(*args: Any, **arguments: Any) -> Any:
        try:
            shown.bind(*args, **arguments)
        except TypeError as problem:
            raise TypeError(f"{function.__name__}() {problem}") from None
        return function(*args, **arguments)

    call.__signature__ = shown  # type: ignore[attr-defined]
    del call.__wrapped__  # tools that read the source would find other arguments there
    return cast(F, call)


@overload
def ensemble(
    body: Any, torque: Torque | Sequence[Torque] | None = None, *, reduce: None = None, threads: int | None = None,
    derivatives: str | Sequence[str] = (), progress: Progress | None = None, on_compile: OnCompile = None,
    **asked: Unpack[EnsembleArguments],
) -> Ensemble: ...  # fmt: skip
@overload
def ensemble(
    body: Any, torque: Torque | Sequence[Torque] | None = None, *, reduce: Mapping[str, Quantity],
    threads: int | None = None, progress: Progress | None = None, on_compile: OnCompile = None,
    **asked: Unpack[EnsembleArguments],
) -> Reduced: ...  # fmt: skip


@asking
@announced_once
def ensemble(
    body: Any, torque: Torque | Sequence[Torque] | None = None, *, reduce: Mapping[str, Quantity] | None = None,
    threads: int | None = None, derivatives: str | Sequence[str] = (), progress: Progress | None = None,
    on_compile: OnCompile = None, **asked: Unpack[EnsembleArguments],
) -> Ensemble | Reduced:  # fmt: skip
    """Turns many bodies from `t_span[0]` to `t_span[1]`, each by itself, on all cores.

    Parameters
    ----------
    body
        One `Body` for all, a list of them, or an array of principal moments, one row a body.
    torque
        One torque for all, or a list of torques of one kind with different parameters.
    omega
        Angular velocity at the start in body axes, rad/s: three components for all bodies, or a row for each.
    attitude
        Rotation from body to space axes at the start, as in `simulate`: one for all bodies, or a stack.
    rotor
        Internal angular momentum of gyrostats in body axes, unless the bodies have their own (`Body(rotor=)`): one for
        all bodies, or a row for each.
    parameters
        Parameters p of a torque of your own, a row for each body; of one part of a sum: `{"name": rows}`.
    count
        Number of bodies to draw, if `body`, `omega`, `attitude`, `rotor`, `parameters` or `state` is a distribution of
        `polhode.samples`, or a function f(rng, n) that returns n rows. Body k is the same for every `count`.
    seed
        Seed of these draws: a non-negative integer.
    t_span
        Start time and end time, s, of all bodies.
    rtol
        Bound of the error of every body. polhode chooses method and steps, gives shorter steps to the bodies that need
        them, and states an `error_estimate` for each.
    step
        Length of a step, s, of all bodies; give this or `rtol`.
    method
        A name from `polhode methods`, or a `Method`.
    t_eval
        Output times, s. Default: the start and the end.
    every
        Number of steps between two rows of output, if `t_eval` is not given.
    events
        Functions `g(t, q, w)`, or `Event` objects made of them, as in `simulate`. `ensemble.events` has the bodies and
        times of the zeros of each. A terminal event ends the motion of its body alone.
    state
        Initial values of the state variables of a torque that has some: one row for all bodies, a row for each, or a
        distribution.
    reduce
        Reductions by name, such as `{"rate": polhode.quantity("omega").mean("body")}`. The result is then a `Reduced`,
        which has these alone; memory grows with the number of bodies only where a value is kept for each.
    threads
        Number of threads. Default: one for each core. The results are the same for every number.
    derivatives
        Quantities to differentiate each motion by, as in `simulate`: the ensemble has a `jacobian`, and each solution.
        They are computed body by body, in runs of their own.
    progress
        Function of the number of steps done and of all steps, over all bodies. An exception in it ends the run; the
        exception has what was computed as its `ensemble`.
    on_compile
        Function called before a compilation, as in `simulate`.

    An argument with a row for each body sets the number of bodies. A body that fails stops alone: its later rows are
    NaN, and its `status` and `ensemble[k].message` say why.

    Where method and torque allow it, vector registers hold eight or sixteen bodies at a time. The results are the same;
    `lanes` and `why_not_packed` say whether it was done. A torque with an `if` on its arguments runs body by body:
    `polhode.where` is faster.

    Examples
    --------
    >>> many = ph.ensemble(
    ...     ph.Body([1, 2, 2.8]), omega=ph.samples.Normal([0, 2, 0], 0.1), count=5, seed=1,
    ...     t_span=(0, 1), method="MR2", step=0.1,
    ... )
    >>> many.omega.shape
    (5, 2, 3)
    """
    checks.is_called("progress", progress, "done, steps")
    workers = available_cores() if threads is None else checks.count("threads", threads)
    request = EnsembleRequest.given(body, torque, reduce=reduce, **asked)
    starts, wanted = request.starts, request.reductions
    by = names_of(derivatives) if derivatives else ()
    if by:
        if wanted is not None or request.events:
            other = "events" if request.events else "reductions"
            raise ValueError(f"{other} of many bodies have no derivatives: simulate the bodies that matter one by one")
        check_names(request.problem, by)
    reduced, shown = wanted is not None, progress is not None
    _say_what_it_costs(request.problem, request.goal, starts.count, workers, reduced=reduced, shown=shown)
    turned = request.turned(Survey.of(starts), workers, progress, on_compile)
    made: Ensemble | Reduced
    if wanted is None:
        made = replace(turned(starts.whole), seed=starts.seed)
    else:
        made = _reduced(turned, starts, wanted, request.problem)
    turned.warn()
    return (
        differentiated(made, by, asked.get("rtol"), workers, on_compile) if by and isinstance(made, Ensemble) else made
    )


def _say_what_it_costs(
    problem: Problem, goal: Plan | Goal, count: int, threads: int, *, reduced: bool, shown: bool
) -> None:
    """Refuses output that does not fit into memory, and announces a long run, before all bodies are looked at."""
    steps = 1.0 if isinstance(goal, Goal) else max(1.0, abs(problem.span / goal.step))
    if not reduced:
        rows = int(steps / (problem.every or 1)) + 1 if problem.times is None else problem.times.size
        check_room(rows, STATE + problem.state_start.size, count)
    if not shown:
        hint = "take fewer bodies" if isinstance(goal, Goal) else "take fewer bodies, or longer steps"
        announce(steps, count, threads, hint=hint)


class _RepeatableProgress:
    """A user's `progress` that can be called again, while events are looked for after all steps."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.last = progress, (0, 1)

    def __call__(self, done: int, total: int) -> None:
        """Calls the function, and remembers with what."""
        self.last = (done, total)
        self.progress(done, total)

    def again(self) -> None:
        """Calls the function as it was called last."""
        self.progress(*self.last)


class _StepRunner:
    """Runs bodies with steps of a given length."""

    def __init__(
        self, problem: Problem, plan: Plan, starts: Starts, survey: Survey, threads: int,
        progress: Progress | None, on_compile: OnCompile,
    ) -> None:  # fmt: skip
        self.batch = Batch(problem, plan, starts, survey, threads, on_compile)
        self.progress, self.fastest = progress, survey.fastest[0]
        self.seen: Solution | None = None
        self.rows, self.steps = self.batch.rows, self.batch.steps

    @property
    def t(self) -> Floats:
        """The output times."""
        return self.batch.t

    def __call__(self, part: Start) -> Ensemble:
        """Runs some bodies to the end; an exception that stops them has an `ensemble` of what was computed."""
        made = run_batch(self.batch, part, self._report(part))
        place = self.fastest - part.first
        if 0 <= place < len(made) and made.success[place]:
            self.seen = made[place]
        return made

    def _report(self, part: Start) -> Callable[[int], None] | None:
        progress, each = self.progress, self.batch.steps
        if progress is None:
            return None
        return lambda done: progress(part.first * each + done, self.batch.count * each)

    def warn(self) -> None:
        """Warns of steps that are too long for the fastest body."""
        if self.seen is not None:
            warn_of_long_steps(self.seen, f"the fastest body (number {self.fastest})")

    def batches(self, made: Ensemble) -> Iterator[tuple[Any, Batch]]:
        """Yields the places of bodies that were run alike, with the batch by which they can be run again."""
        yield np.arange(len(made)), self.batch

    def mended(self, bodies: int) -> None:
        """Does nothing: there is no tolerance to be reached."""


def _reduced(turned: BatchRunner, starts: Starts, wanted: dict[str, Quantity], problem: Problem) -> Reduced:
    """Runs and reduces all bodies, batch by batch; the next batch runs while one is reduced."""
    total = Reductions(wanted, starts.count, starts.seed)
    # In a thread of its own, so that Ctrl-C cannot come between two reductions of one batch.
    adding: Work[None] | None = None

    def kept(raised: BaseException) -> Reduced | None:
        if adding is not None:
            adding.wait()
        worth = isinstance(raised, KeyboardInterrupt) or hasattr(raised, "ensemble")
        worth = worth or (isinstance(raised, Exception) and total.count > 0)
        return total.result(problem, turned.t) if worth else None

    with keeping(EnsembleInterrupted, kept, "what was reduced before is the `ensemble` of this exception"):
        for part in starts.parts(batch_size(turned.rows, turned.steps)):
            made = turned(part)
            if adding is not None:
                adding.result()
            adding = Work(partial(total.add, made))
        assert adding is not None
        adding.result()
    return total.result(problem, turned.t)


def batch_size(rows: int, steps: int) -> int:
    """The number of bodies in a batch: whole blocks, whatever the number of threads."""
    room = min(BATCH_BYTES // (BODY_BYTES + ROW_BYTES * rows), BATCH_STEPS // steps)
    return int(min(LARGEST_BATCH, max(BLOCK, room // BLOCK * BLOCK)))
