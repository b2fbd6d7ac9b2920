"""Bodies that change with time: against SciPy, closed solutions, published jet damping, and the momentum."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

import polhode as ph
from polhode.scenario import load_scenario
from tests.authorities import Floats

plain = pytest.mark.usefixtures("plain")
OMEGA = [0.3, 1.0, 0.5]
SPAN = (0.0, 4.0)


def tensor(t: float) -> Floats:
    """A tensor none of whose axes stays."""
    off, far = 0.2 * np.cos(t), 0.02 * t
    return np.array([[2 + 0.3 * np.sin(t), far, 0.1], [far, 3.0, off], [0.1, off, 3.5 - 0.05 * t]])


BODY = ph.Body(tensor, times=SPAN)
BOOM = ph.Body([[1.0, 2.0, 2.8], [3.0, 4.0, 2.8]], times=[0.0, 60.0])


def by_scipy(of: Any, omega: Any, t: Any, torque: Any = None, rotor: Any = (0.0, 0.0, 0.0)) -> tuple[Floats, Floats]:
    """Quaternions and momenta by Euler's equation for the momentum; nothing of polhode but the numbers."""

    def slope(t: float, y: Floats) -> Floats:
        (a, b, c, d), m = y[:4], y[4:]
        x, y_, z = w = np.linalg.solve(of(t), m - rotor)
        n = np.cross(m, w) + (0.0 if torque is None else torque(t, y[:4], w))
        turn = [-b * x - c * y_ - d * z, a * x + c * z - d * y_, a * y_ + d * x - b * z, a * z + b * y_ - c * x]
        return np.concatenate([0.5 * np.array(turn), n])

    start = [1.0, 0.0, 0.0, 0.0, *(of(t[0]) @ np.array(omega) + rotor)]
    found = solve_ivp(slope, (t[0], t[-1]), start, t_eval=t, method="DOP853", rtol=3e-14, atol=1e-15)
    return found.y[:4].T, found.y[4:].T


@plain
@pytest.mark.parametrize("method", ["G8", "DOP853", "GBS", "Radau", "RK4", "CF4"])
def test_methods_follow_a_tensor_that_turns_and_grows(method: str) -> None:
    t = np.linspace(0.0, 1.0, 3)
    rotor = np.array([0.2, -0.1, 0.4])
    body = ph.Body(tensor, times=SPAN, rotor=rotor)
    if not ph.methods.find(method).accepts_changing:
        with pytest.raises(ValueError, match="does not accept a body that changes with time: use G8"):
            ph.simulate(body, omega=OMEGA, t_span=(0, 1), method=method, step=0.1)
        return
    run = ph.simulate(body, omega=OMEGA, t_span=(0, 1), t_eval=t, method=method, step=0.02 if "4" in method else 0.25)
    q, m = by_scipy(tensor, OMEGA, t, rotor=rotor)
    assert np.abs(run.quaternion - q).max() < (1e-8 if "4" in method else 1e-10)
    assert np.abs(run.momentum - m).max() < (1e-8 if "4" in method else 1e-10)
    wanted = [np.linalg.solve(tensor(s), x - rotor) for s, x in zip(t, run.momentum, strict=True)]
    assert np.abs(run.omega - wanted).max() < 1e-14
    energies = [w @ tensor(s) @ w / 2 for s, w in zip(t, run.omega, strict=True)]
    assert run.kinetic_energy == pytest.approx(energies, rel=1e-14)


def test_compiled_runs_keep_the_momentum_and_agree_with_interpreted_ones() -> None:
    run = ph.simulate(BODY, omega=OMEGA, t_span=SPAN, method="G8", step=0.25)
    L = run.spatial_momentum
    assert np.abs(L - L[0]).max() < 2e-14 * np.linalg.norm(L[0])
    assert set(run.invariant_errors) == {"quaternion norm", "momentum norm", "spatial momentum"}
    q, m = by_scipy(tensor, OMEGA, np.array([0.0, 4.0]))
    assert np.abs(run.quaternion[-1] - q[-1]).max() < 1e-12
    assert np.abs(run.momentum[-1] - m[-1]).max() < 1e-12


