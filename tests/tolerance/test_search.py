"""A tolerance in, an answer out: what is chosen, what it costs, and whether the estimate holds."""

import math
import warnings
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode._simulate import checked_arguments
from polhode.core.status import Status
from polhode.core.types import Depends
from polhode.integration.loop import Integration, StepFailed
from polhode.methods import find
from polhode.tolerance import character, choice, search
from polhode.tolerance.character import Character
from polhode.tolerance.choice import choose
from polhode.tolerance.estimate import Factors, distance, estimate, nudged
from tests.authorities.random_problems import KINDS, RandomRecipe, error, random_recipes, truths
from tests.contract._measure import interpreted

BODY, TOP = ph.Body([1.0, 1.75, 2.5]), ph.HeavyTop(0.01)
MOTION: dict[str, Any] = {"omega": [0.9, -0.7, 1.1], "attitude": [5, 1, -3, 2], "t_span": (0.0, 20.0)}


def top(size: float) -> ph.HeavyTop:
    """A torque of about this part of twice the kinetic energy."""
    return ph.HeavyTop(4.7 * size, point=(0.6, 0.0, 0.8))


def answer(size: float, rtol: float, **others: Any) -> ph.Solution:
    return ph.simulate(BODY, top(size) if size else None, **(MOTION | {"rtol": rtol} | others))


# --- honesty


def tried(recipe: RandomRecipe) -> ph.Solution:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ph.ToleranceNotReached)
        return recipe.solved(rtol=recipe.rtol)


def test_estimates_hold() -> None:
    """Ten random problems; `tests/evidence/test_auto.py` has hundreds, other ones every time."""
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


# --- what is promised


@pytest.mark.parametrize("size", [0.0, 1e-7, 1e-4, 1e-2, 1.0])
def test_tolerance_is_met(size: float) -> None:
    """By runs that agree with each other as well as they say."""
    finest = answer(size, 1e-12, t_eval=[5.0, 20.0])
    for rtol in (1e-3, 1e-6, 1e-9):
        solution = answer(size, rtol, t_eval=[5.0, 20.0])
        assert solution.error_estimate is not None
        assert solution.error_estimate <= rtol
        assert distance(solution, np.arange(2), finest) < solution.error_estimate + 1e-12


def test_cost_counts_everything() -> None:
    """The evaluations of all runs, the companion's among them."""
    solution = answer(1e-2, 1e-9)
    alone = ph.simulate(
        BODY, top(1e-2), **MOTION, step=solution.step, method=solution.plan.method, every=10_000
    )  # fmt: skip
    assert solution.nfev > 1.5 * alone.nfev
    assert alone.quaternion[-1] == pytest.approx(solution.quaternion[-1], abs=1e-15)


def test_looser_is_cheaper() -> None:
    loose, tight = (answer(1e-2, rtol).nfev for rtol in (1e-3, 1e-11))
    assert tight > 2 * loose


def test_output() -> None:
    times = np.linspace(0, 20, 1001)
    many, few = answer(1e-2, 1e-9, t_eval=times), answer(1e-2, 1e-9, t_eval=times[[7, 500]])
    assert np.array_equal(many.t, times)
    assert many.quaternion[[7, 500]] == pytest.approx(few.quaternion, abs=1e-9)
    steps = answer(1e-4, 1e-9)
    assert steps.t.size == steps.stats.steps + 1
    assert answer(1e-4, 1e-9, every=5).t.size == math.ceil(steps.stats.steps / 5) + 1


def test_time_may_run_backward() -> None:
    there = answer(1e-2, 1e-11)
    back = ph.simulate(
        BODY, top(1e-2), omega=there.omega[-1], attitude=there.quaternion[-1], t_span=(20, 0), rtol=1e-9
    )  # fmt: skip
    assert back.step < 0
    assert back.omega[-1] == pytest.approx(MOTION["omega"], abs=1e-8)


