"""Many bodies at once: the same as one by one, whatever the threads, and a body that fails stops alone."""

import inspect
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from xarray import open_dataset

import polhode as ph
from polhode.ensembles import batch
from polhode.ensembles.initial import Starts
from polhode.kernels.free.exact_flow import effort
from polhode.kernels.types import Depends, Inertia, Params, Quat, Scales, State, Vec3
from polhode.methods import find
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
            assert (one.nfev, one.stats.steps, one.message) == (same.nfev, same.stats.steps, same.message)
            assert np.array_equal(one.t, same.t)


ONE: list[tuple[str, ph.Body, Any]] = [
    ("MR2", BODY, TOP),
    ("Strang", BODY, TOP),
    ("Strang", BODIES[1], TOP),
    ("NMB", BODY, TOP),
    ("DOP853", BODIES[1], TOP),
    ("ExactPolished", BODIES[1], None),
    ("RK4(compensated=true)", BODY, ph.PiecewiseTorque(((0.7, (2.0, 1.0, 0.0)), (1.1, (0.0, 4.0, 3.0))))),
]


@pytest.mark.parametrize(("method", "body", "torque"), ONE)
def test_an_ensemble_of_one_is_simulate(method: str, body: ph.Body, torque: Any) -> None:
    outputs: list[dict[str, Any]] = [{"t_eval": [0.0, 0.33, 2.0]}, {"every": 7}]
    for output in outputs[: 1 if method == "DOP853" else 2]:
        given: dict[str, Any] = {"omega": RATES[2], "attitude": QUATERNIONS[2], "method": method, **GRID, **output}
        with interpreted():
            one, many = ph.simulate(body, torque, **given), ph.ensemble(body, torque, **given)
        assert len(many) == 1
        for name in ("t", "quaternion", "momentum", "omega", "last_quaternion", "last_momentum"):
            assert np.array_equal(getattr(one, name), getattr(many[0], name)), name
        assert (one.nfev, one.stats.steps, one.message, one.memory) == (
            many[0].nfev, many[0].stats.steps, many[0].message, many[0].memory,
        )  # fmt: skip
        for name in ("quaternion", "momentum", "omega", "spatial_momentum", "kinetic_energy"):
            assert np.array_equal(getattr(one, name), getattr(many, name)[0]), name


@pytest.mark.parametrize("method", ["MR2", "Strang"])
def test_alike_in_lanes_are_simulate(method: str) -> None:
    given: dict[str, Any] = {"method": method, "t_eval": [0.0, 0.33, 2.0], **GRID}
    one = ph.simulate(BODY, TOP, omega=RATES[2], attitude=QUATERNIONS[2], **given)
    many = ph.ensemble(BODY, TOP, omega=[RATES[2]] * 9, attitude=QUATERNIONS[2], **given)
    assert many.lanes == 8
    for k in range(9):
        assert np.array_equal(one.quaternion, many.quaternion[k])
        assert np.array_equal(one.momentum, many.momentum[k])


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


def test_what_follows_is_that_of_the_solutions() -> None:
    rates, bodies = np.vstack([RATES, np.zeros(3)]), [*BODIES, BODY]  # one starts at rest
    torques = [ph.HeavyTop(0.5 + k, down=(0.3, 0.0, -1.0)) for k in range(8)]
    given: dict[str, Any] = {"omega": rates, "method": "MR2", "every": 8, **GRID}
    quantities = ["quaternion", "omega", "spatial_momentum", "kinetic_energy", "potential_energy", "energy"]
    quantities += ["energy_error", "momentum_error"]
    with interpreted():
        falling, free = ph.ensemble(bodies, torques, **given), ph.ensemble(bodies, **given)
    for many in (falling, free):
        for name in quantities:
            expected = np.array([getattr(one, name) for one in many])
            assert np.allclose(many.each(name), expected, rtol=1e-13, atol=1e-15 * max(1.0, np.abs(expected).max())), (
                name
            )
    assert np.array_equal(falling.each("t"), [falling.t] * 8)  # what the ensemble has only once
    with interpreted():
        damped = ph.ensemble(BODY, ph.LinearDamping(0.1), omega=RATES, method="RK4", **GRID)
    with pytest.raises(AttributeError, match="LinearDamping does not conserve the energy"):
        damped.each("energy_error")


