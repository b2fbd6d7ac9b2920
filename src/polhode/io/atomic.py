"""Files that appear whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

AnyPath = str | os.PathLike[str]


@contextmanager
def whole_file(path: AnyPath, *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """Yields a file to write to, which appears at `path` when the block ends well, and leaves nothing when it does not.

    Without `overwrite` no file is ever replaced, not even one that another process makes in the meantime.
    """
    shown, target = os.fspath(path), Path(os.path.realpath(path) if overwrite else path)
    if not overwrite and os.path.lexists(target):
        raise _taken(shown)
    if target.exists() and not target.is_file():
        raise OSError(f"{shown} is not a regular file: choose another name")
    temporary = target.parent / f".polhode-{secrets.token_hex(8)}.part"
    try:
        file = open(temporary, "xb")  # noqa: SIM115 (closed below, before it gets its name)
    except FileNotFoundError:
        raise FileNotFoundError(f"cannot write {shown}: there is no directory {target.parent}; make it first") from None
    except OSError as problem:
        raise _unwritable(shown, problem, "choose another place") from None
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if overwrite:
            with suppress(FileNotFoundError):
                temporary.chmod(target.stat().st_mode)  # a private file stays private
            os.replace(temporary, target)
        else:
            _name(temporary, target)
        _settle(target.parent)
    except FileExistsError:
        raise _taken(shown) from None
    except OSError as problem:
        raise _unwritable(shown, problem, "nothing was left behind") from None
    finally:
        with suppress(OSError):
            temporary.unlink()


def _name(temporary: Path, target: Path) -> None:
    """Gives the file its name unless the name is taken, in one operation that no other process can interrupt."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links: take the name first, then put the file there
        target.open("xb").close()
        os.replace(temporary, target)


def _settle(directory: Path) -> None:
    """Writes the new name to the disk as well, where the system can do that for a directory."""
    with suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _taken(path: str) -> FileExistsError:
    return FileExistsError(f"{path} exists already: choose another name, or pass overwrite=True")


def _unwritable(path: str, problem: OSError, remedy: str) -> OSError:
    return type(problem)(f"cannot write {path}: {problem.strerror or problem}; {remedy}")
