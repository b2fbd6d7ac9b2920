"""The exact momentum with an approximate attitude: the methods of celledoni2006.

`JEM2` and `JEM4` are for free bodies; `SEJ` and `SEJ4` put half kicks of the torque around them. The paper computes
the momentum by elliptic functions, which do not cover some motions; here it comes from `kernels/free/exact_flow.py`,
which covers all. `Strang` has the exact attitude as well, and so the symplectic structure, at little extra cost.
"""

from polhode.kernels.algebra.quat import tidied
from polhode.kernels.compared.magnus import Magnus
from polhode.kernels.steps.compose import KickedFreeStep
from polhode.kernels.types import Depends
from polhode.methods._method import Keeps, Method

_MAGNUS4 = " from the rates at two nodes of Gauss's quadrature and their commutator, which the paper does not print"


def _free(name: str, order: int, summary: str, how: str) -> Method:
    return Method(
        name,
        Magnus(order),
        summary=summary,
        about=f"The exact momentum of a free body; the attitude advances by one turn a step,{how}. Time-symmetric;"
        " keeps energy and the length of the momentum, but neither the spatial momentum nor the symplectic form:"
        " attitude and momentum do not match. celledoni2006, eqs. (8)-(10).",
        cite="celledoni2006",
        order=None,
        attitude_order=order,
        accepts=Depends.NOTHING,
        keeps_when_free=_KEPT,
    )


def _kicked(name: str, order: int, lost: str, summary: str, how: str) -> Method:
    return Method(
        name,
        KickedFreeStep(Magnus(order, tidy=False), tidied),
        summary=summary,
        about=f"Half a kick of the torque, a step of the free body with exact momentum and an attitude{how}, half a"
        " kick. Time-symmetric, of second order; not symplectic, as celledoni2006 says. Costs one torque evaluation"
        f" a step. Without a torque it is JEM{order}. Eqs. (9)-(11). It steps systems as well. Never the best choice:"
        f" three bodies that act on each other have the same errors as with Strang, 3.0e-4 at a step of 0.05, in the"
        f" same time, but their angular momentum is off by {lost} where Strang keeps it to round-off.",
        cite="celledoni2006",
        order=2,
        orders_when_free=(None, order),
        accepts=Depends.POSITION | Depends.TIME,
        keeps=Keeps.REVERSIBLE,
        keeps_when_free=_KEPT,
    )


_KEPT = Keeps.REVERSIBLE | Keeps.ENERGY | Keeps.MOMENTUM_NORM

JEM2 = _free("JEM2", 2, "exact momentum, attitude by Magnus's series of order 2", " with the rate at its middle")
JEM4 = _free("JEM4", 4, "exact momentum, attitude by Magnus's series of order 4", _MAGNUS4)
SEJ = _kicked(
    "SEJ", 2, "7e-5", "JEM2 between half kicks", " by Magnus's series of order 2, with the rate at the middle"
)
SEJ4 = _kicked("SEJ4", 4, "8e-9", "JEM4 between half kicks", " by Magnus's series of order 4," + _MAGNUS4)
