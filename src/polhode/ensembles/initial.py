"""The initial states of an ensemble: arguments of the user or samples, checked, for some bodies at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from polhode.body import TRIANGLE_TOLERANCE, Body, ChangingBody
from polhode.files.records import TorqueFromFile
from polhode.problem import Problem, checked_state
from polhode.samples import BLOCK, Draws, is_drawn
from polhode.support import checks
from polhode.support.arrays import Floats, columns, greatest, least, row_products
from polhode.torques import CustomTorque, SumTorque, Torque, checked
from polhode.torques.no_torque import Free
from polhode.torques.table import Table, with_common_breakpoints

T = TypeVar("T")

MOST_LISTED = 10
"""More breakpoints than this are not listed in a message."""
PART = 64 * BLOCK
"""The number of bodies that are drawn and surveyed together before a run."""


# --- bodies --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bodies:
    """Bodies in a list, or an array of principal moments from which each `Body` is made when it is asked for."""

    listed: tuple[Body, ...]
    moments: Floats
    given_rotors: Floats | None = None
    """Rotors apart from the bodies, one for all or a row for each; None: the bodies have theirs, if any."""
    t_start: float = 0.0
    """The time of the start, at which bodies that change have the rates that are given."""

    def __post_init__(self) -> None:
        if len({b.elements_that_change for b in self.listed}) > 1:  # one program for all
            listed = tuple(b.with_all_elements() for b in self.listed if isinstance(b, ChangingBody))
            object.__setattr__(self, "listed", listed)

    @property
    def changes(self) -> bool:
        """Whether the bodies change with time."""
        return any(b.changes for b in self.listed)

    @property
    def count(self) -> int:
        """The number of bodies; a single one stands for all bodies of the ensemble."""
        return len(self.moments)

    def __getitem__(self, k: int) -> Body:
        place = k if self.count > 1 else 0
        body = self.listed[place] if self.listed else Body(self.moments[place])
        if self.given_rotors is None:
            return body
        return body.with_rotor(self.given_rotors[k if len(self.given_rotors) > 1 else 0])

    def some(self, which: Any) -> Bodies:
        """The bodies with these numbers, counted from the first one here."""
        rotors = (
            self.given_rotors if self.given_rotors is None or len(self.given_rotors) == 1 else self.given_rotors[which]
        )
        if self.count == 1:
            return replace(self, given_rotors=rotors)
        return replace(self, listed=_items(self.listed, which), moments=self.moments[which], given_rotors=rotors)

    @cached_property
    def axes(self) -> Floats | None:
        """The rotations from principal axes to the users' as quaternions; None if no body is tilted."""
        if all(b.aligned for b in self.listed):
            return None
        return np.array([b.axes_quaternion for b in self.listed])

    @property
    def frames(self) -> Floats:
        """The principal axes as columns of matrices, one for each body; a single matrix if no body is tilted."""
        return np.eye(3) if self.axes is None else np.array([b.axes for b in self.listed])

    @cached_property
    def rotors(self) -> Floats | None:
        """The internal angular momenta (bodies, 3), in the users' axes; None if no body has a rotor."""
        if self.given_rotors is not None:
            return self.given_rotors
        if not any(b.has_rotor for b in self.listed):
            return None
        return np.array([b.rotor for b in self.listed])

    @cached_property
    def principal_rotors(self) -> Floats | None:
        """The same in principal axes."""
        if self.given_rotors is None:
            return None if self.rotors is None else np.array([b.principal_rotor for b in self.listed])
        if self.axes is None:
            return self.given_rotors
        return np.asarray((self.given_rotors[:, None, :] @ self.frames)[:, 0])

    def own_momentum(self, momentum: Floats) -> Floats:
        """Momenta (bodies, times, 3) without those of rotors."""
        return momentum if self.rotors is None else momentum - self.rotors[:, None, :]

    def rates(self, momentum: Floats, t: Any = None) -> Floats:
        """The rates (bodies, times, 3) of such momenta, in the users' axes; without times at the start."""
        momentum = self.own_momentum(momentum)
        if self.changes:
            when = [self.t_start] if t is None else t
            tensors = np.array([b.at_times(when) for b in self.listed])
            return np.asarray(np.linalg.solve(tensors, momentum[..., None])[..., 0])
        if self.axes is None:
            rates: Floats = momentum / self.moments[:, None, :]
            return rates
        axes = np.array([b.axes for b in self.listed])[:, None]  # as in `Body.rate`, to the bit
        principal = row_products(momentum, axes) / self.moments[:, None, :]
        return row_products(principal, np.swapaxes(axes, 2, 3))

    def momentum(self, rates: Floats, n: int) -> Floats:
        """The angular momentum I w of every body at the start, with that of its rotor."""
        if self.changes:
            momentum = (np.array([b.at_times(self.t_start) for b in self.listed]) @ rates[..., None])[..., 0]
        elif all(b.aligned for b in self.listed):
            momentum = rates * self.moments
        else:
            momentum = row_products(rates, self.tensors)  # as in `Body.momentum`, to the bit
        return np.broadcast_to(momentum if self.rotors is None else momentum + self.rotors, (n, 3))

    def parameter_rows(self, torque: Torque) -> Floats:
        """The parameters of a torque on each body, one row for all or a row for each."""
        if self.changes:
            return np.array([list(torque.parameters(b)) for b in self.listed]).reshape(len(self.listed), -1)
        return torque.parameter_rows(self.tensors, self.rotors)

    @property
    def tensors(self) -> Floats:
        """The inertia tensors in the users' axes, (bodies, 3, 3)."""
        if self.listed:
            return np.array([b.tensor for b in self.listed])
        return self.moments[:, :, None] * np.eye(3)


