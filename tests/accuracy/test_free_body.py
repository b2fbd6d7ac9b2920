"""Free bodies with a tolerance: the closed form, and an error that comes from the condition of the motion."""

import math
import warnings
from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.free.free_motion import MOST_RATIO
from polhode.problem import Problem
from tests.authorities import free_motion, free_regimes
from tests.authorities.free_regimes import Draw, FreeCase
from tests.authorities.high_precision import rotation

BODY = ph.Body([2.0, 3.0, 4.5])


def near_separatrix_for_long(draw: Draw) -> FreeCase:
    """Up to 1e12 turns."""
    case = free_regimes.near_separatrix(draw)
    return case._replace(t=case.t * 10.0 ** draw.uniform(0, 10))


def near_the_intermediate_axis(draw: Draw) -> FreeCase:
    """The other two components down to 1e-250."""
    small = 10.0 ** draw.uniform(-250, -8, 2) * draw.choice([-1.0, 1.0], 2)
    moments = free_regimes._body(draw)
    return free_regimes._case(draw, moments, (small[0], 1.0, small[1]), 10.0 ** draw.uniform(0, 4))


def extreme_ratios(draw: Draw) -> FreeCase:
    """Moments up to the limit apart, with rates, momenta or energies alike."""
    power = draw.uniform(3, math.log10(MOST_RATIO))
    shapes = (
        (10.0**-power, 10.0 ** -draw.uniform(0, power), 1.0),
        (10.0**-power, 1.0, 1.0 + 10.0 ** draw.uniform(-15, -1)),
        (10.0**-power, 10.0**-power * (1.0 + 10.0 ** draw.uniform(-15, 0)), 1.0),
    )
    moments, signed = np.array(shapes[draw.integers(3)]), np.array(free_regimes._signed(draw))
    rates = (signed, signed / moments, signed / np.sqrt(moments), signed * 10.0 ** draw.uniform(-power, 0, 3))
    case = free_regimes._case(draw, moments, rates[draw.integers(4)], 10.0 ** draw.uniform(-3, 4))
    return case if max(case.inertia) <= MOST_RATIO * min(case.inertia) else extreme_ratios(draw)


REGIMES: dict[str, Callable[[Draw], FreeCase]] = {
    name: regime for name, regime in free_regimes.REGIMES.items() if name not in ("rest", "scales")
} | {f.__name__: f for f in (near_separatrix_for_long, near_the_intermediate_axis, extreme_ratios)}


def true_error(run: ph.Solution, omega: object) -> float:
    """The error of the last row, against the motion from the numbers given, at 60 digits."""
    with mp.workdps(80):
        moments, axes = [mp.mpf(x) for x in run.body.moments.tolist()], mp.eye(3)
        if not run.body.aligned:
            moments, axes = mp.eigsy(mp.matrix(run.body.tensor.tolist()))
            axes *= mp.sign(mp.det(axes))
        rates = axes.T * mp.matrix([mp.mpf(float(x)) for x in np.asarray(omega)])
        elapsed = mp.mpf(float(run.t[-1])) - mp.mpf(run.problem.t_start)
        truth = free_motion.free_motion(list(moments), list(rates), elapsed, 60)
        turn, rate = axes * mp.matrix(truth.turn) * axes.T, axes * mp.matrix(truth.omega)
        mine = mp.matrix(rotation(run.quaternion[-1].tolist()))
        angle = mp.mnorm(mine - turn, "f") / mp.sqrt(2)
        largest = max(float(np.linalg.norm(run.omega, axis=1).max()), float(mp.norm(rate)))
        return max(float(angle), float(mp.norm(mp.matrix(run.omega[-1].tolist()) - rate)) / largest)


