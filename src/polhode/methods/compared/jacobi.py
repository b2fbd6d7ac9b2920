"""The free body by Jacobi's elliptic functions, as celledoni2006 and vilmart2008 compute it.

`JE` computes constants and phase from the momentum at every step, `JE0` once at the start: celledoni2006, section 3.
`Jacobi31` is Algorithm 3.1 of vilmart2008, the same in terms of the momentum; its round-off accumulates in one
direction. `Jacobi31x` has the constants in two-doubles, and `Jacobi41` (Algorithm 4.1) has only two constants: the
round-off of both is a random walk.

All keep what the exact motion keeps, to round-off. The papers leave the attitude out, or approximate it; here it
advances by the exact turn of the same step (`kernels/free/exact_flow.py`), so that the methods differ only in the
momentum. A step costs 4 to 7 times one of `Exact`, which should be preferred: these methods are here to be measured.

The formulas do not cover every motion. `JE`, `JE0` and `Jacobi31` take differences, 2 H I3 - 2 C, that lose their
digits in motions close to a turn about a principal axis (by about 1e-4) and for bodies close to a sphere: then a run
fails, with a message.
"""

from collections.abc import Sequence
from typing import NamedTuple

from polhode.kernels.algebra.quat import advanced, tidied
from polhode.kernels.algebra.vec import cross, dot
from polhode.kernels.compared.jacobi_momentum import (
    KEPT,
    Kept,
    Route,
    by_extended_momenta,
    by_momenta,
    by_rates,
    by_two_constants,
    from_rates,
    recalled,
    restarting,
)
from polhode.kernels.steps.compose import nothing
from polhode.kernels.steps.flows import free, prepared
from polhode.kernels.types import BoundStep, Depends, Inertia, Memory, Params, Pull, Quat, Scales, State, Vec3
from polhode.methods._method import Keeps, Method


@prepared
class RestartedFlow(NamedTuple):
    """The scheme: the momentum by a route that restarts at every step, the attitude by the exact flow."""

    route: Route

    def composed(self, fractions: Sequence[float]) -> "RestartedFlow":
        """Exact steps in a row are an exact step."""
        return self

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> BoundStep:
        """The step, prepared for runs of these scales."""
        turned, advance = free(scales), restarting(self.route)

        def step(body: Inertia, p: Params, t: float, s: State, h: float, memory: Memory) -> tuple[State, Memory, int]:
            m, status = advance(body, s.m, h)
            return State(tidied(turned(body, p, t, s, h).q), m), memory, status

        return BoundStep(nothing, step, 0, 0, 0)


@prepared
class FromStart(NamedTuple):
    """The scheme: the momentum from the constants of the start, kept in the memory, the attitude by the exact flow."""

    def composed(self, fractions: Sequence[float]) -> "FromStart":
        """Exact steps in a row are an exact step."""
        return self

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> BoundStep:
        """The step, prepared for runs of these scales."""
        turned = free(scales)

        def start(body: Inertia, p: Params, t: float, s: State) -> Memory:
            return from_rates(body, s.m, t)

        def step(body: Inertia, p: Params, t: float, s: State, h: float, kept: Kept) -> tuple[State, Kept, int]:
            m, status = recalled(kept, t + h)
            new = turned(body, p, t, s, h)
            return State(tidied(followed(new, m)), m), kept, status

        return BoundStep(start, step, KEPT, 0, 0)


def followed(s: State, m: Vec3) -> Quat:
    """The attitude of s, turned slightly so that the momentum m has the direction in space that s.m had.

    The phase of a momentum that is evaluated from the start drifts with the rounding of its rate, by about eps a turn;
    an attitude that is advanced step by step does not.
    """
    k = 0.5 / max(dot(m, m), 1e-300)
    n = cross(m, s.m)
    return advanced(s.q, 0.0, (k * n[0], k * n[1], k * n[2]))


_ATTITUDE = (
    " The attitude, which the paper leaves out or approximates, advances by the exact turn of the same step. Keeps what"
    " the exact motion keeps, to round-off. A step costs 4 to 7 times one of Exact, which should be preferred."
)
_UNCOVERED = (
    " Differences such as 2 H I3 - m.m lose their digits close to a steady rotation and for bodies close to a sphere:"
    " then a run fails with a message."
)


def _method(name: str, scheme: RestartedFlow | FromStart, summary: str, cite: str, about: str) -> Method:
    everything = Keeps.SYMPLECTIC | Keeps.REVERSIBLE | Keeps.ENERGY | Keeps.MOMENTUM_NORM | Keeps.SPATIAL_MOMENTUM
    return Method(
        name,
        scheme,
        summary=summary,
        about=about + _ATTITUDE,
        cite=cite,
        order=None,
        accepts=Depends.NOTHING,
        keeps_when_free=everything,
    )


JE = _method(
    "JE",
    RestartedFlow(by_rates),
    "elliptic functions, restarted every step",
    "celledoni2006",
    "Computes the rates by Jacobi's elliptic functions, with constants and phase computed from every state:"
    " celledoni2006, eqs. (12) to (19), with b1^2 = I2 (I3 - I2) and the energy of (12) half of that of (2). The paper"
    " reports an energy error of 1e-16, which holds for JE0; restarting accumulates round-off in one direction."
    + _UNCOVERED,
)
JE0 = _method(
    "JE0",
    FromStart(),
    "elliptic functions, evaluated from the start of the run",
    "celledoni2006",
    "Computes the rates by Jacobi's elliptic functions of the time since the start, with the constants of the start:"
    " the error of energy and momentum does not grow, that of the phase grows with time. celledoni2006, eqs. (12) to"
    " (19)." + _UNCOVERED,
)
Jacobi31 = _method(
    "Jacobi31",
    RestartedFlow(by_momenta),
    "elliptic functions, Algorithm 3.1",
    "vilmart2008",
    "Computes the momentum by Jacobi's elliptic functions with four constants of the body in double precision,"
    " Algorithm 3.1 of vilmart2008: the errors of these constants are the same in every step, and the energy drifts."
    + _UNCOVERED,
)
Jacobi31x = _method(
    "Jacobi31x",
    RestartedFlow(by_extended_momenta),
    "Algorithm 3.1 with constants in two-doubles",
    "vilmart2008",
    "Algorithm 3.1 with its constants in more than double precision, the paper's first idea: the drift disappears, a"
    " random walk of the roundings remains." + _UNCOVERED,
)
Jacobi41 = _method(
    "Jacobi41",
    RestartedFlow(by_two_constants),
    "elliptic functions with two constants, Algorithm 4.1",
    "vilmart2008",
    "Algorithm 4.1 of vilmart2008: it has only two constants of the body, arranged so that their errors do not change"
    " the energy. Round-off is a random walk.",
)
