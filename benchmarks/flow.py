"""The cost of a step of the exact flow, against a step of MR2: `python -m benchmarks.flow`.

Both through `simulate`, 200,000 steps of a free body with output at the end only; many short rounds, since the quickest
of them are then undisturbed on a busy machine too. A step of MR2 costs the same whatever its length; the exact flow
needs more terms for longer steps.
"""

import math
from collections.abc import Sequence
from functools import partial

import polhode as ph
from benchmarks.harness import interleave
from benchmarks.page import command, markdown

STEPS = 200_000
ROUNDS = 61
ANGLES = (0.02, 0.1, 0.3, 0.5)
"""|w| h at the start."""
OMEGA = (0.5, 0.3, 1.0)
BODIES = {
    "asymmetric": (2.0, 3.0, 4.5),
    "asymmetric, water": (0.345, 0.653, 1.0),
    "symmetric, oblate": (2.0, 2.0, 3.0),
    "symmetric, prolate": (3.0, 3.0, 1.0),
    "spherical": (2.0, 2.0, 2.0),
}


def run(moments: Sequence[float], angle: float, method: str) -> ph.Solution:
    """Makes all steps."""
    h = angle / math.hypot(*OMEGA)
    body = ph.Body(moments, allow_unphysical=True)  # water, by 0.2 %
    return ph.simulate(body, omega=OMEGA, t_span=(0, STEPS * h), step=h, method=method, t_eval=[STEPS * h])


def measured() -> str:
    """Returns a row for each body and angle."""
    rows = [["body", "moments", "\\|w\\| h", "Exact / MR2", "of the quickest", "MR2, ns", "Exact, ns"]]
    for name, moments in BODIES.items():
        for angle in ANGLES:
            mr2, exact = interleave({m: partial(run, moments, angle, m) for m in ("MR2", "Exact")}, ROUNDS)
            quickest = (f"{t.best / STEPS * 1e9:.0f}" for t in (mr2, exact))
            listed = ", ".join(f"{x:g}" for x in moments)
            rows.append([name, listed, f"{angle:g}", f"{exact.ratio:.2f}", f"{exact.ratio_of_best:.2f}", *quickest])
    return markdown(rows)


if __name__ == "__main__":
    command("flow", __doc__, measured)
