"""Tables of docs/benchmarks.md, with the day and the machine they were measured on."""

import argparse
import datetime
import os
import platform
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"


def conditions(*packages: str) -> str:
    """The day, the machine, how busy it is, and these packages' versions."""
    info = Path("/proc/cpuinfo")
    models = [line.partition(":")[2] for line in info.read_text().splitlines() if line.startswith("model name")]
    processor = models[0].strip() if models else platform.processor() or platform.machine()
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return (
        f"{datetime.date.today()}; {processor}, {os.cpu_count()} cores, load averages {load}; "
        f"Python {platform.python_version()}, {versions}."
    )


def report(name: str, text: str, write: bool) -> None:
    """Print the text; if asked to, put it into the page between the marks of this name."""
    print(text, flush=True)
    if write:
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        page = PAGE.read_text()
        head, _, rest = page.partition(begin)
        _, found, tail = rest.partition(end)
        if not found:
            raise ValueError(f"{PAGE.name} has no marks {begin} and {end}")
        PAGE.write_text(f"{head}{begin}\n{text}\n{end}{tail}")


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A table; the first row is its head."""
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|---" * len(rows[0]) + "|", *body])


def command(name: str, what: str, measured: Callable[[], str], arguments: Sequence[str] | None = None) -> None:
    """Measure a table, print it, and with --write put it into the page."""
    parser = argparse.ArgumentParser(description=what.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    write = parser.parse_args(arguments).write
    report(name, f"{conditions('polhode', 'numba')}\n\n{measured()}", write)
