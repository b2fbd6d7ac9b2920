"""What a rotor costs, and what it does to the errors: ratios measured in turns, `python -m benchmarks.gyrostat`.

The first table has the time of a step of a body with a rotor over that of the same body without one; both programs are
run in turns, and the least time of each counts: other work on the machine only adds to it. (SABA of a free body without
a rotor is one exact flow.) The second has errors at equal steps, on a free gyrostat.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import polhode as ph

MOMENTS, ROTOR, OMEGA = [1.0, 2.0, 2.8], [0.1, 0.3, -0.2], [0.2, 0.45, 0.6 / 2.8]
WITH, WITHOUT = ph.Body(MOMENTS, rotor=ROTOR), ph.Body(MOMENTS)
TORQUES: dict[str, Any] = {"free": None, "weight": ph.HeavyTop(0.1)}
METHODS = ("MR2", "Strang", "SABA", "RK4", "G8", "DOP853")
ROUNDS = 25
STEPS = 20_000


def seconds(body: ph.Body, torque: Any, method: str) -> float:
    """The time of a run with one row of output."""
    start = time.perf_counter()
    ph.simulate(body, torque, omega=OMEGA, t_span=(0, 0.05 * STEPS), step=0.05, method=method, every=STEPS)
    return time.perf_counter() - start


def ratio(one: Callable[[], float], other: Callable[[], float]) -> float:
    """The ratio of the least times of two runs that take turns."""
    times = [(one(), other()) for _ in range(ROUNDS)]
    return min(a for a, _ in times) / min(b for _, b in times)


def cost(torque: Any, method: str) -> float:
    """The time with a rotor over that without one."""
    return ratio(lambda: seconds(WITH, torque, method), lambda: seconds(WITHOUT, torque, method))


def error(method: str, steps: int, end: float = 10.0) -> float:
    """The distance of the momentum at the end from that by SciPy."""
    moments, g = np.array(MOMENTS), np.array(ROTOR)
    m = moments * OMEGA + g
    true = solve_ivp(
        lambda _, m: np.cross(m, (m - g) / moments), (0, end), m, method="DOP853", rtol=1e-13, atol=1e-14
    ).y[:, -1]  # fmt: skip
    s = ph.simulate(WITH, omega=OMEGA, t_span=(0, end), step=end / steps, method=method, every=steps)
    return float(np.linalg.norm(s.momentum[-1] - true))


def main() -> None:
    """Prints both tables."""
    print("time of a step with a rotor over that without one")
    for method in METHODS:
        costs = {name: cost(torque, method) for name, torque in TORQUES.items()}
        print(f"  {method:8}", "  ".join(f"{name} {each:.2f}" for name, each in costs.items()))
    print("error of the momentum of a free gyrostat at t = 10")
    for steps in (100, 200, 400):
        mr2, strang = error("MR2", steps), error("Strang", steps)
        print(f"  {steps} steps  MR2 {mr2:.2e}  Strang {strang:.2e}  ratio {mr2 / strang:.2f}")
    each = ratio(lambda: seconds(WITH, None, "Strang"), lambda: seconds(WITH, None, "MR2"))
    print(f"  a step of Strang takes {each:.2f} times as long as one of MR2")


if __name__ == "__main__":
    main()
