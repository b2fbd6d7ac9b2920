"""What is fitted: blocks of parameters by their names, and how each moves a trial.

A trial is a body, a start and a torque. Parameters x are changes of an origin, which is a trial, too: x = 0 is the
origin itself. They are chosen so that any x makes sense and undetermined directions are straight: moments change by
factors exp(x), tensors by the exponential of a symmetric matrix, attitudes by turns about space axes.
"""

import dataclasses
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import numpy as np

from polhode.body import Body
from polhode.support import checks
from polhode.support.arrays import Floats, lengths, product, to_space, turn_of, vector_of
from polhode.torques import CustomTorque, SumTorque, Torque

AXES = ("x", "y", "z")
PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
"""The places of a symmetric tensor, in the order of the names I_xx, I_yy, I_zz, I_xy, I_xz, I_yz."""


@dataclass(frozen=True, eq=False)
class Trial:
    """A body, its start and its torque: all that a motion follows from."""

    body: Body
    omega: Floats
    quaternion: Floats
    torque: Torque | None
    axes_turn: Floats = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))
    """How far the principal axes were turned from those of the guess, as a quaternion."""
    p: Floats = field(default_factory=lambda: np.empty(0))
    """The numbers of the function that is observed."""
    bias: Floats = field(default_factory=lambda: np.zeros(3))
    """What a gyro adds to the rates, after it scaled them."""
    scale: Floats = field(default_factory=lambda: np.zeros(3))
    """By what fraction it shows too much."""


@dataclass(frozen=True)
class NaturalSizes:
    """Natural sizes of a problem, in which changes of parameters are measured."""

    rate: float
    """The largest rate, rad/s."""
    momentum: float
    """The same as a momentum of the guess, kg m^2/s."""


Changed = Callable[[Trial, Floats], Trial]
Read = Callable[[Trial], Floats]


Change = dict[str, Floats]
"""Derivatives by x of "inertia", the elements in the order of `PAIRS`, of "omega", and of "attitude", as a vector in
space axes: a column for each x."""


@dataclass(frozen=True, eq=False)
class Block:
    """Parameters that are named together."""

    kind: str
    """The name by which they are asked for; "torque" for numbers of a torque."""
    names: tuple[str, ...]
    unit: str
    scales: Callable[[Trial, NaturalSizes], Floats]
    """By how much each x changes if all that is known is a rough guess; NaN: that is not known."""
    moved: Changed
    """The trial with these parameters changed by x."""
    values: Read
    """The parameters in their units."""
    slopes: Read
    """The derivatives of the values by x, at x = 0: a matrix."""
    tangent: Callable[[Trial, Floats], "Change"] | None = None
    """What changes by x, from an origin, at x; None: that is left to differences."""

    @property
    def size(self) -> int:
        """The number of parameters."""
        return len(self.names)

    @property
    def moves_nothing(self) -> bool:
        """Whether these are numbers of what observes the motion, and not of the motion."""
        return self.kind in ("p", "gyro.bias", "gyro.scale")

    @property
    def is_inertia(self) -> bool:
        """Whether these are moments or elements of the tensor."""
        return self.kind in ("moments", "ratios", "inertia")


def _named(
    kind: str, unit: str, moved: Changed, values: Read, scale: Callable[[NaturalSizes], float],
    tangent: Callable[[Trial, Floats], Change] | None = None,
) -> Block:  # fmt: skip
    """A vector with one component for each body or space axis, to which x is added."""
    names = tuple(f"{kind}_{k}" for k in AXES)
    return Block(
        kind, names, unit, lambda _, sizes: np.full(3, scale(sizes)), moved, values, lambda _: np.eye(3), tangent
    )


def _elements(tensor: Floats) -> list[float]:
    return [tensor[i, j] for i, j in PAIRS]


