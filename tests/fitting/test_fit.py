"""Fits of motions that SciPy computed: values, errors, and what is said of them."""

import re

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import polhode as ph
from tests.fitting.truth import motion, noisy

MOMENTS, OMEGA = np.array([1.0, 2.0, 2.5]), [0.3, 1.0, 0.2]
GUESS = ph.Body([1.3, 2.0, 2.0])
T = np.linspace(0.0, 60.0, 200)
TILT = Rotation.from_rotvec([0.2, -0.1, 0.3])
TENSOR = TILT.as_matrix() @ np.diag(MOMENTS) @ TILT.as_matrix().T
SIGMA = 1e-3


def off(fit: ph.Fit, truth: dict[str, float]) -> float:
    """The largest error in standard errors."""
    known = {name: fit[name] for name in fit.names} | fit.ratios | fit.principal_moments
    return max(abs(known[name][0] - value) / known[name][1] for name, value in truth.items())


@pytest.mark.parametrize("sigma", [SIGMA, None])
def test_rates_of_a_free_body(sigma: float | None) -> None:
    rates, _ = noisy(*motion(MOMENTS, OMEGA, T), np.random.default_rng(1), SIGMA)
    fit = ph.fit(GUESS, {"t": T, "omega": rates}, free=["moments", "omega"], sigma_omega=sigma)
    truth = {"I_x/I_z": 0.4, "I_y/I_z": 0.8, "omega_x": 0.3, "omega_y": 1.0, "omega_z": 0.2}
    assert off(fit, truth) < 4.0
    assert fit.ratios["I_x/I_z"][1] < 1e-3
    assert fit.converged
    assert fit.degrees_of_freedom == 600 - 5
    assert 0.8 < fit.reduced_chi2 < 1.2
    assert fit.sigma_estimated == (() if sigma else ("omega",))
    assert fit.data.sigma_omega is not None
    assert fit.data.sigma_omega[0, 0] == pytest.approx(SIGMA, rel=0.1)
    # The scale of the moments is said to be undetermined, and is that of the guess.
    (scale,) = fit.undetermined
    assert scale.names == ("I_x", "I_y", "I_z")
    assert "scale of the moments" in scale.text
    np.testing.assert_allclose(
        scale.direction[:3] / fit.body.moments, scale.direction[0] / fit.body.moments[0], rtol=1e-3
    )
    assert np.prod(fit.body.moments) == pytest.approx(np.prod(GUESS.moments), rel=1e-6)
    # The motion is the one that was fitted.
    np.testing.assert_allclose(fit.motion.at(T).omega, rates - fit.residuals["omega"], atol=1e-12)
    assert np.isnan(fit.residuals["attitude"]).all()
    text = str(fit)
    assert "I_x/I_z" in text
    assert ("estimated" in text) is (sigma is None)
    assert "Not determined by these data:\n  the scale of the moments" in text
    assert "<pre>" in fit._repr_html_()
    assert list(fit.to_dataframe().index) == list(fit.names)


