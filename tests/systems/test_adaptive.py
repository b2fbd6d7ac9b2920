"""Steps of systems that adapt: their errors, their output, what ends them, and events within them."""

import math
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.systems.steps import compiled_method
from tests.systems._problems import interaction, last_state, three_bodies

E = 0.7
"""The eccentricity of the orbit."""


def orbit() -> ph.System:
    """A small sphere at the perigee of an eccentric orbit about a unit mass, which also spins."""
    return ph.System(
        ph.Body([1e-9] * 3), mass=1.0, position=[[1 - E, 0.0, 0.0]],
        velocity=[[0.0, math.sqrt((1 + E) / (1 - E)), 0.0]], omega=[[0.0, 0.0, 0.4]],
    )  # fmt: skip


def kepler(t: Any) -> Any:
    """Where a mass point is on that orbit, by Kepler's equation."""
    m = np.asarray(t, dtype=float)
    u = m + 0.0
    for _ in range(50):
        u = u - (u - E * np.sin(u) - m) / (1 - E * np.cos(u))
    return np.stack([np.cos(u) - E, math.sqrt(1 - E * E) * np.sin(u), 0 * u], axis=-1)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("rtol", [1e-5, 1e-9])
def test_an_eccentric_orbit_has_the_stated_error(rtol: float) -> None:
    times = np.linspace(0.0, 7.0, 8)
    s = ph.simulate_system(orbit(), ph.systems.CentralBody(1.0), t_span=(0, 7), rtol=rtol, t_eval=times)
    error = np.linalg.norm(s.position[:, 0] - kepler(times), axis=1).max() / (2 * E)  # 2 E from perigee to apogee
    assert s.error_estimate is not None
    assert error <= s.error_estimate <= rtol
    assert s.attitude(0).as_rotvec()[:, 2] == pytest.approx(0.4 * times, abs=rtol)
    back = ph.simulate_system(
        s.system.replace(position=s.position[-1], velocity=s.velocity[-1], attitude=s.quaternion[-1]),
        s.forces, t_span=(7, 0), rtol=rtol, t_eval=[0.0],
    )  # fmt: skip
    assert np.abs(back.position[-1] - orbit().position).max() < 100 * rtol


@pytest.mark.parametrize("method", ["Strang", "SABA4", "ABA104"])
def test_equal_steps_have_the_stated_error(method: str) -> None:
    times = np.linspace(0.0, 7.0, 8)
    s = ph.simulate_system(
        orbit(), ph.systems.CentralBody(1.0), t_span=(0, 7), rtol=1e-3, t_eval=times, method=method
    )  # fmt: skip
    error = np.linalg.norm(s.position[:, 0] - kepler(times), axis=1).max() / (1 + E)
    assert s.error_estimate is not None
    assert error <= s.error_estimate <= 1e-3


@pytest.mark.usefixtures("plain")
def test_a_run_in_adapting_steps_goes_on_as_accurate_as_before() -> None:
    central = ph.systems.CentralBody(1.0)
    first = ph.simulate_system(orbit(), central, t_span=(0, 3), rtol=1e-7, t_eval=[3.0])
    whole = ph.resume_system(first, 7.0, t_eval=[5.0, 7.0])
    assert whole.t.tolist() == [3.0, 5.0, 7.0]
    assert whole.step_error == first.step_error
    assert np.abs(whole.position[:, 0] - kepler(whole.t)).max() < 1e-7
    with pytest.raises(ValueError, match="give output times as t_eval, not every"):
        ph.resume_system(first, 7.0, every=3)


