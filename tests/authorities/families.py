"""Problems as users have them, in families, and their true motions: what error estimates are tried on besides.

`random_problems.py` draws generic motions. Here every family is a kind of motion that once was, or could be, harder to
judge: releases near an unstable rest, controls that come to rest, short pulses in long runs, jumps and bends that
nobody declared, steep walls, motions near the separatrix, and so on.

A torque is a formula of the time, of the three space axes as the body sees them, and of the rate. polhode is given it
as a user's function; the truth is found by extrapolation of the rotation matrix with compensated sums, in steps that
are chosen by what the extrapolation itself shows. Nothing else is shared.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numba import njit
from numba.extending import register_jitable
from numpy.typing import NDArray

import polhode as ph
from polhode.kernels.types import Depends, Quat, Vec3
from polhode.torques import Torque
from polhode.torques._torque import CustomTorque

Floats = NDArray[np.float64]
Formula = Callable[[float, Vec3, Vec3, Vec3, Vec3, Any], Vec3]
"""`(t, x, y, z, w, p)`: the time, the three space axes and the rate in body axes, and numbers."""


@register_jitable
def cross(a: Vec3, b: Vec3) -> Vec3:
    """Returns a x b, in plain Python and in compiled code."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@register_jitable
def dot(a: Vec3, b: Vec3) -> float:
    """Returns a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


# --- the formulas ----------------------------------------------------------------------------------------------------

SMOOTH = 44
"""The number of parameters of `smooth`."""
ARM, FORCE, SWING, GRADIENT, TENSOR, THRUST, DRAG, PULSE = 0, 3, 6, 9, 10, 16, 19, 21
POWER, WALL, CONTROL, FIELD = 27, 31, 36, 38


def smooth(t: float, x: Vec3, y: Vec3, z: Vec3, w: Vec3, p: Any) -> Vec3:
    """A force on an arm that swings in time, a gradient, a thrust, drags, a pulse, a quartic well, a wall, a control,
    and a dipole in a turning field, each with a size that may be zero."""
    c = 1.0 + p[6] * (math.cos(p[7] * t + p[8]) - 1.0)
    f = (
        c * (p[3] * x[0] + p[4] * y[0] + p[5] * z[0]),
        c * (p[3] * x[1] + p[4] * y[1] + p[5] * z[1]),
        c * (p[3] * x[2] + p[4] * y[2] + p[5] * z[2]),
    )
    arm = cross((p[0], p[1], p[2]), f)
    jz = (
        p[10] * z[0] + p[13] * z[1] + p[14] * z[2],
        p[13] * z[0] + p[11] * z[1] + p[15] * z[2],
        p[14] * z[0] + p[15] * z[1] + p[12] * z[2],
    )
    gradient = cross(z, jz)
    e = p[19] + p[20] * dot(w, w)
    late = (t - p[24]) / p[25]
    pulse = math.exp(-late * late)
    along = p[28] * z[0] + p[29] * z[1] + p[30] * z[2]
    well = 4.0 * p[27] * along * along * along
    wall = p[31] * math.exp(p[32] * (p[33] * z[0] + p[34] * z[1] + p[35] * z[2] - 1.0))
    slope = (well * p[28] + wall * p[33], well * p[29] + wall * p[34], well * p[30] + wall * p[35])
    pushed = cross(z, slope)
    k = 0.5 * p[36]
    turned = (k * (z[1] - y[2]), k * (x[2] - z[0]), k * (y[0] - x[1]))
    co, si = math.cos(p[41] * t), math.sin(p[41] * t)
    field = (co * x[0] + si * y[0], co * x[1] + si * y[1], co * x[2] + si * y[2])
    dipole = cross((p[38], p[39], p[40]), field)
    g, d = 3.0 * p[9], e + p[37]
    return (
        arm[0] + g * gradient[0] + p[16] + p[21] * pulse + pushed[0] - turned[0] + dipole[0] - d * w[0],
        arm[1] + g * gradient[1] + p[17] + p[22] * pulse + pushed[1] - turned[1] + dipole[1] - d * w[1],
        arm[2] + g * gradient[2] + p[18] + p[23] * pulse + pushed[2] - turned[2] + dipole[2] - d * w[2],
    )


def thruster(t: float, x: Vec3, y: Vec3, z: Vec3, w: Vec3, p: Any) -> Vec3:
    """A thrust between two times, which the torque itself decides on, and a weight."""
    n = cross((p[0], p[1], p[2]), z)
    if p[6] < t < p[7]:
        return (n[0] + p[3], n[1] + p[4], n[2] + p[5])
    return n


def facets(t: float, x: Vec3, y: Vec3, z: Vec3, w: Vec3, p: Any) -> Vec3:
    """Sunlight on the two sides of a plate, and on another."""
    lit = max(p[0] * x[0] + p[1] * x[1] + p[2] * x[2], 0.0)
    other = max(p[6] * x[0] + p[7] * x[1] + p[8] * x[2], 0.0)
    n, m = cross((p[3], p[4], p[5]), x), cross((p[9], p[10], p[11]), x)
    return (-lit * n[0] - other * m[0], -lit * n[1] - other * m[1], -lit * n[2] - other * m[2])


def saturated(t: float, x: Vec3, y: Vec3, z: Vec3, w: Vec3, p: Any) -> Vec3:
    """A control of attitude and rate that can do no more than p[2] about each axis."""
    k, d, most = 0.5 * p[0], p[1], p[2]
    return (
        min(max(-k * (z[1] - y[2]) - d * w[0], -most), most),
        min(max(-k * (x[2] - z[0]) - d * w[1], -most), most),
        min(max(-k * (y[0] - x[1]) - d * w[2], -most), most),
    )


def dead_band(t: float, x: Vec3, y: Vec3, z: Vec3, w: Vec3, p: Any) -> Vec3:
    """A control that leaves small errors alone, with the rate damped everywhere."""
    k, d, band = 0.5 * p[0], p[1], p[2]
    a, b, c = k * (z[1] - y[2]), k * (x[2] - z[0]), k * (y[0] - x[1])
    return (
        -d * w[0] - (a - band if a > band else (a + band if a < -band else 0.0)),
        -d * w[1] - (b - band if b > band else (b + band if b < -band else 0.0)),
        -d * w[2] - (c - band if c > band else (c + band if c < -band else 0.0)),
    )


def airdrag(t: float, x: Vec3, y: Vec3, z: Vec3, w: Vec3, p: Any) -> Vec3:
    """Drag with the square of each component of the rate, and a weight."""
    n = cross((p[0], p[1], p[2]), z)
    return (
        n[0] - p[3] * abs(w[0]) * w[0],
        n[1] - p[4] * abs(w[1]) * w[1],
        n[2] - p[5] * abs(w[2]) * w[2],
    )


def periodic(t: float, x: Vec3, y: Vec3, z: Vec3, w: Vec3, p: Any) -> Vec3:
    """A saw tooth, stairs, and a pulse train of the time, each with a size that may be zero, and a weight."""
    n = cross((p[0], p[1], p[2]), z)
    on = 1.0 if t % p[6] < p[7] * p[6] else 0.0
    size = p[8] * ((t % p[6]) / p[6]) + p[9] * math.floor(t / p[6]) + p[10] * on
    return (n[0] + size * p[3], n[1] + size * p[4], n[2] + size * p[5])


def _for_polhode(formula: Formula) -> Callable[[float, Quat, Vec3, Any], Vec3]:
    def kernel(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
        return formula(t, ph.to_body(q, X), ph.to_body(q, Y), ph.to_body(q, Z), w, p)

    kernel.__name__ = formula.__name__
    return kernel


FORMULAS = (smooth, thruster, facets, saturated, dead_band, airdrag, periodic)
KERNELS: dict[Formula, Any] = {f: _for_polhode(f) for f in FORMULAS}


# --- a case ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One problem of a family."""

    family: str
    tensor: Floats
    formula: Formula
    values: Floats
    depends: Depends
    omega: Floats
    quaternion: Floats
    t_span: tuple[float, float]
    rtol: float
    times: Floats | None
    """The output times; None: output at steps."""
    stops: tuple[float, ...] = ()
    """Times at which the torque jumps: the truth steps onto them."""
    potential: Any = None
    extended: bool = False
    """Whether the truth is to be found with more digits: rounding grows in this motion."""

    @property
    def body(self) -> ph.Body:
        """The body, from its tensor."""
        return ph.Body(self.tensor)

    @property
    def torque(self) -> Torque:
        """The torque, as polhode's."""
        if self.depends is Depends.NOTHING:
            return ph.Free()
        return CustomTorque(KERNELS[self.formula], tuple(self.values.tolist()), self.potential, (), self.depends)

    def solved(self, **arguments: Any) -> ph.Solution:
        """By polhode."""
        asked = {"rtol": self.rtol, **arguments}
        return ph.simulate(
            self.body, self.torque, omega=self.omega, attitude=self.quaternion, t_span=self.t_span, t_eval=self.times,
            **asked,
        )  # fmt: skip


