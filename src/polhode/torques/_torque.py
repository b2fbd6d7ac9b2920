"""The contract of a torque.

A torque is a kernel `(t, q, w, p) -> three numbers`, everything in the user's body axes, q scalar first. It may have a
potential energy `(t, q, p) -> number` and times at which it jumps. A model is a frozen dataclass whose fields become
the parameter array p; the decorator `torque` makes a torque of a user's own function.
"""

import dis
import importlib
import inspect
import math
import sys
import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, ClassVar, overload

import numpy as np

from polhode.body import Body
from polhode.compiler import Locatable, locatable, may_bend
from polhode.kernels.algebra.vector_table import LookedUp, is_handle
from polhode.kernels.types import Depends, Quat, UserTorque, Vec3
from polhode.support import checks
from polhode.support.arrays import Floats

UserPotential = Callable[[float, Quat, Any], float]
BodyNumbers = Callable[[Body], Any]
"""Makes the numbers of a body that a torque finds in p."""

ANY_BODY = Body((2.0, 3.0, 4.0))
"""The body for which parameters are counted and tried: their number does not depend on it."""


class Torque(ABC):
    """The base class of all torques. Models are found by their file and built from their fields."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}  # unknown keys of scenario files are errors

    example: ClassVar[dict[str, Any]] = {}
    """Values of fields for an example in a scenario file, where none follow from their types."""
    depends: Depends = Depends.POSITION
    """What a method must accept to take the torque; even a constant torque has `Depends.POSITION`."""
    reads_attitude: bool = True
    """Whether the torque in body axes changes with the attitude, which `depends` does not say."""
    state_names: tuple[str, ...] = ()
    """The names of the numbers that the torque carries along, which obey differential equations. The kernel takes them
    as a fifth argument and returns their derivatives after the torque."""
    reads: tuple[str, ...] = ()
    """The names of numbers that other parts of a sum carry: the kernel finds them in its fifth argument, behind those
    that the torque carries itself."""
    commanded: bool = False
    """Whether the torque bends only where numbers that it reads reach a limit: if these are held, never in a step."""
    has_value_at_all_times: bool = False
    """Whether a torque that depends on time is smooth before and after a run, too, where correctors evaluate it."""
    calls_python: bool = False
    """Whether programs call a Python function for it, which takes the interpreter's lock."""
    calls_out: bool = False
    """Whether programs call it by its address."""
    upright: bool = False
    """Whether the kernel is the shorter one for a direction along the third axis of space."""

    @property
    def name(self) -> str:
        """The name of the torque in scenario files and results."""
        return type(self).__name__

    @property
    def state_sizes(self) -> tuple[float, ...]:
        """The sizes below which carried numbers count as zero, in their units; 0.0: not known."""
        return (0.0,) * len(self.state_names)

    @property
    def starting_state(self) -> tuple[float, ...] | None:
        """The carried numbers at the start of a run where none are given; None: they must be given."""
        return None

    @property
    def known_state(self) -> tuple[float | None, ...]:
        """Defaults number by number, for a user who gives some of them: None for each that must be given."""
        return self.starting_state or (None,) * len(self.state_names)

    @property
    def held(self) -> bool:
        """Whether carried numbers change at samples only, never within a step: then every method can take them."""
        return False

    @property
    def sample_kernel(self) -> UserTorque | None:
        """`(t, q, w, p, z)`: returns what is carried from the start of a piece at t on; None: there are no samples."""
        return None

    @property
    def samples_compiled(self) -> bool:
        """Whether samples are taken by compiled code; else by Python, between two calls of it."""
        return True

    @property
    @abstractmethod
    def torque_kernel(self) -> UserTorque:
        """The torque as a plain function, which is compiled."""

    @property
    def potential_kernel(self) -> UserPotential | None:
        """The potential energy as a plain function; None if there is none."""
        return None

    def parameters(self, body: Body) -> Sequence[float]:
        """The numbers that the kernels find in p."""
        return ()

    @property
    def reads_body(self) -> bool:
        """Whether the parameters depend on the body."""
        return _reads_body(type(self))

    def kept_parameters(self, body: Body) -> Sequence[float]:
        """The parameters that mean something beyond this process: what files keep."""
        return self.parameters(body)

    def parameter_rows(self, tensors: Floats, rotors: Floats | None = None) -> Floats:
        """The `parameters` of many bodies, one row each, from their inertia tensors (bodies, 3, 3).

        `rotors` (bodies, 3) are their internal angular momenta; None: they have none. If the parameters do not depend
        on the body, one row serves for all. A model whose parameters do may override this with something faster than a
        call for each body.
        """
        some = bodies_of(tensors, rotors) if self.reads_body else bodies_of(tensors[:1])
        rows = [list(self.parameters(body)) for body in some]
        return checks.array("parameters", rows, (len(rows), len(rows[0])))

    @property
    def sources(self) -> tuple[Any, ...]:
        """Tables, orbits and fields that the torque looks up: it jumps where they do, and is known when they are."""
        return ()

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """The times at which the torque jumps: integration stops there and restarts on the other side."""
        return _rising_times([source.breakpoints for source in sources]) if (sources := self.sources) else ()

    @property
    def knots(self) -> tuple[float, ...]:
        """Times at which the torque is smooth enough for most steps, but a high derivative of it jumps."""
        return _rising_times([source.knots for source in sources]) if (sources := self.sources) else ()

    @property
    def roughness(self) -> float:
        """The sum over knots of the jump of the third derivative times d^4, with d the distance to the next knot.

        It is relative to the largest value, and a time: in s.
        """
        return max((source.roughness for source in self.sources), default=0.0)

    @property
    def known(self) -> tuple[float, float]:
        """The first and the last time at which the torque is known: those of its table, if it has one."""
        return -math.inf, math.inf

    def check_span(self, t0: float, t1: float) -> None:
        """Raises ValueError unless the torque is known at all times of a run."""
        for source in self.sources:
            source.check_span(t0, t1)
        first, last = self.known
        low, high = (t0, t1) if t0 < t1 else (t1, t0)
        if low < first or high > last:
            begin, end = max(low, first), min(high, last)
            remedy = f", or let it act for a time only, with .during({begin!r}, {end!r})" if begin < end else ""
            raise ValueError(
                f"{self.name} is known from t = {first!r} to {last!r} s, but it is needed from {low!r} to {high!r} s: "
                f"give one that covers the run{remedy}"
            )

    @property
    def may_bend(self) -> bool:
        """Whether the torque may jump or have a kink at places that are not declared as breakpoints."""
        return False

    @property
    def located(self) -> Locatable | None:
        """The torque in the form whose bends methods with steps of their own length locate; None: there is none."""
        if not self.may_bend:
            return None
        return locatable(self.torque_kernel, self.parameters(ANY_BODY), len(self.state_names) + len(self.reads))

    @property
    def bends_known(self) -> bool:
        """Whether each such place can be located, if there is one, so that a step ends there."""
        return not self.may_bend or self.located is not None

    @property
    def axis(self) -> Vec3 | None:
        """The direction in space about which the torque is symmetric, if any: the momentum along it is conserved."""
        return None

    @property
    def turning(self) -> Vec3 | None:
        """The rate in space axes, in rad/s, at which the whole potential turns, if it does nothing else with time.

        Then T + V - n . L is conserved, with n that rate and L the spatial angular momentum.
        """
        return None

    def for_span(self, t0: float, t1: float) -> "Torque":
        """Returns the torque for a run between two times; raises ValueError if it is not known for all of them.

        Most torques return themselves; others are prepared, by a table for these times or by a search for breakpoints.
        """
        return self

    def for_any_direction(self) -> "Torque":
        """This torque by the kernel for any direction (see `upright`), with equal bits."""
        other = copy(self)
        other._settle(upright=False)
        return other

    def _settle(self, **fields: Any) -> None:
        """Sets fields of a frozen dataclass to checked values, from its `__post_init__`."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _check(self, **checked_by: Callable[[str, Any], Any]) -> None:
        """Sets each of these fields to what its check makes of its name and value."""
        self._settle(**{name: check(name, getattr(self, name)) for name, check in checked_by.items()})

    @property
    def conserves_energy(self) -> bool:
        """Whether kinetic plus potential energy stays constant."""
        return self.potential_kernel is not None and not self.depends & (Depends.TIME | Depends.RATE)

    # --- what carried numbers mean

    def state_at_start(self, omega: Floats) -> Floats | None:
        """The carried numbers at the start for one rate or a stack of them, if the user need not give them."""
        known = self.starting_state if self.state_names else ()
        return None if known is None else np.broadcast_to(np.array(known, float), (*omega.shape[:-1], len(known)))

    def carrier(self, body: Body) -> Body:
        """The body to simulate, from one that contains all that spins in it: without their spin inertias."""
        return body

    def check_body(self, body: Body) -> None:  # noqa: B027  (most torques act on any body)
        """Raises ValueError if the torque cannot act on this body."""

    def carried_momentum(self, state: Floats) -> Floats:
        """The momentum in body axes, in N m s, that belongs to carried numbers: a row, or a stack of them."""
        if self.state_names and not self.held:
            raise ValueError(_unknown_meaning(self, "momentum", "solution.momentum"))
        return np.zeros((*state.shape[:-1], 3))

    def carried_energy(self, state: Floats) -> Floats:
        """The energy in J that belongs to carried numbers: a row, or a stack of them."""
        if self.state_names and not self.held:
            raise ValueError(_unknown_meaning(self, "energy", "solution.kinetic_energy"))
        return np.zeros(state.shape[:-1])

    def part_of(self, whole: "Torque") -> str:
        """The name of this torque among the parts of another, which may be this torque itself."""
        for name, part in whole.parts.items():
            if part == self:
                return name
        raise ValueError(f"{self.name} is no part of {whole.name}")

    # --- sums (`_sums.py`)

    @property
    def parts(self) -> "dict[str, Torque]":
        """The torques of which this one is the sum, by their names; one that is no sum has itself as its only part."""
        return {self.name: self}

    def acting(self, t: float, p: Any, z: Any = ()) -> "list[tuple[str, Torque, Any, Any]]":
        """The torques that act at t and are no sums: their names in `parts`, and their shares of p and z."""
        return [(self.name, self, p, z)]

    def called(self, t: float, q: Quat, w: Vec3, p: Any, z: Any = ()) -> Any:
        """Calls the kernel in plain Python; returns what it returns as the torque, without derivatives."""
        n = self.torque_kernel(t, q, w, p, z) if self.state_names or self.reads else self.torque_kernel(t, q, w, p)
        return n[0] if self.state_names else n

    def state_of(self, part: str) -> slice:
        """Where the numbers that a part carries stand among all of them."""
        return slice(0, len(self.state_names))

    def seen_by(self, part: str) -> list[int]:
        """Where the numbers that a part carries stand among all of them, and then those that it reads."""
        return list(range(len(self.state_names)))

    def during(self, start: float, end: float) -> "Torque":
        """This torque, switched on for start <= t < end; steps end where it is switched.

        Either may be infinite: `torque.during(10.0, math.inf)` acts from t = 10 s on.
        """
        from polhode.torques._sums import limited

        return limited(self, start, end)

    def __add__(self, other: Any) -> "Torque":
        """The sum of two torques."""
        from polhode.torques._sums import added

        return added(self, other)

    def __radd__(self, other: Any) -> "Torque":
        """This torque if the other is 0, with which `sum` begins."""
        from polhode.torques._sums import added

        return self if type(other) is int and other == 0 else added(other, self)

    def __sub__(self, other: Any) -> "Torque":
        """The sum of this torque and another one with the opposite sign."""
        from polhode.torques._sums import added, scaled

        return added(self, scaled(checked_part(other), -1.0))

    def __rsub__(self, other: Any) -> "Torque":
        """Raises TypeError: the other is no torque."""
        return checked_part(other) - self

    def __neg__(self) -> "Torque":
        """This torque with the opposite sign."""
        return -1.0 * self

    def __mul__(self, factor: Any) -> "Torque":
        """This torque times a number."""
        from polhode.torques._sums import scaled

        return scaled(self, factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> "Torque":
        """This torque divided by a number."""
        number = checks.number("what a torque is divided by", divisor)
        if number == 0.0:
            raise ValueError("a torque cannot be divided by zero")
        return (1.0 / number) * self

    __array_ufunc__ = None  # so that np.float64(0.5) * torque is a torque, not an array of one object


def _unknown_meaning(torque: Torque, what: str, known: str) -> str:
    listed = ", ".join(torque.state_names)
    return f"the {what} that belongs to {listed} of {torque.name} is not known here: add it to {known} yourself"


def _rising_times(rows: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    return rows[0] if len(rows) == 1 else tuple(sorted({t for row in rows for t in row}))


def is_upright(direction: Vec3) -> bool:
    """Whether the direction is along the third axis, up or down."""
    return direction[0] == direction[1] == 0.0


@cache
def _reads_body(kind: type[Torque]) -> bool:
    """Whether the parameters of such a torque depend on the body, as its code says."""
    return inspected("method", kind.parameters, ("self", "body"))[1][1]


@dataclass(frozen=True, eq=False, repr=False)
class CustomTorque(Torque):
    """A user's function as a torque. The decorator `torque` makes it."""

    function: UserTorque
    values: tuple[float, ...] = ()
    potential: UserPotential | None = None
    jumps: tuple[float, ...] = ()
    depends: Depends = field(default=Depends.POSITION)
    state_names: tuple[str, ...] = ()
    least_sizes: tuple[float, ...] = ()
    """The `state_sizes`, if the user gave them."""
    from_body: BodyNumbers | None = None
    """The function whose numbers follow the values in p: it is called with the body."""
    tables: tuple[tuple[int, Any], ...] = ()
    """The tables and fields among the parameters, with their places. Their values are handles, which are valid in one
    process."""
    jacobian: Callable[..., Any] | None = None
    """The derivatives of the function, if the user gave them."""
    reads: tuple[str, ...] = ()

    head_size: ClassVar[int] = 0
    """How many numbers stand in front of the user's in p."""

    def __post_init__(self) -> None:
        if self.tables:
            self._settle(values=tuple(self.with_handles(np.array([self.values]))[0].tolist()))

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

    @property
    def state_sizes(self) -> tuple[float, ...]:
        """The sizes below which carried numbers count as zero, as the user gave them."""
        return self.least_sizes or super().state_sizes

    def parameters(self, body: Body) -> Sequence[float]:
        """The user's parameter array, and the numbers that are made from the body."""
        return self.values if self.from_body is None else (*self.values, *self.numbers_of(body))

    @property
    def reads_body(self) -> bool:
        """Whether some numbers are made from the body."""
        return self.from_body is not None

    def numbers_of(self, body: Body) -> list[float]:
        """The numbers that are made from the body."""
        if self.from_body is None:
            return []
        try:
            made = self.from_body(body)
        except Exception as problem:
            problem.add_note(f"raised by from_body of the torque {self.name}, for {body!r}")
            raise
        return checks.row(f"from_body of {self.name}", made).tolist()  # type: ignore[no-any-return]

    def rows_with(self, values: Floats, tensors: Floats, rotors: Floats | None = None) -> Floats:
        """The rows of p for these rows of values, and for bodies with these tensors and rotors."""
        if self.from_body is None:
            return values
        made = [self.numbers_of(body) for body in bodies_of(tensors, rotors)]
        for k, row in enumerate(made):
            if len(row) != len(made[0]):
                raise ValueError(
                    f"from_body of {self.name} returns {len(row)} numbers for body {k}, but {len(made[0])} for body 0: "
                    "their number must be the same for all bodies"
                )
        count = max(len(values), len(made))
        both = (values, np.array(made, dtype=np.float64).reshape(len(made), -1))
        return np.concatenate([np.broadcast_to(rows, (count, rows.shape[1])) for rows in both], axis=1)

    def parameter_rows(self, tensors: Floats, rotors: Floats | None = None) -> Floats:
        """The `parameters` of many bodies, one row each; one row if they do not depend on the body."""
        return self.rows_with(np.array([self.values], dtype=np.float64), tensors, rotors)

    @property
    def sources(self) -> tuple[Any, ...]:
        """The tables and fields among the parameters."""
        return tuple(table for _, table in self.tables) if self.tables else ()

    @cached_property
    def breakpoints(self) -> tuple[float, ...]:
        """The user's breakpoints, and those of the tables among the parameters."""
        return tuple(sorted({*self.jumps, *super().breakpoints}))

    def check_span(self, t0: float, t1: float) -> None:
        """Raises ValueError unless the tables among the parameters cover these times."""
        for place, table in self.tables:
            try:
                table.check_span(t0, t1)
            except ValueError as problem:
                raise ValueError(f"p[{place}] of {self.name}: {problem}") from None

    def for_span(self, t0: float, t1: float) -> "CustomTorque":
        """The torque with its fields in tables for a run between two times."""
        if not self.tables:
            return self
        tables = tuple((place, table.for_span(t0, t1)) for place, table in self.tables)
        unchanged = all(new is old for (_, new), (_, old) in zip(tables, self.tables, strict=True))
        if unchanged:
            return self
        other = replace(self, tables=tables)
        other._settle(_made_from=self._origin)
        return other

    @property
    def _origin(self) -> "CustomTorque":
        """The torque that the user made, of which this may be the form for a run."""
        found: CustomTorque = self.__dict__.get("_made_from", self)
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CustomTorque) and other._origin is self._origin

    def __hash__(self) -> int:
        return id(self._origin)

    def with_handles(self, rows: Floats) -> Floats:
        """Rows of parameters in which the tables stand in their places, whatever is there in the rows."""
        filled = np.array(rows)
        for place, table in self.tables:
            if place >= rows.shape[1]:
                raise ValueError(f"p[{place}] of {self.name} is a table, but there are {rows.shape[1]} parameters")
            filled[:, place] = table.handle
        return filled

    @property
    def may_bend(self) -> bool:
        """Whether the code of the function branches, and there are no breakpoints that would explain it."""
        return not self.jumps and may_bend(self.function)

    @property
    def py_func(self) -> UserTorque:
        """The undecorated function, under the name by which the compiler looks for it."""
        return self.function

    def __call__(self, *arguments: Any) -> Any:
        """Calls the undecorated function."""
        return self.function(*arguments)

    def __repr__(self) -> str:
        words = {Depends.POSITION: "attitude", Depends.TIME: "time", Depends.RATE: "rate"}
        about = [f"depends on {', '.join(word for flag, word in words.items() if flag in self.depends)}"]
        about += ["reads the body"] if self.from_body is not None else []
        about += ["has a potential"] if self.potential is not None else []
        about += [f"breakpoints {list(self.jumps)}"] if self.jumps else []
        about += [f"carries {', '.join(self.state_names)}"] if self.state_names else []
        about += [f"reads {', '.join(self.reads)}"] if self.reads else []
        about += [f"p[{place}] is {table!r}" for place, table in self.tables]
        return f"<torque {self.name}({shown_numbers(self.values)}): {'; '.join(about)}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickles the function by its name. Pickle itself would find this torque under that name, and refuse."""
        if looked_up(self.function.__module__, self.function.__qualname__) is not self.function:
            return super().__reduce_ex__(protocol)
        # A function of the body is often a lambda, which has no name; then it is that of the torque of this name.
        named = _looked_up_torque(self.function.__module__, self.function.__qualname__)
        same = named is not None and named.from_body is self.from_body
        rest = (self.values, self.potential, self.jumps, self.depends, self.state_names, self.least_sizes)
        made = (*rest, None if same else self.from_body, self.tables, None, self.reads)
        return _unpickled, (self.function.__module__, self.function.__qualname__, same, *made)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Finds the tables again in the memory of this process."""
        self.__dict__.update(state)
        self.__post_init__()

    def with_parameters(self, values: Any) -> "CustomTorque":
        """The same torque with another parameter array. Nothing is compiled again.

        Where a table was, another one may stand; with a number in its place the table stays.
        """
        if not self.tables and (plain := checks.plain(values, len(self.values))) is not None:  # nothing to be looked up
            other = object.__new__(type(self))
            # What follows from other fields is found here, once for all copies.
            other.__dict__.update(self.__dict__, values=tuple(plain), breakpoints=self.breakpoints)
            return other
        numbers, tables = numbers_and_tables(values)
        return replace(self, values=numbers, tables=tuple(({**dict(self.tables), **dict(tables)}).items()))


def bodies_of(tensors: Floats, rotors: Floats | None = None) -> Iterator[Body]:
    """Makes bodies from tensors and rotors; a single one of either serves for all."""
    if rotors is None:
        yield from (Body(tensor, allow_unphysical=True) for tensor in tensors)
    else:
        for k in range(max(len(tensors), len(rotors))):
            own = Body(tensors[k if len(tensors) > 1 else 0], allow_unphysical=True)
            yield own.with_rotor(rotors[k if len(rotors) > 1 else 0])


def numbers_and_tables(values: Any) -> tuple[tuple[float, ...], tuple[tuple[int, Any], ...]]:
    """Parameters as numbers, and the tables and fields among them, with their places: the numbers are zero."""
    tables: list[tuple[int, Any]] = []
    if isinstance(values, Sequence) and any(isinstance(x, Torque | LookedUp) for x in values):
        for place, x in enumerate(values):
            if isinstance(x, LookedUp):
                tables.append((place, x))
            elif isinstance(x, Torque):
                raise TypeError(
                    f"parameters[{place}] must be a number, a Table or a field of polhode.environment, not the torque "
                    f"{x.name}"
                )
        values = [0.0 if isinstance(x, LookedUp) else x for x in values]
    return tuple(checks.row("parameters", values).tolist()), tuple(tables)


def shown_numbers(values: Sequence[float]) -> str:
    """Writes parameters for people to read: the handle of a table is no number."""
    return ", ".join("a table" if is_handle(x) else f"{x:g}" for x in values)


def _found_by_name(module: str, name: str) -> Any:
    """What has this name in a module; None if nothing has."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def looked_up(module: str, name: str) -> Any:
    """The function of this name, also if a decorator has made it a torque; None if there is none."""
    found = _found_by_name(module, name)
    return found.function if isinstance(found, CustomTorque) else found


