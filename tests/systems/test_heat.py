"""Equilibrium under a heat bath, within its statistical error."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

import polhode as ph

pytestmark = pytest.mark.evidence

MOMENTS = np.array([0.4, 1.0, 1.2])
KT = 0.7
SCREW = np.array([
    [3.0, 0.2, 0.0, 0.5, 0.0, 0.1], [0.2, 2.0, 0.0, 0.0, -0.4, 0.0], [0.0, 0.0, 2.5, 0.3, 0.0, 0.6],
    [0.5, 0.0, 0.3, 1.0, 0.1, 0.0], [0.0, -0.4, 0.0, 0.1, 1.5, 0.0], [0.1, 0.0, 0.6, 0.0, 0.0, 1.2],
])  # fmt: skip
"""A resistance with coupling of all kinds; its eigenvalues are positive."""


def ensemble(n: int) -> ph.System:
    """Bodies far from each other, which do not act on each other: independent samples."""
    return ph.System(ph.Body(MOMENTS), mass=2.0, position=np.arange(3.0 * n).reshape(n, 3))


def within(samples: Any, expected: float, sigmas: float = 4.0) -> bool:
    """Whether the mean of independent rows is the expected one, within its statistical error."""
    mean, error = samples.mean(), samples.std() / math.sqrt(samples.size)
    return bool(abs(mean - expected) < sigmas * error)


def field(kT: float, strength: float) -> Any:
    return ph.MagneticDipole((0.0, 0.0, 1.0), (0.0, 0.0, strength * kT))


def test_momenta_have_the_temperature_of_the_bath() -> None:
    """m_i^2 = kT I_i for each axis of an anisotropic body, v_i^2 = kT / mass, and normal distributions."""
    s = ph.simulate_system(
        ensemble(4000), field(KT, 1.0), t_span=(0, 20), step=0.1, every=200, heat=ph.Langevin(KT, 1.0, 0.8, seed=1)
    )
    for k in range(3):
        m, v = s.momentum[-1, :, k], s.velocity[-1, :, k]
        assert within(m * m, KT * MOMENTS[k])
        assert within(v * v, KT / 2.0)
        assert within(m**4, 3 * (KT * MOMENTS[k]) ** 2)
        assert within(m, 0.0)
    assert within(s.momentum[-1, :, 0] * s.momentum[-1, :, 1], 0.0)


def test_orientations_in_a_field_follow_boltzmann() -> None:
    """The mean of cos(theta) is Langevin's function coth x - 1/x, that of its square 1 - 2 L / x."""
    x = 2.0
    s = ph.simulate_system(
        ensemble(4000), field(KT, x), t_span=(0, 30), step=0.05, every=600, heat=ph.Langevin(KT, 1.0, seed=2)
    )
    cosine = 2.0 * (s.quaternion[-1, :, 0] ** 2 + s.quaternion[-1, :, 3] ** 2) - 1.0
    langevin = 1.0 / math.tanh(x) - 1.0 / x
    assert within(cosine, langevin)
    assert within(cosine**2, 1.0 - 2.0 * langevin / x)


def trap(t: float, x: Any, q: Any, p: Any) -> Any:
    return -p[0] * x, np.zeros_like(x)


def test_a_harmonic_trap_has_the_averages_of_its_linear_map() -> None:
    """With kick, flow, bath, flow, kick, x^2 = kT / k whatever the step, and v^2 = kT (1 - (w h)^2 / 4) / mass.

    The step is linear here, so its covariances are known exactly; another order of operations has others.
    """
    n, k, mass, h = 4000, 3.0, 2.0, 0.8
    system = ph.System(ph.Body(MOMENTS), mass=mass, position=np.zeros((n, 3)))
    s = ph.simulate_system(
        system, ph.forces(trap, parameters=[k]), t_span=(0, 40), step=h, every=50, heat=ph.Langevin(KT, 1.0, seed=7)
    )
    x, v = s.position[-1].ravel(), s.velocity[-1].ravel()
    cold = 1.0 - k / mass * h * h / 4.0
    assert within(x * x, KT / k)
    assert within(v * v, cold * KT / mass)
    assert not within(v * v, KT / mass)
    assert within(x * v, 0.0)


