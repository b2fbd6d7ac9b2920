"""Users' functions that `translate.py` does not know, compiled by Numba. Imported on a cache miss only.

Such a function becomes a `numba.cfunc` that takes numbers and addresses and writes what the function returns to memory.
It and what it calls are copied: a copy sees what `digest` has seen and nothing else, so that what is not part of the
program's name cannot become part of the program. In a copy the kernels of `kernels/elementary` stand for the functions
of `math`: the program that calls has them, translated.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, attr-defined, untyped-decorator"
# Numba compares the signatures of an overload and of what it returns, annotations included: so overloads have none.

import ctypes
import inspect
import sys
import types
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from llvmlite.binding import add_symbol
from numba import carray
from numba import types as of_numba
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload

from polhode.compiler.digest import (
    UNSET,
    builtins_of,
    captured,
    is_foreign,
    is_ours,
    is_primitive,
    is_record,
    names_read,
    plain,
)
from polhode.compiler.programs import c_library
from polhode.compiler.translate import MOST_RETURNED
from polhode.kernels import ops
from polhode.kernels.codegen import function
from polhode.kernels.elementary import replacements
from polhode.kernels.status import EXCEPTION

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
UNKNOWN_LENGTH = 1 << 40
"""The length of an array of which only the function itself knows how long it is."""


class NoForm(Exception):
    """The function takes or calls something that only translated code has."""


class Door(NamedTuple):
    """A function that Numba has compiled."""

    symbol: str
    text: str
    """LLVM's text."""
    result: Any
    """The type of what it returns, as `translate._shape` has it; an array is ("items", place, place of its length)."""
    floats: int
    whole: int
    """The floats and the integers that it writes."""
    kernels: dict[str, types.FunctionType]
    """The kernels that it calls by these names."""
    code: Any
    """What the text has addresses of."""


def dispatcher_of(f: types.FunctionType) -> Any:
    """Returns f as a Numba dispatcher, for a loop that is written by hand to be compared with."""
    return _Linker().linked(f)


def door(f: types.FunctionType, shapes: Sequence[Any]) -> Door:
    """Has a function compiled for arguments of these types (`translate._shape`)."""
    linker = _Linker()
    kinds, names, made = [], [], []
    for k, shape in enumerate(shapes):
        of_python, pieces, written = _argument(shape, f"a{k}", linker)
        made.append(written)
        if of_python is not None:
            kinds.append(of_python)
        names += pieces
    main = numba.njit(tuple(kinds), **linker.options(f, inline=True))(linker.copy(f))
    outcome = _Outcome()
    kind = main.nopython_signatures[0].return_type
    result = outcome.of(kind, "found")
    given = ", ".join(text for shape, text in zip(shapes, made, strict=True) if shape[0] != "constant")
    lines = ["try:", f"    found = main({given})", *outcome.lines, "    return 0"]
    lines += ["except Exception:", f"    return {EXCEPTION}"]
    head = ", ".join([*(name for name, _ in names), "out", "whole"])
    entry = function(f"entry({head})", lines, {"main": main, "carray": carray, **linker.records})
    pointers = (of_numba.CPointer(of_numba.float64), of_numba.CPointer(of_numba.int64))
    code = numba.cfunc(of_numba.int64(*(kind for _, kind in names), *pointers), **OPTIONS)(entry)
    return Door(
        code.native_name, code.inspect_llvm(), result, outcome.floats, outcome.whole, linker.kernels, code
    )  # fmt: skip


_NUMBERS: dict[Any, Any] = {"f": of_numba.float64, "i": of_numba.int64, "b": of_numba.boolean}


def _argument(shape: Any, name: str, linker: "_Linker") -> tuple[Any, list[tuple[str, Any]], str]:
    """The type of an argument, the numbers and addresses that it is made of, and how it is made of them."""
    kind, *rest = shape
    if kind in _NUMBERS:
        of_python = _NUMBERS[kind]
        return (
            of_python,
            [(name, of_numba.int64 if kind == "b" else of_python)],
            f"{name} != 0" if kind == "b" else name,
        )
    if isinstance(kind, type):
        parts = [_argument(item, f"{name}_{k}", linker) for k, item in enumerate(rest)]
        text = f"({''.join(f'{made}, ' for _, _, made in parts)})"
        pieces = [piece for _, some, _ in parts for piece in some]
        if is_record(kind):
            linker.records[kind.__name__] = kind
            return of_numba.NamedTuple([t for t, _, _ in parts], kind), pieces, f"{kind.__name__}{text}"
        return of_numba.Tuple([t for t, _, _ in parts]), pieces, text
    pointer = of_numba.CPointer(of_numba.float64)
    if kind == "memory":
        item = _NUMBERS[rest[0]]
        return of_numba.Array(item, 1, "C"), [(name, of_numba.CPointer(item))], f"carray({name}, ({UNKNOWN_LENGTH},))"
    if kind == "view" and rest[1] == "f":
        pieces = [(name, pointer), (f"{name}_n", of_numba.int64)]
        return _array(1, rest[0]), pieces, f"carray({name}, ({name}_n,))"
    if kind == "matrix":
        pieces = [(name, pointer), (f"{name}_n", of_numba.int64), (f"{name}_k", of_numba.int64)]
        return _array(2, False), pieces, f"carray({name}, ({name}_n, {name}_k))"
    raise NoForm(f"an argument {shape}")


