"""Systems beside LAMMPS and heyoka: `python -m benchmarks.systems [waters] [energy] [drift] [growth] [two]`.

Ratios are of processor times, taken in turn in one process; every part prints what it has measured.
"""

import math
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import polhode as ph
from benchmarks import water
from benchmarks.harness import interleave, table

FREE_COST = 500
"""Steps of water that are timed at once."""


def waters(quick: bool) -> None:
    """A step of 64 rigid waters, all pairs, against LAMMPS in one process at the same forces."""
    system, forces, steps = water.droplet(4), water.forces(), 100 if quick else FREE_COST
    peer, other = water.Lammps(system, 1.0), water.Lammps(system, 1.0, hybrid=True)
    candidates: dict[str, Callable[[], object]] = {
        "LAMMPS, lj/cut/coul/cut": lambda: peer.go(steps), "LAMMPS, hybrid/overlay": lambda: other.go(steps)
    }  # fmt: skip
    for method in ("NO_SQUISH", "Strang"):
        candidates[f"polhode {method}"] = lambda method=method: ph.simulate_system(  # type: ignore[misc]
            system, forces, t_span=(0, steps), step=1.0, method=method, every=steps
        )
    found = interleave(candidates, 5 if quick else 11, time.thread_time)
    print(table("64 rigid waters, a step", found, steps))


def energy(quick: bool) -> None:
    """The error of the energy of water at several steps, of the exact flow and of rotations about the axes."""
    system, forces = water.droplet(2), water.forces()
    steps = 10_000 if quick else 100_000
    print(f"8 rigid waters, {steps} steps: rms error of the energy over the kinetic energy, and its drift a step")
    for h in (0.5, 1.0, 1.5, 2.0, 3.0, 4.0):
        line = f"  {h:4.1f} fs"
        for method in ("Strang", "NO_SQUISH"):
            try:
                s = ph.simulate_system(system, forces, t_span=(0, h * steps), step=h, method=method, every=20)
            except ph.SimulationFailed:
                line += f"   {method} failed"
                continue
            e = (s.energy - s.energy[0]) / s.kinetic_energy.mean()
            slope = np.polyfit(np.arange(e.size) * 20.0, e, 1)[0]
            line += f"   {method} {e.std():.2e} {slope:+.1e}"
        print(line, flush=True)


