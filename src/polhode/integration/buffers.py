"""The arrays that the compiled loop reads and writes."""

import numpy as np
from numpy.typing import NDArray

from polhode._arrays import Floats
from polhode.core.drive import AT, COUNTERS


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
    try:
        return np.empty((rows, width) if bodies is None else (bodies, rows, width))
    except (MemoryError, ValueError):
        size = (bodies or 1) * rows * width * 8 / 2**30
        whose, otherwise = "", ""
        if bodies is not None:
            whose, otherwise = f"{bodies} bodies with ", ", or for reductions with reduce="
        needed = f"{whose}{rows} rows of output need {size:.3g} GiB"
        raise MemoryError(f"{needed}: ask for fewer with every= or t_eval={otherwise}") from None
