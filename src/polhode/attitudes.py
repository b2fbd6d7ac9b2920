"""Attitudes in other words: Euler angles of any sequence, modified Rodrigues parameters, the angle to a direction.

Quaternions are scalar first and need not be of unit length; arrays have their components along the last axis. Angles
are in radians, unless `degrees=True` or a name with `_deg` says otherwise.
"""

import json
import re
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polhode.kernels.algebra.quat import multiply
from polhode.kernels.algebra.quat import to_space as turned_to_space
from polhode.kernels.status import Status
from polhode.support import checks
from polhode.support.arrays import Floats, apply_by_blocks, columns, dots, lengths, to_space

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation

GIMBAL_TOLERANCE = 2.0**-50
"""Half the sine of the distance from a gimbal lock, up to which only the sum or difference of two angles is known: the
round-off of a quaternion. Farther away both angles are known well enough to give the quaternion back."""


# --- from angles and parameters to quaternions ---------------------------------------------------------------------


def check_sequence(sequence: Any, *, whole: bool) -> None:
    """Raises an error unless this is a sequence of axes: of three if it is to be `whole`, else of one to three."""
    wanted = "three" if whole else "up to three"
    if not isinstance(sequence, str) or not (3 if whole else 1) <= len(sequence) <= 3 or not (
        set(sequence) <= set("XYZ") or set(sequence) <= set("xyz")
    ):  # fmt: skip
        raise ValueError(
            f"sequence must be {wanted} of XYZ (turning axes) or of xyz (fixed axes), such as 'ZXZ', not {sequence!r}"
        )
    if repeated := [a for a, b in pairwise(sequence) if a == b]:
        raise ValueError(f"sequence {sequence!r} turns about {repeated[0]} twice in a row: join the two angles")


def quaternion_from_euler(sequence: str, angles: Any, *, degrees: bool = False) -> Floats:
    """The attitude with these Euler angles as a quaternion, scalar first: what `attitude=` takes.

    Parameters
    ----------
    sequence
        The axes of the turns, one to three of XYZ, each about the axis that the turns before have brought it to
        ("ZYX": yaw, pitch, roll), or of xyz, about the axes that stay fixed in space. It is that of SciPy's
        `Rotation.from_euler`.
    angles
        An angle for each axis, in radians, or in degrees with `degrees=True`; of many attitudes, a row for each. For a
        single axis it may be a number.

    Examples
    --------
    >>> ph.quaternion_from_euler("ZYX", [90, 0, 0], degrees=True).round(4)
    array([0.7071, 0.    , 0.    , 0.7071])
    """
    check_sequence(sequence, whole=False)
    given = np.atleast_1d(checks.floats("angles", angles, "hold an angle for each axis"))
    if given.shape[-1] != len(sequence):
        raise ValueError(f"sequence {sequence!r} needs {len(sequence)} angles, not the shape {given.shape}")
    given = checks.array("angles", given, given.shape)
    half = 0.5 * (np.radians(given) if degrees else given)
    turns = [_about(axis, half[..., k]) for k, axis in enumerate(sequence.lower())]
    q = reduce(multiply, turns if sequence.isupper() else turns[::-1])
    return np.stack(q, axis=-1)


def _about(axis: str, half: Floats) -> Any:
    """The components of turns about a coordinate axis by twice these angles."""
    still = np.zeros_like(half)
    return (np.cos(half), *(np.sin(half) if a == axis else still for a in "xyz"))


def quaternion_from_mrp(mrp: Any) -> Floats:
    """The attitude with these modified Rodrigues parameters as a quaternion, scalar first.

    They are e tan(angle / 4) with e the axis of the rotation, from body to space; those of the shadow set, longer than
    one, mean the same attitude. Of many attitudes there is a row for each.

    Examples
    --------
    >>> ph.quaternion_from_mrp([0, 0, np.tan(np.pi / 8)]).round(4)
    array([0.7071, 0.    , 0.    , 0.7071])
    """
    given = checks.floats("mrp", mrp, "hold three numbers")
    if given.ndim == 0 or given.shape[-1] != 3:
        raise ValueError(f"mrp must have three components along the last axis, not the shape {given.shape}")
    s = checks.array("mrp", given, given.shape)
    size = np.hypot(np.hypot(s[..., 0], s[..., 1]), s[..., 2])[..., None]
    # Of the two halves of tan(angle / 4) the greater one is divided by, so that nothing overflows.
    small, inverse = size <= 1.0, 1.0 / np.where(size > 1.0, size, 1.0)
    t = np.where(small, size, inverse)
    w = np.where(small, 1.0, -1.0) * (1.0 - t * t) / (1.0 + t * t)
    v = 2.0 * np.where(small, s, s * inverse * inverse) / (1.0 + t * t)
    return np.concatenate([w, v], axis=-1)


