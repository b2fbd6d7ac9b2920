"""Pages are programs: the blocks ```python and ```sh of a page are run from top to bottom, in an empty directory.

On GitHub they are plain Markdown. On the site every block is followed by what it printed or drew, and a block that
fails ends the build. tests/docs runs some of the pages, too, and looks at the numbers.

A page has a comment `<!-- plain -->` if its many torques would take longer to compile than to run: then its
kernels run in plain Python, as in the tests. A block whose first line ends with `# not shown` is run and hidden.
A block ```py is shown and not run: it needs what a build has not, such as a cluster.
"""

import re

import kernel
from docutils import nodes
from sphinx.application import Sphinx

PROGRAM = re.compile(r"^```(python|sh)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PLAIN = "<!-- plain -->"
HEADER = f"""\
---
file_format: mystnb
kernelspec:
  name: {kernel.NAME}
  display_name: Python 3
---
"""
BEGIN = """
```{code-cell} python
:tags: [remove-cell]
%matplotlib inline
%config InlineBackend.figure_formats = ["svg"]
"""
SHELL = "%%bash\n"


def read(app: Sphinx, name: str, source: list[str]) -> None:
    """Makes a notebook of a page with blocks to run."""
    text = source[0]
    if app.env.doc2path(name).suffix != ".md" or not PROGRAM.search(text) or text.startswith("---"):
        return
    begin = BEGIN
    if PLAIN in text:
        begin += "%env NUMBA_DISABLE_JIT=1\n"
    title, _, rest = text.partition("\n")
    source[0] = HEADER + title + "\n" + begin + "```\n" + PROGRAM.sub(_cell, rest)


def _cell(block: re.Match[str]) -> str:
    kind, code = block.groups()
    tags = ":tags: [remove-input]\n" if code.partition("\n")[0].endswith("# not shown") else ""
    return f"```{{code-cell}} python\n{tags}{SHELL if kind == 'sh' else ''}{code}```"


def show_shell(app: Sphinx, tree: nodes.document) -> None:
    """Shows commands of the shell without the magic that runs them."""
    for block in tree.findall(nodes.literal_block):
        if block.astext().startswith(SHELL):
            text = block.astext().removeprefix(SHELL)
            block.rawsource, block["language"] = text, "bash"
            block.children = [nodes.Text(text)]


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers both."""
    app.connect("source-read", read)
    app.connect("doctree-read", show_shell)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