# --- the families ----------------------------------------------------------------------------------------------------

ATTITUDE, TIME, RATE = Depends.POSITION, Depends.TIME, Depends.RATE


class Draw:
    """Random numbers of one problem."""

    def __init__(self, seed: Sequence[int]) -> None:
        self.rng = np.random.default_rng(seed)

    def log(self, low: float, high: float) -> float:
        """Returns a number between two powers of ten."""
        return float(10 ** self.rng.uniform(low, high))

    def direction(self) -> Floats:
        """Returns a unit vector."""
        v = self.rng.normal(size=3)
        return np.asarray(v / np.linalg.norm(v))

    def uniform(self, low: float, high: float) -> float:
        """Returns a number between two others."""
        return float(self.rng.uniform(low, high))

    def attitude(self) -> Floats:
        """Returns a unit quaternion."""
        q = self.rng.normal(size=4)
        return np.asarray(q / np.linalg.norm(q))

    def moments(self) -> Floats:
        """Returns the moments of a body that can be built: triaxial, symmetric or nearly so, slender or flat."""
        x, y, z = self.rng.uniform(0.1, 1.0, size=3)
        shape = self.rng.integers(6)
        if shape == 0:
            y = x
        elif shape == 1:
            y = x * (1.0 + self.log(-8, -3))
        elif shape == 2:
            x, y = 0.02 * x, 0.02 * y
        elif shape == 3:
            z = 0.02 * z
        return np.array([y + z, z + x, x + y])

    def tensor(self) -> Floats:
        """Returns a tensor, tilted in one of five."""
        moments = self.moments()
        if self.rng.random() > 0.2:
            return np.diag(moments)
        a = self.rotation()
        tensor = a @ np.diag(moments) @ a.T
        return np.asarray(0.5 * (tensor + tensor.T))

    def rotation(self) -> Floats:
        """Returns a rotation matrix."""
        q, r = np.linalg.qr(self.rng.normal(size=(3, 3)))
        q = q * np.sign(np.diag(r))
        return np.asarray(q if np.linalg.det(q) > 0 else -q)

    def tolerance(self, low: float = -11.0, high: float = -3.0) -> float:
        """Returns a tolerance."""
        return self.log(low, high)

    def outputs(self, t0: float, t1: float) -> Floats | None:
        """Returns eight even times, the end alone, hundreds at random, or none: output at steps."""
        kind = self.rng.integers(6)
        if kind == 0:
            return None
        if kind == 1:
            return np.array([t1])
        if kind == 2:
            count = int(self.rng.integers(2, 400))
            inside = np.sort(self.rng.uniform(0.0, 1.0, size=count))
            return np.asarray(t0 + (t1 - t0) * np.append(inside, 1.0))
        return np.asarray(t0 + (t1 - t0) * np.arange(1, 9) / 8)


