"""The manifest of a plan: what is asked, and what is decided once for all parts, as JSON with a digest of itself."""

from __future__ import annotations

import hashlib
import json
import platform
import types
from dataclasses import dataclass, fields
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from polhode import __version__
from polhode.accuracy.choice import Candidate
from polhode.accuracy.estimate import Factors
from polhode.api.ensemble import EnsembleRequest
from polhode.compiler import named
from polhode.compiler.digest import captured, code_text, plain
from polhode.ensembles.batch import Survey
from polhode.ensembles.growth import Companion, Growth
from polhode.ensembles.initial import Bodies
from polhode.ensembles.levels import Foresight
from polhode.ensembles.pilots import PilotResult
from polhode.ensembles.record import plan_record
from polhode.ensembles.reduce import Quantity, ReductionStep
from polhode.files.records import is_own, read_method, torque_record
from polhode.methods import Method
from polhode.problem import Plan
from polhode.run.binding import SpreadOfBodies
from polhode.samples import Distribution, Draws

FORMAT, FORMAT_VERSION = "polhode plan", 2
"""The name and the version of the format."""
LIBRARIES = ("numpy", "numba", "llvmlite")
"""The packages whose versions may change bits: NumPy draws samples, the others make machine code."""


class PlanError(ValueError):
    """A store and a plan that do not belong together, or a plan that cannot be trusted."""


@dataclass(frozen=True, eq=False)
class Manifest:
    """What is decided: the question, what the search found, the parts, and the bits of the first bodies."""

    contents: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.contents[name]

    @property
    def digest(self) -> str:
        """The digest of all the rest, by which parts know their plan."""
        return str(self.contents["digest"])

    @property
    def count(self) -> int:
        """The number of bodies."""
        return int(self["question"]["count"])

    @property
    def part_bodies(self) -> int:
        """The number of bodies of a part; the last one may have fewer."""
        return int(self["parts"]["bodies"])

    @property
    def parts(self) -> int:
        """The number of parts."""
        return int(self["parts"]["count"])

    def bodies(self, part: int) -> range:
        """The numbers of the bodies of a part."""
        first = part * self.part_bodies
        return range(first, min(self.count, first + self.part_bodies))

    @classmethod
    def made(cls, **contents: Any) -> Manifest:
        """A manifest with its digest."""
        contents = {"format": FORMAT, "format_version": FORMAT_VERSION, **contents}
        contents = json.loads(json.dumps(contents))  # as it will be read
        return cls({**contents, "digest": json_digest(contents)})

    def text(self) -> str:
        """The manifest as JSON, for people to read."""
        return json.dumps(self.contents, indent=1) + "\n"

    @classmethod
    def read(cls, raw: bytes, where: str) -> Manifest:
        """Reads a manifest; refuses one that was changed after it was written."""
        try:
            contents = json.loads(raw)
            digest = contents.pop("digest")
        except (ValueError, KeyError, AttributeError, TypeError):
            raise PlanError(f"the manifest of {where} is damaged: delete the store, and plan again") from None
        if contents.get("format") != FORMAT or contents.get("format_version") != FORMAT_VERSION:
            raise PlanError(
                f"{where} is no plan that this version of polhode reads: it says it is a {contents.get('format')!r}, "
                f"version {contents.get('format_version')!r}; make a new plan with another store"
            )
        if digest != json_digest(contents):
            raise PlanError(
                f"the manifest of {where} was changed after it was written, and parts that are there belong to the old "
                "one: undo the change, or make a new plan with another store"
            )
        return cls({**contents, "digest": digest})

    def check_question(self, question: dict[str, Any], where: str) -> None:
        """Raises PlanError, with what differs, unless the plan was made for this question."""
        asked, planned = json.loads(json.dumps(question)), self["question"]
        differ = [name for name in {**planned, **asked} if planned.get(name) != asked.get(name)]
        if differ:
            listed = "; ".join(f"{n} is {_short(planned.get(n))} there and {_short(asked.get(n))} here" for n in differ)
            raise PlanError(f"{where} belongs to another plan: {listed}. Choose another store, or delete this one")

    def check_versions(self, where: str, who: str = "this process") -> None:
        """Raises PlanError if this process has other versions than the one that made the plan."""
        for name, here in versions().items():
            there = self["versions"].get(name)
            if there != here and name != "python":
                raise PlanError(
                    f"{who} has {name} {here}, but {where} was begun with {name} {there}, and the bits could differ: "
                    f"install {name} {there}, or begin a new store"
                )


