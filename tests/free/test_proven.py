"""Proven states: the balls against another truth, and `FreeMotion` against the balls."""

import math
import sys
import threading
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import flint
import mpmath as mp
import numpy as np
import pytest

import polhode as ph
from polhode import FreeMotion
from polhode.free.proven import ExactMotion, ProofNotReached
from tests.authorities import free_motion
from tests.authorities.free_regimes import ALLOWED, EPSILON, REGIMES, FreeCase, cases
from tests.authorities.high_precision import end_state, rotation

IDENTITY = [1.0, 0.0, 0.0, 0.0]
GENERIC = FreeCase((2.0, 3.0, 4.5), (0.5, 1.2, 0.7), 3.0)
NEAR_AXIS = FreeMotion(ph.Body([2.0, 3.0, 4.5]), [0.001, 1.0, 0.002])


def balls(p: FreeCase) -> list[Any]:
    return ExactMotion(np.diag(p.inertia), p.omega, IDENTITY).proven(Fraction(p.t))[0]


def centre(ball: Any) -> Any:
    mantissa, exponent = ball.mid().man_exp()
    return mp.ldexp(mp.mpf(int(mantissa)), int(exponent))


def gap(found: list[Any], truth: free_motion.Truth) -> float:
    """The distance of the centres from a truth."""
    numbers = [centre(x) for x in found]
    return float(free_motion.difference(free_motion.Truth(rotation(numbers[:4]), numbers[4:]), truth))


def contains(ball: Any, true: Any) -> bool:
    """Whether a number of mpmath, known to 50 digits, is in a ball."""
    return bool(abs(centre(ball) - true) <= centre(ball.rad()) + abs(true) * mp.mpf(10) ** -48)


# --- the balls -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("radians", [None, 1e9])
@pytest.mark.parametrize("regime", REGIMES)
def test_balls_contain_another_truth(regime: str, radians: float | None) -> None:
    """Euler angles and Carlson's integrals there, theta functions here."""
    for p in cases(regime, 2, seed=11):
        if radians is not None:
            p = p._replace(t=radians / (max(map(abs, p.omega)) or 1.0))
        with mp.workdps(60):
            found, truth = balls(p), free_motion.free_motion(*p, digits=60)
            assert gap(found, truth) < 1e-30
            assert all(contains(ball, true) for ball, true in zip(found[4:], truth.omega, strict=True))


def test_the_tumbling_tensor_solves_the_equations_of_motion() -> None:
    tensor, omega = [[2.0, 0.25, -0.125], [0.25, 3.0, 0.5], [-0.125, 0.5, 2.5]], [0.5, -1.0, 0.75]
    with mp.workdps(40):
        unit = [[mp.mpf(i == j) for j in range(3)] for i in range(3)]
        R, w = end_state(tensor, lambda t, R, w: [0, 0, 0], unit, omega, 1.5, 24)
        found, _ = ExactMotion(tensor, omega, IDENTITY).proven(Fraction(3, 2))
        assert gap(found, free_motion.Truth(R, w)) < 1e-24


THIRDS = [[Fraction(n, 3) for n in row] for row in ((1, -2, 2), (2, 2, 1), (-2, 1, 2))]
"""A rotation in rational numbers."""


