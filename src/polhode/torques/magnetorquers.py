"""Magnetic torquers: coils and rods whose dipole moments a law sets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar

from polhode.body import Body
from polhode.compiler import may_bend
from polhode.environment.field import Field
from polhode.environment.model import ReadBy
from polhode.kernels.algebra.quat import to_body
from polhode.kernels.algebra.vec import cross, dot
from polhode.kernels.codegen import function
from polhode.kernels.ops import section
from polhode.kernels.types import Depends, Quat, UserTorque, Vec3
from polhode.support import checks
from polhode.torques._driven import Each, axes_of, check_driver, driven_lines, each, law_of, total_lines, units
from polhode.torques._in_field import InField, given_field
from polhode.torques._torque import names_read
from polhode.torques.table import Table


def b_dot(t: float, q: Quat, w: Vec3, p: Any, b: Vec3) -> Vec3:
    """-k dB/dt, where the field changes because the body turns: dB/dt = b x w."""
    x, y, z = cross(b, w)
    return (-p[0] * x, -p[0] * y, -p[0] * z)


def cross_product(t: float, q: Quat, w: Vec3, p: Any, b: Vec3) -> Vec3:
    """-k b x w / b^2, whose torque is -k times the rate across the field."""
    x, y, z = cross(b, w)
    k = -p[0] / dot(b, b)
    return (k * x, k * y, k * z)


LAWS: dict[str, Callable[..., Any]] = {"b_dot": b_dot, "cross_product": cross_product}
"""The laws that have names, for three torquers along the axes of the body."""
IDENTITY = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@lru_cache(maxsize=64)
def _kernel(
    count: int, law: Callable[..., Any] | None, numbers: int, reads: int, field: Callable[..., Any], own: int,
    turned: bool,
) -> UserTorque:  # fmt: skip
    """Writes the kernel for a number of torquers. In p are the numbers of the law, directions, limits, and the field.

    The moment along a direction is d; `own` numbers belong to the field, which is in space axes if it is `turned`.
    """
    places, names = range(count), dict[str, Any](cross=cross, section=section, field=field)
    axes = [[f"p[{numbers + 3 * i + k}]" for k in range(3)] for i in places]
    limits = numbers + 3 * count
    vector = f"field(t, section(p, {limits + count}, {own}))"
    lines = [f"b = to_body(q, {vector})" if turned else f"b = {vector}"]
    names |= {"to_body": to_body} if turned else {}
    lines += driven_lines(names, law, count, numbers, reads, "b", 0)
    lines += [f"d{i} = min(max(d{i}, -p[{limits + i}]), p[{limits + i}])" for i in places]
    lines.append(f"return cross(({', '.join(total_lines(axes, 'd{0}'))}), b)")
    made: UserTorque = function(f"magnetorquers(t, q, w, p{', z' if reads else ''})", lines, names)
    return made


@dataclass(frozen=True)
class Magnetorquers(InField):
    """The torque m x B of coils and rods in a magnetic field, whose dipole moments m a law sets, up to their limits.

    A law is a function that is compiled with the step, `law(t, q, w, p, b)`: time, quaternion, rate, the
    `parameters_of_law`, and the flux density in T in body axes. It returns the moment of each torquer in A m^2; what is
    beyond a limit is cut off. Detumbling is m = -k dB/dt, which is -k b x w where the field in space changes slowly
    (B-dot), or -k b x w / b^2 (the cross product law) [markley2014]: for torquers along the three axes of the body
    these are the laws "b_dot" and "cross_product", with k among the parameters.

    With `reads` the law finds numbers of other parts in a last argument z, such as the momenta of wheels that are to be
    unloaded. Without a law these numbers are the moments, as a `Sampled` law holds them between its samples.

    Examples
    --------
    >>> def b_dot(t, q, w, p, b):
    ...     change = ph.cross(b, w)  # dB/dt, seen from the body
    ...     return -p[0] * change[0], -p[0] * change[1], -p[0] * change[2]
    ...
    >>> def turning(t):
    ...     return 3e-5 * np.array([np.cos(0.01 * t), np.sin(0.01 * t), 0.2 + 0 * t])
    ...
    >>> field = ph.Table.from_function(turning, (0, 200), frame="space")
    >>> coils = ph.Magnetorquers(np.eye(3), 0.2, field, law=b_dot, parameters_of_law=[1e5])
    >>> body = ph.Body([0.03, 0.03, 0.01])
    >>> run = ph.simulate(body, coils, omega=[0.1, -0.05, 0.1], t_span=(0, 200), method="RK4", step=0.5)
    >>> bool(run.kinetic_energy[-1] < run.kinetic_energy[0])
    True
    """

    dipoles: tuple[Vec3, ...]
    """The directions of the dipoles in body axes, one for each torquer; their lengths do not matter."""
    limits: Each
    """The greatest moments, in A m^2: one number for all torquers, or one for each."""
    field: Annotated[Vec3 | Field | Table, ReadBy(given_field)]
    """Flux density in T: a vector in space axes; a model along an orbit (`polhode.environment`); or a `polhode.Table`,
    in the axes of the table."""
    law: Any = None
    """The function that sets the moments, or "b_dot" or "cross_product"."""
    parameters_of_law: tuple[float, ...] = ()
    """The numbers that the law finds in p."""
    reads: tuple[str, ...] = ()
    """The names of numbers that other parts carry: those that the law reads, or without one a moment for each torquer,
    in A m^2."""

    depends = Depends.POSITION | Depends.TIME
    _law: ClassVar[Callable[..., Any] | None] = None
    _knows_space: ClassVar[bool] = False
    example: ClassVar[dict[str, Any]] = {
        "dipoles": IDENTITY,
        "limits": 0.2,
        "law": "cross_product",
        "parameters_of_law": (1e-4,),
    }

    def __post_init__(self) -> None:
        dipoles, reads = axes_of("dipoles", self.dipoles, "torquer"), names_read(self.reads)
        n = len(dipoles)
        numbers = tuple(checks.row("parameters_of_law", self.parameters_of_law).tolist())
        moments = f"the moments of {n} torquers"
        if isinstance(self.law, str):
            self._settle(law=checks.choice("law of torquers", self.law, LAWS))
            if dipoles != IDENTITY or len(numbers) != 1 or reads:
                raise ValueError(
                    f"the law {self.law!r} is for the dipoles (1, 0, 0), (0, 1, 0), (0, 0, 1) and one parameter k, and "
                    "reads nothing: give a law(t, q, w, p, b) for others"
                )
        given = LAWS[self.law] if isinstance(self.law, str) else self.law
        law, depends, turns = law_of(moments, given, n, numbers, reads, "b", (1e-5, 2e-5, 3e-5))
        if law is None and not reads:
            raise ValueError(
                "nothing sets the moments: give a law(t, q, w, p, b), or in reads= the names of moments that another "
                "part carries; for a constant moment take MagneticDipole"
            )
        check_driver(law, reads, n, False, numbers, moments)
        self._settle(
            dipoles=dipoles, limits=each("limits", self.limits, n, "torquer", positive=True), reads=reads,
            field=given_field(self.field), parameters_of_law=numbers,
        )  # fmt: skip
        steady = isinstance(self.field, tuple)
        self._settle(
            commanded=law is None,
            _law=law,
            _knows_space=turns,
            depends=Depends.POSITION | depends | (Depends.NOTHING if steady else Depends.TIME),
            reads_attitude=turns or self._is_turned,
        )

    @property
    def torque_kernel(self) -> UserTorque:
        """m x B."""
        own = (len(self.parameters_of_law), len(self.reads), *self._field_kernel)
        return _kernel(len(self.dipoles), self._law, *own, self._is_turned)

    def parameters(self, body: Body) -> Sequence[float]:
        """The numbers of the law, directions, limits, and the parameters of the field."""
        assert isinstance(self.limits, tuple)
        axes = (x for axis in units("dipoles", self.dipoles) for x in axis)
        return (*self.parameters_of_law, *axes, *self.limits, *self._field_numbers())

    @property
    def axis(self) -> Vec3 | None:
        """The direction of a field that stays, unless the law has directions of its own."""
        return None if self._knows_space else super().axis

    @property
    def may_bend(self) -> bool:
        """It bends where a moment reaches its limit, and where the law branches."""
        return may_bend(self.torque_kernel)
