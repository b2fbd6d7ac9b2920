"""Round-off against the step: eps h sqrt(N) with compensated summation

Deviations of the invariants after 400 000 steps of different length, in units of eps sqrt(N), by the preprocessed
Moser-Veselov map of order 10, added plainly (above) and with compensated summation (below); 100 starts as in figure 1.
The low halves of the compensated sums count. The dotted lines are 1 and h: the paper says eps h sqrt(N), and draws
h = 0.01 only.
"""

import numpy as np

from polhode.papers._figure import Figure, labelled, panels, style, ticks_at
from polhode.papers._measure import slope
from polhode.papers.study import Claim, Data, Size, claim, named
from polhode.papers.vilmart2008._common import LONG_RUNS, QUANTITIES, errors, starts, walk
from polhode.papers.vilmart2008.fig2 import METHODS

LATE = LONG_RUNS
STEPS = (0.04, 0.02, 0.01, 0.005)
TRAJECTORIES, COUNT = 100, 400_000


def run(size: Size) -> Data:
    """Computes deviations for each kind of summation, step and quantity."""
    count, number, lengths = (4, 100, STEPS[:2]) if size.quick else (TRAJECTORIES, COUNT, STEPS)
    found = [
        [walk(errors(method, starts(count), number, step=h)[:, -1], number).deviation for h in lengths]
        for method in METHODS.values()
    ]
    return Data(
        way=named("way", list(METHODS), "how increments are added"),
        step=named("step", lengths, "step", "s"),
        quantity=named("quantity", QUANTITIES, "invariant"),
        deviation=named("way step quantity", found, "deviation from zero", "eps sqrt(N)"),
    )


def check(data: Data, size: Size) -> list[Claim]:
    """Judges the power of h."""
    plain, compensated = ([slope(data["step"], d[:, k]) for k in range(len(QUANTITIES))] for d in data["deviation"])
    largest = float((data["deviation"][1] / data["step"][:, None]).max())
    said = [", ".join(f"{p:.2f}" for p in row) for row in (plain, compensated)]
    return [
        claim(
            "With compensated summation errors grow like eps h sqrt(N): in proportion to the step",
            source="section 5",
            paper="power 1 of h",
            measured=f"powers of h for H, C, Qy: {said[1]} compensated, {said[0]} plain; compensated at most"
            f" {largest:.2f} eps h sqrt(N)",
            holds=all(abs(p - 1) < 0.15 for p in compensated) and all(abs(p) < 0.15 for p in plain),
            test="power within 0.15 of 1 for all invariants, and of 0 without compensation; 100 starts tell it to"
            " some 0.05",
        )
    ]


def plot(data: Data) -> Figure:
    """Draws deviations against the step, doubly logarithmic."""
    figure, axes = panels(1, 1, width=7.6, height=4.6)
    ax, h = axes[0][0], data["step"]
    labels = ("$H$", "$C$", "$(Qy)_1$", "$(Qy)_2$", "$(Qy)_3$")
    for way, d in zip(map(str, data["way"]), data["deviation"], strict=True):
        for k, label in enumerate(labels):
            look = style(k) | ({"markerfacecolor": "white"} if way == "compensated" else {})
            ax.loglog(h, d[:, k], label=f"{label}, {way}", **look)
    for guide in (np.ones_like(h), h):
        ax.loglog(h, guide, color="0.6", linewidth=0.9, linestyle=":", zorder=0)
    ticks_at(ax, h)
    labelled(ax, "step (s)", r"deviation / (eps $\sqrt{N}$)")
    return figure