@pytest.mark.parametrize("t", [5, 10**9])
@pytest.mark.parametrize(
    ("moments", "omega"),
    [
        ([9, 18, 27], [0.001, 1.0, 0.002]),
        ([9, 18, 27], [0.5, 0.25, 0.0]),
        ([9, 9, 18], [0.25, 0.5, 0.0]),  # about an axis of the equator
        ([9, 18, 27], [0.0, 1.0, 0.0]),  # about the intermediate axis
        ([9, 9, 18], [0.25, 0.5, 0.75]),
        ([9, 18, 18], [0.25, 0.5, 0.75]),
        ([9, 9, 9], [0.25, 0.5, 0.75]),
        ([90, 117, 135], [0.5, 0.75, -0.5]),  # on the separatrix
    ],
)
def test_a_turned_tensor_gives_the_turned_motion(moments: list[int], omega: list[float], t: int) -> None:
    """Whether moments are equal and whether the motion lies on the separatrix is decided for tilted tensors, too."""
    R = THIRDS
    tensor = [[sum(R[i][k] * moments[k] * R[j][k] for k in range(3)) for j in range(3)] for i in range(3)]
    turned = [sum(R[i][k] * Fraction(omega[k]) for k in range(3)) for i in range(3)]
    found, _ = ExactMotion(tensor, turned, IDENTITY).proven(Fraction(t))
    straight, _ = ExactMotion(np.diag(moments), omega, IDENTITY).proven(Fraction(t))
    numbers, true = [float(x) for x in found], [float(x) for x in straight]
    matrix = np.array(R, dtype=float)
    q = np.array([true[0], *matrix @ true[1:4]])
    assert min(np.abs(q - numbers[:4]).max(), np.abs(q + numbers[:4]).max()) < 4e-16
    np.testing.assert_allclose(numbers[4:], matrix @ true[4:], atol=4e-16)


def test_start_attitude_and_start_time_are_exact() -> None:
    q = np.array([0.5, 0.1, -0.7, 0.3])
    motion = FreeMotion(ph.Body([2.0, 3.0, 4.5]), [0.5, 1.2, 0.7], attitude=q, t0=0.1)
    at_start = motion.at(0.1, proven=True)
    assert at_start.error(motion.at(0.1)) < 2 * EPSILON
    assert np.abs((at_start.quaternion.value**2).sum() - 1.0) < 4e-16
    late = motion.at("3.1", proven=True)
    elapsed = Fraction("3.1") - Fraction(0.1)
    relative = ExactMotion(np.diag([2.0, 3.0, 4.5]), [0.5, 1.2, 0.7], motion._quaternion[0].tolist()).proven(elapsed)[0]
    assert all(x.overlaps(y) for x, y in zip(relative, [*late.quaternion.balls, *late.omega.balls], strict=True))


@pytest.mark.parametrize("t", [0, 10**18, "1e18", Fraction(10**19, 3), Decimal("1e30"), "1e300", 1e300, "-0.1", "1/3"])
def test_every_component_is_known_to_its_last_place(t: Any) -> None:
    s = NEAR_AXIS.at(t, proven=True)
    for x in (s.omega, s.quaternion):
        assert ((x.radius < np.spacing(np.abs(x.value))) | (x.value == 0.0) & (x.radius < 1e-36)).all()
        assert (x.value != 0.0).all() or t == 0
        assert all(abs(ball.mid() - value).abs_lower() <= radius for ball, value, radius in zip(*parts(x), strict=True))


def parts(x: Any) -> tuple[Any, Any, Any]:
    return x.balls, x.value.tolist(), x.radius.tolist()


def test_times_are_taken_at_their_exact_values() -> None:
    tenth, text = NEAR_AXIS.at(0.1, proven=True), NEAR_AXIS.at("0.1", proven=True)
    assert not tenth.quaternion.balls[0].overlaps(text.quaternion.balls[0])
    fraction = NEAR_AXIS.at(Fraction(1, 10), proven=True)
    assert fraction.omega.text(30) == text.omega.text(30)
    assert NEAR_AXIS.at(10**18, proven=True).omega.text() == NEAR_AXIS.at("1e18", proven=True).omega.text()
    assert NEAR_AXIS.at(np.float64(0.1), proven=True).omega.text() == tenth.omega.text()


