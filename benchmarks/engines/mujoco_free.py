"""MuJoCo: a body with a free joint, without gravity. The default step is 0.002 s, the default integrator Euler."""

from typing import Any

import mujoco
import numpy as np
from _case import Case, main

VARIANTS = {"default": "Euler", "RK4": "RK4", "implicitfast": "implicitfast"}
STEP = 0.002


def run(case: Case, integrator: str) -> tuple[list[Any], list[Any]]:
    count, step = case.steps(STEP)
    size = " ".join(map(repr, case.moments))
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option gravity="0 0 0" timestep="{step!r}" integrator="{integrator}"/><worldbody><body>'
        f'<freejoint/><inertial pos="0 0 0" mass="1" diaginertia="{size}"/></body></worldbody></mujoco>'
    )
    # The compiler of models sorts the principal axes: `iquat` turns them back.
    data = mujoco.MjData(model)
    data.qpos[3:7], data.qvel[3:6] = case.attitude, case.omega
    q, w = [np.array(case.attitude)], [np.array(case.omega)]
    for _ in case.t[1:]:
        for _ in range(count):
            mujoco.mj_step(model, data)
        q.append(data.qpos[3:7].copy())
        w.append(data.qvel[3:6].copy())
    return q, w


if __name__ == "__main__":
    main(run, VARIANTS)
