"""Signals: work that none can cut in two, and the exceptions that their handlers raise.

Python runs the handlers of signals in the main thread, between any two instructions. A module that is half imported,
or a compiler whose tables are half filled, stays broken for as long as the process lives. So such work is done in
another thread, and the main thread waits: what a handler raises, such as Ctrl-C, ends the waiting, not the work.
"""

import _thread
import atexit
import importlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import Any, Generic, TypeVar

STACK_BYTES = 16 * 2**20
"""The stack of a thread that works: some systems give threads half a megabyte, which LLVM may need more than."""

T = TypeVar("T")
D = TypeVar("D")


class Work(Generic[T]):
    """Work that a thread of its own has begun.

    It is a bare thread: when a `threading.Thread` is freed, Python calls a function in which exceptions are ignored.
    With a pool of such threads one Ctrl-C in 1,500 was lost there.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self.done = False
        self.thread = 0
        self._made: list[T] = []
        self._raised: list[BaseException] = []
        self._running = _thread.allocate_lock()
        self._running.acquire()
        _thread.start_new_thread(self._run, (work,))

    def _run(self, work: Callable[[], T]) -> None:
        self.thread = _thread.get_ident()
        try:
            self._made.append(work())
        except BaseException as problem:  # raised again where it can be caught
            self._raised.append(problem)
        finally:
            self.done = True
            self._running.release()

    def wait(self, seconds: float = -1.0) -> bool:
        """Waits until the work is done, but not longer than this number of seconds; returns whether it is done."""
        return self.done or self._running.acquire(timeout=seconds)

    def result(self) -> T:
        """Waits, and returns what the work has returned, or raises what it has raised."""
        self.wait()
        if self._raised:
            raise self._raised.pop()  # or it would hold this frame, and this frame would hold it
        return self._made[0]


class ProcessEnds(BaseException):
    """Ends work that is left over when the process ends; it is no failure of that work."""


_left: list[Work[Any]] = []
"""Work that a signal has ended the waiting for."""
_ending = False


def uninterrupted(work: Callable[[], T], seconds: float = -1.0, on_wait: Callable[[], None] | None = None) -> T:
    """Returns what the work returns, or raises what it raises; no signal can stop it halfway.

    If an exception from the handler of a signal ends the waiting, the work goes on by itself. `on_wait` is called once,
    if the work takes longer than this number of `seconds`.
    """
    if on_wait is None and _thread.get_ident() != threading.main_thread().ident:
        return work()  # handlers are not run here
    usual = threading.stack_size(STACK_BYTES)
    try:
        begun = Work(work)
    finally:
        threading.stack_size(usual)
    try:
        if not begun.wait(seconds) and on_wait is not None:
            on_wait()
        return begun.result()
    finally:
        if not begun.done:
            _left[:] = [*(w for w in _left if not w.done), begun]


def stop_if_ending() -> None:
    """Ends the work of this thread if the process is about to end. Work calls it where it can be given up."""
    if _ending and any(w.thread == _thread.get_ident() for w in _left):
        raise ProcessEnds


@atexit.register
def _wait_for_what_is_left() -> None:
    """Waits until nothing is at work: a library must not be taken apart under a thread that is in it."""
    global _ending
    _ending = True
    for work in _left:
        work.wait()


# --- imports and forks ---------------------------------------------------------------------------------------------

_importing = threading.RLock()


def imported(name: str) -> Any:
    """A module, imported where neither a signal nor a fork can cut the import in two."""
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", True):
        return module

    return undivided(lambda: importlib.import_module(name))


def on_demand(package: str, *others: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package whose public names are brought in when first asked for.

    They are those that its source imports under their own names, `from polhode.x import y as y`, for type checkers
    only; a module is imported from the package itself. `others` are there already. An import is never cut in two:
    NumPy, which it brings in, could not be imported again after half an import.
    """
    here: Any = sys.modules[package]
    loader = here.__spec__.loader
    if hasattr(loader, "get_source"):
        source = loader.get_source(package)
    else:  # that of pytest, which loads what has a plug-in of its own
        with open(here.__file__, encoding="utf-8") as file:
            source = file.read()
    lines = map(str.split, source.splitlines())
    homes = {words[3]: words[1] for words in lines if words[2:3] == ["import"] and words[4:] == ["as", words[3]]}
    public = sorted([*homes, *others])

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if homes[name] == package:
            return imported(f"{package}.{name}")
        found = getattr(imported(homes[name]), name)
        setattr(here, name, found)  # so that it is not asked for again
        return found

    return get, lambda: list(public), public