def _smooth_case(
    d: Draw, family: str, depends: Depends, tensor: Floats, omega: Floats, span: float, *, t0: float = 0.0,
    quaternion: Floats | None = None, rtol: float | None = None, times: Any = "drawn", extended: bool = False,
    **sizes: Any,
) -> Case:  # fmt: skip
    p = np.zeros(SMOOTH)
    p[25] = 1.0
    p[TENSOR : TENSOR + 6] = (
        tensor[0, 0], tensor[1, 1], tensor[2, 2], tensor[0, 1], tensor[0, 2], tensor[1, 2]
    )  # fmt: skip
    places = {
        "arm": ARM, "force": FORCE, "swing": SWING, "gradient": GRADIENT, "thrust": THRUST, "drag": DRAG,
        "pulse": PULSE, "well": POWER, "wall": WALL, "control": CONTROL, "field": FIELD,
    }  # fmt: skip
    for name, values in sizes.items():
        row = np.atleast_1d(np.asarray(values, dtype=float))
        p[places[name] : places[name] + row.size] = row
    t1 = t0 + span
    listed = d.outputs(t0, t1) if isinstance(times, str) else times
    q = d.attitude() if quaternion is None else quaternion
    return Case(
        family, tensor, smooth, p, depends, omega, q, (t0, t1), rtol or d.tolerance(), listed, extended=extended
    )  # fmt: skip


def _spun(d: Draw, tensor: Floats) -> tuple[Floats, float]:
    """Returns a rate of about one, and twice the kinetic energy."""
    omega = d.direction() * d.log(-0.5, 0.5)
    return omega, float(omega @ tensor @ omega)


def _unstable(d: Draw) -> Case:
    """A heavy top released at rest, or nearly, where its weight is straight above its point of support."""
    tensor = np.diag(d.moments())
    arm = d.direction()
    tilt = d.direction() * d.log(-12, -4)
    q = _upright(arm, d)
    q = _turned(q, tilt)
    slow = d.direction() * (d.log(-12, -4) if d.rng.random() < 0.7 else 0.0)
    swing = math.sqrt(float(np.linalg.eigvalsh(tensor)[0]))
    return _smooth_case(
        d, "release near an unstable rest", ATTITUDE, tensor, slow, d.uniform(2, 14) * swing, quaternion=q,
        arm=arm, force=(0, 0, -1.0), extended=True,
    )  # fmt: skip


def _upright(arm: Floats, d: Draw) -> Floats:
    """Returns an attitude in which the arm points up."""
    v = np.cross(arm, Z)
    angle = math.atan2(float(np.linalg.norm(v)), float(arm[2]))
    axis = v / np.linalg.norm(v)
    q = np.concatenate([[math.cos(angle / 2)], math.sin(angle / 2) * axis])
    spin = d.uniform(0, math.tau)
    about = np.array([math.cos(spin / 2), 0, 0, math.sin(spin / 2)])
    return _product(about, q)


def _product(a: Floats, b: Floats) -> Floats:
    return np.concatenate(
        [[a[0] * b[0] - a[1:] @ b[1:]], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])]
    )  # fmt: skip


def _turned(q: Floats, by: Floats) -> Floats:
    return _product(q, np.concatenate([[1.0], 0.5 * by]))


def _released(d: Draw) -> Case:
    tensor = d.tensor()
    return _smooth_case(
        d, "release at rest", ATTITUDE, tensor, np.zeros(3), d.uniform(1, 10) * math.sqrt(tensor.trace()),
        arm=d.direction(), force=(0, 0, -d.log(-0.5, 0.5)),
    )  # fmt: skip


