"""Bodies: moments of inertia, principal axes, and bodies from the literature."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from polhode.kernels.types import Vec3
from polhode.support import checks
from polhode.support.arrays import Floats

SYMMETRY_TOLERANCE = 1e-12
"""A relative asymmetry of a tensor up to this is taken for round-off."""

TRIANGLE_TOLERANCE = 1e-12
"""A relative excess over the triangle inequality up to this is taken for round-off: flat bodies reach equality."""

SMALLEST_MOMENT = 1e-300
"""Moments lie between this and its inverse, so that they, their inverses and sums of them are floats."""


class BodyNumbers(NamedTuple):
    """The numbers of a body."""

    moments: Vec3
    tensor: tuple[Vec3, Vec3, Vec3]
    least: float
    """The least of the moments."""
    greatest: float


class Body:
    """A rigid body: three principal moments, or a full inertia tensor, in kg m^2.

    Moments keep the order in which they are given, and so does a diagonal tensor. Any other tensor is diagonalised
    inside; rates, torques and attitudes stay in the axes in which the tensor was given.

    A `rotor` makes it a gyrostat: a body with a constant internal angular momentum g, in its axes and in kg m^2/s, such
    as that of a wheel that is kept at one speed relative to the body. Then the angular momentum is m = I w + g. The
    moments are those of the whole, in which the rotor takes part as if it were fixed.

    No mass distribution has a moment greater than the sum of the other two. Some published test bodies do:
    `allow_unphysical=True` accepts them.

    Examples
    --------
    >>> brick = ph.Body([1, 2, 2.8])
    >>> brick.moments
    array([1. , 2. , 2.8])
    >>> bent = ph.Body([[2, 0.1, 0], [0.1, 2.5, 0], [0, 0, 3]], name="bent")
    >>> bent.moments.round(4)
    array([1.9807, 2.5193, 3.    ])
    >>> ph.Body.named("book")
    Body([5.0, 10.0, 1.0], name='book', allow_unphysical=True)
    """

    def __init__(
        self, inertia: Any, *, name: str | None = None, allow_unphysical: bool = False, rotor: Any = None
    ) -> None:
        tensor = _tensor(inertia)
        self.name = name
        self.tensor: Floats = tensor
        if np.count_nonzero(tensor - np.diag(np.diag(tensor))) == 0:
            moments, axes = np.diag(tensor).copy(), np.eye(3)
        else:
            moments, axes = np.linalg.eigh(tensor)
            axes *= np.sign(np.linalg.det(axes))  # principal axes that form a right-handed frame
        if moments.min() <= 0:
            raise ValueError(f"moments of inertia must be positive, not {_listed(moments)}")
        if moments.min() < SMALLEST_MOMENT or moments.max() > 1.0 / SMALLEST_MOMENT:
            raise ValueError(
                f"the moments {_listed(moments)} are near the ends of the range of floats: use other units"
            )
        self.moments: Floats = moments
        self.axes: Floats = axes
        """Column i is the principal axis of moment i, in the user's axes."""
        self.rotor: Floats = np.zeros(3) if rotor is None else _rotor(rotor)
        """The internal angular momentum, in the user's axes; zeros: there is none."""
        for value in (tensor, moments, axes, self.rotor):
            value.setflags(write=False)
        if not allow_unphysical and not self.physical:
            raise ValueError(
                f"no body has the moments {_listed(moments)}: the greatest exceeds the sum of the other two. "
                "If this is intended, set allow_unphysical: an argument of Body, a key of scenarios, an option of "
                "commands"
            )

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restores a pickled or copied body; its arrays come back as ones that can be written to, and must not be."""
        self.__dict__.update({"rotor": np.zeros(3)} | state)  # bodies of versions before 0.2 have no rotor
        for value in self.__dict__.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    @classmethod
    def named(cls, name: str) -> "Body":
        """A body from the literature; `polhode.body.NAMED` lists them with their sources."""
        known = NAMED[checks.choice("body", name, NAMED)]
        return cls(known.moments, name=known.name, allow_unphysical=True)

    def with_rotor(self, rotor: Any) -> "Body":
        """A copy with another rotor; None removes it."""
        other = copy.copy(self)
        for known in ("has_rotor", "principal_rotor"):
            other.__dict__.pop(known, None)
        other.rotor = np.zeros(3) if rotor is None else _rotor(rotor)
        other.rotor.setflags(write=False)
        return other

    @property
    def physical(self) -> bool:
        """Whether some mass distribution has these moments."""
        return bool(2 * self.moments.max() <= self.moments.sum() * (1 + TRIANGLE_TOLERANCE))

    @cached_property
    def aligned(self) -> bool:
        """Whether the user's axes are principal axes."""
        return bool((self.axes == np.eye(3)).all())

    @cached_property
    def has_rotor(self) -> bool:
        """Whether the body is a gyrostat: whether its internal angular momentum is not zero."""
        return any(self.rotor.tolist())

    @cached_property
    def principal_rotor(self) -> Floats:
        """The internal angular momentum in principal axes."""
        if self.aligned:
            return self.rotor
        turned: Floats = self.rotor @ self.axes
        turned.setflags(write=False)
        return turned

    @cached_property
    def symmetry_axis(self) -> int:
        """The principal axis, from 1 to 3, for which the other two moments are equal; 0: there is none."""
        a, b, c = self.moments.tolist()
        return 3 if a == b else 1 if b == c else 2 if c == a else 0

    @cached_property
    def axes_quaternion(self) -> Floats:
        """The turn from principal axes to the user's, scalar first."""
        if self.aligned:
            q = np.array([1.0, 0.0, 0.0, 0.0])
        else:
            from scipy.spatial.transform import Rotation

            x, y, z, w = Rotation.from_matrix(self.axes).as_quat()
            q = np.array([w, x, y, z])
        q.setflags(write=False)
        return q

    @cached_property
    def numbers(self) -> "BodyNumbers":
        """Moments and tensor as plain numbers, with which a single rate is quicker than with arrays."""
        rows = [(x, y, z) for x, y, z in self.tensor.tolist()]
        a, b, c = self.moments.tolist()
        return BodyNumbers((a, b, c), (rows[0], rows[1], rows[2]), min(a, b, c), max(a, b, c))

    def momentum_of_one(self, omega: Sequence[float]) -> list[float]:
        """Returns I w + g of a single rate, with the bits that `momentum` has."""
        x, y, z = omega
        if self.aligned:
            a, b, c = self.numbers.moments
            product = [x * a, y * b, z * c]
        else:
            product = [x * a + y * b + z * c for a, b, c in zip(*self.numbers.tensor, strict=True)]
        return [m + g for m, g in zip(product, self.rotor.tolist(), strict=True)] if self.has_rotor else product

    def momentum(self, omega: Floats) -> Floats:
        """Returns I w + g, in the user's axes, for one rate or a stack of them."""
        product: Floats
        if self.aligned:
            product = omega * self.moments
        else:
            x, y, z = self.tensor  # term by term, so that no bit depends on how many rates there are
            product = omega[..., :1] * x + omega[..., 1:2] * y + omega[..., 2:] * z
        return product + self.rotor if self.has_rotor else product

    def own_momentum(self, momentum: Floats) -> Floats:
        """Returns m - g = I w: the momentum without that of the rotor, for one or a stack of them."""
        return momentum - self.rotor if self.has_rotor else momentum

    def rate(self, momentum: Floats) -> Floats:
        """The rate that has this momentum, in the user's axes, for one or a stack of them."""
        own = self.own_momentum(momentum)
        if self.aligned:
            return own / self.moments
        return ((own @ self.axes) / self.moments) @ self.axes.T

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Body):
            return False
        return bool((self.tensor == other.tensor).all() and (self.rotor == other.rotor).all())

    def __hash__(self) -> int:
        return hash((self.tensor.tobytes(), *self.rotor.tolist()))

    def __repr__(self) -> str:
        label = f", name={self.name!r}" if self.name else ""
        extra = "" if self.physical else ", allow_unphysical=True"
        inertia = self.moments.tolist() if self.aligned else self.tensor.tolist()
        turning = f", rotor={self.rotor.tolist()}" if self.has_rotor else ""
        return f"Body({inertia}{turning}{label}{extra})"


