"""Book toss: angular momentum in space, NMB and SW"""

from functools import partial

from polhode.papers.krysl2004 import _common as common
from polhode.papers.krysl2004._common import COARSE, DRAWN, LONG, RELEASE, RELEASES
from polhode.papers.study import Claim, Data, Size, claim

CAPTION = f"""
The angular momentum in space along the runs of figure 6: steps 0.05 (circles) and 0.001 (lines), NMB to the left, SW to
the right, release at {RELEASE:g} s. Once the torques have ended it is constant in truth. Judged are the readings of
figure 6: releases at {", ".join(f"{t:g}" for t in RELEASES)} s, three ways to take the torque at its jumps, until
{DRAWN:g} s and until {LONG:g} s.
"""

WHERE = "figure 7 and section 3.2"
plot = partial(common.drawn_toss, ylabel="angular momentum in space (kg m²/s)", symbol=r"\pi")


def run(size: Size) -> Data:
    """Computes the drawn runs, and changes of momentum for all readings."""
    runs = common.toss_runs(size, lambda solution: solution.spatial_momentum, "angular momentum in space", "kg m2 s-1")
    return Data(**runs, **common.tossed(size).variables)


def check(data: Data, size: Size) -> list[Claim]:
    """Judges which methods keep the momentum."""
    newmark, sw = (common.toss_of(data, "wander", m) for m in ("NMB", "SW"))
    gain = common.toss_of(data, "gain", "SW")
    growth = newmark[:, -1] / newmark[:, len(data["end"]) // 2]
    two = common.toss_of(data, "wander", "NMB", RELEASE)[:, -1]
    return [
        claim(
            "Newmark's method does not keep the momentum in space exactly",
            paper="clearly not",
            measured=f"step {COARSE:g}: until {DRAWN:g} s it changes by {common.ratios(newmark[:, 0])} of its size",
            holds=bool(newmark[:, 0].min() > 1e-3),
            test="it changes by more than 1e-3 of its size",
        ),
        claim(
            "Its changes are limited: the momentum oscillates",
            late=f"needs all readings and runs to {LONG:g} s",
            paper="limited oscillations, more or less periodic",
            measured=f"until {data['end'][-1]:g} s it changes by {common.ratios(newmark[:, -1])} of its size, after "
            f"the release at {RELEASE:g} s by {common.ratios(two)}; {growth.max():.4f} times as much as until half of "
            "that time",
            holds=bool(growth.max() < 1.02),
            test=f"for every reading the largest change until {LONG:g} s is that of the first half, within 2 %; "
            "limited does not mean small: for some readings the momentum turns far away before it comes back",
        ),
        claim(
            "SW keeps the momentum exactly, even where it is unstable",
            paper="exactly",
            measured=f"it changes by {sw.max():.0e} of its size at most, while the energy grows {gain.max():.1f} times",
            holds=bool(sw.max() < 1e-11 and gain.max() > 1.1),
            test="changes below 1e-11, round-off of the steps, while the energy grows by more than a tenth",
        ),
    ]
