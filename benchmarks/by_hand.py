"""Methods on a heavy top as one would write them by hand: one Numba function each, numbers only.

The arithmetic is that of polhode, so that the ratio shows what its layers cost: the torque is r x R^T f with a point r
of the body and a force f in space, whatever they are. Strang, SABA8 and SEJ take the formulas of the exact motion from
`polhode.kernels.free.exact_flow` and make loops, kicks and turns of the quaternion themselves.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, untyped-decorator, arg-type, attr-defined"
from math import sqrt
from typing import Any

import numpy as np
from numba import njit

from polhode.compiler.numba_door import dispatcher_of
from polhode.kernels.algebra import trig
from polhode.kernels.free.exact_flow import increment, momentum_increment, needed
from polhode.kernels.steps.flows import HEADROOM, kick
from polhode.kernels.types import Inertia, Scales
from polhode.methods import find

ROUND, INVERSE_PI, PI_HIGH, PI_LOW = trig.ROUND, trig.INVERSE_PI, trig.PI_HIGH, trig.PI_LOW
S0, S1, S2, S3, S4, S5, S6, S7 = (getattr(trig, f"S{i}") for i in range(8))
V0, V1, V2, V3, V4, V5, V6, V7 = (getattr(trig, f"V{i}") for i in range(8))

OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}}
"""A hand-written loop may let the compiler fuse; polhode writes its fused operations out."""


@njit(inline="always", **OPTIONS)
def _sine_versine(x):
    k = (x * INVERSE_PI + ROUND) - ROUND
    r = (x - k * PI_HIGH) - k * PI_LOW
    z = r * r
    z2 = z * z
    z4 = z2 * z2
    s = ((S7 * z + S6) * z2 + (S5 * z + S4)) * z4 + ((S3 * z + S2) * z2 + (S1 * z + S0))
    v = ((V7 * z + V6) * z2 + (V5 * z + V4)) * z4 + ((V3 * z + V2) * z2 + (V1 * z + V0))
    return r + r * z * s, z * v


@njit(inline="always", **OPTIONS)
def _torque(r, f, q0, q1, q2, q3):
    k, along, w = q0 * q0 - (q1 * q1 + q2 * q2 + q3 * q3), 2.0 * (q1 * f[0] + q2 * f[1] + q3 * f[2]), 2.0 * q0
    u1 = k * f[0] + along * q1 - w * (q2 * f[2] - q3 * f[1])
    u2 = k * f[1] + along * q2 - w * (q3 * f[0] - q1 * f[2])
    u3 = k * f[2] + along * q3 - w * (q1 * f[1] - q2 * f[0])
    return r[1] * u3 - r[2] * u2, r[2] * u1 - r[0] * u3, r[0] * u2 - r[1] * u1


@njit(**OPTIONS)
def mr2(i1, i2, i3, r, f, q0, q1, q2, q3, m1, m2, m3, h, steps):
    j1, j2, j3 = 1.0 / i1, 1.0 / i2, 1.0 / i3
    n1, n2, n3 = _torque(r, f, q0, q1, q2, q3)
    for _ in range(steps):
        m1, m2, m3 = m1 + 0.5 * h * n1, m2 + 0.5 * h * n2, m3 + 0.5 * h * n3
        s, e = _sine_versine(m1 * (0.25 * h * j1))
        c = 1.0 - e
        m2, m3 = m2 + 2.0 * s * (c * m3 - s * m2), m3 - 2.0 * s * (c * m2 + s * m3)
        q0, q1, q2, q3 = q0 - (e * q0 + s * q1), q1 + (s * q0 - e * q1), q2 + (s * q3 - e * q2), q3 - (e * q3 + s * q2)
        s, e = _sine_versine(m2 * (0.25 * h * j2))
        c = 1.0 - e
        m3, m1 = m3 + 2.0 * s * (c * m1 - s * m3), m1 - 2.0 * s * (c * m3 + s * m1)
        q0, q1, q2, q3 = q0 - (e * q0 + s * q2), q1 - (e * q1 + s * q3), q2 + (s * q0 - e * q2), q3 + (s * q1 - e * q3)
        s, e = _sine_versine(m3 * (0.5 * h * j3))
        c = 1.0 - e
        m1, m2 = m1 + 2.0 * s * (c * m2 - s * m1), m2 - 2.0 * s * (c * m1 + s * m2)
        q0, q1, q2, q3 = q0 - (e * q0 + s * q3), q1 + (s * q2 - e * q1), q2 - (e * q2 + s * q1), q3 + (s * q0 - e * q3)
        s, e = _sine_versine(m2 * (0.25 * h * j2))
        c = 1.0 - e
        m3, m1 = m3 + 2.0 * s * (c * m1 - s * m3), m1 - 2.0 * s * (c * m3 + s * m1)
        q0, q1, q2, q3 = q0 - (e * q0 + s * q2), q1 - (e * q1 + s * q3), q2 + (s * q0 - e * q2), q3 + (s * q1 - e * q3)
        s, e = _sine_versine(m1 * (0.25 * h * j1))
        c = 1.0 - e
        m2, m3 = m2 + 2.0 * s * (c * m3 - s * m2), m3 - 2.0 * s * (c * m2 + s * m3)
        q0, q1, q2, q3 = q0 - (e * q0 + s * q1), q1 + (s * q0 - e * q1), q2 + (s * q3 - e * q2), q3 - (e * q3 + s * q2)
        n1, n2, n3 = _torque(r, f, q0, q1, q2, q3)
        m1, m2, m3 = m1 + 0.5 * h * n1, m2 + 0.5 * h * n2, m3 + 0.5 * h * n3
    return np.array([q0, q1, q2, q3, m1, m2, m3])


@njit(inline="always", **OPTIONS)
def _slope(j1, j2, j3, r, f, q0, q1, q2, q3, m1, m2, m3):
    w1, w2, w3 = m1 * j1, m2 * j2, m3 * j3
    n1, n2, n3 = _torque(r, f, q0, q1, q2, q3)
    return (
        -0.5 * (q1 * w1 + q2 * w2 + q3 * w3),
        0.5 * (q0 * w1 + q2 * w3 - q3 * w2),
        0.5 * (q0 * w2 - q1 * w3 + q3 * w1),
        0.5 * (q0 * w3 + q1 * w2 - q2 * w1),
        m2 * w3 - m3 * w2 + n1,
        m3 * w1 - m1 * w3 + n2,
        m1 * w2 - m2 * w1 + n3,
    )


@njit(**OPTIONS)
def rk4(i1, i2, i3, r, f, q0, q1, q2, q3, m1, m2, m3, h, steps):
    j1, j2, j3, g = 1.0 / i1, 1.0 / i2, 1.0 / i3, 0.5 * h
    for _ in range(steps):
        a0, a1, a2, a3, a4, a5, a6 = _slope(j1, j2, j3, r, f, q0, q1, q2, q3, m1, m2, m3)
        b0, b1, b2, b3, b4, b5, b6 = _slope(
            j1, j2, j3, r, f,
            q0 + g * a0, q1 + g * a1, q2 + g * a2, q3 + g * a3, m1 + g * a4, m2 + g * a5, m3 + g * a6,
        )  # fmt: skip
        c0, c1, c2, c3, c4, c5, c6 = _slope(
            j1, j2, j3, r, f,
            q0 + g * b0, q1 + g * b1, q2 + g * b2, q3 + g * b3, m1 + g * b4, m2 + g * b5, m3 + g * b6,
        )  # fmt: skip
        d0, d1, d2, d3, d4, d5, d6 = _slope(
            j1, j2, j3, r, f,
            q0 + h * c0, q1 + h * c1, q2 + h * c2, q3 + h * c3, m1 + h * c4, m2 + h * c5, m3 + h * c6,
        )  # fmt: skip
        k = h / 6.0
        q0 += k * (a0 + 2.0 * b0 + 2.0 * c0 + d0)
        q1 += k * (a1 + 2.0 * b1 + 2.0 * c1 + d1)
        q2 += k * (a2 + 2.0 * b2 + 2.0 * c2 + d2)
        q3 += k * (a3 + 2.0 * b3 + 2.0 * c3 + d3)
        m1 += k * (a4 + 2.0 * b4 + 2.0 * c4 + d4)
        m2 += k * (a5 + 2.0 * b5 + 2.0 * c5 + d5)
        m3 += k * (a6 + 2.0 * b6 + 2.0 * c6 + d6)
        n = 1.0 / sqrt(q0 * q0 + q1 * q1 + q2 * q2 + q3 * q3)
        q0, q1, q2, q3 = q0 * n, q1 * n, q2 * n, q3 * n
    return np.array([q0, q1, q2, q3, m1, m2, m3])


@njit(**OPTIONS)
def nmb(i1, i2, i3, r, f, q0, q1, q2, q3, m1, m2, m3, h, steps):
    j1, j2, j3, g = 1.0 / i1, 1.0 / i2, 1.0 / i3, 0.5 * h
    k1, k2, k3 = (i3 - i2) * j1, (i1 - i3) * j2, (i2 - i1) * j3
    w1, w2, w3 = m1 * j1, m2 * j2, m3 * j3
    n1, n2, n3 = _torque(r, f, q0, q1, q2, q3)
    x1, x2, x3 = n1 * j1 - k1 * w2 * w3, n2 * j2 - k2 * w3 * w1, n3 * j3 - k3 * w1 * w2
    for _ in range(steps):
        p1, p2, p3 = w1 + g * x1, w2 + g * x2, w3 + g * x3
        v1, v2, v3 = h * p1, h * p2, h * p3
        half = 0.5 * sqrt(v1 * v1 + v2 * v2 + v3 * v3)
        s, e = _sine_versine(half)
        s = 0.5 * s / max(half, 1e-300)
        v1, v2, v3 = s * v1, s * v2, s * v3
        q0, q1, q2, q3 = (
            q0 - (e * q0 + (q1 * v1 + q2 * v2 + q3 * v3)),
            q1 + ((q0 * v1 + q2 * v3 - q3 * v2) - e * q1),
            q2 + ((q0 * v2 - q1 * v3 + q3 * v1) - e * q2),
            q3 + ((q0 * v3 + q1 * v2 - q2 * v1) - e * q3),
        )
        n1, n2, n3 = _torque(r, f, q0, q1, q2, q3)
        n1, n2, n3 = n1 * j1, n2 * j2, n3 * j3
        w1, w2, w3 = p1 + g * x1, p2 + g * x2, p3 + g * x3
        for _ in range(25):
            f1, f2, f3 = x1 + k1 * w2 * w3 - n1, x2 + k2 * w3 * w1 - n2, x3 + k3 * w1 * w2 - n3
            a, b, c, d, ee, gg = g * k1 * w3, g * k1 * w2, g * k2 * w3, g * k2 * w1, g * k3 * w2, g * k3 * w1
            u, v, z = 1.0 - d * gg, c - d * ee, c * gg - ee
            i = 1.0 / (u - a * v + b * z)
            d1 = i * (u * f1 + (b * gg - a) * f2 + (a * d - b) * f3)
            d2 = i * (-v * f1 + (1.0 - b * ee) * f2 + (b * c - d) * f3)
            d3 = i * (z * f1 + (a * ee - gg) * f2 + (1.0 - a * c) * f3)
            x1, x2, x3 = x1 - d1, x2 - d2, x3 - d3
            w1, w2, w3 = p1 + g * x1, p2 + g * x2, p3 + g * x3
            if g * max(abs(d1), abs(d2), abs(d3)) <= 1e-9 * max(abs(w1), abs(w2), abs(w3)):
                break
    return np.array([q0, q1, q2, q3, i1 * w1, i2 * w2, i3 * w3])


# --- around the exact motion: `_exact(...)` are its formulas, for the resolution that a run of these sizes needs


def _prepared(body, momenta, h):
    """Returns the resolution that polhode would choose, for the same arithmetic."""
    scales = Scales(body, momenta, h, 1.0)
    return needed(scales, HEADROOM)[0]


@njit(inline="always", **OPTIONS)
def _turned(q0, q1, q2, q3, e, v):
    return (
        q0 - (e * q0 + (q1 * v[0] + q2 * v[1] + q3 * v[2])),
        q1 + ((q0 * v[0] + q2 * v[2] - q3 * v[1]) - e * q1),
        q2 + ((q0 * v[1] - q1 * v[2] + q3 * v[0]) - e * q2),
        q3 + ((q0 * v[2] + q1 * v[1] - q2 * v[0]) - e * q3),
    )


def strang(body: Any, momenta: Any, h: float) -> Any:
    """Returns the loop of Strang's splitting for runs like this one."""
    fine = _prepared(body, momenta, h)
    move = dispatcher_of(increment(fine.nodes, fine.terms, fine.longest_turn))

    @njit(**OPTIONS)
    def loop(i1, i2, i3, r, f, q0, q1, q2, q3, m1, m2, m3, h, steps):
        body = Inertia((i1, i2, i3), (1.0 / i1, 1.0 / i2, 1.0 / i3))
        n1, n2, n3 = _torque(r, f, q0, q1, q2, q3)
        for _ in range(steps):
            m1, m2, m3 = m1 + 0.5 * h * n1, m2 + 0.5 * h * n2, m3 + 0.5 * h * n3
            d, e, v, _k, _mu = move(body, (m1, m2, m3), h)
            m1, m2, m3 = m1 + d[0], m2 + d[1], m3 + d[2]
            q0, q1, q2, q3 = _turned(q0, q1, q2, q3, e, v)
            n1, n2, n3 = _torque(r, f, q0, q1, q2, q3)
            m1, m2, m3 = m1 + 0.5 * h * n1, m2 + 0.5 * h * n2, m3 + 0.5 * h * n3
        return np.array([q0, q1, q2, q3, m1, m2, m3])

    return loop


