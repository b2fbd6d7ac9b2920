"""Torques against their formulas, written out with matrices, and what the models refuse."""

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.body import Body
from polhode.torques import Torque

EPS = float(np.finfo(float).eps)
TENSOR = np.array([[2.0, 0.3, -0.2], [0.3, 3.0, 0.4], [-0.2, 0.4, 4.0]])
TILTED = Body(TENSOR)
W = np.array([0.3, -0.5, 1.1])


def attitudes() -> list[Any]:
    """Rotations as SciPy has them, with no polhode in between."""
    return list(Rotation.random(20, random_state=np.random.default_rng(4)))


def torque(model: Torque, t: float, r: Any, w: Any = W, body: Body = TILTED) -> Any:
    p = np.array(model.parameters(body), dtype=np.float64)
    return np.array(model.torque_kernel(t, tuple(r.as_quat(scalar_first=True).tolist()), tuple(w), p))


def potential(model: Torque, t: float, r: Any, body: Body = TILTED) -> float:
    p = np.array(model.parameters(body), dtype=np.float64)
    assert model.potential_kernel is not None
    return model.potential_kernel(t, tuple(r.as_quat(scalar_first=True).tolist()), p)


# --- values --------------------------------------------------------------------------------------------------------


def test_heavy_top() -> None:
    model = ph.HeavyTop(2.0, [0.3, 0.1, -0.7], [3.0, 0.0, -4.0])  # type: ignore[arg-type]
    force = 2.0 * np.array([0.6, 0.0, -0.8])
    for r in attitudes():
        R, point = r.as_matrix(), np.array([0.3, 0.1, -0.7])
        np.testing.assert_allclose(torque(model, 0.0, r), np.cross(point, R.T @ force), rtol=0, atol=20 * EPS)
        assert potential(model, 0.0, r) == pytest.approx(-force @ (R @ point), abs=20 * EPS)


def test_gravity_gradient() -> None:
    model = ph.GravityGradient(1.3, (1.0, -2.0, 2.0))
    n = np.array([1.0, -2.0, 2.0]) / 3
    for r in attitudes():
        u = r.as_matrix().T @ n
        np.testing.assert_allclose(torque(model, 0.0, r), 1.3 * np.cross(u, TENSOR @ u), rtol=0, atol=60 * EPS)
        assert potential(model, 0.0, r) == pytest.approx(0.65 * u @ TENSOR @ u, rel=20 * EPS)


@pytest.mark.parametrize(
    "model", [ph.HeavyTop(2.0, (0.3, 0.1, -0.7)), ph.HeavyTop(2.0, down=(0, 0, 3)), ph.GravityGradient(1.3)]
)
def test_upright_directions_have_a_kernel_of_their_own_with_the_same_bits(model: Torque) -> None:
    general = model.for_any_direction()
    assert model.upright
    assert not general.upright
    assert general == model
    assert general.torque_kernel is not model.torque_kernel
    for r in attitudes():
        assert np.array_equal(torque(model, 0.0, r), torque(general, 0.0, r))


@pytest.mark.parametrize(
    "model", [ph.GravityGradient(1.3, (1, -2, 2)), ph.OrbitalGravityGradient(0.6, (1, 0, 0), (0, 1, 1))]
)
def test_gravity_gradient_of_a_tilted_body_is_that_of_its_principal_axes(model: Torque) -> None:
    """The same body described in principal axes: the torque is the same vector."""
    principal = Body(TILTED.moments)
    for r in attitudes():
        there = torque(model, 1.0, r * Rotation.from_matrix(TILTED.axes), body=principal)
        np.testing.assert_allclose(torque(model, 1.0, r), TILTED.axes @ there, rtol=0, atol=60 * EPS)


def test_gravity_gradient_at_a_distance() -> None:
    assert ph.GravityGradient.at_distance(3.986e14, 1.5e5).strength == pytest.approx(0.35431111111111113, rel=2 * EPS)
    assert ph.GravityGradient.at_distance(3.986e14, 7e6, (1, 0, 0)).direction == (1.0, 0.0, 0.0)
    orbit = ph.OrbitalGravityGradient.at_distance(3.986e14, 7e6)
    assert 3 * orbit.orbital_rate**2 == pytest.approx(
        ph.GravityGradient.at_distance(3.986e14, 7e6).strength, rel=8 * EPS
    )


