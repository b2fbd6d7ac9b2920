"""The mean motion over a span: adaptive steps, and what is met on the way."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from polhode.averages.rates import SHARE_OF_TOLERANCE, MeanRates, Survey
from polhode.support.arrays import Floats

STRONG, TOO_STRONG = 1e-2, 0.1
"""The change of momentum in a period, relative to it, from which a drift warns and at which it ends."""
NEAREST, FARTHEST = 1e-7, 1e-3
"""The distance from the separatrix at which a drift ends lies between these: it is what one period may change."""
ALIGNED = math.radians(1.0)
"""A body turns about an axis if the momentum stays within this angle of it."""
SLIGHT_JUMP = 0.01
"""Resonances are followed whose jump may be larger than this share of the tolerance."""
STEP_SHARE, STEPS_SHARE = 1e-3, 0.02
"""The tolerance of a step, and what all steps add to the error at most, in units of the tolerance of the answer."""
STEPS_AN_ORBIT = 6
"""The fewest steps of an orbit that is not averaged over: a longer one could miss it."""
MOST_STEPS = 100_000

Correction = Callable[[float], Floats]


class DriftEvent(NamedTuple):
    """Something that was met: `kind` is resonance, separatrix, axis or limit."""

    t: float
    kind: str
    text: str
    """What happened, in a sentence."""
    bound: float = 0.0
    """The greatest jump of momentum or energy at a resonance, relative to the start."""
    k: tuple[int, int] = (0, 0)
    """The resonance: k1 turns of the momentum in the body against k2 turns about the momentum in space."""


class Path(NamedTuple):
    """The mean motion from one time to another, as the steps of DOP853 and the polynomials between their ends."""

    t: Floats
    z: Floats
    lengths: Floats
    """The length of each step, of which the last may not be used to its end."""
    F: Floats
    """Seven coefficients of each step: Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.6."""
    events: list[DriftEvent]
    ended: bool
    """Whether an event ended it before its time."""

    @classmethod
    def of(cls, t: list[float], z: list[Floats], pieces: list[Any], events: list[DriftEvent], ended: bool) -> Path:
        """The path of such steps, whose interpolants are SciPy's."""
        F = np.array([piece.F for piece in pieces]).reshape(-1, 7, 4)
        return cls(np.array(t), np.array(z), np.array([piece.h for piece in pieces]), F, events, ended)

    def at(self, t: Any) -> Floats:
        """Momentum and energy at one or many times within."""
        times = np.asarray(t, dtype=np.float64)
        if not self.lengths.size:
            return np.broadcast_to(self.z[0], (*times.shape, 4)).copy()
        forward = 1.0 if self.t[-1] >= self.t[0] else -1.0
        flat = times.reshape(-1)
        i = np.clip(np.searchsorted(forward * self.t, forward * flat, side="right") - 1, 0, self.lengths.size - 1)
        x = ((flat - self.t[i]) / self.lengths[i])[:, None]
        y = np.zeros((flat.size, 4))
        for k in range(7):
            y = (y + self.F[i, 6 - k]) * (x if k % 2 == 0 else 1.0 - x)
        return np.asarray(y + self.z[i]).reshape(*times.shape, 4)

    def followed_by(self, other: Path) -> Path:
        """This path and one that begins where it ends."""
        t, z = np.concatenate([self.t, other.t[1:]]), np.concatenate([self.z, other.z[1:]])
        both = (np.concatenate([self.lengths, other.lengths]), np.concatenate([self.F, other.F]))
        return Path(t, z, *both, self.events + other.events, other.ended)


def plain_path(rates: MeanRates, correction: Correction | None, t0: float, z0: Floats, t1: float) -> Path:
    """The mean motion over a short span, with full accuracy and without a look at what is met."""
    return _stepped(rates, correction, t0, z0, t1, max(1e-12, rates.noise * abs(t1 - t0)), None)


def watched_path(
    rates: MeanRates, correction: Correction | None, t0: float, z0: Floats, t1: float, rtol: float
) -> Path:
    """The mean motion to t1, or to the first event that ends it."""
    watch = Watch(rates, t0, z0, t1, rtol)
    tolerance = max(min(STEP_SHARE * rtol, 1e-6), min(rates.noise * abs(t1 - t0), 1e-3))
    return _stepped(rates, correction, t0, z0, t1, tolerance, watch)


