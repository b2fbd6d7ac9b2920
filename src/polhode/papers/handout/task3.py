"""Splitting into rotations

Top: the rates by the splitting with dt = 0.02, body and start as in task 1. Bottom: the relative error of
the energy, with those of the other tasks: RK4 with dt = 0.1, and the analytical solution with polhode's elliptic
functions.
"""

import numpy as np

from polhode.free.free_motion import FreeMotion
from polhode.papers._figure import Figure
from polhode.papers.handout._common import MOTION, OMEGA, T_END, common_data, drawn, energy_error, integrated
from polhode.papers.handout.task1 import formulas
from polhode.papers.handout.task2 import STEP as RK4_STEP
from polhode.papers.study import Claim, Data, Size, claim, named
from polhode.solution import Solution

WHERE = "task 3"
STEP = 0.02


def run(size: Size) -> Data:
    """Runs the splitting, and computes the errors of the other tasks at the times of RK4."""
    t_end = 0.5 * T_END if size.quick else T_END
    run, rk4 = (integrated(m, h, t_end) for m, h in (("MR2", STEP), ("RK4", RK4_STEP)))
    return Data(
        **common_data(run.t, run.omega),
        momentum_error=named("time", run.invariant_errors["momentum norm"], "relative error of |M|"),
        rk4_time=named("rk4_time", rk4.t, "times of RK4", "s"),
        rk4_energy_error=named("rk4_time", energy_error(rk4.omega), "relative error of the energy, RK4"),
        analytic_energy_error=named("rk4_time", energy_error(formulas(OMEGA, rk4.t)), "the same, analytical solution"),
        rk4_error=named("rk4_time component", rk4.omega - MOTION.at(rk4.t).omega, "error of the rates, RK4", "rad/s"),
    )


def check(data: Data, size: Size) -> list[Claim]:
    """Answers what is observed, and judges the comparison over the time of the tasks."""
    t, error = data["time"], data["energy_error"]
    whole = int(t[-1] / MOTION.period)
    first, last = (float(error[(t >= k * MOTION.period) & (t < (k + 1) * MOTION.period)].max()) for k in (0, whole - 1))
    rk4, analytic = float(data["rk4_energy_error"].max()), float(data["analytic_energy_error"].max())
    rates, rk4_rates = (float(np.abs(data[name]).max()) for name in ("error", "rk4_error"))
    return [
        claim(
            "What is observed: the error of the energy oscillates and does not grow",
            paper="left to the reader",
            measured=f"largest relative error {first:.4e} in the first period, {last:.4e} in period {whole}",
            holds=abs(last / first - 1) < 1e-3,
            test="the same in the first and the last period within 0.1 %",
        ),
        claim(
            "What is observed: the length of the momentum is kept",
            paper="left to the reader",
            measured=f"largest relative error {data['momentum_error'].max():.1e}",
            holds=bool(data["momentum_error"].max() < 1e-13),
            test="below 1e-13: only rotations act on it, so this is round-off",
        ),
        claim(
            "Comparison over the time of the tasks: the analytical solution is best, then RK4, then the splitting",
            paper="left to the reader",
            measured=f"largest relative errors of the energy {analytic:.0e}, {rk4:.1e}, {error.max():.1e}; of the "
            f"rates RK4 {rk4_rates:.1e}, splitting {rates:.1e} rad/s, though the splitting makes {RK4_STEP / STEP:g} "
            "times the steps",
            holds=bool(10 * analytic < rk4 < error.max() / 10 and rk4_rates < rates / 10),
            test="each better than the next by more than ten times",
        ),
    ]


def motions(size: Size) -> dict[str, Solution | FreeMotion]:
    """The exact motion and the splitting."""
    return {"exact": MOTION, "splitting": integrated("MR2", STEP, 0.1 * T_END if size.quick else T_END)}


def plot(data: Data) -> Figure:
    """Draws rates and energy."""
    curves = {"energy_error": "splitting", "rk4_energy_error": "RK4", "analytic_energy_error": "analytical"}
    figure = drawn(data, curves)
    figure.axes[1].set_ylim(-17.5, -1)
    figure.axes[1].legend(ncols=3, loc="upper right", fontsize=8)
    return figure
