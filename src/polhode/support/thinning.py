"""Curves with fewer points that look the same."""

import numpy as np
from numpy.typing import NDArray

from polhode.support.arrays import Floats

BUCKETS = 1500
"""Stretches of a long curve, each drawn by its least and its greatest value: more than pixels can show."""
FLOOR = 1e-17
"""Errors below this are drawn here: zero has no logarithm, and one unit in the last place is 1e-16."""


def thinned(y: Floats, buckets: int = BUCKETS) -> NDArray[np.intp]:
    """Indices that show the curve y as well as all do: in each stretch the least, the greatest and the ends."""
    if y.size <= 4 * buckets:
        return np.arange(y.size)
    size = -(-y.size // buckets)
    starts = np.arange(0, y.size, size)
    padded = np.full((starts.size, size), np.nan)
    padded.reshape(-1)[: y.size] = y
    bad = np.isnan(padded)  # NaN is neither least nor greatest
    least = starts + np.where(bad, np.inf, padded).argmin(axis=1)
    greatest = starts + np.where(bad, -np.inf, padded).argmax(axis=1)
    return np.unique(np.concatenate([starts, least, greatest, np.minimum(starts + size, y.size) - 1]))
