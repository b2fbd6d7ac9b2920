"""`polhode reproduce`: the figures and claims of the papers."""

from pathlib import Path
from typing import Annotated

import typer

from polhode.cli._app import app
from polhode.cli._signals import stopped_by_signals
from polhode.cli._terminal import FAILED, INTERRUPTED, say, stop


@app.command()
@stopped_by_signals()
def reproduce(
    what: Annotated[
        list[str] | None, typer.Argument(metavar="[PAPER[/FIGURE]...]", help="Papers or figures; default: all.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Directory for report, figures and data.")] = Path("reproduced"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Compute a small part of each figure, as the tests do.")
    ] = False,
    go_on: Annotated[
        bool, typer.Option("--continue", help="Skip figures that an earlier run has finished in the directory.")
    ] = False,
    show: Annotated[bool, typer.Option("--list", help="List the papers and figures, and run nothing.")] = False,
) -> None:
    """Rerun the figures and claims of the five papers, and judge them.

    Writes a report (report.html), figures as PNG and SVG, and data as NetCDF. Exit codes: 0 everything was run,
    whatever the verdicts; 1 a figure could not be made; 2 bad input; 130 interrupted, 143 terminated, 129 hung up (the
    report has what was done).
    """
    from polhode.papers.command import listing, run
    from polhode.papers.study import Size, chosen

    try:
        studies = chosen(what or [])
        if show:
            listing(studies, say)
            return
        outcomes = run(studies, out, Size.QUICK if quick else Size.FULL, say, go_on=go_on)
    except (ValueError, OSError) as problem:
        stop(problem)
    except KeyboardInterrupt:
        stop(f"interrupted; what was done is in {out / 'report.html'}, and --continue goes on from there", INTERRUPTED)
    if any(o.problem for o in outcomes):
        raise typer.Exit(FAILED)
