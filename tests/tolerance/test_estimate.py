"""Whether the estimate of the error holds."""

import math
import warnings

import numpy as np
import pytest

import polhode as ph
from polhode.tolerance.estimate import Factors, distance, estimate, nudged
from tests.authorities.random_problems import KINDS, RandomRecipe, error, random_recipes, truths
from tests.tolerance.common import answer


def tried(recipe: RandomRecipe) -> ph.Solution:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ph.ToleranceNotReached)
        return recipe.solved(rtol=recipe.rtol)


def test_estimates_hold() -> None:
    """Ten random problems; `tests/evidence/test_estimates.py` has hundreds, other ones every time."""
    recipes = random_recipes(1, 10, longest=30.0)
    truth = truths(recipes)
    assert truth.doubt.max() < 1e-14
    solutions = [tried(p) for p in recipes]
    errors = np.array([error(truth, k, s) for k, s in enumerate(solutions)])
    estimates = np.array([s.error_estimate for s in solutions])
    assert (errors <= estimates).all()
    assert 1 < np.median(estimates / errors) < 100
    assert all(s.error_estimate <= p.rtol for s, p in zip(solutions, recipes, strict=True) if s.error_estimate)


def test_the_generator() -> None:
    recipes = random_recipes(2, 400)
    assert {p.kind for p in recipes} == set(KINDS)
    assert min(p.rtol for p in recipes) < 1e-10
    assert max(p.rtol for p in recipes) > 1e-4
    assert min(p.torque_ratio for p in recipes if p.kind != "free") < 1e-7
    assert max(p.torque_ratio for p in recipes) > 1
    assert {p.span > 0 for p in recipes} == {True, False}
    again = random_recipes(2, 400)
    assert all(np.array_equal(a.values, b.values) and a.rtol == b.rtol for a, b in zip(recipes, again, strict=True))


def test_the_truth_is_polhodes_truth_too() -> None:
    """Extrapolation in extended precision against collocation: they share nothing but the problem."""
    recipes = random_recipes(3, 6, longest=20.0, kinds=("stir",))
    truth = truths(recipes)
    for k, p in enumerate(recipes):
        s = p.solved(step=p.span / (12 * p.turn), method="G8(compensated=true)")
        assert error(truth, k, s) < 1e-12 * (1 + 100 * p.torque_ratio)


def test_times_far_from_zero_are_rounded() -> None:
    """The same motion, begun at zero, is there a little earlier or later than the rounded times say."""
    early = answer(0.1, 1e-8, t_span=(0.0, 1e-8))
    late = answer(0.1, 1e-8, t_span=(1e6, 1e6 + 86 * math.ulp(1e6)))  # whose thirds are no floats
    assert early.error_estimate is not None
    assert early.error_estimate < 2e-14
    truth = answer(0.1, 1e-8, t_span=(0.0, 2e-8), t_eval=late.t - 1e6)
    apart = distance(late, np.arange(late.t.size), truth)
    assert late.error_estimate is not None
    assert 1e-12 < apart <= late.error_estimate < 1e-8


def test_estimate() -> None:
    usual, steady = Factors(1.0), Factors(1.0, 2.0)
    assert estimate(usual, 1e-5, 1e-14) == pytest.approx(1e-5)
    assert estimate(usual, 1e-13, 1e-14) == pytest.approx(5.1e-13)
    assert estimate(steady, 1e-13, 1e-14) == pytest.approx(2.1e-13)
    assert estimate(Factors(3.0), 1e-5, 1e-14) == pytest.approx(3e-5)
    assert estimate(Factors(3.0), 0.0, 1e-14) == 1e-14


@pytest.mark.parametrize(("seed", "which"), [(13, 161), (12, 128)])
def test_rounding_of_inverse_moments_is_seen(seed: int, which: int) -> None:
    """Needles feel the difference of two of them, of which a companion with the same inverses knows nothing."""
    recipe = random_recipes(seed, which + 1, longest=1000.0)[which]
    assert recipe.shape == "needle"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ph.ToleranceNotReached)
        solution = recipe.solved(rtol=1e-14)
    assert solution.error_estimate is not None
    assert solution.error_estimate > 1.5 * error(truths([recipe]), 0, solution)


def test_nudged() -> None:
    """Up and down by turns, and equal moments alike."""
    momentum, axes = np.array([1.0, 2.0, 3.0]), np.eye(3)
    for moments, signs in (
        ((3.0, 1.0, 2.0), (1, 1, -1)),
        ((1.0, 1.0, 2.0), (1, 1, -1)),
        ((2.0, 1.0, 2.0), (-1, 1, -1)),
    ):
        found = nudged(momentum, np.array(moments), axes)
        assert np.sign(found.inverses * moments - 1.0).tolist() == list(signs)
        down = np.array(moments) == max(moments)
        assert np.array_equal(found.momentum < momentum, down)
