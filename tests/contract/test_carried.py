"""What methods promise for torques that carry numbers: orders, measured in plain Python; the others refuse them."""

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import polhode as ph
from polhode.methods import Method, catalogue
from polhode.support.arrays import Floats

MOMENTS, OMEGA, STATE, SPAN = np.array([1.0, 1.7, 2.2]), [0.7, -0.4, 0.9], [0.3, -0.2], 2.0
METHODS = list(catalogue().values())
CARRYING = [m for m in METHODS if m.takes_state]


@ph.torque(state=["a", "b"])
def coupled(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
    """A torque of all that there is, and two numbers that swing, are driven by the body, and act on it."""
    n = (0.5 * z[0] + 0.3 * q[1], -0.2 * w[0] * z[1], 0.1 * math.sin(t) - 0.3 * z[1] * q[2])
    return n, (z[1] + 0.2 * w[2], -1.3 * z[0] + 0.4 * q[1] * w[1])


@cache
def truth() -> Floats:
    """Rates and carried numbers at the end, by SciPy."""

    def slope(t: float, y: Floats) -> Floats:
        q, w, z = y[:4], y[4:7], y[7:]
        n, dz = coupled(t, q, w, (), z)
        a, b, c, d = q
        x, u, v = w
        dq = 0.5 * np.array(
            [-b * x - c * u - d * v, a * x + c * v - d * u, a * u + d * x - b * v, a * v + b * u - c * x]
        )
        return np.concatenate([dq, (np.array(n) - np.cross(w, MOMENTS * w)) / MOMENTS, dz])

    start = [1.0, 0.0, 0.0, 0.0, *OMEGA, *STATE]
    return np.asarray(solve_ivp(slope, (0.0, SPAN), start, method="DOP853", rtol=3e-14, atol=1e-16).y[4:, -1])


def error(method: Method, steps: int) -> float:
    """Returns the largest error of a carried number at the end."""
    s = ph.simulate(
        ph.Body(MOMENTS), coupled, omega=OMEGA, state=STATE, t_span=(0.0, SPAN), step=SPAN / steps, method=method,
        t_eval=[SPAN],
    )  # fmt: skip
    return float(np.abs(s.state[-1] - truth()[3:]).max())


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("method", [m for m in CARRYING if not m.adaptive and not m.collocation], ids=lambda m: m.name)
def test_carried_numbers_have_the_order_of_the_method(method: Method) -> None:
    """Steps are halved where the error is far from round-off and from the first steps."""
    steps = 8 if (method.order or 0) > 2 else 32
    order = math.log2(error(method, steps) / error(method, 2 * steps))
    assert order > (method.order or 0) - 0.5


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("method", [m for m in CARRYING if m.adaptive or m.collocation], ids=lambda m: m.name)
def test_carried_numbers_are_as_good_as_the_tolerance(method: Method) -> None:
    assert error(method, 4) < 1e-8


@pytest.mark.parametrize("method", [m for m in METHODS if not m.takes_state], ids=lambda m: m.name)
def test_other_methods_refuse(method: Method) -> None:
    with pytest.raises(ValueError, match=r"cannot carry the numbers of coupled along|does not accept"):
        error(method, 4)
