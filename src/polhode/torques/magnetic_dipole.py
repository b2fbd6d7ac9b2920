"""A magnetic dipole, fixed in the body, in a field that may change with time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

from polhode.body import Body
from polhode.environment.field import Field
from polhode.environment.model import ReadBy
from polhode.kernels.algebra.quat import to_body
from polhode.kernels.algebra.vec import cross, dot
from polhode.kernels.codegen import function
from polhode.kernels.ops import section
from polhode.kernels.types import Depends, UserTorque, Vec3
from polhode.support import checks
from polhode.torques._in_field import InField, given_field
from polhode.torques._torque import UserPotential
from polhode.torques.table import Table


@lru_cache(maxsize=32)
def _kernels(field: Callable[[float, Any], Vec3], count: int, turned: bool) -> tuple[UserTorque, UserPotential]:
    """Torque and potential in a field with its parameters behind the moment; `turned`: it is in space axes."""
    vector = f"field(t, section(p, 3, {count}))"
    lines = [f"b = to_body(q, {vector})" if turned else f"b = {vector}"]
    names = {"field": field, "section": section, "to_body": to_body, "cross": cross, "dot": dot}
    torque = function("dipole_torque(t, q, w, p)", [*lines, "return cross((p[0], p[1], p[2]), b)"], names)
    return torque, function("dipole_potential(t, q, p)", [*lines, "return -dot((p[0], p[1], p[2]), b)"], names)


@dataclass(frozen=True)
class MagneticDipole(InField):
    """The torque m x B on a dipole moment that is fixed in the body; the potential energy is -m . B.

        MagneticDipole(moment=(0, 0, 0.1), field=(0, 0, 3e-5))
        MagneticDipole(moment=(0, 0, 0.1), field=polhode.environment.IGRF(orbit, "2026-03-20"))

    The field is that at the place of the body. It does not change with the attitude.

    Examples
    --------
    >>> needle, body = ph.MagneticDipole(moment=(0, 0, 2.0), field=(0, 0, 3e-5)), ph.Body([1e-3, 1e-3, 5e-4])
    >>> tilted = ph.quaternion_from_euler("x", [10], degrees=True)
    >>> run = ph.simulate(body, needle, omega=[0, 0, 0], attitude=tilted, t_span=(0, 20), rtol=1e-6)
    >>> bool(np.degrees(run.pointing_angle("z", [0, 0, 1])).max() < 10.001)
    True
    """

    moment: Vec3
    """Dipole moment in body axes, in A m^2."""
    field: Annotated[Vec3 | Field | Table, ReadBy(given_field)]
    """Flux density in T: a vector in space axes; a model along an orbit (`polhode.environment`); or a `polhode.Table`,
    in the axes of the table."""

    depends = Depends.POSITION | Depends.TIME

    def __post_init__(self) -> None:
        self._settle(moment=checks.vector("moment", self.moment), field=given_field(self.field))
        if isinstance(self.field, tuple):
            self._settle(depends=Depends.POSITION)
        elif isinstance(self.field, Table):
            self._settle(reads_attitude=self.field.frame == "space")

    @property
    def torque_kernel(self) -> UserTorque:
        """m x B."""
        return _kernels(*self._field_kernel, self._is_turned)[0]

    @property
    def potential_kernel(self) -> UserPotential | None:
        """-m . B; None if the field is given in body axes, where it does not follow from the attitude."""
        return _kernels(*self._field_kernel, self._is_turned)[1] if self._is_turned else None

    def parameters(self, body: Body) -> Sequence[float]:
        """The moment, and the parameters of the field."""
        return (*self.moment, *self._field_numbers())