def test_steps_about_fixed_axes_keep_the_momentum_and_have_order_two() -> None:
    errors = []
    for step in (0.1, 0.05):
        run = ph.simulate(BOOM, omega=OMEGA, t_span=(0, 10), method="MR2", step=step)
        L = run.spatial_momentum
        assert np.abs(L - L[0]).max() < 2e-14 * np.linalg.norm(L[0])
        _, m = by_scipy(lambda t: np.diag([1 + t / 30, 2 + t / 30, 2.8]), OMEGA, np.array([0.0, 10.0]))
        errors.append(np.abs(run.momentum[-1] - m[-1]).max())
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)
    with pytest.raises(ValueError, match="only if its principal axes stay"):
        ph.simulate(BODY, omega=OMEGA, t_span=SPAN, method="MR2", step=0.1)


@plain
def test_a_symmetric_body_with_linear_moments_has_a_closed_solution() -> None:
    """m3 stays, and m1 + i m2 turns by m3 times the integral of 1/C - 1/A: logarithms."""
    a0, a1, c0, c1, t1 = 2.0, 0.15, 1.2, -0.05, 6.0
    body = ph.Body([[a0, a0, c0], [a0 + a1 * t1, a0 + a1 * t1, c0 + c1 * t1]], times=[0, t1])
    t = np.linspace(0, t1, 7)
    run = ph.simulate(body, omega=[0.5, 0.0, 2.0], t_span=(0, t1), rtol=1e-10, t_eval=t)
    angle = 2.0 * c0 * (np.log1p(c1 * t / c0) / c1 - np.log1p(a1 * t / a0) / a1)
    m = np.stack([0.5 * a0 * np.cos(angle), -0.5 * a0 * np.sin(angle), np.full(7, 2.0 * c0)], axis=1)
    assert np.abs(run.momentum - m).max() < 1e-9
    assert run.error_estimate is not None
    assert run.error_estimate < 1e-10


@plain
def test_a_deployment_is_a_jump_at_constant_momentum() -> None:
    early, late = [1.0, 2.0, 2.8], [3.0, 3.5, 2.9]
    body = ph.Body([early, early, late, late], times=[0, 1, 1, 3])
    assert body.breakpoints == (1.0,)
    t = [0.5, 1.0, 1.5, 2.5]
    run = ph.simulate(body, omega=OMEGA, t_span=(0, 2.5), rtol=1e-10, t_eval=t)
    before = ph.FreeMotion(ph.Body(early), OMEGA).at([0.5, 1.0])
    after = ph.FreeMotion(
        ph.Body(late), before.momentum[1] / late, before.quaternion[1], t0=1.0
    ).at([1.5, 2.5])  # fmt: skip
    assert np.abs(run.momentum - np.vstack([before.momentum, after.momentum])).max() < 1e-9
    assert np.abs(run.omega[1] - before.momentum[1] / late).max() < 1e-9  # at the jump: that after it
    assert run.spatial_momentum == pytest.approx(np.tile(run.spatial_momentum[0], (4, 1)), rel=1e-10)


@plain
def test_jet_damping_as_thomson_has_it() -> None:
    """With A = m k^2 and a nozzle at l: w = w0 (m / m0)^(l^2 / k^2 - 1).  [thomson1961]"""
    k2, l2, m0, loss = 0.8, 1.9, 100.0, 4.0
    at = np.array([0.0, 5.0, 10.0])
    mass = m0 - loss * at
    body = ph.Body(np.outer(mass, [k2, k2, 0.3 * k2]), times=at)
    jet = ph.MassFlow(rate=-loss, point=(0, 0, -np.sqrt(l2)))
    run = ph.simulate(body, jet, omega=[0.2, 0, 0], t_span=(0, 10), rtol=1e-9, t_eval=at)
    assert run.omega[:, 0] == pytest.approx(0.2 * (mass / m0) ** (l2 / k2 - 1.0), rel=1e-8)
    with_own = ph.simulate(body, ph.MassFlow(), omega=[0.2, 0, 0], t_span=(0, 10), rtol=1e-9, t_eval=at)
    assert with_own.omega[:, 0] == pytest.approx(np.full(3, 0.2), rel=1e-8)
    without = ph.simulate(body, omega=[0.2, 0, 0], t_span=(0, 10), rtol=1e-9, t_eval=at)
    assert without.omega[:, 0] == pytest.approx(0.2 * m0 / mass, rel=1e-8)


@plain
def test_mass_that_leaves_a_tilted_tensor_takes_what_it_had() -> None:
    run = ph.simulate(BODY, ph.MassFlow(), omega=OMEGA, t_span=(0, 1), rtol=1e-9, t_eval=[1.0])
    h = 1e-6
    change = lambda t, q, w: (tensor(t + h) - tensor(t - h)) / (2 * h) @ w  # noqa: E731
    _, m = by_scipy(tensor, OMEGA, np.array([0.0, 1.0]), change)
    assert np.abs(run.momentum[-1] - m[-1]).max() < 1e-8


