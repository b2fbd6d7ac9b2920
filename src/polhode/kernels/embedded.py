"""Embedded Runge-Kutta pairs: steps that a tolerance makes long or short, of one body or of a body in each lane.

The tableau is data: a step is a loop over its stages with one call of the torque, whatever their number. All that
decides on a step is arithmetic without branches, so that a body in a lane makes the steps that it makes alone, bit by
bit, whatever its neighbours do.
"""

from collections.abc import Callable
from functools import lru_cache
from math import copysign, sqrt
from typing import Any, NamedTuple

import numpy as np

from polhode.kernels.algebra.dd import two_sum
from polhode.kernels.algebra.quat import norm2, normalised
from polhode.kernels.algebra.vec import dot, times
from polhode.kernels.codegen import tuple_of, writer_of
from polhode.kernels.gyrostat import body_at, rate_of
from polhode.kernels.loop.drive import AT, COUNTERS, HARDLY, SETTING, loader
from polhode.kernels.ops import (
    all_of,
    beginning_at,
    columns,
    fma,
    fraction_exponent,
    from_lanes,
    lane,
    nearest_whole,
    new_counters,
    power_of_two,
    scratch,
    scratch_rows,
    verdict,
    view,
    where,
)
from polhode.kernels.states import STATE, chosen, load_state, moved, sound, store_state
from polhode.kernels.status import ALONE, OK, STALLED
from polhode.kernels.steps.despun import View, left, view_of
from polhode.kernels.steps.tableaux import (
    TSITOURAS_PAPAKOSTAS,
    TSITOURAS_PAPAKOSTAS_SIXTH,
    VERNER,
    VERNER_EIGHTH,
    Row,
    Tableau,
)
from polhode.kernels.types import BoundStep, Depends, Inertia, Params, Pull, Scales, State

MOST_ATTEMPTS = 60
SHRINK, GROW = 0.2, 4.0
"""The bounds of a change of the length from one attempt to the next."""
FIRST_TURN = 0.3
"""The turn of the first attempt, in radians."""
MEMORY = 7
"""Numbers of the memory: length made, length to try next, greatest squared rate so far, sum of the errors of all steps,
attempts that the next step has failed in, for how many steps the spin may be left out (`View.asked`; 0: to be found),
evaluations."""
FASTEST, SUM_OF_ERRORS = 2, 3
"""The places of that squared rate and of that sum in the memory."""
TOLERANCE = 12
"""The place of the tolerance among the fixed numbers of a segment: each body may have its own."""


class Pair(NamedTuple):
    """A step and another one of lower order by the same slopes: the difference is the error of the lower one."""

    tableau: Tableau
    lower: Row
    order: int
    """The lower order."""
    safety: float
    """The length of the next step over the one whose error would be the tolerance."""


TSITOURAS_PAPAKOSTAS_86 = Pair(TSITOURAS_PAPAKOSTAS, TSITOURAS_PAPAKOSTAS_SIXTH, 6, 0.72)
VERNER_98 = Pair(VERNER, VERNER_EIGHTH, 8, 0.79)


class PairWeights(NamedTuple):
    """A pair as a list of its weights, row after row: those of the stages, of the step, of its error."""

    first: Any
    """Where the rows begin in the list, and where the last one ends."""
    place: Any
    """Where the slope of each weight is."""
    weight: Any
    time: Any
    """The times of the stages."""
    checked: int
    """The stage that tells most in the error."""


def weights_of(pair: Pair) -> PairWeights:
    """Lists the weights of a pair that are not zero."""
    stages, step = pair.tableau
    error = [b - c for b, c in zip(step, pair.lower, strict=True)]
    first, place, weight = [0], list[int](), list[float]()
    for row in (*stages, step, error):
        place += [STATE * j for j, w in enumerate(row) if w != 0]
        weight += [float(w) for w in row if w != 0]
        first.append(len(place))
    times, sizes = [float(sum(row)) for row in stages], [abs(float(w)) for w in error]
    return PairWeights(np.array(first), np.array(place), np.array(weight), np.array(times), sizes.index(max(sizes)))


