"""What elementary functions cost: `python -m benchmarks.elementary` prints ns a number, in lanes and one by one.

The functions of the C library stand beside ours, called for one number after the other, as a loop of Numba calls them.
Processor time, the least of many bursts. Chains, in which each value waits for the one before, show the time of one.
"""

import math
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from polhode.compiler import program
from polhode.kernels.ops import rows_of

NUMBERS, BURSTS, LANES = 16384, 40, 8
RANGES = {"asin": (-0.99, 0.99), "acos": (-0.99, 0.99), "log": (0.1, 9.0), "log1p": (-0.5, 9.0), "pow": (0.1, 9.0)}
NAMES = (
    "sin", "cos", "tan", "asin", "acos", "atan", "exp", "expm1", "log", "log1p", "sinh", "cosh", "tanh", "asinh",
    "atan2", "pow", "hypot",
)  # fmt: skip
WEIGHT = 1e-300
"""A value times this does not change the next argument, which waits for it all the same."""


def value_of(name: str) -> Any:
    """Returns a function of two numbers that calls one of `math`."""
    f: Any = getattr(math, name)
    return (lambda x, y: f(x, y)) if name in ("atan2", "pow", "hypot") else (lambda x, y: f(x))


def loops(name: str) -> tuple[Callable[..., int], Callable[..., int]]:
    """Returns loops that call a function of `math`: over rows of lanes, and in a chain."""
    value = value_of(name)

    def in_lanes(x: Any, y: Any, out: Any, n: int) -> int:
        a, b, c = rows_of(x, 0, LANES), rows_of(y, 0, LANES), rows_of(out, 0, LANES)
        for i in range(n // LANES):
            c[i] = value(a[i], b[i])
        return 0

    def in_chain(x: Any, y: Any, out: Any, n: int) -> int:
        before = 0.0
        for i in range(n):
            before = value(x[i] + WEIGHT * before, y[i])
        out[0] = before
        return 0

    return in_lanes, in_chain


def of_c(name: str) -> tuple[Any, Any]:
    """Returns the same loops with the function of the C library: over all numbers, and in a chain."""
    f = numba.njit(value_of(name))

    @numba.njit
    def one_by_one(x: Any, y: Any, out: Any, n: int) -> int:
        for i in range(n):
            out[i] = f(x[i], y[i])
        return 0

    @numba.njit
    def in_chain(x: Any, y: Any, out: Any, n: int) -> int:
        before = 0.0
        for i in range(n):
            before = f(x[i] + WEIGHT * before, y[i])
        out[0] = before
        return 0

    return one_by_one, in_chain


def nanoseconds(run: Callable[..., int], *given: Any) -> float:
    """Returns the least processor time a number."""
    run(*given)
    least = math.inf
    for _ in range(BURSTS):
        begin = time.process_time_ns()
        run(*given)
        least = min(least, time.process_time_ns() - begin)
    return least / NUMBERS


def main() -> None:
    """Prints the table."""
    print(f"{'':8}{LANES} lanes    C, each | chain      C, chain     (ns)")
    rng = np.random.default_rng(2)
    for name in NAMES:
        x, y = rng.uniform(*RANGES.get(name, (-5.0, 5.0)), NUMBERS), rng.uniform(-3.0, 3.0, NUMBERS)
        given = x, y, np.empty(NUMBERS), NUMBERS
        lanes, chain = (nanoseconds(program(loop, "pppi"), *given) for loop in loops(name))
        each, waiting = (nanoseconds(loop, *given) for loop in of_c(name))
        print(f"{name:8}{lanes:7.2f} {each:10.2f} | {chain:7.2f} {waiting:10.2f}", flush=True)


if __name__ == "__main__":
    main()
