"""A whole answer in one call of compiled code: a look at the torque, a run, its companion, and what they show.

For short motions the calls between these parts would take longer than the parts. The rules are those of the package
`tolerance`, for Gauss collocation with equal steps; whatever is out of the ordinary is left to that package, by the
status `ELSEWHERE`: then nothing that was computed here is used.

One program serves all torques: the loop over steps and the torque are programs of their own, called by their address.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from polhode.core.drive import AT, SETTING
from polhode.core.exact import effort
from polhode.core.judge import (
    CHECKING,
    CLOSE,
    COARSER,
    FACTOR_WHERE_ERRORS_GROW,
    FIRST_TURN,
    NUDGE,
    ROUND_NUMBERS,
    SECOND_TURN,
    WORTH_ALLOWING,
    allowed,
    distance,
    estimate,
    fewer,
    first_stop,
    floor,
    grid,
    growth,
    located,
    nears_separatrix,
    on_grid,
    turned,
)
from polhode.core.ops import beginning_at
from polhode.core.outside import called_driver, called_torque_rows
from polhode.core.states import STATE, load_state, store_state
from polhode.core.status import OK, RAISED
from polhode.core.types import Rotor, State, Vec3
from polhode.core.vec import dot, times

ELSEWHERE = 100
"""The status of a problem that has to be solved in another way."""


class Rules(NamedTuple):
    """What decides on the steps and on the estimate: the numbers of `tolerance` and of the method's model."""

    longest_turn: float
    reach_loss: float
    coefficient: float
    turn_growth: float
    order: int
    truncation: float
    """The factors of the estimate."""
    rounding: float
    less_solved: float
    rests_from: float
    """The torque ratio from which on a torque may bring the body to rest."""
    least_growing: float
    """The least tolerance for such a torque: below it, sums that are not compensated do not do."""
    uneven: float
    out_of_reach: float
    stiff_radians: float
    difference: float
    most_turn: float
    """Longer motions, in radians, are left to others."""
    most_steps: int
    most_rows: int
    """Output at steps has fewer rows than this."""
    checks: int
    tries: int


class At(NamedTuple):
    """The place of each number that an answer leaves."""

    error: int = 0
    steps: int = 1
    step: int = 2
    tolerance: int = 3
    evaluations: int = 4
    tries: int = 5
    end: int = 6
    """The state at the end."""


FOUND = At()

LOOKS, FEW_LOOKS, LOOKS_IN_TIME, LOOKS_AROUND = 32, 8, 128, 16
"""The attitudes at which a torque of the time is looked at, and any other; the times; the attitudes round an axis."""
AROUND = 4 * LOOKS
WAVE = AROUND + 4 * LOOKS_AROUND
POWERS = WAVE + LOOKS_AROUND
TABLES = POWERS + len(ROUND_NUMBERS)
"""The tables have the attitudes, those round an axis, a cosine, and numbers with the digits 1 and 3 from 1e-17 on."""
HARMONICS, QUARTER = LOOKS_AROUND // 2 + 1, 3 * LOOKS_AROUND // 4
MOST_LOOKS = 1 + LOOKS + LOOKS_IN_TIME + LOOKS_AROUND
ATTITUDES, RATES, TORQUES, LOOKS_ROOM = MOST_LOOKS, 5 * MOST_LOOKS, 8 * MOST_LOOKS, 11 * MOST_LOOKS
"""Where the rows of looks have their attitudes, rates and torques; their times come first."""
NO_HARMONIC = 1e-12
"""Amplitudes below this part of the largest one are round-off."""
HARMONIC_ROOT = 1.0 / 18.0


class Seen(NamedTuple):
    """The character of a problem."""

    fit: bool
    """Whether it can be solved here."""
    rate: float
    free_rate: float
    torque_ratio: float
    harmony: float
    leverage: float


TOLERANCE = 12
"""The place, in a setting, of the error that iterations may leave."""


class Asked(NamedTuple):
    """The numbers of a problem that are the same in all tries."""

    t0: float
    t1: float
    rtol: float
    unequal: float
    """The greatest moment over the least one, if the principal axes had to be found; else 0."""
    rows: int
    """The number of listed times; 0: there is output at steps."""
    parts: int
    """The number of equal parts of the span at whose ends all listed times lie; 0: there are none."""


