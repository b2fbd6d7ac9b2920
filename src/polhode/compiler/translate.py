"""Translates kernels, and users' functions that they call, to LLVM's text.

They are written in a small part of Python: numbers, tuples, loops, calls of each other. Types follow from those of the
arguments, statement by statement, and every call is written out where it stands. What is not in that part raises
`Unsupported`. A user's function with anything else in it is compiled by Numba, as a function of floats that the program
calls (`numba_door.py`). The bits are the same, because both write down the same operations in the same order, and
neither lets LLVM reorder any.
"""

import ast
import math
import operator
import re
import struct
import types
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import lru_cache, partial, reduce
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from polhode.compiler.digest import (
    DigestWalk,
    captured,
    home,
    is_ours,
    is_primitive,
    is_record,
    plain,
)
from polhode.compiler.separate import NOT_APART, CallForm, lanes_in
from polhode.compiler.source import NoSource, definition
from polhode.kernels import callback_torques, ops
from polhode.kernels.algebra import vector_table
from polhode.kernels.elementary import replacements
from polhode.kernels.elementary.exponentials import to_whole_power
from polhode.kernels.elementary.replacements import calls_by_usual_names, replaced
from polhode.kernels.status import EXCEPTION, OK
from polhode.support.interrupts import stop_if_ending

BRANCH = "several bodies at once cannot take different branches: in place of if, polhode.where can choose for each"
"""Why there is no `if` on lanes."""
ONE_NODE_AT_A_TIME = "a function of arrays is called for one node at a time"
"""Why such forces are not computed in lanes."""
ONE_AT_A_TIME = "a function outside of the program is called for one body at a time"
"""Why such a torque is not computed in lanes."""


class Unsupported(Exception):
    """The function has something in it that cannot be translated."""

    place: tuple[types.FunctionType, int] | None = None
    """The function with that, and its line: a user's function if there is one among the callers."""
    lacks_source = False
    """Whether a source is missing: another function with the same code may have one."""


class FromNumba(Exception):
    """Numba has raised an exception that is not its own, which is the only argument."""


class CannotBeApart(Unsupported):
    """The program calls a function that cannot be compiled apart from it."""


class _Widen(Exception):
    """A variable needs a wider type than it was given first."""

    def __init__(self, name: tuple[str, int], shape: Any) -> None:
        self.name, self.shape = name, shape


# --- values: numbers of Python are constants, tuples are tuples, and the following are known when the program runs


class Num:
    """A float (f), integer (i) or truth value (b): one, or one in each lane."""

    __slots__ = ("kind", "lanes", "ref")

    def __init__(self, kind: str, lanes: int, ref: str) -> None:
        self.kind, self.lanes, self.ref = kind, lanes, ref


class Memory:
    """Numbers at an address, of which the program does not know how many there are."""

    def __init__(self, item: str, ref: str) -> None:
        self.item, self.ref = item, ref


class View:
    """An array of numbers."""

    def __init__(self, ref: str, length: Any, *, writable: bool = False, item: str = "f") -> None:
        self.ref, self.length, self.writable, self.item = ref, length, writable, item


class Matrix:
    """An array of rows of floats that cannot be written to."""

    def __init__(self, ref: str, rows: Any, width: Any) -> None:
        self.ref, self.rows, self.width = ref, rows, width


class Odd:
    """What a user's function returns and programs have no use for."""

    def __init__(self, said: str) -> None:
        self.said = said


class Columns:
    """The numbers of several bodies: one address, and an offset for each; item k holds the k-th number of each body."""

    def __init__(self, ref: str, offsets: tuple[Any, ...]) -> None:
        self.ref, self.offsets = ref, offsets


class Rows:
    """Rows of as many floats as there are lanes."""

    def __init__(self, ref: str, lanes: int) -> None:
        self.ref, self.lanes = ref, lanes


_SCALARS = {"f": "double", "i": "i64", "b": "i1"}
_TYPES = {(k, n): f"<{n} x {t}>" if n else t for k, t in _SCALARS.items() for n in range(65)}


def _constant(value: Any, kind: str, lanes: int = 0) -> str:
    """A number as LLVM writes it."""
    if kind == "i" and not -(2**63) <= value < 2**63:
        raise Unsupported("a whole number of more than 64 bits")
    if kind == "f":
        text = f"0x{struct.unpack('<Q', struct.pack('<d', float(value)))[0]:016X}"
    else:
        text = str(int(value)) if kind == "i" else "true" if value else "false"
    return f"<{', '.join([f'{_SCALARS[kind]} {text}'] * lanes)}>" if lanes else text


def _shape(value: Any) -> Any:
    """The type of a value: that of a variable that can hold it."""
    kind = type(value)
    if kind is Num:
        return value.kind, value.lanes
    if kind in _CONSTANT_KINDS:
        return _CONSTANT_KINDS[kind], 0
    if isinstance(value, tuple):
        return (kind, *map(_shape, value))
    if kind is Memory:
        return "memory", value.item
    if kind is View:
        return "view", value.writable, value.item
    if kind is Matrix:
        return "matrix", 2
    if kind is Columns:
        return "columns", len(value.offsets)
    if kind is Rows:
        return "rows", value.lanes
    return "constant", value


_CONSTANT_KINDS = {bool: "b", int: "i", float: "f"}


def _types(shape: Any) -> list[str]:
    """Returns LLVM's types of the parts of a value of this type."""
    kind, *rest = shape
    if kind in _SCALARS:
        return [_TYPES[shape]]
    if isinstance(kind, type):
        return [t for item in rest for t in _types(item)]
    if kind == "view":
        return ["ptr", "i64"]
    if kind in ("columns", "matrix"):
        return ["ptr", *["i64"] * rest[0]]
    return [] if kind == "constant" else ["ptr"]


def _joined(a: Any, b: Any) -> Any:
    """The type of a variable that has values of both types."""
    if a == b:
        return a
    if a[0] in _SCALARS and b[0] in _SCALARS:
        lanes = max(a[1], b[1])
        kind = next(k for k in "fib" if k in (a[0], b[0]))
        if not (lanes and (kind == "i" or {a[0], b[0]} == {"f", "b"})):
            return kind, lanes
    elif isinstance(a[0], type) and a[0] is b[0] and len(a) == len(b):
        return (a[0], *map(_joined, a[1:], b[1:]))
    raise Unsupported(f"a variable of two types, {a} and {b}")


def _is_packed(shape: Any) -> bool:
    """Whether there are lanes in a value of this type, or rows of them."""
    kind, *rest = shape
    if isinstance(kind, type):
        return any(map(_is_packed, rest))
    return kind in ("columns", "rows") or (kind in _SCALARS and rest[0] > 0)


def _parts(t: "_Translator", value: Any, shape: Any) -> list[str]:
    """The parts of a value, made one of this type."""
    kind, *rest = shape
    if kind in _SCALARS:
        return [t.as_kind(value, kind, rest[0])]
    if isinstance(kind, type):
        return [ref for item, of in zip(value, rest, strict=True) for ref in _parts(t, item, of)]
    if kind == "view":
        return [value.ref, t.as_kind(value.length, "i")]
    if kind == "matrix":
        return [value.ref, t.as_kind(value.rows, "i"), t.as_kind(value.width, "i")]
    if kind == "columns":
        return [value.ref, *(t.as_kind(x, "i") for x in value.offsets)]
    return [] if kind == "constant" else [value.ref]


def _whole(shape: Any, refs: Iterator[str]) -> Any:
    """The value of this type that has these parts."""
    kind, *rest = shape
    if kind in _SCALARS:
        return Num(kind, rest[0], next(refs))
    if isinstance(kind, type):
        items = [_whole(item, refs) for item in rest]
        return tuple(items) if kind is tuple else kind._make(items)  # type: ignore[attr-defined]
    if kind == "constant":
        return rest[0]
    first = next(refs)
    if kind == "memory":
        return Memory(rest[0], first)
    if kind == "view":
        return View(first, Num("i", 0, next(refs)), writable=rest[0], item=rest[1])
    if kind == "matrix":
        return Matrix(first, Num("i", 0, next(refs)), Num("i", 0, next(refs)))
    if kind == "columns":
        return Columns(first, tuple(Num("i", 0, next(refs)) for _ in range(rest[0])))
    return Rows(first, rest[0])


MOST_RETURNED = 64
"""The largest list or array that a function that Numba has compiled returns."""
MOST_PARTS = 16
"""The largest row of an array of constants that is looked up by a place that is known late."""
MOST_NUMBERS = 4096
"""The largest array that becomes constants of a program."""


class _Items(tuple[Any, ...]):
    """The items of an array of constants: it is read like a tuple, but the sum of two arrays is another."""

    def __getitem__(self, k: Any) -> Any:
        found = super().__getitem__(k)
        return _Items(found) if isinstance(k, slice) else found

    @classmethod
    def _make(cls, items: Any) -> "_Items":
        return cls(items)

    @classmethod
    def of(cls, value: Any) -> Any:
        """An array that was made a list."""
        return cls(map(cls.of, value)) if isinstance(value, list) else value


class _List(tuple[Any, ...]):
    """A list that is never changed."""

    @classmethod
    def _make(cls, items: Any) -> "_List":
        return cls(items)


# --- calls that are written out


@lru_cache(maxsize=1024)
def _varying(node: Any) -> frozenset[str]:
    """The local names of a function that need memory: they get values in a branch or loop."""
    varying = set[str]()
    blocks = (ast.If, ast.For, ast.While, ast.Try)

    def see(statement: Any, inside: bool) -> None:
        inner = inside or isinstance(statement, blocks)
        for child in ast.iter_child_nodes(statement):
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                if inner:
                    varying.add(child.id)
            elif not isinstance(child, ast.Lambda | ast.FunctionDef):
                see(child, inner)

    if isinstance(node, ast.FunctionDef):
        see(node, False)
    return frozenset(varying)


class _Slot:
    """The memory of a variable."""

    def __init__(self, shape: Any, refs: list[str], given: str = "") -> None:
        self.shape, self.refs, self.given = shape, refs, given


class _Frame:
    """A call that is written out: the variables of its function."""

    def __init__(self, f: types.FunctionType, node: Any, known: dict[tuple[str, int], Any], checked: bool) -> None:
        self.f, self.node, self.known = f, node, known
        self.names: dict[str, Any] = {}
        self.varying = _varying(node)
        self.outside = dict(captured(f))
        self.usual = calls_by_usual_names(f)
        self.checked = checked
        """Whether it is a user's function: its indices are checked, and it may read what has no value yet."""
        self.begin: list[str] = []
        """What is done before its first statement."""
        self.returns: list[tuple[list[str], Any]] = []
        self.loops: list[tuple[str, str]] = []
        self.depth = 0
        """How many branches and loops the statement is in."""
        self.again: dict[str, int] = {}
        """How many times a variable was given a value outside of them, and may have got another type."""
        self.exit = ""


