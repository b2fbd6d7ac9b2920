"""Turns as vectors: the exponential and the logarithm of stacks of quaternions, scalar first."""

import numpy as np

from polhode._arrays import Floats, columns, lengths
from polhode.core.quat import conjugate, multiply

SMALL_ANGLE = 1e-4
"""Below this angle series are used, in rad: their next terms are below round-off."""


def product(a: Floats, b: Floats) -> Floats:
    """Returns the products of two stacks of quaternions."""
    return np.stack(np.broadcast_arrays(*multiply(columns(a), columns(b))), axis=-1)


def inverse(q: Floats) -> Floats:
    """Returns the inverse turns of unit quaternions."""
    return np.stack(conjugate(columns(q)), axis=-1)


def turn_of(v: Floats) -> Floats:
    """Returns the quaternions of turns by |v| about v, for vectors along the last axis."""
    half = 0.5 * lengths(v)[..., None]
    return np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * v], axis=-1)


def vector_of(q: Floats) -> Floats:
    """Returns the vectors of turns by at most half a turn: the angle, along the axis."""
    q = np.where(q[..., :1] < 0.0, -q, q)
    sine = lengths(q[..., 1:])[..., None]
    with np.errstate(invalid="ignore", divide="ignore"):
        factor = np.where(sine > SMALL_ANGLE, 2.0 * np.arctan2(sine, q[..., :1]) / sine, 2.0 + sine * sine / 3.0)
    return np.asarray(factor * q[..., 1:])


def with_turned(v: Floats, change: Floats) -> Floats:
    """Returns how the vector v of a turn changes when the turn is followed by a small one, in its own axes.

    This is J_r(v)^-1 change [sola2018], for v (..., 3) and changes of the same shape.
    """
    angle = lengths(v)[..., None]
    with np.errstate(invalid="ignore", divide="ignore"):
        series = 1.0 / 12.0 + angle * angle / 720.0
        factor = np.where(angle > 1e-2, (1.0 - 0.5 * angle / np.tan(0.5 * angle)) / (angle * angle), series)
    once = np.cross(v, change)
    return np.asarray(change + 0.5 * once + factor * np.cross(v, once))
