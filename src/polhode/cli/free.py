"""`polhode free`: the exact motion of a free body, without a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polhode.cli._app import app
from polhode.cli._files import check_writable, keep_picture
from polhode.cli._options import AllowUnphysical, AsJson, Force
from polhode.cli._terminal import FAILED, echo_json, print_table, say, stop

if TYPE_CHECKING:
    from polhode.body import Body
    from polhode.free.free_motion import FreeMotion

MOST_FLIPS = 100_000
"""Times of flips that are printed: two megabytes of them, computed at once."""


@app.command()
def free(
    omega: Annotated[
        tuple[float, float, float],
        typer.Option(metavar="X Y Z", help="The rate at t = 0, in body axes, in rad/s; with --degrees in deg/s."),
    ],
    moments: Annotated[
        tuple[float, float, float] | None, typer.Option(metavar="A B C", help="Principal moments, in kg m^2.")
    ] = None,
    body: Annotated[str | None, typer.Option(help="In place of moments: a body of `polhode bodies`.")] = None,
    allow_unphysical: AllowUnphysical = False,
    attitude: Annotated[
        tuple[float, float, float, float],
        typer.Option(metavar="W X Y Z", help="The attitude at t = 0: a quaternion, body to space, scalar first."),
    ] = (1.0, 0.0, 0.0, 0.0),
    at: Annotated[list[float] | None, typer.Option(help="A time in s. It can be given several times.")] = None,
    degrees: Annotated[
        bool, typer.Option("--degrees", help="Rates are in deg/s, given and printed, in JSON as well.")
    ] = False,
    flips: Annotated[int, typer.Option(min=0, help="Print the times of this many flips.")] = 0,
    plot: Annotated[Path | None, typer.Option(help="Draw polhode and herpolhode into this file.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Compute the exact motion of a free body: what kind it is, its periods, and its state at any times.

    Every time costs the same, and the error is at round-off. Example:
    polhode free --moments 1 2 2.8 --omega 0.005 5 0 --at 10 --at 3.2e9
    """
    import numpy as np

    from polhode.free.free_motion import FreeMotion

    check_writable(plot, force=force, option="--plot")
    if flips > MOST_FLIPS:
        stop(f"--flips {flips} is more than the {MOST_FLIPS:,} that are printed; flips are half a period apart")
    per_radian = 180 / np.pi if degrees else 1.0
    try:
        motion = FreeMotion(_body(moments, body, allow_unphysical), np.asarray(omega) / per_radian, attitude)
        states = motion.at(at or [0.0])
        flipped = motion.flip_times(flips) if flips else None
    except (ValueError, TypeError) as problem:
        stop(problem)
    if as_json:
        echo_json(_record(motion, states, flipped, per_radian))
    else:
        text = str(motion)
        if degrees:
            given = ", ".join(f"{x:g}" for x in omega)
            text = re.sub(r"(?m)^(  omega +)\(.*\) rad/s", rf"\g<1>({given}) deg/s", text)
        say(text)
        if flipped is not None:
            say(f"  flips   at t = {', '.join(f'{t:.9g}' for t in flipped)} s" if flipped.size else "  flips   never")
        say()
        unit = "deg/s" if degrees else "rad/s"
        headers = ["t, s", f"omega, {unit}", "", "", "quaternion (scalar first)", "", "", ""]
        rows = np.column_stack([states.t, states.omega * per_radian, states.quaternion])
        print_table(headers, [tuple(f"{x:.12g}" for x in row) for row in rows.tolist()])
    if plot is not None:
        kept = keep_picture(motion.plot(), plot, force)
        if kept.problem:
            stop(kept.problem, FAILED)
        say(f"plotted as {kept.file}", err=as_json)


def _body(moments: tuple[float, float, float] | None, name: str | None, allow_unphysical: bool) -> Body:
    """The body that the options describe."""
    from polhode.body import Body

    if (moments is None) == (name is None):
        raise ValueError("give the body by --moments A B C, or by --body NAME (`polhode bodies` lists the names)")
    return Body(moments, allow_unphysical=allow_unphysical) if name is None else Body.named(name)


def _record(motion: FreeMotion, states: Any, flipped: Any, per_radian: float) -> dict[str, Any]:
    """The motion as what JSON can hold; periods that are infinite are null."""
    import math

    def finite(x: float) -> float | None:
        return float(x) if math.isfinite(x) else None

    found = {
        "moments": motion.body.moments.tolist(),  # type: ignore[union-attr]  # one motion has one body
        "mode": motion.mode,
        "modulus": finite(motion.modulus),
        "period": finite(motion.period),
        "precession_period": finite(motion.precession_period),
        "kinetic_energy": finite(motion.kinetic_energy),
        "angular_momentum": motion.angular_momentum.tolist(),
        "states": [
            {"t": t, "quaternion": q, "omega": w}
            for t, q, w in zip(
                states.t.tolist(), states.quaternion.tolist(), (states.omega * per_radian).tolist(), strict=True
            )
        ],
    }
    return found if flipped is None else {**found, "flip_times": flipped.tolist()}