@lru_cache(maxsize=128)
def attempt_of(pair: Pair, seen_from: View) -> Callable[..., tuple[State, Any, Any]]:
    """Returns `attempt(body, p, t, s, h, fastest, blind, k) -> (new state, squared error, greatest squared rate)`.

    `k` has room for the slopes. The error is that of attitude, in radians, and rate, relative to the greatest so far.
    """
    first, place, weight, time, checked = weights_of(pair)
    stages, begun, slope, ended = len(time), seen_from.begun, seen_from.slope, seen_from.ended

    def mixed(k: Any, row: int, zero: Any) -> State:
        """The sum of slopes with the weights of a row."""
        a0, a1, a2, a3, a4, a5, a6 = zero, zero, zero, zero, zero, zero, zero
        for e in range(first[row], first[row + 1]):
            w, j = weight[e], place[e]
            a0, a1, a2, a3 = fma(w, k[j], a0), fma(w, k[j + 1], a1), fma(w, k[j + 2], a2), fma(w, k[j + 3], a3)
            a4, a5, a6 = fma(w, k[j + 4], a4), fma(w, k[j + 5], a5), fma(w, k[j + 6], a6)
        return State((a0, a1, a2, a3), (a4, a5, a6))

    def attempt(
        body: Inertia, p: Params, t: Any, s: State, h: Any, fastest: Any, blind: Any, k: Any
    ) -> tuple[State, Any, Any]:  # fmt: skip
        zero, frame = 0.0 * h, begun(body, s, blind)
        for i in range(stages):
            since, there = time[i] * h, moved(s, h, mixed(k, i, zero))
            store_state(k, STATE * i, slope(body, p, t + since, there, frame, since, 1.0 if i == checked else 0.0))
        new, e = moved(s, h, mixed(k, stages, zero)), mixed(k, stages + 1, zero)
        now = body_at(body, p, t + h)
        w, dw = rate_of(now, new.m), times(e.m, now.inverse)
        fastest = max(fastest, dot(w, w))
        error = (h * h) * (4.0 * norm2(e.q) + dot(dw, dw) / max(fastest, 1e-300))
        return ended(State(normalised(new.q), new.m), frame, h), error, fastest

    return attempt


def power(x: Any, a: float) -> Any:
    """Returns x^a to some thousandths, for 1e-60 < x < 1e60 and 0 < a < 0.1."""
    m, e = fraction_exponent(x)
    y = a * (e + (((0.44717955 * m - 1.4699568) * m + 2.8212026) * m - 1.7983942))
    whole = nearest_whole(y)
    f = y - whole
    return power_of_two(whole) * (1.0 + f * (0.693147 + f * (0.240227 + f * 0.0558)))


@lru_cache(maxsize=16)
def judged_by(pair: Pair) -> Callable[..., Any]:
    """Returns `judged(error, allowed, length, before, rejected) -> the length to try next`, from squared errors."""
    exponent, safety = 0.5 / (pair.order + 1), pair.safety

    def judged(error: Any, allowed: Any, length: Any, before: Any, rejected: Any) -> Any:
        ratio = min(1e30, max(1e-60, allowed / max(error, 1e-300)))  # NaN counts as a large error
        factor = max(SHRINK, safety * power(ratio, exponent))
        factor = where(rejected, min(1.0, factor), min(GROW, factor))
        following = factor * abs(length)
        # A step may be short only because it was not allowed to be longer.
        return where((factor > 1.0) & (following < before), before, following)

    return judged


