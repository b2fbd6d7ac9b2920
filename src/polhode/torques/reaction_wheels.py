"""Wheels inside a body, turned by motors."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from polhode.body import Body
from polhode.compiler import may_bend
from polhode.kernels.algebra.vec import cross
from polhode.kernels.codegen import function
from polhode.kernels.ops import where
from polhode.kernels.types import Depends, UserTorque, Vec3
from polhode.support import checks
from polhode.support.arrays import Floats
from polhode.torques._driven import Each, axes_of, driven, driven_lines, each, pointing_error, total_lines, units
from polhode.torques._spin import check_whole, spin_energy, spin_momentum, without_spin
from polhode.torques._torque import Gain, Torque, gain_matrix


class _WheelShape(NamedTuple):
    """All on which the text of the kernel depends."""

    wheels: int
    law: Callable[..., Any] | None
    numbers: int
    """The number of parameters of the law."""
    reads: int
    """How many numbers of other parts it finds in z; of commands, if there is no law."""
    gains: bool
    """Whether motors are turned by gains; they are not turned if there is no law either, and no commands."""
    torque_limit: bool
    speed_limit: bool
    viscous: bool
    coulomb: bool


@lru_cache(maxsize=64)
def _kernel(shape: _WheelShape) -> UserTorque:
    """Writes the kernel for a number of wheels, of whose numbers in p only those are there that it needs.

    The torque on a wheel is d, its speed relative to the body s, its momentum z; the body feels the opposite of all d,
    and the gyroscopic torque of all z.
    """
    places = range(shape.wheels)
    names: dict[str, Any] = {"cross": cross}
    lines = []
    numbers = iter(range(10**6))  # of p, in the order of `ReactionWheels.parameters`

    def number() -> str:
        return f"p[{next(numbers)}]"

    def listed(name: str) -> str:
        return "".join(f"{name}{i}, " for i in places)

    for _ in range(shape.numbers):
        number()
    target = ", ".join(number() for _ in range(4)) if shape.gains else ""
    axes = [(number(), number(), number()) for _ in places]
    inverses = [number() for _ in places]
    if shape.law is not None or shape.speed_limit or shape.viscous or shape.coulomb:
        for i, (x, y, z) in enumerate(axes):
            lines.append(f"s{i} = z[{i}] * {inverses[i]} - ({x} * w[0] + {y} * w[1] + {z} * w[2])")
    if shape.gains:
        names["pointing_error"] = pointing_error
        lines.append(f"e = pointing_error(q, ({target}))")
        for i in places:
            terms = [f"{number()} * {v}[{k}]" for v in "ew" for k in range(3)]
            lines.append(f"d{i} = {' + '.join(terms)}")
    else:
        seen = f"({listed('s')})"
        lines += driven_lines(names, shape.law, shape.wheels, shape.numbers, shape.reads, seen, shape.wheels)
    for i in places:
        if shape.torque_limit:
            most = number()
            lines.append(f"d{i} = min(max(d{i}, -{most}), {most})")
        if shape.speed_limit:
            names["where"] = where
            top, band = number(), number()
            faster, slower = (f"min(max(({top} {sign} s{i}) * {band}, 0.0), 1.0)" for sign in "-+")
            lines.append(f"d{i} = d{i} * where(d{i} > 0.0, {faster}, {slower})")
        if shape.viscous:
            lines.append(f"d{i} = d{i} - {number()} * s{i}")
        if shape.coulomb:
            names["sqrt"] = math.sqrt
            lines.append(f"d{i} = d{i} - {number()} * s{i} / sqrt(s{i} * s{i} + {number()})")

    h, d = total_lines(axes, "z[{0}]"), total_lines(axes, "d{0}")
    lines.append(f"g = cross(({', '.join(h)}), w)")
    lines.append(f"return ({', '.join(f'g[{k}] - ({x})' for k, x in enumerate(d))}), ({listed('d')})")
    made: UserTorque = function("reaction_wheels(t, q, w, p, z)", lines, names)
    return made


@dataclass(frozen=True)
class ReactionWheels(Torque):
    """Wheels that spin about axes fixed in the body, turned by motors: what they gain in momentum the body loses.

    It carries the momenta of the wheels along their axes, h = J (s + a . w) in N m s, where s is the speed of a wheel
    relative to the body. The body of the simulation must not contain the spin inertias J: `wheels.carrier(spacecraft)`
    is that body, if the tensor of the spacecraft is known with its wheels locked, as is usual.

    Motors are turned by a law of yours, or by gains towards an attitude, or not at all. A law is a function that is
    compiled with the step, `law(t, q, w, p, speeds)`: time, quaternion, rate, the `parameters_of_law`, and a tuple
    with the speeds of the wheels relative to the body. It returns the torque of each motor on its wheel, in N m. With
    `reads` it finds numbers of other parts in a last argument z; without a law these are the torques of the motors.

    Examples
    --------
    >>> axes = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    >>> wheels = ph.ReactionWheels(axes, inertias=0.01, attitude_gain=0.1, rate_gain=1.0)
    >>> tilted = ph.quaternion_from_euler("z", [5], degrees=True)
    >>> body = ph.Body([10, 12, 15])
    >>> run = ph.simulate(body, wheels, omega=[0, 0, 0], attitude=tilted, t_span=(0, 1), method="RK4", step=0.1)
    >>> run.state_names
    ('wheel_1', 'wheel_2', 'wheel_3')
    """

    axes: tuple[Vec3, ...]
    """The spin axes in body axes, one for each wheel; their lengths do not matter."""
    inertias: Each
    """The moments of inertia J about the spin axes, in kg m^2: one number for all wheels, or one for each."""
    speeds: Each = 0.0
    """The speeds at the start relative to the body, in rad/s, used where `state` is not given."""
    attitude_gain: Gain = 0.0
    """K, in N m/rad: motors turn the body by -K e - D w, with e the small turn from the target. One number, three
    numbers along the body axes, or the rows of a matrix."""
    rate_gain: Gain = 0.0
    """D, in N m s: one number, three numbers along the body axes, or the rows of a matrix."""
    target: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    """The attitude to which gains turn the body, as a quaternion from body to space axes, scalar first; its length
    does not matter."""
    torque_limit: Each | None = None
    """The greatest torque of a motor, in N m; None: there is no limit."""
    speed_limit: Each | None = None
    """The greatest speed of a wheel relative to the body, in rad/s, beyond which no motor drives it; None: no limit."""
    speed_margin: float = 0.02
    """The part of the greatest speed below it in which the torque of a motor that drives its wheel falls to zero."""
    viscous: Each = 0.0
    """The torque of friction in the bearings over the speed, in N m s."""
    coulomb: Each = 0.0
    """The torque of dry friction in the bearings, in N m: coulomb s / sqrt(s^2 + slip^2)."""
    slip: float = 0.1
    """The speed, in rad/s, over which dry friction changes its sign; below it a wheel creeps."""
    law: Any = None
    """The function that turns the motors, in place of gains."""
    parameters_of_law: tuple[float, ...] = ()
    """The numbers that the law finds in p."""
    names: tuple[str, ...] = ()
    """The names of the carried momenta; wheel_1, wheel_2 and so on if none are given."""
    reads: tuple[str, ...] = ()
    """The names of numbers that other parts carry: those that the law reads, or without one a command for each motor,
    in N m, as a `Sampled` law holds them."""

    depends = Depends.POSITION | Depends.RATE
    example: ClassVar[dict[str, Any]] = {
        "axes": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
        "inertias": 0.01,
        "attitude_gain": 0.1,
        "rate_gain": 0.5,
    }

    def __post_init__(self) -> None:
        axes = axes_of("axes", self.axes, "wheel")
        n = len(axes)
        settled = {
            "inertias": each("inertias", self.inertias, n, positive=True),
            "speeds": each("speeds", self.speeds, n),
            "viscous": each("viscous", self.viscous, n, negative=False),
            "coulomb": each("coulomb", self.coulomb, n, negative=False),
        }
        for name in ("torque_limit", "speed_limit"):
            given = getattr(self, name)
            settled[name] = None if given is None else each(name, given, n, positive=True)  # type: ignore[assignment]
        if (limits := settled["speed_limit"]) is not None:
            for i, (speed, limit) in enumerate(zip(settled["speeds"], limits, strict=True)):
                if abs(speed) > limit:
                    raise ValueError(f"speeds[{i}] is {speed:g} rad/s, beyond the speed_limit of {limit:g} rad/s")
        margin = checks.number("speed_margin", self.speed_margin, positive=True)
        if margin > 1.0:
            raise ValueError(f"speed_margin is a part of the greatest speed, at most 1, not {margin:g}")
        drive = driven(self, n, "wheel", "wheel", f"the torques of {n} motors", "speeds", (0.0,) * n)
        drive["commanded"] &= self.speed_limit is None
        slip = checks.number("slip", self.slip, positive=True)
        self._settle(axes=axes, **settled, **drive, speed_margin=margin, slip=slip)

    @cached_property
    def _unit_axes(self) -> list[Vec3]:
        return units("axes", self.axes)

    @property
    def _inertias(self) -> tuple[float, ...]:
        assert isinstance(self.inertias, tuple)
        return self.inertias

    @cached_property
    def _shape(self) -> _WheelShape:
        gains = bool(np.any(self.attitude_gain) or np.any(self.rate_gain))
        acts = gains or self.law is not None or bool(self.reads)
        return _WheelShape(
            len(self.axes), self.law, len(self.parameters_of_law), len(self.reads), gains,
            acts and self.torque_limit is not None, acts and self.speed_limit is not None,
            bool(np.any(self.viscous)), bool(np.any(self.coulomb)),
        )  # fmt: skip

    @property
    def torque_kernel(self) -> UserTorque:
        """The opposite of the torques on the wheels, less w x sum a h; and these torques."""
        return _kernel(self._shape)

    def parameters(self, body: Body) -> Sequence[float]:
        """The numbers of the law or the target, the axes, the inverse inertias, gains, and for each wheel the rest."""
        return self._numbers

    @cached_property
    def _numbers(self) -> tuple[float, ...]:
        shape, found = self._shape, list(self.parameters_of_law)
        if shape.gains:
            found += checks.quaternion("target", self.target, again=True).tolist()
        found += [x for axis in self._unit_axes for x in axis]
        found += [1.0 / inertia for inertia in self._inertias]
        if shape.gains:
            found += self._shares().ravel().tolist()
        rows: list[Any] = []
        if shape.torque_limit:
            rows.append(self.torque_limit)
        if shape.speed_limit:
            top = np.array(self.speed_limit)
            rows += [top, 1.0 / (self.speed_margin * top)]
        if shape.viscous:
            rows.append(self.viscous)
        if shape.coulomb:
            rows += [self.coulomb, np.full(len(self.axes), self.slip**2)]
        return (*found, *(float(row[i]) for i in range(len(self.axes)) for row in rows))

    def _shares(self) -> Floats:
        """The torque on each wheel for every unit of error and rate: K and D shared out with least torques."""
        gains = np.hstack([gain_matrix(self.attitude_gain), gain_matrix(self.rate_gain)])
        return np.asarray(np.linalg.pinv(np.array(self._unit_axes).T) @ gains)

    @property
    def may_bend(self) -> bool:
        """Whether torques or speeds are limited, gains choose the short way round, or the law branches."""
        return may_bend(self.torque_kernel)

    # --- what the carried numbers mean

    def carrier(self, body: Body) -> Body:
        """The body for a simulation, without the spin inertias, from the one in which the wheels are locked."""
        return without_spin(body, self._unit_axes, self._inertias)

    def check_body(self, body: Body) -> None:
        """Raises ValueError if the wheels are too large for the body."""
        check_whole(body, self._unit_axes, self._inertias)

    def state_at_start(self, omega: Floats) -> Floats:
        """The momenta J (s + a . w) of the wheels for the `speeds` at the start, at one rate or many."""
        along = omega @ np.array(self._unit_axes).T
        return np.asarray(np.array(self._inertias) * (np.array(self.speeds) + along))

    def speeds_of(self, solution: Any) -> Floats:
        """The speeds of the wheels relative to the body in the rows of a solution, (rows, wheels), in rad/s."""
        momenta = solution.state[..., solution.torque.state_of(self.part_of(solution.torque))]
        return np.asarray(momenta / np.array(self._inertias) - solution.omega @ np.array(self._unit_axes).T)

    def carried_momentum(self, state: Floats) -> Floats:
        """Sum a h, in body axes, for one row of carried numbers or a stack of them."""
        return spin_momentum(self._unit_axes, state)

    def carried_energy(self, state: Floats) -> Floats:
        """Sum h^2 / 2J: with w . I w / 2 of the carrier this is the kinetic energy of everything."""
        return spin_energy(self._inertias, state)
