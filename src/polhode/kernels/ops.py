"""Operations whose compiled form is not their Python form.

Each is an ordinary function here, so that kernels run and can be tested in plain Python; `compiler/translate.py` has
their compiled forms.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from polhode.kernels.types import Vec3

F = TypeVar("F", bound=Callable[..., Any])


def marker(name: str) -> Callable[[F], F]:
    """A decorator that sets an attribute of a function to True, by which the compiler knows it."""

    def mark(f: F) -> F:
        setattr(f, name, True)
        return f

    return mark


primitive = marker("__primitive__")
"""Marks a function that has a compiled form of its own; the compiler puts that in its place."""
apart = marker("__apart__")
"""Marks a function that is compiled once and called, where others become part of their callers: a large one."""
shared = marker("__shared__")
"""Marks a function without side effects that becomes part of its callers, once for the same arguments."""
of_arrays = marker("__of_arrays__")
"""Marks a function that works on arrays that a user's function returns: Numba compiles it with that."""
smooth_between_breakpoints = marker("__smooth_between_breakpoints__")
"""Marks a function that branches, but jumps or has a kink at declared breakpoints only."""
branches_by_parameters = marker("__branches_by_parameters__")
"""Marks arithmetic that is one formula or another as a parameter is a table or a number: all rows have the same."""


@primitive
def fma(a: float, b: float, c: float) -> float:
    """a b + c, rounded once when compiled. The compiler fuses nothing by itself, so that bits are always the same."""
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
def power_of_two(k: float) -> float:
    """Returns 2^k, for a whole number from -1022 to 1023."""
    return math.ldexp(1.0, int(k))


@primitive
def fraction_exponent(x: float) -> tuple[float, float]:
    """Returns m and e, so that x = m 2^e and 1 <= m < 2, for a positive number that is not below the normal ones."""
    m, e = math.frexp(x)
    return 2.0 * m, e - 1.0


@primitive
def nearest_whole(x: float) -> float:
    """The nearest whole number, the even one of two."""
    return float(round(x)) if abs(x) < 2.0**52 else x


@primitive
def where(condition: Any, a: Any, b: Any) -> Any:
    """A if the condition holds, else b. Unlike an `if`, it chooses lane by lane; a and b are both computed.

    Examples
    --------
    >>> ph.where(1.0 > 0.0, 2.0, 3.0)
    2.0
    """
    return a if condition else b


def read_only(x: Any) -> Any:
    """A view of an array that cannot be written to: what torques get."""
    seen = x[:]
    seen.flags.writeable = False
    return seen


@primitive
def view(x: Any, n: int) -> Any:
    """The first n numbers at x as an array that cannot be written to."""
    return read_only(np.array(x[:n]) if isinstance(x, list) else x[:n])


@primitive
def matrix(x: Any, n: int, k: int) -> Any:
    """The first n k numbers at x as an array of n rows that cannot be written to."""
    return read_only(x[: n * k]).reshape(n, k)


@primitive
def beginning_at(x: Any, k: int) -> Any:
    """The numbers from x[k] on."""
    return x[k:]


@primitive
def section(x: Any, k: int, n: int) -> Any:
    """The n parameters from x[k] on, for literal k and n: a view of an array, or a part of a tuple."""
    return x[k : k + n]


@primitive
def is_between(t: float, start: float, end: float) -> bool:
    """Whether start <= t < end. Lanes agree on that, because no step reaches beyond a breakpoint: the first decides."""
    return start <= t < end


@primitive
def scratch(n: int) -> Any:
    """Returns n numbers to write to, for a literal n. Compiled, they live while the function does that asked."""
    return [0.0] * n


@primitive
def scratch_rows(n: int, lanes: int) -> Any:
    """Returns n rows to write to, for literal n and lanes, each in the lanes of one value. It exists compiled only."""
    raise NotImplementedError


@primitive
def new_counters(count: Any, n: int) -> Any:
    """Returns n integers to write to, in an array of the same kind as `count`, for a literal n."""
    return [0] * n


@primitive
def triple(x: Any) -> Vec3:
    """The three numbers of any sequence that a torque returned as a tuple of floats."""
    return (float(x[0]), float(x[1]), float(x[2]))


@primitive
def derivatives(x: Any, n: int) -> tuple[float, ...]:
    """The n numbers of any sequence that a torque returned as derivatives, for a literal n, as floats."""
    return (float(x),) if n == 1 and not hasattr(x, "__len__") else tuple(float(item) for item in x)


