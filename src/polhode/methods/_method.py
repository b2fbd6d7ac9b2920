"""The contract of a method: how a step is made, and what it promises.

Everything said of a method elsewhere (the list in the shell, the property card, the contract tests) is generated from
its declaration. What a declaration promises is measured in `tests/contract`, and so is what it does not promise.
"""

import enum
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from polhode import _check
from polhode.core.compose import Scheme, Splitting, Stage
from polhode.core.types import Depends


class Keeps(enum.Flag):
    """What a method conserves to round-off, at any step size."""

    NOTHING = 0
    SYMPLECTIC = enum.auto()
    """The symplectic form of T*SO(3): energy errors stay bounded over very long times."""
    REVERSIBLE = enum.auto()
    """A step back undoes a step."""
    ENERGY = enum.auto()
    MOMENTUM_NORM = enum.auto()
    """The length of the angular momentum, the Casimir of the free body."""
    SPATIAL_MOMENTUM = enum.auto()
    """The angular momentum in space, as a vector."""
    AXIAL_MOMENTUM = enum.auto()
    """The angular momentum in space along the symmetry axis of the potential."""


Value = bool | int | float | str


@dataclass(frozen=True)
class Option:
    """Something about a method that its user may choose."""

    name: str
    default: Value
    """Its type is that of every value."""
    meaning: str
    """In a few words, for the card."""
    choices: tuple[Value, ...] = ()
    """All values there are; empty: any of the type, and the maker refuses what makes no sense."""
    examples: tuple[Value, ...] = ()
    """Values that the contract tests try as well."""
    names_a_method: bool = False
    short: str = ""
    """A name for the method with one of the choices, which takes the place of `{}`: with `SABA{}`, the name SABA4 means
    SABA(stages=4)."""

    def read(self, value: Any, method: str) -> Value:
        """The value that is meant, from Python or from text."""
        what = f"option {self.name} of {method}"
        if self.choices and not isinstance(self.default, bool):
            known = {str(c): c for c in self.choices}
            return known[_check.choice(f"value of the {what}:", str(value), known)]
        if isinstance(self.default, bool):
            known_bools = {"true": True, "false": False}
            if str(value).lower() not in known_bools:
                raise ValueError(f"the {what} must be true or false, not {value!r}")
            return known_bools[str(value).lower()]
        if self.names_a_method and str(value) != self.default:
            from polhode.methods import find  # which knows all methods

            return find(str(value)).name
        if isinstance(self.default, str):
            return str(value)
        number = _check.number(f"the {what}", _read(value))
        if isinstance(self.default, int):
            if number != int(number):
                raise ValueError(f"the {what} must be a whole number, not {value!r}")
            return int(number)
        return number


COMPENSATED = Option("compensated", False, "sum with a running compensation, so that round-off does not accumulate")
"""For every method whose step is an increment (`core.compose.Increments`)."""


