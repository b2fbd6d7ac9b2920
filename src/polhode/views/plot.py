"""The picture of a solution: rates, errors and attitude over time.

Drawn without pyplot, so that nothing is left behind in a global state, and neither a display nor a notebook is needed.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from polhode._arrays import Floats, apply_by_blocks, to_space
from polhode.attitudes import AttitudeQuantity
from polhode.io.atomic import AnyPath, whole_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from polhode.solution import Solution

BUCKETS = 1500
"""Stretches of a long curve, each drawn by its least and its greatest value: more than pixels can show."""

FLOOR = 1e-17
"""Errors below this are drawn here: zero has no logarithm, and one unit in the last place is 1e-16."""

EPSILON = float(np.finfo(np.float64).eps)

FORMATS = ("png", "svg", "pdf")

# Okabe and Ito's colours, which people with any kind of colour vision can tell apart.
BLUE, VERMILION, GREEN, PURPLE, BLACK = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000"
Style = tuple[str, float]
"""Colour and line width. Widths differ so that curves which coincide can both be seen."""
AXES: tuple[Style, ...] = ((BLUE, 2.6), (VERMILION, 1.9), (GREEN, 1.2))
CARRIED: tuple[Style, ...] = tuple(
    (color, 1.5) for color in (BLUE, VERMILION, GREEN, PURPLE, BLACK, "#E69F00", "#56B4E9", "#F0E442")
)
"""The styles of numbers that a torque carries; further ones are not drawn."""
ERRORS: dict[str, Style] = {
    "energy": (BLACK, 1.2),
    "energy in turning axes": (BLACK, 1.2),
    "momentum norm": (VERMILION, 2.6),
    "spatial momentum": (BLUE, 1.2),
    "axial momentum": (BLUE, 1.2),
    "quaternion norm": (PURPLE, 1.2),
}


class Picture(Figure):
    """Is a figure that shows itself in a notebook."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()


def draw(solution: Solution, quantities: Sequence[AttitudeQuantity] = ()) -> Figure:
    """Draws three panels over time, one for carried numbers if there are some, and one for each quantity besides."""
    more = len(quantities) + bool(solution.state_names)
    figure = Picture(figsize=(9, 8.5 + 2.6 * more), dpi=100, layout="constrained")
    FigureCanvasAgg(figure)
    rates, errors, attitude, *others = panels = figure.subplots(3 + more, 1, sharex=True)
    figure.suptitle(_title(solution), fontsize=13, parse_math=False)
    t = solution.t
    _curves(rates, t, dict(zip("xyz", solution.body.rate(solution.momentum).T, strict=True)), AXES)
    finish_panel(rates, "angular rate (rad/s)", "body axis")

    shown = dict(solution.invariant_errors)
    if len(shown) > 1 and shown["quaternion norm"].max(initial=0.0) < 8 * EPSILON:
        del shown["quaternion norm"]  # no error, so nothing to draw
    clipped = {name: np.maximum(error, FLOOR) for name, error in shown.items()}
    errors.set_yscale("log")
    _curves(errors, t, clipped, [ERRORS[name] for name in clipped])
    errors.axhline(EPSILON, color="0.5", linewidth=1.2, linestyle=":", zorder=1, label="machine epsilon")
    errors.set_ylim(FLOOR / 2, max(errors.get_ylim()[1], 100 * EPSILON))
    finish_panel(errors, "relative error", "change of")

    axis, direction = _pointing(solution)
    _curves(attitude, t, dict(zip("XYZ", direction.T, strict=True)), AXES)
    attitude.set_ylim(-1.08, 1.08)
    finish_panel(attitude, f"direction of body axis {axis}", "space axis")
    if solution.state_names:
        carried = others.pop(0)
        names = solution.state_names[: len(CARRIED)]
        _curves(carried, t, dict(zip(names, solution.state.T, strict=False)), CARRIED[: len(names)])
        finish_panel(carried, "carried numbers", _shortened(solution.torque.name))
    for panel, quantity in zip(others, quantities, strict=True):
        _curves(panel, t, quantity.curves(solution), AXES[: len(quantity.labels) or 1])
        finish_panel(panel, f"{quantity.kind.replace('_', ' ')} ({quantity.attributes['units']})", str(quantity))
    panels[-1].set_xlabel("time (s)", fontsize=13)
    if t.size == 0:
        for panel in panels:
            panel.text(0.5, 0.5, "no output", transform=panel.transAxes, ha="center", va="center", fontsize=13)
    return figure


