"""The parts of docs/howto/slosh.md against equations of motion of their own, by SciPy; the other page runs."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.support.arrays import Floats
from tests.docs.test_bodies_pages import blocks, executed

pytestmark = pytest.mark.usefixtures("plain")


@cache
def page_of_slosh() -> dict[str, Any]:
    return executed("slosh")


def turning(q: Floats, w: Floats) -> Floats:
    return 0.5 * np.array([-q[1:] @ w, *(q[0] * w + np.cross(q[1:], w))])


def test_the_panel() -> None:
    """The equations of second order, solved for both accelerations."""
    page = page_of_slosh()
    d, k, c, whole, bent = (page[x] for x in ("coupling", "stiffness", "damping", "whole", "bent"))
    left = np.block([[whole, d[:, None]], [d[None], np.ones((1, 1))]])

    def slope(t: float, y: Floats, control: Floats) -> Floats:
        w, e, speed = y[:3], y[3], y[4]
        right = [*(control - np.cross(w, whole @ w + d * speed)), -k * e - c * speed]
        acceleration = np.linalg.solve(left, right)
        return np.array([*acceleration[:3], speed, acceleration[3]])

    y = np.array([0.0, 0.0, 0.01, 0.0, 0.0])
    for (begin, end), push in (((0, 5), 4.0), ((5, 40), 0.0)):
        control = np.array([0.0, push, 0.0])
        y = solve_ivp(slope, (begin, end), y, args=(control,), method="DOP853", rtol=1e-11, atol=1e-14).y[:, -1]
    np.testing.assert_allclose(bent.omega[-1], y[:3], rtol=0.0, atol=1e-7 * np.abs(bent.omega).max())
    np.testing.assert_allclose(bent.state[-1, 1], y[3], rtol=0.0, atol=1e-7 * np.abs(bent.state[:, 1]).max())
    assert np.abs(bent.state[:, 1]).max() > 0.02  # it bends


def in_space(page: dict[str, Any], numbers: Floats, end: float) -> tuple[Floats, Floats]:
    """Attitude and rate, and the place of the bob in body axes, by two bodies in space with a rod between them."""
    m, rest, _, ax, ay, az, friction, thrust, push = numbers
    a, inertia = np.array([ax, ay, az]), np.diag(page["tank"].tensor)
    w0, x0 = page["rate"], page["hung"]

    def slope(t: float, y: Floats) -> Floats:
        q, w, place, velocity, bob, bob_velocity = y[:4], y[4:7], y[7:10], y[10:13], y[13:16], y[16:]
        r = Rotation.from_quat(np.roll(q, -1)).as_matrix()
        spin, arm = r @ w, r @ a
        rod, hinge = bob - place - arm, velocity + np.cross(spin, arm)
        apart = bob_velocity - hinge
        drag = -friction * (bob_velocity - velocity - np.cross(spin, bob - place))  # on the bob
        # unknown: accelerations of the centre, the body (body axes), the bob; and the multiplier of the rod
        left, right = np.zeros((10, 10)), np.zeros(10)
        left[:3, :3], left[:3, 9] = rest * np.eye(3), -rod
        right[:3] = r @ [0.0, 0.0, thrust] - drag
        left[3:6, 3:6], left[3:6, 9] = np.diag(inertia), -np.cross(a, r.T @ rod)
        right[3:6] = [0.0, push, 0.0] - np.cross(w, inertia * w) - np.cross(r.T @ (bob - place), r.T @ drag)
        left[6:9, 6:9], left[6:9, 9] = m * np.eye(3), rod
        right[6:9] = drag
        # rod . (bob'' - centre'' - spin' x arm - spin x (spin x arm)) + |rod'|^2 = 0
        left[9, :3], left[9, 3:6], left[9, 6:9] = -rod, -np.cross(a, r.T @ rod), rod
        right[9] = rod @ np.cross(spin, np.cross(spin, arm)) - apart @ apart
        found = np.linalg.solve(left, right)
        return np.concatenate([turning(q, w), found[3:6], velocity, found[:3], bob_velocity, found[6:9]])

    start = [1.0, 0, 0, 0, *w0, 0, 0, 0, 0, 0, 0, *x0, *np.cross(w0, x0)]
    y = solve_ivp(slope, (0.0, end), start, method="DOP853", rtol=1e-11, atol=1e-13).y[:, -1]
    r = Rotation.from_quat(np.roll(y[:4], -1)).as_matrix()
    return y[4:7], r.T @ (y[13:16] - y[7:10])


def test_the_pendulum() -> None:
    page = page_of_slosh()
    run, numbers = page["sloshing"], np.array(page["pendulum"].values)
    w, x = in_space(page, numbers, 20.0)
    np.testing.assert_allclose(run.omega[-1], w, rtol=0.0, atol=1e-7 * np.abs(run.omega).max())
    np.testing.assert_allclose(run.state[-1, :3], x, rtol=0.0, atol=1e-7)
    numbers[[6, 7, 8]] = 0.0  # free
    free = ph.simulate(
        page["tank"], page["pendulum"].with_parameters(numbers), omega=page["rate"], state=run.state[0],
        t_span=(0, 20), rtol=1e-9,
    )  # fmt: skip
    w, x = in_space(page, numbers, 20.0)
    np.testing.assert_allclose(free.omega[-1], w, rtol=0.0, atol=1e-9)
    mu = numbers[0] * numbers[1] / (numbers[0] + numbers[1])
    whole = free.momentum + mu * np.cross(free.state[:, :3], free.state[:, 3:])
    assert np.abs(np.diff(free.attitude.apply(whole), axis=0)).max() < 1e-10 * np.linalg.norm(whole[0])


def test_the_body_that_flexes() -> None:
    """The whole momentum and the tensor by SciPy, without any torque; and the decay of a small wobble in theory."""
    (block,) = (block for block in blocks("small_bodies") if "flexing" in block)
    page: dict[str, Any] = {"ph": ph, "np": np}
    exec(compile(block, "small_bodies.md", "exec"), page)
    run, c, lag, first = page["dying"], page["compliance"], page["lag"], page["first"]
    still = np.diag(page["wobbler"].moments)

    def tensor(j: Floats) -> Floats:
        more: Floats = np.array([[j[0], j[2], j[3]], [j[2], j[1], j[4]], [j[3], j[4], -j[0] - j[1]]])
        return still + more

    def slope(t: float, y: Floats) -> Floats:
        w, j = np.linalg.solve(tensor(y[3:]), y[:3]), y[3:]
        bulge = c * (np.outer(w, w) - w @ w / 3 * np.eye(3))
        goal = bulge[[0, 1, 0, 0, 1], [0, 1, 1, 2, 2]]
        return np.concatenate([np.cross(y[:3], w), (goal - j) / lag])

    start = [*(tensor(run.state[0]) @ first), *run.state[0]]
    y = solve_ivp(slope, (0.0, 60.0), start, method="DOP853", rtol=1e-12, atol=1e-15).y[:, -1]
    np.testing.assert_allclose(run.omega[-1], np.linalg.solve(tensor(y[3:]), y[:3]), rtol=0.0, atol=1e-11)
    np.testing.assert_allclose(run.state[-1], y[3:], rtol=0.0, atol=1e-12)
    decay = np.log(page["wobble"][0] / page["wobble"][-1]) / 60
    assert decay == pytest.approx(page["C"] * c * page["nu"] * lag / page["A"] ** 2, rel=0.005)


def test_the_page_of_detumbling() -> None:
    page = executed("detumble")
    before = np.linalg.norm(page["smooth"].omega[0])
    for name in ("smooth", "across", "sampled"):
        assert np.linalg.norm(page[name].omega[-1]) < 0.7 * before, name
    assert np.linalg.norm(page["dumped"].total_momentum[-1]) < 0.7 * np.linalg.norm(page["dumped"].total_momentum[0])
    assert page["measure"].min() > 0.5
