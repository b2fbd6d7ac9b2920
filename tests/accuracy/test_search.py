"""A tolerance in, an answer out: what is chosen, what it costs, and whether the estimate holds."""

import math
import re
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.accuracy import choice, search, short_runs
from polhode.accuracy.character import Character, TorqueTrial, character
from polhode.accuracy.choice import choose
from polhode.accuracy.estimate import distance
from polhode.api.simulate import checked_arguments
from polhode.kernels.status import Status
from polhode.kernels.types import Depends, Quat, Vec3
from polhode.run import integration
from polhode.run.integration import Integration, StepFailed
from tests.accuracy.common import BODY, MOTION, answer, top
from tests.contract._measure import interpreted


@pytest.mark.parametrize("size", [0.0, 1e-7, 1e-4, 1e-2, 1.0])
def test_tolerance_is_met(size: float) -> None:
    """By runs that agree with each other as well as they say."""
    finest = answer(size, 1e-12 if size < 1 else 1e-11, t_eval=[5.0, 20.0])
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


@pytest.mark.parametrize("method", ["MR2", "RK4", "KL8(of=Strang)", "G8", "SABA(stages=4)", "DOP853", "HLR"])
def test_a_method_of_ones_own(method: str) -> None:
    solution = answer(1e-2, 1e-5, method=method, t_eval=[20.0])
    truth = answer(1e-2, 1e-11, t_eval=[20.0])
    assert solution.method.startswith(method.partition("(")[0])
    assert solution.error_estimate is not None
    assert distance(solution, np.arange(1), truth) < solution.error_estimate <= 1e-5


def test_a_tolerance_beyond_round_off_is_refused_politely() -> None:
    with pytest.warns(ph.ToleranceNotReached, match=r"error is estimated as \S+, and that is round-off: ") as caught:
        solution = answer(1e-2, 1e-15)
    assert len(caught) == 1
    answer(1e-2, float(str(caught[0].message).split("rtol=")[-1]))  # warnings are errors: what it advises is reached
    assert solution.error_estimate is not None
    assert 1e-15 < solution.error_estimate < 1e-12


def test_a_chaotic_motion_is_told_from_round_off() -> None:
    """Beside the middle axis a change of the last digit grows by itself: the warning says to how much."""
    told = r"makes a change of the last digit at the start grow to [\d.]+e-08: ask for a larger rtol"
    with pytest.warns(ph.ToleranceNotReached, match=told):
        ph.simulate(
            ph.Body([1.0, 2.0, 2.8]), ph.HeavyTop(1e-3), omega=[1e-9, 5.0, 0.0], t_span=(0.0, 60.0), t_eval=[60.0],
            rtol=1e-10,
        )  # fmt: skip


@pytest.mark.parametrize(("chosen", "remedy"), [(True, "name method='Radau' beside rtol"), (False, "or give rtol")])
def test_advice_is_for_what_was_given(chosen: bool, remedy: str) -> None:
    @ph.torque
    def sticky(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
        return (-1e9 * w[0], -1e9 * w[1], -1e9 * w[2])

    asked: dict[str, Any] = {"rtol": 1e-6} if chosen else {"step": 1.0}
    with pytest.raises(ph.SimulationFailed, match=remedy) as caught:
        ph.simulate(BODY, sticky, omega=[1.0, 1.0, 1.0], t_span=(0.0, 10.0), method="G8", **asked)
    assert ("shorter" in str(caught.value)) is not chosen
    tried = r"no run came to the end on the way to rtol=1e-06: \d+ were tried, with \d+ to \d+ steps of G8; the last: "
    assert bool(re.match(tried, str(caught.value))) is chosen


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

    def complained(self: Any, t: float) -> Any:
        asked.append(t)
        return fault(self, t)

    monkeypatch.setattr(Integration, "_fault", complained)
    monkeypatch.setattr(search, "WORTH_A_THREAD_FLOWS", 1)
    monkeypatch.setattr(search, "available_cores", lambda: 2)
    times = [0.5, 2.0] if at_once else None
    why = r"the torque breaking raised ValueError: .* after \d+ of \d+ steps, at t = .*; what was computed is the"
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


@pytest.mark.parametrize("rtol", [pytest.param(1e-3, marks=pytest.mark.evidence), 1e-6, 1e-9])
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


@pytest.mark.evidence
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


def test_round_off_that_grows_is_seen_soon() -> None:
    """Where a motion makes the last digits of its start grow above the tolerance, no steps are short enough."""
    body, torque = ph.Body([1.0, 1.4, 2.1]), ph.HeavyTop(1.0, point=(0.3, 0.5, 0.8))
    with pytest.warns(ph.ToleranceNotReached):
        solution = ph.simulate(body, torque, omega=(0.5, 0.6, 0.7), t_span=(0.0, 600.0), t_eval=[600.0], rtol=1e-8)
    assert solution.nfev < 1e6  # 3.0e6 by tries alone; in other chaotic motions 1e8 were seen


@pytest.mark.parametrize("times", [[5.0, 20.0], [0.01, 20.0]])
def test_short_runs_have_the_bits_of_others(times: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """A run by one call of compiled code is the run that can be stopped on the way, and so is its companion.

    A companion stops on its way to a row that lies before the end of its first step.
    """

    def asked(**others: Any) -> ph.Solution:
        return answer(1e-2, 1e-7, t_eval=times, **others)

    monkeypatch.setattr(short_runs, "attempt", lambda *_: None)
    short, whole = asked(), asked(progress=lambda done, steps: None)
    assert (short.quaternion == whole.quaternion).all()
    assert (short.momentum == whole.momentum).all()
    assert short.error_estimate == whole.error_estimate
    assert (short.nfev, short.stats.steps) == (whole.nfev, whole.stats.steps)
    calls = list[object]()
    monkeypatch.setattr(Integration, "__init__", lambda *_: calls.append(1))
    again = asked(omega=[0.9, -0.7, 1.2])  # on the same grid, from another start
    assert not calls
    assert not (again.quaternion == short.quaternion).all()


def test_long_grids_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grids are kept for other starts; with millions of rows 64 of them would fill the memory."""
    kept, made = list[int](), integration._ready_loops

    def noted(kind: integration.Kind) -> integration.ReadyLoop:
        kept.append(len(kind.listed or b"") // 8)
        return made(kind)

    monkeypatch.setattr(integration, "_ready_loops", noted)
    monkeypatch.setattr(integration, "MOST_KEPT_ROWS", 300)
    long = answer(1e-2, 1e-7, t_eval=np.linspace(0.0, 20.0, 301))
    assert not any(size > 300 for size in kept)
    monkeypatch.setattr(integration, "MOST_KEPT_ROWS", 301)
    short = answer(1e-2, 1e-7, t_eval=np.linspace(0.0, 20.0, 301))
    assert 301 in kept
    assert (long.quaternion == short.quaternion).all()


def test_a_run_and_its_companion_begin_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both may find that they are the first to take long: the run is not to get the steps of its companion."""
    problem, goal = checked_arguments(BODY, top(1e-2), **MOTION, t_eval=[20.0], rtol=1e-7)
    assert isinstance(goal, search.Goal)
    trial = TorqueTrial(problem)
    body = search.OneBody(problem, goal.rtol, character(problem, trial), trial, None, None)
    plan = search.first_plan(problem, goal, None)
    companion = Integration(problem, plan.replace(step=2.0 * plan.step))
    hurried = property(lambda self: vars(self).get("first"), lambda self, _: vars(self).update(first=companion))
    monkeypatch.setattr(search.OneBody, "first", hurried, raising=False)
    assert body._whole(problem, plan, None).plan.step == plan.step
