"""`polhode run`: runs scenarios and saves the results."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polhode.cli._app import app
from polhode.cli._files import (
    SavedFile,
    SavedFiles,
    file_names,
    keep,
    keep_picture,
    no_format,
    unwritable,
    write_result,
)
from polhode.cli._options import Force, Quiet, Trust
from polhode.cli._signals import not_stopped, stopped_by_signals
from polhode.cli._terminal import BAD_INPUT, FAILED, INTERRUPTED, say, show_progress, stop
from polhode.text.terminal import cell_width, one_line, padded

if TYPE_CHECKING:
    from polhode import Ensemble, Reduced
    from polhode.problem import Plan, Stats
    from polhode.scenario import Scenario
    from polhode.solution import Solution


@app.command()
@stopped_by_signals()
def run(
    scenarios: Annotated[list[Path], typer.Argument(metavar="SCENARIO.toml...", help="Scenario files.")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Directory for the results, made if need be; or, for one scenario, a file ending in .nc, .csv or "
            ".parquet."
        ),
    ] = None,
    save: Annotated[
        list[Path] | None,
        typer.Option(
            help="Save the result also as this file, by its ending: .csv and .parquet are tables. An ending alone, "
            "such as csv, saves it beside the result. It can be given several times."
        ),
    ] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw a PNG beside each result.")] = False,
    force: Force = False,
    quiet: Quiet = False,
    trust: Trust = False,
) -> None:
    """Run scenarios and save the results as NetCDF, or as tables.

    Results go to the current directory or to --out, under the name of the scenario or of its [output] table.
    Everything is checked before the first run. A scenario whose torque is a function of your own names a Python file,
    and to run the scenario executes that file, like any script: run only scenarios that you trust. The file must lie
    in the folder of the scenario, or below it, unless --trust is given.
    Exit codes: 0 all went well; 1 a run failed (what was computed is saved), or a result had to be saved elsewhere than
    asked for; 2 bad input; 130 interrupted, 143 terminated, 129 hung up (what was computed is saved).
    """
    try:
        jobs = _jobs(scenarios, out, save or [], plot, force, trust)
        table = _RunTable([job.scenario for job in jobs], quiet)
        code = 0
        for job in jobs:
            code = max(code, _run_one(job, table, quiet))
            if code == INTERRUPTED:
                break
    except KeyboardInterrupt:  # outside a simulation: while loading or compiling, or after saving
        stop("interrupted", INTERRUPTED)
    raise typer.Exit(code)


@dataclass(frozen=True)
class _Job:
    """A scenario, and the files that it will write."""

    scenario: Scenario
    results: tuple[Path, ...]
    """The files for the result, each in the format of its ending."""
    picture: Path | None
    force: bool


def _jobs(
    paths: list[Path], out: Path | None, save: list[Path], plot: bool, force: bool, trust: bool
) -> list[_Job]:  # fmt: skip
    """Every scenario with the files it will write, checked as far as possible without running anything.

    Python files that scenarios name are executed when nothing else is wrong with any of them.
    """
    from polhode.files.tables import FORMATS
    from polhode.scenario import Draft, ScenarioError, check_scenario

    endings = [p for p in save if p.name.removeprefix(".") in FORMATS and p.parent == Path()]
    named = [p for p in save if p not in endings]
    single = out if out is not None and out.suffix.removeprefix(".") in FORMATS else None
    for option, file in [("--out", single), *(("--save", p) for p in named)]:
        if file is not None and len(paths) > 1:
            remedy = (
                "a directory" if option == "--out" else f"the ending alone, as in --save {file.suffix[1:] or 'csv'}"
            )
            stop(f"{option} {file} is one file, but there are {len(paths)} scenarios: give {remedy}")
    found: list[tuple[Draft, tuple[Path, ...], Path | None]] = []
    problems: list[str] = []
    writers: dict[Path, Path] = {}
    for path in paths:
        try:
            draft = check_scenario(path, trust=trust)
        except ScenarioError as problem:
            problems.append(str(problem))
            continue
        first = single or (out or Path()) / draft.checked.file
        wanted = [first, *(first.with_suffix(name.suffix) for name in draft.checked.files[1:])]
        wanted += [*(first.with_suffix(f".{p.name.removeprefix('.')}") for p in endings), *named]
        results = tuple(dict.fromkeys(wanted))
        picture = first.with_suffix(".png") if plot or draft.checked.plot else None
        found.append((draft, results, picture))
        many = draft.checked.many
        problems += [
            p for file in results if (p := no_format(file, is_reduced=many is not None and bool(many.reduce)))
        ]  # fmt: skip
        if other := next((w for file in results if (w := writers.setdefault(file, path)) is not path), None):
            problems.append(f"{other} and {path} would both write {first}: give one of them another [output] file")
            continue
        written = [name for file in results for name in file_names(file, is_ensemble=many is not None)]
        problems += [p for file in (*written, picture) if file and (p := unwritable(file, force))]
    jobs: list[_Job] = []
    for draft, results, picture in [] if problems else found:
        try:
            jobs.append(_Job(draft.scenario(), results, picture, force))
        except ScenarioError as problem:
            problems.append(str(problem))
    if problems:
        stop("\npolhode: ".join(dict.fromkeys("\n".join(problems).splitlines())))
    return jobs


def _run_one(job: _Job, table: _RunTable, quiet: bool) -> int:
    """Runs a scenario, saves and reports the result, and returns the exit code."""
    from polhode import SimulationFailed, SimulationInterrupted
    from polhode.compiler import is_from_callback

    scenario = job.scenario

    def on_compile() -> None:
        if not quiet:
            method = scenario.method.name if scenario.method else "a method"
            say(f"compiling {method} with {scenario.torque.name}, once ...", err=True)

    if scenario.many is not None:
        return _run_many(job, table, quiet, on_compile)
    try:
        with show_progress(scenario.path.stem, quiet) as progress:
            solution = scenario.simulate(progress, on_compile)
    except SimulationInterrupted as stopped:
        return _rescued(job, stopped.solution, INTERRUPTED)
    except SimulationFailed as failure:
        return _rescued(job, failure.solution, FAILED)
    except Exception as problem:
        if is_from_callback(problem) and hasattr(problem, "solution"):
            return _rescued(job, problem.solution, FAILED)
        if not isinstance(problem, ValueError | TypeError | MemoryError):  # with these simulate refuses its input
            raise
        say(f"polhode: {scenario.path}: {problem}", err=True)
        return BAD_INPUT
    with not_stopped():
        return _report_one(job, solution, table)


def _report_one(job: _Job, solution: Solution, table: _RunTable) -> int:
    """Saves, draws and reports a solution, and returns the exit code."""
    path = job.scenario.path
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        solution = solution.with_known_potential()
    if caught:  # the user's potential failed
        say(f"polhode: {path}: {caught[0].message}", err=True)
    kept = _keep_all(job, solution)
    for problem in kept.problems:
        say(f"polhode: {path}: {problem}", err=True)
    drawn = _drawn(job, solution)
    table.row(job.scenario, solution, [*kept.files, *filter(None, [drawn.file])])
    return FAILED if kept.problems or drawn.problem else 0


def _run_many(job: _Job, table: _RunTable, quiet: bool, on_compile: Callable[[], None]) -> int:
    """Runs a scenario with an [ensemble] and returns the exit code: that of a failure only if all bodies failed."""
    from polhode import EnsembleInterrupted, Reduced
    from polhode.compiler import is_from_callback

    code, scenario = 0, job.scenario
    try:
        with show_progress(scenario.path.stem, quiet) as progress:
            made = scenario.ensemble(progress, on_compile)
    except EnsembleInterrupted as stopped:
        made, code = stopped.ensemble, INTERRUPTED
    except Exception as problem:
        reason = "; ".join([str(problem), *getattr(problem, "__notes__", [])])
        if is_from_callback(problem):
            reason = f"{type(problem).__name__}: {reason}"
        elif not isinstance(problem, ValueError | TypeError | MemoryError):  # with these ensemble refuses its input
            raise
        say(f"polhode: {scenario.path}: {reason}", err=True)
        if not (is_from_callback(problem) and hasattr(problem, "ensemble")):
            return BAD_INPUT
        made, code = problem.ensemble, FAILED
    bodies = made.count if isinstance(made, Reduced) else len(made)
    failed = made.failed if isinstance(made, Reduced) else int((~made.success).sum())
    if code and not made.stats.steps:
        say(f"polhode: {scenario.path}: interrupted; nothing was saved", err=True)
        return code
    if failed and not code:
        first, why = next(iter(made.messages.items()))
        say(f"polhode: {scenario.path}: {failed} of {bodies} bodies failed; number {first}: {why}", err=True)
        code = FAILED if failed == bodies else 0
    with not_stopped():
        kept = _keep_all(job, made)
        if code == INTERRUPTED:
            say(f"polhode: {scenario.path}: interrupted; {kept.fate}", err=True)
            return code
        for what in kept.problems:
            say(f"polhode: {scenario.path}: {what}", err=True)
        drawn = _drawn(job, made)
        saved = " and ".join(str(file) for file in (*kept.files, drawn.file) if file)
        saved += f", {bodies} bodies{f', {failed} failed' if failed else ''}"
        table.cells(scenario, made.plan, made.stats, _largest_estimate(made), "-", "-", saved)
    return max(code, FAILED if kept.problems or drawn.problem else 0)


def _largest_estimate(made: Ensemble | Reduced) -> float | None:
    import numpy as np

    estimates = getattr(made, "error_estimate", None)
    known = np.zeros(0) if estimates is None else estimates[np.isfinite(estimates)]
    return float(known.max()) if known.size else None


def _rescued(job: _Job, solution: Solution, code: int) -> int:
    """Saves what was computed by a run that did not reach its end, and returns the exit code."""
    with not_stopped():
        fate = "nothing was saved"
        if solution.stats.steps:
            fate = _keep_all(job, solution).fate
        say(f"polhode: {job.scenario.path}: {solution.message}; {fate}", err=True)
    return code


def _keep_all(job: _Job, made: Solution | Ensemble | Reduced) -> SavedFiles:
    """Saves a result in all its formats."""
    kept = [
        keep(name, job.force, lambda file, force: write_result(made, file, force, job.scenario.quantities))
        for name in job.results
    ]
    return SavedFiles([k.file for k in kept if k.file], [k.problem for k in kept if k.problem])


def _drawn(job: _Job, made: Solution | Ensemble | Reduced) -> SavedFile:
    """Draws the picture of a result, if one is wanted; says so if it cannot be drawn."""
    if job.picture is None:
        return SavedFile()
    from polhode.solution import Solution

    try:
        figure = made.plot(quantities=job.scenario.quantities) if isinstance(made, Solution) else made.plot()
        kept = keep_picture(figure, job.picture, job.force)
    except (ValueError, MemoryError) as problem:  # nothing to draw
        kept = SavedFile(problem=f"no picture was drawn: {problem}")
    if kept.problem:
        say(f"polhode: {job.scenario.path}: {kept.problem}", err=True)
    return kept


class _RunTable:
    """Prints a line for each run as it ends. It does not use Rich, whose import takes longer than many runs."""

    AUTO_CHARACTERS = 20
    """Room for the name of a method that is still to be chosen."""

    def __init__(self, scenarios: list[Scenario], quiet: bool) -> None:
        self.widths = (
            max([len("scenario"), *(cell_width(one_line(s.path.stem)) for s in scenarios)]),
            max([len("method"), *(len(s.method.name) if s.method else self.AUTO_CHARACTERS for s in scenarios)]),
            10, 8, 14, 12, 14,
        )  # fmt: skip
        self.quiet = quiet
        self.empty = True

    def row(self, scenario: Scenario, solution: Solution, files: list[Path]) -> None:
        """Prints the line of a solution."""
        if not self.quiet:
            saved = " and ".join(map(str, files)) or "not saved"
            estimate, errors = solution.error_estimate, _worst_errors(solution)
            self.cells(scenario, solution.plan, solution.stats, estimate, *errors, saved)

    def cells(
        self, scenario: Scenario, plan: Plan | None, stats: Stats, estimate: float | None, energy: str, momentum: str,
        saved: str,
    ) -> None:  # fmt: skip
        """Prints a line, also for results without errors of energy and momentum."""
        if self.quiet:
            return
        if self.empty:
            self._line(
                "scenario", "method", "steps", "time, s", "error estimate", "energy error", "momentum error", "saved as"
            )
        self.empty = False
        spent = f"{stats.seconds:.2g}" if stats.seconds else "-"
        method = "-" if plan is None else plan.method.name
        stated = "-" if estimate is None else f"{estimate:.1e}"
        self._line(scenario.path.stem, method, str(stats.steps), spent, stated, energy, momentum, saved)

    def _line(self, *cells: str) -> None:
        name, method, *numbers, saved = map(one_line, cells)
        first, second, *others = self.widths
        columns = [f"{number:>{width}}" for number, width in zip(numbers, others, strict=True)]
        if len(method) > second:  # a line of its own, so that the columns stay in line
            say(f"{padded(name, first)}  {method}")
            name = method = ""
        say("  ".join([padded(name, first), padded(method, second), *columns, saved]))


def _worst_errors(solution: Solution) -> tuple[str, str]:
    """The largest errors of energy and momentum as text: a dash for one that the torque does not conserve."""
    errors = solution.invariant_errors
    momentum = errors.get("spatial momentum", errors.get("axial momentum"))
    energy_error, momentum_error = (
        "-" if e is None or not e.size else f"{e.max():.1e}" for e in (errors.get("energy"), momentum)
    )
    return energy_error, momentum_error
