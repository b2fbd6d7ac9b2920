"""Many bodies at once: the same as one by one, whatever the threads, and nobody goes down with another."""

import threading
import time
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.core.types import Quat, Vec3
from tests.contract._measure import interpreted

BODY = ph.Body([1.0, 2.0, 2.7])
TOP = ph.HeavyTop(1.0)
GRID: dict[str, Any] = {"t_span": (0.0, 2.0), "step": 0.05}
DRAW = np.random.default_rng(3)
RATES, QUATERNIONS = DRAW.normal(size=(7, 3)), DRAW.normal(size=(7, 4))
BODIES = [
    ph.Body([1.0, 2.0, 2.7]),
    ph.Body([[2.0, 0.3, -0.2], [0.3, 3.0, 0.4], [-0.2, 0.4, 4.0]]),
    ph.Body([1.0, 1.0, 1.0]),
    ph.Body([1.0, 2.0, 2.0]),
    ph.Body([1.0, 1.0, 5.0], allow_unphysical=True),
    ph.Body([3.0, 2.0, 1.5]),
    ph.Body([1e3, 1.2e3, 1.9e3]),
]


@pytest.mark.parametrize("method", ["MR2", "Strang", "NMB", "DOP853", "HLR", "ExactPolished"])
def test_the_same_as_one_by_one(method: str) -> None:
    torque = None if method == "ExactPolished" else TOP
    times = [0.0, 0.33, 1.0, 2.0]
    with interpreted():
        many = ph.ensemble(BODY, torque, omega=RATES, attitude=QUATERNIONS, method=method, t_eval=times, **GRID)
        for k in range(7):
            one = ph.simulate(
                BODY, torque, omega=RATES[k], attitude=QUATERNIONS[k], method=method, t_eval=times, **GRID
            )
            same = many[k]
            if method in ("MR2", "NMB", "DOP853", "HLR"):  # the exact flow is prepared for the fastest of them
                assert np.array_equal(one.quaternion, same.quaternion)
                assert np.array_equal(one.momentum, same.momentum)
            assert np.abs(one.quaternion - same.quaternion).max() < 1e-14
            assert np.abs(one.momentum - same.momentum).max() < 1e-14
            assert (one.nfev, one.run.steps, one.message) == (same.nfev, same.run.steps, same.message)
            assert np.array_equal(one.t, same.t)


@pytest.mark.parametrize("method", ["Strang", "RK4"])
def test_different_bodies_and_parameters(method: str) -> None:
    torques = [ph.HeavyTop(0.5 + k) for k in range(7)]
    with interpreted():
        many = ph.ensemble(BODIES, torques, omega=RATES, attitude=QUATERNIONS, method=method, every=8, **GRID)
        for k, (body, torque) in enumerate(zip(BODIES, torques, strict=True)):
            one = ph.simulate(body, torque, omega=RATES[k], attitude=QUATERNIONS[k], method=method, every=8, **GRID)
            assert np.array_equal(one.t, many.t)
            assert np.abs(one.quaternion - many.quaternion[k]).max() < 4e-14
            assert np.abs(one.momentum - many.momentum[k]).max() < 4e-14 * np.abs(one.momentum).max()
            assert np.abs(one.omega - many.omega[k]).max() < 1e-13
            assert np.abs(one.energy_error - many.each("energy_error")[k]).max() < 1e-13
            assert many[k].body == body


def test_threads_and_position_change_no_bit() -> None:
    order = np.array([4, 0, 6, 2, 5, 1, 3])
    made = [
        ph.ensemble(BODY, TOP, omega=RATES[p], attitude=QUATERNIONS[p], method="Strang", threads=threads, **GRID)
        for p in (np.arange(7), order)
        for threads in (1, 2, 5)
    ]
    first = made[0]
    for other in made[1:3]:
        assert np.array_equal(first.quaternion, other.quaternion)
    for other in made[3:]:
        assert np.array_equal(first.quaternion[order], other.quaternion)
        assert np.array_equal(first.momentum[order], other.momentum)


def test_moments_as_an_array() -> None:
    moments = DRAW.uniform(1.0, 1.9, size=(7, 3))
    with interpreted():
        many = ph.ensemble(moments, omega=[0.3, 0.2, 1.0], method="Exact", **GRID)
        listed = ph.ensemble([ph.Body(i) for i in moments], omega=[0.3, 0.2, 1.0], method="Exact", **GRID)
    assert np.array_equal(many.quaternion, listed.quaternion)
    assert np.array_equal(many[3].body.moments, moments[3])
    assert many.quaternion.shape == (7, 2, 4)  # the start and the end


def test_attitudes_of_every_kind() -> None:
    turns = Rotation.from_quat(QUATERNIONS, scalar_first=True)
    with interpreted():
        made = [
            ph.ensemble(BODY, omega=RATES, attitude=a, method="MR2", **GRID)
            for a in (QUATERNIONS, turns, turns.as_matrix())
        ]
        alone = ph.ensemble(BODY, omega=RATES, attitude=turns[0], method="MR2", **GRID)
    for other in made[1:]:
        assert np.abs(np.abs(np.einsum("kti,kti->kt", made[0].quaternion, other.quaternion)) - 1).max() < 1e-14
    assert np.abs(alone.quaternion[0] - made[1].quaternion[0]).max() < 1e-15


