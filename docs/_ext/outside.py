"""Pages of the site that lie elsewhere in the repository, and links to what is no page.

`<!-- include CHANGELOG.md -->` takes in a file of the repository. Links to such a file lead to the page that has it.
Links to other files outside of docs/ become their names: the site stands alone.
"""

import os
import re
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = {
    "CHANGELOG.md": "reference/changelog.md",
    "CONTRIBUTING.md": "howto/contribute.md",
    "README.md": "index.md",
    "docs/decisions": "decisions/index.md",
    "docs/evidence": "evidence/index.md",
}
"""Where files of the repository, and folders, stand on the site."""

INCLUDE = re.compile(r"^<!-- include (\S+) -->$", re.MULTILINE)
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def read(app: Sphinx, name: str, source: list[str]) -> None:
    """Takes in files, and turns links."""
    here = Path(app.env.doc2path(name))
    if here.suffix != ".md":
        return
    for taken in INCLUDE.findall(source[0]):
        app.env.note_dependency(ROOT / taken, docname=name)
    text = INCLUDE.sub(lambda m: _turned((ROOT / m[1]).read_text("utf-8"), ROOT, here), source[0])
    source[0] = _turned(text, here.parent, here)


def _turned(text: str, base: Path, page: Path) -> str:
    def link(m: re.Match[str]) -> str:
        picture, words, target, anchor = m[1], m[2], m[3], m[4] or ""
        if "://" in target or target.startswith("mailto:"):
            return m[0]
        path = Path(os.path.normpath(base / target))
        if not path.is_relative_to(ROOT):
            return m[0]
        inside = str(path.relative_to(ROOT))
        if inside in PAGES:
            path = DOCS / PAGES[inside]
        elif not path.is_relative_to(DOCS):
            return m[0] if picture else f"{words} (`{inside}`)" if words != inside else f"`{inside}`"
        return f"{picture}[{words}]({os.path.relpath(path, page.parent)}{anchor})"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(part if part.startswith("```") else LINK.sub(link, part) for part in parts)


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers it, before blocks become programs."""
    app.connect("source-read", read, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