def answerer(rules: Rules, policy: Any, next_factor: Callable[..., float]) -> Callable[..., int]:
    """Returns the function that answers; the last two are those of `tolerance/policy.py`.

    `drive` is the loop over steps, `torque` that over rows of a torque in the user's axes: compiled, their addresses.
    Its arrays: the settings of the run and of its companions, the parameters of the torque, the state at the start,
    attitude and rate at the start in the user's axes, room for a state and for the memory of the stepper, the listed
    times, tables, room for what lies between listed times and the grid, for the rows of the run and of a companion, for
    the times of the latter, and for looks; what was `FOUND`; room for grid points, and counters. `counter` is the place
    in the memory where evaluations are counted; a torque may be `timed` or `rated`, if it reads time or rate.
    """
    r, p, look, try_steps = rules, policy, _look(rules), _trier(rules)

    def answer(
        drive: Any, torque: Any, setting: Any, values: Any, start: Any, given: Any, y: Any, memory: Any, listed: Any,
        tables: Any, offsets: Any, out: Any, other: Any, seen_at: Any, looks: Any, found: Any, index: Any, count: Any,
        t0: float, t1: float, rtol: float, unequal: float, rows: int, parts: int, counter: int, timed: int, rated: int,
    ) -> int:  # fmt: skip
        asked = Asked(t0, t1, rtol, unequal, rows, parts)
        body = Rotor((setting[0], setting[1], setting[2]), (setting[3], setting[4], setting[5]))
        s = load_state(start, 0)
        c, spent = look(torque, body, values, count[AT.values], tables, given, looks, t0, t1 - t0, s.m, timed, rated)
        turn = c.rate * abs(t1 - t0)
        grown = c.torque_ratio > r.rests_from and rtol < r.least_growing
        if not c.fit or grown or not turn <= r.most_turn:
            return ELSEWHERE
        n = max(3.0, turn / _first_turn(r, c, turn, rtol))
        before, fewer, solved = math.inf, 0.0, rtol
        for attempt in range(r.tries):
            steps = on_grid(math.ceil(n), parts, rows)
            if steps > r.most_steps or (rows == 0 and steps >= r.most_rows):
                return ELSEWHERE
            status, error, used, evaluations = try_steps(
                drive, asked, body, s, c, attempt > 0, turn, steps, solved, setting, values, y, memory, listed, tables,
                offsets, out, other, seen_at, found, index, count, counter,
            )  # fmt: skip
            spent += evaluations
            if status == OK and error <= rtol:
                found[FOUND.error], found[FOUND.steps], found[FOUND.step] = error, float(steps), (t1 - t0) / steps
                found[FOUND.tolerance], found[FOUND.evaluations], found[FOUND.tries] = used, spent, attempt + 1.0
                return OK
            if status == RAISED:
                return ELSEWHERE
            if status != OK:
                n = p.finer**p.rise_after_failure * steps
                continue
            if not error < math.inf or (error < 0.1 and error * steps > before * fewer):
                return ELSEWHERE  # more steps have not helped
            n = steps * next_factor(p, float(r.order), rtol, error, float(steps), before, fewer, False)
            # it may be what iterations have left, which a motion beside a separatrix makes grow
            solved = 0.0 if error > p.far * rtol else p.tighter * solved
            before, fewer = error, float(steps)
        return ELSEWHERE

    return answer


