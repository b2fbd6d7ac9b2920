"""Torques that are called by their address: Python functions of any kind, and functions of C or Fortran.

`torque(compiled=False)` and `torque_from_pointer` make them. Their kernel is the same for all, and reads the address
from p (`kernels/callback_torques.py`); `compiler/callbacks.py` gives an address to a Python function.
"""

import ctypes
import functools
import importlib
import inspect
import itertools
import pickle
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np

from polhode.body import Body
from polhode.compiler import Trampoline, is_smooth, potential_callback, torque_callback
from polhode.kernels.callback_torques import HEAD, PotentialOfC, TorqueOfC, head, outside_potential, outside_torque
from polhode.kernels.types import Depends, UserTorque
from polhode.support.arrays import Floats
from polhode.support.returned_numbers import no_real_number, plain_item, size_of
from polhode.torques._torque import (
    BodyNumbers,
    CustomTorque,
    UserPotential,
    arguments_read,
    depends_of,
    looked_up,
    numbers_and_tables,
    rising,
)

EVERYTHING = Depends.POSITION | Depends.TIME | Depends.RATE
_numbers = itertools.count(1)


class PythonLink:
    """How compiled programs reach a Python function: by its addresses, for the number of parameters that it reads."""

    def __init__(self, function: Callable[..., Any], potential: Callable[..., Any] | None, name: str) -> None:
        self.function, self.potential, self.name, self.number = function, potential, name, next(_numbers)
        self._made: dict[int, list[Trampoline]] = {}

    def head(self, count: int) -> tuple[float, ...]:
        """The numbers in front of the user's parameters in p: the addresses for `count` parameters, and a number."""
        if count not in self._made:
            made = [torque_callback(self.function, count, self.name, self._complain)]
            if self.potential is not None:
                made.append(potential_callback(self.potential, count, self.name, self._complain_of_potential))
            self._made.setdefault(count, made)
        torque, *potential = (one.address for one in self._made[count])
        return head(torque, potential[0] if potential else 0, self.number)

    def _complain(self, n: Any, t: float) -> NoReturn:
        try:
            size_of(self.name, n, t)
        except ValueError as problem:
            raise ValueError(f"{problem} (at t = {t:.12g})") from None
        raise ValueError(f"the torque {self.name} must return three numbers, not {n!r} (at t = {t:.12g})")

    def _complain_of_potential(self, v: Any, t: float) -> NoReturn:
        reason = no_real_number(plain_item(v)) or f"{v!r} is no number"
        raise ValueError(f"the potential of {self.name} must return a number: at t = {t:.12g}, {reason}")


class PointerLink:
    """How compiled programs reach functions of C."""

    def __init__(self, torque: Any, potential: Any) -> None:
        self.owners = (torque, potential)  # which may own the code
        places = address_of("address", torque), 0 if potential is None else address_of("potential", potential)
        self.numbers = head(*places, next(_numbers))

    def head(self, count: int) -> tuple[float, ...]:
        """The numbers that stand in front of the user's."""
        return self.numbers


