"""A constant torque in space axes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from polhode.body import Body
from polhode.kernels.algebra.quat import to_body
from polhode.kernels.types import Quat, UserTorque, Vec3
from polhode.support import checks
from polhode.torques._torque import Torque


def space_torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """R^T times the vector."""
    return to_body(q, (p[0], p[1], p[2]))


@dataclass(frozen=True)
class ConstantSpaceTorque(Torque):
    """A torque that is constant in space axes: the spatial angular momentum grows evenly with time.

    It has no potential. It is symmetric about its own direction, but the momentum along that direction is just what it
    changes; so no axis is declared along which momentum would be conserved.

    Examples
    --------
    >>> push = ph.ConstantSpaceTorque((0, 0, 0.5))
    >>> run = ph.simulate(ph.Body([1, 2, 2.8]), push, omega=[0.1, 2, 0], t_span=(0, 4), method="MR2", step=0.1)
    >>> (run.spatial_momentum[-1] - run.spatial_momentum[0]).round(6) + 0.0
    array([0., 0., 2.])
    """

    vector: Vec3
    """The torque in space axes, in N m."""

    def __post_init__(self) -> None:
        self._settle(vector=checks.vector("vector", self.vector))

    @property
    def torque_kernel(self) -> UserTorque:
        """R^T times the vector."""
        return space_torque

    def parameters(self, body: Body) -> Sequence[float]:
        """The vector."""
        return self.vector
