"""FreeMotion of bodies with a rotor on a principal axis, against Taylor series in many digits and DOP853."""

import copy
import math
import pickle
from pathlib import Path
from typing import Any

import flint
import mpmath as mp
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.compiler import program
from polhode.free import free_motion
from polhode.free.free_motion import FreeMotion
from polhode.free.gyrostat_motion import GyrostatMotion, rotor_frame
from tests.authorities.gyrostat import Gyrostat
from tests.authorities.gyrostat_regimes import REGIMES, GyrostatCase, cases, error, measured, sensitivity

Floats = NDArray[np.float64]
EPSILON = 2.0**-52
BODY = ph.Body([2.0, 3.0, 4.5], rotor=[0.0, 0.7, 0.0])
OFF_AXIS = FreeMotion(BODY, [0.3, 1.1, 0.4])
ROTOR_AXIS = FreeMotion(ph.Body([2.0, 3.0, 4.5], rotor=[0.0, 0.0, -1.5]), [0.4, 0.3, 0.9], [0.5, 0.5, 0.5, 0.5], t0=2.0)
COMPLEX = FreeMotion(ph.Body([2.0, 3.0, 4.5], rotor=[0.0, 0.0, 0.5]), [1.1, 0.4, 0.2])
MOVING = {"off-axis": OFF_AXIS, "rotor-axis": ROTOR_AXIS, "complex roots": COMPLEX}


def case_of(inertia: Any, omega: Any, rotor: float, t: float) -> GyrostatCase:
    return GyrostatCase(np.array(inertia), np.array(omega), np.array([0.0, 0.0, rotor]), t)


SEPARATRICES = {
    "to the rotor's axis": case_of([3.0, 2.0, 1.0], [1.0, -1.0, 2.0], 4.0, 3.0),
    "to another axis": case_of([10.0, 13.0, 15.0], [1.0, 0.75, 0.5], 1.0, -9.0),
    "of rational functions": case_of([10.0, 13.0, 15.0], [6.0, 0.0, -1.0], -10.0, 7.0),
}


ALLOWED = {"unphysical": 120}
"""Errors in eps that are allowed, 24 elsewhere: where moments are far apart, rates have errors up to eps G / I_min."""


def dop853(motion: FreeMotion, t: Floats) -> tuple[Floats, Floats]:
    """Quaternions and rates by SciPy."""
    body, start = motion._bodies[0], motion.at(motion.t0)

    def slope(t: float, y: Floats) -> Floats:
        m, q = y[:3], y[3:]
        w = np.linalg.solve(body.tensor, m - body.rotor)
        return np.concatenate([np.cross(m, w), [-q[1:] @ w / 2, *(q[0] * w + np.cross(q[1:], w)) / 2]])

    y0 = np.concatenate([start.momentum, start.quaternion])
    y = solve_ivp(slope, (motion.t0, t[-1]), y0, "DOP853", t, rtol=1e-13, atol=1e-14).y.T
    return y[:, 3:], np.asarray(np.linalg.solve(body.tensor, (y[:, :3] - body.rotor).T).T, dtype=np.float64)


def apart(p: Floats, q: Floats) -> float:
    return float(np.minimum(np.abs(p - q).max(axis=-1), np.abs(p + q).max(axis=-1)).max())


# --- the state at any time -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("motion", MOVING.values(), ids=MOVING)
def test_agrees_with_dop853(motion: FreeMotion) -> None:
    t = motion.t0 + np.linspace(0.0, 40.0, 30)
    q, w = dop853(motion, t)
    s = motion.at(t)
    assert apart(s.quaternion, q) < 3e-12  # DOP853 loses the rest
    assert np.abs(s.omega - w).max() < 3e-12


@pytest.mark.parametrize("regime", REGIMES)
def test_error_is_a_few_eps_in_every_regime(regime: str) -> None:
    for case in cases(regime, 2, seed=2, longest=0.8):
        assert error(case, case.motion()) < ALLOWED.get(regime, 24) * EPSILON  # up to 9.2 were seen, and 37


@pytest.mark.evidence
@pytest.mark.parametrize("regime", REGIMES)
def test_error_is_a_few_eps_in_every_regime_at_length(regime: str) -> None:
    e = np.array(measured(regime, 150, seed=3))
    assert e[:, 1].max() < ALLOWED.get(regime, 24) / 3
    assert e[:, 0].max() < ALLOWED.get(regime, 24)


