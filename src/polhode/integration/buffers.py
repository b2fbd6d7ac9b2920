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


def room(rows: int, width: int, bodies: int = 1) -> Floats:
    """Returns an array for rows of output; raises a MemoryError that says how to ask for fewer."""
    try:
        return np.empty((bodies, rows, width) if bodies > 1 else (rows, width))
    except (MemoryError, ValueError):
        size = bodies * rows * width * 8 / 2**30
        raise MemoryError(f"{rows} rows of output need {size:.3g} GiB: ask for fewer with every= or t_eval=") from None
