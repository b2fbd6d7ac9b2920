"""The gravity gradient, with the attracting mass in a fixed direction."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polhode import _check
from polhode._arrays import Floats
from polhode.body import Body
from polhode.core.quat import to_body, upright_to_body
from polhode.core.types import Quat, UserTorque, Vec3
from polhode.core.vec import cross, dot
from polhode.torques._torque import Torque, UserPotential, is_upright


def scaled_tensor(body: Body, c: float) -> list[float]:
    """Returns c I in the user's axes, as the six numbers with which p begins: xx, yy, zz, xy, xz, yz."""
    tensor = c * body.tensor
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = tensor.tolist()
    return [xx, yy, zz, xy, xz, yz]


def scaled_tensors(tensors: Floats, c: float, others: Sequence[float]) -> Floats:
    """Returns the same for a stack of tensors, one row each, followed by `others`, which are the same for all."""
    xx, yy, zz, xy, xz, yz = (c * tensors[:, i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    same = (np.full(len(tensors), x) for x in others)
    return np.stack([xx, yy, zz, xy, xz, yz, *same], axis=1)


def tensor_times(p: Any, u: Vec3) -> Vec3:
    """c I u."""
    return (dot((p[0], p[3], p[4]), u), dot((p[3], p[1], p[5]), u), dot((p[4], p[5], p[2]), u))


def gradient_torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """c u x I u, with u = R^T n."""
    u = to_body(q, (p[6], p[7], p[8]))
    return cross(u, tensor_times(p, u))


def upright_gradient_torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """c u x I u, where the mass lies along the third axis of space."""
    u = upright_to_body(q, p[8])
    return cross(u, tensor_times(p, u))


def gradient_potential(t: float, q: Quat, p: Any) -> float:
    """(c/2) u . I u."""
    u = to_body(q, (p[6], p[7], p[8]))
    return 0.5 * dot(u, tensor_times(p, u))


@dataclass(frozen=True)
class GravityGradient(Torque):
    """The gravity gradient of a distant point mass that stays in one direction of space.

    With u the unit vector to the mass seen from the body, the torque is c u x I u and the potential energy
    (c/2) u . I u: the axis of the least moment is drawn towards the mass.  [celledoni2006, sec. 4.3]
    """

    strength: float
    """c = 3 mu / r^3, in s^-2."""
    direction: Vec3 = (0.0, 0.0, 1.0)
    """The direction from the body to the attracting mass, in space axes; its length does not matter."""

    def __post_init__(self) -> None:
        self._settle(
            strength=_check.number("strength", self.strength), direction=_check.vector("direction", self.direction)
        )
        self._settle(upright=is_upright(_check.direction("direction", self.direction)))

    @classmethod
    def at_distance(cls, mu: float, r: float, direction: Vec3 = (0.0, 0.0, 1.0)) -> "GravityGradient":
        """Returns the torque of a mass with the gravitational parameter `mu` (m^3/s^2) at the distance `r` (m)."""
        mu, r = _check.number("mu", mu, positive=True), _check.number("r", r, positive=True)
        return cls(3 * mu / r**3, direction)

    @property
    def torque_kernel(self) -> UserTorque:
        """c u x I u."""
        return upright_gradient_torque if self.upright else gradient_torque

    @property
    def potential_kernel(self) -> UserPotential:
        """(c/2) u . I u."""
        return gradient_potential

    def parameters(self, body: Body) -> Sequence[float]:
        """c I and the direction."""
        return (*scaled_tensor(body, self.strength), *self.axis)

    def parameter_rows(self, tensors: Floats) -> Floats:
        """Returns the same for many bodies, one row each."""
        return scaled_tensors(tensors, self.strength, self.axis)

    @property
    def axis(self) -> Vec3:
        """The direction to the mass."""
        return _check.direction("direction", self.direction)
