"""Magnetic torquers, control moment gyros, thrusters, and parts that read each other, against other equations."""

import math
import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.scenario import load_scenario
from polhode.support.arrays import Floats

pytestmark = pytest.mark.usefixtures("plain")

Magnetorquers: Any = ph.Magnetorquers  # which take lists and arrays, too
Gyros: Any = ph.ControlMomentGyros
BODY = ph.Body([0.05, 0.07, 0.09])
START = Rotation.from_rotvec([0.4, -0.3, 0.6])
WHEELS: Any = ph.ReactionWheels(np.eye(3), 0.01, speeds=[60, -40, 20], attitude_gain=0.4, rate_gain=2.0)  # type: ignore


def flux(t: Any) -> Any:
    return 3e-5 * np.array([np.cos(0.02 * t), np.sin(0.02 * t), 0.4 + 0.0 * t])


FIELD = ph.Table.from_function(flux, (0.0, 60.0), tolerance=1e-11, frame="space")


def b_dot(t: float, q: Any, w: Any, p: Any, b: Any) -> Any:
    change = ph.cross(b, w)
    return -p[0] * change[0], -p[0] * change[1], -p[0] * change[2]


def matrix(q: Floats) -> Floats:
    """From body to space; SciPy's own."""
    return Rotation.from_quat(np.roll(q, -1)).as_matrix()


def integrated(rate: Any, y: list[float], end: float, **how: Any) -> Floats:
    """The end of attitude, rate and further numbers; `rate(t, R, w, z)` returns the derivatives of the last two."""

    def slope(t: float, y: Floats) -> Floats:
        q, w = y[:4], y[4:7]
        dq = 0.5 * np.array([-q[1:] @ w, *(q[0] * w + np.cross(q[1:], w))])
        return np.concatenate([dq, *rate(t, matrix(q), w, y[7:])])

    return np.asarray(solve_ivp(slope, (0.0, end), y, method="DOP853", rtol=1e-11, atol=1e-13, **how).y[:, -1])


def at_start(omega: Any, *more: Any) -> list[float]:
    return [*np.roll(START.as_quat(), 1), *omega, *more]


# --- magnetic torquers


def test_b_dot_up_to_the_limits_agrees_with_scipy() -> None:
    moments, k, limit = np.diag(BODY.tensor), 2e5, np.array([0.1, 0.05, 0.2])
    axes = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])

    def rate(t: float, r: Floats, w: Floats, z: Floats) -> tuple[Floats, Floats]:
        b = r.T @ flux(t)
        m = axes.T @ np.clip(-k * np.cross(b, w), -limit, limit)
        return (np.cross(m, b) - np.cross(w, moments * w)) / moments, z

    coils = Magnetorquers(2.0 * axes, limit, FIELD, law=b_dot, parameters_of_law=[k])
    omega = [0.1, -0.2, 0.15]
    s = ph.simulate(BODY, coils, omega=omega, attitude=START, t_span=(0, 60), rtol=1e-8)
    truth = integrated(rate, at_start(omega), 60.0, max_step=0.1)
    np.testing.assert_allclose(s.omega[-1], truth[4:7], rtol=0.0, atol=1e-9)
    assert np.abs(-k * np.cross(START.inv().apply(flux(0.0)), omega))[0] > limit[0]  # a limit is reached
    assert s.kinetic_energy[-1] < 0.98 * s.kinetic_energy[0]


def test_the_cross_product_law_takes_the_rate_across_the_field_away() -> None:
    """In a field b that stays, w across it falls as exp(-k t / I) for a ball: m x b = -k (w - (w . b) b / b^2)."""

    def law(t: float, q: Any, w: Any, p: Any, b: Any) -> Any:
        x, y, z = ph.cross(b, w)
        size = -p[0] / ph.dot(b, b)
        return size * x, size * y, size * z

    coils = Magnetorquers(np.eye(3), 1e9, [0.0, 0.0, 3e-5], law=law, parameters_of_law=[0.1])
    ball = ph.Body([2.0, 2.0, 2.0])
    s = ph.simulate(ball, coils, omega=[0.3, 0.0, 0.2], t_span=(0, 10), rtol=1e-9)
    spatial = s.attitude[-1].apply(s.omega[-1])
    np.testing.assert_allclose(spatial, [0.3 * math.exp(-0.5), 0.0, 0.2], rtol=0.0, atol=1e-8)


