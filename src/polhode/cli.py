"""The command line: parse, call, print. Everything costly is imported by the command that needs it."""

from __future__ import annotations

import errno
import io
import math
import os
import shutil
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, NoReturn

import typer

from polhode import __version__
from polhode.views.text import cell_width, one_line, padded, printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from polhode import Comparison, Ensemble, Reduced
    from polhode._arrays import Floats
    from polhode.io.netcdf import Contents
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
    warnings.formatwarning = lambda message, *_: f"polhode: {printable(str(message))}\n"
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal may not know all letters
    code: Any = 0
    try:
        app()
    except SystemExit as end:
        code = end.code
    except OSError as problem:  # in what Typer prints itself, such as --help: commands print by `_say`
        if problem.errno not in (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EBADF):
            raise
        _silence(problem, err=False)
    _flush()
    if _unprinted and not code:
        _say(f"polhode: cannot print: {_unprinted[0]}", err=True)
        code = FAILED
    sys.exit(code)


_unprinted: list[str] = []
"""Why the output could not be printed, unless its reader has gone."""


def _say(text: object = "", *, err: bool = False) -> None:
    """Prints a text, in which nothing is a command to the terminal.

    If its reader has gone, the program goes on in silence.
    """
    _print(f"{printable(str(text))}\n", err=err)


def _print(text: str, *, err: bool = False) -> None:
    try:
        typer.echo(text, nl=False, err=err)
    except OSError as problem:
        _silence(problem, err=err)


def _silence(problem: OSError, *, err: bool) -> None:
    """Sends the rest of the output nowhere: its reader has gone (`| head`), or the disk is full."""
    if not err and problem.errno != errno.EPIPE:
        _unprinted.append(problem.strerror or str(problem))
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, (sys.stderr if err else sys.stdout).fileno())
        os.close(nowhere)


def _flush() -> None:
    """Prints what is left, before Python itself would complain."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError as problem:
            _silence(problem, err=stream is sys.stderr)


def _version(wanted: bool) -> None:
    if wanted:
        _say(f"polhode {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def _stop(message: object, code: int = BAD_INPUT) -> NoReturn:
    _say(f"polhode: {message}", err=True)
    raise typer.Exit(code)


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Makes SIGTERM and SIGHUP stop a command as Ctrl-C does, so that it saves what it has.

    The exit code is 128 + the number of the signal.
    """
    received: list[int] = []

    def stop(number: int, frame: Any) -> None:
        received.append(number)
        as_ctrl_c = signal.getsignal(signal.SIGINT)
        if callable(as_ctrl_c):
            as_ctrl_c(signal.SIGINT, frame)
        else:  # a job in the background ignores Ctrl-C
            raise KeyboardInterrupt

    before: dict[int, Any] = {}
    with suppress(ValueError):  # not in the main thread
        for number in _STOPPING:
            if signal.getsignal(number) is signal.SIG_DFL:  # nohup has SIGHUP ignored
                before[number] = signal.signal(number, stop)
    try:
        yield
    except typer.Exit as end:
        if received and end.exit_code == INTERRUPTED:
            raise typer.Exit(128 + received[0]) from None
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


