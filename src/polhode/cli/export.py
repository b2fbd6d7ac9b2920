"""`polhode export`: results for other tools."""

from pathlib import Path
from typing import Annotated, Any

import typer

from polhode.cli._app import app
from polhode.cli._files import check_writable
from polhode.cli._options import Force
from polhode.cli._terminal import say, stop

EPOCH = "give --epoch 2026-01-31T12:00:00"


@app.command()
def export(
    result: Annotated[Path, typer.Argument(metavar="RESULT.nc", help="A file that polhode saved.")],
    out: Annotated[
        Path, typer.Argument(metavar="OUT.aem", help="The file to write: it ends in .aem, .acm, .apm or .bc.")
    ],
    object_name: Annotated[str | None, typer.Option(help="The name of the spacecraft (AEM, ACM, APM).")] = None,
    object_id: Annotated[
        str | None, typer.Option(help="Its international designator, such as 2026-001A (AEM, ACM, APM).")
    ] = None,
    spacecraft_id: Annotated[int, typer.Option(help="Its number, which is negative (CK).")] = -999,
    epoch: Annotated[
        str | None, typer.Option(help="The instant of t = 0, such as 2026-01-31T12:00:00, if the result has none.")
    ] = None,
    time_system: Annotated[
        str | None, typer.Option(help="UTC, TAI, TT, TDB or GPS; that of the epoch in the result, or UTC.")
    ] = None,
    space_frame: Annotated[str, typer.Option(help="The name of the space axes.")] = "EME2000",
    body_frame: Annotated[str, typer.Option(help="The name of the body axes.")] = "SC_BODY_1",
    tolerance: Annotated[float, typer.Option(help="The largest error of interpolation, in rad (AEM, ACM, CK).")] = 1e-6,
    interpolation: Annotated[str, typer.Option(help="LAGRANGE, of degree 7, or LINEAR (AEM, ACM).")] = "LAGRANGE",
    rows: Annotated[
        bool, typer.Option("--rows", help="Write the rows of the result, without a tolerance (AEM, ACM).")
    ] = False,
    at: Annotated[
        float | None, typer.Option(help="The time of the state, in s; the end if none is given (APM).")
    ] = None,
    force: Force = False,
) -> None:
    """Write a result for other tools: CCSDS attitudes over time (AEM, ACM) or at one time (APM), or SPICE kernels (CK).

    The rows of an AEM, an ACM or a CK are chosen so that a reader who interpolates errs by at most the tolerance.
    """
    import polhode

    kind = out.suffix.lower()
    if kind not in (".aem", ".acm", ".apm", ".bc"):
        stop(f"{out} does not end in .aem, .acm, .apm or .bc: the ending says what is written")
    if kind != ".bc" and (object_name is None or object_id is None):
        stop(f"{out} must name the spacecraft: give --object-name and --object-id")
    check_writable(out, force=force, option="")
    about: dict[str, Any] = {"epoch": epoch, "time_system": time_system, "overwrite": force}
    named: dict[str, Any] = {"object_name": object_name, "object_id": object_id, "frames": (space_frame, body_frame)}
    try:
        solution = polhode.load(result)
        if kind == ".apm":
            solution.to_apm(out, t=at, **about, **named)
            say(f"the state at t = {solution.t_last if at is None else at:g} s written to {out}")
            return
        if kind == ".bc":
            made = solution.to_ck(out, spacecraft_id=spacecraft_id, tolerance=tolerance, **about)
        else:
            method: dict[str, Any] = {"tolerance": None if rows else tolerance, "interpolation": interpolation}
            write = solution.to_acm if kind == ".acm" else solution.to_aem
            made = write(out, **method, **about, **named)
    except (OSError, ValueError, TypeError, ImportError) as failure:
        why = str(failure).replace("give epoch='2026-01-31T12:00:00', or store it with solution.with_epoch(...)", EPOCH)
        stop(f"{result}: {why}" if str(result) not in why else why)
    bound = "not known" if made.bound is None else f"at most {made.bound:.2g} rad"
    segments = f"{made.segments} segment{'' if made.segments == 1 else 's'}"
    say(f"{made.rows:,} rows in {segments} written to {out}; error of interpolation {bound}")
