"""Files that appear whole or not at all."""

import hashlib
import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

AnyPath = str | os.PathLike[str]

PART = f".polhode-{hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]}-"
"""How the names of unfinished files begin: with a mark of this computer, which sees whether their writers still
live."""


@contextmanager
def whole_file(path: AnyPath, *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """Yields a file to write to, which appears at `path` when the block ends well, and leaves nothing when it does not.

    Without `overwrite` no file is ever replaced, not even one that another process makes in the meantime. A process
    that is killed may leave an unfinished file, `.polhode-*.part`; the next one that writes to the directory removes
    it.
    """
    shown, target = os.fspath(path), Path(os.path.realpath(path) if overwrite else path)
    if not overwrite and os.path.lexists(target):
        raise _taken(shown)
    try:
        if os.path.lexists(target) and not target.is_file():
            raise OSError(f"{shown} is not a regular file: choose another name")
        temporary, file = _unfinished(target.parent)
    except FileNotFoundError:
        raise FileNotFoundError(f"cannot write {shown}: there is no directory {target.parent}; make it first") from None
    except OSError as problem:
        if problem.errno is None:
            raise
        raise _unwritable(shown, problem, "choose another place") from None
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if os.name == "nt":  # where no open file is renamed
                file.close()
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


def _unfinished(directory: Path) -> tuple[Path, BinaryIO]:
    """Makes a file for what is not finished, which is locked as long as it is open; removes those of the dead."""
    _remove_stale(directory)
    while True:
        path = directory / f"{PART}{secrets.token_hex(8)}.part"
        file = open(path, "xb")  # noqa: SIM115 (closed by the caller, when it has its name)
        if _locked(file.fileno()) is not False and path.exists():
            return path, file
        file.close()  # another process took it for stale before it was locked


def _remove_stale(directory: Path) -> None:
    """Removes unfinished files whose writers were killed: nothing holds a lock on them any more."""
    with suppress(OSError), os.scandir(directory) as entries:
        stale = [entry.path for entry in entries if entry.name.startswith(PART) and entry.name.endswith(".part")]
        for path in stale:
            with suppress(OSError), open(path, "r+b") as file:
                if _locked(file.fileno()):
                    os.unlink(path)


def _locked(handle: int) -> bool | None:
    """Locks an open file until it is closed; returns False if another has locked it, None where files have no locks."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True


def _name(temporary: Path, target: Path) -> None:
    """Gives the file its name unless the name is taken, in one operation that no other process can interrupt."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links: take the name first, then put the file there
        target.open("xb").close()
        try:
            os.replace(temporary, target)
        except BaseException:
            target.unlink()
            raise


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
    made = type(problem)(f"cannot write {path}: {problem.strerror or problem}; {remedy}")
    made.errno = problem.errno
    return made