@pytest.mark.evidence
def test_a_whole_tensor_from_attitudes() -> None:
    rates, turns = motion(TENSOR, OMEGA, T, TILT)
    _, seen = noisy(rates, turns, np.random.default_rng(2), SIGMA)
    fit = ph.fit(GUESS, {"t": T, "attitude": seen}, free=["inertia", "omega", "attitude"], sigma_attitude=SIGMA)
    scale = np.cbrt(np.prod(GUESS.moments) / np.prod(MOMENTS))
    truth = {
        f"I_{'xyz'[i]}{'xyz'[j]}": scale * TENSOR[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    }
    truth |= {f"I_{k + 1}": scale * MOMENTS[k] for k in range(3)}
    assert off(fit, truth | {"omega_x": 0.3, "omega_y": 1.0, "omega_z": 0.2}) < 4.0
    turn = (TILT * fit.attitude.inv()).as_rotvec()  # about space axes
    assert np.abs(turn / fit.standard_errors[9:]).max() < 4.0
    assert len(fit.undetermined) == 1
    assert "scale of the inertia" in str(fit)
    assert ph.fit(GUESS, {"t": T, "attitude": seen}, free=["axes", "moments", "omega", "attitude"]).names == fit.names


@pytest.mark.evidence  # with a torque: the page of fits has such a fit in each run of the tests
def test_a_damping_coefficient() -> None:
    rates, turns = motion(MOMENTS, OMEGA, T, torque=lambda t, R, w: -0.02 * w)
    seen, _ = noisy(rates, turns, np.random.default_rng(3), SIGMA)
    data = {"t": T, "omega": seen, "sigma_omega": SIGMA}
    fit = ph.fit(ph.Body(MOMENTS), data, free=["omega", "torque.coefficient"], torque=ph.LinearDamping(0.005))
    assert off(fit, {"torque.coefficient": 0.02, "omega_x": 0.3, "omega_y": 1.0, "omega_z": 0.2}) < 4.0
    assert fit["torque.coefficient"][1] < 1e-4
    assert fit.undetermined == ()
    assert isinstance(fit.torque, ph.LinearDamping)
    assert fit.solution.torque is fit.torque
    np.testing.assert_allclose(fit.solution.omega, seen - fit.residuals["omega"], atol=1e-7)
    with pytest.raises(ValueError, match="LinearDamping acts on the body: take `solution`"):
        _ = fit.motion
    # Moments and coefficient have a common factor that rates do not show.
    both = ph.fit(GUESS, data, free=["moments", "omega", "torque.coefficient"], torque=ph.LinearDamping(0.01))
    (factor,) = both.undetermined
    assert factor.text.startswith("a common factor of I_x, I_y, I_z, torque.coefficient")
    assert off(both, {"I_x/I_z": 0.4, "I_y/I_z": 0.8}) < 4.0
    assert isinstance(both.torque, ph.LinearDamping)
    assert both.torque.coefficient / both.body.moments[2] == pytest.approx(0.02 / 2.5, rel=2e-3)


@pytest.mark.evidence
def test_a_dipole_moment_and_a_gravity_gradient() -> None:
    field, moment = np.array([0.0, 0.1, 0.3]), np.array([0.05, 0.02, 0.1])
    rates, turns = motion(MOMENTS, OMEGA, T, TILT, lambda t, R, w: np.cross(moment, R.inv().apply(field)))
    seen, known = noisy(rates, turns, np.random.default_rng(4), SIGMA)
    guess = ph.MagneticDipole(moment=(0.03, 0.03, 0.08), field=tuple(field))
    data = {"t": T, "omega": seen, "attitude": known, "sigma_omega": SIGMA, "sigma_attitude": SIGMA}
    fit = ph.fit(GUESS, data, free=["ratios", "omega", "attitude", "torque.moment"], torque=guess)
    scale = 2.0 / 2.5  # of the last moment, which stays
    truth = {f"torque.moment_{k}": scale * x for k, x in zip("xyz", moment, strict=True)}
    assert off(fit, truth | {"I_x/I_z": 0.4, "I_y/I_z": 0.8}) < 4.0
    assert fit.undetermined == ()
    # From rates alone, the attitude is known but for a turn about the field, and no guess of it is needed.
    alone = ph.fit(ph.Body(MOMENTS), {"t": T, "omega": seen}, free=["omega", "attitude", "torque.moment"], torque=guess)
    assert off(alone, dict(zip(truth, moment, strict=True))) < 4.0
    (turn,) = alone.undetermined
    assert "the turn of the attitude about (0, 0.316, 0.949) in space axes" in turn.text

    strength = 0.05
    rates, turns = motion(
        MOMENTS, OMEGA, T, TILT,
        lambda t, R, w: strength * np.cross(R.inv().apply([0, 0, 1]), MOMENTS * R.inv().apply([0, 0, 1])),
    )  # fmt: skip
    _, known = noisy(rates, turns, np.random.default_rng(5), SIGMA)
    fit = ph.fit(
        GUESS, {"t": T, "attitude": known}, free=["ratios", "omega", "attitude", "torque.strength"],
        torque=ph.GravityGradient(0.02),
    )  # fmt: skip
    assert off(fit, {"torque.strength": strength, "I_x/I_z": 0.4, "I_y/I_z": 0.8}) < 4.0


@pytest.mark.evidence
def test_a_function_in_a_sum_and_a_rotor() -> None:
    @ph.torque(parameters=[0.1, 0.02])
    def spring(t, q, w, p):  # type: ignore[no-untyped-def]
        return (-p[1] * w[0], 0.0, p[0])

    rates, turns = motion(MOMENTS, OMEGA, T, torque=lambda t, R, w: np.array([-0.03 * w[0], 0.0, 0.05]) - 0.01 * w)
    seen, _ = noisy(rates, turns, np.random.default_rng(6), SIGMA)
    fit = ph.fit(
        ph.Body(MOMENTS), {"t": T, "omega": seen}, free=["omega", "torque.spring.p"],
        torque=spring + ph.LinearDamping(0.01),
    )  # fmt: skip
    assert off(fit, {"torque.spring.p[0]": 0.05, "torque.spring.p[1]": 0.03}) < 4.0

    g = np.array([0.2, 0.1, 0.3])
    rates, turns = motion(MOMENTS, OMEGA, T, torque=lambda t, R, w: np.cross(g, w))
    seen, _ = noisy(rates, turns, np.random.default_rng(7), SIGMA)
    fit = ph.fit(ph.Body(MOMENTS, rotor=[0.1, 0.1, 0.2]), {"t": T, "omega": seen}, free=["rotor", "omega"])
    assert off(fit, dict(zip(("rotor_x", "rotor_y", "rotor_z"), g, strict=True))) < 4.0


@pytest.mark.evidence
def test_outliers_count_less() -> None:
    rng = np.random.default_rng(8)
    rates, _ = noisy(*motion(MOMENTS, OMEGA, T), rng, SIGMA)
    wrong = rng.random(T.size) < 0.1
    rates[wrong] += rng.normal(size=(wrong.sum(), 3))
    truth = {"I_x/I_z": 0.4, "I_y/I_z": 0.8, "omega_y": 1.0}
    for sigma in (SIGMA, None):
        fit = ph.fit(GUESS, {"t": T, "omega": rates}, sigma_omega=sigma, loss="cauchy")
        assert off(fit, truth) < 4.0
        assert fit.ratios["I_x/I_z"][1] < 5e-4
    plain = ph.fit(GUESS, {"t": T, "omega": rates}, sigma_omega=SIGMA)
    assert plain.reduced_chi2 > 100.0
    assert "there are outliers (loss='soft_l1')" in str(plain)


def test_exact_data_give_all_digits() -> None:
    s = ph.simulate(ph.Body(MOMENTS), omega=OMEGA, attitude=TILT, t_span=(0, 60), t_eval=T, rtol=1e-12)
    fit = ph.fit(ph.Body([0.8, 2.2, 2.5]), s, free=["ratios", "omega", "attitude"])
    np.testing.assert_allclose(fit.body.moments, MOMENTS, rtol=1e-13)
    np.testing.assert_allclose(fit.omega, OMEGA, rtol=1e-13)
    assert (fit.attitude * TILT.inv()).magnitude() < 1e-13


def test_gaps_and_sensors_with_times_of_their_own() -> None:
    rng = np.random.default_rng(9)
    fast = T[(T < 20.0) | (T > 45.0)]
    slow = np.linspace(0.3, 59.0, 23)
    every = np.unique(np.concatenate([[0.0], fast, slow]))
    rates, turns = motion(MOMENTS, OMEGA, every, TILT)
    seen, known = noisy(rates, turns, rng, SIGMA)
    gyro = {"t": fast, "omega": seen[np.isin(every, fast)], "sigma_omega": SIGMA}
    camera = {"t": slow, "attitude": known[np.isin(every, slow)], "sigma_attitude": SIGMA}
    fit = ph.fit(GUESS, [gyro, camera], free=["moments", "omega", "attitude"])
    assert off(fit, {"I_x/I_z": 0.4, "I_y/I_z": 0.8, "omega_x": 0.3}) < 4.0
    assert fit.data.numbers == 3 * (fast.size + slow.size)
    turn = (TILT * fit.attitude.inv()).as_rotvec()
    assert np.abs(turn / fit.standard_errors[-3:]).max() < 4.0
    assert (np.diff(fit.data.t) >= 0.0).all()


def test_numbers_that_are_missing() -> None:
    rates, _ = noisy(*motion(MOMENTS, OMEGA, T), np.random.default_rng(10), SIGMA)
    rates[10] = np.nan
    rates[50:90, 2] = np.nan  # one of three gyros
    with pytest.raises(ValueError, match=r"omega\[10, 0\] is NaN: pass missing='drop'"):
        ph.fit(GUESS, {"t": T, "omega": rates})
    fit = ph.fit(GUESS, {"t": T, "omega": rates}, missing="drop", sigma_omega=SIGMA)
    assert off(fit, {"I_x/I_z": 0.4, "I_y/I_z": 0.8}) < 4.0
    assert fit.degrees_of_freedom == 600 - 43 - 5


# --- what is not determined ----------------------------------------------------------------------------------------


def test_rates_show_no_attitude() -> None:
    rates, _ = noisy(*motion(MOMENTS, OMEGA, T), np.random.default_rng(11), SIGMA)
    fit = ph.fit(ph.Body(MOMENTS), {"t": T, "omega": rates}, free=["omega", "attitude"], attitude=TILT)
    (unknown,) = fit.undetermined
    assert unknown.text.startswith("the attitude (attitude_x, attitude_y, attitude_z): these data do not depend on it")
    assert np.isnan(fit.standard_errors[3:]).all()
    assert (fit.attitude * TILT.inv()).magnitude() < 1e-9
    assert re.search(r"attitude_x +not determined", str(fit))


def test_a_symmetric_body_can_be_turned_about_its_axis() -> None:
    rates, _ = noisy(*motion([1.0, 1.0, 1.8], OMEGA, T), np.random.default_rng(12), SIGMA)
    fit = ph.fit(ph.Body([1.0, 1.0, 1.8]), {"t": T, "omega": rates}, free=["axes", "omega"])
    (unknown,) = fit.undetermined
    assert unknown.text.startswith("the turn of the principal axes about (0, 0, 1) in body axes")
    assert np.abs(fit.values[:2] / fit.standard_errors[:2]).max() < 4.0


@pytest.mark.parametrize("seed", [14, pytest.param(15, marks=pytest.mark.evidence)])
def test_a_body_that_turns_about_an_axis_shows_no_moments(seed: int) -> None:
    rates, _ = noisy(*motion(MOMENTS, [0.0, 0.0, 1.0], T), np.random.default_rng(seed), SIGMA)
    fit = ph.fit(GUESS, {"t": T, "omega": rates})
    np.testing.assert_allclose(fit.body.moments, GUESS.moments, rtol=1e-9)
    assert all(np.isnan(error) for _, error in fit.ratios.values())
    assert "the ratios of I_x, I_y, I_z" in str(fit)
    assert off(fit, {"omega_z": 1.0}) < 4.0


def test_moments_that_no_body_has() -> None:
    flat = [1.0, 2.0, 3.2]
    rates, _ = noisy(*motion(flat, OMEGA, T), np.random.default_rng(16), SIGMA)
    with pytest.raises(ValueError, match="exceeds the sum of the other two"):
        ph.Body([1.0, 2.0, 4.0])
    fit = ph.fit(ph.Body([1.0, 2.0, 4.0], allow_unphysical=True), {"t": T, "omega": rates}, free=["ratios", "omega"])
    assert off(fit, {"I_x/I_z": 1 / 3.2, "I_y/I_z": 2 / 3.2}) < 4.0
    assert "No body has these moments" in str(fit)


# --- covariance ----------------------------------------------------------------------------------------------------


def coverage(fits: int, rows: int, free: list[str]) -> tuple[float, float]:
    """The mean square error in standard errors, and how often all parameters lie within the region of 95 %."""
    from scipy.stats import chi2

    t = np.linspace(0.0, 40.0, rows)
    rates, turns = motion(MOMENTS, OMEGA, t, TILT)
    squares = []
    for seed in range(fits):
        seen, known = noisy(rates, turns, np.random.default_rng(1000 + seed), 3e-3)
        data = {"t": t, "omega": seen, "attitude": known, "sigma_omega": 3e-3, "sigma_attitude": 3e-3}
        fit = ph.fit(ph.Body([1.0, 2.0, 2.5]), data, free=free, omega=OMEGA)
        assert fit.undetermined == ()
        apart = np.concatenate([
            fit.values[:2] - [0.4, 0.8], fit.values[2:5] - OMEGA, -(TILT * fit.attitude.inv()).as_rotvec()
        ])  # fmt: skip
        squares.append(float(apart @ np.linalg.solve(fit.covariance, apart)))
    return float(np.mean(squares)), float(np.mean(np.array(squares) < chi2.ppf(0.95, 8)))


@pytest.mark.evidence
def test_the_covariance_over_200_fits() -> None:
    mean, within = coverage(200, 40, ["ratios", "omega", "attitude"])
    assert 7.15 < mean < 8.85  # 8 with a standard deviation of 0.28
    assert 0.90 < within < 0.99  # 0.95 with a standard deviation of 0.015


# --- guesses that are far off --------------------------------------------------------------------------------------


def random_problem(seed: int) -> tuple[ph.Body, ph.Body, dict[str, object], list[str]]:
    """A free body over up to 300 turns, with noise, sampled 5 to 50 times a turn, and a guess that is 30 % off."""
    rng = np.random.default_rng(seed)
    a, b, c = np.exp(rng.uniform(-1.5, 1.5, 3))
    body = ph.Body([b + c, a + c, a + b])
    omega = rng.normal(size=3)
    omega *= np.exp(rng.uniform(-3.0, 3.0)) / np.linalg.norm(omega)
    rate, turns = float(np.linalg.norm(omega)), np.exp(rng.uniform(0.0, np.log(300.0)))
    rows = int(np.clip(turns * np.exp(rng.uniform(np.log(5.0), np.log(50.0))), 20, 1500))
    t = np.sort(rng.uniform(0.0, turns * 2 * np.pi / rate, rows))
    if rng.random() < 0.3:
        t = t[(t < 0.4 * t[-1]) | (t > 0.6 * t[-1])]
    sigma = 10 ** rng.uniform(-4.0, -1.5)
    state = ph.FreeMotion(body, omega, Rotation.random(rng=rng), t0=float(t[0])).at(t)
    rates, seen = noisy(state.omega / rate, state.attitude, rng, sigma)
    data: dict[str, object] = {"t": t}
    kind, free = seed % 3, ["moments", "omega"]
    if kind != 1:
        data |= {"omega": rate * rates, "sigma_omega": rate * sigma}
    if kind != 0:
        data |= {"attitude": seen, "sigma_attitude": sigma}
        free.append("attitude")
    guess = ph.Body(body.moments * rng.uniform(0.7, 1.3, 3), allow_unphysical=True)
    return body, guess, data, free


def is_found(seed: int) -> bool:
    body, guess, data, free = random_problem(seed)
    fit = ph.fit(guess, data, free=free)
    truth = body.moments[:2] / body.moments[2]
    errors = [(value - x) / error for (value, error), x in zip(fit.ratios.values(), truth, strict=True)]
    return fit.converged and fit.reduced_chi2 < 1.5 and not np.nanmax(np.abs([*errors, 0.0])) > 5.0


def test_guesses_that_are_far_off() -> None:
    assert all(map(is_found, range(3)))


@pytest.mark.evidence
def test_many_guesses_that_are_far_off() -> None:
    assert sum(map(is_found, range(100, 160))) >= 59


def test_a_long_span_needs_growing() -> None:
    t = np.linspace(0.0, 600.0, 1500)
    rates = ph.FreeMotion(ph.Body(MOMENTS), OMEGA).at(t).omega + SIGMA * np.random.default_rng(17).normal(
        size=(1500, 3)
    )
    data = {"t": t, "omega": rates, "sigma_omega": SIGMA}
    fit = ph.fit(GUESS, data)
    assert off(fit, {"I_x/I_z": 0.4, "I_y/I_z": 0.8}) < 4.0
    assert len(fit.spans) > 3
    assert fit.spans[-1] == 600.0


def test_a_poor_guess_of_the_rate_is_not_used() -> None:
    rates, _ = noisy(*motion(MOMENTS, OMEGA, T), np.random.default_rng(18), SIGMA)
    fit = ph.fit(GUESS, {"t": T, "omega": rates}, omega=[-3.0, 2.0, 5.0])
    assert off(fit, {"omega_x": 0.3, "omega_y": 1.0, "omega_z": 0.2}) < 4.0
