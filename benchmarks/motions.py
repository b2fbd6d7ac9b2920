"""The motions that every competitor is given, as numbers: body, torque, start, span, output times.

All torques are functions of u = R^T e3, the vertical seen from the body, so that one formula in plain arithmetic serves
programs that trace it, compile it or differentiate it. polhode gets its own torques.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import polhode as ph
from polhode.problem import Problem
from polhode.torques import Torque

Floats = NDArray[np.float64]
Kind = Literal["free", "top", "satellite", "wall"]
Vector = tuple[float, float, float]
Wrap = Callable[[Any], Any]


@dataclass(frozen=True)
class Motion:
    """The numbers of a motion from time 0 on, from which its problem is made.

    Quaternions are scalar first, from body to space; rates are in body axes.
    """

    name: str
    kind: Kind
    moments: Vector
    omega: Vector
    span: float
    strength: float = 0.0
    """The weight of a top, 3 mu / r^3 of a satellite, the sign of a wall."""
    attitude: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    outputs: int = 8
    """Equal intervals of the span; the state at the end of each is asked for."""

    @property
    def times(self) -> Floats:
        """The output times."""
        return self.span * np.arange(1, self.outputs + 1) / self.outputs

    @property
    def start(self) -> list[float]:
        """Quaternion and rate."""
        return [*self.attitude, *self.omega]

    @property
    def angle(self) -> float:
        """|w| T, with |w| at the start."""
        return math.hypot(*self.omega) * self.span

    @property
    def twice_kinetic(self) -> float:
        """I w . w at the start."""
        return sum(i * w * w for i, w in zip(self.moments, self.omega, strict=True))

    @cached_property
    def body(self) -> ph.Body:
        """For polhode. The water molecule breaks the triangle inequality by 0.2 %."""
        return ph.Body(self.moments, allow_unphysical=True)

    @cached_property
    def torque(self) -> Torque | None:
        """For polhode."""
        match self.kind:
            case "free":
                return None
            case "top":
                return ph.HeavyTop(weight=self.strength)
            case "satellite":
                return ph.GravityGradient(strength=self.strength)
            case "wall":
                return ph.CoulombSoftWall(sign="physical" if self.strength > 0 else "printed")

    @cached_property
    def problem(self) -> Problem:
        """What polhode is asked."""
        return Problem.given(
            self.body, self.torque, omega=self.omega, attitude=self.attitude, t_span=(0.0, self.span), t_eval=self.times
        )

    def pull(self, strength: Any = None) -> Callable[[Any, Any, Any], tuple[Any, Any, Any]]:
        """The torque as a function of u1, u2, u3; its strength may be a symbol."""
        k = self.strength if strength is None else strength
        i1, i2, i3 = self.moments

        def free(u1: Any, u2: Any, u3: Any) -> Any:
            return 0.0, 0.0, 0.0

        def top(u1: Any, u2: Any, u3: Any) -> Any:  # e3 x (-k u)
            return k * u2, -k * u1, 0.0

        def satellite(u1: Any, u2: Any, u3: Any) -> Any:  # k u x I u
            return k * (i3 - i2) * (u2 * u3), k * (i1 - i3) * (u3 * u1), k * (i2 - i1) * (u1 * u2)

        def wall(u1: Any, u2: Any, u3: Any) -> Any:  # krysl2004, section 3.6
            x = 1.0 / (1.1 + u3)
            x3 = x * x * x
            f = k * (x * x) * (1.0 - 0.01 * (x3 * x3 * x3))
            return f * u2, -f * u1, 0.0

        return {"free": free, "top": top, "satellite": satellite, "wall": wall}[self.kind]

    def slope(self, wrap: Wrap = lambda f: f, strength: Any = None) -> Callable[..., tuple[Any, ...]]:
        """d/dt of quaternion and rate, as a function of the seven; `wrap` compiles what is called inside."""
        i1, i2, i3 = self.moments
        c1, c2, c3 = (i2 - i3) / i1, (i3 - i1) / i2, (i1 - i2) / i3
        j1, j2, j3 = 0.5 / i1, 0.5 / i2, 0.5 / i3
        if self.kind == "free":

            def free(a: Any, b: Any, c: Any, d: Any, x: Any, y: Any, z: Any) -> Any:
                return (
                    -0.5 * (b * x + c * y + d * z), 0.5 * (a * x + c * z - d * y),
                    0.5 * (a * y + d * x - b * z), 0.5 * (a * z + b * y - c * x),
                    c1 * (y * z), c2 * (z * x), c3 * (x * y),
                )  # fmt: skip

            return free
        pull = wrap(self.pull(strength))
        k1, k2, k3 = 2 * j1, 2 * j2, 2 * j3

        def slope(a: Any, b: Any, c: Any, d: Any, x: Any, y: Any, z: Any) -> Any:
            n = pull(2.0 * (b * d - a * c), 2.0 * (c * d + a * b), a * a - b * b - c * c + d * d)
            return (
                -0.5 * (b * x + c * y + d * z), 0.5 * (a * x + c * z - d * y),
                0.5 * (a * y + d * x - b * z), 0.5 * (a * z + b * y - c * x),
                c1 * (y * z) + k1 * n[0], c2 * (z * x) + k2 * n[1], c3 * (x * y) + k3 * n[2],
            )  # fmt: skip

        return slope


def error(found: Floats, true: Floats) -> float:
    """Returns the largest error over the rows: of the attitude in radians, or of the rate over the largest rate."""
    if not np.isfinite(found).all():
        return math.inf
    q, p = found[:, :4], true[:, :4]
    q, p = (x / np.linalg.norm(x, axis=1)[:, None] for x in (q, p))
    apart = np.minimum(np.linalg.norm(q - p, axis=1), np.linalg.norm(q + p, axis=1))
    angle = 4.0 * np.arcsin(np.minimum(1.0, 0.5 * apart))
    rates = np.linalg.norm(found[:, 4:] - true[:, 4:], axis=1) / np.linalg.norm(true[:, 4:], axis=1).max()
    return float(max(angle.max(), rates.max()))


# --- the map -------------------------------------------------------------------------------------------------------

EPS = tuple(10.0**k for k in range(-8, 1))
"""The largest torque over twice the kinetic energy at the start."""
TARGETS = (1e-3, 1e-6, 1e-9, 1e-11)
BODIES: dict[str, Vector] = {"asymmetric": (1.0, 1.4, 2.1), "symmetric": (1.0, 1.0, 1.6)}
ANGLE = 10_000.0
"""|w| T of a cell, in radians: a tenth of it takes less than what a call from Python costs."""
LEVEL = (math.sqrt(0.5), math.sqrt(0.5) * 0.6, math.sqrt(0.5) * 0.8, 0.0)
"""The third axis is level, where the torque is largest. From here the motion is regular for all eps: a top that
starts 40 degrees from upright is chaotic at eps = 1, and cannot be followed over this angle."""


def cell(body: str, eps: float, angle: float = ANGLE) -> Motion:
    """Returns a heavy top with |w| = 1 at the start, no component of which is small."""
    omega = tuple(x / math.hypot(0.5, 0.6, 0.7) for x in (0.5, 0.6, 0.7))
    assert len(omega) == 3
    twice = sum(i * w * w for i, w in zip(BODIES[body], omega, strict=True))
    return Motion(f"{body}, eps {eps:.0e}", "top", BODIES[body], omega, angle, eps * twice, LEVEL)


# --- the papers' motions ---------------------------------------------------------------------------------------------


def _tilted(angle: float) -> tuple[float, float, float, float]:
    return math.cos(angle / 2), math.sin(angle / 2), 0.0, 0.0


def papers() -> Sequence[Motion]:
    """Returns celledoni2006's three, krysl2004's tops and soft wall (a chaotic motion), and vilmart2008's body."""
    root = math.sqrt(0.71)
    return (
        _free("celledoni2006, free", "descending", (-1.0, 0.0, 2.0), 1000.0),
        Motion("celledoni2006, heavy top", "top", _moments("heavy-top"), (10.0, 10.0, 10.0), 50.0, 1.0),
        Motion(
            "celledoni2006, satellite", "satellite", _moments("satellite"), (15.0, -15.0, 15.0), 40.0,
            3 * 3.986e14 / 1.5e5**3,
        ),
        Motion("krysl2004, fast top", "top", _moments("top"), (0.0, 0.0, 50.0), 20.0, 20.0, _tilted(0.3)),
        Motion("krysl2004, slow top", "top", _moments("top"), (0.0, 0.0, 5.0), 200.0, 20.0, _tilted(0.05)),
        _from_momentum("krysl2004, soft wall", "wall", "soft-wall", (2.0, 2.0, 2.0), 50.0, 1.0),
        _free("vilmart2008, water", "water", (0.5, 0.2, root), 1000.0),
    )  # fmt: skip


def _moments(name: str) -> Vector:
    a, b, c = ph.Body.named(name).moments.tolist()
    return a, b, c


def _from_momentum(name: str, kind: Kind, body: str, m: Vector, span: float, strength: float) -> Motion:
    i = _moments(body)
    return Motion(name, kind, i, (m[0] / i[0], m[1] / i[1], m[2] / i[2]), span, strength)


def _free(name: str, body: str, m: Vector, span: float) -> Motion:
    return _from_momentum(name, "free", body, m, span, 0.0)
