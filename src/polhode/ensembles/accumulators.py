"""Accumulators of sums, extremes, histograms and quantiles over bodies, block by block.

A body without a value has NaN, and is left out. Blocks are always the same, and so is the order in which they are
joined: in pairs, pairs of pairs, and so on, by the numbers of their bodies. So bodies may as well be added in parts, by
different processes. A part of 2**n blocks that begins at a multiple of its size is one node of the same tree: its
`state`, a few arrays, is put where it belongs by `join`, and the bits of the results do not depend on the parts.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from polhode.support.arrays import Floats

QUANTILE_BYTES = 2**27
"""The memory for the quantiles of one quantity over bodies; beyond it, numbers are thinned out."""
LEAST_KEPT = 256
"""Thinned-out rows are not shorter than this."""
WORST_RANK = 0.01
"""Quantiles whose error of the rank could be larger than this are refused."""
EXTREMES = {"min": np.fmin, "max": np.fmax}

State = dict[str, Any]
"""What an accumulator has found out, as arrays by their names: it can be written to a file and joined elsewhere."""


class WholeQuantity:
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

    def state(self) -> State:
        """The rows of the bodies that were added."""
        return {"rows": self.result()}

    def join(self, state: State) -> None:
        """Adds the rows of the bodies that follow."""
        self.add(state["rows"])

    def result(self) -> Any:
        """The rows of the bodies that were added."""
        return None if self.all is None else self.all[: self.filled]


class BlockSum(Protocol):
    """What is known of the bodies of some blocks that stand beside each other."""

    def joined(self: N, other: N) -> N:
        """What is known of these bodies and of those that follow."""

    def arrays(self) -> State:
        """It as arrays."""


N = TypeVar("N", bound=BlockSum)


class Tree(Generic[N]):
    """Joins nodes in pairs: at level n there is at most one, of 2**n blocks, which waits for the one beside it."""

    def __init__(self, restored: Callable[[State], N]) -> None:
        self.restored = restored
        self.nodes: list[N | None] = []

    def push(self, node: N, level: int = 0) -> None:
        """Adds the next node, which must stand for as many blocks as one of this level, or end the tree."""
        self.nodes += [None] * (level + 1 - len(self.nodes))
        while (before := self.nodes[level]) is not None:
            node, self.nodes[level] = before.joined(node), None
            level += 1
            if level == len(self.nodes):
                self.nodes.append(None)
        self.nodes[level] = node

    def whole(self) -> N | None:
        """What is known of all blocks; None: there were none."""
        total: N | None = None
        for node in reversed(self.nodes):
            if node is not None:
                total = node if total is None else total.joined(node)
        return total

    def state(self) -> State:
        """The nodes as arrays."""
        waiting = ((level, node) for level, node in enumerate(self.nodes) if node is not None)
        return {f"{level}_{name}": x for level, node in waiting for name, x in node.arrays().items()}

    def join(self, state: State) -> None:
        """Adds the nodes of the bodies that follow, the largest first."""
        by_level: dict[int, State] = {}
        for key, x in state.items():
            number, _, name = key.partition("_")
            by_level.setdefault(int(number), {})[name] = x
        for level in sorted(by_level, reverse=True):
            self.push(self.restored(by_level[level]), level)


class Sums:
    """Numbers, means and sums of squares about them (None: only means), joined without cancellation. [chan1983]"""

    def __init__(self, n: Any, mean: Any, squares: Any, *, matrix: bool) -> None:
        self.n, self.mean, self.squares, self.matrix = n, mean, squares, matrix

    @classmethod
    def of(cls, kind: str, x: Any) -> Sums:
        """Those of a block of bodies."""
        x = np.ascontiguousarray(x, dtype=np.float64)
        there = ~np.isnan(x)
        if kind == "cov":
            there = there.all(axis=-1, keepdims=True)
        n = there.sum(axis=0)
        mean = np.where(there, x, 0.0).sum(axis=0) / np.maximum(n, 1)
        squares = None
        if kind != "mean":
            d = np.where(there, x - mean, 0.0)
            # einsum needs no room for the products of each body
            squares = np.einsum("n...i,n...j->...ij", d, d) if kind == "cov" else (d * d).sum(axis=0)
        return cls(n, mean, squares, matrix=kind == "cov")

    def joined(self, other: Sums) -> Sums:
        """Those of both together."""
        total = self.n + other.n
        part = other.n / np.maximum(total, 1)
        off = np.where(other.n > 0, other.mean - self.mean, 0.0)
        squares = self.squares
        if squares is not None:
            between = self.n * part
            apart = off[..., :, None] * off[..., None, :] * between[..., None] if self.matrix else off * off * between
            squares = squares + (other.squares + apart)
        return Sums(total, self.mean + off * part, squares, matrix=self.matrix)

    def arrays(self) -> State:
        """Them as arrays."""
        return {"n": self.n, "mean": self.mean, **({} if self.squares is None else {"squares": self.squares})}


class MomentSums(Tree[Sums]):
    """Makes means, standard deviations or covariances."""

    def __init__(self, kind: str) -> None:
        super().__init__(lambda a: Sums(a["n"], a["mean"], a.get("squares"), matrix=kind == "cov"))
        self.kind = kind

    def add(self, x: Any) -> None:
        """Adds a block of bodies."""
        self.push(Sums.of(self.kind, x))

    def result(self) -> Any:
        """The mean, the standard deviation or the covariances; NaN where no body has a value."""
        if (all_ := self.whole()) is None:
            return np.nan
        some = np.maximum(all_.n, 1)
        if self.kind == "cov":
            return np.where((all_.n > 0)[..., None], all_.squares / some[..., None], np.nan)
        return np.where(all_.n > 0, all_.mean if self.kind == "mean" else np.sqrt(all_.squares / some), np.nan)


class Extreme:
    """Finds the least or the greatest value."""

    def __init__(self, kind: str) -> None:
        self.better = EXTREMES[kind]
        self.best: Any = np.nan

    def add(self, x: Any) -> None:
        """Adds a block of bodies."""
        self.best = self.better(self.best, self.better.reduce(x, axis=0))

    def state(self) -> State:
        """The extreme value of the bodies that were added."""
        return {"best": self.best}

    def join(self, state: State) -> None:
        """Adds the bodies that follow."""
        self.best = self.better(self.best, state["best"])

    def result(self) -> Any:
        """The extreme value; NaN where no body has a value."""
        return self.best + 0.0 if np.asarray(self.best).dtype.kind == "f" else self.best  # of two zeros, the positive


class Histogram:
    """Counts the values between edges; the last bin has both of its edges, as NumPy's."""

    def __init__(self, edges: tuple[float, ...]) -> None:
        self.edges = np.array(edges)
        self.counts: Any = None
        """(bins + 2, ...): with those below the first edge and above the last one."""

    def add(self, x: Any) -> None:
        """Adds a block of bodies."""
        x = np.asarray(x, dtype=np.float64)
        columns = x.reshape(len(x), -1)
        bins = self.edges.size + 1
        place = np.searchsorted(self.edges, columns, side="right")
        place[columns == self.edges[-1]] = bins - 2
        place += bins * np.arange(columns.shape[1])
        found = np.bincount(place[~np.isnan(columns)], minlength=bins * columns.shape[1])
        found = np.moveaxis(found.reshape(*x.shape[1:], bins), -1, 0)
        self.counts = found if self.counts is None else self.counts + found

    def state(self) -> State:
        """The counts of the bodies that were added."""
        return {} if self.counts is None else {"counts": self.counts}

    def join(self, state: State) -> None:
        """Adds the bodies that follow."""
        self.counts = state["counts"] if self.counts is None else self.counts + state["counts"]

    @property
    def outside(self) -> int:
        """The number of values below the first edge or above the last one."""
        return 0 if self.counts is None else int(self.counts[0].sum() + self.counts[-1].sum())

    def result(self) -> Any:
        """The counts, (bins, ...)."""
        return np.zeros(self.edges.size - 1, dtype=np.int64) if self.counts is None else self.counts[1:-1]


