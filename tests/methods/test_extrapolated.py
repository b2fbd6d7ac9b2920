"""The extrapolated midpoint rule: its weights, its order, its forms, and its steps."""

import math
from fractions import Fraction
from itertools import zip_longest
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.kernels.steps.extrapolation import (
    COMPANION,
    NEVER,
    RUN,
    ExtrapolationScheme,
    Layout,
    factor_of,
    tables,
    weights,
)
from polhode.kernels.types import Depends, Params, State
from polhode.run.binding import Binding
from polhode.run.integration import as_kernels_see

BODY = ph.Body([1.0, 2.0, 2.8])
START: dict[str, Any] = {"omega": [0.3, 1.2, -0.8], "attitude": [0.8, 0.2, -0.4, 0.4]}


@ph.torque(parameters=[0.4, 0.1])
def swinging(t: float, q: Any, w: Any, p: Any) -> Any:
    """A torque of time, attitude and rate."""
    return (p[0] * math.sin(t) * q[1], p[0] * q[2] * q[3] - p[1] * w[1], p[1] * math.tanh(w[0]))


@pytest.mark.parametrize("layout", [RUN, COMPANION])
def test_weights_cancel_all_even_powers_below_the_order(layout: Layout) -> None:
    """In exact rationals: sum w = 1, and sum w / n^(2 k) = 0."""
    found = weights(layout.sequences)
    assert layout.sequences == list(range(2, layout.order + 1, 2))
    assert sum(found.values()) == 1
    for k in range(1, layout.order // 2):
        assert sum(w / Fraction(n) ** (2 * k) for n, w in found.items()) == 0
    assert sum(w / Fraction(n) ** layout.order for n, w in found.items()) != 0


@pytest.mark.parametrize("layout", [RUN, COMPANION])
def test_order_on_the_exponential_function(layout: Layout) -> None:
    """In exact rationals, y' = y: the series of a step agrees with that of e^h up to h^order, and no further."""

    def midpoint(n: int) -> list[Fraction]:
        """Returns the coefficients, in powers of h, of n substeps."""
        before, now = [Fraction(1)], [Fraction(1), Fraction(1, n)]
        for _ in range(n - 1):
            shifted = [Fraction(0), *(2 * c / n for c in now)]
            now, before = [a + b for a, b in zip_longest(before, shifted, fillvalue=Fraction(0))], now
        return now

    total = [Fraction(0)]
    for n, w in weights(layout.sequences).items():
        total = [a + w * b for a, b in zip_longest(total, midpoint(n), fillvalue=Fraction(0))]
    exact = [Fraction(1, math.factorial(k)) for k in range(layout.order + 2)]
    assert total[: layout.order + 1] == exact[:-1]
    assert [*total, Fraction(0)][layout.order + 1] != exact[-1]


def test_all_sequences_of_a_lane_fit_into_a_step() -> None:
    """A second one begins where the first ends, and ends with the step."""
    total = max(RUN.first) - 1
    for layout in (RUN, COMPANION):
        for n, m, stop in zip(layout.first, layout.second, layout.stops(total), strict=True):
            assert (stop == NEVER) == (n - 1 == total)
            assert m == 0 or stop + m == total
    rows = tables(RUN, COMPANION)
    assert {len(row) for row in rows} == {8}
    for first in (0, 4):
        part = slice(first, first + 4)
        assert sum(rows.caught[part] + rows.last[part]) == pytest.approx(1.0, abs=1e-12)
        assert sum(rows.caught_error[part] + rows.last_error[part]) == pytest.approx(0.0, abs=1e-12)


def test_order() -> None:
    """One step of a free body beside its exact motion: the error of a step is of one order more."""
    bound = ExtrapolationScheme().bind(lambda *_: (0.0, 0.0, 0.0), Depends.NOTHING)
    rotor = as_kernels_see(BODY, gyrostat=False)
    start = ph.FreeMotion(BODY, START["omega"], START["attitude"])
    q, m = (tuple(x[0].tolist()) for x in (start.at([0.0]).quaternion, start.at([0.0]).momentum))
    exactly = bound.exactly
    assert exactly is not None

    def errors(h: float) -> tuple[float, float]:
        nothing = Params(np.zeros(0), (1.0, 0.0, 0.0, 0.0), (-math.inf, math.inf))
        new, _, _ = exactly(rotor, nothing, 0.0, State(q, m), h, (0.0, 0.0, 0.0, 0.0, 0.0))
        true = start.at([h])
        sign = np.sign(np.dot(new.q, true.quaternion[0]))
        off = (np.array(new.m) - true.momentum[0], sign * np.array(new.q) - true.quaternion[0])
        return float(np.abs(off[0]).max()), float(np.abs(off[1]).max())

    lengths = (1.2, 1.5, 1.9)
    for part in (0, 1):
        found = [errors(h)[part] for h in lengths]
        slope = np.polyfit(np.log(lengths), np.log(found), 1)[0]
        assert slope == pytest.approx(15.5, abs=1.5)  # long steps are not quite in the range of the leading power


@pytest.mark.parametrize("torque", [ph.HeavyTop(0.4), swinging, None])
def test_forms_have_the_same_bits(torque: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sequences in lanes, and one after the other."""
    given: dict[str, Any] = {
        "t_span": (0, 20),
        "t_eval": [3.0, 11.0, 20.0],
        "step": 20.0,
        "method": "GBS(rtol=1e-8)",
        **START,
    }
    lanes = ph.simulate(BODY, torque, **given)
    monkeypatch.setattr(Binding, "forms", property(lambda self: 0))
    plain = ph.simulate(BODY, torque, **given)
    assert (lanes.quaternion == plain.quaternion).all()
    assert (lanes.momentum == plain.momentum).all()
    assert lanes.stats.steps == plain.stats.steps
    assert lanes.nfev == plain.nfev


@pytest.mark.parametrize("rtol", [1e-4, 1e-7, 1e-10])
def test_errors_follow_the_tolerance(rtol: float) -> None:
    """The sum of what steps may err by, over some thirty of them, and no less than a thousandth of one."""
    given: dict[str, Any] = {"t_span": (0, 40), "t_eval": [40.0], **START}
    true = ph.simulate(BODY, swinging, method="G8(compensated=true)", step=0.1, **given)
    found = ph.simulate(BODY, swinging, method=f"GBS(rtol={rtol})", step=40.0, **given)
    error = np.abs(found.omega - true.omega).max()
    assert 1e-3 * rtol < error < 50 * found.stats.steps * rtol


def test_steps_end_where_they_have_to() -> None:
    """No step is much shorter than the others, and the last one ends at the end."""
    run = ph.simulate(BODY, ph.HeavyTop(0.1), t_span=(3, -40), step=-43.0, method="GBS(rtol=1e-8)", **START)
    lengths = -np.diff(run.t)
    assert run.t[-1] == -40.0
    assert lengths[1:].min() > 0.2 * np.median(lengths)
    assert lengths[-1] > 0.4 * np.median(lengths)


def test_a_torque_that_branches_is_taken() -> None:
    @ph.torque
    def valve(t: float, q: Any, w: Any, p: Any) -> Any:
        return (0.1 if q[1] > 0 else -0.1, 0.0, -0.1 * w[2])

    run = ph.simulate(BODY, valve, t_span=(0, 5), t_eval=[5.0], step=5.0, method="GBS(rtol=1e-6)", **START)
    true = ph.simulate(BODY, valve, t_span=(0, 5), t_eval=[5.0], step=5.0, method="DOP853(rtol=1e-10)", **START)
    assert np.abs(run.omega - true.omega).max() < 1e-3


@pytest.mark.parametrize("ratio", [1e-30, 1e-9, 0.3, 1.0, 7.0, 1e5, 1e30, math.nan, math.inf])
def test_factor_is_about_the_root(ratio: float) -> None:
    """Within some percent of 0.8 (tolerance / error)^(1/13), and least where an error is no number."""
    factor = factor_of(1e-18, 1e-18 * ratio, 1.0 / 26.0)
    wanted = 0.8 * ratio ** (-1.0 / 26.0) if math.isfinite(ratio) else 0.0
    assert factor == pytest.approx(min(3.0, max(0.2, wanted)), rel=0.03)


@pytest.mark.parametrize("rtol", [0.0, -1.0, 1.0, math.nan])
def test_bad_tolerances_are_refused(rtol: float) -> None:
    with pytest.raises(ValueError, match=r"rtol of GBS|GBS needs"):
        ph.methods.find("GBS", rtol=rtol)
