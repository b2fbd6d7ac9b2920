"""prepare(...) -> Prepared: many motions of one body over one span, each from another start, at little cost."""

from typing import Any, final

import numpy as np

from polhode.accuracy.answer import answer, answer_from
from polhode.accuracy.search import Goal
from polhode.accuracy.short_runs import ShortRuns
from polhode.api.simulate import checked_goal, say_what_it_costs
from polhode.body import Body
from polhode.compiler import announced_once
from polhode.methods import Method
from polhode.problem import Plan, Problem, may_be_quick
from polhode.run.binding import NO_OTHERS, Binding, OnCompile, scales_of
from polhode.run.grid import has_pieces
from polhode.run.integration import Integration, Kind, ReadyLoop
from polhode.run.rows import driver_of
from polhode.run.trial import size_where_it_begins
from polhode.solution import Solution
from polhode.torques import CustomTorque, Torque, checked

KEPT_PROGRAMS = 32
"""The number of programs that are kept, where starts of different speed need different ones."""


@announced_once
def prepare(
    body: Body,
    torque: Torque | None = None,
    *,
    t_span: tuple[float, float],
    rtol: float | None = None,
    step: float | None = None,
    method: str | Method | None = None,
    t_eval: Any = None,
    every: int | None = None,
    on_compile: OnCompile = None,
) -> "Prepared":
    """Does once what `simulate` does in every call, for many motions that differ in their start and their parameters.

    What is returned is called with the start: `prepared(omega, attitude, parameters=..., torque=..., state=...)`
    returns the same solution, bit by bit, as `simulate` with the same arguments. It can be called from many threads at
    once: while compiled code runs, other threads go on.

    Parameters
    ----------
    body
        The rigid body.
    torque
        The torque on it, as in `simulate`. With `step`, a function of your own is compiled as it is now: a later change
        of a global constant that it reads has no effect.
    t_span
        Start time and end time, s.
    rtol
        Bound of the error of each answer. Method and step are chosen for every start, and every solution has its own
        estimate.
    step
        Length of a step, s; give this or `rtol`.
    method
        A name from `polhode methods`, or a `Method`.
    t_eval
        Output times, s.
    every
        Number of steps between two rows of output, if `t_eval` is not given.
    on_compile
        Function called before a compilation.

    Examples
    --------
    >>> top = ph.prepare(ph.Body([5, 5, 1]), ph.HeavyTop(20), method="MR2", step=0.01, t_span=(0, 1))
    >>> top([0, 0, 50], [0.96, 0.28, 0, 0]).omega[-1].round(4)
    array([-0.2431,  0.391 , 50.0001])
    >>> top = ph.prepare(ph.Body([5, 5, 1]), ph.HeavyTop(20), rtol=1e-9, t_span=(0, 1), t_eval=[1])
    >>> top([0, 0, 50], [0.96, 0.28, 0, 0]).omega[-1].round(4)
    array([-0.2423,  0.3924, 50.    ])
    """
    acting = None if torque is None else checked(torque)
    anywhere = None if acting is None or not acting.state_names else [0.0] * len(acting.state_names)
    problem = Problem.given(
        body, acting, omega=(0.0, 0.0, 0.0), t_span=t_span, t_eval=t_eval, every=every, state=anywhere
    )  # fmt: skip
    wanted = checked_goal(problem, rtol, step, method)
    if isinstance(wanted, Plan) and not wanted.method.variable_steps:
        say_what_it_costs(problem, wanted, shown=False)
    return Prepared(problem, wanted, on_compile)