@pytest.mark.parametrize(
    ("eccentricity", "phase", "turns", "rtol"),
    [
        (0.99, 4.5, 10, 1e-6),
        (0.95, math.pi, 5, 1e-6),
        (0.999, 0.0, 1, 1e-4),
        (0.999, 0.0, 2, 1e-4),
        (0.999, 0.0, 5, 1e-4),
    ],
)
def test_coarse_runs_that_are_near_each_other_do_not_end_the_search(
    eccentricity: float, phase: float, turns: int, rtol: float
) -> None:
    """Close encounters, which the first two runs miss alike: a warning would be an error here."""
    b, far = math.sqrt(1 - eccentricity**2), 1 - eccentricity * math.cos(phase)
    x = np.array([math.cos(phase) - eccentricity, b * math.sin(phase), 0.0])
    v = np.array([-math.sin(phase), b * math.cos(phase), 0.0]) / far
    pair = ph.System(ph.Body([1, 1, 1]), mass=1.0, position=[x / 2, -x / 2], velocity=[v / 2, -v / 2])
    span = 2 * math.pi * turns
    gravity = ph.pairs(half_inverse, [ph.systems.Site((0, 0, 0), 1.0)])
    s = ph.simulate_system(pair, gravity, t_span=(0, span), rtol=rtol, t_eval=np.linspace(0, span, 11))
    assert s.error_estimate is not None
    assert s.error_estimate <= rtol


def half_inverse(r: float, a: Any, b: Any) -> float:
    return -0.5 / r


@pytest.mark.usefixtures("plain")
def test_an_interrupted_search_keeps_the_whole_run_before() -> None:
    def impatient(done: int, steps: int) -> None:
        assert 0 <= done <= steps
        raise KeyboardInterrupt

    given: dict[str, Any] = {"t_span": (0, 2), "rtol": 1e-6, "t_eval": [1.0, 2.0], "progress": impatient}
    for method, known in ((None, "is not known"), ("KL6(of=Strang)", None)):
        with pytest.raises(ph.SimulationInterrupted) as caught:
            ph.simulate_system(orbit(), ph.systems.CentralBody(1.0), method=method, **given)
        kept: Any = caught.value.solution
        assert str(caught.value).startswith(f"{kept.message}; what was computed")
        if known is not None:  # the run whose progress is shown is the second
            assert kept.t.tolist() == [1.0, 2.0]
            assert known in kept.message
            assert np.abs(kept.position[:, 0] - kepler(kept.t)).max() < 1e-5
            assert not kept.success


@pytest.mark.usefixtures("plain")
def test_an_interrupted_first_run_keeps_its_rows() -> None:
    calls = 0

    def impatient(t: float, x: Any, q: Any, p: Any) -> Any:
        nonlocal calls
        calls += t > 1.6
        if calls > 40:
            raise KeyboardInterrupt
        return -x / np.linalg.norm(x, axis=1)[:, None] ** 3, np.zeros_like(x)

    times = np.linspace(0.0, 3.0, 7)
    with pytest.raises(ph.SimulationInterrupted) as caught:
        ph.simulate_system(orbit(), ph.forces(impatient), t_span=(0, 3), rtol=1e-6, t_eval=times)
    kept: Any = caught.value.solution
    assert 3 <= kept.t.size < 7
    assert kept.t_last >= 1.0
    assert np.abs(kept.position[:, 0] - kepler(kept.t)).max() < 1e-5


@pytest.mark.usefixtures("plain")
def test_all_zeros_within_a_long_step_are_found() -> None:
    """A free body about a principal axis: the quaternion is (cos(w t / 2), 0, 0, sin(w t / 2))."""
    system = ph.System(ph.Body([1.0, 1.0, 2.0]), mass=1.0, position=[[0.0, 0.0, 0.0]], omega=[[0.0, 0.0, 6.0]])

    def scalar_part(t: float, x: Any, q: Any, v: Any, w: Any) -> float:
        return float(q[0, 0])

    def twice(t: float, x: Any, q: Any, v: Any, w: Any) -> float:
        return float(q[0, 0] * q[0, 3])

    s = ph.simulate_system(system, t_span=(0, 3), rtol=1e-6, t_eval=[3.0], events=[scalar_part, twice])
    one, two = (e.t for e in s.events)
    assert one == pytest.approx((2 * np.arange(3) + 1) * math.pi / 6.0, abs=1e-6)
    assert two == pytest.approx(np.arange(1, 6) * math.pi / 6.0, abs=1e-6)
    assert s.stats.steps < 25  # of two runs: fewer than two for each zero


