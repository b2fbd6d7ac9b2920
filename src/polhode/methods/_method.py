"""The contract of a method: how a step is made, and what it promises.

Everything that is said about a method elsewhere (the list in the shell, the property card, the contract tests) is
generated from its declaration. What a declaration promises is measured in `tests/contract`, and so is what it does not
promise.
"""

import enum
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

from polhode.kernels.gyrostat import veer
from polhode.kernels.steps.compose import Scheme, Splitting, Stage, composed, reads_scales
from polhode.kernels.steps.flows import RANKED, kick
from polhode.kernels.systems.system_splitting import operations_of
from polhode.kernels.types import Depends
from polhode.support import checks


class Keeps(enum.Flag):
    """Quantities that a method conserves to round-off, at any step size."""

    NOTHING = 0
    SYMPLECTIC = enum.auto()
    """The symplectic form of T*SO(3): energy errors stay bounded over very long times."""
    REVERSIBLE = enum.auto()
    """A step backward undoes a step forward."""
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
    """An option of a method that its user may choose."""

    name: str
    default: Value
    """The default; every value has its type."""
    meaning: str
    """The meaning in a few words, for the card."""
    choices: tuple[Value, ...] = ()
    """All allowed values; empty: any value of the type, and the maker of the method raises an error for bad ones."""
    examples: tuple[Value, ...] = ()
    """Values that the contract tests try as well."""
    names_a_method: bool = False
    """Whether the value is the name of a method."""
    short: str = ""
    """A name for the method with one of the choices, which takes the place of `{}`: with `SABA{}`, the name SABA4 means
    SABA(stages=4)."""

    def read(self, value: Any, method: str) -> Value:
        """The value that is meant, from Python or from text."""
        what = f"option {self.name} of {method}"
        if self.choices and not isinstance(self.default, bool):
            known = {str(c): c for c in self.choices}
            return known[checks.choice(f"value of the {what}:", str(value), known)]
        if isinstance(self.default, bool):
            known_bools = {"true": True, "false": False}
            if str(value).lower() not in known_bools:
                raise ValueError(f"the {what} must be true or false, not {value!r}")
            return known_bools[str(value).lower()]
        if self.names_a_method and str(value) != self.default:
            from polhode.methods import find  # imported here, since it imports all methods

            return find(str(value)).name
        if isinstance(self.default, str):
            return str(value)
        number = checks.number(f"the {what}", _read(value))
        if isinstance(self.default, int):
            if number != int(number):
                raise ValueError(f"the {what} must be a whole number, not {value!r}")
            return int(number)
        return number


COMPENSATED = Option("compensated", False, "sum with a running compensation, so that round-off does not accumulate")
"""The option of every method whose step is an increment (`kernels.steps.compose.Increments`)."""


KEPT_VARIANTS = 256
"""Variants that a method remembers; tolerances may have any value."""


class StepModel(NamedTuple):
    """Model of the steps of a method for `rtol`: their length, error and cost.

    The estimate of the error grows like the sum, over the powers k of the torque, of eps^k (turn in a step)^order
    times a coefficient, for each radian of the motion. With the first power, turns are measured by what is a smooth one
    for the body. It is a first guess: the search does the rest.
    Costs are relative to one exact flow of an asymmetric body with its kick.
    """

    longest_turn: float
    """The longest turn in a step, in radians."""
    coefficients: tuple[float, ...]
    flows: float = 0.0
    """Exact flows in a step."""
    longest_flow: float = 0.0
    """The longest flow, as a part of the step."""
    evaluations_per_flow: float = 1.0
    turn_growth: float = 0.0
    """To a method that is not made for weak torques turns seem longer with eps: by 1 + this times eps."""
    reach_loss: float = 0.0
    """Its longest turn falls with eps: by 1 + this times eps."""
    is_comoving: bool = False
    """Whether it takes part in the free motion, so that its errors are as small as the torque."""
    step_cost: float = 0.0
    """The cost of a step of collocation without its iterations."""
    compensated_step_cost: float = 0.0
    iteration_cost: float = 0.0


