"""Torques that are prescribed: constant in body or in space, oscillating, or constant between jumps."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from polhode.body import Body
from polhode.kernels.algebra.quat import to_body
from polhode.kernels.types import Depends, Quat, UserTorque, Vec3
from polhode.support import checks
from polhode.torques._torque import Torque, rising


def body_torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """The vector itself."""
    return (p[0], p[1], p[2])


@dataclass(frozen=True)
class ConstantBodyTorque(Torque):
    """A torque that is constant in body axes, such as that of thrusters fixed to the body. It has no potential.

    Examples
    --------
    >>> thrust = ph.ConstantBodyTorque((0, 0, 0.6))
    >>> run = ph.simulate(ph.Body([1, 2, 3]), thrust, omega=[0, 0, 1], t_span=(0, 10), rtol=1e-9)
    >>> run.omega[-1].round(6)
    array([0., 0., 3.])
    """

    vector: Vec3
    """The torque in body axes, in N m."""

    reads_attitude = False
    torque_kernel = staticmethod(body_torque)

    def __post_init__(self) -> None:
        self._check(vector=checks.vector)

    def parameters(self, body: Body) -> Sequence[float]:
        """The vector."""
        return self.vector


def space_torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """R^T times the vector."""
    return to_body(q, (p[0], p[1], p[2]))


@dataclass(frozen=True)
class ConstantSpaceTorque(Torque):
    """A torque that is constant in space axes: the spatial angular momentum grows evenly with time.

    It has no potential. It is symmetric about its own direction, but the momentum along that direction is just what it
    changes; so no axis is declared along which momentum would be conserved.

    Examples
    --------
    >>> push = ph.ConstantSpaceTorque((0, 0, 0.5))
    >>> run = ph.simulate(ph.Body([1, 2, 2.8]), push, omega=[0.1, 2, 0], t_span=(0, 4), method="MR2", step=0.1)
    >>> (run.spatial_momentum[-1] - run.spatial_momentum[0]).round(6) + 0.0
    array([0., 0., 2.])
    """

    vector: Vec3
    """The torque in space axes, in N m."""

    torque_kernel = staticmethod(space_torque)

    def __post_init__(self) -> None:
        self._check(vector=checks.vector)

    def parameters(self, body: Body) -> Sequence[float]:
        """The vector."""
        return self.vector


def sinusoidal_torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """a cos(nu t + phi)."""
    c = math.cos(p[3] * t + p[4])
    return (c * p[0], c * p[1], c * p[2])


@dataclass(frozen=True)
class SinusoidalTorque(Torque):
    """A torque that oscillates harmonically along a direction fixed in the body, a cos(nu t + phi).

    Examples
    --------
    >>> shaken = ph.SinusoidalTorque(amplitude=(0, 0, 0.5), angular_frequency=2.0)
    >>> run = ph.simulate(ph.Body([1, 1, 2]), shaken, omega=[0, 0, 0], t_span=(0, 1), rtol=1e-9)
    >>> bool(abs(run.omega[-1, 2] - 0.5 / 2 * np.sin(2.0) / 2) < 1e-9)
    True
    """

    amplitude: Vec3
    """a, in body axes, in N m."""
    angular_frequency: float
    """nu, in rad/s."""
    phase: float = 0.0
    """phi, in rad."""

    depends = Depends.POSITION | Depends.TIME
    has_value_at_all_times = True
    reads_attitude = False
    torque_kernel = staticmethod(sinusoidal_torque)

    def __post_init__(self) -> None:
        self._check(amplitude=checks.vector, angular_frequency=checks.number, phase=checks.number)

    def parameters(self, body: Body) -> Sequence[float]:
        """Amplitude, frequency and phase."""
        return (*self.amplitude, self.angular_frequency, self.phase)


def piece(t: float, p: Any) -> Vec3:
    """The vector of the segment that contains t. The integrator never asks at the time of a jump."""
    if t > p[0]:
        for k in range(1, p.shape[0], 4):
            if t < p[k]:
                return (p[k + 1], p[k + 2], p[k + 3])
    return (0.0, 0.0, 0.0)


def piecewise_body_torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """The vector, which is given in body axes."""
    return piece(t, p)


def piecewise_space_torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """The vector, which is given in space axes, in body axes."""
    return to_body(q, piece(t, p))


@dataclass(frozen=True)
class PiecewiseTorque(Torque):
    """A torque that is constant within segments of time; it is zero before `start` and after the last segment.

    Integration stops at each jump and restarts on the other side, so jumps need not fall on the grid and cost no
    accuracy. The book toss of krysl2004, section 3.2, is 20 N m about x for 2 s (the paper does not print the time),
    then an impulse of 0.2 N m s about y within 0.05 s:

        PiecewiseTorque(((2.0, (20, 0, 0)), (2.05, (0, 4, 0))))

    Examples
    --------
    >>> there_and_back = ph.PiecewiseTorque(((1.0, (0, 0, 2.0)), (2.0, (0, 0, -2.0))))  # each until its time
    >>> run = ph.simulate(ph.Body([1, 1, 2]), there_and_back, omega=[0, 0, 0], t_span=(0, 3), rtol=1e-9)
    >>> run.at([0, 1, 3]).omega[:, 2].round(6) + 0.0
    array([0., 1., 0.])
    """

    segments: tuple[tuple[float, Vec3], ...]
    """Pairs of the time at which a segment ends, in s, and its torque, in N m. Each begins where the last one ends."""
    frame: Literal["space", "body"] = "space"
    """The axes in which the torques are given."""
    start: float = 0.0
    """The time at which the first segment begins, in s."""

    depends = Depends.POSITION | Depends.TIME

    def __post_init__(self) -> None:
        self._settle(
            segments=_segments(self.segments),
            frame=checks.choice("frame", self.frame, ("space", "body")),
            start=checks.number("start", self.start),
        )
        self._settle(reads_attitude=self.frame == "space")
        rising("start and the ends of the segments", self.breakpoints)

    @property
    def torque_kernel(self) -> UserTorque:
        """The vector of the segment, in body axes."""
        return piecewise_space_torque if self.frame == "space" else piecewise_body_torque

    def parameters(self, body: Body) -> Sequence[float]:
        """The start, then four numbers for each segment: its end and its vector."""
        return (self.start, *(x for end, vector in self.segments for x in (end, *vector)))

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """The start and the end of every segment."""
        return (self.start, *(end for end, _ in self.segments))


def _segments(segments: Any) -> tuple[tuple[float, Vec3], ...]:
    if not isinstance(segments, Sequence) or isinstance(segments, str) or len(segments) == 0:
        raise TypeError(f"segments must be a list of pairs (end, vector), at least one, not {segments!r}")
    found = []
    for i, segment in enumerate(segments):
        if not isinstance(segment, Sequence) or len(segment) != 2:
            raise TypeError(f"segments[{i}] must be a pair (end, vector), not {segment!r}")
        end, vector = segment
        found.append((checks.number(f"the end of segments[{i}]", end), checks.vector(f"segments[{i}]", vector)))
    return tuple(found)
