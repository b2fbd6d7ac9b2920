"""Sampled control: a law looks at the body at regular times, and its torque is held in between."""

import math
import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import polhode as ph
from polhode.support.arrays import Floats

TENSOR = np.array([[2.0, 0.1, 0.2], [0.1, 3.0, -0.15], [0.2, -0.15, 4.0]])
GAINS = [2.0, 3.0, 0.1]
START: dict[str, Any] = {"omega": [0.1, 0.2, 0.3], "t_span": (0.0, 2.05)}
PERIOD = 0.1
WORD: Any = "law"


def law(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
    """A controller that remembers the sum of the errors."""
    x = -p[0] * q[1] - p[1] * w[0] - p[2] * z[0]
    y = -p[0] * q[2] - p[1] * w[1] - p[2] * z[1]
    return (x, y, -p[0] * q[3] - p[1] * w[2]), (z[0] + q[1], z[1] + q[2])


def steady(t: float, q: Any, w: Any, p: Any) -> Any:
    """A controller without a memory."""
    return (-2.0 * q[1] - 3.0 * w[0], -2.0 * q[2] - 3.0 * w[1], -2.0 * q[3] - 3.0 * w[2])


def control(*, compiled: bool = True, phase: float = 0.0) -> ph.Sampled:
    return ph.Sampled(PERIOD, law, {"ix": 0.0, "iy": 0.5}, parameters=GAINS, compiled=compiled, phase=phase)


def truth(t_end: float, phase: float = 0.0) -> tuple[Floats, Any, Any, int]:
    """Returns quaternion and rate, torque and memory at the end, by SciPy from sample to sample; and their number."""
    inverse = np.linalg.inv(TENSOR)
    y, z, t, samples = np.array([1.0, 0.0, 0.0, 0.0, *START["omega"]]), (0.0, 0.5), 0.0, 0
    times = [0.0, *(x for x in phase + PERIOD * np.arange(-1, 1000) if 1e-9 < x < t_end - 1e-9), t_end]
    for begin, end in pairwise(times):
        q = y[:4] / np.linalg.norm(y[:4])
        n, z = law(t, tuple(q), tuple(y[4:]), GAINS, z)
        samples += 1

        def f(t: float, y: Floats, n: Any = n) -> Floats:
            a, b, c, d = y[:4]
            x, y_, z_ = y[4:]
            dq = [-b * x - c * y_ - d * z_, a * x + c * z_ - d * y_, a * y_ + d * x - b * z_, a * z_ + b * y_ - c * x]
            dw = inverse @ (np.array(n) - np.cross(y[4:], TENSOR @ y[4:]))
            return np.concatenate([0.5 * np.array(dq), dw])

        y = solve_ivp(f, (begin, end), y, method="DOP853", rtol=1e-12, atol=1e-14).y[:, -1]
        t = end
    return y, n, z, samples


def is_right(s: ph.Solution, allowed: float, phase: float = 0.0) -> None:
    y, n, z, _ = truth(2.05, phase)
    assert np.abs(s.omega[-1] - y[4:]).max() < allowed
    assert np.abs(s.state[-1, :3] - n).max() < 5 * allowed
    assert np.abs(s.state[-1, 3:5] - z).max() < 5 * allowed


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "python"])
@pytest.mark.parametrize(
    ("how", "allowed"), [({"method": "Strang", "step": 0.01}, 1e-6), ({"method": "RK4", "step": 0.02}, 1e-10)]
)
def test_torque_is_held_from_sample_to_sample(how: dict[str, Any], allowed: float, compiled: bool) -> None:
    s = ph.simulate(ph.Body(TENSOR), control(compiled=compiled), **START, **how)
    is_right(s, allowed)
    assert s.state_names == ("torque_x", "torque_y", "torque_z", "ix", "iy", "sample")
    assert s.state[-1, -1] == 20.0


def test_samples_have_a_phase_and_the_first_is_at_the_start() -> None:
    s = ph.simulate(ph.Body(TENSOR), control(phase=0.03), method="RK4", step=0.02, **START)
    is_right(s, 1e-10, phase=0.03)
    assert s.state[1, -1] == -1.0  # of the sample that was due at t = -0.07, and was taken at the start


def test_tolerance_has_an_honest_estimate() -> None:
    s = ph.simulate(ph.Body(TENSOR), control(), rtol=1e-8, **START)
    assert s.error_estimate is not None
    assert s.error_estimate < 1e-8
    y, *_ = truth(2.05)
    assert np.abs(s.omega[-1] - y[4:]).max() / 0.4 < s.error_estimate


def test_choice_knows_the_torque_of_the_first_sample() -> None:
    """Nothing is held at the very start, but the torque is not weak: a method for strong ones is right."""
    for compiled in (True, False):
        s = ph.simulate(ph.Body(TENSOR), control(compiled=compiled), rtol=1e-9, **START)
        assert s.error_estimate is not None
        assert s.error_estimate < 1e-9
        assert s.nfev < 5000


