"""Bodies with a rotor, from `simulate` to files: against SciPy, motions that are known, and each other."""

import copy
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.kernels.free.exact_flow import effort
from polhode.kernels.gyrostat import greatest_efforts
from polhode.kernels.types import Inertia
from polhode.scenario import load_scenario
from tests.authorities import Floats
from tests.authorities.gyrostat import Gyrostat
from tests.contract._measure import interpreted

ROTOR = [0.3, -0.2, 0.5]
BODY = ph.Body([1.0, 1.75, 2.5], rotor=ROTOR)
TILTED = ph.Body([[2.0, 0.2, 0.1], [0.2, 2.5, -0.3], [0.1, -0.3, 3.0]], rotor=[0.4, 0.1, -0.6])
OMEGA = [0.7, -0.4, 1.1]
WEIGHT = ph.HeavyTop(0.4, point=(0.1, -0.2, 0.5))
plain = pytest.mark.usefixtures("plain")


def by_scipy(body: ph.Body, omega: Any, t: float, weight: bool) -> tuple[Rotation, Floats]:
    """Attitude and rate at t from Euler's equation for the rotation matrix: nothing of polhode but the numbers."""
    tensor, g = np.array(body.tensor), np.array(body.rotor)

    def slope(t: float, y: Floats) -> Floats:
        R, w = y[:9].reshape(3, 3), y[9:]
        hat = np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])
        n = 0.4 * np.cross([0.1, -0.2, 0.5], R.T @ [0.0, 0.0, -1.0]) if weight else np.zeros(3)
        return np.concatenate([(R @ hat).reshape(-1), np.linalg.solve(tensor, np.cross(tensor @ w + g, w) + n)])

    start = np.concatenate([np.eye(3).reshape(-1), omega])
    y = solve_ivp(slope, (0.0, t), start, method="DOP853", rtol=3e-14, atol=1e-15).y[:, -1]
    return Rotation.from_matrix(y[:9].reshape(3, 3)), y[9:]


CASES = {
    "aligned": (BODY, True),
    "tilted": (TILTED, True),
    "free": (TILTED, False),
    "on an axis": (BODY.with_rotor([0.0, 1.3, 0.0]), False),
    "small": (TILTED.with_rotor([1e-5, 3e-6, -2e-5]), True),
    "large": (BODY.with_rotor([12.0, -20.0, 9.0]), True),
}


@plain
@pytest.mark.parametrize("case", CASES)
def test_tolerances_are_met(case: str) -> None:
    body, weight = CASES[case]
    s = ph.simulate(body, WEIGHT if weight else None, omega=OMEGA, t_span=(0, 2), rtol=1e-8, t_eval=[2.0])
    attitude, rate = by_scipy(body, OMEGA, 2.0, weight)
    assert s.error_estimate is not None
    assert s.error_estimate <= 1e-8
    by_hand = 1e-13  # what SciPy errs; the closed form of a rotor on an axis states less
    assert (attitude.inv() * s.attitude[-1]).magnitude() < s.error_estimate + by_hand
    assert np.linalg.norm(s.omega[-1] - rate) < 2.0 * s.error_estimate


@plain
@pytest.mark.parametrize("inertia", [BODY.tensor, TILTED.tensor])
def test_permanent_rotations(inertia: Any) -> None:
    """About any axis, if the rotor makes the momentum parallel to it: the rate is constant."""
    w = np.array([0.9, 0.3, -0.6])
    body = ph.Body(inertia, rotor=2.5 * w - inertia @ w)
    for method in ("G8", "LewisSimo", "RKMK4"):
        s = ph.simulate(body, omega=w, t_span=(0, 20), step=0.25, method=method, every=80)
        np.testing.assert_allclose(s.omega[-1], w, rtol=0, atol=1e-13)
        np.testing.assert_allclose((s.attitude[-1] * Rotation.from_rotvec(-20 * w)).magnitude(), 0, atol=1e-12)


@plain
def test_a_rotor_alone_nutates_at_its_frequency() -> None:
    """To first order in the rate, I w' = g x w, with the frequency sqrt(g . I g / (I1 I2 I3))."""
    g, small = np.array([0.0, 0.0, 3.0]), 1e-7
    body = ph.Body([1.0, 1.75, 2.5], rotor=g)
    nu = np.sqrt(g @ (body.moments * g) / body.moments.prod())
    s = ph.simulate(body, omega=[small, 0, 0], t_span=(0, 5), rtol=1e-6, t_eval=np.linspace(0, 5, 21))
    np.testing.assert_allclose(s.omega[:, 0], small * np.cos(nu * s.t), rtol=0, atol=1e-6 * small)
    np.testing.assert_allclose(s.kinetic_energy, 0.5 * small**2, rtol=2e-6)