@plain
def test_a_burning_rocket_whose_thrust_misses_the_centre() -> None:
    """Spin about the third axis grows by the integral of the torque over the moment, transverse momentum follows."""
    body = ph.Body([[9.0, 9.0, 2.0], [5.0, 5.0, 1.2]], times=[0, 10])
    push = ph.ConstantBodyTorque((0.0, 0.0, 0.3))
    run = ph.simulate(body, push, omega=[0, 0, 1], t_span=(0, 10), rtol=1e-9, t_eval=[10.0])
    assert run.omega[-1, 2] == pytest.approx((2.0 + 3.0) / 1.2, rel=1e-8)
    angle, _ = quad(lambda t: (2.0 + 0.3 * t) / (2.0 - 0.08 * t), 0, 10)
    assert run.quaternion[-1] == pytest.approx([np.cos(angle / 2), 0, 0, np.sin(angle / 2)], abs=1e-8)


@plain
@pytest.mark.parametrize("of", [tensor, lambda t: np.diag([2 + 0.1 * t, 3.0, 3.5])])
def test_the_gravity_gradient_acts_on_the_tensor_of_the_time(of: Any) -> None:
    def pull(t: float, q: Floats, w: Floats) -> Floats:
        u = _third_in_body(q)
        return 0.7 * np.cross(u, of(t) @ np.array(u))

    body = ph.Body(of, times=SPAN)
    run = ph.simulate(body, ph.GravityGradient(strength=0.7), omega=OMEGA, t_span=(0, 2), rtol=1e-9, t_eval=[2.0])
    q, m = by_scipy(of, OMEGA, np.array([0.0, 2.0]), pull)
    assert np.abs(run.momentum[-1] - m[-1]).max() < 1e-8
    assert np.abs(run.quaternion[-1] - q[-1]).max() < 1e-8


def _third_in_body(q: Floats) -> Floats:
    a, b, c, d = q
    return np.array([2 * (b * d - a * c), 2 * (c * d + a * b), a * a - b * b - c * c + d * d])


@plain
def test_files_copies_and_going_on(tmp_path: Path) -> None:
    run = ph.simulate(BODY, omega=OMEGA, t_span=(0, 1), method="G8", step=0.25)
    run.save(tmp_path / "run.nc")
    read = ph.load(tmp_path / "run.nc")
    assert read.body == BODY
    assert hash(read.body) == hash(BODY)
    assert read.body != BOOM
    assert np.array_equal(read.omega, run.omega)
    longer = ph.resume(read, t_end=2.0)
    once = ph.simulate(BODY, omega=OMEGA, t_span=(0, 2), method="G8", step=0.25)
    assert np.array_equal(longer.quaternion[-1], once.quaternion[-1])
    assert np.abs(once.at(0.6).momentum - by_scipy(tensor, OMEGA, np.array([0.0, 0.6]))[1][-1]).max() < 1e-8
    for other in (copy.deepcopy(BODY), pickle.loads(pickle.dumps(BODY))):
        assert other == BODY
        assert other.at(1.0) == BODY.at(1.0)
        again = ph.simulate(other, omega=OMEGA, t_span=(0, 2), method="G8", step=0.25)
        assert np.array_equal(again.momentum, once.momentum)
    with pytest.raises(ValueError, match=r"known from 0 to 4 s, and not over the span from 1 to 5: give it for all"):
        ph.resume(read, t_end=5.0)


@plain
def test_ensembles_and_steppers_make_the_same_motion() -> None:
    one = ph.simulate(BODY, omega=OMEGA, t_span=(0.5, 1), method="RK4", step=0.1)
    many = ph.ensemble(BODY, omega=[OMEGA, [0.1, 0.2, 0.3]], t_span=(0.5, 1), method="RK4", step=0.1)
    assert np.abs(many.momentum[0, -1] - one.momentum[-1]).max() < 1e-15
    assert np.abs(many.omega[0, -1] - one.omega[-1]).max() < 1e-15
    assert many.kinetic_energy[0, -1] == pytest.approx(one.kinetic_energy[-1], rel=1e-14)
    two = [BODY, ph.Body(lambda t: 2 * tensor(t), times=SPAN)]
    several = ph.ensemble(two, omega=OMEGA, t_span=(0.5, 1), method="RK4", step=0.1)
    assert np.abs(2 * several.momentum[0] - several.momentum[1]).max() < 1e-14
    loop = ph.Stepper(BODY, omega=OMEGA, method="RK4", step=0.1, t=0.5)
    loop.step(5)
    assert np.abs(loop.momentum - one.momentum[-1]).max() < 1e-15
    assert np.abs(loop.omega - one.omega[-1]).max() < 1e-14
    with pytest.raises(ValueError, match="at the same times"):
        ph.ensemble([BODY, ph.Body([1, 2, 2.8])], omega=OMEGA, t_span=(0, 1), method="RK4", step=0.1)


