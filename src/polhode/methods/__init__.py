"""The methods: each file has one method or one family. A new file is found by itself."""

import importlib
import pkgutil
import re
from functools import cache, lru_cache
from typing import Any

from polhode import _check
from polhode.methods._method import Keeps, Method, Option, StepModel, compose, split, with_options

__all__ = [
    "Keeps",
    "Method",
    "Option",
    "StepModel",
    "catalogue",
    "compose",
    "find",
    "separated",
    "split",
    "with_options",
]


@cache
def catalogue() -> dict[str, Method]:
    """Returns all methods by their names."""
    found: dict[str, Method] = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda m: m.name):
        if not module.name.startswith("_"):
            for value in vars(importlib.import_module(f"{__name__}.{module.name}")).values():
                if isinstance(value, Method):
                    found[value.name] = value
    return found


REMOVED = {"g4": "G8"}
"""Methods that there were, with what to use instead (docs/decisions/0010-less.md)."""


@cache
def short_names() -> dict[str, tuple[str, dict[str, Any]]]:
    """Returns what short names such as SABA4 stand for: a method of the catalogue and the value of an option."""
    return {
        option.short.format(value).lower(): (method.name, {option.name: value})
        for method in catalogue().values()
        for option in method.options
        if option.short
        for value in option.choices
    }


def find(name: str, **options: Any) -> Method:
    """Returns the method of this name, whatever its case; options are arguments, or in the name: `MR2(axes=231)`."""
    method = _named(name) if isinstance(name, str) else _named.__wrapped__(name)  # the latter raises the error
    return method.replace(**options) if options else method


@lru_cache(maxsize=256)
def _named(name: str) -> Method:
    bare, listed = _parts(name)
    if isinstance(bare, str) and bare.lower() in short_names():
        short, (bare, implied) = bare, short_names()[bare.lower()]
        if listed.keys() & implied.keys():
            raise ValueError(f"{short} says which {' and '.join(implied)} of {bare} is meant: do not give it twice")
        listed = implied | listed
    if isinstance(bare, str) and bare.lower() in REMOVED:
        raise ValueError(f"there is no method {bare!r} any more: use {REMOVED[bare.lower()]!r}")
    return catalogue()[_check.choice("method", bare, catalogue())].replace(**listed)


def _parts(name: str) -> tuple[str, dict[str, str]]:
    """Returns the bare name and the options of `NAME(option=value, ...)`. Values may have brackets of their own."""
    found = re.fullmatch(r"\s*([\w-]+)\s*\((.*)\)\s*", name) if isinstance(name, str) else None
    if not found:
        return name.strip() if isinstance(name, str) else name, {}
    options = {}
    for item in separated(found[2]):
        key, equals, value = map(str.strip, item.partition("="))
        if not equals:
            raise ValueError(f"options of {found[1]} are written option=value, not {item!r}")
        if key in options:
            raise ValueError(f"the option {key} of {found[1]} is given twice")
        options[key] = value
    return found[1], options


def separated(text: str) -> list[str]:
    """Splits a list at its commas, except those within brackets."""
    depth, parts = 0, [""]
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
        if depth < 0:
            break
    if depth:
        raise ValueError(f"brackets do not match in {text!r}")
    return [part.strip() for part in parts if part.strip()]
