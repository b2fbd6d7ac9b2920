"""Algebra on rows of vectors and quaternions, component by component.

This is many times as fast as NumPy's own sums over short rows, and the bits of a row do not depend on its position.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def columns(x: Floats) -> Any:
    """Returns the components, which are along the last axis, as a tuple: kernels take it for a tuple of floats."""
    return tuple(x[..., k] for k in range(x.shape[-1]))


def dot(a: Sequence[Floats], b: Sequence[Floats]) -> Floats:
    """Returns a . b for vectors given as sequences of components."""
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total


def greatest(a: Sequence[Floats]) -> Floats:
    """Returns the greatest component; NaN if one is NaN."""
    return reduce(np.maximum, a)


def least(a: Sequence[Floats]) -> Floats:
    """Returns the least component; NaN if one is NaN."""
    return reduce(np.minimum, a)


def dots(a: Floats, b: Floats) -> Floats:
    """Returns a . b along the last axis."""
    products = a * b
    total: Floats = products[..., 0] + products[..., 1]
    for k in range(2, products.shape[-1]):
        total += products[..., k]
    return total


def lengths(x: Floats) -> Floats:
    """Returns |x| along the last axis."""
    return np.asarray(np.sqrt(dots(x, x)))


BLOCK_ROWS = 1 << 16
"""Rows worked on at once, so that intermediate results stay small."""


def to_space(q: Floats, v: Floats) -> Floats:
    """Returns R v for stacks of quaternions and vectors; R is that of the normalised quaternion."""
    u = q[:, 1:]
    turned = 2.0 * np.cross(u, v)
    moved: Floats = v + (q[:, :1] * turned + np.cross(u, turned)) / dots(q, q)[:, None]
    return moved


def apply_by_blocks(f: Callable[..., Floats], *arrays: Floats) -> Floats:
    """Returns f of all rows, computed block by block, so that the intermediate results of f stay small."""
    rows = arrays[0].shape[0]
    first = f(*(a[:BLOCK_ROWS] for a in arrays))
    if rows <= BLOCK_ROWS:
        return first
    out = np.empty((rows, *first.shape[1:]))
    out[:BLOCK_ROWS] = first
    for k in range(BLOCK_ROWS, rows, BLOCK_ROWS):
        out[k : k + BLOCK_ROWS] = f(*(a[k : k + BLOCK_ROWS] for a in arrays))
    return out
