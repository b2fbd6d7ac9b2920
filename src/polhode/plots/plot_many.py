"""The picture of many bodies, or of reductions of them: medians and bands over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from polhode.plots.plot import (
    AXES,
    BLACK,
    CARRIED,
    PURPLE,
    UNITS,
    Panel,
    fill,
    finish_panel,
    label_time,
    mark_events,
    stacked,
)
from polhode.support.arrays import Floats, to_space
from polhode.support.thinning import FLOOR

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from polhode.systems.solution import SystemSolution

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""The quantiles over bodies that are drawn: a wide band, a narrow band and the median."""
MOST_PANELS = 6
"""More would be too small to be read."""
MOST_CURVES = 10
"""Most curves in a panel: there are so many distinct colours and styles."""
MOST_TIMES = 2000
"""Times that are drawn; of more, every second, third ... is taken: more than pixels can show."""
OF_BODIES = ("omega", "kinetic_energy", "direction")
"""Quantities that are drawn of bodies without reductions."""
COLORS = (*(color for color, _ in AXES), PURPLE, BLACK)
LETTERS = {"component": "xyz", "quaternion_component": "wxyz", "space_component": "XYZ"}


class Drawable(NamedTuple):
    """A variable as tables and files have it."""

    dimensions: tuple[str, ...]
    data: Any
    attributes: Mapping[str, Any]


class Curve(NamedTuple):
    """One curve, or a median with its bands: rows of quantiles over time."""

    label: str
    quantiles: Floats


def draw(
    table: Mapping[str, Drawable], title: str, named: Sequence[str] = (), levels: Sequence[float] = LEVELS,
    ax: Axes | None = None,
) -> Figure | None:  # fmt: skip
    """Draws what the table holds over time, or what is `named` of it, a panel for each, or a single one on `ax`.

    Returns None if it holds nothing over time.
    """
    reduced = "status" not in table or table["status"].dimensions != ("body",)
    if not reduced and {"quaternion", "momentum"} <= table.keys():
        table = {**table, "direction": _direction(table["quaternion"].data, table["momentum"].data)}
    names = list(named) or [n for n in (table if reduced else OF_BODIES) if n in table and _is_over_time(n, table[n])]
    t = np.asarray(table["time"].data) if "time" in table else np.zeros(0)
    if not names or t.size == 0:
        return None
    if ax is not None:
        _panel(ax, t, names[0], table[names[0]], table, levels)
        label_time(ax)
        return cast("Figure", ax.figure)
    names, left_out = names[:MOST_PANELS], len(names) - MOST_PANELS
    more = f"; {left_out} more are not drawn" if left_out > 0 else ""
    figure, panels = stacked(len(names), f"{title}{more}", margin=1.2, least=1, wrap=True)
    for panel, name in zip(panels, names, strict=True):
        _panel(panel, t, name, table[name], table, levels)
    label_time(panels[-1])
    return figure


SYSTEM_PANELS = ("energies", "temperature", "errors")
"""Default panels of a system; any quantity of its table can be named as well, such as positions."""


def draw_system(s: SystemSolution, table: Mapping[str, Any], what: Sequence[str]) -> Figure:
    """Draws quantities of a system over time, those of many bodies as medians and bands; the table has them by name."""
    names = what or [name for name in SYSTEM_PANELS if name != "errors" or s.invariant_errors]
    for name in names:
        if name not in SYSTEM_PANELS and not (name in table and _is_over_time(name, table[name])):
            known = ", ".join((*SYSTEM_PANELS, *(k for k in table if _is_over_time(k, table[k]))))
            raise ValueError(f"there is no quantity {name!r} of a system to draw: known are {known}")
    figure, axes = stacked(len(names), f"{len(s.system)} bodies, {s.forces.name}", wrap=True)
    for ax, name in zip(axes, names, strict=True):
        mark_events(ax, s.events)
        if name in SYSTEM_PANELS:
            panel = _system_panel(s, name)
            fill(ax, s.t, panel)
            finish_panel(ax, panel.label, panel.legend)
        else:
            _panel(ax, s.t, name, table[name], table)
    label_time(axes[-1])
    return figure


def _system_panel(s: SystemSolution, name: str) -> Panel:
    if name == "temperature":
        return Panel("kT of the motion (J)", "", {"temperature": s.temperature}, AXES[:1])
    if name == "energies":
        found = {"flight": s.translational_energy, "rotation": s.rotational_energy}
        if s.has_potential:
            found |= {"potential": s.potential_energy, "total": s.energy}
        return Panel("energy (J)", "", found, CARRIED[: len(found)])
    errors = {k: np.maximum(e, FLOOR) for k, e in s.invariant_errors.items()}
    return Panel("relative error", "change of", errors, CARRIED[: len(errors)], is_error=True)


