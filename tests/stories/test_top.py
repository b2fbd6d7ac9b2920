"""The sleeping top: fast enough it stands upright, slower it falls, and in between it nods and precesses."""

import math
from typing import Any

import numpy as np

import polhode as ph

TOP, WEIGHT = ph.Body([5.0, 5.0, 1.0]), ph.HeavyTop(20.0)
SLOWEST = 2.0 * math.sqrt(20.0 * 1.0 * 5.0) / 1.0
"""Below this spin, in rad/s, no top can sleep: (I3 s)^2 = 4 I1 m g l (Goldstein, section 5.7)."""


def lean(spin: float) -> float:
    """The largest lean, in radians, of a top that begins almost upright."""
    start: dict[str, Any] = {"omega": [0, 0, spin], "attitude": [math.cos(5e-4), math.sin(5e-4), 0, 0]}
    run = ph.simulate(TOP, WEIGHT, t_span=(0, 20), t_eval=np.linspace(0, 20, 400), rtol=1e-8, **start)
    return float(np.arccos(np.clip(run.attitude.apply([0, 0, 1])[:, 2], -1, 1)).max())


def test_a_fast_top_sleeps_and_a_slow_one_falls() -> None:
    assert lean(1.05 * SLOWEST) < 0.01
    assert lean(0.95 * SLOWEST) > 0.3


def test_a_fast_top_precesses_at_the_rate_of_the_textbook() -> None:
    """Its mean rate is m g l / (I3 s), whatever the lean, up to terms of order 1 / s^3."""
    spin, angle = 200.0, 0.6
    run = ph.simulate(
        TOP, WEIGHT, omega=[0, 0, spin], attitude=[math.cos(angle / 2), math.sin(angle / 2), 0, 0], t_span=(0, 50),
        t_eval=np.linspace(0, 50, 4000), rtol=1e-8,
    )  # fmt: skip
    tip = run.attitude.apply([0, 0, 1])
    turned = np.unwrap(np.arctan2(tip[:, 1], tip[:, 0]))
    assert abs((turned[-1] - turned[0]) / 50.0 - 20.0 / spin) < 0.02 * 20.0 / spin
    assert np.ptp(np.arccos(tip[:, 2])) < 0.03  # and it hardly nods
