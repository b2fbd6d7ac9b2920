"""Torques in a magnetic field: a vector in space axes, a model along an orbit, or a table."""

from collections.abc import Callable
from typing import Any, Self

from polhode.environment.field import Field
from polhode.environment.model import Spanned
from polhode.kernels.algebra.vector_table import table_at
from polhode.kernels.types import Vec3
from polhode.support import checks
from polhode.torques._torque import Torque
from polhode.torques.table import Table


def constant_field(t: float, p: Any) -> Vec3:
    """A field that does not change."""
    return (p[0], p[1], p[2])


def field_of_table(t: float, p: Any) -> Vec3:
    """The vector of a table."""
    return table_at(p[0], t)


def given_field(value: Any) -> Vec3 | Field | Table:
    """The field that a user gave, itself or as a table of its fields in a file."""
    if isinstance(value, Field | Table):
        return value
    if isinstance(value, dict):
        if str(value.get("model", "Table")).lower() == "table":
            return Table(**{k: v for k, v in value.items() if k != "model"})
        return Field.given("field", value)
    if isinstance(value, Torque) or callable(value):
        raise TypeError(
            f"field must be a vector in space axes, a polhode.Table or a model of polhode.environment, not {value!r}: "
            "make a table of a function, with polhode.Table.from_function"
        )
    return checks.vector("field", value)


class InField(Spanned, Torque):
    """The base class of torques in a magnetic field, whose numbers stand behind their own in p."""

    field: Vec3 | Field | Table

    @property
    def _field_kernel(self) -> tuple[Callable[[float, Any], Vec3], int]:
        """The kernel of the field, and how many parameters it has."""
        if isinstance(self.field, Field):
            return self.field.vector_kernel, self.field.count
        return (field_of_table, 1) if isinstance(self.field, Table) else (constant_field, 3)

    @property
    def _is_turned(self) -> bool:
        """Whether the field is given in space axes."""
        return not isinstance(self.field, Table) or self.field.frame == "space"

    def _field_numbers(self) -> tuple[float, ...]:
        """The parameters of the field."""
        if isinstance(self.field, Field):
            field = self.field
            return field.numbers(self._kept(lambda: field.table(self.span)))
        return (self.field.handle,) if isinstance(self.field, Table) else self.field

    @property
    def sources(self) -> tuple[Field | Table, ...]:
        """The field, unless it is one vector."""
        return () if isinstance(self.field, tuple) else (self.field,)

    def for_span(self, t0: float, t1: float) -> Self:
        """The same torque for a run between two times: models of the field may need a table for them."""
        return super().for_span(t0, t1) if isinstance(self.field, Field) else self

    @property
    def axis(self) -> Vec3 | None:
        """The direction of a field that stays, if there is one."""
        return checks.direction("field", self.field) if isinstance(self.field, tuple) and any(self.field) else None
