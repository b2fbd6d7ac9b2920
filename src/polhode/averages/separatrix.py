"""Through the separatrix: with which probability a body with an unknown phase ends in which mode, about which axis."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from polhode.averages.rates import MeanRates
from polhode.support.arrays import Floats

POINTS_V, POINTS_PHI = 512, 16
CLOSE = 1e-8
"""The distance from the separatrix at which the change along each of its four branches is measured."""
STARTS, MOST_PASSES = 2000, 2000
"""Phases that are followed through the separatrix, and the branches that each may pass."""
SETTLED = 20.0
"""A body has left the separatrix when it is this many times farther than a branch leads."""


class Fate(NamedTuple):
    """A way that the motion may go on."""

    probability: float
    mode: str
    """short-axis or long-axis: the axis that the momentum circles, seen from the body."""
    side: float
    """The end of that axis: 1 or -1."""
    z: Floats
    """Momentum and energy, as far beyond the separatrix as they were before it."""


def on_side(rates: MeanRates, z: Floats, distance: float) -> Floats:
    """The same momentum with the energy that has this distance from the separatrix."""
    return np.append(z[:3], z[:3] @ z[:3] / (2.0 * rates.moments[1] * (1.0 + distance)))


def changes(rates: MeanRates, t: float, z: Floats) -> dict[tuple[int, int], float]:
    """The change of the distance from the separatrix along each of its branches, averaged over phi.

    A branch leads from one end of the intermediate axis to the other, and is named by the signs of the momentum along
    the axes of the least and the greatest moment. G^2 / (2T I2) changes by 2 (L . dL) / G^2 - dT / T.
    """
    found, kept = {}, rates.side
    near = on_side(rates, z, CLOSE)
    slope = np.append(2.0 * near[:3] / (near[:3] @ near[:3]), -1.0 / near[3])
    for side in (1, -1):
        rates.point_at(side)
        seen = rates.survey(t, near, POINTS_V, POINTS_PHI)
        samples = rates.samples(POINTS_V, POINTS_PHI).mean(axis=0) @ slope
        # A period passes two branches, the first half of the points about the start being one of them.
        first = (np.arange(POINTS_V) < POINTS_V // 4) | (np.arange(POINTS_V) >= 3 * POINTS_V // 4)
        for sign, half in ((1, first), (-1, ~first)):
            found[sign, side] = float(samples[half].sum()) * seen.period / POINTS_V
    rates.point_at(kept)
    return found


def fates(rates: MeanRates, t: float, z: Floats) -> list[Fate]:
    """The ways on from the separatrix, each with its probability, the likeliest first.

    The distance changes by a known amount along each branch, and the phase at the start is not known: many phases are
    followed from branch to branch until they have left.  [neishtadt1991]
    """
    change = changes(rates, t, z)
    distance, start = rates.distance(z), int(rates.side)
    step = max(abs(x) for x in change.values())
    short = distance > 0.0
    branches = [(1, start), (-1, start)] if short else [(start, 1), (start, -1)]
    round_trip = abs(sum(change[b] for b in branches))
    ends: dict[tuple[bool, int], int] = {}
    for k in range(STARTS):
        h = math.copysign(SETTLED * step + round_trip * (k + 0.5) / STARTS, distance)
        branch, left = branches[k % 2], distance
        for _ in range(MOST_PASSES):
            h += change[branch]
            short = h > 0.0
            branch = (-branch[0], branch[1]) if short else (branch[0], -branch[1])
            if h * left < 0.0 and abs(h) > SETTLED * step:
                break
        mode = (short, branch[1] if short else branch[0])
        ends[mode] = ends.get(mode, 0) + 1
    made = []
    for (is_short, side), count in ends.items():
        beyond = on_side(rates, z, math.copysign(abs(distance), 1.0 if is_short else -1.0))
        made.append(Fate(count / STARTS, "short-axis" if is_short else "long-axis", float(side), beyond))
    return sorted(made, key=lambda fate: -fate.probability)