def _trier(rules: Rules) -> Callable[..., tuple[int, float, float, float]]:
    """Returns the function that makes a run and its companions, and estimates its error from their distance."""
    r = rules

    def try_steps(
        drive: Any, asked: Asked, body: Rotor, s: State, c: Seen, again: bool, turn: float, steps: int, solved: float,
        setting: Any, values: Any, y: Any, memory: Any, listed: Any, tables: Any, offsets: Any, out: Any, other: Any,
        seen_at: Any, found: Any, index: Any, count: Any, counter: int,
    ) -> tuple[int, float, float, float]:  # fmt: skip
        """Returns status, error, the error that iterations may leave in a step, and the evaluations."""
        t0, t1, rows, span = asked.t0, asked.t1, asked.rows, asked.t1 - asked.t0
        grown = growth(c.torque_ratio, turn, c.leverage)
        grows = c.torque_ratio > r.rests_from or again  # a first try fails where errors grow unforeseen
        first = 1 if rows > 0 and listed[0] == t0 else 0  # at the start nothing can differ
        stride = 1 if rows > 0 else (steps + r.checks - 1) // r.checks
        compared = rows - first if rows > 0 else (steps + stride - 1) // stride
        apart, error, fastest, left, spent, companions, which = 0.0, math.inf, 0.0, 0.0, 0.0, 1, 0
        near = False
        while which <= companions:  # the run, its companion, and maybe a second one
            made, allowing, stop = steps, solved, t1
            if which > 0:
                made = fewer(steps, asked.parts, COARSER if which == 1 else COARSER**CHECKING)
                allowing = r.less_solved * solved
                for k in range(compared):
                    i = min((k + 1) * stride, steps)
                    seen_at[k] = listed[first + k] if rows > 0 else t1 if i == steps else t0 + i * (span / steps)
                stop = first_stop(t0, t1, span / made, seen_at[0]) if compared > 0 else t1
                _nudge(y, s, body, which == 1)
            else:
                store_state(y, 0, s)
            residual = allowed(beginning_at(tables, POWERS), allowing, made * grown)
            residual = residual if residual > WORTH_ALLOWING else 0.0
            own = beginning_at(setting, 0 if which == 0 else SETTING)
            own[TOLERANCE] = residual
            times_of, wanted = (listed, rows) if which == 0 else (seen_at, compared)
            into = out if which == 0 else other
            status, evaluations = _follow(
                drive, own, values, y, memory, times_of, wanted, offsets, into, index, count, t0, stop, t1,
                span / made, counter,
            )  # fmt: skip
            spent += evaluations
            if status != OK:
                return status, math.inf, left, spent
            if which == 0:
                left = residual
                store_state(found, FOUND.end, load_state(y, 0))
                fastest = _fastest(body, out, s, rows if rows > 0 else steps + 1)
                near = _nears_separatrix(body, out, s, rows if rows > 0 else steps + 1)
                grows = grows or near
            else:
                for k in range(compared):
                    mine = first + k if rows > 0 else min((k + 1) * stride, steps)
                    d = distance(body, load_state(out, STATE * mine), load_state(other, STATE * k), fastest)
                    apart = d if apart == apart and not d <= apart else apart  # NaN, too, which stays
                truncation = max(r.truncation, FACTOR_WHERE_ERRORS_GROW) if grows else r.truncation
                least = floor(t0, t1, max(c.free_rate, fastest), asked.unequal)
                error = estimate(truncation, r.rounding, apart, least, steps * c.leverage * left)
                close = again or error > CLOSE * asked.rtol
                if which == 1 and error <= asked.rtol and (near or (grows and close)):
                    companions = 2  # errors may grow in one direction, which one companion may not show
            which += 1
        return OK, error, left, spent

    return try_steps


def _follow(
    drive: Any, setting: Any, values: Any, y: Any, memory: Any, listed: Any, rows: int, offsets: Any, out: Any,
    index: Any, count: Any, t0: float, stop: float, t1: float, h: float, counter: int,
) -> tuple[int, float]:  # fmt: skip
    """Follows a motion in equal steps from its start to its end, maybe with a stop; returns status and evaluations.

    Rows are those of listed times, or of all steps if there are none.
    """
    a, b, spent = t0, stop, 0.0
    while True:
        steps, last = grid(a, b, h)
        count[AT.done] = count[AT.row] = count[AT.next] = count[AT.asides] = count[AT.resumed] = 0
        count[AT.others] = count[AT.finished] = 0
        count[AT.steps] = steps
        if rows == 0:
            count[AT.rows], count[AT.every], count[AT.due], count[AT.times] = steps + 1, 1, 0, 0
        else:
            wanted = rows if b == t1 else 0  # nothing is shown before the stop
            for k in range(wanted):
                index[k], offsets[k] = located(a, h, last, steps, listed[k])
            count[AT.rows], count[AT.every], count[AT.times] = wanted, 0, wanted
            count[AT.due] = index[0] if wanted > 0 else steps + 1
        status = called_driver(drive, setting, values, y, memory, offsets, out, index, count, a, h, last, steps)
        spent += memory[counter]
        if status != OK or b == t1:
            return status, spent
        a, b = b, t1


