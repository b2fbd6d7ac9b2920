"""Drifts beside closed forms, full runs, and what the means of free motions are by themselves."""

import json
import math
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.api.drift import _period
from polhode.averages.evolution import Watch
from polhode.averages.rates import MeanRates
from polhode.averages.stretches import Full, Window, mean_path, weights
from polhode.support.arrays import Floats
from tests.averages.drawn import KINDS, friction, tried, window

BODY = ph.Body([1.0, 1.4, 2.1])
OMEGA = (0.2, 0.25, 0.9)
EPS = 1e-5


def damping(x: float, y: float, z: float) -> ph.LinearDamping:
    return ph.LinearDamping((EPS * x, EPS * y, EPS * z))


def state(body: ph.Body, omega: Any) -> Floats:
    w = np.asarray(omega, float)
    return np.append(body.moments * w, 0.5 * (body.moments * w * w).sum())


def apart(d: Any, omega: Any, end: float, rows: int = 6000) -> float:
    """The distance of a drift from a full run near its end, both seen as means, over the sizes at the start."""
    reach = 60.0 * d.motion(end).period
    t = np.linspace(end - 2.0 * reach, end, rows)
    run = ph.simulate(d.body, d.torque, omega=omega, t_span=(0, end), t_eval=t, rtol=1e-9)
    full = np.column_stack([run.spatial_momentum, run.kinetic_energy])
    weights = window((t - end + reach) / reach)
    return float(np.abs((weights @ full - weights @ d.path.at(t)) / d.asked.scale).max())


@pytest.fixture(scope="module")
def damped() -> Any:
    return ph.drift(BODY, damping(1, 2, 0.5), omega=OMEGA, t_span=(0, 1e4))


@pytest.mark.usefixtures("plain")
def test_mean_rates_are_those_of_the_free_motion() -> None:
    torque, z = ph.LinearDamping((0.1, 0.2, 0.3)), state(BODY, OMEGA)
    rates = MeanRates(BODY, torque, np.array(torque.parameters(BODY)), 1.0, np.ones(4))
    rates.n, rates.m = 24, 3
    nut = ph.FreeMotion(BODY, OMEGA)
    seen = nut.at(np.arange(40) / 40 * nut.period)
    lost = -np.array([0.1, 0.2, 0.3]) * seen.omega
    # The mean over the turn about L leaves the part along L, and the energy does not see that turn.
    along = float((lost * seen.momentum).sum(axis=1).mean() / (z[:3] @ z[:3]))
    expected = np.append(along * z[:3], (lost * seen.omega).sum(axis=1).mean())
    assert np.allclose(rates(0.0, z), expected, rtol=1e-12, atol=1e-15)


@ph.torque(parameters=[1e-6, 2e-6])
def mixed(t: Any, q: Any, w: Any, p: Any) -> Any:
    return [p[0] * w[1] * w[2] + p[1] * q[1] * q[2], -p[0] * w[0], p[1] * w[0] * w[1] * w[2]]


MAGNET = ph.MagneticDipole(moment=(1e-6, 2e-6, 3e-6), field=(0.1, 0.2, 0.3))


