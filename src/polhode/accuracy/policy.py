"""The policy of every search for steps: its numbers, each once, and whether and how a search goes on (`next_try`).

One body, many bodies and systems of bodies ask it; the compiled short path (`kernels/one_call.py`) has its target.
"""

import math
import warnings
from collections.abc import Sequence
from typing import NamedTuple

from polhode.kernels.judge import COARSER, MAYBE_ROUND_OFF
from polhode.support import checks
from polhode.support.checks import levels_of_polhode


class Policy(NamedTuple):
    """The numbers that decide how a search goes on, and when it ends.

    Truncation errors fall at least with the first power of the steps. An error that does not is taken for round-off, as
    far as the numbers from `telling_near_round_off` on allow.
    """

    finer: float = COARSER**-0.5
    """The steps of a level over those of the level below; a companion has those of two levels below."""
    least_factor: float = 1.15
    least_factor_in_doubt: float = 1.5
    """The least factor from the number of steps of a try to that of the next. `least_factor_in_doubt` holds where
    errors are so large, or so near round-off, that a small change of them shows little."""
    most_factor: float = 6.0
    most_factor_in_doubt: float = 2.0
    """The largest factor from the number of steps of a try to that of the next. `most_factor_in_doubt` holds where
    errors may be round-off."""
    rise_after_failure: int = 8
    """Levels after a run that failed, a factor of 2.4. Before a soft wall, where first guesses fail, a factor of 1.6
    takes 17 % longer in the mean."""
    slow_failures: int = 6
    """After more failures than this the steps rise twice as fast, by a factor of 6."""
    most_failures: int = 6
    """A body whose runs fail more often than this, with up to 200 times its first steps, is given up: its torque may be
    at fault."""
    most_tries: int = 24
    """Tries after which a body is given up."""
    least_share_of_order: float = 0.25
    small_rise: float = 1.5
    """After a rise of the steps by less than `small_rise`, the order that the errors show is taken to be at least
    `least_share_of_order` times that of the method: the phase, or terms that cancel, may make it seem lower."""
    target: float = 0.5
    """The part of the tolerance that the next try aims at."""
    tighter: float = 1e-3
    """The error that iterations may leave after a try has missed the tolerance, over that of the first try: ten
    iterations become thirteen. The motion may have made this error grow."""
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
    """The factor by which steps must rise before an error below `near_round_off` that has not fallen is taken for
    round-off. Chance could hide the power in a rise by 1.25, the least one; so rises are 1.56 there at least."""
    far_from_round_off: float = 1e3
    """An error above this multiple of the least error is taken for round-off only after two rises in vain."""
    telling: float = 4.0
    """The factor by which steps must rise before an error above `near_round_off` that has not fallen ends the search.
    After a smaller rise the phase, or terms that cancel, may be the cause."""
    follows_its_order: float = 1e-2
    """An error above this, in radians, does not end the search by a rise in vain: it depends on the phase, and may rise
    before it falls."""
    hopeless: float = 1e27
    """A search ends if the error is above `follows_its_order` after a rise of the steps by which an error that follows
    its order would have fallen by this factor: then the motion makes round-off grow."""
    flat: float = 0.5
    long_flat: float = 3.0
    """A search ends if the error is above `flat` times that of three tries before (of seven, if patience is 2), which
    had fewer steps by a factor of more than `long_flat`."""
    wanted: float = 0.6
    """The part of the tolerance that the estimates of pilots should have, since other bodies may need a little more."""
    longest_descent: float = 0.4
    """No fewer steps than this part of the last number are foreseen."""
    kept_tries: int = 8
    """The number of tries of each body that are remembered."""


POLICY = Policy()
GROUPED = Policy(most_failures=8, slow_failures=2, tighter=1.0)
"""The policy for many bodies, which begin with the steps that most of them need: one may be thousands of times as fast.
Bodies whose iterations leave different errors could not run together."""
SYSTEMS = Policy(least_factor=100.0 ** (1.0 / 15.0), telling=1.3, follows_its_order=math.inf, most_tries=14)
"""The policy for systems in steps that adapt, whose runs are compared each with the one before: an error per step that
is smaller by a factor of 100 takes steps shorter by a quarter. With the order of these steps, 15, an error that does
not fall then is not that of the steps."""
GROUPED_RISE = 2
"""The levels of many bodies rise by multiples of this: few rise further than to the next group, and groups should be
large. One body rises as far as it needs."""


