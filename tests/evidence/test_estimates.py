"""Whether error estimates hold: hundreds of random problems, other ones every time. Some minutes."""

import secrets
import warnings

import numpy as np
import pytest

import polhode as ph
from tests.authorities.random_problems import error, random_recipes, truths

pytestmark = pytest.mark.evidence
COUNT = 400


def test_estimates_hold() -> None:
    """The true error lies below the estimate in 99 of 100, and within a factor of 100 of it in the median."""
    seed = secrets.randbits(32)
    recipes = random_recipes(seed, COUNT)
    truth = truths(recipes)
    errors, estimates = np.zeros(COUNT), np.zeros(COUNT)
    for k, recipe in enumerate(recipes):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ph.ToleranceNotReached)
            solution = recipe.solved(rtol=recipe.rtol)
        assert solution.error_estimate is not None
        errors[k], estimates[k] = error(truth, k, solution), solution.error_estimate
    known = truth.doubt < 0.1 * estimates  # otherwise the error is not known this well
    ratio = estimates[known] / errors[known]
    worst = [(int(np.flatnonzero(known)[k]), float(ratio[k])) for k in np.argsort(ratio)[:10]]
    told = f"seed {seed}: {np.mean(ratio >= 1):.4f} hold, median {np.median(ratio):.3g}, worst {worst}"
    assert known.mean() > 0.99, told
    assert np.mean(ratio >= 1) >= 0.99, told
    assert np.median(ratio) <= 100, told
    reached = estimates <= [p.rtol for p in recipes]
    assert reached.mean() > 0.95, told
