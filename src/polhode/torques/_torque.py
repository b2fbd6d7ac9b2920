"""The contract of a torque.

A torque is a kernel `(t, q, w, p) -> three numbers`, everything in the user's body axes, q scalar first; optionally
with its potential energy `(t, q, p) -> number` and the times at which it jumps. A model is a frozen dataclass whose
fields become the parameter array p; a user's own function becomes one by the decorator `torque`.
"""

import dis
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from polhode import _check
from polhode.body import Body
from polhode.core.types import Depends, Quat, UserTorque, Vec3

UserPotential = Callable[[float, Quat, Any], float]


class Torque(ABC):
    """What every torque offers. Models are found by their file and built from their fields."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}  # unknown keys of scenario files are errors

    depends: Depends = Depends.POSITION

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

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Times at which the torque jumps: integration stops there and starts anew on the other side."""
        return ()

    @property
    def axis(self) -> Vec3 | None:
        """A direction in space about which the torque is symmetric: the angular momentum along it is conserved."""
        return None

    @property
    def conserves_energy(self) -> bool:
        """Whether kinetic plus potential energy stays constant."""
        return self.potential_kernel is not None and not self.depends & (Depends.TIME | Depends.RATE)


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

    def __call__(self, t: float, q: Quat, w: Vec3, p: Any) -> Any:
        """The undecorated function."""
        return self.function(t, q, w, p)

    def with_parameters(self, values: Any) -> "CustomTorque":
        """The same torque with another parameter array. Nothing is compiled again."""
        return CustomTorque(self.function, _values(values), self.potential, self.jumps, self.depends)


def torque(
    function: UserTorque | None = None,
    *,
    parameters: Any = (),
    potential: UserPotential | None = None,
    breakpoints: Any = (),
) -> Any:
    """Make a torque from a plain Python function; it is compiled together with the step.

    The function is called as `f(t, q, w, p)`: time, quaternion (body to space, scalar first), angular velocity in
    rad/s and parameter array, in your body axes, and returns the torque in N m as three numbers. `q` and `w` are
    tuples. It may use `math`, arithmetic, branches, helpers of your own, and `polhode.to_body` and `polhode.to_space`.

    Use it bare (`@torque`) or with arguments (`@torque(parameters=[...], potential=..., breakpoints=[...])`).
    A potential is called as `V(t, q, p)`; the torque must be minus its gradient. Breakpoints are the times at which
    the torque jumps. What the function reads is found from its code: one that uses `w` depends on the rate.
    """
    if function is None:
        return lambda f: torque(f, parameters=parameters, potential=potential, breakpoints=breakpoints)
    if not callable(function):
        raise TypeError(f"torque decorates a function (t, q, w, p), not {function!r}")
    jumps = np.atleast_1d(np.asarray(breakpoints, dtype=np.float64))
    if not np.isfinite(jumps).all() or (np.diff(jumps) <= 0).any():
        raise ValueError(f"breakpoints must be finite and rising, not {breakpoints!r}")
    return CustomTorque(function, _values(parameters), potential, tuple(jumps.tolist()), _reads(function))


def _values(values: Any) -> tuple[float, ...]:
    flat = np.atleast_1d(np.asarray(values, dtype=np.float64))
    return tuple(_check.array("parameters", flat, (flat.size,)).tolist())


def _reads(function: UserTorque) -> Depends:
    """Which of t and w the function ever looks at. Every torque may depend on the attitude."""
    code = getattr(getattr(function, "py_func", function), "__code__", None)
    if code is None or code.co_argcount != 4 or code.co_kwonlyargcount:
        raise TypeError(f"a torque is a Python function of (t, q, w, p), unlike {function!r}")
    used = {
        i.argval for i in dis.get_instructions(code) if i.opname.startswith(("LOAD_FAST", "LOAD_CLOSURE", "LOAD_DEREF"))
    }
    used |= {name for pair in used if isinstance(pair, tuple) for name in pair}  # later Pythons load two at once
    depends = Depends.POSITION
    if code.co_varnames[0] in used:
        depends |= Depends.TIME
    if code.co_varnames[2] in used:
        depends |= Depends.RATE
    return depends
