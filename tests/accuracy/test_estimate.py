"""Whether the estimate of the error holds."""

import math
import warnings
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.accuracy.estimate import (
    Factors,
    apart_from_start,
    comes_near_separatrix,
    compared_rows,
    distance,
    distances,
    estimate,
    nudged,
)
from polhode.problem import Plan
from tests.accuracy.common import answer
from tests.accuracy.test_free_body import true_error
from tests.authorities import families, random_problems
from tests.authorities.free_motion import free_motion
from tests.authorities.high_precision import rotation
from tests.authorities.random_problems import (
    KINDS,
    RandomRecipe,
    error,
    random_recipes,
    series_motion,
    truths,
)


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


def test_the_truth_with_more_digits_is_the_same() -> None:
    """Taylor series with 48 digits against extrapolation in extended precision, for torques of every kind."""
    drawn = {kind: random_recipes(4, 50, longest=5.0, kinds=(kind,)) for kind in KINDS}
    recipes = [
        next(p for p in drawn[kind] if p.shape == "triaxial" and (kind == "free" or p.torque_ratio > 1e-2))
        for kind in KINDS
    ]
    truth, more = truths(recipes), truths(recipes, 0.0)
    assert more.doubt.max() < 1e-18
    for k in range(len(recipes)):
        assert random_problems.distance(truth.R[k], truth.omega[k], more.R[k], more.omega[k]) < 1e-15


def test_the_truth_of_a_free_body_is_its_closed_form() -> None:
    """At the times that polhode is given: eighths of the span are rounded, which is seen after many turns."""
    drawn, extended = random_recipes(5, 50, kinds=("free",)), random_problems.extended
    recipe = next(p for p in drawn if p.shape == "triaxial" and p.tensor[0, 1] == 0 and 60 < p.turn < 120)
    with mp.workdps(40):
        moments, start = np.diag(recipe.tensor).tolist(), mp.matrix(rotation(recipe.quaternion.tolist()))
        exact = [free_motion(moments, recipe.omega.tolist(), t) for t in recipe.times.tolist()]
        R = np.array([[extended(x) for x in start * mp.matrix(e.turn)] for e in exact]).reshape(-1, 3, 3)
        omega = np.array([[extended(x) for x in e.omega] for e in exact])
    plain = truths([recipe])
    assert random_problems.distance(R, omega, *series_motion(recipe, 1e-22)) < 1e-18
    assert random_problems.distance(R, omega, plain.R[0], plain.omega[0]) < 1e-15


def test_times_far_from_zero_are_rounded() -> None:
    """The same motion, begun at zero, is there a little earlier or later than the rounded times say."""
    early = answer(0.1, 1e-12, t_span=(0.0, 1e-8))
    late = answer(0.1, 1e-8, t_span=(1e6, 1e6 + 86 * math.ulp(1e6)), method="G8")  # whose thirds are no floats
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
    attitude, momentum, axes = np.array([0.5, -0.1, 0.7, 0.5]), np.array([1.0, 2.0, 3.0]), np.eye(3)
    for moments, signs in (
        ((3.0, 1.0, 2.0), (1, 1, -1)),
        ((1.0, 1.0, 2.0), (1, 1, -1)),
        ((2.0, 1.0, 2.0), (-1, 1, -1)),
    ):
        found = nudged(attitude, momentum, np.array(moments), axes)
        assert np.sign(found.inverses * moments - 1.0).tolist() == list(signs)
        down = np.array(moments) == max(moments)
        assert np.array_equal(found.momentum < momentum, down)
        assert 1e-16 < np.linalg.norm(found.quaternion - attitude) < 1e-15


def test_compared_rows() -> None:
    """All rows but the start, up to a hundred; of more, one for each step, and a hundred evenly among them."""
    few = np.linspace(0.0, 1.0, 101)
    assert compared_rows(few, 0.0, 3) == slice(1, None)
    assert compared_rows(few, -1.0, 101) == slice(0, None)
    many = np.concatenate([np.linspace(0.0, 1e-3, 5000), np.linspace(0.01, 1.0, 100)])
    rows = compared_rows(many, 0.0, 200)
    assert isinstance(rows, np.ndarray)
    assert rows[0] > 0
    assert rows[-1] == many.size - 1
    assert rows.size < 320
    assert set(range(5000, 5100)) <= set(rows.tolist())  # each of these lies in a step of its own
    assert (rows < 5000).sum() > 90
    backwards = compared_rows(-many, 0.0, 200)
    assert isinstance(backwards, np.ndarray)
    assert np.array_equal(backwards, rows)


