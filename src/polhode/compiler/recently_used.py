"""A dictionary of what was used last."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(OrderedDict[K, V]):
    """Keeps at most `most` values: a new one takes the place of the one that was not used for the longest time."""

    def __init__(self, most: int, on_drop: Callable[[K], Any] = id) -> None:
        super().__init__()
        self.most, self.on_drop = most, on_drop

    def __getitem__(self, key: K) -> V:
        value = super().__getitem__(key)
        self.move_to_end(key)
        return value

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        while len(self) > self.most:
            oldest = next(iter(self))
            del self[oldest]
            self.on_drop(oldest)

    def get(self, key: K, default: Any = None) -> Any:
        """The value, which counts as a use."""
        if key not in self:
            return default
        return self[key]
