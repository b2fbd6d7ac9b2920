"""Quaternions against SciPy and against mpmath."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from polhode.kernels.algebra.quat import conjugate, multiply, normalised, to_body, to_space, turn
from polhode.kernels.types import Quat, Vec3

EPS = float(np.finfo(float).eps)
draw = np.random.default_rng(4)


def quaternion() -> Quat:
    w, x, y, z = (v := draw.normal(size=4)) / np.linalg.norm(v)
    return (float(w), float(x), float(y), float(z))


def vector(size: float = 1.0) -> Vec3:
    x, y, z = size * draw.normal(size=3)
    return (float(x), float(y), float(z))


def scipy_of(q: Quat) -> Rotation:
    return Rotation.from_quat(q, scalar_first=True)


QUATERNIONS = [quaternion() for _ in range(200)]


def test_units_multiply_as_hamilton_carved_them() -> None:
    one, i, j, k = ((float(a == 0), float(a == 1), float(a == 2), float(a == 3)) for a in range(4))
    minus: Quat = (-1.0, 0.0, 0.0, 0.0)
    assert multiply(i, j) == k
    assert multiply(j, k) == i
    assert multiply(k, i) == j
    assert multiply(multiply(i, j), k) == minus
    assert multiply(one, j) == multiply(j, one) == j


def test_product_is_composition() -> None:
    for a, b in zip(QUATERNIONS, reversed(QUATERNIONS), strict=True):
        expected = (scipy_of(a) * scipy_of(b)).as_matrix()
        assert np.abs(scipy_of(multiply(a, b)).as_matrix() - expected).max() < 8 * EPS


def test_conjugate_undoes() -> None:
    for q in QUATERNIONS:
        assert np.abs(np.array(multiply(q, conjugate(q))) - (1, 0, 0, 0)).max() < 4 * EPS


def test_to_space_and_back() -> None:
    for q in QUATERNIONS:
        v = vector()
        assert np.abs(scipy_of(q).apply(v) - to_space(q, v)).max() < 16 * EPS
        assert np.abs(scipy_of(q).apply(v, inverse=True) - to_body(q, v)).max() < 16 * EPS


def test_normalised() -> None:
    for scale in (1e-150, 0.3, 1.0, 1e150):
        q = normalised((3 * scale, -4 * scale, 12 * scale, 84 * scale))
        assert np.abs(np.array(q) - np.array([3, -4, 12, 84]) / 85).max() < 2 * EPS


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e-160, 1e-12, 1e-4, 0.1, 1.0, 3.0])
def test_turn_is_the_exponential(size: float) -> None:
    """q exp(v) at 40 digits. A half angle beyond pi/2 comes with the other sign, which is the same rotation."""
    for q in QUATERNIONS[:50]:
        v = vector(size)
        with mp.workdps(40):
            half = mp.sqrt(sum(mp.mpf(x) ** 2 for x in v)) / 2
            s = mp.sin(half) / (2 * half) if half else mp.mpf(1) / 2
            exact = multiply(tuple(mp.mpf(x) for x in q), (mp.cos(half), *(s * mp.mpf(x) for x in v)))
            sign = (-1) ** int(mp.nint(half / mp.pi))
            error = max(abs(a - sign * b) for a, b in zip(turn(q, v), exact, strict=True))
        assert float(error) < 4 * EPS


def test_small_turns_are_increments() -> None:
    """A turn changes a quaternion by its angle: a thousand small ones cost no more digits than the additions."""
    q: Quat = (1.0, 0.0, 0.0, 0.0)
    for _ in range(1000):
        q = turn(q, (0.0, 0.0, 1e-3))
    assert abs(q[3] - math.sin(0.5)) < 1000 * EPS / 2
    assert abs(sum(x * x for x in q) - 1.0) < math.sqrt(1000) * EPS