def versions() -> dict[str, str]:
    """The versions that may change bits."""
    found = {name: version(name) for name in LIBRARIES}
    return {"polhode": __version__, "python": platform.python_version(), **found}


def json_digest(contents: dict[str, Any]) -> str:
    """The SHA-256 of what can be written as JSON."""
    return hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


# --- the question, as plain data: equal ones have equal answers, to the bit ------------------------------------------

FEW_NUMBERS = 16
"""Arrays of up to this number of numbers are written out; of larger ones there is a digest."""
DATA = (bool, int, float, str, list, tuple, dict, np.ndarray)
"""The values that a function of the user's may read and that are told apart by their content."""


def question_of(asked: EnsembleRequest) -> dict[str, Any]:
    """Everything that decides the results, for JSON: equal questions have equal answers, to the bit."""
    starts, problem, goal = asked.starts, asked.problem, asked.goal
    body = starts.bodies
    if isinstance(goal, Plan):
        steps: dict[str, Any] = {"step": goal.step, **plan_record(goal)}
    else:
        own = goal.method is not None and is_own(goal.method)
        steps = {"rtol": goal.rtol, "method": None if goal.method is None else goal.method.name, "own": own}
    torques = [[t.name, json.loads(torque_record(t, problem.body)), digest_of(t.torque_kernel)] for t in starts.torques]
    return {
        "count": starts.count,
        "seed": starts.seed,
        "body": _bodies(body) if isinstance(body, Bodies) else described(body),
        "rotor": described(starts.rotors),
        "omega": described(starts.rates),
        "attitude": described(starts.quaternions),
        "parameters": {"part": starts.summand, "rows": described(starts.custom_parameters)},
        "state": described(starts.carried),
        "torque": torques[0] if len(torques) == 1 else {"torques": len(torques), "sha256": _sha(json.dumps(torques))},
        "t_span": [problem.t_start, problem.t_end],
        "t_eval": described(problem.times),
        "every": problem.every,
        "steps": steps,
        "events": [[e.name, e.direction, e.terminal, digest_of(e.function)] for e in asked.events],
        "reduce": None
        if asked.reductions is None
        else {name: _quantity(wanted) for name, wanted in asked.reductions.items()},
    }


