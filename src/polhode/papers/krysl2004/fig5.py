"""Free body: error of the body momentum at t = 100 against the step

The 2-norm of the error of the momentum in the body at t = 100, with the steps 8, 4, 2, ..., 1/256 (the paper has the
last four of them for NMB alone, or so it seems); the last step of the run with 8 is 4. The reference is the exact
motion. LP2 is MR2, DMV and DMV4 are discrete Moser-Veselov, which cannot make large steps; SWd is the variant of
SW with which the paper's remarks on the energy fit.
"""

from functools import partial

import numpy as np

from polhode.papers.krysl2004 import _common as common
from polhode.papers.study import Claim, Data, Floats, Size, claim

METHODS = ("NMB", "SW", "SWd", "LewisSimo", "MR2", "IMR", "DMV2", "DMV4")
STEPS = tuple(2.0**k for k in range(3, -9, -1))
QUICK_STEPS = STEPS[2:6]
T_END, QUICK_T_END = 100.0, 25.0
SMALL = 0.25
WHERE = "figure 5"
plot = partial(common.drawn_convergence, whats=("momentum",), width=7.6)


def run(size: Size) -> Data:
    """Computes the errors."""
    return common.convergence(
        common.FREE, METHODS, QUICK_STEPS if size.quick else STEPS, QUICK_T_END if size.quick else T_END
    )


def check(data: Data, size: Size) -> list[Claim]:
    """Judges orders and ranking."""
    error, small = common.errors_of(data, "momentum"), data["step"] <= SMALL
    explicit = {m: error[m][small] / error["NMB"][small] for m in ("SW", "SWd", "MR2")}
    implicit = {m: error[m][small] / error["NMB"][small] for m in ("LewisSimo", "IMR", "DMV2")}
    orders = common.orders_of(data, "momentum")
    failed = {common.LABELS.get(m, m): data["step"][np.isnan(e)] for m, e in error.items() if np.isnan(e).any()}
    return [
        claim(
            "The momentum converges with the second order, that of DMV4 with the fourth",
            late="needs shorter steps",
            paper="2; DMV4: 4",
            measured=", ".join(f"{common.LABELS.get(m, m)} {order:.2f}" for m, order in orders.items()),
            holds=all(abs(o - (4 if m == "DMV4" else 2)) < 0.1 for m, o in orders.items() if m != "SWd"),
            test="slopes within 0.1 at the four shortest steps, but for SWd, which is not the printed method and "
            "has not settled to a slope there",
        ),
        claim(
            "Newmark's method is one of the best explicit algorithms: here better than Simo and Wong's and LP2",
            source="introduction, figure 5",
            paper="one of the best known",
            measured=f"{_listed(explicit)}. Implicit ones: {_listed(implicit)}",
            holds=all(r.min() > 1 for r in explicit.values()),
            test=f"smaller errors than the explicit ones with steps of {SMALL:g} and less",
        ),
        claim(
            "Newmark's method runs with all steps, discrete Moser-Veselov only with the shorter ones",
            source="figures 3 and 5",
            paper="DMV fails with the largest steps",
            measured="no result: "
            + "; ".join(f"{m} with {', '.join(f'{h:g}' for h in hs)}" for m, hs in failed.items()),
            holds="NMB" not in failed and {"DMV", "DMV4"} <= failed.keys(),
            test="errors for every step for NMB, none for the largest steps for DMV and DMV4",
        ),
    ]


def _listed(many: dict[str, Floats]) -> str:
    return "; ".join(f"{common.LABELS.get(m, m)} / NMB {common.ratios(r)}" for m, r in many.items())
