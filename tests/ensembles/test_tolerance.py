"""A tolerance for many bodies: reached by each, with an estimate that holds, whatever the company."""

import math
import warnings
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.api import ensemble
from polhode.ensembles import levels as refine
from polhode.ensembles import pilots
from polhode.kernels.status import Status
from polhode.kernels.types import Quat, Vec3
from tests.contract._measure import interpreted

BODY = ph.Body([1.0, 1.4, 2.1])
DRAW = np.random.default_rng(2)
RATES, QUATERNIONS = DRAW.normal(size=(24, 3)), DRAW.normal(size=(24, 4))
RATES[5] *= 20.0  # it needs shorter steps than the others
TIMES = np.array([0.0, 1.5, 4.0])
GIVEN: dict[str, Any] = {"t_span": (0.0, 4.0), "t_eval": TIMES}
STRONG, WEAK = ph.HeavyTop(0.5), ph.HeavyTop(1e-5)


def errors(many: ph.Ensemble, torque: Any) -> Any:
    """Against runs of single bodies to a much tighter tolerance."""
    found = []
    for k in range(len(many)):
        true = ph.simulate(BODY, torque, omega=RATES[k], attitude=QUATERNIONS[k], rtol=1e-11, method="DOP853", **GIVEN)
        q = [np.linalg.norm(many.quaternion[k] - sign * true.quaternion, axis=1) for sign in (1, -1)]
        rates = np.linalg.norm(many.omega[k] - true.omega, axis=1) / np.linalg.norm(true.omega, axis=1).max()
        found.append(max(2 * np.minimum(*q).max(), rates.max()))
    return np.array(found)


@pytest.mark.parametrize(("torque", "rtol"), [(STRONG, 1e-6), (WEAK, 1e-9)])
def test_every_body_reaches_the_tolerance(torque: Any, rtol: float) -> None:
    with interpreted():
        many = ph.ensemble(BODY, torque, omega=RATES[:6], attitude=QUATERNIONS[:6], rtol=rtol, **GIVEN)
        true = errors(many, torque)
    assert many.success.all()
    assert many.error_estimate is not None
    assert (many.error_estimate <= rtol).all()
    assert (true <= many.error_estimate + 2e-12).all()
    assert true.max() > 1e-3 * many.error_estimate.max()
    assert many[3].error_estimate == many.error_estimate[3]
    assert many[3].plan.step == many.plans[many.plan_number[3]].step
    assert (many.evaluations > 0).all()
    assert "errors at most" in repr(many)
    assert "error_estimate" in many.to_xarray()


def test_bodies_that_need_more_get_more() -> None:
    many = ph.ensemble(
        BODY, STRONG, omega=RATES, attitude=QUATERNIONS, rtol=1e-4, method="MR2", **GIVEN
    )  # fmt: skip
    assert many.error_estimate is not None
    assert many.error_estimate.max() <= 1e-4
    assert len(many.plans) > 1
    assert abs(many[5].plan.step) < 0.5 * np.median([abs(many[k].plan.step) for k in range(24)])
    assert many[5].stats.steps > many[4].stats.steps
    again = ph.simulate(
        BODY, STRONG, omega=RATES[5], attitude=QUATERNIONS[5], method="MR2", step=many[5].plan.step, **GIVEN
    )
    assert np.array_equal(again.quaternion, many.quaternion[5])


@pytest.mark.parametrize(("place", "rtol"), [(7, 1e-6), (8, 1e-9)])
def test_a_body_that_is_much_faster_gets_there(place: int, rtol: float) -> None:
    """Steps that do not follow its motion look like round-off; it is among the pilots, or not."""
    top, torque, span = ph.Body([1.0, 1.0, 1.6]), ph.HeavyTop(1e-4), (0.0, 10.0)
    rates = RATES[:17] / np.linalg.norm(RATES[:17], axis=1)[:, None]
    given: dict[str, Any] = {"attitude": QUATERNIONS[:17], "t_span": span, "rtol": rtol, "method": "ABA1064"}
    with interpreted():
        alike = ph.ensemble(top, torque, omega=rates, **given)
        rates[place] *= 100.0
        many = ph.ensemble(top, torque, omega=rates, **given)
        true = ph.simulate(
            top, torque, omega=rates[place], attitude=QUATERNIONS[place], t_span=span, t_eval=[10.0], rtol=1e-11
        )
    assert many.error_estimate is not None
    assert many.error_estimate.max() <= rtol
    assert np.abs(many.omega[place, -1] - true.omega[-1]).max() <= many.error_estimate[place] * 100.0
    others = np.arange(17) != place
    assert np.array_equal(many.steps[others], alike.steps[others])


