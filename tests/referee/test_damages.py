"""The referee on logs that are damaged in known ways, and on logs that are not: which it calls right."""

import pytest

from tests.referee.damages import (
    DAMAGES,
    PROBLEMS,
    ROW_ANGLES,
    damaged_logs,
    judged,
    motion,
    right_logs,
    with_few_digits,
)  # fmt: skip

CHEAP = {
    "rates scaled by 1.1", "rates scaled by 1.002", "rates shifted by 0.5 %", "rates one row late",
    "rates with noise of 20 %", "attitudes turned by 0.3 degrees",
}  # fmt: skip


def test_wrong_logs_are_not_called_right() -> None:
    m = motion("free triaxial", 0.1)
    listed = [one for one in damaged_logs(m) if one[0] in CHEAP or one[0] not in DAMAGES][::3]
    assert len(listed) > 14
    for damage, span, log in listed:
        agrees, said = judged(m, log)
        assert not agrees, f"{damage} {span}: {said}"


def test_right_logs_are_not_called_wrong() -> None:
    m = motion("free triaxial", 0.1)
    for label, log in right_logs(m):
        agrees, said = judged(m, log)
        assert agrees, f"{label}: {said}"


@pytest.mark.evidence
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("row_angle", ROW_ANGLES)
def test_the_whole_table(problem: str, row_angle: float) -> None:
    m = motion(problem, row_angle)
    wrong = [(damage, span, *judged(m, log)) for damage, span, log in damaged_logs(m)]
    right = [(label, *judged(m, log)) for label, log in right_logs(m)]
    assert [one for one in wrong if one[2]] == []
    assert [one for one in right if not one[1]] == []


def test_the_row_and_the_factor_are_named() -> None:
    """Rates that are scaled from some row on, beside attitudes that are right."""
    m = motion("free triaxial", 0.1)
    for k in (1, 31):
        w = m.w.copy()
        w[k:] *= 1.1
        agrees, said = judged(m, m.log | {"omega": w})
        assert not agrees
        assert "1.1 times those" in said
        assert f"row {k} on" in said or k == 1
    w = m.w.copy()
    w[31:] += 0.05
    assert (
        "From row 31 on (t = 2.945 s) the rates are those plus a constant (0.05, 0.05, 0.05) rad/s"
        in judged(m, m.log | {"omega": w})[1]
    )


def test_mixed_conventions_are_named() -> None:
    m = motion("free triaxial", 0.1)
    w = m.w.copy()
    w[100:] *= 57.29577951308232
    said = judged(m, m.log | {"omega": w})[1]
    assert "The convention changes at row 100 (t = 9.5 s)" in said
    assert "rates in body axes in rad/s; from there on" in said
    assert said.endswith("rates in body axes in deg/s. Write all rows in one convention.")


@pytest.mark.evidence
@pytest.mark.parametrize("problem", PROBLEMS)
def test_wrong_logs_with_six_digits(problem: str) -> None:
    m = motion(problem, 0.1)
    wrong = [(damage, span, *judged(m, with_few_digits(log))) for damage, span, log in damaged_logs(m)]
    assert [one for one in wrong if one[2]] == []
