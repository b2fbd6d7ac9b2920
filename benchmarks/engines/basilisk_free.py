"""Basilisk: a free hub by its default integrator, RK4, at a step of 0.1 s as in its examples, and at a tenth of it."""

from typing import Any

import numpy as np
from _case import Case, main
from Basilisk.architecture import bskLogging
from Basilisk.simulation import spacecraft
from Basilisk.utilities import RigidBodyKinematics, SimulationBaseClass, macros

VARIANTS = {"default": 0.1, "0.01 s": 0.01}
bskLogging.setDefaultLogLevel(bskLogging.BSK_ERROR)


def run(case: Case, usual: float) -> tuple[list[Any], list[Any]]:
    count, step = case.steps(usual)
    simulation = SimulationBaseClass.SimBaseClass()
    simulation.SetProgressBar(False)
    tick = macros.sec2nano(step)
    simulation.CreateNewProcess("process").addTask(simulation.CreateNewTask("task", tick))
    craft = spacecraft.Spacecraft()
    craft.hub.mHub = 1.0
    craft.hub.r_BcB_B = [[0.0], [0.0], [0.0]]
    craft.hub.IHubPntBc_B = np.diag(case.moments).tolist()
    start = np.array(case.attitude) / np.linalg.norm(case.attitude)
    craft.hub.sigma_BNInit = RigidBodyKinematics.EP2MRP(start).reshape(3, 1).tolist()
    craft.hub.omega_BN_BInit = [[w] for w in case.omega]
    simulation.AddModelToTask("task", craft)
    simulation.InitializeSimulation()
    q, w = [case.attitude], [case.omega]
    for k, _ in enumerate(case.t[1:], start=1):
        simulation.ConfigureStopTime(tick * count * k)
        simulation.ExecuteSimulation()
        state = craft.scStateOutMsg.read()
        q.append(RigidBodyKinematics.MRP2EP(np.array(state.sigma_BN)))
        w.append(state.omega_BN_B)
    return q, w


if __name__ == "__main__":
    main(run, VARIANTS)
