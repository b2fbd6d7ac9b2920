"""Room on the interpreter's stack for a function that calls deeply."""

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

ROOM = 70_000
"""Places of 8 bytes: a little more than half a megabyte, so that the piece of stack below has as much again."""


def with_room(f: F) -> F:
    """Returns f with half a megabyte of stack for the calls that it makes.

    Python keeps the frames of calls in pieces of 16 kB, and asks the system for a piece and gives it back whenever a
    call crosses from one to the next. A loop that calls something right there takes a hundred times as long, and a
    compiler, which is called by itself again and again, has such loops at every depth. A frame that does not fit gets a
    piece of its own, of twice its size at most, and what it calls lies in the rest of it.
    """
    plain = cast(FunctionType, f)
    roomy = FunctionType(
        plain.__code__.replace(co_stacksize=ROOM),
        plain.__globals__,
        plain.__name__,
        plain.__defaults__,
        plain.__closure__,
    )
    roomy.__kwdefaults__, roomy.__doc__, roomy.__module__ = plain.__kwdefaults__, plain.__doc__, plain.__module__
    return cast(F, roomy)
