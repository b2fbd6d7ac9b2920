"""Short motions by one call of compiled code: the same rules, the same bits, and nothing that is not its business."""

import copy
import dataclasses
import math
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.accuracy import short_runs
from polhode.accuracy.estimate import distance
from polhode.problem import Problem
from tests.accuracy.common import BODY, MOTION, answer, top

TILTED = ph.Body([[2.0, 0.1, 0.2], [0.1, 1.5, 0.05], [0.2, 0.05, 1.0]])


@ph.torque(parameters=[0.3, 1.7])
def stirred(t: float, q: Any, w: Any, p: Any) -> Any:
    """A torque of attitude, rate and time."""
    return (p[0] * q[1] * q[0] - 0.1 * w[0], p[0] * math.cos(p[1] * t), -0.1 * w[2])


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Notes of each answer whether it was found here."""
    found, asked = list[bool](), short_runs.ShortRuns.attempt

    def noted(*args: Any, **others: Any) -> Any:
        solution = asked(*args, **others)
        found.append(solution is not None)
        return solution

    monkeypatch.setattr(short_runs.ShortRuns, "attempt", noted)
    return found


@pytest.mark.parametrize("body", [BODY, TILTED, ph.Body([1.0, 1.0, 1.5])])
@pytest.mark.parametrize("times", [None, [20.0], [0.0, 5.0, 20.0], np.linspace(0.1, 19.0, 100)])
def test_the_run_is_that_of_its_method_and_step(body: ph.Body, times: Any, taken: list[bool]) -> None:
    """So whoever repeats it with them has the same bits."""
    motion = MOTION | {"t_eval": times}
    found = ph.simulate(body, top(0.05), rtol=1e-7, **motion)
    assert taken == [True]
    again = ph.simulate(body, top(0.05), method=found.method, step=found.step, **motion)
    assert (found.t == again.t).all()
    assert (found.quaternion == again.quaternion).all()
    assert (found.momentum == again.momentum).all()
    assert (found.at(7.3).omega == again.at(7.3).omega).all()
    assert found.message.startswith(again.message)
    assert (found.status, found.t_last, found.rtol) == (again.status, again.t_last, 1e-7)
    finest = ph.simulate(body, top(0.05), rtol=1e-12, **(motion | {"t_eval": found.t}))
    assert found.error_estimate is not None
    rows = np.arange(found.t.size)
    assert distance(found, rows, finest) <= found.error_estimate + 1e-12 <= 1e-7 + 1e-12


@pytest.mark.parametrize("every", [2, 5, 1000])
def test_fewer_rows_at_steps(every: int, taken: list[bool]) -> None:
    """They are those of the run by its method and step."""
    found = ph.simulate(BODY, top(0.05), rtol=1e-7, every=every, **MOTION)
    again = ph.simulate(BODY, top(0.05), method=found.method, step=found.step, every=every, **MOTION)
    assert taken == [True]
    assert (found.t == again.t).all()
    assert (found.momentum == again.momentum).all()


def test_answers_do_not_depend_on_those_before() -> None:
    def asked(factor: float) -> ph.Solution:
        return ph.simulate(BODY, stirred, rtol=1e-8, **(MOTION | {"omega": [0.9 * factor, -0.7, 1.1]}))

    alone = asked(1.0)
    asked(3.0), asked(1.1)
    assert (asked(1.0).momentum == alone.momentum).all()


def test_a_row_at_the_start_alone_is_compared_with_nothing(taken: list[bool]) -> None:
    """The companion once read a time that nobody had written: what it cost depended on what memory held before."""
    costs = set[int]()
    for k in range(30):
        full = [np.full(n, 0.01 * k) for n in (200, 2000, 6000)]
        del full
        costs.add(ph.simulate(BODY, top(0.3), omega=[0.1, 0.2, 1.0], t_span=(0, 9), t_eval=[0.0], rtol=1e-6).nfev)
    assert all(taken)
    assert len(costs) == 1


def test_the_solution_is_one_like_others(taken: list[bool]) -> None:
    """It is made in a shorter way, and has all that others have."""
    found = ph.simulate(BODY, top(0.1), rtol=1e-7, **MOTION)
    assert taken == [True]
    for one in (found, found.problem, found.plan, found.stats):
        for name in (field.name for field in dataclasses.fields(one)):
            getattr(one, name)
    again = dataclasses.replace(found)
    kept = pickle.loads(pickle.dumps(found))
    for other in (again, kept):
        assert (other.quaternion == found.quaternion).all()
        assert (other.message, other.stats, other.plan.step) == (found.message, found.stats, found.plan.step)
        assert other.memory == found.memory
        assert (other.metadata, other.events, other.last_state.size) == ({}, (), 0)
    assert repr(again.problem) == repr(found.problem)
    found.metadata["name"] = "first"
    assert ph.simulate(BODY, top(0.1), rtol=1e-7, **MOTION).metadata == {}


def test_rows_are_the_users_own() -> None:
    """Whoever writes to the times of a solution does not change those of the next."""
    motion = MOTION | {"rtol": 1e-7, "t_eval": [5.0, 20.0]}
    first = ph.simulate(BODY, top(0.1), **motion)
    rows = first.quaternion.copy()
    assert first.problem.times is not None
    first.problem.times[0], first.t[0] = 6.0, 7.0
    first.quaternion[:] = 0.0
    assert (ph.simulate(BODY, top(0.1), **motion).quaternion == rows).all()


def test_torques_that_read_other_things_are_not_mixed_up(taken: list[bool]) -> None:
    """The same function may be declared to depend on more: then it is looked at in another way."""
    function = with_gain.function
    less, more = ph.torque(function, depends="attitude"), ph.torque(function, depends=["attitude", "time", "rate"])
    evaluations = [ph.simulate(BODY, one, rtol=1e-7, **MOTION).nfev for one in (less, more, less, more)]
    assert taken == [True] * 4
    assert evaluations[:2] == evaluations[2:]
    assert evaluations[0] != evaluations[1]


GAIN = 0.3


def gain(q: Any) -> Any:
    return GAIN * q[1]


@ph.torque
def with_gain(t: float, q: Any, w: Any, p: Any) -> Any:
    return (0.0, gain(q), 0.1 * q[2])


def test_what_a_function_reads_may_change(taken: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """A number that a helper of the user's function reads, or the helper, between calls that are otherwise the same."""
    first = ph.simulate(BODY, with_gain, rtol=1e-8, **MOTION)
    monkeypatch.setitem(globals(), "GAIN", 0.4)
    second = ph.simulate(BODY, with_gain, rtol=1e-8, **MOTION)
    monkeypatch.setitem(globals(), "gain", lambda q: 0.3 * q[1])
    third = ph.simulate(BODY, with_gain, rtol=1e-8, **MOTION)
    assert taken == [True, True, True]
    assert np.abs(second.omega[-1] - first.omega[-1]).max() > 1e-3
    assert (third.momentum == first.momentum).all()


