"""The loop that every run is made of.

It is compiled once for a method and a torque, and called in chunks: all that changes is kept in the caller's arrays, so
a run can stop, report and go on between any two chunks without changing a bit. Output between grid points is made by a
step aside, which does not change the run.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from polhode.kernels.algebra.dd import two_sum
from polhode.kernels.algebra.vector_table import piece_within
from polhode.kernels.callback_torques import apart
from polhode.kernels.codegen import function, tuple_of, writer_of
from polhode.kernels.ops import all_of, beginning_at, columns, lane, triple, verdict, view
from polhode.kernels.states import STATE, form_of, load_state, sound, store_state
from polhode.kernels.status import ALONE, OK, STALLED, UNSOUND
from polhode.kernels.types import BoundStep, Changing, Gyrostat, Inertia, Packing, Params, State, UserTorque


class Counters(NamedTuple):
    """The index of each integer of a run in its array."""

    done: int = 0  # steps made in this segment
    steps: int = 1  # steps in this segment
    row: int = 2  # rows of output written
    rows: int = 3  # rows there are
    due: int = 4  # grid index of the next output
    every: int = 5  # output every so many steps; 0: at listed times
    next: int = 6  # the next listed time
    times: int = 7  # listed times in this segment
    asides: int = 8  # steps aside made
    values: int = 9  # parameters of the torque
    resumed: int = 10  # 1: the memory at the start is that of an earlier run
    finished: int = 11  # 1: the end of a segment is reached, by steps of their own length
    status: int = 12  # of a body among many
    others: int = 13  # evaluations of the torque by a corrector, beyond those of starts
    piece: int = 14  # where many breakpoints cut the span (`kernels/loop/pieces.py`): the piece that is reached
    before: int = 15  # steps before that piece
    counted: int = 16  # evaluations before it that a stepper counted itself


AT = Counters()
COUNTERS = len(AT)
SETTING = 18  # inertia 3, inverse 3, axes 4, window 2, tuning 2, internal momentum 3, handle of a changing body 1
HARDLY = 1e-12  # a rest that is longer than the longest step by this part of it is one step: no round-off is left over
CLOCK = 2  # after the state, where steps choose their length: time since the start of the segment, and its low half


@cache
def loader(*, gyrostat: bool, changing: int) -> Callable[[Any, Any], tuple[Any, Params]]:
    """The function that reads the fixed numbers of a segment, with a body with a rotor or of `changing` elements.

    The window and the tuning are the same for all bodies.
    """

    def load(x: Any, values: Any) -> tuple[Any, Params]:
        inertia, inverse = (x[0], x[1], x[2]), (x[3], x[4], x[5])
        window, tuning = (lane(x[10], 0), lane(x[11], 0)), (lane(x[12], 0), lane(x[13], 0))
        p = Params(values, (x[6], x[7], x[8], x[9]), window, tuning)
        if changing:
            table = (x[17], piece_within(x[17], window))
            return Changing(inertia, inverse, (x[14], x[15], x[16]), table if changing == 3 else (*table, 1.0)), p
        if gyrostat:
            return Gyrostat(inertia, inverse, (x[14], x[15], x[16])), p
        return Inertia(inertia, inverse), p

    return load


def driver(
    stepper: BoundStep, load_values: Callable[[Any, int], Any] = view, *, together: bool = False
) -> Callable[..., int]:  # fmt: skip
    """The loop for one method with its torque.

    A segment has `steps` steps of length h from t0, the last one of length `last`. The loop goes on until `stop` steps
    are done or a step reports a status; in both cases it leaves state, memory and counters in the caller's arrays.
    Listed outputs are given by `plan_index` (the grid point before) and `plan_offset` (the time after it).
    With a corrector (`BoundStep.enter`) the steps are made in other variables: the caller's array and the output have
    the true states, and the state in the variables of the steps is kept in front of the memory. If one of the bodies
    that go `together`, in lanes, has a state that cannot be taken back from those variables, all stay where they are,
    and those that can go on begin the chunk again.
    """
    start, step = stepper.start, stepper.step
    enter, put, put_last, change = _passages(stepper, together)
    corrected = enter is not None  # a constant: the compiler drops the branches that are not taken
    redone = together and corrected
    inside = STATE if corrected else 0  # numbers in front of the memory: no corrector carries numbers of a torque
    _, load_memory, store_memory = stepper.packing or packing_of(stepper.memory - inside)
    showing, changing = _costs(stepper)
    recounted = _recounted(stepper)
    form = form_of(stepper.carried)
    width, load_state, store_state = form.size, form.load, form.store
    load = loader(gyrostat=stepper.gyrostat, changing=stepper.changing)

    def drive(
        setting: Any, values: Any, y: Any, carried: Any, plan_offset: Any, out: Any, plan_index: Any, count: Any,
        t0: float, h: float, last: float, stop: int,
    ) -> int:  # fmt: skip
        # Compilers take their time for each line here, and once for all programs for what stands in functions below.
        body, p = load(setting, load_values(values, count[AT.values]))
        s = load_state(y, 0)
        i, steps, row, rows, due, every, j, times, asides, others, resumed = load_counters(count)
        first = i
        held = h  # the length that the state inside is meant for
        shown, place, unseen = -1, 0, False  # the last grid point that was shown, and its row
        if i == 0 and resumed == 0:
            if corrected:
                held = last if steps == 1 else h
                s = enter(body, p, t0, s, held)
            memory = start(body, p, t0, s)
        else:
            if corrected:
                s = load_state(carried, 0)
            memory = load_memory(carried, inside)
        offset = plan_offset[j] if j < times else 0.0
        good = sound(s)
        status = _status(OK, good)
        while status == OK:
            due_here = i == due and row < rows
            if due_here and offset == 0.0:
                if corrected and i > 0:
                    good, status = put(out, row, body, p, _time(t0, h, last, i, steps), s, held)
                    others += showing
                    if status != OK:
                        unseen = True
                        break
                    shown, place = i, row
                else:  # at the start as it was given
                    store_state(out, width * row, load_state(y, 0) if corrected else s)
            else:
                if i == stop and (not due_here or i > first):
                    break  # a step aside from here waits for the next chunk: this one is done whatever happens there
                # A stretch of steps of one length: the compiler takes what depends on it out of the loop.
                length, until = _stretch(due_here, offset, h, last, i, steps, stop, row, rows, due, every)
                here, s_here, memory_here, others_here = i, s, memory, others
                if corrected and length != held:
                    s, memory = change(body, p, t0 + i * h, s, held, length)
                    others += changing
                while i < until:
                    new, fresh, status = step(body, p, t0 + i * h, s, length, memory)
                    good = sound(new)
                    status = _status(status, good)
                    if status != OK:
                        break
                    s, memory = new, fresh
                    i += 1
                    if i == due and every > 0 and row < rows:
                        if corrected:
                            good, status = put(out, row, body, p, _time(t0, h, last, i, steps), s, length)
                            others += showing
                            if status != OK:
                                unseen = True
                                break
                            shown, place = i, row
                        else:
                            store_state(out, width * row, s)
                        row += 1
                        due += every
                if not due_here and i > here:
                    held = length
                    continue
                if status == OK:
                    if corrected:
                        good, status = put(out, row, body, p, t0 + here * h + length, s, length)
                        others += showing
                        unseen = status != OK
                    else:
                        store_state(out, width * row, s)
                # It was a step aside, or nothing came of it.
                i, s, memory = here, s_here, recounted(memory_here, memory)
                if status != OK:
                    others = others_here
                    break
                asides += 1
            row += 1
            j, due, offset = _next_output(plan_index, plan_offset, j, times, steps, due, every)
        if redone and unseen:
            return verdict(status, good)
        if not corrected:
            store_state(y, 0, s)
        elif i > first:
            t = _time(t0, h, last, i, steps)
            # Not counted: the number of chunks is chance.
            seen_well, problem = put_last(y, out, place if shown == i else -1, body, p, t, s, held, good)
            if redone and problem != OK:
                return verdict(problem, seen_well)
            if status == OK:
                status, good = problem, seen_well
            if held != h:
                s, memory = change(body, p, t, s, held, h)
                others += changing
        if corrected:
            store_state(carried, 0, s)
        store_memory(carried, inside, memory)
        store_counters(count, i, row, due, j, asides, others)
        return verdict(status, good)

    return drive


def load_counters(count: Any) -> tuple[int, ...]:
    """Reads the counters with which the loop goes on."""
    return (
        count[AT.done], count[AT.steps], count[AT.row], count[AT.rows], count[AT.due], count[AT.every],
        count[AT.next], count[AT.times], count[AT.asides], count[AT.others], count[AT.resumed],
    )  # fmt: skip


def store_counters(count: Any, done: int, row: int, due: int, following: int, asides: int, others: int) -> None:
    """Writes the counters that the loop has changed."""
    count[AT.done], count[AT.row], count[AT.due] = done, row, due
    count[AT.next], count[AT.asides], count[AT.others] = following, asides, others


def _status(status: int, good: Any) -> int:
    """The status of a step; UNSOUND if the step was made but its state is not sound."""
    return UNSOUND if status == OK and not all_of(good) else status


def _stretch(
    due_here: bool, offset: float, h: float, last: float, i: int, steps: int, stop: int,
    row: int, rows: int, due: int, every: int,
) -> tuple[float, int]:  # fmt: skip
    """The length of the next steps, and the grid point up to which they have it."""
    if due_here:
        return offset, i + 1
    if i == steps - 1:
        return last, steps
    until = min(stop, steps - 1)
    return h, min(until, due) if every == 0 and row < rows else until


def _next_output(
    plan_index: Any, plan_offset: Any, j: int, times: int, steps: int, due: int, every: int
) -> tuple[int, int, float]:
    """The index of the next listed time, the grid point at or before the next output, and the time after it."""
    if every > 0:
        return j, due + every, 0.0
    if j + 1 < times:
        return j + 1, plan_index[j + 1], plan_offset[j + 1]
    return j + 1, steps + 1, 0.0


def packing_of(count: int) -> Packing:
    """The packing of a memory that is a tuple of `count` floats."""
    return Packing(count, tuple_of(count), writer_of(count))


def _time(t0: float, h: float, last: float, i: int, steps: int) -> float:
    """The time of the grid point i."""
    return t0 + i * h if i < steps or last == h else t0 + (i - 1) * h + last


def _passages(stepper: BoundStep, together: bool) -> tuple[Any, Any, Any, Any]:
    """The functions that change between true states and the states of a corrector; None without it.

    They are: `enter`; `put`, which writes a true state into a row if it is sound; `put_last`, which does the same at
    the end of a chunk, where the state may be in a row already; `change`, to another length of the steps.
    """
    start, enter, leave = stepper.start, stepper.enter, stepper.leave
    if enter is None or leave is None:
        return None, None, None, None

    def put(out: Any, row: int, body: Inertia, p: Params, t: float, s: State, h: float) -> tuple[Any, int]:
        seen = leave(body, p, t, s, h)
        seen_well = sound(seen)
        if not all_of(seen_well):
            return seen_well, UNSOUND
        store_state(out, STATE * row, seen)
        return seen_well, OK

    def put_last(
        y: Any, out: Any, row: int, body: Inertia, p: Params, t: float, s: State, h: float, good: Any
    ) -> tuple[Any, int]:
        if row >= 0:
            store_state(y, 0, load_state(out, STATE * row))
            return good, OK
        seen_well, status = put(y, 0, body, p, t, s, h)
        if status != OK and not together:
            store_state(y, 0, s)
        return seen_well, status

    def change(body: Inertia, p: Params, t: float, s: State, h: float, length: float) -> tuple[State, Any]:
        new = enter(body, p, t, leave(body, p, t, s, h), length)
        return new, start(body, p, t, new)

    return enter, put, put_last, change


def _costs(stepper: BoundStep) -> tuple[int, int]:
    """The torque evaluations to output a state, and to change to another length of the steps."""
    each = stepper.evaluations_per_passage
    return each, stepper.evaluations_at_start + each if each else 0


def loop_over_bodies(stepper: BoundStep, drive: Callable[..., int]) -> Callable[..., int]:
    """The loop over many bodies: each has its place in every array, and goes on by itself to the step `stop`.

    A body that reports a status makes no more steps. The bodies share nothing but the plan of outputs.
    """
    memory = max(1, stepper.memory)

    def run_bodies(
        setting: Any, values: Any, y: Any, carried: Any, plan_offset: Any, out: Any, plan_index: Any, count: Any,
        t0: float, h: float, last: float, stop: int, first: int, beyond: int, state: int, row: int,
    ) -> int:  # fmt: skip
        for k in range(first, beyond):
            own = beginning_at(count, COUNTERS * k)
            if own[AT.status] == OK and own[AT.done] < stop:
                own[AT.status] = drive(
                    beginning_at(setting, SETTING * k),
                    beginning_at(values, own[AT.values] * k),
                    beginning_at(y, state * k),
                    beginning_at(carried, memory * k),
                    plan_offset,
                    beginning_at(out, row * own[AT.rows] * k),
                    plan_index,
                    own, t0, h, last, stop,
                )  # fmt: skip
        return OK

    return run_bodies


def packed_loop_over_bodies(stepper: BoundStep, drive: Callable[..., int], lanes: int) -> Callable[..., int]:
    """The loop over many bodies, `lanes` of them at a time in the lanes of one driver.

    Bodies that have made the same number of steps go together. A body that fails in lanes gets the status ALONE: the
    loop over single bodies goes on with it, and finds out whether anything is wrong. The loop returns their number.
    """
    memory = max(1, stepper.memory)
    # Empty lanes repeat the first body: they write what it writes.
    more = [f"k{i} = following(count, k{i - 1} + 1, beyond, own)" for i in range(1, lanes)]
    filled = "".join(f"k{i} if k{i} < beyond else k0, " for i in range(1, lanes))
    group_of = function(
        "group_of(count, k0, beyond, own)", [*more, f"return (k0, {filled})"], {"following": _following}
    )

    def places(group: Any, size: int) -> tuple[int, ...]:
        return tuple(k * size for k in group)

    def run_bodies(
        setting: Any, values: Any, y: Any, carried: Any, plan_offset: Any, out: Any, plan_index: Any, count: Any,
        t0: float, h: float, last: float, stop: int, first: int, beyond: int, state: int, row: int,
    ) -> int:  # fmt: skip
        k, alone = first, 0
        while k < beyond:
            own = beginning_at(count, COUNTERS * k)
            if own[AT.status] != OK or own[AT.done] >= stop:
                k += 1
                continue
            group = group_of(count, k, beyond, own)
            blamed = drive(
                columns(setting, places(group, SETTING)),
                columns(values, places(group, own[AT.values])),
                columns(y, places(group, state)),
                columns(carried, places(group, memory)),
                plan_offset,
                columns(out, places(group, row * own[AT.rows])),
                plan_index,
                own, t0, h, last, stop,
            )  # fmt: skip
            for i in range(lanes):
                other = beginning_at(count, COUNTERS * group[i])
                other[AT.done], other[AT.row], other[AT.due] = own[AT.done], own[AT.row], own[AT.due]
                other[AT.next], other[AT.asides], other[AT.others] = own[AT.next], own[AT.asides], own[AT.others]
                other[AT.piece], other[AT.before], other[AT.steps] = own[AT.piece], own[AT.before], own[AT.steps]
                other[AT.times], other[AT.resumed] = own[AT.times], own[AT.resumed]
                if (blamed >> i) & 1 and other[AT.status] == OK:
                    other[AT.status] = ALONE
                    alone += 1
        return alone

    return run_bodies


def values_together(count: int) -> Callable[[Any, int], tuple[float, ...]]:
    """Returns `load(x, n)`, which reads the parameters of a torque that is computed for several bodies at once."""
    load = tuple_of(count)

    def values(x: Any, n: int) -> tuple[float, ...]:
        return load(x, 0)

    return values


def _following(count: Any, k: int, beyond: int, own: Any) -> int:
    """The first body from k on that is as far as the one with the counters `own`, and has not failed."""
    while k < beyond:
        other = beginning_at(count, COUNTERS * k)
        if other[AT.status] == OK and other[AT.done] == own[AT.done] and other[AT.row] == own[AT.row]:
            break
        k += 1
    return k


def variable_driver(stepper: BoundStep) -> Callable[..., int]:
    """The loop for a method whose steps choose their length.

    Its arguments are those of `driver`, with `span`, the length of the segment, for the length of the last step.
    `listed` holds output times since the start of the segment. Rows of output begin with their time; the loop returns
    when there is no room for another. If a step passes a listed time, a step of the right length is made aside; if it
    passes the end, it is replaced by one of the right length. If there were steps before this segment, `carried` has
    the memory of the last.
    """
    start, step, exactly, again = stepper.start, stepper.step, stepper.exactly, stepper.again
    assert exactly is not None
    assert again is not None
    limited = stepper.limited
    load_memory, store_memory = tuple_of(stepper.memory), writer_of(stepper.memory)
    recounted = _recounted(stepper)
    form = form_of(stepper.carried)
    width, load_state, store_state = form.size, form.load, form.store
    load = loader(gyrostat=stepper.gyrostat, changing=stepper.changing)

    def drive(
        setting: Any, values: Any, y: Any, carried: Any, listed: Any, out: Any, unused: Any, count: Any,
        t0: float, h: float, span: float, stop: int,
    ) -> int:  # fmt: skip
        body, p = load(setting, view(values, count[AT.values]))
        s, t, low = load_state(y, 0), y[width], y[width + 1]
        i, row, rows = count[AT.done], count[AT.row], count[AT.rows]
        due, every, j, times = count[AT.due], count[AT.every], count[AT.next], count[AT.times]
        finished = count[AT.finished] == 1
        memory = load_memory(carried, 0)
        if i == 0 and count[AT.resumed] == 0:
            memory = start(body, p, t0, s) if carried[0] == 0.0 else again(body, p, t0, s, memory)
        status = OK
        if i == 0 and row < rows and (due == 0 if every > 0 else j < times and listed[j] == 0.0):
            out[(width + 1) * row] = t0
            store_state(out, (width + 1) * row + 1, s)
            row, due, j = row + 1, due + every, j + 1
        while not finished and i < stop and (row < rows or every == 0):
            rest = (span - t) - low
            most = rest if limited and abs(rest) < (1.0 + HARDLY) * abs(h) else h
            new, fresh, status = step(body, p, t0 + t, s, most, memory)
            if status == OK and not sound(new):
                status = UNSOUND
            if status != OK:
                break
            length = fresh[0]
            last = abs(length) >= abs(rest)
            if not (last or abs(length) > 1e-15 * abs(t0 + t)):
                status = STALLED
                break
            if not limited and last and length != rest:
                length = rest
                new, fresh, status = exactly(body, p, t0 + t, s, rest, recounted(memory, fresh))
                if status == OK and not sound(new):
                    status = UNSOUND
            while status == OK and j < times:
                offset = (listed[j] - t) - low
                if not (last or abs(offset) <= abs(length)):
                    break
                there = new
                if abs(offset) < abs(length):
                    there, spent, status = exactly(body, p, t0 + t, s, offset, recounted(memory, fresh))
                    fresh = recounted(fresh, spent)
                    if status == OK and not sound(there):
                        status = UNSOUND
                if status == OK:
                    out[(width + 1) * row] = t0 + listed[j]
                    store_state(out, (width + 1) * row + 1, there)
                    row, j = row + 1, j + 1
            if status != OK:
                break
            s, memory = new, fresh
            t, low = two_sum(t, length + low)
            i += 1
            finished = last
            if i == due and every > 0:
                out[(width + 1) * row] = t0 + (span if finished else t)
                store_state(out, (width + 1) * row + 1, s)
                row, due = row + 1, due + every
        store_state(y, 0, s)
        y[width], y[width + 1] = t, low
        store_memory(carried, 0, memory)
        count[AT.done], count[AT.row], count[AT.due], count[AT.next] = i, row, due, j
        count[AT.finished] = int(finished)
        return status

    return drive


def _recounted(stepper: BoundStep) -> Any:
    """Returns `recounted(memory, later)`: the memory before a step aside, with the evaluations after it."""
    counts = stepper.evaluations_per_step is None
    last = (stepper.packing.parts if stepper.packing else stepper.memory) - 1

    def recounted(memory: Any, later: Any) -> Any:
        return (*memory[:last], later[last]) if counts else memory

    return recounted


def torque_rows(torque: UserTorque, carried: int = 0, *, pair: bool = True) -> Callable[..., int]:
    """The loop that evaluates a torque in the user's axes at every saved state.

    `carried` is how many carried numbers it finds; `pair`: it returns derivatives of them.
    """
    load = tuple_of(carried)
    inside: Any = torque if carried else None
    seen: Any = None if carried else apart(torque)

    def fill(values: Any, t: Any, q: Any, w: Any, z: Any, out: Any, count: int, rows: int) -> int:
        p = view(values, count)
        for i in range(rows):
            j, k = 3 * i, 4 * i
            attitude, rate = (q[k], q[k + 1], q[k + 2], q[k + 3]), (w[j], w[j + 1], w[j + 2])
            if carried:
                both = inside(t[i], attitude, rate, p, load(z, carried * i))
                out[j], out[j + 1], out[j + 2] = triple(both[0] if pair else both)
            else:
                out[j], out[j + 1], out[j + 2] = seen(t[i], attitude, rate, p)
        return OK

    return fill


def potential_of_many(potential: Any) -> Callable[..., int]:
    """The loop that evaluates a potential, in the user's axes, for bodies with parameters of their own."""

    def fill(values: Any, t: Any, q: Any, out: Any, count: int, rows: int, bodies: int) -> int:
        for body in range(bodies):
            p = view(beginning_at(values, count * body), count)
            for i in range(rows):
                j = rows * body + i
                k = 4 * j
                out[j] = potential(t[i], (q[k], q[k + 1], q[k + 2], q[k + 3]), p)
        return OK

    return fill
