"""Times and rows of a run whose steps choose their length."""

from collections.abc import Callable
from functools import lru_cache
from typing import final

import numpy as np
from numpy.typing import NDArray

from polhode.kernels.loop.drive import AT, CLOCK, variable_driver
from polhode.kernels.loop.pieces import over_pieces
from polhode.kernels.types import BoundStep
from polhode.problem import Plan, Problem
from polhode.run.buffers import Buffers
from polhode.run.grid import PiecePlan, Pieces, Segment, pieces_of, segments_of, times_in
from polhode.run.rows_fixed import FixedSteps, restarts, stride
from polhode.support.arrays import Floats

BLOCK_ROWS = 4096
"""The number of rows in one array of output at steps: how many there will be is not known."""

driver_of = lru_cache(maxsize=128)(variable_driver)


@lru_cache(maxsize=128)
def pieces_driver_of(stepper: BoundStep) -> Callable[..., int]:
    """Returns the loop over pieces around that over steps."""
    return over_pieces(stepper, driver_of(stepper), variable=True)


@final
class VariableSteps:
    """Rows of output at times that are known only when a step has been made."""

    clock = CLOCK
    """The number of floats that stand after the state: the time since the start of the segment, and its low half."""
    ragged = False

    def __init__(
        self, segments: list[Segment], times: Floats | None, every: int | None, pieces: Pieces | None = None
    ) -> None:
        """Takes segments, or the pieces of one: where many breakpoints cut it, the compiled loop goes through them."""
        self.segments, self.times, self.every, self.pieces = segments, times, every or 0, pieces
        self.plan = None if pieces is None else PiecePlan(pieces, times, variable=True)
        self.full: list[Floats] = []
        self.rows = BLOCK_ROWS if times is None else times.size

    def driver(self, stepper: BoundStep) -> Callable[..., int]:
        """Returns the loop to be compiled."""
        return driver_of(stepper) if self.pieces is None else pieces_driver_of(stepper)

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
            count[AT.every], count[AT.due] = stride(self.every, before, first=segment is self.segments[0])
            return unused, np.zeros(1)
        if self.plan is not None:
            count[AT.next], count[AT.times] = 0, self.plan.times_in_first
            return unused, self.times - self.plan.pieces.t0[self.plan.pieces.those_of(self.times)]
        first = segment is self.segments[0]
        here = self.times if len(self.segments) == 1 else times_in(segment, self.times, first=first)
        listed = here - segment.t0
        count[AT.next], count[AT.times] = 0, listed.size
        return unused, listed if listed.size else np.zeros(1)

    def end(self, segment: Segment) -> float:
        """Returns what the driver is given as the end of a segment: its length, or its pieces."""
        return segment.t1 - segment.t0 if self.plan is None else self.plan.handle

    def here(self, segment: Segment, arrays: Buffers) -> Segment:
        """Returns the piece of the segment that a run has come to."""
        return segment if self.pieces is None else self.pieces[int(arrays.count[AT.piece])]

    def restarts(self, arrays: Buffers) -> int:
        """Returns how often the method was started again inside of the segment, beyond breakpoints."""
        return restarts(arrays.count)

    def is_finished(self, segment: Segment, arrays: Buffers) -> bool:
        """Whether the end of a segment is reached."""
        return bool(arrays.count[AT.finished])

    def stop(self, segment: Segment, wanted: int) -> int:
        """Returns how many steps of the segment are to be done after the next chunk."""
        return wanted

    def collect(self, arrays: Buffers) -> None:
        """Makes room after a chunk, if there is none left."""
        if self.times is None and arrays.count[AT.row] == BLOCK_ROWS:
            self.full.append(arrays.out)
            arrays.out = np.empty_like(arrays.out)
            arrays.count[AT.row] = 0

    def steps_in_all(self, done: int, share: float) -> int:
        """Returns a guess at the number of steps of the whole run, of which `done` made a share of the span."""
        return max(done, round(done / share)) if share > 0 else done

    def time(self, segment: Segment, arrays: Buffers, before: int) -> float:
        """Returns the time that was reached in a segment."""
        here = self.here(segment, arrays)
        return here.t1 if arrays.count[AT.finished] else here.t0 + float(arrays.state[-CLOCK])

    def output(self, arrays: Buffers, done: int, t_end: float, *, ended: bool) -> tuple[Floats, Floats]:
        """Returns times and states of all rows that there are."""
        rows = np.concatenate([*self.full, arrays.out[: int(arrays.count[AT.row])]])
        t, states = rows[:, 0].copy(), rows[:, 1:]
        if self.times is not None:
            t = self.times[: t.size].copy()
        elif ended and (t.size == 0 or t[-1] != t_end):
            t, states = np.append(t, t_end), np.vstack([states, arrays.state[None, :-CLOCK]])
        return t, states

    def lengths_from_here(self, segment: Segment, arrays: Buffers) -> list[float]:
        """Returns the length of the step that was due where the run stopped, at most."""
        return [segment.h]


Steps = FixedSteps | VariableSteps


def steps_of(problem: Problem, plan: Plan, t_begin: float | None = None) -> Steps:
    """Returns the kind of steps that the method makes, on the grid of the run."""
    kind = VariableSteps if plan.method.variable_steps else FixedSteps
    if (pieces := pieces_of(problem, plan, t_begin)) is not None:
        return kind([pieces.whole], problem.times, problem.every, pieces)
    return kind(segments_of(problem, plan, t_begin), problem.times, problem.every)
