"""The error of the leapfrog scheme

The components of e = omega_RK - omega_LS over 100 minutes, body and start as in figure 1, h = 0.1 s.
The text gives a band of 1e-6 deg/s.
"""

from functools import partial

import numpy as np

from polhode.papers.khlistunova2003._common import LONG_RUNS, drawn_errors, error_over_time, small_at_first
from polhode.papers.study import Claim, Data, Size, about, claim

LATE = LONG_RUNS
BAND = -6
"""The power of ten that the paper gives."""
run, plot = partial(error_over_time, "LS", "LS1"), drawn_errors


def check(data: Data, size: Size) -> list[Claim]:
    """Judges the size of the error, and the first ten minutes."""
    whole, _, short = data["largest"]
    twice = np.degrees(whole)
    return [
        claim(
            "Over 100 minutes the error of LS is in a band of order 1e-6 deg/s",
            source="sec. 4, on fig. 5",
            paper="1e-6 deg/s",
            measured=f"largest {whole:.2e} deg/s",
            holds=about(whole, 10.0**BAND),
            test="1e-6 is the power of ten next to the largest error",
            otherwise=f"The error is {10.0**BAND / whole:.0f} times smaller than the band. The printed size comes out "
            f"with the shortened sine and cosine of LS1 ({short:.1e}), but then the momentum is not kept as figure 8 "
            f"has it; or if radians were turned into degrees twice ({twice:.1e})",
        ),
        small_at_first("LS", 5, BAND, data),
    ]
