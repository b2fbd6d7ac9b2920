"""A torque, or another vector, from a table."""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from polhode.body import Body
from polhode.kernels.algebra.quat import to_body
from polhode.kernels.algebra.vector_table import LookedUp, handle_of, made_once, packed, table_at
from polhode.kernels.types import Depends, Quat, UserTorque, Vec3
from polhode.support import checks
from polhode.support.arrays import Floats
from polhode.torques._torque import Torque

KINDS = ("cubic", "linear", "steps", "polynomials")
FRAMES = ("body", "space")

JUMP_TOLERANCE = 1e-10
"""Polynomials whose values or slopes differ at a knot by less than this share of the largest are taken to join there:
splines of a high degree do so to a part of their digits."""
DEGREE = 7
"""The degree of splines that are made from functions: at a tolerance of 1e-9 a cubic one has ten times the nodes."""


def body_torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """The vector of the table, which is given in body axes."""
    return table_at(p[0], t)


def space_torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """The vector of the table, which is given in space axes, in body axes."""
    return to_body(q, table_at(p[0], t))


@dataclass(frozen=True, eq=False, repr=False)
class Table(Torque, LookedUp):
    """A torque from a table, or another vector that changes with time and that torques of yours use.

        Table(t, values)                                  # rows of three numbers at the times t, in body axes
        Table(t, values, frame="space", kind="linear")
        Table(spline)                                     # SciPy's CubicSpline, PPoly or BSpline with three columns

    As a vector: give it among the parameters of a function, and ask for it there with `table_at`.

    Examples
    --------
    >>> ramp = ph.Table([0, 1, 2], [[0, 0, 0], [0, 0, 1], [0, 0, 0]], kind="linear")
    >>> run = ph.simulate(ph.Body([1, 1, 2]), ramp, omega=[0, 0, 0], t_span=(0, 2), rtol=1e-9)
    >>> run.omega[-1].round(6)
    array([0. , 0. , 0.5])
    """

    t: Any
    """Times in s, rising; or, as the only argument, a spline of SciPy's."""
    values: Any = None
    """A row of three numbers for each time. Steps: each row holds up to the next time; the last row holds for no time,
    and may be left out. Polynomials: coefficients (terms, pieces, 3), highest powers first, as in SciPy's `PPoly`."""
    frame: Literal["body", "space"] = "body"
    """The axes in which the vectors are given."""
    kind: Literal["cubic", "linear", "steps", "polynomials"] = "cubic"
    """Interpolation between the times: a cubic spline, straight lines, the last row, or polynomials that are given."""
    error: float | None = None
    """The largest interpolation error that was found when the table was made from a function, in the unit of values."""

    depends = Depends.POSITION | Depends.TIME
    example: ClassVar[dict[str, Any]] = {
        "t": (0.0, 1.0, 1e6),
        "values": ((0.0, 0.0, 0.1), (0.0, 0.1, 0.0), (0.0, 0.0, 0.0)),
        "kind": "linear",
    }

    def __post_init__(self) -> None:
        if self.values is None:
            knots, values, kind = *_from_spline(self.t), "polynomials"
        else:
            knots, values, kind = self.t, self.values, checks.choice("kind of table", self.kind, KINDS)
        t = _times(knots)
        rows = _rows(values, t.size, kind)
        for given in (t, rows):
            given.flags.writeable = False
        error = None if self.error is None else checks.number("error", self.error)
        frame = checks.choice("frame", self.frame, FRAMES)
        self._settle(t=t, values=rows, kind=kind, frame=frame, error=error, reads_attitude=frame == "space")
        _refuse_unless_finite(self.coefficients)

    @classmethod
    def from_function(
        cls, function: Callable[[Any], Any], t_span: tuple[float, float], *, tolerance: float = 1e-9,
        frame: Literal["body", "space"] = "body", most: int = 100_000,
    ) -> "Table":  # fmt: skip
        """Makes a table of a function, as a spline of degree seven with as many nodes as its error needs.

        The function takes a time, or an array of times if it can, and returns three numbers for each. Intervals are cut
        in two until the spline differs from the function by at most `tolerance` times the largest size of the function,
        at ten places in each interval. The largest difference there, and a fifth more for the places between, is the
        `error` of the table. A function that jumps cannot be followed by a spline: make a table for each side.
        """
        t0, t1 = checks.numbers("t_span", t_span, 2)
        if not t0 < t1:
            raise ValueError(f"t_span must rise, but it goes from {t0:g} to {t1:g}")
        checks.number("tolerance", tolerance, positive=True)
        spline, error = _spline(_Sampled(function), t0, t1, tolerance, checks.count("most", most, " of nodes"))
        return cls(spline, frame=frame, error=error)

    @classmethod
    def from_file(
        cls, path: Any, frame: Literal["body", "space"] = "body", kind: Literal["cubic", "linear", "steps"] = "cubic"
    ) -> "Table":
        """Reads a table from a text file with four columns, time and vector, separated by commas or spaces.

        Lines that begin with # and a first line with the names of columns are left out.
        """
        rows = columns_of(Path(path))
        return cls(rows[:, 0], rows[:, 1:], frame, kind)

    # --- what it is made of

    @property
    def numbers(self) -> Floats:
        """The numbers of the table as kernels read them, in memory that all runs share."""
        return made_once(self, "_numbers", lambda: _read_only(packed(self.t, self.coefficients)))

    @property
    def handle(self) -> float:
        """The parameter by which kernels find the table, with `table_at`, as long as this object lives."""
        return handle_of(self.numbers)

    @cached_property
    def coefficients(self) -> Floats:
        """Coefficients (pieces, terms, 3) of powers of the time since a piece began, highest powers first."""
        return _coefficients(self.t, self.values, self.kind)

    @property
    def known(self) -> tuple[float, float]:
        """The first and the last time."""
        return float(self.t[0]), float(self.t[-1])

    def __call__(self, t: Any) -> Floats:
        """The vectors at these times, in the axes of the table: three numbers, or a row for each time."""
        times = checks.floats("t", t, "hold times")
        first, last = self.known
        if times.size and not (first <= times.min() and times.max() <= last):
            bad = times.min() if not times.min() >= first else times.max()
            raise ValueError(f"the table goes from {first:g} to {last:g} s and has no value at t = {float(bad):g}")
        piece = np.clip(np.searchsorted(self.t, times, side="right") - 1, 0, len(self.coefficients) - 1)
        s = (times - self.t[piece])[..., None]
        found = self.coefficients[piece, 0]
        for k in range(1, self.coefficients.shape[1]):
            found = found * s + self.coefficients[piece, k]
        return np.asarray(found)

    # --- a torque

    @property
    def torque_kernel(self) -> UserTorque:
        """The vector at the time, in body axes."""
        return space_torque if self.frame == "space" else body_torque

    def parameters(self, body: Body) -> Sequence[float]:
        """The handle of the table: the numbers themselves are shared by all bodies and runs."""
        return (self.handle,)

    @cached_property
    def breakpoints(self) -> tuple[float, ...]:
        """The times inside at which the table jumps or has a kink; a cubic spline has neither."""
        if self.kind == "cubic" or len(self.coefficients) == 1:
            return ()
        ends, begins, slopes_before, slopes_after = _both_sides(self.t, self.coefficients)
        tolerance = JUMP_TOLERANCE if self.kind == "polynomials" else 0.0
        if self.kind == "linear":  # its values agree but for rounding
            bent = _differ(slopes_before, slopes_after, tolerance)
        else:
            bent = _differ(ends, begins, tolerance) | _differ(slopes_before, slopes_after, tolerance)
        return tuple(self.t[1:-1][bent].tolist())

    @cached_property
    def knots(self) -> tuple[float, ...]:
        """The times inside at which pieces of a smooth table join: a derivative of high order jumps there."""
        if self.kind in ("linear", "steps"):
            return ()
        return tuple(sorted({*self.t[1:-1].tolist()} - {*self.breakpoints}))

    @cached_property
    def roughness(self) -> float:
        """The sum of jumps of the third derivative times d^4, over the largest value; d is the distance between knots.

        A jump of the second derivative counts as one of the third that lets it grow within d.
        """
        if not self.knots or self.coefficients.shape[1] < 3:
            return 0.0
        largest = float(_norms(self.coefficients[:, -1]).max())
        gaps = np.maximum(np.diff(self.t)[1:], np.diff(self.t)[:-1])
        jumps = gaps**4 * _jumps(self.t, self.coefficients, 3) + gaps**3 * _jumps(self.t, self.coefficients, 2)
        return float(jumps.sum()) / largest if largest > 0.0 else 0.0

    def _stopping_at(self, times: tuple[float, ...]) -> "Table":
        """The same table with other breakpoints."""
        other = object.__new__(Table)
        other.__dict__.update(self.__dict__, _numbers=self.numbers, breakpoints=times)
        other.__dict__.pop("knots", None)  # they are those without breakpoints
        return other

    # --- an object

    @cached_property
    def fingerprint(self) -> str:
        """A name of the table by its content."""
        told = hashlib.sha256(f"{self.kind}:{self.frame}:{self.values.shape}".encode())
        told.update(self.t.tobytes())
        told.update(self.values.tobytes())
        return told.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and (other is self or other.fingerprint == self.fingerprint)

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        first, last = self.known
        about = "" if self.error is None else f", error {self.error:.2g}"
        return f"<Table ({self.kind}) of {self.t.size} nodes from {first:g} to {last:g} s, in {self.frame} axes{about}>"

    def __reduce__(self) -> Any:
        """Pickles what it was made of: an address is valid in one process only."""
        return Table, (self.t, self.values, self.frame, self.kind, self.error)


