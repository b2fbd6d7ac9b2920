"""`polhode fit`: a body, its start and its torque from measured rates and attitudes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polhode.cli._app import app
from polhode.cli._files import check_writable, keep_picture, report_kept
from polhode.cli._options import (
    AllowUnphysical,
    AsJson,
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
from polhode.cli._terminal import FAILED, INTERRUPTED, echo_json, say, stop

if TYPE_CHECKING:
    from polhode import Fit


@app.command()
@stopped_by_signals()
def fit(
    data: Annotated[
        list[Path],
        typer.Argument(metavar="DATA...", help="CSV or Parquet tables, .npz, results of polhode (.nc), or AEM files."),
    ],
    body: BodyText = None,
    allow_unphysical: AllowUnphysical = False,
    free: Annotated[
        str, typer.Option(help="What is fitted, separated by commas: 'ratios,omega,attitude,torque.coefficient'.")
    ] = "moments,omega",
    torque: TorqueText = None,
    omega: Annotated[
        tuple[float, float, float] | None,
        typer.Option(
            metavar="X Y Z", help="The rate at the first time, in rad/s: a guess, or known if it is not free."
        ),
    ] = None,
    attitude: Annotated[
        tuple[float, float, float, float] | None,
        typer.Option(
            metavar="W X Y Z",
            help="The attitude at the first time, body to space, scalar first: a guess, or known if it is not free.",
        ),
    ] = None,
    scenario: ScenarioFile = None,
    sigma_omega: Annotated[float | None, typer.Option(help="Standard deviation of the rates, rad/s.")] = None,
    sigma_attitude: Annotated[float | None, typer.Option(help="Standard deviation of the attitudes, rad.")] = None,
    columns: ColumnTexts = None,
    missing: Annotated[bool, typer.Option("--drop-missing", help="Leave out numbers that are not there.")] = False,
    loss: Annotated[
        str, typer.Option(help="How residuals count: linear, or soft_l1, huber, cauchy, arctan.")
    ] = "linear",
    plot: Annotated[Path | None, typer.Option(help="Draw data, fit and residuals: a .png, .svg or .pdf file.")] = None,
    force: Force = False,
    as_json: AsJson = False,
    trust: Trust = False,
) -> None:
    """Fit a body, its start and its torque to measured rates and attitudes.

    Prints the parameters with their standard errors, and what the data do not determine. Tables have columns time,
    omega_x, omega_y, omega_z in rad/s, or quaternion_w, ..., quaternion_z from body to space axes, or both; sigma_omega
    and sigma_attitude, if they are there. Without standard deviations these are estimated from the residuals.
    Exit codes: 0 all went well; 1 the search did not come to its end, or the picture had to be saved elsewhere; 2 bad
    input; 130 interrupted.
    """
    from polhode import fit as fitted
    from polhode.compiler import CompilationFailed
    from polhode.run.integration import SimulationFailed, reason_of

    check_writable(plot, force=force, option="--plot")
    try:
        guess, acting, given = problem_of(body, allow_unphysical, torque, scenario, trust)
        known: dict[str, Any] = {} if given is None else {"omega": given.omega, "attitude": given.attitude}
        if given is None or given.torque.depends:
            known |= {"torque": acting, "state": given and given.state}
        known |= {name: one for name, one in (("omega", omega), ("attitude", attitude)) if one is not None}
        made = fitted(
            guess, [*data] if len(data) > 1 else data[0], free=[x.strip() for x in free.split(",") if x.strip()],
            sigma_omega=sigma_omega, sigma_attitude=sigma_attitude, missing="drop" if missing else "raise",
            columns=columns_of(columns), loss=loss, **known,
        )  # fmt: skip
    except OSError as why:
        stop(f"{why.filename or data[0]}: {why.strerror or why}")
    except (ValueError, TypeError, ModuleNotFoundError) as why:
        stop("\npolhode: ".join(_with_options(str(why)).splitlines()))
    except (SimulationFailed, CompilationFailed) as why:
        stop(reason_of(why), FAILED)
    except KeyboardInterrupt:
        stop("interrupted", INTERRUPTED)
    if as_json:
        echo_json(_as_json(made))
    else:
        say(made)
    is_kept = plot is None or report_kept(keep_picture(made.plot(), plot, force), err=as_json)
    raise typer.Exit(0 if made.converged and is_kept else FAILED)


def _with_options(message: str) -> str:
    """The message with options of the command in place of the arguments that it advises to pass."""
    named = re.sub(r"\b(give|pass) (omega|attitude|torque)=", r"\1 --\2", message)
    return named.replace("pass missing='drop'", "pass --drop-missing")


def _as_json(made: Fit) -> dict[str, Any]:
    """Everything that is printed, as numbers and texts."""

    def number(x: float) -> float | None:
        return None if x != x else float(x)

    parameters = {
        name: {"value": number(value), "standard_error": number(error), "unit": unit}
        for name, value, error, unit in zip(made.names, made.values, made.standard_errors, made.units, strict=True)
    }
    return {
        "parameters": parameters,
        "covariance": made.covariance.tolist(),
        "moments": made.body.moments.tolist(),
        "tensor": made.body.tensor.tolist(),
        "omega": made.omega.tolist(),
        "quaternion": made.quaternion.tolist(),
        "t0": made.t0,
        "chi2": made.chi2,
        "degrees_of_freedom": made.degrees_of_freedom,
        "sigma_estimated": list(made.sigma_estimated),
        "undetermined": [one.text for one in made.undetermined],
        "converged": made.converged,
    }
