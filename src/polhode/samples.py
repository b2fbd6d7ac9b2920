"""Distributions from which an ensemble is drawn, in place of arrays.

    ph.ensemble(body, omega=samples.Normal([0, 0, 5], 0.1), attitude=samples.Attitude(), count=1000, seed=1, ...)

Any function `f(rng, n)` of a NumPy generator that returns n rows can be used as well. What body k draws depends on the
seed and on k alone: not on the number of bodies, nor on what else is drawn, nor on threads. The generator is Philox
[salmon2011], restarted for every block of bodies. A new version of NumPy may, rarely, draw other normal numbers.

Examples
--------
>>> ph.samples.Normal([0, 2, 0], 0.1)
Normal(mean=[0, 2, 0], sd=0.1, covariance=None)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from polhode.body import Body
from polhode.kernels.algebra.quat import multiply
from polhode.support import checks
from polhode.support.arrays import Floats, to_space, turn_of

__all__ = ["Attitude", "Inertia", "Isotropic", "Normal", "Uniform"]

BLOCK = 1024
"""Bodies are drawn in blocks of this many, always whole blocks, so that body k always draws the same."""
ARGUMENTS = ("body", "omega", "attitude", "parameters", "rotor", "state")
"""The arguments that can be drawn. Each has a random stream of its own, which does not depend on the others."""


class Distribution(ABC):
    """The base class of distributions of rows."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, n: int) -> Any:
        """Draws n rows."""


@dataclass(frozen=True, eq=False)
class Normal(Distribution):
    """Normally distributed numbers with the mean `mean`, and the standard deviation `sd` or a covariance matrix.

    `sd` is one number, or one for each component.
    """

    mean: Any
    sd: Any = None
    covariance: Any = None

    def __post_init__(self) -> None:
        mean = checks.row("mean", self.mean)
        if (self.sd is None) == (self.covariance is None):
            raise ValueError("give sd, the standard deviation, or a covariance matrix: exactly one of the two")
        if self.sd is not None:
            sd = _broadcast("sd", self.sd, mean.size)
            if (sd < 0).any():
                raise ValueError(f"sd must not be negative, but it is {self.sd!r}")
        else:
            matrix = checks.array("covariance", self.covariance, (mean.size, mean.size))
            largest = np.abs(matrix).max()
            if np.abs(matrix - matrix.T).max() > 1e-12 * largest or np.linalg.eigvalsh(matrix).min() < -1e-12 * largest:
                raise ValueError("covariance must be symmetric, without negative eigenvalues")

    @cached_property
    def _root(self) -> Floats:
        """The matrix that makes numbers with this covariance of independent numbers with unit variance."""
        size = checks.row("mean", self.mean).size
        if self.sd is not None:
            return np.diag(_broadcast("sd", self.sd, size))
        values, vectors = np.linalg.eigh(np.array(self.covariance, dtype=np.float64))
        root: Floats = vectors * np.sqrt(np.maximum(values, 0.0))
        return root

    def draw(self, rng: np.random.Generator, n: int) -> Floats:
        """Draws n rows."""
        mean = checks.row("mean", self.mean)
        rows: Floats = mean + np.einsum("ni,ji->nj", rng.standard_normal((n, mean.size)), self._root)
        return rows


@dataclass(frozen=True, eq=False)
class Uniform(Distribution):
    """Numbers that are equally likely anywhere between `low` and `high`."""

    low: Any
    high: Any

    def __post_init__(self) -> None:
        self._bounds()

    def _bounds(self) -> tuple[Floats, Floats]:
        low, high = checks.row("low", self.low), checks.row("high", self.high)
        size = max(low.size, high.size)
        low, high = _broadcast("low", low, size), _broadcast("high", high, size)
        if (low > high).any():
            raise ValueError(f"low must not lie above high, but some of {self.low!r} lies above {self.high!r}")
        return low, high

    def draw(self, rng: np.random.Generator, n: int) -> Floats:
        """Draws n rows."""
        low, high = self._bounds()
        rows: Floats = low + (high - low) * rng.random((n, low.size))
        return rows


