"""A constant torque in body axes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from polhode.body import Body
from polhode.kernels.types import Quat, UserTorque, Vec3
from polhode.support import checks
from polhode.torques._torque import Torque


def body_torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """The vector itself."""
    return (p[0], p[1], p[2])


@dataclass(frozen=True)
class ConstantBodyTorque(Torque):
    """A torque that is constant in body axes, such as that of thrusters fixed to the body. It has no potential.

    Examples
    --------
    >>> thrust = ph.ConstantBodyTorque((0, 0, 0.6))
    >>> run = ph.simulate(ph.Body([1, 2, 3]), thrust, omega=[0, 0, 1], t_span=(0, 10), rtol=1e-9)
    >>> run.omega[-1].round(6)
    array([0., 0., 3.])
    """

    vector: Vec3
    """The torque in body axes, in N m."""

    reads_attitude = False

    def __post_init__(self) -> None:
        self._settle(vector=checks.vector("vector", self.vector))

    @property
    def torque_kernel(self) -> UserTorque:
        """The vector itself."""
        return body_torque

    def parameters(self, body: Body) -> Sequence[float]:
        """The vector."""
        return self.vector
