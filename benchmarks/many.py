"""Ensembles of a user's torque by `rtol` against heyoka's batch of eight: `python -m benchmarks.many`.

Each has 1,000 bodies with starts spread by 5 %, on one core. heyoka has hindsight: the loosest tolerance with which 200
of the bodies err by less than is asked. Processor times, in turn.
"""

import math
import sys
import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np

import polhode as ph
from benchmarks.peers import imported

BODIES, JUDGED, BATCH, ROUNDS = 1000, 200, 8, 5
TARGETS = (1e-3, 1e-6, 1e-9)
Floats = Any


def drag(t: float, q: Any, w: Any, p: Any) -> Any:
    """A drag that grows like the square of the rate, and a weak field."""
    a = math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    return (
        -0.004 * a * w[0] + 0.05 * q[0] * q[1], -0.006 * a * w[1] + 0.04 * q[2], -0.003 * a * w[2] - 0.03 * q[3] * q[0]
    )  # fmt: skip


def top(t: float, q: Any, w: Any, p: Any) -> Any:
    """A weight on the axis of a symmetric body."""
    return (1.0 * (q[2] * q[3] + q[0] * q[1]), -1.0 * (q[1] * q[3] - q[0] * q[2]), 0.0 * q[0])


def swing(t: float, q: Any, w: Any, p: Any) -> Any:
    """A damped swing that is driven: errors of some bodies grow a hundred times as far as those of others."""
    return (
        0.3 * math.tanh(2.0 * q[1] * q[0]) - 0.01 * w[0], 0.2 * math.sin(0.7 * t) * q[2],
        -0.2 * q[3] * q[0] * math.sqrt(1.0 + w[2] * w[2]),
    )  # fmt: skip


CASES: dict[str, tuple[Callable[..., Any], list[float], list[float], float]] = {
    "drag": (drag, [1.0, 2.0, 2.8], [0.3, 1.6, 0.4], 150.0),
    "top": (top, [1.0, 1.0, 0.6], [0.4, 0.2, 4.0], 60.0),
    "swing": (swing, [1.0, 1.5, 2.0], [0.5, 0.8, 1.0], 120.0),
}


def starts(rate: list[float], seed: int) -> tuple[Floats, Floats]:
    """Returns rates and attitudes that are spread by 5 %."""
    draw = np.random.default_rng(seed)
    rates = np.array(rate) * (1.0 + 0.05 * draw.normal(size=(BODIES, 3)))
    attitudes = np.array([1.0, 0.3, -0.2, 0.1]) + 0.05 * draw.normal(size=(BODIES, 4))
    return rates, attitudes / np.linalg.norm(attitudes, axis=1)[:, None]


def by_heyoka(torque: Callable[..., Any], moments: list[float], tolerance: float, span: float, start: Floats) -> Any:
    """Returns a run of the first bodies, eight at a time."""
    heyoka = imported("heyoka")
    a, b, c, d, x, y, z = state = heyoka.make_vars(*"abcdxyz")
    n = types.FunctionType(torque.__code__, {"math": heyoka})(heyoka.time, (a, b, c, d), (x, y, z), ())
    i, j, k = moments
    slopes = (
        -0.5 * (b * x + c * y + d * z), 0.5 * (a * x + c * z - d * y), 0.5 * (a * y + d * x - b * z),
        0.5 * (a * z + b * y - c * x), (j - k) / i * (y * z) + n[0] / i, (k - i) / j * (z * x) + n[1] / j,
        (i - j) / k * (x * y) + n[2] / k,
    )  # fmt: skip
    system = list(zip(state, slopes, strict=True))
    made = heyoka.taylor_adaptive_batch(system, np.zeros((7, BATCH)), tol=tolerance, compact_mode=False)

    def run(count: int) -> Floats:
        end = np.empty((count, 7))
        for first in range(0, count, BATCH):
            made.set_time(0.0)
            made.state[:] = start[first : first + BATCH].T
            made.propagate_until(span)
            end[first : first + BATCH] = made.state.T
        return end

    return run


def error(found: Floats, true: Floats) -> Floats:
    """Returns the errors of attitude in radians, or of the rate relative to its size at the end, if that is more."""
    q, p = found[:, :4], true[:, :4]
    chord = np.minimum(np.linalg.norm(q - p, axis=1), np.linalg.norm(q + p, axis=1))
    return np.maximum(2.0 * chord, np.linalg.norm(found[:, 4:] - true[:, 4:], axis=1) / np.linalg.norm(true[:, 4:]))


def seconds(call: Callable[[], object]) -> float:
    """Returns the processor time of a call."""
    begin = time.process_time()
    call()
    return time.process_time() - begin


def main(seed: int = 5) -> None:
    """Prints a row for each torque and target."""
    for name, (formula, moments, rate, span) in CASES.items():
        rates, attitudes = starts(rate, seed)
        body, torque, start = ph.Body(moments), ph.torque(formula), np.hstack([attitudes, rates])
        given: dict[str, Any] = {"t_span": (0.0, span), "threads": 1}
        few = {"omega": rates[:JUDGED], "attitude": attitudes[:JUDGED]}
        made = ph.ensemble(body, torque, **few, **given, step=span / 400.0, method="G8(compensated=true)")
        true = np.hstack([made.quaternion[:, -1], made.omega[:, -1]])
        for target in TARGETS:
            tolerances = (target * factor for factor in (100, 30, 10, 3, 1, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001))
            runs = (by_heyoka(formula, moments, tolerance, span, start) for tolerance in tolerances)
            theirs = next(run for run in runs if error(run(JUDGED), true).max() <= target)
            mine = lambda: ph.ensemble(body, torque, omega=rates, attitude=attitudes, **given, rtol=target)  # noqa: B023, E731
            made = mine()
            found = error(np.hstack([made.quaternion[:JUDGED, -1], made.omega[:JUDGED, -1]]), true)
            low = int((found > made.error_estimate[:JUDGED]).sum())
            pairs = [(seconds(lambda: theirs(BODIES)), seconds(mine)) for _ in range(ROUNDS)]  # noqa: B023
            ratio = float(np.median([a / b for a, b in pairs]))
            methods = sorted({plan.method.bare_name for plan in made.plans})
            print(f"{name} {target:g}: heyoka / polhode {ratio:.2f}, {low} of {JUDGED} too low, {methods}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