def saba8(body: Any, momenta: Any, h: float) -> Any:
    """Returns the loop of SABA8: nine drifts, eight kicks."""
    stages = find("SABA8").scheme.without_veers().stages
    drifts = np.array([s.fraction for s in stages if s.flow is not kick])
    kicks = np.array([s.fraction for s in stages if s.flow is kick])
    fine = _prepared(body, momenta, h * float(np.abs(drifts).max()))
    move = dispatcher_of(increment(fine.nodes, fine.terms, fine.longest_turn))

    @njit(**OPTIONS)
    def loop(i1, i2, i3, r, f, q0, q1, q2, q3, m1, m2, m3, h, steps):
        body = Inertia((i1, i2, i3), (1.0 / i1, 1.0 / i2, 1.0 / i3))
        for _ in range(steps):
            for k in range(9):
                d, e, v, _k, _mu = move(body, (m1, m2, m3), drifts[k] * h)
                m1, m2, m3 = m1 + d[0], m2 + d[1], m3 + d[2]
                q0, q1, q2, q3 = _turned(q0, q1, q2, q3, e, v)
                if k < 8:
                    n1, n2, n3 = _torque(r, f, q0, q1, q2, q3)
                    m1, m2, m3 = m1 + kicks[k] * h * n1, m2 + kicks[k] * h * n2, m3 + kicks[k] * h * n3
        return np.array([q0, q1, q2, q3, m1, m2, m3])

    return loop