def _direction(q: Floats, m: Floats) -> Drawable:
    """Where the body axis nearest to the momenta at the start points in space."""
    at_start = np.abs(m[:, :1]).reshape(-1, 3)
    sizes = np.median(at_start, axis=0) if len(at_start) else np.zeros(3)
    axis = 2 - int(np.nan_to_num(sizes[::-1]).argmax())
    with np.errstate(invalid="ignore"):  # failed bodies have no attitude
        direction = to_space(q, np.eye(3)[axis])
    about = {"label": f"direction of body axis {'xyz'[axis]}"}
    return Drawable(("body", "time", "space_component"), direction, about)


def _is_over_time(name: str, v: Drawable) -> bool:
    return name != "time" and "time" in v.dimensions and np.asarray(v.data).dtype.kind == "f"


def _panel(
    panel: Axes, t: Floats, name: str, v: Drawable, table: Mapping[str, Drawable], levels: Sequence[float] = LEVELS
) -> None:
    some = slice(None, None, -(-t.size // MOST_TIMES))
    legend = ""
    for k, curve in enumerate(islice(_curves(v, table, levels), MOST_CURVES)):
        color, dashed = COLORS[k % len(COLORS)], k >= len(COLORS)
        middle = len(curve.quantiles) // 2
        for i in range(middle):
            low, high = curve.quantiles[i, some], curve.quantiles[-1 - i, some]
            panel.fill_between(t[some], low, high, color=color, alpha=0.12 + 0.1 * i, linewidth=0)
        if middle:
            line = "median" if levels[middle] == 0.5 else f"quantile {levels[middle]:g}"
            widths = [f"{100.0 * (levels[-1 - i] - levels[i]):.4g} %" for i in reversed(range(middle))]
            legend = " and ".join([", ".join([line, *widths[:-1]]), widths[-1]])
        style = "--" if dashed else "-"
        median, shown = curve.quantiles[middle, some], curve.label or name.replace("_", " ")
        panel.plot(t[some], median, color=color, linestyle=style, linewidth=1.6, label=shown)
    units = UNITS.get(v.attributes.get("units", ""), v.attributes.get("units", ""))
    label = v.attributes.get("label", name.replace("_", " "))
    finish_panel(panel, f"{label} ({units})" if units not in ("", "1") else label, legend)


def _curves(v: Drawable, table: Mapping[str, Drawable], levels: Sequence[float]) -> Iterator[Curve]:
    """Yields the curves of a variable: one for each component and level, with bands if it has bodies."""
    data, dims = np.asarray(v.data), list(v.dimensions)
    order = [d for d in dims if d not in ("body", "time")]
    moved = np.moveaxis(data, [dims.index(d) for d in order], range(len(order)))
    left = [d for d in dims if d not in order]
    for index in np.ndindex(*moved.shape[: len(order)]):
        at = dict(zip(order, index, strict=True))
        if any(f"other_{d}" in at and i > at[f"other_{d}"] for d, i in at.items()):
            continue  # covariances are symmetric
        values = moved[index]
        label = " ".join(_label(d, i, table) for d, i in zip(order, index, strict=True))
        if "body" in left:
            values = values if left[0] == "body" else values.T
            yield Curve(label, _quantiles(values, levels))
        else:
            yield Curve(label, values[None, :])


def _quantiles(values: Floats, levels: Sequence[float]) -> Floats:
    """Quantiles over bodies (bodies, times); a body that has failed is left out from then on."""
    there = np.isfinite(values)
    known = np.where(there, values, np.inf)
    known.sort(axis=0)
    count = there.sum(axis=0)
    out = np.full((len(levels), values.shape[1]), np.nan)
    columns = np.flatnonzero(count)
    for k, level in enumerate(levels):
        place = level * (count[columns] - 1)
        low = np.floor(place).astype(int)
        high = np.minimum(low + 1, count[columns] - 1)
        a, b = known[low, columns], known[high, columns]
        out[k, columns] = a + (place - low) * (b - a)
    return out


def _label(dim: str, i: int, table: Mapping[str, Drawable]) -> str:
    letters = LETTERS.get(dim.removeprefix("other_"), "")
    if i < len(letters):
        return letters[i]
    if dim in table and np.asarray(table[dim].data).dtype.kind == "f":
        return f"{float(np.asarray(table[dim].data)[i]):g}"  # the level of a quantile
    return str(i)