def nothing(r: float, a: Any, b: Any) -> Any:
    return 0.0 * r


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("how", [{"step": 0.1}, {"rtol": 1e-6}])
def test_events_between_bodies_see_the_nearest_image(how: dict[str, Any]) -> None:
    """Two bodies fly apart in a box of ten: 6 apart, they are 4 from each other's image, and meet there."""
    system = ph.System(
        ph.Body([1.0, 1.0, 1.0]), mass=1.0, position=[[-3.0, 0.0, 0.0], [3.0, 0.5, 0.0]],
        velocity=[[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]],
    )  # fmt: skip
    boxed = ph.pairs(nothing, [ph.systems.Site()], cutoff=1.0, box=10.0)
    touch = ph.systems.contact(0, 1, math.hypot(1.5, 0.5))
    s = ph.simulate_system(system, boxed, t_span=(0, 4), events=touch, **how)
    assert s.t_last == pytest.approx(1.25, abs=1e-12)
    s = ph.simulate_system(system, boxed, t_span=(0, 4), events=ph.systems.closest_approach(0, 1), **how)
    assert s.events[0].t == pytest.approx([2.0], abs=1e-12)
    s = ph.simulate_system(system, t_span=(0, 4), events=touch, step=0.5)
    assert s.events[0].t.size == 0
    two = boxed + ph.pairs(nothing, [ph.systems.Site()], cutoff=1.0, box=12.0)
    with pytest.raises(ValueError, match=r"contact of 0 and 1: the forces have boxes of different sides"):
        ph.simulate_system(system, two, t_span=(0, 4), events=touch, step=0.5)
    with pytest.raises(ValueError, match=r"contact of 1 and 1: these are the same body"):
        ph.simulate_system(system, t_span=(0, 4), events=ph.systems.contact(1, 1, 1.0), step=0.5)


def attraction(r: float, a: Any, b: Any) -> Any:
    return -1.0 / r


@pytest.mark.usefixtures("plain")
def test_a_collision_keeps_what_came_before_and_an_event_ends_before_it() -> None:
    """Two mass points fall on each other from rest, at a distance of 1: they meet at pi / (2 sqrt(2 M)), M = 2."""
    system = ph.System(ph.Body([1.0, 1.0, 1.0]), mass=1.0, position=[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    forces, end = ph.pairs(attraction, [ph.systems.Site()]), math.pi / 4
    times = [0.2, 0.4, 0.6, 0.9]
    with pytest.raises(ph.SimulationFailed, match=r"infinite|too short") as caught:
        ph.simulate_system(system, forces, t_span=(0, 1), rtol=1e-6, t_eval=times)
    kept: Any = caught.value.solution
    assert kept.t.tolist() == times[:3]
    assert kept.t_last == pytest.approx(end, abs=1e-3)
    s = ph.simulate_system(system, forces, t_span=(0, 1), rtol=1e-6, events=ph.systems.contact(0, 1, 0.01))
    fall = math.acos(math.sqrt(0.01)) + math.sqrt(0.01 * 0.99)  # of the time for which sqrt(2 M / r^3) is two
    assert s.t_last == pytest.approx(fall / 2.0, abs=1e-6)


@pytest.mark.evidence
@pytest.mark.parametrize("kind", [{}, {"tilted": True}, {"rotor": True}], ids=["plain", "tilted", "rotor"])
def test_nodes_at_once_and_one_after_the_other_agree(kind: dict[str, bool], monkeypatch: pytest.MonkeyPatch) -> None:
    import polhode.systems.system_run as run

    system = three_bodies(**kind)
    given: dict[str, Any] = {"t_span": (0, 4), "step": 0.1, "method": "G8"}
    at_once = ph.simulate_system(system, interaction(), **given)
    monkeypatch.setattr(run, "compiled_method", lambda *a, **k: compiled_method(*a, **k)._replace(in_lanes=None))
    in_turn = ph.simulate_system(system, interaction(), **given)
    assert np.abs(last_state(at_once) - last_state(in_turn)).max() < 1e-13  # round-off: sums have another order
