"""Satellite by MR, SEJ and SEJ4 with steps of 0.05: Q e3, and the energy error

As figure 7, with steps half as long, in which the body turns by 1.3.
"""

from functools import partial

from polhode.papers.celledoni2006 import _satellite
from polhode.papers.study import Claim, Data, Size

H = 0.05
WHERE = "figure 8 and section 4.3"
run, plot = partial(_satellite.run, H), partial(_satellite.plot, h=H)


def check(data: Data, size: Size) -> list[Claim]:
    """Judges whether all trajectories are alike, with energies better than those of MR."""
    return [
        _satellite.trajectory_claim(
            data,
            "The three methods perform similarly",
            holds=float(data["unlike_true"].max()) < 0.15,
            test="all fill the sphere as the true motion does, within 0.15; point by point none is near it "
            "at late times",
        ),
        _satellite.energy_claim(data, "SEJ and SEJ4 preserve the energy better than MR", 10),
    ]
