"""What a page needs beside its text comes with the site: MathJax is copied from an installed package."""

import shutil
from importlib.metadata import files
from pathlib import Path

from sphinx.application import Sphinx

PACKAGE = "sphinx-mathjax-offline"


def mathjax(name: str) -> Path:
    """Returns a file of MathJax in the installed package."""
    for file in files(PACKAGE) or ():
        if file.name == name:
            return Path(str(file.locate()))
    raise FileNotFoundError(f"{PACKAGE} has no {name}: install requirements/docs.txt (make docs)")


def copy(app: Sphinx, error: Exception | None) -> None:
    """Copies MathJax beside the pages: one file that loads no other."""
    if error is None and app.builder.format == "html":
        place = Path(app.outdir) / "_static" / app.config.mathjax_path
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(mathjax(place.name), place)


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the copy."""
    app.connect("build-finished", copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
