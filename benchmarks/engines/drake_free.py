"""Drake: a free body of a MultibodyPlant, continuous (the default integrator) and in its discrete steps of 0.001 s."""

from typing import Any

import numpy as np
from _case import Case, main, seen_from_body
from pydrake.common.eigen_geometry import Quaternion
from pydrake.math import RigidTransform
from pydrake.multibody.math import SpatialVelocity
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import SpatialInertia, UnitInertia
from pydrake.systems.analysis import Simulator

VARIANTS = {"default": (0.0, None), "accuracy 1e-9": (0.0, 1e-9), "discrete, 0.001 s": (0.001, None)}


def run(case: Case, setting: tuple[float, float | None]) -> tuple[list[Any], list[Any]]:
    usual, accuracy = setting
    step = case.steps(usual)[1] if usual else 0.0
    plant = MultibodyPlant(step)
    inertia = SpatialInertia(1.0, np.zeros(3), UnitInertia(*case.moments))
    body = plant.AddRigidBody("body", inertia)
    plant.mutable_gravity_field().set_gravity_vector(np.zeros(3))
    plant.Finalize()
    simulator = Simulator(plant)
    if accuracy is not None:
        simulator.get_mutable_integrator().set_target_accuracy(accuracy)
    context = simulator.get_mutable_context()
    start = np.array(case.attitude) / np.linalg.norm(case.attitude)
    pose = RigidTransform(Quaternion(start), np.zeros(3))
    plant.SetFreeBodyPose(context, body, pose)
    turned = pose.rotation().multiply(np.array(case.omega))
    plant.SetFreeBodySpatialVelocity(body, SpatialVelocity(turned, np.zeros(3)), context)
    simulator.Initialize()
    q, w = [case.attitude], [case.omega]
    for t in case.t[1:]:
        simulator.AdvanceTo(t)
        now = plant.GetFreeBodyPose(context, body).rotation().ToQuaternion().wxyz()
        q.append(now)
        w.append(seen_from_body(now, plant.EvalBodySpatialVelocityInWorld(context, body).rotational()))
    return q, w


if __name__ == "__main__":
    main(run, VARIANTS)
