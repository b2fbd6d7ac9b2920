"""Moving pictures: a box with the moments of the body turns, with the trail of one corner; as GIF or MP4."""

from __future__ import annotations

import math
import tempfile
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.files.atomic import AnyPath, whole_file
from polhode.page.content import attitudes, upright
from polhode.plots.plot import AXES, Figure, FigureCanvasAgg
from polhode.support.arrays import lengths, to_space

if TYPE_CHECKING:
    from polhode.page.content import BodyRun, Run
    from polhode.support.arrays import Floats

ENDINGS = (".gif", ".mp4")

MOST_TURN = 0.35
"""How far the body turns between two frames, at most, in rad: with more it would seem to jump, or to turn backwards."""
MOST_FRAMES = 3000

TRAIL, FINE = 0.8, 8
"""How long the trail of the corner stays, in seconds of the film, and how many points it has for each frame."""


def animate(run: Run, path: AnyPath, *, is_span_given: bool, seconds: float, fps: int, overwrite: bool) -> Path:
    """Writes the film of a motion in the format that the ending of its name says; it appears whole or not at all."""
    frames, writer = _checked(path, seconds, fps)
    return _filmed(_scene(run, _times(run, frames, is_span_given), fps), frames, writer, path, overwrite)


def animate_bodies(
    runs: list[BodyRun], mass: Floats, path: AnyPath, *, seconds: float, fps: int, overwrite: bool
) -> Path:  # fmt: skip
    """Writes the film of bodies that fly and turn: the whole span of their rows."""
    frames, writer = _checked(path, seconds, fps)
    first, last = runs[0].span
    scene = _scene_of_bodies(runs, mass, np.asarray(first + (last - first) * np.arange(frames) / frames))
    return _filmed(scene, frames, writer, path, overwrite)