def with_common_breakpoints(tables: "Sequence[Table]") -> "tuple[Table, ...]":
    """The same tables, for bodies that are run together: steps of all of them end where one bends."""
    first = tables[0].breakpoints
    if all(table.breakpoints == first for table in tables):
        return tuple(tables)
    common = tuple(sorted({t for table in tables for t in table.breakpoints}))
    return tuple(table._stopping_at(common) for table in tables)


def _read_only(numbers: Floats) -> Floats:
    numbers.flags.writeable = False
    return numbers


def _times(t: Any) -> Floats:
    """The times of a table, checked."""
    times = np.array(checks.row("t", t))
    if times.size < 2:
        raise ValueError(f"a table needs two times at least, not {times.size}")
    rises = times[1:] > times[:-1]
    if not rises.all():
        bad = int(np.argmin(rises))
        remedy = "sort the rows by time"
        if times[bad] == times[bad + 1]:
            remedy = (
                "leave one of the two rows out; for a jump at a known time use kind='steps', or two tables with .during"
            )
        raise ValueError(
            f"the times of a table must rise, but t[{bad}] = {float(times[bad])!r} is followed by "
            f"{float(times[bad + 1])!r}: {remedy}"
        )
    if not math.isfinite(float(times[-1] - times[0])):
        raise ValueError(f"the times of a table go from {times[0]:g} to {times[-1]:g}: their difference is no number")
    return times


