"""`polhode cases`: check cases for simulators."""

from pathlib import Path
from typing import Annotated

import typer

from polhode.cli._app import app
from polhode.cli._files import check_writable
from polhode.cli._options import Force
from polhode.cli._terminal import print_table, say, stop


@app.command()
def cases(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="The directory to write them to; default: list them.")
    ] = None,
    group: Annotated[str | None, typer.Option(help="List this group only: free, top, gyrostat, orbit, ...")] = None,
    force: Force = False,
) -> None:
    """List the check cases, motions to 30 digits; with a directory, write them as CSV and JSON.

    Exit codes: 0 done, 2 bad input.
    """
    from polhode.cases import VERSION, all_cases, checksum, pairs, write

    try:
        chosen = all_cases(group)
    except ValueError as problem:
        stop(problem)
    if folder is None:
        listed = [*chosen, *(pairs() if group is None else ())]
        rows = [(c.name, f"{c.t[-1]:.6g} s", f"{c.tolerance[0]:g} rad", c.about) for c in listed]
        print_table(["case", "span", "tolerance", "what moves"], rows)
        say("To write them as CSV and JSON: polhode cases DIR")
        return
    if folder.is_dir():
        check_writable(folder / "cases.json", force=force, option="")
    try:
        written = write(folder, overwrite=force)
    except OSError as problem:
        stop(problem)
    count = len(all_cases()) + len(pairs())
    say(f"wrote {len(written)} files to {folder}: {count} cases, version {VERSION}, sha256 {checksum()}")
