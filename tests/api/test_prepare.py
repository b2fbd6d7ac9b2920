"""Prepared runs: the same solutions as `simulate`, from many threads, and the same errors."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.environment import Orbit
from polhode.torques.facets import Facets
from polhode.torques.heavy_top import weight_torque

BODY = ph.Body([1.0, 2.0, 2.5])
TOP = ph.HeavyTop(0.1)
GIVEN: dict[str, Any] = {"step": 0.1, "t_span": (0.0, 1.05)}
OUTPUTS: list[dict[str, Any]] = [{}, {"every": 4}, {"t_eval": [0.0, 0.33, 0.7]}]


def starts(count: int) -> list[tuple[Any, Any]]:
    """Returns rates from slow to fast, with attitudes."""
    rng = np.random.default_rng(5)
    q = rng.normal(size=(count, 4))
    return list(
        zip(
            rng.normal(size=(count, 3)) * 10.0 ** rng.uniform(-2, 0.5, (count, 1)),
            q / np.linalg.norm(q, axis=1)[:, None],
            strict=True,
        )
    )


def assert_same(a: ph.Solution, b: ph.Solution) -> None:
    for name in ("t", "quaternion", "momentum", "last_quaternion", "last_momentum", "state", "last_state"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    assert (a.message, a.t_last, a.memory, a.status) == (b.message, b.t_last, b.memory, b.status)
    assert (a.stats.steps, a.stats.nfev) == (b.stats.steps, b.stats.nfev)
    np.testing.assert_array_equal(a.energy, b.energy)


@pytest.mark.parametrize("method", ["RK4", "Strang", "DOP853"])
@pytest.mark.parametrize("output", OUTPUTS, ids=["steps", "every", "listed"])
def test_short_runs_are_those_that_show_their_progress(method: str, output: dict[str, Any]) -> None:
    """A prepared run and a short one of `simulate` are made by one call; one with progress goes in chunks."""
    prepared = ph.prepare(BODY, TOP, method=method, **GIVEN, **output)
    for omega, attitude in starts(4):
        asked: dict[str, Any] = {"omega": omega, "attitude": attitude, "method": method, **GIVEN, **output}
        whole = ph.simulate(BODY, TOP, **asked, progress=lambda done, total: None)
        assert_same(prepared(omega, attitude), whole)
        assert_same(ph.simulate(BODY, TOP, **asked), whole)


def test_a_prepared_run_without_compilation_is_that_of_simulate(plain: None) -> None:
    prepared = ph.prepare(BODY, TOP, method="RK4", **GIVEN)
    assert_same(prepared([0.1, 0.2, 1.0]), ph.simulate(BODY, TOP, omega=[0.1, 0.2, 1.0], method="RK4", **GIVEN))


@pytest.mark.parametrize("torque", [TOP, None, ph.SinusoidalTorque((0.1, 0.0, 0.0), 3.0), ph.LinearDamping(0.1)])
@pytest.mark.parametrize("output", OUTPUTS[::2], ids=["steps", "listed"])
def test_a_prepared_answer_is_that_of_simulate(torque: Any, output: dict[str, Any]) -> None:
    asked: dict[str, Any] = {"t_span": (0.0, 1.05), "rtol": 1e-8, **output}
    prepared = ph.prepare(BODY, torque, **asked)
    for omega, attitude in starts(4):
        found, whole = prepared(omega, attitude), ph.simulate(BODY, torque, omega=omega, attitude=attitude, **asked)
        assert_same(found, whole)
        assert (found.error_estimate, found.rtol, found.method) == (whole.error_estimate, 1e-8, whole.method)


def test_a_prepared_answer_knows_what_it_is() -> None:
    prepared = ph.prepare(BODY, TOP, rtol=1e-6, t_span=(0.0, 1.0))
    assert (prepared.rtol, prepared.step, prepared.method) == (1e-6, None, None)
    assert repr(prepared) == "<prepared: Body([1.0, 2.0, 2.5]), HeavyTop, rtol 1e-06 from 0 to 1>"
    again, other = pickle.loads(pickle.dumps(prepared)), ph.HeavyTop(0.3)
    assert_same(
        again([0.1, 0.2, 1.0], torque=other),
        ph.simulate(BODY, other, omega=[0.1, 0.2, 1.0], rtol=1e-6, t_span=(0.0, 1.0)),
    )
    by_name = ph.prepare(BODY, TOP, rtol=1e-6, method="Strang", t_span=(0.0, 1.0))
    assert by_name([0.1, 0.2, 1.0]).method == "Strang"
    assert repr(by_name) == "<prepared: Body([1.0, 2.0, 2.5]), HeavyTop, Strang with rtol 1e-06 from 0 to 1>"


def test_the_torque_of_a_call_may_have_other_numbers() -> None:
    prepared = ph.prepare(BODY, TOP, method="RK4", **GIVEN)
    heavier = ph.HeavyTop(0.7, point=(0.1, 0.0, 0.5))
    whole = ph.simulate(BODY, heavier, omega=[0.1, 0.2, 1.0], method="RK4", **GIVEN)
    found = prepared([0.1, 0.2, 1.0], torque=heavier)
    assert_same(found, whole)
    assert found.problem.torque is heavier
    assert_same(prepared([0.1, 0.2, 1.0]), ph.simulate(BODY, TOP, omega=[0.1, 0.2, 1.0], method="RK4", **GIVEN))
    with pytest.raises(ValueError, match=r"HeavyTop needs another program than HeavyTop.*prepare it again"):
        prepared([0, 0, 1], torque=ph.HeavyTop(0.1, down=(1.0, 0.0, 0.0)))
    with pytest.raises(ValueError, match=r"parameters are for a torque of your own.*torque=HeavyTop\(\.\.\.\)"):
        prepared([0, 0, 1], parameters=[1.0])


def test_parameters_are_those_of_a_torque_of_ones_own(plain: None) -> None:
    own = ph.torque(weight_torque, parameters=[0.0, 0.0, 1.0, 0.0, 0.0, -0.1])
    prepared = ph.prepare(BODY, own, method="RK4", **GIVEN)
    for values in ([0.0, 0.1, 1.0, 0.0, 0.2, -0.3], np.array([0.0, 0.1, 1.0, 0.0, 0.2, -0.3])):
        whole = ph.simulate(BODY, own.with_parameters(values), omega=[0.1, 0.2, 1.0], method="RK4", **GIVEN)
        found = prepared([0.1, 0.2, 1.0], parameters=values)
        np.testing.assert_array_equal(found.quaternion, whole.quaternion)
        assert list(found.problem.torque.parameters(BODY)) == list(values)
    with pytest.raises(ValueError, match="has 6 parameters, not 2"):
        prepared([0, 0, 1], parameters=[1.0, 2.0])
    with pytest.raises(ValueError, match="either parameters or torque"):
        prepared([0, 0, 1], parameters=[1.0] * 6, torque=own)


def test_many_threads_share_a_prepared_run() -> None:
    prepared = ph.prepare(BODY, TOP, method="Strang", step=0.01, t_span=(0.0, 5.0), t_eval=[1.0, 5.0])
    given = starts(40)
    alone = [prepared(*start).momentum for start in given]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda start: prepared(*start).momentum, given * 5))
    for k, found in enumerate(together):
        np.testing.assert_array_equal(found, alone[k % 40])


def test_errors_are_those_of_simulate() -> None:
    prepared = ph.prepare(BODY, TOP, method="RK4", **GIVEN)
    wrongs: list[dict[str, Any]] = [
        {"omega": [1, 2]},
        {"omega": [0, 0, np.nan]},
        {"omega": [0, 0, True]},
        {"omega": [0, 0, 1], "attitude": [0, 0, 0, 0]},
        {"omega": [0, 0, 1], "state": [1.0]},
    ]
    for wrong in wrongs:
        with pytest.raises((TypeError, ValueError)) as here:
            prepared(**wrong)
        with pytest.raises(here.type) as there:
            ph.simulate(BODY, TOP, method="RK4", **GIVEN, **wrong)
        assert str(here.value) == str(there.value)
    with pytest.raises(ValueError, match="either rtol, and the step is chosen, or step, not both"):
        ph.prepare(BODY, TOP, method="RK4", rtol=1e-6, **GIVEN)
    with pytest.raises(ValueError, match="give rtol, the error of the answer"):
        ph.prepare(BODY, TOP, t_span=(0.0, 1.0))
    with pytest.raises(ValueError, match="MR2 does not accept"):
        ph.prepare(BODY, ph.LinearDamping(0.1), method="MR2", **GIVEN)


def test_a_run_that_fails_says_why_and_keeps_what_was_computed() -> None:
    wild = ph.prepare(BODY, TOP, method="RK4", step=0.1, t_span=(0.0, 50.0))
    with pytest.raises(ph.SimulationFailed, match="shorter step") as failed:
        wild([30.0, 40.0, 90.0])
    with pytest.raises(ph.SimulationFailed) as there:
        ph.simulate(BODY, TOP, omega=[30.0, 40.0, 90.0], method="RK4", step=0.1, t_span=(0.0, 50.0))
    assert str(failed.value) == str(there.value)
    np.testing.assert_array_equal(failed.value.solution.momentum, there.value.solution.momentum)


def test_a_prepared_run_goes_on_and_travels() -> None:
    prepared = ph.prepare(BODY, TOP, method="Strang", step=0.1, t_span=(0.0, 1.0))
    again = pickle.loads(pickle.dumps(prepared))
    assert_same(again([0.1, 0.2, 1.0]), prepared([0.1, 0.2, 1.0]))
    whole = ph.simulate(BODY, TOP, omega=[0.1, 0.2, 1.0], method="Strang", step=0.1, t_span=(0.0, 2.0))
    np.testing.assert_array_equal(ph.resume(prepared([0.1, 0.2, 1.0]), 2.0).momentum, whole.momentum)
    assert repr(prepared) == "<prepared: Body([1.0, 2.0, 2.5]), HeavyTop, Strang with step 0.1 from 0 to 1>"


def test_another_torque_is_made_for_the_span_as_the_first_one_was(plain: None) -> None:
    """Else facets would not know their eclipses, and seem to need another program."""

    def sail(area: float) -> Facets:
        faces: dict[str, Any] = {"normals": [[1, 0, 0], [0, 1, 0]], "centres": [[0.1, 0, 0], [0, 0.2, 0.1]]}
        return Facets((1.0, area), **faces, orbit=Orbit(semi_major_axis=6.9e6), sun=(1.0, 0.0, 0.0))

    given: dict[str, Any] = {"t_span": (0.0, 8000.0), "method": "MR2", "step": 100.0}
    found = ph.prepare(BODY, sail(2.0), **given)([1e-3, 2e-3, 1e-3], torque=sail(3.0))
    assert found.problem.torque.breakpoints
    assert (found.quaternion == ph.simulate(BODY, sail(3.0), omega=[1e-3, 2e-3, 1e-3], **given).quaternion).all()
