"""Splitting and Runge-Kutta over long times

The largest errors within one period of the rates, against the time of that period: of the energy (left,
relative) and of the rates (right), for the splitting with dt = 0.02 and RK4 with dt = 0.1, body and start as in task 1.
Dotted: proportional to the time, and on the right also to its square.
"""

from typing import Any

import numpy as np

from polhode import simulate
from polhode.papers._figure import Figure, loglog, panels
from polhode.papers._measure import slope
from polhode.papers.handout import task2, task3
from polhode.papers.handout._common import BODY, MOTION, OMEGA, energy_error
from polhode.papers.study import Claim, Data, Floats, Size, claim, named

STEPS = {"MR2": task3.STEP, "RK4": task2.STEP}
ENDS = {"MR2": 4e5, "RK4": 4e6}
"""In s. The splitting need not be followed further: its error no longer changes."""
PERIODS, SAMPLES = 25, 40
"""The number of periods that are looked at, and of samples in each."""
FAIR, LATE = slice(4, 16), slice(-7, -1)
"""Periods from which powers of the time are read: of the splitting before its phase is lost, of RK4 once it drifts."""


def run(size: Size) -> Data:
    """Computes errors by period."""
    found = [_errors(m, h, 3 * MOTION.period if size.quick else ENDS[m]) for m, h in STEPS.items()]
    return Data(
        method=named("method", list(STEPS), "methods; MR2 is the splitting"),
        time=named("method period", [f[0] for f in found], "beginnings of periods", "s"),
        energy=named("method period", [f[1] for f in found], "largest relative error of the energy within the period"),
        rates=named("method period", [f[2] for f in found], "largest error of the rates within the period", "rad/s"),
    )


def _errors(method: str, step: float, t_end: float) -> tuple[Floats, Floats, Floats]:
    """The beginnings of periods, evenly spaced on a logarithmic scale, and the largest errors within each."""
    begin = np.geomspace(MOTION.period, t_end - MOTION.period, PERIODS)
    times = begin[:, None] + MOTION.period * (np.arange(SAMPLES) + 0.5) / SAMPLES
    t, back = np.unique(times, return_inverse=True)
    omega = simulate(BODY, omega=OMEGA, t_span=(0.0, t_end), step=step, method=method, t_eval=t).omega
    off = np.abs(omega - MOTION.at(t).omega).max(axis=1)
    energy, rates = (e[back].reshape(times.shape).max(axis=1) for e in (energy_error(omega), off))
    return begin, energy, rates


def check(data: Data, size: Size) -> list[Claim]:
    """Judges which method is ahead in the end."""
    says = (
        "In the end the drift of RK4 is larger than the error of the splitting, which stays bounded",
        "The rates go wrong in proportion to the time by the splitting, to its square by RK4",
    )
    about: dict[str, Any] = {"source": "task 3", "paper": "left to the reader"}
    if size.quick:
        return [claim(s, **about, measured="", holds=False, test="", late="needs the long runs") for s in says]
    (t, later), (splitting, rk4), (off, rk4_off) = data["time"], data["energy"], data["rates"]
    drifting = slice(PERIODS // 2, None)  # the oscillation no longer matters
    when = float(np.exp(np.interp(np.log(splitting.max()), np.log(rk4[drifting]), np.log(later[drifting]))))
    power = slope(later[drifting], rk4[drifting])
    straight, bent = slope(t[FAIR], off[FAIR]), slope(later[LATE], rk4_off[LATE])
    ahead = later[(later <= t[-1]) & (rk4_off < np.interp(later, t, off))]
    return [
        claim(
            says[0],
            **about,
            measured=f"splitting {splitting.min():.3e} to {splitting.max():.3e} up to t = {t[-1]:.0e}; RK4 grows to "
            f"{rk4[-1]:.1e} at t = {later[-1]:.0e}, with the power {power:.2f} of the time, and passes the splitting "
            f"at t = {when:.1e}, after {when / MOTION.period:.0f} periods",
            holds=bool(splitting.max() < 1.01 * splitting.min() and rk4[-1] > 1.5 * splitting.max()),
            test="the largest errors of the splitting are the same in all periods within 1 %; that of RK4 ends more "
            "than 1.5 times above them",
        ),
        claim(
            says[1],
            **about,
            measured=f"powers of the time {straight:.2f} and {bent:.2f}; the rates of RK4 are nevertheless the better "
            f"ones up to t = {ahead[-1]:.0e}, where those of the splitting have lost their phase long ago",
            holds=abs(straight - 1) < 0.15 and abs(bent - 2) < 0.15,
            test="1 and 2 within 0.15: a wrong period makes an error that grows with the time, and an energy that "
            "drifts makes the period more and more wrong",
        ),
    ]


def plot(data: Data) -> Figure:
    """Draws errors against time."""
    figure, axes = panels(1, 2, width=11.0, height=4.2)
    names = ("splitting, dt = 0.02", "RK4, dt = 0.1")
    time = dict(zip(names, data["time"], strict=True))
    for ax, what, label, slopes in (
        (axes[0, 0], "energy", "relative error of the energy", (1,)),
        (axes[0, 1], "rates", "error of the rates (rad/s)", (1, 2)),
    ):
        loglog(ax, time, dict(zip(names, data[what], strict=True)), "time (s)", label, slopes=slopes)
        ax.set_ylim(0.3 * data[what].min(), 10 * data[what].max())
    return figure