@plain
def test_a_slow_body_with_a_fast_wheel_is_as_accurate_as_its_momentum() -> None:
    """The rate is a small difference of momenta that are rounded: the estimate says so."""
    body = ph.Body([1.0, 1.75, 2.5], rotor=[0.0, 2.0, 3.0])
    with pytest.warns(ph.ToleranceNotReached, match="rtol=1e-10 was not reached"):
        s = ph.simulate(body, omega=[1e-7, 0, 0], t_span=(0, 2), rtol=1e-10, t_eval=[2.0])
    assert s.error_estimate is not None
    rate = by_scipy(body, [1e-7, 0, 0], 2.0, weight=False)[1]
    assert np.linalg.norm(s.omega[-1] - rate) / 1e-7 < s.error_estimate < 1e-6


@plain
def test_what_a_free_gyrostat_keeps() -> None:
    s = ph.simulate(TILTED, omega=OMEGA, t_span=(0, 50), step=0.5, method="G8")
    own = s.momentum - TILTED.rotor
    np.testing.assert_allclose(s.omega, np.linalg.solve(TILTED.tensor, own.T).T, rtol=0, atol=1e-14)
    np.testing.assert_allclose(s.kinetic_energy, (own * s.omega).sum(axis=1) / 2, rtol=1e-14)
    assert np.ptp(s.omega, axis=0).min() > 0.05  # it does move
    assert s.energy_error.max() < 1e-13
    assert s.momentum_error.max() < 1e-13


def test_exact_flows_are_prepared_for_the_whole_motion() -> None:
    """The bound of their effort holds along the motion, and is not far above."""
    rng = np.random.default_rng(4)
    for _ in range(8):
        i, g, m = rng.uniform(1.0, 2.0, 3), rng.normal(size=3), rng.normal(size=3)

        def slope(t: float, m: Floats, i: Floats = i, g: Floats = g) -> Floats:
            return np.cross(m, (m - g) / i)

        path = solve_ivp(slope, (0, 30), m, rtol=1e-8, max_step=0.5).y.T
        body = Inertia(tuple(i.tolist()), tuple((1 / i).tolist()))
        seen = np.array([effort(body, (x, y, z)) for x, y, z in path.tolist()]).max(axis=0)
        bound = np.array(greatest_efforts(i, g, m))
        assert (seen <= bound * (1 + 1e-6)).all()
        assert (bound <= 40.0 * seen).all()


@plain
def test_runs_go_on_and_between_rows() -> None:
    for method in ("MR2", "Strang", "Strang(corrector=3)"):
        kind: dict[str, Any] = {"omega": OMEGA, "step": 0.1, "method": method}
        whole = ph.simulate(TILTED, WEIGHT, t_span=(0, 2), **kind)
        half = ph.simulate(TILTED, WEIGHT, t_span=(0, 1), **kind)
        np.testing.assert_allclose(ph.resume(half, 2.0).momentum[-1], whole.momentum[-1], rtol=0, atol=1e-14)
        aside = ph.simulate(TILTED, WEIGHT, t_span=(0, 2), t_eval=[1.234], **kind)
        np.testing.assert_allclose(whole.at(1.234).omega[0], aside.omega[0], rtol=0, atol=1e-14)
    fine = ph.simulate(TILTED, omega=OMEGA, t_span=(0, 1), rtol=1e-9, t_eval=[0.5, 1.0])
    on = ph.resume(fine, 2.0, t_eval=[2.0])
    attitude, rate = by_scipy(TILTED, OMEGA, 2.0, weight=False)
    np.testing.assert_allclose(on.omega[-1], rate, rtol=0, atol=1e-9)
    np.testing.assert_allclose(on.at(2.0).omega[0], rate, rtol=0, atol=1e-9)
    assert (attitude.inv() * on.attitude[-1]).magnitude() < 1e-9


@plain
def test_events_see_the_rate() -> None:
    s = ph.simulate(BODY, omega=OMEGA, t_span=(0, 6), rtol=1e-9, t_eval=[6.0], events=lambda t, q, w: w[1])
    (rows,) = s.events
    assert rows.t.size > 0
    for t in rows.t:
        assert abs(by_scipy(BODY, OMEGA, float(t), weight=False)[1][1]) < 1e-8


