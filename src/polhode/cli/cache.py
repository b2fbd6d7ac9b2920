"""`polhode cache`: where compiled programs are kept."""

from typing import Annotated

import typer

from polhode.cli._app import app
from polhode.cli._terminal import FAILED, say, say_field, stop


@app.command()
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove the programs: they are compiled again.")] = False,
) -> None:
    """Show where compiled programs are kept and how much room they take, or remove them.

    The folder can be chosen by POLHODE_CACHE_DIR. Programs are removed by themselves when there are more than a
    thousand: those that were used least recently go first.
    """
    from polhode.compiler.programs import cache_directory

    directory = cache_directory()
    if directory is None:
        stop("this user has no home, so compiled programs are not kept: set POLHODE_CACHE_DIR", FAILED)
    try:
        found = list(directory.glob("*.code"))
        if clear:
            for program in found:
                program.unlink(missing_ok=True)
            say(f"{len(found)} programs removed from {directory}")
            return
        size = sum(program.stat().st_size for program in found)
    except OSError as problem:
        stop(problem, FAILED)
    say_field("folder", directory)
    say_field("programs", f"{len(found)}, {size / 1e6:.1f} MB")
