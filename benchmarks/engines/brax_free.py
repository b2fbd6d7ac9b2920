"""Brax: a body with a free joint, without gravity, by its generalised pipeline, in 32-bit floats."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from _case import Case, main, seen_from_body, seen_from_space
from brax.generalized import pipeline
from brax.io import mjcf

VARIANTS = {"default": 0.002, "0.0002 s": 0.0002}


def run(case: Case, usual: float) -> tuple[list[Any], list[Any]]:
    count, step = case.steps(usual)
    size = " ".join(map(repr, case.moments))
    system = mjcf.loads(
        f'<mujoco><option gravity="0 0 0" timestep="{step!r}"/><worldbody><body name="body"><freejoint/>'
        f'<inertial pos="0 0 0" mass="1" diaginertia="{size}"/>'
        '<geom type="sphere" size="0.1" mass="0" contype="0" conaffinity="0"/></body></worldbody></mujoco>'
    )
    spin = seen_from_space(case.attitude, case.omega)
    state = pipeline.init(system, jnp.array([0.0, 0.0, 0.0, *case.attitude]), jnp.array([0.0, 0.0, 0.0, *spin]))

    @partial(jax.jit, static_argnums=1)
    def advance(state: Any, count: int) -> Any:
        return jax.lax.fori_loop(0, count, lambda _, s: pipeline.step(system, s, jnp.zeros(0)), state)

    q, w = [], []
    for row in range(len(case.t)):
        state = advance(state, count) if row else state
        q.append(list(map(float, state.x.rot[0])))
        w.append(seen_from_body(q[-1], list(map(float, state.xd.ang[0]))))
    return q, w


if __name__ == "__main__":
    main(run, VARIANTS)
