"""What files keep of an ensemble besides its motions: initial states, torques and plans, as arrays and text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from polhode.body import Body
from polhode.ensembles.initial import Bodies, Start
from polhode.files.netcdf import Contents
from polhode.files.records import (
    TorqueFromFile,
    describe_torque,
    is_own,
    is_same_torque,
    read_method,
    read_torque,
    torque_record,
)
from polhode.problem import Plan
from polhode.support import checks
from polhode.support.arrays import Floats
from polhode.torques import CustomTorque, SumTorque, Torque, checked

FORMAT, FORMAT_VERSION = "polhode ensemble", 1
"""The name and the version of the format of files that hold an ensemble."""

Entry = tuple[tuple[str, ...], Any, dict[str, str]]
"""Dimensions, values and attributes of an array in a file."""


# --- writing -------------------------------------------------------------------------------------------------------


def start_arrays(start: Start) -> dict[str, Entry]:
    """The inertia tensors, the rotors, the parameters and the states at the start, for every body."""
    vectors, at_start = ("body", "component"), "at the start"
    found: dict[str, Entry] = {
        "inertia": (
            (*vectors, "other_component"), start.bodies.tensors,
            {"long_name": "inertia tensor in body axes", "units": "kg m2"},
        ),
        "quaternion_start": (
            ("body", "quaternion_component"), start.quaternions,
            {"long_name": f"attitude {at_start}, from body to space axes", "units": "1"},
        ),
        "omega_start": (
            vectors, start.rates, {"long_name": f"angular velocity {at_start}, in body axes", "units": "rad s-1"},
        ),
    }  # fmt: skip
    if start.bodies.rotors is not None:
        about = {"long_name": "internal angular momentum of the rotor, body axes", "units": "kg m2 s-1"}
        found["rotor"] = (vectors, start.bodies.rotors, about)
    if start.custom_parameters is not None:
        part = f", of {start.summand}" if start.summand else ""
        about = {"long_name": f"parameters of the torque function{part}"}
        found["parameters"] = (("body", "parameter"), start.custom_parameters, about)
    if (carried := _carried(start)).shape[1]:
        about = {"long_name": f"numbers that the torque carries, {at_start}"}
        found["state_start"] = (("body", "state_name"), carried, about)
    return {
        name: (dims, np.broadcast_to(data, (start.count, *data.shape[1:])), about)
        for name, (dims, data, about) in found.items()
    }


def _carried(start: Start) -> Floats:
    """The numbers that the torque carries at the start, in one row for all bodies or a row for each."""
    return start.state if start.carried is None else start.carried


def start_attributes(start: Start) -> dict[str, Any]:
    """What else is known of the start: torques, names of bodies, and which arrays hold one row for all."""
    given = {
        "inertia": start.bodies.moments, "quaternion_start": start.quaternions, "omega_start": start.rates,
        "rotor": start.bodies.rotors, "parameters": start.custom_parameters, "state_start": _carried(start),
    }  # fmt: skip
    single = [name for name, rows in given.items() if rows is not None and len(rows) == 1]
    bodies = start.bodies
    torques = [[t.name, torque_record(t, bodies[k])] for k, t in enumerate(start.torques)]
    about = {
        "one_row_for_all": " ".join(single),
        "torque_records": json.dumps(torques),
        "bodies_are_listed": int(bool(bodies.listed)),
    }
    for k, body in enumerate(bodies.listed):
        about |= {f"{name}_{k}": numbers for name, numbers in body.pieces.items()}
    if any(body.name for body in bodies.listed):
        about["body_names"] = json.dumps([body.name for body in bodies.listed])
    if start.custom_parameters is not None:
        about["parameters_place"] = _place(start)
        if start.summand is not None:
            about["parameters_part"] = start.summand
    return about


def _place(start: Start) -> int:
    """Where the parameters of a function begin among all that the record of the torque has."""
    torque = start.torques[0]
    if isinstance(torque, TorqueFromFile):
        return start.place
    if isinstance(torque, SumTorque):
        assert start.summand is not None
        return int(torque.place_of(start.summand).start)
    return torque.head_size if isinstance(torque, CustomTorque) else 0


def is_kept(torque: Torque, body: Body) -> bool:
    """Tells whether a file keeps the whole torque; of a function of the user's it keeps the name and the numbers."""
    return not isinstance(read_torque(torque.name, torque_record(torque, body)), TorqueFromFile)


def plan_record(plan: Plan) -> dict[str, Any]:
    """A plan for JSON."""
    return {
        "method": plan.method.name, "own": is_own(plan.method), "step": plan.step, "longest_step": plan.longest_step,
        "torque_size": plan.torque_size, "first_stop": plan.first_stop, "at_knots": plan.at_knots,
        "in_pieces": plan.in_pieces,
    }  # fmt: skip


# --- reading -------------------------------------------------------------------------------------------------------


