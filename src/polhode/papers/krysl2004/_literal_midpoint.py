"""The implicit midpoint rule to the letter: the torque at the mean of two matrices, which is no rotation.

The paper names the rule and does not write it down. Read to the letter, every quantity is taken at the mean of both
ends of a step, the attitude matrix too:

    I (w1 - w0) / h + w x I w = R^T t(R),   w = (w0 + w1) / 2,   R = (R0 + R1) / 2,   R1 = R0 cay(h w).

R shrinks what it turns, so a torque of a mean matrix is not a torque at any attitude of the body. No torque of polhode,
which depends on a unit quaternion, can be taken there: the rule stands here, for spatial torques t that are
polynomials or powers of the elements of R.
"""

from collections.abc import Callable

import numpy as np

from polhode import to_space
from polhode.papers._measure import hat
from polhode.problem import Problem
from polhode.support.arrays import Floats

LITERAL = "literal midpoint"
SpatialTorque = Callable[[Floats], Floats]
"""The torque in space, of the attitude matrix."""
MOST_ITERATIONS, CONVERGED = 100, 4e-16
"""Fixed-point iterations of a step, and the change relative to the rate at which they end."""


def about_vertical(R: Floats) -> Floats:
    """E3 x R e3: the direction in space of the torques of sections 3.4 to 3.6."""
    return np.array([-R[1, 2], R[0, 2], 0.0])


def weight(R: Floats) -> Floats:
    """The torque of the tops of sections 3.4 and 3.5."""
    return 20.0 * about_vertical(R)


def wall(sign: str) -> SpatialTorque:
    """The torque of section 3.6 as printed, or with the sign that makes the wall repel."""
    factor = 1.0 if sign == "printed" else -1.0

    def torque(R: Floats) -> Floats:
        x = 1.1 + R[2, 2]
        return np.asarray(factor * (0.01 * x**-11 - x**-2) * about_vertical(R))

    return torque


def cayley(v: Floats) -> Floats:
    """(1 - v/2)^-1 (1 + v/2), v as a skew matrix."""
    return np.asarray(np.eye(3) + (hat(v) + hat(v) @ hat(v) / 2) / (1 + v @ v / 4))


def end_state(problem: Problem, torque: SpatialTorque, h: float, end: float) -> tuple[Floats, Floats]:
    """Momentum in the body and attitude matrix at a time that is a multiple of the step h."""
    inertia, w, R = problem.body.moments, problem.omega_start, to_space(problem.quaternion_start, np.eye(3)).T
    for _ in range(round(end / h)):
        mean = w
        for _ in range(MOST_ITERATIONS):
            there = (R + R @ cayley(h * mean)) / 2
            new = w + h / 2 * (there.T @ torque(there) - np.cross(mean, inertia * mean)) / inertia
            moved, mean = np.abs(new - mean).max(), new
            if moved <= CONVERGED * np.abs(mean).max():
                break
        w, R = 2 * mean - w, R @ cayley(h * mean)
    return np.asarray(inertia * w), np.asarray(R)
