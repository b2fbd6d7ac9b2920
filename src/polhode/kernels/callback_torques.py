"""Torques outside of the program: functions of C, Fortran or Python that are called by their address.

The address is data, not code: it stands in front of the user's numbers in p. So one program of a method serves all such
torques, and can be kept in a file.
"""

import ctypes
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any
from weakref import WeakValueDictionary

from polhode.kernels.ops import primitive, triple
from polhode.kernels.types import Quat, UserTorque, Vec3

HEAD = 5
"""Numbers in front of the user's: the address of the torque, that of its potential, each in two halves, and a number
that no other torque has, by which answers about this one can be kept."""
HALF_BITS = 32
"""Halves of this many bits are whole numbers that floats have exactly, whatever the address."""

Pointer = ctypes.POINTER(ctypes.c_double)
TorqueOfC = ctypes.CFUNCTYPE(None, ctypes.c_double, Pointer, Pointer, Pointer, Pointer)
"""`void f(double t, const double *q, const double *w, const double *p, double *torque)`"""
PotentialOfC = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, Pointer, Pointer)
"""`double V(double t, const double *q, const double *p)`"""


ForcesOfC = ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.c_int64, *[Pointer] * 5)
"""`void f(double t, int64_t n, const double *x, const double *q, const double *p, double *force, double *torque)`"""
FORCES_HEAD = 2
"""Numbers in front of the user's: the address of the forces in two halves."""


@lru_cache(maxsize=128)
def apart(torque: UserTorque, *, together: bool = False) -> UserTorque:
    """A torque in the form that methods call, with which it may be compiled `together`.

    It is compiled by itself, and programs call it by its address (`compiler/separate.py`). One that is made of torques
    that are is marked `__together__`: it is compiled with what calls it.
    """
    if hasattr(torque, "__together__"):
        return torque

    def seen(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
        n: Vec3 = triple(torque(t, q, w, p))
        return n

    if not together:
        seen.__torque__ = torque  # type: ignore[attr-defined]
    return seen


class Callback:
    """A Python function that has an address."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        """What is called in plain Python: as the user's function, and it raises what that raises."""


CALLBACKS: "WeakValueDictionary[int, Callback]" = WeakValueDictionary()
"""The Python functions that have an address, by that address."""


def head(torque: int, potential: int, number: int) -> tuple[float, ...]:
    """The numbers that stand in front of the user's."""
    halves = [float(half) for x in (torque, potential) for half in divmod(x, 2**HALF_BITS)]
    return (*halves, float(number))


def _address(p: Any, k: int) -> int:
    high, low = int(p[k]), int(p[k + 1])
    return (high << HALF_BITS) + low


def _numbers(x: Any) -> Any:
    return (ctypes.c_double * len(x))(*x)


@primitive
def called_torque(t: float, q: Quat, w: Vec3, p: Any) -> Any:
    """The torque whose address is at the beginning of p. Where it could not return, compiled, it is NaN."""
    address, values = _address(p, 0), p[HEAD:]
    if (callback := CALLBACKS.get(address)) is not None:
        return callback.function(t, q, w, values)
    out = (ctypes.c_double * 3)(math.nan, math.nan, math.nan)
    TorqueOfC(address)(t, _numbers(q), _numbers(w), _numbers(values), out)
    return (out[0], out[1], out[2])


@primitive
def called_potential(t: float, q: Quat, p: Any) -> Any:
    """The potential whose address follows that of the torque."""
    address, values = _address(p, 2), p[HEAD:]
    if (callback := CALLBACKS.get(address)) is not None:
        return callback.function(t, q, values)
    return PotentialOfC(address)(t, _numbers(q), _numbers(values))


def outside_torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """The torque kernel of all torques outside of the program."""
    n: Vec3 = called_torque(t, q, w, p)
    return n


def outside_potential(t: float, q: Quat, p: Any) -> float:
    """The potential kernel of all torques outside of the program."""
    v: float = called_potential(t, q, p)
    return v


@primitive
def call_forces(t: float, n: int, x: Any, q: Any, p: Any, out: Any) -> None:
    """Has the forces on n bodies written to `out`, forces first, by the function whose address begins p."""
    address, values = _address(p, 0), p[FORCES_HEAD:]
    if (callback := CALLBACKS.get(address)) is not None:
        callback.function(t, n, x, q, values, out)
        return
    found = (ctypes.c_double * (6 * n))()
    torque = ctypes.cast(ctypes.byref(found, 8 * 3 * n), Pointer)
    ForcesOfC(address)(t, n, _numbers(x[: 3 * n]), _numbers(q[: 4 * n]), _numbers(values), found, torque)
    out[: 6 * n] = found