def drift(quick: bool) -> None:
    """The energy of water beside LAMMPS at equal steps: its error, its drift a step, and the time of a step.

    The error of a second-order method grows with the square of the step, so the ratio of two errors at equal steps says
    how much longer one's step may be at equal errors, and with the ratio of times how much faster it is then.
    """
    system, forces, stride = water.droplet(3), water.forces(), 20
    steps = 10_000 if quick else 100_000
    print(
        f"27 rigid waters, {steps} steps: rms error of the energy over the kinetic energy, its drift a step, us a step"
    )
    for h in (0.5, 1.0, 2.0, 3.0):
        line = f"  {h:4.1f} fs"
        peer = water.Lammps(system, h, cutoff=1000.0)
        values, begin = [sum(peer.energy())], time.thread_time()
        kinetic = []
        for _ in range(steps // stride):
            peer.go(stride)
            potential, moving = peer.energy()
            values.append(potential + moving)
            kinetic.append(moving)
        taken = time.thread_time() - begin
        peer.close()
        line += _energy_words("LAMMPS", np.array(values) / np.mean(kinetic), stride, taken / steps)
        for method in ("NO_SQUISH", "Strang"):
            begin = time.thread_time()
            s = ph.simulate_system(system, forces, t_span=(0, h * steps), step=h, method=method, every=stride)
            taken = time.thread_time() - begin
            line += _energy_words(method, s.energy / s.kinetic_energy.mean(), stride, taken / steps)
        print(line, flush=True)


def _energy_words(name: str, energy: Any, stride: int, seconds: float) -> str:
    e = energy - energy[0]
    count = np.arange(e.size) * float(stride)
    slope = np.polyfit(count, e, 1)[0]
    return f"   {name} {np.std(e - slope * count):.2e} {slope:+.1e} {seconds * 1e6:.1f}"


def growth(quick: bool) -> None:
    """The time of a step by the number of bodies: it grows as the pairs do."""
    print("rigid waters, time of a step and of a pair of bodies")
    for side in (2, 4, 6, 8) if quick else (2, 4, 6, 8, 10):
        system, forces = water.droplet(side, warm_steps=0), water.forces()
        n, steps = side**3, max(2, 2_000_000 // side**6)
        times = []
        for _ in range(4):
            begin = time.thread_time()
            s = ph.simulate_system(system, forces, t_span=(0, 0.01 * steps), step=0.01, every=steps)
            times.append((time.thread_time() - begin) / s.nfev)  # the first step evaluates the forces twice
        best = min(times)
        print(
            f"  {n:5d} bodies {best * 1e6:10.1f} us a step {best / (n * (n - 1) / 2) * 1e9:8.1f} ns a pair", flush=True
        )


def dipoles(d: Any, u: Any, w: Any, a: Any, b: Any) -> Any:
    """Two dipoles with a hard core."""
    r = math.sqrt(ph.dot(d, d))
    return ph.dot(u, w) / r**3 - 3.0 * ph.dot(u, d) * ph.dot(w, d) / r**5 + 0.5 / r**8


AXIS = (1.0, 0.0, 0.2)


def two_bodies(faster: float, apart: float) -> ph.System:
    """Two dipoles that turn faster by a factor, at a distance."""
    return ph.System(
        [ph.Body([1.0, 1.3, 1.6]), ph.Body([0.7, 1.0, 1.5])], mass=[1.0, 1.5],
        position=[[0.0, 0.0, 0.0], [apart, 0.1, 0.0]], velocity=[[0.0, 0.2, 0.0], [0.0, -0.125, 0.05]],
        omega=faster * np.array([[0.3, 0.5, 1.0], [-0.4, 0.8, 0.2]]),
    )  # fmt: skip


def dipole_potential(x: Any, q: Any) -> Any:
    """The same two dipoles for heyoka."""
    import heyoka as hy

    from benchmarks import taylor_systems as taylor

    d = [x[1][k] - x[0][k] for k in range(3)]
    u, w = taylor.rotated(q[0], AXIS), taylor.rotated(q[1], AXIS)
    r = hy.sqrt(taylor.dot(d, d))
    return taylor.dot(u, w) / r**3.0 - 3.0 * taylor.dot(u, d) * taylor.dot(w, d) / r**5.0 + 0.5 / r**8.0


def two(quick: bool) -> None:
    """Two bodies with rtol 1e-9 against heyoka's Taylor series: at the same tolerance, and at the same error.

    heyoka's error is not stated by it: the second is the loosest of its tolerances with which it is as accurate.
    """
    from benchmarks import taylor_systems as taylor

    forces, end, rtol = ph.pairs(dipoles, [ph.systems.Site(axis=AXIS)]), 20.0, 1e-9
    for name, faster, apart in (("strong", 1.0, 2.0), ("fast", 10.0, 3.0), ("fast, far", 30.0, 8.0)):
        system = two_bodies(faster, apart)
        truth = taylor.integrator(system, dipole_potential, high_accuracy=True)
        truth.propagate_until(end)
        exact = truth.state.reshape(2, 13)

        def error(state: Any, exact: Any = exact) -> float:
            return float(np.abs(state - exact)[:, :3].max() + np.abs(state - exact)[:, 3:7].max())

        def propagating(tol: float, system: ph.System = system) -> Callable[[], Any]:
            peer = taylor.integrator(system, dipole_potential, tol=tol)
            start = np.array(peer.state)

            def propagate() -> Any:
                peer.time, peer.state[:] = 0.0, start
                peer.propagate_until(end)
                return peer.state.reshape(2, 13)

            return propagate

        def searched(system: ph.System = system) -> Any:
            return ph.simulate_system(system, forces, t_span=(0, end), rtol=rtol, t_eval=[end])

        answer = searched()
        own = error(
            np.concatenate(
                [answer.position[-1], answer.quaternion[-1], answer.velocity[-1], answer.momentum[-1]], axis=1
            )
        )
        peers = {tol: propagating(tol) for tol in (1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15)}
        errors = {tol: error(peer()) for tol, peer in peers.items()}
        as_good = next((tol for tol, e in errors.items() if e <= own), 1e-15)
        print(
            f"{name}: errors heyoka {errors[1e-9]:.1e} with tol 1e-9 and {errors[as_good]:.1e} with {as_good:.0e}, "
            f"polhode {own:.1e} (estimate {answer.error_estimate:.1e}), {answer.nfev} evaluations of two runs"
        )
        candidates: dict[str, Callable[[], object]] = {
            "heyoka, tol 1e-9": peers[1e-9], f"heyoka, tol {as_good:.0e}": peers[as_good], "polhode rtol 1e-9": searched
        }  # fmt: skip
        found = interleave(candidates, 15 if quick else 101, time.thread_time)
        print(table(f"two dipoles, {name}", found, 1, "run"), flush=True)


PARTS: dict[str, Callable[[bool], None]] = {
    "waters": waters, "energy": energy, "drift": drift, "growth": growth, "two": two
}  # fmt: skip


def main(arguments: Sequence[str]) -> None:
    """Runs the parts that are named, or all."""
    quick = "--quick" in arguments
    for name in [a for a in arguments if a in PARTS] or PARTS:
        PARTS[name](quick)


if __name__ == "__main__":
    main(sys.argv[1:])
