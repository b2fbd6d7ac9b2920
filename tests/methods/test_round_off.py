"""Round-off in long runs, on a small scale: `tests/evidence/test_round_off.py` has the full one."""

import numpy as np
import pytest
from benchmarks.round_off import Walk, measure, starts, walk

STARTS, STEPS = 20, 20_000


def short(method: str) -> Walk:
    return walk(measure(method, starts(STARTS), STEPS)[:, -1], STEPS)


def test_exact_walks_at_random() -> None:
    """A mean of 20 is within 3.9 standard errors but for one case in a thousand, and there are five of them."""
    found = short("Exact")
    assert found.deviation[0] < 0.35  # 0.20 in the full test; a deviation from 20 starts is good to 16 %
    assert (found.deviation[2:] < 0.3).all()
    assert (np.abs(found.scores) < 4.5).all()


def test_polished_does_not_walk() -> None:
    """Energy and norm are off by a thousandth of a unit in the last place, the spatial momentum by a quarter of one."""
    found = short("ExactPolished")
    assert (found.deviation[:2] < 1e-5).all()  # measured: 1.6e-6
    assert (found.deviation[2:] < 0.003).all()  # measured: 0.0017
    assert (np.abs(found.scores) < 4.5).all()


@pytest.mark.evidence
def test_moser_veselov_walks_and_compensation_shortens_its_steps() -> None:
    """By the factor h, which is 1/100 here, and not less than the rounding of an increment."""
    plain, compensated = short("PDMV10"), short("PDMV10(compensated=true)")
    assert plain.deviation[0] < 0.35  # 0.19 in the full test
    assert compensated.deviation[0] < 0.005  # 0.0021 in the full test
    assert (compensated.deviation[2:] < 0.01).all()  # 0.0028 to 0.0044 in the full test
    assert (np.abs(plain.scores) < 4.5).all()
    assert (np.abs(compensated.scores) < 4.5).all()


@pytest.mark.evidence
def test_papers_algorithms_walk() -> None:
    """Algorithm 4.1 walks, and the standard implementation leaves it far behind."""
    better, standard = short("Jacobi41"), short("Jacobi31")
    assert 0.03 < better.deviation[0] < 0.3  # 0.11 in the paper
    assert standard.deviation[0] > 10 * better.deviation[0]


def test_statistics() -> None:
    """The statistics distinguish a drift from a walk."""
    steps = 10_000
    noise = np.random.default_rng(1).normal(size=(400, 5)) * np.sqrt(steps)
    still = walk(noise, steps)
    assert still.deviation == pytest.approx(1.0, abs=0.15)
    assert (np.abs(still.scores) < 4.5).all()
    moved = walk(noise + 0.005 * steps, steps)
    assert moved.mean - still.mean == pytest.approx(0.5)
    assert (moved.scores > 5).all()
