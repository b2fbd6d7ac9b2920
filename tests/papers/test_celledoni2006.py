"""The studies of celledoni2006, at the quick size."""

import numpy as np
import pytest

from polhode.papers._maps import defect
from polhode.papers._measure import integrate, pose, reference
from polhode.papers.celledoni2006 import symmetry
from polhode.papers.celledoni2006._common import FREE, TOP, ErrorCurve, distance
from polhode.papers.study import ClaimVerdict, Study, chosen
from tests.papers.glance import all_finite, drawn, glanced

STUDIES = {study.name: study for study in chosen(["celledoni2006"])}

AT_ONCE = {
    "energy": [ClaimVerdict.REPRODUCED] * 2
    + [ClaimVerdict.UNDER_A_READING, ClaimVerdict.NOT, ClaimVerdict.UNDER_A_READING],
    "fig1": [ClaimVerdict.NOT, ClaimVerdict.REPRODUCED, ClaimVerdict.UNDER_A_READING, ClaimVerdict.REPRODUCED],
    "fig2": [ClaimVerdict.REPRODUCED] * 2,
    "fig3": [ClaimVerdict.REPRODUCED, ClaimVerdict.UNDER_A_READING, ClaimVerdict.REPRODUCED],
    "fig4": [ClaimVerdict.REPRODUCED, ClaimVerdict.NOT_JUDGED],
    "fig5": [ClaimVerdict.REPRODUCED] * 3 + [ClaimVerdict.NOT_JUDGED] * 2,
    "fig6": [ClaimVerdict.NOT_JUDGED] * 2,
    "fig7": [ClaimVerdict.NOT_JUDGED, ClaimVerdict.REPRODUCED],
    "fig8": [ClaimVerdict.NOT_JUDGED, ClaimVerdict.REPRODUCED],
    "formulas": [ClaimVerdict.UNDER_A_READING] * 3 + [ClaimVerdict.REPRODUCED],
    "ordering": [ClaimVerdict.NOT_JUDGED] * 3,
    "symmetry": [ClaimVerdict.REPRODUCED] * 4,
}
"""Verdicts that need no long run, in the order of the claims."""


def test_nothing_is_missing() -> None:
    assert list(STUDIES) == list(AT_ONCE)


@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
def test_quick_study(study: Study) -> None:
    data, claims = glanced(study)
    assert [c.verdict for c in claims] == AT_ONCE[study.name], [(c.says, c.measured) for c in claims]
    assert all_finite(data)
    drawn(study, data)


def test_mirrored_start_has_the_same_errors() -> None:
    """The paper's text and its captions have different signs of the first momentum."""
    mirrored = pose(FREE.body, None, FREE.omega_start * [-1, 1, 1])
    errors = [
        np.linalg.norm(integrate(p, "MR2", 1.0, 0.125).momentum[-1] - reference(p, 1.0)[0]) for p in (FREE, mirrored)
    ]
    assert errors[0] > 1e-4
    assert errors[1] == pytest.approx(errors[0], rel=1e-10)


def test_weight_is_the_paper_s() -> None:
    """f = (u2, -u1, 0) and V = u3, where u = Q u0 is the third row of R."""
    torque = TOP.torque
    assert torque.potential_kernel is not None
    q, p = (0.5, 0.1, -0.7, 0.5), np.array(torque.parameters(TOP.body))  # of length 1
    w, x, y, z = q
    u = (2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z)
    assert torque.torque_kernel(0.0, q, (0.0, 0.0, 0.0), p) == pytest.approx((u[1], -u[0], 0.0), abs=1e-15)
    assert torque.potential_kernel(0.0, q, p) == pytest.approx(u[2])


def test_symplectic_defect() -> None:
    """Noise for the exact splitting; of order h^3 for SEJ, whose attitude is wrong by so much in a step."""
    cases = (("Strang", 0.1), ("SEJ", 0.1), ("SEJ", 0.05))
    noise, coarse, fine = (defect(symmetry.TASK, method, h) for method, h in cases)
    assert noise < 1e-12
    assert np.log2(coarse / fine) == pytest.approx(3, abs=0.2)


def test_chaos() -> None:
    """With steps of 0.1 the heavy top of MR2 forgets its start, that of SEJ does not."""
    shifted = pose(TOP.body, TOP.torque, (10.0, 10.0, 10.0 + 1e-12))
    apart = {
        method: np.linalg.norm(np.subtract(*(integrate(p, method, 100.0, 0.1).momentum[-1] for p in (TOP, shifted))))
        for method in ("MR2", "SEJ")
    }
    assert apart["MR2"] > 1e3
    assert apart["SEJ"] < 1e-3


def test_distance_of_trajectories() -> None:
    """None between a set and itself, all between two poles."""
    up, down = np.tile([0.0, 0.0, 1.0], (5, 1)), np.tile([0.0, 0.0, -1.0], (5, 1))
    assert distance(up, up) == 0
    assert distance(up, down) == 1


def test_error_after_a_time() -> None:
    """A method of order 2 that takes 1 s with the step 1."""
    h = np.array([1.0, 0.5, 0.25, 0.125])
    curve = ErrorCurve(h, 3 * h**2, 1 / h)
    assert curve.order == pytest.approx(2)
    assert curve.error_after(3.0) == pytest.approx(3 / 9)
