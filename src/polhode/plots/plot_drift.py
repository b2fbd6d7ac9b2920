"""The picture of a drift: momentum, energy, the kind of motion, and the pole over time."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

from polhode.plots.plot import AXES, BLACK, BLUE, VERMILION, blank, finish_panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from polhode.averages.result import Drift

CURVE_POINTS = 1000
DAY, YEAR = 86_400.0, 365.25 * 86_400.0
EVENT_STYLES = {
    "separatrix": (VERMILION, "-"), "limit": (VERMILION, "--"), "axis": (BLUE, ":"), "resonance": ("0.6", ":"),
}  # fmt: skip


def draw(d: Drift) -> Figure:
    """Draws a drift, and the ways on from the separatrix if there are any, the less likely ones thinner."""
    figure = blank(9, 7.8, textwrap.fill(str(d), 85))
    panels = figure.subplots(3, 1, sharex=True)
    extent = max(abs(x.path.t[-1] - d.path.t[0]) for x in (d, *(b.drift for b in d.branches)))
    unit, name = next(((u, n) for u, n in ((YEAR, "years"), (DAY, "days")) if extent >= u), (1.0, "s"))
    G0, T0 = d.asked.scale[0], d.asked.scale[3]
    middle = float(np.sort(d.body.moments)[1])
    for part, weight in ((d, 1.0), *((b.drift, b.probability) for b in d.branches)):
        t = np.linspace(part.path.t[0], part.path.t[-1], CURVE_POINTS)
        z = part.path.at(t)
        G = np.linalg.norm(z[:, :3], axis=1)
        width = 0.8 + 1.2 * weight
        first = part is d
        panels[0].plot(t / unit, G / G0, color=BLACK, linewidth=width, label="|L|" if first else None)
        panels[0].plot(t / unit, z[:, 3] / T0, color=VERMILION, linewidth=width, label="T" if first else None)
        panels[1].plot(t / unit, G * G / (2.0 * z[:, 3]), color=BLACK, linewidth=width, label="mean" if first else None)
        for axis, (color, _) in enumerate(AXES):
            label = "XYZ"[axis] if first else None
            panels[2].plot(t / unit, z[:, axis] / G, color=color, linewidth=width, label=label)
        for event in part.events:
            color, style = EVENT_STYLES[event.kind]
            for panel in panels:
                panel.axvline(event.t / unit, color=color, linestyle=style, linewidth=1.0)
    for moment in d.body.moments:
        style = "-" if moment == middle else ":"
        panels[1].axhline(moment, color="0.5", linewidth=1.0, linestyle=style)
    panels[1].plot([], [], color="0.5", linewidth=1.0, label="separatrix")
    for panel, label, legend in zip(
        panels, ("over the start", "G² / 2T (kg m²)", "pole"), ("mean", "moment", "space axis"), strict=True
    ):  # fmt: skip
        finish_panel(panel, label, legend)
    panels[-1].set_xlabel(f"time ({name})", fontsize=13)
    return figure
