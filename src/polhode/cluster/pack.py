"""What is sent to workers: as bytes, with the rows of the bodies that a part needs and no others."""

import io
import pickle
import sys
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np

from polhode.api.ensemble import EnsembleRequest
from polhode.ensembles.initial import Starts
from polhode.torques import CustomTorque

SCENARIO_MODULE = "polhode-scenario:"
"""How the names of the modules begin that are made of Python files which scenarios name."""


def has_rows(starts: Starts) -> bool:
    """Whether some arguments have a row for each body, which would travel to every worker."""
    bodies = starts.bodies
    given = [starts.rates, starts.quaternions, starts.custom_parameters, starts.carried, starts.rotors]
    given.append(getattr(bodies, "moments", None) if not getattr(bodies, "listed", ()) else None)
    return any(isinstance(rows, np.ndarray) and len(rows) > 1 for rows in given)


def packed(task: Any, asked: EnsembleRequest) -> bytes:
    """What workers need as bytes. Functions of a script travel along if cloudpickle is there, as with Dask."""
    try:
        return _dumps(task)
    except Exception as problem:
        guilty = next((name for name, piece in _pieces(asked) if not _travels(piece)), "the problem")
        raise TypeError(
            f"{guilty} cannot be sent to other processes ({type(problem).__name__}: {problem}). Put the function into "
            "a module of its own, such as my_torque.py, where it depends on nothing but its arguments and module "
            "constants, and import it: from my_torque import my_torque"
        ) from None


def _dumps(value: Any) -> bytes:
    try:
        import cloudpickle
    except ImportError:
        return pickle.dumps(value)

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        """Sends torques with their functions, where no worker could find those by their names."""

        def reducer_override(self, found: Any) -> Any:
            if isinstance(found, CustomTorque) and _is_of_script(found.function):
                kept = {f.name: getattr(found, f.name) for f in fields(found)}
                return _rebuilt, (type(found), kept)
            return super().reducer_override(found)

    own = [module for name, module in sys.modules.items() if name.startswith(SCENARIO_MODULE)]
    for module in own:
        cloudpickle.register_pickle_by_value(module)
    try:
        file = io.BytesIO()
        Pickler(file).dump(value)
    finally:
        for module in own:
            cloudpickle.unregister_pickle_by_value(module)
    return file.getvalue()


def _is_of_script(function: Any) -> bool:
    """Whether a function is from the script that runs, or from a Python file that a scenario names."""
    module = str(getattr(function, "__module__", ""))
    return module == "__main__" or module.startswith(SCENARIO_MODULE)


def _rebuilt(kind: type[CustomTorque], kept: dict[str, Any]) -> CustomTorque:
    made = object.__new__(kind)
    made.__dict__.update(kept)
    return made


def _travels(value: Any) -> bool:
    try:
        _dumps(value)
    except Exception:
        return False
    return True


def _pieces(asked: EnsembleRequest) -> Iterator[tuple[str, Any]]:
    """Yields the pieces of a question that may hold functions of the user's, with their names."""
    starts = asked.starts
    for torque in starts.torques:
        yield f"the torque {torque.name}", torque
    drawn: dict[str, Any] = {"body": starts.bodies, "omega": starts.rates, "attitude": starts.quaternions}
    drawn |= {"parameters": starts.custom_parameters, "state": starts.carried, "rotor": starts.rotors}
    yield from drawn.items()
    for name, wanted in (asked.reductions or {}).items():
        yield f"reduce[{name!r}]", wanted
    for event in asked.events:
        yield f"the event {event.name}", event
    if asked.goal.method is not None:
        yield f"the method {asked.goal.method.name}", asked.goal.method
