"""Whether all that a function reads is as it was when it was named: quicker than to name it again.

Whoever calls a short program often asks for its name in every call, because a global that a user's function reads may
have another value by then. What was read is compared by identity, which says enough of values that cannot change. A
function that reads others, such as arrays, is named anew each time.
"""

import types
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from polhode.compiled.digest import (
    builtins_of,
    captured,
    is_foreign,
    is_ours,
    is_primitive,
    is_record,
    named,
    names_read,
    plain,
    scalar_text,
)

KEPT_FUNCTIONS = 64
"""The number of functions of which it is known what they read: each keeps what it reads alive."""


class Unknown(Exception):
    """The function reads something that may change and still be the same object."""


class Absent:
    """The value of a name that stands for nothing."""


ABSENT = Absent()


class Read(NamedTuple):
    """What a function and those that it calls have read; this package's own functions are left out, as they stay."""

    functions: tuple[tuple[types.FunctionType, types.CodeType, Any], ...]
    """Each with its code and its defaults."""
    names: tuple[tuple[dict[str, Any], str, Any], ...]
    """Namespaces, names in them, and their values."""
    cells: tuple[tuple[types.CellType, Any], ...]
    """Variables of enclosing functions, and their values."""

    def is_unchanged(self) -> bool:
        """Whether the same would be read now."""
        for f, code, defaults in self.functions:
            if f.__code__ is not code or f.__defaults__ is not defaults or f.__kwdefaults__:
                return False
        for namespace, name, value in self.names:
            if namespace.get(name, ABSENT) is not value:
                return False
        try:
            for cell, value in self.cells:
                if cell.cell_contents is not value:
                    return False
        except ValueError:  # a variable that has lost its value
            return False
        return True


class Known:
    """What is known of a function: its name when it had read this."""

    named: tuple[str, Read] | None = None
    reads_others = False
    """Whether it has read something that may change: then it is named anew each time."""


@lru_cache(maxsize=KEPT_FUNCTIONS)
def _known(f: Any) -> Known:
    """Returns what is known of a function, which is nothing at first."""
    return Known()


def name_now(f: Any) -> str | None:
    """Returns the name of f by its content, as `named` does, without a look at what is the same as the last time."""
    known = _known(f)
    if known.named is not None:
        name, read = known.named
        if read.is_unchanged():
            return name
    if known.reads_others:
        return named(f)
    reader = Reader()
    try:
        reader.function(plain(f))
    except (Unknown, AttributeError, ValueError):  # the others: this is no function, or a variable has no value
        known.named, known.reads_others = None, True
        return named(f)
    read, found = reader.found(), named(f)
    if found is not None and read.is_unchanged():  # another thread may have changed something meanwhile
        known.named = (found, read)
    return found


class Reader:
    """One look at all that a function reads, and at what the functions read that it calls."""

    def __init__(self) -> None:
        self.functions: dict[types.FunctionType, tuple[types.CodeType, Any]] = {}
        self.names: list[tuple[dict[str, Any], str, Any]] = []
        self.cells: list[tuple[types.CellType, Any]] = []
        self.seen: set[Any] = set()

    def found(self) -> Read:
        """Returns what was read."""
        return Read(tuple((f, *both) for f, both in self.functions.items()), tuple(self.names), tuple(self.cells))

    def function(self, f: types.FunctionType) -> None:
        """Looks at a function."""
        if f in self.seen:
            return
        self.seen.add(f)
        if is_ours(f):
            for _, value in captured(f):
                self.of_ours(value)
            return
        if f.__kwdefaults__:
            raise Unknown
        self.functions[f] = (f.__code__, f.__defaults__)
        globals_read, attributes = names_read(f.__code__)
        values: list[Any] = [f.__defaults__]
        for name in globals_read:
            values.append(self.name(f.__globals__, name))
            if values[-1] is ABSENT:
                values[-1] = self.name(builtins_of(f), name)
        for cell in f.__closure__ or ():
            values.append(cell.cell_contents)
            self.cells.append((cell, values[-1]))
        for value in values:
            self.value(value, attributes)

    def name(self, namespace: dict[str, Any], name: str) -> Any:
        """Looks up a name, and returns its value."""
        value = namespace.get(name, ABSENT)
        self.names.append((namespace, name, value))
        return value

    def value(self, value: Any, attributes: frozenset[str]) -> None:
        """Looks at a value that a user's function reads, of which it may use these attributes."""
        if scalar_text(value) is not None or isinstance(value, np.number | np.bool_) or value is ABSENT:
            return
        if is_primitive(value) or is_foreign(value):
            return
        if type(value) is types.FunctionType:
            self.function(value)
        elif type(value) is tuple:
            for part in value:
                self.value(part, attributes)
        elif type(value) is types.ModuleType:
            ours = value.__name__.partition(".")[0] == "polhode"
            if hasattr(value, "__getattr__") and not ours:  # it may have any names
                raise Unknown
            for name in attributes:
                if (id(value), name) not in self.seen:  # each function may use other names of the same module
                    self.seen.add((id(value), name))
                    getattr(value, name, None)  # some of ours are there once they have been asked for
                    self.value(self.name(vars(value), name), attributes)
        else:
            raise Unknown

    def of_ours(self, value: Any) -> None:
        """Looks for users' functions in a value that one of this package's own functions reads."""
        value = plain(value)
        if type(value) is types.FunctionType:
            self.function(value)
        elif type(value) is tuple or is_record(type(value)):
            for part in value:
                self.of_ours(part)