def test_the_error_measure_sees_a_wrong_last_digit() -> None:
    case = cases("generic", 1, seed=4)[0]
    other = case._replace(rotor=case.rotor * (1 + 1e-13))
    assert error(case, other.motion()) > 24 * EPSILON


@pytest.mark.parametrize("case", SEPARATRICES.values(), ids=SEPARATRICES)
def test_separatrices(case: GyrostatCase) -> None:
    motion = case.motion()
    assert motion.mode == "separatrix"
    assert motion.period == math.inf
    assert motion.separatrix_distance == 0.0
    assert error(case, motion) < 24 * EPSILON


def test_the_separatrix_ends_in_a_steady_rotation() -> None:
    motion = SEPARATRICES["to the rotor's axis"].motion()
    with pytest.warns(UserWarning, match="digits"):  # a neighbour would have left that again
        m = motion.at(np.array([-1e3, 1e3])).momentum
    assert np.abs(m - [0.0, 0.0, np.linalg.norm(motion.angular_momentum)]).max() < 1e-14


@pytest.mark.parametrize("motion", MOVING.values(), ids=MOVING)
def test_a_thousand_million_periods_cost_no_digit(motion: FreeMotion) -> None:
    """The truth: the turn of one period, by Taylor series, and its power."""
    body, omega = motion._bodies[0], motion.omega.tolist()
    start = Gyrostat(body.moments.tolist(), omega, body.rotor.tolist(), 45)
    m0 = list(start.m)
    once = Gyrostat(body.moments.tolist(), omega, body.rotor.tolist(), 45).advance(motion.period)
    w = start.omega
    slope = [m0[i - 2] * w[i - 1] - m0[i - 1] * w[i - 2] for i in range(3)]
    late = sum(((a - b) * c for a, b, c in zip(once.m, m0, slope, strict=True)), flint.arb(0))
    late = (late / sum((c * c for c in slope), flint.arb(0))).mid()  # one step of Newton, from 1e-16 to 1e-32
    period = (flint.arb(motion.period) - late).mid()
    once.advance(-late)
    count, elapsed = 10**9, 1e9 * motion.period
    rest = start.advance((flint.arb(elapsed) - count * period).mid())
    q, power = rest.q, once.q
    while count:
        if count % 2:
            q = product(power, q)
        power, count = product(power, power), count // 2
    t = motion.t0 + elapsed
    if t - motion.t0 == elapsed:
        turn = np.array([float(x) for x in q])
        mine = (motion.at(motion.t0).attitude.inv() * motion.at(t).attitude).as_quat(scalar_first=True)
        assert apart(mine, turn) < 1e-14
    w_true = np.array([float(x) for x in rest.omega])
    moved = FreeMotion(body, motion.omega).at(elapsed)
    assert np.abs(moved.omega - w_true).max() < 1e-14
    assert apart(moved.quaternion, np.array([float(x) for x in q])) < 1e-14


def product(a: Any, b: Any) -> list[Any]:
    w, x, y, z = a
    s, u, v, t = b
    return [
        (w * s - x * u - y * v - z * t).mid(),
        (w * u + x * s + y * t - z * v).mid(),
        (w * v - x * t + y * s + z * u).mid(),
        (w * t + x * v - y * u + z * s).mid(),
    ]


def true_frequency(case: GyrostatCase) -> Any:
    """1 / period of m3, from the roots of the quartic at 100 digits; None for a symmetric body."""
    frame = rotor_frame(case.motion()._bodies[0])
    assert frame is not None
    I1, I2, I3 = map(mp.mpf, frame.moments.tolist())
    w1, w2, w3 = map(mp.mpf, (case.omega @ frame.axes).tolist())
    g, k = mp.mpf(frame.rotor), 1 / I1 - 1 / I2
    if k == 0 or I2 == I3 or I1 == I3:
        return None
    quadratics = [
        (I1 * w1, ((I3 - I2) * w3 + g) / I2, k * (1 / I2 - 1 / I3)),
        (I2 * w2, -((I3 - I1) * w3 + g) / I1, -k * (1 / I1 - 1 / I3)),
    ]
    roots = [(-b + sign * mp.sqrt(b * b - c * m * m)) / c for m, b, c in quadratics for sign in (1, -1)]
    real = [x for x in roots if mp.im(x) == 0]
    lo, hi = max(x for x in real if x < 0), min(x for x in real if x > 0)
    c, d = (x for x in roots if x not in (lo, hi))
    X, Y = (-quadratics[0][2] * quadratics[1][2] * x for x in ((lo - c) * (hi - d), (lo - d) * (hi - c)))
    R = mp.sqrt(X * Y)
    return mp.agm(mp.re(mp.sqrt(X + Y + 2 * R)) / 2, mp.re(mp.sqrt(R))) / (2 * mp.pi)