def _looked_up_torque(module: str, name: str) -> CustomTorque | None:
    """The torque of this name, if there is one."""
    found = _found_by_name(module, name)
    return found if isinstance(found, CustomTorque) else None


def _unpickled(module: str, name: str, as_named: bool, *rest: Any) -> CustomTorque:
    """A torque from its function's name; `as_named`: it makes numbers of the body as the torque there does."""
    importlib.import_module(module)
    if (function := looked_up(module, name)) is None:
        raise AttributeError(f"a pickled torque needs the function {name} of {module}, which is no longer there")
    made = CustomTorque(function, *rest)
    named = _looked_up_torque(module, name) if as_named else None
    return made if named is None else replace(made, from_body=named.from_body, jacobian=named.jacobian)


@overload
def torque(
    function: UserTorque, /, *, parameters: Any = (), potential: UserPotential | None = None, breakpoints: Any = (),
    depends: str | Sequence[str] | None = None, state: Sequence[str] | Mapping[str, float] = (),
    reads: Sequence[str] = (), from_body: BodyNumbers | None = None, compiled: bool = True, smooth: bool | None = None,
    jacobian: Callable[..., Any] | None = None,
) -> CustomTorque: ...  # fmt: skip


@overload
def torque(
    *, parameters: Any = (), potential: UserPotential | None = None, breakpoints: Any = (),
    depends: str | Sequence[str] | None = None, state: Sequence[str] | Mapping[str, float] = (),
    reads: Sequence[str] = (), from_body: BodyNumbers | None = None, compiled: bool = True, smooth: bool | None = None,
    jacobian: Callable[..., Any] | None = None,
) -> Callable[[UserTorque], CustomTorque]: ...  # fmt: skip


