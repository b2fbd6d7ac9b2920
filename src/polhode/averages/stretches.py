"""Stretches of a drift that are run in full: they say where the mean motion begins, how wrong it is, and correct it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.polynomial.chebyshev import chebint, chebval, chebvander

from polhode.api.simulate import simulate
from polhode.averages.evolution import HALF_WINDOW, Correction
from polhode.averages.rates import MeanRates, Survey
from polhode.free.free_motion import FreeMotion
from polhode.kernels.types import Depends
from polhode.run.integration import SimulationInterrupted
from polhode.support.arrays import Floats

if TYPE_CHECKING:
    from scipy.interpolate import PPoly

HALF_WINDOW_ORBITS = 4.0
"""Half of the window of a mean, in orbits, where the orbit is averaged over."""
GAP = 3.0
"""The distance of the two means of a stretch, in half windows: a stretch is `GAP` + 2 long."""
FARTHEST_OUT = 1.4
"""How far the correction is extrapolated, in units of half the distance of the outermost stretches."""
FEWEST_ROWS, MOST_ROWS_A_PERIOD = 24, 64
MOST_ROWS = 200_000
FIRST_STRETCHES = 5
"""Stretches at Chebyshev points of the span, from which the correction is interpolated."""
FINEST, COARSEST = 1e-11, 1e-9
"""Between these lies the tolerance of full runs: what they miss in a stretch counts over the whole span."""
GENTLE = 1e-4
"""A torque without time is made this strong in a stretch if it is weaker: what it does beyond the mean grows with the
square of its strength, and would be lost in round-off. The excess is divided by that square again."""
SLIGHT_MISS, MOST_ITERATIONS = 1e-13, 40
"""A mean motion over a stretch is iterated until it changes by less, relative to the start, or so many times."""
FEWEST_NODES, NODE_DOUBLINGS = 8, 4
"""The points of a stretch at which mean rates are taken at first, and how often they are doubled at most."""
MOST_CORRECTIONS = 4
SLIGHT_EXCESS = 1e-2
"""The excess is corrected for its own part in the mean motion until this share of it is left."""
GRID = np.linspace(-1.0, 1.0, 101)
"""The places in a window at which a mean motion is looked at."""


class Stretch(NamedTuple):
    """A part of a drift that was also run in full."""

    t0: float
    t1: float
    excess: Floats
    """The rates of L and T beyond their averages, over the sizes at the start, 1/s."""

    @property
    def middle(self) -> float:
        """The time to which the excess belongs."""
        return 0.5 * (self.t0 + self.t1)


class Window(NamedTuple):
    """What a motion is in the mean over a window."""

    centre: float
    mean: Floats
    half: float = 0.0
    """Half of its length, negative where time runs backward; zero: the mean motion itself is known."""


def half_window(rates: MeanRates, seen: Survey) -> float:
    """Half the length of the windows over which motions are averaged here, s."""
    orbits = HALF_WINDOW_ORBITS * rates.orbit if rates.orbit is not None and rates.times > 1 else 0.0
    return max(HALF_WINDOW * seen.slowest, orbits)


def bump(s: Floats) -> Floats:
    """Weights exp(-1 / (1 - s^2)) for -1 < s < 1, zero beyond, with the sum one."""
    inside = np.maximum(1.0 - s * s, 1e-9)
    w = np.where(np.abs(s) < 1.0, np.exp(-1.0 / inside), 0.0)
    return np.asarray(w / w.sum())


def weights(rates: MeanRates, s: Floats, half: float) -> Floats:
    """Weights of a mean over a window of this half length, at places s in it; zero: one place, which has them all.

    Where the orbit is averaged over, they are the mean of a narrower bump over an orbit, which leaves nothing of what
    repeats itself with it: few orbits under a bump alone leave a thousandth.
    """
    if not half:
        return np.ones(1)
    share = 0.5 * rates.orbit / abs(half) if rates.orbit is not None and rates.times > 1 else 0.0
    if not share:
        return bump(s)
    ends = _bump_integral()(np.clip((s + np.array([[share], [-share]])) / (1.0 - share), -1.0, 1.0))
    return np.asarray((w := ends[0] - ends[1]) / w.sum())


@cache
def _bump_integral() -> PPoly:
    from scipy.interpolate import CubicSpline  # which files of results are read without

    x = np.linspace(-1.0, 1.0, 4001)
    return CubicSpline(x, bump(x)).antiderivative()


class Full:
    """Runs of the body in full, seen as their means."""

    def __init__(self, rates: MeanRates, rtol: float, span: float) -> None:
        self.rates, self.rtol, self.span = rates, rtol, abs(span)

    def run(
        self, start: FreeMotion, t0: float, t1: float, seen: Survey, strength: float = 1.0
    ) -> tuple[Floats, Floats]:  # fmt: skip
        """Times and (L, T) of a run from the state of a free motion, with the torque times `strength`."""
        each = max(min(max(FEWEST_ROWS, self.rates.n), MOST_ROWS_A_PERIOD) / seen.period, FEWEST_ROWS / seen.fastest)
        rows = round(abs(t1 - t0) * each)
        rtol = min(max(self.rtol * abs(t1 - t0) / self.span, FINEST), COARSEST)
        t = np.linspace(t0, t1, min(max(rows, 200), MOST_ROWS) + 1)
        state = start.at_checked(np.array(t0))
        torque = self.rates.torque if strength == 1.0 else strength * self.rates.torque
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                run = simulate(
                    self.rates.body, torque, omega=state.omega, attitude=state.quaternion, t_span=(t0, t1), t_eval=t,
                    rtol=rtol,
                )  # fmt: skip
            except SimulationInterrupted:  # a part of a stretch says nothing
                raise KeyboardInterrupt from None
        return run.t, np.column_stack([run.spatial_momentum, run.kinetic_energy])

    def first_mean(self, start: FreeMotion, t0: float, direction: float, seen: Survey) -> Window:
        """The mean of a motion over the first window, run in full."""
        W = direction * half_window(self.rates, seen)
        t, z = self.run(start, t0, t0 + 2.0 * W, seen)
        return Window(t0 + W, weights(self.rates, (t - t0 - W) / W, W) @ z, W)

    def stretch(self, z: Floats, t0: float, direction: float, seen: Survey, number: int) -> Stretch:
        """Runs a stretch in full, from the mean state with some phases; compares two means of it with the averages."""
        rates = self.rates
        W = direction * half_window(rates, seen)
        steady = rates.torque.depends is Depends.POSITION or not rates.torque.depends & Depends.TIME
        # A torque that vanishes here, as friction does where no wobble is left, acts as soon as the motion is another.
        change = max(seen.strength, seen.period * rates.steepness(t0, z), 1e-300)
        strength = max(1.0, GENTLE / change) if steady else 1.0
        psi, phi = (2.0 * math.pi * math.modf(0.1 + number * x)[0] for x in (0.6180339887, 0.7548776662))
        t1 = t0 + (GAP + 2.0) * W
        t, full = self.run(rates.motion(t0, z, psi, phi), t0, t1, seen, strength)
        first, last = t0 + W, t1 - W
        before, after = (weights(rates, (t - centre) / W, W) @ full for centre in (first, last))
        in_window = weights(rates, GRID, W)
        found = np.zeros(4)
        with rates.stronger(strength):
            for _ in range(MOST_CORRECTIONS):  # the excess has a part in where the mean motion leads
                path = mean_path(rates, lambda _: found, Window(first, before, W), (t0, t1))  # noqa: B023
                more = (after - in_window @ path(last + W * GRID)) / (last - first)
                found = found + more
                if np.abs(more / rates.scale).max() <= SLIGHT_EXCESS * np.abs(found / rates.scale).max():
                    break
        return Stretch(t0, t1, found / rates.scale / strength**2)


def mean_path(
    rates: MeanRates, correction: Correction | None, window: Window, reach: tuple[float, float]
) -> Callable[[Floats], Floats]:
    """The mean motion within reach of a window that has the given mean there, as a polynomial of time.

    Picard's iteration on Chebyshev points: slopes along the last motion are integrated, and what is integrated is
    shifted to the mean. There are twice as many points until the last coefficients of the slope vanish.
    """
    centre, mean, W = window
    middle, half = 0.5 * (reach[0] + reach[1]), 0.5 * (reach[1] - reach[0])
    seen = (centre - middle + W * GRID) / half if W else np.array([(centre - middle) / half])
    made = mean[None]
    for count in (FEWEST_NODES * 2**k for k in range(1 + NODE_DOUBLINGS)):
        x, to_integral = _nodes(count)
        nodes, change = (middle + half * x).tolist(), math.inf
        there, in_window = chebvander(x, count), weights(rates, GRID, W) @ chebvander(seen, count)
        z = chebval(x, made).T
        for _ in range(MOST_ITERATIONS):
            slopes = np.array([rates(t, y) for t, y in zip(nodes, z, strict=True)])
            if correction is not None:
                slopes += np.array([correction(t) for t in nodes])
            made = half * (to_integral @ slopes)
            made[0] += mean - in_window @ made
            before, z = z, there @ made
            last, change = change, float(np.abs((z - before) / rates.scale).max())
            if change < SLIGHT_MISS or last < change < math.sqrt(SLIGHT_MISS):  # what is left is round-off
                break
        if float(np.abs(made[-2:] / rates.scale).max()) < max(SLIGHT_MISS, rates.noise * abs(half)):
            break
    if not change < math.sqrt(SLIGHT_MISS):
        raise ArithmeticError(
            f"about t = {centre:.6g} s the mean rates change too fast for means over {2 * half:.3g} s"
        )
    return lambda t: np.asarray(chebval((t - middle) / half, made).T)


@cache
def _nodes(count: int) -> tuple[Floats, Floats]:
    """Chebyshev points, and the matrix that makes the coefficients of an integral of values there."""
    x = np.cos(np.pi * (np.arange(count) + 0.5) / count)
    return x, chebint(np.linalg.inv(chebvander(x, count - 1)))


def chebyshev(count: int, t0: float, t1: float) -> Floats:
    """Chebyshev points between two times, in the order of time."""
    x = np.cos(np.pi * (np.arange(count) + 0.5) / count)
    return t0 + 0.5 * (t1 - t0) * (1.0 - x)


def interpolated(stretches: Sequence[Stretch], scale: Floats) -> Correction:
    """The excess of stretches as a polynomial of time: what is missing in the averages, in units of dz/dt."""
    nodes = np.array([s.middle for s in stretches])
    values = np.array([s.excess for s in stretches]) * scale
    centre, half = 0.5 * (nodes[0] + nodes[-1]), 0.5 * abs(nodes[-1] - nodes[0]) or 1.0
    degree = len(nodes) - 1
    x = (nodes - centre) / half
    coefficients = np.linalg.solve(chebvander(x, degree), values)

    def correction(t: float) -> Floats:
        u = min(max((t - centre) / half, -FARTHEST_OUT), FARTHEST_OUT)
        return np.asarray(chebval(u, coefficients))

    return correction
