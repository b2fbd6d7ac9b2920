"""Base class of motions that can be shown turning: `animate` and `view` of solutions and of free motions."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polhode.page.content import Run, Span


class Turning(ABC):
    """A motion that can be shown turning."""

    @abstractmethod
    def _run(self, t_span: Span, name: str | None = None) -> Run:
        """The motion as pages and films take it."""

    def animate(
        self, path: str | os.PathLike[str], *, t_span: tuple[float, float] | None = None, seconds: float = 8.0,
        fps: int = 15, overwrite: bool = False,
    ) -> Path:  # fmt: skip
        """Writes a moving picture of the turning body, as GIF or MP4 by the ending of the name, and returns its place.

        It lasts `seconds`, in which the time goes through `t_span`. By default that is all times of a solution, and
        some periods of a free motion, or their first part if the body would turn so far between frames that it seemed
        to jump. MP4 needs ffmpeg.
        """
        from polhode.plots.plot_moving import animate

        run, given = self._run(t_span), t_span is not None
        return animate(run, path, is_span_given=given, seconds=seconds, fps=fps, overwrite=overwrite)

    def view(
        self, path: str | os.PathLike[str] | None = None, *, t_span: tuple[float, float] | None = None,
        name: str | None = None, title: str | None = None, mesh: Any = None, mesh_centre: Any = "volume",
        points: Any = None, pointing: Any = None,
    ) -> Any:  # fmt: skip
        """Shows the motion turning, with its curves: in a notebook as a widget, else in the browser.

        With a path the page is written there instead, as one HTML file that needs no network. `polhode.view` has the
        other arguments, and shows several motions side by side.
        """
        from polhode.page.display import made_page, shown

        about = {"title": title, "mesh": mesh, "mesh_centre": mesh_centre, "points": points, "pointing": pointing}
        return shown(made_page([self._run(t_span, name)], **about), path)
