"""The policy of every search for steps: its numbers, each once, and how many more steps a next try has.

One body, many bodies and systems of bodies follow it.
"""

import math
import warnings
from typing import NamedTuple

from polhode.integration.short_steps import levels_of_polhode


class Policy(NamedTuple):
    """The numbers that decide how a search goes on, and when it ends.

    Truncation errors fall at least with the first power of the steps. An error that does not is taken for round-off, as
    far as the numbers from `telling_near_round_off` on allow.
    """

    finer: float = math.sqrt(1.25)
    """The steps of a level over those of the level below; a companion has those of two levels below."""
    grouped_rise: int = 2
    """The levels of many bodies rise by multiples of this: few rise further than to the next group, and groups should
    be large. One body rises as far as it needs."""
    least_factor: float = 1.15
    least_factor_in_doubt: float = 1.5
    """How many times as many steps the next try has at least; the second where errors are so large, or so near round-
    off, that a small change says little."""
    most_factor: float = 6.0
    most_factor_in_doubt: float = 2.0
    """How many times as many steps it has at most; the second where errors may be round-off."""
    rise_after_failure: int = 8
    """Levels after a run that failed, a factor of 2.4. Before a soft wall, where first guesses fail, a factor of 1.6
    takes 17 % longer in the mean."""
    most_failures: int = 6
    """A body whose runs fail more often than this, with up to 200 times its first steps, is given up: its torque may be
    at fault."""
    most_grouped_failures: int = 8
    """The same among many bodies, which begin with the steps that most of them need: one may be thousands of times as
    fast. After two failures its levels rise twice as fast."""
    most_tries: int = 24
    """Tries after which a body is given up."""
    least_share_of_order: float = 0.25
    small_rise: float = 1.5
    """After a rise of the steps by less than the second number an order that is lower than this part of the method's is
    not believed: the phase, or terms that cancel, may have the same effect."""
    target: float = 0.5
    """The part of the tolerance that the next try aims at."""
    tighter: float = 1e-3
    """What iterations may leave after a try that failed, over what they might before: three more of ten. What they left
    may be what the motion has made grow."""
    far: float = 30.0
    """Errors of this many tolerances and more let the next try solve its iterations to round-off: a motion that makes
    the error grow so far does the same to what iterations leave."""
    near_round_off: float = 1e-9
    """Errors below this may be round-off, over many turns."""
    attainable: float = 24.0
    """Estimates below this many least errors are round-off: shorter steps would not lower them."""
    attained: float = 3.0
    """Tolerances below this many least errors cannot be asked for."""
    rounded: float = 30.0
    """Estimates below this many times what they could be at least may be made of round-off."""
    telling_near_round_off: float = 1.3
    """An error as small as round-off may be is judged after this many times as many steps. After 1.25 times, the least
    rise, chance would hide the power; so rises are 1.56 there at least."""
    far_from_round_off: float = 1e3
    """An error of more than this many times the least one is judged so only if two rises were in vain."""
    telling: float = 4.0
    """A larger error, for which the motion would have to make round-off grow, is judged after this many times as many
    steps: up to there a phase, or terms that cancel, may have the same effect."""
    follows_its_order: float = 1e-2
    """An error above this, in radians, is not judged so: it depends on the phase, and may rise before it falls."""
    flat: float = 0.5
    long_flat: float = 3.0
    """An error is taken for round-off if it is still above this part of what it was four tries ago, with this many
    times fewer steps."""
    wanted: float = 0.6
    """The part of the tolerance that the estimates of pilots should have, since other bodies may need a little more."""
    longest_descent: float = 0.4
    """No fewer steps than this part of the last number are foreseen."""
    kept_tries: int = 8
    """The number of tries of each body that are remembered."""


POLICY = Policy()


def seen_order(p: Policy, order: float, error: float, steps: float, before: float, fewer: float) -> float:
    """Returns by which power of the steps the error fell from the try before; `order` if that is not known."""
    if not (0.0 < error < math.inf and 0.0 < before < math.inf and fewer > 0.0 and fewer != steps):
        return max(order, 1.0)
    seen = math.log(before / error) / math.log(steps / fewer)
    return max(seen, p.least_share_of_order * order if steps < p.small_rise * fewer else 1.0, 1.0)


def next_factor(
    p: Policy, order: float, rtol: float, error: float, steps: float, before: float, fewer: float, maybe_rounding: bool
) -> float:  # fmt: skip
    """Returns how many times as many steps the next try has, by the order of the method or by the one that was seen.

    `error` is that of the last try, with so many `steps`, `before` that of the try before, with `fewer` of them.
    """
    power = min(order, seen_order(p, order, error, steps, before, fewer)) if before < 0.1 else order
    factor = 1.1 * math.pow(max(error / (p.target * rtol), 1e-300), 1.0 / power)
    least = p.least_factor_in_doubt if maybe_rounding or error > 0.1 else p.least_factor
    return min(max(factor, least), p.most_factor_in_doubt if maybe_rounding else p.most_factor)


class ToleranceNotReached(UserWarning):
    """The estimate of the error is above the tolerance, and shorter steps would not help.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ph.ToleranceNotReached)  # less accurate than asked is an error
    ...     run = ph.simulate(ph.Body([1, 2, 2.8]), ph.HeavyTop(1), omega=[0.1, 2, 0], t_span=(0, 1), rtol=1e-6)
    ...
    """


def warn_not_reached(rtol: float, error: float, why: str, *, of: str = "") -> None:
    """Warns that a tolerance was not reached, for a run or for some `of` many bodies, and says why."""
    message = f"the tolerance {rtol:g} was not reached{of}: the error is estimated as {error:.1e}, and {why}"
    warnings.warn(message, ToleranceNotReached, stacklevel=levels_of_polhode())
