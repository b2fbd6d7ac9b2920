"""Figure 5: the error of the leapfrog scheme over a hundred minutes."""

from typing import TYPE_CHECKING

import numpy as np

from polhode.papers._study import Claim, Data, Size, named
from polhode.papers.khlistunova2003._common import (
    MINUTE,
    against_runge_kutta,
    decade,
    drawn_errors,
    each_second,
    judged,
    largest,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "The error of the leapfrog scheme"
CAPTION = """The components of e = omega_RK - omega_LS over 100 minutes, body and start as in figure 1, h = 0.1 s.
The text gives a band of 1e-6 deg/s."""
BAND = -6
"""The paper's power of ten."""


def run(size: Size) -> Data:
    """The error, and its largest value: in all, at first, and with shortened sines and cosines."""
    t, error = against_runge_kutta("LS", size)
    short = largest(against_runge_kutta("LS1", size)[1])
    figures = [largest(error), largest(error[t <= 10 * MINUTE]), short]
    t, error = each_second(t, error)
    return Data(
        time=named("time", t, "time", "s"),
        error=named("time component", error, "omega_RK - omega_LS", "deg/s"),
        what=named("figure", ["LS", "LS in the first 10 minutes", "LS1"], "whose error"),
        largest=named("figure", figures, "largest error of any component", "deg/s"),
    )


def check(data: Data, size: Size) -> list[Claim]:
    """The band, and the first ten minutes."""
    whole, early, short = data["largest"]
    twice = np.degrees(whole)
    return [
        judged(
            size,
            "Over 100 minutes the error of LS is in a band of order 1e-6 deg/s",
            source="sec. 4, on fig. 5",
            paper="1e-6 deg/s",
            measured=f"largest {whole:.2e} deg/s",
            holds=decade(whole) == BAND,
            test="1e-6 is the power of ten next to the largest error",
            reading=f"As a bound it holds, with room: the error is {10.0**BAND / whole:.0f} times smaller. The printed "
            f"size comes out with the shortened sine and cosine of LS1 ({short:.1e}, but then the momentum is not kept "
            f"as figure 8 has it), or if radians were turned into degrees twice ({twice:.1e})",
            holds_when_read_so=bool(whole < 10.0**BAND),
        ),
        judged(
            size,
            "The error of LS stays small in the first 10 minutes",
            source="sec. 4, on fig. 5",
            paper="small",
            measured=f"largest {early:.1e} deg/s in 10 minutes, {whole:.1e} in 100",
            holds=bool(early < 0.1 * 10.0**BAND),
            test="below a tenth of the band that the paper gives for the whole",
        ),
    ]


def plot(data: Data) -> "Figure":
    """Three components over time."""
    return drawn_errors(data)
