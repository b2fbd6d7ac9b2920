"""Vectors as tuples of three."""

from typing import Any

from polhode.kernels.ops import each_of_three, fma, shaped_like
from polhode.kernels.types import Vec3


def cross(a: Vec3, b: Vec3) -> Vec3:
    """a x b."""
    return (
        fma(a[1], b[2], -(a[2] * b[1])),
        fma(a[2], b[0], -(a[0] * b[2])),
        fma(a[0], b[1], -(a[1] * b[0])),
    )


def dot(a: Vec3, b: Vec3) -> float:
    """a . b."""
    return fma(a[2], b[2], fma(a[1], b[1], a[0] * b[0]))


def times(a: Vec3, b: Vec3) -> Vec3:
    """The product component by component, as of a diagonal matrix and a vector."""
    return (a[0] * b[0], a[1] * b[1], a[2] * b[2])


def combine(a: Vec3, h: float, b: Vec3) -> Vec3:
    """a + h b."""
    return (fma(h, b[0], a[0]), fma(h, b[1], a[1]), fma(h, b[2], a[2]))


def clip(x: Any, low: Any, high: Any) -> Any:
    """min(max(x, low), high), of a number or of every component of a vector. NaN stays NaN."""
    v, a, b = each_of_three(x), each_of_three(low), each_of_three(high)
    return shaped_like(
        x, (min(max(v[0], a[0]), b[0]), min(max(v[1], a[1]), b[1]), min(max(v[2], a[2]), b[2]))
    )  # fmt: skip


def placed(k: int, along: float, x: float, y: float) -> Vec3:
    """The vector with the component `along` on axis k, and x and y on the two axes that follow cyclically."""
    return (along, x, y) if k == 0 else (y, along, x) if k == 1 else (x, y, along)