class Promises(NamedTuple):
    """Promises of a method for a kind of body: orders and conserved quantities. The fields are those of `Method`."""

    order: int | None
    attitude_order: int | None
    keeps: Keeps
    keeps_when_free: Keeps
    orders_when_free: tuple[int | None, int | None] | None = None

    def orders(self, *, free: bool) -> tuple[int | None, int | None]:
        """The orders of momentum and attitude, for a free body or under a torque."""
        return self.orders_when_free if free and self.orders_when_free else (self.order, self.attitude_order)


AS_MOMENTUM = -1
"""The order of the attitude is that of the momentum."""


@dataclass(frozen=True, repr=False)
class Method:
    """A method of integration: how its steps are made, and its property card."""

    name: str
    scheme: Scheme
    summary: str
    """One line about the method."""
    cite: str
    """Keys of `references.bib`, separated by commas."""
    order: int | None
    """The order of the momentum under a torque that it accepts; None: the step is exact, its error is round-off."""
    attitude_order: int | None = AS_MOMENTUM
    """The order of the attitude, if it is not that of the momentum; None: exact."""
    accepts: Depends = Depends.POSITION | Depends.TIME | Depends.RATE
    """The torques that it integrates at its order. A free body is always accepted."""
    keeps: Keeps = Keeps.NOTHING
    """Quantities conserved under a torque with a potential that does not depend on time."""
    keeps_when_free: Keeps = Keeps.NOTHING
    """Quantities conserved without a torque."""
    generalised_order: tuple[int, ...] | None = None
    """For near-integrable schemes: the order of the error terms in each power of the perturbation."""
    orders_when_free: tuple[int | None, int | None] | None = None
    """The orders of momentum and attitude of a free body, if they are higher; None for one of them: exact."""

    accepts_rotor: bool = False
    """Whether it takes gyrostats: bodies with a rotor, a constant internal angular momentum."""
    accepts_changing: bool = False
    """Whether it takes bodies whose tensor changes with time."""
    with_rotor: Promises | None = None
    """Promises for gyrostats, where they differ."""

    about: str = ""
    """Description, conserved quantities and cost, with the paper's equations and corrections of the paper."""
    unscaled: bool = False
    """Whether the norm of its quaternions has no meaning; they are normalised at the end of a run."""
    advance: float = 1.0
    """The number of the user's steps by which one application of the method advances."""
    variable_steps: bool = False
    """Whether its steps choose their length; the user's step is then the longest, or the first."""
    adaptive: bool = False
    """Whether its steps are as long as a tolerance of its own allows; the tolerances are its `tuning`."""
    locates_bends: bool = False
    """Whether a step ends where the torque bends, if its code says where that is."""
    stable_decay: float = math.inf
    """How fast a disturbance may die out in a step, as its rate times the step, before adaptive steps are limited by
    stability; infinite: they never are."""
    collocation: bool = False
    """Whether it solves for the points of a step by iteration, up to an error that its option `tolerance` allows."""
    tuning: tuple[float, float] = (0.0, 0.0)
    """Numbers that its kernels read from `Params.tuning`."""
    model: StepModel | None = None
    """Step model for `rtol`; None: start with steps of a radian and adapt."""
    comoving_model: StepModel | None = None
    """The step model for symmetric bodies in whose free motion the method takes part."""
    estimate_factor: float = 5.0
    """Measured ratio of the estimated error to the distance of a companion run (docs/decisions/notes/tolerance.md)."""
    also: tuple[str, ...] = ()
    """Other names by which it is found."""
    options: tuple[Option, ...] = ()
    settings: tuple[tuple[str, Value], ...] = ()
    """The chosen values of options that differ from the default."""
    remake: Callable[..., "Method"] | None = field(default=None, compare=False)
    """The method for given values of all its options."""

    def __post_init__(self) -> None:
        if self.attitude_order == AS_MOMENTUM:
            object.__setattr__(self, "attitude_order", self.order)

    @property
    def bare_name(self) -> str:
        """The name without the chosen values of options."""
        return self.name.partition("(")[0]

    @property
    def comoves(self) -> bool:
        """Whether it integrates only what a torque adds to the free motion of a symmetric body
        (`kernels.steps.comoving`).
        """
        return getattr(self.scheme, "symmetric", None) is not None

    @cached_property
    def ignores_scales(self) -> bool:
        """Whether its step is bound alike whatever the sizes of a run: it has no flows that are prepared for them."""
        return not reads_scales(self.scheme)

    @cached_property
    def has_corrector(self) -> bool:
        """Whether steps are made in other variables, which a corrector enters and leaves."""
        return bool(getattr(self.scheme, "has_corrector", False))

    @cached_property
    def longest_turn(self) -> float:
        """The angle in rad by which a step may turn a body; infinite if free bodies turn exactly, however far."""
        scheme = getattr(self.scheme, "leapfrog", self.scheme)
        stages = getattr(getattr(scheme, "splitting", scheme), "stages", ())
        drifts = {s.flow for s in stages if s.flow not in (kick, veer)}
        if len(drifts) == 1 or self.orders(free=True) == (None, None):
            return math.inf
        return max(1.0, 0.0 if self.model is None else self.model.longest_turn)

    @cached_property
    def steps_systems(self) -> bool:
        """Whether it steps systems of bodies that act on each other: splittings do whose drifts are all alike.

        G8 and NMB have forms of their own for systems, without options; SEJ and SEJ4 are half kicks around their flow.
        """
        if isinstance(self.scheme, Splitting):
            return operations_of(self.scheme, False) is not None
        return self.name in ("G8", "NMB", "SEJ", "SEJ4")

    @cached_property
    def takes_state(self) -> bool:
        """Whether a torque may carry numbers of its own along, which obey differential equations."""
        return bool(getattr(self.scheme, "takes_state", False))

    @cached_property
    def forms_in_lanes(self) -> int:
        """The number of forms of its step that compute all points of the step together, in vector registers."""
        return len(getattr(self.scheme, "in_lanes", ()))

    @cached_property
    def ranks_axes(self) -> bool:
        """Whether it takes the axes in an order that the moments of the body decide."""
        return any(s.flow in RANKED for s in getattr(getattr(self.scheme, "base", self.scheme), "stages", ()))

    @cached_property
    def is_short_chain(self) -> bool:
        """Whether a step is a short chain of kicks and rotations about the axes, each waiting for the one before."""
        return bool(getattr(self.scheme, "is_short_chain", False))

    def orders(self, *, free: bool) -> tuple[int | None, int | None]:
        """The orders of momentum and attitude, for a free body or under a torque."""
        return self.promises(rotor=False).orders(free=free)

    def promises(self, *, rotor: bool) -> Promises:
        """The orders and what is kept, for bodies with or without a rotor."""
        if rotor and self.with_rotor is not None:
            return self.with_rotor
        return Promises(self.order, self.attitude_order, self.keeps, self.keeps_when_free, self.orders_when_free)

    def refuses(self, depends: Depends) -> Depends:
        """Arguments of such a torque that this method does not accept."""
        return depends & ~self.accepts

    def replace(self, **values: Any) -> "Method":
        """A copy with other values of its options."""
        key = tuple((name, type(value), value) for name, value in values.items())  # 1 and True are equal
        try:
            return self._variants[key]
        except (KeyError, TypeError):  # not asked for before, or with values that cannot be looked up
            pass
        known = {option.name: option for option in self.options}
        chosen = dict(self.settings) | self.read(values)
        made = self._made({name: chosen[name] for name, o in known.items() if chosen.get(name, o.default) != o.default})
        with suppress(TypeError):
            if len(self._variants) < KEPT_VARIANTS:
                self._variants[key] = made
        return made

    @cached_property
    def _variants(self) -> dict[tuple[tuple[str, type, Any], ...], "Method"]:
        """The methods that `replace` has made: to look options up takes longer than a short run."""
        return {}

    def read(self, values: Mapping[str, Any]) -> dict[str, Value]:
        """The values that are meant for these options, from Python or from text."""
        known = {option.name: option for option in self.options}
        if values and not known:
            raise ValueError(f"{self.name} has no options, so {', '.join(values)} cannot be chosen")
        out = {}
        for name, value in values.items():
            option = known[checks.choice(f"option of {self.name}:", name, known)]
            out[option.name] = option.read(value, self.name)
        return out

    def __repr__(self) -> str:
        return f"<Method {self.name}: {self.summary}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickles the method by its name where that is enough: its scheme may hold functions that cannot be pickled."""
        from polhode.methods import find  # imported here, since it imports all methods

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
    """The method with these options. It is cached, so that equal choices give the same object."""
    values = dict(chosen)
    made = remake(**{o.name: values.get(o.name, o.default) for o in options})
    listed = ", ".join(f"{name}={_written(value)}" for name, value in chosen)
    name = f"{made.name}({listed})" if chosen else made.name
    return replace(made, name=name, options=options, settings=chosen, remake=remake)


