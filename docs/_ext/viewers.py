"""Motions to look at: `{viewer} flip` shows a page that polhode wrote, inside a page of the site.

The motions are the functions of `scenes.py`. Where the page is not built (`make viewer`), a note stands in its place,
so that the text can be worked on without it.
"""

import html
from pathlib import Path
from typing import Any, ClassVar

import scenes
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

PLACE = "_static/viewers"


class Viewer(SphinxDirective):
    """Shows one of the scenes."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"height": directives.nonnegative_int, "play": directives.flag}

    def run(self) -> list[nodes.Node]:
        """Returns the frame around the page, or a note."""
        name = self.arguments[0]
        if name not in scenes.SCENES:
            raise self.error(f"no scene is called {name}: docs/_ext/scenes.py has {', '.join(scenes.SCENES)}")
        title = scenes.SCENES[name].__doc__ or name
        if not scenes.can_be_shown():
            return [
                nodes.note("", nodes.paragraph(text=f"{title} Built with `make viewer`, this place has it turning."))
            ]
        address = "../" * self.env.docname.count("/") + f"{PLACE}/{name}.html"
        mark = "#play" if "play" in self.options else ""
        frame = (
            f'<iframe class="viewer" src="{address}{mark}" title="{html.escape(title)}" loading="lazy" '
            f'sandbox="allow-scripts allow-downloads" height="{self.options.get("height", 700)}"></iframe>'
            f'<p><a href="{address}">The same on a page of its own</a></p>'
        )
        return [nodes.raw("", frame, format="html")]


def write(app: Sphinx, error: Exception | None) -> None:
    """Writes the pages of all scenes that are not there yet."""
    if error is None and app.builder.format == "html" and scenes.can_be_shown():
        for name in scenes.SCENES:
            place = Path(app.outdir) / PLACE / f"{name}.html"
            if not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                scenes.write(name, place)


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the directive, and the pages that it shows."""
    app.add_directive("viewer", Viewer)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
