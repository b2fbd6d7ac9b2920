"""Torques and methods as text for files, and stand-ins for those that no file can keep."""

import dataclasses
import inspect
import json
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

from polhode.body import Body
from polhode.kernels.algebra.vector_table import recorded
from polhode.kernels.types import Depends, UserTorque, Vec3
from polhode.methods import Keeps, Method
from polhode.methods import find as find_method
from polhode.torques import CustomTorque, SumTorque, Term, Torque, joined, shown_numbers
from polhode.torques import get as get_torque


@dataclass(frozen=True, eq=False, repr=False)
class TorqueFromFile(Torque):
    """Stands for a torque that is not one of polhode's models: a file keeps everything of it but its functions."""

    label: str
    values: tuple[float, ...]
    jumps: tuple[float, ...]
    direction: Vec3 | None
    constant_energy: bool
    depends: Depends = Depends.POSITION
    state_names: tuple[str, ...] = ()
    least_sizes: tuple[float, ...] = ()

    @property
    def state_sizes(self) -> tuple[float, ...]:
        """The sizes below which carried numbers count as zero."""
        return self.least_sizes

    @property
    def name(self) -> str:
        """The name of the lost function."""
        return self.label

    @property
    def torque_kernel(self) -> UserTorque:
        """Raises ValueError: the file does not keep the function."""
        raise ValueError(
            f"the file keeps the name and the numbers of the torque {self.label}, but not its function: give the "
            f"function, as load(path, torque={self.label}) or as resume(solution, t_end, torque={self.label})"
        )

    def __repr__(self) -> str:
        return f"<torque {describe_torque(self)} from a file, without its function>"

    def parameters(self, body: Body) -> Sequence[float]:
        """The numbers that the function reads from p."""
        return self.values

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """The times of the jumps."""
        return self.jumps

    @property
    def axis(self) -> Vec3 | None:
        """The axis of symmetry."""
        return self.direction

    @property
    def conserves_energy(self) -> bool:
        """Whether the torque conserves energy."""
        return self.constant_energy


def _numbers(torque: Torque, body: Body) -> dict[str, Any]:
    """The record of a torque without its functions."""
    numbers = {
        "parameters": [recorded(float(x)) for x in torque.kept_parameters(body)],
        "depends": torque.depends.value,
        "breakpoints": torque.breakpoints if torque.sample_kernel is None else (),  # samples follow from the period
        "axis": torque.axis,
        "conserves_energy": torque.conserves_energy,
    }
    return numbers | (
        {"state": dict(zip(torque.state_names, torque.state_sizes, strict=True))} if torque.state_names else {}
    )


def torque_record(torque: Torque, body: Body) -> str:
    """A torque as JSON: fields of a model, or parts of a sum, and what can be kept of any without functions."""
    record = _numbers(torque, body)
    if isinstance(torque, SumTorque):
        terms = [
            {
                "name": t.torque.name,
                "record": torque_record(t.torque, body),
                "scale": t.scale,
                "window": _ends(t.window),
            }
            for t in torque.terms
        ]
        return json.dumps(record | {"terms": terms})
    if get_torque(torque.name) is type(torque):
        fields = {f.name: getattr(torque, f.name) for f in dataclasses.fields(torque)}  # type: ignore[arg-type]
        if not any(map(inspect.isfunction, fields.values())):  # no file keeps a function
            return json.dumps(record | {"fields": fields}, default=_plain)
    return json.dumps(record)


def _plain(value: Any) -> Any:
    """An orbit, a field or an array, as they may be among the fields of a model, for JSON."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    return value.tolist()


def read_torque(name: str, record: str) -> Torque:
    """The torque of such a record: the model itself if there is one, a sum of models, else a stand-in."""
    kept = json.loads(record)
    terms = tuple(map(_term, kept.get("terms", ())))
    if terms and not any(isinstance(term.torque, TorqueFromFile) for term in terms):
        return SumTorque(terms)
    if "fields" in kept and (model := get_torque(name)):
        with suppress(TypeError, ValueError):  # the model may have changed since
            return model(**{k: _tuples(v) for k, v in kept["fields"].items()})
    return TorqueFromFile(
        name,
        tuple(kept["parameters"]),
        tuple(kept["breakpoints"]),
        _tuples(kept["axis"]),
        bool(kept["conserves_energy"]),
        Depends(kept["depends"]),
        tuple(kept.get("state", ())),
        tuple(kept.get("state", {}).values()),
    )


def _ends(window: tuple[float, float] | None) -> list[float | None] | None:
    """The ends of a window for JSON, which has no infinite numbers."""
    return None if window is None else [t if math.isfinite(t) else None for t in window]


def _term(kept: dict[str, Any]) -> Term:
    """A term of a sum; its torque may be a stand-in."""
    window = kept["window"]
    if window is not None:
        start, end = window
        window = (-math.inf if start is None else float(start), math.inf if end is None else float(end))
    scale = None if kept["scale"] is None else float(kept["scale"])
    return Term(read_torque(kept["name"], kept["record"]), scale, window)


def _tuples(value: Any) -> Any:
    """Lists as tuples: JSON has only lists, and frozen fields are tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def is_same_torque(old: Torque, new: Torque, body: Body) -> bool:
    """Tells whether both are one torque. The functions of one from a file are lost: only the rest of it is compared."""
    if isinstance(old, TorqueFromFile):
        if isinstance(new, SumTorque):
            return old.name == new.name and _numbers(old, body) == _numbers(new, body)
        return old.name == new.name and torque_record(old, body) == torque_record(new, body)
    return old is new or old == new


def describe_torque(torque: Torque) -> str:
    """The name and the numbers of a torque, for people to read."""
    if isinstance(torque, CustomTorque | TorqueFromFile):
        more = ["numbers of the body"] if isinstance(torque, CustomTorque) and torque.reads_body else []
        return f"{torque.name}({', '.join([*filter(None, [shown_numbers(torque.values)]), *more])})"
    if isinstance(torque, SumTorque):
        return joined(term.text(describe_torque(term.torque)) for term in torque.terms)
    return repr(torque)


@dataclass(frozen=True)
class SchemeFromFile:
    """Stands for the scheme of a method that is not one of polhode's."""

    name: str

    def bind(self, *torque: Any) -> NoReturn:
        """Raises ValueError: the file does not keep the scheme."""
        raise ValueError(
            f"the file keeps the name of the method {self.name}, which is not one of polhode's, but not how it steps: "
            "pass it to resume as method="
        )


def is_own(method: Method) -> bool:
    """Tells whether the method is the user's own, not one that can be found by its name."""
    with suppress(ValueError):
        return find_method(method.name) != method
    return True


def read_method(name: str, own: bool) -> Method:
    """The method of this name, or one that has no more than the name."""
    if not own:
        with suppress(ValueError):
            return find_method(name)
    anything = Depends.POSITION | Depends.TIME | Depends.RATE
    return Method(
        name, SchemeFromFile(name), "known by name only", "", 0, 0, anything, Keeps.NOTHING, Keeps.NOTHING
    )  # fmt: skip
