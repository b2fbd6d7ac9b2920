"""The torque models, one in each file. A new file is found by itself."""

import importlib
import inspect
import pkgutil
from functools import cache

from polhode import _check
from polhode.torques._torque import CustomTorque, Torque, checked, torque

__all__ = ["CustomTorque", "Torque", "catalogue", "checked", "find", "torque"]


@cache
def catalogue() -> dict[str, type[Torque]]:
    """Returns all torque models by their names."""
    found: dict[str, type[Torque]] = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda m: m.name):
        if not module.name.startswith("_"):
            home = importlib.import_module(f"{__name__}.{module.name}")
            for value in vars(home).values():
                if inspect.isclass(value) and issubclass(value, Torque) and value.__module__ == home.__name__:
                    found[value.__name__] = value
    return found


def find(name: str) -> type[Torque]:
    """Returns the model of this name, whatever its case."""
    return catalogue()[_check.choice("torque", name, catalogue())]
