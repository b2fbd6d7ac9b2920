"""
Rigid water
===========

Eight rigid water molecules of TIP4P's kind, without a cutoff. Forces agree with those of LAMMPS to 5e-15, and a step of
NO_SQUISH with its `fix rigid/nve/small` to 1e-15 of an Angstrom. The error of the energy is that of the forces, not of
the rotation: the exact flow of `Strang` and the axis rotations of `NO_SQUISH` allow steps of the same length, and so
does LAMMPS: the black crosses were measured with it, from the same state over the same 4 ps (`benchmarks/water.py`).
Reading: at equal errors all three have equal steps, and only a higher order, `BlanesMoanS6`, allows longer ones. Over
100,000 steps of 27 molecules it is the same (`python -m benchmarks.systems drift`).
"""

import math

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.transform import Rotation

import polhode as ph

plt.style.use("polhode.plots.polhode")
KCAL = 1 / 48.88821291**2  # kcal/mol in g/mol A^2/fs^2
water = ph.Body([0.61457, 1.155115, 1.769685], name="water")
oxygen, hydrogens, charge = (0, -0.0656, 0), [(0.75695, 0.5203, 0), (-0.75695, 0.5203, 0)], (0, 0.0844, 0)
unit = math.sqrt(332.06371 * KCAL)
forces = ph.pairs(
    lambda r, a, b: a[0] * ((a[1] / r) ** 12 - (a[1] / r) ** 6), [ph.systems.Site(oxygen, 4 * 0.155 * KCAL, 3.1536)]
) + ph.pairs(
    lambda r, a, b: a[0] * b[0] / r,
    [*(ph.systems.Site(h, 0.52 * unit) for h in hydrogens), ph.systems.Site(charge, -1.04 * unit)],
)
grid = 3.1 * np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
start = ph.System(water, mass=18.0154, position=grid, attitude=Rotation.random(8, rng=np.random.default_rng(1)))
bath = ph.Langevin(kT=0.592 * KCAL, friction=0.02, seed=1)
warm = ph.simulate_system(start, forces, t_span=(0, 2000), step=1.0, heat=bath, every=2000)
system = start.replace(
    position=warm.position[-1], velocity=warm.velocity[-1], attitude=warm.quaternion[-1], omega=warm.omega[-1]
)
steps = np.array([0.25, 0.5, 1.0, 2.0, 3.0])
plt.figure(figsize=(6, 3.8))
for method, marker in (("Strang", "o"), ("NO_SQUISH", "x"), ("BlanesMoanS6", "s")):
    errors = []
    for h in steps:
        s = ph.simulate_system(system, forces, t_span=(0, 4000), step=h, method=method, every=5)
        errors.append(((s.energy - s.energy[0]) / s.kinetic_energy.mean()).std())
    plt.loglog(steps, errors, marker=marker, label=method)
by_lammps = [1.46e-5, 6.31e-5, 2.87e-4, 9.20e-4, 2.21e-3]  # measured with LAMMPS of July 2025, see above
plt.loglog(steps, by_lammps, "k+", ms=11, label="LAMMPS")
plt.xticks(steps, steps)
plt.minorticks_off()
plt.xlabel("step (fs)")
plt.ylabel("rms error of the energy / kinetic energy")
plt.legend()
plt.show()
