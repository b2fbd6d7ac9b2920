"""One program out of many plain functions. Imported on a cache miss only.

Kernels are ordinary Python functions that call each other by ordinary names. `link` makes a copy of each reachable
function in which those names stand for compiled functions, and hands the copies to Numba.
"""

import types
from typing import Any

import numba

from polhode.compiled.digest import captured, digest, is_foreign, is_primitive, names_read, plain
from polhode.compiled.primitives import COMPILED

OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "fastmath": False}
"""Without fastmath the bits do not depend on inlining: fused operations are written where they are wanted."""


def link(f: types.FunctionType, *, runtime: bool) -> Any:
    """f as a Numba dispatcher, with everything it calls inlined, with or without Numba's runtime library."""
    linker = _Linker({**OPTIONS, "_nrt": runtime})
    return linker.linked(f, {"no_cpython_wrapper": True, "no_cfunc_wrapper": True})


class _Linker:
    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.made: dict[types.FunctionType, Any] = {}

    def linked(self, f: types.FunctionType, options: dict[str, Any]) -> Any:
        if f not in self.made:
            attributes = names_read(f.__code__).attributes
            values = {name: self.value(value, attributes) for name, value in captured(f)}
            free = f.__code__.co_freevars
            names = {**f.__globals__, **{k: v for k, v in values.items() if k not in free}, "__name__": __name__}
            cells = tuple(types.CellType(values[k]) for k in free)
            copy = types.FunctionType(f.__code__, names, f.__name__, f.__defaults__, cells)
            copy.__kwdefaults__ = f.__kwdefaults__
            copy.__module__ = __name__
            # The symbol carries the content: two functions of one name never share a symbol.
            copy.__qualname__ = f"{f.__name__}_{digest(f).name[:16]}"
            self.made[f] = numba.njit(**self.options, **options)(copy)
        return self.made[f]

    def value(self, value: Any, attributes: frozenset[str]) -> Any:
        """What a name stands for in the linked copy."""
        value = plain(value)
        if isinstance(value, types.FunctionType):
            if is_primitive(value):
                return COMPILED[value]
            if is_foreign(value):
                return value
            return self.linked(value, {"forceinline": True})
        if isinstance(value, types.ModuleType) and not is_foreign(value):
            copy = types.ModuleType(value.__name__)
            for a in attributes:
                if hasattr(value, a):
                    setattr(copy, a, self.value(getattr(value, a), attributes))
            return copy
        if type(value) is tuple:
            return tuple(self.value(v, attributes) for v in value)
        return value
