"""Put the tree of the package into CONTRIBUTING.md: `python -m docs.make_tree`.

One line a file, with the first sentence of its docstring: what a file is for is said in the file, and nowhere else.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE, PAGE = ROOT / "src" / "polhode", ROOT / "CONTRIBUTING.md"
PLACE = re.compile(r"(?<=<!-- tree -->\n).*?(?=<!-- end -->)", re.DOTALL)
IN_ONE_LINE = ("papers",)
"""Folders of which each package is one line: a paper has one file for each figure or set of claims."""

LONGEST = 96
"""Longer sentences end at their colon, or at their last comma within so many characters."""


def first_sentence(file: Path) -> str:
    """Returns the first sentence of the docstring of a module; what a colon announces is left out."""
    text = " ".join((ast.get_docstring(ast.parse(file.read_text("utf-8"))) or "").split("\n\n")[0].split())
    sentence = re.split(r"(?<=[.])\s", text)[0].rstrip(".")
    if len(sentence) > LONGEST:
        sentence = re.split(r"[:;]\s", sentence)[0]
    return sentence if len(sentence) <= LONGEST else sentence[:LONGEST].rpartition(",")[0]


def lines(folder: Path, depth: int = 0) -> Iterator[str]:
    """Returns the lines of a folder: its files, then the folders in it."""
    files = sorted(f for f in folder.glob("*.py") if f.name != "__init__.py")
    for file in files:
        yield f"{'  ' * depth}{file.name:<{29 - 2 * depth}} {first_sentence(file)}"
    for inner in sorted(p.parent for p in folder.glob("*/__init__.py")):
        yield f"{'  ' * depth}{inner.name + '/':<{29 - 2 * depth}} {first_sentence(inner / '__init__.py')}"
        if folder.name not in IN_ONE_LINE:
            yield from lines(inner, depth + 1)


def tree() -> str:
    """Returns the tree, as a block of text."""
    return "```text\n" + "\n".join(line.rstrip() for line in lines(PACKAGE)) + "\n```\n"


def main() -> None:
    """Writes the tree into the page."""
    PAGE.write_text(PLACE.sub(lambda _: tree(), PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