def _weight(d: Draw) -> Case:
    tensor = d.tensor()
    omega, energy = _spun(d, tensor)
    eps = d.log(-7, 0)
    span = d.log(0.5, 2.0 if eps < 0.1 else 1.3)
    return _smooth_case(
        d, "weight", ATTITUDE, tensor, omega, span, arm=d.direction(), force=eps * energy * d.direction()
    )  # fmt: skip


def _offset_times(d: Draw) -> Case:
    tensor = d.tensor()
    omega, energy = _spun(d, tensor)
    return _smooth_case(
        d, "times far from zero", ATTITUDE | TIME, tensor, omega, d.log(0.5, 1.5), t0=d.log(2, 5), rtol=d.tolerance(-9),
        arm=d.direction(), force=d.log(-4, -1) * energy * d.direction(), swing=(0.5, d.log(-1, 0.5), 1.0),
    )  # fmt: skip


def _backwards(d: Draw) -> Case:
    tensor = d.tensor()
    omega, energy = _spun(d, tensor)
    return _smooth_case(
        d, "backwards", ATTITUDE, tensor, omega, -d.log(0.5, 1.5), arm=d.direction(),
        force=d.log(-5, -0.5) * energy * d.direction(),
    )  # fmt: skip


def _gradient(d: Draw) -> Case:
    tensor = d.tensor()
    omega, energy = _spun(d, tensor)
    return _smooth_case(d, "gradient", ATTITUDE, tensor, omega, d.log(0.5, 2.0), gradient=d.log(-6, -0.7) * energy)


def _well(d: Draw) -> Case:
    tensor = d.tensor()
    omega, energy = _spun(d, tensor)
    return _smooth_case(
        d, "quartic well", ATTITUDE, tensor, omega, d.log(0.5, 1.6), well=(d.log(-5, 0) * energy, *d.direction())
    )  # fmt: skip


def _wall(d: Draw) -> Case:
    """The body swings between walls that it cannot climb; nothing tells how high they are."""
    tensor = d.tensor()
    omega, energy = _spun(d, tensor)
    a, steep = d.direction(), d.log(0.7, 2.5)
    q = _upright(-a, d)  # far from the wall
    height = min(d.log(0, 14), 0.3 * math.exp(2 * steep)) * energy
    return _smooth_case(
        d, "steep wall", ATTITUDE, tensor, omega, d.log(0.3, 1.0), quaternion=q, wall=(height, steep, *a),
        rtol=d.tolerance(-9),
    )  # fmt: skip


def _field(d: Draw) -> Case:
    tensor = d.tensor()
    omega, energy = _spun(d, tensor)
    return _smooth_case(
        d, "turning field", ATTITUDE | TIME, tensor, omega, d.log(0.5, 2.0),
        field=(*(d.log(-5, -0.5) * energy * d.direction()), d.log(-1.5, 1.0)),
    )  # fmt: skip


def _fast_swing(d: Draw) -> Case:
    tensor = d.tensor()
    omega, energy = _spun(d, tensor)
    return _smooth_case(
        d, "torque that swings fast", ATTITUDE | TIME, tensor, omega, d.log(0.5, 1.3), arm=d.direction(),
        force=d.log(-3, 0) * energy * d.direction(), swing=(d.uniform(0.3, 1.0), d.log(0.5, 2.0), 0.3),
    )  # fmt: skip


def _pulse(d: Draw) -> Case:
    """A short pulse somewhere in a long run, whose motion a drag may make the body forget."""
    tensor = d.tensor()
    omega, energy = _spun(d, tensor)
    span = d.log(1.0, 2.3)
    width = max(d.log(-1.5, 0.5), span / 200)
    at = span * d.uniform(0.02, 0.9)
    size = d.log(-2, 0.3) * energy / width
    drag = d.log(-3, 0) * float(np.linalg.eigvalsh(tensor)[0]) if d.rng.random() < 0.7 else 0.0
    rows = [None, 8, 300, 2000][int(d.rng.integers(4))]
    times = None if rows is None else span * np.arange(1, rows + 1) / rows
    return _smooth_case(
        d, "pulse in a long run", ATTITUDE | TIME | RATE, tensor, omega, span, times=times, rtol=d.tolerance(-10),
        pulse=(*(size * d.direction()), at, width), drag=(drag, 0.0), arm=d.direction(),
        force=(0, 0, -d.log(-4, -1) * energy),
    )  # fmt: skip


def _control(d: Draw) -> Case:
    """A control of attitude and rate that brings the body to rest, weak or stiff."""
    tensor = d.tensor()
    omega, _ = _spun(d, tensor)
    least = float(np.linalg.eigvalsh(tensor)[0])
    k = d.log(-1, 1.7) * least
    damping = d.log(-1, 0.7) * 2.0 * math.sqrt(k * least)
    span = d.log(1, 2.3)
    return _smooth_case(
        d, "control to rest", ATTITUDE | RATE, tensor, omega, span, control=(k, damping), rtol=d.tolerance(-12)
    )  # fmt: skip