def test_orbital_gravity_gradient_looks_along_the_orbit() -> None:
    """At any time it is the gravity gradient towards where the planet then is: right-handed about the normal."""
    normal, towards, rate = np.array([1.0, 2.0, 2.0]), np.array([2.0, 1.0, -2.0]), 0.7
    model = ph.OrbitalGravityGradient(rate, tuple(normal), tuple(towards))
    for t, r in zip(np.linspace(-10, 10, 20).tolist(), attitudes(), strict=True):
        n = Rotation.from_rotvec(rate * t * normal / 3).apply(towards)
        fixed = ph.GravityGradient(3 * rate**2, tuple(n))
        np.testing.assert_allclose(torque(model, t, r), torque(fixed, 0.0, r), rtol=0, atol=100 * EPS)
        assert potential(model, t, r) == pytest.approx(potential(fixed, 0.0, r), rel=60 * EPS)


@pytest.mark.parametrize("t", [1e3, 1e6, 1e9, 1e12])
def test_orbital_gravity_gradient_after_a_long_time(t: float) -> None:
    """The phase is off by no more than a rounding of n t, which is what a rounding of t would do."""
    rate = 1.0781e-3
    model = ph.OrbitalGravityGradient(rate)
    with mpmath.workdps(50):
        angle = mpmath.mpf(rate) * mpmath.mpf(t)
        u = np.array([float(mpmath.cos(angle)), float(mpmath.sin(angle)), 0.0])
    exact = 3 * rate**2 * np.cross(u, TENSOR @ u)
    slack = (10 * EPS + math.ulp(rate * t) / 2 * 2) * np.abs(TENSOR).max() * 3 * rate**2  # the torque goes as u^2
    np.testing.assert_allclose(torque(model, t, Rotation.identity()), exact, rtol=0, atol=slack)


@pytest.mark.parametrize(("sign", "factor"), [("physical", 1.0), ("printed", -1.0)])
def test_coulomb_soft_wall(sign: Any, factor: float) -> None:
    """In space the torque is f (-R23, R13, 0)."""
    model = ph.CoulombSoftWall(sign=sign)
    for r in attitudes():
        R = r.as_matrix()
        x = 1.1 + R[2, 2]
        in_space = factor * (x**-2.0 - 0.01 * x**-11.0) * np.array([-R[1, 2], R[0, 2], 0.0])
        n = R.T @ in_space
        np.testing.assert_allclose(torque(model, 0.0, r), n, rtol=0, atol=500 * EPS * np.abs(n).max())
        v = factor * (-1 / x + 0.001 * x**-10.0)
        assert potential(model, 0.0, r) == pytest.approx(v, rel=500 * EPS)


def test_physical_wall_holds_the_body_at_its_equilibrium() -> None:
    """The potential is least where (1.1 + z)^9 = 0.01; the printed one is greatest there."""
    z = 0.01 ** (1 / 9) - 1.1
    assert z == pytest.approx(-0.50, abs=0.001)
    rest = Rotation.from_rotvec([math.acos(z), 0, 0])
    for sign, way in (("physical", 1.0), ("printed", -1.0)):
        model = ph.CoulombSoftWall(sign=sign)  # type: ignore[arg-type]
        assert np.abs(torque(model, 0.0, rest)).max() < 100 * EPS
        for angle in (-0.1, 0.1):
            aside = Rotation.from_rotvec([angle, 0, 0]) * rest
            assert way * potential(model, 0.0, aside) > way * potential(model, 0.0, rest)
            assert way * angle * torque(model, 0.0, aside)[0] < 0


def test_constant_torques() -> None:
    v = np.array([0.3, -1.2, 0.7])
    for r in attitudes():
        assert (torque(ph.ConstantBodyTorque(tuple(v)), 0.0, r) == v).all()
        in_body = torque(ph.ConstantSpaceTorque(tuple(v)), 0.0, r)
        np.testing.assert_allclose(in_body, r.as_matrix().T @ v, rtol=0, atol=10 * EPS)


