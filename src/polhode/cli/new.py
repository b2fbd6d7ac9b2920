"""`polhode new`: writes a scenario to begin with."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from polhode.cli._app import app
from polhode.cli._files import check_writable
from polhode.cli._options import AllowUnphysical, Force
from polhode.cli._terminal import INTERRUPTED, is_terminal, print_text, say, stop

FREE = "none"
"""The answer that stands for a free body."""


@app.command()
def new(
    file: Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="The scenario to write.")],
    body: Annotated[
        str | None, typer.Option(help="Three principal moments, '1 2 2.8', in kg m^2; or a name of `polhode bodies`.")
    ] = None,
    allow_unphysical: AllowUnphysical = False,
    omega: Annotated[str | None, typer.Option(help="The rate at the start, '0.005 5 0', body axes, in rad/s.")] = None,
    torque: Annotated[str | None, typer.Option(help="A model of `polhode torques`, or 'none'.")] = None,
    until: Annotated[float | None, typer.Option(help="The time at the end, in s.")] = None,
    rtol: Annotated[float | None, typer.Option(help="The error that is wanted.")] = None,
    ask: Annotated[bool | None, typer.Option("--ask/--no-ask", help="Ask for what is not given, or do not.")] = None,
    force: Force = False,
) -> None:
    """Write a scenario with comments, to be edited and run.

    In a terminal it asks for what no option gives; Enter takes the value in brackets. Elsewhere, and with --no-ask,
    those values are taken: a body that flips about its intermediate axis. Exit codes: 0 written, 2 bad input.
    """
    if file.suffix != ".toml":
        stop(f"{file} does not end in .toml, as scenarios do")
    check_writable(file, force=force, option="")
    asks = is_terminal(sys.stdin) and is_terminal(sys.stdout) if ask is None else ask
    try:
        text = _scenario(
            file.stem,
            body=_answered("Body: three principal moments in kg m^2, or a name", body, "1 2 2.8", asks),
            allow_unphysical=allow_unphysical,
            omega=_answered("Rate at the start in rad/s, body axes", omega, "0.005 5 0", asks),
            torque=_answered("Torque: a model of `polhode torques`, or none", torque, FREE, asks),
            until=_answered("Until which time, in s", until, "20", asks),
            rtol=_answered("Which error is wanted, in rad", rtol, "1e-9", asks),
        )
        _checked_and_written(file, text, force)
    except (ValueError, OSError) as problem:
        stop("\npolhode: ".join(str(problem).splitlines()))
    except (KeyboardInterrupt, EOFError):
        say(err=True)
        stop("interrupted; nothing was written", INTERRUPTED)
    say(f"wrote {file}; now: polhode run {file} --plot")


def _answered(question: str, given: object, usual: str, asks: bool) -> str:
    """The value of an option, else the user's answer, else the default."""
    if given is not None:
        return str(given)
    if not asks:
        return usual
    print_text(f"{question} [{usual}]: ")
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.strip() or usual


def _scenario(
    name: str, *, body: str, allow_unphysical: bool, omega: str, torque: str, until: str, rtol: str
) -> str:  # fmt: skip
    """The text of a scenario."""
    from polhode.body import NAMED
    from polhode.text.cards import torque_example
    from polhode.torques import find

    title = name.replace("_", " ").replace("-", " ").capitalize().replace('"', "").replace("\\", "")
    if body in NAMED:
        body_line = f'name = "{body}"  # see `polhode bodies`'
    else:
        body_line = f"moments = {_numbers('the body', body)}  # principal moments, kg m^2; or tensor = [[...], ...]"
        if allow_unphysical:
            body_line += "\nallow_unphysical = true  # a moment may exceed the sum of the other two"
    parts = [
        f"# Run it:  polhode run {name}.toml --plot\n"
        "# All keys: docs/reference/scenario.md, and `polhode torques` for models.\n",
        f'title = "{title}"\n',
        f"[body]\n{body_line}\n",
        f"[initial]\nomega = {_numbers('the rate', omega)}  # rad/s, in body axes; or omega_deg\n"
        "# quaternion = [1, 0, 0, 0]  # attitude, body to space, scalar first; or euler_deg, rotation_vector, ...\n",
    ]
    if torque != FREE:
        parts.append(f"[torque]\n{torque_example(find(torque), explained=True)}\n")
    parts.append(
        f"[run]\nt_span = [0.0, {_number('the end', until)}]\n"
        f"rtol = {_number('the error', rtol)}  # the error of the answer; method and step are chosen\n"
        '# method = "MR2"  # in place of rtol: a method of `polhode methods`, with a step in s\n'
        "# step = 1e-3\n"
        "samples = 401  # rows of the result\n"
    )
    return "\n".join(parts)


def _numbers(what: str, text: str) -> list[float]:
    """Three numbers."""
    try:
        found = [float(part) for part in text.replace(",", " ").split()]
    except ValueError:
        found = []
    if len(found) != 3:
        names = "; names: see `polhode bodies`" if what == "the body" else ""
        raise ValueError(f"{what} must be three numbers, such as 1 2 2.8, not {text!r}{names}")
    return found


def _number(what: str, text: str) -> float:
    """A number."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{what} must be a number, not {text!r}") from None


def _checked_and_written(file: Path, text: str, force: bool) -> None:
    """Writes a scenario that can be run; one that cannot raises an error and is not written."""
    import tempfile

    from polhode.files.atomic import whole_file
    from polhode.scenario import ScenarioError, check_scenario

    with tempfile.TemporaryDirectory() as folder:
        trial = Path(folder) / file.name
        trial.write_text(text, encoding="utf-8")
        try:
            check_scenario(trial)
        except ScenarioError as problem:
            raise ValueError(str(problem).replace(f"{trial}: ", "").replace(str(trial), file.name)) from None
    with whole_file(file, overwrite=force) as written:
        written.write(text.encode())
