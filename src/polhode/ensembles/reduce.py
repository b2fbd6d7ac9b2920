"""Reductions of an ensemble over time and over bodies, in constant memory.

Bodies come in batches, and their rows are dropped once they are reduced. Sums are made over fixed blocks of bodies and
joined in pairs, by the numbers of the bodies, so that no bit depends on threads, on the size of the batches, or on the
parts that other processes have reduced.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from polhode.attitudes import NAMES, AttitudeQuantity
from polhode.ensembles import accumulators
from polhode.ensembles.result import MOST_MESSAGES, TIMED, Ensemble, seed_attribute, unavailable
from polhode.kernels.status import Status
from polhode.problem import Plan, Problem, Stats
from polhode.solution import attributes_of
from polhode.support import checks
from polhode.support.arrays import Floats
from polhode.torques import Torque

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

BLOCK = 256
"""The number of bodies whose sum is made at once. Batches are multiples of it."""
OVER_BODIES, OVER_TIME = "quantile", "quantile_over_time"
"""The names of the dimension of several quantiles, over bodies and over time."""
DIMENSIONS = ("body", "time", *filter(None, TIMED.values()), "euler_angle", OVER_BODIES, OVER_TIME)
ATTRIBUTES = ("method", "torque", "step", "bodies", "failed", "seed")
"""The attributes that files and tables have besides the reductions."""
SINGLE = ("status", "t_last", "steps", "evaluations", "error_estimate")
"""The quantities that every body has once, and not at every time."""
Dim = Literal["time", "body"]
What = str | Callable[[Ensemble], Any]


# --- what the user writes ------------------------------------------------------------------------------------------


class ReductionStep(NamedTuple):
    """A reduction over one dimension."""

    kind: str
    argument: Any = None


@dataclass(frozen=True, eq=False, repr=False)
class Quantity:
    """A quantity that every body has at every time, with its reductions: first over time, then over bodies.

    The methods are those of xarray. A body that has failed has no values from then on, and is left out.
    """

    what: What
    over_time: ReductionStep | None = None
    over_bodies: ReductionStep | None = None

    def mean(self, dim: Dim) -> Quantity:
        """Takes the mean, over the rows of output or over the bodies."""
        return self._reduced(dim, ReductionStep("mean"))

    def std(self, dim: Dim) -> Quantity:
        """Takes the standard deviation: the root of the mean square of the distance from the mean."""
        return self._reduced(dim, ReductionStep("std"))

    def cov(self, dim: Literal["body"] = "body") -> Quantity:
        """Takes the covariances of the components over the bodies, a matrix."""
        if dim != "body":
            raise ValueError(f"covariances are over bodies, not over {dim!r}")
        return self._reduced(dim, ReductionStep("cov"))

    def min(self, dim: Dim) -> Quantity:
        """Takes the least value."""
        return self._reduced(dim, ReductionStep("min"))

    def max(self, dim: Dim) -> Quantity:
        """Takes the greatest value."""
        return self._reduced(dim, ReductionStep("max"))

    def quantile(self, q: Any, dim: Dim) -> Quantity:
        """Takes quantiles at levels from 0 to 1; several levels become the first dimension of the result.

        Where there are more bodies than fit into memory, quantiles over them have a small error of the rank, of which
        `rank_error` is a bound.
        """
        levels = checks.row("q", q)
        if levels.size == 0 or ((levels < 0) | (levels > 1)).any():
            raise ValueError(f"q must lie between 0 and 1, not {q!r}")
        return self._reduced(dim, ReductionStep("quantile", (tuple(levels.tolist()), np.ndim(q) == 0)))

    def last(self) -> Quantity:
        """Takes the value in the last row."""
        return self._reduced("time", ReductionStep("last"))

    def reduce(self, function: Callable[..., Any], dim: Literal["time"] = "time") -> Quantity:
        """Applies a function of your own over time: `function(values, axis=1)`, with values (bodies, times, ...).

        Where a body has failed its values are NaN. Bodies are never all in memory at once: over them, use `fold`.
        """
        if dim != "time":
            raise ValueError("over bodies, which are never all there at once, use fold(function, start)")
        return self._reduced("time", ReductionStep("own", _function("function", function)))

    def histogram(self, edges: Any, dim: Literal["body"] = "body") -> Quantity:
        """Counts the bodies whose value lies between two edges, for each pair of neighbours among the edges.

        The bins become the first dimension of the result. As with NumPy, the last bin has both of its edges; `about`
        says how many values lie outside of all bins.
        """
        if dim != "body":
            raise ValueError(f"histograms are over bodies, not over {dim!r}")
        given = checks.row("edges", edges)
        if given.size < 2 or not (np.diff(given) > 0).all():
            raise ValueError(f"edges must be at least two numbers that rise, not {edges!r}")
        return self._reduced(dim, ReductionStep("histogram", tuple(given.tolist())))

    def fold(
        self, function: Callable[[Any, Any], Any], start: Any, join: Callable[[Any, Any], Any] | None = None
    ) -> Quantity:  # fmt: skip
        """Applies a function of your own over bodies: `total = function(total, values)`, beginning with `start`.

        The values are those of the next bodies: (bodies, times, ...), or (bodies, ...) after a reduction over time.
        Bodies come in their order, always 256 at a time; where one has failed its values are NaN.

        With `join`, the function is called for each 256 bodies with `start`, and `total = join(total, other)` joins
        what was made of some bodies with what was made of those that follow: that is what `plan_ensemble` needs, whose
        parts are run in any order. The function that adds is `operator.add`.
        """
        both = None if join is None else _function("join", join)
        return self._reduced("body", ReductionStep("own", (_function("function", function), start, both)))

    def __repr__(self) -> str:
        text = f"quantity({_called(self.what)})"
        for dim, step in (("time", self.over_time), ("body", self.over_bodies)):
            if step is None:
                continue
            kind, argument = step
            if kind == "quantile":
                levels, single = argument
                text += f".quantile({levels[0] if single else list(levels)}, {dim!r})"
            elif kind == "own":
                function = argument if dim == "time" else argument[0]
                text += f".{'reduce' if dim == 'time' else 'fold'}({_called(function)})"
            elif kind == "histogram":
                text += f".histogram({_edges(argument)})"
            else:
                text += ".last()" if kind == "last" else f".{kind}({dim!r})"
        return text

    def _reduced(self, dim: Dim, step: ReductionStep) -> Quantity:
        if dim not in ("time", "body"):
            raise ValueError(f"dim must be 'time' or 'body', not {dim!r}")
        if self.over_bodies is not None:
            raise ValueError("after a reduction over bodies nothing is large any more: reduce the result itself")
        if dim == "body":
            return replace(self, over_bodies=step)
        if self.over_time is not None:
            raise ValueError("this quantity is already reduced over time")
        if self.what in SINGLE:
            raise ValueError(f"{self.what} has no time to be reduced over")
        return replace(self, over_time=step)


def quantity(what: What) -> Quantity:
    """A quantity to be reduced, for `ensemble(..., reduce={name: quantity(...).mean("body")})`.

    Parameters
    ----------
    what
        For every body at every output time: "omega", "momentum", "quaternion", "spatial_omega", "spatial_momentum",
        "kinetic_energy", "potential_energy", "energy", "energy_error" or "momentum_error"; of the attitude,
        "euler(ZYX)", "euler_deg(ZYX)" with any sequence, "mrp", "mrp(shadow)", "pointing_angle(z, [0, 0, 1])",
        "pointing_angle_deg(z, [0, 0, 1])" with any body axis and any direction in space. Once for every body: "status",
        "t_last", "steps", "evaluations" or, with `rtol`, "error_estimate". A function of your own is possible as
        well: it is called with an `Ensemble` of some of the bodies and returns an array (bodies, times, ...) or
        (bodies,).

    Examples
    --------
    >>> found = ph.ensemble(
    ...     ph.Body([1, 2, 2.8]), omega=ph.samples.Normal([0, 2, 0], 0.1), count=8, seed=1, t_span=(0, 1),
    ...     method="MR2", step=0.1, reduce={"energy": ph.quantity("kinetic_energy").quantile([0.05, 0.95], "body")},
    ... )
    >>> found["energy"].shape
    (2, 2)
    """
    if not isinstance(what, str):
        return Quantity(_function("what", what))
    if what.partition("(")[0].strip() in NAMES:
        return Quantity(AttitudeQuantity.read(what))
    return Quantity(checks.choice("quantity", what, (*TIMED, *SINGLE, *NAMES)))


def _called(what: Any) -> str:
    """A name in quotes, or that of a function."""
    return repr(str(what)) if isinstance(what, str | AttitudeQuantity) else str(getattr(what, "__name__", what))


def _edges(edges: tuple[float, ...]) -> str:
    """Writes the edges of a histogram; of many, their number."""
    if len(edges) <= 5:
        return str(list(edges))
    return f"{len(edges)} edges from {edges[0]:g} to {edges[-1]:g}"


def _function(name: str, value: Any) -> Any:
    if not callable(value):
        raise TypeError(f"{name} must be a function, not {checks.shown(value)}")
    return value


def checked(reduce: Any, torque: Torque, *, estimated: bool) -> dict[str, Quantity]:
    """Checks the argument `reduce`, and returns it as a dict."""
    if not isinstance(reduce, Mapping) or not reduce:
        raise TypeError(
            'reduce must be a dict of names and quantities, such as {"rate": polhode.quantity("omega").mean("body")}, '
            f"not {checks.shown(reduce)}"
        )
    for name, wanted in reduce.items():
        if not isinstance(name, str):
            raise TypeError(f"the names in reduce must be text, not {name!r}")
        if name.removeprefix("other_") in DIMENSIONS or any(name in _level_names(other) for other in reduce):
            raise ValueError(f"reduce[{name!r}]: that is the name of a dimension, choose another one")
        if name in ATTRIBUTES:
            raise ValueError(f"reduce[{name!r}]: tables and files have another {name}, choose another name")
        if not isinstance(wanted, Quantity):
            raise TypeError(f"reduce[{name!r}] must be a polhode.quantity(...), not {wanted!r}")
        if isinstance(wanted.what, str):
            if why := unavailable(wanted.what, torque):
                raise ValueError(f"reduce[{name!r}]: {why}")
            if wanted.what == "error_estimate" and not estimated:
                raise ValueError(f"reduce[{name!r}]: errors are estimated with rtol=, not with a given step")
    return dict(reduce)


def _level_names(name: str) -> tuple[str, str]:
    """The dimensions of its quantiles, where other quantiles have other levels."""
    return f"{name}_{OVER_BODIES}", f"{name}_{OVER_TIME}"


# --- over time, for some bodies ------------------------------------------------------------------------------------


class QuantityValues(NamedTuple):
    """The values of a quantity for some bodies, with the names of their dimensions."""

    data: Any
    dims: tuple[str, ...]


def of_bodies(name: str, wanted: Quantity, bodies: Ensemble) -> QuantityValues:
    """The quantity of every body, reduced over time if that is wanted."""
    values = _found(name, wanted.what, bodies)
    if wanted.over_time is None:
        return values
    if "time" not in values.dims:
        raise ValueError(f"reduce[{name!r}] has one value for every body: there is no time to be reduced over")
    kind, argument = wanted.over_time
    x, dims = values.data, tuple(d for d in values.dims if d != "time")
    if kind == "own":
        with _blamed(name):
            returned = argument(x, axis=1)
        made = _real(name, returned)
        if made.shape[:1] != x.shape[:1]:
            raise ValueError(f"the function of reduce[{name!r}] must keep the {len(x)} bodies, not make {made.shape}")
        return QuantityValues(made, ("body", *_extra(name, made.ndim - 1)) if made.ndim != len(dims) else dims)
    if kind == "last":
        return QuantityValues(x[:, -1], dims)
    if kind in ("min", "max"):
        return QuantityValues(accumulators.EXTREMES[kind].reduce(x, axis=1), dims)
    if kind == "quantile":
        levels, single = argument
        x = np.moveaxis(np.sort(np.asarray(x, dtype=np.float64), axis=1), 1, 0)
        found = accumulators.quantiles_of(x, np.sum(~np.isnan(x), axis=0), levels)
        return (
            QuantityValues(found[0], dims)
            if single
            else QuantityValues(np.moveaxis(found, 0, 1), ("body", OVER_TIME, *dims[1:]))
        )
    there = ~np.isnan(x)
    n = np.maximum(there.sum(axis=1), 1)
    mean = np.where(there, x, 0.0).sum(axis=1) / n
    none = ~there.any(axis=1)
    if kind == "std":
        d = np.where(there, x - mean[:, None], 0.0)
        mean = np.sqrt((d * d).sum(axis=1) / n)
    return QuantityValues(np.where(none, np.nan, mean), dims)


def _found(name: str, what: What, bodies: Ensemble) -> QuantityValues:
    if isinstance(what, str):
        if what in SINGLE:
            return QuantityValues(np.asarray(getattr(bodies, what)), ("body",))
        return QuantityValues(getattr(bodies, what), ("body", "time", *([TIMED[what]] if TIMED[what] else [])))
    if isinstance(what, AttitudeQuantity):
        return QuantityValues(what(bodies), ("body", "time", *what.dimensions))
    with _blamed(name):
        returned = what(bodies)
    made = _real(name, returned)
    n, rows = len(bodies), bodies.t.size
    if made.shape == (n,):
        return QuantityValues(made, ("body",))
    if made.shape[:2] != (n, rows):
        raise ValueError(
            f"the function of reduce[{name!r}] must return an array (bodies, times, ...) or (bodies,): of {n} bodies "
            f"at {rows} times, not of shape {made.shape}"
        )
    return QuantityValues(made, ("body", "time", *_extra(name, made.ndim - 2)))


def _real(name: str, values: Any) -> Any:
    made = np.asarray(values)
    if made.dtype.kind not in "biuf":
        raise TypeError(f"the function of reduce[{name!r}] must return an array of real numbers, not of {made.dtype}")
    return made


@contextmanager
def _blamed(name: str) -> Iterator[None]:
    """Adds a note to every exception: a function of the user's has raised it."""
    try:
        yield
    except Exception as problem:
        problem.add_note(f"raised by the function of reduce[{name!r}]")
        raise


