"""Round-off of the paper's methods at a glance, and the pieces that measure it."""

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from polhode import ensemble, resume, simulate
from polhode.free.free_motion import FreeMotion
from polhode.kernels.compared import moser_veselov
from polhode.kernels.compared.jacobi_momentum import by_momenta
from polhode.papers.study import ClaimVerdict, Size, chosen
from polhode.papers.vilmart2008 import _common
from polhode.papers.vilmart2008._arrangements import ARRANGEMENTS, arranged
from polhode.papers.vilmart2008._common import (
    EPS,
    START,
    WATER,
    changes,
    growth,
    invariants,
    outlying,
    starts,
    walk,
)
from polhode.papers.vilmart2008._constants import predicted_drift, relative_errors
from polhode.papers.vilmart2008.quaternion import repeated, untouched
from tests.papers.glance import drawn, glanced

STUDIES = {s.name: s for s in chosen(["vilmart2008"])}
R, READ, LATER = ClaimVerdict.REPRODUCED, ClaimVerdict.UNDER_A_READING, ClaimVerdict.NOT_JUDGED
VERDICTS = {
    "fig1": [LATER] * 6,
    "fig2": [LATER] * 4,
    "drift": [LATER] * 3,
    "other_bodies": [LATER] * 3,
    "step": [LATER],
    "iteration": [LATER, R],
    "settling": [LATER],
    "further": [LATER] * 2,
    "quaternion": [R, LATER],
    "motion": [R, READ, R],
    "order": [R, R, R],
}
MOMENTS = np.array(WATER.moments)


@pytest.mark.parametrize("name", VERDICTS)
def test_at_a_glance(name: str) -> None:
    data, claims = glanced(STUDIES[name])
    assert [c.verdict for c in claims] == VERDICTS[name]
    drawn(STUDIES[name], data)


def test_all_there() -> None:
    assert set(STUDIES) == set(VERDICTS)


def test_full_size_is_the_papers() -> None:
    assert _common.scale(Size.FULL)[:2] == (1000, 1_000_000)
    np.testing.assert_array_equal(starts(3)[0], np.array(START) / np.linalg.norm(START))
    np.testing.assert_allclose(np.linalg.norm(starts(50), axis=1), 1.0, rtol=0, atol=2 * EPS)


def test_invariants() -> None:
    """For a quaternion of any norm, the momentum in space is that of the solution."""
    found = simulate(WATER, omega=np.array(START) / MOMENTS, t_span=(0.0, 3.0), step=0.1, method="Exact")
    q, m = 3.7 * found.quaternion, found.momentum
    energy, casimir, *space = invariants(q, m, MOMENTS).T
    np.testing.assert_allclose(energy, found.kinetic_energy, rtol=1e-14)
    np.testing.assert_allclose(casimir, 0.5, rtol=1e-14)
    np.testing.assert_allclose(np.array(space).T, found.spatial_momentum, rtol=0, atol=1e-14)


@pytest.mark.parametrize("method", ["ExactPolished", "PDMV10(compensated=true)"])
def test_low_halves_count(method: str) -> None:
    """In the last row; those before are rounded to doubles."""
    found = ensemble(WATER, omega=starts(10) / MOMENTS, t_span=(0.0, 0.4), step=0.01, method=method, every=20)
    _, halfway, end = np.sqrt((changes(found)[:, :, 1] ** 2).mean(axis=0))
    assert 3 * end < halfway  # measured, in eps, of |m|^2 / 2: 0.0001 and 0.088 polished, 0.029 and 0.114 compensated


@pytest.mark.parametrize("method", ["ExactPolished", "PDMV10(compensated=true)"])
def test_members_of_ensembles_resume_with_their_memory(method: str) -> None:
    momenta = starts(2)
    half = ensemble(WATER, omega=momenta / MOMENTS, t_span=(0.0, 0.2), step=0.01, method=method)
    whole = simulate(WATER, omega=momenta[1] / MOMENTS, t_span=(0.0, 0.4), step=0.01, method=method, t_eval=[0.4])
    resumed = resume(half[1], 0.4, t_eval=[0.4])
    assert (resumed.last_momentum == whole.last_momentum).all()
    assert (resumed.last_quaternion == whole.last_quaternion).all()
    assert resumed.memory == whole.memory


