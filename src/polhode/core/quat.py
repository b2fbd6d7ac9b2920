"""Quaternions as tuples of four, scalar first, Hamilton's product; q turns body axes into space axes."""

from math import sqrt

from polhode.core.ops import fma
from polhode.core.trig import sine_versine
from polhode.core.types import Quat, Vec3


def multiply(a: Quat, b: Quat) -> Quat:
    """a b: first b, then a."""
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


def conjugate(q: Quat) -> Quat:
    """The opposite rotation."""
    return (q[0], -q[1], -q[2], -q[3])


def to_space(q: Quat, v: Vec3) -> Vec3:
    """R v: what has the components v in the body has these in space."""
    w, x, y, z = q
    a, b, c = 2.0 * (y * v[2] - z * v[1]), 2.0 * (z * v[0] - x * v[2]), 2.0 * (x * v[1] - y * v[0])
    return (
        v[0] + w * a + (y * c - z * b),
        v[1] + w * b + (z * a - x * c),
        v[2] + w * c + (x * b - y * a),
    )


def to_body(q: Quat, v: Vec3) -> Vec3:
    """R^T v: what has the components v in space has these in the body."""
    return to_space(conjugate(q), v)


def turn(q: Quat, v: Vec3) -> Quat:
    """q exp(v): the body turns by the rotation vector v, in body axes. Exact, and an increment for small v."""
    half = 0.5 * sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    s, e = sine_versine(half)
    s = 0.5 * s / max(half, 1e-300)
    x, y, z = s * v[0], s * v[1], s * v[2]
    return (
        q[0] - fma(e, q[0], q[1] * x + q[2] * y + q[3] * z),
        q[1] + fma(-e, q[1], q[0] * x + q[2] * z - q[3] * y),
        q[2] + fma(-e, q[2], q[0] * y - q[1] * z + q[3] * x),
        q[3] + fma(-e, q[3], q[0] * z + q[1] * y - q[2] * x),
    )


def normalised(q: Quat) -> Quat:
    """q with unit norm."""
    r = 1.0 / sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return (q[0] * r, q[1] * r, q[2] * r, q[3] * r)
