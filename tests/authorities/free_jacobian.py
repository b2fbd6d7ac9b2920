"""The Jacobian of free motions by differences of proven states: steps of 2^-1400 at 6,000 bits."""

from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from polhode.free import proven
from polhode.free.jacobian_motion import PAIRS

STEP = Fraction(1, 2**1400)
BITS = 6000


def true_jacobian(tensor: Any, omega: Any, t: float) -> Any:
    """Rotation vector (space axes, which are those of the body at the start) and rate, by omega and by the tensor.

    A number too large for floats is infinite. So is a column whose differences depend on the step: motions that part by
    more than 2^1300 are not near each other.
    """
    inertia = [[Fraction(float(x)) for x in row] for row in tensor]
    w = [Fraction(float(x)) for x in omega]
    columns, far = [], abs(t) * max(map(abs, omega)) > 300.0  # within that they part by 2^600 at most
    with proven.precision(BITS):
        for k in range(9):
            column = _differences(inertia, w, t, k, STEP)
            largest = np.abs(column).max()
            if far and (
                np.isinf(largest) or np.abs(column - _differences(inertia, w, t, k, STEP / 2)).max() > 1e-15 * largest
            ):
                column[:] = np.inf
            columns.append(column)
    return np.array(columns).T


def _differences(inertia: Any, w: Any, t: float, k: int, relative: Fraction) -> Any:
    step = relative * ((max(map(abs, w)) or Fraction(1)) if k < 3 else max(abs(x) for row in inertia for x in row))
    (q, u), (p, v) = (_state(inertia, w, t, k, sign * step) for sign in (1, -1))
    turn = proven._product(q, [p[0], -p[1], -p[2], -p[3]])
    side = -1 if turn[0] < 0 else 1
    twice = arb(proven._rational(2 * step))
    found = [*(2 * side * x / twice for x in turn[1:]), *((a - b) / twice for a, b in zip(u, v, strict=True))]
    return np.array([_float(x) for x in found])


def _state(tensor: Any, w: Any, t: float, k: int, change: Fraction) -> Any:
    tensor, rate = np.array(tensor, dtype=object), list(w)
    if k < 3:
        rate[k] += change
    else:
        i, j = PAIRS[k - 3]
        tensor[i, j] = tensor[j, i] = tensor[i, j] + change
    return proven.ExactMotion(tensor, rate, [1, 0, 0, 0]).enclosed(proven._rational(Fraction(t)))


def _float(x: Any) -> float:
    try:
        return float(x.mid())
    except OverflowError:
        return float("inf")


def natural(J: Any, tensor: Any, omega: Any) -> Any:
    """The Jacobian by omega and inertia in units of the greatest rate and moment."""
    rate, moment = float(np.abs(omega).max()) or 1.0, float(np.abs(tensor).max())
    return J * np.array([1.0] * 3 + [1.0 / rate] * 3)[:, None] * np.array([rate] * 3 + [moment] * 6)
