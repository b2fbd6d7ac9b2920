"""The picture of a solution: rates, errors and attitude over time.

Drawn without pyplot, so that threads do not meet in a global state, and neither a display nor a notebook is needed.
What is drawn becomes known to pyplot at the end, if the user works with it (`finished`).
"""

from __future__ import annotations

import dataclasses
import io
import itertools
import sys
import textwrap
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.attitudes import AttitudeQuantity
from polhode.files.atomic import AnyPath, whole_file
from polhode.support.arrays import Floats, apply_by_blocks, lengths, to_space
from polhode.support.extras import missing
from polhode.support.interrupts import attempted
from polhode.support.thinning import FLOOR, thinned
from polhode.text.terminal import long_unit

try:
    from matplotlib import rcParams
    from matplotlib.backends.backend_agg import FigureCanvasAgg as FigureCanvasAgg
    from matplotlib.figure import Figure as Figure
    from matplotlib.ticker import AutoLocator
except ModuleNotFoundError as problem:
    raise missing(problem, "pictures need") from None

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from polhode.body import Body
    from polhode.solution import Solution
    from polhode.systems.solution import SystemSolution

EPSILON = float(np.finfo(np.float64).eps)

FORMATS = ("png", "svg", "pdf")

# Okabe and Ito's colours, which people with any kind of colour vision can tell apart.
BLUE, VERMILION, GREEN, PURPLE, BLACK = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000"
WIDTH = 1.6
"""The width of curves, in points."""
Style = tuple[str, float]
"""Colour and line width."""
AXES: tuple[Style, ...] = tuple((color, WIDTH) for color in (BLUE, VERMILION, GREEN))
CARRIED: tuple[Style, ...] = tuple(
    (color, WIDTH) for color in (BLUE, VERMILION, GREEN, PURPLE, BLACK, "#E69F00", "#56B4E9", "#F0E442")
)
"""The styles of numbers that a torque carries; further ones are not drawn."""
ERRORS: dict[str, Style] = {
    "energy": (BLACK, WIDTH),
    "energy in turning axes": (BLACK, WIDTH),
    "momentum norm": (VERMILION, WIDTH),
    "spatial momentum": (BLUE, WIDTH),
    "axial momentum": (BLUE, WIDTH),
    "quaternion norm": (PURPLE, WIDTH),
}


class Picture(Figure):
    """Is a figure that shows itself in a notebook, once, although both the notebook and pyplot would show it."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()

    def _ipython_display_(self) -> None:
        from IPython.display import Image, display
        from matplotlib import get_backend

        is_open = self in _open_figures().values()
        is_below_cell = "inline" in get_backend()
        if is_open and not is_below_cell and not _is_backend("NON_INTERACTIVE"):
            return  # it has a window
        display(Image(self._repr_png_()))  # type: ignore[no-untyped-call]
        if is_open and is_below_cell:
            sys.modules["matplotlib.pyplot"].close(self)  # or it would be shown again at the end of the cell


def blank(width: float, height: float, title: str, **options: Any) -> Picture:
    """An empty picture with a title, which is text and no formula; sizes are in inches."""
    figure = Picture(figsize=(width, height), dpi=100, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=13, parse_math=False, **options)
    return figure


def stacked(
    count: int, title: str, *, each: float = 2.6, margin: float = 0.7, least: int = 2, **options: Any
) -> tuple[Picture, Any]:  # fmt: skip
    """A picture with panels over a common time axis, each of this height in inches, and the panels.

    There is room for `least` panels, also if there are fewer.
    """
    figure = blank(9, margin + each * max(count, least), title, **options)
    axes = figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0]
    axes[-1].set_xlabel("time (s)", fontsize=13)
    return figure, axes


class _InUnits(AutoLocator):
    """Round numbers of a unit."""

    def __init__(self, unit: float) -> None:
        super().__init__()
        self.unit = unit

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Where the ticks are, in s."""
        return self.unit * np.asarray(super().tick_values(vmin / self.unit, vmax / self.unit))