def test_a_companion_makes_a_step_of_its_own_to_the_first_row() -> None:
    plan = Plan(ph.methods.find("DOP853"), 0.5)
    assert apart_from_start(plan, 1.0, np.array([1.5, 2.0])) is plan
    stopped = apart_from_start(plan, 1.0, np.array([1.2, 2.0])).first_stop
    assert stopped is not None
    assert 1.05 < stopped < 1.1
    assert apart_from_start(plan, 1.0, np.array([1.0 + 1e-9, 2.0])) is plan


def test_release_near_an_unstable_rest() -> None:
    """Only the rounding of the attitude can grow here: the momentum is almost nothing."""
    point = (0.4210326284758892, -0.745433441083904, -0.5167789766162065)
    s = ph.simulate(
        ph.Body([0.8447410041305884, 0.8447410041305884, 1.3105179917388234]),
        ph.HeavyTop(1.0, point=point),
        omega=[1.4930028442727758e-08, -2.947277961848907e-09, -1.562174130386556e-08],
        attitude=[0.4915389213864871, -0.7582649175172481, -0.428280052798131, 5.074625153218465e-10],
        t_span=(0.0, 8.072298765592816),
        t_eval=[8.072298765592816],
        rtol=1e-6,
    )
    true = np.array([2.63167901051829532e-05, 2.23353826950229340e-05, -6.97295400982558921e-06])
    error = np.linalg.norm(s.omega[-1] - true) / np.linalg.norm(true)
    assert s.error_estimate is not None
    assert error <= s.error_estimate


NEAR_MIDDLE_AXIS: list[tuple[list[float], float]] = [
    ([0.001793192904568544, 93.9645646972749, 0.0001787088007752696], 9.8e-10),
    ([0.0018081188315882376, 87.77608729059162, 6.56353678035902e-05], 4.4e-9),
    ([0.0014169864345374864, 94.89907044578659, 0.0003107964476049488], 5.2e-8),
]
"""Rates near the middle axis, and tolerances, for which one companion had the same round-off as its run by chance."""


def test_round_off_grows_near_the_separatrix() -> None:
    """Round-off of the energy grows there by the inverse square of the distance from the axis: to 1e-7 here.

    The truth are runs whose round-off is compensated, to far smaller estimates.
    """
    body, end = ph.Body([0.778, 0.963, 1.233]), 1.58
    for omega, rtol in NEAR_MIDDLE_AXIS:
        runs = [
            ph.simulate(body, ph.HeavyTop(8e-6), omega=omega, t_span=(0.0, end), t_eval=[end], **asked)
            for asked in ({"rtol": rtol}, {"rtol": 1e-12, "method": "SABA(compensated=true)"})
        ]
        run, truth = runs
        assert truth.error_estimate is not None
        assert run.error_estimate is not None
        error = distance(run, slice(None), truth)
        assert truth.error_estimate < 1e-11
        assert error <= run.error_estimate + truth.error_estimate
        assert error <= rtol


def test_nears_separatrix() -> None:
    """The complementary parameter of the elliptic functions is below a hundredth within 0.06 of the middle axis."""
    moments, axes = np.array([2.0, 1.0, 3.0]), np.eye(3)  # the middle axis is the first
    middle = np.array([1.0, 0.0, 0.0])
    assert comes_near_separatrix(moments, np.array([[1.0, 0.02, 0.03]]), axes)
    assert not comes_near_separatrix(moments, np.array([[1.0, 0.3, 0.1]]), axes)
    assert comes_near_separatrix(moments, np.array([[0.0, 1.0, 1.0], 5.0 * middle]), axes)  # in one of its rows
    momenta = np.stack([[middle], [[0.0, 1.0, 0.1]]])
    assert comes_near_separatrix(np.stack(2 * [moments]), momenta, np.stack(2 * [axes])).tolist() == [True, False]
    assert not comes_near_separatrix(np.array([1.0, 1.0, 1.0]), middle[None], axes)  # no axis of a sphere is special
    assert not comes_near_separatrix(np.array([1.0, 1.0, 2.0]), middle[None], axes)


def test_steps_from_jump_to_jump_are_not_those_of_the_companion() -> None:
    """Jumps that nobody declared end the steps of both: if both made one step to each, they would err alike."""
    for seed in (13, 53, 58, 65, 79):
        case = families.case("periodic", seed)
        solution = case.solved()
        motion = families.truth(case, solution.t)
        assert solution.error_estimate is not None
        assert families.error(motion, solution) <= solution.error_estimate <= case.rtol