def _stepped(
    rates: MeanRates, correction: Correction | None, t0: float, z0: Floats, t1: float, rtol: float,
    watch: Watch | None,
) -> Path:  # fmt: skip
    from scipy.integrate import DOP853

    def slope(t: float, z: Floats) -> Floats:
        return rates(t, z) if correction is None else rates(t, z) + correction(t)

    atol: Any = max(rtol, 1e-13) * rates.scale * 0.1
    longest = math.inf
    if rates.orbit is not None and rates.times == 1:
        longest = rates.orbit / STEPS_AN_ORBIT

    def solver_at(t: float, z: Floats, first: float | None) -> Any:
        return DOP853(slope, t, z, t1, rtol=max(rtol, 1e-12), atol=atol, max_step=longest, first_step=first)

    times, states, pieces = [t0], [z0.copy()], list[Any]()
    # A short path is smooth enough for few steps: the first is tried at its full length.
    solver = solver_at(t0, z0, min(abs(t1 - t0), longest) if watch is None else None)
    while solver.status == "running" and len(pieces) < MOST_STEPS:
        problem = solver.step()
        if solver.status == "failed" or not np.isfinite(solver.y).all():
            where = f"at t = {solver.t:.6g} s the mean rates change too fast for any step ({problem})"
            if watch is None:
                raise ArithmeticError(where)
            watch.events.append(DriftEvent(times[-1], "limit", where))
            return Path.of(times, states, pieces, watch.events, True)
        piece = solver.dense_output()
        if watch is not None:
            verdict = watch.step(times[-1], states[-1], solver.t, solver.y, piece)
            if verdict is AGAIN:
                solver = solver_at(times[-1], states[-1], min(abs(solver.step_size), abs(t1 - times[-1])))
                continue
            if verdict is not None:
                times.append(verdict)
                states.append(piece(verdict))
                pieces.append(piece)
                return Path.of(times, states, pieces, watch.events, True)
        times.append(float(solver.t))
        states.append(solver.y.copy())
        pieces.append(piece)
    events = [] if watch is None else watch.events
    short = solver.status == "running"
    if short and watch is not None:
        text = f"after {MOST_STEPS:,} steps the drift was stopped: average over the orbit too, with over="
        events.append(DriftEvent(times[-1], "limit", text))
    return Path.of(times, states, pieces, events, short)


AGAIN = -math.inf
"""The verdict on a step that was made with too few points."""


