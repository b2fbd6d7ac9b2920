"""Further: of the two invariants of Algorithm 4.1 one walks, the other settles

An addition: the squares d1^2 = y1^2 + c1 y2^2 and d3^2 = c2 y2^2 + y3^2, which Algorithm 4.1 keeps, in 200 000 steps of
0.01 from the starts of figure 1. C is half their sum, and the energy a sum of multiples of them. Left: the change of
d1^2, right: that of d3^2. In colour what leaves the frame.
"""

import numpy as np

from polhode.api.ensemble import ensemble
from polhode.papers._figure import COLOURS, Figure, labelled, panels
from polhode.papers.study import Claim, Data, Size, claim, named
from polhode.papers.vilmart2008._common import EPS, LONG_RUNS, WATER, H, starts

LATE = LONG_RUNS
COUNT, STEPS, ROWS = 200, 200_000, 100
I1, I2, I3 = (float(i) for i in WATER.moments)
C2 = 1.0 - I1 * (I3 - I2) / (I2 * (I3 - I1))
C1 = 1.0 - C2
"""The coefficient of (5), so that the sum of both is exactly 1."""


def run(size: Size) -> Data:
    """Computes changes of both squares."""
    count, steps, rows = (4, 200, 10) if size.quick else (COUNT, STEPS, ROWS)
    found = ensemble(
        WATER, omega=starts(count) / WATER.moments, t_span=(0.0, steps * H), step=H, method="Jacobi41",
        every=steps // rows,
    )  # fmt: skip
    squares = found.momentum.astype(np.longdouble) ** 2
    first, third = squares[..., 0] + C1 * squares[..., 1], C2 * squares[..., 1] + squares[..., 2]
    return Data(
        t=named("time", found.t, "time", "s"),
        first=named("trajectory time", (first - first[:, :1]) / EPS, "change of d1^2", "eps"),
        third=named("trajectory time", (third - third[:, :1]) / EPS, "change of d3^2", "eps"),
    )


def check(data: Data, size: Size) -> list[Claim]:
    """Judges what each square does in the second half."""
    half = data["t"].size // 2
    late = {name: float(np.median(np.ptp(data[name][:, half:], axis=1))) for name in ("first", "third")}
    settled = np.ptp(data["first"][:, half:], axis=1) < late["third"] / 10
    way = np.abs(data["first"][:, -1])
    return [
        claim(
            "Algorithm 4.1: errors of single steps act like independent random numbers with mean zero",
            source="section 3.2 and our addition",
            paper="a random walk",
            measured=f"in the second half d3^2 covers {late['third']:.0f} eps (median), d1^2 {late['first']:.1f} eps;"
            f" d1^2 has settled (a tenth of what d3^2 covers) in {settled.mean():.0%} of the trajectories,"
            f" {np.median(way):.0f} eps from its start in the median and {way.max():.0f} at most",
            holds=late["first"] > late["third"] / 3,
            test="both squares walk alike, within a factor of 3",
            reading="one of the two squares walks. The other enters a step through d1 and d2, whose roundings repeat"
            " as long as it is the same double: it drifts to a value where they balance, and stays. Where that is"
            " far, the energy drifts on the way there: these are the trajectories that leave the frame of figure 1",
            holds_when_read_so=late["third"] > 10 * late["first"],
        )
    ]


def plot(data: Data) -> Figure:
    """Draws both on the scale of the walk; curves that leave the frame are in colour."""
    figure, axes = panels(1, 2, width=11.5, height=4.4, sharey=True)
    reach = 1.1 * float(np.abs(data["third"]).max())
    for ax, name, label in zip(axes[0], ("first", "third"), ("$d_1^2$", "$d_3^2$"), strict=True):
        far = np.abs(data[name]).max(axis=1) > reach
        ax.plot(data["t"], data[name][~far].T, color="0.4", linewidth=0.4, alpha=0.6)
        ax.plot(data["t"], data[name][far].T, color=COLOURS[1], linewidth=1.2)
        ax.set_ylim(-reach, reach)
        labelled(ax, "time (s)", f"change of {label} (eps)", legend=False)
    return figure