def undivided(work: Callable[[], T]) -> T:
    """What the work returns, which may import something: neither a signal nor a fork cuts it in two."""
    _watch_forks()

    def alone() -> T:
        with _importing:
            return work()

    return uninterrupted(alone)


_locks: list[Callable[[], list[Any]]] = [lambda: [_importing]]
_held: list[Any] = []
"""The locks that a fork has taken."""
_stopped_by: list[BaseException] = []
"""Exceptions from signals that came while a fork waited for locks."""


def hold_over_forks(locks: Callable[[], list[Any]]) -> None:
    """Makes every fork wait for these locks: a child inherits locks as they are, but not the threads that hold them.

    They are taken after those that were named before.
    """
    _locks.append(locks)
    _watch_forks()


@cache
def _watch_forks() -> None:
    if not hasattr(os, "register_at_fork"):
        return
    # What is registered last is called first. The functions of `logging` hold a lock of its own, which imports take.
    import logging  # noqa: F401

    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)


def _before_fork() -> None:
    """Takes all locks. An exception must not come out of here: Python would ignore it, and fork."""
    for lock in (lock for locks in _locks for lock in locks()):
        while True:
            try:
                lock.acquire()
                break
            except BaseException as problem:
                _stopped_by.append(problem)
        _held.append(lock)


def _after_fork() -> None:
    while _held:
        _held.pop().release()
    if _stopped_by:
        kind = type(_stopped_by[0])
        _stopped_by.clear()
        forker = sys._getframe().f_back
        _thread.start_new_thread(_raise_beyond, (forker, forker and forker.f_lasti, _thread.get_ident(), kind))


def _raise_beyond(forker: FrameType | None, at: int | None, thread: int, kind: type[BaseException]) -> None:
    """Raises an exception in a thread once it has left the instruction that forks, at this place of its frame.

    In what runs before, which is `_after_fork` and the like of others, it would be ignored.
    """
    import ctypes

    while forker is not None and forker.f_lasti == at and _is_running(forker, thread):
        time.sleep(0.001)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(kind))


def _is_running(frame: FrameType, thread: int) -> bool:
    """Whether a thread is in this frame, or in what it has called."""
    here = sys._current_frames().get(thread)
    while here is not None and here is not frame:
        here = here.f_back
    return here is not None


def _after_fork_in_child() -> None:
    _stopped_by.clear()
    _left.clear()  # it goes on in the parent only
    _after_fork()


# --- exceptions from handlers --------------------------------------------------------------------------------------


def is_from_handler(problem: BaseException) -> bool:
    """Whether the handler of a signal has raised it: nothing that was going on then is to blame.

    A handler in Python is called with the frame that it interrupts, which is the frame below its own.
    """
    trace = problem.__traceback__
    while trace is not None:
        if _is_handler(trace.tb_frame):
            return True
        trace = trace.tb_next
    return False


def attempted(make: Callable[[], T], otherwise: D) -> T | D:
    """What code of the user's makes, or `otherwise` if it raises anything that is not from a signal handler."""
    try:
        return make()
    except Exception as problem:
        if is_from_handler(problem):
            raise
        return otherwise


def _is_handler(frame: FrameType) -> bool:
    below, code = frame.f_back, frame.f_code
    if below is None or code.co_argcount + bool(code.co_flags & 0x04) == 0:  # 0x04: *arguments
        return False
    known = frame.f_locals
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + 1]
    given = [known.get(name) for name in names]
    return any(x is below or (isinstance(x, tuple) and any(y is below for y in x)) for x in given)


@contextmanager
def keeping(of: Any, kept: Callable[[BaseException], Any], note: str = "") -> Iterator[None]:
    """Keeps what was computed: whatever ends the block has what `kept` makes of it, unless that is None.

    Ctrl-C becomes an exception `of` its own (`SimulationInterrupted`, `EnsembleInterrupted`); others have it under the
    name by which that one `keeps` it, with a note if they had nothing there before.
    """
    try:
        yield
    except BaseException as raised:
        if (found := kept(raised)) is None:
            raise
        if isinstance(raised, KeyboardInterrupt):
            raise of(found) from None
        if note and not hasattr(raised, of.keeps):
            raised.add_note(note)
        setattr(raised, of.keeps, found)
        raise


class faults_ignored:
    """Ignores what the user's code raises, but not what the handler of a signal raises meanwhile."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> bool:
        return isinstance(problem, Exception) and not is_from_handler(problem)