def _read(value: Any) -> Any:
    """The number that a text means, as in `NMB(gamma=0.4)`; any other value unchanged."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _written(value: Value) -> str:
    """Writes the value of an option as it stands in a name."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def tolerance(name: str, rtol: float) -> float:
    """The relative tolerance of a method whose steps choose their length, checked."""
    if not 0.0 < (relative := checks.number(f"rtol of {name}", rtol)) < 1.0:
        raise ValueError(f"{name} needs a tolerance between 0 and 1, such as rtol=1e-9, not {rtol:g}")
    return relative


def tolerances(name: str, rtol: float, atol: float) -> tuple[float, float]:
    """The tolerances of a method whose steps choose their length, a relative and an absolute one, checked."""
    relative, absolute = checks.number(f"rtol of {name}", rtol), checks.number(f"atol of {name}", atol)
    if not (relative > 0 and absolute >= 0):
        raise ValueError(f"{name} needs rtol > 0 and atol >= 0, not rtol={rtol:g} and atol={atol:g}")
    if relative >= 1:
        raise ValueError(f"a relative error of {rtol:g} allows any answer: {name} needs rtol < 1")
    return relative, absolute


DESPUN = Option("despun", False, "see symmetric bodies from a frame that does not spin")


def with_options(make: Callable[..., Method], *options: Option) -> Method:
    """The method that `make` makes for the default values of its options."""
    return _variant(make, options, ())