def _array(dimensions: int, writable: bool) -> Any:
    return of_numba.Array(of_numba.float64, dimensions, "C", readonly=not writable)


class _Outcome:
    """What a function returns, and the statements that write it to memory."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.floats = self.whole = 0

    def of(self, kind: Any, text: str) -> Any:
        """The type of a value of Numba's type."""
        if isinstance(kind, of_numba.Float):
            self.lines.append(f"    out[{self.floats}] = {text}")
            self.floats += 1
            return "f", 0
        if isinstance(kind, of_numba.Integer | of_numba.Boolean):
            self.lines.append(f"    whole[{self.whole}] = {text}")
            self.whole += 1
            return "b" if isinstance(kind, of_numba.Boolean) else "i", 0
        if isinstance(kind, of_numba.BaseTuple):
            record = kind.instance_class if isinstance(kind, of_numba.BaseNamedTuple) else tuple
            return record, *(self.of(item, f"{text}[{k}]") for k, item in enumerate(kind.types))
        if isinstance(kind, of_numba.NoneType):
            return "constant", None
        one_row = isinstance(kind, of_numba.List) or (isinstance(kind, of_numba.Array) and kind.ndim == 1)
        if one_row and isinstance(kind.dtype, of_numba.Float | of_numba.Integer | of_numba.Boolean):
            return self.items(text, "b" if isinstance(kind.dtype, of_numba.Boolean) else "f")
        odd = {
            of_numba.Complex: "complex", of_numba.Optional: "None", of_numba.UnicodeType: "a string",
            of_numba.Array: f"an array of {getattr(kind, 'ndim', 0)} dimensions", of_numba.List: "a list",
        }  # fmt: skip
        return "odd", next((said for base, said in odd.items() if isinstance(kind, base)), str(kind))

    def items(self, text: str, kind: str) -> Any:
        """The type of a list or array of numbers."""
        n, place, length = f"n{self.whole}", self.floats, self.whole
        self.lines += [
            f"    {n} = len({text})", f"    if {n} > {MOST_RETURNED}:", "        raise ValueError('too many numbers')",
            f"    whole[{length}] = {n}", f"    for k in range({n}):", f"        out[{place} + k] = {text}[k]",
        ]  # fmt: skip
        self.floats, self.whole = place + MOST_RETURNED, length + 1
        return "items", kind, place, length


class _Symbol(ctypes.Structure):
    """What the loader knows of an address."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("file", "base", "name", "address"))


_FUNCTION_OF_C: Any = ctypes.CFUNCTYPE(None).__bases__[0]


def is_in_library(address: Any) -> bool:
    """Whether the address lies in a shared library or in the program itself: Python's callbacks do not."""
    if sys.platform == "win32":
        by_address, found = 4 + 2, ctypes.c_void_p()  # and without a reference that would have to be given back
        return bool(ctypes.windll.kernel32.GetModuleHandleExW(by_address, address, ctypes.byref(found)))
    return bool(ctypes.CDLL(None).dladdr(address, ctypes.byref(_Symbol())))


