"""Which method is chosen for a tolerance, and with which steps it begins."""

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.accuracy import character, choice
from polhode.accuracy.character import Character
from polhode.accuracy.choice import choose
from polhode.accuracy.estimate import Factors
from polhode.api.simulate import checked_arguments
from polhode.kernels.judge import FACTOR_WHERE_ERRORS_GROW, ITERATION_SHARE
from polhode.kernels.types import Depends
from polhode.methods import find
from tests.accuracy.common import BODY, TOP, answer

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


@pytest.mark.parametrize(
    ("given", "rtol", "method"),
    [
        (problem_like(torque_ratio=1e-3), 1e-6, "ABA1064"),
        (problem_like(Depends.POSITION | Depends.RATE, torque_ratio=0.01), 1e-3, "Adams(order=8)"),
        (problem_like(Depends.POSITION | Depends.RATE, torque_ratio=0.3), 1e-5, "Adams"),
        (problem_like(Depends.POSITION | Depends.RATE, torque_ratio=0.3), 1e-11, "Adams(order=12)"),
        (problem_like(torque_ratio=1e-2, symmetric=True, comoving=(0.1, 1e-2)), 1e-8, "G8(comoving=true)"),
        (problem_like(torque_ratio=1e-2, may_bend=True), 1e-8, "DOP853"),
    ],
)
def test_choice_where_evaluations_are_dear(given: Character, rtol: float, method: str) -> None:
    for evaluation_cost in (16.0, 1e4):
        assert choose(given._replace(evaluation_cost=evaluation_cost), rtol, 10).method.name == method


def test_how_dear_a_torque_is(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]

    def slow(t: float, q: Any, w: Any, p: Any) -> Any:
        clock[0] += 0.001
        return (0.0, 0.0, 1.0)

    def summed(t: float, q: Any, w: Any, p: Any) -> Any:
        total = 0.0
        for k in range(20_000):
            total += math.sin(q[1] + k)
        return (total, 0.0, 0.0)

    def evaluation_cost(torque: Any) -> float:
        return character.evaluation_cost(checked_arguments(BODY, torque, omega=[1, 2, 3], t_span=(0, 1), rtol=1e-6)[0])

    assert evaluation_cost(TOP) == 0.0
    assert evaluation_cost(ph.torque(lambda t, q, w, p: (0.0, 0.0, 1.0))) == 0.0
    assert evaluation_cost(ph.torque(summed)) >= 2.0**8  # compiled, by what it takes as a program
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])  # a millisecond, on a busy machine too
    assert evaluation_cost(ph.torque(slow, compiled=False)) == 2.0**14
    assert evaluation_cost(TOP + ph.torque(slow, compiled=False)) == 2.0**14


@pytest.mark.parametrize("rtol", [1e-3, 1e-6])
def test_estimates_hold_what_iterations_leave_as_far_as_it_grows(rtol: float) -> None:
    """The companion may have left the same by chance. It is never more than the part of the tolerance for it."""
    strong = problem_like(torque_ratio=0.5, span=500.0)
    chosen, n = choice.candidate(find("G8"), strong, rtol), 600.0
    method = choice._iterated(chosen.method, rtol, n * chosen.growth)
    left = chosen.unseen(method, n)[1]
    assert 0.25 * ITERATION_SHARE * rtol < left <= 1.001 * ITERATION_SHARE * rtol
    solved = choice._iterated(chosen.method, 0.0, n)
    assert replace(chosen, growth=math.inf).unseen(solved, n)[1] == 0.0
    assert min(chosen.factors) >= FACTOR_WHERE_ERRORS_GROW


def test_choice_for_many_bodies() -> None:
    """ABA1064 is for them alone: it is hardly ever the best for one body (docs/decisions/0010-less.md)."""
    given = problem_like(torque_ratio=3e-5, symmetric=True, steadiness=4.0)
    assert choose(given, 1e-9, 100, many=True).method.name == "ABA1064"
    assert choose(given, 1e-9, 100).method.name != "ABA1064"


def test_low_orders_are_dear_where_errors_of_bodies_differ() -> None:
    """The tops of celledoni2006: at 1e-11 most bodies need 250 steps of the one, and 490 of the other."""
    given = Character(5.0, 20.8, 1e-6, Depends.POSITION, False, steadiness=2.1)
    assert choose(given, 1e-11, 1).method.name == choice.CORRECTED
    assert choose(given, 1e-11, 1, many=True).method.name == choice.MODIFIED


