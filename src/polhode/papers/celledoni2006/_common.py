"""The bodies and torques of the paper, times against errors, and trajectories beside energy errors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.ticker import LogLocator

from polhode import GravityGradient, HeavyTop
from polhode.body import Body
from polhode.files.netcdf import Variable
from polhode.papers._figure import COLOURS, Figure, labelled, loglog, panels, thinned
from polhode.papers._measure import integrate, pose, slope
from polhode.papers.study import Data, Floats, Size, named
from polhode.problem import Problem
from polhode.solution import Solution


def _free() -> Problem:
    body = Body.named("descending")
    return pose(body, None, body.rate(np.array([-1.0, 0.0, 2.0])))


FREE = _free()
"""Sections 4.1 and figures 1, 2. The text has the momentum (1, 0, 2) once: a mirror image, with the same errors."""
WEIGHT = HeavyTop(weight=1.0, point=(0.0, 0.0, 1.0), down=(0.0, 0.0, -1.0))
"""V = e3 . Q u0 with u0 = e3: a unit force at the point e3 of the body, and u = Q u0 is the vertical seen from it."""
TOP = pose(Body.named("heavy-top"), WEIGHT, (10.0, 10.0, 10.0))
SATELLITE = pose(Body.named("satellite"), GravityGradient.at_distance(mu=3.986e14, r=1.5e5), (15.0, -15.0, 15.0))
"""The distance is the paper's, in m: inside the Earth."""


# --- times against errors: figures 1 to 3


def work_precision(
    problem: Problem, methods: Sequence[str], steps: Sequence[float], momentum: Floats, attitude: Floats, size: Size
) -> Data:
    """The errors at t = 1 against these exact values, and the time that each run takes."""
    errors = {name: np.empty((len(methods), len(steps))) for name in ("momentum", "attitude")}
    for i, method in enumerate(methods):
        for j, h in enumerate(steps):
            last = integrate(problem, method, 1.0, h, t_eval=[1.0])
            errors["momentum"][i, j] = np.linalg.norm(last.momentum[-1] - momentum)
            errors["attitude"][i, j] = np.linalg.norm(last.attitude[-1].as_matrix() - attitude)
    return Data(
        method=named("method", methods, "method"),
        step=named("step", steps, "step", "s"),
        momentum_error=named("method step", errors["momentum"], "error of the momentum at t = 1", "kg m2 s-1"),
        attitude_error=named("method step", errors["attitude"], "error of the attitude matrix at t = 1, Frobenius"),
        seconds=named("method step", _seconds_a_step(problem, methods, steps, size) / steps, "time of the run", "s"),
    )


def _seconds_a_step(problem: Problem, methods: Sequence[str], steps: Sequence[float], size: Size) -> Floats:
    """The least time of a step over interleaved rounds. As in the paper, work that is done once is left out."""
    count, rounds = (5, 1) if size.quick else (5_000, 12)
    best = np.full((len(methods), len(steps)), np.inf)
    for _ in range(rounds):
        for i, method in enumerate(methods):
            for j, h in enumerate(steps):
                stats = integrate(problem, method, count * h, h, every=count).stats
                best[i, j] = min(best[i, j], stats.seconds / stats.steps)
    return best


@dataclass(frozen=True)
class ErrorCurve:
    """Holds the errors and times of one method, step by step, the finest last."""

    step: Floats
    error: Floats
    seconds: Floats

    @property
    def order(self) -> float:
        """The slope at the four finest steps."""
        return slope(self.step[-4:], self.error[-4:])

    def error_after(self, seconds: float) -> float:
        """The error of a run of this duration, by a straight line through all points on log axes."""
        line = np.polyfit(np.log(self.seconds), np.log(self.error), 1)
        return float(np.exp(np.polyval(line, np.log(seconds))))


def curves(data: Data, error: str) -> dict[str, ErrorCurve]:
    """The curves by method; `error` is momentum, attitude, or both, which is the norm of the two."""
    values = whole_error(data) if error == "both" else data[f"{error}_error"]
    return {
        str(name): ErrorCurve(data["step"], e, s)
        for name, e, s in zip(data["method"], values, data["seconds"], strict=True)
    }


def whole_error(data: Data) -> Floats:
    """The error of momentum and attitude together."""
    return np.asarray(np.hypot(data["momentum_error"], data["attitude_error"]))


