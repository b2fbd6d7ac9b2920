"""A torque that is proportional to the rate and opposes it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from polhode.body import Body
from polhode.kernels.algebra.vec import dot
from polhode.kernels.types import Depends, Quat, Vec3
from polhode.torques._torque import Gain, Torque, gain, gain_matrix


def damping_torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """-D w."""
    return (-dot((p[0], p[1], p[2]), w), -dot((p[3], p[4], p[5]), w), -dot((p[6], p[7], p[8]), w))


@dataclass(frozen=True)
class LinearDamping(Torque):
    """A torque proportional to the rate, -D w: the drag of a thick fluid, or a rate controller.

    The energy falls at the rate w . D w, in W; it stays constant if D is antisymmetric.

    Examples
    --------
    >>> run = ph.simulate(ph.Body([1, 1, 1]), ph.LinearDamping(0.5), omega=[0, 0, 2], t_span=(0, 2), rtol=1e-9)
    >>> bool(abs(run.omega[-1, 2] - 2 * np.exp(-1.0)) < 1e-9)
    True
    """

    coefficient: Gain
    """D, in N m s: one number, three numbers along the body axes, or the rows of a matrix in body axes."""

    depends = Depends.POSITION | Depends.RATE
    reads_attitude = False
    torque_kernel = staticmethod(damping_torque)

    def __post_init__(self) -> None:
        self._check(coefficient=gain)

    def parameters(self, body: Body) -> Sequence[float]:
        """The matrix, row by row."""
        return [float(x) for x in gain_matrix(self.coefficient).flat]
