"""Tables of vectors: polynomials in time between knots, in memory that all programs and all bodies share.

A kernel does not get the numbers of a table in its parameters, where each of many bodies would have a copy, nor as
constants, with which every table would be another program. It gets a handle: the address of the numbers, as one
parameter. The bits of an address make a float far below all numbers that are used (less than 2.2e-308, and not zero),
so that a kernel can tell a handle from a number that stands in its place by mistake.

The numbers of a table, from its address on:

    first knot, last knot, buckets per second, pieces, terms, buckets      (HEADER numbers)
    pieces + 1 knots
    buckets + 1 pieces: those in which the buckets begin, and the last one
    for each piece, from the highest power of (t - knot) to the lowest: three coefficients
"""

import hashlib
import itertools
import math
import struct
from collections.abc import Callable, Iterable
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from polhode.kernels.ops import all_of, at_each_time, lane, primitive, smooth_between_breakpoints, where
from polhode.kernels.types import Vec3

Floats = NDArray[np.float64]
Made = TypeVar("Made")

HEADER = 6
"""The numbers in front of the knots."""

_held: WeakValueDictionary[int, Floats] = WeakValueDictionary()
"""The numbers of all tables that there are, by their addresses: plain Python looks them up here."""


_occupants: dict[int, int] = {}
"""The number of the array that is, or was, at an address: those that come after it there have others."""
_numbers_of_arrays = itertools.count(1)


class LookedUp:
    """What may stand among the parameters of a torque, which looks it up with `table_at`: tables, and fields."""


def packed(knots: Floats, coefficients: Floats) -> Floats:
    """A table as the numbers that kernels read, from coefficients (pieces, terms, 3 or 6), highest powers first."""
    pieces, terms, _ = coefficients.shape
    first, last = float(knots[0]), float(knots[-1])
    buckets = pieces
    rate = buckets / (last - first)
    edges = first + np.arange(buckets + 1) / rate
    begins = np.clip(np.searchsorted(knots, edges, side="right") - 1, 0, pieces - 1).astype(np.float64)
    head = np.array([first, last, rate, pieces, terms, buckets], dtype=np.float64)
    return np.concatenate([head, knots, begins, coefficients.reshape(-1)])


def handle_of(numbers: Floats) -> float:
    """The parameter by which kernels find the numbers of a table, as long as the array lives."""
    address = numbers.__array_interface__["data"][0]
    if _held.get(address) is not numbers:
        _held[address], _occupants[address] = numbers, next(_numbers_of_arrays)
    return float(struct.unpack("<d", struct.pack("<q", address))[0])


