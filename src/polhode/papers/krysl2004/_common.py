"""The paper's problems, errors against the step, and the toss of the book."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from polhode import CoulombSoftWall, HeavyTop, PiecewiseTorque, SimulationFailed, torque
from polhode.body import Body
from polhode.kernels.algebra.quat import to_body
from polhode.kernels.types import Quat, Vec3
from polhode.papers._figure import COLOURS, Figure, labelled, loglog, panels, style
from polhode.papers._measure import integrate, matrix, pose, reference, slope
from polhode.papers.krysl2004._literal_midpoint import LITERAL, SpatialTorque, end_state
from polhode.papers.study import Data, Floats, Size, named
from polhode.problem import Problem
from polhode.solution import Solution
from polhode.torques import Torque

LABELS = {"LewisSimo": "LS", "MR2": "LP2", "DMV2": "DMV", "AKWexp": "AKW, exact turn"}
"""The paper's names of methods that have another name here."""


def _tilted(angle: float) -> tuple[float, float, float, float]:
    """The attitude exp(angle e1), as a quaternion."""
    return (math.cos(angle / 2), math.sin(angle / 2), 0.0, 0.0)


FREE = pose(Body.named("mclachlan-zanna"), None, (0.45549, 0.82623, 0.03476))
"""Section 3.1."""
FAST_TOP = pose(Body.named("top"), HeavyTop(weight=20.0), (0.0, 0.0, 50.0), _tilted(0.3))
"""Section 3.4."""
SLOW_TOP = pose(Body.named("top"), HeavyTop(weight=20.0), (0.0, 0.0, 5.0), _tilted(0.05))
"""Section 3.5."""


def soft_wall(sign: str) -> Problem:
    """The problem of section 3.6, with the torque as printed, or with the sign that makes the wall repel."""
    body = Body.named("soft-wall")
    return pose(body, CoulombSoftWall(sign=sign), body.rate(np.array([2.0, 2.0, 2.0])))  # type: ignore[arg-type]


# --- Newmark's method on the free body, over time: figures 1 to 3

SHORT = 100.0
"""In s. The paper does not say how long the runs are that it draws; those of figures 4 and 5 end here."""


def over_time(steps: Sequence[float], quantity: Callable[[Solution], Floats], name: str, unit: str) -> dict[str, Any]:
    """Times and values of a quantity along the run with each step, as named arrays t_0, value_0, ..."""
    arrays = {}
    for k, h in enumerate(steps):
        solution = integrate(FREE, "NMB", SHORT, h)
        values = quantity(solution)
        dimensions = f"time_{k}" if values.ndim == 1 else f"time_{k} component"
        arrays[f"t_{k}"] = named(f"time_{k}", solution.t, f"time, step {h:g}", "s")
        arrays[f"value_{k}"] = named(dimensions, values, f"{name}, step {h:g}", unit)
    return arrays


def draw_over_time(axes: Any, data: Data, steps: Sequence[float], component: int | None = None) -> None:
    """Draws the runs with their marks; a step below a quarter is a line without marks."""
    for k, h in enumerate(steps):
        fine = h < 0.25
        look = style(k, marked=not fine) | {"linewidth": 1.6 if fine else 0.9, "zorder": 1 if fine else 2}
        if fine:
            look |= {"color": "0.35", "linestyle": "-"}
        else:
            look["markersize"] = 4.5 if h > 1 else 3.0
        values = data[f"value_{k}"]
        axes.plot(data[f"t_{k}"], values if component is None else values[:, component], label=f"step {h:g}", **look)


def legend_beside(axes: Any) -> None:
    """Puts the legend outside, to the right."""
    axes.legend(fontsize=9, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, frameon=False)


def drawn_over_time(data: Data, steps: Sequence[float], ylabel: str, **limits: float) -> Figure:
    """Draws figures 1 and 2: a quantity over time, with the legend beside it."""
    figure, axes = panels(width=8.0, height=4.4)
    draw_over_time(axes[0, 0], data, steps)
    labelled(axes[0, 0], "time (s)", ylabel, legend=False)
    axes[0, 0].set_ylim(**limits)
    legend_beside(axes[0, 0])
    return figure


# --- errors against the step: figures 4, 5, 10, 11, 13