class ProgramText(NamedTuple):
    """A program as LLVM's text."""

    symbol: str
    text: str
    doors: tuple[Any, ...]
    """The functions in it that Numba has compiled (`numba_door.py`)."""


def translated(f: types.FunctionType, signature: str, *, divided: bool) -> ProgramText:
    """Returns f as text. If it is divided, it calls users' torques by addresses."""
    walk = DigestWalk(divided=divided)
    name = walk.function(f)
    symbol = f"{re.sub(r'[^0-9A-Za-z_]', '_', f.__name__)}_{name[:16]}"
    try:
        return _Translator(walk.apart).program(f, symbol, signature)
    except _OF_PYTHON as problem:
        raise Unsupported(str(problem)) from problem


_OF_PYTHON = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What Python says of constants that it cannot compute with, and of items and names that are not there."""


def placed(problem: Exception, node: Any, frame: _Frame) -> Unsupported:
    """A problem with its place: that in a user's function, from the inside out, or else in the kernel."""
    found = problem if isinstance(problem, Unsupported) else Unsupported(str(problem))
    found.lacks_source |= isinstance(problem, NoSource)
    if found.place is None or (frame.checked and is_ours(found.place[0])):
        found.place = (frame.f, node.lineno)
    return found


class _Translator:
    def __init__(self, apart: dict[types.FunctionType, int]) -> None:
        self.apart = apart
        self.entry: types.FunctionType | None = None
        self.lines: list[Any] = []
        self.rooms: list[str] = []
        self.declared: dict[str, str] = {}
        self.functions: list[str] = []
        self.separate: dict[Any, tuple[str, Any, bool]] = {}
        self.widened: dict[Any, dict[tuple[str, int], Any]] = {}
        self.open: list[types.FunctionType] = []
        self.count = 0
        self.jumps = set[str]()
        self.dead = False
        self.handler = "raised"
        """Where the program goes on after an exception."""
        self.checked = False
        self.known_doors: dict[Any, Any] = {}
        self.kernels = set[str]()

    # --- text

    def op(self, text: str) -> str:
        """Writes an instruction; returns the name of its result."""
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"{name} = {text}")
        return name

    def label(self) -> str:
        """A new place."""
        self.count += 1
        return f"b{self.count}"

    def jump(self, to: str) -> None:
        """Ends a block."""
        if not self.dead:
            self.lines.append(f"br label %{to}")
            self.jumps.add(to)
            self.dead = True

    def branch(self, condition: Num, yes: str, no: str) -> None:
        """Ends a block by a decision."""
        if condition.lanes:
            raise Unsupported(BRANCH)
        self.lines.append(f"br i1 {condition.ref}, label %{yes}, label %{no}")
        self.jumps |= {yes, no}
        self.dead = True

    def place(self, label: str) -> None:
        """Begins a block, if anything leads there."""
        self.jump(label)
        if label in self.jumps:
            self.lines.append(f"{label}:")
            self.dead = False

    def ensure(self, condition: Any) -> None:
        """Raises an exception unless a condition holds."""
        if condition is not True:
            well = self.label()
            self.branch(condition if type(condition) is Num else Num("b", 0, "false"), well, self.handler)
            self.place(well)

    def room(self, kind: str, count: int = 1, align: int = 0) -> str:
        """The address of memory on the stack."""
        self.count += 1
        end = f", align {align}" if align else ""
        self.rooms.append(f"%v{self.count} = alloca {kind}{f', i64 {count}' if count != 1 else ''}{end}")
        return f"%v{self.count}"

    def slot(self, shape: Any) -> _Slot:
        """Returns memory for a value."""
        return _Slot(shape, [self.room(t) for t in _types(shape)])

    def stored(self, slot: _Slot, value: Any) -> None:
        """Writes a value."""
        for kind, ref, to in zip(_types(slot.shape), _parts(self, value, slot.shape), slot.refs, strict=True):
            self.lines.append(f"store {kind} {ref}, ptr {to}")

    def loaded(self, slot: _Slot) -> Any:
        """Reads a value."""
        kinds = zip(_types(slot.shape), slot.refs, strict=True)
        return _whole(slot.shape, iter([self.op(f"load {kind}, ptr {ref}") for kind, ref in kinds]))

    def joined(self, edges: list[tuple[list[str], Any]]) -> Any:
        """The value that has come along one of these ways, each with the place for what it has to do."""
        if len(edges) == 1:
            return edges[0][1]
        shape = _shape(edges[0][1])
        for _, value in edges[1:]:
            shape = _joined(shape, _shape(value))
        slot, around = self.slot(shape), self.lines
        for lines, value in edges:
            self.lines = lines
            self.stored(slot, value)
        self.lines = around
        return self.loaded(slot)

    def way(self, value: Any) -> tuple[list[str], Any]:
        """A way for `joined`, which goes on from here."""
        lines: list[str] = []
        self.lines.append(lines)
        return lines, value

    def external(self, name: str, result: str, *given: str) -> str:
        """Declares a function of the C library or of LLVM."""
        pure = "" if name.startswith("llvm.") else " nounwind readnone"
        self.declared[name] = f"declare {result} @{name}({', '.join(given)}){pure}"
        return name

    # --- numbers

    def as_kind(self, value: Any, kind: str, lanes: int = 0) -> str:
        """A number as one of this kind, spread over lanes."""
        if type(value) is not Num:
            if type(value) not in _CONSTANT_KINDS or (kind == "i" and type(value) is float):
                raise Unsupported(f"{type(value)} as a number")
            return _constant(value, kind, lanes)
        ref = value.ref
        if value.kind != kind:
            if value.lanes or kind == "b" or value.kind == "f":
                raise Unsupported(f"{value.kind} as {kind}")
            change = "sitofp" if value.kind == "i" else "uitofp" if kind == "f" else "zext"
            ref = self.op(f"{change} {_SCALARS[value.kind]} {ref} to {_SCALARS[kind]}")
        if lanes and not value.lanes:
            wide = _TYPES[kind, lanes]
            one = self.op(f"insertelement {wide} undef, {_SCALARS[kind]} {ref}, i32 0")
            return self.op(f"shufflevector {wide} {one}, {wide} {one}, <{lanes} x i32> zeroinitializer")
        if value.lanes != lanes:
            raise Unsupported("lanes of two widths")
        return ref

    def among(self, *values: Any) -> tuple[str, int]:
        """The kind and the lanes that an operation on these numbers has."""
        kinds, lanes = set[str](), 0
        for x in values:
            if type(x) is Num:
                kinds.add(x.kind)
                lanes = max(lanes, x.lanes)
            elif type(x) in _CONSTANT_KINDS:
                kinds.add(_CONSTANT_KINDS[type(x)])
            else:
                raise Unsupported(f"an operation on {type(x)}")
        return ("f" if "f" in kinds or (lanes and "i" in kinds) else "i" if "i" in kinds else "b"), lanes

    def both(self, kind: str, lanes: int, *values: Any) -> list[str]:
        """These numbers as of one kind."""
        return [self.as_kind(x, kind, lanes) for x in values]

    def operation(self, op: type, a: Any, b: Any) -> Any:
        """a op b."""
        if type(a) is not Num and type(b) is not Num:
            return self.folded(op, a, b)
        kind, lanes = self.among(a, b)
        if op in _BITWISE:
            if kind == "f" or (kind == "i" and lanes):
                raise Unsupported("bits of floats")
            x, y = self.both(kind, lanes, a, b)
            return Num(kind, lanes, self.op(f"{_BITWISE[op]} {_TYPES[kind, lanes]} {x}, {y}"))
        if op is ast.Pow:
            return self.power(a, b)
        kind = "f" if op is ast.Div else "i" if kind == "b" else kind
        if op is ast.Mod and kind == "f" and not lanes:
            return self.rest(a, b)
        if op in _SHIFTS or op in (ast.FloorDiv, ast.Mod):
            if kind != "i" or lanes:
                raise Unsupported(f"{op.__name__} of floats")
            x, y = self.both(kind, lanes, a, b)
            if op in _SHIFTS:
                return Num("i", 0, self.op(f"{_SHIFTS[op]} i64 {x}, {y}"))
            return self.whole_division(op, x, y, b)
        if op not in _ARITHMETIC:
            raise Unsupported(op.__name__)
        x, y = self.both(kind, lanes, a, b)
        return Num(kind, lanes, self.op(f"{'f' * (kind == 'f')}{_ARITHMETIC[op]} {_TYPES[kind, lanes]} {x}, {y}"))

    def folded(self, op: type, a: Any, b: Any) -> Any:
        """a op b, of constants."""
        if isinstance(a, tuple) or isinstance(b, tuple):
            if _Items not in (type(a), type(b)) and (type(a) is _List) == (type(b) is _List):
                if op is ast.Add and isinstance(a, tuple) and isinstance(b, tuple):
                    return (*a, *b)
                if op is ast.Mult and isinstance(b, int):
                    return a * b
            raise Unsupported("an operation on tuples")
        if op is ast.Pow and not (isinstance(a, int) and isinstance(b, int) and b >= 0):
            return self.power(Num("f", 0, _constant(a, "f")), b)
        if op is ast.Div and b == 0:
            return Num("f", 0, self.op(f"fdiv double {_constant(a, 'f')}, {_constant(b, 'f')}"))
        if op not in _FOLDED or (op in (ast.FloorDiv, ast.Mod) and float in (type(a), type(b)) and b == 0):
            raise Unsupported(op.__name__)
        return _FOLDED[op](a, b)

    def whole_division(self, op: type, x: str, y: str, by: Any) -> Num:
        """The quotient of integers, or the rest, rounded down; by zero it is zero."""
        d = y if type(by) is int and by else self.op(f"select i1 {self.op(f'icmp eq i64 {y}, 0')}, i64 1, i64 {y}")
        q, r = self.op(f"sdiv i64 {x}, {d}"), self.op(f"srem i64 {x}, {d}")
        signs = self.op(f"icmp slt i64 {self.op(f'xor i64 {r}, {d}')}, 0")
        low = self.op(f"and i1 {self.op(f'icmp ne i64 {r}, 0')}, {signs}")
        if op is ast.FloorDiv:
            found = self.op(f"select i1 {low}, i64 {self.op(f'sub i64 {q}, 1')}, i64 {q}")
        else:
            found = self.op(f"select i1 {low}, i64 {self.op(f'add i64 {r}, {d}')}, i64 {r}")
        if d != y:
            found = self.op(f"select i1 {self.op(f'icmp eq i64 {y}, 0')}, i64 0, i64 {found}")
        return Num("i", 0, found)

    def rest(self, a: Any, b: Any) -> Any:
        """What is left of a float after a division, with the sign of the divisor."""
        x, y = self.both("f", 0, a, b)
        r, by = Num("f", 0, self.op(f"frem double {x}, {y}")), Num("f", 0, y)
        signs = self.op(f"xor i1 {self.compared(ast.Lt, by, 0.0).ref}, {self.compared(ast.Lt, r, 0.0).ref}")
        found = self.chosen(Num("b", 0, signs), self.operation(ast.Add, r, by), r)
        return self.chosen(self.compared(ast.Eq, r, 0.0), self.intrinsic("copysign", 0.0, by), found)

    def power(self, a: Any, b: Any) -> Any:
        """a to the power b: of a constant whole number by the products that Numba makes."""
        kind, lanes = self.among(a)
        if type(b) is int:
            if kind == "b" or (b < 0 and (kind == "i" or lanes)):
                raise Unsupported("a power")
            left, square, result = abs(b), a, None
            while left:
                if left & 1:
                    result = square if result is None else self.operation(ast.Mult, result, square)
                left >>= 1
                square = self.operation(ast.Mult, square, square) if left else square
            result = (1 if kind == "i" else 1.0) if result is None else result
            if b < 0 and self.checked:
                self.ensure(self.compared(ast.NotEq, result, 0.0))
            return self.operation(ast.Div, 1.0, result) if b < 0 else result
        if kind == "f" and self.among(b) == ("i", 0):
            if self.checked:
                self.ensure(
                    self.operation(
                        ast.BitOr, self.compared(ast.LtE, 0, b), self.all_lanes(self.compared(ast.NotEq, a, 0.0))
                    )
                )
            return self.called(to_whole_power, (a, b))
        if lanes or self.among(b) != ("f", 0):
            raise Unsupported("a power")
        return self.of_floats("llvm.pow.f64", a, b)

    def of_floats(self, name: str, *values: Any) -> Num:
        """A function of floats, of one lane after the other."""
        if lanes := self.among(*values)[1]:
            wide = [Num("f", lanes, self.as_kind(x, "f", lanes)) for x in values]
            return self.packed([self.of_floats(name, *(self.lane(x, i) for x in wide)).ref for i in range(lanes)])
        refs = [f"double {self.as_kind(x, 'f')}" for x in values]
        called = self.external(name, "double", *["double"] * len(values))
        return Num("f", 0, self.op(f"call double @{called}({', '.join(refs)})"))

    def intrinsic(self, name: str, *values: Any) -> Num:
        """One of LLVM's functions of floats or lanes."""
        _, lanes = self.among(*values)
        if not lanes:
            return self.of_floats(f"llvm.{name}.f64", *values)
        kind = _TYPES["f", lanes]
        called = self.external(f"llvm.{name}.v{lanes}f64", kind, *[kind] * len(values))
        given = ", ".join(f"{kind} {x}" for x in self.both("f", lanes, *values))
        return Num("f", lanes, self.op(f"call {kind} @{called}({given})"))

    def compared(self, op: type, a: Any, b: Any) -> Any:
        """The outcome of a comparison."""
        if op in (ast.Is, ast.IsNot):
            asked = {type(a), type(b)}
            if not asked & {bool, type(None)} or (Num in asked and type(None) not in asked):
                raise Unsupported("is")
            return (a is b) is (op is ast.Is)
        if type(a) is not Num and type(b) is not Num:
            if op not in _COMPARED or not {type(a), type(b)} <= {*_CONSTANT_KINDS, str, type(None)}:
                raise Unsupported("a comparison")
            return _COMPARED[op](a, b)
        kind, lanes = self.among(a, b)
        sign = _SIGNS.get(op)
        if sign is None or (lanes and kind != "f"):
            raise Unsupported("a comparison")
        kind = "i" if kind == "b" else kind
        x, y = self.both(kind, lanes, a, b)
        if kind == "f":
            how = f"fcmp {'une' if sign == 'ne' else f'o{sign}'}"  # NaN is unlike everything
        else:
            how = f"icmp {sign if sign in ('eq', 'ne') else f's{sign}'}"
        return Num("b", lanes, self.op(f"{how} {_TYPES[kind, lanes]} {x}, {y}"))

    def truth(self, value: Any) -> Any:
        """Whether a value is true: a constant, or a number."""
        if type(value) is Num:
            if value.kind == "b":
                return value
            if value.lanes:
                raise Unsupported(BRANCH)
            return self.compared(ast.NotEq, value, 0 if value.kind == "i" else 0.0)
        if type(value) in (Memory, View, Matrix, Columns, Rows, _Items, Odd):
            raise Unsupported("whether an array is true")
        return bool(value)

    def extreme(self, sign: str, *values: Any) -> Any:
        """Returns min or max as Python has them: the first of equals, and NaN only if it comes first."""
        if len(values) == 1 and isinstance(values[0], tuple):
            values = values[0]
        found = values[0]
        if all(type(x) in _CONSTANT_KINDS for x in values):
            return min(values) if sign == "lt" else max(values)
        for x in values[1:]:
            kind, lanes = self.among(found, x)
            if kind == "b" or (kind == "i" and lanes):
                raise Unsupported("an extreme")
            old, new = self.both(kind, lanes, found, x)
            how = f"fcmp o{sign}" if kind == "f" else f"icmp s{sign}"
            found = self.chosen(Num("b", lanes, self.op(f"{how} {_TYPES[kind, lanes]} {new}, {old}")), x, found)
        return found

    def chosen(self, condition: Any, a: Any, b: Any) -> Any:
        """A where the condition holds, else b."""
        if type(condition) is not Num:
            condition = Num("b", 0, _constant(condition, "b"))
        kind, lanes = self.among(a, b)
        wide = max(lanes, condition.lanes)
        kind = "f" if wide else kind
        mask = self.as_kind(condition, "b", wide)
        x, y = self.both(kind, wide, a, b)
        t = _TYPES[kind, wide]
        return Num(kind, wide, self.op(f"select {_TYPES['b', wide]} {mask}, {t} {x}, {t} {y}"))

    # --- memory

    def at(self, base: str, index: Any, item: str = "double") -> str:
        """The address of an item."""
        return self.op(f"getelementptr {item}, ptr {base}, i64 {self.as_kind(index, 'i')}")

    def from_start(self, index: Any, length: Any) -> Any:
        """The number of an item, where -1 is the last; users' functions may not reach beyond the ends."""
        if type(index) not in (int, Num) or (type(index) is Num and (index.kind != "i" or index.lanes)):
            raise Unsupported("an index")
        if type(index) is int:
            found = index if index >= 0 else self.operation(ast.Add, length, index)
        else:
            found = self.chosen(self.compared(ast.Lt, index, 0), self.operation(ast.Add, length, index), index)
        if self.checked and not self.dead:
            if type(found) is Num:
                self.ensure(self.compared(ast.LtE, 0, found))
            self.ensure(self.compared(ast.Lt, found, length))
        return found

    def place_of(self, view: View, index: Any) -> str:
        """The address of an item of an array."""
        return self.at(view.ref, self.from_start(index, view.length), _SCALARS[view.item])

    def read(self, x: Any, k: Any) -> Any:
        """Returns x[k]."""
        if isinstance(k, tuple):
            if type(x) is _Items and len(k) == 2 and type(k[0]) is Num:  # all rows of an array are of one length
                i, j = self.from_start(k[0], len(x)), self.from_start(k[1], len(x[0]))
                place = self.operation(ast.Add, self.operation(ast.Mult, i, len(x[0])), j)
                return self.indexed(_Items(chain(*x)), place)
            return self.read(self.read(x, k[0]), k[1] if len(k) == 2 else k[1:])
        if isinstance(x, tuple):
            if self.checked and type(k) is Num and x and len(_types(_shape(x[0]))) > MOST_PARTS:
                raise Unsupported("a row of many items")
            if self.checked and type(x) is _Items and type(k) is int and not -len(x) <= k < len(x):
                self.ensure(False)
                return x[0]
            return x[k] if type(k) is int else self.indexed(x, self.from_start(k, len(x)))
        if type(k) not in (Num, int) or (type(k) is Num and (k.kind != "i" or k.lanes)):
            raise Unsupported("an index")
        if type(x) is Memory:
            kind = _SCALARS[x.item]
            return Num(x.item, 0, self.op(f"load {kind}, ptr {self.at(x.ref, k, kind)}"))
        if type(x) is View:
            return Num(x.item, 0, self.op(f"load {_SCALARS[x.item]}, ptr {self.place_of(x, k)}"))
        if type(x) is Matrix:
            return View(self.at(x.ref, self.operation(ast.Mult, self.from_start(k, x.rows), x.width)), x.width)
        if type(x) is Columns:
            places = [self.at(x.ref, self.operation(ast.Add, offset, k)) for offset in x.offsets]
            return self.packed([self.op(f"load double, ptr {place}") for place in places])
        if type(x) is Rows:
            at = self.at(x.ref, self.operation(ast.Mult, k, x.lanes))
            return Num("f", x.lanes, self.op(f"load {_TYPES['f', x.lanes]}, ptr {at}, align 8"))
        raise Unsupported(f"an item of {type(x)}")

    def write(self, x: Any, k: Any, value: Any) -> None:
        """Writes x[k] = value."""
        if type(x) is Memory:
            kind = _SCALARS[x.item]
            ref = self.as_kind(value, x.item)
            self.lines.append(f"store {kind} {ref}, ptr {self.at(x.ref, k, kind)}")
        elif type(x) is View:
            if self.checked and not x.writable:
                raise Unsupported("an array that cannot be written to")
            ref = self.as_kind(value, "f")
            self.lines.append(f"store double {ref}, ptr {self.place_of(x, k)}")
        elif type(x) is Columns:
            wide = Num("f", len(x.offsets), self.as_kind(value, "f", len(x.offsets)))
            for i, offset in enumerate(x.offsets):
                place = self.at(x.ref, self.operation(ast.Add, offset, k))
                self.lines.append(f"store double {self.lane(wide, i).ref}, ptr {place}")
        elif type(x) is Rows:
            ref, at = self.as_kind(value, "f", x.lanes), self.at(x.ref, self.operation(ast.Mult, k, x.lanes))
            self.lines.append(f"store {_TYPES['f', x.lanes]} {ref}, ptr {at}, align 8")
        else:
            raise Unsupported(f"an item of {type(x)}")

    def sequence(self, x: Any) -> tuple[Any, ...]:
        """The items of a tuple, which may be a list."""
        if not isinstance(x, tuple):
            raise Unsupported("a loop, or a call, over something else than a tuple")
        return x

    def item(self, x: Any, k: Any) -> Any:
        """An item that is there."""
        if type(x) is View:
            return Num(x.item, 0, self.op(f"load {_SCALARS[x.item]}, ptr {self.at(x.ref, k, _SCALARS[x.item])}"))
        return self.indexed(x, k)

    def indexed(self, items: tuple[Any, ...], k: Any) -> Any:
        """The item of a tuple at a place that is known when the program runs."""
        shape = _shape(items[0])
        for x in items[1:]:
            shape = _joined(shape, _shape(x))
        columns = list(zip(*(_parts(self, x, shape) for x in items), strict=True))
        found = []
        for kind, column in zip(_types(shape), columns, strict=True):
            if any("%" in ref for ref in column):
                base = self.room(f"[{len(items)} x {kind}]")
                for i, ref in enumerate(column):
                    to = self.op(f"getelementptr {kind}, ptr {base}, i64 {i}")
                    self.lines.append(f"store {kind} {ref}, ptr {to}")
            else:
                given = ", ".join(f"{kind} {ref}" for ref in column)
                text = f"private unnamed_addr constant [{len(items)} x {kind}] [{given}]"
                base = next(
                    (n for n, known in self.declared.items() if known.endswith(text)), f"@c{len(self.declared)}"
                )
                self.declared[base] = f"{base} = {text}"
            found.append(self.op(f"load {kind}, ptr {self.at(base, k, kind)}"))
        return _whole(shape, iter(found))

    # --- lanes

    def packed(self, refs: Sequence[str]) -> Num:
        """Returns lanes of these floats."""
        kind, vector = _TYPES["f", len(refs)], "undef"
        if not any("%" in ref for ref in refs):
            return Num("f", len(refs), f"<{', '.join(f'double {ref}' for ref in refs)}>")
        for i, ref in enumerate(refs):
            vector = self.op(f"insertelement {kind} {vector}, double {ref}, i32 {i}")
        return Num("f", len(refs), vector)

    def lane(self, x: Any, i: Any) -> Num:
        """The float in lane i."""
        if type(x) is not Num or not x.lanes:
            return Num("f", 0, self.as_kind(x, "f"))
        index = f"i32 {i}" if type(i) is int else f"i64 {self.as_kind(i, 'i')}"
        return Num("f", 0, self.op(f"extractelement {_TYPES['f', x.lanes]} {x.ref}, {index}"))

    def shuffled(self, x: Num, y: Num, places: Sequence[int]) -> Num:
        """These lanes of x and, counted after them, of y."""
        if not (type(x) is type(y) is Num and x.lanes == y.lanes and x.lanes):
            raise Unsupported("lanes")
        kind, mask = _TYPES["f", x.lanes], ", ".join(f"i32 {i}" for i in places)
        text = f"shufflevector {kind} {x.ref}, {kind} {y.ref}, <{len(places)} x i32> <{mask}>"
        return Num("f", len(places), self.op(text))

    def all_lanes(self, condition: Any) -> Any:
        """Whether a condition holds in all lanes; LLVM is to expect that it nearly always does."""
        if type(condition) is not Num:
            return bool(condition)
        ref = condition.ref
        if condition.kind != "b":
            raise Unsupported("a condition")
        if condition.lanes:
            kind = _TYPES["b", condition.lanes]
            called = self.external(f"llvm.vector.reduce.and.v{condition.lanes}i1", "i1", kind)
            ref = self.op(f"call i1 @{called}({kind} {ref})")
        return Num("b", 0, self.op(f"call i1 @{self.external('llvm.expect.i1', 'i1', 'i1', 'i1')}(i1 {ref}, i1 true)"))

    # --- expressions

    def value(self, node: Any, frame: _Frame) -> Any:
        """The value of an expression."""
        made = _EXPRESSIONS.get(type(node))
        try:
            if made is None:
                raise Unsupported(type(node).__name__)
            return made(self, node, frame)
        except (Unsupported, *_OF_PYTHON) as problem:
            raise placed(problem, node, frame) from problem.__cause__

    def named(self, node: Any, frame: _Frame) -> Any:
        name = node.id
        if name in frame.names:
            found = frame.names[name]
            if type(found) is not _Slot:
                return found
            if found.given:
                self.ensure(Num("b", 0, self.op(f"load i1, ptr {found.given}")))
            return self.loaded(found)
        if name in frame.varying or name not in frame.outside:
            raise Unsupported(f"{name} has no value")
        return self.found(frame.outside[name], frame.usual)

    @staticmethod
    def found(value: Any, usual: bool) -> Any:
        """What a name outside of a function stands for; `usual`: of one that calls others by usual names."""
        value = plain(value)
        if usual:
            value = replaced(value)
        if isinstance(value, np.float64 | np.ndarray) and value.dtype in (np.float64, np.int64):
            if value.size > MOST_NUMBERS:
                raise Unsupported("a large array")
            return _Items.of(value.tolist())
        if isinstance(value, np.generic | np.ndarray | list | dict | set):
            raise Unsupported(f"a {type(value)}")
        if type(value) is tuple:
            return tuple(_Translator.found(item, usual) for item in value)
        return value

    def attribute(self, node: Any, frame: _Frame) -> Any:
        base = self.value(node.value, frame)
        if isinstance(base, types.ModuleType):
            return self.found(getattr(base, node.attr), frame.usual)
        if is_record(type(base)) and node.attr in base._fields:
            return getattr(base, node.attr)
        if type(base) is View and node.attr in ("shape", "size"):
            return (base.length,) if node.attr == "shape" else base.length
        if type(base) is Matrix and node.attr == "shape":
            return base.rows, base.width
        raise Unsupported(f"the attribute {node.attr}")

    def subscript(self, node: Any, frame: _Frame) -> Any:
        base = self.value(node.value, frame)
        if isinstance(node.slice, ast.Slice):
            part = node.slice
            parts = [None if p is None else self.value(p, frame) for p in (part.lower, part.upper, part.step)]
            if not isinstance(base, tuple) or any(type(p) is Num for p in parts):
                raise Unsupported("a part of an array")
            return base[slice(*parts)]
        return self.read(base, self.value(node.slice, frame))

    def items(self, node: Any, frame: _Frame) -> tuple[Any, ...]:
        found: list[Any] = []
        for item in node.elts:
            if isinstance(item, ast.Starred):
                found += self.sequence(self.value(item.value, frame))
            else:
                found.append(self.value(item, frame))
        return tuple(found)

    def comprehended(self, node: Any, frame: _Frame) -> _List:
        """The list of an expression for each item of a tuple, or for each number of a constant range."""
        (over, *others), source, found = node.generators, node.generators[0].iter, []
        if others or over.ifs:
            raise Unsupported("more than one for")
        if isinstance(source, ast.Call) and self.value(source.func, frame) is range:
            items = tuple(range(*self.items(ast.Tuple(source.args), frame)))
        else:
            items = self.sequence(self.value(source, frame))
        around = frame.names
        for item in items:
            frame.names = dict(around)
            self.assign(over.target, item, frame)
            found.append(self.value(node.elt, frame))
        frame.names = around
        return _List(found)

    def unary(self, node: Any, frame: _Frame) -> Any:
        if isinstance(node.op, ast.Not):
            x = self.condition(node.operand, frame)
            if type(x) is not Num:
                return not x
            if x.lanes:
                raise Unsupported(BRANCH)
            return Num("b", 0, self.op(f"xor i1 {x.ref}, true"))
        x = self.value(node.operand, frame)
        if type(x) is not Num:
            return _UNARY[type(node.op)](x)
        if isinstance(node.op, ast.UAdd):
            return x
        kind = _TYPES[x.kind, x.lanes]
        if isinstance(node.op, ast.Invert) and x.kind != "f":
            return Num(x.kind, x.lanes, self.op(f"xor {kind} {x.ref}, {_constant(-1, x.kind, x.lanes)}"))
        if isinstance(node.op, ast.USub) and x.kind != "b":
            return Num(x.kind, x.lanes, self.op(f"fneg {kind} {x.ref}" if x.kind == "f" else f"sub i64 0, {x.ref}"))
        raise Unsupported("an operation")

    def comparison(self, node: Any, frame: _Frame) -> Any:
        def outcomes() -> Iterator[Any]:
            left = self.value(node.left, frame)
            for op, other in zip(node.ops, node.comparators, strict=True):
                right = self.value(other, frame)
                yield self.compared(type(op), left, right)
                left = right

        return next(outcomes()) if len(node.ops) == 1 else self.until(False, outcomes(), len(node.ops))

    def condition(self, node: Any, frame: _Frame) -> Any:
        """Whether an expression is true."""
        if isinstance(node, ast.BoolOp):
            return self.decided(node, frame, asked=True)
        return self.truth(self.value(node, frame))

    def decided(self, node: Any, frame: _Frame, *, asked: bool = False) -> Any:
        """The outcome of `and` or `or`: a truth value, also of other values if that is all that is `asked`."""
        outcomes = (self.condition(x, frame) if asked else self.value(x, frame) for x in node.values)
        return self.until(isinstance(node.op, ast.Or), outcomes, len(node.values))

    def until(self, stops: bool, outcomes: Iterator[Any], count: int) -> Any:
        """The first of truth values that `stops`, else the last; those after it are not computed."""
        edges, end = list[Any](), self.label()
        for k, c in enumerate(outcomes):
            if type(c) is Num and c.lanes:
                raise Unsupported(BRANCH)
            if type(c) is not bool and not (type(c) is Num and c.kind == "b"):
                raise Unsupported("and, or of what is no truth value")
            if k == count - 1 or (type(c) is not Num and c == stops):
                if not edges:
                    return c
                edges.append(self.way(c))
                self.place(end)
                return self.joined(edges)
            if type(c) is Num:
                following = self.label()
                edges.append(self.way(stops))
                self.branch(c, *((end, following) if stops else (following, end)))
                self.place(following)
        raise AssertionError

    def alternative(self, node: Any, frame: _Frame) -> Any:
        c = self.condition(node.test, frame)
        if type(c) is not Num:
            return self.value(node.body if c else node.orelse, frame)
        yes, no, end, edges = self.label(), self.label(), self.label(), list[Any]()
        self.branch(c, yes, no)
        for label, part in ((yes, node.body), (no, node.orelse)):
            self.place(label)
            edges.append(self.way(self.value(part, frame)))
            self.jump(end)
        self.place(end)
        return self.joined(edges)

    def call(self, node: Any, frame: _Frame) -> Any:
        f = self.value(node.func, frame)
        args = self.items(ast.Tuple(node.args), frame)
        named = {k.arg: self.value(k.value, frame) for k in node.keywords}
        return self.called(f, args, named)

    def called(self, f: Any, args: tuple[Any, ...], named: dict[str, Any] | None = None) -> Any:
        """What a function returns."""
        if is_primitive(f) or not isinstance(f, types.FunctionType):
            if is_record(f):
                return f(*args, **(named or {}))
            made = None if named else _known().get(f) if isinstance(f, Hashable) else None
            if made is None:
                raise Unsupported(f"a call of {home(f) or repr(f)} is not translated")
            return made(self, *args)
        if f in self.apart:
            return self.by_address(self.apart[f], *args)
        if not self.checked and (not is_ours(f) or hasattr(f, "__of_arrays__")):
            return self.users(f, args, named or {})
        return self.plainly(f, args, named)

    def users(self, f: types.FunctionType, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """What a user's function returns, which Numba compiles if it cannot be translated."""
        lines, around = self.lines, (self.handler, self.checked, self.dead)
        ends = tuple(map(len, (lines, self.rooms, self.open)))
        try:
            if hasattr(f, "__of_arrays__"):
                raise Unsupported("arrays")
            return self.plainly(f, args, named)
        except (Unsupported, *_OF_PYTHON) as problem:
            self.lines, (self.handler, self.checked, self.dead) = lines, around
            del lines[ends[0] :], self.rooms[ends[1] :], self.open[ends[2] :]
            shapes = tuple(map(_shape, args))
            if named or isinstance(problem, CannotBeApart) or any(map(_is_packed, shapes)):
                raise
            from polhode.compiler.numba_door import NoForm

            try:
                return self.by_numba(f, args, shapes)
            except NoForm:
                raise problem from None
            except _OF_PYTHON as told:
                raise FromNumba(told) from told

    def by_numba(self, f: types.FunctionType, args: tuple[Any, ...], shapes: tuple[Any, ...]) -> Any:
        """What a function that Numba compiles returns."""
        if (f, shapes) not in self.known_doors:
            from polhode.compiler.numba_door import door

            made = self.known_doors[f, shapes] = door(f, shapes)
            for symbol, kernel in made.kernels.items():
                self.kernel_of_floats(symbol, kernel)
        made = self.known_doors[f, shapes]
        out, whole = self.room("double", max(1, made.floats)), self.room("i64", max(1, made.whole))
        given = []
        for value, shape in zip(args, shapes, strict=True):
            for kind, ref in zip(_types(shape), _parts(self, value, shape), strict=True):
                given.append((kind, ref) if kind != "i1" else ("i64", self.as_kind(Num("b", 0, ref), "i")))
        kinds = [*(kind for kind, _ in given), "ptr", "ptr"]
        self.declared[made.symbol] = f'declare i64 @"{made.symbol}"({", ".join(kinds)})'
        texts = [*(f"{kind} {ref}" for kind, ref in given), f"ptr {out}", f"ptr {whole}"]
        status = Num("i", 0, self.op(f'call i64 @"{made.symbol}"({", ".join(texts)})'))
        self.ensure(self.compared(ast.Eq, status, 0))

        floats, integers = iter(range(made.floats)), iter(range(made.whole))

        def found(shape: Any) -> Any:
            kind, *rest = shape
            if kind == "items":
                length = Num("i", 0, self.op(f"load i64, ptr {self.at(whole, rest[2], 'i64')}"))
                next(integers)
                for _ in range(MOST_RETURNED):
                    next(floats)
                return View(self.at(out, rest[1]), length, item=rest[0])
            if isinstance(kind, type):
                items = [found(item) for item in rest]
                return tuple(items) if kind is tuple else kind._make(items)  # type: ignore[attr-defined]
            if kind == "odd":
                return Odd(rest[0])
            if kind == "constant":
                return rest[0]
            if kind == "f":
                return Num("f", 0, self.op(f"load double, ptr {self.at(out, next(floats))}"))
            read = Num("i", 0, self.op(f"load i64, ptr {self.at(whole, next(integers), 'i64')}"))
            return self.compared(ast.NotEq, read, 0) if kind == "b" else read

        return found(made.result)

    def kernel_of_floats(self, symbol: str, kernel: types.FunctionType) -> None:
        """Writes a kernel as a function of floats."""
        if symbol in self.kernels:
            return
        self.kernels.add(symbol)
        names = [a.arg for a in definition(kernel).args.args]
        around = self.lines, self.rooms, self.dead, self.jumps, self.handler
        self.lines, self.rooms, self.dead, self.jumps, self.handler = [], [], False, set(), "raised"
        args = tuple(Num("f", 0, f"%a{k}") for k in range(len(names)))
        ref = self.as_kind(self.called(kernel, args), "f")
        self.lines.append(f"ret double {ref}")
        head = ", ".join(f"double {x.ref}" for x in args)
        self.functions.append(self.function_text(f"define double @{symbol}({head}) nounwind"))
        self.lines, self.rooms, self.dead, self.jumps, self.handler = around

    def plainly(self, f: types.FunctionType, args: tuple[Any, ...], named: dict[str, Any] | None) -> Any:
        """Writes the call of a function out, or calls it, if it is large."""
        stop_if_ending()
        node = definition(f)
        wanted, named = node.args, named or {}
        names = [a.arg for a in wanted.args]
        given = dict(zip(names, args, strict=False))
        if wanted.posonlyargs or wanted.kwonlyargs or wanted.kwarg or f in self.open or given.keys() & named.keys():
            raise Unsupported(f"the arguments of {f.__name__}")
        defaults = zip(reversed(names), reversed(f.__defaults__ or ()), strict=False)
        given = {name: self.found(x, calls_by_usual_names(f)) for name, x in defaults} | given | named
        if wanted.vararg is not None:
            given[wanted.vararg.arg] = args[len(names) :]
            names.append(wanted.vararg.arg)
        if given.keys() != set(names) or (wanted.vararg is None and len(args) > len(names)):
            raise Unsupported(f"the arguments of {f.__name__}")
        args = tuple(given[name] for name in names)
        if hasattr(f, "__apart__") or hasattr(f, "__shared__"):
            return self.separately(f, node, names, args)
        return self.inlined(f, node, names, args)

    def inlined(self, f: types.FunctionType, node: Any, names: list[str], args: tuple[Any, ...]) -> Any:
        """Writes a call out."""
        known = self.widened.setdefault((f, tuple(map(_shape, args))), {})
        self.open.append(f)
        around, checked = (self.handler, self.checked), f is not self.entry and not is_ours(f)
        while True:
            frame, marks = _Frame(f, node, known, checked), (len(self.lines), len(self.rooms), self.dead)
            lines, self.checked = self.lines, frame.checked
            lines.append(frame.begin)
            try:
                found = self.run(frame, dict(zip(names, args, strict=True)))
                self.checked = around[1]
                self.open.pop()
                return found
            except _Widen as wider:
                known[wider.name] = wider.shape
                self.lines = lines
                del self.lines[marks[0] :], self.rooms[marks[1] :]
                self.dead = marks[2]
                self.handler, self.checked = around

    def run(self, frame: _Frame, given: dict[str, Any]) -> Any:
        """Writes the statements of a function; returns what it returns."""
        for name, x in given.items():
            self.assign_name(name, x, frame)
        if isinstance(frame.node, ast.Lambda):
            return self.value(frame.node.body, frame)
        frame.exit = self.label()
        self.statements(frame.node.body, frame)
        if not self.dead:
            frame.returns.append(self.way(None))
        if not frame.returns:
            raise Unsupported(f"{frame.f.__name__} does not end")
        self.place(frame.exit)
        return self.joined(frame.returns)

    def separately(self, f: types.FunctionType, node: Any, names: list[str], args: tuple[Any, ...]) -> Any:
        """Calls a large function, which is written once for each kind of arguments."""
        shapes = tuple(map(_shape, args))
        refs = [ref for x, shape in zip(args, shapes, strict=True) for ref in _parts(self, x, shape)]
        kinds = [kind for shape in shapes for kind in _types(shape)]
        if (f, shapes) not in self.separate:
            around = self.lines, self.rooms, self.dead, self.jumps, self.handler
            self.lines, self.rooms, self.dead, self.jumps, self.handler = [], [], False, set(), "raised"
            inside = iter([f"%a{i}" for i in range(len(kinds))])
            found = self.inlined(f, node, names, tuple(_whole(shape, inside) for shape in shapes))
            shape = _shape(found)
            parts = list(zip(_types(shape), _parts(self, found, shape), strict=True))
            raises = "raised" in self.jumps
            parts += [("i1", "true")] if raises else []
            result, value = f"{{ {', '.join(kind for kind, _ in parts)} }}", "undef"
            for i, (kind, ref) in enumerate(parts):
                value = self.op(f"insertvalue {result} {value}, {kind} {ref}, {i}")
            self.lines.append(f"ret {result} {value}")
            if raises:
                self.lines += ["raised:", f"ret {result} zeroinitializer"]
            name = f"@f{len(self.separate)}"
            head = ", ".join(f"{kind} %a{i}" for i, kind in enumerate(kinds))
            # LLVM calls it once for the same arguments before it puts it in its callers' place
            kind = " readnone willreturn alwaysinline" if hasattr(f, "__shared__") else ""
            self.functions.append(self.function_text(f"define internal {result} {name}({head}) nounwind{kind}"))
            self.separate[f, shapes] = (f"{result} {name}", shape, raises)
            self.lines, self.rooms, self.dead, self.jumps, self.handler = around
        head, shape, raises = self.separate[f, shapes]
        given = ", ".join(f"{kind} {ref}" for kind, ref in zip(kinds, refs, strict=True))
        made, result = self.op(f"call {head}({given})"), head.rpartition(" @")[0]
        if raises:
            self.ensure(Num("b", 0, self.op(f"extractvalue {result} {made}, {len(_types(shape))}")))
        return _whole(shape, iter([self.op(f"extractvalue {result} {made}, {i}") for i in range(len(_types(shape)))]))

    def by_address(self, place: int, t: Any, q: Any, w: Any, p: Any) -> Any:
        """Calls a function that is compiled apart (`separate.py`)."""
        own: tuple[Any, ...] = p if isinstance(p, tuple) else ()
        if not isinstance(p, tuple | View) or not all(map(_is_number, (t, *q, *w, *own))):
            raise CannotBeApart(NOT_APART)
        _, lanes = self.among(t, *q, *w, *own)
        if not lanes and type(p) is not View:
            raise CannotBeApart(NOT_APART)
        common = not (type(t) is Num and t.lanes)
        form = CallForm(place, lanes, common, len(own) if isinstance(p, tuple) else None)
        kind = _TYPES["f", lanes]
        given = [f"double {self.as_kind(t, 'f')}" if common else f"{kind} {t.ref}"]
        given += [f"{kind} {x}" for x in self.both("f", lanes, *q, *w, *own)]
        if not isinstance(p, tuple):
            given += [f"ptr {p.ref}", f"i64 {self.as_kind(p.length, 'i')}"]
        result = f"{{ {kind}, {kind}, {kind}, i64 }}"
        self.declared[form.variable] = f"@{form.variable} = common global i64 0"
        address = self.op(f"inttoptr i64 {self.op(f'load i64, ptr @{form.variable}')} to ptr")
        made = self.op(f"call {result} {address}({', '.join(given)})")
        n = tuple(Num("f", lanes, self.op(f"extractvalue {result} {made}, {i}")) for i in range(3))
        status = Num("i", 0, self.op(f"extractvalue {result} {made}, 3"))
        self.ensure(self.compared(ast.Eq, status, OK))
        return n

    # --- statements

    def statements(self, body: Sequence[Any], frame: _Frame) -> None:
        """Writes statements, up to one after which nothing is reached."""
        for statement in body:
            if self.dead:
                return
            made = _STATEMENTS.get(type(statement))
            try:
                if made is None:
                    raise Unsupported(type(statement).__name__)
                made(self, statement, frame)
            except (Unsupported, *_OF_PYTHON) as problem:
                raise placed(problem, statement, frame) from problem.__cause__

    def assign(self, target: Any, x: Any, frame: _Frame) -> None:
        """Gives a value to what stands on the left."""
        if isinstance(target, ast.Name):
            self.assign_name(target.id, x, frame)
        elif isinstance(target, ast.Tuple | ast.List):
            if type(x) is View:
                self.ensure(self.compared(ast.Eq, x.length, len(target.elts)))
                x = tuple(self.read(x, k) for k in range(len(target.elts)))
            if not isinstance(x, tuple) or len(x) != len(target.elts):
                raise Unsupported("an assignment")
            for part, item in zip(target.elts, x, strict=True):
                self.assign(part, item, frame)
        elif isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice):
            base = self.value(target.value, frame)
            self.write(base, self.value(target.slice, frame), x)
        else:
            raise Unsupported("an assignment")

    def assign_name(self, name: str, x: Any, frame: _Frame) -> None:
        """Gives a value to a variable."""
        if name not in frame.varying:
            frame.names[name] = x
            return
        slot = frame.names.get(name)
        if slot is None or frame.depth == 0:
            shape, k = _shape(x), frame.again.setdefault(name, 0)
            slot = frame.names[name] = self.slot(_joined(shape, frame.known.get((name, k), shape)))
            frame.again[name] = k + 1
            if frame.checked and frame.depth:
                slot.given = self.room("i1")
                frame.begin.append(f"store i1 false, ptr {slot.given}")
        elif (shape := _joined(slot.shape, _shape(x))) != slot.shape:
            raise _Widen((name, frame.again[name] - 1), shape)
        self.stored(slot, x)
        if slot.given:
            self.lines.append(f"store i1 true, ptr {slot.given}")

    def assignment(self, node: Any, frame: _Frame) -> None:
        x = self.value(node.value, frame)
        for target in node.targets:
            self.assign(target, x, frame)

    def annotated(self, node: Any, frame: _Frame) -> None:
        if node.value is not None:
            self.assign(node.target, self.value(node.value, frame), frame)

    def changed(self, node: Any, frame: _Frame) -> None:
        if isinstance(node.target, ast.Subscript):
            base, k = self.value(node.target.value, frame), self.value(node.target.slice, frame)
            self.write(base, k, self.operation(type(node.op), self.read(base, k), self.value(node.value, frame)))
        else:
            old = self.named(node.target, frame)
            if type(old) is _List:
                raise Unsupported("a list that changes")
            self.assign(node.target, self.operation(type(node.op), old, self.value(node.value, frame)), frame)

    def expression(self, node: Any, frame: _Frame) -> None:
        if not isinstance(node.value, ast.Constant):
            self.value(node.value, frame)

    def decision(self, node: Any, frame: _Frame) -> None:
        c = self.condition(node.test, frame)
        if type(c) is not Num:
            self.statements(node.body if c else node.orelse, frame)
            return
        yes, no, end = self.label(), self.label(), self.label()
        self.branch(c, yes, no)
        frame.depth += 1
        for label, body in ((yes, node.body), (no, node.orelse)):
            self.place(label)
            self.statements(body, frame)
            self.jump(end)
        frame.depth -= 1
        self.place(end)

    def loop(self, node: Any, frame: _Frame) -> None:
        if node.orelse:
            raise Unsupported("else of a loop")
        head, body, out = self.label(), self.label(), self.label()
        self.place(head)
        c = self.condition(node.test, frame)
        if type(c) is Num:
            self.branch(c, body, out)
            self.place(body)
        elif not c:
            return
        self.repeated(node.body, frame, head, out)
        self.jump(head)
        self.place(out)

    def repeated(self, body: Sequence[Any], frame: _Frame, again: str, out: str) -> None:
        """Writes the statements in a loop."""
        frame.loops.append((again, out))
        frame.depth += 1
        self.statements(body, frame)
        frame.depth -= 1
        frame.loops.pop()

    def each(self, node: Any, frame: _Frame) -> None:
        given, source = [], node.iter
        over = self.value(source.func, frame) if isinstance(source, ast.Call) else None
        if node.orelse:
            raise Unsupported("a loop")
        if over is range:
            given = list(self.items(ast.Tuple(source.args), frame))
        else:
            items = self.value(source, frame)
            given = [items.length if type(items) is View else len(self.sequence(items))]
        start, stop, step = [*given, 1][:3] if len(given) > 1 else (0, given[0], 1)
        if type(step) is not int or step == 0 or any(self.among(x) != ("i", 0) for x in (start, stop)):
            raise Unsupported("a loop")
        counter, last = self.slot(("i", 0)), Num("i", 0, self.as_kind(stop, "i"))
        self.stored(counter, start)
        head, body, following, out = (self.label() for _ in range(4))
        self.place(head)
        k = self.loaded(counter)
        self.branch(self.compared(ast.Lt if step > 0 else ast.Gt, k, last), body, out)
        self.place(body)
        frame.depth += 1
        self.assign(node.target, k if over is range else self.item(items, k), frame)
        frame.depth -= 1
        self.repeated(node.body, frame, following, out)
        self.place(following)
        if not self.dead:
            self.stored(counter, self.operation(ast.Add, k, step))
            self.jump(head)
        self.place(out)

    def returned(self, node: Any, frame: _Frame) -> None:
        x = None if node.value is None else self.value(node.value, frame)
        frame.returns.append(self.way(x))
        self.jump(frame.exit)

    def left(self, node: Any, frame: _Frame) -> None:
        self.jump(frame.loops[-1][isinstance(node, ast.Break)])

    def tried(self, node: Any, frame: _Frame) -> None:
        """Writes statements, and those that follow an exception in them."""
        (last, *others) = node.handlers
        known = last.type is None or (isinstance(last.type, ast.Name) and last.type.id == "Exception")
        if node.orelse or node.finalbody or others or last.name or not known:
            raise Unsupported("more than try and except Exception")
        around, self.handler, end = self.handler, self.label(), self.label()
        frame.depth += 1
        self.statements(node.body, frame)
        handler, self.handler = self.handler, around
        self.jump(end)
        self.place(handler)
        self.statements(last.body, frame)
        frame.depth -= 1
        self.jump(end)
        self.place(end)

    def raised(self, node: Any, frame: _Frame) -> None:
        """Writes `raise`, which says no more than that."""
        self.jump(self.handler)

    def asserted(self, node: Any, frame: _Frame) -> None:
        self.ensure(self.condition(node.test, frame))

    # --- programs

    def function_text(self, head: str) -> str:
        """A function with its statements."""
        body = [line for item in self.lines for line in ([item] if isinstance(item, str) else item)]
        return "\n".join([f"{head} {{", "entry:", *self.rooms, "br label %begin", "begin:", *body, "}"])

    def program(self, f: types.FunctionType, symbol: str, signature: str) -> ProgramText:
        """A program, or a function that is compiled apart from one."""
        leaf, lanes = hasattr(f, "__leaf__"), lanes_in(signature)
        kinds = [_TYPES["f", lanes] if k.isupper() else {"d": "double", "i": "i64"}.get(k, "ptr") for k in signature]
        args: list[Any] = []
        for i, k in enumerate(signature):
            if k in "pn":
                args.append(Memory("f" if k == "p" else "i", f"%a{i}"))
            else:
                args.append(Num("i" if k == "i" else "f", lanes if k.isupper() else 0, f"%a{i}"))
        self.entry = f
        found = self.called(f, tuple(args))
        head = ", ".join(f"{kind} %a{i}" for i, kind in enumerate(kinds))
        if leaf:
            kind = _TYPES["f", lanes]
            result, value = f"{{ {kind}, {kind}, {kind}, i64 }}", "undef"
            parts = [(kind, self.as_kind(x, "f", lanes)) for x in found[0]]
            for i, (of, ref) in enumerate([*parts, ("i64", self.as_kind(found[1], "i"))]):
                value = self.op(f"insertvalue {result} {value}, {of} {ref}, {i}")
            self.lines.append(f"ret {result} {value}")
        else:
            result = "i64"
            self.lines.append(f"ret i64 {self.as_kind(found, 'i')}")
            self.lines += ["raised:", f"ret i64 {EXCEPTION}"]
        text = self.function_text(f"define {result} @{symbol}({head}) nounwind{'' if leaf else ' alignstack(64)'}")
        whole = "\n".join([*self.declared.values(), *self.functions, text, ""])
        return ProgramText(symbol, whole, tuple(self.known_doors.values()))


