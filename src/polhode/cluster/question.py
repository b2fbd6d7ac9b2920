"""What is asked of an ensemble as plain data, so that two processes can tell whether they mean the same."""

import hashlib
import json
import types
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np

from polhode.compiled import named
from polhode.compiled.digest import captured, code_text, plain
from polhode.ensembles.ensemble import Asked
from polhode.ensembles.initial import Bodies
from polhode.ensembles.record import plan_record
from polhode.ensembles.reduce import Quantity, Step
from polhode.io.records import is_own, torque_record
from polhode.problem import Plan
from polhode.samples import Distribution, Draws

FEW_NUMBERS = 16
"""Arrays of up to this number of numbers are written out; of larger ones there is a digest."""
DATA = (bool, int, float, str, list, tuple, dict, np.ndarray)
"""The values that a function of the user's may read and that are told apart by their content."""


def question_of(asked: Asked) -> dict[str, Any]:
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
    def step(one: Step | None) -> Any:
        return None if one is None else [one.kind, described(one.argument)]

    # The text of a function may have its address in it, which differs from process to process.
    what = wanted.what if isinstance(wanted.what, str) else described(wanted.what)
    return {"what": what, "time": step(wanted.over_time), "body": step(wanted.over_bodies)}


def _sha(content: str | bytes) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()
