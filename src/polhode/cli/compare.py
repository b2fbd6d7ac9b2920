"""`polhode compare`: methods on one motion, errors against cost."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polhode.cli._app import app
from polhode.cli._files import check_writable, keep, keep_picture, report_kept
from polhode.cli._options import Force, Quiet, Trust
from polhode.cli._signals import not_stopped, stopped_by_signals
from polhode.cli._terminal import FAILED, INTERRUPTED, say, show_progress, stop

if TYPE_CHECKING:
    from polhode import Comparison
    from polhode.methods import Method
    from polhode.scenario import Scenario


@app.command()
@stopped_by_signals()
def compare(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="The motion to compare methods on.")],
    methods: Annotated[
        str, typer.Option(help="Methods, separated by commas: 'MR2(axes=231),NMB,DOP853'. See `polhode methods`.")
    ] = "",
    steps: Annotated[
        list[str] | None,
        typer.Option(
            help="Steps in s, separated by commas; with a name before them, those of one method: --steps 0.1,0.05 "
            "--steps KL6:0.4,0.2. Default: from four times the scenario's step to a quarter."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--output", "--out", help="Directory for the results, made if need be.")
    ] = Path(),
    repeats: Annotated[int, typer.Option(min=1, help="How often a run is timed; the least time counts.")] = 5,
    force: Force = False,
    quiet: Quiet = False,
    trust: Trust = False,
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
    from polhode.compiler import CompilationFailed
    from polhode.run.integration import reason_of
    from polhode.scenario import ScenarioError, check_scenario

    def on_compile(what: str) -> None:
        if not quiet:
            say(what, err=True)

    try:
        files = [out / f"{scenario.stem}_compare{ending}" for ending in (".nc", ".png", ".svg")]
        try:
            draft = check_scenario(scenario, trust=trust)
            check_writable(*files, force=force, option="--output")
            given = draft.scenario()
        except ScenarioError as problem:
            stop("\npolhode: ".join(str(problem).splitlines()))
        problem_of = {
            name: getattr(given, name) for name in ("body", "torque", "omega", "attitude", "t_span", "t_eval")
        }
        code = 0
        try:
            with show_progress(scenario.stem, quiet) as progress:
                done = compared(
                    **problem_of,
                    methods=methods or _usual_methods(given),
                    steps=_steps(steps or [], given),
                    repeats=repeats,
                    progress=progress,
                    on_compile=on_compile,
                )
        except ComparisonInterrupted as stopped:
            done, code = stopped.comparison, INTERRUPTED
            if not done.entries:
                stop("interrupted before a run was finished; nothing was saved", INTERRUPTED)
        except (ValueError, TypeError) as problem:
            stop("\npolhode: ".join(str(problem).splitlines()))
        except (SimulationFailed, CompilationFailed) as failure:  # in the reference: failed methods are rows
            stop(f"the reference to compare with could not be computed: {reason_of(failure)}", FAILED)
        with not_stopped():
            code = max(code, _report(done, given.title, files, force))
    except KeyboardInterrupt:
        stop("interrupted before a run was finished; nothing was saved", INTERRUPTED)
    raise typer.Exit(code)


def _report(comparison: Comparison, title: str, files: list[Path], force: bool) -> int:
    """Prints the table, then saves the comparison: if saving fails, the numbers have been seen."""
    from dataclasses import replace

    say(comparison.table())
    comparison = replace(comparison, title=title)
    figure = comparison.plot()
    data, *pictures = files
    kept = keep(data, force, lambda file, force: comparison.save(file, overwrite=force))
    return 0 if report_kept(kept, *(keep_picture(figure, p, force) for p in pictures)) else FAILED


def _usual_methods(scenario: Scenario) -> list[Method | str]:
    """The scenario's own method and well-known ones that accept its torque."""
    from polhode.methods import find

    free = not scenario.torque.depends
    usual = map(find, ("Exact" if free else "Strang", "RK4", "DOP853"))
    own: list[Method | str] = [scenario.method] if scenario.method else []
    return [*own, *(m for m in usual if not m.refuses(scenario.torque.depends))]


def _step(scenario: Scenario) -> float:
    """The step of a scenario; without one a tenth of a radian at the initial rate, at most 1/40 of the span."""
    if scenario.step:
        return scenario.step
    t0, t1 = scenario.t_span
    rate = math.hypot(*scenario.omega)
    return min(abs(t1 - t0) / 40, 0.1 / rate if rate > 0 else math.inf)


def _steps(given: list[str], scenario: Scenario) -> dict[str, list[float]]:
    """The steps of each method that the options name, and those of all others."""
    from polhode.api.compare import EVERY_OTHER, halvings

    found = {}
    for text in given:
        name, colon, row = text.rpartition(":")
        try:
            found[name.strip() if colon else EVERY_OTHER] = [float(part) for part in row.replace(",", " ").split()]
        except ValueError:
            stop(f"--steps must be numbers separated by commas, such as 0.1,0.05,0.025 or KL6:0.4,0.2, not {text!r}")
    return found | ({} if EVERY_OTHER in found else {EVERY_OTHER: halvings(_step(scenario), scenario.t_span)})
