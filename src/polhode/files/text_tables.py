"""Text tables as others write them: CSV and its relatives, with the line of everything that is wrong."""

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from polhode.files.netcdf import BadFile
from polhode.support.arrays import Floats

GAPS = ("", "nan", "na", "n/a", "null", "none", "-")
"""Texts for a missing number, in lower case."""
SHOWN_ROWS = 50
"""The last rows that show how many digits numbers have."""
Wanted = Callable[[list[str]], Iterable[int]]


class TextTable(NamedTuple):
    """The numbers of a table, and the names of its columns, if it has any."""

    header: list[str] | None
    values: Floats
    lines: Any
    """The line of the file in which each row stands."""
    may_be_cut: bool = False
    """Whether the last line has no end, and its last number fewer digits than those above it."""


def read_text_table(
    name: str, data: bytes, *, wanted: Wanted | None = None, least_rows: int = 1, gaps: bool = False
) -> TextTable:
    """Reads a table with names in its first line, or without; separated by commas, semicolons, tabs or blanks.

    `wanted` returns the columns that must hold numbers, for the names; what is no number in others is NaN. If there may
    be gaps, missing numbers are NaN in all columns.
    """
    if not data.strip():
        raise BadFile(f"{name} is empty: write it again")
    lines = _decoded(name, data).splitlines()
    is_row = np.fromiter((bool(s := line.strip()) and s[0] not in "#%" for line in lines), bool, len(lines))
    numbers = np.flatnonzero(is_row)
    if not numbers.size:
        raise BadFile(f"{name}, line {len(lines)}: there is no row of numbers: write the file again")
    first = lines[numbers[0]].strip()
    separator = _separator(first)
    header: list[str] | None = None
    if not all(_is_number(cell) for cell in _cells(first, separator)):
        header = _cells(first, separator)
        numbers = numbers[1:]
    elif numbers[0] > 0 and lines[numbers[0] - 1].strip()[:1] in ("#", "%"):  # names in a comment, as NumPy writes
        said = _cells(lines[numbers[0] - 1].strip().lstrip("#% "), separator)
        header = said if len(said) == len(_cells(first, separator)) else None
    if numbers.size < least_rows:
        raise BadFile(
            f"{name}, line {len(lines)}: the file has {numbers.size} rows of numbers, and {least_rows} are needed: is "
            "it cut off?"
        )
    width = len(header) if header is not None else len(_cells(first, separator))
    rows = [lines[k] for k in numbers]
    needed = set(range(width)) if wanted is None or header is None else set(wanted(header))
    values = _numbers(name, rows, numbers + 1, separator, needed, width, len(lines), gaps)
    ends = [len(_cells(row.strip(), separator)[-1]) for row in rows[-SHOWN_ROWS:]]
    may_be_cut = not data.endswith((b"\n", b"\r")) and len(ends) > 1 and ends[-1] < min(ends[:-1])
    return TextTable(header, values, numbers + 1, may_be_cut)


def _decoded(name: str, data: bytes) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise BadFile(f"{name}, line 1: the text is UTF-16: save it as UTF-8")
    if b"\x00" in data[:4000]:
        raise BadFile(f"{name} is not a text file, nor of a kind that is known: give CSV, AEM, NetCDF of polhode, "
                      "Parquet or .npz, or arrays in Python")  # fmt: skip
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise BadFile(
            f"{name}, line {line}: the byte 0x{data[problem.start]:02x} is not UTF-8: save the file as UTF-8, as with "
            "iconv -f latin1 -t utf-8"
        ) from None


def _separator(line: str) -> str:
    for mark in ("\t", ";", ","):
        if mark in line:
            return mark
    return " "


def _cells(line: str, separator: str) -> list[str]:
    if separator == " ":
        return line.split()
    return [cell.strip().strip('"').strip() for cell in line.split(separator)]


def _is_number(cell: str) -> bool:
    try:
        float(_plain(cell))
    except ValueError:
        return False
    return True


def _plain(cell: str) -> str:
    """A number as Python writes it: Fortran has D exponents, and some countries a decimal comma."""
    return re.sub(r"[dD](?=[+-]?\d+$)", "e", cell.strip()).replace(",", ".")


def _numbers(
    name: str, rows: list[str], lines: Any, separator: str, needed: set[int], width: int, last: int, gaps: bool
) -> Floats:
    """The rows as numbers, quickly if all is well, else one by one up to the one that is not."""
    try:
        comma = separator == ";" and "," in rows[0]
        values: Floats = np.loadtxt(
            [row.replace(",", ".") for row in rows] if comma else rows,
            delimiter=None if separator == " " else separator, comments=None, ndmin=2,
        )  # fmt: skip
        if values.shape == (len(rows), width) and (np.isfinite(values).all() or (gaps and not np.isinf(values).any())):
            return values
    except ValueError:
        pass  # the line is looked for below
    out = np.empty((len(rows), width))
    for k, row in enumerate(rows):
        cells = _cells(row.strip(), separator)
        if len(cells) == width + 1 and not cells[-1]:
            cells = cells[:-1]  # a separator at the end of the line
        where = f"{name}, line {int(lines[k])}"
        if len(cells) != width:
            cut = "the file seems to be cut off there: delete the line, or write the file again"
            wrong = "correct the line, or the names in the first one"
            raise BadFile(
                f"{where}: {len(cells)} of {width} columns; {cut if lines[k] == last and len(cells) < width else wrong}"
            )
        for j, cell in enumerate(cells):
            is_gap = cell.lower() in GAPS if gaps else False
            if is_gap or j not in needed:
                out[k, j] = np.nan if is_gap or not _is_number(cell) else float(_plain(cell))
                continue
            try:
                out[k, j] = float(_plain(cell))
            except ValueError:
                what = "is empty" if not cell else f"has {cell!r}, which is no number"
                raise BadFile(f"{where}: column {j + 1} {what}: correct it, or delete the line") from None
            if not np.isfinite(out[k, j]):
                what = "delete such lines" if gaps else "the simulation has failed there; delete such lines"
                raise BadFile(f"{where}: column {j + 1} has {cell}: {what}")
    return out
