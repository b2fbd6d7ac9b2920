"""An early word about runs that take long: what they cost is known before they begin."""

import warnings

from polhode._check import levels_of_polhode

LONG_SECONDS = 60.0
"""A run that is likely to take longer is announced, unless its progress is shown."""
STEP_SECONDS = 1e-7
"""The time of a step with one exact flow or one evaluation of a torque model: 0.06 to 0.12 us were measured."""
LANE_SECONDS = 2e-8
"""The same on a core that computes several bodies at a time."""
BODY_SECONDS = 6e-7
"""The time in which a body of an ensemble is drawn, surveyed and reduced, on one core."""


class LongRun(UserWarning):
    """A run is about to begin that is likely to take minutes or more."""


def seconds_of(steps: float, bodies: int = 1, threads: int = 1) -> float:
    """Returns about how long this number of steps of each body takes at least, with a simple torque."""
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
        f"{work} take {_duration(seconds)} at least: {hint}, or give progress= to see how far the run is",
        LongRun,
        stacklevel=levels_of_polhode(),
    )


def _duration(seconds: float) -> str:
    """Returns a length of time in words, in the largest unit of which there is one."""
    for unit, size in (("years", 31_557_600.0), ("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= size:
            return f"about {seconds / size:.2g} {unit}"
    return f"about {seconds:.2g} seconds"