def test_a_body_at_rest() -> None:
    rest = ph.simulate(BODY, omega=[0, 0, 0], t_span=(0, 5), rtol=1e-9)
    assert np.array_equal(rest.omega, np.zeros_like(rest.omega))
    falling = ph.simulate(BODY, top(1.0), omega=[0, 0, 0], t_span=(0, 5), rtol=1e-9)
    assert falling.error_estimate is not None
    assert falling.error_estimate < 1e-9
    assert falling.energy_error.max() < 1e-8


def test_long_free_motion() -> None:
    """One step for each time, whatever the time."""
    free = ph.FreeMotion(BODY, MOTION["omega"], MOTION["attitude"])
    solution = answer(0.0, 1e-9, t_span=(0.0, 1e4), t_eval=[10.0, 1e4])
    assert solution.method == "Exact"
    assert solution.stats.steps == 1
    assert np.abs(solution.omega - free.at([10.0, 1e4]).omega).max() < solution.error_estimate


def test_jumps_closer_than_steps() -> None:
    """Short stretches get several steps, and others in the companion."""
    ends = np.cumsum([3.0, 0.01, 0.02, 3.0, 0.05, 30.0])
    turns = [(float(t), (0.3 * (-1) ** k, 0.2, -5.0 * (k in (1, 2)))) for k, t in enumerate(ends)]
    jumpy = ph.PiecewiseTorque(tuple(turns))
    coarse, fine = (ph.simulate(BODY, jumpy, **MOTION, rtol=r, t_eval=[3.02, 20]) for r in (1e-5, 1e-11))
    assert coarse.error_estimate is not None
    assert distance(coarse, np.arange(2), fine) < coarse.error_estimate < 1e-5


def test_a_torque_without_a_value_beyond_the_span() -> None:
    @ph.torque
    def ends(t: float, q: Any, w: Any, p: Any) -> Any:
        return (1e-7 * math.sqrt(t) * q[1], 0.0, 1e-7 * math.sqrt(500.0 - t) * q[2])

    solution = ph.simulate(BODY, ends, **(MOTION | {"t_span": (0.0, 500.0)}), rtol=1e-6, t_eval=[250.0, 500.0])
    assert solution.success
    assert choose(Character(500.0, 1.7, 1e-6, Depends.POSITION, False), 1e-6, 2).method.name == choice.CORRECTED
    assert choose(Character(500.0, 1.7, 1e-6, ends.depends, False), 1e-6, 2).method.name != choice.CORRECTED


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


@pytest.mark.parametrize("method", ["MR2", "RK4", "KL8(of=Strang)", "G8", "SABA(stages=4)", "DOP853", "HLR"])
def test_a_method_of_ones_own(method: str) -> None:
    solution = answer(1e-2, 1e-5, method=method, t_eval=[20.0])
    truth = answer(1e-2, 1e-11, t_eval=[20.0])
    assert solution.method.startswith(method.partition("(")[0])
    assert solution.error_estimate is not None
    assert distance(solution, np.arange(1), truth) < solution.error_estimate <= 1e-5


def test_a_tolerance_beyond_round_off_is_refused_politely() -> None:
    with pytest.warns(ph.ToleranceNotReached, match="was not reached: the error is estimated as") as caught:
        solution = answer(1e-2, 1e-15)
    assert len(caught) == 1
    assert solution.error_estimate is not None
    assert 1e-15 < solution.error_estimate < 1e-12