_ARITHMETIC = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}
_BITWISE = {ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor"}
_SHIFTS = {ast.LShift: "shl", ast.RShift: "ashr"}
_FOLDED: dict[type, Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}  # fmt: skip
_COMPARED: dict[type, Any] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # fmt: skip
_SIGNS: dict[type, str] = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
_UNARY: dict[type, Any] = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert}

_EXPRESSIONS: dict[type, Callable[..., Any]] = {
    ast.Constant: lambda t, node, frame: node.value, ast.List: lambda t, node, frame: _List(t.items(node, frame)),
    ast.Name: _Translator.named, ast.Attribute: _Translator.attribute, ast.Subscript: _Translator.subscript,
    ast.Tuple: _Translator.items, ast.UnaryOp: _Translator.unary, ast.Compare: _Translator.comparison,
    ast.ListComp: _Translator.comprehended, ast.GeneratorExp: _Translator.comprehended,
    ast.BoolOp: _Translator.decided, ast.IfExp: _Translator.alternative, ast.Call: _Translator.call,
    ast.BinOp: lambda t, node, frame: t.operation(type(node.op), t.value(node.left, frame), t.value(node.right, frame)),
}  # fmt: skip
_STATEMENTS: dict[type, Callable[..., None]] = {
    ast.Assign: _Translator.assignment, ast.AnnAssign: _Translator.annotated, ast.AugAssign: _Translator.changed,
    ast.Expr: _Translator.expression, ast.If: _Translator.decision, ast.While: _Translator.loop,
    ast.For: _Translator.each, ast.Return: _Translator.returned, ast.Break: _Translator.left,
    ast.Continue: _Translator.left, ast.Pass: lambda t, node, frame: None, ast.Try: _Translator.tried,
    ast.Raise: _Translator.raised, ast.Assert: _Translator.asserted,
}  # fmt: skip


