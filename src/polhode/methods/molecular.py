"""Methods of molecular dynamics that have names of their own."""

from polhode.kernels.steps.flows import kick, spin1, spin2, spin3
from polhode.kernels.types import Depends
from polhode.methods._method import Keeps, Method, split

NO_SQUISH = Method(
    "NO_SQUISH",
    split((kick, 1 / 2), (spin3, 1 / 2), (spin2, 1 / 2), (spin1, 1), (spin2, 1 / 2), (spin3, 1 / 2), (kick, 1 / 2)),
    summary="symplectic rotations of quaternion and quaternion momentum; MR2 with the axes in reverse",
    cite="miller2002",
    about="Half kicks around five rotations about the body axes 3, 2, 1, 2, 3. The paper writes them for a quaternion "
    "and a quaternion of momenta, which turn in one plane at the rate p.P_k q / 4 I_k; with m = p.P_k q / 2 these are "
    "the rotations of MR2, which takes the axes in the order 1, 2, 3, 2, 1, and the results agree to round-off. Costs "
    "five rotations and one torque evaluation a step. Keeps the symplectic form and time reversal, the spatial "
    "momentum of a free body, and its component along the symmetry axis of a potential.",
    order=2,
    accepts=Depends.POSITION | Depends.TIME,
    keeps=Keeps.SYMPLECTIC | Keeps.REVERSIBLE | Keeps.AXIAL_MOMENTUM,
    keeps_when_free=Keeps.SYMPLECTIC | Keeps.REVERSIBLE | Keeps.MOMENTUM_NORM | Keeps.SPATIAL_MOMENTUM,
    accepts_rotor=True,
)