def _moments(guess: Body, *, ratios: bool = False) -> Block:
    """The principal moments, or two in units of the third: they change by factors exp(x), their axes stay."""
    axes, count = guess.axes, 2 if ratios else 3

    def moments(trial: Trial) -> Floats:
        return np.array([axis @ trial.body.tensor @ axis for axis in axes.T])

    def moved(trial: Trial, x: Floats) -> Trial:
        factors = np.exp(np.append(x, 0.0) if ratios else x)
        return replace(trial, body=_like(trial.body, (axes * (moments(trial) * factors)) @ axes.T))

    def values(trial: Trial) -> Floats:
        found = moments(trial)
        return found[:2] / found[2] if ratios else found

    def tangent(origin: Trial, x: Floats) -> Change:
        found = moments(origin)[:count] * np.exp(x)
        return {"inertia": np.array([_elements(np.outer(v, v) * m) for v, m in zip(axes.T, found, strict=False)]).T}

    a, b, c = (f"I_{k}" for k in (AXES if guess.aligned else "123"))
    kind, names, unit = ("ratios", (f"{a}/{c}", f"{b}/{c}"), "1") if ratios else ("moments", (a, b, c), "kg m2")
    slopes: Read = lambda trial: np.diag(values(trial))  # noqa: E731
    return Block(kind, names, unit, lambda *_: np.ones(count), moved, values, slopes, tangent)


def _inertia() -> Block:
    """The whole tensor in body axes: L exp(S) L, where L is the root of the tensor and S has the numbers x."""

    def root(body: Body) -> Floats:
        return np.asarray((body.axes * np.sqrt(body.moments)) @ body.axes.T)

    def moved(trial: Trial, x: Floats) -> Trial:
        power, axes = np.linalg.eigh(_symmetric(x))
        L = root(trial.body)
        return replace(trial, body=_like(trial.body, L @ (axes * np.exp(power)) @ axes.T @ L))

    def tangent(origin: Trial, x: Floats) -> Change:
        # The derivative of exp(S) along E is V (D * V^T E V) V^T with divided differences D of the exponential.
        power, axes = np.linalg.eigh(_symmetric(x))
        half = (power[:, None] - power) / 2.0
        small = np.abs(half) < 1e-4
        quotient = np.where(small, 1.0 + half * half / 6.0, np.sinh(half) / np.where(small, 1.0, half))
        D, L = np.exp((power[:, None] + power) / 2.0) * quotient, root(origin.body) @ axes
        return {"inertia": np.array([_elements(L @ (D * (axes.T @ _symmetric(e) @ axes)) @ L.T) for e in np.eye(6)]).T}

    names = tuple(f"I_{AXES[i]}{AXES[j]}" for i, j in PAIRS)
    values = lambda trial: np.array(_elements(trial.body.tensor))  # noqa: E731
    slopes: Read = lambda trial: tangent(trial, np.zeros(6))["inertia"]  # noqa: E731
    return Block("inertia", names, "kg m2", lambda *_: np.ones(6), moved, values, slopes, tangent)


def _with_turned_axes(trial: Trial, x: Floats) -> Trial:
    """The trial with principal axes that are turned by x about the body axes; the moments stay."""
    turn = turn_of(x)
    matrix = to_space(turn, np.eye(3)).T
    body = _like(trial.body, matrix @ trial.body.tensor @ matrix.T)
    return replace(trial, body=body, axes_turn=product(turn, trial.axes_turn))


def _of_gyro(name: str, unit: str, size: Callable[[NaturalSizes], float]) -> Callable[[Body], Block]:
    def moved(trial: Trial, x: Floats) -> Trial:
        return replace(trial, **{name: getattr(trial, name) + x})

    return lambda _: _named(f"gyro.{name}", unit, moved, lambda trial: getattr(trial, name), size, lambda *_: {})


