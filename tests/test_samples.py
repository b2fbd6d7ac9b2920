"""Draws: the right distribution, and the same body for the same seed and number whatever else there is."""

from typing import Any, cast

import numpy as np
import pytest
from scipy import stats

import polhode as ph
from polhode import samples
from polhode.kernels.algebra.quat import multiply
from polhode.kernels.types import Quat, Vec3
from polhode.samples import BLOCK, Draws
from tests.contract._measure import interpreted

BODY = ph.Body([1.0, 2.0, 2.7])
GRID: dict[str, Any] = {"t_span": (0.0, 0.1), "step": 0.1, "method": "MR2"}
MANY = 40 * BLOCK
ENOUGH = 1e-4
"""The seeds are fixed: a right distribution falls below this once in ten thousand choices of them."""


def drawn(source: Any, n: int = MANY, name: str = "omega") -> Any:
    return Draws(name, source, 1, lambda _, rows: np.asarray(rows)).rows(0, n)


# --- what is drawn


def test_normal() -> None:
    x = drawn(samples.Normal([1.0, 2.0, 3.0], [0.1, 0.0, 2.0]))
    assert stats.kstest((x[:, 0] - 1.0) / 0.1, "norm").pvalue > ENOUGH
    assert stats.kstest((x[:, 2] - 3.0) / 2.0, "norm").pvalue > ENOUGH
    assert (x[:, 1] == 2.0).all()
    matrix = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 0.2]])
    x = drawn(samples.Normal([0.0, 0.0, 0.0], covariance=matrix))
    whitened = np.linalg.solve(np.linalg.cholesky(matrix), x.T)
    for component in whitened:
        assert stats.kstest(component, "norm").pvalue > ENOUGH
    assert np.abs(np.corrcoef(whitened) - np.eye(3)).max() < 4 / np.sqrt(MANY)


def test_uniform() -> None:
    x = drawn(samples.Uniform([0.0, -1.0, 5.0], [1.0, 1.0, 5.0]))
    assert stats.kstest(x[:, 0], "uniform").pvalue > ENOUGH
    assert stats.kstest((x[:, 1] + 1.0) / 2.0, "uniform").pvalue > ENOUGH
    assert (x[:, 2] == 5.0).all()


def test_isotropic() -> None:
    x = drawn(samples.Isotropic((2.0, 3.0)))
    length = np.linalg.norm(x, axis=1)
    assert stats.kstest(length - 2.0, "uniform").pvalue > ENOUGH
    for component in (x / length[:, None]).T:  # each is uniform on a sphere
        assert stats.kstest((component + 1.0) / 2.0, "uniform").pvalue > ENOUGH
    assert np.abs(np.linalg.norm(drawn(samples.Isotropic(4.0), 100), axis=1) - 4.0).max() < 1e-14


def test_attitudes() -> None:
    q = drawn(samples.Attitude())
    assert np.abs(np.linalg.norm(q, axis=1) - 1.0).max() < 1e-15
    angle = 2.0 * np.arccos(np.minimum(1.0, np.abs(q[:, 0])))
    # Of all rotations, those by an angle a have the density (1 - cos a) / pi.
    assert stats.kstest(angle, lambda a: (a - np.sin(a)) / np.pi).pvalue > ENOUGH
    around = np.array([0.8, 0.0, 0.6, 0.0])
    near = drawn(samples.Attitude(around, [1e-3, 0.0, 2e-3]))
    turned: Any = multiply((0.8, 0.0, -0.6, 0.0), tuple(near.T))
    assert stats.kstest(2.0 * turned[1] / 1e-3, "norm").pvalue > ENOUGH
    assert stats.kstest(2.0 * turned[3] / 2e-3, "norm").pvalue > ENOUGH
    assert np.abs(turned[2]).max() < 1e-15


# --- who draws what


def test_a_body_draws_the_same_in_any_company() -> None:
    omega, attitude = samples.Normal([0.0, 0.0, 1.0], 0.2), samples.Attitude()
    with interpreted():
        few = ph.ensemble(BODY, omega=omega, attitude=attitude, count=5, seed=3, **GRID)
        more = ph.ensemble(BODY, omega=omega, attitude=attitude, count=12, seed=3, **GRID)
        alone = ph.ensemble(BODY, omega=omega, count=5, seed=3, **GRID)
        others = ph.ensemble(BODY, omega=omega, count=5, seed=4, **GRID)
    assert few.seed == 3
    assert np.array_equal(few.quaternion, more.quaternion[:5])
    assert np.array_equal(few.omega[:, 0], alone.omega[:, 0])  # whatever else is drawn
    assert not np.isclose(few.omega[:, 0], others.omega[:, 0]).any()
    assert len(np.unique(more.omega[:, 0, 0])) == 12