def torque(
    function: UserTorque | None = None,
    /,
    *,
    parameters: Any = (),
    potential: UserPotential | None = None,
    breakpoints: Any = (),
    depends: str | Sequence[str] | None = None,
    state: Sequence[str] | Mapping[str, float] = (),
    reads: Sequence[str] = (),
    from_body: BodyNumbers | None = None,
    compiled: bool = True,
    smooth: bool | None = None,
    jacobian: Callable[..., Any] | None = None,
) -> CustomTorque | Callable[[UserTorque], CustomTorque]:
    """Makes a torque from a plain Python function, which is compiled by itself.

    The function is called as `f(t, q, w, p)`: time, quaternion (body to space, scalar first), angular velocity in
    rad/s and parameter array, in your body axes. It returns the torque in N m as three numbers. `q` and `w` are
    tuples. It may use `math`, arithmetic, branches, helpers of your own, and `polhode.to_body`, `to_space`, `cross`,
    `dot`, `clip`, `where`, `quaternion_product` and `quaternion_conjugate`. It cannot write to `p`, nor to arrays from
    outside; an index beyond the end of an array ends the run with an error. Integers have 64 bits when compiled: larger
    ones wrap, and an integer divided by zero is 0. Compute with floats where that may happen.

    A `polhode.Table` or a field of `polhode.environment` may stand among the parameters: in its place the function
    finds a handle, and `polhode.table_at(p[k], t)` returns its vector at a time. The knots of tables are breakpoints.

    Use it bare (`@torque`) or with arguments (`@torque(parameters=[...], potential=..., breakpoints=[...])`).
    A potential is called as `V(t, q, p)`; the torque must be minus its gradient. Breakpoints are the times at which the
    torque jumps. What the function depends on is read from its code: one that uses `w` depends on the rate. A function
    that only passes its arguments on can declare what it depends on, of "attitude", "time" and "rate":
    `@torque(depends="time")`.

    With `state=["a", "b"]` the torque carries numbers of its own along: a function `f(t, q, w, p, z)` that finds them
    in the tuple z and returns two things, the torque and the time derivatives of these numbers. Their errors are
    relative to their largest sizes along the run; `state={"a": 0.1, "b": 0.1}` gives sizes below which they count as
    zero. Without sizes, the error of a number is relative to a millionth of the largest one at least: give sizes where
    units differ that much.

    With `reads=["wheel_1", "wheel_2"]` the function finds numbers in z that another part of a sum carries, behind its
    own: the momenta of wheels, or the commands of a `Sampled` law. One that carries none itself is called as
    `f(t, q, w, p, z)` and returns the torque alone.

    A torque that needs numbers of the body takes them from p, behind its parameters: with
    `@torque(parameters=[0.4], from_body=lambda body: body.moments)` the function finds the moments in p[1], p[2] and
    p[3], whichever body it acts on. `from_body` is called in plain Python, once for every body.

    A run with `derivatives=` differentiates the function by its code, or by differences where that branches. A
    `jacobian` called as `f(t, q, w, p)` takes their place. It returns three things: the derivative of the torque by a
    small turn of the body, a rotation vector in body axes, as three rows; that by the rate, as three rows; and a row
    for each parameter.

    With `compiled=False` it is not compiled, but called by the compiled step: it may be any callable and do anything,
    at less than 1 us a call and what it takes itself. An exception comes out of the run as it was raised, with what was
    computed as its `solution`. If its code cannot be read, it is taken to depend on everything and to bend anywhere,
    unless `depends` and `smooth=True` say otherwise.

    Examples
    --------
    >>> @ph.torque(parameters=[0.5])
    ... def brake(t, q, w, p):
    ...     return -p[0] * w[0], -p[0] * w[1], -p[0] * w[2]
    ...
    >>> run = ph.simulate(ph.Body([1, 1, 1]), brake, omega=[0, 0, 2], t_span=(0, 2), method="RK4", step=0.1)
    >>> run.omega[-1].round(5)
    array([0.     , 0.     , 0.73576])
    """
    if callable(parameters):
        raise TypeError(
            "parameters must be numbers; numbers that are made from the body come behind them in p: "
            "write from_body=lambda body: [...]"
        )
    if from_body is not None and not callable(from_body):
        raise TypeError(f"from_body must be a function of the body that returns numbers, not {checks.shown(from_body)}")
    names, sizes = carried_numbers(state)
    others = names_read(reads)
    if jacobian is not None and (names or others or not compiled):
        raise TypeError(
            "a jacobian is for a compiled torque without carried numbers: leave out state=, reads= and compiled=False"
        )

    def decorated(function: UserTorque) -> CustomTorque:
        if not compiled:
            from polhode.torques._called import called_back  # imported here, since it imports this module

            if names or others:
                given = "state" if names else "reads"
                raise TypeError(f"a torque that finds carried numbers is compiled: {given}= needs compiled=True")
            return called_back(function, parameters, potential, breakpoints, depends, smooth, from_body)
        if smooth is not None:
            raise TypeError("smooth is for torques with compiled=False: of others, the code says where they bend")
        arguments = ("t", "q", "w", "p", "z") if names or others else ("t", "q", "w", "p")
        plain, used = inspected("torque", function, arguments, hint="" if names or others else STATE_HINT)
        reads = Depends.POSITION
        if used[0]:
            reads |= Depends.TIME
        if used[2]:
            reads |= Depends.RATE
        energy = None
        if potential is not None:
            energy, used = inspected("potential", potential, ("t", "q", "p"))
            if used[0]:  # the energy need not be constant
                reads |= Depends.TIME
        numbers, tables = numbers_and_tables(parameters)
        differentiated = None if jacobian is None else inspected("jacobian", jacobian, ("t", "q", "w", "p"))[0]
        return CustomTorque(
            plain, numbers, energy, rising("breakpoints", breakpoints),
            reads if depends is None else depends_of(depends), names, sizes, from_body, tables, differentiated,
            others,
        )  # fmt: skip

    return decorated if function is None else decorated(function)


