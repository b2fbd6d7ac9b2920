"""Times and rows of a run whose steps all have one length."""

from collections.abc import Callable
from functools import lru_cache
from typing import final

import numpy as np
from numpy.typing import NDArray

from polhode.kernels.loop.drive import AT, driver
from polhode.kernels.loop.pieces import over_pieces
from polhode.kernels.types import BoundStep
from polhode.run.buffers import Buffers, room
from polhode.run.grid import PiecePlan, Pieces, Segment, located, times_in
from polhode.support.arrays import Floats

driver_of = lru_cache(maxsize=128)(driver)


@lru_cache(maxsize=128)
def pieces_driver_of(stepper: BoundStep) -> Callable[..., int]:
    """Returns the loop over pieces around that over steps."""
    return over_pieces(stepper, driver_of(stepper), variable=False)


@final
class FixedSteps:
    """Rows of output on a grid that is known from the start."""

    clock = 0
    """The number of floats that stand after the state."""

    def __init__(
        self, segments: list[Segment], times: Floats | None, every: int | None, pieces: Pieces | None = None
    ) -> None:
        """Takes segments, or the pieces of one: where many breakpoints cut it, the compiled loop goes through them."""
        self.segments, self.times, self.every, self.pieces = segments, times, every or 0, pieces
        self.plan = None if pieces is None else PiecePlan(pieces, times, variable=False)
        self.total = sum([segment.steps for segment in segments])
        if times is not None:
            self.rows, self.ragged = times.size, False
        else:
            whole, rest = divmod(self.total, self.every)
            self.rows, self.ragged = whole + 1, rest > 0  # the end is no multiple of `every`

    def driver(self, stepper: BoundStep) -> Callable[..., int]:
        """Returns the loop to be compiled."""
        return driver_of(stepper) if self.pieces is None else pieces_driver_of(stepper)

    def reserve(self, arrays: Buffers) -> None:
        """Makes room for the output."""
        arrays.out = room(self.rows + self.ragged, arrays.state.size)
        arrays.count[AT.rows] = self.rows

    def begin(self, segment: Segment, before: int, arrays: Buffers) -> tuple[NDArray[np.int64], Floats]:
        """Writes into the counters what is due in a segment, `before` steps from the start; returns where times lie."""
        count = arrays.count
        count[AT.done], count[AT.steps] = 0, segment.steps
        if self.plan is not None:
            return self._begin_pieces(self.plan, count)
        if self.times is None:
            count[AT.every], count[AT.due] = stride(self.every, before, first=segment is self.segments[0])
            return np.zeros(1, dtype=np.int64), np.zeros(1)
        here = self.times if len(self.segments) == 1 else self._listed(segment)
        count[AT.next], count[AT.times], count[AT.due] = 0, here.size, segment.steps + 1
        if not here.size:
            return np.zeros(1, dtype=np.int64), np.zeros(1)
        index, offset = located(segment, here)
        count[AT.due] = index[0]
        return index, offset

    def _begin_pieces(self, plan: PiecePlan, count: NDArray[np.int64]) -> tuple[NDArray[np.int64], Floats]:
        """Writes into the counters what is due in the first of many pieces; returns where times lie in all of them."""
        count[AT.piece] = count[AT.before] = count[AT.counted] = 0
        count[AT.steps] = steps = int(plan.pieces.steps[0])
        if self.times is None:
            count[AT.every], count[AT.due] = stride(self.every, 0, first=True)
            return np.zeros(1, dtype=np.int64), np.zeros(1)
        count[AT.next], count[AT.times] = 0, plan.times_in_first
        index, offset = plan.pieces.located(self.times)
        count[AT.due] = index[0] if plan.times_in_first else steps + 1
        return index, offset

    def here(self, segment: Segment, arrays: Buffers) -> Segment:
        """Returns the piece of the segment that a run has come to."""
        return segment if self.pieces is None else self.pieces[int(arrays.count[AT.piece])]

    def restarts(self, arrays: Buffers) -> int:
        """Returns how often the method was started again inside of the segment, beyond breakpoints."""
        return restarts(arrays.count)

    def _listed(self, segment: Segment) -> Floats:
        assert self.times is not None
        return times_in(segment, self.times, first=segment is self.segments[0])

    def end(self, segment: Segment) -> float:
        """Returns what the driver is given as the end of a segment: the length of its last step, or of its pieces."""
        return segment.last if self.plan is None else self.plan.handle

    def is_finished(self, segment: Segment, arrays: Buffers) -> bool:
        """Whether all steps of a segment are made."""
        return bool(arrays.count[AT.done] == segment.steps)

    def stop(self, segment: Segment, wanted: int) -> int:
        """Returns how many steps of the segment are to be done after the next chunk."""
        return min(segment.steps, wanted)

    def collect(self, arrays: Buffers) -> None:
        """Makes room after a chunk: here all rows have theirs from the start."""

    def steps_in_all(self, done: int, share: float) -> int:
        """Returns the number of steps of the whole run, of which `done` made a share of the span."""
        return self.total

    def time(self, segment: Segment, arrays: Buffers, before: int) -> float:
        """Returns the time that was reached in a segment, which begins after `before` steps."""
        if before == self.total:  # the counters of the last segment are back at zero
            return self.segments[-1].t1
        done, here = int(arrays.count[AT.done] - arrays.count[AT.before]), self.here(segment, arrays)
        return here.t1 if done == here.steps else here.t0 + done * here.h

    def output(self, arrays: Buffers, done: int, t_end: float, *, ended: bool) -> tuple[Floats, Floats]:
        """Returns times and states of all rows that there are after `done` steps."""
        rows = int(arrays.count[AT.row])
        if ended and self.ragged:
            arrays.out[rows] = arrays.state
            rows += 1
        t = self.times_of_rows(done, rows) if self.times is None else self.times[:rows].copy()
        return t, arrays.out[:rows]

    def times_of_rows(self, done: int, rows: int) -> Floats:
        """Returns the times of the first rows of output at steps; the last step may be a row more."""
        t = np.arange(rows, dtype=np.float64)
        t *= self.every
        np.minimum(t, done, out=t)  # now: how many steps lie before each row
        if self.pieces is not None:
            return self.pieces.times(t)
        ends = np.cumsum([segment.steps for segment in self.segments])
        first, before = 0, 0
        for segment, after, last in zip(self.segments, ends, np.searchsorted(t, ends, side="right"), strict=True):
            ends_here = last > first and t[last - 1] == after
            part = t[first:last]
            part -= before
            part *= segment.h
            part += segment.t0
            if ends_here:
                part[-1] = segment.t1
            first, before = last, after
        return t

    def lengths_from_here(self, segment: Segment, arrays: Buffers) -> list[float]:
        """Returns the lengths of the steps aside that were due where the run stopped, and of the step after them."""
        done, asides = int(arrays.count[AT.done] - arrays.count[AT.before]), list[float]()
        segment = self.here(segment, arrays)
        if self.times is not None:
            index, offset = located(segment, self.times[int(arrays.count[AT.row]) :])
            asides = offset[(index == done) & (offset != 0.0)].tolist()
        return [*asides, segment.last if done == segment.steps - 1 else segment.h]


def stride(every: int, before: int, *, first: bool) -> tuple[int, int]:
    """Returns after how many steps rows follow each other in a segment, and after how many the first one comes."""
    return every, 0 if first else every - before % every


def restarts(count: NDArray[np.int64]) -> int:
    """Returns how many pieces after the first were begun, by these counters; the last one may only be due."""
    piece = int(count[AT.piece])
    return piece - int(piece > 0 and count[AT.done] == count[AT.before])