@dataclass(frozen=True)
class Method:
    """A way to make steps, and its property card."""

    name: str
    scheme: Scheme
    summary: str
    """One line: what it is."""
    cite: str
    """Keys of `references.bib`, separated by commas."""
    order: int | None
    """Of the momentum, for a torque that it accepts; None: the step is exact, its error is round-off."""
    attitude_order: int | None
    accepts: Depends
    """Which torques it can integrate at its order. A free body is always accepted."""
    keeps: Keeps
    """Under a torque that has a potential, which does not depend on time."""
    keeps_when_free: Keeps
    generalised_order: tuple[int, ...] | None = None
    """For near-integrable schemes: the order of the error terms in each power of the perturbation."""
    orders_when_free: tuple[int | None, int | None] | None = None
    """Of momentum and attitude, where those of a free body are higher; None in a place: exact."""

    about: str = ""
    """What it does, keeps and costs, with the paper's equations, and where the paper is wrong about it."""
    unscaled: bool = False
    """Whether its quaternions have no meaningful norm; they are scaled when a run is over."""
    advance: float = 1.0
    """How many of the user's steps one application advances."""
    own_clock: bool = False
    """Whether its steps choose their length; the user's step is then the longest, or the one at the start."""
    tuning: tuple[float, float] = (0.0, 0.0)
    """Numbers that its kernels find in `Params`."""
    options: tuple[Option, ...] = ()
    settings: tuple[tuple[str, Value], ...] = ()
    """Chosen values of options, where they are not the default."""
    remake: Callable[..., "Method"] | None = field(default=None, repr=False, compare=False)
    """Makes the method for given values of all its options."""

    @property
    def bare_name(self) -> str:
        """Without the chosen values of its options."""
        return self.name.partition("(")[0]

    @property
    def comoves(self) -> bool:
        """Whether it follows what a torque adds to the free motion of a symmetric body (`core.comoving`)."""
        return getattr(self.scheme, "symmetric", None) is not None

    def orders(self, *, free: bool) -> tuple[int | None, int | None]:
        """Of momentum and attitude, for a free body or for one that is not."""
        return self.orders_when_free if free and self.orders_when_free else (self.order, self.attitude_order)

    def refuses(self, depends: Depends) -> Depends:
        """What such a torque reads and this method cannot handle."""
        return depends & ~self.accepts

    def having(self, **values: Any) -> "Method":
        """The same method with other values of its options."""
        known = {option.name: option for option in self.options}
        chosen = dict(self.settings) | self.read(values)
        return self._made({name: chosen[name] for name, o in known.items() if chosen.get(name, o.default) != o.default})

    def read(self, values: Mapping[str, Any]) -> dict[str, Value]:
        """Options as they are meant, from Python or from text."""
        known = {option.name: option for option in self.options}
        if values and not known:
            raise ValueError(f"{self.name} has no options, so there is no {', '.join(values)} to choose")
        out = {}
        for name, value in values.items():
            option = known[_check.choice(f"option of {self.name}:", name, known)]
            out[option.name] = option.read(value, self.name)
        return out

    def __reduce_ex__(self, protocol: Any) -> Any:
        """For pickle: by name where that is enough, for its scheme may be made of functions without one."""
        from polhode.methods import find  # which knows all methods

        with suppress(ValueError):
            if find(self.name) == self:
                return find, (self.name,)
        return super().__reduce_ex__(protocol)

    def _made(self, chosen: Mapping[str, Value]) -> "Method":
        return self if self.remake is None else _variant(self.remake, self.options, tuple(chosen.items()))


@cache
def _variant(
    remake: Callable[..., Method], options: tuple[Option, ...], chosen: tuple[tuple[str, Value], ...]
) -> Method:
    """Made once: the same choice is the same method, and a file that knows its name finds it."""
    values = dict(chosen)
    made = remake(**{o.name: values.get(o.name, o.default) for o in options})
    listed = ", ".join(f"{name}={_written(value)}" for name, value in chosen)
    name = f"{made.name}({listed})" if chosen else made.name
    return replace(made, name=name, options=options, settings=chosen, remake=remake)


def _read(value: Any) -> Any:
    """The number that a text means, as in `NMB(gamma=0.4)`; anything else as it is."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _written(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def with_options(make: Callable[..., Method], *options: Option) -> Method:
    """The method that `make` makes, as a function of its options, with their defaults in place."""
    return _variant(make, options, ())


def split(*stages: tuple[Callable[..., Any], float]) -> Splitting:
    """A splitting from its list of flows and fractions."""
    return Splitting(tuple(Stage(flow, float(fraction)) for flow, fraction in stages))


def compose(method: Method, fractions: Sequence[float], *, name: str, order: int, **card: Any) -> Method:
    """Steps of a symmetric method in a row, as one step of higher order.

    A symmetric row of fractions keeps all that the method keeps, except a generalised order.
    `polhode.core.compose` has the usual rows: `triple_jump`, `suzuki`.
    """
    free = method.orders_when_free and tuple(None if n is None else max(order, n) for n in method.orders_when_free)
    settings = {
        "attitude_order": order, "generalised_order": None, "orders_when_free": free,
        "options": (), "settings": (), "remake": None, **card,
    }  # fmt: skip
    return replace(method, name=name, scheme=method.scheme.composed(fractions), order=order, **settings)