@pytest.mark.parametrize(
    "torque",
    [ph.LinearDamping((1e-7, 2e-7, 0.5e-7)), MAGNET, mixed, mixed + MAGNET],
    ids=["damping", "magnet", "function", "sum"],
)
def test_compiled_and_plain_means_agree(torque: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    body = ph.Body([2.1, 1.0, 1.4])  # the order of the axes is part of the program's numbers
    found = []
    for disabled in ("0", "1"):
        monkeypatch.setenv("NUMBA_DISABLE_JIT", disabled)
        for omega, side in (((0.9, 0.2, 0.25), 1.0), ((0.2, -0.9, 0.25), -1.0)):
            z = state(body, omega)
            rates = MeanRates(body, torque, np.array(torque.parameters(body)), side, np.ones(4))
            rates.settle_points(0.0, z, 1e-16)
            path = mean_path(rates, None, Window(0.0, z), (0.0, 1e5))
            assert hasattr(rates._program, "address") is (disabled == "0")
            found.append(np.append(path(np.array([1e5]))[0] - z, [rates.n, rates.m]))
    assert np.abs(found[0][:4]).max() > 1e-3
    assert np.allclose(found[:2], found[2:], rtol=1e-9, atol=1e-13)


def test_the_example_is_a_full_run_of_a_hundredth_of_the_span() -> None:
    # The mean motion depends on torque times time alone; the docstring has the same digits from plain Python.
    d = ph.drift(BODY, ph.LinearDamping((1e-7, 2e-7, 0.5e-7)), omega=OMEGA, t_span=(0, 3e6))
    run = ph.simulate(BODY, damping(1, 2, 0.5), omega=OMEGA, t_span=(0, 3e4), rtol=1e-9)
    left = d.kinetic_energy[-1] / d.kinetic_energy[0]
    assert f"{left:.7f}" in str(ph.drift.__doc__)
    assert left == pytest.approx(run.kinetic_energy[-1] / run.kinetic_energy[0], rel=1e-6)


@pytest.mark.usefixtures("plain")
def test_points_follow_the_nome_and_the_degree() -> None:
    def points(omega: Any, torque: Any) -> tuple[int, int]:
        z = state(BODY, omega)
        rates = MeanRates(BODY, torque, np.array(torque.parameters(BODY)), 1.0, np.ones(4))
        rates.settle_points(0.0, z, 1e-12)
        return rates.n, rates.m

    far, near = points((0.05, 0.0, 1.0), ph.LinearDamping(1e-3)), points((0.8, 0.0, 0.9 * 0.8), ph.LinearDamping(1e-3))
    assert near[0] > far[0]
    assert far[1] == 3  # R N is linear in R; the least number is 3
    assert points((0.05, 0.0, 1.0), ph.GravityGradient(1e-3, (1.0, 0.5, 0.2)))[1] == 3  # u x J u is quadratic in R


def test_symmetric_body_is_damped_as_its_closed_form_says() -> None:
    # w3 falls as exp(-c3 t / I3) and the transverse rate as exp(-c1 t / I1), whatever the phase.
    body, w, t = ph.Body([1, 1, 1.8]), np.array([0.5, 0.0, 0.9]), 1e5
    d = ph.drift(body, damping(1, 1, 2), omega=w, t_span=(0, t))
    expected = 0.5 * (0.25 * math.exp(-2 * EPS * t) + 1.8 * 0.81 * math.exp(-4 * EPS * t / 1.8))
    assert abs(d.kinetic_energy[-1] - expected) <= d.error * d.kinetic_energy[0]
    assert d.error < 1e-7
    assert not d.events
    assert d.mode[-1] == "short-axis"


def test_error_is_below_what_is_stated(damped: Any) -> None:
    assert apart(damped, OMEGA, 1e4) <= damped.error < 1e-6


def test_a_mean_over_orbits_has_nothing_of_what_repeats_itself() -> None:
    """Four orbits on each side: harmonics of the orbit vanish, and a slope has its value in the middle."""

    class OverOrbits:
        orbit, times = 100.0, 8

    t = np.linspace(-400.0, 400.0, 4001)
    w = weights(OverOrbits(), t / 400.0, -400.0)  # type: ignore[arg-type]
    assert w.sum() == pytest.approx(1.0, abs=1e-14)
    assert abs(w @ t) < 1e-11
    for k in (1, 2, 5):
        assert abs(w @ np.cos(2 * np.pi * k * t / 100.0 + 0.3)) < 1e-10


def test_a_body_that_is_nearly_at_rest_ends_the_drift() -> None:
    # Its short axis loses its rate last, so that it never comes to the separatrix.
    d = ph.drift(ph.Body([1000, 1400, 2100]), ph.LinearDamping((4e-6, 6e-6, 2e-6)), omega=OMEGA, t_span=(0, 1e11))
    assert [e.kind for e in d.events] == ["axis", "limit"]
    assert "the energy has fallen to 1.0e-06 of the start" in str(d)
    rate = 2e-6 / 2100
    start = 2100 * OMEGA[2]
    assert np.linalg.norm(d.momentum[-1]) / start == pytest.approx(math.exp(-rate * d.t_last), rel=1e-3)


def test_stretches_correct_what_the_mean_misses() -> None:
    torque = ph.ConstantBodyTorque((3e-5, -5e-5, 2e-5)) + ph.MagneticDipole(
        moment=(4e-5, 1e-5, 7e-5), field=(0.3, -0.2, 0.9)
    )
    rough = ph.drift(BODY, torque, omega=OMEGA, t_span=(0, 5e3), rtol=1e-4)
    fine = ph.drift(BODY, torque, omega=OMEGA, t_span=(0, 5e3), rtol=1e-6)
    assert fine.corrected
    assert not rough.corrected
    error = apart(fine, OMEGA, 5e3)
    assert error <= fine.error
    assert fine.error < 0.2 * rough.error
    assert apart(rough, OMEGA, 5e3) > 3.0 * error  # so that the correction is one
    assert len(fine.stretches) > len(rough.stretches)


def test_both_sides_of_the_separatrix() -> None:
    d = ph.drift(BODY, damping(0.2, 1, 3), omega=(0.5, 0, 0.9), t_span=(0, 2.5e5), beyond="both", rtol=1e-3)
    assert d.path.ended
    event = d.events[-1]
    assert event.kind == "separatrix"
    assert [e.kind for e in d.events] == ["resonance", "separatrix"]
    assert d.events[0].t < event.t
    assert [b.probability for b in d.branches] == [0.5, 0.5]  # damping does not tell the ends of an axis apart
    assert {b.drift.side for b in d.branches} == {1.0, -1.0}
    assert {b.drift.mode[-1] for b in d.branches} == {"long-axis"}
    assert "separatrix" in str(d)
    run = ph.simulate(
        BODY, d.torque, omega=(0.5, 0, 0.9), t_span=(0, 1.02 * event.t), rtol=1e-7,
        t_eval=np.linspace(0.98, 1.02, 8001) * event.t,
    )  # fmt: skip
    momentum = (run.momentum**2).sum(axis=1)
    crossed = run.t[np.argmax(momentum < 2.0 * run.kinetic_energy * BODY.moments[1])]
    assert abs(crossed - event.t) < 20.0 * d.motion(0.9 * event.t).period  # periods are longest at the separatrix
    with pytest.raises(ph.DriftImpossible, match="separatrix"):
        d.resume(3e5)


def test_a_drift_ends_before_the_separatrix() -> None:
    # A period takes longer near it, so that a step may begin within the distance at which the one before would end.
    body, torque = ph.Body([1000, 1400, 2100]), ph.LinearDamping((7e-7, 3.5e-6, 1e-5))
    for field in ((0, -5e-7, 8e-7), (0, -2.5e-7, 4e-7)):
        pull = ph.MagneticDipole(moment=(0.1, 0, 1), field=field)
        d = ph.drift(body, torque + pull, omega=(0.05, 0, 0.09), t_span=(0, 946728000.0), rtol=1e-3)
        assert 0.0 < d.separatrix_distance[-1] < 1e-3
        assert sorted(fate.side for fate in d.fates()) == [-1.0, 1.0]


def test_files_hold_the_whole_drift(damped: Any, here: Path) -> None:
    damped.save("d.nc")
    again = ph.load("d.nc")
    assert np.array_equal(again.path.at(1234.5), damped.path.at(1234.5))
    assert (again.error, str(again), again.t.tolist()) == (damped.error, str(damped), damped.t.tolist())
    assert again.to_xarray().kinetic_energy.attrs["units"] == "J"
    further = again.resume(1.5e4)
    whole = ph.drift(BODY, damping(1, 2, 0.5), omega=OMEGA, t_span=(0, 1.5e4))
    difference = np.abs(further.path.at(1.4e4) - whole.path.at(1.4e4)) / whole.asked.scale
    assert difference.max() <= further.error + whole.error
    assert further.t[0] == 0.0
    assert further.t_last == 1.5e4
    assert len(further.stretches) == 2 * len(damped.stretches)
    with pytest.raises(ValueError, match="beyond the last time"):
        further.resume(1e4)


def interrupt(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, calls: int) -> None:
    """Has Ctrl-C come in the call of a method that has this number."""
    usual, left = getattr(owner, name), iter(range(calls - 1))

    def until(*args: Any, **named: Any) -> Any:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return usual(*args, **named)

    monkeypatch.setattr(owner, name, until)


def stopped(owner: Any, name: str, calls: int, why: str, work: Callable[[], Any]) -> Any:
    """What is kept of work in which Ctrl-C comes."""
    with pytest.MonkeyPatch.context() as patched:
        interrupt(patched, owner, name, calls)
        with pytest.raises(ph.SimulationInterrupted, match=why) as raised:
            work()
    return raised.value.solution


STEADY = ph.ConstantBodyTorque((3e-5, -5e-5, 2e-5)) + ph.MagneticDipole(moment=(4e-5, 1e-5, 7e-5), field=(0.3, 0, 0.9))


@pytest.mark.parametrize(
    ("owner", "name", "calls", "stretches", "known"),
    [(Watch, "step", 4, 0, False), (Full, "stretch", 4, 3, False), (Full, "stretch", 7, 5, True)],
    ids=["first path", "stretches", "second order"],
)
def test_ctrl_c_keeps_the_drift_and_resume_goes_on(
    owner: Any, name: str, calls: int, stretches: int, known: bool, here: Path
) -> None:
    asked: dict[str, Any] = {"omega": OMEGA, "t_span": (0, 5e3), "rtol": 1e-6}
    whole = ph.drift(BODY, STEADY, **asked)
    part = stopped(owner, name, calls, "interrupted at t =", lambda: ph.drift(BODY, STEADY, **asked))
    assert (len(part.stretches), math.isfinite(part.error)) == (stretches, known)
    part.save("part.nc")
    done = ph.load("part.nc").resume()
    assert np.abs((done.path.z[-1] - whole.path.z[-1]) / whole.asked.scale).max() < 1e-10
    assert done.error == pytest.approx(whole.error, rel=0.01)
    assert (str(done), done.left, len(done.stretches)) == (str(whole), None, len(whole.stretches))


def test_an_interrupted_resume_keeps_what_is_stated(damped: Any) -> None:
    part = stopped(Full, "stretch", 3, "its error is not known yet", lambda: damped.resume(1.5e4))
    assert part.t_last == 1.5e4
    done, whole = part.resume(), damped.resume(1.5e4)
    assert (done.error, done.t.tolist()) == (whole.error, whole.t.tolist())
    assert np.array_equal(done.path.z, whole.path.z)
    with pytest.raises(ValueError, match="beyond the last time 15000"):
        done.resume()


def test_many_bodies_are_interrupted_and_resumed() -> None:
    rates = np.array([OMEGA, (0.0, 1.0, 1e-7), (0.1, 0.2, 1.0), (0.3, 0.1, 0.9)])
    asked: dict[str, Any] = {"omega": rates, "t_span": (0, 5e3), "workers": 1}
    torque = damping(1, 2, 0.5)
    part = stopped(Full, "stretch", 6, "2 not yet made", lambda: ph.drift(BODY, torque, **asked))
    whole = ph.drift(BODY, torque, **asked)
    assert list(part.failed) == [1, 2, 3]
    done = part.resume()
    assert list(done.failed) == [1]
    assert np.array_equal(done.at(5e3)[0], whole.at(5e3)[0], equal_nan=True)
    assert [d.t_last for d in (done.resume(7e3)[0], done.resume(7e3)[2])] == [7e3, 7e3]


@pytest.mark.parametrize("hours", [4.0, 2.0])
def test_wobble_dies_in_the_time_of_burns_and_safronov(hours: float) -> None:
    # tau = mu Q / (rho K^2 r^2 w^3)  [burns1973], of an asteroid of 1 km; mu Q as in [harris1994], in Pa
    density, radius, w = 2000.0, 500.0, 2.0 * math.pi / (3600.0 * hours)
    tau = 5e11 / (density * 0.03 * radius**2 * w**3)
    size = 0.4 * density * 4.0 / 3.0 * math.pi * radius**5
    A, C = size, 1.25 * size
    k = A * C / (tau * w * (C - A) * (C * w) ** 2)
    body, acting = ph.Body([A, A, C]), friction.with_parameters([k, A, A, C])
    d = ph.drift(body, acting, omega=(0.02 * w, 0.0, w), t_span=(0, 1.5 * tau))
    # Harris's rule: hours^3 / (17^3 km^2) thousand million years, of which 17 is known to 2.5.
    assert tau / 3.15576e16 == pytest.approx(hours**3 / 17.0**3, rel=0.5)
    G, T = np.linalg.norm(d.momentum, axis=1), d.kinetic_energy
    wobble = T - G**2 / (2.0 * C)
    assert wobble[-1] / wobble[0] == pytest.approx(math.exp(-3.0), rel=2e-3)  # the square of the angle; it is not zero
    assert abs(G[-1] / G[0] - 1.0) < 1e-12
    assert d.error < 1e-7


def test_motion_has_the_mean_values(damped: Any) -> None:
    L, T = damped.at(5e3)
    for psi, phi in ((0.0, 0.0), (1.0, 2.0)):
        motion = damped.motion(5e3, psi, phi)
        assert np.allclose(motion.angular_momentum, L, atol=1e-14)
        assert motion.kinetic_energy == pytest.approx(T, rel=1e-13)
    later = damped.motion(5e3).at(5e3 + damped.motion(5e3).period * 0.25).omega
    assert np.allclose(damped.motion(5e3, psi=0.5 * math.pi).at(5e3).omega, later, atol=1e-12)
    run = damped.simulate(5e3, 20.0)
    assert run.t[0] == 5e3
    assert run.kinetic_energy[0] == pytest.approx(T, rel=1e-13)
    assert damped.observed_periods().psi[0] == pytest.approx(ph.FreeMotion(BODY, OMEGA).period, rel=1e-3)
    with pytest.raises(ValueError, match="known from t = 0"):
        damped.at(2e4)
    with pytest.raises(TypeError, match="t must be a number"):
        damped.motion([1.0, 2.0])


def test_many_bodies_are_like_one_each(damped: Any) -> None:
    rates = np.array([OMEGA, (0.0, 1.0, 1e-7), (0.1, 0.2, 1.0)])
    many = ph.drift(BODY, damping(1, 2, 0.5), omega=rates, t_span=(0, 1e4), workers=2)
    assert list(many.failed) == [1]
    assert "separatrix" in many.failed[1]
    assert np.array_equal(many[0].path.z, damped.path.z)
    assert many[2].torque is damped.torque or many[2].torque == damped.torque
    momenta, energies = many.at(1e4)
    assert momenta.shape == (3, 3)
    assert np.isnan(energies).tolist() == [False, True, False]
    with pytest.raises(ph.DriftImpossible, match="body 1"):
        many[1]
    with pytest.raises(ValueError, match="omega 3, attitude 2"):
        ph.drift(BODY, damping(1, 1, 1), omega=rates, attitude=np.eye(4)[:2], t_span=(0, 1e4))


def carrying(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
    """A torque with a number of its own."""
    return (0.0, 0.0, 1e-6 * z[0]), (-z[0],)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "free": ({"torque": ph.Free()}, "nothing drifts"),
    "at rest": ({"omega": (0, 0, 0)}, "at rest"),
    "sphere": ({"body": ph.Body([1, 1, 1])}, "three equal moments"),
    "gyrostat": ({"body": ph.Body([1, 1.4, 2.1], rotor=(0, 0, 1))}, "without a rotor"),
    "jump": ({"torque": damping(1, 1, 1).during(0.0, 1e3)}, "jumps at t = 1000 s"),
    "carried by a function": ({"torque": ph.torque(carrying, state=["a"])}, r"carries numbers of its own \(a\)"),
    "carried": ({"torque": ph.Damper(spin_axis=(0, 0, 1), inertia=0.01, viscous=0.1)}, "carries numbers"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_averages_cannot_do_is_refused(name: str) -> None:
    changed, why = REFUSED[name]
    given: dict[str, Any] = {"body": BODY, "torque": damping(1, 1, 1), "omega": OMEGA, "t_span": (0, 1e5)} | changed
    body, torque = given.pop("body"), given.pop("torque")
    with pytest.raises(ph.DriftImpossible, match=why):
        ph.drift(body, torque, **given)


def test_a_resonance_that_stays_near_is_part_of_the_error() -> None:
    omega = (1.05458548606, 0.3, 0.9)  # 3 turns in the body fall behind 1 about the momentum once in 60 periods
    magnet = ph.MagneticDipole(moment=(1e-6, 2e-6, 1e-6), field=(1.0, 0.0, 0.0))
    with pytest.warns(ph.ToleranceNotReached, match="resonances met with an unknown phase"):
        d = ph.drift(BODY, magnet, omega=omega, t_span=(0, 6e3), rtol=1e-7)
    assert [e.k for e in d.events] == [(-3, 1)]
    assert "3 turns in the body take nearly as long as 1 about the momentum" in d.events[0].text
    assert d.error - d.events[0].bound < 0.1 * apart(d, omega, 6e3) < 0.1 * d.error  # stretches do not see it


def test_bounds_of_averages_are_in_the_message() -> None:
    with pytest.raises(ph.DriftImpossible, match=r"the span is .* periods .* averages take 400 at least"):
        ph.drift(BODY, damping(1, 1, 1), omega=OMEGA, t_span=(0, 100))
    with pytest.raises(ph.DriftImpossible, match=r"averages hold up to 0.1"):
        ph.drift(BODY, ph.LinearDamping(0.1), omega=OMEGA, t_span=(0, 1e5))
    with pytest.raises(ph.DriftImpossible, match=r"turns of .* s, and averages hold up to 1e\+06: run it in full"):
        ph.drift(ph.Body([1, 1.4, 1.4]), ph.LinearDamping(1e-12), omega=(1e-5, 0.5, 0.5), t_span=(0, 1e9))
    along = ph.environment.Orbit(7e6)
    for torque in (0.5 * ph.GravityGradient(orbit=along), damping(1, 1, 1) + ph.OrbitalGravityGradient(1e-3)):
        period, over_orbit = _period(torque, ("rotation", "orbit"))
        assert over_orbit
        assert period == pytest.approx(6e3, rel=0.05)
        with pytest.raises(ph.DriftImpossible, match=r"the span has .* orbits of .* average over the orbit as well"):
            ph.drift(ph.Body([10, 14, 21]), torque, omega=OMEGA, t_span=(0, 6e7))
    with pytest.raises(ph.DriftImpossible, match="from the separatrix"):
        ph.drift(BODY, damping(1, 1, 1), omega=(0, 1, 1e-6), t_span=(0, 1e5))
    with pytest.raises(ValueError, match="has no orbit"):
        ph.drift(BODY, damping(1, 1, 1), omega=OMEGA, t_span=(0, 1e5), over=("rotation", "orbit"))
    with pytest.raises(ValueError, match="must contain 'rotation'"):
        ph.drift(BODY, damping(1, 1, 1), omega=OMEGA, t_span=(0, 1e5), over=("orbit",))


def test_scenarios_and_the_command(here: Path) -> None:
    from typer.testing import CliRunner

    from polhode.cli import app

    Path("s.toml").write_text(
        "[body]\nmoments = [1.0, 1.4, 2.1]\n[initial]\nomega = [0.2, 0.25, 0.9]\n[torque]\nmodel = 'LinearDamping'\n"
        "coefficient = [1e-5, 2e-5, 0.5e-5]\n[run]\nt_span = [0.0, 1e4]\nrtol = 1e-6\n[drift]\nover = ['rotation']\n"
    )
    done = CliRunner().invoke(app, ["drift", "s.toml", "--json"])
    assert done.exit_code == 0
    assert ph.load("s.nc").error < 1e-6
    assert "tumbles in short-axis mode" in done.output
    with pytest.MonkeyPatch.context() as patched:
        interrupt(patched, Full, "stretch", 3)
        done = CliRunner().invoke(app, ["drift", "s.toml", "--json", "--force"])
    assert done.exit_code == 130
    assert json.loads(done.output[: done.output.rindex("}") + 1])["error"] is None
    assert ph.load("s.nc").resume().error < 1e-6


# --- evidence: drawn problems, long runs ---------------------------------------------------------------------------


@pytest.mark.evidence
@pytest.mark.parametrize("kind", range(len(KINDS)), ids=list(KINDS))
def test_drawn_problems_stay_below_the_stated_error(kind: int) -> None:
    first = secrets.randbits(24) * len(KINDS) + kind
    found = [
        tried(first + k * len(KINDS), shorter=0.2) for k in range(4)
    ]  # shorter ones than docs/evidence/ages.md has
    assert all(one.true <= one.stated for one in found), found


@pytest.mark.evidence
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_probabilities_of_sides_are_those_of_full_runs() -> None:
    torque = damping(2, 10, 30) + ph.ConstantBodyTorque((4e-6, 0.0, 0.0))
    d = ph.drift(BODY, torque, omega=(0.5, 0, 0.9), t_span=(0, 3e4))
    fates = {fate.side: fate.probability for fate in d.fates()}
    ends, count = [], 60
    for k in range(count):
        start = d.motion(0.0, psi=2.0 * math.pi * (k * 0.618 % 1.0), phi=2.0 * math.pi * (k * 0.755 % 1.0)).at(0.0)
        run = ph.simulate(
            BODY, torque, omega=start.omega, attitude=start.quaternion, t_span=(0, 1.1 * d.t_last), rtol=1e-7,
            t_eval=[1.1 * d.t_last],
        )  # fmt: skip
        ends.append(math.copysign(1.0, run.omega[-1, 0]))
    share = ends.count(1.0) / count
    assert 0.3 < share < 0.9  # so that there is something to be told apart: 0.61 was found beside 37 of 60
    assert abs(share - fates.get(1.0, 0.0)) < 3.5 * math.sqrt(0.25 / count)
