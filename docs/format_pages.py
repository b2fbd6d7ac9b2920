"""Wraps the Markdown of the repository at 88 columns: `make format-docs`; `--check` names what is not so.

mdformat does it, with the extensions that pages of the site need. Pages that a script makes are left out, and so are
the parts between `<!-- name -->` and `<!-- end of name -->`, which scripts write. Blocks of Python that are wider than
the site, which shows 88 columns, are formatted by ruff.
"""

import re
import subprocess
import sys
from pathlib import Path

import mdformat

ROOT = Path(__file__).parents[1]
MADE = "<!-- Made by "
"""Stands in the third line of a page that a script makes."""
BEGIN = re.compile(r"(?<!`)<!-- (?!end|include|plain)[^>]*-->")
EXTENSIONS = {"gfm", "tables", "myst", "front_matters", "footnote"}
WIDTH = 88
"""The site shows so many columns of code; text is wrapped there, too."""
OPTIONS = {"wrap": WIDTH, "number": True, "compact_tables": True}
OPTIONS_OF_DIRECTIVE = re.compile(r"^(```\{[\w-]+\}.*\n)---\n((?:[\w-]+:.*\n)+)---\n", re.MULTILINE)
"""Options as mdformat writes them, in YAML."""
CODE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def formatted(page: str) -> str:
    """Formats a page, but for the parts that scripts write."""
    made, plain, inside = [], list[str](), False
    for line in page.splitlines(keepends=True):
        if not inside and BEGIN.search(line):
            made += [_formatted("".join(plain)), line]
            plain, inside = [], True
        elif inside:
            made.append(line)
            inside = "<!-- end" not in line
        else:
            plain.append(line)
    return "".join([*made, _formatted("".join(plain))])


def _formatted(part: str) -> str:
    """Formats a part; blank lines around it stay, for a script counts on those beside its own part."""
    text = part.strip("\n")
    if not text:
        return part
    before, after = part[: len(part) - len(part.lstrip("\n"))], part[len(part.rstrip("\n")) :]
    done = mdformat.text(text, options=OPTIONS, extensions=EXTENSIONS).strip("\n")
    return before + OPTIONS_OF_DIRECTIVE.sub(_with_colons, CODE.sub(_narrow, done)) + after


def _with_colons(found: re.Match[str]) -> str:
    """Writes the options of a directive as `:name: value`, in which the pages have them."""
    return found[1] + "".join(f":{line}\n" for line in found[2].splitlines()) + "\n"


def _narrow(block: re.Match[str]) -> str:
    if max(map(len, block[1].splitlines()), default=0) <= WIDTH:
        return block[0]
    command = ["ruff", "format", "--line-length", str(WIDTH), "--stdin-filename", "block.py", "-"]
    done = subprocess.run(command, input=block[1], capture_output=True, text=True, check=False)
    return f"```python\n{done.stdout}```" if done.returncode == 0 else block[0]


def main() -> int:
    """Formats all pages, or with `--check` only says which are not formatted."""
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    wrong = 0
    for name in listed.stdout.split():
        page = (ROOT / name).read_text("utf-8")
        if MADE in page[:400] or (done := formatted(page)) == page:
            continue
        wrong += 1
        if "--check" in sys.argv:
            print(f"{name} is not formatted: run `make format-docs`")
        else:
            (ROOT / name).write_text(done, "utf-8")
    return wrong if "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(min(main(), 1))