def _first_turn(r: Rules, c: Seen, turn: float, rtol: float) -> float:
    """Returns the turn in a step that is likely to do."""
    eps = min(1.0, c.torque_ratio)
    longest = r.longest_turn / (1.0 + r.reach_loss * eps)
    size = math.pow(1.0 + r.turn_growth * eps, r.order) + eps * (math.pow(c.harmony, r.order) - 1.0)
    return min(longest, math.pow(rtol / max(r.coefficient * size * turn, 1e-300), 1.0 / r.order))


def _nudge(y: Any, s: State, body: Rotor, first: bool) -> None:
    """Writes the start of a companion, which differs in the last digits: `tolerance.estimate` says how and why."""
    i, m = body.inertia, s.m
    largest = max(i[0], i[1], i[2])
    moved = (
        m[0] + NUDGE * (-m[0] if i[0] == largest else m[0]),
        m[1] + NUDGE * (-m[1] if i[1] == largest else m[1]),
        m[2] + NUDGE * (-m[2] if i[2] == largest else m[2]),
    )
    store_state(y, 0, State(turned(s.q, FIRST_TURN if first else SECOND_TURN, NUDGE), moved))


def _fastest(body: Rotor, out: Any, s: State, rows: int) -> float:
    """Returns the largest rate in the rows and at the start."""
    w = times(s.m, body.inverse)
    most = dot(w, w)
    for k in range(rows):
        w = times(load_state(out, STATE * k).m, body.inverse)
        most = max(most, dot(w, w))
    return math.sqrt(most)


def _nears_separatrix(body: Rotor, out: Any, s: State, rows: int) -> bool:
    """Whether the free motion through the start, or through a row, passes near the middle axis."""
    i = body.inertia
    low = 0 if i[0] <= i[1] and i[0] <= i[2] else 1 if i[1] <= i[2] else 2
    high = 2 if i[2] >= i[1] and i[2] >= i[0] else 1 if i[1] >= i[0] else 0
    mid = 3 - low - high
    near = nears_separatrix(i[low], i[mid], i[high], s.m[low], s.m[mid], s.m[high])
    for k in range(rows):
        m = load_state(out, STATE * k).m
        near = near or nears_separatrix(i[low], i[mid], i[high], m[low], m[mid], m[high])
    return bool(near)


# --- the look --------------------------------------------------------------------------------------------------------