def test_others_do_not_pay_for_the_flows_of_one_that_is_much_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are made ready for the others: it gets as many more steps from the start."""
    monkeypatch.setattr(pilots, "SOME_FLOWS", 0)
    monkeypatch.setattr(pilots, "PILOTS", 8)
    seen: list[refine.Foresight] = []
    levels = refine.Foresight.levels

    def spied(self: refine.Foresight, *rest: Any) -> Any:
        seen.append(self)
        return levels(self, *rest)

    monkeypatch.setattr(refine.Foresight, "levels", spied)
    rates = RATES[:10] / np.linalg.norm(RATES[:10], axis=1)[:, None]
    rates[2] *= 20.0  # no pilot
    with interpreted():
        many = ph.ensemble(BODY, WEAK, omega=rates, t_span=(0.0, 2.0), rtol=1e-4, method="Strang(corrector=17)")
    assert many.error_estimate is not None
    assert many.error_estimate.max() <= 1e-4
    assert seen[0].longest is not None
    assert seen[0].longest < 0.2 * many[0].plan.step  # of the fastest; others go that much further in it
    assert many.steps[2] > 2 * np.median(many.steps)


@pytest.mark.parametrize("grouped", [True, False])
def test_company_threads_and_batches_change_no_bit(grouped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pilots, "MANY_FLOWS", 0 if grouped else math.inf)
    rates = np.resize(RATES, (300, 3))
    given: dict[str, Any] = {"omega": rates, "rtol": 1e-4, "method": "MR2", "t_span": (0.0, 1.0)}
    many = ph.ensemble(BODY, STRONG, threads=1, **given)
    spread = many.steps[many.steps < 0.5 * many.steps.max()]  # but for the copies of the fastest
    assert (len(set(spread.tolist())) > 4) == grouped
    monkeypatch.setattr(ensemble, "BATCH_BYTES", 1)
    kept = ph.ensemble(
        BODY, STRONG, threads=3, **given,
        reduce={
            "q": ph.quantity("quaternion"),
            "e": ph.quantity("error_estimate"),
            "worst": ph.quantity("error_estimate").max("body"),
        },
    )  # fmt: skip
    assert np.array_equal(kept["q"], many.quaternion)
    assert np.array_equal(kept["e"], many.error_estimate)
    assert kept["worst"] == kept["e"].max()


def test_bodies_in_groups_reach_the_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    """With exact flows that are made ready for less than the fastest would need at the steps of others."""
    monkeypatch.setattr(pilots, "MANY_FLOWS", 0)
    monkeypatch.setattr(pilots, "PILOTS", 8)
    rates = RATES[:12] * np.linspace(0.5, 2.0, 12)[:, None]
    rates[5] /= 20.0
    given: dict[str, Any] = {"omega": rates, "attitude": QUATERNIONS[:12], **GIVEN}
    with interpreted():
        many = ph.ensemble(BODY, WEAK, rtol=1e-5, method="Strang(corrector=17)", **given)
        for k in (0, 5, 11):
            true = ph.simulate(
                BODY, WEAK, omega=rates[k], attitude=QUATERNIONS[k], rtol=1e-10, method="DOP853", **GIVEN
            )
            assert np.abs(many.omega[k] - true.omega).max() < 1e-5 * np.abs(true.omega).max()
    assert many.error_estimate is not None
    assert many.error_estimate.max() <= 1e-5
    assert len({many[k].plan.step for k in range(12)}) > 2
    assert many[0].plan.longest_step is None


def test_one_body_is_simulate() -> None:
    for torque in (STRONG, None):
        given: dict[str, Any] = {"omega": RATES[0], "attitude": QUATERNIONS[0], "rtol": 1e-6, **GIVEN}
        with interpreted():
            one, many = ph.simulate(BODY, torque, **given), ph.ensemble(BODY, torque, **given)
        assert np.array_equal(many.quaternion[0], one.quaternion)
        assert np.array_equal(many.omega[0], one.omega)
        assert (many[0].method, many[0].nfev, many[0].error_estimate) == (one.method, one.nfev, one.error_estimate)


def test_free_bodies_are_exact() -> None:
    with interpreted():
        many = ph.ensemble(BODY, omega=RATES, attitude=QUATERNIONS, rtol=1e-9, **GIVEN)
    assert many.plan.method.name == "Exact"
    assert many.error_estimate is not None
    assert many.error_estimate.max() < 1e-12
    assert many.momentum_error.max() < 1e-14


@ph.torque
def forbidden(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    return (0.5 if w[0] < 1.0 else math.nan, 0.0, 0.0)


def test_a_body_that_fails_stops_alone() -> None:
    with interpreted():
        many = ph.ensemble(BODY, forbidden, omega=[[0.0, 0.0, 1.0], [0.9, 0.0, 0.0]], t_span=(0.0, 1.0), rtol=1e-6)
    assert many.success.tolist() == [True, False]
    assert many.error_estimate is not None
    assert np.isnan(many.error_estimate[1])
    assert "the torque forbidden returned (nan, 0, 0)" in many[1].message


def test_bodies_of_which_nothing_is_known_are_told() -> None:
    @ph.torque(parameters=(1.0,))
    def edge(t: float, q: Quat, m: Vec3, p: Any) -> Vec3:
        """None at the edge, and not a number beyond, where the companion starts."""
        return (0.0 if m[0] <= p[0] else math.nan, 0.0, 0.0)

    limits = np.array([[5.0], [1.0], [5.0]])  # of momenta of 1
    with interpreted(), pytest.warns(ph.ToleranceNotReached, match="errors of 1 of 3 bodies are not known"):
        many = ph.ensemble(BODY, edge, omega=[1.0, 0.0, 0.0], parameters=limits, rtol=1e-6, t_span=(0.0, 0.5))
    assert many.success.all()
    assert many.error_estimate is not None
    assert np.isnan(many.error_estimate).tolist() == [False, True, False]
    assert "not known for 1" in repr(many)


def test_a_tolerance_out_of_reach_is_told() -> None:
    why = r"rtol=1e-15 was not reached for 9 of 9 bodies: the largest error is estimated as \S+, and .*round-off"
    with pytest.warns(ph.ToleranceNotReached, match=why):
        many = ph.ensemble(
            BODY, STRONG, omega=RATES[:9], t_span=(0.0, 4.0), rtol=1e-15, method="RK4"
        )  # fmt: skip
    assert many.error_estimate is not None
    assert (many.error_estimate < 1e-10).all()


@pytest.mark.parametrize("passes", [0, 1, 3])
def test_interruption_keeps_what_there_is(passes: int) -> None:
    """In the first run, in its companion, or in the next one: no body is said to be there that is not."""
    seen = 0

    def stop(done: int, total: int) -> None:
        nonlocal seen
        if seen >= passes:
            raise KeyboardInterrupt
        seen += done == total

    rtol = 1e-4
    with pytest.raises(ph.EnsembleInterrupted) as caught:
        ph.ensemble(BODY, STRONG, omega=RATES, t_span=(0.0, 4.0), rtol=rtol, method="MR2", progress=stop)
    many = caught.value.ensemble
    known = np.isfinite(many.error_estimate)
    assert known.all() if passes == 3 else not known.any()
    assert np.array_equal(many.success, many.error_estimate <= rtol)
    assert (many.status[~many.success] == Status.INTERRUPTED).all()
    assert many.success.any() == (passes == 3)
    assert passes == 0 or ((many.t_last == 4.0).all() and np.isfinite(many.quaternion).all())
    k = int(np.argmin(many.success))
    assert ("is estimated as" if passes == 3 else "is not known") in many[k].message or passes == 0
    assert "interrupted" in many[k].message
    assert f"{many.success.sum()} reached t = 4, and {(~many.success).sum()} were interrupted" in repr(many)
    assert np.isfinite(many.last_quaternion).all()


def test_interruption_between_two_runs_keeps_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("polhode.accuracy.refinement.next_try", stop)
    with interpreted(), pytest.raises(ph.EnsembleInterrupted) as caught:
        ph.ensemble(BODY, STRONG, omega=RATES[4:6], t_span=(0.0, 1.0), rtol=1e-4, method="MR2")
    assert np.isfinite(caught.value.ensemble.error_estimate).all()
    assert not caught.value.ensemble.success[1]


def test_steps_of_their_own_on_several_threads() -> None:
    """Bodies that finish early do not make the others' chunks grow beyond all bounds."""
    rates = np.random.default_rng(3).normal(size=(300, 3))
    found = [
        ph.ensemble(BODY, STRONG, omega=rates, t_span=(0.0, 2.0), rtol=1e-6, method="DOP853", threads=n) for n in (1, 3)
    ]
    assert all(many.success.all() for many in found)
    assert np.array_equal(found[0].quaternion, found[1].quaternion)


def test_a_body_that_is_a_thousand_times_as_fast_gets_there() -> None:
    """It begins with the steps that the others need, which it cannot even make."""
    rates = np.tile([0.1, 0.4, 5.0], (8, 1))
    rates[3] = [1000.0, 2000.0, 3000.0]
    many = ph.ensemble(ph.Body([1, 2, 2.8]), ph.HeavyTop(1.0), omega=rates, t_span=(0.0, 1.0), rtol=1e-6, t_eval=[1.0])
    assert many.success.all()
    assert many.error_estimate is not None
    assert many.error_estimate.max() <= 1e-6


def test_a_body_that_cannot_get_there_is_not_told_to_take_shorter_steps() -> None:
    """Who gave a tolerance has given no step."""

    @ph.torque
    def growing(t: float, q: Any, w: Any, p: Any) -> Any:
        return (300.0 * w[0], 300.0 * w[1], 300.0 * w[2])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ph.ToleranceNotReached)
        many = ph.ensemble(BODY, growing, omega=RATES, t_span=(0.0, 12.0), t_eval=[12.0], rtol=1e-3)
    assert not many.success.any()
    assert all("shorter step" not in said for said in many.messages.values())
    assert "name another method beside rtol" in many.messages[0]
