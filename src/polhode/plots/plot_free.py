"""The picture of a free motion: the polhode on the inertia ellipsoid, the herpolhode in the invariable plane.

Poinsot: the ellipsoid of all rates with the same energy rolls without slipping on a fixed plane. The point of contact
is the angular velocity; it draws the polhode on the ellipsoid and the herpolhode on the plane.
"""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from matplotlib.colors import LightSource
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d import Axes3D  # type: ignore[import-untyped]

from polhode.plots.plot import BLACK, BLUE, VERMILION, blank, body_in_words
from polhode.support.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from polhode.free.free_motion import FreeMotion
    from polhode.free.gyrostat_motion import GyrostatMotion

NEIGHBOURS = 5
"""Thin polhodes on either side of the separatrix, for orientation."""
VIEW = (22.0, 38.0)  # elevation and azimuth in degrees
LIGHT = LightSource(azdeg=90.0 - VIEW[1] - 25.0, altdeg=55.0)


def draw(motion: FreeMotion) -> Figure:
    """Draws two panels side by side."""
    body = motion._bodies[0]
    named = {"separatrix": "on the separatrix", "steady": "steady rotation"}
    how = named.get(motion.mode, f"{motion.mode} mode, period {motion.period:.6g} s")
    title = f"{body_in_words(body)}, {how}"
    figure = blank(12, 6.2, textwrap.fill(title, 100))
    grid = figure.add_gridspec(1, 2, width_ratios=(1.08, 1.0))
    solid = figure.add_subplot(grid[0], projection="3d")
    assert isinstance(solid, Axes3D)
    _ellipsoid(solid, motion)
    _plane(figure.add_subplot(grid[1]), motion)
    return figure


def _ellipsoid(panel: Axes3D, motion: FreeMotion) -> None:
    body = motion._bodies[0]
    semi = np.sqrt(2.0 * motion.kinetic_energy / body.moments)
    panel.set_title("polhode on the inertia ellipsoid", fontsize=13)
    panel.set_proj_type("ortho")
    panel.view_init(*VIEW)
    if semi.max() > 0.0:
        theta, phi = np.meshgrid(np.linspace(0, math.pi, 61), np.linspace(0, 2 * math.pi, 121))
        sphere = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], axis=-1)
        x, y, z = np.moveaxis((sphere * semi) @ body.axes.T, -1, 0)
        panel.plot_surface(x, y, z, color="#dfe9f3", alpha=0.8, linewidth=0, shade=True, lightsource=LIGHT, zorder=0)
        if body.has_rotor:
            for curve in _neighbours(cast("GyrostatMotion", motion)):
                _on_surface(panel, curve, body.tensor, color="0.6", linewidth=0.7)
        else:
            for curve, style in _family(body.moments, motion.kinetic_energy):
                _on_surface(panel, curve @ body.axes.T, body.tensor, **style)
        _axes(panel, body.axes, semi)
        _on_surface(panel, motion.polhode(600), body.tensor, color=VERMILION, linewidth=2.6, label="polhode")
        start = motion.omega
        panel.plot(*start[:, None], "o", color=BLACK, markersize=6, zorder=20, label="start")
        panel.legend(loc="upper left", bbox_to_anchor=(-0.02, 1.0), frameon=False, fontsize=12)
    else:
        panel.text(0, 0, 0, "at rest", ha="center", fontsize=13)
    reach = float(semi.max()) or 1.0
    panel.set(xlim=(-reach, reach), ylim=(-reach, reach), zlim=(-reach, reach))
    panel.set_box_aspect((1, 1, 1), zoom=0.95)
    for name, label in zip("xyz", (panel.set_xlabel, panel.set_ylabel, panel.set_zlabel), strict=True):
        label(f"ω{name} (rad/s)", fontsize=12)
    for axis in (panel.xaxis, panel.yaxis, panel.zaxis):
        axis.set_pane_color((1, 1, 1, 0))
        axis.set_major_locator(MaxNLocator(5))
    panel.tick_params(labelsize=10)
    panel.grid(False)


