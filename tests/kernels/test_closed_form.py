"""The closed form of the free motion against many digits, regime by regime, in plain Python and compiled."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from polhode.kernels.algebra import dd
from polhode.kernels.free import closed_form
from polhode.kernels.free.closed_form import Constants
from tests.authorities import free_motion
from tests.authorities.free_regimes import (
    REGIMES,
    FreeCase,
    by_kernels,
    cases,
    error,
    measured,
    state,
    truth,
)
from tests.authorities.high_precision import end_state

DOUBLE = 2.0**-52
TWO_DOUBLE = 1e-30


def exact(x: tuple[float, float]) -> mp.mpf:
    return mp.mpf(x[0]) + mp.mpf(x[1])


# --- the truth itself ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case",
    [
        FreeCase((2.0, 3.0, 4.5), (0.5, 1.25, 0.75), 1.5),  # short-axis mode
        FreeCase((4.5, 2.0, 3.0), (-0.25, 1.5, 0.25), -1.5),  # long-axis mode, backwards, other order
        FreeCase((10.0, 13.0, 15.0), (0.5, 0.75, -0.5), 2.0),  # on the separatrix
        FreeCase((2.0, 2.0, 3.0), (0.5, 0.25, 1.0), 2.0),  # oblate
        FreeCase((1.0, 2.0, 2.0), (0.5, 0.25, 1.0), 2.0),  # prolate
        FreeCase((1.0, 1.0, 1.0), (0.5, 0.25, 1.0), 2.0),
    ],
)
def test_the_authority_solves_the_equations_of_motion(case: FreeCase) -> None:
    unit = [[mp.mpf(i == j) for j in range(3)] for i in range(3)]
    tensor = [[case.inertia[i] if i == j else 0.0 for j in range(3)] for i in range(3)]
    with mp.workdps(40):
        integrated = end_state(tensor, lambda t, R, w: [0, 0, 0], unit, case.omega, case.t, 24)
        there = free_motion.Truth(*integrated)
        assert free_motion.difference(free_motion.free_motion(*case), there) < 1e-24


# --- elliptic integrals --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kc", [1.0, 0.7, 0.03, 1e-8, 1e-150, 1e-270])
def test_quarter_period_has_two_doubles(kc: float) -> None:
    with mp.workdps(700):  # 1 - k'^2 must not be lost
        true = mp.ellipk(1 - mp.mpf(kc) ** 2)
        assert abs(exact(closed_form.quarter_period((kc, 0.0))) / true - 1) < TWO_DOUBLE


@pytest.mark.parametrize("kc", [1.0, 0.6, 0.01])
@pytest.mark.parametrize("p", [1.5, 40.0, 1e6])
def test_complete_integral_has_two_doubles(kc: float, p: float) -> None:
    with mp.workdps(60):
        m, b = 1 - mp.mpf(kc) ** 2, mp.mpf(3.25)
        # (a c^2 + b s^2) / (c^2 + p s^2) = a + (b - a p) s^2 / (c^2 + p s^2) with a = 1, in Legendre's integrals.
        n = 1 - mp.mpf(p)
        true = mp.ellipk(m) + (b - p) * (mp.ellippi(n, m) - mp.ellipk(m)) / n
        mine = closed_form.complete_integral((kc, 0.0), (p, 0.0), (1.0, 0.0), (3.25, 0.0))
        assert abs(exact(mine) / true - 1) < TWO_DOUBLE * 10  # the last digits go in a dozen steps


# --- exact sums and remainders -------------------------------------------------------------------------------------


def relative_error(found: tuple[float, float], true: Fraction) -> float:
    return float(abs(Fraction(found[0]) + Fraction(found[1]) - true) / abs(true))


def test_a_sum_is_right_to_two_doubles_however_much_cancels() -> None:
    rng = np.random.default_rng(3)
    for cancelled in (0, 30, 100, 200, 300):
        for _ in range(20):
            half = (rng.normal(size=15) * 2.0 ** rng.integers(-150, 150, 15)).tolist()
            rest = (rng.normal(size=2) * 2.0 ** -float(cancelled)).tolist()
            terms = [*half, *rest, *(-x for x in half)]
            rng.shuffle(terms)
            true = sum(map(Fraction, terms), Fraction(0))
            assert relative_error(dd.total(terms, 32), true) < 2.0**-102
    assert dd.total([0.0] * 32, 32) == (0.0, 0.0)
    assert dd.total([1.0, 2.0**-80, -1.0, -(2.0**-80)], 4) == (0.0, 0.0)


@pytest.mark.parametrize("size", [1.0, 1e-70, 1e-160, 1e-300])
def test_the_distance_from_the_separatrix_has_all_digits(size: float) -> None:
    """Numbers are moved by units in the last place: distances below 1e-15 of the terms, and zero."""
    rng = np.random.default_rng(4)
    smallest, zeros = 1.0, 0
    for p in cases("on_separatrix", 60) * 4:
        (a, w1), (b, _), (c, w3) = sorted(zip(p.inertia, p.omega, strict=True))
        scale = 2.0 ** -math.frexp(c)[1]
        I1, I2, I3 = a * scale, b * scale, c * scale
        x, z = math.ldexp(w1, -10), math.ldexp(w3, -10)
        I2 += float(rng.integers(-1, 2)) * math.ulp(I2)
        z += float(rng.integers(-1, 2)) * math.ulp(z)
        F1, F2, F3 = Fraction(I1), Fraction(I2), Fraction(I3)
        term = F3 * (F3 - F2) * Fraction(z) ** 2
        true = term - F1 * (F2 - F1) * Fraction(x) ** 2
        lift = 2.0 ** round(math.log2(size))
        found = closed_form._beyond_separatrix(I1, I2, I3, x, z)
        c_small = closed_form.set_up((I1, I2, I3), (x * lift, 0.5, z * lift))
        if true == 0:
            assert found == (0.0, 0.0)
            assert c_small.kc == 0.0
            zeros += 1
        else:
            assert relative_error(found, true) < 1e-30
            assert c_small.s == math.copysign(1.0, true)
            smallest = min(smallest, float(abs(true) / term))
            R3 = F3 if true > 0 else F1  # relabelled
            R1, y3 = F1 + F3 - R3, (z if true > 0 else x)
            gap = abs(R3 - F2)
            C2 = (R3 * Fraction(y3 * lift)) ** 2 + (F2 / 2) ** 2 * R3 * abs(F2 - R1) / (F2 * abs(F3 - F1))
            with mp.workdps(40):
                square = R3 * abs(true) * Fraction(lift) ** 2 / gap / C2
                kc = mp.sqrt(mp.mpf(square.numerator) / mp.mpf(square.denominator))
                assert abs(c_small.kc - kc) < 4 * DOUBLE * kc + 2.0**-1073
    assert zeros > 10
    assert smallest < 1e-15


@pytest.mark.parametrize("most", [1.0, 2.0**40, 2.0**51, 2.0**53, 2.0**60, 2.0**70])
def test_turns_have_their_parity_and_their_fraction(most: float) -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        high = float(rng.uniform(0.1, 1.0))
        low, t = float(rng.uniform(-0.5, 0.5)) * math.ulp(high), float(rng.uniform(-most, most))
        n, f = closed_form.turns(t, high, low)
        true = Fraction(t) * (Fraction(high) + Fraction(low))
        assert n == round(n)
        assert abs(f) < 1.6
        difference = (Fraction(n) + Fraction(f) - true) % 2
        assert min(difference, 2 - difference) < Fraction(2.0**-52)


# --- the motion ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("regime", REGIMES)
def test_error_is_a_few_eps_in_every_regime(regime: str) -> None:
    """Below 4 eps (1 + sensitivity), 16 for bodies that break the triangle inequality; excess is measured by that."""
    assert max(measured(regime, 10, seed=2)["excess"]) < 1.0


@pytest.mark.evidence
@pytest.mark.parametrize("regime", REGIMES)
def test_error_is_a_few_eps_in_every_regime_at_length(regime: str) -> None:
    assert max(measured(regime, 400, seed=3)["excess"]) < 1.0


def test_a_million_million_turns_cost_no_digit() -> None:
    """For the very numbers given: without the second halves of the rates, 1e12 turns would leave three digits."""
    for p in cases("many_turns", 20, seed=5):
        true = free_motion.free_motion(*p)
        for q, w in (by_kernels(p, compiled=False), by_kernels(p, compiled=True), state(p)):
            assert error(true, 0.0, q, w) < 8.0


def test_the_error_measure_sees_a_wrong_last_digit() -> None:
    p = cases("generic", 1)[0]
    p = p._replace(t=p.t / abs(p.t) * 0.01)  # little sensitivity
    q, w = state(p)
    assert error(*truth(p), q, w) < 2.0
    assert error(*truth(p), q, w * (1 + 8 * DOUBLE)) > 3.0
    assert error(*truth(p), q + np.array([0, 4 * DOUBLE, 0, 0]), w) > 3.0
    assert error(*truth(p), q * math.nan, w) == math.inf


@pytest.mark.parametrize("regime", REGIMES)
def test_compiled_and_plain_agree(regime: str) -> None:
    """Not bit by bit: plain Python has no fused multiplication. Each is within its bound: so twice that."""
    for p in cases(regime, 8, seed=4):
        q, w = by_kernels(p, compiled=False)
        fast_q, fast_w = by_kernels(p, compiled=True)
        allowed = 8 * DOUBLE * (1 + min(free_motion.sensitivity(*p), 1e12))
        assert min(np.abs(q - fast_q).max(), np.abs(q + fast_q).max()) <= allowed
        assert np.abs(w - fast_w).max() <= allowed * (np.abs(w).max() or 1.0)


def constants(inertia: tuple[float, float, float], omega: tuple[float, float, float]) -> Constants:
    return closed_form.set_up(inertia, omega)


@pytest.mark.parametrize(
    ("inertia", "omega"),
    [((0.5, 0.7, 1.0), (0.2, 0.3, 1.0)), ((1.0, 0.5, 0.7), (0.1, 1.0, 0.2)), ((0.5, 0.7, 1.0), (0.5, 0.9, 0.35))],
)
def test_both_moduli_have_all_their_digits(
    inertia: tuple[float, float, float], omega: tuple[float, float, float]
) -> None:
    c = constants(inertia, omega)
    with mp.workdps(50):
        assert abs(mp.mpf(c.k) ** 2 + mp.mpf(c.kc) ** 2 - 1) < 2 * DOUBLE
        assert abs(c.K / mp.ellipk(mp.mpf(c.k) ** 2) - 1) < 4 * DOUBLE / c.kc**2


def test_series_are_used_where_they_converge() -> None:
    for p in cases("near_separatrix", 50) + cases("generic", 50):
        scaled = [np.ldexp(x, -np.frexp(np.abs(x).max())[1]).tolist() for x in (np.array(p.inertia), np.array(p.omega))]
        c = constants(tuple(scaled[0]), tuple(scaled[1]))
        assert c.q <= (closed_form.LARGEST_NOME if c.kind == closed_form.DIRECT else 0.0202)


def test_one_double_past_the_edge_of_a_half_period_is_no_jump() -> None:
    """Where the phase is a half period to the last bit, the angle must not be reduced once more."""
    inertia, omega = (0.5, 0.7, 1.0), (0.2, 0.0, 1.0)
    c = constants(inertia, omega)
    d = closed_form.direct_series(c)
    start = closed_form.direct_third_kind(d, 1.0, 0.0)
    quarter = 0.5 / c.rate_high
    for ulps in range(-3, 4):
        _, _, y = closed_form.direct(c, d, start, quarter + ulps * math.ulp(quarter))
        assert y[1] == pytest.approx(c.B, rel=1e-15)
