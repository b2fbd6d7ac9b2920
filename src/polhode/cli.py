"""The command line: parse, call, print. Everything costly is imported by the command that needs it."""

from __future__ import annotations

import math
import os
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from polhode import __version__

if TYPE_CHECKING:
    from polhode import Comparison
    from polhode._arrays import Floats
    from polhode.methods import Method
    from polhode.problem import Plan, Stats
    from polhode.scenario import Scenario
    from polhode.solution import Solution

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
"""Exit codes: a run could not be finished; the input is wrong; the user interrupted the program."""

BAR_AFTER_SECONDS = 1.0
"""Runs shorter than this show no progress bar: it would vanish before it could be read."""

LINE_CHARACTERS = 100
"""Prose is not wider than this: longer lines are hard to read."""

# Without markup and pretty exceptions Typer never imports Rich, which would double the time of --help.
app = typer.Typer(
    name="polhode",
    help="The rotation of rigid bodies: exact for free bodies, structure-preserving under a torque.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Runs the command line."""
    # Python would add a line of our source, which means nothing to a user of the shell.
    warnings.formatwarning = lambda message, *_: f"polhode: {message}\n"
    app()


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"polhode {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def _stop(message: object, code: int = BAD_INPUT) -> NoReturn:
    typer.echo(f"polhode: {message}", err=True)
    raise typer.Exit(code)


# --- run -----------------------------------------------------------------------------------------------------------


@app.command()
def run(
    scenarios: Annotated[list[Path], typer.Argument(metavar="SCENARIO.toml...", help="Scenario files.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Directory for the results, made if need be; or, for one scenario, a file ending in .nc."),
    ] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw a PNG beside each result.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing unless something is wrong.")] = False,
) -> None:
    """Run scenarios and save the results as NetCDF.

    Results go to the current directory or to --out, under the name of the scenario or of its [output] table.
    Everything is checked before the first run. Exit codes: 0 all went well, 1 a run failed (what was computed is
    saved), 2 bad input, 130 interrupted (what was computed is saved).
    """
    try:
        jobs = _jobs(scenarios, out, plot, force)
        table = _RunTable([scenario.path.stem for scenario, _ in jobs], quiet)
        code = 0
        for scenario, files in jobs:
            code = max(code, _run_one(scenario, files, table, quiet))
            if code == INTERRUPTED:
                break
    except KeyboardInterrupt:  # outside a simulation: while loading, compiling or saving
        _stop("interrupted", INTERRUPTED)
    raise typer.Exit(code)


def _jobs(paths: list[Path], out: Path | None, plot: bool, force: bool) -> list[tuple[Scenario, list[Path]]]:
    """Returns every scenario with the files it will write, checked as far as possible without running anything."""
    from polhode.scenario import ScenarioError, load_scenario

    if out is not None and out.suffix == ".nc" and len(paths) > 1:
        _stop(f"--out {out} is one file, but there are {len(paths)} scenarios: give a directory")
    jobs: list[tuple[Scenario, list[Path]]] = []
    problems: list[str] = []
    writers: dict[Path, Path] = {}
    for path in paths:
        try:
            scenario = load_scenario(path)
        except ScenarioError as problem:
            problems.append(str(problem))
            continue
        result = out if out is not None and out.suffix == ".nc" else (out or Path()) / scenario.file
        pictured = (plot or scenario.plot) and scenario.many is None
        files = [result, result.with_suffix(".png")][: 2 if pictured else 1]
        jobs.append((scenario, files))
        if (first := writers.setdefault(result, path)) is not path:
            problems.append(f"{first} and {path} would both write {result}: give one of them another [output] file")
        else:
            problems += [p for file in files if (p := _unwritable(file, force))]
    if problems:
        _stop("\npolhode: ".join(dict.fromkeys("\n".join(problems).splitlines())))
    return jobs


def _unwritable(file: Path, force: bool, option: str = "--out") -> str | None:
    """Returns why this file cannot be written, or None if it can; makes its directory.

    `option` is the option of the command that chooses another place, or empty if there is none.
    """
    import tempfile

    if file.is_dir():
        return f"{file} is a directory: {f'use {option} to write elsewhere' if option else 'move it away'}"
    if file.exists() and not force:
        elsewhere = f", or {option} to write elsewhere" if option else ""
        return f"{file} exists already: use --force to overwrite it{elsewhere}"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=file.parent):
            return None
    except OSError as problem:
        elsewhere = f"use {option} to write elsewhere" if option else "copy the result elsewhere first"
        return f"cannot write {file}: {problem.strerror}; {elsewhere}"


