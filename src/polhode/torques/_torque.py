"""The contract of a torque.

A torque is a kernel `(t, q, w, p) -> three numbers`, everything in the user's body axes, q scalar first; optionally
with its potential energy `(t, q, p) -> number` and the times at which it jumps. A model is a frozen dataclass whose
fields become the parameter array p; a user's own function becomes one by the decorator `torque`.
"""

import dis
import importlib
import inspect
import sys
import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import Any, ClassVar, overload

from polhode import _check
from polhode._arrays import Floats
from polhode.body import Body
from polhode.compiled import may_bend
from polhode.core.types import Depends, Quat, UserTorque, Vec3

UserPotential = Callable[[float, Quat, Any], float]


class Torque(ABC):
    """What every torque offers. Models are found by their file and built from their fields."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}  # unknown keys of scenario files are errors

    depends: Depends = Depends.POSITION
    upright: bool = False
    """Whether its kernel is the shorter one for a direction along the third axis of space."""

    @property
    def name(self) -> str:
        """What it is called in scenario files and results."""
        return type(self).__name__

    @property
    @abstractmethod
    def torque_kernel(self) -> UserTorque:
        """The torque, as a plain function to be compiled."""

    @property
    def potential_kernel(self) -> UserPotential | None:
        """The potential energy, where there is one."""
        return None

    def parameters(self, body: Body) -> Sequence[float]:
        """The numbers that the kernels find in p."""
        return ()

    def parameter_rows(self, tensors: Floats) -> Floats:
        """`parameters` of many bodies, a row each, from their inertia tensors (bodies, 3, 3).

        One row serves for all if the body is not looked at. A model that looks at it can be quicker than one by one.
        """
        some = tensors if reads_body(type(self)) else tensors[:1]
        rows = [list(self.parameters(Body(tensor, allow_unphysical=True))) for tensor in some]
        return _check.array("parameters", rows, (len(some), len(rows[0])))

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Times at which the torque jumps: integration stops there and starts anew on the other side."""
        return ()

    @property
    def may_bend(self) -> bool:
        """Whether it may jump or bend where nobody has said so."""
        return False

    @property
    def axis(self) -> Vec3 | None:
        """A direction in space about which the torque is symmetric: the angular momentum along it is conserved."""
        return None

    def at_large(self) -> "Torque":
        """The same torque, to the same bits, by the kernel that serves all of its kind."""
        other = copy(self)
        other._settle(upright=False)
        return other

    def _settle(self, **fields: Any) -> None:
        """Put checked values into the fields of a frozen dataclass, from its `__post_init__`."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def conserves_energy(self) -> bool:
        """Whether kinetic plus potential energy stays constant."""
        return self.potential_kernel is not None and not self.depends & (Depends.TIME | Depends.RATE)


def is_upright(direction: Vec3) -> bool:
    """Whether it is one of the two directions of the third axis."""
    return direction[0] == direction[1] == 0.0


@cache
def reads_body(kind: type[Torque]) -> bool:
    """Whether the parameters of such a torque depend on the body."""
    return _inspected("method", kind.parameters, ("self", "body"))[1][1]


@dataclass(frozen=True, eq=False)
class CustomTorque(Torque):
    """A user's function as a torque. Made by the decorator `torque`."""

    function: UserTorque
    values: tuple[float, ...] = ()
    potential: UserPotential | None = None
    jumps: tuple[float, ...] = ()
    depends: Depends = field(default=Depends.POSITION)

    @property
    def name(self) -> str:
        """The name of the function."""
        return getattr(self.function, "__name__", "torque")

    @property
    def torque_kernel(self) -> UserTorque:
        """The user's function."""
        return self.function

    @property
    def potential_kernel(self) -> UserPotential | None:
        """The user's potential."""
        return self.potential

    def parameters(self, body: Body) -> Sequence[float]:
        """The user's parameter array."""
        return self.values

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """The user's breakpoints."""
        return self.jumps

    @property
    def may_bend(self) -> bool:
        """Whether its code takes one of several ways, and it has no breakpoints that would explain it."""
        return not self.jumps and may_bend(self.function)

    @property
    def py_func(self) -> UserTorque:
        """The undecorated function, under the name by which compiled callers look for it."""
        return self.function

    def __call__(self, t: float, q: Quat, w: Vec3, p: Any) -> Any:
        """The undecorated function."""
        return self.function(t, q, w, p)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """For pickle, which looks functions up by their names: there it would find the torque instead."""
        if _looked_up(self.function.__module__, self.function.__qualname__) is not self.function:
            return super().__reduce_ex__(protocol)
        rest = (self.values, self.potential, self.jumps, self.depends)
        return _unpickled, (self.function.__module__, self.function.__qualname__, *rest)

    def with_parameters(self, values: Any) -> "CustomTorque":
        """The same torque with another parameter array. Nothing is compiled again."""
        return replace(self, values=tuple(_check.row("parameters", values).tolist()))