_STOPPING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def _masked(how: str) -> Iterator[None]:
    """Blocks or unblocks the signals that stop a command, where there are such masks."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(getattr(signal, how), {signal.SIGINT, *_STOPPING})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _not_stopped() -> AbstractContextManager[None]:
    """Lets signals wait: what is computed is saved and reported, even if Ctrl-C is pressed a second time."""
    return _masked("SIG_BLOCK")


# --- run -----------------------------------------------------------------------------------------------------------


TRUST_HELP = "Allow scenarios to execute Python files (model = 'file.py:function') that lie outside their folders."


@app.command()
@_stopped_by_signals()
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
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing unless something is wrong.")] = False,
    trust: Annotated[bool, typer.Option("--trust", help=TRUST_HELP)] = False,
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
        _stop("interrupted", INTERRUPTED)
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
    """Returns every scenario with the files it will write, checked as far as possible without running anything.

    Python files that scenarios name are executed when nothing else is wrong with any of them.
    """
    from polhode.io.tables import FORMATS
    from polhode.scenario import Draft, ScenarioError, check_scenario

    endings = [p for p in save if p.name.removeprefix(".") in FORMATS and p.parent == Path()]
    named = [p for p in save if p not in endings]
    single = out if out is not None and out.suffix.removeprefix(".") in FORMATS else None
    for option, file in [("--out", single), *(("--save", p) for p in named)]:
        if file is not None and len(paths) > 1:
            remedy = (
                "a directory" if option == "--out" else f"the ending alone, as in --save {file.suffix[1:] or 'csv'}"
            )
            _stop(f"{option} {file} is one file, but there are {len(paths)} scenarios: give {remedy}")
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
            p for file in results if (p := _no_format(file, is_reduced=many is not None and bool(many.reduce)))
        ]  # fmt: skip
        if other := next((w for file in results if (w := writers.setdefault(file, path)) is not path), None):
            problems.append(f"{other} and {path} would both write {first}: give one of them another [output] file")
            continue
        written = [name for file in results for name in _names(file, is_ensemble=many is not None)]
        problems += [p for file in (*written, picture) if file and (p := _unwritable(file, force))]
    jobs: list[_Job] = []
    for draft, results, picture in [] if problems else found:
        try:
            jobs.append(_Job(draft.scenario(), results, picture, force))
        except ScenarioError as problem:
            problems.append(str(problem))
    if problems:
        _stop("\npolhode: ".join(dict.fromkeys("\n".join(problems).splitlines())))
    return jobs


def _no_format(file: Path, *, is_reduced: bool = False) -> str | None:
    """Returns why a result cannot be saved in the format of this name, or None if it can."""
    from polhode.io.tables import check_format

    try:
        ending = check_format(file)
    except (ValueError, ModuleNotFoundError) as problem:
        return str(problem)
    if ending != "nc" and is_reduced:
        return f"{file} would be a table of motions, but reductions keep none: save them as .nc"
    return None


def _names(file: Path, *, is_ensemble: bool) -> list[Path]:
    """Returns the files that are written for one name: tables of an ensemble are two."""
    from polhode.io.tables import beside

    return [file, Path(beside(file, "bodies"))] if is_ensemble and file.suffix != ".nc" else [file]


def _write(made: Solution | Ensemble | Reduced, file: Path, force: bool, quantities: Sequence[str]) -> None:
    """Writes a result in the format of the name's ending."""
    from polhode import Reduced

    if file.suffix == ".nc" or isinstance(made, Reduced):
        made.save(file, overwrite=force)
    elif file.suffix == ".csv":
        made.to_csv(file, quantities=quantities, overwrite=force)
    else:
        made.to_parquet(file, quantities=quantities, overwrite=force)


def _unwritable(file: Path, force: bool, option: str = "--out") -> str | None:
    """Returns why this file cannot be written, or None if it can; makes its directory.

    `option` is the option of the command that chooses another place, or empty if there is none.
    """
    import tempfile

    try:
        if file.is_dir():
            return f"{file} is a directory: {f'use {option} to write elsewhere' if option else 'move it away'}"
        if file.is_symlink() and not file.exists():
            return f"{file} is a link to {os.readlink(file)}, which does not exist: remove the link"
        if os.path.lexists(file) and not force:
            elsewhere = f", or {option} to write elsewhere" if option else ""
            return f"{file} exists already: use --force to overwrite it{elsewhere}"
        file.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            os.lstat(file)  # a name may be too long
        with tempfile.TemporaryFile(dir=file.parent):
            return None
    except (OSError, ValueError) as problem:  # ValueError: a name with a null character
        why = problem.strerror if isinstance(problem, OSError) and problem.strerror else problem
        elsewhere = f"use {option} to write elsewhere" if option else "copy the result elsewhere first"
        if isinstance(problem, OSError) and problem.errno == errno.ENAMETOOLONG:
            elsewhere = "give it a shorter name"
        return f"cannot write {file}: {why}; {elsewhere}"