def _items(listed: tuple[T, ...], which: Any) -> tuple[T, ...]:
    """The items at some places, or none if there are none."""
    return listed[which] if isinstance(which, slice) else tuple(listed[k] for k in which) if listed else ()


def _bodies(body: Any) -> Bodies:
    if isinstance(body, Body):
        return Bodies((body,), body.moments[None, :])
    if isinstance(body, str):
        raise TypeError(f"body must be a Body, not {body!r}: write Body.named({body!r})")
    if hasattr(body, "__len__") and len(body) == 0:
        raise ValueError(f"{_KINDS_OF_BODY}: there is no body in {body!r}")
    if isinstance(body, Sequence) and all(isinstance(b, Body) for b in body):
        if any(b.changes for b in body) and any(b.breakpoints != body[0].breakpoints or not b.changes for b in body):
            raise ValueError("bodies that change run together if their tensors jump or bend at the same times")
        return Bodies(tuple(body), np.array([b.moments for b in body]))
    if isinstance(body, Sequence) and any(isinstance(b, Body) for b in body):
        raise TypeError("body must be a list of nothing but Bodies, or an array of principal moments")
    if checks.shape_of("body", body) == (3,):
        raise ValueError(_KINDS_OF_BODY)
    return _bodies_of_rows(_moments("body", body))


def _bodies_of_rows(rows: Floats) -> Bodies:
    """The bodies with these principal moments, (bodies, 3), or tensors, (bodies, 3, 3)."""
    if rows.ndim == 2:
        return Bodies((), rows)
    listed = list[Body]()
    for k, row in enumerate(rows):
        try:
            listed.append(Body(row))
        except ValueError as problem:
            raise ValueError(f"row {k} of body: {problem}") from None
    return Bodies(tuple(listed), np.array([b.moments for b in listed]))


_KINDS_OF_BODY = (
    "body must be a Body, a list of them, or an array of positive principal moments, or of tensors, with a row for each"
)


