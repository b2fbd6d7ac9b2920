"""Runge-Kutta methods on the group: their order conditions, and rotations that stay rotations."""

import math
from fractions import Fraction as F

import numpy as np
import pytest

from polhode.kernels.algebra.quat import multiply
from polhode.kernels.algebra.rotation import exponential
from polhode.kernels.steps.explicit_runge_kutta import followed
from polhode.kernels.steps.tableaux import (
    CLASSICAL,
    COMMUTATOR_FREE_4,
    CROUCH_GROSSMAN_3,
    CROUCH_GROSSMAN_4,
    CROUCH_GROSSMAN_CLASSICAL,
    MUNTHE_KAAS_4,
    GroupTableau,
    Number,
    Turns,
    crouch_grossman,
    underlying,
)
from polhode.kernels.types import Vec3
from polhode.methods import find
from tests.authorities.problems import PROBLEMS
from tests.contract._measure import EPS, errors, run

# --- order conditions
#
# On a group, the expansion of a step is a series of words of ordered trees: an exponential of a slope is one in the
# algebra of words, whose product is to write one word after the other, and a slope, the rate as a function that the
# word of a stage has acted on, is a letter for each word: the tree whose branches are the letters of the word.
# Trees are the tuples of their branches, so a word is a tree without its root.  [owren1999, sec. 3]

Word = tuple["Word", ...]
Series = dict[Word, Number]


def vertices(word: Word) -> int:
    return sum(1 + vertices(tree) for tree in word)


def product(a: Series, b: Series, order: int) -> Series:
    out: Series = {}
    for v, x in a.items():
        for w, y in b.items():
            if vertices(v) + vertices(w) <= order:
                out[v + w] = out.get(v + w, F(0)) + x * y
    return out


def plus(a: Series, factor: Number, b: Series) -> Series:
    return {w: a.get(w, F(0)) + factor * b.get(w, F(0)) for w in {**a, **b}}


def exponential_of(a: Series, order: int) -> Series:
    term: Series = {(): F(1)}
    out = dict(term)
    for n in range(1, order + 1):
        term = {w: x / n for w, x in product(term, a, order).items()}
        out = plus(out, F(1), term)
    return out


def rate_at(place: Series, order: int) -> Series:
    """The slope at a place, as letters."""
    return {(w,): x for w, x in place.items() if 1 + vertices(w) <= order}


def expansion(tableau: GroupTableau, order: int) -> Series:
    """Returns the expansion of a step with h = 1."""
    rates: list[Series] = []

    def moved(turns: Turns) -> Series:
        place: Series = {(): F(1)}
        for turn in turns:
            vector: Series = {}
            for w, rate in zip(turn.weights, rates, strict=False):
                vector = plus(vector, w, rate)
            for i, j, c in turn.brackets:
                vector = plus(vector, c, product(rates[i], rates[j], order))
                vector = plus(vector, -c, product(rates[j], rates[i], order))
            place = product(place, exponential_of(vector, order), order)
        return place

    for turns in tableau.stages:
        rates += [rate_at(moved(turns), order)]  # each stage uses the rates before it
    return moved(tableau.step)


def solution(order: int) -> Series:
    """The exact one: its derivative is itself, followed by the slope there. Picard's iteration."""
    out: Series = {(): F(1)}
    for _ in range(order):
        derivative = product(out, rate_at(out, order), order)
        out = {(): F(1), **{w: x / vertices(w) for w, x in derivative.items()}}  # a word of n vertices goes with t^n
    return out


def mismatch(tableau: GroupTableau, order: int) -> float:
    """The largest violation of a condition of this order and below."""
    made, exact = expansion(tableau, order), solution(order)
    return max(abs(float(made.get(w, F(0)) - exact.get(w, F(0)))) for w in {**made, **exact})


def test_conditions_are_all_there() -> None:
    """As many words of n vertices as Catalan's number, and the coefficients known for small ones."""
    exact = solution(4)
    assert [sum(vertices(w) == n for w in exact) for n in range(5)] == [1, 1, 2, 5, 14]
    dot: Word = ()
    assert exact[(dot,)] == 1
    assert exact[(dot, dot)] == F(1, 2) == exact[((dot,),)]
    assert exact[((dot,), dot)] == F(1, 6)  # a slope that has changed counts more if it acts later
    assert exact[(dot, (dot,))] == F(1, 3)