def _extra(name: str, count: int) -> tuple[str, ...]:
    return tuple(f"{name}_{i}" for i in range(count))


# --- over bodies ---------------------------------------------------------------------------------------------------


def _accumulator(step: ReductionStep | None, count: int, part: range | None) -> accumulators.Accumulator:
    kind, argument = (None, None) if step is None else step
    return accumulators.accumulator(kind, argument, count, part)


class Reductions:
    """All reductions that are wanted, with the bodies that were added so far."""

    def __init__(self, wanted: dict[str, Quantity], count: int, seed: int | None, part: range | None = None) -> None:
        """Makes room for all bodies, or for a part of them; a part that is not the last has 2**n blocks."""
        self.wanted, self.seed = wanted, seed
        self.parts = {name: _accumulator(q.over_bodies, count, part) for name, q in wanted.items()}
        self.dims: dict[str, tuple[str, ...]] = {}
        self.count = 0
        self.failed = 0
        self.messages: dict[int, str] = {}
        self.how: tuple[Plan | None, int, str] = (None, 1, "")
        self.stats = Stats()

    def add(self, bodies: Ensemble) -> None:
        """Adds the next bodies to all reductions; adds them to none if a function of the user's raises."""
        with np.errstate(over="ignore", invalid="ignore"):  # bodies that blow up may be near the largest number
            values = {name: self._of(name, bodies) for name in self.wanted}
            self.parts |= {name: self._folded(name, part, values[name]) for name, part in self._folds().items()}
            for name, part in self.parts.items():
                if not isinstance(part, accumulators.Fold):
                    for block in (
                        [values[name]] if isinstance(part, accumulators.WholeQuantity) else _blocks(values[name])
                    ):
                        part.add(block)
        for k, message in bodies.messages.items():
            if len(self.messages) < MOST_MESSAGES:
                self.messages[self.count + k] = message
        self.count += len(bodies)
        self.failed += int((bodies.status != Status.OK).sum())
        self.stats += bodies.stats
        self.how = (bodies.plan, bodies.lanes, bodies.why_not_packed)

    def _of(self, name: str, bodies: Ensemble) -> Any:
        wanted = self.wanted[name]
        values = of_bodies(name, wanted, bodies)
        self.dims[name] = values.dims
        if (step := wanted.over_bodies) is not None and step.kind == "cov" and values.data.ndim < 2:
            raise ValueError(f"reduce[{name!r}]: covariances are those of components, of which there are none")
        return values.data

    def _folds(self) -> dict[str, accumulators.Fold]:
        return {name: part for name, part in self.parts.items() if isinstance(part, accumulators.Fold)}

    def _folded(self, name: str, part: accumulators.Fold, values: Any) -> accumulators.Fold:
        """Returns a fold with more bodies added, and leaves the one without them as it is."""
        more = part.copied()
        with _blamed(name):
            for block in _blocks(values):
                more.add(block)
        return more

    def states(self) -> dict[str, accumulators.State]:
        """What was accumulated, by the names of the reductions: `join` adds it to that of other bodies."""
        return {name: part.state() for name, part in self.parts.items()}

    def join(
        self,
        states: Mapping[str, accumulators.State],
        dims: Mapping[str, tuple[str, ...]],
        count: int,
        failed: int,
        stats: Stats,
    ) -> None:
        """Adds bodies that were accumulated elsewhere, and that follow those that were added so far."""
        with np.errstate(over="ignore", invalid="ignore"):
            for name, part in self.parts.items():
                with _blamed(name):
                    part.join(states[name])
        self.dims |= dims
        self.count, self.failed, self.stats = self.count + count, self.failed + failed, self.stats + stats

    def result(self, problem: Problem, t: Floats) -> Reduced:
        """The reductions of the bodies so far."""
        values, dims, about = dict[str, Any](), dict[str, tuple[str, ...]](), dict[str, dict[str, Any]]()
        levels = dict[tuple[str, str], tuple[float, ...]]()
        for name, wanted in self.wanted.items():
            if name not in self.dims:
                continue
            with np.errstate(over="ignore", invalid="ignore"):
                made = self.parts[name].result()
            left, step = self.dims[name], wanted.over_bodies
            about[name] = _described(wanted)
            for dim, over in ((OVER_TIME, wanted.over_time), (OVER_BODIES, step)):
                if over is not None and over.kind == "quantile" and not over.argument[1]:
                    levels[name, dim] = over.argument[0]
            if step is not None:
                left = left[1:]
                if step.kind == "quantile":
                    made, left = (made[0], left) if step.argument[1] else (made, (OVER_BODIES, *left))
                    part = self.parts[name]
                    assert isinstance(part, accumulators.Quantiles)
                    about[name]["rank_error"] = part.rank_error
                if step.kind == "histogram":
                    counted = self.parts[name]
                    assert isinstance(counted, accumulators.Histogram)
                    left, about[name]["outside"] = (f"{name}_bin", *left), counted.outside
                    about[name]["edges"] = list(step.argument)
                if step.kind == "cov":
                    left = (*left, f"other_{left[-1]}")
                if step.kind == "own":
                    left = _extra(name, made.ndim)
            values[name], dims[name] = made, left
        plan, lanes, why_not_packed = self.how
        return Reduced(
            problem, plan, self.stats, t, values, dims, about, levels, self.count, self.failed, self.messages, lanes,
            why_not_packed, self.seed,
        )  # fmt: skip