def _moments(name: str, rows: Any) -> Floats:
    """Checks principal moments, or tensors, and returns them with a row for each body."""
    if len(shape := checks.shape_of(name, rows)) == 3:
        return checks.array(name, rows, (shape[0], 3, 3))
    moments = _rows_of_three(name, rows)
    smallest, largest = least(columns(moments)), greatest(columns(moments))
    if not (smallest > 0).all():
        bad = int(np.argmax(smallest <= 0))
        raise ValueError(f"{_KINDS_OF_BODY}, but {moments[bad].tolist()} stand in row {bad}")
    for extreme in (smallest.argmin(), largest.argmax()):
        Body(moments[extreme], allow_unphysical=True)  # which may be too small or too large a number
    a, b, c = columns(moments)
    ends = 2 * largest > (a + b + c) * (1 + TRIANGLE_TOLERANCE)
    if ends.any():
        bad = int(np.argmax(ends))
        raise ValueError(
            f"no body has the moments {moments[bad].tolist()} of row {bad}: the greatest exceeds the sum of the "
            "other two. If this is intended, give a list of Body(..., allow_unphysical=True)"
        )
    return moments


# --- torques -------------------------------------------------------------------------------------------------------


def _torques(torque: Any) -> tuple[Torque, ...]:
    listed = (
        torque
        if isinstance(torque, Sequence) and not isinstance(torque, str)
        else (Free() if torque is None else torque,)
    )
    given = tuple(map(checked, listed))
    if not given:
        raise ValueError("torque must be a torque or a list of them, not an empty list")
    differ = any(torque.torque_kernel is not given[0].torque_kernel for torque in given[1:])
    if differ and any(torque.upright for torque in given):
        given = tuple(torque.for_any_direction() for torque in given)
    tables = [torque for torque in given if isinstance(torque, Table)]
    if len(tables) == len(given):
        given = with_common_breakpoints(tables)
    first = given[0]
    for k, other in enumerate(given):
        if other is first:
            continue
        same = type(other) is type(first) and other.depends == first.depends
        same = same and other.torque_kernel is first.torque_kernel
        if not same:
            raise ValueError(
                f"the torques of an ensemble are of one kind and differ in their parameters, but torque[0] is "
                f"{first.name} and torque[{k}] is {other.name}: run an ensemble for each kind"
            )
        _check_jumps(given, k)
        if isinstance(first, CustomTorque) and isinstance(other, CustomTorque):
            numbers = (len(first.values), len(other.values))
            if numbers[0] != numbers[1]:
                raise ValueError(
                    f"the torques of an ensemble have equally many parameters, but torque[0] has {numbers[0]} and "
                    f"torque[{k}] has {numbers[1]}: fill up the shorter ones"
                )
    return given


def _check_jumps(torques: tuple[Torque, ...], k: int) -> None:
    """Raises ValueError unless torque k jumps at the times at which the first one does."""
    first, other = torques[0].breakpoints, torques[k].breakpoints
    if other != first:
        raise ValueError(
            f"the torques of an ensemble jump at the same times, but torque[0] does at {_few(first)} "
            f"and torque[{k}] at {_few(other)}: run an ensemble for each"
        )


def _few(times: tuple[float, ...]) -> str:
    """Writes times for a message; of many, their number."""
    return str(list(times)) if len(times) <= MOST_LISTED else f"{len(times)} times, from {times[0]:g} to {times[-1]:g}"


# --- rows ----------------------------------------------------------------------------------------------------------


def _stack(name: str, value: Any, width: int) -> Floats:
    """Rows of `width` numbers; a single row may come as a plain list."""
    shape = checks.shape_of(name, value)
    if shape == (width,):
        return checks.array(name, value, (width,))[None, :]
    if len(shape) != 2 or shape[1] != width or shape[0] == 0:
        raise ValueError(f"{name} must have the shape ({width},) or (bodies, {width}), not {shape}")
    return checks.array(name, value, (shape[0], width))


def _rows_of_three(name: str, value: Any) -> Floats:
    return _stack(name, value, 3)


def _parameters(name: str, value: Any) -> Floats:
    shape = checks.shape_of(name, value)
    if len(shape) == 1:
        return checks.array(name, value, shape)[None, :]
    if len(shape) != 2 or 0 in shape:
        raise ValueError(f"{name} must have the shape (numbers,) or (bodies, numbers), not {shape}")
    return checks.array(name, value, shape)