class _Linker:
    """Makes copies of functions that call each other compiled."""

    def __init__(self) -> None:
        self.made: dict[types.FunctionType, Any] = {}
        self.kernels: dict[str, types.FunctionType] = {}
        self.records: dict[str, type] = {}

    def options(self, f: types.FunctionType, *, inline: bool) -> dict[str, Any]:
        """How a function is compiled: users' functions with a look at indices."""
        return {**OPTIONS, **SAVING, "forceinline": inline, "boundscheck": not is_ours(f)}

    def linked(self, f: types.FunctionType) -> Any:
        """The dispatcher that replaces f where it is called."""
        if f not in self.made:
            self.made[f] = numba.njit(**self.options(f, inline=not hasattr(f, "__apart__")))(self.copy(f))
        return self.made[f]

    def copy(self, f: types.FunctionType) -> types.FunctionType:
        """A copy of f in which names stand for linked values."""
        attributes = names_read(f.__code__).attributes
        if not is_ours(f) and (found := attributes & UNCHECKED):
            raise TypingError(f"{min(found)} reads and writes arrays without a look at their ends: use indices")
        usual = replacements.calls_by_usual_names(f)
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
        copy.__module__, copy.__qualname__ = __name__, f"{f.__name__}_{len(self.made):016x}"
        return copy

    def value(
        self, value: Any, attributes: frozenset[str], inside: dict[Any, Any] | None = None, *, usual: bool = False
    ) -> Any:
        """The value that a name has in the linked copy, of a torque if functions have their `usual` names."""
        value, inside = plain(value), inside or {}
        value = replacements.replaced(value) if usual else value
        if isinstance(value, types.FunctionType) and value in _KERNELS:
            return self.outside(value)
        if is_primitive(value):
            return _primitive(value)
        if isinstance(value, types.FunctionType) and not is_foreign(value):
            return self.linked(value)
        if isinstance(value, types.ModuleType) and (
            not is_foreign(value) or (usual and replacements.has_replaced(value, attributes))
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

    def outside(self, kernel: types.FunctionType) -> Any:
        """What calls a kernel of floats, which the program has."""
        symbol = f"polhode_{kernel.__name__}"
        self.kernels[symbol] = kernel
        add_symbol(symbol, ctypes.cast(c_library().abort, ctypes.c_void_p).value)  # Numba loads what it compiles
        return _outside(symbol, tuple(inspect.signature(kernel).parameters))


_KERNELS = frozenset(replacements.KERNELS.values())


@lru_cache(maxsize=128)
def _outside(symbol: str, names: tuple[str, ...]) -> Any:
    """A function of floats that calls one outside of the code."""

    def emitted(*numbers: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = ir.FunctionType(ir.DoubleType(), [ir.DoubleType()] * len(args))
            called = builder.module.globals.get(symbol) or ir.Function(builder.module, kind, symbol)
            return builder.call(called, args)

        return of_numba.float64(*[of_numba.float64] * len(numbers)), emit

    given = ", ".join(names)
    call = intrinsic(function(f"call(typing_context, {given})", [f"return emitted({given})"], {"emitted": emitted}))
    plainly = function(f"of_floats({given})", [f"return call({given})"], {"call": call})
    return numba.njit(**OPTIONS, **SAVING, forceinline=True)(plainly)


@lru_cache(maxsize=1)
def _primitives() -> dict[Any, Any]:
    fma = _outside("llvm.fma.f64", ("a", "b", "c"))
    product = function("product(a, b)", ["p = a * b", "return p, fma(a, b, -p)"], {"fma": fma})
    by_itself = (ops.where, ops.section, ops.each_of_three, ops.shaped_like, replacements.of_numbers)
    return {
        ops.fma: fma, ops.nearest_whole: _outside("llvm.rint.f64", ("x",)), ops.two_product: numba.njit(product),
        **{f: f for f in by_itself},
    }  # fmt: skip


def _primitive(f: Any) -> Any:
    """The compiled form of a primitive of `kernels/ops.py`."""
    if f not in _primitives():
        raise NoForm(f.__name__)
    return _primitives()[f]


@overload(ops.where)
def _overload_where(condition, a, b):
    return lambda condition, a, b: a if condition else b


@overload(ops.each_of_three)
def _overload_each_of_three(x):
    if isinstance(x, of_numba.Number):
        return lambda x: (x, x, x)
    if isinstance(x, of_numba.BaseTuple) and len(x) != 3:
        raise TypingError(f"a vector has three numbers, not {len(x)}")
    if isinstance(x, of_numba.Array) and x.ndim != 1:
        raise TypingError(f"a vector has three numbers in a row, not an array of {x.ndim} dimensions")
    return lambda x: (x[0], x[1], x[2])


@overload(ops.shaped_like)
def _overload_shaped_like(x, v):
    return (lambda x, v: v[0]) if isinstance(x, of_numba.Number) else (lambda x, v: v)


@overload(replacements.of_numbers, inline="always")
def _overload_of_numbers(kernel, usual, arguments):
    if all(isinstance(x, of_numba.Float | of_numba.Integer) for x in arguments):
        return lambda kernel, usual, arguments: kernel(*arguments)
    return lambda kernel, usual, arguments: usual(*arguments)
