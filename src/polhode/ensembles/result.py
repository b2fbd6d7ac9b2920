"""The result of an ensemble: the motions of many bodies at common times."""

from __future__ import annotations

import json
import math
import operator
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from polhode.attitudes import NAMES as ATTITUDE_NAMES
from polhode.attitudes import WithAttitudes, WithMomenta
from polhode.ensembles.initial import Start
from polhode.ensembles.record import (
    FORMAT,
    FORMAT_VERSION,
    array_of,
    is_kept,
    plan_record,
    read_plan,
    read_start,
    start_arrays,
    start_attributes,
    varied_fields,
    whole_numbers,
    with_functions,
)
from polhode.files.tables import Column, beside, columns_of, dataframe, write_csv, write_parquet
from polhode.kernels.states import STATE
from polhode.kernels.status import Status
from polhode.kernels.types import Depends
from polhode.problem import Plan, Problem, Stats
from polhode.run.tangents import Derivatives
from polhode.solution import (
    Solution,
    assemble,
    attributes_of,
    blaming_potential,
    known_potential,
    potentials,
    read_quantities,
    table_columns,
)
from polhode.support import checks
from polhode.support.arrays import Floats, dots, to_space
from polhode.torques import Torque

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame
    from scipy.spatial.transform import Rotation
    from xarray import Dataset

    from polhode.files.netcdf import Contents


Table = dict[str, tuple[tuple[str, ...], Any, dict[str, str]]]
"""Dimensions, values and attributes of arrays, by their names."""
MOST_MESSAGES = 1000
"""Failed bodies whose message is kept; the others have their status."""


class EnsembleInterrupted(KeyboardInterrupt):
    """The user stopped the run. `ensemble` holds everything up to the last step of every body.

    With `rtol` it holds the best rows so far; bodies that had not reached the tolerance have the status INTERRUPTED,
    even if they have all rows. With `reduce` it holds the reductions of all batches that were finished.

    Examples
    --------
    >>> def impatient(done, steps):
    ...     raise KeyboardInterrupt  # as Ctrl-C does
    ...
    >>> start = {"omega": [[0.1, 2, 0], [0, 0.1, 3]], "t_span": (0, 5), "method": "MR2", "step": 0.01}
    >>> try:
    ...     many = ph.ensemble(ph.Body([1, 2, 2.8]), **start, progress=impatient)
    ... except ph.EnsembleInterrupted as stopped:
    ...     many = stopped.ensemble
    ...
    >>> len(many)
    2
    """

    keeps = "ensemble"

    def __init__(self, ensemble: Any) -> None:
        nothing = getattr(ensemble, "count", None) == 0  # of reductions
        fate = " before the first batch of bodies was reduced" if nothing else "; what was computed is in the ensemble"
        super().__init__(f"interrupted{fate}")
        self.ensemble = ensemble

    def __reduce__(self) -> tuple[type[EnsembleInterrupted], tuple[Any]]:
        """For pickle, which would call the class with the message: exceptions travel between processes."""
        return type(self), (self.ensemble,)


@dataclass(frozen=True, eq=False)
class EventRows:
    """The rows at which an event happened, of all bodies: body after body, and for each in the order of its motion."""

    name: str
    body: Any
    """(rows,): the number of the body."""
    t: Floats
    """(rows,): the times."""
    quaternion: Floats
    """(rows, 4), scalar first."""
    momentum: Floats
    """(rows, 3), in body axes, kg m^2/s."""
    bodies: int = field(repr=False)
    """The number of bodies of the ensemble."""
    state: Floats = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    """(rows, numbers): what the torque carries."""

    @cached_property
    def count(self) -> Any:
        """(bodies,): how often it happened to each body."""
        return np.bincount(self.body, minlength=self.bodies)

    @cached_property
    def first(self) -> Floats:
        """(bodies,): when it first happened to each body; NaN: never."""
        times = np.full(self.bodies, np.nan)
        times[self.body[::-1]] = self.t[::-1]
        return times

    def of(self, k: int) -> slice:
        """The rows of one body."""
        first, beyond = np.searchsorted(self.body, [k, k + 1]).tolist()
        return slice(first, beyond)