def _family(moments: Floats, energy: float) -> list[tuple[Floats, dict[str, Any]]]:
    """Other polhodes of the same energy, and the separatrix, in principal axes."""
    least, middle, greatest = np.argsort(moments, kind="stable")
    angle = np.linspace(0.0, 2.0 * math.pi, 400)
    unit = 2.0 * energy * moments  # squared momenta of a spin about each axis
    levels: list[tuple[float, dict[str, Any]]] = [
        (unit[middle], {"color": "0.25", "linewidth": 1.2, "linestyle": "--"})
    ]
    for inner in (unit[least], unit[greatest]):
        if inner != unit[middle]:
            for f in (np.arange(NEIGHBOURS) + 0.5) / NEIGHBOURS:
                level = unit[middle] + (inner - unit[middle]) * f**1.5
                levels.append((level, {"color": "0.6", "linewidth": 0.7}))
    curves: list[tuple[Floats, dict[str, Any]]] = []
    for level, style in levels:
        circled, other = (greatest, least) if level >= unit[middle] else (least, greatest)
        for side in (1.0, -1.0):
            curve = _level(moments, energy, level, (other, middle, circled), angle)
            if curve is not None:
                curve[:, circled] *= side
                curves.append((curve, style | {"label": "separatrix"} if "linestyle" in style and side > 0 else style))
    return curves


def _neighbours(motion: GyrostatMotion) -> Floats:
    """Other polhodes of the same energy of a body with a rotor, in the user's axes."""
    body = motion._bodies[0]
    semi = np.sqrt(2.0 * motion.kinetic_energy / body.moments)
    angle = (np.arange(2 * NEIGHBOURS) + 0.5) * (math.pi / NEIGHBOURS)
    starts = []
    for i, j in ((0, 1), (1, 2), (2, 0)):
        w = np.zeros((angle.size, 3))
        w[:, i], w[:, j] = semi[i] * np.cos(angle), semi[j] * np.sin(angle)
        starts.append(w @ body.axes.T)
    return motion.polhodes_from(np.concatenate(starts), 200)


def _level(m: Floats, energy: float, level: float, axes: tuple[Any, Any, Any], angle: Floats) -> Floats | None:
    """The rates with this energy and squared momentum, about the last of the three axes."""
    i, j, k = axes
    if m[k] == m[i] or m[k] == m[j]:
        return None
    rest = (2.0 * energy * m[k] - level) / (m[k] - np.array([m[i], m[j]]))  # I_i w_i^2 where w_j = 0, and vice versa
    curve = np.zeros((angle.size, 3))
    curve[:, i] = np.sqrt(max(rest[0], 0.0) / m[i]) * np.cos(angle)
    curve[:, j] = np.sqrt(max(rest[1], 0.0) / m[j]) * np.sin(angle)
    left = 2.0 * energy - m[i] * curve[:, i] ** 2 - m[j] * curve[:, j] ** 2
    curve[:, k] = np.sqrt(np.maximum(left, 0.0) / m[k])
    return curve


def _on_surface(panel: Axes3D, curve: Floats, tensor: Floats, label: str | None = None, **style: Any) -> None:
    """Draws a curve on the ellipsoid: strong where it faces the viewer, faint where it lies behind."""
    elevation, azimuth = np.radians(VIEW)
    viewer = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
    front = (curve @ tensor) @ viewer >= 0.0  # I w is normal to the ellipsoid
    joined = front | np.roll(front, 1) | np.roll(front, -1)
    behind = np.where(front[:, None], np.nan, curve)
    ahead = np.where(joined[:, None], curve, np.nan)
    panel.plot(*behind.T, **(style | {"alpha": 0.28, "zorder": 1}))
    panel.plot(*ahead.T, **(style | {"zorder": 10}), label=label)


def _axes(panel: Axes3D, axes: Floats, semi: Floats) -> None:
    """Draws the principal axes, named by their numbers."""
    for i in range(3):
        tip = axes[:, i] * semi[i]
        end = axes[:, i] * (semi[i] + 0.14 * semi.max())
        panel.plot(*np.stack([tip, end], axis=1), color="0.35", linewidth=1.1, zorder=12)
        panel.text(
            *(axes[:, i] * (semi[i] + 0.24 * semi.max())), str(i + 1), fontsize=12, color="0.2", ha="center", zorder=13
        )


