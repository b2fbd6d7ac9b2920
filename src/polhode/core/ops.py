"""Operations whose compiled form is not their Python form.

Each is an ordinary function here, so that kernels run and can be tested in plain Python;
`compiled/primitives.py` tells Numba what they become.
"""

import math
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
def two_product(a: float, b: float) -> tuple[float, float]:
    """The product a b exactly, as its rounded value and the error.

    Compiled, the error is one fused multiply-add; here it takes Veltkamp's splitting and Dekker's product.
    """
    if 1e280 < max(abs(a), abs(b)) < math.inf:  # the splitting would overflow
        big, small = (a, b) if abs(a) > abs(b) else (b, a)
        p, e = two_product(big * 2.0**-100, small)
        return p * 2.0**100, e * 2.0**100
    p = a * b
    a1, b1 = a * 134217729.0, b * 134217729.0
    a1, b1 = a1 - (a1 - a), b1 - (b1 - b)
    a2, b2 = a - a1, b - b1
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


@primitive
def where(condition: Any, a: Any, b: Any) -> Any:
    """a if the condition holds, else b. Unlike an `if`, it may differ from lane to lane; both are computed."""
    return a if condition else b


@primitive
def view(x: Any, n: int) -> Any:
    """The first n numbers at x, as an array."""
    return x[:n]


@primitive
def beginning_at(x: Any, k: int) -> Any:
    """The numbers from x[k] on."""
    return x[k:]


@primitive
def triple(x: Any) -> Vec3:
    """Three numbers as a tuple of floats, from whatever sequence a torque returned."""
    return (float(x[0]), float(x[1]), float(x[2]))


# Many bodies at once. Compiled, a number may stand for several bodies, one in each lane of a vector register
# (`compiled/lanes.py`). Here, in plain Python, there is one lane: a float.


@primitive
def all_of(condition: Any) -> bool:
    """Whether it holds in all lanes."""
    return bool(condition)


@primitive
def lane(x: float, i: int) -> float:
    """The number in lane i."""
    return x


@primitive
def from_lanes(numbers: tuple[float, ...]) -> float:
    """One number a lane, as one."""
    return numbers[0]


@primitive
def halves(x: Any) -> tuple[Any, Any]:
    """The first and the second half of the lanes. Compiled only: one lane has no halves."""
    raise NotImplementedError


@primitive
def exchanged(x: Any, k: int) -> Any:
    """Lane i of it is lane i ^ k of x, where k is written as a number. Compiled only."""
    raise NotImplementedError


@primitive
def joined(a: Any, b: Any) -> Any:
    """Two halves as one. Compiled only."""
    raise NotImplementedError


@primitive
def columns(x: Any, offsets: tuple[int, ...]) -> Any:
    """The numbers of several bodies, which begin at these offsets: item k of it is x[offset + k] for each."""
    return x[offsets[0] :]


@primitive
def views(x: Any, n: int) -> tuple[Any, ...]:
    """The first n numbers of each body in such columns, as arrays."""
    return (x[:n],)


@primitive
def verdict(status: int, good: Any) -> int:
    """What a driver returns: the status of one body; of several, the lanes that are to blame for it, as bits."""
    return status
