"""A drop of water: rigid molecules that bind as TIP4P's do, and keep what nature keeps."""

import math

import numpy as np
from scipy.spatial.transform import Rotation

import polhode as ph

KCAL = 1 / 48.88821291**2  # kcal/mol in g/mol A^2/fs^2; lengths in A, times in fs
WATER = ph.Body([0.61457, 1.155115, 1.769685], name="water")
OXYGEN, HYDROGENS, CHARGE = (0, -0.0656, 0), [(0.75695, 0.5203, 0), (-0.75695, 0.5203, 0)], (0, 0.0844, 0)
UNIT = math.sqrt(332.06371 * KCAL)
FORCES = ph.pairs(
    lambda r, a, b: a[0] * ((a[1] / r) ** 12 - (a[1] / r) ** 6), [ph.systems.Site(OXYGEN, 4 * 0.155 * KCAL, 3.1536)]
) + ph.pairs(
    lambda r, a, b: a[0] * b[0] / r,
    [*(ph.systems.Site(h, 0.52 * UNIT) for h in HYDROGENS), ph.systems.Site(CHARGE, -1.04 * UNIT)],
)


def test_two_molecules_bind_by_a_hydrogen_bond() -> None:
    """Jorgensen and others (1983): the dimer of TIP4P has -6.24 kcal/mol, with its oxygens 2.75 A apart."""
    turned = Rotation.from_rotvec([[0, 0, 0], [0, 0, 2.2]])
    pair = ph.System(WATER, mass=18.0154, position=[[0, 0, 0], [0.3, 3.0, 0.3]], attitude=turned)
    cooled = ph.Langevin(kT=1e-8 * KCAL, friction=0.02, seed=1)
    run = ph.simulate_system(pair, FORCES, t_span=(0, 8000), step=1.0, heat=cooled, every=8000)
    oxygens = run.position[-1] + Rotation.from_quat(np.roll(run.quaternion[-1], -1, axis=1)).apply(OXYGEN)
    assert abs(np.linalg.norm(oxygens[1] - oxygens[0]) - 2.75) < 0.01
    assert abs(run.energy[-1] / KCAL + 6.24) < 0.02


def test_a_drop_stays_together_and_keeps_energy_and_momenta() -> None:
    grid = 2.9 * np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)], dtype=float)
    start = ph.System(WATER, mass=18.0154, position=grid, attitude=Rotation.random(8, rng=np.random.default_rng(1)))
    cold = ph.Langevin(kT=0.2 * KCAL, friction=0.02, seed=1)  # 100 K
    ice = ph.simulate_system(start, FORCES, t_span=(0, 4000), step=1.0, heat=cold, every=4000)
    drop = start.replace(
        position=ice.position[-1], velocity=ice.velocity[-1], attitude=ice.quaternion[-1], omega=ice.omega[-1]
    )
    run = ph.simulate_system(drop, FORCES, t_span=(0, 2000), step=0.5, every=50)
    assert run.energy[0] / KCAL < -40  # of eight molecules: five a molecule and more
    assert np.abs(run.energy - run.energy[0]).max() < 1e-3 * abs(run.energy[0])
    assert np.abs(run.total_momentum - run.total_momentum[0]).max() < 1e-12
    assert np.abs(run.total_angular_momentum - run.total_angular_momentum[0]).max() < 1e-10
    centre = run.position - run.position.mean(axis=1, keepdims=True)
    assert np.linalg.norm(centre, axis=2).max() < 6.0  # none has left