def test_potentials_compiled_and_not() -> None:
    torques = [ph.HeavyTop(0.5 + k) for k in range(7)]
    with interpreted():
        few = ph.ensemble(BODY, torques, omega=RATES, attitude=QUATERNIONS, method="MR2", every=8, **GRID)
        expected = few.potential_energy
    times = np.resize(np.arange(few.t.size), 4000)  # so many rows that potentials are compiled
    many = replace(few, t=few.t[times], quaternion=few.quaternion[:, times], momentum=few.momentum[:, times])
    assert np.allclose(many.potential_energy, expected[:, times], rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize(
    "torque",
    [
        TOP, ph.GravityGradient(0.3, (0.1, 0.2, 1.0)), ph.OrbitalGravityGradient(0.4), ph.LinearDamping(0.1), ph.Free(),
        ph.ConstantBodyTorque((1.0, 2.0, 3.0)), ph.CoulombSoftWall(),
    ],
    ids=lambda torque: torque.name,
)  # fmt: skip
def test_parameters_of_many_bodies(torque: ph.torques.Torque) -> None:
    rows = torque.parameter_rows(np.array([b.tensor for b in BODIES]))
    assert len(rows) in (1, 7)
    expected = [torque.parameters(b) for b in BODIES]
    assert np.array_equal(np.broadcast_to(rows, np.shape(expected)), expected)


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


# --- several bodies at a time


@contextmanager
def one_by_one() -> Iterator[None]:
    """Without lanes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch.Batch, "_packed", lambda batch: None)
        yield


@contextmanager
def counted_alone() -> Iterator[list[int]]:
    """How often bodies were left to the loop over single ones."""
    times, before = [0], batch.Batch._one_by_one

    def counted(batch: Any) -> Any:
        times[0] += 1
        return before(batch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch.Batch, "_one_by_one", counted)
        yield times


def equal(a: ph.Ensemble, b: ph.Ensemble) -> None:
    """To the bit, also in what they say."""
    for name in ("quaternion", "momentum", "status", "t_last", "steps", "evaluations", "memory"):
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes(), name
    assert a.last_quaternion.tobytes() == b.last_quaternion.tobytes()
    assert a.last_momentum.tobytes() == b.last_momentum.tobytes()
    assert a.messages == b.messages


MANY = 29
"""No multiple of eight, nor of four."""
CROWD = np.random.default_rng(4)
MOMENTS, TURNING = CROWD.uniform(1.0, 1.9, size=(MANY, 3)), CROWD.normal(size=(MANY, 3))
MOMENTS[3] = 1.5  # a sphere
MOMENTS[5] = [1.0, 1.0, 1.6]
STANDING = CROWD.normal(size=(MANY, 4))
WEIGHTS = [ph.HeavyTop(w, point=(0.1, 0.0, 1.0)) for w in CROWD.uniform(0.2, 1.0, size=MANY)]
OUTPUTS: list[dict[str, Any]] = [{}, {"every": 3}, {"t_eval": [0.0, 0.33, 0.4, 0.41, 1.0, 1.99, 2.0]}]


@pytest.mark.parametrize("method", ["MR2", "Strang", "RK4"])
def test_lanes_change_no_bit(method: str) -> None:
    order = np.random.default_rng(0).permutation(MANY)
    for output in OUTPUTS:
        given: dict[str, Any] = {"method": method, **GRID, **output}
        with one_by_one():
            alone = ph.ensemble(MOMENTS, WEIGHTS, omega=TURNING, attitude=STANDING, **given)
        assert alone.success.all()
        assert (alone.lanes, alone.why_not_packed) == (1, "")
        for threads in (1, 3):
            many = ph.ensemble(MOMENTS, WEIGHTS, omega=TURNING, attitude=STANDING, threads=threads, **given)
            assert (many.lanes, many.why_not_packed) == (8, "")
            equal(alone, many)
        tops = [WEIGHTS[k] for k in order]
        shuffled = ph.ensemble(MOMENTS[order], tops, omega=TURNING[order], attitude=STANDING[order], **given)
        assert np.array_equal(alone.quaternion[order], shuffled.quaternion)
        assert np.array_equal(alone.momentum[order], shuffled.momentum)
    assert repr(many).endswith("lanes   8")


def test_a_loop_of_kicks_changes_no_bit() -> None:
    """In lanes the flows of a long step are made in a loop."""
    pull, scales = (lambda body, p, t, s: (t, s.q[1], s.q[2])), Scales((2.0, 2.0, 1.0), (0.3, 0.4, 1.0), 0.7)
    for name in ("SABA8", "ABA1064", "SABA2"):
        scheme: Any = ph.methods.find(name).scheme
        ends = []
        for packed in (False, True):
            stepper = scheme.bind(pull, Depends.POSITION | Depends.TIME, scales._replace(packed=packed))
            body, p = Inertia((2.0, 2.0, 1.0), (0.5, 0.5, 1.0)), Params((), (1.0, 0.0, 0.0, 0.0), (-9.0, 9.0))
            ends.append(stepper.step(body, p, 1.0, State((1.0, 0.0, 0.0, 0.0), (0.3, 0.4, 1.0)), 0.7, ()))
            looped = "kicks" in stepper.step.__code__.co_names
            assert looped == packed
        assert ends[0] == ends[1]


def test_what_the_most_demanding_body_asks() -> None:
    """So much flows are prepared for, whichever body leads."""
    starts = Starts.given(BODIES, None, RATES, QUATERNIONS, None, None, None)
    each = []
    for body, rate in zip(BODIES, RATES, strict=True):
        i1, i2, i3 = body.moments.tolist()
        m1, m2, m3 = (body.momentum(rate) @ body.axes).tolist()
        each.append(effort(Inertia((i1, i2, i3), (1 / i1, 1 / i2, 1 / i3)), (m1, m2, m3)))
    assert np.transpose(batch.efforts(starts.whole)) == pytest.approx(np.array(each))
    assert batch.Survey.of(starts).others.effort == pytest.approx(np.max(each, axis=0))


def test_no_bit_of_the_momentum_depends_on_company() -> None:
    """The last batch may have one body."""
    tilted = ph.Body(np.array([[3.0, 0.3, -0.2], [0.3, 2.5, 0.1], [-0.2, 0.1, 2.0]]))
    rates = np.random.default_rng(5).normal(size=(50, 3))
    for bodies in (tilted, [tilted, BODY] * 25):
        starts = Starts.given(bodies, None, rates, QUATERNIONS[0], None, None, None)
        for k in range(50):
            alone = starts.part(k, k + 1).momentum[0]
            assert np.array_equal(starts.whole.momentum[k], alone)
            assert np.array_equal(starts.whole.bodies[k].momentum(rates[k]), alone)
            assert alone == pytest.approx(starts.whole.bodies[k].tensor @ rates[k], rel=1e-14)


def test_lanes_and_tilted_bodies_and_jumps() -> None:
    bodies = [BODIES[k % 7] for k in range(MANY)]
    torque = ph.PiecewiseTorque(((0.7, (2.0, 1.0, 0.0)), (1.1, (0.0, 4.0, 3.0))))
    given: dict[str, Any] = {"omega": TURNING, "method": "MR2", "every": 3, **GRID}
    with one_by_one():
        alone = ph.ensemble(bodies, torque, **given)
    many = ph.ensemble(bodies, torque, **given)
    equal(alone, many)
    assert many.lanes == 8
    assert "prescribed.py" in many.why_not_packed  # it looks for the segment in a loop
    assert "lanes   8, the torque one by one" in repr(many)


def test_tops_of_all_directions_fly_together() -> None:
    """An upright one has a shorter kernel where all are upright, which changes no bit of it."""
    mixed: list[ph.torques.Torque] = [*WEIGHTS]
    mixed[1::2] = [ph.HeavyTop(top.weight, top.point, (0.6, 0.0, -0.8)) for top in WEIGHTS[1::2]]
    given: dict[str, Any] = {"omega": TURNING, "method": "MR2", "every": 3, **GRID}
    many, upright = ph.ensemble(MOMENTS, mixed, **given), ph.ensemble(MOMENTS, WEIGHTS, **given)
    assert many.lanes == upright.lanes == 8
    for k in range(MANY):
        same = np.array_equal(many[k].quaternion, upright[k].quaternion)
        assert same == (k % 2 == 0)


@ph.torque(parameters=[0.0, 0.0])
def growing(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """Without bounds where p says so, after a while."""
    return (0.3 * q[1], p[0] * t * t, p[1] * q[2])


@pytest.mark.parametrize("method", ["MR2", "Strang"])
def test_a_body_that_goes_wrong_disturbs_no_other(method: str) -> None:
    """One leaves the finite numbers, one becomes too fast for the steps that the flow was prepared for, one rests."""
    torques = [growing] * MANY
    for k, strength in {2: 1e300, 9: 40.0, 10: 1e305, 28: 1e308}.items():
        torques[k] = growing.with_parameters([strength, 0.0])
    rates = TURNING.copy()
    rates[12] = 0.0
    given: dict[str, Any] = {"method": method, "every": 7, **GRID}
    with one_by_one():
        alone = ph.ensemble(MOMENTS, torques, omega=rates, **given)
    with counted_alone() as times:
        many = ph.ensemble(MOMENTS, torques, omega=rates, **given)
    assert times[0] > 0
    equal(alone, many)
    assert set(np.flatnonzero(alone.status).tolist()) == {2, 10, 28}
    assert many.success[9]
    assert np.abs(many.omega[9, -1]).max() > 20.0  # it has become fast


def test_a_torque_with_branches_goes_lane_by_lane() -> None:
    rates = TURNING.copy()
    rates[[4, 11, 12], 0] = [1.49, 1.2, 3.0]
    given: dict[str, Any] = {"omega": rates, "method": "RK4", "every": 5, "t_span": (0.0, 0.4), "step": 0.02}
    with one_by_one():
        alone = ph.ensemble(BODY, picky, **given)
    for threads in (1, 2):
        many = ph.ensemble(BODY, picky, threads=threads, **given)
        equal(alone, many)
        assert many.lanes == 8
        assert "if w[0] > 1.5" in many.why_not_packed
    assert (many.status[[4, 11, 12]] == 3).all()
    assert many.success.sum() > MANY // 2


def test_a_method_with_branches_goes_body_by_body() -> None:
    many = ph.ensemble(BODY, omega=TURNING, method="NMB", **GRID)
    assert many.lanes == 1
    assert "newton.py" in many.why_not_packed
    assert repr(many).endswith("lanes   1")
    one = ph.simulate(BODY, omega=TURNING[3], method="NMB", **GRID)
    assert np.array_equal(one.last_quaternion, many.last_quaternion[3])


def test_lanes_report_and_stop() -> None:
    seen: list[tuple[int, int]] = []
    ph.ensemble(MOMENTS, WEIGHTS, omega=TURNING, method="MR2", progress=lambda *x: seen.append(x), **GRID)
    assert seen[-1] == (MANY * 40, MANY * 40)

    def stop(done: int, total: int) -> None:
        if done > 0:
            raise KeyboardInterrupt

    forever: dict[str, Any] = {"t_span": (0.0, 1e6), "step": 0.05, "t_eval": [0.0, 1.0, 1e6]}
    with pytest.raises(ph.EnsembleInterrupted) as caught:
        ph.ensemble(MOMENTS, WEIGHTS, omega=TURNING, method="MR2", progress=stop, **forever)
    many = caught.value.ensemble
    assert (many.status == 4).all()
    k = int(np.argmax(many.steps))
    reached: dict[str, Any] = {"t_span": (0.0, float(many.t_last[k])), "step": 0.05, "t_eval": [float(many.t_last[k])]}
    one = ph.simulate(ph.Body(MOMENTS[k]), WEIGHTS[k], omega=TURNING[k], method="MR2", **reached)
    assert np.array_equal(one.last_quaternion, many.last_quaternion[k])


# --- failures


@ph.torque
def picky(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    if w[0] > 1.5:
        raise ValueError("too fast")
    return (1.0, 0.0, 0.0)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_body_that_raises_stops_alone(compiled: bool) -> None:
    rates = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [-2.0, 0.0, 0.0]]
    with nullcontext() if compiled else interpreted():
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


def test_a_body_that_cannot_start_is_no_fault_of_others() -> None:
    many = ph.ensemble(BODY, picky, omega=[[9.0, 0.0, 0.0], [0.0, 0.0, 1.0]], method="RK4", **GRID)
    assert many.status.tolist() == [3, 0]
    assert many[0].message == "the torque picky raised ValueError at t = 0: too fast"
    assert many[0].t_last == 0.0
    with pytest.raises(ValueError, match="the torque picky raised ValueError at t = 0: too fast"):
        ph.ensemble(BODY, picky, omega=[[9.0, 0.0, 0.0], [8.0, 0.0, 1.0]], method="RK4", **GRID)


def _failed(rate: list[float]) -> ph.Solution:
    with pytest.raises(ph.SimulationFailed) as caught:
        ph.simulate(BODY, picky, omega=rate, method="RK4", every=5, **GRID)
    found: ph.Solution = caught.value.solution
    return found


def test_a_step_without_a_solution_is_a_status() -> None:
    rates = [[0.1, 0.2, 0.1], [30.0, 20.0, 10.0]]
    with interpreted():
        many = ph.ensemble(BODY, omega=rates, method="DMV2", **GRID)
    assert many.success.tolist() == [True, False]
    assert "DMV2 could not solve its step equation" in many[1].message
    assert many[1].stats.steps == 0
    assert "of which 1 reached t = 2: see messages" in repr(many)


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

    threads = threading.active_count()
    with pytest.raises(ph.EnsembleInterrupted) as caught:
        ph.ensemble(
            BODY, TOP, omega=RATES, method="MR2", t_span=(0.0, 1e6), step=0.01, t_eval=[0.0, 1.0, 1e6], progress=stop
        )
    many = caught.value.ensemble
    assert (many.status == 4).all()
    assert np.isfinite(many.last_quaternion).all()
    assert (many.t_last < 1e6).all()
    assert many.steps.sum() > 0
    assert threading.active_count() == threads


def test_bodies_that_have_finished_are_not_interrupted() -> None:
    """Two threads take blocks of a quarter of the bodies that are left, so that one block has ended by the middle.

    The second half takes so long that the thread which reports is heard in time, on a busy machine too.
    """

    def stop(done: int, total: int) -> None:
        if done > total / 2:
            raise KeyboardInterrupt

    omega = np.ones((400, 3))
    with pytest.raises(ph.EnsembleInterrupted) as caught:
        ph.ensemble(BODY, TOP, omega=omega, method="MR2", t_span=(0.0, 500.0), step=1e-3, threads=2, progress=stop)
    many = caught.value.ensemble
    ended = many.steps == 500_000
    assert 0 < ended.sum() < 400
    assert np.array_equal(many.success, ended)
    assert np.array_equal(many.t_last == 500.0, ended)
    assert many.t_last[~ended] == pytest.approx(1e-3 * many.steps[~ended])
    assert np.isfinite(many.quaternion[ended]).all()
    assert f"of which {ended.sum()} reached t = 500" in repr(many)


def test_an_exception_in_progress_loses_nothing() -> None:
    def progress(done: int, total: int) -> None:
        if done == total:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough") as caught:
        ph.ensemble(BODY, TOP, omega=RATES, method="MR2", progress=progress, **GRID)
    assert caught.value.ensemble.success.all()  # type: ignore[attr-defined]


def test_one_body_at_a_time() -> None:
    many = ph.ensemble(BODY, TOP, omega=RATES, method="MR2", **GRID)
    for k in (-1, np.int64(-1)):
        assert np.array_equal(many[k].momentum, many.momentum[6])
    wrongs: list[Any] = [slice(0, 2), 1.0, many.success]
    for wrong in wrongs:
        with pytest.raises(TypeError, match="the solution of one body"):
            many[wrong]


# --- bad input


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"omega": RATES[:3], "attitude": QUATERNIONS[:2]}, "omega for 3, attitude for 2"),
        ({"omega": [[1.0, 2.0, 3.0], [1.0]]}, "omega must hold rows of one length"),
        ({"body": "water"}, "write Body.named('water')"),
        ({"body": [BODY, [1.0, 2.0, 2.5]]}, "a list of nothing but Bodies"),
        ({"body": []}, "there is no body in []"),
        ({"body": np.zeros((0, 3))}, "there is no body in array"),
        ({"body": [[1e-310, 1e-310, 1e-310]]}, "near the ends of the range of floats"),
        ({"torque": [ph.HeavyTop]}, "write HeavyTop(...)"),
        ({"threads": float("inf")}, "threads must be a positive whole number, not inf"),
        ({"omega": np.ones((2, 4))}, r"omega must have the shape (3,) or (bodies, 3), not (2, 4)"),
        ({"omega": [[0.0, 0.0, np.nan]] * 2}, "omega must be finite"),
        ({"body": [[1.0, 1.0, 5.0]]}, "no body has the moments [1.0, 1.0, 5.0] of row 0"),
        ({"torque": [TOP, ph.Free()]}, "torque[0] is HeavyTop and torque[1] is Free"),
        ({"torque": 3}, "not 3"),
        (
            {"torque": [growing, growing.with_parameters([1.0])]},
            "torque[0] has 2 and torque[1] has 1: fill up the shorter ones",
        ),
        ({"torque": [TOP] * 7, "parameters": [1.0]}, "parameters are for one torque, but torque is a list"),
        ({"torque": growing, "parameters": [[1.0]] * 7}, "growing has 2 parameters, but a row of parameters has 1"),
        ({"rtol": 1e-6}, "give either rtol, and the step is chosen, or step, not both"),
        ({"step": None}, "give rtol"),
        ({"step": None, "rtol": 1e-6, "every": 3}, "the steps with rtol differ from body to body"),
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
    sizes = {"quaternion_component": 4, "component": 3, "axis": 3, "other_component": 3}
    assert dict(table.sizes) == {"body": 7, "time": 3, **sizes}
    assert table.omega.attrs["units"] == "rad s-1"


def test_file(tmp_path: Path) -> None:
    with interpreted():
        many = ph.ensemble(BODIES, TOP, omega=RATES, method="MR2", every=20, **GRID)
    many.save(tmp_path / "many.nc")
    with open_dataset(tmp_path / "many.nc") as read:
        for name, values in many.to_xarray().variables.items():
            assert np.array_equal(read[name].values, values.values)
        assert read.momentum.attrs["units"] == "kg m2 s-1"
        assert (read.attrs["method"], read.attrs["step"]) == ("MR2", 0.05)
    with pytest.raises(FileExistsError):
        many.save(tmp_path / "many.nc")
    many.save(tmp_path / "many.nc", overwrite=True)


@pytest.mark.evidence
@pytest.mark.parametrize("output", [{"every": 100}, {"every": 10}, {"t_eval": [0.0, 1.0]}, {"t_eval": [0.5]}])
def test_a_body_that_cannot_be_shown_does_not_harm_its_neighbours(output: dict[str, Any]) -> None:
    """A corrector looks beyond the end, where the torque of one of nine bodies has no value."""

    @ph.torque
    def fading(t: float, q: Any, w: Any, p: Any) -> Any:
        return (p[1] * math.sqrt(p[0] - t) * q[1], p[1] * q[2], p[1] * q[3])

    parameters = np.full((9, 2), (100.0, 1e-3))
    parameters[2, 0] = 1.0
    omega = np.random.default_rng(0).normal(size=(9, 3))
    given: dict[str, Any] = {"t_span": (0.0, 1.0), "step": 0.1, "method": "Strang(corrector=17)", **output}
    body = ph.Body([1.0, 1.5, 2.2])
    many = ph.ensemble(body, fading, omega=omega, parameters=parameters, **given)
    assert np.flatnonzero(many.status).tolist() == [2]
    for k in (1, 8):
        one = ph.ensemble(body, fading, omega=omega[[k]], parameters=parameters[[k]], **given)
        assert np.abs(many.quaternion[k] - one.quaternion[0]).max() < 1e-15
        assert np.abs(many.last_quaternion[k] - one.last_quaternion[0]).max() < 1e-15


def test_more_lanes_change_no_bit() -> None:
    rates = np.random.default_rng(6).normal(size=(75, 3))
    many = ph.ensemble(BODY, TOP, omega=rates, method="MR2", **GRID)
    fewer = [ph.ensemble(BODY, TOP, omega=some, method="MR2", **GRID) for some in (rates[:40], rates[40:])]
    assert (many.lanes, *[some.lanes for some in fewer]) == (16, 8, 8)
    assert np.array_equal(many.quaternion, np.concatenate([some.quaternion for some in fewer]))
    assert np.array_equal(many.momentum, np.concatenate([some.momentum for some in fewer]))


def test_lanes_fill_two_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever that is quicker: exact flows of bodies with three moments need the registers for themselves."""
    rates = np.random.default_rng(7).normal(size=(75, 3))
    made = {}
    for floats in (4, 8):
        monkeypatch.setattr(batch, "floats_in_register", lambda floats=floats: floats)
        made[floats] = ph.ensemble(ph.Body([1.0, 1.0, 1.6]), TOP, omega=rates, method="Strang", **GRID)
        assert batch.lanes_of(find("Strang"), 75, triaxial=True) == 8
        assert batch.lanes_of(find("Strang"), 63, triaxial=False) == 8
    assert (made[4].lanes, made[8].lanes) == (8, 16)
    assert np.array_equal(made[4].quaternion, made[8].quaternion)
    assert np.array_equal(made[4].momentum, made[8].momentum)


@pytest.mark.usefixtures("small_batches")
def test_the_last_of_different_bodies_alone_in_its_batch() -> None:
    draw = np.random.default_rng(8)
    moments, rates = draw.uniform(1.0, 1.5, size=(257, 3)), draw.normal(size=(257, 3))
    given: dict[str, Any] = {"t_span": (0.0, 0.2), "step": 0.1, "method": "NMB"}
    found = ph.ensemble(moments, TOP, omega=rates, reduce={"q": ph.quantity("quaternion")}, **given)
    alone = ph.simulate(ph.Body(moments[256]), TOP, omega=rates[256], **given)
    assert np.array_equal(found["q"][256, -1], alone.quaternion[-1])


def test_a_torque_that_raises_after_others_have_finished() -> None:
    """With variable steps one body makes many and fails when the others have long finished."""

    @ph.torque
    def late(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
        if t > p[0]:
            raise ValueError("too late")
        return (0.1 * p[1] * math.sin(p[1] * t), 0.0, 0.0)

    rates, parameters = RATES[:3], np.array([[99.0, 0.1], [0.9, 100.0], [99.0, 1.0]])
    with interpreted():
        found = ph.ensemble(
            BODY, late, omega=rates, parameters=parameters, t_span=(0, 1), step=0.5, method="DOP853", threads=1
        )
    assert found.success.tolist() == [True, False, True]


@pytest.mark.evidence
def test_collocation_goes_one_body_at_a_time() -> None:
    """Its points are in the lanes; the torque is not to blame."""
    many = ph.ensemble(MOMENTS, WEIGHTS, omega=TURNING, attitude=STANDING, **GRID, method="G8")
    assert many.lanes == 1
    assert many.why_not_packed.startswith("G8 has the points of its steps in the lanes")
    with pytest.raises(TypeError, match="of an ensemble take one body"):
        ph.resume(many, 20.0)


def test_plans_take_the_arguments_of_ensembles() -> None:
    """They stand once; their names are shown, and checked before anything is done."""
    of_ensemble, of_plan = (set(inspect.signature(f).parameters) for f in (ph.ensemble, ph.plan_ensemble))
    assert of_ensemble - of_plan == {"threads", "derivatives", "progress", "on_compile"}
    assert of_plan - of_ensemble == {"store", "part_bodies", "executor", "storage_options"}
    assert {"body", "torque", "omega", "t_span", "rtol", "reduce"} < of_ensemble
    given: dict[str, Any] = {"omegas": RATES, "omega": RATES, "t_span": (0, 1), "rtol": 1e-6}
    with pytest.raises(TypeError, match=r"ensemble\(\) got an unexpected keyword argument 'omegas'"):
        ph.ensemble(BODY, **given)
    with pytest.raises(TypeError, match=r"plan_ensemble\(\) missing a required argument: 'omega'"):
        ph.plan_ensemble(BODY, store="nowhere.zarr")  # type: ignore[call-arg]