STATE_HINT = '; one that takes z as well needs their names, as in @torque(state=["a", "b"])'


def carried_numbers(state: Any) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """The names of carried numbers, and the sizes below which they count as zero; none: no sizes were given."""
    if isinstance(state, str):
        raise TypeError(f"state must be a list of names, not a string: write state=[{state!r}]")
    if not isinstance(state, Sequence | Mapping):
        raise TypeError(f"state must be a list of names, or a dictionary of names and sizes, not {state!r}")
    names = tuple(state)
    for name in names:
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"a name in state must be a word such as 'wheel_1', not {name!r}")
        if names.count(name) > 1:
            raise ValueError(f"the names in state must differ, but {name!r} is there {names.count(name)} times")
    if not isinstance(state, Mapping):
        return names, ()
    sizes = tuple(checks.number(f"the size of {name} in state", size) for name, size in state.items())
    for name, size in zip(names, sizes, strict=True):
        if not size > 0.0:
            raise ValueError(f"the size of {name} in state must be positive, not {size:g}")
    return names, sizes


def names_read(reads: Any) -> tuple[str, ...]:
    """The names of numbers that are read from other parts, checked."""
    if isinstance(reads, str):
        raise TypeError(f"reads must be a list of names, not a string: write reads=[{reads!r}]")
    return carried_numbers(tuple(reads))[0]


