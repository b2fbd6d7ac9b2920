"""Runge-Kutta methods on quaternion and momentum, as seven numbers in a vector space.

They keep nothing, at any order: energy and momentum drift. They are here as baselines that everybody knows.
Any explicit tableau of `kernels/steps/tableaux.py` gives such a method.
"""

from collections.abc import Callable
from typing import Any

from polhode.kernels.algebra.quat import normalised, tidied
from polhode.kernels.steps.compose import Increments, Make
from polhode.kernels.steps.explicit_runge_kutta import in_space
from polhode.kernels.steps.tableaux import CLASSICAL, FEHLBERG, Tableau
from polhode.kernels.types import Quat
from polhode.methods._method import COMPENSATED, Method, with_options


def explicit(
    name: str, make: Make, stages: int, order: int, *, tidy: Callable[[Quat], Quat] = tidied, **card: Any
) -> Method:
    """A method of `stages` stages whose step is the increment that `make` makes."""

    def method(compensated: bool) -> Method:
        return Method(
            name,
            Increments(
                make, evaluations_per_step=stages, compensated=compensated, tidy=tidy, takes_state=not compensated
            ),
            order=order,
            accepts_rotor=True,
            accepts_changing=True,
            unscaled=compensated,
            **card,
        )

    return with_options(method, COMPENSATED)


def runge_kutta(name: str, tableau: Tableau, order: int, **card: Any) -> Method:
    """The method of an explicit tableau."""
    return explicit(name, in_space(tableau), len(tableau.stages), order, tidy=normalised, **card)


RK4 = runge_kutta(
    "RK4",
    CLASSICAL,
    4,
    summary="classical Runge-Kutta on quaternion and momentum; the baseline",
    cite="kutta1901",
    about="The method that everybody knows, applied to quaternion and momentum as seven numbers. The quaternion is "
    "normalised once a step; with compensated summation it is not, and only its direction counts. Takes any torque and "
    "costs four evaluations a step. Keeps nothing: energy and the length of the momentum drift steadily, by an amount "
    "that grows like the fifth power of the step.",
)

RKF5 = runge_kutta(
    "RKF5",
    FEHLBERG,
    5,
    summary="Fehlberg's Runge-Kutta of order 5 at a fixed step",
    cite="fehlberg1970,khlistunova2003",
    about="Fehlberg's six stages with the weights of order 5, at a fixed step: the embedded formula of order 4 is not "
    "used. This is the method that khlistunova2003 compares with, called RK there. Takes any torque and costs six "
    "evaluations a step. Keeps nothing; energy drifts like the fifth power of the step, as that of RK4 does.",
)
