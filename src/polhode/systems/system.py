"""A system of bodies: what they are, where they are, and how they move at the start."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from polhode.body import Body
from polhode.support import checks
from polhode.support.arrays import Floats


class System:
    """Bodies with their masses, positions, velocities, attitudes and rates at the start.

    `bodies` is a list of `Body`, or one body that all are like. `position` has a row for each body: the centre of mass
    in space, in m. A single mass, velocity, attitude or rate holds for all bodies; velocities (in space, m/s) and rates
    (in body axes, rad/s) are zero if they are not given, and attitudes those of the axes of space.

    Examples
    --------
    >>> pair = ph.System(
    ...     [ph.Body([1, 2, 2.8]), ph.Body([2, 2, 1])], mass=[1, 2], position=[[0, 0, 0], [3, 0, 0]],
    ...     omega=[[0, 0, 1], [0, 1, 0]],
    ... )
    >>> len(pair.bodies)
    2
    """

    def __init__(
        self, bodies: Body | Iterable[Body], *, mass: Any, position: Any, velocity: Any = None, attitude: Any = None,
        omega: Any = None,
    ) -> None:  # fmt: skip
        where = np.atleast_2d(checks.floats("position", position, "hold three numbers for each body"))
        if where.ndim != 2 or where.shape[1] != 3:
            raise ValueError(f"position must have three numbers for each body, not the shape {where.shape}")
        listed = [bodies] * len(where) if isinstance(bodies, Body) else list(bodies)
        if wrong := [b for b in listed if not isinstance(b, Body)]:
            raise TypeError(f"bodies must be a list of polhode.Body, not of {wrong[0]!r}")
        for b in listed:
            b.check_constant("a system")
        if not listed:
            raise ValueError("a system needs at least one body")
        n = len(listed)
        if len(where) != n:
            raise ValueError(f"there are {n} bodies, but position has {len(where)} rows: give one row for each body")
        self.bodies: tuple[Body, ...] = tuple(listed)
        self.position: Floats = checks.array("position", where, (n, 3))
        self.mass: Floats = _of_each("mass", mass, n, ())
        if not (self.mass > 0).all():
            i = int(np.argmin(self.mass))
            raise ValueError(f"masses must be positive, but that of body {i} is {self.mass[i]:g}")
        self.velocity: Floats = np.zeros((n, 3)) if velocity is None else _of_each("velocity", velocity, n, (3,))
        self.omega: Floats = np.zeros((n, 3)) if omega is None else _of_each("omega", omega, n, (3,))
        q = checks.quaternions("attitude", attitude)
        self.quaternion: Floats = _of_each("attitude", q[0] if len(q) == 1 else q, n, (4,))
        """Attitudes from body to space, scalar first."""
        self.momentum: Floats = np.array([b.momentum(w) for b, w in zip(self.bodies, self.omega, strict=True)])
        """Angular momenta in body axes, kg m^2/s."""

    def __len__(self) -> int:
        return len(self.bodies)

    def __repr__(self) -> str:
        kinds = len({(b.name, b.tensor.tobytes()) for b in self.bodies})
        alike = "all alike" if kinds == 1 else f"of {kinds} kinds"
        return f"<System of {len(self)} bod{'y' if len(self) == 1 else f'ies, {alike}'}, mass {self.mass.sum():g} kg>"

    @property
    def has_rotors(self) -> bool:
        """Whether at least one body is a gyrostat."""
        return any(b.has_rotor for b in self.bodies)

    @property
    def is_tilted(self) -> bool:
        """Whether at least one body has axes that are not its principal axes."""
        return not all(b.aligned for b in self.bodies)

    def replace(self, **changed: Any) -> "System":
        """The same bodies with other masses, positions, velocities, attitudes or rates."""
        given = {
            "mass": self.mass, "position": self.position, "velocity": self.velocity, "attitude": self.quaternion,
            "omega": self.omega,
        }  # fmt: skip
        bodies = changed.pop("bodies", self.bodies)
        if unknown := sorted(changed.keys() - given.keys()):
            raise TypeError(f"a system has no {unknown[0]}: it has bodies, {', '.join(given)}")
        return System(bodies, **(given | changed))


def _of_each(name: str, value: Any, n: int, shape: tuple[int, ...]) -> Floats:
    """Numbers for each body; those for one hold for all."""
    given = checks.floats(name, value, f"hold {'a number' if not shape else 'three numbers'} for each body")
    if given.shape == shape:
        given = np.broadcast_to(given, (n, *shape))
    if given.shape != (n, *shape):
        rows = f"has {len(given)} rows" if given.ndim == 1 + len(shape) else f"has the shape {given.shape}"
        raise ValueError(f"there are {n} bodies, but {name} {rows}: give one row for each body, or one for all")
    return checks.array(name, given, (n, *shape))