# --- from quaternions to angles and parameters ---------------------------------------------------------------------


def euler(q: Floats, sequence: str, *, degrees: bool = False) -> Floats:
    """The Euler angles of attitudes, three along the last axis.

    The first and the third lie between -180 and 180 degrees; the second between 0 and 180 for sequences such as ZXZ,
    between -90 and 90 for others. Where the second is at an end of its range, one turn is made by two of the angles:
    then the third is zero.  [bernardes2022]
    """
    check_sequence(sequence, whole=True)
    fixed = sequence if sequence.islower() else sequence[::-1].lower()  # turning axes are fixed ones in reverse
    i, j, k = ("xyz".index(axis) + 1 for axis in fixed)
    symmetric = i == k
    if symmetric:
        k = 6 - i - j
    sign = 1.0 if (i, j, k) in ((1, 2, 3), (2, 3, 1), (3, 1, 2)) else -1.0
    w, x, y, z = q[..., 0], q[..., i], q[..., j], sign * q[..., k]
    # With the angles a, b, c about i, j, i the quaternion is (cos(b/2) e^(i(a+c)/2), sin(b/2) e^(i(c-a)/2)), as two
    # complex numbers; the sequence i, j, k is i, j, i after a quarter turn about j.
    p, r, s, u = (w, x, y, z) if symmetric else (w - y, x + z, y + w, z - x)
    near, far = np.hypot(p, r), np.hypot(s, u)
    half_sum, half_difference = np.arctan2(r, p), np.arctan2(u, s)
    first, third = half_sum - half_difference, half_sum + half_difference
    middle = 2.0 * np.arctan2(far, near)
    locked = np.minimum(near, far) <= GIMBAL_TOLERANCE * np.hypot(near, far)
    if sequence.islower():  # the first angle alone makes the turn
        first = np.where(locked, 2.0 * np.where(far < near, half_sum, -half_difference), first)
        third = np.where(locked, 0.0, third)
    else:  # in reverse, it is the third
        third = np.where(locked, 2.0 * np.where(far < near, half_sum, half_difference), third)
        first = np.where(locked, 0.0, first)
    if not symmetric:
        third, middle = sign * third, middle - 0.5 * np.pi
    found = [_within_half_turn(first), middle, _within_half_turn(third)]
    angles = np.stack(found if sequence.islower() else found[::-1], axis=-1)
    return np.degrees(angles) if degrees else angles


def _within_half_turn(angle: Floats) -> Floats:
    """Angles from -2 pi to 2 pi as ones from -pi to pi."""
    turn = 2.0 * np.pi
    return np.asarray(np.where(angle > np.pi, angle - turn, np.where(angle < -np.pi, angle + turn, angle)))


def mrp(q: Floats, *, shadow: bool = False) -> Floats:
    """The modified Rodrigues parameters e tan(angle / 4) of attitudes, three along the last axis.

    Each attitude has two sets. Without `shadow` it is that of the turn by at most 180 degrees, no longer than one; with
    `shadow=True` that of the other way round, at least as long as one, which without a turn is infinite: there it is
    NaN. The sets change over at 180 degrees.
    """
    w, v = q[..., :1], q[..., 1:]
    sign = np.where(w < 0.0, -1.0, 1.0)
    size = lengths(q)[..., None] + np.abs(w)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = -sign * v * size / dots(v, v)[..., None] if shadow else sign * v / size
    return np.asarray(found)


def pointing_angle(q: Floats, body_axis: Any, direction: Any, *, degrees: bool = False) -> Floats:
    """The angle between an axis of the body and a direction in space, from 0 to 180 degrees.

    The axis is a vector in body axes, or "x", "y", "z", "-x" ...; the direction a vector in space axes, or a row of
    them for each row of attitudes. It is accurate at every angle.
    """
    axis, aim = np.array(_axis("body_axis", body_axis)), _directions(direction, q.shape[:-1])
    a = np.stack(np.broadcast_arrays(*turned_to_space(columns(q), columns(axis))), axis=-1)
    across = np.cross(a, aim)
    angle = np.arctan2(lengths(across), dots(a, np.broadcast_to(aim, a.shape)))
    return np.degrees(angle) if degrees else angle


