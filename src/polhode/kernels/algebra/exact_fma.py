"""Kernels in plain Python with the bits of their compiled forms: `fma` is rounded once.

In plain Python `ops.fma` rounds twice, which is quick, and as good for tests. Where the first few results of a process
are computed in plain Python, because a program would take longer to load or to compile, they must have the same bits.
"""

import math
from functools import cache
from types import FunctionType
from typing import Any

from polhode.kernels.ops import fma


def fused(a: float, b: float, c: float) -> float:
    """A b + c, rounded once, as quotients of whole numbers are in Python: this takes some two microseconds.

    Python 3.13 has `math.fma`, which raises exceptions where the result is infinite or NaN.
    """
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    (i, k), (j, m), (n, d) = a.as_integer_ratio(), b.as_integer_ratio(), c.as_integer_ratio()
    exact = i * j * d + n * k * m
    try:
        return exact / (k * m * d) if exact else a * b + c  # the sign of a zero is that of the sum
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


@cache
def with_fused(f: FunctionType) -> Any:
    """A kernel of this package that runs in plain Python with the bits of its compiled form.

    Its functions must be reached by their own names, not as attributes of modules: others stay as they are.
    """
    replaced: dict[str, Any] = {}
    for name in f.__code__.co_names:
        value = f.__globals__.get(name)
        if value is fma:
            replaced[name] = fused
        elif isinstance(value, FunctionType) and not hasattr(value, "__primitive__"):
            replaced[name] = with_fused(value)
    replaced = {name: value for name, value in replaced.items() if value is not f.__globals__[name]}
    if not replaced:
        return f
    return FunctionType(f.__code__, {**f.__globals__, **replaced}, f.__name__, f.__defaults__, f.__closure__)
