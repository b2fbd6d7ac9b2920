"""A nearly symmetric body as a symmetric one and a perturbation: the two flows of khlistunova2003.

    H = H_A + H_T,   H_A = (m1^2 + m2^2) / (2 I2) + m3^2 / (2 I3),   H_T = m1^2 / 2 (1/I1 - 1/I2).       (15)-(17)

Both turn the body at constant rates. The paper computes the momentum only; here the attitude makes the same turns.
"""

from polhode.kernels.algebra.quat import advanced, normalised, turn
from polhode.kernels.algebra.vec import dot
from polhode.kernels.ops import fma
from polhode.kernels.steps.flows import turned1, turned3
from polhode.kernels.types import Inertia, Params, Quat, State, Vec3


def excess_about_3(body: Inertia, h: float) -> float:
    """h (1/I3 - 1/I2), without cancellation: the angle (19) per m3."""
    i, j = body.inertia, body.inverse
    return h * (i[1] - i[2]) * j[1] * j[2]


def excess_about_1(body: Inertia, h: float) -> float:
    """h (1/I1 - 1/I2), the angle (22) per m1."""
    i, j = body.inertia, body.inverse
    return h * (i[1] - i[0]) * j[0] * j[1]


def _precession(body: Inertia, m: Vec3, h: float) -> Vec3:
    """h m / I2: the rotation vector of the turn about the momentum."""
    k = h * body.inverse[1]
    return (k * m[0], k * m[1], k * m[2])


def axisymmetric(body: Inertia, p: Params, t: float, s: State, h: float) -> State:
    """The flow of H_A: a turn about the momentum, then one about axis 3.  (18)"""
    precessed = State(turn(s.q, _precession(body, s.m, h)), s.m)
    return turned3(precessed, 0.5 * s.m[2] * excess_about_3(body, h))


def triaxial(body: Inertia, p: Params, t: float, s: State, h: float) -> State:
    """The flow of H_T: a turn about axis 1.  (21)"""
    return turned1(s, 0.5 * s.m[0] * excess_about_1(body, h))


# Section 4 of the paper saves the trigonometric functions: sin x = x - x^3 / 6 and cos x = 1 - x^2 / 2. The "rotations"
# then change the length of the momentum. The attitude is advanced with the same replacements for the half angles of its
# quaternion, which is then normalised: at long steps its norm is off by more than the end of a step would correct.


def _short(x: float) -> tuple[float, float]:
    """x - x^3 / 6 and 1 - x^2 / 2: approximate sine and cosine of a small angle."""
    x2 = x * x
    return x * fma(-1.0 / 6.0, x2, 1.0), fma(-0.5, x2, 1.0)


def _shortly_turned(q: Quat, v: Vec3) -> Quat:
    """q exp(v) with the approximate sine and cosine."""
    x2 = 0.25 * dot(v, v)
    k = 0.5 * fma(-1.0 / 6.0, x2, 1.0)
    return advanced(q, 0.5 * x2, (k * v[0], k * v[1], k * v[2]))


def axisymmetric_short(body: Inertia, p: Params, t: float, s: State, h: float) -> State:
    """`axisymmetric` without trigonometric functions."""
    m = s.m
    angle = m[2] * excess_about_3(body, h)
    n, c = _short(angle)
    q = _shortly_turned(_shortly_turned(s.q, _precession(body, m, h)), (0.0, 0.0, angle))
    return State(normalised(q), (fma(c, m[0], n * m[1]), fma(c, m[1], -(n * m[0])), m[2]))


def triaxial_short(body: Inertia, p: Params, t: float, s: State, h: float) -> State:
    """`triaxial` without trigonometric functions."""
    m = s.m
    angle = m[0] * excess_about_1(body, h)
    n, c = _short(angle)
    q = normalised(_shortly_turned(s.q, (angle, 0.0, 0.0)))
    return State(q, (m[0], fma(c, m[1], n * m[2]), fma(c, m[2], -(n * m[1]))))