def label_time(ax: Axes) -> None:
    """Labels the axis of times in s, hours or days; what is drawn stays in s."""
    low, high = ax.get_xlim()
    unit, name = long_unit(high - low)
    if unit > 1.0:
        ax.xaxis.set_major_locator(_InUnits(unit))
        ax.xaxis.set_major_formatter(lambda x, _: f"{x / unit:g}")
    ax.xaxis.label.set_text(f"time ({name})")


@dataclass(frozen=True, eq=False)
class Panel:
    """Curves over time that share an axis."""

    label: str
    """Label of the axis, with the unit."""
    legend: str
    curves: dict[str, Floats]
    styles: Sequence[Style] = AXES
    is_error: bool = False
    """Whether the curves are relative errors, drawn on a logarithmic axis."""
    limits: tuple[float, float] | None = None
    is_rate: bool = False
    """Whether the curves are components of a rate, of which small ones shall be seen beside large ones."""
    period: float | None = None
    """The period of angles that wrap: curves have a gap at each wrap."""
    constants: Sequence[tuple[str, str]] = ()
    """Components that do not change, which the legend names with their value: colours and words."""


UNITS = {"degree": "°", "rad s-1": "rad/s", "kg m2 s-1": "kg m²/s", "kg m2": "kg m²", "s-1": "1/s", "m s-1": "m/s"}
"""Units of files as pictures write them."""

VECTORS = {
    "omega": ("angular rate", "rad/s", "body axis", "xyz"),
    "spatial_omega": ("angular rate", "rad/s", "space axis", "XYZ"),
    "momentum": ("angular momentum", "kg m²/s", "body axis", "xyz"),
    "spatial_momentum": ("angular momentum", "kg m²/s", "space axis", "XYZ"),
}
"""The vectors that have a panel: what they are, their unit, in which axes, and the names of those."""
NUMBERS = {"kinetic_energy": "kinetic energy (J)", "potential_energy": "potential energy (J)", "energy": "energy (J)"}
"""The single numbers that have a panel."""
ERRORS_OF = {
    "errors": tuple(ERRORS),
    "energy_error": ("energy", "energy in turning axes"),
    "momentum_error": ("spatial momentum", "axial momentum"),
}
"""The panels of errors, with what they show."""
NAMES = (*VECTORS, *NUMBERS, *ERRORS_OF, "torque", "attitude", "state", "euler")
"""The panels that have names, besides quantities of attitudes such as `euler_deg(ZYX)`."""


def panel_of(name: str | AttitudeQuantity, s: Solution, *, degrees: bool = False) -> Panel:
    """The panel of this name, of the motion in these rows."""
    if isinstance(name, str) and name.lower() not in NAMES:
        try:
            name = AttitudeQuantity.read(name)
        except ValueError as problem:
            if "(" in str(name):
                raise
            raise ValueError(
                f"there is no quantity {name!r} to draw: known are {', '.join(NAMES)}, and those of attitudes, such as "
                "'pointing_angle_deg(z, [0, 0, 1])'"
            ) from problem
    if name == "euler":
        name = AttitudeQuantity.read("euler_deg(ZYX)" if degrees else "euler(ZYX)")
    if isinstance(name, AttitudeQuantity):
        unit = name.attributes["units"]
        what = {"euler": "Euler angle", "mrp": "Rodrigues parameter"}.get(name.kind, "angle")
        words = {"euler": "axes in turn", "mrp": "body axis"}.get(name.kind, str(name).partition("(")[2].rstrip(")"))
        return Panel(
            f"{what} ({UNITS.get(unit, unit)})" if unit != "1" else what,
            words,
            name.curves(s),
            AXES[: len(name.labels) or 1],
            period={"degree": 360.0, "rad": 2.0 * np.pi}.get(unit) if name.kind == "euler" else None,
        )
    name = name.lower()
    if name in VECTORS or name == "torque":
        what, unit, axes, letters = VECTORS.get(name, ("torque", "N m", "body axis", "xyz"))
        values = s.torque_of() if name == "torque" else s.omega if name == "omega" else getattr(s, name)
        if degrees and unit == "rad/s":
            values, unit = np.degrees(values), "°/s"
        return Panel(
            f"{what} ({unit})", axes, dict(zip(letters, values.T, strict=True)), is_rate=name.endswith("omega")
        )
    if name in NUMBERS:
        if name != "kinetic_energy" and not s._has_potential:
            raise ValueError(f"there is no {name.replace('_', ' ')} to draw: {s.torque.name} has no potential")
        return Panel(NUMBERS[name], "", {name.replace("_", " "): getattr(s, name)}, AXES[:1])
    if name in ERRORS_OF:
        return _errors(name, s)
    if name == "state":
        if not s.state_names:
            raise ValueError(f"there is no state to draw: {s.torque.name} carries no numbers")
        named = dict(zip(s.state_names[: len(CARRIED)], s.state.T, strict=False))
        return Panel("carried numbers", _shortened(s.torque.name), named, CARRIED[: len(named)])
    axis, direction = _pointing(s)
    named = dict(zip("XYZ", direction.T, strict=True))
    return Panel(f"direction of body axis {axis}", "space axis", named, limits=(-1.08, 1.08))


