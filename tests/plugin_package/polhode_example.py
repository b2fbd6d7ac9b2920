"""A package that adds a method and a torque to polhode."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from polhode.body import Body
from polhode.kernels.types import Quat, UserTorque, Vec3
from polhode.methods import compose
from polhode.methods.axes import MR2
from polhode.torques import Torque

McLachlan4 = compose(
    MR2,
    (0.28, 0.62546642846767004501, 1 - 2 * (0.28 + 0.62546642846767004501), 0.62546642846767004501, 0.28),
    name="McLachlan4",
    order=4,
    summary="five steps of MR2 in a row, of order 4",
    about="Five steps of MR2 with McLachlan's fractions.",
    cite="",
)


def spring_torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """Pulls the body back about each axis of space, as far as the vector part of q goes."""
    return (-p[0] * q[1], -p[0] * q[2], -p[0] * q[3])


@dataclass(frozen=True)
class Spring(Torque):
    """A spring that pulls the body towards the attitude in which its axes are those of space."""

    stiffness: float
    """Torque per unit of the quaternion's vector part, in N m."""

    @property
    def torque_kernel(self) -> UserTorque:
        """The pull."""
        return spring_torque

    def parameters(self, body: Body) -> Sequence[float]:
        """The stiffness."""
        return (self.stiffness,)
