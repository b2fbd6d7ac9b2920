"""The grid of a run: segments without jumps, and where output times lie between its points."""

import math
from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polhode._arrays import Floats
from polhode._check import FEW_NUMBERS
from polhode.problem import Plan, Problem


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


def segments_of(problem: Problem, plan: Plan, t_begin: float | None = None) -> list[Segment]:
    """Returns the grid of a run, which may begin later than its problem does."""
    t0 = problem.t_start if t_begin is None else t_begin
    breaks = problem.torque.breakpoints
    if plan.first_stop is not None:
        breaks = tuple(sorted({*breaks, plan.first_stop}))
    return segments(t0, problem.t_end, plan.step * plan.method.advance, breaks)


def segments(t0: float, t1: float, h: float, breakpoints: tuple[float, ...]) -> list[Segment]:
    """Cuts a span at the breakpoints that lie inside it; each segment has a grid of its own."""
    if not breakpoints:
        return [_segment(t0, t1, h)]
    inside = [b for b in breakpoints if min(t0, t1) < b < max(t0, t1)]
    ends = [t0, *(inside if t1 > t0 else reversed(inside)), t1]
    return [_segment(a, b, h) for a, b in pairwise(ends)]


def _segment(a: float, b: float, h: float) -> Segment:
    ratio = (b - a) / h
    if ratio > 2**53:
        raise ValueError(f"step {h:g} needs {ratio:.2g} steps: take a longer one")
    whole = round(ratio)
    steps = max(1, whole if abs(ratio - whole) < 1e-6 else math.ceil(ratio))
    last = b - (a + (steps - 1) * h)
    if abs(last - h) <= 4 * math.ulp(max(abs(a), abs(b))):
        last = h  # the difference is round-off of the times
    return Segment(a, b, h, last, steps)


def times_in(segment: Segment, times: Floats, *, first: bool) -> Floats:
    """Returns the listed times that lie in a segment; its start belongs to it only if it is the first one."""
    sign = math.copysign(1.0, segment.h)
    after = bisect_left if first else bisect_right
    begin = after(times, sign * segment.t0, key=lambda t: sign * t)
    return times[begin : bisect_right(times, sign * segment.t1, key=lambda t: sign * t)]


def located(segment: Segment, times: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Returns for each time the grid point before it and how far it lies beyond; on the grid that is exactly zero."""
    if times.size <= FEW_NUMBERS:
        return _located_one_by_one(segment, times)
    t0, _, h, last, steps = segment
    before = np.minimum(np.floor((times - t0) / h), steps - 1)
    offset = times - (t0 + before * h)
    near = 8 * np.spacing(np.maximum(np.abs(times), abs(t0)))
    after = np.abs(offset - np.where(before == steps - 1, last, h)) <= near
    offset[after | (np.abs(offset) <= near)] = 0.0
    return (before + after).astype(np.int64), offset


def _located_one_by_one(segment: Segment, times: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Does the same for a few times, for which the calls of NumPy take longer."""
    t0, _, h, last, steps = segment
    index: list[int] = []
    offsets: list[float] = []
    ulp = math.ulp
    final, nearest = steps - 1, 8 * ulp(t0)
    for t in times.tolist():
        before, length = int((t - t0) / h), h
        if before >= final:
            before, length = final, last
        offset, near = t - (t0 + before * h), 8 * ulp(t)
        if near < nearest:
            near = nearest
        if -near <= offset - length <= near:
            before, offset = before + 1, 0.0
        elif -near <= offset <= near:
            offset = 0.0
        index.append(before)
        offsets.append(offset)
    return np.array(index, dtype=np.int64), np.array(offsets)
