"""FreeMotion: states, periods, angles, curves and pictures, each against something computed in another way."""

import math
import subprocess
import sys
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.compiler import program, programs
from polhode.free import free_motion as free
from polhode.free.free_motion import HUGE_PAGE_BYTES, MOST_RATIO, FreeMotion
from polhode.kernels.free.closed_form import DIRECT, DUAL, STEADY
from tests.authorities import Case, free_motion, free_regimes, paper_case, paper_records

Floats = NDArray[np.float64]
EPSILON = 2.0**-52
BODY = ph.Body([2.0, 3.0, 4.5])
SHORT = FreeMotion(BODY, [0.5, 1.2, 0.7])
LONG = FreeMotion(BODY, [1.1, 0.4, 0.2], Rotation.from_rotvec([0.3, -0.2, 0.9]), t0=2.0)
SEPARATRIX = FreeMotion(ph.Body([10.0, 13.0, 15.0]), [0.5, -0.75, 0.5])
FLIPPING = FreeMotion(BODY, [1e-3, 1.0, 2e-3])
MOVING = {"short-axis": SHORT, "long-axis": LONG, "flipping": FLIPPING}
TILT = Rotation.from_rotvec([0.4, 1.1, -0.7]).as_matrix()


def difference(a: Rotation, b: Rotation) -> Any:
    """Entry by entry of the matrices, the largest."""
    return np.abs(a.as_matrix() - b.as_matrix()).max()


def integrated(motion: FreeMotion, t_end: float, dense: int) -> tuple[Floats, Floats, Floats]:
    """Times, matrices and rates by DOP853, which knows nothing of elliptic functions."""
    tensor = motion._bodies[0].tensor

    def slope(t: float, y: Floats) -> Floats:
        R, m = y[:9].reshape(3, 3), y[9:]
        w = np.linalg.solve(tensor, m)
        return np.concatenate([np.cross(R, w).reshape(-1), np.cross(m, w)])

    start = motion.at(motion.t0)
    y0 = np.concatenate([start.attitude.as_matrix().reshape(-1), start.momentum])
    t = np.linspace(motion.t0, t_end, dense)
    run = solve_ivp(slope, (motion.t0, t_end), y0, "DOP853", t, rtol=1e-13, atol=1e-14)
    R: Floats = run.y[:9].T.reshape(-1, 3, 3)
    return t, R, np.asarray(np.linalg.solve(tensor, run.y[9:]).T, dtype=np.float64)


# --- the state at any time -----------------------------------------------------------------------------------------

FREE_CASES = [name for name, record in paper_records().items() if record["torque"]["model"] == "free"]


@pytest.mark.parametrize("name", FREE_CASES)
def test_states_of_the_papers(name: str) -> None:
    case: Case = paper_case(name)
    s = FreeMotion(case.body, case.omega, case.attitude).at(case.t)
    allowed = 4 * EPSILON * (1 + case.sensitivity)
    assert np.abs(s.attitude.as_matrix() - case.R).max() < allowed
    assert np.abs(s.omega - case.omega_end).max() < allowed * np.abs(case.omega_end).max()


@pytest.mark.parametrize("motion", MOVING.values(), ids=MOVING)
def test_at_two_times_in_a_row(motion: FreeMotion) -> None:
    """The motion from where the motion has got to is the same motion."""
    t0, t1, t2 = motion.t0, 7.3, 41.9
    halfway = motion.at(t0 + t1)
    again = FreeMotion(BODY, halfway.omega, halfway.attitude, t0 + t1).at(t0 + t2)
    there = motion.at(t0 + t2)
    sensitivity = free_motion.sensitivity(BODY.moments.tolist(), halfway.omega.tolist(), t2 - t1)
    allowed = 8 * EPSILON * (1 + 6 * sensitivity)  # six rounded inputs, each with this sensitivity at most
    assert difference(again.attitude, there.attitude) < allowed
    assert np.abs(again.omega - there.omega).max() < allowed