@pytest.mark.evidence
def test_samples_beside_a_torque_that_bends() -> None:
    """Steps end where it bends, and remember more than they do without: there is room for that."""

    @ph.torque
    def kink(t: float, q: Any, w: Any, p: Any) -> Any:
        return (0.3 * abs(w[0] - 0.06), 0.0, 0.0)

    s = ph.simulate(ph.Body(TENSOR), kink + control(), method="DOP853", step=0.05, **START)
    assert len(s.memory) > 4 + len(s.state_names)
    assert 500 < s.nfev < 5000
    fine = ph.simulate(ph.Body(TENSOR), kink + control(), method="RK4", step=1e-4, **START)
    np.testing.assert_allclose(s.omega[-1], fine.omega[-1], rtol=0, atol=1e-9)


@pytest.mark.evidence
def test_numbers_beside_samples_have_honest_errors() -> None:
    """The number of a sample is a count: errors of other carried numbers are not relative to it."""

    @ph.torque(state=["wave"])
    def wave(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
        return (0.0, 0.0, 0.0), 0.4 * math.cos(40.0 * t)

    total = wave + ph.Sampled(PERIOD, steady)
    s = ph.simulate(ph.Body(TENSOR), total, state={"wave": 0.0}, rtol=1e-8, **START)
    assert s.error_estimate is not None
    assert np.abs(s.state[:, 0] - 0.01 * np.sin(40.0 * s.t)).max() / 0.01 < s.error_estimate < 1e-8
    assert s.state[1, -1] == 0.0  # the first sample was taken at the start


@pytest.mark.evidence
@pytest.mark.parametrize("step", [0.01, 0.02, 0.05])
def test_implicit_steps_begin_anew_at_samples(step: float) -> None:
    """The last step before a sample may be shorter than round-off; the next one is not measured by it."""
    s = ph.simulate(ph.Body(TENSOR), control(), method="Radau", step=step, **START)
    is_right(s, 1e-8)


def test_times_between_and_continued_runs_are_the_run(tmp_path: Path) -> None:
    """Also at a sample, where the row has what was held before it, and where a time misses a sample by its rounding."""
    body, how = ph.Body([2.0, 3.0, 4.0]), {"method": "RK4", "step": 0.02}
    times = [0.3, 0.30000000000000004, 0.31, 1.234, 1.9999999]
    whole = ph.simulate(body, control(), **START, **how)  # type: ignore[arg-type]
    listed = ph.simulate(body, control(), t_eval=times, **START, **how)  # type: ignore[arg-type]
    np.testing.assert_allclose(whole.at(times).state, listed.state, rtol=0, atol=1e-14)
    np.testing.assert_allclose(listed.at(times[2:]).state, listed.state[2:], rtol=0, atol=1e-14)
    for t in (0.7, 0.71):
        first = ph.simulate(body, control(), omega=START["omega"], t_span=(0.0, t), **how)  # type: ignore[arg-type]
        np.testing.assert_allclose(ph.resume(first, 2.05).state[-1], whole.state[-1], rtol=0, atol=1e-12)
    whole.save(tmp_path / "run.nc")
    back = ph.load(tmp_path / "run.nc", torque=control())
    np.testing.assert_array_equal(back.at(1.234).state, whole.at(1.234).state)


def test_samples_among_other_torques() -> None:
    """A sum with a torque of the attitude; while the controller is off it takes no samples."""
    total = ph.GravityGradient(0.3) + control().during(0.5, 1.0)
    s = ph.simulate(ph.Body(TENSOR), total, method="RK4", step=0.02, t_eval=[0.0, 0.45, 0.95, 1.5, 2.0], **START)
    sample = s.state[:, -1]
    assert sample[1] < -1e9
    assert sample[2] == 9.0
    assert sample[3] == sample[4] == 9.0
    np.testing.assert_allclose(s.torque_of("law")[3:], 0.0)
    np.testing.assert_allclose(s.torque_of("law")[2], s.state[2, :3])


def test_two_controllers_of_different_periods() -> None:
    """Each has its own number of samples, under its own name."""
    total = ph.Sampled(0.1, steady) + 0.5 * ph.Sampled(0.25, law, ["ix", "iy"], parameters=GAINS)
    s = ph.simulate(ph.Body(TENSOR), total, method="RK4", step=0.02, **START)
    last = dict(zip(s.state_names, s.state[-1], strict=True))
    assert last["steady_sample"] == 20.0
    assert last["law_sample"] == 8.0


def test_many_bodies_are_sampled_in_lanes() -> None:
    rates = np.array([[0.1, 0.2, 0.3], [0.3, -0.1, 0.2], [0.0, 0.4, 0.1]]).repeat(4, axis=0)
    many = ph.ensemble(ph.Body(TENSOR), control(), omega=rates, t_span=(0.0, 2.05), method="RK4", step=0.02)
    assert many.lanes > 1
    for k in (0, 7, 11):
        one = ph.simulate(ph.Body(TENSOR), control(), omega=rates[k], t_span=(0.0, 2.05), method="RK4", step=0.02)
        np.testing.assert_allclose(many.state[k, -1], one.state[-1], rtol=0, atol=1e-14)
    with pytest.raises(ValueError, match="called in Python"):
        ph.ensemble(ph.Body(TENSOR), control(compiled=False), omega=rates, t_span=(0.0, 1.0), method="RK4", step=0.02)


def test_laws_of_an_ensemble_remember_their_own_numbers_at_the_start() -> None:
    laws = [ph.Sampled(PERIOD, law, {"ix": x, "iy": 0.5}, parameters=GAINS) for x in (0.0, 0.3)]
    how: dict[str, Any] = {"method": "RK4", "step": 0.02, **START}
    many = ph.ensemble(ph.Body(TENSOR), laws, **how)
    for k in (0, 1):
        one = ph.simulate(ph.Body(TENSOR), laws[k], **how)
        np.testing.assert_allclose(many.state[k, -1], one.state[-1], rtol=0, atol=1e-14)


def test_a_body_that_is_brought_to_rest_stays_there() -> None:
    """Its momentum becomes too small for the exact flow to compute with its powers."""
    s = ph.simulate(
        ph.Body([2.0, 3.0, 4.0]), ph.Sampled(0.1, steady), omega=[0.1, 0.2, 0.3], t_span=(0.0, 600.0), method="Strang",
        step=0.1, every=1000,
    )  # fmt: skip
    assert np.abs(s.omega[-1]).max() < 1e-30


def test_a_law_that_raises_keeps_what_was_computed() -> None:
    class Broken(Exception):
        """What the law raises."""

    def failing(t: float, q: Any, w: Any, p: Any) -> Any:
        if t > 1.0:
            raise Broken("no fuel")
        return (0.0, 0.1, 0.0)

    torque = ph.Sampled(PERIOD, failing, compiled=False)
    with pytest.raises(Broken, match="no fuel") as raised:
        ph.simulate(ph.Body(TENSOR), torque, method="RK4", step=0.02, **START)
    solution: ph.Solution = raised.value.solution  # type: ignore[attr-defined]
    assert solution.t_last == pytest.approx(1.1)
    assert solution.t.size > 50


def test_a_compiled_law_that_returns_nan_is_named_and_the_state_before_it_is_kept() -> None:
    def failing(t: float, q: Any, w: Any, p: Any) -> Any:
        return (0.1, 0.1 * math.sqrt(1.05 - t) if t < 1.05 else math.nan, 0.0)

    with pytest.raises(ph.SimulationFailed, match="returned torque_y = nan in a sample") as failed:
        ph.simulate(ph.Body(TENSOR), ph.Sampled(PERIOD, failing), method="RK4", step=0.02, **START)
    s = failed.value.solution
    assert s.t_last == pytest.approx(1.1)
    assert np.isfinite(s.last_state).all()


def test_repr_pickle_and_parameters() -> None:
    torque = ph.Sampled(PERIOD, steady)
    assert repr(torque) == "<torque steady, sampled every 0.1 s>"
    assert pickle.loads(pickle.dumps(torque)) == torque
    assert control().with_parameters([1.0, 1.0, 0.0]) != control()


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: ph.Sampled(0.0, steady), ValueError, "period must be positive, in s, not 0"),
        (lambda: ph.Sampled(-1.0, steady), ValueError, "not -1"),
        (lambda: ph.Sampled(math.nan, steady), ValueError, "period"),
        (lambda: ph.Sampled(0.1, law), TypeError, "needs their names"),
        (lambda: ph.Sampled(0.1, steady, ["a"]), TypeError, r"\(t, q, w, p, z\)"),
        (lambda: ph.Sampled(0.1, WORD, compiled=False), TypeError, "a law is called with"),
        (lambda: ph.Sampled(0.1, law, compiled=False), TypeError, r"unlike law\(t"),
        (lambda: ph.Sampled(0.1, law, {"sample": 0.0, "b": 0.0}), ValueError, "'sample' is taken"),
        (lambda: run(control(), t_span=(1.0, 0.0), step=-0.02), ValueError, "cannot run backward"),
        (lambda: run(control(), method="Strang(corrector=17)"), ValueError, "has a corrector"),
        (lambda: run(ph.Sampled(1e-9, steady)), ValueError, "has 2e.09 samples from 0 to 2.05 s"),
        (lambda: run(returning(None)), ValueError, "3 numbers as torque, not None"),
        (lambda: run(returning((1.0, 2.0))), ValueError, "3 numbers as torque"),
        (lambda: run(returning((1.0, 2.0, math.nan))), ValueError, "not all finite"),
    ],
)
def test_bad_input(make: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        make()


def run(torque: ph.Sampled, **how: Any) -> Any:
    return ph.simulate(ph.Body(TENSOR), torque, **{"method": "RK4", "step": 0.02, **START, **how})


def returning(what: Any) -> ph.Sampled:
    return ph.Sampled(PERIOD, lambda t, q, w, p: what, compiled=False)
