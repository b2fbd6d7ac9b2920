"""The search for steps: what its history shows, and how it goes on."""

from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.accuracy.choice import Candidate
from polhode.accuracy.estimate import Factors
from polhode.accuracy.policy import (
    ENOUGH,
    FAILS,
    FINEST,
    GROUPED,
    POLICY,
    STUCK,
    TOO_MANY_TRIES,
    AtRoundOff,
    Floor,
    GiveUp,
    Refine,
    Tries,
    Try,
    next_factor,
    next_try,
    seen_order,
)
from polhode.accuracy.refinement import History, Search, TryResults
from polhode.methods import find
from polhode.problem import Problem


def test_round_off_may_mean_that_fewer_steps_do() -> None:
    history, one = History(1), np.zeros(1, dtype=np.int64)

    def tried(steps: float, error: float) -> None:
        errors, least = np.array([error]), np.array([1e-12])
        history.add(one, steps, TryResults(errors, least, least, least, True))

    tried(2000.0, 5e-12)
    assert history.needed(1e-11, 6.0) == pytest.approx(800.0)
    tried(800.0, 4e-12)
    assert history.needed(1e-11, 6.0) == pytest.approx(320.0)
    tried(320.0, 6e-10)
    tried(800.0, 4e-12)
    assert history.needed(1e-11, 6.0) == pytest.approx(320.0 * 100 ** (1 / 6))  # as far as the order tells from below
    tried(320.0, 1.0)
    tried(800.0, 4e-12)
    assert 320.0 < history.needed(1e-11, 6.0) <= 800.0  # an error of one radian shows nothing


# --- the search on bodies whose errors are a formula

PROBLEM = Problem.given(ph.Body([1, 2, 2.5]), ph.HeavyTop(0.1), omega=[0, 0, 1], t_span=(0, 100), t_eval=[100])
CANDIDATE = Candidate(find("RK4"), 4.0, 10.0, Factors())


class Bodies:
    """Bodies whose error is `size` times the steps to the power -4, with a floor; some fail below a number of steps."""

    def __init__(self, size: list[float], floor: float = 1e-15, least: float = 0.0) -> None:
        self.size, self.floor, self.least = np.array(size), floor, least
        self.tried: list[list[float]] = [[] for _ in size]

    def searched(self, rtol: float) -> Search:
        search = Search(PROBLEM, CANDIDATE, rtol, self.size.size)

        def attempt(which: Any, level: int, to_round_off: bool) -> TryResults:
            n = search.steps(level)
            for k in which.tolist():
                self.tried[k].append(n)
            floor = np.full(which.size, self.floor)
            error = self.size[which] * n**-4.0 + self.floor if n >= self.least else np.full(which.size, np.inf)
            return TryResults(error, floor, floor, floor, np.ones(which.size, dtype=bool))

        search.run(attempt)
        return search


def test_every_body_goes_its_own_way_whoever_is_with_it() -> None:
    sizes = [1e-3, 1.0, 30.0, 1e3, 1e5]
    together = Bodies(sizes)
    together.searched(1e-7)
    for k, size in enumerate(sizes):
        alone = Bodies([size])
        search = alone.searched(1e-7)
        assert alone.tried[0] == together.tried[k]
        assert search.history.error[-1, 0] <= 1e-7
        assert not search.active.any()


def test_a_search_ends_soon_after_the_order_says_so() -> None:
    """Aimed at half of the tolerance, with a tenth more steps: one try more, or a few where a rise is too long."""
    bodies = Bodies([1.0])
    bodies.searched(1e-7)
    needed = 1e-7**-0.25
    assert needed <= bodies.tried[0][-1] < 2.5 * needed
    assert len(bodies.tried[0]) <= 4


def test_runs_that_fail_get_more_steps_and_are_given_up_in_the_end() -> None:
    mended = Bodies([1e-3], least=300.0)
    assert mended.searched(1e-7).history.error[-1, 0] <= 1e-7
    assert 300.0 <= mended.tried[0][-1] < 300.0 * GROUPED.finer**16
    hopeless = Bodies([1e-3], least=1e12)
    hopeless.searched(1e-7)
    assert len(hopeless.tried[0]) == GROUPED.most_failures + 1


def test_round_off_ends_a_search() -> None:
    """Errors that do not fall any more are not chased with ever more steps."""
    bodies = Bodies([1e-3], floor=1e-10)
    bodies.searched(1e-13)
    assert len(bodies.tried[0]) <= 4
    assert bodies.tried[0][-1] < 1e3


