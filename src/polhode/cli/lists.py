"""`polhode methods`, `torques` and `bodies`: what there is."""

from typing import Annotated

import typer

from polhode.cli._app import app
from polhode.cli._options import AsJson
from polhode.cli._terminal import (
    LINE_CHARACTERS,
    PIPE_CHARACTERS,
    echo_json,
    print_table,
    say,
    stop,
    terminal_width,
)


@app.command()
def methods(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="Show this method in full. Options are part of the name: 'MR2(axes=231)'."
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="All of them, with what they keep, what they accept and what they cost.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the methods that most people need, by what they are for; with --all every one."""
    from polhode.methods import catalogue, find
    from polhode.text import cards

    width = terminal_width() or PIPE_CHARACTERS
    if name is None:
        if as_json:
            echo_json([cards.method_record(method) for method in catalogue().values()])
        else:
            say(cards.method_table(width) if every else cards.start_table(width))
        return
    try:
        method = find(name)
    except (ValueError, TypeError) as problem:
        stop(problem)
    if as_json:
        echo_json(cards.method_record(method))
    else:
        say(cards.method_card(method, min(width, LINE_CHARACTERS)))


@app.command()
def torques(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show this model in full, with an example.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the torque models: their parameters, what they depend on, whether they have a potential."""
    from polhode.text import cards
    from polhode.torques import catalogue, find

    if name is not None:
        try:
            model = find(name)
        except ValueError as problem:
            stop(problem)
        if as_json:
            echo_json(cards.torque_record(model))
        else:
            say(cards.torque_card(model))
        return
    if as_json:
        echo_json([cards.torque_record(model) for model in catalogue().values()])
        return
    print_table(*cards.torque_rows())
    say("For units and an example: polhode torques NAME. For a function of your own: model = 'file.py:function'.")


@app.command()
def bodies() -> None:
    """List the named bodies of the literature."""
    from polhode.body import NAMED

    rows = [(b.name, ", ".join(f"{m:g}" for m in b.moments), b.source, b.note) for b in NAMED.values()]
    print_table(["body", "moments, kg m^2", "source", "what it is"], rows)
