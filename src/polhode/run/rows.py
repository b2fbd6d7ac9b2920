"""Times and rows of a run: the steps of its segments, what is due in them, and the arrays that the loop fills."""

import os
from collections.abc import Callable
from functools import cache, lru_cache
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from polhode.kernels.loop.drive import AT, CLOCK, COUNTERS, driver, variable_driver
from polhode.kernels.loop.pieces import over_pieces
from polhode.kernels.types import BoundStep
from polhode.problem import Plan, Problem
from polhode.run.grid import PiecePlan, Pieces, Segment, located, pieces_of, segments_of, times_in
from polhode.support.arrays import Floats

BLOCK_ROWS = 4096
"""The number of rows in one array of output at variable steps: how many there will be is not known."""


class Buffers:
    """State, memory, output rows and counters of one run: a solution can be made of them at any time."""

    __slots__ = ("carried", "count", "out", "state")

    carried: Floats
    """What the method carries from step to step."""
    out: Floats
    """Rows of output."""

    def __init__(self, state: Floats, clock: int, values: int) -> None:
        self.state = np.concatenate([state, np.zeros(clock)]) if clock else state
        self.count: NDArray[np.int64] = np.zeros(COUNTERS, dtype=np.int64)
        self.count[AT.values] = values


def room(rows: int, width: int, *, bodies: int | None = None) -> Floats:
    """An array for rows of output, of one body or of many; a MemoryError says how to ask for fewer."""
    check_room(rows, width, bodies)
    try:
        return np.empty((rows, width) if bodies is None else (bodies, rows, width))
    except (MemoryError, ValueError):
        raise MemoryError(_too_large(rows, width, bodies)) from None


def check_room(rows: int, width: int, bodies: int | None = None) -> None:
    """Raises a MemoryError for output that this machine cannot hold: some systems promise memory that is not there."""
    if (bodies or 1) * rows * width * 8 > physical_memory():
        raise MemoryError(_too_large(rows, width, bodies))


def _too_large(rows: int, width: int, bodies: int | None) -> str:
    size = (bodies or 1) * rows * width * 8 / 2**30
    whose, otherwise = "", ""
    if bodies is not None:
        whose, otherwise = f"{bodies} bodies with ", ", or for reductions with reduce="
    return f"{whose}{rows} rows of output need {size:.3g} GiB: ask for fewer with every= or t_eval={otherwise}"