def read_states(name: str, value: Any, *, torque: Torque) -> Floats | None:
    """Checks the numbers that a torque carries at the start, and returns them with a row for each body.

    None stands for numbers that the torque knows itself, from the rates.
    """
    if value is None and not torque.state_names:
        return np.empty((1, 0))
    if value is None and torque.state_at_start(AT_REST) is not None:
        return None
    if value is None or not torque.state_names or isinstance(value, Mapping):
        return checked_state(torque, value, AT_REST)[None, :]
    count = len(torque.state_names)
    if checks.shape_of(name, value) in ((), (count,)):
        return checked_state(torque, value, AT_REST)[None, :]
    return _stack(name, value, count)


AT_REST: Floats = np.zeros(3)
"""The rate for which it is asked whether a torque knows the numbers that it carries."""

READERS = {
    "body": _moments, "omega": _rows_of_three, "attitude": checks.quaternions, "parameters": _parameters,
    "rotor": _rows_of_three,
}  # fmt: skip
"""The functions that check given or drawn rows, by the name of the argument."""


OPTIONAL = ("parameters", "rotor")
"""Arguments that may be left out, and say nothing then."""


def _count(**rows: int | None) -> int:
    """The number of bodies, from each argument with more than one row; None marks an argument that is drawn."""
    many = {name: n for name, n in rows.items() if n is not None and n > 1}
    if len(set(many.values())) > 1:
        listed = ", ".join(f"{name} for {n}" for name, n in many.items())
        raise ValueError(f"the rows do not agree on the number of bodies: there is {listed}")
    return next(iter(many.values()), 1)


