"""Base class of orbits, fields, the Sun and the air, which scenario files write as tables."""

import inspect
from abc import ABC
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, Self

from polhode.kernels.algebra.vector_table import Made, made_once
from polhode.support import checks


class Model(ABC):
    """The base class of frozen dataclasses that have a field `model`, by which a table in a file says what it is."""

    model: str

    @classmethod
    def kinds(cls) -> "dict[str, type[Any]]":
        """The classes that a table in the place of this one can stand for, by their names."""
        found = {cls.__name__: cls} if not inspect.isabstract(cls) else {}
        for kind in cls.__subclasses__():
            found |= kind.kinds()
        return found

    @classmethod
    def given(cls, name: str, value: Any) -> Self:
        """The object that a user gave, itself or as a table of its fields."""
        if isinstance(value, cls):
            return value
        kinds = cls.kinds()
        listed = " or ".join(f"polhode.environment.{kind}(...)" for kind in kinds)
        if not isinstance(value, dict):
            raise TypeError(f"{name} must be {listed}, not {value!r}")
        model = cls._model_of(value)
        if model is None and len(kinds) > 1:
            raise ValueError(f"{name} must say which model it is: model = {' or '.join(map(repr, kinds))}")
        kind = kinds[checks.choice("model", next(iter(kinds)) if model is None else model, kinds)]
        known = [f.name for f in fields(kind)]
        for key in value:
            if key not in known:
                checks.choice(f"key in {name}, a table of {kind.__name__},", key, known)
        try:
            made: Self = kind(**value)
        except TypeError as problem:
            if "missing" in str(problem) and "argument" in str(problem):
                wanted = str(problem).partition(": ")[2]
                raise ValueError(f"{name}, a table of {kind.__name__}, lacks {wanted}") from None
            raise
        return made

    @classmethod
    def _model_of(cls, table: dict[str, Any]) -> Any:
        """The name of the model in a table; None if there is none."""
        return table.get("model")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Lets scenario files have such tables: they are read by `given`."""
        return ReadBy(lambda value: cls.given("this table", value)).__get_pydantic_core_schema__(source, handler)

    def _settle(self, **values: Any) -> None:
        """Sets fields of a frozen dataclass to checked values, from its `__post_init__`."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _settle_model(self) -> None:
        """Checks that the field `model` has the name of the class, which is all that it may say."""
        if self.model != type(self).__name__:
            raise ValueError(f"model must be {type(self).__name__!r}, not {self.model!r}")


class Spanned:
    """What must know the times of a run, for a table or for its breakpoints; its fields do not change by that."""

    span: tuple[float, float] | None = None
    """The times of the run, in rising order; None: they are not known yet."""

    def for_span(self, t0: float, t1: float) -> Self:
        """The same for a run between two times. Tables are made when they are first needed."""
        made = replace(self)  # type: ignore[type-var]  # all of these are dataclasses
        object.__setattr__(made, "span", (min(t0, t1), max(t0, t1)))
        return made

    def _kept(self, make: Callable[[], Made]) -> Made:
        """The table: its address is among the parameters, and valid as long as this object lives.

        It is made once. Another one in its place, though equal, would leave runs with the address of the first.
        """
        return made_once(self, "_table", make)

    def __getstate__(self) -> dict[str, Any]:
        """Leaves out the table, which is made again."""
        return {name: value for name, value in self.__dict__.items() if name != "_table"}


class ReadBy:
    """Says in an annotation by which function pydantic reads a value of a scenario file."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Pydantic's name for this."""
        from pydantic_core import core_schema

        def read(value: Any) -> Any:
            try:
                return self.function(value)
            except TypeError as problem:
                raise ValueError(str(problem)) from None

        return core_schema.no_info_plain_validator_function(read)


def rows_of_three(name: str, values: Any) -> tuple[tuple[float, float, float], ...]:
    """Rows of three finite numbers as tuples."""
    shape = checks.shape_of(name, values)
    if len(shape) != 2 or shape[1] != 3:
        hint = ": transpose them" if len(shape) == 2 and shape[0] == 3 else ""
        raise ValueError(f"{name} must have rows of three numbers, not the shape {shape}{hint}")
    return tuple(map(tuple, checks.array(name, values, shape).tolist()))
