"""The gain of lanes: bodies in the vector registers against one by one: `python -m benchmarks.ensemble`.

All through `ensemble`, with output at the end only. The steps are many, so that what happens once for a run does not
count. The results are the same to the bit, which is checked.
"""

from functools import partial
from typing import Any

import numpy as np

import polhode as ph
from benchmarks.harness import interleave
from benchmarks.page import command, markdown
from polhode.ensembles import batch

BODIES, STEPS, H = 256, 10_000, 0.05
ROUNDS = 7
DRAW = np.random.default_rng(1)
RATES, ATTITUDES = DRAW.normal(size=(BODIES, 3)), DRAW.normal(size=(BODIES, 4))
BODY = ph.Body([1.0, 2.0, 2.7])


@ph.torque(parameters=[0.0, 0.0, 1.0, 0.0, 0.0, -1.0])
def branching(t: float, q: Any, w: Any, p: Any) -> Any:
    """Is the heavy top with a branch that is never taken, so that the torque is computed body by body."""
    u = ph.to_body(q, (p[3], p[4], p[5]))
    if u[2] > 2.0:
        return (0.0, 0.0, 0.0)
    return (p[1] * u[2] - p[2] * u[1], p[2] * u[0] - p[0] * u[2], p[0] * u[1] - p[1] * u[0])


TORQUES = {"free": None, "heavy top": ph.HeavyTop(1.0), "heavy top with a branch": branching}
ONE_BY_ONE = 10 * BODIES
"""More lanes than there are bodies means no lanes."""


def run(method: str, torque: str, lanes: int, threads: int) -> ph.Ensemble:
    """Makes all steps of all bodies."""
    before, batch.lanes_of = batch.lanes_of, lambda *_, **__: lanes
    try:
        return ph.ensemble(
            BODY, TORQUES[torque], omega=RATES, attitude=ATTITUDES, t_span=(0, STEPS * H), step=H, method=method,
            threads=threads,
        )  # fmt: skip
    finally:
        batch.lanes_of = before


def measured() -> str:
    """Returns a row for each method, torque and number of threads."""
    rows = [["method", "torque", "threads", "1 / 8 lanes", "of the quickest", "4 / 8 lanes", "1, ns", "4, ns", "8, ns"]]
    for method in ("MR2", "Strang"):
        for torque in TORQUES:
            for threads in (1, 2):
                counts = (8, ONE_BY_ONE, 4)
                ends = [run(method, torque, lanes, threads) for lanes in counts]
                assert [e.lanes for e in ends] == [8, 1, 4]
                assert len({e.quaternion.tobytes() + e.momentum.tobytes() for e in ends}) == 1
                eight, one, four = interleave(
                    {str(lanes): partial(run, method, torque, lanes, threads) for lanes in counts}, ROUNDS
                )
                quickest = (f"{t.best / BODIES / STEPS * 1e9:.1f}" for t in (one, four, eight))
                ratios = (f"{one.ratio:.1f}", f"{one.ratio_of_best:.1f}", f"{four.ratio:.2f}")
                rows.append([method, torque, str(threads), *ratios, *quickest])
    return markdown(rows)


if __name__ == "__main__":
    command("lanes", __doc__, measured)
