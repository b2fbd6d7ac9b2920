"""The Jacobian of free motions, against differences of proven states, the chain rule and what it must be."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import polhode as ph

flint = pytest.importorskip("flint")

from tests.authorities.free_jacobian import natural, true_jacobian  # noqa: E402
from tests.authorities.free_regimes import REGIMES  # noqa: E402

TILTED = ph.Body([[2.0, 0.1, 0.2], [0.1, 3.0, -0.1], [0.2, -0.1, 2.5]])
OMEGA = np.array([0.4, -0.2, 0.9])
LARGEST_ERROR = 1e-13
"""Of an element, over the largest of all."""


def error_of(inertia: Any, omega: Any, t: float) -> float:
    tensor = np.diag(inertia)
    found = ph.FreeMotion(ph.Body(inertia, allow_unphysical=True), omega).jacobian(t, by=("omega", "inertia"))
    assert not np.isnan(found).any()
    true = natural(true_jacobian(tensor, omega, t), tensor, omega)
    if not np.isfinite(true).all():
        assert np.isinf(found).any()
        return 0.0
    return float(np.abs(natural(found, tensor, omega) - true).max() / max(1.0, np.abs(true).max()))


@pytest.mark.parametrize(
    "regime",
    ["near_separatrix", "on_separatrix", "near_axis", "on_axis", "oblate", "equator", "sphere", "needle", "rest"],
)
def test_every_kind_of_motion(regime: str) -> None:
    case = REGIMES[regime](np.random.default_rng(3))
    assert error_of(case.inertia, case.omega, case.t) < LARGEST_ERROR


@pytest.mark.evidence
@pytest.mark.parametrize("regime", REGIMES)
def test_many_of_every_kind(regime: str) -> None:
    draw = np.random.default_rng([12, len(regime)])
    for _ in range(10):
        case = REGIMES[regime](draw)
        fastest = max(map(abs, case.omega)) or 1.0
        for t in (case.t, 1e9 / fastest):
            if abs(t) * fastest < 1e17:
                assert error_of(case.inertia, case.omega, t) < LARGEST_ERROR, (case, t)


@pytest.mark.evidence
def test_where_two_things_are_small_at_once() -> None:
    """Slow pendulums, near spheres at the separatrix, and nearly symmetric bodies near their axis."""
    draw = np.random.default_rng(20)
    for _ in range(12):
        d, w = 10.0 ** draw.uniform(-13, -2), draw.uniform(0.2, 1.0, 3)
        slow = np.array([draw.uniform(0.3, 0.9), 1.0, 1.0 + d])
        assert error_of(slow, [w[0] * np.sqrt(d), w[1], w[2]], 10.0 ** draw.uniform(-1, 2) / np.sqrt(d)) < LARGEST_ERROR
        round_ = np.sort(1.0 + d * draw.uniform(-1, 1, 3))
        ratio = np.sqrt(round_[0] * (round_[1] - round_[0]) / (round_[2] * (round_[2] - round_[1])))
        assert error_of(round_, [w[0], w[1], w[0] * ratio * (1 + d)], 10.0 ** draw.uniform(-1, 3) / d) < LARGEST_ERROR
        symmetric = np.array([1.0, 1.0 + d, draw.uniform(0.2, 1.9)])
        assert error_of(symmetric, [d, 10.0 ** draw.uniform(-12, -1), 1.0], 10.0 ** draw.uniform(-2, 9)) < LARGEST_ERROR


def test_every_argument_of_a_tilted_body_by_differences() -> None:
    start = Rotation.from_rotvec([0.1, 0.2, 0.3])
    motion = ph.FreeMotion(TILTED, OMEGA, attitude=start, t0=2.0)
    found = motion.jacobian(50.0, by=("attitude", "omega", "inertia", "momentum", "t", "moments"))
    h = 1e-6

    def slope(at: Any) -> Any:
        after, before = at(h), at(-h)
        turn = (after.attitude * before.attitude.inv()).as_rotvec()
        return np.r_[turn, after.omega - before.omega] / (2 * h)

    def moved(body: ph.Body = TILTED, omega: Any = OMEGA, turn: Any = (0, 0, 0), later: float = 0.0) -> Any:
        return ph.FreeMotion(body, omega, attitude=Rotation.from_rotvec(turn) * start, t0=2.0).at(50.0 + later)

    unit, axes = np.eye(3), TILTED.axes
    pairs = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]
    elements = [np.outer(unit[i], unit[j]) + (i != j) * np.outer(unit[j], unit[i]) for i, j in pairs]
    principal = [np.outer(axes[:, k], axes[:, k]) for k in range(3)]
    columns = [
        *(slope(lambda e, k=k: moved(turn=e * unit[k])) for k in range(3)),
        *(slope(lambda e, k=k: moved(omega=OMEGA + e * unit[k])) for k in range(3)),
        *(slope(lambda e, E=E: moved(body=ph.Body(TILTED.tensor + e * E))) for E in elements),
        *(slope(lambda e, k=k: moved(omega=OMEGA + np.linalg.solve(TILTED.tensor, e * unit[k]))) for k in range(3)),
        slope(lambda e: moved(later=e)),
        *(slope(lambda e, E=E: moved(body=ph.Body(TILTED.tensor + e * E))) for E in principal),
    ]
    np.testing.assert_allclose(found, np.transpose(columns), atol=1e-7)


def test_body_axes() -> None:
    motion = ph.FreeMotion(TILTED, OMEGA, attitude=Rotation.from_rotvec([1.0, 0.2, 0.3]))
    space, body = (motion.jacobian(7.0, by=("omega", "attitude", "t"), axes=axes) for axes in ("space", "body"))
    before, after = motion.at(0.0).attitude.as_matrix(), motion.at(7.0).attitude.as_matrix()
    np.testing.assert_allclose(after @ body[:3, :3], space[:3, :3], atol=1e-13)
    np.testing.assert_allclose(body[:3, 3:6], after.T @ before, atol=1e-15)
    np.testing.assert_allclose(body[:3, 6], motion.at(7.0).omega, atol=1e-15)
    np.testing.assert_array_equal(body[3:], space[3:])


def test_the_chain_rule() -> None:
    """From 0 to 40 is from 0 to 13 and from there to 40, also backwards."""
    whole = ph.FreeMotion(TILTED, OMEGA)
    for first in (13.0, 100.0):
        middle = whole.at(first)
        rest = ph.FreeMotion(TILTED, middle.omega, attitude=middle.attitude, t0=first)
        by = ("attitude", "omega")
        np.testing.assert_allclose(
            rest.jacobian(40.0, by) @ whole.jacobian(first, by), whole.jacobian(40.0, by), atol=1e-11
        )


def test_stacks_of_motions_and_times() -> None:
    bodies = [TILTED, ph.Body([1, 2, 2.5])]
    both, times = ph.FreeMotion(bodies, OMEGA), np.linspace(-3.0, 90.0, 6).reshape(2, 3)
    found = both.jacobian(times, "inertia")
    assert found.shape == (2, 2, 3, 6, 6)
    for k, body in enumerate(bodies):
        np.testing.assert_array_equal(found[k], ph.FreeMotion(body, OMEGA).jacobian(times, "inertia"))


def test_plain_python_and_compiled_code_agree() -> None:
    motion = ph.FreeMotion(ph.Body([1, 2, 2.8]), [0.005, 5, 0])
    times = np.linspace(0.01, 40.0, 30)
    many = motion.jacobian(times, ("omega", "inertia"))
    one = np.stack([motion.jacobian(t, ("omega", "inertia")) for t in times])
    np.testing.assert_allclose(one, many, rtol=1e-11, atol=1e-11 * np.abs(many).max())


def test_at_the_start_it_is_the_identity() -> None:
    found = ph.FreeMotion(TILTED, OMEGA, t0=4.0).jacobian(4.0, by=("attitude", "omega", "inertia"))
    np.testing.assert_allclose(found[:, :6], np.eye(6), atol=1e-15)
    np.testing.assert_allclose(found[:, 6:], 0.0, atol=1e-15)


@pytest.mark.parametrize(
    ("by", "axes", "words"),
    [
        ("rates", "space", "known are attitude, inertia, moments"),
        ((), "space", "what to differentiate by"),
        (("omega", "omega"), "space", "once"),
        ("omega", "inertial", "space"),
    ],
)
def test_bad_input(by: Any, axes: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ph.FreeMotion(TILTED, OMEGA).jacobian(1.0, by=by, axes=axes)


def test_bodies_with_a_rotor_say_that_they_have_none() -> None:
    gyrostat = ph.FreeMotion(ph.Body([1, 2, 2.5], rotor=[0, 0, 1.0]), OMEGA)
    with pytest.raises(ValueError, match="rotor"):
        gyrostat.jacobian(1.0)


# --- uncertainty ---------------------------------------------------------------------------------------------------

BODY, START = ph.Body([1.0, 1.4, 2.1]), np.array([0.6, 0.7, 0.4])
BY = ("omega", "moments")
P0 = np.diag(np.array([1e-4, 1e-4, 1e-4, 1e-3, 1.4e-3, 2.1e-3]) ** 2)


def test_covariance_is_that_of_drawn_motions() -> None:
    """Of 1,000 motions: the standard deviation of an angle drawn from so many is good to 3 %."""
    drawn = np.random.default_rng(1).multivariate_normal(np.zeros(6), P0, 1000)
    many = ph.FreeMotion([ph.Body(BODY.moments + d[3:]) for d in drawn], START + drawn[:, :3])
    motion = ph.FreeMotion(BODY, START)
    found = motion.covariance(P0, [10.0, 100.0], by=BY)
    assert (found.bend < 0.05).all()
    for k, t in enumerate((10.0, 100.0)):
        errors = (many.at(t).attitude * motion.at(t).attitude.inv()).as_rotvec()
        assert found.angle[k] == pytest.approx(np.sqrt((errors**2).sum(axis=1).mean()), rel=0.1)


def test_covariance_warns_and_refuses() -> None:
    motion = ph.FreeMotion(BODY, START)
    with pytest.warns(UserWarning, match="bends"):
        bent = motion.covariance(P0, 300.0, by=BY)
    assert 0.1 <= bent.bend < 0.5
    with pytest.raises(ValueError, match="draw motions instead"):
        motion.covariance(P0, 5000.0, by=BY)


def test_known_until_is_where_the_angle_is_reached() -> None:
    motion = ph.FreeMotion(BODY, START, t0=5.0)
    until = motion.known_until(P0, angle_deg=3.0, by=BY)
    assert np.degrees(motion.covariance(P0, until, by=BY).angle) == pytest.approx(3.0, rel=1e-6)
    assert motion.known_until(np.zeros((3, 3)), by="omega") == np.inf
    assert motion.known_until(np.eye(3), by="attitude") == 5.0


@pytest.mark.parametrize(
    ("P", "words"),
    [
        ([[1, 2, 0], [0, 1, 0], [0, 0, 1]], r"P0\[0, 1\] = 2"),
        ([[1, 2, 0], [2, 1, 0], [0, 0, 1]], "eigenvalue -1"),
        (np.eye(2), "shape"),
    ],
)
def test_bad_covariances(P: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ph.FreeMotion(BODY, START).covariance(P, 1.0, by="omega")


def test_long_arrays() -> None:
    """Times are computed in blocks, short ones among them: each as if it were alone."""
    times = np.r_[np.linspace(-0.5, 0.5, 41), np.linspace(1.0, 300.0, 120), 1e9]
    by = ("inertia", "attitude", "omega")
    for moments, omega in (
        ([1.0, 1.4, 2.1], [0.3, 0.2, 0.9]), ([1.0, 1.4, 2.1], [1e-5, 1.0, 2e-5]), ([1.0, 1.4, 2.1], [0.0, 0.0, 1.0]),
        ([1.0, 1.4, 2.1], [0.0, 0.05, 0.0]), ([1.0, 1.0, 2.0], [0.3, 0.1, 1.0]), ([1.0, 1.0, 1.0], OMEGA),
    ):  # fmt: skip
        motion = ph.FreeMotion(ph.Body(moments), omega)
        one_by_one = np.array([motion.jacobian(t, by) for t in times])
        np.testing.assert_array_equal(motion.jacobian(times, by), one_by_one)
