"""How round-off grows: the test of vilmart2008 at full size, 200 starts and a million steps. Some minutes."""

from functools import cache

import numpy as np
import pytest
from benchmarks.round_off import Walk, measure, starts, walk

pytestmark = pytest.mark.evidence
STARTS, STEPS = 200, 1_000_000


@cache
def full(method: str) -> Walk:
    return walk(measure(method, starts(STARTS), STEPS)[:, -1], STEPS)


@pytest.mark.parametrize("method", ["Exact", "ExactPolished", "PDMV10", "PDMV10(compensated=true)"])
def test_no_drift(method: str) -> None:
    """Energy, norm, and three components of the spatial momentum."""
    assert (np.abs(full(method).scores) < 3).all()


def test_exact() -> None:
    found = full("Exact")
    assert found.deviation[0] < 0.25  # measured: 0.20
    assert found.deviation[1] < 0.18  # measured: 0.13
    assert (found.deviation[2:] < 0.25).all()  # measured: 0.15 to 0.18


def test_polished() -> None:
    """The energy's error is a thousandth of a unit in the last place of the energy, after a million steps."""
    found = full("ExactPolished")
    assert (found.deviation[:2] < 1e-6).all()  # measured: 2e-7
    assert (found.deviation[2:] < 0.005).all()  # measured: 0.0018


def test_polished_to_ten_million() -> None:
    """In units of eps sqrt(N) nothing grows, so there is no drift underneath the walk."""
    steps = 10 * STEPS
    found = walk(measure("ExactPolished", starts(20), steps)[:, -1], steps)
    assert (found.deviation[:2] < 1e-6).all()
    assert (found.deviation[2:] < 0.005).all()


def test_moser_veselov() -> None:
    """Figure 2: compensated summation shortens the walk by the size of the step."""
    plain, compensated = full("PDMV10"), full("PDMV10(compensated=true)")
    assert 0.1 < plain.deviation[0] < 0.25  # measured: 0.19
    assert compensated.deviation[0] < 0.0027  # measured: 0.0021
    assert compensated.deviation[1] < 0.0018  # measured: 0.0014
    assert (compensated.deviation[2:] < 0.006).all()  # measured: 0.0028 to 0.0044


def test_paper() -> None:
    """Figure 1: the standard implementation drifts, Algorithm 4.1 walks with 0.11; both more than ours."""
    standard, better = full("Jacobi31"), full("Jacobi41")
    assert 0.05 < better.deviation[0] < 0.15
    assert standard.deviation[0] > 100 * better.deviation[0]
    assert full("ExactPolished").deviation[0] < better.deviation[0] / 100
