"""`polhode doctor`: whether everything is there that polhode can use."""

import os
import platform
import shutil
import sys

import typer

from polhode import __version__
from polhode.cli._app import app
from polhode.cli._terminal import FAILED, say, say_field

CORE = ("numpy", "scipy", "numba", "llvmlite", "platformdirs")
"""Packages without which polhode does not work."""
NUMBA_TRIED = (0, 68)
"""The newest Numba that the tests of polhode have been run with."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "firefox", "chromium-headless-shell")
"""Names under which browsers are usually found."""
LARGEST_ERROR = 1e-12
"""The rate of a body without torque, in rad/s: exact steps leave a few roundings of 5 rad/s."""


@app.command()
def doctor() -> None:
    """Show what polhode finds on this machine, and try one run: for bug reports, and when something is odd.

    Exit codes: 0 polhode works here; 1 it does not, and the output says why.
    """
    os.environ["POLHODE_QUIET"] = "1"  # this command says itself what it tries
    from polhode.accuracy.companion import available_cores
    from polhode.compiler.programs import cache_directory, compiles
    from polhode.page.html import is_built

    say_field("polhode", f"{__version__}, {os.path.dirname(os.path.dirname(__file__))}")
    say_field("python", f"{platform.python_version()}, {sys.executable}{_untested()}")
    say_field("system", f"{platform.platform()}, {available_cores()} cores")
    problems = []
    for name in CORE:
        found = _version_of(name)
        newer = name == "numba" and found is not None and _is_newer(found)
        tried = ".".join(map(str, NUMBA_TRIED))
        say_field(name, f"{found or 'NOT INSTALLED'}{f', newer than {tried}, the last one tried' if newer else ''}")
        if found is None:
            problems.append(f"{name} is not installed: pip install {name}")
    say()
    say("extras, each for some of the commands:")
    for extra, names in _extras().items():
        is_there = all(_version_of(name) for name in names)
        verdict = "there" if is_there else f"not there: pip install 'polhode[{extra}]'"
        say(f"    {extra:14}{verdict}")
    say()
    node = shutil.which("node") or _beside_python("node")
    say_field("page", "there" if is_built() else "not built: `make viewer` builds it in a clone; nothing can be viewed")
    say_field("node", node or "not found: only needed to build the page from its sources")
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    say_field("browser", browser or "none found on the path; pages can be opened by hand")
    directory = cache_directory()
    say_field("cache", "none: this user has no home; set POLHODE_CACHE_DIR" if directory is None else directory)
    problems += _cache_problems(directory) if directory else []
    if not compiles():
        problems.append("NUMBA_DISABLE_JIT is set: nothing is compiled, and runs are some hundred times slower")
    if not problems:
        problems += _trial()
    say()
    for problem in problems:
        say(f"PROBLEM: {problem}")
    if problems:
        raise typer.Exit(FAILED)
    say("Everything that polhode needs works.")


def _untested() -> str:
    """A word on a Python that is not among the tested ones, which the classifiers of polhode list."""
    from importlib.metadata import metadata

    listed = [str(line).rpartition(" ")[2] for line in metadata("polhode").get_all("Classifier") or []]
    tested = [version for version in listed if version.startswith("3.")]
    mine = ".".join(map(str, sys.version_info[:2]))
    return "" if mine in tested else f", untested ({', '.join(tested)} are tested): it should work"


def _is_newer(version: str) -> bool:
    """Whether a version of Numba has not been tried yet. It is likely to work: polhode uses what Numba documents."""
    major, minor = version.split(".")[:2]
    return major.isdecimal() and minor.isdecimal() and (int(major), int(minor)) > NUMBA_TRIED


def _version_of(name: str) -> str | None:
    """The installed version of a package; None if there is none."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _extras() -> dict[str, list[str]]:
    """The extras for users, with the packages of each, as the installed metadata name them."""
    import re
    from importlib.metadata import requires

    found: dict[str, list[str]] = {}
    for line in requires("polhode") or []:
        match = re.match(r"([A-Za-z0-9._-]+).*extra\s*==\s*['\"]([^'\"]+)['\"]", line)
        if match and match[2] not in ("test", "peers", "docs"):
            found.setdefault(match[2], []).append(match[1])
    return dict(sorted(found.items()))


def _beside_python(name: str) -> str | None:
    """A program that a package has put beside this Python."""
    path = os.path.join(os.path.dirname(sys.executable), name)
    return path if os.access(path, os.X_OK) else None


def _cache_problems(directory: os.PathLike[str]) -> list[str]:
    """Why compiled programs cannot be kept in a folder."""
    import tempfile

    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return []
    except OSError as problem:
        return [f"compiled programs cannot be kept in {directory}: {problem.strerror or problem}"]


def _trial() -> list[str]:
    """Compiles a method and a torque without the cache, runs them, and compares the result with the exact motion."""
    import math
    import tempfile
    import time

    import polhode

    began = time.perf_counter()
    body = polhode.Body([1, 2, 2.8])
    nothing = polhode.torque(lambda t, q, w, p: (0.0, 0.0, 0.0))
    with tempfile.TemporaryDirectory() as empty:
        before = os.environ.get("POLHODE_CACHE_DIR")
        os.environ["POLHODE_CACHE_DIR"] = empty
        try:
            run = polhode.simulate(body, nothing, omega=[0.1, 0.2, 5], t_span=(0, 1), step=1e-2, method="Strang")
            truth = polhode.FreeMotion(body, omega=[0.1, 0.2, 5]).at(1.0).omega
        except Exception as problem:
            return [f"a trial run failed: {type(problem).__name__}: {problem}"]
        finally:
            os.environ.pop("POLHODE_CACHE_DIR")
            if before is not None:
                os.environ["POLHODE_CACHE_DIR"] = before
    error = math.dist(run.omega[-1], truth)
    if not error < LARGEST_ERROR:
        return [f"a trial run is wrong by {error:.1e} rad/s: please report this, with all of the above"]
    say_field("trial", f"compiled and ran in {time.perf_counter() - began:.1f} s, error {error:.0e} rad/s")
    return []
