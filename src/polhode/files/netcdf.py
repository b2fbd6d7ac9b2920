"""NetCDF-3 files (64-bit offset): named arrays with dimensions and attributes.

The format is a header followed by big-endian arrays, so little code reads and writes it, and does so block by block,
without a second copy in memory. (SciPy has a reader and writer, which takes half a second to import, keeps all arrays
twice, and knows neither UTF-8 nor arrays beyond 2 GiB.) xarray, SciPy and every NetCDF library open these files.

The header, from the format's specification: "CDF", version, number of records; the lists of dimensions, of global
attributes and of variables. A list is its tag and its length, or two zeros. Everything is padded to four bytes.
"""

import json
import math
import os
import struct
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from polhode.files import checksum
from polhode.files.atomic import AnyPath, whole_file
from polhode.files.checksum import Checksum
from polhode.support.extras import needed

Attribute = str | int | float | NDArray[Any]
Attributes = Mapping[str, Attribute]

LARGEST_BYTES = 2**32 - 4
"""The most bytes in one array: the format counts them in 32 bits."""
BLOCK_ROWS = 1 << 16
"""Rows converted at once, so that copies stay small."""
_MAGIC = b"CDF\x02"
_DIMENSIONS, _VARIABLES, _ATTRIBUTES, _ABSENT = 10, 11, 12, 0
_TYPES = dict(enumerate(map(np.dtype, ("i1", "S1", ">i2", ">i4", ">f4", ">f8")), 1))
_CHAR, _INT, _DOUBLE = 2, 4, 6


class BadFile(ValueError):
    """The file cannot be read: it is of another kind, cut short or damaged. The message names it, and what to do.

    Examples
    --------
    >>> with open("notes.txt", "w") as file:
    ...     print("no numbers", file=file)
    ...
    >>> try:
    ...     ph.load("notes.txt")
    ... except ph.BadFile as problem:
    ...     print(problem)
    ...
    notes.txt is not a NetCDF-3 file, as results are that polhode saves
    """


class ImpossibleContents(ValueError):
    """A file holds something that no result can hold."""


class TooLarge(ValueError):
    """An array does not fit into the format."""


@dataclass(frozen=True, eq=False)
class Variable:
    """Holds an array of floats or of strings, the names of its dimensions, and its attributes."""

    dimensions: tuple[str, ...]
    data: NDArray[Any]
    attributes: Attributes = field(default_factory=dict)


class Contents(NamedTuple):
    """Holds the variables and attributes of a file."""

    variables: dict[str, Variable]
    attributes: dict[str, Attribute]

    @contextmanager
    def checked(self, path: AnyPath, kind: str, newest: int, with_checksum: int = 1) -> Iterator[bool]:
        """Checks format, version and checksum, and makes one error of all that can go wrong while they are used.

        Yields whether the contents were compared with a checksum. `newest` is the latest version that can be read;
        `with_checksum` the first one in which files have a checksum.
        """
        attributes = self.attributes
        if attributes.get("format") != kind:
            raise BadFile(f"{path} does not hold a {kind}: open it with xarray.open_dataset")
        try:
            version = int(cast(Any, attributes["format_version"]))
            if version > newest:
                raise BadFile(f"{path} was written by a later version of polhode: update polhode")
            if version >= with_checksum and checksum.NAME not in attributes:
                raise BadFile(f"{path} is damaged: its checksum is missing. Use another copy of it, or run again")
            yield attributes.get(checksum.NAME, checksum.NONE) != checksum.NONE
        except BadFile:
            raise
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as problem:
            what = str(problem) if isinstance(problem, ImpossibleContents) else f"{type(problem).__name__}: {problem}"
            raise BadFile(f"{path} is damaged ({what}). Use another copy of it, or run again") from problem


def dataset(variables: Mapping[str, Variable], attributes: Mapping[str, Any], *coordinates: str) -> Any:
    """Arrays as an xarray Dataset; coordinates are those that are named, or have the name of their only dimension."""
    xarray = needed("xarray", "a Dataset needs")
    entries = {name: (v.dimensions, v.data, dict(v.attributes)) for name, v in variables.items()}
    along = [name for name, v in variables.items() if v.dimensions == (name,) or name in coordinates]
    return xarray.Dataset(entries, attrs=attributes).set_coords(along)


def metadata_text(metadata: Mapping[str, Any]) -> str:
    """What a user wants to be saved besides, as JSON."""
    try:
        return json.dumps(metadata)
    except (TypeError, ValueError) as problem:
        raise TypeError(f"metadata must be plain enough for JSON: {problem}") from None


def write(path: AnyPath, variables: Mapping[str, Variable], attributes: Attributes, *, overwrite: bool = False) -> None:
    """Writes arrays and attributes, with a checksum of them, to a file that appears whole or not at all."""
    stored = {name: _storable(name, v) for name, v in variables.items()}
    total = Checksum()
    total.add_attributes(attributes)
    for name, v in variables.items():
        total.add_variable(name, v.dimensions, np.asarray(v.data), v.attributes)
    head = _header(stored, {**attributes, checksum.NAME: total.text()})
    with whole_file(path, overwrite=overwrite) as file:
        file.write(head)
        for v in stored.values():
            kind = _TYPES[_kind(v.data)]
            for k in range(0, len(v.data), BLOCK_ROWS):
                file.write(np.ascontiguousarray(v.data[k : k + BLOCK_ROWS], dtype=kind).tobytes())
            file.write(_padding(v.data.nbytes))