# --- functions of Python and of `kernels/ops.py`

_OF_LLVM = ("exp", "log", "log10", "sin", "cos", "pow")
_OF_C = (
    "log1p", "log2", "expm1", "erf", "erfc", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh",
    "acosh", "atanh",
)  # fmt: skip
"""The functions of floats that Numba calls by these names, too."""


def _float(t: _Translator, x: Any) -> Any:
    if type(x) is Num:
        return x if x.kind == "f" else Num("f", 0, t.as_kind(x, "f"))
    return float(x)


def _int(t: _Translator, x: Any) -> Any:
    if type(x) is not Num:
        return int(x)
    if x.lanes:
        raise Unsupported("whole numbers in lanes")
    if x.kind != "f":
        return Num("i", 0, t.as_kind(x, "i"))
    ref = t.op(f"fptosi double {x.ref} to i64")  # of what is too large anything, but the same at each use
    return Num("i", 0, t.op(f"freeze i64 {ref}") if t.checked else ref)


def _abs(t: _Translator, x: Any) -> Any:
    if type(x) is not Num:
        return abs(x)
    if x.kind == "f":
        return t.intrinsic("fabs", x)
    return t.extreme("gt", x, t.operation(ast.Sub, 0, x))


def _length(t: _Translator, x: Any) -> Any:
    if type(x) in (View, Matrix):
        return x.length if type(x) is View else x.rows
    if not isinstance(x, tuple):
        raise Unsupported("a length")
    return len(x)


