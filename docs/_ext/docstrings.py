"""Docstrings are sentences with `code` in them, not reStructuredText: what that would take for markup is left alone."""

import re

from sphinx.application import Sphinx

CODE = re.compile(r"(``.*?``|`[^`]*`)")
ITEM = re.compile(r"\s*([-*]|\d+\.|>>>|\.\.)\s")


def plain(app: Sphinx, kind: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Escapes signs outside of code, and makes code of indented blocks behind a colon."""
    out: list[str] = []
    in_example = False
    for i, line in enumerate(lines):
        in_example = bool(line.strip()) and (in_example or line.lstrip().startswith(">>>"))
        if in_example:
            out.append(line)
            continue
        text = line
        if not ITEM.match(text) and not text.lstrip().startswith(":"):
            pieces = CODE.split(text)
            text = "".join(
                p if p.startswith("`") else re.sub(r"([|*])|(?<=\w)(_)(?=\W|$)", r"\\\g<0>", p) for p in pieces
            )
        after = next((k for k in lines[i + 1 :] if k.strip()), "")
        deeper = len(after) - len(after.lstrip()) > len(line) - len(line.lstrip())
        field = line.lstrip().startswith(":")
        if text.rstrip().endswith(":") and not text.rstrip().endswith("::") and deeper and not field:
            out += [text.rstrip() + ":", ""]
        else:
            out.append(text)
    lines[:] = out


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers it, behind napoleon."""
    app.connect("autodoc-process-docstring", plain, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
