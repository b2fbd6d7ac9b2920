"""A warning where adaptive steps have become so short that a run would take very long."""

from typing import Any

from polhode._check import levels_of_polhode as levels_of_polhode
from polhode.problem import Plan, Problem

LOOK_STEPS = 10_000
"""The number of steps between two looks at their length."""
SHORT_TURN_RADIANS = 1e-4
"""A mean turn in a step that is absurdly short. At tolerances of 1e-6 to 1e-16 a smooth torque has 0.8 to 0.05 in a
step, and a motion that is held at a jump of its torque, at 1e-7 to 1e-13, 5e-6 to 1e-9."""

PACE_STEPS = 1_000_000
"""The number of steps between two looks at how far they lead."""
PACE_PART = 1e-5
"""The part of the span that so many steps make at least in a run that ends in hours. Before a pole of the torque there
are endlessly many steps, each of which leads less far than the one before."""


class ShortSteps(UserWarning):
    """Steps have become so short that a run takes long: the torque is likely to jump where the motion is.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ph.ShortSteps)  # end a run whose steps become so short
    ...     run = ph.simulate(ph.Body([1, 2, 2.8]), ph.HeavyTop(1), omega=[0.1, 2, 0], t_span=(0, 1), rtol=1e-6)
    ...
    """


def are_absurdly_short(plan: Plan, steps: Any, length: Any, rate: Any) -> Any:
    """Whether a number of steps over a length of time is absurdly large for a rate; for one body or for many."""
    return (rate * length < SHORT_TURN_RADIANS * steps) & (length < 0.1 * abs(plan.step) * steps)


def is_stuck(advance: float, before: float, span: float) -> bool:
    """Whether the last steps have led hardly anywhere, and less far than as many before them."""
    return advance < PACE_PART * abs(span) and advance < before


def about_short_steps(problem: Problem, plan: Plan, length: float, *, stiff: bool = False) -> str:
    """Returns what short steps mean, in a sentence."""
    short = f"steps of {plan.method.name} have become as short as {length:.1e}: the torque {problem.torque.name}"
    if stiff:
        return f"{short} is stiff, and they are limited by stability, not by accuracy; use method='Radau'"
    return (
        f"{short} jumps where the motion is, or changes in such times; smooth a jump, or end the run at it by a "
        "terminal event and go on with another torque (at known times: give its breakpoints)"
    )
