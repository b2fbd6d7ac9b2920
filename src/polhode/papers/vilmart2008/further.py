"""Further: Exact and ExactPolished on the test of figures 1 and 2

An addition: the change of the energy (left) and of the first component of the momentum in space (right) as in figure 2,
from 200 starts, for the exact flow in the form that this library prefers (Exact, top) and with the low halves of the
state carried along (ExactPolished, bottom). Below, states are drawn as a solution holds them, rounded to doubles: the
band of the energy is that rounding. Statements about ExactPolished are about the end, with the low halves.
"""

from functools import partial

import numpy as np

from polhode.papers.study import Claim, Data, Size, claim
from polhode.papers.vilmart2008._common import (
    DRAWN,
    LONG_RUNS,
    SHOWN,
    H,
    drawn_bundles,
    drawn_trajectories,
    growth,
    walk,
)

LATE = LONG_RUNS
METHODS = {"exact": "Exact", "polished": "ExactPolished"}
WHERE = "our addition"
run = partial(drawn_trajectories, METHODS, count=DRAWN)
UNITS = {"exact": 1e-13, "polished": 1e-16}
TITLES = {(way, what): f"{method}: {what}" for way, method in METHODS.items() for what in SHOWN}
plot = partial(drawn_bundles, units=UNITS, titles=TITLES, cut="polished")


def check(data: Data, size: Size) -> list[Claim]:
    """Judges whether there is neither a drift nor a walk."""
    steps = round(float(data["t"][-1]) / H)
    exact, polished = (walk(data[f"{name}_end"], steps) for name in METHODS)
    powers = [growth(data[f"exact_{what}"]) for what in SHOWN]
    worst = np.abs(data["polished_end"]).max(axis=0)
    (low, high), (lowest, highest) = ((w.deviation[2:].min(), w.deviation[2:].max()) for w in (exact, polished))
    return [
        claim(
            "Exact: errors of energy and momentum in space walk at random, like those of Algorithm 4.1",
            paper="0.11 for H by Algorithm 4.1",
            measured=f"growth like t^{powers[0]:.2f} (H), t^{powers[1]:.2f} (first of Qy); deviation / (eps sqrt(N)):"
            f" {exact.deviation[0]:.2f} (H), {low:.2f} to {high:.2f} (Qy); means within"
            f" {np.abs(exact.scores).max():.1f} standard errors of zero",
            holds=all(0.4 < p < 0.6 for p in powers) and bool((np.abs(exact.scores) < 3.3).all()),
            test="power of time within 0.1 of 1/2; five means within 3.3 standard errors of zero",
        ),
        claim(
            "ExactPolished: the energy does not walk, and momentum in space stays within some eps",
            paper="eps h sqrt(N) = 10 eps by compensated summation",
            measured=f"largest errors at the end: energy {worst[0]:.1e} eps, momentum in space {worst[2:].max():.1f}"
            f" eps; deviation / (eps sqrt(N)): {polished.deviation[0]:.1e} (H), {lowest:.1e} to {highest:.1e} (Qy)",
            holds=bool(worst[0] < 0.01 and worst[2:].max() < 10),
            test="below a hundredth of eps for the energy and 10 eps for the momentum, after a million steps",
        ),
    ]
