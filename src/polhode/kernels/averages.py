"""Averages of a torque over the exact free motion: how fast the angular momentum and the energy change in the mean.

The slow variables are z = (L in space axes, T). Given them, the free motion is known up to two angles: v, by which the
momentum goes round in the body (period P), and phi, the turn of the body about L. The mean of (R N, w . N) over both
is computed at equal distances in v and phi, where sums converge exponentially: in v because the closed form is analytic
in a strip whose width the nome gives, in phi at once if the torque is a polynomial of the attitude.  [benson2021]
"""

from collections.abc import Callable
from functools import lru_cache
from math import cos, pi, sin, sqrt
from typing import Any

from polhode.kernels.algebra.quat import conjugate, multiply, to_space
from polhode.kernels.algebra.vec import dot
from polhode.kernels.callback_torques import apart
from polhode.kernels.free.closed_form import GIVEN, MOTION, Constants, evaluate_rows, set_up_rows
from polhode.kernels.ops import beginning_at, view
from polhode.kernels.status import OK
from polhode.kernels.types import Quat, UserTorque, Vec3

FIXED = 21
"""The numbers of a body: principal moments over the greatest (3), the greatest (1), which axis has the least, the
middle and the greatest moment (3), the end of the axis that the momentum circles (1), and the turn from principal to
user's axes as a quaternion (4) and as a matrix (9)."""
FOUND = 7
"""What is found: the mean rates of L (3) and T (1), the greatest torque (1), the period P (1), and the mean rate at
which the greatest or least axis goes round L (1)."""
SLIGHTEST = 1e-24
"""The least share of G^2 that the momentum has along the axes of the least and the greatest moment: a body that turns
about one of them exactly has no period."""
FIRST_TIME = GIVEN + MOTION
_RATE, _PRECESSION = Constants._fields.index("rate_high"), Constants._fields.index("precession")


def work_size(n: int) -> int:
    """The length of the array in which n states of a period are kept."""
    return FIRST_TIME + 11 * n


def onto(v: Vec3) -> Quat:
    """A rotation that takes the third axis to the unit vector v."""
    if v[2] >= 0.0:
        k = 1.0 / sqrt(2.0 + 2.0 * v[2])
        return (k * (1.0 + v[2]), -k * v[1], k * v[0], 0.0)
    k = 1.0 / sqrt(2.0 - 2.0 * v[2])  # half a turn about the first axis, then from the other end of the third
    return (-k * v[1], k * (1.0 - v[2]), 0.0, k * v[0])


def set_up_period(fixed: Any, z: Any, work: Any, n: int) -> tuple[float, float]:
    """Fills `work` with n states of a period, L along the third axis of space; returns P and the mean precession.

    It begins where the momentum passes the plane of the axes of the least and the greatest moment:
    y1^2 = I1 (2T I3 - G^2) / (I3 - I1), y3^2 = I3 (G^2 - 2T I1) / (I3 - I1).
    """
    low, mid, high, size = int(fixed[4]), int(fixed[5]), int(fixed[6]), fixed[3]
    I1, I2, I3 = fixed[low], fixed[mid], fixed[high]
    G = sqrt(z[0] * z[0] + z[1] * z[1] + z[2] * z[2])
    energy = 2.0 * z[3] * size / (G * G)
    a = min(max(I1 * (energy * I3 - 1.0) / (I3 - I1), SLIGHTEST), 1.0)
    b = min(max(I3 * (1.0 - energy * I1) / (I3 - I1), SLIGHTEST), 1.0)
    y1, y3 = sqrt(a), sqrt(b)
    if energy * I2 < 1.0:
        y3 = y3 * fixed[7]
    else:
        y1 = y1 * fixed[7]
    w1, w3 = y1 * G / (I1 * size), y3 * G / (I3 * size)
    speed = max(abs(w1), abs(w3))
    for i in range(3):
        work[i], work[3 + i] = fixed[i], 0.0
    work[3 + low], work[3 + high] = w1 / speed, w3 / speed
    work[6] = speed
    r = 1.0 / sqrt(y1 * y1 + y3 * y3)
    y = (
        r * (fixed[12 + low] * y1 + fixed[12 + high] * y3),
        r * (fixed[15 + low] * y1 + fixed[15 + high] * y3),
        r * (fixed[18 + low] * y1 + fixed[18 + high] * y3),
    )
    work[7], work[8], work[9], work[10] = conjugate(onto(y))
    for i in range(13):
        work[11 + i] = fixed[8 + i]
    motion, times = beginning_at(work, GIVEN), beginning_at(work, FIRST_TIME)
    set_up_rows(work, motion, 1)
    period = 2.0 / (max(abs(motion[_RATE]), 1e-300) * speed)  # two half periods; as good as infinite on the separatrix
    for j in range(n):
        times[j] = j * period / n
    q, w, m = beginning_at(times, n), beginning_at(times, 5 * n), beginning_at(times, 8 * n)
    evaluate_rows(motion, times, q, w, m, 0.0, 1, n)
    return period, motion[_PRECESSION] * speed


@lru_cache(maxsize=128)
def averaged(torque: UserTorque) -> Callable[..., int]:
    """The program that averages a torque over n points of v, m of phi, and k times from t0 on, dt apart.

    With keep = 1 the samples of (R N, w . N) are kept, those of each phi together.
    """
    seen = apart(torque)

    def average(
        fixed: Any, values: Any, z: Any, work: Any, found: Any, samples: Any, t0: float, dt: float, count: int, n: int,
        m: int, k: int, keep: int,
    ) -> int:  # fmt: skip
        p = view(values, count)
        period, precession = set_up_period(fixed, z, work, n)
        q, w = beginning_at(work, FIRST_TIME + n), beginning_at(work, FIRST_TIME + 5 * n)
        G = sqrt(z[0] * z[0] + z[1] * z[1] + z[2] * z[2])
        frame = onto((z[0] / G, z[1] / G, z[2] / G))
        x1, x2, x3, power, most = 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(k):
            t = t0 + i * dt
            for a in range(m):
                half = pi * a / m
                turned = multiply(frame, (cos(half), 0.0, 0.0, sin(half)))
                for j in range(n):
                    attitude = multiply(turned, (q[4 * j], q[4 * j + 1], q[4 * j + 2], q[4 * j + 3]))
                    rate = (w[3 * j], w[3 * j + 1], w[3 * j + 2])
                    torque_here = seen(t, attitude, rate, p)
                    change = to_space(attitude, torque_here)
                    work_done = dot(rate, torque_here)
                    if keep == 1:
                        at = 4 * (a * n + j)
                        samples[at], samples[at + 1], samples[at + 2] = change
                        samples[at + 3] = work_done
                    x1, x2, x3 = x1 + change[0], x2 + change[1], x3 + change[2]
                    power = power + work_done
                    most = max(most, dot(change, change))
        share = 1.0 / max(n * m * k, 1)
        found[0], found[1], found[2], found[3] = share * x1, share * x2, share * x3, share * power
        found[4], found[5], found[6] = sqrt(most), period, precession
        return OK

    return average
