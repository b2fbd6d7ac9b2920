"""Finite rotations against SciPy's, and their derivative against differences."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from polhode.kernels.algebra.quat import normalised
from polhode.kernels.algebra.rotation import (
    cayley,
    change_of_attitude,
    change_of_components,
    dexp,
    exponential,
    quaternion_of,
    rows,
)
from polhode.kernels.types import Quat, Vec3

EPS = 2.0**-52
SIZES = (0.0, 1e-150, 1e-9, 1e-3, 0.7, 3.0, 3.2, 7.5, 40.0)


def vectors(size: float) -> list[Vec3]:
    draw = np.random.default_rng(4).normal(size=(20, 3))
    unit = draw / np.linalg.norm(draw, axis=1, keepdims=True)
    return [(x, y, z) for x, y, z in (size * unit).tolist()]


def rotation(e: float, u: Vec3) -> Rotation:
    return Rotation.from_quat([1.0 - e, *u], scalar_first=True)


@pytest.mark.parametrize("size", SIZES)
def test_exponential(size: float) -> None:
    for v in vectors(size):
        off = (rotation(*exponential(v)) * Rotation.from_rotvec(v).inv()).magnitude()
        assert off < 8 * EPS * max(1.0, size)


@pytest.mark.parametrize("size", SIZES)
def test_cayley(size: float) -> None:
    """It turns about the same axis by 2 atan(|v| / 2)."""
    for v in vectors(size):
        angle = 2 * math.atan(size / 2)
        true = Rotation.from_rotvec(np.array(v) * (angle / size if size else 1.0))
        e, u = cayley(v)
        assert (rotation(e, u) * true.inv()).magnitude() < 8 * EPS
        assert (1 - e) ** 2 + np.dot(u, u) == pytest.approx(1, abs=4 * EPS)


@pytest.mark.parametrize("turn", [exponential, cayley])
@pytest.mark.parametrize("size", SIZES)
def test_changes(turn: object, size: float) -> None:
    """They are the differences, and small turns lose no digits."""
    q: Quat = normalised((5.0, 1.0, -3.0, 2.0))
    x = (0.3, -1.2, 0.7)
    before = Rotation.from_quat(q, scalar_first=True)
    for v in vectors(size):
        e, u = turn(v)  # type: ignore[operator]
        E = rotation(e, u)
        after = Rotation.from_quat(np.add(q, change_of_attitude(q, e, u)), scalar_first=True)
        assert (after * (before * E).inv()).magnitude() < 8 * EPS
        change = np.array(change_of_components(e, u, x))
        assert np.abs(x + change - E.inv().apply(x)).max() < 8 * EPS
        if size <= 1e-9:
            assert np.abs(change - np.cross(x, v)).max() <= 1e-8 * size


@pytest.mark.parametrize("size", [1e-3, 0.7, 3.0, 7.5])
def test_dexp(size: float) -> None:
    """exp(v + s a) = exp(v) exp(s S(v) a): with a plus in the middle, as printed in krysl2004 (33), it is not."""
    s = 1e-5
    for v, a in zip(vectors(size), vectors(1.0)[::-1], strict=True):
        ahead, behind = (Rotation.from_rotvec(np.add(v, k * np.array(a))) for k in (s, -s))
        difference = (behind.inv() * ahead).as_rotvec() / (2 * s)  # truncation s^2, round-off eps / s
        assert np.abs(np.array(dexp(v, a)) - difference).max() < 1e-9
        printed = np.array(dexp((-v[0], -v[1], -v[2]), a))
        if size >= 0.7:
            assert np.abs(printed - difference).max() > 0.1 * float(np.linalg.norm(np.cross(v, a))) / size


def test_dexp_leaves_its_own_axis_alone() -> None:
    for v in vectors(2.0):
        assert np.abs(np.subtract(dexp(v, v), v)).max() < 8 * EPS
    assert dexp((0.0, 0.0, 0.0), (1.0, 2.0, 3.0)) == (1.0, 2.0, 3.0)


def test_matrix_and_back() -> None:
    """From any guess on the same side, and half turns included."""
    draw = np.random.default_rng(5).normal(size=(50, 4)).tolist()
    for a, b, c, d in [*draw, [0.0, 1.0, 0.0, 0.0], [0.0, 0.6, 0.8, 0.0], [1.0, 0.0, 0.0, 0.0]]:
        q = normalised((a, b, c, d))
        R = rows(q)
        assert np.abs(np.array(R) - Rotation.from_quat(q, scalar_first=True).as_matrix()).max() < 4 * EPS
        guess = (q[0] + 0.2, q[1] - 0.1, q[2] + 0.1, q[3] + 0.1)
        assert np.abs(np.subtract(quaternion_of(R, guess), q)).max() < 4 * EPS
