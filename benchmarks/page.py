"""Tables of docs/evidence/benchmarks*.md, with the day and the machine they were measured on."""

import argparse
import datetime
import os
import platform
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

EVIDENCE = Path(__file__).parents[1] / "docs" / "evidence"


def processor() -> str:
    """Returns the name of the processor."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.partition(":")[2] for line in lines if line.startswith("model name")]
    return models[0].strip() if models else platform.processor() or platform.machine()


def conditions(*packages: str) -> str:
    """Returns the day, the machine, how busy it is, and these packages' versions."""
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return (
        f"{datetime.date.today()}; {processor()}, {os.cpu_count()} cores, load averages {load}; "
        f"Python {platform.python_version()}, {versions}."
    )


PACKAGES = (
    "polhode", "numba", "llvmlite", "numpy", "scipy", "heyoka", "diffrax", "jax", "rebound", "mujoco", "orekit-jpype",
    "bsk",
)  # fmt: skip


def machine() -> dict[str, Any]:
    """Returns what a result was measured on, for files."""
    info = Path("/proc/cpuinfo")
    flags = info.read_text().partition("flags")[2].partition("\n")[0].split() if info.exists() else []
    found = {}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"), "processor": processor(),
        "cores": os.cpu_count(), "vectors": [f for f in ("fma", "avx2", "avx512f") if f in flags],
        "load": os.getloadavg(), "system": platform.platform(), "python": platform.python_version(),
        "packages": found, "missing": [name for name in PACKAGES if name not in found],
    }  # fmt: skip


def described(machine: dict[str, Any]) -> str:
    """Returns what a result was measured on, as a sentence."""
    load = ", ".join(f"{x:.1f}" for x in machine["load"])
    versions = ", ".join(f"{name} {number}" for name, number in machine["packages"].items())
    vectors = " with AVX-512" if "avx512f" in machine["vectors"] else " with AVX2" if machine["vectors"] else ""
    missing = f" Not installed: {', '.join(machine['missing'])}." if machine["missing"] else ""
    return (
        f"{machine['date'][:10]}; {machine['processor']}{vectors}, {machine['cores']} cores, load averages {load}; "
        f"Python {machine['python']}, {versions}.{missing}"
    )


def page_of(name: str) -> Path:
    """The page of benchmarks that has the marks of this name."""
    for page in sorted(EVIDENCE.glob("benchmarks*.md")):
        if f"<!-- {name} -->" in page.read_text():
            return page
    raise ValueError(f"no page of benchmarks has the marks <!-- {name} -->")


def put(path: Path, name: str, text: str) -> None:
    """Puts a text into a page, between the marks of this name."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    page = path.read_text()
    head, _, rest = page.partition(begin)
    _, found, tail = rest.partition(end)
    if not found:
        raise ValueError(f"{path.name} has no marks {begin} and {end}")
    path.write_text(f"{head}{begin}\n{text}\n{end}{tail}")


def report(name: str, text: str, write: bool) -> None:
    """Prints the text; if asked to, puts it into the page between the marks of this name."""
    print(text, flush=True)
    if write:
        put(page_of(name), name, text)


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Returns a table; the first row is its head."""
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|---" * len(rows[0]) + "|", *body])


def command(name: str, what: str, measured: Callable[[], str], arguments: Sequence[str] | None = None) -> None:
    """Measures a table, prints it, and with --write puts it into the page."""
    parser = argparse.ArgumentParser(description=what.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="put the table into docs/evidence/benchmarks*.md")
    write = parser.parse_args(arguments).write
    report(name, f"{conditions('polhode', 'numba')}\n\n{measured()}", write)
