"""Control moment gyros: rotors at a constant speed in gimbals that motors turn."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from polhode.body import Body
from polhode.compiler import may_bend
from polhode.kernels.algebra.trig import sine_cosine
from polhode.kernels.algebra.vec import cross, dot
from polhode.kernels.codegen import function
from polhode.kernels.ops import section
from polhode.kernels.types import Depends, UserTorque, Vec3
from polhode.support import checks
from polhode.support.arrays import Floats
from polhode.torques._driven import Each, axes_of, driven, driven_lines, each, pointing_error, total_lines, units
from polhode.torques._torque import Gain, Torque, gain_matrix

ACROSS = 1e-6
"""The greatest cosine of the angle between a gimbal axis and its rotor: of axes that are meant to be square."""
LEAST_SINGULARITY = 1e-9
"""A singularity measure below this is round-off."""
PYRAMID_SKEW_DEG = math.degrees(math.atan(math.sqrt(2.0)))
"""The faces of a pyramid whose momentum reaches equally far along all three axes, nearly [kurokawa2007]."""


def _steered(m: Any, c: Vec3) -> Vec3:
    """The solution x of M x = c by Cramer's rule, for the rows of a symmetric matrix."""
    yz, zx, xy = cross(m[1], m[2]), cross(m[2], m[0]), cross(m[0], m[1])
    size = 1.0 / dot(m[0], yz)
    return (size * dot(c, yz), size * dot(c, zx), size * dot(c, xy))


class _GyroShape(NamedTuple):
    """All on which the text of the kernel depends."""

    gyros: int
    law: Callable[..., Any] | None
    numbers: int
    reads: int
    gains: bool
    limited: bool


@lru_cache(maxsize=64)
def _kernel(shape: _GyroShape) -> UserTorque:
    """Writes the kernel for a number of gyros: the angle of a gimbal is z, its rate d, its rotor's direction s(z).

    The momentum of a rotor is h s, which changes by h d s' = h d (g x s) as the gimbal turns about g.
    """
    n, places = shape.gyros, range(shape.gyros)
    names: dict[str, Any] = {"cross": cross, "sine_cosine": sine_cosine}
    own = shape.numbers  # of p, in the order of `ControlMomentGyros.parameters`
    still = [[f"p[{own + 6 * i + k}]" for k in range(3)] for i in places]  # h s at the angle 0
    across = [[f"p[{own + 6 * i + 3 + k}]" for k in range(3)] for i in places]  # h g x s there
    rest = own + 6 * n
    listed = "".join(f"d{i}, " for i in places)
    lines = []
    for i in places:
        lines.append(f"sine, cosine = sine_cosine(z[{i}])")
        for k in range(3):
            lines.append(f"h{i}{k} = {still[i][k]} * cosine + {across[i][k]} * sine")
            lines.append(f"a{i}{k} = {across[i][k]} * cosine - {still[i][k]} * sine")
    change = [[f"a{i}{k}" for k in range(3)] for i in places]
    if shape.gains:
        names |= {"pointing_error": pointing_error, "steered": _steered, "dot": dot, "section": section}
        lines.append(f"e = pointing_error(q, section(p, {rest}, 4))")
        wanted = [
            " + ".join(f"p[{rest + 5 + 6 * k + 3 * j + i}] * {v}[{i}]" for j, v in enumerate("ew") for i in range(3))
            for k in range(3)
        ]
        lines.append(f"c = ({', '.join(wanted)})")
        for k in range(3):
            row = [" + ".join(f"a{i}{k} * a{i}{j}" for i in places) for j in range(3)]
            row[k] += f" + p[{rest + 4}]"
            lines.append(f"m{k} = ({', '.join(row)})")
        lines.append("x = steered((m0, m1, m2), c)")
        lines += [f"d{i} = dot(x, (a{i}0, a{i}1, a{i}2))" for i in places]
        rest += 23
    else:
        angles = f"({''.join(f'z[{i}], ' for i in places)})"
        lines += driven_lines(names, shape.law, n, own, shape.reads, angles, n)
    if shape.limited:
        lines += [f"d{i} = min(max(d{i}, -p[{rest + i}]), p[{rest + i}])" for i in places]
    held = " , ".join(" + ".join(f"h{i}{k}" for i in places) for k in range(3))
    lines.append(f"g = cross(({held}), w)")
    given = total_lines(change, "d{0}")
    lines.append(f"return ({', '.join(f'g[{k}] - ({x})' for k, x in enumerate(given))}), ({listed})")
    made: UserTorque = function("control_moment_gyros(t, q, w, p, z)", lines, names)
    return made