# --- initial states ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Start:
    """The initial states of some bodies, in the users' axes. An array with a single row holds for all of them."""

    bodies: Bodies
    torques: tuple[Torque, ...]
    rates: Floats
    quaternions: Floats
    custom_parameters: Floats | None
    """The parameters of a user's torque function, with a row for each body; None: the torques have their own."""
    count: int
    first: int = 0
    """The number that the first of these bodies has in the whole ensemble."""
    summand: str | None = None
    """The part of a sum of torques whose parameters these are; None: the torque is no sum."""
    carried: Floats | None = field(default_factory=lambda: np.empty((1, 0)))
    """The numbers that the torque carries, at the start; None: the torque knows them from the rates."""
    place: int = 0
    """Where these parameters begin among the numbers of a torque from a file, which keeps no functions."""

    @cached_property
    def state(self) -> Floats:
        """The numbers that the torque carries, (bodies, numbers)."""
        if self.carried is not None:
            return np.broadcast_to(self.carried, (self.count, self.carried.shape[1]))
        if len(self.torques) == 1:
            rows = checked_state(self.torques[0], None, self.rates)
            return np.broadcast_to(rows, (self.count, rows.shape[1]))
        rates = np.broadcast_to(self.rates, (self.count, 3))
        return np.array([checked_state(torque, None, w) for torque, w in zip(self.torques, rates, strict=True)])

    @cached_property
    def momentum(self) -> Floats:
        """The angular momenta in body axes, (bodies, 3)."""
        return np.ascontiguousarray(self.bodies.momentum(self.rates, self.count))

    @cached_property
    def quaternion(self) -> Floats:
        """The attitudes, (bodies, 4)."""
        return np.ascontiguousarray(np.broadcast_to(self.quaternions, (self.count, 4)))

    @property
    def moments(self) -> Floats:
        """The principal moments, (bodies, 3)."""
        return np.broadcast_to(self.bodies.moments, (self.count, 3))

    def __getstate__(self) -> dict[str, Any]:
        """Leaves out the parameters, among which there may be handles of tables: they are valid in one process."""
        return {name: value for name, value in self.__dict__.items() if name != "parameters"}

    def torque(self, k: int) -> Torque:
        """The torque on one body."""
        given = self.torques[k if len(self.torques) > 1 else 0]
        if self.custom_parameters is None:
            return given
        row = self.custom_parameters[k if len(self.custom_parameters) > 1 else 0]
        if isinstance(given, TorqueFromFile):
            values, beyond = given.values, self.place + row.size
            return replace(given, values=(*values[: self.place], *row.tolist(), *values[beyond:]))
        if isinstance(given, SumTorque):
            assert self.summand is not None
            return given.with_parameters(self.summand, row)
        assert isinstance(given, CustomTorque)
        return given.with_parameters(row)

    @cached_property
    def parameters(self) -> Floats:
        """The parameters p of the torque, (bodies, numbers)."""
        tensors, rotors = self.bodies.tensors, self.bodies.rotors
        if self.custom_parameters is not None:
            if isinstance(only := self.torques[0], SumTorque):
                assert self.summand is not None
                others = self.bodies.parameter_rows(only)
                rows_of_all = np.array(np.broadcast_to(others, (self.count, others.shape[1])))
                own = only.terms[list(only.parts).index(self.summand)].torque
                assert isinstance(own, CustomTorque)
                rows_of_all[:, only.place_of(self.summand)] = own.with_handles(self.custom_parameters)
                return rows_of_all
            assert isinstance(only, CustomTorque)
            given = only.with_handles(self.custom_parameters) if only.tables else self.custom_parameters
            given = only.rows_with(given, tensors, rotors)
            return np.broadcast_to(given, (self.count, given.shape[1]))
        if len(self.torques) == 1:
            shared = self.bodies.parameter_rows(self.torques[0])
            return np.broadcast_to(shared, (self.count, shared.shape[1]))
        if not any(t.reads_body for t in self.torques):
            body = self.bodies[0]
            rows = [list(t.parameters(body)) for t in self.torques]
        else:
            places = range(len(self.torques))
            of_each = [None if rotors is None else rotors[k % len(rotors) :][:1] for k in places]
            rows = [
                list(t.parameters(self.bodies[k]))
                if self.bodies.changes
                else t.parameter_rows(tensors[k % len(tensors) :][:1], of_each[k])[0].tolist()
                for k, t in enumerate(self.torques)
            ]
        for k, row in enumerate(rows):
            if len(row) != len(rows[0]):
                raise ValueError(
                    f"the torques of an ensemble have equally many parameters, but torque[0] has {len(rows[0])} and "
                    f"torque[{k}] has {len(row)}"
                )
        return checks.array("parameters", rows, (self.count, len(rows[0])))

    def problem(self, k: int, like: Problem) -> Problem:
        """The problem of one body, with span and output of another."""
        return like.replace(
            body=self.bodies[k], torque=self.torque(k),
            quaternion_start=self.quaternion[k], momentum_start=self.momentum[k], state_start=self.state[k],
            omega_given=self.rates[k if len(self.rates) > 1 else 0],
        )  # fmt: skip

    def some(self, which: Any) -> Start:
        """The initial states of the bodies at these places, counted from the first one here."""

        def those(rows: Any) -> Any:
            return rows if rows is None or len(rows) == 1 else rows[which]

        torques = self.torques if len(self.torques) == 1 else _items(self.torques, which)
        parameters = None if self.custom_parameters is None else those(self.custom_parameters)
        return Start(
            self.bodies.some(which), torques, those(self.rates), those(self.quaternions), parameters, len(which),
            self.first, self.summand, those(self.carried), self.place,
        )  # fmt: skip


