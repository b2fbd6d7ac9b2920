"""Makes one program of many plain functions. Imported on a cache miss only.

Kernels are ordinary Python functions that call each other by ordinary names. `link` makes a copy of each reachable
function in which those names stand for compiled functions, and hands the copies to Numba. A copy sees what `digest`
has seen and nothing else: what is not part of the program's name cannot become part of the program. Programs of one
process share the copies of equal functions, so that Numba compiles each only once: that takes a third of the time.
"""

# mypy: disable-error-code="no-untyped-call, misc, untyped-decorator"

import ctypes
import types
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.errors import TypingError
from numba.core.untyped_passes import IRProcessing

from polhode.compiler.call_separate import called, result_of
from polhode.compiler.digest import (
    UNSET,
    DigestWalk,
    builtins_of,
    captured,
    is_foreign,
    is_ours,
    is_primitive,
    is_record,
    names_read,
    plain,
)
from polhode.compiler.primitives import COMPILED
from polhode.compiler.recently_used import Recent
from polhode.kernels.codegen import function
from polhode.kernels.elementary.replacements import calls_by_usual_names, has_replaced, replaced
from polhode.kernels.status import EXCEPTION
from polhode.support.interrupts import stop_if_ending

OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "fastmath": False,  # the bits do not depend on inlining: fused operations are written where they are wanted
}
SAVING: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""The parts of a program are not called from Python, and wrappers are half of a compilation."""
POINTER = (
    "it calls a Python function, or code made in this process, through a pointer: an exception there would be lost; "
    "write it as a plain function, which is compiled with the torque, make a torque of the Python function with "
    "@torque(compiled=False), or of the address with torque_from_pointer"
)
"""Why a call by address is refused."""


UNCHECKED = frozenset({"flat", "nditer", "as_strided", "carray", "farray"})
"""Ways to the items of an array that Numba's `boundscheck` does not see."""

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


@register_pass(mutates_CFG=False, analysis_only=True)
class StopIfEnding(FunctionPass):
    """Ends a compilation, between two functions, if the process is about to end."""

    _name = "polhode_give_up"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Changes nothing."""
        stop_if_ending()
        return False


class Compiler(CompilerBase):
    """Numba's compiler for the parts of programs."""

    def define_pipelines(self) -> list[Any]:
        """Returns Numba's passes, and one more."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(StopIfEnding, IRProcessing)
        passes.finalize()
        return [passes]


def link(f: types.FunctionType, kinds: Sequence[Any], *, divided: bool = False) -> Any:
    """Returns f, which takes arguments of these types, as a `numba.cfunc`, with everything it calls inlined.

    It returns what f returns, EXCEPTION if f raises one: then its code has no need of Python. If it is divided, it
    calls users' torques by addresses.
    """
    given = ", ".join(f"a{k}" for k in range(len(kinds)))
    lines = ["try:", f"    return main({given})", "except Exception:", f"    return {EXCEPTION}"]
    main = _Linker(f, divided).dispatcher(f, inline=False)
    entry = function(f"entry({given})", lines, {"main": main})
    return numba.cfunc(numba.int64(*kinds), **OPTIONS)(entry)


def link_apart(f: types.FunctionType, kinds: Sequence[Any], lanes: int) -> Any:
    """Returns a function that programs call by its address (`separate.py`) in the same way."""
    main = _Linker(f, divided=False).dispatcher(f, inline=True)
    return numba.cfunc(result_of(lanes)(*kinds), **OPTIONS)(main.py_func)


def dispatcher_of(f: types.FunctionType) -> Any:
    """Returns f as a Numba dispatcher, for a loop that is written by hand to be compared with."""
    return _Linker(f, divided=False).dispatcher(f, inline=True)


class _Symbol(ctypes.Structure):
    """What the loader knows of an address."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("file", "base", "name", "address"))


_FUNCTION_OF_C: Any = ctypes.CFUNCTYPE(None).__bases__[0]


def is_in_library(address: Any) -> bool:
    """Whether the address lies in a shared library or in the program itself: Python's callbacks do not."""
    return bool(ctypes.CDLL(None).dladdr(address, ctypes.byref(_Symbol())))


class _Linker:
    def __init__(self, f: types.FunctionType, divided: bool) -> None:
        self.walk = DigestWalk(divided=divided)
        self.walk.function(f)
        # Equal names mean equal functions, but a value named by its identity may have changed since, and a class that
        # was defined again is another one to Numba.
        same = all(_records.setdefault(name, kind) is kind for name, kind in self.walk.records.items())
        self.shares = same and not self.walk.volatile
        self.own: dict[tuple[Any, ...], Any] = {}

    def linked(self, f: types.FunctionType) -> Any:
        """Returns the dispatcher that replaces f where it is called."""
        if f in self.walk.apart:
            return called(self.walk.apart[f], **OPTIONS, **SAVING, forceinline=True)
        code = f.__code__
        # error messages show the file and line of a function, which its name does not cover
        key = (self.walk.function(f), code.co_filename, code.co_firstlineno)
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
        if not is_ours(f) and (found := attributes & UNCHECKED):
            raise TypingError(f"{min(found)} reads and writes arrays without a look at their ends: use indices")
        usual = calls_by_usual_names(f)
        values = {name: self.value(value, attributes, usual=usual) for name, value in captured(f)}
        cells = [values.pop(k) for k in f.__code__.co_freevars]
        copy = types.FunctionType(
            f.__code__,
            {**values, "__name__": __name__, "__builtins__": builtins_of(f)},
            f.__name__,
            f.__defaults__ and tuple(self.value(v, attributes, usual=usual) for v in f.__defaults__),
            tuple(types.CellType() if v is UNSET else types.CellType(v) for v in cells),
        )
        copy.__kwdefaults__ = f.__kwdefaults__
        copy.__module__, copy.__qualname__ = __name__, symbol
        options = {**OPTIONS, **SAVING, "forceinline": inline, "boundscheck": not is_ours(f)}
        return numba.njit(**options, pipeline_class=Compiler)(copy)

    def value(
        self, value: Any, attributes: frozenset[str], inside: dict[Any, Any] | None = None, *, usual: bool = False
    ) -> Any:
        """Returns the value that a name has in the linked copy, of a torque if functions have their `usual` names."""
        value, inside = plain(value), inside or {}
        value = replaced(value) if usual else value
        if is_primitive(value):
            return COMPILED[value]
        if isinstance(value, types.FunctionType) and not is_foreign(value):
            return self.linked(value)
        if isinstance(value, types.ModuleType) and (
            not is_foreign(value) or (usual and has_replaced(value, attributes))
        ):
            if value not in inside:
                copy = inside[value] = types.ModuleType(value.__name__)
                for a in attributes:
                    if hasattr(value, a):
                        setattr(copy, a, self.value(getattr(value, a), attributes, inside, usual=usual))
            return inside[value]
        if type(value) is tuple:
            return tuple(self.value(v, attributes, inside, usual=usual) for v in value)
        if is_record(type(value)):
            return value._make(self.value(v, attributes, inside, usual=usual) for v in value)
        if type(value) is np.ndarray and not value.dtype.hasobject:
            constant = np.array(value, order="C")  # as it is now: large arrays are not copied into the code
            constant.flags.writeable = False  # so that its type is that of a constant, wherever it is found
            return constant
        if isinstance(value, _FUNCTION_OF_C) and not is_in_library(ctypes.cast(value, ctypes.c_void_p)):
            raise TypingError(POINTER)
        return value
