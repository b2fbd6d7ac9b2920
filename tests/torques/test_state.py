"""Torques that carry numbers of their own, which obey differential equations."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import polhode as ph
from polhode.run.integration import SimulationFailed
from polhode.support.arrays import Floats
from polhode.torques import Torque

TENSOR = np.array([[2.0, 0.1, 0.2], [0.1, 3.0, -0.15], [0.2, -0.15, 4.0]])
TIMES = np.linspace(0.0, 6.0, 7)
NOTHING = (0.0, 0.0, 0.0)
START: dict[str, Any] = {"omega": [0.1, 0.2, 0.3], "t_span": (0.0, 6.0)}


@ph.torque(parameters=[0.3, 0.05], state=["hx", "hy", "hz"])
def wheels(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
    """Turns the body back by wheels, whose momentum z is in body axes: what the body gains they lose."""
    ux = -p[0] * q[1] - p[1] * w[0]
    uy = -p[0] * q[2] - p[1] * w[1]
    uz = -p[0] * q[3] - p[1] * w[2]
    hx = -ux - (w[1] * z[2] - w[2] * z[1])
    hy = -uy - (w[2] * z[0] - w[0] * z[2])
    hz = -uz - (w[0] * z[1] - w[1] * z[0])
    return (ux, uy, uz), (hx, hy, hz)


def right_side(tensor: Floats, torque: Any, p: list[float]) -> Any:
    """Returns the equations of motion on quaternion, rate and carried numbers, for SciPy."""
    inverse = np.linalg.inv(tensor)

    def f(t: float, y: Floats) -> Floats:
        q, w, z = y[:4], y[4:7], y[7:]
        n, dz = torque(t, tuple(q), tuple(w), p, tuple(z))
        a, b, c, d = q
        x, y_, z_ = w
        dq = 0.5 * np.array(
            [-b * x - c * y_ - d * z_, a * x + c * z_ - d * y_, a * y_ + d * x - b * z_, a * z_ + b * y_ - c * x]
        )
        return np.concatenate([dq, inverse @ (np.array(n) - np.cross(w, tensor @ w)), np.atleast_1d(dz)])

    return f


def reference(tensor: Floats, torque: Any, p: list[float], z: list[float], times: Floats, **how: Any) -> Floats:
    """Returns quaternions, rates and carried numbers at these times, by SciPy."""
    f, start = right_side(tensor, torque, p), [1.0, 0.0, 0.0, 0.0, *START["omega"], *z]
    settings: dict[str, Any] = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-15, **how}
    return np.asarray(solve_ivp(f, (times[0], times[-1]), start, t_eval=times, **settings).y.T)


def errors(s: Any, truth: Floats) -> tuple[float, float, float]:
    """Returns the largest errors of quaternion, rate and carried numbers."""
    q = s.quaternion * np.sign((s.quaternion * truth[:, :4]).sum(axis=1))[:, None]
    return (
        float(np.abs(q - truth[:, :4]).max()), float(np.abs(s.omega - truth[:, 4:7]).max()),
        float(np.abs(s.state - truth[:, 7:]).max()),
    )  # fmt: skip


@pytest.fixture(scope="module")
def truth() -> Floats:
    """The motion under `wheels`, by SciPy."""
    return reference(TENSOR, wheels, [0.3, 0.05], [0.1, 0.0, 0.0], TIMES)


@pytest.mark.parametrize(
    ("how", "allowed"),
    [
        ({"method": "RK4", "step": 0.05}, 2e-8),
        ({"method": "CF4", "step": 0.05}, 2e-8),
        ({"method": "DOP853(rtol=1e-12)", "step": 0.5}, 1e-11),
        ({"method": "G8", "step": 0.5}, 1e-12),
        pytest.param({"method": "Radau(rtol=1e-10)", "step": 0.5}, 1e-8, marks=pytest.mark.evidence),
    ],
    ids=["RK4", "CF4", "DOP853", "G8", "Radau"],
)
def test_methods_carry_numbers(how: dict[str, Any], allowed: float, truth: Floats) -> None:
    s = ph.simulate(ph.Body(TENSOR), wheels, state=[0.1, 0.0, 0.0], t_eval=TIMES, **START, **how)
    assert max(errors(s, truth)) < allowed
    assert s.state_names == ("hx", "hy", "hz")


@pytest.mark.parametrize("rtol", [1e-5, 1e-10])
def test_tolerance_holds_for_carried_numbers(rtol: float, truth: Floats) -> None:
    s = ph.simulate(ph.Body(TENSOR), wheels, state={"hx": 0.1, "hy": 0, "hz": 0}, t_eval=TIMES, rtol=rtol, **START)
    assert s.error_estimate is not None
    assert s.error_estimate <= rtol
    relative = np.abs(s.state - truth[:, 7:]).max(axis=0) / np.abs(truth[:, 7:]).max(axis=0)
    assert max(*errors(s, truth)[:2], *relative) < s.error_estimate


def test_total_momentum_of_body_and_wheels_stays_in_space() -> None:
    s = ph.simulate(ph.Body(TENSOR), wheels, state=[0.1, 0.0, 0.0], method="G8", step=0.5, **START)
    total = s.attitude.apply(s.momentum + s.state)
    assert np.abs(total - total[0]).max() < 4e-15


def test_orders_of_carried_numbers(truth: Floats) -> None:
    """Of order four, whatever the numbers are: halved steps leave a sixteenth."""
    off = [
        errors(
            ph.simulate(ph.Body(TENSOR), wheels, state=[0.1, 0, 0], method="RK4", step=h, t_eval=TIMES, **START), truth
        )[2]
        for h in (0.5, 0.25)
    ]
    assert 3.7 < math.log2(off[0] / off[1]) < 4.6


def test_rows_between_steps_and_continued_runs_are_the_run() -> None:
    body = ph.Body([2.0, 3.0, 4.0])
    how: dict[str, Any] = {"method": "RK4", "step": 0.05}
    whole = ph.simulate(body, wheels, state=[0.1, 0.0, 0.0], **START, **how)
    first = ph.simulate(body, wheels, state=[0.1, 0.0, 0.0], omega=START["omega"], t_span=(0.0, 3.0), **how)
    both = ph.resume(first, 6.0)
    np.testing.assert_array_equal(both.state, whole.state)
    np.testing.assert_array_equal(whole.at(whole.t[7]).state[0], whole.state[7])
    between = whole.at([1.234, 4.4321])
    alone = ph.simulate(body, wheels, state=[0.1, 0.0, 0.0], t_eval=between.t, **START, **how)
    np.testing.assert_array_equal(between.state, alone.state)


def test_files_keep_carried_numbers(tmp_path: Path) -> None:
    body, path = ph.Body(TENSOR), tmp_path / "run.nc"
    events = ph.Event(lambda t, q, w, z: z[1] - 0.02)
    s = ph.simulate(body, wheels, state=[0.1, 0.0, 0.0], method="RK4", step=0.05, events=events, **START)
    assert s.events[0].t.size >= 1
    np.testing.assert_allclose(s.events[0].state[:, 1], 0.02, atol=1e-14)
    s.save(path)
    back = ph.load(path)
    assert back.state_names == s.state_names
    for name in ("state", "last_state"):
        np.testing.assert_array_equal(getattr(back, name), getattr(s, name))
    np.testing.assert_array_equal(back.events[0].state, s.events[0].state)
    again = ph.load(path, torque=wheels)
    np.testing.assert_array_equal(again.at(1.234).state, s.at(1.234).state)
    table = s.to_xarray()
    np.testing.assert_array_equal(table["state"].sel(state_name="hy"), s.state[:, 1])


def test_sums_keep_the_numbers_of_their_parts() -> None:
    """With a second carrier, and one that is switched on for a while: its number is frozen outside."""

    @ph.torque(parameters=[0.02], state=["heat"])
    def ring(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
        """A viscous ring that heats up; it carries what it has taken from the body."""
        power = p[0] * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
        return (-p[0] * w[0], -p[0] * w[1], -p[0] * w[2]), power

    total = ph.GravityGradient(0.3) + wheels + ring.during(1.0, 2.0)
    assert total.state_names == ("hx", "hy", "hz", "heat")
    s = ph.simulate(ph.Body(TENSOR), total, state=[0.1, 0, 0, 0], method="RK4", step=0.05, t_eval=TIMES, **START)
    heat = s.state[:, 3]
    assert heat[0] == heat[1] == 0.0
    assert heat[2] > 0.0
    assert (heat[2:] == heat[2]).all()
    np.testing.assert_allclose(
        s.torque_of(), s.torque_of(0) + s.torque_of("wheels") + s.torque_of("ring"), atol=1e-16
    )  # fmt: skip
    gravity = ph.GravityGradient(0.3)
    p = gravity.parameters(ph.Body(TENSOR))

    def both(t: float, q: Any, w: Any, _: Any, z: Any) -> Any:
        n, dz = wheels(t, q, w, [0.3, 0.05], z[:3])
        m = gravity.torque_kernel(t, q, w, p)
        return np.add(n, m), (*dz, 0.0)

    there = reference(TENSOR, both, [], [0.1, 0.0, 0.0, 0.0], TIMES[:2])
    assert max(errors(s.at(TIMES[:2]), there)) < 1e-8


@pytest.mark.evidence
def test_bends_of_derivatives_are_located() -> None:
    """A friction that turns with the sign of the carried rate; the torque itself has no bend."""

    @ph.torque(state={"rate": 1.0})
    def dry(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
        slow = -0.3 if z[0] > 0.7 else -0.1
        return (0.02 * z[0], 0.0, 0.0), slow * (1.0 + w[1] * w[1])

    times = np.array([0.0, 1.0, 2.0])
    first: Any = solve_ivp(
        right_side(TENSOR, dry, []), (0.0, 2.0), [1, 0, 0, 0, *START["omega"], 1.0], method="DOP853", rtol=1e-12,
        atol=1e-14, events=lambda t, y: y[7] - 0.7,
    )  # fmt: skip
    bend, there = float(first.t_events[0][0]), first.y_events[0][0]
    there[7] = np.nextafter(0.7, 0.0)
    later = solve_ivp(right_side(TENSOR, dry, []), (bend, 2.0), there, method="DOP853", rtol=1e-12, atol=1e-14)
    s = ph.simulate(
        ph.Body(TENSOR), dry, state=1.0, t_span=(0.0, 2.0), omega=START["omega"], t_eval=times, rtol=1e-8
    )  # fmt: skip
    assert s.error_estimate is not None
    assert abs(s.state[-1, 0] - later.y[7, -1]) < s.error_estimate + 1e-11
    assert np.abs(s.omega[-1] - later.y[4:7, -1]).max() < s.error_estimate + 1e-11
    assert s.nfev < 2000


def test_a_number_that_is_only_round_off_does_not_stop_a_run() -> None:
    @ph.torque(state=["useful", "noise"])
    def noisy(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
        return (0.0, 0.0, -0.1 * z[0]), (w[2], 1e-17 * math.sin(1e9 * t))

    s = ph.simulate(ph.Body(TENSOR), noisy, state=[0.0, 0.0], rtol=1e-8, **START)
    assert s.success
    assert s.error_estimate is not None
    assert s.error_estimate < 1e-8
    assert s.nfev < 5000


def test_errors_are_relative_to_the_sizes_that_were_given() -> None:
    """A small number beside a large one in another unit, with sizes that say so."""

    @ph.torque(state={"small": 1e-5, "large": 1e3})
    def both(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
        return (0.0, 0.0, -0.1 * z[1]), (9e-4 * math.cos(9.0 * t), 1e6 * math.sin(t))

    s = ph.simulate(ph.Body(TENSOR), 1e-9 * both, state=[0.0, 0.0], rtol=1e-6, t_eval=TIMES, **START)
    assert s.error_estimate is not None
    assert np.abs(s.state[:, 0] - 1e-4 * np.sin(9.0 * TIMES)).max() / 1e-4 < s.error_estimate < 1e-6


def test_a_number_that_a_symmetry_keeps_at_zero_does_not_count() -> None:
    """The body spins about a principal axis: the first number stays zero, in the companion all but so."""

    @ph.torque(state=["angle"])
    def tilt(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
        return (0.0, 0.0, -0.1 * w[2]), q[1]

    body = ph.Body([2.0, 3.0, 4.0])
    spin: dict[str, Any] = {"omega": [0.0, 0.0, 0.3], "t_span": (0.0, 6.0)}
    alone = ph.simulate(body, tilt, state=[0.0], rtol=1e-9, **spin)
    assert alone.error_estimate is not None
    assert alone.error_estimate < 1e-9
    among = ph.simulate(body, wheels, state=[0.0, 0.0, 0.0], rtol=1e-11, **spin)
    assert among.error_estimate is not None
    assert among.error_estimate < 1e-11
    assert (among.state[:, :2] == 0.0).all()


@pytest.mark.evidence
def test_fast_numbers_are_stiff() -> None:
    """A motor that follows its command within a millisecond: the choice is an implicit method."""

    @ph.torque(parameters=[1e4], state={"motor": 1e-3})
    def lag(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
        return (z[0], 0.0, 0.0), p[0] * (-0.2 * w[0] - z[0])

    s = ph.simulate(ph.Body(TENSOR), lag, state=0.0, rtol=1e-6, t_eval=TIMES, **START)
    assert s.method.startswith("Radau")
    f = right_side(TENSOR, lag, [1e4])
    found = solve_ivp(f, (0.0, 6.0), [1, 0, 0, 0, *START["omega"], 0.0], method="Radau", rtol=1e-10, atol=1e-13)
    assert abs(s.omega[-1] - found.y[4:7, -1]).max() < 1e-6
    assert abs(s.state[-1] - found.y[7:, -1]).max() < 1e-6


def test_ensembles_carry_numbers() -> None:
    rows = np.array([[0.1, 0.0, 0.0], [0.0, 0.2, 0.0], [0.0, 0.0, -0.3]])
    many = ph.ensemble(
        ph.Body(TENSOR), wheels, state=np.repeat(rows, 4, axis=0), method="RK4", step=0.05, t_eval=TIMES, **START
    )
    assert many.state.shape == (12, 7, 3)
    for k in (0, 5, 11):
        one = ph.simulate(ph.Body(TENSOR), wheels, state=rows[k // 4], method="RK4", step=0.05, t_eval=TIMES, **START)
        np.testing.assert_allclose(many.state[k], one.state, rtol=0, atol=1e-15)
        np.testing.assert_array_equal(many[k].state, many.state[k])
    within = ph.ensemble(ph.Body(TENSOR), wheels, state=rows, rtol=1e-7, t_eval=TIMES, **START)
    assert within.error_estimate is not None
    assert (within.error_estimate <= 1e-7).all()
    assert np.abs(within.state - many.state[[0, 4, 8]]).max() < 1e-7


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: ph.torque(state=["a", "a"]), ValueError, "'a' is there 2 times"),
        (lambda: ph.torque(state="abc"), TypeError, r"write state=\['abc'\]"),
        (lambda: ph.torque(state=["a b"]), ValueError, "must be a word"),
        (lambda: ph.torque(state={"a": -1.0}), ValueError, "must be positive, not -1"),
        (lambda: ph.torque(lambda t, q, w, p, z: ((0.0, 0.0, 0.0), 0.0)), TypeError, "needs their names"),
        (lambda: ph.torque(state=["a"])(lambda t, q, w, p: (0.0, 0.0, 0.0)), TypeError, r"\(t, q, w, p, z\)"),
        (lambda: run(wheels), ValueError, r"carries hx, hy, hz: give their values"),
        (lambda: run(wheels, state=[1.0, 2.0]), ValueError, r"3 numbers \(hx, hy, hz\), not 2"),
        (lambda: run(wheels, state={"hx": 1, "hy": 2, "h": 3}), ValueError, "state has h, but wheels carries"),
        (lambda: run(wheels, state=[0, 0, math.nan]), ValueError, "nan"),
        (lambda: run(ph.Free(), state=[1.0]), ValueError, "carries no numbers"),
        (lambda: run(wheels, state=[0, 0, 0], method="Strang"), ValueError, "RK4 or DOP853 or G8 or Radau"),
        (lambda: run(wheels, state=[0, 0, 0], method="RK4(compensated=true)"), ValueError, "cannot carry"),
        (lambda: run(returning((NOTHING, (1.0, 2.0))), state=[0.0]), ValueError, r"1 derivative.*not \(1.0, 2.0\)"),
        (lambda: run(returning(NOTHING), state=[0.0]), ValueError, "must return the torque and 1 derivative"),
        (lambda: run(returning((NOTHING, math.nan)), state=[0.0]), ValueError, "nan as the derivative of a at t = 0"),
        (lambda: run(ph.Free(), events=lambda t, q, w, z: z[0]), ValueError, "carries no z"),
    ],
)  # fmt: skip
def test_bad_input(make: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        make()


def run(torque: Torque, **how: Any) -> Any:
    """Runs for a moment."""
    return ph.simulate(ph.Body(TENSOR), torque, **{"method": "RK4", "step": 0.05, **START, **how})


def returning(what: Any) -> Torque:
    """Returns a torque that returns this, whatever it is."""
    return ph.torque(state=["a"])(lambda t, q, w, p, z: what)


def test_derivatives_that_become_nan_are_named_and_nothing_is_lost() -> None:
    @ph.torque(state=["charge", "fuel"])
    def empty(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
        return (0.0, 0.0, 0.0), (0.0, -0.5 / math.sqrt(1.0 - t) if t < 1.0 else math.nan)

    with pytest.raises(SimulationFailed, match="nan as the derivative of fuel") as failed:
        run(empty, state=[0.0, 1.0])
    assert failed.value.solution.t_last == pytest.approx(0.95, abs=0.06)
    assert failed.value.solution.state[-1, 1] < 0.5