def test_growth_tells_walks_from_drifts() -> None:
    steps = np.random.default_rng(2).normal(size=(400, 1000))
    x = np.concatenate([np.zeros((400, 1)), np.cumsum(steps, axis=1)], axis=1)
    assert growth(x) == pytest.approx(0.5, abs=0.05)
    assert growth(x + 5.0 * np.arange(1001)) == pytest.approx(1.0, abs=0.01)
    last = x[:, -1] / np.sqrt(1000)
    assert not outlying(last).any()
    assert outlying(np.append(last, 9.0)).sum() == 1
    assert walk(x[:, -1:], 1000).deviation == pytest.approx(1.0, abs=0.11)  # 3 standard errors


def test_errors_of_constants() -> None:
    """Two of them are exact for these moments, the others thirds and ninths."""
    found = relative_errors(np.array([9.0, 16.0, 25.0])) * EPS
    exact = Fraction(7, 9), Fraction(3, 4), Fraction(4, 3), Fraction(5, 4)
    rounded = 7.0 / 9.0, 0.75, sqrt(16.0 / 9.0), 1.25
    for error, a, b in zip(found, exact, rounded, strict=True):
        assert error == float((Fraction(b) - a) / a)
    assert (found != 0).tolist() == [True, False, True, False]


def test_drift_of_rounded_constants() -> None:
    """Single steps of Algorithm 3.1 change the energy as predicted."""
    from polhode.papers.vilmart2008.drift import single_steps

    start = np.array(START)
    expected = predicted_drift(WATER, start)
    mean, error = single_steps(start, 10_000)
    assert abs(mean - expected) < 4 * error < abs(expected) / 3


def test_orders_of_operations() -> None:
    """The printed one is the kernel's, to the bit; all are the same step but for rounding."""
    y, i = START, (float(MOMENTS[0]), float(MOMENTS[1]), float(MOMENTS[2]))
    exact = np.asarray(FreeMotion(WATER, omega=np.array(y) / MOMENTS).at(0.01).momentum)
    for name, route in ARRANGEMENTS.items():
        new, status = route(i, y, 0.01)
        assert status == 0
        np.testing.assert_allclose(new, exact, rtol=0, atol=4 * EPS, err_msg=name)
    assert arranged(False, False, True)(i, y, 0.01) == by_momenta(i, y, 0.01)
    assert len({route(i, y, 0.01)[0] for route in ARRANGEMENTS.values()}) > 3


def test_fixed_point_ends() -> None:
    """Both iterations find the same solution; a step that is too long for one fails with a status."""
    i = (float(MOMENTS[0]), float(MOMENTS[1]), float(MOMENTS[2]))
    for h in (0.01, 0.3):
        newton, fixed = moser_veselov.solved(i, START, h), moser_veselov.iterated(i, START, h)
        assert newton[2] == fixed[2] == 0
        np.testing.assert_allclose(fixed[0], newton[0], rtol=0, atol=h * EPS)
    assert moser_veselov.iterated(i, START, 3.0)[2] != 0


def test_untouched_quaternions_grow() -> None:
    """By sqrt(1 + c.c) a step, about 1 + (h |w|)^2 / 8, which is what exp(N h^2 w^2 / 8) means."""
    x, h, count = np.array([1.0, 0.0, 0.0, 0.0, *START, *MOMENTS]), 0.01, 100
    rate = np.linalg.norm(np.array(START) / MOMENTS)
    assert repeated(untouched)(x, h, count) == 0
    assert np.log(np.linalg.norm(x[:4])) == pytest.approx(count * (h * rate) ** 2 / 8, rel=0.2)
