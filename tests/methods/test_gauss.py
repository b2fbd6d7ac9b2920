"""Gauss collocation: what the contract cannot see, because G8 is too accurate at every step that it can make."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.compiler import program
from polhode.kernels.steps.compose import Increments
from polhode.kernels.steps.gauss_collocation import collocation, gauss
from polhode.methods import Keeps, Method, find
from polhode.run import binding
from polhode.run.integration import SimulationFailed
from tests.authorities.problems import PROBLEMS, RECIPES
from tests.contract._measure import EPS, compiled_run, observed_order
from tests.contract.test_keeps import FREE, check


def with_nodes(count: int, *, compensated: bool = False) -> Method:
    """The member of the family with so many nodes."""
    return replace(
        find("G8"), name=f"G{count}", scheme=gauss(count, compensated=compensated), order=2 * count,
        attitude_order=2 * count, options=(), remake=None,
    )  # fmt: skip


@pytest.mark.parametrize("count", [2, 4, 8])
def test_simplifying_assumptions(count: int) -> None:
    """B(2 s) and C(s): the quadrature is right to degree 2 s - 1, the stages to degree s - 1."""
    c = collocation(count)
    x, b, a = np.array(c.nodes), np.array(c.weights), np.array(c.inside)
    for k in range(1, 2 * count + 1):
        assert b @ x ** (k - 1) == pytest.approx(1 / k, rel=8 * EPS)
    for k in range(1, count + 1):
        assert a @ x ** (k - 1) == pytest.approx(x**k / k, abs=8 * EPS)


@pytest.mark.parametrize("count", [2, 4, 8])
def test_continuation_of_a_polynomial(count: int) -> None:
    """Exact for slopes that are polynomials of degree s - 1, from the end of one step to the nodes of the next."""
    c = collocation(count)
    x, ends = np.array(c.nodes), 1 + np.array(c.nodes)
    for k in range(count):
        wanted = (ends ** (k + 1) - 1) / (k + 1)
        assert np.array(c.ahead) @ x**k == pytest.approx(wanted, rel=1e-12, abs=1e-10)


@pytest.mark.parametrize("count", [2, 4, 8])
def test_quadratic_invariants_with_both_halves_of_the_numbers(count: int) -> None:
    """b_i a_ij + b_j a_ji = b_i b_j, far below what the rounded numbers alone can do."""
    c, nodes = collocation(count), range(count)
    b = [Fraction(x) + Fraction(low) for x, low in zip(c.weights, c.weights_low, strict=True)]
    a = [[Fraction(c.inside[i][j]) + Fraction(c.inside_low[i][j]) for j in nodes] for i in nodes]
    assert max(abs(b[i] * a[i][j] + b[j] * a[j][i] - b[i] * b[j]) for i in nodes for j in nodes) < 1e-32


def test_two_nodes_are_known() -> None:
    """Hammer and Hollingsworth's method."""
    root = math.sqrt(3) / 6
    known = [[0.25, 0.25 - root], [0.25 + root, 0.25]]
    assert np.array(collocation(2).inside) == pytest.approx(np.array(known), abs=2 * EPS)
    assert collocation(2).weights == (0.5, 0.5)


# --- the order, at long steps


LONG = 24.0
"""The generic problems go on for so long: the error of steps in which the body turns by a radian or two stands out."""


@pytest.mark.parametrize(("nodes", "finest"), [pytest.param(4, 400, marks=pytest.mark.evidence), (8, 40)])
@pytest.mark.parametrize("kind", ["swing", "stir"])
def test_order(nodes: int, kind: str, finest: int) -> None:
    problem = PROBLEMS[kind]
    truth = compiled_run(problem, find("G8(compensated=true)"), 240, LONG)

    def error(n: int) -> float:
        try:
            solution = compiled_run(problem, with_nodes(nodes), n, LONG)
        except SimulationFailed:
            return math.inf
        return float(np.abs(solution.momentum[-1] - truth.momentum[-1]).max())

    # The steps are too long to be asymptotic. Measured: 14.2 or more for 16.
    assert observed_order(error, finest, 1e-13) > 2 * nodes - 2


# --- what is kept


def test_two_nodes_keep_what_the_family_promises_and_no_more() -> None:
    for flag in FREE:
        check(flag, RECIPES["free"], with_nodes(2), 300)
    check(Keeps.SYMPLECTIC, RECIPES["weight"], with_nodes(2), 300)


