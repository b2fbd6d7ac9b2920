"""Fits to what functions of the user's see, with gyros that err and with what was known before."""

from typing import Any

import numpy as np
import pytest

import polhode as ph

BODY = ph.Body([1.0, 2.0, 2.5])
AXES = np.array([1.6, 1.1, 1.0])
SUN, EYE = np.array([1.0, 0.2, 0.1]), np.array([0.8, -0.5, 0.3])
T = np.linspace(0.0, 60.0, 300)
TRUTH = ph.FreeMotion(BODY, omega=[0.3, 1.0, 0.2], attitude=ph.quaternion_from_euler("ZXZ", [0.2, 0.9, -0.4]))


def brightness(t: Any, attitude: Any, omega: Any, p: Any) -> Any:
    """An ellipsoid that scatters by Lommel and Seeliger, of which p are an amplitude and a ratio of axes."""
    shape = AXES * [1.0, 1.0, p[1]]
    sun, eye = (attitude.inv().apply(x / np.linalg.norm(x)) for x in (SUN, EYE))
    S, E = (np.sqrt(((shape * x) ** 2).sum(axis=1)) for x in (sun, eye))
    both = (shape**2 * sun * eye).sum(axis=1) / (S * E)
    J = np.sqrt(S**2 + E**2 + 2.0 * S * E * both)
    lam, alpha = np.arctan2(E * np.sqrt(1.0 - both**2), S + E * both), np.arccos(both)
    inside = np.cos(lam - alpha) + np.cos(lam) + np.sin(lam) * np.sin(lam - alpha) * np.log(
        1.0 / np.tan(lam / 2.0) / np.tan((alpha - lam) / 2.0)
    )  # fmt: skip
    return p[0] * shape.prod() * S * E / J * inside


def test_a_light_curve() -> None:
    rng = np.random.default_rng(2)
    state = TRUTH.at(T)
    p = np.array([0.7, 1.0])
    y = brightness(T, state.attitude, state.omega, p)
    data = {"t": T, "y": y * (1.0 + 0.01 * rng.normal(size=T.size)), "sigma_y": 0.01 * y}
    start = TRUTH.at(0.0)
    found = ph.fit(
        ph.Body([1.1, 1.9, 2.5]), data, free=["ratios", "omega", "attitude", "p"], observe=brightness, p=[0.6, 1.1],
        omega=1.03 * start.omega, attitude=start.attitude * type(start.attitude).from_rotvec([0.1, -0.1, 0.05]),
    )  # fmt: skip
    assert found.converged
    assert 0.8 < found.reduced_chi2 < 1.2
    truth = [0.4, 0.8, 0.3, 1.0, 0.2, 0.7, 1.0]
    values = [*found.values[:5], *found.values[8:]]
    errors = [*found.standard_errors[:5], *found.standard_errors[8:]]
    assert np.abs((np.array(values) - truth) / errors).max() < 4.0
    assert found["p[1]"][1] < 0.01
    assert found.residuals["y"] == pytest.approx(data["y"][:, None] - brightness(
        T, found.motion.at(T).attitude, found.motion.at(T).omega, found.p)[:, None], abs=1e-9)  # fmt: skip
    assert "300 numbers observed" in str(found)
    assert len(found.plot().axes) == 2


def test_a_vector_in_the_axes_of_a_camera() -> None:
    """Directions to a star, seen by a camera that is mounted a little off: its turn is found, too."""
    rng = np.random.default_rng(3)
    stars = np.array([[1.0, 0.0, 0.0], [0.0, 0.6, 0.8]])
    from scipy.spatial.transform import Rotation

    def camera(t: Any, attitude: Any, omega: Any, p: Any) -> Any:
        mounted = (attitude * Rotation.from_rotvec(p)).inv()
        return np.concatenate([mounted.apply(star) for star in stars], axis=1)

    mount = [0.02, -0.05, 0.03]
    state = TRUTH.at(T)
    y = camera(T, state.attitude, state.omega, mount) + 1e-3 * rng.normal(size=(T.size, 6))
    gyro = {"t": T, "omega": state.omega + 1e-3 * rng.normal(size=(T.size, 3)), "sigma_omega": 1e-3}
    found = ph.fit(
        BODY, [gyro, {"t": T, "y": y, "sigma_y": 1e-3}], free=["omega", "p"], observe=camera, p=[0.0, 0.0, 0.0],
        attitude=TRUTH.at(0.0).attitude,
    )  # fmt: skip
    assert np.abs((found.p - mount) / found.standard_errors[3:]).max() < 4.0
    assert found.standard_errors[3:].max() < 2e-4


