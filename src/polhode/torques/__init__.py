"""The torque models, one or some of a kind in each file.

A new file is found by itself, and so are the models of other installed packages. The package can be called:
`polhode.torques()` lists the models, `polhode.torques("HeavyTop")` is one of them in full.

Examples
--------
>>> "HeavyTop" in ph.torques()
True
"""

import importlib
import inspect
import pkgutil
from dataclasses import is_dataclass
from functools import cache
from types import ModuleType
from typing import Any

from polhode.support import callable_package, checks, plugins
from polhode.torques._called import torque_from_pointer
from polhode.torques._sums import SumTorque, Term, joined, terms_of
from polhode.torques._torque import CustomTorque, Torque, UserPotential, checked, shown_numbers, torque

__all__ = [
    "CustomTorque", "SumTorque", "Term", "Torque", "UserPotential", "catalogue", "checked", "find", "get",
    "joined", "package", "shown_numbers", "terms_of", "torque", "torque_from_pointer",
]  # fmt: skip

callable_package.let_be_called(__name__)


@cache
def catalogue() -> dict[str, type[Torque]]:
    """Returns every torque model by its name: polhode's own, then those of other installed packages."""
    return _own() | _added()[0]


def package(name: str) -> str | None:
    """The installed package that a model comes from, with its version; None for polhode's own."""
    return None if name in _own() else _added()[1].get(name)


@cache
def _added() -> tuple[dict[str, type[Torque]], dict[str, str]]:
    return plugins.additions("polhode.torques", _own(), _models_in)


def _models_in(value: Any) -> dict[str, type[Torque]]:
    """The torque models that an entry point names; of a module, those that its own package defines."""
    held = list(vars(value).values()) if isinstance(value, ModuleType) else [value]
    found = {m.__name__: m for m in held if inspect.isclass(m) and issubclass(m, Torque) and not inspect.isabstract(m)}
    if isinstance(value, ModuleType):
        home = value.__name__.partition(".")[0]
        found = {name: m for name, m in found.items() if m.__module__.partition(".")[0] == home}
    if not found:
        raise TypeError(
            f"expected a class derived from polhode.torques.Torque, or a module that has some, not {value!r}"
        )
    if wrong := [name for name, m in found.items() if not is_dataclass(m)]:
        raise TypeError(f"a torque model is a frozen dataclass, unlike {wrong[0]}")
    return found


@cache
def _own() -> dict[str, type[Torque]]:
    """The models of this folder. Most calls need no others, which cost time to look for."""
    found: dict[str, type[Torque]] = {}
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_"):
            home = importlib.import_module(f"{__name__}.{module.name}")
            for value in vars(home).values():
                if inspect.isclass(value) and issubclass(value, Torque) and value.__module__ == home.__name__:
                    found[value.__name__] = value
    return dict(sorted(found.items()))


def find(name: str) -> type[Torque]:
    """The model of this name, whatever its case."""
    own = isinstance(name, str) and any(name.lower() == known.lower() for known in _own())
    known = _own() if own else catalogue()
    return known[checks.choice("torque", name, known)]


def get(name: str) -> type[Torque] | None:
    """The model of exactly this name, or None."""
    return _own().get(name) or catalogue().get(name)
