"""The picture and the page of a verdict: errors beside what rounding allows, and drifts over time."""

from __future__ import annotations

import base64
import html
import io
from typing import TYPE_CHECKING

import numpy as np

from polhode.page.html import policy
from polhode.plots.plot import BLACK, BLUE, GREEN, PURPLE, VERMILION, blank, finish_panel
from polhode.support.thinning import FLOOR, thinned

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from polhode.referee.verdict import Verdict
    from polhode.support.arrays import Floats

COLOURS = {"energy": BLACK, "momentum": BLUE, "|q|": PURPLE}


def draw(verdict: Verdict) -> Figure:
    """Draws errors over time above drifts over time."""
    figure = blank(9, 7.5, _title(verdict))
    errors, drifts = figure.subplots(2, 1, sharex=True)
    e = verdict.error
    for name, error, limit, colour in (
        ("attitude (rad)", e.attitude, e.attitude_limit, BLUE),
        ("rate (relative to the largest)", e.rate, e.rate_limit, VERMILION),
    ):
        if error is not None:
            _curve(errors, e.t, error, name, colour, "-")
            _curve(errors, e.t, limit, f"what rounding allows: {name.split(' ')[0]}", colour, ":")
    errors.set_yscale("log")
    finish_panel(errors, "error", "")
    for name, drift in verdict.drift.items():
        _curve(drifts, drift.t, np.abs(drift.values), f"{name}: {drift.kind}", COLOURS.get(name, GREEN), "-")
    drifts.set_yscale("log")
    drifts.set_xlabel("time (s)", fontsize=12)
    finish_panel(drifts, "relative drift", "")
    return figure


def _curve(panel: Axes, t: Floats, values: Floats, label: str, colour: str, style: str) -> None:
    y = np.maximum(values[1:], FLOOR)  # in the first row there is no error
    shown = thinned(y)
    panel.plot(t[1:][shown], y[shown], style, color=colour, label=label, linewidth=1.4)


def _title(verdict: Verdict) -> str:
    return f"{verdict.source.rpartition('/')[2]}: {verdict.head}"


def page(verdict: Verdict) -> str:
    """A page of HTML with the verdict and its picture, which needs no other file."""
    buffer = io.BytesIO()
    draw(verdict).savefig(buffer, format="png")
    picture = base64.b64encode(buffer.getvalue()).decode()
    title = html.escape(_title(verdict))
    style = (
        "body{font:15px/1.45 sans-serif;max-width:900px;margin:2em auto;padding:0 1em}pre{font-size:13px;"
        "white-space:pre-wrap}img{width:100%}@media print{body{margin:0}img{max-height:55vh;object-fit:contain}}"
        f"h1{{font-size:20px;color:{'#00573f' if verdict.agrees else '#8a3300'}}}"
    )
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">{policy("", style)}<title>{title}</title>'
        f"<style>{style}</style></head><body><h1>{title}</h1>"
        f"<p>{html.escape(verdict.problem)}</p><pre>{html.escape(str(verdict))}</pre>"
        f'<img alt="errors and drifts over time" src="data:image/png;base64,{picture}"></body></html>\n'
    )
