"""Motions with their Jacobians as arrays, for `polhode.jax` and `polhode.torch`."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from polhode.api.simulate import simulate
from polhode.body import Body
from polhode.free.free_motion import FreeMotion
from polhode.support import checks
from polhode.support.arrays import Floats
from polhode.torques import CustomTorque, Torque

ROWS, COLUMNS = (0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)
"""The elements of a tensor in the order of the columns of a Jacobian."""


class StatesAndJacobian(NamedTuple):
    """States, and how they change: rotation matrices, rates, and Jacobians by the numbers of all arguments in turn."""

    matrix: Floats
    omega: Floats
    jacobian: Floats


def free_states(inertia: Any, omega: Any, t: Any, *, full: bool, with_jacobian: bool = True) -> StatesAndJacobian:
    """The free motion of bodies from a common attitude, and its Jacobian by inertia, omega and t.

    The arguments have the shapes (..., 3) or, if they are `full` tensors, (..., 3, 3), then (..., 3) and (...), which
    broadcast. Of a tensor the symmetric part counts: there are nine columns.
    """
    core = 2 if full else 1
    given, w, times = (np.asarray(x, dtype=np.float64) for x in (inertia, omega, t))
    if given.shape[-core:] != (3,) * core or w.shape[-1:] != (3,):
        raise ValueError(
            f"inertia must be three moments or a (3, 3) tensor, and omega three rates: not {given.shape} and {w.shape}"
        )
    if full:
        given = 0.5 * (given + np.swapaxes(given, -1, -2))
    lead = np.broadcast_shapes(given.shape[:-core], w.shape[:-1], times.shape)
    numbers = np.broadcast_to(given, (*lead, *(3,) * core)).reshape(-1, 3**core)
    w, times = np.broadcast_to(w, (*lead, 3)).reshape(-1, 3), np.broadcast_to(times, lead).reshape(-1)
    width = 3**core + 4
    R, rate, J = np.empty((len(w), 3, 3)), np.empty((len(w), 3)), np.zeros((len(w), 6, width))
    # motions are set up once, however many times belong to each
    kinds, which = np.unique(np.concatenate([numbers, w], axis=1), axis=0, return_inverse=True)
    for k, kind in enumerate(kinds):
        at = np.flatnonzero(which.reshape(-1) == k)
        body = Body(kind[: 3**core].reshape((3,) * core), allow_unphysical=True)
        motion = FreeMotion(body, kind[3**core :])
        state = motion.at(times[at])
        R[at], rate[at] = state.attitude.as_matrix(), state.omega
        if with_jacobian:
            found = motion.jacobian(times[at], ("inertia", "omega", "t"))
            if full:  # a change of xy alone is half one of xy and yx
                for n, (i, j) in enumerate(zip(ROWS, COLUMNS, strict=True)):
                    J[at, :, 3 * i + j] = J[at, :, 3 * j + i] = found[..., n] * (1.0 if i == j else 0.5)
            else:
                J[at, :, :3] = found[..., :3]
            J[at, :, 3**core :] = found[..., 6:]
    return StatesAndJacobian(R.reshape(*lead, 3, 3), rate.reshape(*lead, 3), J.reshape(*lead, 6, width))


def simulated(
    body: Body, torque: Torque | None, t: Any, how: dict[str, Any], names: tuple[str, ...]
) -> Callable[..., StatesAndJacobian]:  # fmt: skip
    """A function that runs from starts to the times t, with Jacobians by what `names` lists, its arguments.

    They are omega, the attitude as a quaternion, and p, the parameters of a user's torque.
    """
    times = checks.row("t", t)
    if times.size < 1 or "derivatives" in how:
        raise ValueError("t needs one time at least, and derivatives follow from what is differentiated")
    if "p" in names and not isinstance(torque, CustomTorque):
        raise TypeError("p are the parameters of a torque made by polhode.torque")
    sizes = {"omega": 3, "attitude": 4, "p": len(torque.values) if isinstance(torque, CustomTorque) else 0}

    def states(*given: Any, with_jacobian: bool = True) -> StatesAndJacobian:
        rows = [np.asarray(x, dtype=np.float64) for x in given]
        for row, name in zip(rows, names, strict=True):
            if row.shape[-1:] != (sizes[name],):
                raise ValueError(f"{name} must have the shape ({sizes[name]},), not {row.shape}")
        lead = np.broadcast_shapes(*(row.shape[:-1] for row in rows))
        rows = [np.broadcast_to(row, (*lead, row.shape[-1])).reshape(-1, row.shape[-1]) for row in rows]
        width = sum(row.shape[1] for row in rows)
        made = [np.empty((len(rows[0]), times.size, *s)) for s in ((3, 3), (3,), (6, width))]
        for k, values in enumerate(zip(*rows, strict=True)):
            named = dict(zip(names, values, strict=True))
            acting = torque
            if isinstance(torque, CustomTorque) and "p" in named:
                acting = torque.with_parameters(named.pop("p"))
            if (q := named.get("attitude")) is not None:
                named["attitude"] = q / np.linalg.norm(q)
            run = simulate(
                body, acting, **named, t_span=(0.0, float(times[-1])), t_eval=times,
                derivatives=names if with_jacobian else (), **how,
            )  # fmt: skip
            made[0][k], made[1][k] = run.attitude.as_matrix(), run.omega
            if with_jacobian:
                made[2][k] = run.jacobian if q is None else _by_quaternion(run.jacobian, q)
        return StatesAndJacobian(*(x.reshape(*lead, *x.shape[1:]) for x in made))

    return states


def _by_quaternion(J: Floats, q: Floats) -> Floats:
    """The Jacobian by a quaternion of any length in place of that by the rotation vector: zeta = 2 dq q* / |q|^2."""
    a, b, c, d = q / (q @ q)
    turn = 2.0 * np.array([[-b, a, -d, c], [-c, d, a, -b], [-d, -c, b, a]])
    return np.concatenate([J[:, :, :3], J[:, :, 3:6] @ turn, J[:, :, 6:]], axis=2)