def _tensor(inertia: Any) -> Floats:
    """The inertia tensor that the user's argument means, checked and exactly symmetric."""
    if isinstance(inertia, str):
        raise TypeError(
            f"inertia must be three moments or a 3x3 tensor, not {inertia!r}: write Body.named({inertia!r})"
        )
    shape = checks.shape_of("inertia", inertia)
    if shape == (3,):
        return np.diag(checks.array("inertia", inertia, (3,)))
    if shape != (3, 3):
        raise ValueError(f"inertia must be three moments or a 3x3 tensor, not of shape {shape}")
    tensor = checks.array("inertia", inertia, (3, 3))
    asymmetry = np.abs(tensor - tensor.T).max()
    if asymmetry > SYMMETRY_TOLERANCE * np.abs(tensor).max():
        i, j = np.unravel_index(np.argmax(np.abs(tensor - tensor.T)), (3, 3))
        raise ValueError(
            f"an inertia tensor is symmetric, but inertia[{i}, {j}] = {tensor[i, j]:g} "
            f"and inertia[{j}, {i}] = {tensor[j, i]:g}; pass (I + I.T) / 2 if the difference is noise"
        )
    return (tensor + tensor.T) / 2


def _rotor(rotor: Any) -> Floats:
    """The internal angular momentum that the user's argument means, checked."""
    g = np.array(checks.vector("rotor", rotor))
    if np.abs(g).max() > 1.0 / SMALLEST_MOMENT:
        raise ValueError(f"the rotor {_listed(g)} is near the end of the range of floats: use other units")
    return g + 0.0  # without a zero that has a sign, which would be another hash