def _looked_up(module: str, name: str) -> Any:
    """The function of this name, also if it has become a torque."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found.function if isinstance(found, CustomTorque) else found


def _unpickled(module: str, name: str, *rest: Any) -> CustomTorque:
    importlib.import_module(module)
    if (function := _looked_up(module, name)) is None:
        raise AttributeError(f"there is no function {name} in {module} any more, which a pickled torque needs")
    return CustomTorque(function, *rest)


@overload
def torque(
    function: UserTorque, /, *, parameters: Any = (), potential: UserPotential | None = None, breakpoints: Any = (),
    depends: str | Sequence[str] | None = None,
) -> CustomTorque: ...  # fmt: skip


@overload
def torque(
    *, parameters: Any = (), potential: UserPotential | None = None, breakpoints: Any = (),
    depends: str | Sequence[str] | None = None,
) -> Callable[[UserTorque], CustomTorque]: ...  # fmt: skip


def torque(
    function: UserTorque | None = None,
    /,
    *,
    parameters: Any = (),
    potential: UserPotential | None = None,
    breakpoints: Any = (),
    depends: str | Sequence[str] | None = None,
) -> CustomTorque | Callable[[UserTorque], CustomTorque]:
    """Make a torque from a plain Python function; it is compiled together with the step.

    The function is called as `f(t, q, w, p)`: time, quaternion (body to space, scalar first), angular velocity in
    rad/s and parameter array, in your body axes, and returns the torque in N m as three numbers. `q` and `w` are
    tuples; an index beyond the end of `p` is not noticed once the function is compiled. It may use `math`, arithmetic,
    branches, helpers of your own, and `polhode.to_body` and `polhode.to_space`.

    Use it bare (`@torque`) or with arguments (`@torque(parameters=[...], potential=..., breakpoints=[...])`).
    A potential is called as `V(t, q, p)`; the torque must be minus its gradient. Breakpoints are the times at which
    the torque jumps. What the function reads is found from its code: one that uses `w` depends on the rate. One
    that only passes its arguments on can say what is read, of "attitude", "time" and "rate": `@torque(depends="time")`.
    """

    def decorated(function: UserTorque) -> CustomTorque:
        plain, used = _inspected("torque", function, ("t", "q", "w", "p"))
        reads = Depends.POSITION
        if used[0]:
            reads |= Depends.TIME
        if used[2]:
            reads |= Depends.RATE
        energy = None
        if potential is not None:
            energy, used = _inspected("potential", potential, ("t", "q", "p"))
            if used[0]:  # the energy need not be constant
                reads |= Depends.TIME
        return CustomTorque(
            plain, tuple(_check.row("parameters", parameters).tolist()), energy, rising("breakpoints", breakpoints),
            reads if depends is None else _depends(depends),
        )  # fmt: skip

    return decorated if function is None else decorated(function)


def _depends(names: str | Sequence[str]) -> Depends:
    """What a torque is said to read. The attitude is always allowed."""
    known = {"attitude": Depends.POSITION, "time": Depends.TIME, "rate": Depends.RATE}
    reads = Depends.POSITION
    for name in (names,) if isinstance(names, str) else names:
        reads |= known[_check.choice("dependence", name, known)]
    return reads


def checked(torque: Any) -> Torque:
    """A torque, or an error with what was probably meant."""
    if isinstance(torque, Torque):
        return torque
    if isinstance(torque, type) and issubclass(torque, Torque):
        told = f"torque must be a torque, not the class {torque.__name__}"
        raise TypeError(f"{told}: write {torque.__name__}(...) with its parameters")
    raise TypeError(f"torque must be a polhode torque, not {torque!r}: decorate a function with @polhode.torque")


def rising(name: str, values: Any) -> tuple[float, ...]:
    """Finite numbers in strictly rising order."""
    row = tuple(_check.row(name, values).tolist())
    for before, after in pairwise(row):
        if after <= before:
            raise ValueError(f"{name} must rise, but {before:g} is followed by {after:g}")
    return row


def _inspected(kind: str, function: Any, arguments: tuple[str, ...]) -> tuple[Any, list[bool]]:
    """The Python function that is meant, and which of its arguments it ever looks at."""
    # Behind a Numba dispatcher there is a function, which is compiled anew, with the step.
    plain = function if isinstance(function, Torque) else getattr(function, "py_func", function)
    wanted = f"a {kind} is a Python function of ({', '.join(arguments)})"
    if not isinstance(plain, types.FunctionType):
        raise TypeError(f"{wanted}, unlike {function!r}: write it as a function, with its numbers in p")
    code = plain.__code__
    unusual = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR | inspect.CO_COROUTINE
    if code.co_argcount != len(arguments) or code.co_kwonlyargcount or code.co_flags & unusual:
        raise TypeError(f"{wanted}, unlike {plain.__qualname__}{inspect.signature(plain)}")
    read = set[str]()
    for i in dis.get_instructions(code):
        if "LOAD_FAST" in i.opname or i.opname in ("LOAD_CLOSURE", "LOAD_DEREF"):
            read.update(i.argval if isinstance(i.argval, tuple) else (i.argval,))  # later Pythons do two at once
    return plain, [name in read for name in code.co_varnames[: len(arguments)]]
