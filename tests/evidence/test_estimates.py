"""Whether error estimates hold: hundreds of random problems, other ones every time. Some minutes."""

import math
import secrets
import warnings
from typing import Any

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


def eccentric(t: float, q: Any, w: Any, p: Any) -> Any:
    """The gravity gradient along an eccentric orbit, to the first order of its angle, and a small constant torque."""
    f, k = 0.05 * t + 0.3 * math.sin(0.05 * t), p[0] * (1.0 + 0.15 * math.cos(0.05 * t)) ** 3
    x, y, z = ph.to_body(q, (math.cos(f), math.sin(f), 0.0))
    return 1.8 * k * y * z + 1e-4, -3.3 * k * z * x - 2e-4, 1.5 * k * x * y + 1e-4


def swing(t: float, q: Any, w: Any, p: Any) -> Any:
    """A damped swing that is driven."""
    return (
        0.3 * math.tanh(2.0 * q[1] * q[0]) - 0.01 * w[0], p[0] * math.sin(0.7 * t) * q[2],
        -0.2 * q[3] * q[0] * math.sqrt(1.0 + w[2] * w[2]),
    )  # fmt: skip


ENSEMBLES: dict[str, tuple[Any, list[float], float, float]] = {  # torque, moments, its size, radians
    "eccentric": (eccentric, [1.0, 1.5, 2.1], 0.03, 500.0),
    "swing": (swing, [1.0, 1.5, 2.0], 0.2, 100.0),
}


@pytest.mark.parametrize("method", [None, "G8"])
@pytest.mark.parametrize("name", ENSEMBLES)
def test_estimates_of_ensembles_hold(name: str, method: str | None) -> None:
    """A thousand bodies that begin anywhere: 99.5 % hold, 99 % by `G8`; one at most is above `rtol` unwarned."""
    formula, moments, size, span = ENSEMBLES[name]
    body, torque, seed = ph.Body(moments), ph.torque(formula, parameters=[size]), secrets.randbits(32)
    rng = np.random.default_rng(seed)
    given: dict[str, Any] = {"omega": rng.normal(size=(1000, 3)), "attitude": rng.normal(size=(1000, 4))}
    given["attitude"] /= np.linalg.norm(given["attitude"], axis=1)[:, None]
    given |= {"t_span": (0.0, span), "t_eval": [0.5 * span, span]}
    true, doubted = (ph.ensemble(body, torque, step=h, method="G8(compensated=true)", **given) for h in (0.15, 0.2))
    doubt = ensemble_error(true, doubted, given["omega"])
    for rtol in (1e-3, 1e-6, 1e-9):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ph.ToleranceNotReached)
            made = ph.ensemble(body, torque, rtol=rtol, method=method, **given)
        assert made.error_estimate is not None
        error, known = ensemble_error(true, made, given["omega"]), doubt < 0.1 * made.error_estimate
        low = known & (error > made.error_estimate)
        told = f"seed {seed}, {rtol:g}: {low.sum()} of {known.sum()}, {(error / made.error_estimate)[low]}"
        print(told)
        assert known.mean() > 0.9, told
        assert low.sum() <= (0.005 if method is None else 0.01) * known.sum(), told
        assert (known & (error > rtol) & (made.error_estimate <= rtol)).sum() <= 1, told


def ensemble_error(true: ph.Ensemble, made: ph.Ensemble, omega: Any) -> Any:
    """Returns the largest error of each body, as estimates mean it."""
    chord = np.minimum(*(np.linalg.norm(true.quaternion + sign * made.quaternion, axis=2) for sign in (1.0, -1.0)))
    start = np.linalg.norm(omega, axis=1)[:, None]
    largest = np.maximum(np.linalg.norm(made.omega, axis=2), start).max(axis=1)[:, None]
    rate = np.linalg.norm(made.omega - true.omega, axis=2) / largest
    return np.maximum(4.0 * np.arcsin(np.minimum(1.0, 0.5 * chord)), rate).max(axis=1)
