"""A method bound to a torque: its step, and the compiled loop around it."""

import math
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple, final

from polhode.compiler import CompilationFailed, Locatable, compiles, program
from polhode.kernels.gyrostat import greatest_efforts
from polhode.kernels.loop.sampling import held_torque, holding, principal_sample
from polhode.kernels.ops import derivatives
from polhode.kernels.ops import triple as triple_of
from polhode.kernels.steps.branch_steps import located, padded
from polhode.kernels.steps.branches import CELL, FIRST, MARGIN
from polhode.kernels.steps.flows import principal_torque
from polhode.kernels.types import BoundStep, Depends, Scales, UserTorque, Vec3
from polhode.problem import Plan, Problem
from polhode.torques import CustomTorque, SumTorque

SIGNATURE = "ppppppnndddi"
"""The arguments of the compiled driver: six arrays of floats, two of integers, t0, h, last, stop."""

UNCOMPILED = (
    "What cannot be compiled can be called as it is: @polhode.torque(compiled=False) takes any Python function, and "
    "polhode.torque_from_pointer the address of a function in C or Fortran."
)
"""What to do about a torque of the user's that cannot be compiled."""

OnCompile = Callable[[], None] | None
"""Called before a compilation, which takes seconds."""


class ById:
    """A value that is equal to itself only. Schemes are tuples, and tuples of different classes can be equal."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ById) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


class SpreadOfBodies(NamedTuple):
    """The bodies that one body stands for: how far they may differ from it."""

    tilted: bool = False
    """Whether the user's axes of some are not their principal axes."""
    many: bool = False
    """Whether they differ in their symmetry."""
    effort: tuple[float, float] = (0.0, 0.0)
    """What exact flows have to cover at most, as `exact_flow.effort` measures it."""
    gyrostats: bool = False
    """Whether some have a rotor."""
    reordered: bool = False
    """Whether their moments rise along the axes in different orders."""


NO_OTHERS = SpreadOfBodies()

ANY_SCALES = tuple(Scales((1.0, 1.0, 1.0), (0.0, 0.0, 0.0), 1.0, axis=axis) for axis in range(4))
"""The scales for schemes that ignore them, by axis of symmetry: so another start needs no other program."""
ANY_SCALES_WITH_ROTOR = ANY_SCALES[0]._replace(gyrostat=True)
"""The scales for schemes that ignore them, of gyrostats, whose symmetry no scheme makes use of."""


def scales_of(problem: Problem, plan: Plan, others: SpreadOfBodies = NO_OTHERS) -> Scales:
    """The sizes that a scheme is bound with, if it looks at them."""
    if plan.method.ignores_scales:
        scales = ANY_SCALES[_axis_of(problem, plan, others)]
        scales = ANY_SCALES_WITH_ROTOR if _is_gyrostat(problem, others) else scales
        scales = scales._replace(changing=problem.body.elements_that_change)
        return scales._replace(carried=problem.torque.state_sizes) if problem.torque.state_names else scales
    return full_scales(problem, plan, others)


def full_scales(problem: Problem, plan: Plan, others: SpreadOfBodies = NO_OTHERS) -> Scales:
    """The sizes at the start of the problem, also for a run that goes on: the same program, the same bits."""
    body, torque, method = problem.body, problem.torque, plan.method
    if others.reordered and method.ranks_axes:
        raise ValueError(
            f"{method.name} takes the axes in the order in which the moments rise, and that differs from body to body "
            "here: name one order for all, such as axes=123"
        )
    momentum = problem.momentum_start if body.aligned else problem.momentum_start @ body.axes
    depends = torque.depends
    changes = depends is not Depends.POSITION and bool(depends & (Depends.TIME | Depends.RATE))
    changes = changes or bool(problem.breakpoints) or body.changes
    step = (plan.longest_step or plan.step) * method.advance
    conserves = torque.potential_kernel is not None and not changes
    size = (triple(body.moments), triple(momentum), step, plan.torque_size or 0.0)
    effort, gyrostat = others.effort, _is_gyrostat(problem, others)
    if body.has_rotor:  # the flows of the body without its rotor do not keep its energy, by which they are measured
        most = greatest_efforts(body.moments, body.principal_rotor, momentum)
        effort = (max(effort[0], float(most[0])), max(effort[1], float(most[1])))
    axis, carried = _axis_of(problem, plan, others), torque.state_sizes
    # Steps that a search has found are others for every body; those that a user has chosen are mostly the same.
    shared = plan.longest_step is not None and not others.many
    return Scales(
        *size, changes, conserves, others.many, effort, axis=axis, gyrostat=gyrostat, carried=carried, shared=shared,
        changing=body.elements_that_change,
    )  # fmt: skip


