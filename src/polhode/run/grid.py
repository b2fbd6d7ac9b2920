"""The grid of a run: segments without jumps, and where output times lie between its points."""

import math
from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polhode.kernels import judge
from polhode.kernels.algebra.vector_table import handle_of
from polhode.kernels.judge import grid
from polhode.kernels.loop.pieces import HEADER, PIECE, WIDTH
from polhode.problem import Plan, Problem
from polhode.support.arrays import Floats
from polhode.support.checks import FEW_NUMBERS


class Segment(NamedTuple):
    """A stretch without jumps: `steps` steps of length h from t0, the last one of length `last`, to t1."""

    t0: float
    t1: float
    h: float
    last: float
    steps: int

    @property
    def window(self) -> tuple[float, float]:
        """The open interval in which a torque sees times: jumps at the ends belong to neither side."""
        low, high = (self.t0, self.t1) if self.t0 < self.t1 else (self.t1, self.t0)
        return math.nextafter(low, math.inf), math.nextafter(high, -math.inf)


class Pieces:
    """The pieces of a span that many breakpoints cut, as arrays; the compiled loop goes through them by itself."""

    def __init__(self, ends: Floats, plan: Plan) -> None:
        """Takes the start of the run, the breakpoints and the end, in the order of the run."""
        self.t0, self.t1, self.step = ends[:-1], ends[1:], plan.step * plan.method.advance
        length, h = self.t1 - self.t0, self.step
        if (ratio := length / h).max() > 2**53:
            raise ValueError(f"step {h:g} needs {ratio.max():.2g} steps: take a longer one")
        if plan.in_pieces is None:
            whole = np.rint(ratio)
            self.steps = np.maximum(1.0, np.where(np.abs(ratio - whole) < 1e-6, whole, np.ceil(ratio)))
            self.h = np.full(length.size, h)
        else:
            longest, fewer = plan.in_pieces
            self.steps = np.maximum(2.0, np.ceil(length / (longest * plan.method.advance) - 1e-9))
            if plan.method.variable_steps:  # h bounds their length
                self.h = np.copysign(np.minimum(abs(h), np.abs(length) / (2.0 * fewer)), h)
            else:
                self.steps = np.maximum(1.0, np.floor(fewer * self.steps))
                self.h = length / self.steps
        last = self.t1 - (self.t0 + (self.steps - 1.0) * self.h)
        near = 4 * np.spacing(np.maximum(np.abs(self.t0), np.abs(self.t1)))
        self.last = np.where(np.abs(last - self.h) <= near, self.h, last)
        self.first = np.concatenate([[0.0], np.cumsum(self.steps)])
        """The number of steps before each piece, and in all."""

    def __getitem__(self, k: int) -> Segment:
        t0, t1, h, last = (float(x[k]) for x in (self.t0, self.t1, self.h, self.last))
        return Segment(t0, t1, h, last, int(self.steps[k]))

    @property
    def whole(self) -> Segment:
        """The whole span as one segment; its steps are those of all pieces."""
        return Segment(float(self.t0[0]), float(self.t1[-1]), self.step, float(self.last[-1]), int(self.first[-1]))

    def those_of(self, times: Floats) -> NDArray[np.int64]:
        """The piece in which each time lies; where one ends and the next begins, it is the first of them."""
        sign = math.copysign(1.0, self.step)
        found = np.searchsorted(sign * self.t1, sign * times, side="left")
        return np.minimum(found, self.t1.size - 1)

    def located(self, times: Floats) -> tuple[NDArray[np.int64], Floats]:
        """Returns for each time the grid point of its piece before it, and how far it lies beyond."""
        k = self.those_of(times)
        return _located_together(self.t0[k], self.h[k], self.last[k], self.steps[k], times)

    def times(self, steps: Floats) -> Floats:
        """The times after these numbers of steps from the start."""
        k = np.minimum(np.searchsorted(self.first[1:], steps, side="left"), self.t0.size - 1)
        return np.where(steps == self.first[k + 1], self.t1[k], (steps - self.first[k]) * self.h[k] + self.t0[k])

    def numbers(self, times: Floats | None, *, variable: bool) -> Floats:
        """The numbers of all pieces as the compiled loop reads them."""
        flat = np.empty(HEADER + self.t0.size * WIDTH)  # filled where it lies: there may be a million pieces
        flat[0] = float(self.t0.size)
        numbers = flat[HEADER:].reshape(-1, WIDTH)
        low, high = (self.t0, self.t1) if self.step > 0.0 else (self.t1, self.t0)
        numbers[:, PIECE.t0], numbers[:, PIECE.h], numbers[:, PIECE.steps] = self.t0, self.h, self.steps
        numbers[:, PIECE.end] = self.t1 - self.t0 if variable else self.last
        numbers[:, PIECE.low], numbers[:, PIECE.high] = np.nextafter(low, np.inf), np.nextafter(high, -np.inf)
        numbers[:, PIECE.first] = numbers[:, PIECE.beyond] = 0.0
        if times is not None:
            k = self.those_of(times)
            numbers[:, PIECE.first] = np.searchsorted(k, np.arange(self.t0.size), side="left")
            numbers[:, PIECE.beyond] = np.searchsorted(k, np.arange(self.t0.size), side="right")
        return flat


class PiecePlan:
    """The numbers of the pieces in memory, where the compiled loop finds them by a handle, as long as this lives."""

    def __init__(self, pieces: Pieces, times: Floats | None, *, variable: bool) -> None:
        self.pieces, self.numbers = pieces, pieces.numbers(times, variable=variable)
        self.handle = handle_of(self.numbers)
        self.times_in_first = int(self.numbers[HEADER + PIECE.beyond])
        """The number of listed times in the first piece."""