def test_jumps() -> None:
    torque = ph.PiecewiseTorque(((0.7, (2.0, 1.0, 0.0)), (1.1, (0.0, 4.0, 3.0))))
    with interpreted():
        many = ph.ensemble(BODY, torque, omega=RATES, method="MR2", every=3, **GRID)
        one = ph.simulate(BODY, torque, omega=RATES[2], method="MR2", every=3, **GRID)
    assert np.array_equal(one.t, many.t)
    assert np.array_equal(one.quaternion, many.quaternion[2])
    assert many[2].nfev == one.nfev


# --- failures


@ph.torque
def picky(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    if w[0] > 1.5:
        raise ValueError("too fast")
    return (1.0, 0.0, 0.0)


def test_a_body_that_raises_stops_alone() -> None:
    rates = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [-2.0, 0.0, 0.0]]
    many = ph.ensemble(BODY, picky, omega=rates, method="RK4", every=5, **GRID)
    assert many.status.tolist() == [0, 3, 0]
    assert many[2].success
    assert "too fast" in many[1].message
    one = _failed(rates[1])
    assert many[1].t_last == one.t_last
    assert np.array_equal(many[1].t, one.t)
    assert np.array_equal(many[1].quaternion, one.quaternion)
    assert np.isnan(many.quaternion[1, one.t.size :]).all()
    assert np.isfinite(many.quaternion[2]).all()


def _failed(rate: list[float]) -> ph.Solution:
    with pytest.raises(ph.SimulationFailed) as caught:
        ph.simulate(BODY, picky, omega=rate, method="RK4", every=5, **GRID)
    return caught.value.solution


def test_a_step_without_a_solution_is_a_status() -> None:
    rates = [[0.1, 0.2, 0.1], [30.0, 20.0, 10.0]]
    with interpreted():
        many = ph.ensemble(BODY, omega=rates, method="DMV2", **GRID)
    assert many.success.tolist() == [True, False]
    assert "DMV2 could not solve its step equation" in many[1].message
    assert many[1].run.steps == 0
    assert "1 of them failed" in repr(many)


# --- interruption and progress


def test_progress_counts_all_bodies() -> None:
    seen: list[tuple[int, int]] = []
    ph.ensemble(BODY, TOP, omega=RATES, method="MR2", progress=lambda *x: seen.append(x), **GRID)
    assert seen[-1] == (7 * 40, 7 * 40)
    assert all(a <= b for a, b in seen)


def test_interruption_keeps_what_there_is() -> None:
    def stop(done: int, total: int) -> None:
        if done > 0:
            raise KeyboardInterrupt

    clock = time.perf_counter()
    with pytest.raises(ph.EnsembleInterrupted) as caught:
        ph.ensemble(
            BODY, TOP, omega=RATES, method="MR2", t_span=(0.0, 1e6), step=0.01, t_eval=[0.0, 1.0, 1e6], progress=stop
        )
    assert time.perf_counter() - clock < 60
    many = caught.value.ensemble
    assert (many.status == 4).all()
    assert np.isfinite(many.last_quaternion).all()
    assert (many.t_last < 1e6).all()
    assert many.steps.sum() > 0
    assert threading.active_count() < 10


# --- bad input


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"omega": RATES[:3], "attitude": QUATERNIONS[:2]}, "omega for 3, attitude for 2"),
        ({"omega": np.ones((2, 4))}, r"omega must have the shape (3,) or (bodies, 3), not (2, 4)"),
        ({"omega": [[0.0, 0.0, np.nan]] * 2}, "omega must be finite"),
        ({"body": [[1.0, 1.0, 5.0]]}, "no body has the moments [1.0, 1.0, 5.0] of row 0"),
        ({"torque": [TOP, ph.Free()]}, "torque[0] is HeavyTop and torque[1] is Free"),
        ({"torque": 3}, "not 3"),
        ({"threads": 0}, "threads must be a positive whole number, not 0"),
        ({"attitude": [[0.0] * 4] * 2}, "attitude[0] must be a rotation"),
        ({"method": "DOP853", "every": 2}, "give t_eval instead of every"),
        ({"method": "RK5"}, "there is no method 'RK5'"),
    ],
)
def test_bad_input(change: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"body": BODY, "torque": None, "omega": RATES, "method": "MR2", **GRID, **change}
    with pytest.raises((TypeError, ValueError)) as caught:
        ph.ensemble(given.pop("body"), given.pop("torque"), **given)
    assert words in str(caught.value)


def test_table() -> None:
    with interpreted():
        table = ph.ensemble(BODY, TOP, omega=RATES, method="MR2", every=20, **GRID).to_xarray()
    assert dict(table.sizes) == {"body": 7, "time": 3, "quaternion_component": 4, "component": 3}
    assert table.omega.attrs["units"] == "rad s-1"
