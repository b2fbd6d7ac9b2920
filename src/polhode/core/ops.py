"""Operations whose compiled form is not their Python form.

Each is an ordinary function here, so that kernels run and can be tested in plain Python;
`compiled/primitives.py` tells Numba what they become.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from polhode.core.types import Vec3

F = TypeVar("F", bound=Callable[..., Any])


def primitive(f: F) -> F:
    """Mark a function whose compiled form is registered: the linker leaves its name alone."""
    f.__primitive__ = True  # type: ignore[attr-defined]
    return f


@primitive
def fma(a: float, b: float, c: float) -> float:
    """a b + c, rounded once when compiled: written out, so that every compilation has the same bits."""
    return a * b + c


@primitive
def view(x: Any, n: int) -> Any:
    """The first n numbers at x, as an array."""
    return x[:n]


@primitive
def triple(x: Any) -> Vec3:
    """Three numbers as a tuple of floats, from whatever sequence a torque returned."""
    return (float(x[0]), float(x[1]), float(x[2]))
