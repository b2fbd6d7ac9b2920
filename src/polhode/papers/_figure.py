"""Pictures in one style: readable at half size, in colours that everybody can tell apart."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00", "#7F7F7F")
"""Okabe and Ito's colours, without the yellow, which is hard to see on white paper."""
MARKERS = ("o", "s", "^", "D", "v", "x", "+", "*")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))


def panels(
    rows: int = 1, columns: int = 1, *, width: float | None = None, height: float | None = None, **kw: Any
) -> tuple[Figure, Any]:
    """A figure with panels; `axes` is an array of shape (rows, columns)."""
    figure = Figure(figsize=(width or 5.2 * columns, height or 3.8 * rows), layout="constrained", dpi=110)
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, **kw)


def style(k: int, *, marked: bool = True) -> dict[str, Any]:
    """The look of curve number k: colour, dashes and marker all differ."""
    look = {"color": COLOURS[k % 8], "linestyle": DASHES[k % 8], "linewidth": 1.6}
    return look | ({"marker": MARKERS[k % 8], "markersize": 5.5} if marked else {})


def loglog(axes: Axes, x: Any, curves: dict[str, Any], xlabel: str, ylabel: str, *, slopes: Sequence[int] = ()) -> None:
    """Draws errors against steps or cost, a curve for each method, and dotted guides of these slopes."""
    for k, (name, y) in enumerate(curves.items()):
        xs = x[name] if isinstance(x, dict) else x
        axes.loglog(xs, np.where(np.asarray(y) > 0, y, np.nan), label=name, **style(k))
    for order in slopes:
        xs = np.array(axes.get_xlim())
        low = axes.get_ylim()[0]
        axes.loglog(xs, 3 * low * (xs / xs[0]) ** order, color="0.6", linewidth=0.8, linestyle=":", zorder=0)
    labelled(axes, xlabel, ylabel)


def labelled(axes: Axes, xlabel: str, ylabel: str, title: str = "", *, legend: bool = True) -> None:
    """Adds labels, a light grid, and a legend where it covers least, or outside if there are many curves."""
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    if title:
        axes.set_title(title, fontsize=10)
    axes.grid(visible=True, which="major", linewidth=0.4, alpha=0.5)
    count = len(axes.get_legend_handles_labels()[1])
    if legend and count > 4:
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, frameon=False)
    elif legend and count:
        axes.legend(fontsize=8, framealpha=0.85)


def ticks_at(axes: Axes, steps: Any) -> None:
    """Puts ticks at the steps alone, where there is less than a decade of them."""
    axes.set_xticks(steps, [f"{h:g}" for h in steps])
    axes.set_xticks([], minor=True)


def thinned(*arrays: Any, most: int = 4000) -> tuple[Any, ...]:
    """Evenly spaced rows, no more than a picture can show. Do not use it for curves whose extremes matter."""
    stride = max(1, len(arrays[0]) // most)
    return tuple(np.asarray(a)[::stride] for a in arrays)
