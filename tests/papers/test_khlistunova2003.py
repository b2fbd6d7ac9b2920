"""The study of khlistunova2003: its own kernels, and every figure at a glance."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from polhode import simulate
from polhode.papers.khlistunova2003 import closed_matrices, operations
from polhode.papers.khlistunova2003._common import BODY, OMEGA
from polhode.papers.khlistunova2003._momentum import Step, Vector, leapfrog, normalised, runge_kutta, short, simpson
from polhode.papers.study import ClaimVerdict, Data, Size, Study, chosen, named
from tests.papers.glance import all_finite, drawn, glanced

STUDIES = {s.name: s for s in chosen(["khlistunova2003"])}
MOMENTS = tuple(BODY.moments.tolist())
R, READ, NOT = ClaimVerdict.REPRODUCED, ClaimVerdict.UNDER_A_READING, ClaimVerdict.NOT

# Verdicts that short runs give as well as long ones.
VERDICTS = {
    "fig1": [R],
    "fig2": [R],
    "fig3": [R],
    "closed_matrices": [R, READ, READ, READ],
    "operations": [R, R, R, R, R, R],
    "order": [R, NOT, R, NOT],
    "theory": [R, READ, R, R, ClaimVerdict.NOT_JUDGED],
}


def test_all_there() -> None:
    figures = {f"fig{k}" for k in range(1, 11)}
    assert set(STUDIES) == figures | {
        "closed_matrices", "normalised", "operations", "order", "readings", "speed", "theory",
    }  # fmt: skip


@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES.keys())
def test_at_a_glance(study: Study) -> None:
    data, claims = glanced(study)
    assert all_finite(data)
    assert [c.verdict for c in claims] == VERDICTS.get(study.name, [ClaimVerdict.NOT_JUDGED] * len(claims))
    drawn(study, data)


def test_errors_are_judged_by_the_bands_of_the_paper() -> None:
    """Figures 4 to 6, on the numbers that runs of 100 minutes gave: a band has two sides."""

    def verdicts(figure: str, *largest: float) -> list[ClaimVerdict]:
        data = Data(largest=named("figure", largest, "largest errors"))
        return [c.verdict for c in STUDIES[figure].check(data, Size.FULL)]

    leapfrog, simpson_at_once, simpson_by_h = 6.67e-8, 3.71e-8, 9.3e-9
    assert verdicts("fig4", leapfrog, simpson_at_once, simpson_by_h) == [READ]
    assert verdicts("fig4", leapfrog, leapfrog / 8, simpson_by_h) == [R]
    assert verdicts("fig4", leapfrog, leapfrog / 2, leapfrog / 100) == [NOT]
    assert verdicts("fig5", leapfrog, 3.6e-8, 7.1e-7) == [NOT, READ]
    assert verdicts("fig5", 1.2e-6, 1e-7, 7.1e-7) == [R, R]
    assert verdicts("fig5", 1.2e-5, 5e-6, 7.1e-7) == [NOT, NOT]
    assert verdicts("fig6", simpson_at_once, 3.6e-9, simpson_by_h) == [R, R]


@pytest.mark.parametrize(
    ("method", "scheme"),
    [
        ("LS", lambda h: leapfrog(MOMENTS, h)),
        ("SS", lambda h: simpson(MOMENTS, h)),
        ("LS1", lambda h: leapfrog(MOMENTS, h, short)),
        ("SS1", lambda h: simpson(MOMENTS, h, short)),
    ],
)
def test_momentum_kernels_are_the_methods(method: str, scheme: Callable[[float], Step]) -> None:
    """Otherwise the operations of something else would be counted."""
    step = scheme(0.5)
    run = simulate(BODY, omega=10 * OMEGA, t_span=(0.0, 20.0), step=0.5, method=method, every=1)
    m: Vector = tuple(run.momentum[0].tolist())
    for _ in range(len(run.t) - 1):
        m = step(m)
    assert np.abs(np.array(m) - run.momentum[-1]).max() < 1e-13 * np.linalg.norm(m)


def test_runge_kutta_of_rates_is_that_of_momenta() -> None:
    """Linear changes of variables commute with Runge-Kutta steps; so does a zero that is left out."""
    run = simulate(BODY, omega=10 * OMEGA, t_span=(0.0, 20.0), step=0.5, method="RKF5", every=1)
    for zeros in (True, False):
        step, w = runge_kutta(MOMENTS, 0.5, zeros=zeros), tuple(10 * OMEGA)
        for _ in range(len(run.t) - 1):
            w = step(w)
        assert np.abs(np.array(w) - run.omega[-1]).max() < 1e-13 * np.linalg.norm(w)


def test_counted_numbers_compute_what_plain_ones_do() -> None:
    start = (0.7, 0.2, 8.7)
    counted = operations.STEPS["SS"](tuple(operations.Counted(x, Counter()) for x in start))  # type: ignore[arg-type]
    plain = simpson(operations.MOMENTS, operations.STEP)(start)
    assert tuple(x.value for x in counted) == plain


def test_every_operation_counts() -> None:
    tally: Counter[str] = Counter()
    x = operations.Counted(3.0, tally)
    y = 2.0 * x * x + (1.0 + x) - x + (1.0 - x)
    assert y.value == 2.0 * 9.0 + 4.0 - 3.0 - 2.0
    assert tally == {"* /": 2, "+ -": 5}


def test_normalised_steps_keep_the_length() -> None:
    m: Vector = tuple(BODY.momentum(10 * OMEGA).tolist())
    square = sum(x * x for x in m)
    plain, scaled = leapfrog(MOMENTS, 2.0, short), normalised(leapfrog(MOMENTS, 2.0, short), square)
    off = [abs(sum(x * x for x in step(m)) / square - 1.0) for step in (plain, scaled)]
    assert off[1] < 2 * off[0] ** 2 < 1e-2 * off[0]


def test_closed_matrices_with_a_slip_are_noticed() -> None:
    """The comparison with the product of rotations is sharp."""
    product = closed_matrices.leapfrog_product(0.3, 0.4)
    assert np.abs(closed_matrices.leapfrog_matrix(0.3, 0.4) - product).max() < 1e-15
    assert np.abs(closed_matrices.leapfrog_matrix(0.3, -0.4) - product).max() > 0.1