@pytest.mark.parametrize("family", ["unstable", "control", "pulse", "wall"])
def test_families(family: str) -> None:
    """A few problems of families that are hard to judge; `tests/evidence/test_estimates.py` has hundreds."""
    for seed in range(1000, 1004):
        case = families.case(family, seed)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            solution = case.solved()
        motion = families.truth(case, solution.t)
        error = families.error(motion, solution)
        assert solution.error_estimate is not None
        assert error <= solution.error_estimate + motion.doubt
        assert error <= case.rtol or any(issubclass(w.category, ph.ToleranceNotReached) for w in said)


def test_a_short_pulse_in_many_rows_is_seen() -> None:
    """The body forgets the pulse between two of a hundred rows; all two thousand are promised."""
    case = families.case("pulse", 3)
    span = 100.0
    values = case.values.copy()
    values[families.PULSE : families.PULSE + 5] = 0.3, -0.2, 0.1, 20.5, 0.4
    values[families.DRAG] = 4.0
    asked = replace(case, values=values, t_span=(0.0, span), times=span * np.arange(1, 2001) / 2000, rtol=1e-5)
    solution = asked.solved()
    assert solution.error_estimate is not None
    assert families.error(families.truth(asked, solution.t), solution) <= solution.error_estimate <= 1e-5


def test_errors_are_relative_to_the_start_where_a_body_comes_to_rest() -> None:
    """At the only row the body is at rest: relative to its rate there nothing could be computed."""
    body = ph.Body([1.0, 1.2, 1.5])
    s = ph.simulate(body, ph.LinearDamping(1.0), omega=[1.0, 0.2, 0.3], t_span=(0.0, 60.0), t_eval=[60.0], rtol=1e-8)
    assert np.linalg.norm(s.omega[-1]) < 1e-12
    assert s.error_estimate is not None
    assert s.error_estimate < 1e-8


@pytest.mark.parametrize("vectors", [1, 3])
def test_distances_are_the_largest_angle_or_vector_over_its_scale(vectors: int) -> None:
    """By SciPy's rotations, for some bodies of many, in some of their rows; NaN after a failure does not count."""
    draw = np.random.default_rng(5)
    q, w = draw.normal(size=(4, 9, 4)), draw.normal(size=(4, 9, vectors, 3))
    q /= np.linalg.norm(q, axis=-1)[..., None]
    rows, places = np.array([0, 3, 4, 8]), np.array([2, 0])
    p, u = -q[places][:, rows] + 1e-3 * draw.normal(size=(2, 4, 4)), w[places][:, rows] + 1e-3
    p /= np.linalg.norm(p, axis=-1)[..., None]
    scale = np.array([[0.5] * vectors, [0.0] * vectors])
    u[1, 2], u[0, 1] = math.nan, math.nan
    found = distances(q, w, p, u, scale, rows, places)
    angles = [
        (Rotation.from_quat(a, scalar_first=True).inv() * Rotation.from_quat(b, scalar_first=True)).magnitude().max()
        for a, b in zip(q[places][:, rows], p, strict=True)
    ]
    assert found == pytest.approx([max(angles[0], 1e-3 * math.sqrt(3.0) / 0.5), angles[1]], rel=1e-9)
    apart = np.copy(u)
    apart[0, 3, -1] += 0.1
    assert distances(q, w, p, apart, scale, rows, places)[0] > 0.1 / 0.5


def test_tilted_bodies_near_the_separatrix() -> None:
    """Their axes and moments are known to the last digit, and what rounds their rates is seen by the companion."""
    rng, ratios = np.random.default_rng(2), list[float]()
    for _ in range(30):
        turn = Rotation.random(rng=rng).as_matrix()
        tensor = turn @ np.diag([0.0273, 0.2707 * (1.0 + 0.02 * rng.random()), 0.2907]) @ turn.T
        omega = turn @ np.array([1e-3 * rng.normal(), 2.0, 1e-3 * rng.normal()])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ph.ToleranceNotReached)
            run = ph.simulate(
                ph.Body((tensor + tensor.T) / 2), omega=omega, t_span=(0.0, 8.0), t_eval=[8.0], rtol=1e-11,
                method="G8(compensated=true)",
            )  # fmt: skip
        assert run.error_estimate is not None
        ratios.append(run.error_estimate / true_error(run, omega))
    assert sum(ratio < 1.0 for ratio in ratios) <= 1
    assert min(ratios) > 0.5
