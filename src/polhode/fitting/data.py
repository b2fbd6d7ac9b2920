"""What was measured: times, rates and attitudes with their standard deviations, from arrays, tables and files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from polhode.files.text_tables import read_text_table
from polhode.referee.conventions import TO_RADIANS
from polhode.referee.names import recognised, taken_apart
from polhode.referee.reading import file_contents
from polhode.support import checks
from polhode.support.arrays import Floats

Missing = Literal["raise", "drop"]

AXES = ("x", "y", "z")
KEYS = ("t", "omega", "attitude", "sigma_omega", "sigma_attitude", "y", "sigma_y")
"""The names of what a dictionary or a table can have."""


@dataclass(frozen=True, eq=False)
class Measurements:
    """Rates and attitudes over time. What was not measured at a time is NaN."""

    t: Floats
    """Times in s, in rising order; two sensors may have the same time."""
    omega: Floats
    """Rates in body axes, rad/s, (rows, 3)."""
    quaternion: Floats
    """Attitudes from body to space axes, scalar first, (rows, 4)."""
    sigma_omega: Floats | None
    """Standard deviations of the rates, rad/s, (rows, 3); None: not known, to be estimated."""
    sigma_attitude: Floats | None
    """Standard deviations of the attitudes, as small turns about the body axes, rad, (rows, 3); None: not known."""
    y: Floats
    """What a function of the user's should be, (rows, numbers)."""
    sigma_y: Floats
    """Its standard deviations, (rows, numbers)."""

    @property
    def has_omega(self) -> Any:
        """Which numbers of the rates were measured, (rows, 3)."""
        return np.isfinite(self.omega)

    @property
    def has_attitude(self) -> Any:
        """At which times the attitude was measured, (rows,)."""
        return np.isfinite(self.quaternion[:, 0])

    @property
    def numbers(self) -> int:
        """How many numbers were measured; an attitude counts as three."""
        seen = np.count_nonzero(self.has_omega) + 3 * np.count_nonzero(self.has_attitude)
        return int(seen + np.count_nonzero(self.has_y))

    @property
    def has_y(self) -> Any:
        """Which numbers of y were measured, (rows, numbers)."""
        return np.isfinite(self.y)

    def until(self, rows: int) -> Measurements:
        """The first rows."""
        columns = (getattr(self, each.name) for each in fields(self))
        cut: Any = (None if x is None else x[:rows] for x in columns)
        return Measurements(*cut)

    def with_sigma(self, omega: Floats, attitude: Floats) -> Measurements:
        """The same with standard deviations that are multiples of one, for those that are not known."""
        rows = (len(self.t), 3)
        return replace(
            self,
            sigma_omega=np.broadcast_to(omega, rows) if self.sigma_omega is None else self.sigma_omega,
            sigma_attitude=np.broadcast_to(attitude, rows) if self.sigma_attitude is None else self.sigma_attitude,
        )


def measurements(
    data: Any, *, sigma_omega: Any = None, sigma_attitude: Any = None, missing: Missing = "raise",
    columns: Mapping[str, Any] | None = None,
) -> Measurements:  # fmt: skip
    """What the user's data mean, checked; several sets are joined in the order of their times."""
    checks.choice("way to treat missing numbers", missing, get_args(Missing))
    sets = list(data) if isinstance(data, Sequence) and not isinstance(data, str) else [data]
    if not sets:
        raise ValueError("there are no data: the list of them is empty")
    made = []
    for k, one in enumerate(sets):
        where = f"data[{k}]: " if len(sets) > 1 else ""
        try:
            made.append(_one(one, sigma_omega, sigma_attitude, missing, columns))
        except (ValueError, TypeError) as problem:
            if isinstance(one, str | os.PathLike) and str(one) not in str(problem):
                where = f"{where}{one}, counting its rows of numbers from 0: "
            raise type(problem)(f"{where}{problem}") from None
    joined = made[0] if len(made) == 1 else _joined(made)
    if not joined.numbers:
        raise ValueError("the data hold no numbers: neither a rate nor an attitude was measured, nor y")
    return joined


