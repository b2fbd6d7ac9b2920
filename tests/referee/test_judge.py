"""The referee on faults that are known: it neither accuses the innocent nor acquits the guilty."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import polhode as ph
from tests.referee.motions import Made, digits, free_motion, runge_kutta

SEEDS = [0, pytest.param(1, marks=pytest.mark.evidence)]


@pytest.fixture(params=SEEDS)
def made(request: pytest.FixtureRequest) -> Made:
    return free_motion(request.param)


def said(verdict: ph.Verdict) -> str:
    """Returns the verdict without its line breaks."""
    return " ".join(str(verdict).split())


def kinds(verdict: ph.Verdict) -> list[str]:
    return [f.kind for f in verdict.faults if f.certainty == "certain"]


# --- the innocent --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["6f", "9f", "6g", "9g", "f4", "all"])
def test_a_right_history_is_right_with_any_number_of_digits(made: Made, form: str) -> None:
    verdict = ph.check(made.log(quaternion=digits(made.q, form), omega=digits(made.w, form)), body=made.body)
    assert verdict.error.is_rounding, str(verdict)
    assert verdict.agrees
    assert not verdict.faults
    assert verdict.convention.certainty == "certain"
    assert all(drift.kind == "none" for drift in verdict.drift.values()), str(verdict)


@pytest.mark.parametrize(("form", "power"), [("6f", -6), ("9f", -9), ("all", -13)])
def test_rounding_is_not_an_excuse_for_more_than_it_makes(made: Made, form: str, power: int) -> None:
    """The limit stays within what a rounded start can do: it grows, but not by more than the motion's sensitivity."""
    verdict = ph.check(made.log(quaternion=digits(made.q, form), omega=digits(made.w, form)), body=made.body)
    assert verdict.error.attitude_limit[1] < 20 * 10.0**power
    error = verdict.error
    assert error.attitude is not None
    assert (error.attitude <= error.attitude_limit).all()


def test_a_clock_that_begins_elsewhere_is_no_fault(made: Made) -> None:
    assert ph.check(made.log(t=made.t + 123.456), body=made.body).error.is_rounding


def test_times_with_few_digits_are_no_fault() -> None:
    """Thirty rows a second, with three decimals: the times are off by up to 0.5 ms, the motion is right."""
    body, t = ph.Body([1.0, 2.0, 2.5]), np.arange(600) / 30.0
    state = ph.FreeMotion(body, [0.2, 0.3, 1.0]).at(t)
    log = {"t": np.round(t, 3), "quaternion": state.quaternion, "omega": state.omega}
    verdict = ph.check(log, body=body)
    assert verdict.error.is_rounding, str(verdict)
    assert 1e-4 < verdict.error.attitude_limit[1] < 3e-3


def test_round_times_are_exact() -> None:
    """Times such as 0.1, 0.2, ... are not rounded, however many there are: no error can hide behind them."""
    body, t = ph.Body([1.0, 2.0, 2.5]), np.round(np.arange(40_001) * 0.0005, 4)
    state = ph.FreeMotion(body, [0.2, 0.3, 1.0]).at(t)
    verdict = ph.check({"t": t, "quaternion": state.quaternion, "omega": state.omega}, body=body)
    assert verdict.error.is_rounding
    assert verdict.error.attitude_limit.max() < 1e-12


def test_a_motion_backwards_in_time_is_right(made: Made) -> None:
    back = {k: v[::-1] for k, v in made.log().items()}
    assert ph.check(back, body=made.body).error.is_rounding


def test_rows_that_are_left_out_are_noted_and_no_fault(made: Made) -> None:
    verdict = ph.check({k: np.delete(v, np.s_[100:105], 0) for k, v in made.log().items()}, body=made.body)
    assert verdict.error.is_rounding
    assert any("5 rows are missing, after row 99" in note for note in verdict.notes), verdict.notes


@pytest.mark.parametrize("order", [2, 4])
def test_an_integrator_of_good_order_is_described_not_accused(made: Made, order: int) -> None:
    step = 0.03 / np.sqrt((made.w[0] ** 2).sum())
    verdict = ph.check(runge_kutta(order, made.body, made.w[0], step, 500), body=made.body)
    assert kinds(verdict) == []
    assert not verdict.error.is_rounding
    assert verdict.outcome == "right"
    assert "RIGHT WITHIN THE INTEGRATOR'S ERROR" in verdict.headline


# --- conventions ---------------------------------------------------------------------------------------------------