def _observers(name: str, p: Floats) -> Block:
    """All numbers of the function that is observed, or one of them."""
    match = re.fullmatch(r"p(?:\[(\d+)\])?", name)
    if match is None or p.size == 0 or int(match[1] or 0) >= p.size:
        raise ValueError(
            f"{name!r} is to be fitted, but observe has {p.size} numbers: give a guess of all of them as p="
        )
    chosen = [int(match[1])] if match[1] else list(range(p.size))

    def moved(trial: Trial, x: Floats) -> Trial:
        numbers = trial.p.copy()
        numbers[chosen] += x
        return replace(trial, p=numbers)

    def scales(origin: Trial, _: NaturalSizes) -> Floats:
        sizes = np.abs(origin.p[chosen])
        return np.where(sizes > 0.0, sizes, math.nan)

    names, slopes = tuple(f"p[{k}]" for k in chosen), lambda _: np.eye(len(chosen))
    return Block("p", names, "", scales, moved, lambda trial: trial.p[chosen], slopes, lambda *_: {})


PLAIN: dict[str, Callable[[Body], Block]] = {
    "moments": _moments,
    "ratios": partial(_moments, ratios=True),
    "inertia": lambda _: _inertia(),
    "axes": lambda _: _named("axes", "rad", _with_turned_axes, lambda trial: vector_of(trial.axes_turn), lambda _: 1.0),
    "rotor": lambda _: _named(
        "rotor", "kg m2 s-1", lambda trial, x: replace(trial, body=trial.body.with_rotor(trial.body.rotor + x)),
        lambda trial: np.array(trial.body.rotor), lambda sizes: sizes.momentum,
    ),
    "omega": lambda _: _named(
        "omega", "rad s-1", lambda trial, x: replace(trial, omega=trial.omega + x),
        lambda trial: np.array(trial.omega), lambda sizes: sizes.rate, lambda *_: {"omega": np.eye(3)},
    ),
    # Small turns about the space axes: from the attitude itself, so that the values are zero.
    "attitude": lambda _: _named(
        "attitude", "rad", lambda trial, x: replace(trial, quaternion=product(turn_of(x), trial.quaternion)),
        lambda trial: np.zeros(3), lambda _: 1.0,
        lambda _, x: {"attitude": np.asarray(np.linalg.inv(with_turned(np.tile(-x, (3, 1)), np.eye(3)).T))},
    ),
    "gyro.bias": _of_gyro("bias", "rad s-1", lambda sizes: sizes.rate),
    "gyro.scale": _of_gyro("scale", "1", lambda _: 1.0),
}  # fmt: skip
"""The parameters that need no torque, by their names."""


def _torque_numbers(name: str, part: int | None, which: str, places: tuple[int, ...], torque: Torque) -> Block:
    """Numbers of a torque: a field of a model, or parameters of a user's function."""

    def field_of(trial: Torque | None) -> Any:
        assert trial is not None
        owner = _part(trial, part)
        return owner.values if which == "p" and isinstance(owner, CustomTorque) else getattr(owner, which)

    def flat(trial: Torque | None) -> Floats:
        return np.array(field_of(trial), dtype=np.float64).reshape(-1)

    shape = np.shape(field_of(torque))
    chosen = list(places) or list(range(flat(torque).size))
    names: tuple[str, ...] = (name,)
    if shape != () and not places:
        each = [f"_{k}" for k in AXES] if shape == (3,) and which != "p" else [f"[{k}]" for k in chosen]
        names = tuple(f"{name}{ending}" for ending in each)

    def scales(origin: Trial, sizes: NaturalSizes) -> Floats:
        """The size of the whole field; NaN if it is zero."""
        numbers = flat(origin.torque)
        size = float(np.linalg.norm(numbers if which != "p" else numbers[chosen]))
        return np.full(len(names), size if size > 0.0 else math.nan)

    def moved(trial: Trial, x: Floats) -> Trial:
        assert trial.torque is not None
        numbers, owner = flat(trial.torque), _part(trial.torque, part)
        numbers[chosen] += x
        if which == "p" and isinstance(owner, CustomTorque):
            changed: Torque = owner.with_parameters(tuple(numbers.tolist()))
        else:
            changed = replace(owner, **{which: _tuples(numbers.reshape(shape).tolist())})  # type: ignore[type-var]
        return replace(trial, torque=_with_part(trial.torque, part, changed))

    slopes: Read = lambda _: np.eye(len(names))  # noqa: E731
    return Block("torque", names, "", scales, moved, lambda trial: flat(trial.torque)[chosen], slopes)