def drawn(regime: str, count: int, seed: int) -> tuple[list[float], list[float]]:
    """Estimates and true errors of random motions, some of them tilted, some of which do not start at zero."""
    draw = np.random.default_rng([seed, list(REGIMES).index(regime)])
    estimates, errors = list[float](), list[float]()
    while len(errors) < count:
        case = REGIMES[regime](draw)
        t0 = float(draw.choice([0.0, 0.0, 0.3 * case.t, 1e3 * case.t]))
        tensor, omega = np.diag(case.inertia), np.array(case.omega)
        if draw.uniform() < 0.3 and max(case.inertia) < 1e6 * min(case.inertia):
            S = Rotation.random(rng=draw).as_matrix()
            tensor, omega = S @ tensor @ S.T, S @ omega
            tensor = (tensor + tensor.T) / 2
        body = ph.Body(tensor, allow_unphysical=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ph.ToleranceNotReached)
            run = ph.simulate(body, omega=omega, t_span=(t0, t0 + case.t), rtol=1e-13, t_eval=[t0 + case.t])
        assert run.error_estimate is not None
        estimates.append(run.error_estimate)
        errors.append(true_error(run, omega))
    return estimates, errors


def share_of_honest(estimates: list[float], errors: list[float]) -> float:
    return float(np.mean([error <= estimate for error, estimate in zip(errors, estimates, strict=True)]))


@pytest.mark.parametrize("regime", ["generic", "near_separatrix", "extreme_ratios", "near_separatrix_for_long"])
def test_the_error_is_below_the_estimate(regime: str) -> None:
    estimates, errors = drawn(regime, 12, seed=5)
    assert share_of_honest(estimates, errors) == 1.0


@pytest.mark.evidence
def test_the_error_is_below_the_estimate_in_all_regimes() -> None:
    every: tuple[list[float], list[float]] = ([], [])
    for regime in REGIMES:
        estimates, errors = drawn(regime, 100, seed=1)
        honest = share_of_honest(estimates, errors)
        ratios = np.array(estimates) / np.maximum(errors, 1e-17)
        print(f"{regime:28} {honest:.3f} {np.median(ratios):8.1f} {ratios.min():.2f}", flush=True)
        every[0].extend(estimates)
        every[1].extend(errors)
        assert honest >= 0.97, regime
    assert share_of_honest(*every) >= 0.995
    assert np.median(np.array(every[0]) / np.maximum(every[1], 1e-17)) <= 20


# --- the answer ------------------------------------------------------------------------------------------------------


def test_a_motion_near_the_separatrix_is_not_warned_about() -> None:
    """The next flip depends on the last digits, but those of the numbers given are known."""
    body, omega = ph.Body([2.0, 3.0, 4.5]), [1e-12, 1.0, 3e-13]
    run = ph.simulate(body, omega=omega, t_span=(0, 500), rtol=1e-12, t_eval=[500.0])  # warnings are errors here
    assert run.error_estimate is not None
    error = true_error(run, omega)
    assert error <= run.error_estimate < 1e-14


def test_what_cannot_be_known_is_still_warned_about() -> None:
    tilted = ph.Body([[2.0, 0.3, -0.2], [0.3, 3.0, 0.4], [-0.2, 0.4, 4.0]])  # its principal axes are rounded
    said = r"rtol=1e-12 was not reached: the error of the closed form is \S+, from the last digits of the numbers given"
    with pytest.warns(ph.ToleranceNotReached, match=said) as caught:
        run = ph.simulate(tilted, omega=[0.3, 1.1, -0.4], t_span=(0, 1e6), rtol=1e-12, t_eval=[1e6])
    assert run.error_estimate is not None
    advised = float(str(caught[0].message).split("rtol=")[-1].split()[0])
    ph.simulate(tilted, omega=[0.3, 1.1, -0.4], t_span=(0, 1e6), rtol=advised, t_eval=[1e6])  # warnings are errors
    assert true_error(run, [0.3, 1.1, -0.4]) <= run.error_estimate < 1e-6