def _address(handle: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", handle))[0])


def tables_in(parameters: Iterable[float]) -> tuple[int, ...]:
    """A number for each table among parameters, which no other table in this process has.

    The handle of a table may be that of an earlier one, whose memory it has got: what is kept by parameters must be
    kept by these numbers, too.
    """
    return tuple(_occupants.get(_address(x), 0) for x in parameters if is_handle(x))


def made_once(owner: Any, name: str, make: Callable[[], Made]) -> Made:
    """What was made first under this name, which the owner keeps, also if two threads make it at once.

    A handle that was given out is an address: what is there must live as long as the owner, and not be made again.
    """
    kept: dict[str, Made] = owner.__dict__
    return kept[name] if name in kept else kept.setdefault(name, make())


@primitive
def is_handle(handle: float) -> bool:
    """Whether a parameter is the handle of a table, not a number."""
    return 0.0 < handle < 2.2250738585072014e-308


def recorded(x: float) -> float:
    """A parameter for a file: in place of the handle of a table a number that is made from its content."""
    if not is_handle(x):
        return x
    return float(int.from_bytes(hashlib.sha256(numbers_at(x).tobytes()).digest()[:6], "big"))


@primitive
def numbers_at(handle: float) -> Any:
    """The numbers of the table with this handle."""
    if (found := _held.get(_address(handle))) is None:
        raise ValueError("the table of this parameter is no longer there: give the table itself, among the parameters")
    return found


def piece_at(x: Any, t: float) -> int:
    """The piece of the table with the numbers x in which the time t is; negative far beyond its ends.

    At a knot the piece that begins there counts. Beyond its ends a table goes on for as long as its first or last
    piece, for methods that look a step further than their span.
    """
    pieces, buckets = int(x[3]), int(x[5])
    knots = HEADER
    begins = knots + pieces + 1
    # Comparisons that are false for NaN.
    if pieces == 1 and x[knots] <= t <= x[knots + 1]:
        return 0
    if not 2.0 * x[knots] - x[knots + 1] <= t <= 2.0 * x[knots + pieces] - x[knots + pieces - 1]:
        return -1
    bucket = min(max(int((t - x[0]) * x[2]), 0), buckets - 1)
    low, beyond = int(x[begins + bucket]), int(x[begins + bucket + 1]) + 1
    while beyond - low > 1:
        middle = (low + beyond) // 2
        if t >= x[knots + middle]:
            low = middle
        else:
            beyond = middle
    # The bucket of a time is rounded: the piece may be a neighbour.
    while low > 0 and t < x[knots + low]:
        low -= 1
    while low < pieces - 1 and t >= x[knots + low + 1]:
        low += 1
    return low


def horner(v: Any, s: float, x: Any, k: int) -> Any:
    """v s + x: a step of Horner's rule for all numbers of a vector, whose next coefficients begin at x[k]."""
    return tuple(v[i] * s + x[k + i] for i in range(len(v)))


def vector_in(x: Any, low: int, t: float, n: int) -> Any:
    """The vector of n numbers, for a literal n, in one of the pieces of a table; the time may have lanes."""
    terms = int(x[4])
    s = t - x[HEADER + low]
    k = HEADER + int(x[3]) + int(x[5]) + 2 + n * terms * low
    nothing = 0.0 * s
    v = tuple(nothing + x[k + i] for i in range(n))
    for _ in range(terms - 1):
        k += n
        v = horner(v, s, x, k)
    return v


def looked_up(x: Any, t: float, n: int = 3) -> Any:
    """The n numbers, for a literal n, of the table with the numbers x at the time t; NaN beyond its ends."""
    low = piece_at(x, t)
    return vector_in(x, low, t, n) if low >= 0 else (math.nan,) * n


def piece_within(handle: float, window: tuple[float, float]) -> int:
    """The piece of a table that holds for all of a window, as far as the table reaches; -1: there is none."""
    x = numbers_at(lane(handle, 0))
    begin, end = max(window[0], x[0]), min(window[1], x[1])
    low = piece_at(x, 0.5 * (begin + end))
    return low if low >= 0 and x[HEADER + low] <= begin and end <= x[HEADER + low + 1] else -1


def tensor_at(handle: float, full: float, t: float, piece: int = -1) -> tuple[Vec3, Vec3]:
    """A symmetric tensor at a time, as its elements 11, 22, 33 and 23, 13, 12; `full` is 0 where these are zeros.

    The piece of its table is looked for, unless it is given.
    """
    first = lane(handle, 0)
    same = where(handle == first, 1.0, math.nan)
    numbers = numbers_at(first)
    low = piece if piece >= 0 else piece_at(numbers, lane(t, 0))
    together = piece >= 0 or (low >= 0 and all_of((t >= numbers[HEADER + low]) & (t <= numbers[HEADER + low + 1])))
    if lane(full, 0) == 0.0:
        x, y, z = vector_in(numbers, low, t, 3) if together else at_each_time(looked_up, numbers, t, 3)
        nothing = 0.0 * x
        return (same * x, same * y, same * z), (nothing, nothing, nothing)
    x, y, z, a, b, c = vector_in(numbers, low, t, 6) if together else at_each_time(looked_up, numbers, t, 6)
    return (same * x, same * y, same * z), (same * a, same * b, same * c)


@smooth_between_breakpoints
def table_at(handle: float, t: float) -> Vec3:
    """The vector of a table at the time t: `handle` is the parameter in whose place the table was given.

        field = polhode.Table(times, vectors, frame="space")

        @polhode.torque(parameters=[field, 0.1, 0.0, 0.2])
        def dipole(t, q, w, p):
            b = polhode.to_body(q, polhode.table_at(p[0], t))
            ...

    Bodies that are computed together share the table of the first of them; others are computed alone.

    Examples
    --------
    >>> field = ph.Table([0, 1, 2], [[0, 0, 0], [0, 1, 0], [0, 0, 0]], kind="linear")
    >>> @ph.torque(parameters=[field])
    ... def dipole(t, q, w, p):
    ...     return ph.cross((0.1, 0.0, 0.2), ph.to_body(q, ph.table_at(p[0], t)))
    ...
    >>> run = ph.simulate(ph.Body([1, 2, 2.8]), dipole, omega=[0, 0, 1], t_span=(0, 2), method="RK4", step=0.1)
    """
    first = lane(handle, 0)
    if not is_handle(first):
        return no_table(handle)
    x, y, z = at_each_time(looked_up, numbers_at(first), t, 3)
    same = where(handle == first, 1.0, math.nan)
    return (same * x, same * y, same * z)


@primitive
def no_table(handle: float) -> Vec3:
    """Raises an error in plain Python, where every torque is tried before a run; compiled, it returns NaN."""
    raise ValueError(
        f"table_at was given {float(handle)!r}, which is no table: give the table among the parameters, as in "
        "@polhode.torque(parameters=[table, ...]), and table_at(p[0], t) its place"
    )
