"""The arrays that the compiled loop reads and writes."""

import os
from functools import cache

import numpy as np
from numpy.typing import NDArray

from polhode.kernels.loop.drive import AT, COUNTERS
from polhode.support.arrays import Floats


class Buffers:
    """State, memory, output rows and counters of one run: a solution can be made of them at any time."""

    __slots__ = ("carried", "count", "out", "state")

    carried: Floats
    """What the method carries from step to step."""
    out: Floats
    """Rows of output."""

    def __init__(self, state: Floats, clock: int, values: int) -> None:
        self.state = np.concatenate([state, np.zeros(clock)]) if clock else state
        self.count: NDArray[np.int64] = np.zeros(COUNTERS, dtype=np.int64)
        self.count[AT.values] = values


def room(rows: int, width: int, *, bodies: int | None = None) -> Floats:
    """Returns an array for rows of output, of one body or of many; a MemoryError says how to ask for fewer."""
    check_room(rows, width, bodies)
    try:
        return np.empty((rows, width) if bodies is None else (bodies, rows, width))
    except (MemoryError, ValueError):
        raise MemoryError(_too_large(rows, width, bodies)) from None


def check_room(rows: int, width: int, bodies: int | None = None) -> None:
    """Raises a MemoryError for output that this machine cannot hold: some systems promise memory that is not there."""
    if (bodies or 1) * rows * width * 8 > physical_memory():
        raise MemoryError(_too_large(rows, width, bodies))


def _too_large(rows: int, width: int, bodies: int | None) -> str:
    size = (bodies or 1) * rows * width * 8 / 2**30
    whose, otherwise = "", ""
    if bodies is not None:
        whose, otherwise = f"{bodies} bodies with ", ", or for reductions with reduce="
    return f"{whose}{rows} rows of output need {size:.3g} GiB: ask for fewer with every= or t_eval={otherwise}"


@cache
def physical_memory() -> float:
    """Returns the bytes of memory of this machine; infinity where the system does not tell."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return float("inf")