def _run_one(scenario: Scenario, files: list[Path], table: _RunTable, quiet: bool) -> int:
    """Runs a scenario, saves and reports the result, and returns the exit code."""
    import warnings

    from polhode import SimulationFailed, SimulationInterrupted, load

    def on_compile() -> None:
        if not quiet:
            method = scenario.method.name if scenario.method else "a method"
            typer.echo(f"compiling {method} with {scenario.torque.name}, once ...", err=True)

    if scenario.many is not None:
        return _run_many(scenario, files[0], table, quiet, on_compile)
    try:
        with _progress(scenario.path.stem, quiet) as progress:
            solution = scenario.simulate(progress, on_compile)
    except SimulationInterrupted as stopped:
        return _rescued(scenario, stopped.solution, files[0], INTERRUPTED)
    except SimulationFailed as failure:
        return _rescued(scenario, failure.solution, files[0], FAILED)
    except (ValueError, TypeError, MemoryError) as problem:  # simulate refuses its input
        typer.echo(f"polhode: {scenario.path}: {problem}", err=True)
        return BAD_INPUT
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            solution.save(files[0], overwrite=True)
        if caught:  # the user's potential failed: go on with what the file holds
            typer.echo(f"polhode: {scenario.path}: {caught[0].message}", err=True)
            solution = load(files[0])
        if len(files) > 1:
            solution.plot(files[1])
    except (OSError, ValueError) as problem:  # a full disk, or more than the format can hold
        typer.echo(f"polhode: {scenario.path}: cannot save the result: {problem}", err=True)
        return FAILED
    table.row(scenario, solution, files)
    return 0


def _run_many(
    scenario: Scenario, file: Path, table: _RunTable, quiet: bool, on_compile: Callable[[], None]
) -> int:  # fmt: skip
    """Runs a scenario with an [ensemble] and returns the exit code: that of a failure only if all bodies failed."""
    from polhode import EnsembleInterrupted, Reduced

    code = 0
    try:
        with _progress(scenario.path.stem, quiet) as progress:
            made = scenario.ensemble(progress, on_compile)
    except EnsembleInterrupted as stopped:
        made, code = stopped.ensemble, INTERRUPTED
    except (ValueError, TypeError, MemoryError) as problem:  # ensemble refuses its input
        reason = "; ".join([str(problem), *getattr(problem, "__notes__", [])])
        typer.echo(f"polhode: {scenario.path}: {reason}", err=True)
        return BAD_INPUT
    count = made.count if isinstance(made, Reduced) else len(made)
    failed = made.failed if isinstance(made, Reduced) else int((~made.success).sum())
    if code and not made.stats.steps:
        typer.echo(f"polhode: {scenario.path}: interrupted; nothing was saved", err=True)
        return code
    if failed and not code:
        first, why = next(iter(made.messages.items()))
        typer.echo(f"polhode: {scenario.path}: {failed} of {count} bodies failed; number {first}: {why}", err=True)
        code = FAILED if failed == count else 0
    try:
        made.save(file, overwrite=True)
    except (OSError, ValueError) as problem:
        typer.echo(f"polhode: {scenario.path}: cannot save the result: {problem}", err=True)
        return FAILED
    if code == INTERRUPTED:
        typer.echo(f"polhode: {scenario.path}: interrupted; what was computed is in {file}", err=True)
    if not code:
        table.cells(
            scenario, made.plan, made.stats, "-", "-", f"{file}, {count} bodies{f', {failed} failed' if failed else ''}"
        )
    return code