def test_shapes_are_those_of_states() -> None:
    many = FreeMotion(ph.Body([2.0, 3.0, 4.5]), [[0.5, 1.2, 0.7], [0.1, 0.0, 0.0]])
    for motion in (NEAR_AXIS, many):
        for t in (1.0, [1.0, 2.0], np.arange(6.0).reshape(2, 3), []):
            proven, plain = motion.at(t, proven=True), motion.at(t)
            assert proven.omega.value.shape == proven.omega.radius.shape == plain.omega.shape
            assert proven.quaternion.value.shape == plain.quaternion.shape
            if plain.t.size:
                assert np.max(proven.error(plain)) < 4 * EPSILON
    bodies = FreeMotion([ph.Body([2.0, 3.0, 4.5]), ph.Body([1.0, 2.0, 2.5])], [0.5, 1.2, 0.7])
    assert bodies.at([1.0, "2"], proven=True).error(bodies.at([1.0, 2.0])).shape == (2, 2)


def test_the_precision_of_others_is_left_as_it_was() -> None:
    before = flint.ctx.prec
    found: list[Any] = []

    def work(t: float) -> None:
        found.append(NEAR_AXIS.at(t, proven=True).omega.text(30))

    threads = [threading.Thread(target=work, args=(10.0**k,)) for k in (1, 100, 5, 200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert flint.ctx.prec == before
    assert sorted(found) == sorted(NEAR_AXIS.at(10.0**k, proven=True).omega.text(30) for k in (1, 100, 5, 200))


def test_precision_rises_with_the_time() -> None:
    assert NEAR_AXIS.at(1.0, proven=True).bits < 200 < NEAR_AXIS.at("1e100", proven=True).bits < 2000


# --- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("t", "told"),
    [
        (math.nan, "t must be finite, but it is nan"),
        ("inf", "t must be finite"),
        ([0.0, math.inf], r"t\[1\] must be finite"),
        ("soon", "t must be a number, a Fraction or a decimal text, not 'soon'"),
        ("1/0", "decimal text"),
        (True, "decimal text"),
        (None, "decimal text"),
        (1j, "decimal text"),
        ("1e99999999999", "t has more than 40,000 bits"),
        pytest.param(10**20000, "give a shorter time", id="an integer of 20,000 digits"),
    ],
)
def test_bad_times_are_named(t: Any, told: str) -> None:
    with pytest.raises((TypeError, ValueError), match=told):
        NEAR_AXIS.at(t, proven=True)


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "flint", None)
    monkeypatch.delitem(sys.modules, "polhode.free.proven")
    with pytest.raises(ModuleNotFoundError, match=r"flint, which is not installed: pip install 'polhode\[proof\]'"):
        NEAR_AXIS.at(1.0, proven=True)


def test_gyrostats_are_not_proven() -> None:
    gyrostat = FreeMotion(ph.Body([2.0, 3.0, 4.5], rotor=[0.0, 0.7, 0.0]), [0.01, 1.0, 0.02])
    with pytest.raises(ValueError, match="proven states are for bodies without a rotor"):
        gyrostat.at(1.0, proven=True)


def test_a_proof_that_is_not_reached_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polhode.free.proven.MOST_BITS", 64)
    with pytest.raises(ProofNotReached, match="bits the balls of the state are still too wide"):
        NEAR_AXIS.at(5.0, proven=True)


def test_states_of_another_shape_are_named() -> None:
    with pytest.raises(ValueError, match=r"the quaternion has the shape \(2, 4\), but it is \(4,\) here"):
        NEAR_AXIS.at(1.0, proven=True).error(NEAR_AXIS.at([1.0, 2.0]))


# --- the closed form against the balls -----------------------------------------------------------------------------


def error(p: FreeCase) -> float:
    """The error of `FreeMotion` in eps, with the numbers given taken as exact."""
    motion = FreeMotion(ph.Body(p.inertia, allow_unphysical=True), p.omega)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of digits that inexact numbers would not have
        found: float = motion.at(p.t, proven=True).error(motion.at(p.t)) / EPSILON
    return found


