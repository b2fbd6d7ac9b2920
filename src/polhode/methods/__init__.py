"""One file a method or one a family. A new file is found by itself."""

import importlib
import pkgutil
import re
from functools import cache
from typing import Any

from polhode import _check
from polhode.methods._method import Keeps, Method, Option, Value, compose, split, with_options

__all__ = ["Keeps", "Method", "Option", "catalogue", "compose", "find", "split", "with_options"]


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


def find(name: str, **options: Any) -> Method:
    """The method of this name, whatever its case; options as arguments, or in the name: `MR2(axes=231)`."""
    bare, listed = _parts(name)
    method = catalogue()[_check.choice("method", bare, catalogue())]
    values = method.read(listed | options)
    return _having(method.name, tuple(sorted(values.items()))) if values else method


@cache
def _having(name: str, values: tuple[tuple[str, Value], ...]) -> Method:
    """Made once: the same choice is the same method."""
    return catalogue()[name].having(**dict(values))


def _parts(name: str) -> tuple[str, dict[str, str]]:
    """The bare name and the options of `NAME(option=value, ...)`. Values may have brackets of their own."""
    found = re.fullmatch(r"\s*([\w-]+)\s*\((.*)\)\s*", name) if isinstance(name, str) else None
    if not found:
        return name.strip() if isinstance(name, str) else name, {}
    options = {}
    for item in filter(None, map(str.strip, re.split(r",(?![^(]*\))", found[2]))):
        key, equals, value = item.partition("=")
        if not equals:
            raise ValueError(f"options of {found[1]} are written option=value, not {item!r}")
        options[key.strip()] = value.strip()
    return found[1], options