def test_rows_are_those_of_the_exact_motion() -> None:
    t = np.array([3.0, 2.0, 0.5, -1.0])
    run = ph.simulate(BODY, omega=[0.5, 1.2, 0.7], attitude=[0.6, 0.0, 0.8, 0.0], t_span=(3, -1), rtol=1e-9, t_eval=t)
    exact = ph.FreeMotion(BODY, [0.5, 1.2, 0.7], run.problem.quaternion_start, t0=3.0).at(t)
    assert run.method == "Exact"
    assert run.success
    assert run.t_last == -1.0
    assert run.quaternion[0].tolist() == run.problem.quaternion_start.tolist()
    assert run.momentum[0].tolist() == (BODY.moments * [0.5, 1.2, 0.7]).tolist()
    np.testing.assert_array_equal(run.momentum[1:], exact.momentum[1:])
    np.testing.assert_array_equal(np.abs(run.quaternion[1:]), np.abs(exact.quaternion[1:]))
    assert run.last_momentum.tolist() == run.momentum[-1].tolist()


def test_rows_at_steps() -> None:
    """About two a radian, and quaternions that do not change their sign from row to row."""
    for every in (1, 7):
        run = ph.simulate(BODY, omega=[0.5, 1.2, 0.7], t_span=(1, 101), rtol=1e-9, every=every)
        rows = math.ceil(run.stats.steps / every) + 1
        assert run.t.size == rows
        assert (run.t[0], run.t[-1]) == (1.0, 101.0)
        np.testing.assert_allclose(run.t[1:-1], 1.0 + np.arange(1, rows - 1) * every * run.step, rtol=1e-15)
        if every == 1:
            assert ((run.quaternion[1:] * run.quaternion[:-1]).sum(axis=1) > 0.8).all()
    assert 200 < run.stats.steps < 400


def test_times_between_rows_are_as_good() -> None:
    """Also a flip after many of them, which no step from a rounded row would meet."""
    omega = [1e-12, 1.0, 3e-13]
    run = ph.simulate(BODY, omega=omega, t_span=(0, 500), rtol=1e-12, t_eval=[500.0])
    between = run.at([400.0, 10.0, 500.0])
    assert true_error(between, omega) < 1e-14
    np.testing.assert_array_equal(between.momentum[-1], run.momentum[-1])
    assert true_error(run.at(400.0), omega) < 1e-14


def test_a_motion_is_resumed() -> None:
    run = ph.simulate(BODY, omega=[0.5, 1.2, 0.7], t_span=(0, 10), rtol=1e-9)
    longer = ph.resume(run, 20.0)
    exact = ph.FreeMotion(BODY, [0.5, 1.2, 0.7]).at(20.0)
    np.testing.assert_allclose(longer.omega[-1], exact.omega, rtol=0, atol=1e-13)
    np.testing.assert_allclose(
        longer.at(15.0).omega[0], ph.FreeMotion(BODY, [0.5, 1.2, 0.7]).at(15.0).omega, atol=1e-13
    )


def test_rest_and_moments_beyond_the_closed_form() -> None:
    run = ph.simulate(BODY, omega=[0, 0, 0], t_span=(0, 10), rtol=1e-9)
    assert (run.omega == 0).all()
    needle = ph.Body([1e-16, 1.0, 1.0])
    run = ph.simulate(needle, omega=[0.3, 1.0, 0.2], t_span=(0, 1), rtol=1e-9, t_eval=[1.0])  # by the search
    np.testing.assert_allclose(np.linalg.norm(run.spatial_momentum[0]), np.hypot(1.0, 0.2), rtol=1e-12)


def test_the_rate_given_is_forgotten_with_the_start() -> None:
    """A momentum from elsewhere has another rate: only what was given may be taken as exact."""
    problem = Problem.given(BODY, omega=[0.5, 1.2, 0.7], t_span=(0, 1))
    assert problem.omega_given is not None
    assert problem.replace(t_end=2.0).omega_given is problem.omega_given
    assert problem.replace(momentum_start=problem.momentum_start * 2).omega_given is None
    assert problem.replace(body=ph.Body([1, 1, 1])).omega_given is None


def test_events_of_a_free_body_keep_their_own_estimate() -> None:
    """Their rows are made by steps, not in closed form."""
    run = ph.simulate(BODY, omega=[0.5, 1.2, 0.7], t_span=(0, 10), rtol=1e-9, events=lambda t, q, w: w[0])
    assert run.error_estimate is not None
    assert run.error_estimate > 1e-14
    assert run.events[0].t.size > 0
