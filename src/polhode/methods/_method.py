"""The contract of a method: how a step is made, and what it promises.

Everything said of a method elsewhere (the list in the shell, the property card, the contract tests) is generated from
its declaration. What a declaration promises is measured in `tests/contract`, and so is what it does not promise.
"""

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from polhode.core.compose import Scheme, Splitting, Stage
from polhode.core.types import Depends


class Keeps(enum.Flag):
    """What a method conserves to round-off, at any step size."""

    NOTHING = 0
    SYMPLECTIC = enum.auto()
    """The symplectic form of T*SO(3): energy errors stay bounded over very long times."""
    REVERSIBLE = enum.auto()
    """A step back undoes a step."""
    ENERGY = enum.auto()
    MOMENTUM_NORM = enum.auto()
    """The length of the angular momentum, the Casimir of the free body."""
    SPATIAL_MOMENTUM = enum.auto()
    """The angular momentum in space, as a vector."""
    AXIAL_MOMENTUM = enum.auto()
    """The angular momentum in space along the symmetry axis of the potential."""


@dataclass(frozen=True)
class Method:
    """A way to make steps, and its property card."""

    name: str
    scheme: Scheme
    summary: str
    """One line: what it is."""
    cite: str
    """Keys of `references.bib`, separated by commas."""
    order: int | None
    """Of the momentum, for a torque that it accepts; None: the step is exact, its error is round-off."""
    attitude_order: int | None
    accepts: Depends
    """Which torques it can integrate at its order. A free body is always accepted."""
    keeps: Keeps
    """Under a torque that has a potential, which does not depend on time."""
    keeps_when_free: Keeps
    generalised_order: tuple[int, ...] | None = None
    """For near-integrable schemes: the order of the error terms in each power of the perturbation."""

    unscaled: bool = False
    """Whether its quaternions have no meaningful norm; they are scaled when a run is over."""

    def refuses(self, depends: Depends) -> Depends:
        """What such a torque reads and this method cannot handle."""
        return depends & ~self.accepts


def split(*stages: tuple[Callable[..., Any], float]) -> Splitting:
    """A splitting from its list of flows and fractions."""
    return Splitting(tuple(Stage(flow, float(fraction)) for flow, fraction in stages))


def compose(method: Method, fractions: Sequence[float], *, name: str, order: int, **card: Any) -> Method:
    """Steps of a symmetric method in a row, as one step of higher order.

    A symmetric row of fractions keeps all that the method keeps, except a generalised order.
    `polhode.core.compose` has the usual rows: `triple_jump`, `suzuki`.
    """
    settings = {"attitude_order": order, "generalised_order": None, **card}
    return replace(method, name=name, scheme=method.scheme.composed(fractions), order=order, **settings)