def _rescued(scenario: Scenario, solution: Solution, file: Path, code: int) -> int:
    """Saves what was computed by a run that did not reach its end, and returns the exit code."""
    try:
        if solution.stats.steps:
            solution.save(file, overwrite=True)
    except (OSError, ValueError) as problem:
        fate = f"what was computed could not be saved ({problem})"
    else:
        fate = f"what was computed is in {file}" if solution.stats.steps else "nothing was saved"
    message = solution.message.replace("what was computed is in the solution", fate)
    typer.echo(f"polhode: {scenario.path}: {message}", err=True)
    return code


class _RunTable:
    """Prints a line for each run as it ends. It does not use Rich, whose import takes longer than many runs."""

    def __init__(self, names: list[str], quiet: bool) -> None:
        self.width = max([len("scenario"), *map(len, names)])
        self.quiet = quiet
        self.empty = True

    def row(self, scenario: Scenario, solution: Solution, files: list[Path]) -> None:
        if not self.quiet:
            self.cells(scenario, solution.plan, solution.stats, *_worst_errors(solution), " and ".join(map(str, files)))

    def cells(
        self, scenario: Scenario, plan: Plan | None, stats: Stats, energy: str, momentum: str, saved: str
    ) -> None:
        """Prints a line, also for results without errors of energy and momentum."""
        if self.quiet:
            return
        if self.empty:
            self._line("scenario", "method", "steps", "steps/s", "energy error", "momentum error", "saved as")
        self.empty = False
        rate = f"{stats.steps / stats.seconds:.2g}" if stats.seconds else "-"
        method = "-" if plan is None else plan.method.name
        self._line(scenario.path.stem, method, str(stats.steps), rate, energy, momentum, saved)

    def _line(self, *cells: str) -> None:
        name, method, steps, rate, energy, momentum, saved = cells
        typer.echo(f"{name:{self.width}}  {method:8}  {steps:>10}  {rate:>8}  {energy:>12}  {momentum:>14}  {saved}")


def _worst_errors(solution: Solution) -> tuple[str, str]:
    """Returns the largest errors of energy and momentum as text: a dash for one that the torque does not conserve."""
    errors = solution.invariant_errors
    momentum = errors.get("spatial momentum", errors.get("axial momentum"))
    energy_error, momentum_error = (
        "-" if e is None or not e.size else f"{e.max():.1e}" for e in (errors.get("energy"), momentum)
    )
    return energy_error, momentum_error


@contextmanager
def _progress(name: str, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Yields a function that shows a progress bar once a run turns out to be long, or None where none is shown."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    bar: Any = None
    task: Any = None
    began = time.perf_counter()

    def progress(done: int, total: int) -> None:
        nonlocal bar, task
        spent = time.perf_counter() - began
        if bar is None and (spent < BAR_AFTER_SECONDS or done == total):
            return
        rate = done / spent
        shown = {"completed": done, "rate": rate, "left": _clock((total - done) / rate)}
        if bar is None:
            bar = _bar()
            bar.start()
            task = bar.add_task(name, total=total, **shown)
        bar.update(task, refresh=True, **shown)

    try:
        yield progress
    finally:
        if bar is not None:
            bar.stop()


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]:.2g} steps/s, {task.fields[left]} left"),
        console=Console(stderr=True),
        transient=True,
        auto_refresh=False,  # the run reports about twenty times a second by itself
    )


def _clock(seconds: float) -> str:
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


# --- compare -------------------------------------------------------------------------------------------------------


