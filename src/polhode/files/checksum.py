"""The checksum of a file: over what it holds, not over its bytes.

It covers every attribute, and of every variable its name, dimensions, attributes and values. Where they stand in the
file has no part in it, so that a file which xarray has read and written again keeps its checksum. What xarray adds by
itself is left out, and so are attributes without a value, which it drops.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

NAME = "checksum"
"""The attribute that holds the checksum."""
NONE = "none"
"""The value of that attribute by which a person who has changed a file says that it is to be believed without."""
_ADDED_BY_XARRAY = frozenset({"_FillValue", "missing_value", "_Encoding", "coordinates", NAME})

BLOCK_NUMBERS = 1 << 18
"""Numbers that are read at once, so that copies stay small."""


class Checksum:
    """Adds up the parts of a file, in any order."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def add_attributes(self, attributes: Mapping[str, Any]) -> None:
        """Adds the attributes of the whole file."""
        self._parts += [_digest(b"attribute", part) for part in _listed(attributes)]

    def add_variable(
        self, name: str, dimensions: Iterable[str], data: NDArray[Any], attributes: Mapping[str, Any]
    ) -> None:
        """Adds a variable of floats or strings."""
        head = [name.encode(), *(d.encode() for d in dimensions), repr(data.shape).encode(), *_listed(attributes)]
        self._parts.append(_digest(b"variable", *head, _values(data)))

    def text(self) -> str:
        """The checksum of all that was added."""
        return f"sha256 {hashlib.sha256(b''.join(sorted(self._parts))).hexdigest()}"


def _listed(attributes: Mapping[str, Any]) -> list[bytes]:
    """The attributes that count, each as one piece, in the order of their names."""
    found = []
    for name in sorted(attributes.keys() - _ADDED_BY_XARRAY):
        value = attributes[name]
        if isinstance(value, str):
            kind, size, raw = b"text", len(value), value.encode()
        else:
            numbers = np.atleast_1d(np.asarray(value, dtype=np.float64))
            kind, size, raw = b"numbers", numbers.size, _values(numbers)
        if size:
            found.append(_digest(name.encode(), kind, raw))
    return found


def _values(data: NDArray[Any]) -> bytes:
    """A digest of all numbers or texts."""
    whole = hashlib.sha256()
    if data.dtype.kind == "U":
        for text in data.reshape(-1).tolist():
            raw = text.encode()
            whole.update(len(raw).to_bytes(8, "little") + raw)
        return whole.digest()
    if data.dtype.kind == "S" or data.ndim == 0:  # polhode writes neither
        return hashlib.sha256(data.tobytes()).digest()
    row = max(1, data[:1].size)
    step = max(1, BLOCK_NUMBERS // row)
    for k in range(0, len(data), step):
        block = np.ascontiguousarray(data[k : k + step], dtype="<f8")
        if np.isnan(block.max(initial=-np.inf)):  # one NaN is as good as another, and xarray writes its own
            block = np.where(np.isnan(block), np.nan, block)
        whole.update(block.data)
    return whole.digest()


def _digest(*pieces: bytes) -> bytes:
    """A digest of the pieces that depends on where one ends and the next begins."""
    whole = hashlib.sha256()
    for piece in pieces:
        whole.update(len(piece).to_bytes(8, "little") + piece)
    return whole.digest()