def _plane(panel: Axes, motion: FreeMotion) -> None:
    rotor = motion._bodies[0].has_rotor  # then the herpolhode is no curve in a plane
    title = "herpolhode, seen along the angular momentum" if rotor else "herpolhode in the invariable plane"
    panel.set_title(title, fontsize=13)
    momentum = motion.angular_momentum
    size = float(np.sqrt(momentum @ momentum))
    if size > 0.0:
        first, second = _across(momentum / size)
        spin = motion._column("spin")[0, 0]
        t, part = _shown_times(motion, spin)
        if part:
            panel.set_title(f"{title},\n{part}", fontsize=13)
        curve = motion.herpolhode(t=t)
        points = np.stack([curve @ first, curve @ second], axis=1)
        panel.plot(*points.T, color=BLUE, linewidth=1.1, alpha=0.85, label="herpolhode")
        if t[0] == motion.t0:
            panel.plot(*points[0], "o", color=BLACK, markersize=6, label="start")
        _bounds(panel, motion, size)
        reach = 1.1 * max(float(np.abs(points).max()), 1e-3 * float(np.abs(motion.omega).max()))
        panel.set(xlim=(-reach, reach), ylim=(-reach, reach))
        panel.plot(0, 0, "+", color="0.3", markersize=10, label="angular momentum")
        panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=4, frameon=False, fontsize=12)
    panel.set_aspect("equal")
    panel.xaxis.set_major_locator(MaxNLocator(7))
    panel.yaxis.set_major_locator(MaxNLocator(7))
    panel.set_xlabel("ω across the angular momentum (rad/s)", fontsize=12)
    panel.tick_params(labelsize=11)
    panel.grid(color="0.92")
    panel.set_axisbelow(True)


MOST_TURNS = 16.0
"""Turns of the herpolhode that are drawn: more fill the ring between its bounds, in which nothing is seen then."""


def _shown_times(motion: FreeMotion, spin: float) -> tuple[Floats, str]:
    """The times of the herpolhode that is drawn, and in words which part this is, if not ten periods.

    If a single period has too many turns to distinguish, those around the first flip are drawn: there the
    curve goes from one bound to the other and back.
    """
    turn = 2.0 * math.pi / spin
    turns = 10.0 * motion.period / turn if math.isfinite(motion.period) else 10.0
    shown = min(turns, MOST_TURNS)
    first, part = motion.t0, ""
    if shown < turns:
        flip = float(motion.flip_times(1)[0])
        if motion.period > shown * turn and flip - motion.t0 > 0.5 * shown * turn:
            first = flip - 0.5 * shown * turn
            part = f"{shown:.0f} turns around the flip at {flip:.6g} s"
        else:
            part = f"the first {shown:.0f} turns"
    return np.linspace(first, first + shown * turn, max(1000, math.ceil(90 * shown))), part


def _bounds(panel: Axes, motion: FreeMotion, size: float) -> None:
    """Draws the two circles between which the herpolhode runs."""
    w = motion.polhode(721)
    along = 2.0 * motion.kinetic_energy / size
    if motion._bodies[0].has_rotor:
        along = (w * motion._bodies[0].momentum(w)).sum(axis=1) / size
    radii = np.sqrt(np.maximum((w * w).sum(axis=1) - along**2, 0.0))
    angle = np.linspace(0.0, 2.0 * math.pi, 361)
    for radius, label in ((radii.min(), "bounds"), (radii.max(), None)):
        panel.plot(
            radius * np.cos(angle), radius * np.sin(angle), color="0.45", linestyle=":", linewidth=1.3, label=label
        )


def _across(axis: Floats) -> tuple[Floats, Floats]:
    """Two directions that form a right-handed frame with the axis."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    first = np.cross(helper, axis)
    first /= np.sqrt(first @ first)
    return first, np.cross(axis, first)
