"""One file a method or one a family. A new file is found by itself."""

import importlib
import pkgutil
from functools import cache

from polhode import _check
from polhode.methods._method import Keeps, Method, compose, split

__all__ = ["Keeps", "Method", "catalogue", "compose", "find", "split"]


@cache
def catalogue() -> dict[str, Method]:
    """Every method there is, by name."""
    found: dict[str, Method] = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda m: m.name):
        if not module.name.startswith("_"):
            for value in vars(importlib.import_module(f"{__name__}.{module.name}")).values():
                if isinstance(value, Method):
                    found[value.name] = value
    return found


def find(name: str) -> Method:
    """The method of this name, whatever its case."""
    return catalogue()[_check.choice("method", name, catalogue())]