def other_conventions(made: Made) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Returns logs in the conventions of others, with what must be found."""
    conjugate = made.q * [1, -1, -1, -1]
    matrices = Rotation.from_quat(made.q, scalar_first=True).as_matrix()
    angles = Rotation.from_quat(made.q, scalar_first=True).as_euler("ZYX", degrees=True)
    mrp = Rotation.from_quat(made.q, scalar_first=True).as_mrp()
    return {
        "inverted": (made.log(quaternion=conjugate), {"direction": "space to body", "order": "scalar first"}),
        "scalar last": (made.log(quaternion=np.roll(made.q, -1, 1)), {"order": "scalar last"}),
        "both": (
            made.log(quaternion=np.roll(conjugate, -1, 1)),
            {"direction": "space to body", "order": "scalar last"},
        ),
        "transposed": (
            {"t": made.t, "matrix": matrices.transpose(0, 2, 1), "omega": made.w},
            {"direction": "space to body"},
        ),
        "matrix": ({"t": made.t, "dcm": matrices, "omega": made.w}, {"direction": "body to space"}),
        "space rates": (made.log(omega=made.spatial), {"axes": "space"}),
        "degrees": (made.log(omega=np.degrees(made.w)), {"unit": "deg", "axes": "body"}),
        "left-handed": (made.log(omega=-made.w), {"sign": -1.0}),
        "angles": ({"t": made.t, "euler_deg(ZYX)": angles, "omega": made.w}, {"angle_unit": "deg"}),
        "angles, unknown": ({"t": made.t, "euler": np.radians(angles), "omega": made.w}, {"sequence": "ZYX"}),
        "parameters": ({"t": made.t, "sigma_BN": mrp, "omega_BN_B": made.w}, {"direction": "body to space"}),
        "inverted, no rates": ({"t": made.t, "quaternion": conjugate}, {"direction": "space to body"}),
        "no attitudes": ({"t": made.t, "omega": np.degrees(made.w)}, {"unit": "deg"}),
    }


@pytest.mark.parametrize("name", list(other_conventions(free_motion(0))))
def test_the_convention_is_found(made: Made, name: str) -> None:
    log, expected = other_conventions(made)[name]
    verdict = ph.check(log, body=made.body)
    assert verdict.convention.certainty == "certain", str(verdict)
    for key, value in expected.items():
        assert getattr(verdict.convention.meaning, key) == value, str(verdict)
    assert verdict.error.is_rounding, str(verdict)


def test_a_reading_can_be_forced_and_is_then_seen_to_be_wrong(made: Made) -> None:
    inverted = made.log(quaternion=made.q * [1, -1, -1, -1])
    verdict = ph.check(inverted, body=made.body, convention="body to space, body rates, rad/s")
    assert not verdict.agrees
    assert "convention" in kinds(verdict) or verdict.convention.meaning.sign < 0


def test_what_a_motion_cannot_tell_is_said() -> None:
    """A body that spins about a principal axis, aligned with space, looks the same in body and in space axes."""
    body, t = ph.Body([1.0, 2.0, 3.0]), np.linspace(0, 20, 200)
    state = ph.FreeMotion(body, [0.0, 0.0, 1.0]).at(t)
    verdict = ph.check({"t": t, "quaternion": state.quaternion, "omega": state.omega}, body=body)
    assert verdict.convention.certainty == "not to be told"
    assert verdict.convention.meaning.axes == "body"
    assert "cannot tell it from" in said(verdict)
    assert verdict.error.is_rounding


def test_names_that_contradict_the_numbers_are_a_fault(made: Made) -> None:
    import pandas

    columns = {f"q{c}": made.q[:, k] for k, c in enumerate("wxyz")}
    columns |= {f"omega_{c} [deg/s]": made.w[:, k] for k, c in enumerate("xyz")}
    verdict = ph.check(pandas.DataFrame({"time": made.t} | columns), body=made.body)
    assert kinds(verdict) == ["names"]
    assert "names say that rates are in deg/s, but the numbers are in rad/s" in said(verdict)


# --- the guilty ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [0.9, 1.02])
def test_another_body_is_found_with_its_moments(made: Made, factor: float) -> None:
    given = ph.Body(made.body.moments * [1.0, factor, 1.0], allow_unphysical=True)
    verdict = ph.check(made.log(quaternion=digits(made.q, "9g"), omega=digits(made.w, "9g")), body=given)
    assert kinds(verdict) == ["moments"], str(verdict)
    listed = verdict.faults[0].sentence.partition("principal moments ")[2].partition(" (")[0]
    found = np.array([float(x) for x in listed.split(", ")])
    assert np.allclose(found / found[2], made.body.moments / made.body.moments[2], rtol=1e-5)


def test_rates_half_a_row_aside_are_found(made: Made) -> None:
    gap = made.t[1] - made.t[0]
    aside = ph.FreeMotion(made.body, made.w[0], made.q[0]).at(made.t - gap / 2).omega
    verdict = ph.check(made.log(omega=aside), body=made.body)
    assert kinds(verdict) == ["lag"], str(verdict)
    assert "0.5 of a row" in said(verdict)
    assert "earlier" in said(verdict)


def test_rows_that_are_missing_without_a_gap_in_time_are_found(made: Made) -> None:
    cut = {k: np.delete(v, np.s_[150:155], 0) for k, v in made.log().items()}
    verdict = ph.check(cut | {"t": made.t[:-5]}, body=made.body)
    assert kinds(verdict) == ["jump"], str(verdict)
    assert "between row 149 and row 150" in said(verdict)


def test_a_first_row_that_is_off_is_found(made: Made) -> None:
    w = made.w.copy()
    w[0] *= 1.2
    verdict = ph.check(made.log(omega=w), body=made.body)
    assert kinds(verdict) == ["start"], str(verdict)
    assert "first row is not on the motion of the others" in said(verdict)


def test_a_clock_that_is_slow_is_found(made: Made) -> None:
    verdict = ph.check(made.log(t=1.03 * made.t), body=made.body)
    assert kinds(verdict) == ["clock"], str(verdict)
    assert "2.913% too slow" in said(verdict)


def test_axes_that_turn_are_found(made: Made) -> None:
    turning = Rotation.from_rotvec(np.outer(made.t, [7.292115e-5, 0.0, 0.0]))
    q = (turning.inv() * Rotation.from_quat(made.q, scalar_first=True)).as_quat(scalar_first=True)
    verdict = ph.check(made.log(quaternion=q), body=made.body)
    assert kinds(verdict) == ["axes"], str(verdict)
    assert "as the Earth does" in said(verdict)


def test_quaternions_that_are_not_scaled_are_found(made: Made) -> None:
    step = 0.03 / np.sqrt((made.w[0] ** 2).sum())
    log = runge_kutta(2, made.body, made.w[0], step, 500, scaled=False)
    verdict = ph.check(log, body=made.body)
    assert verdict.drift["|q|"].kind == "linear"
    assert verdict.drift["|q|"].largest < verdict.error.worst  # so it is no more than the error of the integration
    assert verdict.agrees
    assert [f.kind for f in verdict.faults if f.kind == "norm"] == ["norm"]
    longer = made.q * (1.0 + 1e-5 * np.arange(made.t.size))[:, None]
    assert kinds(ph.check(made.log(quaternion=longer), body=made.body)) == ["norm"]


def test_noise_is_neither_a_fault_nor_an_error_of_integration(made: Made) -> None:
    rng = np.random.default_rng(9)
    noisy = made.w + 1e-4 * rng.normal(size=made.w.shape)
    verdict = ph.check(made.log(omega=noisy), body=made.body)
    assert kinds(verdict) == [], str(verdict)
    assert verdict.noise is not None
    assert verdict.outcome == "noisy"
    assert "RIGHT WITHIN ITS NOISE" in verdict.headline
    size = np.sqrt((made.w**2).sum(axis=1)).max()
    assert abs(verdict.noise.rate * size / 1e-4 - 1.0) < 0.1
    assert verdict.noise.attitude == 0.0
    another = ph.Body(made.body.moments * [1.0, 1.05, 1.0], allow_unphysical=True)
    assert ph.check(made.log(omega=noisy), body=another).noise is None


def test_an_acquittal_mentions_a_fault_that_is_possible(made: Made) -> None:
    rows = slice(0, 40)
    log = {key: value[rows] for key, value in made.log().items()}
    another = ph.Body(made.body.moments * [1.0, 1.0005, 1.0], allow_unphysical=True)
    verdict = ph.check(log, body=another)
    assert verdict.agrees
    assert [f.kind for f in verdict.faults] == ["moments"]
    assert "unless a fault makes that which is named below" in verdict.headline


def test_rates_that_stand_still_have_no_slow_clock() -> None:
    t = np.linspace(0.0, 30.0, 151)
    verdict = ph.check({"t": t, "omega": np.tile([0.4, 1.1, -0.3], (151, 1))}, body=ph.Body([1.3, 2.1, 2.9]))
    assert kinds(verdict) == []
    assert verdict.outcome == "inaccurate"


def test_rates_of_another_motion_fit_no_convention(made: Made) -> None:
    other = free_motion(17, made.t.size)
    verdict = ph.check(made.log(omega=other.w), body=made.body)
    assert "convention" in kinds(verdict)
    assert "No convention" in said(verdict)


def test_a_torque_that_was_not_given_is_found() -> None:
    body, t = ph.Body([1.0, 1.0, 1.0]), np.linspace(0, 20, 300)
    # A sphere under a constant torque about the axis of its spin: the rate grows in proportion to time.
    angle = 0.5 * t + 0.01 * t**2
    zero = np.zeros_like(t)
    q = np.stack([np.cos(angle / 2), zero, zero, np.sin(angle / 2)], axis=-1)
    w = np.stack([zero, zero, 0.5 + 0.02 * t], axis=-1)
    verdict = ph.check({"t": t, "quaternion": q, "omega": w}, body=body)
    assert "hidden torque" in kinds(verdict)
    assert "0.02) acted" in said(verdict)


# --- order and drift -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, pytest.param(2, marks=pytest.mark.evidence), 4])
def test_the_order_is_found_from_two_steps(order: int) -> None:
    made = free_motion(1)
    step = (0.002 if order == 1 else 0.03) / np.sqrt((made.w[0] ** 2).sum())
    coarse = runge_kutta(order, made.body, made.w[0], step, 600)
    fine = runge_kutta(order, made.body, made.w[0], step / 2, 1200)
    found = ph.check(coarse, fine, body=made.body).order
    assert found is not None
    assert abs(found.attitude - order) < 0.15
    assert abs(found.rate - order) < 0.15


def test_an_order_needs_different_steps() -> None:
    made = free_motion(1)
    with pytest.raises(ValueError, match=r"rows .* apart: say how long the steps .* are"):
        ph.check(made.log(), made.log(), body=made.body)
    same = ph.check(made.log(), made.log(), body=made.body, steps=[0.2, 0.1]).order
    assert same is not None
    assert np.isnan(same.attitude)
    assert "not to be told" in str(same)


def test_a_tolerance_decides() -> None:
    made = free_motion(1)
    step = 0.05 / np.sqrt((made.w[0] ** 2).sum())
    log = runge_kutta(2, made.body, made.w[0], step, 300)
    worst = ph.check(log, body=made.body).error.worst
    assert ph.check(log, body=made.body, tolerance=1.01 * worst).agrees
    failed = ph.check(log, body=made.body, tolerance=0.5 * worst)
    assert not failed.agrees
    assert failed.outcome == "inaccurate"
    assert "more than the tolerance of" in said(failed)


# --- under a torque ------------------------------------------------------------------------------------------------


TOP = ph.HeavyTop(weight=1.5, point=(0.1, 0.0, 1.0))


@pytest.fixture(scope="module")
def top() -> ph.Solution:
    body = ph.Body([2.0, 3.0, 4.0])
    start = ph.quaternion_from_euler("ZYX", [10.0, 20.0, 30.0], degrees=True)
    t = np.linspace(0, 20, 401)
    return ph.simulate(body, TOP, omega=[0.3, 0.2, 1.5], attitude=start, t_span=(0, 20), t_eval=t, rtol=1e-11)


def test_a_right_top_is_right(top: ph.Solution) -> None:
    log = {"t": top.t, "quaternion": digits(top.quaternion, "9f"), "omega": digits(top.omega, "9f")}
    verdict = ph.check(log, body=top.body, torque=TOP)
    assert verdict.error.is_rounding, str(verdict)
    assert verdict.drift["energy"].kind == "none"


@pytest.mark.parametrize(
    ("given", "words"), [(-1.0, "wrong sign"), pytest.param(0.8, "1.25 times as strong", marks=pytest.mark.evidence)]
)
def test_a_torque_of_wrong_strength_is_found(top: ph.Solution, given: float, words: str) -> None:
    acting = ph.HeavyTop(weight=given * 1.5, point=(0.1, 0.0, 1.0))
    log = {"t": top.t, "quaternion": digits(top.quaternion, "9f"), "omega": digits(top.omega, "9f")}
    verdict = ph.check(log, body=top.body, torque=acting)
    assert kinds(verdict) == ["torque"], str(verdict)
    assert words in said(verdict)


@pytest.mark.evidence
def test_another_body_under_a_torque_is_found(top: ph.Solution) -> None:
    verdict = ph.check(top, body=ph.Body([2.0, 2.8, 4.0]), torque=TOP)
    assert kinds(verdict) == ["moments"], str(verdict)
    assert "2, 3, 4" in said(verdict)


def test_a_top_whose_torque_is_not_given_is_found(top: ph.Solution) -> None:
    assert "hidden torque" in kinds(ph.check(top, body=top.body))


@pytest.mark.evidence
def test_a_torque_that_acts_too_early_is_found() -> None:
    body, t = ph.Body([2.0, 3.0, 4.0]), np.linspace(0, 20, 401)
    early = ph.SinusoidalTorque((0.3, 0.2, -0.1), 2.0, phase=0.5)
    moved = ph.simulate(body, early, omega=[0.3, 0.2, 1.5], t_span=(0, 20), t_eval=t, rtol=1e-11)
    verdict = ph.check(moved, body=body, torque=ph.SinusoidalTorque((0.3, 0.2, -0.1), 2.0))
    assert kinds(verdict) == ["offset"], str(verdict)
    assert "0.25 s too early" in said(verdict)


# --- two faults at once --------------------------------------------------------------------------------------------


def turned_axes(log: dict[str, Any], speed: float) -> dict[str, Any]:
    about = Rotation.from_rotvec((log["t"] - log["t"][0])[:, None] * [0.0, 0.0, speed])
    q = (about * Rotation.from_quat(log["quaternion"], scalar_first=True)).as_quat(scalar_first=True)
    return log | {"quaternion": q}


CLOCK = {"clock", "rates"}
"""A wrong clock and rates that are scaled look the same."""


def with_two_faults(made: Made) -> dict[str, tuple[dict[str, Any], set[str]]]:
    """Returns logs with two faults, and the causes that may be named."""
    size, half = float(np.linalg.norm(made.w[0])), 0.5 * (made.t[1] - made.t[0])

    def moved(moments: float = 1.0, clock: float = 1.0, later: float = 0.0, start: float = 1.0) -> dict[str, Any]:
        motion = ph.FreeMotion(ph.Body(made.body.moments * [1.0, moments, 1.0]), made.w[0], made.q[0])
        t = (made.t - made.t[0]) * clock
        rates = motion.at(t + later).omega.copy()
        rates[0] *= start
        return made.log(quaternion=motion.at(t).quaternion, omega=rates)

    def lost(log: dict[str, Any]) -> dict[str, Any]:
        rows = {k: np.delete(v, np.s_[100:103], 0) for k, v in log.items()}
        return rows | {"t": log["t"][: rows["t"].size]}

    turning = turned_axes(made.log(), 1e-3 * size)
    return {
        "clock and start": (moved(clock=1.01, start=1.02), {*CLOCK, "start"}),
        "clock and lag": (moved(clock=1.01, later=half), {*CLOCK, "lag"}),
        "clock and axes": (turned_axes(moved(clock=1.01), 1e-3 * size), {*CLOCK, "axes"}),
        "moments and clock": (moved(moments=1.04, clock=1.01), {*CLOCK, "moments"}),
        "moments and lag": (moved(moments=1.04, later=half), {"moments", "lag"}),
        "moments and start": (moved(moments=1.04, start=1.02), {"moments", "start"}),
        "lag and axes": (turned_axes(moved(later=half), 1e-3 * size), {"lag", "axes"}),
        "start and lost rows": (lost(moved(start=1.02)), {"start", "jump"}),
        "axes and scalar last": (turning | {"quaternion": np.roll(turning["quaternion"], -1, 1)}, {"axes"}),
    }


NO_CAUSE = {"kinematics"}
"""It says that something is wrong, and not what."""


@pytest.mark.parametrize("seed", [13, *(pytest.param(k, marks=pytest.mark.evidence) for k in (10, 11, 12, 14, 15, 16))])
def test_two_faults_at_once_lead_to_no_wrong_accusation(seed: int) -> None:
    made = free_motion(seed, 200)
    for name, (log, injected) in with_two_faults(made).items():
        verdict = ph.check(log, body=made.body)
        assert set(kinds(verdict)) <= injected | NO_CAUSE, f"{name}: {verdict}"
        assert not verdict.error.is_rounding, name


def test_slowly_turning_axes_are_no_torque() -> None:
    """They change the momentum in proportion to time, as a torque would; but the rates are those of a free body."""
    made = free_motion(11, 200)
    verdict = ph.check(turned_axes(made.log(), 1e-3 * float(np.linalg.norm(made.w[0]))), body=made.body)
    assert [(f.kind, f.certainty) for f in verdict.faults] == [("axes", "possible")]
    assert "INACCURATE: the attitude is 1.63 degrees off" in said(verdict)
    assert "No fault was found" not in said(verdict)