def _joined(sets: list[Measurements]) -> Measurements:
    t = np.concatenate([one.t for one in sets])
    order = np.argsort(t, kind="stable")

    def of(name: str, width: int, measured: str) -> Any:
        parts = [getattr(one, name) for one in sets]
        wanted = [bool(getattr(one, measured).any()) for one in sets]
        known = [part is not None for part, is_wanted in zip(parts, wanted, strict=True) if is_wanted]
        if not known or not all(known):
            if any(known):
                raise ValueError(f"{name} is given for some of the data only: give it for all, or for none")
            return None
        rows = [
            np.full((one.t.size, width), np.nan) if part is None else part
            for one, part in zip(sets, parts, strict=True)
        ]
        return np.concatenate(rows)[order]

    width = max(one.y.shape[1] for one in sets)
    if any(one.y.shape[1] not in (0, width) for one in sets):
        raise ValueError("y has different numbers of columns in different sets: observe returns one kind of row")

    def padded(x: Floats) -> Floats:
        return x if x.shape[1] == width else np.full((len(x), width), np.nan)

    return Measurements(
        t[order],
        np.concatenate([one.omega for one in sets])[order],
        np.concatenate([one.quaternion for one in sets])[order],
        of("sigma_omega", 3, "has_omega"),
        of("sigma_attitude", 3, "has_attitude"),
        *(np.concatenate([padded(getattr(one, name)) for one in sets])[order] for name in ("y", "sigma_y")),
    )


def _one(
    data: Any, sigma_omega: Any, sigma_attitude: Any, missing: Missing, columns: Mapping[str, Any] | None
) -> Measurements:
    given = _fields(data, columns)
    t = checks.row("t", given["t"])
    if t.size == 0:
        raise ValueError("there are no data: t is empty")
    falls = np.flatnonzero(~(np.diff(t) > 0.0))
    if falls.size:
        k = int(falls[0])
        raise ValueError(
            f"t must rise, but t[{k + 1}] = {t[k + 1]:.12g} follows t[{k}] = {t[k]:.12g}: sort the rows, and leave out "
            "repeated ones; for two sensors give a list of two sets of data"
        )
    omega, q = given.get("omega"), given.get("attitude")
    if omega is None and q is None and "y" not in given:
        raise ValueError("the data need omega, the rates in body axes, or attitude, or both, or y with observe=")
    rates = np.full((t.size, 3), np.nan) if omega is None else _rows("omega", omega, t.size, 3, missing)
    turns = np.full((t.size, 4), np.nan) if q is None else _attitudes(q, t.size, missing)
    known = given.get("sigma_omega", sigma_omega), given.get("sigma_attitude", sigma_attitude)
    return Measurements(
        t, rates, turns,
        None if omega is None else _sigma("sigma_omega", known[0], t.size, np.isfinite(rates)),
        None if q is None else _sigma("sigma_attitude", known[1], t.size, np.isfinite(turns[:, :1])),
        *_observed(given, t.size, missing),
    )  # fmt: skip


def _observed(given: dict[str, Any], rows: int, missing: Missing) -> tuple[Floats, Floats]:
    """What was observed, and its standard deviations, (rows, numbers)."""
    if "y" not in given:
        return np.empty((rows, 0)), np.empty((rows, 0))
    shape = checks.shape_of("y", given["y"])
    if len(shape) not in (1, 2) or shape[0] != rows or 0 in shape:
        raise ValueError(f"y must have the shape ({rows},) or ({rows}, numbers), as t has {rows} times, not {shape}")
    if "sigma_y" not in given:
        raise ValueError("y needs sigma_y, its standard deviation: one number, or one for each row")
    width = shape[1] if len(shape) == 2 else 1
    y = _rows("y", np.reshape(given["y"], (rows, width)), rows, width, missing)
    return y, _sigma("sigma_y", given["sigma_y"], rows, np.isfinite(y), width)  # type: ignore[return-value]


# --- kinds of data -------------------------------------------------------------------------------------------------


def _fields(data: Any, columns: Mapping[str, Any] | None) -> dict[str, Any]:
    """The numbers of a set of data by the names of `KEYS`; those that are not there are left out."""
    if isinstance(data, str | os.PathLike):
        return _of_file(Path(data), columns)
    if hasattr(data, "columns") and hasattr(data, "to_numpy"):
        return _of_table(data, columns)
    if columns is not None:
        raise ValueError("columns are for tables and CSV files: these data are neither")
    if isinstance(data, Mapping):
        known = {checks.choice("kind of data", "attitude" if key == "quaternion" else key, KEYS): key for key in data}
        if "t" not in known:
            raise ValueError(f"the data need t, the times in s, but have only {', '.join(map(repr, data))}")
        return {name: data[key] for name, key in known.items() if data[key] is not None}
    if hasattr(data, "t") and hasattr(data, "quaternion"):
        frames = getattr(data, "frames", None)
        if frames is not None and not data.is_inertial:
            raise ValueError(
                f"the attitudes are relative to {frames[0]}, which turns in space: convert them to an inertial frame "
                "first, for which the orbit or the turn of the planet is needed"
            )
        rates = getattr(data, "omega", None)
        return {"t": data.t, "attitude": data.quaternion, **({} if rates is None else {"omega": rates})}
    raise TypeError(
        "data must be a dictionary with t, omega or attitude, a DataFrame, the name of a file, a Solution, what "
        f"read_aem returns, or a list of these, not {data!r}"
    )


