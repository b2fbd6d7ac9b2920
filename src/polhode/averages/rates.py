"""How fast momentum and energy change in the mean, by the compiled program of `kernels/averages.py`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from polhode.body import Body
from polhode.compiler import on_arrays, program
from polhode.free.free_motion import FreeMotion
from polhode.kernels.algebra.quat import multiply
from polhode.kernels.averages import FIXED, FOUND, averaged, onto, work_size
from polhode.support.arrays import Floats
from polhode.torques import Torque

SIGNATURE = "ppppppddiiiii"
FEWEST_V, FEWEST_PHI, FEWEST_TIMES = 12, 3, 16
"""The fewest points of a period, of the turn about L, and of an orbit."""
MOST_POINTS, MOST_TIMES = 2**12, 1024
"""The most points of both angles together, and of an orbit: torques with kinks have no number that is enough."""
SLIGHT_STEP = 1e-4
"""The relative change of momentum and energy by which the change of the rates is found."""
SHARE_OF_TOLERANCE = 0.01
"""The error of the sums over a span, in units of the tolerance."""


class Survey(NamedTuple):
    """What is known of the motion and of the torque at one time of a drift."""

    t: float
    z: Floats
    period: float
    """P, of the momentum in the body, s."""
    precession: float
    """The mean rate at which the axis that the momentum circles goes round L, rad/s."""
    strength: float
    """P max|N| / G: the change in a period relative to the momentum."""
    harmonics: Any
    """Fourier coefficients c[k2, k1] of (R N, w . N) over their sizes: k2 of phi, k1 of v, both from -n/2 on."""
    scale: Floats

    @property
    def slowest(self) -> float:
        """The longer of the two periods, s."""
        return max(self.period, 2.0 * math.pi / self.precession)

    @property
    def fastest(self) -> float:
        """The shorter one, s."""
        return min(self.period, 2.0 * math.pi / self.precession)

    def rate(self, k1: Any, k2: Any) -> Any:
        """k . nu in rad/s."""
        return k1 * (2.0 * math.pi / self.period) + k2 * self.precession


class MeanRates:
    """dz/dt in the mean, as a function of t and z = (L in space axes, T)."""

    def __init__(
        self, body: Body, torque: Torque, values: Floats, side: float, scale: Floats, orbit: float | None = None,
        on_compile: Callable[[], None] | None = None,
    ) -> None:  # fmt: skip
        self.body, self.torque, self.side, self.scale, self.orbit = body, torque, side, scale, orbit
        order = np.argsort(body.moments, kind="stable")
        self.moments: Floats = body.moments[order]
        self.symmetric = bool(min(np.diff(self.moments)) <= 1e-9 * self.moments[2])
        greatest = body.moments.max()
        fixed = [body.moments / greatest, [greatest], order, [side], body.axes_quaternion, body.axes.ravel()]
        self._fixed = np.concatenate(fixed).astype(np.float64)
        assert self._fixed.size == FIXED
        self._count, self._values = values.size, values if values.size else np.zeros(1)
        self._program = program(
            averaged(torque.torque_kernel), SIGNATURE, on_compile, what=f"the averages of {torque.name}"
        )
        self._z, self._found = np.zeros(4), np.zeros(FOUND)
        self.most = MOST_POINTS
        self.noise = 0.0  # the error of dz/dt over its scale where no number of points is enough, 1/s
        self.n, self.m, self.times, self.evaluations, self.factor = FEWEST_V, FEWEST_PHI, 1, 0, 1.0
        self._room(64, 16)

    def _room(self, n: int, m: int) -> None:
        """Makes arrays for this many points."""
        self._work, self._samples = np.zeros(work_size(n)), np.zeros(4 * n * m)
        arrays = (self._fixed, self._values, self._z, self._work, self._found, self._samples)
        self._run = on_arrays(self._program, *arrays)
        self._most = (n, m)

    def _average(self, t: float, z: Floats, n: int, m: int, times: int, keep: int) -> None:
        if n > self._most[0] or (keep and n * m > self._samples.size // 4):
            self._room(max(n, self._most[0]), max(m, self._most[1]))
        self._z[:] = z
        dt = self.orbit / times if self.orbit is not None and times > 1 else 0.0
        self._run(t - 0.5 * (times - 1) * dt, dt, self._count, n, m, times, keep)
        self.evaluations += 1

    def __call__(self, t: float, z: Floats) -> Floats:
        """The mean rates of L and T."""
        self._average(t, z, self.n, self.m, self.times, 0)
        return self.factor * self._found[:4]

    def steepness(self, t: float, z: Floats) -> float:
        """How fast the mean rates change with momentum and energy, all relative to their sizes here, 1/s."""
        here, sizes = self(t, z), np.append(np.full(3, math.sqrt(z[:3] @ z[:3])), z[3])
        rows = [self(t, z + step) - here for step in np.diag(SLIGHT_STEP * sizes)]
        return float(np.abs(np.array(rows) / sizes).max()) / SLIGHT_STEP

    @contextmanager
    def stronger(self, factor: float) -> Iterator[None]:
        """Rates for the torque times a factor, within the block."""
        before, self.factor = self.factor, factor
        try:
            yield
        finally:
            self.factor = before

    @contextmanager
    def rougher(self) -> Iterator[None]:
        """Rates from a quarter of the points, within the block."""
        before = self.n, self.m, self.noise
        self.n, self.m, self.most, self.noise = FEWEST_V, FEWEST_PHI, MOST_POINTS // 4, 0.0
        try:
            yield
        finally:
            (self.n, self.m, self.noise), self.most = before, MOST_POINTS

    def distance(self, z: Floats) -> float:
        """G^2 / (2 T I2) - 1: positive in short-axis mode, zero on the separatrix."""
        return float(z[:3] @ z[:3] / (2.0 * z[3] * self.moments[1]) - 1.0)

    def frequencies(self, z: Floats) -> tuple[float, float]:
        """2 pi / P and the mean rate of precession, rad/s."""
        self._average(0.0, z, 1, 0, 0, 0)
        return 2.0 * math.pi / float(self._found[5]), float(self._found[6])

    def survey(self, t: float, z: Floats, n: int | None = None, m: int | None = None) -> Survey:
        """The torque over both angles, on twice as many points as means take, or on as many as are given."""
        n, m = n or max(2 * self.n, 32), m or max(2 * self.m, 8)
        self._average(t, z, n, m, 1, 1)
        found, G = self._found.copy(), math.sqrt(z[:3] @ z[:3])
        samples = self.samples(n, m) / self.scale
        over_phi = np.fft.fft(samples, axis=0) / m
        k2 = np.fft.fftfreq(m, 1.0 / m)
        # Samples follow the free motion: the mean precession is taken out, so that what is left has the period P.
        turned = over_phi * np.exp(-1j * k2[:, None] * found[6] * found[5] * np.arange(n) / n)[:, :, None]
        harmonics = np.fft.fftshift(np.fft.fft(turned, axis=1) / n, axes=(0, 1))
        strength = float(found[5] * found[4] / G)
        return Survey(t, z.copy(), float(found[5]), float(found[6]), strength, harmonics, self.scale)

    def samples(self, n: int, m: int) -> Floats:
        """The (R N, w . N) of the last survey: a row for each phi, in it one for each v."""
        return self._samples[: 4 * n * m].reshape(m, n, 4)

    def point_at(self, side: float) -> None:
        """Has the momentum circle this end of its axis, 1 or -1."""
        self.side = self._fixed[7] = float(side)

    def settle_points(self, t: float, z: Floats, tolerance: float) -> tuple[Survey, bool]:
        """Takes as many points as means need here; returns what was seen, and whether there were too few before.

        `tolerance` is the greatest error of dz/dt over its scale. Numbers are doubled until what they leave out is
        below it, or until there are too many.
        """
        n, m = max(2 * self.n, 32), max(2 * self.m, 8)
        if self.noise:
            n, m = self.n, self.m
        while True:
            seen = self.survey(t, z, n, m)
            size = np.abs(seen.harmonics).max(axis=2)
            limit = max(tolerance, 1e-13 * float(size.max()))
            need_n = _needed(size[m // 2], n, limit)
            need_m = _needed(size.max(axis=1), m, limit)
            if n * m >= self.most or (need_n < n // 2 - 1 and need_m < m // 2 - 1):
                break
            n, m = (2 * n if need_n >= n // 2 - 1 else n), (2 * m if need_m >= m // 2 - 1 else m)
        if n * m >= self.most and (need_n >= n // 2 - 1 or need_m >= m // 2 - 1):
            each = self.samples(n, m) / self.scale
            self.noise = float(np.abs(each[::2, ::2].mean(axis=(0, 1)) - each.mean(axis=(0, 1))).max())
            need_n, need_m = n, m
        few = need_n > self.n or need_m > self.m
        if few:
            self.n = max(self.n, min(n, need_n + max(4, need_n // 4)))
            self.m = max(self.m, min(m, need_m))
        return seen, few

    def settle_times(self, t: float, z: Floats, tolerance: float) -> None:
        """Takes as many times of the orbit as its mean needs, and twice as many to be safe."""
        if self.orbit is None:
            return
        times, before = FEWEST_TIMES, None
        while times < MOST_TIMES:
            self._average(t, z, self.n, self.m, times, 0)
            now = self._found[:4] / self.scale
            if before is not None and float(np.abs(now - before).max()) <= max(tolerance, 1e-13 * np.abs(now).max()):
                break
            times, before = 2 * times, now
        self.times = times

    def motion(self, t: float, z: Floats, psi: float = 0.0, phi: float = 0.0) -> FreeMotion:
        """The free motion with this momentum and energy, and with these angles at t."""
        self._average(t, z, 1, 0, 0, 0)
        w = self._work[FIRST_RATE : FIRST_RATE + 3]
        q = tuple(self._work[FIRST_QUATERNION : FIRST_QUATERNION + 4].tolist())
        x, y, u = (z[:3] / math.sqrt(z[:3] @ z[:3])).tolist()
        turned = multiply(onto((x, y, u)), multiply((math.cos(0.5 * phi), 0.0, 0.0, math.sin(0.5 * phi)), q))
        start = t - psi / (2.0 * math.pi) * float(self._found[5])
        return FreeMotion(self.body, w.copy(), attitude=np.array(turned), t0=start)


FIRST_QUATERNION = work_size(1) - 10
"""Where the attitude of a single state stands in the work array."""
FIRST_RATE = FIRST_QUATERNION + 4


def slant(moments: Floats, z: Floats) -> float:
    """The sine of the greatest angle between the momentum and the axis that it circles; `moments` are in order."""
    I1, I2, I3 = moments
    energy = 2.0 * z[3] / (z[:3] @ z[:3])
    low, mid, high = (I1, I2, I3) if energy * I2 < 1.0 else (I3, I2, I1)
    if mid == high:
        return 1.0
    both = max(low / abs(high - low), mid / abs(high - mid))
    return float(math.sqrt(min(1.0, max(0.0, both * abs(energy * high - 1.0)))))


def _needed(size: Floats, n: int, limit: float) -> int:
    """How many points sums need that leave out no harmonic above the limit; `size` is from harmonic -n/2 on."""
    above = np.abs(np.nonzero(size > limit)[0] - n // 2)
    return int(above.max(initial=0)) + 1