def _run_one(job: _Job, table: _RunTable, quiet: bool) -> int:
    """Runs a scenario, saves and reports the result, and returns the exit code."""
    from polhode import SimulationFailed, SimulationInterrupted
    from polhode.compiled import is_from_callback

    scenario = job.scenario

    def on_compile() -> None:
        if not quiet:
            method = scenario.method.name if scenario.method else "a method"
            _say(f"compiling {method} with {scenario.torque.name}, once ...", err=True)

    if scenario.many is not None:
        return _run_many(job, table, quiet, on_compile)
    try:
        with _progress(scenario.path.stem, quiet) as progress:
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
        _say(f"polhode: {scenario.path}: {problem}", err=True)
        return BAD_INPUT
    with _not_stopped():
        return _report_one(job, solution, table)


def _report_one(job: _Job, solution: Solution, table: _RunTable) -> int:
    """Saves, draws and reports a solution, and returns the exit code."""
    path = job.scenario.path
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        solution = solution.with_known_potential()
    if caught:  # the user's potential failed
        _say(f"polhode: {path}: {caught[0].message}", err=True)
    kept = _kept_all(job, solution)
    for problem in kept.problems:
        _say(f"polhode: {path}: {problem}", err=True)
    drawn = _drawn(job, solution)
    table.row(job.scenario, solution, [*kept.files, *filter(None, [drawn.file])])
    return FAILED if kept.problems or drawn.problem else 0


def _run_many(job: _Job, table: _RunTable, quiet: bool, on_compile: Callable[[], None]) -> int:
    """Runs a scenario with an [ensemble] and returns the exit code: that of a failure only if all bodies failed."""
    from polhode import EnsembleInterrupted, Reduced
    from polhode.compiled import is_from_callback

    code, scenario = 0, job.scenario
    try:
        with _progress(scenario.path.stem, quiet) as progress:
            made = scenario.ensemble(progress, on_compile)
    except EnsembleInterrupted as stopped:
        made, code = stopped.ensemble, INTERRUPTED
    except Exception as problem:
        reason = "; ".join([str(problem), *getattr(problem, "__notes__", [])])
        if is_from_callback(problem):
            reason = f"{type(problem).__name__}: {reason}"
        elif not isinstance(problem, ValueError | TypeError | MemoryError):  # with these ensemble refuses its input
            raise
        _say(f"polhode: {scenario.path}: {reason}", err=True)
        if not (is_from_callback(problem) and hasattr(problem, "ensemble")):
            return BAD_INPUT
        made, code = problem.ensemble, FAILED
    bodies = made.count if isinstance(made, Reduced) else len(made)
    failed = made.failed if isinstance(made, Reduced) else int((~made.success).sum())
    if code and not made.stats.steps:
        _say(f"polhode: {scenario.path}: interrupted; nothing was saved", err=True)
        return code
    if failed and not code:
        first, why = next(iter(made.messages.items()))
        _say(f"polhode: {scenario.path}: {failed} of {bodies} bodies failed; number {first}: {why}", err=True)
        code = FAILED if failed == bodies else 0
    with _not_stopped():
        kept = _kept_all(job, made)
        if code == INTERRUPTED:
            _say(f"polhode: {scenario.path}: interrupted; {kept.fate}", err=True)
            return code
        for what in kept.problems:
            _say(f"polhode: {scenario.path}: {what}", err=True)
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
    with _not_stopped():
        fate = "nothing was saved"
        if solution.stats.steps:
            fate = _kept_all(job, solution).fate
        message = solution.message.replace("what was computed is in the solution", fate)
        _say(f"polhode: {job.scenario.path}: {message}", err=True)
    return code


class _Kept(NamedTuple):
    """Says where something was saved, and what went wrong."""

    file: Path | None = None
    problem: str = ""


class _KeptAll(NamedTuple):
    """Says where the files of a result were saved, and what went wrong."""

    files: list[Path]
    problems: list[str]

    @property
    def fate(self) -> str:
        """What became of the result, in words."""
        return "; ".join(self.problems) or f"what was computed is in {' and '.join(map(str, self.files))}"


