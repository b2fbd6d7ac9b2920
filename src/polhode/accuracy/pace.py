"""How far the steps of a run lead: whether it would end within some minutes, and what to say if it would not."""

import math

from polhode.run.integration import Progress
from polhode.run.step_warnings import PACE_STEPS

MOST_ADAPTIVE_STEPS = 1e8
"""A run in steps that adapt and want more than this, if they stay as long as they are, is given up."""
FAIR_TURN_RADIANS = 0.03
"""Steps that turn the body by this are not short: they are many because it turns fast."""
MOST_GROWING_STEPS = 2e9
"""A run whose steps go on to become shorter, as seen at `CHECKS_IN_VAIN` checks, is given up if it wants more."""
MOST_DRY_STEPS = 2e6
"""The most steps under dry friction, which holds the body at rest by steps to and fro: more hold it no better."""
CHECKS_IN_VAIN = 3
"""The number of checks after which steps that become ever shorter are believed to go on so."""
DRY = (
    "a torque that does not fall to zero as fast as the rate (dry friction) holds the body at rest by ever shorter "
    "steps; end the run there by a terminal event, or let the torque fall to zero within a small rate, as "
    "-c tanh(w / small)"
)
"""What to do about such a torque."""


def given_up(
    torque: str, method: str, made: int, t: float, length: float, rates: tuple[float, float], wanted: float, *,
    dry: bool,
) -> str:  # fmt: skip
    """Why a run ended after the steps that were made, at a time t; `wanted` is the steps it would take, or 0.

    `length` is how far the run has come in time. The rates are those of the body there and at the start.
    """
    short = f"; steps have become so short that the run would take {wanted:.0e} of them" if wanted else ""
    if dry:
        why = f"the torque {torque} brings the body to rest{short}: {DRY}"
    elif wanted and rates[0] < 2.0 * rates[1] and rates[1] * length > FAIR_TURN_RADIANS * made:
        why = (
            f"the body turns at {rates[0]:.3g} rad/s, and the run would take {wanted:.0e} steps: end it sooner, or "
            "check the units of omega"
        )
    else:
        why = (
            f"the body turns at {rates[0]:.3g} rad/s under the torque {torque}, and did at {rates[1]:.3g} rad/s{short}:"
            " the torque may be infinite there; end the run before it, or look at the sign and the size of the torque"
        )
    return f"given up after {made} steps of {method}, at t = {t:.12g}: {why}"


class Endless(Exception):
    """A run would take far more steps than anyone waits for."""

    def __init__(self, steps: float) -> None:
        super().__init__(f"{steps:.0e}")
        self.steps = steps


class Pace:
    """Watches how far the steps of a run lead, as its `progress`; other runs may follow."""

    def __init__(self, progress: Progress | None, most: float = MOST_ADAPTIVE_STEPS) -> None:
        self.progress, self.most = progress, most
        self._begin()

    def _begin(self) -> None:
        self.done, self.share, self.each, self.in_vain = 0, 0.0, 0.0, 0

    def __call__(self, done: int, total: int) -> None:
        """Raises `Endless` where the run would not end."""
        if self.progress is not None:
            self.progress(done, total)
        if done < self.done:
            self._begin()
        made, share = done - self.done, done / max(total, 1)
        if made == 0 or done % PACE_STEPS:  # other calls come when the clock says so
            return
        advance, rest = max(share - self.share, 1e-300), max(1.0 - share, 0.0)
        each = made / advance  # steps for the whole span, at this pace
        steady = done + each * rest
        growth = max(math.log(each / self.each) / advance, 0.0) if self.each > 0.0 else 0.0
        growing = done + each * math.expm1(min(growth * rest, 600.0)) / growth if growth * rest > 1e-6 else steady
        self.in_vain = self.in_vain + 1 if growing > MOST_GROWING_STEPS else 0
        self.done, self.share, self.each = done, share, each
        if steady > self.most or self.in_vain == CHECKS_IN_VAIN:
            raise Endless(max(steady, growing))
