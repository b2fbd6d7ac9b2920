"""Elementary functions at a million arguments each: the table of errors of `docs/reference/elementary.md`."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from polhode.compiler import program
from tests.kernels.elementary_truth import CASES, Case, worst

pytestmark = pytest.mark.evidence

MANY, SOME, CHUNK = 1_000_000, 20_000, 100_000

Floats = NDArray[np.float64]


def values(case: Case, given: tuple[Floats, ...]) -> Floats:
    kernel, two = case.kernel, len(given) == 2

    def of_one(x: Any, y: Any, out: Any, n: int) -> int:
        for i in range(n):
            out[i] = kernel(x[i])
        return 0

    def of_two(x: Any, y: Any, out: Any, n: int) -> int:
        for i in range(n):
            out[i] = kernel(x[i], y[i])
        return 0

    out = np.empty_like(given[0])
    program(of_two if two else of_one, "pppi")(given[0], given[-1], out, out.size)
    return out


def against_80_bits(case: Case, given: tuple[Floats, ...]) -> float:
    """The largest error in units of the last place, by the functions of C for floats of 80 bits."""
    found = values(case, given)
    with np.errstate(all="ignore"):
        true = getattr(np, case.of_numpy)(*(x.astype(np.longdouble) for x in given))
        usual = np.isfinite(found) & (np.abs(true) <= np.finfo(np.float64).max)
        beyond = np.isinf(found) & (np.abs(true) > np.finfo(np.float64).max)
        assert (usual | beyond).all()
        unit = np.spacing(np.abs(true[usual]).astype(np.float64))
        return float((np.abs(found[usual].astype(np.longdouble) - true[usual]) / unit).max())


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="no floats of 80 bits here")
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_million_arguments(case: Case, record_property: Any) -> None:
    rng, most = np.random.default_rng(2026), 0.0
    kinds = case.draw(rng, 1)[0].size
    for _ in range(MANY // CHUNK):
        most = max(most, against_80_bits(case, case.draw(rng, CHUNK // kinds + 1)))
    print(f"\n{case.name:6} {most:.3f} ulp", end=" ")
    assert 0.4 < most < case.ulps


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_twenty_thousand_arguments_against_mpmath(case: Case) -> None:
    given = case.draw(np.random.default_rng(77), SOME // case.draw(np.random.default_rng(77), 1)[0].size)
    assert worst(case, given, values(case, given)) < case.ulps
