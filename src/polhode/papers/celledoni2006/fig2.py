"""Free body with its attitude: execution time against the error at t = 1

The free body of figure 1 with its attitude, from 0 to 1. JEM2 and JEM4 have the exact momentum, and an attitude by
Magnus's series of order 2 and 4. The paper does not tell its steps: 1/4 to 1/64, as in figure 1. It does not tell the
norm of the error either: to the left that of the attitude matrix (Frobenius), to the right that of attitude and
momentum together. MR4 is a triple jump. Times are those of this machine; JEM takes the momentum from the exact flow.
"""

from functools import partial

import numpy as np

from polhode.papers._measure import reference
from polhode.papers.celledoni2006._common import FREE, curves, drawn_work, work_precision
from polhode.papers.study import Claim, Data, Size, claim

METHODS = ("MR2", "MR4", "JEM2", "JEM4")
STEPS = tuple(2.0**-k for k in range(2, 7))
WHERE = "figure 2 and section 4.1"
plot = partial(drawn_work, both="error of attitude and momentum")


def run(size: Size) -> Data:
    """Computes errors and times."""
    momentum, attitude = reference(FREE, 1.0)
    return work_precision(FREE, METHODS, STEPS, momentum, attitude, size)


def check(data: Data, size: Size) -> list[Claim]:
    """Judges JEM against MR, step by step and second by second."""
    c, both = curves(data, "attitude"), curves(data, "both")
    gains = {k: c[f"MR{k}"].error / c[f"JEM{k}"].error for k in (2, 4)}
    whole = {k: float(np.min(both[f"MR{k}"].error / both[f"JEM{k}"].error)) for k in (2, 4)}
    orders = {name: curve.order for name, curve in c.items()}
    claims = [
        claim(
            "With the same step JEM is more accurate than MR of the same order",
            paper="JEM performs very well",
            measured=f"attitude errors MR2 / JEM2 {gains[2].min():.1f} or more, MR4 / JEM4 {gains[4].min():.0f} or "
            f"more; with the momentum {whole[2]:.1f} and {whole[4]:.0f}",
            holds=bool(gains[2].min() > 3 and gains[4].min() > 50 and whole[2] > 3 and whole[4] > 50),
            test="by more than 3 at order 2 and more than 50 at order 4, in either norm",
        ),
        claim(
            "The attitude has order 2 and 4",
            paper="2 and 4",
            measured=", ".join(f"{name} {order:.2f}" for name, order in orders.items()),
            holds=all(abs(order - int(name[-1])) < 0.1 for name, order in orders.items()),
            test="slopes within 0.1",
        ),
    ]
    if not size.quick:
        gain = {
            k: c[f"MR{k}"].error_after(t) / c[f"JEM{k}"].error[2] for k in (2, 4) for t in [c[f"JEM{k}"].seconds[2]]
        }
        claims.append(
            claim(
                "In the same time JEM is more accurate than MR of the same order",
                paper="JEM performs very well",
                measured=f"on this machine, in the time of JEM with the step 1/16: MR2 / JEM2 {gain[2]:.1e}, "
                f"MR4 / JEM4 {gain[4]:.1e}",
                holds=gain[2] > 1.5 and gain[4] > 10,
                test="by more than 1.5 at order 2 and more than 10 at order 4",
            )
        )
    return claims