def _rows(values: Any, count: int, kind: str) -> Floats:
    """The values of a table, checked."""
    shape = checks.shape_of("values", values)
    if kind == "polynomials":
        if len(shape) != 3 or shape[0] == 0 or shape[1:] != (count - 1, 3):
            raise ValueError(
                f"values of polynomials must have the shape (terms, {count - 1}, 3) for {count} times, not {shape}"
            )
        return checks.array("values", values, shape)
    counts = (count, count - 1) if kind == "steps" else (count,)
    if len(shape) != 2 or shape[1] != 3 or shape[0] not in counts:
        hint = ""
        if shape == (3, count):
            hint = ": transpose them, as values.T"
        elif shape == (count,):
            hint = ": give all three components, as in numpy.outer(values, axis)"
        raise ValueError(f"values must have the shape ({count}, 3), a row for each time, not {shape}{hint}")
    return checks.array("values", values, shape)


def _from_spline(spline: Any) -> tuple[Floats, Floats]:
    """The knots and coefficients of a spline of SciPy's."""
    from scipy.interpolate import BSpline, PPoly

    if isinstance(spline, BSpline):
        spline = _of_b_spline(spline)
    if not isinstance(spline, PPoly):
        raise TypeError(
            f"a table is made of times and values, or of a PPoly, CubicSpline or BSpline of SciPy's, not {spline!r}"
        )
    if spline.c.ndim != 3 or spline.c.shape[2] != 3:
        raise ValueError(f"the spline of a table must have three columns, not values of the shape {spline.c.shape[2:]}")
    if not np.isrealobj(spline.c):
        raise TypeError("the spline of a table must be real, but its coefficients are complex")
    # Some splines repeat knots at their ends.
    some = np.concatenate([[True], np.diff(spline.x) > 0.0])
    kept = np.diff(spline.x) > 0.0
    if not some.all() and not (np.diff(spline.x) < 0.0).any():
        return np.concatenate([spline.x[:1], spline.x[1:][kept]]), spline.c[:, kept]
    return np.array(spline.x), spline.c