@dataclass(frozen=True, eq=False)
class Ensemble(WithAttitudes, WithMomenta):
    """The motions of many bodies, at common times: arrays have a first axis for the body, a second for the time.

    `ensemble[k]` is the `Solution` of body k, with everything that a solution has.

    Examples
    --------
    >>> rates = [[0.1, 2, 0], [0, 0.1, 3]]
    >>> many = ph.ensemble(ph.Body([1, 2, 2.8]), omega=rates, t_span=(0, 5), method="MR2", step=0.1)
    >>> many.omega.shape
    (2, 2, 3)
    >>> many[1].omega[-1].round(3)
    array([-0.02 ,  0.098,  3.   ])
    """

    problem: Problem
    """What was asked, for one of the bodies."""
    plan: Plan
    """What was done, for one of the bodies."""
    stats: Stats
    """What it took for all bodies together."""
    t: Floats
    quaternion: Floats
    """(bodies, times, 4), scalar first; NaN from the time on at which a body failed."""
    momentum: Floats
    """(bodies, times, 3), in body axes, kg m^2/s."""
    status: Any
    """(bodies,): 0 where the end was reached, and nothing was left to be done for a tolerance."""
    t_last: Floats
    """(bodies,): the last time that was reached."""
    steps: Any
    evaluations: Any
    """(bodies,): the number of torque evaluations."""
    last_quaternion: Floats
    last_momentum: Floats
    memory: Floats = field(repr=False)
    """(bodies, numbers): what the method carries from step to step, at the end; `resume` goes on with it."""
    messages: dict[int, str] = field(repr=False)
    """Why bodies failed, by their numbers."""
    start: Start = field(repr=False)
    rows: Any = field(repr=False)
    lanes: int = 1
    """How many bodies were computed at a time, in the vector registers; it changes nothing but the speed."""
    why_not_packed: str = ""
    """Why the torque, or with one lane the whole step, was computed for one body after the other."""
    error_estimate: Floats | None = None
    """(bodies,), where a tolerance was asked for: the estimate as in a `Solution`; NaN where it is not known."""
    plans: tuple[Plan, ...] = field(default=(), repr=False)
    """The plans that bodies have their rows from, where a tolerance was asked for."""
    plan_number: Any = field(default=None, repr=False)
    """(bodies,), where a tolerance was asked for: the place in `plans` of the plan that a body has its rows from."""
    seed: int | None = None
    """The seed by which bodies were drawn; None: nothing was drawn."""
    events: tuple[EventRows, ...] = ()
    """Where each event happened, of all bodies."""
    state: Floats = field(default_factory=lambda: np.empty((0, 0, 0)), repr=False)
    """(bodies, times, numbers): what the torque carries; `state_names` has the names."""
    last_state: Floats = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    stopped_by: Any = field(default=None, repr=False)
    """(bodies,), with events: the number of the terminal event that ended a motion; -1 where none did."""
    saved_potential: Floats | None = field(default=None, repr=False)
    """(bodies, 1 + times): the potential energy at the start and in each row, for an ensemble from a file without the
    function of its torque."""
    derivatives: tuple[Derivatives | None, ...] = field(default=(), repr=False)
    """How each motion changes with what it was given, where `derivatives=` was asked for; None: it failed. Files do not
    keep it."""

    def __len__(self) -> int:
        return len(self.status)

    @property
    def state_names(self) -> tuple[str, ...]:
        """The names of the numbers that the torque carries."""
        return self.problem.torque.state_names

    @property
    def jacobian(self) -> Floats:
        """(bodies, times, 6, columns): the `jacobian` of each solution; NaN for bodies that failed."""
        known = next((d for d in self.derivatives if d is not None), None)
        if known is None:
            raise ValueError("this ensemble has no Jacobians: ask for them with the run, by derivatives=")
        nothing = np.full(known.jacobian.shape, np.nan)
        return np.array([nothing if d is None else d.jacobian for d in self.derivatives])

    @cached_property
    def omega(self) -> Floats:
        """(bodies, times, 3): angular velocity in body axes, rad/s."""
        return self.start.bodies.rates(self.momentum, self.t)

    @cached_property
    def attitude(self) -> Rotation:
        """All rotations from body to space axes, body after body: `len(ensemble) * t.size` of them."""
        from scipy.spatial.transform import Rotation

        return Rotation.from_quat(self.quaternion.reshape(-1, 4), scalar_first=True)

    # --- what follows from the states, as in a solution

    @cached_property
    def kinetic_energy(self) -> Floats:
        """(bodies, times): kinetic energy, in J."""
        return 0.5 * dots(self.omega, self.start.bodies.own_momentum(self.momentum))

    @cached_property
    def potential_energy(self) -> Floats:
        """(bodies, times): potential energy, in J; NaN where the torque has no potential."""
        if self.saved_potential is not None:
            return self.saved_potential[:, 1:]
        return self._potential(self.t, self.quaternion)

    def _potential_at_start(self) -> Floats:
        """The potential energy at the start, (bodies, 1)."""
        if self.saved_potential is not None:
            return self.saved_potential[:, :1]
        return self._potential(np.array([self.problem.t_start]), self.start.quaternion[:, None, :])

    @property
    def _has_potential(self) -> bool:
        """Whether the potential energy is known."""
        return self.saved_potential is not None or self.problem.torque.potential_kernel is not None

    @cached_property
    def energy_error(self) -> Floats:
        """(bodies, times): relative change of the energy since the start, for torques that conserve it."""
        if why := unavailable("energy_error", self.problem.torque):
            raise AttributeError(why)
        start = self.start
        if start.bodies.changes:
            raise AttributeError("energy_error: the bodies change with time, and their energy with them")
        with np.errstate(over="ignore", invalid="ignore"):  # bodies that blew up may be near the largest number
            bodies, m_start = self.start.bodies, start.momentum[:, None, :]
            kinetic_start = 0.5 * dots(bodies.rates(m_start), bodies.own_momentum(m_start))
            potential_start = self._potential_at_start()
            scale = _scale(kinetic_start + np.abs(potential_start), self.kinetic_energy)
            change = (self.kinetic_energy - kinetic_start) + (self.potential_energy - potential_start)
            return np.abs(change) / scale

    @cached_property
    def momentum_error(self) -> Floats:
        """(bodies, times): relative change of the conserved part of the spatial momentum, as in a solution."""
        if why := unavailable("momentum_error", self.problem.torque):
            raise AttributeError(why)
        m_start = self.start.momentum[:, None, :]
        with np.errstate(over="ignore", invalid="ignore"):
            change = self.spatial_momentum - to_space(self.start.quaternion[:, None, :], m_start)
            along = self.problem.torque.axis if self.problem.torque.depends is not Depends.NOTHING else None
            if along is None:
                size = np.sqrt(dots(change, change))
            else:
                x, y, z = along
                size = np.abs(change[..., 0] * x + change[..., 1] * y + change[..., 2] * z)
            lengths = np.sqrt(dots(self.momentum, self.momentum))
            return np.asarray(size / _scale(np.sqrt(dots(m_start, m_start)), lengths))

    def _potential(self, t: Floats, q: Floats) -> Floats:
        """The potential energy at attitudes (bodies, times, 4); NaN where these are."""
        unknown = np.isnan(q[..., 0])
        known = np.where(unknown[..., None], self.start.quaternion[:, None, :], q)
        with blaming_potential(self.problem.torque.name):
            return np.where(unknown, np.nan, potentials(self.problem.torque, self.start.parameters, t, known))

    def each(self, name: str) -> Floats:
        """An array of every body's solution, such as "energy_error", stacked; NaN where a body had failed.

        Names that the ensemble has itself cost little; any other is read from one solution after the other.
        """
        if name in TIMED:
            return np.asarray(getattr(self, name))
        first = np.asarray(getattr(self[0], name))
        out = np.full((len(self), self.t.size, *first.shape[1:]), np.nan)
        for k, solution in enumerate(self):
            out[k, : solution.t.size] = getattr(solution, name)
        return out

    def __iter__(self) -> Iterator[Solution]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, k: SupportsIndex) -> Solution:
        try:
            k = operator.index(k)
        except TypeError:
            raise TypeError(
                f"ensemble[k] is the solution of one body, so that k is a whole number, not {k!r}"
            ) from None
        n = len(self)
        if not -n <= k < n:
            raise IndexError(f"there is no body {k}: they are numbered from 0 to {n - 1}")
        k %= n
        plan = self.plans[int(self.plan_number[k])] if self.plans else self.plan
        stats = Stats(int(self.steps[k]), int(self.evaluations[k]), self.stats.seconds / n)
        rows = int(self.rows[k])
        reached = f"reached t = {self.t_last[k]:.12g} in {stats.steps} steps"
        failed = f"stopped at t = {self.t_last[k]:.12g}, with the status {self.status[k]}"
        stop = -1 if self.stopped_by is None else int(self.stopped_by[k])
        if stop >= 0:
            name, when = self.events[stop].name, float(self.t_last[k])
            reached = f"stopped by the event {name} at t = {when:.12g}, in {stats.steps} steps"
        message = self.messages.get(k, reached if self.status[k] == Status.OK else failed)
        estimate = math.nan if self.error_estimate is None else float(self.error_estimate[k])
        one = assemble(
            self.start.problem(k, self.problem), plan, stats,
            (self.t[:rows].copy(), self.quaternion[k, :rows], self.momentum[k, :rows], self.state[k, :rows]),
            (float(self.t_last[k]), self.last_quaternion[k], self.last_momentum[k], self.last_state[k]),
            Status(int(self.status[k])), message, tuple(self.memory[k].tolist()) if stats.steps and stop < 0 else (),
            error_estimate=None if math.isnan(estimate) else estimate,
            saved_potential=None if self.saved_potential is None else self.saved_potential[k, : rows + 1],
        )  # fmt: skip
        if self.derivatives:
            one = one.having(derivatives=self.derivatives[k])
        return replace(one, events=tuple(self._event_of(one, e, e.of(k)) for e in self.events)) if self.events else one

    def _event_of(self, one: Solution, event: EventRows, rows: slice) -> Solution:
        """Where an event happened to one body."""
        q, m = event.quaternion[rows], event.momentum[rows]
        at: dict[str, Any] = {"t": event.t[rows], "quaternion": q, "momentum": m, "state": event.state[rows]}
        if one.saved_potential is not None:  # of events, files have none
            at["saved_potential"] = np.append(one.saved_potential[:1], np.full(len(q), np.nan))
        return replace(one, **at, metadata={"event": event.name})

    def __repr__(self) -> str:
        problem, bad = self.problem, int((~self.success).sum())
        stopped = int((self.status == Status.INTERRUPTED).sum())
        end = f"reached t = {problem.t_end:.6g}"
        also = f", and {stopped:,} were interrupted" if stopped else ""
        ended = f"of which {len(self) - bad:,} {end}{also}: see messages for others" if bad else f"all {end}"
        if self.stopped_by is not None and (early := int((self.stopped_by >= 0).sum())):
            ended = f"of which {early:,} were stopped by events" + (f", and {bad:,} failed{also}" if bad else "")
        return "\n".join(
            [
                "Ensemble",
                f"  bodies  {len(self):,}, {ended}",
                f"  torque  {problem.torque.name}",
                f"  method  {self.plan.method.name}, {self._step_in_words()}",
                f"  time    {problem.t_start:.6g} to {problem.t_end:.6g} s in {self._steps_in_words()} and "
                f"{self.t.size:,} rows a body",
                f"  lanes   {self.lanes}{', the torque one by one' if self.why_not_packed and self.lanes > 1 else ''}",
                *(f"  event   {e.name}, {e.t.size:,} times, of {(e.count > 0).sum():,} bodies" for e in self.events),
            ]
        )

    def _steps_in_words(self) -> str:
        """How many steps the bodies made; with `rtol` those of all tries are together in `stats`."""
        if not len(self):
            return "no steps"
        least, most = int(self.steps.min()), int(self.steps.max())
        return f"{least:,} steps" if least == most else f"{least:,} to {most:,} steps"

    def _step_in_words(self) -> str:
        if self.error_estimate is None:
            return self.plan.steps_in_words(float((self.t_last - self.problem.t_start).sum()), int(self.steps.sum()))
        known = self.error_estimate[np.isfinite(self.error_estimate)]
        worst = f"errors at most {known.max():.1e}" if known.size else "errors not known"
        there = self.success | (self.status == Status.INTERRUPTED)
        if known.size and (unknown := int((there & np.isnan(self.error_estimate)).sum())):
            worst += f", not known for {unknown:,}"
        steps = sorted({abs(plan.step) for plan in self.plans})
        return f"step {' to '.join(f'{h:.6g}' for h in sorted({steps[0], steps[-1]}))} s, {worst}"

    def plot(
        self, *what: Any, path: str | os.PathLike[str] | None = None, quantiles: Any = None, ax: Axes | None = None
    ) -> Figure:
        """Draws quantities over time as median and bands over bodies; by default rates, energy and attitude.

        `what` are names as `quantity` has them, such as "momentum", "energy_error" or "pointing_angle_deg(z, [0, 0,
        1])", or functions of the ensemble that return (bodies, times) or (bodies, times, components). `quantiles` are
        numbers between 0 and 1 that rise; the middle one is a line, and the others are bands about it: by default 0.05,
        0.25, 0.5, 0.75 and 0.95. With `ax` one quantity is drawn on axes of your own. A path, which may come first,
        saves the figure, too.

        Examples
        --------
        >>> many = ph.ensemble(
        ...     ph.Body([1, 2, 2.8]), omega=ph.samples.Normal([0, 2, 0], 0.1), count=8, seed=1, t_span=(0, 1),
        ...     method="MR2", step=0.1, every=1,
        ... )
        >>> figure = many.plot("omega", "pointing_angle_deg(y, [0, 1, 0])", quantiles=[0.1, 0.5, 0.9])
        """
        from polhode.plots.plot import finished, path_first, save
        from polhode.plots.plot_many import LEVELS, Drawable, draw

        path, asked = path_first(what, path)
        if ax is not None and len(asked) != 1:
            raise ValueError(f"axes take one quantity, such as plot('omega', ax=ax), not {what!r}")
        levels = LEVELS if quantiles is None else tuple(checks.row("quantiles", quantiles).tolist())
        if len(levels) % 2 == 0 or min(levels) < 0.0 or max(levels) > 1.0 or any(np.diff(levels) <= 0.0):
            raise ValueError(
                f"quantiles must be an odd number of numbers from 0 to 1 that rise, as 0.1, 0.5, 0.9, not {quantiles!r}"
            )
        named = dict(map(self._over_time, asked))
        table = {name: Drawable(*entry) for name, entry in (self.table() | named).items()}
        figure = draw(table, self._title(), list(named), levels, ax)
        if figure is None:
            raise ValueError("there are no rows to draw")
        if ax is not None:
            if path is not None:
                save(figure, path)
            return figure
        return finished(figure, path)

    def _over_time(self, what: Any) -> tuple[str, tuple[tuple[str, ...], Any, dict[str, str]]]:
        """The name of a quantity, and it as tables have it."""
        rows = ("body", "time")
        if callable(what):
            name, values = str(getattr(what, "__name__", what)), np.asarray(what(self), dtype=np.float64)
            if values.shape[:2] != (len(self), self.t.size) or values.ndim > 3:
                raise ValueError(
                    f"{name} must return an array (bodies, times) or (bodies, times, components), not {values.shape}"
                )
            return name, ((*rows, *(["component"] if values.ndim == 3 else [])), values, {})
        if isinstance(what, str) and what in TIMED:
            if why := unavailable(what, self.problem.torque):
                raise ValueError(f"there is nothing to draw: {why}")
            return what, ((*rows, *([TIMED[what]] if TIMED[what] else [])), self.each(what), attributes_of(what))
        if str(what).partition("(")[0].strip() not in ATTITUDE_NAMES:
            checks.choice("quantity", str(what), (*TIMED, *ATTITUDE_NAMES))
        quantity = read_quantities(what)[0]
        return str(quantity), ((*rows, *quantity.dimensions), quantity(self), quantity.attributes)

    def _title(self) -> str:
        return f"{len(self):,} bodies, {self.problem.torque.name}, {self.plan.method.name}"

    def to_xarray(self, *, quantities: str | Sequence[str] = ()) -> Dataset:
        """Everything as an xarray Dataset with the dimensions body, time and component, with units.

        It has the `quantities` as well, under the names by which they are asked for, as `Solution.to_xarray`.
        """
        from polhode.files import netcdf

        variables = {name: netcdf.Variable(*entry) for name, entry in self.table().items()}
        for x in read_quantities(quantities):
            variables[str(x)] = netcdf.Variable(("body", "time", *x.dimensions), x(self), x.attributes)
        made: Dataset = netcdf.dataset(variables, self._about())
        return made

    # --- tables

    def to_dataframe(self, *, quantities: str | Sequence[str] = ()) -> DataFrame:
        """All motions as a pandas DataFrame with one row for each body and time, body after body.

        The columns are those of `Solution.to_dataframe`, with the number of the body before them. Where a body had
        failed they are NaN. `bodies_to_dataframe` has one row for each body.
        """
        return dataframe(self._columns(quantities), self._about())

    def bodies_to_dataframe(self) -> DataFrame:
        """The bodies as a pandas DataFrame with one row for each: how it was made, and how it ended.

        It has the full inertia tensor, the rotor, the parameters that were drawn or differ, the state at the start,
        and for each event how often and when it first happened. `df.attrs` has `units` and `long_names`, by column.
        """
        return dataframe(self._body_columns(), self._about())

    def to_csv(
        self, path: str | os.PathLike[str], *, quantities: str | Sequence[str] = (), units: bool = False,
        overwrite: bool = False,
    ) -> None:  # fmt: skip
        """Writes two CSV files: the table of `to_dataframe`, and that of the bodies, with `-bodies` behind its name.

        Each appears whole or not at all. With `units=True` the headings have units, as in "omega_x (rad s-1)".
        """
        self._check_names(path, overwrite)
        write_csv(beside(path, "bodies"), self._body_columns(), units=units, overwrite=overwrite)
        write_csv(path, self._columns(quantities), units=units, overwrite=overwrite)

    def to_parquet(
        self, path: str | os.PathLike[str], *, quantities: str | Sequence[str] = (), overwrite: bool = False
    ) -> None:  # fmt: skip
        """Writes two Parquet files, as `to_csv` does. It needs pyarrow: `pip install 'polhode[tables]'`."""
        self._check_names(path, overwrite)
        write_parquet(beside(path, "bodies"), self._body_columns(), self._about(), overwrite=overwrite)
        write_parquet(path, self._columns(quantities), self._about(), overwrite=overwrite)

    def _check_names(self, path: str | os.PathLike[str], overwrite: bool) -> None:
        """Raises FileExistsError before the first of two files is written if the second could not be."""
        if not overwrite and os.path.lexists(path):
            raise FileExistsError(f"{path} exists already: choose another name, or pass overwrite=True")

    def _columns(self, quantities: str | Sequence[str]) -> list[Column]:
        """The columns of tables with one row for each body and time."""
        n, times = len(self), self.t.size
        names = ["quaternion", "omega", "momentum", "spatial_omega", "spatial_momentum", "kinetic_energy"]
        names += ["potential_energy", "energy"] if self._has_potential else []
        known = (k for k in ("energy_error", "momentum_error") if not unavailable(k, self.problem.torque))
        rows: dict[str, Any] = {"time": np.tile(self.t, n)}
        for name in (*names, *known):
            data = np.asarray(getattr(self, name))
            rows[name] = data.reshape(n * times, *data.shape[2:])
        state = self.state.reshape(n * times, -1) if self.state_names else np.empty((n * times, 0))
        found = table_columns(
            rows, self.state_names, state, read_quantities(quantities), self.quaternion.reshape(-1, 4)
        )
        return [Column("body", np.repeat(np.arange(n), times), "number of the body", "1"), *found]

    def _body_columns(self) -> list[Column]:
        """The columns of a table with one row for each body."""
        n, arrays = len(self), start_arrays(self.start)
        found = [Column("body", np.arange(n), "number of the body", "1")]
        for name, (dims, data, about) in arrays.items():
            if name == "inertia":
                for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
                    letters = "xyz"[i] + "xyz"[j]
                    found += columns_of(f"inertia_{letters}", data[:, i, j], "", about)
            elif name == "state_start":
                found += [Column(f"{z}_start", data[:, k], about["long_name"]) for k, z in enumerate(self.state_names)]
            else:
                letters = {"component": "xyz", "quaternion_component": "wxyz"}.get(dims[1], "")
                parts = list(letters) or [str(k) for k in range(data.shape[1])]
                found += columns_of(name, data, parts, about)
        for name, data in varied_fields(self.start.torques).items():
            parts = [] if data.ndim == 1 else [str(k) for k in range(data.shape[1])]
            found += columns_of(f"torque_{name}", data, parts, {"long_name": f"{name} of the torque"})
        for name, (dims, data, about) in self.table().items():
            if dims == ("body",):
                found += columns_of(name, data, "", about)
        found.append(Column("steps", self.steps, "number of steps", "1"))
        for event in self.events:
            found.append(Column(f"{event.name}_count", event.count, f"how often {event.name} happened", "1"))
            found.append(Column(f"{event.name}_first", event.first, f"when {event.name} first happened", "s"))
        if self.messages:
            texts = np.array([self.messages.get(k, "") for k in range(n)])
            found.append(Column("message", texts, "why a body failed"))
        return found

    # --- files

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes a NetCDF file from which `polhode.load` makes the same ensemble, and which xarray can open.

        The file appears whole or not at all. It has what `to_xarray` holds, and all that was drawn: inertia tensors,
        rotors, parameters and states at the start. Of a torque of your own it keeps the numbers, and the potential
        energies, but not the function.
        """
        from polhode.files import netcdf

        variables = {
            name: netcdf.Variable(dimensions, data.astype(np.float64) if data.dtype.kind in "iu" else data, about)
            for name, (dimensions, data, about) in (self.table() | self._more_arrays()).items()
        }
        about = {"format": FORMAT, "format_version": FORMAT_VERSION, **self._about(), **self._more_about()}
        netcdf.write(path, variables, about, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, torque: Torque | None = None) -> Ensemble:
        """Reads an ensemble from a file that `save` wrote: see `polhode.load`."""
        from polhode.files import netcdf

        return ensemble_of(path, netcdf.read(path, ENSEMBLE_ARRAYS), torque)

    def _more_arrays(self) -> Table:
        """What a file needs besides the table, so that the same ensemble can be made of it."""
        each = ("body",)
        found: Table = {
            "rows": (each, self.rows, {"long_name": "number of rows before a body failed"}),
            "steps": (each, self.steps, {"long_name": "number of steps"}),
            "evaluations": (each, self.evaluations, {"long_name": "number of torque evaluations"}),
            "last_quaternion": ((*each, "quaternion_component"), self.last_quaternion, {"long_name": "last attitude"}),
            "last_momentum": (
                (*each, "component"), self.last_momentum, {"long_name": "last angular momentum", "units": "kg m2 s-1"},
            ),
        }  # fmt: skip
        if self.memory.size:
            about = {"long_name": "what the method carries from step to step"}
            found["memory"] = ((*each, "memory_number"), self.memory, about)
        if self.state_names:
            about = {"long_name": "last numbers that the torque carries"}
            found["last_state"] = ((*each, "state_name"), self.last_state, about)
        if self.plan_number is not None:
            found["plan_number"] = (each, self.plan_number, {"long_name": "number of the plan in the attribute plans"})
        potential = self.saved_potential
        if potential is None and self._has_potential and not is_kept(self.start.torque(0), self.start.bodies[0]):
            made = known_potential(
                self.problem.torque, lambda: np.concatenate([self._potential_at_start(), self.potential_energy], axis=1)
            )
            potential = np.full((len(self), 1 + self.t.size), np.nan) if made is None else made
        if potential is not None:
            found["potential_start"] = (each, potential[:, 0], {"long_name": "potential energy at the start"})
            found["potential_energy"] = (("body", "time"), potential[:, 1:], attributes_of("potential_energy"))
        return found

    def _more_about(self) -> dict[str, Any]:
        """The attributes that a file needs besides those of the table."""
        problem, stats = self.problem, self.stats
        about = {
            "t_start": problem.t_start, "t_end": problem.t_end,
            "plan": json.dumps(plan_record(self.plan)), "plans": json.dumps([plan_record(p) for p in self.plans]),
            "messages": json.dumps({str(k): text for k, text in self.messages.items()}),
            "steps_of_all": stats.steps, "nfev_of_all": stats.nfev, "seconds": stats.seconds,
            "lanes": self.lanes, "why_not_packed": self.why_not_packed, **start_attributes(self.start),
        }  # fmt: skip
        return about | ({} if problem.every is None else {"every": problem.every})

    def table(self) -> Table:
        """Dimensions, values and attributes of what is written to files and tables, by name."""
        vectors, rows = ("body", "time", "component"), ("body", "time")
        moments = np.broadcast_to(self.start.bodies.moments, (len(self), 3))
        found: Table = {
            **_known("time", ("time",), self.t),
            **_known("component", ("component",), np.array(["x", "y", "z"])),
            **_known("quaternion_component", ("quaternion_component",), np.array(["w", "x", "y", "z"])),
            "moments": (("body", "axis"), moments, {"long_name": "principal moments of inertia", "units": "kg m2"}),
            **start_arrays(self.start),
            **_known("quaternion", (*rows, "quaternion_component"), self.quaternion),
            **_known("momentum", vectors, self.momentum),
            **_known("omega", vectors, self.omega),
            **_known("kinetic_energy", rows, self.kinetic_energy),
            "status": (("body",), self.status, {"long_name": "0: the end was reached"}),
            "t_last": (("body",), self.t_last, {"long_name": "last time that was reached", "units": "s"}),
        }
        if self.stopped_by is not None:
            about = {"long_name": "number of the terminal event that ended a motion; -1: none"}
            found["stopped_by"] = (("body",), self.stopped_by, about)
        if self.state_names:
            found |= _known("state_name", ("state_name",), np.array(self.state_names))
            found |= _known("state", (*rows, "state_name"), self.state)
        if self.error_estimate is not None:
            about = {"long_name": "estimate of the largest error", "units": "1"}
            found["error_estimate"] = (("body",), self.error_estimate, about)
        return found | self._event_table()

    def _event_table(self) -> Table:
        """The rows of all events, one event after the other; nothing if no event happened."""
        rows = [e.t.size for e in self.events]
        if not sum(rows):
            return {}

        def joined(name: str) -> Any:
            return np.concatenate([getattr(e, name) for e in self.events])

        at = ("event",)
        return {
            **(_known("event_state", (*at, "state_name"), joined("state")) if self.state_names else {}),
            **_known("event_number", at, np.repeat(np.arange(len(rows)), rows)),
            "event_body": (at, joined("body"), {"long_name": "number of the body", "units": "1"}),
            **_known("event_time", at, joined("t")),
            **_known("event_quaternion", (*at, "quaternion_component"), joined("quaternion")),
            **_known("event_momentum", (*at, "component"), joined("momentum")),
        }

    def _about(self) -> dict[str, str | float]:
        plan, torque = self.plan, self.problem.torque
        about = {"method": plan.method.name, "torque": torque.name, "step": plan.step, **seed_attribute(self.seed)}
        if self.events:
            about["events"] = json.dumps([e.name for e in self.events])
        return about


def _known(name: str, dimensions: tuple[str, ...], data: Any) -> Table:
    """An array whose long name and unit are those of all files."""
    return {name: (dimensions, data, attributes_of(name))}


ENSEMBLE_ARRAYS = (
    "time", "quaternion", "momentum", "status", "t_last", "error_estimate", "stopped_by", "inertia", "rotor",
    "parameters", "quaternion_start", "omega_start", "state_start", "state", "rows", "steps", "evaluations",
    "last_quaternion", "last_momentum", "last_state", "memory", "plan_number", "potential_start", "potential_energy",
    "event_number", "event_body", "event_time", "event_quaternion", "event_momentum", "event_state",
)  # fmt: skip
"""The arrays that an ensemble is made of again."""


def ensemble_of(path: str | os.PathLike[str], contents: Contents, torque: Torque | None) -> Ensemble:
    """The ensemble that a file holds; `path` is for messages."""
    with contents.checked(path, FORMAT, FORMAT_VERSION):
        made = _rebuilt(contents)
    if torque is None:
        return made
    problem = made.problem
    try:
        start = with_functions(made.start, torque, (problem.t_start, problem.t_end))
    except ValueError as why:
        raise ValueError(f"{path}: {why}") from None
    return replace(made, start=start, problem=start.problem(0, problem))


def _rebuilt(contents: Contents) -> Ensemble:
    a: dict[str, Any] = contents.attributes
    arrays = contents.variables
    n, t = arrays["status"].data.size, arrays["time"].data
    t_span = float(a["t_start"]), float(a["t_end"])
    start = read_start(contents, n, t_span)
    every = int(a["every"]) if "every" in a else None
    problem = Problem(
        start.bodies[0], start.torque(0), start.quaternion[0], start.momentum[0], *t_span,
        array_of(contents, "time", (t.size,)) if every is None else None, every,
        start.rates[0], start.state[0],
    )  # fmt: skip
    carried = len(problem.torque.state_names)

    def optional(name: str, *shape: int) -> Any:
        return array_of(contents, name, (n, *shape)) if name in arrays else None

    whole = {name: whole_numbers(contents, name, n) for name in ("status", "steps", "evaluations", "rows")}
    rows = whole["rows"]
    if ((rows < 0) | (rows > t.size)).any():
        raise ValueError("rows has numbers of rows that are not there")
    for number in np.unique(whole["status"]).tolist():
        Status(number)
    plans = tuple(map(read_plan, json.loads(str(a["plans"]))))
    numbers = whole_numbers(contents, "plan_number", n) if "plan_number" in arrays else None
    if numbers is not None and ((numbers < 0) | (numbers >= len(plans))).any():
        raise ValueError("plan_number has numbers of plans that are not there")
    memory = arrays["memory"].data if "memory" in arrays else np.empty((n, 0))
    at_start, potential = optional("potential_start"), optional("potential_energy", t.size)
    names = [str(name) for name in json.loads(str(a.get("events", "[]")))]
    return Ensemble(
        problem, read_plan(json.loads(str(a["plan"]))),
        Stats(int(a["steps_of_all"]), int(a["nfev_of_all"]), float(a["seconds"])), t,
        array_of(contents, "quaternion", (n, t.size, 4)), array_of(contents, "momentum", (n, t.size, 3)),
        whole["status"], array_of(contents, "t_last", (n,)), whole["steps"], whole["evaluations"],
        array_of(contents, "last_quaternion", (n, 4)), array_of(contents, "last_momentum", (n, 3)), memory,
        {int(k): str(text) for k, text in json.loads(str(a["messages"])).items()}, start, rows, int(a["lanes"]),
        str(a["why_not_packed"]), optional("error_estimate"), plans, numbers,
        int(a["seed"]) if "seed" in a else None, _events_of(contents, names, n, carried),
        array_of(contents, "state", (n, t.size, carried)) if carried else np.empty((n, t.size, 0)),
        array_of(contents, "last_state", (n, carried)) if carried else np.empty((n, 0)),
        whole_numbers(contents, "stopped_by", n) if "stopped_by" in arrays else None,
        None if at_start is None or potential is None else np.concatenate([at_start[:, None], potential], axis=1),
    )  # fmt: skip


def _events_of(contents: Contents, names: Sequence[str], bodies: int, carried: int) -> tuple[EventRows, ...]:
    """The events of an ensemble, as its file has them."""
    size = contents.variables["event_time"].data.size if "event_time" in contents.variables else 0

    def rows(name: str, *shape: int) -> Floats:
        return array_of(contents, f"event_{name}", (size, *shape)) if size else np.empty((0, *shape))

    number, body = (rows(name).astype(np.int64) for name in ("number", "body"))
    if not (np.isin(number, np.arange(len(names))).all() and np.isin(body, np.arange(bodies)).all()):
        raise ValueError("events have numbers of events or of bodies that are not there")
    t, q, m = rows("time"), rows("quaternion", 4), rows("momentum", 3)
    z = rows("state", carried) if carried else np.empty((size, 0))
    return tuple(
        EventRows(name, body[here], t[here], q[here], m[here], bodies, z[here])
        for k, name in enumerate(names)
        for here in [number == k]
    )


def seed_attribute(seed: int | None) -> dict[str, str | float]:
    """The seed as an attribute of a file: a float, or its digits where a float cannot hold it."""
    if seed is None:
        return {}
    return {"seed": float(seed) if seed <= 2**53 else str(seed)}


def of_one(solution: Solution, start: Start, t: Floats) -> Ensemble:
    """An ensemble of one body, from its solution at these times."""
    width = STATE + len(solution.state_names)
    states = np.full((t.size, width), np.nan)
    rows = min(solution.t.size, t.size)
    states[:rows, :4], states[:rows, 4:STATE] = solution.quaternion[:rows], solution.momentum[:rows]
    if solution.state_names:
        states[:rows, STATE:] = solution.state[:rows]
    estimate = math.nan if solution.error_estimate is None else solution.error_estimate
    return Ensemble(
        solution.problem, solution.plan, solution.stats, t.copy(), states[None, :, :4], states[None, :, 4:STATE],
        np.array([solution.status]),
        np.array([solution.t_last]), np.array([solution.stats.steps]), np.array([solution.nfev]),
        solution.last_quaternion[None], solution.last_momentum[None], np.array([solution.memory]),
        {0: solution.message}, start, np.array([rows]), error_estimate=np.array([estimate]), plans=(solution.plan,),
        plan_number=np.zeros(1, dtype=np.int64), state=states[None, :, STATE:], last_state=solution.last_state[None],
    )  # fmt: skip


TIMED = {
    "quaternion": "quaternion_component",
    "momentum": "component",
    "omega": "component",
    "spatial_momentum": "component",
    "spatial_omega": "component",
    "kinetic_energy": "",
    "potential_energy": "",
    "energy": "",
    "energy_error": "",
    "momentum_error": "",
    "state": "state_name",
}
"""The quantities that every body has at every time, with the dimension of their components."""


def unavailable(name: str, torque: Torque) -> str:
    """Why there is no such quantity under a torque; an empty text if there is one."""
    if name == "energy_error" and not torque.conserves_energy:
        return f"{torque.name} does not conserve the energy, so there is no error to speak of"
    if name == "momentum_error" and torque.depends is not Depends.NOTHING and torque.axis is None:
        return f"{torque.name} conserves no part of the spatial momentum, so there is no error to speak of"
    if name == "state" and not torque.state_names:
        return f"{torque.name} carries no numbers"
    if name in ("potential_energy", "energy") and torque.potential_kernel is None:
        return f"{torque.name} has no potential"
    return ""


def _scale(at_start: Floats, along: Floats) -> Floats:
    """What errors are relative to: the size at the start, or the largest one if that is zero."""
    largest = np.fmax.reduce(along, axis=1, initial=0.0)[:, None]
    return np.where(at_start > 0, at_start, np.where(largest > 0, largest, 1.0))