def test_the_error_sees_a_wrong_last_digit() -> None:
    motion = FreeMotion(ph.Body(GENERIC.inertia), GENERIC.omega)
    s, proven = motion.at(3.0), motion.at(3.0, proven=True)
    assert proven.error(s) < 2 * EPSILON
    for k in range(3):
        s.omega[k] += 8 * EPSILON * np.abs(s.omega).max()
        assert proven.error(s) > 6 * EPSILON
        s.omega[k] -= 8 * EPSILON * np.abs(s.omega).max()
    s.quaternion[:] *= -1.0
    assert proven.error(s) < 3 * EPSILON
    s.quaternion[2] += 4 * EPSILON
    assert proven.error(s) > 3 * EPSILON


PHYSICAL = [name for name in REGIMES if not name.startswith("unphysical")]


@pytest.mark.parametrize("regime", PHYSICAL)
def test_long_times_cost_no_digit_of_exact_numbers(regime: str) -> None:
    """Nothing is lost up to 1e14 radians, one unit in the last place from the separatrix or anywhere else."""
    for radians in (1e9, 1e14):
        for p in cases(regime, 8, seed=5):
            assert error(p._replace(t=-radians / (max(map(abs, p.omega)) or 1.0))) < 8.0


@pytest.mark.parametrize("regime", REGIMES)
def test_the_phase_is_known_after_1e18_radians(regime: str) -> None:
    """The rates of the phases have 31 digits: 18 of them are turns."""
    for p in cases(regime, 6, seed=6):
        motion = FreeMotion(ph.Body(p.inertia, allow_unphysical=True), p.omega)
        t = 1e18 / (float(motion._column("spin").max()) or 1.0)
        assert error(p._replace(t=t)) * EPSILON < 1e-12


class Adversary(NamedTuple):
    """A motion that was moved by some units in the last place, and a time at which something changes."""

    regime: str
    case: FreeCase


def adversary(draw: np.random.Generator) -> Adversary:
    """Numbers some units in the last place from a regime; times of all lengths, at flips and at quarter periods."""

    def moved(x: float, most: int) -> float:
        for _ in range(int(draw.integers(most + 1))):
            x = math.nextafter(x, float(draw.choice([-math.inf, math.inf])))
        return x

    regime = str(draw.choice(list(REGIMES)))
    p = REGIMES[regime](draw)
    a, b, c = (moved(x, 2) for x in p.inertia)
    i, j, k = (moved(x, 2) if x != 0.0 and draw.uniform() < 0.5 else x for x in p.omega)
    motion = FreeMotion(ph.Body([a, b, c], allow_unphysical=True), [i, j, k])
    spin, period = float(motion._column("spin").max()) or 1.0, float(motion.period)
    sign, kind = float(draw.choice([-1.0, 1.0])), int(draw.integers(4))
    t = p.t
    if kind == 1:
        t = sign * 10.0 ** draw.uniform(0, 15) / spin
    elif kind > 1 and period * spin < 1e9:
        first = float(motion.flip_times(1)[0]) if draw.uniform() < 0.5 else 0.0
        quarters = float(draw.integers(20 if kind == 2 else 10**6))
        t = sign * quarters * 0.25 * period + (first if math.isfinite(first) else 0.0)
    return Adversary(regime, FreeCase((a, b, c), (i, j, k), moved(t, 1)))


def check_adversaries(count: int, seed: int) -> None:
    """Errors are below 4 eps (1 + s), 16 for bodies that break the triangle inequality."""
    draw = np.random.default_rng(seed)
    for _ in range(count):
        p = adversary(draw).case
        found = error(p)
        if found > ALLOWED[p.physical]:
            assert found <= ALLOWED[p.physical] * (1 + free_motion.sensitivity(*p)), p


def test_adversaries_do_not_break_the_bound() -> None:
    check_adversaries(300, 1)


@pytest.mark.evidence
def test_ten_thousand_adversaries_do_not_break_the_bound() -> None:
    check_adversaries(10_000, 2)