def _errors(name: str, s: Solution) -> Panel:
    found = s.invariant_errors
    shown = {k: found[k] for k in ERRORS_OF[name] if k in found and not np.isnan(found[k]).all()}
    if name == "errors" and found["quaternion norm"].max(initial=0.0) < 8 * EPSILON:
        shown.pop("quaternion norm", None)  # no error, so nothing to draw
    if not shown and name != "errors":
        raise ValueError(f"there is no {name} to draw: under {s.torque.name} conserved are {', '.join(found)}")
    clipped = {k: np.maximum(error, FLOOR) for k, error in shown.items()}
    return Panel("relative error", "change of", clipped, [ERRORS[k] for k in clipped], is_error=True)


SMALL, NOISE = 20.0, 1e-12
"""A component that is this many times smaller than the next larger one would be a flat line beside it, and has a panel
of its own; one below the second part of the largest is round-off, and has none."""


def by_size(panel: Panel) -> list[Panel]:
    """The panel, or several, each with components of about one size, the largest first."""
    peaks = {name: float(np.abs(y[np.isfinite(y)]).max(initial=0.0)) for name, y in panel.curves.items()}
    falling = sorted(peaks, key=lambda name: -peaks[name])
    groups = [[falling[0]]]
    for before, name in itertools.pairwise(falling):
        is_small = SMALL * peaks[name] < peaks[before] and peaks[name] > NOISE * peaks[falling[0]]
        groups += [[name]] if is_small else []
        groups[-1] += [] if is_small else [name]
    if len(groups) == 1:
        return [panel]
    styles = dict(zip(panel.curves, panel.styles, strict=True))
    still = [g for g in groups if _around([panel.curves[name] for name in g], share=CONSTANT) is not None]
    groups = [g for g in groups if g not in still] or groups[:1]
    unit = panel.label.partition("(")[2].rstrip(")")
    gone = [n for n in panel.curves if not any(n in g for g in groups)]
    constants = [(styles[n][0], f"{n}: {np.nanmean(panel.curves[n]):.4g} {unit}") for n in gone]
    return [
        dataclasses.replace(
            panel,
            label=panel.label if k == 0 else f"{panel.label}\nsmall components",
            curves={name: y for name, y in panel.curves.items() if name in group},
            styles=[styles[name] for name in panel.curves if name in group],
            limits=_around([panel.curves[name] for name in group]),
            constants=constants if k == 0 else (),
        )
        for k, group in enumerate(groups)
    ]


CONSTANT = 1e-6
"""Components that change by less than this part of their size are constant, and have no panel of their own."""


def _around(curves: list[Floats], share: float = 0.02) -> tuple[float, float] | None:
    """Limits around curves that hardly change, which would else be drawn as if they did; None: they change."""
    low, high = min(float(np.nanmin(y)) for y in curves), max(float(np.nanmax(y)) for y in curves)
    margin = share * max(abs(low), abs(high))
    return (low - margin, high + margin) if high - low < margin else None


