"""The cost of polhode's layers, on celledoni2006's heavy top: run with `make bench`.

simulate against the same loop by hand; a user's torque against the built-in one; output every step against output at
the end; memory of the output.
"""

import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import polhode as ph
from benchmarks import by_hand
from benchmarks.harness import interleave, table

STEPS = 1_000_000
H = 1e-3
MOMENTS = (1000.0, 5000.0, 6000.0)
OMEGA = (10.0, 10.0, 10.0)
BODY = ph.Body(MOMENTS)


@ph.torque(parameters=[0.0, 0.0, 1.0, 0.0, 0.0, -1.0])
def users_weight(t: float, q: Any, w: Any, p: Any) -> Any:
    """Is the heavy top again, as a user would write it."""
    u = ph.to_body(q, (p[3], p[4], p[5]))
    return (p[1] * u[2] - p[2] * u[1], p[2] * u[0] - p[0] * u[2], p[0] * u[1] - p[1] * u[0])


def run(method: str, torque: Any = None, **output: Any) -> ph.Solution:
    """Makes a million steps through `simulate`."""
    torque = torque or ph.HeavyTop(weight=1)
    output = output or {"t_eval": [STEPS * H]}
    return ph.simulate(BODY, torque, omega=OMEGA, t_span=(0, STEPS * H), step=H, method=method, **output)


def main() -> None:
    """Prints every table."""
    momenta = [i * w for i, w in zip(MOMENTS, OMEGA, strict=True)]
    sizes = (MOMENTS, tuple(momenta), H)
    hands: dict[str, Callable[..., Any]] = {
        "MR2": by_hand.mr2,
        "RK4": by_hand.rk4,
        "NMB": by_hand.nmb,
        "SEJ": by_hand.sej(*sizes),
        "Strang": by_hand.strang(*sizes),
        "SABA8": by_hand.saba8(*sizes),
    }
    for method, hand in hands.items():
        by_hand_run = partial(hand, *MOMENTS, (0.0, 0.0, 1.0), (0.0, 0.0, -1.0), 1.0, 0.0, 0.0, 0.0, *momenta, H, STEPS)
        end, mine = by_hand_run(), run(method)
        difference = np.abs(np.r_[mine.last_quaternion, mine.last_momentum / 1e4] - np.r_[end[:4], end[4:] / 1e4]).max()
        candidates: dict[str, Callable[[], object]] = {
            "by hand": by_hand_run,
            "simulate": partial(run, method),
            "user's torque": partial(run, method, users_weight),
            "output every step": partial(run, method, every=1),
        }
        print(table(f"{method} (end states differ by {difference:.1e})", interleave(candidates), STEPS))
    run("MR2", every=1)
    tracemalloc.start()
    solution = run("MR2", every=1)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    needed = solution.t.size * 8 * 8
    print(f"memory for {solution.t.size} states of 8 numbers: kept {kept / needed:.3f}, peak {peak / needed:.3f} of it")


if __name__ == "__main__":
    main()
