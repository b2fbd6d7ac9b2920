"""A spacecraft with four reaction wheels beside that of Basilisk, where it is installed (`pip install bsk`)."""

import pytest
from benchmarks.wheels import HOUR, basilisk, driven, error, polhode, rows_of

pytestmark = pytest.mark.evidence
pytest.importorskip("Basilisk")


def test_wheels_against_friction() -> None:
    """Attitude, rate and momenta of the wheels over 4096 s; the rest is the error of Basilisk, 1e-9 when measured."""
    truth = rows_of(polhode(driven(), 1e-10, HOUR))
    near, nearer = (error(basilisk(4.0, tolerance)(), truth) for tolerance in (1e-9, 1e-14))
    assert nearer < 5e-9
    assert nearer < near
