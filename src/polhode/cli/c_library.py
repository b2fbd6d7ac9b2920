"""`polhode c-library`: the exact motion of the free body as C99."""

from pathlib import Path
from typing import Annotated

import typer

from polhode.cli._app import app
from polhode.cli._files import unwritable
from polhode.cli._options import Force
from polhode.cli._terminal import say, stop


@app.command(name="c-library")
def c_library(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The directory to write to, made if need be.")],
    force: Force = False,
) -> None:
    """Write the exact motion of the free body as a small C99 library, with a test, an example and a CMake file.

    It needs nothing but the C library, and gives the bits of polhode: the state at any time, exact steps of any length,
    and steps with a torque of yours. Exit codes: 0 written, 2 bad input.
    """
    from polhode.c_library import FILES, write

    if problems := [p for name in FILES if (p := unwritable(folder / name, force, "")) and folder.is_dir()]:
        stop("\npolhode: ".join(problems))
    try:
        for path in write(folder, overwrite=force):
            say(path)
    except OSError as problem:
        stop(problem)
    say(f"To build and test it: cmake -B build {folder} && cmake --build build && ctest --test-dir build")
