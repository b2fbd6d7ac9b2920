"""The exact flow of the free body, alone and between half kicks.

`Exact` makes steps of the closed solution, in a form that restarts from every state: its error is round-off, whatever
the step. `ExactPolished` carries the low halves of momentum and attitude along, so that round-off does not accumulate,
at about twice the cost. Both are for free bodies only.

`Strang` puts half kicks of the torque around the flow: symplectic and time-symmetric, of second order, with an error
proportional to the torque. Costs one torque evaluation a step. celledoni2006 has the idea (SEJ) with an approximate
attitude, which costs the symplectic structure; here the flow is exact.
"""

from polhode.core.flows import free, kick
from polhode.core.polished import Polished
from polhode.core.types import Depends
from polhode.methods._method import Keeps, Method, split

_FREE = Keeps.SYMPLECTIC | Keeps.REVERSIBLE | Keeps.ENERGY | Keeps.MOMENTUM_NORM | Keeps.SPATIAL_MOMENTUM

Exact = Method(
    "Exact",
    split((free, 1)),
    summary="the exact flow of the free body, step by step",
    cite="celledoni2006,vilmart2008",
    order=None,
    attitude_order=None,
    accepts=Depends.NOTHING,
    keeps=Keeps.NOTHING,
    keeps_when_free=_FREE,
)

ExactPolished = Method(
    "ExactPolished",
    Polished(),
    summary="the exact flow with round-off that does not accumulate",
    cite="vilmart2008",
    order=None,
    attitude_order=None,
    accepts=Depends.NOTHING,
    keeps=Keeps.NOTHING,
    keeps_when_free=_FREE,
    unscaled=True,
)

Strang = Method(
    "Strang",
    split((kick, 1 / 2), (free, 1), (kick, 1 / 2)),
    summary="exact free flow between half kicks",
    cite="celledoni2006",
    order=2,
    attitude_order=2,
    accepts=Depends.POSITION | Depends.TIME,
    keeps=Keeps.SYMPLECTIC | Keeps.REVERSIBLE | Keeps.AXIAL_MOMENTUM,
    keeps_when_free=_FREE,
    generalised_order=(2, 2),
)
