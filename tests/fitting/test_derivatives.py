"""Derivatives of residuals against variational equations, which SciPy integrates."""

import dataclasses
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.fitting.data import measurements
from polhode.fitting.parameters import NaturalSizes, Trial, parameters, with_turned
from polhode.fitting.residuals import Residuals, first_steps
from polhode.fitting.trial_motions import ExactMotions
from polhode.support.arrays import inverse, product, turn_of, vector_of


class Differenced:
    """Motions of free bodies whose derivatives are left to differences."""

    def __call__(self, trials: Any, t: Any) -> Any:
        return ExactMotions()(trials, t)


MOMENTS, OMEGA = np.array([1.0, 2.0, 2.5]), np.array([0.3, 1.0, 0.2])


def sensitivities(t: NDArray[np.float64]) -> NDArray[np.float64]:
    """Derivatives of the rates by the logarithms of the moments and by the rates at the start, (times, 3, 6)."""
    gaps = np.array([MOMENTS[1] - MOMENTS[2], MOMENTS[2] - MOMENTS[0], MOMENTS[0] - MOMENTS[1]])

    def slope(_: float, y: NDArray[np.float64]) -> NDArray[np.float64]:
        w, S = y[:3], y[3:].reshape(3, 6)
        products = np.array([w[1] * w[2], w[2] * w[0], w[0] * w[1]])
        by_rate = np.array([[0, w[2], w[1]], [w[2], 0, w[0]], [w[1], w[0], 0]]) * (gaps / MOMENTS)[:, None]
        # d/dlog I_k of (I_j - I_l) / I_i
        by_moment = np.zeros((3, 3))
        for i, (j, k) in enumerate(((1, 2), (2, 0), (0, 1))):
            by_moment[i, j] += MOMENTS[j] / MOMENTS[i]
            by_moment[i, k] -= MOMENTS[k] / MOMENTS[i]
            by_moment[i, i] -= gaps[i] / MOMENTS[i]
        change = by_rate @ S
        change[:, :3] += by_moment * products[:, None]
        return np.concatenate([gaps / MOMENTS * products, change.reshape(-1)])

    start = np.concatenate([OMEGA, np.hstack([np.zeros((3, 3)), np.eye(3)]).reshape(-1)])
    found = solve_ivp(slope, (t[0], t[-1]), start, method="DOP853", t_eval=t, rtol=1e-13, atol=1e-14)
    return np.asarray(found.y[3:].T.reshape(-1, 3, 6))


def test_derivatives_against_variational_equations() -> None:
    t = np.linspace(0.0, 100.0, 50)
    body = ph.Body(MOMENTS)
    wanted = parameters(["moments", "omega"], body, None)
    data = measurements({"t": t, "omega": np.zeros((50, 3)), "sigma_omega": 1.0}).with_sigma(np.ones(3), np.ones(3))
    trial = Trial(body, OMEGA, np.array([1.0, 0.0, 0.0, 0.0]), None)
    sizes = NaturalSizes(1.1, 2.5)
    residuals = Residuals(data, wanted, trial, sizes, ExactMotions(), first_steps(wanted, trial, sizes, t))
    truth = sensitivities(t)
    for motions, most, count in ((ExactMotions(), 1e-11, 1), (Differenced(), 1e-7, 3 * 13)):
        work = dataclasses.replace(residuals, motions=cast("ExactMotions", motions))
        error = np.abs(work.jacobian(np.zeros(6)).reshape(50, 3, 6) - truth).max(axis=(0, 1)) / np.abs(truth).max(
            axis=(0, 1)
        )
        assert error.max() < most
        assert work.evaluations <= count


