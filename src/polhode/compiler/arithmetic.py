"""Kernels that are plain arithmetic: they take arrays for numbers, and give each row the bits that it would have
alone."""

import dis
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from polhode.compiler.digest import captured, names_read, plain
from polhode.support.arrays import Floats
from polhode.support.interrupts import is_from_handler

_SAME_FOR_ARRAYS = frozenset({"+", "-", "*", "/", "[]"})
"""The operations that NumPy rounds as Python does. Powers are not among them."""

_ONLY_FOR_NUMBERS = ("JUMP", "COMPARE", "CONTAINS", "IS_OP", "UNARY_NOT", "IMPORT", "YIELD", "AWAIT")
"""Parts of the names of instructions that decide something, or that reach what cannot be seen here."""


def is_arithmetic(f: Any) -> bool:
    """Whether f, with all functions that it calls, does nothing but add, subtract, multiply and divide numbers."""
    seen, to_see = set[types.FunctionType](), [f]
    while to_see:
        value = plain(to_see.pop())
        if type(value) in (int, float):
            continue
        if not isinstance(value, types.FunctionType):
            return False
        if value in seen or hasattr(value, "__branches_by_parameters__"):
            continue
        if not _has_plain_code(value.__code__):
            return False
        seen.add(value)
        reached = [other for _, other in captured(value)]
        modules = [other for other in reached if isinstance(other, types.ModuleType)]
        to_see += [other for other in reached if not isinstance(other, types.ModuleType)]
        for name in names_read(value.__code__).attributes:  # of modules, or else of what cannot be seen
            found = [getattr(module, name) for module in modules if hasattr(module, name)]
            if not found:
                return False
            to_see += found
    return True


def _has_plain_code(code: types.CodeType) -> bool:
    if any(isinstance(constant, types.CodeType) for constant in code.co_consts):
        return False
    return all(_is_plain(instruction) for instruction in dis.get_instructions(code))


def _is_plain(i: dis.Instruction) -> bool:
    if i.opname == "BINARY_OP":
        return i.argrepr in _SAME_FOR_ARRAYS
    if i.opname.startswith(("STORE", "DELETE")):
        return "FAST" in i.opname
    return not any(part in i.opname for part in _ONLY_FOR_NUMBERS)


def all_rows_at_once(kernel: Callable[..., Any], t: Any, q: Any, p: Any, shape: tuple[int, ...]) -> Floats | None:
    """The kernel of arrays, one number for each row; None if it must be called for one row after the other.

    That is so for a kernel that is not plain arithmetic, and for one that divides by zero: Python raises an error then.
    No parameter may be a table: tables are looked up at one time after the other.
    """
    if not is_arithmetic(kernel):
        return None
    try:
        with np.errstate(divide="raise", invalid="raise", over="ignore", under="ignore"):
            made = np.asarray(kernel(t, q, p), dtype=np.float64)
    except Exception as problem:  # the user's code may raise anything, and does so again for the row that is the cause
        if is_from_handler(problem):
            raise
        return None
    return np.array(np.broadcast_to(made, shape)) if made.shape in ((), shape) else None
