"""The deviation of the kinetic energy over 100 minutes

H(t) - H(0), body and start as in figure 1, h = 0.1 s, one panel for each method, on axes of their own. SS
is shown twice, since the paper does not say whether its runs advance 2h at once, as the scheme is printed, or h.
"""

from functools import partial

from polhode.papers.khlistunova2003._common import COMPARED, LONG_RUNS, drawn_over_time, over_time
from polhode.papers.study import Claim, Data, Size, about, claim

WHERE = "sec. 4, on fig. 7"
LATE = LONG_RUNS
run = partial(over_time, what="energy", symbol="H(t) - H(0)", unit="J")
plot = partial(drawn_over_time, name="deviation", ylabel="dH (J)")


def check(data: Data, size: Size) -> list[Claim]:
    """Judges Simpson's scheme against the two others."""
    worst = dict(zip(COMPARED, data["largest"], strict=True))
    rk, ls, double, single = (worst[m] for m in ("RKF5", "LS", "SS", "SSh"))
    sizes = f"LS {ls:.1e}, SS {double:.1e} (2h at once) or {single:.1e} (h), RK {rk:.1e} J"
    return [
        claim(
            "The energy of SS deviates about a hundred times less than that of LS",
            paper="hundred times",
            measured=f"{ls / double:.0f} times (2h at once), {ls / single:.0f} times (h): {sizes}",
            holds=about(ls / double, 100),
            test="100 is the power of ten next to the ratio, of the scheme as it is printed",
        ),
        claim(
            "The energies of RK and SS deviate by about the same order",
            paper="same order",
            measured=f"SS / RK = {double / rk:.1f} (2h at once), {single / rk:.1f} (h): {sizes}",
            holds=bool(0.1 < double / rk < 10),
            test="within a factor of 10, of the scheme as it is printed",
            reading="Holds if SS advances h at once: within a factor of 10. What RK shows at this step is round-off, "
            "which is smaller the better the arithmetic is done",
            holds_when_read_so=bool(0.1 < single / rk < 10),
        ),
    ]
