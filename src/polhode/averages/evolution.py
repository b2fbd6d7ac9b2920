"""The mean motion over a span: adaptive steps, and what is met on the way."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from polhode.averages.rates import SHARE_OF_TOLERANCE, MeanRates, Survey, slant
from polhode.support.arrays import Floats

STRONG, TOO_STRONG = 1e-2, 0.1
"""The change of momentum in a period, relative to it, from which a drift warns and at which it ends."""
NEAREST, FARTHEST = 1e-7, 1e-3
"""The distance from the separatrix at which a drift ends lies between these: it is what one period may change."""
HALF_WINDOW = 20.0
"""Half of the window of a mean, in periods: what oscillates is damped to 1e-6."""
ALIGNED = math.radians(1.0)
"""A body turns about an axis if the momentum stays within this angle of it."""
UNFILTERED = 12.0
"""A resonance k that is not passed counts if a window sees less than this of its angle: half window times k . nu."""
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
    """The greatest change of momentum or energy by a resonance, relative to the start."""
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
    def at_rest(cls, t: float, z: Floats) -> Path:
        """The path that only begins here."""
        return cls(np.array([t]), z[None].copy(), np.zeros(0), np.zeros((0, 7, 4)), [], False)

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

    def cut(self, t: float) -> tuple[Path, Path]:
        """What lies before the end of a step, and what lies behind it."""
        i = int(np.flatnonzero(self.t == t)[0])
        forward = 1.0 if self.t[-1] >= self.t[0] else -1.0
        early = [e for e in self.events if forward * (e.t - t) < 0.0]
        late = self.events[len(early) :]
        before = Path(self.t[: i + 1], self.z[: i + 1], self.lengths[:i], self.F[:i], early, False)
        return before, Path(self.t[i:], self.z[i:], self.lengths[i:], self.F[i:], late, self.ended)


class Steps:
    """The steps of a mean motion so far, which an exception leaves as they are."""

    def __init__(self, path: Path) -> None:
        self.before = path
        self.t, self.z, self.pieces = [float(path.t[-1])], [path.z[-1].copy()], list[Any]()
        self.events = list[DriftEvent]()
        self.ended = path.ended

    def add(self, t: float, z: Floats, piece: Any) -> None:
        """Adds a step to this time and state, of which SciPy has the interpolant."""
        self.pieces.append(piece)
        self.z.append(z)
        self.t.append(float(t))  # at last: a signal may come between any two lines

    def path(self) -> Path:
        """The path of the steps."""
        n = len(self.t)
        lengths, F = [piece.h for piece in self.pieces[: n - 1]], [piece.F for piece in self.pieces[: n - 1]]
        reach = math.inf if self.ended else abs(self.t[n - 1] - self.t[0])
        events = [e for e in self.events if abs(e.t - self.t[0]) <= reach]
        arrays = (np.array(self.t[:n]), np.array(self.z[:n]), np.array(lengths), np.array(F).reshape(-1, 7, 4))
        return self.before.followed_by(Path(*arrays, events, self.ended))


def watched_path(rates: MeanRates, correction: Correction | None, steps: Steps, t1: float, rtol: float) -> Path:
    """The mean motion from where the steps have led to t1, or to the first event that ends it."""
    if steps.ended or steps.t[-1] == t1:
        return steps.path()
    span = abs(t1 - float(steps.before.t[0]))
    watch = Watch(rates, steps, span, rtol)
    tolerance = max(min(STEP_SHARE * rtol, 1e-6), min(STEPS_SHARE * rates.noise * span, 1e-3))
    from scipy.integrate import DOP853

    def slope(t: float, z: Floats) -> Floats:
        return rates(t, z) if correction is None else rates(t, z) + correction(t)

    atol: Any = max(tolerance, 1e-13) * rates.scale * 0.1
    longest = math.inf
    if rates.orbit is not None and rates.times == 1:
        longest = rates.orbit / STEPS_AN_ORBIT

    def solver_at(t: float, z: Floats, first: float | None) -> Any:
        return DOP853(slope, t, z, t1, rtol=max(tolerance, 1e-12), atol=atol, max_step=longest, first_step=first)

    solver = solver_at(steps.t[-1], steps.z[-1], None)
    while solver.status == "running" and len(steps.pieces) < MOST_STEPS:
        t0, z0 = steps.t[-1], steps.z[-1]
        problem = solver.step()
        if solver.status == "failed" or not np.isfinite(solver.y).all():
            where = f"at t = {solver.t:.6g} s the mean rates change too fast for any step ({problem})"
            steps.events.append(DriftEvent(t0, "limit", where))
            steps.ended = True
            return steps.path()
        piece = solver.dense_output()
        verdict = watch.step(t0, z0, solver.t, solver.y, piece)
        if verdict is AGAIN:
            solver = solver_at(t0, z0, min(abs(solver.step_size), abs(t1 - t0)))
            continue
        if verdict is not None:
            steps.add(verdict, piece(verdict), piece)
            steps.ended = True
            return steps.path()
        steps.add(solver.t, solver.y.copy(), piece)
    if solver.status == "running":
        text = f"after {MOST_STEPS:,} steps the drift was stopped: average over the orbit too, with over="
        steps.events.append(DriftEvent(steps.t[-1], "limit", text))
        steps.ended = True
    return steps.path()


def too_much(seen: Survey) -> str | None:
    """Why averages do not hold for this motion under this torque; None: they do."""
    if not seen.strength <= TOO_STRONG:
        return (
            f"the torque changes the momentum by {seen.strength:.2g} of itself in a period of {seen.period:.3g} s, and "
            f"averages hold up to {TOO_STRONG:g}"
        )
    return None


AGAIN = -math.inf
"""The verdict on a step that was made with too few points."""


class Watch:
    """Looks at each step: whether the averages hold, and what was passed."""

    def __init__(self, rates: MeanRates, steps: Steps, span: float, rtol: float) -> None:
        self.rates, self.rtol, self.events = rates, rtol, steps.events
        self.tolerance = SHARE_OF_TOLERANCE * rtol / max(span, 1e-300)
        z0 = steps.z[-1]
        self.last, _ = rates.settle_points(steps.t[-1], z0, self.tolerance)
        self.near = dict[tuple[int, int], DriftEvent]()
        self.symmetric = rates.symmetric
        self.aligned = slant(rates.moments, z0) < math.sin(ALIGNED)

    def step(self, t0: float, z0: Floats, t1: float, z1: Floats, piece: Any) -> float | None:
        """Looks at a step; None: all is well; AGAIN: it needs more points; a time: the drift ends there."""
        before, whole = self.last, self.rates.scale[3]
        if z1[3] < self.rtol * whole:
            t = _crossing(lambda x: piece(x)[3] - self.rtol * whole, t0, t1)
            text = (
                f"at t = {t:.6g} s the energy has fallen to {self.rtol:.1e} of the start, the tolerance: begin "
                "anew from there, with the rate and attitude of d.motion(t).at(t)"
            )
            self.events.append(DriftEvent(t, "limit", text))
            return t
        end = self._separatrix(t0, z0, t1, z1, piece, before)
        if end is not None:
            seen = self.rates.survey(end.t, piece(end.t), *self._points(before))
            if (caught := self._resonances(before, seen, piece)) is None:
                self.events.append(end)
            return end.t if caught is None else caught
        now, few = self.rates.settle_points(t1, z1, self.tolerance)
        if few:
            return AGAIN
        if (why := too_much(now)) is not None:
            text = f"at t = {t1:.6g} s {why}: run in full from there with d.simulate(t0, span)"
            self.events.append(DriftEvent(t1, "limit", text))
            return t1
        if (caught := self._resonances(before, now, piece)) is not None:
            return caught
        off = slant(self.rates.moments, z1)
        if off < math.sin(ALIGNED) and not self.aligned and not self.symmetric:
            t = _crossing(lambda x: slant(self.rates.moments, piece(x)) - math.sin(ALIGNED), t0, t1)
            axis = "greatest" if self.rates.distance(z1) > 0.0 else "least"
            text = f"turns about the axis of the {axis} moment within 1 degree from t = {t:.6g} s on"
            self.events.append(DriftEvent(t, "axis", text))
        self.aligned = off < math.sin(ALIGNED)
        self.last = now
        return None

    def _points(self, seen: Survey) -> tuple[int, int]:
        m, n, _ = seen.harmonics.shape
        return n, m

    def _separatrix(
        self, t0: float, z0: Floats, t1: float, z1: Floats, piece: Any, before: Survey
    ) -> DriftEvent | None:  # fmt: skip
        """Where the separatrix is so near that the next periods decide."""
        if self.symmetric:
            return None
        distance = self.rates.distance(z0)
        side, near = math.copysign(1.0, distance), min(nearness(before.strength), 0.5 * abs(distance))
        if side * self.rates.distance(z1) > near:
            return None
        t = _crossing(lambda x: side * self.rates.distance(piece(x)) - near, t0, t1)
        mode = "short" if side > 0.0 else "long"
        text = f"leaves {mode}-axis mode through the separatrix at t = {t:.6g} s: the unknown phase decides the side"
        return DriftEvent(t, "separatrix", text)

    def _resonances(self, a: Survey, b: Survey, piece: Any) -> float | None:
        """Adds the resonances between two surveys; returns the time at which the motion may be caught in one."""
        if b.t == a.t:
            return None
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
        found = list[DriftEvent]()
        for i, j in np.argwhere(passed & (jump > SLIGHT_JUMP * self.rtol)):
            k = (int(k1[i, j]), int(k2[i, j]))
            t = _crossing(lambda x, k=k: _detuning(self.rates, piece(x), k), a.t, b.t)  # type: ignore[misc]
            found.append(self._met(k, t, piece, float(jump[i, j]), b.harmonics[i, j], float(slope[i, j])))
        for event in sorted(found, key=lambda e: abs(e.t - a.t)):
            self.events.append(event)
            if event.kind == "limit":
                return event.t
        self._near(b, k1, k2, last, size, jump, passed)
        return None

    def _near(self, seen: Survey, k1: Any, k2: Any, rate: Any, size: Any, jump: Any, passed: Any) -> None:
        """Adds the resonances that are near, and not passed: they sway so slowly that no window shows their mean."""
        m, n = k1.shape
        with np.errstate(divide="ignore", invalid="ignore"):
            sway = np.minimum(4.0 * size / np.abs(rate), jump)
        slow = (np.abs(rate) * HALF_WINDOW * seen.slowest < UNFILTERED) & (k2 > 0) & (k2 < m // 2) & (k1 > -(n // 2))
        for i, j in np.argwhere(slow & ~passed & (sway > SLIGHT_JUMP * self.rtol)):
            k, bound = (int(k1[i, j]), int(k2[i, j])), float(sway[i, j])
            before = next((e for e in self.events if e.k == k), None)
            if before is not None and (before is not self.near.get(k) or before.bound >= bound):
                continue
            text = f"at t = {seen.t:.6g} s {_turns(k, 'nearly ')}: momentum and energy sway by at most {bound:.1e}"
            self.near[k] = DriftEvent(seen.t, "resonance", text, bound, k)
            self.events[:] = [*(e for e in self.events if e is not before), self.near[k]]

    def _met(self, k: tuple[int, int], t: float, piece: Any, bound: float, c: Any, slope: float) -> DriftEvent:
        """The event of a resonance: a limit where the torque there outweighs the drift through it."""
        z = piece(t)
        pull = 0.0
        for part in (c.real, c.imag):
            step = part * self.rates.scale
            if (length := float(np.abs(part).max())) > 0.0:
                d = step * (1e-6 / length)
                change = _detuning(self.rates, z + d, k) - _detuning(self.rates, z - d, k)
                pull = math.hypot(pull, change * length / 2e-6)
        turns = _turns(k)
        if 2.0 * pull > slope:
            text = (
                f"at t = {t:.6g} s {turns}, and the torque may hold the body in this resonance: run in full from a "
                "time before it with d.simulate(t0, span)"
            )
            return DriftEvent(t, "limit", text, bound, k)
        return DriftEvent(t, "resonance", f"at t = {t:.6g} s {turns}: a jump of at most {bound:.1e}", bound, k)


def _turns(k: tuple[int, int], nearly: str = "") -> str:
    return f"{abs(k[0])} turns in the body take {nearly}as long as {k[1]} about the momentum"


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