@dataclass(frozen=True, eq=False)
class Isotropic(Distribution):
    """Vectors of a given length, uniform in direction; a pair of lengths is a range, in which lengths are uniform."""

    length: Any = 1.0

    def __post_init__(self) -> None:
        self._bounds()

    def _bounds(self) -> tuple[float, float]:
        least, most = _broadcast("length", self.length, 2).tolist()
        if not 0 <= least <= most:
            raise ValueError(f"length must be a number from 0 on, or a pair of them that rises, not {self.length!r}")
        return least, most

    def draw(self, rng: np.random.Generator, n: int) -> Floats:
        """Draws n rows."""
        least, most = self._bounds()
        # By Archimedes the height of a point on the sphere is uniform, and so is its longitude.
        z, longitude = 2.0 * rng.random(n) - 1.0, 2.0 * np.pi * rng.random(n)
        r = np.sqrt((1.0 - z) * (1.0 + z))
        length = least + (most - least) * rng.random(n)
        rows: Floats = length[:, None] * np.stack([r * np.cos(longitude), r * np.sin(longitude), z], axis=1)
        return rows


@dataclass(frozen=True, eq=False)
class Attitude(Distribution):
    """Attitudes: uniform over all rotations, or near one of them.

    With `sd`, in radians, the attitude is `around` (in any form that `simulate` accepts; by default the axes coincide),
    followed by a turn with a normally distributed rotation vector in body axes: one deviation, or one for each axis.
    """

    around: Any = None
    sd: Any = None

    def __post_init__(self) -> None:
        checks.quaternion("around", self.around)
        if self.sd is None and self.around is not None:
            raise ValueError("give sd, the deviation from `around` in radians; without both, attitudes are uniform")
        if self.sd is not None and (_broadcast("sd", self.sd, 3) < 0).any():
            raise ValueError(f"sd must not be negative, but it is {self.sd!r}")

    def draw(self, rng: np.random.Generator, n: int) -> Floats:
        """Draws n rows, as quaternions."""
        if self.sd is None:
            return checks.unit(
                rng.standard_normal((n, 4))
            )  # whose direction is uniform on the sphere in four dimensions
        v = 0.5 * _broadcast("sd", self.sd, 3) * rng.standard_normal((n, 3))
        x, y, z = v.T
        half = np.sqrt(x * x + y * y + z * z)
        turns = (np.cos(half), *(np.sinc(half / np.pi) * v.T))
        around: Any = tuple(checks.quaternion("around", self.around, again=True).tolist())
        return np.stack(multiply(around, turns), axis=1)


MOST_ROUNDS = 1000
"""How often rows that are no tensor of a body are drawn again, at most."""


