"""Steps chosen by a tolerance that end where the torque bends, and begin on the other side.

The torque is one that `compiler/rewrite_branches.py` has rewritten: within a step its decisions are held, so that every
stage sees the branch that the step began in, and the step has its full order. The margins of the decisions at the
stages show where the first of them is crossed; a step is made to that place, and short steps correct what was not
foreseen.
"""

from typing import Any

from polhode.kernels.algebra.quat import normalised
from polhode.kernels.algebra.vec import combine, dot
from polhode.kernels.codegen import function
from polhode.kernels.ops import scratch
from polhode.kernels.states import form_of, moved, scaled, sizes_of, summed, turned
from polhode.kernels.status import OK, STALLED
from polhode.kernels.steps.branches import (
    CELL,
    COUNT,
    COURSE,
    FIRST,
    FREE,
    MARGIN,
    SIDE,
    YES,
    board_size,
    first_crossing,
    forget,
    has_crossed,
)
from polhode.kernels.steps.dop853 import EVALUATIONS, pair
from polhode.kernels.steps.variable_steps import MOST_ATTEMPTS, length_after, shorter
from polhode.kernels.types import BoundStep, Inertia, Params, Pull, State

MOST_AIMS, MOST_CORRECTIONS = 5, 10
"""Steps made to one crossing, and short steps after them; one and one or two are usual."""
BEYOND = 1e-4
"""The part of a step by which it is to end beyond a crossing that is foreseen."""
CLOSE = 2e-3
"""The part of a step that a short step may make up for: the error of one of order 4 is then below round-off."""
NEGLIGIBLE = 0.05
"""The part of the tolerance that a bend may cost without being located."""
RESOLUTION = 2.0**-51
"""Two units in the last place of the time: a crossing is not located more precisely."""
LEAST = 2e-15
"""The least step, relative to the time: the driver refuses shorter ones."""
AT_ONCE = 1e-5
"""The part of a step in which a crossing is not waited for: the next step begins on the other side."""
MOST_TURNS, FREE_STEPS, QUIET_STEPS = 3, 100.0, 9.0
"""After as many such crossings the motion is held at the bend, and goes on for some steps in which each evaluation
makes its decisions; a step that meets no bend counts as ten."""


