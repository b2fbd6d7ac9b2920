"""Moving pictures: a box with the moments of the body turns, with the trail of one corner; as GIF or MP4."""

from __future__ import annotations

import math
import tempfile
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # type: ignore[import-untyped]

from polhode._arrays import lengths, to_space
from polhode.io.atomic import AnyPath, whole_file
from polhode.views.page_data import attitudes, upright

if TYPE_CHECKING:
    from polhode._arrays import Floats
    from polhode.views.page_data import Run

COLOURS = ("#4477aa", "#ee6677", "#ccbb44")
ENDINGS = (".gif", ".mp4")

MOST_TURN = 0.35
"""How far the body turns between two frames, at most, in rad: with more it would seem to jump, or to turn backwards."""

MOST_FRAMES = 3000

TRAIL = 0.8
"""How long the trail of the corner stays, in seconds of the film."""


def animate(run: Run, path: AnyPath, *, is_span_given: bool, seconds: float, fps: int, overwrite: bool) -> Path:
    """Writes the film of a motion in the format that the ending of its name says; it appears whole or not at all."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"a moving picture is saved as .gif or .mp4, which {str(path)!r} does not end in")
    frames = round(seconds * fps) if seconds > 0.0 and fps > 0 and math.isfinite(seconds * fps) else 0
    if not 2 <= frames <= MOST_FRAMES:
        raise ValueError(f"a moving picture has 2 to {MOST_FRAMES} frames, not seconds={seconds:g} at fps={fps:g}")
    writer = _writer(ending, fps)
    figure, draw = _scene(run, _times(run, frames, is_span_given), fps)
    with tempfile.TemporaryDirectory(prefix="polhode-") as folder:
        made = Path(folder) / f"film{ending}"
        with writer.saving(figure, str(made), dpi=figure.dpi):
            for k in range(frames):
                draw(k)
                writer.grab_frame()
        with whole_file(path, overwrite=overwrite) as file:
            file.write(made.read_bytes())
    return Path(path)


def _writer(ending: str, fps: int) -> Any:
    from matplotlib.animation import FFMpegWriter, PillowWriter

    if ending == ".gif":
        return PillowWriter(fps=fps)
    if not FFMpegWriter.isAvailable():
        raise RuntimeError(
            "an MP4 is made by the program ffmpeg, which is not found: install it, or save a .gif instead"
        )
    return FFMpegWriter(fps=fps, codec="h264", extra_args=["-pix_fmt", "yuv420p"])  # what all players take


def _times(run: Run, frames: int, is_span_given: bool) -> Floats:
    """Returns the times of the frames: of the whole span, or of its first part, if the body would seem to jump."""
    first, last = run.span
    span = last - first
    fastest = float(lengths(run.rows.omega).max())
    if not is_span_given and fastest * span > MOST_TURN * frames:
        span = MOST_TURN * frames / fastest
    return np.asarray(first + span * np.arange(frames) / frames)


def _scene(run: Run, t: Floats, fps: int) -> tuple[Figure, Any]:
    """Returns a figure and what draws a frame in it."""
    q = attitudes(run, t)
    turn = upright(run)
    columns = [to_space(turn[None, :], to_space(q, axis[None, :])) for axis in np.eye(3)]
    matrices = np.stack(columns, axis=2)
    moments = run.body.moments
    half = np.sqrt(np.maximum(moments.sum() / 2.0 - moments, 0.01 * moments.max()))
    sides, colours = _faces(half)
    sides = [side @ run.body.axes.T for side in sides]
    corner = matrices @ (run.body.axes @ half)
    figure = Figure(figsize=(3.6, 3.2), dpi=80)
    FigureCanvasAgg(figure)
    axes: Any = figure.add_axes((-0.1, -0.1, 1.2, 1.2), projection="3d")
    box = Poly3DCollection(sides, facecolors=colours, edgecolors="0.2", linewidths=0.6)
    axes.add_collection3d(box)
    (trail,) = axes.plot([], [], [], color="0.4", lw=0.8)
    axes.set_axis_off()
    reach = 1.05 * float(np.sqrt(half @ half))
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), zlim=(-reach, reach))
    axes.set_box_aspect((1, 1, 1))
    clock = figure.text(0.03, 0.03, "", fontsize=9, color="0.3")
    digits = max(0, 1 - math.floor(math.log10(max(t[-1] - t[0], 1e-300) / t.size * 10.0)))

    def draw(k: int) -> None:
        box.set_verts([side @ matrices[k].T for side in sides])
        trail.set_data_3d(*corner[max(0, k - round(TRAIL * fps)) : k + 1].T)
        clock.set_text(f"{t[k]:.{min(digits, 12)}f} s")

    return figure, draw


def _faces(half: Floats) -> tuple[list[Floats], list[str]]:
    """Returns the six faces of a box, opposite ones in one colour."""
    found, colours = [], []
    for axis, sign in product(range(3), (-1, 1)):
        first, second = (axis + 1) % 3, (axis + 2) % 3
        corners = np.zeros((4, 3))
        corners[:, axis] = sign * half[axis]
        corners[:, first] = half[first] * np.array([-1, 1, 1, -1])
        corners[:, second] = half[second] * np.array([-1, -1, 1, 1])
        found.append(corners)
        colours.append(COLOURS[axis])
    return found, colours