def _checked(path: AnyPath, seconds: float, fps: int) -> tuple[int, Any]:
    """The number of frames, and what writes them."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"a moving picture is saved as .gif or .mp4, which {str(path)!r} does not end in")
    frames = round(seconds * fps) if seconds > 0.0 and fps > 0 and math.isfinite(seconds * fps) else 0
    if not 2 <= frames <= MOST_FRAMES:
        raise ValueError(f"a moving picture has 2 to {MOST_FRAMES} frames, not seconds={seconds:g} at fps={fps:g}")
    return frames, _writer(ending, fps)


def _filmed(scene: tuple[Figure, Any], frames: int, writer: Any, path: AnyPath, overwrite: bool) -> Path:
    figure, draw = scene
    with tempfile.TemporaryDirectory(prefix="polhode-") as folder:
        made = Path(folder) / f"film{Path(path).suffix.lower()}"
        with writer.saving(figure, str(made), dpi=figure.dpi):
            for k in range(frames):
                draw(k)
                writer.grab_frame()
        if made.suffix == ".gif":
            _repaint(made)
        with whole_file(path, overwrite=overwrite) as file:
            file.write(made.read_bytes())
    return Path(path)


PAINTS = 32
"""Colours of a GIF: faces, lines, and what lies between them at edges. With 256 it would be half as large again."""


def _repaint(film: Path) -> None:
    """Gives all frames of a GIF the same few colours."""
    from PIL import Image, ImageSequence

    with Image.open(film) as shown:
        timed = [(frame.convert("RGB"), frame.info["duration"]) for frame in ImageSequence.Iterator(shown)]
    frames, durations = zip(*timed, strict=True)  # a frame like the one before is not there: that lasts longer
    some = np.concatenate([np.asarray(frame) for frame in frames[:: max(1, len(frames) // 8)]])
    paints = Image.fromarray(some).quantize(PAINTS)
    near = np.reshape(paints.getpalette() or (), (-1, 3))
    near[(near > 240).all(axis=1)] = 255  # the ground is white
    paints.putpalette(near.ravel().tolist())
    first, *others = (frame.quantize(palette=paints, dither=Image.Dither.NONE) for frame in frames)
    first.save(film, save_all=True, append_images=others, duration=durations, loop=0, optimize=True)


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
    """The times of the frames: of the whole span, or of its first part, if the body would seem to jump."""
    first, last = run.span
    span = last - first
    fastest = float(lengths(run.rows.omega).max())
    if not is_span_given and fastest * span > MOST_TURN * frames:
        span = MOST_TURN * frames / fastest
    return np.asarray(first + span * np.arange(frames) / frames)


def _scene(run: Run, t: Floats, fps: int) -> tuple[Figure, Any]:
    """A figure and what draws a frame in it."""
    turn = upright(run)

    def turned(q: Floats, vector: Floats) -> Floats:
        return to_space(turn[None, :], to_space(q, vector[None, :]))

    q = attitudes(run, t)
    matrices = np.stack([turned(q, axis) for axis in np.eye(3)], axis=2)
    moments = run.body.moments
    half = np.sqrt(np.maximum(moments.sum() / 2.0 - moments, 0.01 * moments.max()))
    sides, colours = _faces(half)
    sides = [side @ run.body.axes.T for side in sides]
    fine = np.interp(np.arange(FINE * (t.size - 1) + 1) / FINE, np.arange(t.size), t)
    corner = turned(attitudes(run, fine), run.body.axes @ half)
    box = _polygons(sides, facecolors=colours, edgecolors="0.2", linewidths=0.6)
    figure, axes, tell = _stage(t, np.zeros(3), 1.05 * float(np.sqrt(half @ half)))
    axes.add_collection3d(box)
    (trail,) = axes.plot([], [], [], color="0.4", lw=1.2)

    def draw(k: int) -> None:
        box.set_verts([side @ matrices[k].T for side in sides])
        trail.set_data_3d(*corner[FINE * max(0, k - round(TRAIL * fps)) : FINE * k + 1].T)
        tell(k)

    return figure, draw


def _polygons(corners: Any, **look: Any) -> Any:
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # type: ignore[import-untyped]

    return Poly3DCollection(corners, **look)


def _stage(t: Floats, centre: Floats, reach: float) -> tuple[Figure, Any, Any]:
    """A figure, its axes in space around a centre, and what shows the time of a frame."""
    figure = Figure(figsize=(6.4, 6.4), dpi=100)
    FigureCanvasAgg(figure)
    axes: Any = figure.add_axes((-0.1, -0.1, 1.2, 1.2), projection="3d")
    axes.set_axis_off()
    x, y, z = ((float(c) - reach, float(c) + reach) for c in centre)
    axes.set(xlim=x, ylim=y, zlim=z)
    axes.set_box_aspect((1, 1, 1))
    clock = figure.text(0.03, 0.03, "", fontsize=13, color="0.3")
    digits = max(0, 1 - math.floor(math.log10(max(t[-1] - t[0], 1e-300) / t.size * 10.0)))

    def tell(k: int) -> None:
        clock.set_text(f"{t[k]:.{min(digits, 12)}f} s")

    return figure, axes, tell


def _scene_of_bodies(runs: list[BodyRun], mass: Floats, t: Floats) -> tuple[Figure, Any]:
    """A figure and what draws a frame of several bodies in it: boxes of their mass and moments."""
    corners: list[Floats] = []
    colours: list[str] = []
    for run, m in zip(runs, mass.tolist(), strict=True):
        moments = run.body.moments
        half = np.sqrt(np.maximum(1.5 * (moments.sum() - 2.0 * moments), 0.01 * moments.max()) / m)
        sides, shades = _faces(half)
        colours += shades
        points = np.concatenate(sides) @ run.body.axes.T
        q = run.states(t)[0]
        turned = np.stack([to_space(q, p[None, :]) for p in points], axis=1)
        corners.append(turned + run.place(t)[:, None])
    every = np.concatenate(corners, axis=1)
    low, high = every.min(axis=(0, 1)), every.max(axis=(0, 1))
    figure, axes, tell = _stage(t, 0.5 * (low + high), 0.5 * float((high - low).max()))
    boxes = _polygons(every[0].reshape(-1, 4, 3), facecolors=colours, edgecolors="0.2", linewidths=0.4)
    axes.add_collection3d(boxes)

    def draw(k: int) -> None:
        boxes.set_verts(every[k].reshape(-1, 4, 3))
        tell(k)

    return figure, draw


def _faces(half: Floats) -> tuple[list[Floats], list[str]]:
    """The six faces of a box, opposite ones in one colour."""
    found, colours = [], []
    for axis, sign in product(range(3), (-1, 1)):
        first, second = (axis + 1) % 3, (axis + 2) % 3
        corners = np.zeros((4, 3))
        corners[:, axis] = sign * half[axis]
        corners[:, first] = half[first] * np.array([-1, 1, 1, -1])
        corners[:, second] = half[second] * np.array([-1, -1, 1, 1])
        found.append(corners)
        colours.append(AXES[axis][0])
    return found, colours
