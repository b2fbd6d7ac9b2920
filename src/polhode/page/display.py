"""Where a page is shown: as a widget in a notebook, else as a file in the browser.

The page is one file that needs nothing else, so a script can end and the page still works; only `polhode view` has a
server (`page/server.py`), for browsers that may not read files, or that run elsewhere.
"""

import base64
import html
import os
import sys
import tempfile
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from polhode.files.atomic import AnyPath, whole_file
from polhode.files.meshes import Mesh, read_mesh
from polhode.page.content import Run, page_data
from polhode.page.html import page_html

FRAME_PIXELS = 760
"""The height of the page in the output of a notebook without anywidget."""
FOLDER = "polhode-"
"""How the names of folders for pages begin that were opened without a name of their own."""


@dataclass(frozen=True, eq=False)
class Page:
    """A page that shows motions: `save` writes it as one HTML file, `open` shows it in the browser.

    The file needs neither a network nor an installation, and sends nothing anywhere.
    """

    data: dict[str, Any]
    """The data of the page."""

    @cached_property
    def html(self) -> str:
        """The whole file as a text."""
        return page_html(self.data)

    def save(self, path: AnyPath, *, overwrite: bool = False) -> Path:
        """Writes the page as an HTML file, which appears whole or not at all, and returns its place."""
        if Path(path).suffix.lower() not in (".html", ".htm"):
            raise ValueError(f"a page is saved as .html, which {os.fspath(path)!r} does not end in")
        text = self.html.encode()
        with whole_file(path, overwrite=overwrite) as file:
            file.write(text)
        return Path(path)

    def open(self) -> Path:
        """Writes the page to a folder of its own among the temporary files, and opens it in the browser."""
        text = self.html
        path = Path(tempfile.mkdtemp(prefix=FOLDER)) / "page.html"
        path.write_text(text, "utf-8", newline="\n")
        if not open_browser(path.as_uri()):
            print(f"no browser could be opened: open {path} yourself")
        return path

    def _repr_html_(self) -> str:
        """Shows the page in a notebook that has no widgets."""
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts" title="{html.escape(self.title)}" '
            f'style="width: 100%; height: {FRAME_PIXELS}px; border: 0"></iframe>'
        )

    @property
    def begin(self) -> float:
        """The earliest time that is shown, in s."""
        starts = [np.frombuffer(base64.b64decode(run["t"]), "<f8", 1)[0] for run in self.data["runs"]]
        return float(min(starts, default=0.0))

    @property
    def title(self) -> str:
        """The title of the page."""
        return str(self.data["title"])

    def __repr__(self) -> str:
        names = ", ".join(run["name"] for run in self.data["runs"])
        return f"Page\n  title  {self.title}\n  runs   {names or 'none: the playground'}"


def made_page(
    runs: Sequence[Run], *, title: str | None = None, mesh: Any = None, mesh_centre: Any = "volume", points: Any = None,
    pointing: Any = None,
) -> Page:  # fmt: skip
    """A page with these runs."""
    solid = None
    if mesh is not None:
        if not isinstance(mesh, Mesh | str | os.PathLike):
            raise TypeError(f"mesh must be the name of an STL or OBJ file, not {mesh!r}")
        solid = (mesh if isinstance(mesh, Mesh) else read_mesh(mesh)).about(mesh_centre)
    return Page(page_data(runs, title=title, mesh=solid, points=points, pointing=pointing))


def shown(page: Page, path: AnyPath | None) -> Any:
    """Shows a page where the user is, and returns it: as a widget in a notebook, saved with a path, else opened."""
    if path is not None:
        page.save(path, overwrite=True)
        return page
    if in_notebook():
        try:
            import anywidget as _  # noqa: F401
        except ImportError:
            return page  # which the notebook shows in a frame
        from polhode.page.widget import PageWidget

        return PageWidget(page)
    page.open()
    return page


def in_notebook() -> bool:
    """Whether the user sees output that is more than text: in Jupyter, Colab or marimo."""
    if "marimo" in sys.modules and bool(sys.modules["marimo"].running_in_notebook()):
        return True
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None


def open_browser(address: str) -> bool:
    """Opens an address in the user's browser, and returns whether there is one.

    A browser for terminals would take the terminal away from the program, so without a screen none is opened.
    """
    has_screen = sys.platform in ("win32", "darwin") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    )
    try:
        return has_screen and webbrowser.open(address)
    except (webbrowser.Error, OSError):
        return False