def _axis(name: str, value: Any) -> tuple[float, float, float]:
    """A direction that may be given by the name of an axis."""
    if isinstance(value, str):
        sign, letter = (-1.0, value[1:]) if value.startswith("-") else (1.0, value)
        if letter not in ("x", "y", "z"):
            raise ValueError(f"{name} must be x, y, z, -x, -y, -z or a vector, not {value!r}")
        value = tuple(sign * (letter == a) for a in "xyz")
    return checks.direction(name, value)


def _directions(value: Any, rows: tuple[int, ...]) -> Floats:
    """A direction, or one for each row, of unit length."""
    if isinstance(value, str) or len(shape := checks.shape_of("direction", value)) < 2:
        return np.array(_axis("direction", value))
    if shape not in ((*rows[-1:], 3), (*rows, 3)):
        raise ValueError(f"direction must be a vector, or one for each of the {rows[-1:]} rows, not of shape {shape}")
    given = checks.array("direction", value, shape)
    if not (size := lengths(given)).all():
        raise ValueError(f"direction[{int(np.argmin(size.reshape(-1)))}] must point somewhere, not be zero")
    return given / size[..., None]


class WithAttitudes:
    """What has `quaternion`, an array of attitudes, has them in other words, too."""

    quaternion: Floats

    @cached_property
    def attitude(self) -> "Rotation":
        """The rotations from body to space axes."""
        from scipy.spatial.transform import Rotation

        return Rotation.from_quat(self.quaternion, scalar_first=True)

    def euler(self, sequence: str, *, degrees: bool = False) -> Floats:
        """The Euler angles of all attitudes, body to space: three along the last axis.

        The sequence is three of XYZ (turning axes, as in "ZYX": yaw, pitch, roll) or of xyz (axes fixed in space), as
        in SciPy's `Rotation.as_euler`. Angles are in radians, with `degrees=True` in degrees: the first and the third
        between -180 and 180, the second between 0 and 180 for sequences such as ZXZ, between -90 and 90 for others.
        Where the second is at an end of its range, the third is zero.
        """
        return euler(self.quaternion, sequence, degrees=degrees)

    def mrp(self, *, shadow: bool = False) -> Floats:
        """The modified Rodrigues parameters of all attitudes, body to space: three along the last axis.

        They are those of the turn by at most 180 degrees, no longer than one; with `shadow=True` those of the other way
        round, at least as long as one, and NaN where the axes coincide.
        """
        return mrp(self.quaternion, shadow=shadow)

    def pointing_angle(self, body_axis: Any, direction: Any, *, degrees: bool = False) -> Floats:
        """The angle between an axis of the body and a direction in space, in radians, from 0 to pi.

        The axis is a vector in body axes, or "x", "y", "z", "-x" ...; the direction is a vector in space axes, or one
        for each time. With `degrees=True` the angle is in degrees.
        """
        return pointing_angle(self.quaternion, body_axis, direction, degrees=degrees)


class WithMomenta:
    """What has attitudes, momenta, rates and energies of bodies, also has what follows from them."""

    quaternion: Floats
    momentum: Floats
    omega: Any
    kinetic_energy: Any
    potential_energy: Any
    status: Any

    @property
    def success(self) -> Any:
        """Whether the run reached its end; of an ensemble, for each body."""
        return self.status == Status.OK

    @cached_property
    def spatial_momentum(self) -> Floats:
        """The angular momentum in space axes, kg m^2/s, about the centre of mass; shaped as `momentum`."""
        return apply_by_blocks(to_space, self.quaternion, self.momentum)

    @cached_property
    def spatial_omega(self) -> Floats:
        """The angular velocity in space axes, rad/s; shaped as `omega`."""
        return apply_by_blocks(to_space, self.quaternion, self.omega)

    @cached_property
    def energy(self) -> Floats:
        """The kinetic plus the potential energy, in J; NaN where there is no potential."""
        energy: Floats = self.kinetic_energy + self.potential_energy
        return energy


# --- quantities by name: for tables, pictures, reductions and scenario files ---------------------------------------