@app.command()
def compare(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="The motion to compare methods on.")],
    methods: Annotated[
        str, typer.Option(help="Methods, separated by commas: 'MR2(axes=231),NMB,DOP853'. See `polhode methods`.")
    ] = "",
    steps: Annotated[
        str,
        typer.Option(help="Steps in s, separated by commas. Default: from four times the scenario's to a quarter."),
    ] = "",
    out: Annotated[
        Path, typer.Option("--output", "--out", help="Directory for the results, made if need be.")
    ] = Path(),
    repeats: Annotated[int, typer.Option(min=1, help="How often a run is timed; the least time counts.")] = 5,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but the table.")] = False,
) -> None:
    """Compare methods on the motion of a scenario: errors against cost.

    Errors are measured against the exact motion if the body is free, else against a much more accurate computation,
    whose uncertainty is stated. Without --methods, the scenario's method is compared with Strang (Exact, if free),
    RK4 and DOP853, as far as they accept the torque. A method with a tolerance is run with rtol from 1e-4 to 1e-12.
    Prints a table, and saves the picture and all numbers as SCENARIO_compare.png, .svg and .nc.
    Exit codes: 0 all went well (the table shows runs that failed), 1 the reference could not be computed,
    2 bad input, 130 interrupted (what was computed is saved).
    """
    from polhode import ComparisonInterrupted, SimulationFailed
    from polhode import compare as compared
    from polhode._compare import halvings
    from polhode.compiled import CompilationFailed
    from polhode.scenario import ScenarioError, load_scenario

    def on_compile(what: str) -> None:
        if not quiet:
            typer.echo(what, err=True)

    try:
        try:
            given = load_scenario(scenario)
        except ScenarioError as problem:
            _stop("\npolhode: ".join(str(problem).splitlines()))
        files = [out / f"{scenario.stem}_compare{ending}" for ending in (".nc", ".png", ".svg")]
        if problems := [p for file in files if (p := _unwritable(file, force, "--output"))]:
            _stop("\npolhode: ".join(problems))
        problem_of = {
            name: getattr(given, name) for name in ("body", "torque", "omega", "attitude", "t_span", "t_eval")
        }
        code = 0
        try:
            with _progress(scenario.stem, quiet) as progress:
                done = compared(
                    **problem_of,
                    methods=methods or _usual_methods(given),
                    steps=_numbers("--steps", steps) or halvings(given.step or _guessed_step(given), given.t_span),
                    repeats=repeats,
                    progress=progress,
                    on_compile=on_compile,
                )
        except ComparisonInterrupted as stopped:
            done, code = stopped.comparison, INTERRUPTED
            if not done.entries:
                _stop("interrupted before a run was finished; nothing was saved", INTERRUPTED)
        except (ValueError, TypeError) as problem:
            _stop("\npolhode: ".join(str(problem).splitlines()))
        except (SimulationFailed, CompilationFailed) as failure:  # in the reference: failed methods are rows
            reason = str(failure).replace("; what was computed is in the solution", "")
            _stop(f"the reference to compare with could not be computed: {reason}", FAILED)
        _report(done, given.title, files)
    except KeyboardInterrupt:
        _stop("interrupted before a run was finished; nothing was saved", INTERRUPTED)
    raise typer.Exit(code)


def _report(comparison: Comparison, title: str, files: list[Path]) -> None:
    """Prints the table, then saves the comparison: if saving fails, the numbers have been seen."""
    from dataclasses import replace

    typer.echo(comparison.table())
    comparison = replace(comparison, title=title)
    data, *pictures = files
    try:
        comparison.save(data, overwrite=True)
        comparison.plot(*pictures)
    except (OSError, ValueError) as problem:
        _stop(f"cannot save the comparison: {problem}", FAILED)
    typer.echo(f"Saved as {', '.join(map(str, files[:-1]))} and {files[-1]}.")


def _usual_methods(scenario: Scenario) -> list[Method | str]:
    """Returns the scenario's own method and well-known ones that accept its torque."""
    from polhode.methods import find

    free = not scenario.torque.depends
    usual = map(find, ("Exact" if free else "Strang", "RK4", "DOP853"))
    own: list[Method | str] = [scenario.method] if scenario.method else []
    return [*own, *(m for m in usual if not m.refuses(scenario.torque.depends))]


def _guessed_step(scenario: Scenario) -> float:
    """Returns a step for a scenario without one: a tenth of a radian at the initial rate, at most 1/40 of the span."""
    t0, t1 = scenario.t_span
    rate = math.hypot(*scenario.omega)
    return min(abs(t1 - t0) / 40, 0.1 / rate if rate > 0 else math.inf)


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        _stop(f"{option} must be numbers separated by commas, such as 0.1,0.05,0.025, not {text!r}")


# --- the papers -----------------------------------------------------------------------------------------------------


