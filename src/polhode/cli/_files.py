"""The files that commands write: checked beforehand, and saved elsewhere rather than lost."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from polhode.cli._signals import masked
from polhode.cli._terminal import is_terminal, print_text, say, stop
from polhode.support.extras import needed
from polhode.text.terminal import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from polhode import Ensemble, Reduced
    from polhode.solution import Solution


def no_format(file: Path, *, is_reduced: bool = False) -> str | None:
    """Why a result cannot be saved in the format of this name, or None if it can."""
    from polhode.files.tables import check_format

    try:
        ending = check_format(file)
    except (ValueError, ModuleNotFoundError) as problem:
        return str(problem)
    if ending != "nc" and is_reduced:
        return f"{file} would be a table of motions, but reductions keep none: save them as .nc"
    return None


def file_names(file: Path, *, is_ensemble: bool) -> list[Path]:
    """The files that are written for one name: tables of an ensemble are two."""
    from polhode.files.tables import beside

    return [file, Path(beside(file, "bodies"))] if is_ensemble and file.suffix != ".nc" else [file]


def write_result(made: Solution | Ensemble | Reduced, file: Path, force: bool, quantities: Sequence[str]) -> None:
    """Writes a result in the format of the name's ending."""
    from polhode import Reduced

    if file.suffix == ".nc" or isinstance(made, Reduced):
        made.save(file, overwrite=force)
    elif file.suffix == ".csv":
        made.to_csv(file, quantities=quantities, overwrite=force)
    else:
        made.to_parquet(file, quantities=quantities, overwrite=force)


def check_writable(*files: Path | None, force: bool, option: str = "--out") -> None:
    """Ends the command with exit code 2, and says why, if one of these files cannot be written."""
    if problems := [problem for file in files if file and (problem := unwritable(file, force, option))]:
        stop("\npolhode: ".join(problems))


def unwritable(file: Path, force: bool, option: str = "--out") -> str | None:
    """Why this file cannot be written, or None if it can; makes its directory.

    `option` is the option of the command that chooses another place, or empty if there is none.
    """
    import tempfile

    if file.suffix in (".png", ".svg"):
        try:
            needed("matplotlib", "pictures need")
        except ModuleNotFoundError as problem:
            return str(problem)
    try:
        if file.is_dir():
            return f"{file} is a directory: {f'use {option} to write elsewhere' if option else 'move it away'}"
        if file.is_symlink() and not file.exists():
            return f"{file} is a link to {os.readlink(file)}, which does not exist: remove the link"
        if os.path.lexists(file) and not force:
            elsewhere = f", or {option} to write elsewhere" if option else ""
            return f"{file} exists already: use --force to overwrite it{elsewhere}"
        file.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            os.lstat(file)  # a name may be too long
        with tempfile.TemporaryFile(dir=file.parent):
            return None
    except (OSError, ValueError) as problem:  # ValueError: a name with a null character
        why = problem.strerror if isinstance(problem, OSError) and problem.strerror else problem
        elsewhere = f"use {option} to write elsewhere" if option else "copy the result elsewhere first"
        if isinstance(problem, OSError) and problem.errno == errno.ENAMETOOLONG:
            elsewhere = "give it a shorter name"
        return f"cannot write {file}: {why}; {elsewhere}"


class SavedFile(NamedTuple):
    """Says where something was saved, and what went wrong."""

    file: Path | None = None
    problem: str = ""


class SavedFiles(NamedTuple):
    """Says where the files of a result were saved, and what went wrong."""

    files: list[Path]
    problems: list[str]

    @property
    def fate(self) -> str:
        """Where the result is, in words."""
        return "; ".join(self.problems) or f"what was computed is in {' and '.join(map(str, self.files))}"


def keep(file: Path, force: bool, save: Callable[[Path, bool], None]) -> SavedFile:
    """Saves a result: at its place if that can be done, else where it can be, rather than to lose it.

    `save` takes a place, and whether a file there may be replaced.
    """
    try:
        save(file, force)
        return SavedFile(file)
    except FileExistsError:
        return _keep_beside(file, force, save)
    except OSError as failure:
        return _keep_elsewhere(file, force, save, failure)
    except ValueError as problem:  # more than the format can hold
        return SavedFile(problem=f"cannot save the result: {problem}")


def keep_picture(figure: Figure, file: Path, force: bool) -> SavedFile:
    """Saves a picture as `keep` does."""
    from polhode.plots.plot import save

    return keep(file, force, lambda place, replaced: save(figure, place, overwrite=replaced))


def report_kept(*saved: SavedFile, err: bool = False) -> bool:
    """Says where files were saved, and what went wrong; returns whether each is at its place."""
    for one in saved:
        if one.problem:
            say(f"polhode: {one.problem}", err=True)
    if files := [str(one.file) for one in saved if one.file]:
        say(f"Saved as {' and '.join(filter(None, [', '.join(files[:-1]), files[-1]]))}.", err=err)
    return not any(one.problem for one in saved)


def _keep_beside(file: Path, force: bool, save: Callable[[Path, bool], None]) -> SavedFile:
    """Saves a result whose name another program has taken during the run, under the next name that is free."""
    for number in count(2):
        other = file.with_name(f"{file.stem}-{number}{file.suffix}")
        try:
            save(other, False)
        except FileExistsError:
            continue
        except OSError as failure:
            return _keep_elsewhere(file, force, save, failure)
        return SavedFile(other, f"{file} appeared during the run and was left as it is; the result is in {other}")
    raise AssertionError  # there is always another number


def _keep_elsewhere(file: Path, force: bool, save: Callable[[Path, bool], None], failure: OSError) -> SavedFile:
    """Saves a result for which its own place has no room: in a temporary directory, or when the user has made room."""
    import tempfile

    for place in _other_places():
        try:
            directory = Path(tempfile.mkdtemp(prefix="polhode-", dir=place))
        except OSError:
            continue
        try:
            save(directory / file.name, False)
        except (OSError, ValueError):
            with suppress(OSError):
                directory.rmdir()
            continue
        return SavedFile(
            directory / file.name, f"{failure}; the result is in {directory / file.name}: move it from there"
        )
    while is_terminal(sys.stdin) and is_terminal(sys.stderr):
        print_text(printable(f"polhode: {failure}. Make room and press Enter to try again, or type q: "), err=True)
        if _answer() != "":
            break
        try:
            save(file, force)
        except FileExistsError:
            return _keep_beside(file, force, save)
        except OSError as problem:
            failure = problem
        else:
            return SavedFile(file)
    return SavedFile(problem=f"the result could not be saved: {failure}")


def _other_places() -> list[str]:
    """Directories in which there may be room; to look for one fails itself where there is none."""
    import tempfile

    places = []
    for look in (tempfile.gettempdir, lambda: "/var/tmp", lambda: str(Path.home()), os.getcwd):
        with suppress(OSError, RuntimeError):
            places.append(look())
    return list(dict.fromkeys(places))


def _answer() -> str:
    """The user's input; q at its end and at Ctrl-C, which is otherwise held while saving."""
    try:
        with masked("SIG_UNBLOCK"):
            line = sys.stdin.readline()
    except KeyboardInterrupt:
        return "q"
    return line.strip() if line else "q"
