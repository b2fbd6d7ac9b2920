"""Torques along an orbit, which may be a table of positions."""

from polhode.environment.orbit import Path
from polhode.torques._torque import Torque


class OrbitTorque(Torque):
    """The base class of models with an orbit, or without one: what they know of times is what it knows."""

    orbit: Path | None

    @property
    def knots(self) -> tuple[float, ...]:
        """Those of a table of positions."""
        return () if self.orbit is None else self.orbit.knots

    @property
    def roughness(self) -> float:
        """That of a table of positions."""
        return 0.0 if self.orbit is None else self.orbit.roughness

    def check_span(self, t0: float, t1: float) -> None:
        """Raises ValueError unless the orbit is known at these times."""
        if self.orbit is not None:
            self.orbit.check_span(t0, t1)
