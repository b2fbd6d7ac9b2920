"""A ring inside a body that lags behind its motion, and so takes energy from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from polhode.body import Body
from polhode.kernels.algebra.vec import cross, dot
from polhode.kernels.types import Depends, Quat, UserTorque, Vec3
from polhode.support import checks
from polhode.support.arrays import Floats
from polhode.torques._spin import check_whole, spin_energy, spin_momentum, without_spin
from polhode.torques._torque import Torque


def ring_torque(t: float, q: Quat, w: Vec3, p: Any, z: Any) -> tuple[Vec3, tuple[float]]:
    """The torque of a ring with the momentum z[0], and the torque on the ring: -c s."""
    a = (p[0], p[1], p[2])
    u = -p[4] * (z[0] * p[3] - dot(a, w))
    g = cross((a[0] * z[0], a[1] * z[0], a[2] * z[0]), w)
    return (g[0] - a[0] * u, g[1] - a[1] * u, g[2] - a[2] * u), (u,)


def sprung_torque(t: float, q: Quat, w: Vec3, p: Any, z: Any) -> tuple[Vec3, tuple[float, float]]:
    """The torque of a ring on a spring, the torque on the ring, -c s - k x, and its speed s = x'."""
    a = (p[0], p[1], p[2])
    s = z[0] * p[3] - dot(a, w)
    u = -p[4] * s - p[5] * z[1]
    g = cross((a[0] * z[0], a[1] * z[0], a[2] * z[0]), w)
    return (g[0] - a[0] * u, g[1] - a[1] * u, g[2] - a[2] * u), (u, s)


@dataclass(frozen=True)
class Damper(Torque):
    """A ring that turns about an axis fixed in the body, in a thick fluid and on a spring if it has one.

    It takes energy from the body, c s^2 in W with s the speed of the ring relative to the body, and no momentum: that
    of body and ring together is kept. It carries the momentum of the ring along its axis, `ring` = J (s + a . w) in
    N m s, and with a spring its angle relative to the body, `angle` in rad. The body of the simulation must not contain
    the spin inertia J: `damper.carrier(whole)` is that body. A ring of fluid is one without a spring.

    Examples
    --------
    >>> ring = ph.Damper(spin_axis=(1, 0, 0), inertia=0.1, viscous=0.05)
    >>> body = ring.carrier(ph.Body([1, 2, 2.8]))
    >>> run = ph.simulate(body, ring, omega=[0.1, 0, 2], t_span=(0, 20), method="RK4", step=0.1)
    >>> run.state_names
    ('ring',)
    >>> bool(abs(run.omega[-1, 0]) < 0.06)
    True
    """

    example: ClassVar[dict[str, Any]] = {"spin_axis": (0.0, 0.0, 1.0), "inertia": 0.1, "viscous": 0.02}
    spin_axis: Vec3
    """The axis of the ring, in body axes; its length does not matter."""
    inertia: float
    """The moment of inertia J of the ring about its axis, in kg m^2."""
    viscous: float
    """c: the torque between ring and body over their relative speed, in N m s."""
    spring: float = 0.0
    """k: the torque that turns the ring back over its angle, in N m/rad; 0: there is no spring."""
    speed: float = 0.0
    """The speed of the ring at the start relative to the body, in rad/s, used where `state` is not given."""
    angle: float = 0.0
    """The angle of the ring at the start relative to the body, in rad, used where `state` is not given."""

    depends = Depends.POSITION | Depends.RATE
    reads_attitude = False

    def __post_init__(self) -> None:
        checks.direction("spin_axis", self.spin_axis)
        numbers = {name: checks.number(name, getattr(self, name)) for name in ("viscous", "spring", "speed", "angle")}
        for name in ("viscous", "spring"):
            if numbers[name] < 0.0:
                raise ValueError(f"{name} must be positive or zero, not {numbers[name]:g}")
        if numbers["angle"] and not numbers["spring"]:
            raise ValueError("an angle at the start has a meaning for a ring on a spring only: give spring")
        self._settle(
            spin_axis=checks.vector("spin_axis", self.spin_axis),
            inertia=checks.number("inertia", self.inertia, positive=True),
            state_names=("ring", "angle") if numbers["spring"] else ("ring",), **numbers,
        )  # fmt: skip

    @property
    def _unit(self) -> Vec3:
        return checks.direction("spin_axis", self.spin_axis)

    @property
    def torque_kernel(self) -> UserTorque:
        """The opposite of the torque on the ring, less w x a h; and what changes the carried numbers."""
        return sprung_torque if self.spring else ring_torque

    def parameters(self, body: Body) -> Sequence[float]:
        """The axis, the inverse of the inertia, the viscous coefficient, and that of the spring if there is one."""
        return (*self._unit, 1.0 / self.inertia, self.viscous, *((self.spring,) if self.spring else ()))

    # --- what the carried numbers mean

    def carrier(self, body: Body) -> Body:
        """The body for a simulation, without the spin inertia, from the one in which the ring is locked."""
        return without_spin(body, [self._unit], [self.inertia])

    def check_body(self, body: Body) -> None:
        """Raises ValueError if the ring is too large for the body."""
        check_whole(body, [self._unit], [self.inertia])

    def state_at_start(self, omega: Floats) -> Floats:
        """The carried numbers for `speed` and `angle` at the start, at one rate or many."""
        momentum = self.inertia * (self.speed + omega @ np.array(self._unit))
        return np.stack([momentum, np.full_like(momentum, self.angle)][: len(self.state_names)], axis=-1)

    def carried_momentum(self, state: Floats) -> Floats:
        """The momentum a h of the ring, in body axes, for one row of carried numbers or a stack of them."""
        return spin_momentum([self._unit], state[..., :1])

    def carried_energy(self, state: Floats) -> Floats:
        """Returns h^2 / 2J, and k x^2 / 2 of the spring, in J."""
        energy = spin_energy([self.inertia], state[..., :1])
        return np.asarray(energy + 0.5 * self.spring * state[..., 1] ** 2) if self.spring else energy
