"""Motions as others write them down: text tables, AEM, files of polhode, arrays, logs of simulators.

Nothing is converted here but the unit of time: what the numbers mean is found out later.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from polhode.files.netcdf import BadFile
from polhode.files.tables import read_npz, read_parquet
from polhode.files.text_tables import read_text_table
from polhode.referee.names import ENERGY, KINDS, MOMENTUM, ColumnGroup, ColumnLayout, recognised
from polhode.support import checks
from polhode.support.arrays import Floats, lengths

LEAST_ROWS = 4
"""A log has at least this many rows: with fewer there is nothing to be seen of a motion."""
LENGTHS = (0.5, 2.0)
"""Quaternions with a length outside of this are not quaternions, or not in these columns."""
MOST_DEFECT = 0.5
"""Matrices whose product with their transpose differs more from 1 are no rotations, or not in these columns."""
_NO_NAMES = {4: "t omega", 5: "t quaternion", 8: "t quaternion omega", 13: "t matrix omega", 7: "t euler omega"}
"""Quantities of a table without names, by the number of its columns."""


@dataclass(frozen=True, eq=False)
class Raw:
    """The numbers of one thing in a log, as they stand in it."""

    kind: str
    values: Floats
    unit: str = ""
    hint: str = ""
    names: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Log:
    """A log of a motion, before it is known what its numbers mean."""

    source: str
    t: Floats
    attitude: Raw | None
    omega: Raw | None
    place: Floats | None = None
    """Latitude and longitude in rad, if the table has them."""
    lines: Any = None
    """The line of the file in which each row stands; None: it is not a text file."""
    notes: tuple[str, ...] = ()
    conserved: tuple[Raw, ...] = ()
    """The energy and the angular momentum, if the log has them."""
    is_settled: bool = False
    """Whether the conventions are known to be polhode's: its own files, and messages that state theirs."""

    def row(self, k: int) -> str:
        """Where a row stands, in words."""
        return f"row {k}" if self.lines is None else f"line {int(self.lines[k])}"

    def bad(self, k: int, what: str) -> BadFile:
        """An error that names the place."""
        return BadFile(f"{self.source}, {self.row(k)}: {what}")


def read_log(source: Any, columns: Mapping[str, Any] | None = None) -> Log:
    """The log that a file, a table or an object of another simulator holds, checked row by row."""
    if isinstance(source, Log):
        return source
    log = _from_path(source, columns) if isinstance(source, str | os.PathLike) else _from_object(source, columns)
    return _checked(log)


# --- files ---------------------------------------------------------------------------------------------------------


def file_contents(path: str | os.PathLike[str]) -> Any:
    """What a file of rows holds: a solution, attitudes, a table, arrays by their names, or the bytes of a text."""
    data = Path(path).read_bytes()
    if data[:4] in (b"CDF\x01", b"CDF\x02", b"CDF\x05"):
        from polhode.solution import Solution

        return Solution.load(path)
    if data[:4] == b"PAR1":
        return read_parquet(path)
    if data[:4] == b"PK\x03\x04" and Path(path).suffix.lower() == ".npz":
        return read_npz(path)
    if any(mark in data[:4000] for mark in (b"CCSDS_AEM_VERS", b"CCSDS_ACM_VERS", b"<aem", b"<acm")):
        from polhode.files.ccsds import read_aem

        return read_aem(path)
    return data


def _from_path(path: str | os.PathLike[str], columns: Mapping[str, Any] | None) -> Log:
    name = os.fspath(path)
    try:
        found = file_contents(path)
    except OSError as problem:
        raise BadFile(f"{name} cannot be read: {problem.strerror}; check the name and the rights") from None
    if isinstance(found, bytes):
        return _of_text(name, found, columns)
    return replace(_from_object(found, columns, name), source=name)


def _of_text(name: str, data: bytes, columns: Mapping[str, Any] | None) -> Log:
    header, values, lines, may_be_cut = read_text_table(
        name, data, wanted=lambda names: recognised(names, name, columns).columns, least_rows=LEAST_ROWS
    )
    notes: list[str] = []
    if may_be_cut:
        notes.append(f"Line {lines[-1]} has no end, and its last number few digits: the file may be cut off there.")
    if header is None:
        width = values.shape[1]
        header, columns = _without_names(name, width, columns)
        notes.append(f"The table has no names; its {width} columns are taken for {', '.join(columns or ())}.")
    layout = recognised(header, name, columns)
    return _arranged(name, header, values, layout, lines, notes)


