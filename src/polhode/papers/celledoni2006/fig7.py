"""Satellite by MR, SEJ and SEJ4 with steps of 0.1: Q e3, and the energy error

A satellite with the moments (1.7, 3.7, 5.4) 1e4 that starts with the rates (15, -15, 15), from 0 to 400. Its torque is
3 mu / r^3 u x I u with u = Q e3, mu = 3.986e14 and r = 1.5e5, as printed: in SI units that is a place inside the Earth,
and the body turns by 2.6 in a step. To the left u, to the right the change of the energy, divided by the energy.
"""

from functools import partial

from polhode.papers.celledoni2006 import _satellite
from polhode.papers.study import Claim, Data, Size

H = 0.1
WHERE = "figure 7 and section 4.3"
run, motions, plot = partial(_satellite.run, H), partial(_satellite.motions, H), partial(_satellite.plot, h=H)


def check(data: Data, size: Size) -> list[Claim]:
    """Judges whether SEJ4 is best, with energies far better than those of MR."""
    mr, sej, sej4 = data["unlike_true"]
    return [
        _satellite.trajectory_claim(
            data,
            "SEJ4 has the best trajectory",
            holds=bool(sej4 < min(mr, sej) / 2),
            test="SEJ4 fills the sphere at least twice as well as the others; point by point none is near "
            "the true motion",
        ),
        _satellite.energy_claim(data, "SEJ and SEJ4 preserve the energy much better than MR", 100),
    ]