def sej(body: Any, momenta: Any, h: float) -> Any:
    """Returns the loop of SEJ: exact momentum, attitude by the rate at the middle of the step."""
    fine = _prepared(body, momenta, h)
    move = dispatcher_of(momentum_increment(fine.terms, 0.0))

    @njit(**OPTIONS)
    def loop(i1, i2, i3, r, f, q0, q1, q2, q3, m1, m2, m3, h, steps):
        j1, j2, j3 = 1.0 / i1, 1.0 / i2, 1.0 / i3
        body = Inertia((i1, i2, i3), (j1, j2, j3))
        n1, n2, n3 = _torque(r, f, q0, q1, q2, q3)
        for _ in range(steps):
            m1, m2, m3 = m1 + 0.5 * h * n1, m2 + 0.5 * h * n2, m3 + 0.5 * h * n3
            w, _odd, d = move(body, (m1, m2, m3), h)
            m1, m2, m3 = m1 + d[0], m2 + d[1], m3 + d[2]
            v1, v2, v3 = h * w[0] * j1, h * w[1] * j2, h * w[2] * j3
            half = 0.5 * sqrt(v1 * v1 + v2 * v2 + v3 * v3)
            s, e = _sine_versine(half)
            s = 0.5 * s / max(half, 1e-300)
            q0, q1, q2, q3 = _turned(q0, q1, q2, q3, e, (s * v1, s * v2, s * v3))
            n1, n2, n3 = _torque(r, f, q0, q1, q2, q3)
            m1, m2, m3 = m1 + 0.5 * h * n1, m2 + 0.5 * h * n2, m3 + 0.5 * h * n3
        return np.array([q0, q1, q2, q3, m1, m2, m3])

    return loop
