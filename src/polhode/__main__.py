"""The command `polhode`, also as `python -m polhode`."""

import sys

from polhode.support.extras import MissingExtra, missing


def main() -> None:
    """Runs the command line, or says which package it lacks."""
    try:
        from polhode.cli import main as run

        run()
    except ModuleNotFoundError as problem:
        found = missing(problem, "this command needs")
        if not isinstance(found, MissingExtra):
            raise
        sys.exit(f"polhode: {found}")


if __name__ == "__main__":
    main()
