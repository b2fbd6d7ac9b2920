"""The script by which `make` finds a Python, in front of Pythons that pretend to be of other versions."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "requirements" / "find_python.sh"
PRETENDER = """#!{python}
import sys
sys.version_info = {version}
sys.modules.update({modules})
code, sys.argv = sys.argv[2], sys.argv[2:]
exec(code)
"""

pytestmark = pytest.mark.skipif(shutil.which("sh") is None, reason="make needs sh, too")


def pretend(directory: Path, name: str, version: tuple[int, ...], *, has_venv: bool = True) -> None:
    modules = {} if has_venv else {"ensurepip": None}
    executable(directory / name, PRETENDER.format(python=sys.executable, version=version, modules=modules))


def executable(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory to be the whole PATH: it has what the script needs, and no Python."""
    for tool in ("sh", "sed", "dirname"):
        (tmp_path / tool).symlink_to(str(shutil.which(tool)))
    return tmp_path


def find(place: Path, *arguments: str) -> tuple[int, str, str]:
    environment = {"PATH": str(place), "HOME": str(place), "PYENV_ROOT": str(place / "pyenv")}
    done = subprocess.run(
        [str(shutil.which("sh")), str(SCRIPT), *arguments], capture_output=True, text=True, env=environment, check=False
    )
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def test_the_newest_tested_python_is_taken(place: Path) -> None:
    for name, version in (("python3.11", (3, 11, 9)), ("python3.12", (3, 12, 1)), ("python3", (3, 13, 5))):
        pretend(place, name, version)
    assert find(place) == (0, "python3", "Python 3.13.5 (python3)")
    pretend(place, "python3.13", (3, 13, 5))
    assert find(place) == (0, "python3.13", "Python 3.13.5 (python3.13)")


def test_python3_alone_is_enough(place: Path) -> None:
    pretend(place, "python3", (3, 11, 0))
    assert find(place) == (0, "python3", "Python 3.11.0 (python3)")


def test_what_does_not_run_is_skipped(place: Path) -> None:
    """As the shims of pyenv do, for a version that is not selected."""
    executable(place / "python3.13", "#!/bin/sh\necho 'pyenv: python3.13: command not found' >&2\nexit 127\n")
    pretend(place, "python3", (3, 12, 3))
    assert find(place) == (0, "python3", "Python 3.12.3 (python3)")


def test_an_untested_python_is_the_last_choice(place: Path) -> None:
    pretend(place, "python3", (3, 14, 0))
    code, taken, told = find(place)
    assert (code, taken) == (0, "python3")
    assert told == "Python 3.14.0 (python3), on which polhode has not been tested"
    pretend(place, "python3.11", (3, 11, 0))
    assert find(place)[1] == "python3.11"


@pytest.mark.parametrize(
    ("version", "has_venv", "why"),
    [
        ((3, 9, 18), True, "python3 (Python 3.9.18) is too old."),
        ((3, 16, 0), True, "python3 (Python 3.16.0) is newer than the pinned packages."),
        (
            (3, 12, 3),
            False,
            "python3 (Python 3.12.3) lacks its venv module (on Debian or Ubuntu: apt install",
        ),
    ],
)
def test_one_that_will_not_do_is_named(place: Path, version: tuple[int, ...], has_venv: bool, why: str) -> None:
    pretend(place, "python3", version, has_venv=has_venv)
    code, taken, told = find(place)
    assert (code, taken) == (1, "")
    assert told.startswith("polhode needs CPython 3.11 to 3.15 with its venv module, and found none on the PATH: ")
    assert why in told
    assert "make PYTHON=" in told


def test_without_any_python(place: Path) -> None:
    code, taken, told = find(place)
    assert (code, taken) == (1, "")
    assert "found none on the PATH.\n" in told


def test_a_named_one_is_taken_or_refused(place: Path) -> None:
    pretend(place, "python3.13", (3, 13, 0))
    pretend(place, "other", (3, 11, 4))
    pretend(place, "old", (3, 10, 1))
    assert find(place, "other") == (0, "other", "Python 3.11.4 (other)")
    needed = "polhode needs CPython 3.11 to 3.15 with its venv module"
    assert find(place, "old") == (1, "", f"old (Python 3.10.1) is too old; {needed}")
    assert find(place, "nowhere") == (1, "", f"nowhere does not run; {needed}")


def test_a_version_is_found_where_pyenv_keeps_it(place: Path) -> None:
    assert find(place, "--version", "3.12")[:2] == (1, "")
    kept = place / "pyenv" / "versions" / "3.12.4" / "bin"
    kept.mkdir(parents=True)
    pretend(kept, "python3", (3, 12, 4))
    pretend(place, "python3", (3, 11, 1))
    assert find(place, "--version", "3.12")[:2] == (0, str(kept / "python3"))
    assert find(place, "--version", "3.11")[:2] == (0, "python3")


def test_an_environment_of_another_python_is_told(place: Path) -> None:
    pretend(place, "python3.13", (3, 13, 0))
    (place / "env" / "bin").mkdir(parents=True)
    pretend(place / "env" / "bin", "python", (3, 11, 7))
    code, _, told = find(place, "--compare", str(place / "env"), "python3.13")
    assert code == 0
    assert "env was made by Python 3.11.7 and is kept; to use python3.13 (Python 3.13.0)" in told
    pretend(place, "python3.11", (3, 11, 2))
    assert find(place, "--compare", str(place / "env"), "python3.11") == (0, "", "")


def test_the_tested_versions_are_those_of_the_package(place: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    claimed = [c.rpartition(" ")[2] for c in project["classifiers"] if "Python ::" in c]
    assert find(place, "--tested") == (0, " ".join(claimed), "")
    assert project["requires-python"] == ">=3.11", "requirements/find_python.sh and its messages say so, too"