def described(value: Any) -> Any:
    """Rows, a distribution, a function or a number for JSON."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Draws):
        return described(value.source)
    if isinstance(value, Distribution):
        return {"kind": type(value).__name__, **{f.name: described(getattr(value, f.name)) for f in fields(value)}}  # type: ignore[arg-type]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        if value.size <= FEW_NUMBERS:
            return value.tolist()
        return {"shape": list(value.shape), "sha256": _sha(np.ascontiguousarray(value).tobytes())}
    if isinstance(value, list | tuple):
        return [described(x) for x in value]
    if hasattr(value, "as_quat"):
        return {"rotation": described(np.asarray(value.as_quat()))}
    if isinstance(value, dict):
        return {str(name): described(x) for name, x in value.items()}
    return {"function": getattr(value, "__qualname__", type(value).__qualname__), "digest": digest_of(value)}


def digest_of(function: Any) -> str:
    """The name of a function by its content, or at least by its code."""
    if isinstance(function, types.MethodType):
        return _sha(json.dumps([digest_of(function.__func__), _state(function.__self__)]))
    if (name := named(function)) is not None:
        return name
    if isinstance(known := plain(function), types.FunctionType):  # that reads what has no name by content, say a list
        read = [(name, described(x)) for name, x in captured(known) if isinstance(x, DATA)]
        return _sha(json.dumps([code_text(known.__code__), described(known.__defaults__), read]))
    if isinstance(function, partial):
        return _sha(json.dumps([digest_of(function.func), described(function.args), described(function.keywords)]))
    kind = type(function)
    held = _state(function) if callable(function) else {}
    call = digest_of(kind.__call__) if held else ""
    return _sha(json.dumps([kind.__module__, kind.__qualname__, getattr(function, "__name__", ""), call, held]))


def _state(value: Any) -> dict[str, Any]:
    """Describes what an object holds, but for what Python keeps there: numpy.add has a `__signature__` once asked."""
    held = getattr(value, "__dict__", {}).items()
    return {name: _held(x) for name, x in held if not (name.startswith("__") and name.endswith("__"))}


def _held(value: Any) -> Any:
    """Describes one thing that an object holds: data and functions by their content, other objects by their class."""
    is_object = hasattr(value, "__dict__") and not isinstance(value, types.FunctionType | partial | Distribution)
    return f"{type(value).__module__}.{type(value).__qualname__}" if is_object else described(value)


def _bodies(bodies: Bodies) -> Any:
    one = len(bodies.moments) == 1
    tensors, rotors = bodies.tensors, bodies.rotors
    return {
        "moments": described(bodies.moments[0] if one else bodies.moments),
        "tensor": described(tensors[0] if one else tensors) if bodies.axes is not None else None,
        "rotor": None if bodies.given_rotors is not None or rotors is None else described(rotors),
    }


def _quantity(wanted: Quantity) -> dict[str, Any]:
    def step(one: ReductionStep | None) -> Any:
        return None if one is None else [one.kind, described(one.argument)]

    # The text of a function may have its address in it, which differs from process to process.
    what = wanted.what if isinstance(wanted.what, str) else described(wanted.what)
    return {"what": what, "time": step(wanted.over_time), "body": step(wanted.over_bodies)}


def _sha(content: str | bytes) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


# --- what survey and pilots found ----------------------------------------------------------------------------------


def survey_record(survey: Survey, lead: int) -> dict[str, Any]:
    """The survey for JSON; `lead` is the fastest body that can start."""
    others = survey.others
    return {
        "lead": lead, "tilted": others.tilted, "differ_in_symmetry": others.many, "effort": list(others.effort),
        "gyrostats": others.gyrostats,
    }  # fmt: skip


def read_survey(record: dict[str, Any]) -> Survey:
    """The survey of such a record."""
    others = SpreadOfBodies(
        bool(record["tilted"]), bool(record["differ_in_symmetry"]),
        (float(record["effort"][0]), float(record["effort"][1])), bool(record["gyrostats"]),
    )  # fmt: skip
    return Survey((int(record["lead"]),), others)


def found_record(found: PilotResult | None) -> dict[str, Any] | None:
    """What pilots have found, for JSON; infinite numbers are text."""
    if found is None:
        return None
    candidate = {f.name: _plain(getattr(found.candidate, f.name)) for f in fields(found.candidate)}
    foresight = found.foresight and {f.name: getattr(found.foresight, f.name) for f in fields(found.foresight)}
    growth = found.growth and found.growth._asdict()
    return {"candidate": candidate, "foresight": foresight, "own_program": found.own_program, "growth": growth}


def _plain(value: Any) -> Any:
    if isinstance(value, Method):
        return {"method": value.name, "own": is_own(value)}
    if value in (float("inf"), float("-inf")):
        return str(value)
    return list(value) if isinstance(value, Factors) else value


def read_found(record: dict[str, Any] | None, given: Method | None) -> PilotResult | None:
    """What pilots have found; `given` is the user's own method, if it is one."""
    if record is None:
        return None

    def read(value: Any) -> Any:
        if isinstance(value, dict):
            return given if value["own"] and given is not None else read_method(value["method"], bool(value["own"]))
        if isinstance(value, list):
            return Factors(*value)
        return float(value) if isinstance(value, str) else value

    candidate = Candidate(**{name: read(value) for name, value in record["candidate"].items()})
    foresight = None if record["foresight"] is None else Foresight(**record["foresight"])
    growth = record.get("growth")
    if growth is not None:
        growth = Growth(**growth | {"companions": tuple(Companion(*one) for one in growth["companions"])})
    return PilotResult(candidate, foresight, bool(record["own_program"]), growth)
