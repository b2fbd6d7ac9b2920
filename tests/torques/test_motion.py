"""Torques in motion: the book toss and other problems with a known end, through `simulate`."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.torques import Torque
from tests.authorities import paper_records

EPS = float(np.finfo(float).eps)
TOSS = ph.PiecewiseTorque(((2.0, (20.0, 0.0, 0.0)), (2.05, (0.0, 4.0, 0.0))))
"""The book toss of krysl2004, as documented in PiecewiseTorque."""


def run_of(case: str, torque: Torque, **options: Any) -> ph.Solution:
    """The run that should end in the stored state."""
    record = paper_records()[case]
    return ph.simulate(
        ph.Body(record["inertia"], allow_unphysical=True),
        torque,
        omega=record["omega"],
        attitude=[float(x) for x in record["quaternion"]],
        t_span=(0.0, record["t"]),
        **options,
    )


def error(case: str, run: ph.Solution) -> float:
    """The distance of the end from the stored state: attitude matrix and relative rate, the largest entry."""
    record = paper_records()[case]
    rate = np.array(record["omega_end"], dtype=float)
    turned = np.abs(run.attitude[-1].as_matrix() - np.array(record["R_end"], dtype=float)).max()
    return float(max(turned, np.abs(run.omega[-1] - rate).max() / np.abs(rate).max()))


# --- the book toss -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("step", [0.05, 0.07, 0.3])
def test_book_toss_ends_with_the_exact_impulse(step: float) -> None:
    """The spatial momentum is the integral of a torque constant in space, which MR2 adds up to round-off.

    Steps that do not divide the segments, or are longer than one, change nothing: a step never sees both sides of a
    jump. Sampling the torque at t = 2 on one side or the other would miss by ten times the step.
    """
    run = ph.simulate(ph.Body.named("book"), TOSS, omega=[0, 0, 0], t_span=(0, 10), step=step, method="MR2")
    impulse = np.array([40.0, 4.0 * (2.05 - 2.0), 0.0])
    after = run.spatial_momentum[run.t >= 2.05]
    assert len(after) > 20
    np.testing.assert_allclose(after, np.broadcast_to(impulse, after.shape), rtol=0, atol=40 * 20 * EPS)
    assert {2.0, 2.05} <= set(run.t.tolist())


@pytest.mark.usefixtures("plain")
def test_book_toss_begins_and_ends_at_any_time() -> None:
    """Only what lies inside the run counts, forward and backward, from a breakpoint or from within a segment."""
    book = ph.Body.named("book")
    for span, impulse in [((2.0, 3.0), (0, 0.2, 0)), ((-1.0, 1.0), (20, 0, 0)), ((2.02, 3.0), (0, 0.12, 0))]:
        for t_span in (span, span[::-1]):
            way = 1 if t_span == span else -1
            run = ph.simulate(book, TOSS, omega=[0, 0, 0], t_span=t_span, step=way * 0.05, method="MR2")
            np.testing.assert_allclose(run.spatial_momentum[-1], way * np.array(impulse), rtol=0, atol=40 * 20 * EPS)


@pytest.mark.parametrize(("method", "step", "order"), [("MR2", 0.0125, 2), ("NMB", 0.0125, 2), ("RK4", 0.0015625, 4)])
def test_book_toss_converges_at_full_order(method: str, step: float, order: int) -> None:
    """Methods keep their order across the jumps. The order of RK4 is approached from above, slowly."""
    case = "krysl2004-booktoss-dt0.05@t=5"
    coarse, fine = (error(case, run_of(case, TOSS, step=h, method=method)) for h in (step, step / 2))
    assert math.log2(coarse / fine) == pytest.approx(order, abs=0.01 if order == 2 else 0.1)


# --- other problems of the papers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "torque", "step"),
    [
        ("krysl2004-coulomb@t=5", ph.CoulombSoftWall(), 0.02 / 64),
        ("celledoni2006-satellite@t=1", ph.GravityGradient.at_distance(3.986e14, 1.5e5), 0.004 / 64),
    ],
)
def test_problems_of_the_papers_end_in_the_reference_state(case: str, torque: Torque, step: float) -> None:
    """The step at which truncation and round-off of RK4 are about equal."""
    assert error(case, run_of(case, torque, step=step, method="RK4")) < 3e-12


@pytest.mark.usefixtures("plain")
def test_gravity_gradient_moves_a_tilted_body_like_the_same_body_in_principal_axes() -> None:
    tilted = ph.Body([[2.0, 0.3, -0.2], [0.3, 3.0, 0.4], [-0.2, 0.4, 4.0]])
    axes = Rotation.from_matrix(tilted.axes)
    omega, attitude = np.array([0.3, -0.5, 1.1]), Rotation.from_rotvec([1, 2, 3])
    torque = ph.GravityGradient(3.0, (1, 2, 2))
    options: dict[str, Any] = {"t_span": (0, 5), "step": 0.01, "method": "MR2"}
    mine = ph.simulate(tilted, torque, omega=omega, attitude=attitude, **options)
    other = ph.simulate(
        ph.Body(tilted.moments), torque, omega=axes.inv().apply(omega), attitude=attitude * axes, **options
    )
    # 500 steps of round-off, each some EPS, on a motion that is not chaotic within five seconds
    np.testing.assert_allclose(mine.omega, axes.apply(other.omega), rtol=0, atol=1e-13)
    np.testing.assert_allclose(mine.attitude.as_matrix(), (other.attitude * axes.inv()).as_matrix(), rtol=0, atol=1e-13)
    np.testing.assert_allclose(mine.potential_energy, other.potential_energy, rtol=0, atol=1e-13)


def test_orbital_gravity_gradient_conserves_the_energy_of_the_orbiting_frame() -> None:
    """T + V - n L along the normal: the sense of the orbit, the sign of V and the time all enter it."""
    rate, normal = 0.8, np.array([1.0, 2.0, 2.0]) / 3
    torque = ph.OrbitalGravityGradient(rate, (1, 2, 2), (2, 1, -2))
    defects = []
    for step in (0.02, 0.01):
        run = ph.simulate(ph.Body([2, 3, 4]), torque, omega=[0.3, -0.5, 1.1], t_span=(0, 20), step=step, method="RK4")
        frame_energy = run.energy - rate * run.spatial_momentum @ normal
        defects.append(np.abs(frame_energy - frame_energy[0]).max())
        size = run.kinetic_energy[0] + abs(run.potential_energy[0]) + abs(rate * run.spatial_momentum[0] @ normal)
        errors = run.invariant_errors
        np.testing.assert_allclose(
            errors["energy in turning axes"], np.abs(frame_energy - frame_energy[0]) / size, atol=1e-15
        )
        assert "energy" not in errors
        assert np.ptp(run.energy) > 1.0  # by itself the energy is not conserved
    assert defects[1] < 2e-9
    assert math.log2(defects[0] / defects[1]) == pytest.approx(4, abs=0.1)  # the order of the method


@pytest.mark.usefixtures("plain")
def test_a_body_in_orbit_rests_in_the_orbiting_frame() -> None:
    """The least moment towards the planet, the greatest along the normal, turning once an orbit: an equilibrium.

    Everywhere along it the torque vanishes; it does so for a hundred orbits only if the direction keeps its phase.
    """
    rate = 1e-3
    torque = ph.OrbitalGravityGradient(rate)
    t_end = 100 * 2 * math.pi / rate
    body = ph.Body([2, 3, 4])
    run = ph.simulate(body, torque, omega=[0, 0, rate], t_span=(0, t_end), step=t_end / 2000, method="MR2")
    np.testing.assert_allclose(run.omega, np.broadcast_to([0, 0, rate], run.omega.shape), rtol=0, atol=1e-12 * rate)


# --- motions with a formula ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("plain")
def test_damping_stops_a_sphere_exponentially() -> None:
    """w = exp(-D t / I) w0: a sphere has no gyroscopic torque."""
    from scipy.linalg import expm

    d = np.array([[0.5, 0.2, 0.0], [-0.2, 0.3, 0.1], [0.0, 0.4, 0.7]])
    omega = np.array([0.3, -0.5, 1.1])
    torque = ph.LinearDamping(d)  # type: ignore[arg-type]
    run = ph.simulate(ph.Body([2, 2, 2]), torque, omega=omega, t_span=(0, 4), step=0.01, method="RK4")
    # the error of RK4 is t (step D / I)^4 / 120 times D / I: with D / I = 0.4, some 1e-12
    np.testing.assert_allclose(run.omega[-1], expm(-2.0 * d) @ omega, rtol=0, atol=1e-12)


@pytest.mark.usefixtures("plain")
def test_sinusoidal_torque_about_a_principal_axis() -> None:
    """w = w0 + (a / I nu) (sin(nu t + phi) - sin phi)."""
    run = ph.simulate(
        ph.Body([2, 3, 4]), ph.SinusoidalTorque((0, 0, 1.2), 2.1, 0.4),
        omega=[0, 0, 0.5], t_span=(0, 10), step=0.01, method="RK4",
    )  # fmt: skip
    expected = 0.5 + 1.2 / (4 * 2.1) * (np.sin(2.1 * run.t + 0.4) - math.sin(0.4))
    # Simpson's rule: (nu step)^4 / 2880 of the amplitude, 1e-11
    np.testing.assert_allclose(run.omega[:, 2], expected, rtol=0, atol=2e-11)


def test_methods_that_cannot_handle_the_rate_refuse_damping() -> None:
    with pytest.raises(ValueError, match="MR2 does not accept LinearDamping, a torque that depends on the rate"):
        ph.simulate(ph.Body([2, 3, 4]), ph.LinearDamping(1.0), omega=[1, 0, 0], t_span=(0, 1), step=0.1, method="MR2")