def convergence(
    problem: Problem, methods: Sequence[str], steps: Sequence[float], t_end: float, literal: SpatialTorque | None = None
) -> Data:
    """Errors at the end in 2-norms, NaN where a run failed; `literal` adds the literal midpoint rule."""
    momentum, attitude = reference(problem, t_end)
    methods = [*methods, *([LITERAL] if literal else [])]
    errors = np.full((2, len(methods), len(steps)), np.nan)
    for i, method in enumerate(methods):
        for j, h in enumerate(steps):
            if literal and method == LITERAL:
                m, R = end_state(problem, literal, h, t_end)
            else:
                try:
                    last = integrate(problem, method, t_end, h, t_eval=[t_end])
                except SimulationFailed:
                    continue
                m, R = last.momentum[-1], matrix(last)
            errors[0, i, j] = np.linalg.norm(m - momentum)
            errors[1, i, j] = np.linalg.norm(R - attitude, ord=2)
    return Data(
        method=named("method", methods, "method"),
        step=named("step", steps, "step", "s"),
        momentum_error=named("method step", errors[0], f"error of the body momentum at t = {t_end:g}", "kg m2 s-1"),
        attitude_error=named("method step", errors[1], f"error of the attitude matrix at t = {t_end:g}, 2-norm"),
    )


def errors_of(data: Data, what: str) -> dict[str, Floats]:
    """The errors by method, step after step; `what` is momentum or attitude."""
    return {str(name): row for name, row in zip(data["method"], data[f"{what}_error"], strict=True)}


def orders_of(data: Data, what: str) -> dict[str, float]:
    """The slopes at the four finest steps."""
    return {name: slope(data["step"][-4:], row[-4:]) for name, row in errors_of(data, what).items()}


def convergence_panel(axes: Any, data: Data, what: str, methods: Sequence[str] = ()) -> None:
    """Draws errors against steps for some of the methods, or for all."""
    ylabel = {"momentum": "error of the body momentum (kg m²/s)", "attitude": "error of the attitude, 2-norm"}[what]
    found = errors_of(data, what)
    loglog(axes, data["step"], {LABELS.get(m, m): found[m] for m in methods or found}, "step (s)", ylabel)


def drawn_convergence(data: Data, whats: Sequence[str], width: float) -> Figure:
    """Draws a panel for each kind of error, with one legend for all."""
    figure, axes = panels(1, len(whats), width=width, height=4.6)
    for ax, what in zip(axes[0], whats, strict=True):
        convergence_panel(ax, data, what)
        if ax is not axes[0, -1]:
            ax.get_legend().remove()
    return figure


def ratios(many: Floats, digits: int = 2) -> str:
    """The range of some numbers as text."""
    low, high = (f"{x:.{digits}g}" for x in (many.min(), many.max()))
    return low if low == high else f"{low} to {high}"


# --- the toss of the book: figures 6 and 7

BOOK = Body.named("book")
PUSH, IMPULSE = 20.0, 0.2
"""N m about x until the release; N m s about y within the step after it."""
COARSE, FINE = 0.05, 0.001
"""The steps of the figures, in s."""
RELEASE = 2.0
"""In s. The paper does not state the time of the release: this one is drawn, and `RELEASES` are judged."""
RELEASES = (1.0, 2.0, 3.0)
DRAWN, LONG = 10.0, 1000.0
"""Ends of the runs, in s; the paper does not state them either. The verdicts use both, and half of the second."""
JUMPS = ("restart", "before", "after")
"""How a step treats a torque that has two values at its end: each step uses the value of its own side (the run
restarts there), or both neighbours have that of the time before, or after."""