@pytest.mark.parametrize("problem", [ph.SimulationInterrupted, StepFailed])
def test_what_was_finished_is_not_lost(problem: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the user stops a finer run, or it cannot be made."""
    pair, made = search.OneBody._pair, list[ph.Solution]()

    def ended(self: Any, candidate: Any, n: float, to_round_off: bool) -> tuple[float, float]:
        if made:
            raise problem(*((self.first, Status.UNSOUND) if problem is StepFailed else made))
        pair(self, candidate, n, to_round_off)
        made.append(self.best[0])
        self.best = (self.best[0], 2e-3)
        return 2e-3, 0.0

    monkeypatch.setattr(search.OneBody, "_pair", ended)
    with interpreted():
        if problem is StepFailed:
            with pytest.warns(ph.ToleranceNotReached):
                best = answer(1.0, 1e-3, method="RK4", t_eval=[1.0, 20.0])
        else:
            told = r"2 rows, and its error is estimated as 2\.0e-03"
            with pytest.raises(ph.SimulationInterrupted, match=told) as caught:
                answer(1.0, 1e-3, method="RK4", t_eval=[1.0, 20.0])
            best = caught.value.solution
    assert best.success is (problem is StepFailed)
    assert best.error_estimate == 2e-3
    assert np.array_equal(best.quaternion, made[0].quaternion)
    assert best.nfev > made[0].nfev  # with the companion


def test_a_run_whose_companion_is_interrupted_is_not_lost() -> None:
    finished = list[int]()

    def stop(done: int, total: int) -> None:
        if finished:
            raise KeyboardInterrupt
        if done == total:
            finished.append(total)

    with interpreted(), pytest.raises(ph.SimulationInterrupted, match="2 rows, and its error is not known") as caught:
        answer(1.0, 1e-3, method="RK4", t_eval=[1.0, 20.0], progress=stop)
    found = caught.value.solution
    assert found.stats.steps == finished[0]
    assert found.t.tolist() == [1.0, 20.0]
    assert found.error_estimate is None


def breaking(t: float, q: Any, w: Any, p: Any) -> Any:
    return (math.sqrt(1.0 - t), 0.0, 0.0)


@pytest.mark.parametrize("at_once", [False, True])
def test_failing_torques_are_reported(at_once: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, however many levels have failed: to find the reason takes longer than a short run."""
    fault, asked = Integration._fault, list[float]()

    def complained(self: Any, t: float) -> str | None:
        asked.append(t)
        return fault(self, t)

    monkeypatch.setattr(Integration, "_fault", complained)
    monkeypatch.setattr(search, "WORTH_A_THREAD_FLOWS", 1)
    monkeypatch.setattr(search, "available_cores", lambda: 2)
    times = [0.5, 2.0] if at_once else None
    why = r"the torque breaking raised ValueError: .* after \d+ of \d+ steps, at t = .*; what was computed is in"
    with pytest.raises(ph.SimulationFailed, match=why) as caught:
        ph.simulate(BODY, ph.torque(breaking), omega=[1, 2, 3], t_span=(0, 2), rtol=1e-6, t_eval=times, method="G8")
    assert 0.5 < caught.value.solution.t_last <= 1
    assert caught.value.solution.t.size > 0
    assert len(asked) == 1


def test_a_body_near_its_rest_swings_as_fast_as_any() -> None:
    """No look at the torque is within its energy, and at the start there is none."""
    given: dict[str, Any] = {"omega": (1e-3, 0.0, 1e-3), "attitude": (0.0, 1.0, 0.0, 0.0), "t_span": (0.0, 10.0)}
    s = ph.simulate(ph.Body([1.0, 2.0, 2.5]), ph.HeavyTop(1.0), t_eval=[10.0], rtol=1e-8, **given)
    assert s.stats.steps < 50
    true = ph.simulate(ph.Body([1.0, 2.0, 2.5]), ph.HeavyTop(1.0), t_eval=[10.0], step=0.01, method="G8", **given)
    assert distance(s, np.array([0]), true) <= s.error_estimate <= 1e-8  # type: ignore[operator]


def test_walls_that_are_not_reached_do_not_count() -> None:
    start = checked_arguments(
        ph.Body([5.0, 5.0, 1.0]), ph.CoulombSoftWall(), omega=(0.3, 0.2, 1.0), t_span=(0.0, 1.0), step=1.0, method="G8"
    )[0]
    assert character.character(start).torque_ratio < 10.0


# --- the choice


GENERIC = Character(span=100.0, rate=1.0, torque_ratio=1e-2, depends=Depends.POSITION, symmetric=False)


def problem_like(depends: Depends = Depends.POSITION, **others: Any) -> Character:
    return GENERIC._replace(depends=depends, **others)


@pytest.mark.parametrize(
    ("given", "rtol", "outputs", "method"),
    [
        (problem_like(Depends.NOTHING, torque_ratio=0.0), 1e-9, 1, "Exact"),
        (problem_like(torque_ratio=1e-7, span=1e3), 1e-9, 1, "Strang(corrector=17)"),
        (problem_like(torque_ratio=1e-7, span=1e3), 1e-9, 1000, "SABA"),
        (problem_like(torque_ratio=1e-7, span=20.0), 1e-9, 1, "SABA"),
        (problem_like(torque_ratio=1e-7), 1e-9, None, "SABA"),
        (problem_like(Depends.POSITION | Depends.TIME, torque_ratio=1e-7, span=1e3), 1e-9, 1, "SABA"),
        (problem_like(torque_ratio=1e-4, span=1e3), 1e-7, 1, "TakahashiImada"),
        (problem_like(torque_ratio=1e-6, symmetric=True, span=1e4), 1e-11, 1, "TakahashiImada(compensated=true)"),
        (problem_like(torque_ratio=1e-4), 1e-11, 1, "G8(compensated=true)"),
        (problem_like(torque_ratio=1e-3, symmetric=True), 1e-9, 1, "G8"),
        (problem_like(torque_ratio=1e-3, symmetric=True, comoving=(1.3, 1e-3)), 1e-9, 1, "G8(comoving=true)"),
        (problem_like(torque_ratio=0.5, symmetric=True, comoving=(1.3, 0.5)), 1e-7, 1, "G8"),
        (
            problem_like(torque_ratio=0.1, symmetric=True, comoving=(1.3, 0.1), span=1e4),
            1e-11,
            1,
            "G8(compensated=true)",
        ),
        (problem_like(Depends.POSITION | Depends.RATE, torque_ratio=1e-7), 1e-9, 1, "G8"),
        (problem_like(torque_ratio=math.inf), 1e-3, 1, "G8"),
    ],
)
def test_choice(given: Character, rtol: float, outputs: int | None, method: str) -> None:
    assert choose(given, rtol, outputs).method.name == method


def test_choice_for_many_bodies() -> None:
    """ABA1064 is for them alone: it was never the best for one body (docs/decisions/0010-less.md)."""
    given = problem_like(torque_ratio=3e-5, symmetric=True, steadiness=4.0)
    assert choose(given, 1e-9, 100, many=True).method.name == "ABA1064"
    assert choose(given, 1e-9, 100).method.name != "ABA1064"


def test_harmony() -> None:
    """A weight changes once while a body turns round, a gravity gradient twice, and a constant torque not at all."""

    def of(torque: Any) -> float:
        return character.harmony(
            checked_arguments(BODY, torque, omega=(0.3, 0.2, 1.0), t_span=(0.0, 1.0), rtol=1e-6)[0]
        )

    @ph.torque
    def cubic(t: float, q: Any, w: Any, p: Any) -> Any:
        x = ph.to_body(q, (0.0, 0.0, 1.0))[0]
        return (0.0, x * x * x, 0.0)

    @ph.torque
    def raises(t: float, q: Any, w: Any, p: Any) -> Any:
        return (math.sqrt(-1.0), 0.0, 0.0)

    assert of(TOP) == of(ph.ConstantBodyTorque((1.0, 0.0, 0.0))) == of(raises) == 1.0
    assert 1.6 < of(ph.GravityGradient(strength=1.0)) <= 2.0
    assert 2.0 < of(cubic) <= 3.0
    shorter, _ = choice._first_turn(
        find("Strang(corrector=17)"), GENERIC._replace(harmony=2.0, torque_ratio=1e-6), 1e-6
    )
    longer, _ = choice._first_turn(find("Strang(corrector=17)"), GENERIC._replace(torque_ratio=1e-6), 1e-6)
    assert shorter == pytest.approx(longer / 2, rel=0.01)


def test_many_outputs_are_cheap_on_a_grid() -> None:
    """A corrector makes one passage to show a state between two steps, and three for one within a step."""
    long = problem_like(torque_ratio=1e-7, span=1e3)
    assert choose(long, 1e-9, 30).method.name == "SABA"
    assert choose(long._replace(parts=30), 1e-9, 30).method.name == "Strang(corrector=17)"


@pytest.mark.parametrize(
    ("times", "parts"),
    [
        (np.linspace(0.0, 50.0, 101), 100),
        (np.linspace(0.0, 50.0, 101)[[3, 4, 17, 100]], 100),
        ([50.0], 1),
        ([0.0], 0),
        ([12.5, 50.0], 4),
        ([10.0, 20.0 + 1e-6, 50.0], 0),
        ([25.0, np.nextafter(25.0, 50.0), 50.0], 0),
        ([5e-324, 50.0], 1),
        (np.sort(np.random.default_rng(1).uniform(0.0, 50.0, 7)), 0),
    ],
)
@pytest.mark.parametrize("backward", [False, True])
def test_equal_parts(times: Any, parts: int, backward: bool) -> None:
    given: dict[str, Any] = {"t_span": (50.0, 0.0), "t_eval": 50.0 - np.array(times)} if backward else {
        "t_span": (0.0, 50.0), "t_eval": times}  # fmt: skip
    problem, _ = checked_arguments(BODY, TOP, omega=(0.3, 0.2, 1.0), rtol=1e-6, **given)
    assert character.equal_parts(problem) == parts


def test_listed_times_are_ends_of_steps_where_that_costs_little() -> None:
    problem, _ = checked_arguments(
        BODY, TOP, omega=(0.3, 0.2, 1.0), step=1.0, method="MR2", t_span=(0.0, 50.0), t_eval=np.linspace(0.0, 50.0, 26)
    )
    found = choice.candidate(find("SABA"), character.character(problem), 1e-6)

    def steps(n: float, *, coarser: bool = False) -> int:
        return round(50.0 / found.plan(problem, n, 1e-6, coarser=coarser).step)

    assert (steps(191), steps(191, coarser=True)) == (200, 150)  # not 160, which is no multiple of 25
    assert (steps(30), steps(30, coarser=True)) == (30, 24)  # 50 would be too many
    solution = ph.simulate(BODY, TOP, omega=(0.3, 0.2, 1.0), t_span=(0.0, 50.0), t_eval=problem.times, rtol=1e-9)
    assert solution.stats.steps % 25 == 0


def test_a_torque_that_cannot_be_computed_at_several_points_at_once_gets_runge_kutta() -> None:
    @ph.torque(parameters=[0.3])
    def bent(t: float, q: Any, w: Any, p: Any) -> Any:
        return (p[0] * q[1], 0.0, 0.0) if q[1] > 0.0 else (0.0, 0.0, 0.0)

    @ph.torque(parameters=[0.3])
    def smooth(t: float, q: Any, w: Any, p: Any) -> Any:
        return (p[0] * q[1], 0.0, 0.0)

    bent_run, smooth_run = (
        ph.simulate(BODY, torque, omega=[1, 2, 3], t_span=(0, 2), rtol=1e-6) for torque in (bent, smooth)
    )
    assert bent_run.method.startswith("DOP853")
    assert smooth_run.method.startswith("G8")


def test_character_of_a_problem() -> None:
    solution = answer(1e-2, 1e-3)
    found = character.character(solution.problem)
    assert found.torque_ratio == pytest.approx(1e-2, rel=0.3)
    assert 1.58 < found.rate < 2.5
    assert not found.symmetric


STRENGTH = 1.0


@ph.torque
def swayed(t: float, q: Any, w: Any, p: Any) -> Any:
    return (STRENGTH * q[1], STRENGTH * q[2], 0.0)


def test_a_torque_that_has_changed_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    body, omega = ph.Body([2, 3, 4.5]), [0.3, 0.2, 1.0]
    run = checked_arguments(body, swayed, omega=omega, t_span=(0.0, 1.0), step=0.1, method="MR2")[0]
    before = character.character(run).torque_ratio
    assert character.character(run).torque_ratio == before > 0.0
    monkeypatch.setitem(globals(), "STRENGTH", 3.0)
    assert character.character(run).torque_ratio == pytest.approx(3.0 * before)


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


def test_companions_differ() -> None:
    """However few the steps are, those of the companion are fewer: else it would agree for no reason."""
    problem = answer(1e-4, 1e-3).problem
    for n in (2.0, 2.5, 3.0, 7.0, 1000.0):
        found = choice.Candidate(find("SABA"), 9.0, n, Factors())
        assert abs(found.plan(problem, n, 1e-3, coarser=True).step) > 1.2 * abs(found.plan(problem, n, 1e-3).step)


# --- torques that are not what they seem


@ph.torque(parameters=[0.0125, 316.0])
def fast(t: float, q: Any, w: Any, p: Any) -> Any:
    return (p[0] * math.cos(p[1] * t), 0.0, 0.0)


@pytest.mark.parametrize("rtol", [1e-5, 10**-5.4, 10**-8.1])
def test_a_torque_that_changes_within_the_first_steps(rtol: float) -> None:
    """Steps that are longer than its periods agree by chance, or do not: that is not yet round-off."""
    start: dict[str, Any] = {"omega": [0.3, 1.0, 2.0], "t_span": (0.0, 8.0), "t_eval": [8.0]}
    body = ph.Body([1.0, 1.4, 2.1])
    found, known = (ph.simulate(body, fast, **start, rtol=x) for x in (rtol, 1e-12))
    assert found.error_estimate is not None
    assert found.error_estimate <= rtol
    assert distance(found, slice(None), known) <= found.error_estimate


def _sign(x: float) -> float:
    return 1.0 if x > 0.0 else -1.0


def _thirds(x: float) -> float:
    total = 0.0
    for k in range(3):
        total += k * x
    return total


def test_torques_that_may_bend() -> None:
    """By what their code does, or what it calls."""

    def smooth(t: float, q: Any, w: Any, p: Any) -> Any:
        up = ph.to_body(q, (0.0, 0.0, 1.0))
        return up[0] * math.sin(t), _thirds(w[0]), np.exp(-t)

    def chooses(t: float, q: Any, w: Any, p: Any) -> Any:
        return ph.where(t < p[0], 1.0, -1.0), 0.0, 0.0

    def branches(t: float, q: Any, w: Any, p: Any) -> Any:
        return (1.0, 0.0, 0.0) if w[0] > 0.0 else (0.0, 0.0, 0.0)

    def helped(t: float, q: Any, w: Any, p: Any) -> Any:
        return _sign(w[0]), 0.0, 0.0

    def clipped(t: float, q: Any, w: Any, p: Any) -> Any:
        return min(w[0], 1.0), 0.0, 0.0

    def absolute(t: float, q: Any, w: Any, p: Any) -> Any:
        return math.fabs(w[0]), 0.0, 0.0

    assert not ph.torque(smooth).may_bend
    for function in (chooses, branches, helped, clipped, absolute):
        assert ph.torque(function).may_bend
    assert not ph.torque(parameters=[1.0], breakpoints=[1.0])(chooses).may_bend
    assert not ph.HeavyTop(1.0).may_bend


@ph.torque(parameters=[3.0])
def undeclared(t: float, q: Any, w: Any, p: Any) -> Any:
    return ph.where(t < p[0], 1.0, -1.0), 0.2, 0.1


@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-9])
def test_jumps_that_nobody_has_told_of(rtol: float) -> None:
    """Equal steps would place an undeclared jump somewhere in the step in which it happens."""
    start: dict[str, Any] = {"omega": [0.3, 1.0, 2.0], "t_span": (0.0, 10.0), "t_eval": [10.0]}
    body = ph.Body([1.0, 1.4, 2.1])
    for when in (3.3480687866404115, 3.21, 7.5):
        found = ph.simulate(body, undeclared.with_parameters([when]), **start, rtol=rtol)
        told = ph.torque(undeclared.function, parameters=[when], breakpoints=[when])
        known = ph.simulate(body, told, **start, rtol=1e-12)
        assert distance(found, slice(None), known) <= rtol
        many = ph.ensemble(body, undeclared.with_parameters([when]), **start, rtol=rtol)
        assert many.plan.method.name.startswith("DOP853")