def test_threads_share_what_is_kept() -> None:
    rates = [[0.9 + 0.01 * k, -0.7, 1.1] for k in range(40)]

    def asked(omega: list[float]) -> bytes:
        return answer(0.1, 1e-8, omega=omega, t_eval=[3.0, 20.0]).momentum.tobytes()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(asked, rates)) == list(map(asked, rates))


def test_time_may_run_backward(taken: list[bool]) -> None:
    there = ph.simulate(BODY, stirred, rtol=1e-9, **MOTION)
    end = {"omega": there.omega[-1], "attitude": there.quaternion[-1]}
    back = ph.simulate(BODY, stirred, rtol=1e-9, t_span=(20.0, 0.0), **end)
    assert taken == [True, True]
    assert np.abs(back.omega[-1] - MOTION["omega"]).max() < 1e-7


WALL = ph.torque(lambda t, q, w, p: (0.0, 0.0, 1e-3 + math.exp(100.0 * (q[1] - 0.3))))
PULSE = ph.torque(lambda t, q, w, p: (0.0, 0.0, math.exp(-((t - 7.0) ** 2) / 1e-4)))


@ph.torque
def stiff(t: float, q: Any, w: Any, p: Any) -> Any:
    return (-1e5 * w[0], -1e5 * w[1], -1e5 * w[2])