def _blocks(values: Any) -> list[Any]:
    return [values[first : first + BLOCK] for first in range(0, len(values), BLOCK)]


def _described(wanted: Quantity) -> dict[str, Any]:
    """What a result is, in words and units."""
    what = wanted.what
    known = attributes_of(what) if isinstance(what, str) and what in TIMED and what != "energy" else {}
    known = what.attributes if isinstance(what, AttitudeQuantity) else known
    name = known.get("long_name", what if isinstance(what, str) else getattr(what, "__name__", "function"))
    for dim, step in (("time", wanted.over_time), ("bodies", wanted.over_bodies)):
        if step is not None:
            name = f"{_WORDS[step.kind]} over {dim} of {name}" if step.kind != "last" else f"{name}, at the end"
    units = "J" if what == "energy" else known.get("units", "")
    squared = wanted.over_bodies is not None and wanted.over_bodies.kind == "cov"
    of_their_own = ("own", "histogram")
    own = any(step is not None and step.kind in of_their_own for step in (wanted.over_time, wanted.over_bodies))
    return {"long_name": name, **({"units": f"({units})2" if squared else units} if units and not own else {})}


_WORDS = {
    "mean": "mean", "std": "standard deviation", "cov": "covariances", "min": "minimum", "max": "maximum",
    "quantile": "quantiles", "histogram": "histogram", "own": "user's reduction",
}  # fmt: skip