def _kept_all(job: _Job, made: Solution | Ensemble | Reduced) -> _KeptAll:
    """Saves a result in all its formats."""
    kept = [
        _kept(name, job.force, lambda file, force: _write(made, file, force, job.scenario.quantities))
        for name in job.results
    ]
    return _KeptAll([k.file for k in kept if k.file], [k.problem for k in kept if k.problem])


def _kept(file: Path, force: bool, save: Callable[[Path, bool], None]) -> _Kept:
    """Saves a result: at its place if that can be done, else where it can be, rather than to lose it.

    `save` takes a place, and whether a file there may be replaced.
    """
    try:
        save(file, force)
        return _Kept(file)
    except FileExistsError:
        return _kept_beside(file, force, save)
    except OSError as failure:
        return _kept_elsewhere(file, force, save, failure)
    except ValueError as problem:  # more than the format can hold
        return _Kept(problem=f"cannot save the result: {problem}")


def _kept_beside(file: Path, force: bool, save: Callable[[Path, bool], None]) -> _Kept:
    """Saves a result whose name another program has taken during the run, under the next name that is free."""
    for number in count(2):
        other = file.with_name(f"{file.stem}-{number}{file.suffix}")
        try:
            save(other, False)
        except FileExistsError:
            continue
        except OSError as failure:
            return _kept_elsewhere(file, force, save, failure)
        return _Kept(other, f"{file} appeared during the run and was left as it is; the result is in {other}")
    raise AssertionError  # there is always another number


def _kept_elsewhere(file: Path, force: bool, save: Callable[[Path, bool], None], failure: OSError) -> _Kept:
    """Saves a result for which its own place has no room: in a temporary directory, or when the user has made room."""
    import tempfile

    for place in _other_places():
        try:
            directory = Path(tempfile.mkdtemp(prefix="polhode-", dir=place))
        except OSError:
            continue
        try:
            save(directory / file.name, False)
        except (OSError, ValueError):
            with suppress(OSError):
                directory.rmdir()
            continue
        return _Kept(directory / file.name, f"{failure}; the result is in {directory / file.name}: move it from there")
    while _is_terminal(sys.stdin) and _is_terminal(sys.stderr):
        _print(printable(f"polhode: {failure}. Make room and press Enter to try again, or type q: "), err=True)
        if _answer() != "":
            break
        try:
            save(file, force)
        except FileExistsError:
            return _kept_beside(file, force, save)
        except OSError as problem:
            failure = problem
        else:
            return _Kept(file)
    return _Kept(problem=f"the result could not be saved: {failure}")


def _other_places() -> list[str]:
    """Returns directories in which there may be room; to look for one fails itself where there is none."""
    import tempfile

    places = []
    for look in (tempfile.gettempdir, lambda: "/var/tmp", lambda: str(Path.home()), os.getcwd):
        with suppress(OSError, RuntimeError):
            places.append(look())
    return list(dict.fromkeys(places))


def _answer() -> str:
    """Returns what the user types; q at the end of the input, and at Ctrl-C, which is otherwise held while saving."""
    try:
        with _masked("SIG_UNBLOCK"):
            line = sys.stdin.readline()
    except KeyboardInterrupt:
        return "q"
    return line.strip() if line else "q"