def draw_work(axes: Any, lines: dict[str, ErrorCurve], ylabel: str) -> None:
    """Draws execution times to the right and errors upward, as in the paper."""
    loglog(
        axes,
        {name: 1e6 * line.seconds for name, line in lines.items()},
        {name: line.error for name, line in lines.items()},
        "execution time (µs)",
        ylabel,
    )
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("")


def drawn_work(data: Data, both: str) -> Figure:
    """Draws times against errors of the attitude to the left, of attitude and momentum to the right."""
    figure, axes = panels(1, 2)
    draw_work(axes[0, 0], curves(data, "attitude"), "error of the attitude matrix")
    draw_work(axes[0, 1], curves(data, "both"), both)
    return figure


# --- trajectories beside energy errors: figures 4, 5, 7, 8


def vertical(solution: Solution) -> Floats:
    """Q e3 of the paper: the third row of R."""
    return np.asarray(solution.attitude.as_matrix()[:, 2, :])


def distance(u: Floats, v: Floats) -> float:
    """How differently two trajectories fill the sphere, from 0 to 1.

    This is Kolmogorov and Smirnov's distance: the largest difference between the shares of points below some level of a
    component.
    """
    level = np.linspace(-1.0, 1.0, 401)

    def share(x: Floats) -> Any:
        return np.searchsorted(np.sort(x), level) / x.size

    return float(max(np.abs(share(u[:, i]) - share(v[:, i])).max() for i in range(3)))


def energy_change(solution: Solution) -> Floats:
    """H_n - H, in J."""
    return np.asarray(solution.energy - solution.energy[0])


def track(number: int, solution: Solution, scale: float = 1.0, unit: str = "J") -> dict[str, Variable]:
    """Times, trajectory and energy error of a run, as arrays with this number."""
    dimension = f"time_{number}"
    return {
        f"t_{number}": named(dimension, solution.t, "time", "s"),
        f"u_{number}": named(f"{dimension} component", vertical(solution), "vertical seen from the body"),
        f"energy_{number}": named(dimension, energy_change(solution) / scale, "change of the energy", unit),
    }


def draw_tracks(data: Data, titles: Sequence[str], energy: str) -> Figure:
    """Draws a row for each numbered run: its trajectory on the sphere to the left, its energy error to the right."""
    figure, axes = panels(len(titles), 2, width=9.5, height=3.4 * len(titles))
    for k, title in enumerate(titles, 1):
        flat, right = axes[k - 1]
        left = figure.add_subplot(flat.get_subplotspec(), projection="3d")
        flat.remove()
        _on_sphere(left, data[f"u_{k}"])
        left.set_title(f"({chr(95 + 2 * k)}) {title}", fontsize=10)
        right.plot(data[f"t_{k}"], data[f"energy_{k}"], color=COLOURS[0], linewidth=0.5, rasterized=True)
        labelled(right, "time (s)", energy, f"({chr(96 + 2 * k)}) {title}")
    return figure


def _on_sphere(axes: Any, u: Floats) -> None:
    """Draws points on the unit sphere, pale where they lie behind it, with the equator and two meridians."""
    towards = np.array([np.cos(np.radians(40)), np.sin(np.radians(40)), np.tan(np.radians(22))])
    circle = np.linspace(0, 2 * np.pi, 121)
    c, s, zero = np.cos(circle), np.sin(circle), np.zeros(121)
    for x, y, z in ((c, s, zero), (c, zero, s), (zero, c, s)):
        axes.plot(x, y, z, color="0.6", linewidth=0.6)
    (points,) = thinned(u, most=12_000)
    front = points @ towards > 0
    for part, alpha in ((points[~front], 0.15), (points[front], 0.8)):
        axes.plot(*part.T, ".", markersize=2.8, color=COLOURS[1], alpha=alpha, markeredgewidth=0, rasterized=True)
    axes.view_init(elev=22, azim=40)
    axes.set_box_aspect((1, 1, 1), zoom=1.15)
    for name in "xyz":
        getattr(axes, f"set_{name}lim")(-1, 1)
        getattr(axes, f"set_{name}ticks")((-1, 0, 1))
        axes.tick_params(axis=name, labelsize=8, pad=-2)
    axes.set_xlabel("$u_1$", labelpad=-6)
    axes.set_ylabel("$u_2$", labelpad=-6)
    axes.zaxis.set_rotate_label(False)
    axes.set_zlabel("$u_3$", labelpad=-6, rotation=0)
