"""Runge-Kutta methods in the space of quaternion and momentum: coefficients, and the pair of order 8."""

import math
from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations_with_replacement

import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.integrate._ivp import dop853_coefficients as hairer

from polhode.kernels.embedded import TSITOURAS_PAPAKOSTAS_86, VERNER_98, Pair, attempt_of
from polhode.kernels.states import Slope
from polhode.kernels.steps.compose import of_any_norm
from polhode.kernels.steps.despun import view_of
from polhode.kernels.steps.dop853 import EVALUATIONS, Attempt, error_norm, pair
from polhode.kernels.steps.flows import principal_torque
from polhode.kernels.steps.tableaux import (
    CLASSICAL,
    DORMAND_PRINCE,
    DORMAND_PRINCE_ERROR5,
    DORMAND_PRINCE_THIRD,
    FEHLBERG,
    TSITOURAS_PAPAKOSTAS,
    TSITOURAS_PAPAKOSTAS_SIXTH,
    VERNER,
    VERNER_EIGHTH,
    Row,
    Tableau,
)
from polhode.kernels.types import Inertia, Params, State, Vec3
from polhode.methods import find
from tests.authorities import Floats
from tests.authorities.problems import PROBLEMS
from tests.contract._measure import EPS, OneStep, matrices, run, states

# --- order conditions: one for each rooted tree, a tree being the tuple of its branches

Tree = tuple["Tree", ...]


@cache
def trees(vertices: int) -> tuple[Tree, ...]:
    """Returns all rooted trees with this number of vertices."""
    if vertices == 1:
        return ((),)
    return tuple(sorted({tuple(sorted(branches)) for branches in forests(vertices - 1, vertices - 1)}, key=repr))