def _drawn(job: _Job, made: Solution | Ensemble | Reduced) -> _Kept:
    """Draws the picture of a result, if one is wanted; says so if it cannot be drawn."""
    if job.picture is None:
        return _Kept()
    from polhode.solution import Solution
    from polhode.views.plot import save

    try:
        figure = made.plot(quantities=job.scenario.quantities) if isinstance(made, Solution) else made.plot()
        kept = _kept(job.picture, job.force, lambda file, force: save(figure, file, overwrite=force))
    except (ValueError, MemoryError) as problem:  # nothing to draw
        kept = _Kept(problem=f"no picture was drawn: {problem}")
    if kept.problem:
        _say(f"polhode: {job.scenario.path}: {kept.problem}", err=True)
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
                "scenario", "method", "steps", "steps/s", "error estimate", "energy error", "momentum error", "saved as"
            )
        self.empty = False
        rate = f"{stats.steps / stats.seconds:.2g}" if stats.seconds else "-"
        method = "-" if plan is None else plan.method.name
        stated = "-" if estimate is None else f"{estimate:.1e}"
        self._line(scenario.path.stem, method, str(stats.steps), rate, stated, energy, momentum, saved)

    def _line(self, *cells: str) -> None:
        name, method, *numbers, saved = map(one_line, cells)
        first, second, *others = self.widths
        columns = [f"{number:>{width}}" for number, width in zip(numbers, others, strict=True)]
        if len(method) > second:  # a line of its own, so that the columns stay in line
            _say(f"{padded(name, first)}  {method}")
            name = method = ""
        _say("  ".join([padded(name, first), padded(method, second), *columns, saved]))


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
    if quiet or not _is_terminal(sys.stderr):
        yield None
        return
    bar: Any = None
    task: Any = None
    gone = False
    began = time.perf_counter()

    def progress(done: int, total: int) -> None:
        nonlocal bar, task, gone
        spent = time.perf_counter() - began
        if gone or (bar is None and (spent < BAR_AFTER_SECONDS or done == total)):
            return
        rate = done / spent
        shown = {"completed": done, "rate": rate, "left": _clock((total - done) / rate)}
        try:
            if bar is None:
                bar = _bar()
                bar.start()
                task = bar.add_task(one_line(name), total=total, **shown)
            bar.update(task, refresh=True, **shown)
        except OSError:  # the terminal was closed: the run goes on
            gone = True

    try:
        yield progress
    finally:
        if bar is not None:
            with suppress(OSError):
                bar.stop()


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
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
@_stopped_by_signals()
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
    trust: Annotated[bool, typer.Option("--trust", help=TRUST_HELP)] = False,
) -> None:
    """Compare methods on the motion of a scenario: errors against cost.

    Errors are measured against the exact motion if the body is free, else against a much more accurate computation,
    whose uncertainty is stated. Without --methods, the scenario's method is compared with Strang (Exact, if free),
    RK4 and DOP853, as far as they accept the torque. A method with a tolerance is run with rtol from 1e-4 to 1e-12.
    Prints a table, and saves the picture and all numbers as SCENARIO_compare.png, .svg and .nc.
    A Python file that the scenario names is executed, as with `polhode run`.
    Exit codes: 0 all went well (the table shows runs that failed); 1 the reference could not be computed, or a result
    had to be saved elsewhere than asked for; 2 bad input; 130 interrupted, 143 terminated, 129 hung up (what was
    computed is saved).
    """
    from polhode import ComparisonInterrupted, SimulationFailed
    from polhode import compare as compared
    from polhode._compare import halvings
    from polhode.compiled import CompilationFailed
    from polhode.scenario import ScenarioError, check_scenario

    def on_compile(what: str) -> None:
        if not quiet:
            _say(what, err=True)

    try:
        files = [out / f"{scenario.stem}_compare{ending}" for ending in (".nc", ".png", ".svg")]
        try:
            draft = check_scenario(scenario, trust=trust)
            if problems := [p for file in files if (p := _unwritable(file, force, "--output"))]:
                _stop("\npolhode: ".join(problems))
            given = draft.scenario()
        except ScenarioError as problem:
            _stop("\npolhode: ".join(str(problem).splitlines()))
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
        with _not_stopped():
            code = max(code, _report(done, given.title, files, force))
    except KeyboardInterrupt:
        _stop("interrupted before a run was finished; nothing was saved", INTERRUPTED)
    raise typer.Exit(code)


