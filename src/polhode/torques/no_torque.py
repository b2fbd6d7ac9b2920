"""No torque at all."""

from dataclasses import dataclass
from typing import Any

from polhode.kernels.types import Depends, Quat, Vec3
from polhode.torques._torque import Torque


def no_torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """Zero."""
    return (0.0, 0.0, 0.0)


def no_potential(t: float, q: Quat, p: Any) -> float:
    """Zero."""
    return 0.0


@dataclass(frozen=True)
class Free(Torque):
    """No torque: the body is free. Energy and spatial momentum are conserved.

    Examples
    --------
    >>> run = ph.simulate(ph.Body([1, 2, 2.8]), ph.Free(), omega=[0.1, 2, 0], t_span=(0, 5), rtol=1e-9)
    >>> run.method
    'Exact'
    """

    depends = Depends.NOTHING
    reads_attitude = False

    torque_kernel, potential_kernel = staticmethod(no_torque), staticmethod(no_potential)
