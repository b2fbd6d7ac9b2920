"""Systems that tests share, so that their programs are compiled once."""

import math
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import polhode as ph


def charged(r: float, a: Any, b: Any) -> Any:
    """A soft repulsion and the attraction or repulsion of charges."""
    return 0.3 / r**6 + a[0] * b[0] / math.sqrt(r * r + 0.25)


SITES = [ph.systems.Site((0.4, 0.0, 0.1), 0.8), ph.systems.Site((-0.3, 0.2, 0.0), -0.5)]


def three_bodies(*, tilted: bool = False, rotor: bool = False) -> ph.System:
    """Three bodies of different kinds that fly past each other and turn."""
    draw = np.random.default_rng(5)
    axes = Rotation.from_rotvec([0.3, 0.5, -0.2]).as_matrix()
    inertia = axes @ np.diag([1.0, 1.4, 2.0]) @ axes.T if tilted else [1.0, 1.4, 2.0]
    bodies = [
        ph.Body(inertia),
        ph.Body([0.5, 0.9, 0.9], rotor=(0.1, 0.2, -0.3) if rotor else None),
        ph.Body([0.7, 0.7, 0.7]),
    ]
    return ph.System(
        bodies, mass=[1.0, 2.0, 1.5], position=[[0.0, 0.0, 0.0], [1.8, 0.3, 0.1], [0.4, 1.9, -0.5]],
        velocity=0.3 * draw.normal(size=(3, 3)), attitude=Rotation.random(3, rng=draw),
        omega=draw.normal(size=(3, 3)),
    )  # fmt: skip


def interaction() -> Any:
    """The forces of these tests."""
    return ph.pairs(charged, SITES)


def last_state(s: Any) -> Any:
    """All numbers of the last row."""
    q = s.quaternion[-1] * np.sign(s.quaternion[-1][:, :1])
    return np.concatenate([s.position[-1].ravel(), q.ravel(), s.velocity[-1].ravel(), s.momentum[-1].ravel()])
