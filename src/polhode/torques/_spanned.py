"""Torques that are prepared for the times of a run: by tables, or by looking for their breakpoints."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

from polhode.kernels.algebra.vector_table import made_once
from polhode.torques._torque import Torque


class SpanTorque(Torque):
    """The base class of models that must know the times of a run. Their fields do not change when they get to know."""

    span: tuple[float, float] | None = None
    """The times of the run, in rising order; None: they are not known yet."""

    def for_span(self, t0: float, t1: float) -> Self:
        """Returns the same torque for a run between two times. Tables are made when they are first needed."""
        made = replace(self)  # type: ignore[type-var]  # every model is a dataclass
        made._settle(span=(min(t0, t1), max(t0, t1)))
        return made

    def _kept(self, make: Callable[[], Any]) -> Any:
        """Returns the table of this torque: its address is among the parameters, and valid as long as the torque lives.

        It is made once. Another one in its place, though equal, would leave runs with the address of the first.
        """
        return made_once(self, "_table", make)

    def __getstate__(self) -> dict[str, Any]:
        """Leaves out the table, which is made again."""
        return {name: value for name, value in self.__dict__.items() if name != "_table"}