def test_laws_have_names() -> None:
    named = [Magnetorquers(np.eye(3), 0.1, FIELD, law=law, parameters_of_law=[k]) for law, k in (("b_dot", 4e4),
             ("cross_product", 4e-5))]  # fmt: skip
    start: dict[str, Any] = {
        "omega": [0.1, -0.2, 0.15],
        "attitude": START,
        "t_span": (0, 5),
        "method": "RK4",
        "step": 0.5,
    }
    own = Magnetorquers(np.eye(3), 0.1, FIELD, law=b_dot, parameters_of_law=[4e4])
    runs = [ph.simulate(BODY, coils, **start) for coils in (*named, own)]
    np.testing.assert_array_equal(runs[0].omega, runs[2].omega)
    b = START.inv().apply(FIELD(0.0))
    moment = -4e-5 * np.cross(b, [0.1, -0.2, 0.15]) / (b @ b)
    np.testing.assert_allclose(runs[1].torque_of()[0], np.cross(np.clip(moment, -0.1, 0.1), b), rtol=1e-9)
    assert pickle.loads(pickle.dumps(named[0])).torque_kernel is named[0].torque_kernel


def commands(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
    """B-dot from two measurements: it remembers the last field, and that there was one."""
    b = ph.to_body(q, ph.table_at(p[0], t))
    k = ph.where(z[3] > 0.0, -p[1], 0.0)
    return (k * (b[0] - z[0]), k * (b[1] - z[1]), k * (b[2] - z[2])), (b[0], b[1], b[2], 1.0)


DIPOLES = ("dipole_x", "dipole_y", "dipole_z")
REMEMBERED = ["b_x", "b_y", "b_z", "known"]


def test_a_computer_holds_dipoles_that_torquers_read() -> None:
    """By hand, each period is a run with a constant dipole."""
    computer = ph.Sampled(1.0, commands, REMEMBERED, parameters=[FIELD, 2e4], holds=DIPOLES)
    coils = Magnetorquers(np.eye(3), 0.05, FIELD, reads=DIPOLES)
    how: dict[str, Any] = {"method": "RK4", "step": 0.25, "attitude": START}
    runs = [
        ph.simulate(BODY, x, omega=[0.1, -0.2, 0.15], t_span=(0, 8), **how)
        for x in (coils + computer, computer + coils)
    ]
    np.testing.assert_array_equal(runs[0].omega, runs[1].omega)
    q, w, b = START, np.array([0.1, -0.2, 0.15]), None
    for k in range(8):
        now = q.inv().apply(FIELD(float(k)))
        m = np.zeros(3) if b is None else np.clip(-2e4 * (now - b), -0.05, 0.05)
        held = ph.MagneticDipole(tuple(m), FIELD)  # type: ignore[arg-type]
        s = ph.simulate(BODY, held, omega=w, t_span=(k, k + 1), **(how | {"attitude": q}))
        q, w, b = s.attitude[-1], s.omega[-1], now
    np.testing.assert_allclose(runs[0].omega[-1], w, rtol=0.0, atol=1e-14)
    first = runs[0].state[np.searchsorted(runs[0].t, 1.25), [runs[0].state_names.index(name) for name in DIPOLES]]
    assert np.abs(first).max() > 0.05  # beyond the limit of the torquers
    np.testing.assert_array_equal(runs[0].torque_of("Magnetorquers"), runs[0].torque_of())
    together = ph.ensemble(BODY, coils + computer, omega=[[0.1, -0.2, 0.15]] * 3, t_span=(0, 8), **how)
    np.testing.assert_array_equal(together.omega[1, -1], runs[0].omega[-1])
    step = ph.simulate(BODY, coils + computer, omega=[0.1, -0.2, 0.15], t_span=(0, 8), **(how | {"method": "Strang"}))
    np.testing.assert_allclose(step.omega[-1], w, rtol=0.0, atol=1e-3)  # a splitting takes them, too


# --- parts that read others


@ph.torque(parameters=[0.02], reads=["wheel_1", "wheel_2", "wheel_3"])
def dumping(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
    return -p[0] * z[0], -p[0] * z[1], -p[0] * z[2]


def unloading(t: float, q: Any, w: Any, p: Any, b: Any, z: Any) -> Any:
    """The cross product law for the momentum of the wheels."""
    x, y, z_ = ph.cross(b, (z[0], z[1], z[2]))
    size = -p[0] / ph.dot(b, b)
    return size * x, size * y, size * z_


def by_wheels(outer: Any) -> Any:
    """The equations of a body with three wheels about its axes in relative speeds, with the gains of `WHEELS`."""
    moments, jay = np.diag(WHOLE.tensor), 0.01

    def rate(t: float, r: Floats, w: Floats, s: Floats) -> tuple[Floats, Floats]:
        h = jay * (s + w)
        q = np.roll(Rotation.from_matrix(r).as_quat(), 1)
        u = 0.4 * 2.0 * q[1:] * np.sign(q[0]) + 2.0 * w
        # I w' + J s' = n - w x H with H = I w + J s, and J (s' + w') = u
        n = outer(t, r, h) - np.cross(w, moments * w + jay * s)
        acceleration = (n - u) / (moments - jay)
        return acceleration, u / jay - acceleration

    return rate


WHOLE = ph.Body([9.0, 8.0, 5.0])


@pytest.mark.parametrize("kind", ["thrust", "torquers"])
def test_wheels_are_unloaded_by_a_sum(kind: str) -> None:
    if kind == "thrust":
        outer, part = (lambda t, r, h: -0.02 * h), dumping
    else:
        limit = 300.0
        part = Magnetorquers(
            np.eye(3), limit, FIELD, law=unloading, parameters_of_law=[0.02], reads=["wheel_1", "wheel_2", "wheel_3"]
        )

        def outer(t: float, r: Floats, h: Floats) -> Floats:
            b = r.T @ flux(t)
            return np.cross(np.clip(-0.02 * np.cross(b, h) / (b @ b), -limit, limit), b)

    start: dict[str, Any] = {"omega": [0.01, -0.02, 0.03], "attitude": START, "t_span": (0, 40)}
    s = ph.simulate(WHEELS.carrier(WHOLE), WHEELS + part, rtol=1e-8, **start)
    truth = integrated(by_wheels(outer), at_start(start["omega"], 60, -40, 20), 40.0, max_step=0.2)
    np.testing.assert_allclose(s.omega[-1], truth[4:7], rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(WHEELS.speeds_of(s)[-1], truth[7:], rtol=0.0, atol=2e-6)
    before, after = np.linalg.norm(s.total_momentum[[0, -1]], axis=1)
    assert after < 0.9 * before
    gained = s.total_momentum[-1] - s.total_momentum[0]  # the impulse of what acts from outside, by quadrature
    t, inner = s.t, s.attitude.apply(s.torque_of(1))
    assert np.linalg.norm(np.trapezoid(inner, t, axis=0) - gained) < 0.05 * np.linalg.norm(gained)


def test_commands_that_are_held_bend_nothing_within_a_step() -> None:
    """So that `rtol` need not look for places where a limit is reached."""
    coils = Magnetorquers(np.eye(3), 0.1, FIELD, reads=DIPOLES)
    held = ph.Sampled(1.0, commands, REMEMBERED, parameters=[FIELD, 2e4], holds=DIPOLES)

    def moving(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
        return (0.0, 0.0, 0.0), (1.0, 0.0, 0.0)

    assert coils.may_bend
    assert not (held + coils).may_bend
    assert (ph.torque(state=DIPOLES)(moving) + coils).may_bend
    assert (held + Magnetorquers(np.eye(3), 0.1, FIELD, reads=DIPOLES, law=reading_law)).may_bend


def reading_law(t: float, q: Any, w: Any, p: Any, b: Any, z: Any) -> Any:
    return z[0] if w[0] > 0.1 else 0.0, z[1], z[2]


def test_names_that_two_parts_share_are_read_by_their_full_names() -> None:
    def hold(t: float, q: Any, w: Any, p: Any) -> Any:
        return (p[0],)

    def reader(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
        return z[0], 10.0 * z[1], 0.0

    two = [ph.Sampled(1.0, hold, parameters=[k], holds=["u"]) for k in (1.0, 2.0)]
    part = ph.torque(reads=["hold_2_u", "hold_u"])(reader)
    s = ph.simulate(BODY, two[0] + part + two[1], omega=[0, 0, 0.1], t_span=(0, 0.5), method="RK4", step=0.5)
    np.testing.assert_array_equal(s.torque_of("reader")[0], [2.0, 10.0, 0.0])
    with pytest.raises(ValueError, match=r"reads u, which nothing carries here \(carried: .*hold_u"):
        ph.simulate(BODY, two[0] + two[1] + ph.torque(reads=["u"])(reader), omega=[0, 0, 0.1], t_span=(0, 1), rtol=1e-6)


def test_a_law_reads_what_another_law_holds_at_the_same_time() -> None:
    """A chain of laws is sampled from its beginning to its end, whatever its order in the sum."""

    def clock(t: float, q: Any, w: Any, p: Any) -> Any:
        return (t,)

    def follows(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
        return z[0], 0.0, 0.0

    first = ph.Sampled(1.0, clock, holds=["u"])
    then = ph.Sampled(1.0, follows, reads=["u"], holds=["v", "x", "y"])
    last = ph.Sampled(1.0, follows, reads=["v"])
    for total in (first + then + last, last + then + first, then + last + first):
        s = ph.simulate(BODY, total, omega=[0, 0, 0.1], t_span=(0, 3), method="RK4", step=0.5)
        np.testing.assert_array_equal(s.torque_of()[[1, 3, 5], 0], [0.0, 1.0, 2.0])


# --- control moment gyros


def test_gyros_exchange_momentum_exactly() -> None:
    """By SciPy the rate follows from the constant momentum in space, and only attitude and angles are integrated."""
    tensor, h = np.array([[100.0, 3.0, 1.0], [3.0, 120.0, -4.0], [1.0, -4.0, 150.0]]), np.array([10.0, 12.0, 9.0, 11.0])
    beta, angles, k, d, lam = math.radians(50.0), np.radians([10.0, -30.0, 60.0, 20.0]), 4.0, 20.0, 0.05
    phi = np.arange(4) * math.pi / 2.0
    g = np.stack([math.sin(beta) * np.cos(phi), math.sin(beta) * np.sin(phi), np.full(4, math.cos(beta))])
    start = np.stack([-np.sin(phi), np.cos(phi), np.zeros(4)])

    def turned(z: Floats) -> Floats:
        return np.stack([Rotation.from_rotvec(z[i] * g[:, i]).apply(start[:, i]) for i in range(4)], axis=1)

    omega = np.array([0.01, -0.02, 0.03])
    whole = START.apply(tensor @ omega + turned(angles) @ h)

    def slope(t: float, y: Floats) -> Floats:
        q, z = y[:4] / np.linalg.norm(y[:4]), y[4:]
        s = turned(z)
        w = np.linalg.solve(tensor, matrix(q).T @ whole - s @ h)
        a = h * np.cross(g, s, axis=0)
        wanted = k * 2.0 * q[1:] * np.sign(q[0]) + d * w
        rates = a.T @ np.linalg.solve(a @ a.T + (lam * h.mean()) ** 2 * np.eye(3), wanted)
        dq = 0.5 * np.array([-q[1:] @ w, *(q[0] * w + np.cross(q[1:], w))])
        return np.concatenate([dq, rates])

    y = solve_ivp(slope, (0.0, 30.0), [*np.roll(START.as_quat(), 1), *angles], method="DOP853", rtol=1e-11, atol=1e-12)
    gyros = Gyros.pyramid(h, 50.0, angles=angles, attitude_gain=k, rate_gain=d, damping=lam)
    run = ph.simulate(ph.Body(tensor), gyros, omega=omega, attitude=START, t_span=(0, 30), method="G8", step=0.125)
    np.testing.assert_allclose(run.state[-1], y.y[4:, -1], rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(
        run.quaternion[-1] * np.sign(run.quaternion[-1, 0]), y.y[:4, -1] * np.sign(y.y[0, -1]), atol=1e-8
    )
    assert np.abs(run.total_momentum - whole).max() < 2e-14 * np.linalg.norm(whole)  # round-off: 240 steps


def test_the_singularity_measure_of_a_pyramid() -> None:
    """At rest it is 4 c^2 s for the skew angle; the singular angles are those of textbooks [kurokawa2007]."""
    for skew in (30.0, 53.13, 60.0):
        c, s = math.cos(math.radians(skew)), math.sin(math.radians(skew))
        assert abs(Gyros.pyramid(7.0, skew).singularity([0, 0, 0, 0]) - 4.0 * c * c * s) < 1e-14
    gyros = Gyros.pyramid(10.0)
    rows = np.radians([[-90, 0, 90, 0], [90, 180, -90, 0], [90, 90, 90, 90], [45, 0, 0, 0]])
    found = gyros.singularity(rows)
    assert found[:3].max() < 1e-7  # the root of round-off
    assert found[3] > 0.5
    assert gyros.carried_momentum(rows[2:3])[0, 2] == pytest.approx(40.0 * math.sin(math.atan(math.sqrt(2.0))))


def test_gyros_at_a_singularity_stop_within_their_limits() -> None:
    gyros = Gyros.pyramid(
        10.0, angles=np.radians([-85, 5, 85, 3]), attitude_gain=4.0, rate_gain=20.0, rate_limit=0.5, damping=0.02
    )  # fmt: skip
    tilted = Rotation.from_rotvec([0.3, 0.2, -0.2])
    s = ph.simulate(ph.Body([100, 120, 150]), gyros, omega=[0, 0, 0], attitude=tilted, t_span=(0, 40), rtol=1e-7)
    assert np.abs(np.diff(s.state, axis=0) / np.diff(s.t)[:, None]).max() <= 0.5 + 1e-9
    assert np.linalg.norm(s.total_momentum - s.total_momentum[0], axis=1).max() < 1e-7
    assert np.degrees(s.attitude[-1].magnitude()) < 3.0


# --- thrusters


def wanted(t: float, q: Any, w: Any, p: Any) -> Any:
    return p[0] * w[0], -p[0] * w[0], -p[0] * w[2], 0.004


JETS = np.array([[-0.5, 0.1, 0.0], [0.5, 0.0, 0.05], [0.0, 0.0, 0.4], [0.0, 9.0, 0.0]])


def test_pulses_are_whole_ticks_and_none_is_too_short() -> None:
    """SciPy integrates from switch to switch; on-times are rounded by hand."""
    body, omega, k, tick, period, least = ph.Body([2.0, 3.0, 4.0]), np.array([0.1, 0.05, -0.12]), 1.73, 0.02, 0.5, 0.05
    moments = np.diag(body.tensor)
    y, fired, silent = np.array(at_start(omega)), 0.0, 0
    for _ in range(6):
        asked = np.array([k * y[4], -k * y[4], -k * y[6], 0.004])
        on = np.clip(np.round(asked / tick), 0, period / tick) * tick
        silent += int(((on > 0) & (on < least - 1e-12)).sum())
        on[on < least - 1e-12] = 0.0
        fired += on.sum()
        edges = np.unique([0.0, *on, period])
        for a, b in pairwise(edges):
            force = JETS.T @ (on > a + 1e-9).astype(float)

            def rate(t: float, r: Floats, w: Floats, z: Floats, force: Floats = force) -> tuple[Floats, Floats]:
                return (force - np.cross(w, moments * w)) / moments, z

            y = integrated(rate, list(y), float(b - a))
    jets = ph.thrusters(JETS, wanted, period=period, tick=tick, minimum_on=least, parameters=[k])
    for how in ({"rtol": 1e-9}, {"method": "MR4", "step": 0.05}, {"method": "RK4", "step": 0.005}):
        s = ph.simulate(body, jets, omega=omega, attitude=START, t_span=(0, 3), **how)
        np.testing.assert_allclose(s.omega[-1], y[4:7], rtol=0.0, atol=1e-8)
        assert s.state[-1, s.state_names.index("fired")] == pytest.approx(fired, abs=1e-12)
    assert silent > 0  # a pulse was too short


def test_thrusters_remember_and_unload_wheels() -> None:
    """The law reads the wheels and counts its calls."""

    def law(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
        return (p[0] * z[1], -p[0] * z[1]), z[0] + 1.0

    jets = ph.thrusters(
        [[-0.5, 0, 0], [0.5, 0, 0]], law, period=1.0, tick=0.01, parameters=[0.1], state=["calls"], reads=["wheel_1"]
    )  # fmt: skip
    s = ph.simulate(WHEELS.carrier(WHOLE), jets + WHEELS, omega=[0, 0, 0], t_span=(0, 40), method="RK4", step=0.05)
    assert s.state[-1, s.state_names.index("calls")] == 40.0
    h = s.state[:, s.state_names.index("wheel_1")]
    assert abs(h[-1]) < 0.3 * abs(h[0])
    fired = s.state[-1, s.state_names.index("fired")]
    assert abs((s.total_momentum[-1] - s.total_momentum[0])[0]) == pytest.approx(0.5 * fired, rel=0.02)


# --- files, pickles, and what is refused


def test_models_are_saved_and_pickled(tmp_path: Path) -> None:
    plain = Gyros.pyramid(10.0, attitude_gain=4.0, rate_gain=20.0)
    s = ph.simulate(ph.Body([100, 120, 150]), plain, omega=[0.01, 0, 0], t_span=(0, 1), method="RK4", step=0.5)
    s.save(tmp_path / "run.nc")
    assert ph.load(tmp_path / "run.nc").torque == plain
    again = pickle.loads(pickle.dumps(WHEELS + dumping))
    assert again.name == "ReactionWheels + dumping"
    assert again.parts["dumping"].reads == dumping.reads
    computer = ph.Sampled(1.0, commands, REMEMBERED, parameters=[FIELD, 2e4], holds=DIPOLES)
    assert pickle.loads(pickle.dumps(computer)).state_names == computer.state_names == (*DIPOLES, *REMEMBERED, "sample")


def test_a_scenario_has_a_computer_and_torquers(here: Path) -> None:
    (here / "coils.py").write_text(
        "import polhode as ph\n\ndef law(t, q, w, p):\n    return (p[0] * w[1], -p[0] * w[0], 0.1)\n\n"
        "computer = ph.Sampled(0.5, law, parameters=[3.0], holds=['u', 'v', 'w'])\n",
        "utf-8",
    )
    (here / "run.toml").write_text(
        "[body]\nmoments = [0.05, 0.07, 0.09]\n[initial]\nomega = [0.1, -0.2, 0.15]\n"
        '[[torque]]\nmodel = "coils.py:computer"\n[[torque]]\nmodel = "Magnetorquers"\nlimits = 0.2\n'
        'dipoles = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]\nreads = ["u", "v", "w"]\n[torque.field]\nmodel = "DipoleField"\n'
        'orbit = {semi_major_axis = 6.778e6}\n[run]\nt_span = [0.0, 2.0]\nstep = 0.1\nmethod = "RK4"\n',
        "utf-8",
    )
    s = ph.simulate(**load_scenario(here / "run.toml").arguments())
    assert s.state_names == ("u", "v", "w", "sample")
    field = ph.environment.DipoleField(ph.environment.Orbit(semi_major_axis=6.778e6)).vectors(s.t[3])
    moment = np.clip(s.state[3, :3], -0.2, 0.2)
    np.testing.assert_allclose(s.torque_of(1)[3], np.cross(moment, s.attitude[3].inv().apply(field)), rtol=1e-12)


def first_law(t: float, q: Any, w: Any, p: Any, b: Any) -> Any:
    return 1.0, 2.0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Magnetorquers(np.eye(3), -0.2, FIELD, law=b_dot), "limits must be positive, not -0.2"),
        (lambda: Magnetorquers(np.eye(3), [1, 2], FIELD, law=b_dot), "one for each of the 3 torquers, not 2 numbers"),
        (lambda: Magnetorquers(np.eye(3), 0.2, FIELD), "nothing sets the moments: give a law"),
        (lambda: Magnetorquers(np.eye(3), 0.2, FIELD, law=first_law), "must return the moments of 3 torquers, not"),
        (lambda: Magnetorquers(np.eye(3), 0.2, FIELD, reads=["a"]), "reads must name the moments of 3 torquers, not"),
        (lambda: Magnetorquers(np.eye(3), 0.2, FIELD, reads="a"), "reads must be a list of names"),
        (lambda: Magnetorquers(np.eye(3), 0.2, FIELD, law="b_dot"), "is for the dipoles .* and one parameter k"),
        (lambda: Magnetorquers(np.eye(3), 0.2, FIELD, law="bdot"), "there is no law of torquers 'bdot'.*b_dot"),
        (lambda: Gyros([[0, 0, 1]], [[0, 1, 1]], 1.0), "rotor_axes.0. is 45 degrees from gimbal_axes.0.*90 degrees"),
        (lambda: Gyros([[0, 0, 1]] * 3, np.eye(3)[:2], 1.0), "there are 3 gimbal_axes, but 2 rotor_axes"),
        (lambda: Gyros([[0, 0, 1]] * 4, [[1, 0, 0]] * 4, 1.0, rate_gain=1.0), "all gimbal_axes are parallel.*pyramid"),
        (lambda: Gyros(np.eye(3)[:2], np.eye(3)[1:], 1.0, rate_gain=1.0), "there are 2 gyros, so that there is no"),
        (lambda: Gyros.pyramid(-3.0), "momenta must be positive, not -3"),
        (lambda: Gyros.pyramid(3.0, rate_gain=1.0, damping=-1.0), "damping must be positive or zero, not -1"),
        (lambda: Gyros.pyramid(3.0, rate_limit=-1.0), "rate_limit must be positive, not -1"),
        (lambda: Gyros.pyramid(3.0).singularity([0, 0, 0]), "angles must have 4 numbers along the last axis"),
        (
            lambda: Gyros.pyramid(3.0, rate_gain=1.0, damping=0.0, angles=np.radians([-90, 0, 90, 0])),
            "singular at the angles -90, 0, 90, 0 degrees.*Start at other angles=, or give damping",
        ),
        (lambda: ph.thrusters(JETS, wanted, period=1.0, tick=0.3), "3.33333 of 0.3 s"),
        (lambda: ph.thrusters(JETS, wanted, period=1.0, tick=-0.1), "tick must be positive"),
        (lambda: ph.thrusters(JETS, wanted, period=1.0, tick=0.1, minimum_on=-0.1), "positive or zero, not -0.1"),
        (lambda: ph.thrusters(JETS, wanted, period=1.0, tick=0.1, minimum_on=2.0), "2 s, longer than the period of 1"),
        (lambda: ph.thrusters(JETS[:2], wanted, period=1.0, tick=0.1, parameters=[1]), "must return the on-times of 2"),
        (lambda: ph.Sampled(1.0, wanted, ["u"], holds=["u"]), "'u' is taken"),
        (lambda: ph.Sampled(1.0, dumping, reads=["u"]), "remembers nothing: state, reads and holds are for a function"),
        (lambda: ph.torque(reads=["u"])(wanted), r"unlike wanted\(t: "),
        (lambda: ph.torque(reads=["u"], compiled=False)(dumping), "reads= needs compiled=True"),
        (lambda: ph.ReactionWheels(((1, 0, 0),), 0.1, reads=("u", "v")), "reads must name the torques of 1 motors"),
    ],
)  # fmt: skip
def test_what_is_refused(make: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        make()


def test_a_field_must_cover_the_run() -> None:
    coils = Magnetorquers(np.eye(3), 0.2, FIELD, law=b_dot, parameters_of_law=[1.0])
    with pytest.raises(ValueError, match=r"from t = 0.0 to 60.0 s"):
        ph.simulate(BODY, coils, omega=[0, 0, 1], t_span=(0, 61), rtol=1e-6)


def test_motors_take_commands_of_a_computer() -> None:
    def law(t: float, q: Any, w: Any, p: Any) -> Any:
        return tuple(0.4 * 2.0 * q[1 + i] + 2.0 * w[i] for i in range(3))

    motors: Any = ph.ReactionWheels(np.eye(3), 0.01, speeds=[60, -40, 20], reads=("u", "v", "w"))  # type: ignore
    computer = ph.Sampled(0.01, law, holds=["u", "v", "w"])
    start: dict[str, Any] = {"omega": [0.01, 0.02, 0.0], "t_span": (0, 5), "method": "RK4", "step": 0.01}
    s = ph.simulate(motors.carrier(WHOLE), motors + computer, **start)
    continuous = ph.simulate(WHEELS.carrier(WHOLE), WHEELS, **start)
    np.testing.assert_allclose(s.omega[-1], continuous.omega[-1], rtol=0.0, atol=1e-4)
    assert np.abs(s.total_momentum - s.total_momentum[0]).max() < 1e-9
