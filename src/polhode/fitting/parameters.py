"""What is fitted: blocks of parameters by their names, and how each moves a trial.

A trial is a body, a start and a torque. Parameters x are changes of an origin, which is a trial, too: x = 0 is the
origin itself. They are chosen so that any x makes sense and undetermined directions are straight: moments change by
factors exp(x), tensors by the exponential of a symmetric matrix, attitudes by turns about space axes.
"""

import dataclasses
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from polhode import _check
from polhode._arrays import Floats, product, to_space, turn_of, vector_of
from polhode.body import Body
from polhode.torques import CustomTorque, SumTorque, Torque

AXES = ("x", "y", "z")
PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
"""The places of a symmetric tensor, in the order of the names I_xx, I_yy, I_zz, I_xy, I_xz, I_yz."""

PLAIN_NAMES = ("moments", "ratios", "inertia", "axes", "rotor", "omega", "attitude")
"""The names that need no torque."""


@dataclass(frozen=True, eq=False)
class Trial:
    """A body, its start and its torque: all that a motion follows from."""

    body: Body
    omega: Floats
    quaternion: Floats
    torque: Torque | None
    axes_turn: Floats = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))
    """How far the principal axes were turned from those of the guess, as a quaternion."""


@dataclass(frozen=True)
class Sizes:
    """Natural sizes of a problem, in which changes of parameters are measured."""

    rate: float
    """The largest rate, rad/s."""
    momentum: float
    """The same as a momentum of the guess, kg m^2/s."""


class Block(ABC):
    """Parameters that are named together."""

    names: tuple[str, ...]
    unit: str

    @property
    def size(self) -> int:
        """The number of parameters."""
        return len(self.names)

    @abstractmethod
    def scales(self, origin: Trial, sizes: Sizes) -> Floats:
        """Returns by how much each x changes if all that is known is a rough guess; NaN: that is not known."""

    @abstractmethod
    def moved(self, trial: Trial, x: Floats) -> Trial:
        """Returns the trial with these parameters changed by x."""

    @abstractmethod
    def values(self, trial: Trial) -> Floats:
        """Returns the parameters in their units."""

    def slopes(self, trial: Trial) -> Floats:
        """Returns the derivatives of the values by x, at x = 0: a matrix."""
        return np.eye(self.size)


class Moments(Block):
    """The three principal moments; the principal axes stay those of the guess."""

    unit = "kg m2"

    def __init__(self, guess: Body) -> None:
        self.names = tuple(f"I_{k}" for k in (AXES if guess.aligned else "123"))
        self.axes = guess.axes

    def scales(self, origin: Trial, sizes: Sizes) -> Floats:
        """Returns factors of e."""
        return np.ones(3)

    def moved(self, trial: Trial, x: Floats) -> Trial:
        """Returns the trial with moments that are exp(x) times as large."""
        moments = self.values(trial) * np.exp(x)
        return replace(trial, body=_like(trial.body, (self.axes * moments) @ self.axes.T))

    def values(self, trial: Trial) -> Floats:
        """Returns the moments, in the order of the guess."""
        return np.array([axis @ trial.body.tensor @ axis for axis in self.axes.T])

    def slopes(self, trial: Trial) -> Floats:
        """Returns the moments on the diagonal."""
        return np.diag(self.values(trial))


class Ratios(Moments):
    """Two moments in units of the third, which stays as it is in the guess."""

    unit = "1"

    def __init__(self, guess: Body) -> None:
        super().__init__(guess)
        a, b, c = self.names
        self.names = (f"{a}/{c}", f"{b}/{c}")

    def scales(self, origin: Trial, sizes: Sizes) -> Floats:
        """Returns factors of e."""
        return np.ones(2)

    def moved(self, trial: Trial, x: Floats) -> Trial:
        """Returns the trial with the first two moments multiplied by exp(x)."""
        moments = super().values(trial) * np.exp([x[0], x[1], 0.0])
        return replace(trial, body=_like(trial.body, (self.axes * moments) @ self.axes.T))

    def values(self, trial: Trial) -> Floats:
        """Returns the two ratios."""
        moments = super().values(trial)
        return np.asarray(moments[:2] / moments[2])


