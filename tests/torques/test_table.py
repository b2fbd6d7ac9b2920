"""Torques and vectors from tables: what they are, what steps do at their knots, and what is refused."""

import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline, PPoly, make_interp_spline

import polhode as ph
from polhode.files.records import is_same_torque, read_torque, torque_record
from polhode.kernels.algebra.vector_table import handle_of, is_handle, looked_up, packed, tables_in
from polhode.run import grid
from polhode.scenario import ScenarioError, load_scenario
from polhode.torques import table as tables
from polhode.torques.table import with_common_breakpoints

BODY = ph.Body([2.0, 3.0, 4.0])
OMEGA = (0.5, 0.2, 0.3)
RNG = np.random.default_rng(18)
T = np.sort(np.concatenate([[0.0, 6.0], RNG.uniform(0.0, 6.0, 10)]))
V = 0.4 * RNG.normal(size=(12, 3))
LINEAR = ph.Table(T, V, kind="linear", frame="space")
STEPS = ph.Table(T, V, kind="steps", frame="space")
CUBIC = ph.Table(T, V, frame="space")
SUM = ph.GravityGradient(0.2) + 0.5 * LINEAR.during(1.0, 6.0)


@ph.torque(parameters=[0.5, LINEAR, 0.3, -0.2], depends=["attitude", "time"])
def dipole(t: float, q: Any, w: Any, p: Any) -> Any:
    b = ph.to_body(q, ph.table_at(p[1], t))
    return (p[2] * b[2] - p[3] * b[1], p[3] * b[0] - p[0] * b[2], p[0] * b[1] - p[2] * b[0])


# --- the vector ------------------------------------------------------------------------------------------------------


def clustered() -> Any:
    """Knots of which most lie in a thousandth of the span: buckets of equal length would not find them."""
    return np.unique(np.concatenate([RNG.uniform(0, 100, 9), 50 + 0.05 * RNG.uniform(size=400), [0.0, 100.0]]))


@pytest.mark.parametrize("t", [np.linspace(-1.0, 7.0, 50), clustered(), np.array([2.0, 3.0])], ids=len)
def test_the_values_are_those_of_scipy(t: Any) -> None:
    values = RNG.normal(size=(t.size, 3))
    asked = np.concatenate([RNG.uniform(t[0], t[-1], 300), t])
    held = values[np.minimum(np.searchsorted(t, asked, side="right") - 1, t.size - 2)]
    lines = np.column_stack([np.interp(asked, t, column) for column in values.T])
    truth = {"cubic": CubicSpline(t, values)(asked), "linear": lines, "steps": held}
    for kind, expected in truth.items():
        table = ph.Table(t, values, kind=kind)  # type: ignore[arg-type]
        tolerance = 1e-12 * (1 + np.abs(expected).max())  # the spline is computed in another order
        np.testing.assert_allclose(table(asked), expected, rtol=0, atol=tolerance)
        one_by_one = [looked_up(table.numbers, x) for x in asked.tolist()]
        np.testing.assert_allclose(one_by_one, expected, rtol=0, atol=tolerance)


def test_splines_of_scipy() -> None:
    asked = np.linspace(0.0, 6.0, 101)
    cubic, quintic = CubicSpline(T, V), make_interp_spline(T, V, 5)
    for spline in (cubic, quintic, PPoly(cubic.c, cubic.x)):
        table = ph.Table(spline, frame="space")
        np.testing.assert_allclose(table(asked), spline(asked), rtol=0, atol=1e-11)
        assert table.breakpoints == ()
    kinked = ph.Table(PPoly(LINEAR.coefficients.transpose(1, 0, 2), T))
    assert kinked.breakpoints == LINEAR.breakpoints == tuple(T[1:-1])


def test_only_knots_where_something_changes_are_breakpoints() -> None:
    t, one, other = np.arange(6.0), (1.0, 0.0, 0.0), (0.0, 2.0, 0.0)
    assert ph.Table(t, [one, one, other, other, other, one], kind="steps").breakpoints == (2.0,)
    assert ph.Table(t, np.outer([0, 1, 2, 3, 3, 3], one), kind="linear").breakpoints == (3.0,)
    assert ph.Table(t[:3], [one, other], kind="steps").breakpoints == (1.0,)  # the last row may be left out


# --- the motion ------------------------------------------------------------------------------------------------------


