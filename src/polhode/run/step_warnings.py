"""Warnings of runs that take long, of steps that have become absurdly short, and of given ones that are too long."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

from polhode.methods import Method
from polhode.problem import Plan, Problem
from polhode.support.checks import LongSteps
from polhode.support.checks import levels_of_polhode as levels_of_polhode

if TYPE_CHECKING:
    from polhode.solution import Solution

LONG_SECONDS = 60.0
"""A run that is likely to take longer is announced, unless its progress is shown."""
STEP_SECONDS = 1e-7
"""The time of a step with one exact flow or one evaluation of a torque model: 0.06 to 0.12 us were measured."""
LANE_SECONDS = 2e-8
"""The time of a step on a core that computes several bodies at a time."""
BODY_SECONDS = 6e-7
"""The time in which a body of an ensemble is drawn, surveyed and reduced, on one core."""

LOOK_STEPS = 10_000
"""The number of steps between two checks of their length."""
SHORT_TURN_RADIANS = 1e-4
"""A mean turn in a step that is absurdly short. At tolerances of 1e-6 to 1e-16 a smooth torque has 0.8 to 0.05 in a
step, and a motion that is held at a jump of its torque, at 1e-7 to 1e-13, 5e-6 to 1e-9."""

PACE_STEPS = 100_000
"""The number of steps between two checks of how far they lead."""
PACE_PART = 1e-6
"""The part of the span that so many steps make at least in a run that ends in hours. Before a pole of the torque there
are endlessly many steps, each of which leads less far than the one before."""


CHECKED_TURN_RADIANS = 0.1
"""A turn in a step from which on conserved quantities are checked; with shorter ones errors need many steps."""
LARGEST_DRIFT = 0.01
"""A conserved quantity that has changed by more than this part of it shows that steps are too long."""
GOOD_TURN_RADIANS = 0.3
"""A turn in a step that every method takes."""


class LongRun(UserWarning):
    """A run is about to begin that is likely to take minutes or more.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", ph.LongRun)  # begin without a word
    ...     run = ph.simulate(ph.Body([1, 2, 2.8]), omega=[0.1, 2, 0], t_span=(0, 5), rtol=1e-9)
    ...
    """


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


def warn_of_long_steps(made: Solution, whose: str = "") -> None:
    """Warns if the steps of a run, which its user chose, were too long for its method."""
    plan, body = made.plan, made.problem.body
    fastest = max(math.hypot(*made.problem.momentum_start.tolist()), math.hypot(*made.last_momentum.tolist()))
    least = min(body.moments)
    if plan.method.variable_steps or (
        abs(plan.step) * fastest < CHECKED_TURN_RADIANS * least and made.stats.steps < LOOK_STEPS
    ):
        return
    rates = (
        math.hypot(*made.problem.omega_start.tolist()),
        math.hypot(*body.rate(made.last_momentum, made.t_last).tolist()),
    )
    say_steps_are_long(plan.method, min(abs(plan.step), abs(made.problem.span)), rates, made.drift(), whose)


def good_steps(rate: float) -> str:
    """The steps that suit a rate, in words."""
    return f"steps of {GOOD_TURN_RADIANS / rate:.1g} s or less"


def say_steps_are_long(
    method: Method, step: float, rates: tuple[float, float], drift: tuple[str, float], whose: str = ""
) -> None:
    """Warns if a step turns a body too far for the method, or if a conserved quantity has drifted.

    The rates are those at the start and at the end, in rad/s.
    """
    rate = rates[0] if step * rates[0] > method.longest_turn else max(rates)  # a run that blew up ends with any rate
    turn, (name, change), reasons = step * rate, drift, []
    if turn > method.longest_turn:
        reasons.append(f"one turns {whose or 'the body'} by {turn:.3g} rad")
    if change > LARGEST_DRIFT:
        of_whom = f" of {whose}" if whose else ""
        reasons.append(f"the {name}{of_whom}, which is conserved, is off by {100 * change:.3g} % at the end")
    if not reasons:
        return
    shorter = good_steps(rate) if turn > GOOD_TURN_RADIANS else "shorter steps"
    exact = (
        ", a method whose free bodies turn exactly, such as Strang," if method.longest_turn < step * rates[0] else ""
    )
    message = f"steps of {step:.3g} s are too long for {method.name}: {' and '.join(reasons)}; take {shorter}{exact}"
    warnings.warn(f"{message} or rtol, which chooses them", LongSteps, stacklevel=levels_of_polhode())


def are_absurdly_short(plan: Plan, steps: Any, length: Any, rate: Any) -> Any:
    """Whether a number of steps over a length of time is absurdly large for a rate; for one body or for many."""
    return (rate * length < SHORT_TURN_RADIANS * steps) & (length < 0.1 * abs(plan.step) * steps)


def leads_nowhere(advance: float, before: float, span: float) -> bool:
    """Whether the last steps have led hardly anywhere, and less far than as many before them."""
    return advance < PACE_PART * abs(span) and advance < before


def about_short_steps(problem: Problem, plan: Plan, length: float, *, stiff: bool = False) -> str:
    """What short steps mean, in a sentence."""
    short = f"steps of {plan.method.name} have become as short as {length:.1e}: the torque {problem.torque.name}"
    if stiff:
        return f"{short} is stiff, and they are limited by stability, not by accuracy; use method='Radau'"
    return (
        f"{short} jumps where the motion is, or changes in such times; smooth a jump, or end the run at it by a "
        "terminal event and go on with another torque (at known times: give its breakpoints)"
    )


def seconds_of(steps: float, bodies: int = 1, threads: int = 1) -> float:
    """About how long this number of steps of each body takes at least, with a simple torque."""
    if bodies == 1:
        return STEP_SECONDS * steps
    return bodies * (BODY_SECONDS + LANE_SECONDS * steps / threads)


def announce(steps: float, bodies: int = 1, threads: int = 1, *, hint: str) -> None:
    """Warns of a run that is likely to take long; `hint` says how to shorten it."""
    seconds = seconds_of(steps, bodies, threads)
    if seconds <= LONG_SECONDS:
        return
    work = f"{steps:.2g} steps" if bodies == 1 else f"{bodies:.2g} bodies with {steps:.2g} steps each"
    warnings.warn(
        f"{work} take {duration(seconds)} at least: {hint}, or give progress= to see how far the run is",
        LongRun,
        stacklevel=levels_of_polhode(),
    )


def duration(seconds: float) -> str:
    """A length of time in words, in the largest unit of which there is one."""
    for unit, size in (("years", 31_557_600.0), ("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= size:
            count = f"{float(f'{seconds / size:.2g}'):,g}"
            return f"about {count} {unit[:-1] if count == '1' else unit}"
    return f"about {seconds:.2g} seconds"