NONE: Floats = np.empty(0)


@dataclass(frozen=True, eq=False)
class Parameters:
    """All free parameters of a fit, in the order in which they were named."""

    blocks: tuple[Block, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all parameters."""
        return tuple(name for block in self.blocks for name in block.names)

    @property
    def units(self) -> tuple[str, ...]:
        """Their units; empty: not known."""
        return tuple(block.unit for block in self.blocks for _ in block.names)

    @property
    def count(self) -> int:
        """The number of parameters."""
        return sum(block.size for block in self.blocks)

    def slices(self) -> Iterable[tuple[Block, slice]]:
        """Yields the blocks, each with its place among all parameters."""
        first = 0
        for block in self.blocks:
            yield block, slice(first, first + block.size)
            first += block.size

    def has(self, *kinds: str) -> bool:
        """Whether parameters of one of these kinds are free."""
        return any(block.kind in kinds for block in self.blocks)

    def at(self, origin: Trial, x: Floats) -> Trial:
        """The trial with these parameters."""
        trial = origin
        for block, place in self.slices():
            if x[place].any():
                trial = block.moved(trial, x[place])
        return trial

    def tangent(self, origin: Trial, x: Floats) -> Change | None:
        """What changes by x, at x; None: some of these parameters leave that to differences."""
        made = {"inertia": np.zeros((6, x.size)), "omega": np.zeros((3, x.size)), "attitude": np.zeros((3, x.size))}
        for block, place in self.slices():
            if block.tangent is None:
                return None
            for name, change in block.tangent(origin, x[place]).items():
                made[name][:, place] = change
        return made

    def scales(self, origin: Trial, sizes: NaturalSizes) -> Floats:
        """The natural sizes of all x; NaN where they are not known."""
        return np.concatenate([block.scales(origin, sizes) for block in self.blocks])

    def values(self, trial: Trial) -> Floats:
        """The parameters in their units."""
        return np.concatenate([block.values(trial) for block in self.blocks])

    def slopes(self, trial: Trial) -> Floats:
        """The derivatives of the values by x, at x = 0: a matrix."""
        made = np.zeros((self.count, self.count))
        for block, place in self.slices():
            made[place, place] = block.slopes(trial)
        return made


def parameters(free: Any, body: Body, torque: Torque | None, p: Floats = NONE) -> Parameters:
    """The parameters that the user's names mean."""
    names = [free] if isinstance(free, str) else list(free)
    if not names:
        raise ValueError(f"free must name what is to be fitted: {_listed(torque)}")
    plain: list[str] = []
    blocks: list[Block] = []
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"free must hold names such as 'moments', not {name!r}")
        if name.startswith("torque"):
            blocks += _of_torque(name, torque)
            continue
        if name.partition("[")[0] == "p":
            blocks.append(_observers(name, p))
            continue
        if name not in PLAIN:
            checks.choice("parameter to fit", name, [*PLAIN, *_torque_names(torque)])
        plain.append(name)
    for name in plain:
        if plain.count(name) > 1:
            raise ValueError(f"free names {name!r} {plain.count(name)} times: once is enough")
    if "moments" in plain and "axes" in plain:  # together they are the tensor, which is smooth at equal moments
        plain = [name for name in plain if name != "axes"]
        plain[plain.index("moments")] = "inertia"
    inertial = [name for name in plain if name in ("moments", "ratios", "inertia", "axes")]
    if len(inertial) > 1 and set(inertial) != {"ratios", "axes"}:
        raise ValueError(f"{' and '.join(inertial)} overlap: name one of them ('inertia' is the whole tensor)")
    found = [PLAIN[name](body) for name in plain]
    whole = Parameters((*found, *blocks))
    twice = [name for name in whole.names if whole.names.count(name) > 1]
    if twice:
        raise ValueError(f"free names {twice[0]} twice: once is enough")
    return whole


# --- torques -------------------------------------------------------------------------------------------------------