def test_next_to_nothing_is_asked_for() -> None:
    """Far below round-off there is the best answer, and a warning, as a little below it."""
    with pytest.warns(ph.ToleranceNotReached):
        found = answer(1e-2, 1e-300)
    assert found.error_estimate is not None
    assert found.error_estimate < 1e-9


# --- what is refused


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "give rtol, the error of the answer"),
        ({"method": "auto"}, "give rtol, the error of the answer"),
        ({"method": "MR2"}, "or a method and its step"),
        ({"step": 0.1}, "a step needs a method"),
        ({"step": 0.1, "method": "auto"}, "a step needs a method"),
        ({"step": 0.1, "rtol": 1e-6}, "not both"),
        ({"rtol": 0.0}, "rtol must lie between 0 and 1"),
        ({"rtol": 2}, "rtol must lie between 0 and 1"),
        ({"rtol": math.nan}, "rtol must be finite"),
        ({"rtol": "fine"}, "rtol must be a number"),
    ],
)
def test_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        ph.simulate(BODY, **MOTION, **arguments)


# --- what is kept of it


def test_saved(tmp_path: Any) -> None:
    solution = answer(1e-2, 1e-6, t_eval=[20.0])
    solution.save(tmp_path / "it.nc")
    assert ph.load(tmp_path / "it.nc").error_estimate == solution.error_estimate
    assert "estimate  error at most" in repr(solution)


