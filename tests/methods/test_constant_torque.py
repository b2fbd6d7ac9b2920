"""Romano: exact under a constant torque, against his closed form in Kummer's functions to 40 digits."""

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import polhode as ph
from polhode.kernels.steps.constant_torque import sped_up


def kummer(q: tuple[float, ...], along: float, across: float, growth: float, t: float) -> np.ndarray[Any, Any]:
    """The attitude at t of a sphere with the rate (across, 0, along + growth t), from q at 0.

    With a = q0 + i q3 and b = q1 + i q2, 2 a' = i w3 a - across b: Weber's equation for a, in s = t + along / growth.
    """
    with mp.workdps(40):
        p, c = mp.mpf(across), mp.mpf(growth)
        first = mp.mpc(0, -(p**2) / (8 * c))

        def pair(s: Any) -> Any:
            """Even and odd solution for a, and their b."""
            z, wave = mp.mpc(0, -c * s * s / 2), mp.exp(mp.mpc(0, c * s * s / 4))
            even, odd = mp.hyp1f1(first, 0.5, z), s * mp.hyp1f1(first + 0.5, 1.5, z)
            dz = mp.mpc(0, -c * s)
            d_even = first / 0.5 * mp.hyp1f1(first + 1, 1.5, z) * dz
            d_odd = mp.hyp1f1(first + 0.5, 1.5, z) + s * (first + 0.5) / 1.5 * mp.hyp1f1(first + 1.5, 2.5, z) * dz
            a = [wave * even, wave * odd]
            slope = [wave * (d + mp.mpc(0, c * s / 2) * f) for d, f in ((d_even, even), (d_odd, odd))]
            return mp.matrix([a, [(mp.mpc(0, c * s) * x - 2 * d) / p for x, d in zip(a, slope, strict=True)]])

        s = mp.mpf(along) / c
        start = mp.matrix([mp.mpc(q[0], q[3]), mp.mpc(q[1], q[2])])
        a, b = pair(s + t) * mp.lu_solve(pair(s), start)
        return np.array([float(x) for x in (a.real, b.real, b.imag, a.imag)])


@pytest.mark.parametrize(
    ("along", "across", "growth", "t"),
    [(0.5, 0.3, 0.2, 2.0), (-1.0, 0.5, 0.3, 7.0), (0.0, 2.0, -0.4, 5.0), (0.2, 0.01, 1.0, 4.0), (3.0, 1.0, 0.01, 9.0)],
)
def test_the_series_is_the_closed_form(along: float, across: float, growth: float, t: float) -> None:
    q = (0.5, -0.1, 0.7, 0.5)
    found, status = sped_up(q, (across, 0.0, along), (0.0, 0.0, growth), t)
    assert status == 0
    np.testing.assert_allclose(found, kummer(q, along, across, growth, t), rtol=0, atol=2e-14)


BODIES = {"sphere": ([2, 2, 2], (0.3, -0.5, 0.2)), "disc": ([2, 2, 3], (0, 0, 0.5)), "rod": ([1, 2, 2], (-0.4, 0, 0))}


@pytest.mark.parametrize("name", BODIES)
def test_one_step_is_a_run(name: str) -> None:
    moments, n = BODIES[name]
    problem: dict[str, Any] = {"omega": [1, 0.5, -2], "t_span": (0, 20), "t_eval": [20]}
    torque, body = ph.ConstantBodyTorque(n), ph.Body(moments)
    true = ph.simulate(body, torque, method="DOP853(rtol=1e-14)", step=0.05, **problem)
    for step in (0.05, 0.7):
        found = ph.simulate(body, torque, method="Romano", step=step, **problem)
        apart = (found.attitude[-1].inv() * true.attitude[-1]).magnitude()
        assert apart < 5e-13
        np.testing.assert_allclose(found.omega[-1], true.omega[-1], rtol=0, atol=5e-13)
    (whole,) = ph.simulate(body, torque, method="Romano", step=20.0, **problem).attitude
    assert (whole.inv() * true.attitude[-1]).magnitude() < 5e-13


def test_a_torque_across_the_axis_is_of_order_two() -> None:
    problem: dict[str, Any] = {"omega": [1, 0.5, -2], "t_span": (0, 4), "t_eval": [4]}
    torque, body = ph.ConstantBodyTorque((0.2, 0.3, 0.5)), ph.Body([2, 2, 3])
    true = ph.simulate(body, torque, method="DOP853(rtol=1e-13)", step=0.05, **problem).omega[-1]
    errors = [
        np.linalg.norm(ph.simulate(body, torque, method="Romano", step=h, **problem).omega[-1] - true)
        for h in (0.2, 0.1)
    ]
    assert math.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.1)


def test_a_top_keeps_nothing() -> None:
    """Where Strang keeps the momentum along the vertical: the torque that a step holds on to is not the weight."""
    changes = {}
    for method in ("Romano", "Strang"):
        run = ph.simulate(
            ph.Body([2, 2, 2]), ph.HeavyTop(weight=3.0), omega=[1, 0.5, 2], attitude=(0.9, 0.3, 0.1, 0.2),
            t_span=(0, 5), step=0.1, method=method,
        )  # fmt: skip
        changes[method] = np.ptp(run.spatial_momentum[:, 2])
    assert changes["Romano"] > 1e-4
    assert changes["Strang"] < 1e-13


def test_too_long_a_turn_is_refused() -> None:
    with pytest.raises(ph.SimulationFailed, match="shorter step"):
        ph.simulate(
            ph.Body([1, 1, 1]), ph.ConstantBodyTorque((0, 0, 1)), omega=[0, 1, 0], t_span=(0, 1e4), step=1e4,
            method="Romano",
        )  # fmt: skip