def _rounded(name: str) -> Callable[..., Any]:
    return lambda t, x: _int(t, t.of_floats(f"llvm.{name}.f64", x))


def _finite(t: _Translator, x: Any) -> Any:
    return t.compared(ast.Lt, t.intrinsic("fabs", x), math.inf)


def _words(x: Num) -> tuple[str, str, Callable[[int], str]]:
    """The types of floats and of integers in their place, and a function that makes constants of these."""
    return _TYPES["f", x.lanes], _TYPES["i", x.lanes], lambda n: _constant(n, "i", x.lanes)


ONE_AND_A_HALF = 0x4338 << 48
"""The bits of 1.5 * 2**52, whose last bits are those of a whole number that is added to it."""


def _as_float(t: _Translator, x: Any) -> Num:
    lanes = x.lanes if type(x) is Num else 0
    return Num("f", lanes, t.as_kind(x, "f", lanes))


def _power_of_two(t: _Translator, k: Any) -> Num:
    k = _as_float(t, k)
    floats, words, constant = _words(k)
    magic = t.op(f"bitcast {words} {constant(ONE_AND_A_HALF + 1023)} to {floats}")
    bits = t.op(f"bitcast {floats} {t.op(f'fadd {floats} {k.ref}, {magic}')} to {words}")
    return Num("f", k.lanes, t.op(f"bitcast {words} {t.op(f'shl {words} {bits}, {constant(52)}')} to {floats}"))