@ph.torque(state=["z"])
def carrying(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
    return (z[0], 0.0, 0.0), (-z[0],)


@pytest.mark.parametrize(
    ("torque", "others"),
    [
        (top(0.1), {"rtol": 1e-12}),
        (top(0.1), {"t_span": (0.0, 1e4)}),
        (top(0.1), {"t_eval": np.linspace(0.0, 20.0, 102)}),
        (carrying, {"state": [0.1]}),
        (WALL, {}),
        (PULSE, {}),
        (stiff, {}),
        (ph.torque(lambda t, q, w, p: (0.1 * q[1], 0.0, 0.0), compiled=False), {}),
    ],
)
def test_what_is_out_of_the_ordinary_is_left_to_others(torque: Any, others: dict[str, Any]) -> None:
    given = MOTION | {"rtol": 1e-6} | others
    rtol = given.pop("rtol")
    assert short_runs.attempt(Problem.given(BODY, torque, **given), rtol, None) is None


def test_mistakes_are_named_as_ever() -> None:
    @ph.torque(parameters=[1.0])
    def fails(t: float, q: Any, w: Any, p: Any) -> Any:
        return (math.sqrt(p[0]), 0.0, 0.0)

    ph.simulate(BODY, fails, rtol=1e-6, **MOTION)
    with pytest.raises(ValueError, match="fails"):
        ph.simulate(BODY, fails.with_parameters([-1.0]), rtol=1e-6, **MOTION)


@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-9])
def test_estimates_hold(rtol: float, taken: list[bool]) -> None:
    """Under a torque of time, attitude and rate; the truth is a run by collocation in short steps."""

    @ph.torque(parameters=[0.3, 1.3, 0.02])
    def field(t: float, q: Any, w: Any, p: Any) -> Any:
        return (
            p[0] * math.cos(p[1] * t) * q[1] - p[2] * w[0], p[0] * math.sin(p[1] * t) * q[2],
            -p[2] * w[2] * q[0] * q[0],
        )  # fmt: skip

    rng = np.random.default_rng(5)
    for _ in range(12):
        body = ph.Body(rng.uniform(1.0, 1.9, 3))
        start: dict[str, Any] = {"omega": rng.normal(size=3), "attitude": rng.normal(size=4), "t_span": (0.0, 30.0)}
        times = np.linspace(3.0, 30.0, 7)
        found = ph.simulate(body, field, rtol=rtol, t_eval=times, **start)
        truth = ph.simulate(body, field, method="G8(compensated=true)", step=0.1, t_eval=times, **start)
        assert found.error_estimate is not None
        assert distance(found, np.arange(7), truth) <= found.error_estimate + 1e-13
        assert found.error_estimate <= rtol
    assert all(taken)


def test_a_tolerance_too_tight_for_a_body_that_comes_to_rest_is_left_to_others() -> None:
    """No step is as exact as that where the sums are not compensated."""
    asked = Problem.given(BODY, top(3.0), **(MOTION | {"t_span": (0.0, 300.0)}))
    assert short_runs.attempt(asked, 1e-11, None) is None


def test_fields_are_made_when_they_are_read() -> None:
    """By whatever way: an attribute, a copy, a pickle, another thread."""
    ask = partial(ph.simulate, ph.Body([1.0, 2.0, 2.8]), ph.HeavyTop(0.4), omega=[0.3, 1.2, -0.8], rtol=1e-6)
    given: dict[str, Any] = {"t_span": (0.0, 20.0), "t_eval": [0.0, 20.0]}
    true = ask(**given)
    assert "quaternion" not in true.__dict__
    assert true.plan.method.bare_name == "GBS"
    assert "quaternion" in true.__dict__
    ways: list[Callable[[ph.Solution], ph.Solution]] = [
        copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)), lambda x: x.having(metadata={}),
        lambda x: dataclasses.replace(x, metadata={}),
    ]  # fmt: skip
    for way in ways:
        made = way(ask(**given))
        assert np.array_equal(made.quaternion, true.quaternion)
        assert (made.message, made.stats.steps, made.memory) == (true.message, true.stats.steps, true.memory)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = ask(**given).nonsense  # type: ignore[attr-defined]
    shared = ask(**given)
    with ThreadPoolExecutor(4) as pool:
        assert all(np.array_equal(q, true.quaternion) for q in pool.map(lambda _: shared.quaternion, range(8)))


