"""Algebra on rows of vectors and quaternions, component by component.

That is many times as quick as NumPy's own sums over short rows, and the bits of a row do not depend on where it stands.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from polhode._check import Floats


def columns(x: Floats) -> Any:
    """The components, which stand along the last axis, as a tuple: kernels take it for one of floats."""
    return tuple(x[..., k] for k in range(x.shape[-1]))


def dot(a: Sequence[Floats], b: Sequence[Floats]) -> Floats:
    """a . b of components."""
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total


def greatest(a: Sequence[Floats]) -> Floats:
    """Of the components; NaN if one is."""
    return reduce(np.maximum, a)


def least(a: Sequence[Floats]) -> Floats:
    """Of the components; NaN if one is."""
    return reduce(np.minimum, a)


def dots(a: Floats, b: Floats) -> Floats:
    """a . b along the last axis."""
    products = a * b
    total: Floats = products[..., 0] + products[..., 1]
    for k in range(2, products.shape[-1]):
        total += products[..., k]
    return total


def lengths(x: Floats) -> Floats:
    """|x| along the last axis."""
    return np.asarray(np.sqrt(dots(x, x)))