def _of_file(path: Path, columns: Mapping[str, Any] | None) -> dict[str, Any]:
    """Reads a table as text or Parquet, arrays as .npz, a solution in NetCDF, or a CCSDS message."""
    data = file_contents(path)
    if not isinstance(data, bytes):
        return _of_table(data, columns, str(path)) if hasattr(data, "columns") else _fields(data, columns)

    def wanted(names: list[str]) -> set[int]:
        read = set[int]()

        def noted(k: int) -> Floats:
            read.add(k)
            return np.zeros(0)

        _of_columns(str(path), names, noted, columns)
        return read

    header, values, _, _ = read_text_table(str(path), data, wanted=wanted, gaps=True)
    if header is None:
        header = [f"column {k}" for k in range(values.shape[1])]
    return _of_columns(str(path), header, lambda k: values[:, k], columns)


def _of_table(table: Any, columns: Mapping[str, Any] | None, name: str = "the table") -> dict[str, Any]:
    def numbers(k: int) -> Floats:
        column = table.iloc[:, k]
        try:
            found: Floats = column.to_numpy(dtype=np.float64)
        except (ValueError, TypeError):
            row = next(k for k, x in enumerate(column) if not _is_float(x))
            raise ValueError(
                f"{name}: row {row} of the column {header[k]!r} is no number: {column.iloc[row]!r}"
            ) from None
        return found

    header = [str(name) for name in table.columns]
    return _of_columns(name, header, numbers, columns)


