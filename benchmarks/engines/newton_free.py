"""Newton: a body without gravity and damping, in 32-bit floats, at steps of 1/600 s, as in its examples."""

from typing import Any

import newton
import warp as wp
from _case import Case, main, seen_from_body, seen_from_space

wp.config.quiet = True

VARIANTS = {
    "default": ("SolverXPBD", 1 / 600, {}),
    "SolverSemiImplicit, 1/600 s": ("SolverSemiImplicit", 1 / 600, {"angular_damping": 0.0}),
}


def run(case: Case, setting: tuple[str, float, dict[str, float]]) -> tuple[list[Any], list[Any]]:
    name, usual, options = setting
    count, step = case.steps(usual)
    builder = newton.ModelBuilder(gravity=(0.0, 0.0, 0.0))
    w, x, y, z = case.attitude
    a, b, c = case.moments
    body = builder.add_body(
        xform=wp.transform(wp.vec3(0.0, 0.0, 0.0), wp.quat(x, y, z, w)),
        mass=1.0,
        inertia=wp.mat33(a, 0.0, 0.0, 0.0, b, 0.0, 0.0, 0.0, c),
        lock_inertia=True,
    )
    model = builder.finalize(device="cpu")
    solver = getattr(newton.solvers, name)(model, **options)
    state, following, control = model.state(), model.state(), model.control()
    spin = seen_from_space(case.attitude, case.omega)
    speeds = state.body_qd.numpy()
    speeds[body] = [0.0, 0.0, 0.0, *spin]
    state.body_qd.assign(speeds)
    if model.joint_count:
        newton.eval_ik(model, state, state.joint_q, state.joint_qd)
    q, rates = [], []
    for row in range(len(case.t)):
        for _ in range(count if row else 0):
            state.clear_forces()
            solver.step(state, following, control, None, step)
            state, following = following, state
        pose, speed = state.body_q.numpy()[body], state.body_qd.numpy()[body]
        q.append([float(pose[6]), *map(float, pose[3:6])])
        rates.append(seen_from_body(q[-1], list(map(float, speed[3:6]))))
    return q, rates


if __name__ == "__main__":
    main(run, VARIANTS)