def _without_names(name: str, width: int, columns: Mapping[str, Any] | None) -> tuple[list[str], dict[str, Any]]:
    names = [f"column {k}" for k in range(width)]
    if columns is not None:
        return names, dict(columns)
    if width not in _NO_NAMES:
        raise BadFile(
            f"{name}, line 1: the {width} columns have no names: write them into the first line, or say what they "
            "hold, as in --columns t=0 --columns omega=1,2,3"
        )
    made: dict[str, Any] = {}
    k = 0
    for what in _NO_NAMES[width].split():
        size = 1 if what == "t" else KINDS.get(what, 3)
        made["euler(ZYX)" if what == "euler" else what] = list(range(k, k + size))
        k += size
    return names, made


def _arranged(
    name: str, header: Sequence[str], values: Floats, layout: ColumnLayout, lines: Any, notes: list[str]
) -> Log:
    def raw(found: ColumnGroup | None) -> Raw | None:
        if found is None:
            return None
        return Raw(
            found.kind, values[:, found.columns], found.unit, found.hint, tuple(header[c] for c in found.columns)
        )

    place = None if layout.place is None else np.radians(values[:, layout.place])
    t = values[:, layout.time.columns[0]] * float(layout.time.unit)
    conserved = tuple(part for found in layout.conserved if (part := raw(found)) is not None)
    return Log(name, t, raw(layout.attitude), raw(layout.omega), place, lines, tuple(notes), conserved)


# --- objects in memory ---------------------------------------------------------------------------------------------


def _from_object(given: Any, columns: Mapping[str, Any] | None, name: str = "") -> Log:
    from polhode.files.ccsds import AttitudeHistory
    from polhode.solution import Solution

    if isinstance(given, Solution):
        return _of_solution(given)
    if isinstance(given, AttitudeHistory):
        return _of_aem(given)
    if hasattr(given, "sigma_BN") and hasattr(given, "times"):  # a recorder of Basilisk
        found = {"t": np.asarray(given.times()) * 1e-9, "sigma_BN": given.sigma_BN, "omega_BN_B": given.omega_BN_B}
        return _of_mapping(found, columns, "the recorder")
    if hasattr(given, "data_vars"):  # a Dataset of xarray
        return _of_mapping(
            {str(k): given[k].to_numpy() for k in (*given.coords, *given.data_vars)}, columns, "the dataset"
        )
    if hasattr(given, "columns") and hasattr(given, "to_numpy"):
        return _of_frame(given, columns, name or "the table")
    if isinstance(given, Mapping):
        return _of_mapping(given, columns, name or "the arrays")
    if hasattr(given, "t") and hasattr(given, "omega"):  # FreeState, EventRows, and the like
        return _of_mapping({"t": given.t, "quaternion": given.quaternion, "omega": given.omega}, columns, "the state")
    raise TypeError(
        f"a log must be the path of a file, a table, a solution or a dict with t, quaternion and omega, not {given!r}"
    )


def _of_solution(solution: Any) -> Log:
    return Log(
        "the solution", solution.t, Raw("quaternion", solution.quaternion, "", "body to space"),
        Raw("omega", solution.omega, "rad"), is_settled=True,
    )  # fmt: skip


def _of_aem(log: Any) -> Log:
    omega = None if log.omega is None else Raw("omega", log.omega, "rad")
    notes = (f"{log.version}: from {log.frames[1]} to {log.frames[0]}.",)
    return Log(
        f"the {log.version}", log.t, Raw("quaternion", log.quaternion, "", "body to space"), omega,
        notes=notes, is_settled=True,
    )  # fmt: skip


def _of_frame(frame: Any, columns: Mapping[str, Any] | None, name: str) -> Log:
    header = [str(c) for c in frame.columns]
    if "time" not in header and columns is None and getattr(frame.index, "name", None) in ("t", "time"):
        frame = frame.reset_index()
        header = [str(c) for c in frame.columns]
    return _of_columns(header, [frame.iloc[:, c].to_numpy() for c in range(len(header))], columns, name)


