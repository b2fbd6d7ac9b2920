"""The command line: parse, call, print. Everything costly is imported by the command that needs it.

Each command has a module of its own, which `COMMANDS` names.
"""

import errno
import io
import sys
import warnings
from importlib import import_module
from typing import Annotated, Any

import typer

from polhode import __version__
from polhode.cli._app import app as app
from polhode.cli._terminal import FAILED, flush, say, silence, unprinted
from polhode.text.terminal import printable

COMMANDS = (
    "free",
    "new",
    "run",
    "ensemble",
    "drift",
    "compare",
    "check",
    "cases",
    "fit",
    "fmu",
    "c_library",
    "reproduce",
    "lists",
    "show",
    "export",
    "view",
    "warm",
    "cache",
    "doctor",
    "examples",
)
"""The modules of the commands, in the order in which `polhode --help` lists them."""

for name in COMMANDS:
    import_module(f"polhode.cli.{name}")


def main() -> None:
    """Runs the command line."""
    # Python would add a line of our source, which means nothing to a user of the shell.
    warnings.formatwarning = lambda message, *_: f"polhode: {printable(str(message))}\n"
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal may not know all letters
    code: Any = 0
    try:
        app()
    except SystemExit as end:
        code = end.code
    except OSError as problem:  # in what Typer prints itself, such as --help: commands print by `say`
        if problem.errno not in (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EBADF):
            raise
        silence(problem, err=False)
    flush()
    if unprinted and not code:
        say(f"polhode: cannot print: {unprinted[0]}", err=True)
        code = FAILED
    sys.exit(code)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"polhode {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass
