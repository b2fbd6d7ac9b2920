"""OpenMM, which has no rigid bodies: four atoms whose six distances are constrained, as its molecules are.

They have the moments of the case. Steps are those of a velocity Verlet integrator with constraints, after the manual,
whose rates belong to the times of the attitudes: 0.002 s is the usual number, 1e-5 the default tolerance.
"""

import math
from typing import Any

import numpy as np
import openmm
from _case import Case, main, quaternion, seen_from_space

VARIANTS = {"default": (0.002, 1e-5), "tolerance 1e-12": (0.002, 1e-12)}


def run(case: Case, setting: tuple[float, float]) -> tuple[list[Any], list[Any]]:
    usual, tolerance = setting
    count, step = case.steps(usual)
    half = sum(case.moments) / 2
    a, b, c = (math.sqrt(max(half - moment, 0.0) / 4) for moment in case.moments)
    if min(a, b, c) <= 1e-6 * max(a, b, c):
        raise ValueError("four atoms in a plane cannot be held by six distances")
    places = np.array([[a, b, c], [a, -b, -c], [-a, b, -c], [-a, -b, c]])
    system = openmm.System()
    for _ in places:
        system.addParticle(1.0)
    for i in range(4):
        for j in range(i):
            system.addConstraint(i, j, float(np.linalg.norm(places[i] - places[j])))
    integrator = openmm.CustomIntegrator(step)
    integrator.setConstraintTolerance(tolerance)
    integrator.addPerDofVariable("x1", 0)
    integrator.addUpdateContextState()
    integrator.addComputePerDof("v", "v+0.5*dt*f/m")
    integrator.addComputePerDof("x", "x+dt*v")
    integrator.addComputePerDof("x1", "x")
    integrator.addConstrainPositions()
    integrator.addComputePerDof("v", "v+0.5*dt*f/m+(x-x1)/dt")
    integrator.addConstrainVelocities()
    context = openmm.Context(system, integrator, openmm.Platform.getPlatformByName("Reference"))
    context.setPositions([seen_from_space(case.attitude, x) for x in places])
    context.setVelocities([seen_from_space(case.attitude, v) for v in np.cross(case.omega, places)])
    q, w = [], []
    for row in range(len(case.t)):
        if row:
            integrator.step(count)
        state = context.getState(getPositions=True, getVelocities=True)
        x, v = (np.array(s._value) for s in (state.getPositions(), state.getVelocities()))
        left, _, right = np.linalg.svd((x - x.mean(axis=0)).T @ places)
        now = left @ right
        q.append(quaternion(now))
        momentum = np.cross(places, (v - v.mean(axis=0)) @ now).sum(axis=0)
        w.append((momentum / case.moments).tolist())
    return q, w


if __name__ == "__main__":
    main(run, VARIANTS)
