"""`polhode check`: motions of other simulators, compared with the true ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polhode.cli._app import app
from polhode.cli._files import check_writable
from polhode.cli._options import (
    AllowUnphysical,
    BodyText,
    ColumnTexts,
    Force,
    ScenarioFile,
    TorqueText,
    Trust,
    columns_of,
    problem_of,
)
from polhode.cli._signals import stopped_by_signals
from polhode.cli._terminal import FAILED, INTERRUPTED, say, stop


@app.command()
@stopped_by_signals()
def check(
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="THEIRS.csv...",
            help="A motion of another simulator: a table (CSV, other text, Parquet, .npz), an AEM or a result of "
            "polhode. Further files of the same motion with other steps tell the order of the method.",
        ),
    ],
    body: BodyText = None,
    allow_unphysical: AllowUnphysical = False,
    torque: TorqueText = None,
    scenario: ScenarioFile = None,
    columns: ColumnTexts = None,
    convention: Annotated[
        str | None,
        typer.Option(help="What is known of the conventions, such as 'space to body, scalar last'; the rest is tried."),
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(help="The error that is accepted, in rad and relative to the largest rate.")
    ] = None,
    step: Annotated[
        list[float] | None, typer.Option(help="The step behind each file, if it is not the distance of its rows.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw errors and drifts over time as this PNG, SVG or PDF.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write the verdict as this page of HTML.")] = None,
    junit: Annotated[
        Path | None, typer.Option(help="Write the verdict as this JUnit XML, which servers that run tests read.")
    ] = None,
    force: Force = False,
    trust: Trust = False,
) -> None:
    """Judge a motion that another simulator computed: how far is it from the true one, and what is wrong with it?

    The true motion begins with the first row. Conventions (from body to space or back, scalar first or last, axes and
    units of rates) are found out by trying them. Exit codes: 0 EXACT or RIGHT; 1 INACCURATE (the error is above the
    tolerance) or WRONG (a fault was found); 2 bad input.
    """
    import polhode

    written = [file for file in (plot, report, junit) if file is not None]
    for file in written:
        check_writable(file, force=force, option="")
    try:
        turning, acting, _ = problem_of(body, allow_unphysical, torque, scenario, trust)
        verdict = polhode.check(
            *logs, body=turning, torque=acting, columns=columns_of(columns), convention=convention,
            tolerance=tolerance, steps=step or None,
        )  # fmt: skip
        say(verdict)
        if plot is not None:
            verdict.plot(plot)
        if report is not None:
            verdict.report(report, overwrite=force)
        if junit is not None:
            verdict.junit(junit, overwrite=force)
    except KeyboardInterrupt:
        stop("interrupted", INTERRUPTED)
    except (OSError, ValueError, TypeError, ImportError) as failure:
        if junit is not None:
            from polhode.files.atomic import whole_file
            from polhode.referee.verdict import junit_xml

            with whole_file(junit, overwrite=force) as out:
                out.write(junit_xml(str(logs[0]), error=str(failure)))
        stop(failure)
    for file in written:
        say(f"written to {file}")
    raise typer.Exit(0 if verdict.agrees else FAILED)
