"""How free motions change with what they are given: Jacobians, covariances, and the time until which one is known."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polhode.body import Body
from polhode.free.free_motion import FreeMotion, _labels, _rotated, _run, _times
from polhode.kernels.free.closed_jacobian import CHANGE, jacobian_rows
from polhode.support import checks
from polhode.support.arrays import Floats

COLUMNS = {"omega": 3, "attitude": 3, "momentum": 3, "moments": 3, "inertia": 6, "t": 1}
"""What a motion can be differentiated by, and how many columns that has."""

PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
"""The elements of a tensor in the order of the columns."""

MOST_INTERPRETED = 20
"""The Jacobians that a call computes in plain Python if no compiled program is kept."""


BENT, BROKEN = 0.1, 0.5
"""The bend from which `covariance` warns, and from which it refuses."""


@dataclass(frozen=True, eq=False)
class Covariance:
    """The covariance of a state, propagated linearly, and how far the motion is from linear."""

    t: Floats
    """The times, s."""
    matrix: Floats
    """J P0 J^T, shape (..., 6, 6): rotation vector (space axes, rad), then angular velocity (body axes, rad/s)."""
    bend: Floats
    """|f(x + d) - f(x) - J d| of the rotation vector, over its largest standard deviation: the greatest over steps d
    of one standard deviation, both ways, along the two leading directions. 0.01: sigmas are good to about 1 %."""

    @property
    def angle(self) -> Floats:
        """The standard deviation of the attitude: the root mean square angle of its error, rad."""
        found: Floats = np.sqrt(np.trace(self.matrix[..., :3, :3], axis1=-2, axis2=-1))
        return found


def names(by: str | Sequence[str]) -> list[str]:
    """What to differentiate by, checked."""
    asked = [by] if isinstance(by, str) else list(by)
    if not asked:
        raise ValueError(f"by names what to differentiate by: one or several of {', '.join(COLUMNS)}")
    for name in asked:
        checks.choice("name in by", name, tuple(COLUMNS))
    if len(set(asked)) < len(asked):
        raise ValueError(f"by must name each thing once, not {asked}")
    return asked


def jacobian(motion: FreeMotion, t: Any, by: str | Sequence[str], axes: str) -> Floats:
    """See `FreeMotion.jacobian`."""
    asked = names(by)
    in_body = checks.choice("axes", axes, ("space", "body")) == "body"
    times, _, _ = _times(t)
    motion.refuse_too_many_turns(times)
    flat, count = np.ascontiguousarray(times.reshape(-1)), len(motion._motions)
    first = dict(zip(asked, np.cumsum([0, *(COLUMNS[name] for name in asked)]).tolist(), strict=False))
    out = np.empty((count, flat.size, 6, sum(COLUMNS[name] for name in asked)))
    moving = {name: k for name, k in first.items() if name not in ("attitude", "t")}
    if moving:
        variations = np.concatenate([_variations(motion, name) for name in moving], axis=1)
        columns = np.concatenate([np.arange(k, k + COLUMNS[name], dtype=np.float64) for name, k in moving.items()])
        _fill(motion, flat, variations, columns, out, first.get("attitude", -1))
    elif "attitude" in first:
        out[..., first["attitude"] : first["attitude"] + 3] = np.eye(6, 3)
    if "t" in first or in_body:
        state = motion.at_checked(flat)
        q, w, m = (x.reshape(count, flat.size, -1) for x in (state.quaternion, state.omega, state.momentum))
        if "t" in first:
            out[..., :3, first["t"]] = _rotated(q, w)
            out[..., 3:, first["t"]] = np.linalg.solve(motion._tensor[:, None], np.cross(m, w)[..., None])[..., 0]
        if in_body:
            if "attitude" in first:
                out[..., :3, first["attitude"] : first["attitude"] + 3] = matrices(motion._quaternion)[:, None]
            out[..., :3, :] = np.swapaxes(matrices(q), -1, -2) @ out[..., :3, :]
            out[np.isnan(out)] = np.inf  # a difference, or a multiple by zero, of elements that overflow
    return out.reshape(*motion._shape, *times.shape, 6, -1)


def matrices(q: Floats) -> Floats:
    """The rotation matrices of quaternions."""
    return np.stack([_rotated(q, np.broadcast_to(e, (*q.shape[:-1], 3))) for e in np.eye(3)], axis=-1)


def derivatives_along(motion: FreeMotion, times: Floats, inertia: Floats, omega: Floats, attitude: Floats) -> Floats:
    """The derivatives of one motion along some changes of tensor, rate and attitude: (times, 6, changes).

    The changes are columns, as `FreeMotion.jacobian` has them by "inertia", "omega" and "attitude".
    """
    variations = inertia.T @ _variations(motion, "inertia") + omega.T @ _variations(motion, "omega")
    out = np.empty((1, times.size, 6, omega.shape[1]))
    _fill(motion, times, variations, np.arange(omega.shape[1], dtype=np.float64), out)
    out[0, :, :3] += attitude
    return np.asarray(out[0])


def _fill(
    motion: FreeMotion, times: Floats, variations: Floats, columns: Floats, out: Floats, attitude: int = -1
) -> None:  # fmt: skip
    """Writes these columns, along these variations, and those by a turn of the start in space from `attitude` on."""
    count, width = variations.shape[:2]
    given = (motion._motions.reshape(-1), motion._starts.reshape(-1), variations.reshape(-1), times, columns)
    made = (np.empty(CHANGE * width), out.reshape(-1))
    sizes = (motion.t0, count, times.size, width, out.shape[-1], attitude)
    _run(jacobian_rows, "pppppppdiiiii", given, made, sizes, count * times.size > MOST_INTERPRETED)


def _variations(motion: FreeMotion, name: str) -> Floats:
    """Variations of the scaled start in relabelled axes: for each motion and column dw (3), dI (3), dO (3)."""
    c, labels = motion._c, _labels(motion._c)
    count, width = len(labels), COLUMNS[name]
    signs = np.stack([c.sign1, c.sign2, c.sign3], axis=1)
    # The columns of B are the relabelled axes in the user's.
    B = np.take_along_axis(motion._axes, labels[:, None, :], axis=2) * signs[:, None, :]
    moments = np.take_along_axis(motion._moments, labels, axis=1)
    unit = motion._moments.max(axis=1) / motion._starts[:, :3].max(axis=1)
    out = np.zeros((count, width, 9))
    if name == "omega":
        out[..., :3] = B / motion._scale[:, None, None]
    elif name == "momentum":
        out[..., :3] = B / (moments[:, None, :] * motion._scale[:, None, None])
    elif name == "moments":
        out[..., 3:6] = (labels[:, None, :] == np.arange(3)[:, None]) / unit[:, None, None]
    else:
        for k, (i, j) in enumerate(PAIRS):
            E = np.zeros((3, 3))
            E[i, j] = E[j, i] = 1.0
            turned = np.swapaxes(B, 1, 2) @ E @ B / unit[:, None, None]
            out[:, k, 3:6] = np.diagonal(turned, axis1=1, axis2=2)
            out[:, k, 6:] = np.stack([turned[:, 1, 2], turned[:, 2, 0], turned[:, 0, 1]], axis=1)
    return out


# --- uncertainty ---------------------------------------------------------------------------------------------------


def covariance(motion: FreeMotion, P0: Any, t: Any, by: str | Sequence[str]) -> Covariance:
    """See `FreeMotion.covariance`."""
    root, asked = _checked(motion, P0, by), names(by)
    times, _, _ = _times(t)
    flat = times.reshape(-1)
    J = jacobian(motion, flat, asked, "space") @ root
    bend = np.array([_bend(motion, x, j[:3], root, asked) for x, j in zip(flat.tolist(), J, strict=True)])
    return covariance_of(times, flat, J, bend)


def covariance_of(times: Floats, flat: Floats, J: Floats, bend: Floats) -> Covariance:
    """The covariance with the factors J at these times, unless the motion is too far from linear."""
    if bend.size and (worst := float(bend.max())) >= BENT:
        first = float(flat[int(np.argmax(bend >= min(worst, BROKEN)))])
        what = f"at t = {first:g} s the motion bends by {worst:.2g} of a standard deviation away from its tangent"
        if worst >= BROKEN:
            raise ValueError(
                f"{what}, so that a covariance does not describe it: draw motions instead (polhode.samples), or take "
                "an earlier time or a smaller P0"
            )
        warnings.warn(f"{what}: standard deviations are good to about {worst:.0%}", UserWarning, stacklevel=4)
    matrix = J @ np.swapaxes(J, 1, 2)
    return Covariance(times, matrix.reshape(*times.shape, 6, 6), bend.reshape(times.shape))


def known_until(motion: FreeMotion, P0: Any, angle_deg: float, by: str | Sequence[str]) -> float:
    """See `FreeMotion.known_until`."""
    root, asked = _checked(motion, P0, by), names(by)
    limit = math.radians(checks.number("angle_deg", angle_deg, positive=True))

    def angle(elapsed: Floats) -> Floats:
        J = jacobian(motion, motion.t0 + elapsed, asked, "space")[:, :3] @ root
        found: Floats = np.sqrt((J * J).sum(axis=(1, 2)))
        return found

    spin = float(motion._column("spin")[0, 0])
    if not spin > 0.0:
        spin = 1.0
    elapsed = np.concatenate([[0.0], np.logspace(-3, 15, 721) / spin])
    beyond = angle(elapsed) > limit
    if not beyond.any():
        return math.inf
    k = int(np.argmax(beyond))
    if k == 0:
        return motion.t0
    low, high = float(elapsed[k - 1]), float(elapsed[k])
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if angle(np.array([middle]))[0] > limit else (middle, high)
    return motion.t0 + low


def _checked(motion: FreeMotion, P0: Any, by: str | Sequence[str]) -> Floats:
    """A root of the covariance at the start: its product with its transpose is P0."""
    if motion._shape:
        raise ValueError("a covariance belongs to one motion: take one with motion[i]")
    asked = names(by)
    if "t" in asked:
        raise ValueError("the time is no uncertain number here: leave out 't'")
    k = sum(COLUMNS[name] for name in asked)
    return root_of(P0, k)


def root_of(P0: Any, k: int) -> Floats:
    """A root of a covariance of k numbers, which is checked: its product with its transpose is P0."""
    P = checks.array("P0", P0, (k, k))
    size = float(np.abs(P).max())
    if float(np.abs(P - P.T).max()) > 1e-12 * size:
        i, j = np.unravel_index(int(np.argmax(np.abs(P - P.T))), P.shape)
        raise ValueError(f"P0 must be symmetric, but P0[{i}, {j}] = {P[i, j]:g} and P0[{j}, {i}] = {P[j, i]:g}")
    scale = np.sqrt(np.maximum(np.diag(P), 0.0))
    scale[scale == 0.0] = 1.0
    values, vectors = np.linalg.eigh(P / np.outer(scale, scale))
    if values[0] < -1e-10:
        raise ValueError(
            f"P0 must be positive in all directions, but with a unit diagonal it has the eigenvalue {values[0]:.3g}"
        )
    root: Floats = scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
    return root


def _bend(motion: FreeMotion, t: float, J: Floats, root: Floats, asked: list[str]) -> float:
    """How far the attitude is from its tangent, one standard deviation away, over the largest deviation."""
    if not np.isfinite(J).all():
        return math.inf
    _, deviations, directions = np.linalg.svd(J)
    if deviations[0] == 0.0:
        return 0.0
    here, worst = motion.at_checked(np.array(t)).attitude, 0.0
    for direction in directions[:2]:
        for side in (1.0, -1.0):
            step = side * direction
            moved = _moved(motion, root @ step, asked).at_checked(np.array(t)).attitude
            gap = (moved * here.inv()).as_rotvec() - J @ step
            worst = max(worst, float(np.linalg.norm(gap)) / float(deviations[0]))
    return worst


def _moved(motion: FreeMotion, step: Floats, asked: list[str]) -> FreeMotion:
    """The motion that starts a step away."""
    from scipy.spatial.transform import Rotation

    tensor, omega, turn = motion._tensor[0].copy(), motion._omega[0].copy(), Rotation.identity()
    momentum = np.zeros(3)
    at = 0
    for name in asked:
        d = step[at : at + COLUMNS[name]]
        at += COLUMNS[name]
        if name == "omega":
            omega += d
        elif name == "attitude":
            turn = Rotation.from_rotvec(d)
        elif name == "momentum":
            momentum = d
        elif name == "moments":
            tensor += motion._axes[0] @ np.diag(d) @ motion._axes[0].T
        else:
            for x, (i, j) in zip(d, PAIRS, strict=True):
                tensor[i, j] += x
                tensor[j, i] += x * (i != j)
    omega += np.linalg.solve(motion._tensor[0], momentum)
    start = turn * Rotation.from_quat(np.roll(motion._quaternion[0], -1))
    return FreeMotion(Body(tensor, allow_unphysical=True), omega, attitude=start, t0=motion.t0)
