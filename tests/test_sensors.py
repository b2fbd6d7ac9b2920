"""Sensors: their noise against the variances that are asked for, their walk, delays, limits, and what they draw."""

from typing import Any

import numpy as np
import pytest

import polhode as ph

BODY = ph.Body([1.0, 2.0, 2.8])
MOTION = ph.FreeMotion(BODY, omega=[0.1, 0.5, 0.2])
T = np.arange(0.0, 200.0, 0.5)
DOWN = (0.0, 0.0, 1.0)


def test_a_gyro_has_the_noise_and_the_walk_that_are_asked_for() -> None:
    truth = MOTION.at(T).omega
    white = ph.sensors.Gyro(period=0.5, noise=1e-3, seed=4).measure(MOTION, T).value - truth
    assert white.std() == pytest.approx(1e-3 / np.sqrt(0.5), rel=0.06)
    assert abs(np.mean(white[1:] * white[:-1])) < 4.0 * white.var() / np.sqrt(white.size)
    walk = ph.sensors.Gyro(period=0.5, walk=1e-3, bias=(0.1, 0.2, 0.3), seed=4)
    drift = np.array([walk.measure(MOTION, T, body=k).value[[100, -1]] - truth[[100, -1]] for k in range(40)])
    spread = (drift[:, 1] - drift[:, 0]).var()
    assert spread == pytest.approx(1e-6 * (T[-1] - T[100]), rel=0.4)
    assert drift[:, 0].mean(axis=0) == pytest.approx([0.1, 0.2, 0.3], abs=5e-3)
    reader = walk.reader()
    last = [reader(t, q, w) for t, q, w in zip(T, MOTION.at(T).quaternion, truth, strict=True)][-1]
    white_of_walk = 1e-3 * np.sqrt(0.5)
    assert np.abs(last.value - truth[-1] - reader.bias).max() < 5 * white_of_walk  # type: ignore[attr-defined]


def test_a_gyro_has_scale_misalignment_resolution_and_limit() -> None:
    w = MOTION.at([3.0]).omega[0]
    skewed = ph.sensors.Gyro(period=1.0, scale=(0.01, 0, -0.02), misalignment=(0, 0, 0.1))
    found = skewed.measure(MOTION, [3.0]).value[0]
    assert found == pytest.approx([1.01 * (w[0] + 0.1 * w[1]), w[1] - 0.1 * w[0], 0.98 * w[2]], rel=1e-13)
    coarse = ph.sensors.Gyro(period=1.0, resolution=0.03, limit=0.31).measure(MOTION, T).value
    assert np.abs(coarse / 0.03 - np.round(coarse / 0.03)).max() < 1e-9
    assert np.abs(coarse).max() <= 0.31


def test_a_star_tracker_errs_more_about_its_boresight() -> None:
    tracker = ph.sensors.StarTracker(period=0.5, across=1e-4, about=1e-3, boresight=(1, 0, 0), seed=8)
    found, true = tracker.measure(MOTION, T).value, MOTION.at(T).attitude
    from scipy.spatial.transform import Rotation

    off = (true.inv() * Rotation.from_quat(found, scalar_first=True)).as_rotvec()
    assert off.std(axis=0) == pytest.approx([1e-3, 1e-4, 1e-4], rel=0.12)


def test_delays_and_drop_outs() -> None:
    late = ph.sensors.StarTracker(period=0.5, delay=1.0).measure(MOTION, T)
    assert late.valid.tolist() == [False, False] + [True] * (T.size - 2)
    assert np.array_equal(late.taken[2:], T[:-2])
    assert np.abs(late.value[2:] - MOTION.at(T[:-2]).quaternion).max() < 1e-15
    seen = ph.sensors.StarTracker(period=0.5, drop_out=0.3, seed=2).measure(MOTION, T).valid
    assert seen.mean() == pytest.approx(0.7, abs=0.08)
    assert not ph.sensors.StarTracker(period=0.5, rate_limit=0.2).measure(MOTION, T).valid.any()


def test_vectors_are_seen_in_body_axes() -> None:
    q = MOTION.at(T).attitude
    field = ph.sensors.Magnetometer(lambda t: [3e-5, 1e-6 * t, 0], period=1.0, bias=(1e-6, 0, 0), noise=1e-8, seed=1)
    true = q.inv().apply(np.stack([np.full(T.size, 3e-5), 1e-6 * T, 0 * T], axis=1)) + np.array([1e-6, 0, 0])
    assert (field.measure(MOTION, T).value - true).std() == pytest.approx(1e-8, rel=0.06)
    ahead = ph.sensors.SunSensor(DOWN, period=1.0, boresight=DOWN, field_of_view=0.5, noise=1e-3, seed=3)
    readings, inside = ahead.measure(MOTION, T), q.inv().apply(DOWN)
    assert np.array_equal(readings.valid, inside[:, 2] >= np.cos(0.5))
    assert np.isnan(readings.value[~readings.valid]).all()
    lengths = np.linalg.norm(readings.value[readings.valid], axis=1)
    assert np.abs(lengths - 1).max() < 1e-15
    dark = ph.sensors.SunSensor(DOWN, period=1.0, seen=lambda t: t < 5).measure(MOTION, T)
    assert np.array_equal(dark.valid, T < 5)
    nadir = ph.sensors.HorizonSensor(ph.Table([0, 300], [DOWN, DOWN], kind="linear", frame="space"), period=1.0)
    assert np.abs(nadir.measure(MOTION, T).value - inside).max() < 1e-14


