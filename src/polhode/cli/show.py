"""`polhode show`: what is in a result file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polhode.cli._app import app
from polhode.cli._files import check_writable, file_names, keep, no_format, write_result
from polhode.cli._options import Force
from polhode.cli._terminal import FAILED, print_table, say, say_field, stop
from polhode.text.terminal import one_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from polhode.files.netcdf import Contents
    from polhode.support.arrays import Floats


@app.command()
def show(
    result: Annotated[Path, typer.Argument(metavar="RESULT.nc", help="A file that polhode saved.")],
    plot: Annotated[bool, typer.Option("--plot", help="Draw a PNG beside it.")] = False,
    force: Force = False,
    rows: Annotated[int, typer.Option(min=0, help="How many rows to print.")] = 8,
    quantity: Annotated[
        list[str] | None,
        typer.Option(
            help="Print, and draw, also this: 'euler_deg(ZYX)', 'mrp', 'pointing_angle_deg(z, [0, 0, 1])'. "
            "It can be given several times."
        ),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Save the motion, with each --quantity, as a table: a .csv or .parquet file.")
    ] = None,
) -> None:
    """Show what is in a result file.

    The file is compared with its checksum: one that is damaged is refused.
    """
    from polhode.files import netcdf

    picture = result.parent / f"{result.stem}.png"
    check_writable(picture if plot else None, force=force, option="")
    if save is not None and (problem := no_format(save)):
        stop(problem)
    check_writable(save, force=force, option="--save")
    try:
        contents = netcdf.read(result)
        if _holds_many(contents):
            if quantity and save is None:
                raise ValueError("--quantity is for the motion of one body, and this file holds many: leave it out")
            figure = _show_many(result, contents, plot)
        else:
            figure = _show_one(result, rows, plot, quantity or [])
    except (OSError, ValueError, TypeError, LookupError) as problem:
        why = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
        stop(why if why.startswith(str(result)) else f"{result}: {why}")
    if save is not None:
        _save_as(result, save, force, quantity or [])
    if plot:
        from polhode.plots.plot import save as draw

        if figure is None:
            stop(f"{result} holds nothing over time that could be drawn: leave --plot out", FAILED)
        kept = keep(picture, force, lambda file, force: draw(figure, file, overwrite=force))
        if kept.problem:
            stop(kept.problem, FAILED)
        say(f"plotted as {kept.file}")


def _save_as(result: Path, file: Path, force: bool, quantities: list[str]) -> None:
    """Saves what a result file holds in another format."""
    from polhode import load

    try:
        made = load(result)
        for name in file_names(file, is_ensemble=hasattr(made, "bodies_to_dataframe")):
            check_writable(name, force=force, option="--save")
        write_result(made, file, force, quantities)
    except (OSError, ValueError) as problem:
        stop(problem)
    say(f"saved as {file}")


def _show_one(result: Path, rows: int, plot: bool, quantities: list[str]) -> Figure | None:
    """Shows a solution, and returns its picture if that is wanted."""
    import numpy as np

    import polhode
    from polhode.files.records import TorqueFromFile, describe_torque
    from polhode.solution import read_quantities
    from polhode.torques import get

    wanted = read_quantities(quantities)
    solution = polhode.load(result)
    if title := solution.metadata.get("title"):
        say(f"{one_line(str(title))}\n")
    torque = describe_torque(solution.torque)
    if isinstance(solution.torque, TorqueFromFile) and get(solution.torque.name) is None:
        torque += ", a function of the user, which the file does not keep"
    say_field("body", solution.body)
    say_field("torque", torque)
    say_field("method", f"{solution.method}, {solution.steps_in_words}")
    say_field(
        "time",
        f"{solution.problem.t_start:g} to {solution.t_last:g} s, {solution.stats.steps} steps, {solution.t.size} rows",
    )
    say_field("ended", solution.message)
    if solution.error_estimate is not None:
        say_field("estimate", f"error at most {solution.error_estimate:.1e}")
    for event in solution.events:
        say_field("event", f"{event.metadata['event']}, {_times_of(event.t)}")
    say()
    say("largest relative change of what the exact motion conserves:")
    for name, error in solution.invariant_errors.items():
        say(f"    {name:18}{error.max() if error.size else 0.0:.1e}")
    say()
    picked = np.unique(np.linspace(0, solution.t.size - 1, min(rows, solution.t.size)).round().astype(int))
    headers = ["t, s", "omega, rad/s", "", "", "quaternion (scalar first)", "", "", ""]
    headers += [text for x in wanted for text in (str(x), *[""] * (len(x.labels) - 1))]
    others = np.concatenate([x(solution).reshape(solution.t.size, -1) for x in wanted], axis=1) if wanted else None
    cells = [
        (solution.t[i], *solution.omega[i], *solution.quaternion[i], *(() if others is None else others[i]))
        for i in picked
    ]
    if cells:
        print_table(headers, [tuple(f"{x:.6g}" for x in row) for row in cells])
    return solution.plot(quantities=quantities) if plot else None


def _times_of(t: Floats, most: int = 6) -> str:
    """The times of an event as text."""
    if t.size == 0:
        return "never"
    shown = ", ".join(f"{x:.9g}" for x in t[:most])
    return f"{t.size} times, at t = {shown}{', ...' if t.size > most else ''} s" if t.size > 1 else f"at t = {shown} s"


def _holds_many(contents: Contents) -> bool:
    """Whether a file holds an ensemble, or reductions of one."""
    variables, about = contents
    return "bodies" in about or ("status" in variables and variables["status"].dimensions == ("body",))


_BOOKKEEPING = ("rows", "memory", "last_quaternion", "last_momentum", "last_state", "plan_number")
"""Arrays in the files of ensembles by which polhode goes on, and which say little to people."""


def _show_many(result: Path, contents: Contents, plot: bool) -> Figure | None:
    """Shows an ensemble, or its reductions; returns the picture if that is wanted and there is one."""
    import numpy as np

    from polhode.kernels.status import Status

    variables, about = contents
    stopped = 0.0
    if "bodies" in about:
        bodies, failed = float(str(about["bodies"])), float(str(about.get("failed", 0)))
    else:
        status = variables["status"].data
        stopped = float(np.count_nonzero(status == Status.INTERRUPTED))
        bodies, failed = float(status.size), float(np.count_nonzero(status)) - stopped
    torque, method = str(about.get("torque", "-")), str(about.get("method", "-"))
    also = f", {stopped:.0f} were interrupted" if stopped else ""
    say_field("ensemble", f"{bodies:.0f} bodies, {failed:.0f} failed{also}")
    say_field("torque", torque)
    say_field("method", f"{method}, step {float(str(about['step'])):g} s" if "step" in about else method)
    if "time" in variables and (t := variables["time"].data).size:
        say_field("time", f"{t[0]:g} to {t[-1]:g} s, {t.size} rows")
    if "seed" in about:
        say_field("seed", f"{about['seed']:.0f}" if isinstance(about["seed"], float) else about["seed"])
    say()
    coordinates = {name for name, v in variables.items() if v.dimensions == (name,)}
    rows = []
    for name, v in variables.items():
        if name in coordinates or v.data.dtype.kind != "f" or name in _BOOKKEEPING:
            continue
        known = v.data[np.isfinite(v.data)]
        shape = " x ".join(f"{size} {d}" for size, d in zip(v.data.shape, v.dimensions, strict=True))
        least, mean, most = (f"{f(known):.6g}" if known.size else "-" for f in (np.min, np.mean, np.max))
        rows.append((name, str(v.attributes.get("units", "")), shape, least, mean, most))
    known_names = {"method", "torque", "step", "seed", "bodies", "failed", "t_start", "t_end", "seconds"}
    rows += [(k, "", "", f"{x:.6g}", "", "") for k, x in about.items() if k not in known_names and isinstance(x, float)]
    print_table(["what", "unit", "shape", "least", "mean", "greatest"], rows)
    open_it = "polhode.load" if str(about.get("format")) == "polhode ensemble" else "xarray.open_dataset"
    say(f"\nfor the numbers themselves: {open_it}({str(result)!r})")
    if not plot:
        return None
    from polhode.plots.plot_many import Drawable, draw

    table = {name: Drawable(v.dimensions, v.data, v.attributes) for name, v in variables.items()}
    return draw(table, f"{bodies:,.0f} bodies, {one_line(torque)}, {one_line(method)}")