def depends_of(names: str | Sequence[str]) -> Depends:
    """What a torque is declared to depend on. The attitude is always included."""
    known = {"attitude": Depends.POSITION, "time": Depends.TIME, "rate": Depends.RATE}
    reads = Depends.POSITION
    for name in (names,) if isinstance(names, str) else names:
        reads |= known[checks.choice("dependence", name, known)]
    return reads


def checked(torque: Any) -> Torque:
    """The torque, or raises an error that says what was probably meant."""
    if isinstance(torque, Torque):
        if torque.reads:
            listed = ", ".join(torque.state_names) or "none"
            raise ValueError(
                f"{torque.name} reads {', '.join(torque.reads)}, which nothing carries here (carried: {listed}): add "
                "the torque that does, as in wheels + torque, or name what is carried in reads="
            )
        return torque
    raise TypeError(f"torque must be a torque, {_unlike(torque)}")


def checked_part(torque: Any) -> Torque:
    """A part of a sum, or raises an error that says what was probably meant."""
    if isinstance(torque, Torque):
        return torque
    raise TypeError(f"a torque is added to torques, {_unlike(torque)}")


def _unlike(given: Any) -> str:
    """Says what was given in place of a torque, and how to make a torque of it."""
    if isinstance(given, type) and issubclass(given, Torque):
        return f"not the class {given.__name__}: write {given.__name__}(...) with its parameters"
    remedy = "take a model that `polhode torques` lists, or a function under @ph.torque"
    if callable(given):
        remedy = "decorate it with @ph.torque"
    elif isinstance(given, str):
        from polhode.torques import catalogue  # imported here, since it imports this module

        if near := checks.nearest(given, catalogue()):
            remedy = f"there is ph.{near[0]}: write ph.{near[0]}(...)"
    elif isinstance(given, np.ndarray | list | tuple):
        remedy = "a table of torques is ph.Table(t, values), with times and rows of three"
    return f"not {checks.shown(given)}: {remedy}"


