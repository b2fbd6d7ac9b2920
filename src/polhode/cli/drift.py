"""`polhode drift`: the mean motion of a scenario over long times."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from polhode.cli._app import app
from polhode.cli._files import check_writable, keep, keep_picture, report_kept
from polhode.cli._options import AsJson, Force, Trust
from polhode.cli._signals import stopped_by_signals
from polhode.cli._terminal import FAILED, INTERRUPTED, echo_json, say, stop


@app.command()
@stopped_by_signals()
def drift(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="Body, torque, start and span.")],
    out: Annotated[
        Path | None, typer.Option(help="Save here; by default the name of the scenario, with .nc, where you are.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the drift: a .png, .svg or .pdf file.")] = None,
    force: Force = False,
    as_json: AsJson = False,
    trust: Trust = False,
) -> None:
    """Follow the mean motion of a body under a weak torque over thousands to billions of turns.

    The span, the tolerance and the rows are those of [run]; [drift] says what is averaged over. Prints what happens in
    a sentence, with the error that stretches run in full state. Exit codes: 0 all went well; 1 the tolerance was not
    reached, or a file had to be saved elsewhere; 2 bad input, or averages do not hold; 130 interrupted: what
    was computed is saved, and `polhode.load(file).resume()` goes on.
    """
    from polhode.compiler import CompilationFailed
    from polhode.run.integration import SimulationFailed, SimulationInterrupted, reason_of
    from polhode.scenario import load_scenario

    try:
        given = load_scenario(scenario, trust=trust)
        file = out or Path(given.file).with_suffix(".nc")
        check_writable(file, force=force)
        check_writable(plot, force=force, option="--plot")
        found, code = given.drift(), None
    except OSError as why:
        stop(f"{why.filename or scenario}: {why.strerror or why}")
    except (ValueError, TypeError, ModuleNotFoundError) as why:
        stop("\npolhode: ".join(str(why).splitlines()))
    except (SimulationFailed, CompilationFailed) as why:
        stop(reason_of(why), FAILED)
    except SimulationInterrupted as stopped:
        found, code = stopped.solution, INTERRUPTED
    except KeyboardInterrupt:
        stop("interrupted", INTERRUPTED)
    if as_json:
        echo_json(_record(found))
    else:
        say(found)
    if code is None:
        code = 0 if found.error <= found.asked.rtol else FAILED
    saved = [keep(file, force, lambda place, replaced: found.save(place, overwrite=replaced))]
    if plot is not None:
        saved.append(keep_picture(found.plot(), plot, force))
    raise typer.Exit(code if report_kept(*saved, err=as_json) else FAILED)


def _record(found: Any) -> dict[str, Any]:
    """The drift as what JSON can hold."""
    return {
        "message": str(found), "error": found.error if math.isfinite(found.error) else None,
        "rtol": found.asked.rtol, "t": found.t.tolist(), "momentum": found.momentum.tolist(),
        "kinetic_energy": found.kinetic_energy.tolist(), "mode": found.mode,
        "events": [e._asdict() for e in found.events],
        "branches": [{"probability": b.probability, **_record(b.drift)} for b in found.branches],
    }  # fmt: skip