def save(figure: Figure, path: AnyPath, *, overwrite: bool = True) -> None:
    """Writes the picture in the format that the ending of its name says; the file appears whole or not at all."""
    ending = Path(path).suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise ValueError(f"a picture is saved as .png, .svg or .pdf, which {str(path)!r} does not end in")
    with whole_file(path, overwrite=overwrite) as file:
        figure.savefig(file, format=ending, dpi=150)


def thinned(y: Floats, buckets: int = BUCKETS) -> NDArray[np.intp]:
    """Returns indices that show the curve y as well as all do: in each stretch the least, the greatest and the ends."""
    if y.size <= 4 * buckets:
        return np.arange(y.size)
    size = -(-y.size // buckets)
    starts = np.arange(0, y.size, size)
    padded = np.full((starts.size, size), np.nan)
    padded.reshape(-1)[: y.size] = y
    bad = np.isnan(padded)  # NaN is neither least nor greatest
    least = starts + np.where(bad, np.inf, padded).argmin(axis=1)
    greatest = starts + np.where(bad, -np.inf, padded).argmax(axis=1)
    return np.unique(np.concatenate([starts, least, greatest, np.minimum(starts + size, y.size) - 1]))


def _curves(panel: Axes, t: Floats, curves: dict[str, Floats], styles: Sequence[Style]) -> None:
    marker = "." if t.size < 40 else ""
    for (name, y), (color, width) in zip(curves.items(), styles, strict=True):
        shown = thinned(y)
        alpha = 0.65 if shown.size < t.size else 1.0  # fast oscillations of a long run become bands, which overlap
        panel.plot(t[shown], y[shown], color=color, linewidth=width, alpha=alpha, marker=marker, label=name)


def finish_panel(panel: Axes, label: str, legend: str) -> None:
    """Labels a panel, and puts its legend beside it."""
    panel.set_ylabel(label, fontsize=13)
    panel.tick_params(labelsize=12)
    panel.grid(color="0.9")
    panel.set_axisbelow(True)
    beside = panel.legend(
        title=legend,
        alignment="left",
        loc="upper left",
        bbox_to_anchor=(1.0, 1.03),
        frameon=False,
        fontsize=12,
        title_fontsize=12,
    )
    for line in beside.get_lines():
        line.set(linewidth=3.0, alpha=1.0, marker="")


def _shortened(name: str, most: int = 22) -> str:
    """Returns a name that fits over a legend."""
    return name if len(name) <= most else f"{name[: most - 3]}..."


def _pointing(solution: Solution) -> tuple[str, Floats]:
    """Returns the body axis nearest to the initial momentum, and where it points in space.

    The body spins about this axis; where it points changes slowly, and shows how the body wobbles, precesses or flips.
    """
    sizes = np.abs(solution.problem.momentum_start)
    axis = 2 - int(sizes[::-1].argmax())  # the last of equal ones: z for a body at rest
    unit = np.eye(3)[axis : axis + 1]
    return "xyz"[axis], apply_by_blocks(lambda q: to_space(q, unit), solution.quaternion)


def _title(solution: Solution) -> str:
    moments = ", ".join(f"{x:.4g}" for x in solution.body.moments)
    body = f"{solution.body.name or 'body'} ({moments}) kg m²"
    return textwrap.fill(f"{body}, {solution.torque.name}, {solution.method}, step {solution.step:g} s", 85)