Gain = float | Vec3 | tuple[Vec3, Vec3, Vec3]
"""A linear map of vectors: one number, three numbers along the body axes, or the rows of a matrix."""


def gain(name: str, given: Any) -> Gain:
    """Returns such a map as numbers, or raises an error that says what was given."""
    try:
        shape: tuple[int, ...] | None = checks.shape_of(name, given)
    except TypeError:  # a ragged list
        shape = None
    if shape == ():
        return checks.number(name, given)
    if shape == (3,):
        return checks.vector(name, given)
    if shape == (3, 3):
        x, y, z = checks.array(name, given, (3, 3)).tolist()
        return (tuple(x), tuple(y), tuple(z))
    raise ValueError(f"{name} must be one number, three numbers or a 3x3 matrix, not {checks.shown(given)}")


def gain_matrix(gain: Gain) -> Floats:
    """Returns such a map as a matrix."""
    g = np.array(gain)
    return g if g.ndim == 2 else g * np.eye(3)


def rising(name: str, values: Any) -> tuple[float, ...]:
    """The values as floats, or raises an error unless they are finite and strictly rising."""
    row = tuple(checks.row(name, values).tolist())
    for before, after in pairwise(row):
        if after <= before:
            raise ValueError(f"{name} must rise, but {before:g} is followed by {after:g}")
    return row


