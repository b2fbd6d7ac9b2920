"""Stretches of a drift that are run in full: they say where the mean motion begins, how wrong it is, and correct it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from polhode.api.simulate import simulate
from polhode.averages.evolution import HALF_WINDOW, Correction, Path, plain_path
from polhode.averages.rates import MeanRates, Survey
from polhode.free.free_motion import FreeMotion
from polhode.kernels.types import Depends
from polhode.run.integration import SimulationInterrupted
from polhode.support.arrays import Floats

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
SLIGHT_MISS, MOST_CORRECTIONS = 1e-12, 4
"""The start of a mean motion is corrected until its mean over a window is right to this, or so many times."""
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


class Full:
    """Runs of the body in full, seen as their means."""

    def __init__(self, rates: MeanRates, rtol: float, span: float) -> None:
        self.rates, self.rtol, self.span = rates, rtol, abs(span)

    def run(
        self, start: FreeMotion, t0: float, t1: float, seen: Survey, strength: float = 1.0
    ) -> tuple[Floats, Floats]:  # fmt: skip
        """Times and (L, T) of a run from the state of a free motion, with the torque times `strength`."""
        rows = round(abs(t1 - t0) / seen.period * min(max(FEWEST_ROWS, self.rates.n), MOST_ROWS_A_PERIOD))
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
        return Window(t0 + W, bump((t - t0 - W) / W) @ z, W)

    def stretch(self, z: Floats, t0: float, direction: float, seen: Survey, number: int) -> Stretch:
        """Runs a stretch in full, from the mean state with some phases; compares two means of it with the averages."""
        rates = self.rates
        W = direction * half_window(rates, seen)
        steady = rates.torque.depends is Depends.POSITION or not rates.torque.depends & Depends.TIME
        strength = max(1.0, GENTLE / max(seen.strength, 1e-300)) if steady else 1.0
        psi, phi = (2.0 * math.pi * math.modf(0.1 + number * x)[0] for x in (0.6180339887, 0.7548776662))
        t1 = t0 + (GAP + 2.0) * W
        t, full = self.run(rates.motion(t0, z, psi, phi), t0, t1, seen, strength)
        first, last = t0 + W, t1 - W
        before, after = (bump((t - centre) / W) @ full for centre in (first, last))
        found = np.zeros(4)
        with rates.stronger(strength):
            for _ in range(MOST_CORRECTIONS):  # the excess has a part in where the mean motion leads
                _, forth = mean_path(rates, _constant(found), Window(first, before, W), (t0, t1))
                more = (after - bump(GRID) @ forth.at(last + W * GRID)) / (last - first)
                found = found + more
                if np.abs(more / rates.scale).max() <= SLIGHT_EXCESS * np.abs(found / rates.scale).max():
                    break
        return Stretch(t0, t1, found / rates.scale / strength**2)


def mean_path(
    rates: MeanRates, correction: Correction | None, window: Window, reach: tuple[float, float]
) -> tuple[Path, Path]:
    """The mean motions, back and forth from the centre of a window, that have the given mean there."""
    centre, mean, W = window
    start = mean.copy()
    for _ in range(MOST_CORRECTIONS):
        back = plain_path(rates, correction, centre, start, reach[0])
        forth = plain_path(rates, correction, centre, start, reach[1])
        miss = bump(GRID) @ _joined(back, forth, centre, centre + W * GRID) - mean
        if np.abs(miss / rates.scale).max() < SLIGHT_MISS:
            break
        start = start - miss
    return back, forth


def _constant(rate: Floats) -> Correction:
    return lambda t: rate


def _joined(back: Path, forth: Path, centre: float, t: Floats) -> Floats:
    ahead = (t - centre) * (forth.t[-1] - centre) >= 0.0
    return np.where(ahead[:, None], forth.at(np.where(ahead, t, centre)), back.at(np.where(ahead, centre, t)))


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
    coefficients = np.linalg.solve(np.polynomial.chebyshev.chebvander(x, degree), values)

    def correction(t: float) -> Floats:
        u = min(max((t - centre) / half, -FARTHEST_OUT), FARTHEST_OUT)
        return np.asarray(np.polynomial.chebyshev.chebval(u, coefficients))

    return correction