class Embedded(NamedTuple):
    """The scheme of a pair. Its steps are as long as the tolerance, `Params.tuning`, allows, but at most h."""

    pair: Pair
    despun: bool = False
    """Whether symmetric bodies are seen from a frame that does not spin (`kernels/steps/despun.py`)."""

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> BoundStep:
        """Binds the step to its torque; `MEMORY` says what its memory has."""
        seen_from = view_of(pull, despun=self.despun and not (scales is not None and scales.changing))
        attempt, judged = attempt_of(self.pair, seen_from), judged_by(self.pair)
        asked, by_asking = seen_from.asked, seen_from.evaluations
        stages = len(self.pair.tableau.stages)
        numbers, each = STATE * stages, float(stages)

        def step(body: Inertia, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[State, Any, int]:
            k = scratch(numbers)
            allowed, following, before, spent = p.tuning[0] * p.tuning[0], memory[1], memory[4], memory[6]
            blind = memory[5]
            if blind == 0.0:
                blind, spent = asked(body, p, t, s), spent + by_asking
            for tries in range(MOST_ATTEMPTS):
                length = copysign(min(following, abs(h)), h)
                new, error, fastest = attempt(body, p, t, s, length, memory[2], blind, k)
                spent += each
                following = judged(error, allowed, length, following, before + tries > 0.0)
                if error <= allowed:
                    blind = left(blind, before + tries > 0.0)
                    return new, (length, following, fastest, memory[3] + sqrt(error), 0.0, blind, spent), OK
            return s, (memory[0], following, memory[2], memory[3], 0.0, blind, spent), STALLED

        def exactly(body: Inertia, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[State, Any, int]:
            blind = memory[5] if memory[5] != 0.0 else asked(body, p, t, s)
            new, _, _ = attempt(body, p, t, s, h, memory[2], blind, scratch(numbers))
            return new, (h, memory[1], memory[2], memory[3], memory[4], memory[5], memory[6] + each), OK

        return BoundStep(_start, step, MEMORY, 0, None, exactly, _again, limited=True)


load_memory, store_memory = tuple_of(MEMORY), writer_of(MEMORY)


def _start(body: Inertia, p: Params, t: float, s: State) -> tuple[float, ...]:
    w = rate_of(body_at(body, p, t), s.m)
    w2 = dot(w, w)
    return (0.0, FIRST_TURN / sqrt(max(w2, 1e-300)), w2, 0.0, 0.0, 0.0, 0.0)


def _again(body: Inertia, p: Params, t: float, s: State, memory: Any) -> tuple[float, ...]:
    """The memory with which steps restart beyond a jump of the torque; the greatest rate is that so far."""
    following = memory[1] if memory[1] > 0.0 else FIRST_TURN / sqrt(max(memory[2], 1e-300))
    return (0.0, following, memory[2], memory[3], 0.0, 0.0, 0.0)


# --- a body in each lane ---------------------------------------------------------------------------------------------


def packed_steps(
    scheme: Embedded, pull: Pull, load_values: Callable[[Any, int], Any], lanes: int, *, gyrostat: bool,
    changing: int,
) -> Callable[..., int]:  # fmt: skip
    """The loop over bodies, with the arguments of `drive.loop_over_bodies`, for a body in each lane.

    Every lane has steps of its own. A body that ends, or has made its steps, leaves its lane to the next one; lanes
    that are left over repeat another body and write what it writes. A body that cannot go on gets the status ALONE:
    the loop over single bodies goes on with it, and finds out why. The loop returns their number.
    """
    pair = scheme.pair
    seen_from = view_of(pull, despun=scheme.despun and not changing)
    attempt, judged = attempt_of(pair, seen_from), judged_by(pair)
    asked, by_asking = seen_from.asked, seen_from.evaluations
    stages = len(pair.tableau.stages)
    numbers, each = STATE * stages, float(stages)
    load = loader(gyrostat=gyrostat, changing=changing)

    def places(group: Any, size: int) -> tuple[int, ...]:
        return tuple(group[i] * size for i in range(lanes))

    def numbers_of(f: Any, count: Any, x: Any, group: Any) -> Any:
        return from_lanes(tuple(f(count, x, group[i]) for i in range(lanes)))

    def run_bodies(
        setting: Any, values: Any, y: Any, carried: Any, listed: Any, out: Any, unused: Any, count: Any,
        t0: float, h: float, span: float, stop: int, first: int, beyond: int, state: int, row: int,
    ) -> int:  # fmt: skip
        k, group = scratch_rows(numbers, lanes), new_counters(count, lanes)
        following, alone, ended = first, 0, -1  # all lanes are empty
        for i in range(lanes):
            group[i] = -1
        while True:
            # --- bodies leave their lanes, others take them
            some = -1
            for i in range(lanes):
                if (ended >> i) & 1:
                    group[i] = -1
                    while following < beyond and group[i] < 0:
                        own = beginning_at(count, COUNTERS * following)
                        if own[AT.status] == OK and own[AT.finished] == 0 and own[AT.done] < stop:
                            group[i] = following
                            _enter(
                                load, beginning_at(setting, SETTING * following), values, own,
                                beginning_at(y, state * following), beginning_at(carried, MEMORY * following),
                                listed, beginning_at(out, row * own[AT.rows] * following), t0,
                            )  # fmt: skip
                        following += 1
                if group[i] >= 0:
                    some = group[i]
            if some < 0:
                return alone
            for i in range(lanes):
                if group[i] < 0:
                    group[i] = some
            parameters = beginning_at(count, COUNTERS * some)[AT.values]
            fixed, own_y = columns(setting, places(group, SETTING)), columns(y, places(group, state))
            body, p = load(fixed, load_values(columns(values, places(group, parameters)), parameters))
            memory = columns(carried, places(group, MEMORY))
            allowed = fixed[TOLERANCE] * fixed[TOLERANCE]
            s, t, low = load_state(own_y, 0), own_y[STATE], own_y[STATE + 1]
            made, wanted, fastest, summed = memory[0], memory[1], memory[2], memory[3]
            tries, blind, spent = memory[4], memory[5], memory[6]
            done, due = numbers_of(_done, count, listed, group), numbers_of(_due, count, listed, group)
            good, through = tries < MOST_ATTEMPTS, tries < 0.0
            going = good
            # --- steps, until a body ends
            while all_of(going):
                rest = (span - t) - low
                most = where(abs(rest) < (1.0 + HARDLY) * abs(h), rest, h)
                length = where(rest < 0.0, -1.0, 1.0) * min(wanted, abs(most))
                known = (blind > 0.0) | (blind < 0.0)
                if not all_of(known):
                    blind = where(known, blind, asked(body, p, t0 + t, s))
                    spent = spent + where(known, 0.0, by_asking)
                new, error, quickest = attempt(body, p, t0 + t, s, length, fastest, blind, k)
                spent = spent + each
                accepted = error <= allowed
                wanted = judged(error, allowed, length, wanted, tries > 0.0)
                last = abs(length) >= abs(rest)
                good = sound(new) & (last | (abs(length) > 1e-15 * abs(t0 + t)))
                good = (~accepted & (tries < MOST_ATTEMPTS - 1)) | (accepted & good)
                then_blind = left(blind, tries > 0.0)
                tries = where(accepted, 0.0, tries + 1.0)
                taken = accepted & good
                shown = taken & (due < NEVER) & (last | (abs((due - t) - low) <= abs(length)))
                while not all_of(~shown):
                    offset = (due - t) - low
                    aside = shown & (abs(offset) < abs(length))
                    there = new
                    if not all_of(~aside):
                        other, _, _ = attempt(body, p, t0 + t, s, where(aside, offset, length), fastest, blind, k)
                        spent = spent + where(aside, each, 0.0)
                        there = chosen(aside, other, new)
                    bits = verdict(ALONE, ~shown)
                    for i in range(lanes):
                        # Another lane may have shown this row already, of the same body.
                        if (bits >> i) & 1 and _due(count, listed, group[i]) == lane(due, i):
                            own = beginning_at(count, COUNTERS * group[i])
                            _show(own, listed, beginning_at(out, row * own[AT.rows] * group[i]), t0, there, i)
                    due = numbers_of(_due, count, listed, group)
                    shown = shown & (due < NEVER) & (last | (abs((due - t) - low) <= abs(length)))
                s, blind = chosen(taken, new, s), where(taken, then_blind, blind)
                fastest, made = where(taken, quickest, fastest), where(taken, length, made)
                summed = summed + where(taken, np.sqrt(error), 0.0)
                later, lower = two_sum(t, length + low)
                t, low = where(taken, later, t), where(taken, lower, low)
                done = done + where(taken, 1.0, 0.0)
                through = taken & last
                going = good & ~through & ~(taken & (done >= stop))
            # --- all lanes are written down
            store_state(own_y, 0, s)
            own_y[STATE], own_y[STATE + 1] = t, low
            memory[0], memory[1], memory[2], memory[3] = made, wanted, fastest, summed
            memory[4], memory[5], memory[6] = tries, blind, spent
            ended, finished, failed = verdict(ALONE, going), _bits(through), _bits(~good)
            for i in range(lanes):
                own = beginning_at(count, COUNTERS * group[i])
                own[AT.done] = int(lane(done, i))
                if (finished >> i) & 1:
                    own[AT.finished] = 1
                if (failed >> i) & 1 and own[AT.status] == OK:
                    own[AT.status] = ALONE
                    alone += 1

    return run_bodies


NEVER = 1e300
"""The time of the next row where no row is left: no run reaches it."""


def _bits(mask: Any) -> int:
    """The lanes in which a mask holds, as bits."""
    none = ~mask
    return 0 if all_of(none) else verdict(ALONE, none)


def _done(count: Any, listed: Any, k: int) -> float:
    return float(count[COUNTERS * k + AT.done])


def _due(count: Any, listed: Any, k: int) -> float:
    """The time of the next row of a body, since the start of the segment."""
    j = count[COUNTERS * k + AT.next]
    return listed[j] if j < count[COUNTERS * k + AT.times] else NEVER


def _enter(
    load: Any, setting: Any, values: Any, own: Any, y: Any, carried: Any, listed: Any, out: Any, t0: float
) -> None:  # fmt: skip
    """Begins a body that has made no steps yet: its memory, and the row at the start."""
    if own[AT.done] > 0:
        return
    body, p = load(setting, view(values, own[AT.values]))
    s = load_state(y, 0)
    if own[AT.resumed] == 0:
        memory = _start(body, p, t0, s)
        if carried[0] != 0.0:
            memory = _again(body, p, t0, s, load_memory(carried, 0))
        store_memory(carried, 0, memory)
    if own[AT.row] < own[AT.rows] and own[AT.next] < own[AT.times] and listed[own[AT.next]] == 0.0:
        _show(own, listed, out, t0, s, 0)


def _show(own: Any, listed: Any, out: Any, t0: float, s: State, i: int) -> None:
    """Writes the next row of the body in lane i."""
    row, j = (STATE + 1) * own[AT.row], own[AT.next]
    q, m = s.q, s.m
    out[row] = t0 + listed[j]
    out[row + 1], out[row + 2], out[row + 3], out[row + 4] = lane(q[0], i), lane(q[1], i), lane(q[2], i), lane(q[3], i)
    out[row + 5], out[row + 6], out[row + 7] = lane(m[0], i), lane(m[1], i), lane(m[2], i)
    own[AT.row], own[AT.next] = own[AT.row] + 1, j + 1