def located(pull: Pull, decisions: int, carried: tuple[float, ...] = ()) -> BoundStep:
    """The steps of order 8 that end at bends, for a torque with a board of this number of decisions.

    The memory is: length made, length to try next, largest momentum before the step, largest sizes of carried numbers,
    slope, sides and margins of all decisions, steps left in which they are not held, crossings that followed each
    other at once, evaluations.
    """
    slope, attempt = pair(pull, carried)
    n, numbers, count = decisions, board_size(decisions), len(carried)
    form, sizes_in, grown = form_of(count), sizes_of(carried).of, sizes_of(carried).grown
    slope_at, sides = 3 + count, 3 + count + form.size
    loose, turns, spent_at = sides + 2 * n, sides + 2 * n + 1, sides + 2 * n + 2
    load, kept, changes, changed = _memory_of(n, sides, spent_at, slope_at)
    read_slope, distance = form.load, _distance_of(carried)
    nothing = (0.0,) * count

    def start(body: Inertia, p: Params, t: float, s: State) -> Any:
        b = scratch(numbers)
        b[FREE], b[COUNT] = 0.0, 0.0
        forget(b, n)
        k = slope(body, Params((p.values, b), p.axes, p.window, p.tuning), t, s)
        return kept(b, 0.0, 0.0, 0.0, nothing, k, 0.0, 0.0, 1.0)

    def again(body: Inertia, p: Params, t: float, s: State, memory: Any) -> Any:
        fresh = start(body, p, t, s)
        return changed(0.0, memory[1], memory[2], sizes_in(memory), fresh, 1.0)

    def correct(
        body: Inertia, p: Params, t: float, x: State, k: State, length: float, t_end: float
    ) -> tuple[State, State]:
        """Makes a short step of order 4; returns the state and the slope there. One call of the torque in a loop."""
        total, y = k, x
        for i in range(4):
            if i < 3:
                y = moved(x, 0.5 * length if i < 2 else length, k)
            else:
                y = moved(x, length / 6.0, total)
                y = turned(y, normalised(y.q))
            k = slope(body, p, t + 0.5 * length if i < 2 else t_end, y)
            total = moved(total, 2.0 if i < 2 else 1.0, k)
        return y, k

    def sides_at(
        b: Any, memory: Any, body: Inertia, p: Params, t: float, y: State, cell: int, unit: float, sizes: Any
    ) -> tuple[float, float, int]:
        """By how much the torque differs from that of the held side, the margin, and the decisions changed."""
        load(b, memory)
        ours = slope(body, p, t, y)
        margin = b[cell + MARGIN]
        forget(b, n)
        return distance(slope(body, p, t, y), ours, unit, sizes), margin, changes(b, memory)

    def step(body: Inertia, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[State, Any, int]:
        # One board for the step, one for the other side of its end, one for looks inside.
        b, b2, b3 = scratch(numbers), scratch(numbers), scratch(numbers)
        load(b, memory)
        pb = Params((p.values, b), p.axes, p.window, p.tuning)
        pb2 = Params((p.values, b2), p.axes, p.window, p.tuning)
        pb3 = Params((p.values, b3), p.axes, p.window, p.tuning)
        b2[FREE] = b2[COUNT] = b3[FREE] = b3[COUNT] = 0.0
        free = memory[loose] > 0.0
        left = max(memory[loose] - 1.0, 0.0)
        k = read_slope(memory, slope_at)
        spent = memory[spent_at]
        largest, sizes = max(memory[2], dot(s.m, s.m) ** 0.5), grown(sizes_in(memory), s)
        absolute = p.tuning[1] if p.tuning[1] >= 0.0 else p.tuning[0] * largest
        length = h if memory[1] == 0.0 or abs(memory[1]) > abs(h) else memory[1]
        following, tried, target, fall = length, length, -1, 0.0
        rejected, aims, may_cut = False, 0, True
        for _ in range(MOST_ATTEMPTS):
            b[FREE], b[COUNT] = 0.0, 0.0
            if free:
                forget(b, n)
                b[FREE] = 1.0
            new, error = attempt(body, pb, t, s, length, k, p.tuning[0], absolute, sizes)
            spent += EVALUATIONS
            if not error <= 1.0:  # NaN is an error too
                if not error < 1e300 and abs(length) < 2.0 * abs(memory[0]) and has_crossed(b, n):
                    free = True  # the step is not too long, but its branch may have no value beyond the bend
                rejected, aims = True, 0
                length = length * shorter(error)
                continue
            if aims == 0:
                following, tried = length_after(length, error, memory[1], rejected), length
            b[FREE] = 0.0  # at the end decisions are made and kept
            end = slope(body, pb, t + length, new)
            spent += 1.0
            if free:
                if not rejected and changes(b, memory) == 0:  # the motion may have left the bend
                    left = max(left - QUIET_STEPS, 0.0)
                return new, kept(b, length, following, largest, sizes, end, left, 0.0, spent), OK
            unit = max(dot(s.m, s.m), dot(new.m, new.m)) ** 0.5 + absolute / p.tuning[0]
            allowed = NEGLIGIBLE * (p.tuning[0] * max(dot(s.m, s.m), dot(new.m, new.m)) ** 0.5 + absolute)
            seen = first_crossing(b, n)
            cell = seen.cell
            ends_there = cell >= 0 and b[cell + MARGIN] < 0.0  # else there is only a guess, at an excursion inside
            if aims == 0 and may_cut and not ends_there and seen.near > 0.0:
                # A margin may become negative and positive again: a step that ends there shows it.
                length, may_cut = seen.near * length, False
                continue
            rest, cost, other = (1.0 - seen.place) * abs(length), 0.0, end
            passes = cell >= 0 and not ends_there
            if ends_there and aims == 0:
                forget(b2, n)
                other = slope(body, pb2, t + length, new)
                spent += 1.0
                cost = distance(other, end, unit, sizes) * rest / 6.0
                passes = cost <= allowed and seen.once and changes(b2, memory) == 1
            if passes:  # both sides are compared inside the step, before a bend is passed without being located
                c = 0.5 * (1.0 + seen.place) if ends_there else seen.deep
                y = between(s, k, new, end, length, c)
                jump, margin, changed = sides_at(b3, memory, body, pb3, t + c * length, y, cell, unit, sizes)
                spent += 2.0
                if ends_there:
                    if cost + jump * rest / 1.5 <= allowed and changed <= 1:  # by Simpson's rule
                        return new, kept(b2, length, following, largest, sizes, other, 0.0, 0.0, spent), OK
                elif margin >= 0.0 or jump * rest <= allowed:
                    cell = -1
            if cell < 0 and aims == 0:
                return new, kept(b, length, following, largest, sizes, end, 0.0, 0.0, spent), OK
            least = LEAST * max(abs(t), abs(t + tried))
            if aims == 0 or (cell >= 0 and seen.place < 1.0 - CLOSE and abs(length) > 1.5 * least):
                target, fall, aims = cell, seen.fall / length, aims + 1
                length = bounded((seen.place + BEYOND) * length if seen.place > AT_ONCE else 0.0, least, length)
            else:
                ahead = -b[target + MARGIN] / fall
                if abs(ahead) > CLOSE * abs(tried):
                    aims += 1
                    length = bounded(length + ahead, least, tried)
                else:
                    resolution = RESOLUTION * max(abs(t), abs(t + length))
                    for i in range(MOST_CORRECTIONS + 1):
                        margin = b[target + MARGIN]
                        ahead = -margin / fall
                        if margin < 0.0:
                            forget(b2, n)
                            other = slope(body, pb2, t + length, new)
                            spent += 1.0
                            precise = abs(ahead) <= 2.0 * resolution or abs(length) < 1.5 * least
                            if (
                                precise
                                or i == MOST_CORRECTIONS
                                or distance(other, end, unit, sizes) * abs(ahead) <= allowed
                            ):
                                count = memory[turns] + 1.0 if abs(length) < AT_ONCE * abs(tried) else 0.0
                                freely = FREE_STEPS if count >= MOST_TURNS else 0.0
                                return (
                                    new,
                                    kept(b2, length, following, largest, sizes, other, freely, count, spent),
                                    OK,
                                )
                        there = length + ahead + (resolution if h > 0.0 else -resolution)
                        there = max(length - CLOSE * abs(tried), min(there, length + CLOSE * abs(tried)))
                        there = bounded(there, least, tried)
                        shift = there - length
                        if shift == 0.0:
                            break
                        new, end = correct(body, pb, t + length, new, end, shift, t + there)
                        spent += 4.0
                        length = there
                        rate = (b[target + MARGIN] - margin) / shift
                        if rate * h < 0.0:
                            fall = rate
                    aims = MOST_AIMS + 1
            if aims > MOST_AIMS:  # it cannot be located, as it is where the motion is held at a bend
                free, left, length, aims = True, FREE_STEPS, tried, 0
        return s, kept(b, length, length, largest, sizes, k, 0.0, memory[turns], spent), STALLED

    def exactly(body: Inertia, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[State, Any, int]:
        """Makes a step aside. No step is longer than it may be, so that none is replaced by this one."""
        b = scratch(numbers)
        load(b, memory)
        pb = Params((p.values, b), p.axes, p.window, p.tuning)
        free = memory[loose] > 0.0
        k = read_slope(memory, slope_at)
        new, spent, sizes = s, memory[spent_at], sizes_in(memory)
        for _ in range(2):
            b[FREE], b[COUNT] = 0.0, 0.0
            if free:
                forget(b, n)
                b[FREE] = 1.0
            new, error = attempt(body, pb, t, s, h, k, p.tuning[0], max(p.tuning[1], 0.0), sizes)
            spent += EVALUATIONS
            if error < 1e300:
                break
            free = True
        return new, changed(h, memory[1], memory[2], sizes, memory, spent), OK

    return BoundStep(start, step, spent_at + 1, 0, None, exactly, again, limited=True, carried=count)


def _memory_of(n: int, sides: int, last: int, first: int) -> tuple[Any, Any, Any, Any]:
    """The functions that load the memory onto a board, make one, compare one with a board, and change one."""
    cells = tuple(FIRST + CELL * i for i in range(n))
    loaded = [f"b[{k + SIDE}] = memory[{sides + i}]" for i, k in enumerate(cells)]
    loaded += [f"b[{k + MARGIN}] = b[{k + COURSE}] = memory[{sides + n + i}]" for i, k in enumerate(cells)]
    load = function("load(b, memory)", ["forget(b, n)", *loaded], {"forget": forget, "n": n})

    def kept(
        b: Any, length: float, following: float, largest: float, v: Any, k: State, loose: float, turns: float,
        spent: float,
    ) -> Any:  # fmt: skip
        board = (*(b[cell + SIDE] for cell in cells), *(b[cell + MARGIN] for cell in cells))
        return (length, following, largest, *v, *k.q, *k.m, *k.z, *board, loose, turns, spent)

    def changes(b: Any, memory: Any) -> int:
        return sum(change(b[cells[i] + SIDE], memory[sides + i]) for i in range(n))

    def changed(length: float, following: float, largest: float, v: Any, memory: Any, spent: float) -> Any:
        return (length, following, largest, *v, *memory[first:last], spent)

    return load, kept, changes, changed


def change(side: float, before: float) -> int:
    """Returns 0 if a side is as before; 1 if it is the other of two; 2 if there may be more between them."""
    return 0 if side == before else 1 if abs(side) == YES and side == -before else 2


def between(s: State, k: State, new: State, end: State, h: float, c: float) -> State:
    """The cubic through two states with their slopes, at c of the way."""
    d = 1.0 - c
    a = moved(s, c * c * (3.0 - 2.0 * c), summed(new, scaled(-1.0, s)))
    return moved(moved(a, h * c * d * d, k), -h * c * c * d, end)


def _distance_of(carried: tuple[float, ...]) -> Any:
    """Returns `distance(a, b, unit, sizes)`: how far two slopes differ, as slopes of a momentum of the size `unit`.

    The slope of a carried number counts relative to its size; one that has none yet is infinitely far.
    """
    units = sizes_of(carried).units
    count = len(carried)

    def distance(a: State, b: State, unit: float, sizes: Any) -> float:
        d, u = combine(a.m, -1.0, b.m), units(sizes)
        numbers = max(*(_gap(a.z[i] - b.z[i], u[i]) for i in range(count)), 0.0, 0.0)
        return float(max(dot(d, d) ** 0.5, unit * numbers))

    return distance


def _gap(change: float, size: float) -> float:
    return 0.0 if change == 0.0 else abs(change) / size if size > 0.0 else 1e300


def bounded(length: float, least: float, most: float) -> float:
    """The length between its bounds; the least is positive, the most has the direction."""
    if most < 0.0:
        return -min(max(-length, least), -most)
    return min(max(length, least), most)


def padded(stepper: BoundStep, memory: int) -> BoundStep:
    """A stepper with a short memory as one with more: for a program that takes another's place."""
    last, own = memory - 1, stepper.memory - 1
    zeros = (0.0,) * (memory - stepper.memory)
    start, step, exactly, again = stepper.start, stepper.step, stepper.exactly, stepper.again
    assert exactly is not None
    assert again is not None

    def few(m: Any) -> Any:
        return (*m[:own], m[last])

    def many(m: Any) -> Any:
        return (*m[:own], *zeros, m[own])

    def with_more(inside: Any) -> Any:
        def step(body: Inertia, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[State, Any, int]:
            new, m, status = inside(body, p, t, s, h, few(memory))
            return new, many(m), status

        return step

    return stepper._replace(
        start=lambda body, p, t, s: many(start(body, p, t, s)), step=with_more(step), exactly=with_more(exactly),
        again=lambda body, p, t, s, memory: many(again(body, p, t, s, few(memory))), memory=memory,
    )  # fmt: skip
