"""Slow Lagrangian top: errors at t = 10 against the step

A top with the moments (5, 5, 1) and a weight of 20 at the unit distance, tilted by 0.05 and spinning at 5, too slowly
to stand: it falls, swings through below and rises again. Left the error of the momentum in the body, right that of the
attitude matrix, both in the 2-norm; the time is that of figure 10, t = 10, since the paper tells neither time nor steps
here. AKW turns the attitude by Cayley's map; with an exact turn it is AKWexp. The literal midpoint rule takes the
torque at the mean of the attitude matrices of both ends of a step.
"""

from functools import partial

from polhode.papers.krysl2004._common import SLOW_TOP, convergence, drawn_convergence, errors_of, ratios
from polhode.papers.krysl2004._literal_midpoint import LITERAL, weight
from polhode.papers.study import Claim, Data, Size, claim

METHODS = ("AKW", "SW", "NMB", "HSTAGM", "AKWexp")
STEPS = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
SMALL = STEPS.index(0.05)
RULES = ("AKW", "AKWexp", LITERAL)
"""Readings of the implicit midpoint rule, which the paper does not write down."""
WHERE = "figure 11 and section 3.5"
LATE = "needs t = 10"
plot = partial(drawn_convergence, whats=("momentum", "attitude"), width=11.5)


def run(size: Size) -> Data:
    """Computes errors; at the quick size at t = 2, with four steps."""
    steps, end = (STEPS[:4], 2.0) if size.quick else (STEPS, 10.0)
    return convergence(SLOW_TOP, METHODS, steps, end, literal=weight)


def check(data: Data, size: Size) -> list[Claim]:
    """Judges NMB against the midpoint rule, and HSTAGM at a long step."""
    R, m = errors_of(data, "attitude"), errors_of(data, "momentum")
    gain = {(k, rule): e[rule] / e["NMB"] for k, e in (("R", R), ("m", m)) for rule in RULES}
    small = {key: g[SMALL:] for key, g in gain.items()}
    return [
        claim(
            "NMB is robust, and more accurate than the implicit midpoint rule",
            paper="improves on AKW",
            measured="errors over those of NMB for h <= 0.05, attitude and momentum: "
            + "; ".join(f"{rule} {ratios(small['R', rule])} and {ratios(small['m', rule])}" for rule in RULES)
            + f"; NMB at h = 0.2: {R['NMB'][0]:.2f} in attitude, AKW {R['AKW'][0]:.2f}",
            holds=all(g.min() > 1.5 for g in gain.values()),
            test="at every step more than 1.5 times as accurate, in attitude and momentum, than each of three readings "
            "of the midpoint rule: with Cayley's turn, with an exact turn, and to the letter",
        )
    ]