class Total:
    """What a function of the user's has made of some bodies, and the function that joins two of them."""

    def __init__(self, total: Any, join: Callable[[Any, Any], Any]) -> None:
        self.total, self.join = total, join

    def joined(self, other: Total) -> Total:
        """What the user's function makes of both."""
        # A copy, because the function may change what it is given, which a copy of the fold still has.
        total = self.join(copy.deepcopy(self.total), other.total)
        _check_numbers(total)
        return Total(total, self.join)

    def arrays(self) -> State:
        """It as an array."""
        return {"total": np.asarray(self.total)}


class Fold:
    """Applies a user's function block by block; with `join`, to each block alone, and joins the results as sums."""

    def __init__(
        self, function: Callable[[Any, Any], Any], start: Any, join: Callable[[Any, Any], Any] | None = None
    ) -> None:
        self.function, self.start = function, start
        self.total = copy.deepcopy(start)  # which the function may change in place, and the user may use again
        self.tree = None if join is None else Tree(lambda arrays: Total(arrays["total"], join))

    def copied(self) -> Fold:
        """Returns a copy that goes on from here, and leaves this one as it is."""
        other = copy.copy(self)
        if self.tree is None:
            other.total = copy.deepcopy(self.total)
        else:
            other.tree = Tree(self.tree.restored)
            other.tree.nodes = list(self.tree.nodes)
        return other

    def add(self, x: Any) -> None:
        """Adds a block of bodies."""
        total = self.function(copy.deepcopy(self.start) if self.tree else self.total, x)
        _check_numbers(total)  # at the end it would be too late: the run would be lost
        if self.tree is None:
            self.total = total
        else:
            self.tree.push(self.tree.restored({"total": total}))

    def state(self) -> State:
        """What was made of the bodies that were added."""
        assert self.tree is not None
        return self.tree.state()

    def join(self, state: State) -> None:
        """Adds the bodies that follow."""
        assert self.tree is not None
        self.tree.join(state)

    def result(self) -> Any:
        """What the function has made of all bodies."""
        whole = None if self.tree is None else self.tree.whole()
        return np.asarray(self.total if whole is None else whole.total)


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

    def __init__(self, levels: tuple[float, ...], count: int, part: range | None = None) -> None:
        """Takes the number of all bodies, and the part of them that will be added."""
        self.levels, self.count = levels, count
        self.part = range(count) if part is None else part
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
        self.waiting = np.full((columns, min(self.k, len(self.part))), np.nan)
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

    def state(self) -> State:
        """What is left of the bodies that were added."""
        if self.waiting is None:
            return {}
        found = {"shape": np.array(self.shape, dtype=np.int64), "there": self.there, "added": np.array(self.added)}
        found |= {f"row{level}": row for level, row in enumerate(self.rows) if row is not None}
        return found | {"waiting": self.waiting[:, : self.filled]}

    def join(self, state: State) -> None:
        """Adds the bodies that follow."""
        if self.waiting is None:
            self._begin(tuple(state["shape"].tolist()))
        rows = sorted((int(name[3:]) for name in state if name.startswith("row")), reverse=True)
        waiting = state["waiting"]
        for level in rows:
            self._join(state[f"row{level}"], level)
        known = (self.added + int(state["added"]), self.there + state["there"])
        if waiting.shape[1]:
            self.add(np.moveaxis(waiting.reshape(*self.shape, waiting.shape[1]), -1, 0))
        self.added, self.there = known

    def _join(self, row: Any, level: int = 0) -> None:
        while len(self.rows) < level:
            self._rise()
        while level < len(self.rows) and self.rows[level] is not None:
            both = np.sort(np.concatenate([self.rows[level], row], axis=1), axis=1)  # NaN comes last, like infinity
            row, self.rows[level] = both[:, self.turns[level] :: 2], None
            self.turns[level] ^= 1  # by turns, so that errors of one sign do not add up
            level += 1
        if level == len(self.rows):
            self._rise()
        self.rows[level] = row

    def _rise(self) -> None:
        """Makes room for a row that stands for twice as many numbers, with the turn that it has at the first body."""
        self.turns.append(self.part.start // (self.k << (len(self.rows) + 1)) & 1)
        self.rows.append(None)

    def result(self) -> Any:
        """The quantiles, (levels, ...)."""
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
    """Quantiles, interpolated, of columns sorted along the first axis, with NaN behind the n numbers of each."""
    found = []
    for level in levels:
        position = level * np.maximum(n - 1, 0)
        below = np.floor(position).astype(np.int64)
        above = np.minimum(below + 1, np.maximum(n - 1, 0))
        a, b = (np.take_along_axis(x, k[None], axis=0)[0] for k in (below, above))
        part = position - below
        found.append(np.where((part > 0) & (a != b), a + part * (b - a), a))
    return np.array(found)


Accumulator = WholeQuantity | MomentSums | Extreme | Histogram | Fold | Quantiles


def accumulator(kind: str | None, argument: Any, count: int, part: range | None = None) -> Accumulator:
    """The accumulator for one kind of reduction of all `count` bodies, or of a part; kind None keeps all rows."""
    part = range(count) if part is None else part
    if kind is None:
        return WholeQuantity(len(part))
    if kind == "quantile":
        return Quantiles(argument[0], count, part)
    if kind == "histogram":
        return Histogram(argument)
    if kind == "own":
        return Fold(*argument)
    return Extreme(kind) if kind in EXTREMES else MomentSums(kind)