@dataclass(frozen=True)
class Starts:
    """The initial states of all bodies of an ensemble; samples are drawn again for each part of the bodies."""

    bodies: Bodies | Draws
    torques: tuple[Torque, ...]
    rates: Floats | Draws
    quaternions: Floats | Draws
    custom_parameters: Floats | Draws | None
    count: int
    seed: int | None
    summand: str | None = None
    """The part of a sum of torques whose parameters these are; None: the torque is no sum."""
    carried: Floats | Draws | None = field(default_factory=lambda: np.empty((1, 0)))
    """The numbers that the torque carries, at the start; None: the torque knows them from the rates."""
    rotors: Floats | Draws | None = None
    """Rotors that are given apart from the bodies; None: the bodies have theirs, if any."""

    @classmethod
    def given(
        cls, body: Any, torque: Any, omega: Any, attitude: Any, parameters: Any, count: int | None, seed: Any,
        state: Any = None, rotor: Any = None,
    ) -> Starts:  # fmt: skip
        """Checks the arguments of `ensemble`, and returns what they say about the initial states."""
        part, rows_of_part = _part_and_rows(parameters)
        torques = _torques(torque)
        given = {
            "body": body, "omega": omega, "attitude": attitude, "parameters": rows_of_part, "state": state,
            "rotor": rotor,
        }  # fmt: skip
        drawn = [name for name, value in given.items() if is_drawn(value)]
        for name, value in given.items():
            if isinstance(value, type):
                raise TypeError(f"{name} must not be a class: write {value.__name__}(...)")
        wanted = None if count is None else checks.count("count", count, " of bodies")
        if drawn and seed is None:
            raise ValueError(
                f"{' and '.join(drawn)} {'is' if len(drawn) == 1 else 'are'} drawn: give seed=, a whole number, "
                "by which the same can be drawn again"
            )
        if not drawn and seed is not None:
            raise ValueError("seed is given, but nothing is drawn: give a distribution of polhode.samples")
        sown = None if seed is None else _seed(seed)
        parts: dict[str, Any] = {}
        for name, value in given.items():
            if name in drawn:
                assert sown is not None
                reader: Any = partial(read_states, torque=torques[0]) if name == "state" else READERS[name]
                parts[name] = Draws(name, value, sown, reader)
            elif name == "body":
                parts[name] = _bodies(value)
            elif name == "state":
                # By name, each torque may know the rest of its own numbers.
                differ = isinstance(value, Mapping) and len({one.known_state for one in torques}) > 1
                parts[name] = (
                    np.concatenate([checked_state(one, value, AT_REST)[None, :] for one in torques])
                    if differ
                    else read_states(name, value, torque=torques[0])
                )
            else:
                parts[name] = None if name in OPTIONAL and value is None else READERS[name](name, value)
        rows: dict[str, int | None] = {
            "body": None if "body" in drawn else parts["body"].count,
            "torque": len(torques),
            **{
                n: None if n in drawn or parts[n] is None else len(parts[n])
                for n in ("omega", "attitude", "parameters", "state", "rotor")
            },
        }
        n = _count(**rows, count=wanted)
        if drawn and wanted is None and n == 1 and all(rows[name] in (1, None) for name in rows):
            raise ValueError(f"{' and '.join(drawn)} can be drawn for any number of bodies: give count=")
        if wanted == 1 and n > 1:
            raise ValueError(f"count is 1, but there are rows for {n} bodies")
        if parts["parameters"] is not None:
            _check_custom_parameters(torques, part, parts["parameters"])
        if rotor is not None and isinstance(parts["body"], Bodies) and parts["body"].rotors is not None:
            raise ValueError("rotor is given, but a Body has one of its own: give the rotors in one of the two places")
        return cls(
            parts["body"], torques, parts["omega"], parts["attitude"], parts["parameters"], n, sown, part,
            parts["state"], parts["rotor"],
        )  # fmt: skip

    def beginning_at(self, t: float) -> Starts:
        """The same for a run that begins at a time, as bodies that change have to know."""
        if isinstance(self.bodies, Draws) or not self.bodies.changes:
            return self
        return replace(self, bodies=replace(self.bodies, t_start=t))

    def for_span(self, t0: float, t1: float) -> Starts:
        """The same with torques for a run between two times."""
        torques = tuple(torque.for_span(t0, t1) for torque in self.torques)
        if all(new is old for new, old in zip(torques, self.torques, strict=True)):
            return self
        for k in range(1, len(torques)):
            _check_jumps(torques, k)
        return replace(self, torques=torques)

    def part(self, first: int, beyond: int) -> Start:
        """The initial states of the bodies from number `first` up to, but not including, `beyond`."""
        return self._start(slice(first, beyond), lambda drawn: drawn.rows(first, beyond), beyond - first, first)

    def some(self, numbers: Any) -> Start:
        """The initial states of the bodies with these numbers."""
        each = lambda drawn: np.concatenate([drawn.rows(k, k + 1) for k in numbers])  # noqa: E731
        return self._start(numbers, each, len(numbers))

    def _start(self, which: Any, draw: Callable[[Draws], Floats], count: int, first: int = 0) -> Start:
        """The initial states of some bodies; those that are drawn come from `draw`."""

        def rows(given: Any) -> Any:
            if isinstance(given, Draws):
                return draw(given)
            return given if given is None or len(given) == 1 else given[which]

        bodies = _bodies_of_rows(rows(self.bodies)) if isinstance(self.bodies, Draws) else self.bodies.some(which)
        if self.rotors is not None:
            bodies = replace(bodies, given_rotors=rows(self.rotors))
        torques = self.torques if len(self.torques) == 1 else _items(self.torques, which)
        parameters = rows(self.custom_parameters)
        if isinstance(self.custom_parameters, Draws):
            _check_width(_owner(self.torques[0], self.summand), parameters, fixed=self.summand is not None)
        return Start(
            bodies, torques, rows(self.rates), rows(self.quaternions), parameters, count, first, self.summand,
            rows(self.carried),
        )  # fmt: skip

    @cached_property
    def whole(self) -> Start:
        """The initial states of all bodies, made once."""
        return self.part(0, self.count)

    def parts(self, size: int = PART) -> Iterator[Start]:
        """Yields the initial states of all bodies, `size` bodies at a time."""
        if self.count <= size:
            return iter((self.whole,))
        return (self.part(first, min(self.count, first + size)) for first in range(0, self.count, size))


