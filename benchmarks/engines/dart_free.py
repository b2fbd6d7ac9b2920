"""DART: a body with a free joint, without gravity. The default step is 0.001 s."""

from typing import Any

import dartpy as dart
import numpy as np
from _case import Case, main, quaternion, seen_from_body

VARIANTS = {"default": 0.001, "0.0001 s": 0.0001}


def run(case: Case, usual: float) -> tuple[list[Any], list[Any]]:
    count, step = case.steps(usual)
    world = dart.simulation.World()
    world.setGravity([0, 0, 0])
    world.setTimeStep(step)
    skeleton = dart.dynamics.Skeleton()
    joint, body = skeleton.createFreeJointAndBodyNodePair()
    inertia = dart.dynamics.Inertia()
    inertia.setMass(1.0)
    inertia.setMoment(np.diag(case.moments))
    body.setInertia(inertia)
    world.addSkeleton(skeleton)
    joint.setVelocities(np.array([*case.omega, 0.0, 0.0, 0.0]))
    q, w = [case.attitude], [case.omega]
    for _ in case.t[1:]:
        for _ in range(count):
            world.step()
        turn = np.array(body.getTransform().rotation())
        q.append(quaternion(turn))
        w.append(seen_from_body(q[-1], body.getAngularVelocity()))
    return q, w


if __name__ == "__main__":
    main(run, VARIANTS)