def read_plan(record: dict[str, Any]) -> Plan:
    """The plan of such a record."""

    def number(name: str) -> float | None:
        return None if record[name] is None else float(record[name])

    pieces = record["in_pieces"]
    return Plan(
        read_method(str(record["method"]), bool(record["own"])), float(record["step"]), number("longest_step"),
        number("torque_size"), number("first_stop"), bool(record["at_knots"]),
        None if pieces is None else (float(pieces[0]), float(pieces[1])),
    )  # fmt: skip


def read_start(contents: Contents, count: int, t_span: tuple[float, float]) -> Start:
    """The initial states of all bodies, as a file has them."""
    a: dict[str, Any] = contents.attributes
    single = str(a["one_row_for_all"]).split()

    def rows(name: str, *shape: int) -> Floats:
        data = array_of(contents, name, (count, *shape))
        return np.array(data[:1] if name in single else data)

    torques = tuple(
        read_torque(name, record).for_span(*t_span) for name, record in json.loads(str(a["torque_records"]))
    )
    if len(torques) not in (1, count):
        raise ValueError(f"there are {len(torques)} torques for {count} bodies")
    parameters, part, place = None, str(a["parameters_part"]) if "parameters_part" in a else None, 0
    if "parameters" in contents.variables:
        width = int(contents.variables["parameters"].data.shape[-1])
        parameters, place = rows("parameters", width), int(a["parameters_place"])
    names = torques[0].state_names
    if any(torque.state_names != names for torque in torques):
        raise ValueError("the torques carry different numbers")
    carried = rows("state_start", len(names)) if names else np.empty((1, 0))
    bodies = _read_bodies(rows("inertia", 3, 3), a)
    if "rotor" in contents.variables:
        bodies = replace(bodies, given_rotors=rows("rotor", 3))
    return Start(
        bodies, torques, rows("omega_start", 3), rows("quaternion_start", 4), parameters, count, summand=part,
        carried=carried, place=place,
    )  # fmt: skip


def array_of(contents: Contents, name: str, shape: tuple[int, ...]) -> Floats:
    """An array of a file, which must have this shape."""
    data: Floats = contents.variables[name].data
    if data.dtype != np.float64 or data.shape != shape:
        raise ValueError(f"{name} has the shape {data.shape} and the type {data.dtype}")
    return data


def whole_numbers(contents: Contents, name: str, count: int) -> Any:
    """An array with a whole number for each body."""
    data = array_of(contents, name, (count,))
    numbers = data.astype(np.int64)
    if not (numbers == data).all():
        raise ValueError(f"{name} has numbers that are not whole")
    return numbers


def _read_bodies(tensors: Floats, a: dict[str, Any]) -> Bodies:
    if not np.isfinite(tensors).all():
        raise ValueError("an inertia tensor is not finite")
    if not int(a["bodies_are_listed"]):
        return Bodies((), np.array(np.diagonal(tensors, axis1=1, axis2=2)))
    names = json.loads(str(a["body_names"])) if "body_names" in a else [None] * len(tensors)
    own = [{name.rpartition("_")[0]: a[name] for name in a if name.endswith(f"_{k}")} for k in range(len(names))]
    given = zip(tensors, own, names, strict=True)
    listed = tuple(Body.of_record(i.reshape(-1), pieces, name=n, rotor=None) for i, pieces, n in given)
    return Bodies(listed, np.array([body.moments for body in listed]), t_start=float(a["t_start"]))


def with_functions(start: Start, given: Torque, t_span: tuple[float, float]) -> Start:
    """The start with the torque of the user's, of which the file keeps no function.

    Raises ValueError if it is not the torque by which the file was made.
    """
    acting = checked(given)
    torques: list[Torque] = []
    for k, old in enumerate(start.torques):
        new = acting
        if len(start.torques) > 1 and isinstance(acting, CustomTorque) and isinstance(old, TorqueFromFile):
            new = acting.with_parameters(old.values[acting.head_size :])
        if not is_same_torque(old, new, start.bodies[k]):
            raise ValueError(
                f"the file was made with the torque {describe_torque(old)}, which is not {describe_torque(new)}: give "
                "the function by which it was made, with the same parameters, breakpoints and dependence"
            )
        torques.append(new.for_span(*t_span))
    return replace(start, torques=tuple(torques))


# --- drawn numbers of torques, for tables --------------------------------------------------------------------------


def varied_fields(torques: Sequence[Torque]) -> dict[str, Floats]:
    """The fields in which the torques of bodies differ, as arrays with a row for each body."""
    first = torques[0]
    if len(torques) == 1:
        return {}
    if isinstance(first, CustomTorque | TorqueFromFile):
        return {"parameters": np.array([t.values for t in torques])}  # type: ignore[attr-defined]
    found: dict[str, Floats] = {}
    for field in fields(first) if not isinstance(first, SumTorque) else ():  # type: ignore[arg-type]
        values = [getattr(torque, field.name) for torque in torques]
        try:
            rows = checks.floats(field.name, values, "hold numbers")
        except (TypeError, ValueError):  # a field that is no number, such as an orbit
            continue
        if rows.ndim <= 2 and not (rows == rows[:1]).all():
            found[field.name] = rows
    return found
