"""Every figure of Krysl and Endres at the quick size: data, claims and pictures come out, and some verdicts."""

import numpy as np
import pytest

from polhode.papers._measure import reference
from polhode.papers.krysl2004._common import COARSE, FREE, IMPULSE, JUMPS, PUSH, Toss
from polhode.papers.study import ClaimVerdict, Study, studies
from tests.papers.glance import drawn, glanced

FOUND = [s for s in studies().values() if s.paper == "krysl2004"]


@pytest.mark.parametrize("study", FOUND, ids=lambda s: s.name)
def test_comes_out(study: Study) -> None:
    data, _ = glanced(study)
    drawn(study, data)


HOLD_AT_ANY_SIZE = {
    "fig1": {"The kinetic energy is not kept": ClaimVerdict.REPRODUCED},
    "fig2": {"The steps of figure 1": ClaimVerdict.REPRODUCED},
    "fig3": {
        "Newmark's method keeps the character": ClaimVerdict.REPRODUCED,
        "With the step 5": ClaimVerdict.UNDER_A_READING,
        "Of the report's methods": ClaimVerdict.REPRODUCED,
        "All discrete Moser-Veselov": ClaimVerdict.REPRODUCED,
    },
    "fig4": {
        "Newmark's method is better than AKW": ClaimVerdict.UNDER_A_READING,
        "It is one of": ClaimVerdict.REPRODUCED,
    },
    "fig5": {"Newmark's method is one of": ClaimVerdict.REPRODUCED, "Newmark's method runs": ClaimVerdict.REPRODUCED},
    "fig6": {"Newmark's method stays": ClaimVerdict.REPRODUCED, "Its angular velocities": ClaimVerdict.REPRODUCED},
    "fig7": {"Newmark's method does not": ClaimVerdict.REPRODUCED, "SW keeps the momentum": ClaimVerdict.REPRODUCED},
}
"""By figure: how a claim begins, and its verdict."""


@pytest.mark.parametrize("name", HOLD_AT_ANY_SIZE)
def test_verdicts(name: str) -> None:
    study = next(s for s in FOUND if s.name == name)
    _, claims = glanced(study)
    for begins, verdict in HOLD_AT_ANY_SIZE[name].items():
        (c,) = (c for c in claims if c.says.startswith(begins))
        assert c.verdict is verdict, c


@pytest.mark.parametrize("jumps", JUMPS)
def test_the_toss_gives_the_impulse_it_should(jumps: str) -> None:
    """Steps that sample the torque at their ends have half a step of it too much or too little."""
    toss = Toss(0.5, jumps)
    solution = toss.run("SW", COARSE, 1.0)
    flying = solution.spatial_momentum[toss.flying(solution.t, COARSE)]
    extra = {"restart": 0.0, "before": COARSE / 2, "after": -COARSE / 2}[jumps]
    np.testing.assert_allclose(flying, [[PUSH * (0.5 + extra), IMPULSE, 0.0]] * len(flying), atol=1e-13)


def test_the_reference_of_a_free_body_is_exact() -> None:
    momentum, attitude = reference(FREE, 100.0)
    start = FREE.momentum_start
    np.testing.assert_allclose(attitude @ momentum, start, atol=1e-14)
    energy = (momentum**2 / FREE.body.moments).sum()
    np.testing.assert_allclose(energy, (start**2 / FREE.body.moments).sum(), rtol=1e-14)
