"""The exact flow over a step: right to round-off at the longest step that each resolution allows, and not by waste."""

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from polhode.kernels.algebra.quat import advanced
from polhode.kernels.free import exact_flow
from polhode.kernels.free.exact_flow import (
    LOBATTO,
    NODES,
    SERIES,
    TURNS,
    cuts,
    effort,
    finest,
    increment,
    needed,
    pieces,
    resolution,
    series_coefficients,
)
from polhode.kernels.steps.flows import free, leaping, spherical, symmetric
from polhode.kernels.types import Inertia, Params, Scales, State
from tests.authorities.free_motion import free_motion, sensitivity

EPS = 2.0**-52
P = Params(np.zeros(0), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0))


def rotor(moments: Any) -> Inertia:
    i1, i2, i3 = (float(x) for x in moments)
    return Inertia((i1, i2, i3), (1 / i1, 1 / i2, 1 / i3))


def random_body(rng: np.random.Generator, physical: bool = True) -> Inertia:
    while True:
        moments = (
            rng.uniform(0.02, 1.0, 3)
            if rng.random() < 0.7
            else rng.choice([1.0, 0.5, 0.501, 0.01]) * rng.uniform(0.9, 1, 3)
        )
        if (2 * moments.max() <= moments.sum()) == physical:
            return rotor(moments)


def matrix(q: Any) -> Any:
    w, x, y, z = q
    return np.array(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )


def error(body: Inertia, m: Any, h: float, s: State) -> float:
    """Returns the error of the attitude and of the rate over the greatest rate, in eps."""
    omega = [a * b for a, b in zip(m, body.inverse, strict=True)]
    true = free_motion(body.inertia, omega, h)
    turn = np.array([[float(x) for x in row] for row in true.turn])
    rate = np.array([float(x) for x in true.omega])
    mine = np.array(s.m) * body.inverse
    return float(max(np.abs(matrix(s.q) - turn).max(), np.abs(mine - rate).max() / np.abs(rate).max())) / EPS


def stepped(nodes: int, terms: int, body: Inertia, m: Any, h: float) -> State:
    turn = abs(h) * math.sqrt(effort(body, m)[0])
    delta, e, v, _k, _mu = increment(nodes, terms, resolution(turn, 0.0).longest_turn)(body, m, h)
    return State(advanced((1.0, 0.0, 0.0, 0.0), e, v), tuple(a + b for a, b in zip(m, delta, strict=True)))


def longest_step(body: Inertia, m: Any, series: float) -> float:
    rate2, each = effort(body, m)
    return min(math.sqrt(series / each), max(TURNS) / math.sqrt(rate2))


@pytest.mark.parametrize("physical", [True, False], ids=["physical", "unphysical"])
@pytest.mark.parametrize("nodes", NODES)
def test_round_off_at_the_longest_step(nodes: int, physical: bool) -> None:
    rng = np.random.default_rng(nodes)
    worst = 0.0
    for _ in range(25):
        body = random_body(rng, physical)
        m = tuple((rng.normal(size=3) * 10 ** rng.uniform(-2, 0, 3)).tolist())
        series = min(NODES[nodes], max(SERIES.values()))
        h = longest_step(body, m, series) * rng.choice([-1, 1])
        terms = resolution(0.0, series).terms
        omega = [a * b for a, b in zip(m, body.inverse, strict=True)]
        allowed = 1.0 + sensitivity(body.inertia, omega, h)
        worst = max(worst, error(body, m, h, stepped(nodes, terms, body, m, h)) / allowed)
    assert worst < 4.0  # in units of what the rounding of the input alone would do


def test_no_node_and_no_term_is_wasted() -> None:
    """With one less of either, some body's step of the greatest length is wrong by many eps."""
    needle, m = rotor([1.0003, 0.0011, 1.0]), (-0.34, 0.068, 0.0037)  # found by search: needles ask for most nodes
    for nodes, more in pairwise(NODES):
        h = longest_step(needle, m, NODES[more])
        assert error(needle, m, h, stepped(nodes, 16, needle, m, h)) > 100.0
    # The series converges worst where A = B, on the separatrix: there S = 2A and q = S^2 / 4.
    coefficients = series_coefficients(max(SERIES) + 1)
    for terms, longest in SERIES.items():
        first_left_out, last_kept = (
            abs(sum(float(x) * 0.25**j for (_, j), x in coefficients[n].items())) * longest**n
            for n in (terms, terms - 1)
        )
        assert first_left_out < 1.2 * 2.0**-54 < last_kept  # the bounds are rounded to three digits


@pytest.mark.parametrize("nodes", LOBATTO)
def test_quadrature_is_right_for_polynomials_of_its_degree(nodes: int) -> None:
    rule = [(mp.mpf(x), mp.mpf(2 * w)) for x, w in LOBATTO[nodes].items()]
    rule.append((mp.mpf(0), 2 - sum(w for _, w in rule)))
    for degree in range(0, 2 * nodes - 2, 2):  # odd ones vanish
        assert abs(sum(w * x**degree for x, w in rule) - mp.mpf(2) / (degree + 1)) < 2 * EPS
    left_out = 2 * nodes - 2
    assert abs(sum(w * x**left_out for x, w in rule) - mp.mpf(2) / (left_out + 1)) > 1e-6


