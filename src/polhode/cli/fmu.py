"""`polhode fmu`: a scenario as a co-simulation unit."""

from pathlib import Path
from typing import Annotated

import typer

from polhode.cli._app import app
from polhode.cli._files import check_writable
from polhode.cli._options import Force
from polhode.cli._terminal import say, stop


@app.command()
def fmu(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="The scenario file.")],
    out: Annotated[
        Path | None, typer.Option(help="The file to write, or its directory; default: the scenario's name, here.")
    ] = None,
    force: Force = False,
) -> None:
    """Write a scenario as a co-simulation unit (FMI 2.0), for other simulators.

    Its inputs are a torque in body axes, its outputs attitude and rate. The Python of the other program must have
    polhode installed. Needs the extra `fmu`: pip install 'polhode[fmu]'. Exit codes: 0 written, 2 bad input.
    """
    from polhode.fmu import identifier, write_unit

    named = f"{identifier(scenario.stem)}.fmu"
    target = Path(named) if out is None else out / named if out.suffix != ".fmu" or out.is_dir() else out
    check_writable(target, force=force)
    try:
        say(f"wrote {write_unit(scenario, target, overwrite=force)}")
    except (ValueError, OSError, ModuleNotFoundError) as problem:
        stop(problem)
