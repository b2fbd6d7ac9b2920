"""Order conditions of every table, to round-off, in the free algebra.

The exponentials of a step are multiplied out as series of words in letters that do not commute. A step has order p if
its coefficients agree with those of the exact solution, one over the factorial of the length, for all words of weight
up to p. Arithmetic is in 40 digits on the very doubles of the tables, so what is left is the rounding of the tables.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, pairwise, zip_longest
from typing import Any

import mpmath
import numpy as np
import pytest

from polhode.kernels.steps import coefficients as table
from polhode.kernels.steps.coefficients import Alternating, Processed, Row

Words = dict[str, Any]
Weights = Mapping[str, int]


def exponential(letters: Mapping[str, Any], keep: Callable[[str], bool]) -> Words:
    """Returns the exponential of a sum of multiples of letters."""
    out: Words = {"": mpmath.mpf(1)}
    last = dict(out)
    for k in range(1, 100):
        longer = ((word + x, c * d / k) for word, c in last.items() for x, d in letters.items())
        last = {word: c for word, c in longer if keep(word)}
        if not last:
            return out
        out |= last
    raise AssertionError("no end to the words kept")


def product(a: Words, b: Words, keep: Callable[[str], bool]) -> Words:
    out: Words = {}
    for u, c in a.items():
        for v, d in b.items():
            if keep(u + v):
                out[u + v] = out.get(u + v, mpmath.mpf(0)) + c * d
    return out


def discrepancies(
    factors: Sequence[Mapping[str, Any]], exact: Mapping[str, Any], keep: Callable[[str], bool]
) -> dict[str, float]:
    """Word by word: a product of exponentials less the exponential that it stands for."""
    with mpmath.workdps(40):
        step: Words = {"": mpmath.mpf(1)}
        for factor in factors:
            step = product(step, exponential({x: mpmath.mpf(c) for x, c in factor.items()}, keep), keep)
        true = exponential(exact, keep)
        return {word: float(abs(step.get(word, 0) - true.get(word, 0))) for word in step.keys() | true.keys()}


ROUNDED = 1e-15
"""What the rounding of a table may leave; measured: 9e-16 at the most, but for nested triple jumps."""


# --- compositions: a symmetric step is exp(h Y1 + h^3 Y3 + h^5 Y5 + ...), with whatever Y3, Y5, ...

COMPOSITIONS = {
    "TRIPLE_JUMP_4": 4,
    "TRIPLE_JUMP_6": 6,
    "TRIPLE_JUMP_8": 8,
    "SUZUKI_4": 4,
    "KAHAN_LI_6": 6,
    "KAHAN_LI_8": 8,
}


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_compositions(name: str) -> None:
    """The order is as high as it is said to be, and no higher."""
    row, order = getattr(table, name), COMPOSITIONS[name]
    factors = [{str(k): mpmath.mpf(g) ** k for k in range(1, order + 2, 2)} for g in row]
    off = discrepancies(factors, {"1": mpmath.mpf(1)}, lambda w: sum(map(int, w)) <= order + 1)
    # Going forth and back, nested triple jumps amplify the rounding of their fractions; measured: 7e-15 and 6e-14.
    bound = {"TRIPLE_JUMP_6": 1e-14, "TRIPLE_JUMP_8": 1e-13}.get(name, ROUNDED)
    assert max(x for word, x in off.items() if sum(map(int, word)) <= order) < bound
    assert max(x for word, x in off.items() if sum(map(int, word)) == order + 1) > 1e-4


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_compositions_are_symmetric_and_consistent(name: str) -> None:
    row: Row = getattr(table, name)
    assert row == row[::-1]
    assert sum(row) == pytest.approx(1.0, abs=4e-16 * sum(map(abs, row)))


@pytest.mark.parametrize(("row", "order"), [(table.PROCESSED_4, 4), (table.PROCESSED_6, 6)])
def test_processed_compositions(row: Processed, order: int) -> None:
    """In the variables of the processor a step errs first at the next order, there by what is no commutator with the
    motion; the kernel alone errs by such commutators as well."""
    back = tuple(-x for x in reversed(row.processor))

    def off(*rows: Row) -> dict[str, float]:
        factors = [{str(k): mpmath.mpf(g) ** k for k in range(1, order + 2, 2)} for g in chain(*rows)]
        return discrepancies(factors, {"1": mpmath.mpf(1)}, lambda w: sum(map(int, w)) <= order + 1)

    def largest(found: dict[str, float], weight: int, *but: str) -> float:
        return max(x for word, x in found.items() if sum(map(int, word)) == weight and word not in but)

    alone, processed = off(row.kernel), off(row.processor, row.kernel, back)
    assert max(largest(processed, n) for n in range(1, order + 1)) < ROUNDED
    assert max(largest(alone, 5, "5"), largest(alone, order + 1, "7")) > 1e-4
    remaining = ("5",) if order == 4 else ("7", "133", "313", "331")
    assert largest(processed, order + 1, *remaining) < ROUNDED < 1e-4 < processed[remaining[0]]
    assert sorted(row.processor) == sorted(back)  # it goes nowhere in all


def test_nested() -> None:
    assert table.nested((2.0, 3.0), (5.0, 7.0)) == (10.0, 14.0, 15.0, 21.0)
    assert len(table.TRIPLE_JUMP_8) == 27


# --- splittings: A is the drift, B the kick, whose number in a word is the power of the torque

SPLITTINGS: dict[str, tuple[Alternating, tuple[int, ...]]] = {
    "OMELYAN_2": (table.OMELYAN_2, (2,)),
    "BLANES_MOAN_S6": (table.BLANES_MOAN_S6, (4,)),
    "BLANES_MOAN_S10": (table.BLANES_MOAN_S10, (6,)),
    "ABA84": (table.ABA84, (8, 4)),
    "ABA104": (table.ABA104, (10, 4)),
    "ABA864": (table.ABA864, (8, 6, 4)),
    "ABA1064": (table.ABA1064, (10, 6, 4)),
    **{f"SABA{n}": (table.legendre(n), (2 * n, 2)) for n in range(1, 13)},
}


def factors(row: Alternating) -> list[dict[str, float]]:
    drifts, kicks = [{"A": a} for a in row.drifts], [{"B": b} for b in row.kicks]
    first, second = (drifts, kicks) if len(drifts) > len(kicks) else (kicks, drifts)
    return [f for f in chain.from_iterable(zip_longest(first, second)) if f]


def split_discrepancies(row: Alternating, longest: Callable[[int], int]) -> dict[str, float]:
    """Returns the discrepancies of all words that are no longer than their number of kicks allows.

    A word A^i B A^j stands for the moment of c^i (1 - c)^j, over i! and j!; with these factors back in place, words of
    any length have discrepancies of one size.
    """
    both = {"A": mpmath.mpf(1), "B": mpmath.mpf(1)}
    off = discrepancies(factors(row), both, lambda w: len(w) <= longest(w.count("B")))
    return {word: x * math.prod(math.factorial(len(run)) for run in word.split("B")) for word, x in off.items()}


@pytest.mark.parametrize("name", SPLITTINGS)
def test_generalised_orders(name: str) -> None:
    """Words with k kicks agree up to the k-th order, and not beyond it; the last order holds for all further powers."""
    row, orders = SPLITTINGS[name]

    def order(kicks: int) -> int:
        return orders[min(max(kicks, 1), len(orders)) - 1]

    off = split_discrepancies(row, lambda kicks: order(kicks) + 1)
    for word, x in off.items():
        if len(word) <= order(word.count("B")):
            assert x < 1.5e-16 * (
                1 + len(word)
            )  # a rounded fraction counts as often as its letter; measured: half of it
    for kicks in range(1, len(orders) + 1):
        beyond = [x for word, x in off.items() if word.count("B") == kicks and len(word) > order(kicks)]
        assert max(beyond) > 3 * ROUNDED  # Gauss's twelve nodes leave 5e-15


@pytest.mark.parametrize("name", SPLITTINGS)
def test_splittings_are_symmetric_and_consistent(name: str) -> None:
    for row in SPLITTINGS[name][0]:
        assert row == row[::-1]
        assert sum(row) == pytest.approx(1.0, abs=4e-16)


def legendre_roots(n: int) -> list[Any]:
    """Newton's iteration from the well-known estimates."""
    guesses = [mpmath.cos(mpmath.pi * (k - mpmath.mpf(1) / 4) / (n + mpmath.mpf(1) / 2)) for k in range(1, n + 1)]
    return sorted(mpmath.findroot(lambda x: mpmath.legendre(n, x), guess, solver="newton") for guess in guesses)