@dataclass(frozen=True, eq=False, repr=False)
class CalledTorque(CustomTorque):
    """A torque that is called by its address."""

    smooth: bool | None = None
    """Whether it neither jumps nor bends; None: that is read from its code, if it has any to be read."""
    label: str = "torque"
    link: PythonLink | PointerLink | None = None
    calls_out = True
    head_size: ClassVar[int] = HEAD

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.label

    @property
    def calls_python(self) -> bool:  # type: ignore[override]
        """Whether a Python function is called."""
        return isinstance(self.link, PythonLink)

    @property
    def torque_kernel(self) -> UserTorque:
        """The function that calls any such torque."""
        return outside_torque

    @property
    def potential_kernel(self) -> UserPotential | None:
        """The function that calls any such potential."""
        return None if self.potential is None else outside_potential

    def parameters(self, body: Body) -> Sequence[float]:
        """The addresses, as numbers, and then what other torques have in p."""
        own = super().parameters(body)
        return (*self._head(len(own)), *own)

    def kept_parameters(self, body: Body) -> Sequence[float]:
        """Copy without the addresses."""
        return super().parameters(body)

    def rows_with(self, values: Floats, tensors: Floats, rotors: Floats | None = None) -> Floats:
        """The rows of p for these rows of values, and for bodies with these tensors and rotors."""
        rows = super().rows_with(values, tensors, rotors)
        head = self._head(rows.shape[1])
        return np.concatenate([np.broadcast_to(head, (len(rows), len(head))), rows], axis=1)

    def _head(self, count: int) -> tuple[float, ...]:
        assert self.link is not None
        return self.link.head(count)

    @property
    def may_bend(self) -> bool:
        """Whether it may bend: where its code cannot be read as a whole, it may, unless it was said to be smooth."""
        if self.jumps or self.smooth is not None:
            return not (self.jumps or self.smooth)
        if not self.calls_python:
            return True
        code, _, owner = _behind(self.function)
        return code is None or not is_smooth(code, owner)

    @property
    def py_func(self) -> UserTorque:
        """Raises AttributeError: the function is not to be compiled."""
        raise AttributeError("this torque is not compiled")

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickles the function, or its name if a decorator has put this torque in its place."""
        if not self.calls_python:
            raise pickle.PicklingError(
                f"the torque {self.name} is known by its address, which is good for this process only: make it with "
                "torque_from_pointer in the other process"
            )
        function: Any = self.function
        if isinstance(function, types.FunctionType):
            place = (function.__module__, function.__qualname__)
            function = place if looked_up(*place) is function else function
        rest = {
            "values": self.values, "potential": self.potential, "jumps": self.jumps, "depends": self.depends,
            "from_body": self.from_body, "tables": self.tables, "smooth": self.smooth,
        }  # fmt: skip
        return _unpickled, (function, rest)


def _unpickled(function: Any, rest: dict[str, Any]) -> CalledTorque:
    if isinstance(function, tuple):
        module, name = function
        importlib.import_module(module)
        if (function := looked_up(module, name)) is None:
            raise AttributeError(f"a pickled torque needs the function {name} of {module}, which is no longer there")
    return _made(function, **rest)


def _made(function: Any, *, potential: Any, **rest: Any) -> CalledTorque:
    name = _name_of(function)
    link = PythonLink(function, potential, name)
    return CalledTorque(function, potential=potential, label=name, link=link, **rest)


# --- Python functions ------------------------------------------------------------------------------------------------


def called_back(
    function: Any, parameters: Any, potential: Any, breakpoints: Any, depends: str | Sequence[str] | None,
    smooth: bool | None, from_body: BodyNumbers | None,
) -> CalledTorque:  # fmt: skip
    """A torque of any callable, as `torque(compiled=False)` does."""
    used = check_called("torque", function, ("t", "q", "w", "p"))
    reads = EVERYTHING
    if used is not None:
        reads = Depends.POSITION
        reads |= Depends.TIME if used[0] else Depends.NOTHING
        reads |= Depends.RATE if used[2] else Depends.NOTHING
    if potential is not None:
        used = check_called("potential", potential, ("t", "q", "p"))
        if used is None or used[0]:  # the energy need not be constant
            reads |= Depends.TIME
    numbers, tables = numbers_and_tables(parameters)
    return _made(
        function, values=numbers, potential=potential, jumps=rising("breakpoints", breakpoints),
        depends=reads if depends is None else depends_of(depends), from_body=from_body, tables=tables, smooth=smooth,
    )  # fmt: skip


def _name_of(function: Any) -> str:
    """The name of a callable: its own, or that of the function or the class behind it."""
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", None) or type(function).__name__)


def _behind(function: Any) -> tuple[types.FunctionType | None, int, Any]:
    """The Python function behind a callable, how many of its first arguments are given, and its owner.

    None if its code cannot be read.
    """
    given, owner = 0, None
    while isinstance(function, functools.partial):
        if function.keywords:
            return None, 0, None
        given, function = given + len(function.args), function.func
    if not isinstance(function, types.FunctionType | types.MethodType):
        function = getattr(function, "__call__", None)  # noqa: B004  the method, to look at its code
    if isinstance(function, types.MethodType):
        given, owner, function = given + 1, function.__self__, function.__func__
    return (function, given, owner) if isinstance(function, types.FunctionType) else (None, 0, None)


def check_called(kind: str, function: Any, names: tuple[str, ...]) -> list[bool] | None:
    """Which of its arguments a callable reads, None if that cannot be known; raises unless it can be called."""
    wanted = f"a {kind} is called with ({', '.join(names)})"
    if not callable(function) or inspect.isclass(function):
        raise TypeError(f"{wanted}, unlike {function!r}")
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise TypeError(f"{wanted}, and returns numbers, unlike {function!r}: it must not be async nor have a yield")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # it has none, as many functions of C
        return None
    try:
        signature.bind(*names)
    except TypeError:
        raise TypeError(f"{wanted}, unlike {_name_of(function)}{signature}") from None
    code, given, _ = _behind(function)
    if code is None or code.__code__.co_argcount < given + len(names):
        return None
    return arguments_read(code.__code__)[given : given + len(names)]


# --- functions of C --------------------------------------------------------------------------------------------------


def torque_from_pointer(
    address: Any,
    /,
    *,
    depends: str | Sequence[str] | None = None,
    parameters: Any = (),
    potential: Any = None,
    breakpoints: Any = (),
    from_body: BodyNumbers | None = None,
    smooth: bool = False,
    name: str | None = None,
) -> CalledTorque:
    """Makes a torque from the address of a compiled function, of C, Fortran or any other language.

    The function is `void f(double t, const double *q, const double *w, const double *p, double *torque)`: it reads the
    time, the quaternion (body to space, scalar first), the angular velocity in rad/s and the parameters, and writes the
    torque in N m, all in your body axes. It is called from any thread. Where it writes nothing, the torque is NaN, and
    the run ends with an error.

    The address is a number, a function of ctypes or cffi, or a `numba.cfunc`. Nothing is compiled for it: one program
    of a method serves all such torques, and is kept on disk.

    `potential` is the address of `double V(double t, const double *q, const double *p)`; the torque must be minus its
    gradient. What the torque depends on cannot be read from its code: without `depends`, of "attitude", "time" and
    "rate", it depends on all three. Nor can be read whether it jumps or bends: with `smooth=True` it does not, and
    `rtol` may take another method than DOP853. `breakpoints` are times at which it jumps. With `from_body` numbers of
    the body stand behind the parameters, as in `torque`.

    Examples
    --------
    >>> import ctypes
    >>> numbers = ctypes.POINTER(ctypes.c_double)
    >>> @ctypes.CFUNCTYPE(None, ctypes.c_double, numbers, numbers, numbers, numbers)
    ... def brake(t, q, w, p, torque):  # in place of a function of a library
    ...     torque[0], torque[1], torque[2] = -0.5 * w[0], -0.5 * w[1], -0.5 * w[2]
    ...
    >>> drag = ph.torque_from_pointer(brake, depends="rate")
    >>> run = ph.simulate(ph.Body([1, 1, 1]), drag, omega=[0, 0, 2], t_span=(0, 2), method="RK4", step=0.1)
    >>> run.omega[-1].round(5)
    array([0.     , 0.     , 0.73576])
    """
    label = name or getattr(address, "__name__", None) or "pointer"
    numbers, tables = numbers_and_tables(parameters)
    if tables:
        raise TypeError(
            f"parameters[{tables[0][0]}] of {label} is looked up by table_at, which a function of C cannot call: sum "
            "torques, or look it up in a function of Python's"
        )
    energy: Any = None if potential is None else _unreadable
    return CalledTorque(
        _unreadable, numbers, energy, rising("breakpoints", breakpoints),
        EVERYTHING if depends is None else depends_of(depends), from_body=from_body, smooth=smooth, label=str(label),
        link=PointerLink(address, potential),
    )  # fmt: skip


def _unreadable(*arguments: Any) -> NoReturn:
    raise TypeError("a function of C is called by compiled programs, or through ctypes")


def address_of(what: str, function: Any) -> int:
    """The address of a function, or raises an error that says what was wrong."""
    arguments = len((TorqueOfC if what == "address" else PotentialOfC)._argtypes_)
    found: Any = None
    if isinstance(function, int) and not isinstance(function, bool):
        found = function
    elif isinstance(function, ctypes._CFuncPtr):  # type: ignore[attr-defined]
        declared = function.argtypes
        if declared is not None and len(declared) != arguments:
            raise TypeError(
                f"{what} must be a function of {arguments} arguments (see torque_from_pointer), not of {len(declared)}"
            )
        found = ctypes.cast(function, ctypes.c_void_p).value or 0
    elif isinstance(function, ctypes.c_void_p):
        found = function.value or 0
    elif type(function).__module__ == "_cffi_backend":
        backend: Any = importlib.import_module("_cffi_backend")  # it is there: the function comes from it
        found = int(backend.FFI().cast("uintptr_t", function))
    elif isinstance(getattr(function, "address", None), int):  # numba.cfunc
        found = function.address
    elif function is None:
        found = 0
    if found is None:
        raise TypeError(
            f"{what} must be an address, a function of ctypes or cffi, or a numba.cfunc, not {function!r}: for a "
            "Python function, take @torque(compiled=False)"
        )
    if found == 0:
        raise ValueError(f"{what} is a null pointer: is the function in the library?")
    if not 0 < found < 2**64:
        raise ValueError(f"{what} must be an address, a positive number of at most 64 bits, not {found}")
    return int(found)