def _report(comparison: Comparison, title: str, files: list[Path], force: bool) -> int:
    """Prints the table, then saves the comparison: if saving fails, the numbers have been seen."""
    from dataclasses import replace

    from polhode.views.plot import save

    _say(comparison.table())
    comparison = replace(comparison, title=title)
    figure = comparison.plot()
    data, *pictures = files
    kept = [_kept(data, force, lambda file, force: comparison.save(file, overwrite=force))]
    kept += [_kept(p, force, lambda file, force: save(figure, file, overwrite=force)) for p in pictures]
    for one in kept:
        if one.problem:
            _say(f"polhode: {one.problem}", err=True)
    saved = [str(one.file) for one in kept if one.file]
    if saved:
        _say(f"Saved as {' and '.join(filter(None, [', '.join(saved[:-1]), saved[-1]]))}.")
    return FAILED if any(one.problem for one in kept) else 0


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
def fmu(
    scenario: Annotated[Path, typer.Argument(help="The scenario file.")],
    out: Annotated[
        Path | None, typer.Option(help="The file to write, or its directory; default: the scenario's name, here.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that exists.")] = False,
) -> None:
    """Write a scenario as a co-simulation unit (FMI 2.0), for other simulators.

    Its inputs are a torque in body axes, its outputs attitude and rate. The Python of the other program must have
    polhode installed. Needs the extra `fmu`: pip install 'polhode[fmu]'. Exit codes: 0 written, 2 bad input.
    """
    from polhode.fmu import identifier, write_unit

    named = f"{identifier(scenario.stem)}.fmu"
    target = Path(named) if out is None else out / named if out.suffix != ".fmu" or out.is_dir() else out
    if problem := _unwritable(target, force):
        _stop(problem)
    try:
        _say(f"wrote {write_unit(scenario, target, overwrite=force)}")
    except (ValueError, OSError, ModuleNotFoundError) as problem:
        _stop(problem)


