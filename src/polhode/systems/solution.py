"""What a run of a system leaves: times, states of all bodies, how it ended, and what follows from them."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.attitudes import WithMomenta
from polhode.kernels.status import Status
from polhode.problem import Stats
from polhode.support import checks
from polhode.support.arrays import Floats, dots, lengths, to_space
from polhode.systems.forces import Forces, box_of, energies_of, sides_of
from polhode.systems.steps import Langevin
from polhode.systems.system import System

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure
    from scipy.spatial.transform import Rotation
    from xarray import Dataset


@dataclass(frozen=True, eq=False)
class SystemSolution(WithMomenta):
    """The motion of a system: arrays with a row for each output time and, in it, one for each body.

    Positions, velocities and spatial momenta are in space; rates and momenta are in the axes of each body.

    Examples
    --------
    >>> two = ph.System(
    ...     [ph.Body([1, 2, 2.8])] * 2, mass=1.0, position=[[0, 0, 0], [3, 0, 0]], velocity=[[0, 0, 1], [0, 0, 0]]
    ... )
    >>> run = ph.simulate_system(two, t_span=(0, 1), step=0.1)
    >>> run.position[-1].round(6)
    array([[0., 0., 1.],
           [3., 0., 0.]])
    """

    system: System
    """The bodies, as they were at the start of the whole run."""
    forces: Forces
    method: str
    step: float
    """The length of the steps; their mean where they adapt."""
    stats: Stats
    """What it took: steps, evaluations of the forces, seconds."""
    t: Floats
    position: Floats
    """(rows, bodies, 3), in m."""
    quaternion: Floats
    """(rows, bodies, 4): attitudes from body to space, scalar first."""
    velocity: Floats
    """(rows, bodies, 3), in m/s."""
    momentum: Floats
    """(rows, bodies, 3): angular momenta about the centres of mass in body axes, in kg m^2/s."""
    status: Status
    message: str
    t_span: tuple[float, float]
    t_last: float
    """The last time that was reached."""
    last: Floats
    """The state there, as the compiled loop has it: `resume_system` goes on with it."""
    grid: tuple[float, int]
    """Where the grid of the steps begins, and the number of the step that follows."""
    heat: Langevin | None = None
    error_estimate: float | None = None
    """Where a tolerance was asked for: the largest error over the rows, see `simulate_system`."""
    rtol: float | None = None
    step_error: float | None = None
    """Where steps adapt: the error that each may have, as its polynomial suggests; `resume_system` goes on with it."""
    events: tuple[SystemSolution, ...] = ()
    """The rows at which each event happened, with its name in their metadata."""
    metadata: dict[str, Any] = field(default_factory=dict)
    saved_potential: Floats | None = None
    """The potential energy at the start and in each row, for a solution from a file."""

    @property
    def nfev(self) -> int:
        """The number of evaluations of the forces."""
        return self.stats.nfev

    def having(self, **changed: Any) -> SystemSolution:
        """The same motion with other remarks on it."""
        return dataclasses.replace(self, **changed)

    def followed_by(self, later: SystemSolution, skip: int, *, same_events: bool) -> SystemSolution:
        """This motion and a later stretch of it as one; `skip` rows of that are here already.

        Where the same events were watched, each has one list of rows.
        """
        events = (*self.events, *later.events)
        if same_events:
            both = zip(self.events, later.events, strict=True)
            events = tuple(b.having(**_joined(a, b, 0), metadata=a.metadata, saved_potential=None) for a, b in both)
        return later.having(
            **_joined(self, later, skip), stats=self.stats + later.stats, t_span=(self.t_span[0], later.t_span[1]),
            events=events, metadata=self.metadata, saved_potential=None,
        )  # fmt: skip

    # --- what follows from the states

    @cached_property
    def omega(self) -> Floats:
        """Angular velocities in body axes, (rows, bodies, 3), in rad/s."""
        return np.stack([b.rate(self.momentum[:, i]) for i, b in enumerate(self.system.bodies)], axis=1)

    def attitude(self, body: int) -> Rotation:
        """The attitudes of one body, as a rotation with one entry for each row."""
        from scipy.spatial.transform import Rotation

        return Rotation.from_quat(self.quaternion[:, body], scalar_first=True)

    @cached_property
    def kinetic_energy(self) -> Floats:
        """The kinetic energy of all bodies, of flight and of rotation, in J."""
        return self.translational_energy + self.rotational_energy

    @cached_property
    def translational_energy(self) -> Floats:
        """The kinetic energy of the flight of all bodies, in J."""
        return _flight(self.system, self.velocity)

    @cached_property
    def rotational_energy(self) -> Floats:
        """The kinetic energy of the rotation of all bodies, in J."""
        return _rotation(self.system, self.momentum)

    @cached_property
    def potential_energy(self) -> Floats:
        """The potential energy, in J; NaN where the forces have none."""
        if self.saved_potential is not None:
            return self.saved_potential[1:]
        found = energies_of(self.forces, self.system, self.t, self.position, self.quaternion)
        return np.full(self.t.size, np.nan) if found is None else found

    @cached_property
    def potential_at_start(self) -> float:
        """The potential energy at the start of the run."""
        if self.saved_potential is not None:
            return float(self.saved_potential[0])
        s, t = self.system, np.array([self.t_span[0]])
        found = energies_of(self.forces, s, t, s.position[None], s.quaternion[None])
        return float("nan") if found is None else float(found[0])

    @property
    def has_potential(self) -> bool:
        """Whether the potential energy is known."""
        return self.saved_potential is not None or self.forces.has_potential

    @cached_property
    def total_momentum(self) -> Floats:
        """The momentum of the system, (rows, 3), in kg m/s."""
        return np.asarray((self.system.mass[:, None] * self.velocity).sum(axis=1))

    @cached_property
    def total_angular_momentum(self) -> Floats:
        """The angular momentum of the system about the origin, or about the centre of its forces, (rows, 3)."""
        return _angular(self.system, self.position, self.quaternion, self.velocity, self.momentum, self.forces.centre)

    @cached_property
    def temperature(self) -> Floats:
        """Boltzmann's constant times the kinetic temperature, in J: twice the kinetic energy over 6 n."""
        return 2.0 * self.kinetic_energy / (6 * len(self.system))

    def radial_distribution(
        self, first: Any = (0.0, 0.0, 0.0), second: Any = None, *, bins: int = 100, r_max: float | None = None,
        box: Any = None, bodies: Any = None,
    ) -> tuple[Floats, Floats]:  # fmt: skip
        """Distances, and how dense points of other bodies are there: 1 where they are spread evenly.

        `first` is a point in body axes, by default the centre of mass; `second` is that of the other body, by default
        the same. The mean is over all rows and all pairs of `bodies`, by their numbers, by default all. Distances are
        those of nearest images, in `bins` parts up to `r_max`, by default half the least side of the box: that of the
        forces, or `box`.

        Examples
        --------
        >>> draw = np.random.default_rng(1)
        >>> gas = ph.System(ph.Body([1, 2, 2.8]), mass=1, position=draw.uniform(0, 5, (200, 3)))
        >>> run = ph.simulate_system(gas, t_span=(0, 1), step=1.0)
        >>> r, g = run.radial_distribution(box=5.0, bins=4)
        >>> r.tolist(), bool(abs(g - 1).max() < 0.5)
        ([0.3125, 0.9375, 1.5625, 2.1875], True)
        """
        given = box_of(self.forces) if box is None else sides_of(box)
        if given is None:
            raise ValueError("a radial distribution needs a density, and so a box: give its sides as box=")
        side, count = np.array(given), checks.count("bins", bins)
        reach = side.min() / 2 if r_max is None else checks.number("r_max", r_max, positive=True)
        if reach > side.min() / 2:
            raise ValueError(f"r_max must be at most half the least side of the box, {side.min() / 2:g}, not {reach:g}")
        which = np.arange(len(self.system)) if bodies is None else np.unique(np.asarray(bodies, dtype=np.intp))
        if which.size < 2 or which[0] < 0 or which[-1] >= len(self.system):
            raise ValueError(f"bodies must be two or more of the numbers 0 to {len(self.system) - 1}, not {bodies!r}")
        if not self.t.size:
            raise ValueError("there are no rows to count distances in")
        edges, x, q = np.linspace(0.0, reach, count + 1), self.position[:, which], self.quaternion[:, which]
        points = [
            x + to_space(q, np.array(checks.vector("a point", p)))
            for p in ((first,) if second is None else (first, second))
        ]
        i, j = np.nonzero(~np.eye(which.size, dtype=bool)) if second is not None else np.triu_indices(which.size, 1)
        found = np.zeros(count)
        for k in range(self.t.size):
            d = points[-1][k, j] - points[0][k, i]
            found += np.histogram(lengths(d - side * np.round(d / side)), edges)[0]
        shells = 4.0 / 3.0 * np.pi * np.diff(edges**3)
        return 0.5 * (edges[1:] + edges[:-1]), found / (self.t.size * i.size) * side.prod() / shells

    @cached_property
    def invariant_errors(self) -> dict[str, Floats]:
        """Errors of what the forces conserve, relative to the start, by name.

        The error of the energy is over the kinetic energy plus the size of the potential energy at the start. Errors
        of momenta are over the sum of the sizes of the momenta of all bodies at the start: total momenta are often
        zero. Where such a divisor is zero, the largest one in the output takes its place.
        """
        s, errors = self.system, {}
        if self.heat is None and self.has_potential and not self.forces.depends_on_time:
            kinetic = float(_flight(s, s.velocity[None])[0] + _rotation(s, s.momentum[None])[0])
            start, size = kinetic + self.potential_at_start, kinetic + abs(self.potential_at_start)
            errors["energy"] = _over(np.abs(self.energy - start), size, self.kinetic_energy)
        if self.heat is None and self.forces.keeps_momentum:
            start3 = (s.mass[:, None] * s.velocity).sum(axis=0)
            sizes = (s.mass * lengths(self.velocity)).sum(axis=1)
            errors["momentum"] = _over(
                lengths(self.total_momentum - start3), float((s.mass * lengths(s.velocity)).sum()), sizes
            )
        if self.heat is None and self.forces.keeps_angular_momentum:
            c = self.forces.centre
            start3 = _angular(s, s.position[None], s.quaternion[None], s.velocity[None], s.momentum[None], c)[0]
            size = float(_angular_sizes(s, s.position[None], s.velocity[None], s.momentum[None], c)[0])
            sizes = _angular_sizes(s, self.position, self.velocity, self.momentum, c)
            errors["angular momentum"] = _over(lengths(self.total_angular_momentum - start3), size, sizes)
        norms = np.abs(lengths(self.quaternion) - 1.0)
        return errors | {"quaternion norm": norms.max(axis=1) if norms.size else np.zeros(self.t.size)}

    @property
    def energy_error(self) -> Floats:
        """The relative change of the energy since the start, for forces that conserve it."""
        return self._invariant("energy")

    def _invariant(self, name: str) -> Floats:
        try:
            return self.invariant_errors[name]
        except KeyError:
            raise AttributeError(
                f"{self.forces.name} does not conserve the {name}; conserved are: {', '.join(self.invariant_errors)}"
            ) from None

    def __repr__(self) -> str:
        errors = ", ".join(f"{k} {float(e.max(initial=0.0)):.1e}" for k, e in self.invariant_errors.items())
        steps = f"step {self.step:.6g} s"
        if self.step_error is not None and self.stats.steps:
            steps = f"steps of {abs(self.t_last - self.t_span[0]) / self.stats.steps:.3g} s on average"
        lines = [
            ("system", repr(self.system)),
            ("forces", self.forces.name),
            ("method", f"{self.method}, {steps}"),
            ("time", f"{self.t_span[0]:.6g} to {self.t_last:.6g} s, {self.stats.steps:,} steps, {self.t.size:,} rows"),
            ("status", self.message),
            *([] if self.error_estimate is None else [("estimate", f"error at most {self.error_estimate:.1e}")]),
            ("errors", f"{errors} (relative, largest)"),
        ]
        return "\n".join(["SystemSolution", *(f"  {name:<9} {value}" for name, value in lines)])

    # --- pictures

    def plot(
        self, *what: str | os.PathLike[str], path: str | os.PathLike[str] | None = None
    ) -> Figure:  # fmt: skip
        """Draws the motion over time as a Matplotlib figure; events are marked.

        By default there are panels for the energies, the temperature and the errors of what should be conserved. `what`
        chooses among them, "energies", "temperature" and "errors", and what `to_xarray` has over time, such as
        `plot("position", "omega")`: of many bodies the median and bands of a half and of nine tenths. With a path,
        which may come first, the figure is saved there, too, as PNG, SVG or PDF.
        """
        from polhode.plots.plot import finished, path_first
        from polhode.plots.plot_many import draw_system
        from polhode.systems.files import table_of

        path, names = path_first(what, path)
        figure = draw_system(self, table_of(self), [os.fspath(name) for name in names])
        return finished(figure, path)

    def animate(
        self, path: str | os.PathLike[str], *, t_span: tuple[float, float] | None = None, seconds: float = 8.0,
        fps: int = 15, overwrite: bool = False,
    ) -> Path:  # fmt: skip
        """Writes a moving picture of all bodies, as GIF or MP4 by the ending of the name, and returns its place.

        Bodies are boxes of their mass and moments, at their places; between rows they turn on arcs. It lasts `seconds`,
        in which the time goes through `t_span`, by default all times. MP4 needs ffmpeg.
        """
        from polhode.page.content import BodyRun
        from polhode.plots.plot_moving import animate_bodies

        runs = [BodyRun(self, i, t_span) for i in range(len(self.system))]
        return animate_bodies(runs, self.system.mass, path, seconds=seconds, fps=fps, overwrite=overwrite)

    def view(
        self, path: str | os.PathLike[str] | None = None, *, bodies: Any = None,
        t_span: tuple[float, float] | None = None, title: str | None = None,
    ) -> Any:  # fmt: skip
        """Shows bodies turning side by side, with their curves: in a notebook as a widget, else in the browser.

        `bodies` are their numbers, by default the first twelve. With a path the page is written there instead, as one
        HTML file that needs no network. Between rows bodies turn on arcs: take rows near enough.
        """
        from polhode.page.content import MOST_RUNS, BodyRun
        from polhode.page.display import made_page, shown

        which = range(min(len(self.system), MOST_RUNS)) if bodies is None else np.atleast_1d(bodies).tolist()
        if wrong := [i for i in which if not 0 <= i < len(self.system)]:
            raise IndexError(f"{wrong[0]} is no body; there are bodies 0 to {len(self.system) - 1}")
        return shown(made_page([BodyRun(self, i, t_span) for i in which], title=title), path)

    # --- files and tables

    def to_xarray(self) -> Dataset:
        """Everything as an xarray Dataset, with units and the dimension `body`."""
        from polhode.systems.files import dataset

        return dataset(self)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes a NetCDF file from which `polhode.load` makes the same solution, and which xarray can open.

        It keeps the potential energies, but of the forces only their name: give them again to go on.
        """
        from polhode.systems.files import save

        save(self, path, overwrite=overwrite)

    def to_xyz(
        self, path: str | os.PathLike[str], *, sites: Any = None, species: Any = None, extended: bool = True,
        box: Any = None, scale: float = 1.0, overwrite: bool = False,
    ) -> None:  # fmt: skip
        """Writes the motion as an XYZ file: extended, as OVITO and ASE read it, or plain.

        Without `sites` there is a particle for each body, with position, velocity and, in the extended format, its
        orientation as OVITO takes it. With `sites`, positions in body axes as one list for all bodies or a list for
        each, there is a particle for each site. `species` are the names of particles: one for all, or as many as there
        are particles in a body. `box` has the sides of a periodic box, and `scale` multiplies all lengths: 1e10 writes
        metres as Angstrom.
        """
        from polhode.systems.files import write_xyz

        write_xyz(
            self, path, sites=sites, species=species, extended=extended, box=box, scale=scale, overwrite=overwrite
        )


def _joined(first: SystemSolution, second: SystemSolution, skip: int) -> dict[str, Floats]:
    """The rows of two solutions, of the second without the first few."""
    return {
        name: np.concatenate([getattr(first, name), getattr(second, name)[skip:]])
        for name in ("t", "position", "quaternion", "velocity", "momentum")
    }


def _over(errors: Floats, size: float, sizes: Floats) -> Floats:
    size = size if size > 0 else float(sizes.max(initial=0.0))
    return errors / size if size > 0 else errors


def _flight(system: System, velocity: Floats) -> Floats:
    return np.asarray((0.5 * system.mass * dots(velocity, velocity)).sum(axis=1))


def _rotation(system: System, momentum: Floats) -> Floats:
    total = np.zeros(len(momentum))
    for i, b in enumerate(system.bodies):
        total += dots(b.rate(momentum[:, i]), b.own_momentum(momentum[:, i])) / 2
    return total


def kinetic_temperature(system: System) -> float:
    """KT of the motion at the start: twice the kinetic energy over 6 n."""
    kinetic = _flight(system, system.velocity[None])[0] + _rotation(system, system.momentum[None])[0]
    return float(kinetic) / (3 * len(system))


def _angular(system: System, x: Floats, q: Floats, v: Floats, m: Floats, centre: tuple[float, ...]) -> Floats:
    orbital = np.cross(x - np.array(centre), system.mass[:, None] * v)
    return np.asarray((orbital + to_space(q, m)).sum(axis=1))


def _angular_sizes(system: System, x: Floats, v: Floats, m: Floats, centre: tuple[float, ...]) -> Floats:
    orbital = np.cross(x - np.array(centre), system.mass[:, None] * v)
    return np.asarray((lengths(orbital) + lengths(m)).sum(axis=1))
