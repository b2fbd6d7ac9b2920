"""A torque that oscillates in time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from polhode.body import Body
from polhode.kernels.types import Depends, Quat, UserTorque, Vec3
from polhode.support import checks
from polhode.torques._torque import Torque


def sinusoidal_torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """a cos(nu t + phi)."""
    c = math.cos(p[3] * t + p[4])
    return (c * p[0], c * p[1], c * p[2])


@dataclass(frozen=True)
class SinusoidalTorque(Torque):
    """A torque that oscillates harmonically along a direction fixed in the body, a cos(nu t + phi).

    Examples
    --------
    >>> shaken = ph.SinusoidalTorque(amplitude=(0, 0, 0.5), angular_frequency=2.0)
    >>> run = ph.simulate(ph.Body([1, 1, 2]), shaken, omega=[0, 0, 0], t_span=(0, 1), rtol=1e-9)
    >>> bool(abs(run.omega[-1, 2] - 0.5 / 2 * np.sin(2.0) / 2) < 1e-9)
    True
    """

    amplitude: Vec3
    """a, in body axes, in N m."""
    angular_frequency: float
    """nu, in rad/s."""
    phase: float = 0.0
    """phi, in rad."""

    depends = Depends.POSITION | Depends.TIME
    has_value_at_all_times = True
    reads_attitude = False

    def __post_init__(self) -> None:
        self._settle(
            amplitude=checks.vector("amplitude", self.amplitude),
            angular_frequency=checks.number("angular_frequency", self.angular_frequency),
            phase=checks.number("phase", self.phase),
        )

    @property
    def torque_kernel(self) -> UserTorque:
        """a cos(nu t + phi)."""
        return sinusoidal_torque

    def parameters(self, body: Body) -> Sequence[float]:
        """Amplitude, frequency and phase."""
        return (*self.amplitude, self.angular_frequency, self.phase)