@torque(parameters=(0.0, 0.0, 0.0))
def _sampled(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """The torques of the toss, sampled at the ends of steps: p has the two jumps and the disturbing torque."""
    if t < p[0]:
        return to_body(q, (PUSH, 0.0, 0.0))
    if t < p[1]:
        return to_body(q, (0.0, p[2], 0.0))
    return (0.0, 0.0, 0.0)


class Toss(NamedTuple):
    """Is one reading of the paper's toss."""

    release: float = RELEASE
    jumps: str = "restart"

    def torque(self, h: float) -> Torque:
        """The torque for steps of this length; the disturbance lasts one of them."""
        ends, disturbing = (self.release, self.release + h), IMPULSE / h
        if self.jumps == "restart":
            return PiecewiseTorque(((ends[0], (PUSH, 0.0, 0.0)), (ends[1], (0.0, disturbing, 0.0))))
        aside = h / 2 if self.jumps == "before" else -h / 2  # no end of a step is near
        return _sampled.with_parameters((ends[0] + aside, ends[1] + aside, disturbing))

    def run(self, method: str, h: float, t_end: float, **output: Any) -> Solution:
        """Runs the toss from rest."""
        return integrate(pose(BOOK, self.torque(h), (0.0, 0.0, 0.0)), method, t_end, h, **output)

    def flying(self, t: Floats, h: float) -> Any:
        """Which rows are free of torques, however these are sampled."""
        return t > self.release + 2.5 * h


def tosses() -> Iterator[Toss]:
    """All readings that are judged."""
    return (Toss(release, jumps) for release in RELEASES for jumps in JUMPS)


TOSSERS = ("NMB", "SW", "SWd")


@cache
def tossed(size: Size) -> Data:
    """Changes of energy and momentum of the flying book, by reading, method and end; quick: until `DRAWN`."""
    readings = [Toss()] if size.quick else list(tosses())
    ends = (DRAWN,) if size.quick else (DRAWN, LONG / 2, LONG)
    found = np.array([[_flight(reading, method, ends) for method in TOSSERS] for reading in readings])
    return Data(
        release=named("reading", [r.release for r in readings], "time of the release", "s"),
        jumps=named("reading", [r.jumps for r in readings], "torque at the jumps"),
        method=named("method", TOSSERS, "method"),
        end=named("end", ends, "end of the time looked at", "s"),
        gain=named("reading method end", found[..., 0, :], "largest kinetic energy in flight, relative to its start"),
        wander=named(
            "reading method end", found[..., 1, :], "largest change of the spatial momentum, relative to its size"
        ),
    )


def _flight(reading: Toss, method: str, ends: tuple[float, ...]) -> Floats:
    flight = reading.run(method, COARSE, ends[-1])
    rows = reading.flying(flight.t, COARSE)
    t, energy, momentum = flight.t[rows], flight.kinetic_energy[rows], flight.spatial_momentum[rows]
    changed = np.linalg.norm(momentum - momentum[0], axis=1) / np.linalg.norm(momentum[0])
    early = [t <= end for end in ends]
    return np.array([[(energy[e] / energy[0]).max() for e in early], [changed[e].max() for e in early]])


def toss_of(data: Data, quantity: str, method: str, release: float | None = None) -> Floats:
    """A quantity of `tossed`, readings by ends; for all releases, or for one."""
    column: Floats = data[quantity][:, list(data["method"]).index(method)]
    return column if release is None else column[data["release"] == release]


def toss_runs(size: Size, quantity: Callable[[Solution], Floats], name: str, unit: str) -> dict[str, Any]:
    """A quantity along the drawn runs, by NMB and SW with both steps; at the quick size a step is longer."""
    steps = {"coarse": COARSE, "fine": COARSE / 4 if size.quick else FINE}
    arrays = {"step": named("step", list(steps.values()), "the coarse and the fine step", "s")}
    for kind, h in steps.items():
        for method in ("NMB", "SW"):
            solution = Toss().run(method, h, DRAWN)
            arrays[f"t_{kind}"] = named(f"time_{kind}", solution.t, f"time, {kind} step", "s")
            arrays[f"value_{method}_{kind}"] = named(
                f"time_{kind} component", quantity(solution), f"{name}, {method}, {kind} step", unit
            )
    return arrays


def drawn_toss(data: Data, ylabel: str, symbol: str) -> Figure:
    """Draws NMB to the left, SW to the right: the coarse step as marks, the fine one as lines, a colour a component."""
    figure, axes = panels(1, 2, width=12.0, height=4.8, sharey=True)
    for ax, method in zip(axes[0], ("NMB", "SW"), strict=True):
        for k in range(3):
            for kind, h, line in zip(("coarse", "fine"), data["step"], ("o", "-"), strict=True):
                ax.plot(
                    data[f"t_{kind}"], data[f"value_{method}_{kind}"][:, k], line, color=COLOURS[k], markersize=3,
                    linewidth=1.1, label=f"${symbol}_{k + 1}$, step {h:g}",
                )  # fmt: skip
        labelled(ax, "time (s)", ylabel if ax is axes[0, 0] else "", method, legend=False)
    legend_beside(axes[0, 1])
    return figure
