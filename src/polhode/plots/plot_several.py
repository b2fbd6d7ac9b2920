"""The picture of several motions over time: a panel for each component, a colour for each motion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from polhode.page.content import SolutionRun, attitudes, distinct
from polhode.plots import plot
from polhode.support.arrays import angles
from polhode.support.thinning import FLOOR

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from polhode.solution import Solution
    from polhode.support.arrays import Floats

COLOURS = [color for color, _ in plot.CARRIED[:7]]
"""Okabe and Ito's colours without the yellow; motions beyond them are refused."""
ANGLE = "difference"
"""The name of the panel with the angle between each motion and the first."""


def draw(
    solutions: Sequence[Solution], names: Sequence[str], what: Sequence[str], title: str, *, degrees: bool = False
) -> Figure:  # fmt: skip
    """Draws the quantities of all motions over time."""
    motions = [plot.between_rows(s) for s in solutions]
    rows: list[tuple[str, list[tuple[int, Floats, Floats]], plot.Panel | None]] = []
    for name in what:
        if name == ANGLE:
            rows.append(
                (f"angle from\n{names[0]} ({'°' if degrees else 'rad'})", _angles(solutions, motions, degrees), None)
            )
            continue
        panels = [plot.panel_of(name, motion, degrees=degrees) for motion in motions]
        components = list(dict.fromkeys(key for panel in panels for key in panel.curves))
        for key in components:
            label = panels[0].label if len(components) == 1 else f"{key}: {panels[0].label}"
            curves = [(k, motions[k].t, panel.curves[key]) for k, panel in enumerate(panels) if key in panel.curves]
            rows.append(("\n(".join(label.rsplit(" (", 1)), curves, panels[0]))
    figure, axes = plot.stacked(len(rows), title, each=1.9, margin=0.9)
    called = distinct(list(names))
    for ax, (label, curves, panel) in zip(axes, rows, strict=True):
        for k, t, y in curves:
            styles = [(COLOURS[k], plot.WIDTH)]
            one = plot.Panel(label, "", {called[k]: y}, styles)
            if panel is not None:
                one = plot.Panel(label, "", one.curves, styles, panel.is_error, panel.limits, period=panel.period)
            plot.fill(ax, t, one)
        if panel is None:
            ax.set_yscale("log")
        plot.finish_panel(ax, label, "")
        seen = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
        ax.get_legend().remove()
        if ax is axes[0]:
            figure.legend(seen.values(), seen.keys(), loc="outside lower center", ncols=4, frameon=False, fontsize=12)
    plot.label_time(axes[-1])
    return figure


def _angles(
    solutions: Sequence[Solution], motions: Sequence[Solution], degrees: bool
) -> list[tuple[int, Floats, Floats]]:
    """The angle from the first motion to each of the others, along both true motions, where both are."""
    runs = [SolutionRun(s) for s in solutions]
    found = []
    for k in range(1, len(runs)):
        first, last = (max(runs[0].span[0], runs[k].span[0]), min(runs[0].span[1], runs[k].span[1]))
        t = np.unique(np.concatenate([motions[0].t, motions[k].t]))
        t = t[(t >= first) & (t <= last)]
        t = t[1:]  # at the start there is no difference, and a logarithm of it would take the whole axis
        if t.size:
            apart = np.maximum(angles(attitudes(runs[0], t), attitudes(runs[k], t)), FLOOR)
            found.append((k, t, np.degrees(apart) if degrees else apart))
    return found
