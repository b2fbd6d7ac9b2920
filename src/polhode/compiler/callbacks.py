"""Python functions that compiled programs call: their addresses, and the exceptions that they raise.

A program cannot go on after an exception, and ctypes cannot raise one through it. So a function that raises leaves its
result as NaN, and so does every later one in this thread, at once: the program ends within a step, as it does for any
torque that is no number, with its arrays as they were before that step. Then `native.program` raises the exception.
"""

import ctypes
import math
import struct
import sys
import threading
from _thread import get_ident
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import CodeType
from typing import Any, NoReturn

import numpy as np

from polhode.kernels.callback_torques import CALLBACKS, Callback
from polhode.support.interrupts import is_from_handler

MOST_KEPT = 4096
"""Places in memory that are remembered from one call to the next."""
_TorqueOfPython = ctypes.CFUNCTYPE(None, ctypes.c_double, *[ctypes.c_void_p] * 4)
_PotentialOfPython = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, *[ctypes.c_void_p] * 2)
"""The types of `kernels/callback_torques.py`, with addresses as plain numbers: these are quicker to look up."""

_ATTITUDE_AND_RATE = struct.Struct("7d").unpack_from
_ATTITUDE = struct.Struct("4d").unpack_from
_STORE = struct.Struct("3d").pack_into
RESULT_BYTES = 7 * 8
"""Programs keep attitude, rate and result in a row (`translate.py`): so one look-up finds them."""
_MARK = "_polhode_callback"

_raised: dict[int, BaseException] = {}
"""What a function has raised, by the thread that called it, until the program has ended."""
_codes: set[CodeType] = set()
"""The code of the functions that ctypes calls."""
Complain = Callable[[Any, float], NoReturn]
"""Raises an error that says what is wrong with a result, at a time."""