def test_configurational_averages_are_of_second_order() -> None:
    """The error of the mean of cos(theta) has no term of first order: it falls at least by four with half the step.

    Most of it is of fourth order at 0.4, so it falls by more: with 0.2 the whole error is only some times its noise. An
    error of first order would fall by two, whatever its size.
    """
    x, kT = 4.0, 1.0
    exact = 1.0 / math.tanh(x) - 1.0 / x
    errors, noise = [], []
    for h in (0.4, 0.2):
        s = ph.simulate_system(
            ensemble(3000),
            field(kT, x),
            t_span=(0, 3000),
            step=h,
            every=round(2.5 / h),
            heat=ph.Langevin(kT, 1.0, seed=3),
        )
        keep = s.t > 20
        cosine = 2.0 * (s.quaternion[keep, :, 0] ** 2 + s.quaternion[keep, :, 3] ** 2) - 1.0
        each = cosine.mean(axis=0)  # of one body over time: independent of the others
        errors.append(each.mean() - exact)
        noise.append(each.std() / math.sqrt(each.size))
    long, short = (abs(e) for e in errors)
    assert long > 10 * noise[0]  # it is seen
    assert long - 2 * short > 4 * math.hypot(noise[0], 2 * noise[1]), (errors, noise)  # not of first order
    assert long - 4 * short > -4 * math.hypot(noise[0], 4 * noise[1]), (errors, noise)  # of second, or better


def test_an_isolated_pair_keeps_its_temperature_in_contact() -> None:
    """Interacting bodies have the temperature of the bath, too: the pairs of a dilute gas with a soft repulsion."""

    def soft(r: float, a: Any, b: Any) -> Any:
        return math.exp(-r * r)

    draw = np.random.default_rng(2)
    system = ph.System(ph.Body(MOMENTS), mass=1.0, position=3 * draw.normal(size=(40, 3)))
    s = ph.simulate_system(
        system, ph.pairs(soft, [ph.systems.Site((0.3, 0.0, 0.0))]), t_span=(0, 4000), step=0.1, every=50,
        heat=ph.Langevin(KT, 1.0, seed=5),
    )  # fmt: skip
    each = s.momentum[s.t > 20] ** 2 / MOMENTS
    assert within(each.mean(axis=2).ravel()[::7], KT)


def test_a_resistance_matrix_gives_the_covariance_of_its_process() -> None:
    """One bath alone: means E p and covariances kT (M - E M E^T) with E = exp(-R M^-1 h), in body axes."""
    n, h, mass = 20_000, 1e-6, 2.0
    R = 1e6 * SCREW
    system = ph.System(
        ph.Body(MOMENTS), mass=mass, position=np.arange(3.0 * n).reshape(n, 3), velocity=(0.5, -0.3, 0.2),
        omega=(0.1, 0.4, -0.6),
    )  # fmt: skip
    s = ph.simulate_system(
        system, ph.systems.UniformGravity((0, 0, 0)), t_span=(0, h), step=h, heat=ph.Langevin(KT, resistance=R, seed=9)
    )
    M = np.diag([mass] * 3 + MOMENTS.tolist())
    E = expm(-R @ np.linalg.inv(M) * h)
    p = np.hstack([mass * s.velocity[-1], s.momentum[-1]])
    start = np.concatenate([mass * system.velocity[0], system.momentum[0]])
    covariance = KT * (M - E @ M @ E.T)
    off = (p - E @ start) @ np.linalg.inv(np.linalg.cholesky(covariance)).T  # six independent normal numbers
    for i in range(6):
        assert within(off[:, i], 0.0)
        for j in range(i + 1):
            assert within(off[:, i] * off[:, j], float(i == j))


def test_a_screw_in_a_field_has_the_temperature_of_the_bath() -> None:
    """Whatever the coupling, momenta are those of Boltzmann, and velocity and rate are independent."""
    bath = ph.Langevin(KT, resistance=SCREW, seed=4)
    s = ph.simulate_system(ensemble(4000), field(KT, 2.0), t_span=(0, 20), step=0.05, every=400, heat=bath)
    for k in range(3):
        m, v = s.momentum[-1, :, k], s.velocity[-1, :, k]
        assert within(m * m, KT * MOMENTS[k])
        assert within(v * v, KT / 2.0)
        assert within(m * v, 0.0)
    cosine = 2.0 * (s.quaternion[-1, :, 0] ** 2 + s.quaternion[-1, :, 3] ** 2) - 1.0
    assert within(cosine, 1.0 / math.tanh(2.0) - 0.5)
