"""Sums, extremes and quantiles over bodies, which are added block by block in their order.

A body without a value has NaN, and is left out. The blocks are always the same, and so are the bits of the results.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from polhode._arrays import Floats

QUANTILE_BYTES = 2**27
"""The memory for the quantiles of one quantity over bodies; beyond it, numbers are thinned out."""
LEAST_KEPT = 256
"""Thinned-out rows are not shorter than this."""
WORST_RANK = 0.01
"""Quantiles whose error of the rank could be larger than this are refused."""

EXTREMES = {"min": np.fmin, "max": np.fmax}


class Kept:
    """Keeps a quantity whole, with a row for each body."""

    def __init__(self, count: int) -> None:
        self.count, self.filled = count, 0
        self.all: Any = None

    def add(self, x: Any) -> None:
        """Adds the rows of more bodies."""
        if self.all is None:
            self.all = np.empty((self.count, *x.shape[1:]), dtype=x.dtype)
        if (both := np.result_type(self.all, x)) != self.all.dtype:  # whole numbers up to here, fractions from now on
            self.all = self.all.astype(both)
        self.all[self.filled : self.filled + len(x)] = x
        self.filled += len(x)

    def result(self) -> Any:
        """Returns the rows of the bodies that were added."""
        return None if self.all is None else self.all[: self.filled]


class Moments:
    """Makes means, standard deviations or covariances.

    Blocks are joined by their means and their sums of squares about them: nothing cancels. [chan1983]
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.n: Any = 0
        self.mean: Any = 0.0
        self.squares: Any = 0.0

    def add(self, x: Any) -> None:
        """Adds a block of bodies."""
        x = np.ascontiguousarray(x, dtype=np.float64)
        there = ~np.isnan(x)
        if self.kind == "cov":
            there = there.all(axis=-1, keepdims=True)
        n = there.sum(axis=0)
        some = np.maximum(n, 1)
        mean = np.where(there, x, 0.0).sum(axis=0) / some
        total = np.maximum(self.n + n, 1)
        off = np.where(n > 0, mean - self.mean, 0.0)
        if self.kind != "mean":
            d = np.where(there, x - mean, 0.0)
            between = self.n * (n / total)
            if self.kind == "cov":
                within = np.einsum("n...i,n...j->...ij", d, d)  # which needs no room for the products of each body
                self.squares = self.squares + (within + off[..., :, None] * off[..., None, :] * between[..., None])
            else:
                self.squares = self.squares + ((d * d).sum(axis=0) + off * off * between)
        self.mean = self.mean + off * (n / total)
        self.n = self.n + n

    def result(self) -> Any:
        """Returns the mean, the standard deviation or the covariances; NaN where no body has a value."""
        some = np.maximum(self.n, 1)
        if self.kind == "cov":
            return np.where((self.n > 0)[..., None], self.squares / some[..., None], np.nan)
        return np.where(self.n > 0, self.mean if self.kind == "mean" else np.sqrt(self.squares / some), np.nan)


class Extreme:
    """Finds the least or the greatest value."""

    def __init__(self, kind: str) -> None:
        self.better = EXTREMES[kind]
        self.best: Any = np.nan

    def add(self, x: Any) -> None:
        """Adds a block of bodies."""
        self.best = self.better(self.best, self.better.reduce(x, axis=0))

    def result(self) -> Any:
        """Returns the extreme value; NaN where no body has a value."""
        return self.best


class Fold:
    """Applies a function of the user's to one block after the other."""

    def __init__(self, function: Callable[[Any, Any], Any], start: Any) -> None:
        self.function = function
        self.total = copy.deepcopy(start)  # which the function may change in place, and the user may use again

    def copied(self) -> Fold:
        """Returns a copy that goes on from here, and leaves this one as it is."""
        other = copy.copy(self)
        other.total = copy.deepcopy(self.total)
        return other

    def add(self, x: Any) -> None:
        """Adds a block of bodies."""
        self.total = self.function(self.total, x)
        _check_numbers(self.total)  # at the end it would be too late: the run would be lost

    def result(self) -> Any:
        """Returns what the function has returned last."""
        return np.asarray(self.total)


def _check_numbers(total: Any) -> None:
    try:
        fits = np.asarray(total).dtype.kind in "biufc"
    except ValueError:  # of rows that differ in their length
        fits = False
    if not fits:
        raise TypeError(
            f"what a fold makes must be a number or an array of numbers, not {total!r}: use a fold for each of them"
        )


