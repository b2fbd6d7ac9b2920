"""What a run leaves: times, states, how it ended, and everything that follows from them."""

from __future__ import annotations

import dataclasses
import html
import json
import math
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from polhode.attitudes import AttitudeQuantity, WithAttitudes, WithMomenta
from polhode.body import Body
from polhode.compiler import KernelRaised, all_rows_at_once, program
from polhode.files.records import (
    describe_torque,
    is_own,
    is_same_torque,
    read_method,
    read_torque,
    torque_record,
)
from polhode.files.tables import Column, columns_of, dataframe, without_repetition, write_csv, write_parquet
from polhode.kernels.algebra.quat import to_space as rotated
from polhode.kernels.algebra.vec import dot
from polhode.kernels.algebra.vector_table import tables_in
from polhode.kernels.loop.drive import potential_of_many, torque_rows
from polhode.kernels.ops import read_only
from polhode.kernels.status import Status
from polhode.kernels.types import Depends
from polhode.methods import Method
from polhode.plots.turning import Turning
from polhode.problem import NO_STATE, Plan, Problem, Stats, frozen
from polhode.support import checks
from polhode.support.arrays import Floats, apply_by_blocks, columns, dots, to_space
from polhode.support.arrays import lengths as row_lengths
from polhode.support.interrupts import attempted, is_from_handler
from polhode.text.terminal import shortened
from polhode.torques import Torque, checked

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame
    from xarray import Dataset

    from polhode.files.ccsds_write import WrittenFile
    from polhode.files.epochs import Instant
    from polhode.files.netcdf import Contents
    from polhode.free.free_motion import FreeMotion
    from polhode.free.jacobian_motion import Covariance
    from polhode.run.tangents import Derivatives

T = TypeVar("T")

INTERPRETED_ROWS = 20_000
"""Up to this number of rows a potential is evaluated in plain Python, which is quicker than to compile it."""
FEW_ROWS = 100
"""Up to this number of rows a potential is called for one after the other: to read its code takes as long."""
TURNING_ENERGY = "energy in turning axes"
"""The name of T + V - n . L, which is conserved under a potential that turns in space at the rate n."""
FORMAT, FORMAT_VERSION = "polhode solution", 4
"""The name and the latest version of the file format; every file states its own. From version 2 on files have a
checksum. Version 3 has a rotor, version 4 a body that changes: others are written as the version before, which earlier
releases read."""
UNIT_TOLERANCE = 1e-3
"""Quaternions in a file without a checksum may differ from unit length by this much. All methods stay far closer to
it."""
_NAMES = {
    "time": ("time", "s"),
    "component": ("components of a vector", ""),
    "quaternion_component": ("components of a quaternion, scalar first", ""),
    "quaternion": ("attitude, from body to space axes", "1"),
    "momentum": ("angular momentum in body axes", "kg m2 s-1"),
    "spatial_momentum": ("angular momentum in space axes", "kg m2 s-1"),
    "omega": ("angular velocity in body axes", "rad s-1"),
    "spatial_omega": ("angular velocity in space axes", "rad s-1"),
    "kinetic_energy": ("kinetic energy", "J"),
    "potential_energy": ("potential energy", "J"),
    "energy": ("kinetic plus potential energy", "J"),
    "state_name": ("names of the numbers that the torque carries", ""),
    "state": ("numbers that the torque carries", ""),
    "event_number": ("which of the events", "1"),
    "event_time": ("time of an event", "s"),
    "event_quaternion": ("attitude at an event", "1"),
    "event_momentum": ("angular momentum at an event", "kg m2 s-1"),
    "event_potential_energy": ("potential energy at an event", "J"),
    "event_state": ("numbers that the torque carries, at an event", ""),
}
"""The long names and the units of arrays in files and tables."""
VECTORS = ("quaternion", "omega", "momentum", "spatial_omega", "spatial_momentum")
"""The arrays that have several columns in tables, with w, x, y, z or x, y, z behind their names."""
_EVENT_ROWS = tuple(name for name in _NAMES if name.startswith("event"))

SOLUTION_ARRAYS = ("time", "quaternion", "momentum", "potential_energy", "state", *_EVENT_ROWS)
"""The arrays that a solution is made of again."""


@contextmanager
def blaming_potential(torque: str) -> Iterator[None]:
    """Names the torque whose potential has raised an exception in compiled code."""
    try:
        yield
    except KernelRaised as problem:
        raise ValueError(f"the potential of {torque} raised {problem}") from None


def known_potential(torque: Torque, make: Callable[[], T]) -> T | None:
    """What `make` makes of the potential of a torque; None, with a warning, if the user's function raises something."""
    try:
        return make()
    except Exception as problem:  # it may raise anything, and the states must not be lost for it
        if is_from_handler(problem):
            raise
        failed = f"the potential of {torque.name} failed ({type(problem).__name__}: {problem})"
        warnings.warn(f"{failed}: its energies are saved as NaN", UserWarning, stacklevel=4)
        return None


def potentials(torque: Torque, values: Floats, t: Floats, q: Floats) -> Floats:
    """The potential energies of bodies with parameters (bodies, numbers) at attitudes (bodies, times, 4)."""
    potential, shape = torque.potential_kernel, q.shape[:2]
    if potential is None:
        return np.full(shape, np.nan)
    if torque.depends is Depends.NOTHING:
        return np.zeros(shape)
    out = np.empty(shape)
    if out.size > INTERPRETED_ROWS:
        fill = program(potential_of_many(potential), "ppppiii", what=f"the potential of {torque.name}")
        flat = (np.ascontiguousarray(x).reshape(-1) for x in (values, t, q))
        with blaming_potential(torque.name):
            fill(*flat, out.reshape(-1), values.shape[1], t.size, len(out))
        return out
    if out.size > FEW_ROWS and not tables_in(values[0].tolist()):
        p = tuple(values.T[:, :, None])
        if (at_once := all_rows_at_once(potential, t[None, :], columns(q), p, shape)) is not None:
            return at_once
    times = t.tolist()
    for k, own in enumerate(values):
        p = read_only(own)
        out[k] = [potential(s, tuple(row), p) for s, row in zip(times, q[k].tolist(), strict=True)]
    return out


