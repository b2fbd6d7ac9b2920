"""The truth: heyoka's Taylor series in quadruple precision (113 bits), with its tolerance at round-off.

No competitor works in more than double precision. `python -m benchmarks reference` holds these references, in turn,
against extrapolation in 40 digits (tests/authorities/high_precision.py), which shares nothing with them.
"""

from functools import cache
from typing import Any

import numpy as np

from benchmarks.motions import Floats, Motion

NUDGE = 1e-8
"""A relative change of the rates at the start."""
CHECKED_ANGLE = 10.0
"""Radians that are compared with 40 digits."""


def _propagated(motion: Motion, precision: Any, factor: float = 1.0) -> Floats:
    """Returns states at the output times; the rate at the start is multiplied by a factor."""
    import heyoka

    state = heyoka.make_vars("a", "b", "c", "d", "x", "y", "z")
    start = [precision(x) for x in (*motion.attitude, *(factor * w for w in motion.omega))]
    system = list(zip(state, motion.slope()(*state), strict=True))
    integrator = heyoka.taylor_adaptive(system, start, fp_type=precision, compact_mode=True)
    rows = []
    for t in motion.times:
        integrator.propagate_until(precision(t))
        rows.append([float(x) for x in integrator.state])
    return np.array(rows)


@cache
def reference(motion: Motion) -> Floats:
    """Returns quaternion and rate at the output times, rounded to double precision."""
    import heyoka

    return _propagated(motion, heyoka.real128)


@cache
def growth(motion: Motion) -> float:
    """Returns the relative change of the answer over that of the rate at the start, in extended precision."""
    from benchmarks.motions import error

    return error(_propagated(motion, np.longdouble, 1.0 + NUDGE), _propagated(motion, np.longdouble)) / NUDGE


def checked(motion: Motion, digits: int = 40) -> float:
    """Returns the distance of the reference from 40-digit extrapolation over a shorter span."""
    from dataclasses import replace

    import mpmath as mp
    from tests.authorities.high_precision import end_state, rotation, seen_from_body

    from benchmarks.motions import error

    short = replace(motion, span=motion.span * min(1.0, CHECKED_ANGLE / motion.angle), outputs=1)
    found = reference(short)
    pull = short.pull()
    with mp.workdps(digits):
        tensor = [[i if j == k else 0.0 for k in range(3)] for j, i in enumerate(short.moments)]
        R, w = end_state(
            tensor,
            lambda t, R, w: list(pull(*seen_from_body(R, [0, 0, 1]))),
            rotation(short.attitude),
            short.omega,
            short.span,
            steps=(12 if short.kind == "wall" else 4) * int(short.angle + 1),  # the wall is steep
        )
        true = np.array([[float(x) for x in (*_quaternion(R), *w)]])
    return error(found, true)


def _quaternion(R: Any) -> list[Any]:
    """Returns the quaternion of a rotation matrix, from its largest component."""
    import mpmath as mp

    squares = [
        1 + R[0][0] + R[1][1] + R[2][2], 1 + R[0][0] - R[1][1] - R[2][2],
        1 - R[0][0] + R[1][1] - R[2][2], 1 - R[0][0] - R[1][1] + R[2][2],
    ]  # fmt: skip
    largest = max(range(4), key=lambda i: squares[i])
    products = [
        [squares[0], R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1]],
        [R[2][1] - R[1][2], squares[1], R[1][0] + R[0][1], R[0][2] + R[2][0]],
        [R[0][2] - R[2][0], R[1][0] + R[0][1], squares[2], R[2][1] + R[1][2]],
        [R[1][0] - R[0][1], R[0][2] + R[2][0], R[2][1] + R[1][2], squares[3]],
    ]
    return [x / (2 * mp.sqrt(squares[largest])) for x in products[largest]]