class _Places(dict[int, Any]):
    """What is in memory, by its address. It is looked at only while a program says that it is there."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.kind = kind

    def __missing__(self, address: int) -> Any:
        if len(self) > MOST_KEPT:
            self.clear()
        found = self[address] = self.kind.from_address(address)
        return found


_rooms, _attitudes = _Places(ctypes.c_double * 10), _Places(ctypes.c_double * 4)


def _reader(count: int) -> Callable[[int], Any]:
    """A function that reads this number of parameters at an address.

    What it returns is an array that cannot be written to and stays as it is, whatever becomes of the memory. Runs of
    one body read the same ones again and again.
    """
    places, last = _Places(ctypes.c_char * (8 * count)), (b"", np.frombuffer(b""))
    if count == 0:
        return lambda address: last[1]

    def read(address: int) -> Any:
        nonlocal last
        kept, content = last, places[address].raw
        if kept[0] != content:
            kept = last = (content, np.frombuffer(content))
        return kept[1]

    return read


class Trampoline(Callback):
    """A Python function as compiled programs call it: `address` is good as long as this object lives."""

    def __init__(self, function: Callable[..., Any], called: Any, name: str) -> None:
        """Takes the function, and the one with the arguments of C that calls it."""
        self.name = name
        self.called = called
        self.address: int = ctypes.cast(called, ctypes.c_void_p).value or 0

        def plainly(t: float, *arguments: Any) -> Any:
            try:
                found = function(t, *arguments)
            except BaseException as problem:
                mark(problem, name, t)
                raise
            other = not isinstance(found, np.ndarray) and hasattr(found, "__array__")
            return np.asarray(found) if other else found  # an array of another library

        super().__init__(plainly)
        CALLBACKS[self.address] = self


def torque_callback(function: Callable[..., Any], count: int, name: str, complain: Complain) -> Trampoline:
    """A torque of Python with this number of parameters."""
    read = _reader(count)

    def torque(t: float, q: int, w: int, p: int, out: int) -> None:
        try:
            if _raised and get_ident() in _raised:
                return
            room = _rooms[q]
            seen = _ATTITUDE_AND_RATE(room)
            n = function(t, seen[:4], seen[4:], read(p))
            if type(n) is not tuple and hasattr(n, "tolist"):  # an array, of NumPy or of another library
                n = n.tolist()
            try:
                _STORE(room, RESULT_BYTES, *n)
            except Exception as problem:  # no three numbers
                if is_from_handler(problem):
                    raise
                _STORE(room, RESULT_BYTES, math.nan, math.nan, math.nan)
                complain(n, t)
        except BaseException as problem:
            _keep(problem, name, t)

    _codes.add(torque.__code__)
    return Trampoline(function, _TorqueOfPython(torque), name)


def potential_callback(function: Callable[..., Any], count: int, name: str, complain: Complain) -> Trampoline:
    """A potential of Python with this number of parameters."""
    read = _reader(count)

    def potential(t: float, q: int, p: int) -> float:
        try:
            if _raised and get_ident() in _raised:
                return math.nan
            v = function(t, _ATTITUDE(_attitudes[q]), read(p))
            try:
                return float(v)
            except Exception as problem:
                if is_from_handler(problem):
                    raise
                complain(v, t)
        except BaseException as problem:
            _keep(problem, name, t)
        return math.nan

    _codes.add(potential.__code__)
    return Trampoline(function, _PotentialOfPython(potential), name)


_ForcesOfPython = ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.c_int64, *[ctypes.c_void_p] * 5)


def forces_callback(function: Callable[..., Any], count: int, name: str) -> Trampoline:
    """Returns forces of Python on a system, with this number of parameters.

    `function(t, n, x, q, p, out)` takes arrays and writes to the last one.
    """

    def numbers(address: int, length: int) -> Any:
        return np.ctypeslib.as_array((ctypes.c_double * length).from_address(address)) if length else np.empty(0)

    def forces(t: float, n: int, x: int, q: int, p: int, force: int, torque: int) -> None:
        try:
            out = numbers(force, 6 * n)
            if _raised and get_ident() in _raised:
                out[:] = math.nan
                return
            try:
                function(t, n, numbers(x, 3 * n), numbers(q, 4 * n), numbers(p, count), out)
            except BaseException:
                out[:] = math.nan
                raise
        except BaseException as problem:
            _keep(problem, name, t)

    _codes.add(forces.__code__)
    return Trampoline(function, _ForcesOfPython(forces), name)


# --- exceptions ------------------------------------------------------------------------------------------------------


def mark(problem: BaseException, name: str, t: float) -> None:
    """Notes on an exception that a torque has raised it, unless the handler of a signal has."""
    if not (is_from_callback(problem) or isinstance(problem, KeyboardInterrupt) or is_from_handler(problem)):
        with suppress(Exception):  # an exception may refuse to be written to
            setattr(problem, _MARK, True)
            what = name if name.startswith("the ") else f"the torque {name}"
            problem.add_note(f"raised by {what} at t = {t:.12g}")


def is_from_callback(problem: BaseException) -> bool:
    """Whether a torque that is called back has raised it: it comes out as it was raised."""
    return getattr(problem, _MARK, False) is True


def _keep(problem: BaseException, name: str, t: float) -> None:
    mark(problem, name, t)
    _raised[get_ident()] = problem


def raise_again() -> None:
    """Raises what a function has raised in this thread, if one has."""
    if _raised and (problem := _raised.pop(get_ident(), None)) is not None:
        raise problem


def are_there() -> bool:
    """Whether there is any Python function that a program could call."""
    return len(CALLBACKS) > 0


@contextmanager
def handlers_heard() -> Iterator[None]:
    """Catches what the handler of a signal raises at the very beginning of a callback, before its `try`.

    That is where Python looks for signals first: without this, Ctrl-C would nearly always be lost there. Handlers run
    in the main thread only, and ctypes gives what it cannot raise to the hook that is replaced here meanwhile.
    """
    if get_ident() != threading.main_thread().ident:
        yield
        return
    usual = sys.unraisablehook

    def hook(lost: Any) -> None:
        trace, problem = lost.exc_traceback, lost.exc_value
        if problem is not None and trace is not None and trace.tb_frame.f_code in _codes:
            _raised.setdefault(get_ident(), problem)
        else:
            usual(lost)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        if sys.unraisablehook is hook:
            sys.unraisablehook = usual
