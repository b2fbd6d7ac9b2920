"""Makes functions from generated text, for code that is faster unrolled than in loops."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any


def function(head: str, lines: Sequence[str], names: dict[str, Any]) -> Any:
    """Makes a function from its text. It captures the names that it reads, so its digest covers them.

    The same text with the same names gives the same function object, so that its digest is computed once. The
    function keeps the text as `__text__`.
    """
    text = "\n    ".join([f"def {head}:", *lines])
    if all(type(value) in _EQUAL_IF_THE_SAME for value in names.values()):
        return _shared(head, text, tuple((name, type(value), value) for name, value in names.items()))
    return _made(head, text, names)


_EQUAL_IF_THE_SAME = (FunctionType, BuiltinFunctionType, type, int)
"""Types whose values are equal only if they behave alike; floats are not among them: 0.0 equals -0.0."""


@lru_cache(maxsize=1024)
def _shared(head: str, text: str, names: tuple[tuple[str, type, Any], ...]) -> Any:
    return _made(head, text, {name: value for name, _, value in names})


def _made(head: str, text: str, names: dict[str, Any]) -> Any:
    scope = {"__name__": __name__, **names}
    exec(code_of(text, f"<{head}>"), scope)
    made = scope[head.partition("(")[0]]
    made.__text__ = text
    return made


@lru_cache(maxsize=1024)
def code_of(text: str, name: str) -> CodeType:
    """Compiles the text once: every run has the same, and compiling it takes longer than the rest of a short run."""
    return compile(text, name, "exec")


def tuple_of(count: int) -> Callable[[Any, int], tuple[float, ...]]:
    """Returns `load(x, k)`, which reads `count` numbers from x[k] on, as a tuple."""
    items = "".join(f"x[k + {i}], " for i in range(count))
    load: Callable[[Any, int], tuple[float, ...]] = function("load(x, k)", [f"return ({items})"], {})
    return load


def writer_of(count: int) -> Callable[[Any, int, tuple[float, ...]], None]:
    """Returns `store(x, k, v)`, which writes a tuple of `count` numbers from x[k] on."""
    lines = [f"x[k + {i}] = v[{i}]" for i in range(count)]
    store: Callable[[Any, int, tuple[float, ...]], None] = function("store(x, k, v)", lines or ["pass"], {})
    return store