@cache
def physical_memory() -> float:
    """The bytes of memory of this machine; infinity where the system does not tell."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return float("inf")


driver_of = lru_cache(maxsize=128)(driver)
variable_driver_of = lru_cache(maxsize=128)(variable_driver)


@lru_cache(maxsize=128)
def pieces_driver_of(stepper: BoundStep, *, variable: bool) -> Callable[..., int]:
    """The loop over pieces around that over steps."""
    return over_pieces(stepper, (variable_driver_of if variable else driver_of)(stepper), variable=variable)


class GridSteps:
    """The segments of a run, and the output that is due: what steps of one length and of any length share."""

    variable: ClassVar[bool]
    """Whether steps choose their length."""
    clock: ClassVar[int]
    """The number of floats that stand after the state."""

    def __init__(
        self, segments: list[Segment], times: Floats | None, every: int | None, pieces: Pieces | None = None
    ) -> None:
        """Takes segments, or the pieces of one: where many breakpoints cut it, the compiled loop goes through them."""
        self.segments, self.times, self.every, self.pieces = segments, times, every or 0, pieces
        self.plan = None if pieces is None else PiecePlan(pieces, times, variable=self.variable)

    def driver(self, stepper: BoundStep) -> Callable[..., int]:
        """The loop to be compiled."""
        if self.pieces is not None:
            return pieces_driver_of(stepper, variable=self.variable)
        return (variable_driver_of if self.variable else driver_of)(stepper)

    def here(self, segment: Segment, arrays: Buffers) -> Segment:
        """The piece of the segment that a run has come to."""
        return segment if self.pieces is None else self.pieces[int(arrays.count[AT.piece])]

    def restarts(self, arrays: Buffers) -> int:
        """How often the method was started again inside of the segment, beyond breakpoints."""
        count = arrays.count  # the last start may only be due
        piece = int(count[AT.piece])
        return piece - int(piece > 0 and count[AT.done] == count[AT.before])

    def _stride(self, segment: Segment, before: int, count: NDArray[np.int64]) -> None:
        """Writes after how many steps rows follow each other, and after how many the first one comes."""
        every, first = self.every, segment is self.segments[0]
        count[AT.every], count[AT.due] = every, 0 if first else every - before % every

    def _listed(self, segment: Segment) -> Floats:
        """The output times in a segment."""
        assert self.times is not None
        if len(self.segments) == 1:
            return self.times
        return times_in(segment, self.times, first=segment is self.segments[0])


@final
class FixedSteps(GridSteps):
    """Rows of output on a grid that is known from the start."""

    variable, clock = False, 0

    def __init__(
        self, segments: list[Segment], times: Floats | None, every: int | None, pieces: Pieces | None = None
    ) -> None:
        super().__init__(segments, times, every, pieces)
        self.total = sum([segment.steps for segment in segments])
        if times is not None:
            self.rows, self.ragged = times.size, False
        else:
            whole, rest = divmod(self.total, self.every)
            self.rows, self.ragged = whole + 1, rest > 0  # the end is no multiple of `every`

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
            self._stride(segment, before, count)
            return np.zeros(1, dtype=np.int64), np.zeros(1)
        here = self._listed(segment)
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
            self._stride(self.segments[0], 0, count)
            return np.zeros(1, dtype=np.int64), np.zeros(1)
        count[AT.next], count[AT.times] = 0, plan.times_in_first
        index, offset = plan.pieces.located(self.times)
        count[AT.due] = index[0] if plan.times_in_first else steps + 1
        return index, offset

    def end(self, segment: Segment) -> float:
        """What the driver is given as the end of a segment: the length of its last step, or of its pieces."""
        return segment.last if self.plan is None else self.plan.handle

    def is_finished(self, segment: Segment, arrays: Buffers) -> bool:
        """Whether all steps of a segment are made."""
        return bool(arrays.count[AT.done] == segment.steps)

    def stop(self, segment: Segment, wanted: int) -> int:
        """How many steps of the segment are to be done after the next chunk."""
        return min(segment.steps, wanted)

    def collect(self, arrays: Buffers) -> None:
        """Makes room after a chunk: here all rows have theirs from the start."""

    def steps_in_all(self, done: int, share: float) -> int:
        """The number of steps of the whole run, of which `done` made a share of the span."""
        return self.total

    def time(self, segment: Segment, arrays: Buffers, before: int) -> float:
        """The time that was reached in a segment, which begins after `before` steps."""
        if before == self.total:  # the counters of the last segment are back at zero
            return self.segments[-1].t1
        done, here = int(arrays.count[AT.done] - arrays.count[AT.before]), self.here(segment, arrays)
        return here.t1 if done == here.steps else here.t0 + done * here.h

    def output(self, arrays: Buffers, done: int, t_end: float, *, ended: bool) -> tuple[Floats, Floats]:
        """Times and states of all rows that there are after `done` steps."""
        rows = int(arrays.count[AT.row])
        if ended and self.ragged:
            arrays.out[rows] = arrays.state
            rows += 1
        t = self.times_of_rows(done, rows) if self.times is None else self.times[:rows].copy()
        return t, arrays.out[:rows]

    def times_of_rows(self, done: int, rows: int) -> Floats:
        """The times of the first rows of output at steps; the last step may be a row more."""
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
        """The lengths of the steps aside that were due where the run stopped, and of the step after them."""
        done, asides = int(arrays.count[AT.done] - arrays.count[AT.before]), list[float]()
        segment = self.here(segment, arrays)
        if self.times is not None:
            index, offset = located(segment, self.times[int(arrays.count[AT.row]) :])
            asides = offset[(index == done) & (offset != 0.0)].tolist()
        return [*asides, segment.last if done == segment.steps - 1 else segment.h]


@final
class VariableSteps(GridSteps):
    """Rows of output at times that are known only when a step has been made."""

    variable, clock = True, CLOCK  # the time since the start of the segment, and its low half
    ragged = False

    def __init__(
        self, segments: list[Segment], times: Floats | None, every: int | None, pieces: Pieces | None = None
    ) -> None:
        super().__init__(segments, times, every, pieces)
        self.full: list[Floats] = []
        self.rows = BLOCK_ROWS if times is None else times.size

    def reserve(self, arrays: Buffers) -> None:
        """Makes room for the output."""
        arrays.out = np.empty((self.rows, arrays.state.size - CLOCK + 1))
        arrays.count[AT.rows] = self.rows

    def begin(self, segment: Segment, before: int, arrays: Buffers) -> tuple[NDArray[np.int64], Floats]:
        """Writes into the counters what is due in a segment, `before` steps after the start; returns listed times."""
        count = arrays.count
        arrays.state[-CLOCK:] = 0.0
        count[AT.finished] = count[AT.piece] = count[AT.before] = count[AT.counted] = 0
        unused = np.zeros(1, dtype=np.int64)
        if self.times is None:
            self._stride(segment, before, count)
            return unused, np.zeros(1)
        if self.plan is not None:
            count[AT.next], count[AT.times] = 0, self.plan.times_in_first
            return unused, self.times - self.plan.pieces.t0[self.plan.pieces.those_of(self.times)]
        listed = self._listed(segment) - segment.t0
        count[AT.next], count[AT.times] = 0, listed.size
        return unused, listed if listed.size else np.zeros(1)

    def end(self, segment: Segment) -> float:
        """What the driver is given as the end of a segment: its length, or its pieces."""
        return segment.t1 - segment.t0 if self.plan is None else self.plan.handle

    def is_finished(self, segment: Segment, arrays: Buffers) -> bool:
        """Whether the end of a segment is reached."""
        return bool(arrays.count[AT.finished])

    def stop(self, segment: Segment, wanted: int) -> int:
        """How many steps of the segment are to be done after the next chunk."""
        return wanted

    def collect(self, arrays: Buffers) -> None:
        """Makes room after a chunk, if there is none left."""
        if self.times is None and arrays.count[AT.row] == BLOCK_ROWS:
            self.full.append(arrays.out)
            arrays.out = np.empty_like(arrays.out)
            arrays.count[AT.row] = 0

    def steps_in_all(self, done: int, share: float) -> int:
        """A guess at the number of steps of the whole run, of which `done` made a share of the span."""
        return max(done, round(done / share)) if share > 0 else done

    def time(self, segment: Segment, arrays: Buffers, before: int) -> float:
        """The time that was reached in a segment."""
        here = self.here(segment, arrays)
        return here.t1 if arrays.count[AT.finished] else here.t0 + float(arrays.state[-CLOCK])

    def output(self, arrays: Buffers, done: int, t_end: float, *, ended: bool) -> tuple[Floats, Floats]:
        """Times and states of all rows that there are."""
        rows = np.concatenate([*self.full, arrays.out[: int(arrays.count[AT.row])]])
        t, states = rows[:, 0].copy(), rows[:, 1:]
        if self.times is not None:
            t = self.times[: t.size].copy()
        elif ended and (t.size == 0 or t[-1] != t_end):
            t, states = np.append(t, t_end), np.vstack([states, arrays.state[None, :-CLOCK]])
        return t, states

    def lengths_from_here(self, segment: Segment, arrays: Buffers) -> list[float]:
        """The length of the step that was due where the run stopped, at most."""
        return [segment.h]


Steps = FixedSteps | VariableSteps


def steps_of(problem: Problem, plan: Plan, t_begin: float | None = None) -> Steps:
    """The kind of steps that the method makes, on the grid of the run."""
    kind = VariableSteps if plan.method.variable_steps else FixedSteps
    if (pieces := pieces_of(problem, plan, t_begin)) is not None:
        return kind([pieces.whole], problem.times, problem.every, pieces)
    return kind(segments_of(problem, plan, t_begin), problem.times, problem.every)
