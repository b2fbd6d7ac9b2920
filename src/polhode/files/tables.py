"""Tables of named columns with units: as a pandas DataFrame, as CSV and as Parquet; arrays of others as .npz."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.files.atomic import AnyPath, whole_file
from polhode.files.netcdf import BadFile
from polhode.support.extras import needed

if TYPE_CHECKING:
    from pandas import DataFrame

ROWS_AT_ONCE = 10_000
"""Rows of a CSV file that are in memory as text at the same time."""
MOST_BYTES = 2**30
"""The numbers of a compressed file, at most, when they are unpacked: a small file can state any size."""
FORMATS = ("nc", "csv", "parquet")
"""The endings of the files that results can be saved as."""


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a table."""

    name: str
    data: Any
    """One number, or one text, for each row."""
    long_name: str = ""
    units: str = ""
    """The unit as in NetCDF files, such as "rad s-1"; empty: not known, or there is none."""

    @property
    def heading(self) -> str:
        """The name with the unit, for people to read; a plain number has no unit to be shown."""
        return f"{self.name} ({self.units})" if self.units not in ("", "1") else self.name


def columns_of(name: str, data: Any, parts: Sequence[str], about: Mapping[str, str]) -> list[Column]:
    """Columns of an array: one, or one for each of its `parts`; `about` has the long name and the unit."""
    long_name, units = about.get("long_name", ""), about.get("units", "")
    if not parts:
        return [Column(name, data, long_name, units)]
    return [Column(f"{name}_{part}", data[..., k], f"{long_name}, {part}", units) for k, part in enumerate(parts)]


def without_repetition(columns: Iterable[Column], prefix: str, taken: Iterable[str]) -> list[Column]:
    """The columns with the prefix before those names that others have taken."""
    known = set(taken)
    return [
        Column(f"{prefix}{c.name}", c.data, c.long_name, c.units) if c.name in known else c for c in columns
    ]  # fmt: skip


def dataframe(columns: Sequence[Column], attributes: Mapping[str, Any]) -> DataFrame:
    """The columns as a DataFrame; its `attrs` have `units`, `long_names` and the attributes."""
    made = needed("pandas", "a DataFrame needs").DataFrame({c.name: c.data for c in columns})
    made.attrs = attrs_of(columns, attributes)
    return made


def attrs_of(columns: Sequence[Column], attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Units, long names and attributes as plain Python values, which JSON can hold."""
    return {
        "units": {c.name: c.units for c in columns if c.units},
        "long_names": {c.name: c.long_name for c in columns if c.long_name},
        **{name: _plain(value) for name, value in attributes.items()},
    }


def _plain(value: Any) -> Any:
    """Arrays as lists, and NumPy's numbers as Python's."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def write_csv(path: AnyPath, columns: Sequence[Column], *, units: bool = False, overwrite: bool = False) -> None:
    """Writes a CSV file in UTF-8 with a line of headings. Numbers have the digits that make the same double again."""
    with whole_file(path, overwrite=overwrite) as file:
        for block in _blocks(columns, units):
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows(block)
            file.write(text.getvalue().encode("utf-8"))


def _blocks(columns: Sequence[Column], units: bool) -> Iterator[Iterable[Sequence[Any]]]:
    """Yields the headings, and then some rows at a time."""
    yield [[c.heading if units else c.name for c in columns]]
    for first in range(0, len(columns[0].data), ROWS_AT_ONCE):
        lists = (np.asarray(c.data[first : first + ROWS_AT_ONCE]).tolist() for c in columns)
        yield zip(*lists, strict=True)


def write_parquet(
    path: AnyPath, columns: Sequence[Column], attributes: Mapping[str, Any], *, overwrite: bool = False
) -> None:
    """Writes a Parquet file. Each field has its unit and long name, and pandas finds all attributes in `attrs`."""
    pyarrow, parquet = _pyarrow()
    fields, arrays = [], []
    for c in columns:
        about = {k: v for k, v in (("units", c.units), ("long_name", c.long_name)) if v}
        arrays.append(pyarrow.array(np.ascontiguousarray(c.data)))
        fields.append(pyarrow.field(c.name, arrays[-1].type, metadata=about))
    attrs = json.dumps(attrs_of(columns, attributes))
    schema = pyarrow.schema(fields, metadata={"PANDAS_ATTRS": attrs})
    table = pyarrow.Table.from_arrays(arrays, schema=schema)
    with whole_file(path, overwrite=overwrite) as file:
        parquet.write_table(table, file)


def read_parquet(path: AnyPath) -> DataFrame:
    """Reads a Parquet file; raises BadFile if it is damaged, or too large when it is unpacked."""
    _, parquet = _pyarrow()
    pandas = needed("pandas", "to read Parquet files needs")
    with _unpacked(path):
        stated = parquet.read_metadata(path)
        _check_size(path, 8 * stated.num_rows * stated.num_columns)
        frame: DataFrame = pandas.read_parquet(path)
        return frame


def read_npz(path: AnyPath) -> dict[str, Any]:
    """Reads the arrays of an .npz file; raises BadFile if it is damaged, or too large when it is unpacked."""
    with _unpacked(path), open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
        _check_size(path, sum(entry.file_size for entry in file.zip.infolist()))
        return {name: file[name] for name in file.files}


def _check_size(path: AnyPath, size: int) -> None:
    if size > MOST_BYTES:
        raise BadFile(
            f"{path} states {size / 2**30:.3g} GiB of numbers, and {MOST_BYTES >> 30} GiB are read: is it damaged? If "
            "not, write fewer rows, or give arrays in Python"
        )


@contextmanager
def _unpacked(path: AnyPath) -> Iterator[None]:
    """Says of a file that a library cannot unpack what to do."""
    try:
        yield
    except (BadFile, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except MemoryError:
        raise BadFile(f"{path} is damaged: it states more numbers than fit into memory. Write it again") from None
    except Exception as problem:  # whatever NumPy, zipfile, pandas and pyarrow make of damage
        raise BadFile(f"{path} is cut short or damaged ({problem}): write it again") from None


def _pyarrow() -> tuple[Any, Any]:
    return needed("pyarrow", "Parquet files need"), needed("pyarrow.parquet", "Parquet files need")


def check_format(path: AnyPath) -> str:
    """The ending of a file for results, without the dot, if it is known and, for Parquet, the library is there."""
    ending = PurePath(path).suffix.removeprefix(".")
    if ending not in FORMATS:
        raise ValueError(f"{path} must end in .nc (NetCDF), .csv or .parquet, by which the format is known")
    if ending == "parquet":
        _pyarrow()
    return ending


def beside(path: AnyPath, what: str) -> PurePath:
    """The name of a second table, which goes with a first one: spin.csv and spin-bodies.csv."""
    first = PurePath(path)
    return first.with_name(f"{first.stem}-{what}{first.suffix}")
