"""Functions from generated text, for code that is better unrolled than looped."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any


def function(head: str, lines: Sequence[str], names: dict[str, Any]) -> Any:
    """A function from its text. The names it reads are captured with it, so its digest covers them.

    The same text with the same names is the same function, whose digest is then known.
    """
    text = "\n    ".join([f"def {head}:", *lines])
    if all(type(value) in _EQUAL_IF_THE_SAME for value in names.values()):
        return _shared(head, text, tuple((name, type(value), value) for name, value in names.items()))
    return _made(head, text, names)


_EQUAL_IF_THE_SAME = (FunctionType, BuiltinFunctionType, type, int)


@lru_cache(maxsize=1024)
def _shared(head: str, text: str, names: tuple[tuple[str, type, Any], ...]) -> Any:
    return _made(head, text, {name: value for name, _, value in names})


def _made(head: str, text: str, names: dict[str, Any]) -> Any:
    scope = {"__name__": __name__, **names}
    exec(_code(text, f"<{head}>"), scope)
    return scope[head.partition("(")[0]]


@lru_cache(maxsize=1024)
def _code(text: str, name: str) -> CodeType:
    """The same text comes with every run; to compile it takes longer than all else that a short run does."""
    return compile(text, name, "exec")


def tuple_of(count: int) -> Callable[[Any, int], tuple[float, ...]]:
    """`load(x, k)`: count numbers from x[k] on, as a tuple."""
    items = "".join(f"x[k + {i}], " for i in range(count))
    load: Callable[[Any, int], tuple[float, ...]] = function("load(x, k)", [f"return ({items})"], {})
    return load


def writer_of(count: int) -> Callable[[Any, int, tuple[float, ...]], None]:
    """`store(x, k, v)`: a tuple of count numbers to x[k] and after."""
    lines = [f"x[k + {i}] = v[{i}]" for i in range(count)]
    store: Callable[[Any, int, tuple[float, ...]], None] = function("store(x, k, v)", lines or ["pass"], {})
    return store