@pytest.mark.parametrize("n", range(1, 13))
def test_legendre(n: int) -> None:
    """Against 30 digits."""
    with mpmath.workdps(30):
        nodes = legendre_roots(n)
        weights = [2 / ((1 - x * x) * mpmath.diff(lambda y: mpmath.legendre(n, y), x) ** 2) for x in nodes]
        ends = [mpmath.mpf(-1), *nodes, mpmath.mpf(1)]
        drifts = [float((b - a) / 2) for a, b in pairwise(ends)]
    row = table.legendre(n)
    np.testing.assert_allclose(row.drifts, drifts, rtol=2e-16, atol=0)
    np.testing.assert_allclose(row.kicks, [float(w / 2) for w in weights], rtol=2e-16, atol=0)


def remainder(outer: float) -> float:
    """The size of the error of two stages with these outer kicks: of its parts along [A, [A, B]] and [B, [A, B]]."""
    row = Alternating((0.5, 0.5), (outer, 1 - 2 * outer, outer))
    step: Words = {"": mpmath.mpf(1)}
    for factor in factors(row):
        step = product(step, exponential(factor, lambda w: len(w) <= 3), lambda w: len(w) <= 3)
    true = exponential({"A": mpmath.mpf(1), "B": mpmath.mpf(1)}, lambda w: len(w) <= 3)
    return float(mpmath.hypot(step["AAB"] - true["AAB"], step["BBA"] - true["BBA"]))