def read(path: AnyPath, names: Collection[str] | None = None) -> Contents:
    """Reads attributes and arrays, all or the named ones, text as `str`, and compares all with the checksum."""
    with open(path, "rb") as file:
        return _Reader(file, os.fspath(path), names).contents()


# --- writing -------------------------------------------------------------------------------------------------------


def _storable(name: str, v: Variable) -> Variable:
    """The variable as the format stores it: strings become a table of characters."""
    data, dimensions, attributes = np.asarray(v.data), v.dimensions, dict(v.attributes)
    if data.dtype.kind == "U":
        coded = np.char.encode(data, "utf-8")
        width = max(1, coded.dtype.itemsize)
        data = coded.astype(f"S{width}").view("S1").reshape(*data.shape, width)
        dimensions = (*dimensions, f"string{width}")
        attributes["_Encoding"] = "utf-8"  # xarray's name for it
    elif data.dtype != np.float64:
        raise TypeError(f"{name} must hold floats or strings, not {data.dtype}")
    if data.ndim != len(dimensions) or data.ndim == 0:
        raise ValueError(f"{name} has the shape {data.shape} but the dimensions {dimensions}")
    if data.nbytes > LARGEST_BYTES:
        raise TooLarge(
            f"{name} takes {data.nbytes / 2**30:.3g} GiB, but an array in a NetCDF-3 file can take no more than 4 GiB: "
            "save fewer rows, with every= or t_eval="
        )
    return Variable(dimensions, data, attributes)


def _header(variables: Mapping[str, Variable], attributes: Attributes) -> bytes:
    lengths: dict[str, int] = {}
    for name, v in variables.items():
        for dimension, length in zip(v.dimensions, v.data.shape, strict=True):
            if lengths.setdefault(dimension, length) != length:
                raise ValueError(f"{name} has the length {length} along {dimension}, others have {lengths[dimension]}")
    index = {name: k for k, name in enumerate(lengths)}
    head = _MAGIC + _int(0)
    head += _listed(_DIMENSIONS, [_text(name) + _int(length) for name, length in lengths.items()])
    head += _attributes(attributes)
    entries = []
    for name, v in variables.items():
        entry = _text(name) + _int(len(v.dimensions)) + b"".join(_int(index[d]) for d in v.dimensions)
        entries.append(entry + _attributes(v.attributes) + _int(_kind(v.data)) + _int(_padded(v.data.nbytes)))
    at = len(head) + len(_listed(_VARIABLES, entries)) + 8 * len(entries)
    for k, v in enumerate(variables.values()):
        entries[k] += struct.pack(">q", at)
        at += _padded(v.data.nbytes)
    return head + _listed(_VARIABLES, entries)


def _attributes(attributes: Attributes) -> bytes:
    return _listed(_ATTRIBUTES, [_text(name) + _attribute(value) for name, value in attributes.items()])


def _attribute(value: Attribute) -> bytes:
    if isinstance(value, str):
        return _int(_CHAR) + _text(value)
    numbers = np.atleast_1d(np.asarray(value))
    small = numbers.dtype.kind in "iu" and bool((np.abs(numbers) < 2**31).all())
    kind = _INT if small else _DOUBLE
    raw = numbers.astype(_TYPES[kind]).tobytes()
    return _int(kind) + _int(numbers.size) + raw + _padding(len(raw))


def _listed(tag: int, entries: list[bytes]) -> bytes:
    return _int(tag) + _int(len(entries)) + b"".join(entries) if entries else _int(_ABSENT) + _int(0)


def _text(text: str) -> bytes:
    raw = text.encode("utf-8")
    return _int(len(raw)) + raw + _padding(len(raw))


def _int(value: int) -> bytes:
    return struct.pack(">I", value)


def _kind(data: NDArray[Any]) -> int:
    return _CHAR if data.dtype.kind == "S" else _DOUBLE


def _padded(size: int) -> int:
    return size + -size % 4


def _padding(size: int) -> bytes:
    return bytes(-size % 4)


# --- reading -------------------------------------------------------------------------------------------------------