@pytest.mark.parametrize("regime", ["generic", "small rotor", "leaving rotor axis", "trigonometric"])
def test_the_frequency_loses_digits_next_to_the_separatrix_only(regime: str) -> None:
    with mp.workdps(100):
        for case in cases(regime, 20, seed=3):
            motion, true = case.motion(), true_frequency(case)
            assert isinstance(motion, GyrostatMotion)
            c = motion._g
            found = (mp.mpf(c.rate_high.item()) + mp.mpf(c.rate_low.item())) * motion._scale.item()
            if true is not None:
                assert abs(found / true - 1) < 1e-29 + 1e-32 / c.distance.item()


@pytest.mark.parametrize("motion", MOVING.values(), ids=MOVING)
def test_what_is_conserved_stays_to_round_off(motion: FreeMotion) -> None:
    body, t = motion._bodies[0], motion.t0 + np.random.default_rng(1).uniform(-1e4, 1e4, 300)
    s = motion.at(t)
    size = np.linalg.norm(motion.angular_momentum)
    assert np.abs(s.spatial_momentum - motion.angular_momentum).max() < 8 * EPSILON * size
    assert np.abs(body.momentum(s.omega) - s.momentum).max() < 8 * EPSILON * size
    energy = 0.5 * (s.omega * (s.omega @ body.tensor)).sum(axis=1)
    assert np.abs(energy / motion.kinetic_energy - 1.0).max() < 32 * EPSILON


@pytest.mark.parametrize("motion", MOVING.values(), ids=MOVING)
def test_at_two_times_in_a_row(motion: FreeMotion) -> None:
    halfway, there = motion.at(motion.t0 + 7.3), motion.at(motion.t0 + 41.9)
    again = FreeMotion(motion._bodies[0], halfway.omega, halfway.attitude, motion.t0 + 7.3).at(motion.t0 + 41.9)
    assert apart(again.quaternion, there.quaternion) < 2e-13  # the rate in between is rounded
    assert np.abs(again.omega - there.omega).max() < 2e-13


def test_no_rotor_is_the_free_body_bit_by_bit() -> None:
    plain = FreeMotion(ph.Body([2.0, 3.0, 4.5]), [0.3, 1.1, 0.4])
    zero = FreeMotion(ph.Body([2.0, 3.0, 4.5], rotor=[0.0, -0.0, 0.0]), [0.3, 1.1, 0.4])
    assert type(zero) is FreeMotion
    t = np.linspace(-5.0, 50.0, 7)
    assert (plain.at(t).quaternion == zero.at(t).quaternion).all()


@pytest.mark.parametrize("size", [1e-6, 1e-12, 1e-18, 1e-40, 1e-200])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_weak_rotor_changes_little(size: float, axis: int) -> None:
    plain = FreeMotion(ph.Body([2.0, 3.0, 4.5]), [0.5, 1.2, 0.7])
    rotor = np.zeros(3)
    rotor[axis] = size
    weak = FreeMotion(ph.Body([2.0, 3.0, 4.5], rotor=rotor), [0.5, 1.2, 0.7])
    t = np.linspace(-20.0, 20.0, 9)
    assert apart(plain.at(t).quaternion, weak.at(t).quaternion) < 40.0 * size + 32 * EPSILON


def test_the_free_separatrix_with_a_rotor_too_weak_to_be_seen() -> None:
    """Both ends of the intermediate axis are equilibria of one energy."""
    plain = FreeMotion(ph.Body([10.0, 13.0, 15.0]), [0.5, -0.75, 0.5])
    weak = FreeMotion(ph.Body([10.0, 13.0, 15.0], rotor=[0.0, 1e-40, 0.0]), [0.5, -0.75, 0.5])
    t = np.linspace(-20.0, 20.0, 9)
    assert apart(plain.at(t).quaternion, weak.at(t).quaternion) < 32 * EPSILON