@plain
def test_files_copies_and_tables(tmp_path: Path) -> None:
    for body in (BODY, TILTED):
        s = ph.simulate(body, WEIGHT, omega=OMEGA, t_span=(0, 1), step=0.1, method="MR2")
        s.save(tmp_path / "gyrostat.nc")
        again = ph.load(tmp_path / "gyrostat.nc")
        assert again.body == body
        assert again.body.rotor.tolist() == body.rotor.tolist()
        np.testing.assert_array_equal(again.omega, s.omega)
        np.testing.assert_array_equal(ph.resume(again, 2.0).momentum, ph.resume(s, 2.0).momentum)
        (tmp_path / "gyrostat.nc").unlink()
        assert copy.deepcopy(s).body == body
        assert s.to_xarray().attrs["rotor"].tolist() == body.rotor.tolist()
    bare = ph.simulate(ph.Body([1.0, 2.0, 2.5]), omega=OMEGA, t_span=(0, 1), step=0.1, method="MR2")
    assert "rotor" not in bare.to_xarray().attrs
    bare.save(tmp_path / "bare.nc")
    assert b"rotor" not in (tmp_path / "bare.nc").read_bytes()


@plain
def test_compare_has_a_reference_of_its_own() -> None:
    found = ph.compare(BODY, omega=OMEGA, t_span=(0, 2), methods=["MR2", "Strang"], steps=[0.1, 0.05], repeats=1)
    assert "DOP853" in found.reference.text
    mr2, strang = (min(e.worst[0] for e in found.entries if e.method == name) for name in ("MR2", "Strang"))
    assert 1e-6 < strang < mr2 < 1e-2


# --- many bodies


def gyrostats() -> tuple[list[ph.Body], Floats, Floats]:
    """Bodies of which some have rotors and some tilted axes, their rates and their moments."""
    rng = np.random.default_rng(8)
    rotors = 0.5 * rng.normal(size=(16, 3))
    bodies = [(TILTED if k % 3 == 0 else BODY).with_rotor(None if k % 4 == 1 else g) for k, g in enumerate(rotors)]
    return bodies, rng.normal(size=(16, 3)), rotors


@pytest.mark.parametrize(
    "method", ["Strang", *(pytest.param(m, marks=pytest.mark.evidence) for m in ("MR2", "RK4", "SABA", "RKMK4"))]
)
def test_ensembles_in_lanes_are_their_bodies(method: str) -> None:
    bodies, rates, _ = gyrostats()
    kind: dict[str, Any] = {"t_span": (0, 1), "step": 0.1, "method": method, "t_eval": [0.55, 1.0]}
    many = ph.ensemble(bodies, omega=rates, **kind)
    assert many.lanes > 1
    assert many.success.all()
    with interpreted():
        for k, body in enumerate(bodies):
            one = ph.simulate(body, omega=rates[k], **kind)
            for name in ("omega", "momentum", "quaternion", "kinetic_energy", "energy_error"):
                np.testing.assert_allclose(getattr(many, name)[k], getattr(one, name), rtol=0, atol=1e-13)
            assert many[k].body == body
    table = many.to_xarray()
    np.testing.assert_array_equal(table["rotor"], [b.rotor for b in bodies])


@plain
def test_rotors_apart_from_bodies() -> None:
    _, rates, rotors = gyrostats()
    kind: dict[str, Any] = {"t_span": (0, 1), "step": 0.2, "method": "MR2"}
    moments = np.broadcast_to([1.0, 1.75, 2.5], (16, 3))
    by_rows = ph.ensemble(moments, omega=rates, rotor=rotors, **kind)
    by_bodies = ph.ensemble([BODY.with_rotor(g) for g in rotors], omega=rates, **kind)
    np.testing.assert_array_equal(by_rows.momentum, by_bodies.momentum)
    np.testing.assert_array_equal(by_rows.kinetic_energy, by_bodies.kinetic_energy)
    one = ph.ensemble(TILTED.with_rotor(None), omega=OMEGA, rotor=rotors, **kind)
    alone = ph.simulate(TILTED.with_rotor(rotors[7]), omega=OMEGA, every=5, **kind)
    np.testing.assert_allclose(one.omega[7], alone.omega, rtol=0, atol=1e-14)
    drawn = ph.ensemble(
        TILTED.with_rotor(None), omega=OMEGA, rotor=ph.samples.Normal([0, 0, 1], sd=0.1), count=5, seed=2, **kind
    )
    assert len({tuple(drawn[k].body.rotor.tolist()) for k in range(5)}) == 5
    more = ph.ensemble(
        TILTED.with_rotor(None), omega=OMEGA, rotor=ph.samples.Normal([0, 0, 1], sd=0.1), count=9, seed=2, **kind
    )
    np.testing.assert_array_equal(drawn.momentum, more.momentum[:5])
    with pytest.raises(ValueError, match="rotor is given, but a Body has one of its own"):
        ph.ensemble(BODY, omega=rates, rotor=rotors, **kind)
    with pytest.raises(ValueError, match=r"the rows do not agree on the number of bodies.*rotor for 16"):
        ph.ensemble(moments[:3], omega=rates[:3], rotor=rotors, **kind)
    with pytest.raises(ValueError, match=r"rotor must have the shape \(3,\) or \(bodies, 3\)"):
        ph.ensemble(moments, omega=rates, rotor=[0.1, 0.2], **kind)
    with pytest.raises(ValueError, match="Exact does not accept a body with a rotor"):  # although the first has none
        ph.ensemble([BODY.with_rotor(None), BODY], omega=OMEGA, **(kind | {"method": "Exact"}))