@pytest.mark.parametrize(("error", "solved"), [(3e-7, False), (1e-5, True), (np.inf, False)])
def test_iterations_go_on_to_round_off_after_an_error_far_above_the_tolerance(error: float, solved: bool) -> None:
    """A motion that makes an error grow that far does the same to what iterations leave; a failed run shows nothing."""
    search, asked = Search(PROBLEM, Candidate(find("G8"), 16.0, 10.0, Factors()), 1e-7, 1), list[bool]()

    def attempt(which: Any, level: int, to_round_off: bool) -> TryResults:
        asked.append(to_round_off)
        found, floor = np.array([error if len(asked) == 1 else 1e-9]), np.array([1e-15])
        return TryResults(found, floor, floor, floor, np.array([True]))

    search.run(attempt)
    assert asked == [False, solved]


def test_before_a_body_is_given_up_its_iterations_go_on_to_round_off() -> None:
    search, asked = Search(PROBLEM, Candidate(find("G8"), 16.0, 10.0, Factors()), 1e-12, 1), list[bool]()

    def attempt(which: Any, level: int, to_round_off: bool) -> TryResults:
        asked.append(to_round_off)
        floor = np.array([1e-16])
        return TryResults(np.array([1e-11 if not to_round_off else 1e-14]), floor, floor, floor, np.array([True]))

    search.run(attempt)
    assert asked[0] is False
    assert asked[-1] is True
    assert search.history.error[-1, 0] == 1e-14


FLOOR = Floor(1e-15, 1e-15, 1e-15)


def after(*errors: float, rise: float = 1.5, rtol: float = 1e-7, floor: Floor = FLOOR, **known: Any) -> Any:
    """Returns what follows tries with these errors, each with `rise` times the steps of the one before."""
    tries = Tries(rtol, **known)
    for k, error in enumerate(errors):
        tries = tries.adding(Try(100.0 * rise**k, error))
    return next_try(POLICY, tries, 4.0, floor)


def test_a_search_ends_at_the_tolerance_or_at_round_off() -> None:
    assert after(9e-8) is ENOUGH
    assert isinstance(after(2e-7), Refine)
    out_of_reach = Floor(1e-7, 1e-7, 1e-9)
    assert isinstance(after(5e-7, floor=out_of_reach), AtRoundOff)  # less than that cannot be asked for
    assert "ask for rtol=1e-06" in after(5e-7, floor=out_of_reach).reason
    assert isinstance(after(5e-6, floor=out_of_reach), Refine)
    grown = Floor(1e-8, 1e-8, 1e-8)
    assert isinstance(after(1.5e-7, floor=grown), Refine)
    assert isinstance(after(2e-7, 1.5e-7, floor=grown), AtRoundOff)  # a second try with such an error is round-off


def test_a_search_is_given_up_where_errors_no_longer_fall() -> None:
    assert after(1e-10, 1e-10, rtol=1e-12, floor=Floor(1e-12, 1e-15, 1e-15)) is STUCK  # near the least error at once
    assert isinstance(after(1e-10, 1e-10, rtol=1e-12), Refine)  # far above it once may be chance
    assert after(1e-10, 1e-10, 1e-10, rtol=1e-12) is STUCK
    assert isinstance(after(1e-4, 1e-4, 1e-4), Refine)  # a phase may do that
    jumps = "times as many steps changed it only from 1.0e-04 to 1.0e-04: the torque may jump or bend"
    assert after(1e-4, 1e-4, rise=5.0).reason.startswith(f"5 {jumps}")
    assert isinstance(after(1e-4, 1e-4, rise=5.0, patience=2), Refine)
    assert isinstance(after(1e-1, 1e-1, 1e-1, 1e-1), GiveUp)
    assert isinstance(after(1e-1, 1e-1, 1e-1, 4e-2), Refine)
    assert isinstance(after(1e-4, float("inf"), rise=5.0), Refine)  # a failed run shows nothing


def test_a_search_is_given_up_where_an_error_of_the_steps_would_be_gone() -> None:
    """By order 16, with 55 times as many steps: what is left is round-off that the motion has made grow."""
    tries = Tries(1e-6, patience=2)
    for steps, error in ((400.0, 5.0), (1600.0, 0.2), (6000.0, 9.0), (22000.0, 0.3)):
        tries = tries.adding(Try(steps, error))
    found = next_try(POLICY, tries, 16.0, FLOOR)
    assert isinstance(found, GiveUp)
    assert found.reason.startswith("55 times as many steps changed it only from 5.0e+00 to 3.0e-01")
    assert isinstance(next_try(POLICY, tries, 8.0, FLOOR), Refine)  # by order 8 it may still be an error of the steps
    assert isinstance(next_try(POLICY, tries.adding(Try(40000.0, 5e-3)), 16.0, FLOOR), Refine)


