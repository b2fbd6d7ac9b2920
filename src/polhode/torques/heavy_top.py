"""A uniform force at a point of the body."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from polhode.body import Body
from polhode.kernels.algebra.quat import to_body, upright_to_body
from polhode.kernels.algebra.vec import cross, dot
from polhode.kernels.types import Quat, UserTorque, Vec3
from polhode.support import checks
from polhode.torques._torque import Torque, is_upright


def weight_torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """r x R^T f."""
    return cross((p[0], p[1], p[2]), to_body(q, (p[3], p[4], p[5])))


def upright_weight_torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """r x R^T f, where the force is along the third axis of space."""
    return cross((p[0], p[1], p[2]), upright_to_body(q, p[5]))


def weight_potential(t: float, q: Quat, p: Any) -> float:
    """-f . R r."""
    return -dot((p[0], p[1], p[2]), to_body(q, (p[3], p[4], p[5])))


@dataclass(frozen=True)
class HeavyTop(Torque):
    """A constant force in space, such as the weight, that acts at a point fixed in the body.

    The body turns about the origin of its axes. The torque is r x R^T f, the potential energy -f . R r.

    Examples
    --------
    >>> pull, tilted = ph.HeavyTop(weight=20), [0.96, 0.28, 0, 0]
    >>> top = ph.simulate(ph.Body([5, 5, 1]), pull, omega=[0, 0, 50], attitude=tilted, t_span=(0, 2), rtol=1e-6)
    >>> bool(top.energy_error.max() < 1e-6)
    True
    """

    weight: float
    """Magnitude of the force, in N."""
    point: Vec3 = (0.0, 0.0, 1.0)
    """The point where the force acts, in body axes, in m: for the weight, the centre of mass."""
    down: Vec3 = (0.0, 0.0, -1.0)
    """The direction of the force in space axes; its length does not matter."""

    potential_kernel = staticmethod(weight_potential)

    def __post_init__(self) -> None:
        self._check(weight=checks.number, point=checks.vector, down=checks.vector)
        self._settle(upright=is_upright(checks.direction("down", self.down)))

    @property
    def torque_kernel(self) -> UserTorque:
        """r x R^T f."""
        return upright_weight_torque if self.upright else weight_torque

    def parameters(self, body: Body) -> Sequence[float]:
        """The point and the force."""
        x, y, z = self.axis
        return (*self.point, self.weight * x, self.weight * y, self.weight * z)

    @cached_property
    def axis(self) -> Vec3:
        """The direction of the force."""
        return checks.direction("down", self.down)
