"""What torques return: three numbers, or anything else."""

import math
from typing import Any

import numpy as np

_FLOATS = frozenset({float, np.float64})
"""The types of number that a torque usually returns."""


def size_of(name: str, n: Any, t: float) -> float:
    """The size of what a torque has returned, which may be anything."""
    usual = isinstance(n, tuple) and len(n) == 3 and _FLOATS.issuperset(map(type, n))
    if usual and math.isfinite(size := math.hypot(*n)):
        return size
    if n is None:
        raise ValueError(f"the torque {name} must return three numbers, not None: does it end without return?")
    row = isinstance(n, tuple | list) or (isinstance(n, np.ndarray) and n.ndim > 0)
    if not row or len(n) != 3:
        form = "" if row else ", as a tuple, list or array"
        raise ValueError(f"the torque {name} must return three numbers{form}, not {n!r}")
    items = [plain_item(x) for x in n]
    given = f"the torque {name} returned {tuple(items)} at t = {t:g}"
    for item in items:
        if reason := no_real_number(item):
            raise ValueError(f"{given}: {reason}")
    numbers = np.array(items, dtype=float)
    if not np.isfinite(numbers).all():
        raise ValueError(f"{given}, at the very start")
    return math.hypot(*numbers.tolist())


def plain_item(x: Any) -> Any:
    """A scalar of NumPy's as a Python object, which prints as one; anything else unchanged."""
    return x.item() if isinstance(x, np.generic) or (isinstance(x, np.ndarray) and x.ndim == 0) else x


def no_real_number(x: Any) -> str | None:
    """Why x is not a real number, with a remedy; None if it is one."""
    if isinstance(x, bool):
        return f"{x} is a bool and no number; write 1.0 if ... else 0.0"
    if isinstance(x, complex):
        return f"{x} is complex, but they must all be real numbers; write .real, or what was meant"
    if isinstance(x, int | float):
        return None
    if x is None:
        return "None is no number; give it a value in every branch"
    remedy = "; write one of its items" if isinstance(x, tuple | list | np.ndarray) else ""
    return f"{x!r} is no number{remedy}"