class Watch:
    """Looks at each step: whether the averages hold, and what was passed."""

    def __init__(self, rates: MeanRates, t0: float, z0: Floats, t1: float, rtol: float) -> None:
        self.rates, self.rtol, self.span = rates, rtol, abs(t1 - t0)
        self.tolerance = SHARE_OF_TOLERANCE * rtol / max(self.span, 1e-300)
        first, _ = rates.settle_points(t0, z0, self.tolerance)
        self.last = first
        self.events = list[DriftEvent]()
        self.symmetric = rates.symmetric
        self.aligned = rates.slant(z0) < math.sin(ALIGNED)

    def step(self, t0: float, z0: Floats, t1: float, z1: Floats, piece: Any) -> float | None:
        """Looks at a step; None: all is well; AGAIN: it needs more points; a time: the drift ends there."""
        before = self.last
        end = self._separatrix(t0, z0, t1, z1, piece, before)
        if end is not None:
            self._resonances(before, self.rates.survey(end, piece(end), *self._points(before)), piece)
            return end
        now, few = self.rates.settle_points(t1, z1, self.tolerance)
        if few:
            return AGAIN
        if now.strength > TOO_STRONG:
            text = (
                f"at t = {t1:.6g} s the torque changes the momentum by {now.strength:.2g} of itself in a period, and "
                f"averages hold up to {TOO_STRONG:g}: run in full from there with d.simulate(t0, span)"
            )
            self.events.append(DriftEvent(t1, "limit", text))
            return t1
        if self._resonances(before, now, piece):
            return self.events[-1].t
        slant = self.rates.slant(z1)
        if slant < math.sin(ALIGNED) and not self.aligned and not self.symmetric:
            t = _crossing(lambda x: self.rates.slant(piece(x)) - math.sin(ALIGNED), t0, t1)
            axis = "greatest" if self.rates.distance(z1) > 0.0 else "least"
            text = f"turns about the axis of the {axis} moment within 1 degree from t = {t:.6g} s on"
            self.events.append(DriftEvent(t, "axis", text))
        self.aligned = slant < math.sin(ALIGNED)
        self.last = now
        return None

    def _points(self, seen: Survey) -> tuple[int, int]:
        m, n, _ = seen.harmonics.shape
        return n, m

    def _separatrix(
        self, t0: float, z0: Floats, t1: float, z1: Floats, piece: Any, before: Survey
    ) -> float | None:  # fmt: skip
        """The time at which the separatrix is so near that the next periods decide."""
        if self.symmetric:
            return None
        near = nearness(before.strength)
        side = math.copysign(1.0, self.rates.distance(z0))
        if side * self.rates.distance(z1) > near:
            return None
        t = _crossing(lambda x: side * self.rates.distance(piece(x)) - near, t0, t1)
        mode = "short" if side > 0.0 else "long"
        text = f"leaves {mode}-axis mode through the separatrix at t = {t:.6g} s: the unknown phase decides the side"
        self.events.append(DriftEvent(t, "separatrix", text))
        return t

    def _resonances(self, a: Survey, b: Survey, piece: Any) -> bool:
        """Adds the resonances between two surveys; returns whether the motion may be caught in one."""
        if b.t == a.t:
            return False
        m, n, _ = b.harmonics.shape
        k2, k1 = np.meshgrid(np.arange(m) - m // 2, np.arange(n) - n // 2, indexing="ij")
        first, last = a.rate(k1, k2), b.rate(k1, k2)
        size = np.abs(b.harmonics).max(axis=2)
        if a.harmonics.shape == b.harmonics.shape:
            size = np.maximum(size, np.abs(a.harmonics).max(axis=2))
        passed = (first * last < 0.0) & (k2 > 0) & (k1 > -(n // 2)) & (k2 < m // 2)
        slope = np.abs(last - first) / abs(b.t - a.t)
        with np.errstate(divide="ignore", invalid="ignore"):
            jump = 2.0 * size * np.sqrt(2.0 * math.pi / slope)
        caught = False
        found = list[DriftEvent]()
        for i, j in np.argwhere(passed & (jump > SLIGHT_JUMP * self.rtol)):
            k = (int(k1[i, j]), int(k2[i, j]))
            t = _crossing(lambda x, k=k: _detuning(self.rates, piece(x), k), a.t, b.t)  # type: ignore[misc]
            event, holds = self._met(k, t, piece, float(jump[i, j]), b.harmonics[i, j], float(slope[i, j]))
            found.append(event)
            caught |= holds
        self.events += sorted(found)
        return caught

    def _met(
        self, k: tuple[int, int], t: float, piece: Any, bound: float, c: Any, slope: float
    ) -> tuple[DriftEvent, bool]:
        """The event of a resonance, and whether the torque there outweighs the drift through it."""
        z = piece(t)
        pull = 0.0
        for part in (c.real, c.imag):
            step = part * self.rates.scale
            if (length := float(np.abs(part).max())) > 0.0:
                d = step * (1e-6 / length)
                change = _detuning(self.rates, z + d, k) - _detuning(self.rates, z - d, k)
                pull = math.hypot(pull, change * length / 2e-6)
        turns = f"{abs(k[0])} turns in the body take as long as {k[1]} about the momentum"
        if 2.0 * pull > slope:
            text = (
                f"at t = {t:.6g} s {turns}, and the torque may hold the body in this resonance: run in full from a "
                "time before it with d.simulate(t0, span)"
            )
            return DriftEvent(t, "limit", text, bound, k), True
        return DriftEvent(t, "resonance", f"at t = {t:.6g} s {turns}: a jump of at most {bound:.1e}", bound, k), False


def nearness(strength: float) -> float:
    """The distance from the separatrix that a torque of this strength covers in about a period."""
    return min(max(strength, NEAREST), FARTHEST)


def _detuning(rates: MeanRates, z: Floats, k: tuple[int, int]) -> float:
    nutation, precession = rates.frequencies(z)
    return k[0] * nutation + k[1] * precession


def _crossing(f: Callable[[float], float], t0: float, t1: float) -> float:
    """A time between two at which f changes its sign; the later one if it does not."""
    from scipy.optimize import brentq

    if f(t0) * f(t1) > 0.0:
        return t1
    return float(brentq(f, t0, t1, rtol=1e-12))
