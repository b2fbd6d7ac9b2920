"""Fast Lagrangian top: errors at t = 10 against the step

A top with the moments (5, 5, 1) and a weight of 20 at the unit distance, tilted by 0.3 and spinning at 50. Left the
error of the momentum in the body, right that of the attitude matrix, both at t = 10 and in the 2-norm, against a
reference that is exact to nearly all digits. The paper does not tell its steps. SW is the method as printed; SWd has
the other acceleration, with which the energy drifts. The literal midpoint rule takes the torque at the mean of the
attitude matrices of both ends of a step.
"""

from functools import partial

from polhode.papers.krysl2004._common import FAST_TOP, convergence, drawn_convergence, errors_of, ratios
from polhode.papers.krysl2004._literal_midpoint import weight
from polhode.papers.study import Claim, Data, Floats, Size, claim

METHODS = ("AKW", "SW", "NMB", "HSTAGM", "SWd")
STEPS = (0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002)
SMALL = STEPS.index(0.005)
WHERE = "figure 10 and section 3.4"
LATE = "needs t = 10"
plot = partial(drawn_convergence, whats=("momentum", "attitude"), width=11.5)


def run(size: Size) -> Data:
    """Computes errors; at the quick size at t = 1, with three steps."""
    steps, end = (STEPS[:3], 1.0) if size.quick else (STEPS, 10.0)
    return convergence(FAST_TOP, METHODS, steps, end, literal=weight)


def check(data: Data, size: Size) -> list[Claim]:
    """Judges SW against HSTAGM."""
    R, m = errors_of(data, "attitude"), errors_of(data, "momentum")
    first = 0 if size.quick else SMALL
    near = {w: e["SW"] / e["HSTAGM"] for w, e in (("attitude", R), ("momentum", m))}
    return [
        claim(
            "SW and HSTAGM give the same answers but for the largest steps",
            paper="essentially identical",
            measured=f"SW / HSTAGM in attitude {_listed(near['attitude'])} for h = {_listed(data['step'])}; for h <= "
            f"{data['step'][first]:g}: momentum {ratios(near['momentum'][first:])}, SWd / HSTAGM in attitude "
            f"{ratios((R['SWd'] / R['HSTAGM'])[first:])}, NMB / HSTAGM {ratios((R['NMB'] / R['HSTAGM'])[first:])}",
            holds=max(abs(near[w][first:] - 1).max() for w in near) < 0.1 and near["attitude"][0] > 1.2,
            test="errors of attitude and momentum within 10 % for h <= 0.005, not so at h = 0.05. This holds for SW as "
            "printed and not for SWd, the variant whose energy drifts as the paper says of SW",
        )
    ]


def _listed(values: Floats) -> str:
    return ", ".join(f"{v:.3g}" for v in values)
