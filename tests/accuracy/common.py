"""A body, a torque and answers to tolerances, which the tests of this folder share."""

from typing import Any

import numpy as np

import polhode as ph

BODY, TOP = ph.Body([1.0, 1.75, 2.5]), ph.HeavyTop(0.01)
MOTION: dict[str, Any] = {
    "omega": [0.9, -0.7, 1.1],
    "attitude": np.array([5, 1, -3, 2]) / 39**0.5,
    "t_span": (0.0, 20.0),
}


def top(size: float) -> ph.HeavyTop:
    """A torque of about this part of twice the kinetic energy."""
    return ph.HeavyTop(4.7 * size, point=(0.6, 0.0, 0.8))


def answer(size: float, rtol: float, **others: Any) -> ph.Solution:
    return ph.simulate(BODY, top(size) if size else None, **(MOTION | {"rtol": rtol} | others))