def _is_gyrostat(problem: Problem, others: SpreadOfBodies) -> bool:
    """Whether kernels see the body as one with a rotor."""
    return problem.body.has_rotor or problem.body.changes or others.gyrostats


def _axis_of(problem: Problem, plan: Plan, others: SpreadOfBodies) -> int:
    """The axis of symmetry, if the method makes use of it and all bodies have it."""
    if problem.torque.state_names or others.many or _is_gyrostat(problem, others) or not plan.method.comoves:
        return 0
    return problem.body.symmetry_axis


@lru_cache(maxsize=128)
def sampled(
    scheme: ById, kernel: UserTorque, sample: UserTorque, held: bool, tilted: bool, windowed: bool, depends: Depends,
    scales: Scales,
) -> BoundStep:  # fmt: skip
    """Binds a scheme to a torque that is sampled; where its carried numbers are only held, any scheme will do."""
    carried = len(scales.carried)
    if held:
        pull = torque_in_principal_axes(held_torque(kernel), tilted=tilted, windowed=windowed)
        made = holding(scheme.value.bind(pull, depends, scales._replace(carried=())), carried)
    else:
        pull = torque_in_principal_axes(kernel, tilted=tilted, windowed=windowed, carried=carried)
        made = scheme.value.bind(pull, depends, scales)
    return made._replace(
        sample=principal_sample(sample, tilted=tilted), gyrostat=scales.gyrostat, changing=scales.changing
    )


def bound(
    scheme: ById, kernel: UserTorque, tilted: bool, windowed: bool, depends: Depends, scales: Scales
) -> BoundStep:
    """Binds a scheme to its torque; the stepper is cached, so that its program is found at once.

    If all flows are the same that were prepared for other scales, so is the step: each start has scales of its own.
    """
    prepared = getattr(scheme.value, "prepared_flows", None)
    flows: tuple[Any, ...] = ()
    deciding: object = scales
    if prepared is not None:
        rest = (scales.many, scales.packed, scales.axis, scales.gyrostat, scales.form, scales.carried, scales.changing)
        flows = prepared(depends, scales)
        deciding = (flows, rest)
    return _bound_for(scheme, kernel, tilted, windowed, depends, deciding, OutsideKey((scales, flows)))