SLOW = {  # moments, rates, rotor, time: rates that are differences of momenta, and a rotor between equal moments
    "closed form, a needle": ([0.506, 0.5061, 0.0045], [3.85e-4, 1.4e-7, -3.7e-5], [0.0, 0.0, 3e-5], 9000.0),
    "closed form, a fast rotor": ([1.7003, 1.7003, 2.148], [-2.3e-6, 6.6e-9, -3.4e-5], [-0.12265, 0, 0], 44.0),
    "closed form, between": ([0.988, 0.988, 1.575], [-0.252, 0.624, -0.266], [-0.0028, -0.0076, 0], -480.0),
    "run, a fast rotor": ([0.2242, 0.2283, 0.0241], [-4.2e-8, 1.6e-8, 6.7e-9], [1.651, 2.854, -0.7229], 2.0),
}  # fmt: skip


@plain
@pytest.mark.parametrize("case", SLOW)
def test_rounding_in_slow_rates_is_stated(case: str) -> None:
    moments, omega, rotor, t = SLOW[case]
    rng = np.random.default_rng(5)
    for _ in range(12):
        i, w, g = (np.array(x) * (1.0 + 1e-3 * rng.normal(size=3)) for x in (moments, omega, rotor))
        i[1] = i[0] if moments[0] == moments[1] else i[1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ph.ToleranceNotReached)
            s = ph.simulate(ph.Body(i, rotor=g), omega=w, t_span=(0, t), t_eval=[t], rtol=1e-9)
        true = Gyrostat(i.tolist(), w.tolist(), g.tolist(), 30).advance(t)
        rate = np.array([float(x) for x in true.omega])
        q = Rotation.from_quat([float(x) for x in true.q], scalar_first=True)
        largest = max(float(np.linalg.norm(w)), float(np.linalg.norm(rate)))
        error = max(float((q.inv() * s.attitude[-1]).magnitude()), float(np.linalg.norm(rate - s.omega[-1])) / largest)
        assert s.error_estimate is not None
        assert error < s.error_estimate


@plain
def test_ensembles_to_a_tolerance() -> None:
    bodies, rates, _ = gyrostats()
    some = slice(2, 7)
    many = ph.ensemble(bodies[some], WEIGHT, omega=rates[some], t_span=(0, 1), rtol=1e-8)
    assert many.error_estimate is not None
    assert many.error_estimate.max() <= 1e-8
    for k, body in enumerate(bodies[some]):
        _, rate = by_scipy(body, rates[some][k], 1.0, weight=True)
        np.testing.assert_allclose(many.omega[k, -1], rate, rtol=0, atol=1e-8)


# --- scenarios

SCENARIO = """
[body]
moments = [1.0, 1.75, 2.5]
rotor = [0.3, -0.2, 0.5]
[initial]
omega = [0.7, -0.4, 1.1]
[run]
t_span = [0.0, 1.0]
step = 0.1
method = "MR2"
"""


def scenario(folder: Path, text: str) -> Any:
    (folder / "gyrostat.toml").write_text(text, "utf-8")
    return load_scenario(folder / "gyrostat.toml")


