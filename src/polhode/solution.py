"""What a run leaves: times, states, how it ended, and everything that follows from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode._check import Floats
from polhode.body import Body
from polhode.compiled import program
from polhode.core import status as codes
from polhode.core.drive import potential_rows
from polhode.core.types import Depends
from polhode.methods import Method
from polhode.torques import Torque

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation

INTERPRETED_ROWS = 20_000
"""Up to so many rows a potential is evaluated in plain Python, which is quicker than to compile it."""


@dataclass(frozen=True, eq=False)
class Run:
    """How a solution was made: enough to go on with it."""

    body: Body
    torque: Torque
    method: Method
    step: float
    """Signed: negative when time runs backward."""
    t_start: float
    t_end: float
    """Where it was to go."""
    every: int | None
    """Output every so many steps; None: at the times the user listed."""
    quaternion_start: Floats
    momentum_start: Floats
    """The state at `t_start`, in the user's axes: what errors are measured against."""
    steps: int = 0
    nfev: int = 0
    """Torque evaluations."""
    seconds: float = 0.0
    """Wall time in compiled code."""


@dataclass(frozen=True, eq=False)
class Solution:
    """A motion: `t`, `attitude`, `omega` and what follows from them.

    All arrays have one row an output time. Components are in the body axes of the user unless a name says `spatial`.
    """

    run: Run
    t: Floats
    quaternion: Floats
    """Body to space, scalar first, as computed: its norm shows the accumulated round-off."""
    momentum: Floats
    """Angular momentum in body axes, kg m^2/s."""
    status: int
    message: str
    t_last: float
    """The last time that was reached; later than `t[-1]` if no output was due there."""
    last_quaternion: Floats
    last_momentum: Floats
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def success(self) -> bool:
        """Whether the run reached its end."""
        return self.status == codes.OK

    @property
    def nfev(self) -> int:
        """Torque evaluations."""
        return self.run.nfev

    @property
    def body(self) -> Body:
        """The body."""
        return self.run.body

    @property
    def torque(self) -> Torque:
        """The torque."""
        return self.run.torque

    @property
    def method(self) -> str:
        """The name of the method."""
        return self.run.method.name

    @property
    def step(self) -> float:
        """The step, in s."""
        return self.run.step

    @cached_property
    def omega(self) -> Floats:
        """Angular velocity in body axes, rad/s."""
        return self.body.rate(self.momentum)

    @cached_property
    def attitude(self) -> Rotation:
        """The rotation from body to space axes."""
        from scipy.spatial.transform import Rotation

        return Rotation.from_quat(self.quaternion, scalar_first=True)

    @cached_property
    def spatial_momentum(self) -> Floats:
        """Angular momentum in space axes."""
        return _to_space(self.quaternion, self.momentum)

    @cached_property
    def kinetic_energy(self) -> Floats:
        """w . I w / 2, in J."""
        return _dots(self.omega, self.momentum) / 2

    @cached_property
    def potential_energy(self) -> Floats:
        """The potential of the torque, in J; NaN where the torque has none."""
        return self._potentials(self.t, self.quaternion)

    @cached_property
    def energy(self) -> Floats:
        """Kinetic plus potential energy, in J; NaN where the torque has no potential."""
        return self.kinetic_energy + self.potential_energy

    def _energies(self, t: Floats, q: Floats, m: Floats) -> Floats:
        return _dots(self.body.rate(m), m) / 2 + self._potentials(t, q)

    def _potentials(self, t: Floats, q: Floats) -> Floats:
        potential = self.torque.potential_kernel
        if potential is None:
            return np.full(t.size, np.nan)
        values = np.array(self.torque.parameters(self.body), dtype=np.float64)
        if t.size <= INTERPRETED_ROWS:
            rows = zip(t.tolist(), map(tuple, q.tolist()), strict=True)
            return np.array([potential(t, q, values) for t, q in rows], dtype=np.float64)
        out = np.empty(t.size)
        fill = program(potential_rows(potential), "ppppii")
        fill(values, t, np.ascontiguousarray(q), out, values.size, out.size)
        return out

    @cached_property
    def invariant_errors(self) -> dict[str, Floats]:
        """For each quantity that the exact motion conserves, its relative change since the start.

        Energies are relative to the largest of the initial energy and the kinetic energies, momenta to the largest
        momentum. Where that is zero the change is absolute.
        """
        run, errors = self.run, dict[str, Floats]()
        start = np.atleast_2d(run.momentum_start)
        if self.torque.conserves_energy:
            first = float(self._energies(np.array([run.t_start]), np.atleast_2d(run.quaternion_start), start)[0])
            scale = max(abs(first), float(self.kinetic_energy.max(initial=0.0))) or 1.0
            errors["energy"] = np.abs(self.energy - first) / scale
        norm, norm_start = np.sqrt(_dots(self.momentum, self.momentum)), float(np.sqrt(_dots(start, start))[0])
        scale = max(float(norm.max(initial=0.0)), norm_start) or 1.0
        change = self.spatial_momentum - _to_space(np.atleast_2d(run.quaternion_start), start)
        if self.torque.depends is Depends.NOTHING:
            errors["momentum norm"] = np.abs(norm - norm_start) / scale
            errors["spatial momentum"] = np.sqrt(_dots(change, change)) / scale
        elif self.torque.axis is not None:
            errors["axial momentum"] = np.abs(change @ np.array(self.torque.axis)) / scale
        errors["quaternion norm"] = np.abs(np.sqrt(_dots(self.quaternion, self.quaternion)) - 1.0)
        return errors

    @property
    def energy_error(self) -> Floats:
        """Relative change of the energy since the start, for torques that conserve it."""
        return self._invariant("energy")

    @property
    def momentum_error(self) -> Floats:
        """Relative change of the conserved part of the spatial momentum: all of it, or along the torque's axis."""
        return self._invariant("spatial momentum" if "spatial momentum" in self.invariant_errors else "axial momentum")

    def _invariant(self, name: str) -> Floats:
        try:
            return self.invariant_errors[name]
        except KeyError:
            raise AttributeError(
                f"{self.torque.name} does not conserve the {name}, so there is no error to speak of; "
                f"conserved are: {', '.join(self.invariant_errors)}"
            ) from None


def _dots(a: Floats, b: Floats) -> Floats:
    """Row by row a . b."""
    products: Floats = np.einsum("ij,ij->i", a, b)
    return products


def _to_space(q: Floats, v: Floats) -> Floats:
    """R v for stacks of quaternions and vectors; R is that of the normalised quaternion."""
    u = q[:, 1:]
    turned = 2.0 * np.cross(u, v)
    moved: Floats = v + (q[:, :1] * turned + np.cross(u, turned)) / _dots(q, q)[:, None]
    return moved