@primitive
def each_of_three(x: Any) -> Any:
    """The three numbers of a vector; a number stands for all three."""
    return (x[0], x[1], x[2]) if hasattr(x, "__len__") else (x, x, x)


@primitive
def shaped_like(x: Any, v: Vec3) -> Any:
    """Returns v if x is a vector, and its first number if x is a number."""
    return v if hasattr(x, "__len__") else v[0]


@primitive
def is_gyrostat(body: Any) -> bool:
    """Whether the body has a rotor; a constant when compiled."""
    return len(body) >= 3


@primitive
def across(body: Any) -> Vec3:
    """The elements 23, 13 and 12 of the inverse tensor; constant zeros when compiled for principal axes."""
    return body[3] if len(body) == 5 else (0.0, 0.0, 0.0)


@primitive
def is_full(body: Any) -> bool:
    """Whether the inverse tensor has such elements; a constant when compiled."""
    return len(body) == 5


@primitive
def if_it_changes(f: Callable[[Any, Any, float], Any], body: Any, p: Any, t: float) -> Any:
    """Returns f(body, p, t) for a body that changes with time, and any other body as it is."""
    return f(body, p, t) if len(body) == 4 else body


@primitive
def each_if_it_changes(f: Callable[[Any, Any, float], Any], body: Any, p: Any, times: tuple[float, ...]) -> Any:
    """`if_it_changes` at several times; compiled, f is called once, with the times in lanes, unless they have lanes."""
    return tuple(if_it_changes(f, body, p, t) for t in times)


@primitive
def internal(body: Any) -> Vec3:
    """The internal angular momentum of the body; a constant zero when compiled for one without a rotor."""
    return body[2] if len(body) >= 3 else (0.0, 0.0, 0.0)


# Many bodies at once. Compiled, a number may stand for several bodies, one in each lane of a vector register
# (`compiler/translate.py`). Here, in plain Python, there is one lane: a float.


@primitive
def all_of(condition: Any) -> bool:
    """Whether the condition holds in all lanes."""
    return bool(condition)


@primitive
def lane(x: Any, i: int) -> float:
    """The number in lane i, also of a row."""
    return x[i] if hasattr(x, "__len__") else x  # type: ignore[no-any-return]


@primitive
def from_lanes(numbers: tuple[float, ...]) -> float:
    """The value that has these numbers in its lanes."""
    return numbers[0]


@primitive
def at_each_time(f: Callable[[Any, float, int], Any], x: Any, t: float, n: int) -> Any:
    """The n numbers f(x, t, n), for a literal n; if t has lanes, f is called for one after the other."""
    return f(x, t, n)


@primitive
def halves(x: Any) -> tuple[Any, Any]:
    """The first and the second half of the lanes. It exists compiled only: one lane has no halves."""
    raise NotImplementedError


@primitive
def exchanged(x: Any, k: int) -> Any:
    """Returns x with its lanes exchanged: lane i is lane i ^ k of x, for a literal k. It exists compiled only."""
    raise NotImplementedError


@primitive
def joined(a: Any, b: Any) -> Any:
    """Two halves as one. It exists compiled only."""
    raise NotImplementedError


# Rows over nodes. Compiled, a row of numbers is one value in the lanes of a vector register; here it is an array.


@primitive
def rows_of(x: Any, k: int, n: int) -> Any:
    """The numbers from x[k] on as rows of n, for a literal n; row j begins at x[k + n j]."""
    return x[k : k + (len(x) - k) // n * n].reshape(-1, n)


@primitive
def row_of(numbers: tuple[float, ...]) -> Any:
    """A row of these numbers."""
    return np.array(numbers)


@primitive
def row_maximum(a: Any, b: Any) -> Any:
    """The larger of two numbers, node by node."""
    return np.maximum(a, b)


@primitive
def largest_in(row: Any) -> float:
    """The largest number of a row."""
    return float(np.max(row))


@primitive
def sum_of_row(row: Any) -> float:
    """The sum of the numbers of a row, in pairs of halves."""
    while len(row) > 1:
        row = row[: len(row) // 2] + row[len(row) // 2 :]
    return float(row[0])


@primitive
def columns(x: Any, offsets: tuple[int, ...]) -> Any:
    """The numbers of several bodies, which begin at these offsets: item k holds x[offset + k] of each body."""
    return x[offsets[0] :]


@primitive
def views(x: Any, n: int) -> tuple[Any, ...]:
    """The first n numbers of each body in such columns as arrays that cannot be written to."""
    return (read_only(x[:n]),)


@primitive
def verdict(status: int, good: Any) -> int:
    """What a driver returns: the status of one body; for several, the lanes that failed, as bits."""
    return status