@dataclass(frozen=True, eq=False)
class Inertia(Distribution):
    """Inertia tensors near that of a body, of which no body is impossible.

    Either the moments have the relative standard deviations `moments`, one or three, and the principal axes are turned
    by a normally distributed rotation vector with the deviations `axes`, in radians, one or three; or the elements xx,
    yy, zz, xy, xz and yz of the tensor have a `covariance`, in (kg m^2)^2, as that of a fit. Tensors that no body has
    are drawn again, so that near a flat body or a rod the distribution is the part of the normal one that is possible.

    Examples
    --------
    >>> near = ph.samples.Inertia(ph.Body([1, 2, 2.8]), moments=0.05, axes=0.02)
    >>> run = ph.ensemble(near, omega=[0.1, 2, 0], count=500, seed=1, t_span=(0, 1), method="MR2", step=0.1)
    >>> all(one.body.physical for one in run)
    True
    """

    body: Body
    moments: Any = None
    axes: Any = 0.0
    covariance: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.body, Body):
            raise TypeError(f"body must be a polhode.Body, about which others are drawn, not {self.body!r}")
        self.body.check_constant("a distribution of tensors")
        if (self.moments is None) == (self.covariance is None):
            raise ValueError("give moments, relative standard deviations, or the covariance of the tensor: one of them")
        if self.covariance is not None:
            Normal(np.zeros(6), covariance=self.covariance)
        for name, value in (("moments", self.moments), ("axes", self.axes)):
            if value is not None and (_broadcast(name, value, 3) < 0.0).any():
                raise ValueError(f"{name} are standard deviations and must not be negative, not {value!r}")

    def draw(self, rng: np.random.Generator, n: int) -> Floats:
        """Draws n tensors, (n, 3, 3)."""
        made, left = np.empty((n, 3, 3)), np.arange(n)
        for _ in range(MOST_ROUNDS):
            made[left] = self._normal(rng, left.size)
            moments = np.linalg.eigvalsh(made[left])
            left = left[~((moments[:, 0] > 0.0) & (2.0 * moments[:, 2] <= moments.sum(axis=1)))]
            if not left.size:
                return made
        raise ValueError(
            f"of tensors with these deviations about {self.body!r} hardly any belongs to a body: give smaller ones"
        )

    def _normal(self, rng: np.random.Generator, n: int) -> Floats:
        """Tensors, of which some may be impossible."""
        if self.covariance is not None:
            i, j = np.array([(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]).T
            made = np.zeros((n, 3, 3))
            made[:, i, j] = self.body.tensor[i, j] + Normal(np.zeros(6), covariance=self.covariance).draw(rng, n)
            made[:, j, i] = made[:, i, j]
            return made
        moments = self.body.moments * (1.0 + _broadcast("moments", self.moments, 3) * rng.standard_normal((n, 3)))
        turn = turn_of(_broadcast("axes", self.axes, 3) * rng.standard_normal((n, 3)))
        axes = np.stack([to_space(turn, axis) for axis in self.body.axes.T], axis=2)
        return np.asarray((axes * moments[:, None, :]) @ axes.transpose(0, 2, 1))


def _broadcast(name: str, value: Any, size: int) -> Floats:
    row = checks.row(name, value)
    if row.size not in (1, size):
        raise ValueError(f"{name} must be one number or {size} of them, not {row.size}")
    return np.broadcast_to(row, (size,))


# --- draws ---------------------------------------------------------------------------------------------------------


def is_drawn(value: Any) -> bool:
    """Whether the value is a distribution or a function from which rows are to be drawn."""
    return isinstance(value, Distribution) or (callable(value) and not isinstance(value, type))


@dataclass(frozen=True, eq=False)
class Draws:
    """The rows of one argument, drawn when they are needed."""

    name: str
    source: Distribution | Callable[[np.random.Generator, int], Any]
    seed: int
    read: Callable[[str, Any], Floats]
    """Checks what was drawn, and returns it as an array."""

    def rows(self, first: int, beyond: int) -> Floats:
        """The rows of the bodies from `first` up to, but not including, `beyond`."""
        blocks = range(first // BLOCK, -(-beyond // BLOCK))
        drawn = np.concatenate([self._block(b) for b in blocks])
        return drawn[first - blocks.start * BLOCK : beyond - blocks.start * BLOCK]

    def _block(self, block: int) -> Floats:
        seeds = np.random.SeedSequence(self.seed, spawn_key=(ARGUMENTS.index(self.name), block))
        rng = np.random.Generator(np.random.Philox(seeds))
        try:
            drawn = self.source.draw(rng, BLOCK) if isinstance(self.source, Distribution) else self.source(rng, BLOCK)
            rows = self.read(self.name, drawn)
        except Exception as problem:
            problem.add_note(f"drawn for the bodies from {block * BLOCK} on, with the seed {self.seed}")
            raise
        if len(rows) != BLOCK:
            raise ValueError(f"{self.name}(rng, n) must return n rows, but for n = {BLOCK} there are {len(rows)}")
        return rows