def _slowed(d: Draw) -> Case:
    tensor = d.tensor()
    omega, _ = _spun(d, tensor)
    drag = d.log(-2, 1) * float(np.linalg.eigvalsh(tensor)[0])
    return _smooth_case(
        d, "drag to rest", ATTITUDE | RATE, tensor, omega, d.log(0.5, 1.5), drag=(drag, 0.3 * drag)
    )  # fmt: skip


def _settling(d: Draw) -> Case:
    """A pendulum with drag, which comes to hang."""
    tensor = d.tensor()
    omega, energy = _spun(d, tensor)
    least = float(np.linalg.eigvalsh(tensor)[0])
    return _smooth_case(
        d, "pendulum that settles", ATTITUDE | RATE, tensor, omega, d.log(0.5, 1.5), arm=d.direction(),
        force=(0, 0, -d.log(-1, 0.5) * energy), drag=(d.log(-1.5, 0.3) * least, 0.0),
    )  # fmt: skip


def _spun_up(d: Draw) -> Case:
    tensor = d.tensor()
    size = d.log(-2, 0)
    return _smooth_case(
        d, "spun up from rest", ATTITUDE, tensor, np.zeros(3), d.log(0.5, 1.3), thrust=size * d.direction()
    )  # fmt: skip


def _separatrix(d: Draw, eps: float) -> Case:
    a, b, c = sorted(d.rng.uniform(0.4, 1.0, size=3))
    c = min(c, 0.95 * (a + b))
    moments = np.array([a, b, max(c, b * 1.05)])
    off = d.direction() * d.log(-12, -2)
    omega = np.array([0.0, 1.0, 0.0]) + off
    tensor = np.diag(moments)
    name = "near the separatrix" if eps else "free near the separatrix"
    return _smooth_case(
        d, name, ATTITUDE if eps else Depends.NOTHING, tensor, omega, d.log(0.5, 1.8), arm=d.direction(),
        force=eps * float(omega @ tensor @ omega) * d.direction(), extended=True,
    )  # fmt: skip


def _middle_axis(d: Draw) -> Case:
    """A body that turns about its middle axis, almost, again and again, under a weak torque."""
    a, b, c = sorted(d.rng.uniform(0.4, 1.0, size=3))
    moments = np.array([min(a, 0.98 * b), b, min(max(c, 1.02 * b), 0.95 * (a + b))])
    omega, tensor = np.array([0.0, 1.0, 0.0]) + d.direction() * d.log(-6, -3), np.diag(moments)
    return _smooth_case(
        d, "turn about the middle axis", ATTITUDE, tensor, omega, d.log(1.0, 2.3), arm=d.direction(),
        force=d.log(-10, -5) * moments[1] * d.direction(), extended=True,
    )  # fmt: skip


def _two_wells(d: Draw) -> Case:
    """A pendulum that just swings over the top, or just does not."""
    moments = d.moments()
    tensor = np.diag(moments)
    arm = np.array([1.0, 0, 0])
    q = _turned(_upright(-arm, d), 1e-3 * d.direction())  # hanging
    inertia = moments[1]
    rate = 2.0 * math.sqrt(1.0 / inertia) * (1.0 + d.log(-9, -1) * (1 if d.rng.random() < 0.5 else -1))
    return _smooth_case(
        d, "pendulum near the top", ATTITUDE, tensor, np.array([0.0, rate, 0.0]), d.uniform(4, 20) * math.sqrt(inertia),
        quaternion=q, arm=arm, force=(0, 0, -1.0), extended=True,
    )  # fmt: skip


def _units(d: Draw) -> Case:
    """Grams and metres of other people: moments and rates far from one."""
    mass, fast = d.log(-12, 12), d.log(-8, 8)
    tensor = mass * d.tensor()
    omega, energy = _spun(d, tensor)
    return _smooth_case(
        d, "other units", ATTITUDE | RATE, tensor, omega * fast, d.log(0.5, 1.5) / fast, arm=d.direction(),
        force=d.log(-4, -0.5) * energy * fast**2 * d.direction(),
        drag=(d.log(-3, -1) * fast * float(np.linalg.eigvalsh(tensor)[0]), 0.0),
    )  # fmt: skip


def _bent(
    d: Draw, family: str, formula: Formula, depends: Depends, tensor: Floats, omega: Floats, span: float, values: Any,
    *, stops: tuple[float, ...] = (), rtol: float | None = None,
) -> Case:  # fmt: skip
    return Case(
        family, tensor, formula, np.asarray(values, dtype=float), depends, omega, d.attitude(), (0.0, span),
        rtol or d.tolerance(-10), d.outputs(0.0, span), stops,
    )  # fmt: skip


def _thruster(d: Draw) -> Case:
    tensor = d.tensor()
    omega, energy = _spun(d, tensor)
    span = d.log(0.5, 1.5)
    on, off = sorted((span * d.rng.uniform(0.02, 1.3, size=2)).tolist())
    weight = d.log(-5, -1) * energy * d.direction()
    return _bent(
        d, "undeclared thruster", thruster, ATTITUDE | TIME, tensor, omega, span,
        [*weight, *(d.log(-4, -0.5) * energy * d.direction()), on, off], stops=(on, off),
    )  # fmt: skip


