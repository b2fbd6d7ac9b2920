"""The free rigid body to as many digits as wanted, by Euler angles about the angular momentum.

Legendre's integrals by Carlson's, in Arb (python-flint, with proven error bounds), and the amplitude by Gauss's
transformation, in mpmath. Nothing is shared with polhode's kernels,
which use theta functions and the smallest rotation instead of Euler angles. `tests/kernels/test_closed_form.py` checks
this module against an integration of the equations of motion.

With axis 3 the one that the momentum circles, phi, theta, psi the Euler angles of the body about the momentum G:

    y = G (sin theta sin psi, sin theta cos psi, cos theta)
    dphi/dt = G / I3 + G (1/I1 - 1/I3) A^2 / (y1^2 + y2^2),   y1^2 + y2^2 = A^2 (1 - n sn^2),   n = 1 - (B/A)^2 < 0

On the separatrix sn and cn are tanh and sech, and the integral of dphi/dt is elementary.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import flint
import mpmath as mp

Matrix = list[list[Any]]
STEP = mp.mpf(10) ** -25
"""Relative change of an input that sensitivities are measured with."""


class Truth(NamedTuple):
    """R(t) = R(0) `turn`, the rate at t, and by how much they change with a relative change of an input."""

    turn: Matrix
    omega: list[Any]


def free_motion(inertia: Sequence[Any], omega: Sequence[Any], t: Any, digits: int = 50) -> Truth:
    """The motion at t of a body in principal axes, from inputs taken at their exact values."""
    with mp.workdps(_working_digits(inertia, omega, t, digits)):
        return _free_motion([mp.mpf(x) for x in inertia], [mp.mpf(x) for x in omega], mp.mpf(t))


def sensitivity(inertia: Sequence[Any], omega: Sequence[Any], t: Any) -> float:
    """The change of the state per relative change of a single input, the largest of the seven."""
    inputs = [*inertia, *omega, t]
    with mp.workdps(_working_digits(inertia, omega, t, 50)):
        base = free_motion(inertia, omega, t)
        largest = mp.mpf(0)
        for i, x in enumerate(inputs):
            if x == 0:
                continue
            moved = [mp.mpf(v) for v in inputs]
            moved[i] *= 1 + STEP
            largest = max(largest, difference(free_motion(moved[:3], moved[3:6], moved[6]), base) / STEP)
        return float(largest)


def difference(a: Truth, b: Truth) -> Any:
    """Returns the greatest difference: of the turns, entry by entry, and of the rates over the largest."""
    size = max(abs(x) for x in b.omega) or 1
    turns = max(abs(x - y) for p, q in zip(a.turn, b.turn, strict=True) for x, y in zip(p, q, strict=True))
    return max(turns, max(abs(x - y) / size for x, y in zip(a.omega, b.omega, strict=True)))


def _working_digits(inertia: Sequence[Any], omega: Sequence[Any], t: Any, digits: int) -> int:
    """Enough for the amplitude to resolve the smallest component next to the intermediate axis, over many turns."""
    with mp.workdps(30):
        y = [abs(mp.mpf(i) * mp.mpf(w)) for i, w in zip(inertia, omega, strict=True)]
        small = min([x / max(y) for x in y if x > 0], default=mp.mpf(1))
        turns = abs(mp.mpf(t)) * max([abs(mp.mpf(w)) for w in omega]) + 1
        ratio = max(map(mp.mpf, inertia)) / min(map(mp.mpf, inertia))
        return digits + 50 + int(3 * mp.log10(ratio) + mp.log10(turns) - 2.2 * mp.log10(small))


def _free_motion(inertia: list[Any], omega: list[Any], t: Any) -> Truth:
    y = [i * w for i, w in zip(inertia, omega, strict=True)]
    least, middle, greatest = sorted(range(3), key=lambda i: inertia[i])
    if _spins_about_one_axis(inertia, omega):
        return Truth(_spin(omega, t), omega)
    with mp.workprec(12 * mp.mp.prec):  # products of inputs are exact: zero is on the separatrix
        beyond = (inertia[greatest] * omega[greatest]) ** 2 * inertia[least] * (inertia[greatest] - inertia[middle])
        beyond -= (inertia[least] * omega[least]) ** 2 * inertia[greatest] * (inertia[middle] - inertia[least])
    order = [least, middle, greatest] if beyond > 0 else [greatest, middle, least]

    labels = _proper(order, y)
    I1, I2, I3 = (inertia[i] for i in order)
    y1, y2, y3 = (sum(labels[k][i] * y[i] for i in range(3)) for k in range(3))
    sense = mp.sign(I3 - I1)
    G = mp.sqrt(y1**2 + y2**2 + y3**2)
    ratio2 = I2 * (I3 - I1) / (I1 * (I3 - I2))  # (B/A)^2
    A2 = y1**2 + y2**2 / ratio2
    C2 = y3**2 + y2**2 * I3 * (I2 - I1) / (I2 * (I3 - I1))
    A, B, C = mp.sqrt(A2), mp.sqrt(A2 * ratio2), mp.sqrt(C2)
    kc2 = abs(beyond) / (C2 * I1 * abs(I3 - I2))  # 1 - m, without a difference
    lam = C * mp.sqrt(abs(I3 - I2) * abs(I3 - I1) / (I1 * I2)) / I3
    phi0 = mp.atan2(y2 / B, y1 / A)
    if kc2 == 0:
        u0 = mp.asinh(mp.tan(phi0))
        u = u0 + sense * lam * t
        sn, cn = mp.tanh(u), mp.sech(u)
        third = _third_kind_on_separatrix(1 - ratio2, u) - _third_kind_on_separatrix(1 - ratio2, u0)
    else:
        u0 = _first_kind(phi0, kc2)
        amplitude = _amplitude(u0 + sense * lam * t, mp.sqrt(kc2))
        sn, cn = mp.sin(amplitude), mp.cos(amplitude)
        third = _third_kind(1 - ratio2, amplitude, kc2) - _third_kind(1 - ratio2, phi0, kc2)
    now = [A * cn, B * sn, C * mp.sqrt(cn**2 + kc2 * sn**2)]
    phi = G * t / I3 + G * (1 / I1 - 1 / I3) * third / (sense * lam)
    relabelled = _times(_transposed(_euler(mp.mpf(0), [y1, y2, y3], G)), _euler(phi, now, G))
    turn = _times(_transposed(labels), _times(relabelled, labels))
    rates = [now[0] / I1, now[1] / I2, now[2] / I3]
    return Truth(turn, [sum(labels[k][i] * rates[k] for k in range(3)) for i in range(3)])


def _spins_about_one_axis(inertia: list[Any], omega: list[Any]) -> bool:
    """Whether I w is parallel to w."""
    y = [i * w for i, w in zip(inertia, omega, strict=True)]
    return all(y[i] * omega[j] == y[j] * omega[i] for i in range(3) for j in range(i))


def _spin(omega: list[Any], t: Any) -> Matrix:
    """exp(t hat(w)) by Rodrigues."""
    w = mp.sqrt(sum(x * x for x in omega))
    if w == 0:
        return [[mp.mpf(i == j) for j in range(3)] for i in range(3)]
    x, y, z = (v / w for v in omega)
    s, c = mp.sin(w * t), 1 - mp.cos(w * t)
    return [
        [1 - c * (y * y + z * z), c * x * y - s * z, c * x * z + s * y],
        [c * x * y + s * z, 1 - c * (x * x + z * z), c * y * z - s * x],
        [c * x * z - s * y, c * y * z + s * x, 1 - c * (x * x + y * y)],
    ]


def _proper(order: list[int], y: list[Any]) -> Matrix:
    """The rotation matrix that puts the axes in this order, with y1 and y3 not negative."""
    signs = [1 if y[order[0]] >= 0 else -1, 1, 1 if y[order[2]] >= 0 else -1]
    even = (order[1] - order[0]) % 3 == 1
    signs[1] = signs[0] * signs[2] * (1 if even else -1)
    return [[mp.mpf(signs[k] if i == order[k] else 0) for i in range(3)] for k in range(3)]


def _euler(phi: Any, y: list[Any], G: Any) -> Matrix:
    """Rz(phi) Rx(theta) Rz(psi) for the body that has the momentum y."""
    level = mp.sqrt(y[0] ** 2 + y[1] ** 2)
    s, c = level / G, y[2] / G
    sp, cp = y[0] / level, y[1] / level
    rz = [[mp.cos(phi), -mp.sin(phi), 0], [mp.sin(phi), mp.cos(phi), 0], [0, 0, 1]]
    return _times(rz, [[cp, -sp, 0], [c * sp, c * cp, -s], [s * sp, s * cp, c]])


def _times(a: Matrix, b: Matrix) -> Matrix:
    return [[sum(a[i][k] * b[k][j] for k in range(3)) for j in range(3)] for i in range(3)]


def _transposed(a: Matrix) -> Matrix:
    return [list(column) for column in zip(*a, strict=True)]


# --- Legendre's integrals from the complementary parameter 1 - m ----------------------------------------------------


def _amplitude(u: Any, kc: Any) -> Any:
    """am(u), windings included, by Gauss's descending transformation."""
    a, b = mp.mpf(1), kc
    ladder = []
    while abs(a - b) > a * mp.eps:
        ladder.append((a, b))
        a, b = (a + b) / 2, mp.sqrt(a * b)
    phi = 2 ** len(ladder) * a * u
    for upper, lower in reversed(ladder):
        c = (upper - lower) / (upper + lower)
        phi = (phi + mp.asin(c * mp.sin(phi))) / 2
    return phi


