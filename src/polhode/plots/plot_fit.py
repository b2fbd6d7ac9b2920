"""The picture of a fit: data and fitted motion over time, with residuals in standard deviations below."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from polhode.plots.plot import CARRIED, blank, body_in_words, finish_panel, label_time
from polhode.support.arrays import Floats, with_continuous_signs
from polhode.support.thinning import thinned

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from polhode.fitting.fit_result import Fit

CURVE_POINTS = 3000
"""Points of a fitted curve, which are enough for the width of a picture."""
MOST_MARKS = 4000
"""More data than this are drawn thinned: marks would cover each other."""


def draw(fit: Fit) -> Figure:
    """Draws two panels for rates, two for attitudes, as far as there are data."""
    kinds = [kind for kind in ("omega", "attitude", "y") if np.isfinite(fit.residuals[kind]).any()]
    heights = [ratio for _ in kinds for ratio in (2.0, 1.0)]
    figure = blank(9, 4.6 * len(kinds) + 0.6, textwrap.fill(_title(fit), 85))
    panels = np.atleast_1d(figure.subplots(2 * len(kinds), 1, sharex=True, height_ratios=heights))
    data = fit.data
    times = np.unique(np.concatenate([np.linspace(data.t[0], data.t[-1], CURVE_POINTS), data.t]))
    curve = fit.motion.at(times) if fit.torque is None or not fit.torque.depends else fit.solution.at(times)
    for kind, (above, below) in zip(kinds, panels.reshape(-1, 2), strict=True):
        if kind == "omega":
            _panel(above, data.t, data.omega, times, curve.omega, "xyz")
            finish_panel(above, "angular rate (rad/s)", "body axis")
            sigma = data.sigma_omega
        elif kind == "y":
            model, seen = data.y - fit.residuals["y"], data.has_y.any(axis=1)
            names = [str(k) for k in range(data.y.shape[1])] if data.y.shape[1] > 1 else ["observed"]
            _panel(above, data.t, data.y, data.t[seen], model[seen], names)
            finish_panel(above, "what was observed", "")
            sigma = data.sigma_y
        else:
            _panel(above, data.t, *_signed(data.quaternion, times, data.t, curve.quaternion), "xyz")
            finish_panel(above, "vector part of the attitude", "component")
            sigma = data.sigma_attitude
        assert sigma is not None
        for axis, (color, _) in enumerate(CARRIED[: sigma.shape[1]]):
            y = fit.residuals[kind][:, axis] / sigma[:, axis]
            below.plot(data.t, y, ".", color=color, markersize=3)
            below.plot([], [], color=color, label="xyz"[axis] if kind != "y" else names[axis])
        for level in (-2.0, 2.0):
            below.axhline(level, color="0.5", linewidth=1.0, linestyle=":")
        finish_panel(below, "residual / sigma", "body axis" if kind != "y" else "")
    panels[-1].set_xlabel("time (s)", fontsize=13)
    label_time(panels[-1])
    return figure


def _signed(measured: Floats, times: Floats, t: Floats, fitted: Floats) -> tuple[Floats, Floats, Floats]:
    """The vector parts of quaternions: of the data with the signs of the fit, whose signs are continuous."""
    smooth = with_continuous_signs(fitted)
    near = smooth[np.searchsorted(times, t)]
    sign = np.where(np.sum(near * measured, axis=1) < 0.0, -1.0, 1.0)
    return (measured * sign[:, None])[:, 1:], times, smooth[:, 1:]


def _panel(panel: Axes, t: Floats, measured: Floats, times: Floats, fitted: Floats, names: Sequence[str]) -> None:
    every = max(1, t.size // MOST_MARKS)
    for axis, (color, _) in enumerate(CARRIED[: len(names)]):
        panel.plot(t[::every], measured[::every, axis], ".", color=color, markersize=4, alpha=0.5)
        shown = thinned(fitted[:, axis])
        panel.plot(times[shown], fitted[shown, axis], color=color, linewidth=1.2, label=names[axis])


def _title(fit: Fit) -> str:
    acting = "no torque" if fit.torque is None or not fit.torque.depends else fit.torque.name
    return f"{body_in_words(fit.body)}, {acting}: reduced chi-square {fit.reduced_chi2:.3g}"
