"""The deviation of the length of the momentum over 100 minutes

|M(t)| - |M(0)|, body and start as in figure 1, h = 0.1 s, one panel for each method. All of it is
round-off: LS and SS keep the length, and RK at this step does so to the last digits.
"""

from functools import partial

from polhode.papers.khlistunova2003 import _common as common
from polhode.papers.study import Claim, Data, Size, about, claim, named

LATE = common.LONG_RUNS
plot = partial(common.drawn_over_time, name="deviation", ylabel=r"d|M| (kg m$^2$/s)")


def run(size: Size) -> Data:
    """Computes the deviations, and their largest values over all steps, with exact and with short sines."""
    found = common.over_time(size, "momentum", "|M(t)| - |M(0)|", "kg m2/s")
    short = [common.largest(common.long_run(m, size).momentum) for m in ("LS1", "SS1")]
    return Data(
        **found.variables,
        short_method=named("short_method", ["LS1", "SS1"], "schemes with shortened sine and cosine"),
        short_largest=named("short_method", short, "their largest deviation at any step", "kg m2/s"),
    )


def check(data: Data, size: Size) -> list[Claim]:
    """Judges whether all three are at round-off."""
    worst = data["largest"]
    told = ", ".join(f"{common.LABELS[m]} {v:.1e}" for m, v in zip(common.COMPARED, worst, strict=True))
    short = " and ".join(f"{v:.1e}" for v in data["short_largest"])
    return [
        claim(
            "For all three methods |M| stays in a band of order 1e-13",
            source="sec. 4, on fig. 8",
            paper="1e-13",
            measured=f"{told} kg m^2/s; LS1 and SS1, which the figure does not have, {short}",
            holds=all(about(v, 1e-13) for v in worst),
            test="1e-13 is the nearest power of ten for RK, LS and both meanings of the step of SS",
        )
    ]