class Quantiles:
    """Finds quantiles over bodies, in every column: at every time, of every component.

    As long as all numbers fit, they are kept, and quantiles are exact. Else they are thinned out: k of them are sorted;
    of two such rows every other number of both together is kept, standing for two, and so on. A number that stands
    for w of them is wrong by no more than w in its rank after each joining; there are at most n / (2 k w) joinings of
    such rows among n bodies, so that every level adds no more than n / (2 k), and the number that is found in the end
    stands for n / k of them. Bodies without a value count as infinite ones until the end. [munro1980, manku1998]
    """

    def __init__(self, levels: tuple[float, ...], count: int) -> None:
        self.levels, self.count = levels, count
        self.shape: tuple[int, ...] = ()
        self.k = 0
        self.waiting: Any = None  # columns with room for k numbers
        self.filled = 0
        self.rows: list[Any] = []  # at most one row of sorted numbers for each power of two
        self.turns: list[int] = []
        self.bound = 0.0
        """The largest possible error of a rank, as a part of all bodies."""
        self.added = 0
        self.there: Any = None
        """The number of values in each column."""

    @property
    def rank_error(self) -> float:
        """The largest possible error of a rank, as a part of the bodies that have a value."""
        if self.there is None or not self.there.any():
            return self.bound
        return float(min(1.0, self.bound * self.added / self.there[self.there > 0].min()))

    def _begin(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        columns = math.prod(shape)
        room = max(1, QUANTILE_BYTES // (8 * max(1, columns)))
        self.k = self.count
        if self.count > room:
            self.k = 2 ** math.floor(math.log2(room))
            while self.k >= LEAST_KEPT and (self._doublings() + 3) * self.k > room:
                self.k //= 2
            self.bound = (0.5 * self._doublings() + 1.0) / self.k
            if self.k < LEAST_KEPT or self.bound > WORST_RANK:
                raise ValueError(
                    f"quantiles over bodies of {columns} numbers each (times, components) do not fit: ask for fewer "
                    "output times, or reduce over time first"
                )
        self.waiting = np.full((columns, self.k), np.nan)
        self.there = np.zeros(columns, dtype=np.int64)

    def _doublings(self) -> int:
        return max(1, math.ceil(math.log2(self.count / self.k)))

    def add(self, x: Any) -> None:
        """Adds a block of bodies."""
        x = np.asarray(x, dtype=np.float64)
        if self.waiting is None:
            self._begin(x.shape[1:])
        x = x.reshape(len(x), -1).T
        self.added, self.there = self.added + x.shape[1], self.there + (~np.isnan(x)).sum(axis=1)
        while x.shape[1]:
            taken = min(self.k - self.filled, x.shape[1])
            self.waiting[:, self.filled : self.filled + taken] = x[:, :taken]
            self.filled, x = self.filled + taken, x[:, taken:]
            if self.filled == self.k < self.count:
                self._join(np.sort(self.waiting, axis=1))
                self.filled = 0

    def _join(self, row: Any) -> None:
        level = 0
        while level < len(self.rows) and self.rows[level] is not None:
            both = np.sort(np.concatenate([self.rows[level], row], axis=1), axis=1)  # NaN comes last, like infinity
            row, self.rows[level] = both[:, self.turns[level] :: 2], None
            self.turns[level] ^= 1  # by turns, so that errors of one sign do not add up
            level += 1
        if level == len(self.rows):
            self.rows.append(None)
            self.turns.append(0)
        self.rows[level] = row

    def result(self) -> Any:
        """Returns the quantiles, (levels, ...)."""
        if self.waiting is None:
            return None
        rest = np.sort(self.waiting[:, : self.filled], axis=1)
        if not any(row is not None for row in self.rows):
            x = rest.T
            exact = quantiles_of(x, np.sum(~np.isnan(x), axis=0), self.levels)
            return exact.reshape(len(self.levels), *self.shape)
        standing = [(row, 2.0**level) for level, row in enumerate(self.rows) if row is not None] + [(rest, 1.0)]
        weights = np.concatenate([np.full(row.shape[1], weight) for row, weight in standing])
        found = np.empty((len(self.levels), len(rest)))
        for column in range(len(rest)):
            x = np.concatenate([row[column] for row, _ in standing])
            order = np.argsort(x, kind="stable")[: np.sum(~np.isnan(x))]
            if order.size == 0:
                found[:, column] = np.nan
                continue
            below = np.cumsum(weights[order])  # the rank of a number is that of the last one it stands for
            ranks = np.array(self.levels) * (self.there[column] - 1.0)
            places = np.searchsorted(below, ranks, side="right")
            found[:, column] = x[order[np.minimum(places, order.size - 1)]]
        return found.reshape(len(self.levels), *self.shape)


def quantiles_of(x: Floats, n: Any, levels: tuple[float, ...]) -> Floats:
    """Returns quantiles of columns that are sorted along the first axis, with NaN behind the n numbers of each.

    Between two numbers they are interpolated.
    """
    found = []
    for level in levels:
        position = level * np.maximum(n - 1, 0)
        below = np.floor(position).astype(np.int64)
        above = np.minimum(below + 1, np.maximum(n - 1, 0))
        a, b = (np.take_along_axis(x, k[None], axis=0)[0] for k in (below, above))
        part = position - below
        found.append(np.where((part > 0) & (a != b), a + part * (b - a), a))
    return np.array(found)


Accumulator = Kept | Moments | Extreme | Fold | Quantiles


def accumulator(kind: str | None, argument: Any, count: int) -> Accumulator:
    """Returns an accumulator for `count` bodies and one kind of reduction; None keeps all rows."""
    if kind is None:
        return Kept(count)
    if kind == "quantile":
        return Quantiles(argument[0], count)
    if kind == "own":
        return Fold(*argument)
    return Extreme(kind) if kind in EXTREMES else Moments(kind)