class OutsideKey:
    """An argument that is not part of the key by which a cached function looks up its result."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OutsideKey)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=128)
def _bound_for(
    scheme: ById,
    kernel: UserTorque,
    tilted: bool,
    windowed: bool,
    depends: Depends,
    deciding: object,
    beside: OutsideKey,
) -> BoundStep:
    """Binds a scheme to its torque for scales, of which some numbers are deciding."""
    scales, flows = beside.value

    def bind(together: bool) -> BoundStep:
        kind = {"tilted": tilted, "windowed": windowed, "carried": len(scales.carried), "together": together}
        stepper: BoundStep = scheme.value.bind(torque_in_principal_axes(kernel, **kind), depends, scales)
        return stepper

    made = bind(together=False)
    if depends & Depends.TIME and made.evaluations_per_step is None and made.exactly is None:
        made = bind(together=True)  # what depends on the time alone is then computed once for all iterations of a step
    if variant := [f.__variant__ for f in flows if hasattr(f, "__variant__")]:
        made.step.__variant__ = ", ".join(variant)  # type: ignore[attr-defined]
    return made._replace(gyrostat=True, changing=scales.changing) if scales.gyrostat else made


@lru_cache(maxsize=128)
def _located(torque: Locatable, tilted: bool, windowed: bool, native: bool, scales: Scales) -> BoundStep:
    """Binds the steps that end at the bends of a torque."""
    carried = scales.carried
    kernel = torque.kernel if native else _without_exceptions(torque.kernel, len(carried))
    pull = torque_in_principal_axes(kernel, tilted=tilted, windowed=windowed, carried=len(carried))
    return located(pull, torque.decisions, carried)._replace(gyrostat=scales.gyrostat, changing=scales.changing)


def _without_exceptions(kernel: UserTorque, carried: int) -> UserTorque:
    """A torque that is NaN where plain Python raises beyond a bend: a held branch may have no value there."""
    nothing = (math.nan,) * 3

    def torque(t: float, q: Any, w: Any, p: Any, *state: Any) -> Any:
        try:
            n = kernel(t, q, w, p, *state)
            return (triple_of(n[0]), derivatives(n[1], carried)) if carried else triple_of(n)
        except (ArithmeticError, TypeError, ValueError):
            if min(p[1][FIRST + MARGIN :: CELL]) >= 0.0:
                raise
            return (nothing, (math.nan,) * carried) if carried else nothing

    return torque


_padded = lru_cache(maxsize=128)(padded)

torque_in_principal_axes = lru_cache(maxsize=128)(principal_torque)


@final
class Binding:
    """The step of a method under a torque, and the compiled loop around it, which runs of the same kind share."""

    def __init__(
        self, problem: Problem, plan: Plan, others: SpreadOfBodies, driver: Callable[[BoundStep], Callable[..., int]]
    ):
        self.problem, self.plan, self.others, self.driver = problem, plan, others, driver
        self.tilted = others.tilted or not problem.body.aligned
        self.windowed = len(problem.breakpoints) > 0
        self.native, self.scales = compiles(), scales_of(problem, plan, others)
        bends = self._bends()
        scales = self.scales._replace(carried=problem.torque.state_sizes)
        self.located = None if bends is None else _located(bends, self.tilted, self.windowed, self.native, scales)
        if self.located is not None and (sample := problem.torque.sample_kernel) is not None:
            self.located = self.located._replace(sample=principal_sample(sample, tilted=self.tilted))
        self.stepper = self._bind()
        self._loop: Callable[..., int] | None = None

    def serves(self, problem: Problem, plan: Plan) -> bool:
        """Whether a run of the same body under the same torque can share the loop."""
        return plan.method.scheme is self.plan.method.scheme and scales_of(problem, plan, self.others) == self.scales

    def _bind(self, form: int | None = None) -> BoundStep:
        torque, scales = self.problem.torque, self.scales if form is None else self.scales._replace(form=form)
        kind = (torque.torque_kernel, self.tilted, self.windowed, torque.depends)
        if (sample := torque.sample_kernel) is not None:
            kernel, *rest = kind
            stepper = sampled(ById(self.plan.method.scheme), kernel, sample, torque.held, *rest, scales)
        else:
            stepper = bound(ById(self.plan.method.scheme), *kind, scales)
        if self.located is None:
            return stepper
        return _padded(stepper, self.located.memory) if self.native else self.located

    def _bends(self) -> Locatable | None:
        """The torque in the form whose bends can be located, if the method makes use of it."""
        return self.problem.torque.located if self.plan.method.locates_bends else None

    def loop(self, on_compile: OnCompile) -> Callable[..., int]:
        """The compiled loop over steps; it is made when it is first wanted."""
        if self._loop is None:
            self._loop = self.program(self.driver, SIGNATURE, on_compile)
        return self._loop

    def program(
        self, drive_with: Callable[[BoundStep], Any], signature: str, on_compile: OnCompile
    ) -> Callable[..., int]:
        """Compiles a loop around the step, in the first form of the scheme that compiles."""
        what = self.what
        if self.located is not None:
            with suppress(CompilationFailed):
                return program(drive_with(self.located), signature, on_compile, tentative=True, what=what)
        for form in range(self.forms):
            with suppress(CompilationFailed):
                return program(drive_with(self._bind(form)), signature, on_compile, tentative=True, what=what)
        try:
            return program(drive_with(self.stepper), signature, on_compile, what=what)
        except CompilationFailed as problem:
            remedy = f"\n{UNCOMPILED}" if isinstance(self.problem.torque, CustomTorque | SumTorque) else ""
            raise CompilationFailed(f"{self.name} cannot be compiled:\n{problem}{remedy}") from None

    @property
    def name(self) -> str:
        """The method and the torque, in words."""
        return f"{self.plan.method.name} with {self.problem.torque.name}"

    @property
    def what(self) -> str:
        """What is compiled, in words that distinguish the programs of one method with one torque."""
        words, scales = getattr(self.stepper.step, "__variant__", ""), self.scales
        if scales.axis or self.tilted or scales.gyrostat:
            rotor = scales.gyrostat and not scales.changing
            told = [(scales.axis, "symmetric"), (self.tilted, "tilted"), (rotor, "with a rotor")]
            told.append((scales.changing, "changing along axes" if scales.changing == 3 else "changing"))
            words = ", ".join([*filter(None, [words]), *[word for is_so, word in told if is_so]])
        return f"{self.name} ({words})" if words else self.name

    @property
    def forms(self) -> int:
        """The number of forms of the scheme that compute the points of a step together."""
        forms = self.plan.method.forms_in_lanes if self.native else 0
        return min(forms, 1) if self.scales.changing else forms

    def compiles_in_lanes(self, on_compile: OnCompile) -> bool:
        """Whether all points of a step can be computed together, the torque included."""
        if self.forms == 0:
            return False
        try:
            program(self.driver(self._bind(0)), SIGNATURE, on_compile, tentative=True, what=self.what)
        except CompilationFailed:
            return False
        return True


def triple(x: Any) -> Vec3:
    """The three numbers of an array."""
    a, b, c = x.tolist()
    return (a, b, c)