def test_series_is_that_of_the_paper_and_pencil() -> None:
    """p(h) = h - s h^3/3! + (s^2+12q) h^5/5! - s(s^2+132q) h^7/7! + ..., and sn itself for A = 1, B = m."""
    c = series_coefficients(8)
    assert c[1] == {(1, 0): Fraction(-1, 6)}
    assert c[2] == {(2, 0): Fraction(1, 120), (0, 1): Fraction(12, 120)}
    assert c[3] == {(3, 0): Fraction(-1, 5040), (1, 1): Fraction(-132, 5040)}
    assert c[4][0, 2] == Fraction(3024, 362880)
    assert c[6][0, 3] == Fraction(4390848, math.factorial(13))


def test_symmetric_and_spherical_bodies_have_cheaper_flows() -> None:
    m = (0.3, -0.4, 0.5)
    assert free(Scales((2.0, 2.0, 2.0), m, 0.1)) is spherical
    for axis, moments in ((3, (2.0, 2.0, 3.0)), (1, (3.0, 2.0, 2.0)), (2, (2.0, 3.0, 2.0))):
        body = rotor(moments)
        chosen = free(Scales(moments, m, 0.1))
        assert chosen.__code__ is symmetric(axis).__code__
        for h in (0.1, -3.0, 50.0):
            s = chosen(body, P, 0.0, State((1.0, 0.0, 0.0, 0.0), m), h)
            assert error(body, m, h, s) < 4 * (1 + abs(h))
    s = spherical(rotor([2, 2, 2]), P, 0.0, State((1.0, 0.0, 0.0, 0.0), m), 7.0)
    assert error(rotor([2, 2, 2]), m, 7.0, s) < 8


@pytest.mark.parametrize("h", [0.01, 0.3, -0.7, 5.0])
def test_a_flow_prepared_for_short_steps_is_right_for_long_ones(h: float) -> None:
    body, m = rotor([0.345, 0.653, 1.0]), (0.5, 0.2, 0.84)
    flow = free(Scales(body.inertia, m, 0.01))
    s = flow(body, P, 0.0, State((1.0, 0.0, 0.0, 0.0), m), h)
    omega = [a * b for a, b in zip(m, body.inverse, strict=True)]
    assert error(body, m, h, s) < 4 * (1 + sensitivity(body.inertia, omega, h))


@pytest.mark.parametrize("moments", [(0.345, 0.653, 1.0), (1.0, 0.7, 0.6), (0.5, 0.9, 0.7)])
def test_long_steps_are_made_by_the_closed_form(moments: tuple[float, float, float]) -> None:
    body, m = rotor(moments), (0.5, 0.2, 0.84)
    omega = [a * b for a, b in zip(m, body.inverse, strict=True)]
    for h in (200.0, -3e4, 1e9, 0.01):
        flow = free(Scales(body.inertia, m, 200.0))
        assert flow is leaping
        s = flow(body, P, 0.0, State((1.0, 0.0, 0.0, 0.0), m), h)
        assert error(body, m, h, s) < 4 * (1 + sensitivity(body.inertia, omega, h))
    rest = State((1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    assert leaping(body, P, 0.0, rest, 10.0) == rest


def test_at_rest_nothing_happens_and_nan_is_passed_on() -> None:
    body = rotor([1, 2, 2.5])
    start = State((1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    assert free(None)(body, P, 0.0, start, 0.1) == start
    for wrong in (math.nan, math.inf):
        assert pieces(finest(), body, (wrong, 0.0, 0.0), 0.1) == 1
        after = free(None)(body, P, 0.0, State(start.q, (wrong, 1.0, 1.0)), 0.1)
        assert not all(math.isfinite(x) for x in after.m)


def test_a_piece_is_within_its_resolution() -> None:
    assert [cuts(x) for x in (0.0, 1e-9, 1.0, 1.001, 3.999, 4.0, 4.001)] == [0, 1, 1, 2, 2, 3, 3]


def test_resolution_follows_the_step() -> None:
    body = (0.345, 0.653, 1.0)
    chosen = [needed(Scales(body, (0.5, 0.2, 0.84), h), 1.0)[0] for h in (1e-3, 1e-2, 0.1, 0.4, 0.8)]
    assert [r.nodes for r in chosen] == sorted(r.nodes for r in chosen)
    assert len({r.nodes for r in chosen}) > 3
    assert needed(Scales(body, (0.5, 0.2, 0.84), 1e3), 1.0)[0] == finest()
    assert exact_flow.resolution(0.0, 0.0).nodes == min(NODES)


def test_shared_resolutions_are_few_and_fine_enough() -> None:
    """Whatever a run needs, one of five programs does at least as much."""
    draw, found = np.random.default_rng(3), set()
    for turn, series in zip(draw.uniform(0.0, 3.2, 500), 10.0 ** draw.uniform(-7, 0, 500), strict=True):
        fine = resolution(turn, series)
        shared = exact_flow.shared_resolution(fine)
        assert shared.longest_series >= fine.longest_series
        assert shared.longest_turn >= fine.longest_turn
        found.add(shared)
    assert len(found) == len(exact_flow.SHARED)