@pytest.mark.parametrize("torque", [None, ph.LinearDamping(0.02)])
def test_a_gyro_with_bias_and_scale(torque: Any) -> None:
    rng = np.random.default_rng(4)
    t = T[::6]
    run = ph.simulate(BODY, torque, omega=[0.3, 1.0, 0.2], t_span=(0, 60), t_eval=t, rtol=1e-9)
    bias, scale = np.array([0.01, -0.02, 0.005]), np.array([0.01, -0.02, 0.03])
    shown = run.omega * (1.0 + scale) + bias + 1e-4 * rng.normal(size=(t.size, 3))
    sensors = [
        {"t": t, "omega": shown, "sigma_omega": 1e-4},
        {"t": t, "attitude": run.attitude * type(run.attitude).from_rotvec(1e-4 * rng.normal(size=(t.size, 3))),
         "sigma_attitude": 1e-4},
    ]  # fmt: skip
    found = ph.fit(
        BODY, sensors, free=["omega", "gyro.bias", "gyro.scale", "attitude"], torque=torque, omega=[0.3, 1.0, 0.2]
    )
    k = [found.names.index(name) for name in ("gyro.bias_x", "gyro.bias_y", "gyro.bias_z")]
    assert np.abs((found.values[k] - bias) / found.standard_errors[k]).max() < 4.0
    k = [found.names.index(f"gyro.scale_{axis}") for axis in "xyz"]
    assert np.abs((found.values[k] - scale) / found.standard_errors[k]).max() < 4.0
    assert found.standard_errors[k].max() < 1e-3


def test_what_was_known_before_weighs_as_data_do() -> None:
    """A linear problem: the bias of a gyro at rest, whose mean and prior are weighed by their variances."""
    rng = np.random.default_rng(5)
    shown = 0.01 + 0.1 * rng.normal(size=(50, 3))
    data = {"t": np.arange(50.0), "omega": shown, "sigma_omega": 0.1}
    found = ph.fit(BODY, data, free="gyro.bias", omega=[0.0, 0.0, 0.0], prior={"gyro.bias_y": (0.5, 0.02)})
    weight = 50 / 0.1**2, 1 / 0.02**2
    expected = (weight[0] * shown[:, 1].mean() + weight[1] * 0.5) / sum(weight)
    assert found["gyro.bias_y"] == pytest.approx((expected, sum(weight) ** -0.5), rel=1e-6)
    assert found["gyro.bias_x"] == pytest.approx((shown[:, 0].mean(), 0.1 / 50**0.5), rel=1e-6)


GYRO = {"t": T, "omega": TRUTH.at(T).omega, "sigma_omega": 1e-3}


@pytest.mark.parametrize(
    ("data", "given", "words"),
    [
        ({"t": T, "y": T}, {"observe": brightness}, "y needs sigma_y, its standard deviation"),
        ({"t": T, "y": T, "sigma_y": 0.1}, {}, "observe and y belong together"),
        (GYRO, {"observe": brightness}, "observe and y belong together"),
        ({"t": T, "y": T[:9], "sigma_y": 0.1}, {"observe": brightness}, "y must have the shape (300,) or (300, "),
        ({"t": T, "y": T, "sigma_y": -0.1}, {"observe": brightness}, "sigma_y must be positive and finite"),
        ({"t": T, "y": T, "sigma_y": 0.1}, {"observe": brightness, "p": [1.0, 1.0]}, "give omega=, a guess of it"),
        (
            {"t": T, "y": T, "sigma_y": 0.1}, {"observe": lambda t, a, w, p: 1.0, "omega": [0, 1, 0]},
            "observe returned an array of the shape () for 1 times",
        ),
        (
            {"t": T, "y": T, "sigma_y": 0.1}, {"observe": lambda t, a, w, p: 1j * t, "omega": [0, 1, 0]},
            "observe must return real numbers, not complex ones",
        ),
        (GYRO, {"free": ["omega", "p"]}, "'p' is to be fitted, but observe has 0 numbers"),
        (GYRO, {"free": ["omega", "p[3]"]}, "give a guess of all of them as p="),
        (GYRO, {"free": "gyro.offset"}, "there is no parameter to fit 'gyro.offset'"),
        (GYRO, {"prior": {"I_q": (1, 2)}}, "there is no free parameter 'I_q'"),
        (GYRO, {"prior": {"I_x": (1, 0)}}, "needs a positive standard deviation, not 0"),
        (GYRO, {"prior": {"I_x": 1}}, "prior['I_x'] must"),
    ],
)  # fmt: skip
def test_bad_input(data: Any, given: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        ph.fit(BODY, data, **given)
    assert words in str(caught.value)


def test_a_start_from_nothing() -> None:
    """Directions in a camera alone: rates and attitudes are sought among motions in all directions."""
    rng = np.random.default_rng(7)
    t = np.sort(rng.uniform(0.0, 40.0, 120))
    truth = ph.FreeMotion(BODY, omega=[-0.2, 0.6, 0.9], attitude=ph.quaternion_from_euler("ZXZ", [2.0, 2.2, -1.0]))

    def star(t: Any, attitude: Any, omega: Any, p: Any) -> Any:
        return attitude.inv().apply([0.0, 0.6, 0.8])

    y = star(t, truth.at(t).attitude, None, None) + 0.01 * rng.normal(size=(120, 3))
    data = {"t": t, "y": y, "sigma_y": 0.01}
    found = ph.fit(BODY, data, free=["omega", "attitude"], observe=star, search=(0.3, 3.0), draws=1500, seed=2)
    assert found.reduced_chi2 < 1.3
    truth_at_start = truth.at(t[0]).omega
    assert np.abs((found.values[:3] - truth_at_start) / found.standard_errors[:3]).max() < 4.0
    assert found.undetermined  # the turn about the direction of the star
    for range_, words in (((0.0, 1.0), "both positive"), ((2.0, 1.0), "the least and the greatest"), (1.0, "search")):
        with pytest.raises((ValueError, TypeError), match=words):
            ph.fit(BODY, data, free=["omega", "attitude"], observe=star, search=range_)  # type: ignore[arg-type]