COARSE_TURN, FINE_TURN = 0.25, 0.1
"""Rows between which the body turns further than the first, in rad, are joined by the true motion, in parts in which it
turns by the second: straight lines would show."""
MOST_FINE = 20_000
"""Rows of the true motion that are computed for a picture, at most."""


def between_rows(s: Solution) -> Solution:
    """The motion with rows near enough to join them by lines, or as it is, if they are or cannot be had."""
    t = s.t
    if t.size < 2 or t.size > MOST_FINE or s.torque_changed:
        return s
    speed = lengths(s.omega)
    turns = np.abs(np.diff(t)) * np.maximum(speed[1:], speed[:-1])
    if not turns.max() > COARSE_TURN or turns.sum() > FINE_TURN * MOST_FINE:
        return s
    parts = np.maximum(np.ceil(turns / FINE_TURN), 1.0).astype(np.intp)
    times = np.concatenate([np.linspace(a, b, n, endpoint=False) for a, b, n in zip(t[:-1], t[1:], parts, strict=True)])
    # A file keeps no function, and a function may raise anything: then rows are joined by lines.
    return attempted(lambda: s.at(np.append(times, t[-1])), s)


MOST_MARKS = 60
"""Marks of one event in a picture: more would cover it."""


def draw(
    solution: Solution, quantities: Sequence[AttitudeQuantity] = (), what: Sequence[str] = (), *, degrees: bool = False
) -> Figure:  # fmt: skip
    """Draws a panel over time for each of the quantities; by default rates, errors, attitude and carried numbers."""
    motion = between_rows(solution)
    if what:
        made = [panel_of(name, motion, degrees=degrees) for name in what]
    else:
        made = [panel_of(name, motion, degrees=degrees) for name in ("omega", "errors", "attitude")]
        if not made[1].curves:
            del made[1]  # nothing is conserved
        made += _carried(motion)
    made = [one for panel in made for one in (by_size(panel) if panel.is_rate else [panel])]
    made += [panel_of(q, motion) for q in quantities]
    figure, axes = stacked(len(made), titled(solution))
    caption = f"{solution.method.partition('(')[0]}, {solution.steps_in_words}"
    figure.text(0.995, 0.004, caption, color="0.45", ha="right", fontsize=9, parse_math=False)
    for ax, panel in zip(axes, made, strict=True):
        fill(ax, motion.t, panel)
        _mark(ax, solution, motion, panel)
        finish_panel(ax, panel.label, panel.legend)
    if solution.t.size == 0:
        for ax in axes:
            ax.text(0.5, 0.5, "no output", transform=ax.transAxes, ha="center", va="center", fontsize=13)
    label_time(axes[-1])
    return figure


def draw_on(ax: Axes, solution: Solution, name: str, *, degrees: bool = False) -> None:
    """Draws one quantity on axes of the user's, which may hold others: colours go on from theirs."""
    motion = between_rows(solution)
    panel = panel_of(name, motion, degrees=degrees)
    free = dataclasses.replace(panel, styles=[("", 1.6)] * len(panel.curves))
    fill(ax, motion.t, free, of=solution.method.split("(", 1)[0])
    label_time(ax)
    ax.set_ylabel(panel.label)
    ax.legend()


def fill(ax: Axes, t: Floats, panel: Panel, of: str = "") -> None:
    """Draws the curves of a panel, and makes its axis; names of curves can say what they are `of`."""
    if panel.is_error:
        ax.set_yscale("log")
        ax.set_autoscaley_on(True)  # the limits that were set for another motion do not bind this one
    named = {f"{of} {name}".strip(): y for name, y in panel.curves.items()}
    _curves(ax, t, named, panel.styles, panel.period)
    for color, words in panel.constants:
        ax.plot([], [], color=color, linewidth=WIDTH, label=words)
    if panel.is_error:
        ax.axhline(EPSILON, color="0.5", linewidth=1.2, linestyle=":", zorder=1, label="machine epsilon")
        ax.set_ylim(FLOOR / 2, max(ax.get_ylim()[1], 100 * EPSILON))
    if panel.limits is not None:
        ax.set_ylim(*panel.limits)