def _fraction_exponent(t: _Translator, x: Any) -> tuple[Num, Num]:
    x = _as_float(t, x)
    floats, words, constant = _words(x)
    bits = t.op(f"bitcast {floats} {x.ref} to {words}")
    m = t.op(f"or {words} {t.op(f'and {words} {bits}, {constant((1 << 52) - 1)}')}, {constant(1023 << 52)}")
    e = t.op(f"or {words} {t.op(f'lshr {words} {bits}, {constant(52)}')}, {constant(ONE_AND_A_HALF)}")
    zero = t.op(f"bitcast {words} {constant(ONE_AND_A_HALF + 1023)} to {floats}")
    e = t.op(f"fsub {floats} {t.op(f'bitcast {words} {e} to {floats}')}, {zero}")
    return Num("f", x.lanes, t.op(f"bitcast {words} {m} to {floats}")), Num("f", x.lanes, e)


def _two_product(t: _Translator, a: Any, b: Any) -> tuple[Any, Any]:
    p = t.operation(ast.Mult, _as_float(t, a), _as_float(t, b))
    return p, t.intrinsic("fma", a, b, Num("f", p.lanes, t.op(f"fneg {_TYPES['f', p.lanes]} {p.ref}")))


def _where(t: _Translator, condition: Any, a: Any, b: Any) -> Any:
    if type(condition) is not Num and not any(type(x) is Num and x.lanes for x in (a, b)):
        return a if condition else b
    if type(condition) is Num and not condition.lanes and isinstance(a, tuple):
        raise Unsupported("a choice of tuples")
    return t.chosen(condition if type(condition) is not Num else t.truth(condition), a, b)


