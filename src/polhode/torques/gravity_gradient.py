"""The gravity gradient: of a mass in a fixed direction, or as it is seen from an orbit, circular or any other."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np

from polhode.body import Body
from polhode.environment.orbit import Orbit, Path
from polhode.kernels.algebra.quat import to_body, upright_to_body
from polhode.kernels.algebra.vec import cross, dot
from polhode.kernels.algebra.vector_table import is_handle, tensor_at
from polhode.kernels.codegen import function
from polhode.kernels.ops import branches_by_parameters, lane, section
from polhode.kernels.types import Depends, Quat, UserTorque, Vec3
from polhode.support import checks
from polhode.support.arrays import Floats
from polhode.torques._torque import Torque, UserPotential, is_upright


def scaled_tensor(body: Body, c: float) -> list[float]:
    """Returns c I in the user's axes, as the six numbers with which p begins: xx, yy, zz, xy, xz, yz.

    Of a body that changes they are its handles and c.
    """
    if body.changes:
        return [*body.handles, c, 0.0, 0.0, 0.0]
    tensor = c * body.tensor
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = tensor.tolist()
    return [xx, yy, zz, xy, xz, yz]


def scaled_tensors(tensors: Floats, c: float, others: Sequence[float]) -> Floats:
    """The numbers of `scaled_tensor` for a stack of tensors, a row each, followed by `others`, equal for all."""
    xx, yy, zz, xy, xz, yz = (c * tensors[:, i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    same = (np.full(len(tensors), x) for x in others)
    return np.stack([xx, yy, zz, xy, xz, yz, *same], axis=1)


@branches_by_parameters
def tensor_times(t: float, p: Any, u: Vec3) -> Vec3:
    """c I u."""
    if is_handle(lane(p[0], 0)):
        (x, y, z), (a, b, c) = tensor_at(p[0], p[1], t)
        n = (dot((x, c, b), u), dot((c, y, a), u), dot((b, a, z), u))
        return (p[2] * n[0], p[2] * n[1], p[2] * n[2])
    return (dot((p[0], p[3], p[4]), u), dot((p[3], p[1], p[5]), u), dot((p[4], p[5], p[2]), u))


def gradient_torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """c u x I u, with u = R^T n."""
    u = to_body(q, (p[6], p[7], p[8]))
    return cross(u, tensor_times(t, p, u))


def upright_gradient_torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """c u x I u, where the mass lies along the third axis of space."""
    u = upright_to_body(q, p[8])
    return cross(u, tensor_times(t, p, u))


def gradient_potential(t: float, q: Quat, p: Any) -> float:
    """(c/2) u . I u."""
    u = to_body(q, (p[6], p[7], p[8]))
    return 0.5 * dot(u, tensor_times(t, p, u))


def torque_from(t: float, q: Quat, p: Any, r: Vec3) -> Vec3:
    """(3 mu / r^5) x x I x, with x = R^T r the position in body axes."""
    r2 = dot(r, r)
    k = 1.0 / (r2 * r2 * math.sqrt(r2))
    x = to_body(q, r)
    n = cross(x, tensor_times(t, p, x))
    return (k * n[0], k * n[1], k * n[2])


def potential_from(t: float, q: Quat, p: Any, r: Vec3) -> float:
    """(3 mu / 2 r^5) x . I x."""
    r2 = dot(r, r)
    x = to_body(q, r)
    return 0.5 * dot(x, tensor_times(t, p, x)) / (r2 * r2 * math.sqrt(r2))


@lru_cache(maxsize=32)
def _along(position: Callable[[float, Any], Vec3], count: int) -> tuple[UserTorque, UserPotential]:
    """Torque and potential along an orbit, whose parameters are behind the scaled tensor."""
    names = {"position": position, "section": section, "torque_from": torque_from, "potential_from": potential_from}
    call = f"_from(t, q, p, position(t, section(p, 6, {count})))"
    torque = function("gradient_along(t, q, w, p)", [f"return torque{call}"], names)
    return torque, function("gradient_potential_along(t, q, p)", [f"return potential{call}"], names)


@dataclass(frozen=True, repr=False)
class GravityGradient(Torque):
    """The gravity gradient of a distant point mass, which stays in one direction of space or is seen from an orbit.

        GravityGradient(strength=3e-6)
        GravityGradient(orbit=polhode.environment.Orbit(semi_major_axis=6.8e6, eccentricity=0.1))

    With u the unit vector to the mass seen from the body, the torque is c u x I u and the potential energy
    (c/2) u . I u: the axis of the least moment is drawn towards the mass.  [celledoni2006, sec. 4.3] On an orbit
    c = 3 mu / r^3; the orbit is prescribed, and the energy of the motion along it is left out of the potential.

    Examples
    --------
    >>> boom, low = ph.Body([10, 10, 1]), ph.GravityGradient.at_distance(mu=3.986e14, r=7.0e6)
    >>> tilted = ph.quaternion_from_euler("x", [5], degrees=True)
    >>> run = ph.simulate(boom, low, omega=[0, 0, 0], attitude=tilted, t_span=(0, 6000), rtol=1e-6)
    >>> bool(np.degrees(run.pointing_angle("z", [0, 0, 1])).max() < 5.001)
    True
    """

    strength: float | None = None
    """c = 3 mu / r^3, in s^-2, if there is no orbit."""
    direction: Vec3 = (0.0, 0.0, 1.0)
    """The direction from the body to the attracting mass, in space axes; its length does not matter."""
    orbit: Path | None = None
    """The orbit about the mass, in place of strength and direction."""

    example: ClassVar[dict[str, Any]] = {"strength": 1.0}

    def __post_init__(self) -> None:
        direction = checks.vector("direction", self.direction)
        if self.orbit is not None:
            if self.strength is not None or direction != (0.0, 0.0, 1.0):
                raise ValueError("give either an orbit, or strength and direction, not both: an orbit has them")
            depends = Depends.POSITION | Depends.TIME
            self._settle(orbit=Path.given("orbit", self.orbit), direction=direction, depends=depends)
            return
        if self.strength is None:
            raise ValueError("give the strength 3 mu / r^3 in s^-2, or an orbit: polhode.environment.Orbit(...)")
        self._settle(strength=checks.number("strength", self.strength), direction=direction)
        self._settle(upright=is_upright(checks.direction("direction", self.direction)))

    @classmethod
    def at_distance(cls, mu: float, r: float, direction: Vec3 = (0.0, 0.0, 1.0)) -> "GravityGradient":
        """The torque of a mass with the gravitational parameter `mu` (m^3/s^2) at the distance `r` (m)."""
        mu, r = checks.number("mu", mu, positive=True), checks.number("r", r, positive=True)
        return cls(3 * mu / r**3, direction)

    @property
    def sources(self) -> tuple[Path, ...]:
        """The orbit, if there is one."""
        return () if self.orbit is None else (self.orbit,)

    @property
    def torque_kernel(self) -> UserTorque:
        """c u x I u."""
        if self.orbit is not None:
            return _along(self.orbit.position_kernel, len(self.orbit.numbers))[0]
        return upright_gradient_torque if self.upright else gradient_torque

    @property
    def potential_kernel(self) -> UserPotential:
        """(c/2) u . I u."""
        if self.orbit is not None:
            return _along(self.orbit.position_kernel, len(self.orbit.numbers))[1]
        return gradient_potential

    def parameters(self, body: Body) -> Sequence[float]:
        """c I and the direction; on an orbit 3 mu I and the orbit."""
        return (*scaled_tensor(body, self._factor), *self._rest)

    def parameter_rows(self, tensors: Floats, rotors: Floats | None = None) -> Floats:
        """The parameters of many bodies, one row each."""
        return scaled_tensors(tensors, self._factor, self._rest)

    @property
    def _factor(self) -> float:
        if self.orbit is not None:
            return 3.0 * self.orbit.mu
        assert self.strength is not None
        return self.strength

    @property
    def _rest(self) -> Sequence[float]:
        return checks.direction("direction", self.direction) if self.orbit is None else self.orbit.numbers

    @property
    def has_value_at_all_times(self) -> bool:  # type: ignore[override]
        """Whether the orbit is a Kepler ellipse: a table of positions ends."""
        return isinstance(self.orbit, Orbit)

    @property
    def axis(self) -> Vec3 | None:
        """The direction to the mass, if it stays."""
        return checks.direction("direction", self.direction) if self.orbit is None else None

    @property
    def turning(self) -> Vec3 | None:
        """The orbital rate along the normal of a circular orbit."""
        if not isinstance(self.orbit, Orbit) or self.orbit.eccentricity != 0.0:
            return None
        x, y, z = self.orbit.normal
        n = self.orbit.mean_motion
        return (n * x, n * y, n * z)

    def __repr__(self) -> str:
        unused = ("strength", "direction") if self.orbit is not None else ("orbit",)
        given = ((f.name, getattr(self, f.name)) for f in fields(self) if f.name not in unused)
        return f"GravityGradient({', '.join(f'{name}={value!r}' for name, value in given)})"


RIGHT_ANGLE_TOLERANCE = 1e-6
"""A cosine between `normal` and `towards` up to this is taken for round-off of the input, and removed."""


def towards_planet(t: float, q: Quat, p: Any) -> Vec3:
    """u = R^T (a cos nt + b sin nt).

    The angle is computed from t each time. Its rounding moves u by no more than the rounding of t itself does.
    """
    c, s = math.cos(p[6] * t), math.sin(p[6] * t)
    return to_body(q, (c * p[7] + s * p[10], c * p[8] + s * p[11], c * p[9] + s * p[12]))


def orbital_torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """3 n^2 u x I u."""
    u = towards_planet(t, q, p)
    return cross(u, tensor_times(t, p, u))


def orbital_potential(t: float, q: Quat, p: Any) -> float:
    """(3/2) n^2 u . I u."""
    u = towards_planet(t, q, p)
    return 0.5 * dot(u, tensor_times(t, p, u))


@dataclass(frozen=True)
class OrbitalGravityGradient(Torque):
    """The gravity gradient of a planet about which the body moves on a circular orbit.

    It is `GravityGradient` with c = 3 n^2, but the direction to the planet turns about the orbit normal at the orbital
    rate n, right-handed. The axes of space do not turn. The potential energy depends on time; T + V - n L is conserved,
    with L the spatial angular momentum along the normal.

    Examples
    --------
    >>> pull = ph.OrbitalGravityGradient(orbital_rate=1.1e-3)
    >>> run = ph.simulate(ph.Body([10, 10, 1]), pull, omega=[0, 0, 1.1e-3], t_span=(0, 600), rtol=1e-6)
    >>> run.success
    True
    """

    orbital_rate: float
    """n, in rad/s."""
    normal: Vec3 = (0.0, 0.0, 1.0)
    """The normal of the orbit, in space axes; its length does not matter."""
    towards: Vec3 = (1.0, 0.0, 0.0)
    """The direction from the body to the planet at t = 0, in space axes, perpendicular to `normal`; of any length."""

    depends = Depends.POSITION | Depends.TIME
    has_value_at_all_times = True
    torque_kernel, potential_kernel = staticmethod(orbital_torque), staticmethod(orbital_potential)

    def __post_init__(self) -> None:
        self._check(orbital_rate=partial(checks.number, positive=True), normal=checks.vector, towards=checks.vector)
        cosine = dot(checks.direction("normal", self.normal), checks.direction("towards", self.towards))
        if abs(cosine) > RIGHT_ANGLE_TOLERANCE:
            angle = math.degrees(math.acos(max(-1.0, min(1.0, cosine))))
            raise ValueError(
                f"towards must be perpendicular to normal, but the angle between {self.towards} and {self.normal} "
                f"is {angle:.9g} degrees"
            )

    @classmethod
    def at_distance(
        cls, mu: float, r: float, normal: Vec3 = (0.0, 0.0, 1.0), towards: Vec3 = (1.0, 0.0, 0.0)
    ) -> "OrbitalGravityGradient":
        """The torque on an orbit of radius `r` (m) about a mass of gravitational parameter `mu` (m^3/s^2)."""
        mu, r = checks.number("mu", mu, positive=True), checks.number("r", r, positive=True)
        return cls(math.sqrt(mu / r) / r, normal, towards)

    @property
    def turning(self) -> Vec3:
        """The orbital rate along the normal of the orbit."""
        x, y, z = checks.direction("normal", self.normal)
        return (self.orbital_rate * x, self.orbital_rate * y, self.orbital_rate * z)

    def parameters(self, body: Body) -> Sequence[float]:
        """3 n^2 I, the rate, and two directions: to the planet at the start and a quarter of an orbit later."""
        return (*scaled_tensor(body, 3 * self.orbital_rate**2), *self._orbit())

    def parameter_rows(self, tensors: Floats, rotors: Floats | None = None) -> Floats:
        """The parameters of many bodies, one row each."""
        return scaled_tensors(tensors, 3 * self.orbital_rate**2, self._orbit())

    def _orbit(self) -> Sequence[float]:
        n = np.array(checks.direction("normal", self.normal))
        later = checks.direction("towards", np.cross(n, self.towards))
        first = checks.direction("towards", np.cross(later, n))
        return (self.orbital_rate, *first, *later)