def _seed(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed must be a whole number from 0 on, not {seed!r}")
    return int(seed)


def _part_and_rows(parameters: Any) -> tuple[str | None, Any]:
    """The name of a part and its parameters, if they are given as {name: rows}."""
    if not isinstance(parameters, Mapping):
        return None, parameters
    if len(parameters) != 1 or not isinstance(name := next(iter(parameters)), str):
        raise ValueError(
            f"parameters of a sum are those of one part, as {{'name': rows}}, not of {len(parameters)}: "
            "for more, give a list of torques"
        )
    return name, parameters[name]


def _owner(torque: Torque, part: str | None) -> CustomTorque:
    """The function of the user's whose parameters are given; raises an error if there is none."""
    if part is not None:
        if part not in torque.parts:
            raise ValueError(f"parameters are given for the part {part!r}, but the parts are {', '.join(torque.parts)}")
        owner: Torque = torque
        if isinstance(torque, SumTorque):
            owner = torque.terms[list(torque.parts).index(part)].torque
        if isinstance(owner, CustomTorque):
            return owner
    elif isinstance(torque, CustomTorque):
        return torque
    elif isinstance(torque, SumTorque):
        raise ValueError(f"parameters are for one part of {torque.name}: name it, as parameters={{'name': rows}}")
    raise ValueError(
        f"parameters are for a torque of your own, whose p they are, not for {part or torque.name}: "
        f"give a list of {torque.name}(...), one for each body"
    )


def _check_custom_parameters(torques: tuple[Torque, ...], part: str | None, rows: Floats | Draws) -> None:
    """Refuses rows of parameters for a torque model, whose parameters come from its fields."""
    if len(torques) > 1:
        raise ValueError("parameters are for one torque, but torque is a list: its torques have theirs")
    owner = _owner(torques[0], part)
    if not isinstance(rows, Draws):
        _check_width(owner, rows, fixed=part is not None)


def _check_width(torque: CustomTorque, rows: Floats, *, fixed: bool) -> None:
    """Refuses rows of another length than the torque has parameters; one without any takes any, but not in a sum."""
    declared = len(torque.values)
    if (declared or fixed or torque.reads_body) and rows.shape[1] != declared:
        raise ValueError(f"{torque.name} has {declared} parameters, but a row of parameters has {rows.shape[1]}")