def test_calls_that_differ_in_their_start_check_no_less(taken: list[bool]) -> None:
    """What is kept of a call serves one that is the same in all else: arguments of other kinds are refused as ever."""
    torque, times = top(0.1), np.array([5.0, 20.0])
    motion = MOTION | {"rtol": 1e-7, "t_eval": times}
    first = ph.simulate(BODY, torque, **motion)
    assert (ph.simulate(BODY, torque, **motion).quaternion == first.quaternion).all()
    for wrong in (
        {"t_span": (False, 20.0)}, {"rtol": True}, {"t_eval": [5.0, True]}, {"omega": [1.0, math.nan, 0.0]},
        {"attitude": [0.0] * 4}, {"every": 2},
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError)):
            ph.simulate(BODY, torque, **(motion | wrong))
    with pytest.warns(ph.ScaledQuaternion) as said:
        ph.simulate(BODY, torque, **(motion | {"attitude": [2.0, 0.0, 0.0, 0.0]}))
    assert len(said) == 1
    times[0] = 6.0
    assert ph.simulate(BODY, torque, **motion).t.tolist() == [6.0, 20.0]
    assert first.t.tolist() == [5.0, 20.0]
    assert first.problem.times is not None
    assert first.problem.times.tolist() == [5.0, 20.0]
    assert all(taken)


def test_the_environment_is_asked_in_each_call(monkeypatch: pytest.MonkeyPatch, taken: list[bool]) -> None:
    motion = MOTION | {"rtol": 1e-4, "t_span": (0.0, 2.0), "t_eval": [2.0]}
    ph.simulate(BODY, stirred, **motion)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert ph.simulate(BODY, stirred, **motion).plan.method.bare_name != "GBS"
    assert taken == [True, False]


FACTOR = 1.0


def test_numbers_that_a_function_makes_of_the_body_are_made_in_each_call() -> None:
    @ph.torque(from_body=lambda body: [FACTOR * float(body.moments[0])])
    def grows(t: float, q: Any, w: Any, p: Any) -> Any:
        return (0.1 * p[0] * q[1], 0.0, 0.0)

    first = ph.simulate(BODY, grows, rtol=1e-7, **MOTION)
    globals()["FACTOR"] = 2.0
    second = ph.simulate(BODY, grows, rtol=1e-7, **MOTION)
    globals()["FACTOR"] = 1.0
    third = ph.simulate(BODY, grows, rtol=1e-7, **MOTION)
    assert (third.momentum == first.momentum).all()
    assert not (second.momentum == first.momentum).all()


def test_a_switch_that_run_and_companion_step_over_alike() -> None:
    """Steps of three seconds end at its foot: both miss 4e-10 of it, by chance the same to a tenth."""
    moved = [0.63258783709792, -1.516633349378477, 1.7597022325594254, -1.048978774787762]
    moved += [1.1242385114852735, -0.7321943875765523, -0.7805001338777964, -0.8085240427653068]
    sizes = [1.1433918183076424, -0.7928288584798551, -1.026161145180932, -0.8256937652447934]

    @ph.torque(parameters=[6.844577532977865e-05, 0.4517120948289784, *moved, *sizes])
    def switched(t: float, q: Any, w: Any, p: Any) -> Any:
        s, x, z = p[1] * t, ph.to_body(q, (1.0, 0.0, 0.0)), ph.to_body(q, (0.0, 0.0, 1.0))
        early, late = p[2] * (s - 6.0 * p[3]), p[4] * (s - 6.0 * p[5])
        first, last = 0.5 + 0.5 * math.tanh(3.0 * p[6] * (s - 6.0 * p[7])), math.tanh(3.0 * p[8] * (s - 6.0 * p[9]))
        return (
            p[0] * (p[10] * math.exp(-early * early) * x[0] + p[12] * first * z[1]),
            p[0] * p[11] * (0.5 + 0.5 * last) * x[0],
            p[0] * p[13] * math.exp(-late * late) * z[2],
        )

    body = ph.Body(
        [
            [1.2521914751764627, -0.011202324965417149, 0.027038636672505494],
            [-0.011202324965417149, 1.254742559135348, 0.02135021026762395],
            [0.027038636672505494, 0.02135021026762395, 1.2220884825047134],
        ]
    )
    span = (0.0, -95.66001407317401)
    asked: dict[str, Any] = {
        "omega": [0.35558894627084414, 0.2511127857065267, -0.12059306265072937],
        "attitude": [0.880713374695868, 0.18467227285793134, 0.2747817595481268, -0.33872568235806505],
        "t_span": span, "t_eval": [span[1]],
    }  # fmt: skip
    found = ph.simulate(body, switched, **asked, rtol=9.971316028399757e-10)
    true = ph.simulate(body, switched, **asked, step=-0.2, method="G8(compensated=true)")
    assert found.error_estimate is not None
    rate = np.linalg.norm(found.omega - true.omega) / np.linalg.norm(found.omega)
    turned = (found.attitude * true.attitude.inv()).magnitude().max()
    assert max(rate, turned) < found.error_estimate