@pytest.mark.parametrize("frame", ["space", "body"])
def test_piecewise_torque(frame: Any) -> None:
    a, b = np.array([1.0, 2.0, 3.0]), np.array([-1.0, 0.5, 0.0])
    model = ph.PiecewiseTorque([(0.5, a), (2.0, b)], frame=frame, start=-1.0)  # type: ignore[arg-type]
    assert model.breakpoints == (-1.0, 0.5, 2.0)
    expected = [(-9.0, 0 * a), (math.nextafter(-1.0, -2), 0 * a), (math.nextafter(-1.0, 0), a), (0.0, a)]
    expected += [(math.nextafter(0.5, 0), a), (math.nextafter(0.5, 1), b), (math.nextafter(2.0, 0), b), (2.1, 0 * a)]
    for r in attitudes():
        turn = r.as_matrix().T if frame == "space" else np.eye(3)
        for t, v in expected:
            np.testing.assert_allclose(torque(model, t, r), turn @ v, rtol=0, atol=10 * EPS)


@pytest.mark.parametrize(
    ("given", "matrix"),
    [
        (0.3, 0.3 * np.eye(3)),
        ([0.1, 0.2, 0.3], np.diag([0.1, 0.2, 0.3])),
        ([[1, 2, 3], [4, 5, 6], [7, 8, 10]], np.array([[1, 2, 3], [4, 5, 6], [7, 8, 10]])),
    ],
)
def test_linear_damping(given: Any, matrix: Any) -> None:
    np.testing.assert_allclose(
        torque(ph.LinearDamping(given), 0.0, Rotation.identity()), -matrix @ W, rtol=0, atol=20 * EPS
    )


def test_sinusoidal_torque() -> None:
    a = np.array([0.3, -1.2, 0.7])
    for t, r in zip(np.linspace(-10, 10, 20).tolist(), attitudes(), strict=True):
        expected = a * np.cos(2.1 * t + 0.4)
        assert torque(ph.SinusoidalTorque(tuple(a), 2.1, 0.4), t, r) == pytest.approx(expected, abs=4 * EPS)
    assert (torque(ph.SinusoidalTorque(tuple(a), 2.1), 0.0, Rotation.identity()) == a).all()


def test_vectors_are_kept_as_given() -> None:
    """Directions keep their length, so that a model is written to a file as it was read."""
    assert ph.GravityGradient(1, [0, 0, 5]).direction == (0.0, 0.0, 5.0)  # type: ignore[arg-type]
    assert ph.HeavyTop(1, down=np.array([0, 0, -9.81])).down == (0.0, 0.0, -9.81)  # type: ignore[arg-type]
    assert ph.PiecewiseTorque([[1, [1, 2, 3]]]).segments == ((1.0, (1.0, 2.0, 3.0)),)  # type: ignore[arg-type]
    assert repr(ph.LinearDamping(np.eye(3))) == (  # type: ignore[arg-type]
        "LinearDamping(coefficient=((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))"
    )


def test_almost_perpendicular_directions_are_made_perpendicular() -> None:
    model = ph.OrbitalGravityGradient(1.0, (0.0, 0.0, 1.0), (1.0, 0.0, 1e-7))
    np.testing.assert_allclose(model.parameters(TILTED)[7:], [1, 0, 0, 0, 1, 0], rtol=0, atol=EPS)


# --- what is refused -----------------------------------------------------------------------------------------------