@dataclass(frozen=True)
class ControlMomentGyros(Torque):
    """Rotors at a constant speed in gimbals, one axis each: as a gimbal turns, the body gains what the rotor loses.

    It carries the angles of the gimbals. The momentum of a rotor is h s, with h in N m s constant and the direction s
    turned about the gimbal axis by the angle; body and rotors together keep their momentum. The body of the simulation
    has the moments of everything, of which those of gimbals and rotors are taken as if they did not turn; the inertia
    of gimbals against their motors is neglected [kurokawa2007].

    Motors turn gimbals by a law of yours, or by gains towards an attitude, or not at all. A law is compiled with the
    step, `law(t, q, w, p, angles)`, and returns the rate of each gimbal in rad/s. With `reads` it finds numbers of
    other parts in a last argument z; without a law these are the rates. Gains solve for the rates of least squares that
    make the torque; near singular angles, where no rates make a torque along one direction, `damping` bounds them, and
    the torque along that direction falls short.

    Examples
    --------
    >>> gyros = ph.ControlMomentGyros.pyramid(10.0, attitude_gain=4.0, rate_gain=20.0, rate_limit=1.0)
    >>> print(round(float(gyros.singularity([0, 0, 0, 0])), 4))
    1.0887
    >>> tilted = ph.quaternion_from_euler("z", [5], degrees=True)
    >>> body = ph.Body([100, 120, 150])
    >>> run = ph.simulate(body, gyros, omega=[0, 0, 0], attitude=tilted, t_span=(0, 60), method="RK4", step=0.2)
    >>> bool(np.degrees(run.attitude[-1].magnitude()) < 0.1)
    True
    """

    gimbal_axes: tuple[Vec3, ...]
    """The axes of the gimbals in body axes, one for each gyro; their lengths do not matter."""
    rotor_axes: tuple[Vec3, ...]
    """The directions of the rotors' momenta where the gimbal angles are zero, square to the gimbal axes."""
    momenta: Each
    """The momenta h of the rotors, in N m s: one number for all, or one for each."""
    angles: Each = 0.0
    """The angles of the gimbals at the start, in rad, used where `state` is not given."""
    attitude_gain: Gain = 0.0
    """K, in N m/rad: gimbals turn the body by -K e - D w, with e the small turn from the target. One number, three
    numbers along the body axes, or the rows of a matrix."""
    rate_gain: Gain = 0.0
    """D, in N m s: one number, three numbers along the body axes, or the rows of a matrix."""
    target: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    """The attitude to which gains turn the body, as a quaternion from body to space axes, scalar first."""
    damping: float = 0.05
    """The singular value of the directions of torque, over h, below which gains bound the rates of gimbals; 0: none,
    and a run ends where the gyros are singular."""
    rate_limit: Each | None = None
    """The greatest rate of a gimbal, in rad/s; None: there is no limit."""
    law: Any = None
    """The function that turns the gimbals, in place of gains."""
    parameters_of_law: tuple[float, ...] = ()
    """The numbers that the law finds in p."""
    names: tuple[str, ...] = ()
    """The names of the angles; gimbal_1, gimbal_2 and so on if none are given."""
    reads: tuple[str, ...] = ()
    """The names of numbers that other parts carry: those that the law reads, or without one a rate for each gimbal, in
    rad/s."""

    depends = Depends.POSITION | Depends.RATE
    example: ClassVar[dict[str, Any]] = {
        "gimbal_axes": ((1.0, 0.0, 1.0), (0.0, 1.0, 1.0), (-1.0, 0.0, 1.0), (0.0, -1.0, 1.0)),
        "rotor_axes": ((0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (1.0, 0.0, 0.0)),
        "momenta": 10.0,
        "attitude_gain": 4.0,
        "rate_gain": 20.0,
    }

    @classmethod
    def pyramid(cls, momenta: Each, skew_deg: float = PYRAMID_SKEW_DEG, **rest: Any) -> "ControlMomentGyros":
        """Four gyros on the faces of a pyramid about the third axis.

        Parameters
        ----------
        momenta: float or tuple of floats
            The momenta of the rotors, in N m s.
        skew_deg: float
            The angle of the faces from the plane of the first two axes, in degrees.
        rest
            Further fields by name.
        """
        beta = math.radians(checks.number("skew_deg", skew_deg))
        turns = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))
        gimbals = tuple((math.sin(beta) * c, math.sin(beta) * s, math.cos(beta)) for c, s in turns)
        return cls(gimbals, tuple((-s, c, 0.0) for c, s in turns), momenta, **rest)

    def __post_init__(self) -> None:
        gimbals, rotors = (axes_of(name, getattr(self, name), "gyro") for name in ("gimbal_axes", "rotor_axes"))
        n = len(gimbals)
        if len(rotors) != n:
            raise ValueError(f"there are {n} gimbal_axes, but {len(rotors)} rotor_axes: a gyro has one of each")
        for i, (g, s) in enumerate(zip(units("gimbal_axes", gimbals), units("rotor_axes", rotors), strict=True)):
            if abs(cosine := dot(g, s)) > ACROSS:
                raise ValueError(
                    f"rotor_axes[{i}] is {math.degrees(math.acos(cosine)):g} degrees from gimbal_axes[{i}]: a rotor "
                    "stands at 90 degrees to its gimbal axis"
                )
        drive = driven(self, n, "gyro", "gimbal", f"the rates of {n} gimbals", "angles", (0.1,) * n)
        damping = checks.number("damping", self.damping)
        if damping < 0.0:
            raise ValueError(f"damping must be positive or zero, not {damping:g}")
        limit = None if self.rate_limit is None else each("rate_limit", self.rate_limit, n, "gyro", positive=True)
        self._settle(
            gimbal_axes=gimbals, rotor_axes=rotors, momenta=each("momenta", self.momenta, n, "gyro", positive=True),
            angles=each("angles", self.angles, n, "gyro"), damping=damping, rate_limit=limit, **drive,
        )  # fmt: skip
        if self._shape.gains:
            self._check_steering()

    def _check_steering(self) -> None:
        """Raises ValueError if gains could make no torque about some axis."""
        axes = np.array(units("gimbal_axes", self.gimbal_axes))
        if len(axes) < 3 or np.linalg.matrix_rank(axes, tol=ACROSS) < 2:
            what = "all gimbal_axes are parallel" if len(axes) > 2 else f"there are {len(axes)} gyros"
            raise ValueError(
                f"{what}, so that there is no torque about some axis at any angles: gains need three gyros at least "
                "whose gimbal axes differ, such as ControlMomentGyros.pyramid(...); others take a law"
            )
        if self.damping == 0.0 and (measure := float(self.singularity(self.angles))) < LEAST_SINGULARITY:
            listed = ", ".join(f"{x:g}" for x in np.degrees(self.angles))
            raise ValueError(
                f"the gyros are singular at the angles {listed} degrees, with the measure {measure:.1g}: no rates make "
                "a torque about some axis. Start at other angles=, or give damping above 0"
            )

    @cached_property
    def _still(self) -> tuple[Floats, Floats]:
        """The momenta h s at the angle zero, and h g x s, in rows."""
        g, s = (np.array(units(name, getattr(self, name))) for name in ("gimbal_axes", "rotor_axes"))
        h = np.array(self.momenta)[:, None]
        return h * s, h * np.cross(g, s)

    @property
    def _shape(self) -> _GyroShape:
        gains = bool(np.any(self.attitude_gain) or np.any(self.rate_gain))
        limited = self.rate_limit is not None and (gains or self.law is not None or bool(self.reads))
        return _GyroShape(
            len(self.gimbal_axes), self.law, len(self.parameters_of_law), len(self.reads), gains, limited
        )  # fmt: skip

    @property
    def torque_kernel(self) -> UserTorque:
        """The opposite of what the momenta of the rotors gain; and the rates of the gimbals."""
        return _kernel(self._shape)

    def parameters(self, body: Body) -> Sequence[float]:
        """The numbers of the law, the momenta in both directions, target, damping and gains, and the limits."""
        return self._numbers

    @cached_property
    def _numbers(self) -> tuple[float, ...]:
        found = [*self.parameters_of_law, *np.hstack(self._still).ravel().tolist()]
        if self._shape.gains:
            found += checks.quaternion("target", self.target, again=True).tolist()
            found.append((self.damping * float(np.mean(self.momenta))) ** 2)
            found += np.hstack([gain_matrix(self.attitude_gain), gain_matrix(self.rate_gain)]).ravel().tolist()
        return (*found, *(self.rate_limit if self._shape.limited else ()))  # type: ignore[misc]

    @property
    def may_bend(self) -> bool:
        """Whether rates are limited, gains choose the short way round, or the law branches."""
        return may_bend(self.torque_kernel)

    # --- what the carried numbers mean

    def state_at_start(self, omega: Floats) -> Floats:
        """The angles at the start, at one rate or many."""
        return np.broadcast_to(np.array(self.angles), (*omega.shape[:-1], len(self.gimbal_axes)))

    def carried_momentum(self, state: Floats) -> Floats:
        """Sum h s, in body axes, for one row of angles or a stack of them."""
        still, across = self._still
        return np.asarray(np.cos(state) @ still + np.sin(state) @ across)

    def carried_energy(self, state: Floats) -> Floats:
        """Zero: that of the rotors is constant, and left out."""
        return np.zeros(state.shape[:-1])

    def singularity(self, angles: Any) -> Floats:
        """The singularity measure sqrt(det A A^T) at these angles, a row of them or a stack of rows.

        The columns of A are the directions of torque g x s, each times its momentum over their mean. Where the measure
        is zero, no rates of the gimbals make a torque about some axis.

        Parameters
        ----------
        angles: array_like
            The angles of the gimbals in rad, along the last axis.
        """
        given = checks.floats("angles", angles, "hold the angles of the gimbals, in rad")
        if given.shape[-1:] != (len(self.gimbal_axes),):
            raise ValueError(
                f"angles must have {len(self.gimbal_axes)} numbers along the last axis, not the shape {given.shape}"
            )
        still, across = (rows / np.mean(self.momenta) for rows in self._still)
        a = np.cos(given)[..., None] * across - np.sin(given)[..., None] * still
        return np.asarray(np.sqrt(np.maximum(np.linalg.det(np.swapaxes(a, -1, -2) @ a), 0.0)))