@pytest.mark.parametrize(("weight", "bound"), [(0.01, 5e-15), (1.0, 5e-14)])
def test_energy_does_not_drift(weight: float, bound: float) -> None:
    """It is quadratic in quaternion and momentum, so that round-off alone can change it.

    Over 100,000 radians it does by 1.3e-15 and 1.5e-14; by 30 times as much, if the matrix is merely rounded.
    """
    i, w = np.array([1.0, 1.4, 2.1]), np.array([0.5, 0.6, 0.7]) / math.sqrt(1.1)
    level = np.array([1.0, 0.6, 0.8, 0.0]) * math.sqrt(0.5)
    twice_kinetic = float(i @ w**2)
    s = ph.simulate(
        ph.Body(i), ph.HeavyTop(weight * twice_kinetic), omega=w, attitude=level,
        t_span=(0, 1.2 * 83_333), step=1.2, method="G8(compensated=true)", every=1000,
    )  # fmt: skip
    a, b, c, d = s.quaternion.astype(np.longdouble).T
    height = (a * a - b * b - c * c + d * d) / (a * a + b * b + c * c + d * d)
    energy = 0.5 * (s.omega.astype(np.longdouble) ** 2 @ i) + weight * twice_kinetic * height
    assert np.abs(energy - energy[0]).max() < bound * twice_kinetic


# --- the iteration


def top(method: str, step: float, t_end: float = 20.0) -> ph.Solution:
    return ph.simulate(
        ph.Body([1.0, 1.75, 2.5]), ph.HeavyTop(1.5, point=(0.375, -0.25, 0.875)), omega=[0.9, -0.7, 1.1],
        t_span=(0, t_end), step=step, method=method, every=10_000,
    )  # fmt: skip


def test_steps_that_are_too_long_are_refused() -> None:
    with pytest.raises(SimulationFailed, match="shorter step"):
        top("G8", 5.0)


def test_the_tolerance_saves_iterations_and_costs_accuracy() -> None:
    full, loose = top("G8", 0.4), top("G8(tolerance=1e-8)", 0.4)
    apart = np.abs(full.quaternion[-1] - loose.quaternion[-1]).max()
    assert loose.nfev < 0.75 * full.nfev
    assert 1e-13 < apart < 50 * 1e-8  # as many steps


@pytest.mark.parametrize("tolerance", [-1e-9, 1.0])
def test_bad_tolerances(tolerance: float) -> None:
    with pytest.raises(ValueError, match="option tolerance of G8"):
        find("G8", tolerance=tolerance)


# --- nodes in lanes


@ph.torque(parameters=[0.3])
def bent(t, q, w, p):  # type: ignore[no-untyped-def]
    """A torque with a branch, which cannot be computed at several nodes at once."""
    if q[1] * q[2] > 0.0:
        return (p[0] * q[1] * q[2], 0.0, p[0] * math.sin(t))
    return (0.0, -p[0] * w[0], p[0] * math.sin(t))


WEIGHT = ph.HeavyTop(1.5, point=(0.375, -0.25, 0.875))
FOUR = with_nodes(4, compensated=True)


@pytest.mark.parametrize(
    ("torque", "method"),
    [
        # Neither the torque knows of the nodes nor they of it: the others are evidence.
        pytest.param(WEIGHT, find("G8"), id="in lanes-8"),
        pytest.param(bent, FOUR, id="apart-4, compensated", marks=pytest.mark.evidence),
        pytest.param(WEIGHT, FOUR, id="in lanes-4, compensated", marks=pytest.mark.evidence),
        pytest.param(bent, find("G8"), id="apart-8", marks=pytest.mark.evidence),
    ],
)
def test_nodes_in_lanes_have_the_bits_of_nodes_one_by_one(
    method: Method, torque: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(method: Method) -> ph.Solution:
        return ph.simulate(
            ph.Body([1.0, 1.75, 2.5]), torque, omega=[0.9, -0.7, 1.1], t_span=(0, 20), step=0.25, method=method, every=7
        )

    tried: list[bool] = []

    def watched(f: Any, *rest: Any, tentative: bool = False, **others: Any) -> Any:
        tried.append(tentative)
        return program(f, *rest, tentative=tentative, **others)

    monkeypatch.setattr(binding, "program", watched)
    lanes = run(method)
    assert tried == ([True] if torque is not bent else [True, True])
    assert isinstance(method.scheme, Increments)
    one_by_one = run(replace(method, scheme=method.scheme._replace(in_lanes=())))
    assert np.array_equal(lanes.quaternion, one_by_one.quaternion)
    assert np.array_equal(lanes.momentum, one_by_one.momentum)
    assert lanes.nfev == one_by_one.nfev