@plain
def test_the_gravity_gradient_on_many_bodies_that_change() -> None:
    pull = ph.GravityGradient(strength=0.7)
    alone = ph.simulate(BODY, pull, omega=OMEGA, t_span=(0, 1), method="RK4", step=0.1)
    many = ph.ensemble(BODY, pull, omega=[OMEGA, OMEGA], t_span=(0, 1), method="RK4", step=0.1)
    assert np.abs(many.momentum[:, -1] - alone.momentum[-1]).max() < 1e-15


@plain
def test_ensembles_are_saved_with_their_tensors(tmp_path: Path) -> None:
    many = ph.ensemble(BODY, omega=[OMEGA, [0.1, 0.2, 0.3]], t_span=(0.5, 1), method="RK4", step=0.1)
    many.save(tmp_path / "many.nc")
    read = ph.load(tmp_path / "many.nc")
    assert np.array_equal(read.omega, many.omega)


@plain
def test_events_see_the_rate_of_the_time() -> None:
    seen = ph.simulate(
        BOOM, omega=[0, 0.5, 0], t_span=(0, 30), rtol=1e-8, events=[lambda t, q, w: w[1] - 0.4],
    )  # fmt: skip
    assert seen.events[0].t[0] == pytest.approx(15.0, rel=1e-7)  # 2 (0.5) = (2 + t / 30) 0.4


@plain
def test_scenarios_have_tables_of_moments(tmp_path: Path) -> None:
    path = tmp_path / "boom.toml"
    path.write_text(
        "[body]\ntimes = [0, 60]\nmoments_at = [[1, 2, 2.8], [3, 4, 2.8]]\n[initial]\nomega = [0, 0.5, 0]\n"
        "[run]\nt_span = [0, 30]\nrtol = 1e-8\n"
    )
    assert load_scenario(path).body == BOOM
    path.write_text(path.read_text().replace("times = [0, 60]\n", ""))
    with pytest.raises(Exception, match="times belong to moments_at or tensors_at"):
        load_scenario(path)


