"""Moser-Veselov of order 10: energy and momentum in space, with and without compensated summation

The change of the energy (left) and of the first component of the angular momentum in space (right) in a million steps
of 0.01 by the preprocessed Moser-Veselov map of order 10, from the 1,000 starts of figure 1; body and space axes
coincide at the start. Top: increments added plainly. Bottom: with compensated summation, quaternions left unscaled.
Grey the first 200 trajectories, bold mean and standard deviation of all. Below, all but the last point are states
rounded to doubles, which blurs them by some tenths of 2.2e-16.
"""

from functools import partial

import numpy as np

from polhode.papers.study import Claim, Data, Size, claim
from polhode.papers.vilmart2008 import _common as common

WHERE = "section 5 and figure 2"
LATE = common.LONG_RUNS
METHODS = {"plain": "PDMV10", "compensated": "PDMV10(compensated=true)"}
WALKS = {
    "plain": "Plainly added, errors of energy and momentum in space walk at random",
    "compensated": "With compensated summation they walk at random as well",
}
run = partial(common.drawn_trajectories, METHODS)
UNITS = {"plain": 1e-13, "compensated": 1e-15}
TITLES = {
    (way, what): f"{name}: {common.SAID[what]}"
    for way, name in (("plain", "standard"), ("compensated", "compensated summation"))
    for what in common.SHOWN
}
plot = partial(common.drawn_bundles, units=UNITS, titles=TITLES)


def check(data: Data, size: Size) -> list[Claim]:
    """Judges whether the errors are walks, and by how much compensation shortens them."""
    steps = round(float(data["t"][-1]) / common.H)
    found = {way: common.walk(data[f"{way}_end"], steps) for way in METHODS}
    gain = found["plain"].deviation / np.maximum(found["compensated"].deviation, 1e-300)
    in_h = ", ".join(f"{d / common.H:.2f}" for d in found["compensated"].deviation[2:])
    claims = []
    for way, says in WALKS.items():
        w, powers = found[way], {what: common.growth(data[f"{way}_{what}"]) for what in common.SHOWN}
        claims.append(
            claim(
                says,
                paper="sqrt(N), mean zero",
                measured=f"growth like t^{powers['energy']:.2f} (H), t^{powers['momentum']:.2f} (first of Qy);"
                f" deviation / (eps sqrt(N)): {w.deviation[0]:.2g} (H), {w.deviation[2]:.2g} (first of Qy); means"
                f" within {np.abs(w.scores).max():.1f} standard errors of zero (H, C, Qy)",
                holds=all(0.4 < p < 0.6 for p in powers.values()) and bool((np.abs(w.scores) < 3.3).all()),
                test="power of time within 0.1 of 1/2; means within 3.3 standard errors, which one of five exceeds by"
                " chance once in 200 times",
            )
        )
    return [
        *claims,
        claim(
            "Compensated summation reduces the round-off of energy and momentum in space by the factor h",
            paper="1/h = 100",
            measured=f"H {gain[0]:.0f}, C {gain[1]:.0f}, components of Qy {', '.join(f'{g:.0f}' for g in gain[2:])}",
            holds=bool((np.abs(gain / 100 - 1) < 0.25).all()),
            test="100 within a quarter, for every invariant",
            reading="a factor of the size of 1/h, between 100/3 and 300: what remains is the rounding of the"
            " increments, which are h times numbers of the size of 1, and are rounded in several operations",
            holds_when_read_so=bool((gain > 100 / 3).all() and (gain < 300).all()),
        ),
        claim(
            "It does so for the attitude too, on quaternions that are not normalised",
            source="section 5 and figure 2, bottom right",
            paper="as for the energy",
            measured=f"deviation of the components of Qy / (eps h sqrt(N)): {in_h}",
            holds=bool((found["compensated"].deviation[2:] < common.H).all()),
            test="below eps h sqrt(N) in every component",
        ),
    ]
