"""`polhode examples`: lists the examples that come with polhode, and copies them."""

import ast
import json
from pathlib import Path
from typing import Annotated

import typer

from polhode.cli._app import app
from polhode.cli._files import check_writable
from polhode.cli._options import Force
from polhode.cli._terminal import print_table, say, stop


def folder() -> Path:
    """Where the examples are: in the installed package, or in the repository that it is run from."""
    package = Path(__file__).parents[1]
    places = [place for place in (package / "examples", package.parents[1] / "examples") if place.is_dir()]
    if not places:
        stop("this installation of polhode has no examples: install it again")
    return places[0]


def catalogue(place: Path) -> dict[str, list[Path]]:
    """The files of each example by its name: files of one name belong together."""
    found: dict[str, list[Path]] = {}
    for path in sorted(place.rglob("*")):
        if path.suffix in (".toml", ".py", ".ipynb") and ".ipynb_checkpoints" not in path.parts:
            found.setdefault(path.stem, []).append(path)
    return found


def summary(files: list[Path]) -> str:
    """The first sentence of an example: scenarios and notebooks go before Python files."""
    path = max(files, key=lambda file: (".py", ".ipynb", ".toml").index(file.suffix))
    text = path.read_text("utf-8")
    if path.suffix == ".toml":
        return text.partition("\n")[0].lstrip("# ")
    if path.suffix == ".py":
        return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    first = json.loads(text)["cells"][0]["source"]
    return (first if isinstance(first, str) else "".join(first)).partition("\n")[0].lstrip("# ")


@app.command()
def examples(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...]", help="The examples to copy; all copies every one.")
    ] = None,
    to: Annotated[Path, typer.Option(help="The directory to copy them to, made if need be.")] = Path(),
    force: Force = False,
) -> None:
    """List the examples that come with polhode; with names, copy these here.

    Scenario files (.toml) are for `polhode run`, Python files for Python, notebooks (.ipynb) for JupyterLab.
    """
    from polhode.files.atomic import whole_file

    place = folder()
    found = catalogue(place)
    if not names:
        rows = [(name, ", ".join(f.suffix[1:] for f in files), summary(files)) for name, files in found.items()]
        print_table(["example", "files", "what it shows"], rows)
        say("To copy some of them here: polhode examples NAME... To copy all: polhode examples all --to examples")
        return
    stems = [Path(name).stem if Path(name).suffix in (".toml", ".py", ".ipynb") else name for name in names]
    chosen = list(found) if "all" in stems else stems
    if unknown := [name for name in chosen if name not in found]:
        stop(f"no example is called {', '.join(unknown)}: polhode examples lists them")
    pairs = [(file, to / file.name) for name in chosen for file in found[name]]
    check_writable(*(target for _, target in pairs), force=force, option="--to")
    for file, target in pairs:
        with whole_file(target, overwrite=force) as out:
            out.write(file.read_bytes())
        say(target)
