"""The three tasks of the handout, at a glance."""

import numpy as np
import pytest

from polhode.papers.handout._common import MOTION, OMEGA
from polhode.papers.handout.splitting import splitting
from polhode.papers.handout.task1 import formulas
from polhode.papers.handout.task2 import by_period
from polhode.papers.study import ClaimVerdict, chosen
from tests.papers.glance import drawn, glanced

STUDIES = {s.name: s for s in chosen(["handout"])}
R, READ = ClaimVerdict.REPRODUCED, ClaimVerdict.UNDER_A_READING
VERDICTS = {
    "task1": [R, R, READ],
    "task2": [R, R],
    "task3": [R, R, R],
    "splitting": [R, R],
    "comparison": [ClaimVerdict.NOT_JUDGED, ClaimVerdict.NOT_JUDGED],
}


@pytest.mark.parametrize("name", VERDICTS)
def test_at_a_glance(name: str) -> None:
    data, claims = glanced(STUDIES[name])
    assert [c.verdict for c in claims] == VERDICTS[name]
    drawn(STUDIES[name], data)


def test_all_there() -> None:
    assert set(STUDIES) == set(VERDICTS)


@pytest.mark.parametrize("scipy", [False, True])
def test_formulas(scipy: bool) -> None:
    t = np.linspace(0.0, 2 * MOTION.period, 50)
    np.testing.assert_allclose(formulas(OMEGA, t, scipy=scipy), MOTION.at(t).omega, rtol=0, atol=1e-13)


def test_counter_clockwise_rotations_run_back() -> None:
    """Turning the other way by an angle is turning the same way by its opposite: to the bit."""
    assert (splitting(0.1, 5, -1) == splitting(-0.1, 5)).all()


def test_means_of_periods() -> None:
    """A drift is seen through an oscillation of that period."""
    t = np.linspace(0.0, 4 * MOTION.period, 4001)
    means = by_period(t, t + np.cos(2 * np.pi * t / MOTION.period))
    np.testing.assert_allclose(np.diff(means), MOTION.period, rtol=1e-3)