@pytest.mark.parametrize(
    ("inertia", "times", "message"),
    [
        ([[1, 2, 2.8], [1, -2, 2.8]], [0, 4], "at t = 4 s a moment of inertia is -2, and it must be positive"),
        ([[1, 2, 2.8], [1, 2, 4]], [0, 4], "at t = 4 s no body has the moments 1, 2, 4"),
        ([[1, 1, 1], [1e101, 1e101, 1e101]], [0, 4], "at t = 4 s a moment of inertia is 1e[+]101.*use other units"),
        (lambda t: [2 - t, 2, 2], (0, 2.5), "at t = 2.1875 s a moment of inertia is -0.1875"),
        (lambda t: [2 + (t > 1.7), 2, 2], (0, 4), "cannot be followed near t = 1.7.*give that time among times"),
        (lambda t: [2, 2, 2], None, r"give times=\(first, last\)"),
        ([[1, 2, 2.8]] * 3, [0, 2, 1], r"times\[1\] = 2.0 is followed by 1.0"),
        ([[1, 2, 2.8]] * 3, [0, 0, 1], "cannot jump at the first"),
        ([1, 2, 2.8], [0, 1], r"shape \(2, 3\) or \(2, 3, 3\)"),
        (
            [[[1, 0, 0], [0, 2, 0], [0, 0, 2]], [[1, 0.1, 0], [0, 2, 0], [0, 0, 2]]],
            [0, 4],
            "that at t = 4 s is not: pass",
        ),
    ],
)
def test_what_no_body_has(inertia: Any, times: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        ph.Body(inertia, times=times)


@plain
@pytest.mark.parametrize("of", [tensor, lambda t: np.diag([2.0 + 0.3 * t, 3.0, 3.5])])
def test_wheels_on_a_body_that_changes(of: Any) -> None:
    """Against the momenta of body and wheels by SciPy: spin inertias stay, the rest changes."""
    along, inertia, t = ((0.6, 0.0, 0.8), (0.0, 1.0, 0.0)), 0.05, np.linspace(0.0, 4.0, 5)
    wheels = ph.ReactionWheels(along, inertia, speeds=(60.0, -40.0), viscous=0.01)
    axes = np.array(along)
    carrier = wheels.carrier(ph.Body(of, times=SPAN, name="boom"))
    assert carrier.name == "boom"

    def rest(s: float) -> Floats:
        return np.asarray(of(s) - inertia * axes.T @ axes)

    def slope(s: float, y: Floats) -> Floats:
        w = np.linalg.solve(rest(s), y[:3])
        gain = -0.01 * (y[3:] / inertia - axes @ w)
        return np.concatenate([np.cross(y[:3] + y[3:] @ axes, w) - gain @ axes, gain])

    start = np.concatenate([rest(0.0) @ OMEGA, inertia * (np.array([60.0, -40.0]) + axes @ OMEGA)])
    found = solve_ivp(slope, SPAN, start, t_eval=t, method="DOP853", rtol=3e-14, atol=1e-15).y.T
    run = ph.simulate(carrier, wheels, omega=OMEGA, t_span=SPAN, t_eval=t, method="G8", step=0.05)
    assert np.abs(run.momentum - found[:, :3]).max() < 1e-11
    assert np.abs(run.state - found[:, 3:]).max() < 1e-11
    assert np.abs(run.total_momentum - run.total_momentum[0]).max() < 1e-13
    ring = ph.Damper(spin_axis=(1, 0, 0), inertia=0.1, viscous=0.05)
    assert ring.carrier(BOOM).at(60.0).moments.tolist() == pytest.approx([2.9, 4.0, 2.8], rel=1e-14)
    with pytest.raises(ValueError, match=r"spin inertia 3 kg m\^2 of number 1 is not below the moment 2.8"):
        ph.ReactionWheels(((0, 0, 1),), 3.0).carrier(BOOM)
    with pytest.raises(ValueError, match="too large for this body"):
        ph.simulate(BOOM, ph.ReactionWheels(((0, 1, 0),), 9.0), omega=OMEGA, t_span=SPAN, method="G8", step=0.5)


def test_what_takes_constant_bodies_says_so() -> None:
    with pytest.raises(ValueError, match="the closed form takes bodies that stay as they are"):
        ph.FreeMotion(BOOM, OMEGA)
    with pytest.raises(ValueError, match="a fit takes bodies that stay"):
        ph.fit(BOOM, {"t": [0, 1], "omega": [OMEGA, OMEGA]}, free=["omega"])
    with pytest.raises(ValueError, match="a system takes bodies that stay"):
        ph.System([BOOM], position=[[0, 0, 0]], mass=1.0)
    with pytest.raises(TypeError, match="belong to a time, so give t"):
        BOOM.rate(np.array(OMEGA))


@plain
@pytest.mark.parametrize("method", ["RK4", "G8"])
def test_moments_and_tensors_in_one_list(method: str) -> None:
    """Bodies of which some have full tensors share a program, which must not take those for diagonal."""
    bodies = [BOOM, ph.Body([tensor(0.0), tensor(1.0)], times=[0.0, 60.0])]
    run: dict[str, Any] = {"omega": OMEGA, "t_span": (0, 1), "t_eval": [0, 1], "method": method, "step": 0.1}
    for body, found in zip(bodies, ph.ensemble(bodies, **run), strict=True):
        assert (found.momentum == ph.simulate(body, **run).momentum).all()
    with pytest.raises(ValueError, match="only if its principal axes stay"):
        ph.ensemble(bodies, **run | {"method": "MR2"})


def test_splines_and_tables_of_moments() -> None:
    t = np.linspace(0, 4, 9)
    smooth = ph.Body([tensor(x) for x in t], times=t, kind="cubic")
    assert np.abs(smooth.at(1.3).tensor - tensor(1.3)).max() < 2e-3
    table = ph.Table([0, 60], [[1, 2, 2.8], [3, 4, 2.8]], kind="linear")
    assert ph.Body(table) == BOOM
    assert np.abs(BODY.at(2.2).tensor - tensor(2.2)).max() < 1e-14