@pytest.mark.parametrize("motion", [*MOVING.values(), SEPARATRIX], ids=[*MOVING, "separatrix"])
def test_what_is_conserved_stays_to_round_off(motion: FreeMotion) -> None:
    t = np.concatenate([np.linspace(-50.0, 50.0, 400), np.logspace(2, 9, 200)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # on the separatrix no digit of the phase outlives 1e9 seconds
        s = motion.at(t)
    size = np.linalg.norm(motion.angular_momentum)
    energy = 0.5 * (s.omega * s.momentum).sum(axis=-1)
    assert np.abs(s.spatial_momentum - motion.angular_momentum).max() < 8 * EPSILON * size
    assert np.abs(energy / motion.kinetic_energy - 1).max() < 8 * EPSILON
    assert np.abs(np.linalg.norm(s.momentum, axis=-1) / size - 1).max() < 6 * EPSILON
    assert np.abs(np.linalg.norm(s.quaternion, axis=-1) - 1).max() < 2 * EPSILON


def test_agrees_with_simulate_at_small_steps() -> None:
    body = ph.Body([2.0, 3.0, 4.5])
    errors = []
    for step in (0.02, 0.01):
        run = ph.simulate(body, omega=SHORT.omega, t_span=(0, 10), step=step, method="MR2", t_eval=[10.0])
        errors.append(np.abs(run.momentum[-1] - SHORT.at(10.0).momentum).max())
    assert errors[1] < 1e-4
    assert errors[0] / errors[1] == pytest.approx(
        4.0, rel=0.01
    )  # the method's own error, of second order, and no other


@pytest.mark.parametrize("motion", MOVING.values(), ids=MOVING)
def test_agrees_with_dop853(motion: FreeMotion) -> None:
    t, R, w = integrated(motion, motion.t0 + 60.0, 31)
    s = motion.at(t)
    assert np.abs(s.attitude.as_matrix() - R).max() < 1e-9
    assert np.abs(s.omega - w).max() < 1e-9


def test_start_is_the_start() -> None:
    s = LONG.at(2.0)
    assert difference(s.attitude, Rotation.from_rotvec([0.3, -0.2, 0.9])) < 4 * EPSILON
    np.testing.assert_allclose(s.omega, [1.1, 0.4, 0.2], rtol=0, atol=4 * EPSILON)
    np.testing.assert_allclose(s.momentum, BODY.momentum(s.omega), rtol=4 * EPSILON)
    assert isinstance(s.attitude, Rotation)


@pytest.mark.parametrize("t", [0.7, -12.0, 150.0])
def test_tilted_bodies(t: float) -> None:
    """Against the truth for the moments and axes of the diagonalised tensor."""
    body = ph.Body(TILT @ np.diag([2.0, 3.0, 4.5]) @ TILT.T)
    omega = np.array([0.5, 1.2, 0.7])
    s = FreeMotion(body, omega).at(t)
    principal = (omega @ body.axes).tolist()
    with mp.workdps(40):
        axes = mp.matrix(body.axes.tolist())
        true = free_motion.free_motion(body.moments.tolist(), principal, t)
        R = np.array((axes * mp.matrix(true.turn) * axes.T).tolist(), dtype=float)
        w = np.array((axes * mp.matrix(true.omega)).tolist(), dtype=float)[:, 0]
    allowed = 8 * EPSILON * (1 + free_motion.sensitivity(body.moments.tolist(), principal, t))
    assert np.abs(s.attitude.as_matrix() - R).max() < allowed  # the axes themselves are orthogonal to round-off only
    assert np.abs(s.omega - w).max() < allowed
    np.testing.assert_allclose(s.spatial_momentum, body.momentum(omega), rtol=0, atol=1e-14)


def test_attitudes_at_the_start_as_rotation_quaternion_or_matrix() -> None:
    turn = Rotation.from_rotvec([0.3, -0.2, 0.9])
    forms = [turn, turn.as_quat(scalar_first=True), turn.as_matrix()]
    states = [FreeMotion(BODY, [1.1, 0.4, 0.2], a).at(3.0).attitude for a in forms]
    alone = FreeMotion(BODY, [1.1, 0.4, 0.2]).at(3.0).attitude
    for s in states:
        assert difference(s, turn * alone) < 8 * EPSILON


moments = st.tuples(*[st.floats(0.05, 1.0)] * 3).map(lambda x: (x[1] + x[2], x[0] + x[2], x[0] + x[1]))
rates = st.tuples(*[st.one_of(st.just(0.0), st.floats(-3.0, 3.0), st.sampled_from([1e-300, -1e-9, 1e-16]))] * 3)


@pytest.mark.filterwarnings("ignore:.*digits of the phase:UserWarning")
@settings(max_examples=150)
@example((2.0, 1.5, 1.5), (5e-324, 0.0, 0.25), 1.0)
@example((1.5, 1.5, 2.0), (0.0, 1.0, 2.2250738585e-313), 1.0)
@example((2.0, 1.5, 1.5), (1.9853310101387396e-245, 1.0, 0.0), 0.0)
@example((1.0, 1.5, 1.5), (1.985e-245, 1.0, 0.5), 1.0)
@given(moments, rates, st.floats(-1e3, 1e3))
def test_any_motion_keeps_what_it_must(inertia: Any, omega: Any, t: float) -> None:
    motion = FreeMotion(ph.Body(inertia), omega)
    s = motion.at(t)
    size = float(np.abs(motion.angular_momentum).max())
    assert np.abs(s.spatial_momentum - motion.angular_momentum).max() <= 8 * EPSILON * size
    least = 4 * 5e-324  # energies may be so small that they have no digits left to err in
    assert abs(0.5 * s.omega @ s.momentum - motion.kinetic_energy) <= 8 * EPSILON * motion.kinetic_energy + least
    assert motion.period > 0
    assert motion.precession_period > 0


@settings(max_examples=60)
@given(moments, rates, st.floats(-30.0, 30.0))
def test_there_and_back(inertia: Any, omega: Any, t: float) -> None:
    """A motion with its rates reversed runs backwards; near the separatrix it may have to be let off some digits."""
    body = ph.Body(inertia)
    motion = FreeMotion(body, omega)
    there = motion.at(t)
    back = FreeMotion(body, -there.omega, there.attitude).at(t)
    allowed = 100 * 10.0 ** -float(min(motion.digits(t), FreeMotion(body, -there.omega).digits(t)))
    assert difference(back.attitude, Rotation.identity()) <= allowed
    assert np.abs(back.omega + np.array(omega)).max() <= allowed * max(1.0, np.abs(omega).max())


# --- many motions --------------------------------------------------------------------------------------------------

MIXED: list[tuple[list[float], list[float]]] = [
    ([2.0, 3.0, 4.5], [0.5, 1.2, 0.7]),
    ([2.0, 3.0, 4.5], [1.1, 0.4, 0.2]),
    ([10.0, 13.0, 15.0], [0.5, -0.75, 0.5]),
    ([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]),
    ([2.0, 2.0, 3.0], [1.0, 2.0, 3.0]),
    ([2.0, 2.0, 3.0], [1.0, 2.0, 0.0]),
    ([1.0, 2.0, 2.0], [1.0, 2.0, 3.0]),
    ([2.0, 3.0, 4.5], [0.0, 0.0, 0.0]),
    ([2.0, 3.0, 4.5], [0.0, 1.0, 0.0]),
    ([2.0, 3.0, 4.5], [1e-300, 1.0, 1e-300]),
    ([2.0, 3.0, 4.5], [0.0, 0.0, 1.0]),
    ([2e40, 3e40, 4.5e40], [1e-30, 1e-30, 1e-30]),
    ([2e-40, 3e-40, 4.5e-40], [-1.0, 1e-200, 1e-310]),
]


@pytest.mark.parametrize("count", [3, 500])
def test_a_stack_is_its_motions(count: int) -> None:
    """Motions first, then times, then components; mixed regimes, and nothing that is not a number."""
    bodies, omegas = [ph.Body(i) for i, _ in MIXED], [w for _, w in MIXED]
    turns = Rotation.from_rotvec(np.linspace(-1, 1, 3 * len(MIXED)).reshape(-1, 3))
    t = np.linspace(-3.0, 9.0, count)
    stack = FreeMotion(bodies, omegas, turns, t0=1.0)
    s = stack.at(t)
    assert len(stack) == len(MIXED)
    assert s.quaternion.shape == (len(MIXED), count, 4)
    assert s.omega.shape == s.momentum.shape == s.spatial_momentum.shape == (len(MIXED), count, 3)
    assert s.attitude.as_matrix().shape == (len(MIXED), count, 3, 3)
    for values in (s.quaternion, s.omega, s.momentum, s.spatial_momentum):
        assert np.isfinite(values).all()
    for i, (body, omega) in enumerate(zip(bodies, omegas, strict=True)):
        one = FreeMotion(body, omega, turns[i], t0=1.0)
        alone = one.at(t)
        size = max(np.abs(omega).max(), 1e-300)
        assert np.abs(np.abs(alone.quaternion * s.quaternion[i]).sum(axis=-1) - 1).max() < 1e-12
        np.testing.assert_allclose(s.omega[i], alone.omega, rtol=0, atol=64 * EPSILON * size)
        assert stack[i].mode == one.mode == stack.mode[i]
        np.testing.assert_array_equal(stack[i].flip_times(3), stack.flip_times(3)[i])
        for name in ("period", "mean_precession_rate", "modulus", "separatrix_distance", "kinetic_energy"):
            np.testing.assert_array_equal(getattr(stack[i], name), getattr(stack, name)[i])
    assert f"{len(MIXED)} motions" in repr(stack)


def in_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets nothing be found in the cache."""
    monkeypatch.setattr(free, "repaid_program", lambda *_, **__: None)


def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has everything compiled, however small it is."""
    monkeypatch.setattr(free, "repaid_program", lambda f, signature, **_: program(f, signature))


def test_the_way_a_motion_is_set_up_does_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit in plain Python and compiled, so that the faster one may always be taken."""
    rates = np.random.default_rng(1).normal(size=(30, 3))
    turns = Rotation.random(30, random_state=1)
    tilted = ph.Body(TILT @ BODY.tensor @ TILT.T)
    in_plain_python(monkeypatch)
    few = FreeMotion(tilted, rates, turns)._motions
    near = [FreeMotion(ph.Body(p.inertia), p.omega)._motions for p in free_regimes.cases("near_separatrix", 20)]
    compiled(monkeypatch)
    assert FreeMotion(tilted, rates, turns)._motions.tobytes() == few.tobytes()
    for p, constants in zip(free_regimes.cases("near_separatrix", 20), near, strict=True):
        assert FreeMotion(ph.Body(p.inertia), p.omega)._motions.tobytes() == constants.tobytes()


def test_the_way_a_state_is_evaluated_does_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit in plain Python and compiled, in all kinds of motion."""
    motions = [*MOVING.values(), SEPARATRIX, FreeMotion(BODY, [0.0, 1.3, 0.0], TILT)]
    times = np.array([-1e18, -1e9, -3.0, 0.0, 1e-9, 2.0, 77.7, 1e6])
    in_plain_python(monkeypatch)
    plain = [m._evaluated(times, 0.25) for m in motions]
    compiled(monkeypatch)
    for m, one in zip(motions, plain, strict=True):
        assert [x.tobytes() for x in one] == [x.tobytes() for x in m._evaluated(times, 0.25)]
    assert {m._c.kind[0] for m in motions} == {STEADY, DIRECT, DUAL}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the program is none, and its memory holds anything
def test_the_thousandth_call_takes_the_way_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small call has nothing compiled, however many calls there were; a large one has."""
    made: list[str] = []

    def program(f: Any, signature: str, **_: Any) -> Any:
        made.append(signature)
        return lambda *_: 0

    monkeypatch.setattr(programs, "_looked_for", {})
    monkeypatch.setattr(programs, "kept_program", lambda f, signature: None)
    monkeypatch.setattr(programs, "program", program)
    for _ in range(1000):
        FreeMotion(BODY, [0.5, 1.2, 0.7])
    SHORT.at(np.zeros(free.MOST_INTERPRETED_STATES))
    assert made == []
    SHORT.at(np.zeros(free.MOST_INTERPRETED_STATES + 1))
    assert made == [free.EVALUATE]
    FreeMotion(BODY, np.ones((free.MOST_INTERPRETED + 1, 3)))
    assert made == [free.EVALUATE, free.SET_UP]


def test_a_kept_program_is_taken_from_the_first_call_on(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []

    def kept(f: Any, signature: str) -> Any:
        return lambda *_: called.append(signature)

    monkeypatch.setattr(programs, "_looked_for", {})
    monkeypatch.setattr(programs, "kept_program", kept)
    SHORT.at(0.5)
    SHORT.at(0.5)
    assert called == [free.EVALUATE] * 2


@pytest.mark.usefixtures("plain")
def test_many_motions_where_nothing_is_compiled() -> None:
    stack = FreeMotion(BODY, np.full((free.MOST_INTERPRETED + 1, 3), [0.5, 1.2, 0.7]))
    assert stack[-1].period == SHORT.period


# --- the range -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("moments", "rates", "told"),
    [
        (
            [1e-20, 1.0, 1.0],
            [1.0, 1.0, 1.0],
            r"the moments are 1e\+20 times apart, and the closed form holds up to 1e\+14",
        ),
        ([1.0, 1.2, 1.5], [1e-310, 0.0, 0.0], "the rate is 1e-310 in these units, near the end of the range of floats"),
        ([1e200, 1e200, 1e200], [1e150, 0.0, 0.0], "the momentum is inf in these units"),
    ],
)
def test_what_floats_cannot_hold_is_refused(moments: Any, rates: Any, told: str) -> None:
    body = ph.Body(moments)
    with pytest.raises(ValueError, match=told):
        FreeMotion(body, rates)
    with pytest.raises(ValueError, match=told.partition(" ")[2].partition(" ")[0] + " of motion 1 "):
        FreeMotion([BODY, body], [[1.0, 1.0, 1.0], rates])


def test_moments_at_the_limit() -> None:
    """Energy and momentum of thousands of motions, with every kind of rate, up to the limit."""
    draw = np.random.default_rng(4)
    count = 3000
    power = np.log10(MOST_RATIO) * draw.uniform(0, 1, count) ** 0.3
    middle = np.choose(draw.integers(3, size=count), [-power * draw.uniform(0, 1, count), 0.0 * power, -power])
    moments = 10.0 ** np.stack([-power, middle, 0.0 * power], axis=1)
    moments[:, 1] *= 1 + 10.0 ** draw.uniform(-16, -1, count)
    moments = np.where(moments > MOST_RATIO * moments.min(axis=1, keepdims=True), moments / 2, moments)
    signed = draw.uniform(0.1, 1, (count, 3)) * draw.choice([-1, 1], (count, 3))
    scale = np.stack([np.ones((count, 3)), 1 / moments, moments**-0.5, 10.0 ** draw.uniform(-30, 0, (count, 3))])
    rates = signed * scale[draw.integers(4, size=count), np.arange(count)]
    rates /= np.abs(rates).max(axis=1, keepdims=True)
    stack = FreeMotion([ph.Body(m, allow_unphysical=True) for m in moments], rates)
    t = np.array([0.0, 0.01, 1.0, 30.0])
    s = stack.at_checked(t)
    momentum = moments * rates
    length = np.linalg.norm(momentum, axis=1)[:, None]
    energy = (moments * rates**2).sum(axis=1)[:, None]
    assert np.abs(np.linalg.norm(s.momentum, axis=2) / length - 1).max() < 4e-15
    assert np.abs((moments[:, None, :] * s.omega**2).sum(axis=2) / energy - 1).max() < 1e-14
    # Relative to the greatest rate of the motion, which may be sqrt(1e14) times that at the start.
    c = stack._c
    ends = (
        c.A * c.i1,
        c.B * c.i2,
        c.C * c.i3,
        np.abs(rates).max(axis=1),
    )
    peak = np.maximum.reduce([np.abs(e) * (stack._scale if k < 3 else 1.0) for k, e in enumerate(ends)])
    assert (np.abs(s.omega[:, 0] - rates).max(axis=1) / peak).max() < 4e-15


def test_shapes() -> None:
    single, stack = SHORT, FreeMotion(BODY, [[0.5, 1.2, 0.7], [1.1, 0.4, 0.2]])
    assert single.at(1.0).quaternion.shape == (4,)
    assert single.at(1.0).t.shape == ()
    assert single.at([1.0]).omega.shape == (1, 3)
    assert single.at(np.zeros((2, 5))).omega.shape == (2, 5, 3)
    assert single.at([]).omega.shape == (0, 3)
    assert stack.at(1.0).omega.shape == (2, 3)
    assert stack.at(np.zeros((4, 5))).omega.shape == (2, 4, 5, 3)
    assert stack.polhode(7).shape == (2, 7, 3)
    assert stack.digits([1.0, 2.0, 3.0]).shape == (2, 3)
    assert stack.period.shape == (2,)
    assert isinstance(single.period, float)
    assert isinstance(single.mode, str)
    assert FreeMotion(BODY, [1.0, 0.0, 0.0], Rotation.identity(3)).at(1.0).quaternion.shape == (3, 4)


@pytest.mark.parametrize("motion", [SHORT, LONG, FLIPPING, SEPARATRIX, FreeMotion(BODY, [0.0, 1.0, 0.0])])
def test_a_state_has_the_same_bits_alone_and_among_others(motion: FreeMotion) -> None:
    t = np.linspace(-100.0, 100.0, 1001)
    s = motion.at(t)
    for i in range(0, 1001, 50):
        alone = motion.at(t[i])
        assert alone.quaternion.tobytes() == s.quaternion[i].tobytes()
        assert alone.omega.tobytes() == s.omega[i].tobytes()
        assert alone.momentum.tobytes() == s.momentum[i].tobytes()


def test_large_results() -> None:
    """They begin on the boundary of a large page; times are copied, and nothing overlaps."""
    t = np.linspace(0.0, 50.0, 30_001)
    s, few = SHORT.at(t), SHORT.at(t[:100])
    assert s.t.ctypes.data % HUGE_PAGE_BYTES == 0
    t[:] = 0.0
    assert s.t[-1] == 50.0
    for name in ("t", "quaternion", "omega", "momentum"):
        assert getattr(s, name).flags.c_contiguous
        np.testing.assert_array_equal(getattr(s, name)[:100], getattr(few, name))
    np.testing.assert_allclose(s.spatial_momentum, np.broadcast_to(SHORT.angular_momentum, (t.size, 3)), atol=1e-14)


# --- what the user gave --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (([2, 3, 4.5], [1, 0, 0]), r"write Body\(\[2, 3, 4.5\]\)"),
        ((5, [1, 0, 0]), "polhode.Body"),
        ((BODY, [1, 0]), r"omega must have the shape \(3,\) or \(motions, 3\), not \(2,\)"),
        ((BODY, [1, math.nan, 0]), r"omega\[1\] is nan"),
        ((BODY, [1, 0, 0], [0, 0, 0, 0]), "quaternion is zero"),
        ((BODY, [1, 0, 0], None, math.inf), "t0 must be finite, not inf"),
        (([BODY, BODY], np.ones((3, 3))), "one length.*body 2, omega 3"),
        (([], np.ones((0, 3))), "at least one motion"),
    ],
)
def test_bad_input_is_named(arguments: Any, told: str) -> None:
    with pytest.raises((TypeError, ValueError), match=told):
        FreeMotion(*arguments)


@pytest.mark.parametrize(
    ("t", "told"),
    [
        (math.nan, "t must be finite, but it is nan"),
        ([0.0, math.inf], r"t\[1\] is inf"),
        ("soon", "must be a time"),
        ("1", "must be a time"),
        (True, "must be a time"),
        (np.array(["1"]), "must be a time"),
        ([1.0, True], "must be a time"),
        (1j, "must be a time"),
        (np.ma.array([1.0, 2.0], mask=[False, True]), "t has 1 masked entries: fill them, or leave their rows out"),
    ],
)
def test_bad_times_are_named(t: Any, told: str) -> None:
    with pytest.raises((TypeError, ValueError), match=told):
        SHORT.at(t)


def test_lost_digits_are_told() -> None:
    with pytest.warns(UserWarning, match=r"at t = 1e\+16 about 0 digits of the phase"):
        s = SHORT.at([1.0, 1e16])
    assert np.isfinite(s.quaternion).all()
    with pytest.warns(UserWarning, match="about 0 digits"):
        assert np.isfinite(SHORT.at(1e18).quaternion).all()
    with pytest.warns(UserWarning, match="of motion 1"):
        FreeMotion(BODY, [[1e-3, 0, 0], [1e9, 1e9, 1e9]]).at(1e9)
    with pytest.warns(UserWarning, match="digits"):
        SEPARATRIX.at(1e4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SHORT.at(1e10)


def test_a_phase_that_rounding_takes_is_refused() -> None:
    for answer in (SHORT.at, SHORT.at_checked):
        for t in (1e20, np.array([0.0, -1e308])):
            with pytest.raises(ValueError, match=r"beyond 1e\+19 rounding takes its digits: FreeMotion\.at"):
                answer(np.asarray(t))
    with pytest.raises(ValueError, match=r"at t = 1e\+18 the phase of motion 1 is 1e\+20 radians"):
        FreeMotion(BODY, [[1.0, 0, 0], [100.0, 1, 1]]).at(1e18)


@pytest.mark.parametrize("t", [0.1, 10.0, 1e5, 1e9])
@pytest.mark.parametrize("motion", [SHORT, FLIPPING], ids=["far from the separatrix", "near it"])
def test_digits_are_those_that_the_input_leaves(motion: FreeMotion, t: float) -> None:
    sensitivity = free_motion.sensitivity(BODY.moments.tolist(), motion.omega.tolist(), t)
    assert motion.digits(t) == pytest.approx(max(0.0, -math.log10(EPSILON * (1 + sensitivity))), abs=1.2)


# --- constants of the motion ---------------------------------------------------------------------------------------


def test_modes() -> None:
    assert SHORT.mode == "short-axis"
    assert LONG.mode == "long-axis"
    assert SEPARATRIX.mode == "separatrix"
    for inertia, omega in (
        ([2, 3, 4.5], [0, 1, 0]),
        ([2, 3, 4.5], [0, 0, 1]),
        ([2, 3, 4.5], [1, 0, 0]),
        ([1, 1, 1], [1, 2, 3]),
        ([2, 2, 3], [1, 1, 0]),
        ([2, 3, 4.5], [0, 0, 0]),
    ):
        assert FreeMotion(ph.Body(inertia), omega).mode == "steady"


@pytest.mark.parametrize("motion", MOVING.values(), ids=MOVING)
def test_period_is_when_the_rates_come_back(motion: FreeMotion) -> None:
    """Found by integration: the time between two passages of the intermediate component upwards through zero."""

    def upwards(t: float, w: Floats) -> float:
        return float(w[1])

    upwards.direction = 1.0  # type: ignore[attr-defined]
    I1, I2, I3 = BODY.moments

    def euler(t: float, w: Floats) -> list[float]:
        return [(I2 - I3) / I1 * w[1] * w[2], (I3 - I1) / I2 * w[2] * w[0], (I1 - I2) / I3 * w[0] * w[1]]

    w0 = motion.at(motion.flip_times(1)[0] + 1e-3).omega
    run = solve_ivp(euler, (0, 2.3 * motion.period), w0, "DOP853", events=upwards, rtol=1e-13, atol=1e-15)
    assert run.t_events is not None
    crossings = run.t_events[0]
    assert np.diff(crossings)[0] == pytest.approx(motion.period, rel=1e-10)
    np.testing.assert_allclose(motion.at(motion.t0 + motion.period).omega, motion.omega, rtol=0, atol=1e-12)


def test_periods_without_a_period() -> None:
    assert SEPARATRIX.period == math.inf
    assert FreeMotion(BODY, [0, 1, 0]).period == math.inf
    assert FreeMotion(ph.Body([1, 1, 1]), [1, 0, 0]).period == math.inf
    assert FreeMotion(BODY, [0, 0, 0]).period == math.inf
    assert FreeMotion(BODY, [0, 0, 0]).precession_period == math.inf
    # A steady rotation about a stable axis: small wobbles have the rate w sqrt((I3 - I1)(I3 - I2) / (I1 I2)).
    wobble = 2 * math.pi / (1.5 * math.sqrt(2.5 * 1.5 / 6.0))
    assert FreeMotion(BODY, [0, 0, 1.5]).period == pytest.approx(wobble, rel=1e-15)
    assert FreeMotion(BODY, [1e-9, 0, 1.5]).period == pytest.approx(wobble, rel=1e-15)


def test_symmetric_bodies_by_hand() -> None:
    """The axis goes round the momentum at G / I1, the rates round the axis at w3 (I3 - I1) / I1."""
    motion = FreeMotion(ph.Body([2, 2, 3]), [0.3, 0.4, 1.2])
    G = math.hypot(2 * 0.5, 3 * 1.2)
    assert motion.mean_precession_rate == pytest.approx(G / 2, rel=1e-15)
    assert motion.period == pytest.approx(2 * math.pi / (1.2 * 0.5), rel=1e-15)
    assert motion.modulus == 0.0
    n = motion.nutation()
    for angle in n:
        assert angle == pytest.approx(math.atan2(1.0, 3.6), rel=1e-15)


@pytest.mark.parametrize("motion", MOVING.values(), ids=MOVING)
@pytest.mark.parametrize("reference", ["long", "short"])
def test_observed_periods_by_integration(motion: FreeMotion, reference: Any) -> None:
    """How far the reference axis goes round the momentum in one period of the body."""
    _, R, _ = integrated(motion, motion.t0 + motion.period, 4001)
    axis = R[:, :, 0 if reference == "long" else 2]
    L = motion.angular_momentum / np.linalg.norm(motion.angular_momentum)
    first = np.cross(L, [1.0, 0.3, 0.2])
    first /= np.linalg.norm(first)
    phi = np.unwrap(np.arctan2(axis @ np.cross(L, first), axis @ first))
    periods = motion.observed_periods(reference)
    assert phi[-1] - phi[0] == pytest.approx(2 * math.pi * motion.period / periods.phi, abs=1e-8)
    assert periods.psi == motion.period


@pytest.mark.parametrize("motion", MOVING.values(), ids=MOVING)
def test_the_two_conventions_are_tied(motion: FreeMotion) -> None:
    long, short = motion.observed_periods("long"), motion.observed_periods("short")
    assert 1 / short.phi == pytest.approx(1 / long.phi + 1 / long.psi, rel=1e-14)
    circled = short if motion.mode == "short-axis" else long
    assert (
        circled.phi == motion.precession_period == pytest.approx(2 * math.pi / motion.mean_precession_rate, rel=1e-15)
    )


def test_apophis() -> None:
    """Published moments and energy give the published periods, 263 +- 6 h and 27.38 +- 0.07 h.  [pravec2014]"""
    moments = np.array([0.61, 0.965, 1.0])
    energy = 1.024  # over the least for this momentum
    # Momentum of unit length in the plane of the long and the short axis: 2T = (sin x)^2 / I1 + (cos x)^2 / I3.
    sine2 = (energy - 1.0) / (1 / 0.61 - 1.0)
    motion = FreeMotion(ph.Body(moments), np.sqrt([sine2, 0.0, 1 - sine2]) / moments)
    short, long = motion.observed_periods("short"), motion.observed_periods("long")
    assert motion.mode == "short-axis"
    assert short.psi / short.phi == pytest.approx(263 / 27.38, rel=6 / 263)
    assert long.phi / short.phi == pytest.approx(30.56 / 27.38, rel=0.07 / 27.38)


def test_precession_on_the_separatrix_is_the_limit() -> None:
    G = np.linalg.norm(SEPARATRIX.angular_momentum)
    assert SEPARATRIX.mean_precession_rate == pytest.approx(2 * SEPARATRIX.kinetic_energy / G, rel=1e-15)


@pytest.mark.parametrize("motion", MOVING.values(), ids=MOVING)
@pytest.mark.parametrize("axis", [None, "long", "short"])
def test_nutation_by_sampling(motion: FreeMotion, axis: Any) -> None:
    n = motion.nutation(axis)
    t = motion.t0 + np.arange(40_000) * (motion.period / 40_000)
    m = motion.at(t).momentum / np.linalg.norm(motion.angular_momentum)
    chosen = axis or ("short" if motion.mode == "short-axis" else "long")
    angle = np.arccos(np.clip(m[:, 0 if chosen == "long" else 2], -1, 1))
    if angle[0] > math.pi / 2 and n.greatest < math.pi / 2:
        angle = math.pi - angle
    assert n.least == pytest.approx(angle.min(), abs=1e-6)  # the samples miss the extremes by a step, squared
    assert n.greatest == pytest.approx(angle.max(), abs=1e-6)
    assert n.mean == pytest.approx(angle.mean(), abs=1e-11)


@pytest.mark.parametrize("small", [1e-280, 1e-290, 1e-294, 1e-299, 1e-308, 5e-324])
def test_a_component_that_is_all_but_zero(small: float) -> None:
    body = ph.Body((0.897375119651947, 0.8973751196519523, 0.897375119651947))
    motion = FreeMotion(body, (1e-44, small, 1.0))
    np.testing.assert_allclose(motion.at(0.5).quaternion, (math.cos(0.25), 0.0, 0.0, math.sin(0.25)), atol=1e-15)
    assert not math.isnan(motion.precession_period)


def test_nutation_of_steady_rotations() -> None:
    assert FreeMotion(BODY, [0, 0, 2.0]).nutation() == (0.0, 0.0, 0.0)
    assert FreeMotion(BODY, [0, 2.0, 0]).nutation("long") == pytest.approx((math.pi / 2,) * 3)
    assert np.isnan(FreeMotion(BODY, [0, 0, 0]).nutation().mean)


@pytest.mark.parametrize("motion", MOVING.values(), ids=MOVING)
def test_flips_are_where_the_intermediate_component_changes_sign(motion: FreeMotion) -> None:
    times = motion.flip_times(6)
    t = np.linspace(motion.t0, motion.t0 + 2.9 * motion.period, 200_001)
    y = motion.at(t).momentum[:, 1]
    sampled = t[1:][np.sign(y[1:]) != np.sign(y[:-1])]
    assert sampled.size in (5, 6)
    np.testing.assert_allclose(times[: sampled.size], sampled, rtol=0, atol=1.1 * (t[1] - t[0]))
    np.testing.assert_allclose(np.diff(times), 0.5 * motion.period, rtol=1e-13)
    assert np.abs(motion.at(times).momentum[:, 1]).max() < 1e-12


def test_flips_on_the_separatrix_and_none_in_steady_rotation() -> None:
    (first, second) = SEPARATRIX.flip_times(2)
    ahead = SEPARATRIX if math.isfinite(first) else FreeMotion(ph.Body([10.0, 13.0, 15.0]), [0.5, 0.75, 0.5])
    behind = FreeMotion(ph.Body([10.0, 13.0, 15.0]), [0.5, 0.75 if ahead is SEPARATRIX else -0.75, 0.5])
    assert abs(ahead.at(ahead.flip_times(1)[0]).momentum[1]) < 1e-14
    assert second == math.inf
    assert behind.flip_times(1)[0] == math.inf
    assert (FreeMotion(BODY, [0, 1, 0]).flip_times(3) == math.inf).all()
    assert (FreeMotion(BODY, [0, 0, 1]).flip_times(3) == math.inf).all()
    assert SHORT.flip_times(0).shape == (0,)
    with pytest.raises(ValueError, match="at least 0, not -1"):
        SHORT.flip_times(-1)


@pytest.mark.parametrize("digits", [1, 4, 8, 12, 16])
def test_separatrix_distance_is_exact_however_near(digits: int) -> None:
    w3 = 0.5 * (1 + 10.0**-digits)
    inertia, omega = [10.0, 13.0, 15.0], [0.5, 0.75, w3]
    m = [Fraction(i) * Fraction(w) for i, w in zip(inertia, omega, strict=True)]
    twice_energy = sum(Fraction(w) * y for w, y in zip(omega, m, strict=True))
    true = sum(y * y for y in m) / (twice_energy * 13) - 1
    motion = FreeMotion(ph.Body(inertia), omega)
    assert motion.separatrix_distance == pytest.approx(float(true), rel=1e-14)
    assert motion.modulus**2 + motion.complementary_modulus**2 == pytest.approx(1.0, abs=1e-15)
    assert SEPARATRIX.separatrix_distance == 0.0


def test_energy_and_momentum() -> None:
    assert SHORT.kinetic_energy == pytest.approx(0.5 * (2 * 0.25 + 3 * 1.44 + 4.5 * 0.49), rel=1e-15)
    turned = Rotation.from_rotvec([0.3, -0.2, 0.9]).apply([2.2, 1.2, 0.9])
    np.testing.assert_allclose(LONG.angular_momentum, turned, rtol=1e-14)


# --- curves and pictures -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("motion", [*MOVING.values(), SEPARATRIX], ids=[*MOVING, "separatrix"])
def test_polhode_is_where_energy_and_momentum_are_right(motion: FreeMotion) -> None:
    w = motion.polhode(2001)
    body = motion._bodies[0]
    m = body.momentum(w)
    np.testing.assert_allclose(0.5 * (w * m).sum(axis=1), motion.kinetic_energy, rtol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(m, axis=1), np.linalg.norm(motion.angular_momentum), rtol=1e-14)
    near = np.linalg.norm(w[None, :, :] - motion.at(motion.t0 + np.linspace(0, 20, 40)).omega[:, None, :], axis=2).min(
        axis=1
    )
    assert near.max() < 0.01  # half the distance of its points at most
    if math.isfinite(motion.period):
        np.testing.assert_allclose(w[0], w[-1], rtol=0, atol=1e-14)


def test_polhode_of_tilted_and_steady_motions() -> None:
    body = ph.Body(TILT @ np.diag([2.0, 3.0, 4.5]) @ TILT.T)
    w = FreeMotion(body, TILT @ [0.5, 1.2, 0.7]).polhode(50)
    order = np.abs((w @ TILT)[:, None, :] - SHORT.polhode(2000)[None, :, :]).max(axis=2).min(axis=1)
    assert order.max() < 0.01
    np.testing.assert_allclose(FreeMotion(BODY, [0, 1, 0]).polhode(3), [[0, 1, 0]] * 3, atol=1e-16)


def test_herpolhode_lies_in_a_plane() -> None:
    curve = LONG.herpolhode(300)
    L = LONG.angular_momentum
    np.testing.assert_allclose(curve @ L, 2 * LONG.kinetic_energy, rtol=1e-14)
    np.testing.assert_array_equal(LONG.herpolhode(t=[3.0, 4.0]), LONG.at([3.0, 4.0]).spatial_omega)
    with pytest.raises(ValueError, match="give the times"):
        FreeMotion(BODY, np.eye(3)).herpolhode()


@pytest.mark.parametrize(
    "motion",
    [SHORT, LONG, SEPARATRIX, FreeMotion(BODY, [0, 1, 0]), FreeMotion(ph.Body([1, 1, 1]), [1, 2, 3]),
     FreeMotion(ph.Body([2, 2, 3]), [1, 2, 3]), FreeMotion(BODY, [0, 0, 0])],
)  # fmt: skip
def test_pictures(motion: FreeMotion, tmp_path: Path) -> None:
    figure = motion.plot(tmp_path / "motion.png")
    assert (tmp_path / "motion.png").stat().st_size > 20_000
    solid, plane = figure.axes
    assert plane.get_aspect() == 1.0
    assert "rad/s" in plane.get_xlabel()
    assert "rad/s" in solid.get_xlabel()
    assert len({hi - lo for lo, hi in (solid.get_xlim(), solid.get_ylim())}) == 1


def test_a_stack_has_no_picture() -> None:
    with pytest.raises(ValueError, match=r"motion\[i\]"):
        FreeMotion(BODY, np.eye(3)).plot()


def test_repr() -> None:
    text = repr(SHORT)
    assert "Body([2.0, 3.0, 4.5])" in text
    assert "short-axis" in text
    assert f"{SHORT.period:.8g} s" in text
    assert "motions" not in text


def test_few_evaluations_bring_in_no_compiler() -> None:
    code = "import sys, polhode; polhode.FreeMotion(polhode.Body([2, 3, 4]), [1, 2, 3]).at(5.0); "
    code += "assert not {'numba', 'scipy', 'matplotlib'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_almost_equatorial_spin_of_a_symmetric_body_in_plain_python() -> None:
    """Products near 1e300 on the way: the splitting of plain two-doubles must not overflow."""
    motion = ph.FreeMotion(ph.Body([1.5, 2.0, 1.5]), omega=[0.0, 1e-300, 1.0])
    state = motion.at(2.0)
    assert np.isfinite(state.quaternion).all()
    np.testing.assert_allclose(state.omega, [0.0, 1e-300, 1.0], rtol=0, atol=1e-15)
