"""The cost of the exact motion: `python -m benchmarks.free_motion`.

An evaluation of `FreeMotion.at` on an array of times against a step of MR2 through `simulate`, which takes the body one
step further; and the set-up of many motions. Times are drawn at random from a million turns: no order is made use of.
"""

import numpy as np

import polhode as ph
from benchmarks.harness import interleave, table

TIMES = 100_000
MOTIONS = 20_000
BODY = ph.Body([2.0, 3.0, 4.5])


def main() -> None:
    """Prints every table."""
    draw = np.random.default_rng(1)
    t = draw.uniform(0.0, 6e6, TIMES)
    motions = {
        "at, short-axis mode": ph.FreeMotion(BODY, [0.1, 0.2, 1.0]),
        "at, near the separatrix": ph.FreeMotion(BODY, [1e-3, 1.0, 2e-3]),
        "at, steady": ph.FreeMotion(BODY, [0.0, 1.0, 0.0]),
    }
    omegas = draw.uniform(-1.0, 1.0, (MOTIONS, 3))
    many = ph.FreeMotion(BODY, omegas)

    def step() -> object:
        span, h = (0.0, TIMES * 0.01), 0.01
        return ph.simulate(BODY, omega=[0.1, 0.2, 1.0], t_span=span, step=h, method="MR2", t_eval=[span[1]])

    candidates = {"a step of MR2": step} | {name: (lambda m=m: m.at(t)) for name, m in motions.items()}
    print(table(f"{TIMES:,} times of one motion", interleave(candidates), TIMES, "state"))
    rows = interleave({"set up": lambda: ph.FreeMotion(BODY, omegas), "at one time": lambda: many.at(1234.5)})
    print(table(f"{MOTIONS:,} motions", rows, MOTIONS, "motion"))


if __name__ == "__main__":
    main()
