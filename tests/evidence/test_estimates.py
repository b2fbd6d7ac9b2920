"""Whether error estimates hold: hundreds of random problems, other ones every time. Some minutes."""

import secrets
import warnings

import numpy as np
import pytest

import polhode as ph
from tests.authorities import families
from tests.authorities.random_problems import error, random_recipes, truths

pytestmark = pytest.mark.evidence
COUNT = 400
OF_A_FAMILY = 84
"""The number of problems of each family: two thousand in all."""


def test_estimates_hold() -> None:
    """The true error lies below the estimate in 99 of 100, and within a factor of 100 of it in the median.

    It is known to a tenth of the estimate in every problem: no estimate can hide in the doubt of the truth.
    """
    seed = secrets.randbits(32)
    recipes = random_recipes(seed, COUNT)
    solutions = list[ph.Solution]()
    for recipe in recipes:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ph.ToleranceNotReached)
            solutions.append(recipe.solved(rtol=recipe.rtol))
    estimates = np.array([s.error_estimate for s in solutions], dtype=float)
    truth = truths(recipes, 0.1 * estimates)
    errors = np.array([error(truth, k, s) for k, s in enumerate(solutions)])
    ratio = estimates / errors
    worst = [(int(k), float(ratio[k])) for k in np.argsort(ratio)[:10]]
    told = f"seed {seed}: {np.mean(ratio >= 1):.4f} hold, median {np.median(ratio):.3g}, worst {worst}"
    assert (truth.doubt < 0.1 * estimates).all(), told
    assert np.mean(ratio >= 1) >= 0.99, told
    assert np.median(ratio) <= 100, told
    reached = estimates <= [p.rtol for p in recipes]
    assert reached.mean() > 0.95, told


def test_estimates_of_families_hold() -> None:
    """Problems as users have them, in families: what holds is counted in each of them, and over all.

    Hardly any answer lies above its tolerance without a warning: docs/howto/tolerance.md tells of one.
    """
    first = secrets.randbits(32)
    all_ratios, lines, unwarned = list[float](), list[str](), list[str]()
    held = dict[str, float]()
    for family in families.FAMILIES:
        ratios, unknown = list[float](), 0
        for seed in range(first, first + OF_A_FAMILY):
            case = families.case(family, seed)
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                solution = case.solved()
            motion = families.truth(case, solution.t)
            estimate, true = solution.error_estimate, families.error(motion, solution)
            assert estimate is not None
            if not motion.doubt <= 0.1 * estimate:  # the error is not known this well
                unknown += 1
                continue
            ratios.append(estimate / max(true, 1e-300))
            warned = any(issubclass(w.category, ph.ToleranceNotReached) for w in said)
            if true > case.rtol and not warned:
                unwarned.append(f"{family} {seed}: {true:.1e} for {case.rtol:.1e}")
        held[family] = float(np.mean(np.array(ratios) >= 1))
        worst = int(np.argmin(ratios))
        lines.append(
            f"{family}: {held[family]:.3f} of {len(ratios)} hold, {unknown} not known, median {np.median(ratios):.3g}, "
            f"worst {ratios[worst]:.2g}"
        )
        all_ratios += ratios
    ratio = np.array(all_ratios)
    told = "\n".join([f"first seed {first}", *lines, *unwarned])
    print(told)
    assert np.mean(ratio >= 1) >= 0.99, told
    assert min(held.values()) >= 0.93, told  # 0.96 was the least of a draw: three of 84 are chance there
    assert np.median(ratio) <= 30, told
    assert len(unwarned) <= 2, told
