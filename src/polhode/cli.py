"""The command line: parse, call, print. Everything costly is imported by the command that needs it."""

from __future__ import annotations

import os
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
    from polhode.io.scenario import Scenario
    from polhode.methods import Method
    from polhode.solution import Solution
    from polhode.torques import Torque

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
"""Exit codes: a run could not be finished; the input makes no sense; the user stopped it."""

BAR_AFTER = 1.0
"""Runs shorter than that, in seconds, show no progress bar."""

# Without markup and pretty exceptions Typer never imports Rich, which would double the time of --help.
app = typer.Typer(
    name="polhode",
    help="The rotation of rigid bodies: exact when free, structure-preserving when torqued.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """The entry point."""
    warnings.formatwarning = lambda message, *_: f"polhode: {message}\n"  # a user of the shell needs no line of ours
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
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing unless something is wrong.")] = False,
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
    """Every scenario with the files it is to write, checked as far as can be without running anything."""
    from polhode.io.scenario import ScenarioError, load_scenario

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
        files = [result, result.with_suffix(".png")][: 2 if plot or scenario.plot else 1]
        jobs.append((scenario, files))
        if (first := writers.setdefault(result, path)) is not path:
            problems.append(f"{first} and {path} would both write {result}: give one of them another [output] file")
        else:
            problems += [p for file in files if (p := _unwritable(file, force))]
    if problems:
        _stop("\npolhode: ".join(dict.fromkeys("\n".join(problems).splitlines())))
    return jobs


def _unwritable(file: Path, force: bool) -> str | None:
    """Why this file cannot be written; makes its directory."""
    import tempfile

    if file.is_dir():
        return f"{file} is a directory"
    if file.exists() and not force:
        return f"{file} exists already: use --force to overwrite it, or --out to write elsewhere"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=file.parent):
            return None
    except OSError as problem:
        return f"cannot write {file}: {problem.strerror}; use --out to write elsewhere"


def _run_one(scenario: Scenario, files: list[Path], table: _RunTable, quiet: bool) -> int:
    """Run, save, report; returns the exit code."""
    import warnings

    from polhode import SimulationFailed, SimulationInterrupted, load

    def announce() -> None:
        if not quiet:
            typer.echo(f"compiling {scenario.method.name} with {scenario.torque.name}, once ...", err=True)

    try:
        with _progress(scenario.path.stem, quiet) as progress:
            solution = scenario.simulate(progress, announce)
    except SimulationInterrupted as stopped:
        return _rescued(scenario, stopped.solution, files[0], INTERRUPTED)
    except SimulationFailed as failure:
        return _rescued(scenario, failure.solution, files[0], FAILED)
    except (ValueError, TypeError, MemoryError) as problem:  # what simulate says of its input
        typer.echo(f"polhode: {scenario.path}: {problem}", err=True)
        return BAD_INPUT
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", UserWarning)
            solution.save(files[0], overwrite=True)
        if told:  # the user's potential failed: go on with what the file holds
            typer.echo(f"polhode: {scenario.path}: {told[0].message}", err=True)
            solution = load(files[0])
        if len(files) > 1:
            solution.plot(files[1])
    except (OSError, ValueError) as problem:  # a full disk, or more than the format can hold
        typer.echo(f"polhode: {scenario.path}: cannot save the result: {problem}", err=True)
        return FAILED
    table.row(scenario, solution, files)
    return 0


def _rescued(scenario: Scenario, solution: Solution, file: Path, code: int) -> int:
    """Save what there is of a run that did not reach its end."""
    try:
        if solution.run.steps:
            solution.save(file, overwrite=True)
    except (OSError, ValueError) as problem:
        fate = f"what was computed could not be saved ({problem})"
    else:
        fate = f"what was computed is in {file}" if solution.run.steps else "nothing was saved"
    message = solution.message.replace("what was computed is in the solution", fate)
    typer.echo(f"polhode: {scenario.path}: {message}", err=True)
    return code


class _RunTable:
    """A line for each run as it ends. Not by Rich: importing it takes longer than many a run."""

    def __init__(self, names: list[str], quiet: bool) -> None:
        self.width = max([len("scenario"), *map(len, names)])
        self.quiet = quiet
        self.empty = True

    def row(self, scenario: Scenario, solution: Solution, files: list[Path]) -> None:
        if self.quiet:
            return
        if self.empty:
            self._line("scenario", "method", "steps", "steps/s", "energy error", "momentum error", "saved as")
        self.empty = False
        steps, seconds = solution.run.steps, solution.run.seconds
        rate = f"{steps / seconds:.2g}" if seconds else "-"
        saved = " and ".join(map(str, files))
        self._line(scenario.path.stem, solution.method, str(steps), rate, *_worst_errors(solution), saved)

    def _line(self, *cells: str) -> None:
        name, method, steps, rate, energy, momentum, saved = cells
        typer.echo(f"{name:{self.width}}  {method:8}  {steps:>10}  {rate:>8}  {energy:>12}  {momentum:>14}  {saved}")


def _worst_errors(solution: Solution) -> tuple[str, str]:
    """The largest errors of energy and momentum; a dash where the torque conserves neither."""
    errors = solution.invariant_errors
    momentum = errors.get("spatial momentum", errors.get("axial momentum"))
    energy_error, momentum_error = (
        "-" if e is None or not e.size else f"{e.max():.1e}" for e in (errors.get("energy"), momentum)
    )
    return energy_error, momentum_error


@contextmanager
def _progress(name: str, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar that appears when a run turns out to be long."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    bar: Any = None
    task: Any = None
    began = time.perf_counter()

    def progress(done: int, total: int) -> None:
        nonlocal bar, task
        spent = time.perf_counter() - began
        if bar is None and (spent < BAR_AFTER or done == total):
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


# --- what there is -------------------------------------------------------------------------------------------------


@app.command()
def methods(
    name: Annotated[str | None, typer.Argument(help="Show this one in full.")] = None,
) -> None:
    """List the methods: their orders, what they keep and what they accept."""
    from polhode.methods import catalogue, find

    if name is not None:
        try:
            _method_card(find(name))
        except ValueError as problem:
            _stop(problem)
        return
    rows = [
        (m.name, _orders(m), _kept(m), _flags(m.keeps_when_free), _accepted(m), m.cite.split(",")[0])
        for m in catalogue().values()
    ]
    _table(["method", "order", "keeps under a potential", "keeps when free", "accepts", "reference"], rows)
    typer.echo(
        "order: of momentum / attitude. accepts: torques that depend on these; a free body always. "
        "In full: polhode methods NAME"
    )


def _method_card(method: Method) -> None:
    typer.echo(f"{method.name}: {method.summary}\n")
    typer.echo(f"order                    {_orders(method)}{'' if method.order is None else ' (momentum / attitude)'}")
    if method.generalised_order:
        typer.echo(f"generalised order        {', '.join(map(str, method.generalised_order))}")
    typer.echo(f"keeps under a potential  {_kept(method)}")
    typer.echo(f"keeps when free          {_flags(method.keeps_when_free)}")
    typer.echo(f"accepts torques of       {_accepted(method)}")
    typer.echo(f"references               {method.cite.replace(',', ', ')}\n")
    typer.echo(_home(method).__doc__ or "")


def _home(method: Method) -> Any:
    """The module that describes a method: the one named after it, or the one whose text speaks of it."""
    import pkgutil
    from importlib import import_module

    from polhode import methods

    found = [import_module(f"{methods.__name__}.{m.name}") for m in pkgutil.iter_modules(methods.__path__)]
    holders = [module for module in found if method in vars(module).values()]
    return max(
        holders,
        key=lambda m: (m.__name__.endswith(f".{method.name.lower()}"), method.name in (m.__doc__ or "")),
    )


def _orders(method: Method) -> str:
    return "exact" if method.order is None else f"{method.order} / {method.attitude_order}"


def _accepted(method: Method) -> str:
    return _flags(method.accepts) if method.accepts else "free bodies only"


def _kept(method: Method) -> str:
    return _flags(method.keeps) if method.accepts else "-"


def _flags(flags: Any) -> str:
    return ", ".join(flag.name.lower().replace("_", " ") for flag in flags) or "nothing"


@app.command()
def torques(
    name: Annotated[str | None, typer.Argument(help="Show this one in full, with an example.")] = None,
) -> None:
    """List the torque models: their parameters, what they depend on, whether they have a potential."""
    from polhode.torques import catalogue, find

    if name is not None:
        try:
            _torque_card(find(name))
        except ValueError as problem:
            _stop(problem)
        return
    rows = [
        (model.__name__, ", ".join(map(_parameter, _fields(model))) or "-", _flags(model.depends), _potential(model))
        for model in catalogue().values()
    ]
    _table(["model", "parameters (= default)", "depends on", "potential"], rows)
    typer.echo("With units, explained: polhode torques NAME. A function of your own: model = 'file.py:function'.")


def _torque_card(model: type[Torque]) -> None:
    import inspect

    typer.echo(f"{model.__name__}: {inspect.getdoc(model)}\n")
    typer.echo(f"depends on  {_flags(model.depends)}")
    typer.echo(f"potential   {_potential(model)}\n")
    docs = _field_docs(model)
    for field in _fields(model):
        typer.echo(f"{_parameter(field)}\n    {docs.get(field.name, '')}")
    typer.echo(f"\nIn a scenario file:\n\n[torque]\n{_example(model)}")


def _fields(model: type[Torque]) -> tuple[Any, ...]:
    from dataclasses import fields

    return fields(model)  # type: ignore[arg-type]  # every model is a dataclass


def _parameter(field: Any) -> str:
    from dataclasses import MISSING

    return field.name if field.default is MISSING else f"{field.name} = {_toml(field.default)}"


def _potential(model: type[Torque]) -> str:
    from polhode.torques import Torque

    return "no" if model.potential_kernel is Torque.potential_kernel else "yes"


def _field_docs(model: type[Torque]) -> dict[str, str]:
    """The string below each field, as in the source: Python itself forgets it."""
    import ast
    import inspect
    from itertools import pairwise

    body = ast.parse(inspect.getsource(model)).body[0]
    assert isinstance(body, ast.ClassDef)
    docs = {}
    for field, text in pairwise(body.body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
            docs[field.target.id] = " ".join(str(ast.literal_eval(text.value)).split())
    return docs


def _example(model: type[Torque]) -> str:
    """A [torque] table that works: defaults where there are, plausible numbers where there are none."""
    from dataclasses import MISSING
    from typing import get_type_hints

    hints = get_type_hints(model)
    lines = [f'model = "{model.__name__}"']
    for field in _fields(model):
        value = _plausible(hints[field.name]) if field.default is MISSING else field.default
        lines.append(f"{field.name} = {_toml(value)}")
    return "\n".join(lines)


def _plausible(hint: Any) -> Any:
    """A value of this type; of several types the first."""
    from typing import get_args

    inner = get_args(hint)
    if not inner:
        return 1.0
    if inner == (float, float, float):
        return (0.0, 0.0, 1.0)
    if getattr(hint, "__origin__", None) is tuple:
        return tuple(_plausible(x) for x in inner if x is not Ellipsis)
    return _plausible(inner[0])


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)


@app.command()
def bodies() -> None:
    """List the named bodies of the literature."""
    from polhode.body import NAMED

    rows = [(b.name, ", ".join(f"{m:g}" for m in b.moments), b.source, b.note) for b in NAMED.values()]
    _table(["body", "moments, kg m^2", "source", "what it is"], rows)


def _table(headers: Sequence[str], rows: Sequence[tuple[str, ...]]) -> None:
    """A table as wide as the terminal; in a pipe as wide as it needs to be."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(*headers, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    tty = sys.stdout.isatty() or "COLUMNS" in os.environ
    Console(width=None if tty else 500, highlight=False, markup=False).print(table)


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
    from polhode.torques import catalogue

    picture = result.parent / f"{result.stem}.png"
    if plot and (problem := _unwritable(picture, force)):
        _stop(problem)
    try:
        solution = polhode.load(result)
    except (OSError, ValueError, TypeError) as problem:
        _stop(f"{result}: {problem.strerror if isinstance(problem, OSError) and problem.strerror else problem}")
    if title := solution.metadata.get("title"):
        typer.echo(f"{title}\n")
    done = solution.run
    typer.echo(f"body      {solution.body}")
    model = solution.torque.name in catalogue()
    typer.echo(f"torque    {solution.torque if model else f'{solution.torque.name}, a function of the user'}")
    typer.echo(f"method    {solution.method}, step {solution.step:g} s")
    typer.echo(f"time      {done.t_start:g} to {solution.t_last:g} s, {done.steps} steps, {solution.t.size} rows")
    typer.echo(f"ended     {solution.message}\n")
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