def split(*stages: tuple[Callable[..., Any], float]) -> Splitting:
    """The splitting of a list of flows and fractions."""
    return Splitting(tuple(Stage(flow, float(fraction)) for flow, fraction in stages))


def compose(method: Method, fractions: Sequence[float], *, name: str, order: int, **card: Any) -> Method:
    """Steps of a symmetric method, one after the other, as one step of higher order.

    The composition keeps all that the method keeps, except a generalised order, and reversibility if the row of
    fractions is not symmetric. The `card` gives its own `summary`, `about` and `cite`; model, options and other names
    are dropped, and the rest is that of the method. `polhode.kernels.steps.compose` has the usual rows: `triple_jump`,
    `suzuki`.
    """
    if method.variable_steps:
        inside = ": compose the method inside it" if hasattr(method.scheme, "base") else ""
        raise ValueError(f"a method with variable steps cannot be composed{inside}")
    if abs(math.fsum(fractions) - 1.0) > 1e-12:
        raise ValueError(f"the fractions of {name} sum to {math.fsum(fractions):.15g}, not to 1")
    if Keeps.REVERSIBLE not in (method.keeps if method.accepts else method.keeps_when_free):
        raise ValueError(f"{name} is made of time-symmetric methods; {method.name} does not promise to be one")
    lost = Keeps.NOTHING if tuple(fractions) == tuple(fractions)[::-1] else Keeps.REVERSIBLE
    free = method.orders_when_free and tuple(None if n is None else max(order, n) for n in method.orders_when_free)
    rotor = method.with_rotor and method.with_rotor._replace(
        order=order, attitude_order=order, orders_when_free=None,
        keeps=method.with_rotor.keeps & ~lost, keeps_when_free=method.with_rotor.keeps_when_free & ~lost,
    )  # fmt: skip
    settings = {
        "attitude_order": order, "with_rotor": rotor, "generalised_order": None, "orders_when_free": free,
        "keeps": method.keeps & ~lost, "keeps_when_free": method.keeps_when_free & ~lost, "model": None,
        "comoving_model": None, "also": (), "accepts_changing": False, "options": (), "settings": (), "remake": None,
        **card,
    }  # fmt: skip
    return replace(method, name=name, scheme=composed(method.scheme, fractions), order=order, **settings)