def test_omelyan_has_the_least_error_of_its_kind() -> None:
    """The outer kick as printed, and nothing near it is better."""
    outer = table.OMELYAN_2.kicks[0]
    assert outer == pytest.approx(0.1931833275037836, abs=1e-16)
    assert remainder(outer) < min(remainder(outer - 1e-4), remainder(outer + 1e-4))
    assert remainder(outer) < remainder(0.25) / 2.5  # two steps of leapfrog; measured: 2.7


# --- Nystrom's assumption


def commutator(a: Mapping[str, float], b: Mapping[str, float]) -> dict[str, float]:
    out: dict[str, float] = {}
    for u, c in a.items():
        for v, d in b.items():
            out[u + v] = out.get(u + v, 0.0) + c * d
            out[v + u] = out.get(v + u, 0.0) - c * d
    return out


@pytest.mark.parametrize(("row", "order"), [(table.SRKN11, 6), (table.SRKN19, 8)])
def test_nystrom(row: Alternating, order: int) -> None:
    """They have order 4 for any two flows, and 6 or 8 if [B, [B, [B, A]]] = 0.

    A symmetric step has an even order, so words of odd length decide. There the logarithm of the step, an element of
    the Lie algebra, has to lie in the ideal of what vanishes: in the span of commutators with that one.
    """
    longest = order - 1

    def keep(word: str) -> bool:
        return len(word) <= longest

    with mpmath.workdps(40):
        step: Words = {"": mpmath.mpf(1)}
        for factor in factors(row):
            step = product(step, exponential(factor, keep), keep)
        less = {word: c for word, c in step.items() if word}
        power, log = dict(less), dict(less)
        for k in range(2, longest + 1):
            power = product(power, less, keep)
            for word, c in power.items():
                log[word] = log.get(word, mpmath.mpf(0)) + (-1) ** (k + 1) * c / k
    error = {word: float(c - (len(word) == 1)) for word, c in log.items()}
    assert max(abs(x) for word, x in error.items() if len(word) <= 4) < ROUNDED
    A, B = {"A": 1.0}, {"B": 1.0}
    vanishing = [commutator(B, commutator(B, commutator(B, A)))]
    for length in range(5, longest + 1):
        vanishing = [commutator(x, v) for x in (A, B) for v in vanishing]
        words = ["".join(letters) for letters in itertools.product("AB", repeat=length)]
        ideal = np.array([[v.get(word, 0.0) for word in words] for v in vanishing]).T
        left = np.array([error.get(word, 0.0) for word in words])
        assert bool(np.abs(left).max() > 1e-9) is (length % 2 == 1)
        parts = np.linalg.lstsq(ideal, left, rcond=None)[0]
        assert np.abs(left - ideal @ parts).max() < ROUNDED
