"""What the rounding of its constants does to Algorithm 3.1, step after step."""

from decimal import Decimal, localcontext
from math import sqrt

import numpy as np

from polhode.body import Body
from polhode.free.free_motion import FreeMotion
from polhode.papers.vilmart2008._common import EPS
from polhode.support.arrays import Floats

PHASES = 256


def relative_errors(moments: Floats) -> Floats:
    """The errors of b0 to b3 as doubles, in units of eps."""
    i = [float(x) for x in moments]
    i31, i32, i21 = abs(i[2] - i[0]), abs(i[2] - i[1]), abs(i[1] - i[0])
    rounded = (i21 / i32, sqrt(i[0] / i31), sqrt(i[1] / i32), sqrt(i[2] / i31))
    with localcontext() as context:
        context.prec = 50
        j1, j2, j3 = (Decimal(x) for x in i)
        exact = (
            abs(j2 - j1) / abs(j3 - j2),
            (j1 / abs(j3 - j1)).sqrt(),
            (j2 / abs(j3 - j2)).sqrt(),
            (j3 / abs(j3 - j1)).sqrt(),
        )
        return np.array([float((Decimal(b) - e) / e) for b, e in zip(rounded, exact, strict=True)]) / EPS


def predicted_drift(body: Body, momentum: Floats) -> float:
    """The mean change of the energy in a step of Algorithm 3.1, in units of eps, if only b0 to b3 are rounded.

    The step gives y1, y2, y3 with the relative errors of b1, b2, b3, and y3 = b3 a3 dn with that of dn besides, where
    dn^2 = 1 - k^2 sn^2 and k^2 has the relative error of b0. To first order the energy changes by the sum of
    e_i y_i^2 / I_i; the mean is over a period.
    """
    order = np.argsort(body.moments)
    i, y0 = body.moments[order], momentum[order]
    if y0[2] ** 2 * i[0] * (i[2] - i[1]) < y0[0] ** 2 * i[2] * (i[1] - i[0]):
        order, i = order[::-1], i[::-1]  # around the axis of the least moment: "similar formulas"
    free = FreeMotion(body, omega=momentum / body.moments)
    squares = np.asarray(free.at(np.arange(PHASES) / PHASES * free.period).momentum)[:, order] ** 2
    twice_h, twice_c = (squares / i).sum(axis=1).mean(), squares.sum(axis=1).mean()
    dn2 = squares[:, 2] * abs(i[2] - i[0]) / (i[2] * abs(twice_c - twice_h * i[0]))
    e0, e1, e2, e3 = relative_errors(i)
    of_dn = -0.5 * e0 * (1.0 - dn2) / dn2
    e = np.stack([np.full(PHASES, e1), np.full(PHASES, e2), e3 + of_dn], axis=1)
    return float((e * squares / i).sum(axis=1).mean())