def inspected(
    kind: str, function: Any, arguments: tuple[str, ...], *, hint: str = ""
) -> tuple[Any, list[bool]]:  # fmt: skip
    """The plain Python function, and which of its arguments it ever reads."""
    # A Numba dispatcher stands for its Python function, which is compiled again, with the step.
    plain = function if isinstance(function, Torque) else getattr(function, "py_func", function)
    wanted = f"a {kind} is a Python function of ({', '.join(arguments)})"
    if not isinstance(plain, types.FunctionType):
        remedy = "write it as a function, with its numbers in p"
        if isinstance(function, Torque):
            remedy = "it is a torque already"
            if hasattr(function, "with_parameters"):
                remedy += ", whose with_parameters(...) gives it other numbers"
        elif kind == "torque" and callable(function):
            remedy += ", or take @torque(compiled=False), which calls anything"
        raise TypeError(f"{wanted}, unlike {checks.shown(function)}: {remedy}")
    code = plain.__code__
    unusual = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR | inspect.CO_COROUTINE
    if code.co_argcount != len(arguments) or code.co_kwonlyargcount or code.co_flags & unusual:
        one_more = hint if code.co_argcount == len(arguments) + 1 else ""
        raise TypeError(f"{wanted}, unlike {plain.__qualname__}{inspect.signature(plain)}{one_more}")
    return plain, arguments_read(code)


def arguments_read(code: types.CodeType) -> list[bool]:
    """Which of its arguments the code of a function ever reads."""
    read = set[str]()
    for i in dis.get_instructions(code):
        if "LOAD_FAST" in i.opname or i.opname in ("LOAD_CLOSURE", "LOAD_DEREF"):
            read.update(i.argval if isinstance(i.argval, tuple) else (i.argval,))  # newer Pythons load two at once
    return [name in read for name in code.co_varnames[: code.co_argcount]]