@pytest.mark.parametrize(
    ("inertia", "omega", "rotor"),
    [
        ([2.0, 3.0, 4.5], [0.0, 0.0, 0.9], [0.0, 0.0, 1.0]),  # about the rotor's axis
        ([2.0, 3.0, 4.0], [0.0, 0.75, 1.0], [0.0, 0.0, -1.0]),  # about another one: I w + g is along w
        ([2.0, 3.0, 4.5], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]),  # at rest
        ([2.0, 3.0, 4.5], [0.0, 0.5, 0.0], [0.0, -1.5, 0.0]),  # without any momentum
    ],
)
def test_steady_rotations(inertia: Any, omega: Any, rotor: Any) -> None:
    motion = FreeMotion(ph.Body(inertia, rotor=rotor), omega)
    assert motion.mode == "steady"
    assert motion.period == math.inf
    s = motion.at(7.0)
    assert (s.omega == omega).all()
    expected = Rotation.from_rotvec(7.0 * np.array(omega)).as_matrix()
    assert np.abs(s.attitude.as_matrix() - expected).max() < 8 * EPSILON
    assert np.abs(motion.polhode(5) - omega).max() == 0.0


def test_symmetric_body_by_hand() -> None:
    """With I1 = I2 the rate turns in the body at ((I3 - I1) w3 + g) / I1."""
    motion = FreeMotion(ph.Body([2.0, 2.0, 3.0], rotor=[0.0, 0.0, 0.6]), [0.3, 0.4, 0.5])
    rate = ((3.0 - 2.0) * 0.5 + 0.6) / 2.0
    t = np.array([0.4, 3.0])
    across = (0.3 + 0.4j) * np.exp(1j * rate * t)
    assert np.abs(motion.at(t).omega - np.stack([across.real, across.imag, np.full(2, 0.5)], axis=1)).max() < 1e-15
    assert motion.period == pytest.approx(2.0 * math.pi / rate, rel=1e-14)
    momentum = math.hypot(0.6, 0.8, 3.0 * 0.5 + 0.6)
    assert motion.mean_precession_rate == pytest.approx(momentum / 2.0, rel=1e-14)


@pytest.mark.parametrize("rotor", [[0.1, 0.2, 0.3], [0.0, -0.2, 0.3], [0.4, 0.0, 0.0]])
def test_any_axis_of_a_sphere_is_a_principal_axis(rotor: Any) -> None:
    motion = FreeMotion(ph.Body([2.0, 2.0, 2.0], rotor=rotor), [0.3, 0.4, 0.5])
    t = np.linspace(0.0, 20.0, 5)
    q, w = dop853(motion, t)
    assert apart(motion.at(t).quaternion, q) < 1e-12
    assert np.abs(motion.at(t).omega - w).max() < 1e-12


@pytest.mark.parametrize("moments", [[2.0, 3.0, 3.0], [3.0, 2.0, 3.0], [4.0, 4.0, 3.0]])
def test_any_axis_across_an_axis_of_symmetry_is_a_principal_axis(moments: Any) -> None:
    rotor = np.where(np.array(moments) == sorted(moments)[1], [0.3, 0.4, -0.5], 0.0)
    motion = FreeMotion(ph.Body(moments, rotor=rotor), [0.3, 0.4, 0.5])
    t = np.linspace(0.0, 20.0, 5)
    q, w = dop853(motion, t)
    assert apart(motion.at(t).quaternion, q) < 1e-12
    assert np.abs(motion.at(t).omega - w).max() < 1e-12


def test_tilted_bodies() -> None:
    """The same motion seen from other body axes."""
    tilt = Rotation.from_rotvec([0.4, 1.1, -0.7]).as_matrix()
    body = ph.Body(tilt @ np.diag(BODY.moments) @ tilt.T, rotor=tilt @ BODY.rotor)
    motion = FreeMotion(body, tilt @ OFF_AXIS.omega)
    t = np.linspace(0.0, 30.0, 5)
    assert np.abs(motion.at(t).omega @ tilt - OFF_AXIS.at(t).omega).max() < 1e-12
    turned = motion.at(t).attitude.as_matrix() @ tilt
    assert np.abs(turned - tilt @ OFF_AXIS.at(t).attitude.as_matrix()).max() < 1e-12