def _of_columns(header: list[str], arrays: list[Any], columns: Mapping[str, Any] | None, name: str) -> Log:
    """A log whose columns have these names. Columns that are not part of a motion may hold anything."""
    sizes = [len(a) for a in arrays]
    if len(set(sizes)) > 1:
        raise ValueError(
            f"{name}: the columns must have equally many rows, not {dict(zip(header, sizes, strict=True))}"
        )
    layout = recognised(header, name, columns)
    values = np.full((len(arrays[0]), len(header)), np.nan)
    for c in layout.columns:
        values[:, c] = checks.floats(header[c], arrays[c], "hold numbers")
    return _arranged(name, header, values, layout, None, [])


_ALIASES = {
    "t": "t", "time": "t", "times": "t",
    "quaternion": "quaternion", "q": "quaternion", "quat": "quaternion", "qpos": "quaternion", "attitude": "quaternion",
    "omega": "omega", "w": "omega", "rate": "omega", "rates": "omega", "qvel": "omega", "omega_bn_b": "omega",
    "omega_deg": "omega_deg", "spatial_omega": "spatial_omega", "omega_bn_n": "spatial_omega",
    "matrix": "matrix", "dcm": "matrix", "r": "matrix", "rotation_matrix": "matrix", "xmat": "matrix",
    "mrp": "mrp", "sigma_bn": "mrp", "sigma": "mrp",
}  # fmt: skip
"""The names under which arrays are known, in lower case."""


def _of_mapping(given: Mapping[str, Any], columns: Mapping[str, Any] | None, name: str) -> Log:
    """A log given as arrays: of several columns each, or one array for each column."""
    several = {k: v for k, v in given.items() if str(k).lower() in _ALIASES or str(k).startswith("euler")}
    stacked = any((hasattr(v, "as_quat") or np.ndim(v) > 1) for v in several.values())
    if not stacked:
        header, arrays = [str(k) for k in given], [np.atleast_1d(v) for v in given.values()]
        return _of_columns(header, arrays, columns, name)
    found: dict[str, Any] = {}
    for key, value in several.items():
        found.setdefault(_ALIASES.get(str(key).lower(), str(key)), (key, value))
    if "t" not in found:
        raise ValueError(f"{name}: there is no array t, only {', '.join(map(str, given))}: add the times")
    t = checks.row("t", found["t"][1])
    attitude: Raw | None = None
    for kind, size in KINDS.items():
        for key in [k for k in found if k == kind or (kind == "euler" and k.startswith("euler"))]:
            label, value = found[key]
            attitude = attitude or _attitude_raw(kind, size, key, str(label), value, t.size)
    omega: Raw | None = None
    for key, unit, hint in (("omega", "", ""), ("omega_deg", "deg", ""), ("spatial_omega", "", "space")):
        if key in found and omega is None:
            label, value = found[key]
            rates = checks.floats(str(label), value, "hold three numbers in each row")
            if rates.shape == (t.size, 6):  # of a free joint of MuJoCo: velocity before rate
                rates = rates[:, 3:]
            omega = Raw("omega", _shaped(str(label), rates, (t.size, 3)), unit, hint, (str(label),))
    if attitude is None and omega is None:
        raise ValueError(f"{name}: there is neither quaternion nor omega, only {', '.join(map(str, given))}")
    conserved = []
    for key, value in given.items():
        for kind, pattern, size in (("energy", ENERGY, 1), ("momentum", MOMENTUM, 3)):
            if pattern.fullmatch(str(key).lower().replace("_", "")):
                numbers = checks.floats(str(key), value, f"hold {size} numbers in each row").reshape(t.size, -1)
                conserved.append(Raw(kind, _shaped(str(key), numbers, (t.size, size)), names=(str(key),)))
    return Log(name, t, attitude, omega, conserved=tuple(conserved))


def _attitude_raw(kind: str, size: int, key: str, label: str, value: Any, rows: int) -> Raw:
    if hasattr(value, "as_quat"):
        return Raw("quaternion", _shaped(label, value.as_quat(scalar_first=True), (rows, 4)), "", "first", (label,))
    numbers = checks.floats(label, value, f"hold {size} numbers in each row")
    if kind == "quaternion" and numbers.shape == (rows, 7):  # of a free joint of MuJoCo: position before attitude
        numbers = numbers[:, 3:]
    if numbers.shape == (rows, 3, 3):
        kind, size, numbers = "matrix", 9, numbers.reshape(rows, 9)
    matched = re.fullmatch(r"euler(_deg)?\(?([XYZxyz]{3})?\)?", key) if kind == "euler" else None
    unit = "deg" if matched and matched[1] else "rad" if matched else ""
    return Raw(kind, _shaped(label, numbers, (rows, size)), unit, (matched[2] or "any") if matched else "", (label,))