class _Reader:
    """Reads a file without trusting it: a length for which the file is too short is an error."""

    def __init__(self, file: BinaryIO, name: str, wanted: Collection[str] | None) -> None:
        self.file, self.name, self.wanted = file, name, wanted
        self.size = os.fstat(file.fileno()).st_size

    def contents(self) -> Contents:
        """Reads the file."""
        magic = self.file.read(4)
        if magic[:3] != _MAGIC[:3]:
            if self.name.endswith(".toml"):
                raise BadFile(f"{self.name} is a scenario: run it first, polhode run {self.name}, and take the result")
            hint = ", as results are that polhode saves"
            if magic == b"\x89HDF":
                hint = ": this is NetCDF-4 or HDF5; convert it with xarray's to_netcdf(..., format='NETCDF3_64BIT')"
            raise BadFile(f"{self.name} is not a NetCDF-3 file{hint}")
        if magic not in (b"CDF\x01", _MAGIC):
            raise self._bad("its version is unknown")
        wide = magic == _MAGIC
        records = self._int()
        dimensions = [(self._text(), self._int()) for _ in range(self._count(_DIMENSIONS))]
        attributes = self._attributes()
        stated = str(attributes.get(checksum.NAME, checksum.NONE))
        total = None if stated == checksum.NONE else Checksum()
        found = [self._variable(dimensions, records, wide, total) for _ in range(self._count(_VARIABLES))]
        if total is not None:
            total.add_attributes(attributes)
            if total.text() != stated:
                raise BadFile(
                    f"{self.name} is damaged: it does not hold what was saved, by its checksum. Use another copy of "
                    "it, or run again; a file that was changed on purpose needs the attribute checksum = 'none'"
                )
        return Contents({name: v for name, v in found if v}, attributes)

    def _variable(
        self, dimensions: list[tuple[str, int]], records: int, wide: bool, total: Checksum | None
    ) -> tuple[str, Variable | None]:
        name, indices = self._text(), [self._int() for _ in range(self._int())]
        if any(k >= len(dimensions) for k in indices):
            raise self._bad(f"{name} has a dimension that does not exist")
        attributes, dtype = self._attributes(), self._type()
        self._int()  # the size in bytes: redundant, and too narrow for large arrays
        begin = int.from_bytes(self._take(8 if wide else 4), "big")
        used = [dimensions[k] for k in indices]
        if records and any(length == 0 for _, length in used):
            raise self._bad(f"{name} grows with an unlimited dimension; fix the length of that dimension")
        names, shape = tuple(d for d, _ in used), tuple(length for _, length in used)
        self._check_there(name, dtype, shape, begin)
        wanted = self.wanted is None or name in self.wanted
        if not wanted and total is None:
            return name, None
        data = self._array(name, dtype, shape, begin)
        if dtype.kind == "S" and shape:
            coding = attributes.pop("_Encoding", "utf-8")
            data, names = self._strings(data, str(coding)), names[:-1]
        if total is not None:
            total.add_variable(name, names, data, attributes)
        return name, Variable(names, data, attributes) if wanted else None

    def _check_there(self, name: str, dtype: np.dtype[Any], shape: tuple[int, ...], begin: int) -> None:
        end = begin + _padded(math.prod(shape) * dtype.itemsize)
        if end > self.size:
            raise self._bad(f"{name} should end at byte {end}, but there are {self.size}")

    def _array(self, name: str, dtype: np.dtype[Any], shape: tuple[int, ...], begin: int) -> NDArray[Any]:
        here = self.file.tell()
        self.file.seek(begin)
        data = np.fromfile(self.file, dtype, math.prod(shape))
        self.file.seek(here)
        if sys.byteorder == "little" and dtype.itemsize > 1:
            data = data.byteswap(inplace=True).view(dtype.newbyteorder("="))
        try:
            return data.reshape(shape)
        except ValueError:  # an empty array with other lengths beyond all bounds
            raise self._bad(f"{name} cannot have the shape {shape}") from None

    def _strings(self, characters: NDArray[Any], coding: str) -> NDArray[Any]:
        width = characters.shape[-1]
        if width == 0:
            return np.zeros(characters.shape[:-1], dtype="U1")
        try:
            return np.char.decode(characters.view(f"S{width}")[..., 0], coding)
        except (ValueError, LookupError):
            raise self._bad(f"a text is not in {coding}") from None

    def _attributes(self) -> dict[str, Attribute]:
        return {self._text(): self._attribute() for _ in range(self._count(_ATTRIBUTES))}

    def _attribute(self) -> Attribute:
        dtype = self._type()
        if dtype.kind == "S":
            return self._text()
        count = self._int()
        size = count * dtype.itemsize
        values = np.frombuffer(self._take(_padded(size))[:size], dtype).astype(dtype.newbyteorder("="))
        return values.item() if count == 1 else values

    def _type(self) -> np.dtype[Any]:
        kind = self._int()
        if kind not in _TYPES:
            raise self._bad(f"there is no data type {kind}")
        return _TYPES[kind]

    def _count(self, tag: int) -> int:
        found, count = self._int(), self._int()
        if found not in (tag, _ABSENT) or (found == _ABSENT and count):
            raise self._bad("its header is not valid")
        return count

    def _text(self) -> str:
        length = self._int()
        raw = self._take(_padded(length))[:length]
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            return raw.decode("latin-1")  # what older writers use

    def _int(self) -> int:
        return int.from_bytes(self._take(4), "big")

    def _take(self, count: int) -> bytes:
        if count > self.size - self.file.tell():
            raise self._bad("its header is cut short")
        return self.file.read(count)

    def _bad(self, what: str) -> BadFile:
        return BadFile(f"{self.name} is cut short or damaged: {what}. Write the file again")
