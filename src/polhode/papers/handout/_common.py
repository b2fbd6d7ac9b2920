"""The body and start of all three tasks, and how their solutions are drawn."""

from typing import Any

import numpy as np

from polhode import simulate
from polhode.body import Body
from polhode.free.free_motion import FreeMotion
from polhode.papers._figure import COLOURS, Figure, labelled, panels, style
from polhode.papers.study import Data, Floats, named
from polhode.solution import Solution

MOMENTS = (0.8, 0.9, 1.0)
BODY = Body(list(MOMENTS))
OMEGA = (1.0, 0.0, 2.0)
T_END = 100.0
LOWEST = 1e-17
"""Errors of zero are drawn here."""
MOTION = FreeMotion(BODY, omega=OMEGA)


def energy_error(omega: Any) -> Floats:
    """|(E(t) - E(0)) / E(0)| for rates at several times; E(0) is that of the start."""
    energy = np.asarray(omega) ** 2 @ np.array(MOMENTS)
    start = np.square(OMEGA) @ np.array(MOMENTS)
    error: Floats = np.abs(energy - start) / start
    return error


def integrated(method: str, step: float, t_end: float = T_END, every: int = 1) -> Solution:
    """Runs the body from its start with a method."""
    return simulate(BODY, omega=OMEGA, t_span=(0.0, t_end), step=step, method=method, every=every)


def common_data(t: Floats, omega: Floats) -> dict[str, Any]:
    """What all tasks draw, and the error of the rates."""
    return {
        "time": named("time", t, "time", "s"),
        "omega": named("time component", omega, "angular velocity", "rad/s"),
        "error": named("time component", omega - MOTION.at(t).omega, "its error", "rad/s"),
        "energy_error": named("time", energy_error(omega), "relative error of the energy"),
    }


def drawn(data: Data, curves: dict[str, str]) -> Figure:
    """Draws the rates, and below them the logarithms of errors of the energy, with the names of the curves."""
    figure, axes = panels(2, 1, width=7.0, height=6.2, sharex=True)
    top, bottom = axes[:, 0]
    for k in range(3):
        top.plot(data["time"], data["omega"][:, k], label=rf"$\omega_{k + 1}$", **style(k, marked=False))
    labelled(top, "", "angular velocity (rad/s)", legend=False)
    top.set_ylim(-1.5, 2.8)
    top.legend(ncols=3, loc="upper right", fontsize=9)
    for k, (name, label) in enumerate(curves.items()):
        t = data["rk4_time"] if data[name].size != data["time"].size else data["time"]
        bottom.plot(t, np.log10(np.maximum(data[name], LOWEST)), label=label, color=COLOURS[k], linewidth=0.9)
    labelled(bottom, "time (s)", r"$\log_{10}\,|(E(t) - E(0))/E(0)|$", legend=len(curves) > 1)
    return figure
