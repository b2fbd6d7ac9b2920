"""Runge-Kutta of order 4

Top: the rates by RK4 with dt = 0.1, body and start as in task 1. Bottom: the relative error of the energy.
Here RK4 works on momentum and attitude; for a free body its momentum is that of Euler's equations alone.
"""

from functools import partial

import numpy as np

from polhode.free.free_motion import FreeMotion
from polhode.papers.handout._common import MOTION, T_END, common_data, drawn, energy_error, integrated
from polhode.papers.study import Claim, Data, Floats, Size, claim, named
from polhode.solution import Solution

WHERE = "task 2"
STEP = 0.1
plot = partial(drawn, curves={"energy_error": "RK4, dt = 0.1"})


def run(size: Size) -> Data:
    """Runs RK4, and again with half the step."""
    run = integrated("RK4", STEP)
    coarse = integrated("RK4", 2 * STEP)
    return Data(
        **common_data(run.t, run.omega),
        coarse_time=named("coarse_time", coarse.t, "time of the run with 2 dt", "s"),
        coarse_energy_error=named("coarse_time", energy_error(coarse.omega), "relative error of the energy with 2 dt"),
    )


def by_period(t: Floats, error: Floats) -> Floats:
    """The mean error in each whole period of the rates: the oscillation within a period does not count."""
    period = np.floor(t / MOTION.period).astype(int)
    whole = int(t[-1] / MOTION.period)
    return np.array([error[period == k].mean() for k in range(whole)])


def check(data: Data, size: Size) -> list[Claim]:
    """Answers what is observed."""
    means = by_period(data["time"], data["energy_error"])
    growth = np.diff(means)
    coarse = by_period(data["coarse_time"], data["coarse_energy_error"])
    factor = float(np.diff(coarse).mean() / growth.mean())
    error = float(np.abs(data["error"][-1]).max())
    return [
        claim(
            "What is observed: the energy drifts",
            paper="left to the reader",
            measured=f"relative error {data['energy_error'][-1]:.1e} at t = {T_END:g}; mean of {len(means)} periods "
            + ", ".join(f"{m:.1e}" for m in means),
            holds=bool((growth > 0.9 * growth.mean()).all() and growth.mean() > 0),
            test="from period to period the mean error grows by the same amount, within 10 %: a drift in proportion to "
            "the time, and an oscillation on top",
        ),
        claim(
            "What is observed: shorter steps help much",
            paper="left to the reader",
            measured=f"twice the step makes {factor:.0f} times the drift; the rates at t = {T_END:g} are off by "
            f"{error:.1e} rad/s",
            holds=abs(np.log2(factor) - 5) < 0.3,
            test="the drift goes like the fifth power of the step, within 0.3 in the exponent",
        ),
    ]


def motions(size: Size) -> dict[str, Solution | FreeMotion]:
    """The exact motion and RK4."""
    return {"exact": MOTION, "RK4": integrated("RK4", STEP)}
