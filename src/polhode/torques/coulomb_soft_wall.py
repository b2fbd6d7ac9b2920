"""Attraction by a Coulomb force in front of a soft wall."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from polhode.body import Body
from polhode.kernels.algebra.quat import upright_to_body
from polhode.kernels.types import Quat, Vec3
from polhode.support import checks
from polhode.torques._torque import Torque


def wall_torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """f(z) u x e3, with u = R^T e3, z = u3 and f = dV/dz."""
    u = upright_to_body(q, 1.0)
    x = 1.0 / (1.1 + u[2])
    x3 = x * x * x
    f = p[0] * x * x * (1.0 - 0.01 * x3 * x3 * x3)
    return (f * u[1], -f * u[0], 0.0)


def wall_potential(t: float, q: Quat, p: Any) -> float:
    """V(z) = -1/(1.1 + z) + 0.001/(1.1 + z)^10, or minus that."""
    u = upright_to_body(q, 1.0)
    x = 1.0 / (1.1 + u[2])
    x3 = x * x * x
    v: float = -p[0] * x * (1.0 - 0.001 * x3 * x3 * x3)
    return v


@dataclass(frozen=True)
class CoulombSoftWall(Torque):
    """A Coulomb force draws the end of the body's third axis down, and a soft wall pushes it back.

    With z the height of the point e3 of the body, the potential energy is -1/(1.1 + z) + 0.001/(1.1 + z)^10, in the
    units of the paper, least at z = -0.50. The paper prints the torque with the opposite sign: then the force is
    repulsive and the wall is a deep hole, but the paper's figures can be reproduced.  [krysl2004, sec. 3.6]

    Examples
    --------
    >>> body, wall = ph.Body.named("soft-wall"), ph.CoulombSoftWall()
    >>> run = ph.simulate(body, wall, omega=[0.1, 0.2, 0.3], t_span=(0, 0.1), method="MR2", step=0.01)
    >>> run.success
    True
    """

    sign: Literal["physical", "printed"] = "physical"
    """`physical`: the wall repels; `printed`: it attracts, as in the paper."""

    torque_kernel, potential_kernel = staticmethod(wall_torque), staticmethod(wall_potential)
    axis = (0.0, 0.0, 1.0)
    """The vertical."""

    def __post_init__(self) -> None:
        self._settle(sign=checks.choice("sign", self.sign, ("physical", "printed")))

    def parameters(self, body: Body) -> Sequence[float]:
        """The sign."""
        return (1.0,) if self.sign == "physical" else (-1.0,)