class QuantityForm(NamedTuple):
    """How a quantity is written, and the number of its arguments."""

    example: str
    least: int
    most: int


NAMES = {
    "euler": QuantityForm("euler(ZYX)", 1, 1),
    "euler_deg": QuantityForm("euler_deg(ZYX)", 1, 1),
    "mrp": QuantityForm("mrp", 0, 1),
    "pointing_angle": QuantityForm("pointing_angle(z, [0, 0, 1])", 2, 2),
    "pointing_angle_deg": QuantityForm("pointing_angle_deg(z, [0, 0, 1])", 2, 2),
}
"""The quantities of attitudes that have names."""


@dataclass(frozen=True)
class AttitudeQuantity:
    """A quantity of attitudes that was asked for by its name, such as `euler_deg(ZYX)`."""

    name: str
    arguments: tuple[Any, ...]

    @classmethod
    def read(cls, text: str) -> "AttitudeQuantity":
        """The quantity that a text names; raises an error that says how they are written."""
        found = re.fullmatch(r"\s*([a-z_]+)\s*(?:\((.*)\))?\s*", text) if isinstance(text, str) else None
        name = checks.choice("quantity of attitudes", found[1] if found else text, NAMES)
        assert found is not None
        try:
            quoted = re.sub(r"-?\b[A-Za-z]+", lambda word: json.dumps(word[0]), found[2] or "")  # not the e of 1e-3
            arguments = json.loads(f"[{quoted}]")
        except json.JSONDecodeError:
            raise ValueError(f"{text!r} must be written like {NAMES[name].example!r}") from None
        if not NAMES[name].least <= len(arguments) <= NAMES[name].most:
            raise ValueError(f"{text!r} must be written like {NAMES[name].example!r}")
        if name == "mrp" and arguments not in ([], ["shadow"]):
            raise ValueError(f"{text!r} must be written 'mrp' or 'mrp(shadow)'")
        made = cls(name, tuple(tuple(a) if isinstance(a, list) else a for a in arguments))
        made.of(np.array([[1.0, 0.0, 0.0, 0.0]]))  # which checks the arguments
        return made

    @property
    def kind(self) -> str:
        """The name without the unit."""
        return self.name.removesuffix("_deg")

    def of(self, q: Floats) -> Floats:
        """The quantity of attitudes."""
        degrees = self.name.endswith("_deg")
        if self.kind == "euler":
            return euler(q, *self.arguments, degrees=degrees)
        if self.kind == "mrp":
            return mrp(q, shadow=bool(self.arguments))
        return pointing_angle(q, *self.arguments, degrees=degrees)

    def __call__(self, motion: WithAttitudes) -> Floats:
        """The quantity of a solution, an ensemble or a free state."""
        return self.of(motion.quaternion)

    def __str__(self) -> str:
        if not self.arguments:
            return self.name
        listed = (f"[{', '.join(f'{x:g}' for x in a)}]" if isinstance(a, tuple) else a for a in self.arguments)
        return f"{self.name}({', '.join(listed)})"

    @property
    def __name__(self) -> str:
        return str(self)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the components; none of a single number."""
        if self.kind == "euler":
            return tuple(f"{k} ({axis})" for k, axis in enumerate(self.arguments[0], 1))
        return ("x", "y", "z") if self.kind == "mrp" else ()

    def curves(self, motion: WithAttitudes) -> dict[str, Floats]:
        """The components over time by their names, for a picture of one motion."""
        values = self(motion)
        return dict(zip(self.labels, values.T, strict=True)) if self.labels else {"angle": values}

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The name of the dimension of its components."""
        return {"euler": ("euler_angle",), "mrp": ("component",)}.get(self.kind, ())

    @property
    def attributes(self) -> dict[str, str]:
        """The long name and the unit."""
        if self.kind == "mrp":
            which = ", shadow set" if self.arguments else ""
            return {"long_name": f"modified Rodrigues parameters, body to space{which}", "units": "1"}
        unit = {"units": "degree" if self.name.endswith("_deg") else "rad"}
        if self.kind == "euler":
            axes = "turning" if self.arguments[0].isupper() else "fixed"
            return {"long_name": f"Euler angles {self.arguments[0]} ({axes} axes), body to space", **unit}
        return {"long_name": f"angle between a body axis and a direction, {self}", **unit}
