"""Put the pictures of the walks into CONTRIBUTING.md: `python -m docs.make_walks`.

Each call is made twice, and the second one traced: a file stands below the file from which it was first entered, with
the function that was entered. The first walk is in plain Python, so that kernels are seen; in the others these are
machine code, as they are for a user.
"""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import polhode as ph

PACKAGE, PAGE = Path(ph.__file__).parent, Path(__file__).parents[1] / "CONTRIBUTING.md"
LEFT_OUT = (
    "support/", "__init__.py", "kernels/algebra/", "text/", "compiler/announce.py", "compiler/callbacks.py",
    "compiler/recently_used.py",
)  # fmt: skip
"""Files that every walk passes and that say nothing of it."""
DEEPEST = {"free": 4, "rtol": 7, "search": 7, "ensemble": 4}
"""Levels of files in a picture."""
PLAIN = {"free"}
"""The walks in plain Python."""
BODY, TOP = ph.Body([1, 1, 0.5]), ph.HeavyTop(weight=1.0)
OTHER_TOPS = [ph.HeavyTop(weight=1.0) for _ in range(100)]


def free() -> Any:
    """The motion of a free body."""
    return ph.FreeMotion(ph.Body([1, 2, 3]), omega=[0.1, 1, 0]).at(2.0)


def rtol() -> Any:
    """A heavy top to a tolerance; another torque each time, so that no call like it is kept."""
    return ph.simulate(BODY, OTHER_TOPS.pop(), omega=[0, 0.1, 5], t_span=(0, 2), rtol=1e-9)


def search() -> Any:
    """The same to a tolerance that wants compensated sums."""
    return ph.simulate(BODY, TOP, omega=[0, 0.1, 5], t_span=(0, 2), rtol=1e-12)


def ensemble() -> Any:
    """Many heavy tops to a tolerance."""
    omega = [[0, 0.01 * n, 5] for n in range(16)]
    return ph.ensemble(BODY, TOP, omega=omega, t_span=(0, 2), rtol=1e-9, threads=1)


WALKS: dict[str, Callable[[], Any]] = {"free": free, "rtol": rtol, "search": search, "ensemble": ensemble}
Node = tuple[str, list[Any]]
"""A file with the function that was entered, and the files that were first entered from it."""


def trace(name: str) -> list[Node]:
    """The files that a walk enters, each below the one it was first entered from."""
    call = WALKS[name]
    roots: list[Node] = []
    known: dict[str, Node] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or (file := _file(frame)) is None or file in known:
            return
        caller = frame.f_back
        while caller is not None and _file(caller) not in known:
            caller = caller.f_back
        above = roots if caller is None else known[str(_file(caller))][1]
        known[file] = (f"{file}  {frame.f_code.co_qualname.replace('.<locals>', '')}", [])
        above.append(known[file])

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_DISABLE_JIT", str(int(name in PLAIN)))
        call()
        sys.setprofile(note)
        try:
            call()
        finally:
            sys.setprofile(None)
    return roots


def _file(frame: FrameType) -> str | None:
    path = Path(frame.f_code.co_filename)
    if not path.is_relative_to(PACKAGE):
        return None
    name = path.relative_to(PACKAGE).as_posix()
    return None if name.startswith(LEFT_OUT) or name.endswith(LEFT_OUT) else name


def lines(nodes: list[Node], levels: int, depth: int = 0) -> Iterator[str]:
    """The lines of a picture."""
    for text, below in nodes:
        file, _, function = text.partition("  ")
        yield f"{'   ' * (depth - 1)}{'└─ ' if depth else ''}{file}".ljust(52) + function
        if depth + 1 < levels:
            yield from lines(below, levels, depth + 1)


def picture(name: str) -> str:
    """The picture of a walk, as a block of text."""
    return "```text\n" + "\n".join(line.rstrip() for line in lines(trace(name), DEEPEST[name])) + "\n```\n"


def place(name: str) -> re.Pattern[str]:
    """Where the picture of a walk stands in the page."""
    return re.compile(rf"(?<=<!-- walk {name} -->\n).*?(?=<!-- end -->)", re.DOTALL)


def main() -> None:
    """Writes the pictures into the page."""
    page = PAGE.read_text("utf-8")
    for name in WALKS:
        shown = picture(name)
        page = place(name).sub(lambda _, shown=shown: shown, page, count=1)  # type: ignore[misc]
    PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