def test_a_search_is_given_up_after_many_tries_or_failures_or_with_the_shortest_steps() -> None:
    fails = [float("inf")] * 7
    assert after(*fails[:6]) == Refine(POLICY.finer**8, 0.0)
    assert after(*fails) is FAILS
    assert after(*(10.0 ** (-0.2 * k) for k in range(24)), rtol=1e-12) is TOO_MANY_TRIES
    assert after(1e-3, most=100.0) is FINEST
    assert next_try(POLICY, Tries(1e-7).adding(Try(1.0, 1e-3)), 0.0, FLOOR) is FINEST


def test_iterations_leave_less_after_a_miss_and_nothing_after_a_far_one() -> None:
    assert after(2e-7, residual=1.0).residual == POLICY.tighter
    assert after(1e-5, residual=1.0).residual == 0.0
    assert after(float("inf"), residual=1.0).residual == 1.0  # a failed run shows nothing
    assert after(2e-7, 2e-7, rise=5.0, residual=POLICY.tighter).residual == 0.0  # before it is given up
    assert isinstance(after(2e-7, 2e-7, rise=5.0), GiveUp)


def test_a_body_whose_steps_stall_is_not_refined() -> None:
    tries = list[int]()

    def attempt(which: Any, level: Any, to_round_off: bool) -> TryResults:
        tries.extend(which.tolist())
        error, small = np.where(which == 0, np.inf, 1e-3 / len(tries)), np.full(which.size, 1e-15)
        return TryResults(error, small, small, small, np.ones(which.size, dtype=bool), which == 0)

    Search(PROBLEM, CANDIDATE, 1e-4, 2).run(attempt)
    assert tries.count(0) == 1
    assert tries.count(1) > 1


def test_nothing_is_foreseen_from_bodies_that_were_given_up() -> None:
    search, tried = Search(PROBLEM, CANDIDATE, 1e-7, 1), list[float]()

    def attempt(which: Any, level: int, to_round_off: bool) -> TryResults:
        tried.append(search.steps(level))
        small = np.array([1e-15])
        return TryResults(np.array([2.0 if len(tried) == 2 else 3.0]), small, small, small, np.array([True]))

    search.run(attempt)
    assert search.history.given_up.all()
    assert search.history.needed(1e-7, 4.0) == tried[1]  # its best


def test_bodies_that_are_all_given_up_end_soon() -> None:
    """Equal bodies that nobody can follow: no number of steps is foreseen from their errors."""
    start: dict[str, Any] = {"omega": np.tile([1e-12, 0.0, 1e-13], (37, 1)), "t_span": (0, 30), "t_eval": [15, 30]}
    with pytest.warns(ph.ToleranceNotReached, match="37 of 37 bodies"):
        made = ph.ensemble(ph.Body([1, 2, 2.8]), ph.HeavyTop(20), rtol=1e-6, **start)  # upright, all but at rest
    assert (made.steps < 300_000).all()


def test_the_next_try() -> None:
    """Steps follow the order of the method, or the one that was seen; not less than a bit, nor far beyond."""
    unknown = (float("inf"), 0.0)
    assert next_factor(POLICY, 8.0, 1e-6, 1e-4, 100.0, *unknown, False) == pytest.approx(1.1 * 200 ** (1 / 8))
    assert next_factor(POLICY, 8.0, 1e-6, 1e-4, 100.0, 2e-4, 50.0, False) == POLICY.most_factor  # it fell by one power
    assert next_factor(POLICY, 8.0, 1e-6, 1e-4, 100.0, 2e-4, 50.0, True) == POLICY.most_factor_in_doubt
    assert next_factor(POLICY, 8.0, 1e-6, 6e-7, 100.0, *unknown, False) == POLICY.least_factor
    assert next_factor(POLICY, 8.0, 1e-1, 0.2, 100.0, *unknown, False) == POLICY.least_factor_in_doubt
    assert seen_order(POLICY, 8.0, 1e-6, 200.0, 1.6e-5, 100.0) == pytest.approx(4.0)
    assert seen_order(POLICY, 8.0, 1e-6, 120.0, 1e-6, 100.0) == 2.0  # after a small rise no lower order is believed
    assert seen_order(POLICY, 8.0, 1e-6, 100.0, *unknown) == 8.0