def seen_order(p: Policy, order: float, error: float, steps: float, before: float, fewer: float) -> float:
    """By which power of the steps the error fell from the try before; `order` if that is not known."""
    if not (0.0 < error < math.inf and 0.0 < before < math.inf and fewer > 0.0 and fewer != steps):
        return max(order, 1.0)
    seen = math.log(before / error) / math.log(steps / fewer)
    return max(seen, p.least_share_of_order * order if steps < p.small_rise * fewer else 1.0, 1.0)


def next_factor(
    p: Policy, order: float, rtol: float, error: float, steps: float, before: float, fewer: float, maybe_rounding: bool
) -> float:  # fmt: skip
    """How many times as many steps the next try has, by the order of the method or by the one that was seen.

    `error` is that of the last try, with so many `steps`, `before` that of the try before, with `fewer` of them.
    """
    power = min(order, seen_order(p, order, error, steps, before, fewer)) if before < 0.1 else order
    factor = 1.1 * math.pow(max(error / (p.target * rtol), 1e-300), 1.0 / power)
    least = p.least_factor_in_doubt if maybe_rounding or error > 0.1 else p.least_factor
    return min(max(factor, least), p.most_factor_in_doubt if maybe_rounding else p.most_factor)


# --- whether and how a search goes on ---------------------------------------------------------------------------------


class Try(NamedTuple):
    """One try: a run and its companion."""

    steps: float
    error: float
    """The estimate of its error; infinite if the run or its companion failed."""
    follows: bool = True
    """Whether the steps are so short that the method follows the motion; else the error is chance."""


class Floor(NamedTuple):
    """The least errors of a body."""

    least: float
    """The least value that the estimate of its last try could have had: the floor and the rounding of the steps."""
    believed: float
    """The floor: the least error that an estimate may state."""
    round_off: float
    """The error that round-off leaves, if the axes of the body are known."""


class Tries(NamedTuple):
    """What is known of a search: its aim, and its tries."""

    rtol: float
    last: Sequence[Try] = ()
    """The last tries, the latest last: `kept_tries` of them, or more."""
    made: int = 0
    """The number of all tries."""
    failures: int = 0
    """The number of those that failed."""
    residual: float = 0.0
    """The error that iterations of the last try might leave, over that of the first; 0: there are none, or they went on
    to round-off."""
    patience: int = 1
    """The number of refinements that may be in vain."""
    most: float = math.inf
    """The number of steps beyond which more mean nothing."""

    def adding(self, new: Try) -> "Tries":
        """These tries and a new one."""
        failures = self.failures + (not math.isfinite(new.error))
        return self._replace(last=(*self.last, new), made=self.made + 1, failures=failures)


class Refine(NamedTuple):
    """The search goes on."""

    factor: float
    """The number of steps of the next try, over that of the last one."""
    residual: float
    """The error that iterations of the next try may leave, over that of the first try; 0: they go on to round-off."""


class Enough(NamedTuple):
    """The last try will do: its estimate is below the tolerance."""


class GiveUp(NamedTuple):
    """More steps would be in vain."""

    reason: str
    """What to say of the error that is left."""


class AtRoundOff(GiveUp):
    """The last try will do although its estimate is above the tolerance: the estimate is round-off."""


ENOUGH = Enough()
FAILS, TOO_MANY_TRIES, FINEST, STALLED, STUCK = map(
    GiveUp,
    (
        "runs with shorter steps fail",
        "many tries with shorter steps did not lower it enough",
        "steps cannot be shorter",
        "steps that adapt become ever shorter: the torque may be infinite there",
        "shorter steps do not lower it: it is round-off",
    ),
)


def next_try(p: Policy, tries: Tries, order: float, floor: Floor) -> Refine | Enough | GiveUp:
    """How a search goes on after its last try, by a method of this order; 0: its steps are exact."""
    steps, error, _ = tries.last[-1]
    if error <= tries.rtol:
        return ENOUGH
    if _is_round_off(p, tries, floor):
        asked = f"take the answer, or ask for rtol={2.0 * error:.0e}"
        return AtRoundOff(f"that is round-off: no method reaches less here; {asked}")
    failed = not error < math.inf  # it says nothing of how many more steps are wanted, nor of iterations
    stuck, residual = _stuck(p, tries, order, floor), tries.residual if failed else min(p.tighter, tries.residual)
    if residual > 0.0:  # it may be what the iterations have left
        if stuck or p.far * tries.rtol < error < math.inf:
            residual = 0.0
        stuck = None
    if tries.failures > p.most_failures:
        return FAILS
    if tries.made >= p.most_tries:
        return TOO_MANY_TRIES
    if order == 0.0 or steps >= tries.most:
        return FINEST
    if stuck is not None:
        return stuck
    if failed:
        rises = p.rise_after_failure if tries.failures <= p.slow_failures else 2 * p.rise_after_failure
        return Refine(p.finer**rises, residual)
    doubt = error < max(p.near_round_off, MAYBE_ROUND_OFF * floor.least)
    fewer, before, _ = tries.last[-2] if len(tries.last) > 1 else Try(math.nan, math.nan)
    return Refine(next_factor(p, max(order, 1.0), tries.rtol, error, steps, before, fewer, doubt), residual)


