"""The loop over the pieces of a span that many breakpoints cut: it is compiled, so that no piece costs a call.

It has the arguments of a driver (`kernels/loop/drive.py`), with the handle of a plan in the place of the length of the
last step, and counts steps from the start of the whole span. The plan begins with the number of pieces, and has the
numbers of `Piece` for each.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from polhode.kernels.algebra.vector_table import numbers_at
from polhode.kernels.loop.drive import AT, COUNTERS, loader
from polhode.kernels.ops import all_of, new_counters, verdict, view
from polhode.kernels.states import STATE, form_of, sound
from polhode.kernels.status import OK, UNSOUND
from polhode.kernels.types import BoundStep


class Piece(NamedTuple):
    """The place of each number of a piece."""

    t0: int = 0  # its start
    end: int = 1  # the length of its last step; of a piece with variable steps its own length
    low: int = 2  # the window in which the torque sees times
    high: int = 3
    steps: int = 4
    first: int = 5  # the first listed time in it
    beyond: int = 6  # the first one that is not
    h: int = 7  # the length of its steps


PIECE = Piece()
WIDTH = len(PIECE)
HEADER = 1


def over_pieces(
    stepper: BoundStep, drive: Callable[..., int], *, variable: bool, load_values: Callable[[Any, int], Any] = view
) -> Callable[..., int]:
    """The loop over pieces around a driver, whose steps have a fixed length or choose theirs."""
    counts = stepper.evaluations_per_step is None
    last_of_memory, clock = max(1, stepper.memory) - 1, STATE + stepper.carried
    sample: Any = stepper.sample
    form = form_of(stepper.carried)
    load = loader(gyrostat=stepper.gyrostat, changing=stepper.changing)
    is_sampled, load_state, store_state = sample is not None, form.load, form.store

    def drive_pieces(
        setting: Any, values: Any, y: Any, carried: Any, plan_offset: Any, out: Any, plan_index: Any, count: Any,
        t0: float, h: float, handle: float, stop: int,
    ) -> int:  # fmt: skip
        plan = numbers_at(handle)
        pieces = int(plan[0])
        own = new_counters(count, COUNTERS)
        while True:
            piece, before = count[AT.piece], count[AT.before]
            at = HEADER + WIDTH * piece
            # If the torque raises an error, the caller's counters are as they were at the start of this piece.
            for k in range(COUNTERS):
                own[k] = count[k]
            own[AT.done] = count[AT.done] - before
            setting[10], setting[11] = plan[at + PIECE.low], plan[at + PIECE.high]
            if is_sampled and own[AT.done] == 0:
                body, p = load(setting, load_values(values, count[AT.values]))
                taken = sample(body, p, plan[at + PIECE.t0], load_state(y, 0))
                good = sound(taken)
                if not all_of(good):  # the state stays as it was before the sample
                    return verdict(UNSOUND, good)
                store_state(y, 0, taken)
            steps = int(plan[at + PIECE.steps])
            until = stop - before if variable else min(stop - before, steps)
            status = drive(
                setting, values, y, carried, plan_offset, out, plan_index, own,
                plan[at + PIECE.t0], plan[at + PIECE.h], plan[at + PIECE.end], until,
            )  # fmt: skip
            through = own[AT.finished] == 1 if variable else own[AT.done] == steps
            own[AT.done] += before
            for k in range(COUNTERS):
                count[k] = own[k]
            if status != OK or not through or piece + 1 == pieces:
                return status
            count[AT.piece], count[AT.before] = piece + 1, count[AT.done]
            count[AT.resumed] = count[AT.finished] = 0
            if counts:
                count[AT.counted] += int(carried[last_of_memory])
            begin(plan, plan_index, y, count)
            if count[AT.done] >= stop:
                return OK

    def begin(plan: Any, plan_index: Any, y: Any, count: Any) -> None:
        """Writes into the counters what is due in the piece that begins."""
        at = HEADER + WIDTH * count[AT.piece]
        every = count[AT.every]
        count[AT.steps] = int(plan[at + PIECE.steps])
        if every > 0:
            count[AT.due] = every - count[AT.done] % every
        else:
            count[AT.next], count[AT.times] = int(plan[at + PIECE.first]), int(plan[at + PIECE.beyond])
        if variable:
            y[clock] = y[clock + 1] = 0.0
        elif every == 0:
            listed = count[AT.next] < count[AT.times]
            count[AT.due] = plan_index[count[AT.next]] if listed else count[AT.steps] + 1

    return drive_pieces
