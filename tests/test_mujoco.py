"""The exact flow in MuJoCo's loop. MuJoCo is not among the requirements of the tests: without it they are skipped."""

from typing import Any

import numpy as np
import pytest

import polhode as ph

mujoco = pytest.importorskip("mujoco")

SCENE = """<mujoco><option gravity="0 0 {gravity}" timestep="0.002"/><worldbody>
<geom type="plane" size="9 9 1"/>
<body name="nut" pos="0 0 50"><freejoint/>
  <inertial pos="{offset}" mass="2" quat="0.9 0.1 0.3 0.2" diaginertia="2.8 2 1"/></body>
<body name="ball" pos="1 0 0.3"><freejoint/><geom type="sphere" size="0.3"/></body>
<body name="arm" pos="5 0 5"><freejoint/><geom size="0.1"/><body pos="1 0 0"><joint axis="0 1 0"/>
  <geom size="0.1"/></body></body>
</worldbody></mujoco>"""


def scene(gravity: float = 0.0, offset: str = "0 0 0") -> tuple[Any, Any, ph.mujoco.FreeBodies]:
    model = mujoco.MjModel.from_xml_string(SCENE.format(gravity=gravity, offset=offset))
    data = mujoco.MjData(model)
    data.qpos[3:7], data.qvel[:6] = [0.5, 0.5, -0.5, 0.5], [0.1, 0.2, 0.3, 2.0, 4.0, 1.0]
    return model, data, ph.mujoco.FreeBodies(model)


def energy(model: Any, data: Any) -> float:
    """The kinetic energy, as MuJoCo computes it: without gravity only the nut moves."""
    mujoco.mj_forward(model, data)
    mujoco.mj_energyVel(model, data)
    return float(data.energy[1])


@pytest.mark.parametrize("offset", ["0 0 0", "0.3 -0.2 0.1"])
def test_a_free_body_keeps_its_energy_where_mujoco_does_not(offset: str) -> None:
    model, data, bodies = scene(offset=offset)
    assert bodies.names == ["nut", "ball"]  # the arm has a joint of its own
    before = energy(model, data)
    for _ in range(2000):
        bodies.step(data)
    assert energy(model, data) == pytest.approx(before, rel=1e-12)
    model, data, _ = scene(offset=offset)
    for _ in range(2000):
        mujoco.mj_step(model, data)
    assert energy(model, data) != pytest.approx(before, rel=1e-2)


def test_the_motion_is_the_exact_one() -> None:
    model, data, bodies = scene(offset="0.3 -0.2 0.1")
    tilt, q, w = model.body_iquat[1], data.qpos[3:7].copy(), data.qvel[3:6].copy()
    turned = ph.to_body(tuple(tilt), tuple(w))
    motion = ph.FreeMotion(ph.Body(model.body_inertia[1]), turned, ph.quaternion_product(tuple(q), tuple(tilt)))
    start = data.qpos[:3] + ph.to_space(tuple(q), tuple(model.body_ipos[1]))
    speed = data.qvel[:3] + ph.to_space(tuple(q), ph.cross(tuple(w), tuple(model.body_ipos[1])))
    for _ in range(1000):
        bodies.step(data)
    s = motion.at(data.time)
    mine = ph.quaternion_product(tuple(data.qpos[3:7]), tuple(tilt))
    assert abs(np.dot(mine, s.quaternion)) == pytest.approx(1.0, abs=1e-13)
    assert ph.to_body(tuple(tilt), tuple(data.qvel[3:6])) == pytest.approx(s.omega, abs=1e-11)
    centre = data.qpos[:3] + ph.to_space(tuple(data.qpos[3:7]), tuple(model.body_ipos[1]))
    assert centre == pytest.approx(start + data.time * np.array(speed), abs=1e-10)


def test_contacts_and_other_joints_are_mujocos() -> None:
    model, data, bodies = scene(gravity=-9.81)
    for _ in range(500):
        bodies.step(data)
    _, other, _ = scene(gravity=-9.81)
    for _ in range(500):
        mujoco.mj_step(model, other)
    assert data.qpos[9] == pytest.approx(0.3, abs=2e-3)  # the ball rests on the plane
    np.testing.assert_allclose(data.qpos[7:10], other.qpos[7:10], atol=1e-6)
    np.testing.assert_allclose(data.qpos[14:], other.qpos[14:], atol=1e-12)
    assert data.qpos[2] == pytest.approx(other.qpos[2], abs=1e-9)  # the nut falls as MuJoCo's does


@pytest.mark.parametrize("rate", [1e11, np.nan])
def test_mujocos_reset_is_kept(rate: float) -> None:
    model, data, bodies = scene()
    data.qvel[3:6] = [rate, 2.0, 3.0]
    bodies.step(data)
    for _ in range(4):
        bodies.step(data)
    np.testing.assert_allclose(data.qpos[:7], model.qpos0[:7])
    assert data.time == pytest.approx(0.01)
    data.qvel[3:6] = [rate, 2.0, 3.0]
    bodies.step(data)
    assert np.isfinite(data.qpos).all()
    assert data.time == pytest.approx(0.002)


def test_sleeping_bodies_sleep_on() -> None:
    xml = SCENE.format(gravity=-9.81, offset="0 0 0")
    xml = xml.replace('timestep="0.002"/>', 'timestep="0.002"><flag sleep="enable"/></option>')
    try:
        model = mujoco.MjModel.from_xml_string(xml)
    except ValueError:
        pytest.skip("this MuJoCo has no sleep")
    data, bodies = mujoco.MjData(model), ph.mujoco.FreeBodies(model)
    for _ in range(1500):
        bodies.step(data)
    assert data.ntree_awake == 1  # the nut, which is falling


def test_joints_with_damping_or_armature_are_mujocos() -> None:
    for more in ('damping="3000"', 'armature="0.5"'):
        xml = SCENE.format(gravity=0.0, offset="0 0 0").replace("<freejoint/>", f'<joint type="free" {more}/>', 1)
        model = mujoco.MjModel.from_xml_string(xml)
        assert ph.mujoco.FreeBodies(model).names == ["ball"]


def test_what_is_refused() -> None:
    model, *_ = scene()
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    with pytest.raises(ValueError, match="the integrator of the model must be Euler"):
        ph.mujoco.FreeBodies(model)
    fixed = mujoco.MjModel.from_xml_string('<mujoco><worldbody><geom size="1"/></worldbody></mujoco>')
    with pytest.raises(ValueError, match="no body that hangs on nothing"):
        ph.mujoco.FreeBodies(fixed)
