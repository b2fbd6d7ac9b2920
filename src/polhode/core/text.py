"""Functions from generated text, for code that is better unrolled than looped."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any


def function(head: str, lines: Sequence[str], names: dict[str, Any]) -> Any:
    """A function from its text. The names it reads are captured with it, so its digest covers them."""
    scope = {"__name__": __name__, **names}
    exec(_code("\n    ".join([f"def {head}:", *lines]), f"<{head}>"), scope)
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