class Inertia(Block):
    """The whole tensor, in body axes."""

    unit = "kg m2"
    names = tuple(f"I_{AXES[i]}{AXES[j]}" for i, j in PAIRS)

    def scales(self, origin: Trial, sizes: Sizes) -> Floats:
        """Returns factors of e."""
        return np.ones(6)

    def moved(self, trial: Trial, x: Floats) -> Trial:
        """Returns the trial with the tensor L exp(S) L, where L is the root of the tensor and S has the numbers x."""
        body = trial.body
        root = (body.axes * np.sqrt(body.moments)) @ body.axes.T
        power, axes = np.linalg.eigh(_symmetric(x))
        tensor = root @ (axes * np.exp(power)) @ axes.T @ root
        return replace(trial, body=_like(body, tensor))

    def values(self, trial: Trial) -> Floats:
        """Returns the elements of the tensor."""
        return np.array([trial.body.tensor[i, j] for i, j in PAIRS])

    def slopes(self, trial: Trial) -> Floats:
        """Returns the elements of L S L, for each number of S."""
        body = trial.body
        root = (body.axes * np.sqrt(body.moments)) @ body.axes.T
        changes = [root @ _symmetric(x) @ root for x in np.eye(6)]
        return np.array([[change[i, j] for change in changes] for i, j in PAIRS])


class Axes(Block):
    """Small turns of the principal axes about the body axes; the moments stay."""

    unit = "rad"
    names = tuple(f"axes_{k}" for k in AXES)

    def scales(self, origin: Trial, sizes: Sizes) -> Floats:
        """Returns radians."""
        return np.ones(3)

    def moved(self, trial: Trial, x: Floats) -> Trial:
        """Returns the trial with principal axes that are turned by x."""
        turn = turn_of(x)
        matrix = np.array([to_space(turn[None, :], axis[None, :])[0] for axis in np.eye(3)]).T
        body = _like(trial.body, matrix @ trial.body.tensor @ matrix.T)
        return replace(trial, body=body, axes_turn=product(turn, trial.axes_turn))

    def values(self, trial: Trial) -> Floats:
        """Returns the vector of the turn from the principal axes of the guess."""
        return vector_of(trial.axes_turn)


class Rotor(Block):
    """The internal angular momentum of a gyrostat, in body axes."""

    unit = "kg m2 s-1"
    names = tuple(f"rotor_{k}" for k in AXES)

    def scales(self, origin: Trial, sizes: Sizes) -> Floats:
        """Returns the size of the momentum of the body."""
        return np.full(3, sizes.momentum)

    def moved(self, trial: Trial, x: Floats) -> Trial:
        """Returns the trial with x added to the rotor."""
        return replace(trial, body=trial.body.with_rotor(trial.body.rotor + x))

    def values(self, trial: Trial) -> Floats:
        """Returns the rotor."""
        return np.array(trial.body.rotor)


class Omega(Block):
    """The rate at the first time, in body axes."""

    unit = "rad s-1"
    names = tuple(f"omega_{k}" for k in AXES)

    def scales(self, origin: Trial, sizes: Sizes) -> Floats:
        """Returns the largest rate."""
        return np.full(3, sizes.rate)

    def moved(self, trial: Trial, x: Floats) -> Trial:
        """Returns the trial with x added to the rate."""
        return replace(trial, omega=trial.omega + x)

    def values(self, trial: Trial) -> Floats:
        """Returns the rate."""
        return np.array(trial.omega)


class Attitude(Block):
    """The attitude at the first time, as a small turn about the space axes."""

    unit = "rad"
    names = tuple(f"attitude_{k}" for k in AXES)

    def scales(self, origin: Trial, sizes: Sizes) -> Floats:
        """Returns radians."""
        return np.ones(3)

    def moved(self, trial: Trial, x: Floats) -> Trial:
        """Returns the trial with the attitude turned by x about the space axes."""
        return replace(trial, quaternion=product(turn_of(x), trial.quaternion))

    def values(self, trial: Trial) -> Floats:
        """Returns zeros: what is small are turns from the attitude itself."""
        return np.zeros(3)


class TorqueNumbers(Block):
    """Numbers of a torque: a field of a model, or parameters of a user's function."""

    def __init__(self, name: str, part: int | None, which: str, places: tuple[int, ...], torque: Torque) -> None:
        self.part, self.field = part, which
        self.unit = ""
        all_of_it = np.array(self._field(torque), dtype=np.float64)
        one = places == () and all_of_it.ndim == 0
        self.shape = all_of_it.shape
        self.which = tuple(range(all_of_it.size)) if places == () else places
        if one or places:
            self.names = (name,)
        elif self.shape == (3,) and which != "p":
            self.names = tuple(f"{name}_{k}" for k in AXES)
        else:
            self.names = tuple(f"{name}[{k}]" for k in self.which)

    def _field(self, torque: Torque) -> Any:
        owner = _part(torque, self.part)
        return owner.values if self.field == "p" and isinstance(owner, CustomTorque) else getattr(owner, self.field)

    def scales(self, origin: Trial, sizes: Sizes) -> Floats:
        """Returns the size of the whole field; NaN if it is zero."""
        assert origin.torque is not None
        all_of_it = np.array(self._field(origin.torque), dtype=np.float64).reshape(-1)
        size = float(np.linalg.norm(all_of_it if self.field != "p" else all_of_it[list(self.which)]))
        return np.full(self.size, size if size > 0.0 else math.nan)

    def moved(self, trial: Trial, x: Floats) -> Trial:
        """Returns the trial with x added to these numbers of the torque."""
        assert trial.torque is not None
        flat = np.array(self._field(trial.torque), dtype=np.float64).reshape(-1)
        flat[list(self.which)] += x
        value = flat.reshape(self.shape).tolist()
        owner = _part(trial.torque, self.part)
        if self.field == "p" and isinstance(owner, CustomTorque):
            changed: Torque = owner.with_parameters(tuple(flat.tolist()))
        else:
            changed = dataclasses.replace(owner, **{self.field: _tuples(value)})  # type: ignore[type-var]
        return replace(trial, torque=_with_part(trial.torque, self.part, changed))

    def values(self, trial: Trial) -> Floats:
        """Returns the numbers."""
        assert trial.torque is not None
        return np.array(self._field(trial.torque), dtype=np.float64).reshape(-1)[list(self.which)]


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

    def has(self, kind: type[Block]) -> bool:
        """Whether such parameters are free."""
        return any(isinstance(block, kind) for block in self.blocks)

    def at(self, origin: Trial, x: Floats) -> Trial:
        """Returns the trial with these parameters."""
        trial = origin
        for block, place in self.slices():
            if x[place].any():
                trial = block.moved(trial, x[place])
        return trial

    def scales(self, origin: Trial, sizes: Sizes) -> Floats:
        """Returns the natural sizes of all x; NaN where they are not known."""
        return np.concatenate([block.scales(origin, sizes) for block in self.blocks])

    def values(self, trial: Trial) -> Floats:
        """Returns the parameters in their units."""
        return np.concatenate([block.values(trial) for block in self.blocks])

    def slopes(self, trial: Trial) -> Floats:
        """Returns the derivatives of the values by x, at x = 0: a matrix."""
        made = np.zeros((self.count, self.count))
        for block, place in self.slices():
            made[place, place] = block.slopes(trial)
        return made


def parameters(free: Any, body: Body, torque: Torque | None) -> Parameters:
    """Returns the parameters that the user's names mean."""
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
        if name not in PLAIN_NAMES:
            _check.choice("parameter to fit", name, [*PLAIN_NAMES, *_torque_names(torque)])
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
    made: dict[str, Any] = {"moments": Moments, "ratios": Ratios}
    others: dict[str, Any] = {
        "inertia": Inertia, "axes": Axes, "rotor": Rotor, "omega": Omega, "attitude": Attitude
    }  # fmt: skip
    found = tuple(made[name](body) if name in made else others[name]() for name in plain)
    whole = Parameters((*found, *blocks))
    twice = [name for name in whole.names if whole.names.count(name) > 1]
    if twice:
        raise ValueError(f"free names {twice[0]} twice: once is enough")
    return whole


# --- torques -------------------------------------------------------------------------------------------------------


def _parts(torque: Torque | None) -> list[tuple[str, int | None, Torque]]:
    """Returns the models of which a torque is made: the prefix of their names, and where they are in a sum."""
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
    """Returns the fields of a model that are numbers; p for a function of the user's."""
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
    return ", ".join([*PLAIN_NAMES, *_torque_names(torque)])


def _of_torque(name: str, torque: Torque | None) -> list[Block]:
    """Returns the parameters of a torque that are called `torque.field`, `torque.Part.field` or `torque.p[0]`."""
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
        _check.choice("parameter to fit", stem, [*PLAIN_NAMES, *known])
    part, field, model = known[stem]
    count = np.size(model.values if field == "p" and isinstance(model, CustomTorque) else getattr(model, field))
    if places and places[0] >= count:
        raise ValueError(f"{name!r} is to be fitted, but {stem} has only {count} numbers, counted from 0")
    return [TorqueNumbers(name, part, field, places, torque)]


def _like(guess: Body, tensor: Floats) -> Body:
    """Returns a body like the guess, with another tensor, whose round-off is removed."""
    made = Body((tensor + tensor.T) / 2, name=guess.name, allow_unphysical=True)
    return made.with_rotor(guess.rotor) if guess.has_rotor else made


def _symmetric(x: Floats) -> Floats:
    made = np.empty((3, 3))
    for value, (i, j) in zip(x, PAIRS, strict=True):
        made[i, j] = made[j, i] = value
    return made
