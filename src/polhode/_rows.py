"""Algebra on stacks of vectors and quaternions, a row each."""

from collections.abc import Callable

import numpy as np

from polhode._check import Floats
from polhode._columns import dots

BLOCK = 1 << 16
"""Rows worked on at once, so that intermediate results stay small."""


def to_space(q: Floats, v: Floats) -> Floats:
    """R v for stacks of quaternions and vectors; R is that of the normalised quaternion."""
    u = q[:, 1:]
    turned = 2.0 * np.cross(u, v)
    moved: Floats = v + (q[:, :1] * turned + np.cross(u, turned)) / dots(q, q)[:, None]
    return moved


def by_blocks(f: Callable[..., Floats], *arrays: Floats) -> Floats:
    """f of all rows, some at a time: whatever f needs in between stays small."""
    rows = arrays[0].shape[0]
    first = f(*(a[:BLOCK] for a in arrays))
    if rows <= BLOCK:
        return first
    out = np.empty((rows, *first.shape[1:]))
    out[:BLOCK] = first
    for k in range(BLOCK, rows, BLOCK):
        out[k : k + BLOCK] = f(*(a[k : k + BLOCK] for a in arrays))
    return out
