"""Collocation of what a torque adds to the free motion of a symmetric body: the same motion, with less to do."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.accuracy import character, search
from polhode.api.simulate import checked_arguments
from polhode.kernels.algebra.trig import sine_cosine
from polhode.kernels.steps.comoving import comoving, size_and_direction
from polhode.kernels.steps.compose import Increments
from polhode.kernels.steps.gauss_collocation import gauss
from polhode.methods import find
from polhode.methods.gauss import in_motion
from tests.contract._measure import EPS, interpreted

MOMENTS = {1: (1.0, 5.0, 5.0), 2: (5.0, 1.0, 5.0), 3: (5.0, 5.0, 1.0)}
RATES = {1: (50.0, 0.3, -0.2), 2: (0.3, 50.0, -0.2), 3: (0.3, -0.2, 50.0)}
POINTS = {1: (0.7, 0.0, 0.0), 2: (0.0, -0.7, 0.0), 3: (0.0, 0.0, 0.7)}
TIMES = [0.0, 0.5, 0.77, 2.0]
START: dict[str, Any] = {"attitude": [0.9, 0.1, 0.3, 0.2], "t_span": (0.0, 2.0)}
TOP = ph.HeavyTop(20.0, point=POINTS[3])
LONG = 0.2
"""A step in which the body turns by ten radians."""
METHOD = "G8(comoving=true)"
FINE = "G8(compensated=true, comoving=true)"


def distance(a: ph.Solution, b: ph.Solution) -> float:
    same = np.sign((a.quaternion * b.quaternion).sum(axis=1))[:, None]
    size = np.linalg.norm(b.omega, axis=1).max()
    return float(max(np.abs(a.quaternion - same * b.quaternion).max(), np.abs(a.omega - b.omega).max() / size))


@pytest.mark.parametrize("method", [METHOD, FINE])
@pytest.mark.parametrize("axis", [1, 2, 3])
def test_the_motion_is_the_same(axis: int, method: str) -> None:
    """Against steps of a method that knows nothing of symmetry, with a truth that is no better than 1e-13."""
    body = ph.Body(MOMENTS[axis])
    given: dict[str, Any] = {"omega": RATES[axis], "t_eval": TIMES, **START}
    slow = [ph.HeavyTop(20.0, POINTS[axis]), ph.OrbitalGravityGradient(1.0), ph.LinearDamping(0.3)]
    fast = [ph.HeavyTop(20.0, (0.3, 0.2, -0.4)), ph.SinusoidalTorque((1.0, 2.0, -1.0), 3.0)]
    for step, torques in ((LONG, slow), (0.04, fast)):
        for torque in torques:
            with interpreted():
                truth = ph.simulate(body, torque, method="DOP853(rtol=1e-14)", step=0.1, **given)
                found = ph.simulate(body, torque, method=method, step=step, **given)
            assert distance(found, truth) < 1e-11


@pytest.mark.parametrize("moments", [(2.0, 2.0, 3.5), (2.0, 2.0, 2.0), (3.0, 2.0, 2.0)])
def test_discs_and_spheres(moments: Any) -> None:
    body, torque = ph.Body(moments), ph.HeavyTop(0.3, (0.2, -0.1, 0.7))
    given: dict[str, Any] = {"omega": (0.7, 1.1, -0.4), "attitude": START["attitude"], "t_span": (0.0, 20.0)}
    with interpreted():
        truth = ph.simulate(body, torque, method="G8", step=0.5, t_eval=[10.0, 20.0], **given)
        found = ph.simulate(body, torque, method=METHOD, step=1.0, t_eval=[10.0, 20.0], **given)
    assert distance(found, truth) < 1e-12


def test_a_tilted_body_is_symmetric_too() -> None:
    body = ph.Body([[3.0, 0.0, 0.0], [0.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    assert body.symmetry_axis in (1, 2, 3)
    given: dict[str, Any] = {"omega": (0.7, 1.1, -0.4), "attitude": START["attitude"], "t_span": (0.0, 20.0)}
    torque = ph.GravityGradient(0.05)
    with interpreted():
        truth = ph.simulate(body, torque, method="G8", step=0.5, t_eval=[10.0, 20.0], **given)
        found = ph.simulate(body, torque, method=METHOD, step=1.0, t_eval=[10.0, 20.0], **given)
    assert distance(found, truth) < 1e-12


def test_other_bodies_are_turned_as_if_nothing_had_been_said() -> None:
    body, given = ph.Body([1.0, 2.0, 2.5]), {"omega": (0.7, 1.1, -0.4), "t_span": (0.0, 5.0), "step": 0.5}
    with interpreted():
        plain, other = (ph.simulate(body, TOP, method=m, **given) for m in ("G8", METHOD))  # type: ignore[arg-type]
    assert np.array_equal(plain.quaternion, other.quaternion)
    assert np.array_equal(plain.momentum, other.momentum)


def test_the_error_is_as_small_as_the_torque_and_falls_by_the_order() -> None:
    """Four nodes at steps at which nothing is round-off, against eight."""
    four = replace(find("G8"), scheme=gauss(4, symmetric=in_motion(4, compensated=False)), options=(), remake=None)

    def error(weight: float, step: float) -> float:
        given: dict[str, Any] = {"omega": (0.3, 0.5, 0.9), "t_span": (0.0, 24.0), "t_eval": [24.0]}
        with interpreted():
            truth = ph.simulate(ph.Body([1, 1, 1.6]), ph.HeavyTop(weight), method=FINE, step=0.5, **given)
            found = ph.simulate(ph.Body([1, 1, 1.6]), ph.HeavyTop(weight), method=four, step=step, **given)
        return distance(found, truth)

    assert 5.0 < error(1e-2, 1.0) / error(1e-3, 1.0) < 20.0
    assert 7.0 < np.log2(error(1e-2, 1.5) / error(1e-2, 0.75)) < 9.0


def test_weak_torques_take_two_iterations_and_none_takes_one() -> None:
    given: dict[str, Any] = {"omega": (0.3, 0.5, 0.9), "t_span": (0.0, 40.0), "step": 2.0}
    with interpreted():
        weak = ph.simulate(
            ph.Body([1, 1, 1.6]), ph.HeavyTop(1e-9), method="G8(tolerance=1e-14, comoving=true)", **given
        )
        free = ph.simulate(ph.Body([1, 1, 1.6]), method=METHOD, **given)
    assert weak.nfev == 8 * 2 * 20
    assert free.nfev == 8 * 20
    there = ph.FreeMotion(ph.Body([1, 1, 1.6]), omega=(0.3, 0.5, 0.9)).at(free.t)
    assert (
        np.abs(np.abs((free.quaternion * there.quaternion).sum(axis=1)) - 1).max() < 20 * EPS
    )  # an untidy norm is left alone


@pytest.mark.parametrize("method", [METHOD, FINE])
def test_torques_that_do_not_react_are_solved_for_the_attitude_too(method: str) -> None:
    """The momentum is right after one iteration, and the angle is known: t + n t^2 / (2 I)."""
    for n, step in ((1e-3, 1.0), (0.1, 1.0), (0.5, 1.0)):
        given: dict[str, Any] = {"omega": (0, 0, 1), "t_span": (0.0, 8.0), "t_eval": [8.0], "step": step}
        with interpreted():
            found = ph.simulate(ph.Body([1, 1, 1.6]), ph.ConstantBodyTorque((0.0, 0.0, n)), method=method, **given)
        half = 0.5 * (8.0 + n * 64.0 / 3.2)
        assert np.abs(found.quaternion[-1] - [np.cos(half), 0.0, 0.0, np.sin(half)]).max() < 1e-13
    body, swing = ph.Body([0.5, 0.5, 0.5]), ph.SinusoidalTorque((0.05, 0.02, -0.03), 2.0)
    given = {"omega": (0.3, 0.5, 0.9), "t_span": (0.0, 6.0), "t_eval": [6.0]}
    with interpreted():
        truth, found = (ph.simulate(body, swing, method=m, step=0.25, **given) for m in ("G8", method))
    assert distance(found, truth) < 1e-13


@ph.torque(depends="time")
def bang(t: float, q: Any, w: Any, p: Any) -> Any:
    """One way, then the other: as much."""
    return (0.0, 0.0, 0.5 if t > 0.0 else -0.5)


def test_a_torque_without_a_mean_is_not_taken_for_none() -> None:
    with interpreted():
        found = ph.simulate(
            ph.Body([1, 1, 1.6]), bang, omega=(0.3, 0.5, 0.9), t_span=(-0.5, 0.5), step=1.0, method=METHOD
        )
    assert found.nfev > 5 * 8


def test_from_rest_and_in_units_of_any_size() -> None:
    body = ph.Body([1, 1, 1.6])
    given: dict[str, Any] = {"attitude": (0.9, 0.4, 0.1, 0.0), "t_span": (0.0, 3.0), "t_eval": [3.0]}
    with interpreted():
        found, truth = (
            ph.simulate(body, ph.HeavyTop(0.5), omega=(0, 0, 0), method=m, step=0.1, **given) for m in (METHOD, "G8")
        )
        assert distance(found, truth) < 1e-13
        unit = ph.simulate(body, ph.HeavyTop(0.05), omega=(0.3, 0.5, 0.9), method=METHOD, step=0.5, **given)
        for size in (1e-40, 1e-49, 1e49):
            other = ph.simulate(
                ph.Body(np.array([1, 1, 1.6]) * size), ph.HeavyTop(0.05 * size), omega=(0.3, 0.5, 0.9), method=METHOD,
                step=0.5, **given,
            )  # fmt: skip
            assert distance(other, unit) < 1e-12
    for m in ((3e-200, 0.0, 4e-200), (3.0, 0.0, 4.0), (3e200, 0.0, 4e200), (0.0, 0.0, 0.0)):
        size, w = size_and_direction(m)
        assert size == pytest.approx(float(np.hypot(m[0], m[2])), rel=4 * EPS)
        assert np.array(w) == pytest.approx([0.6 * (size > 0), 0.0, 0.8 * (size > 0)], abs=4 * EPS)


def test_round_off_does_not_change_the_rate() -> None:
    """The norm of the momentum of a free body after 20,000 equal turns, in which every rounding is the same."""
    body, given = ph.Body([1, 1, 1.6]), {"omega": (0.3, 0.5, 0.9), "t_span": (0.0, 2e4), "t_eval": [2e4], "step": 1.0}
    found = ph.simulate(body, method=FINE, **given)  # type: ignore[arg-type]
    before, after = (np.linalg.norm(m) for m in (found.problem.momentum_start, found.momentum[-1]))
    assert abs(after / before - 1) < 4 * EPS


def test_sine_and_cosine_have_their_own_signs() -> None:
    for x in (0.1, 1.7, 3.0, 4.5, 6.2, 30.0, -2.0, -100.0):
        assert sine_cosine(x) == pytest.approx((np.sin(x), np.cos(x)), abs=2 * EPS)


def test_the_quaternion_does_not_jump_to_the_other_sign() -> None:
    with interpreted():
        found = ph.simulate(ph.Body([1, 1, 1.6]), ph.HeavyTop(0.01), omega=(0.3, 0.2, 0.9), t_span=(0, 30), step=0.5,
                            method=METHOD)  # fmt: skip
    assert (found.quaternion[1:] * found.quaternion[:-1]).sum(axis=1).min() > 0.8


@ph.torque(parameters=[0.3])
def bent(t: float, q: Any, w: Any, p: Any) -> Any:
    """A torque with a branch, which cannot be computed at several nodes at once."""
    return (p[0] * q[1] * q[2], 0.0, -p[0] * w[2]) if q[1] * q[2] > 0.0 else (0.0, -p[0] * w[0], 0.0)


WEIGHT = ph.HeavyTop(1.5, (0.375, -0.25, 0.875))


@pytest.mark.parametrize(
    ("torque", "compensated"),
    [
        # Neither the torque knows of the sums nor they of it: the others are evidence.
        pytest.param(WEIGHT, True, id="in lanes-True"),
        pytest.param(bent, False, id="apart-False", marks=pytest.mark.evidence),
        pytest.param(WEIGHT, False, id="in lanes-False", marks=pytest.mark.evidence),
        pytest.param(bent, True, id="apart-True", marks=pytest.mark.evidence),
    ],
)
def test_nodes_in_lanes_have_the_bits_of_nodes_one_by_one(torque: Any, compensated: bool) -> None:
    def scalar(axis: int) -> Increments:
        return comoving(8, axis, compensated=compensated)._replace(in_lanes=())

    method = find("G8", comoving=True, compensated=compensated)
    assert isinstance(method.scheme, Increments)
    apart = replace(method, scheme=method.scheme._replace(in_lanes=(), symmetric=scalar))
    given: dict[str, Any] = {"omega": [0.9, -0.7, 1.1], "t_span": (0, 20), "step": 0.25, "every": 7}
    lanes, one_by_one = (ph.simulate(ph.Body([1.0, 2.5, 2.5]), torque, method=m, **given) for m in (method, apart))
    assert np.array_equal(lanes.quaternion, one_by_one.quaternion)
    assert np.array_equal(lanes.momentum, one_by_one.momentum)
    assert lanes.nfev == one_by_one.nfev


@pytest.mark.parametrize("method", [METHOD, FINE])
def test_parts_of_a_run_go_on(method: str, tmp_path: Path) -> None:
    """Stopped, saved, continued, asked for times between: but for what steps aside change."""
    body = ph.Body(MOMENTS[3])
    given: dict[str, Any] = {"omega": RATES[3], "attitude": START["attitude"], "step": LONG, "method": method}
    with interpreted():
        whole = ph.simulate(body, TOP, t_span=(0.0, 4.0), **given)
        half = ph.simulate(body, TOP, t_span=(0.0, 2.0), **given)
        half.save(tmp_path / "half.nc")
        for part in (half, ph.load(tmp_path / "half.nc")):
            joined = ph.resume(part, 4.0)
            assert distance(joined, whole) < 1e-13
            assert joined.nfev == whole.nfev
        listed = ph.simulate(body, TOP, t_span=(0.0, 4.0), t_eval=[0.33, 1.0, 3.3], **given)
        between = whole.at([0.33, 1.0, 3.3])
        assert np.abs(listed.quaternion - between.quaternion).max() < 1e-12
        watched = ph.simulate(body, TOP, t_span=(0.0, 4.0), events=lambda t, q, w: q[1], **given)
        assert distance(watched, whole) < 1e-13
        assert watched.events[0].t.size > 0


def test_many_of_them() -> None:
    """As one by one, if all are symmetric about the same axis, and like any others if one is not."""
    rates = np.array(RATES[3]) + np.arange(9)[:, None] * [0.1, -0.2, 0.3]
    given: dict[str, Any] = {"method": METHOD, "t_eval": TIMES, **START}
    body = ph.Body(MOMENTS[3])
    with interpreted():
        many = ph.ensemble(body, TOP, omega=rates, step=LONG, **given)
        for k in (0, 8):
            one = ph.simulate(body, TOP, omega=rates[k], step=LONG, **given)
            assert np.array_equal(many[k].quaternion, one.quaternion)
            assert np.array_equal(many[k].momentum, one.momentum)
        mixed = ph.ensemble([body, ph.Body([5.0, 5.2, 1.0])], TOP, omega=rates[:2], step=0.02, **given)
        one = ph.simulate(body, TOP, omega=rates[0], step=0.02, **given)
        assert distance(mixed[0], one) < 1e-11


@ph.torque(parameters=[0.1])
def off_axis(t: float, q: Any, w: Any, p: Any) -> Any:
    """A force along the third axis of space, at a point of the first axis of the body."""
    u = ph.to_body(q, (0.0, 0.0, 1.0))
    return (0.0, -p[0] * u[2], p[0] * u[1])


@ph.torque(parameters=[0.1])
def on_axis(t: float, q: Any, w: Any, p: Any) -> Any:
    """The same at a point of the third axis."""
    u = ph.to_body(q, (0.0, 0.0, 1.0))
    return (p[0] * u[1], -p[0] * u[0], 0.0)


@ph.torque(depends="time")
def late(t: float, q: Any, w: Any, p: Any) -> Any:
    """Fixed in the body, from some time on."""
    return (0.1 if t > 0.5 else 0.0, 0.0, 0.0)


@ph.torque
def raising(t: float, q: Any, w: Any, p: Any) -> Any:
    """Not to be had."""
    raise ValueError("no torque")


@pytest.mark.parametrize(
    ("torque", "ignores"),
    [
        (TOP, True), (ph.GravityGradient(2.0), True), (ph.OrbitalGravityGradient(1.0), True), (on_axis, True),
        (ph.CoulombSoftWall(), True), (ph.LinearDamping(0.1), True), (ph.ConstantSpaceTorque((1.0, 2.0, 3.0)), True),
        (ph.HeavyTop(20.0, point=(0.1, 0.0, 0.7)), False), (ph.ConstantBodyTorque((1.0, 0.0, 0.0)), False),
        (ph.ConstantBodyTorque((0.0, 0.0, 1.0)), True), (off_axis, False), (bang, True), (late, False),
        (raising, False),
    ],
)  # fmt: skip
def test_whether_a_torque_ignores_the_spin_is_seen(torque: Any, ignores: bool) -> None:
    run = checked_arguments(ph.Body(MOMENTS[3]), torque, omega=RATES[3], t_span=(0.0, 1.0), rtol=1e-6)[0]
    assert character.ignores_spin(run, 3) == ignores
    assert not character.ignores_spin(run.replace(torque=ph.HeavyTop(1.0, POINTS[1])), 3)


def test_a_torque_with_a_plain_number_runs_in_lanes() -> None:
    """Whatever the axis, and whatever was asked before: there the zero of `on_axis` is that of a row."""
    for moments in ([1, 1, 1.6], [1.6, 1, 1], [1, 1, 1]):
        given: dict[str, Any] = {"omega": (0.3, 0.5, 0.9), "t_span": (0.0, 2.0), "step": 1.0, "method": METHOD}
        assert search.nodes_compile_together(
            checked_arguments(ph.Body(moments), on_axis, **given)[0], find(METHOD), None
        )


def test_a_tolerance_finds_the_long_steps() -> None:
    body = ph.Body(MOMENTS[3])
    span: dict[str, Any] = {"t_span": (0.0, 100.0), "t_eval": [50.0, 100.0]}  # so long that no single program answers
    found = ph.simulate(body, TOP, omega=RATES[3], rtol=1e-9, **span)
    assert "comoving" in found.method
    assert abs(found.plan.step) * 50.0 > 4.0  # with the spin in them, steps are of two radians at most
    truth = ph.simulate(body, TOP, omega=RATES[3], method="G8(compensated=true)", step=0.02, **span)
    assert found.error_estimate is not None
    assert distance(found, truth) < found.error_estimate < 1e-9


def test_a_torque_of_no_size_has_an_answer() -> None:
    for omega in ((0.3, 0.5, 0.9), (0.0, 0.0, 0.0)):
        given: dict[str, Any] = {"omega": omega, "t_span": (0.0, 5.0), "t_eval": [5.0], "rtol": 1e-8}
        with interpreted():
            found = ph.simulate(ph.Body([1, 1, 1.6]), ph.HeavyTop(0.0), **given)
        truth = ph.FreeMotion(ph.Body([1, 1, 1.6]), omega=omega).at(found.t)
        assert abs((found.quaternion * truth.quaternion).sum()) == pytest.approx(1.0, abs=1e-12)
