"""Finds what other installed packages add to polhode.

A package names a module or an object of its own as an entry point of the group `polhode.methods` or `polhode.torques`.
A package that cannot be used costs a warning, never an answer of polhode.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

T = TypeVar("T")


def additions(
    group: str, own: Mapping[str, T], pick: Callable[[Any], Mapping[str, T]], taken: Iterable[str] = ()
) -> tuple[dict[str, T], dict[str, str]]:
    """Loads the entry points of a group and returns their objects, and their packages with versions, both by name.

    `pick` takes what an entry point names and returns the objects that it holds, by name; if it holds none, it raises
    a TypeError that says what was expected. A name that is already taken, in any case of letters, is refused; so are
    those that are `taken` besides.
    """
    values: dict[str, T] = {}
    packages: dict[str, str] = {}
    owners = {name.lower(): "polhode" for name in (*own, *taken)}
    for entry in sorted(entry_points(group=group), key=lambda e: (_package(e), e.name)):
        package = _package(entry)
        try:
            offered = pick(entry.load())
        except (Exception, SystemExit) as problem:  # it runs the code of others, which may do anything
            _warn(
                f"polhode goes on without the {group.partition('.')[2]} of the package {package}, because its entry "
                f"point {entry.name} = {entry.value} cannot be used: {type(problem).__name__}: {problem}. "
                "Update that package, or uninstall it."
            )
            continue
        for name, value in offered.items():
            if value is own.get(name) or value is values.get(name):  # it was imported, or it is offered twice
                continue
            if owner := owners.get(name.lower()):
                _warn(
                    f"polhode ignores {name} of the package {package}: {owner} already has one of that name, and its "
                    "own is used. Rename it in that package, or uninstall the package."
                )
                continue
            values[name], packages[name], owners[name.lower()] = value, package, f"the package {package}"
    return values, packages


def _package(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.module


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=2)