@app.command()
def reproduce(
    what: Annotated[
        list[str] | None, typer.Argument(metavar="[PAPER[/FIGURE]]...", help="Papers or figures; default: all.")
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
    whatever the verdicts; 1 a figure could not be made; 2 bad input; 130 interrupted (the report has what was done).
    """
    from polhode.papers._command import listing, run
    from polhode.papers._study import Size, chosen

    try:
        studies = chosen(what or [])
        if show:
            listing(studies, typer.echo)
            return
        outcomes = run(studies, out, Size.QUICK if quick else Size.FULL, typer.echo, go_on=go_on)
    except (ValueError, OSError) as problem:
        _stop(problem)
    except KeyboardInterrupt:
        _stop(f"interrupted; what was done is in {out / 'report.html'}, and --continue goes on from there", INTERRUPTED)
    if any(o.problem for o in outcomes):
        raise typer.Exit(FAILED)


# --- the catalogues ------------------------------------------------------------------------------------------------


@app.command()
def methods(
    name: Annotated[
        str | None, typer.Argument(help="Show this method in full. Options are part of the name: 'MR2(axes=231)'.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="All of them, with what they keep, what they accept and what they cost.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The method, or all of them, as JSON.")] = False,
) -> None:
    """List the methods that most people need, by what they are for; with --all every one."""
    from polhode.methods import catalogue, find
    from polhode.views import cards

    width = _width()
    if name is None:
        if as_json:
            _echo_json([cards.method_record(method) for method in catalogue().values()])
        else:
            typer.echo(cards.method_table(width) if every else cards.start_table(width))
        return
    try:
        method = find(name)
    except (ValueError, TypeError) as problem:
        _stop(problem)
    if as_json:
        _echo_json(cards.method_record(method))
    else:
        typer.echo(cards.method_card(method, min(width or LINE_CHARACTERS, LINE_CHARACTERS)))


def _echo_json(value: object) -> None:
    import json

    typer.echo(json.dumps(value, indent=2))


@app.command()
def torques(
    name: Annotated[str | None, typer.Argument(help="Show this model in full, with an example.")] = None,
) -> None:
    """List the torque models: their parameters, what they depend on, whether they have a potential."""
    from polhode.torques import catalogue, find
    from polhode.views import cards

    if name is not None:
        try:
            typer.echo(cards.torque_card(find(name)))
        except ValueError as problem:
            _stop(problem)
        return
    rows = [cards.torque_row(model) for model in catalogue().values()]
    head = ["model", "parameters (= default)", "depends on", "potential", "package"]
    if not any(row[-1] for row in rows):  # all are polhode's own
        head, rows = head[:-1], [row[:-1] for row in rows]
    _table(head, rows)
    typer.echo(
        "For units and an example: polhode torques NAME. For a function of your own: model = 'file.py:function'."
    )


@app.command()
def bodies() -> None:
    """List the named bodies of the literature."""
    from polhode.body import NAMED

    rows = [(b.name, ", ".join(f"{m:g}" for m in b.moments), b.source, b.note) for b in NAMED.values()]
    _table(["body", "moments, kg m^2", "source", "what it is"], rows)


def _table(headers: Sequence[str], rows: Sequence[tuple[str, ...]]) -> None:
    """Prints a table as wide as the terminal, or, in a pipe, as wide as its content."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(*headers, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    Console(width=None if _width() else 500, highlight=False, markup=False).print(table)


def _width() -> int | None:
    """Returns the width of the terminal, or None in a pipe, where there is no limit."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return shutil.get_terminal_size().columns
    return None


# --- show ----------------------------------------------------------------------------------------------------------


@app.command()
def show(
    result: Annotated[Path, typer.Argument(metavar="RESULT.nc", help="A file that polhode saved.")],
    plot: Annotated[bool, typer.Option("--plot", help="Draw a PNG beside it.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the PNG if it exists.")] = False,
    rows: Annotated[int, typer.Option(min=0, help="How many rows to print.")] = 8,
) -> None:
    """Show what is in a result file."""
    import numpy as np

    import polhode
    from polhode.torques import get

    picture = result.parent / f"{result.stem}.png"
    if plot and (problem := _unwritable(picture, force, option="")):
        _stop(problem)
    if (many := _summary_of_many(result)) is not None:
        if plot:
            _stop(f"{result} holds an ensemble, and ensembles have no picture: leave --plot out")
        many()
        return
    try:
        solution = polhode.load(result)
    except (OSError, ValueError, TypeError) as problem:
        _stop(f"{result}: {problem.strerror if isinstance(problem, OSError) and problem.strerror else problem}")
    if title := solution.metadata.get("title"):
        typer.echo(f"{title}\n")
    typer.echo(f"body      {solution.body}")
    model = get(solution.torque.name) is not None
    typer.echo(f"torque    {solution.torque if model else f'{solution.torque.name}, a function of the user'}")
    typer.echo(f"method    {solution.method}, step {solution.step:g} s")
    typer.echo(
        f"time      {solution.problem.t_start:g} to {solution.t_last:g} s, "
        f"{solution.stats.steps} steps, {solution.t.size} rows"
    )
    typer.echo(f"ended     {solution.message}")
    for event in solution.events:
        typer.echo(f"event     {event.metadata['event']}, {_times_of(event.t)}")
    typer.echo()
    typer.echo("largest relative change of what the exact motion conserves:")
    for name, error in solution.invariant_errors.items():
        typer.echo(f"    {name:18}{error.max() if error.size else 0.0:.1e}")
    typer.echo()
    picked = np.unique(np.linspace(0, solution.t.size - 1, min(rows, solution.t.size)).round().astype(int))
    headers = ["t, s", "omega, rad/s", "", "", "quaternion (scalar first)", "", "", ""]
    cells = [(solution.t[i], *solution.omega[i], *solution.quaternion[i]) for i in picked]
    if cells:
        _table(headers, [tuple(f"{x:.6g}" for x in row) for row in cells])
    if plot:
        solution.plot(picture)
        typer.echo(f"plotted as {picture}")


def _times_of(t: Floats, most: int = 6) -> str:
    """Returns the times of an event as text."""
    if t.size == 0:
        return "never"
    shown = ", ".join(f"{x:.9g}" for x in t[:most])
    return f"{t.size} times, at t = {shown}{', ...' if t.size > most else ''} s" if t.size > 1 else f"at t = {shown} s"


def _summary_of_many(result: Path) -> Callable[[], None] | None:
    """Returns a function that shows the ensemble in a file, or its reductions; None for any other file."""
    import numpy as np

    from polhode.io import netcdf

    try:
        variables, about = netcdf.read(result)
    except (OSError, ValueError):  # `load` reports it
        return None
    reduced = "bodies" in about
    if not (reduced or ("status" in variables and variables["status"].dimensions == ("body",))):
        return None
    status = None if reduced else variables["status"].data
    count, failed = (about["bodies"], about["failed"]) if status is None else (status.size, np.count_nonzero(status))

    def show() -> None:
        typer.echo(f"ensemble  {count:.0f} bodies, {failed or 0:.0f} failed")
        typer.echo(f"torque    {about['torque']}")
        typer.echo(f"method    {about['method']}, step {about['step']:g} s")
        if "time" in variables and (t := variables["time"].data).size:
            typer.echo(f"time      {t[0]:g} to {t[-1]:g} s, {t.size} rows")
        if "seed" in about:
            typer.echo(
                f"seed      {about['seed']:.0f}" if isinstance(about["seed"], float) else f"seed      {about['seed']}"
            )
        typer.echo()
        coordinates = {name for name, v in variables.items() if v.dimensions == (name,)}
        rows = []
        for name, v in variables.items():
            if name in coordinates or v.data.dtype.kind != "f":
                continue
            known = v.data[np.isfinite(v.data)]
            shape = " x ".join(f"{size} {d}" for size, d in zip(v.data.shape, v.dimensions, strict=True))
            least, mean, most = (f"{f(known):.6g}" if known.size else "-" for f in (np.min, np.mean, np.max))
            rows.append((name, str(v.attributes.get("units", "")), shape, least, mean, most))
        known_names = {"method", "torque", "step", "seed", "bodies", "failed"}
        rows += [
            (k, "", "", f"{x:.6g}", "", "") for k, x in about.items() if k not in known_names and isinstance(x, float)
        ]
        _table(["what", "unit", "shape", "least", "mean", "greatest"], rows)
        typer.echo(f"\nfor the numbers themselves: xarray.open_dataset({str(result)!r})")

    return show