def _mark(ax: Axes, solution: Solution, motion: Solution, panel: Panel) -> None:
    """Marks events, and the few rows that there are between which the true motion was drawn."""
    if motion is not solution and solution.t.size < 60:
        place = np.searchsorted(np.abs(motion.t - motion.t[0]), np.abs(solution.t - motion.t[0]))
        for line, y in zip(ax.get_lines(), panel.curves.values(), strict=False):
            ax.plot(solution.t, y[place], ".", color=line.get_color(), label="_rows")
    mark_events(ax, solution.events)


def mark_events(ax: Axes, events: Sequence[Solution | SystemSolution]) -> None:
    """Marks the times of events."""
    for k, event in enumerate(events):
        name, style = str(event.metadata.get("event", f"event {k}")), DASHES[k % len(DASHES)]
        for n, t in enumerate(event.t[:MOST_MARKS].tolist()):
            ax.axvline(
                t, color="0.45", linewidth=0.9, linestyle=style, zorder=0, label=_shortened(name) if n == 0 else "_"
            )


DASHES = ("--", ":", "-.")
"""Line styles of the marks of events, one for each event."""


def is_path(given: object) -> bool:
    """Whether this is the name of a file rather than that of a quantity."""
    return not isinstance(given, str) or (bool(Path(given).suffix) and "(" not in given)


def save(figure: Figure, path: AnyPath, *, overwrite: bool = True) -> None:
    """Writes the picture in the format that the ending of its name says; the file appears whole or not at all."""
    ending = Path(path).suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise ValueError(f"a picture is saved as .png, .svg or .pdf, which {str(path)!r} does not end in")
    with whole_file(path, overwrite=overwrite) as file:
        figure.savefig(file, format=ending, dpi=150)


def path_first(what: Sequence[Any], path: AnyPath | None) -> tuple[AnyPath | None, list[Any]]:
    """The path of a picture, which may stand before what is drawn, and what is drawn."""
    if what and path is None and not callable(what[0]) and is_path(what[0]):
        return what[0], list(what[1:])
    return path, list(what)


def finished(figure: Figure, *given: AnyPath | None) -> Figure:
    """Saves a picture at the given paths; without one, makes it known to pyplot, so that `plt.show()` shows it.

    Pyplot is told only if the user works with it, that is, has imported it or sits in a notebook, and only from the
    main thread, because its list of figures is no place for others. Where no windows are opened, pictures that were
    followed by many others are taken from that list again, so that loops need not close them.
    """
    paths = [path for path in given if path is not None]
    for path in paths:
        save(figure, path)
    if paths or threading.current_thread() is not threading.main_thread() or not _uses_pyplot():
        return figure
    import matplotlib.pyplot as plt

    if not _is_backend("INTERACTIVE"):
        most = int(rcParams["figure.max_open_warning"]) or 20
        known = _open_figures()
        mine = [number for number, one in known.items() if isinstance(one, Picture)]
        for number in mine[: max(len(known) - most + 1, 0)]:
            plt.close(number)
    plt.figure(FigureClass=lambda *_, **__: figure)  # type: ignore[arg-type]
    return figure


def _uses_pyplot() -> bool:
    from polhode.page.display import in_notebook

    return "matplotlib.pyplot" in sys.modules or in_notebook()


def _open_figures() -> dict[int, Figure]:
    """The figures that pyplot knows, by number, and leaves the current one what it is."""
    plt: Any = sys.modules.get("matplotlib.pyplot")
    if plt is None or not plt.get_fignums():
        return {}
    current = plt.gcf()
    found = {number: plt.figure(number) for number in plt.get_fignums()}
    plt.figure(current)
    return found