# --- the result ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Reduced(Mapping[str, Any]):
    """The reductions of an ensemble: `reduced[name]` is an array, for each name that was asked for.

    Examples
    --------
    >>> found = ph.ensemble(
    ...     ph.Body([1, 2, 2.8]), omega=ph.samples.Normal([0, 2, 0], 0.1), count=8, seed=1, t_span=(0, 1),
    ...     method="MR2", step=0.1, reduce={"mean": ph.quantity("omega").mean("body")},
    ... )
    >>> found["mean"].shape
    (2, 3)
    """

    problem: Problem
    """What was asked, for one of the bodies."""
    plan: Plan | None
    """What was done, for one of the bodies; None: nothing yet."""
    stats: Stats
    """What it took for all bodies together."""
    t: Floats
    """The output times."""
    arrays: dict[str, Any]
    dims: dict[str, tuple[str, ...]]
    """The dimensions of each array, by its name."""
    about: dict[str, dict[str, Any]]
    """What each array is, by its name; quantiles over bodies have a `rank_error`, which is zero if they are exact, and
    histograms have their `edges` and the number of values `outside`."""
    levels: dict[tuple[str, str], tuple[float, ...]] = field(repr=False)
    """The levels of quantiles, by name and dimension."""
    count: int
    """The number of bodies that were reduced: all, unless the run was interrupted."""
    failed: int
    """The number of bodies that did not reach the end. They are left out where they have no values."""
    messages: dict[int, str] = field(default_factory=dict)
    """Why bodies failed, by their numbers, for the first thousand of them."""
    lanes: int = 1
    why_not_packed: str = ""
    seed: int | None = None

    def __getitem__(self, name: str) -> Any:
        if name not in self.arrays:
            none = "nothing: the run was stopped before the first batch of bodies was reduced"
            raise KeyError(f"{name!r}; there is {', '.join(self.arrays) or none}")
        return self.arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)

    def __repr__(self) -> str:
        t_start, t_end = self.problem.t_start, self.problem.t_end
        ended = f"all of which reached t = {t_end:.6g}" if not self.failed else f"of which {self.failed:,} failed"
        shapes = (
            f"  {name:<12}{dict(zip(self.dims[name], np.shape(x), strict=True)) or float(x)}"
            for name, x in self.items()
        )
        steps = "" if self.plan is None else self.plan.steps_in_words((t_end - t_start) * self.count, self.stats.steps)
        return "\n".join(
            [
                "Reduced",
                f"  bodies  {self.count:,}{f', {ended}' if self.count else ''}",
                f"  torque  {self.problem.torque.name}",
                *([] if self.plan is None else [f"  method  {self.plan.method.name}, {steps}"]),
                f"  time    {t_start:.6g} to {t_end:.6g} s, {self.t.size:,} rows",
                f"  steps   {self.stats.steps:,} of all bodies together",
                *shapes,
            ]
        )

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws the reductions that are over time; with a path the figure is saved there, too."""
        from polhode.plots.plot import finished
        from polhode.plots.plot_many import Drawable, draw

        title = f"{self.count:,} bodies, {self.problem.torque.name}"
        figure = draw({name: Drawable(*entry) for name, entry in self.table().items()}, title)
        if figure is None:
            raise ValueError(
                f"there is nothing over time to draw: {', '.join(self.arrays) or 'nothing'} has no time left"
            )
        return finished(figure, path)

    def to_xarray(self) -> Dataset:
        """Everything as an xarray Dataset, with units."""
        from polhode.files import netcdf

        variables = {name: netcdf.Variable(*entry) for name, entry in self.table().items()}
        made: Dataset = netcdf.dataset(variables, self._attributes())
        return made

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes what `to_xarray` holds to a NetCDF file, whole or not at all; single numbers become attributes."""
        from polhode.files import netcdf

        variables, single = dict[str, netcdf.Variable](), dict[str, str | float]()
        for name, (dims, data, about) in self.table().items():
            if data.ndim == 0:
                single[name] = float(data)
            else:
                numbers = data.astype(np.float64) if data.dtype.kind in "iub" else data
                variables[name] = netcdf.Variable(dims, numbers, about)
        netcdf.write(path, variables, self._attributes() | single, overwrite=overwrite)

    def table(self) -> dict[str, tuple[tuple[str, ...], Any, dict[str, Any]]]:
        """Dimensions, values and attributes, by name; a variable named like its dimension is a coordinate."""
        table: dict[str, tuple[tuple[str, ...], Any, dict[str, Any]]] = {}
        for name, data in self.arrays.items():
            named = {d: self._levels_named(name, d) if d in (OVER_TIME, OVER_BODIES) else d for d in self.dims[name]}
            table[name] = (tuple(named.values()), np.asarray(data), self.about[name])
            for given, dim in named.items():
                if dim == "time":
                    table[dim] = ((dim,), self.t, attributes_of(dim))
                elif dim.removeprefix("other_") in _LETTERS:
                    letters = _LETTERS[dim.removeprefix("other_")]
                    table[dim] = ((dim,), np.array(list(letters)), attributes_of(dim.removeprefix("other_")))
                elif dim == f"{name}_bin":
                    edges = np.array(self.about[name]["edges"])
                    table[dim] = ((dim,), 0.5 * (edges[:-1] + edges[1:]), {"long_name": "middle of the bin"})
                elif (name, given) in self.levels:
                    table[dim] = ((dim,), np.array(self.levels[name, given]), {"long_name": "quantile", "units": "1"})
        return table

    def _levels_named(self, name: str, dim: str) -> str:
        """The dimension of several quantiles: the same for all names, if their levels are the same."""
        all_levels = {levels for (_, d), levels in self.levels.items() if d == dim}
        return dim if len(all_levels) == 1 else _level_names(name)[dim == OVER_TIME]

    def _attributes(self) -> dict[str, str | float]:
        return {
            **({} if self.plan is None else {"method": self.plan.method.name, "step": self.plan.step}),
            "torque": self.problem.torque.name,
            "bodies": float(self.count), "failed": float(self.failed), **seed_attribute(self.seed),
        }  # fmt: skip


_LETTERS = {"component": "xyz", "quaternion_component": "wxyz"}
