"""Signals that stop a command."""

import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

import typer

from polhode.cli._terminal import INTERRUPTED


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Makes SIGTERM and SIGHUP stop a command as Ctrl-C does, so that it saves what it has.

    The exit code is 128 + the number of the signal.
    """
    received: list[int] = []

    def stop(number: int, frame: Any) -> None:
        received.append(number)
        as_ctrl_c = signal.getsignal(signal.SIGINT)
        if callable(as_ctrl_c):
            as_ctrl_c(signal.SIGINT, frame)
        else:  # a job in the background ignores Ctrl-C
            raise KeyboardInterrupt

    before: dict[int, Any] = {}
    with suppress(ValueError):  # not in the main thread
        for number in _STOPPING:
            if signal.getsignal(number) is signal.SIG_DFL:  # nohup has SIGHUP ignored
                before[number] = signal.signal(number, stop)
    try:
        yield
    except typer.Exit as end:
        if received and end.exit_code == INTERRUPTED:
            raise typer.Exit(128 + received[0]) from None
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


_STOPPING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def masked(how: str) -> Iterator[None]:
    """Blocks or unblocks the signals that stop a command, where there are such masks."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(getattr(signal, how), {signal.SIGINT, *_STOPPING})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def not_stopped() -> AbstractContextManager[None]:
    """Lets signals wait: what is computed is saved and reported, even if Ctrl-C is pressed a second time."""
    return masked("SIG_BLOCK")