@plain
def test_scenarios_have_rotors(tmp_path: Path) -> None:
    one = scenario(tmp_path, SCENARIO)
    assert one.body == BODY
    s = ph.simulate(BODY, omega=OMEGA, t_span=(0, 1), step=0.1, method="MR2")
    np.testing.assert_array_equal(one.simulate().momentum, s.momentum)
    named = scenario(tmp_path, SCENARIO.replace("moments = [1.0, 1.75, 2.5]", 'name = "water"'))
    assert named.body == ph.Body.named("water").with_rotor(ROTOR)
    momentum = scenario(tmp_path, SCENARIO.replace("omega", "momentum"))
    np.testing.assert_allclose(momentum.omega, (np.array(OMEGA) - ROTOR) / [1.0, 1.75, 2.5], rtol=1e-15)
    with pytest.raises(ValueError, match=r"body\.rotor"):
        scenario(tmp_path, SCENARIO.replace("rotor = [0.3, -0.2, 0.5]", "rotor = [0.3, -0.2]"))
    with pytest.raises(ValueError, match="Exact does not accept a body with a rotor"):
        scenario(tmp_path, SCENARIO.replace("MR2", "Exact"))


@plain
def test_drawn_bodies_keep_the_rotor(tmp_path: Path) -> None:
    table = "[ensemble]\ncount = 4\nseed = 3\n"
    many = scenario(tmp_path, SCENARIO + table + 'moments = {kind = "Normal", sd = 0.01}\n').ensemble()
    assert all(many[k].body.rotor.tolist() == ROTOR for k in range(4))
    assert len({tuple(many[k].body.moments.tolist()) for k in range(4)}) == 4
    many = scenario(tmp_path, SCENARIO + table + 'rotor = {kind = "Normal", sd = 0.01}\n').ensemble()
    rotors = np.array([many[k].body.rotor for k in range(4)])
    assert 0 < np.abs(rotors - ROTOR).max() < 0.1
    assert all(many[k].body.moments.tolist() == [1.0, 1.75, 2.5] for k in range(4))


def test_a_rotor_of_zero_is_none() -> None:
    """The same program and the same bits as without one."""
    kind: dict[str, Any] = {"omega": OMEGA, "t_span": (0, 1), "step": 0.1, "method": "MR2"}
    none, zero = (ph.simulate(BODY.with_rotor(rotor), **kind) for rotor in (None, [0, 0, 0]))
    np.testing.assert_array_equal(none.momentum, zero.momentum)
    np.testing.assert_array_equal(none.quaternion, zero.quaternion)


@plain
def test_a_torque_that_carries_numbers_sees_the_rate_of_a_gyrostat() -> None:
    """The carried number is the integral of the rate squared; the motion is the free one."""

    @ph.torque(state=["z"])
    def counter(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
        return (0.0, 0.0, 0.0), (w[0] * w[0] + w[1] * w[1] + w[2] * w[2],)

    end = by_scipy(TILTED, OMEGA, 1.0, weight=False)[1]
    seen = []
    for method in ("RK4", "RKMK4", "G8", "DOP853", "Radau"):
        s = ph.simulate(TILTED, counter, omega=OMEGA, state=[0.0], t_span=(0, 1), step=0.05, method=method)
        np.testing.assert_allclose(s.omega[-1], end, rtol=0, atol=1e-6)
        seen.append(float(s.state[-1, 0]))
        by_rows = np.trapezoid((s.omega**2).sum(axis=1), s.t)
        assert seen[-1] == pytest.approx(by_rows, rel=1e-3)
    np.testing.assert_allclose(seen, seen[2], rtol=1e-6)


@plain
def test_a_stepper_turns_gyrostats() -> None:
    bodies, rates, _ = gyrostats()
    kind: dict[str, Any] = {"step": 0.1, "method": "MR2"}
    one = ph.Stepper(TILTED, WEIGHT, omega=OMEGA, **kind)
    one.step(10)
    s = ph.simulate(TILTED, WEIGHT, omega=OMEGA, t_span=(0, 1), **kind)
    np.testing.assert_array_equal(one.momentum, s.momentum[-1])
    assert one.kinetic_energy == pytest.approx(s.kinetic_energy[-1], rel=1e-14)
    many = ph.Stepper(bodies, omega=rates, **kind)
    many.step(10)
    whole = ph.ensemble(bodies, omega=rates, t_span=(0, 1), **kind)
    np.testing.assert_allclose(many.omega, whole.omega[:, -1], rtol=0, atol=1e-15)
    np.testing.assert_allclose(many.kinetic_energy, whole.kinetic_energy[:, -1], rtol=1e-14)
    before = one.momentum.copy()
    one.kick([0.1, 0.0, 0.0], 0.5)
    np.testing.assert_allclose(one.momentum - before, [0.05, 0.0, 0.0], rtol=0, atol=1e-15)
    with pytest.raises(ValueError, match="a drift is exact"):
        one.drift(0.1)
    with pytest.raises(ValueError, match="Exact does not accept a body with a rotor"):
        ph.Stepper(BODY, omega=OMEGA, step=0.1, method="Exact")
