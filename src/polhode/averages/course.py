"""The course of a drift: the mean motion, the stretches that were run in full beside it, and the error they state."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from polhode.averages.evolution import HALF_WINDOW, STEPS_SHARE, Correction, Path, Steps, too_much, watched_path
from polhode.averages.rates import SHARE_OF_TOLERANCE, MeanRates, Survey
from polhode.averages.stretches import (
    FIRST_STRETCHES,
    GAP,
    HALF_WINDOW_ORBITS,
    Full,
    Stretch,
    Window,
    chebyshev,
    half_window,
    interpolated,
    mean_path,
)
from polhode.body import Body
from polhode.free.free_motion import FreeMotion
from polhode.support.arrays import Floats
from polhode.torques import Torque

LEAST_PERIODS = round(4.0 * (GAP + 2.0) * HALF_WINDOW)
LEAST_ORBITS = round(4.0 * (GAP + 2.0) * HALF_WINDOW_ORBITS)
"""The shortest spans: as long as four stretches. A full run of a shorter one costs no more."""
KINKS_SHARE = 0.5
"""The share of the distance from a motion with a quarter of the points that is stated as an error, where no number of
points is enough: it is more than a second-order rule leaves."""
MARGIN = 1.25
"""What errors are stated by, in units of what the stretches show."""
APART = 0.2
"""The least distance of two stretches, in units of their length: short spans have fewer of them."""
FEWEST_TO_CORRECT = 4
"""The fewest stretches whose excess is interpolated: where turns become slow, long stretches leave no room for more."""
MOST_TURNS = 1e6
"""The most turns of the faster angle in a stretch that is run in full."""
MOST_ORBITS = 3000.0
"""The most orbits of a span that are followed one by one: each takes about a hundred evaluations."""
FROM_SEPARATRIX = 10.0
"""The least distance from the separatrix at the start, in changes of one period."""


class DriftImpossible(ValueError):
    """Averages do not hold for this problem. The message says why, and what to do instead.

    Examples
    --------
    >>> try:
    ...     ph.drift(ph.Body([1, 2, 2.8]), ph.LinearDamping(0.5), omega=[0.1, 0.2, 1], t_span=(0, 1e5))
    ... except ph.DriftImpossible as why:
    ...     print("averages hold up to 0.1" in str(why))
    ...
    True
    """


@dataclass(frozen=True, eq=False)
class Question:
    """A body under a weak torque, and how accurately its mean motion is wanted."""

    body: Body
    torque: Torque
    t_end: float
    """The end of the span."""
    rtol: float
    orbit: float | None
    """The period of an orbit, s; None: there is none, or the torque does not depend on time."""
    over_orbit: bool
    scale: Floats
    """The sizes of L (3) and T at the start, to which errors are relative."""
    t_start: float
    on_compile: Callable[[], None] | None = None

    @cached_property
    def values(self) -> tuple[Torque, Floats]:
        """The torque in the form that needs no times of a run, if it has one, and its numbers."""
        try:
            return self.torque, np.array(self.torque.parameters(self.body), dtype=np.float64)
        except ValueError:  # its tables are for the times of a run
            ready = self.torque.for_span(self.t_start, self.t_end)
            return ready, np.array(ready.parameters(self.body), dtype=np.float64)

    @property
    def tolerance(self) -> float:
        """The error of the mean rates over their scale that sums over points may have, 1/s."""
        return SHARE_OF_TOLERANCE * self.rtol / abs(self.t_end - self.t_start)

    def rates(self, side: float) -> MeanRates:
        """The mean rates about one end of the axis that the momentum circles."""
        torque, values = self.values
        made = MeanRates(self.body, torque, values, side, self.scale, self.orbit, self.on_compile)
        made.times = 2 if self.over_orbit else 1  # as many as are needed, as soon as the drift begins
        return made


class Course(NamedTuple):
    """A mean motion with its error."""

    path: Path
    stretches: tuple[Stretch, ...]
    error: float
    corrected: bool
    """Whether the stretches have corrected it to second order."""


class DriftProgress:
    """A mean motion that is being followed, as far as it is known."""

    def __init__(self, path: Path, stretches: Sequence[Stretch] = ()) -> None:
        self.steps, self.stretches, self.error = Steps(path), list(stretches), math.inf

    def course(self) -> Course:
        """What is known of it to first order."""
        return Course(self.steps.path(), tuple(self.stretches), self.error, False)


def checked_start(asked: Question, rates: MeanRates, t0: float, z: Floats, span: float) -> Survey:
    """What is seen at the start; raises DriftImpossible where averages cannot begin, or do not pay."""
    seen, _ = rates.settle_points(t0, z, asked.tolerance)
    if asked.over_orbit:
        rates.settle_times(t0, z, asked.tolerance)
    in_full = "run it in full with simulate(..., rtol=)"
    if (why := too_much(seen)) is not None:
        raise DriftImpossible(f"{why}: {in_full}")
    distance, least = rates.distance(z), FROM_SEPARATRIX * seen.strength
    if abs(distance) < least and not rates.symmetric:
        raise DriftImpossible(
            f"the start is {distance:.2g} from the separatrix, which a few periods may cross (averages begin at "
            f"{least:.2g}): {in_full} until it has left, and drift from there"
        )
    stretch = (GAP + 2.0) * half_window(rates, seen)
    if (turns := stretch / seen.fastest) > MOST_TURNS:
        raise DriftImpossible(
            f"a stretch that is run in full would take {stretch:.3g} s, {turns:.2g} turns of {seen.fastest:.3g} "
            f"s, and averages hold up to {MOST_TURNS:g}: {in_full}"
        )
    if asked.orbit is not None and not asked.over_orbit and (count := abs(span) / asked.orbit) > MOST_ORBITS:
        raise DriftImpossible(
            f"the span has {count:,.0f} orbits of {asked.orbit:.4g} s, and averages over the rotation follow up to "
            f"{MOST_ORBITS:,.0f}: average over the orbit as well, with over=('rotation', 'orbit')"
        )
    for length, fewest, what in (
        (seen.slowest, LEAST_PERIODS, "periods"),
        (asked.orbit if asked.over_orbit else None, LEAST_ORBITS, "orbits"),
    ):
        if length is not None and abs(span) < fewest * length:
            other = in_full if what == "periods" else "average over the rotation only, with over=('rotation',)"
            raise DriftImpossible(
                f"the span is {abs(span) / length:.3g} {what} of {length:.3g} s, and averages take {fewest} at least: "
                f"{other}"
            )
    return seen


def first_mean(asked: Question, rates: MeanRates, start: FreeMotion, seen: Survey) -> Window:
    """The mean over the first window of a motion, which is run in full."""
    full = Full(rates, asked.rtol, asked.t_end - asked.t_start)
    return full.first_mean(start, seen.t, math.copysign(1.0, asked.t_end - seen.t), seen)


def start_of(rates: MeanRates, t0: float, window: Window, correction: Correction | None = None) -> Path:
    """Where the mean motion begins that has the mean of a window."""
    if not window.half:
        return Path.at_rest(t0, window.mean)
    return Path.at_rest(t0, mean_path(rates, correction, window, (t0, t0 + 2.0 * window.half))(np.array([t0]))[0])


def followed(asked: Question, rates: MeanRates, window: Window, begun: DriftProgress) -> Course:
    """The mean motion to the end, with an error that stretches in full state."""
    first = watched_path(rates, None, begun.steps, asked.t_end, asked.rtol)
    t0 = float(first.t[0])
    stretches = _stretches(asked, rates, first, _nodes(first, FIRST_STRETCHES), 0, begun.stretches)
    if not stretches:
        return Course(first, (), _jumps(first), False)
    extent, excess = abs(first.t[-1] - t0), _integral(stretches, t0, float(first.t[-1]))
    correction = interpolated(stretches, rates.scale)
    again = Steps(start_of(rates, t0, window, correction))
    second = watched_path(rates, correction, again, asked.t_end, asked.rtol)
    apart, known = _apart(first, second, rates), STEPS_SHARE * asked.rtol
    if rates.noise > 0.0:  # what the points of angles leave out grows along the motion
        with rates.rougher():
            rough = watched_path(rates, correction, Steps(again.before), asked.t_end, asked.rtol)
        known += KINKS_SHARE * _apart(second, rough, rates)
    error = MARGIN * max(excess, apart) + known
    begun.error = error + _jumps(first)
    if error <= asked.rtol or len(stretches) < FEWEST_TO_CORRECT:
        return Course(first, tuple(stretches), begun.error, False)
    nodes = np.array([s.middle for s in stretches])
    others = _stretches(asked, rates, second, 0.5 * (nodes[1:] + nodes[:-1]), FIRST_STRETCHES, [])
    left = [np.abs(s.excess - correction(s.middle) / rates.scale).max() for s in others]
    growth = max(1.0, apart / max(excess, 1e-300))
    better = MARGIN * growth * max(left, default=math.inf) * extent + known
    all_of_them = tuple(sorted([*stretches, *others], key=lambda s: s.middle * math.copysign(1.0, asked.t_end - t0)))
    if better < error:
        return Course(second, all_of_them, better + _jumps(second), True)
    error = max(error, MARGIN * _integral(all_of_them, t0, float(first.t[-1])))
    return Course(first, all_of_them, error + _jumps(first), False)


def _apart(a: Path, b: Path, rates: MeanRates) -> float:
    """The greatest distance of two paths from one start, as far as both lead."""
    last = min(a.t[-1], b.t[-1], key=lambda t: abs(t - a.t[0]))
    common = np.linspace(a.t[0], last, 201)
    return float(np.abs((a.at(common) - b.at(common)) / rates.scale).max())


def _nodes(path: Path, count: int) -> Floats:
    return chebyshev(count, float(path.t[0]), float(path.t[-1]))


def _stretches(
    asked: Question, rates: MeanRates, path: Path, middles: Floats, first: int, made: list[Stretch]
) -> list[Stretch]:  # fmt: skip
    """Adds stretches about these times, moved inward where they would leave the span, to those that were made."""
    begin, end = float(path.t[0]), float(path.t[-1])
    direction = math.copysign(1.0, end - begin)
    full = Full(rates, asked.rtol, end - begin)
    for k, middle in enumerate(middles.tolist()):
        seen = rates.survey(middle, path.at(middle))
        length = (GAP + 2.0) * half_window(rates, seen)
        if length > abs(end - begin):
            continue
        start = direction * min(max(direction * middle - 0.5 * length, direction * begin), direction * end - length)
        if made and direction * (start - made[-1].t0) < APART * length:
            continue
        try:
            made.append(full.stretch(path.at(start), start, direction, seen, first + k))
        except ArithmeticError as why:
            raise DriftImpossible(f"{why}: run it in full with simulate(..., rtol=)") from None
    return made


def _integral(stretches: Sequence[Stretch], t0: float, t1: float) -> float:
    """The integral of the size of the excess over a span, of its greatest component."""
    times = np.array([t0, *(s.middle for s in stretches), t1])
    sizes = np.abs(np.array([s.excess for s in (stretches[0], *stretches, stretches[-1])]))
    steps = np.abs(np.diff(times))[:, None]
    return float((0.5 * (sizes[1:] + sizes[:-1]) * steps).sum(axis=0).max())


def _jumps(path: Path) -> float:
    """What the resonances may have changed at most."""
    return float(sum(e.bound for e in path.events if e.kind == "resonance"))
