"""Systems in heyoka: the equations of motion of bodies under a potential, 13 for each body, as Taylor series.

Forces and torques are symbolic derivatives of the potential by positions and quaternions. Nothing is shared with
polhode but the numbers of the problem.
"""

from collections.abc import Callable, Sequence
from typing import Any

import heyoka as hy
import numpy as np

import polhode as ph

NAMES = ("x", "y", "z", "a", "b", "c", "d", "u", "v", "w", "l", "m", "n")


def rotated(q: Sequence[Any], r: Sequence[Any]) -> list[Any]:
    """R r for a quaternion of unit length, scalar first."""
    a, b, c, d = q
    return [
        (a * a + b * b - c * c - d * d) * r[0] + 2.0 * (b * c - a * d) * r[1] + 2.0 * (b * d + a * c) * r[2],
        2.0 * (b * c + a * d) * r[0] + (a * a - b * b + c * c - d * d) * r[1] + 2.0 * (c * d - a * b) * r[2],
        2.0 * (b * d - a * c) * r[0] + 2.0 * (c * d + a * b) * r[1] + (a * a - b * b - c * c + d * d) * r[2],
    ]


def dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def equations(system: ph.System, potential: Callable[[list[Any], list[Any]], Any], number: Any = float) -> list[Any]:
    """Returns the equations of motion under V(positions, quaternions), for bodies whose axes are principal."""
    n = len(system)
    names = [hy.make_vars(*(f"{k}{i}" for k in NAMES)) for i in range(n)]
    x, q = [v[:3] for v in names], [v[3:7] for v in names]
    value, out = potential(x, q), []
    for i, v in enumerate(names):
        a, b, c, d = q[i]
        momentum = v[10:]
        mass = number(float(system.mass[i]))
        w = [momentum[k] / number(float(system.bodies[i].moments[k])) for k in range(3)]
        turns = ((-b, a, d, -c), (-c, -d, a, b), (-d, c, -b, a))  # q e_k
        slopes = [hy.diff(value, q[i][k]) for k in range(4)]
        torque = [-sum(s * t for s, t in zip(slopes, turn, strict=True)) / 2.0 for turn in turns]
        out += [(v[k], v[7 + k]) for k in range(3)]
        out += [
            (a, -(b * w[0] + c * w[1] + d * w[2]) / 2.0), (b, (a * w[0] + c * w[2] - d * w[1]) / 2.0),
            (c, (a * w[1] - b * w[2] + d * w[0]) / 2.0), (d, (a * w[2] + b * w[1] - c * w[0]) / 2.0),
        ]  # fmt: skip
        out += [(v[7 + k], -hy.diff(value, v[k]) / mass) for k in range(3)]
        for k in range(3):
            i1, i2 = (k + 1) % 3, (k + 2) % 3
            out.append((momentum[k], momentum[i1] * w[i2] - momentum[i2] * w[i1] + torque[k]))
    return out


def state_of(system: ph.System) -> list[float]:
    """Returns the state at the start, body by body."""
    rows = np.concatenate([system.position, system.quaternion, system.velocity, system.momentum], axis=1)
    return [float(y) for y in rows.ravel()]


def integrator(system: ph.System, potential: Callable[[list[Any], list[Any]], Any], **options: Any) -> Any:
    """Returns heyoka's integrator in double precision, or in that of `options`."""
    return hy.taylor_adaptive(equations(system, potential), state_of(system), **options)


def integrator_in_many_digits(
    system: ph.System, potential: Callable[[list[Any], list[Any]], Any], bits: int = 150
) -> Any:
    """Returns heyoka's integrator with this many bits in all numbers: 150 are 45 digits."""

    def number(y: float) -> Any:
        return hy.real(y, bits)

    start = np.array([number(y) for y in state_of(system)])
    return hy.taylor_adaptive(
        equations(system, potential, number), start, fp_type=hy.real, prec=bits, tol=number(2.0 ** -(bits - 6)),
        compact_mode=True,
    )  # fmt: skip