def _view(t: _Translator, x: Any, n: Any) -> View:
    if type(x) is not Memory and type(x) is not View:
        raise Unsupported(ONE_NODE_AT_A_TIME)
    return View(x.ref, n)


def _matrix(t: _Translator, x: Any, n: Any, k: Any) -> Matrix:
    return Matrix(_view(t, x, n).ref, n, k)


def _function_at(t: _Translator, base: str, k: int) -> str:
    """The address of a function that two numbers hold."""
    words = [t.op(f"fptoui double {t.op(f'load double, ptr {t.at(base, i)}')} to i64") for i in (k, k + 1)]
    high = t.op(f"shl i64 {words[0]}, {callback_torques.HALF_BITS}")
    return t.op(f"inttoptr i64 {t.op(f'or i64 {high}, {words[1]}')} to ptr")


def _called_outside(t: _Translator, when: Any, numbers: Sequence[Any], p: Any, k: int, results: int) -> Any:
    """Calls a function at t; `results` numbers, NaN before, follow those that it reads, four of the attitude first."""
    if type(p) is not View or t.among(when, *numbers)[1]:
        raise Unsupported(ONE_AT_A_TIME)
    room = t.room("double", len(numbers) + results)
    for i, x in enumerate([*numbers, *[math.nan] * results]):
        t.lines.append(f"store double {t.as_kind(x, 'f')}, ptr {t.at(room, i)}")
    places = [(room, 0), *([(room, 4)] if len(numbers) > 4 else []), (p.ref, callback_torques.HEAD)]
    places += [(room, len(numbers))] if results else []
    given = "".join(f", ptr {t.at(base, i)}" for base, i in places)
    head = f"{_function_at(t, p.ref, k)}(double {t.as_kind(when, 'f')}{given})"
    if not results:
        return Num("f", 0, t.op(f"call double {head}"))
    t.lines.append(f"call void {head}")
    return tuple(Num("f", 0, t.op(f"load double, ptr {t.at(room, len(numbers) + i)}")) for i in range(results))


def _call_forces(t: _Translator, when: Any, n: Any, x: Any, q: Any, p: Any, out: Any) -> None:
    if any(type(a) is not Memory for a in (x, q, p, out)) or t.among(when)[1]:
        raise Unsupported(ONE_NODE_AT_A_TIME)
    count = t.as_kind(n, "i")
    torque = t.at(out.ref, Num("i", 0, t.op(f"mul i64 {count}, 3")))
    places = (x.ref, q.ref, t.at(p.ref, callback_torques.FORCES_HEAD), out.ref, torque)
    given = ", ".join(f"ptr {ref}" for ref in places)
    called = _function_at(t, p.ref, 0)
    t.lines.append(f"call void {called}(double {t.as_kind(when, 'f')}, i64 {count}, {given})")


def _beginning_at(t: _Translator, x: Any, k: Any) -> Any:
    if type(x) is Memory:
        return Memory(x.item, t.at(x.ref, k, _SCALARS[x.item]))
    if type(x) is Rows:
        return Rows(t.at(x.ref, t.operation(ast.Mult, k, x.lanes)), x.lanes)
    raise Unsupported("an array from an item on")


def _section(t: _Translator, x: Any, k: Any, n: Any) -> Any:
    if isinstance(x, tuple) and type(k) is int and type(n) is int:
        return x[k : k + n]
    if type(x) is View:
        return View(t.at(x.ref, k), n, writable=x.writable)
    raise Unsupported("a section")


def _scratch(t: _Translator, n: Any) -> View:
    if type(n) is not int:
        raise Unsupported("memory of an unknown size")
    return View(t.room("double", n), n, writable=True)


def _scratch_rows(t: _Translator, n: Any, lanes: Any) -> Rows:
    if type(n) is not int or type(lanes) is not int:
        raise Unsupported("memory of an unknown size")
    return Rows(t.room(_TYPES["f", lanes], n, 64), lanes)


def _new_counters(t: _Translator, count: Any, n: Any) -> Memory:
    if type(n) is not int:
        raise Unsupported("memory of an unknown size")
    return Memory("i", t.room("i64", n))


def _rows_of(t: _Translator, x: Any, k: Any, n: Any) -> Rows:
    if type(x) is not Memory or type(n) is not int:
        raise Unsupported("rows")
    return Rows(t.at(x.ref, k), n)


def _real(t: _Translator, x: Any, where: str) -> Any:
    """A number that a torque has returned as a float."""
    kind = x.said if type(x) is Odd else ""
    if (type(x) is Num and x.kind != "b") or type(x) in (int, float):
        return _float(t, x)
    if kind == "complex" or type(x) is complex:
        raise Unsupported(f"a torque returns real numbers, but {where} is complex: write .real, or what was meant")
    if type(x) is bool or type(x) is Num:
        raise Unsupported(f"a torque returns numbers, but {where} is a bool: write 1.0 if ... else 0.0")
    if x is None or kind == "None":
        raise Unsupported(f"a torque returns numbers, but {where} may be None: give it a value in every branch")
    if type(x) in (View, Matrix, _Items) or kind.startswith("an array"):
        raise Unsupported(f"a torque returns numbers, but {where} is an array: write one of its items, as in x[0]")
    words: dict[type, str] = {str: "a string", tuple: "a tuple", _List: "a list"}
    said = words.get(type(x), kind or str(type(x)))
    raise Unsupported(f"a torque returns numbers, but {where} is {said}")