@pytest.mark.parametrize(
    ("tableau", "order", "bound"),
    [
        pytest.param(CROUCH_GROSSMAN_CLASSICAL, 2, 0.0, id="CG"),
        pytest.param(CROUCH_GROSSMAN_3, 3, 0.0, id="CG3"),
        pytest.param(CROUCH_GROSSMAN_4, 4, 1e-15, id="CG4"),  # coefficients given to 16 digits
        pytest.param(MUNTHE_KAAS_4, 4, 0.0, id="RKMK4"),
        pytest.param(COMMUTATOR_FREE_4, 4, 0.0, id="CF4"),
    ],
)
def test_order_conditions(tableau: GroupTableau, order: int, bound: float) -> None:
    """They hold up to the order and no further, exactly where coefficients are rational."""
    assert mismatch(tableau, order) <= bound
    assert mismatch(tableau, order + 1) > 1e-3


def test_classical_coefficients_miss_order_three() -> None:
    """By 13/36 instead of 1/3 in sum b_i^2 c_i + 2 sum_{i<j} b_i c_i b_j; all words of order 2 are right."""
    b, c = CLASSICAL.step, [sum(row) for row in CLASSICAL.stages]
    both = sum(b[i] * b[i] * c[i] + 2 * sum(b[i] * c[i] * b[j] for j in range(i + 1, 4)) for i in range(4))
    assert both == F(13, 36)
    made = expansion(crouch_grossman(CLASSICAL), 3)
    dot: Word = ()
    assert 2 * made[((dot,), dot)] == both


@pytest.mark.parametrize("tableau", [MUNTHE_KAAS_4, COMMUTATOR_FREE_4], ids=["RKMK4", "CF4"])
def test_momentum_is_that_of_the_classical_method(tableau: GroupTableau) -> None:
    rows = underlying(tableau)
    assert rows.step == CLASSICAL.step
    assert [[w for w in row if w] for row in rows.stages] == [[w for w in row if w] for row in CLASSICAL.stages]


# --- rotations


def quaternion(v: Vec3) -> tuple[float, float, float, float]:
    half = math.hypot(*v) / 2
    s = math.sin(half) / (2 * half)
    return (math.cos(half), s * v[0], s * v[1], s * v[2])


def test_rotations_in_a_row() -> None:
    """A product of exponentials is that of quaternions, with the digits of small angles."""
    draw = np.random.default_rng(3)
    for size in (1e-6, 1e-2, 1.0):
        a, b = (tuple((size * draw.normal(size=3)).tolist()) for _ in range(2))
        e, v = followed(exponential(a), exponential(b))
        both = multiply(quaternion(a), quaternion(b))
        assert both[0] == pytest.approx(1 - e, abs=4 * EPS)
        assert both[1:] == pytest.approx(v, abs=4 * EPS * size)
        assert e * (2 - e) == pytest.approx(np.dot(v, v), rel=16 * EPS)  # a unit quaternion, relative to its angle


@pytest.mark.parametrize("name", ["RKMK4", "CF4", "CG"])
def test_free_momentum_is_that_of_rk4(name: str) -> None:
    """Whatever becomes of the attitude: the momentum of a free body does not see it."""
    here, there = (run(PROBLEMS["free"], find(n), 40) for n in (name, "RK4"))
    np.testing.assert_allclose(here.momentum, there.momentum, rtol=0, atol=40 * EPS)


@pytest.mark.parametrize("name", ["RKF5", "CF4"])
def test_compensated_sums(name: str) -> None:
    """Where the step is so short that only round-off is left, compensation removes nearly all of it."""
    problem, steps = "weight", 10_000
    plain, compensated = (errors(problem, m, steps) for m in (find(name), find(name, compensated=True)))
    assert min(plain) > 16 * EPS
    assert max(compensated) < 2 * EPS  # the reference is rounded too
