"""The largest deviation of the length of the momentum against the step

The largest |M(t)| - |M(0)| at any step of 100 minutes, from the runs of figure 9. LS and SS keep the
length: theirs is round-off at every step.
"""

from functools import partial

import numpy as np

from polhode.papers.khlistunova2003 import _common as common
from polhode.papers.study import Claim, Data, Size, claim

WHERE = "sec. 4, on fig. 10"
LATE = common.LONG_RUNS
run = common.deviations
plot = partial(common.drawn_deviations, name="momentum", ylabel=r"largest d|M| (kg m$^2$/s)")


def check(data: Data, size: Size) -> list[Claim]:
    """Judges which method is best at which steps."""
    momentum = common.by_method(data, "momentum")
    rk, ls, ss = (momentum[m][common.LONG_STEPS] for m in ("RKF5", "LS", "SS"))
    ratio = (momentum["SS"] / momentum["RKF5"])[common.MIDDLE_STEPS]
    return [
        claim(
            "For h = 1.0, 0.8, 0.6, 0.4 the momentum deviates most with RK",
            paper="largest at all four",
            measured=f"RK {common.listed(rk)}, LS {common.listed(ls)}, SS {common.listed(ss)} kg m^2/s",
            holds=bool((rk > 10 * np.maximum(ls, ss)).all()),
            test="more than ten times larger at all four steps",
        ),
        claim(
            "For h = 1.0, 0.8, 0.6, 0.4 the momentum deviates least with SS",
            paper="smallest at all four",
            measured=f"SS {common.listed(ss)}, LS {common.listed(ls)}, RK {common.listed(rk)} kg m^2/s",
            holds=bool((ss < ls / 2).all() and (ss < rk / 2).all()),
            test="less than half of the others at all four steps",
            reading="Smaller than RK. LS and SS both keep the length exactly, but for round-off: which of the two "
            "shows less of it is chance",
            holds_when_read_so=bool((ss < rk / 10).all() and (np.maximum(ls, ss) < 1e-12).all()),
        ),
        claim(
            "For h = 0.1, 0.08, 0.06 the momenta of SS and RK deviate by the same order",
            paper="same order",
            measured="SS / RK = " + ", ".join(f"{r:.1f}" for r in ratio),
            holds=bool((np.abs(np.log10(ratio)) < 1).all()),
            test="within a factor of 10 at all three steps; all is round-off",
        ),
    ]
