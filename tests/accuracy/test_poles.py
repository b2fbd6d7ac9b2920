"""Torques that become infinite: a search ends soon, says where, and keeps what was computed."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.accuracy.character import _has_peak

TILTED = ph.Body([[2.0, 0.3, 0.1], [0.3, 3.0, 0.2], [0.1, 0.2, 4.0]])
POLE = 0.5


def pole(t: float, q: Any, w: Any, p: Any) -> tuple[float, float, float]:
    return 1.0 / abs(t - 0.5) ** p[0], 0.0, 0.0


@pytest.mark.filterwarnings("ignore::polhode.ShortSteps")
@pytest.mark.parametrize(("power", "rtol"), [(1.0, 1e-4), (1.0, 1e-10), (2.0, 1e-12), (3.0, 1e-9)])
def test_a_pole_ends_the_run_before_it(power: float, rtol: float) -> None:
    acting = ph.torque(pole, parameters=[power])
    with pytest.raises(ph.SimulationFailed, match="the torque may be infinite there") as caught:
        ph.simulate(TILTED, acting, omega=[0.1, 2.0, 0.0], t_span=(0, 1), t_eval=[0.2, 0.4, 0.9], rtol=rtol)
    kept = caught.value.solution
    assert kept.t.tolist() == [0.2, 0.4]
    assert POLE - 1e-4 < kept.t_last <= POLE
    assert f"at t = {kept.t_last:.12g}" in kept.message
    assert kept.stats.steps < 4_000_000  # some seconds


@pytest.mark.filterwarnings("ignore::polhode.ShortSteps")
def test_where_a_run_gets_stuck_does_not_depend_on_the_clock() -> None:
    given: dict[str, Any] = {"omega": [0.1, 2.0, 0.0], "t_span": (0, 1), "t_eval": [0.2], "rtol": 1e-9}
    ends = set()
    for _ in range(2):
        with pytest.raises(ph.SimulationFailed) as caught:
            ph.simulate(TILTED, ph.torque(pole, parameters=[3.0]), **given)
        ends.add((caught.value.solution.stats.steps, caught.value.solution.t_last))
    assert len(ends) == 1


@pytest.mark.filterwarnings("ignore::polhode.ShortSteps")
@pytest.mark.parametrize(("power", "steps"), [(1.0, 100_000), (2.0, 800_000)])
def test_bodies_before_a_pole_are_not_refined(power: float, steps: int) -> None:
    omega = np.random.default_rng(0).normal(size=(5, 3))
    made = ph.ensemble(
        TILTED, ph.torque(pole, parameters=[power]), omega=omega, t_span=(0, 1), t_eval=[0.4, 1.0], rtol=1e-9
    )
    assert not made.success.any()
    assert (made.steps < steps).all()
    assert np.isfinite(made.quaternion[:, 0]).all()
    assert all("the torque may be infinite there" in message for message in made.messages.values())


def inverse_distance(place: float, x: float) -> float:
    return 0.0 if x == place else 1.0 / abs(x - place)


def test_peaks_between_looks_are_seen() -> None:
    looks = list[float]()

    def seen(f: Any) -> Any:
        def size(x: float) -> float:
            looks.append(x)
            return float(f(x))

        return size

    for place in np.linspace(6.51, 7.49, 50).tolist():
        assert _has_peak(partial(inverse_distance, place), 7, 1e4)
    assert not _has_peak(seen(lambda x: 2.0 + math.sin(x)), 8, 100.0)
    before = len(looks)
    assert not _has_peak(seen(lambda x: 1.0), 8, 100.0)
    assert len(looks) == before + 5  # most torques are smooth, and looks take time