def _listed(moments: Floats) -> str:
    """Writes the moments for a message."""
    return ", ".join(f"{m:g}" for m in moments)


@dataclass(frozen=True)
class NamedBody:
    """A body from the literature."""

    name: str
    moments: tuple[float, float, float]
    source: str
    """A key of `references.bib`."""
    note: str


NAMED = {
    b.name: b
    for b in (
        NamedBody("water", (0.345, 0.653, 1.0), "vilmart2008", "scaled water molecule; slightly unphysical"),
        NamedBody("book", (5.0, 10.0, 1.0), "krysl2004", "the book toss; unphysical"),
        NamedBody("top", (5.0, 5.0, 1.0), "krysl2004", "fast and slow symmetric tops"),
        NamedBody("soft-wall", (2.0, 3.0, 4.5), "krysl2004", "body between Coulomb centre and soft wall"),
        NamedBody("mclachlan-zanna", (0.9144, 1.098, 1.66), "krysl2004", "freely spinning body"),
        NamedBody("lagrange-top", (0.875, 0.875, 0.25), "krysl2004", "Lagrangian top as in DiffMan's example 9"),
        NamedBody("heavy-top", (1000.0, 5000.0, 6000.0), "celledoni2006", "asymmetric heavy top; flat"),
        NamedBody("satellite", (1.7e4, 3.7e4, 5.4e4), "celledoni2006", "satellite under gravity gradient; flat"),
        NamedBody("descending", (5.0, 4.0, 3.0), "celledoni2006", "free body, moments in falling order"),
        NamedBody("spacecraft", (40.5, 40.6, 50.0), "khlistunova2003", "nearly symmetric spacecraft"),
        NamedBody("handout", (0.8, 0.9, 1.0), "handout", "nearly spherical body of the course project"),
    )
}
