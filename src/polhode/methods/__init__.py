"""The methods: each file has one method or one family.

A new file is found by itself, and so are the methods of other installed packages. The package can be called:
`polhode.methods()` lists the methods, `polhode.methods("MR2")` is one of them in full.

Examples
--------
>>> "Strang" in ph.methods()
True
"""

import importlib
import pkgutil
import re
from functools import cache, lru_cache
from types import ModuleType
from typing import Any

from polhode.methods._method import Keeps, Method, Option, Promises, StepModel, compose, split, with_options
from polhode.methods._start_here import ADVICE, START_HERE
from polhode.support import callable_package, checks, plugins

__all__ = [
    "ADVICE", "START_HERE", "Keeps", "Method", "Option", "Promises", "StepModel", "catalogue", "compose", "find",
    "package", "split", "split_list", "with_options",
]  # fmt: skip

callable_package.let_be_called(__name__)


@cache
def catalogue() -> dict[str, Method]:
    """Returns every method by its name: polhode's own, then those of other installed packages."""
    return _own() | _added()[0]


def package(name: str) -> str | None:
    """The installed package that a method comes from, with its version; None for polhode's own."""
    return None if name in _own() else _added()[1].get(name)


@cache
def _added() -> tuple[dict[str, Method], dict[str, str]]:
    return plugins.additions("polhode.methods", _own(), _methods_in, taken=(*short_names(), *REMOVED))


def _methods_in(value: Any) -> dict[str, Method]:
    """The methods that an entry point names."""
    held = list(vars(value).values()) if isinstance(value, ModuleType) else [value]
    found = {m.name: m for m in held if isinstance(m, Method)}
    if not found:
        raise TypeError(f"expected a polhode.methods.Method, or a module that has some, not {value!r}")
    if wrong := [name for name in found if not re.fullmatch(r"[\w-]+", name)]:
        raise TypeError(f"the name of a method has letters, digits, _ and - only, unlike {wrong[0]!r}")
    return found


@cache
def _own() -> dict[str, Method]:
    """The methods of this folder. Most calls need no others, which cost time to look for."""
    values = (value for module in modules() for value in vars(module).values())
    return {value.name: value for value in values if isinstance(value, Method)}


def modules() -> list[ModuleType]:
    """Imports the modules of this folder and of those in it, by name, but for private ones."""
    named = sorted((m.name.rpartition(".")[2], m.name) for m in pkgutil.walk_packages(__path__, f"{__name__}."))
    return [importlib.import_module(name) for short, name in named if not short.startswith("_")]


REMOVED = {"g4": "G8"}
"""Methods that there were, with what to use instead (docs/decisions/0010-less.md)."""


def short_names() -> dict[str, tuple[str, dict[str, Any]]]:
    """What other names stand for: a method of polhode; for short ones such as SABA4, with the value of an option."""
    return {name.lower(): (method.name, {}) for method in _own().values() for name in method.also} | {
        option.short.format(value).lower(): (method.name, {option.name: value})
        for method in _own().values()
        for option in method.options
        if option.short
        for value in option.choices
    }


def find(name: str, **options: Any) -> Method:
    """The method of this name, whatever its case; options are arguments, or in the name: `MR2(axes=231)`."""
    method = _named(name) if isinstance(name, str) else _named.__wrapped__(name)  # the latter raises the error
    return method.replace(**options) if options else method


@lru_cache(maxsize=256)
def _named(name: str) -> Method:
    bare, listed = _parts(name)
    shortened = short_names()
    if isinstance(bare, str) and bare.lower() in shortened:
        short, (bare, implied) = bare, shortened[bare.lower()]
        if listed.keys() & implied.keys():
            raise ValueError(f"{short} says which {' and '.join(implied)} of {bare} is meant: do not give it twice")
        listed = implied | listed
    if isinstance(bare, str) and bare.lower() in REMOVED:
        raise ValueError(f"there is no method {bare!r} any more: use {REMOVED[bare.lower()]!r}")
    is_own = isinstance(bare, str) and bare.lower() in map(str.lower, _own())
    known = _own() if is_own else catalogue()
    return known[checks.choice("method", bare, known, command="polhode methods --all")].replace(**listed)


def _parts(name: str) -> tuple[str, dict[str, str]]:
    """The bare name and the options of `NAME(option=value, ...)`. Values may have brackets of their own."""
    found = re.fullmatch(r"\s*([\w-]+)\s*\((.*)\)\s*", name) if isinstance(name, str) else None
    if not found:
        return name.strip() if isinstance(name, str) else name, {}
    options = {}
    for item in split_list(found[2]):
        key, equals, value = map(str.strip, item.partition("="))
        if not equals:
            raise ValueError(f"options of {found[1]} are written option=value, not {item!r}")
        if key in options:
            raise ValueError(f"the option {key} of {found[1]} is given twice")
        options[key] = value
    return found[1], options


def split_list(text: str) -> list[str]:
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
