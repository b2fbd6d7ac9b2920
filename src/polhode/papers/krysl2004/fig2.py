"""Free body: how far it turns in a step

The length of the rotation vector h w + h^2 a / 2 of each step, in degrees, for the runs of figure 1. Rates and
accelerations fulfil Euler's equation at the end of every step, so that the accelerations follow from the rates.
"""

from functools import partial

import numpy as np

from polhode.papers.krysl2004._common import drawn_over_time, over_time
from polhode.papers.study import Claim, Data, Floats, Size, claim, named
from polhode.solution import Solution

STEPS = (4.0, 2.0, 1.0, 0.5)
plot = partial(drawn_over_time, steps=STEPS, ylabel="rotation in a step (degrees)", bottom=0)


def run(size: Size) -> Data:
    """Computes angles over time."""
    return Data(
        step=named("step", STEPS, "step", "s"),
        **over_time(STEPS, _turns, "rotation in the step that begins then", "deg"),
    )


def _turns(solution: Solution) -> Floats:
    h, w = solution.step, solution.omega
    acceleration = np.cross(solution.momentum, w) / solution.body.moments
    return np.asarray(np.degrees(np.linalg.norm(h * w + h * h / 2 * acceleration, axis=1)))


def check(data: Data, size: Size) -> list[Claim]:
    """Judges whether the steps are large."""
    angles = {h: data[f"value_{k}"] for k, h in enumerate(STEPS)}
    return [
        claim(
            "The steps of figure 1 are quite large",
            source="figure 2 and section 3.1",
            paper="clearly visible, by a figure without numbers",
            measured=", ".join(f"step {h:g}: {a.min():.0f} to {a.max():.0f} degrees" for h, a in angles.items()),
            holds=bool(angles[0.5].min() > 20 and angles[4.0].min() > 180),
            test="the shortest step turns the body by more than 20 degrees, the longest by more than half a turn",
        )
    ]
