"""MR2: rotations about the body axes, with the torque as half kicks.

Each m_i^2 / (2 I_i) generates a rotation at a constant rate, which is exact; the torque acts at both ends of the step.
Keeps the symplectic form and time reversal, the spatial momentum of a free body, and its component along the symmetry
axis of a potential. Costs five rotations and one torque evaluation a step.

celledoni2006, section 4 (the map Phi_M), after McLachlan 1993, Reich 1996 and Dullweber, Leimkuhler, McLachlan 1997.
"""

from polhode.core.flows import kick, spin1, spin2, spin3
from polhode.core.types import Depends
from polhode.methods._method import Keeps, Method, split

MR2 = Method(
    "MR2",
    split((kick, 1 / 2), (spin1, 1 / 2), (spin2, 1 / 2), (spin3, 1), (spin2, 1 / 2), (spin1, 1 / 2), (kick, 1 / 2)),
    summary="symplectic splitting into rotations about the body axes",
    cite="celledoni2006,mclachlan1993,reich1996,dullweber1997",
    order=2,
    attitude_order=2,
    accepts=Depends.POSITION | Depends.TIME,
    keeps=Keeps.SYMPLECTIC | Keeps.REVERSIBLE | Keeps.AXIAL_MOMENTUM,
    keeps_when_free=Keeps.SYMPLECTIC | Keeps.REVERSIBLE | Keeps.MOMENTUM_NORM | Keeps.SPATIAL_MOMENTUM,
)
