"""Adams's methods at fixed steps: few torque evaluations at a high order, for torques of any size and kind."""

from polhode.kernels.steps.adams_steps import Adams as AdamsScheme
from polhode.methods._method import COMPENSATED, Method, Option, StepModel, with_options

LONGEST_TURN = {8: 0.3, 10: 0.16, 12: 0.08}
"""Radians in a step beyond which the method of an order is unstable."""
COEFFICIENTS = {8: 0.06, 10: 0.1, 12: 0.4}
"""The error of a step over its turn to the order, as measured on eight problems; the search does the rest."""


def _adams(order: int, compensated: bool) -> Method:
    return Method(
        "Adams",
        AdamsScheme(order, compensated),
        summary=f"Adams's predictor and corrector of order {order} on quaternion and momentum",
        about="Quaternion and momentum, as seven numbers, move by the integral of the polynomial through the slopes"
        f" of the last steps: predicted, evaluated, corrected, evaluated, both formulas of order {order}. Takes any"
        f" torque and costs two evaluations a step. The first {order - 1} steps, those after a jump of the torque"
        " and those of another length are Runge-Kutta steps of order 8 with 12 evaluations. Unstable if the body"
        f" turns by more than about {LONGEST_TURN[order]:g} in a step. Keeps nothing. Pays where the"
        " torque depends on the rate and its evaluation takes longer than all the rest of a step.",
        cite="hairer1993",
        order=order,
        accepts_rotor=True,
        accepts_changing=True,
        unscaled=compensated,
        model=StepModel(
            0.95 * LONGEST_TURN[order], (COEFFICIENTS[order],), 1.0, evaluations_per_flow=2.0, turn_growth=1.2
        ),
    )


_ORDER = Option("order", 10, "of both formulas; A8 is short for Adams(order=8)", tuple(LONGEST_TURN), short="A{}")
Adams = with_options(_adams, _ORDER, COMPENSATED)