@app.command()
@_stopped_by_signals()
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
    whatever the verdicts; 1 a figure could not be made; 2 bad input; 130 interrupted, 143 terminated, 129 hung up (the
    report has what was done).
    """
    from polhode.papers._command import listing, run
    from polhode.papers._study import Size, chosen

    try:
        studies = chosen(what or [])
        if show:
            listing(studies, _say)
            return
        outcomes = run(studies, out, Size.QUICK if quick else Size.FULL, _say, go_on=go_on)
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
            _say(cards.method_table(width) if every else cards.start_table(width))
        return
    try:
        method = find(name)
    except (ValueError, TypeError) as problem:
        _stop(problem)
    if as_json:
        _echo_json(cards.method_record(method))
    else:
        _say(cards.method_card(method, min(width or LINE_CHARACTERS, LINE_CHARACTERS)))


def _echo_json(value: object) -> None:
    import json

    _say(json.dumps(value, indent=2))


@app.command()
def torques(
    name: Annotated[str | None, typer.Argument(help="Show this model in full, with an example.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The model, or all of them, as JSON.")] = False,
) -> None:
    """List the torque models: their parameters, what they depend on, whether they have a potential."""
    from polhode.torques import catalogue, find
    from polhode.views import cards

    if name is not None:
        try:
            model = find(name)
        except ValueError as problem:
            _stop(problem)
        if as_json:
            _echo_json(cards.torque_record(model))
        else:
            _say(cards.torque_card(model))
        return
    if as_json:
        _echo_json([cards.torque_record(model) for model in catalogue().values()])
        return
    _table(*cards.torque_rows())
    _say("For units and an example: polhode torques NAME. For a function of your own: model = 'file.py:function'.")


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
        table.add_row(*map(one_line, row))
    drawn = io.TextIOWrapper(io.BytesIO(), getattr(sys.stdout, "encoding", None) or "utf-8", "backslashreplace")
    terminal = _is_terminal(sys.stdout) or None  # None: as the environment wants it
    Console(file=drawn, width=_width() or 500, force_terminal=terminal, highlight=False, markup=False).print(table)
    drawn.seek(0)
    _print(drawn.read())


def _width() -> int | None:
    """Returns the width of the terminal, or None in a pipe, where there is no limit."""
    if _is_terminal(sys.stdout) or "COLUMNS" in os.environ:
        return shutil.get_terminal_size().columns
    return None


def _is_terminal(stream: Any) -> bool:
    return stream is not None and not stream.closed and bool(stream.isatty())


# --- show ----------------------------------------------------------------------------------------------------------


@app.command()
def show(
    result: Annotated[Path, typer.Argument(metavar="RESULT.nc", help="A file that polhode saved.")],
    plot: Annotated[bool, typer.Option("--plot", help="Draw a PNG beside it.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the PNG if it exists.")] = False,
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
    from polhode.io import netcdf

    picture = result.parent / f"{result.stem}.png"
    if plot and (problem := _unwritable(picture, force, option="")):
        _stop(problem)
    if save is not None and (problem := _no_format(save) or _unwritable(save, force, option="--save")):
        _stop(problem)
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
        _stop(why if why.startswith(str(result)) else f"{result}: {why}")
    if save is not None:
        _save_as(result, save, force, quantity or [])
    if plot:
        from polhode.views.plot import save as draw

        if figure is None:
            _stop(f"{result} holds nothing over time that could be drawn: leave --plot out", FAILED)
        kept = _kept(picture, force, lambda file, force: draw(figure, file, overwrite=force))
        if kept.problem:
            _stop(kept.problem, FAILED)
        _say(f"plotted as {kept.file}")


def _save_as(result: Path, file: Path, force: bool, quantities: list[str]) -> None:
    """Saves what a result file holds in another format."""
    from polhode import load

    try:
        made = load(result)
        for name in _names(file, is_ensemble=hasattr(made, "bodies_to_dataframe")):
            if problem := _unwritable(name, force, option="--save"):
                _stop(problem)
        _write(made, file, force, quantities)
    except (OSError, ValueError) as problem:
        _stop(problem)
    _say(f"saved as {file}")


def _show_one(result: Path, rows: int, plot: bool, quantities: list[str]) -> Figure | None:
    """Shows a solution, and returns its picture if that is wanted."""
    import numpy as np

    import polhode
    from polhode.io.records import TorqueFromFile, describe_torque
    from polhode.solution import read_quantities
    from polhode.torques import get

    wanted = read_quantities(quantities)
    solution = polhode.load(result)
    if title := solution.metadata.get("title"):
        _say(f"{one_line(str(title))}\n")
    torque = describe_torque(solution.torque)
    if isinstance(solution.torque, TorqueFromFile) and get(solution.torque.name) is None:
        torque += ", a function of the user, which the file does not keep"
    _field("body", solution.body)
    _field("torque", torque)
    _field("method", f"{solution.method}, step {solution.step:g} s")
    _field(
        "time",
        f"{solution.problem.t_start:g} to {solution.t_last:g} s, {solution.stats.steps} steps, {solution.t.size} rows",
    )
    _field("ended", solution.message)
    if solution.error_estimate is not None:
        _field("estimate", f"error at most {solution.error_estimate:.1e}")
    for event in solution.events:
        _field("event", f"{event.metadata['event']}, {_times_of(event.t)}")
    _say()
    _say("largest relative change of what the exact motion conserves:")
    for name, error in solution.invariant_errors.items():
        _say(f"    {name:18}{error.max() if error.size else 0.0:.1e}")
    _say()
    picked = np.unique(np.linspace(0, solution.t.size - 1, min(rows, solution.t.size)).round().astype(int))
    headers = ["t, s", "omega, rad/s", "", "", "quaternion (scalar first)", "", "", ""]
    headers += [text for x in wanted for text in (str(x), *[""] * (len(x.labels) - 1))]
    others = np.concatenate([x(solution).reshape(solution.t.size, -1) for x in wanted], axis=1) if wanted else None
    cells = [
        (solution.t[i], *solution.omega[i], *solution.quaternion[i], *(() if others is None else others[i]))
        for i in picked
    ]
    if cells:
        _table(headers, [tuple(f"{x:.6g}" for x in row) for row in cells])
    return solution.plot(quantities=quantities) if plot else None


def _field(name: str, value: object) -> None:
    """Prints one line of a description."""
    _say(f"{name:9} {one_line(str(value))}")


def _times_of(t: Floats, most: int = 6) -> str:
    """Returns the times of an event as text."""
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

    from polhode.core.status import Status

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
    _field("ensemble", f"{bodies:.0f} bodies, {failed:.0f} failed{also}")
    _field("torque", torque)
    _field("method", f"{method}, step {float(str(about['step'])):g} s" if "step" in about else method)
    if "time" in variables and (t := variables["time"].data).size:
        _field("time", f"{t[0]:g} to {t[-1]:g} s, {t.size} rows")
    if "seed" in about:
        _field("seed", f"{about['seed']:.0f}" if isinstance(about["seed"], float) else about["seed"])
    _say()
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
    _table(["what", "unit", "shape", "least", "mean", "greatest"], rows)
    open_it = "polhode.load" if str(about.get("format")) == "polhode ensemble" else "xarray.open_dataset"
    _say(f"\nfor the numbers themselves: {open_it}({str(result)!r})")
    if not plot:
        return None
    from polhode.views.plot_many import Drawable, draw

    table = {name: Drawable(v.dimensions, v.data, v.attributes) for name, v in variables.items()}
    return draw(table, f"{bodies:,.0f} bodies, {one_line(torque)}, {one_line(method)}")


# --- export --------------------------------------------------------------------------------------------------------


@app.command()
def export(
    result: Annotated[Path, typer.Argument(metavar="RESULT.nc", help="A file that polhode saved.")],
    out: Annotated[Path, typer.Argument(metavar="OUT.aem", help="The file to write: it ends in .aem, .apm or .bc.")],
    object_name: Annotated[str | None, typer.Option(help="The name of the spacecraft (AEM, APM).")] = None,
    object_id: Annotated[
        str | None, typer.Option(help="Its international designator, such as 2026-001A (AEM, APM).")
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
    tolerance: Annotated[float, typer.Option(help="The largest error of interpolation, in rad (AEM, CK).")] = 1e-6,
    interpolation: Annotated[str, typer.Option(help="LAGRANGE, of degree 7, or LINEAR (AEM).")] = "LAGRANGE",
    rows: Annotated[
        bool, typer.Option("--rows", help="Write the rows of the result, without a tolerance (AEM).")
    ] = False,
    at: Annotated[
        float | None, typer.Option(help="The time of the state, in s; the end if none is given (APM).")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")] = False,
) -> None:
    """Write a result for other tools: CCSDS attitudes over time (AEM) or at one time (APM), or SPICE kernels (CK).

    The rows of an AEM or a CK are chosen so that a reader who interpolates errs by at most the tolerance.
    """
    import polhode

    kind = out.suffix.lower()
    if kind not in (".aem", ".apm", ".bc"):
        _stop(f"{out} does not end in .aem, .apm or .bc: the ending says what is written")
    if kind != ".bc" and (object_name is None or object_id is None):
        _stop(f"{out} must name the spacecraft: give --object-name and --object-id")
    if problem := _unwritable(out, force, option=""):
        _stop(problem)
    about: dict[str, Any] = {"epoch": epoch, "time_system": time_system, "overwrite": force}
    named: dict[str, Any] = {"object_name": object_name, "object_id": object_id, "frames": (space_frame, body_frame)}
    try:
        solution = polhode.load(result)
        if kind == ".apm":
            solution.to_apm(out, t=at, **about, **named)
            _say(f"the state at t = {solution.t_last if at is None else at:g} s written to {out}")
            return
        if kind == ".bc":
            made = solution.to_ck(out, spacecraft_id=spacecraft_id, tolerance=tolerance, **about)
        else:
            method: dict[str, Any] = {"tolerance": None if rows else tolerance, "interpolation": interpolation}
            made = solution.to_aem(out, **method, **about, **named)
    except (OSError, ValueError, TypeError, ImportError) as failure:
        _stop(f"{result}: {failure}" if str(result) not in str(failure) else failure)
    bound = "not known" if made.bound is None else f"at most {made.bound:.2g} rad"
    segments = f"{made.segments} segment{'' if made.segments == 1 else 's'}"
    _say(f"{made.rows:,} rows in {segments} written to {out}; error of interpolation {bound}")