def test_parts_are_parts_of_the_whole() -> None:
    source = samples.Normal([0.0], 1.0)
    whole = drawn(source, 3 * BLOCK)
    rows = Draws("omega", source, 1, lambda _, rows: np.asarray(rows)).rows
    for first, beyond in ((0, 10), (BLOCK - 1, BLOCK + 1), (700, 2 * BLOCK + 5), (3 * BLOCK - 1, 3 * BLOCK)):
        assert np.array_equal(rows(first, beyond), whole[first:beyond])
    assert not np.isclose(drawn(source, 100), drawn(source, 100, "attitude")).any()


def test_functions_bodies_and_parameters() -> None:
    def moments(rng: np.random.Generator, n: int) -> Any:
        """Returns the moments of balls with three pairs of small masses on their axes: every such body is possible."""
        x, y, z = rng.uniform(0.0, 0.3, size=(3, n))
        return np.stack([1.0 + y + z, 1.0 + x + z, 1.0 + x + y], axis=1)

    @ph.torque(parameters=[0.0])
    def drag(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
        return (-p[0] * w[0], -p[0] * w[1], -p[0] * w[2])

    given: dict[str, Any] = {"omega": [0.0, 0.0, 1.0], "t_span": (0.0, 1.0), "step": 0.1, "method": "RK4"}
    with interpreted():
        many = ph.ensemble(moments, drag, parameters=samples.Uniform([0.1], [0.5]), count=9, seed=2, **given)
        one = ph.simulate(many[4].body, many[4].torque, **given)
        rows = ph.ensemble(BODY, drag, parameters=[[0.1], [0.2]], **given)
    assert len({b.body for b in many}) == 9
    assert np.array_equal(one.last_momentum, many.last_momentum[4])
    assert (many.start.parameters > 0.1).all()
    assert rows.omega[0, -1, 2] == pytest.approx(np.exp(-0.1 / 2.7), rel=1e-9)
    assert rows.omega[1, -1, 2] == pytest.approx(np.exp(-0.2 / 2.7), rel=1e-9)


# --- bad input


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": None}, "omega is drawn: give seed="),
        ({"count": None}, "omega can be drawn for any number of bodies: give count="),
        ({"seed": -1}, "seed must be a whole number from 0 on, not -1"),
        ({"seed": 1.5}, "not 1.5"),
        ({"count": 0}, "count must be a positive whole number of bodies, not 0"),
        ({"omega": samples.Isotropic}, "omega must not be a class: write Isotropic(...)"),
        ({"omega": [0.0, 0.0, 1.0]}, "seed is given, but nothing is drawn"),
        ({"attitude": np.eye(4)}, "attitude for 4, count for 3"),
        ({"attitude": np.eye(4), "count": 1}, "count is 1, but there are rows for 4 bodies"),
        ({"omega": samples.Normal([0.0], 1.0)}, "omega must have the shape (3,) or (bodies, 3), not (1024, 1)"),
        ({"omega": lambda rng, n: rng.normal(size=(7, 3))}, "must return n rows, but for n = 1024 there are 7"),
        ({"body": samples.Uniform([1.0, 1.0, 1.9], [1.0, 1.0, 2.5])}, "no body has the moments [1.0, 1.0, 2."),
        ({"body": samples.Normal([0.1, 1.0, 1.0], 0.1)}, "positive principal moments"),
        ({"parameters": [1.0]}, "parameters are for a torque of your own, whose p they are, not for Free"),
    ],
)
def test_bad_input(change: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"omega": samples.Normal([0.0, 0.0, 1.0], 0.2), "count": 3, "seed": 3, **GRID, **change}
    with pytest.raises((TypeError, ValueError)) as caught:
        ph.ensemble(given.pop("body", BODY), **given)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: samples.Normal([0.0, 1.0]), "give sd"),
        (lambda: samples.Normal([0.0, 1.0], -1.0), "sd must not be negative"),
        (lambda: samples.Normal([0.0, 1.0], [1.0, 2.0, 3.0]), "sd must be one number or 2 of them, not 3"),
        (lambda: samples.Normal([0.0, 1.0], covariance=[[1.0, 2.0], [2.0, 1.0]]), "without negative eigenvalues"),
        (lambda: samples.Uniform(1.0, [2.0, 0.5]), "low must not lie above high"),
        (lambda: samples.Isotropic(-1.0), "length must be a number from 0 on"),
        (lambda: samples.Attitude([1.0, 0.0, 0.0, 0.0]), "give sd"),
        (lambda: samples.Attitude(sd=np.nan), "sd must be finite"),
    ],
)
def test_distributions_that_make_no_sense(make: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        make()
    assert words in str(caught.value)


# --- tensors


def test_tensors_have_the_deviations_asked_for() -> None:
    body = ph.Body([[2.0, 0.2, 0.0], [0.2, 2.4, -0.1], [0.0, -0.1, 3.0]])
    x = drawn(samples.Inertia(body, moments=[0.01, 0.02, 0.03]), 20 * BLOCK, "body")
    own = np.einsum("ik,nij,jk->nk", body.axes, x, body.axes)
    for k, sd in enumerate((0.01, 0.02, 0.03)):
        assert stats.kstest((own[:, k] / body.moments[k] - 1.0) / sd, "norm").pvalue > ENOUGH
    x = drawn(samples.Inertia(body, moments=0.0, axes=1e-4), 20 * BLOCK, "body")
    seen = np.einsum("ik,nij,jl->nkl", body.axes, x, body.axes)
    gaps = body.moments - body.moments[:, None]
    for i, j in ((0, 1), (0, 2), (1, 2)):  # to first order an axis turns by the product of inertia over the gap
        assert stats.kstest(seen[:, i, j] / gaps[i, j] / 1e-4, "norm").pvalue > ENOUGH
    root = 1e-3 * np.random.default_rng(3).normal(size=(6, 6))
    x = drawn(samples.Inertia(body, covariance=root @ root.T), 20 * BLOCK, "body")
    elements = x[:, [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    np.testing.assert_allclose(np.cov(elements.T), root @ root.T, atol=3e-2 * np.abs(root @ root.T).max())
    assert np.array_equal(x, x.transpose(0, 2, 1))


def test_no_tensor_is_impossible() -> None:
    plate = ph.Body([1.0, 2.0, 3.0])
    x = drawn(samples.Inertia(plate, moments=0.2, axes=0.1), 4 * BLOCK, "body")
    moments = np.linalg.eigvalsh(x)
    assert (moments[:, 0] > 0.0).all()
    assert (2.0 * moments[:, 2] <= moments.sum(axis=1) * (1.0 + 1e-15)).all()
    # What is left of a normal distribution on one side of a plane through its middle has the mean sqrt(2 / pi) sd.
    gap = moments[:, :2].sum(axis=1) - moments[:, 2]
    near = drawn(samples.Inertia(plate, moments=1e-3), 20 * BLOCK, "body")
    own = np.diagonal(near, axis1=1, axis2=2)
    assert stats.kstest((own @ [1, 1, -1]) / (1e-3 * np.sqrt(14.0)), "halfnorm").pvalue > ENOUGH
    assert gap.min() >= -1e-15
    with pytest.raises(ValueError, match="hardly any belongs to a body"):
        drawn(samples.Inertia(ph.Body([1.0, 2.0, 9.0], allow_unphysical=True), moments=1e-3), 1, "body")


def test_an_ensemble_of_drawn_tensors() -> None:
    near = samples.Inertia(BODY, moments=0.05, axes=0.1)
    given: dict[str, Any] = {"omega": [0.1, 2.0, 0.0], "t_span": (0.0, 0.2), "step": 0.1, "method": "MR2"}
    with interpreted():
        many = ph.ensemble(near, count=6, seed=5, **given)
        one = ph.simulate(many[4].body, **given)
        rows = ph.ensemble(np.array([b.tensor for b in (many[3].body, many[4].body)]), **given)
    assert len({b.body for b in many}) == 6
    np.testing.assert_allclose(many.last_momentum[4], one.last_momentum, rtol=1e-13)
    np.testing.assert_allclose(rows.last_momentum, many.last_momentum[3:5], rtol=1e-13)
    with pytest.raises(ValueError, match="row 1 of body: no body has the moments 1, 2, 9"):
        ph.ensemble(np.array([np.diag([1.0, 2.0, 2.5]), np.diag([1.0, 2.0, 9.0])]), **given)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: samples.Inertia(cast("Any", [1, 2, 2.5]), moments=0.1), "body must be a polhode.Body"),
        (lambda: samples.Inertia(BODY), "give moments, relative standard deviations, or the covariance"),
        (lambda: samples.Inertia(BODY, moments=-0.1), "moments are standard deviations and must not be negative"),
        (lambda: samples.Inertia(BODY, moments=0.1, axes=[1, 2]), "axes must be one number or 3 of them, not 2"),
        (lambda: samples.Inertia(BODY, covariance=np.eye(3)), "covariance must have the shape (6, 6)"),
    ],
)
def test_bad_tensors(make: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        make()
    assert words in str(caught.value)