def test_correctors_look_beyond_the_ends_where_torques_have_values() -> None:
    orbit = ph.environment.Orbit(semi_major_axis=3.7e11, eccentricity=0.15, mu=1.327e20)
    endless = ph.GravityGradient(orbit=orbit)
    steady = ph.SinusoidalTorque((0.0, 0.0, 1e-16), 1e-4)
    for torque, corrected in (
        (endless, True),
        (endless + steady, True),
        (endless + ph.torque(lambda t, q, w, p: (0.0, 0.0, 1e-25 * t)), False),
    ):
        body, rate, end = ph.Body([1.0, 1.4, 1.7]), (5e-5, 3e-5, 2e-4), 1e8
        problem, _ = checked_arguments(body, torque, omega=rate, t_span=(0.0, end), rtol=1e-4, t_eval=[end])
        assert torque.has_value_at_all_times is corrected
        chosen = choose(character.character(problem), 1e-4, 1).method
        assert (chosen.name == choice.CORRECTED) is corrected


def test_many_outputs_are_cheap_on_a_grid() -> None:
    """A corrector makes one passage to show a state between two steps, and three for one within a step."""
    long = problem_like(torque_ratio=1e-7, span=1e3)
    assert choose(long, 1e-9, 30).method.name == "SABA"
    assert choose(long._replace(parts=30), 1e-9, 30).method.name == "Strang(corrector=17)"


def test_listed_times_are_ends_of_steps_where_that_costs_little() -> None:
    problem, _ = checked_arguments(
        BODY, TOP, omega=(0.3, 0.2, 1.0), step=1.0, method="MR2", t_span=(0.0, 50.0), t_eval=np.linspace(0.0, 50.0, 26)
    )
    found = choice.candidate(find("SABA"), character.character(problem), 1e-6)

    def steps(n: float, *, coarser: bool = False) -> int:
        return round(50.0 / found.plan(problem, n, 1e-6, coarser=coarser).step)

    assert (steps(191), steps(191, coarser=True)) == (200, 150)  # not 160, which is no multiple of 25
    assert (steps(30), steps(30, coarser=True)) == (30, 24)  # 50 would be too many
    solution = ph.simulate(
        BODY, TOP, omega=(0.3, 0.2, 1.0), t_span=(0.0, 50.0), t_eval=problem.times, rtol=1e-9, method="SABA"
    )
    assert solution.stats.steps % 25 == 0


@pytest.mark.evidence
def test_a_torque_that_cannot_be_computed_at_several_points_at_once_gets_runge_kutta() -> None:
    @ph.torque(parameters=[0.3])
    def bent(t: float, q: Any, w: Any, p: Any) -> Any:
        return (p[0] * q[1], 0.0, 0.0) if q[1] > 0.0 else (0.0, 0.0, 0.0)

    @ph.torque(parameters=[0.3])
    def smooth(t: float, q: Any, w: Any, p: Any) -> Any:
        return (p[0] * q[1], 0.0, 0.0)

    # Below 1e-11 motions that are smooth and short are no longer answered by one call, which has a method of its own.
    bent_run, smooth_run = (
        ph.simulate(BODY, torque, omega=[1, 2, 3], t_span=(0, 2), rtol=rtol)
        for torque, rtol in ((bent, 1e-6), (smooth, 9e-12))
    )
    assert bent_run.method.startswith("DOP853")
    assert smooth_run.method.startswith("G8")


def test_companions_differ() -> None:
    """However few the steps are, those of the companion are fewer: else it would agree for no reason."""
    problem = answer(1e-4, 1e-3).problem
    for n in (2.0, 2.5, 3.0, 7.0, 1000.0):
        found = choice.Candidate(find("SABA"), 9.0, n, Factors())
        assert abs(found.plan(problem, n, 1e-3, coarser=True).step) > 1.2 * abs(found.plan(problem, n, 1e-3).step)


def test_companions_solve_their_equations_less_well() -> None:
    """So the distance to a companion shows what iterations leave."""
    problem = answer(0.3, 1e-3).problem
    found = choice.Candidate(find("G8"), 16.0, 100.0, Factors())

    def left(rtol: float, coarser: int) -> float:
        return float(dict(found.plan(problem, 100.0, rtol, coarser=coarser).method.settings).get("tolerance", 0.0))

    assert left(1e-6, 1) > 3.0 * left(1e-6, 0) > 0.0
    assert left(0.0, 1) == left(0.0, 0) == 0.0


@pytest.mark.parametrize("rtol", [1e-3, 1e-5, 1e-7, 1e-9])
def test_a_run_and_its_companion_share_a_program(rtol: float) -> None:
    """Their flows are prepared for one step, that of the companion, which is longer."""
    problem, _ = checked_arguments(
        BODY, TOP, omega=[0.3, 0.2, 1.0], t_span=(0.0, 1000.0), t_eval=[1000.0], rtol=rtol, method="Strang"
    )
    for n in np.geomspace(500, 5000, 40):
        chosen = choice.candidate(find("Strang(corrector=17)"), GENERIC, rtol)
        run, companion = (chosen.plan(problem, float(n), rtol, coarser=k) for k in (0, 1))
        assert run.longest_step == companion.longest_step
        assert abs(companion.longest_step or 0.0) >= 0.99 * abs(companion.step)
