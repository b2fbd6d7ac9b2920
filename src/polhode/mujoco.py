"""Exact free rotation in MuJoCo's loop: `FreeBodies(model).step(data)` in place of `mujoco.mj_step`.

MuJoCo's integrators let the energy of a body that tumbles freely grow. Here MuJoCo makes its step, with all contacts,
actuators and joints; the bodies that hang on nothing (a free joint at the world, nothing attached) are then moved again
from where they were: a kick by the forces that MuJoCo found, without the gyroscopic ones, and the exact flow.

Examples
--------
>>> bodies = ph.mujoco.FreeBodies(model)  # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.compiler import program
from polhode.kernels.algebra.quat import conjugate, multiply, normalised, to_space
from polhode.kernels.algebra.vec import combine, cross, times
from polhode.kernels.free.exact_flow import finest
from polhode.kernels.ops import beginning_at
from polhode.kernels.status import OK
from polhode.kernels.steps.flows import triaxial
from polhode.kernels.types import Inertia, State, Vec3
from polhode.support.extras import needed

__all__ = ["FreeBodies"]

flow = triaxial(finest())


def step_rows(
    bodies: Any, place: Any, speed: Any, before: Any, qpos: Any, qvel: Any, qacc: Any, h: float, n: int
) -> int:
    """Moves n bodies over a step: kicks, and the exact flow. `before` has positions, attitudes, velocities and rates.

    Of each body `bodies` has the moments (3), the centre of mass (3) and the attitude (4) of the principal axes in the
    body; `place` and `speed` say where its numbers are among those of the model.
    """
    for i in range(n):
        b, at, by, own = beginning_at(bodies, 10 * i), int(place[i]), int(speed[i]), beginning_at(before, 13 * i)
        moments, c, tilt = (b[0], b[1], b[2]), (b[3], b[4], b[5]), (b[6], b[7], b[8], b[9])
        x, q = (own[0], own[1], own[2]), (own[3], own[4], own[5], own[6])
        v, w = (own[7], own[8], own[9]), (own[10], own[11], own[12])
        a, spin = (qacc[by], qacc[by + 1], qacc[by + 2]), (qacc[by + 3], qacc[by + 4], qacc[by + 5])
        # The centre of mass: x + R c, v + R (w x c), a + R (w' x c + w x (w x c)).
        arm = cross(w, c)
        centre = combine(x, 1.0, to_space(q, c))
        drift = combine(combine(v, 1.0, to_space(q, arm)), h, a)
        drift = combine(drift, h, to_space(q, combine(cross(spin, c), 1.0, cross(w, arm))))
        # In principal axes the torque is I w' + w x I w, and the momentum is kicked by it.
        inward = conjugate(tilt)
        rate, gain = to_space(inward, w), to_space(inward, spin)
        m = times(moments, rate)
        m = combine(m, h, combine(times(moments, gain), 1.0, cross(rate, m)))
        body = Inertia(moments, (1.0 / b[0], 1.0 / b[1], 1.0 / b[2]))
        s = flow(body, 0, 0.0, State(multiply(q, tilt), m), h)  # type: ignore[arg-type]  # it reads no parameters
        q, w = normalised(multiply(s.q, inward)), to_space(tilt, times(s.m, body.inverse))
        _store(qpos, at, combine(combine(centre, h, drift), -1.0, to_space(q, c)))
        qpos[at + 3], qpos[at + 4], qpos[at + 5], qpos[at + 6] = q
        _store(qvel, by, combine(drift, -1.0, to_space(q, cross(w, c))))
        _store(qvel, by + 3, w)
    return OK


def _store(to: Any, at: int, v: Vec3) -> None:
    to[at], to[at + 1], to[at + 2] = v


class FreeBodies:
    """The bodies of a model that hang on nothing, and the step that turns them exactly.

    Where they touch nothing, energy and angular momentum are kept to round-off, and the motion is exact whatever the
    step. Forces act by kicks, so that the method is of order one in them, as MuJoCo's Euler, and symplectic. Bodies
    whose joint has armature or damping remain MuJoCo's, as do those that sleep.

    Parameters
    ----------
    model
        A `mujoco.MjModel` whose integrator is Euler, the default.

    Examples
    --------
    >>> bodies = ph.mujoco.FreeBodies(model)  # doctest: +SKIP
    >>> while data.time < 10:  # doctest: +SKIP
    ...     bodies.step(data)  # instead of mujoco.mj_step(model, data)
    ...
    """

    def __init__(self, model: Any) -> None:
        mj = needed("mujoco", "the loop of MuJoCo needs")
        if model.opt.integrator != mj.mjtIntegrator.mjINT_EULER:
            raise ValueError(
                "the integrator of the model must be Euler, whose accelerations belong to the start of a step: set "
                "model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER"
            )
        self._mj, self._model = mj, model
        joints = np.flatnonzero(model.jnt_type == mj.mjtJoint.mjJNT_FREE)
        has_child = np.isin(np.arange(model.nbody), model.body_parentid[1:])
        joints = joints[~has_child[model.jnt_bodyid[joints]]]
        # MuJoCo adds armatures to the inertia, and solves for damping at the end of the step.
        speed = model.jnt_dofadr[joints][:, None] + np.arange(6)
        joints = joints[~(model.dof_armature[speed] + model.dof_damping[speed]).any(axis=1)]
        if joints.size == 0:
            raise ValueError(
                "the model has no body that hangs on nothing: give one a free joint without armature and damping, "
                "and no children"
            )
        self.names = [model.body(b).name for b in model.jnt_bodyid[joints]]
        """The names of the bodies that are turned exactly."""
        bodies = model.jnt_bodyid[joints]
        parts = [model.body_inertia[bodies], model.body_ipos[bodies], model.body_iquat[bodies]]
        self._bodies = np.concatenate(parts, axis=1)
        place, speed = model.jnt_qposadr[joints], model.jnt_dofadr[joints]
        self._rows = place[:, None] + np.arange(7), speed[:, None] + np.arange(6)
        self._places = place.astype(float), speed.astype(float)
        self._run = program(step_rows, "pppppppdi", what="free bodies of MuJoCo")

    def step(self, data: Any) -> None:
        """Makes one step of the model, as `mujoco.mj_step` does."""
        place, speed = self._rows
        before = np.concatenate([data.qpos[place], data.qvel[speed]], axis=1)
        time, faults = data.time, self._faults(data)
        self._mj.mj_step(self._model, data)
        if data.time <= time or self._faults(data) > faults:
            return  # MuJoCo found numbers that are not finite or huge, and restarted
        h, awake = float(self._model.opt.timestep), data.qvel[speed].any(axis=1)  # bodies that sleep are left asleep
        given = (self._bodies, *self._places, before)
        given = given if awake.all() else tuple(x[awake] for x in given)
        self._run(*given, data.qpos, data.qvel, data.qacc, h, len(given[0]))

    def _faults(self, data: Any) -> int:
        kinds = self._mj.mjtWarning
        return sum(
            data.warning[int(k)].number for k in (kinds.mjWARN_BADQPOS, kinds.mjWARN_BADQVEL, kinds.mjWARN_BADQACC)
        )