@pytest.mark.parametrize("free", ["moments", "ratios", "inertia"])
def test_derivatives_away_from_the_origin(free: str) -> None:
    """Of rates and attitudes of a tilted body, at parameters that are far from those of the guess."""
    rng = np.random.default_rng(5)
    t = np.sort(rng.uniform(0.0, 20.0, 30))
    body = ph.Body([[1.0, 0.1, -0.2], [0.1, 2.0, 0.3], [-0.2, 0.3, 2.5]])
    wanted = parameters([free, "omega", "attitude"], body, None)
    seen = {
        "t": t, "omega": rng.normal(size=(30, 3)), "attitude": Rotation.random(30, rng), "sigma_omega": 0.1,
        "sigma_attitude": 0.2,
    }  # fmt: skip
    data = measurements(seen).with_sigma(np.ones(3), np.ones(3))
    trial, sizes = Trial(body, OMEGA, turn_of(np.array([0.3, 1.0, -0.4])), None), NaturalSizes(1.1, 2.5)
    work = Residuals(data, wanted, trial, sizes, ExactMotions(), first_steps(wanted, trial, sizes, data.t))
    x = 0.3 * rng.normal(size=wanted.count)
    exact = work.jacobian(x)
    differences = dataclasses.replace(work, motions=cast("ExactMotions", Differenced())).jacobian(x)
    assert np.abs(exact - differences).max() < 1e-7 * np.abs(exact).max()


def test_derivatives_of_everything_that_observes() -> None:
    """A function with numbers of its own, a gyro with bias and scale, and what was known before."""
    rng = np.random.default_rng(6)
    t = np.linspace(0.0, 15.0, 20)
    body = ph.Body([1.0, 2.0, 2.5])
    p = np.array([0.4, 1.3])
    wanted = parameters(["moments", "gyro.scale", "omega", "p", "attitude", "gyro.bias"], body, None, p)
    seen: dict[str, Any] = {
        "t": t, "omega": rng.normal(size=(20, 3)), "sigma_omega": 0.1, "y": rng.normal(size=(20, 2)),
        "sigma_y": rng.uniform(0.1, 0.2, 20), "attitude": Rotation.random(20, rng), "sigma_attitude": 0.2,
    }  # fmt: skip
    seen["y"][3, 1] = np.nan
    data = measurements(seen, missing="drop").with_sigma(np.ones(3), np.ones(3))
    trial, sizes = Trial(body, OMEGA, turn_of(np.array([0.3, 1.0, -0.4])), None, p=p), NaturalSizes(1.1, 2.5)

    def looks(t: Any, attitude: Any, omega: Any, p: Any) -> Any:
        to_sun = attitude.inv().apply([0.0, 0.6, 0.8])
        return np.stack([p[0] * to_sun[:, 0] ** 2 + p[1] ** 2 * t, np.sin(omega[:, 2] * p[1])], axis=1)

    x = 0.1 * rng.normal(size=wanted.count)
    made = []
    for motions in (ExactMotions(), Differenced()):
        steps = first_steps(wanted, trial, sizes, data.t)
        prior = [(0, 1.0, 0.1), (4, 0.0, 0.2)]
        work = Residuals(data, wanted, trial, sizes, cast("ExactMotions", motions), steps, looks, prior)
        made.append(work.jacobian(x))
        assert work.count == 60 + 60 + 39 + 2
    assert np.abs(made[0] - made[1]).max() < 1e-7 * np.abs(made[0]).max()
    by_hand = np.stack([(work(x + h) - work(x - h)) / 2e-6 for h in 1e-6 * np.eye(x.size)], axis=1)
    assert np.abs(made[0] - by_hand).max() < 1e-7 * np.abs(by_hand).max()


def test_turns_as_vectors() -> None:
    rng = np.random.default_rng(0)
    v = rng.normal(size=(40, 3)) * np.logspace(-9, 0, 40)[:, None]
    q = turn_of(v)
    np.testing.assert_allclose(q, Rotation.from_rotvec(v).as_quat(scalar_first=True), atol=1e-15)
    np.testing.assert_allclose(vector_of(q), v, rtol=1e-12)
    np.testing.assert_allclose(vector_of(-q), v, rtol=1e-12)
    np.testing.assert_allclose(product(q, inverse(q))[:, 1:], 0.0, atol=1e-16)
    change = 1e-6 * rng.normal(size=(40, 3))
    ahead = (Rotation.from_rotvec(v) * Rotation.from_rotvec(change)).as_rotvec()
    behind = (Rotation.from_rotvec(v) * Rotation.from_rotvec(-change)).as_rotvec()
    np.testing.assert_allclose(with_turned(v, change), (ahead - behind) / 2, atol=1e-15)
