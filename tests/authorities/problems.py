"""Generic problems, one for every kind of torque: no symmetry, no small parameter, no special direction.

All torques are cases of one formula,

    tau = r x R^T f(t) - d w - e |w|^2 w,      f(t) = f cos(nu t + phase), times `after` beyond the time `jump`,

which each problem uses in part. So one recipe serves polhode, the reference integration, and the symmetries: a rotated
frame, other units, reversed time and relabelled axes are changes of its numbers.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import polhode as ph
from polhode.kernels.algebra.vec import cross
from polhode.kernels.types import Depends, Quat, UserTorque, Vec3
from polhode.problem import Problem
from polhode.torques import Torque
from polhode.torques._torque import CustomTorque

Floats = NDArray[np.float64]


def _swinging(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    c = math.cos(p[6] * t + p[7])
    return cross((p[0], p[1], p[2]), ph.to_body(q, (c * p[3], c * p[4], c * p[5])))


def _jumping(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    c = 1.0 if p[14] * (t - p[12]) < 0.0 else p[13]
    return cross((p[0], p[1], p[2]), ph.to_body(q, (c * p[3], c * p[4], c * p[5])))


def _dragged(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    n = cross((p[0], p[1], p[2]), ph.to_body(q, (p[3], p[4], p[5])))
    e = p[11] * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    return (n[0] - (p[8] + e) * w[0], n[1] - (p[9] + e) * w[1], n[2] - (p[10] + e) * w[2])


def _stirred(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    c = math.cos(p[6] * t + p[7])
    n = cross((p[0], p[1], p[2]), ph.to_body(q, (c * p[3], c * p[4], c * p[5])))
    e = p[11] * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    return (n[0] - (p[8] + e) * w[0], n[1] - (p[9] + e) * w[1], n[2] - (p[10] + e) * w[2])


KERNELS: dict[str, UserTorque] = {
    "swing": _swinging,
    "jump": _jumping,
    "drag": _dragged,
    "stir": _stirred,
}
DEPENDS = {
    "free": Depends.NOTHING,
    "weight": Depends.POSITION,
    "swing": Depends.POSITION | Depends.TIME,
    "jump": Depends.POSITION | Depends.TIME,
    "drag": Depends.POSITION | Depends.RATE,
    "stir": Depends.POSITION | Depends.TIME | Depends.RATE,
}


@dataclass(frozen=True)
class Recipe:
    """The numbers of a motion from time 0 to `t_end`, from which its problem is made."""

    kind: str
    tensor: tuple[tuple[float, float, float], ...]
    omega: tuple[float, float, float] = (0.9, -0.7, 1.1)
    quaternion: tuple[float, float, float, float] = (5.0, 1.0, -3.0, 2.0)
    point: tuple[float, float, float] = (0.375, -0.25, 0.875)
    force: tuple[float, float, float] = (0.0, 0.0, -1.5)
    nu: float = 2.25
    phase: float = 0.375
    damping: tuple[float, float, float] = (0.125, 0.25, 0.0625)
    cubic: float = 0.03125
    jump: float = 1.0
    after: float = -0.5
    direction: float = 1.0
    """-1 when time is reversed: `after` then holds before `jump`."""
    t_end: float = 2.0
    rotor: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def depends(self) -> Depends:
        """What the torque reads."""
        return DEPENDS[self.kind]

    @property
    def body(self) -> ph.Body:
        """The body, from its full tensor."""
        return ph.Body(self.tensor, rotor=self.rotor)

    @property
    def torque(self) -> Torque:
        """The torque, as polhode's."""
        if self.kind == "free":
            return ph.Free()
        if self.kind == "weight":
            return ph.HeavyTop(math.hypot(*self.force), point=self.point, down=self.force)
        numbers = (self.nu, self.phase, *self.damping, self.cubic, self.jump, self.after, self.direction)
        values = (*self.point, *self.force, *numbers)
        jumps = (self.jump,) if self.kind == "jump" else ()
        return CustomTorque(KERNELS[self.kind], values, None, jumps, self.depends)

    @property
    def problem(self) -> Problem:
        """The problem, as polhode's."""
        return Problem.given(
            self.body, self.torque, omega=self.omega, attitude=self.quaternion, t_span=(0.0, self.t_end)
        )

    # --- the same motion, described otherwise

    def rotated(self, S: Floats, s: Quat) -> "Recipe":
        """In a space frame turned by S, whose quaternion is s."""
        x, y, z = (S @ np.array(self.force)).tolist()
        return replace(self, force=(x, y, z), quaternion=_product(s, self.quaternion))

    def rescaled(self, mass: float, time: float) -> "Recipe":
        """In other units: moments of inertia are `mass` times greater, times `time` times longer."""
        torque = mass / time**2
        return replace(
            self,
            tensor=_tensor(mass * np.array(self.tensor)),
            omega=_scaled(self.omega, 1 / time),
            force=_scaled(self.force, torque),
            nu=self.nu / time,
            damping=_scaled(self.damping, torque * time),
            cubic=self.cubic * torque * time**3,
            jump=self.jump * time,
            t_end=self.t_end * time,
            rotor=_scaled(self.rotor, mass / time),
        )

    def mirrored(self) -> "Recipe":
        """With time running the other way: the same attitudes, opposite rates."""
        return replace(
            self,
            omega=_scaled(self.omega, -1.0),
            nu=-self.nu,
            damping=_scaled(self.damping, -1.0),
            cubic=-self.cubic,
            jump=-self.jump,
            direction=-self.direction,
            t_end=-self.t_end,
            rotor=_scaled(self.rotor, -1.0),
        )

    def relabelled(self) -> "Recipe":
        """With body axes 1, 2, 3 called 3, 1, 2: new components are (v2, v3, v1)."""
        P = RELABEL
        return replace(
            self,
            tensor=_tensor(P @ np.array(self.tensor) @ P.T),
            omega=_cycled(self.omega),
            point=_cycled(self.point),
            damping=_cycled(self.damping),
            quaternion=_product(self.quaternion, RELABEL_BACK),
            rotor=_cycled(self.rotor),
        )


RELABEL = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
RELABEL_BACK: Quat = (0.5, 0.5, 0.5, 0.5)
"""The quaternion of the inverse of RELABEL."""


def _product(a: Quat, b: Quat) -> Quat:
    u, v = np.array(a[1:]), np.array(b[1:])
    x, y, z = (a[0] * v + b[0] * u + np.cross(u, v)).tolist()
    return (float(a[0] * b[0] - u @ v), x, y, z)


def _scaled(v: Vec3, factor: float) -> Vec3:
    return (v[0] * factor, v[1] * factor, v[2] * factor)


def _cycled(v: Vec3) -> Vec3:
    return (v[1], v[2], v[0])


def _tensor(a: Floats) -> tuple[tuple[float, float, float], ...]:
    x, y, z = (tuple(row) for row in a.tolist())
    return (x, y, z)


ALIGNED = ((1.0, 0.0, 0.0), (0.0, 1.75, 0.0), (0.0, 0.0, 2.5))
TILTED = ((1.5, 0.25, -0.125), (0.25, 2.0, 0.375), (-0.125, 0.375, 1.25))

RECIPES = {kind: Recipe(kind, ALIGNED) for kind in DEPENDS} | {
    "weight-tilted": Recipe("weight", TILTED),
    "stir-tilted": Recipe("stir", TILTED),
}
PROBLEMS = {name: recipe.problem for name, recipe in RECIPES.items()}
