"""Finds out from its code whether a function may be non-smooth: whether it branches, or calls something like `abs`."""

import builtins
import dis
import math
import types
from functools import lru_cache
from typing import Any

import numpy as np

from polhode.compiler.digest import captured, is_foreign, is_primitive, name_now, names_read, plain
from polhode.kernels.ops import where

BENT = frozenset({
    where, builtins.abs, builtins.divmod, builtins.int, builtins.max, builtins.min, builtins.round, math.ceil,
    math.copysign, math.fabs, math.floor, math.fmod, math.modf, math.remainder, math.trunc, np.abs, np.ceil, np.clip,
    np.copysign, np.digitize, np.fabs, np.floor, np.floor_divide, np.fmax, np.fmin, np.fmod, np.heaviside, np.interp,
    np.maximum, np.minimum, np.mod, np.piecewise, np.rint, np.round, np.searchsorted, np.select, np.sign, np.trunc,
    np.where,
})  # fmt: skip
"""Functions that are not smooth everywhere: they jump or have a kink."""

BENT_METHODS = frozenset({"argmax", "argmin", "argsort", "clip", "max", "min", "round", "searchsorted", "sort"})
"""Methods of arrays that are not smooth everywhere."""


def may_bend(f: Any) -> bool:
    """Whether f, or a function that it calls, branches, divides with a remainder or calls one of `BENT`."""
    content = name_now(f)  # a function that f calls may be another one meanwhile
    return _may_bend.__wrapped__(f, None) if content is None else _may_bend(f, content)


@lru_cache(maxsize=256)
def _may_bend(f: Any, content: str | None) -> bool:
    seen, to_see = set[int](), [f]
    while to_see:
        function = plain(to_see.pop())
        if id(function) in seen:
            continue
        seen.add(id(function))
        if isinstance(function, types.ModuleType) or is_primitive(function) or is_foreign(function):
            continue
        if not isinstance(function, types.FunctionType) or hasattr(function, "__smooth_between_breakpoints__"):
            continue
        if _branches(function.__code__):
            return True
        reached = _reached(function)
        if any(_is_bent(value) for value in reached):
            return True
        to_see.extend(reached)
    return False


def is_smooth(f: types.FunctionType, owner: Any = None) -> bool:
    """Whether the code of f, a method of the `owner` if there is one, can be read as a whole and is smooth everywhere.

    Unlike `may_bend`, it takes everything that it cannot read for something that may bend.
    """
    seen, to_see = set[Any](), [f]
    while to_see:
        function = to_see.pop()
        if function in seen:
            continue
        seen.add(function)
        if may_bend(function):
            return False
        reached = [value for _, value in captured(function) if not isinstance(value, types.ModuleType)]
        modules = [value for _, value in captured(function) if isinstance(value, types.ModuleType)]
        for name in names_read(function.__code__).attributes:
            holders = [m for m in (*modules, owner) if m is not None and hasattr(m, name)]
            if not holders and not (hasattr(np.ndarray, name) and name not in BENT_METHODS):
                return False
            reached += [getattr(m, name) for m in holders]
        for value in map(plain, reached):
            inner = value.__func__ if isinstance(value, types.MethodType) else value
            if is_primitive(inner) or is_foreign(inner) or not callable(inner):
                continue
            if not isinstance(inner, types.FunctionType):
                return False
            to_see.append(inner)
    return True


def _branches(code: types.CodeType) -> bool:
    """Whether the code, or code nested in it, has a jump. Comprehensions are nested up to Python 3.11."""
    nested = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return any(map(_jumps, dis.get_instructions(code))) or any(map(_branches, nested))


def _jumps(i: dis.Instruction) -> bool:
    """Whether an instruction jumps on a condition, or its result does: of a comparison, of a division to remainders."""
    if i.opname == "BINARY_OP":
        return i.argrepr.rstrip("=") in ("%", "//")
    if i.opname == "COMPARE_OP":  # its result may be used as a number
        return "<" in i.argrepr or ">" in i.argrepr
    return "JUMP" in i.opname and "IF" in i.opname


def _reached(f: types.FunctionType) -> list[Any]:
    """The values that f can call, by a name of its own or through a module."""
    out: list[Any] = []
    attributes = names_read(f.__code__).attributes
    for _, value in captured(f):
        if isinstance(value, types.ModuleType):
            out.extend(getattr(value, name) for name in attributes if hasattr(value, name))
        else:
            out.append(value)
    return out


def _is_bent(value: Any) -> bool:
    return callable(value) and any(value is other for other in BENT)