def _shaped(name: str, values: Floats, shape: tuple[int, int]) -> Floats:
    if values.shape != shape:
        raise ValueError(f"{name} must have the shape {shape}, a row for each time, not {values.shape}")
    return np.asarray(values, dtype=np.float64)


# --- checks --------------------------------------------------------------------------------------------------------


def _checked(log: Log) -> Log:
    """The log without repeated rows; raises an error for what cannot be a log."""
    parts = {"time": log.t, **({"attitude": log.attitude.values} if log.attitude else {}),
             **({"rate": log.omega.values} if log.omega else {}),
             **{raw.kind: raw.values for raw in log.conserved}}  # fmt: skip
    for name, values in parts.items():
        good = np.isfinite(values).reshape(len(log.t), -1).all(axis=1)
        if not good.all():
            k = int(np.argmin(good))
            raise log.bad(k, f"the {name} is not finite: the simulation has failed there; leave such rows out")
        if (large := np.abs(values).max(initial=0.0)) > checks.LARGEST:
            k = int(np.argmax(np.abs(values).reshape(len(log.t), -1).max(axis=1)))
            raise log.bad(k, f"the {name} has {large:.3g}: no motion does; correct the row, or the columns")
    log = _without_repeated(log)
    if log.t.size < LEAST_ROWS:
        raise BadFile(f"{log.source}: there are {log.t.size} rows, and {LEAST_ROWS} are needed: give a longer history")
    if log.attitude is not None:
        _check_attitude(log, log.attitude)
    return log


def _without_repeated(log: Log) -> Log:
    ahead = np.diff(log.t)
    direction = 1.0 if np.count_nonzero(ahead > 0) >= np.count_nonzero(ahead < 0) else -1.0
    wrong = np.flatnonzero(ahead * direction <= 0)
    if not wrong.size:
        return log
    values = np.column_stack([part.values for part in (log.attitude, log.omega) if part is not None])
    for k in wrong:
        before, after = f"{log.t[k]:.17g}", f"{log.t[k + 1]:.17g}"
        if ahead[k] != 0:
            raise log.bad(
                int(k) + 1, f"the time {after} comes after {before}: sort the rows, or give the right column of times"
            )
        if (values[k] != values[k + 1]).any():
            raise log.bad(
                int(k) + 1,
                f"the time {after} stands there twice, with different states: give times more digits, or delete one of "
                "the rows",
            )
    keep = np.ones(log.t.size, bool)
    keep[wrong + 1] = False

    def kept(raw: Raw | None) -> Raw | None:
        return None if raw is None else replace(raw, values=raw.values[keep])

    note = f"{wrong.size} rows that repeat the one before are left out, the first in {log.row(int(wrong[0]) + 1)}."
    return replace(
        log, t=log.t[keep], attitude=kept(log.attitude), omega=kept(log.omega),
        place=None if log.place is None else log.place[keep],
        conserved=tuple(replace(raw, values=raw.values[keep]) for raw in log.conserved),
        lines=None if log.lines is None else log.lines[keep], notes=(*log.notes, note),
    )  # fmt: skip


def _check_attitude(log: Log, raw: Raw) -> None:
    if raw.kind == "quaternion":
        size = lengths(raw.values)
        bad = (size < LENGTHS[0]) | (size > LENGTHS[1])
        if bad.any():
            k = int(np.argmax(bad))
            raise log.bad(
                k,
                f"the quaternion has the length {size[k]:.6g}, not 1: give its columns, as in --columns "
                "quaternion=q0,q1,q2,q3",
            )
    elif raw.kind == "matrix":
        m = raw.values.reshape(-1, 3, 3)
        defect = np.abs(m @ m.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2))
        if (bad := defect > MOST_DEFECT).any():
            k = int(np.argmax(bad))
            raise log.bad(k, f"the matrix is no rotation: R R^T differs from 1 by {defect[k]:.2g}: check its columns")
        if (bad := np.linalg.det(m) < 0).any():
            raise log.bad(
                int(np.argmax(bad)),
                "the matrix has the determinant -1, a reflection: one of the frames is left-handed; change the sign of "
                "one axis",
            )
