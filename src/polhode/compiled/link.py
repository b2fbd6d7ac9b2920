"""Makes one program of many plain functions. Imported on a cache miss only.

Kernels are ordinary Python functions that call each other by ordinary names. `link` makes a copy of each reachable
function in which those names stand for compiled functions, and hands the copies to Numba. A copy sees what `digest`
has seen and nothing else: what is not part of the program's name cannot become part of the program. Programs of one
process share the copies of equal functions, so that Numba compiles each only once: that takes a third of the time.
"""

import types
from typing import Any

import numba
import numpy as np

from polhode.compiled.assemble import Compiler
from polhode.compiled.digest import (
    UNSET,
    Walk,
    builtins_of,
    captured,
    code_text,
    is_foreign,
    is_ours,
    is_primitive,
    is_record,
    names_read,
    plain,
)
from polhode.compiled.guard import GuardedCompiler
from polhode.compiled.primitives import COMPILED
from polhode.compiled.recent import Recent
from polhode.compiled.twins import Shape

OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "nogil": True,
    "fastmath": False,  # the bits do not depend on inlining: fused operations are written where they are wanted
    "no_cpython_wrapper": True,  # the parts are not called from Python; the wrappers are half the compilation
    "no_cfunc_wrapper": True,
}


MOST_SHARED = 1000
"""Functions of this package whose compiled forms are kept for later programs: about 0.1 MB each."""
MOST_SHARED_OF_USERS = 64
"""Functions that are a user's, or call one: every torque brings about five, and few torques are used again."""

_shared: dict[tuple[Any, ...], Any] = Recent(MOST_SHARED)
"""The dispatchers of functions in earlier programs, for later ones to use again."""
_shared_of_users: dict[tuple[Any, ...], Any] = Recent(MOST_SHARED_OF_USERS)
"""The same for functions that reach a user's."""
_records: dict[str, type] = {}
"""The NamedTuple classes in them, by the texts that describe them in the digest."""


def link(f: types.FunctionType, *, runtime: bool) -> Any:
    """Returns f as a Numba dispatcher, with everything it calls inlined, with or without Numba's runtime library."""
    return _Linker(f, runtime).dispatcher(f, inline=False)


class _Linker:
    def __init__(self, f: types.FunctionType, runtime: bool) -> None:
        self.runtime = runtime
        self.walk = Walk()
        self.walk.function(f)
        # Equal names mean equal functions, but a value named by its identity may have changed since, and a class that
        # was defined again is another one to Numba.
        same = all(_records.setdefault(name, kind) is kind for name, kind in self.walk.records.items())
        self.shares = same and not self.walk.volatile
        self.own: dict[tuple[Any, ...], Any] = {}

    def linked(self, f: types.FunctionType) -> Any:
        """Returns the dispatcher that replaces f where it is called."""
        code = f.__code__
        # error messages show the file and line of a function, which its name does not cover
        key = (self.walk.function(f), code.co_filename, code.co_firstlineno, self.runtime)
        made = self.own
        if self.shares:
            made = _shared_of_users if self.walk.known[f].others else _shared
        if (found := made.get(key)) is None:
            found = made[key] = self.dispatcher(f, inline=not hasattr(f, "__apart__"))
        return found

    def dispatcher(self, f: types.FunctionType, *, inline: bool) -> Any:
        """Returns a copy of f as a Numba dispatcher, in which names stand for linked values."""
        # The symbol carries the content: two functions of one name never share a symbol.
        symbol = f"{f.__name__}_{self.walk.function(f)[:16]}"
        attributes = names_read(f.__code__).attributes
        values = {name: self.value(value, attributes) for name, value in captured(f)}
        cells = [values.pop(k) for k in f.__code__.co_freevars]
        copy = types.FunctionType(
            f.__code__,
            {**values, "__name__": __name__, "__builtins__": builtins_of(f)},
            f.__name__,
            f.__defaults__ and tuple(self.value(v, attributes) for v in f.__defaults__),
            tuple(types.CellType() if v is UNSET else types.CellType(v) for v in cells),
        )
        copy.__kwdefaults__ = f.__kwdefaults__
        copy.__module__, copy.__qualname__ = __name__, symbol
        guarded = not is_ours(f)
        if self.shares and not guarded:
            linked = {**values, **dict(zip(f.__code__.co_freevars, cells, strict=True))}
            if (shape := self.shape(f, linked, attributes, inline)) is not None:
                copy.__shape__ = shape  # type: ignore[attr-defined]
        options = {**OPTIONS, "_nrt": self.runtime, "forceinline": inline, "boundscheck": guarded}
        return numba.njit(**options, pipeline_class=GuardedCompiler if guarded else Compiler)(copy)

    def shape(
        self, f: types.FunctionType, linked: dict[str, Any], attributes: frozenset[str], inline: bool
    ) -> Shape | None:
        """Returns what f is besides what it calls; None if it calls none of our functions."""
        called: dict[Any, int] = {}
        text: list[Any] = [code_text(f.__code__), f.__code__.co_filename, f.__code__.co_firstlineno]
        text += [self.runtime, inline, self.walk.value(f.__defaults__, attributes)]
        text += [f"{k}={self.walk.value(v, attributes)}" for k, v in sorted((f.__kwdefaults__ or {}).items())]
        for name, value in captured(f):
            bare = plain(value)
            if isinstance(bare, types.FunctionType) and not is_primitive(bare) and not is_foreign(bare):
                text.append(f"{name}=function {called.setdefault(linked[name], len(called))}")
            else:
                text.append(f"{name}={self.walk.value(value, attributes)}")
        return Shape(tuple(text), tuple(called)) if called else None

    def value(self, value: Any, attributes: frozenset[str], inside: dict[Any, Any] | None = None) -> Any:
        """Returns the value that a name has in the linked copy."""
        value, inside = plain(value), inside or {}
        if is_primitive(value):
            return COMPILED[value]
        if isinstance(value, types.FunctionType) and not is_foreign(value):
            return self.linked(value)
        if isinstance(value, types.ModuleType) and not is_foreign(value):
            if value not in inside:
                copy = inside[value] = types.ModuleType(value.__name__)
                for a in attributes:
                    if hasattr(value, a):
                        setattr(copy, a, self.value(getattr(value, a), attributes, inside))
            return inside[value]
        if type(value) is tuple:
            return tuple(self.value(v, attributes, inside) for v in value)
        if is_record(type(value)):
            return value._make(self.value(v, attributes, inside) for v in value)
        if type(value) is np.ndarray and not value.dtype.hasobject:
            constant = np.array(value, order="C")  # as it is now: large arrays are not copied into the code
            constant.flags.writeable = False  # so that its type is that of a constant, wherever it is found
            return constant
        return value
