"""Write pages as notebooks, for the examples: `python -m docs.make_notebooks`.

A notebook is its page: the text between blocks becomes Markdown cells, blocks ```python become code, and commands of
the shell are run by bash. Links lead to the site's pages by their names.
"""

import json
import re
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = HERE.parent / "examples" / "notebooks"
PAGES = (
    "start/ten_minutes.md",
    "start/student.md",
    "start/attitude_engineer.md",
    "start/asteroid_observer.md",
    "start/molecular_simulator.md",
    "howto/control.md",
)
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```\n?", re.DOTALL | re.MULTILINE)
PAGE_LINK = re.compile(r"\[([^\]]+)\]\((?!\w+://)[^)]*\)")


def notebook(page: str) -> str:
    """Returns a page as the text of a notebook, without outputs."""
    text = (HERE / page).read_text("utf-8")
    cells, place = [], 0
    for block in BLOCK.finditer(text):
        cells.append(_markdown(text[place : block.start()]))
        cells.append(_code(("%%bash\n" if block[1] == "sh" else "") + block[2]))
        place = block.end()
    cells.append(_markdown(text[place:]))
    kept = [{**cell, "id": f"cell-{k}"} for k, cell in enumerate(c for c in cells if c["source"])]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    made = {"cells": kept, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def _markdown(text: str) -> dict[str, object]:
    return {"cell_type": "markdown", "metadata": {}, "source": _lines(PAGE_LINK.sub(r"*\1*", text.strip()))}


def _code(text: str) -> dict[str, object]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": _lines(text.rstrip()),
    }


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def place(page: str) -> Path:
    """Returns where the notebook of a page is kept."""
    return FOLDER / f"{Path(page).stem}.ipynb"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in PAGES:
        place(name).write_text(notebook(name), "utf-8")