def test_readings_do_not_depend_on_how_they_are_asked_for() -> None:
    gyro = ph.sensors.Gyro(period=0.5, noise=1e-3, walk=1e-4, seed=5)
    whole, part = gyro.measure(MOTION, T, body=3), gyro.measure(MOTION, T[:20], body=3)
    assert np.array_equal(whole.value[:20], part.value)
    assert not np.array_equal(gyro.measure(MOTION, T[:20], body=2).value, part.value)
    reader, state = gyro.reader(3), MOTION.at(T[:20])
    rows = [reader(*row).value for row in zip(T[:20], state.quaternion, state.omega, strict=True)]
    assert np.array_equal(rows, part.value)


def test_sensors_of_two_kinds_have_errors_of_their_own() -> None:
    pair = (ph.sensors.Magnetometer((0, 0, 3e-5), 1.0, noise=1e-8), ph.sensors.SunSensor(DOWN, 1.0, noise=1e-8))
    ideal = MOTION.at(T).attitude.inv().apply(DOWN)
    errors = [s.measure(MOTION, T).value / size - ideal for s, size in zip(pair, (3e-5, 1.0), strict=True)]
    assert abs(np.corrcoef(errors[0][:, 0], errors[1][:, 0])[0, 1]) < 4.0 / np.sqrt(T.size)


@pytest.mark.usefixtures("plain")
def test_sensors_in_a_loop_and_on_a_solution() -> None:
    gyro = ph.sensors.Gyro(period=0.1, noise=1e-3, seed=5)
    run = ph.simulate(BODY, omega=[0.1, 0.5, 0.2], t_span=(0, 1), method="RK4", step=0.1)
    after = gyro.measure(run)
    assert after.t.size == 11
    loop, reader = ph.Stepper(BODY, omega=[0.1, 0.5, 0.2], method="RK4", step=0.1), gyro.reader()
    rows = []
    for k in range(11):
        rows.append(reader(loop.t, loop.quaternion, loop.omega).value)
        if k < 10:
            loop.step()
    assert np.abs(np.array(rows) - after.value).max() < 1e-14


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ph.sensors.Gyro(period=1.0, noise=-1e-3), "the noise of a Gyro must not be negative, not -0.001"),
        (lambda: ph.sensors.Gyro(period=0.0), "the period of a Gyro must be positive, not 0"),
        (lambda: ph.sensors.Gyro(period=1.0, limit=-1.0), "limit of a Gyro must be positive"),
        (lambda: ph.sensors.Gyro(period=1.0, seed=-1), "seed must be a whole number"),
        (lambda: ph.sensors.StarTracker(period=1.0, drop_out=1.5), "drop_out is a probability"),
        (lambda: ph.sensors.StarTracker(period=1.0, boresight=(0, 0, 0)), "boresight"),
        (lambda: ph.sensors.SunSensor([0, 1], period=1.0), "vector"),
        (lambda: ph.sensors.Gyro(period=1.0, seed=2**64), "below 2.64, not 18446744073709551616"),
        (lambda: ph.sensors.Gyro(period=1.0, scale=(0, -1, 0)), "scale is what factors are off by.* not -1"),
        (
            lambda: ph.sensors.Gyro(period=1.0, misalignment=[[1, 0, 0], [0, 1, 0], [1, 1, 0]]),
            "misalignment is singular, with the singular values 1.73, 1, .*: the axes of the sensor lie in a plane",
        ),
        (lambda: ph.sensors.SunSensor(DOWN, 1.0, boresight=DOWN, field_of_view=60), r"take np.radians\(60\)"),
        (lambda: ph.sensors.Magnetometer(ph.Table([0, 9], [DOWN, DOWN]), 1.0), "is in body axes.*frame='space'"),
        (lambda: ph.sensors.Gyro(period=1.0).reader()(0.0, [1, 0, 0, 0], np.zeros((2, 3))), "a reader sees one body"),
        (lambda: ph.sensors.SunSensor(DOWN, 1.0).reader()(0.0, np.zeros((2, 4)), [0, 0, 0]), r"not \(2, 4\)"),
        (lambda: ph.sensors.StarTracker(1.0).reader()(0.0, [1, 0, 0], [0, 0, 0]), r"shape \(4,\), not \(3,\)"),
        (lambda: ph.sensors.Gyro(period=1.0).measure(MOTION, [1, 0]), "t must rise"),
        (lambda: ph.sensors.Gyro(period=1.0).measure(MOTION), "give t"),
    ],
)
def test_what_no_sensor_is(make: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()
