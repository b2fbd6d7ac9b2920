"""The gravity gradient along a circular orbit."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polhode.body import Body
from polhode.kernels.algebra.quat import to_body
from polhode.kernels.algebra.vec import cross, dot
from polhode.kernels.types import Depends, Quat, UserTorque, Vec3
from polhode.support import checks
from polhode.support.arrays import Floats
from polhode.torques._torque import Torque, UserPotential
from polhode.torques.gravity_gradient import scaled_tensor, scaled_tensors, tensor_times

RIGHT_ANGLE_TOLERANCE = 1e-6
"""A cosine between `normal` and `towards` up to this is taken for round-off of the input, and removed."""


def towards_planet(t: float, q: Quat, p: Any) -> Vec3:
    """u = R^T (a cos nt + b sin nt).

    The angle is computed from t each time. Its rounding moves u by no more than the rounding of t itself does.
    """
    c, s = math.cos(p[6] * t), math.sin(p[6] * t)
    return to_body(q, (c * p[7] + s * p[10], c * p[8] + s * p[11], c * p[9] + s * p[12]))


def orbital_torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """3 n^2 u x I u."""
    u = towards_planet(t, q, p)
    return cross(u, tensor_times(p, u))


def orbital_potential(t: float, q: Quat, p: Any) -> float:
    """(3/2) n^2 u . I u."""
    u = towards_planet(t, q, p)
    return 0.5 * dot(u, tensor_times(p, u))


@dataclass(frozen=True)
class OrbitalGravityGradient(Torque):
    """The gravity gradient of a planet about which the body moves on a circular orbit.

    It is `GravityGradient` with c = 3 n^2, but the direction to the planet turns about the orbit normal at the orbital
    rate n, right-handed. The axes of space do not turn. The potential energy depends on time; T + V - n L is conserved,
    with L the spatial angular momentum along the normal.

    Examples
    --------
    >>> pull = ph.OrbitalGravityGradient(orbital_rate=1.1e-3)
    >>> run = ph.simulate(ph.Body([10, 10, 1]), pull, omega=[0, 0, 1.1e-3], t_span=(0, 600), rtol=1e-6)
    >>> run.success
    True
    """

    orbital_rate: float
    """n, in rad/s."""
    normal: Vec3 = (0.0, 0.0, 1.0)
    """The normal of the orbit, in space axes; its length does not matter."""
    towards: Vec3 = (1.0, 0.0, 0.0)
    """The direction from the body to the planet at t = 0, in space axes, perpendicular to `normal`; of any length."""

    depends = Depends.POSITION | Depends.TIME
    has_value_at_all_times = True

    def __post_init__(self) -> None:
        self._settle(
            orbital_rate=checks.number("orbital_rate", self.orbital_rate, positive=True),
            normal=checks.vector("normal", self.normal),
            towards=checks.vector("towards", self.towards),
        )
        cosine = dot(checks.direction("normal", self.normal), checks.direction("towards", self.towards))
        if abs(cosine) > RIGHT_ANGLE_TOLERANCE:
            angle = math.degrees(math.acos(max(-1.0, min(1.0, cosine))))
            raise ValueError(
                f"towards must be perpendicular to normal, but the angle between {self.towards} and {self.normal} "
                f"is {angle:.9g} degrees"
            )

    @classmethod
    def at_distance(
        cls, mu: float, r: float, normal: Vec3 = (0.0, 0.0, 1.0), towards: Vec3 = (1.0, 0.0, 0.0)
    ) -> "OrbitalGravityGradient":
        """Returns the torque on an orbit of radius `r` (m) about a mass of gravitational parameter `mu` (m^3/s^2)."""
        mu, r = checks.number("mu", mu, positive=True), checks.number("r", r, positive=True)
        return cls(math.sqrt(mu / r) / r, normal, towards)

    @property
    def torque_kernel(self) -> UserTorque:
        """3 n^2 u x I u."""
        return orbital_torque

    @property
    def potential_kernel(self) -> UserPotential:
        """(3/2) n^2 u . I u."""
        return orbital_potential

    @property
    def turning(self) -> Vec3:
        """The orbital rate along the normal of the orbit."""
        x, y, z = checks.direction("normal", self.normal)
        return (self.orbital_rate * x, self.orbital_rate * y, self.orbital_rate * z)

    def parameters(self, body: Body) -> Sequence[float]:
        """3 n^2 I, the rate, and two directions: to the planet at the start and a quarter of an orbit later."""
        return (*scaled_tensor(body, 3 * self.orbital_rate**2), *self._orbit())

    def parameter_rows(self, tensors: Floats, rotors: Floats | None = None) -> Floats:
        """Returns the same for many bodies, one row each."""
        return scaled_tensors(tensors, 3 * self.orbital_rate**2, self._orbit())

    def _orbit(self) -> Sequence[float]:
        n = np.array(checks.direction("normal", self.normal))
        later = checks.direction("towards", np.cross(n, self.towards))
        first = checks.direction("towards", np.cross(later, n))
        return (self.orbital_rate, *first, *later)
