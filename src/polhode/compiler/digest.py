"""Names functions by all that they depend on.

`digest` names a function by everything it can reach: its bytecode and constants, the values it closes over, the module
constants it reads and, recursively, the functions it calls. Two functions with one digest are one program; edit a
helper anywhere and the digest changes. No source is needed: scripts and notebook cells have digests too.

A value is named by its content only if equal names mean equal behaviour. Any other value is named by its identity,
which is good for this process and no longer. The compiler sees nothing that has no part in the name.

Every call asks for the name of its torque, because a global that a user's function reads may have another value by
then. `name_now` compares what was read with what was read the last time, by identity: 0.5 us where a name takes 13.
"""

import dis
import hashlib
import struct
import sys
import types
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

FOREIGN = frozenset({"math", "cmath", "numpy", "builtins", "operator", "_operator"})
"""Packages that Numba knows by name: their names stand for their contents. The cache counts their versions."""

_PLAIN = (bool, int, str, bytes, type(None), type(Ellipsis))
"""Types whose values are fully described by their repr. Subclasses are not: they may behave in any way."""


class Digest(NamedTuple):
    """The name of a function by its content."""

    name: str
    volatile: str | None
    """Why the name is good for this process only; None: it is good for all."""
    unnamed: tuple[Any, ...]
    """The values named by their identity, which must stay alive while the name is in use."""


class Recursion(TypeError):
    """The function calls itself, perhaps through others. That cannot be compiled: calls are written out."""


class Unset:
    """The value of a name, or the content of a closure's cell, that has none."""


UNSET = Unset()
KEPT_FUNCTIONS = 64
"""The number of functions of which it is known what they read: each keeps what it reads alive."""


class Names(NamedTuple):
    """The names that a piece of code looks up."""

    globals: frozenset[str]
    attributes: frozenset[str]


