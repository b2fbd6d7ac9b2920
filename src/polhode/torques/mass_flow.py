"""The momentum that leaving mass takes along: jet damping."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from polhode.body import Body, ChangingBody
from polhode.kernels.algebra.vec import cross, dot
from polhode.kernels.algebra.vector_table import tensor_at
from polhode.kernels.types import Depends, Quat, UserTorque, Vec3
from polhode.support import checks
from polhode.torques._torque import Torque


def jet_torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """(dm/dt) r x (w x r)."""
    r = (p[1], p[2], p[3])
    n = cross(r, cross(w, r))
    return (p[0] * n[0], p[0] * n[1], p[0] * n[2])


def loss_torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """(dI/dt) w."""
    (x, y, z), (a, b, c) = tensor_at(p[0], p[1], t)
    return (dot((x, c, b), w), dot((c, y, a), w), dot((b, a, z), w))


@dataclass(frozen=True)
class MassFlow(Torque):
    """The angular momentum that mass takes along as it leaves a body that changes, `Body(..., times=...)`.

        MassFlow(rate=-2.5, point=(0, 0, -1.8))    # through a nozzle: jet damping
        MassFlow()                                 # with the momentum that it had in the body, where it was

    The momentum L = I(t) w of what is left obeys L' = L x w + N + F with F = (dm/dt) r x (w x r) for mass that leaves
    at the point r, as seen from the centre of mass: I w' = L x w + N - (I' - (dm/dt) (r^2 - r r)) w.  [thomson1961]
    Without rate and point F = I' w, so that the rates do not feel the loss: sand that trickles out evenly.
    Without this torque F = 0: mass is moved inside, or leaves without momentum.

    Examples
    --------
    >>> motor = ph.Body([[9, 9, 2], [5, 5, 1.2]], times=[0, 10])
    >>> run = ph.simulate(motor, ph.MassFlow(rate=-3, point=(0, 0, -2)), omega=[0.1, 0, 0], t_span=(0, 10), rtol=1e-8)
    >>> bool(run.omega[-1, 0] < 0.1)  # the jet damps the turn, although the moments fall
    True
    """

    rate: float | None = None
    """dm/dt of the body in kg/s, negative where mass leaves."""
    point: Vec3 | None = None
    """Where it leaves, in body axes from the centre of mass, m."""

    depends = Depends.POSITION | Depends.RATE
    reads_attitude = False
    example: ClassVar[dict[str, Any]] = {"rate": -1.0, "point": (0.1, 0.2, -1.0)}

    def __post_init__(self) -> None:
        if (self.rate is None) != (self.point is None):
            raise ValueError("give rate and point, or neither of them for mass that leaves with its own momentum")
        if self.rate is not None:
            if checks.number("rate", self.rate) > 0.0:
                raise ValueError(f"rate is dm/dt of the body, negative where mass leaves it, not {self.rate:g}")
            self._settle(rate=checks.number("rate", self.rate), point=checks.vector("point", self.point))
        else:
            self._settle(depends=Depends.POSITION | Depends.RATE | Depends.TIME)

    @property
    def torque_kernel(self) -> UserTorque:
        """The momentum that is lost in a second."""
        return loss_torque if self.rate is None else jet_torque

    def check_body(self, body: Body) -> None:
        """Raises ValueError without a rate if the body does not change."""
        if self.rate is None and not body.changes:
            raise ValueError("MassFlow() takes its loss from a body that changes: give one, or rate and point")

    def parameters(self, body: Body) -> Sequence[float]:
        """Rate and point, or the handles of dI/dt."""
        if self.rate is not None and self.point is not None:
            return (self.rate, *self.point)
        return body.handles_of_change if isinstance(body, ChangingBody) else (0.0, 0.0)
