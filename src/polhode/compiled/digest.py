"""What a function depends on, as a name.

`digest` names a function by everything it can reach: its bytecode and constants, the values it closes over, the module
constants it reads and, recursively, the functions it calls. Two functions with one digest are one program; edit a
helper anywhere and the digest changes. No source is needed: scripts and notebook cells have digests too.
"""

import dis
import hashlib
import types
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

FOREIGN = frozenset({"math", "cmath", "numpy", "builtins", "operator"})
"""Packages that Numba knows by name. Their versions, not their contents, count."""

_SCALARS = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))


class Digest(NamedTuple):
    """The name of a function by content; if it is good for this process only, the reason why."""

    name: str
    volatile: str | None


class Recursion(TypeError):
    """The function calls itself: cached callers of recursive functions crash when they are loaded again."""


class Names(NamedTuple):
    """The names that a piece of code looks up."""

    globals: frozenset[str]
    attributes: frozenset[str]


@lru_cache(maxsize=4096)
def names_read(code: types.CodeType) -> Names:
    """Every global and every attribute that the code, or code nested in it, mentions."""
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
    return Names(frozenset(found), frozenset(attributes))


def plain(value: Any) -> Any:
    """The Python function behind a Numba dispatcher; anything else as it is."""
    return getattr(value, "py_func", value)


def is_primitive(f: Any) -> bool:
    """Whether the compiled form of f is registered, not derived."""
    return hasattr(f, "__primitive__")


def is_foreign(value: Any) -> bool:
    """Whether Numba knows the function, class or module by its name."""
    if isinstance(value, types.ModuleType):
        module = value.__name__
    else:
        module = getattr(value, "__module__", None) or type(value).__module__
    if module == "builtins" and isinstance(value, types.FunctionType):
        return False  # made by exec in a bare namespace
    return module.partition(".")[0] in FOREIGN


def captured(f: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Every value that f refers to by a global or closed-over name, in a fixed order."""
    for name in sorted(names_read(f.__code__).globals):
        if name in f.__globals__:
            yield name, f.__globals__[name]
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        yield name, cell.cell_contents


def digest(f: types.FunctionType) -> Digest:
    """The name of f by content."""
    walk = _Walk()
    name = walk.function(f)
    return Digest(name, walk.volatile)


class _Walk:
    """One walk over everything a function reaches. Each function is described once."""

    def __init__(self) -> None:
        self.known: dict[types.FunctionType, str] = {}
        self.open: list[types.FunctionType] = []
        self.volatile: str | None = None

    def function(self, f: types.FunctionType) -> str:
        if f in self.open:
            raise Recursion(f"{f.__qualname__} calls itself; write it as a loop")
        if f not in self.known:
            self.open.append(f)
            attributes = names_read(f.__code__).attributes
            parts = [self.code(f.__code__), self.value(f.__defaults__, attributes)]
            parts += [f"{k}={self.value(v, attributes)}" for k, v in sorted((f.__kwdefaults__ or {}).items())]
            parts += [f"{name}={self.value(value, attributes)}" for name, value in captured(f)]
            self.open.pop()
            self.known[f] = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        return self.known[f]

    def code(self, code: types.CodeType) -> str:
        constants = [self.code(c) if isinstance(c, types.CodeType) else self.constant(c) for c in code.co_consts]
        layout = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        return repr((code.co_name, code.co_code.hex(), code.co_exceptiontable.hex(), constants, layout, counts))

    def constant(self, value: Any) -> str:
        if isinstance(value, tuple):
            return f"({','.join(map(self.constant, value))})"
        if isinstance(value, frozenset):  # no order of its own: the repr differs from process to process
            return f"{{{','.join(sorted(map(self.constant, value)))}}}"
        return f"{type(value).__name__}:{value!r}"

    def value(self, value: Any, attributes: frozenset[str]) -> str:
        """A text that is equal for two values only if a kernel cannot tell them apart."""
        value = plain(value)
        if isinstance(value, _SCALARS):
            return f"{type(value).__module__}.{type(value).__qualname__}:{value!r}"
        if isinstance(value, tuple):
            items = ",".join(self.value(v, attributes) for v in value)
            return f"{type(value).__qualname__}{getattr(value, '_fields', ())}({items})"
        if isinstance(value, types.ModuleType) and not is_foreign(value):
            used = [(a, getattr(value, a)) for a in sorted(attributes) if hasattr(value, a)]
            return f"module:{value.__name__}({','.join(f'{a}={self.value(v, attributes)}' for a, v in used)})"
        if isinstance(value, types.FunctionType):
            if is_primitive(value):
                return f"primitive:{value.__module__}.{value.__qualname__}"
            if not is_foreign(value):
                return self.function(value)
        if isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
            return f"class:{value.__qualname__}:{value._fields}"
        if type(value).__module__ == "numpy" and hasattr(value, "tobytes"):
            content = hashlib.sha256(value.tobytes()).hexdigest()
            return f"numpy:{value.dtype.str}:{value.shape}:{value.strides}:{content}"
        if is_foreign(value):
            name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
            if name is not None:
                return f"foreign:{getattr(value, '__module__', '')}.{name}"
        # Only its identity tells it from another value: good while this process lives.
        where = self.open[-1].__qualname__
        self.volatile = f"{where} reads a value of type {type(value).__name__}, whose content has no name"
        return f"identity:{id(value)}"