@final
class Prepared:
    """Motions of one body over one span of time, with one kind of output. `prepare` makes it.

    Examples
    --------
    >>> top = ph.prepare(ph.Body([5, 5, 1]), ph.HeavyTop(20), method="MR2", step=0.01, t_span=(0, 1))
    >>> [round(float(top([0, 0, spin], [0.96, 0.28, 0, 0]).omega[-1, 0]), 4) for spin in (40, 50)]
    [0.0325, -0.2431]
    """

    def __init__(self, problem: Problem, wanted: Plan | Goal, on_compile: OnCompile = None) -> None:
        self._problem, self._wanted, self._on_compile = problem, wanted, on_compile
        self._needed = _needs(problem.torque)
        self._values = np.array(problem.torque.parameters(problem.body), dtype=np.float64)
        self._loops: dict[object, ReadyLoop] = {}
        self._only: ReadyLoop | None = None
        """The loop, if one program serves for all starts."""
        self._short: ShortRuns | None = None
        if not (isinstance(wanted, Plan) or wanted.method or problem.torque.state_names):
            self._short = ShortRuns(problem, wanted.rtol)
        self._is_quick = False
        if isinstance(wanted, Plan) and may_be_quick(problem) and not has_pieces(problem, wanted):
            self._is_quick = not wanted.method.variable_steps
            if self._is_quick and wanted.method.ignores_scales:
                self._only = self._ready_for(problem, wanted)

    @property
    def body(self) -> Body:
        """What turns."""
        return self._problem.body

    @property
    def torque(self) -> Torque:
        """What turns it, if a call does not say otherwise."""
        return self._problem.torque

    @property
    def method(self) -> Method | None:
        """How it is integrated; None: that is chosen for every start."""
        return self._wanted.method

    @property
    def step(self) -> float | None:
        """The length of a step, in s; None: it is chosen for every start."""
        return self._wanted.step if isinstance(self._wanted, Plan) else None

    @property
    def rtol(self) -> float | None:
        """The error of every answer; None: it is not stated, since method and step are given."""
        return None if isinstance(self._wanted, Plan) else self._wanted.rtol

    def __repr__(self) -> str:
        asked, wanted = self._problem, self._wanted
        how = f"step {wanted.step:g}" if isinstance(wanted, Plan) else f"rtol {wanted.rtol:g}"
        by = f"{wanted.method.name} with " if wanted.method is not None else ""
        return f"<prepared: {self.body!r}, {asked.torque.name}, {by}{how} from {asked.t_start:g} to {asked.t_end:g}>"

    def __reduce__(self) -> Any:
        """Pickles what was asked for: another process prepares it again."""
        return Prepared, (self._problem, self._wanted)

    def __call__(
        self, omega: Any, attitude: Any = None, *, parameters: Any = None, torque: Torque | None = None,
        state: Any = None,
    ) -> Solution:  # fmt: skip
        """The motion from a start.

        Parameters
        ----------
        omega
            Angular velocity at the start, rad/s.
        attitude
            Rotation from body to space axes at the start.
        state
            Initial values of the state variables of the torque.
        parameters
            Other values p for a torque of your own, as many as it has.
        torque
            Another torque of the same kind, such as `HeavyTop` with another weight.
        """
        if self._short is not None and parameters is None and torque is None and state is None:
            return answer_from(self._short, omega, attitude, self._on_compile)
        values = self._values
        if parameters is not None or torque is not None:
            torque = self._other_torque(parameters, torque)
            values = np.array(torque.parameters(self.body), dtype=np.float64)
            if values.size != self._values.size:
                raise ValueError(f"{self.torque.name} has {self._values.size} parameters, not {values.size}")
        problem, wanted = self._problem.starting(omega, attitude, state, torque), self._wanted
        if not isinstance(wanted, Plan):
            return answer(problem, wanted, None, self._on_compile)
        plan, ready = wanted, self._only
        if ready is None and self._is_quick:
            plan = plan.replace(torque_size=size_where_it_begins(problem, values))
            ready = self._ready_for(problem, plan)
        made = None if ready is None else ready.solution(problem, plan, values)
        return made or Integration(problem, wanted, None, None, self._on_compile).solution()

    def _ready_for(self, problem: Problem, plan: Plan) -> ReadyLoop:
        """The loop for starts of such a size."""
        scales, prepared = scales_of(problem, plan), getattr(plan.method.scheme, "prepared_flows", None)
        deciding: object = scales if prepared is None else prepared(problem.torque.depends, scales)
        found = self._loops.get(deciding)
        if found is None:
            if len(self._loops) >= KEPT_PROGRAMS:
                self._loops.clear()
            binding = Binding(problem, plan, NO_OTHERS, driver_of)
            kind = Kind.of(problem, plan, binding, self._values.size, None, self._on_compile)
            found = self._loops[deciding] = ReadyLoop(kind)
        return found

    def _other_torque(self, parameters: Any, torque: Torque | None) -> Torque:
        """The torque of one call, checked: the program has to serve for it."""
        own = self.torque
        if torque is None:
            if not isinstance(own, CustomTorque):
                raise ValueError(
                    f"parameters are for a torque of your own, whose p they are, not for {own.name}: give another one "
                    f"of its kind, as in torque={own.name}(...)"
                )
            return own.with_parameters(parameters).for_span(self._problem.t_start, self._problem.t_end)
        if parameters is not None:
            raise ValueError("give either parameters or torque, not both")
        other, span = checked(torque), (self._problem.t_start, self._problem.t_end)
        other.check_span(*span)
        other = other.for_span(*span)
        other.check_body(self.body)
        if _needs(other) != self._needed:
            raise ValueError(
                f"{other.name} needs another program than {own.name}, with which this was prepared: prepare it again"
            )
        return other


def _needs(torque: Torque) -> tuple[object, ...]:
    """What a program depends on."""
    kernels = (torque.torque_kernel, torque.potential_kernel is None, torque.sample_kernel)
    return (*kernels, torque.depends, torque.breakpoints, torque.may_bend, torque.state_names, torque.state_sizes)