def _of_b_spline(spline: Any) -> Any:
    """A BSpline as polynomials on the interval that it covers; SciPy converts one column at a time."""
    from scipy.interpolate import PPoly

    if spline.c.ndim != 2:
        return PPoly(np.zeros((1, 1, *spline.c.shape[1:])), [0.0, 1.0])  # of a wrong shape, which the caller says
    columns = [PPoly.from_spline((spline.t, spline.c[:, k], spline.k)) for k in range(spline.c.shape[1])]
    inner = slice(spline.k, spline.t.size - 1 - spline.k)
    knots = spline.t[spline.k : spline.t.size - spline.k]
    return PPoly(np.stack([column.c[:, inner] for column in columns], axis=-1), knots)


def _coefficients(t: Floats, rows: Floats, kind: str) -> Floats:
    """The coefficients (pieces, terms, 3) of a table."""
    if kind == "polynomials":
        return np.ascontiguousarray(rows.transpose(1, 0, 2))
    if kind == "steps":
        return np.array(rows[: t.size - 1, None, :])
    if kind == "linear":
        with np.errstate(over="ignore"):
            slopes = np.diff(rows, axis=0) / np.diff(t)[:, None]
        return np.stack([slopes, rows[:-1]], axis=1)
    from scipy.interpolate import CubicSpline

    with np.errstate(all="ignore"):
        return np.ascontiguousarray(CubicSpline(t, rows).c.transpose(1, 0, 2))


def _refuse_unless_finite(coefficients: Floats) -> None:
    if not np.isfinite(coefficients).all():
        raise ValueError("the values of the table differ so much within so short a time that slopes are no numbers")


def _both_sides(t: Floats, coefficients: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Returns values before and after each inner knot, and slopes before and after."""
    s = np.diff(t)[:-1, None]
    before = coefficients[:-1]
    value, slope = np.array(before[:, 0]), np.zeros_like(before[:, 0])
    for k in range(1, coefficients.shape[1]):
        slope = slope * s + value
        value = value * s + before[:, k]
    after = coefficients[1:]
    slope_after = after[:, -2] if coefficients.shape[1] > 1 else np.zeros_like(slope)
    return value, after[:, -1], slope, slope_after


def _jumps(t: Floats, coefficients: Floats, order: int) -> Floats:
    """The size of the jump of a derivative at each inner knot; what is rounding counts as none."""
    terms = coefficients.shape[1]
    before, after = np.zeros((t.size - 2, 3)), np.zeros((t.size - 2, 3))
    s = np.diff(t)[:-1, None]
    for k in range(terms - order):
        before = before * s + math.perm(terms - 1 - k, order) * coefficients[:-1, k]
    if terms > order:
        after = math.factorial(order) * coefficients[1:, terms - 1 - order]
    sizes = _norms(after - before)
    scale = max(float(np.abs(before).max()), float(np.abs(after).max()))
    return np.where(sizes > 1e-9 * scale, sizes, 0.0)


def _differ(a: Floats, b: Floats, tolerance: float) -> Any:
    """Whether rows differ by more than a share of the largest number in them."""
    largest = max(float(np.abs(a).max()), float(np.abs(b).max()))
    return (np.abs(a - b) > tolerance * largest).any(axis=1)


def columns_of(path: Path) -> Floats:
    """The four columns of a text file: time and vector."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a text file with rows of four numbers: t, x, y, z") from None
    rows: list[list[float]] = []
    for k, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        cells = text.replace(",", " ").replace(";", " ").split()
        try:
            row = [float(cell) for cell in cells]
        except ValueError:
            if not rows and not _is_number(cells[0]):
                continue  # the names of the columns
            raise ValueError(f"{path}, line {k}: {text!r} is not a row of four numbers") from None
        if len(row) != 4:
            raise ValueError(
                f"{path}, line {k}: {text!r} has {len(row)} numbers, but a row of a table has four: t, x, y, z"
            )
        rows.append(row)
    if len(rows) < 2:
        raise ValueError(f"{path} has {len(rows)} rows of numbers, and a table needs two at least: t, x, y, z")
    return np.array(rows)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