def _first_kind(phi: Any, kc2: Any) -> Any:
    s, c = mp.sin(phi), mp.cos(phi)
    return s * _rf(c * c, c * c + kc2 * s * s, 1)


def _third_kind(n: Any, phi: Any, kc2: Any) -> Any:
    """Pi(n; phi | m) for any phi."""
    turns = mp.nint(phi / mp.pi)
    s, c = mp.sin(phi - turns * mp.pi), mp.cos(phi - turns * mp.pi)
    part = s * _carlson(c * c, kc2, s * s, n)
    return part + (2 * turns * _carlson(mp.mpf(0), kc2, mp.mpf(1), n) if turns else 0)


def _third_kind_on_separatrix(n: Any, u: Any) -> Any:
    """The integral of 1 / (1 - n tanh(v)^2) from 0 to u, n < 0: Pi(n; phi | 1) with tanh u = sin phi."""
    root = mp.sqrt(-n)
    return (u + root * mp.atan(root * mp.tanh(u))) / (1 - n)


def _carlson(c2: Any, kc2: Any, s2: Any, n: Any) -> Any:
    d2 = c2 + kc2 * s2
    return _rf(c2, d2, 1) + n * s2 * _rj(c2, d2, 1, 1 - n * s2) / 3


def _rf(*x: Any) -> Any:
    return _back(flint.acb.elliptic_rf(*_balls(x)))


def _rj(*x: Any) -> Any:
    return _back(flint.acb.elliptic_rj(*_balls(x)))


def _balls(x: Sequence[Any]) -> list[Any]:
    """Numbers of mpmath as Arb's, exactly."""
    flint.ctx.prec = mp.mp.prec + 40
    out = []
    for v in x:
        mantissa, exponent = mp.mpf(v).man_exp
        out.append(flint.acb(flint.arb(int(mantissa)) * flint.arb(2) ** int(exponent)))
    return out


def _back(ball: Any) -> Any:
    """And back, if the ball is small enough to count as a number."""
    assert ball.real.rel_accuracy_bits() > mp.mp.prec - 40
    mantissa, exponent = ball.real.mid().man_exp()
    return mp.ldexp(mp.mpf(int(mantissa)), int(exponent))