def _is_round_off(p: Policy, tries: Tries, floor: Floor) -> bool:
    """Whether the last estimate is made of round-off, which shorter steps would not lower."""
    error = tries.last[-1].error
    if tries.rtol <= p.attained * max(floor.believed, 2.0 * floor.round_off):  # it is out of reach
        return error <= p.attainable * floor.believed
    return tries.made > 1 and error <= p.attainable * floor.round_off


def _stuck(p: Policy, tries: Tries, order: float, floor: Floor) -> GiveUp | None:
    """Why the last refinements have not lowered the error, where they should have; None if they have.

    Errors of steps that do not follow the motion show nothing, unless they are as small as they can be. For a torque
    that changes fast in time the first refinements may be in vain, as long as steps are longer than that.
    """
    rounded, last = tries.last[-1].error < p.rounded * floor.least, tries.last
    n = [one.steps for one in last]
    rounded = rounded or p.attained * floor.believed > tries.rtol  # no steps would do: none need be awaited
    e = [one.error if one.follows or rounded else math.nan for one in last]
    if len(e) < 2 or not e[-1] < math.inf:
        return None

    def in_vain(k: int, rise: float) -> bool:
        """Whether refinement k, counted from the last one, -1, was by more than `rise`, and in vain."""
        return -k < len(e) and e[k] * n[k] > e[k - 1] * n[k - 1] and n[k] > rise * n[k - 1]

    # Far above the least error the motion must have made round-off grow: once may be chance.
    near = e[-1] < p.far_from_round_off * floor.least
    vain = (near or in_vain(-2, p.telling_near_round_off)) and in_vain(-1, p.telling_near_round_off)
    if vain and e[-1] < p.near_round_off:
        return STUCK
    first = -1 - tries.patience
    if not all(in_vain(-k, p.telling) and e[-k - 1] < p.follows_its_order for k in range(1, tries.patience + 1)):
        first = next(k for k in range(-len(e), 0) if not math.isnan(e[k]))
        if e[-1] < p.follows_its_order or math.pow(n[-1] / n[first], order) < p.hopeless:
            first = -4 * tries.patience
            if not (-first <= len(e) and n[-1] > p.long_flat * n[first] and e[-1] > p.flat * e[first]):
                return None
    if near:
        return STUCK
    return GiveUp(
        f"{n[-1] / n[first]:.2g} times as many steps changed it only from {e[first]:.1e} to {e[-1]:.1e}: the torque "
        "may jump or bend (give the times, as in @ph.torque(breakpoints=[...]), or leave out method=), or the motion "
        "may be chaotic"
    )


LEAST_TOLERANCE = 1e-17
"""Tolerances below this are taken as this: the last digit of numbers is 2e-16."""


def checked_tolerance(rtol: float) -> float:
    """The tolerance that a user gave, or the least one, with the only warning that it is not reached."""
    tolerance = checks.number("rtol", rtol)
    if not 0 < tolerance < 1:
        raise ValueError(f"rtol must lie between 0 and 1, such as 1e-6, not {tolerance:g}")
    if tolerance <= LEAST_TOLERANCE:
        taken = f"is taken as {LEAST_TOLERANCE:g}" if tolerance < LEAST_TOLERANCE else "cannot be reached"
        _warn(f"rtol={tolerance:g} {taken}: floats have 16 digits; the answer says what was reached")
    return max(tolerance, LEAST_TOLERANCE)


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


def _warn(message: str) -> None:
    warnings.warn(message, ToleranceNotReached, stacklevel=levels_of_polhode())


def warn_not_reached(
    rtol: float, error: float, reason: str, *, of: str = "", about: str = "the error is estimated as"
) -> None:
    """Warns that a tolerance was not reached, for a run or for some `of` many bodies, and says why.

    `checked_tolerance` has said so of the least one.
    """
    if rtol > LEAST_TOLERANCE:
        _warn(f"rtol={rtol:g} was not reached{of}: {about} {error:.1e}, {reason}")
