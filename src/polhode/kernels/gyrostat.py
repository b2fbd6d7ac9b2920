"""Gyrostats, with a constant internal angular momentum g, so that m = I w + g; and bodies that change with time.

The rate is w = I^-1 (m - g), and m' = m x w + torque as for any body. Kernels are written once: `rate_of` and the like
read g by `internal`, which is a constant zero where they are compiled for a body without a rotor, and costs nothing
there.

The kinetic energy (m - g) . I^-1 (m - g) / 2 is that of the free body without a rotor, m . I^-1 m / 2, less m . I^-1 g
but for a constant. The flow of this term is a turn at the constant rate -I^-1 g (`veer`), so splittings with the exact
flow of a body without a rotor take gyrostats with one flow more.

A body that changes has a tensor I(t) in place of I, which need not stay diagonal. Kernels ask for `body_at(body, p, t)`
where they evaluate anything: a constant body is returned as it is, and costs nothing.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from polhode.kernels.algebra.quat import advanced
from polhode.kernels.algebra.rotation import exponential
from polhode.kernels.algebra.vec import combine, cross, times
from polhode.kernels.algebra.vector_table import tensor_at
from polhode.kernels.ops import across, each_if_it_changes, if_it_changes, internal, is_full, is_gyrostat
from polhode.kernels.types import Changing, Gyrostat, Inertia, Momentary, Params, State, Vec3
from polhode.support.arrays import Floats


def body_of(moments: Sequence[float], inverses: Sequence[float], rotor: Sequence[float] | None) -> Inertia:
    """The body as kernels see it; `rotor` is the internal momentum in principal axes, None: there is none."""
    a, b, c = moments
    i, j, k = inverses
    if rotor is None:
        return Inertia((a, b, c), (i, j, k))
    x, y, z = rotor
    return Gyrostat((a, b, c), (i, j, k), (x, y, z))  # type: ignore[return-value]  # it has all that a Rotor has


def rate_of(body: Inertia, m: Vec3) -> Vec3:
    """I^-1 (m - g): the rate of a body with the momentum m."""
    g = internal(body)
    x, y, z = m[0] - g[0], m[1] - g[1], m[2] - g[2]
    w = times((x, y, z), body.inverse)
    if is_full(body):
        a, b, c = across(body)
        w = (w[0] + c * y + b * z, w[1] + c * x + a * z, w[2] + b * x + a * y)
    return w


def momentary(body: Changing, p: Params, t: float) -> Any:
    """A body that changes, at a time; beside a jump of its tensor, on the side where the step is."""
    t = min(max(t, p.window[0]), p.window[1])
    if len(body.table) == 2:
        (x, y, z), _ = tensor_at(body.table[0], 0.0, t, body.table[1])
        i, j, k = y * z, x * z, x * y
        r = 1.0 / (x * i)  # one division takes longer than the five products
        return Gyrostat((x, y, z), (r * i, r * j, r * k), body.internal)
    (x, y, z), (a, b, c) = tensor_at(body.table[0], 1.0, t, body.table[1])
    i, j, k = y * z - a * a, x * z - b * b, x * y - c * c
    d, e, f = b * c - a * x, a * c - b * y, a * b - c * z
    r = 1.0 / (x * i + c * f + b * e)
    return Momentary((x, y, z), (r * i, r * j, r * k), body.internal, (r * d, r * e, r * f), t)


def body_at(body: Any, p: Params, t: float) -> Any:
    """The body at a time; one that does not change is returned as it is."""
    return if_it_changes(momentary, body, p, t)


def bodies_at(body: Any, p: Params, times: tuple[float, ...]) -> Any:
    """The bodies at several times, in one look at the table."""
    return each_if_it_changes(momentary, body, p, times)


def momentum_of(body: Inertia, w: Vec3) -> Vec3:
    """I w + g: the momentum of a body at the rate w."""
    m = times(w, body.inertia)
    if is_gyrostat(body):
        m = combine(m, 1.0, internal(body))
    return m


def with_gyration(body: Inertia, w: Vec3, n: Vec3) -> Vec3:
    """n + g x w: what I w feels of a rotor beside the torque n."""
    if is_gyrostat(body):
        return combine(n, 1.0, cross(internal(body), w))
    return n


def veer(body: Inertia, p: Params, t: float, s: State, h: float) -> State:
    """The flow of -m . I^-1 g: the body turns at the rate -I^-1 g, while its momentum is fixed in space."""
    v = times(internal(body), body.inverse)
    e, u = exponential((-h * v[0], -h * v[1], -h * v[2]))
    # As in `flows.rotated_steadily`: the angle is the same in all steps, and a rounded cosine would let |m| drift.
    across = cross(u, s.m)
    d = combine(cross(u, combine(across, e, s.m)), -1.0, across)
    return State(advanced(s.q, e, u), combine(s.m, 2.0, d))


def greatest_efforts(moments: Floats, rotor: Floats, momentum: Floats) -> tuple[Floats, Floats]:
    """Returns bounds of `exact_flow.effort`, for flows of the body without its rotor along the free motion.

    The arguments are (..., 3), in principal axes. A free gyrostat keeps |m| and (m - g) . I^-1 (m - g); so the square
    of each component of m is bounded by m . m, and by the energy.
    """
    j = 1.0 / moments
    own, wheel = momentum - rotor, (rotor * rotor * j).sum(axis=-1)
    square = (momentum * momentum).sum(axis=-1)
    energy = (np.sqrt((own * own * j).sum(axis=-1)) + np.sqrt(wheel)) ** 2  # of m . I^-1 m
    high, low = j.max(axis=-1), j.min(axis=-1)
    energy = np.minimum(energy, high * square)
    rate2 = (high + low) * energy - high * low * square
    most = np.minimum(square[..., None], energy[..., None] * moments)
    a = np.roll(j, -2, axis=-1) - np.roll(j, -1, axis=-1)
    terms = np.roll(a, -1, axis=-1) * np.roll(a, -2, axis=-1) * most
    extent = np.maximum(terms.max(axis=-1), 0.0) - np.minimum(terms.min(axis=-1), 0.0)
    return np.maximum(rate2, 0.0), 0.5 * extent
