"""Adams's methods at fixed steps: the cheapest steps of a high order, for any torque."""

from polhode.core.adams import Adams
from polhode.core.types import Depends
from polhode.methods._method import COMPENSATED, Keeps, Method, with_options


def _adams(order: int, longest: float) -> Method:
    def make(compensated: bool) -> Method:
        return Method(
            f"A{order}",
            Adams(order, compensated),
            summary=f"Adams's predictor and corrector of order {order} on quaternion and momentum",
            about="Quaternion and momentum, as seven numbers, move by the integral of the polynomial through the slopes"
            f" of the last steps: predicted, evaluated, corrected, evaluated, both formulas of order {order}. Takes any"
            f" torque and costs two evaluations a step. The first {order - 1} steps, those after a jump of the torque"
            " and those of another length are Runge-Kutta steps of order 8 with 12 evaluations. Unstable if the body"
            f" turns by more than about {longest:g} in a step. Keeps nothing.",
            cite="hairer1993",
            order=order,
            attitude_order=order,
            accepts=Depends.POSITION | Depends.TIME | Depends.RATE,
            keeps=Keeps.NOTHING,
            keeps_when_free=Keeps.NOTHING,
            unscaled=compensated,
        )

    return with_options(make, COMPENSATED)


A8, A10, A12 = _adams(8, 0.3), _adams(10, 0.16), _adams(12, 0.08)