class _Sampled:
    """A function of time whose values are asked for at many times, at once if it can."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        if not callable(function):
            raise TypeError(f"a table is made from a function of the time, not from {function!r}")
        self.function, self.at_once = function, True

    def __call__(self, times: Floats) -> Floats:
        """A row for each time."""
        if self.at_once and times.size > 3:  # three could be taken for the three components
            try:
                rows = np.asarray(self.function(times), dtype=np.float64)
            except Exception:  # a function for one time may raise anything
                rows = np.zeros(0)
            if rows.shape == (times.size, 3):
                return self._checked(times, rows)
            if rows.shape == (3, times.size):
                return self._checked(times, np.ascontiguousarray(rows.T))
            self.at_once = False
        rows = np.array(
            [checks.floats("the function", self.function(t), "return three numbers") for t in times.tolist()]
        )
        if rows.shape != (times.size, 3):
            raise ValueError(f"the function of a table must return three numbers, not the shape {rows.shape[1:]}")
        return self._checked(times, rows)

    def _checked(self, times: Floats, rows: Floats) -> Floats:
        if not np.isfinite(rows).all():
            bad = int(np.argmax(~np.isfinite(rows).all(axis=1)))
            raise ValueError(
                f"the function of a table returned {tuple(rows[bad].tolist())} at t = {float(times[bad])!r}"
            )
        return rows


PLACES, OTHER_PLACES = np.array([0.1, 0.3, 0.5, 0.7, 0.9]), np.array([0.05, 0.21, 0.42, 0.62, 0.83])
"""Where in an interval a spline is compared with its function: to choose the nodes, and once more at the end. The
middle is among the first, because it is the next node."""
BETWEEN_PLACES = 1.2
"""How much larger than at those places the error may be between them, at most: 1.02 was measured."""
FIRST_INTERVALS = 16
SHORTEST_SHARE = 2.0**-40
"""The share of the span below which no interval is cut: a function that needs it jumps."""


def _spline(f: _Sampled, t0: float, t1: float, tolerance: float, most: int) -> tuple[Any, float]:
    """A spline through values of the function, and the largest error of it that was found."""
    from scipy.interpolate import make_interp_spline

    nodes = np.linspace(t0, t1, FIRST_INTERVALS + 1)
    values = f(nodes)
    between = f(_places(nodes, PLACES).ravel()).reshape(-1, PLACES.size, 3)
    while True:
        spline = make_interp_spline(nodes, values, DEGREE)
        size = float(max(_norms(values).max(), _norms(between).max()))
        error = _norms(spline(_places(nodes, PLACES)) - between).max(axis=1)
        if (error <= tolerance * size).all():
            places = _places(nodes, OTHER_PLACES)
            error = np.maximum(
                error, _norms(spline(places) - f(places.ravel()).reshape(-1, PLACES.size, 3)).max(axis=1)
            )
            if (error <= tolerance * size).all():
                return spline, BETWEEN_PLACES * float(error.max())
        cut = error > tolerance * size
        worst = int(np.argmax(error))
        if nodes.size + np.count_nonzero(cut) > most or np.diff(nodes)[cut].min() < SHORTEST_SHARE * (t1 - t0):
            raise ValueError(
                f"{nodes.size} nodes leave an error of {error[worst]:.2g} near t = {nodes[worst]:.6g}, and the "
                f"tolerance times the largest size is {tolerance * size:.2g}: if the function jumps or has a kink "
                "there, make tables of its sides; else take a wider tolerance, or more nodes with most="
            )
        middles = 0.5 * (nodes[:-1] + nodes[1:])[cut]
        behind = np.flatnonzero(cut) + 1
        values = np.insert(values, behind, between[cut, PLACES.size // 2], axis=0)
        nodes = np.insert(nodes, behind, middles)
        new = np.repeat(cut, 1 + cut)
        between = np.repeat(between, 1 + cut, axis=0)
        between[new] = f(_places(nodes, PLACES)[new].ravel()).reshape(-1, PLACES.size, 3)


def _places(nodes: Floats, fractions: Floats) -> Floats:
    """Times (intervals, places) between nodes."""
    return nodes[:-1, None] + np.diff(nodes)[:, None] * fractions


def _norms(rows: Floats) -> Floats:
    return np.asarray(np.sqrt((rows * rows).sum(axis=-1)))
