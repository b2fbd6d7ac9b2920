"""`polhode warm`: compiles common methods and torques ahead of time."""

import os
import time
from typing import Annotated

import typer

from polhode.cli._app import app
from polhode.cli._options import Quiet
from polhode.cli._signals import stopped_by_signals
from polhode.cli._terminal import FAILED, INTERRUPTED, say, stop


@app.command()
@stopped_by_signals()
def warm(
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes that compile; default: one for each core.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Compile what most people meet first, so that their first run need not wait for it.

    A method is compiled when it is first used, which takes a second or two, a torque in less; both are kept on disk.
    This makes such programs beforehand: the free motion, built-in torques by rtol, the usual methods, many tops.
    Exit codes: 0 all went well; 1 nothing can be kept; 130 interrupted (what was compiled is kept).
    """
    os.environ["POLHODE_QUIET"] = "1"  # this command says itself what it compiles
    from polhode.cli._first_programs import tasks
    from polhode.cli._first_programs import warm as warmed
    from polhode.compiler.programs import compiles, trusted_directory

    directory = trusted_directory() if compiles() else None
    if directory is None:
        why = "there is no folder for them: set POLHODE_CACHE_DIR" if compiles() else "NUMBA_DISABLE_JIT is set"
        stop(f"compiled programs are not kept, because {why}", FAILED)
    began, programs, total = time.perf_counter(), 0, len(tasks())
    if not quiet:
        say("compiling what most people meet first; Ctrl-C keeps what is done")
    try:
        for number, done in enumerate(warmed(workers), 1):
            programs += done.programs
            if not quiet:
                say(f"  {number:2} of {total}  {done.what}{'' if done.programs else ': was there already'}")
    except KeyboardInterrupt:
        stop("interrupted; what was compiled is kept", INTERRUPTED)
    if not quiet:
        seconds = time.perf_counter() - began
        say(f"{programs} programs compiled in {seconds:.0f} s, kept in {directory}")