def test_a_stack_is_its_motions() -> None:
    bodies = [BODY, ph.Body([2.0, 3.0, 4.5]), ROTOR_AXIS._bodies[0], ph.Body([1.0, 2.0, 2.5])]
    stack = FreeMotion(bodies, [0.3, 1.1, 0.4])
    t = np.linspace(-3.0, 9.0, 4)
    s = stack.at(t)
    assert s.omega.shape == (4, 4, 3)
    assert stack.mode.tolist() == ["off-axis", "short-axis", "rotor-axis", stack[3].mode]
    for i, body in enumerate(bodies):
        alone = FreeMotion(body, [0.3, 1.1, 0.4])
        for one in (stack[i], alone):
            assert (one.at(t).quaternion == s.quaternion[i]).all()
            assert (one.at(t).momentum == s.momentum[i]).all()
        assert stack.period[i] == alone.period
        assert (stack.polhode(9)[i] == alone.polhode(9)).all()
        assert (stack.digits(t)[i] == alone.digits(t)).all()
        assert (stack.angular_momentum[i] == alone.angular_momentum).all()
    assert "4 motions" in repr(stack)


def test_the_way_a_motion_is_set_up_does_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit in plain Python and compiled, in all kinds of motion."""
    few = [case.motion() for case in SEPARATRICES.values()] + [c.motion() for r in REGIMES for c in cases(r, 2, seed=6)]
    bodies, rates = [m._bodies[0] for m in few], np.array([m.omega for m in few])
    monkeypatch.setattr(free_motion, "repaid_program", lambda f, signature, **_: program(f, signature))
    compiled = FreeMotion(bodies, rates)._motions
    monkeypatch.setattr(free_motion, "repaid_program", lambda *_, **__: None)
    assert FreeMotion(bodies, rates)._motions.tobytes() == compiled.tobytes()
    assert len(set(compiled[:, 0])) == 3  # direct, real and complex


def test_copies_and_pickles() -> None:
    for again in (copy.copy(OFF_AXIS), pickle.loads(pickle.dumps(OFF_AXIS))):
        assert isinstance(again, GyrostatMotion)
        assert (again.at(3.0).omega == OFF_AXIS.at(3.0).omega).all()


# --- what can be asked ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("motion", MOVING.values(), ids=MOVING)
def test_period_is_when_the_rates_come_back(motion: FreeMotion) -> None:
    t = motion.t0 + np.linspace(0.0, motion.period, 500)
    w = motion.at(t).omega
    assert np.abs(w[-1] - w[0]).max() < 1e-13
    assert np.abs(w[20:-20] - w[0]).max(axis=1).min() > 1e-3  # and not before


@pytest.mark.parametrize("motion", MOVING.values(), ids=MOVING)
def test_precession_and_nutation_by_sampling(motion: FreeMotion) -> None:
    body, n = motion._bodies[0], 4001
    axis = body.rotor / np.linalg.norm(body.rotor)
    s = motion.at(motion.t0 + np.linspace(0.0, motion.period, n))
    third = motion.angular_momentum / np.linalg.norm(motion.angular_momentum)
    pointing = s.attitude.apply(axis)
    first = np.cross(third, [0.0, 0.0, 1.0] if abs(third[2]) < 0.9 else [1.0, 0.0, 0.0])
    first /= np.linalg.norm(first)
    phi = np.unwrap(np.arctan2(pointing @ np.cross(third, first), pointing @ first))
    assert motion.mean_precession_rate == pytest.approx((phi[-1] - phi[0]) / motion.period, rel=1e-10)
    assert motion.precession_period == pytest.approx(2 * math.pi / abs(motion.mean_precession_rate))
    theta = np.arccos(pointing @ third)
    least, mean, greatest = motion.nutation()
    assert least == pytest.approx(theta.min(), abs=1e-5)
    assert greatest == pytest.approx(theta.max(), abs=1e-5)
    assert mean == pytest.approx(theta[:-1].mean(), abs=1e-9)


@pytest.mark.parametrize(
    "motion", [*MOVING.values(), *(c.motion() for c in SEPARATRICES.values())], ids=[*MOVING, *SEPARATRICES]
)
def test_polhode_is_where_energy_and_momentum_are_right(motion: FreeMotion) -> None:
    body, w = motion._bodies[0], motion.polhode(201)
    m = body.momentum(w)
    assert np.abs(0.5 * (w * (w @ body.tensor)).sum(axis=1) / motion.kinetic_energy - 1).max() < 1e-13
    assert np.abs(np.linalg.norm(m, axis=1) / np.linalg.norm(motion.angular_momentum) - 1).max() < 1e-13
    steps = np.linalg.norm(np.diff(w, axis=0), axis=1)
    assert steps.max() < 0.2 * np.ptp(w, axis=0).max()  # no long way between two points
    if math.isfinite(motion.period):
        assert (w[0] == w[-1]).all()


@pytest.mark.parametrize("motion", MOVING.values(), ids=MOVING)
@pytest.mark.parametrize("t", [10.0, 1e5])
def test_digits_are_about_those_that_the_input_leaves(motion: FreeMotion, t: float) -> None:
    body = motion._bodies[0]
    changes = sensitivity(GyrostatCase(body.moments, motion.omega, body.rotor, t), 1e-10)
    left = -math.log10(EPSILON * (1 + changes))
    assert motion.digits(motion.t0 + t) == pytest.approx(left, abs=1.0)


def test_lost_digits_are_reported() -> None:
    with pytest.warns(UserWarning, match="digits of the phase"):
        OFF_AXIS.at(1e15)


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.modulus, lambda m: m.complementary_modulus, lambda m: m.observed_periods(),
        lambda m: m.flip_times(2), lambda m: m.nutation("long"),
    ],
)  # fmt: skip
def test_what_has_no_meaning_says_so(ask: Any) -> None:
    with pytest.raises(ValueError, match="bodies without a rotor only"):
        ask(OFF_AXIS)


def test_other_rotors_are_refused_with_a_remedy() -> None:
    body = ph.Body([2.0, 3.0, 4.5], rotor=[0.1, 0.0, 0.2])
    with pytest.raises(ValueError, match=r"rotor \(0.1, 0, 0.2\) does not lie on a principal axis.*simulate"):
        FreeMotion(body, [1.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="of motion 1"):
        FreeMotion([BODY, body], [1.0, 0.0, 0.0])
    assert rotor_frame(body) is None


def test_sizes_at_the_end_of_the_range_are_refused() -> None:
    with pytest.raises(ValueError, match="times apart"):
        FreeMotion(ph.Body([1e-15, 1.0, 1.0], rotor=[1.0, 0, 0]), [1.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="rotor is 1e-307"):
        FreeMotion(ph.Body([1.0, 1.0, 1.0], rotor=[1e-307, 0, 0]), [1.0, 0.0, 0.0])


def test_picture_and_text(tmp_path: Path) -> None:
    figure = OFF_AXIS.plot(tmp_path / "gyrostat.png")
    assert (tmp_path / "gyrostat.png").stat().st_size > 10_000
    assert "rotor 0, 0.7, 0" in figure.get_suptitle()
    assert "off-axis" in repr(OFF_AXIS)


# --- simulate ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("regime", ["generic", "leaving rotor axis", "large rotor", "unphysical"])
def test_simulate_answers_in_closed_form_with_its_error(regime: str) -> None:
    for case in cases(regime, 2, seed=8, longest=0.5):
        body = ph.Body(case.inertia, rotor=case.rotor, allow_unphysical=True)
        run = ph.simulate(body, omega=case.omega, t_span=(0.0, case.t), t_eval=[case.t], rtol=1e-12)
        assert run.stats.nfev == 0
        assert run.error_estimate is not None
        assert error(case, case.motion()) < run.error_estimate < 1e-13
        assert (run.momentum[0] == case.motion().at(case.t).momentum).all()


def test_rows_between_and_resumed() -> None:
    run = ph.simulate(BODY, omega=OFF_AXIS.omega, t_span=(0.0, 10.0), rtol=1e-10)
    assert (run.at([3.3]).momentum[0] == OFF_AXIS.at(3.3).momentum).all()
    longer = ph.resume(run, t_end=20.0)
    assert longer.error_estimate is not None
    assert longer.error_estimate < 1e-13
    assert (longer.momentum[-1] == OFF_AXIS.at(20.0).momentum).all()
