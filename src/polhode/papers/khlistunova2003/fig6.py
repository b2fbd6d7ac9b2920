"""The error of Simpson's scheme

The components of e = omega_RK - omega_SS over 100 minutes, body and start as in figure 1, h = 0.1 s, SS
advancing 2h at once as it is printed. The text gives a band of 1e-7.
"""

from functools import partial

import numpy as np

from polhode.papers.khlistunova2003._common import LONG_RUNS, drawn_errors, error_over_time, small_at_first
from polhode.papers.study import Claim, Data, Size, about, claim

LATE = LONG_RUNS
BAND = -7
"""The power of ten that the paper gives."""
run, plot = partial(error_over_time, "SS", "SSh"), drawn_errors


def check(data: Data, size: Size) -> list[Claim]:
    """Judges the size of the error, and the first ten minutes."""
    whole, _, single = data["largest"]
    return [
        claim(
            "Over 100 minutes the error of SS, which the text calls relative, is in a band of order 1e-7 deg/s",
            source="sec. 4, on fig. 6",
            paper="1e-7",
            measured=f"largest {whole:.2e} deg/s if SS advances 2h at once, {single:.1e} if h; divided by |omega| "
            f"{np.array([whole, single]).max() / np.sqrt(101.0):.1e}",
            holds=about(whole, 10.0**BAND),
            test="1e-7 is the power of ten next to the largest absolute error, of the scheme as it is printed",
        ),
        small_at_first("SS", 6, BAND, data),
    ]