def _look(rules: Rules) -> Callable[..., tuple[Seen, float]]:
    """Returns the function that finds the character of a problem: `tolerance.character`, as far as it is needed."""
    r = rules

    def look(
        torque: Any, body: Rotor, values: Any, parameters: int, tables: Any, given: Any, looks: Any, t0: float,
        span: float, m: Vec3, timed: int, rated: int,
    ) -> tuple[Seen, float]:  # fmt: skip
        """Returns the character, and the evaluations of the torque."""
        i, w = body.inertia, times(m, body.inverse)
        twice_kinetic, rate = dot(m, w), math.sqrt(dot(w, w))
        least, largest = min(i[0], i[1], i[2]), max(i[0], i[1], i[2])
        small = r.difference * max(rate, 1.0 / abs(span))
        count = LOOKS if timed != 0 else FEW_LOOKS
        # In the rows of what is looked at: the start, attitudes, one attitude at many times, others rates or attitudes.
        _show(looks, 0, t0, given, 0, given, 1.0 if rated != 0 else 0.0)
        rows = 1
        for k in range(count):
            _show(looks, rows, t0 + (k + 1) * (span / count), tables, 4 * k, given, 1.0 if rated != 0 else 0.0)
            rows += 1
        if timed != 0:
            for k in range(LOOKS_IN_TIME):
                _show(looks, rows, t0 + (k + 0.5) / LOOKS_IN_TIME * span, tables, 0, given, 0.0)
                rows += 1
        last = rows
        if rated != 0:
            for k in range(3):
                _show(looks, rows, t0, given, 0, given, 1.0)
                looks[RATES + 3 * rows + k] += small
                rows += 1
        else:
            for k in range(LOOKS_AROUND):
                _show(looks, rows, t0, tables, AROUND + 4 * k, given, 0.0)
                rows += 1
        status = called_torque_rows(
            torque, values, looks, beginning_at(looks, ATTITUDES), beginning_at(looks, RATES), looks,
            beginning_at(looks, TORQUES), parameters, rows,
        )  # fmt: skip
        here = _size(looks, 0)
        peak, low = _uneven(looks, 1, count, r.uneven)
        few = count // 4 if 2.0 * peak > r.out_of_reach * twice_kinetic else count // 2
        fit = status == OK and not (peak > r.uneven * here and low > few)
        most = max(here, peak)
        if timed != 0:
            _, low = _uneven(looks, 1 + count, LOOKS_IN_TIME, r.uneven)
            fit = fit and low <= LOOKS_IN_TIME // 2
        harmony = 1.0
        if rated != 0:
            fit = fit and _damping(looks, last) / small * abs(span) <= r.stiff_radians * least
        else:
            harmony = _harmony(looks, last, tables)
        rate2, _ = effort(body, m)
        free_rate = math.sqrt(max(rate2, 0.0))
        ratio = most / twice_kinetic if twice_kinetic > 0.0 else math.inf if most > 0.0 else 0.0
        leverage = largest / least
        if ratio < 1.0 and rate > 0.0:
            leverage = min(leverage, math.sqrt(dot(m, m)) / (rate * least))
        rate = math.sqrt(free_rate * free_rate + most / least)
        fit = fit and here < math.inf and rate < math.inf and leverage < math.inf and harmony < math.inf
        return Seen(fit, rate, free_rate, ratio, harmony, leverage), float(rows)

    return look


def _show(looks: Any, row: int, t: float, attitudes: Any, k: int, given: Any, share: float) -> None:
    """Writes a row at which a torque is to be looked at: a time, an attitude, and a share of the rate at the start."""
    looks[row] = t
    for n in range(4):
        looks[ATTITUDES + 4 * row + n] = attitudes[k + n]
    for n in range(3):
        looks[RATES + 3 * row + n] = share * given[4 + n]


def _size(looks: Any, row: int) -> float:
    """Returns the size of a torque that was looked at."""
    x, y, z = looks[TORQUES + 3 * row], looks[TORQUES + 3 * row + 1], looks[TORQUES + 3 * row + 2]
    return math.sqrt(x * x + y * y + z * z)


def _uneven(looks: Any, first: int, count: int, uneven: float) -> tuple[float, int]:
    """Returns the largest of some torques, and how many are hundreds of times smaller."""
    peak, low = 0.0, 0
    for k in range(first, first + count):
        peak = max(peak, _size(looks, k))
    for k in range(first, first + count):
        low += 1 if _size(looks, k) * uneven < peak else 0
    return peak, low


def _damping(looks: Any, first: int) -> float:
    """Returns how much the torque changed with changes of the rate."""
    total = 0.0
    for k in range(3):
        for n in range(3):
            change = looks[TORQUES + 3 * (first + k) + n] - looks[TORQUES + n]
            total += change * change
    return math.sqrt(total)


def _harmony(looks: Any, first: int, tables: Any) -> float:
    """Returns the harmonic that counts most while a body turns round, times the 18th root of its amplitude."""
    at, largest, best = TORQUES + 3 * first, 0.0, 1.0
    for k in range(HARMONICS):
        total = 0.0
        for n in range(3):
            co = si = 0.0
            for i in range(LOOKS_AROUND):
                co += tables[WAVE + (k * i) % LOOKS_AROUND] * looks[at + 3 * i + n]
                si += tables[WAVE + (k * i + QUARTER) % LOOKS_AROUND] * looks[at + 3 * i + n]
            total += co * co + si * si
        looks[k] = math.sqrt(total)  # the times there are not needed any more
        largest = max(largest, looks[k])
    for k in range(HARMONICS):
        if looks[k] > NO_HARMONIC * largest:  # the others are round-off
            best = max(best, k * math.pow(looks[k] / largest, HARMONIC_ROOT))
    return best if largest < math.inf else math.inf
