"""Radau's collocation with variable steps: a method for stiff torques."""

from polhode import _check
from polhode.core.radau import Radau as Scheme
from polhode.core.radau import estimate_tolerance
from polhode.core.types import Depends
from polhode.methods._method import Keeps, Method, Option, with_options

NODES = {5: 3, 9: 5, 13: 7}
"""The number of nodes, by order."""
SCHEMES = {order: Scheme(nodes) for order, nodes in NODES.items()}
"""One object for each order: tolerances share a program."""


def _radau(order: int, rtol: float, atol: float) -> Method:
    relative, absolute = (_check.number(f"{name} of Radau", x) for name, x in (("rtol", rtol), ("atol", atol)))
    if not (relative > 0 and absolute >= 0):
        raise ValueError(f"Radau needs rtol > 0 and atol >= 0, not rtol={rtol:g} and atol={atol:g}")
    if relative >= 1:
        raise ValueError(f"a relative error of {rtol:g} allows any answer: Radau needs rtol < 1")
    allowed = estimate_tolerance(relative, NODES[order])
    return Method(
        "Radau",
        SCHEMES[order],
        summary="Radau collocation with steps chosen by a tolerance, for stiff torques",
        about="...",
        cite="hairer1996,hairer1999",
        order=order,
        attitude_order=order,
        accepts=Depends.POSITION | Depends.TIME | Depends.RATE,
        keeps=Keeps.NOTHING,
        keeps_when_free=Keeps.NOTHING,
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
