"""Rapier: a body without gravity and damping, in 32-bit floats. The default step is 1/60 s."""

from typing import Any

import rapier3d as rapier
from _case import Case, main, seen_from_body, seen_from_space

VARIANTS = {"default": 1 / 60, "1/600 s": 1 / 600}


def run(case: Case, usual: float) -> tuple[list[Any], list[Any]]:
    count, step = case.steps(usual)
    world = rapier.PhysicsWorld(gravity=rapier.Vec3(0.0, 0.0, 0.0))
    world.integration_parameters.dt = step
    w, x, y, z = case.attitude
    space = seen_from_space(case.attitude, case.omega)
    mass = rapier.MassProperties(
        rapier.Point3(0.0, 0.0, 0.0), 1.0, rapier.Vec3(*case.moments), rapier.Rotation3.identity()
    )
    body = rapier.RigidBody.dynamic().additional_mass_properties(mass).can_sleep(False)
    body = body.rotation(rapier.Rotation3(w, x, y, z).scaled_axis).angvel(rapier.Vec3(*space))
    handle = world.add_body(body)
    q, rates = [], []
    for row in range(len(case.t)):
        for _ in range(count if row else 0):
            world.step()
        now = world.rigid_bodies[handle]
        turn, spin = now.rotation, now.angvel
        q.append([turn.w, turn.i, turn.j, turn.k])
        rates.append(seen_from_body(q[-1], [spin.x, spin.y, spin.z]))
    return q, rates


if __name__ == "__main__":
    main(run, VARIANTS)
