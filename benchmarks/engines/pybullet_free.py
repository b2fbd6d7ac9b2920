"""PyBullet: a body without gravity and damping. The default step is 1/240 s; gyroscopic torques are on by default."""

from typing import Any

import pybullet
from _case import Case, main, seen_from_body

VARIANTS = {"default": 1 / 240, "1/2400 s": 1 / 2400}


def run(case: Case, usual: float) -> tuple[list[Any], list[Any]]:
    count, step = case.steps(usual)
    p = pybullet.connect(pybullet.DIRECT)
    try:
        pybullet.setGravity(0, 0, 0)
        pybullet.setTimeStep(step)
        w0, *v0 = case.attitude
        shape = pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=0.1)
        body = pybullet.createMultiBody(1.0, shape, baseOrientation=[*v0, w0])
        pybullet.changeDynamics(
            body, -1, localInertiaDiagonal=case.moments, linearDamping=0.0, angularDamping=0.0, maxJointVelocity=1e6
        )
        turned = pybullet.rotateVector([*v0, w0], case.omega)
        pybullet.resetBaseVelocity(body, angularVelocity=turned)
        q, w = [case.attitude], [case.omega]
        for _ in case.t[1:]:
            for _ in range(count):
                pybullet.stepSimulation()
            (x, y, z, s) = pybullet.getBasePositionAndOrientation(body)[1]
            q.append([s, x, y, z])
            w.append(seen_from_body(q[-1], pybullet.getBaseVelocity(body)[1]))
        return q, w
    finally:
        pybullet.disconnect(p)


if __name__ == "__main__":
    main(run, VARIANTS)
