"""Figure 6: the error of Simpson's scheme over a hundred minutes."""

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

TITLE = "The error of Simpson's scheme"
CAPTION = """The components of e = omega_RK - omega_SS over 100 minutes, body and start as in figure 1, h = 0.1 s, SS
advancing 2h at once as it is printed. The text gives a band of 1e-7."""
BAND = -7
"""The paper's power of ten."""


def run(size: Size) -> Data:
    """The error, and its largest value: in all, at first, and with the other meaning of the step."""
    t, error = against_runge_kutta("SS", size)
    single = largest(against_runge_kutta("SSh", size)[1])
    figures = [largest(error), largest(error[t <= 10 * MINUTE]), single]
    t, error = each_second(t, error)
    return Data(
        time=named("time", t, "time", "s"),
        error=named("time component", error, "omega_RK - omega_SS", "deg/s"),
        what=named("figure", ["SS", "SS in the first 10 minutes", "SSh"], "whose error; SSh advances h at once"),
        largest=named("figure", figures, "largest error of any component", "deg/s"),
    )


def check(data: Data, size: Size) -> list[Claim]:
    """The band, and the first ten minutes."""
    whole, early, single = data["largest"]
    return [
        judged(
            size,
            "Over 100 minutes the error of SS, which the text calls relative, is in a band of order 1e-7 deg/s",
            source="sec. 4, on fig. 6",
            paper="1e-7",
            measured=f"largest {whole:.2e} deg/s if SS advances 2h at once, {single:.1e} if h; divided by |omega| "
            f"{np.array([whole, single]).max() / np.sqrt(101.0):.1e}",
            holds=decade(whole) == BAND,
            test="1e-7 is the power of ten next to the largest absolute error, of the scheme as it is printed",
        ),
        judged(
            size,
            "The error of SS stays small in the first 10 minutes",
            source="sec. 4, on fig. 6",
            paper="small",
            measured=f"largest {early:.1e} deg/s in 10 minutes, {whole:.1e} in 100",
            holds=bool(early < 0.1 * 10.0**BAND),
            test="below a tenth of the band that the paper gives for the whole; it grows steadily",
        ),
    ]


def plot(data: Data) -> "Figure":
    """Three components over time."""
    return drawn_errors(data)