def _periodic(d: Draw) -> Case:
    """Jumps of the time at even distances, which nobody declared, often at parts of the span."""
    tensor = d.tensor()
    omega, energy = _spun(d, tensor)
    span, pieces = d.log(0.5, 1.5), int(d.rng.integers(2, 24))
    period = span / (pieces, pieces + 0.5, d.uniform(2.0, 30.0))[int(d.rng.integers(3))]
    weight, kind, duty = d.log(-4, -1) * energy * d.direction(), int(d.rng.integers(3)), d.uniform(0.1, 0.9)
    sizes = [1.0 if k == kind else 0.0 for k in range(3)]
    starts = period * np.arange(1.0, span / period + 1.0)
    stops = np.sort(np.concatenate([starts, starts - (1.0 - duty) * period])).tolist()
    return _bent(
        d, "periodic jumps", periodic, ATTITUDE | TIME, tensor, omega, span,
        [*weight, *(d.log(-4, -0.5) * energy * d.direction()), period, duty, *sizes], stops=tuple(stops),
    )  # fmt: skip


def _sunlight(d: Draw) -> Case:
    tensor = d.tensor()
    omega, energy = _spun(d, tensor)
    size = d.log(-6, -1) * energy
    return _bent(
        d, "sunlight on facets", facets, ATTITUDE, tensor, omega, d.log(0.5, 1.7),
        [*d.direction(), *(size * d.direction()), *d.direction(), *(size * d.direction())], rtol=d.tolerance(-9),
    )  # fmt: skip


def _saturated(d: Draw) -> Case:
    tensor = d.tensor()
    omega, _ = _spun(d, tensor)
    omega = 0.3 * omega
    least = float(np.linalg.eigvalsh(tensor)[0])
    k = d.log(-1, 0.5) * least
    damping = d.log(-0.5, 0.5) * 2.0 * math.sqrt(k * least)
    return _bent(
        d, "saturated control", saturated, ATTITUDE | RATE, tensor, omega, d.log(1, 2), [k, damping, d.log(-2, 0) * k],
        rtol=d.tolerance(-9),
    )  # fmt: skip


def _dead_band(d: Draw) -> Case:
    tensor = d.tensor()
    omega, _ = _spun(d, tensor)
    least = float(np.linalg.eigvalsh(tensor)[0])
    k = d.log(-1, 0.5) * least
    return _bent(
        d, "dead band", dead_band, ATTITUDE | RATE, tensor, omega, d.log(0.5, 1.5),
        [k, d.log(-1, 0.3) * math.sqrt(k * least), d.uniform(0.05, 0.5) * k], rtol=d.tolerance(-9),
    )  # fmt: skip


def _airdrag(d: Draw) -> Case:
    tensor = d.tensor()
    omega, energy = _spun(d, tensor)
    least = float(np.linalg.eigvalsh(tensor)[0])
    return _bent(
        d, "square drag by components", airdrag, ATTITUDE | RATE, tensor, omega, d.log(0.5, 1.5),
        [*(d.log(-3, -0.5) * energy * d.direction()), *(least * d.rng.uniform(0.01, 0.5, size=3))],
    )  # fmt: skip


FAMILIES: dict[str, Callable[[Draw], Case]] = {
    "unstable": _unstable,
    "released": _released,
    "weight": _weight,
    "offset": _offset_times,
    "backwards": _backwards,
    "gradient": _gradient,
    "well": _well,
    "wall": _wall,
    "field": _field,
    "swing": _fast_swing,
    "pulse": _pulse,
    "control": _control,
    "slowed": _slowed,
    "settling": _settling,
    "spun_up": _spun_up,
    "free": lambda d: _separatrix(d, 0.0),
    "separatrix": lambda d: _separatrix(d, d.log(-7, -2)),
    "two_wells": _two_wells,
    "units": _units,
    "thruster": _thruster,
    "sunlight": _sunlight,
    "saturated": _saturated,
    "dead_band": _dead_band,
    "airdrag": _airdrag,
    "middle_axis": _middle_axis,
    "periodic": _periodic,
}


def case(family: str, seed: int) -> Case:
    """Returns a problem of a family; the same seed gives the same one."""
    return FAMILIES[family](Draw([list(FAMILIES).index(family), seed]))


# --- the truth -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Motion:
    """Rotation matrices (row by row) and rates at some times, and how well they are known."""

    R: Floats
    omega: Floats
    doubt: float
    """The distance to a coarser solution, in the measure of `error`."""


def truth(c: Case, times: Floats) -> Motion:
    """Returns the motion at some times, found twice: the coarser one tells how good the finer one is."""
    if c.extended:
        fine, coarse = (_extended_motion(c, times, steps) for steps in (2.0, 1.3))
    else:
        fine, coarse = (_motion(c, times, tolerance) for tolerance in (1e-15, 1e-14))
    R, w = (np.asarray(x, dtype=float) for x in fine)
    return Motion(R, w, distance(*fine, *coarse, c.omega))


