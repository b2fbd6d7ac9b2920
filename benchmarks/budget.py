"""How long the measurements may take: each part has a share of the time, and leaves out what does not fit.

Parts go through their points in an order that covers the whole range early (`spread_out`), so that what is left out is
detail. What was left out is said in the output and kept with the results.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")

MINUTES, QUICK_MINUTES = 38.0, 4.5
"""The time of all parts together, a little below what is promised: 40 minutes, or 5."""
SHARES = {
    "reference": 2.0, "users": 6.0, "map": 13.0, "papers": 6.0, "tops": 6.0, "scaling": 3.0, "bound": 1.5, "long": 1.5,
    "fresh memory": 1.0, "memory kept": 1.0, "far": 1.0, "flow": 1.0, "lanes": 1.0, "foundation": 1.0,
}  # fmt: skip
"""How the time is divided among the parts."""
QUICK = ("users", "map", "papers", "tops", "scaling", "bound", "long")
"""The parts of a glance."""


def minutes_of(part: str, *, quick: bool) -> float:
    """Returns the time that a part may take."""
    parts = QUICK if quick else tuple(SHARES)
    whole = sum(SHARES[name] for name in parts)
    return (QUICK_MINUTES if quick else MINUTES) * SHARES[part] / whole


class Clock:
    """Says when the time of a part is over."""

    def __init__(self, minutes: float = float("inf")) -> None:
        self.end = time.monotonic() + 60.0 * minutes
        self.left_out: list[str] = []

    def within(self, points: Iterable[T], name: str, told: Callable[[T], object] = str) -> Iterator[T]:
        """Yields the points that there is time to begin with; the first of them in any case."""
        for k, point in enumerate(points):
            if k > 0 and time.monotonic() > self.end:
                self.left_out.append(f"{name}: {told(point)}")
            else:
                yield point


def spread_out(points: Sequence[T]) -> list[T]:
    """Returns the points in another order: both ends, then the middle, then the middles of what is between."""
    order, waiting = [0, len(points) - 1], [(0, len(points) - 1)]
    while waiting:
        first, last = waiting.pop(0)
        if last - first > 1:
            middle = (first + last) // 2
            order.append(middle)
            waiting += [(first, middle), (middle, last)]
    return [points[k] for k in dict.fromkeys(order)] if points else []


UNLIMITED = Clock()