def _of_columns(
    where: str, header: list[str], numbers: Callable[[int], Floats], columns: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The columns that are meant: those that the user names, and those with the usual names."""
    given = {"quaternion" if key == "attitude" else key: value for key, value in (columns or {}).items()}
    made = {
        name: _sigma_columns(where, name, header, numbers, given.pop(name, None)) for name in KEYS if "sigma" in name
    }
    others = ["" if _stem(name).startswith("sigma_") else name for name in header]
    layout = recognised(others, where, given or None)
    made["t"] = numbers(layout.time.columns[0]) * float(layout.time.unit)
    rates, attitude = layout.omega, layout.attitude
    if rates is not None and rates.hint != "space":
        _check_unit(where, [header[k] for k in rates.columns], rates.unit)
        made["omega"] = np.stack([numbers(k) for k in rates.columns], axis=1) * TO_RADIANS[rates.unit or "rad"]
    if attitude is not None and attitude.kind == "quaternion" and (attitude.hint == "first" or "quaternion" in given):
        made["attitude"] = np.stack([numbers(k) for k in attitude.columns], axis=1)
    if not {"omega", "attitude"} & made.keys():
        raise ValueError(
            f"{where}: there are no rates in body axes, and no quaternions whose names say which is the scalar, among "
            f"{', '.join(header)}: name them, as in columns={{'omega': ['p', 'q', 'r']}}, or columns={{'quaternion': "
            "['q0', 'q1', 'q2', 'q3']}, scalar first and from body to space"
        )
    return {name: values for name, values in made.items() if values is not None}


def _sigma_columns(
    where: str, name: str, header: list[str], numbers: Callable[[int], Floats], given: Any
) -> Floats | None:
    """Standard deviations: one column, or one for each axis."""
    stems = [_stem(heading) for heading in header]
    if given is not None:
        wanted = [given] if isinstance(given, str) else list(given)
        stems = header
    else:
        wanted = [name] if name in stems else [f"{name}_{axis}" for axis in AXES]
        if not set(wanted) <= set(stems):
            return None
    places = [stems.index(checks.choice("column", one, stems)) for one in wanted]
    units = [taken_apart(header[k]).unit for k in places]
    for k, unit in zip(places, units, strict=True):
        _check_unit(where, [header[k]], unit or "y" * (name == "sigma_y"))
    made = [numbers(k) * TO_RADIANS.get(unit, 1.0) for k, unit in zip(places, units, strict=True)]
    return made[0] if len(made) == 1 else np.stack(made, axis=1)


def _stem(heading: str) -> str:
    """A heading without its unit."""
    return heading.partition("(")[0].partition("[")[0].strip()


def _check_unit(where: str, headings: list[str], unit: str) -> None:
    """Refuses rates in a unit that is not known, or in several; without a unit they are in rad/s."""
    if not unit and any(_stem(heading) != heading.strip() for heading in headings):
        listed = ", ".join(repr(heading) for heading in headings)
        raise ValueError(
            f"{where}: the columns {listed} have no common unit that is known: use rad/s, deg/s, deg/h or rpm"
        )


def _is_float(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


# --- checks --------------------------------------------------------------------------------------------------------


def _rows(name: str, value: Any, rows: int, width: int, missing: Missing) -> Floats:
    """An array of finite rows; NaN may stand in it if missing numbers are dropped."""
    x = np.array(checks.floats(name, value, f"hold numbers in the shape ({rows}, {width})"))
    if x.shape != (rows, width):
        raise ValueError(f"{name} must have the shape ({rows}, {width}), as t has {rows} times, not {x.shape}")
    if np.isinf(x).any():
        bad = tuple(int(k) for k in np.argwhere(np.isinf(x))[0])
        raise ValueError(f"{name}[{bad[0]}, {bad[1]}] is infinite: remove the row, or put NaN there")
    if np.abs(x).max(initial=0.0, where=~np.isnan(x)) > checks.LARGEST:
        bad = tuple(int(k) for k in np.argwhere(np.abs(x) > checks.LARGEST)[0])
        raise ValueError(f"{name}[{bad[0]}, {bad[1]}] is {x[bad]:.3g}, more than can be measured: correct the row")
    if missing == "raise" and np.isnan(x).any():
        bad = tuple(int(k) for k in np.argwhere(np.isnan(x))[0])
        raise ValueError(
            f"{name}[{bad[0]}, {bad[1]}] is NaN: pass missing='drop' to fit what is there, or remove the row"
        )
    return x


def _attitudes(value: Any, rows: int, missing: Missing) -> Floats:
    """Unit quaternions, from Rotations, quaternions or matrices."""
    if hasattr(value, "as_quat"):
        q = np.roll(np.asarray(value.as_quat(), dtype=np.float64), 1, axis=-1)
    elif checks.shape_of("attitude", value) == (rows, 3, 3):
        from scipy.spatial.transform import Rotation

        flat = _rows("attitude", np.reshape(value, (rows, 9)), rows, 9, missing)
        there = np.isfinite(flat).all(axis=1)
        matrices = flat[there].reshape(-1, 3, 3)
        defect = np.abs(matrices @ matrices.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2))
        if (defect > 1e-3).any():
            bad = int(np.flatnonzero(there)[np.argmax(defect)])
            raise ValueError(f"attitude[{bad}] is no rotation: R R^T differs from 1 by {defect.max():.2g}")
        q = np.full((rows, 4), np.nan)
        q[there] = Rotation.from_matrix(matrices).as_quat(scalar_first=True)
    else:
        q = value
    q = _rows("attitude", q, rows, 4, missing)
    q[np.isnan(q).any(axis=1)] = np.nan
    there = np.isfinite(q[:, 0])
    if not np.abs(q[there]).max(axis=1, initial=0.0).all():
        bad = int(np.flatnonzero(there)[np.argmin(np.abs(q[there]).max(axis=1))])
        raise ValueError(f"attitude[{bad}] is a quaternion of zeros, and no rotation")
    if there.any():
        q[there] = checks.given_unit("attitude", q[there])
    return q


def _sigma(name: str, value: Any, rows: int, needed: Any, width: int = 3) -> Floats | None:
    """Standard deviations (rows, width): one for all, one for each axis or for each row, or all of them."""
    if value is None:
        return None
    x = checks.floats(name, value, "be a number, a row or an array of numbers")
    if x.ndim == 1 and x.size == rows and rows != width:
        x = x[:, None]
    if x.shape not in ((), (width,), (rows, 1), (rows, width)):
        raise ValueError(
            f"{name} must be one number, {'three' if width == 3 else width}, {rows} or ({rows}, {width}) of them, "
            f"not of shape {x.shape}"
        )
    full = np.array(np.broadcast_to(x, (rows, width)))
    bad = np.argwhere(~((full > 0.0) & np.isfinite(full)) & needed)
    if bad.size:
        row, axis = (int(k) for k in bad[0])
        raise ValueError(
            f"{name} must be positive and finite, but it is {full[row, axis]:g} in row {row}"
            + ("" if name == "sigma_y" else f": leave {name} out to have it estimated from the residuals")
        )
    return full
