"""The picture of a comparison: error against cost, and errors over time at about equal cost."""

from __future__ import annotations

import math
import statistics
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import LogLocator, NullFormatter

from polhode.kernels.types import Depends
from polhode.plots.plot import BLACK, BLUE, GREEN, PURPLE, VERMILION, blank, body_in_words
from polhode.support.thinning import FLOOR, thinned

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from polhode.api.compare import Comparison, Entry

# Okabe and Ito's colours again; where they repeat, markers and dashes differ.
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, BLACK, "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
DASHES = ("-", "--", ":", "-.")


def draw(comparison: Comparison) -> Figure:
    """Draws two panels of error against cost above one of errors over time, with one legend for all."""
    figure = blank(10, 9.5, _title(comparison))
    axes = figure.subplot_mosaic([["time", "work"], ["history", "history"]])
    axes["work"].sharey(axes["time"])
    unit = "steps" if comparison.torque.depends is Depends.NOTHING else "evaluations"
    styles: dict[str, dict[str, Any]] = {
        name: {"color": COLOURS[k % 7], "marker": MARKERS[k % 9], "linestyle": DASHES[k // 7 % 4], "linewidth": 1.4}
        for k, name in enumerate(comparison.methods)
    }
    shown = {entry.method: entry for entry in equal_cost(comparison, unit)}
    for panel, cost in (("time", "seconds"), ("work", unit)):
        _against_cost(axes[panel], comparison, cost, styles)
    _finish(axes["time"], "time of a run (ms)", "largest attitude error (rad)")
    _finish(axes["work"], "steps" if unit == "steps" else "evaluations of the torque", "")
    axes["work"].tick_params(labelleft=False)
    _history(axes["history"], comparison, list(shown.values()), styles)
    handles, labels = axes["time"].get_legend_handles_labels()
    words = [_label(shown[name], unit) if name in shown else name for name in labels]
    columns = 2 if max(map(len, words)) < 55 else 1
    figure.legend(handles, words, loc="outside lower center", ncols=columns, frameon=False, fontsize=11)
    return figure


def _label(entry: Entry, unit: str) -> str:
    return f"{entry.method}; over time: {entry.setting}, {getattr(entry, unit)} {unit}"


def _against_cost(panel: Axes, comparison: Comparison, cost: str, styles: dict[str, dict[str, Any]]) -> None:
    scale = 1e3 if cost == "seconds" else 1.0
    costs = []
    for name, entries in comparison.methods.items():
        shown = [e for e in entries if not e.failure and getattr(e, cost) > 0]
        x = [scale * getattr(e, cost) for e in shown]
        panel.plot(x, [max(e.worst[0], FLOOR) for e in shown], **styles[name], label=name, markersize=6)
        costs += x
    panel.set(xscale="log", yscale="log")
    _uncertainty(panel, comparison)
    if costs and max(costs) < 300 * min(costs):  # powers of ten alone would be too few ticks
        panel.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        panel.xaxis.set_major_formatter("{x:g}")
        panel.xaxis.set_minor_formatter(NullFormatter())


def _history(
    panel: Axes, comparison: Comparison, chosen: list[Entry], styles: dict[str, dict[str, Any]]
) -> None:  # fmt: skip
    """Draws the energy error over time where energy is conserved, else the attitude error."""
    conserved = any(e.energy_error is not None for e in chosen)
    for entry in chosen:
        errors = entry.energy_error if conserved else entry.attitude_error
        if errors is not None:
            y = np.maximum(errors, FLOOR)
            shown = thinned(y)
            panel.plot(comparison.t[shown], y[shown], **{**styles[entry.method], "marker": ""})
    panel.set_yscale("log")
    panel.set_title("over time: of each method the run whose cost is nearest to the middle", fontsize=12)
    _finish(panel, "time (s)", "relative energy error" if conserved else "attitude error (rad)")


def equal_cost(comparison: Comparison, unit: str) -> list[Entry]:
    """Returns, for each method, the finished run whose cost is nearest to the median of all."""
    finished = {
        name: [e for e in entries if not e.failure and getattr(e, unit) > 0]
        for name, entries in comparison.methods.items()
    }
    costs = [math.log(getattr(e, unit)) for entries in finished.values() for e in entries]
    if not costs:
        return []
    middle = statistics.median(costs)
    return [
        min(entries, key=lambda e: abs(math.log(getattr(e, unit)) - middle)) for entries in finished.values() if entries
    ]


def _uncertainty(panel: Axes, comparison: Comparison) -> None:
    level = max(comparison.reference.attitude_uncertainty, FLOOR)
    if math.isfinite(level):
        panel.axhspan(FLOOR / 10, level, color="0.9", zorder=0, label="uncertainty of the reference")
        worst = [e.worst[0] for e in comparison.entries if e.worst[0] > 0]
        panel.set_ylim(min([level, *worst]) / 3, max([level, *worst]) * 3)


def _finish(panel: Axes, x: str, y: str) -> None:
    panel.set_xlabel(x, fontsize=12)
    panel.set_ylabel(y, fontsize=12)
    panel.tick_params(labelsize=11)
    panel.grid(color="0.9", which="major")
    panel.set_axisbelow(True)


def _title(comparison: Comparison) -> str:
    t0, t1 = comparison.t_span
    words = f"{body_in_words(comparison.body)}, {comparison.torque.name}, from {t0:g} to {t1:g} s"
    return textwrap.fill(": ".join(filter(None, [comparison.title, words])), 85)