def forests(vertices: int, largest: int) -> Iterator[tuple[Tree, ...]]:
    """Returns all forests with this number of vertices, of trees of at most the given size."""
    if vertices == 0:
        yield ()
    for size in range(1, min(largest, vertices) + 1):
        for count in range(1, vertices // size + 1):
            for rest in forests(vertices - count * size, size - 1):
                for chosen in combinations_with_replacement(trees(size), count):
                    yield (*chosen, *rest)


def order_of(tree: Tree) -> int:
    return 1 + sum(map(order_of, tree))


def density(tree: Tree) -> int:
    return order_of(tree) * math.prod(map(density, tree))


def matrix(tableau: Tableau) -> tuple[Floats, Floats]:
    n = len(tableau.stages)
    A = np.zeros((n, n))
    for i, row in enumerate(tableau.stages):
        A[i, : len(row)] = [float(a) for a in row]
    return A, np.array([float(b) for b in tableau.step])


def mismatch(tableau: Tableau, order: int, weights: Row | None = None) -> float:
    """The largest violation of a condition of this order."""
    A, b = matrix(tableau)
    if weights is not None:
        b = np.array([float(w) for w in weights])

    def stages(tree: Tree) -> Floats:
        out = np.ones(len(b))
        for branch in tree:
            out = out * (A @ stages(branch))
        return out

    return max(abs(float(b @ stages(tree)) - 1 / density(tree)) for tree in trees(order))


def test_trees_are_all_there() -> None:
    assert [len(trees(n)) for n in range(1, 10)] == [1, 1, 2, 4, 9, 20, 48, 115, 286]


@pytest.mark.parametrize(
    ("tableau", "order"),
    [
        pytest.param(CLASSICAL, 4, id="RK4"),
        pytest.param(FEHLBERG, 5, id="RKF5"),
        pytest.param(DORMAND_PRINCE, 8, id="DOP853"),
        pytest.param(TSITOURAS_PAPAKOSTAS, 8, id="TsitPap86"),
        pytest.param(VERNER, 9, id="Verner98"),
    ],
)
def test_order_conditions(tableau: Tableau, order: int) -> None:
    """They hold up to the order and no further. Sums of entries up to 43 round by that much."""
    largest = max(abs(float(a)) for row in (*tableau.stages, tableau.step) for a in row)
    for n in range(1, order + 1):
        assert mismatch(tableau, n) < 4 * EPS * largest
    assert mismatch(tableau, order + 1) > 1e-7


def test_embedded_orders() -> None:
    """The weights that the error estimates compare with have the orders 5 and 3, 6, and 8."""
    fifth = tuple(b - e for b, e in zip(DORMAND_PRINCE.step, DORMAND_PRINCE_ERROR5, strict=True))
    for tableau, weights, order in (
        (DORMAND_PRINCE, fifth, 5),
        (DORMAND_PRINCE, DORMAND_PRINCE_THIRD, 3),
        (TSITOURAS_PAPAKOSTAS, TSITOURAS_PAPAKOSTAS_SIXTH, 6),
        (VERNER, VERNER_EIGHTH, 8),
    ):
        for n in range(1, order + 1):
            assert mismatch(tableau, n, weights) < 64 * EPS
        assert mismatch(tableau, order + 1, weights) > 1e-5


@pytest.mark.parametrize("tableau", [TSITOURAS_PAPAKOSTAS, VERNER], ids=["TsitPap86", "Verner98"])
def test_weights_integrate_powers(tableau: Tableau) -> None:
    """By mpmath, from the numbers as they are printed: the quadrature conditions, and rows that sum up to times."""
    with mpmath.workdps(40):
        times = [mpmath.fsum(mpmath.mpf(a) if isinstance(a, float) else mpmath.fraction(a.numerator, a.denominator)
                             for a in row) for row in tableau.stages]  # fmt: skip
        assert times[0] == 0
        assert abs(times[len(times) - 1] - 1) < 1e-15
        for k in range(8):
            terms = (float(b) * c**k for b, c in zip(tableau.step, times, strict=True))
            assert abs(mpmath.fsum(terms) - mpmath.mpf(1) / (k + 1)) < 2e-15


@pytest.mark.parametrize(("pair", "order"), [(TSITOURAS_PAPAKOSTAS_86, 8), (VERNER_98, 9)])
def test_embedded_pairs_have_their_orders(pair: Pair, order: int) -> None:
    """At fixed steps against shorter ones; the squared error that they state falls by the lower order and one."""
    problem, span = PROBLEMS["free"], 8.0
    given = OneStep(problem, find("RK4"))
    pull = principal_torque(problem.torque.torque_kernel, tilted=False, windowed=False)
    attempt = attempt_of(pair, view_of(pull, despun=False))
    room = [0.0] * 7 * len(pair.tableau.stages)

    def last(s: State, steps: int) -> Floats:
        for i in range(steps):
            s, _, _ = attempt(given.body, given.p, i * span / steps, s, span / steps, 1.0, 0.0, room)
        return np.array([*matrices(np.array([s.q])).ravel(), *s.m])

    grids, begins = [24, 32, 40, 48], list(states(6))
    true = [last(s, 200) for s in begins]
    off = [np.linalg.norm([last(s, n) - r for s, r in zip(begins, true, strict=True)]) for n in grids]
    assert np.polyfit(np.log(grids), np.log(off), 1)[0] == pytest.approx(-order, abs=0.3)
    for s in begins[:3]:
        error = [attempt(given.body, given.p, 0.0, s, h, 1.0, 0.0, room)[1] for h in (0.3, 0.15)]
        assert math.log2(error[0] / error[1]) / 2 == pytest.approx(pair.order + 1, abs=0.6)


def test_dormand_prince_is_hairers() -> None:
    """To the bit, as SciPy has the numbers."""
    A, b = matrix(DORMAND_PRINCE)
    assert np.array_equal(A, hairer.A[:12, :12])
    assert np.array_equal(b, hairer.B)
    np.testing.assert_allclose(A.sum(axis=1), hairer.C[:12], rtol=0, atol=64 * EPS)
    assert [float(e) for e in DORMAND_PRINCE_ERROR5] == hairer.E5[:12].tolist()
    third = b - np.array([float(w) for w in DORMAND_PRINCE_THIRD])
    assert np.array_equal(third, hairer.E3[:12])


# --- the pair of order 8


def bound(name: str) -> tuple[OneStep, Slope, Attempt]:
    """A generic problem in plain Python."""
    problem = PROBLEMS[name]
    given = OneStep(problem, find("RK4"))
    pull = principal_torque(problem.torque.torque_kernel, tilted=not problem.body.aligned, windowed=False)
    return given, *pair(pull)


@pytest.mark.parametrize("name", ["free", "weight", "stir"])
def test_pair_has_order_eight(name: str) -> None:
    """At fixed steps, against steps a quarter as long: the root of the mean square of the errors of some runs.

    One run alone shows slopes from 7.5 to 8.8: steps short enough to show no other terms have errors of round-off.
    """
    given, slope, attempt = bound(name)

    def last(s: State, steps: int) -> Floats:
        h = 8.0 / steps
        for i in range(steps):
            s, _ = attempt(given.body, given.p, i * h, s, h, slope(given.body, given.p, i * h, s), 1e-9, 0.0, ())
        return np.array([*matrices(np.array([s.q])).ravel(), *s.m])

    grids, begins = [48, 56, 64, 72, 80], list(states(6))
    true = [last(s, 320) for s in begins]
    off = [
        math.hypot(*(float(np.linalg.norm(last(s, n) - r)) for s, r in zip(begins, true, strict=True))) for n in grids
    ]
    assert np.polyfit(np.log(grids), np.log(off), 1)[0] == pytest.approx(-8, abs=0.3)


def test_error_is_of_order_eight_and_counts_tolerances() -> None:
    """The estimate falls like h^8, is inverse to the tolerances, and bounds the error of the step."""
    given, slope, attempt = bound("weight")
    for s in states(3):
        k = slope(given.body, given.p, 0.0, s)

        def estimate(h: float, rtol: float = 1e-6, s: State = s, k: State = k) -> float:
            return attempt(given.body, given.p, 0.0, s, h, k, rtol, 0.0, ())[1]

        assert math.log2(estimate(0.02) / estimate(0.01)) == pytest.approx(8, abs=0.2)
        assert estimate(0.1, 1e-9) == pytest.approx(1000 * estimate(0.1, 1e-6))
        once, _ = attempt(given.body, given.p, 0.0, s, 0.2, k, 1e-9, 0.0, ())
        half, _ = attempt(given.body, given.p, 0.0, s, 0.1, k, 1e-9, 0.0, ())
        twice, _ = attempt(given.body, given.p, 0.1, half, 0.1, slope(given.body, given.p, 0.1, half), 1e-9, 0.0, ())
        off = np.linalg.norm(np.array(once.m) - twice.m) / np.linalg.norm(once.m)
        assert off < 1e-9 * estimate(0.2, 1e-9)


def test_error_norm_by_hand() -> None:
    """Attitude in units of rtol, momentum in units of rtol |m| + atol; nothing at rest."""
    s = State((1.0, 0.0, 0.0, 0.0), (3.0, 0.0, 4.0))
    d5 = State((0.0, 3e-8, 0.0, 4e-8), (0.0, 0.0, 2e-7))
    d3 = State((0.0, 0.0, 3e-6, 0.0), (0.0, 1e-6, 0.0))
    five = ((5e-8 / 1e-6) ** 2 + (2e-7 / 6e-6) ** 2) / 2
    three = ((3e-6 / 1e-6) ** 2 + (1e-6 / 6e-6) ** 2) / 2
    expected = five / math.sqrt(five + three / 100)
    assert error_norm(s, s, d5, d3, 1e-6, 1e-6) == pytest.approx(expected, rel=1e-14)
    rest, none = State(s.q, (0.0, 0.0, 0.0)), State((0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    assert error_norm(rest, rest, none, none, 1e-6, 0.0) == 0.0


def test_step_is_scipys() -> None:
    """One step of the same length from the same state, and the count of evaluations."""
    given, slope, attempt = bound("weight")
    s = next(states(1))
    calls = 0

    def f(t: float, y: Floats) -> Floats:
        nonlocal calls
        calls += 1
        d = slope(given.body, given.p, t, State(tuple(y[:4].tolist()), tuple(y[4:].tolist())))
        return np.array([*d.q, *d.m])

    h = 0.25
    theirs = solve_ivp(f, (0.0, h), [*s.q, *s.m], method="DOP853", first_step=h, rtol=1.0, atol=1e9)
    assert theirs.t.size == 2
    mine, _ = attempt(given.body, given.p, 0.0, s, h, slope(given.body, given.p, 0.0, s), 1e-9, 0.0, ())
    q = theirs.y[:4, 1] / np.linalg.norm(theirs.y[:4, 1])
    np.testing.assert_allclose(mine.q, q, rtol=0, atol=4 * EPS)
    np.testing.assert_allclose(mine.m, theirs.y[4:, 1], rtol=0, atol=32 * EPS)
    assert calls == EVALUATIONS + 2  # with the slopes at both ends


# --- fixed steps


def by_the_book(tableau: Tableau, f: Callable[[float, Floats], Floats], t: float, y: Floats, h: float) -> Floats:
    A, b = matrix(tableau)
    k = np.zeros((len(b), y.size))
    for i, row in enumerate(A):
        k[i] = f(t + row.sum() * h, y + h * row @ k)
    return np.asarray(y + h * b @ k)


@pytest.mark.parametrize(("name", "tableau"), [("RK4", CLASSICAL), ("RKF5", FEHLBERG)])
def test_steps_are_those_of_the_tableau(name: str, tableau: Tableau) -> None:
    """On a torque that depends on time, attitude and rate."""
    problem = PROBLEMS["stir"]
    given, slope, _ = bound("stir")
    step = OneStep(problem, find(name))

    def f(t: float, y: Floats) -> Floats:
        d = slope(given.body, given.p, t, State(tuple(y[:4].tolist()), tuple(y[4:].tolist())))
        return np.array([*d.q, *d.m])

    for s in states(3):
        new = step(s, 0.3)
        y = by_the_book(tableau, f, 0.0, np.array([*s.q, *s.m]), 0.3)
        np.testing.assert_allclose(new.q, y[:4] / np.linalg.norm(y[:4]), rtol=0, atol=8 * EPS)
        np.testing.assert_allclose(new.m, y[4:], rtol=0, atol=8 * EPS * np.abs(y[4:]).max())


def test_length_of_an_unscaled_quaternion_does_not_count() -> None:
    """Compensated runs let it go: the torque is that of its direction, and so is the step."""

    def pull(body: Inertia, p: Params, t: float, s: State) -> Vec3:
        return (s.q[0], s.q[1], s.q[2])

    given = OneStep(PROBLEMS["weight"], find("RK4", compensated=True))
    for s in states(3):
        longer = State((1.25 * s.q[0], 1.25 * s.q[1], 1.25 * s.q[2], 1.25 * s.q[3]), s.m)
        directed = of_any_norm(pull)
        a, b = directed(given.body, given.p, 0.0, s), directed(given.body, given.p, 0.0, longer)
        np.testing.assert_allclose(a, b, rtol=0, atol=4 * EPS)
        new, same = given(longer, 0.3), given(s, 0.3)
        np.testing.assert_allclose(np.array(new.q), 1.25 * np.array(same.q), rtol=0, atol=8 * EPS)
        np.testing.assert_allclose(new.m, same.m, rtol=0, atol=8 * EPS * np.abs(same.m).max())


@pytest.mark.parametrize("name", ["RK4", "RKF5"])
def test_drift_of_the_energy(name: str) -> None:
    """By the power of the step that the cards state.

    Terms of the error that are even in the step respect time reversal and make no drift: order 4 is as good as 5.
    """
    problem = PROBLEMS["free"]
    drifts = []
    for steps in (1000, 2000):
        solution = run(problem, find(name), steps, 100.0)
        energy = (solution.momentum * solution.omega).sum(axis=1)
        drifts.append(abs(energy[-1] / energy[0] - 1))
    assert math.log2(drifts[0] / drifts[1]) == pytest.approx(5.0, abs=0.2)