def distance(R: Any, w: Any, S: Any, v: Any, start: Any = (0.0, 0.0, 0.0)) -> float:
    """Returns the largest angle between attitudes, and the largest difference of rates relative to the largest one.

    The rate at the start counts: a body that comes to rest has errors relative to what it was.
    """
    chord = np.sqrt(np.sum((R - S) ** 2, axis=1).astype(float))  # of an angle a: 8^(1/2) sin(a/2)
    angle = 2 * np.arcsin(np.minimum(1.0, chord / math.sqrt(8)))
    largest = max(float(np.linalg.norm(w, axis=1).max()), float(np.linalg.norm(start)))
    rates = float(np.linalg.norm(w - v, axis=1).max())
    return float(max(angle.max(), rates / largest if largest > 0 else 0.0))


def error(motion: Motion, solution: ph.Solution) -> float:
    """Returns the true error of a solution, which `error_estimate` estimates."""
    q = solution.quaternion / np.linalg.norm(solution.quaternion, axis=1)[:, None]
    return distance(motion.R, motion.omega, matrices(q), solution.omega, solution.problem.omega_start)


def matrices(q: Floats) -> Floats:
    """Returns the rotation matrices of unit quaternions, row by row."""
    w, x, y, z = q.T
    rows = [
        w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z,
    ]  # fmt: skip
    return np.stack(rows, axis=1)


def _motion(c: Case, times: Floats, tolerance: float) -> tuple[Floats, Floats]:
    t0, t1 = c.t_span
    sign = math.copysign(1.0, t1 - t0)
    q = c.quaternion / np.linalg.norm(c.quaternion)
    y = np.concatenate([matrices(q[None])[0], c.tensor @ c.omega])
    free = c.depends is Depends.NOTHING
    inverse = np.linalg.inv(c.tensor)
    if not np.count_nonzero(c.tensor - np.diag(np.diag(c.tensor))):
        inverse = np.diag(1.0 / np.diag(c.tensor))
    stops = sorted({*(s for s in c.stops if (s - t0) * (t1 - s) > 0), t1}, key=lambda s: sign * s)
    goals = np.array(sorted({*times.tolist(), *stops}, key=lambda s: sign * s))
    out = np.zeros((goals.size, 12))
    run = _compiled(c.formula)
    status = run(t0, goals, y, c.values, inverse, 0.0 if free else 1.0, tolerance, np.array(sorted(stops)), out)
    if not status:
        raise ArithmeticError(f"the truth of {c.family} was not found")
    out = out[np.searchsorted(sign * goals, sign * times)]
    return out[:, :9], out[:, 9:] @ inverse.T


def _extended_motion(c: Case, times: Floats, steps_per_radian: float) -> tuple[Any, Any]:
    """Returns the same with equal steps in extended precision, in plain Python, for formulas without `math`."""
    ld = np.longdouble
    q = c.quaternion.astype(ld)
    inertia, p = c.tensor.astype(ld), [ld(x) for x in c.values]
    y = np.concatenate([matrices((q / np.sqrt(q @ q))[None])[0], inertia @ c.omega.astype(ld)])
    inverse = _inverse(inertia)
    free = c.depends is Depends.NOTHING

    def slope(t: Any, y: Any) -> Any:
        x, e, z, m = (tuple(y[k : k + 3]) for k in (0, 3, 6, 9))
        w = tuple(inverse @ y[9:])
        n = (ld(0), ld(0), ld(0)) if free else c.formula(0.0, x, e, z, w, p)
        turned = cross(m, w)
        return np.array(
            [*cross(x, w), *cross(e, w), *cross(z, w), turned[0] + n[0], turned[1] + n[1], turned[2] + n[2]], dtype=ld
        )  # fmt: skip

    least = float(np.linalg.eigvalsh(c.tensor)[0])
    force = float(np.linalg.norm(c.values[FORCE : FORCE + 3]))
    quick = math.hypot(
        float(np.linalg.norm(c.omega)) * float(np.linalg.eigvalsh(c.tensor)[-1]) / least, 2.0 * math.sqrt(force / least)
    )
    R, w, t = [], [], ld(c.t_span[0])
    for goal in times.astype(ld):
        count = max(1, math.ceil(float(abs(goal - t)) * quick * steps_per_radian))
        h = (goal - t) / count
        for _ in range(count if goal != t else 0):
            y = y + _extrapolated(slope, y, h)
        t = goal
        R.append(y[:9])
        w.append(inverse @ y[9:])
    return np.array(R), np.array(w)


def _inverse(J: Any) -> Any:
    """Inverts by cofactors: NumPy inverts no extended numbers."""
    rows = [np.cross(J[1], J[2]), np.cross(J[2], J[0]), np.cross(J[0], J[1])]
    return np.stack(rows, axis=1) / (J[0] @ rows[0])


def _extrapolated(slope: Callable[[Any, Any], Any], y: Any, h: Any, columns: int = 9) -> Any:
    """Returns the increment of y in a step: Gragg's midpoint rules, extrapolated."""
    first, table = slope(0.0, y), list[Any]()
    for j in range(1, columns + 1):
        s = h / (2 * j)
        before, now = np.zeros_like(y), s * first
        for _ in range(1, 2 * j):
            before, now = now, before + 2 * s * slope(0.0, y + now)
        fresh = [(before + now + s * slope(0.0, y + now)) / 2]
        for i in range(1, j):
            fresh.append(fresh[i - 1] + (fresh[i - 1] - table[i - 1]) / (np.longdouble(j) ** 2 / (j - i) ** 2 - 1))
        table = fresh
    return table[-1]