def _numbers(t: _Translator, x: Any, n: int, wrong: str, where: str) -> tuple[Any, ...] | None:
    """Returns n numbers that a torque has returned; None if it is no sequence."""
    if type(x) is View:
        t.ensure(t.compared(ast.Eq, x.length, n))
        if x.item == "b":
            _real(t, False, f"every {where}")
        return tuple(t.item(x, k) for k in range(n))
    if not isinstance(x, tuple):
        return None
    if len(x) != n:
        raise Unsupported(f"{wrong}, not a tuple of {len(x)}")
    return tuple(_real(t, item, f"{where} {k}") for k, item in enumerate(x))


def _triple(t: _Translator, x: Any) -> tuple[Any, ...]:
    if (found := _numbers(t, x, 3, "a torque returns three numbers", "item")) is not None:
        return found
    if type(x) is Odd and x.said.startswith("an array"):
        raise Unsupported(f"a torque returns three numbers in a row, not {x.said}")
    if type(x) is Odd and x.said == "None":
        raise Unsupported("a torque returns three numbers in every branch, never None")
    said = x.said if type(x) is Odd else "a number" if _is_number(x) else str(type(x))
    said = "None: does it end without return?" if x is None else said
    raise Unsupported(f"a torque returns three numbers, as a tuple, list or array, not {said}")


def _derivatives(t: _Translator, x: Any, n: Any) -> tuple[Any, ...]:
    wrong = f"{n} numbers are returned here, derivatives of what is carried or what a sampled law holds"
    if (found := _numbers(t, x, n, wrong, "derivative")) is not None:
        return found
    if n == 1:
        return (_real(t, x, "the derivative"),)
    raise Unsupported(f"{wrong}, as a tuple, list or array, not {x.said if type(x) is Odd else 'a number'}")


def _is_number(x: Any) -> bool:
    return type(x) is Num or type(x) in _CONSTANT_KINDS


def _each_of_three(t: _Translator, x: Any) -> tuple[Any, ...]:
    if isinstance(x, tuple) and len(x) != 3:
        raise Unsupported(f"a vector has three numbers, not {len(x)}")
    return (x, x, x) if _is_number(x) else tuple(t.read(x, k) for k in range(3))


def _fold(join: Callable[..., Any]) -> Callable[..., Any]:
    """Joins the two halves of lanes until one number is left."""

    def folded(t: _Translator, row: Any) -> Any:
        if type(row) is not Num or not row.lanes:
            raise Unsupported("a row")
        while (half := row.lanes // 2) > 0:
            row = join(t, *(t.shuffled(row, row, range(k, k + half)) for k in (0, half)))
            if half == 1:
                break
        return t.lane(row, 0)

    return folded


def _larger(t: _Translator, a: Any, b: Any) -> Any:
    return t.chosen(t.compared(ast.Gt, b, a), b, a)


def _halves(t: _Translator, x: Any) -> tuple[Any, ...]:
    half = x.lanes // 2
    return tuple(t.shuffled(x, x, range(k, k + half)) for k in (0, half))


def _views(t: _Translator, x: Any, n: Any) -> tuple[Any, ...]:
    if type(x) is not Columns:
        raise Unsupported("views")
    return tuple(View(t.at(x.ref, offset), n) for offset in x.offsets)


def _verdict(t: _Translator, status: Any, good: Any) -> Any:
    if type(good) is not Num or not good.lanes:
        return status
    kind = _TYPES["b", good.lanes]
    turned = t.op(f"xor {kind} {good.ref}, {_constant(-1, 'b', good.lanes)}")
    bits = t.op(f"zext i{good.lanes} {t.op(f'bitcast {kind} {turned} to i{good.lanes}')} to i64")
    blamed = t.chosen(t.compared(ast.NotEq, Num("i", 0, bits), 0), Num("i", 0, bits), 2**good.lanes - 1)
    return t.chosen(t.compared(ast.Eq, status, OK), 0, blamed)


def _is_between(t: _Translator, now: Any, start: Any, end: Any) -> Any:
    a, b, c = (t.lane(x, 0) for x in (start, now, end))
    return t.operation(ast.BitAnd, t.compared(ast.LtE, a, b), t.compared(ast.Lt, b, c))


def _at_each_time(t: _Translator, f: Any, x: Any, now: Any, n: Any) -> Any:
    if type(now) is not Num or not now.lanes:
        return t.called(f, (x, now, n))
    each = [t.called(f, (x, t.lane(now, i), n)) for i in range(now.lanes)]
    return tuple(t.packed([t.as_kind(found[k], "f") for found in each]) for k in range(n))


def _each_if_it_changes(t: _Translator, f: Any, body: Any, p: Any, times: tuple[Any, ...]) -> tuple[Any, ...]:
    if _parts_of(body) != 4:
        return (body,) * len(times)
    if len(times) == 1 or any(type(x) is Num and x.lanes for x in times):
        return tuple(t.called(f, (body, p, x)) for x in times)
    lanes = 1 << (len(times) - 1).bit_length()
    padded = [*times, *[times[-1]] * (lanes - len(times))]
    found = t.called(f, (body, p, t.packed([t.as_kind(x, "f") for x in padded])))
    return tuple(_in_lane(t, found, i) for i in range(len(times)))


def _in_lane(t: _Translator, x: Any, i: int) -> Any:
    if isinstance(x, tuple):
        items = [_in_lane(t, item, i) for item in x]
        return type(x)(*items) if is_record(type(x)) else tuple(items)
    return t.lane(x, i) if type(x) is Num and x.lanes else x


def _bits(t: _Translator, x: Any) -> Num:
    return Num("i", 0, t.op(f"bitcast double {t.as_kind(x, 'f')} to i64"))


def _is_handle(t: _Translator, handle: Any) -> Any:
    bits = _bits(t, handle)
    return t.operation(ast.BitAnd, t.compared(ast.Lt, 0, bits), t.compared(ast.Lt, bits, 1 << 52))


def _numbers_at(t: _Translator, handle: Any) -> View:
    return View(t.op(f"inttoptr i64 {_bits(t, handle).ref} to ptr"), 1 << 47)


def _of_numbers(t: _Translator, kernel: Any, usual: Any, arguments: Any) -> Any:
    t.among(*arguments)
    return t.called(kernel, arguments)


def _parts_of(body: Any) -> int:
    return len(body) if is_record(type(body)) else 0


@lru_cache(maxsize=1)
def _known() -> dict[Any, Callable[..., Any]]:
    """What stands for functions of Python, and for primitives."""
    known: dict[Any, Callable[..., Any]] = {
        float: _float, int: _int, abs: _abs, len: _length, bool: lambda t, x: t.truth(x),
        min: lambda t, *x: t.extreme("lt", *x), max: lambda t, *x: t.extreme("gt", *x),
        tuple: lambda t, x: tuple(t.sequence(x)), list: lambda t, x: _List(t.sequence(x)),
        sum: lambda t, x: reduce(partial(t.operation, ast.Add), t.sequence(x), 0),
        zip: lambda t, *x: tuple(zip(*map(t.sequence, x), strict=False)),
        enumerate: lambda t, x: tuple(enumerate(t.sequence(x))),
        math.floor: _rounded("floor"), math.ceil: _rounded("ceil"), math.isfinite: _finite,
        math.copysign: lambda t, x, y: t.intrinsic("copysign", x, y),
        ops.fma: lambda t, a, b, c: t.intrinsic("fma", a, b, c), ops.two_product: _two_product,
        ops.power_of_two: _power_of_two, ops.fraction_exponent: _fraction_exponent,
        ops.nearest_whole: lambda t, x: t.intrinsic("rint", x), ops.where: _where, ops.view: _view,
        ops.matrix: _matrix, callback_torques.call_forces: _call_forces,
        callback_torques.called_torque: lambda t, s, q, w, p: _called_outside(t, s, (*q, *w), p, 0, 3),
        callback_torques.called_potential: lambda t, s, q, p: _called_outside(t, s, q, p, 2, 0),
        ops.beginning_at: _beginning_at, ops.section: _section, ops.is_between: _is_between, ops.scratch: _scratch,
        ops.scratch_rows: _scratch_rows, ops.new_counters: _new_counters, ops.triple: _triple,
        ops.derivatives: _derivatives, ops.each_of_three: _each_of_three,
        ops.shaped_like: lambda t, x, v: v[0] if _is_number(x) else v,
        ops.is_gyrostat: lambda t, x: _parts_of(x) >= 3, ops.is_full: lambda t, x: _parts_of(x) == 5,
        ops.internal: lambda t, x: x[2] if _parts_of(x) >= 3 else (0.0, 0.0, 0.0),
        ops.across: lambda t, x: x[3] if _parts_of(x) == 5 else (0.0, 0.0, 0.0),
        ops.if_it_changes: lambda t, f, x, p, now: t.called(f, (x, p, now)) if _parts_of(x) == 4 else x,
        ops.each_if_it_changes: _each_if_it_changes, ops.all_of: lambda t, x: t.all_lanes(x),
        ops.lane: lambda t, x, i: t.lane(x, i),
        ops.from_lanes: lambda t, x: t.packed([t.as_kind(v, "f") for v in x]), ops.at_each_time: _at_each_time,
        ops.halves: _halves, ops.exchanged: lambda t, x, k: t.shuffled(x, x, [i ^ k for i in range(x.lanes)]),
        ops.joined: lambda t, a, b: t.shuffled(a, b, range(2 * a.lanes)), ops.rows_of: _rows_of,
        ops.row_of: lambda t, x: t.packed([t.as_kind(v, "f") for v in x]), ops.row_maximum: _larger,
        ops.largest_in: _fold(_larger), ops.sum_of_row: _fold(lambda t, a, b: t.operation(ast.Add, a, b)),
        ops.columns: lambda t, x, offsets: Columns(x.ref, tuple(offsets)), ops.views: _views, ops.verdict: _verdict,
        vector_table.numbers_at: _numbers_at, vector_table.is_handle: _is_handle,
        vector_table.no_table: lambda t, x: (t.operation(ast.Mult, x, math.nan),) * 3,
        replacements.of_numbers: _of_numbers,
    }  # fmt: skip
    for name in _OF_LLVM + _OF_C:
        llvm = f"llvm.{name}.f64" if name in _OF_LLVM else name
        known[getattr(math, name)] = partial(lambda name, t, *x: t.of_floats(name, *x), llvm)
    known[math.sqrt] = known[np.sqrt] = lambda t, x: t.intrinsic("sqrt", x)
    known[math.fabs] = known[np.fabs] = known[np.abs] = lambda t, x: t.intrinsic("fabs", x)
    return known
