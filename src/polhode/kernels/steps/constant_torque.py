"""Exact steps of spheres and symmetric bodies under a torque that is constant in the body, and a splitting around them.

The rates of a sphere grow evenly under such a torque, w(t) = u + v t, and its attitude obeys the linear equation
q' = q (0, u + v t) / 2. Romano (2008) solves it by Kummer's functions with complex parameters; their series are the
Taylor series of q about the time when w is least, with terms that cancel far from there. Here the series starts at each
step, where nothing cancels: c_(k+1) = (c_k (0, u) + c_(k-1) (0, v)) / (2 (k + 1)).

A symmetric body under a torque n along its axis a is such a sphere, with the moment 1 / c of the equator, that turns
about its own axis besides: q = p Z with p' = p (0, c (m(0) + n t a)) / 2, where Z turns by (j - c) (m3 t + n t^2 / 2).
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from polhode.kernels.algebra.quat import derivative, tidied
from polhode.kernels.algebra.vec import combine, placed
from polhode.kernels.status import NO_CONVERGENCE, OK
from polhode.kernels.steps.compose import nothing
from polhode.kernels.steps.flows import free, prepared, push, turning
from polhode.kernels.types import BoundStep, Depends, Inertia, Memory, Params, Pull, Quat, Scales, State, Vec3

TERMS = 19
"""Terms of a series for a turn of up to a radian: the first that is left out is below 2^-19 / 19!, 1e-23."""
MOST_PIECES = 100_000.0


def sped_up(q: Quat, u: Vec3, v: Vec3, h: float) -> tuple[Quat, int]:
    """The attitude after a time h at the rate u + v t, and a status."""
    turn = abs(h) * (sum_of_sizes(u) + abs(h) * sum_of_sizes(v))
    if not turn < MOST_PIECES:
        return q, NO_CONVERGENCE
    count = int(turn) + 1
    x = h / count
    for i in range(count):
        now = combine(u, i * x, v)
        a, b = (x * now[0], x * now[1], x * now[2]), (x * x * v[0], x * x * v[1], x * x * v[2])
        before, last, total = (0.0, 0.0, 0.0, 0.0), q, (0.0, 0.0, 0.0, 0.0)
        for k in range(TERMS):
            s, n, r = derivative(last, a), derivative(before, b), 1.0 / (k + 1.0)
            before, last = last, (r * (s[0] + n[0]), r * (s[1] + n[1]), r * (s[2] + n[2]), r * (s[3] + n[3]))
            total = (total[0] + last[0], total[1] + last[1], total[2] + last[2], total[3] + last[3])
        q = tidied((q[0] + total[0], q[1] + total[1], q[2] + total[2], q[3] + total[3]))
    return q, OK


def sum_of_sizes(v: Vec3) -> float:
    """|v1| + |v2| + |v3|."""
    return abs(v[0]) + abs(v[1]) + abs(v[2])


Pushed = Callable[[Inertia, State, Vec3, float], tuple[State, int]]


def pushed_sphere(body: Inertia, s: State, n: Vec3, h: float) -> tuple[State, int]:
    """The state of a sphere after a time h under the torque n."""
    c = body.inverse[0]
    q, status = sped_up(s.q, (c * s.m[0], c * s.m[1], c * s.m[2]), (c * n[0], c * n[1], c * n[2]), h)
    return State(q, combine(s.m, h, n)), status


@cache
def pushed_along(axis: int) -> Pushed:
    """What `pushed_sphere` is for a body that is symmetric about this axis, with a torque along it."""
    turned = turning(axis)
    k, e = axis - 1, axis % 3

    def pushed(body: Inertia, s: State, n: Vec3, h: float) -> tuple[State, int]:
        i, j = body.inertia, body.inverse
        c, excess = j[e], (i[e] - i[k]) * j[e] * j[k]
        q, status = sped_up(s.q, (c * s.m[0], c * s.m[1], c * s.m[2]), (c * n[0], c * n[1], c * n[2]), h)
        return turned(State(q, combine(s.m, h, n)), 0.5 * h * excess * (s.m[k] + 0.5 * h * n[k])), status

    return pushed


@prepared
class ConstantTorque(NamedTuple):
    """The scheme: the exact flow under the torque at the start of a step, between half kicks by what is left of it.

    Of the torque on a symmetric body the flow takes the part along the axis; for other bodies, and for many at once, it
    is that of the free body. The memory is the torque at the end of the last step.
    """

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> BoundStep:
        """Binds the step to its torque, for runs of these scales."""
        flow, axis = free(scales), 0
        i = scales.inertia if scales is not None and not scales.many else (1.0, 2.0, 3.0)
        sphere = i[0] == i[1] == i[2]
        if not sphere and (i[0] == i[1] or i[1] == i[2] or i[2] == i[0]):
            axis = 3 if i[0] == i[1] else 1 if i[1] == i[2] else 2
        if depends is Depends.NOTHING:

            def alone(body: Inertia, p: Params, t: float, s: State, h: float, memory: Memory) -> Any:
                return flow(body, p, t, s, h), memory, OK

            return BoundStep(nothing, alone, 0, 0, 0)
        if not sphere and not axis:

            def between(body: Inertia, p: Params, t: float, s: State, h: float, n: Any) -> Any:
                there = flow(body, p, t, push(s, 0.5 * h, n), h)
                new = pull(body, p, t + h, there)
                return push(State(tidied(there.q), there.m), 0.5 * h, new), new, OK

            return BoundStep(pull, between, 3, 1, 1)
        pushed, k = (pushed_sphere, 0) if sphere else (pushed_along(axis), axis - 1)

        def step(body: Inertia, p: Params, t: float, s: State, h: float, n: Any) -> Any:
            steady: Vec3 = (n[0], n[1], n[2]) if sphere else placed(k, n[k], 0.0, 0.0)
            first = push(s, 0.5 * h, combine(n, -1.0, steady))
            there, status = pushed(body, first, steady, h)
            new = pull(body, p, t + h, there)
            return push(there, 0.5 * h, combine(new, -1.0, steady)), new, status

        return BoundStep(pull, step, 3, 1, 1)
