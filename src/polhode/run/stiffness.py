"""Stiff torques: how fast the fastest disturbance of a motion dies out, compared with the motion itself.

A strong damping or a stiff controller makes disturbances die out in a time that is far shorter than that of the motion.
Explicit steps must be as short as that time for ever, although nothing is left to see; implicit ones need not be.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polhode.body import Body
from polhode.kernels.algebra.quat import multiply, slight_turn
from polhode.kernels.types import Depends, Quat, Vec3
from polhode.problem import NO_STATE
from polhode.support.arrays import Floats
from polhode.support.interrupts import attempted
from polhode.torques import Torque

STIFF_RADIANS = 3000.0
"""A decay this many times as fast as the span is long makes a problem stiff: explicit steps, of which each may be as
long as two to six decays, would be that many, where implicit ones are a few hundred."""
STIFF_RATIO = 50.0
"""The decay must be this many times as fast as the body turns: steps that follow the turning are not stiff."""
SHORT_LIVED = 30.0
"""What has fallen by this many powers of e within the span is a transient."""
DIFFERENCE = 2.0**-26
"""Derivatives are differences over this part of a radian, and of the rate: the root of the rounding error."""
DRY_LOOKS = (1e-6, 1e-9)
"""The parts of the rate at which a torque is sampled, to see whether it falls to zero with the rate."""
SLOWER = 2.0
"""Friction is dry if it falls to zero by this factor less than the rate between these samples: powers of up to 0.9."""
LEAST_DRY = 1e-12
"""A smaller part of the torque may be its rounding."""
LOOK_STEPS = 1000
"""The number of steps between two checks whether stability limits their length."""
LIMITED = (0.25, 1.5)
"""Steps whose length, times the fastest decay, lies between these parts of what is stable are limited by stability.
Their mean is 0.6 to 1 of it, as measured."""


@np.errstate(all="ignore")
def fastest_decay(
    body: Body, torque: Torque, t: float, q: Floats, w: Floats, span: float, z: Floats = NO_STATE
) -> float:  # fmt: skip
    """The rate of the fastest disturbance that dies out within the span; 0: there is none, or it is not known.

    A disturbance that oscillates counts with its frequency as well, since steps must be short against both.
    `q` and `w` are the attitude and the rate in the axes of the user, `z` what the torque carries. The torque is
    evaluated four times to seven, once more for each carried number, and not at all if it carries none and does not
    depend on the rate.
    """
    if not (torque.depends & Depends.RATE or torque.state_names) or span == 0.0:
        return 0.0
    found = attempted(lambda: _fastest(body, torque, t, q, w, z, span), 0.0)
    return found if math.isfinite(found) else 0.0


@np.errstate(all="ignore")
def fastest_change(body: Body, torque: Torque, t: float, q: Floats, w: Floats, span: float, z: Floats) -> float:
    """The rate of the fastest disturbance, whether it dies out, oscillates or grows; 0: it is not known.

    It is that of the carried numbers, if these are quicker than the body: a spring, a filter, a motor.
    """
    found = attempted(lambda: float(np.abs(_modes(body, torque, t, q, w, z, span)).max(initial=0.0)), 0.0)
    return found if math.isfinite(found) else 0.0


def _fastest(body: Body, torque: Torque, t: float, q: Floats, w: Floats, z: Floats, span: float) -> float:
    values = _modes(body, torque, t, q, w, z, span)
    transient = -values.real * math.copysign(1.0, span) * abs(span) > SHORT_LIVED
    return float(np.abs(values[transient]).max(initial=0.0))


def _modes(body: Body, torque: Torque, t: float, q: Floats, w: Floats, z: Floats, span: float) -> NDArray[Any]:
    """The rates of disturbances, as complex numbers; none if the torque does not damp and carries nothing."""
    kernel, p = torque.torque_kernel, np.array(torque.parameters(body), dtype=float)
    attitude: Quat = tuple(q.tolist())
    rate: Vec3 = tuple(w.tolist())
    carried = tuple(z.tolist())
    small = DIFFERENCE * max(math.hypot(*rate), 1.0 / abs(span))

    def at(q: Quat, w: Vec3, z: tuple[float, ...]) -> Floats:
        """The torque, and after it the derivatives of carried numbers."""
        if carried:
            n, dz = kernel(t, q, w, p, z)
            return np.append(np.array(n, dtype=float), dz)
        return np.array(kernel(t, q, w, p), dtype=float)

    if not carried:  # for most torques a bound of the damping suffices, without matrices
        x, y, z0 = kernel(t, attitude, rate, p)
        changed = [kernel(t, attitude, _added(rate, d), p) for d in _directions(small)]
        size = math.hypot(*[math.hypot(n[0] - x, n[1] - y, n[2] - z0) for n in changed]) / small
        if not size * abs(span) > STIFF_RADIANS * min(body.moments.tolist()):
            return np.zeros(0)
    here = at(attitude, rate, carried)
    by_rate = _columns(lambda d: (at(attitude, _added(rate, d), carried) - here) / small, small)
    inverse = body.axes @ np.diag(1.0 / body.moments) @ body.axes.T
    damping = by_rate @ inverse
    if not carried and not float(np.sqrt((damping * damping).sum())) * abs(span) > STIFF_RADIANS:
        return np.zeros(0)
    half = 0.5 * DIFFERENCE
    by_turn = _columns(lambda d: (at(multiply(attitude, slight_turn(d)), rate, carried) - here) / DIFFERENCE, half)
    momentum = np.linalg.solve(inverse, w) + body.rotor
    spin, gyration = _cross(w), _cross(momentum) @ inverse
    matrix = np.block([[-spin, inverse], [by_turn, damping]])
    matrix[3:6, 3:6] += gyration - spin
    if carried:
        by_number = np.zeros((6 + len(carried), len(carried)))
        for i, value in enumerate(carried):
            step = DIFFERENCE * (abs(value) or torque.state_sizes[i] or 1.0)
            moved = (*carried[:i], value + step, *carried[i + 1 :])
            by_number[3:, i] = (at(attitude, rate, moved) - here) / step
        matrix = np.concatenate([matrix, by_number], axis=1)
    return np.linalg.eigvals(matrix)


def _columns(change: Any, size: float) -> Floats:
    return np.stack([change(d) for d in _directions(size)], axis=1)


def _directions(size: float) -> tuple[Vec3, Vec3, Vec3]:
    return (size, 0.0, 0.0), (0.0, size, 0.0), (0.0, 0.0, size)


def _added(a: Vec3, b: Vec3) -> Vec3:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def _cross(a: NDArray[Any]) -> Floats:
    x, y, z = a.tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def is_dry(torque: Torque, values: Floats, t: float, q: Floats, w: Floats, z: Floats = NO_STATE) -> bool:
    """Whether a torque brakes the body with a size that does not fall to zero as fast as the rate: dry friction.

    Where the rate is zero such a torque has no value that would keep the body there, or none for rates beside it: the
    body comes to rest at some time, as under a root of the rate, and steps lead nowhere.
    """
    if not torque.depends & Depends.RATE:
        return False
    attitude, carried = tuple(q.tolist()), tuple(z.tolist())
    rate = w / np.linalg.norm(w) * max(float(np.linalg.norm(w)), 1e-3) if w.any() else np.full(3, 1e-3)

    largest = 0.0

    @np.errstate(all="ignore")
    def jump(share: float) -> Floats:
        """By how much the torque changes where the rate passes through zero."""
        nonlocal largest
        x, y, z = (share * rate).tolist()
        ahead, back = (torque.called(t, attitude, v, values, carried) for v in ((x, y, z), (-x, -y, -z)))
        largest = max(largest, *map(abs, ahead))
        return np.asarray(np.array(ahead, dtype=float) - np.array(back, dtype=float))

    jumps = attempted(lambda: [jump(share) for share in DRY_LOOKS], None)
    if jumps is None:
        return False
    small, smaller = jumps
    size, linear = float(np.linalg.norm(smaller)), float(np.linalg.norm(small)) * DRY_LOOKS[1] / DRY_LOOKS[0]
    seen = math.isfinite(size) and size > LEAST_DRY * largest
    return bool(seen and size > SLOWER * linear > 0.0 and smaller @ rate < 0.0)


def is_stiff(decay: float, rate: float, span: float) -> bool:
    """Whether a decay is so much faster than the motion, and than the span is long, that implicit steps pay."""
    return decay * abs(span) > STIFF_RADIANS and decay > STIFF_RATIO * rate


def are_limited(length: float, decay: float, stable: float) -> bool:
    """Whether steps of this mean length are limited by stability, in a method that bears `stable` decays a step."""
    return LIMITED[0] * stable < length * decay < LIMITED[1] * stable