def _parts(torque: Torque | None) -> list[tuple[str, int | None, Torque]]:
    """The models of which a torque is made: the prefix of their names, and where they are in a sum."""
    if torque is None:
        return []
    if not isinstance(torque, SumTorque):
        return [("torque", None, torque)]
    return [(f"torque.{name}", k, torque.terms[k].torque) for k, name in enumerate(torque.parts)]


def _part(torque: Torque, part: int | None) -> Torque:
    if part is None:
        return torque
    assert isinstance(torque, SumTorque)
    return torque.terms[part].torque


def _with_part(torque: Torque, part: int | None, changed: Torque) -> Torque:
    if part is None:
        return changed
    assert isinstance(torque, SumTorque)
    terms = list(torque.terms)
    terms[part] = replace(terms[part], torque=changed)
    return SumTorque(tuple(terms))


def numeric_fields(model: Torque) -> list[str]:
    """The fields of a model that are numbers; p for a function of the user's."""
    if isinstance(model, CustomTorque):
        return ["p"] if model.values and not model.tables else []
    return [f.name for f in dataclasses.fields(cast("Any", model)) if f.init and _is_numeric(getattr(model, f.name))]


def _is_numeric(value: Any) -> bool:
    if isinstance(value, bool | str):
        return False
    if isinstance(value, int | float):
        return True
    return isinstance(value, tuple) and len(value) > 0 and all(map(_is_numeric, value))


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _torque_names(torque: Torque | None) -> list[str]:
    return [f"{prefix}.{field}" for prefix, _, model in _parts(torque) for field in numeric_fields(model)]


def _listed(torque: Torque | None) -> str:
    return ", ".join([*PLAIN, *_torque_names(torque)])


def _of_torque(name: str, torque: Torque | None) -> list[Block]:
    """The parameters of a torque that are called `torque.field`, `torque.Part.field` or `torque.p[0]`."""
    if torque is None:
        raise ValueError(f"{name!r} is to be fitted, but there is no torque: give torque=, with a guess of its numbers")
    stem, places = name, tuple[int, ...]()
    if match := re.fullmatch(r"(.*)\[(\d+)\]", name):
        stem, places = match[1], (int(match[2]),)
    known = {
        f"{prefix}.{field}": (part, field, model)
        for prefix, part, model in _parts(torque)
        for field in numeric_fields(model)
    }
    if stem not in known:
        if not known:
            raise ValueError(f"{name!r} is to be fitted, but {torque.name} has no numbers of its own that could be")
        checks.choice("parameter to fit", stem, [*PLAIN, *known])
    part, field, model = known[stem]
    count = np.size(model.values if field == "p" and isinstance(model, CustomTorque) else getattr(model, field))
    if places and places[0] >= count:
        raise ValueError(f"{name!r} is to be fitted, but {stem} has only {count} numbers, counted from 0")
    return [_torque_numbers(name, part, field, places, torque)]


def with_turned(v: Floats, change: Floats) -> Floats:
    """The change J_r(v)^-1 of the vector v of a turn by a small turn after it, in its own axes. [sola2018]"""
    angle = lengths(v)[..., None]
    with np.errstate(invalid="ignore", divide="ignore"):
        series = 1.0 / 12.0 + angle * angle / 720.0
        factor = np.where(angle > 1e-2, (1.0 - 0.5 * angle / np.tan(0.5 * angle)) / (angle * angle), series)
    once = np.cross(v, change)
    return np.asarray(change + 0.5 * once + factor * np.cross(v, once))


def _like(guess: Body, tensor: Floats) -> Body:
    """A body like the guess, with another tensor, whose round-off is removed."""
    made = Body((tensor + tensor.T) / 2, name=guess.name, allow_unphysical=True)
    return made.with_rotor(guess.rotor) if guess.has_rotor else made


def _symmetric(x: Floats) -> Floats:
    made = np.empty((3, 3))
    for value, (i, j) in zip(x, PAIRS, strict=True):
        made[i, j] = made[j, i] = value
    return made
