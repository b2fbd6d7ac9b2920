"""A nearly symmetric body as a symmetric one and a small perturbation: the schemes of khlistunova2003.

The symmetric part turns at constant rates, and so does the perturbation (`kernels/compared/near_symmetry.py`): errors
carry a factor of eps = I2 / I1 - 1, the asymmetry. The axis of near symmetry must be axis 3: the user has to order the
moments so.

The paper computes the momentum of a free body. Here the attitude makes the same turns, and a torque acts as half kicks
around the step. In one respect the paper misleads: it says that all angles of a step come from the momentum at its
start, which would be a method of first order; each angle must come from the momentum just before its rotation.
"""

from collections.abc import Callable
from typing import Any

from polhode.kernels.compared.near_symmetry import axisymmetric, axisymmetric_short, triaxial, triaxial_short
from polhode.kernels.steps.compose import Splitting
from polhode.kernels.steps.flows import kick
from polhode.kernels.types import Depends
from polhode.methods._method import Keeps, Method, split

Flow = Callable[..., Any]


def leapfrog(a: Flow, t: Flow) -> Splitting:
    """The scheme (25)."""
    return split((kick, 1 / 2), (t, 1 / 2), (a, 1), (t, 1 / 2), (kick, 1 / 2))


def simpson(a: Flow, t: Flow) -> Splitting:
    """The scheme (27), over the whole of its double step."""
    return split((kick, 1 / 2), (t, 1 / 6), (a, 1 / 2), (t, 2 / 3), (a, 1 / 2), (t, 1 / 6), (kick, 1 / 2))


_FREE = Keeps.SYMPLECTIC | Keeps.MOMENTUM_NORM | Keeps.SPATIAL_MOMENTUM
_TORQUED = Keeps.SYMPLECTIC | Keeps.AXIAL_MOMENTUM


def _method(
    name: str, scheme: Splitting, summary: str, about: str, *,
    order: int = 2, keeps: Keeps = _TORQUED | Keeps.REVERSIBLE, keeps_when_free: Keeps = _FREE | Keeps.REVERSIBLE,
    cite: str = "khlistunova2003", advance: float = 1.0,
) -> Method:  # fmt: skip
    return Method(
        name,
        scheme,
        summary=summary,
        about=about,
        cite=cite,
        order=order,
        accepts=Depends.POSITION | Depends.TIME,
        keeps=keeps,
        keeps_when_free=keeps_when_free,
        advance=advance,
    )


TW1 = _method(
    "TW1",
    split((kick, 1 / 2), (triaxial, 1), (axisymmetric, 1), (kick, 1 / 2)),
    "first-order map of a nearly symmetric body",
    "The perturbation acts all at once, then the body turns as a symmetric one. Symplectic and of first order; for a"
    " free body it is LS in other coordinates, and its error grows no faster. Costs three rotations and one torque"
    " evaluation a step. Touma and Wisdom's map, khlistunova2003, eqs. (9) and (15)-(17).",
    order=1,
    keeps=_TORQUED,
    keeps_when_free=_FREE,
    cite="touma1994,khlistunova2003",
)

LS = _method(
    "LS",
    leapfrog(axisymmetric, triaxial),
    "leapfrog for a nearly symmetric body",
    "Half the perturbation, the symmetric body, half the perturbation. Symplectic, time-symmetric, of second order with"
    " an error proportional to the asymmetry; exact without a torque if I1 = I2. Costs four rotations and one torque"
    " evaluation a step. khlistunova2003, eqs. (25) and (26).",
)

_SIMPSON = (
    " khlistunova2003, eqs. (27) and (28). The paper claims the third order. The scheme is symmetric, so its order is"
    " even, and it is 2: the error has a term eps h^4, as Simpson's rule should have, and one eps^2 h^2."
)

SS = _method(
    "SS",
    simpson(axisymmetric, triaxial),
    "Simpson's rule for a nearly symmetric body, two steps at once",
    "The perturbation acts with the weights of Simpson's rule at the ends and the middle of a double step: one"
    " application advances two steps, as the scheme is printed. Symplectic and time-symmetric. Costs seven rotations"
    " and one torque evaluation an application." + _SIMPSON,
    advance=2.0,
)

SSh = _method(
    "SSh",
    simpson(axisymmetric, triaxial),
    "Simpson's rule for a nearly symmetric body",
    "The same map as SS, applied to one step instead of two. Symplectic and time-symmetric. Costs seven rotations and"
    " one torque evaluation a step." + _SIMPSON,
)

_SHORT = (
    " with sin x = x - x^3/6 and cos x = 1 - x^2/2: no trigonometric functions, and the same order. But sin^2 + cos^2"
    " is 1 - x^4/12 then, and nothing is kept: neither the symplectic form nor time reversal nor the length of the"
    " momentum, which shrinks steadily. khlistunova2003, section 4, mentions the fewer operations only."
)

LS1 = _method(
    "LS1",
    leapfrog(axisymmetric_short, triaxial_short),
    "LS without trigonometric functions",
    "LS" + _SHORT,
    keeps=Keeps.NOTHING,
    keeps_when_free=Keeps.NOTHING,
)

SS1 = _method(
    "SS1",
    simpson(axisymmetric_short, triaxial_short),
    "SS without trigonometric functions",
    "SS, two steps at once," + _SHORT,
    keeps=Keeps.NOTHING,
    keeps_when_free=Keeps.NOTHING,
    advance=2.0,
)