@cache
def _compiled(formula: Formula) -> Any:
    """Returns the integration of a formula: extrapolated midpoint rules, with compensated sums."""
    torque: Any = njit(formula)

    @njit
    def slope(t: float, y: Any, p: Any, inverse: Any, forced: float, out: Any) -> None:
        w0 = inverse[0, 0] * y[9] + inverse[0, 1] * y[10] + inverse[0, 2] * y[11]
        w1 = inverse[1, 0] * y[9] + inverse[1, 1] * y[10] + inverse[1, 2] * y[11]
        w2 = inverse[2, 0] * y[9] + inverse[2, 1] * y[10] + inverse[2, 2] * y[11]
        for k in range(0, 9, 3):
            a, b, c = y[k], y[k + 1], y[k + 2]
            out[k], out[k + 1], out[k + 2] = b * w2 - c * w1, c * w0 - a * w2, a * w1 - b * w0
        out[9] = y[10] * w2 - y[11] * w1
        out[10] = y[11] * w0 - y[9] * w2
        out[11] = y[9] * w1 - y[10] * w0
        if forced != 0.0:
            n = torque(t, (y[0], y[1], y[2]), (y[3], y[4], y[5]), (y[6], y[7], y[8]), (w0, w1, w2), p)
            out[9] += n[0]
            out[10] += n[1]
            out[11] += n[2]

    columns = 9

    @njit
    def run(
        t0: float, goals: Any, y: Any, p: Any, inverse: Any, forced: float, tolerance: float, stops: Any, out: Any
    ) -> bool:
        table, before, now, k, point = np.zeros((columns, 12)), np.zeros(12), np.zeros(12), np.zeros(12), np.zeros(12)
        first, low, fresh = np.zeros(12), np.zeros(12), np.zeros(12)
        most = 0.0
        for i in range(3):
            most = max(most, abs(y[9 + i]))
        t, h, tried = t0, (goals[-1] - t0) * 1e-3, 0
        sign = 1.0 if h > 0 else -1.0
        low_t = 0.0
        for row in range(goals.size):
            goal = goals[row]
            while (goal - t) * sign > 0.0:
                tried += 1
                if tried > 20_000_000:
                    return False
                length = h if (goal - t - h) * sign > 0.0 else goal - t - low_t
                # A torque that jumps is seen from inside of the stretch between two jumps.
                bottom, top = -1e308, 1e308
                for stop in stops:
                    if (t - stop) * sign >= 0.0:
                        if sign > 0:
                            bottom = max(bottom, np.nextafter(stop, 1e308))
                        else:
                            top = min(top, np.nextafter(stop, -1e308))
                    elif sign > 0:
                        top = min(top, np.nextafter(stop, -1e308))
                    else:
                        bottom = max(bottom, np.nextafter(stop, 1e308))
                slope(min(max(t, bottom), top), y, p, inverse, forced, first)
                gap = 0.0
                for j in range(columns):
                    n = 2 * (j + 1)
                    s = length / n
                    for i in range(12):
                        before[i] = 0.0
                        now[i] = s * first[i]
                    for m in range(1, n):
                        for i in range(12):
                            point[i] = y[i] + now[i]
                        slope(min(max(t + m * s, bottom), top), point, p, inverse, forced, k)
                        for i in range(12):
                            before[i], now[i] = now[i], before[i] + 2.0 * s * k[i]
                    for i in range(12):
                        point[i] = y[i] + now[i]
                    slope(min(max(t + length, bottom), top), point, p, inverse, forced, k)
                    gap = 0.0
                    for i in range(12):
                        new = 0.5 * (before[i] + now[i] + s * k[i])
                        for c in range(j):
                            ratio = ((j + 1.0) / (j - c)) ** 2 - 1.0
                            kept = table[c, i]
                            table[c, i] = new
                            new += (new - kept) / ratio
                        if j == columns - 1:
                            scale = 1.0 if i < 9 else max(most, 1e-300)
                            gap = max(gap, abs(new - table[j - 1, i]) / scale)
                        table[j, i] = new
                worst = gap / tolerance
                if worst <= 1.0 or abs(length) < 1e-13 * abs(goals[-1] - t0):
                    for i in range(12):
                        fresh[i] = table[columns - 1, i] + low[i]
                        total = y[i] + fresh[i]
                        low[i] = fresh[i] - (total - y[i])
                        y[i] = total
                    for i in range(3):
                        most = max(most, abs(y[9 + i]))
                    total = t + (length + low_t)
                    low_t = (length + low_t) - (total - t)
                    t = total
                    if (goal - t) * sign <= 4e-16 * abs(goal):
                        t, low_t = goal, 0.0
                    grow = 2.0 if worst == 0.0 else min(2.0, 0.8 * worst ** (-1.0 / 17.0))
                    if abs(length) >= 0.99 * abs(h) or grow < 1.0:
                        h = length * grow
                else:
                    h = length * (max(0.25, 0.8 * worst ** (-1.0 / 17.0)) if worst < 1e300 else 0.25)
            for i in range(12):
                out[row, i] = y[i]
        return True

    return run
