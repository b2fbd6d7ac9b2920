"""Radau's collocation with variable steps: a method for stiff torques."""

from polhode.kernels.steps.radau_collocation import Radau as Scheme
from polhode.kernels.steps.radau_collocation import estimate_tolerance
from polhode.methods._method import Method, Option, tolerances, with_options

NODES = {5: 3, 9: 5, 13: 7}
"""The number of nodes, by order."""
SCHEMES = {order: Scheme(nodes) for order, nodes in NODES.items()}
"""One object for each order: tolerances share a program."""


def _radau(order: int, rtol: float, atol: float) -> Method:
    relative, absolute = tolerances("Radau", rtol, atol)
    allowed = estimate_tolerance(relative, NODES[order])
    return Method(
        "Radau",
        SCHEMES[order],
        summary="Radau collocation with steps chosen by a tolerance, for stiff torques",
        about="Collocation at Radau's nodes, of order 5, 9 or 13, whose steps are L-stable: what a strong damping or a "
        "stiff controller has damped away does not limit their length. The unknowns of a step are the rotation "
        "vector since its start and the momentum in body axes, so attitudes stay on the sphere. The equations are "
        "solved by Newton's iteration with derivatives by differences: 6 torque evaluations for these, which are "
        "kept while they are good, and 3, 5 or 7 an iteration, with one to three iterations in most steps. The "
        "estimate of the error has a lower order than the step; a step is accepted if it is below 0.1 rtol^a, "
        "with a = 2/3, 3/5 or 4/7, which makes the error of a step about rtol in the attitude, and about rtol in "
        "the momentum relative to its largest size so far. Where the torque is very stiff and its target moves, "
        "the order of the step falls to that of the estimate, and errors are larger than rtol; `rtol` of simulate "
        "sees that. No step is longer than the user's, nor turns the body by much more than 2.5 radians. "
        "Iterations that do not converge halve the step. Keeps nothing. Takes any torque; for one that is not "
        "stiff DOP853 and G8 cost less.",
        cite="hairer1996,hairer1999",
        order=order,
        accepts_rotor=True,
        accepts_changing=True,
        variable_steps=True,
        adaptive=True,
        tuning=(allowed, absolute * allowed / relative),
        estimate_factor=5.0,
    )


Radau = with_options(
    _radau,
    Option("order", 9, "order of a step: 5, 9 or 13, with 3, 5 or 7 nodes", choices=tuple(NODES)),
    Option("rtol", 1e-9, "error allowed in a step: attitude, and momentum relative to its largest size so far"),
    Option("atol", 0.0, "error allowed in the momentum besides, kg m^2/s"),
)
