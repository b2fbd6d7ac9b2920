"""Runge-Kutta methods on the group: the attitude moves by rotations, so that it stays a rotation by itself.

The momentum, seen from the body, is not a point of a curved space but three numbers: it moves by the plain Runge-Kutta
method with the same weights. So neither energy nor momentum is kept, not even the length of the momentum.
"""

from typing import Any

from polhode.kernels.steps.explicit_runge_kutta import on_group
from polhode.kernels.steps.tableaux import (
    COMMUTATOR_FREE_4,
    CROUCH_GROSSMAN_3,
    CROUCH_GROSSMAN_4,
    CROUCH_GROSSMAN_CLASSICAL,
    MUNTHE_KAAS_4,
    GroupTableau,
)
from polhode.methods._method import Method
from polhode.methods.runge_kutta import explicit


def on_rotations(name: str, tableau: GroupTableau, order: int, **card: Any) -> Method:
    """The method of a tableau on the group."""
    return explicit(name, on_group(tableau), len(tableau.stages), order, **card)


CG = on_rotations(
    "CG",
    CROUCH_GROSSMAN_CLASSICAL,
    2,
    orders_when_free=(4, 2),
    summary="Crouch-Grossman with the coefficients of RK4, as krysl2004 used it; of order 2",
    cite="crouch1993,krysl2004",
    about="The method of Crouch and Grossman turns the body by one slope after the other, here with the coefficients "
    "of the classical method of order 4, as krysl2004 compares with (section 3.3). They miss a condition of order 3 of "
    "such methods, sum b_i^2 c_i + 2 sum_{i<j} b_i c_i b_j, which is 13/36 instead of 1/3: the attitude is of order 2, "
    "and so is the momentum as soon as a torque depends on the attitude. The momentum of a free body, which does not, "
    "is that of RK4, of order 4. The paper does not say how it advanced the momentum; here it is three numbers with "
    "the plain method. DiffMan, to which it refers, moves momentum and vertical on the dual of se(3), and errs by "
    "1.09 % of the Hamiltonian where this errs by 0.15 % and NMB by 0.91 % (`krysl2004/accuracy`). The paper found NMB "
    "about as accurate as this method in the invariants as well; but here energy drifts, with either action, and there "
    "it does not. Never the best choice: CG3 is of order 3 with one evaluation less. Takes any torque, costs four "
    "evaluations and seven exponentials a step, and keeps nothing.",
)

CG3 = on_rotations(
    "CG3",
    CROUCH_GROSSMAN_3,
    3,
    summary="Crouch-Grossman of order 3, three stages",
    cite="crouch1993,owren1999",
    about="Crouch and Grossman's own coefficients, in three stages: of order 3 in the attitude too. The momentum, "
    "seen from the body, is three numbers that move by the plain method with the same weights. Takes any torque, costs "
    "three evaluations and six exponentials a step. Keeps nothing but the attitude on the group.",
)

CG4 = on_rotations(
    "CG4",
    CROUCH_GROSSMAN_4,
    4,
    summary="Crouch-Grossman of order 4, five stages",
    cite="owren1999,jackiewicz2000",
    about="Owren and Marthinsen's five stages, which fulfil the conditions of order 4 for products of exponentials of "
    "single slopes. The momentum, seen from the body, is three numbers that move by the plain method with the same "
    "weights. Takes any torque, costs five evaluations and fifteen exponentials a step: RKMK4 and CF4 reach the same "
    "order with four evaluations and a third of the exponentials. Keeps nothing but the attitude on the group.",
)

RKMK4 = on_rotations(
    "RKMK4",
    MUNTHE_KAAS_4,
    4,
    summary="Runge-Kutta-Munthe-Kaas of order 4 with two brackets",
    cite="munthekaas1998,munthekaas1999",
    about="Munthe-Kaas applies a classical method in the Lie algebra, where the attitude is a rotation vector from the "
    "start of the step; brackets account for the curvature of the group. Only two of the brackets of order 4 are "
    "independent, and the transformed stages of Munthe-Kaas and Owren need no others: k1 x k2 / 8 in the third stage, "
    "k1 x k4 / 12 in the step. In body axes, which act from the right, their signs are opposite to the paper's. The "
    "momentum, seen from the body, is three numbers that move by the classical method: for a free body it is that of "
    "RK4. Takes any torque, costs four evaluations and four exponentials a step. Keeps nothing but the attitude on the "
    "group.",
)

CF4 = on_rotations(
    "CF4",
    COMMUTATOR_FREE_4,
    4,
    summary="commutator-free of order 4",
    cite="celledoni2003",
    about="Exponentials of sums of slopes instead of brackets: one in the second and third stage, two in the fourth, "
    "of which the first was there before, and two in the step. The momentum, seen from the body, is three numbers that "
    "move by the classical method: for a free body it is that of RK4. Takes any torque, costs four evaluations and "
    "five exponentials a step. Keeps nothing but the attitude on the group.",
)