REFUSED: list[tuple[str, Callable[[], Any], str]] = [
    ("weight", lambda: ph.HeavyTop(math.nan), "weight must be finite, not nan"),
    ("point", lambda: ph.HeavyTop(1.0, (0, math.inf, 0)), r"point\[1\] is inf"),
    ("down", lambda: ph.HeavyTop(1.0, down=(0, 0, 0)), "down must point somewhere"),
    ("strength", lambda: ph.GravityGradient(math.inf), "strength must be finite"),
    ("direction", lambda: ph.GravityGradient(1.0, (0, 0, 0)), "direction must point somewhere"),
    ("direction shape", lambda: ph.GravityGradient(1.0, (0, 1)), r"direction must have the shape \(3,\), not \(2,\)"),  # type: ignore[arg-type]
    ("distance", lambda: ph.GravityGradient.at_distance(1.0, 0.0), "r must be positive, not 0"),
    ("mu", lambda: ph.OrbitalGravityGradient.at_distance(-1.0, 1.0), "mu must be positive, not -1"),
    ("orbital rate", lambda: ph.OrbitalGravityGradient(0.0), "orbital_rate must be positive, not 0"),
    ("normal", lambda: ph.OrbitalGravityGradient(1.0, normal=(0, 0, 0)), "normal must point somewhere"),
    ("towards", lambda: ph.OrbitalGravityGradient(1.0, towards=(0, 0, 0)), "towards must point somewhere"),
    ("angle", lambda: ph.OrbitalGravityGradient(1.0, (0, 0, 1), (1, 0, 1)), "perpendicular .* is 45 degrees"),
    ("parallel", lambda: ph.OrbitalGravityGradient(1.0, (0, 0, 1), (0, 0, 2)), "perpendicular .* is 0 degrees"),
    ("sign", lambda: ph.CoulombSoftWall(sign="fysical"), "no sign 'fysical': did you mean 'physical'"),  # type: ignore[arg-type]
    ("body vector", lambda: ph.ConstantBodyTorque((1, 2, math.nan)), r"vector\[2\] is nan"),
    ("space vector", lambda: ph.ConstantSpaceTorque((1, 2, 3, 4)), r"vector must have the shape \(3,\)"),  # type: ignore[arg-type]
    ("frame", lambda: ph.PiecewiseTorque(((1, (1, 0, 0)),), frame="spatial"), "no frame 'spatial': did you mean"),  # type: ignore[arg-type]
    ("start", lambda: ph.PiecewiseTorque(((1, (1, 0, 0)),), start=math.nan), "start must be finite"),
    ("end", lambda: ph.PiecewiseTorque(((math.inf, (1, 0, 0)),)), r"the end of segments\[0\] must be finite"),
    ("unsorted", lambda: ph.PiecewiseTorque(((2, (1, 0, 0)), (1, (0, 0, 0)))), "must rise, but 2 is followed by 1"),
    ("repeated", lambda: ph.PiecewiseTorque(((2, (1, 0, 0)), (2, (0, 0, 0)))), "must rise, but 2 is followed by 2"),
    ("end before start", lambda: ph.PiecewiseTorque(((2, (1, 0, 0)),), start=3), "must rise, but 3 is followed by 2"),
    ("segment vector", lambda: ph.PiecewiseTorque(((2, (1, math.nan, 0)),)), r"segments\[0\]\[1\] is nan"),
    ("coefficient", lambda: ph.LinearDamping(math.nan), "coefficient must be finite"),
    ("coefficients", lambda: ph.LinearDamping((1, 2)), "one number, three numbers or a 3x3 matrix"),  # type: ignore[arg-type]
    ("ragged", lambda: ph.LinearDamping(((1, 2, 3), (1, 2), (1,))), "one number, three numbers or a 3x3 matrix"),  # type: ignore[arg-type]
    ("matrix", lambda: ph.LinearDamping(((1, 2, 3), (1, math.nan, 3), (1, 2, 3))), r"coefficient\[1, 1\] is nan"),
    ("amplitude", lambda: ph.SinusoidalTorque((math.nan, 0, 0), 1.0), r"amplitude\[0\] is nan"),
    ("frequency", lambda: ph.SinusoidalTorque((1, 0, 0), math.inf), "angular_frequency must be finite"),
    ("phase", lambda: ph.SinusoidalTorque((1, 0, 0), 1.0, math.nan), "phase must be finite"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), [pytest.param(m, text, id=name) for name, m, text in REFUSED])
def test_a_bad_value_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ph.HeavyTop("heavy"), "weight must be a number, not 'heavy'"),  # type: ignore[arg-type]
        (lambda: ph.ConstantBodyTorque("abc"), "vector must hold numbers"),  # type: ignore[arg-type]
        (lambda: ph.PiecewiseTorque(()), "segments must be a list of pairs"),
        (lambda: ph.PiecewiseTorque(3.0), "segments must be a list of pairs"),  # type: ignore[arg-type]
        (lambda: ph.PiecewiseTorque(((1.0,),)), r"segments\[0\] must be a pair"),  # type: ignore[arg-type]
        (lambda: ph.PiecewiseTorque((1.0, (1, 2, 3))), r"segments\[0\] must be a pair"),  # type: ignore[arg-type]
        (lambda: ph.LinearDamping("thick"), "coefficient must be a number"),  # type: ignore[arg-type]
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()