MANY_BREAKPOINTS = 4
"""A torque with more has its pieces in one compiled loop: about 150 us for each are saved, for another program."""


def has_pieces(problem: Problem, plan: Plan) -> bool:
    """Whether a span is cut into pieces, because the torque has many breakpoints, or knots that are taken for such."""
    if problem.torque.sample_kernel is not None:
        return problem.torque.samples_compiled
    return plan.at_knots or len(problem.breakpoints) > MANY_BREAKPOINTS


def stops_of(problem: Problem, t0: float, t1: float, *, at_knots: bool) -> Floats:
    """The breakpoints between two times, with the knots if these count, from the first to the last."""
    low, high = min(t0, t1), max(t0, t1)

    def inside(times: tuple[float, ...]) -> Floats:
        return np.array(times[bisect_right(times, low) : bisect_left(times, high)], dtype=np.float64)

    found = inside(problem.breakpoints)
    return np.union1d(found, inside(problem.torque.knots)) if at_knots else found


def pieces_of(problem: Problem, plan: Plan, t_begin: float | None = None) -> Pieces | None:
    """The pieces of a run whose torque has many breakpoints; None: it has few."""
    if not has_pieces(problem, plan):
        return None
    t0, t1 = problem.t_start if t_begin is None else t_begin, problem.t_end
    inside = stops_of(problem, t0, t1, at_knots=plan.at_knots)
    if plan.first_stop is not None and min(t0, t1) < plan.first_stop < max(t0, t1):
        inside = np.union1d(inside, [plan.first_stop])
    return Pieces(np.concatenate([[t0], inside if t1 > t0 else inside[::-1], [t1]]), plan)


def between_stops(problem: Problem, *, at_knots: bool = False) -> tuple[float, float]:
    """The lengths of the shortest and the longest stretch of a span between breakpoints, or knots too."""
    low, high = sorted((problem.t_start, problem.t_end))
    lengths = np.diff([low, *stops_of(problem, low, high, at_knots=at_knots), high])
    return float(lengths.min()), float(lengths.max())


class Grid(NamedTuple):
    """What decides the segments of a run, and nothing else does."""

    t0: float
    t1: float
    h: float
    breakpoints: tuple[float, ...]


def grid_of(problem: Problem, plan: Plan, t_begin: float | None = None) -> Grid:
    """What decides the segments of a run, which may begin later than its problem does."""
    breaks = problem.breakpoints
    if plan.first_stop is not None:
        breaks = tuple(sorted({*breaks, plan.first_stop}))
    begin = problem.t_start if t_begin is None else t_begin
    return Grid(begin, problem.t_end, plan.step * plan.method.advance, breaks)


def segments_of(problem: Problem, plan: Plan, t_begin: float | None = None) -> list[Segment]:
    """The segments of a run, which may begin later than its problem does."""
    return segments(*grid_of(problem, plan, t_begin))


def segments(t0: float, t1: float, h: float, breakpoints: tuple[float, ...]) -> list[Segment]:
    """Cuts a span at the breakpoints that lie inside it; each segment has a grid of its own."""
    if not breakpoints:
        return [one_segment(t0, t1, h)]
    inside = [b for b in breakpoints if min(t0, t1) < b < max(t0, t1)]
    ends = [t0, *(inside if t1 > t0 else reversed(inside)), t1]
    return [one_segment(a, b, h) for a, b in pairwise(ends)]


def one_segment(a: float, b: float, h: float) -> Segment:
    """The grid of a stretch without breakpoints; its last step may be shorter."""
    check_steps(a, b, h)
    steps, last = grid(a, b, h)
    return Segment(a, b, h, last, steps)


def check_steps(a: float, b: float, h: float) -> None:
    """Raises a ValueError if there are more steps than can be counted."""
    if (ratio := (b - a) / h) > 2**53:
        raise ValueError(f"step {h:g} needs {ratio:.2g} steps: take a longer one")


def times_in(segment: Segment, times: Floats, *, first: bool) -> Floats:
    """The listed times that lie in a segment; its start belongs to it only if it is the first one."""
    sign = math.copysign(1.0, segment.h)
    after = bisect_left if first else bisect_right
    begin = after(times, sign * segment.t0, key=lambda t: sign * t)
    return times[begin : bisect_right(times, sign * segment.t1, key=lambda t: sign * t)]


def located(segment: Segment, times: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Returns for each time the grid point before it and how far it lies beyond; on the grid that is exactly zero."""
    t0, _, h, last, steps = segment
    if times.size <= FEW_NUMBERS:  # for these the calls of NumPy take longer
        found = [judge.located(t0, h, last, steps, t) for t in times.tolist()]
        return np.array([i for i, _ in found], dtype=np.int64), np.array([x for _, x in found])
    return _located_together(t0, h, last, steps, times)


def _located_together(t0: Any, h: Any, last: Any, steps: Any, times: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Does what `located` does, by NumPy; the numbers of the segment may be arrays, one for each time."""
    before = np.minimum(np.floor((times - t0) / h), steps - 1)
    offset = times - (t0 + before * h)
    near = 8 * np.spacing(np.maximum(np.abs(times), abs(t0)))
    after = np.abs(offset - np.where(before == steps - 1, last, h)) <= near
    offset[after | (np.abs(offset) <= near)] = 0.0
    return (before + after).astype(np.int64), offset
