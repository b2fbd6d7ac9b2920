"""Samples a second of a controller that is compiled, and of one in Python: `python -m benchmarks.sampled`.

Calls of `simulate` as a user makes them, warm, taken in turns; the best of some rounds.
"""

import time
from typing import Any

import polhode as ph

PERIOD = 0.01
METHODS = ("Strang", "MR2", "RK4")
SAMPLES = {True: 1_000_000, False: 20_000}
ROUNDS = 3


def law(t: float, q: Any, w: Any, p: Any) -> Any:
    """Turns the body back, and brakes."""
    return (-2.0 * q[1] - 3.0 * w[0], -2.0 * q[2] - 3.0 * w[1], -2.0 * q[3] - 3.0 * w[2])


def seconds(torque: ph.Sampled, method: str, samples: int) -> float:
    """Returns how long a run takes with one step from sample to sample."""
    clock = time.perf_counter()
    ph.simulate(
        ph.Body([2.0, 3.0, 4.0]), torque, omega=[0.1, 0.2, 0.3], t_span=(0.0, samples * PERIOD), method=method,
        step=PERIOD, every=10**9,
    )  # fmt: skip
    return time.perf_counter() - clock


def main() -> None:
    """Prints samples a second."""
    torques = {compiled: ph.Sampled(PERIOD, law, compiled=compiled) for compiled in SAMPLES}
    best: dict[tuple[bool, str], float] = {}
    for turn in range(ROUNDS + 1):
        for compiled, torque in torques.items():
            for method in METHODS:
                spent = seconds(torque, method, SAMPLES[compiled] if turn else 10)
                if turn:
                    best[compiled, method] = min(spent, best.get((compiled, method), spent))
    for (compiled, method), spent in best.items():
        how = "compiled" if compiled else "in Python"
        print(f"{how:10} {method:7} {SAMPLES[compiled] / spent:12,.0f} samples a second")


if __name__ == "__main__":
    main()