def test_scenario(tmp_path: Any) -> None:
    from polhode.scenario import ScenarioError, load_scenario

    text = """
        [body]
        moments = [1.0, 1.75, 2.5]
        [initial]
        omega = [0.9, -0.7, 1.1]
        [run]
        t_span = [0, 5]
        {}
    """
    path = tmp_path / "it.toml"
    for run in ("rtol = 1e-6", 'rtol = 1e-6\nmethod = "auto"', 'rtol = 1e-6\nmethod = "RK4"'):
        path.write_text(text.format(run))
        solution = load_scenario(path).simulate()
        assert solution.error_estimate is not None
        assert solution.error_estimate <= 1e-6
    for run, words in (
        ("rtol = 1e-6\nstep = 0.1", "exactly one of step, rtol"),
        ("step = 0.1", "a step needs a method"),
        ("rtol = 2.0", "run.rtol: input should be less than 1"),
    ):
        path.write_text(text.format(run))
        with pytest.raises(ScenarioError, match=words):
            load_scenario(path)


def test_round_off_is_followed_by_the_compensated_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the choice has trusted a plain splitting too far, its low halves bring the tolerance into reach."""
    monkeypatch.setattr(choice, "_cheapest", lambda *a, **k: choice.CORRECTED)
    given: dict[str, Any] = {"omega": (0.9, -0.7, 1.1), "t_span": (0.0, 1e4), "t_eval": [1e4], "rtol": 6e-11}
    found = ph.simulate(BODY, ph.HeavyTop(1e-8), **given)
    assert found.plan.method.name == "Strang(corrector=17, compensated=true)"
    assert found.error_estimate is not None
    assert found.error_estimate <= 6e-11
    with pytest.warns(ph.ToleranceNotReached):  # a method that is named is kept
        ph.simulate(BODY, ph.HeavyTop(1e-8), method=choice.CORRECTED, **given)


def test_plain_collocation_is_followed_by_compensated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same where a step was thought to need no compensation."""
    monkeypatch.setattr(choice, "COMPENSATION_SHOWS", 0.0)
    given: dict[str, Any] = {"omega": (0.9, -0.7, 1.1), "t_span": (0.0, 2e3), "t_eval": [2e3]}
    found = ph.simulate(BODY, ph.HeavyTop(0.1), **given, rtol=4e-12)
    assert found.plan.method.name == "G8(compensated=true)"
    assert found.error_estimate is not None
    assert found.error_estimate <= 4e-12
