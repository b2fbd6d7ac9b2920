"""The largest deviation of the energy against the step

The largest |H(t) - H(0)| at any step of 100 minutes, body and start as in figure 1, for eleven steps
between 0.01 s and 1 s. SS is drawn for both meanings of its step.
"""

from functools import partial

import numpy as np

from polhode.papers.khlistunova2003 import _common as common
from polhode.papers.study import Claim, Data, Size, claim

WHERE = "sec. 4, on fig. 9"
LATE = common.LONG_RUNS
run, plot = common.deviations, partial(common.drawn_deviations, name="energy", ylabel="largest |dH| (J)")


def check(data: Data, size: Size) -> list[Claim]:
    """Judges which method is best at which steps."""
    energy, momentum, error = (common.by_method(data, name) for name in ("energy", "momentum", "error"))
    others = np.minimum(energy["LS"], energy["RKF5"])
    least = {m: bool((energy[m] < others)[common.LONG_STEPS].all()) for m in ("SS", "SSh")}
    sturdier = {m: least[m] and bool((momentum[m] < momentum["RKF5"])[common.LONG_STEPS].all()) for m in ("SS", "SSh")}
    ratio = {m: (energy[m] / energy["RKF5"])[common.MIDDLE_STEPS] for m in ("SS", "SSh")}
    lost = ", ".join(f"{h:g}" for h, lose in zip(data["step"], energy["SS"] > others, strict=True) if lose and h >= 0.4)
    behind = (error["SSh"] / error["RKF5"])[common.LONG_STEPS]
    return [
        claim(
            "The energy deviates most with LS",
            paper="at every step",
            measured=f"LS / largest of the others at least "
            f"{np.min(energy['LS'] / np.max([energy[m] for m in ('RKF5', 'SS', 'SSh')], axis=0)):.1f}",
            holds=bool(all((energy["LS"] > energy[m]).all() for m in ("RKF5", "SS", "SSh"))),
            test="larger than RK and both readings of SS at all eleven steps",
        ),
        claim(
            "For h = 1.0, 0.8, 0.6, 0.4 the energy deviates least with SS",
            paper="smallest at all four",
            measured=f"SS {common.listed(energy['SS'][common.LONG_STEPS])} (2h at once), "
            f"{common.listed(energy['SSh'][common.LONG_STEPS])} (h); "
            f"RK {common.listed(energy['RKF5'][common.LONG_STEPS])} J",
            holds=least["SS"],
            test="smaller than LS and RK at all four steps, for the scheme as it is printed",
            reading="Holds at all four steps if SS advances h at once; as it is printed, 2h at once, it is beaten by "
            f"RK at h = {lost}",
            holds_when_read_so=least["SSh"],
        ),
        claim(
            "For h = 1.0, 0.8, 0.6, 0.4 SS is better than RK",
            source="sec. 4, on figs. 9 and 10",
            paper="better",
            measured=f"better in energy and momentum: {'yes' if sturdier['SSh'] else 'no'} (h at once); the angular "
            f"velocity after 100 minutes is off by {common.listed(error['SSh'][common.LONG_STEPS])} deg/s with SS, by "
            f"{common.listed(error['RKF5'][common.LONG_STEPS])} with RK",
            holds=sturdier["SSh"] and bool((behind < 1).all()),
            test="smaller in energy, momentum and the angular velocity itself",
            reading="Holds for energy and momentum, if SS advances h at once. The angular velocity itself is "
            f"{behind.min():.0f} to {behind.max():.0f} times more accurate with RK",
            holds_when_read_so=sturdier["SSh"],
        ),
        claim(
            "For h = 0.1, 0.08, 0.06 the energies of SS and RK deviate by the same order",
            paper="same order",
            measured="SS / RK = " + ", ".join(f"{r:.1f}" for r in ratio["SS"]) + " (2h at once), "
            + ", ".join(f"{r:.1f}" for r in ratio["SSh"]) + " (h)",
            holds=bool((np.abs(np.log10(ratio["SS"])) < 1).all()),
            test="within a factor of 10 at all three steps, for the scheme as it is printed",
            reading="Holds within a factor of 10 if SS advances h at once; RK is at round-off here",
            holds_when_read_so=bool((np.abs(np.log10(ratio["SSh"])) < 1).all()),
        ),
    ]  # fmt: skip
