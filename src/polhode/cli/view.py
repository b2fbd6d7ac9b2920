"""`polhode view`: motions in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polhode.cli._app import app
from polhode.cli._files import check_writable
from polhode.cli._options import Force
from polhode.cli._signals import stopped_by_signals
from polhode.cli._terminal import FAILED, say, stop

if TYPE_CHECKING:
    from polhode.page.display import Page


@app.command()
@stopped_by_signals()
def view(
    results: Annotated[
        list[Path] | None, typer.Argument(metavar="[RESULT.nc...]", help="Files that polhode saved: up to 12.")
    ] = None,
    export: Annotated[Path | None, typer.Option(help="Write the page as this .html file, and do not open it.")] = None,
    force: Force = False,
    span: Annotated[
        tuple[float, float] | None, typer.Option(metavar="FIRST LAST", help="The times to be shown, in s.")
    ] = None,
    member: Annotated[
        list[int] | None,
        typer.Option(help="The number of a body of an ensemble, from 0 on. It can be given several times."),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Show the exact motion first, for comparison, if the first body is free.")
    ] = False,
    title: Annotated[str | None, typer.Option(help="The title of the page.")] = None,
    mesh: Annotated[
        Path | None, typer.Option(help="The shape of the body, in body axes: an STL or OBJ file. By default a box.")
    ] = None,
    mesh_centre: Annotated[
        str,
        typer.Option(help="The centre of mass in the mesh: volume (that of a uniform solid), origin, or x,y,z."),
    ] = "volume",
    point: Annotated[
        list[str] | None,
        typer.Option(
            help="A point of the body whose trail is drawn: x,y,z in body axes, in units of the largest half edge. "
            "It can be given several times."
        ),
    ] = None,
    playground: Annotated[
        bool, typer.Option("--playground", help="Open the page on which moments and rate are sliders, without a file.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port of the server; 0: a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Show motions turning, with their curves: one, or several in step.

    The page is served to this computer only, under an address that cannot be guessed, until Ctrl-C is pressed. With
    --export it is a file that can be mailed: it needs no network and no installation.
    Exit codes: 0 all went well; 1 the page could not be served; 2 bad input.
    """
    if export is not None:
        if export.suffix.lower() not in (".html", ".htm"):
            stop(f"a page is saved as .html, which {export} does not end in")
        check_writable(export, force=force, option="--export")
    if playground and results:
        stop("--playground shows no files: leave them out, or leave --playground out")
    of_runs = {"--span": span, "--member": member, "--exact": exact, "--mesh": mesh, "--point": point}
    if playground and (given := [option for option, value in of_runs.items() if value]):
        stop(f"{given[0]} is for result files, and --playground shows none: leave one of the two out")
    if not playground and not results:
        stop("nothing to show: name a result file, or give --playground")
    try:
        page = (
            _playground(title)
            if playground
            else _page(results or [], span, member, exact, title, mesh, mesh_centre, point)
        )
        text = page.html
        if export is not None:
            page.save(export, overwrite=force)
            say(f"page written to {export}")
            return
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except (OSError, ValueError, TypeError, LookupError, RuntimeError) as problem:
        stop(_why(problem))
    _serve(text, port, browser)


def _why(problem: Exception) -> str:
    if isinstance(problem, OSError) and problem.strerror and problem.filename is not None:
        return f"{problem.filename}: {problem.strerror}"
    return str(problem)


def _playground(title: str | None) -> Page:
    from polhode.page.content import playground_data
    from polhode.page.display import Page

    return Page(playground_data() if title is None else playground_data(title))


def _page(
    results: list[Path], span: tuple[float, float] | None, members: list[int] | None, exact: bool,
    title: str | None, mesh: Path | None, mesh_centre: str, points: list[str] | None,
) -> Page:  # fmt: skip
    """The page of the motions in these files."""
    from polhode.api.view import exact_of, motions_in, runs_of
    from polhode.page.content import MOST_RUNS, too_many
    from polhode.page.display import made_page

    if len(results) > MOST_RUNS:
        raise ValueError(too_many(len(results)))
    found: list[tuple[str, Any]] = [one for file in results for one in motions_in(file, members, note=_note)]
    if exact:
        found.insert(0, ("exact", exact_of(found[0][1])))
    return made_page(
        runs_of([m for _, m in found], span, [name for name, _ in found]), title=title, mesh=mesh,
        mesh_centre=_point("--mesh-centre", mesh_centre) if "," in mesh_centre else mesh_centre,
        points=[_point("--point", p) for p in points] if points else None,
    )  # fmt: skip


def _note(text: str) -> None:
    say(f"polhode: {text}", err=True)


def _point(option: str, text: str) -> list[float]:
    try:
        x, y, z = map(float, text.replace(",", " ").split())
    except ValueError:
        raise ValueError(f"{option} must be three numbers such as 0,0,1, not {text!r}") from None
    return [x, y, z]


def _serve(text: str, port: int, browser: bool) -> None:
    """Serves the page until Ctrl-C is pressed."""
    from polhode.page.display import open_browser
    from polhode.page.server import PageServer, PortTaken

    try:
        server: Any = PageServer(text, port)
    except PortTaken as problem:
        stop(problem, FAILED)
    with server:
        say(f"the page is at {server.address}")
        if browser and not open_browser(server.address):
            say("no browser could be opened: open this address yourself, or write a file with --export page.html")
        say("Ctrl-C ends it")
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            say()