def truth(table: ph.Table, t_span: tuple[float, float]) -> Any:
    """The state at the end by SciPy, from knot to knot, with SciPy's spline or NumPy's lines."""
    moments = BODY.moments
    y, stops = np.array([1.0, 0, 0, 0, *OMEGA]), [t_span[0], *T[(t_span[0] < T) & (t_span[1] > T)], t_span[1]]
    spline = CubicSpline(T, V)
    for a, b in pairwise(stops):

        def rates(t: float, y: Any, a: float = a) -> Any:
            q, w = y[:4], y[4:]
            k = int(np.searchsorted(T, a, side="right")) - 1
            line = V[k] + (V[k + 1] - V[k]) * ((t - T[k]) / (T[k + 1] - T[k])) if table.kind == "linear" else V[k]
            n = spline(t) if table.kind == "cubic" else line
            if table.frame == "space":
                n = np.array(ph.to_body(tuple(q), tuple(n)))
            s, v = q[0], q[1:]
            turned = np.concatenate([[-v @ w], s * w + np.cross(v, w)])
            return np.concatenate([0.5 * turned, (n - np.cross(w, moments * w)) / moments])

        y = solve_ivp(rates, (a, b), y, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    return y


TRUTH = {id(table): truth(table, (0.0, 6.0)) for table in (LINEAR, STEPS, CUBIC)}


def error(table: ph.Table, **how: Any) -> float:
    s = ph.simulate(BODY, table, omega=OMEGA, t_span=(0, 6), t_eval=[6.0], **how)
    return float(np.abs(np.concatenate([s.quaternion[-1], s.omega[-1]]) - TRUTH[id(table)]).max())


@pytest.mark.parametrize("table", [LINEAR, STEPS], ids=["linear", "steps"])
@pytest.mark.parametrize(("method", "step", "order"), [("RK4", 0.1, 4), ("Strang", 0.1, 2)])
def test_methods_keep_their_order_across_knots(table: ph.Table, method: str, step: float, order: int) -> None:
    coarse, fine = error(table, method=method, step=step), error(table, method=method, step=step / 8)
    # The last step of a piece is shorter, by another part in each run: half an order is what that may hide.
    assert math.log(coarse / fine, 8) > order - 0.5


@pytest.mark.parametrize(
    "table", [pytest.param(LINEAR, id="linear", marks=pytest.mark.evidence), pytest.param(STEPS, id="steps")]
)
def test_a_high_order_leaves_the_error_of_scipy(table: ph.Table) -> None:
    assert error(table, method="G8", step=0.3) < 1e-11  # with a kink inside of a step it would be 1e-3


@pytest.mark.evidence
@pytest.mark.parametrize("table", [LINEAR, STEPS, CUBIC], ids=["linear", "steps", "cubic"])
def test_tolerances_hold(table: ph.Table) -> None:
    for rtol in (1e-4, 1e-10):
        s = ph.simulate(BODY, table, omega=OMEGA, t_span=(0, 6), t_eval=[3.0, 6.0], rtol=rtol, method="DOP853")
        assert s.error_estimate is not None
        assert s.error_estimate <= rtol
        end = np.concatenate([s.quaternion[-1], s.omega[-1]])
        scale = float(np.linalg.norm(s.omega, axis=1).max())
        assert np.abs(end - TRUTH[id(table)]).max() / max(1.0, scale) <= s.error_estimate + 1e-12  # SciPy's own error


@pytest.mark.evidence
def test_estimates_are_honest_where_steps_are_as_long_as_pieces() -> None:
    """Equal pieces of two steps each: a companion with steps that are longer by a quarter would hardly differ."""
    table = ph.Table(np.linspace(0, 6, 61), 0.4 * np.sin(np.arange(183.0)).reshape(61, 3), kind="linear")
    how: dict[str, Any] = {"omega": OMEGA, "t_span": (0, 6), "t_eval": [6.0]}
    best = ph.simulate(BODY, table, method="G8", step=0.05, **how)
    s = ph.simulate(BODY, table, method="Strang", rtol=1e-2, **how)
    assert s.stats.steps == 120
    assert s.error_estimate is not None
    angle = 2.0 * np.linalg.norm(s.quaternion - best.quaternion)
    rate = np.linalg.norm(s.omega - best.omega) / max(np.linalg.norm(s.omega), np.linalg.norm(OMEGA))
    assert 0.05 * s.error_estimate < max(angle, rate) < s.error_estimate


def pieces_and_segments(monkeypatch: pytest.MonkeyPatch, run: Any) -> tuple[Any, Any]:
    """Runs with the compiled loop over pieces, and with a call for each segment."""
    made = run()
    monkeypatch.setattr(grid, "MANY_BREAKPOINTS", 1000)
    return made, run()


@pytest.mark.parametrize("method", ["RK4", pytest.param("DOP853", marks=pytest.mark.evidence)])
@pytest.mark.parametrize("span", [(0.0, 6.0), (5.5, 0.3)])
def test_the_loop_over_pieces_changes_no_bit(monkeypatch: pytest.MonkeyPatch, method: str, span: Any) -> None:
    inside = [span[0], float(T[5]), span[1]]
    for output in ({}, {"every": 3}, {"t_eval": sorted(inside, reverse=span[0] > span[1])}):
        how: dict[str, Any] = {
            "omega": OMEGA,
            "t_span": span,
            "method": method,
            "step": math.copysign(0.07, span[1] - span[0]),
        }
        a, b = pieces_and_segments(monkeypatch, lambda how={**how, **output}: ph.simulate(BODY, LINEAR, **how))
        monkeypatch.undo()
        for name in ("t", "quaternion", "momentum"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
        assert (a.stats.steps, a.stats.nfev, a.t_last) == (b.stats.steps, b.stats.nfev, b.t_last)


def test_times_between_rows_and_runs_that_go_on() -> None:
    whole = ph.simulate(BODY, LINEAR, omega=OMEGA, t_span=(0, 6), method="RK4", step=0.01)
    half = ph.simulate(BODY, LINEAR, omega=OMEGA, t_span=(0, 3), method="RK4", step=0.01)
    longer = ph.resume(half, 6.0)
    np.testing.assert_allclose(longer.momentum[-1], whole.momentum[-1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(whole.at([2.0051]).momentum, longer.at([2.0051]).momentum, rtol=0, atol=1e-13)


def test_a_failure_in_a_piece_keeps_what_was_computed() -> None:
    @ph.torque(parameters=[LINEAR])
    def fails(t: float, q: Any, w: Any, p: Any) -> Any:
        n = ph.to_body(q, ph.table_at(p[0], t))
        return (math.nan if t > 4.0 else n[0], n[1], n[2])

    with pytest.raises(ph.SimulationFailed, match=r"fails returned \(nan.* at t = [34]") as failed:
        ph.simulate(BODY, fails, omega=OMEGA, t_span=(0, 6), method="RK4", step=0.1)
    s = failed.value.solution
    good = ph.simulate(BODY, LINEAR, omega=OMEGA, t_span=(0, 6), method="RK4", step=0.1)
    np.testing.assert_array_equal(s.momentum, good.momentum[: s.t.size])
    assert 3.8 < s.t[-1] < 4.0


# --- many bodies -----------------------------------------------------------------------------------------------------


def test_bodies_share_a_table_in_lanes() -> None:
    rates = np.array(OMEGA) + 0.01 * np.arange(20)[:, None]
    how: dict[str, Any] = {"t_span": (0, 6), "t_eval": [1.0, float(T[4]), 6.0], "method": "RK4", "step": 0.07}
    many = ph.ensemble(BODY, LINEAR, omega=rates, **how)
    assert many.lanes == 8
    assert many.start.parameters.strides[0] == 0  # one row for all, and one number in it
    assert many.start.parameters.shape == (20, 1)
    for k in (0, 7, 19):
        np.testing.assert_array_equal(
            many.momentum[k], ph.simulate(BODY, LINEAR, omega=rates[k], **how).momentum
        )  # fmt: skip
    again = pickle.loads(pickle.dumps(many))
    assert again.start.parameters[0, 0] == again.start.torques[0].handle


@pytest.mark.evidence
def test_bodies_with_tables_of_their_own() -> None:
    tables = [ph.Table(T, k * V, kind="linear", frame="space") for k in (1.0, 0.5, 2.0, 0.7) * 3]
    how: dict[str, Any] = {"omega": OMEGA, "t_span": (0, 6), "method": "RK4", "step": 0.07, "t_eval": [6.0]}
    many = ph.ensemble(BODY, tables, **how)
    for k in (0, 1, 6, 11):
        np.testing.assert_array_equal(many.momentum[k], ph.simulate(BODY, tables[k], **how).momentum)


# --- vectors for functions -------------------------------------------------------------------------------------------


def test_a_function_uses_a_table_among_its_parameters() -> None:
    how: dict[str, Any] = {"omega": OMEGA, "t_span": (0, 6), "method": "RK4", "step": 0.07}
    s = ph.simulate(BODY, dipole, **how)
    assert dipole.breakpoints == LINEAR.breakpoints
    assert not dipole.may_bend
    field = np.array([ph.to_body(tuple(q), tuple(b)) for q, b in zip(s.quaternion, LINEAR(s.t), strict=True)])
    np.testing.assert_allclose(s.torque_of(), np.cross([0.5, 0.3, -0.2], field), rtol=0, atol=1e-15)
    other = dipole.with_parameters([0.5, ph.Table(T, 2 * V, kind="linear"), 0.3, -0.2])
    np.testing.assert_allclose(ph.simulate(BODY, other, **how).torque_of()[0], 2 * s.torque_of()[0], rtol=0, atol=1e-15)
    rows = np.array([[0.5, 0.0, 0.3, -0.2], [1.0, 0.0, 0.6, -0.4]])  # where the table is, any number may stand
    many = ph.ensemble(BODY, dipole, parameters=rows, t_eval=[6.0], **how)
    np.testing.assert_array_equal(many.momentum[0], s.at([6.0]).momentum)
    copy = pickle.loads(pickle.dumps(dipole))
    assert copy.values == (*dipole.values[:1], copy.tables[0][1].handle, *dipole.values[2:])
    assert "a table" in repr(dipole)


def test_threads_that_ask_first_get_one_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both make the numbers of the table. One of them is given up, and no one may have its address."""
    both, made = Barrier(2, timeout=600.0), packed

    def slow(*arguments: Any) -> Any:
        both.wait()
        return made(*arguments)

    monkeypatch.setattr(tables, "packed", slow)
    table = ph.Table(T, V)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: table.handle, range(2))
    assert first == second == handle_of(table.numbers)


def test_a_number_is_not_taken_for_a_table() -> None:
    @ph.torque(parameters=[LINEAR, 0.5])
    def wrong(t: float, q: Any, w: Any, p: Any) -> Any:
        return ph.table_at(p[1], t)

    with pytest.raises(ValueError, match=r"table_at was given 0\.5, which is no table"):
        ph.simulate(BODY, wrong, omega=OMEGA, t_span=(0, 1), method="RK4", step=0.1)
    with pytest.raises(
        TypeError, match=r"parameters\[1\] must be a number, a Table or a field .*, not the torque HeavyTop"
    ):
        ph.torque(lambda t, q, w, p: (0.0, 0.0, 0.0), parameters=[1.0, ph.HeavyTop(1.0)])
    assert not any(map(is_handle, (0.0, -0.0, 1.0, -1.0, 1e-300, math.nan, math.inf)))
    lost = handle_of(np.arange(9.0))  # of an array that is gone at once
    with pytest.raises(ValueError, match="no longer there"):
        ph.table_at(lost, 0.0)


# --- sums, files, scenarios ------------------------------------------------------------------------------------------


def test_a_table_need_only_cover_the_time_in_which_it_acts() -> None:
    how: dict[str, Any] = {"omega": OMEGA, "method": "RK4", "step": 0.07}
    s = ph.simulate(BODY, SUM, t_span=(0, 7), **how)
    assert s.t[-1] == 7.0
    assert set(SUM.breakpoints) == {1.0, 6.0, *(t for t in LINEAR.breakpoints if t > 1.0)}
    with pytest.raises(ValueError, match=r"part Table: Table is known from t = 0\.0 to 6\.0 s, but it is needed from "
                       r"0\.0 to 7\.0 s: give one that covers the run, or .* \.during\(0\.0, 6\.0\)"):  # fmt: skip
        ph.simulate(BODY, LINEAR + ph.HeavyTop(1.0), t_span=(0, 7), **how)
    with pytest.raises(ValueError, match=r"p\[1\] of dipole: Table is known"):
        ph.simulate(BODY, dipole, t_span=(-1, 2), **how)
    with pytest.raises(ValueError, match="needed from 3"):
        ph.resume(ph.simulate(BODY, LINEAR, t_span=(0, 3), **how), 8.0)
    with pytest.raises(ValueError, match="is known from"):
        ph.ensemble(BODY, [LINEAR, ph.Table(T[:-1], V[:-1], kind="linear", frame="space")], t_span=(0, 6), **how)


def test_tables_of_an_ensemble_may_bend_at_different_times() -> None:
    flat = ph.Table(T, np.ones((12, 3)), kind="linear", frame="space")
    how: dict[str, Any] = {"omega": OMEGA, "t_span": (0, 6), "method": "RK4", "step": 0.07, "t_eval": [6.0]}
    many = ph.ensemble(BODY, [flat, LINEAR], **how)
    np.testing.assert_array_equal(many.momentum[1], ph.simulate(BODY, LINEAR, **how).momentum)
    (alike,) = with_common_breakpoints([flat, LINEAR])[:1]
    np.testing.assert_array_equal(many.momentum[0], ph.simulate(BODY, alike, **how).momentum)


def test_a_file_keeps_a_table(tmp_path: Path) -> None:
    how: dict[str, Any] = {"omega": OMEGA, "t_span": (0, 3), "method": "RK4", "step": 0.07}
    for k, torque in enumerate((LINEAR, SUM)):
        s = ph.simulate(BODY, torque, **how)
        s.save(tmp_path / f"{k}.nc")
        found = ph.load(tmp_path / f"{k}.nc")
        assert found.torque == torque
        np.testing.assert_array_equal(ph.resume(found, 6.0).momentum, ph.resume(s, 6.0).momentum)
    kept = read_torque("dipole + Table", torque_record(dipole + CUBIC, BODY))  # without the function
    assert is_same_torque(kept, dipole + ph.Table(T, V, frame="space"), BODY)  # by content, not by place
    assert not is_same_torque(kept, dipole + ph.Table(T, 2 * V, frame="space"), BODY)
    assert not any(map(is_handle, kept.parameters(BODY)))


def test_pickles_and_values() -> None:
    again = pickle.loads(pickle.dumps(LINEAR))
    assert again == LINEAR
    assert hash(again) == hash(LINEAR)
    assert again != STEPS
    assert len(repr(LINEAR)) < 100
    assert not LINEAR.t.flags.writeable


SCENARIO = """
[body]
moments = [2, 3, 4]
[initial]
omega = [1, 0, 0]
[run]
t_span = [0, 1]
rtol = 1e-6
[torque]
model = "Table"
"""


def test_scenarios(tmp_path: Path) -> None:
    path = tmp_path / "table.toml"
    path.write_text(SCENARIO + 't = [0, 1, 2]\nvalues = [[0, 0, 1], [0, 1, 0], [1, 0, 0]]\nkind = "linear"\n', "utf-8")
    expected = ph.Table([0, 1, 2], [[0, 0, 1], [0, 1, 0], [1, 0, 0]], kind="linear")
    assert load_scenario(path).torque == expected
    (tmp_path / "torque.csv").write_text("t, x, y, z\n0, 0, 0, 1\n1, 0, 1, 0\n# more\n2, 1, 0, 0\n", "utf-8")
    path.write_text(SCENARIO + 'file = "torque.csv"\nkind = "linear"\n', "utf-8")
    assert load_scenario(path).torque == expected == ph.Table.from_file(tmp_path / "torque.csv", kind="linear")
    for lines, problem in {
        'file = "lost.csv"': r"torque\.file: .*lost\.csv cannot be read",
        'file = "../../etc/passwd"': "lies outside the folder of the scenario",
        'file = "torque.csv"\nt = [0, 1]': "give either file or t, not both",
        "t = [0, 0.5]\nvalues = [[0, 0, 1], [0, 1, 0]]": r"known from t = 0\.0 to 0\.5 s, but it is needed",
    }.items():
        path.write_text(f"{SCENARIO}{lines}\n", "utf-8")
        with pytest.raises(ScenarioError, match=problem):
            load_scenario(path)
    (tmp_path / "torque.csv").write_text("t, x, y, z\n0, 0, 0, 1O\n1, 0, 1, 0\n2, 1, 0, 0\n", "utf-8")
    with pytest.raises(ValueError, match=r"line 2: '0, 0, 0, 1O' is not a row of four numbers"):
        ph.Table.from_file(tmp_path / "torque.csv")


# --- from functions --------------------------------------------------------------------------------------------------


def pulse(t: Any) -> Any:
    return np.column_stack([np.sin(t), np.exp(-(((t - 5.0) / 0.1) ** 2)), 0.5 * np.cos(3.0 * t)])


def test_a_table_of_a_function_states_its_error() -> None:
    asked = np.random.default_rng(5).uniform(0.0, 20.0, 50_000)
    largest = float(np.linalg.norm(pulse(asked), axis=1).max())
    for tolerance in (1e-3, 1e-8):
        table = ph.Table.from_function(pulse, (0.0, 20.0), tolerance=tolerance, frame="space")
        found = float(np.linalg.norm(table(asked) - pulse(asked), axis=1).max())
        assert table.error is not None
        assert 0.3 * table.error < found <= table.error <= 1.2 * tolerance * largest
        assert f"error {table.error:.2g}" in repr(table)
        near = np.diff(table.t)[np.abs(table.t[:-1] - 5.0) < 0.2].max()
        assert near < 0.3 * np.diff(table.t).max()  # the nodes are where they are needed
        assert table.breakpoints == ()


def test_functions_of_one_time_and_functions_that_jump() -> None:
    table = ph.Table.from_function(lambda t: (math.sin(t), 0.0, 1.0), (0.0, 3.0))
    np.testing.assert_allclose(table(1.0), (math.sin(1.0), 0.0, 1.0), rtol=0, atol=1e-9)
    with pytest.raises(ValueError, match=r"near t = 1.*jumps or has a kink"):
        ph.Table.from_function(lambda t: (float(t > 1.0), 0.0, 0.0), (0.0, 3.0))
    with pytest.raises(ValueError, match=r"returned \(nan, 0.0, 0.0\) at t = "):
        ph.Table.from_function(lambda t: (math.nan if t > 1 else 1.0, 0.0, 0.0), (0.0, 3.0))
    with pytest.raises(ValueError, match="t_span must rise"):
        ph.Table.from_function(pulse, (1.0, 0.0))


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (([0, 2, 1], np.ones((3, 3))), r"must rise, but t\[1\] = 2\.0 is followed by 1\.0: sort"),
        (([0, 1, 1], np.ones((3, 3)), "body", "steps"), r"t\[1\] = 1\.0 is followed by 1\.0: leave one"),
        (([0, math.nan], np.ones((2, 3))), r"t must be finite, but t\[1\] is nan"),
        (([0, 1], [[0, 0, 0], [0, math.inf, 0]]), r"values must be finite, but values\[1, 1\] is inf"),
        (([0], np.ones((1, 3))), "needs two times at least"),
        (([0, 1], np.ones((3, 3))), r"shape \(2, 3\), a row for each time, not \(3, 3\)"),
        (([0, 1], np.ones((3, 2))), "transpose"),
        (([0, 1], [1.0, 2.0]), "give all three components"),
        (([0, 1], np.ones((2, 3)), "orbit"), "no frame 'orbit'"),
        (([0, 1], np.ones((2, 3)), "body", "spline"), "no kind of table 'spline'"),
        (([0, 1e-300], [[0, 0, 0], [1e300, 0, 0]], "body", "linear"), "slopes are no numbers"),
        ((PPoly(np.ones((4, 2)), [0, 1, 2]),), "three columns"),
    ],
)
def test_bad_tables(arguments: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        ph.Table(*arguments)


def test_no_value_beyond_the_ends() -> None:
    with pytest.raises(ValueError, match=r"goes from 0 to 6 s and has no value at t = 7"):
        LINEAR([1.0, 7.0])
    with pytest.raises(TypeError, match="times and values, or of a PPoly"):
        ph.Table("torque.csv")
    assert all(map(math.isnan, looked_up(LINEAR.numbers, 20.0)))


def test_knots_of_tables_with_common_breakpoints_are_those_without_them() -> None:
    """Whether the knots of a table were asked for before or not."""
    smooth = ph.Table([0.0, 1.0, 2.0, 3.0], np.ones((4, 3)))
    assert smooth.knots == (1.0, 2.0)
    (alike, _) = with_common_breakpoints([smooth, ph.Table([0.0, 1.0, 3.0], np.diag([1.0, 2.0, 3.0]), kind="linear")])
    assert (alike.breakpoints, alike.knots) == ((1.0,), (2.0,))


def test_tables_that_follow_each_other_in_memory_are_told_apart() -> None:
    """The handle of a table is an address, which may be that of a table before it."""
    rows, seen, handles = np.ones((4, 3)), set[tuple[int, ...]](), set[float]()
    for k in range(50):
        table = ph.Table([0.0, 1.0, 2.0, 3.0], k * rows)
        handles.add(table.handle)
        seen.add(tables_in((1.0, table.handle)))
        assert tables_in((table.handle,)) == tables_in((1.0, table.handle))
        del table
    assert len(seen) == 50
    assert len(handles) < 50  # else nothing was tried here