@lru_cache(maxsize=4096)
def names_read(code: types.CodeType) -> Names:
    """The globals that the code, or code nested in it, mentions, and the names it may look up in a module."""
    found, attributes = set(), set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            found.add(instruction.argval)
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            attributes.add(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = names_read(constant)
            found |= inner.globals
            attributes |= inner.attributes
        elif isinstance(constant, str) and constant.isidentifier():
            attributes.add(constant)  # it may be an argument of getattr
    return Names(frozenset(found), frozenset(attributes))


def plain(value: Any) -> Any:
    """The Python function behind a Numba dispatcher or `numba.cfunc`; any other value unchanged."""
    callback = type(value).__module__ == "numba.core.ccallback"
    function = getattr(value, "__wrapped__" if callback else "py_func", None)
    return function if isinstance(function, types.FunctionType) else value


def home(value: Any) -> str | None:
    """The dotted name of a function, class or module; None if that name leads to something else."""
    if isinstance(value, types.ModuleType):
        return value.__name__ if sys.modules.get(value.__name__) is value else None
    module = getattr(value, "__module__", None) or type(value).__module__
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    found: Any = sys.modules.get(module) if isinstance(module, str) else None
    for part in name.split(".") if isinstance(name, str) else ("",):
        found = getattr(found, part, None)
    return f"{module}.{name}" if found is value and value is not None else None


def is_primitive(f: Any) -> bool:
    """Whether f has a compiled form of its own (`kernels.ops.primitive`)."""
    return hasattr(f, "__primitive__") and home(f) is not None


def is_foreign(value: Any) -> bool:
    """Whether Numba knows the function, class or module by its name."""
    name = home(value)
    return name is not None and name.partition(".")[0] in FOREIGN


def is_ours(f: types.FunctionType) -> bool:
    """Whether the function is one of this package's own; all others are users'."""
    # The globals say where f was defined: after functools.wraps, `__module__` may name another module.
    return str(f.__globals__.get("__name__")).partition(".")[0] == "polhode"


def is_record(kind: Any) -> bool:
    """Whether the class is a NamedTuple."""
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def builtins_of(f: types.FunctionType) -> dict[str, Any]:
    """The builtins that f sees."""
    found: dict[str, Any] = getattr(f, "__builtins__")  # noqa: B009  the stubs do not know the attribute
    return found


def captured(f: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Yields every value that f refers to by a global or closed-over name, with the name, in a fixed order."""
    builtins = builtins_of(f)
    for name in sorted(names_read(f.__code__).globals):
        if name in f.__globals__:
            yield name, f.__globals__[name]
        elif name in builtins:
            yield name, builtins[name]
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:
            yield name, UNSET


def digest(f: types.FunctionType) -> Digest:
    """The name of f by its content."""
    known = _settled.get(f)
    if known and not known.others:
        return Digest(known.name, None, ())
    walk = DigestWalk(quick=True)
    name = walk.function(f)
    return Digest(name, walk.volatile, tuple(walk.unnamed))


def divided(f: types.FunctionType) -> tuple[str, tuple[types.FunctionType, ...]]:
    """The name of f without the functions that are compiled apart from it, and these; "" if there are none."""
    walk = DigestWalk(quick=True, divided=True)
    name = walk.function(f)
    return (name, tuple(walk.apart)) if walk.apart and not walk.volatile else ("", ())


def named(f: Any) -> str | None:
    """The name of f by its content; None if it has none, or one that is good for this process only."""
    try:
        name, volatile, _ = digest(plain(f))
    except (AttributeError, TypeError):  # a callable of another kind, or one that calls itself
        return None
    return None if volatile else name


class ReadNames:
    """What users' functions have read in a walk; this package's own functions stay as they are."""

    def __init__(self) -> None:
        self.name = ""
        self.functions: list[tuple[types.FunctionType, types.CodeType, Any]] = []
        """The users' functions that were met, each with its code and its defaults."""
        self.names: list[tuple[dict[str, Any], str, Any]] = []
        """Namespaces, names in them, and their values."""
        self.cells: list[tuple[types.CellType, Any]] = []
        """Variables of enclosing functions, and their values."""
        self.lasts = True
        """Whether everything that was read can only change by becoming another object, unlike an array."""

    def looked_up(self, namespace: dict[str, Any], name: str) -> bool:
        """Notes the value of a name; returns whether it has one."""
        value = namespace.get(name, UNSET)
        self.names.append((namespace, name, value))
        return value is not UNSET

    def function(self, f: types.FunctionType) -> None:
        """Notes what a user's function reads."""
        self.functions.append((f, f.__code__, f.__defaults__))
        for name in names_read(f.__code__).globals:
            if not self.looked_up(f.__globals__, name):
                self.looked_up(builtins_of(f), name)
        try:
            self.cells += [(cell, cell.cell_contents) for cell in f.__closure__ or ()]
        except ValueError:  # a variable that has no value yet
            self.lasts = False
        self.lasts = self.lasts and not f.__kwdefaults__

    def module(self, module: types.ModuleType, attributes: frozenset[str]) -> None:
        """Notes what a user's function finds in a module."""
        if hasattr(module, "__getattr__") and module.__name__.partition(".")[0] != "polhode":  # it may have any names
            self.lasts = False
        for name in attributes:
            getattr(module, name, None)  # some of ours are there once they have been asked for
            self.looked_up(vars(module), name)

    def is_unchanged(self) -> bool:
        """Whether the same would be read now."""
        for f, code, defaults in self.functions:
            if f.__code__ is not code or f.__defaults__ is not defaults or f.__kwdefaults__:
                return False
        for namespace, name, value in self.names:
            if namespace.get(name, UNSET) is not value:
                return False
        try:
            for cell, value in self.cells:
                if cell.cell_contents is not value:
                    return False
        except ValueError:  # a variable that has lost its value
            return False
        return True


@lru_cache(maxsize=KEPT_FUNCTIONS)
def _read_by(f: Any) -> list[ReadNames]:
    """What f had read when it was named last, if that can be compared; at first there is nothing."""
    return []


def name_now(f: Any) -> str | None:
    """The name of f by its content, as `named` does, without a look at what is the same as the last time."""
    known = _read_by(f)
    if known and known[0].is_unchanged():
        return known[0].name
    walk = DigestWalk(quick=True)
    known.clear()
    try:
        walk.read.name = walk.function(plain(f))
    except (AttributeError, TypeError):
        return None
    if walk.volatile:
        return None
    if walk.read.lasts and walk.read.is_unchanged():  # another thread may have changed something meanwhile
        known[:] = [walk.read]
    return walk.read.name


def scalar_text(value: Any) -> str | None:
    """Describes a plain number, string or None, with its exact type; returns None for any other value."""
    kind = type(value)
    if kind in _PLAIN:
        return f"{kind.__name__}:{value!r}"
    if kind is float:
        return f"float:{struct.pack('<d', value).hex()}"  # all bits: copysign sees the sign of zero and of NaN
    if kind is complex:
        return f"complex:{struct.pack('<2d', value.real, value.imag).hex()}"
    return None


@lru_cache(maxsize=4096)
def code_text(code: types.CodeType) -> str:
    """Describes everything in the code except its file, its lines and its documentation."""
    constants = [code_text(c) if isinstance(c, types.CodeType) else _constant_text(c) for c in code.co_consts]
    if _is_documented(code):
        constants[0] = "documentation"
    layout = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    return repr((code.co_name, code.co_code.hex(), code.co_exceptiontable.hex(), constants, layout, counts))


def _is_documented(code: types.CodeType) -> bool:
    """Whether the first constant is a string that no instruction reads."""
    first = code.co_consts[0] if code.co_consts else None
    reads = (i.argval for i in dis.get_instructions(code) if "CONST" in i.opname or i.opname == "KW_NAMES")
    return isinstance(first, str) and not any(x is first for x in reads)


def _constant_text(value: Any) -> str:
    """Describes a constant of the Python compiler: a scalar, or a tuple or frozenset of such."""
    if isinstance(value, frozenset):  # no order of its own: the repr differs from process to process
        return f"{{{','.join(sorted(map(_constant_text, value)))}}}"
    if isinstance(value, tuple):
        return f"({','.join(map(_constant_text, value))})"
    return scalar_text(value) or f"{type(value).__name__}:{value!r}"


class FunctionName(NamedTuple):
    """The name of a function, and the first functions of other packages that it reaches, with their names."""

    name: str
    others: dict[types.FunctionType, str]
    divisible: bool
    """Whether it calls a function that is compiled apart."""


_settled: WeakKeyDictionary[types.FunctionType, FunctionName] = WeakKeyDictionary()
"""The names of this package's own functions. What they read does not change while they live, so that their names stay
valid as long as those of the `others` do. The others, such as a user's torque, may read a global that is given another
value between two runs."""


class DigestWalk:
    """One walk over everything a function reaches. Each function is described once.

    A quick walk takes the names of this package's functions from earlier walks, and describes only the others again.
    """

    def __init__(self, *, quick: bool = False, divided: bool = False) -> None:
        """Takes whether functions that are compiled apart are to have numbers, not names: `apart` has these."""
        self.settled: Mapping[types.FunctionType, FunctionName] = _settled if quick else {}
        self.divided = divided
        self.divisible: set[types.FunctionType] = set()
        self.apart: dict[types.FunctionType, int] = {}
        self.known: dict[types.FunctionType, FunctionName] = {}
        self.records: dict[str, type] = {}
        self.open: dict[types.FunctionType, dict[types.FunctionType, str]] = {}
        self.reading = ""
        self.volatile: str | None = None
        self.unnamed: list[Any] = []
        self.read = ReadNames()
        self.is_users = False
        """Whether the function that is being described is a user's."""

    def function(self, f: types.FunctionType) -> str:
        """The name of one function."""
        if f in self.open:
            opened = list(self.open)
            cycle = [g.__qualname__ for g in (*opened[opened.index(f) + 1 :], f)]
            raise Recursion(f"{f.__qualname__} calls {' which calls '.join(cycle)}: recursion; write it as a loop")
        marked = hasattr(f, "__torque__")
        if marked and self.divided:
            return f"apart:{self.apart.setdefault(f, len(self.apart))}"
        if f not in self.known:
            self.known[f] = self.as_before(f) or self.described(f)
        found = self.known[f]
        if self.open:
            caller = next(reversed(self.open))
            self.open[caller].update(found.others)
            if marked or found.divisible:
                self.divisible.add(caller)
        return found.name

    def as_before(self, f: types.FunctionType) -> FunctionName | None:
        """The name of f from earlier walks, if it is still valid."""
        found = self.settled.get(f)
        if self.divided and found is not None and (found.others or found.divisible):
            return None
        return found if found and all(self.function(g) == name for g, name in found.others.items()) else None

    def described(self, f: types.FunctionType) -> FunctionName:
        """Names f by all that it refers to."""
        reached = self.open[f] = {}
        attributes = names_read(f.__code__).attributes
        defaults = [("a default", f.__defaults__), *sorted((f.__kwdefaults__ or {}).items())]
        parts = [code_text(f.__code__)]
        around, self.is_users = self.is_users, not is_ours(f)
        if self.is_users:
            self.read.function(f)
        for name, value in (*defaults, *captured(f)):
            self.reading = f"{f.__qualname__} reads {name}"
            parts.append(f"{name}={self.value(value, attributes)}")
        del self.open[f]
        self.is_users = around
        name = hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
        if not is_ours(f):
            return FunctionName(name, {f: name}, f in self.divisible)
        found = FunctionName(name, reached, f in self.divisible)
        if not self.volatile and not self.divided:
            _settled[f] = found
        return found

    def value(self, value: Any, attributes: frozenset[str], inside: tuple[types.ModuleType, ...] = ()) -> str:
        """Describes a value by a text that is equal for two values only if a kernel cannot tell them apart."""
        value = plain(value)
        kind = type(value)
        if kind is types.FunctionType and value in self.known:  # a known function is not foreign
            return self.called(value)
        if (text := scalar_text(value)) is not None:
            return text
        if kind is tuple or is_record(kind):
            label = "tuple" if kind is tuple else self.record(kind)
            return f"{label}({','.join(self.value(v, attributes, inside) for v in value)})"
        if kind is Unset:
            return "unset"
        if kind is np.ndarray or isinstance(value, np.generic):
            self.read.lasts = self.read.lasts and not (self.is_users and kind is np.ndarray)
            if not value.dtype.hasobject:
                content = hashlib.sha256(value.tobytes()).hexdigest()
                return f"numpy:{kind.__name__}:{value.dtype!r}:{value.shape}:{content}"
        elif is_primitive(value):
            return f"primitive:{home(value)}"
        elif is_foreign(value):
            return f"foreign:{home(value)}"
        elif kind is types.FunctionType:
            return self.called(value)
        elif kind is types.ModuleType:
            if value in inside:
                return "module"
            if self.is_users:
                self.read.module(value, attributes)
            used = [(a, getattr(value, a)) for a in sorted(attributes) if hasattr(value, a)]
            inside = (*inside, value)
            return f"module({','.join(f'{a}={self.value(v, attributes, inside)}' for a, v in used)})"
        elif is_record(value):
            return self.record(value)
        return self.identity(value)

    def called(self, f: types.FunctionType) -> str:
        """The name of a function that another one refers to."""
        reading = self.reading
        name = self.function(f)
        self.reading = reading
        return name

    def record(self, kind: Any) -> str:
        """Describes a NamedTuple class by its fields. Two classes that look alike get different texts."""
        defaults = [f"{k}={self.value(v, frozenset())}" for k, v in kind._field_defaults.items()]
        text = f"record:{kind.__module__}.{kind.__qualname__}{kind._fields}{defaults}"
        return text if self.records.setdefault(text, kind) is kind else self.identity(kind)

    def identity(self, value: Any) -> str:
        """Names a value by its identity, which is good while this process lives."""
        kind = type(value)
        self.volatile = f"{self.reading}, a {kind.__module__}.{kind.__qualname__}, whose content has no name"
        self.unnamed.append(value)
        return f"identity:{id(value)}"