@dataclass(frozen=True, eq=False)
class Solution(WithAttitudes, WithMomenta, Turning):
    """A motion: `t`, `attitude`, `omega` and what follows from them.

    All arrays have one row for each output time. Components are in the user's body axes unless a name says `spatial`.

    Examples
    --------
    >>> run = ph.simulate(ph.Body([1, 2, 2.8]), omega=[0.1, 2, 0], t_span=(0, 5), rtol=1e-9, t_eval=[0, 2.5, 5])
    >>> run.omega[-1].round(4)
    array([ 1.2016, -1.545 , -0.8001])
    >>> run.attitude[-1].as_quat(scalar_first=True).round(4)
    array([ 0.1086, -0.1915, -0.3208,  0.9212])
    >>> run.at([1.25]).omega.round(4)
    array([[ 0.2031,  1.9912, -0.1181]])
    >>> bool(run.error_estimate < 1e-9)
    True
    """

    problem: Problem
    """The problem: body, torque, initial state, time span and output."""
    plan: Plan
    """The method and its step."""
    stats: Stats
    """The cost: steps, torque evaluations, seconds."""
    t: Floats
    quaternion: Floats
    """The attitude from body to space, scalar first, as computed: its norm shows the accumulated round-off, unless the
    method leaves quaternions unscaled; then they are scaled to unit length."""
    momentum: Floats
    """The angular momentum in body axes, kg m^2/s."""
    status: Status
    """How the run ended; 0 is good news."""
    message: str
    """How the run ended, in a sentence."""
    t_last: float
    """The last time that was reached; later than `t[-1]` if no output was due there."""
    last_quaternion: Floats
    last_momentum: Floats
    memory: tuple[float, ...] = field(default_factory=tuple)
    """What the method carries from step to step, at the end; `resume` goes on with it."""
    state: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """The numbers that the torque carries, one row for each output time; `state_names` has their names."""
    last_state: Floats = field(default_factory=lambda: NO_STATE)
    """The numbers that the torque carries, at the end of the run."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """Anything else to be saved with the solution, as JSON."""
    saved_potential: Floats | None = None
    """The potential energy at the start and in each row, for a solution from a file, which keeps no functions."""
    error_estimate: float | None = None
    """The estimate, where a tolerance was asked for, of the largest error over the rows: of the attitude in radians,
    and of the rate relative to the largest rate, that at the start included."""
    rtol: float | None = None
    """The tolerance that was asked for; None: a step was given."""
    method_asked: Method | None = None
    """The method that was asked for together with a tolerance; None: it was chosen. `resume` keeps it."""
    events: tuple[Solution, ...] = ()
    """The rows at which each event happened, with the name of the event in their metadata."""
    torque_changed: bool = False
    """Whether an earlier part was made with another torque: then nothing is conserved over the whole."""
    derivatives: Derivatives | None = None
    """How the motion changes with what it was given, where `derivatives=` was asked for; files do not keep it."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Makes the fields of a short run when one of them is read for the first time (`made_when_read`)."""
            if (make := self.__dict__.get(MAKE)) is not None:
                self.__dict__.update(make())
                self.__dict__.pop(MAKE, None)  # another thread may have been as quick
            return object.__getattribute__(self, name)  # for what is no field, this raises its own error

    def __getstate__(self) -> dict[str, Any]:
        """All fields, to be copied or pickled."""
        assert self.plan is not None  # now all are made
        return self.__dict__

    @property
    def nfev(self) -> int:
        """The number of torque evaluations."""
        return self.stats.nfev

    @property
    def body(self) -> Body:
        """The body."""
        return self.problem.body

    @property
    def torque(self) -> Torque:
        """The torque."""
        return self.problem.torque

    @property
    def state_names(self) -> tuple[str, ...]:
        """The names of the numbers that the torque carries, in the order of the columns of `state`."""
        return self.torque.state_names

    @property
    def method(self) -> str:
        """The name of the method."""
        return self.plan.method.name

    @property
    def step(self) -> float:
        """The step, in s."""
        return self.plan.step

    def at(self, t: Any) -> Solution:
        """The motion with rows at other times: any times within the span of the run, in any order.

        Each is reached from the last row before it with the method and the step of the run, so its error is that of
        the run. The cost is a step for each time if every step is a row, else all steps from that row on.
        """
        from polhode.run.interpolate import at  # upward, and the only such import: the contract names it

        return at(self, t)

    @property
    def jacobian(self) -> Floats:
        """How attitude and rate change with what `derivatives=` named, (rows, 6, columns).

        The first three rows are the rotation vector of the attitude in space axes, in rad; the others are the angular
        velocity in body axes, in rad/s. `derivatives.columns` names the columns.
        """
        if self.derivatives is None or len(self.derivatives.jacobian) != len(self.t):
            raise ValueError(
                "this solution has no Jacobian in these rows: ask for it with the run, and list its times, as in "
                "simulate(..., derivatives=['omega', 'attitude'], t_eval=[...])"
            )
        return self.derivatives.jacobian

    def covariance(self, P0: Any) -> Covariance:
        """The covariance of attitude and rate in each row, propagated linearly from P0, that of the columns.

        `bend` says how far the motion is from linear, by four more runs one standard deviation away; a warning says so
        from 0.1 on, and from 0.5 on a ValueError.
        """
        from polhode.run.tangents import covariance

        return covariance(self, P0)

    @property
    def lyapunov(self) -> float:
        """How fast neighbouring motions part, in 1/s: the mean rate of exponential growth over the run."""
        from polhode.run.tangents import lyapunov

        return lyapunov(self)

    @property
    def megno(self) -> float:
        """The mean exponential growth of nearby orbits: near 2 for regular motion, about lyapunov t / 2 for chaotic.

        It is a mean over the rows, which should follow each other by a fraction of a turn.  [cincotta2000]
        """
        from polhode.run.tangents import megno

        return megno(self)

    # --- what follows from the states

    def having(self, **changed: Any) -> Solution:
        """A copy with changed fields; faster than `dataclasses.replace`."""
        return frozen(Solution, self.__getstate__() | changed)

    @cached_property
    def omega(self) -> Floats:
        """The angular velocity in body axes, rad/s."""
        return self.body.rate(self.momentum, self.t)

    @cached_property
    def total_momentum(self) -> Floats:
        """The angular momentum in space axes, in N m s, with that of wheels and rings inside, which torques carry."""
        if not self.state_names:
            return self.spatial_momentum
        return apply_by_blocks(to_space, self.quaternion, self.momentum + self.torque.carried_momentum(self.state))

    @cached_property
    def kinetic_energy(self) -> Floats:
        """The kinetic energy w . I w / 2, in J; that of a rotor relative to the body is constant, and left out."""
        return self._kinetic(self.momentum, self.t)

    @cached_property
    def potential_energy(self) -> Floats:
        """The potential of the torque, in J; NaN where the torque has none."""
        if self.saved_potential is not None:
            return self.saved_potential[1:]
        return self._potential(self.t, self.quaternion)

    def torque_of(self, part: str | int | None = None) -> Floats:
        """The torque on the body in each row, in body axes, in N m, (rows, 3): all of it, or one part of a sum.

        A part is named as in `solution.torque.parts`, or by its number from 0 on. At the time of a jump it is the
        torque after it.
        """
        name = None if part is None else self._name_of_part(part)
        acting = self.torque if name is None else self.torque.parts[name]
        kernel, values = acting.torque_kernel, np.array(acting.parameters(self.body), dtype=np.float64)
        carried, count = self.state, len(acting.state_names) + len(acting.reads)
        if name is not None:
            carried = carried[:, self.torque.seen_by(name)]
        if self.t.size <= INTERPRETED_ROWS:
            p, states = read_only(values), carried.tolist() if count else [()] * self.t.size
            rows = zip(self.t.tolist(), self.quaternion.tolist(), self.omega.tolist(), states, strict=True)
            found = [acting.called(t, tuple(q), tuple(w), p, tuple(z)) for t, q, w, z in rows]
            return np.array(found, dtype=np.float64).reshape(-1, 3)
        rows_of = torque_rows(kernel, count, pair=bool(acting.state_names))
        fill = program(rows_of, "ppppppii", what=f"the torque {acting.name}")

        def block(t: Floats, q: Floats, w: Floats, z: Floats) -> Floats:
            out = np.empty((t.size, 3))
            flat = (np.ascontiguousarray(x).reshape(-1) for x in (t, q, w, z))
            try:
                fill(values, *flat, out.reshape(-1), values.size, t.size)
            except KernelRaised as problem:
                raise ValueError(f"the torque {acting.name} raised {problem}") from None
            return out

        states = carried if count else self.t[:, None]  # an empty array has no address
        return apply_by_blocks(block, self.t, self.quaternion, self.omega, states)

    def _name_of_part(self, part: str | int) -> str:
        """The name of a part of the torque, which is given by it or by its number."""
        parts = self.torque.parts
        if isinstance(part, str):
            return part if part in parts else checks.choice("part of the torque", part, parts)
        if isinstance(part, bool) or not isinstance(part, int | np.integer) or not -len(parts) <= part < len(parts):
            raise ValueError(
                f"part must be a name or a number from 0 to {len(parts) - 1}, not {part!r}: the parts are "
                f"{', '.join(parts)}"
            )
        return list(parts)[part]

    @property
    def _has_potential(self) -> bool:
        """Whether the potential energy is known."""
        return self.saved_potential is not None or self.torque.potential_kernel is not None

    def _kinetic(self, momentum: Floats, t: Floats) -> Floats:
        return apply_by_blocks(lambda m, t: dots(self.body.rate(m, t), self.body.own_momentum(m)) / 2, momentum, t)

    def _potential_at_start(self) -> float:
        if self.saved_potential is not None:
            return float(self.saved_potential[0])
        return float(self._potential(np.array([self.problem.t_start]), self.problem.quaternion_start[None, :])[0])

    def _potential(self, t: Floats, q: Floats) -> Floats:
        values = np.array([self.torque.parameters(self.body)], dtype=np.float64)
        (of_this,) = potentials(self.torque, values, t, q[None])
        return np.asarray(of_this)

    @cached_property
    def osculating(self) -> FreeMotion:
        """The free motions that would follow from each row if the torque ended there, a stack of them.

        What wheels and rings carry goes on as the momentum of a rotor, for which it must lie along a principal axis.
        `osculating.observed_periods()`, `.period`, `.mode` and `.nutation()` are the periods and angles along the run.

        Examples
        --------
        >>> damping, t = ph.LinearDamping(0.1), [0, 9]
        >>> run = ph.simulate(ph.Body([1, 2, 2.8]), damping, omega=[1, 0.2, 0.1], t_span=(0, 9), t_eval=t, rtol=1e-8)
        >>> run.osculating.observed_periods().psi.round(2)
        array([ 9.88, 23.44])
        """
        from polhode.free.free_motion import FreeMotion

        body: Any = [self.body.at(t) for t in self.t.tolist()] if self.body.changes else self.body
        if self.state_names:
            with suppress(ValueError):  # numbers of a torque of one's own may be no momentum
                if (carried := self.torque.carried_momentum(self.state)).any():
                    body = [self.body.with_rotor(self.body.rotor + h) for h in carried]
        return FreeMotion(body, self.omega, self.quaternion)

    # --- what the motion should have kept

    @cached_property
    def invariant_errors(self) -> dict[str, Floats]:
        """The relative change since the start of each quantity that the exact motion conserves.

        Energies are relative to kinetic energy plus size of the potential at the start, momenta to the momentum at the
        start; for a body that starts with none, to the largest kinetic energy and momentum in the rows. Under a
        potential that turns in space, such as the gravity gradient along an orbit, the "energy in turning axes" is
        kept: T + V - n . L with n the rate at which the potential turns and L the spatial momentum.
        """
        q, m = self.quaternion, self.momentum
        q_start, m_start = self.problem.quaternion_start[None, :], self.problem.momentum_start[None, :]
        norms = np.abs(apply_by_blocks(row_lengths, q) - 1.0)
        if self.torque_changed:
            return {"quaternion norm": norms}
        errors = dict[str, Floats]()
        with np.errstate(over="ignore", invalid="ignore"):  # a run that blew up may have states near the largest number
            spatial = to_space(q_start, m_start)
            if (self.torque.conserves_energy or self.torque.turning is not None) and not self.body.changes:
                kinetic = self._kinetic(m, self.t)
                kinetic_start = float(self._kinetic(m_start, np.array([self.problem.t_start]))[0])
                potential_start = self._potential_at_start()
                changes = (kinetic - kinetic_start) + (self.potential_energy - potential_start)
                size, name = kinetic_start + abs(potential_start), "energy"
                if self.torque.turning is not None:
                    turning, name = np.array(self.torque.turning), TURNING_ENERGY
                    changes = changes - apply_by_blocks(lambda q, m: (to_space(q, m) - spatial) @ turning, q, m)
                    size += abs(float((spatial @ turning)[0]))
                errors[name] = np.abs(changes) / (size or float(kinetic.max(initial=0.0)) or 1.0)
            lengths, length = apply_by_blocks(row_lengths, m), float(row_lengths(m_start)[0])
            scale = length or float(lengths.max(initial=0.0)) or 1.0
            if self.torque.depends is Depends.NOTHING:
                errors["momentum norm"] = np.abs(lengths - length) / scale
                errors["spatial momentum"] = (
                    apply_by_blocks(lambda q, m: row_lengths(to_space(q, m) - spatial), q, m) / scale
                )
            elif self.torque.axis is not None:
                axis = np.array(self.torque.axis)
                errors["axial momentum"] = (
                    apply_by_blocks(lambda q, m: np.abs((to_space(q, m) - spatial) @ axis), q, m) / scale
                )
        return errors | {"quaternion norm": norms}

    @property
    def energy_error(self) -> Floats:
        """The relative change of the energy since the start, for torques that conserve it."""
        return self._invariant("energy")

    @property
    def momentum_error(self) -> Floats:
        """The relative change of the conserved part of the spatial momentum: all of it, or along the torque's axis."""
        return self._invariant("spatial momentum" if "spatial momentum" in self.invariant_errors else "axial momentum")

    def _invariant(self, name: str) -> Floats:
        try:
            return self.invariant_errors[name]
        except KeyError:
            why = f"{self.torque.name} does not conserve the {name}"
            if self.torque_changed:
                why = "the torque was changed on the way"
            raise AttributeError(
                f"{why}, so there is no error to speak of; conserved are: {', '.join(self.invariant_errors)}"
            ) from None

    # --- pictures

    def plot(
        self, *what: str | os.PathLike[str], path: str | os.PathLike[str] | None = None,
        quantities: str | Sequence[str] = (), ax: Axes | None = None, degrees: bool = False,
    ) -> Figure:  # fmt: skip
        """Draws the motion over time, through its true states between rows, as a Matplotlib figure.

        By default there are panels for the rates, the errors of what should be conserved, if there is any, and the
        attitude. `what` chooses others, such as `plot("omega", "euler", "energy_error")`: omega, spatial_omega,
        momentum, spatial_momentum, torque, kinetic_energy, potential_energy, energy, errors, energy_error,
        momentum_error, attitude, state, euler, or a quantity of attitudes, such as "pointing_angle_deg(z, [0, 0, 1])".
        Each of the `quantities` of attitudes has a panel besides. Events are marked. With `degrees=True` rates and
        Euler angles are in degrees.

        With a path, which may come first, the figure is saved there, too, as PNG, SVG or PDF by the ending of the
        name. With `ax` one quantity is drawn on axes of your own, beside what they have.
        """
        from polhode.plots.plot import draw, draw_on, finished, path_first, save

        path, asked = path_first(what, path)
        names = [os.fspath(name) for name in asked]
        if ax is not None:
            if len(names) != 1 or quantities:
                raise ValueError(f"axes take one quantity, such as plot('omega', ax=ax), not {names!r}")
            draw_on(ax, self, names[0], degrees=degrees)
            if path is not None:
                save(cast("Figure", ax.figure), path)
            return cast("Figure", ax.figure)
        figure = draw(self, read_quantities(quantities), names, degrees=degrees)
        return finished(figure, path)

    def _run(self, t_span: Any, name: str | None = None) -> Any:
        from polhode.page.content import SolutionRun

        return SolutionRun(self, t_span, name)

    def __repr__(self) -> str:
        return "\n".join(["Solution", *(f"  {name:<9} {value}" for name, value in self._summary())])

    def _repr_html_(self) -> str:
        cell = '<td style="text-align:left">'
        rows = (f"<tr>{cell}{html.escape(k)}</td>{cell}{html.escape(v)}</td></tr>" for k, v in self._summary())
        return f"<table>{''.join(rows)}</table>"

    @property
    def steps_in_words(self) -> str:
        """The length of the steps, or their mean length where the motion decides it, for people to read."""
        return self.plan.steps_in_words(self.t_last - self.problem.t_start, self.stats.steps)

    def _summary(self) -> list[tuple[str, str]]:
        """The lines of a short description, which must cost little."""
        steps = self.stats.steps
        rows = f"{self.t.size:,} row{'' if self.t.size == 1 else 's'}"
        return [
            ("body", repr(self.body)),
            ("torque", shortened(describe_torque(self.torque), 100)),
            ("method", f"{self.method}, {self.steps_in_words}"),
            ("time", f"{self.problem.t_start:.6g} to {self.t_last:.6g} s in {steps:,} steps, {rows}"),
            ("status", self.message),
            *([] if self.error_estimate is None else [("estimate", f"error at most {self.error_estimate:.1e}")]),
            ("errors", self._worst()),
        ]

    def drift(self) -> tuple[str, float]:
        """What the last row has least conserved of all that should be, and its relative change.

        It is `invariant_errors` of one row, in little time, but relative to the larger of start and end: a body may
        have begun nearly at rest.
        """
        problem, torque = self.problem, self.torque
        if not self.t.size or self.torque_changed:
            return "", 0.0
        q = np.stack([problem.quaternion_start, self.quaternion[-1]])
        m = np.stack([problem.momentum_start, self.momentum[-1]])
        first, last = (rotated(tuple(a), tuple(b)) for a, b in zip(q.tolist(), m.tolist(), strict=True))
        moved = last[0] - first[0], last[1] - first[1], last[2] - first[2]
        size, changes = max(math.hypot(*row) for row in m.tolist()) or 1.0, dict[str, float]()
        if torque.depends is Depends.NOTHING:
            changes["spatial momentum"] = math.hypot(*moved) / size
        elif torque.axis is not None:
            changes["axial momentum"] = abs(dot(moved, torque.axis)) / size
        if (torque.conserves_energy or torque.turning is not None) and not self.body.changes:
            v = attempted(lambda: self._potential(np.array([problem.t_start, self.t[-1]]), q), None)
            if v is None:
                return "", 0.0
            k, turning = self._kinetic(m, self.t), torque.turning or (0.0, 0.0, 0.0)
            size = max(k[0] + abs(v[0]) + abs(dot(first, turning)), k[1]) or 1.0
            changes["energy"] = float(abs(k[1] - k[0] + v[1] - v[0] - dot(moved, turning)) / size)
        known = {name: change for name, change in changes.items() if math.isfinite(change)}
        worst = max(known, key=lambda name: known[name], default="")
        return worst, known.get(worst, 0.0)

    def _worst(self) -> str:
        """The largest errors, or those in the last row where there are many rows."""
        seen, when = self, "largest"
        if self.t.size == 0:
            return "none, without rows"
        if "invariant_errors" not in self.__dict__ and self.t.size > INTERPRETED_ROWS:
            last = {name: getattr(self, name)[-1:] for name in ("t", "quaternion", "momentum")}
            kept = None if self.saved_potential is None else self.saved_potential[[0, -1]]
            seen, when = dataclasses.replace(self, **last, saved_potential=kept), "in the last row"
        try:
            errors = {k: float(e.max(initial=0.0)) for k, e in seen.invariant_errors.items()}
        except Exception as problem:  # the potential is the user's code, and to look at a solution must not fail
            if is_from_handler(problem):
                raise
            return f"unknown: {type(problem).__name__}: {problem}"
        return f"{', '.join(f'{name} {e:.1e}' for name, e in errors.items())} (relative, {when})"

    # --- files and tables

    def to_xarray(self, *, quantities: str | Sequence[str] = ()) -> Dataset:
        """Everything as an xarray Dataset, with units.

        It has the `quantities` as well, under the names by which they are asked for: "euler(ZYX)", "euler_deg(ZYX)",
        "mrp", "mrp(shadow)", "pointing_angle(z, [0, 0, 1])", "pointing_angle_deg(z, [0, 0, 1])".
        """
        from polhode.files import netcdf

        table: dict[str, tuple[tuple[str, ...], Any]] = self._table() | {
            "spatial_momentum": (("time", "component"), self.spatial_momentum),
            "spatial_omega": (("time", "component"), self.spatial_omega),
            **{f"{k.replace(' ', '_')}_error": (("time",), e) for k, e in self.invariant_errors.items()},
        }
        variables = {name: netcdf.Variable(*entry, attributes_of(name)) for name, entry in table.items()}
        for x in read_quantities(quantities):
            variables[str(x)] = netcdf.Variable(("time", *x.dimensions), x(self), x.attributes)
        made: Dataset = netcdf.dataset(variables, self._attributes())
        return made

    def to_dataframe(self, *, quantities: str | Sequence[str] = ()) -> DataFrame:
        """The motion as a pandas DataFrame with one row for each time.

        Vectors have a column for each component, such as `omega_x`, and what the torque carries has its own names.
        `df.attrs` has `units` and `long_names`, by column, and what is known of the run. The `quantities` are those of
        `to_xarray`; of Euler angles the columns are numbered, as in "euler_deg(ZYX)_1".
        """
        return dataframe(self._columns(quantities), self._attributes())

    def to_csv(
        self, path: str | os.PathLike[str], *, quantities: str | Sequence[str] = (), units: bool = False,
        overwrite: bool = False,
    ) -> None:  # fmt: skip
        """Writes the table of `to_dataframe` as a CSV file, which appears whole or not at all.

        The first line has the names of the columns, with `units=True` also their units, as in "omega_x (rad s-1)".
        Numbers have all digits, so that the same doubles can be read again.
        """
        write_csv(path, self.with_known_potential()._columns(quantities), units=units, overwrite=overwrite)

    def to_parquet(
        self, path: str | os.PathLike[str], *, quantities: str | Sequence[str] = (), overwrite: bool = False
    ) -> None:  # fmt: skip
        """Writes the table of `to_dataframe` as a Parquet file, which appears whole or not at all.

        Units are in the metadata of the fields; `pandas.read_parquet` also finds them in `attrs`. It needs pyarrow:
        `pip install 'polhode[tables]'`.
        """
        kept = self.with_known_potential()
        write_parquet(path, kept._columns(quantities), kept._attributes(), overwrite=overwrite)

    def _columns(self, quantities: str | Sequence[str]) -> list[Column]:
        """The columns of tables with one row for each time."""
        rows: dict[str, Any] = {"time": self.t, "quaternion": self.quaternion}
        rows |= {name: getattr(self, name) for name in ("omega", "momentum", "spatial_omega", "spatial_momentum")}
        rows["kinetic_energy"] = self.kinetic_energy
        if self._has_potential:
            rows |= {"potential_energy": self.potential_energy, "energy": self.energy}
        rows |= {f"{k.replace(' ', '_')}_error": e for k, e in self.invariant_errors.items()}
        return table_columns(rows, self.state_names, self.state, read_quantities(quantities), self.quaternion)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes a NetCDF file from which `polhode.load` makes the same solution, and which xarray can open.

        The file appears whole or not at all. It keeps the numbers of a torque of your own, and its potential
        energies, but not its function.
        """
        from datetime import UTC, datetime
        from importlib.metadata import version

        from polhode.files import netcdf

        if (kept := self.with_known_potential()) is not self:
            kept.save(path, overwrite=overwrite)
            return
        now = datetime.now(UTC).isoformat(timespec="seconds")
        metadata = {"created": now, "polhode": version("polhode")} | self.metadata
        attributes = {
            "format": FORMAT,
            "format_version": 4 if self.body.changes else 3 if self.body.has_rotor else 2,
            **self._attributes(),
            "metadata": netcdf.metadata_text(metadata),
        }
        variables = {k: netcdf.Variable(*entry, attributes_of(k)) for k, entry in self._table().items()}
        netcdf.write(path, variables, attributes, overwrite=overwrite)

    def with_known_potential(self) -> Solution:
        """This solution, or one whose potential energies are NaN, with a warning, if they cannot be had."""
        if not self._has_potential:
            return self
        parts = (self, *self.events)
        if known_potential(self.torque, lambda: [(s.potential_energy, s._potential_at_start()) for s in parts]) is None:
            events = tuple(e._without_potential() for e in self.events)
            return dataclasses.replace(self._without_potential(), events=events)
        return self

    @property
    def epoch(self) -> Instant | None:
        """The instant of t = 0, if it was stored by `with_epoch`; None: it is not known."""
        from polhode.files.epochs import Instant

        stored = self.metadata.get("epoch")
        return None if stored is None else Instant.read(stored["time"], stored["system"])

    def with_epoch(self, epoch: Any, time_system: str = "UTC") -> Solution:
        """The solution with the instant of t = 0: a text such as '2026-01-31T12:00:00', or a Time of astropy.

        The time system is UTC, TAI, TT, TDB or GPS. Files keep the epoch.
        """
        from polhode.files.epochs import Instant

        instant = Instant.given(epoch, time_system)
        stored = {"time": instant.text(), "system": instant.system}
        return dataclasses.replace(self, metadata={**self.metadata, "epoch": stored})

    def to_aem(
        self, path: str | os.PathLike[str], *, object_name: str, object_id: str, epoch: Any = None,
        time_system: str | None = None, frames: tuple[str, str] = ("EME2000", "SC_BODY_1"),
        tolerance: float | None = 1e-6, interpolation: str = "LAGRANGE", originator: str = "POLHODE",
        overwrite: bool = False,
    ) -> WrittenFile:  # fmt: skip
        """Writes the attitudes as an AEM, a CCSDS file of version 2.0, from which a reader can interpolate.

        Rows are chosen so that the interpolation, "LAGRANGE" of degree 7 or "LINEAR", errs by at most `tolerance`, in
        rad, which is checked between the rows; the bound stands in the file. With `tolerance=None` the rows are those
        of the solution. A new segment begins at those breakpoints of the torque over which the interpolation would need
        more rows than a segment has. `epoch` is the instant of t = 0, in `time_system`, if it was not stored by
        `with_epoch`.
        """
        from polhode.files.ccsds_write import write_history

        return write_history(
            "AEM", self, path, object_name=object_name, object_id=object_id, epoch=epoch, time_system=time_system,
            frames=frames, tolerance=tolerance, interpolation=interpolation, originator=originator, overwrite=overwrite,
        )  # fmt: skip

    def to_acm(
        self, path: str | os.PathLike[str], *, object_name: str, object_id: str, epoch: Any = None,
        time_system: str | None = None, frames: tuple[str, str] = ("EME2000", "SC_BODY_1"),
        tolerance: float | None = 1e-6, interpolation: str = "LAGRANGE", originator: str = "POLHODE",
        overwrite: bool = False,
    ) -> WrittenFile:  # fmt: skip
        """Writes attitudes and inertia tensor as an ACM, a CCSDS file of version 2.0, from which a reader interpolates.

        All is as for `to_aem`, but that times are seconds from the epoch, and that an ACM cannot say how to
        interpolate: the interpolation for which rows are chosen stands among its comments. `read_aem` reads it.
        """
        from polhode.files.ccsds_write import write_history

        return write_history(
            "ACM", self, path, object_name=object_name, object_id=object_id, epoch=epoch, time_system=time_system,
            frames=frames, tolerance=tolerance, interpolation=interpolation, originator=originator, overwrite=overwrite,
        )  # fmt: skip

    def to_apm(
        self, path: str | os.PathLike[str], *, object_name: str, object_id: str, t: float | None = None,
        epoch: Any = None, time_system: str | None = None, frames: tuple[str, str] = ("EME2000", "SC_BODY_1"),
        originator: str = "POLHODE", overwrite: bool = False,
    ) -> None:  # fmt: skip
        """Writes attitude, rate and inertia tensor at a time, or the end, as a CCSDS APM 2.0; else as `to_aem`."""
        from polhode.files.ccsds_write import write_apm

        write_apm(
            self, path, object_name=object_name, object_id=object_id, t=t, epoch=epoch, time_system=time_system,
            frames=frames, originator=originator, overwrite=overwrite,
        )  # fmt: skip

    def to_ck(
        self, path: str | os.PathLike[str], *, spacecraft_id: int, epoch: Any = None, time_system: str | None = None,
        frame: str = "POLHODE_BODY", tolerance: float = 1e-6, overwrite: bool = False,
    ) -> WrittenFile:  # fmt: skip
        """Writes the attitudes as kernels of SPICE: a CK of type 3, and beside it a clock (.tsc) and a frame (.tf).

        Rows are chosen so that the interpolation of SPICE errs by at most `tolerance`, in rad. Space axes are J2000,
        the body axes have the name `frame` and the number 1000 `spacecraft_id`, a negative number. It needs spiceypy.
        """
        from polhode.files.spice import write_ck

        return write_ck(
            self, path, spacecraft_id=spacecraft_id, epoch=epoch, time_system=time_system, frame=frame,
            tolerance=tolerance, overwrite=overwrite,
        )  # fmt: skip

    def _without_potential(self) -> Solution:
        return dataclasses.replace(self, saved_potential=np.full(self.t.size + 1, np.nan))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, torque: Torque | None = None) -> Solution:
        """Reads a solution from a file that `save` wrote: see `polhode.load`."""
        from polhode.files import netcdf

        return solution_of(path, netcdf.read(path, SOLUTION_ARRAYS), torque)

    def _table(self) -> dict[str, tuple[tuple[str, ...], Any]]:
        """Dimensions and values of what is written to files, by name."""
        vectors = ("time", "component")
        table: dict[str, tuple[tuple[str, ...], Any]] = {
            "time": (("time",), self.t),
            "component": (("component",), np.array(["x", "y", "z"])),
            "quaternion_component": (("quaternion_component",), np.array(["w", "x", "y", "z"])),
            "quaternion": (("time", "quaternion_component"), self.quaternion),
            "momentum": (vectors, self.momentum),
            "omega": (vectors, self.omega),
            "kinetic_energy": (("time",), self.kinetic_energy),
        }
        if self._has_potential:
            table["potential_energy"] = (("time",), self.potential_energy)
        if self.state_names:
            table["state_name"] = (("state_name",), np.array(self.state_names))
            table["state"] = (("time", "state_name"), self.state)
        return table | self._event_table()

    def _event_table(self) -> dict[str, tuple[tuple[str, ...], Any]]:
        """The rows of all events, one event after the other; nothing if no event happened."""
        rows = [e.t.size for e in self.events]
        if sum(rows) == 0:
            return {}
        table: dict[str, tuple[tuple[str, ...], Any]] = {
            "event_number": (("event",), np.repeat(np.arange(float(len(rows))), rows)),
            "event_time": (("event",), np.concatenate([e.t for e in self.events])),
        }
        kept: dict[str, tuple[str, ...]] = {"quaternion": ("quaternion_component",), "momentum": ("component",)}
        kept |= {"state": ("state_name",)} if self.state_names else {}
        kept |= {"potential_energy": ()} if self._has_potential else {}
        for name, dimensions in kept.items():
            table[f"event_{name}"] = (("event", *dimensions), np.concatenate([getattr(e, name) for e in self.events]))
        return table

    def _attributes(self) -> dict[str, Any]:
        """Everything but the arrays, as text and numbers."""
        problem, plan, stats = self.problem, self.plan, self.stats
        optional: dict[str, Any] = {"body_name": self.body.name, "every": problem.every}
        optional |= {"torque_size": plan.torque_size, "error_estimate": self.error_estimate, "rtol": self.rtol}
        optional["longest_step"] = plan.longest_step
        if plan.in_pieces is not None and (plan.at_knots or problem.breakpoints):
            optional["pieces"] = "at knots" if plan.at_knots else "at breakpoints"
        if self.method_asked is not None and not is_own(self.method_asked):
            optional["method_asked"] = self.method_asked.name
        if self.body.has_rotor:
            optional["rotor"] = self.body.rotor
        optional |= self.body.pieces
        if self.torque_changed:
            optional["torque_changed"] = 1
        if self.state_names:
            optional |= {"state_start": problem.state_start, "last_state": self.last_state}
        if self.events:
            optional["events"] = json.dumps([e.metadata.get("event") for e in self.events])
        if self._has_potential:
            optional["potential_start"] = self._potential_at_start()
        return {
            **{k: v for k, v in optional.items() if v is not None},
            "inertia": self.body.tensor.reshape(-1),
            "torque": self.torque.name,
            "torque_record": torque_record(self.torque, self.body),
            "method": self.method,
            "method_is_own": int(is_own(plan.method)),
            "step": plan.step,
            **{k: getattr(problem, k) for k in ("t_start", "t_end", "quaternion_start", "momentum_start")},
            **{k: getattr(stats, k) for k in ("steps", "nfev", "seconds")},
            "status": int(self.status),
            **{k: getattr(self, k) for k in ("message", "t_last", "last_quaternion", "last_momentum")},
            "memory": np.array(self.memory),
        }


MAKE = "_make"
"""Where a solution has the function that makes its other fields."""


def made_when_read(make: Callable[[], dict[str, Any]], **fields: Any) -> Solution:
    """Returns a solution that has these fields, and makes the others when one of them is read.

    Fields that have a plain default have to be given.
    """
    fields[MAKE] = make
    return frozen(Solution, fields)


def assemble(
    problem: Problem, plan: Plan, stats: Stats, rows: tuple[Floats, Floats, Floats, Floats],
    end: tuple[float, Floats, Floats, Floats], status: Status, message: str, memory: tuple[float, ...] = (),
    **remarks: Any,
) -> Solution:  # fmt: skip
    """The solution that a run has made, by whatever way, or that a file has.

    Rows and end are time, quaternion, momentum and carried numbers, in the user's axes. Remarks are other fields.
    """
    (t, q, m, z), (t_last, last_q, last_m, last_z) = rows, end
    return frozen(Solution, {
        "problem": problem, "plan": plan, "stats": stats, "t": t, "quaternion": q, "momentum": m, "status": status,
        "message": message, "t_last": t_last, "last_quaternion": last_q, "last_momentum": last_m, "memory": memory,
        "state": z, "last_state": last_z, "metadata": {}, **remarks,
    })  # fmt: skip


def read_quantities(texts: str | Sequence[str]) -> list[AttitudeQuantity]:
    """The quantities of attitudes that a user names; a single one need not be in a list."""
    return [AttitudeQuantity.read(text) for text in ([texts] if isinstance(texts, str) else texts)]


def table_columns(
    rows: dict[str, Any], state_names: Sequence[str], state: Floats, quantities: Sequence[AttitudeQuantity],
    quaternion: Floats,
) -> list[Column]:  # fmt: skip
    """Columns of `rows`, carried numbers (`state_` before a taken name) and quantities of attitudes."""
    parts = {3: "xyz", 4: "wxyz"}
    found = [
        column
        for name, data in rows.items()
        for column in columns_of(name, data, parts[data.shape[-1]] if name in VECTORS else "", attributes_of(name))
    ]
    about = attributes_of("state")["long_name"]
    carried = [Column(name, state[..., k], f"{about}: {name}") for k, name in enumerate(state_names)]
    found += without_repetition(carried, "state_", [c.name for c in found])
    for x in quantities:
        labels = [str(k) for k in (1, 2, 3)] if x.kind == "euler" else x.labels
        found += columns_of(str(x), x.of(quaternion), labels, x.attributes)
    return found


def solution_of(path: str | os.PathLike[str], contents: Contents, torque: Torque | None) -> Solution:
    """The solution that a file holds; `path` is for messages."""
    with contents.checked(path, FORMAT, FORMAT_VERSION, 2) as verified:
        solution = _rebuilt(contents)
        _check_sense(solution, verified=verified)
    return solution if torque is None else _with_torque(solution, torque, path)


def _with_torque(solution: Solution, given: Torque, path: str | os.PathLike[str]) -> Solution:
    """A solution from a file with its torque, of which the file keeps no function."""
    acting = checked(given)
    if not is_same_torque(solution.torque, acting, solution.body):
        raise ValueError(
            f"{path} was made with the torque {describe_torque(solution.torque)}, which is not "
            f"{describe_torque(acting)}: give the function by which it was made, with the same parameters, "
            "breakpoints and dependence"
        )
    acting = acting.for_span(solution.problem.t_start, solution.problem.t_end)
    problem = solution.problem.replace(torque=acting)
    events = tuple(dataclasses.replace(e, problem=problem) for e in solution.events)
    return dataclasses.replace(solution, problem=problem, events=events)


def _check_sense(s: Solution, *, verified: bool) -> None:
    """Raises an error if the numbers cannot be those of a solution.

    Where a checksum is right, only a person can have written nonsense: then times may come in any order, as `at` may
    have been asked for them.
    """
    from polhode.files.netcdf import ImpossibleContents

    def check(holds: Any, what: str) -> None:
        if not holds:
            raise ImpossibleContents(what)

    problem, plan, stats = s.problem, s.plan, s.stats
    ends = (problem.t_start, problem.t_end, s.t_last)
    check(np.isfinite(ends).all(), f"the times {ends} are not all finite")
    forward = math.copysign(1.0, problem.span)
    check(problem.span != 0, f"it begins and ends at t = {problem.t_start}")
    check(math.isfinite(plan.step) and plan.step * forward > 0, f"the step {plan.step} does not lead to the end")
    check(problem.every is None or problem.every >= 1, f"every = {problem.every}")
    check(stats.steps >= 0 and stats.nfev >= 0 and stats.seconds >= 0, f"{stats}")
    for name in ("longest_step", "torque_size"):
        value = getattr(plan, name)
        check(value is None or not math.isnan(value), f"{name} = {value}")
    of_rows = [part.quaternion for part in (s, *s.events)]
    for q in (problem.quaternion_start[None, :], s.last_quaternion[None, :], *of_rows):
        lengths = apply_by_blocks(row_lengths, q)
        check((np.isfinite(lengths) & (lengths > 0)).all(), "an attitude is not finite, or zero")
        check(verified or (np.abs(lengths - 1) <= UNIT_TOLERANCE).all(), "a quaternion does not have unit length")
    for part in (s, *s.events):
        check(np.isfinite(part.momentum).all(), "a momentum is not finite")
        check(s.torque_changed or np.isfinite(part.state).all(), "a carried number is not finite")
        check(np.isfinite(part.t).all(), "a time is not finite")
        rising = np.diff(forward * part.t)
        check(verified or (rising > 0).all() or (part is not s and (rising >= 0).all()), "the times are not in order")
        slack = 4 * math.ulp(max(map(abs, ends)))
        low, high = forward * problem.t_start - slack, forward * s.t_last + slack
        inside = (forward * part.t >= low) & (forward * part.t <= high)
        check(inside.all(), f"a time lies outside the motion, from {problem.t_start} to {s.t_last}")


def _rebuilt(contents: Contents) -> Solution:
    a: dict[str, Any] = contents.attributes
    body = Body.of_record(a["inertia"], a, name=a.get("body_name"), rotor=a.get("rotor"))
    t = _rows("time", contents, ())
    every = _whole("every", a["every"]) if "every" in a else None
    problem = Problem(
        body,
        read_torque(a["torque"], a["torque_record"]).for_span(float(a["t_start"]), float(a["t_end"])),
        checks.array("quaternion_start", a["quaternion_start"], (4,)),
        checks.array("momentum_start", a["momentum_start"], (3,)),
        float(a["t_start"]),
        float(a["t_end"]),
        t if every is None else None,
        every,
    )
    names = problem.torque.state_names
    if names:
        problem = problem.replace(
            state_start=checks.array("state_start", np.atleast_1d(a["state_start"]), (len(names),))
        )
    size, longest = (float(a[k]) if k in a else None for k in ("torque_size", "longest_step"))
    plan = Plan(read_method(a["method"], bool(a["method_is_own"])), float(a["step"]), longest, size)
    if "pieces" in a:
        plan = plan.replace(at_knots=a["pieces"] == "at knots", in_pieces=(plan.step, 1.0))
    stats = Stats(_whole("steps", a["steps"]), _whole("nfev", a["nfev"]), float(a["seconds"]))
    potential = None
    if "potential_start" in a:
        potential = np.concatenate([[float(a["potential_start"])], _rows("potential_energy", contents, (t.size,))])
    rows = (t, _rows("quaternion", contents, (t.size, 4)), _rows("momentum", contents, (t.size, 3)))
    state = _rows("state", contents, (t.size, len(names))) if names else np.empty((t.size, 0))
    last_state = checks.array("last_state", np.atleast_1d(a["last_state"]), (len(names),)) if names else NO_STATE
    ends = [checks.array(f"last_{name}", a[f"last_{name}"], (n,)) for name, n in (("quaternion", 4), ("momentum", 3))]
    whole = assemble(
        problem,
        plan,
        stats,
        (*rows, state),
        (float(a["t_last"]), ends[0], ends[1], last_state),
        Status(_whole("status", a["status"])),
        str(a["message"]),
        tuple(np.atleast_1d(a.get("memory", ())).tolist()),
        metadata=dict(json.loads(a["metadata"])),
        saved_potential=potential,
        **{name: float(a[name]) for name in ("error_estimate", "rtol") if name in a},
        method_asked=read_method(a["method_asked"], False) if "method_asked" in a else None,
        torque_changed=bool(a.get("torque_changed", 0)),
    )
    return dataclasses.replace(whole, events=_events_of(whole, contents))


def _events_of(whole: Solution, contents: Contents) -> tuple[Solution, ...]:
    """The events of a solution, as its file has them."""
    names = json.loads(str(contents.attributes.get("events", "[]")))
    t = _rows("event_time", contents, ()) if "event_time" in contents.variables else np.zeros(0)
    number, q, m, z = np.zeros(0), np.zeros((0, 4)), np.zeros((0, 3)), whole.state[:0]
    if t.size:
        number = _rows("event_number", contents, (t.size,))
        if not np.isin(number, np.arange(len(names))).all():
            raise ValueError(f"event_number has other numbers than those of the {len(names)} events")
        q, m = _rows("event_quaternion", contents, (t.size, 4)), _rows("event_momentum", contents, (t.size, 3))
        z = _rows("event_state", contents, (t.size, z.shape[1])) if whole.state_names else np.zeros((t.size, 0))
    start = None if whole.saved_potential is None else whole.saved_potential[:1]
    energy = _rows("event_potential_energy", contents, (t.size,)) if t.size and start is not None else np.zeros(0)

    def event(k: int, name: str) -> Solution:
        here = number == k
        potential = None if start is None else np.concatenate([start, energy[here]])
        at = {"t": t[here], "quaternion": q[here], "momentum": m[here], "state": z[here]}
        return dataclasses.replace(whole, **at, saved_potential=potential, metadata={"event": name})

    return tuple(event(k, name) for k, name in enumerate(names))


def _whole(name: str, value: Any) -> int:
    number = float(value)
    if not number.is_integer():
        raise ValueError(f"{name} = {number} is not a whole number")
    return int(value)


def _rows(name: str, contents: Contents, shape: tuple[int, ...]) -> Floats:
    data: Floats = contents.variables[name].data
    if data.dtype != np.float64 or (data.shape != shape if shape else data.ndim != 1):
        raise ValueError(f"{name} has the shape {data.shape} and the type {data.dtype}")
    return data


def attributes_of(name: str) -> dict[str, str]:
    """The long name and the unit of an array in files and tables."""
    if name.endswith("_error"):
        what = name.removesuffix("_error").replace("_", " ")
        return {"long_name": f"relative change of the {what} since the start", "units": "1"}
    long_name, units = _NAMES[name]
    return {"long_name": long_name, **({"units": units} if units else {})}