def _is_backend(kind: str) -> bool:
    """Whether Matplotlib's backend is one of its own of this kind: INTERACTIVE ones open windows, NON_INTERACTIVE ones
    show nothing. That of Jupyter is neither: it shows figures below their cell, and closes them.
    """
    from matplotlib import get_backend
    from matplotlib.backends.registry import BackendFilter, backend_registry

    own: list[str] = backend_registry.list_builtin(BackendFilter[kind])  # type: ignore[no-untyped-call]
    return get_backend().lower() in own


def _curves(
    panel: Axes, t: Floats, curves: dict[str, Floats], styles: Sequence[Style], period: float | None = None
) -> None:  # fmt: skip
    marker = "." if t.size < 40 else ""
    for (name, y), (color, width) in zip(curves.items(), styles, strict=True):
        shown = thinned(y)
        alpha = 0.65 if shown.size < t.size else 1.0  # fast oscillations of a long run become bands, which overlap
        x, drawn = t[shown], y[shown]
        if period is not None:
            jumps = np.flatnonzero(np.abs(np.diff(drawn)) > 0.5 * period) + 1
            x, drawn = np.insert(x, jumps, np.nan), np.insert(drawn, jumps, np.nan)
        panel.plot(x, drawn, color=color or None, linewidth=width, alpha=alpha, marker=marker, label=name)


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
    """A name that fits over a legend."""
    return name if len(name) <= most else f"{name[: most - 3]}..."


def _pointing(solution: Solution) -> tuple[str, Floats]:
    """The body axis nearest to the initial momentum, or another if that stays, and where it points in space.

    The body spins about this axis; where it points changes slowly, and shows how the body wobbles, precesses or flips.
    """
    sizes = np.abs(solution.problem.momentum_start)
    spin = 2 - int(sizes[::-1].argmax())  # the last of equal ones: z for a body at rest
    for axis in (spin, (spin + 1) % 3):
        unit = np.eye(3)[axis : axis + 1]
        found = apply_by_blocks(lambda q, unit=unit: to_space(q, unit), solution.quaternion)
        if found.size and np.ptp(found, axis=0).max() > STAYS:
            break
    return "xyz"[axis], found


STAYS = 0.05
"""An axis whose direction cosines change by less than this stays where it is: the body turns about it."""


def _carried(s: Solution) -> list[Panel]:
    """The panels of what the torque carries: the torque that a sampled law holds, without its counter."""
    held = [name for name in s.state_names if name.endswith(("torque_x", "torque_y", "torque_z"))]
    if not s.state_names:
        return []
    if len(held) != 3 or not any(name.endswith("sample") for name in s.state_names):
        return [panel_of("state", s)]
    curves = {name[-1]: s.state[:, s.state_names.index(name)] for name in held}
    others = {n: y for n, y in zip(s.state_names, s.state.T, strict=True) if n not in held and not n.endswith("sample")}
    made = [Panel("torque (N m)", "body axis", curves)]
    named = dict(list(others.items())[: len(CARRIED)])
    return made + ([Panel("carried numbers", _shortened(s.torque.name), named, CARRIED[: len(named)])] if named else [])


def titled(solution: Solution) -> str:
    """The title of a picture: what the user named, or body and torque."""
    if title := solution.metadata.get("title"):
        return textwrap.fill(str(title), 85)
    acting = "no torque" if not solution.torque.depends else solution.torque.name
    return textwrap.fill(f"{body_in_words(solution.body)}, {acting}", 85)


def body_in_words(body: Body) -> str:
    """The body with its moments in the order in which the user gave them."""
    own = np.abs(body.axes).argmax(axis=1)  # the principal axis that is nearest to each of the user's
    order = own if len(set(own.tolist())) == 3 else np.arange(3)
    rotor = f" and rotor {', '.join(f'{x:.4g}' for x in body.rotor)} kg m²/s" if body.has_rotor else ""
    return f"{body.name or 'Body'} with moments {', '.join(f'{x:.4g}' for x in body.moments[order])} kg m²{rotor}"
