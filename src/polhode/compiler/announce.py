"""Says that something is being compiled, if that takes long: once a call, on standard error.

A notebook shows it as output. POLHODE_QUIET=1 in the environment hides it.
"""

import os
import sys
import threading
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

PATIENCE_SECONDS = 0.5
"""Compilations that are shorter are not worth a line."""

P = ParamSpec("P")
T = TypeVar("T")


class _Call(threading.local):
    """The call of a public function that is going on in this thread."""

    said: bool | None = None
    """Whether something was said in it; None: there is no such call."""


_call = _Call()


def announced_once(f: Callable[P, T]) -> Callable[P, T]:
    """Makes all compilations of one call of f, and of what it calls, share one announcement."""

    @wraps(f)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        if _call.said is not None:  # within another one
            return f(*args, **kwargs)
        try:
            _call.said = False
            return f(*args, **kwargs)
        finally:
            _call.said = None

    return call


def is_quiet() -> bool:
    """Whether the user wants to hear nothing of compilations."""
    return os.environ.get("POLHODE_QUIET", "0") not in ("", "0")


def announce(what: str, *, kept: bool) -> None:
    """Says what is compiled, unless this call has said something before."""
    if is_quiet() or _call.said or sys.stderr is None:
        return
    if _call.said is not None:
        _call.said = True
    fate = "once; the program is kept for next time" if kept else "for this process only"
    print(f"polhode: compiling {what}, {fate} (POLHODE_QUIET=1 hides this) ...", file=sys.stderr, flush=True)
