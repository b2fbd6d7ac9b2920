"""SAPIEN, which is PhysX 5: a body without gravity and damping, in 32-bit floats. The default step is 0.01 s."""

from typing import Any

import sapien
from _case import Case, main, seen_from_body, seen_from_space
from sapien import physx

VARIANTS = {"default": 0.01, "0.001 s": 0.001}


def run(case: Case, usual: float) -> tuple[list[Any], list[Any]]:
    count, step = case.steps(usual)
    system = physx.PhysxCpuSystem()
    scene = sapien.Scene([system])
    scene.set_timestep(step)
    body = physx.PhysxRigidDynamicComponent()
    body.set_mass(1.0)
    body.set_inertia(case.moments)
    body.set_linear_damping(0.0)
    body.set_angular_damping(0.0)
    body.set_max_angular_velocity(1e6)
    body.set_sleep_threshold(0.0)
    body.set_disable_gravity(True)
    entity = sapien.Entity()
    entity.add_component(body)
    entity.set_pose(sapien.Pose(q=case.attitude))
    scene.add_entity(entity)
    body.set_angular_velocity(seen_from_space(case.attitude, case.omega))
    q, w = [], []
    for row in range(len(case.t)):
        for _ in range(count if row else 0):
            system.step()
        q.append(list(map(float, entity.get_pose().q)))
        w.append(seen_from_body(q[-1], list(map(float, body.get_angular_velocity()))))
    return q, w


if __name__ == "__main__":
    main(run, VARIANTS)
