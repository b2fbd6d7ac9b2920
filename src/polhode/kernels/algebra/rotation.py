"""Finite rotations as quaternions whose increments keep their digits.

A rotation is (1 - e, u), with e = 1 - cos and u = sin of half the angle. Two maps give one for a rotation vector v in
body axes: the exponential and Cayley's, which turns by 2 atan(|v| / 2).
"""

from math import sqrt

from polhode.kernels.algebra.quat import normalised
from polhode.kernels.algebra.trig import sine_versine_of_step
from polhode.kernels.algebra.vec import combine, cross, dot
from polhode.kernels.ops import fma
from polhode.kernels.types import Quat, Vec3


def exponential(v: Vec3) -> tuple[float, Vec3]:
    """Returns (e, u), where (1 - e, u) is the quaternion of exp(v), up to a common sign."""
    half = 0.5 * sqrt(dot(v, v))
    s, e = sine_versine_of_step(half)
    s = 0.5 * s / max(half, 1e-300)
    return e, (s * v[0], s * v[1], s * v[2])


def cayley(v: Vec3) -> tuple[float, Vec3]:
    """(1 - v/2)^-1 (1 + v/2), where v stands for its cross product."""
    z = 0.25 * dot(v, v)
    r = sqrt(1.0 + z)
    c = 0.5 / r
    return z / fma(r, r, r), (c * v[0], c * v[1], c * v[2])


def change_of_attitude(q: Quat, e: float, u: Vec3) -> Quat:
    """q (1 - e, u) - q: the increment of the attitude when the body turns, in its own axes."""
    return (
        -fma(e, q[0], fma(q[3], u[2], fma(q[2], u[1], q[1] * u[0]))),
        fma(-e, q[1], fma(-q[3], u[1], fma(q[2], u[2], q[0] * u[0]))),
        fma(-e, q[2], fma(q[3], u[0], fma(-q[1], u[2], q[0] * u[1]))),
        fma(-e, q[3], fma(-q[2], u[0], fma(q[1], u[1], q[0] * u[2]))),
    )


def change_of_components(e: float, u: Vec3, x: Vec3) -> Vec3:
    """E^T x - x: the change of the body components of a fixed vector in space when the body turns by E."""
    c = combine(cross(u, x), e - 1.0, x)
    d = cross(u, c)
    return (2.0 * d[0], 2.0 * d[1], 2.0 * d[2])


def dexp(v: Vec3, a: Vec3) -> Vec3:
    """S(v) a, where exp(v + a) = exp(v) exp(S(v) a) for small a.

    krysl2004 (33), with the sign that its definition (31) asks for: the printed one belongs to the spatial frame.
    """
    e, u = exponential(v)
    square = max(dot(v, v), 1e-300)
    s = dot(u, v) / square
    b, c = cross(u, a), cross(v, cross(v, a))
    return combine(combine(a, -2.0 * s, b), fma(-2.0 * s, 1.0 - e, 1.0) / square, c)


Rows = tuple[Vec3, Vec3, Vec3]


def rows(q: Quat) -> Rows:
    """The rotation matrix of a unit quaternion."""
    w, x, y, z = q
    d = fma(w, w, -0.5)
    return (
        (2.0 * fma(x, x, d), 2.0 * fma(x, y, -(w * z)), 2.0 * fma(x, z, w * y)),
        (2.0 * fma(x, y, w * z), 2.0 * fma(y, y, d), 2.0 * fma(y, z, -(w * x))),
        (2.0 * fma(x, z, -(w * y)), 2.0 * fma(y, z, w * x), 2.0 * fma(z, z, d)),
    )


def quaternion_of(r: Rows, near: Quat) -> Quat:
    """The quaternion of a matrix that is a rotation but for round-off, with the sign that is closer to `near`.

    The sums and differences of the entries form the matrix 4 q q^T, which projects `near` on q.
    """
    (a, b, c), (d, e, f), (g, h, i) = r
    w, x, y, z = near
    p, s, t = h - f, c - g, d - b
    u, v, k = d + b, c + g, f + h
    q = (
        fma(1.0 + (a + e + i), w, fma(p, x, fma(s, y, t * z))),
        fma(p, w, fma(1.0 + (a - e - i), x, fma(u, y, v * z))),
        fma(s, w, fma(u, x, fma(1.0 - (a - e + i), y, k * z))),
        fma(t, w, fma(v, x, fma(k, y, (1.0 - (a + e - i)) * z))),
    )
    return normalised(q)
