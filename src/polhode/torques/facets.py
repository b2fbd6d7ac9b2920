"""Flat plates in the air and in sunlight."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from polhode.body import Body
from polhode.compiler import Locatable, locatable
from polhode.environment import EARTH_RATE
from polhode.environment.air import MSIS, Air, DensityKernel, constant_density
from polhode.environment.model import ReadBy, Spanned, rows_of_three
from polhode.environment.orbit import Path
from polhode.environment.shadow import crossings, ray_of
from polhode.environment.sun import SOLAR_PRESSURE, Ray, Sun
from polhode.kernels.algebra.kepler import State6, position, velocity
from polhode.kernels.algebra.quat import to_body
from polhode.kernels.algebra.vec import combine, cross, dot
from polhode.kernels.algebra.vector_table import handle_of, made_once, packed, table_at
from polhode.kernels.codegen import function
from polhode.kernels.ops import apart, section, where
from polhode.kernels.types import Depends, UserTorque, Vec3
from polhode.support import checks
from polhode.support.arrays import Floats
from polhode.torques._torque import Torque

FACET_NUMBERS = 10
"""The numbers of a facet: normal, centre, area, drag coefficient, and the shares of light that are reflected as by a
mirror and as by paper."""


def lit_torque(f: Any, u: Vec3) -> Vec3:
    """c x F for the pressure 1, with F = -A cos ((1 - s) u + 2 (s cos + d/3) n) and u to the Sun; none from behind."""
    n = (f[0], f[1], f[2])
    cosine = dot(n, u)
    a = where(cosine > 0.0, -f[6] * cosine, 0.0)
    along, across = a * (1.0 - f[8]), 2.0 * a * (f[8] * cosine + f[9] / 3.0)
    return cross((f[3], f[4], f[5]), combine((along * u[0], along * u[1], along * u[2]), across, n))


def dragged_torque(f: Any, v: Vec3) -> Vec3:
    """c x F for the dynamic pressure 1, with F = -C A cos v, v the direction of the motion; none from behind."""
    cosine = dot((f[0], f[1], f[2]), v)
    a = where(cosine > 0.0, -f[7] * f[6] * cosine, 0.0)
    return cross((f[3], f[4], f[5]), (a * v[0], a * v[1], a * v[2]))


def through_air(s: State6, rate: float) -> Vec3:
    """v - w x r: the velocity in air that turns with the planet at the rate w about the third axis of space."""
    r, v = position(s), velocity(s)
    return (v[0] + rate * r[1], v[1] - rate * r[0], v[2])


def dynamic_pressure(density: float, v: Vec3) -> float:
    """rho v^2 / 2."""
    return 0.5 * density * dot(v, v)


def unit(v: Vec3) -> Vec3:
    """v with the length one."""
    k = 1.0 / math.sqrt(dot(v, v))
    return (k * v[0], k * v[1], k * v[2])


def light(s: State6, ray: Ray, radius: float) -> float:
    """Returns 1 in the light of the Sun and 0 in the shadow of the planet, a cylinder."""
    u = (ray[0], ray[1], ray[2])
    r = position(s)
    along = dot(r, u)
    away = combine(r, -along, u)
    found: float = where((along < 0.0) & (dot(away, away) < radius * radius), 0.0, 1.0)
    return found


def listed_light(handle: float, t: float) -> float:
    """1 in the light of the Sun and 0 in the shadow of the planet, from a table of entries and exits."""
    return table_at(handle, t)[0]


def _given_density(value: Any) -> float | Air | None:
    if value is None or isinstance(value, Air):
        return value
    if isinstance(value, dict):
        return Air.given("density", value)
    density = checks.number("density", value)
    if density < 0.0:
        raise ValueError(f"density must not be negative, not {density:g}")
    return density


def _given_sun(value: Any) -> Vec3 | Sun | None:
    if value is None or isinstance(value, Sun):
        return value
    if isinstance(value, dict):
        return Sun.given("sun", value)
    checks.direction("sun", value)
    return checks.vector("sun", value)


class _PlateShape(NamedTuple):
    """All of a model on which the text of its kernel depends."""

    facets: int
    state: Callable[[float, Any], State6] | None
    orbit: int
    ray: Callable[[float, Any], Ray] | None
    sun: int
    density: DensityKernel | None
    air: int
    shadow: str


@lru_cache(maxsize=64)
def _kernel(shape: _PlateShape) -> UserTorque:
    """The torque of facets. Its parameters: the orbit, the Sun, the air, four numbers, and the facets."""
    sun_at, air_at = shape.orbit, shape.orbit + shape.sun
    common = air_at + shape.air  # pressure of light, radius or table of the shadow, rate of the air
    first = common + 3
    lines = ["x, y, z = 0.0, 0.0, 0.0"]
    if shape.state is not None:
        lines.append(f"s = state(t, section(p, 0, {shape.orbit}))")
    if shape.ray is not None:
        lines += [
            f"ray = sun(t, section(p, {sun_at}, {shape.sun}))",
            f"k = p[{common}] * ray[3]",
            "u = to_body(q, (ray[0], ray[1], ray[2]))",
        ]
        if shape.shadow == "listed":
            lines.append(f"k = k * listed_light(p[{common + 1}], t)")
        elif shape.shadow == "seen":
            lines.append(f"k = k * light(s, ray, p[{common + 1}])")
    if shape.density is not None:
        lines += [
            f"v = through_air(s, p[{common + 2}])",
            f"d = dynamic_pressure(density(t, section(p, {air_at}, {shape.air}), s), v)",
            "v = to_body(q, unit(v))",
        ]
    for i in range(shape.facets):
        lines.append(f"f = section(p, {first + FACET_NUMBERS * i}, {FACET_NUMBERS})")
        for given, call in ((shape.ray, "k, lit_torque(f, u)"), (shape.density, "d, dragged_torque(f, v)")):
            if given is not None:
                factor, one = call.split(", ", 1)
                lines += [f"n = {one}", *(f"{a} += {factor} * n[{j}]" for j, a in enumerate("xyz"))]
    smooth = {
        "state": shape.state, "sun": shape.ray, "density": shape.density, "listed_light": listed_light, "unit": unit,
        "section": section, "to_body": to_body, "through_air": through_air, "dynamic_pressure": dynamic_pressure,
    }  # fmt: skip
    names = {**smooth, "lit_torque": lit_torque, "dragged_torque": dragged_torque, "light": light}
    used = {name: value for name, value in names.items() if value is not None}
    made: UserTorque = function("facets_torque(t, q, w, p)", [*lines, "return (x, y, z)"], used)
    apart(made)
    made.__smooth__ = tuple(name for name, value in smooth.items() if value is not None)  # type: ignore[attr-defined]
    return made


@dataclass(frozen=True)
class Facets(Spanned, Torque):
    """Drag and sunlight on the flat plates of which the surface of a body is made.

        Facets(areas, normals, centres, orbit=orbit, density=1e-12)                # drag
        Facets(areas, normals, centres, orbit=orbit, sun=(1, 0, 0), diffuse=0.3)   # sunlight

    A plate is met on one side only, that of its normal: a thin panel is two facets. Plates do not shade each other.
    Drag has one coefficient: its force is -(1/2) rho C A cos v^2 along the motion, and the rotation of the body adds
    nothing to the speed. Of the light the share `specular` is reflected as by a mirror, `diffuse` as by paper, and the
    rest is absorbed.  [wertz1978, sec. 17.2] The orbit is prescribed. The shadow of the planet is a cylinder: steps
    end where it is entered and left.

    Examples
    --------
    >>> low = ph.environment.Orbit(semi_major_axis=6.8e6)  # along y at the start
    >>> panel = ph.Facets(areas=[2.0], normals=[[0, 1, 0]], centres=[[0.5, 0.1, 0]], orbit=low, density=1e-12)
    >>> run = ph.simulate(ph.Body([1, 2, 2.8]), panel, omega=[0, 0, 0], t_span=(0, 10), method="RK4", step=1.0)
    >>> bool(run.omega[-1, 2] < 0)
    True
    """

    areas: tuple[float, ...]
    """The area of each facet, in m^2."""
    normals: tuple[Vec3, ...]
    """The direction in which it faces, in body axes; its length does not matter."""
    centres: tuple[Vec3, ...]
    """The place of its centre, seen from the centre of mass, in body axes, in m."""
    orbit: Path | None = None
    """Where the body is; needed for drag and for shadows."""
    density: Annotated[float | Air | None, ReadBy(_given_density)] = None
    """The density of the air: a number in kg/m^3 or a model (`polhode.environment`); None: there is no drag."""
    drag_coefficient: float | tuple[float, ...] = 2.2
    """The coefficient C of the drag, for all facets or for each."""
    air_rate: float = EARTH_RATE
    """The rate at which the air turns about the third axis of space, in rad/s; 0: it is at rest."""
    sun: Annotated[Vec3 | Sun | None, ReadBy(_given_sun)] = None
    """The direction to the Sun in space axes, or `polhode.environment.Sun(date)`; None: there is no sunlight."""
    specular: float | tuple[float, ...] = 0.0
    """The share of the light that is reflected as by a mirror, for all facets or for each."""
    diffuse: float | tuple[float, ...] = 0.0
    """The share that is reflected as by paper, for all facets or for each."""
    pressure: float = SOLAR_PRESSURE
    """The pressure of sunlight on a black plate, in N/m^2, at the mean distance of the Earth."""
    shadow: bool = True
    """Whether the planet has a shadow, if there is an orbit."""

    depends = Depends.POSITION | Depends.TIME
    example: ClassVar[dict[str, Any]] = {"sun": (1.0, 0.0, 0.0)}

    def __post_init__(self) -> None:
        areas = checks.row("areas", self.areas)
        if areas.size == 0:
            raise ValueError("areas must hold one area at least")
        if not (areas >= 0.0).all():
            bad = int(np.argmin(areas >= 0.0))
            raise ValueError(f"areas must not be negative, but areas[{bad}] is {areas[bad]:g}")
        rows = {"normals": rows_of_three("normals", self.normals), "centres": rows_of_three("centres", self.centres)}
        for name, values in rows.items():
            if len(values) != areas.size:
                raise ValueError(f"{name} must have a row for each of the {areas.size} areas, not {len(values)}")
        for k, normal in enumerate(rows["normals"]):
            checks.direction(f"normals[{k}]", normal)
        shares = {name: self._share(name, areas.size) for name in ("drag_coefficient", "specular", "diffuse")}
        self._settle(
            areas=tuple(areas.tolist()), **rows, **shares,
            orbit=None if self.orbit is None else Path.given("orbit", self.orbit),
            density=_given_density(self.density), air_rate=checks.number("air_rate", self.air_rate),
            sun=_given_sun(self.sun), pressure=checks.number("pressure", self.pressure), shadow=bool(self.shadow),
        )  # fmt: skip
        total = np.add(self.specular, self.diffuse)
        if np.max(total) > 1.0:
            raise ValueError(f"specular and diffuse must be 1 together at most, not {float(np.max(total)):g}")
        if self.density is None and self.sun is None:
            raise ValueError("give density for drag, sun for sunlight, or both: nothing acts on the facets")
        if self.density is not None and self.orbit is None:
            raise ValueError("drag needs an orbit, for the velocity: give orbit=polhode.environment.Orbit(...)")
        dates = {x.date for x in (self.density, self.sun) if isinstance(x, MSIS | Sun)}
        if len(dates) > 1:
            raise ValueError(f"t = 0 is given as {' and as '.join(sorted(dates))}: the Sun and the air need one date")
        if self.density is None and not self.has_shadow and not isinstance(self.sun, Sun):
            self._settle(depends=Depends.POSITION)

    @classmethod
    def from_mesh(cls, mesh: Any, *, centre: Any = (0.0, 0.0, 0.0), scale: float = 1.0, **given: Any) -> "Facets":
        """A facet for each triangle of an STL, OBJ or PLY file.

        Parameters
        ----------
        mesh
            The file. Seen from outside, the corners of each triangle run counterclockwise.
        centre
            The centre of mass in m, as `Body.from_mesh(mesh).centre` is.
        scale
            The length of a unit of the file, in m.
        given
            All else that facets have: sun, diffuse, orbit, density and so on.
        """
        from polhode.files.meshes import Mesh, read_mesh

        read = mesh if isinstance(mesh, Mesh) else read_mesh(mesh)
        size, middle = checks.number("scale", scale, positive=True), np.array(checks.vector("centre", centre))
        a, b, c = np.moveaxis(read.positions[read.triangles] * size - middle, 1, 0)
        normals = np.cross(b - a, c - a)
        areas = np.sqrt((normals**2).sum(axis=1)) / 2.0
        some = areas > 0.0
        return cls(areas[some], normals[some], ((a + b + c) / 3.0)[some], **given)

    def _share(self, name: str, count: int) -> float | tuple[float, ...]:
        """A number for all facets or for each, which must not be negative."""
        value = getattr(self, name)
        row = checks.row(name, value)
        if (row < 0.0).any():
            raise ValueError(f"{name} must not be negative, not {float(row.min()):g}")
        if checks.shape_of(name, value) == ():
            return float(row[0])
        if row.size != count:
            raise ValueError(f"{name} must be one number, or have one for each of the {count} facets, not {row.size}")
        return tuple(row.tolist())

    @property
    def has_shadow(self) -> bool:
        """Whether the body may be in the shadow of the planet."""
        return self.sun is not None and self.orbit is not None and self.shadow

    @property
    def _shape(self) -> _PlateShape:
        needs_orbit = self.orbit is not None and (self.density is not None or self.has_shadow)
        orbit = self.orbit if needs_orbit else None
        ray, sun = (None, ()) if self.sun is None else ray_of(self.sun)
        air = self.density
        shadow = "" if not self.has_shadow else "seen" if self.span is None else "listed"
        return _PlateShape(
            len(self.areas), None if orbit is None else orbit.state_kernel,
            0 if orbit is None else len(orbit.numbers), ray, len(sun),
            None if air is None else air.density_kernel if isinstance(air, Air) else constant_density,
            0 if air is None else air.count if isinstance(air, Air) else 1, shadow,
        )  # fmt: skip

    @property
    def torque_kernel(self) -> UserTorque:
        """The sum over the facets."""
        return _kernel(self._shape)

    def parameters(self, body: Body) -> Sequence[float]:
        """The orbit, the Sun, the air, pressure, shadow and rate of the air, and ten numbers for each facet."""
        shape, found = self._shape, list[float]()
        if shape.state is not None:
            assert self.orbit is not None
            found += self.orbit.numbers
        if self.sun is not None:
            found += ray_of(self.sun)[1]
        if isinstance(self.density, Air):
            assert self.orbit is not None
            air, orbit = self.density, self.orbit
            found += air.numbers(orbit, self._kept(lambda: air.table(orbit, self.span)))
        elif self.density is not None:
            found.append(self.density)
        shadow = 0.0
        if shape.shadow == "listed":
            shadow = handle_of(made_once(self, "_made_light", self._light))
        elif shape.shadow == "seen":
            assert self.orbit is not None
            shadow = self.orbit.planet_radius
        return (*found, self.pressure, shadow, self.air_rate, *self._facets)

    @cached_property
    def _facets(self) -> tuple[float, ...]:
        each = (self.drag_coefficient, self.specular, self.diffuse)
        columns = [np.broadcast_to(x, len(self.areas)).tolist() for x in each]
        rows = zip(self.normals, self.centres, self.areas, *columns, strict=True)
        return tuple(x for n, c, *rest in rows for x in (*checks.direction("normals", n), *c, *rest))

    def _light(self) -> Floats:
        """The numbers of a table that is one in the light and zero in the shadow, for the times of the run."""
        assert self.span is not None
        times, lit = self._crossings
        t0, t1 = self.span
        knots = np.concatenate([[t0 - max(1.0, t1 - t0)], times, [t1 + max(1.0, t1 - t0)]])
        values = np.zeros((knots.size - 1, 1, 3))
        values[:, 0, 0] = np.arange(knots.size - 1) % 2 != (1 if lit else 0)
        return packed(knots, values)

    @property
    def sources(self) -> tuple[Path, ...]:
        """The orbit, if there is one."""
        return () if self.orbit is None else (self.orbit,)

    @property
    def _crossings(self) -> tuple[Floats, bool]:
        assert self.orbit is not None
        assert self.span is not None
        return crossings(self.orbit, self.sun, *self.span)

    @cached_property
    def breakpoints(self) -> tuple[float, ...]:
        """The times of the run at which the shadow is entered or left; none before the times of the run are known."""
        return tuple(self._crossings[0].tolist()) if self.has_shadow and self.span is not None else ()

    @property
    def axis(self) -> Vec3 | None:
        """The direction to a Sun that stays, if nothing else acts and all facets are black: it pushes along rays."""
        is_black = not (np.any(self.specular) or np.any(self.diffuse))
        if self.density is not None or not is_black or not isinstance(self.sun, tuple):
            return None
        return checks.direction("sun", self.sun)

    @property
    def may_bend(self) -> bool:
        """True: facets turn to the light and the air, and away from them."""
        return True

    @property
    def located(self) -> Locatable | None:
        """The torque in the form whose bends can be located; None: there are too many facets."""
        return locatable(self.torque_kernel, (0.0,) * self._count)

    @property
    def _count(self) -> int:
        shape = self._shape
        return shape.orbit + shape.sun + shape.air + 3 + FACET_NUMBERS * shape.facets

    def check_span(self, t0: float, t1: float) -> None:
        """Raises ValueError unless orbit and air are known at these times."""
        super().check_span(t0, t1)
        if isinstance(self.density, Air):
            self.density.check_span(t0, t1)
