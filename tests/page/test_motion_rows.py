"""Rows for the page: few, and true to the motion between them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polhode as ph
from polhode.files.nodes import slerp
from polhode.page.content import FreeRun, SolutionRun
from polhode.page.motion_rows import ARC_ERROR, MOST_ROWS, MOST_TURN, MotionRows, chosen
from polhode.support.arrays import angles

BODY = ph.Body([1.0, 2.0, 3.0])
FLIP = ph.FreeMotion(BODY, [0.01, 1.0, 0.01])


def worst(run: FreeRun | SolutionRun, exact: ph.FreeMotion, count: int = 7001) -> float:
    """The greatest angle between what the page shows and the exact motion, at times that are no rows."""
    rows = run.rows
    t = np.linspace(rows.t[0], rows.t[-1], count)
    return float(angles(slerp(rows.t, rows.quaternion, t), exact.at(t).quaternion).max())


@given(
    st.tuples(*[st.floats(0.1, 1.0)] * 3), st.tuples(*[st.floats(-1.0, 1.0)] * 3), st.floats(0.5, 100.0)
)  # fmt: skip
@settings(max_examples=25)
def test_arcs_keep_to_the_stated_angle(masses: tuple[float, ...], omega: tuple[float, ...], turns: float) -> None:
    x, y, z = masses
    speed = math.sqrt(sum(w * w for w in omega))
    if speed < 1e-3:
        return
    motion = ph.FreeMotion(ph.Body([y + z, z + x, x + y]), omega)
    run = FreeRun(motion, (0.0, turns * 2 * math.pi / speed))
    assert run.rows.t.size <= MOST_ROWS
    assert (np.diff(run.rows.t) > 0).all()
    # measured at four places an interval, by which the true maximum can be missed by a few per cent
    assert worst(run, motion, 4 * run.rows.t.size) <= 1.1 * run.chosen.angle + 1e-9
    assert run.chosen.angle <= MOST_TURN**2 / 8 * 4


def test_rows_of_short_motions_are_invisible_from_the_truth() -> None:
    run = FreeRun(FLIP)
    assert not run.chosen.is_part
    assert run.shown_span == run.span
    assert worst(run, FLIP) <= 1.2 * ARC_ERROR  # rows are chosen among four times as many


def test_few_rows_of_a_flip_are_filled_by_the_true_motion() -> None:
    s = ph.simulate(BODY, omega=[0.01, 1.0, 0.01], t_span=(0, 100), rtol=1e-9, t_eval=np.linspace(0, 100, 45))
    run = SolutionRun(s)
    straight = float(angles(slerp(s.t, _continuous(s.quaternion), run.rows.t), run.rows.quaternion).max())
    assert straight > 0.1  # arcs between the 45 rows themselves would be visibly wrong
    assert worst(run, FLIP) <= 1.2 * ARC_ERROR
    assert run.rows.t.size > 500


def _continuous(q: np.ndarray) -> np.ndarray:
    q = q.copy()
    for k in range(1, len(q)):
        if q[k] @ q[k - 1] < 0:
            q[k] *= -1
    return q


@pytest.mark.parametrize("t_eval", [[50.0], [0.0, 100.0]], ids=["one row", "two rows"])
def test_one_row_is_enough_where_states_can_be_had(t_eval: list[float]) -> None:
    s = ph.simulate(BODY, omega=[0.01, 1.0, 0.01], t_span=(0, 100), method="rk4", step=0.05, t_eval=t_eval)
    run = SolutionRun(s)
    assert run.shown_span == (0.0, 100.0)
    assert worst(run, FLIP) < 2e-3  # 0.05 degrees, and RK4's own error of 1e-4 at the end


def test_many_turns_are_shown_in_part() -> None:
    spinning = ph.FreeMotion(BODY, [0.3, 0.2, 50.0])
    run = FreeRun(spinning, (0.0, 1000.0))
    first, last = run.shown_span
    assert run.chosen.is_part
    assert first == 0.0
    assert 10.0 < last < 1000.0
    assert run.rows.t.size <= MOST_ROWS
    assert worst(run, spinning, 20_001) <= 1.1 * run.chosen.angle < 0.2
    assert any("shown is the part from 0 to" in line for line in run.data(np.eye(4)[0], None, None, None)["caption"])


def test_dense_rows_are_chosen_from() -> None:
    t = np.linspace(0.0, 100.0, 100_001)
    state = FLIP.at(t)
    got = chosen(BODY, MotionRows.of(BODY, t, state.quaternion, state.momentum), None)
    assert 500 < got.rows.t.size <= MOST_ROWS
    assert (got.rows.t[0], got.rows.t[-1]) == (0.0, 100.0)
    assert np.isin(got.rows.t, t).all()
    between = np.linspace(0, 100, 9999)
    error = angles(slerp(got.rows.t, got.rows.quaternion, between), FLIP.at(between).quaternion).max()
    assert error <= 1.1 * got.angle
    assert got.angle < math.radians(0.2)


def test_signs_do_not_jump_and_backward_runs_rise() -> None:
    s = ph.simulate(BODY, omega=[0.01, 1.0, 0.01], t_span=(100, 0), method="rk4", step=-0.05)
    run = SolutionRun(s)
    q = run.rows.quaternion
    assert (np.diff(run.rows.t) > 0).all()
    assert ((q[1:] * q[:-1]).sum(axis=1) > 0).all()
    assert np.allclose((q * q).sum(axis=1), 1.0, atol=1e-14)


def test_a_body_at_rest_has_rows() -> None:
    run = FreeRun(ph.FreeMotion(BODY, [0.0, 0.0, 0.0]))
    assert run.rows.t.size >= 2
    assert run.chosen.angle == 0.0


def test_angles_have_all_digits() -> None:
    a = np.array([[1.0, 0.0, 0.0, 0.0]] * 3)
    b = np.array([[1.0, 1e-12, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [-1.0, 0.0, 0.0, 0.0]])
    assert angles(a, b) == pytest.approx([2e-12, math.pi, 0.0], rel=1e-14)
