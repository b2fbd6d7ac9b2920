"""Quaternions as tuples of four, scalar first, Hamilton's product; q turns body axes into space axes."""

from math import sqrt

from polhode.kernels.algebra.trig import half_turn
from polhode.kernels.algebra.vec import cross, dot
from polhode.kernels.ops import fma, where
from polhode.kernels.types import Quat, Vec3


def multiply(a: Quat, b: Quat) -> Quat:
    """a b: the rotation b, then the rotation a."""
    return (
        fma(-a[3], b[3], fma(-a[2], b[2], fma(-a[1], b[1], a[0] * b[0]))),
        fma(-a[3], b[2], fma(a[2], b[3], fma(a[1], b[0], a[0] * b[1]))),
        fma(a[3], b[1], fma(a[2], b[0], fma(-a[1], b[3], a[0] * b[2]))),
        fma(a[3], b[0], fma(-a[2], b[1], fma(a[1], b[2], a[0] * b[3]))),
    )


def derivative(q: Quat, w: Vec3) -> Quat:
    """q (0, w) / 2: how fast the quaternion changes at the rate w."""
    x, y, z = 0.5 * w[0], 0.5 * w[1], 0.5 * w[2]
    return (
        -fma(q[3], z, fma(q[2], y, q[1] * x)),
        fma(-q[3], y, fma(q[2], z, q[0] * x)),
        fma(q[3], x, fma(-q[1], z, q[0] * y)),
        fma(-q[2], x, fma(q[1], y, q[0] * z)),
    )


def conjugate(q: Quat) -> Quat:
    """The opposite rotation."""
    return (q[0], -q[1], -q[2], -q[3])


def to_space(q: Quat, v: Vec3) -> Vec3:
    """R v: takes the components of a vector from the body to space.

    The form is homogeneous in q: a quaternion off the unit sphere, as inside a Runge-Kutta step, scales the result but
    does not spoil its dependence on the frame.
    """
    u = (q[1], q[2], q[3])
    k, along, c = fma(q[0], q[0], -dot(u, u)), 2.0 * dot(u, v), cross(u, v)
    w = 2.0 * q[0]
    return (
        fma(k, v[0], fma(along, u[0], w * c[0])),
        fma(k, v[1], fma(along, u[1], w * c[1])),
        fma(k, v[2], fma(along, u[2], w * c[2])),
    )


def to_body(q: Quat, v: Vec3) -> Vec3:
    """R^T v: takes the components of a vector from space to the body."""
    return to_space(conjugate(q), v)


def upright_to_body(q: Quat, z: float) -> Vec3:
    """R^T (0, 0, z), with the same bits as `to_body` and a third fewer operations."""
    k, along, w = fma(q[0], q[0], -dot((q[1], q[2], q[3]), (q[1], q[2], q[3]))), 2.0 * (q[3] * z), 2.0 * q[0]
    return (
        fma(along, q[1], -w * (q[2] * z)),
        fma(along, q[2], w * (q[1] * z)),
        fma(k, z, along * q[3]),
    )


def turn(q: Quat, v: Vec3) -> Quat:
    """q exp(v): turns the body by the rotation vector v, in body axes. It is exact, and an increment for small v."""
    u = (0.5 * v[0], 0.5 * v[1], 0.5 * v[2])
    s, e = half_turn(dot(u, u))
    return advanced(q, e, (s * u[0], s * u[1], s * u[2]))


def slight_turn(u: Vec3) -> Quat:
    """The rotation by twice the vector u, if that is small: the norm is one up to |u|^4 / 8."""
    return (fma(-0.5, dot(u, u), 1.0), u[0], u[1], u[2])


def advanced(q: Quat, e: float, v: Vec3) -> Quat:
    """q (1 - e, v), as an increment."""
    return (
        q[0] - fma(e, q[0], fma(q[3], v[2], fma(q[2], v[1], q[1] * v[0]))),
        q[1] + fma(-e, q[1], fma(-q[3], v[1], fma(q[2], v[2], q[0] * v[0]))),
        q[2] + fma(-e, q[2], fma(q[3], v[0], fma(-q[1], v[2], q[0] * v[1]))),
        q[3] + fma(-e, q[3], fma(-q[2], v[0], fma(q[1], v[1], q[0] * v[2]))),
    )


def norm2(q: Quat) -> float:
    """The square of the norm."""
    return fma(q[3], q[3], fma(q[2], q[2], fma(q[1], q[1], q[0] * q[0])))


NORM_TOLERANCE = 2.0**-48
"""A squared norm that is off by less is not corrected. Corrections of a unit in the last place, made at every step,
round the same way each time and turn the attitude: by 1e-3 eps a step, which is a drift (docs: round-off)."""


def tidied(q: Quat) -> Quat:
    """Returns q with its norm corrected to first order where it is needed, so that round-off does not accumulate."""
    excess = norm2(q) - 1.0
    k = where(abs(excess) > NORM_TOLERANCE, fma(-0.5, excess, 1.0), 1.0)
    return (q[0] * k, q[1] * k, q[2] * k, q[3] * k)


def rescaling(q: Quat) -> float:
    """The power of two that brings the norm of an unscaled quaternion near one; products with it are exact."""
    n = norm2(q)
    k: float = where(n > 2.0, 0.5, where(n < 0.5, 2.0, 1.0))
    return k


def rescaled(q: Quat) -> Quat:
    """Returns q times the power of two of `rescaling`."""
    k = rescaling(q)
    return (k * q[0], k * q[1], k * q[2], k * q[3])


def normalised(q: Quat) -> Quat:
    """q with unit norm."""
    r = 1.0 / sqrt(norm2(q))
    return (q[0] * r, q[1] * r, q[2] * r, q[3] * r)
