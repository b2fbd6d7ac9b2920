"""DART: a body with a free joint, without gravity. The default step is 0.001 s."""

from typing import Any

import dartpy as dart
import numpy as np
from _case import Case, main, seen_from_body

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
        q.append(_quaternion(turn))
        w.append(seen_from_body(q[-1], body.getAngularVelocity()))
    return q, w


def _quaternion(r: Any) -> list[float]:
    k = np.array(
        [
            [r[0, 0] + r[1, 1] + r[2, 2], r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]],
            [0, r[0, 0] - r[1, 1] - r[2, 2], r[0, 1] + r[1, 0], r[0, 2] + r[2, 0]],
            [0, 0, r[1, 1] - r[0, 0] - r[2, 2], r[1, 2] + r[2, 1]],
            [0, 0, 0, r[2, 2] - r[0, 0] - r[1, 1]],
        ]
    )
    found: list[float] = np.linalg.eigh(k, UPLO="U")[1][:, -1].tolist()
    return found


if __name__ == "__main__":
    main(run, VARIANTS)
